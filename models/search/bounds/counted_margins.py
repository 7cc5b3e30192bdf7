"""The margins of a grid that may be shown, counted many at once, for the bound of tables with very many of them.

Margins of a grid stand for others (`lower_bound`): one may be shown where the coarsest that it stands for may. They are
found size by size like frequent itemsets (Agrawal and Srikant, VLDB 1994): one is looked at when all that lack one of its
attributes were found. Where a constraint judges margins by the least of their classes, many are counted together: where
attributes have several levels by rows or by cells, else, where they are many and have few values, as products.
"""

from collections.abc import Iterator

import numpy as np

from models.arrays import FloatArray, IndexArray
from models.search.bounds.asked_margins import AskedMargins
from models.search.bounds.class_products import ClassProducts
from models.search.bounds.lower_bound import Grid
from models.search.bounds.margin_sets import GridSteps, MarginIndex, MarginSets
from models.search.bounds.row_counts import RowCounts
from models.search.constraint import ClassSize
from models.search.problem import Problem, Stop

_MOST_PRODUCTS = 1 << 40
"""Rows times margins of the size after the next, at most, where margins are counted as products: half a minute, or one and a
half. The size after the next is expected to grow by the same factor as the next one."""

_FEWEST_ROWS = 1 << 12
"""Rows up to which a margin that is counted as a product takes about the same time."""

_MOST_JOINED, _MOST_ROWS_JOINED = 1 << 24, 1 << 35
"""Margins of the next size, and these times the rows, at most, where attributes have several levels."""

_MOST_NANOSECONDS = 30e9
"""What counting the margins of one size may take, as estimated by the numbers below."""

_LOOKED_AT = 1.5
"""Nanoseconds for each row and each candidate, about half of which are counted, where margins are counted by rows."""

_PER_TABLE, _PER_ROW, _PER_MARGIN, _PER_CELL = 150_000.0, 10.0, 10_000.0, 3.0
"""Nanoseconds where they are counted by cells: for each table of a set of attributes; each row that it is made of; each
candidate; each cell of such a table and each candidate counted from it."""


def counted_margins(problem: Problem, grid: Grid, judged: ClassSize, stop: Stop) -> list[MarginSets] | None:
    """The margins of a grid that may be shown, those of one attribute first. None when stopped, or where there are too many.

    grid: each attribute by itself is allowed as finely as it goes. judged: how the constraint judges some margins by their
    classes; of each other it is asked.
    """
    steps = GridSteps.of(problem, grid)
    if not len(steps):
        return None
    asked = AskedMargins.of(problem, steps, judged)
    judge = (RowCounts if steps.has_ladders else ClassProducts).of(asked)
    if judge is None:
        return None
    alone = np.array([problem.cube.entropy(mask) for mask in steps.fine])
    found = [MarginSets(steps, np.arange(len(steps))[:, None], alone)]
    rows = len(problem.cube.table(sum(problem.cube.domain.attribute_masks)))
    while len(found[-1]):
        if stop() or _too_many(found[-1], rows):
            return None
        if isinstance(judge, RowCounts):
            one_more = _of_ladders(found[-1], asked, judge, stop)
        else:
            one_more = _all_at_once(found[-1], judge, stop)
        if one_more is None:
            return None
        found.append(one_more)
    return found[:-1]


def _too_many(margins: MarginSets, rows: int) -> bool:
    """Whether there are likely to be too many of larger sizes."""
    following = int(margins.following.sum())
    if margins.steps.has_ladders:
        return following > _MOST_JOINED or following * rows > _MOST_ROWS_JOINED
    after_the_next = following * following // len(margins)
    return after_the_next * max(rows, _FEWEST_ROWS) > _MOST_PRODUCTS


def _all_at_once(margins: MarginSets, judge: ClassProducts, stop: Stop) -> MarginSets | None:
    """The margins of one attribute more; None when stopped."""
    members: list[IndexArray] = [np.empty((0, margins.members.shape[1] + 1), dtype=np.intp)]
    entropies: list[FloatArray] = [np.empty(0)]
    for candidates in margins.larger():
        for part in judge.parts(candidates):
            if stop():
                return None
            allowed, own = judge.judged(part)
            members.append(part[allowed])
            entropies.append(own[allowed])
    return MarginSets(margins.steps, np.concatenate(members), np.concatenate(entropies))


