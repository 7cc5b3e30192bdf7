"""Criteria against evidence of odds in closed form: entropy, and closeness to the whole table."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import log

import numpy as np
from numpy.typing import NDArray

from checks.diversity.criterion import (
    AT_ODDS,
    BOUNDARY,
    Cases,
    Diversity,
    RatioBounds,
    Vectors,
    entropy_is_at_least,
    spelled,
)
from checks.diversity.cuts import EntropyCases
from checks.errors import CriterionError
from models.arrays import BoolArray, FloatArray, IndexArray, effective_values_of_products, x_log_x

# Entropy diversity against evidence of odds G.
#
# The worst evidence multiplies the j most frequent values with G, for some j. That it is a corner follows from merging
# (`under_odds`). Let A be a set of values whose multiplying is worst, H* the entropy then, a < b two shares with a
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


_MOST_VALUES, _BLOCK = 20, 1 << 21


@dataclass(frozen=True)
class ClosenessAtOdds(Diversity):
    """No set of values has a share that exceeds its share of the whole table by more than t, its values weighed by `odds`.

    overall: rows of the whole table by value, not all 0. Reached: the largest excess. Classes may have 20 values at most;
    CriterionError is raised for more.
    """

    t: Fraction
    overall: tuple[int, ...]
    odds: Fraction

    def __post_init__(self) -> None:
        if len(self.overall) > _MOST_VALUES:
            raise CriterionError(
                f"t-closeness is decided at odds for {_MOST_VALUES} sensitive values at most, not for {len(self.overall)}"
            )

    def __str__(self) -> str:
        return f"t-closeness:{spelled(self.t)} {AT_ODDS} {spelled(self.odds)}"

    def slack(self, vectors: Vectors) -> FloatArray:
        """The excess below t."""
        return float(self.t) - self.reached(vectors)

    def reached(self, vectors: Vectors) -> FloatArray:
        """The largest excess of each class."""
        shares = np.asarray(vectors / vectors.sum(axis=1, keepdims=True), dtype=np.float64)
        block = max(_BLOCK >> len(self.overall), 1)
        parts = [self._excesses(shares[i : i + block]).max(axis=1) for i in range(0, len(shares), block)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _excesses(self, shares: FloatArray) -> FloatArray:
        """Of every set of values: shape (classes, sets), bit i of a set saying whether it holds value i."""
        whole = np.array([self.overall], dtype=np.float64)
        own, expected = _subset_sums(shares), _subset_sums(whole / whole.sum())
        odds = float(self.odds)
        return np.asarray(odds * own / (1 + (odds - 1) * own) - expected, dtype=np.float64)

    def decide(self, vector: Sequence[Fraction | int]) -> bool:
        """The exact verdict on one class."""
        rows, total = Fraction(sum(vector)), sum(self.overall)
        excesses = self._excesses(np.array([[float(v / rows) for v in vector]]))[0] - float(self.t)
        if (excesses > BOUNDARY).any():
            return False
        for number in np.flatnonzero(excesses >= -BOUNDARY).tolist():
            held = [value for value in range(len(vector)) if number >> value & 1]
            own = sum((Fraction(vector[value]) for value in held), Fraction(0)) / rows
            expected = Fraction(sum(self.overall[value] for value in held), total)
            if self.odds * own / (1 + (self.odds - 1) * own) - expected > self.t:
                return False
        return True


def _subset_sums(rows: FloatArray) -> NDArray[np.float64]:
    """The sum of each set of columns: shape (rows, 2 ** columns)."""
    sums = np.zeros((len(rows), 1))
    for column in rows.T:
        sums = np.concatenate((sums, sums + column[:, None]), axis=1)
    return sums
