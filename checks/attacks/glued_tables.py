"""Glued tables: whole tables with given marginals, made by joining the clique tables of a junction tree row by row.

Only the separator says which row of one clique is which row of the next, so rows may be joined in any order within each
separator cell. One such table shows that its counts are possible: what differs between two of them is not determined.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

import numpy as np

from models.arrays import CountArray, FloatArray, IndexArray
from models.inference.calibrated_tree import CalibratedTree, Item


@dataclass(frozen=True, eq=False)
class GluedTable:
    """A table over the cliques of a tree, with their counts as marginals.

    cells: for each clique the cell of each glued cell, shape (glued,). counts: rows of the glued cells, shape (glued,); of
    these there are at most as many as the cliques have cells together.
    """

    tree: CalibratedTree
    cells: tuple[IndexArray, ...]
    counts: CountArray

    def rows(self, margin: Mapping[str, int]) -> CountArray:
        """Rows by the cells of a margin, none finer than published: shape (cells,), the last attribute fastest."""
        domain = self.tree.domain
        keys: IndexArray = np.zeros(len(self.counts), dtype=np.intp)
        for attribute, level in margin.items():
            item = (domain.index(attribute), level)
            home = self.tree.home((item,))
            keys = keys * domain.hierarchy(attribute).size(level)
            if home is not None:  # of what no clique shows all rows have the one value `*`
                keys = keys + self.tree.codes(home, item)[self.cells[home]]
        size = prod(domain.hierarchy(attribute).size(level) for attribute, level in margin.items())
        return np.rint(np.bincount(keys, self.counts, minlength=size)).astype(np.int64)


def glued_table(
    tree: CalibratedTree, rng: "np.random.Generator", avoided: Mapping[Item, int] | None = None
) -> GluedTable:
    """A table with the counts of a published tree as marginals, its rows joined in random order.

    Each separator cell is filled along the two orders at once (the north-west corner rule), which leaves as many cells
    empty as can be, and so shows of many cells that they may be. avoided: values by item; rows that have them on one side
    are joined, as far as that goes, with such that do not on the other, so that few rows have all of them.
    """
    clique_counts = [np.rint(cells.expected).astype(np.int64) for cells in tree.cliques]
    matches = [_matching(tree, clique, avoided or {}) for clique in range(len(tree.cliques))]
    shares = _shares_beyond(tree, matches)
    counts, matched = clique_counts[0], matches[0]
    cells: list[IndexArray] = [np.arange(len(counts))]
    for link in tree.links:
        child, parent = link.cliques
        inner, outer = link.positions[0], link.positions[1][cells[parent]]
        inner_order = np.lexsort((rng.random(len(inner)), shares[child], inner))
        outer_order = np.lexsort((rng.random(len(outer)), -matched, outer))
        # Both count the same rows in each separator cell, so the running sums of the two orders meet after each.
        inner_ends, outer_ends = np.cumsum(clique_counts[child][inner_order]), np.cumsum(counts[outer_order])
        ends = np.union1d(inner_ends, outer_ends)
        joined = outer_order[np.searchsorted(outer_ends, ends)]
        cells = [own[joined] for own in cells]
        cells.append(inner_order[np.searchsorted(inner_ends, ends)])
        matched = matched[joined] * matches[child][cells[-1]]
        counts = np.diff(ends, prepend=0)
    return GluedTable(tree, tuple(cells), counts)


def _matching(tree: CalibratedTree, clique: int, values: Mapping[Item, int]) -> FloatArray:
    """1 for the cells of a clique that have the given values of the items that it holds, else 0."""
    matching = np.ones(len(tree.cliques[clique]))
    for item, code in values.items():
        if tree.holders(item) >> clique & 1:
            matching *= tree.codes(clique, item) == code
    return matching


def _shares_beyond(tree: CalibratedTree, matches: list[FloatArray]) -> list[FloatArray]:
    """For each cell of a clique what share of its rows can be expected to match there and in all cliques below it."""
    shares = list(matches)
    for link in reversed(tree.links):
        child, parent = link.cliques
        rows = np.bincount(link.positions[0], shares[child] * tree.cliques[child].expected, minlength=len(link))
        shares[parent] = shares[parent] * (rows / np.where(link.rows[0] > 0, link.rows[0], 1))[link.positions[1]]
    return shares
