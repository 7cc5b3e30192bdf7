"""Cuts: what they exclude never violates the criterion, whatever the weights."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from checks import (
    Distinct,
    Diversity,
    Functional,
    Induction,
    NegativeDisclosure,
    NpdRecursive,
    Recursive,
    SensitiveTree,
)
from checks.diversity.criterion import ZERO_LOG, RatioBounds, cuts, loosened_to, violations
from checks.diversity.cuts import EntropyCases, GroupCases, TrimmedCases
from checks.diversity.odds import EntropyAtOdds
from checks.maxent.sensitive_tree import LogTree
from models import Collection, Hierarchy
from privacy_oracles import on_boundary
from privacy_strategies import criteria, functionals, sensitive_collections, tree_of, tree_of_classes


def widths(values: int) -> st.SearchStrategy[list[int]]:
    """How many base values each published value holds."""
    return st.lists(st.integers(1, 3), min_size=values, max_size=values)


def evenly(of: list[int]) -> Hierarchy:
    """Published values, at level 1, that hold so many base values each."""
    return Hierarchy.from_rows((f"{s}.{i}", str(s), "*") for s, width in enumerate(of) for i in range(width))


@pytest.mark.parametrize("most_cases", [40_000, 0], ids=["groups", "largest groups"])
@settings(max_examples=60)
@given(drawn=sensitive_collections(), diversity=functionals(), several=st.booleans(), data=st.data())
def test_every_class_that_breaks_functional_diversity_is_within_the_cut_of_some_case(
    drawn: tuple[Collection, str], diversity: Functional, several: bool, data: st.DataObject, most_cases: int
) -> None:
    """Whatever the weights; with too many groups to tell apart, by the bound on the largest ones."""
    tree = tree_of(*drawn)
    values = len(tree.labels)
    if several and most_cases:
        diversity = replace(diversity, induction=Induction.at_level(evenly(data.draw(widths(values))), 1))
    log_tree = LogTree(tree)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("checks.diversity.criterion.MAX_CASES", most_cases)
        found = violations(diversity, log_tree.ratio_bounds())
    assert found is not None
    screened = []
    for cases in found:
        drawn_weights = np.random.default_rng(data.draw(st.integers(0, 99))).random(cases.support.shape) * cases.support
        screened.append(cuts(cases, drawn_weights / np.maximum(drawn_weights.sum(axis=0), 1e-300)))
    for combinations, _ in tree.combinations(tree.conditional_factors, np.multiply):
        x = log_tree.vectors(combinations)
        for combination, row in zip(combinations.tolist(), x):
            if not diversity.decide(tree.exact_vector(combination)):
                assert any(np.any(row @ cut.coefficients <= cut.bounds) for cut in screened)


def broken_by(diversity: Diversity, vector: list[Fraction], how: str) -> Diversity:
    """A criterion of the same kind that a class violates: as it is, on its boundary, or by a hair."""
    if how == "boundary":
        diversity = on_boundary(diversity, vector)
    if how == "hair":
        shares = np.array([[float(v / sum(vector)) for v in vector]])
        slack = float(diversity.slack(shares)[0])
        beside = loosened_to(diversity, slack + 1e-9 * (1 + slack))
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
    found = violations(diversity, log_tree.ratio_bounds())
    if found is None:
        return True
    x = log_tree.vectors(np.array([combination]))[0]
    heads = list(diversity.heads(values)) if isinstance(diversity, Recursive) else list(range(values))
    leaves = np.ones(values, dtype=np.intp)
    if isinstance(diversity, Functional) and diversity.induction is not None:
        assert diversity.induction.leaves is not None
        leaves = np.asarray(diversity.induction.leaves)
    likely = x - np.log(leaves) >= (x - np.log(leaves))[heads].max() - 1e-9
    if isinstance(diversity, NegativeDisclosure | NpdRecursive):
        likely[:] = True
    within = np.zeros(2, dtype=bool)
    for cases in found:
        moved = cases.targets[attempt % len(cases.targets)](np.tile(x, (len(cases.heads), 1)).T)
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
    if isinstance(diversity, Functional) and data.draw(st.booleans()):
        diversity = replace(diversity, induction=Induction.at_level(evenly(data.draw(widths(values))), 1))
    diversity = broken_by(diversity, tree.exact_vector(combination), how)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("checks.diversity.criterion.MAX_CASES", most_cases)
        assert is_within_its_cut(tree, diversity, combination, attempt)


@given(
    drawn=sensitive_collections(),
    l=st.fractions(Fraction(11, 10), 5, max_denominator=10),
    odds=st.fractions(1, 6, max_denominator=10),
    how=st.sampled_from(["as drawn", "hair"]),
    attempt=st.integers(0, 2),
    data=st.data(),
)
def test_a_class_that_violates_entropy_diversity_after_evidence_is_within_the_cut_of_the_case_of_its_head(
    drawn: tuple[Collection, str], l: Fraction, odds: Fraction, how: str, attempt: int, data: st.DataObject
) -> None:
    """The evidence lowers what others have beside the head; a search that met the class by chance would not notice."""
    tree = tree_of(*drawn)
    combinations = np.concatenate([chosen for chosen, _ in tree.combinations(tree.conditional_factors, np.multiply)])
    combination = combinations[data.draw(st.integers(0, len(combinations) - 1))].tolist()
    diversity = broken_by(EntropyAtOdds(l, odds), tree.exact_vector(combination), how)
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
    monkeypatch.setattr("checks.diversity.criterion.MAX_CASES", most_cases)
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


@pytest.mark.parametrize("shares", [(45, 45, 10), (30, 30, 30, 10), (25, 25, 24, 23, 3)])
def test_values_that_are_too_frequent_only_together_are_within_a_cut(
    shares: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All but one of the values hold more than they may, fewer of them do not."""
    l, together = len(shares), Fraction(100 - shares[-1], 100)
    tau = 1 - (1 - together) * (l - 1) - Fraction(1, 1000)
    diversity = Functional(tau, l)
    assert diversity.bound(l - 1) < together
    assert all(sum(shares[:k]) <= 100 * diversity.bound(k) for k in range(1, l - 1))
    monkeypatch.setattr("checks.diversity.criterion.MAX_CASES", 0)
    for attempt in range(3):
        assert is_within_its_cut(tree_of_classes(shares), diversity, [0], attempt)


