"""Criteria on one class: verdicts are those of the definitions, ties included, and merging keeps them."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from checks import (
    CriterionError,
    Distinct,
    Diversity,
    Entropy,
    NegativeDisclosure,
    NpdRecursive,
    Recursive,
    Simple,
    parse_diversity,
    satisfies,
)
from privacy_oracles import is_diverse, reached
from privacy_strategies import classes, diversities, numbers

codes = st.frozensets(st.integers(0, 5), max_size=3)
disclosures = st.builds(Recursive, numbers(Fraction(1, 12), 4), st.integers(1, 6), st.booleans(), dont_care=codes)
protections = st.builds(
    NegativeDisclosure,
    st.fractions(Fraction(1, 2), 60, max_denominator=4),
    st.frozensets(st.integers(0, 5), min_size=1),
)
criteria = diversities() | disclosures | protections | st.builds(NpdRecursive, disclosures, protections)
"""Those that a policy can spell, and those with a don't-care set, protected values, or both."""

wide_classes = classes(6).map(lambda counts: counts + [0] * (6 - len(counts)))
"""Counts of six values, so that every code of a set above is one of them."""


def on_the_boundary(diversity: Diversity, counts: list[int]) -> Diversity:
    """The criterion of the same kind whose bound the class meets, exactly or to floating point."""
    if isinstance(diversity, NpdRecursive):
        halves = (on_the_boundary(half, counts) for half in (diversity.positive, diversity.negative))
        return NpdRecursive(*halves)
    at = reached(diversity, counts)
    match diversity:
        case Distinct():
            return Distinct(int(at))
        case Simple():
            return Simple(Fraction(sum(counts), max(counts)))
        case Entropy():
            return Entropy(max(Fraction(at).limit_denominator(1000), Fraction(1)))
        case Recursive(_, l, strict, dont_care) if 0 < at < np.inf:
            return Recursive(Fraction(at).limit_denominator(10**4), l, strict, dont_care)
        case NegativeDisclosure(_, protected) if 0 < at < 100:
            return NegativeDisclosure(Fraction(at).limit_denominator(10**4), protected)
    return diversity


@given(criteria, st.lists(wide_classes, max_size=6))
def test_the_verdict_on_each_class_is_that_of_the_definition(diversity: Diversity, drawn: list[list[int]]) -> None:
    expected = [is_diverse(diversity, counts) for counts in drawn]
    assert satisfies(diversity, np.array(drawn, dtype=np.int64).reshape(-1, 6)).tolist() == expected
    assert [diversity.decide(counts) for counts in drawn] == expected


@given(criteria, wide_classes, st.integers(0, 5), st.sampled_from([-1, 0, 1]))
def test_the_verdict_is_exact_on_the_boundary_and_one_row_beside_it(
    diversity: Diversity, counts: list[int], value: int, more: int
) -> None:
    at = on_the_boundary(diversity, counts)
    beside = list(counts)
    beside[value] = max(counts[value] + more, 0)
    assume(any(beside))
    assert satisfies(at, np.array([counts, beside, counts])).tolist() == [
        is_diverse(at, row) for row in (counts, beside, counts)
    ]


@given(diversities() | disclosures | protections, st.lists(wide_classes, min_size=1, max_size=6))
def test_what_a_class_reaches_is_its_parameter_by_definition(diversity: Diversity, drawn: list[list[int]]) -> None:
    expected = [reached(diversity, counts) for counts in drawn]
    np.testing.assert_allclose(diversity.reached(np.array(drawn)), expected, rtol=1e-12)


@given(criteria, st.lists(wide_classes, min_size=1, max_size=6))
def test_the_sign_of_the_slack_is_the_verdict(diversity: Diversity, drawn: list[list[int]]) -> None:
    for slack, counts in zip(diversity.slack(np.array(drawn)), drawn):
        if abs(slack) > 1e-9:
            assert bool(slack > 0) is is_diverse(diversity, counts)


def strongest(diversity: Diversity, drawn: list[list[int]]) -> Diversity:
    """The criterion of the same kind that all the classes just satisfy, to rounding."""
    bounds = [reached(diversity, counts) for counts in drawn]
    match diversity:
        case Distinct():
            return Distinct(int(min(bounds)))
        case Simple():
            return Simple(min(Fraction(sum(counts), max(counts)) for counts in drawn))
        case Entropy():
            return Entropy(max(Fraction(min(bounds)) - Fraction(1, 10**12), Fraction(1)))
        case Recursive(_, l, strict, dont_care):
            return (
                Recursive(Fraction(max(bounds)) + Fraction(1, 10**12), l, strict, dont_care)
                if any(bounds)
                else diversity
            )
        case NegativeDisclosure(_, protected):
            return NegativeDisclosure(Fraction(min(bounds)) * (1 - Fraction(1, 10**12)), protected)
    raise AssertionError(diversity)


@given(diversities() | disclosures | protections, wide_classes, wide_classes)
def test_merging_two_passing_classes_passes(diversity: Diversity, one: list[int], other: list[int]) -> None:
    """MKGV07 Theorems 5.2 to 5.4, at a parameter that both classes just reach."""
    bounds = [reached(diversity, counts) for counts in (one, other)]
    assume(np.isfinite(bounds).all() and (all(bounds) or not isinstance(diversity, NegativeDisclosure)))
    assume(not isinstance(diversity, NegativeDisclosure) or min(bounds) < 100)
    criterion = strongest(diversity, [one, other])
    assert satisfies(criterion, np.array([one, other])).all()
    assert satisfies(criterion, np.array([one]) + np.array([other])).all()


