"""Entropy against a logarithm, decided exactly where floating point cannot tell.

A class with weights w_1 .. w_m, W their sum, is entropy l-diverse iff W^W >= l^W * prod w_i^w_i. With large weights the
powers are beyond reach, so equality is decided on the exponents of a coprime base (Bernstein 2005), and an inequality,
known to be strict after that, by decimal logarithms of growing precision.
"""

from collections.abc import Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from math import gcd, lcm


def _coprime_base(numbers: Sequence[int]) -> list[int]:
    """Pairwise coprime integers above 1 of which every given positive integer is a product of powers."""
    base: list[int] = []
    pending = [n for n in set(numbers) if n > 1]
    while pending:
        number = pending.pop()
        for position, known in enumerate(base):
            common = gcd(number, known)
            if common > 1:
                del base[position]
                pending += [part for part in (common, known // common, number // common) if part > 1]
                break
        else:
            base.append(number)
    return base


def _exponent(number: int, factor: int) -> int:
    exponent = 0
    while number % factor == 0:
        number //= factor
        exponent += 1
    return exponent


def entropy_is_at_least(weights: Sequence[Fraction | int], effective: Fraction) -> bool:
    """Whether the entropy of a distribution is at least ln(effective), exactly.

    weights: nonnegative, not all zero, in any scale. effective: positive.

    >>> entropy_is_at_least([1, 1, 1, 1, 4], Fraction(4))
    True
    """
    positive = [Fraction(w) for w in weights if w > 0]
    scale = lcm(*(w.denominator for w in positive))
    whole = [int(w * scale) for w in positive]
    divisor = gcd(*whole)
    whole = [w // divisor for w in whole]
    total = sum(whole)
    upper, lower = effective.numerator, effective.denominator
    base = _coprime_base([*whole, total, upper, lower])
    balance = (
        total * (_exponent(total, f) + _exponent(lower, f) - _exponent(upper, f))
        - sum(w * _exponent(w, f) for w in whole)
        for f in base
    )
    if not any(balance):
        return True
    for digits in (50, 200, 1000, 10_000):
        with localcontext() as context:
            context.prec = digits + len(str(total))
            logs = [Decimal(w) * Decimal(w).ln() for w in whole]
            difference = Decimal(total) * (Decimal(total).ln() + Decimal(lower).ln() - Decimal(upper).ln()) - sum(logs)
            if abs(difference) > Decimal(total) * Decimal(10) ** (10 - digits):
                return difference > 0
    raise ArithmeticError("two unequal entropies agree to 10,000 digits")
