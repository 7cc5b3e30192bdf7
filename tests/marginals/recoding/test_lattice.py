"""The lattice search equals looking at every node."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks import (
    Distinct,
    Diversity,
    DontCareEntropy,
    Entropy,
    Functional,
    NegativeDisclosure,
    NpdRecursive,
    Recursive,
    Requirements,
    Simple,
)
from marginals.recoding.lattice import minimal_tables, single_table
from models import ContingencyTable, DataCube, Domain, Hierarchy
from strategies import contingency_tables, domains

criteria: st.SearchStrategy[Diversity | None] = st.sampled_from(
    [
        None, Distinct(2), Simple(Fraction(2)), Entropy(Fraction(2)), Recursive(Fraction(2), 2),
        Recursive(Fraction(1), 2, dont_care=frozenset({0})), NegativeDisclosure(Fraction(20), frozenset({0})),
        NpdRecursive(Recursive(Fraction(3), 2), NegativeDisclosure(Fraction(10), frozenset({0}))),
        DontCareEntropy(Fraction(3, 2), frozenset({0})), Functional(Fraction(1, 2), 2),
    ]
)  # fmt: skip


@given(st.data(), st.sampled_from([0.0, 0.0, 0.1, 0.3, 0.6]), st.integers(1, 2))
def test_the_minimal_tables_are_those_of_the_whole_lattice(
    data: st.DataObject, suppression: float, sensitive_count: int
) -> None:
    """Every node by hand, row by row: those of failing classes are shown as `*`, and all that is shown is judged again."""
    k, min_cell = data.draw(st.integers(1, 4)), data.draw(st.none() | st.integers(1, 3))
    diversity: Diversity | None = data.draw(criteria)
    domain = data.draw(domains(max_attributes=3))
    table: ContingencyTable = data.draw(contingency_tables(domain))
    sensitive = domain.attributes[-min(sensitive_count, len(domain.attributes) - 1) :]
    public = tuple(attribute for attribute in domain.attributes if attribute not in sensitive)
    requirements = Requirements(sensitive, k_link=k, diversity=diversity, min_cell=min_cell)
    heights = [domain.hierarchy(attribute).height for attribute in public]
    cells = list(zip(zip(*(column.tolist() for column in table.codes)), table.counts.tolist()))
    rows = [dict(zip(table.attributes, codes)) for codes, count in cells for _ in range(count)]
    passing, suppressed = set(), {}
    for node in product(*(range(height + 1) for height in heights)):
        shown = [
            tuple((level, int(domain.hierarchy(a).lift(0, level)[row[a]])) for a, level in zip(public, node))
            for row in rows
        ]
        star = tuple((height, 0) for height in heights)
        demands = max(k, min_cell or 1), diversity, min_cell or 1
        failing = _failing_rows(domain, sensitive, rows, shown, demands)
        suppressed[node] = len(failing)
        published = [star if i in failing else group for i, group in enumerate(shown)]
        if len(failing) <= int(suppression * len(rows)) and not _failing_rows(
            domain, sensitive, rows, published, demands
        ):
            passing.add(node)
    minimal = {n for n in passing if not any(o != n and all(a <= b for a, b in zip(o, n)) for o in passing)}
    result = minimal_tables(DataCube([table]), public, requirements, suppression=suppression)
    found = {tuple(t.levels[a] for a in public): t for t in result.minimal}
    assert set(found) == minimal
    assert result.nodes == len(suppressed)
    for node, single in found.items():
        assert single.suppressed == suppressed[node]
        if not suppression:
            classes = table.rolled_up(dict(zip(public, node))).counts
            assert (single.classes, single.discernibility) == (len(classes), int((classes**2).sum()))
        assert single.kl_divergence >= -1e-9
        assert 0 <= single.information_utility <= 1


def _failing_rows(
    domain: Domain,
    sensitive: tuple[str, ...],
    rows: list[dict[str, int]],
    groups: list[tuple[tuple[int, int], ...]],
    demands: tuple[int, Diversity | None, int],
) -> set[int]:
    """The rows whose group has fewer than k, or is not diverse for some values of the other sensitive attributes, or has
    too few rows with some sensitive values.
    """
    k, diversity, min_cell = demands
    failing = {i for i, group in enumerate(groups) if groups.count(group) < k}
    cells = [(group, *(row[attribute] for attribute in sensitive)) for row, group in zip(rows, groups)]
    small = {cell[0] for cell in cells if cells.count(cell) < min_cell}
    failing |= {i for i, group in enumerate(groups) if group in small}
    for attribute in sensitive if diversity is not None else ():
        assert diversity is not None
        held: dict[tuple[object, ...], list[int]] = {}
        for row, group in zip(rows, groups):
            others = tuple(row[other] for other in sensitive if other != attribute)
            held.setdefault((group, *others), [0] * domain.hierarchy(attribute).size(0))[row[attribute]] += 1
        bad = {key[0] for key, counts in held.items() if not diversity.decide(counts)}
        failing |= {i for i, group in enumerate(groups) if group in bad}
    return failing


def test_one_suppressed_row_alone_is_a_class_of_one() -> None:
    """Five, five and one: the one may not be shown as `*` by itself, so the table is coarser than suppressing it."""
    hierarchy = Hierarchy.from_rows([("y", "y or z", "*"), ("z", "y or z", "*"), ("x", "x", "*")])
    domain = Domain.of({"a": hierarchy})
    table = ContingencyTable.from_cells(domain, {"a": 0}, {"a": np.arange(3)}, np.array([5, 5, 1]))
    result = minimal_tables(DataCube([table]), ("a",), Requirements(k_link=2), suppression=0.5)
    assert [(dict(found.levels), found.suppressed) for found in result.minimal] == [({"a": 2}, 0)]
    two = ContingencyTable.from_cells(domain, {"a": 0}, {"a": np.arange(3)}, np.array([1, 1, 1]))
    together = minimal_tables(DataCube([two]), ("a",), Requirements(k_link=2), suppression=1.0)
    assert [(dict(found.levels), found.suppressed) for found in together.minimal] == [({"a": 0}, 3)]


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
