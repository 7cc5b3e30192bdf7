"""Packings: the most rows of a table whose margins have limits, a limit for each of their cells.

Each margin b has nonnegative whole numbers u_b over its cells. A packing is a table of nonnegative whole numbers over
the joint cells whose b-margin is at most u_b for every b. The result is the largest sum of a packing. Three margins of
one attribute each, together with the joint one, contain three-dimensional matching (Karp 1972), so the problem is hard
in general.

Margins form a chain if the common part of any two lies in all margins between them. Then the result is a maximum flow.
Tables of whole numbers that agree on the common parts of neighbours can be glued together (Lauritzen, Graphical
Models, 2.1.3). Such tables below the limits are a flow through the cells of these common parts (Ford and Fulkerson
1956). One attribute at any levels, two attributes with their pairs, and pairs along a path are chains. Otherwise rows
are placed greedily, then a linear program bounds the rest, then an integer program decides.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from math import floor

import numpy as np

from models.arrays import FloatArray, IndexArray
from models.frozen import frozen
from models.graphs.junction_tree import Collection
from models.programs.cell_bounds import FLOW_LIMIT, LinkedTable, most_in_chain
from models.programs.consistent_tables import Program, joined_cells, solve
from models.programs.extremes import Effort
from models.tables.contingency_table import ContingencyTable
from models.tables.data_cube import DataCube
from models.tables.hierarchy import Mask

_WHOLE = 1e-6
"""Largest distance above a whole number at which a solver's bound is rounded down to it."""

_NUMBERS = 1 << 22
"""Limits that are processed together."""

_FIRST_CELLS = 400
"""Most joint cells that are filled one after another."""

_IN_A_CHAIN = 8
"""Most margins that are put in order."""


