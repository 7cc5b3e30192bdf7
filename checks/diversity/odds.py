"""A criterion against attackers with evidence about one person, which multiplies the shares of the sensitive values.

The evidence makes a value at most G times as likely beside another as the tables say: shares v_s become g_s v_s, in any
scale, with the largest g at most G times the smallest (Rosenbaum: Observational Studies, 2002, chapter 4, of
treatments). A class bears odds G when it satisfies the criterion for every such g. Classes that pass under G keep to it
when they are merged: g (u + v) = g u + g v, and a criterion is kept by merging. So what searches and checks leave out may be
left out under G too; the worst class under G may be another than without.

Vectors that pass are closed under sums, so they are a convex cone, and the worst g is a corner: each value is multiplied
with 1 or G. Criteria with a closed form give it (`ClosedAtOdds`); of others all corners are tried.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import ClassVar

import numpy as np

from checks.diversity.criterion import (
    AT_ODDS,
    BOUNDARY,
    Cases,
    ClosedAtOdds,
    Diversity,
    HasOddsFormula,
    RatioBounds,
    SensitiveValues,
    ShareBound,
    Vectors,
    among,
    check_odds,
    numbers,
    scaled,
    share_bound,
    slack_of_products,
    spelled,
    stated_among,
    violations,
)
from checks.diversity.cuts import TailCases
from checks.diversity.relative import RelativeDiversity
from checks.errors import CriterionError
from models.arrays import FloatArray

_MOST_VALUES = 16
"""Values all of whose corners are tried."""

_MOST_ODDS = 1e6
"""Odds beyond which none are looked for; they are called infinite."""

_HALVINGS = 45


def at_odds(diversity: Diversity, odds: Fraction) -> Diversity | None:
    """What a class satisfies exactly when it satisfies a criterion whatever evidence of such odds says of a person.

    None where that has no closed form; then all that evidence can say is tried, among 16 values at most.
    """
    bound = share_bound(diversity)
    if bound is not None and bound.least_values is not None:  # evidence rules no value out
        return diversity
    return diversity.at_odds(odds) if isinstance(diversity, ClosedAtOdds) else None


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
        closed = at_odds(self.plain, self.odds)
        return Corners(self.plain, self.odds) if closed is None else closed

    def slack(self, vectors: Vectors) -> FloatArray:
        """That of the worst evidence."""
        return self.judged.slack(vectors)

    def slack_of_products(self, first: Vectors, second: Vectors) -> FloatArray | None:
        """That of the worst evidence."""
        return slack_of_products(self.judged, first, second)

    def reached(self, vectors: Vectors) -> FloatArray:
        """The largest odds."""
        return odds_borne(self.plain, vectors)

    def decide(self, vector: Sequence[Fraction | int]) -> bool:
        """The exact verdict on one class."""
        return self.judged.decide(vector)

    def scaled(self, factor: Fraction) -> Diversity | None:
        """That of what is judged."""
        return scaled(self.judged, factor)

    def share_bound(self) -> ShareBound | None:
        """That of what is judged."""
        return share_bound(self.judged)

    def violations(self, bounds: RatioBounds) -> list[Cases] | None:
        """Those of what is judged."""
        return violations(self.judged, bounds)


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
    by_formula = diversity.odds_borne(vectors) if isinstance(diversity, HasOddsFormula) else None
    if by_formula is not None:
        return by_formula
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


# Diversity of people where a person can have several rows: it must hold however the rows are shared among people.
#
# Somebody is one of the people whose rows make up a class. Each has at most r of them, and one row of each is looked
# at, any one. With p the shares of the sensitive values among the rows, the shares u that people can have then are
# those with u_s <= r p_s: no value is that of more people than it has rows, and there are at least 1/r times as many
# people as rows. Of all these u the one that fills up the most frequent values first majorizes every other, so a
# criterion that is kept by whatever is majorized holds of all of them as soon as it holds of that one. For a criterion
# that bounds the sum of the most frequent shares, with a weight on the first, this is the same bound divided by r.
# Such a bound is on a convex function of the shares, so it is kept by merging classes, which searches and checks need.
#
# The number of people is T / r here, not rounded up. Rounded up it would be exact of one class, but not kept by
# merging: (1, 1, 1) with r = 2 is two people at least, no value that of more than half of them; twice (1, 1, 1) is
# three, and a value can be that of two. Nor is the entropy, rounded or not: with r = 2 the rows (6, 5, 5, 4) are as
# uncertain as 1.96 equally likely values at least, (15, 1, 1, ...) with 25 times 1 as 2.62, ten times the one and once
# the other as 1.94.


def of_people(diversity: Diversity, rows_per_person: int) -> Diversity | None:
    """The criterion that a class satisfies where its people, of at most so many rows each, satisfy a diversity for certain.

    None where that cannot be decided exactly: for a criterion that is no bound on the most frequent shares.

    >>> from checks.diversity.criteria import Distinct
    >>> two_of_people = of_people(Distinct(2), 3)
    >>> two_of_people.decide([3, 6]), two_of_people.decide([4, 4, 5])
    (False, False)
    >>> two_of_people.decide([3, 3, 3, 3])
    True
    """
    if rows_per_person == 1:
        return diversity
    return None if share_bound(diversity) is None else OfPeople(diversity, rows_per_person)


@dataclass(frozen=True)
class OfPeople(Diversity):
    """A diversity that holds of people, at most `rows_per_person` rows each. Reached: that of the least diverse people.

    eased: what the bound is multiplied with. Raises CriterionError for a diversity that is no bound on the most frequent
    shares.
    """

    diversity: Diversity
    rows_per_person: int
    eased: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        _ = self._bound

    def __str__(self) -> str:
        return str(self.diversity)

    @cached_property
    def _bound(self) -> ShareBound:
        """The bound on the shares of the rows."""
        bound = share_bound(self.diversity)
        if bound is None:
            raise CriterionError(f"{self.diversity} cannot be decided of people who have several rows each")
        return bound._replace(limit=bound.limit * self.eased / self.rows_per_person)

    def slack(self, vectors: Vectors) -> FloatArray:
        """Relative to the bound."""
        bound = self._bound
        shares = -np.sort(-np.asarray(vectors, dtype=np.float64), axis=1)
        bounded = float(bound.head_weight) * shares[:, 0] + shares[:, : bound.top].sum(axis=1)
        with np.errstate(divide="ignore"):
            return np.asarray(float(bound.limit) * shares.sum(axis=1) / bounded - 1, dtype=np.float64)

    def reached(self, vectors: Vectors) -> FloatArray:
        """What the diversity says of the least diverse people."""
        return self.diversity.reached(self._people(np.asarray(vectors, dtype=np.float64)))

    def _people(self, vectors: FloatArray) -> FloatArray:
        """The shares of the sensitive values among the least diverse people, most frequent first."""
        shares = -np.sort(-vectors, axis=1) / vectors.sum(axis=1, keepdims=True)
        filled = np.minimum(self.rows_per_person * np.cumsum(shares, axis=1), 1.0)
        people = np.diff(filled, axis=1, prepend=0.0)
        return np.where(people > 1e-12, people, 0.0)

    def decide(self, vector: Sequence[Fraction | int]) -> bool:
        """The exact verdict on one class."""
        bound = self._bound
        shares = sorted(map(Fraction, vector), reverse=True)
        bounded, limit = bound.head_weight * shares[0] + sum(shares[: bound.top]), bound.limit * sum(shares)
        return bounded < limit or (not bound.strict and bounded == limit)

    def scaled(self, factor: Fraction) -> "OfPeople":
        """With the bound divided by the factor."""
        return replace(self, eased=self.eased / factor)

    def violations(self, bounds: RatioBounds) -> list[Cases] | None:
        """Where only the most frequent value is bounded: all others together are too light beside it."""
        bound = self._bound
        if bound.top > 1:
            return None
        if not bound.top:
            return []
        heads = bounds.leading()
        theta = float((1 + bound.head_weight) / bound.limit - 1)
        return [TailCases(heads, bounds.others(heads), np.full(len(heads), max(theta, 1e-300)))]

    @property
    def facts(self) -> int:
        """Those of the diversity."""
        return self.diversity.facts

    def meaning(self) -> str:
        """The same of people."""
        return f"however the rows are shared among people, {self.diversity.meaning()}"

    def reached_in_words(self, value: float) -> str:
        """The same of people."""
        return self.diversity.reached_in_words(value)


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

    def __str__(self) -> str:
        return f"{self.plain} {AT_ODDS} {spelled(self.odds)}"

    @property
    def about_base_values(self) -> bool:
        """As the criterion: what finer values only concentrate, they concentrate under evidence, too."""
        return self.plain.about_base_values

    def among(self, values: SensitiveValues) -> UnderOdds:
        """The criterion among these values, under the same odds."""
        return UnderOdds(among(self.plain, values), self.odds)

    def stated_among(self, values: SensitiveValues) -> "AtOdds":
        """The criterion by the labels of these values, at the same odds."""
        return AtOdds(stated_among(self.plain, values), self.odds)

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
