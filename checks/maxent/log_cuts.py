"""Cuts: linear inequalities on log-ratios that every class combination violating a criterion must satisfy.

Write x_s(t) = ln v_s(t) for the class vector of a combination t. A *case* is one way of violating a criterion, always
with a *head* h whose share is positive. A cut of a case is a weight vector w >= 0 on the values, summing to 1 and 0 at
the head, with a bound M such that

    t violates the criterion by this case  =>  sum_s w_s (x_s(t) - x_h(t)) <= M.

The left side is a sum over the cliques, so its minimum over all t is one min-sum pass along the junction tree, however
many combinations there are. When that minimum exceeds M the case is impossible. The bounds are weighted
arithmetic-geometric means: sum_A u_s <= theta implies sum_A w_s ln u_s <= ln theta + sum_A w_s ln w_s. For each case the
best weights solve a concave problem, by mirror ascent towards the shares at the minimizing t (geometric programming).
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from math import comb, log
from typing import TypeAlias

import numpy as np
from scipy.special import xlogy

from checks.diversity.functional_diversity import Functional
from checks.diversity.l_diversity import Diversity, Entropy, NegativeDisclosure, NpdRecursive, Recursive, Simple
from checks.maxent.log_tree import ZERO_LOG
from models.arrays import BoolArray, FloatArray, IndexArray

MAX_CASES = 40_000
"""Tail sets of a recursive criterion are told apart up to so many; beyond that a case is a head."""

_GRID, _REFINEMENTS = 7, 5
"""Multipliers tried at a time for the entropy's dual, and how often around the best; any multiplier is valid."""

ROUNDING = 1e-7
"""Cuts are loosened by this much (in logarithms), far above what floating point can lose."""


@dataclass(frozen=True, eq=False)
class Cuts:
    """Linear inequalities coefficients . x <= bound. coefficients: shape (values, cuts). bounds: shape (cuts,)."""

    coefficients: FloatArray
    bounds: FloatArray

    def kept(self, which: BoolArray) -> "Cuts":
        """Some of the cuts."""
        return Cuts(self.coefficients[:, which], self.bounds[which])


@dataclass(frozen=True, eq=False)
class TailCases:
    """The values of a tail sum to at most theta times the head. tails: shape (values, cases)."""

    heads: IndexArray
    support: BoolArray
    theta: FloatArray

    def bound(self, weights: FloatArray) -> FloatArray:
        """Arithmetic-geometric mean."""
        return np.asarray(np.log(self.theta) + xlogy(weights, weights).sum(axis=0), dtype=np.float64)

    def kept(self, which: BoolArray) -> "TailCases":
        """Some of the cases."""
        return TailCases(self.heads[which], self.support[:, which], self.theta[which])

    def target(self, x: FloatArray, attempt: int) -> FloatArray:  # noqa: ARG002
        """Shares within the tail."""
        return _shares(x, self.support)


