"""Knowledge: what somebody knows for certain of the counts of a table whose marginals are published.

Three things together decide what a count can be: bounds of all cells of a margin at once, tables that have the published
marginals, which show what the bounds leave open to be possible, and exact bounds of single cells, which take longest.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil, floor
from typing import Protocol

import numpy as np

from checks.attacks.glued_tables import GluedTable, glued_table
from models.arrays import CountArray, FloatArray, IndexArray
from models.errors import ContradictionError, TooManyCellsError
from models.inference.frechet_bounds import FrechetBounds
from models.programs.cell_bounds import CountBounds, extreme_count
from models.programs.possible_cells import PossibleCells, possible_cells
from models.tables.domain import Domain

TABLES = 64
"""Glued tables that cells are compared in."""

_AVOIDING = 4
"""Tables that avoid a cell."""

PROGRAM_CELLS = 20_000
"""Possible cells that a program may have."""

_FIRST_SECONDS = 2.0
"""To find any table at all with the published marginals."""

_WHOLE = 1e-6
"""Distance within which a program's optimum is taken for a whole number."""

Rows = Callable[[Mapping[str, int]], CountArray]
"""A table with the published marginals: its rows by the cells of a margin, shape (cells,)."""


class Knowledge(Protocol):
    """What is known of the cells of margins whose attributes are published no coarser."""

    @property
    def domain(self) -> Domain:
        """The attributes with their hierarchies."""
        ...

    @property
    def is_whole(self) -> bool:
        """Whether it is all that is known: tables and sharp bounds of a part need not be those of the whole."""
        ...

    def about(self, margin: Mapping[str, int]) -> "Knowledge":
        """What can be worked out about a margin: the whole, or a part of what is known where the whole is too large."""
        ...

    def bounds(self, margin: Mapping[str, int]) -> tuple[CountArray, CountArray, bool]:
        """Bounds on the counts of all cells of a margin, shape (cells,), and whether all of these are sharp."""
        ...

    def tables(self) -> Iterator[Rows]:
        """Some tables with the published marginals."""
        ...

    def settled(self, margin: Mapping[str, int], cell: int, seconds: float) -> tuple[CountBounds, Sequence[Rows]]:
        """Bounds of one cell, sharp if that can be done in time, and tables that were found on the way.

        seconds: for programs; 0 for what takes no program.
        """
        ...


def knowledge(bounds: FrechetBounds) -> Knowledge:
    """What the marginals of a collection tell, decomposable or not."""
    return TreeKnowledge(bounds) if bounds.collection.is_decomposable else ProgramKnowledge.of(bounds)


@dataclass(frozen=True, eq=False)
class TreeKnowledge:
    """What the marginals of a decomposable collection tell."""

    source: FrechetBounds
    _glued: list[GluedTable] = field(default_factory=list)

    @property
    def domain(self) -> Domain:
        """The attributes with their hierarchies."""
        return self.source.domain

    @property
    def is_whole(self) -> bool:
        """It is."""
        return True

    def about(self, margin: Mapping[str, int]) -> Knowledge:  # noqa: ARG002
        """All of it."""
        return self

    def bounds(self, margin: Mapping[str, int]) -> tuple[CountArray, CountArray, bool]:
        """Frechet's."""
        found = self.source.of_margin(margin)
        return found.lower.ravel(), found.upper.ravel(), found.sharp

    def tables(self) -> Iterator[Rows]:
        """Glued along the junction tree, always the same."""
        for number in range(TABLES):
            if number == len(self._glued):
                self._glued.append(glued_table(self.source.trees[0], np.random.default_rng(number)))
            yield self._glued[number].rows

    def settled(self, margin: Mapping[str, int], cell: int, seconds: float) -> tuple[CountBounds, Sequence[Rows]]:
        """By flows where they are enough, else by tables that avoid the cell, or as a query is answered."""
        shape = [self.domain.hierarchy(a).size(level) for a, level in margin.items()]
        codes = np.unravel_index(cell, shape)
        box = {a: self.domain.hierarchy(a).lift(0, level) == code for (a, level), code in zip(margin.items(), codes)}
        asked = self.source.of_box(box)
        if (sharp := asked.chain_bounds()) is not None:
            return sharp, ()
        if seconds:
            return asked.bounds(seconds), ()
        avoided = {(self.domain.index(a), level): int(code) for (a, level), code in zip(margin.items(), codes)}
        glued = [glued_table(self.source.trees[0], np.random.default_rng(n), avoided).rows for n in range(_AVOIDING)]
        return asked.bounds(), glued


