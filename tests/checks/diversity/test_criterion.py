"""Criteria on one class: verdicts are those of the definitions, ties included; merging keeps them; texts read back."""

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
from checks.diversity.criterion import BOUNDARY, loosened_to, slack_of_products
from checks.diversity.odds import EntropyAtOdds
from privacy_oracles import is_diverse, reached
from privacy_strategies import classes, diversities, functionals, numbers

PLAIN = {"distinct": Distinct, "simple": Simple, "entropy": Entropy, "recursive": Recursive}

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


@given(criteria, st.lists(wide_classes, min_size=1, max_size=6), st.fractions(Fraction(1, 1000), 1000))
def test_the_scale_of_a_class_says_nothing(diversity: Diversity, drawn: list[list[int]], scale: Fraction) -> None:
    rows = np.array(drawn)
    scaled = [[n * scale for n in counts] for counts in drawn]
    assert [diversity.decide(counts) for counts in scaled] == [diversity.decide(counts) for counts in drawn]
    np.testing.assert_allclose(diversity.reached(rows * float(scale)), diversity.reached(rows), rtol=1e-12)
    assert satisfies(diversity, rows * 10**9).tolist() == satisfies(diversity, rows).tolist()


@given(diversities() | disclosures | protections, st.lists(wide_classes, min_size=1, max_size=6))
def test_what_a_class_reaches_is_its_parameter_by_definition(diversity: Diversity, drawn: list[list[int]]) -> None:
    expected = [reached(diversity, counts) for counts in drawn]
    np.testing.assert_allclose(diversity.reached(np.array(drawn)), expected, rtol=1e-12)


@given(criteria, st.lists(wide_classes, min_size=1, max_size=6))
def test_the_sign_of_the_slack_is_the_verdict(diversity: Diversity, drawn: list[list[int]]) -> None:
    for slack, counts in zip(diversity.slack(np.array(drawn)), drawn):
        if abs(slack) > 1e-9:
            assert bool(slack > 0) is is_diverse(diversity, counts)


@given(diversities(), wide_classes, wide_classes)
def test_the_class_of_less_slack_reaches_less(diversity: Diversity, one: list[int], other: list[int]) -> None:
    """So the class of least slack is the worst."""
    sign = -1 if isinstance(diversity, Recursive) else 1
    first, second = diversity.slack(np.array([one, other]))
    if first < second - 1e-9:
        assert sign * reached(diversity, one) < sign * reached(diversity, other)


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


@given(disclosures, protections, wide_classes, wide_classes)
def test_merging_keeps_both_halves_of_npd_recursive_diversity(
    positive: Recursive, negative: NegativeDisclosure, one: list[int], other: list[int]
) -> None:
    """MKGV07 Theorem 5.3."""
    criterion = NpdRecursive(positive, negative)
    if satisfies(criterion, np.array([one, other])).all():
        assert satisfies(criterion, np.array([one]) + np.array([other])).all()


@given(criteria, wide_classes)
def test_loosened_to_its_slack_a_criterion_is_just_satisfied(diversity: Diversity, counts: list[int]) -> None:
    row = np.array([counts])
    slack = float(diversity.slack(row)[0])
    looser = loosened_to(diversity, slack)
    if looser is None:
        percent = (
            diversity.negative.percent if isinstance(diversity, NpdRecursive) else getattr(diversity, "percent", 0)
        )
        assert isinstance(diversity, Distinct) or not -1 < slack < np.inf or percent * Fraction(1 + slack) >= 100
    elif not isinstance(looser, Simple | Entropy) or looser.l > 1:
        assert looser.slack(row)[0] == pytest.approx(0, abs=1e-9)
        assert type(looser) is type(diversity)


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


@given(functionals() | diversities())
def test_a_printed_criterion_reads_back_as_itself(diversity: Diversity) -> None:
    assert parse_diversity(str(diversity)) == diversity
    assert str(diversity).startswith(diversity.name + ":")


@pytest.mark.parametrize("text", ["simple:10/3", "entropy:10/3", "recursive:1/3,2", "entropy:123456789.123456789123"])
def test_a_number_that_no_float_can_say_prints_as_itself(text: str) -> None:
    """A bundle states the criterion as text; verified against a rounded bound it could fail on the boundary."""
    assert parse_diversity(str(parse_diversity(text))) == parse_diversity(text)


