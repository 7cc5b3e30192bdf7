"""Thinning: the rows to take from a class so that those left are (tau, l)-diverse (TZ09 III.C and III.D).

Sensitive values may be generalized, so a class is counted by published value, and each published value counts in part
for every base value under it (TZ09 Def. 2). The parts are brought to a common denominator: all verdicts are exact.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from checks.diversity.functional import Functional
from models.arrays import BoolArray, CountArray, IndexArray, read_only

_WHOLE = 2**62
"""Whole numbers stay below this in int64; beyond it Python's own take over."""


@dataclass(frozen=True, eq=False)
class InducedBound:
    """A (tau, l) requirement on classes counted by published value.

    requirement: with the induction of the published values. levels: of the published values, shape (values,), falling.
    rows: no class has more. Classes come as counts of shape (classes, published values).
    """

    requirement: Functional
    levels: IndexArray
    rows: int

    def __post_init__(self) -> None:
        if self.requirement.induction is None or len(self.requirement.induction.shares) != len(self.levels):
            raise ValueError("the requirement must say what each published value induces")
        if np.any(np.diff(self.levels) > 0):
            raise ValueError("the more general values must come first")

    @cached_property
    def _shares_and_scale(self) -> tuple[NDArray[Any], int]:
        """Base values that a published value stands for, times a scale that makes them whole, and that scale."""
        assert self.requirement.induction is not None
        shares = self.requirement.induction.shares
        scale = lcm(*{share.denominator for row in shares for share in row})
        tau, steps = self.requirement.tau, self.requirement.l - 1
        fits = self.rows * scale * tau.denominator * steps < _WHOLE
        whole = [[int(share * scale) if share else 0 for share in row] for row in shares]
        return read_only(np.array(whole, dtype=np.int64 if fits else object)), scale

    @property
    def shares(self) -> NDArray[Any]:
        """What a row of a published value counts for: whole numbers, shape (published values, base values)."""
        return self._shares_and_scale[0]

    @property
    def scale(self) -> int:
        """What a whole row counts for."""
        return int(self._shares_and_scale[1])

    @cached_property
    def fewest_values(self) -> int:
        """A class that passes has so many base values at least; more than there are where no class can pass."""
        values = int(self.shares.shape[1])
        for support in range(1, values + 1):
            if all(Fraction(k, support) <= self.requirement.bound(k) for k in range(1, support + 1)):
                return support
        return values + 1

    @cached_property
    def _bounds_and_unit(self) -> tuple[NDArray[Any], int]:
        """psi(k) for every k at which it can fail, times a unit that makes them whole, and that unit."""
        unit = self.requirement.tau.denominator * (self.requirement.l - 1)
        last = min(self.requirement.l - 1, self.shares.shape[1])
        bounds = [int(self.requirement.bound(k) * unit) for k in range(1, last + 1)]
        return read_only(np.array(bounds, dtype=self.shares.dtype)), unit

    def masses(self, counts: CountArray) -> NDArray[Any]:
        """Rows by base value, times the scale: shape (classes, base values)."""
        # Base values count for themselves alone: as a product of matrices it takes as many times longer as there are values.
        values, base = self._base
        result: NDArray[Any] = np.zeros((len(counts), self.shares.shape[1]), dtype=self.shares.dtype)
        result[:, base] = counts[:, values].astype(self.shares.dtype) * self.scale
        for value, under, shares in self._general:
            result[:, under] += counts[:, value, None].astype(self.shares.dtype) * shares
        return result

    def holds(self, counts: CountArray) -> BoolArray:
        """Whether F(k) <= psi(k) for every k, exactly: shape (classes,). A class without rows passes."""
        bounds, unit = self._bounds_and_unit
        masses, others = self.masses(counts), self.shares.shape[1] - len(bounds)
        if others > 0 and masses.dtype != object:
            masses = np.partition(masses, others, axis=1)[:, others:]
        masses = np.sort(masses, axis=1)[:, ::-1]
        cumulative = np.cumsum(masses[:, : len(bounds)], axis=1)
        totals = counts.sum(axis=1).astype(self.shares.dtype) * self.scale
        return np.asarray((cumulative * unit <= totals[:, None] * bounds).all(axis=1), dtype=bool)

    @cached_property
    def _general(self) -> list[tuple[int, IndexArray, NDArray[Any]]]:
        """The general values, each with the base values under it and its shares of these."""
        values = np.flatnonzero(self.levels > 0).tolist()
        return [
            (value, under, self.shares[value, under])
            for value in values
            for under in [np.flatnonzero(self.shares[value])]
        ]

    @cached_property
    def _base(self) -> tuple[IndexArray, IndexArray]:
        """The published values that are base values, and which these are."""
        values = np.flatnonzero(self.levels == 0)
        return values, self.shares[values].argmax(axis=1)

    def lowered(self, counts: CountArray, heights: NDArray[Any]) -> CountArray:
        """What is left when no base value may have a mass above a height, its least general rows going first.

        heights: whole numbers in the scale of `masses`, one for each class.
        """
        kept = np.empty_like(counts)
        room = np.repeat(heights[:, None], self.shares.shape[1], axis=1)
        for value, under, shares in self._general:
            fitting = (room[:, under] // shares).min(axis=1)
            kept[:, value] = np.minimum(fitting, counts[:, value])
            room[:, under] -= kept[:, value, None] * shares
        values, base = self._base
        kept[:, values] = np.minimum(room[:, base] // self.scale, counts[:, values])
        return kept

    def thinned(self, counts: CountArray) -> CountArray:
        """What is left of each class when rows of its dominant base value are removed, one by one, until it passes.

        Each time the least general of these rows goes, whose removal lowers the dominant frequency most (TZ09 III.D).
        So the masses are cut at a height that sinks. Cutting everything to one height lowers every F(k), and the height
        at which a class passes is found by halving; the rows of the last cut are given back as far as they may.
        """
        kept = counts.copy()
        failing = np.flatnonzero(~self.holds(counts))
        rich = np.count_nonzero(self.masses(counts[failing]), axis=1) >= self.fewest_values
        kept[failing[~rich]] = 0
        failing = failing[rich]
        counts = counts[failing]
        low = np.zeros(len(counts), dtype=self.shares.dtype)
        high = self.masses(counts).max(axis=1, initial=0)
        while (halved := np.flatnonzero(high - low > 1)).size:
            middle = (low[halved] + high[halved]) // 2
            passes = self.holds(self.lowered(counts[halved], middle))
            low[halved] = np.where(passes, middle, low[halved])
            high[halved] = np.where(passes, high[halved], middle)
        left = self.lowered(counts, low)
        last_cut = np.maximum(self.lowered(counts, high) - left, 0)
        rank = np.cumsum(last_cut > 0, axis=1)
        best = left.copy()
        for given_back in range(1, int(rank.max(initial=0))):
            fuller = left + np.where(rank <= given_back, last_cut, 0)
            passes = self.holds(fuller)
            best[passes] = fuller[passes]
        kept[failing] = best
        return kept
