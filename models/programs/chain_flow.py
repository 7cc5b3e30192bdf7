"""Chains of tables that agree on the separators between neighbours: the rows that meet a condition in every table.

Rows are joined freely within a separator cell, so the rows that are in a given set of cells of each table at once are a
flow: from table to table through the separator cells, at most its count through each cell. What such a flow leaves of
the counts agrees on the separators again and can be glued, so the largest flow is the largest number of such rows (Ford
and Fulkerson 1956), and it is whole. For the least number, the rows of the first table's set are sent out of the chain
wherever they can meet a cell outside; those that cannot be are in every table with these counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from models.arrays import BoolArray, CountArray, IndexArray
from models.errors import DomainMismatchError

FLOW_LIMIT = 2**31 - 1
"""Rows that the program for maximum flows can count."""


@dataclass(frozen=True, eq=False)
class ChainTable:
    """One table of a chain.

    counts: rows of its cells, shape (cells,). before, after: the separator cell behind and ahead of each cell; at the ends
    of the chain all of them are 0. Raises DomainMismatchError for other shapes.
    """

    counts: CountArray
    before: IndexArray
    after: IndexArray

    def __post_init__(self) -> None:
        if self.before.shape != self.counts.shape or self.after.shape != self.counts.shape:
            raise DomainMismatchError("each cell of a chain has a count and a separator cell on either side")


def most_inside(chain: Sequence[ChainTable], inside: Sequence[BoolArray]) -> int:
    """The most rows that can lie in the given cells of every table at once. inside: for each table, shape (cells,).

    Raises DomainMismatchError for more rows than FLOW_LIMIT.
    """
    kept = [np.flatnonzero(within) for within in inside]
    begins = _begins(chain)
    tails = [begin + table.before[cells] for begin, table, cells in zip(begins, chain, kept)]
    heads = [begin + table.after[cells] for begin, table, cells in zip(begins[1:], chain, kept)]
    rows = [table.counts[cells] for table, cells in zip(chain, kept)]
    return _largest_flow(np.concatenate(tails), np.concatenate(heads), np.concatenate(rows), 0, begins[-1])


def least_inside(chain: Sequence[ChainTable], inside: Sequence[BoolArray]) -> int:
    """The least number of rows that lie in the given cells of every table at once. inside: for each table, shape (cells,).

    Raises DomainMismatchError for more rows than FLOW_LIMIT.
    """
    begins = _begins(chain)
    outside = begins[-1]
    tails, heads, rows = [], [], []
    for place, (table, within) in enumerate(zip(chain, inside)):
        is_last = place == len(chain) - 1
        # A row outside of the first table's cells counts as gone already; one inside to the last is there for good.
        kept = within if place == 0 else ~within if is_last else np.ones_like(within)
        tails.append(begins[place] + table.before[kept])
        heads.append(np.where(within, begins[place + 1] + table.after, outside)[kept])
        rows.append(table.counts[kept])
    gone = _largest_flow(np.concatenate(tails), np.concatenate(heads), np.concatenate(rows), 0, outside)
    return int(chain[0].counts[inside[0]].sum()) - gone


def _begins(chain: Sequence[ChainTable]) -> list[int]:
    """The number of the first cell behind each table, and of the one cell ahead of the last."""
    sizes = [
        int(max(one.after.max(initial=0), other.before.max(initial=0))) + 1 for one, other in zip(chain, chain[1:])
    ]
    return [0, *np.cumsum([1, *sizes]).tolist()]


def _largest_flow(tails: IndexArray, heads: IndexArray, rows: CountArray, source: int, sink: int) -> int:
    if rows.sum() > FLOW_LIMIT:
        raise DomainMismatchError(f"more than {FLOW_LIMIT} rows are too many for a maximum flow")
    # Slow to import, and few need them.
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    capacities = csr_array((rows.astype(np.int32), (tails, heads)), shape=(sink + 1, sink + 1))
    return int(maximum_flow(capacities, source, sink).flow_value)
