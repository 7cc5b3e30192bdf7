"""Odds: what a class bears is what no evidence breaks, found by optimization that knows no formula; verdicts are exact."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize

from checks import (
    FULL,
    CriterionError,
    Distinct,
    Diversity,
    Entropy,
    Functional,
    NegativeDisclosure,
    NpdRecursive,
    Recursive,
    SensitiveTree,
    Simple,
    Verdict,
    parse_diversity,
    satisfies,
)
from checks.diversity.criterion import SensitiveValues, among
from checks.diversity.odds import AtOdds, UnderOdds, odds_borne
from checks.diversity.relative import ShareRange
from checks.maxent.maxent_diversity import decided, largest_odds
from models import Collection, Hierarchy
from privacy_oracles import conditionals
from privacy_strategies import sensitive_collections, tree_of

LABELS = ["a", "b", "c", "d", "e"]
TEXTS = [
    "distinct:3",
    "simple:1.5",
    "entropy:1.5",
    "entropy:2.5",
    "recursive:3,2",
    "recursive:5,3 or equal",
    "functional:0.7,3",
    "functional:0.8,4",
    "pd-recursive:2,3 may disclose a",
    "npd-recursive:5,4,2 may disclose a must protect b, c",
    "negative-disclosure:3 must protect b",
    "adjusted-entropy:2 may disclose a, e",
    "alpha:0.6 of c, d",
    "beta-likeness:1.5",
    "bayes-optimal:0.3,0.75",
    "t-closeness:0.4",
    "t-closeness:0.3 ordered",
    "t-closeness:0.4 hierarchical",
]
"""A criterion of each kind."""

rows = st.lists(st.sampled_from([0, 1, 2, 3, 5, 8, 13]), min_size=5, max_size=5).filter(any)
odds = st.sampled_from(sorted({Fraction(p, q) for q in range(1, 9) for p in range(q, 4 * q + 1)}))


def judged(text: str, classes: Sequence[Sequence[int]]) -> Diversity:
    """The criterion among five values, the classes being the whole table."""
    whole = tuple(np.sum(classes, axis=0).tolist())
    return among(parse_diversity(text), SensitiveValues(Hierarchy.flat(LABELS).ordered_by(LABELS), 0, whole))


def at_corners(diversity: Diversity, row: Sequence[Fraction | int], by: Fraction) -> bool:
    """The exact verdict under evidence, by the definition at every corner; evidence for what nobody has is none."""
    return all(diversity.decide(corner) for corner in product(*({v, v * by} for v in map(Fraction, row))))


@pytest.mark.parametrize("text", TEXTS)
@given(st.lists(rows, min_size=1, max_size=3), odds)
def test_the_verdict_is_that_of_every_corner(text: str, classes: list[list[int]], by: Fraction) -> None:
    diversity = judged(text, classes)
    expected = [at_corners(diversity, row, by) for row in classes]
    under = UnderOdds(diversity, by)
    assert satisfies(under, np.array(classes)).tolist() == expected
    assert [under.decide(row) for row in classes] == expected


@pytest.mark.parametrize("beyond", [Fraction(-1, 100), Fraction(0), Fraction(1, 100)])
@given(rows.filter(lambda row: row[0]), odds)
def test_bounds_of_a_share_at_odds_are_those_of_every_corner(beyond: Fraction, row: list[int], by: Fraction) -> None:
    """Bounds at the share that evidence makes the smallest or largest, and a hair beyond; lower ones, too."""
    own, others = row[0], sum(row[1:])
    least, most = own / (own + by * others), own * by / (own * by + others)
    for bounded in (
        ShareRange.of(5, lower={0: min(max(least + beyond, Fraction(0)), Fraction(99, 100))}),
        ShareRange.of(5, upper={0: most - beyond}),
    ):
        assert bounded.at_odds(by).decide(row) == at_corners(bounded, row, by)


@pytest.mark.slow
@pytest.mark.parametrize("text", TEXTS[1:])
def test_the_largest_odds_are_those_of_an_optimization_that_knows_no_formula(text: str) -> None:
    """Quasi-Newton steps over the evidence from the middle, and corners, then the root of the worst slack."""
    rng = np.random.default_rng(sum(map(ord, text)))
    classes = rng.integers(1, 40, (400, 5))
    diversity = judged(text, classes.tolist())
    chosen = classes[diversity.slack(classes) > 0.02][:3]
    assert len(chosen)
    for row, borne in zip(chosen, odds_borne(diversity, chosen).tolist()):
        assert optimized_odds(diversity, row.astype(float), borne * 2) == pytest.approx(borne, rel=1e-6)


def optimized_odds(diversity: Diversity, row: np.ndarray, most: float) -> float:
    """The odds at which the worst evidence just breaks a criterion."""

    def worst(by: float) -> float:
        def slack(u: np.ndarray) -> float:
            return float(np.clip(diversity.slack((row * by**u)[None])[0], -1e3, 1e3))

        corners = [np.array(corner, dtype=float) for corner in product((0, 1), repeat=5)]
        best = min(map(slack, corners))
        inner = minimize(slack, np.full(5, 0.5), bounds=[(0, 1)] * 5, method="L-BFGS-B", options={"maxiter": 20})
        assert inner.fun >= best - 1e-6
        return best

    return float(brentq(worst, 1, most, xtol=1e-10))


@pytest.mark.parametrize("text", TEXTS)
@given(st.lists(rows, min_size=2, max_size=2), odds)
def test_merging_classes_that_bear_odds_bears_them(text: str, classes: list[list[int]], by: Fraction) -> None:
    under = UnderOdds(judged(text, classes), by)
    if satisfies(under, np.array(classes)).all():
        assert satisfies(under, np.sum(classes, axis=0)[None]).all()


PLAIN = [
    Distinct(2),
    Simple(Fraction(6, 5)),
    Entropy(Fraction(3, 2)),
    Recursive(Fraction(4), 2),
    Functional(Fraction(4, 5), 2),
    NegativeDisclosure(Fraction(5), frozenset({0})),
    NpdRecursive(Recursive(Fraction(5), 2), NegativeDisclosure(Fraction(2), frozenset({0}))),
]


def classes_of(
    drawn: tuple[Collection, str], tree: SensitiveTree, diversity: Diversity
) -> list[Sequence[Fraction | int]]:
    """The classes by what the criterion is about. The base values under a published one are equally likely."""
    vectors = list(conditionals(*drawn).values())
    if not diversity.about_base_values:
        return vectors
    above = tree.values.hierarchy.lift(0, tree.values.level).tolist()
    return [[vector[code] / above.count(code) for code in above] for vector in vectors]


@given(sensitive_collections(), st.sampled_from(PLAIN), odds)
def test_collections_at_odds_are_judged_as_every_combination_of_classes(
    drawn: tuple[Collection, str], diversity: Diversity, by: Fraction
) -> None:
    """The join, and the algorithms for larger ones."""
    tree = tree_of(*drawn)
    expected = all(at_corners(diversity, vector, by) for vector in classes_of(drawn, tree, diversity))
    under = AtOdds(diversity, by).among(tree.values)
    assert decided(tree, under)[1].verdict is (Verdict.HOLDS if expected else Verdict.FAILS)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("checks.maxent.maxent_diversity.SMALL_JOIN", 0)
        for budget in (FULL, replace(FULL, multiplied=0)):
            assert decided(tree, under, budget)[1].verdict is (Verdict.HOLDS if expected else Verdict.FAILS)


@given(sensitive_collections(), st.sampled_from(PLAIN))
def test_the_largest_odds_of_a_collection_are_proven_and_no_larger_ones_hold(
    drawn: tuple[Collection, str], diversity: Diversity
) -> None:
    tree = tree_of(*drawn)
    judged = among(diversity, tree.values)
    assume(decided(tree, judged)[1].verdict is Verdict.HOLDS)
    found = largest_odds(tree, judged, FULL)
    classes = classes_of(drawn, tree, diversity)
    least = min(float(odds_borne(diversity, np.array([[float(v) for v in row]]))[0]) for row in classes)
    if found is None:
        assert least < 1.001 or least == np.inf
    else:
        assert found == pytest.approx(least, abs=1.1e-3)


def test_the_worst_class_under_odds_can_be_another_than_without() -> None:
    """The first is more uncertain as it is, and less for somebody who knows a little."""
    classes = np.array([[10, 2, 4, 2], [0, 6, 4, 4]])
    assert Entropy(Fraction(2)).slack(classes).argmin() == 1
    assert UnderOdds(Entropy(Fraction(2)), Fraction(3)).slack(classes).argmin() == 0


def test_at_odds_stands_at_the_end_of_any_text() -> None:
    for text in TEXTS:
        criterion = parse_diversity(f"{text} at odds 1.25")
        assert criterion == AtOdds(parse_diversity(text), Fraction(5, 4))
        assert parse_diversity(str(criterion)) == criterion
        assert "1.25-fold" in criterion.meaning()
    label = parse_diversity('alpha:0.5 of "x at odds 2"')
    assert parse_diversity(f"{label} at odds 3") == AtOdds(label, Fraction(3))


def test_odds_that_no_text_could_say_are_refused() -> None:
    for number in (Fraction(10**20), Fraction(1.1234567890123456)):
        with pytest.raises(CriterionError, match="twelve digits"):
            AtOdds(Entropy(Fraction(2)), number)


def test_what_is_about_base_values_is_so_at_odds() -> None:
    assert AtOdds(Functional(Fraction(1, 2), 3), Fraction(2)).about_base_values
    assert not AtOdds(Entropy(Fraction(2)), Fraction(2)).about_base_values


@pytest.mark.parametrize("text", ["entropy:3 at odds 0.9", "entropy:3 at odds x", "entropy:3 at odds", "at odds 2"])
def test_odds_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(CriterionError):
        parse_diversity(text)


def test_too_many_values_are_refused_where_everything_would_be_tried() -> None:
    values = SensitiveValues(Hierarchy.flat(map(str, range(21))), 0, (1,) * 21)
    for text in ("t-closeness:0.5", "adjusted-entropy:2 may disclose 3"):
        with pytest.raises(CriterionError, match="sensitive values at most, not for 21"):
            UnderOdds(among(parse_diversity(text), values), Fraction(2)).slack(np.ones((1, 21)))


@pytest.mark.slow
def test_no_simulated_attacker_below_the_odds_crosses_the_bound() -> None:
    """A nightly count had 0 of 100,000 for each criterion."""
    rng = np.random.default_rng(3)
    for text in TEXTS:
        classes = rng.integers(1, 20, (10, 5))
        diversity = judged(text, classes.tolist())
        borne = odds_borne(diversity, classes)
        for row, most in zip(classes[borne > 1.001], borne[borne > 1.001]):
            by = min(most, 1e3) * (1 - 1e-9)
            evidence = by ** rng.random((200, 5)) if rng.random() < 0.5 else by ** rng.integers(0, 2, (200, 5))
            assert (diversity.slack(row * evidence) > -1e-9).all(), text


@pytest.mark.parametrize("probability", [0.007, 0.013, 0.054, 1.0])
def test_a_class_of_its_protected_value_alone_bears_any_odds(probability: float) -> None:
    """As floats, 100 times 0.007 over 0.007 is more than 100."""
    alone = np.array([[0.0, probability, 0.0]])
    assert odds_borne(NegativeDisclosure(Fraction(5), frozenset({1})), alone) == np.inf
