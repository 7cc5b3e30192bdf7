"""Sensitive numbers and dates are published in groups, never value by value, unless the steward wishes that.

Somebody's exact pay tells who they are to whoever knows it, and a class of ten people with ten different pays is diverse by
count though all may earn nearly the same. So of a sensitive column whose values are numbers or dates the base values of the
table are bands: the first of the intervals or units that are given, or such as are chosen here. The single values are then
no level of the attribute at all, whatever is searched for, and levels are counted from these bands on.
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

CATEGORIES = 11
"""Most different values of sensitive numbers or dates that are published one by one: so few are categories, as the answers
from 0 to 10.
"""

_BANDS = 12
"""About so many bands hold nine tenths of the rows."""

_SPIKE = 0.05
"""Share of the rows that have a number, at least, where it is a group by itself."""

_OF_ITS_BAND = 2
"""Times as many rows as all other numbers of its band a number has where it is a group by itself."""

_MUCH, _MOST_UNITS = 3, 120
"""Times as wide as they are given the bands of a fitted ladder may have to be, and units between the first and the last date
that it may have, before others are taken. The same table some months later has the same bands."""

_DAYS = {"week": 7, "month": 30, "quarter": 91, "year": 365, "decade": 3652}


def is_in_groups(attribute: Attribute) -> bool:
    """Whether the single values of an attribute are never published, but the bands that are given for them.

    >>> is_in_groups(Attribute("sensitive", intervals=[5])), is_in_groups(Attribute("quasi-identifier", intervals=[5]))
    (True, False)
    """
    bands = bool(attribute.intervals or attribute.dates)
    return attribute.role is Role.SENSITIVE and bands and not attribute.single_values


def in_groups(
    attribute: Attribute, values: Sequence[str], counts: CountArray, numbers: NumberFormat | None = POINT
) -> Attribute:
    """The attribute, with bands for its values where it is sensitive, these are numbers or dates, and none are given.

    values: texts of the table, each once. counts: rows of each, shape (values,). numbers: how they are written as numbers,
    None for words and codes. Numbers that are given a hierarchy, prefixes, or words for at least half of them are names, and
    stay as they are; so do at most ten different ones. The bands have round ends, and rare ones are merged
    (`ladder = "fitted"`). Much narrower bands with which a fitted ladder is said to begin are widened to these; with
    `ladder = "given"` they stay.

    Raises InputError where at least half of the values are numbers or dates and others are not, or not as they can be read.

    >>> pay = [str(1000 + 37 * row) for row in range(500)]
    >>> grouped = in_groups(Attribute("sensitive"), pay, np.ones(500, dtype=np.int64))
    >>> grouped.intervals, grouped.ladder
    ((1000,), 'fitted')
    """
    if attribute.role is not Role.SENSITIVE or attribute.single_values:
        return attribute
    if attribute.hierarchy is not None or attribute.prefixes or (is_in_groups(attribute) and not attribute.is_fitted):
        return attribute
    places = [place for place, text in enumerate(values) if not (attribute.counts_missing and text == MISSING)]
    texts, sizes = [values[place] for place in places], counts[places]
    if len(texts) <= CATEGORIES or 2 * sum(text in attribute.values for text in texts) >= len(texts):
        return attribute
    read = [] if numbers is None else [number for text in texts if (number := numbers.number(text)) is not None]
    if len(read) == len(texts) and not attribute.dates:
        return _in_bands(attribute, read, sizes)
    days = [day for text in texts if (day := date_text(text)) is not None]
    if len(days) == len(texts) and not attribute.intervals:
        return _in_units(attribute, days, sizes)
    if is_in_groups(attribute):
        return attribute  # which value is none of their kind is said where they are read
    if 2 * sum(map(is_measured, texts)) >= len(texts):
        raise InputError(
            "is sensitive, and most of its values look like numbers or dates, which are published in groups, but some "
            "cannot be read as such: rewrite them in the table, list those that stand for no value under data.missing, or "
            "give the attribute a hierarchy; single_values = true publishes each value as it is"
        )
    return attribute


def _in_bands(attribute: Attribute, numbers: Sequence[Decimal], counts: CountArray) -> Attribute:
    widths, start = band_width(numbers, counts), bands_begin(numbers, counts)
    if attribute.intervals and _MUCH * attribute.intervals[0] >= widths[0]:
        return attribute
    ladder = attribute.ladder if attribute.is_fitted else "fitted"
    return replace(
        attribute, intervals=widths, start=start, ladder=ladder, apart=heaps(numbers, counts, widths[0], start)
    )


def _in_units(attribute: Attribute, days: Sequence[str], counts: CountArray) -> Attribute:
    units = [unit for unit in attribute.dates if _DAYS.get(unit, 1) * _MOST_UNITS >= _span(days, counts)]
    ladder = attribute.ladder if attribute.is_fitted else "fitted"
    return replace(attribute, dates=tuple(units or [date_unit(days, counts)]), ladder=ladder)


def band_width(numbers: Sequence[Decimal], counts: CountArray) -> tuple[int] | tuple[Decimal]:
    """The one width of bands of which about a dozen hold nine tenths of the rows: 1, 2 or 5 times a power of ten.

    No band is a single value, but 0 where it is apart (`bands_begin`), which is then left out of account: whole numbers have
    bands of 2 at least, others of twice their last decimal. counts: rows of each number, shape (numbers,).

    >>> band_width([Decimal(n) for n in range(30)], np.ones(30, dtype=np.int64))
    (2,)
    >>> band_width([Decimal(n) / 10 for n in range(5000)], np.ones(5000, dtype=np.int64))
    (Decimal('5E+1'),)
    """
    unit = last_decimal(numbers)
    numbers, counts = without_spike(numbers, counts)
    low, high = inner_range(numbers, counts)
    span = (high - low) or (max(numbers) - min(numbers))
    width = max(round_width(max(span / _BANDS, unit)), 2 * unit)
    are_whole = all(number == number.to_integral_value() for number in numbers)
    return (int(width),) if are_whole else (width,)


def bands_begin(numbers: Sequence[Decimal], counts: CountArray) -> int | Decimal:
    """Where bands of numbers are counted from: 0, or the first number above it where 0 is a group by itself.

    It is one where none is below it and a twentieth of the rows have it: to have none of something is another thing than to
    have a little, and who reads a band takes its numbers to be about equally frequent. counts: rows of each number.

    >>> bands_begin([Decimal(0), Decimal(7), Decimal(300)], np.array([60, 30, 10]))
    1
    >>> bands_begin([Decimal(0), Decimal("0.5"), Decimal(3)], np.array([4, 90, 6]))
    0
    """
    if len(without_spike(numbers, counts)[0]) == len(numbers):
        return 0
    unit = last_decimal(numbers)
    return int(unit) if unit == 1 else unit


def heaps(
    numbers: Sequence[Decimal], counts: CountArray, width: int | Decimal, start: int | Decimal
) -> tuple[int, ...] | tuple[Decimal, ...]:
    """The numbers that are groups by themselves: 40 hours a week, 12 years of school; 0 where others are below it.

    A twentieth of the rows have such a one, twice as many as all others of its band, of which there are some: who reads the
    band would take all of them to be about equally frequent. counts: rows of each number, shape (numbers,).

    >>> heaps([Decimal(n) for n in range(30, 50)], np.array([1] * 10 + [60] + [2] * 9), 5, 0)
    (40,)
    >>> heaps([Decimal(n) for n in range(-9, 10)], np.array([1] * 9 + [60] + [1] * 9), 5, 0)
    (0,)
    """
    band = np.array([int((number - start) // Decimal(width)) for number in numbers], dtype=object)
    of_band = dict.fromkeys(band.tolist(), 0)
    for number, rows in zip(band.tolist(), counts.tolist()):
        of_band[number] += rows
    enough = _SPIKE * counts.sum()
    result = sorted(
        number
        for number, band_number, rows in zip(numbers, band.tolist(), counts.tolist())
        if rows >= max(enough, _OF_ITS_BAND * (of_band[band_number] - rows))
        and of_band[band_number] > rows
        and (number or min(numbers) < 0)
    )
    return tuple(map(int, result)) if isinstance(width, int) else tuple(result)


def without_spike(numbers: Sequence[Decimal], counts: CountArray) -> tuple[Sequence[Decimal], CountArray]:
    """The numbers and their rows without 0, where that is a group by itself."""
    is_zero = np.array([number == 0 for number in numbers], dtype=bool)
    if min(numbers) < 0 or is_zero.all() or counts[is_zero].sum() < max(_SPIKE * counts.sum(), 1):
        return numbers, counts
    return [number for number in numbers if number], counts[~is_zero]


def last_decimal(numbers: Sequence[Decimal]) -> Decimal:
    """The unit of the last decimal that any of the numbers has; 1 for whole ones."""
    return min(Decimal(1), *(Decimal(1).scaleb(int(number.normalize().as_tuple().exponent)) for number in numbers))


def inner_range(numbers: Sequence[Decimal], counts: CountArray) -> tuple[Decimal, Decimal]:
    """The ends of the nine tenths of the rows in the middle. counts: rows of each number, shape (numbers,)."""
    order = np.argsort([float(number) for number in numbers])
    below = np.cumsum(counts[order]) / counts.sum()
    low, high = (numbers[int(order[min(int(np.searchsorted(below, q)), len(numbers) - 1)])] for q in (0.05, 0.95))
    return low, high


def round_width(wished: Decimal) -> Decimal:
    """The nearest of 1, 2, 5 times a power of ten.

    >>> round_width(Decimal(1600))
    Decimal('2E+3')
    """
    power = Decimal(1).scaleb(wished.adjusted())
    return min((digit * power for digit in (1, 2, 5, 10)), key=lambda width: abs(log(width / wished)))


def date_unit(days: Sequence[str], counts: CountArray) -> str:
    """The longest unit of which there are at least a dozen in the time of most rows; a week where all are short.

    days: as `date_text` gives them. counts: rows of each, shape (days,).

    >>> date_unit(["2023-11-12", "2024-12-28"], np.array([5, 5]))
    'month'
    >>> date_unit(["1950-01-01", "2001-06-30"], np.array([5, 5]))
    'year'
    """
    span = _span(days, counts)
    return max((unit for unit, length in _DAYS.items() if 12 * length <= span), key=_DAYS.__getitem__, default="week")


def _span(days: Sequence[str], counts: CountArray) -> float:
    """Days that all dates would span if they lay as those of the nine tenths of the rows in the middle do."""
    low, high = inner_range([Decimal(date.fromisoformat(day[:10]).toordinal()) for day in days], counts)
    return float(high - low) / 0.9
