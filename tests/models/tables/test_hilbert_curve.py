"""The Hilbert curve visits every point of a grid once and moves one step at a time."""

from itertools import product

import numpy as np
import pytest

from marginals.anonymizers.local_recoding import hilbert_order, hilbert_words


@pytest.mark.parametrize(("axes", "bits"), [(1, 4), (2, 1), (2, 4), (3, 2), (4, 2), (6, 1)])
def test_the_curve_moves_one_step_at_a_time(axes: int, bits: int) -> None:
    grid = np.array(list(product(range(2**bits), repeat=axes)))
    walk = grid[hilbert_order(grid)]
    assert np.abs(np.diff(walk, axis=0)).sum(axis=1).tolist() == [1] * (len(grid) - 1)
    assert len({tuple(word) for word in hilbert_words(grid, bits).tolist()}) == len(grid)


def test_equal_points_keep_their_order() -> None:
    points = np.array([[3, 1], [0, 0], [3, 1], [0, 0]])
    assert hilbert_order(points).tolist() == [1, 3, 0, 2]
