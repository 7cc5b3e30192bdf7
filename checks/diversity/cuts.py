"""Cuts: linear inequalities on log-ratios that every class combination violating a criterion must satisfy.

Write x_s(t) = ln v_s(t) for the class vector of a combination t. A *case* is one way of violating a criterion, always
with a *head* h whose share is positive. A cut of a case has a weight vector w >= 0 on the values, which sums to 1 and
is 0 at the head. Its bound M satisfies

    t violates the criterion by this case  =>  sum_s w_s (x_s(t) - x_h(t)) <= M.

The left side is a sum over the cliques. So its minimum over all t is one min-sum pass along the junction tree, however
many combinations there are. If that minimum exceeds M, the case is impossible. The bounds are weighted
arithmetic-geometric means: sum_A u_s <= theta implies sum_A w_s ln u_s <= ln theta + sum_A w_s ln w_s. The best
weights of a case solve a concave problem, by mirror ascent towards the shares at the minimizing t (geometric
programming).
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from math import log
from typing import Any, NamedTuple, Self

import numpy as np

from models.arrays import BoolArray, FloatArray, IndexArray, x_log_x
from models.frozen import frozen

ROUNDING = 1e-7
"""Amount by which cuts are loosened (in logarithms), far above floating-point errors."""

ZERO_LOG = -1e5
"""Replacement of ln 0, below any sum of logarithms of count ratios; heads must be positive and tails may be empty."""


@frozen(eq=False)
class RatioBounds:
    """Bounds of the log-ratios x_s - x_h, `[s, h]`, over the class combinations with a positive head h.

    floor, ceiling: shape (values, values). The diagonal of the ceiling is 0 for a head that can be positive, else
    -inf.
    """

    floor: FloatArray
    ceiling: FloatArray

    @property
    def value_count(self) -> int:
        """Number of sensitive values."""
        return len(self.floor)

    def possible(self) -> BoolArray:
        """Return which values can have a positive share, shape (values,)."""
        return np.asarray(self.ceiling.diagonal() == 0)

    def leading(self) -> IndexArray:
        """Return the values that can be most frequent: no other value always exceeds them."""
        return np.flatnonzero(self.possible() & ~(self.floor > ROUNDING).any(axis=0))

    def others(self, heads: IndexArray) -> BoolArray:
        """Return a mask of all values but the head, shape (values, heads)."""
        return np.asarray(np.arange(self.value_count)[:, None] != heads)


class Cuts(NamedTuple):
    """Linear inequalities coefficients . x <= bound. coefficients: shape (values, cuts). bounds: shape (cuts,)."""

    coefficients: FloatArray
    bounds: FloatArray


@frozen(eq=False)
class Cases(ABC):
    """Ways of violating one criterion. The last axis of every array is that of the cases.

    heads: the head of each case, shape (cases,). support: the values that a cut may put weight on, shape (values,
    cases).
    """

    heads: IndexArray
    support: BoolArray

    @abstractmethod
    def bound(self, weights: FloatArray) -> FloatArray:
        """Return M of each case with these weights, shape (cases,). weights: shape (values, cases)."""

    def target(self, x: FloatArray, turn: int = 0) -> FloatArray:  # noqa: ARG002
        """Return where to move the weights after a class for each case: nonnegative, in any scale, shape (values,
        cases).

        The default is its shares. x: the log-vectors of these classes, shape (values, cases). turn: number of the try.
        """
        return shares(x, self.support)

    def selected(self, which: BoolArray) -> Self:
        """Return some of the cases."""
        parts = ((part.name, getattr(self, part.name)) for part in fields(self))
        chosen: dict[str, Any] = {name: part[..., which] for name, part in parts if isinstance(part, np.ndarray)}
        return replace(self, **chosen)

    def form(self, weights: FloatArray) -> FloatArray:
        """Return the coefficients of x in the cut of each case, shape (values, cases)."""
        coefficients = weights.copy()
        coefficients[self.heads, np.arange(len(self.heads))] -= 1
        return coefficients


def cuts(cases: Cases, weights: FloatArray) -> Cuts:
    """Return the cuts of all cases with these weights, loosened for rounding."""
    return Cuts(cases.form(weights), cases.bound(weights) + ROUNDING)


def shares(x: FloatArray, support: BoolArray) -> FloatArray:
    """Return e^x on the support, 0 elsewhere, each column in some scale."""
    return np.asarray(np.exp(x - x.max(axis=0)) * support, dtype=np.float64)


@frozen(eq=False)
class TrimmedCases(Cases):
    """Cases in which a tail of all others but `spared` values sums to at most theta times the head; the tail is left
    open.

    ceiling: x_s - x_h of each value and case, from above.
    """

    theta: float
    spared: int
    ceiling: FloatArray

    def bound(self, weights: FloatArray) -> FloatArray:
        """Return the largest bound over all choices of spared values, each term from above."""
        relief = weights * (self.ceiling - np.log(np.maximum(weights, 1e-300)) - log(self.theta))
        best = _largest(relief, self.spared)
        least = 1 - _largest(weights, self.spared)
        share = np.maximum(least, np.exp(-1))
        spread = np.where(least < 1, -x_log_x(share), 0.0)
        return np.asarray(log(self.theta) + x_log_x(weights).sum(axis=0) + best + spread, dtype=np.float64)


def light_tails(heads: IndexArray, support: BoolArray, theta: FloatArray) -> "GroupCases":
    """Return cases in which the values of a tail sum to at most theta times the head.

    They are groups of one value, without slopes. support: the tails, shape (values, cases). theta: shape (cases,).
    """
    return GroupCases(heads, support, support.astype(np.float64), np.zeros(support.shape), np.log(theta))


def light_others(bounds: RatioBounds, heads: IndexArray, theta: Iterable[Fraction]) -> "GroupCases":
    """Return cases in which all other values sum to at most theta times the head. theta: 0 or more, of each head."""
    return light_tails(heads, bounds.others(heads), np.maximum(np.array(list(map(float, theta))), 1e-300))


def empty_tails(heads: IndexArray, value_count: int) -> "GroupCases":
    """Return cases in which every class with a positive head is a violation, as a cut without weight says."""
    return light_tails(heads, np.zeros((value_count, len(heads)), dtype=bool), np.full(len(heads), np.inf))


def too_rare(bounds: RatioBounds, least: Mapping[int, Fraction]) -> "GroupCases":
    """Return cases in which w is below its least share p: another value exceeds its part of 1 / p - 1 times w.

    The parts are in proportion to the largest ratios, so that a sum of these below the whole excludes all cases.
    """
    values, possible = bounds.value_count, bounds.possible()
    heads: list[int] = []
    weighted: list[int] = []
    theta: list[float] = []
    for w, share in sorted(least.items()):
        others = [s for s in range(values) if s != w and possible[s]]
        # The parts may be anything positive: a ratio without a bound is cut off far above, one near 0 far below.
        largest = np.exp(np.clip(bounds.ceiling[others, w], -300, 50))
        heads += others
        weighted += [w] * len(others)
        # Exact until here: a share just below 1 would be rounded to 1, and nothing would be left.
        theta += (largest.sum() / (float(1 / share - 1) * largest)).tolist()
    support = np.zeros((values, len(heads)), dtype=bool)
    support[weighted, np.arange(len(heads))] = True
    return light_tails(np.array(heads, dtype=np.intp), support, np.array(theta, dtype=np.float64))


@lru_cache(maxsize=64)
def subsets(number: int, size: int) -> IndexArray:
    """Return all subsets of 0 .. number - 1 of a size, one per row."""
    chosen = list(combinations(range(number), size))
    return np.array(chosen, dtype=np.intp).reshape(len(chosen), size)


def _largest(columns: FloatArray, number: int) -> FloatArray:
    return np.asarray(np.sort(columns, axis=0)[len(columns) - number :].sum(axis=0), dtype=np.float64)


_GRID, _REFINEMENTS = 7, 5
"""Multipliers tried at a time for the dual, and refinements around the best; any multiplier is valid."""

_BRANCH_POINT = -0.3678794411714423
"""Number just above -1/e, where the lower branch of Lambert's W ends. Near a stationary point the dual is flat."""


