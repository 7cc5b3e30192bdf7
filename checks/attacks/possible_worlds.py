"""Possible worlds: the ways in which the rows of a class can fall into parts of it, and how likely each is."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import comb, factorial, prod

import numpy as np

from checks.diversity.criterion import Diversity, satisfies
from models.arrays import CountArray

_MOST_VECTORS = 20_000
"""Ways to draw the sensitive values of a part from its class that are looked at."""

_MOST_VISITS = 200_000
"""Ways to go on from one part of a class to the next that are looked at, in one step."""


class TooManyWorldsError(Exception):
    """More possible worlds than are looked at."""


def large_parts_probability(rows: int, weights: Sequence[float], least: int) -> float:
    """P(no part has 1 .. least-1 rows) for a multinomial with these weights.

    Parts with Poisson numbers of rows are independent, and multinomial given their sum: so the small numbers are left
    out of each, and the sum is that of all parts by convolution.
    """
    from scipy.stats import poisson  # slow to import, and few need it

    numbers = np.arange(rows + 1)
    length = 2 * len(numbers)
    sums = np.zeros(rows + 1)
    sums[0] = 1.0
    for weight in weights:
        chances = poisson.pmf(numbers, rows * weight)
        chances[1:least] = 0
        sums = np.fft.irfft(np.fft.rfft(sums, length) * np.fft.rfft(chances, length), length)[: rows + 1]
    return float(np.clip(sums[rows] / poisson.pmf(rows, rows), 0.0, 1.0))


class Visits:
    """Counts down what may still be looked at."""

    def __init__(self) -> None:
        self._left = _MOST_VISITS

    def spend(self, number: int) -> None:
        """Look at so many more. Raises TooManyWorldsError where there are more than may be looked at."""
        self._left -= number
        if self._left < 0:
            raise TooManyWorldsError


@dataclass(frozen=True)
class Draws:
    """passing: probability that all parts are diverse. shares: for each part and value the expected share of its rows
    where all are, and 0 where not all are: the expectation of their product.
    """

    passing: Fraction
    shares: tuple[tuple[Fraction, ...], ...]


def diverse_draws(vector: CountArray, sizes: CountArray, diversities: Sequence[Diversity], visits: Visits) -> Draws:
    """Over all ways to give the values of a class to parts of known sizes, each row as likely to have each of them."""
    whole, part_sizes = tuple(vector.tolist()), tuple(sizes.tolist())

    @cache
    def diverse(size: int) -> tuple[tuple[int, ...], ...]:
        vectors = list(_drawn(whole, size))
        keep = np.ones(len(vectors), dtype=bool)
        for diversity in diversities:
            keep &= satisfies(diversity, np.array(vectors, dtype=np.int64))
        return tuple(v for v, kept in zip(vectors, keep) if kept)

    @cache
    def ways(parts: tuple[int, ...], left: tuple[int, ...]) -> int:
        if not parts:
            return 1
        return sum(number * ways(parts[1:], rest) for _, number, rest in choices(parts[0], left))

    def choices(size: int, left: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], int, tuple[int, ...]]]:
        candidates = diverse(size)
        visits.spend(len(candidates))
        for drawn in candidates:
            if all(d <= n for d, n in zip(drawn, left)):
                number = prod(comb(n, d) for n, d in zip(left, drawn))
                yield drawn, number, tuple(n - d for n, d in zip(left, drawn))

    every = factorial(sum(part_sizes)) // prod(map(factorial, part_sizes))
    shares = []
    for position, size in enumerate(part_sizes):
        others = tuple(sorted(part_sizes[:position] + part_sizes[position + 1 :]))
        sums = [0] * len(whole)
        for drawn, number, rest in choices(size, whole):
            together = number * ways(others, rest)
            sums = [total + together * d for total, d in zip(sums, drawn)]
        shares.append(tuple(Fraction(total, every * size) for total in sums))
    return Draws(sum(shares[0], start=Fraction(0)), tuple(shares))


def _drawn(whole: Sequence[int], size: int) -> Iterator[tuple[int, ...]]:
    """All vectors below a given one with a given sum. Raises TooManyWorldsError where there are very many."""
    polynomial = [1]
    for count in whole:
        polynomial = [
            sum(polynomial[i - taken] for taken in range(min(count, i) + 1) if i - taken < len(polynomial))
            for i in range(min(len(polynomial) + count, size + 1))
        ]
        if max(polynomial) > _MOST_VECTORS:
            raise TooManyWorldsError
    return _below(whole, size)


def _below(whole: Sequence[int], size: int) -> Iterator[tuple[int, ...]]:
    if not whole:
        if size == 0:
            yield ()
        return
    for first in range(max(0, size - sum(whole[1:])), min(whole[0], size) + 1):
        for rest in _below(whole[1:], size - first):
            yield (first, *rest)
