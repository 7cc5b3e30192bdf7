"""Counts of many margins at once, by rows or by cells: where attributes have several levels, most margins have few cells."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from models.arrays import BoolArray, FloatArray, IndexArray, smallest_code_dtype
from models.search.bounds.asked_margins import AskedMargins
from models.tables.contingency_table import ContingencyTable
from models.tables.domain import Domain, Mask
from models.x_log_x import x_log_x

_MOST_ROWS = 1 << 21
"""Rows, equal ones counted, so that the terms of all entropies are tabulated."""

_AT_ONCE = 1 << 18
"""Rows, or cells, times margins that are laid out at once: few enough to stay in a cache."""

_MOST_CELLS = 1 << 12
"""Cells of a margin that is counted with others, empty ones included: of more there are likely to be more than rows."""


class _Steps:
    """The steps of a grid as margins of one attribute each. masks: of these, as many as steps. sizes: values of each."""

    def __init__(self, domain: Domain, masks: Sequence[Mask]) -> None:
        self.masks = masks
        self.sizes: IndexArray = np.array(list(map(domain.cell_count, masks)), dtype=np.intp)

    def cells(self, members: IndexArray) -> FloatArray:
        """The cells of some margins, empty ones included; members: shape (margins, attributes shown), of steps."""
        cells: FloatArray = self.sizes[members].prod(axis=1, dtype=np.float64)
        return cells

    def rolled_up(self, table: ContingencyTable, members: IndexArray) -> ContingencyTable:
        """The coarsest table from which some margins of the same attributes can be counted."""
        return table.rolled_up_to(sum(self.masks[step] for step in members.max(axis=0).tolist()))

    def counted(self, table: ContingencyTable, members: IndexArray) -> tuple[IndexArray, IndexArray]:
        """The counts of all cells of some margins, one margin after another, and where those of each start."""
        used, positions = np.unique(members, return_inverse=True)
        columns = np.array([table.column_of(self.masks[step]) for step in used.tolist()])
        positions, sizes = positions.reshape(members.shape), self.sizes[members]
        cells = sizes.prod(axis=1)
        starts = np.cumsum(cells) - cells
        keys = columns[positions[:, 0]].astype(smallest_code_dtype(int(cells.max())))
        for position, size in zip(positions.T[1:], sizes.T[1:]):
            keys *= size[:, None].astype(keys.dtype)
            keys += columns[position]
        weights = None if table.is_unweighted else np.tile(table.counts.astype(np.float64), len(members))
        counts = np.bincount((keys + starts[:, None]).reshape(-1), weights, minlength=int(cells.sum()))
        return counts.astype(np.intp, copy=False), starts


@dataclass(frozen=True, eq=False)
class RowCounts:
    """What judges margins by their classes, a few hundred at a time.

    coarse, fine: each step as the coarsest and the finest margin that it stands for. tables: from which the ones and the
    others are counted. least: rows of a class of any margin that may be shown. terms: n ln n of each number of rows.
    """

    coarse: _Steps
    fine: _Steps
    tables: tuple[ContingencyTable, ContingencyTable]
    least: int
    terms: FloatArray

    @classmethod
    def of(cls, asked: AskedMargins) -> "RowCounts | None":
        """None where there are too many rows, or none."""
        cube, steps = asked.problem.cube, asked.steps
        if not 0 < cube.total <= _MOST_ROWS:
            return None
        fine = _Steps(cube.domain, steps.fine)
        coarse = fine if steps.are_exact else _Steps(cube.domain, steps.coarse)
        table = cube.table(sum(cube.domain.attribute_masks))
        return cls(coarse, fine, (table, table), asked.least, x_log_x(np.arange(cube.total + 1)))

    @property
    def rows(self) -> int:
        """Cells of the larger table."""
        return max(map(len, self.tables))

    def are_small(self, members: IndexArray) -> BoolArray:
        """Which of some margins have few enough cells; members: shape (margins, attributes shown), of steps."""
        return np.asarray(self.fine.cells(members) <= _MOST_CELLS)

    def of_attributes(self, members: IndexArray) -> "RowCounts":
        """The same from tables of the attributes that some margins all show, as coarse as these allow.

        members: shape (margins, attributes shown), of steps.
        """
        fine = self.fine.rolled_up(self.tables[1], members)
        coarse = fine if self.coarse is self.fine else self.coarse.rolled_up(self.tables[0], members)
        return replace(self, tables=(coarse, fine))

    def parts(self, members: IndexArray) -> list[IndexArray]:
        """The positions of some margins, at least one, in parts that are judged together."""
        most = max(self.rows, int(self.fine.cells(members).max()))
        at_once = max(_AT_ONCE // most, 1)
        return np.split(np.arange(len(members)), range(at_once, len(members), at_once))

    def judged(self, members: IndexArray) -> tuple[BoolArray, FloatArray]:
        """Which of the margins of a part may be shown, and their entropies in nats; any number for others."""
        counts, starts = self.coarse.counted(self.tables[0], members)
        allowed = ~np.logical_or.reduceat((counts > 0) & (counts < self.least), starts)
        if self.coarse is not self.fine:
            counts, starts = self.fine.counted(self.tables[1], members)
        total = len(self.terms) - 1
        return allowed, np.log(total) - np.add.reduceat(self.terms[counts], starts) / total
