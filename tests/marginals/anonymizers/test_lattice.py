"""The lattice search equals looking at every node."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks.claims.requirements import Requirements
from checks.diversity.criterion import Diversity
from checks.diversity.distinct import Distinct
from checks.diversity.dont_care_entropy import DontCareEntropy
from checks.diversity.entropy import Entropy
from checks.diversity.functional import Functional
from checks.diversity.negative_disclosure import NegativeDisclosure
from checks.diversity.npd_recursive import NpdRecursive
from checks.diversity.recursive import Recursive
from checks.diversity.simple import Simple
from marginals.anonymizers.lattice import MEASURES, minimal_tables, single_table, table_satisfies
from marginals.errors import InputError
from models.tables.contingency_table import ContingencyTable
from models.tables.data_cube import DataCube
from models.tables.domain import Domain
from models.tables.hierarchy import Hierarchy
from strategies import contingency_tables, domains

criteria: st.SearchStrategy[Diversity | None] = st.sampled_from(
    [
        None,
        Distinct(2),
        Simple(Fraction(2)),
        Entropy(Fraction(2)),
        Recursive(Fraction(2), 2),
        Recursive(Fraction(1), 2, dont_care=frozenset({0})),
        NegativeDisclosure(Fraction(20), frozenset({0})),
        NpdRecursive(Recursive(Fraction(3), 2), NegativeDisclosure(Fraction(10), frozenset({0}))),
        DontCareEntropy(Fraction(3, 2), frozenset({0})),
        Functional(Fraction(1, 2), 2),
    ]
)


@given(st.data(), st.integers(1, 4), criteria)
def test_the_minimal_tables_are_those_of_the_whole_lattice(
    data: st.DataObject, k: int, diversity: Diversity | None
) -> None:
    domain = data.draw(domains())
    table: ContingencyTable = data.draw(contingency_tables(domain))
    cube = DataCube([table])
    *public, sensitive = domain.attributes
    requirements = Requirements((sensitive,), k_link=k, diversity=diversity)
    base = domain.mask({sensitive: 0})
    heights = [domain.hierarchy(attribute).height for attribute in public]
    passing = {
        node
        for node in product(*(range(height + 1) for height in heights))
        if table_satisfies(cube, domain.mask(dict(zip(public, node))) | base, requirements)
    }
    minimal = {
        node
        for node in passing
        if not any(other != node and all(a <= b for a, b in zip(other, node)) for other in passing)
    }
    result = minimal_tables(cube, tuple(public), requirements)
    assert {tuple(found.levels[attribute] for attribute in public) for found in result.minimal} == minimal
    assert result.nodes == len(list(product(*(range(height + 1) for height in heights))))
    for found in result.minimal:
        classes = cube.table(domain.mask(found.levels)).counts
        assert found.classes == len(classes)
        assert found.discernibility == int((classes**2).sum())
        assert found.height == sum(found.levels.values())


def test_what_passes_is_monotone_so_the_search_may_settle_boxes() -> None:
    """Progress never runs backwards and ends with every node settled."""
    domain = Domain.of({"a": Hierarchy.from_intervals(map(str, range(8)), [2, 4]), "s": Hierarchy.flat("xyz")})
    codes = {"a": np.arange(24) % 8, "s": np.arange(24) % 3}
    table = ContingencyTable.from_cells(domain, {"a": 0, "s": 0}, codes, np.ones(24, dtype=np.int64))
    seen: list[tuple[int, int]] = []
    minimal_tables(DataCube([table]), ("a",), Requirements(("s",), k_link=5), lambda *at: seen.append(at))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1] == (4, 4)


@given(st.data(), st.integers(1, 4), criteria, st.sampled_from([0.1, 0.3]))
def test_suppression_spares_rows_of_failing_classes(
    data: st.DataObject, k: int, diversity: Diversity | None, suppression: float
) -> None:
    """Every node by hand: how many rows are in classes that fail, and which passing nodes have none below them."""
    domain = data.draw(domains(max_attributes=3))
    table: ContingencyTable = data.draw(contingency_tables(domain))
    cube = DataCube([table])
    *public, sensitive = domain.attributes
    requirements = Requirements((sensitive,), k_link=k, diversity=diversity)
    heights = [domain.hierarchy(attribute).height for attribute in public]
    base = [dict(zip(table.attributes, cell)) | {"count": count} for cell, count in _coded_cells(table)]
    values = domain.hierarchy(sensitive).size(0)
    passing, suppressed = set(), {}
    for node in product(*(range(height + 1) for height in heights)):
        groups: dict[tuple[int, ...], dict[int, int]] = {}
        for row in base:
            key = tuple(int(domain.hierarchy(a).lift(0, level)[row[a]]) for a, level in zip(public, node))
            held = groups.setdefault(key, {})
            held[row[sensitive]] = held.get(row[sensitive], 0) + row["count"]
        fails = sum(
            sum(held.values())
            for held in groups.values()
            if sum(held.values()) < k
            or (diversity is not None and not diversity.decide([held.get(value, 0) for value in range(values)]))
        )
        suppressed[node] = fails
        if fails <= int(suppression * table.total):
            passing.add(node)
    minimal = {n for n in passing if not any(o != n and all(a <= b for a, b in zip(o, n)) for o in passing)}
    result = minimal_tables(cube, tuple(public), requirements, suppression=suppression)
    found = {tuple(t.levels[a] for a in public): t for t in result.minimal}
    assert set(found) == minimal
    for node, single in found.items():
        assert single.suppressed == suppressed[node]
        assert single.kl_divergence >= -1e-9
        assert 0 <= single.information_utility <= 1


def _coded_cells(table: ContingencyTable) -> list[tuple[tuple[int, ...], int]]:
    return [(tuple(int(c[i]) for c in table.codes), int(n)) for i, n in enumerate(table.counts)]


def test_utility_with_suppression_counts_each_row_by_its_own_value() -> None:
    """A level that leaves a value as it is must not mix up whose rows are suppressed."""
    hierarchy = Hierarchy.from_rows([("y", "y or z", "*"), ("z", "y or z", "*"), ("x", "x", "*")])
    domain = Domain.of({"a": hierarchy})
    table = ContingencyTable.from_cells(domain, {"a": 0}, {"a": np.arange(3)}, np.array([5, 5, 1]))
    single = single_table(DataCube([table]), {"a": 1}, Requirements(k_link=2))
    assert single.suppressed == 1
    # Ten rows keep half of what they say, the suppressed one a third.
    assert single.information_utility == pytest.approx((10 / 2 + 1 / 3) / 11)
    # The model: 10/11 spread over y and z, 1/11 over all three.
    model = np.array([10 / 22 + 1 / 33, 10 / 22 + 1 / 33, 1 / 33])
    data = np.array([5, 5, 1]) / 11
    assert single.kl_divergence == pytest.approx(float((data * np.log(data / model)).sum()))


def test_the_best_table_by_each_measure() -> None:
    domain = Domain.of({"a": Hierarchy.from_intervals(map(str, range(4)), [2]), "b": Hierarchy.flat("xyz")})
    rng = np.random.default_rng(2)
    codes = {"a": rng.integers(0, 4, 40), "b": rng.integers(0, 3, 40)}
    table = ContingencyTable.from_cells(domain, {"a": 0, "b": 0}, codes, np.ones(40, dtype=np.int64))
    result = minimal_tables(DataCube([table]), ("a", "b"), Requirements(k_link=5))
    assert len(result.minimal) > 1
    for measure in set(MEASURES) - {"classification_metric"}:
        values = [getattr(single, measure) for single in result.minimal]
        wanted = max(values) if measure in ("classes", "information_utility") else min(values)
        best = result.best(measure)
        assert best is not None
        assert getattr(best, measure) == wanted
    for measure in ("beauty", "classification_metric"):
        with pytest.raises(InputError, match=measure):
            result.best(measure)
