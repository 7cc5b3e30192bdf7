"""Extremes of a sum, or of a ratio of sums, over counts of groups that nest, each within bounds.

Bounds of whole numbers n_i of cells are given, and of their sums over groups that nest (values, decades, all). The
least of n @ costs is a program whose constraints form a forest. A group passes to the group around it the least cost
as a function of its number of rows. This function is convex and piecewise linear, so functions of several groups add
up by sorting their slopes. All ends are whole numbers, so whole numbers attain the least. The least of a ratio (n @
numerators) / (n @ denominators) comes from a few such programs (Dinkelbach, On nonlinear fractional programming,
1967). Let r be the ratio of a table. The least of n @ (numerators - r * denominators) is 0, or it shows a table with a
smaller ratio.
"""

from math import inf
from typing import NamedTuple

import numpy as np

from models.arrays import CountArray, FloatArray, IndexArray
from models.errors import ContradictionError
from models.frozen import frozen


class ValueRange(NamedTuple):
    """Certain range: lower <= value <= upper."""

    lower: float
    upper: float

    @property
    def is_known(self) -> bool:
        """True if there is only one value."""
        return self.lower == self.upper


UNBOUNDED = ValueRange(-inf, inf)
"""ValueRange of a value about which nothing is certain."""


Bounded = tuple[CountArray, CountArray]
"""Certain least and largest count of each group: whole numbers, shape (groups,) each."""


@frozen(eq=False)
class NestedCounts:
    """Bounds of cells and of the groups around them.

    levels: of the cells, then of ever coarser groups. parents: for all levels but the last, the group of the next
    level around each group.
    """

    levels: tuple[Bounded, ...]
    parents: tuple[IndexArray, ...]

    def extremes(self, costs: FloatArray) -> ValueRange:
        """Return the least and the largest sum of counts times costs. costs: finite, shape (cells,).

        Raises ContradictionError if no counts are within all bounds.
        """
        return ValueRange(float(self._cheapest(costs) @ costs), float(self._cheapest(-costs) @ costs))

    def extreme_ratios(self, numerators: FloatArray, denominators: FloatArray) -> ValueRange | None:
        """Return the least and the largest ratio of two sums over all tables that have one; None if no table has.

        denominators: nonnegative, and 0 only if the numerator is 0. Shape (cells,) each. Raises as `extremes`.
        """
        largest = self._least_ratio(-numerators, denominators)
        least = self._least_ratio(numerators, denominators)
        return None if least is None or largest is None else ValueRange(least, -largest)

    def _least_ratio(self, numerators: FloatArray, denominators: FloatArray) -> float | None:
        counts = self._cheapest(-denominators)
        if not counts @ denominators > 0:
            return None
        ratio = float(counts @ numerators / (counts @ denominators))
        while True:  # each program gives a smaller ratio of the finitely many; some ten are enough
            counts = self._cheapest(numerators - ratio * denominators)
            weight = float(counts @ denominators)
            if weight <= 0 or not (better := float(counts @ numerators) / weight) < ratio:
                return ratio
            ratio = better

    def _cheapest(self, costs: FloatArray) -> CountArray:
        least, most = self.levels[0]
        counts, cells = least.copy(), np.argsort(costs, kind="stable")
        room = (most - least)[cells]
        groups = cells
        if np.any(room < 0):
            raise ContradictionError("no table has these marginals")
        for (lower, upper), parents in zip(self.levels[1:], self.parents):
            groups = parents[groups]
            rows = np.zeros(len(lower), dtype=np.int64)
            np.add.at(rows, groups, counts[cells])
            taken = _first(groups, room, np.maximum(lower - rows, 0))
            np.add.at(rows, groups, taken)
            if np.any(rows < lower) or np.any(rows > upper):
                raise ContradictionError("no table has these marginals")
            counts[cells] += taken
            room = _first(groups, room - taken, upper - rows)
        counts[cells] += np.where(costs[cells] < 0, room, 0)
        return counts


def _first(groups: IndexArray, room: CountArray, wanted: CountArray) -> CountArray:
    """Return how much of each place is used, in order, until each group has the rows it needs: shape (places,)."""
    order = np.argsort(groups, kind="stable")
    sorted_groups, sorted_room = groups[order], room[order]
    sums = np.cumsum(sorted_room) - sorted_room
    begins = np.searchsorted(sorted_groups, sorted_groups)
    before = sums - sums[begins] if len(sums) else sums
    used = np.zeros_like(room)
    used[order] = np.clip(wanted[sorted_groups] - before, 0, sorted_room)
    return used
