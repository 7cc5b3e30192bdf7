"""How many entries of a dictionary are consistent with each of some records, for one level vector after the other.

The cells of records and entries at a level vector are made of those at a finer one, which are few already: so a walk
through all level vectors costs little more than looking up, for each, the count of every record's cell.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from checks.risk.dictionary import Dictionary, DictionaryPart
from checks.risk.record import Records, RecordSpace
from models.arrays import CodeArray, CountArray, IndexArray
from models.tables.mixed_radix import group, pack


@dataclass(frozen=True, eq=False)
class _Cells:
    """Records and entries that agree in all attributes at some levels, put together.

    levels: by attribute. columns: of the attributes that are told, codes at their levels, shape (cells,) each. counts:
    of entries by cell. cell_of: for each record the number of its cell.
    """

    levels: tuple[int, ...]
    columns: tuple[CodeArray, ...]
    counts: CountArray
    cell_of: IndexArray


class RolledCounts:
    """The counts of some records that all have the same levels, best asked for level vectors in ascending order.

    Raises DomainMismatchError through records of another space than the dictionary's.
    """

    def __init__(self, records: Records, levels: IndexArray, dictionary: Dictionary) -> None:
        self._parts = [_Walk(records, levels, part) for part in dictionary.parts]
        self._length = len(records)

    def at(self, levels: Sequence[int]) -> CountArray:
        """How many entries are consistent with each record at a level vector: shape (records,)."""
        if len(self._parts) == 1:
            return self._parts[0].at(levels)
        return np.asarray(sum((part.at(levels) for part in self._parts), np.zeros(self._length, dtype=np.int64)))


class _Walk:
    """The way from the finest cells of one part to those last asked for: the cells after each attribute was rolled up."""

    def __init__(self, records: Records, levels: IndexArray, part: DictionaryPart) -> None:
        self._space = records.space
        self._finest = np.maximum(levels, part.levels)
        self._axes = np.flatnonzero(self._finest < self._space.heights).tolist()
        self._path = [_finest_cells(records, part, self._finest.tolist(), self._axes)]

    def at(self, levels: Sequence[int]) -> CountArray:
        """How many entries of the part are consistent with each record at a level vector."""
        wanted = np.maximum(self._finest, levels).tolist()
        for place, axis in enumerate(self._axes):
            reached = self._path[place + 1] if place + 1 < len(self._path) else None
            if reached is not None and reached.levels[axis] == wanted[axis]:
                continue
            below = reached if reached is not None and reached.levels[axis] < wanted[axis] else self._path[place]
            del self._path[place + 1 :]
            self._path.append(_rolled_up(self._space, below, place, axis, wanted[axis], self._axes))
        cells = self._path[-1]
        return cells.counts[cells.cell_of]


def _finest_cells(records: Records, part: DictionaryPart, levels: list[int], axes: Sequence[int]) -> _Cells:
    space = records.space
    columns, radices = [], []
    for axis in axes:
        level = levels[axis]
        above = (space.ancestors[axis][level] - space.taxonomies[axis].offsets[level]).astype(np.int32)
        columns.append(np.concatenate([above[records.nodes[:, axis]], above[part.columns[axis]]]))
        radices.append(space.domain.hierarchies[axis].size(level))
    first, number = group(*pack(columns, radices, len(records) + len(part.counts)))
    held = np.bincount(number[len(records) :], part.counts, minlength=len(first)).astype(np.int64)
    return _Cells(tuple(levels), tuple(column[first] for column in columns), held, number[: len(records)])


def _rolled_up(space: RecordSpace, cells: _Cells, place: int, axis: int, level: int, axes: Sequence[int]) -> _Cells:
    """The cells with one attribute, the one told at this place, at a coarser level."""
    before = cells.levels[axis]
    if level == before:
        return cells
    levels = tuple(level if other == axis else own for other, own in enumerate(cells.levels))
    lifted = space.domain.hierarchies[axis].lift(before, level).astype(np.int32)[cells.columns[place]]
    columns = (*cells.columns[:place], lifted, *cells.columns[place + 1 :])
    radices = [space.domain.hierarchies[other].size(levels[other]) for other in axes]
    first, number = group(*pack(columns, radices, len(cells.counts)))
    if len(first) == len(cells.counts):
        return replace(cells, levels=levels, columns=columns)
    counts = np.bincount(number, cells.counts, minlength=len(first)).astype(np.int64)
    return _Cells(levels, tuple(column[first] for column in columns), counts, number[cells.cell_of])