@frozen(eq=False)
class Packing:
    """Cells of some margins that each joint cell falls into.

    masks: of the margins. tables: of the margins; only their cells matter. The limits of a packing are one number for
    each of these cells, one margin after another. places: the limits of each joint cell, shape (margins, joint cells).
    """

    cube: DataCube
    masks: tuple[Mask, ...]
    tables: tuple[ContingencyTable, ...]
    places: IndexArray

    @classmethod
    def of(cls, cube: DataCube, masks: Sequence[Mask], limit: int) -> "Packing":
        """Return the packing over margins with these masks. Raises TooManyCellsError for more joint cells than `limit`."""
        tables = tuple(map(cube.table, masks))
        joint = joined_cells(Collection.of(cube, masks), limit)
        begins = np.cumsum([0, *map(len, tables)])
        places = [begin + joint.positions_in(table) for begin, table in zip(begins.tolist(), tables)]
        return cls(cube, tuple(masks), tables, np.array(places, dtype=np.intp))

    @cached_property
    def begins(self) -> tuple[int, ...]:
        """Place where the limits of each margin begin, and where all end."""
        return tuple(np.cumsum([0, *map(len, self.tables)]).tolist())

    @property
    def width(self) -> int:
        """Number of limits."""
        return self.begins[-1]

    def screened(self, limits: FloatArray, enough: float) -> FloatArray:
        """Return how many rows surely fit, up to `enough`, by single cells and by filling cells one after another.

        The result is 0 only if no row fits. limits: of many packings, shape (n, width). enough: at least 1. Returns
        shape (n,).
        """
        at_once = max(_NUMBERS // max(self.width, len(self.places[0])), 1)
        pieces = np.split(limits, range(at_once, len(limits), at_once))
        return np.concatenate([self._screened(piece, enough) for piece in pieces])

    def _screened(self, limits: FloatArray, enough: float) -> FloatArray:
        fitting = limits[:, self.places[0]]
        for places in self.places[1:]:
            np.minimum(fitting, limits[:, places], out=fitting)
        surely: FloatArray = np.minimum(fitting.max(axis=1, initial=0.0), enough)
        unsure = np.flatnonzero((surely > 0) & (surely < enough))
        if len(unsure):
            roomy = np.argsort(-fitting[unsure].mean(axis=0), kind="stable")[:_FIRST_CELLS]
            surely[unsure] = np.maximum(surely[unsure], self._put_in(limits[unsure], roomy, enough))
        return surely

    def _put_in(self, limits: FloatArray, cells: IndexArray, enough: float) -> FloatArray:
        """Return the rows that fit if each cell takes as many as it can, in this order, up to `enough`: shape (n,)."""
        remaining = limits.T.copy()
        put = np.zeros(len(limits))
        for cell in cells.tolist():
            at = self.places[:, cell]
            rows = remaining[at].min(axis=0)
            if rows.any():
                remaining[at] -= rows
                put += rows
                if put.min() >= enough:
                    break
        return np.minimum(put, enough)

    def rows(self, limits: FloatArray, enough: int, effort: Effort) -> tuple[int, int]:
        """Return bounds of the largest sum, for limits of shape (width,).

        They are equal unless the first reaches `enough`, the second stays below it, or the effort of programs is over.
        The lower bound is proven by a flow or by a table of whole numbers that was checked.
        """
        if self.takes_flow(limits):
            exactly = self._largest_flow(limits)
            return exactly, exactly
        fitting = limits[self.places].min(axis=0)
        cells = np.flatnonzero(fitting > 0)
        if not len(cells):
            return 0, 0
        best = int(self._put_in(limits[None, :], cells[np.argsort(-fitting[cells], kind="stable")], np.inf)[0])
        most = int(min(limits[begin:end].sum() for begin, end in pairwise(self.begins)))  # as each margin bounds it
        for nodes in (0, effort.nodes):
            if best >= enough or most < enough or best == most or effort.is_over:
                break
            packed, bound = self._solved(limits, cells, effort.spend(), nodes)
            best, most = max(best, packed), min(most, bound)
        return best, most

    def takes_flow(self, limits: FloatArray) -> bool:
        """Return whether the margins form a chain, and the rows are few enough for a flow."""
        return self.chain is not None and bool(limits.sum() <= FLOW_LIMIT)

    def _solved(self, limits: FloatArray, cells: IndexArray, seconds: float, nodes: int) -> tuple[int, int]:
        """Return the rows of the whole-number table that a program finds, 0 for none, and the bound that it proves."""
        from scipy.sparse import csr_array, eye_array, hstack  # slow to import, and few need them

        margins = len(self.places)
        at, number = self.places[:, cells].ravel(), np.tile(np.arange(len(cells)), margins)
        within = csr_array((np.ones(len(at)), (at, number)), shape=(self.width, len(cells)))
        room = hstack([within, eye_array(self.width)], format="csr")
        upper = np.concatenate([np.full(len(cells), np.inf), limits])
        objective = -(np.arange(len(upper)) < len(cells)).astype(np.float64)
        solution = solve(objective, Program(room, limits, np.zeros_like(upper), upper), seconds, nodes)
        bound = floor(min(-solution.bound, float(limits.sum())) + _WHOLE)
        if solution.table is None:
            return 0, bound
        table = np.floor(solution.table[: len(cells)] + _WHOLE)
        fits = table.min(initial=0) >= 0 and bool((within @ table <= limits).all())
        return int(table.sum()) if fits else 0, bound

    @cached_property
    def chain(self) -> tuple[int, ...] | None:
        """Margins in an order in which the common part of any two lies in all margins between; None if there is none."""
        return next(_chains(self.masks, (), 0), None) if len(self.masks) <= _IN_A_CHAIN else None

    def _largest_flow(self, limits: FloatArray) -> int:
        rows = np.split(limits.astype(np.int64), self.begins[1:-1])
        tables = [LinkedTable(rows[margin], place - 1, *at) for place, (margin, *at) in enumerate(self._links)]
        return most_in_chain(tables, [table.counts > 0 for table in tables]) or 0

    @cached_property
    def _links(self) -> list[tuple[int, IndexArray, IndexArray]]:
        """Margins of the chain, and where its cells and those of the margin before fall among their common cells."""
        chain = self.chain or ()
        links = [(chain[0], np.zeros(len(self.tables[chain[0]]), dtype=np.intp), np.zeros(0, dtype=np.intp))]
        for before, margin in pairwise(chain):
            cells = self.cube.table(self.masks[before] & self.masks[margin])
            links.append((margin, self.tables[margin].positions_in(cells), self.tables[before].positions_in(cells)))
        return links


def _chains(masks: Sequence[Mask], order: tuple[int, ...], seen: Mask) -> Iterator[tuple[int, ...]]:
    """Yield the orders in which each mask shares with all masks before it no more than with the last one."""
    if len(order) == len(masks):
        yield order
    for place, mask in enumerate(masks):
        if place not in order and (not order or not seen & mask & ~masks[order[-1]]):
            yield from _chains(masks, (*order, place), seen | mask)
