"""Further tables beside a junction tree: the pairs that the tree shows least well, as finely as they are allowed.

A tree shows few of all pairs. A table of one more pair makes the answer about it exact and changes no other, so tables are
chosen one by one by how much nearer they bring the answer about their own pair to the data. Only counts of the attributes
that they show decide, given the tree: their choice tells nothing of any other attribute.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import combinations

import numpy as np

from models.deadline import NEVER, Deadline
from models.errors import SelectionError, TooManyCellsError
from models.graphs.junction_tree import Collection, maximal_masks
from models.inference.beside_core import fit_to_tables
from models.inference.marginal_model import MarginalModel
from models.search.problem import staircase
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
    """How many further tables there may be (None: no limit), and the least gain of a table.

    least_gain: in total variation of the table's own attributes, from 0 to 1. crossing_levels: whether a table may show two
    attributes at levels that cross those of another one. Raises SelectionError for negative limits.
    """

    tables: int | None = None
    least_gain: float = LEAST_GAIN
    crossing_levels: bool = True

    def __post_init__(self) -> None:
        if self.tables is not None and self.tables < 0:
            raise SelectionError(f"a limit of tables must not be negative, got {self.tables}")
        if not 0 <= self.least_gain <= 1:
            raise SelectionError(f"the least gain is a total variation, from 0 to 1, not {self.least_gain}")


NO_LIMITS = FurtherLimits()


@dataclass(frozen=True, eq=False)
class FurtherTable:
    """A margin. gain: by how much it brings the answer about its attributes nearer to the data, in total variation."""

    mask: Mask
    gain: float


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
    """Return the further tables, in the order in which they were chosen.

    core: decomposable, also without the attributes that are not named, over a cube that holds the base table. allowed:
    whether a margin may be published; then whatever is coarser may be, too. wanted: margins that come first, each once and
    as finely as it is allowed; then pairs of the named attributes. The limits count both. The result depends on the counts
    of the named attributes alone, given the core, unless the deadline ends the choice. Its parameters are the question,
    what may be published, and when to stop.

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


_Waiting = tuple[float, int, Mask, tuple[int, int], FurtherTable | None]
"""A pair that may gain: minus the gain of its best table, or the error of its answer before tables were tried; the cells and
the mask of the table; the places of its attributes; the table, None before tables were tried."""


