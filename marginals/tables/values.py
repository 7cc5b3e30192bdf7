"""Meaning of the text of a value: its number, or its date or time.

This is the only module that reads numbers. Sources, guesses, hierarchies, conditions, rules, audits and pages use it,
so that a text is the same number everywhere.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import field
from datetime import date, datetime, timedelta
from decimal import ROUND_HALF_EVEN, Context, Decimal
from functools import cache, lru_cache
from math import isfinite, nan
from typing import Final, NamedTuple

from models.errors import HierarchyError
from models.frozen import frozen
from models.tables.hierarchy import SUPPRESSED, Hierarchy

_DIGITS = 15  # that eight bytes surely keep of any decimal number (DBL_DIG of C)
_ROUNDED = Context(prec=_DIGITS, rounding=ROUND_HALF_EVEN)
_EXACT = Context(prec=1000)

DECIMAL_SIGNS = (".", ",")

BLANKS = " \t\u00a0\u2009\u202f"  # may stand around a number
# Minus of typographers, curly apostrophe, narrow and unbreakable spaces.
ALIKE = str.maketrans({"\u2212": "-", "\u2019": "'", "\u00a0": " ", "\u2009": " ", "\u202f": " "})

_THOUSANDS = (",", ".", "'", " ")

_LONG = 300  # digits; more may be larger than any floating-point number
_WHOLE_DIGITS = "[0-9]{1,400}"

PLAIN = r"[-+]?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?"  # inside a label or a condition
_CANONICAL = re.compile(r"0|-?[1-9][0-9]*|-?(0|[1-9][0-9]*)\.[0-9]*[1-9]")  # as `number_text` writes it


@frozen
class NumberFormat:
    """Form of the numbers of a column: a property of the whole column, never of one value.

    `decimal`: the sign before the fraction. `thousands`: the sign between groups of digits, of three, or of two above
    the last three as in India; "" for none. `percent`: whether a percent sign follows each number.
    """

    decimal: str = "."
    thousands: str = ""
    percent: bool = False
    _compiled: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_compiled", re.compile(self.pattern))

    @classmethod
    def of(cls, texts: Collection[str], decimal: str = ".") -> "NumberFormat | None":
        """Return the format in which all values of a column are numbers; None where they are words, or codes.

        `texts`: distinct. Words without a digit may stand among at least as many numbers. Codes have leading zeros, as
        `007`, an E as `1E1` beside `12`, or zeros at the end that tell them apart, as `250.1` and `250.10`.
        """
        together = "\n".join(texts)
        if _PLAIN_WHOLES.fullmatch(together) and together.count("\n") == len(texts) - 1:
            return _format(decimal)
        numerals = [text for text in texts if has_digit(text)]
        if not numerals or 2 * len(numerals) < len(texts) or any(map(has_leading_zero, numerals)):
            return None
        if _are_codes_with_letter(numerals):
            return None
        written = next((number_format for number_format in formats(decimal) if number_format._is_of(numerals)), None)
        distinct = frozenset(numerals)
        return None if any(_without_end_zeros(text, decimal) in distinct for text in numerals) else written

    @classmethod
    def nearest(cls, texts: Collection[str], decimal: str = ".") -> "NumberFormat":
        """Return the format in which most of some values are numbers, for a column that is declared to hold numbers."""
        fitting = next((number_format for number_format in formats(decimal) if number_format._is_of(texts)), None)
        return fitting or max(
            (number_format for number_format in formats(decimal) if number_format.is_shown_by(texts)),
            key=lambda candidate: sum(map(candidate.is_number, texts)),
        )

    def _is_of(self, texts: Collection[str]) -> bool:
        return all(map(self.is_number, texts)) and self.is_shown_by(texts)

    def is_shown_by(self, texts: Iterable[str]) -> bool:
        """Return whether a point between thousands cannot be one before a fraction, as in a program's `1.234`."""
        return self.thousands != "." or any("," in text or text.count(".") > 1 for text in texts)

    @property
    def is_grouped(self) -> bool:
        """Return whether it has signs that programs do not write, so that readers of the column should know."""
        return bool(self.thousands) or self.percent

    @property
    def pattern(self) -> str:
        """Regular expression of numbers, without `BLANKS` around them and signs that are `ALIKE`."""
        sign, digits = re.escape(self.decimal), _WHOLE_DIGITS
        if self.thousands:
            between = re.escape(self.thousands)
            groups = (
                rf"[1-9][0-9]{{0,2}}(?:{between}[0-9]{{3}})+|[1-9][0-9]?(?:{between}[0-9]{{2}})+{between}[0-9]{{3}}"
            )
            digits = f"(?:{groups}|{digits})"
        body = rf"(?:{digits}(?:{sign}[0-9]{{0,400}})?|{sign}[0-9]{{1,400}})"
        return rf"[-+]?{body}(?:[eE][-+]?[0-9]{{1,3}})?" + (" ?%" if self.percent else "")

    def plain(self, text: str) -> str | None:
        """Return the number as programs write it, with a point and no other sign; None for other texts."""
        if not self._compiled.fullmatch(text):
            text = text.strip(BLANKS).translate(ALIKE)
            if not self._compiled.fullmatch(text):
                return None
        if self.percent:
            text = text[:-1].rstrip(" ")
        if self.thousands:
            text = text.replace(self.thousands, "")
        if self.decimal != ".":
            text = text.replace(self.decimal, ".")
        is_surely_finite = len(text) < _LONG and "e" not in text and "E" not in text
        return text if is_surely_finite or isfinite(float(text)) else None

    def is_number(self, text: str) -> bool:
        """Return whether a text is a number."""
        return self.plain(text) is not None

    def number(self, text: str) -> Decimal | None:
        """Return the number of a text, if it is one; fractions to 15 digits, so that 0.30000000000000004 is 0.3."""
        return _number(self.decimal, self.thousands, self.percent, text)

    def real(self, text: str) -> float:
        """Return the floating-point number of a text, the same as every engine has; NaN for none."""
        plain = self.plain(text)
        return nan if plain is None else float(plain)

    def canonical(self, text: str) -> str:
        """Return the one spelling of the number of a text; the text where it is none."""
        if len(text) <= _DIGITS and self.decimal == "." and _CANONICAL.fullmatch(text):
            return text
        number = self.number(text)
        return text if number is None else number_text(number)

    def __str__(self) -> str:
        """Return a description for readers of messages."""
        sign = "point" if self.decimal == "." else "comma"
        signs = {",": "a comma", ".": "a point", "'": "an apostrophe", " ": "a space"}
        between = f", {signs[self.thousands]} between thousands" if self.thousands else ""
        return f"a decimal {sign}{between}" + (", in percent" if self.percent else "")


