"""Odds ratios, risk ratios and other comparisons of two groups: of a table of two by two, and between which values they lie.

Of the counts [[a, b], [c, d]], of their rows, columns and of all bounds are given. Each comparison grows with a and d and
falls with b and c. Where the sums of rows and columns are known, a decides the table, and the comparison grows with it, so
that the ends of a give the range, and it is sharp where the ends are. Elsewhere each count is taken at its worst, which is
certain and need not be attained.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf, isnan, nan
from typing import NamedTuple

import numpy as np

from models.arrays import CountArray, FloatArray
from models.errors import ContradictionError
from models.programs.nested_counts import Range


class FourCounts(NamedTuple):
    """The counts [[a, b], [c, d]]."""

    a: float
    b: float
    c: float
    d: float


@dataclass(frozen=True)
class Comparison:
    """A number of four counts that grows with a and d and falls with b and c.

    of: nan where the counts leave it undefined. within: all that it can be.
    """

    of: Callable[[FourCounts], float]
    within: Range


def ratio(numerator: float, denominator: float) -> float:
    """Infinite where only the denominator is 0, nan where both are."""
    if denominator:
        return numerator / denominator
    return inf if numerator > 0 else nan


def odds_ratio(counts: FourCounts) -> float:
    """The ratio ad / bc; infinite where only bc is 0, and nan where both are.

    >>> odds_ratio(FourCounts(2, 1, 3, 6))
    4.0
    """
    return ratio(counts.a * counts.d, counts.b * counts.c)


def risk_ratio(counts: FourCounts) -> float:
    """The share a / (a + b) over the share c / (c + d); nan where a row is empty, or neither has a risk.

    >>> risk_ratio(FourCounts(2, 2, 1, 3))
    2.0
    """
    return ratio(ratio(counts.a, counts.a + counts.b), ratio(counts.c, counts.c + counts.d))


def risk_difference(counts: FourCounts) -> float:
    """The share a / (a + b) less the share c / (c + d); nan where a row is empty.

    >>> risk_difference(FourCounts(2, 2, 1, 3))
    0.25
    """
    return ratio(counts.a, counts.a + counts.b) - ratio(counts.c, counts.c + counts.d)


ODDS_RATIO = Comparison(odds_ratio, Range(0.0, inf))
RISK_RATIO = Comparison(risk_ratio, Range(0.0, inf))
RISK_DIFFERENCE = Comparison(risk_difference, Range(-1.0, 1.0))


@dataclass(frozen=True)
class TwoByTwo:
    """What is certain of four counts and their sums. Raises ContradictionError where no counts are within all bounds.

    rows: of a + b and c + d. columns: of a + c and b + d.
    """

    a: Range
    b: Range
    c: Range
    d: Range
    first_row: Range
    second_row: Range
    first_column: Range
    second_column: Range
    total: Range

    def tightened(self) -> "TwoByTwo":
        """The same, each bound as close as the others make it."""
        known = self
        while (closer := known._once_tightened()) != known:
            known = closer
        return known

    def _once_tightened(self) -> "TwoByTwo":
        known = self
        for whole, one, other in _SUMS:
            parts = [getattr(known, name) for name in (whole, one, other)]
            known = replace(known, **dict(zip((whole, one, other), _agreeing(*parts))))
        return known

    @property
    def is_decided_by_one(self) -> bool:
        """Whether one count decides the others."""
        return self.first_row.is_known and self.first_column.is_known and self.total.is_known

    def extremes(self, comparison: Comparison) -> Range:
        """Between which values a comparison lies in all tables that have one."""
        known = self.tightened()
        if known.is_decided_by_one:
            ends = [known._with_first(count) for count in known.a]
        else:
            a, b, c, d = known.a, known.b, known.c, known.d
            ends = [FourCounts(a.lower, b.upper, c.upper, d.lower), FourCounts(a.upper, b.lower, c.lower, d.upper)]
        lower, upper = map(comparison.of, ends)
        return Range(
            comparison.within.lower if isnan(lower) else lower, comparison.within.upper if isnan(upper) else upper
        )

    def _with_first(self, count: float) -> FourCounts:
        row, column, total = self.first_row.lower, self.first_column.lower, self.total.lower
        return FourCounts(count, row - count, column - count, total - row - column + count)


_SUMS = (
    ("first_row", "a", "b"),
    ("second_row", "c", "d"),
    ("first_column", "a", "c"),
    ("second_column", "b", "d"),
    ("total", "first_row", "second_row"),
    ("total", "first_column", "second_column"),
)


def _agreeing(whole: Range, one: Range, other: Range) -> tuple[Range, Range, Range]:
    """Bounds of a sum and of its parts, as close as they make each other."""
    agreed = (
        Range(max(whole.lower, one.lower + other.lower), min(whole.upper, one.upper + other.upper)),
        Range(max(one.lower, whole.lower - other.upper), min(one.upper, whole.upper - other.lower)),
        Range(max(other.lower, whole.lower - one.upper), min(other.upper, whole.upper - one.lower)),
    )
    if any(known.lower > known.upper for known in agreed):
        raise ContradictionError("no table has these marginals")
    return agreed


def shares(part: tuple[CountArray, CountArray], rest: tuple[CountArray, CountArray]) -> tuple[FloatArray, FloatArray]:
    """Between which values part / (part + rest) lies, for many at once. part, rest: lower and upper bounds, shapes alike.

    Where both can be 0 the share is that of the tables in which one is not; nan where it is undefined in all.
    """
    (least, most), (fewest, largest) = part, rest
    lower = np.divide(least, least + largest, out=np.ones(np.shape(least)), where=least + largest > 0)
    upper = np.divide(most, most + fewest, out=np.zeros(np.shape(most)), where=most + fewest > 0)
    nothing = most + largest == 0
    return np.where(nothing, np.nan, lower), np.where(nothing, np.nan, upper)
