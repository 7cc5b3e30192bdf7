"""Bounds of a sum of cells over all tables of whole numbers that have given margins.

The question is a domain, tables over margins of it, and a sum of cells of the joint table. The answer is a least and a
largest number that always hold. It says whether they are attained, with a table if one was found. Five methods
follow each other, each used only if the ones before it leave a gap:

1. known parts: n(a) + n(b) - N <= n(a and b) <= n(a), for everything that a margin counts, in closed form;
2. junction trees: Frechet's bounds at each separator, for all cells of a margin at once
   (`models.inference.frechet_bounds`, which serves queries, claims, attacks and audits);
3. propagation from one published count to the next (`models.programs.consistent_tables`);
4. maximum flows: exact for the least number in any junction tree, and for the largest one along a chain;
5. a linear, then an integer program (HiGHS), within seconds, nodes and a deadline.
"""

from collections.abc import Callable, Sequence
from dataclasses import field
from functools import cache, reduce
from itertools import combinations
from operator import or_
from typing import NamedTuple, TypeAlias

import numpy as np

from models.arrays import BoolArray, CountArray, IndexArray
from models.deadline import NEVER, Deadline
from models.errors import DomainMismatchError
from models.frozen import frozen
from models.graphs.junction_tree import maximal_masks
from models.programs.consistent_tables import ALL_NODES, PossibleCells
from models.programs.extremes import Effort, narrow, sums_of_cells
from models.tables.hierarchy import Domain, Mask, vertices_of

SECONDS = 10.0
"""Default budget of a program."""


@frozen
class CountBounds:
    """Certain bounds: lower <= count <= upper.

    lower, upper: whole numbers. sharp: whether both bounds are attained by tables of whole numbers. lower_sharp:
    whether the lower bound is known to be attained.
    """

    lower: int
    upper: int
    sharp: bool
    lower_sharp: bool = field(default=False, compare=False, repr=False)


_MOST_PARTS = 4
"""Most known parts that are tried in any order if no junction tree says which one comes first."""

_MOST_ORDERS = 64
"""Most parts of a question that are bounded by several orders of known parts; further ones by one order."""

Count = Callable[[Mask], CountArray]
"""Returns the rows with the wanted values of the induced attributes in a published mask, of one shape or broadcast to
it."""


def known_parts_bounds(
    domain: Domain, masks: Sequence[Mask], wanted: Mask, count: Count
) -> tuple[CountArray, CountArray]:
    """Return lower and upper bounds of the rows with all wanted values, from every part of them that a margin counts.

    n(A and B) is at most n(A), and at least n(A) + n(B) - n(C) if A and B both imply C. Repeated part by part this is
    sharp if the values fix all separators of a junction tree (Dobra and Fienberg 2000). masks: of the margins. wanted:
    induced attributes whose values are asked for.
    """
    parts = maximal_masks(mask & wanted for mask in masks)

    @cache
    def lower(some: Mask) -> CountArray:
        held = maximal_masks(part & some for part in parts)
        if not held or held[0] == some:
            return count(some)
        ear = next((part for part in held if _partner(part, held)), 0)
        tried = held[: _MOST_PARTS if lower.cache_info().currsize < _MOST_ORDERS else 1]
        best: CountArray = np.zeros((), dtype=np.int64)
        for first, other in combinations(held, 2):
            if first | other == some:
                best = np.maximum(best, count(first) + count(other) - count(first & other))
        for first in [ear] if ear else tried:
            for other in (0, *([_partner(ear, held)] if ear else tried)):
                apart = some & ~first
                rest = reduce(or_, map(domain.coarser_steps, vertices_of(apart)), apart) | (first & other)
                if rest != some:
                    best = np.maximum(best, count(first) + lower(rest) - count(first & rest))
        return best

    return lower(reduce(or_, parts, 0)), reduce(np.minimum, map(count, parts), count(0))


def _partner(part: Mask, parts: Sequence[Mask]) -> Mask:
    """Return the first other part that holds all vertices that a part shares with the others; 0 if there is none."""
    shared = reduce(or_, (part & other for other in parts if other != part), 0)
    return next((other for other in parts if other != part and not shared & ~other), 0)


class Extreme(NamedTuple):
    """Proven bound of a count, and the table of whole numbers that attains it, if one was found."""

    bound: int
    table: CountArray | None

    @property
    def attained(self) -> bool:
        """True if the bound is sharp."""
        return self.table is not None


def extreme_count(
    cells: PossibleCells,
    inside: BoolArray,
    direction: int,
    seconds: float = SECONDS,
    nodes: int = ALL_NODES,
    deadline: Deadline = NEVER,
) -> Extreme:
    """Return the largest or least number of rows in some of the cells, over all consistent tables.

    A linear program runs first, then an integer program. The bound is proven in any case.

    Parameters
    ----------
    cells
        Possible cells with their marginals.
    inside
        Whether each cell counts, shape (cells,).
    direction
        1 for the largest number, -1 for the least.
    seconds, nodes
        Budget of each program. If seconds are infinite, the answer does not depend on the machine.
    deadline
        Time at which no further program starts.

    Raises
    ------
    ContradictionError
        If no table is consistent.
    """
    unknowns = sums_of_cells(cells, np.where(inside, 0, 1), 2)
    side = int(direction > 0)
    first = np.arange(2 * len(unknowns)).reshape(2, -1) == side * len(unknowns)
    narrow([unknowns], lambda block: first & ~block.attained, Effort(seconds, nodes, deadline=deadline))
    bound = int((unknowns.lower, unknowns.upper)[side][0])
    is_attained = unknowns.table is not None and (unknowns.sums @ unknowns.table)[0] == bound
    return Extreme(bound, unknowns.table if is_attained else None)


