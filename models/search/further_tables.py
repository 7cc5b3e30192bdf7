"""Further tables beside a junction tree: the pairs that the tree shows least well, as finely as they are allowed.

A tree shows few of all pairs. A table of one more pair makes the answer about it exact and changes no other, so tables are
chosen one by one by how much nearer they bring the answer about their own pair to the data. Only counts of the attributes
that they show decide, given the tree: their choice tells nothing of any other attribute.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heapify, heappop, heappush
from itertools import combinations
from math import prod
from typing import NamedTuple

import numpy as np

from models.arrays import FloatArray
from models.deadline import NEVER, Deadline
from models.errors import SelectionError, TooManyCellsError
from models.graphs.junction_tree import Collection, maximal_masks
from models.inference.beside_core import Grid
from models.inference.marginal_model import MarginalModel
from models.search.problem import staircase
from models.tables.contingency_table import ContingencyTable
from models.tables.hierarchy import Domain, Mask, vertices_of

LEAST_GAIN = 0.001
"""Share of all rows by which the answer about a pair must come nearer to the data, by default."""

_SWEEPS, _CONVERGED = 200, 1e-6
"""Of fits by which candidates are compared."""

_CELLS = 1 << 21
"""Of a pair at its finest levels; larger ones are left as the tree shows them."""

_LOOKED_AT = 20_000
"""Levels of a wanted margin that are looked at."""

Progress = Callable[[int, int], None]
"""Told how much of the choice is done, and how much there is."""


@dataclass(frozen=True)
class FurtherLimits:
    """When to stop. tables: in all; cells: of all of them together, empty ones included; None for as many as gain.

    least_gain: in total variation of the table's own attributes, from 0 to 1. Raises SelectionError for negative ones.
    """

    tables: int | None = None
    cells: int | None = None
    least_gain: float = LEAST_GAIN

    def __post_init__(self) -> None:
        for name in ("tables", "cells"):
            limit = getattr(self, name)
            if limit is not None and limit < 0:
                raise SelectionError(f"a limit of {name} must not be negative, got {limit}")
        if not 0 <= self.least_gain <= 1:
            raise SelectionError(f"the least gain is a total variation, from 0 to 1, not {self.least_gain}")


NO_LIMITS = FurtherLimits()


@dataclass(frozen=True, eq=False)
class FurtherTable:
    """A margin, and by how much it brings the answer about its attributes nearer to the data, in total variation."""

    mask: Mask
    gain: float


@dataclass(frozen=True, eq=False)
class _Answer:
    """What is answered about some attributes at their finest published levels. error: total variation to the data."""

    beliefs: FloatArray
    error: float


@dataclass(frozen=True, eq=False)
class _Judge:
    """What is answered about some attributes, beside one set of tables or another.

    shown: what all published tables say of the attributes. The data is the cube's table of them at base values.
    """

    core: MarginalModel
    attributes: tuple[str, ...]
    shown: Collection

    @property
    def domain(self) -> Domain:
        """The attributes with their hierarchies."""
        return self.core.domain

    @cached_property
    def data(self) -> ContingencyTable:
        """The counts at base values."""
        return self.core.collection.cube.table(self.domain.mask(dict.fromkeys(self.attributes, 0)))

    def answer(self, candidate: Mask = 0) -> _Answer:
        """The answer beside one more table."""
        part = Collection.of(self.shown.cube, (*self.shown.masks, candidate))
        grid = Grid.of(part, {a: part.finest_levels[a] for a in self.attributes})
        if prod(grid.shape) > _CELLS:
            raise TooManyCellsError(f"more than {_CELLS:,} cells of {', '.join(self.attributes)}")
        beliefs = grid.cut(self.core.expected(grid.levels))
        grid.fit(beliefs, map(part.cube.table, maximal_masks(part.masks)), _SWEEPS, _CONVERGED)
        return _Answer(beliefs, self._error(grid, beliefs))

    def _error(self, grid: Grid, beliefs: FloatArray) -> float:
        """The total variation between the data and beliefs, which values below a published one share equally."""
        data, places = self.data, []
        share = np.ones(len(data))
        for a, level in grid.levels.items():
            hierarchy = self.domain.hierarchy(a)
            above = hierarchy.lift(0, level)[data.column(a, 0)]
            places.append(np.searchsorted(grid.codes[a], above))
            share /= hierarchy.leaf_counts(level)[above]
        expected = beliefs[tuple(places)] * share
        return float(np.maximum(data.counts - expected, 0.0).sum() / max(data.total, 1))

    def best(self, candidates: Iterable[Mask]) -> FurtherTable | None:
        """The candidate that gains the most, the one with fewer cells of two that gain as much; None without any."""
        cells, before = self.domain.cell_count, self.answer().error
        new = [mask for mask in candidates if not any(not mask & ~gain_of for gain_of in self.shown.masks)]
        gains = [FurtherTable(mask, before - self.answer(mask).error) for mask in new]
        return min(
            gains, key=lambda gain_of: (-round(gain_of.gain, _DIGITS), cells(gain_of.mask), gain_of.mask), default=None
        )


_DIGITS = 12
"""Of a gain that count: more are rounding."""


def further_tables(
    core: Collection,
    nonsensitive: Sequence[str],
    allowed: Callable[[Mask], bool],
    limits: FurtherLimits = NO_LIMITS,
    wanted: Sequence[Mask] = (),
    deadline: Deadline = NEVER,
    progress: Progress | None = None,
) -> tuple[FurtherTable, ...]:
    """The further tables, in the order in which they were chosen.

    core: decomposable, also without the attributes that are not named, over a cube that holds the base table. allowed:
    whether a margin may be published; whatever is coarser than an allowed one is taken to be. wanted: margins that come
    first, each once and as finely as it is allowed, whatever it gains; then pairs of the named attributes. The limits count
    both. The result depends on the counts of the named attributes alone, given the margins of the core, unless the deadline
    ends the choice. Its parameters are the question, what may be published, and when to stop.

    Raises SelectionError for a wanted margin with other attributes, TooManyCellsError for one at too many levels, and
    NotDecomposableError where the core, or what it shows of the named attributes, has no junction tree.
    """
    choice = _Choice(core, nonsensitive, allowed, limits)
    for mask in wanted:
        if deadline.is_over:
            break
        choice.take_wanted(mask)
    choice.take_pairs(deadline, progress or (lambda _done, _pairs: None))
    return tuple(choice.tables)


class _Waiting(NamedTuple):
    """A pair that may gain: those come first that may gain the most, then those of fewer cells.

    loss: minus the gain of its best table, or minus the error of its answer where no table was looked at. pair: places among
    the attributes. table: None where none was looked at.
    """

    loss: float
    cells: int
    mask: Mask
    pair: tuple[int, int]
    table: FurtherTable | None = None


class _Choice:
    """The tables that are chosen so far."""

    def __init__(
        self, core: Collection, nonsensitive: Sequence[str], allowed: Callable[[Mask], bool], limits: FurtherLimits
    ) -> None:
        self._domain = core.domain
        places = sorted(map(core.domain.index, nonsensitive))
        self._attributes = [core.domain.attributes[place] for place in places]
        self._own = [core.domain.attribute_masks[place] for place in places]
        # Without the other attributes even rounding is the same whatever their values are.
        self._core = MarginalModel(core.within(sum(self._own)))
        _ = self._core.closed_form
        self._allowed = allowed
        self._limits = limits
        self.tables: list[FurtherTable] = []

    @property
    def _shown(self) -> Collection:
        """All margins that are published by now."""
        return Collection.of(
            self._core.collection.cube, (*self._core.collection.masks, *(table.mask for table in self.tables))
        )

    @property
    def _is_full(self) -> bool:
        return self._limits.tables is not None and len(self.tables) >= self._limits.tables

    def _fits(self, mask: Mask) -> bool:
        """Whether there is room for the cells of a margin."""
        cells = sum(
            self._domain.cell_count(table_mask) for table_mask in (mask, *(table.mask for table in self.tables))
        )
        return self._limits.cells is None or cells <= self._limits.cells

    def _judge(self, mask: Mask) -> _Judge:
        attributes = tuple(self._domain.margin(mask))
        return _Judge(self._core, attributes, self._shown.within(mask))

    def take_wanted(self, mask: Mask) -> None:
        """The best table that shows no more than a margin, if there is room for one, and it is not shown already."""
        if mask & ~sum(self._own):
            margin = self._domain.margin(mask)
            raise SelectionError(f"the wanted further table {margin} shows an attribute that none may show")
        whole = sum(self._domain.attribute_masks[place] for place in self._domain.places(mask))
        candidates = list(filter(self._fits, maximal_allowed(self._domain, mask, self._allowed)))
        if not self._is_full and (table := self._judge(whole).best(candidates)) is not None:
            self.tables.append(table)

    def take_pairs(self, deadline: Deadline, progress: Progress) -> None:
        """One by one the pairs that gain the most. Their tables are looked at when no other pair may gain as much."""
        pairs = list(combinations(range(len(self._own)), 2))
        waiting: list[_Waiting] = []
        for number, pair in enumerate(pairs):
            if deadline.is_over:
                return
            progress(number, 2 * len(pairs))
            waiting += self._entry(pair)
        heapify(waiting)
        while waiting and not deadline.is_over and not self._is_full:
            progress(2 * len(pairs) - len(waiting), 2 * len(pairs))
            entry = heappop(waiting)
            if entry.table is None or not self._fits(entry.table.mask):
                if (closer := self._with_table(entry.pair)) is not None:
                    heappush(waiting, closer)
                continue
            before = self._shown.finest_levels
            self.tables.append(entry.table)
            finer = {a for a, level in self._shown.finest_levels.items() if level < before[a]}
            again = [pair for pair in pairs if pair == entry.pair or finer & {self._attributes[i] for i in pair}]
            waiting = [candidate for candidate in waiting if candidate.pair not in again]
            for pair in again:
                waiting += self._entry(pair)
            heapify(waiting)

    def _entry(self, pair: tuple[int, int]) -> list[_Waiting]:
        """A pair without a table: none where its answer is near enough to the data, or it has too many cells."""
        first, second = pair
        try:
            error = self._judge(self._own[first] | self._own[second]).answer().error
        except TooManyCellsError:
            return []
        return [_Waiting(-round(error, _DIGITS), 0, 0, pair)] if self._is_worth(error) else []

    def _with_table(self, pair: tuple[int, int]) -> _Waiting | None:
        """A pair with its best table; None where none gains enough."""
        first, second = (self._steps(self._own[place]) for place in pair)
        candidates = (one | other for one, other in staircase(first, second, self._allowed))
        table = self._judge(first[-1] | second[-1]).best(filter(self._fits, candidates))
        if table is None or not self._is_worth(table.gain):
            return None
        gain = round(table.gain, _DIGITS)
        return _Waiting(-gain, self._domain.cell_count(table.mask), table.mask, pair, table)

    def _is_worth(self, gain: float) -> bool:
        return gain >= max(self._limits.least_gain, 10.0**-_DIGITS)

    def _steps(self, attribute_mask: Mask) -> list[Mask]:
        """The margins of one attribute, the coarsest first."""
        return [attribute_mask & ((2 << step) - 1) for step in vertices_of(attribute_mask)]


def maximal_allowed(domain: Domain, mask: Mask, allowed: Callable[[Mask], bool]) -> list[Mask]:
    """The finest allowed margins that show each attribute of a margin, and none finer than it does.

    Whatever is coarser than an allowed margin is taken to be allowed. Raises TooManyCellsError where more would have to be
    looked at than can be.
    """
    attribute_masks = [mask & domain.attribute_masks[place] for place in domain.places(mask)]
    start = sum(attribute_mask & -attribute_mask for attribute_mask in attribute_masks)
    waiting, looked_at, maximal = [start], {start}, []
    while waiting:
        margin = waiting.pop()
        if not allowed(margin):
            continue
        finer = [margin | rest & -rest for attribute_mask in attribute_masks if (rest := attribute_mask & ~margin)]
        if not any(map(allowed, finer)):
            maximal.append(margin)
        waiting += [margin_finer for margin_finer in finer if margin_finer not in looked_at]
        looked_at.update(finer)
        if len(looked_at) > _LOOKED_AT:
            raise TooManyCellsError(f"more than {_LOOKED_AT:,} levels of {domain.margin(mask)} would have to be tried")
    return maximal_masks(maximal)
