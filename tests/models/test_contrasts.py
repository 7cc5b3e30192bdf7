"""Contrasts: the strongest two-by-two table is found among all of them."""

from itertools import product
from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from models.accuracy import LEAST_GROUP, LEAST_ROWS, LEAST_SHARE, Contrast, strongest_contrast, two_by_two


def by_hand(counts: np.ndarray, contrast: tuple[int, int], is_ordered: tuple[bool, bool]) -> list[list[int]]:
    cells = [[0, 0], [0, 0]]
    for i, j in product(*map(range, counts.shape)):
        first = [value >= at if ordered else value == at for value, at, ordered in zip((i, j), contrast, is_ordered)]
        cells[1 - first[0]][1 - first[1]] += int(counts[i, j])
    return cells


def strength(cells: list[list[int]]) -> float | None:
    (a, b), (c, d) = cells
    groups = a + b, c + d, a + c, b + d
    if min(a, b, c, d) < LEAST_ROWS or min(groups) < max(LEAST_GROUP, LEAST_SHARE * sum(groups[:2])):
        return None
    return abs(a * d - b * c) / sqrt(groups[0] * groups[1] * groups[2] * groups[3])


@given(
    arrays(
        np.int64, array_shapes(min_dims=2, max_dims=2, max_side=5), elements=st.sampled_from([0, 1, 5, 9, 30, 2000])
    ),
    st.tuples(st.booleans(), st.booleans()),
)
def test_no_contrast_with_rows_enough_is_stronger(counts: np.ndarray, is_ordered: tuple[bool, bool]) -> None:
    every = {
        contrast: phi
        for contrast in product(*map(range, counts.shape))
        if (phi := strength(by_hand(counts, contrast, is_ordered))) is not None
    }
    found = strongest_contrast(counts, is_ordered)
    if found is None:
        assert not every
        return
    cells = by_hand(counts, found, is_ordered)
    assert every[found] == pytest.approx(max(every.values()), abs=1e-9)
    assert two_by_two(counts, found, is_ordered).tolist() == cells


def test_of_a_yes_and_a_no_the_rarer_is_asked_about() -> None:
    dead_or_alive = np.array([[900, 400], [20, 60]])
    assert strongest_contrast(dead_or_alive, (False, False)) == Contrast(1, 1)
    assert strongest_contrast(dead_or_alive, (True, True)) == Contrast(1, 1)
    assert strongest_contrast(np.zeros((2, 2), dtype=np.int64), (False, True)) is None