@frozen(eq=False)
class EntropyCases(Cases):
    """Cases in which the entropy is at most ln(effective), and the head is a most frequent value.

    The bound is the dual of: maximize sum w_s y_s over y <= ceiling with entropy(1, e^y) <= ln(effective). Let F(y) =
    sum e^y (y + ln(effective) - m) + e^(m-1), the head included. F >= 0 follows from the entropy bound for every m. So
    for every m and every n > 0 the separable maximum of sum w_s y_s + n F(y) is a valid M. Its terms are largest at an
    end of their interval or at a stationary point on the lower branch of Lambert's W.
    """

    effective: float
    floor: FloatArray
    ceiling: FloatArray

    def bound(self, weights: FloatArray) -> FloatArray:
        """Return the least dual value over a grid of multipliers, refined around its best point."""
        cases = np.arange(len(self.heads))
        means = np.tile(np.linspace(1, 1 + log(len(weights)), _GRID), (len(cases), 1))
        scales = np.tile(np.linspace(log(1e-3), log(1e4), _GRID), (len(cases), 1))
        least = np.full(len(cases), np.inf)
        for _ in range(_REFINEMENTS):
            values = self._dual(weights, means, np.exp(scales))
            best = values.reshape(len(cases), -1).argmin(axis=1)
            least = np.minimum(least, values.reshape(len(cases), -1)[cases, best])
            means = _zoomed(means, best // _GRID)
            scales = _zoomed(scales, best % _GRID)
        return least

    def _dual(self, weights: FloatArray, means: FloatArray, scales: FloatArray) -> FloatArray:
        """Return the dual value of each case at each pair of multipliers: shape (cases, means, scales)."""
        from scipy.special import lambertw  # slow to import, and few need it

        h = log(self.effective)
        m, n = means[:, :, None, None], scales[:, None, :, None]
        w, low, high = (side.T[:, None, None, :] for side in (weights, self.floor, self.ceiling))

        def term(y: FloatArray) -> FloatArray:
            return np.asarray(w * y + n * np.exp(y) * (y + h - m), dtype=np.float64)

        argument = np.clip(-(w / n) * np.exp(h + 1 - m), _BRANCH_POINT, -1e-300)
        stationary = np.where(w > 0, lambertw(argument, -1).real - 1 - h + m, ZERO_LOG)
        best = np.maximum(term(np.clip(stationary, low, high)), term(np.broadcast_to(high, stationary.shape)))
        others = (np.arange(len(weights))[:, None] != self.heads).T[:, None, None, :]
        head = scales[:, None, :] * ((h - means[:, :, None]) + np.exp(means[:, :, None] - 1))
        return np.asarray(np.where(others, best, 0.0).sum(axis=3) + head, dtype=np.float64)

    def target(self, x: FloatArray, turn: int = 0) -> FloatArray:
        """Return the slope of the entropy, p (-ln p - H) if it is positive; in other turns damped shares."""
        p = shares(x, np.ones_like(self.support))
        if turn % 3:
            return np.asarray((p * self.support) ** (1 - turn % 3 / 4))
        p /= p.sum(axis=0)
        slope = -x_log_x(p) - p * (-x_log_x(p)).sum(axis=0)
        return np.asarray(np.maximum(slope, 0) * self.support, dtype=np.float64)


def _zoomed(grid: FloatArray, place: IndexArray) -> FloatArray:
    """Return for each case an even grid between the neighbours of one of its points."""
    rows = np.arange(len(grid))
    low, high = grid[rows, np.maximum(place - 1, 0)], grid[rows, np.minimum(place + 1, _GRID - 1)]
    return np.asarray(low[:, None] + (high - low)[:, None] * np.linspace(0, 1, _GRID), dtype=np.float64)


@frozen(eq=False)
class GroupCases(Cases):
    """Cases in which a group of values weighs at least as much as a tail of others: sum_tail a_s v_s <= sum_group c_s
    v_s.

    Unlike a single head, a group has no cut of its own, because the logarithm of a sum is not linear. Over the
    interval of each log-ratio y_s to the head, which is one of the group, e^y_s is below its chord. With the tangent
    of the logarithm at the largest log-ratios this gives ln sum_group c_s e^y_s <= ln C - sum b_s (ceiling_s - y_s).

    support: the tail. tail: a_s, shape (values, cases). slopes: b_s, 0 at the head and outside the group. log_group:
    ln C less the sum of b_s ceiling_s, shape (cases,). If the tail has no value, every class is a violation.
    """

    tail: FloatArray
    slopes: FloatArray
    log_group: FloatArray

    @classmethod
    def of(cls, heads: IndexArray, balance: FloatArray, floor: FloatArray, ceiling: FloatArray) -> "GroupCases":
        """Return the cases of a balance a_s - c_s. floor, ceiling: of log-ratios to the head, shape (values, cases)."""
        group = np.maximum(-balance, 0)
        high = np.minimum(ceiling, 1e2)
        width = high - floor
        # A value that can vanish has no chord, only its largest ratio.
        useful = (floor > ZERO_LOG / 2) & (width > 0)
        chord = np.where(useful, -np.expm1(-width) / np.where(useful, width, 1), 0.0)
        terms = group * np.exp(high)
        total = np.maximum(terms.sum(axis=0), 1e-300)
        slopes = terms * chord / total
        slopes[heads, np.arange(len(heads))] = 0
        tail, log_group = np.maximum(balance, 0), np.log(total) - (slopes * high).sum(axis=0)
        return cls(heads, tail > 0, tail, slopes, log_group)

    def bound(self, weights: FloatArray) -> FloatArray:
        """Return the arithmetic-geometric mean of the tail, against the largest weight of the group."""
        mean = (x_log_x(weights) - weights * np.log(np.where(self.tail > 0, self.tail, 1))).sum(axis=0)
        return np.asarray(np.where(self.support.any(axis=0), self.log_group + mean, np.inf), dtype=np.float64)

    def form(self, weights: FloatArray) -> FloatArray:
        """Return the weights of the tail, less the slopes of the group."""
        coefficients = weights - self.slopes
        coefficients[self.heads, np.arange(len(self.heads))] -= 1 - self.slopes.sum(axis=0)
        return coefficients

    def target(self, x: FloatArray, turn: int = 0) -> FloatArray:  # noqa: ARG002
        """Return weighted shares within the tail."""
        return shares(x, self.support) * self.tail
