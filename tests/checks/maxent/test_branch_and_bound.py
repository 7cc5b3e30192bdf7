"""Cuts and branch and bound: nothing that could violate a criterion is dropped, whatever is looked at first."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import checks.maxent.branch_and_bound
from checks import (
    FULL,
    Distinct,
    Diversity,
    NegativeDisclosure,
    NpdRecursive,
    Recursive,
    SensitiveTree,
    Verdict,
    by_hull,
    by_join,
)
from checks.diversity.criterion import BOUNDARY
from checks.diversity.cuts import ZERO_LOG, Cases, Cuts, GroupCases, cuts
from checks.maxent.branch_and_bound import branch_and_bound
from checks.maxent.sensitive_tree import Judge, LogTree
from models import Collection, FloatArray, IndexArray
from privacy_oracles import conditionals, on_boundary
from privacy_strategies import criteria, sensitive_collections, tree_of, tree_of_classes


def broken_by(diversity: Diversity, vector: list[Fraction], how: str) -> Diversity:
    """A criterion of the same kind that a class violates: as it is, on its boundary, or by a hair."""
    if how == "boundary":
        diversity = on_boundary(diversity, vector)
    if how == "hair":
        shares = np.array([[float(v / sum(vector)) for v in vector]])
        slack = float(diversity.slack(shares)[0])
        beside = diversity.loosened_to(slack + 1e-9 * (1 + slack))
        assume(beside is not None)
        assert beside is not None
        diversity = beside
    assume(not diversity.decide(vector))
    return diversity


def is_within_its_cut(tree: SensitiveTree, diversity: Diversity, combination: list[int], attempt: int) -> bool:
    """Whether a violation is within the cut of some case of its head.

    At even weights, and at those that the search would try next, having met this class.
    """
    log_tree, values = LogTree(tree), len(tree.labels)
    found = diversity.violations(log_tree.ratio_bounds())
    if found is None:
        return True
    x = log_tree.vectors(np.array([combination]))[0]
    heads = list(diversity.heads(values)) if isinstance(diversity, Recursive) else list(range(values))
    likely = x >= x[heads].max() - 1e-9
    if isinstance(diversity, NegativeDisclosure | NpdRecursive):
        likely[:] = True
    within = np.zeros(2, dtype=bool)
    for cases in found:
        moved = cases.target(np.tile(x, (len(cases.heads), 1)).T, attempt)
        target = np.maximum(moved, 0) * cases.support
        total = target.sum(axis=0)
        even = cases.support / np.maximum(cases.support.sum(axis=0), 1)
        for i, weights in enumerate((even, np.where(total > 0, target / np.where(total > 0, total, 1), even))):
            cut = cuts(cases, weights)
            within[i] |= bool(np.any(likely[cases.heads] & (x @ cut.coefficients <= cut.bounds)))
    return bool(within.all())


@given(
    drawn=sensitive_collections(),
    how=st.sampled_from(["as drawn", "boundary", "hair"]),
    attempt=st.integers(0, 2),
    most_cases=st.sampled_from([40_000, 0]),
    data=st.data(),
)
def test_every_violation_is_within_the_cut_of_the_case_of_its_head(
    drawn: tuple[Collection, str], how: str, attempt: int, most_cases: int, data: st.DataObject
) -> None:
    """Of every criterion that has cuts; also where tails or groups are too many to tell apart."""
    tree = tree_of(*drawn)
    values = len(tree.labels)
    combinations = np.concatenate([chosen for chosen, _ in tree.combinations(tree.conditional_factors, np.multiply)])
    combination = combinations[data.draw(st.integers(0, len(combinations) - 1))].tolist()
    diversity = data.draw(criteria(values).filter(lambda diversity: not isinstance(diversity, Distinct)))
    diversity = broken_by(diversity, tree.exact_vector(combination), how)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("checks.diversity.criteria.MAX_CASES", most_cases)
        assert is_within_its_cut(tree, diversity, combination, attempt)


@pytest.mark.parametrize("most_cases", [40_000, 0])
@pytest.mark.parametrize(
    ("classes", "diversity"),
    [
        (((6, 2, 0), (3, 1, 1)), Recursive(Fraction(3), 2)),
        (((10, 3, 3, 1, 1),), Recursive(Fraction(2), 3)),
        (((10, 3, 3, 1, 1), (3, 1, 1, 1, 1)), Recursive(Fraction(5), 4)),
    ],
)
def test_a_class_whose_tail_is_exactly_at_the_bound_is_within_a_cut(
    classes: tuple[tuple[int, ...], ...], diversity: Recursive, most_cases: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The head is c times the tail, in the first class. There may be values that hold the tail by themselves."""
    monkeypatch.setattr("checks.diversity.criteria.MAX_CASES", most_cases)
    for attempt in range(3):
        assert is_within_its_cut(tree_of_classes(*classes), diversity, [0], attempt)


