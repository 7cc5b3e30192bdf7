"""Several rows of each person count where that keeps many more rows, and classes are not much coarser for it."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from marginals.config.visits import worth_counting


@given(st.lists(st.integers(1, 12), min_size=1, max_size=60))
def test_the_numbers_of_rows_that_are_worth_it(each: list[int]) -> None:
    """By trying all: half again as many rows as people, classes at most twice as coarse, and the best number first."""
    kept = {r: sum(min(n, r) for n in each) for r in range(1, max(each) + 1)}
    enough = min(r for r in kept if kept[r] >= 0.95 * sum(each))
    worth = [r for r in kept if r <= enough and kept[r] >= 1.5 * len(each) and 2 * kept[r] >= r * len(each)]
    assert list(worth_counting(np.array(each))) == sorted(worth, reverse=True)
