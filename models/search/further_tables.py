"""Further tables beside a junction tree: the pairs that the tree shows least well, as finely as they are allowed.

A tree shows few of all pairs. A table of one more pair makes the answer about it exact and changes no other. So tables
are chosen one by one, by how much nearer they bring the answer about their own pair to the data. Given the tree, only
counts of the attributes that they show decide. So their choice tells nothing of any other attribute.
"""

from collections.abc import Callable, Iterable, Sequence
from heapq import heapify, heappop, heappush
from itertools import chain, combinations
from typing import NamedTuple

import numpy as np

from models.deadline import NEVER, Deadline
from models.errors import SelectionError, TooManyCellsError
from models.frozen import frozen
from models.graphs.junction_tree import Collection, is_collapsible, maximal_masks
from models.inference.beside_core import fit_to_tables
from models.inference.marginal_model import MarginalModel
from models.search.problem import staircase
from models.tables.hierarchy import Domain, Mask, vertices_of

_SWEEPS, _CONVERGED = 200, 1e-6
"""Limits of the fits by which candidates are compared."""

_CELLS = 1 << 21
"""Most cells of a pair at its finest levels; larger pairs stay as the tree shows them."""

_LOOKED_AT = 20_000
"""Most levels of a wanted margin that are looked at."""

_DIGITS = 12
"""Decimals of a gain; more are rounding."""

Progress = Callable[[int, int], None]
"""Function of the part of the choice that is done, and of the whole."""


class FurtherLimits(NamedTuple):
    """Most further tables (None: no limit), and the least total variation that a table gains about its attributes.

    crossing_levels: whether a table may show two attributes at levels that cross those of another one. undisturbed: parts
    of the core whose distribution further tables leave as it is.
    """

    tables: int | None = None
    least_gain: float = 0.001
    crossing_levels: bool = True
    undisturbed: tuple[tuple[Mask, ...], ...] = ()


NO_LIMITS = FurtherLimits()


@frozen(eq=False)
class FurtherTable:
    """Margin. gain: total variation by which it brings the answer about its attributes nearer to the data."""

    mask: Mask
    gain: float


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

    The parameters are a core, what may be beside it, and what ends the choice. core: decomposable, also without the
    attributes that are not named, over a cube that holds the base table. allowed: whether a margin may be published;
    everything coarser may be, too. wanted: margins that come first, as finely as they are allowed; pairs of the named
    attributes follow. The limits count both. Given the core, the result depends on the counts of the named attributes
    alone, unless the deadline ends the choice.

    Raises SelectionError for a wanted margin with other attributes, TooManyCellsError for one at too many levels. Raises
    NotDecomposableError if the core, or its part about the named attributes, has no junction tree.
    """
    choice = _Choice(core, nonsensitive, allowed, limits)
    for mask in wanted:
        if deadline.is_over:
            break
        choice.take_wanted(mask)
    choice.take_pairs(deadline, progress or (lambda _done, _pairs: None))
    return tuple(choice.tables)


_Waiting = tuple[float, int, Mask, tuple[int, int], FurtherTable | None]
"""Pair that may gain: the negative gain of its best table, its cells, its mask, the places of the attributes, the table.

