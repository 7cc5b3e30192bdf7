"""Cases in which a group of values weighs more together than a tail of others allows."""

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from checks.diversity.violations.cases import ZERO_LOG, Cases, shares
from models.arrays import BoolArray, FloatArray, IndexArray
from models.x_log_x import x_log_x


@dataclass(frozen=True, eq=False)
class GroupCases(Cases):
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
    support: BoolArray = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "support", self.tail > 0)

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

    def bound(self, weights: FloatArray) -> FloatArray:
        """Arithmetic-geometric mean of the tail, against what the group can be."""
        mean = (x_log_x(weights) - weights * np.log(np.where(self.tail > 0, self.tail, 1))).sum(axis=0)
        return np.asarray(np.where(self.support.any(axis=0), self.log_group + mean, np.inf), dtype=np.float64)

    def form(self, weights: FloatArray) -> FloatArray:
        """The weights of the tail, less the slopes of the group."""
        coefficients = weights - self.slopes
        coefficients[self.heads, np.arange(len(self.heads))] -= 1 - self.slopes.sum(axis=0)
        return coefficients

    def kept(self, which: BoolArray) -> "GroupCases":
        """Some of the cases."""
        return GroupCases(self.heads[which], self.tail[:, which], self.slopes[:, which], self.log_group[which])

    def target(self, x: FloatArray, attempt: int) -> FloatArray:  # noqa: ARG002
        """Weighted shares within the tail."""
        return shares(x, self.support) * self.tail


@lru_cache(maxsize=64)
def most_frequent(leaves: tuple[int, ...], most: int, limit: int) -> IndexArray | None:
    """How many base values of each published one may be the k most frequent, k = 1 .. most; shape (groups, values).

    leaves: how many base values each published value holds. These are equally frequent, so that all of them are taken but
    of one published value. None where there are more than `limit` groups.
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
