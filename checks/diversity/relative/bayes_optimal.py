"""Bayes-optimal privacy against somebody who knows of everybody only what the whole table says.

With a prior that does not depend on a person's other values, the posterior of MKGV07 Theorem 3.1 is the share in the
class, and (rho1, rho2)-privacy (Def. 3.3) bounds shares; merging keeps that. Other priors are those of
`checks.classes.bayes_optimal`.
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
class BayesOptimal(RelativeDiversity):
    """No belief rises from below rho1 to above rho2, or falls from above 1 - rho1 to below 1 - rho2."""

    rho_1: Fraction
    rho_2: Fraction
    name: ClassVar[str] = "bayes-optimal"
    parameters: ClassVar[str] = "rho1,rho2"

    def __post_init__(self) -> None:
        if not 0 < self.rho_1 < self.rho_2 < 1:
            raise CriterionError(
                f"bayes-optimal:rho1,rho2 needs 0 < rho1 < rho2 < 1, got {spelled(self.rho_1)} and {spelled(self.rho_2)}"
            )

    def __str__(self) -> str:
        return f"{self.name}:{spelled(self.rho_1)},{spelled(self.rho_2)}"

    @classmethod
    def parsed(cls, text: str) -> Self | None:
        """From `rho1,rho2`."""
        match numbers(text):
            case [rho_1, rho_2]:
                return cls(rho_1, rho_2)
        return None

    def among(self, values: SensitiveValues) -> ShareRange:
        """With rho2 above the share of each value that is rarer than rho1 in the whole table, which must have rows."""
        shares = list(enumerate(values.shares))
        upper = {code: self.rho_2 for code, share in shares if share < self.rho_1}
        lower = {code: 1 - self.rho_2 for code, share in shares if share > 1 - self.rho_1}
        return ShareRange.of(len(shares), lower, upper)

    def meaning(self) -> str:
        """Both breaches."""
        low, high = spelled(self.rho_1), spelled(self.rho_2)
        return (
            f"no sensitive value with a probability below {low} among all rows has one above {high}, and none with one "
            f"above {spelled(1 - self.rho_1)} has one below {spelled(1 - self.rho_2)}"
        )

    def reached_in_words(self, value: float) -> str:
        """How far the nearest bound is."""
        return f"Within the nearest bound by a factor of {value:.4g}"
