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

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np

from models.arrays import BoolArray, FloatArray, IndexArray

MAX_CASES = 40_000
"""Cases that tell the sets of values of a tail or a group apart; where there are more, the sets are left open."""

ROUNDING = 1e-7
"""Cuts are loosened by this much (in logarithms), far above what floating point can lose."""

ZERO_LOG = -1e5
"""Stands for ln 0: below any sum of logarithms of count ratios, so that heads must be positive and tails may be empty."""


@dataclass(frozen=True, eq=False)
class RatioBounds:
    """Bounds of the log-ratios x_s - x_h, `[s, h]`, over the class combinations with a positive head h.

    floor, ceiling: shape (values, values). The diagonal of the ceiling is 0 for a head that can be positive, -inf for one
    that cannot.
    """

    floor: FloatArray
    ceiling: FloatArray

    @property
    def value_count(self) -> int:
        """Number of sensitive values."""
        return len(self.floor)

    @property
    def most_cases(self) -> int:
        """Cases up to which sets of values are told apart."""
        return MAX_CASES

    def possible(self) -> BoolArray:
        """Which values can have a positive share, shape (values,)."""
        return np.asarray(self.ceiling.diagonal() == 0)

    def leading(self) -> IndexArray:
        """The values that can be a most frequent one: no other value always exceeds them."""
        return np.flatnonzero(self.possible() & ~(self.floor > ROUNDING).any(axis=0))

    def others(self, heads: IndexArray) -> BoolArray:
        """All values but the head, shape (values, heads)."""
        return np.asarray(np.arange(self.value_count)[:, None] != heads)


@dataclass(frozen=True, eq=False)
class Cuts:
    """Linear inequalities coefficients . x <= bound. coefficients: shape (values, cuts). bounds: shape (cuts,)."""

    coefficients: FloatArray
    bounds: FloatArray

    def kept(self, which: BoolArray) -> "Cuts":
        """Some of the cuts."""
        return Cuts(self.coefficients[:, which], self.bounds[which])


class EntropyBound(Protocol):
    """Cases whose violations are those of a bound on the entropy: they can be taken apart into boxes of log-ratios."""

    @property
    def heads(self) -> IndexArray:
        """A most frequent value of each case."""

    @property
    def effective(self) -> float:
        """The entropy of a violation is at most ln(effective)."""

    @property
    def floor(self) -> FloatArray:
        """Lower bounds of the log-ratios to the head, shape (values, cases)."""

    @property
    def ceiling(self) -> FloatArray:
        """Upper bounds, at most 0, of the log-ratios to the head, shape (values, cases)."""


class Cases(ABC):
    """Ways of violating one criterion.

    heads: the head of each case, shape (cases,). support: the values that a cut may put weight on, shape (values, cases).
    """

    heads: IndexArray
    support: BoolArray

    @abstractmethod
    def bound(self, weights: FloatArray) -> FloatArray:
        """M of each case with these weights, shape (cases,). weights: shape (values, cases)."""

    @abstractmethod
    def kept(self, which: BoolArray) -> Self:
        """Some of the cases."""

    @abstractmethod
    def target(self, x: FloatArray, attempt: int) -> FloatArray:
        """Where to move the weights, having met a class for each case: nonnegative, in any scale, shape (values, cases).

        x: the log-vectors of these classes, shape (values, cases). attempt: how often it was done before.
        """

    def form(self, weights: FloatArray) -> FloatArray:
        """The coefficients of x in the cut of each case, shape (values, cases)."""
        coefficients = weights.copy()
        coefficients[self.heads, np.arange(len(self.heads))] -= 1
        return coefficients

    @property
    def entropy_bound(self) -> EntropyBound | None:
        """These cases, if their violations are those of a bound on the entropy; None for all others."""
        return None


def cuts(cases: Cases, weights: FloatArray) -> Cuts:
    """The cuts of all cases with these weights, loosened for rounding."""
    return Cuts(cases.form(weights), cases.bound(weights) + ROUNDING)


def shares(x: FloatArray, support: BoolArray) -> FloatArray:
    """e^x on the support, 0 elsewhere, each column scaled by its largest entry."""
    masked = np.where(support, x, -np.inf)
    top = masked.max(axis=0)
    return np.asarray(np.exp(masked - np.where(np.isfinite(top), top, 0)), dtype=np.float64)
