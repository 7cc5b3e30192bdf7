"""Sums and ratios over counts that nest: the extremes are those of all tables, one by one, and of linear programs."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models import ContradictionError, DomainMismatchError
from models.programs.nested_counts import Bounded, NestedCounts

COSTS = st.integers(-3, 3)


@st.composite
def nested(draw: st.DrawFn) -> tuple[NestedCounts, list[tuple[int, ...]]]:
    """Five cells in three groups in one, and all their tables; bounds are around some table, so that there is one."""
    cells, groups = 5, [0, 0, 1, 1, 2]
    truth = np.array(draw(st.lists(st.integers(0, 3), min_size=cells, max_size=cells)))
    steps = [np.array(groups), np.array([0, 0, 0])]
    levels, counts = [], truth
    for step in [*steps, None]:
        slack = np.array(draw(st.lists(st.integers(0, 2), min_size=2 * len(counts), max_size=2 * len(counts))))
        levels.append(Bounded(np.maximum(counts - slack[::2], 0), counts + slack[1::2]))
        if step is not None:
            counts = np.bincount(step, counts).astype(np.int64)
    tables = []
    for table in product(*(range(low, high + 1) for low, high in zip(levels[0].lower, levels[0].upper))):
        sums, fits = np.array(table), True
        for step, bounds in zip(steps, levels[1:]):
            sums = np.bincount(step, sums).astype(np.int64)
            fits &= bool(np.all(bounds.lower <= sums) and np.all(sums <= bounds.upper))
        if fits:
            tables.append(table)
    return NestedCounts(tuple(levels), tuple(steps)), tables


@given(nested(), st.lists(COSTS, min_size=5, max_size=5), st.lists(st.booleans(), min_size=5, max_size=5))
def test_the_extremes_are_those_of_all_tables(
    given_counts: tuple[NestedCounts, list[tuple[int, ...]]], costs: list[int], counted: list[bool]
) -> None:
    counts, tables = given_counts
    cost = np.array(costs, dtype=np.float64)
    sums = np.array(tables) @ cost
    assert counts.extremes(cost) == (sums.min(), sums.max())
    weights = np.array(counted, dtype=np.float64)
    rows = np.array(tables) @ weights
    ratios = (np.array(tables) @ (cost * weights))[rows > 0] / rows[rows > 0]
    found = counts.extreme_ratios(cost * weights, weights)
    if not len(ratios):
        assert found is None
        return
    assert found == pytest.approx((ratios.min(), ratios.max()), abs=1e-12)


def test_bounds_that_no_table_meets_are_a_contradiction() -> None:
    few = NestedCounts(
        (Bounded(np.array([2, 2]), np.array([3, 3])), Bounded(np.array([9]), np.array([9]))), (np.zeros(2, int),)
    )
    with pytest.raises(ContradictionError):
        few.extremes(np.ones(2))


def test_numbers_that_do_not_fit_are_refused() -> None:
    one = Bounded(np.array([1]), np.array([2]))
    with pytest.raises(DomainMismatchError):
        NestedCounts((one, one), ())
    with pytest.raises(DomainMismatchError):
        NestedCounts((one, one), (np.array([1]),))
    with pytest.raises(DomainMismatchError):
        Bounded(np.array([1]), np.array([1, 2]))