Before tables were tried, the gain is the error of the answer, and the table is None."""


class _Choice:
    def __init__(
        self, core: Collection, nonsensitive: Sequence[str], allowed: Callable[[Mask], bool], limits: FurtherLimits
    ) -> None:
        self._domain, self._allowed, self._limits = core.domain, allowed, limits
        places = sorted(map(core.domain.index, nonsensitive))
        self._names = [core.domain.attributes[place] for place in places]
        self._masks = [core.domain.attribute_masks[place] for place in places]
        # Without the other attributes even rounding is the same whatever their values are.
        self._core, self._published = MarginalModel(core.within(sum(self._masks))), core.masks
        _ = self._core.closed_form
        self.tables: list[FurtherTable] = []

    @property
    def _collection(self) -> Collection:
        core = self._core.collection
        return Collection.of(core.cube, (*core.masks, *(table.mask for table in self.tables)))

    @property
    def _is_full(self) -> bool:
        return self._limits.tables is not None and len(self.tables) >= self._limits.tables

    def _fits(self, mask: Mask) -> bool:
        # Compared one by one, because another table that shows both attributes as finely may be left out later.
        others = (self._published, *((table.mask,) for table in self.tables))
        if not self._limits.crossing_levels and any(any(self._domain.crossings(mask, some)) for some in others):
            return False
        return all(is_collapsible(part, (mask, *chain(*others))) for part in self._limits.undisturbed)

    def _error(self, attributes_mask: Mask, collection: Collection, candidate: Mask = 0) -> float:
        """Return the total variation between the data of some attributes and the answer about them with one more table."""
        part = Collection.of(collection.cube, (*collection.masks, candidate))
        data, names = self._core.collection.cube.table(attributes_mask), tuple(self._domain.margin(attributes_mask))
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

    def _best(self, attributes_mask: Mask, candidates: Iterable[Mask]) -> FurtherTable | None:
        cells, collection = self._domain.cell_count, self._collection.within(attributes_mask)
        before = self._error(attributes_mask, collection)
        new = (mask for mask in candidates if all(mask & ~other for other in collection.masks))
        tables = [FurtherTable(mask, before - self._error(attributes_mask, collection, mask)) for mask in new]
        return min(tables, key=lambda table: (-round(table.gain, _DIGITS), cells(table.mask), table.mask), default=None)

    def take_wanted(self, mask: Mask) -> None:
        if mask & ~sum(self._masks):
            margin = self._domain.margin(mask)
            raise SelectionError(f"the wanted further table {margin} shows an attribute that none may show")
        attributes_mask = sum(self._domain.attribute_masks[place] for place in self._domain.places(mask))
        candidates = list(filter(self._fits, maximal_allowed(self._domain, mask, self._allowed)))
        if not self._is_full and (table := self._best(attributes_mask, candidates)) is not None:
            self.tables.append(table)

    def take_pairs(self, deadline: Deadline, progress: Progress) -> None:
        """Add the pairs that gain most, one by one; tables of a pair are tried only if no other pair may gain as much."""
        pairs = list(combinations(range(len(self._masks)), 2))
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
            before = self._collection.finest_levels
            self.tables.append(table)
            finer = {a for a, level in self._collection.finest_levels.items() if level < before[a]}
            again = [pair for pair in pairs if pair == chosen or finer & {self._names[i] for i in pair}]
            waiting = [candidate for candidate in waiting if candidate[3] not in again]
            for pair in again:
                waiting += self._entry(pair)
            heapify(waiting)

    def _entry(self, pair: tuple[int, int]) -> list[_Waiting]:
        try:
            attributes_mask = sum(self._masks[place] for place in pair)
            error = self._error(attributes_mask, self._collection.within(attributes_mask))
        except TooManyCellsError:
            return []
        return [(-round(error, _DIGITS), 0, 0, pair, None)] if self._is_worth(error) else []

    def _with_table(self, pair: tuple[int, int]) -> _Waiting | None:
        first, second = (
            [attribute_mask & ((2 << step) - 1) for step in vertices_of(attribute_mask)]
            for attribute_mask in (self._masks[i] for i in pair)
        )
        candidates = (one | other for one, other in staircase(first, second, self._allowed))
        table = self._best(first[-1] | second[-1], filter(self._fits, candidates))
        if table is None or not self._is_worth(table.gain):
            return None
        gain = round(table.gain, _DIGITS)
        return -gain, self._domain.cell_count(table.mask), table.mask, pair, table

    def _is_worth(self, gain: float) -> bool:
        return gain >= max(self._limits.least_gain, 10.0**-_DIGITS)


def maximal_allowed(domain: Domain, mask: Mask, allowed: Callable[[Mask], bool]) -> list[Mask]:
    """Return the finest allowed margins that show every attribute of a margin, none finer than it does.

    Everything coarser than an allowed margin is taken to be allowed. Raises TooManyCellsError for too many levels.
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
