"""Facts of a column of an unknown table, each counted once, by which the rules of `init` decide what it is."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from functools import cached_property
from heapq import nlargest
from typing import Any, Literal

import numpy as np
import pandas as pd

from marginals.config import RARE
from marginals.config.vocabulary import Topic, is_recognizable, meaning_of, meaning_of_values
from marginals.errors import InputError
from marginals.messages import few
from marginals.tables.attribute import Attribute, ColumnTexts, Role, words_in_order
from marginals.tables.distinct_rows import PandasFrame
from marginals.tables.files import ColumnLabels
from marginals.tables.scales import dates_among_bands, in_natural_order, in_order
from marginals.tables.sensitive_groups import (
    bands_begin,
    in_groups,
    inner_range,
    last_decimal,
    round_width,
    without_spike,
)
from marginals.tables.spellings import nothing_among, says_nothing
from marginals.tables.values import (
    DECIMAL_SIGNS,
    MOST_CONSECUTIVE,
    NumberFormat,
    date_text,
    dates_of_column,
    formats,
    has_digit,
    missing_among,
)
from marginals.tables.words import column_words, people_words
from models.arrays import CountArray
from models.frozen import frozen

ALWAYS = ("", "?")
_TIMES_LARGER = 2
_GAP_BELOW_CODES = 5
_FEWEST_OTHERS = 5
_MOST_WORDS_AMONG_NUMBERS = 3
_MOST_YEARS = 200
_MOST_DAYS_ONE_BY_ONE = 200
_FINEST_BANDS = 100
_MOST_BANDS = 20_000
_MOST_BANDS_EXAMINED = 1_000
_MOST_SINGLE_NUMBERS = 200
_MOST_LEVELS = 3
_SHARE_IN_GROUPS = 0.5


def likely_prefixes(codes: Sequence[str], counts: CountArray, rare: int) -> tuple[int, ...]:
    """Falling lengths at which codes of one length branch: half of the rows in groups that are not rare, then halving."""
    groups: dict[int, Counter[str]] = {length: Counter() for length in range(len(codes[0]), 0, -1)}
    for code, rows in zip(codes, counts.tolist()):
        for length, group in groups.items():
            group[code[:length]] += rows
    branching = [length - 1 for length in groups if length > 1 and 1 < len(groups[length - 1]) < len(groups[length])]
    large = (n for n in branching if sum(r for r in groups[n].values() if r >= rare) >= _SHARE_IN_GROUPS * counts.sum())
    chosen = [next(large, branching[-1])] if branching else []
    for length in branching:
        if length < chosen[-1] and 2 * len(groups[length]) <= len(groups[chosen[-1]]):
            chosen.append(length)
    return tuple(chosen[:_MOST_LEVELS])


UNSAID = ColumnLabels()
ValueKind = Literal["numbers", "dates", "codes", "texts"]  # ways to coarsen the values; codes have one length
_FEWEST_CODES, _MOST_CODES = 21, 100_000
_ROUND_SHARE = 0.6
MOST_CATEGORIES = 100
_MOST_COMPARED = 200  # values, each compared with each: the time grows with the third power
_MOST_ROWS_COMPARED = 1_000_000
_MOST_NAMED = 500
_LONG_TEXT = 40
_LONG_CATEGORY = 60  # characters of a text that enough rows share, and of half of a list that was chosen from
_LONGEST_CATEGORY = 200


@frozen
class Marks:
    """Texts of one column that stand for no value. why: what says so. is_asked: whether that may be wrong."""

    texts: tuple[str, ...] = ()
    why: str = ""
    is_asked: bool = False


NO_MARKS = Marks()


@frozen(eq=False)
class Facts(ColumnTexts):
    """A column without what is missing. marks: texts that stand for no value in this column alone."""

    labels: ColumnLabels = UNSAID
    rare: int = RARE
    marks: Marks = NO_MARKS

    @classmethod
    def read(cls, frame: pd.DataFrame, name: str) -> "Facts":
        """The values of a column, in their order, as publishing would read them; cells without a text are missing."""
        try:
            rows = PandasFrame(frame[[name]]).distinct_rows([name])
        except (InputError, TypeError):  # none that could be counted
            return cls(name, (), np.zeros(0, dtype=np.int64), len(frame))
        counts: Counter[str] = Counter()
        for value, count in zip(rows.codes[name].tolist(), rows.counts.tolist()):
            if (text := rows.values[name][value]) is not None:
                counts[text] += count
        return cls(name, (), np.zeros(0, dtype=np.int64), len(frame))._with_rows(counts, in_order(counts))

    def described(self, **changes: Any) -> "Facts":
        """Return the same values, of which what was counted stays, with other facts of the column."""
        result = replace(self, **changes)
        if result.decimal == self.decimal:
            counted = vars(self).keys() & {"format", "numbers", "whole_numbers"}
            vars(result).update({name: vars(self)[name] for name in counted})
        return result

    def _with_rows(self, rows_of: Mapping[str, int], values: Iterable[str]) -> "Facts":
        present = tuple(values)
        counts = np.array([rows_of[value] for value in present], dtype=np.int64)
        return replace(self, values=present, counts=counts, missing=self.missing + self.rows - int(counts.sum()))

    @property
    def rows_of(self) -> dict[str, int]:
        """Rows of each value."""
        return dict(zip(self.values, self.counts.tolist()))

    def without(self, missing: Collection[str]) -> "Facts":
        """Count some values as missing."""
        absent = missing_among(self.values, missing, self.decimal)
        present = (value for value in self.values if value not in absent)
        return self._with_rows(self.rows_of, present) if absent else self

    def marked(self, marks: Marks) -> "Facts":
        """Count marks of this column as missing, and dates in one spelling."""
        filled = self.without(marks.texts).described(marks=marks)
        days = {} if filled.format is not None else dates_of_column(filled.values)
        if not days:
            return filled
        rows_of = Counter(filled.rows_of)
        for text, day in days.items():
            rows_of[day] += rows_of.pop(text)
        return filled._with_rows(rows_of, in_order(rows_of))

    @property
    def doubt(self) -> str:
        """Question about its values; empty if there is none."""
        doubts = []
        if self.marks.is_asked:
            doubts.append(
                f"{len(self.marks.texts):,} of its values may stand for no value, since {self.marks.why}; if they are "
                "values, write marks = []"
            )
        if self.distinct <= _MOST_BANDS_EXAMINED and (dates := dates_among_bands(self.values)):
            doubts.append(
                f"{dates:,} of its texts may be bands that a spreadsheet turned into dates, as 5-9 into 5 September; "
                "correct the file before anything is published"
            )
        return "; and ".join(doubts)

    def says(self, *keys: str) -> str:
        """The words of the name that stand under some keys of the table of words."""
        return " ".join(sorted(self.words & column_words(*keys)))

    def are(self, pattern: str) -> bool:
        """True if all values match a pattern."""
        return all(map(re.compile(pattern).fullmatch, self.values))

    @cached_property
    def distinct(self) -> int:
        """Different values."""
        return len(self.values)

    @cached_property
    def words_in_order(self) -> list[str]:
        """The words of the name."""
        return words_in_order(self.name)

    @cached_property
    def values_meaning(self) -> Topic | None:
        """Topic of most values, if nobody should learn it about a person."""
        labels = self.labels.values
        return meaning_of_values(self, [labels[value] for value in self.values if value in labels])

    @property
    def is_of_something(self) -> bool:
        """True if the name surely says what its numbers are: an income, a score."""
        meaning = meaning_of(self.name)
        return meaning is not None and meaning.is_sure

    @cached_property
    def is_recognizable(self) -> bool:
        """True if the name says that people are recognized by it."""
        counts_stays = self.says("care") and "0" in self.values and self.whole_numbers
        return is_recognizable(self.name) and not counts_stays

    @property
    def sampling(self) -> frozenset[str]:
        """The words of the name that say how a sample was drawn."""
        return self.words & people_words("strata_and_units", "sampling")

    @cached_property
    def is_labelled(self) -> bool:
        """True if most values have labels."""
        return 2 * sum(value in self.labels.values for value in self.values) > self.distinct

    @cached_property
    def whole_numbers(self) -> tuple[Decimal, ...]:
        """The values as numbers, where all are whole, such as 5 or 5.0; else none."""
        numbers = self.numbers or ()
        return numbers if all(number == number.to_integral_value() for number in numbers) else ()

    @property
    def has_decimals(self) -> bool:
        """True if all values are numbers and some not whole."""
        return self.numbers is not None and not self.whole_numbers

    @cached_property
    def are_numbers_of_things(self) -> bool:
        """True if all values are whole numbers, or codes with a digit."""
        return bool(self.whole_numbers) or self.are(r"[A-Za-z0-9._/-]*[0-9][A-Za-z0-9._/-]*")

    @property
    def are_amounts(self) -> bool:
        """True if round numbers are much more frequent than others, as amounts are and keys are not."""
        is_round = np.array([number % 5 == 0 for number in self.whole_numbers], dtype=bool)
        return bool(
            self.whole_numbers and not is_round.all() and self.counts[is_round].sum() > _ROUND_SHARE * self.counts.sum()
        )

    @cached_property
    def is_coded(self) -> bool:
        """True if all values are codes of one length, with a digit each."""
        are_alike = len(self.values[0]) >= 3 and len(set(map(len, self.values))) == 1
        return are_alike and self.are(r"[A-Za-z0-9./-]*[0-9][A-Za-z0-9./-]*")

    @cached_property
    def begin_with_year(self) -> bool:
        """True if all values are dates such as 2023-11-12, with or without a time of the day."""
        return all(value[:4].isdecimal() and date_text(value) is not None for value in self.values)

    @cached_property
    def end_with_year(self) -> bool:
        """True if all values are spelled like 12.11.2023, 12/11/2023, 12-11-2023 or with two digits of the year."""
        return self.are(r"[0-9]{1,2}([./-])[0-9]{1,2}\1([0-9]{2}){1,2}")

    @cached_property
    def units(self) -> tuple[str, ...] | None:
        """Units that dates are cut to, finest first; None if they are no dates, or lie too far apart."""
        days = [text[:10] for value in self.values if (text := date_text(value)) is not None]
        if not days or len(days) < len(self.values):
            return None
        span = (date.fromisoformat(max(days)) - date.fromisoformat(min(days))).days
        units = ("month", "quarter", "year")
        return None if span > _MOST_YEARS * 366 else ("day", *units) if span <= _MOST_DAYS_ONE_BY_ONE else units

    @cached_property
    def kind(self) -> ValueKind:
        """The way in which the values can be coarsened. Numbers can be names: codes of one length, or few things."""
        is_number = any(word.endswith(("num", "code", "nr")) for word in self.words) or self.says("codes")
        are_names = (is_number and self.is_coded) or (self.says("categories") and self.distinct > 2)
        if self.numbers and not self.is_labelled and not (are_names and self.whole_numbers):
            return "numbers"
        if self.units is not None:
            return "dates"
        return "codes" if _FEWEST_CODES <= self.distinct <= _MOST_CODES and self.is_coded else "texts"

    @property
    def are_names(self) -> bool:
        """True if the values are numbers that stand for names, in no order."""
        return self.kind == "texts" and self.numbers is not None

    @cached_property
    def are_unordered(self) -> bool:
        """True if nothing says in which order the values lie, and they are few enough to be compared."""
        is_much = self.distinct > _MOST_COMPARED or self.rows > _MOST_ROWS_COMPARED
        return not is_much and (self.are_names or in_natural_order(self.values) is None)

    @cached_property
    def prefixes(self) -> tuple[int, ...]:
        """The lengths that codes are cut to."""
        return likely_prefixes(self.values, self.counts, self.rare)

    @cached_property
    def are_ages(self) -> bool:
        """True if the numbers are ages in years."""
        low, high = min(self.numbers or (Decimal(-1),)), max(self.numbers or (Decimal(-1),))
        return bool(self.says("ages")) and high - low >= 10 and low >= 0 and high < 130

    @cached_property
    def widths(self) -> tuple[int | Decimal, ...]:
        """The width of the finest bands of numbers, of which about a hundred hold most rows; none for single values."""
        unit = last_decimal(self.numbers or ())
        numbers, counts = without_spike(self.numbers or (), self.counts)
        are_whole = all(number == number.to_integral_value() for number in numbers)
        low, high = inner_range(numbers, counts)
        span = max(numbers) - min(numbers)
        if are_whole and high - low <= _MOST_SINGLE_NUMBERS and span < MOST_CONSECUTIVE:
            return ()
        wished = max((high - low) / _FINEST_BANDS, span / _MOST_BANDS, Decimal(1) if self.are_ages else unit)
        width = max(round_width(wished), unit)
        return (int(width),) if are_whole else (width,)

    @cached_property
    def start(self) -> int | Decimal:
        """Number from which bands are counted."""
        return bands_begin(self.numbers or (), self.counts) if self.widths else 0

    @cached_property
    def groups(self) -> Attribute | None:
        """Groups of the values if they are sensitive; None if only some can be read."""
        sensitive = Attribute(Role.SENSITIVE, values=self.labels.values)
        try:
            return in_groups(sensitive, self.values, self.counts, self.format)
        except InputError:
            return None

    @cached_property
    def uncommon(self) -> int:
        """Values that fewer rows have than can be named."""
        return int((self.counts < self.rare).sum())

    def are_mostly_named(self, share: float) -> bool:
        """True if there are some values that enough rows have, not too many, and that share of the rows has one of them."""
        named_rows = self.counts[self.counts >= self.rare].sum()
        return 2 <= self.distinct - self.uncommon <= _MOST_NAMED and bool(named_rows >= share * self.counts.sum())

    def are_long(self, fewest: int = 0) -> bool:
        """True if some values of so many rows may be what somebody wrote: long, and not those of a short list of choices."""
        looked_at = self.counts >= fewest
        lengths, are_rare = np.array(list(map(len, self.values)))[looked_at], self.counts[looked_at] < self.rare
        if not (lengths > np.where(are_rare, _LONG_TEXT, _LONG_CATEGORY)).any():
            return False
        are_chosen = 2 * are_rare.sum() <= len(lengths) <= MOST_CATEGORIES
        are_short = 2 * (lengths <= _LONG_CATEGORY).sum() >= len(lengths) and lengths.max() <= _LONGEST_CATEGORY
        return not (are_chosen and are_short)


# Spelling of the cells of an unknown table: what stands for no value, and the sign before a fraction.


def missing_tokens(columns: Sequence[ColumnTexts]) -> dict[str, int]:
    """Return the texts that say nothing in all columns that have them, and how many cells have each.

    Among ten more codes of two capitals DK and ND are places, and only NA says nothing.
    """
    nothing, values = set[str](), set[str]()
    for column in columns:
        codes = {text for text in column.values if len(text) == 2 and text.isupper() and text != "NA"}
        absent = nothing_among(column.values) - (codes if 10 * len(codes) >= 9 * len(column.values) > 90 else set())
        nothing |= absent
        values |= {text for text in column.values if says_nothing(text)} - absent
    cells = dict.fromkeys((*ALWAYS, *sorted(nothing - values - {*ALWAYS})), 0)
    for column in columns:
        for text, count in (("", column.missing), *zip(column.values, column.counts.tolist())):
            if text in cells:
                cells[text] += count
    return cells


def missing_in_words(cells: Mapping[str, int]) -> str:
    """Return a sentence on the cells that are read as missing; empty if there is none."""
    marks = [f"{few(count)} {'empty' if not text else repr(text)}" for text, count in cells.items() if count]
    return f"Cells that are read as missing: {', '.join(marks)}." if marks else ""


def marks_of(column: ColumnTexts, labels: Mapping[str, str]) -> Marks:
    """Find the codes and words of a column that stand for no value. labels: what a file says that values mean."""
    labelled = tuple(value for value in column.values if labels.get(value) and says_nothing(labels[value]))
    if labelled:
        return Marks(labelled, "the labels of the file say so")
    written = column.format
    if written is None:
        return NO_MARKS
    numbers = {text: number for text in column.values if (number := written.number(text)) is not None}
    words = tuple(text for text in column.values if text not in numbers)
    if len(words) > _MOST_WORDS_AMONG_NUMBERS or 10 * len(words) > len(numbers) or any(map(has_digit, words)):
        return NO_MARKS
    of_words = Marks(words, "they are words among numbers", is_asked=True) if words else NO_MARKS
    if any(number != number.to_integral_value() and number < 0 for number in numbers.values()):
        return of_words
    codes = _codes(numbers, dict(zip(column.values, column.counts.tolist())))
    if not codes.texts:
        return of_words
    return replace(codes, texts=(*words, *codes.texts), is_asked=codes.is_asked or bool(words))


def _codes(numbers: Mapping[str, Decimal], rows_of: Mapping[str, int]) -> Marks:
    """Find the codes for no answer among whole numbers: negative ones, and 97, 98, 99 and the like beyond all others."""
    below = tuple(text for text, number in numbers.items() if number < 0)
    above = {text: number for text, number in numbers.items() if number >= 0}
    others = set(above.values())
    if any(abs(numbers[text]) not in _NEGATIVE for text in below):
        return NO_MARKS
    if below and len(others) >= (2 if len(below) > 1 else _FEWEST_OTHERS):
        is_asked = len(below) == 1 and abs(numbers[below[0]]) not in _CODES_IF_NEGATIVE
        return Marks(below, "all other numbers are 0 or more", is_asked)
    few_largest = nlargest(8, others)  # one more than a family has codes
    for digits in range(5, 0, -1):
        family = {Decimal(text * digits) for text in "789"}
        family |= {Decimal(10**digits - n) for n in range(1, 5) if digits > 1}
        if others and few_largest[0] > max(family):
            break
        largest = next((number for number in few_largest if number not in family), max(family))
        gap = 1 if digits == 1 else _GAP_BELOW_CODES
        for number in sorted(others & family):
            largest = number if 0 < number - largest <= gap else largest
        codes = tuple(text for text, number in above.items() if number in family and number > largest)
        rest = [rows_of[text] for text, number in above.items() if number <= largest]
        if not codes or len(rest) < 2:
            continue
        least, are_many = min(map(above.__getitem__, codes)), len(codes) > 1
        is_far = 0 < _TIMES_LARGER * largest <= least and least - largest > _GAP_BELOW_CODES
        if is_far and (are_many or (len(rest) >= _FEWEST_OTHERS and rows_of[codes[0]] > 1)):
            return Marks(codes, "all other numbers are no more than half of them")
        coded, median = sum(map(rows_of.__getitem__, codes)), sorted(rest)[len(rest) // 2]
        is_heap = len(rest) >= _FEWEST_OTHERS and coded > _TIMES_LARGER * median
        if is_far or are_many or is_heap:
            return Marks(codes, "they lie beyond all other numbers, as codes do that say why there is none", True)
    return NO_MARKS


_CODES_IF_NEGATIVE = frozenset(map(Decimal, (7, 8, 9, 77, 88, 99, 777, 888, 999, 9999)))

_NEGATIVE = _CODES_IF_NEGATIVE | frozenset(
    map(Decimal, (*range(1, 10), 66, *range(94, 100), 666, *range(994, 1000), 7777, 8888, *range(9994, 10000)))
)


def decimal_comma(columns: Sequence[ColumnTexts]) -> str:
    """Return the reason to read a comma before fractions; empty if no column, or some with a point, have fractions."""
    with_comma = [column.name for column in columns if _has_fractions(column, ",")]
    if not with_comma or any(_has_fractions(column, ".") for column in columns):
        return ""
    more = {1: "", 2: " and one more column"}.get(len(with_comma), f" and {len(with_comma) - 1} more columns")
    return f"the numbers of {with_comma[0]}{more} have a comma before their fraction, and no column has a point there"


def _has_fractions(column: ColumnTexts, sign: str) -> bool:
    if not any(sign in value for value in column.values):
        return False
    texts = [value for value in column.values if not says_nothing(value)]
    number_format = NumberFormat.of(texts, sign)
    if number_format is None or not all(map(number_format.is_number, texts)) or not any(sign in text for text in texts):
        return False
    others = [other for mark in DECIMAL_SIGNS if mark != sign for other in formats(mark)]
    return not any(all(map(other.is_number, texts)) for other in others)
