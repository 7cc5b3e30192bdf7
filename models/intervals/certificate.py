"""Certificates: bounds that follow from multiples of equations, in whole numbers, whatever a solver has rounded.

All equations say that something is 0. So a count c'x equals (c - A'y)'x for any multiples y of the equations, and is no less
than what the ranges of the counts leave of that (weak duality; Neumaier and Shcherbina 2004, safe bounds). A linear program
finds the best y; that they are rounded here costs tightness, never truth.
"""

import numpy as np

from models.arrays import CountArray, FloatArray
from models.programs.equations import UNBOUNDED, Equations

MULTIPLE = 5040
"""Multipliers are rounded to fractions of this denominator."""


def reduced_objective(objective: CountArray, equations: Equations, duals: FloatArray) -> tuple[CountArray, CountArray]:
    """C - A'y, shape (cells,), and y, shape (equations,), both in units of 1 / MULTIPLE."""
    multipliers = np.asarray(np.rint(duals * MULTIPLE), dtype=np.int64)
    reduced = objective * MULTIPLE
    np.subtract.at(reduced, equations.cells, equations.signs * multipliers[equations.rows])
    return reduced, multipliers


def proven_sum(reduced: CountArray, lower: CountArray, upper: CountArray) -> int:
    """What the ranges leave of a sum at least, in units of 1 / MULTIPLE; far below 0 where a range has no end."""
    if ((upper >= UNBOUNDED) & (reduced < 0)).any():
        return -UNBOUNDED * MULTIPLE
    return int(np.where(reduced >= 0, reduced * lower, reduced * np.minimum(upper, UNBOUNDED >> 16)).sum(dtype=object))
