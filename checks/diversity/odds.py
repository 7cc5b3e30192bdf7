"""A criterion against attackers with evidence about one person, which multiplies the shares of the sensitive values.

The evidence makes a value at most G times as likely beside another as the tables say: shares v_s become g_s v_s, in any
scale, with the largest g at most G times the smallest (Rosenbaum: Observational Studies, 2002, chapter 4, of
treatments). A class bears odds G when it satisfies the criterion for every such g. Classes that pass under G keep to it
when they are merged: g (u + v) = g u + g v, and a criterion is kept by merging. So what searches and checks leave out may be
left out under G too; the worst class under G may be another than without.

Vectors that pass are closed under sums, so they are a convex cone, and the worst g is a corner: each value is multiplied
with 1 or G. Criteria with a closed form give it (`ClosedAtOdds`); of others all corners are tried.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import islice, product
from math import log
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from checks.diversity.criterion import (
    AT_ODDS,
    BOUNDARY,
    Cases,
    ClosedAtOdds,
    Diversity,
    HasOddsFormula,
    RatioBounds,
    RelativeDiversity,
    SensitiveValues,
    ShareBound,
    Vectors,
    among,
    check_odds,
    entropy_is_at_least,
    numbers,
    scaled,
    share_bound,
    slack_of_products,
    spelled,
    stated_among,
    violations,
)
from checks.diversity.cuts import EntropyCases, TailCases
from checks.errors import CriterionError
from models.arrays import BoolArray, FloatArray, IndexArray, effective_values_of_products, x_log_x

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

    Its classes may have 16 values at most that occur in them; CriterionError is raised for more.
    """

    plain: Diversity
    odds: Fraction

    def __str__(self) -> str:
        return f"{self.plain} {AT_ODDS} {spelled(self.odds)}"

    def _raised(self, occurs: BoolArray) -> Iterator[BoolArray]:
        """The choices among the values that occur: evidence of others changes nothing, and readers know no others."""
        held = np.flatnonzero(occurs)
        if len(held) > _MOST_VALUES:
            raise CriterionError(
                f"{self.plain} is decided at odds for {_MOST_VALUES} sensitive values at most, not for {len(held)}"
            )
        for chosen in islice(product((False, True), repeat=len(held)), max(2 ** len(held) - 1, 1)):
            raised = np.zeros(len(occurs), dtype=bool)  # all of them raised are the same as none
            raised[held] = chosen
            yield raised

    def _worst(self, vectors: Vectors) -> tuple[FloatArray, FloatArray]:
        """The slack of the worst choice of each class, and what it reaches."""
        slack, reached = np.full(len(vectors), np.inf), np.zeros(len(vectors))
        for raised in self._raised(np.asarray(vectors.any(axis=0))):
            weighed = np.asarray(vectors * np.where(raised, float(self.odds), 1.0), dtype=np.float64)
            weighed_slack = self.plain.slack(weighed)
            worse = weighed_slack < slack
            if worse.any():
                reached[worse] = self.plain.reached(weighed[worse])
                slack = np.where(worse, weighed_slack, slack)
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
        for raised in self._raised(row[0] > 0):
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
    """A criterion that must be satisfied whatever evidence of odds up to `odds` says of a person (`UnderOdds`)."""

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
        return f"It holds against odds up to {value:.4g} (claimed: {spelled(self.odds)})"


# Entropy diversity against evidence of odds G.
#
# The worst evidence multiplies the j most frequent values with G, for some j. That it is a corner follows from merging
# (as above). Let A be a set of values whose multiplying is worst, H* the entropy then, a < b two shares with a
# raised and b not, R the rest of the weighed total, W0 = R + a + b, W1 = R + G a + b, W2 = R + a + G b, and h(x, y)
# the unnormalized entropy less H* times the total, with x and y in the place of a and b: h(G a, b) = 0, and h(a, b) >=
# 0. The latter says
#
#     H* >= mean of ln over [W0, W1] + 1 - G ln G / (G - 1) - ln a,
#
# so h(G a, b) - h(a, G b), divided by (G - 1) (b - a), is at least the mean of ln over [W0, W1] less that over [W1,
# W2] plus b ln(b / a) / (b - a). For R + a + b = 0 that is 0, and it grows with R + a + b. Hence raising b instead of
# a is no better.


