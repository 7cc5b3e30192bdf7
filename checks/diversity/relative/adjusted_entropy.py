"""Entropy diversity where some values may be learnt, by their labels (MKGV07 Def. 4.5)."""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import ClassVar, Self

from checks.diversity.criterion import Diversity
from checks.diversity.dont_care_entropy import DontCareEntropy
from checks.diversity.entropy import Entropy
from checks.diversity.relative.relative_diversity import RelativeDiversity
from checks.diversity.relative.sensitive_values import SensitiveValues
from checks.diversity.spelling import MAY_DISCLOSE, Phrase, check_l, spelled, spelled_labels


@dataclass(frozen=True)
class AdjustedEntropy(RelativeDiversity):
    """The adjusted entropy is at least ln l. may_disclose: labels of the don't-care values."""

    l: Fraction
    may_disclose: tuple[str, ...]
    name: ClassVar[str] = "adjusted-entropy"
    parameters: ClassVar[str] = f"l {MAY_DISCLOSE} LABELS"

    def __post_init__(self) -> None:
        check_l("adjusted-entropy:l", self.l)

    def __str__(self) -> str:
        return f"{self.name}:{spelled(self.l)} {MAY_DISCLOSE} {spelled_labels(self.may_disclose)}"

    @classmethod
    def parsed(cls, text: str) -> Self | None:
        """From `l may disclose LABELS`."""
        match Phrase.read(text, [MAY_DISCLOSE]):
            case Phrase([l], {"may disclose": labels}):
                return cls(l, labels)
        return None

    def among(self, values: SensitiveValues) -> DontCareEntropy:
        """With the values under which there are only those that may be disclosed."""
        return DontCareEntropy(self.l, values.within(self.may_disclose))

    def stated_among(self, values: SensitiveValues) -> Diversity:
        """The plain criterion where none of the values may be disclosed."""
        labels = values.occurring(values.within(self.may_disclose))
        return AdjustedEntropy(self.l, labels) if labels else Entropy(self.l)

    @property
    def facts(self) -> int:
        """L - 1, rounded up."""
        return ceil(self.l) - 1

    def meaning(self) -> str:
        """The uncertainty."""
        return (
            f"the sensitive value is at least as uncertain as {spelled(self.l)} equally likely ones, where "
            f"{spelled_labels(self.may_disclose)} may be disclosed"
        )

    def reached_in_words(self, value: float) -> str:
        """The effective number of values."""
        return Entropy(self.l).reached_in_words(value)
