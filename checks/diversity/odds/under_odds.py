"""A criterion against attackers with evidence about one person, which multiplies the shares of the sensitive values.

The evidence makes a value at most G times as likely beside another as the tables say: shares v_s become g_s v_s, in any
scale, with the largest g at most G times the smallest (Rosenbaum: Observational Studies, 2002, chapter 4, of
treatments). A class bears odds G when it satisfies the criterion for every such g. Classes that pass under G keep to it
when they are merged: g (u + v) = g u + g v, and a criterion is kept by merging. So what searches and checks leave out may be
left out under G too; the worst class under G may be another than without.

Vectors that pass are closed under sums, so they are a convex cone, and the worst g is a corner: each value is multiplied
with 1 or G. Criteria with a closed form give it (`Diversity.at_odds`); of others all corners are tried.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product

import numpy as np

from checks.diversity.criterion import BOUNDARY, Diversity, LargestRatio, Vectors
from checks.diversity.spelling import AT_ODDS, check_odds, spelled
from checks.diversity.violations.cases import Cases, RatioBounds
from checks.errors import CriterionError
from models.arrays import FloatArray

_MOST_VALUES = 16
"""Values all of whose corners are tried."""

_MOST_ODDS = 1e6
"""Odds beyond which none are looked for; they are called infinite."""

_HALVINGS = 45


@dataclass(frozen=True)
class UnderOdds(Diversity):
    """A criterion that is satisfied whatever evidence of odds up to `odds` says. Reached: the largest odds that it bears."""

    plain: Diversity
    odds: Fraction

    def __post_init__(self) -> None:
        check_odds(self.odds)

    def __str__(self) -> str:
        return f"{self.plain} {AT_ODDS} {spelled(self.odds)}"

    @cached_property
    def judged(self) -> Diversity:
        """What a class must satisfy by the shares that the tables give it."""
        closed = self.plain.at_odds(self.odds)
        return Corners(self.plain, self.odds) if closed is None else closed

    def slack(self, vectors: Vectors) -> FloatArray:
        """That of the worst evidence."""
        return self.judged.slack(vectors)

    def slack_of_products(self, first: Vectors, second: Vectors) -> FloatArray | None:
        """That of the worst evidence."""
        return self.judged.slack_of_products(first, second)

    def reached(self, vectors: Vectors) -> FloatArray:
        """The largest odds."""
        return odds_borne(self.plain, vectors)

    def decide(self, vector: Sequence[Fraction | int]) -> bool:
        """The exact verdict on one class."""
        return self.judged.decide(vector)

    def scaled(self, factor: Fraction) -> Diversity | None:
        """That of what is judged."""
        return self.judged.scaled(factor)

    def least_values(self) -> int | None:
        """That of what is judged."""
        return self.judged.least_values()

    def largest_ratio(self, value_count: int) -> LargestRatio | None:
        """That of what is judged."""
        return self.judged.largest_ratio(value_count)

    def violations(self, bounds: RatioBounds) -> list[Cases] | None:
        """Those of what is judged."""
        return self.judged.violations(bounds)

    @property
    def facts(self) -> int:
        """Those of the criterion."""
        return self.plain.facts


@dataclass(frozen=True)
class Corners(Diversity):
    """A criterion that is satisfied with every choice of values multiplied with the odds. Reached: that of the worst choice.

    Its classes may have 16 values at most; CriterionError is raised for more.
    """

    plain: Diversity
    odds: Fraction

    def __str__(self) -> str:
        return f"{self.plain} {AT_ODDS} {spelled(self.odds)}"

    def _raised(self, value_count: int) -> list[tuple[bool, ...]]:
        if value_count > _MOST_VALUES:
            raise CriterionError(
                f"{self.plain} is decided at odds for {_MOST_VALUES} sensitive values at most, not for {value_count}"
            )
        return list(product((False, True), repeat=value_count))[:-1]  # all of them raised are the same as none

    def _worst(self, vectors: Vectors) -> tuple[FloatArray, FloatArray]:
        """The slack of the worst choice of each class, and what it reaches."""
        slack, reached = np.full(len(vectors), np.inf), np.zeros(len(vectors))
        for raised in self._raised(vectors.shape[1]):
            weighed = np.asarray(vectors * np.where(raised, float(self.odds), 1.0), dtype=np.float64)
            own = self.plain.slack(weighed)
            worse = own < slack
            if worse.any():
                reached[worse] = self.plain.reached(weighed[worse])
                slack = np.where(worse, own, slack)
        return slack, reached

    def slack(self, vectors: Vectors) -> FloatArray:
        """Relative to the bound, at the worst choice."""
        return self._worst(vectors)[0]

    def reached(self, vectors: Vectors) -> FloatArray:
        """That of the worst choice."""
        return self._worst(vectors)[1]

    def decide(self, vector: Sequence[Fraction | int]) -> bool:
        """The exact verdict on one class."""
        scale = Fraction(sum(vector))
        row = np.array([[float(v / scale) for v in vector]])
        for raised in self._raised(len(vector)):
            slack = float(self.plain.slack(row * np.where(raised, float(self.odds), 1.0))[0])
            if slack > BOUNDARY:
                continue
            if slack < -BOUNDARY or not self.plain.decide([v * self.odds if r else v for v, r in zip(vector, raised)]):
                return False
        return True


def odds_borne(diversity: Diversity, vectors: Vectors) -> FloatArray:
    """The largest odds that each class bears, to rounding: shape (classes,). Below 1 where it fails without any evidence.

    diversity: one that can judge counts. Infinite where no odds break it, or only odds above a million.
    """
    closed = diversity.odds_borne(vectors)
    if closed is not None:
        return closed
    shares = np.asarray(vectors / vectors.sum(axis=1, keepdims=True), dtype=np.float64)

    def passes(odds: float) -> np.ndarray:
        at = UnderOdds(diversity, Fraction(odds))
        return np.asarray(at.slack(shares) >= 0)

    low, high = np.zeros(len(shares)), np.full(len(shares), np.log(_MOST_ODDS))
    always, never = passes(_MOST_ODDS), ~passes(1.0)
    for position in np.flatnonzero(~always & ~never).tolist():
        row = shares[position : position + 1]
        for _ in range(_HALVINGS):
            middle = (low[position] + high[position]) / 2
            holds = UnderOdds(diversity, Fraction(float(np.exp(middle)))).slack(row)[0] >= 0
            low[position], high[position] = (middle, high[position]) if holds else (low[position], middle)
    return np.where(always, np.inf, np.where(never, 0.0, np.exp(low)))