@dataclass(frozen=True)
class EntropyAtOdds(Diversity):
    """The entropy is at least ln l whichever number of most frequent values counts `odds` times.

    Reached: exp of the least of these entropies.
    """

    l: Fraction
    odds: Fraction

    def __str__(self) -> str:
        return f"entropy:{spelled(self.l)} {AT_ODDS} {spelled(self.odds)}"

    def slack(self, vectors: Vectors) -> FloatArray:
        """Relative to l."""
        return self.reached(vectors) / float(self.l) - 1

    def reached(self, vectors: Vectors) -> FloatArray:
        """Effective number of equally likely values."""
        more = float(self.odds) - 1
        shares = -np.sort(-np.asarray(vectors, dtype=np.float64), axis=1) / vectors.sum(axis=1, keepdims=True)
        raised = np.cumsum(shares, axis=1)
        of_raised = np.cumsum(x_log_x(shares), axis=1)
        total = raised[:, -1:] + more * raised
        weighed = of_raised[:, -1:] + more * of_raised + x_log_x(1 + more) * raised
        # Raising all values is the same as raising none.
        return np.asarray(np.exp(np.log(total) - weighed / total).min(axis=1), dtype=np.float64)

    def slack_of_products(self, first: Vectors, second: Vectors) -> FloatArray:
        """A lower bound of products that are far from the bound without evidence; the others are made.

        Evidence of odds G leaves each share at least 1/G of what it was: the distribution is a mixture of that without
        evidence, with weight 1/G, and another one, so its entropy, a concave function, is at least 1/G of that without.
        """
        least = effective_values_of_products(first, second) ** (1 / float(self.odds))
        slack: FloatArray = least / float(self.l) - 1
        worst = np.array([slack.argmin()])
        if not np.isfinite(slack.flat[worst]):
            return slack

        def made(places: IndexArray) -> FloatArray:
            """The slack of the products at some places, as they are numbered row by row."""
            rows, columns = np.divmod(places, slack.shape[1])
            return self.slack(first[rows] * second[columns])

        near = np.flatnonzero(slack <= max(float(made(worst)[0]), BOUNDARY) + BOUNDARY)
        slack.flat[near] = made(near)
        return slack

    def decide(self, vector: Sequence[Fraction | int]) -> bool:
        """The exact verdict on one class."""
        ordered = sorted(map(Fraction, vector), reverse=True)
        return all(
            entropy_is_at_least([v * self.odds for v in ordered[:raised]] + ordered[raised:], self.l)
            for raised in range(len(ordered))
        )

    def scaled(self, factor: Fraction) -> "EntropyAtOdds":
        """With factor times l, 1 at least."""
        return replace(self, l=max(self.l * factor, Fraction(1)))

    def violations(self, bounds: RatioBounds) -> list[Cases]:
        """Those of the entropy after the evidence, which lowers a log-ratio to the head by ln(odds) at most."""
        if self.l <= 1:
            return []
        heads, lowered = bounds.leading(), log(self.odds)
        highest = np.minimum(bounds.ceiling[:, heads], 0)
        lowest = np.minimum(bounds.floor[:, heads], highest) - lowered
        return [Lowered(EntropyCases(heads, bounds.others(heads), float(self.l), lowest, highest), lowered)]