_format = cache(NumberFormat)


@lru_cache(maxsize=1 << 17)
def _number(decimal: str, thousands: str, percent: bool, text: str) -> Decimal | None:
    plain = _format(decimal, thousands, percent).plain(text)
    if plain is None:
        return None
    number = Decimal(plain)
    if len(plain) > _DIGITS and number != number.to_integral_value():
        number = _ROUNDED.plus(number)
    return number.normalize(_EXACT) if number else Decimal(0)


POINT = NumberFormat()  # as programs write numbers
_DIGIT = re.compile("[0-9]")
_LIKE_NUMBER = re.compile(f"[-+.,{BLANKS}\u2212]*[0-9][-+.,'eE%0-9{BLANKS}\u2212\u2019]*")
_LEADING_ZERO = re.compile(f"[{BLANKS}]*[-+\u2212]*0[0-9]")


def has_digit(text: str) -> bool:
    """Return whether a text has one of the digits 0 to 9."""
    return _DIGIT.search(text) is not None


def _without_end_zeros(text: str, decimal: str) -> str | None:
    if text[-1:] != "0" or decimal not in text:
        return None
    plain = text.rstrip("0")
    return plain if plain[-1] in "123456789" and plain.rpartition(decimal)[2].isdecimal() else None


_LETTER_E = re.compile("[0-9]+[eE]([0-9]{1,3})")


def _are_codes_with_letter(numerals: Collection[str]) -> bool:
    # No program writes 1E1 for 10, nor an exponent that makes no number shorter.
    coded = {text: match for text in numerals if (match := _LETTER_E.fullmatch(text))}
    if not coded:
        return False
    plain, longest = {text for text in numerals if text not in coded}, max(map(len, coded))
    numbers = {number_text(number) for text in coded if (number := POINT.number(text)) is not None}
    is_short = any(int(match[1]) <= 2 for match in coded.values())
    return is_short or not numbers.isdisjoint(plain) or all(len(text) <= longest for text in plain)


def has_leading_zero(text: str) -> bool:
    """Return whether a text begins with a zero that no number needs, so that it is a code: `007`, but not `0.7`."""
    return _LEADING_ZERO.match(text) is not None


