"""Budgets: a check does no more work than it may, says undecided then and never anything false, and always the same."""

from contextlib import suppress
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
    Requirements,
    Verdict,
    by_hull,
    k_combinatorial,
    maxent_diversity,
    parse_diversity,
    sensitive_tree,
)
from filled_tables import flat_domain, of_rows, published
from models import Collection, Deadline, RefusalScope, TimeOverError
from privacy_oracles import conditionals
from privacy_strategies import diversities, functionals, random_star, sensitive_collections

NOTHING = Budget(**{field.name: 0 for field in fields(Budget) if field.name != "deadline"})


PAIRS = ["ab", "cd", "ef", "gh", "ij", "kl"]


@pytest.mark.parametrize("wrong", [{"boxes": -1}, {"seconds": -0.5}])
def test_a_budget_is_not_negative(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must not be negative"):
        replace(FULL, **wrong)


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
        assert maxent_diversity(collection, sensitive, diversity, budget).verdict in (expected, Verdict.UNDECIDED)
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
        whole = claim.check(Question(collection, [sensitive]))
        with pytest.MonkeyPatch.context() as patch, suppress(TimeOverError):
            patch.setattr("checks.maxent.maxent_diversity.SMALL_JOIN", 0)
            cut = claim.check(Question(collection, [sensitive], budget.until(looks(number))))
            assert cut.verdict in (whole.verdict, Verdict.UNDECIDED)
            assert (cut.criterion, dict(cut.parameters)) == (claim.criterion, dict(whole.parameters))


def test_integer_programs_end_with_the_deadline() -> None:
    """Six tables of pairs: 20,736 cells, and thousands of programs of seconds each."""
    rng = np.random.default_rng(0)
    values, names = 6, "abcs"
    table = of_rows(flat_domain(**dict.fromkeys(names, values)), rng.integers(values, size=(4, 300)).T)
    collection = published(table, *map("".join, combinations(names, 2)))
    finding = KCombinatorial(2).check(Question(collection, ["s"], replace(FULL, seconds=0.05).until(looks(8))))
    assert finding.verdict in (Verdict.UNDECIDED, Verdict.FAILS)
    assert finding.examined <= 8
    over = KCombinatorial(1).check(Question(collection, ["s"], FULL.until(looks(0))))
    assert over.verdict is Verdict.UNDECIDED
    assert "time" in over.note
    assert over.worst_class.count_between == (0, 300)


@pytest.mark.parametrize("text", ["functional:1/2,6", "recursive:4,6", "entropy:5"])
def test_no_work_is_no_answer_but_for_what_is_found_at_once(text: str) -> None:
    """At 0.02 everything holds, which takes looking at every case."""
    assert (
        maxent_diversity(random_star(PAIRS[:4], 0.02, 14, 6), "s", parse_diversity(text), NOTHING).verdict
        is Verdict.UNDECIDED
    )


@pytest.mark.parametrize("effect", [0.02, 0.5])
@pytest.mark.parametrize("margins", [3, 6])
def test_functional_diversity_of_large_joins_is_decided_within_the_budget_of_a_search(
    margins: int, effect: float
) -> None:
    """No linear program is asked: hull pruning, which asks one for each of up to 10^5 vectors, takes minutes there."""
    searching = replace(FULL, joined=0, screened=40_000_000, branches=1_000_000, first_branches=1_000_000, proof=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scipy.optimize, "linprog", None)
        finding = maxent_diversity(
            random_star(PAIRS[:margins], effect, 14, 6), "s", parse_diversity("functional:1/2,6"), searching
        )
    assert finding.verdict is (Verdict.HOLDS if effect == 0.02 else Verdict.FAILS)


def test_hull_pruning_solves_no_more_programs_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    solved, solve = 0, scipy.optimize.linprog

    def counted(*arguments: Any, **options: Any) -> Any:
        nonlocal solved
        solved += 1
        return solve(*arguments, **options)

    monkeypatch.setattr(scipy.optimize, "linprog", counted)
    tree = sensitive_tree(random_star(PAIRS[:2], 0.3, 14, 4), "s")
    assert tree is not None
    outcome = by_hull(tree, Functional(Fraction(9, 10), 3), replace(FULL, programs=7))
    assert outcome.verdict is Verdict.UNDECIDED
    assert solved == 7


def test_an_undecided_check_within_a_search_refuses_its_collection_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """And so it does each time it is asked."""
    collection, requirements = random_star(PAIRS[:4], 0.02, 14, 6), Requirements(("s",), diversity=Entropy(Fraction(5)))
    assert PrivacyConstraint(collection.cube, requirements)(collection.masks, 0) is None
    monkeypatch.setattr("checks.privacy_constraint.SEARCHING", NOTHING)
    for _ in range(2):
        refusal = PrivacyConstraint(collection.cube, requirements)(collection.masks, 0)
        assert refusal is not None
        assert refusal.scope is RefusalScope.ITSELF
        assert "undecided" in refusal.reason
