"""The possible cells of a clique, in a box of all combinations of values or in a list, and how beliefs in them sum up."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from math import prod
from typing import NamedTuple

import numpy as np

from models.arrays import BoolArray, CodeArray, FloatArray, IndexArray, smallest_code_dtype
from models.errors import ContradictionError, TooManyCellsError
from models.graphs.collection import Collection
from models.graphs.junction_tree import maximal_masks
from models.programs.possible_cells import possible_cells
from models.tables.coded_cells import CodedCells
from models.tables.domain import Domain
from models.tables.margin import Margin

SPARSE = 6
"""Combinations for each possible cell beyond which a list is kept: sums along axes are so much faster than sums by place."""

AXES = 32
"""Of a box: what every NumPy can have."""


class Projection(NamedTuple):
    """How beliefs in the cells of a clique sum to `size` sums, and how factors of these multiply the beliefs.

    axes: of the beliefs, summed first. places: for each sum that is left then, in C order, where it is added; None where
    each stays by itself. shape: of these, with length 1 along the axes.
    """

    axes: tuple[int, ...]
    places: IndexArray | None
    shape: tuple[int, ...]
    size: int


@dataclass(frozen=True, eq=False)
class ListedCells:
    """Cells in a list; beliefs in them have shape (cells,)."""

    cells: CodedCells

    @property
    def count(self) -> int:
        """How many they are."""
        return len(self.cells)

    def even(self) -> FloatArray:
        """The same belief in each."""
        return np.ones(len(self.cells))

    def onto(self, coarse: CodedCells) -> Projection:
        """Onto the cells of a table. Raises ContradictionError when a possible cell is in none of them."""
        return Projection((), self.cells.positions_in(coarse), (len(self.cells),), len(coarse) + 1)

    def onto_reached(self, coarse: CodedCells) -> Projection:
        """Onto the cells of a table, and one more sum, of all cells that it lacks."""
        places, is_reached = self.cells.look_up(coarse)
        return Projection((), np.where(is_reached, places, len(coarse)), (len(self.cells),), len(coarse) + 1)

    def onto_box(self, margin: Mapping[str, int]) -> Projection:
        """Onto all combinations of values of a margin."""
        columns, sizes = self.cells.columns(margin)
        places = np.zeros(len(self.cells), dtype=np.intp)
        for column, size in zip(columns, sizes):
            places = places * size + column
        return Projection((), places, (len(self.cells),), prod(sizes))

    def of_possible(self, beliefs: FloatArray) -> FloatArray:
        """The beliefs in `cells`: shape (cells,)."""
        return beliefs


@dataclass(frozen=True, eq=False)
class BoxedCells:
    """Cells in the box of all combinations; beliefs in them have this shape, and are 0 where a cell is not possible.

    An axis of so many values for each attribute of the margin, in the domain's order. patterns: arrays to be broadcast; a
    cell is possible where all are true.
    """

    domain: Domain
    margin: Margin
    shape: tuple[int, ...]
    patterns: tuple[BoolArray, ...]

    @cached_property
    def possible(self) -> BoolArray:
        """Which combinations are."""
        return reduce(np.logical_and, self.patterns, np.broadcast_to(np.True_, self.shape))

    @cached_property
    def count(self) -> int:
        """How many cells are possible."""
        return int(np.count_nonzero(self.possible)) if self.patterns else prod(self.shape)

    def even(self) -> FloatArray:
        """The same belief in each."""
        return self.possible.astype(np.float64)

    def onto(self, coarse: CodedCells) -> Projection:
        """Onto the cells of a table. Raises ContradictionError when a possible cell is in none of them."""
        axes, shape = self._kept(coarse.margin)
        if _has_all_cells(coarse, self.margin):
            return Projection(axes, None, shape, len(coarse))
        places = _lifted(coarse, self.margin, np.arange(len(coarse)), len(coarse))
        absent = (places == len(coarse)).reshape(-1)
        if absent.any() and (self.possible.any(axis=axes).reshape(-1) & absent).any():
            raise ContradictionError(f"the marginals {self.margin} and {coarse.margin} disagree on an empty cell")
        return Projection(axes, places.reshape(-1), shape, len(coarse) + 1)

    def onto_box(self, margin: Mapping[str, int]) -> Projection:
        """Onto all combinations of values of a margin."""
        axes, shape = self._kept(margin)
        return Projection(axes, None, shape, prod(shape))

    def _kept(self, margin: Mapping[str, int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The axes of attributes that a margin does not have, and the shape that is left when they are summed."""
        axes, shape = [], list(self.shape)
        for axis, attribute in enumerate(self.attributes):
            if attribute not in margin:
                axes.append(axis)
                shape[axis] = 1
        return tuple(axes), tuple(shape)

    @cached_property
    def attributes(self) -> list[str]:
        """The attribute of each axis."""
        return sorted(self.margin, key=self.domain.index)

    @property
    def cells(self) -> CodedCells:
        """The possible cells, in ascending order."""
        if self.patterns:
            columns: list[CodeArray] = list(np.nonzero(self.possible))
        else:  # much faster than to look for them
            columns = [_along(axis, self.shape) for axis in range(len(self.shape))]
        return CodedCells(self.domain, self.margin, dict(zip(self.attributes, columns)), len(columns[0]))

    def of_possible(self, beliefs: FloatArray) -> FloatArray:
        """The beliefs in `cells`: shape (cells,)."""
        return np.asarray(beliefs[self.possible] if self.patterns else beliefs.reshape(-1))


