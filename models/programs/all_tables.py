"""All tables of counts that have given marginals, one by one, as long as they are few.

Where bounds say what each count can be by itself, the tables say what several counts can be together. The number of
tables grows fast, so the search counts its work and gives up, always at the same place.
"""

from collections.abc import Sequence

import numpy as np

from models.arrays import CountArray, IndexArray

MOST_TABLES = 20_000
"""Tables that are looked for, unless somebody says otherwise."""

_MOST_NUMBERS = 4_000_000
"""Counts of all tables that are begun at the same time."""


def all_tables(keys: Sequence[IndexArray], totals: Sequence[CountArray], most: int = MOST_TABLES) -> CountArray | None:
    """Every table of nonnegative whole numbers with some marginals: shape (tables, cells); None where they are too many.

    keys: for each marginal the place that each cell of the table counts in, shape (cells,). totals: for each marginal its
    counts, shape (places,). most: tables, and tables that are begun, beyond which the search gives up. The order is that of
    the counts of the first cell, then of the second, and so on.

    Cell after cell is filled, each with at most what its places have left, and at least with what the cells to come could
    not hold. Raises ValueError where there is no marginal.

    >>> rows, columns = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    >>> all_tables([rows, columns], [np.array([2, 1]), np.array([1, 2])]).tolist()
    [[0, 2, 1, 0], [1, 1, 0, 1]]
    """
    if not keys:
        raise ValueError("tables without a marginal are without number")
    cells = len(keys[0])
    if cells * 2 > _MOST_NUMBERS:
        return None
    caps = np.min([total[key] for key, total in zip(keys, totals)], axis=0).astype(np.int64)
    later = [_held_later(key, caps, len(total)) for key, total in zip(keys, totals)]
    # Places in which no cell counts must be empty, or no table has the marginals.
    if any(np.any(total[np.bincount(key, minlength=len(total)) == 0]) for key, total in zip(keys, totals)):
        return np.zeros((0, cells), dtype=np.int64)
    filled: CountArray = np.zeros((1, 0), dtype=np.int64)
    remaining = [np.asarray(total, dtype=np.int64)[None, :] for total in totals]
    for cell in range(cells):
        rest = [remainder[:, key[cell]] for remainder, key in zip(remaining, keys)]
        upper = np.min(rest, axis=0)
        lower = np.maximum(0, np.max([remainder - held[cell] for remainder, held in zip(rest, later)], axis=0))
        ways = np.maximum(upper - lower + 1, 0)
        number = int(ways.sum())
        if number > most or number * (cell + 1 + sum(map(len, totals))) > _MOST_NUMBERS:
            return None
        state = np.repeat(np.arange(len(ways)), ways)
        counts = lower[state] + np.arange(number) - np.repeat(np.cumsum(ways) - ways, ways)
        filled = np.column_stack([filled[state], counts])
        remaining = [remainder[state] for remainder in remaining]
        for remainder, key in zip(remaining, keys):
            remainder[:, key[cell]] -= counts
    return filled


def _held_later(key: IndexArray, caps: CountArray, places: int) -> CountArray:
    """For each cell how much the cells after it that count in the same place can hold together: shape (cells,)."""
    sums = np.zeros(places, dtype=np.int64)
    held = np.zeros(len(key), dtype=np.int64)
    for cell in range(len(key) - 1, -1, -1):
        held[cell] = sums[key[cell]]
        sums[key[cell]] += caps[cell]
    return held
