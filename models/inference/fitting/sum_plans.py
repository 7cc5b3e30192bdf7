"""How a product of factors is summed over some axes: axis after axis, by matrix products where two factors share one.

That is the elimination of variables (Dechter, Bucket elimination, 1999). Of three pairs of n values it takes n^3 operations
of a processor's fastest kind, and no array with n^3 cells is ever written.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import TypeAlias

import numpy as np

from models.arrays import FloatArray
from models.inference.fitting.operations import Buffers, Script, reshaped

_PLANS = 1 << 10
"""Of sums, which are remembered: many cliques of a tree are alike."""

STEP, CELL, PRODUCT = 400.0, 1.0, 1 / 30
"""Nanoseconds, about, of each operation on arrays, of each of its cells, and of each product that a matrix product sums."""

Axes: TypeAlias = frozenset[int]
"""Axes of a box of cells."""


@dataclass(frozen=True, eq=False)
class SumPlan:
    """How factors are summed over some axes. home: a factor that depends on all others. steps: each puts what becomes of one
    or two of the arrays in the place of the first.
    """

    home: int
    steps: tuple["_Sum | _Product | _Join", ...]
    nanoseconds: float

    @classmethod
    @lru_cache(_PLANS)
    def of(cls, scopes: tuple[Axes, ...], summed: tuple[int, ...], shape: tuple[int, ...]) -> "SumPlan":
        """Axes are eliminated one after the other, that first which takes the least time."""
        left = dict(enumerate(scopes))
        waiting = set(summed)
        home = home_of(scopes, frozenset(range(len(shape))) - waiting)
        steps: list[_Sum | _Product | _Join] = []
        while waiting:
            axis = min(waiting, key=lambda axis: (_size(frozenset().union(*_with(left, axis).values()), shape), axis))
            holders = sorted(_with(left, axis), key=lambda i: (_size(left[i], shape), i))
            while len(holders) > 2:
                one, other, *rest = holders
                steps.append(_Product.of(one, other, left[one] | left[other], shape))
                left[one] |= left.pop(other)
                holders = sorted([one, *rest], key=lambda i: (_size(left[i], shape), i))
            gone = {i for i in waiting if set(_with(left, i)) <= set(holders)}
            waiting -= gone
            for holder in holders:
                others = frozenset().union(*(left[i] for i in holders if i != holder))
                own = frozenset(gone & left[holder]) - others
                if own:
                    steps.append(_Sum.of(holder, own, left[holder], shape))
                    left[holder] -= own
            if len(holders) == 2 and (shared := frozenset(gone) & left[holders[0]] & left[holders[1]]):
                one, other = holders
                steps.append(_Join.of(one, other, left[one], left[other], shared, shape))
                left[one] = (left[one] | left.pop(other)) - shared
        first, *rest = left
        for other in rest:
            steps.append(_Product.of(first, other, left[first] | left[other], shape))
            left[first] |= left[other]
        return cls(home, tuple(steps), sum(step.nanoseconds for step in steps))

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
    nanoseconds: float

    @classmethod
    def of(cls, one: int, summed: Axes, own: Axes, shape: Sequence[int]) -> "_Sum":
        """Of an array that depends on some axes."""
        return cls(one, tuple(sorted(summed)), _shape(own - summed, shape), STEP + CELL * _size(own, shape))

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
    nanoseconds: float

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
            STEP
            + CELL * (_size(first, shape) + _size(second, shape) + _size(frozenset(found), shape))
            + PRODUCT * prod(sizes)
        )
        return cls(
            one,
            other,
            (ordered(both, rows, inner), (*shared, sizes[1], sizes[2])),
            (ordered(both, inner, columns), (*shared, sizes[2], sizes[3])),
            (tuple(shape[axis] if axis in found else 1 for axis in order), tuple(np.argsort(order).tolist())),
            nanoseconds,
        )

    def added(self, arrays: Mapping[int, FloatArray], script: Script, buffers: Buffers) -> FloatArray:
        """Where the summed product is once a script is done."""
        (order, shape), (other_order, other_shape), (found, back) = self.left, self.right, self.back
        left = reshaped(arrays[self.one].transpose(order), shape, script, buffers)
        right = reshaped(arrays[self.other].transpose(other_order), other_shape, script, buffers)
        product = buffers[len(script), (*shape[:-1], other_shape[-1])]
        # Of two axes each, `dot` is the same, and sooner begun.
        script.append((left.dot, (right, product)) if len(shape) == 2 else (np.matmul, (left, right, product)))
        return product.reshape(found).transpose(back)


def home_of(scopes: Sequence[Axes], axes: Axes) -> int:
    """The first of some scopes that holds these axes."""
    return next(i for i, own in enumerate(scopes) if axes <= own)


def _with(scopes: Mapping[int, Axes], axis: int) -> dict[int, Axes]:
    """Those that hold an axis."""
    return {i: own for i, own in scopes.items() if axis in own}


def _size(axes: Iterable[int], shape: Sequence[int]) -> int:
    return prod(shape[axis] for axis in axes)


def _shape(axes: Axes, shape: Sequence[int]) -> tuple[int, ...]:
    """With length 1 along all other axes."""
    return tuple(size if axis in axes else 1 for axis, size in enumerate(shape))
