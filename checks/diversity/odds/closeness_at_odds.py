"""t-closeness by half the sum of the differences, against evidence of odds G.

The distance is the largest excess q(A) - p(A) over all sets A of values, and evidence raises q = q(A) most when it
multiplies just the values of A: to G q / (1 + (G - 1) q). Which set is worst is no matter of sorting, so all are tried.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from checks.diversity.criterion import BOUNDARY, Diversity, Vectors
from checks.diversity.spelling import AT_ODDS, spelled
from checks.errors import CriterionError
from models.arrays import FloatArray

_MOST_VALUES, _BLOCK = 20, 1 << 21


@dataclass(frozen=True)
class ClosenessAtOdds(Diversity):
    """No set of values has a share that exceeds its share of the whole table by more than t, its values weighed by `odds`.

    overall: rows of the whole table by value, not all 0. Reached: the largest excess. Classes may have 20 values at most;
    CriterionError is raised for more.
    """

    t: Fraction
    overall: tuple[int, ...]
    odds: Fraction

    def __post_init__(self) -> None:
        if len(self.overall) > _MOST_VALUES:
            raise CriterionError(
                f"t-closeness is decided at odds for {_MOST_VALUES} sensitive values at most, not for {len(self.overall)}"
            )

    def __str__(self) -> str:
        return f"t-closeness:{spelled(self.t)} {AT_ODDS} {spelled(self.odds)}"

    def slack(self, vectors: Vectors) -> FloatArray:
        """The excess below t."""
        return float(self.t) - self.reached(vectors)

    def reached(self, vectors: Vectors) -> FloatArray:
        """The largest excess of each class."""
        shares = np.asarray(vectors / vectors.sum(axis=1, keepdims=True), dtype=np.float64)
        block = max(_BLOCK >> len(self.overall), 1)
        parts = [self._excesses(shares[i : i + block]).max(axis=1) for i in range(0, len(shares), block)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _excesses(self, shares: FloatArray) -> FloatArray:
        """Of every set of values: shape (classes, sets), bit i of a set saying whether it holds value i."""
        whole = np.array([self.overall], dtype=np.float64)
        own, expected = _subset_sums(shares), _subset_sums(whole / whole.sum())
        odds = float(self.odds)
        return np.asarray(odds * own / (1 + (odds - 1) * own) - expected, dtype=np.float64)

    def decide(self, vector: Sequence[Fraction | int]) -> bool:
        """The exact verdict on one class."""
        rows, total = Fraction(sum(vector)), sum(self.overall)
        excesses = self._excesses(np.array([[float(v / rows) for v in vector]]))[0] - float(self.t)
        if (excesses > BOUNDARY).any():
            return False
        for number in np.flatnonzero(excesses >= -BOUNDARY).tolist():
            held = [value for value in range(len(vector)) if number >> value & 1]
            own = sum((Fraction(vector[value]) for value in held), Fraction(0)) / rows
            expected = Fraction(sum(self.overall[value] for value in held), total)
            if self.odds * own / (1 + (self.odds - 1) * own) - expected > self.t:
                return False
        return True


def _subset_sums(rows: FloatArray) -> NDArray[np.float64]:
    """The sum of each set of columns: shape (rows, 2 ** columns)."""
    sums = np.zeros((len(rows), 1))
    for column in rows.T:
        sums = np.concatenate((sums, sums + column[:, None]), axis=1)
    return sums
