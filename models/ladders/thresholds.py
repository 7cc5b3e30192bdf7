"""How large the smallest group of each level of a fitted ladder must be."""

from dataclasses import dataclass
from fractions import Fraction

FACTOR = Fraction(3, 2)
"""Each threshold is about so many times the one before; with 45,000 rows and k = 10 that gives some twenty levels."""


def thresholds(k: int, rows: int) -> tuple[int, ...]:
    """Ascending sizes in rows that groups must reach, from k on, at most that of all rows together.

    >>> thresholds(10, 100)
    (10, 15, 23, 35, 53, 80)
    >>> thresholds(1, 8)
    (1, 2, 3, 5, 8)
    """
    sizes = []
    size = max(k, 1)
    while size <= rows:
        sizes.append(size)
        size = -(-size * FACTOR.numerator // FACTOR.denominator)
    return tuple(sizes)


@dataclass(frozen=True)
class FittedLadder:
    """How levels of an attribute were fitted to the rows of a table.

    start: the level whose values were merged. k: the first of the thresholds.
    """

    start: int
    k: int
