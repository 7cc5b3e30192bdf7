"""What a reader knows besides: evidence that changes odds, and people who have several rows. Verdicts are exact."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize

from checks import (
    FULL,
    CriterionError,
    Diversity,
    Entropy,
    MaxentDiversity,
    Question,
    Requirements,
    SensitiveTree,
    Simple,
    Verdict,
    by_hull,
    by_join,
    maxent_diversity,
    parse_diversity,
    satisfies,
    spelled,
)
from judged_classes import judged, judged_on
from models import Collection
from privacy_oracles import conditionals, is_diverse
from privacy_strategies import classes, diversities, sensitive_collections, tree_of

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


def of_five(text: str, classes: Sequence[Sequence[int]]) -> Diversity:
    """The criterion among five values, the classes being the whole table."""
    return judged(text, LABELS, np.sum(classes, axis=0).tolist())


def at_odds(text: str, by: Fraction) -> str:
    return f"{text} at odds {spelled(by)}"


def at_corners(diversity: Diversity, row: Sequence[Fraction | int], by: Fraction) -> bool:
    """The exact verdict under evidence, by the definition at every corner; evidence for what nobody has is none."""
    return all(diversity.decide(corner) for corner in product(*({v, v * by} for v in map(Fraction, row))))


@pytest.mark.parametrize("text", TEXTS)
@given(st.lists(rows, min_size=1, max_size=3), odds)
def test_the_verdict_is_that_of_every_corner(text: str, classes: list[list[int]], by: Fraction) -> None:
    """And merging keeps it."""
    plain, under = of_five(text, classes), of_five(at_odds(text, by), classes)
    expected = [at_corners(plain, row, by) for row in classes]
    assert satisfies(under, np.array(classes)).tolist() == expected
    assert [under.decide(row) for row in classes] == expected
    if all(expected):
        assert satisfies(under, np.sum(classes, axis=0)[None]).all()


@pytest.mark.parametrize("beyond", [Fraction(-1, 100), Fraction(0), Fraction(1, 100)])
@given(rows.filter(lambda row: 0 < row[0] < sum(row)), odds)
def test_bounds_of_a_share_at_odds_are_those_of_every_corner(beyond: Fraction, row: list[int], by: Fraction) -> None:
    """Bounds at the share that evidence makes the smallest or largest, and a hair beyond; lower ones, too."""
    own, others = row[0], sum(row[1:])
    least, most = own / (own + by * others), own * by / (own * by + others)
    for text, share in (
        ("negative-disclosure:{} must protect a", 100 * (least + beyond)),
        ("alpha:{} of a", most - beyond),
    ):
        if 0 < share < (100 if text.startswith("negative") else 1):
            stated = text.format(spelled(share))
            assert of_five(at_odds(stated, by), [row]).decide(row) == at_corners(of_five(stated, [row]), row, by)


@pytest.mark.parametrize("text", TEXTS[1:])
def test_the_largest_odds_are_those_of_an_optimization_that_knows_no_formula(text: str) -> None:
    """Quasi-Newton steps over the evidence from the middle, and corners, then the root of the worst slack."""
    rng = np.random.default_rng(sum(map(ord, text)))
    classes = rng.integers(1, 40, (400, 5))
    diversity, under = of_five(text, classes.tolist()), of_five(at_odds(text, Fraction(2)), classes.tolist())
    chosen = classes[diversity.slack(classes) > 0.02][:3]
    assert len(chosen)
    for row, borne in zip(chosen, under.reached(chosen).tolist()):
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


PLAIN = ["distinct:2", "simple:6/5", "entropy:3/2", "recursive:4,2", "functional:4/5,2", "protected", "npd"]


@st.composite
def cases(draw: st.DrawFn) -> tuple[Collection, str, SensitiveTree, str]:
    """A collection, its sensitive attribute and tree, and a criterion; some protect its first value."""
    collection, sensitive = draw(sensitive_collections())
    tree = tree_of(collection, sensitive)
    first, text = tree.labels[0], draw(st.sampled_from(PLAIN))
    named = {"protected": "negative-disclosure:5", "npd": "npd-recursive:5,2,2"}
    return collection, sensitive, tree, f'{named[text]} must protect "{first}"' if text in named else text


def classes_of(collection: Collection, tree: SensitiveTree, diversity: Diversity) -> list[Sequence[Fraction | int]]:
    """The classes by what the criterion is about. The base values under a published one are equally likely."""
    vectors = list(conditionals(collection, tree.sensitive).values())
    if not diversity.about_base_values:
        return vectors
    above = tree.values.hierarchy.lift(0, tree.values.level).tolist()
    return [[vector[code] / above.count(code) for code in above] for vector in vectors]


@given(cases(), odds)
def test_collections_at_odds_are_judged_as_every_combination_of_classes(
    case: tuple[Collection, str, SensitiveTree, str], by: Fraction
) -> None:
    """The join, and the algorithms for larger ones."""
    collection, sensitive, tree, text = case
    criterion = parse_diversity(text)
    plain = criterion if criterion.about_base_values else judged_on(tree, text)
    expected = all(at_corners(plain, vector, by) for vector in classes_of(collection, tree, criterion))
    asked, verdict = parse_diversity(at_odds(text, by)), Verdict.HOLDS if expected else Verdict.FAILS
    assert maxent_diversity(collection, sensitive, asked).verdict is verdict
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("checks.maxent.maxent_diversity.SMALL_JOIN", 0)
        for budget in (FULL, replace(FULL, multiplied=0)):
            assert maxent_diversity(collection, sensitive, asked, budget).verdict is verdict


@given(cases())
def test_the_largest_odds_of_a_collection_are_proven_and_no_larger_ones_hold(
    case: tuple[Collection, str, SensitiveTree, str],
) -> None:
    collection, sensitive, tree, text = case
    claim, question = MaxentDiversity(parse_diversity(text), sensitive), Question(collection, [sensitive])
    assume(claim.check(question).holds)
    found = claim.largest_odds(question)
    vectors = [[float(v) for v in vector] for vector in conditionals(collection, sensitive).values()]
    least = float(judged_on(tree, at_odds(text, Fraction(2))).reached(np.array(vectors)).min())
    if found is None:
        assert least < 1.001 or least == np.inf
    else:
        assert found == pytest.approx(least, abs=1.1e-3)


def test_too_many_values_are_refused_where_everything_would_be_tried() -> None:
    for text in ("t-closeness:0.5", "t-closeness:0.5 hierarchical", "adjusted-entropy:2 may disclose 3"):
        with pytest.raises(CriterionError, match="21"):
            judged(f"{text} at odds 2", list(map(str, range(21))), (1,) * 21).slack(np.ones((1, 21)))


@pytest.mark.parametrize("probability", [0.007, 0.013, 0.054, 1.0])
def test_a_class_of_its_protected_value_alone_bears_any_odds(probability: float) -> None:
    """As floats, 100 times 0.007 over 0.007 is more than 100."""
    alone = np.array([[0.0, probability, 0.0]])
    under = judged("negative-disclosure:5 must protect b at odds 2", "abc", (1, 1, 1))
    assert under.reached(alone) == np.inf


# Diversity of people with several rows: it holds exactly where it holds however the rows are shared among people.

Counts = tuple[int, ...]


def of_people(diversity: Diversity, most: int) -> Diversity | None:
    """The criterion on rows that holds where it holds of people of at most so many rows each."""
    return MaxentDiversity(diversity, "s", rows_per_person=most).class_diversity


def demanded_of_people(diversity: Diversity, most: int) -> Diversity:
    criterion = of_people(diversity, most)
    assert criterion is not None
    return criterion


bounded = diversities(4).filter(lambda diversity: of_people(diversity, 2) is not None)


def largest_first(counts: Sequence[int], people: Fraction) -> list[Fraction]:
    """So many people, each value that of as many as it has rows, the first values first."""
    filled = []
    for count in counts:
        filled.append(min(Fraction(count), people))
        people -= filled[-1]
    return filled


@cache
def people_of(rows: Counts, most: int) -> frozenset[Counts]:
    """Every way to look at one row of each person, over all ways to share rows among people of at most so many rows each."""
    if not any(rows):
        return frozenset({rows})
    first = next(value for value, count in enumerate(rows) if count)
    ways = set()
    for also in product(*(range(min(count, most) + 1) for count in rows)):
        own = tuple(count + (value == first) for value, count in enumerate(also))
        if sum(own) > most or any(a > b for a, b in zip(own, rows)):
            continue
        for others in people_of(tuple(b - a for a, b in zip(own, rows)), most):
            ways |= {
                tuple(n + (value == shown) for value, n in enumerate(others)) for shown in range(len(own)) if own[shown]
            }
    return frozenset(ways)


def small_classes() -> Iterator[Counts]:
    return (
        rows for rows in product(range(5), repeat=3) if 0 < sum(rows) <= 7 and list(rows) == sorted(rows, reverse=True)
    )


@pytest.mark.parametrize(
    "text",
    [
        *("distinct:2", "distinct:3", "simple:2", "simple:3/2", "recursive:1,2", "recursive:2,3"),
        *("recursive:1,2 or equal", "entropy:2", "entropy:3/2"),
    ],
)
@pytest.mark.parametrize("most", [2, 3])
def test_the_least_diverse_people_of_a_class_are_those_that_fill_the_most_frequent_values(text: str, most: int) -> None:
    """Every way to share the rows among people, by enumeration; as few people as there can be decide."""
    diversity = parse_diversity(text)
    for rows in small_classes():
        fewest = -(-sum(rows) // most)
        truth = all(is_diverse(diversity, people) for people in people_of(rows, most))
        assert truth is is_diverse(diversity, largest_first(rows, Fraction(fewest))), rows
        if criterion := of_people(diversity, most):
            assert truth or not criterion.decide(rows), rows


@given(bounded, classes(5, 8), st.integers(2, 4))
def test_it_holds_exactly_where_no_shares_within_r_times_those_of_the_rows_break_it(
    diversity: Diversity, rows: list[int], most: int
) -> None:
    """The shares that people can have are a polytope, whose corners fill the values in some order."""
    people, criterion = Fraction(sum(rows), most), demanded_of_people(diversity, most)
    corners = (largest_first(order, people) for order in set(permutations(rows)))
    expected = all(is_diverse(diversity, corner) for corner in corners)
    assert criterion.decide(rows) is expected
    assert satisfies(criterion, np.array([rows, rows])).tolist() == [expected] * 2
    worst = np.array([largest_first(sorted(rows, reverse=True), people)], dtype=float)
    np.testing.assert_allclose(criterion.reached(np.array([rows])), diversity.reached(worst), rtol=1e-9)


def test_neither_a_number_of_people_that_is_rounded_up_nor_their_entropy_is_kept_by_merging() -> None:
    """So neither a lattice nor the pruning of a join could rest on it."""
    simple = Simple(Fraction(2))
    assert simple.decide(largest_first([1, 1, 1], Fraction(2)))
    assert not simple.decide(largest_first([2, 2, 2], Fraction(3)))
    first, second = [6, 5, 5, 4] + [0] * 25, [15, 0, 0, 0] + [1] * 25
    merged = [10 * a + b for a, b in zip(first, second)]
    people = [largest_first(sorted(rows, reverse=True), Fraction(sum(rows), 2)) for rows in (first, second, merged)]
    assert np.round(Entropy(Fraction(1)).reached(np.array(people, dtype=float)), 2).tolist() == [1.96, 2.62, 1.94]


@pytest.mark.parametrize("text", ["entropy:2", "functional:1/2,3"])
def test_what_is_no_bound_on_shares_cannot_be_demanded_of_people(text: str) -> None:
    diversity = parse_diversity(text)
    assert of_people(diversity, 2) is None
    assert of_people(diversity, 1) is diversity
    with pytest.raises(CriterionError, match="of people"):
        Requirements(("s",), diversity=diversity, rows_per_person=2)


@given(sensitive_collections(), bounded, st.integers(2, 3))
def test_all_algorithms_for_maxent_diversity_agree_of_people(
    drawn: tuple[Collection, str], diversity: Diversity, most: int
) -> None:
    collection, sensitive = drawn
    tree, criterion = tree_of(collection, sensitive), demanded_of_people(diversity, most)
    verdict = by_join(tree, criterion).verdict
    assert by_hull(tree, criterion).verdict is verdict
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("checks.maxent.maxent_diversity.SMALL_JOIN", 0)
        budget = replace(FULL, multiplied=0)
        assert maxent_diversity(collection, sensitive, criterion, budget).verdict is verdict
