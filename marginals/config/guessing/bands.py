"""Widths of intervals that suit the range of a column of numbers: round ones, as a person would choose them."""

from collections.abc import Sequence
from decimal import Decimal
from math import floor, log, log10

import numpy as np

from marginals.tables.values.order import MOST_CONSECUTIVE
from models.arrays import CountArray

_LADDERS = {1: (1, 5, 10), 2: (2, 10, 20), 2.5: (2.5, 5, 10), 5: (5, 10, 20)}
"""Widths by the first, to be multiplied by a power of ten."""

_LEAST = -6
"""The power of ten of the finest interval."""


def widths_of(numbers: Sequence[Decimal], counts: CountArray) -> tuple[int, ...] | tuple[Decimal, ...]:
    """Up to three widths of intervals for numbers that occur so often; of the widest there are two at least.

    The first is about a thirteenth of the range that most rows lie in, so the widest makes a few intervals of it; where most
    rows are decides, not how far a few of them stray. Whole numbers have whole widths.

    >>> whole = list(map(Decimal, range(101)))
    >>> widths_of(whole, np.ones(101, dtype=np.int64))
    (5, 10, 20)
    >>> tenths = [Decimal(n) / 10 for n in range(7, 18)]
    >>> [str(width) for width in widths_of(tenths, np.ones(11, dtype=np.int64))]
    ['0.1', '0.5']
    """
    are_whole = all(number == number.to_integral_value() for number in numbers)
    span = max(numbers) - min(numbers)
    low, high = _most(numbers, counts)
    ladder = _ladder(float(max(high - low, span / 20)), are_whole)
    fitting = [width for width in ladder if 2 * width <= span + (1 if are_whole else 0)]
    return tuple(map(int, fitting)) if are_whole else tuple(fitting)


_BANDS = 100
"""About so many finest bands hold most rows; a fitted ladder merges from there."""
_MOST_BANDS = 20_000
_SINGLE_VALUES = 200
"""Whole numbers that most rows lie within so many of are merged from single values on."""


def finest_width(numbers: Sequence[Decimal], counts: CountArray, are_ages: bool) -> tuple[int | Decimal, ...]:
    """The width of the bands that a fitted ladder of numbers begins with; none for single whole values.

    A round one, of which a hundred or so hold most rows; of ages with decimals whole years.

    >>> whole = list(map(Decimal, range(5001)))
    >>> each = np.ones(5001, dtype=np.int64)
    >>> finest_width(whole, each, False), finest_width(whole[:99], each[:99], True)
    ((50,), ())
    >>> finest_width([Decimal("0.4"), Decimal("0.9"), Decimal("21.6")], np.array([50, 50, 1]), False)
    (Decimal('0.1'),)
    """
    are_whole = all(number == number.to_integral_value() for number in numbers)
    low, high = _most(numbers, counts)
    span = max(numbers) - min(numbers)
    if are_whole and high - low <= _SINGLE_VALUES and span < MOST_CONSECUTIVE:
        return ()
    unit = min(Decimal(1), *(Decimal(1).scaleb(int(number.normalize().as_tuple().exponent)) for number in numbers))
    wished = max((high - low) / _BANDS, span / _MOST_BANDS, Decimal(1) if are_ages else unit)
    width = max(_round_width(wished), unit)
    return (int(width),) if are_whole else (width,)


def _most(numbers: Sequence[Decimal], counts: CountArray) -> tuple[Decimal, Decimal]:
    """The ends of the nine tenths of the rows in the middle."""
    order = np.argsort([float(number) for number in numbers])
    below = np.cumsum(counts[order]) / counts.sum()
    low, high = (numbers[int(order[min(int(np.searchsorted(below, q)), len(numbers) - 1)])] for q in (0.05, 0.95))
    return low, high


def _round_width(wished: Decimal) -> Decimal:
    """The nearest of 1, 2, 5 times a power of ten."""
    power = Decimal(1).scaleb(wished.adjusted())
    return min((digit * power for digit in (1, 2, 5, 10)), key=lambda width: abs(log(width / wished)))


def _ladder(span: float, are_whole: bool) -> tuple[Decimal, ...]:
    """Three round widths, the first about a thirteenth of a span; of whole numbers 2 at least."""
    wished = max(span / 13, 2.0 if are_whole else 10.0**_LEAST)
    power = floor(log10(wished))
    firsts = [
        (digit, scale) for scale in (power, power + 1) for digit in ((2, 5) if are_whole and not scale else (1, 2.5, 5))
    ]
    digit, scale = min(firsts, key=lambda first: abs(log(first[0] * 10.0 ** first[1] / wished)))
    return tuple(Decimal(str(step)) * Decimal(10) ** scale for step in _LADDERS[digit])
