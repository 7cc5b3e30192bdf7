"""Estimates: the maximum-entropy counts within proven bounds, which say what is likely where little is certain.

Each table by itself: of all real counts of its finest cells whose sums lie within the bounds, those that are most alike
(Bregman's method with interval constraints: Censor and Lent 1981).
"""

import numpy as np

from models.arrays import CountArray, FloatArray
from models.deadline import NEVER, Deadline
from models.intervals.linked_tables import LinkedTables, Sums
from models.programs.equations import UNBOUNDED

_SWEEPS = 200
"""Through all sums of a table."""

_CLOSE = 1e-4
"""Rows by which counts still change when no more is done."""


def estimated_counts(
    linked: LinkedTables, lower: CountArray, upper: CountArray, deadline: Deadline = NEVER
) -> FloatArray:
    """An estimate of each count within its bounds: shape (cells,); NaN for counts without one when time is over."""
    found = np.full(len(linked), np.nan)
    exact = lower == upper
    for table, finest in enumerate(linked.finest):
        if deadline.is_over:
            break
        every = (Sums(finest, np.arange(len(finest))), *linked.sums[table])
        counts = _fitted(every, lower, upper)
        for cells, places in every[::-1]:
            inside = places >= 0
            summed = np.bincount(places[inside], counts[inside], minlength=len(cells))
            found[cells] = np.where(np.isnan(found[cells]), summed, found[cells])
    found[exact] = lower[exact]
    ends = upper.astype(np.float64)
    ends[upper >= UNBOUNDED] = np.inf
    return np.asarray(np.clip(found, lower, ends), dtype=np.float64)


def _fitted(sums: tuple[Sums, ...], lower: CountArray, upper: CountArray) -> FloatArray:
    finest = sums[0].cells
    some = np.maximum(lower[finest], 1)
    counts = np.where(upper[finest] > 0, float(some.mean()) if len(some) else 1.0, 0.0)
    corrections = [np.zeros(len(each.cells)) for each in sums]
    with np.errstate(divide="ignore"):
        lows = [np.log(lower[each.cells].astype(np.float64)) for each in sums]
        highs = [
            np.where(upper[each.cells] >= UNBOUNDED, np.inf, np.log(upper[each.cells].astype(np.float64)))
            for each in sums
        ]
    for _ in range(_SWEEPS):
        before = counts
        for number, each in enumerate(sums):
            inside = each.places >= 0
            at = each.places[inside]
            summed = np.bincount(at, counts[inside], minlength=len(each.cells))
            with np.errstate(divide="ignore", invalid="ignore"):
                logs = np.log(summed)
                steps = np.clip(corrections[number], lows[number] - logs, highs[number] - logs)
            steps = np.where(summed > 0, np.nan_to_num(steps, posinf=0.0, neginf=0.0), 0.0)
            corrections[number] -= steps
            counts = counts.copy()
            counts[inside] *= np.exp(steps)[at]
        if np.abs(counts - before).max(initial=0.0) < _CLOSE:
            break
    return counts
