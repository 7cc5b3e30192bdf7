"""Cases in which the entropy of a class is too small."""

from dataclasses import dataclass
from math import log

import numpy as np

from checks.diversity.violations.cases import ZERO_LOG, Cases, shares
from models.arrays import BoolArray, FloatArray, IndexArray
from models.x_log_x import x_log_x

_GRID, _REFINEMENTS = 7, 5
"""Multipliers tried at a time for the dual, and how often around the best; any multiplier is valid."""


@dataclass(frozen=True, eq=False)
class EntropyCases(Cases):
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
            return shares(x, self.support) ** (0.75 if attempt % 3 == 1 else 0.5)
        p = np.exp(x - x.max(axis=0))
        p /= p.sum(axis=0)
        slope = -x_log_x(p) - p * (-x_log_x(p)).sum(axis=0)
        return np.asarray(np.maximum(slope, 0) * self.support, dtype=np.float64)

    @property
    def entropy_bound(self) -> "EntropyCases":
        """These cases: boxes can take them apart."""
        return self


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
