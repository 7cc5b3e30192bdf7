"""Balancing: as few changes held back as possible, so that no published count differs little from what it was before.

Where many come and many leave, a count can be one more than in an earlier release, although none of those who came or left
is one of few. Readers cannot know that. So every count of the later table must be one that was published before, or be at
least k away from all of these: then some of those who came wait, or of those who left, until the count is as it was. A row
is in a cell of each margin, so the row that brings most cells nearer to where they may be is the first to wait.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from models.arrays import BoolArray, CountArray, FloatArray, IndexArray


@dataclass(frozen=True, eq=False)
class Grid:
    """The counts that a margin may show: those that earlier tables show, and those at least so far away from all of them.

    place: the margin's cell that each base cell is in, shape (base cells,). before: its counts, shape (tables, cells).
    """

    place: IndexArray
    before: CountArray
    least: int

    def distance(self, counts: FloatArray, came: FloatArray, left: FloatArray) -> FloatArray:
        """How many rows must be held back in each cell until its count may be shown, and those who changed are enough.

        counts: with the rows that came and left, of which so many there are in each cell. Shapes (cells,).
        """
        apart = counts[None] - self.before
        down = np.where(apart >= 0, apart, np.inf).min(axis=0)
        up = np.where(apart <= 0, -apart, np.inf).min(axis=0)
        is_wide = down + up >= 2 * self.least
        lower = np.where(is_wide & (down >= self.least), np.maximum(self.least - up, 0), down)
        higher = np.where(is_wide & (up >= self.least), np.maximum(self.least - down, 0), up)
        nearest = np.minimum(np.where(lower <= came, lower, np.inf), np.where(higher <= left, higher, np.inf))
        few = np.where(came < self.least, came, 0) + np.where(left < self.least, left, 0)
        total: FloatArray = np.where(np.isinf(nearest), came + left, nearest) + few
        return total


def balanced(
    grids: Sequence[Grid], last: CountArray, came: CountArray, left: CountArray
) -> tuple[CountArray, CountArray]:
    """The rows that came and left, without as few of them as it takes that all margins show counts that they may show.

    last: the table before, all of whose counts may be shown. Shapes (base cells,).
    """
    came, left = came.copy(), left.copy()
    while True:
        removing, adding, bad = np.zeros(len(last)), np.zeros(len(last)), 0
        urgent = np.zeros((2, len(last)), dtype=bool)
        for grid in grids:
            joined, gone, old = (np.bincount(grid.place, rows).astype(np.float64) for rows in (came, left, last))
            counts = old + joined - gone
            now = grid.distance(counts, joined, gone)
            fewer = grid.distance(counts - 1, np.maximum(joined - 1, 0), gone) - now
            more = grid.distance(counts + 1, joined, np.maximum(gone - 1, 0)) - now
            removing += fewer[grid.place]
            adding += more[grid.place]
            bad += int((now > 0).sum())
            urgent[0] |= (fewer < 0)[grid.place]
            urgent[1] |= (more < 0)[grid.place]
        if not bad:
            return came, left
        scores = np.stack([np.where(came > 0, removing, np.inf), np.where(left > 0, adding, np.inf)])
        helpful = scores < 0
        most = len(last)
        if not helpful.any():  # no row brings the whole nearer; in each cell in question one is held back all the same
            helpful, most = urgent & np.isfinite(scores), bad
        chosen = _apart(grids, scores, helpful, most)
        if not len(chosen):
            return np.zeros_like(came), np.zeros_like(left)
        side, cell = np.divmod(chosen, len(last))
        came[cell[side == 0]] -= 1
        left[cell[side == 1]] -= 1


def _apart(grids: Sequence[Grid], scores: FloatArray, helpful: BoolArray, most: int) -> IndexArray:
    """Of the helpful rows the best of each cell of the margin with the most cells, as places in `scores`."""
    places = np.flatnonzero(helpful)
    places = places[np.argsort(scores.ravel()[places], kind="stable")]
    widest = max(grids, key=lambda grid: grid.before.shape[1])
    _, first = np.unique(widest.place[places % scores.shape[1]], return_index=True)
    return places[np.sort(first)][:most]
