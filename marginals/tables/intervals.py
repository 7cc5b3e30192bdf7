"""The numbers that labels stand for: `37`, `20-24`, `18.5-<25`, `90+`, `under 30`.

A label reads as numbers only after each base value that its hierarchy puts under it was found among these (design 4.19): a
file that puts 65 under `60-64` would have a range counted wrong and called exact. Codes are no numbers: `98102-5783` runs
backwards, and of `555-1234` and `555-9876` each would lie in the other. Whoever answers a range asks `numbers_of`.
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise
from math import ceil, floor
from typing import NamedTuple

from marginals.errors import InputError
from marginals.tables.values import PLAIN, POINT
from models.tables.hierarchy import MISSING, Hierarchy

_RANGE = re.compile(rf"\s*({PLAIN})\s*(?:[-\u2013\u2014]|\.\.|\bto\b)(<?)\s*({PLAIN})\s*")
_BRACKETED = re.compile(rf"\s*([\[\](])\s*({PLAIN})\s*[,;]\s*({PLAIN})\s*([\[\])])\s*")
_BEYOND = re.compile(rf"\s*(<=|>=|<|>|\u2264|\u2265)\s*({PLAIN})\s*")
_ABOVE = "(?:and|or) (?:over|older|more|above)"
_OPEN = re.compile(rf"\s*({PLAIN})\s*(?:\+| {_ABOVE})\s*")
_UNDER = re.compile(rf"\s*(?:under|below|less than) ({PLAIN})\s*")
_MAY_BE_RANGE = re.compile(r"[-\u2013\u2014,;]|\.\.|\bto\b")
_INFINITY = Decimal("Infinity")


class Range(NamedTuple):
    """Ends of a range of numbers, exactly, and whether each belongs to it."""

    low: Decimal
    high: Decimal
    with_low: bool = True
    with_high: bool = True

    @classmethod
    def of(cls, text: str) -> "Range | None":
        """Return the range that a text is: two numbers, of which a < leaves out the second, or one behind a sign.

        Between two numbers stands a hyphen, a dash, `..` or `to`.

        >>> Range.of("20-39")
        Range(low=Decimal('20'), high=Decimal('39'), with_low=True, with_high=True)
        >>> Range.of("18.5-<25") == Range.of("18.5..<25"), Range.of("young")
        (True, None)
        >>> Range.of("20\u201339") == Range.of("20 to 39") == Range.of("20-39")
        True
        """
        if match := _RANGE.fullmatch(text):
            return cls(Decimal(match[1]), Decimal(match[3]), True, not match[2])
        if match := _BEYOND.fullmatch(text):
            closed, end = match[1] not in "<>", Decimal(match[2])
            is_below = match[1][0] in "<\u2264"
            return cls(-_INFINITY, end, False, closed) if is_below else cls(end, _INFINITY, closed, False)
        return None

    @property
    def is_empty(self) -> bool:
        """Whether no number lies in it."""
        return self.low > self.high or (self.low == self.high and not (self.with_low and self.with_high))

    def meets(self, other: "Range") -> bool:
        """Whether some number lies in both."""
        low = max((self.low, not self.with_low), (other.low, not other.with_low))
        high = min((self.high, self.with_high), (other.high, other.with_high))
        return not Range(low[0], high[0], not low[1], high[1]).is_empty

    def holds(self, other: "Range") -> bool:
        """Whether all of another one lies in it."""
        low = max((self.low, not self.with_low), (other.low, not other.with_low))
        high = min((self.high, self.with_high), (other.high, other.with_high))
        return (low, high) == ((other.low, not other.with_low), (other.high, other.with_high))

    def share_in(self, other: "Range") -> float:
        """The share of it that lies in another one which it meets: of its whole numbers where these are its ends, else of
        its length; a half where it has no end. 0 only where they share one point of many.

        >>> ages = Range.of("30-39")
        >>> ages.share_in(Range.of(">=35")), ages.share_in(Range.of("<30.5")), Range.of(">=95").share_in(Range.of("90-99"))
        (0.5, 0.1, 0.5)
        """
        if not (self.low.is_finite() and self.high.is_finite()):
            return 0.5
        low, high = max(self.low, other.low), min(self.high, other.high)
        if self.with_high and self.low == self.low.to_integral_value() and self.high == self.high.to_integral_value():
            first, last = ceil(low), floor(high)
            first += low == first and low == other.low and not other.with_low
            last -= high == last and high == other.high and not other.with_high
            if last >= first:
                return (last - first + 1) / (int(self.high) - int(self.low) + 1)
        return float((high - low) / (self.high - self.low))


@lru_cache(maxsize=1 << 14)  # each condition reads all labels of its attribute
def interval(label: str) -> Range | None:
    """The numbers that a label looks like by itself, None where it looks like none.

    Such labels are `37`, `20-24`, `18.5-<25`, `[20, 25[`, `90+`, `90 and over`, `<30`, `under 30`. What a label of a
    hierarchy stands for, `numbers_of` says.
    """
    if (number := POINT.number(label)) is not None:
        return Range(number, number)
    if match := _OPEN.fullmatch(label):
        return Range(Decimal(match[1]), _INFINITY, True, False)
    if match := _UNDER.fullmatch(label):
        return Range(-_INFINITY, Decimal(match[1]), False, False)
    numbers = _looks_like(label)
    return None if numbers is None or numbers.is_empty else numbers


def _looks_like(label: str) -> Range | None:
    """Return the range that a label is written as, which may be empty; brackets may be half-open: `[20, 25[`, `[20, 25)`."""
    if match := _BRACKETED.fullmatch(label):
        return Range(Decimal(match[2]), Decimal(match[3]), match[1] == "[", match[4] == "]")
    return Range.of(label)


_OR_MISSING = f" or {MISSING}"
_AND = re.compile(r", | and (?!(?:over|older|more|above)\b)")


@lru_cache(maxsize=4096)  # each condition reads all labels of its attribute
def named_numbers(label: str) -> Range | None:
    """From the least to the largest number that a label names, of several, too; None where it names what is none.

    >>> named_numbers("17, 19 or missing") == Range.of("17-19"), named_numbers("other age"), named_numbers("missing")
    (True, None, None)
    >>> named_numbers("[18, 25[, [25, 35[") == interval("[18, 35[") == Range.of("18-<35")
    True
    """
    together = _BRACKETED.sub(lambda match: match[0].replace(", ", ","), label.removesuffix(_OR_MISSING))
    read = [interval(part) for part in _AND.split(together)]
    known = [numbers for numbers in read if numbers is not None]
    if len(known) < len(read):
        return None
    least = min(known, key=lambda numbers: (numbers.low, not numbers.with_low))
    most = max(known, key=lambda numbers: (numbers.high, numbers.with_high))
    return Range(least.low, most.high, least.with_low, most.with_high)


def names_missing(label: str) -> bool:
    """Whether rows without a value are among those that a label names."""
    return label == MISSING or label.endswith(_OR_MISSING)


_Read = list[list[Range | None]]
"""For each level below `*` what each label reads as by itself."""


def numbers_of(hierarchy: Hierarchy, level: int = 0) -> list[Range | None]:
    """For each value of a level the numbers that its label stands for, None for one that is a name.

    All are names where the hierarchy says so, where a label does not hold what is under it, and where the base values are
    codes.

    >>> ages = Hierarchy.from_rows([("64", "60-64", "*"), ("65", "65+", "*")])
    >>> numbers_of(ages, 1)[0] == Range(Decimal(60), Decimal(64))
    True
    >>> numbers_of(Hierarchy.from_rows([("64", "60-64", "*"), ("65", "60-64", "*")]), 0)
    [None, None]
    """
    if level == hierarchy.height or hierarchy.has_names or are_names(hierarchy):
        return [None] * hierarchy.size(level)
    return list(map(interval, hierarchy.labels[level]))


def are_names(hierarchy: Hierarchy) -> bool:
    """Whether labels cannot stand for the numbers that they look like.

    >>> are_names(Hierarchy.flat(["98102", "98102-5783"])), are_names(Hierarchy.flat(["555-1234", "555-9876"]))
    (True, True)
    >>> are_names(Hierarchy.from_rows([("112", "11", "*"), ("113", "11", "*")])), are_names(Hierarchy.flat(["0-9", "10+"]))
    (True, False)
    """
    if hierarchy.height < 2 and not any(map(_MAY_BE_RANGE.search, hierarchy.labels[0])):
        return False
    read = _read(hierarchy)
    return _are_codes(hierarchy, read) or next(_outside(hierarchy, read), None) is not None


def check_intervals(hierarchy: Hierarchy) -> None:
    """Raise InputError, naming rows, where a label reads as an interval and numbers are under it that it does not hold."""
    rows = misplaced(hierarchy)
    if not rows:
        return
    examples = "; ".join(f"row {row + 1} under {label!r} at level {level}" for row, level, label in rows[:_SHOWN])
    more = f"; and {len(rows) - _SHOWN:,} more" if len(rows) > _SHOWN else ""
    raise InputError(
        f"the hierarchy puts values under intervals that do not hold them: {examples}{more}. A range such as >=65 would be "
        'counted wrong: correct these rows, or write label_form = "names" for labels that are plain names'
    )


def misplaced(hierarchy: Hierarchy) -> list[tuple[int, int, str]]:
    """The base values that lie under an interval which does not hold them: base code, level and label, by base code.

    None where no base value is a number: then no label is an interval of numbers.
    """
    if hierarchy.height < 2 or hierarchy.has_names:
        return []
    read = _read(hierarchy)
    if not any(read[0]):
        return []
    outside = (
        (base, level, code) for base, level, code in _outside(hierarchy, read) if not _is_number(read[level][code])
    )
    return sorted((base, level, hierarchy.labels[level][code]) for base, level, code in outside)


_SHOWN = 3
"""Rows that a message names at most."""


def _read(hierarchy: Hierarchy) -> _Read:
    return [list(map(interval, labels)) for labels in hierarchy.labels[:-1]]


def _is_number(numbers: Range | None) -> bool:
    return numbers is not None and numbers.low == numbers.high


def _outside(hierarchy: Hierarchy, read: _Read) -> Iterator[tuple[int, int, int]]:
    """The base values that are not among the numbers over them, each with the level and the code of these."""
    for level in range(1, hierarchy.height):
        if not any(read[level]):
            continue
        for base, code in enumerate(hierarchy.lift(0, level).tolist()):
            numbers, member = read[level][code], read[0][base]
            if numbers is not None and (member is None or not numbers.holds(member)):
                yield base, level, code


def _are_codes(hierarchy: Hierarchy, read: _Read) -> bool:
    """Whether base values look like ranges and run backwards, or lie in each other."""
    backwards = (reading is None and _looks_like(label) for reading, label in zip(read[0], hierarchy.labels[0]))
    if any(backwards):
        return True
    ascending = sorted(reading for reading in read[0] if reading is not None)
    return any(low.high > high.low for low, high in pairwise(ascending))
