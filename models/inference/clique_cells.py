"""The possible cells of a clique, in a box of all combinations of values or in a list, and how beliefs in them sum up."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce
from math import prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from models.arrays import BoolArray, CodeArray, FloatArray, IndexArray, smallest_code_dtype
from models.errors import ContradictionError, TooManyCellsError
from models.graphs.junction_tree import Collection, maximal_masks
from models.programs.consistent_tables import possible_cells
from models.tables.contingency_table import CodedCells
from models.tables.hierarchy import Domain, Margin

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


# Operations on arrays that stay in their places, prepared once and done again and again.
#
# A sweep of a fit does the same to the same arrays as the one before. With few cells most of its time would go into
# finding out what that is, so that each view, axis and buffer is looked for once, and scripts tell what is done with
# them.


Script: TypeAlias = list[tuple[Callable[..., object], tuple[Any, ...]]]
"""Functions with their arguments, into one of which each writes; to be called in this order.

What adds to a script returns the array that holds what it should once the script is done, each time.
"""

_LEAST = np.array(1e-280)
"""Is added to what is divided by, which is 0 where all beliefs are: too little to change another sum, and enough for rows
divided by it to stay finite. An array, which operations take sooner than a number.
"""
_ONE = np.ones(())


class Buffers(dict[tuple[int, int | tuple[int, ...]], FloatArray]):
    """Arrays by the place in a script at which they are written first, and by their shape; other scripts write there too."""

    def __missing__(self, key: tuple[int, int | tuple[int, ...]]) -> FloatArray:
        return self.setdefault(key, np.empty(key[1]))


def do(script: Script) -> None:
    """Do the operations of a script in their order."""
    for operation, arguments in script:
        operation(*arguments)


def reshaped(array: FloatArray, shape: int | tuple[int, ...], script: Script, buffers: Buffers) -> FloatArray:
    """An array in another shape, in C order: a view where there is one, else a copy."""
    other = array.reshape(shape)
    if array.flags.c_contiguous or np.may_share_memory(other, array):
        return other
    copied = buffers[len(script), array.shape]
    script.append((np.copyto, (copied, array)))
    return copied.reshape(shape)


def gathered(numbers: FloatArray, places: IndexArray, size: int, script: Script, buffers: Buffers) -> FloatArray:
    """Numbers in an array with one axis, added up by their places among so many."""
    sums = buffers[len(script), size]
    script.append((_gather, (places, numbers, sums)))
    return sums


def spread(factors: FloatArray, places: IndexArray, script: Script, buffers: Buffers) -> FloatArray:
    """For each of some places the factor there."""
    taken = buffers[-1, len(places)]  # the same for all scripts: nothing else is needed when it is
    script.append((factors.take, (places, None, taken, "clip")))
    return taken


def divided(dividend: FloatArray, divisor: FloatArray, script: Script) -> FloatArray:
    """Each number by another, none negative; some finite number where that is 0."""
    quotient = np.empty(len(divisor))
    script += [(np.add, (divisor, _LEAST, quotient)), (np.divide, (dividend, quotient, quotient))]
    return quotient


def reciprocals(numbers: FloatArray, size: int, script: Script) -> FloatArray:
    """1 by each number, none negative; then zeros, so that they are so many."""
    quotients = np.zeros(size)
    buffer = quotients[: len(numbers)]
    script += [(np.add, (numbers, _LEAST, buffer)), (np.divide, (_ONE, buffer, buffer))]
    return quotients


def _gather(places: IndexArray, numbers: FloatArray, sums: FloatArray) -> None:
    sums[...] = np.bincount(places, numbers, minlength=len(sums))


# How a product of factors is summed over some axes: axis after axis, by matrix products where two factors share one.
#
# That is the elimination of variables (Dechter, Bucket elimination, 1999). Of three pairs of n values it takes n^3
# operations of a processor's fastest kind, and no array with n^3 cells is ever written.


_PLANS = 1 << 10
"""Of sums, which are remembered: many cliques of a tree are alike."""

STEP, CELL, PRODUCT = 400.0, 1.0, 1 / 30
"""Work of each operation on arrays, of each of its cells, and of each product that a matrix product sums."""

Axes: TypeAlias = frozenset[int]
"""Axes of a box of cells."""


@dataclass(frozen=True, eq=False)
class SumPlan:
    """How factors are summed over some axes. home: a factor that depends on all others. steps: each puts what becomes of one
    or two of the arrays in the place of the first.
    """

    home: int
    steps: tuple["_Sum | _Product | _Join", ...]
    work: float

    @classmethod
    @lru_cache(_PLANS)
    def of(cls, scopes: tuple[Axes, ...], summed: tuple[int, ...], shape: tuple[int, ...]) -> "SumPlan":
        """Axes are eliminated one after the other, that first which is the least work."""
        remaining = dict(enumerate(scopes))
        waiting = set(summed)
        home = home_of(scopes, frozenset(range(len(shape))) - waiting)
        steps: list[_Sum | _Product | _Join] = []
        while waiting:
            axis = min(
                waiting, key=lambda axis: (_size(frozenset().union(*_with(remaining, axis).values()), shape), axis)
            )
            holders = sorted(_with(remaining, axis), key=lambda i: (_size(remaining[i], shape), i))
            while len(holders) > 2:
                one, other, *rest = holders
                steps.append(_Product.of(one, other, remaining[one] | remaining[other], shape))
                remaining[one] |= remaining.pop(other)
                holders = sorted([one, *rest], key=lambda i: (_size(remaining[i], shape), i))
            gone = {i for i in waiting if set(_with(remaining, i)) <= set(holders)}
            waiting -= gone
            for holder in holders:
                others = frozenset().union(*(remaining[i] for i in holders if i != holder))
                axes_alone = frozenset(gone & remaining[holder]) - others
                if axes_alone:
                    steps.append(_Sum.of(holder, axes_alone, remaining[holder], shape))
                    remaining[holder] -= axes_alone
            if len(holders) == 2 and (shared := frozenset(gone) & remaining[holders[0]] & remaining[holders[1]]):
                one, other = holders
                steps.append(_Join.of(one, other, remaining[one], remaining[other], shared, shape))
                remaining[one] = (remaining[one] | remaining.pop(other)) - shared
        first, *rest = remaining
        for other in rest:
            steps.append(_Product.of(first, other, remaining[first] | remaining[other], shape))
            remaining[first] |= remaining[other]
        return cls(home, tuple(steps), sum(step.work for step in steps))

    def sums(self, factors: Sequence[FloatArray], script: Script, buffers: Buffers) -> FloatArray:
        """What the product of factors sums to, in C order of the axes that are left: an array with one axis."""
        arrays, last = dict(enumerate(factors)), 0
        for step in self.steps:
            last = step.one
            arrays[last] = step.added(arrays, script, buffers)
        return reshaped(arrays[last], -1, script, buffers)


@dataclass(frozen=True)
class _Sum:
    """Sum one array over some of its axes. shape: of what is left."""

    one: int
    axes: tuple[int, ...]
    shape: tuple[int, ...]
    work: float

    @classmethod
    def of(cls, one: int, summed: Axes, axes: Axes, shape: Sequence[int]) -> "_Sum":
        """Of an array that depends on some axes."""
        return cls(one, tuple(sorted(summed)), _shape(axes - summed, shape), STEP + CELL * _size(axes, shape))

    def added(self, arrays: Mapping[int, FloatArray], script: Script, buffers: Buffers) -> FloatArray:
        """Where its sum is once a script is done."""
        sums = buffers[len(script), self.shape]
        script.append((np.add.reduce, (arrays[self.one], self.axes, None, sums, True)))
        return sums


@dataclass(frozen=True)
class _Product:
    """Multiply two arrays. shape: of the product."""

    one: int
    other: int
    shape: tuple[int, ...]
    work: float

    @classmethod
    def of(cls, one: int, other: int, both: Axes, shape: Sequence[int]) -> "_Product":
        """Of two arrays that depend on these axes."""
        return cls(one, other, _shape(both, shape), STEP + CELL * _size(both, shape))

    def added(self, arrays: Mapping[int, FloatArray], script: Script, buffers: Buffers) -> FloatArray:
        """Where the product is once a script is done."""
        product = buffers[len(script), self.shape]
        script.append((np.multiply, (arrays[self.one], arrays[self.other], product)))
        return product


@dataclass(frozen=True)
class _Join:
    """Multiply two arrays and sum the product over axes of both: a matrix product, for all values of the other shared axes.

    Each array is transposed, then reshaped; what comes out is reshaped, then transposed.
    """

    one: int
    other: int
    left: tuple[tuple[int, ...], tuple[int, ...]]
    right: tuple[tuple[int, ...], tuple[int, ...]]
    back: tuple[tuple[int, ...], tuple[int, ...]]
    work: float

    @classmethod
    def of(cls, one: int, other: int, first: Axes, second: Axes, summed: Axes, shape: Sequence[int]) -> "_Join":
        """Of two arrays that depend on these axes."""
        both, rows, columns = sorted((first & second) - summed), sorted(first - second), sorted(second - first)
        inner, every = sorted(summed), range(len(shape))

        def ordered(*axes: Sequence[int]) -> tuple[int, ...]:
            ordered_axes = [axis for axis_group in axes for axis in axis_group]
            return (*ordered_axes, *(axis for axis in every if axis not in ordered_axes))

        sizes = [prod(shape[axis] for axis in axis_group) for axis_group in (both, rows, inner, columns)]
        shared = sizes[:1] if both else []
        order = ordered(both, rows, columns)
        result = {*both, *rows, *columns}
        work = (
            STEP
            + CELL * (_size(first, shape) + _size(second, shape) + _size(frozenset(result), shape))
            + PRODUCT * prod(sizes)
        )
        return cls(
            one,
            other,
            (ordered(both, rows, inner), (*shared, sizes[1], sizes[2])),
            (ordered(both, inner, columns), (*shared, sizes[2], sizes[3])),
            (tuple(shape[axis] if axis in result else 1 for axis in order), tuple(np.argsort(order).tolist())),
            work,
        )

    def added(self, arrays: Mapping[int, FloatArray], script: Script, buffers: Buffers) -> FloatArray:
        """Where the summed product is once a script is done."""
        (order, shape), (other_order, other_shape), (product_shape, back) = self.left, self.right, self.back
        reshaped_one = reshaped(arrays[self.one].transpose(order), shape, script, buffers)
        right = reshaped(arrays[self.other].transpose(other_order), other_shape, script, buffers)
        product = buffers[len(script), (*shape[:-1], other_shape[-1])]
        # Of two axes each, `dot` is the same, and sooner begun.
        script.append(
            (reshaped_one.dot, (right, product)) if len(shape) == 2 else (np.matmul, (reshaped_one, right, product))
        )
        return product.reshape(product_shape).transpose(back)


def home_of(scopes: Sequence[Axes], axes: Axes) -> int:
    """The first of some scopes that holds these axes."""
    return next(i for i, scope in enumerate(scopes) if axes <= scope)


def _with(scopes: Mapping[int, Axes], axis: int) -> dict[int, Axes]:
    """Those that hold an axis."""
    return {i: scope for i, scope in scopes.items() if axis in scope}


def _size(axes: Iterable[int], shape: Sequence[int]) -> int:
    return prod(shape[axis] for axis in axes)


def _shape(axes: Axes, shape: Sequence[int]) -> tuple[int, ...]:
    """With length 1 along all other axes."""
    return tuple(size if axis in axes else 1 for axis, size in enumerate(shape))
