"""Dates and times in tables, and the hierarchies of days, weeks, months, quarters, years and decades over them."""

import re
from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta
from typing import Final

from models.errors import HierarchyError
from models.tables.hierarchy import SUPPRESSED, Hierarchy

UNITS: Final = ("day", "week", "month", "quarter", "year", "decade")
"""What dates can be cut to. Weeks are those of ISO 8601, which begin on Mondays; they lie in no month and no year."""

_MOST_DAYS = 100_000
"""Days of longer times are not filled up with those that do not occur."""

_ENDS_WITH_YEAR = re.compile(r"([0-9]{1,2})\.([0-9]{1,2})\.([0-9]{4})(.*)", re.DOTALL)
_BEGINS_WITH_YEAR = re.compile(r"([0-9]{4})([-/.])([0-9]{1,2})\2([0-9]{1,2})(.*)", re.DOTALL)
_TIME = re.compile(
    r"[ T]([0-9]{1,2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?(?: ?(?:Z|UTC|[-+][0-9]{2}(?::?[0-9]{2})?))?"
)


def check_units(units: Sequence[str]) -> None:
    """Raise HierarchyError unless the units are some of UNITS, each one made up of whole ones before it.

    >>> check_units(["day", "month", "year"])
    """
    if unknown := [unit for unit in units if unit not in UNITS]:
        raise HierarchyError(f"dates are cut to {', '.join(UNITS)}, not to {unknown[0]!r}")
    places = [UNITS.index(unit) for unit in units]
    if places != sorted(set(places)):
        raise HierarchyError(f"each unit of dates must be longer than the one before, got {list(units)}")
    if "week" in units and units[-1] != "week":
        raise HierarchyError("weeks lie in no month and no year, so no other unit can follow them")


def date_text(text: str) -> str | None:
    """The one text of a date or time: 2023-11-02, or 2023-11-02 14:30:00; None for what is none.

    Dates begin with the year, or are spelled with points and then end with it, the day first. Zones are left out.

    >>> [date_text(text) for text in ("2.11.2023", "2023-11-02T14:30Z", "2023/11/02 00:00", "11/2/2023", "2023-11-31")]
    ['2023-11-02', '2023-11-02 14:30:00', '2023-11-02', None, None]
    """
    text = text.strip()
    if match := _BEGINS_WITH_YEAR.fullmatch(text):
        year, _, month, day, rest = match.groups()
    elif match := _ENDS_WITH_YEAR.fullmatch(text):
        day, month, year, rest = match.groups()
    else:
        return None
    time = _TIME.fullmatch(rest) if rest else None
    if rest and time is None:
        return None
    hour, minute, second, fraction = ("0", "0", "0", "") if time is None else (part or "0" for part in time.groups())
    try:
        when = datetime(int(year), int(month), int(day), int(hour), int(minute), int(second))
    except ValueError:
        return None
    ending = f".{fraction.rstrip('0')}" if fraction.strip("0") else ""
    return str(when) + ending if ending else str(when).removesuffix(" 00:00:00")


def date_hierarchy(values: Iterable[str], units: Sequence[str]) -> Hierarchy:
    """The hierarchy of dates, as `date_text` spells them, cut to ever longer units.

    Where all are days, the base values are all days of the outermost units that the given ones touch, so that the hierarchy
    reveals no more about the data than these; times, and days too far apart, are those given. Raises HierarchyError as
    `check_units` does, and for no value.

    >>> date_hierarchy(["2023-11-12", "2023-12-24 18:00:00"], ["month", "quarter", "year"]).rows()[0]
    ('2023-11-12', '2023-11', '2023-Q4', '2023', '*')
    """
    check_units(units)
    given = sorted(set(values))
    if not given or not units:
        raise HierarchyError("dates need at least one unit and one value")
    if all(len(value) == len("2023-11-12") for value in given):
        first, last = (date.fromisoformat(value) for value in (given[0], given[-1]))
        given = list(_filled(first, last, units[-1])) or given
    return Hierarchy.from_rows(
        (value, *(_label(date.fromisoformat(value[:10]), unit) for unit in units), SUPPRESSED) for value in given
    )


def _label(day: date, unit: str) -> str:
    if unit == "decade":
        return f"{day.year // 10:03d}0s"
    if unit == "quarter":
        return f"{day.year:04d}-Q{(day.month + 2) // 3}"
    if unit == "week":
        year, week, _ = day.isocalendar()
        return f"{year:04d}-W{week:02d}"
    return day.isoformat()[: {"day": 10, "month": 7, "year": 4}[unit]]


def _filled(first: date, last: date, unit: str) -> Iterable[str]:
    """All days of the units that two days and those between them lie in; none where these are too many."""
    begin, end = _edge(first, unit, -1), _edge(last, unit, 1)
    if (end - begin).days < _MOST_DAYS:
        for number in range((end - begin).days + 1):
            yield (begin + timedelta(number)).isoformat()


def _edge(day: date, unit: str, step: int) -> date:
    """The first or last day of the unit that a day lies in, as far as the calendar goes."""
    label = _label(day, unit)
    while day not in (date.min, date.max) and _label(day + timedelta(step), unit) == label:
        day += timedelta(step)
    return day
