"""Diversity of people with several rows: it holds exactly where it holds however the rows are shared among people."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks import (
    CriterionError,
    Distinct,
    Diversity,
    Entropy,
    Functional,
    Recursive,
    Simple,
    Verdict,
    by_hull,
    by_join,
)
from checks.diversity.criterion import BOUNDARY, share_bound
from checks.diversity.odds import OfPeople, of_people
from checks.maxent.branch_and_bound import branch_and_bound
from models import Collection
from privacy_oracles import is_diverse
from privacy_strategies import classes, diversities, sensitive_collections, tree_of

Counts = tuple[int, ...]

bounded = diversities(4).filter(lambda diversity: share_bound(diversity) is not None)


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


CRITERIA = [
    Distinct(2),
    Distinct(3),
    Simple(Fraction(2)),
    Simple(Fraction(3, 2)),
    Recursive(Fraction(1), 2),
    Recursive(Fraction(2), 3),
    Recursive(Fraction(1), 2, strict=False),
    Entropy(Fraction(2)),
    Entropy(Fraction(3, 2)),
]


@pytest.mark.parametrize("diversity", CRITERIA, ids=str)
@pytest.mark.parametrize("most", [2, 3])
def test_the_least_diverse_people_of_a_class_are_those_that_fill_the_most_frequent_values(
    diversity: Diversity, most: int
) -> None:
    """Every way to share the rows among people, by enumeration; as few people as there can be decide."""
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
    people = Fraction(sum(rows), most)
    corners = (largest_first(order, people) for order in set(permutations(rows)))
    assert OfPeople(diversity, most).decide(rows) is all(is_diverse(diversity, corner) for corner in corners)


@given(bounded, classes(5, 9), st.integers(2, 4))
def test_slack_says_what_is_decided_and_what_is_reached_is_that_of_the_least_diverse_people(
    diversity: Diversity, rows: list[int], most: int
) -> None:
    criterion, vector = OfPeople(diversity, most), np.array([rows])
    slack = float(criterion.slack(vector)[0])
    if abs(slack) > BOUNDARY:
        assert (slack > 0) is criterion.decide(rows)
    else:
        eased = OfPeople(diversity, most, Fraction(1001, 1000)).decide(rows)
        assert eased
        assert not OfPeople(diversity, most, Fraction(999, 1000)).decide(rows)
    people = largest_first(sorted(rows, reverse=True), Fraction(sum(rows), most))
    expected = diversity.reached(np.array([people], dtype=float))
    np.testing.assert_allclose(criterion.reached(vector), expected, rtol=1e-9)


@given(
    bounded,
    classes(4, 8).flatmap(lambda a: st.tuples(st.just(a), st.permutations(a))),
    st.integers(1, 5),
    st.integers(2, 4),
)
def test_it_is_kept_by_merging(diversity: Diversity, two: tuple[list[int], list[int]], times: int, most: int) -> None:
    criterion = OfPeople(diversity, most)
    merged = [a + times * b for a, b in zip(*two)]
    assert criterion.decide(merged) or not all(criterion.decide(rows) for rows in two)


def test_a_number_of_people_that_is_rounded_up_is_not_kept_by_merging() -> None:
    """So neither a lattice nor the pruning of a join could rest on it."""
    two, simple = [1, 1, 1], Simple(Fraction(2))
    assert simple.decide(largest_first(two, Fraction(2)))
    assert not simple.decide(largest_first([2, 2, 2], Fraction(3)))


def test_the_entropy_of_people_is_not_kept_by_merging() -> None:
    first, second = [6, 5, 5, 4] + [0] * 25, [15, 0, 0, 0] + [1] * 25
    merged = [10 * a + b for a, b in zip(first, second)]
    reached = [
        float(
            Entropy(Fraction(1)).reached(
                np.array([largest_first(sorted(rows, reverse=True), Fraction(sum(rows), 2))], float)
            )[0]
        )
        for rows in (first, second, merged)
    ]
    assert np.round(reached, 2).tolist() == [1.96, 2.62, 1.94]


@pytest.mark.parametrize("diversity", [Entropy(Fraction(2)), Functional(Fraction(1, 2), 3)], ids=str)
def test_what_is_no_bound_on_shares_cannot_be_demanded_of_people(diversity: Diversity) -> None:
    assert of_people(diversity, 2) is None
    assert of_people(diversity, 1) is diversity
    with pytest.raises(CriterionError, match="cannot be decided of people"):
        OfPeople(diversity, 2)


@given(sensitive_collections(), bounded, st.integers(2, 3))
def test_all_algorithms_for_maxent_diversity_agree(
    drawn: tuple[Collection, str], diversity: Diversity, most: int
) -> None:
    tree, criterion = tree_of(*drawn), OfPeople(diversity, most)
    verdict = by_join(tree, criterion).verdict
    assert by_hull(tree, criterion).verdict is verdict
    bounded_search = branch_and_bound(tree, criterion)
    assert bounded_search is None or bounded_search.verdict in (verdict, Verdict.UNDECIDED)
