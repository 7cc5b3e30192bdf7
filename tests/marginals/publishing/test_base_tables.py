"""The base of a collection: one table, or one for each of several sensitive attributes."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from checks import Distinct, Finding, PrivacyConstraint, Requirements, Verdict, parse_diversity
from marginals import InputError, NothingPublishableError, Policy, Role, Table, publish
from marginals.publishing import searching
from marginals.publishing.proposals import WEAKER, proposed_diversity
from marginals.publishing.searching import BaseTables, Prepared, best_base, chosen_base, sensitive_levels
from models import (
    NEVER,
    Collection,
    ContingencyTable,
    Deadline,
    Domain,
    Hierarchy,
    MaximumEntropy,
    PenalizedDivergence,
    Problem,
)

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


def brute_force(table: Table, requirements: Requirements, price: float) -> list[float]:
    """The objectives, ascending, at the minimal levels at which each sensitive attribute passes."""
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
    models = [MaximumEntropy(Collection.of(table.cube, masks(node))) for node in minimal]
    return sorted(model.kl_divergence + price * model.parameter_count for model in models)


@pytest.mark.parametrize("price", [0.0, 0.01])
@pytest.mark.parametrize("sensitive", [1, 2, 3])
@pytest.mark.parametrize("diversity", ["distinct:3", "entropy:2.5", "recursive:3,2"])
def test_it_is_the_best_of_all_levels_at_which_each_attribute_passes(
    sensitive: int, diversity: str, price: float
) -> None:
    for seed in range(3):
        table = table_of(sensitive, seed)
        problem = Problem(table.cube, objective=PenalizedDivergence(price))
        requirements = Requirements(table.sensitive, k_link=5, diversity=parse_diversity(diversity))
        expected = brute_force(table, requirements, price)
        if not expected:
            with pytest.raises(NothingPublishableError):
                best_base(table, requirements, lambda _done, _nodes: None, problem)
            continue
        base = best_base(table, requirements, lambda _done, _nodes: None, problem)
        assert problem.value(problem.position(base.masks)) == pytest.approx(expected[0])
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
        best_base(
            table, Requirements(table.sensitive, diversity=Distinct(5)), lambda _done, _nodes: None, Problem(table.cube)
        )


def test_without_a_sensitive_attribute_it_is_the_quasi_identifiers() -> None:
    table = table_of(0)
    base = best_base(table, Requirements((), k_link=5), lambda _done, _nodes: None, Problem(table.cube))
    assert len(base.masks) == 1


def test_so_many_margins_of_each_sensitive_attribute_may_be_published() -> None:
    """Not of all of them together, or four sensitive attributes could not be published at all."""
    table = table_of(3)
    release = publish(table, Policy(k_link=5, base="none", max_sensitive_margins=1, diversity="none")).release
    for attribute in table.sensitive:
        assert sum(attribute in margin for margin in release.junction_tree().nodes) == 1


ILLNESSES = {"flu": 400, "cold": 300, "gout": 150, "cough": 40, "burn": 2, "cut": 1}


def ill(rows: dict[str, int]) -> Table:
    """People by sex and illness; illnesses are grouped into common ones and others."""
    common = {name: "common" if count > 100 else "other" for name, count in rows.items()}
    domain = Domain.of(
        {"sex": Hierarchy.flat("fm"), "ill": Hierarchy.from_rows([(name, common[name], "*") for name in rows])}
    )
    codes = {"ill": np.repeat(range(len(rows)), list(rows.values()))}
    codes["sex"] = np.arange(len(codes["ill"])) % 2
    counts = ContingencyTable.from_cells(domain, dict.fromkeys(codes, 0), codes, np.ones(len(codes["sex"]), dtype=int))
    return Table(counts, {"sex": Role.QUASI_IDENTIFIER, "ill": Role.SENSITIVE})


@pytest.mark.parametrize("diversity", [None, *WEAKER])
@pytest.mark.parametrize("min_cell", [None, 2, 3, 44])
def test_a_sensitive_attribute_stands_at_the_finest_level_that_all_rows_may_be_shown_at(
    diversity: str | None, min_cell: int | None
) -> None:
    """By looking at all levels; where none passes, nothing could be shown of it in any release."""
    table = ill(ILLNESSES)
    requirements = Policy(k_link=5, diversity=diversity, min_cell=min_cell).requirements_of(table)
    passing = [
        level
        for level in (0, 1)
        if all(f.holds for f in requirements.of_table(table.cube.table(table.domain.mask({"ill": level}))))
    ]
    if passing:
        assert sensitive_levels(table, requirements) == {"ill": min(passing)}
    else:
        with pytest.raises(NothingPublishableError, match="no single table satisfies the policy"):
            sensitive_levels(table, requirements)
        constraint = PrivacyConstraint(table.cube, requirements)
        assert all(constraint([table.domain.mask({"ill": level})], 0) for level in (0, 1))


def test_what_is_proposed_can_be_shown_at_a_level_that_keeps_the_least_cell() -> None:
    """With all illnesses recursive:3,3 holds, but two of them are rare; of their groups only the weakest demand does."""
    table = ill(ILLNESSES)
    assert proposed_diversity(table, "ill") == "recursive:3,3"
    assert proposed_diversity(table, "ill", 3) == "distinct:2"
    assert proposed_diversity(table, "ill", 44) is None
    strict = Policy(k_link=5, min_cell=3, diversity="recursive:3,3")
    with pytest.raises(NothingPublishableError, match="no single table satisfies the policy"):
        publish(table, strict)
    release = publish(table, Policy(k_link=5, min_cell=3, diversity="distinct:2")).release
    assert "ill" in {name for margin in release.margins for name in margin}
    assert release.verify().ok


def test_another_search_begins_with_the_base_and_the_verdicts_of_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the table says that a reader with a register learns too much from several margins with the attribute."""
    table = table_of(1)
    withheld = [{"age": 1, "sex": 0}]
    policy = Policy(k_link=5, diversity="distinct:2", register=True, must_not_publish=withheld, objective="kl")
    constraints, bases, judged = [], [], []

    def constraint(*given: Any) -> PrivacyConstraint:
        constraints.append(PrivacyConstraint(*given))
        return constraints[-1]

    def base(*given: Any) -> BaseTables:
        bases.append(best_base(*given))
        return bases[-1]

    def findings(_prepared: Prepared, cliques: list[int], _deadline: Deadline) -> list[Finding]:
        judged.append(sum(bool(table.domain.mask({"job": 0}) & mask) for mask in cliques))
        return [Finding("register", Verdict.FAILS, {}, None, (), 0)] if len(judged) == 1 else []

    for name, counted in (("PrivacyConstraint", constraint), ("best_base", base), ("attested", findings)):
        monkeypatch.setattr(searching, name, counted)
    prepared = Prepared(policy, policy.requirements_of(table), table, table)
    search = searching.searched(prepared, NEVER, searching.no_progress)
    assert judged[0] > judged[1], "the first was refused, the second has fewer margins"
    assert (len(constraints), len(bases)) == (1, 1)
    assert search.base == bases[0]
