"""Cases in which a tail of values is too light beside the head."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from math import log

import numpy as np

from checks.diversity.violations.cases import Cases, RatioBounds, shares
from models.arrays import BoolArray, FloatArray, IndexArray
from models.x_log_x import x_log_x


@dataclass(frozen=True, eq=False)
class TailCases(Cases):
    """The values of a tail sum to at most theta times the head.

    support: the tails, shape (values, cases). theta: shape (cases,).
    """

    heads: IndexArray
    support: BoolArray
    theta: FloatArray

    def bound(self, weights: FloatArray) -> FloatArray:
        """Arithmetic-geometric mean."""
        return np.asarray(np.log(self.theta) + x_log_x(weights).sum(axis=0), dtype=np.float64)

    def kept(self, which: BoolArray) -> "TailCases":
        """Some of the cases."""
        return TailCases(self.heads[which], self.support[:, which], self.theta[which])

    def target(self, x: FloatArray, attempt: int) -> FloatArray:  # noqa: ARG002
        """Shares within the tail."""
        return shares(x, self.support)


@dataclass(frozen=True, eq=False)
class TrimmedCases(Cases):
    """Some tail of all others but `spared` many values sums to at most theta times the head; which ones is left open.

    ceiling: x_s - x_h of each value and case, from above.
    """

    heads: IndexArray
    support: BoolArray
    theta: float
    spared: int
    ceiling: FloatArray

    def bound(self, weights: FloatArray) -> FloatArray:
        """The largest bound over all choices of spared values, each term from above."""
        relief = weights * (self.ceiling - np.log(np.maximum(weights, 1e-300)) - log(self.theta))
        best = _largest(relief, self.spared)
        least = 1 - _largest(weights, self.spared)
        share = np.maximum(least, np.exp(-1))
        spread = np.where(least < 1, -x_log_x(share), 0.0)
        return np.asarray(log(self.theta) + x_log_x(weights).sum(axis=0) + best + spread, dtype=np.float64)

    def kept(self, which: BoolArray) -> "TrimmedCases":
        """Some of the cases."""
        return replace(self, heads=self.heads[which], support=self.support[:, which], ceiling=self.ceiling[:, which])

    def target(self, x: FloatArray, attempt: int) -> FloatArray:  # noqa: ARG002
        """Shares of the others, the largest of which are likely to be spared, damped."""
        likely = shares(x, self.support)
        cut = -np.sort(-likely, axis=0)[min(self.spared, len(likely) - 1)]
        return np.asarray(np.minimum(likely, cut), dtype=np.float64)


def empty_tails(heads: IndexArray, value_count: int) -> TailCases:
    """Every class with a positive head is a violation; a cut with no weight says just that."""
    nothing = np.zeros((value_count, len(heads)), dtype=bool)
    return TailCases(heads, nothing, np.full(len(heads), np.inf))


def too_rare(bounds: RatioBounds, least: Mapping[int, Fraction]) -> TailCases:
    """The ways in which a value w has less than its least share p: another exceeds its part of 1 / p - 1 times w.

    The parts are in proportion to the largest ratios, so that a sum of these below the whole excludes all cases.
    """
    values, possible = bounds.value_count, bounds.possible()
    heads, weighted, theta = [], [], []
    for w, share in sorted(least.items()):
        others = [s for s in range(values) if s != w and possible[s]]
        # Exact until here: a share just below 1 would be rounded to 1, and nothing would be left.
        whole = float(1 / share - 1)
        # The parts may be anything positive: a ratio without a bound is cut off far above, one near 0 far below.
        largest = np.exp(np.clip(bounds.ceiling[others, w], -300, 50))
        for s, part in zip(others, whole * largest / largest.sum()):
            heads.append(s)
            weighted.append(w)
            theta.append(1 / part)
    support = np.zeros((values, len(heads)), dtype=bool)
    support[weighted, np.arange(len(heads))] = True
    return TailCases(np.array(heads, dtype=np.intp), support, np.array(theta, dtype=np.float64))


@lru_cache(maxsize=64)
def subsets(number: int, size: int) -> IndexArray:
    """All subsets of 0 .. number - 1 of a size, one a row."""
    chosen = list(combinations(range(number), size))
    return np.array(chosen, dtype=np.intp).reshape(len(chosen), size)


def _largest(columns: FloatArray, number: int) -> FloatArray:
    """The sum of the largest entries of each column."""
    return np.asarray(np.sort(columns, axis=0)[len(columns) - number :].sum(axis=0), dtype=np.float64)
