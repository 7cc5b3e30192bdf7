"""Positive-disclosure recursive diversity: some values may be learnt, the others are not too frequent (MKGV07 Def. 4.3)."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

from checks.diversity.criterion import Diversity
from checks.diversity.recursive import Recursive
from checks.diversity.relative.relative_diversity import RelativeDiversity
from checks.diversity.relative.sensitive_values import SensitiveValues
from checks.diversity.spelling import MAY_DISCLOSE, OR_EQUAL, Phrase, spelled, spelled_labels


@dataclass(frozen=True)
class PdRecursive(RelativeDiversity):
    """Recursive (c, l)-diversity with a don't-care set. may_disclose: its labels. `strict` is that of `Recursive`."""

    c: Fraction
    l: int
    may_disclose: tuple[str, ...]
    strict: bool = True
    name: ClassVar[str] = "pd-recursive"
    parameters: ClassVar[str] = f"c,l [{OR_EQUAL}] {MAY_DISCLOSE} LABELS"

    def __post_init__(self) -> None:
        _ = self._of(frozenset())

    def __str__(self) -> str:
        equal = "" if self.strict else f" {OR_EQUAL}"
        return f"{self.name}:{spelled(self.c)},{self.l}{equal} {MAY_DISCLOSE} {spelled_labels(self.may_disclose)}"

    @classmethod
    def parsed(cls, text: str) -> Self | None:
        """From `c,l may disclose LABELS`, l a whole number."""
        match Phrase.read(text, [OR_EQUAL, MAY_DISCLOSE]):
            case Phrase([c, l], {"may disclose": labels, **others}) if l.denominator == 1:
                return cls(c, int(l), labels, strict=OR_EQUAL not in others)
        return None

    def _of(self, dont_care: frozenset[int]) -> Recursive:
        return Recursive(self.c, self.l, self.strict, dont_care)

    def among(self, values: SensitiveValues) -> Recursive:
        """With the values under which there are only those that may be disclosed."""
        return self._of(values.within(self.may_disclose))

    def stated_among(self, values: SensitiveValues) -> Diversity:
        """The plain criterion where none of the values may be disclosed."""
        labels = values.occurring(values.within(self.may_disclose))
        return PdRecursive(self.c, self.l, labels, self.strict) if labels else self._of(frozenset())

    @property
    def facts(self) -> int:
        """L - 1."""
        return self.l - 1

    def meaning(self) -> str:
        """The most probable of the other values against its tail."""
        bound = "less than" if self.strict else "at most"
        spared = "" if self.l == 2 else f" but the {self.l - 2} most probable ones"
        return (
            f"the most probable sensitive value other than {spelled_labels(self.may_disclose)}, which may be disclosed, is "
            f"{bound} {spelled(self.c)} times as probable as all the rest{spared} together"
        )

    def reached_in_words(self, value: float) -> str:
        """The head against its tail."""
        return self._of(frozenset()).reached_in_words(value)
