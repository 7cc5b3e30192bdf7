"""What the text of a value says: which number, which date or time, and where it stands among others."""

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime, timedelta
from decimal import ROUND_HALF_EVEN, Context, Decimal
from itertools import pairwise, takewhile
from typing import Final, TypeAlias

from models.errors import HierarchyError
from models.tables.hierarchy import SUPPRESSED, Hierarchy

_DIGITS = 15
"""Significant digits that a floating-point number of eight bytes surely keeps, of any decimal number (DBL_DIG of C)."""

_ROUNDED = Context(prec=_DIGITS, rounding=ROUND_HALF_EVEN)
_EXACT = Context(prec=200)
_NUMBER = {
    sign: re.compile(rf"[-+]?(?:[0-9]{{1,60}}(?:{sign}[0-9]{{0,60}})?|{sign}[0-9]{{1,60}})(?:[eE][-+]?[0-9]{{1,2}})?")
    for sign in (r"\.", ",")
}

DECIMAL_SIGNS = (".", ",")


def number_in(text: str, decimal: str = ".") -> Decimal | None:
    """The number that a text is, None where it is none. decimal: the sign before its fraction.

    A number with a fraction is read to fifteen significant digits, so that 0.30000000000000004, which computers make of
    0.1 + 0.2, is 0.3; whole numbers are read as they are.

    >>> number_in("163.0"), number_in("18,5", ","), number_in("1e3"), number_in("0.30000000000000004"), number_in("-")
    (Decimal('163'), Decimal('18.5'), Decimal('1E+3'), Decimal('0.3'), None)
    """
    if not _NUMBER[r"\." if decimal == "." else ","].fullmatch(text := text.strip()):
        return None
    number = Decimal(text.replace(",", "."))
    if number != number.to_integral_value():
        number = _ROUNDED.plus(number)
    return number.normalize(_EXACT) if number else Decimal(0)


def number_text(number: Decimal) -> str:
    """The text of a number: without exponent, or zeros that say nothing.

    >>> [number_text(Decimal(text)) for text in ("163.0", "1E+3", "-0.50", "-0")]
    ['163', '1000', '-0.5', '0']
    """
    written = format(number, "f")
    written = written.rstrip("0").rstrip(".") if "." in written else written
    return "0" if written == "-0" else written


# The order of values that are texts: decimals, bands of numbers, dates and times in theirs, all others as texts.
#
# Whole numbers without levels stay in the order of texts, so that releases of tables with them stay the same, byte for
# byte: ties between collections are broken by the order of values. Which order it is depends on all values together,
# and only on values that are published whenever their order is.


Place: TypeAlias = tuple[Decimal, ...]
"""Of a value among others of its kind."""


def in_order(values: Iterable[str]) -> list[str]:
    """The values in their order; where two have the same place, as texts.

    Of bands ("18-24", "<30k", "65 and over") the lower end counts, then the upper one; words among them stand at the end.

    >>> in_order(["65+", "5-17", "18-64", "unknown", "<5"])
    ['<5', '5-17', '18-64', '65+', 'unknown']
    >>> in_order(["10.5", "9.5"]), in_order(["01.02.2024", "28.11.2023"]), in_order(["10 a", "9 b"])
    (['9.5', '10.5'], ['28.11.2023', '01.02.2024'], ['10 a', '9 b'])
    """
    texts = sorted(values)
    return texts if all(map(_WHOLE.fullmatch, texts)) else in_natural_order(texts) or texts


def in_natural_order(values: Iterable[str]) -> list[str] | None:
    """The values in the order that numbers, dates, times or bands have; None for other texts.

    >>> in_natural_order(["10", "9"]), in_natural_order(["cook", "clerk"])
    (['9', '10'], None)
    """
    texts = sorted(values)
    for kind in _KINDS:
        places = kind(texts)
        if places is not None:
            return [text for _, text in sorted(zip(places, texts))]
    return None


