"""Which sign stands before the fraction of the numbers in a table: 3.5 or 3,5."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from marginals.config.guessing.missing_tokens import ALWAYS, WORDS
from marginals.tables.column import Column

_NUMBER = {sign: re.compile(rf"[-+]?[0-9]+(?:{re.escape(sign)}([0-9]+))?") for sign in ".,"}
_THOUSANDS = {sign: re.compile(rf"[-+]?[1-9][0-9]{{0,2}}{re.escape(sign)}[0-9]{{3}}") for sign in ".,"}
"""What may be a whole number, with a sign between its thousands."""


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
    numbers = [value.strip() for value in column.values if value not in (*ALWAYS, *WORDS)]
    is_number: Callable[[str], object] = _NUMBER[sign].fullmatch
    fractions = [number for number in numbers if sign in number]
    return all(map(is_number, numbers)) and not all(map(_THOUSANDS[sign].fullmatch, fractions))