@dataclass(frozen=True, eq=False)
class ProgramKnowledge:
    """What the marginals of any collection tell, by linear and integer programs over the cells that can be occupied.

    cells: these, None where they are too many for a program.
    """

    source: FrechetBounds
    cells: PossibleCells | None
    is_whole: bool = True
    _found: list[Rows] = field(default_factory=list)

    @classmethod
    def of(cls, source: FrechetBounds, *, is_whole: bool = True) -> "ProgramKnowledge":
        """With all cells that can be occupied, if they are not too many."""
        try:
            return cls(source, possible_cells(source.collection, PROGRAM_CELLS), is_whole)
        except TooManyCellsError:
            return cls(source, None, is_whole)

    def about(self, margin: Mapping[str, int]) -> Knowledge:
        """Where the cells are too many, what the marginals say of the margin's attributes alone."""
        if self.cells is not None:
            return self
        collection = self.source.collection
        finest = {attribute: collection.finest_level(attribute) for attribute in margin}
        part = collection.within(self.domain.mask(finest))
        return ProgramKnowledge.of(FrechetBounds.of(part, self.source.deadline), is_whole=False)

    @property
    def domain(self) -> Domain:
        """The attributes with their hierarchies."""
        return self.source.domain

    def bounds(self, margin: Mapping[str, int]) -> tuple[CountArray, CountArray, bool]:
        """Frechet's, of parts of the collection that have a junction tree, and those propagated from cell to cell."""
        found = self.source.of_margin(margin)
        lower, upper = found.lower.ravel(), found.upper.ravel()
        if self.cells is not None:
            keys = self._keys(self.cells, margin)
            least, most = (np.zeros_like(lower) for _ in range(2))
            np.add.at(least, keys, self._propagated[0])
            np.add.at(most, keys, self._propagated[1])
            lower, upper = np.maximum(lower, least), np.minimum(upper, most)
            if np.any(lower > upper):
                raise ContradictionError("no table has these marginals")
        return lower, upper, found.sharp

    @cached_property
    def _propagated(self) -> tuple[CountArray, CountArray]:
        return (np.zeros(0, np.int64),) * 2 if self.cells is None else self.cells.propagated()

    def tables(self) -> Iterator[Rows]:
        """Those that programs have found so far, at least one if there is time for it."""
        if not self._found and self.cells is not None:
            nothing = np.zeros(len(self.cells), dtype=np.bool_)
            first = extreme_count(self.cells, nothing, 1, _FIRST_SECONDS, deadline=self.source.deadline).table
            self._found.extend([] if first is None else [self._rows(self.cells, first)])
        return iter(tuple(self._found))

    def settled(self, margin: Mapping[str, int], cell: int, seconds: float) -> tuple[CountBounds, Sequence[Rows]]:
        """By a program for the least count and one for the largest."""
        cells = self.cells
        if cells is None or not seconds:
            return CountBounds(0, self.source.collection.cube.total, sharp=False), ()
        inside = self._keys(cells, margin) == cell
        # Two programs each, and none goes on after the deadline of the whole.
        deadline = self.source.deadline
        least = extreme_count(cells, inside, -1, seconds / 2, deadline=deadline)
        most = extreme_count(cells, inside, 1, seconds / 2, deadline=deadline)
        found = [self._rows(cells, extreme.table) for extreme in (least, most) if extreme.table is not None]
        self._found.extend(found[: max(TABLES - len(self._found), 0)])
        lower, upper = ceil(least.bound - _WHOLE), floor(most.bound + _WHOLE)
        return CountBounds(lower, upper, least.attained and most.attained), found

    def _rows(self, cells: PossibleCells, table: FloatArray) -> Rows:
        def rows(margin: Mapping[str, int]) -> CountArray:
            size = self.domain.size(margin)
            return np.rint(np.bincount(self._keys(cells, margin), table, minlength=size)).astype(np.int64)

        return rows

    def _keys(self, cells: PossibleCells, margin: Mapping[str, int]) -> IndexArray:
        """The cell of a margin that each possible cell falls into; what no marginal shows is `*`."""
        keys: IndexArray = np.zeros(len(cells), dtype=np.intp)
        for attribute, level in margin.items():
            keys = keys * self.domain.hierarchy(attribute).size(level)
            if attribute in cells.margin:
                keys = keys + cells.coded_cells.column(attribute, level)
        return keys
