"""Texts of published cells as ranges of counts: exact and rounded counts, ranges, percentages, markers of suppression."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from math import ceil, floor

from models.intervals.interval_table import Interval
from models.programs.equations import UNBOUNDED

UNKNOWN: Interval = (0, UNBOUNDED)
"""Of a cell that says nothing."""

_DASHES = "-\u2013\u2014"
_GROUPED = re.compile("\\d{1,3}(?:[,' \\u2019\\u00a0\\u2009\\u202f]\\d{3})+|\\d{1,3}(?:\\.\\d{3}){2,}")
_WHOLE = re.compile(r"(\d{1,12})(?:\.0{1,2})?")  # 12.000 is twelve here and twelve thousand there
_BETWEEN = re.compile(rf"(\d{{1,12}})\s*(?:[{_DASHES}]|\.\.|to|bis)\s*(\d{{1,12}})")
_BELOW = re.compile("(<=|<|\u2264|less than |fewer than )\\s*(\\d{1,9})")
_PERCENT = re.compile(r"(\d{1,3})(?:[.,](\d{1,9}))?\s*%?")


class Rounding(Enum):
    """How counts are rounded to a multiple of a base; random: to either of the two that are next."""

    NEAREST = "nearest"
    RANDOM = "random"
    UP = "up"
    DOWN = "down"

    def before(self, rounded: int, base: int) -> Interval:
        """The counts that are rounded to this one; to the nearest: with both ends where a count lies in the middle.

        >>> Rounding.NEAREST.before(10, 5), Rounding.NEAREST.before(0, 3), Rounding.RANDOM.before(10, 5)
        ((8, 12), (0, 1), (6, 14))
        """
        below, above = {
            Rounding.NEAREST: (base // 2, base // 2),
            Rounding.RANDOM: (base - 1, base - 1),
            Rounding.UP: (base - 1, 0),
            Rounding.DOWN: (0, base - 1),
        }[self]
        return max(rounded - below, 0), rounded + above


@dataclass(frozen=True)
class CellTexts:
    """What the texts of a table's cells mean. markers: ranges of counts. base: of rounding; 1 for exact counts."""

    markers: Mapping[str, Interval] = field(default_factory=dict)
    base: int = 1
    rounding: Rounding = Rounding.NEAREST

    def interval(self, text: str) -> Interval | None:
        """The range of counts that a text means; None where it has no meaning.

        >>> texts = CellTexts({"*": (0, 9), "<5": (1, 4)})
        >>> [texts.interval(text) for text in ("1,234", "<5", "10-14", "*", "?")]
        [(1234, 1234), (1, 4), (10, 14), (0, 9), None]
        """
        text = text.strip()
        if text in self.markers:
            return self.markers[text]
        if (count := whole(text)) is not None:
            return self.rounding.before(count, self.base)
        if (match := _BETWEEN.fullmatch(text)) and int(match[1]) <= int(match[2]):
            return int(match[1]), int(match[2])
        return None


def whole(text: str) -> int | None:
    """The whole number that a text is, with separators of thousands or without; None for another text."""
    text = text.strip()
    if _GROUPED.fullmatch(text):
        return int(re.sub(r"\D", "", text))
    match = _WHOLE.fullmatch(text)
    return int(match[1]) if match else None


def below(text: str) -> int | None:
    """The largest count that a text such as "<5" means; None for another text.

    >>> below("<5"), below("<= 5"), below("5")
    (4, 5, None)
    """
    match = _BELOW.fullmatch(text.strip().lower())
    if not match:
        return None
    return int(match[2]) - (match[1] not in ("<=", "\u2264"))


_OF_PERCENT = re.compile(r"(?i)\s*[(\[,]?\s*(?:%|per ?cent|pct|percentage)\s*[)\]]?\s*$")


def without_percent(label: str) -> str:
    """The value that a column of percentages is about.

    >>> without_percent("Female %"), without_percent("Male (percent)"), without_percent("65+")
    ('Female', 'Male', '65+')
    """
    return _OF_PERCENT.sub("", label) or label


def share_of(text: str, total: Interval) -> Interval | None:
    """The counts that a rounded percentage of a total means; None where the text is none.

    >>> share_of("12.5%", (80, 80)), share_of("33", (10, 10))
    ((10, 10), None)
    """
    match = _PERCENT.fullmatch(text.strip())
    if not match:
        return None
    decimals = match[2] or ""
    percent = Fraction(int(match[1] + decimals), 10 ** len(decimals))
    half = Fraction(1, 2 * 10 ** len(decimals))
    low = max(ceil((percent - half) * total[0] / 100), 0)
    high = floor((percent + half) * total[1] / 100) if total[1] < UNBOUNDED else UNBOUNDED
    return (low, high) if low <= high else None
