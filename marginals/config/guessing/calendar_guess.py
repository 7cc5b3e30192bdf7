"""How dates are spelled in a column, and the hierarchy of a column whose dates do not begin with the year.

Prefixes of 2023-11-12 are its month and its year; those of 12.11.2023 would be days of all years.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from marginals.tables.values.dates import date_text

_MOST_YEARS = 200
"""Dates that lie farther apart hold mistakes, or stand-ins for dates that nobody knows."""

_DAYS_BY_DAY = 200
"""Dates within so many days may be published by the day."""

_SPELLED = re.compile(r"([0-9]{1,2})([./-])([0-9]{1,2})\2([0-9]{4})")
_SHORT_YEAR = re.compile(r"[0-9]{1,2}([./-])[0-9]{1,2}\1[0-9]{2}")


def begin_with_year(values: Sequence[str]) -> bool:
    """Whether all values are dates such as 2023-11-12, with or without a time of the day."""
    return all(re.fullmatch(r"[0-9]{4}([-/.])[0-9]{2}\1[0-9]{2}([ T][0-9:.]+Z?)?", value) for value in values)


def likely_units(values: Sequence[str]) -> tuple[str, ...] | None:
    """What dates are cut to, the finest unit first: days where they lie within some months; None where some are no dates,
    or lie too far apart.

    >>> likely_units(["2023-11-12", "2001-02-03"]), likely_units(["12.11.2023", "28.12.2023"]), likely_units(["11/12/2023"])
    (('month', 'quarter', 'year'), ('day', 'month', 'quarter', 'year'), None)
    """
    days = [text[:10] for value in values if (text := date_text(value)) is not None]
    if not days or len(days) < len(values):
        return None
    span = date.fromisoformat(max(days)) - date.fromisoformat(min(days))
    if span.days > _MOST_YEARS * 366:
        return None
    units = ("month", "quarter", "year")
    return ("day", *units) if span.days <= _DAYS_BY_DAY else units


def end_with_year(values: Sequence[str]) -> bool:
    """Whether all values are spelled like 12.11.2023, 12/11/2023, 12-11-2023 or with two digits of the year."""
    return all(map(_SPELLED.fullmatch, values)) or all(map(_SHORT_YEAR.fullmatch, values))


@dataclass(frozen=True)
class Calendar:
    """How dates that end with the year are spelled.

    day: the place of the day, 0 or 1; the month has the other one. padded: with two digits each.
    """

    day: int
    sign: str
    padded: bool

    def spelled(self, when: date) -> str:
        """A date.

        >>> Calendar(0, ".", padded=True).spelled(date(2023, 11, 2))
        '02.11.2023'
        """
        parts = [when.month, when.day] if self.day else [when.day, when.month]
        return self.sign.join([f"{part:02d}" if self.padded else str(part) for part in parts] + [f"{when.year:04d}"])

    def rows(self, first: int, last: int) -> Iterator[tuple[str, str, str, str]]:
        """Rows `day, month, year, *` of a hierarchy file: every day of these years.

        >>> list(Calendar(0, ".", padded=True).rows(2023, 2023))[305]
        ('02.11.2023', '2023-11', '2023', '*')
        """
        when = date(first, 1, 1)
        while when.year <= last:
            yield self.spelled(when), f"{when:%Y-%m}", f"{when:%Y}", "*"
            if when == date.max:
                return
            when += timedelta(days=1)


def calendar_rows(values: Sequence[str]) -> tuple[tuple[str, ...], ...] | str:
    """The hierarchy of dates that end with the year, or, in words that quote none, why there is none.

    It holds all days of the decades that occur, so that it tells nothing of single days.
    """
    rewrite = "rewrite them as YYYY-MM-DD in the table, to be cut to months, then years"
    if not all(map(_SPELLED.fullmatch, values)):
        return f"dates with two digits for the year; {rewrite}"
    fields = [(int(a), int(b), int(year)) for a, _, b, year in (_fields(value) for value in values)]
    signs = {_fields(value)[1] for value in values}
    calendars = [
        calendar
        for calendar in (Calendar(day, sign, padded) for day in (0, 1) for sign in signs for padded in (True, False))
        if _agrees(calendar, values, fields)
    ]
    if "." in signs:
        calendars = [
            calendar for calendar in calendars if calendar.day == 0
        ]  # nobody writes the month first with points
    if {calendar.day for calendar in calendars} == {0, 1}:
        return f"dates of which the day and the month cannot be told apart; {rewrite}"
    if not calendars:
        return f"dates, but some are spelled in another way or are no days of the calendar; {rewrite}"
    years = [year for _, _, year in fields]
    first, last = min(years) // 10 * 10, max(years) // 10 * 10 + 9
    if last - first >= _MOST_YEARS or first < 1:
        return "dates that lie too far apart; leave those empty in the table that stand for unknown ones"
    return tuple(calendars[0].rows(first, last))


def _fields(value: str) -> tuple[str, ...]:
    match = _SPELLED.fullmatch(value)
    return match.groups() if match else ()


def _agrees(calendar: Calendar, values: Sequence[str], fields: Sequence[tuple[int, int, int]]) -> bool:
    for value, (a, b, year) in zip(values, fields):
        day, month = (b, a) if calendar.day else (a, b)
        try:
            if calendar.spelled(date(year, month, day)) != value:
                return False
        except ValueError:
            return False
    return True
