"""Propagation: what each equation leaves for one of its counts, given the ranges of the others.

A total is at least the sum of what its parts are at least, and a part at most the total less what the other parts are at
least. Repeated until nothing changes, this bounds all counts at once, for certain but not always sharply (Buzzigoli and
Giusti 1999, the shuttle algorithm; Davis 1987, constraint propagation with interval labels).
"""

import numpy as np

from models.arrays import BoolArray, CountArray
from models.programs.equations import UNBOUNDED, Equations

_SWEEPS = 200
"""After which bounds that still change are taken as they are."""


def propagated(equations: Equations, lower: CountArray, upper: CountArray) -> tuple[CountArray, CountArray]:
    """Bounds of all counts, shape (cells,) each. Where a lower one is above its upper one, no table has these ranges.

    lower, upper: what is known of them before; UNBOUNDED for no upper end. Only equations of counts whose range has become
    narrower are looked at again.
    """
    lower, upper = lower.copy(), upper.copy()
    waiting = equations
    for _ in range(_SWEEPS):
        if not len(waiting):
            break
        before = lower.copy(), upper.copy()
        low, high = _left_for_each(waiting, lower, upper)
        np.maximum.at(lower, waiting.cells, low)
        np.minimum.at(upper, waiting.cells, high)
        moved: BoolArray = (lower > before[0]) | (upper < before[1])
        if not moved.any() or bool((lower > upper).any()):
            break
        waiting = equations.only(np.logical_or.reduceat(moved[equations.cells], equations.begins))
    return lower, upper


def _left_for_each(equations: Equations, lower: CountArray, upper: CountArray) -> tuple[CountArray, CountArray]:
    """The range that its equation leaves for each entry: shape (entries,) each."""
    rows, cells = equations.rows, equations.cells
    is_total: BoolArray = equations.signs > 0
    low, high = lower[cells], upper[cells]
    free = high >= UNBOUNDED
    # Of each entry with its sign: from `least`, unless it has no lower end, to `most`, unless it has no upper end.
    least, most = np.where(is_total, low, -high), np.where(is_total, high, -low)
    no_least, no_most = free & ~is_total, free & is_total
    least[no_least], most[no_most] = 0, 0
    rest_least = np.add.reduceat(least, equations.begins)[rows] - least
    rest_most = np.add.reduceat(most, equations.begins)[rows] - most
    new_low, new_high = np.where(is_total, -rest_most, rest_least), np.where(is_total, -rest_least, rest_most)
    if free.any():
        bounded_below = np.add.reduceat(no_least.astype(np.int64), equations.begins)[rows] == no_least
        bounded_above = np.add.reduceat(no_most.astype(np.int64), equations.begins)[rows] == no_most
        new_low[~np.where(is_total, bounded_above, bounded_below)] = 0
        new_high[~np.where(is_total, bounded_below, bounded_above)] = UNBOUNDED
    return new_low, new_high
