"""Spelling of the cells of an unknown table: what stands for no value, and the sign before a fraction."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from marginals.messages import few
from marginals.tables.attribute import Column
from marginals.tables.spellings import nothing_among, says_nothing
from marginals.tables.values import DECIMAL_SIGNS, NumberFormat, formats, has_digit

ALWAYS = ("", "?")
_TIMES_LARGER = 2
_GAP_BELOW_CODES = 5
_FEWEST_OTHERS = 5
_MOST_WORDS_AMONG_NUMBERS = 3


def missing_tokens(columns: Sequence[Column]) -> dict[str, int]:
    """Return the texts that say nothing in all columns that have them, and how many cells have each.

    Cells without a text count as empty ones.
    """
    nothing, values = set[str](), set[str]()
    for column in columns:
        absent = nothing_among(column.values)
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


@dataclass(frozen=True)
class Marks:
    """Texts of one column that stand for no value. why: what says so. is_asked: whether that may be wrong."""

    texts: tuple[str, ...] = ()
    why: str = ""
    is_asked: bool = False


NO_MARKS = Marks()


def marks_of(column: Column, labels: Mapping[str, str]) -> Marks:
    """Find the codes and words of a column that stand for no value. labels: what a file says that values mean."""
    labelled = tuple(value for value in column.values if labels.get(value) and says_nothing(labels[value]))
    if labelled:
        return Marks(labelled, "the labels of the file say so")
    written = NumberFormat.of(column.values, column.decimal)
    if written is None:
        return NO_MARKS
    numbers = {text: number for text in column.values if (number := written.number(text)) is not None}
    words = tuple(text for text in column.values if text not in numbers)
    if words and (
        len(words) > _MOST_WORDS_AMONG_NUMBERS or 10 * len(words) > len(numbers) or any(map(has_digit, words))
    ):
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
    for digits in range(5, 0, -1):
        family = {Decimal(text * digits) for text in "789"}
        family |= {Decimal(10**digits - n) for n in range(1, 5) if digits > 1}
        largest, gap = max(others - family, default=max(family)), 1 if digits == 1 else _GAP_BELOW_CODES
        for number in sorted(others & family):
            largest = number if 0 < number - largest <= gap else largest
        codes = tuple(text for text, number in above.items() if number in family and number > largest)
        rest = [rows_of[text] for text, number in above.items() if number <= largest]
        if not codes or len(rest) < 2 or max(others) > max(family):
            continue
        least, are_many = min(map(above.__getitem__, codes)), len(codes) > 1
        is_far = 0 < _TIMES_LARGER * largest <= least and least - largest > _GAP_BELOW_CODES
        if is_far and (are_many or (len(rest) >= _FEWEST_OTHERS and rows_of[codes[0]] > 1)):
            return Marks(codes, "all other numbers are no more than half of them")
        is_heap = (
            len(rest) >= _FEWEST_OTHERS
            and sum(map(rows_of.__getitem__, codes)) > _TIMES_LARGER * sorted(rest)[len(rest) // 2]
        )
        if is_far or are_many or is_heap:
            return Marks(codes, "they lie beyond all other numbers, as codes do that say why there is none", True)
    return NO_MARKS


_CODES_IF_NEGATIVE = frozenset(map(Decimal, (7, 8, 9, 77, 88, 99, 777, 888, 999, 9999)))

_NEGATIVE = _CODES_IF_NEGATIVE | frozenset(
    map(Decimal, (*range(1, 10), 66, *range(94, 100), 666, *range(994, 1000), 7777, 8888, *range(9994, 10000)))
)


def decimal_comma(columns: Sequence[Column]) -> str:
    """Return the reason to read a comma before fractions; empty for a point.

    Some columns hold numbers with a comma, other than 1,234, and no column holds any with a point.
    """
    with_comma = [column.name for column in columns if _has_fractions(column, ",")]
    if not with_comma or any(_has_fractions(column, ".") for column in columns):
        return ""
    more = {1: "", 2: " and one more column"}.get(len(with_comma), f" and {len(with_comma) - 1} more columns")
    return f"the numbers of {with_comma[0]}{more} have a comma before their fraction, and no column has a point there"


def _has_fractions(column: Column, sign: str) -> bool:
    texts = [value for value in column.values if not says_nothing(value)]
    number_format = NumberFormat.of(texts, sign)
    if number_format is None or not all(map(number_format.is_number, texts)) or not any(sign in text for text in texts):
        return False
    others = [other for mark in DECIMAL_SIGNS if mark != sign for other in formats(mark)]
    return not any(all(map(other.is_number, texts)) for other in others)
