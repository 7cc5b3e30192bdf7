"""Budgets: a check does no more work than it may, says undecided then and never anything false, and always the same."""

from collections.abc import Callable
from dataclasses import fields, replace
from fractions import Fraction
from itertools import combinations, count
from typing import Any

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st

from checks import (
    FULL,
    Budget,
    Diversity,
    Entropy,
    Functional,
    KCombinatorial,
    KLink,
    MaxentDiversity,
    PrivacyConstraint,
    Question,
    Recursive,
    Requirements,
    SensitiveTree,
    Verdict,
    by_hull,
    k_combinatorial,
    sensitive_tree,
)
from checks.claims import answer
from checks.finding import SEARCHING
from checks.maxent.maxent_diversity import decided
from models import Collection, ContingencyTable, DataCube, Deadline, Domain, Hierarchy, RefusalScope
from privacy_oracles import conditionals
from privacy_strategies import diversities, functionals, sensitive_collections

NOTHING = Budget(**{field.name: 0 for field in fields(Budget) if field.name != "deadline"})


def star(margins: int, effect: float, values: int = 14, size: int = 6) -> Collection:
    """Margins {a_i, b_i, s} of 100,000 rows that depend on s by logits of this standard deviation."""
    rng = np.random.default_rng(0)
    base = np.exp(-0.6 * rng.normal(size=values))
    columns = {"s": rng.choice(values, 100_000, p=base / base.sum())}
    for name in "abcdefghijkl"[: 2 * margins]:
        logits = (effect * rng.normal(size=(values, size)))[columns["s"]]
        columns[name] = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    domain = Domain.of({n: Hierarchy.flat(map(str, range(values if n == "s" else size))) for n in columns})
    tables = []
    for first, second in zip(*[iter(sorted(set(columns) - {"s"}))] * 2):
        margin = dict.fromkeys((first, second, "s"), 0)
        cells = {n: columns[n] for n in margin}
        tables.append(ContingencyTable.from_cells(domain, margin, cells, np.ones(100_000, dtype=np.int64)))
    return Collection.of(DataCube(tables), [table.mask for table in tables])


def tree_of(collection: Collection) -> SensitiveTree:
    tree = sensitive_tree(collection, "s")
    assert tree is not None
    return tree


