"""Negative disclosure: values whose absence may not be learnt keep a share in each class (MKGV07 Def. 4.4)."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from checks.diversity.criterion import Diversity, Vectors
from checks.diversity.spelling import spelled
from checks.diversity.violations.cases import Cases, RatioBounds
from checks.diversity.violations.tail_cases import too_rare
from checks.errors import CriterionError
from models.arrays import FloatArray


@dataclass(frozen=True)
class NegativeDisclosure(Diversity):
    """Every protected value has a share of at least `percent` percent (the second half of MKGV07 Def. 4.4).

    protected: codes of the values whose absence may not be learnt. Reached: the smallest of their shares, in percent.
    """

    percent: Fraction
    protected: frozenset[int]
    name: ClassVar[str] = "negative-disclosure"

    def __post_init__(self) -> None:
        if not 0 < self.percent < 100 or not self.protected:
            raise CriterionError("negative disclosure needs a percentage between 0 and 100, and values to protect")

    def __str__(self) -> str:
        return f"negative-disclosure:{spelled(self.percent)} of {sorted(self.protected)}"

    def slack(self, vectors: Vectors) -> FloatArray:
        """Relative to the percentage."""
        return self.reached(vectors) / float(self.percent) - 1

    def reached(self, vectors: Vectors) -> FloatArray:
        """The smallest share of a protected value, in percent."""
        smallest = vectors[:, sorted(self.protected)].min(axis=1)
        return np.asarray(100 * smallest / vectors.sum(axis=1), dtype=np.float64)

    def decide(self, vector: Sequence[Fraction | int]) -> bool:
        """The exact verdict on one class."""
        return 100 * min(vector[value] for value in self.protected) >= self.percent * sum(vector)

    def scaled(self, factor: Fraction) -> "NegativeDisclosure | None":
        """With factor times the percentage; None for 100 or more."""
        percent = self.percent * factor
        return NegativeDisclosure(percent, self.protected) if percent < 100 else None

    def at_odds(self, odds: Fraction) -> "NegativeDisclosure":
        """All others weigh odds times as much as a protected value."""
        share = self.percent / 100
        return NegativeDisclosure(100 * share * odds / (1 + share * (odds - 1)), self.protected)

    def odds_borne(self, vectors: Vectors) -> FloatArray:
        """V / (1 - v) over the same of the percentage, v the smallest share of a protected value."""
        smallest = vectors[:, sorted(self.protected)].min(axis=1)
        least = float(self.percent / 100)
        with np.errstate(divide="ignore"):
            # No sum is rounded to less than one of its terms, so a class of a protected value alone bears any odds.
            return np.asarray(smallest / (vectors.sum(axis=1) - smallest) * (1 - least) / least, dtype=np.float64)

    def violations(self, bounds: RatioBounds) -> list[Cases]:
        """A protected value is rarer than percent."""
        return [too_rare(bounds, dict.fromkeys(self.protected, self.percent / 100))]
