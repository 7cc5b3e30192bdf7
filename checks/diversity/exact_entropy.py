"""Entropy against a logarithm, decided exactly where floating point cannot tell.

A class with weights w_1 .. w_m, W their sum, is entropy l-diverse iff W^W >= l^W * prod w_i^w_i. With large weights the
powers are beyond reach. Where floating point tells the two sides apart by far more than its own error, that decides.
Otherwise equality is decided on the exponents of a coprime base (Bernstein 2005), and an inequality, known to be strict
after that, by decimal logarithms of growing precision.
"""

from collections.abc import Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from math import fsum, gcd, lcm, log

_CLEARLY = 1e-12
"""Part of the sum of all terms' sizes that a difference must exceed to be believed. The error is below 1e-14 of that sum:
each term is a product of a rounded number and one to three logarithms, all within a few units of 2^-53."""

_MOST_BITS = 1000
"""Of whole numbers that floats hold without overflow, their products with logarithms included."""


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
    if max(total, upper, lower).bit_length() <= _MOST_BITS:
        terms = [-w * log(w) for w in whole] + [total * log(total), total * log(lower), -total * log(upper)]
        difference = fsum(terms)
        if abs(difference) > _CLEARLY * fsum(map(abs, terms)):
            return difference > 0
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
            exactly = Decimal(total) * (Decimal(total).ln() + Decimal(lower).ln() - Decimal(upper).ln()) - sum(logs)
            if abs(exactly) > Decimal(total) * Decimal(10) ** (10 - digits):
                return exactly > 0
    raise ArithmeticError("two unequal entropies agree to 10,000 digits")
