"""Widths of intervals that suit the range of a column of numbers: round ones, as a person would choose them."""

from collections.abc import Sequence
from decimal import Decimal
from math import floor, log, log10

import numpy as np

from models.arrays import CountArray

_LADDERS = {1: (1, 5, 10), 2: (2, 10, 20), 2.5: (2.5, 5, 10), 5: (5, 10, 20)}
"""Widths by the first, to be multiplied by a power of ten."""

_LEAST = -6
"""The power of ten of the finest interval."""


def widths_of(numbers: Sequence[Decimal], counts: CountArray, are_ages: bool) -> tuple[int, ...] | tuple[Decimal, ...]:
    """Up to three widths of intervals for numbers that occur so often; of the widest there are two at least.

    The first is about a thirteenth of the range that most rows lie in, so the widest makes a few intervals of it; where most
    rows are decides, not how far a few of them stray. Ages have 5, 10, 20 years. Whole numbers have whole widths.

    >>> whole = list(map(Decimal, range(101)))
    >>> widths_of(whole, np.ones(101, dtype=np.int64), False), widths_of(whole[25:65], np.ones(40, dtype=np.int64), True)
    ((5, 10, 20), (5, 10, 20))
    >>> tenths = [Decimal(n) / 10 for n in range(7, 18)]
    >>> [str(width) for width in widths_of(tenths, np.ones(11, dtype=np.int64), False)]
    ['0.1', '0.5']
    """
    are_whole = all(number == number.to_integral_value() for number in numbers)
    span = max(numbers) - min(numbers)
    order = np.argsort([float(number) for number in numbers])
    below = np.cumsum(counts[order]) / counts.sum()
    low, high = (numbers[int(order[min(int(np.searchsorted(below, q)), len(numbers) - 1)])] for q in (0.05, 0.95))
    ladder = (
        (Decimal(5), Decimal(10), Decimal(20)) if are_ages else _ladder(float(max(high - low, span / 20)), are_whole)
    )
    fitting = [width for width in ladder if 2 * width <= span + (1 if are_whole else 0)]
    return tuple(map(int, fitting)) if are_whole else tuple(fitting)


def _ladder(span: float, are_whole: bool) -> tuple[Decimal, ...]:
    """Three round widths, the first about a thirteenth of a span; of whole numbers 2 at least."""
    wished = max(span / 13, 2.0 if are_whole else 10.0**_LEAST)
    power = floor(log10(wished))
    firsts = [
        (digit, scale) for scale in (power, power + 1) for digit in ((2, 5) if are_whole and not scale else (1, 2.5, 5))
    ]
    digit, scale = min(firsts, key=lambda first: abs(log(first[0] * 10.0 ** first[1] / wished)))
    return tuple(Decimal(str(step)) * Decimal(10) ** scale for step in _LADDERS[digit])
