"""What satisfies the weakest implying diversity satisfies a functional one, and nothing weaker does: TZ11 section 3."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks import Functional, Recursive, Simple, weakest_implying

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
    weakest = weakest_implying(requirement, values).simple
    assert (weakest is not None and l >= weakest) is requirement.decide(worst)


@given(eligible())
def test_the_weakest_whole_simple_l_is_that_of_the_paper(drawn: tuple[Functional, int]) -> None:
    """TZ11 Corollary 21, for tau >= 1/u as the paper assumes."""
    requirement, m = drawn
    if requirement.tau * requirement.l >= 1:
        weakest = weakest_implying(requirement, m).simple
        assert weakest is not None
        assert ceil(weakest) == requirement.l


@given(eligible(6))
def test_the_largest_c_is_the_least_ratio_at_the_corners(drawn: tuple[Functional, int]) -> None:
    """TZ11 Theorem 23, if and only if."""
    requirement, m = drawn
    recursive = weakest_implying(requirement, m).recursive
    assert recursive == {l: largest_c(requirement, l, m) for l in range(2, m + 1)}


@pytest.mark.parametrize("tau", ["1/5", "1/4", "2/5", "1/2", "4/5"])
def test_all_small_classes_over_five_values(tau: str) -> None:
    """Every class of up to 11 rows that breaks the requirement breaks what implies it."""
    small = [[x for x in rows if x] + [0] * 5 for rows in combinations_with_replacement(range(12), 5)]
    small = [rows[:5] for rows in small if 0 < sum(rows) <= 11]
    for u in (2, 3, 4, 5):
        requirement = Functional(Fraction(tau), u)
        broken = [rows for rows in small if not requirement.decide(rows)]
        assert broken
        weakest = weakest_implying(requirement, 5)
        if weakest.simple is not None:
            assert not any(Simple(weakest.simple).decide(rows) for rows in broken)
        for l, c in weakest.recursive.items():
            assert not any(Recursive(c, l, strict=False).decide(rows) for rows in broken)


@given(st.integers(2, 8), st.integers(0, 4), st.data())
def test_the_condition_of_the_paper_for_the_strictest_line(u: int, more: int, data: st.DataObject) -> None:
    """TZ11 Theorem 23, as far as it can be read: for tau = 1/u, l from m + 1 - (m - 1) / ((u - 1) c) on."""
    m = u + more
    l = data.draw(st.integers(2, m))
    c = data.draw(st.fractions(Fraction(1, 4), 8, max_denominator=8))
    condition = l >= m + 1 - Fraction(m - 1) / ((u - 1) * c)
    assert (c <= weakest_implying(Functional(Fraction(1, u), u), m).recursive[l]) is condition


@pytest.mark.parametrize(("c", "l", "counts"), [(2, 5, [120, 78, 78, 78, 78]), (1, 4, [80, 52, 52, 52, 52])])
def test_the_counterexamples_of_tz11(c: int, l: int, counts: list[int]) -> None:
    """Section 3, proof of Theorem 23: 120/432 and 80/288 exceed 1/4."""
    requirement = Functional(Fraction(1, 4), 4)
    assert Recursive(Fraction(c), l).decide(counts)
    assert not requirement.decide(counts)
    assert weakest_implying(requirement, 5).recursive[l] < c
