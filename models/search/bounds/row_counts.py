"""Counts of many margins at once, by rows or by cells: where attributes have several levels, most margins have few cells."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from models.arrays import BoolArray, CodeArray, CountArray, FloatArray, IndexArray, smallest_code_dtype
from models.search.bounds.asked_margins import AskedMargins
from models.search.bounds.margin_sets import GridSteps, step_columns
from models.search.problem import Problem
from models.tables.domain import Mask
from models.tables.mixed_radix import tally_cells
from models.x_log_x import x_log_x

_MOST_ROWS = 1 << 21
"""Rows, equal ones counted, so that the terms of all entropies are tabulated."""

_AT_ONCE = 1 << 18
"""Rows, or cells, times margins that are laid out at once: few enough to stay in a cache."""

_MOST_CELLS = 1 << 12
"""Cells of a margin that is counted with others, empty ones included: of more there are likely to be more than rows."""


class _Lifts:
    """The code at one step of each code at a finer one of the same attribute, for steps of a grid.

    columns: the code of each row of a table at each step.
    """

    def __init__(self, columns: Sequence[CodeArray], sizes: Sequence[int]) -> None:
        self._columns = [column.astype(smallest_code_dtype(size)) for column, size in zip(columns, sizes)]
        self.sizes: IndexArray = np.array(sizes, dtype=np.intp)
        self._lifts: dict[tuple[int, int], CodeArray] = {}

    def lifted(self, codes: CodeArray, fine: int, step: int) -> CodeArray:
        """Codes at a finer step as those at a step."""
        if fine == step:
            return codes
        if (fine, step) not in self._lifts:
            lift = np.zeros(self.sizes[fine], dtype=self._columns[step].dtype)
            lift[self._columns[fine]] = self._columns[step]
            self._lifts[fine, step] = lift
        return self._lifts[fine, step].take(codes)


@dataclass(frozen=True, eq=False)
class _Cells:
    """The cells of a table, as fine as margins are counted from it.

    lifts: of all steps. attributes: of each step its place in the domain. finest: by the place of each attribute that the
    table shows, its step and the code of each cell. counts: of rows.
    """

    lifts: _Lifts
    attributes: Sequence[int]
    finest: Mapping[int, tuple[int, CodeArray]]
    counts: CountArray

    @classmethod
    def of(cls, problem: Problem, steps: GridSteps, masks: Sequence[Mask]) -> "_Cells":
        """Those of the table of a problem, with each step as a margin of one attribute."""
        columns, sizes = step_columns(problem, masks)
        attributes = steps.attributes.tolist()
        finest = {place: (step, columns[step]) for step, place in enumerate(attributes)}
        counts = problem.cube.table(sum(problem.cube.domain.attribute_masks)).counts
        return cls(_Lifts(columns, sizes), attributes, finest, counts)

    def rolled_up(self, members: IndexArray) -> "_Cells":
        """The coarsest table from which some margins of the same attributes can be counted."""
        steps = members.max(axis=0).tolist()
        sizes = self.lifts.sizes[steps].tolist()
        codes, counts = tally_cells([self._column(step) for step in steps], sizes, self.counts)
        finest = {self.attributes[step]: (step, own) for step, own in zip(steps, codes)}
        return replace(self, finest=finest, counts=counts)

    def counted(self, members: IndexArray) -> tuple[IndexArray, IndexArray]:
        """The counts of all cells of some margins, one margin after another, and where those of each start."""
        used, positions = np.unique(members, return_inverse=True)
        columns = np.array([self._column(step) for step in used.tolist()])
        positions, sizes = positions.reshape(members.shape), self.lifts.sizes[members]
        cells = sizes.prod(axis=1)
        starts = np.cumsum(cells) - cells
        keys = columns[positions[:, 0]].astype(smallest_code_dtype(int(cells.max())))
        for position, size in zip(positions.T[1:], sizes.T[1:]):
            keys *= size[:, None].astype(keys.dtype)
            keys += columns[position]
        weights = None if self._are_equal else np.tile(self.counts.astype(np.float64), len(members))
        counts = np.bincount((keys + starts[:, None]).reshape(-1), weights, minlength=int(cells.sum()))
        return counts.astype(np.intp, copy=False), starts

    def _column(self, step: int) -> CodeArray:
        """The code of each cell at a step."""
        fine, codes = self.finest[self.attributes[step]]
        return self.lifts.lifted(codes, fine, step)

    @cached_property
    def _are_equal(self) -> bool:
        """Whether each cell is one row."""
        return bool((self.counts == 1).all())


@dataclass(frozen=True, eq=False)
class RowCounts:
    """What judges margins by their classes, a few hundred at a time.

    coarse, fine: the rows with each step as the coarsest and the finest margin that it stands for. least: rows of a class
    of any margin that may be shown. terms: n ln n of each number of rows.
    """

    coarse: _Cells
    fine: _Cells
    least: int
    terms: FloatArray

    @classmethod
    def of(cls, asked: AskedMargins) -> "RowCounts | None":
        """None where there are too many rows, or none."""
        problem, steps = asked.problem, asked.steps
        if not 0 < problem.cube.total <= _MOST_ROWS:
            return None
        fine = _Cells.of(problem, steps, steps.fine)
        coarse = fine if steps.are_exact else _Cells.of(problem, steps, steps.coarse)
        return cls(coarse, fine, asked.least, x_log_x(np.arange(problem.cube.total + 1)))

    @property
    def rows(self) -> int:
        """How many there are, or cells."""
        return max(len(self.fine.counts), len(self.coarse.counts))

    def are_small(self, members: IndexArray) -> BoolArray:
        """Which of some margins have few enough cells; members: shape (margins, attributes shown), of steps."""
        return np.asarray(self._cells(members) <= _MOST_CELLS)

    def _cells(self, members: IndexArray) -> FloatArray:
        """The cells of some margins, empty ones included."""
        cells: FloatArray = self.fine.lifts.sizes[members].prod(axis=1, dtype=np.float64)
        return cells

    def of_attributes(self, members: IndexArray) -> "RowCounts":
        """The same from the cells of a table of the attributes that some margins all show.

        members: shape (margins, attributes shown), of steps.
        """
        fine = self.fine.rolled_up(members)
        return replace(self, fine=fine, coarse=fine if self.coarse is self.fine else self.coarse.rolled_up(members))

    def parts(self, members: IndexArray) -> list[IndexArray]:
        """The positions of some margins, at least one, in parts that are judged together."""
        most = max(self.rows, int(self._cells(members).max()))
        at_once = max(_AT_ONCE // most, 1)
        return np.split(np.arange(len(members)), range(at_once, len(members), at_once))

    def judged(self, members: IndexArray) -> tuple[BoolArray, FloatArray]:
        """Which of the margins of a part may be shown, and their entropies in nats; any number for others."""
        counts, starts = self.coarse.counted(members)
        allowed = ~np.logical_or.reduceat((counts > 0) & (counts < self.least), starts)
        if self.coarse is not self.fine:
            counts, starts = self.fine.counted(members)
        total = len(self.terms) - 1
        return allowed, np.log(total) - np.add.reduceat(self.terms[counts], starts) / total
