"""Simple l-diversity: no sensitive value has a share above 1/l in a class (TZ09 section I)."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import ClassVar, Self

import numpy as np

from checks.diversity.criterion import NO_BOUND, Diversity, ShareBound, Vectors
from checks.diversity.spelling import check_l, numbers, spelled
from checks.diversity.violations.cases import Cases, RatioBounds
from checks.diversity.violations.tail_cases import TailCases
from models.arrays import FloatArray


@dataclass(frozen=True)
class Simple(Diversity):
    """No sensitive value has a share above 1/l. Reached: 1 / largest share."""

    l: Fraction
    name: ClassVar[str] = "simple"
    parameters: ClassVar[str] = "l"

    def __post_init__(self) -> None:
        check_l("simple:l", self.l)

    def __str__(self) -> str:
        return f"simple:{spelled(self.l)}"

    @classmethod
    def parsed(cls, text: str) -> Self | None:
        """From `l`."""
        match numbers(text):
            case [l]:
                return cls(l)
        return None

    def slack(self, vectors: Vectors) -> FloatArray:
        """Relative to l."""
        return self.reached(vectors) / float(self.l) - 1

    def reached(self, vectors: Vectors) -> FloatArray:
        """1 / largest share."""
        return np.asarray(vectors.sum(axis=1) / vectors.max(axis=1), dtype=np.float64)

    def decide(self, vector: Sequence[Fraction | int]) -> bool:
        """The exact verdict on one class."""
        return max(vector) * self.l <= sum(vector)

    def scaled(self, factor: Fraction) -> "Simple":
        """With factor times l, 1 at least."""
        return Simple(max(self.l * factor, Fraction(1)))

    def at_odds(self, odds: Fraction) -> "Simple":
        """The most frequent value weighs odds times as much, all others as they do."""
        return Simple(1 + odds * (self.l - 1))

    def odds_borne(self, vectors: Vectors) -> FloatArray:
        """(1 - v) / ((l - 1) v), v the largest share."""
        if self.l == 1:
            return np.full(len(vectors), np.inf)
        return (self.reached(vectors) - 1) / float(self.l - 1)

    def violations(self, bounds: RatioBounds) -> list[Cases]:
        """All others together weigh at most l - 1 times a most frequent value."""
        if self.l <= 1:
            return []
        heads = bounds.leading()
        theta = np.full(len(heads), max(float(self.l) - 1, 1e-300))
        return [TailCases(heads, bounds.others(heads), theta)]

    def share_bound(self) -> ShareBound:
        """The largest share is at most 1/l."""
        return NO_BOUND if self.l <= 1 else ShareBound(Fraction(0), 1, 1 / self.l, strict=False)

    @property
    def facts(self) -> int:
        """L - 1, rounded up."""
        return ceil(self.l) - 1

    def meaning(self) -> str:
        """The largest probability."""
        return f"no sensitive value has a probability above 1 in {spelled(self.l)}"

    def reached_in_words(self, value: float) -> str:
        """The largest probability."""
        return (
            f"The most probable value has a probability of 1 in {value:.3g}; at most 1 in {spelled(self.l)} is claimed"
        )
