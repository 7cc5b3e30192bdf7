"""What satisfies the stronger diversity satisfies the weaker, and no weaker one implies it: the theorems of TZ11."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks import CriterionError, Distinct, Diversity, Entropy, Functional, Recursive, Simple, Verdict
from marginals.criteria import implies

TINY = Fraction(1, 10**6)
Shares = list[Fraction]


@st.composite
def eligible(draw: st.DrawFn, most: int = 7) -> tuple[Functional, int]:
    """A requirement and a number m of base values over which some class satisfies it: u <= m and tau >= 1/m."""
    m = draw(st.integers(2, most))
    tau = draw(st.fractions(Fraction(1, m), Fraction(29, 30), max_denominator=30))
    return Functional(tau, draw(st.integers(2, m))), m


def corners(k: int, m: int, held: Fraction) -> Iterator[Shares]:
    """The corners of the polytope of the classes over m values whose k most frequent hold `held` or more: mixtures of
    two uniform classes that hold just that, and uniform classes that hold more.
    """
    uniform = [[Fraction(1, j)] * j + [Fraction(0)] * (m - j) for j in range(1, m + 1)]
    for one in uniform:
        for other in uniform:
            high, low = sum(one[:k]), sum(other[:k])
            if high >= held > low:
                share = (held - low) / (high - low)
                yield [share * a + (1 - share) * b for a, b in zip(one, other)]
        if sum(one[:k]) >= held:
            yield one


def largest_c(requirement: Functional, l: int, m: int) -> Fraction:
    """The least f_1 / tail at a corner of the classes with F(k) >= psi(k): what c must not exceed."""
    return min(
        shares[0] / sum(shares[l - 1 :])
        for k in range(1, requirement.l)
        for shares in corners(k, m, requirement.bound(k))
        if sum(shares[l - 1 :])
    )


@given(eligible(), st.fractions(1, 9, max_denominator=20))
def test_simple_diversity_is_stronger_from_the_weakest_l_on(drawn: tuple[Functional, int], l: Fraction) -> None:
    """TZ11 Theorem 20: of all simple l-diverse classes the one with as many values of share 1/l as fit is the worst."""
    requirement, m = drawn
    whole, values = int(l), max(m, ceil(l))
    worst = [1 / l] * whole + [1 - whole / l]
    assert Simple(l).decide(worst)
    assert (implies(Simple(l), requirement, values) is Verdict.HOLDS) is requirement.decide(worst)


@given(eligible())
def test_the_weakest_whole_simple_l_is_that_of_the_paper(drawn: tuple[Functional, int]) -> None:
    """TZ11 Corollary 21, for tau >= 1/u as the paper assumes."""
    requirement, m = drawn
    if requirement.tau * requirement.l >= 1:
        enough = [l for l in range(2, m + 1) if implies(Simple(Fraction(l)), requirement, m) is Verdict.HOLDS]
        assert enough == list(range(requirement.l, m + 1))


@given(eligible(6), st.data())
def test_the_largest_c_is_the_least_ratio_at_the_corners(drawn: tuple[Functional, int], data: st.DataObject) -> None:
    """TZ11 Theorem 23, if and only if: at the largest c it is implied, and at a c just above it is not."""
    requirement, m = drawn
    l = data.draw(st.integers(2, m))
    c = largest_c(requirement, l, m)
    for strict in (True, False):
        assert implies(Recursive(c, l, strict), requirement, m) is Verdict.HOLDS
        assert implies(Recursive(c + TINY, l, strict), requirement, m) is Verdict.FAILS


@pytest.mark.parametrize("tau", ["1/5", "1/4", "2/5", "1/2", "4/5"])
def test_all_small_classes_over_five_values(tau: str) -> None:
    """Every class of up to 11 rows that breaks the requirement breaks what implies it."""
    small = [[x for x in rows if x] + [0] * 5 for rows in combinations_with_replacement(range(12), 5)]
    small = [rows[:5] for rows in small if 0 < sum(rows) <= 11]
    for u in (2, 3, 4, 5):
        requirement = Functional(Fraction(tau), u)
        broken = [rows for rows in small if not requirement.decide(rows)]
        assert broken
        for quarters in range(4, 21):
            if implies(simple := Simple(Fraction(quarters, 4)), requirement, 5) is Verdict.HOLDS:
                assert not any(simple.decide(rows) for rows in broken)
        for l in (2, 3, 4, 5):
            c = largest_c(requirement, l, 5)
            assert not any(Recursive(c, l, strict=False).decide(rows) for rows in broken)


@given(st.integers(2, 8), st.integers(0, 4), st.data())
def test_the_condition_of_the_paper_for_the_strictest_line(u: int, more: int, data: st.DataObject) -> None:
    """TZ11 Theorem 23, as far as it can be read: for tau = 1/u, l from m + 1 - (m - 1) / ((u - 1) c) on."""
    m = u + more
    l = data.draw(st.integers(2, m))
    c = data.draw(st.fractions(Fraction(1, 4), 8, max_denominator=8))
    condition = l >= m + 1 - Fraction(m - 1) / ((u - 1) * c)
    assert (implies(Recursive(c, l), Functional(Fraction(1, u), u), m) is Verdict.HOLDS) is condition


@pytest.mark.parametrize(("c", "l", "counts"), [(2, 5, [120, 78, 78, 78, 78]), (1, 4, [80, 52, 52, 52, 52])])
def test_the_counterexamples_of_tz11(c: int, l: int, counts: list[int]) -> None:
    """Section 3, proof of Theorem 23: 120/432 and 80/288 exceed 1/4."""
    requirement = Functional(Fraction(1, 4), 4)
    assert Recursive(Fraction(c), l).decide(counts)
    assert not requirement.decide(counts)
    assert implies(Recursive(Fraction(c), l), requirement, 5) is Verdict.FAILS
    assert implies("recursive:3,1", requirement, 5) is Verdict.FAILS


diversities = st.one_of(
    st.builds(Functional, st.fractions(Fraction(1, 10), Fraction(9, 10), max_denominator=10), st.integers(2, 5)),
    st.builds(Simple, st.fractions(1, 5, max_denominator=4)),
    st.builds(Recursive, st.fractions(Fraction(1, 2), 5, max_denominator=4), st.integers(2, 5), strict=st.booleans()),
    st.builds(Distinct, st.integers(1, 5)),
    st.builds(Entropy, st.fractions(1, 5, max_denominator=4)),
)


@given(diversities, diversities, st.integers(1, 4))
def test_no_class_speaks_against_an_implication(stronger: Diversity, weaker: Diversity, values: int) -> None:
    """All classes of up to eight rows: one that satisfies the stronger and not the weaker refutes it."""
    classes = combinations_with_replacement(range(9), values)
    refuted = any(
        stronger.decide(rows) and not weaker.decide(rows) for rows in map(list, classes) if 0 < sum(rows) <= 8
    )
    verdict = implies(stronger, weaker, values)
    assert verdict is not Verdict.HOLDS or not refuted
    assert verdict is not Verdict.FAILS or stronger != weaker


CLASSES = [
    *sorted((tuple(rows) for rows in combinations_with_replacement(range(17), 4) if 0 < sum(rows) <= 36), key=sum),
    *((*rows, 100) for rows in combinations_with_replacement(range(4), 3)),
]
"""Rows of four values, rising; in some nearly all rows have one value."""

coarse = st.fractions(1, 4, max_denominator=2)
decided = st.one_of(
    st.builds(Simple, coarse),
    st.builds(Recursive, coarse.map(lambda c: c / 2), st.integers(1, 4), strict=st.booleans()),
    st.builds(Distinct, st.integers(1, 4)),
    st.builds(Entropy, coarse),
)


@given(decided, decided, st.integers(1, 4))
def test_some_class_speaks_against_what_is_no_implication(stronger: Diversity, weaker: Diversity, values: int) -> None:
    """A refutation has few rows where the numbers are coarse."""
    if implies(stronger, weaker, values) is Verdict.FAILS:
        assert any(
            stronger.decide(rows[4 - values :]) and not weaker.decide(rows[4 - values :])
            for rows in CLASSES
            if not any(rows[: 4 - values])
        )


@pytest.mark.parametrize(
    ("stronger", "weaker", "values", "said"),
    [
        ("simple:4", "functional:0.25,4", 5, "holds"),
        ("simple:2", "simple:3", 3, "fails"),
        ("recursive:4/3,5", "functional:0.25,4", 5, "holds"),
        ("recursive:1.34,5", "functional:0.25,4", 5, "fails"),
        ("functional:0.25,4", "functional:0.5,3", 5, "holds"),
        ("functional:1/3,3", "distinct:3", 3, "holds"),
        ("functional:0.3333333333333333,3", "distinct:9", 3, "holds"),  # no class of three values satisfies it
        ("entropy:6", "distinct:3", 9, "holds"),
        ("entropy:2", "distinct:3", 9, "fails"),
        ("entropy:6", "simple:2", 9, "undecided"),
        ("distinct:5", "entropy:1.1", 5, "fails"),
        ("simple:5/2", "entropy:2.3", 4, "holds"),
        ("simple:5/2", "entropy:5/2", 4, "holds"),  # shares of 2, 2 and 1 fifths
        ("simple:5/2", "entropy:2.9", 4, "fails"),
        ("simple:3", "recursive:1.01,3", 5, "holds"),
        ("simple:3", "recursive:1,3", 5, "fails"),
        ("recursive:1/2,2", "distinct:4", 5, "holds"),
        ("recursive:1/2,2", "distinct:5", 5, "fails"),
        ("recursive:3,2", "simple:4/3", 9, "holds"),
        ("recursive:3,2", "simple:1.34", 9, "fails"),
    ],
)
def test_implications_of_texts(stronger: str, weaker: str, values: int, said: str) -> None:
    assert implies(stronger, weaker, values).value == said


def test_over_no_values_there_is_no_answer() -> None:
    with pytest.raises(CriterionError):
        implies("simple:2", "simple:2", 0)