def test_groups_that_are_too_many_are_left_to_others_where_published_values_hold_several() -> None:
    """The bound on the largest ones is about published values."""
    ratios = np.zeros((3, 3))
    for width in (2, 3):
        induction = Induction.at_level(evenly([1, width, width]), 1)
        diversity = Functional(Fraction(1, 2), 2, induction=induction)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("checks.diversity.criterion.MAX_CASES", 0)
            assert diversity.violations(RatioBounds(ratios, ratios)) is None


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_the_dual_of_the_entropy_is_the_largest_sum_of_its_terms(seed: int) -> None:
    """For any multipliers; each term on a fine grid of its interval."""
    rng = np.random.default_rng(seed)
    values, count, effective = int(rng.integers(2, 6)), 3, float(rng.uniform(1.05, 5))
    heads = rng.integers(0, values, count)
    others = np.arange(values)[:, None] != heads
    low = np.where(rng.random((values, count)) < 0.2, ZERO_LOG, rng.uniform(-8, 0, (values, count)))
    high = np.where(rng.random((values, count)) < 0.3, 0.0, np.maximum(low, -9) * rng.random((values, count)))
    cases = EntropyCases(heads, others, effective, np.where(others, low, 0.0), np.where(others, high, 0.0))
    weights = np.where(others & (rng.random((values, count)) < 0.8), rng.random((values, count)), 0.0)
    means, scales = rng.uniform(0.5, 3, (count, 4)), np.exp(rng.uniform(-4, 4, (count, 5)))
    dual = cases._dual(weights, means, scales)
    h = np.log(effective)
    for case, mean, scale in np.ndindex(dual.shape):
        m, n = means[case, mean], scales[case, scale]
        expected = n * (h - m + np.exp(m - 1))
        for s in np.flatnonzero(others[:, case]):
            bottom = max(low[s, case], -40.0)
            y = np.append(np.linspace(bottom, high[s, case], 20_001), low[s, case])
            expected += float((weights[s, case] * y + n * np.exp(y) * (y + h - m)).max())
        assert dual[case, mean, scale] == pytest.approx(expected, rel=1e-4, abs=1e-4)
        assert dual[case, mean, scale] >= expected - 1e-7 * (1 + abs(expected))


@pytest.mark.parametrize("seed", range(60))
def test_a_cut_of_trimmed_cases_holds_where_some_tail_is_as_small_as_it_may_be(seed: int) -> None:
    """Several cases at a time, of random log-ratios below random ceilings; the tail is the smallest."""
    rng = np.random.default_rng(seed)
    values, count, theta = int(rng.integers(3, 7)), int(rng.integers(1, 5)), float(np.exp(rng.normal()))
    spared = int(rng.integers(0, values - 1))
    heads = rng.integers(0, values, count)
    support = np.arange(values)[:, None] != heads
    y = np.where(support, rng.normal(0, 2, (values, count)), np.inf)
    tail = np.sort(np.exp(y), axis=0)[: values - 1 - spared].sum(axis=0)
    # Some reach theta, some lie far below it, so that one case's terms would spoil another's.
    depth = rng.choice([0.0, 20.0], count)
    y = np.where(support, y + np.log(theta / tail) - depth, 0.0)
    ceiling = np.where(support, y + rng.exponential(rng.choice([0.01, 1.0]), y.shape), 0.0)
    cases = TrimmedCases(heads, support, theta, spared, ceiling)
    # Also the weights at which the bound is tightest: the shares in the tail, or nearly.
    share = np.where(support, np.exp(y), 0.0) ** rng.choice([0.5, 1.0])
    for drawn in (rng.random((values, count)), np.minimum(share, np.sort(share, axis=0)[values - 1 - spared])):
        weights = np.where(support, drawn, 0.0)
        weights /= weights.sum(axis=0)
        assert np.all((weights * y).sum(axis=0) <= cases.bound(weights) + 1e-9)
