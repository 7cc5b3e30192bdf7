"""Scales: values in an order, and the names of stretches of them."""

import re
from collections.abc import Callable, Iterable, Sequence
from decimal import ROUND_FLOOR, Context, Decimal
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from marginals.tables.intervals import Range, interval, intervals
from marginals.tables.values import (
    DECIMAL_SIGNS,
    NumberFormat,
    date_text,
    dates_of_column,
    has_digit,
    looks_like_a_date,
    number_in,
    number_text,
)
from models.arrays import IndexArray
from models.frozen import frozen

_WHOLE = re.compile(r"(0|-?[1-9][0-9]*)(?:\.0+)?")
_BAND = re.compile(r"(-?[0-9]+)-(-?[0-9]+)")
_EXACT = Context(prec=200)
_FAR = 3  # ratio of the whole numbers in the range to the values


@frozen
class Wording:
    """Names of stretches: one with both ends, those below a value, and those from a value on."""

    between: str
    below: str
    above: str


WHOLE_NUMBERS = Wording("{}-{}", "under {}", "{} and over")
DECIMALS = Wording("{}-<{}", "under {}", "{} and over")
DATES = Wording("{} to {}", "before {}", "{} and later")


@frozen(eq=False)
class Scale:
    """Values in their order. `order`: their codes, lowest first. `ends`: the lower and upper end of each.

    `wording`: None where stretches are named after their values. `is_gapless`: whether the values between the ends were
    fixed without the rows, so that no name tells that a value occurs.
    """

    order: IndexArray
    ends: Sequence[tuple[str, str]] = ()
    wording: Wording | None = None
    is_gapless: bool = False

    @property
    def has_no_gap(self) -> bool:
        """Return whether each value begins where the one below it ends, by its ends."""
        step = 1 if self.wording is WHOLE_NUMBERS else 0
        ends = [(Decimal(low), Decimal(high)) for low, high in self.ends]
        return all(low == high + step for (_, high), (low, _) in pairwise(ends))

    def stretch(self, first: int, last: int) -> str | None:
        """Name of the values from one place to another; None for all, and where stretches are named after their values."""
        is_lowest, is_highest = first == 0, last == len(self.order) - 1
        if self.wording is None or (is_lowest and is_highest):
            return None
        if is_lowest:
            return self.wording.below.format(self.ends[last + 1][0])
        if is_highest:
            return self.wording.above.format(self.ends[first][0])
        return self.wording.between.format(self.ends[first][0], self.ends[last][1])


def whole_numbers(labels: Sequence[str]) -> Scale | None:
    """Scale of whole numbers or bands of them (`37`, `37.0`, `20-24`); None where some label is neither."""
    ends = []
    for label in labels:
        if band := _BAND.fullmatch(label):
            ends.append((band[1], band[2]))
        elif number := _WHOLE.fullmatch(label):
            ends.append((number[1], number[1]))
        else:
            return None
    if len(set(ends)) < len(ends):
        return None  # one number under two labels
    ascending = sorted((int(low), int(high)) for low, high in ends)
    if any(low > high for low, high in ascending) or any(one[1] > two[0] for one, two in pairwise(ascending)):
        return None  # codes such as 98102-5783
    order = np.array(sorted(range(len(ends)), key=lambda value: int(ends[value][0])), dtype=np.intp)
    return Scale(order, [ends[value] for value in order.tolist()], WHOLE_NUMBERS)


def round_numbers(labels: Sequence[str]) -> Scale | None:
    """Scale of numbers with decimals, or of whole ones far apart; None for others, and for one number twice.

    A stretch is named after the roundest numbers between its values and those beside it, to tell little of them.
    """
    numbers = [number for label in labels if (number := number_in(label)) is not None]
    if not numbers or len(set(numbers)) < len(labels):
        return None
    are_whole = all(number == number.to_integral_value() for number in numbers)
    if are_whole and max(numbers) - min(numbers) + 1 <= _FAR * len(numbers):
        return None
    order = sorted(range(len(numbers)), key=lambda value: numbers[value])
    cuts = [number_text(_roundest(numbers[low], numbers[high])) for low, high in pairwise(order)]
    return Scale(np.array(order, dtype=np.intp), list(zip(["", *cuts], [*cuts, ""])), DECIMALS)


def _roundest(low: Decimal, high: Decimal) -> Decimal:
    # The number with the fewest digits above one and at most another, of equals the highest: 9 of 8.97 and 9.4.
    if low < 0 <= high:
        return Decimal(0)
    place = max(low.adjusted(), high.adjusted()) + 1
    while True:
        rounded = high.quantize(Decimal(1).scaleb(place), ROUND_FLOOR, _EXACT)
        if rounded > low:
            return rounded
        place -= 1


def in_given_order(labels: Sequence[str], order: Sequence[str]) -> Scale:
    """Scale of values in an order that is given for them."""
    place = {label: number for number, label in enumerate(order)}
    return Scale(np.array(sorted(range(len(labels)), key=lambda code: place[labels[code]]), dtype=np.intp))


