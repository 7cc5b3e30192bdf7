"""Sensitive numbers and dates are published in groups, never value by value, unless the steward wishes that.

An exact pay identifies a person to readers who know it. A class of ten people with ten different pays is diverse by
count though all may earn nearly the same. So the base values of a sensitive column of numbers or dates are bands. They
are the first of the attribute's intervals or units, or are chosen here. The single values are then no level of the
attribute at all, and levels are counted from these bands on.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from math import log

import numpy as np

from marginals.errors import InputError
from marginals.tables.attribute import MISSING, Attribute, Role
from marginals.tables.scales import is_measured
from marginals.tables.values import POINT, NumberFormat, date_text
from models.arrays import CountArray

CATEGORIES = 11  # as the answers from 0 to 10: most values that are published one by one
_BANDS = 12  # about so many hold nine tenths of the rows
_SPIKE = 0.05  # least share of the rows of a number that is a group by itself
_OF_ITS_BAND = 2  # least ratio of its rows to all others of its band

# Limits beyond which the bands or units of a fitted ladder are replaced by others: the ratio of the chosen width to that of
# the attribute, and the units between the first and the last date. The same table some months later has the same bands.
_MUCH, _MOST_UNITS = 3, 120

_DAYS = {"week": 7, "month": 30, "quarter": 91, "year": 365, "decade": 3652}


def in_groups(
    attribute: Attribute, values: Sequence[str], counts: CountArray, numbers: NumberFormat | None = POINT
) -> Attribute:
    """Return the attribute, with bands for sensitive numbers or dates of which none are given.

    `values`: texts of the table, each once. `counts`: rows of each, shape (values,). `numbers`: their form. Names stay:
    numbers with a hierarchy, prefixes or words for most of them, and at most ten different ones. Bands have round ends,
    and rare ones are merged (`ladder = "fitted"`). Raises InputError if only some of the values can be read.
    """
    if attribute.role is not Role.SENSITIVE or attribute.single_values:
        return attribute
    if attribute.hierarchy is not None or attribute.prefixes or (attribute.is_in_groups and not attribute.is_fitted):
        return attribute
    places = [place for place, text in enumerate(values) if not (attribute.counts_missing and text == MISSING)]
    texts, sizes = [values[place] for place in places], counts[places]
    if len(texts) <= CATEGORIES or 2 * sum(text in attribute.values for text in texts) >= len(texts):
        return attribute
    read = [] if numbers is None else [number for text in texts if (number := numbers.number(text)) is not None]
    fitted = attribute if attribute.is_fitted else replace(attribute, ladder="fitted")
    if len(read) == len(texts) and not attribute.dates:
        return _in_bands(fitted, read, sizes)
    days = [day for text in texts if (day := date_text(text)) is not None]
    if len(days) == len(texts) and not attribute.intervals:
        return _in_units(fitted, days, sizes)
    if attribute.is_in_groups:
        return attribute  # reading the values reports those of another kind
    if 2 * sum(map(is_measured, texts)) >= len(texts):
        raise InputError(
            "is sensitive, and most of its values look like numbers or dates, which are published in groups. Some cannot "
            "be read as such. Rewrite them in the table, list those that stand for no value under data.missing, or give "
            "the attribute a hierarchy. The key single_values = true publishes each value as it is"
        )
    return attribute


def _in_bands(attribute: Attribute, numbers: Sequence[Decimal], counts: CountArray) -> Attribute:
    widths, start = band_width(numbers, counts), bands_begin(numbers, counts)
    if attribute.intervals and _MUCH * attribute.intervals[0] >= widths[0]:
        return attribute
    return replace(attribute, intervals=widths, start=start, apart=heaps(numbers, counts, widths[0], start))


def _in_units(attribute: Attribute, days: Sequence[str], counts: CountArray) -> Attribute:
    span = _span(days, counts)
    units = [unit for unit in attribute.dates if _DAYS.get(unit, 1) * _MOST_UNITS >= span]
    # The longest of which there are at least a dozen.
    dozens = [unit for unit, length in _DAYS.items() if 12 * length <= span] or ["week"]
    return replace(attribute, dates=tuple(units or dozens[-1:]))


def band_width(numbers: Sequence[Decimal], counts: CountArray) -> tuple[int] | tuple[Decimal]:
    """Width of bands of which about a dozen hold nine tenths of the rows: 1, 2 or 5 times a power of ten.

    Whole numbers have bands of 2 at least, others of twice their last decimal, so that no band is a single value.
    """
    unit = last_decimal(numbers)
    numbers, counts = without_spike(numbers, counts)
    low, high = inner_range(numbers, counts)
    span = (high - low) or (max(numbers) - min(numbers))
    width = max(round_width(max(span / _BANDS, unit)), 2 * unit)
    are_whole = all(number == number.to_integral_value() for number in numbers)
    return (int(width),) if are_whole else (width,)


def bands_begin(numbers: Sequence[Decimal], counts: CountArray) -> int | Decimal:
    """Start of the bands of numbers: 0, or the first number above it where 0 is a group by itself."""
    if len(without_spike(numbers, counts)[0]) == len(numbers):
        return 0
    unit = last_decimal(numbers)
    return int(unit) if unit == 1 else unit


def heaps(
    numbers: Sequence[Decimal], counts: CountArray, width: int | Decimal, start: int | Decimal
) -> tuple[int, ...] | tuple[Decimal, ...]:
    """Numbers that are groups by themselves: 40 hours a week, 12 years of school; 0 where others are below it.

    A twentieth of the rows have such a number, twice as many as all others of its band.
    """
    bands = [int((number - start) // Decimal(width)) for number in numbers]
    of_band = dict.fromkeys(bands, 0)
    for band, rows in zip(bands, counts.tolist()):
        of_band[band] += rows
    enough = _SPIKE * counts.sum()
    result = sorted(
        number
        for number, band_number, rows in zip(numbers, bands, counts.tolist())
        if rows >= max(enough, _OF_ITS_BAND * (of_band[band_number] - rows))
        and of_band[band_number] > rows
        and (number or min(numbers) < 0)
    )
    return tuple(map(int, result)) if isinstance(width, int) else tuple(result)


def without_spike(numbers: Sequence[Decimal], counts: CountArray) -> tuple[Sequence[Decimal], CountArray]:
    """Numbers and their rows without 0, where that is a group by itself."""
    is_zero = np.array([number == 0 for number in numbers], dtype=bool)
    if min(numbers) < 0 or is_zero.all() or counts[is_zero].sum() < max(_SPIKE * counts.sum(), 1):
        return numbers, counts
    return [number for number in numbers if number], counts[~is_zero]


def last_decimal(numbers: Sequence[Decimal]) -> Decimal:
    """Unit of the last decimal that any of the numbers has; 1 for whole ones."""
    return min(Decimal(1), *(Decimal(1).scaleb(int(number.normalize().as_tuple().exponent)) for number in numbers))


def inner_range(numbers: Sequence[Decimal], counts: CountArray) -> tuple[Decimal, Decimal]:
    """Ends of the nine tenths of the rows in the middle. `counts`: rows of each number, shape (numbers,)."""
    order = np.argsort([float(number) for number in numbers])
    below = np.cumsum(counts[order]) / counts.sum()
    low, high = (numbers[int(order[min(int(np.searchsorted(below, q)), len(numbers) - 1)])] for q in (0.05, 0.95))
    return low, high


def round_width(wished: Decimal) -> Decimal:
    """Nearest of 1, 2, 5 times a power of ten."""
    power = Decimal(1).scaleb(wished.adjusted())
    return min((digit * power for digit in (1, 2, 5, 10)), key=lambda width: abs(log(width / wished)))


def _span(days: Sequence[str], counts: CountArray) -> float:
    # Days that all dates would span if they lay as those of the nine tenths of the rows in the middle do.
    low, high = inner_range([Decimal(date.fromisoformat(day[:10]).toordinal()) for day in days], counts)
    return float(high - low) / 0.9
