"""Possible cells: the published cells that no marginal of a collection shows to be empty."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from models.arrays import CodeArray, CountArray, FloatArray
from models.errors import TooManyCellsError
from models.graphs.collection import Collection
from models.graphs.junction_tree import maximal_masks
from models.programs.equations import Equations
from models.programs.propagation import propagated
from models.tables.coded_cells import CodedCells
from models.tables.contingency_table import ContingencyTable
from models.tables.domain import Domain
from models.tables.join import match, match_size
from models.tables.margin import Margin

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True, eq=False)
class PossibleCells:
    """Cells over all published attributes at their finest published levels.

    margin: these levels. codes: for each attribute, shape (cells,). tables: the maximal marginals. A nonnegative table x
    over the cells is consistent with the collection when `constraints @ x` equals `counts`. total: rows.
    """

    domain: Domain
    margin: Margin
    codes: Mapping[str, CodeArray]
    tables: tuple[ContingencyTable, ...]
    constraints: "csr_array[np.float64]"
    counts: FloatArray
    total: int

    def __len__(self) -> int:
        """Number of cells."""
        return self.constraints.shape[1]

    def propagated(self) -> tuple[CountArray, CountArray]:
        """Bounds on the count of each cell that follow equation by equation: lower and upper, shape (cells,) each."""
        size, counted = len(self), self.constraints.shape[0]
        whole = np.arange(counted)
        matrix = self.constraints
        # Of each equation its count first, as an unknown of which both ends are known, then its cells.
        rows = np.concatenate([whole, np.repeat(whole, np.diff(matrix.indptr))])
        cells = np.concatenate([size + whole, matrix.indices])
        signs = np.where(cells >= size, 1, -1)
        order = np.argsort(rows, kind="stable")
        equations = Equations(rows[order], cells[order], signs[order], np.zeros(counted, dtype=np.intp))
        counts = self.counts.astype(np.int64)
        known = np.concatenate([np.zeros(size, dtype=np.int64), counts])
        most = np.concatenate([np.full(size, self.total, dtype=np.int64), counts])
        lower, upper = propagated(equations, known, most)
        return lower[:size], upper[:size]

    @property
    def coded_cells(self) -> CodedCells:
        """The cells by their codes."""
        return CodedCells(self.domain, self.margin, self.codes, len(self))


def possible_cells(collection: Collection, limit: int) -> PossibleCells:
    """The natural join of all marginals and supports.

    Raises TooManyCellsError when the join, or a step towards it, exceeds `limit`.
    """
    domain = collection.domain
    tables = tuple(collection.cube.table(mask) for mask in maximal_masks(collection.masks))
    waiting = [*(table.coded_cells for table in tables), *(support.cells for support in collection.supports)]
    levels: dict[str, int] = {}
    codes: dict[str, CodeArray] = {}
    length = 1
    while waiting:
        # The table that shares most with what is joined already keeps the steps small.
        cells = max(waiting, key=lambda each: (sum(a in levels for a in each.margin), -len(each)))
        waiting.remove(cells)
        keys = CodedCells(domain, levels, codes, length).keys_with(cells)
        if match_size(*keys) > limit:
            raise TooManyCellsError(f"the published cells that may be occupied are more than {limit}")
        first, second = match(*keys)
        for attribute, column in codes.items():
            codes[attribute] = column[first]
        for attribute, level in cells.margin.items():
            if attribute not in levels or level < levels[attribute]:
                levels[attribute], codes[attribute] = level, cells.codes[attribute][second]
        length = len(first)
    rows, counts, offset = [], [], 0
    joined = CodedCells(domain, levels, codes, length)
    for table in tables:
        rows.append(offset + joined.positions_in(table.coded_cells))
        counts.append(table.counts)
        offset += len(table)
    places = np.concatenate(rows) if rows else np.zeros(0, dtype=np.intp)
    columns = np.tile(np.arange(length), len(tables))
    from scipy.sparse import csr_array  # slow to import, and few need it

    constraints = csr_array((np.ones(len(places)), (places, columns)), shape=(offset, length))
    total = np.concatenate(counts).astype(np.float64) if counts else np.zeros(0)
    return PossibleCells(domain, Margin(levels), codes, tables, constraints, total, collection.cube.total)
