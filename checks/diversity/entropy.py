"""Entropy l-diversity: the entropy of the sensitive values in each class is at least ln l (MKGV07 Def. 4.1)."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import ClassVar, Self

import numpy as np

from checks.diversity.criterion import Diversity, Vectors
from checks.diversity.exact_entropy import entropy_is_at_least
from checks.diversity.odds.entropy_at_odds import EntropyAtOdds
from checks.diversity.spelling import check_l, numbers, spelled
from checks.diversity.violations.cases import Cases, RatioBounds
from checks.diversity.violations.entropy_cases import EntropyCases
from models.arrays import FloatArray
from models.effective_values import effective_values, effective_values_of_products


@dataclass(frozen=True)
class Entropy(Diversity):
    """The entropy of the sensitive values is at least ln l (MKGV07 Def. 4.1). Reached: exp of the entropy."""

    l: Fraction
    name: ClassVar[str] = "entropy"
    parameters: ClassVar[str] = "l"

    def __post_init__(self) -> None:
        check_l("entropy:l", self.l)

    def __str__(self) -> str:
        return f"entropy:{spelled(self.l)}"

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
        """Effective number of equally likely values."""
        return effective_values(np.asarray(vectors, dtype=np.float64))

    def slack_of_products(self, first: Vectors, second: Vectors) -> FloatArray:
        """Relative to l."""
        slack = effective_values_of_products(first, second)
        slack /= float(self.l)
        slack -= 1
        return slack

    def decide(self, vector: Sequence[Fraction | int]) -> bool:
        """The exact verdict on one class."""
        return entropy_is_at_least(vector, self.l)

    def scaled(self, factor: Fraction) -> "Entropy":
        """With factor times l, 1 at least."""
        return Entropy(max(self.l * factor, Fraction(1)))

    def at_odds(self, odds: Fraction) -> EntropyAtOdds:
        """With the most frequent values raised, however many of them."""
        return EntropyAtOdds(self.l, odds)

    def violations(self, bounds: RatioBounds) -> list[Cases]:
        """The entropy is at most ln l, under a most frequent value."""
        if self.l <= 1:
            return []
        heads = bounds.leading()
        highest = np.minimum(bounds.ceiling[:, heads], 0)
        lowest = np.minimum(bounds.floor[:, heads], highest)
        return [EntropyCases(heads, bounds.others(heads), float(self.l), lowest, highest)]

    @property
    def facts(self) -> int:
        """L - 1, rounded up."""
        return ceil(self.l) - 1

    def meaning(self) -> str:
        """The uncertainty."""
        return f"the sensitive value is at least as uncertain as {spelled(self.l)} equally likely ones"

    def reached_in_words(self, value: float) -> str:
        """The effective number of values."""
        return f"As uncertain as {value:.4g} equally likely values; at least {spelled(self.l)} are claimed"
