"""Distinct l-diversity: at least l different sensitive values in each class."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np

from checks.diversity.criterion import Diversity, ShareBound, Vectors
from checks.diversity.spelling import check_l, numbers
from models.arrays import FloatArray


@dataclass(frozen=True)
class Distinct(Diversity):
    """At least l different sensitive values. Reached: how many there are."""

    l: int
    name: ClassVar[str] = "distinct"
    parameters: ClassVar[str] = "l"

    def __post_init__(self) -> None:
        check_l("distinct:l", self.l)

    def __str__(self) -> str:
        return f"distinct:{self.l}"

    @classmethod
    def parsed(cls, text: str) -> Self | None:
        """From `l`, a whole number."""
        match numbers(text):
            case [l] if l.denominator == 1:
                return cls(int(l))
        return None

    def slack(self, vectors: Vectors) -> FloatArray:
        """Never near 0: a half is added to the whole number of values."""
        return np.asarray((self.reached(vectors) - self.l + 0.5) / self.l, dtype=np.float64)

    def reached(self, vectors: Vectors) -> FloatArray:
        """Number of values with a positive share."""
        return np.asarray(np.count_nonzero(vectors, axis=1), dtype=np.float64)

    def decide(self, vector: Sequence[Fraction | int]) -> bool:
        """The exact verdict on one class."""
        return sum(v > 0 for v in vector) >= self.l

    def at_odds(self, odds: Fraction) -> Self:  # noqa: ARG002
        """Itself: evidence rules no value out."""
        return self

    def odds_borne(self, vectors: Vectors) -> FloatArray:
        """Any odds, or none."""
        return np.where(self.slack(vectors) > 0, np.inf, 0.0)

    def least_values(self) -> int:
        """Itself."""
        return self.l

    def share_bound(self) -> ShareBound:
        """All but l - 1 values have some share."""
        return ShareBound(Fraction(0), self.l - 1, Fraction(1), strict=True)

    @property
    def facts(self) -> int:
        """L - 1."""
        return self.l - 1

    def meaning(self) -> str:
        """How many values remain."""
        return f"at least {self.l} sensitive values remain possible"

    def reached_in_words(self, value: float) -> str:
        """The number of values."""
        return f"{value:.0f} {'value' if value == 1 else 'values'}; at least {self.l} are claimed"