@dataclass(frozen=True, eq=False)
class Lowered(Cases):
    """Cases of log-ratios to the head that are at most `by` lower than those of the class."""

    cases: EntropyCases
    by: float
    heads: IndexArray = field(init=False)
    support: BoolArray = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "heads", self.cases.heads)
        object.__setattr__(self, "support", self.cases.support)

    def bound(self, weights: FloatArray) -> FloatArray:
        """Weights sum to 1 or less, so the ratios of the class are higher by no more than that."""
        return self.cases.bound(weights) + self.by

    def kept(self, which: BoolArray) -> "Lowered":
        """Some of the cases."""
        return Lowered(self.cases.kept(which), self.by)

    def target(self, x: FloatArray) -> FloatArray:
        """That of the cases."""
        return self.cases.target(x)

    @property
    def targets(self) -> Sequence[Callable[[FloatArray], FloatArray]]:
        """Those of the cases."""
        return self.cases.targets


# t-closeness by half the sum of the differences, against evidence of odds G.
#
# The distance is the largest excess q(A) - p(A) over all sets A of values, and evidence raises q = q(A) most when it
# multiplies just the values of A: to G q / (1 + (G - 1) q). Which set is worst is no matter of sorting, so all are
# tried.


_MOST_ENTROPIES, _BLOCK = 20, 1 << 21


@dataclass(frozen=True)
class ClosenessAtOdds(Diversity):
    """No set of values has a share that exceeds its share of the whole table by more than t, its values weighed by `odds`.

    overall: rows of the whole table by value, not all 0. Reached: the largest excess. 20 values at most may have rows;
    CriterionError is raised for more.
    """

    t: Fraction
    overall: tuple[int, ...]
    odds: Fraction

    def __post_init__(self) -> None:
        if len(self._places) > _MOST_ENTROPIES:
            raise CriterionError(
                f"t-closeness is decided at odds for {_MOST_ENTROPIES} sensitive values at most, not for {len(self._places)}"
            )

    @cached_property
    def _places(self) -> list[int]:
        """The values that have rows; no others are published."""
        return [place for place, rows in enumerate(self.overall) if rows]

    def __str__(self) -> str:
        return f"t-closeness:{spelled(self.t)} {AT_ODDS} {spelled(self.odds)}"

    def slack(self, vectors: Vectors) -> FloatArray:
        """The excess below t."""
        return float(self.t) - self.reached(vectors)

    def reached(self, vectors: Vectors) -> FloatArray:
        """The largest excess of each class."""
        shares = np.asarray(vectors / vectors.sum(axis=1, keepdims=True), dtype=np.float64)
        block = max(_BLOCK >> len(self._places), 1)
        parts = [self._excesses(shares[i : i + block]).max(axis=1) for i in range(0, len(shares), block)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _excesses(self, shares: FloatArray) -> FloatArray:
        """Of every set of values with rows: shape (classes, sets), bit i of a set saying whether it holds the i-th."""
        whole = np.array([self.overall], dtype=np.float64)[:, self._places]
        subset_shares, expected = _subset_sums(shares[:, self._places]), _subset_sums(whole / whole.sum())
        odds = float(self.odds)
        return np.asarray(odds * subset_shares / (1 + (odds - 1) * subset_shares) - expected, dtype=np.float64)

    def decide(self, vector: Sequence[Fraction | int]) -> bool:
        """The exact verdict on one class."""
        rows, total = Fraction(sum(vector)), sum(self.overall)
        excesses = self._excesses(np.array([[float(v / rows) for v in vector]]))[0] - float(self.t)
        if (excesses > BOUNDARY).any():
            return False
        for number in np.flatnonzero(excesses >= -BOUNDARY).tolist():
            held = [value for bit, value in enumerate(self._places) if number >> bit & 1]
            held_weight = sum((Fraction(vector[value]) for value in held), Fraction(0)) / rows
            expected = Fraction(sum(self.overall[value] for value in held), total)
            if self.odds * held_weight / (1 + (self.odds - 1) * held_weight) - expected > self.t:
                return False
        return True


def _subset_sums(rows: FloatArray) -> NDArray[np.float64]:
    """The sum of each set of columns: shape (rows, 2 ** columns)."""
    sums = np.zeros((len(rows), 1))
    for column in rows.T:
        sums = np.concatenate((sums, sums + column[:, None]), axis=1)
    return sums
