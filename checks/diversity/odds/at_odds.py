"""The text of a criterion with the odds that it must bear: `entropy:6 at odds 1.2`."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from checks.diversity.criterion import Diversity
from checks.diversity.odds.under_odds import UnderOdds
from checks.diversity.relative.relative_diversity import RelativeDiversity
from checks.diversity.relative.sensitive_values import SensitiveValues
from checks.diversity.spelling import AT_ODDS, check_odds, numbers, spelled
from checks.errors import CriterionError


@dataclass(frozen=True)
class AtOdds(RelativeDiversity):
    """A criterion that must be satisfied whatever evidence of odds up to `odds` says of a person (`under_odds`)."""

    plain: Diversity
    odds: Fraction
    name: ClassVar[str] = AT_ODDS

    def __post_init__(self) -> None:
        check_odds(self.odds)
        if not numbers(spelled(self.odds)):
            raise CriterionError(
                f"odds have at most twelve digits before the point and twelve behind, got {float(self.odds)}"
            )
        # What finer values only concentrate, they concentrate under evidence, too.
        vars(self).update(about_base_values=self.plain.about_base_values)

    def __str__(self) -> str:
        return f"{self.plain} {AT_ODDS} {spelled(self.odds)}"

    def among(self, values: SensitiveValues) -> UnderOdds:
        """The criterion among these values, under the same odds."""
        return UnderOdds(self.plain.among(values), self.odds)

    def stated_among(self, values: SensitiveValues) -> "AtOdds":
        """The criterion by the labels of these values, at the same odds."""
        return AtOdds(self.plain.stated_among(values), self.odds)

    @property
    def facts(self) -> int:
        """Those of the criterion."""
        return self.plain.facts

    def meaning(self) -> str:
        """The criterion, and who it holds against."""
        return (
            f"{self.plain.meaning()}, also for somebody whose other knowledge of that person changes the odds of two "
            f"sensitive values at most {spelled(self.odds)}-fold"
        )

    def reached_in_words(self, value: float) -> str:
        """The largest odds."""
        return f"It holds against odds up to {value:.4g}; {spelled(self.odds)} are claimed"
