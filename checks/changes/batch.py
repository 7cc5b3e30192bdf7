"""Batches: as many people who came, or who left, as can be shown at once without showing few of them.

A set of people can be shown by some margins when it has none or at least k people in each of their cells. The union of two
such sets is one, so there is a largest: whoever is in a cell with fewer than k is in none of them, and can be left out,
until nobody is (the k-core of the hypergraph whose edges are the cells). The others wait for a later release.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from models.arrays import CountArray, IndexArray
from models.errors import DomainMismatchError
from models.tables.contingency_table import ContingencyTable
from models.tables.domain import Mask
from models.tables.mixed_radix import group, pack


@dataclass(frozen=True)
class Change:
    """What came and what left between two tables: the later one is the earlier one, and joiners, without leavers.

    Somebody whose record changed is in both. Both are over the base cells, and have none in common.
    """

    joiners: ContingencyTable
    leavers: ContingencyTable

    @classmethod
    def between(cls, earlier: ContingencyTable, later: ContingencyTable) -> "Change":
        """From two tables of the same margin. Raises DomainMismatchError for others."""
        if earlier.domain != later.domain or earlier.margin != later.margin:
            raise DomainMismatchError("only tables of the same cells have a change between them")
        codes = [np.concatenate(pair) for pair in zip(earlier.codes, later.codes)]
        changes = np.concatenate([-earlier.counts, later.counts])
        sizes = [earlier.domain.hierarchy(name).size(earlier.margin[name]) for name in earlier.attributes]
        first, number = group(*pack(codes, sizes, len(changes)))
        net = np.zeros(len(first), dtype=np.int64)
        np.add.at(net, number, changes)
        cells = {name: column[first] for name, column in zip(earlier.attributes, codes)}
        parts = (np.maximum(sign * net, 0) for sign in (1, -1))
        return cls(*(ContingencyTable.from_cells(earlier.domain, earlier.margin, cells, part) for part in parts))


def largest_batch(changes: ContingencyTable, margins: Sequence[Mask], least: int) -> ContingencyTable:
    """The largest part of some changes that has no or at least so many rows in each cell of some margins.

    Linear in cells times margins for each round of leaving out; rounds are few where little hangs together.
    """
    domain = changes.domain
    places = [cells_of(changes, mask) for mask in margins]
    kept = settled_rows(changes.counts, places, least)
    codes = {name: column[kept] for name, column in zip(changes.attributes, changes.codes)}
    return ContingencyTable.from_cells(domain, changes.margin, codes, changes.counts[kept])


def cells_of(table: ContingencyTable, mask: Mask) -> IndexArray:
    """The cell of a margin that each cell of a table is in: shape (cells,)."""
    columns, sizes = table.columns(table.domain.margin(mask))
    return group(*pack(columns, sizes, len(table)))[1]


def settled_rows(counts: CountArray, places: Sequence[IndexArray], least: int) -> IndexArray:
    """The cells that remain when all are left out that lie in a cell of a margin with fewer rows than that; ascending.

    places: for each margin the cell of it that each cell is in, shape (cells,), as `cells_of` says.
    """
    kept, rows = np.arange(len(counts)), counts.astype(np.float64)
    places = list(places)
    totals = [np.bincount(place, rows) for place in places]
    while len(kept):
        out = np.zeros(len(kept), dtype=bool)
        for place, total in zip(places, totals):
            out |= (total < least)[place]
        if not out.any():
            break
        for place, total in zip(places, totals):
            total -= np.bincount(place[out], rows[out], minlength=len(total))
        kept, rows, places = kept[~out], rows[~out], [place[~out] for place in places]
    return kept