@pytest.mark.parametrize(
    ("text", "diversity"),
    [
        ("distinct:3", Distinct(3)),
        ("distinct:3.0", Distinct(3)),
        ("simple:2", Simple(Fraction(2))),
        ("entropy:2.8", Entropy(Fraction(14, 5))),
        ("entropy:14/5", Entropy(Fraction(14, 5))),
        ("recursive:3,4", Recursive(Fraction(3), 4)),
        (" recursive : 0.5 , 2 ", Recursive(Fraction(1, 2), 2)),
    ],
)
def test_numbers_are_taken_exactly_however_they_are_written(text: str, diversity: Diversity) -> None:
    assert parse_diversity(text) == diversity


NO_CRITERIA = """
entropy  entropy:  entropy:x  entropy:1,2  entropy:nan  entropy:inf  entropy:1/0  :3  3  distinct:2.5  recursive:3
recursive:3,  recursive:3,2.5  recursive:3,2,1  t:1,2  Entropy:2
"""


@pytest.mark.parametrize("text", ["", *NO_CRITERIA.split()])
def test_a_text_that_is_no_criterion_is_refused_with_the_forms_there_are(text: str) -> None:
    with pytest.raises(CriterionError, match="distinct:l, simple:l, entropy:l, recursive:c,l"):
        parse_diversity(text)


@pytest.mark.parametrize(
    "text",
    ["distinct:0", "simple:0.99", "entropy:1/2", "entropy:-3", "recursive:0,2", "recursive:-1,2", "recursive:3,0"],
)
def test_a_parameter_out_of_range_is_refused(text: str) -> None:
    with pytest.raises(CriterionError, match="needs"):
        parse_diversity(text)


@pytest.mark.parametrize("text", ["entropy:1e400", "simple:1e400", "recursive:1e400,2", "recursive:1e-400,2"])
def test_a_number_beyond_floating_point_is_refused_or_decided(text: str) -> None:
    """Never accepted to fail later with an OverflowError."""
    try:
        diversity = parse_diversity(text)
    except CriterionError:
        return
    row = [3, 1, 1]
    assert satisfies(diversity, np.array([row])).tolist() == [is_diverse(diversity, row)]
    assert parse_diversity(str(diversity)) == diversity


@pytest.mark.parametrize(("percent", "protected"), [(0, {1}), (100, {1}), (5, set())])
def test_negative_disclosure_without_a_percentage_or_values_is_refused(percent: int, protected: set[int]) -> None:
    with pytest.raises(CriterionError):
        NegativeDisclosure(Fraction(percent), frozenset(protected))


def test_no_classes_at_all_pass() -> None:
    assert satisfies(Entropy(Fraction(3)), np.zeros((0, 4), dtype=np.int64)).tolist() == []


@given(classes(), st.integers(1, 7))
def test_distinct_diversity_decides_by_the_number_of_values(vector: list[int], l: int) -> None:
    """Nothing but this asks: its slack is never near 0."""
    assert Distinct(l).decide(vector) == (sum(count > 0 for count in vector) >= l)


@given(classes().filter(lambda vector: 0 < 100 * vector[0] < 100 * sum(vector)))
def test_negative_disclosure_is_exact_on_its_boundary(vector: list[int]) -> None:
    reached = Fraction(100 * vector[0], sum(vector))
    assert NegativeDisclosure(reached, frozenset({0})).decide(vector)
    assert not NegativeDisclosure(reached + Fraction(1, 10**12), frozenset({0})).decide(vector)


@given(
    diversities() | st.builds(EntropyAtOdds, st.fractions(1, 3), st.fractions(1, 20)),
    st.lists(wide_classes, min_size=1, max_size=4),
    st.lists(wide_classes, min_size=1, max_size=4),
)
def test_the_slack_of_products_is_that_of_the_products_made(
    diversity: Diversity, first: list[list[int]], second: list[list[int]]
) -> None:
    """Infinite of a product that is 0 throughout; a criterion may leave it to others to make them.

    Of slack that is neither the least nor near 0, a lower bound will do.
    """
    slack = slack_of_products(diversity, np.array(first, dtype=float), np.array(second, dtype=float))
    assert (slack is None) is not isinstance(diversity, Entropy | EntropyAtOdds)
    if slack is None:
        return
    made = np.full(slack.shape, np.inf)
    for i, one in enumerate(first):
        for j, other in enumerate(second):
            product = np.array([[a * b for a, b in zip(one, other)]])
            if product.any():
                made[i, j] = diversity.slack(product)[0]
    assert slack.min() == pytest.approx(made.min(), rel=1e-12, abs=1e-12)
    demanded = (made <= BOUNDARY) | isinstance(diversity, Entropy)
    assert slack[demanded] == pytest.approx(made[demanded], rel=1e-12, abs=1e-12)
    assert np.all(slack[~demanded] <= made[~demanded] * (1 + 1e-12) + 1e-12)
    assert np.all(slack[~demanded] > 0)
