"""Comparisons of two groups: every table of four counts within the bounds lies in the range, and the ends are reached."""

from itertools import product
from math import inf, isnan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models import ContradictionError
from models.inference.two_by_two import (
    ODDS_RATIO,
    RISK_DIFFERENCE,
    RISK_RATIO,
    Comparison,
    FourCounts,
    TwoByTwo,
    odds_ratio,
    risk_difference,
    risk_ratio,
    shares,
)
from models.programs.nested_counts import Range

SUMS = [(0, 1), (2, 3), (0, 2), (1, 3), (0, 1, 2, 3)]
ANYTHING = Range(0, 100)


def test_ratios_at_zeros() -> None:
    assert odds_ratio(FourCounts(2, 1, 3, 6)) == 4
    assert odds_ratio(FourCounts(2, 0, 3, 6)) == inf
    assert isnan(odds_ratio(FourCounts(0, 0, 3, 6)))
    assert risk_ratio(FourCounts(1, 1, 0, 3)) == inf
    assert isnan(risk_ratio(FourCounts(0, 0, 0, 3))), "nobody is in the first group"
    assert isnan(risk_ratio(FourCounts(0, 2, 0, 3))), "nobody has the outcome"
    assert isnan(risk_difference(FourCounts(0, 0, 1, 3)))


def possible(bounds: list[Range]) -> list[FourCounts]:
    """All tables of counts up to 5 within bounds of four cells and five sums."""
    cells, sums = bounds[:4], bounds[4:]
    tables = product(*(range(int(own.lower), int(min(own.upper, 5)) + 1) for own in cells))
    return [
        FourCounts(*table)
        for table in tables
        if all(own.lower <= sum(table[i] for i in parts) <= own.upper for own, parts in zip(sums, SUMS))
    ]


@pytest.mark.parametrize("comparison", [ODDS_RATIO, RISK_RATIO, RISK_DIFFERENCE])
@given(
    st.lists(st.integers(0, 5), min_size=4, max_size=4),
    st.lists(st.integers(0, 2), min_size=18, max_size=18),
    st.sampled_from(["all", "sums known", "no sums"]),
)
def test_every_table_within_the_bounds_lies_in_the_range(
    comparison: Comparison, counts: list[int], slack: list[int], known: str
) -> None:
    truth = [*counts, *(sum(counts[i] for i in parts) for parts in SUMS)]
    bounds = [Range(max(n - slack[2 * i], 0), n + slack[2 * i + 1]) for i, n in enumerate(truth)]
    if known == "sums known":
        bounds = bounds[:4] + [Range(n, n) for n in truth[4:]]
    if known == "no sums":
        bounds = bounds[:4] + [ANYTHING] * 5
    bounds = [Range(own.lower, min(own.upper, 5)) for own in bounds[:4]] + bounds[4:]
    values = [value for table in possible(bounds) if not isnan(value := comparison.of(table))]
    found = TwoByTwo(*bounds).extremes(comparison)
    assert all(found.lower <= value * (1 + 1e-12) + 1e-12 for value in values)
    assert all(value <= found.upper * (1 + 1e-12) + 1e-12 for value in values)
    if known == "sums known" and values and found != comparison.within:
        assert found == pytest.approx((min(values), max(values)))


def test_counts_that_no_table_has_are_a_contradiction() -> None:
    with pytest.raises(ContradictionError):
        TwoByTwo(Range(3, 4), Range(0, 9), ANYTHING, ANYTHING, Range(0, 2), *[ANYTHING] * 4).tightened()


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=2))
def test_shares_are_the_extremes_over_part_and_rest(ends: list[tuple[int, int]]) -> None:
    part, rest = [(min(own), max(own)) for own in ends]
    values = [a / (a + b) for a in range(part[0], part[1] + 1) for b in range(rest[0], rest[1] + 1) if a + b]
    lower, upper = shares(*(tuple(map(np.array, own)) for own in (part, rest)))  # type: ignore[arg-type]
    if not values:
        assert np.isnan(lower)
        assert np.isnan(upper)
        return
    assert lower == pytest.approx(min(values))
    assert upper == pytest.approx(max(values))
