"""The numbers that texts in a table are, exactly, and the one text that each number has in a hierarchy."""

import re
from decimal import ROUND_HALF_EVEN, Context, Decimal

_DIGITS = 15
"""Significant digits that a floating-point number of eight bytes surely keeps, of any decimal number (DBL_DIG of C)."""

_ROUNDED = Context(prec=_DIGITS, rounding=ROUND_HALF_EVEN)
_EXACT = Context(prec=200)
_NUMBER = {
    sign: re.compile(rf"[-+]?(?:[0-9]{{1,60}}(?:{sign}[0-9]{{0,60}})?|{sign}[0-9]{{1,60}})(?:[eE][-+]?[0-9]{{1,2}})?")
    for sign in (r"\.", ",")
}

DECIMAL_SIGNS = (".", ",")


def number_in(text: str, decimal: str = ".") -> Decimal | None:
    """The number that a text is, None where it is none. decimal: the sign before its fraction.

    A number with a fraction is read to fifteen significant digits, so that 0.30000000000000004, which computers make of
    0.1 + 0.2, is 0.3; whole numbers are read as they are.

    >>> number_in("163.0"), number_in("18,5", ","), number_in("1e3"), number_in("0.30000000000000004"), number_in("-")
    (Decimal('163'), Decimal('18.5'), Decimal('1E+3'), Decimal('0.3'), None)
    """
    if not _NUMBER[r"\." if decimal == "." else ","].fullmatch(text := text.strip()):
        return None
    number = Decimal(text.replace(",", "."))
    if number != number.to_integral_value():
        number = _ROUNDED.plus(number)
    return number.normalize(_EXACT) if number else Decimal(0)


def number_text(number: Decimal) -> str:
    """The text of a number: without exponent, or zeros that say nothing.

    >>> [number_text(Decimal(text)) for text in ("163.0", "1E+3", "-0.50", "-0")]
    ['163', '1000', '-0.5', '0']
    """
    written = format(number, "f")
    written = written.rstrip("0").rstrip(".") if "." in written else written
    return "0" if written == "-0" else written
