"""Contrasts: the two-by-two table in which two attributes go together most.

A contrast puts the values of each attribute into two groups: one value against all others, or, where values stand in an
order, those from one on against those before it. Its odds ratio is what people ask of a table first.
"""

from typing import NamedTuple

import numpy as np

from models.arrays import CountArray, FloatArray

LEAST_ROWS = 5
"""Rows that each of the four cells of a contrast has at least, so that its odds ratio says something."""

LEAST_GROUP = 10
"""Rows that each of its groups has at least."""

LEAST_SHARE = 0.01
"""Share of all rows that each of its groups has at least."""

_TIED = 1e-9
"""Relative difference up to which two contrasts are as strong."""


class Contrast(NamedTuple):
    """The values that begin, or are, the first group of each of two attributes."""

    row: int
    column: int


def strongest_contrast(counts: CountArray, is_ordered: tuple[bool, bool]) -> Contrast | None:
    """The contrast with the largest phi coefficient, among those that have rows enough; None where none has.

    counts: shape (values of one attribute, values of the other), in their order where they have one. Of contrasts that are
    as strong, as the two of a yes and a no are, the one with the smaller first groups is taken.
    """
    total = int(counts.sum())
    both = _first_groups(_first_groups(counts, is_ordered[0]).T, is_ordered[1]).T
    rows = _first_groups(counts.sum(axis=1)[:, None], is_ordered[0])
    columns = _first_groups(counts.sum(axis=0)[:, None], is_ordered[1]).T
    cells = np.stack([both, rows - both, columns - both, total - rows - columns + both])
    least = np.minimum(np.minimum(rows, total - rows), np.minimum(columns, total - columns))
    allowed = (cells.min(axis=0) >= LEAST_ROWS) & (least >= max(LEAST_GROUP, LEAST_SHARE * total))
    if not allowed.any():
        return None
    at = np.nonzero(allowed)
    own, beside = rows[at[0], 0].astype(np.float64), columns[0, at[1]].astype(np.float64)
    strength = np.abs(both[at] * float(total) - own * beside)
    strength /= np.sqrt(own * (total - own) * beside * (total - beside))
    best = np.flatnonzero(strength >= strength.max() * (1 - _TIED))
    chosen = best[np.lexsort((at[1][best], at[0][best], beside[best], own[best]))[0]]
    return Contrast(int(at[0][chosen]), int(at[1][chosen]))


def two_by_two(table: FloatArray, contrast: Contrast, is_ordered: tuple[bool, bool]) -> FloatArray:
    """Counts or shares of the four cells: shape (2, 2), the first groups first."""
    for axis in (0, 1):
        values = np.arange(table.shape[axis])
        first = values >= contrast[axis] if is_ordered[axis] else values == contrast[axis]
        table = np.stack([table.compress(first, axis).sum(axis), table.compress(~first, axis).sum(axis)], axis)
    return table


def _first_groups(counts: CountArray, is_ordered: bool) -> CountArray:
    """For each value, the rows of the first group that it begins or is, along the first axis."""
    return np.flip(np.flip(counts, 0).cumsum(axis=0), 0) if is_ordered else counts
