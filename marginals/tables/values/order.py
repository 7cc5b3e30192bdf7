"""The order of values that are texts: decimals, bands of numbers, dates and times in theirs, all others as texts.

Whole numbers without levels stay in the order of texts, so that releases of tables with them stay the same, byte for byte:
ties between collections are broken by the order of values. Which order it is depends on all values together, and only on
values that are published whenever their order is.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from decimal import Decimal
from itertools import takewhile
from typing import TypeAlias

from marginals.tables.values.numbers import number_in

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


MOST_CONSECUTIVE = 10_000
"""Whole numbers that are further apart have no single values between them."""


def consecutive(values: Iterable[str]) -> list[str] | None:
    """All whole numbers from the lowest to the highest of these; None where some is spelled otherwise, and for too many.

    >>> consecutive(["9", "12"]), consecutive(["09", "12"]), consecutive(["1", "50000"])
    (['9', '10', '11', '12'], None, None)
    """
    texts = list(values)
    if not texts or not all(_PLAIN_WHOLE.fullmatch(text) for text in texts):
        return None
    numbers = list(map(int, texts))
    low, high = min(numbers), max(numbers)
    return list(map(str, range(low, high + 1))) if high - low < MOST_CONSECUTIVE else None


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
_TIME = re.compile(r"([0-9]{1,3}):([0-9]{2})(?::([0-9]{2}(?:\.[0-9]+)?))?")


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
    found = _all(_TIME, texts)
    return [tuple(Decimal(part or 0) for part in each.groups()) for each in found] if found else None


def _all(form: re.Pattern[str], texts: Sequence[str]) -> list[re.Match[str]]:
    """The matches of all texts; none where one does not match."""
    found = [match for text in texts if (match := form.fullmatch(text.strip()))]
    return found if len(found) == len(texts) else []


_KINDS: tuple[Callable[[Sequence[str]], list[Place] | None], ...] = (_of_numbers, _of_dates, _of_times, _of_bands)