def _of_ladders(margins: MarginSets, asked: AskedMargins, judge: RowCounts, stop: Stop) -> MarginSets | None:
    """The same where several resolutions are told apart. None also where there are too many to be counted."""
    joined = [np.empty((0, margins.members.shape[1] + 1), dtype=np.intp)]
    for members in margins.larger():
        joined.append(members)
        if stop():
            return None
    candidates = _Candidates(margins.steps, np.concatenate(joined))
    by_class = asked.are_by_class(candidates.members) & judge.are_small(candidates.members)
    if not candidates.judge(np.flatnonzero(by_class), judge, stop):
        return None
    if not candidates.ask(np.flatnonzero(~by_class), asked, stop):
        return None
    allowed = candidates.allowed
    return MarginSets(margins.steps, candidates.members[allowed], candidates.entropies[allowed])


class _Candidates:
    """Margins of one size all of whose parts may be shown, and what is known of them.

    members: shape (margins, attributes shown), of steps; they ascend. allowed: which of them may be shown, as far as judged;
    entropies: of these, in nats.
    """

    def __init__(self, steps: GridSteps, members: IndexArray) -> None:
        self.steps, self.members = steps, members
        self.allowed, self.entropies = np.zeros(len(members), dtype=np.bool_), np.zeros(len(members))
        self._index = MarginIndex(len(steps), members)

    def judge(self, own: IndexArray, judge: RowCounts, stop: Stop) -> bool:
        """Judge some by their classes, in the way that is faster; False when stopped, or where they are too many."""
        attributes = self.steps.attributes[self.members[own]]
        order = np.lexsort(attributes.T[::-1])
        sorted_attributes = attributes[order]
        begins = np.flatnonzero(np.any(sorted_attributes[1:] != sorted_attributes[:-1], axis=1)) + 1
        by_rows = _LOOKED_AT * len(own) * judge.rows
        by_cells = (len(begins) + 1) * (_PER_TABLE + _PER_ROW * judge.rows) + _PER_MARGIN * len(own)
        if min(by_rows, by_cells) > _MOST_NANOSECONDS:
            return False
        if by_rows <= by_cells:
            return all(self._judge(part, judge, stop) for part in self._coarser_first(own))
        return all(self._judge_cells(same, judge, stop) for same in np.split(own[order], begins))

    def ask(self, own: IndexArray, asked: AskedMargins, stop: Stop) -> bool:
        """Judge some one by one; False when stopped."""
        for part in self._coarser_first(own):
            for margin in part[:, None]:
                if stop():
                    return False
                self.allowed[margin], self.entropies[margin] = asked.judged(self.members[margin])
        return True

    def _judge(self, own: IndexArray, judge: RowCounts, stop: Stop) -> bool:
        """Judge some by their classes; False when stopped."""
        for part in judge.parts(self.members[own]) if len(own) else []:
            if stop():
                return False
            self.allowed[own[part]], self.entropies[own[part]] = judge.judged(self.members[own[part]])
        return True

    def _judge_cells(self, own: IndexArray, judge: RowCounts, stop: Stop) -> bool:
        """Judge some that show the same attributes by cells, those alike in a step from fewer; False when stopped."""
        members = self.members[own]
        cells = judge.of_attributes(members) if len(own) else judge
        if stop():
            return False
        steps = [np.unique(column) for column in members.T]
        most = max(range(len(steps)), key=lambda column: len(steps[column]))
        if len(own) * cells.rows * _PER_CELL <= len(steps[most]) * _PER_TABLE:
            return self._judge(own, cells, stop)
        return all(self._judge_cells(own[members[:, most] == step], cells, stop) for step in steps[most].tolist())

    def _coarser_first(self, own: IndexArray) -> Iterator[IndexArray]:
        """Those of some of which every one that is a step coarser is allowed, once these are judged."""
        ranks = self.steps.resolutions[self.members[own]].sum(axis=1)
        for rank in np.unique(ranks).tolist():
            left = own[ranks == rank]
            for column in range(self.members.shape[1]):
                coarser = self.members[left]
                is_coarsest = self.steps.resolutions[coarser[:, column]] == 1
                coarser[:, column] -= 1
                at, are_there = self._index.sought(coarser)
                left = left[is_coarsest | (are_there & self.allowed[at])]
            yield left