@cache
def formats(decimal: str) -> tuple[NumberFormat, ...]:
    """Return the formats with a sign before the fraction; a text is the same number in all in which it is one."""
    between = ("", *(sign for sign in _THOUSANDS if sign != decimal))
    return tuple(NumberFormat(decimal, thousands, percent) for percent in (False, True) for thousands in between)


def number_in(text: str, decimal: str = ".") -> Decimal | None:
    """Return the number of one text, with any sign between thousands, None where it is none."""
    if not _LIKE_NUMBER.fullmatch(text):
        return None
    numbers = (number_format.number(text) for number_format in formats(decimal))
    return next((number for number in numbers if number is not None), None)


def base_text(text: str, decimal: str = ".") -> str:
    """Return the text of a value in the hierarchy of a table: one spelling of each number and date."""
    if has_leading_zero(text) or not has_digit(text):
        return date_text(text) or text
    number = number_in(text, decimal)
    return number_text(number) if number is not None else date_text(text) or text


_MOST_COUNTED = 10**12


def count_in(text: str, decimal: str = "") -> int | None:
    """Return the count in a cell of a published table, with any sign between thousands.

    12.000 can be twelve or twelve thousand, so it is none unless `decimal` is known.
    """
    figure = figure_in(text, decimal)
    if figure is None or figure.is_percent or (figure.decimals == 3 and "." in text and "," not in text):
        return None
    number = figure.number
    return int(number) if 0 <= number < _MOST_COUNTED and number == number.to_integral_value() else None


class Figure(NamedTuple):
    """A number as a published table prints it. `decimals`: the number of digits behind its point or comma."""

    number: Decimal
    decimals: int
    is_percent: bool


@lru_cache(1 << 14)
def figure_in(text: str, decimal: str = "") -> Figure | None:
    """Return the number in a cell of a published table, with a decimal point or comma; None for another text."""
    if not has_digit(text):
        return None
    for sign in decimal or DECIMAL_SIGNS:
        for number_format in formats(sign):
            if (plain := number_format.plain(text)) is not None and (decimal or number_format.is_shown_by([text])):
                number = number_format.number(text) or Decimal(0)
                behind = plain.partition(".")[2] if "e" not in plain.lower() else ""
                if len(behind) > 5 and abs(number - round(number)) < Decimal("1e-5"):
                    return Figure(Decimal(round(number)), 0, number_format.percent)  # a sum of floating-point numbers
                return Figure(number, len(behind), number_format.percent)
    return None


def number_text(number: Decimal) -> str:
    """Return the text of a number: without exponent, or needless zeros."""
    written = format(number, "f")
    written = written.rstrip("0").rstrip(".") if "." in written else written
    return "0" if written == "-0" else written


def missing_among(texts: Iterable[str | None], marks: Collection[str], decimal: str = ".") -> frozenset[str]:
    """Return the values of a column that are marks for no value; a number is one however the column spells it."""
    mark_texts, spelled = frozenset(marks), NumberFormat(decimal)
    numbers = {number for mark in mark_texts if (number := POINT.number(mark)) is not None}
    begins = {number_text(number)[0] for number in numbers} | {"+", "\u2212"}

    def is_mark(text: str) -> bool:
        may_be_number = bool(numbers) and text[:1] in begins and not has_leading_zero(text)
        return text in mark_texts or (may_be_number and spelled.number(text) in numbers)

    return frozenset(text for text in texts if text is not None and is_mark(text))


MOST_CONSECUTIVE = 10_000  # beyond, whole numbers have no single values between them


def consecutive(values: Iterable[str]) -> list[str] | None:
    """Return all whole numbers from the lowest to the highest; None for another spelling, and for too many."""
    texts = list(values)
    if not texts or not all(map(is_plain_whole, texts)):
        return None
    numbers = list(map(int, texts))
    low, high = min(numbers), max(numbers)
    return list(map(str, range(low, high + 1))) if high - low < MOST_CONSECUTIVE else None


def is_plain_whole(text: str) -> bool:
    """Return whether a text is a whole number of at most ten digits in its shortest spelling."""
    return _PLAIN_WHOLE.fullmatch(text) is not None


_PLAIN_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,9}")
_PLAIN_WHOLES = re.compile(rf"(?:{_PLAIN_WHOLE.pattern})(?:\n(?:{_PLAIN_WHOLE.pattern}))*")


_LIKE_A_DATE = re.compile(
    r"([0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}|[0-9]{1,2}[-/.][0-9]{1,2}[-/.][0-9]{2,4})([ T][0-9:.]+)?"
)


