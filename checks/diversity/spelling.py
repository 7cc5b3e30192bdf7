"""How criteria write and read their numbers: reading the text back gives the same number."""

import re
from fractions import Fraction

from checks.errors import CriterionError

_NUMBER = re.compile(r"-?[0-9]{1,12}(\.[0-9]{1,12}|/[0-9]{1,12})?")
"""Numbers as a criterion may spell them; an exponent could ask for more digits than there is memory."""


def numbers(text: str) -> list[Fraction]:
    """The numbers between commas, exactly: whole, decimal or fractions; none where a part is no number.

    >>> numbers("2.8, 4"), numbers("1e9"), numbers("")
    ([Fraction(14, 5), Fraction(4, 1)], [], [])
    """
    parts = [part.strip() for part in text.split(",")]
    if not all(map(_NUMBER.fullmatch, parts)):
        return []
    try:
        return [Fraction(part) for part in parts]
    except ZeroDivisionError:
        return []


def check_l(spelling: str, l: Fraction | int, least: int = 1) -> None:
    """Raise CriterionError for an l that is too small. spelling: of the criterion."""
    if l < least:
        raise CriterionError(f"{spelling} needs l of at least {least}, got {spelled(l)}")


def spelled(value: Fraction | int) -> str:
    """A whole number or a decimal where one says it exactly, else a fraction.

    >>> spelled(Fraction(4)), spelled(Fraction(14, 5)), spelled(Fraction(10, 3))
    ('4', '2.8', '10/3')
    """
    value = Fraction(value)
    digits, rest = 0, value.denominator
    for prime in (2, 5):
        power = 0
        while rest % prime == 0:
            rest, power = rest // prime, power + 1
        digits = max(digits, power)
    if rest > 1:
        return str(value)
    if not digits:
        return str(value.numerator)
    shifted = str(abs(int(value * 10**digits))).zfill(digits + 1)
    return f"{'-' if value < 0 else ''}{shifted[:-digits]}.{shifted[-digits:]}"