class _Choice:
    """The choice of further tables. tables: those chosen so far."""

    def __init__(
        self, core: Collection, nonsensitive: Sequence[str], allowed: Callable[[Mask], bool], limits: FurtherLimits
    ) -> None:
        self._domain, self._allowed, self._limits = core.domain, allowed, limits
        places = sorted(map(core.domain.index, nonsensitive))
        self._names = [core.domain.attributes[place] for place in places]
        self._own = [core.domain.attribute_masks[place] for place in places]
        # Without the other attributes even rounding is the same whatever their values are.
        self._core, self._published = MarginalModel(core.within(sum(self._own))), core.masks
        _ = self._core.closed_form
        self.tables: list[FurtherTable] = []

    @property
    def _shown(self) -> Collection:
        core = self._core.collection
        return Collection.of(core.cube, (*core.masks, *(table.mask for table in self.tables)))

    @property
    def _is_full(self) -> bool:
        return self._limits.tables is not None and len(self.tables) >= self._limits.tables

    def _fits(self, mask: Mask) -> bool:
        # Each is compared alone: another further table that shows both attributes as finely may be left out later.
        others = (self._published, *((table.mask,) for table in self.tables))
        return self._limits.crossing_levels or not any(any(self._domain.crossings(mask, some)) for some in others)

    def _error(self, whole: Mask, shown: Collection, candidate: Mask = 0) -> float:
        """The total variation between the data of some attributes and the answer about them beside one more table."""
        part = Collection.of(shown.cube, (*shown.masks, candidate))
        data, names = self._core.collection.cube.table(whole), tuple(self._domain.margin(whole))
        levels = {a: part.finest_levels[a] for a in names}
        if self._domain.size(levels) > _CELLS:
            raise TooManyCellsError(f"more than {_CELLS:,} cells of {', '.join(names)}")
        beliefs, tables = np.array(self._core.expected(levels)), map(part.cube.table, maximal_masks(part.masks))
        fit_to_tables(self._domain, levels, beliefs, tables, _SWEEPS, _CONVERGED)
        places, share = [], np.ones(len(data))
        for a, level in levels.items():
            hierarchy = self._domain.hierarchy(a)
            above = hierarchy.lift(0, level)[data.column(a, 0)]
            places.append(above)
            share /= hierarchy.leaf_counts(level)[above]
        expected = beliefs[tuple(places)] * share
        return float(np.maximum(data.counts - expected, 0.0).sum() / max(data.total, 1))

    def _best(self, whole: Mask, candidates: Iterable[Mask]) -> FurtherTable | None:
        cells, shown = self._domain.cell_count, self._shown.within(whole)
        before = self._error(whole, shown)
        new = (mask for mask in candidates if all(mask & ~known for known in shown.masks))
        tables = [FurtherTable(mask, before - self._error(whole, shown, mask)) for mask in new]
        return min(tables, key=lambda table: (-round(table.gain, _DIGITS), cells(table.mask), table.mask), default=None)

    def take_wanted(self, mask: Mask) -> None:
        if mask & ~sum(self._own):
            margin = self._domain.margin(mask)
            raise SelectionError(f"the wanted further table {margin} shows an attribute that none may show")
        whole = sum(self._domain.attribute_masks[place] for place in self._domain.places(mask))
        candidates = list(filter(self._fits, maximal_allowed(self._domain, mask, self._allowed)))
        if not self._is_full and (table := self._best(whole, candidates)) is not None:
            self.tables.append(table)

    def take_pairs(self, deadline: Deadline, progress: Progress) -> None:
        """Add the pairs that gain the most, one by one. The tables of a pair are tried if no other pair may gain as much."""
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
            *_, chosen, table = heappop(waiting)
            if table is None or not self._fits(table.mask):
                if (closer := self._with_table(chosen)) is not None:
                    heappush(waiting, closer)
                continue
            before = self._shown.finest_levels
            self.tables.append(table)
            finer = {a for a, level in self._shown.finest_levels.items() if level < before[a]}
            again = [pair for pair in pairs if pair == chosen or finer & {self._names[i] for i in pair}]
            waiting = [candidate for candidate in waiting if candidate[3] not in again]
            for pair in again:
                waiting += self._entry(pair)
            heapify(waiting)

    def _entry(self, pair: tuple[int, int]) -> list[_Waiting]:
        try:
            whole = sum(self._own[place] for place in pair)
            error = self._error(whole, self._shown.within(whole))
        except TooManyCellsError:
            return []
        return [(-round(error, _DIGITS), 0, 0, pair, None)] if self._is_worth(error) else []

    def _with_table(self, pair: tuple[int, int]) -> _Waiting | None:
        first, second = ([own & ((2 << step) - 1) for step in vertices_of(own)] for own in (self._own[i] for i in pair))
        candidates = (one | other for one, other in staircase(first, second, self._allowed))
        table = self._best(first[-1] | second[-1], filter(self._fits, candidates))
        if table is None or not self._is_worth(table.gain):
            return None
        gain = round(table.gain, _DIGITS)
        return -gain, self._domain.cell_count(table.mask), table.mask, pair, table

    def _is_worth(self, gain: float) -> bool:
        return gain >= max(self._limits.least_gain, 10.0**-_DIGITS)


def maximal_allowed(domain: Domain, mask: Mask, allowed: Callable[[Mask], bool]) -> list[Mask]:
    """Return the finest allowed margins that show each attribute of a margin, and none finer than it does.

    Whatever is coarser than an allowed margin is taken to be allowed. Raises TooManyCellsError for too many levels.
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