def looks_like_a_date(text: str) -> bool:
    """Return whether a text has the form of a date, even an impossible one or one with the month first."""
    return _LIKE_A_DATE.fullmatch(text.strip()) is not None


# Weeks are those of ISO 8601, which begin on Mondays and lie in no month and no year.
UNITS: Final = ("day", "week", "month", "quarter", "year", "decade")
_MOST_DAYS = 100_000

_ENDS_WITH_YEAR = re.compile(r"([0-9]{1,2})\.([0-9]{1,2})\.([0-9]{4})(.*)", re.DOTALL)
_ENDS_IN_EITHER_ORDER = re.compile(r"([0-9]{1,2})([/-])([0-9]{1,2})\2([0-9]{4})(.*)", re.DOTALL)
_BEGINS_WITH_YEAR = re.compile(r"([0-9]{4})([-/.])([0-9]{1,2})\2([0-9]{1,2})(.*)", re.DOTALL)
_TIME = re.compile(
    r"[ T]([0-9]{1,2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?(?: ?(?:Z|UTC|[-+][0-9]{2}(?::?[0-9]{2})?))?"
)


def check_units(units: Sequence[str]) -> None:
    """Raise HierarchyError unless the units are some of UNITS, each one made up of whole ones before it."""
    if unknown := [unit for unit in units if unit not in UNITS]:
        raise HierarchyError(f"dates are cut to {', '.join(UNITS)}, not to {unknown[0]!r}")
    places = [UNITS.index(unit) for unit in units]
    if places != sorted(set(places)):
        raise HierarchyError(f"each unit of dates must be longer than the one before, got {list(units)}")
    if "week" in units and units[-1] != "week":
        raise HierarchyError("weeks lie in no month and no year, so no other unit can follow them")


def date_text(text: str) -> str | None:
    """Return the one text of a date or time: 2023-11-02, or 2023-11-02 14:30:00; None for other texts.

    Dates begin with the year, or are spelled with points and then end with it, the day first. Zones are left out.
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


def dates_of_column(texts: Collection[str]) -> dict[str, str]:
    """Return the one text of each date of a column that end with the year; nothing unless they tell days from months."""
    matches = {text: match for text in texts if (match := _ENDS_IN_EITHER_ORDER.fullmatch(text))}
    if len(matches) < len(set(texts)):
        return {}
    first, second = (
        {text: date_text(f"{m[4]}-{m[month]}-{m[day]}{m[5]}") or "" for text, m in matches.items()}
        for month, day in ((1, 3), (3, 1))
    )
    readings = [read for read in (first, second) if all(read.values())]
    return readings[0] if readings and (len(readings) == 1 or first == second) else {}


def date_hierarchy(values: Iterable[str], units: Sequence[str]) -> Hierarchy:
    """Return the hierarchy of dates in the spelling of `date_text`, cut to ever longer units.

    Days are filled up to all days of the outermost units, so the hierarchy reveals only these. Times, and days too far
    apart, stay as they are. Raises HierarchyError as `check_units` does, and for no value.
    """
    check_units(units)
    days_or_times = sorted(set(values))
    if not days_or_times or not units:
        raise HierarchyError("dates need at least one unit and one value")
    if all(len(value) == len("2023-11-12") for value in days_or_times):
        first = _edge(date.fromisoformat(days_or_times[0]), units[-1], -1)
        last = _edge(date.fromisoformat(days_or_times[-1]), units[-1], 1)
        if (days := (last - first).days) < _MOST_DAYS:
            days_or_times = [(first + timedelta(number)).isoformat() for number in range(days + 1)]
    days_of = {value: date.fromisoformat(value[:10]) for value in days_or_times}
    return Hierarchy.from_rows((value, *(_label(day, u) for u in units), SUPPRESSED) for value, day in days_of.items())


def _label(day: date, unit: str) -> str:
    if unit == "decade":
        return f"{day.year // 10:03d}0s"
    if unit == "quarter":
        return f"{day.year:04d}-Q{(day.month + 2) // 3}"
    if unit == "week":
        year, week, _ = day.isocalendar()
        return f"{year:04d}-W{week:02d}"
    return day.isoformat()[: {"day": 10, "month": 7, "year": 4}[unit]]


def _edge(day: date, unit: str, step: int) -> date:
    label = _label(day, unit)
    while day not in (date.min, date.max) and _label(day + timedelta(step), unit) == label:
        day += timedelta(step)
    return day
