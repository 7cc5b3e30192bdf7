"""Propagation: what each equation leaves for one of its counts, given the ranges of the others.

A total is at least the sum of what its parts are at least, and a part at most the total less what the other parts are at
least. Repeated until nothing changes, this bounds all counts at once, for certain but not always sharply (Buzzigoli and
Giusti 1999, the shuttle algorithm; Davis 1987, constraint propagation with interval labels).
"""

import numpy as np

from models.arrays import BoolArray, CountArray
from models.intervals.equations import Equations
from models.intervals.interval_table import UNBOUNDED

_SWEEPS = 200
"""After which bounds that still change are taken as they are."""


def propagated(equations: Equations, lower: CountArray, upper: CountArray) -> tuple[CountArray, CountArray]:
    """Bounds of all counts, shape (cells,) each. Where a lower one is above its upper one, no table has these ranges."""
    lower, upper = lower.copy(), upper.copy()
    if not len(equations):
        return lower, upper
    rows, cells = equations.rows, equations.cells
    is_total: BoolArray = equations.signs > 0
    for _ in range(_SWEEPS):
        low, high = lower[cells], upper[cells]
        free = high >= UNBOUNDED
        # Of each entry with its sign: from `least`, unless it has no lower end, to `most`, unless it has no upper end.
        least = np.where(is_total, low, np.where(free, 0, -high))
        most = np.where(is_total, np.where(free, 0, high), -low)
        no_least, no_most = free & ~is_total, free & is_total
        rest_least = np.add.reduceat(least, equations.begins)[rows] - least
        rest_most = np.add.reduceat(most, equations.begins)[rows] - most
        bounded_below = np.add.reduceat(no_least.astype(np.int64), equations.begins)[rows] == no_least
        bounded_above = np.add.reduceat(no_most.astype(np.int64), equations.begins)[rows] == no_most
        new_low = np.where(is_total, np.where(bounded_above, -rest_most, 0), np.where(bounded_below, rest_least, 0))
        new_high = np.where(
            is_total,
            np.where(bounded_below, -rest_least, UNBOUNDED),
            np.where(bounded_above, rest_most, UNBOUNDED),
        )
        before = int(lower.sum()), int((upper % UNBOUNDED).sum()), int((upper >= UNBOUNDED).sum())
        np.maximum.at(lower, cells, new_low)
        np.minimum.at(upper, cells, new_high)
        after = int(lower.sum()), int((upper % UNBOUNDED).sum()), int((upper >= UNBOUNDED).sum())
        if before == after or bool((lower > upper).any()):
            break
    return lower, upper
