"""No class has too much of certain values: the alpha of (alpha, k)-anonymity, whose k is k_link.

Wong, Li, Fu, Wang: (alpha, k)-Anonymity, KDD 2006, Defs. 3 and 4.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

from checks.diversity.relative.relative_diversity import RelativeDiversity
from checks.diversity.relative.sensitive_values import SensitiveValues
from checks.diversity.relative.share_range import ShareRange
from checks.diversity.spelling import OF, Phrase, spelled, spelled_labels
from checks.errors import CriterionError


@dataclass(frozen=True)
class Alpha(RelativeDiversity):
    """Each of some values has a share of at most alpha. of: their labels."""

    alpha: Fraction
    of: tuple[str, ...]
    name: ClassVar[str] = "alpha"
    parameters: ClassVar[str] = f"alpha {OF} LABELS"

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 1:
            raise CriterionError(f"alpha:alpha needs a share between 0 and 1, got {spelled(self.alpha)}")

    def __str__(self) -> str:
        return f"{self.name}:{spelled(self.alpha)} {OF} {spelled_labels(self.of)}"

    @classmethod
    def parsed(cls, text: str) -> Self | None:
        """From `alpha of LABELS`."""
        match Phrase.read(text, [OF]):
            case Phrase([alpha], {"of": labels}):
                return cls(alpha, labels)
        return None

    def among(self, values: SensitiveValues) -> ShareRange:
        """With the values under which there is one of those that are named."""
        return ShareRange.of(len(values.rows), upper=dict.fromkeys(values.touching(self.of), self.alpha))

    def stated_among(self, values: SensitiveValues) -> "Alpha":
        """By the labels of those values."""
        return Alpha(self.alpha, values.labels_of(values.touching(self.of)))

    def meaning(self) -> str:
        """The largest share."""
        each = "none of " if len(self.of) > 1 else ""
        verb = "has a probability above" if each else "has a probability of at most"
        return f"{each}{spelled_labels(self.of)} {verb} {spelled(self.alpha)}"

    def reached_in_words(self, value: float) -> str:
        """The largest share."""
        reached = float(self.alpha) / value if value else 1.0
        return f"The most probable of them has a probability of {reached:.4g}; at most {spelled(self.alpha)} is claimed"