# Junction trees: the rows that meet a condition in every table of a tree of tables that agree on their separators.
#
# Rows are joined freely within a separator cell, so any part of the counts that agrees on the separators can be glued, and
# so can the rest. The most rows that meet the condition are the largest such part within the cells that meet it. Along a
# chain it is a flow through the separator cells, at most its count through each cell (Ford and Fulkerson 1956). For the
# least number, the rows of the first table that meet the condition are sent along one path each to a cell that does not.
# Such paths are a flow in any tree; rows without a path meet the condition in every table with these counts.


FLOW_LIMIT = 2**31 - 1
"""Most rows that the program for maximum flows can count."""


@frozen(eq=False)
class LinkedTable:
    """Table of a tree, parents before their children.

    counts: rows of its cells, shape (cells,). parent: place of its parent; -1 for the first table. places, above: the
    separator cell of each of its own cells and of each of the parent's cells. All cells of the first table are in 0.
    """

    counts: CountArray
    parent: int
    places: IndexArray
    above: IndexArray


def most_in_chain(tables: Sequence[LinkedTable], inside: Sequence[BoolArray]) -> int | None:
    """Return the most rows that can be in the given cells of every table, shape (cells,) each; None if the tables
    branch.

    Raises DomainMismatchError for more rows than FLOW_LIMIT.
    """
    below = _children(tables)
    if len(below[0]) > 2 or max(map(len, below[1:]), default=0) > 1:
        return None
    # The flow comes up the one branch of the first table, if it has two, and goes down the other.
    upwards = below[0][:1] if len(below[0]) > 1 else []
    while upwards and below[upwards[-1]]:
        upwards.append(below[upwards[-1]][0])
    begins = _begins(tables)
    edges: _Edges = []
    for number, (table, within) in enumerate(zip(tables, inside)):
        ends = [begins[child] + tables[child].above for child in below[number]]
        if number in upwards:
            tails, heads = ends[0] if ends else np.zeros_like(table.places), begins[number] + table.places
        elif len(ends) > 1:
            tails, heads = ends
        else:
            tails = begins[number] + table.places
            heads = ends[0] if ends else np.full_like(table.places, begins[-1])
        edges.append((tails[within], heads[within], table.counts[within]))
    return largest_flow(edges, begins[-1], begins[-1] + 1)


def least_in_tree(tables: Sequence[LinkedTable], inside: Sequence[BoolArray]) -> int:
    """Return the least number of rows in the given cells of every table. inside: for each table, shape (cells,).

    Raises DomainMismatchError for more rows than FLOW_LIMIT.
    """
    begins, below = _begins(tables), _children(tables)
    gone = begins[-1]
    edges: _Edges = []
    nodes = gone + 1
    for number, (table, within) in enumerate(zip(tables, inside)):
        ways = [begins[child] + tables[child].above for child in below[number]]
        entered = begins[number] + table.places
        if number:
            edges.append((entered[~within], np.full(np.count_nonzero(~within), gone), table.counts[~within]))
        if len(ways) > 1:  # a row of a cell goes one of several ways
            cells = nodes + np.arange(len(table.counts))
            nodes += len(cells)
            edges.append((entered[within], cells[within], table.counts[within]))
            entered = cells
        edges += [(entered[within], way[within], table.counts[within]) for way in ways]
    return int(tables[0].counts[inside[0]].sum()) - largest_flow(edges, gone, nodes)


def _children(tables: Sequence[LinkedTable]) -> list[list[int]]:
    return [[n for n, table in enumerate(tables) if n and table.parent == number] for number in range(len(tables))]


def _begins(tables: Sequence[LinkedTable]) -> list[int]:
    """Return the number of the first separator cell of each table, and the number after all of them."""
    sizes = [int(max(t.places.max(initial=0), t.above.max(initial=0))) + 1 for t in tables[1:]]
    return [0, *np.cumsum([1, *sizes]).tolist()]


_Edges: TypeAlias = list[tuple[IndexArray, IndexArray, CountArray]]
"""Edges of a network from tails to heads, with the rows that each can carry. Edges between the same nodes add up."""


def largest_flow(edges: _Edges, sink: int, nodes: int) -> int:
    """Return the largest flow from node 0. Raises DomainMismatchError for more rows than FLOW_LIMIT."""
    from scipy.sparse import csr_array  # slow to import, and few need it
    from scipy.sparse.csgraph import maximum_flow

    tails, heads, rows = map(np.concatenate, zip(*edges))
    if rows[tails == 0].sum() > FLOW_LIMIT:
        raise DomainMismatchError(f"more than {FLOW_LIMIT} rows are too many for a maximum flow")
    capacities = csr_array((rows, (tails, heads)), shape=(nodes, nodes))
    capacities.data = np.minimum(capacities.data, FLOW_LIMIT).astype(np.int32)
    return int(maximum_flow(capacities, 0, sink).flow_value)
