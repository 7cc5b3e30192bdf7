"""Recursive (c, l)-diversity: the most frequent sensitive value is not too far ahead (MKGV07 Defs. 4.2 and 4.3)."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb, log
from typing import ClassVar, Self

import numpy as np

from checks.diversity.criterion import NO_BOUND, Diversity, LargestRatio, ShareBound, Vectors
from checks.diversity.spelling import OR_EQUAL, Phrase, check_l, spelled
from checks.diversity.violations.cases import ROUNDING, Cases, RatioBounds
from checks.diversity.violations.tail_cases import TailCases, TrimmedCases, empty_tails, subsets
from checks.errors import CriterionError
from models.arrays import FloatArray


@dataclass(frozen=True)
class Recursive(Diversity):
    """The most frequent value is less frequent than c times the tail (MKGV07 Defs. 4.2 and 4.3).

    The tail of a value is the sum over the others without the l - 2 most frequent of them. Values of the don't-care set
    Y, given by their codes, may be disclosed, so the most frequent value outside Y decides; a class without such values
    passes. With `strict` False the head may equal c times the tail (KG06 Def. 2.5). 1-diversity always holds.
    Reached: the smallest c at which the class would pass, infinite with fewer than l values.
    """

    c: Fraction
    l: int
    strict: bool = True
    dont_care: frozenset[int] = frozenset()
    name: ClassVar[str] = "recursive"
    parameters: ClassVar[str] = "c,l [or equal]"

    def __post_init__(self) -> None:
        check_l("recursive:c,l", self.l)
        if self.c <= 0:
            raise CriterionError(f"recursive:c,l needs a positive c, got {spelled(self.c)}")

    def __str__(self) -> str:
        text = f"recursive:{spelled(self.c)},{self.l}" + ("" if self.strict else f" {OR_EQUAL}")
        # Codes say nothing to a reader, so this is no text that can be read back; it must not be taken for the plain one.
        return f"pd-{text} without {sorted(self.dont_care)}" if self.dont_care else text

    @classmethod
    def parsed(cls, text: str) -> Self | None:
        """From `c,l`, l a whole number, with `or equal` where the head may equal c times the tail (KG06 Def. 2.5)."""
        match Phrase.read(text, [OR_EQUAL]):
            case Phrase([c, l], clauses) if l.denominator == 1:
                return cls(c, int(l), strict=OR_EQUAL not in clauses)
        return None

    def largest_ratio(self, value_count: int) -> LargestRatio | None:
        """c, where l is the number of values, so that the tail is one of them.

        Don't-care values may hold a class alone, so that ratios of the others say nothing there.
        """
        compares_pairs = self.l > 1 and not self.dont_care and self.tail_size(value_count) == 1
        return LargestRatio(self.c, self.strict) if compares_pairs else None

    def share_bound(self) -> ShareBound | None:
        """1/c of the largest share is less than what the l - 1 largest leave; None with a don't-care set."""
        if self.l == 1:
            return NO_BOUND
        return None if self.dont_care else ShareBound(1 / self.c, self.l - 1, Fraction(1), self.strict)

    def tail_size(self, values: int) -> int:
        """How many of the `values` columns the tail adds up."""
        return max(values - self.l + 1, 0)

    def heads(self, values: int) -> list[int]:
        """The codes that may not be too frequent."""
        return [value for value in range(values) if value not in self.dont_care]

    def slack(self, vectors: Vectors) -> FloatArray:
        """Relative to c."""
        with np.errstate(divide="ignore"):
            return np.asarray(float(self.c) / self.reached(vectors) - 1, dtype=np.float64)

    def reached(self, vectors: Vectors) -> FloatArray:
        """Head over tail."""
        values = vectors.shape[1]
        heads = self.heads(values)
        if self.l == 1 or not heads:
            return np.zeros(len(vectors))
        others = np.array(vectors, dtype=np.float64)
        place = np.asarray(heads)[others[:, heads].argmax(axis=1)]
        rows = np.arange(len(others))
        head = others[rows, place]
        others[rows, place] = np.inf
        tail = np.sort(others, axis=1)[:, : self.tail_size(values)].sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.where(head > 0, head / tail, 0.0), dtype=np.float64)

    def decide(self, vector: Sequence[Fraction | int]) -> bool:
        """The exact verdict on one class."""
        heads = self.heads(len(vector))
        if self.l == 1 or not heads:
            return True
        place = max(heads, key=lambda value: vector[value])
        head = vector[place]
        others = sorted(v for value, v in enumerate(vector) if value != place)
        tail = sum(others[: self.tail_size(len(vector))])
        return head == 0 or head < self.c * tail or (not self.strict and head == self.c * tail)

    def scaled(self, factor: Fraction) -> "Recursive":
        """With c divided by the factor."""
        return Recursive(self.c / factor, self.l, self.strict, self.dont_care)

    def at_odds(self, odds: Fraction) -> "Recursive":
        """The head weighs odds times as much, its tail as it does."""
        return self if self.l == 1 else self.scaled(odds)

    def odds_borne(self, vectors: Vectors) -> FloatArray:
        """C times the tail over the head; where the head may not equal it, any odds below that."""
        with np.errstate(divide="ignore"):
            return np.asarray(float(self.c) / self.reached(vectors), dtype=np.float64)

    def violations(self, bounds: RatioBounds) -> list[Cases]:
        """The tail of a value outside the don't-care set weighs at most 1/c times that value.

        For each head and each set of values that its tail may have, or for each head where there are too many sets.
        """
        values, floor, possible = bounds.value_count, bounds.floor, bounds.possible()
        size = self.tail_size(values)
        careful = self.heads(values)
        heads = [head for head in careful if possible[head] and not (floor[careful, head] > ROUNDING).any()]
        if self.l == 1 or not heads:
            return []
        theta = 1 / float(self.c)
        if size == 0:
            return [empty_tails(np.array(heads), values)]
        if len(heads) * comb(values - 1, size) > bounds.most_cases:
            chosen = np.array(heads)
            highest = np.minimum(bounds.ceiling[:, chosen], 1e3)
            return [TrimmedCases(chosen, bounds.others(chosen), theta, values - 1 - size, highest)]
        parts = []
        for head in heads:
            # A value that alone exceeds theta cannot be in the tail of a violation.
            light = np.flatnonzero((floor[:, head] <= log(theta) + ROUNDING) & (np.arange(values) != head))
            tails = light[subsets(len(light), size)]
            support = np.zeros((len(tails), values), dtype=bool)
            np.put_along_axis(support, tails, values=True, axis=1)
            parts.append((np.full(len(tails), head), support))
        support = np.concatenate([part for _, part in parts]).T
        return [TailCases(np.concatenate([part for part, _ in parts]), support, np.full(support.shape[1], theta))]

    @property
    def facts(self) -> int:
        """L - 1."""
        return self.l - 1

    def meaning(self) -> str:
        """The head against its tail."""
        tail = "all others" if self.l == 2 else f"all but the {self.l - 1} most probable ones"
        bound = "less than" if self.strict else "at most"
        return f"the most probable sensitive value is {bound} {spelled(self.c)} times as probable as {tail} together"

    def reached_in_words(self, value: float) -> str:
        """The head against its tail."""
        bound = "less than" if self.strict else "at most"
        return f"{value:.4g} times as probable; {bound} {spelled(self.c)} times is claimed"
