"""The base of a collection: one table, or one for each of several sensitive attributes."""

from itertools import product

import numpy as np
import pytest

from checks.claims import Requirements
from checks.diversity.criteria import Distinct
from checks.diversity.registry import parse_diversity
from marginals import Policy, publish
from marginals.errors import InputError, NothingPublishableError
from marginals.publishing.searching import best_base, chosen_base
from marginals.tables.attribute import Role
from marginals.tables.table import Table
from models.graphs.junction_tree import Collection
from models.inference.maximum_entropy import MaximumEntropy
from models.tables.contingency_table import ContingencyTable
from models.tables.hierarchy import Domain, Hierarchy

AGES = Hierarchy.from_rows([(str(age), f"{age // 20 * 20}-{age // 20 * 20 + 19}", "*") for age in range(20, 60, 5)])


def table_of(sensitive: int, seed: int = 0, rows: int = 400) -> Table:
    """People by age, sex and some sensitive attributes of four values each, which go together."""
    rng = np.random.default_rng(seed)
    names = ["job", "diagnosis", "income"][:sensitive]
    domain = Domain.of(
        {"age": AGES, "sex": Hierarchy.flat("fm"), **{name: Hierarchy.flat(["s0", "s1", "s2", "s3"]) for name in names}}
    )
    codes = {"age": rng.integers(0, 8, rows), "sex": rng.integers(0, 2, rows)}
    for name in names:
        first = codes.get("job", codes["age"] // 2)
        codes[name] = (first + rng.choice([0, 0, 1, 2], rows)) % 4
    counts = ContingencyTable.from_cells(domain, dict.fromkeys(codes, 0), codes, np.ones(rows, dtype=int))
    roles = {a: Role.SENSITIVE if a in names else Role.QUASI_IDENTIFIER for a in domain.attributes}
    return Table(counts, roles)


def brute_force(table: Table, requirements: Requirements) -> list[tuple[float, tuple[int, ...]]]:
    """All minimal levels of the quasi-identifiers at which each sensitive attribute passes, with the divergence."""
    domain, names = table.domain, table.quasi_identifiers
    nodes = list(product(*(range(domain.hierarchy(name).height + 1) for name in names)))

    def masks(node: tuple[int, ...]) -> list[int]:
        return [domain.mask({**dict(zip(names, node)), attribute: 0}) for attribute in table.sensitive]

    def passes(node: tuple[int, ...]) -> bool:
        return all(
            finding.holds
            for mask, attribute in zip(masks(node), table.sensitive)
            for finding in requirements.about(attribute).of_table(table.cube.table(mask))
        )

    passing = [node for node in nodes if passes(node)]
    minimal = [n for n in passing if not any(o != n and all(map(int.__le__, o, n)) for o in passing)]
    return sorted((MaximumEntropy(Collection.of(table.cube, masks(node))).kl_divergence, node) for node in minimal)


@pytest.mark.parametrize("sensitive", [1, 2, 3])
@pytest.mark.parametrize("diversity", ["distinct:3", "entropy:2.5", "recursive:3,2"])
def test_it_is_the_best_of_all_levels_at_which_each_attribute_passes(sensitive: int, diversity: str) -> None:
    for seed in range(3):
        table = table_of(sensitive, seed)
        requirements = Requirements(table.sensitive, k_link=5, diversity=parse_diversity(diversity))
        expected = brute_force(table, requirements)
        if not expected:
            with pytest.raises(NothingPublishableError):
                best_base(table, requirements, lambda _done, _nodes: None)
            continue
        base = best_base(table, requirements, lambda _done, _nodes: None)
        assert base.kl_divergence == pytest.approx(expected[0][0])
        assert len(base.masks) == sensitive


def test_several_sensitive_attributes_are_not_demanded_together() -> None:
    """Together no table is diverse, since each is judged within the values of the others; one for each is published."""
    table = table_of(2)
    policy = Policy(k_link=5, k_combinatorial=5, diversity="entropy:2.5")
    release = publish(table, policy).release
    for attribute in table.sensitive:
        assert any({"age", "sex", attribute} & {*margin} >= {attribute} for margin in release.margins)
    assert release.verify().ok


def test_levels_that_somebody_chose_are_those_of_each_table() -> None:
    table = table_of(2)
    release = publish(table, Policy(k_link=5, diversity="distinct:2", base={"age": 1, "sex": 0})).release
    collection = release.collection
    for attribute in table.sensitive:
        assert any({"age", "sex", attribute} <= {*margin} for margin in collection.margins)
    with pytest.raises(InputError, match="base names 'job', which is no quasi-identifier"):
        chosen_base(table, {"job": 0}, Requirements(table.sensitive))
    with pytest.raises(
        NothingPublishableError, match=r"the base table \{ age = 0, sex = 0 \} with job cannot be published"
    ):
        publish(table, Policy(k_link=300, base={"age": 0, "sex": 0}, diversity="none"))


def test_what_no_base_satisfies_is_said_of_each_attribute() -> None:
    table = table_of(2)
    with pytest.raises(NothingPublishableError, match=r"fails for job in all rows together.*fails for diagnosis"):
        best_base(table, Requirements(table.sensitive, diversity=Distinct(5)), lambda _done, _nodes: None)


def test_without_a_sensitive_attribute_it_is_the_quasi_identifiers() -> None:
    table = table_of(0)
    base = best_base(table, Requirements((), k_link=5), lambda _done, _nodes: None)
    assert len(base.masks) == 1


def test_so_many_margins_of_each_sensitive_attribute_may_be_published() -> None:
    """Not of all of them together, or four sensitive attributes could not be published at all."""
    table = table_of(3)
    release = publish(table, Policy(k_link=5, base="none", max_sensitive_margins=1, diversity="none")).release
    for attribute in table.sensitive:
        assert sum(attribute in margin for margin in release.junction_tree().nodes) == 1
