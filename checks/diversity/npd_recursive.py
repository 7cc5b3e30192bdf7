"""Negative/positive-disclosure recursive diversity: some values may be disclosed, others not ruled out (MKGV07 Def. 4.4)."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from checks.diversity.criterion import Diversity, Vectors
from checks.diversity.negative_disclosure import NegativeDisclosure
from checks.diversity.recursive import Recursive
from checks.diversity.violations.cases import Cases, RatioBounds
from models.arrays import FloatArray


@dataclass(frozen=True)
class NpdRecursive(Diversity):
    """Recursive (c, l)-diversity with a don't-care set, and no negative disclosure of the protected values (Def. 4.4).

    Reached: that of the half that is nearer to failing.
    """

    positive: Recursive
    negative: NegativeDisclosure
    name: ClassVar[str] = "npd-recursive"

    def __str__(self) -> str:
        return f"npd: {self.positive}, {self.negative}"

    def slack(self, vectors: Vectors) -> FloatArray:
        """The smaller slack."""
        return np.minimum(self.positive.slack(vectors), self.negative.slack(vectors))

    def reached(self, vectors: Vectors) -> FloatArray:
        """That of the half with the smaller slack."""
        nearer = self.positive.slack(vectors) <= self.negative.slack(vectors)
        return np.where(nearer, self.positive.reached(vectors), self.negative.reached(vectors))

    def decide(self, vector: Sequence[Fraction | int]) -> bool:
        """The exact verdict on one class."""
        return self.positive.decide(vector) and self.negative.decide(vector)

    def scaled(self, factor: Fraction) -> "NpdRecursive | None":
        """Both halves scaled; None where the second cannot be."""
        negative = self.negative.scaled(factor)
        return None if negative is None else NpdRecursive(self.positive.scaled(factor), negative)

    def at_odds(self, odds: Fraction) -> "NpdRecursive":
        """Both halves."""
        return NpdRecursive(self.positive.at_odds(odds), self.negative.at_odds(odds))

    def odds_borne(self, vectors: Vectors) -> FloatArray:
        """Those of the half that bears less."""
        return np.minimum(self.positive.odds_borne(vectors), self.negative.odds_borne(vectors))

    def violations(self, bounds: RatioBounds) -> list[Cases]:
        """Those of both halves."""
        return [*self.positive.violations(bounds), *self.negative.violations(bounds)]

    @property
    def facts(self) -> int:
        """Those of the recursive half."""
        return self.positive.facts