def test_a_class_with_half_its_rows_on_one_of_five_values_is_entropy_4_diverse() -> None:
    """ln 4 = 1/2 ln 2 + 4/8 ln 8 exactly, which floating point puts on either side."""
    assert satisfies(Entropy(Fraction(4)), np.array([[1, 1, 1, 1, 4], [4, 1, 1, 1, 1]])).all()
    assert not satisfies(Entropy(Fraction(4)), np.array([[1, 1, 1, 1, 5]])).any()


def test_the_blocks_of_the_3_diverse_table_of_the_paper() -> None:
    """MKGV07 Fig. 4 and the sentence after Def. 4.1: 3 distinct values in each block, entropy 2.8-diverse."""
    blocks = np.array([[1, 1, 2], [1, 2, 1], [1, 1, 2]])
    assert satisfies(Distinct(3), blocks).all()
    assert satisfies(Entropy(Fraction("2.8")), blocks).all()
    assert not satisfies(Entropy(Fraction("2.9")), blocks).any()


def test_the_block_of_the_paper_that_is_2_3_diverse_is_so_where_the_head_may_equal_the_tail() -> None:
    """MKGV07 section 4.3 calls counts 2, 1, 1 recursive (2, 3)-diverse: KG06 Def. 2.5, not MKGV07 Def. 4.2."""
    block = np.array([[2, 1, 1]])
    assert satisfies(Recursive(Fraction(2), 3, strict=False), block).all()
    assert not satisfies(Recursive(Fraction(2), 3), block).any()


def test_one_diversity_is_always_satisfied() -> None:
    """MKGV07 Def. 4.2, last sentence."""
    for diversity in (Distinct(1), Simple(Fraction(1)), Entropy(Fraction(1)), Recursive(Fraction(1, 2), 1)):
        assert satisfies(diversity, np.array([[7, 0], [0, 1], [3, 3]])).all()


@pytest.mark.parametrize("rows", [10**6, 10**12, 2 * 10**15])
def test_one_row_too_many_in_a_large_class_is_seen(rows: int) -> None:
    even, uneven = np.array([[rows, rows]]), np.array([[rows, rows + 1]])
    for diversity in (Simple(Fraction(2)), Entropy(Fraction(2)), Recursive(Fraction(1), 2, strict=False)):
        assert satisfies(diversity, np.concatenate((uneven, even, uneven))).tolist() == [False, True, False]
    assert not satisfies(Recursive(Fraction(1), 2), even).any()
    assert satisfies(Recursive(1 + Fraction(2, rows), 2), uneven).all()


def test_values_that_may_be_disclosed_are_not_counted_too_frequent() -> None:
    """MKGV07 section 4.2: 700 healthy of 1000, which may be known, and 300 with hepatitis or cancer: 2-diverse."""
    healthy = np.array([[700, 300, 0], [700, 0, 300]])
    assert not satisfies(Recursive(Fraction(2), 2), healthy).any()
    assert satisfies(Recursive(Fraction(2), 2, dont_care=frozenset({0})), healthy).all()
    assert satisfies(Recursive(Fraction(1, 9), 3, dont_care=frozenset({0, 1, 2})), healthy).all()


@pytest.mark.parametrize(("percent", "protected"), [(0, {1}), (100, {1}), (5, set())])
def test_negative_disclosure_without_a_percentage_or_values_is_refused(percent: int, protected: set[int]) -> None:
    with pytest.raises(CriterionError):
        NegativeDisclosure(Fraction(percent), frozenset(protected))


@given(classes().filter(lambda vector: 0 < 100 * vector[0] < 100 * sum(vector)))
def test_negative_disclosure_is_exact_on_its_boundary(vector: list[int]) -> None:
    reached = Fraction(100 * vector[0], sum(vector))
    assert NegativeDisclosure(reached, frozenset({0})).decide(vector)
    assert not NegativeDisclosure(reached + Fraction(1, 10**12), frozenset({0})).decide(vector)


@given(disclosures, protections, wide_classes, wide_classes)
def test_merging_keeps_both_halves_of_npd_recursive_diversity(
    positive: Recursive, negative: NegativeDisclosure, one: list[int], other: list[int]
) -> None:
    """MKGV07 Theorem 5.3."""
    criterion = NpdRecursive(positive, negative)
    if satisfies(criterion, np.array([one, other])).all():
        assert satisfies(criterion, np.array([one]) + np.array([other])).all()


@pytest.mark.parametrize(
    "text",
    [
        "recursive:1/3,1 or equal",
        "recursive:0.99,1 or equal",
        "pd-recursive:1/2,1 or equal may disclose a",
        "npd-recursive:1/2,5,1 or equal must protect a",
    ],
)
def test_one_diversity_that_a_paper_does_not_except_is_not_passed_by_everybody(text: str) -> None:
    """KG06 Def. 2.5 with l = 1: the head is at most c times all rows. That 1-diversity always holds is said in MKGV07."""
    with pytest.raises(CriterionError, match="is simple:"):
        parse_diversity(text)
    assert parse_diversity("recursive:1,1 or equal").decide([1])
    assert not parse_diversity("simple:3").decide([1])
