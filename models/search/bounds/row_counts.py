"""Counts of many margins at once, by rows or by cells: where attributes have several levels, most margins have few cells."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from models.arrays import BoolArray, CodeArray, CountArray, FloatArray, IndexArray, smallest_code_dtype
from models.search.bounds.asked_margins import AskedMargins
from models.search.bounds.margin_sets import step_columns
from models.search.problem import Problem
from models.tables.domain import Mask
from models.tables.mixed_radix import pack, tally
from models.x_log_x import x_log_x

_MOST_ROWS = 1 << 21
"""Rows, equal ones counted, so that the terms of all entropies are tabulated."""

_AT_ONCE = 1 << 18
"""Rows times margins whose keys are laid out at once: few enough to stay in a cache."""

_MOST_CELLS = 1 << 12
"""Cells of a margin that is counted with others, empty ones included: of more there are likely to be more than rows."""


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows of a table, by the value that each has at each of some steps.

    columns: shape (steps, rows), codes. sizes: values of each step. counts: of equal rows; None where all are 1.
    """

    columns: CodeArray
    sizes: IndexArray
    counts: CountArray | None

    @classmethod
    def of(cls, problem: Problem, masks: Sequence[Mask]) -> "_Rows":
        """Those of the margin of one attribute that each step is."""
        table = problem.cube.table(sum(problem.cube.domain.attribute_masks))
        columns, sizes = step_columns(problem, masks)
        codes = np.array(columns, dtype=smallest_code_dtype(max(sizes)))
        return cls(codes, np.array(sizes, dtype=np.intp), None if table.is_unweighted else table.counts)

    def of_cells(self, members: IndexArray) -> "_Rows":
        """The cells of the coarsest table from which some margins of the same attributes can be counted, as rows."""
        finest = members.max(axis=0).tolist()
        length = self.columns.shape[1]
        keys, space = pack([self.columns[step] for step in finest], self.sizes[finest].tolist(), length)
        rows, counts = tally(keys, space, np.ones(length, dtype=np.int64) if self.counts is None else self.counts)
        used = np.unique(members)
        columns = np.empty((len(self.columns), len(rows)), dtype=self.columns.dtype)
        columns[used] = self.columns[np.ix_(used, rows)]
        return _Rows(columns, self.sizes, counts)

    def counted(self, members: IndexArray) -> tuple[IndexArray, IndexArray]:
        """The counts of all cells of some margins, one margin after another, and where those of each start."""
        sizes = self.sizes[members]
        cells = sizes.prod(axis=1)
        starts = np.cumsum(cells) - cells
        keys = self.columns[members[:, 0]].astype(smallest_code_dtype(int(cells.max())))
        for step, size in zip(members.T[1:], sizes.T[1:]):
            keys *= size[:, None].astype(keys.dtype)
            keys += self.columns[step]
        weights = None if self.counts is None else np.tile(self.counts.astype(np.float64), len(members))
        counts = np.bincount((keys + starts[:, None]).reshape(-1), weights, minlength=int(cells.sum()))
        return counts.astype(np.intp, copy=False), starts


@dataclass(frozen=True, eq=False)
class RowCounts:
    """What judges margins by their classes, a few hundred at a time.

    coarse, fine: the rows with each step as the coarsest and the finest margin that it stands for. least: rows of a class
    of any margin that may be shown. terms: n ln n of each number of rows.
    """

    coarse: _Rows
    fine: _Rows
    least: int
    terms: FloatArray

    @classmethod
    def of(cls, asked: AskedMargins) -> "RowCounts | None":
        """None where there are too many rows, or none."""
        problem, steps = asked.problem, asked.steps
        if not 0 < problem.cube.total <= _MOST_ROWS:
            return None
        fine = _Rows.of(problem, steps.fine)
        coarse = fine if steps.are_exact else _Rows.of(problem, steps.coarse)
        return cls(coarse, fine, asked.least, x_log_x(np.arange(problem.cube.total + 1)))

    @property
    def rows(self) -> int:
        """How many there are, or cells."""
        return int(self.fine.columns.shape[1])

    def are_small(self, members: IndexArray) -> BoolArray:
        """Which of some margins have few enough cells; members: shape (margins, attributes shown), of steps."""
        cells: FloatArray = self.fine.sizes[members].prod(axis=1, dtype=np.float64)
        return np.asarray(cells <= _MOST_CELLS)

    def of_attributes(self, members: IndexArray) -> "RowCounts":
        """The same from the cells of a table of the attributes that some margins all show.

        members: shape (margins, attributes shown), of steps.
        """
        fine = self.fine.of_cells(members)
        return replace(self, fine=fine, coarse=fine if self.coarse is self.fine else self.coarse.of_cells(members))

    def parts(self, members: IndexArray) -> list[IndexArray]:
        """The positions of some margins, in parts that are judged together."""
        at_once = max(_AT_ONCE // max(self.fine.columns.shape[1], self.coarse.columns.shape[1]), 1)
        return np.split(np.arange(len(members)), range(at_once, len(members), at_once))

    def judged(self, members: IndexArray) -> tuple[BoolArray, FloatArray]:
        """Which of the margins of a part may be shown, and their entropies in nats; any number for others."""
        counts, starts = self.coarse.counted(members)
        allowed = ~np.logical_or.reduceat((counts > 0) & (counts < self.least), starts)
        if self.coarse is not self.fine:
            counts, starts = self.fine.counted(members)
        total = len(self.terms) - 1
        return allowed, np.log(total) - np.add.reduceat(self.terms[counts], starts) / total