def known_order(values: Iterable[str]) -> list[str] | None:
    """The values lowest first, where each is a number, date, time or band of numbers that has its own place; None elsewhere.

    Bands that overlap have none, nor have words among them, or one number in two spellings.

    >>> known_order(["100", "20", "3"]), known_order(["30 and over", "under 20", "20-29"])
    (['3', '20', '100'], ['under 20', '20-29', '30 and over'])
    >>> known_order(["mild", "severe"]), known_order(["0-9", "5-14"]), known_order(["1", "1.0"]), known_order(["1", "?"])
    (None, None, None, None)
    """
    texts = sorted(values)
    if len(texts) < 2:
        return texts
    for kind in _KINDS:
        if (places := kind(texts)) is not None:
            ordered = sorted(zip(places, texts))
            are_apart = all(_is_below(low, high, kind) for (low, _), (high, _) in pairwise(ordered))
            has_words = kind is _of_bands and any(place[0] == _INFINITY for place in places)
            return [text for _, text in ordered] if are_apart and not has_words else None
    return None


def _is_below(low: Place, high: Place, kind: Callable[[Sequence[str]], list[Place] | None]) -> bool:
    """Whether one place ends where another begins, at the latest."""
    return low < high and (kind is not _of_bands or low[1] <= high[0])


MOST_CONSECUTIVE = 10_000
"""Whole numbers that are further apart have no single values between them."""


def consecutive(values: Iterable[str]) -> list[str] | None:
    """All whole numbers from the lowest to the highest of these; None where some is spelled otherwise, and for too many.

    >>> consecutive(["9", "12"]), consecutive(["09", "12"]), consecutive(["1", "50000"])
    (['9', '10', '11', '12'], None, None)
    """
    texts = list(values)
    if not texts or not all(map(is_plain_whole, texts)):
        return None
    numbers = list(map(int, texts))
    low, high = min(numbers), max(numbers)
    return list(map(str, range(low, high + 1))) if high - low < MOST_CONSECUTIVE else None


def is_plain_whole(text: str) -> bool:
    """Whether a text is a whole number of at most ten digits in the one spelling that has no more than it needs.

    >>> is_plain_whole("10"), is_plain_whole("09"), is_plain_whole("10.0")
    (True, False, False)
    """
    return _PLAIN_WHOLE.fullmatch(text) is not None


_WHOLE = re.compile(r"-?[0-9]+")
_PLAIN_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,9}")


def _of_numbers(texts: Sequence[str]) -> list[Place] | None:
    for sign in (".", ","):
        numbers = takewhile(lambda number: number is not None, (number_in(text, sign) for text in texts))
        places: list[Place] = [(number,) for number in numbers if number is not None]
        if len(places) == len(texts):
            return places
    return None


# Texts, compiled where a value is looked at: that takes 8 ms, which who asks a release need not wait for.
_AMOUNT = r"[$€£]? ?([-+]?(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?) ?([kKmM]?)(?: ?(?:[$€£%]|years?|yrs?))?"
_BETWEEN = rf"[\[(]?{_AMOUNT}(?: ?[-\u2013] ?<?| to | ?\.\. ?<?|[,;] ?){_AMOUNT}[\])]?"
_BELOW = (
    rf"(?:<=?|≤|under|below|less than|up to|fewer than) ?{_AMOUNT}|{_AMOUNT} "
    r"(?:or|and) (?:under|below|less|younger|fewer)"
)
_ABOVE = rf"(>=?|≥|over|above|more than|from) ?{_AMOUNT}|{_AMOUNT}(?: ?\+| (?:or|and) (?:over|above|more|older|up))"
_FACTORS = {"": 1, "k": 1000, "m": 1_000_000}
_INFINITY = Decimal("Infinity")


def _of_bands(texts: Sequence[str]) -> list[Place] | None:
    """Of bands and numbers, two bands at least; other texts among them may be words only."""
    places = [_band(text.strip().lower()) for text in texts]
    words = [place is None and not re.search(r"[0-9]", text) for place, text in zip(places, texts)]
    bands = sum(place is not None and place[0] != place[1] for place in places)
    if bands < 2 or not all(place is not None or is_word for place, is_word in zip(places, words)):
        return None
    return [(_INFINITY, _INFINITY) if place is None else place for place in places]


