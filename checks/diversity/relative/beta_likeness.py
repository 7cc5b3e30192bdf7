"""Beta-likeness: no sensitive value is much likelier in a class than in the whole table.

Cao, Karras: Publishing Microdata with a Robust Privacy Guarantee, PVLDB 5(11) 2012, Def. 2 (basic beta-likeness).
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

from checks.diversity.relative.relative_diversity import RelativeDiversity
from checks.diversity.relative.sensitive_values import SensitiveValues
from checks.diversity.relative.share_range import ShareRange
from checks.diversity.spelling import numbers, spelled
from checks.errors import CriterionError


@dataclass(frozen=True)
class BetaLikeness(RelativeDiversity):
    """The share q of a value in a class exceeds its share p in the whole table by at most beta times p."""

    beta: Fraction
    name: ClassVar[str] = "beta-likeness"
    parameters: ClassVar[str] = "beta"

    def __post_init__(self) -> None:
        if self.beta <= 0:
            raise CriterionError(f"beta-likeness:beta needs a positive beta, got {spelled(self.beta)}")

    def __str__(self) -> str:
        return f"{self.name}:{spelled(self.beta)}"

    @classmethod
    def parsed(cls, text: str) -> Self | None:
        """From `beta`."""
        match numbers(text):
            case [beta]:
                return cls(beta)
        return None

    def among(self, values: SensitiveValues) -> ShareRange:
        """With (1 + beta) p above each share; the whole table must have rows."""
        limits = {code: (1 + self.beta) * share for code, share in enumerate(values.shares)}
        return ShareRange.of(len(values.rows), upper=limits)

    def meaning(self) -> str:
        """The largest gain."""
        return f"no sensitive value is more than {spelled(1 + self.beta)} times as probable as among all rows"

    def reached_in_words(self, value: float) -> str:
        """The largest gain."""
        times = float(1 + self.beta) / value if value else float("inf")
        return f"One is {times:.4g} times as probable; at most {spelled(1 + self.beta)} times is claimed"
