"""How the cells of an unknown table are written: what stands for no value, and which sign comes before a fraction."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

from marginals.tables.attribute import Column
from marginals.tables.values import DECIMAL_SIGNS, NumberFormat, formats

ALWAYS = ("", "?")
"""What stands for nothing in every table."""

WORDS = (
    "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NaT", "NULL", "null", "#NULL!", ".", "..", "-", "--",
)  # fmt: skip
"""What stands for nothing wherever it occurs."""

_NEGATIVE = ("-7", "-8", "-9", "-77", "-88", "-99", "-777", "-888", "-999", "-9999")
_NINES = ("98", "99", "998", "999", "9998", "9999", "99999")

_FAR = 2
"""Times that a number for nothing is as large as the largest that is one, at least."""

_FEW = 5
"""Different numbers besides, at least: of fewer nobody can say what is out of place."""


@dataclass(frozen=True)
class MissingTokens:
    """What stands for no value. texts: all of it. why: of each number among them, for people. cells: how many each has."""

    texts: tuple[str, ...]
    why: Mapping[str, str]
    cells: Mapping[str, int] = field(default_factory=dict, hash=False)

    def counted_in(self, columns: Sequence[Column]) -> "MissingTokens":
        """Count how many cells of some columns have each; cells without a text count as empty ones."""
        cells = dict.fromkeys(self.texts, 0)
        for column in columns:
            cells[""] += column.missing
            for text, count in zip(column.values, column.counts.tolist()):
                if text in cells:
                    cells[text] += count
        return replace(self, cells={text: count for text, count in cells.items() if count})

    def __str__(self) -> str:
        """How many cells are read as missing, and by which mark; empty where none is."""
        marks = [f"{count:,} {'empty' if not text else repr(text)}" for text, count in self.cells.items()]
        return f"Cells that are read as missing: {', '.join(marks)}." if marks else ""


def missing_tokens(columns: Sequence[Column]) -> MissingTokens:
    """Find what stands for no value in a table. A number only does where it does so in every column that has it.

    >>> ages = Column.of("age", ["31", "42", "53", "64", "75", "-9", "NA"])
    >>> tokens = missing_tokens([ages])
    >>> tokens.texts, tokens.why
    (('', '?', 'NA', '-9'), {'-9': 'all other numbers of age are 0 or more'})
    """
    words = [word for word in WORDS if any(word in column.values for column in columns)]
    why: dict[str, str] = {}
    numbers: dict[str, Mapping[str, Decimal]] = {}
    for token in (*_NEGATIVE, *_NINES):
        having = {column.name: column for column in columns if _spelling(token, column)}
        numbers |= {name: _numbers_by_text(column) for name, column in having.items() if name not in numbers}
        reasons = [_stands_apart(Decimal(token), column, numbers[name]) for name, column in having.items()]
        if having and all(reasons):
            others = "" if len(having) == 1 else f", and the same goes for {len(having) - 1} more columns"
            why |= {_spelling(token, column): f"{reasons[0]}{others}" for column in having.values()}
    return MissingTokens((*ALWAYS, *words, *why), why)


def _spelling(token: str, column: Column) -> str:
    """How a column spells a number, as -9 or -9.0; empty where it lacks it."""
    return next((text for text in (token, f"{token}{column.decimal}0") if text in column.values), "")


def _numbers_by_text(column: Column) -> dict[str, Decimal]:
    """The values of a column as numbers, words for missing values left out; none where another is no number."""
    texts = [value for value in column.values if value not in WORDS]
    numbers = NumberFormat.of(texts, column.decimal)
    read = {text: number for text in texts if numbers is not None and (number := numbers.number(text)) is not None}
    return read if len(read) == len(texts) else {}


def _stands_apart(token: Decimal, column: Column, number_of: Mapping[str, Decimal]) -> str:
    """Why a number stands for nothing in a column that has it; empty where it may be a number like the others."""
    others = set(number_of.values()) - set(map(Decimal, _NEGATIVE if token < 0 else _NINES))
    if len(others) < _FEW or min(others) < 0:
        return ""
    if token < 0:
        return f"all other numbers of {column.name} are 0 or more"
    count = int(column.counts[[number_of.get(value) == token for value in column.values]].sum())
    is_far = 0 < _FAR * max(others) <= token
    return f"all other numbers of {column.name} are no more than half of it" if is_far and count > 1 else ""


@dataclass(frozen=True)
class DecimalSign:
    """The sign before the fraction of a number, and why, for people; nothing where it is the point, as usual."""

    sign: str = "."
    why: str = ""


POINT = DecimalSign()


def likely_decimal(columns: Sequence[Column]) -> DecimalSign:
    """The comma where some columns hold numbers with one and no column holds numbers with a point, else the point.

    1,234 and 5,678 may be whole numbers: columns in which every fraction has three digits say nothing.

    >>> likely_decimal([Column.of("bmi", ["21,5", "30", "NA"]), Column.of("age", ["31", "42", "53"])])
    DecimalSign(sign=',', why='the numbers of bmi have a comma before their fraction, and no column has a point there')
    >>> likely_decimal([Column.of("bmi", ["21,5", "30"]), Column.of("weight", ["61.5"])])
    DecimalSign(sign='.', why='')
    """
    with_comma = [column.name for column in columns if _has_fractions(column, ",")]
    if not with_comma or any(_has_fractions(column, ".") for column in columns):
        return POINT
    more = {1: "", 2: " and one more column"}.get(len(with_comma), f" and {len(with_comma) - 1} more columns")
    return DecimalSign(
        ",", f"the numbers of {with_comma[0]}{more} have a comma before their fraction, and no column has a point there"
    )


def _has_fractions(column: Column, sign: str) -> bool:
    """Whether all values are numbers, some of them with a sign that stands before a fraction for sure."""
    texts = [value for value in column.values if value not in (*ALWAYS, *WORDS)]
    number_format = NumberFormat.of(texts, sign)
    if number_format is None or not all(map(number_format.is_number, texts)) or not any(sign in text for text in texts):
        return False
    others = [other for mark in DECIMAL_SIGNS if mark != sign for other in formats(mark)]
    return not any(all(map(other.is_number, texts)) for other in others)
