"""Propagated bounds: what each published count leaves for a possible cell, given what is known of the cells beside it.

A cell has no more rows than a count it is part of less what the other cells of that count have at least, and no fewer than
that count less what the others have at most (Buzzigoli and Giusti 1999, the shuttle algorithm). Repeated until nothing
changes, this bounds all cells at once, for certain, but not always sharply.
"""

import numpy as np

from models.arrays import CountArray
from models.programs.possible_cells import PossibleCells

_SWEEPS = 50
"""After which bounds that still change are taken as they are."""


def propagated_bounds(cells: PossibleCells) -> tuple[CountArray, CountArray]:
    """Bounds on the count of each possible cell: lower and upper, shape (cells,) each."""
    lower: CountArray = np.zeros(len(cells), dtype=np.int64)
    upper: CountArray = np.full(len(cells), int(cells.total), dtype=np.int64)
    parts = [(cells.coded_cells.positions_in(table.coded_cells), table.counts) for table in cells.tables]
    for _ in range(_SWEEPS):
        before = lower, upper
        for place, counts in parts:
            least = np.zeros(len(counts), dtype=np.int64)
            most = np.zeros(len(counts), dtype=np.int64)
            np.add.at(least, place, lower)
            np.add.at(most, place, upper)
            upper, lower = (
                np.minimum(upper, counts[place] - least[place] + lower),
                np.maximum(lower, counts[place] - most[place] + upper),
            )
        if np.array_equal(lower, before[0]) and np.array_equal(upper, before[1]):
            break
    return lower, upper
