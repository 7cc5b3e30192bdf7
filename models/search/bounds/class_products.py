"""Counts of many margins at once that begin alike: for tables of many rows.

The margins P + c + e of some beginning P are counted together: among the rows of a class of P, with indicators X of all
values, as the product X'X.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from models.arrays import BoolArray, CodeArray, CountArray, FloatArray, IndexArray
from models.search.bounds.asked_margins import AskedMargins
from models.search.problem import Problem
from models.tables.domain import Mask
from models.tables.mixed_radix import pack
from models.x_log_x import x_log_x

_MOST_INDICATORS = 1 << 25
"""Rows times values, at most, all of which are laid out in single precision."""

_MOST_ROWS = 1 << 21
"""Rows, equal ones counted, so that single precision counts exactly and the terms of all entropies are tabulated."""

_KILLING = 0.75
"""A class is worth a look of its own while no more than this share of the sets stays allowed after one."""

_ALONE, _ALONE_PER_ROW = 20_000.0, 2.0
"""Nanoseconds, about, that it takes to count one set by itself: each, and for each row."""

_PER_CLASS, _PER_COUNT, _PER_PRODUCT = 50_000.0, 3.0, 1 / 120
"""The same of sets that are counted at once: for each class, each count of two values in it, and each row and two values."""

_SPARSE = 3
"""Indicators are picked one by one where a range of them holds so many times as many."""


@dataclass(frozen=True, eq=False)
class _Indicators:
    """The rows of a table and, for each value of each of some steps, whether they hold it.

    columns: codes by step, shape (rows,), of so many sizes. starts: the first indicator of each step, and their number.
    ones: shape (rows, indicators). counts: of equal rows; None where all are 1.
    """

    columns: Sequence[CodeArray]
    sizes: Sequence[int]
    starts: IndexArray
    ones: npt.NDArray[np.float32]
    counts: CountArray | None

    @classmethod
    def of(cls, problem: Problem, masks: Sequence[Mask]) -> "_Indicators | None":
        """Those of the margin of one attribute that each step is. None where they are too many."""
        table = problem.cube.table(sum(problem.cube.domain.attribute_masks))
        columns, sizes = list(map(table.column_of, masks)), list(map(table.domain.cell_count, masks))
        if len(table) * sum(sizes) > _MOST_INDICATORS:
            return None
        starts = np.concatenate(([0], np.cumsum(sizes)))
        ones = np.zeros((len(table), starts[-1]), dtype=np.float32)
        for start, column in zip(starts.tolist(), columns):
            ones[np.arange(len(table)), start + column.astype(np.intp)] = 1
        return cls(columns, sizes, starts, ones, None if table.is_unweighted else table.counts)

    def classes(self, steps: IndexArray) -> tuple[int, Iterator[IndexArray]]:
        """How many classes of some steps together there are, and the rows of each, of the smallest first."""
        keys, _ = pack([self.columns[i] for i in steps], [self.sizes[i] for i in steps], len(self.ones))
        if len(self.ones) and int(keys.max()) >= len(self.ones):
            keys = np.unique(keys, return_inverse=True)[1]
        rows = np.bincount(keys)
        occupied = np.flatnonzero(rows)
        smallest_first = occupied[np.argsort(rows[occupied], kind="stable")]
        return len(occupied), (np.flatnonzero(keys == key) for key in smallest_first)

    def together(self, rows: IndexArray, values: slice | IndexArray) -> npt.NDArray[np.float32]:
        """How many of some rows hold each two of some values, shape (values, values)."""
        held = self.ones[rows, values] if isinstance(values, slice) else self.ones[rows[:, None], values]
        return held.T @ (held if self.counts is None else held * self.counts[rows, None].astype(np.float32))


class _Pairs:
    """Pairs of attributes, and where the counts of their values are among those of all values that are needed for them."""

    def __init__(self, indicators: _Indicators, pairs: IndexArray) -> None:
        places, positions = np.unique(pairs, return_inverse=True)
        first, after = indicators.starts[places], indicators.starts[places + 1]
        self.values: slice | IndexArray = slice(int(first[0]), int(after[-1]))
        if _SPARSE * int((after - first).sum()) < after[-1] - first[0]:
            self.values = np.concatenate([np.arange(*own) for own in zip(first, after)])
            self._starts = np.concatenate(([0], np.cumsum(after - first)[:-1]))
            self._one, self._other = positions.reshape(pairs.shape).T
        else:
            self._starts = indicators.starts[places[0] : places[-1] + 1] - first[0]
            self._one, self._other = (pairs - places[0]).T
        self.width = int((after - first).sum()) if isinstance(self.values, np.ndarray) else int(after[-1] - first[0])

    def sums(self, of_values: FloatArray) -> FloatArray:
        """Summed over the values of each pair."""
        by_place = np.add.reduceat(np.add.reduceat(of_values, self._starts, axis=0), self._starts, axis=1)
        return np.asarray(by_place[self._one, self._other])

    def any(self, of_values: BoolArray) -> BoolArray:
        """Whether it is so of any values of each pair."""
        by_place = np.logical_or.reduceat(of_values, self._starts, axis=0)
        return np.asarray(np.logical_or.reduceat(by_place, self._starts, axis=1)[self._one, self._other])


@dataclass(frozen=True, eq=False)
class ClassProducts:
    """What judges margins that begin alike.

    asked: the same one by one. coarse, fine: the rows with each step as the coarsest and the finest margin that it stands
    for. terms: n ln n of each number of rows.
    """

    asked: AskedMargins
    coarse: _Indicators
    fine: _Indicators
    terms: FloatArray

    @classmethod
    def of(cls, asked: AskedMargins) -> "ClassProducts | None":
        """None where there are too many rows, or values."""
        cube, steps = asked.problem.cube, asked.steps
        if not 0 < cube.total <= _MOST_ROWS or (fine := _Indicators.of(asked.problem, steps.fine)) is None:
            return None
        coarse = fine if steps.are_exact else _Indicators.of(asked.problem, steps.coarse)
        return None if coarse is None else cls(asked, coarse, fine, x_log_x(np.arange(cube.total + 1)))

    def parts(self, members: IndexArray) -> list[IndexArray]:
        """Some margins, ascending, in parts that are judged together: they differ in their last two steps alone."""
        return np.split(members, np.flatnonzero(np.any(members[1:, :-2] != members[:-1, :-2], axis=1)) + 1)

    def judged(self, members: IndexArray) -> tuple[BoolArray, FloatArray]:
        """Which of the margins of a part may be shown, and the entropies in nats of these; 0 of others."""
        allowed, entropies = np.zeros(len(members), dtype=np.bool_), np.zeros(len(members))
        by_class = self.asked.are_by_class(members)
        alone = np.flatnonzero(~by_class)
        allowed[alone], entropies[alone] = self.asked.judged(members[alone])
        left, own = self._at_once(members, np.flatnonzero(by_class))
        allowed[left], entropies[left] = True, own
        return allowed, entropies

    def _at_once(self, members: IndexArray, left: IndexArray) -> tuple[IndexArray, FloatArray]:
        """The allowed ones of those that are left, ascending, and their entropies; all are judged by their classes."""
        if not len(left):
            return left, np.empty(0)
        beginning = members[0, :-2]
        _, classes = self.coarse.classes(beginning)
        for rows in classes:
            before = len(left)
            left = self._without_small(members, left, [rows])
            if len(left) > _KILLING * before or not len(left):
                break
        if not len(left):
            return left, np.empty(0)
        pairs = _Pairs(self.fine, members[left, -2:])
        number, fine_classes = self.fine.classes(beginning)
        counts = pairs.width**2
        at_once = number * (_PER_CLASS + _PER_COUNT * counts) + _PER_PRODUCT * len(self.fine.ones) * counts
        if len(left) * (_ALONE + _ALONE_PER_ROW * len(self.fine.ones)) < at_once:
            allowed, entropies = self.asked.judged(members[left])
            return left[allowed], entropies[allowed]
        if self.coarse is not self.fine:
            left = self._without_small(members, left, classes)
            if not len(left):
                return left, np.empty(0)
            pairs = _Pairs(self.fine, members[left, -2:])
        terms: FloatArray = np.zeros(())
        small = np.zeros(len(left), dtype=np.bool_)
        for rows in fine_classes:
            together = self.fine.together(rows, pairs.values)
            terms = terms + self.terms[together.astype(np.intp)]
            if self.coarse is self.fine:
                small |= pairs.any((together > 0) & (together < self.asked.least))
        total = len(self.terms) - 1
        return left[~small], (np.log(total) - pairs.sums(terms) / total)[~small]

    def _without_small(self, members: IndexArray, left: IndexArray, classes: Iterable[IndexArray]) -> IndexArray:
        """Those that are left of which no class among some of their beginning is too small."""
        for rows in classes:
            pairs = _Pairs(self.coarse, members[left, -2:])
            counts = self.coarse.together(rows, pairs.values)
            left = left[~pairs.any((counts > 0) & (counts < self.asked.least))]
            if not len(left):
                break
        return left
