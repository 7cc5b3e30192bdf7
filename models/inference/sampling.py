"""Sampling: independent rows of the maximum-entropy distribution, clique by clique down the junction tree.

A row's cell in a clique is drawn among those that its separator cell leaves, by the alias method (Walker 1977; Vose
1991), so that a draw costs the same however many cells there are.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from models.arrays import CodeArray, FloatArray, IndexArray, smallest_code_dtype
from models.errors import DomainMismatchError
from models.inference.calibrated_tree import CalibratedTree
from models.tables.domain import Domain

_BLOCK = 1 << 15
"""Rows drawn at a time: as many as the cache of a processor holds."""


@dataclass(frozen=True, eq=False)
class AliasTable:
    """Cells in groups, each drawn in proportion to its weight within its group.

    first, sizes: shape (groups,), where the slots of a group begin and how many they are. keep: shape (slots,), the
    probability that a slot stands for its own cell. cells: shape (2, slots), its own cell and the other one.
    """

    first: IndexArray
    sizes: FloatArray
    keep: FloatArray
    cells: IndexArray

    @classmethod
    def of(cls, weights: FloatArray, groups: IndexArray, group_count: int) -> "AliasTable":
        """From positive weights of cells in any order. O(cells)."""
        order = np.argsort(groups, kind="stable")
        sizes = np.bincount(groups, minlength=group_count)
        first = np.cumsum(sizes) - sizes
        totals = np.bincount(groups, weights, minlength=group_count)
        shares = (weights * sizes[groups] / totals[groups])[order]
        keep, other = shares.tolist(), list(range(len(order)))
        for start, size in zip(first.tolist(), sizes.tolist()):
            _pair(keep, other, range(start, start + size))
        return cls(first, sizes.astype(np.float64), np.array(keep), np.stack([order, order[other]]))

    def draw(self, groups: IndexArray, uniform: FloatArray) -> IndexArray:
        """A cell for each group in `groups`. uniform: numbers in [0, 1), shape (n,), which are overwritten."""
        uniform *= self.sizes[groups]
        slots = uniform.astype(np.intp)
        uniform -= slots
        slots += self.first[groups]
        return np.asarray(self.cells[(uniform >= self.keep[slots]).view(np.int8), slots])


def _pair(keep: list[float], other: list[int], slots: range) -> None:
    """Fill up each slot that keeps less than 1 with the cell of one that keeps more (Vose 1991)."""
    small = [slot for slot in slots if keep[slot] < 1]
    large = [slot for slot in slots if keep[slot] >= 1]
    while small and large:
        slot, giver = small.pop(), large[-1]
        other[slot] = giver
        keep[giver] -= 1 - keep[slot]
        if keep[giver] < 1:
            small.append(large.pop())
    # What is left keeps 1 but for rounding.
    for slot in (*small, *large):
        keep[slot] = 1.0


@dataclass(frozen=True, eq=False)
class Sampler:
    """Draws rows from a calibrated tree."""

    tree: CalibratedTree

    @cached_property
    def _tables(self) -> tuple[AliasTable, ...]:
        root = [AliasTable.of(c.expected, np.zeros(len(c.expected), dtype=np.intp), 1) for c in self.tree.cliques[:1]]
        rest = (
            AliasTable.of(self.tree.cliques[link.cliques[0]].expected, link.positions[0], len(link))
            for link in self.tree.links
        )
        return (*root, *rest)

    @cached_property
    def _shown(self) -> tuple[tuple[tuple[str, CodeArray], ...], ...]:
        """For each clique the attributes that it is the first to show at their finest levels, with their codes."""
        levels = dict(zip(self.tree.domain.attributes, self.tree.finest_levels))
        by_clique: list[tuple[tuple[str, CodeArray], ...]] = []
        for cells in self.tree.cliques:
            new = [a for a, level in cells.margin.items() if levels.get(a) == level]
            by_clique.append(tuple((a, cells.codes[a]) for a in new))
            levels = {a: level for a, level in levels.items() if a not in new}
        return tuple(by_clique)

    def draw(self, rows: int, rng: "np.random.Generator") -> dict[str, CodeArray]:
        """Independent rows: for each published attribute its codes at its finest published level, shape (rows,).

        Raises DomainMismatchError where there is no row to be like.
        """
        if rows and not self.tree.total:
            raise DomainMismatchError("marginals of no rows at all have no distribution to draw from")
        drawn = {
            a: np.empty(rows, dtype=smallest_code_dtype(self.tree.domain.hierarchy(a).size(level)))
            for a, level in zip(self.tree.domain.attributes, self.tree.finest_levels)
            if level < self.tree.domain.hierarchy(a).height
        }
        for start in range(0, rows, _BLOCK):
            stop = min(start + _BLOCK, rows)
            for clique, cells in enumerate(self._cells(stop - start, rng)):
                for attribute, codes in self._shown[clique]:
                    drawn[attribute][start:stop] = codes[cells]
        return drawn

    def _cells(self, rows: int, rng: "np.random.Generator") -> Iterator[IndexArray]:
        """The drawn cells of each clique, in the tree's order."""
        drawn: list[IndexArray] = []
        for clique, table in enumerate(self._tables):
            if clique:
                link = self.tree.links[clique - 1]
                groups = link.positions[1][drawn[link.cliques[1]]]
            else:
                groups = np.zeros(rows, dtype=np.intp)
            drawn.append(table.draw(groups, rng.random(rows)))
            yield drawn[-1]


def drawn_leaves(
    domain: Domain, levels: Mapping[str, int], codes: Mapping[str, CodeArray], rows: int, rng: "np.random.Generator"
) -> dict[str, CodeArray]:
    """Base codes of rows, each drawn evenly among the base values under the row's value.

    levels: of the given codes. Attributes without codes are drawn among all their base values.
    """
    drawn: dict[str, CodeArray] = {}
    for attribute, hierarchy in domain.items():
        level = levels[attribute] if attribute in codes else hierarchy.height
        if level == 0 and attribute in codes:
            drawn[attribute] = codes[attribute]
            continue
        leaves = np.argsort(hierarchy.lift(0, level), kind="stable").astype(smallest_code_dtype(hierarchy.size(0)))
        counts = hierarchy.leaf_counts(level)
        first = np.cumsum(counts) - counts
        values = codes.get(attribute, np.zeros(rows, dtype=np.intp))
        drawn[attribute] = leaves[first[values] + (rng.random(rows) * counts[values]).astype(np.intp)]
    return drawn