@pytest.mark.parametrize("wrong", [{"boxes": -1}, {"seconds": -0.5}])
def test_a_budget_is_not_negative(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must not be negative"):
        replace(FULL, **wrong)


def test_a_search_counts_its_work_and_never_has_more_than_a_verification() -> None:
    for field in fields(Budget):
        if field.name not in ("seconds", "deadline"):
            assert getattr(SEARCHING, field.name) <= getattr(FULL, field.name), field.name
    assert SEARCHING.seconds == float("inf")


@settings(max_examples=60)
@given(sensitive_collections(), diversities() | functionals(), st.integers(1, 4), st.data())
def test_whatever_the_budget_a_verdict_is_true_or_undecided(
    drawn: tuple[Collection, str], diversity: Diversity, k: int, data: st.DataObject
) -> None:
    collection, sensitive = drawn
    tree = sensitive_tree(collection, sensitive)
    if tree is None:
        return
    work = {name: data.draw(st.sampled_from([0, 1, 20, 10**6])) for name in vars(NOTHING) if name != "deadline"}
    budget = Budget(**work)
    vectors = conditionals(collection, sensitive).values()
    expected = Verdict.HOLDS if all(diversity.decide(vector) for vector in vectors) else Verdict.FAILS
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("checks.maxent.maxent_diversity.SMALL_JOIN", 0)
        assert decided(tree, diversity, budget)[1].verdict in (expected, Verdict.UNDECIDED)
        assert by_hull(tree, diversity, budget).verdict in (expected, Verdict.UNDECIDED)
    wanted = k_combinatorial(collection, [sensitive], k).verdict
    assert k_combinatorial(collection, [sensitive], k, budget).verdict in (wanted, Verdict.UNDECIDED)


def looks(number: int) -> Deadline:
    """A deadline that is over when it was looked at so often."""
    counted = count()
    return Deadline(float(number), lambda: float(next(counted)))


@settings(max_examples=60)
@given(
    sensitive_collections(),
    diversities() | functionals(),
    st.integers(1, 4),
    st.integers(0, 12),
    st.sampled_from([FULL, replace(FULL, multiplied=0)]),
)
def test_whenever_the_deadline_comes_a_verdict_is_true_or_undecided(
    drawn: tuple[Collection, str], diversity: Diversity, k: int, number: int, budget: Budget
) -> None:
    collection, sensitive = drawn
    for claim in (MaxentDiversity(diversity, sensitive), KCombinatorial(k), KLink(k)):
        whole = answer(claim, Question(collection, [sensitive]))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("checks.maxent.maxent_diversity.SMALL_JOIN", 0)
            cut = answer(claim, Question(collection, [sensitive], budget.until(looks(number))))
        assert cut.verdict in (whole.verdict, Verdict.UNDECIDED)
        assert cut.criterion == claim.criterion
        assert dict(cut.parameters) == dict(whole.parameters)


def test_integer_programs_end_with_the_deadline() -> None:
    """Six tables of pairs: 20,736 cells, and thousands of programs of seconds each."""
    rng = np.random.default_rng(0)
    values, names = 6, "abcs"
    columns = {name: rng.integers(values, size=300) for name in names}
    domain = Domain.of({name: Hierarchy.flat(map(str, range(values))) for name in names})
    tables = [
        ContingencyTable.from_cells(domain, dict.fromkeys(pair, 0), {a: columns[a] for a in pair}, np.ones(300, int))
        for pair in combinations(names, 2)
    ]
    collection = Collection.of(DataCube(tables), [table.mask for table in tables])
    finding = answer(KCombinatorial(2), Question(collection, ["s"], replace(FULL, seconds=0.05).until(looks(8))))
    assert finding.verdict in (Verdict.UNDECIDED, Verdict.FAILS)
    assert finding.examined <= 8
    over = answer(KCombinatorial(1), Question(collection, ["s"], FULL.until(looks(0))))
    assert over.verdict is Verdict.UNDECIDED
    assert over.note == "the time was over before every cell was decided"
    assert over.worst_class.count_between == (0, 300)


CASES: dict[str, Callable[[SensitiveTree, Budget], Verdict]] = {
    "functional": lambda t, b: decided(t, Functional(Fraction(1, 2), 6), b)[1].verdict,
    "recursive": lambda t, b: decided(t, Recursive(Fraction(4), 6), b)[1].verdict,
    "entropy": lambda t, b: decided(t, Entropy(Fraction(5)), b)[1].verdict,
}


@pytest.mark.parametrize("name", CASES)
def test_no_work_is_no_answer_but_for_what_is_found_at_once(name: str) -> None:
    """At 0.02 everything holds, which takes looking at every case."""
    assert CASES[name](tree_of(star(4, 0.02)), NOTHING) is Verdict.UNDECIDED


@pytest.mark.slow
@pytest.mark.parametrize("effect", [0.02, 0.5])
@pytest.mark.parametrize("margins", [3, 6])
def test_functional_diversity_of_large_joins_is_decided_within_the_budget_of_a_search(
    margins: int, effect: float
) -> None:
    """No linear program is asked: hull pruning, which asks one for each of up to 10^5 vectors, takes minutes there."""
    tree = tree_of(star(margins, effect))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scipy.optimize, "linprog", None)
        verdict = CASES["functional"](tree, replace(SEARCHING, joined=0))
    assert verdict is (Verdict.HOLDS if effect == 0.02 else Verdict.FAILS)


def test_hull_pruning_solves_no_more_programs_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    solved, solve = 0, scipy.optimize.linprog

    def counted(*arguments: Any, **options: Any) -> Any:
        nonlocal solved
        solved += 1
        return solve(*arguments, **options)

    monkeypatch.setattr(scipy.optimize, "linprog", counted)
    tree = tree_of(star(2, 0.3, size=4))
    outcome = by_hull(tree, Functional(Fraction(9, 10), 3), replace(FULL, programs=7))
    assert outcome.verdict is Verdict.UNDECIDED
    assert solved == 7


def test_an_undecided_check_within_a_search_refuses_its_collection_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """And so it does each time it is asked."""
    collection, requirements = star(4, 0.02), Requirements(("s",), diversity=Entropy(Fraction(5)))
    assert PrivacyConstraint(collection.cube, requirements)(collection.masks, 0) is None
    monkeypatch.setattr("checks.privacy_constraint.SEARCHING", NOTHING)
    for _ in range(2):
        refusal = PrivacyConstraint(collection.cube, requirements)(collection.masks, 0)
        assert refusal is not None
        assert refusal.scope is RefusalScope.ITSELF
        assert "undecided" in refusal.reason