def _band(text: str) -> tuple[Decimal, Decimal] | None:
    """The ends of a band of numbers, or of a number both times itself."""

    def amounts(match: re.Match[str]) -> list[Decimal]:
        found = [group for group in match.groups() if group is not None and group not in (">", ">=", "≥")]
        pairs = [(number, unit) for number, unit in zip(found, found[1:]) if re.search(r"[0-9]", number)]
        return [Decimal(number.replace(",", "")) * _FACTORS[unit] for number, unit in pairs]

    if match := re.fullmatch(_AMOUNT, text):
        [number] = amounts(match)
        return number, number
    if match := re.fullmatch(_BETWEEN, text):
        low, high = amounts(match)
        # Of 30-40k both are thousands.
        low = low * _FACTORS[match[4]] if match[4] and not match[2] and low < 1000 else low
        return (low, high) if low <= high else None
    if match := re.fullmatch(_BELOW, text):
        return -_INFINITY, amounts(match)[0]
    if match := re.fullmatch(_ABOVE, text):
        return amounts(match)[0], _INFINITY
    return None


_TIMES = r"(?:[ T]([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}(?:\.[0-9]+)?))?)?"
_DAY = re.compile(rf"([0-9]{{1,2}})([./-])([0-9]{{1,2}})\2([0-9]{{4}}){_TIMES}")
_YEAR_FIRST = re.compile(rf"([0-9]{{4}})([-/.])([0-9]{{1,2}})\2([0-9]{{1,2}}){_TIMES}")
_TIME_OF_DAY = re.compile(r"([0-9]{1,3}):([0-9]{2})(?::([0-9]{2}(?:\.[0-9]+)?))?")


def _of_dates(texts: Sequence[str]) -> list[Place] | None:
    """Of dates that end or begin with the year, with times or without; where the month is cannot be in doubt."""
    if found := _all(_YEAR_FIRST, texts):
        return _days([(each[1], each[3], each[4], each.groups()[4:]) for each in found])
    if not (found := _all(_DAY, texts)):
        return None
    day_first = [(each[4], each[3], each[1], each.groups()[4:]) for each in found]
    month_first = [(each[4], each[1], each[3], each.groups()[4:]) for each in found]
    if all(each[2] == "." for each in found):  # nobody writes the month first with points
        return _days(day_first)
    one, other = _days(day_first), _days(month_first)
    return (one or other) if one is None or other is None else None


def _days(parts: Sequence[tuple[str, str, str, Sequence[str | None]]]) -> list[Place] | None:
    """The places of days, by year, month, day and the parts of the time; None where one is no day."""
    try:
        return [
            (Decimal(date(int(year), int(month), int(day)).toordinal()), *(Decimal(part or 0) for part in time))
            for year, month, day, time in parts
        ]
    except ValueError:
        return None


def _of_times(texts: Sequence[str]) -> list[Place] | None:
    found = _all(_TIME_OF_DAY, texts)
    return [tuple(Decimal(part or 0) for part in each.groups()) for each in found] if found else None


def _all(form: re.Pattern[str], texts: Sequence[str]) -> list[re.Match[str]]:
    """The matches of all texts; none where one does not match."""
    found = [match for text in texts if (match := form.fullmatch(text.strip()))]
    return found if len(found) == len(texts) else []


_KINDS: tuple[Callable[[Sequence[str]], list[Place] | None], ...] = (_of_numbers, _of_dates, _of_times, _of_bands)


def is_measured(text: str) -> bool:
    """Whether a text looks like a number, an amount, a date or a time of the day, be it readable as one or not.

    >>> [text for text in ("$1,234", "12/31/2023", "14:30", "refused", "18-24", "5 kg") if is_measured(text)]
    ['$1,234', '12/31/2023', '14:30']
    """
    plain = text.strip()
    if number_in(plain) is not None or number_in(plain, ",") is not None or date_text(plain) is not None:
        return True
    if any(form.fullmatch(plain) for form in (_DAY, _YEAR_FIRST, _TIME_OF_DAY)):
        return True
    return (band := _band(plain.lower())) is not None and band[0] == band[1]


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
