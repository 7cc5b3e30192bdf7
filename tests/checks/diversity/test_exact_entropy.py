"""Entropy against a logarithm is decided exactly: on the boundary, a hair beside it, and in any scale."""

from fractions import Fraction
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks import Entropy
from privacy_oracles import entropy_reaches
from privacy_strategies import classes, numbers

Factor = tuple[list[int], int | Fraction]

uniform: st.SearchStrategy[Factor] = st.integers(1, 6).map(lambda n: ([1] * n, n))
uneven: st.SearchStrategy[Factor] = st.sampled_from([([1, 1, 1, 1, 4], 4), ([8, 2, 1, 1, 1], Fraction(13, 4))])
on_the_boundary = st.lists(uniform | uneven, min_size=1, max_size=2)
"""Classes whose entropy is the logarithm of a rational number; that of independent classes is the sum."""


def reaches(weights: list[int] | list[Fraction], effective: Fraction) -> bool:
    return Entropy(max(effective, Fraction(1))).decide(weights)


@given(classes(), numbers(1, 8))
def test_the_verdict_is_that_of_whole_numbers(counts: list[int], effective: Fraction) -> None:
    """n^n >= l^n prod n_i^n_i."""
    assert reaches(counts, effective) is entropy_reaches(counts, effective)


@given(classes(), st.integers(1, 10**400) | st.just(1))
def test_weights_beyond_floating_point_are_decided_alike(counts: list[int], scale: int) -> None:
    """Of whole numbers without a common divisor: a row more or less for each value."""
    nearly = [count * scale + 1 for count in counts if count]
    shares = [Fraction(n, sum(nearly)) for n in nearly]
    effective = float(np.exp(-sum(float(share) * np.log(float(share)) for share in shares)))
    assert not reaches(nearly, Fraction(effective * (1 + 1e-9)))
    assert reaches(nearly, Fraction(effective * (1 - 1e-9)))


@given(classes())
def test_the_verdict_turns_where_the_entropy_is(counts: list[int]) -> None:
    """At bounds next to the entropy in floating point, where most verdicts are close."""
    shares = np.array([n for n in counts if n]) / sum(counts)
    effective = Fraction(float(np.exp(-(shares * np.log(shares)).sum()))).limit_denominator(10**6)
    for bound in (effective - Fraction(1, 10**6), effective, effective + Fraction(1, 10**6)):
        assert reaches(counts, bound) is entropy_reaches(counts, max(bound, Fraction(1)))


@given(
    on_the_boundary,
    st.sampled_from([12, 45, 60, 500]),
    st.integers(1, 10**15) | st.fractions(Fraction(1, 10**9), 10**9),
)
def test_a_class_on_the_boundary_passes_and_fails_a_hair_beyond_in_any_scale(
    factors: list[Factor], digits: int, scale: Fraction | int
) -> None:
    weights = np.array([1])
    for counts, _ in factors:
        weights = np.outer(weights, counts).ravel()
    effective, hair = Fraction(prod(effective for _, effective in factors)), Fraction(1, 10**digits)
    scaled = [weight * scale for weight in weights.tolist()]
    assert reaches(scaled, effective)
    assert reaches(scaled, effective * (1 - hair))
    assert not reaches(scaled, effective * (1 + hair))


@pytest.mark.parametrize("size", [10**6, 10**12, 10**18, *(10**22 * n for n in range(1, 9))])
def test_one_row_too_many_in_a_large_class_is_seen(size: int) -> None:
    assert reaches([size, size], Fraction(2))
    assert not reaches([size + 1, size], Fraction(2))
    assert reaches([size] * 4 + [4 * size], Fraction(4))
    assert not reaches([size] * 4 + [4 * size + 1], Fraction(4))
    assert reaches([size] * 4 + [4 * size - 1], Fraction(4))


def test_the_3_diverse_table_of_the_paper_is_entropy_2_8_diverse() -> None:
    """MKGV07 Fig. 4: each class holds 1, 1 and 2 rows; exp of the entropy is the square root of 8."""
    assert reaches([1, 1, 2], Fraction("2.8284271247461900"))
    assert not reaches([1, 1, 2], Fraction("2.8284271247461902"))