@pytest.mark.parametrize("seed", range(60))
def test_a_cut_of_group_cases_holds_where_the_tail_is_as_heavy_as_it_may_be(seed: int) -> None:
    """Several cases at a time, of random log-ratios between random bounds; the scale of a class says nothing."""
    rng = np.random.default_rng(seed)
    values, count = int(rng.integers(3, 7)), int(rng.integers(1, 5))
    heads, cases = rng.integers(0, values, count), np.arange(count)
    floor = rng.uniform(-4, 1, (values, count))
    ceiling = floor + rng.choice([0.0, 0.1, 4.0], (values, count)) * rng.random((values, count))
    floor = np.where(rng.random((values, count)) < 0.2, ZERO_LOG, floor)
    floor[heads, cases] = ceiling[heads, cases] = 0
    place = rng.choice([0.0, 0.5, 1.0], (values, count))
    # What can vanish may do so in several cliques.
    y = np.where((floor == ZERO_LOG) & (place < 1), 3 * ZERO_LOG, floor + place * (ceiling - floor))
    balance = rng.choice([-1.0, 1.0], (values, count)) * rng.uniform(0.1, 2, (values, count))
    balance[heads, cases] = -rng.uniform(0.1, 2, count)
    weight = balance * np.exp(y)
    group, tail = -np.minimum(weight, 0).sum(axis=0), np.maximum(weight, 0).sum(axis=0)
    # In some the tail weighs just as much as the group, in some far less, so that one case's terms would spoil another's.
    fraction = np.where(tail > 0, group / np.where(tail > 0, tail, 1), 1) * np.exp(-rng.choice([0.0, 20.0], count))
    balance = np.where(balance > 0, balance * fraction, balance)
    found = GroupCases.of(heads, balance, floor, ceiling)
    shares = np.where(found.support, balance * np.exp(y), 0.0)
    for drawn in (np.where(found.support, rng.random((values, count)), 0.0), shares):
        total = drawn.sum(axis=0)
        weights = np.where(total > 0, drawn / np.where(total > 0, total, 1), 0.0)
        cut = cuts(found, weights)
        shown = (weights > 0) | (found.slopes > 0) | (np.arange(values)[:, None] == heads)
        for shift in (0.0, 7.0, -7.0):
            form = np.where(shown, cut.coefficients * (y + shift), 0.0).sum(axis=0)
            assert np.all((form <= cut.bounds + 1e-9) | (total == 0) & found.support.any(axis=0))


class Blind(Judge):
    """Judges nothing."""

    def look_at(self, combinations: IndexArray, vectors: FloatArray) -> None:
        """Look away."""


@given(sensitive_collections(), st.data())
def test_the_verdict_does_not_hang_on_what_is_looked_at_first(
    drawn: tuple[Collection, str], data: st.DataObject
) -> None:
    """All minimizers unseen, only the enumeration is left to find a violation."""
    tree = tree_of(*drawn)
    diversity = data.draw(criteria(len(tree.labels)))
    vectors = list(conditionals(*drawn).values())
    if data.draw(st.booleans()):
        diversity = on_boundary(diversity, data.draw(st.sampled_from(vectors)))
    expected = Verdict.HOLDS if all(diversity.decide(vector) for vector in vectors) else Verdict.FAILS
    screen, budget = checks.maxent.branch_and_bound._screen, replace(FULL, proof=0)

    def screened_blindly(
        log_tree: LogTree, cases: Cases, worst: Judge, rounds: int, *, witness_is_enough: bool
    ) -> tuple[Cases, Cuts] | None:
        return screen(log_tree, cases, Blind(worst.tree, diversity), rounds, witness_is_enough=witness_is_enough)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checks.maxent.branch_and_bound, "_screen", screened_blindly)
        patch.setattr(
            checks.maxent.branch_and_bound,
            "_first",
            lambda t: (np.zeros((0, len(t.x)), int), np.zeros((0, t.x[0].shape[1]))),
        )
        outcome = branch_and_bound(tree, diversity, budget)
        unsearched = branch_and_bound(tree, diversity, replace(budget, branches=0))
    if outcome is not None and unsearched is not None:
        assert outcome.verdict is expected
        assert unsearched.verdict in (expected, Verdict.UNDECIDED)
        assert not (unsearched.verdict is Verdict.UNDECIDED and unsearched.proven_worst)
        assert not outcome.proven_worst


@dataclass(frozen=True)
class AtTheLine(Distinct):
    """Somebody's own criterion, of which every class has this slack."""

    of_every_class: float = 0.0
    holds: bool = True

    def slack(self, vectors: FloatArray) -> FloatArray:
        return np.full(len(vectors), self.of_every_class)

    def decide(self, vector: Sequence[Fraction | int]) -> bool:  # noqa: ARG002
        return self.holds


@pytest.mark.parametrize("near", [-BOUNDARY, -BOUNDARY / 2, 0.0, BOUNDARY / 2, BOUNDARY])
@pytest.mark.parametrize("holds", [True, False])
def test_up_to_the_line_itself_a_verdict_is_exact(near: float, holds: bool) -> None:
    tree = tree_of_classes((1, 2, 3), (3, 1, 1))
    for outcome in (by_join(tree, AtTheLine(2, near, holds)), by_hull(tree, AtTheLine(2, near, holds))):
        assert outcome.verdict is (Verdict.HOLDS if holds else Verdict.FAILS)
