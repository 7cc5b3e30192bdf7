"""Texts and numbers that stand for no value in a table: `NA`, `.`, -9 where all else is positive, 999 far above all else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from marginals.tables.column import Column

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
    """What stands for no value. texts: all of it. why: of each number among them, for people."""

    texts: tuple[str, ...]
    why: Mapping[str, str]


def missing_tokens(columns: Sequence[Column]) -> MissingTokens:
    """What stands for no value in a table. A number only does where it does so in every column that has it.

    >>> ages = Column.of("age", ["31", "42", "53", "64", "75", "-9", "NA"])
    >>> tokens = missing_tokens([ages])
    >>> tokens.texts, tokens.why
    (('', '?', 'NA', '-9'), {'-9': 'all other numbers of age are 0 or more'})
    """
    words = [word for word in WORDS if any(word in column.values for column in columns)]
    why: dict[str, str] = {}
    numbers: dict[str, dict[str, Decimal]] = {}
    for token in (*_NEGATIVE, *_NINES):
        having = [column for column in columns if _spelling(token, column)]
        for column in having:
            if column.name not in numbers:
                numbers[column.name] = _numbers(column)
        reasons = [_stands_apart(Decimal(token), column, numbers[column.name]) for column in having]
        if having and all(reasons):
            others = "" if len(having) == 1 else f", and the same goes for {len(having) - 1} more columns"
            for spelling in dict.fromkeys(_spelling(token, column) for column in having):
                why[spelling] = f"{reasons[0]}{others}"
    return MissingTokens((*ALWAYS, *words, *why), why)


def _spelling(token: str, column: Column) -> str:
    """How a column spells a number, as -9 or -9.0; empty where it lacks it."""
    return next((text for text in (token, f"{token}{column.decimal}0") if text in column.values), "")


def _numbers(column: Column) -> dict[str, Decimal]:
    """The values of a column as numbers, words for missing values left out; none where another is no number."""
    try:
        number_of = {v: Decimal(numeral) for v, numeral in zip(column.values, column.numerals) if v not in WORDS}
    except ArithmeticError:
        return {}
    return number_of if all(number.is_finite() for number in number_of.values()) else {}


def _stands_apart(token: Decimal, column: Column, number_of: Mapping[str, Decimal]) -> str:
    """Why a number stands for nothing in a column that has it; empty where it may be a number like the others."""
    others = set(number_of.values()) - set(map(Decimal, _NEGATIVE if token < 0 else _NINES))
    if len(others) < _FEW:
        return ""
    if token < 0:
        return f"all other numbers of {column.name} are 0 or more" if min(others) >= 0 else ""
    count = int(column.counts[[number_of.get(value) == token for value in column.values]].sum())
    is_far = 0 < _FAR * max(others) <= token and min(others) >= 0
    return f"all other numbers of {column.name} are no more than half of it" if is_far and count > 1 else ""
