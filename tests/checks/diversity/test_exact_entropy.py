"""Entropy against a logarithm is decided exactly: on the boundary, a hair beside it, and in any scale."""

from fractions import Fraction
from math import prod
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks.diversity.criterion import entropy_is_at_least
from privacy_oracles import entropy_reaches
from privacy_strategies import classes, numbers

Factor = tuple[list[int], int | Fraction]

uniform: st.SearchStrategy[Factor] = st.integers(1, 6).map(lambda n: ([1] * n, n))
uneven: st.SearchStrategy[Factor] = st.sampled_from([([1, 1, 1, 1, 4], 4), ([8, 2, 1, 1, 1], Fraction(13, 4))])
on_the_boundary = st.lists(uniform | uneven, min_size=1, max_size=2)
"""Classes whose entropy is the logarithm of a rational number; that of independent classes is the sum."""


def independent(factors: list[Factor]) -> tuple[list[int], Fraction]:
    """The class of all combinations of values, and the number whose logarithm is its entropy."""
    weights = np.array([1])
    for counts, _ in factors:
        weights = np.outer(weights, counts).ravel()
    return weights.tolist(), Fraction(prod(effective for _, effective in factors))


@given(classes(), numbers(1, 8))
def test_the_verdict_is_that_of_whole_numbers(counts: list[int], effective: Fraction) -> None:
    """n^n >= l^n prod n_i^n_i."""
    assert entropy_is_at_least(counts, effective) is entropy_reaches(counts, effective)


@given(classes(), st.integers(1, 10**400) | st.just(1))
def test_weights_beyond_floating_point_are_decided_alike(counts: list[int], scale: int) -> None:
    """Of whole numbers without a common divisor: a row more or less for each value."""
    nearly = [count * scale + 1 for count in counts if count]
    shares = [Fraction(n, sum(nearly)) for n in nearly]
    effective = float(np.exp(-sum(float(share) * np.log(float(share)) for share in shares)))
    for bound, passes in ((effective * (1 + 1e-9), False), (effective * (1 - 1e-9), True)):
        assert entropy_is_at_least(nearly, Fraction(bound)) is passes


@given(classes())
def test_the_verdict_turns_where_the_entropy_is(counts: list[int]) -> None:
    """At bounds next to the entropy in floating point, where most verdicts are close."""
    shares = np.array([n for n in counts if n]) / sum(counts)
    effective = Fraction(float(np.exp(-(shares * np.log(shares)).sum()))).limit_denominator(10**6)
    for bound in (effective - Fraction(1, 10**6), effective, effective + Fraction(1, 10**6)):
        assert entropy_is_at_least(counts, bound) is entropy_reaches(counts, bound)


def assert_on_the_boundary(weights: list[int], effective: Fraction, hair: Fraction) -> None:
    assert entropy_is_at_least(weights, effective)
    assert entropy_is_at_least(weights, effective * (1 - hair))
    assert not entropy_is_at_least(weights, effective * (1 + hair))


@given(on_the_boundary, st.sampled_from([12, 45, 60]))
def test_a_class_on_the_boundary_passes_and_fails_a_hair_beyond(factors: list[Factor], digits: int) -> None:
    assert_on_the_boundary(*independent(factors), Fraction(1, 10**digits))


def test_a_hair_of_500_digits_is_seen() -> None:
    assert_on_the_boundary([1, 1, 1, 1, 4], Fraction(4), Fraction(1, 10**500))


@given(on_the_boundary, st.integers(1, 10**15) | st.fractions(Fraction(1, 10**9), 10**9))
def test_the_scale_of_the_weights_says_nothing(factors: list[Factor], scale: Fraction | int) -> None:
    weights, effective = independent(factors)
    scaled = [weight * scale for weight in weights]
    assert entropy_is_at_least(scaled, effective)
    assert not entropy_is_at_least(scaled, effective + Fraction(1, 10**15))


@given(classes(), numbers(1, 8), st.randoms(use_true_random=False))
def test_absent_values_and_their_order_say_nothing(counts: list[int], effective: Fraction, random: Random) -> None:
    shuffled = [*counts, 0, 0]
    random.shuffle(shuffled)
    assert entropy_is_at_least(shuffled, effective) is entropy_is_at_least(counts, effective)


@pytest.mark.parametrize("size", [10**6, 10**12, 10**18, *(10**22 * n for n in range(1, 9))])
def test_one_row_too_many_in_a_large_class_is_seen(size: int) -> None:
    assert entropy_is_at_least([size, size], Fraction(2))
    assert not entropy_is_at_least([size + 1, size], Fraction(2))
    assert entropy_is_at_least([size] * 4 + [4 * size], Fraction(4))
    assert not entropy_is_at_least([size] * 4 + [4 * size + 1], Fraction(4))
    assert entropy_is_at_least([size] * 4 + [4 * size - 1], Fraction(4))


def test_a_single_value_is_entropy_one_diverse_and_no_more() -> None:
    assert entropy_is_at_least([7], Fraction(1))
    assert entropy_is_at_least([7], Fraction(1, 2))
    assert not entropy_is_at_least([7], Fraction(1) + Fraction(1, 10**30))


def test_the_3_diverse_table_of_the_paper_is_entropy_2_8_diverse() -> None:
    """MKGV07 Fig. 4: each class holds 1, 1 and 2 rows; exp of the entropy is the square root of 8."""
    assert entropy_is_at_least([1, 1, 2], Fraction("2.8284271247461900"))
    assert not entropy_is_at_least([1, 1, 2], Fraction("2.8284271247461902"))
