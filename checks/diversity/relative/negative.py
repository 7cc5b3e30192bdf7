"""Values whose absence nobody may learn, by their labels, alone and beside recursive diversity (MKGV07 Def. 4.4)."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

from checks.diversity.criterion import Diversity
from checks.diversity.negative_disclosure import NegativeDisclosure
from checks.diversity.npd_recursive import NpdRecursive
from checks.diversity.recursive import Recursive
from checks.diversity.relative.pd_recursive import PdRecursive
from checks.diversity.relative.relative_diversity import RelativeDiversity
from checks.diversity.relative.sensitive_values import SensitiveValues
from checks.diversity.spelling import MAY_DISCLOSE, MUST_PROTECT, OR_EQUAL, Phrase, spelled, spelled_labels


@dataclass(frozen=True)
class ProtectedValues(RelativeDiversity):
    """Each of some values has a share of at least `percent` percent. must_protect: their labels."""

    percent: Fraction
    must_protect: tuple[str, ...]
    name: ClassVar[str] = "negative-disclosure"
    parameters: ClassVar[str] = f"percent {MUST_PROTECT} LABELS"

    def __post_init__(self) -> None:
        NegativeDisclosure(self.percent, frozenset({0}))

    def __str__(self) -> str:
        return f"{self.name}:{spelled(self.percent)} {MUST_PROTECT} {spelled_labels(self.must_protect)}"

    @classmethod
    def parsed(cls, text: str) -> Self | None:
        """From `percent must protect LABELS`."""
        match Phrase.read(text, [MUST_PROTECT]):
            case Phrase([percent], {"must protect": labels}):
                return cls(percent, labels)
        return None

    def among(self, values: SensitiveValues) -> NegativeDisclosure:
        """With the values under which there is a protected one."""
        return NegativeDisclosure(self.percent, values.touching(self.must_protect))

    def stated_among(self, values: SensitiveValues) -> "ProtectedValues":
        """By the labels of those values."""
        return ProtectedValues(self.percent, values.labels_of(values.touching(self.must_protect)))

    def meaning(self) -> str:
        """The least share."""
        each = "each of " if len(self.must_protect) > 1 else ""
        return (
            f"{each}{spelled_labels(self.must_protect)} has a probability of at least {spelled(self.percent)} percent"
        )

    def reached_in_words(self, value: float) -> str:
        """The smallest share."""
        return f"{value:.4g} percent; at least {spelled(self.percent)} are claimed"


@dataclass(frozen=True)
class NpdRecursiveByLabel(RelativeDiversity):
    """Recursive (c1, l)-diversity, with a don't-care set or without, and protected values with c2 percent (Def. 4.4)."""

    positive: PdRecursive | Recursive
    negative: ProtectedValues
    name: ClassVar[str] = "npd-recursive"
    parameters: ClassVar[str] = f"c1,c2,l [{OR_EQUAL}] [{MAY_DISCLOSE} LABELS] {MUST_PROTECT} LABELS"

    def __str__(self) -> str:
        positive, negative = self.positive, self.negative
        numbers = f"{spelled(positive.c)},{spelled(negative.percent)},{positive.l}"
        equal = "" if positive.strict else f" {OR_EQUAL}"
        free = "" if isinstance(positive, Recursive) else f" {MAY_DISCLOSE} {spelled_labels(positive.may_disclose)}"
        return f"{self.name}:{numbers}{equal}{free} {MUST_PROTECT} {spelled_labels(negative.must_protect)}"

    @classmethod
    def parsed(cls, text: str) -> Self | None:
        """From `c1,c2,l may disclose LABELS must protect LABELS`, l a whole number."""
        match Phrase.read(text, [OR_EQUAL, MAY_DISCLOSE, MUST_PROTECT]):
            case Phrase([c, percent, l], {"must protect": protected, **others}) if l.denominator == 1:
                strict, free = OR_EQUAL not in others, others.get(MAY_DISCLOSE)
                positive = PdRecursive(c, int(l), free, strict) if free else Recursive(c, int(l), strict)
                return cls(positive, ProtectedValues(percent, protected))
        return None

    def among(self, values: SensitiveValues) -> Diversity:
        """Both halves among these values."""
        positive = self.positive
        recursive = positive if isinstance(positive, Recursive) else positive.among(values)
        return NpdRecursive(recursive, self.negative.among(values))

    def stated_among(self, values: SensitiveValues) -> "NpdRecursiveByLabel":
        """Both halves by the labels of these values."""
        positive = self.positive.stated_among(values)
        assert isinstance(positive, PdRecursive | Recursive)
        return NpdRecursiveByLabel(positive, self.negative.stated_among(values))

    @property
    def facts(self) -> int:
        """Those of the recursive half."""
        return self.positive.facts

    def meaning(self) -> str:
        """Both halves."""
        return f"{self.positive.meaning()}, and {self.negative.meaning()}"

    def reached_in_words(self, value: float) -> str:
        """That of the half that is nearer to failing, whichever it is."""
        return f"The nearer of both bounds reaches {value:.4g}"
