"""Odds ratios, risk ratios and other comparisons of two groups: of a table of two by two, and their bounds.

The counts are [[a, b], [c, d]]; bounds of them, of their rows, columns and total are given. Each comparison grows with
a and d and falls with b and c. If the sums of rows and columns are known, a determines the table, and the comparison
grows with a. Then the ends of a give the range, which is sharp if these ends are. Otherwise each count is at its
worst.
"""

from collections.abc import Callable
from math import inf, isnan, nan
from typing import NamedTuple, TypeAlias

import numpy as np

from models.arrays import CountArray, FloatArray
from models.errors import ContradictionError
from models.programs.nested_counts import ValueRange


def ratio(numerator: float, denominator: float) -> float:
    """Return the ratio: infinite if only the denominator is 0, nan if both are."""
    if denominator:
        return numerator / denominator
    return inf if numerator > 0 else nan


def odds_ratio(a: float, b: float, c: float, d: float) -> float:
    """Return the ratio ad / bc; infinite if only bc is 0, and nan if both are."""
    return ratio(a * d, b * c)


def risk_ratio(a: float, b: float, c: float, d: float) -> float:
    """Return the risk a / (a + b) over c / (c + d); nan if a row is empty or both are 0."""
    return ratio(ratio(a, a + b), ratio(c, c + d))


def risk_difference(a: float, b: float, c: float, d: float) -> float:
    """Return the share a / (a + b) less the share c / (c + d); nan if a row is empty."""
    return ratio(a, a + b) - ratio(c, c + d)


class Effect(NamedTuple):
    """Number of four counts that grows with a and d and falls with b and c, or nan. within: its possible values."""

    of: Callable[[float, float, float, float], float]
    within: ValueRange


ODDS_RATIO = Effect(odds_ratio, ValueRange(0.0, inf))
RISK_RATIO = Effect(risk_ratio, ValueRange(0.0, inf))
RISK_DIFFERENCE = Effect(risk_difference, ValueRange(-1.0, 1.0))


def tighten(ranges: FloatArray) -> FloatArray:
    """Return the ranges of counts and their sums, each as narrow as the others imply.

    ranges: lower and upper ends, shape (3, 3, 2). Those of the counts are [[a, b, a + b], [c, d, c + d], [a + c, b +
    d, total]]. Raises ContradictionError if no counts are within all bounds.
    """
    tight, before = np.array(ranges, dtype=np.float64), None
    while before is None or not np.array_equal(tight, before):
        before = tight.copy()
        for line in (*tight, *tight.transpose(1, 0, 2)):
            (one, other, least_sum), (most, most_other, most_sum) = line.T.tolist()
            lower = [least_sum - most_other, least_sum - most, one + other]
            upper = [most_sum - other, most_sum - one, most + most_other]
            line[:] = np.stack([np.maximum(line[:, 0], lower), np.minimum(line[:, 1], upper)], axis=1)
            if np.any(line[:, 0] > line[:, 1]):
                raise ContradictionError("no table has these marginals")
    return tight


def are_sums_known(ranges: FloatArray) -> bool:
    """Return whether sums of the first row, first column and total are known, so that a determines the table."""
    return all(ranges[place][0] == ranges[place][1] for place in ((0, 2), (2, 0), (2, 2)))


def extremes(ranges: FloatArray, comparison: Effect) -> ValueRange:
    """Return the range of a comparison over all tables for which it is defined. ranges: as for `tighten`."""
    tight = tighten(ranges)
    (a, b, row), (c, d, _), (column, _, total) = tight.tolist()
    if are_sums_known(tight):
        ends = [(x, row[0] - x, column[0] - x, total[0] - row[0] - column[0] + x) for x in a]
    else:
        ends = [(a[0], b[1], c[1], d[0]), (a[1], b[0], c[0], d[1])]
    lower, upper = (comparison.of(*counts) for counts in ends)
    within = comparison.within
    return ValueRange(within.lower if isnan(lower) else lower, within.upper if isnan(upper) else upper)


Ends: TypeAlias = tuple[CountArray, CountArray] | tuple[float, float]
"""Lower and upper bounds."""


def share_bounds(part: Ends, rest: Ends, total: Ends) -> tuple[FloatArray, FloatArray]:
    """Return bounds of part / total, for many at once, where part and rest make up the total.

    If both can be 0, only tables in which one is not 0 count. nan if the share is undefined in all tables.
    """
    least, most = np.maximum(part[0], total[0] - rest[1]), np.minimum(part[1], np.maximum(total[1] - rest[0], 0))
    fewest, largest = np.maximum(rest[0], total[0] - most), np.minimum(rest[1], total[1] - least)
    lower = np.divide(least, least + largest, out=np.ones(np.shape(least)), where=least + largest > 0)
    upper = np.divide(most, most + fewest, out=np.zeros(np.shape(most)), where=most + fewest > 0)
    nothing = most + largest == 0
    return np.where(nothing, np.nan, lower), np.where(nothing, np.nan, upper)
