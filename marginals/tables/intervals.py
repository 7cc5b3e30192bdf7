"""Ranges of numbers as people write them: one grammar for labels, conditions, hierarchies and published tables.

Words such as `bis unter`, `and over`, `ans et plus` become signs, and a text of numbers and signs is a range.

A label reads as numbers only if each base value under it is among these (design 4.19). A file that puts 65 under
`60-64` would have a range counted wrong and called exact. Codes are no numbers: `98102-5783` runs backwards. Whoever
answers a range asks `numbers_of`.
"""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise
from math import ceil, floor
from typing import NamedTuple
from unicodedata import normalize

import numpy as np

from marginals.errors import InputError
from marginals.tables.values import PLAIN, POINT, has_digit, number_in
from models.arrays import BoolArray, FloatArray
from models.frozen import frozen
from models.tables.hierarchy import MISSING, SUPPRESSED, Hierarchy

_INFINITY = Decimal("Infinity")


class Range(NamedTuple):
    """Ends of a range of numbers, exactly, and whether each belongs to it."""

    low: Decimal
    high: Decimal
    with_low: bool = True
    with_high: bool = True

    @classmethod
    def of(cls, text: str) -> "Range | None":
        """Return the range that a text is, in any spelling; it may be empty. A number has both ends the same."""
        return _range_in(text)

    @property
    def is_empty(self) -> bool:
        """Return whether no number lies in it."""
        return self.low > self.high or (self.low == self.high and not (self.with_low and self.with_high))

    @property
    def is_point(self) -> bool:
        """Return whether it is a single number."""
        return self.low == self.high and not self.is_empty

    @property
    def is_open(self) -> bool:
        """Return whether it has no least or no largest number."""
        return not (self.low.is_finite() and self.high.is_finite())

    @property
    def is_whole(self) -> bool:
        """Return whether it is from one whole number to another, both of which belong to it."""
        ends = (self.low, self.high)
        return self.with_low and self.with_high and all(end.is_finite() and end == end // 1 for end in ends)

    def and_of(self, other: "Range") -> "Range":
        """Return the intersection."""
        low = max((self.low, not self.with_low), (other.low, not other.with_low))
        high = min((self.high, self.with_high), (other.high, other.with_high))
        return Range(low[0], high[0], not low[1], high[1])

    def meets(self, other: "Range") -> bool:
        """Return whether some number lies in both."""
        return not self.and_of(other).is_empty

    def holds(self, other: "Range") -> bool:
        """Return whether all of another one lies in it."""
        return self.and_of(other) == other

    def share_in(self, other: "Range") -> float:
        """Return the share of its whole numbers or of its length that lies in another one; a half without an end."""
        if self.is_open:
            return 0.5
        both = self.and_of(other)
        if self.is_whole:
            first = ceil(both.low) + (not both.with_low and both.low % 1 == 0)
            last = floor(both.high) - (not both.with_high and both.high % 1 == 0)
            if last >= first:
                return (last - first + 1) / (int(self.high) - int(self.low) + 1)
        return float((both.high - both.low) / (self.high - self.low)) if self.low < self.high else 1.0


# The grammar. Words become signs: "75 ans et plus" is 75+, and "18 bis unter 25" is 18<=<25.

_SAME_SIGN = str.maketrans(
    dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-")
    | {"\u2264": "<=", "\u2a7d": "<=", "\u2265": ">=", "\u2a7e": ">=", "\u2019": "'", "\u221e": "inf"}
)
_AND = r"(?:and|&|or|und|oder|et|ou|y|o|ed?|en|of|och|og|eller) "
_SIGNS = {
    "+": rf"{_AND}(?:over|older|more|above|up(?:wards?)?|greater|higher|mehr|älter|darüber|plus|m[aá]s|mayor(?:es)?|più"
    "|oltre|ouder|meer|mais|äldre|eldre)|plus(?! de )",
    "!": rf"{_AND}(?:under|younger|less|below|fewer|lower|jünger|weniger|darunter|moins|menos|menor(?:es)?|meno|jonger"
    "|minder|yngre)(?! (?:than|als|de|dan|di) | ?[0-9])",
    "<=": "up to|at most|not? (?:more than|over)|max(?:imal|imum)?|bis(?: zu)?|höchstens|jusqu'[àa]|au plus|hasta|fino a"
    "|until|till",
    ">=": "from|at least|ab|mindestens|à partir de|a partir d[ei]|au moins|desde|al menos|almeno|vanaf|minstens|min",
    "<": "under|below|(?:less|fewer|lower|younger) than|unter|(?:weniger|jünger|kleiner) als|(?:moins|menos|menor(?:es)?) de"
    "|meno di|(?:minder|jonger) dan|onder|tot",
    ">": "over|above|(?:more|older|greater|higher) than|über|(?:mehr|älter|größer) als|plus de|(?:m[aá]s|mayor(?:es)?) de"
    "|oltre|più di|(?:meer|ouder) dan",
    "-": "to|through|thru|(?<= )(?:al?|à)(?= )|t/m",
    "": r"^(?:aged?|ages|age group|im alter von)|years?(?: old| of age)?|yrs?|y\.?o|old|jahren?|jahre|j|ans?|años?|anos?"
    "|anni|jaar|år|de|da|dai|von|y$",
    "$": "eur(?:os?)?|usd|chf|gbp|dollars?",
}
_WORD = rf"(?<![^\W\d_])(?:{'|'.join(f'({words})' for words in _SIGNS.values())})(?![^\W_])\.?"
_SDMX = re.compile(r"^y_(ge|gt|le|lt)(?=[0-9])|^y([0-9]+)[t-](?=[0-9])")
_SDMX_SIGNS = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<"}
_LETTERS = re.compile(r"[^\W\d_]+")
_JOINTS = ("and", "und", "et")
_AROUND_SIGNS = re.compile(r"\s*([-<>=+!~]|\.{2,3})\s*")
_BETWEEN_WORDS = re.compile(r"(?:between|entre|zwischen|tra|fra|tussen) (.+) (?:and|y|et|und|ed?|en) (.+)")

_MONEY = "$€£"
_AMOUNT = (
    rf"([{_MONEY}]? ?[-+]?(?:[0-9]{{1,3}}(?:[,.' ][0-9]{{3}})+(?:[.,][0-9]+)?|[0-9]+(?:[.,][0-9]+)?|\.[0-9]+)"
    rf"(?:e[-+]?[0-9]{{1,3}})?(?: ?[km])?(?: ?[{_MONEY}%])?)"
)
_POINT = re.compile(_AMOUNT)
_BETWEEN = re.compile(
    rf"(>=?|){_AMOUNT}(-|\.{{2,3}}|~|(?:-|\.{{2,3}}|<=| (?:{'|'.join(_JOINTS)}|[&ye])|,|)<=?){_AMOUNT}"
)
_FROM = rf"(>=?){_AMOUNT}|{_AMOUNT}\+"
_BELOW = rf"((?:<=)?<|<=){_AMOUNT}|{_AMOUNT}!"
_END = rf"(?:{_AMOUNT}|[-+]?inf(?:inity)?|)"
_BRACKETED = rf"([\[\](])\s*{_END}\s*(;|,|-|\.\.)\s*{_END}\s*([\[\])])"
_FACTORS = {"k": 1000, "m": 1_000_000}
_GROUPED_BY_POINT = re.compile(r"[-+]?[1-9][0-9]{0,2}\.[0-9]{3}")
_LONGEST = 60


@lru_cache(maxsize=1 << 17)  # each condition reads all labels of its attribute
def _range_in(text: str) -> Range | None:
    if not has_digit(text) or len(text) > _LONGEST:
        return None
    plain = text if text.isascii() else normalize("NFKC", text).translate(_SAME_SIGN)
    plain = " ".join(plain.lower().split()).rstrip(";,")
    if plain.startswith(("[", "]", "(")) and (match := re.fullmatch(_BRACKETED, plain)):
        opening, low, sign, high, closing = match.groups()
        is_loose = opening + closing == "()" and sign == "-"  # parentheses around a range
        with_ends = (opening == "[" or is_loose, closing == "]" or is_loose)
        return _between(low, high, with_ends[0] and low is not None, with_ends[1] and high is not None)
    plain = _SDMX.sub(lambda code: f"{code[2]}-" if code[2] else _SDMX_SIGNS[code[1]], plain)
    if _LETTERS.search(plain):
        plain = re.sub(_WORD, _sign_of, _BETWEEN_WORDS.sub(r"\1-\2", plain))
        if any(len(letters) > 1 for letters in _LETTERS.findall(plain) if letters not in _JOINTS):
            return None
    plain = _AROUND_SIGNS.sub(r"\1", " ".join(plain.split()))
    if _POINT.fullmatch(plain):
        return _between(plain, plain)
    if (match := _BETWEEN.fullmatch(plain)) and (match[1] or " " not in match[3]):
        return _between(match[2], match[4], match[1] != ">", not match[3].endswith("<"))
    if match := re.fullmatch(_FROM, plain):
        return _between(match[2] or match[3], None, match[1] != ">", False)
    if match := re.fullmatch(_BELOW, plain):
        return _between(None, match[2] or match[3], False, match[1] in ("<=", None))
    return None


def _sign_of(word: re.Match[str]) -> str:
    return f" {[*_SIGNS][word.lastindex - 1]} " if word.lastindex else ""


def _between(low: str | None, high: str | None, with_low: bool = True, with_high: bool = True) -> Range | None:
    written = (low or "") + (high or "")
    is_money = any(sign in written for sign in _MONEY)
    least = -_INFINITY if low is None else _number_in(low, is_money)
    most = _INFINITY if high is None else _number_in(high, is_money)
    if least is None or most is None:
        return None
    factor = next((number for letter, number in _FACTORS.items() if letter in (high or "")), 1)
    if low and not low.endswith(tuple(_FACTORS)) and least < 1000 and least * factor <= most:
        least *= factor
    return Range(least, most, with_low, with_high)


def _number_in(amount: str, is_money: bool) -> Decimal | None:
    # 10.000 is none, since it may be ten or ten thousand; of money it is ten thousand.
    text = amount.strip(f"{_MONEY}% ")
    factor = _FACTORS.get(text[-1], 1)
    text = text.rstrip("km ")
    if factor == _FACTORS["m"] and not is_money:
        return None  # meters
    if _GROUPED_BY_POINT.fullmatch(text) and (is_money or text.endswith(("000", "999"))):
        return Decimal(text.replace(".", "")) * factor if is_money else None
    number = Decimal(text) if _PLAIN.fullmatch(text) else number_in(text) or number_in(text, ",")
    return None if number is None else number * factor


_PLAIN = re.compile(PLAIN)


def interval(label: str) -> Range | None:
    """Return the numbers that a label looks like by itself; `$5` is a number beside bands only."""
    if (number := POINT.number(label)) is not None:
        return Range(number, number)
    numbers = _range_in(label)
    return None if numbers is None or numbers.low >= numbers.high else numbers


_MONTHS = re.compile(r"(?i)\b(?:months?|mos?|monate?n?|mois|meses|mesi|maanden)\b\.?")
_YEARS = re.compile(r"(?i)\b(?:years?|yrs?|jahren?|jahre|ans?|años?|anni)\b")
_THOUSANDS, _MILLIONS = re.compile(r"(?i)[0-9] ?k\b"), re.compile(r"(?i)(?<=[0-9]) ?m\b")


def intervals(labels: Sequence[str]) -> list[Range | None]:
    """Return the numbers that the labels of a column look like.

    Months beside other units are parts of years, and m beside k are millions, which by itself may be meters.
    """
    if any(map(_THOUSANDS.search, labels)):
        labels = [_MILLIONS.sub("e6", label) for label in labels]
    in_months = [_MONTHS.search(label) is not None and not _YEARS.search(label) for label in labels]
    read = [interval(_MONTHS.sub("", label) if is_month else label) for is_month, label in zip(in_months, labels)]
    if None in read and any(numbers is not None and not numbers.is_point for numbers in read):
        amounts = (_range_in(label) for label in labels)
        read = [numbers or (amount if amount and amount.is_point else None) for numbers, amount in zip(read, amounts)]
    if not any(in_months):
        return read
    unit = 1 if all(is_month or not has_digit(label) for is_month, label in zip(in_months, labels)) else 12
    in_units = [numbers and numbers._replace(low=numbers.low / unit, high=numbers.high / unit) for numbers in read]
    return [new if is_month else numbers for is_month, new, numbers in zip(in_months, in_units, read)]


def whole_ends(text: str) -> tuple[int | None, int | None] | None:
    """Return the first and last whole number of a range, None without an end; None for any other text."""
    numbers = _range_in(text)
    if numbers is None or numbers.low >= numbers.high or any(end.is_finite() and end % 1 for end in numbers[:2]):
        return None
    first = int(numbers.low) + (not numbers.with_low) if numbers.low.is_finite() else None
    return first, int(numbers.high) - (not numbers.with_high) if numbers.high.is_finite() else None


def pieces_of(labels: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return labels of ranges of whole numbers as groups of the pieces that all cut each other into, else nothing."""
    read = {label: numbers for label, numbers in zip(labels, intervals(labels)) if numbers is not None}
    firsts = {label: of.low + (of.low.is_finite() and not of.with_low) for label, of in read.items()}
    # From the first of its whole numbers, from 0 on, to the one after the last.
    ranges = {label: (max(firsts[label], Decimal(0)), of.high + of.with_high) for label, of in read.items()}
    ends = sorted({end for pair in ranges.values() for end in pair})
    if not labels or len(ranges) < len(labels) or any(end % 1 for end in ends if end.is_finite()):
        return {}
    pieces = {}
    for low, high in pairwise(ends):
        if any(pair[0] <= low and high <= pair[1] for pair in ranges.values()):
            written = f"{low}+" if not high.is_finite() else f"{low}" if high - low == 1 else f"{low}-{high - 1}"
            pieces[low, high] = next((label for label, pair in ranges.items() if pair == (low, high)), written)
    return {
        label: tuple(name for (low, high), name in pieces.items() if pair[0] <= low and high <= pair[1])
        for label, pair in ranges.items()
        if pieces.get(pair) != label
    }


_OR_MISSING = f" or {MISSING}"
_BETWEEN_NAMES, _BETWEEN_BRACKETS = re.compile(r", | and (?=other )"), re.compile(r"(?<=[\[\])]), ")


def named_numbers(labels: Sequence[str]) -> list[Range | None]:
    """Return the range from the least to the largest number that each label names; None for a name."""
    plain = [label.removesuffix(_OR_MISSING) for label in labels]
    names = [(_BETWEEN_BRACKETS if text[:1] in "[](" else _BETWEEN_NAMES).split(text) for text in plain]
    read = iter(intervals([name for parts in names for name in parts]))
    return [_around([next(read) for _ in parts]) for parts in names]


def _around(ranges: Sequence[Range | None]) -> Range | None:
    numbers = [one for one in ranges if one is not None]
    if len(numbers) < len(ranges):
        return None
    least = min(numbers, key=lambda one: (one.low, not one.with_low))
    most = max(numbers, key=lambda one: (one.high, one.with_high))
    return Range(least.low, most.high, least.with_low, most.with_high)


def names_missing(label: str) -> bool:
    """Return whether a label names rows without a value."""
    return label == MISSING or label.endswith(_OR_MISSING)


def numbers_of(hierarchy: Hierarchy, level: int = 0) -> list[Range | None]:
    """Return the numbers that each label of a level stands for, None for a name."""
    if level == hierarchy.height or hierarchy.has_names or are_names(hierarchy):
        return [None] * hierarchy.size(level)
    return intervals(hierarchy.labels[level])


@lru_cache(64)  # asked again by each condition
def base_numbers(hierarchy: Hierarchy, of_table: bool = False) -> list[Range | None]:
    """Return the numbers that the label of each base value names. of_table: whatever labels are above them."""
    levels = Hierarchy.flat(hierarchy.labels[0]) if of_table else hierarchy
    if levels.height == 0 or levels.has_names or are_names(levels):
        return [None] * hierarchy.size(0)
    return named_numbers(hierarchy.labels[0])


def are_names(hierarchy: Hierarchy) -> bool:
    """Return whether labels cannot stand for the numbers that they look like."""
    read = _read(hierarchy)
    if any(numbers is None and _range_in(label) for numbers, label in zip(read[0], hierarchy.labels[0])):
        return True  # it runs backwards
    ascending = sorted(numbers for numbers in read[0] if numbers is not None)
    return any(low.high > high.low for low, high in pairwise(ascending)) or any(_outside(hierarchy, read))


def check_intervals(hierarchy: Hierarchy) -> None:
    """Raise InputError, naming rows, where a label reads as an interval that does not hold numbers under it."""
    if label := next((label for label in labels_of_several(hierarchy) if number_in(label) is not None), ""):
        raise InputError(
            f"the hierarchy has {label!r} at two levels for different values, so conditions could mean the wrong ones. Give "
            "one of them another name"
        )
    rows = misplaced(hierarchy)
    if not rows:
        return
    examples = "; ".join(f"row {row + 1} under {label!r} at level {level}" for row, level, label in rows[:_SHOWN])
    more = f"; and {len(rows) - _SHOWN:,} more" if len(rows) > _SHOWN else ""
    raise InputError(
        f"the hierarchy puts values under intervals that do not hold them: {examples}{more}. A range such as >=65 would be "
        'counted wrong: correct these rows, or write label_form = "names" for labels that are plain names'
    )


def has_reserved_labels(hierarchy: Hierarchy) -> bool:
    """Return whether a level has `*` beside other labels, or puts other values under `missing`, for rows without one."""
    beside_others = any(SUPPRESSED in labels and len(labels) > 1 for labels in hierarchy.labels[1:])
    return beside_others or any(MISSING in groups and value != MISSING for value, *groups in hierarchy.rows())


def labels_of_several(hierarchy: Hierarchy) -> Iterator[str]:
    """Yield labels that stand at two levels for different values."""
    first: dict[str, tuple[int, int]] = {}
    for level, labels in enumerate(hierarchy.labels[:-1]):
        above = hierarchy.lift(0, level)
        _, members, sizes = (part.tolist() for part in np.unique(above, return_index=True, return_counts=True))
        for code, label in enumerate(labels):
            member, size = first.setdefault(label, (members[code], sizes[code]))
            if above[member] != code or size != sizes[code]:
                yield label


def misplaced(hierarchy: Hierarchy) -> list[tuple[int, int, str]]:
    """Return base code, level and label of each base value under an interval that does not hold it."""
    if hierarchy.height < 2 or hierarchy.has_names:
        return []
    read = _read(hierarchy)
    if not any(read[0]):
        return []
    return sorted(
        (base, level, hierarchy.labels[level][code])
        for base, level, code in _outside(hierarchy, read)
        if (numbers := read[level][code]) is not None and not numbers.is_point
    )


_SHOWN = 3  # rows that a message names


def _read(hierarchy: Hierarchy) -> list[list[Range | None]]:
    return [intervals(labels) for labels in hierarchy.labels[:-1]]


def _outside(hierarchy: Hierarchy, read: list[list[Range | None]]) -> Iterator[tuple[int, int, int]]:
    for level in range(1, hierarchy.height):
        if not any(read[level]):
            continue
        for base, code in enumerate(hierarchy.lift(0, level).tolist()):
            numbers, member = read[level][code], read[0][base]
            if numbers is not None and (member is None or not numbers.holds(member)):
                yield base, level, code


@frozen(eq=False)
class LabelNumbers:
    """Numbers that the rows of each base value may have. low, high: infinite without an end. Shape (size(0),) each.

    may_count, may_miss: whether its rows may have a number, or none. is_whole: whether the numbers are whole.
    """

    low: FloatArray
    high: FloatArray
    may_count: BoolArray
    may_miss: BoolArray
    is_whole: BoolArray

    @classmethod
    def of(cls, attribute: str, hierarchy: Hierarchy) -> "LabelNumbers":
        """Numbers as the labels say. Raises InputError where no label of the attribute is a number or an interval."""
        base_ranges = base_numbers(hierarchy)
        if not any(base_ranges):
            raise InputError(
                f"the values of {attribute!r} are no numbers; estimate(function) takes a function of rows that "
                "gives each label a number"
            )
        missing = list(map(names_missing, hierarchy.labels[0]))
        ranges = [numbers or Range(-_INFINITY, _INFINITY, False, False) for numbers in base_ranges]
        low, high = np.array([(float(numbers.low), float(numbers.high)) for numbers in ranges]).T
        may_count = np.array([label != MISSING for label in hierarchy.labels[0]])
        return cls(low, high, may_count, np.array(missing), np.array([numbers.is_whole for numbers in ranges]))

    def within(self, low: FloatArray | float, high: FloatArray | float) -> "LabelNumbers":
        """Restrict the numbers to those between others, where there are any."""
        bottom, top = np.maximum(self.low, low), np.minimum(self.high, high)
        meets, is_whole = bottom <= top, self.is_whole & (np.ceil(bottom) <= np.floor(top))
        low, high = np.where(meets, bottom, self.low), np.where(meets, top, self.high)
        return LabelNumbers(low, high, self.may_count, self.may_miss, is_whole)

    @property
    def points(self) -> FloatArray:
        """Number of each value: the middle, the only end, or nan for none."""
        middle = np.where(np.isinf(self.low), self.high, self.low)
        both = np.isfinite(self.low) & np.isfinite(self.high)
        middle[both] = (self.low[both] + self.high[both]) / 2
        return np.where(np.isinf(middle) | ~self.may_count, np.nan, middle)


@lru_cache(256)
def numbers_at(hierarchy: Hierarchy, level: int) -> LabelNumbers | None:
    """Return the numbers that the labels of a level stand for; None if no base value is a number."""
    if not any(base_numbers(hierarchy)):
        return None
    numbers, places = LabelNumbers.of("", hierarchy), hierarchy.lift(0, level)
    low, high = np.full(hierarchy.size(level), np.inf), np.full(hierarchy.size(level), -np.inf)
    np.minimum.at(low, places[numbers.may_count], numbers.low[numbers.may_count])
    np.maximum.at(high, places[numbers.may_count], numbers.high[numbers.may_count])
    flags = (numbers.may_count, numbers.may_miss, numbers.is_whole)
    may_count, may_miss, is_whole = (np.bincount(places, flag, len(low)) > 0 for flag in flags)
    return LabelNumbers(low, high, may_count, may_miss, is_whole)