# The order of values that are texts: decimals, bands of numbers, dates and times in theirs, all others as texts.
#
# The kind of order depends on all values together, and only on values that are published whenever their order is.

Place: TypeAlias = tuple[Any, ...]  # of a value among others of its kind; places can be compared
_INFINITY = Decimal("Infinity")


def in_order(values: Iterable[str]) -> list[str]:
    """Sort values; where two have the same place, as texts. Words among numbers stand at the end."""
    texts = sorted(values)
    if (natural := in_natural_order(texts)) is not None:
        return natural
    if (numbers := NumberFormat.of(texts)) is None:
        return texts
    return sorted(texts, key=lambda text: _INFINITY if (number := numbers.number(text)) is None else number)


def in_natural_order(values: Iterable[str]) -> list[str] | None:
    """Sort values in the order of numbers, dates, times or bands; None for other texts."""
    _, placed = _placed(values)
    return None if placed is None else [text for _, text in placed]


def known_order(values: Iterable[str]) -> list[str] | None:
    """Sort values, lowest first, if each is a number, date, time or band with its own place, and no two overlap."""
    texts = sorted(values)
    if len(texts) < 2:
        return texts
    kind, placed = _placed(texts)
    if placed is None or (kind is _of_bands and placed[-1][0][0] == _INFINITY):
        return None
    neighbours = pairwise(place for place, _ in placed)
    are_apart = all(low < high and (kind is not _of_bands or low[1] <= high[0]) for low, high in neighbours)
    return [text for _, text in placed] if are_apart else None


def _placed(values: Iterable[str]) -> "tuple[_Kind | None, list[tuple[Place, str]] | None]":
    texts = sorted(values)
    for kind in _KINDS:
        if (places := kind(texts)) is not None:
            return kind, sorted(zip(places, texts))
    return None, None


def _of_numbers(texts: Sequence[str]) -> list[Place] | None:
    form = next((form for sign in DECIMAL_SIGNS if (form := NumberFormat.of(texts, sign))), None)
    places: list[Place] = [(number,) for text in texts if form and (number := form.number(text)) is not None]
    return places if form and len(places) == len(texts) else None


_GLANCE = 100  # first texts, which include a band where all are bands


def _of_bands(texts: Sequence[str]) -> list[Place] | None:
    if len(texts) > _GLANCE and not any(map(interval, texts[:_GLANCE])):
        return None
    ranges = intervals(texts)
    bands = sum(numbers is not None and not numbers.is_point for numbers in ranges)
    if bands < 2 or any(numbers is None and has_digit(text) for numbers, text in zip(ranges, texts)):
        return None
    return [(_INFINITY, _INFINITY) if numbers is None else (numbers.low, numbers.high) for numbers in ranges]


_TIME_OF_DAY = re.compile(r"([0-9]{1,3}):([0-9]{2})(?::([0-9]{2}(?:\.[0-9]+)?))?")


def _of_dates(texts: Sequence[str]) -> list[Place] | None:
    # As local time, so that no zone puts one day before another.
    whens = [(when,) for text in texts if (when := date_text(text)) is not None]
    spelled = dates_of_column([text.strip() for text in texts]) if len(whens) < len(texts) else {}
    return [(spelled[text.strip()],) for text in texts] if spelled else whens if 0 < len(whens) == len(texts) else None


def _of_times(texts: Sequence[str]) -> list[Place] | None:
    times = [match.groups("0") for text in texts if (match := _TIME_OF_DAY.fullmatch(text.strip()))]
    return [tuple(map(Decimal, time)) for time in times] if times and len(times) == len(texts) else None


_Kind: TypeAlias = Callable[[Sequence[str]], list[Place] | None]
_KINDS: tuple[_Kind, ...] = (_of_numbers, _of_dates, _of_times, _of_bands)


def is_measured(text: str) -> bool:
    """Return whether a text looks like a number, an amount, a date or a time of the day, even if it is not readable."""
    plain = text.strip()
    if date_text(plain) is not None or looks_like_a_date(plain) or _TIME_OF_DAY.fullmatch(plain):
        return True
    return number_in(plain, ",") is not None or ((numbers := Range.of(plain)) is not None and numbers.is_point)


_MONTH = (
    "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mär|mai|okt|dez|fév|fev|avr|aoû|aou|déc|ene|abr|ago|dic|gen|mag|giu|lug"
    "|set|ott|out"
)
_SPREADSHEET_DATE = re.compile(
    rf"(?i)[0-9]{{1,4}}[-./ ]+(?:{_MONTH})[^\W\d]*\.?(?:[-./ ]+[0-9]{{2,4}})?|(?:{_MONTH})[^\W\d]*\.?[-./ ]+[0-9]{{1,4}}"
)


def dates_among_bands(values: Iterable[str]) -> int:
    """Return how many values are dates beside bands: a spreadsheet makes 5 September of 5-9."""
    texts = list(values)
    bands = sum(numbers is not None and not numbers.is_point for numbers in map(interval, texts))
    dates = sum(_SPREADSHEET_DATE.fullmatch(text.strip()) is not None or looks_like_a_date(text) for text in texts)
    return dates if bands > 1 and dates < len(texts) - dates else 0
