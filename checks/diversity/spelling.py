"""How criteria write their numbers: reading the text back gives the same number."""

from fractions import Fraction


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