@dataclass(frozen=True, eq=False)
class TrimmedCases:
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
        spread = np.where(least < 1, -xlogy(share, share), 0.0)
        return np.asarray(log(self.theta) + xlogy(weights, weights).sum(axis=0) + best + spread, dtype=np.float64)

    def kept(self, which: BoolArray) -> "TrimmedCases":
        """Some of the cases."""
        return replace(self, heads=self.heads[which], support=self.support[:, which], ceiling=self.ceiling[:, which])

    def target(self, x: FloatArray, attempt: int) -> FloatArray:  # noqa: ARG002
        """Shares of the others, the largest of which are likely to be spared, damped."""
        shares = _shares(x, self.support)
        cut = -np.sort(-shares, axis=0)[min(self.spared, len(shares) - 1)]
        return np.asarray(np.minimum(shares, cut), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class GroupCases:
    """Some values, the group, weigh more together than a tail of others: sum_tail a_s v_s < sum_group c_s v_s.

    Unlike a head by itself a group has no cut of its own, since the logarithm of a sum is not linear. Over the interval
    of each log-ratio y_s to the head, which is one of the group, e^y_s is below its chord; with the tangent of the
    logarithm at the largest log-ratios that makes ln sum_group c_s e^y_s <= ln C - sum b_s (ceiling_s - y_s).

    tail: a_s, shape (values, cases). slopes: b_s, 0 at the head and outside the group. log_group: ln C less the sum of
    b_s ceiling_s, shape (cases,). Where the tail has no value every class is a violation.
    """

    heads: IndexArray
    tail: FloatArray
    slopes: FloatArray
    log_group: FloatArray

    @classmethod
    def of(cls, heads: IndexArray, balance: FloatArray, floor: FloatArray, ceiling: FloatArray) -> "GroupCases":
        """balance: a_s - c_s. floor, ceiling: of each log-ratio to the head. All of shape (values, cases)."""
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
        return cls(heads, np.maximum(balance, 0), slopes, np.log(total) - (slopes * high).sum(axis=0))

    @property
    def support(self) -> BoolArray:
        """The tail."""
        return self.tail > 0

    def bound(self, weights: FloatArray) -> FloatArray:
        """Arithmetic-geometric mean of the tail, against what the group can be."""
        mean = (xlogy(weights, weights) - xlogy(weights, np.where(self.tail > 0, self.tail, 1))).sum(axis=0)
        return np.asarray(np.where(self.support.any(axis=0), self.log_group + mean, np.inf), dtype=np.float64)

    def kept(self, which: BoolArray) -> "GroupCases":
        """Some of the cases."""
        return GroupCases(self.heads[which], self.tail[:, which], self.slopes[:, which], self.log_group[which])

    def target(self, x: FloatArray, attempt: int) -> FloatArray:  # noqa: ARG002
        """Weighted shares within the tail."""
        return _shares(x, self.support) * self.tail


@dataclass(frozen=True, eq=False)
class EntropyCases:
    """The entropy is at most ln(effective), and the head is a most frequent value.

    The bound is the dual of: maximize sum w_s y_s over y <= ceiling with entropy(1, e^y) <= ln(effective). With
    F(y) = sum e^y (y + ln(effective) - m) + e^(m-1), the head included, F >= 0 follows from the entropy bound for every
    m; so for every m and every n > 0 the separable maximum of sum w_s y_s + n F(y) is a valid M. Its terms are largest
    at an end of their interval or at a stationary point on the lower branch of Lambert's W.
    """

    heads: IndexArray
    support: BoolArray
    effective: float
    floor: FloatArray
    ceiling: FloatArray

    def bound(self, weights: FloatArray) -> FloatArray:
        """The least dual value over a grid of multipliers, refined around its best point."""
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
        """The dual value of each case at each pair of multipliers: shape (cases, means, scales)."""
        h = log(self.effective)
        m, n = means[:, :, None, None], scales[:, None, :, None]
        w, low, high = (side.T[:, None, None, :] for side in (weights, self.floor, self.ceiling))

        def term(y: FloatArray) -> FloatArray:
            return np.asarray(w * y + n * np.exp(y) * (y + h - m), dtype=np.float64)

        argument = np.maximum(-(w / n) * np.exp(h + 1 - m), -np.exp(-1))
        stationary = np.where(w > 0, lower_lambert(argument) - 1 - h + m, ZERO_LOG)
        best = np.maximum(term(np.clip(stationary, low, high)), term(np.broadcast_to(high, stationary.shape)))
        others = (np.arange(len(weights))[:, None] != self.heads).T[:, None, None, :]
        head = scales[:, None, :] * ((h - means[:, :, None]) + np.exp(means[:, :, None] - 1))
        return np.asarray(np.where(others, best, 0.0).sum(axis=3) + head, dtype=np.float64)

    def kept(self, which: BoolArray) -> "EntropyCases":
        """Some of the cases."""
        return EntropyCases(
            self.heads[which], self.support[:, which], self.effective, self.floor[:, which], self.ceiling[:, which]
        )

    def target(self, x: FloatArray, attempt: int) -> FloatArray:
        """The slope of the entropy, p (-ln p - H) where that is positive; in other attempts damped shares."""
        if attempt % 3:
            return _shares(x, self.support) ** (0.75 if attempt % 3 == 1 else 0.5)
        p = np.exp(x - x.max(axis=0))
        p /= p.sum(axis=0)
        slope = -xlogy(p, p) - p * (-xlogy(p, p)).sum(axis=0)
        return np.asarray(np.maximum(slope, 0) * self.support, dtype=np.float64)


def _zoomed(grid: FloatArray, place: IndexArray) -> FloatArray:
    """For each case an even grid between the neighbours of one of its points."""
    rows = np.arange(len(grid))
    low, high = grid[rows, np.maximum(place - 1, 0)], grid[rows, np.minimum(place + 1, _GRID - 1)]
    return np.asarray(low[:, None] + (high - low)[:, None] * np.linspace(0, 1, _GRID), dtype=np.float64)


def lower_lambert(x: FloatArray) -> FloatArray:
    """The branch below -1 of Lambert's W on [-1/e, 0), to rounding away from -1/e, in a few steps of Halley's method.

    An error moves a stationary point, where the dual is flat, so it matters to second order only.
    """
    x = np.minimum(x, -1e-300)
    logarithm = np.log(-x)
    near_branch = -1 - np.sqrt(np.maximum(2 * (1 + np.e * x), 0))
    w = np.where(logarithm < -1.5, logarithm - np.log(np.maximum(-logarithm, 1.0)), near_branch)
    for _ in range(5):
        # The equation w e^w = x in logarithms, w + ln(-w) = ln(-x), is well scaled however small x is.
        error = w + np.log(-w) - logarithm
        slope = 1 + 1 / w
        w = np.minimum(w - error / np.where(np.abs(slope) > 1e-9, slope, 1e-9), -1.0)
    return np.asarray(w, dtype=np.float64)


def _largest(columns: FloatArray, number: int) -> FloatArray:
    """The sum of the largest entries of each column."""
    return np.asarray(np.sort(columns, axis=0)[len(columns) - number :].sum(axis=0), dtype=np.float64)


def _shares(x: FloatArray, support: BoolArray) -> FloatArray:
    masked = np.where(support, x, -np.inf)
    top = masked.max(axis=0)
    return np.asarray(np.exp(masked - np.where(np.isfinite(top), top, 0)), dtype=np.float64)


Cases: TypeAlias = TailCases | TrimmedCases | GroupCases | EntropyCases
"""Ways of violating one criterion. heads: of each case. support: the values it may put weight on, (values, cases)."""


def cuts(cases: Cases, weights: FloatArray) -> Cuts:
    """The cuts of all cases with these weights, loosened for rounding."""
    coefficients = weights.copy()
    own = np.ones(len(cases.heads))
    if isinstance(cases, GroupCases):
        coefficients -= cases.slopes
        own -= cases.slopes.sum(axis=0)
    coefficients[cases.heads, np.arange(len(cases.heads))] -= own
    return Cuts(coefficients, cases.bound(weights) + ROUNDING)


def cases_of(diversity: Diversity, floor: FloatArray, ceiling: FloatArray) -> list[Cases] | None:
    """The ways of violating a criterion; None for a criterion whose violations have no cuts here.

    floor, ceiling: shape (values, values), `[s, h]`: bounds of x_s - x_h over the combinations with a positive head h.
    A head that is never positive has no cases, nor has one that another value that counts always exceeds: where it
    violates the criterion, that one does too.
    """
    values = len(floor)
    possible = ceiling.diagonal() == 0
    leading = np.flatnonzero(possible & ~(floor > ROUNDING).any(axis=0))
    others = np.arange(values)[:, None] != leading
    match diversity:
        case Simple(l):
            theta = np.full(len(leading), max(float(l) - 1, 1e-300))
            return [TailCases(leading, others, theta)] if l > 1 else []
        case Entropy(l):
            highest = np.minimum(ceiling[:, leading], 0)
            lowest = np.minimum(floor[:, leading], highest)
            return [EntropyCases(leading, others, float(l), lowest, highest)] if l > 1 else []
        case Recursive():
            return _recursive_cases(diversity, floor, ceiling, possible)
        case NegativeDisclosure(percent, protected):
            return [_negative_cases(float(percent), sorted(protected), ceiling, possible)]
        case NpdRecursive(positive, negative):
            return [
                *_recursive_cases(positive, floor, ceiling, possible),
                _negative_cases(float(negative.percent), sorted(negative.protected), ceiling, possible),
            ]
        case Functional():
            return _functional_cases(diversity, floor, ceiling, possible)
    return None


def _recursive_cases(diversity: Recursive, floor: FloatArray, ceiling: FloatArray, alive: BoolArray) -> list[Cases]:
    values = len(floor)
    size = diversity.tail_size(values)
    careful = diversity.heads(values)
    heads = [head for head in careful if alive[head] and not (floor[careful, head] > ROUNDING).any()]
    if diversity.l == 1 or not heads:
        return []
    theta = 1 / float(diversity.c)
    if size == 0:
        # An empty tail: every class with a positive head violates, and a cut with no weight says just that.
        none = np.zeros((values, len(heads)), dtype=bool)
        return [TailCases(np.array(heads), none, np.full(len(heads), np.inf))]
    if len(heads) * comb(values - 1, size) > MAX_CASES:
        chosen = np.array(heads)
        others = np.arange(values)[:, None] != chosen
        highest = ceiling[:, chosen]
        return [TrimmedCases(chosen, others, theta, values - 1 - size, np.minimum(highest, 1e3))]
    parts = []
    for head in heads:
        # A value that alone exceeds theta cannot be in the tail of a violation.
        possible = np.flatnonzero((floor[:, head] <= log(theta) + ROUNDING) & (np.arange(values) != head))
        tails = possible[_subsets(len(possible), size)]
        support = np.zeros((len(tails), values), dtype=bool)
        np.put_along_axis(support, tails, values=True, axis=1)
        parts.append((np.full(len(tails), head), support))
    support = np.concatenate([part for _, part in parts]).T
    return [TailCases(np.concatenate([part for part, _ in parts]), support, np.full(support.shape[1], theta))]


def _functional_cases(
    diversity: Functional, floor: FloatArray, ceiling: FloatArray, alive: BoolArray
) -> list[Cases] | None:
    """For every k < l the k base values that may be the most frequent ones, and the value that is so under the head.

    None where published values do not share their rows evenly among base values of their own, or where there are too
    many such groups and base values are not what is published.
    """
    leaves = np.ones(len(floor), dtype=np.intp) if diversity.induction is None else diversity.induction.leaves
    if leaves is None:
        return None
    # Log-ratios by base value: that of s to h is x_s - ln leaves_s less the same of h.
    offset = np.log(leaves)[:, None] - np.log(leaves)
    above = floor - offset > ROUNDING
    heads = np.flatnonzero(alive & ~above.any(axis=0))
    taken = _most_frequent(tuple(leaves.tolist()), diversity.l - 1, MAX_CASES // max(len(heads), 1))
    if taken is None:
        return None if leaves.max() > 1 else _largest_groups(diversity, heads, ceiling)
    # A base value that is always more frequent is among them where the other is.
    taken = taken[~((taken > 0) @ above.T & (taken < leaves)).any(axis=1)]
    head, row = np.nonzero(taken.T[heads] > 0)
    chosen, taken = heads[head], taken[row].T
    psi = diversity.bounds(int(leaves.sum()))[taken.sum(axis=0) - 1]
    balance = psi - taken / leaves[:, None]
    violable = (balance < 0).any(axis=0)
    chosen, balance = chosen[violable], balance[:, violable]
    highest = np.minimum(ceiling[:, chosen], offset[:, chosen])
    return [GroupCases.of(chosen, balance, np.minimum(floor[:, chosen], highest), highest)]


@lru_cache(maxsize=64)
def _most_frequent(leaves: tuple[int, ...], most: int, limit: int) -> IndexArray | None:
    """How many base values of each published one may be the k most frequent, k = 1 .. most; shape (groups, values).

    Base values of one published value are equally frequent, so that all of them are taken but of one published value.
    None where there are more than `limit` groups.
    """
    values = len(leaves)
    groups: list[list[int]] = []
    pending: list[tuple[int, int, tuple[int, ...]]] = [(0, most, ())]
    while pending:
        first, left, whole = pending.pop()
        row = [leaves[s] if s in whole else 0 for s in range(values)]
        groups += [row] if whole else []
        groups += [
            [part if s == last else n for s, n in enumerate(row)]
            for last in range(values)
            if last not in whole
            for part in range(1, min(leaves[last] - 1, left) + 1)
        ]
        if len(groups) + len(pending) > limit:
            return None
        pending += [(s + 1, left - leaves[s], (*whole, s)) for s in range(first, values) if leaves[s] <= left]
    return np.array(groups, dtype=np.intp).reshape(len(groups), values)


def _largest_groups(diversity: Functional, heads: IndexArray, ceiling: FloatArray) -> list[Cases]:
    """The k most frequent values weigh at most k times the head; which ones is left open."""
    others = np.arange(len(ceiling))[:, None] != heads
    if len(ceiling) < diversity.l and diversity.bound(len(ceiling)) < 1:
        # All values together hold more than they may.
        return [TailCases(heads, np.zeros_like(others), np.full(len(heads), np.inf))]
    highest = np.minimum(ceiling[:, heads], 0)
    return [
        TrimmedCases(heads, others, k * float(1 / diversity.bound(k) - 1), k - 1, highest)
        for k in range(1, diversity.l)
        if k < len(ceiling) and diversity.bound(k) < 1
    ]


@lru_cache(maxsize=64)
def _subsets(number: int, size: int) -> IndexArray:
    """All subsets of 0 .. number - 1 of a size, one a row."""
    subsets = list(combinations(range(number), size))
    return np.array(subsets, dtype=np.intp).reshape(len(subsets), size)


def _negative_cases(percent: float, protected: list[int], ceiling: FloatArray, alive: BoolArray) -> Cases:
    """A protected value w is rarer than percent: some value s exceeds its part of 100 / percent - 1 times w.

    The parts are in proportion to the largest ratios, so that a sum of these below the whole excludes all cases.
    """
    values = len(ceiling)
    heads, weighted, theta = [], [], []
    for w in protected:
        others = [s for s in range(values) if s != w and alive[s]]
        whole = 100 / percent - 1
        # A ratio has no bound where w can vanish; the parts may be anything positive, so it is cut off far above.
        largest = np.exp(np.clip(ceiling[others, w], -700, 50))
        for s, part in zip(others, whole * largest / largest.sum()):
            heads.append(s)
            weighted.append(w)
            theta.append(1 / part)
    support = np.zeros((values, len(heads)), dtype=bool)
    support[weighted, np.arange(len(heads))] = True
    return TailCases(np.array(heads, dtype=np.intp), support, np.array(theta, dtype=np.float64))
