"""Beliefs in the cells of a clique, as one array or as a product of factors, and how they are summed and multiplied.

Fitting multiplies beliefs by factors of margins, so in a box they are the product of a factor for each margin, and the sums
that a margin is fitted to are sums of products: matrix products where two factors share what is summed over, as in the
elimination of variables (Dechter, Bucket elimination, 1999). Of three pairs of n values that takes n^3 operations of a
processor's fastest kind, and no array with n^3 cells is ever written.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from math import prod
from operator import mul
from typing import Protocol, TypeAlias

import numpy as np

from models.arrays import FloatArray
from models.inference.fitting.clique_cells import BoxedCells, CliqueCells, Projection

_PLANS = 1 << 10
"""Of sums, which are remembered: many cliques of a tree are alike."""

_STEP, _CELL, _PRODUCT = 1_500.0, 1.0, 1 / 30
"""Nanoseconds, about, of each operation on arrays, of each of its cells, and of each product that a matrix product sums."""

_FEWEST = 2
"""Operations that any sum of a product takes."""

Axes: TypeAlias = frozenset[int]
"""Axes of a box of cells."""


class Beliefs(Protocol):
    """A nonnegative number for each cell of a clique."""

    def sums(self, projection: Projection) -> FloatArray:
        """What they sum to: shape (size of the projection,)."""

    def multiply(self, projection: Projection, factors: FloatArray) -> None:
        """Multiply each by the factor of the sum that it is in. factors: as for `Projection.spread`."""

    def scale(self, factor: float) -> None:
        """Multiply all."""

    def total(self) -> float:
        """Their sum."""

    def array(self) -> FloatArray:
        """All of them, in the shape of the cells."""


def beliefs_in(cells: CliqueCells, projections: Sequence[Projection]) -> Beliefs:
    """The same belief in each cell, in the form in which sums by these projections take the least time.

    Nothing else may be asked of a product: it has no room for other factors.
    """
    if isinstance(cells, BoxedCells) and (whole := _STEP + _CELL * prod(cells.shape)) > _FEWEST * _STEP:
        product = FactoredBeliefs.of(cells, projections)
        if sum(product.nanoseconds(projection) for projection in projections) < whole * len(projections):
            return product
    return ArrayBeliefs(cells.even())


@dataclass(frozen=True, eq=False)
class ArrayBeliefs:
    """One number for each cell."""

    beliefs: FloatArray

    def sums(self, projection: Projection) -> FloatArray:
        """What they sum to."""
        return projection.sums(self.beliefs)

    def multiply(self, projection: Projection, factors: FloatArray) -> None:
        """Multiply each by the factor of the sum that it is in."""
        np.multiply(self.beliefs, projection.spread(factors), out=self.beliefs)

    def scale(self, factor: float) -> None:
        """Multiply all."""
        np.multiply(self.beliefs, factor, out=self.beliefs)

    def total(self) -> float:
        """Their sum."""
        return float(self.beliefs.sum())

    def array(self) -> FloatArray:
        """All of them."""
        return self.beliefs


@dataclass(frozen=True, eq=False)
class FactoredBeliefs:
    """The product of some factors, each an array with length 1 along the axes on which it does not depend.

    factors: none depends on axes of another alone. plans: how sums are made of them, by the axes that are summed over. A
    factor may leave the range of floating point though no belief does: `np.errstate` tells.
    """

    shape: tuple[int, ...]
    factors: list[FloatArray]
    scopes: tuple[Axes, ...]
    plans: Mapping[tuple[int, ...], "_Plan"]

    @classmethod
    def of(cls, cells: BoxedCells, projections: Iterable[Projection]) -> "FactoredBeliefs":
        """The same belief in each possible cell; to be summed and multiplied by these projections."""
        shape = cells.shape
        everything = tuple(range(len(shape)))
        summed = {everything, *(projection.axes for projection in projections)}
        asked = [frozenset(everything) - frozenset(axes) for axes in summed]
        patterns = [frozenset(i for i, size in enumerate(own.shape) if size > 1) for own in cells.patterns]
        scopes = tuple(sorted(_maximal([*asked, *patterns]), key=sorted))
        factors = [np.ones([size if i in own else 1 for i, size in enumerate(shape)]) for own in scopes]
        for pattern, own in zip(cells.patterns, patterns):
            factors[_home(scopes, own)] *= pattern
        return cls(shape, factors, scopes, {axes: _Plan.of(scopes, axes, shape) for axes in summed})

    def nanoseconds(self, projection: Projection) -> float:
        """About how long it takes to sum them."""
        return self.plans[projection.axes].nanoseconds

    def sums(self, projection: Projection) -> FloatArray:
        """What they sum to."""
        return projection.gathered(self.plans[projection.axes].sums(self.factors))

    def multiply(self, projection: Projection, factors: FloatArray) -> None:
        """Multiply each by the factor of the sum that it is in."""
        self.factors[self.plans[projection.axes].home] *= projection.spread(factors)

    def scale(self, factor: float) -> None:
        """Multiply all."""
        self.factors[0] *= factor

    def total(self) -> float:
        """Their sum."""
        return float(self.plans[tuple(range(len(self.shape)))].sums(self.factors).sum())

    def array(self) -> FloatArray:
        """All of them."""
        product = reduce(mul, self.factors)
        return product if product.shape == self.shape else np.broadcast_to(product, self.shape).copy()


@dataclass(frozen=True, eq=False)
class _Plan:
    """How factors are summed over some axes. home: a factor that depends on all others. steps: each puts what becomes of one
    or two of the arrays in the place of the first.
    """

    home: int
    steps: tuple["_Sum | _Product | _Join", ...]
    nanoseconds: float

    @classmethod
    @lru_cache(_PLANS)
    def of(cls, scopes: tuple[Axes, ...], summed: tuple[int, ...], shape: tuple[int, ...]) -> "_Plan":
        """Axes are eliminated one after the other, that first which takes the least time."""
        left = dict(enumerate(scopes))
        waiting = set(summed)
        home = _home(scopes, frozenset(range(len(shape))) - waiting)
        steps: list[_Sum | _Product | _Join] = []
        while waiting:
            axis = min(waiting, key=lambda axis: (_size(frozenset().union(*_with(left, axis).values()), shape), axis))
            holders = sorted(_with(left, axis), key=lambda i: (_size(left[i], shape), i))
            while len(holders) > 2:
                one, other, *rest = holders
                steps.append(_Product(one, other, _size(left[one] | left[other], shape)))
                left[one] |= left.pop(other)
                holders = sorted([one, *rest], key=lambda i: (_size(left[i], shape), i))
            gone = {i for i in waiting if set(_with(left, i)) <= set(holders)}
            waiting -= gone
            for holder in holders:
                others = frozenset().union(*(left[i] for i in holders if i != holder))
                own = frozenset(gone & left[holder]) - others
                if own:
                    steps.append(_Sum(holder, tuple(sorted(own)), _size(left[holder], shape)))
                    left[holder] -= own
            if len(holders) == 2 and (shared := frozenset(gone) & left[holders[0]] & left[holders[1]]):
                one, other = holders
                steps.append(_Join.of(one, other, left[one], left[other], shared, shape))
                left[one] = (left[one] | left.pop(other)) - shared
        first, *rest = left
        for other in rest:
            steps.append(_Product(first, other, _size(left[first] | left[other], shape)))
            left[first] |= left[other]
        return cls(home, tuple(steps), sum(step.nanoseconds for step in steps))

    def sums(self, factors: Sequence[FloatArray]) -> FloatArray:
        """What the product sums to, in C order of the axes that are left."""
        arrays = dict(enumerate(factors))
        last = arrays[0]
        for step in self.steps:
            last = step(arrays)
        return last.reshape(-1)


@dataclass(frozen=True)
class _Sum:
    """Sum one array over some of its axes."""

    one: int
    axes: tuple[int, ...]
    cells: int

    @property
    def nanoseconds(self) -> float:
        return _STEP + _CELL * self.cells

    def __call__(self, arrays: dict[int, FloatArray]) -> FloatArray:
        arrays[self.one] = arrays[self.one].sum(axis=self.axes, keepdims=True)
        return arrays[self.one]


@dataclass(frozen=True)
class _Product:
    """Multiply two arrays."""

    one: int
    other: int
    cells: int

    @property
    def nanoseconds(self) -> float:
        return _STEP + _CELL * self.cells

    def __call__(self, arrays: dict[int, FloatArray]) -> FloatArray:
        arrays[self.one] = arrays[self.one] * arrays[self.other]
        return arrays[self.one]


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
    nanoseconds: float

    @classmethod
    def of(cls, one: int, other: int, first: Axes, second: Axes, summed: Axes, shape: Sequence[int]) -> "_Join":
        """Of two arrays that depend on these axes."""
        both, rows, columns = sorted((first & second) - summed), sorted(first - second), sorted(second - first)
        inner, every = sorted(summed), range(len(shape))

        def ordered(*axes: Sequence[int]) -> tuple[int, ...]:
            shown = [axis for own in axes for axis in own]
            return (*shown, *(axis for axis in every if axis not in shown))

        sizes = [prod(shape[axis] for axis in own) for own in (both, rows, inner, columns)]
        shared = sizes[:1] if both else []
        order = ordered(both, rows, columns)
        found = {*both, *rows, *columns}
        nanoseconds = (
            _STEP
            + _CELL * (_size(first, shape) + _size(second, shape) + _size(frozenset(found), shape))
            + _PRODUCT * prod(sizes)
        )
        return cls(
            one,
            other,
            (ordered(both, rows, inner), (*shared, sizes[1], sizes[2])),
            (ordered(both, inner, columns), (*shared, sizes[2], sizes[3])),
            (tuple(shape[axis] if axis in found else 1 for axis in order), tuple(np.argsort(order).tolist())),
            nanoseconds,
        )

    def __call__(self, arrays: dict[int, FloatArray]) -> FloatArray:
        (order, shape), (other_order, other_shape), (found, back) = self.left, self.right, self.back
        left = arrays[self.one].transpose(order).reshape(shape)
        right = arrays[self.other].transpose(other_order).reshape(other_shape)
        arrays[self.one] = (left @ right).reshape(found).transpose(back)
        return arrays[self.one]


def _maximal(scopes: Iterable[Axes]) -> set[Axes]:
    distinct = set(scopes)
    return {own for own in distinct if not any(own < other for other in distinct)}


def _home(scopes: Sequence[Axes], axes: Axes) -> int:
    """The first of some scopes that holds these axes."""
    return next(i for i, own in enumerate(scopes) if axes <= own)


def _with(scopes: Mapping[int, Axes], axis: int) -> dict[int, Axes]:
    """Those that hold an axis."""
    return {i: own for i, own in scopes.items() if axis in own}


def _size(axes: Iterable[int], shape: Sequence[int]) -> int:
    return prod(shape[axis] for axis in axes)