CliqueCells = ListedCells | BoxedCells


def clique_cells(collection: Collection, limit: int) -> CliqueCells:
    """The cells that a collection leaves possible, of all its attributes at their finest levels.

    Raises TooManyCellsError when they are more than `limit`, or a step towards them is.
    """
    domain = collection.domain
    parts = [collection.cube.table(mask).coded_cells for mask in maximal_masks(collection.masks)]
    parts += [support.cells for support in collection.supports]
    levels: dict[str, int] = {}
    for part in parts:
        for name, level in part.margin.items():
            levels[name] = min(level, levels.get(name, level))
    margin, names = Margin(levels), sorted(levels, key=domain.index)
    sizes = {name: domain.hierarchy(name).size(levels[name]) for name in names}
    whole = prod(sizes.values())
    sparse = [part for part in parts if not _has_all_cells(part, levels)]
    # Of each part's cells there are no more possible ones than with all combinations of the other values.
    bounds = [_refined(part, margin) * whole // prod(sizes[name] for name in part.margin) for part in sparse]
    if whole > SPARSE * min(*bounds, whole, limit) or len(margin) > AXES:
        return ListedCells(possible_cells(collection, limit).coded_cells)
    patterns = []
    for part in sparse:
        pattern = _lifted(part, margin, np.ones(len(part), dtype=np.bool_), False)
        if not pattern.all():
            patterns.append(pattern.reshape([size if name in part.margin else 1 for name, size in sizes.items()]))
    boxed = BoxedCells(domain, margin, tuple(sizes.values()), tuple(patterns))
    if boxed.count > limit:
        raise TooManyCellsError(f"the published cells that may be occupied are more than {limit}")
    return ListedCells(boxed.cells) if whole > SPARSE * boxed.count else boxed


def _along(axis: int, shape: Sequence[int]) -> CodeArray:
    """The index along an axis of each cell of a box, in C order, in the smallest dtype."""
    size = shape[axis]
    indices: CodeArray = np.empty(shape, dtype=smallest_code_dtype(size))
    indices[...] = np.arange(size, dtype=indices.dtype).reshape([size] + [1] * (len(shape) - 1 - axis))
    return indices.reshape(-1)


def _lifted(part: CodedCells, margin: Margin, values: np.ndarray, absent: int | bool) -> np.ndarray:
    """Values of a table's cells at all combinations of its attributes' values at the levels of a margin.

    absent: the value of a combination that is in no cell. One axis for each attribute of the table, in the domain's order.
    """
    columns, sizes = part.columns(part.margin)
    box = np.full(sizes, absent, dtype=values.dtype)
    box[tuple(columns)] = values
    names = sorted(part.margin, key=part.domain.index)
    lifts = [part.domain.hierarchy(name).lift(margin[name], part.margin[name]) for name in names]
    return box if all(margin[name] == part.margin[name] for name in names) else box[np.ix_(*lifts)]


def _has_all_cells(part: CodedCells, levels: Mapping[str, int]) -> bool:
    """Whether a table with distinct cells has all combinations of its attributes' values, at some levels."""
    return part.margin.items() <= levels.items() and part.are_all


def _refined(part: CodedCells, margin: Margin) -> int:
    """At most so many cells has a table at the levels of a margin: as many as its largest values hold."""
    return len(part) * prod(
        int(np.bincount(part.domain.hierarchy(name).lift(margin[name], level)).max(initial=1))
        for name, level in part.margin.items()
        if level > margin[name]
    )
