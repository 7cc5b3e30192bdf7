"""Beliefs in the cells of a clique, as one array or as a product of factors, and how they are summed and multiplied.

Fitting multiplies beliefs by factors of margins, so in a box they are the product of a factor for each margin, and no array
with a number for each cell need ever be written.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import prod
from typing import Protocol

import numpy as np

from models.arrays import FloatArray
from models.inference.fitting.clique_cells import BoxedCells, CliqueCells, Projection
from models.inference.fitting.operations import Buffers, Script, do, gathered, reciprocals, spread
from models.inference.fitting.sum_plans import CELL, STEP, Axes, SumPlan, home_of

_LAYOUTS = 1 << 10
"""Of products, which are remembered: many cliques of a tree are alike."""

_FEWEST = 2
"""Operations that any sum of a product takes."""


class Beliefs(Protocol):
    """A nonnegative number for each cell of a clique. They stay in the arrays that they are in, and scripts change them."""

    def sums(self, projection: Projection, script: Script) -> FloatArray:
        """What they sum to: shape (size of the projection,). It holds until others' sums are looked for or they change."""

    def multiply(self, projection: Projection, factors: FloatArray, script: Script) -> None:
        """Let a script multiply each by the factor of the sum that it is in. factors: shape (size of the projection,)."""

    def divide(self, projection: Projection, shares: FloatArray, script: Script) -> None:
        """Let a script divide each by the share of the sum that it is in; those become 0 that are in sums without one.

        shares: shape (size of the projection,), or shorter.
        """

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
    if isinstance(cells, BoxedCells) and (whole := STEP + 2 * CELL * prod(cells.shape)) > _FEWEST * STEP:
        layout = Layout.among(cells, projections)
        if sum(layout.plan(projection.axes).nanoseconds for projection in projections) < whole * len(projections):
            return FactoredBeliefs.of(cells, layout)
    return ArrayBeliefs(cells.even())


@dataclass(frozen=True, eq=False)
class ArrayBeliefs:
    """One number for each cell."""

    beliefs: FloatArray
    buffers: Buffers = field(default_factory=Buffers)

    def sums(self, projection: Projection, script: Script) -> FloatArray:
        """What they sum to."""
        left = self.beliefs
        if projection.axes:
            kept = tuple([size for axis, size in enumerate(self.beliefs.shape) if axis not in projection.axes])
            left = self.buffers[len(script), kept]
            script.append((np.add.reduce, (self.beliefs, projection.axes, None, left)))
        left = left.reshape(-1)
        if projection.places is None:
            return left
        return gathered(left, projection.places, projection.size, script, self.buffers)

    def multiply(self, projection: Projection, factors: FloatArray, script: Script) -> None:
        """Let a script multiply each by the factor of the sum that it is in."""
        each = factors if projection.places is None else spread(factors, projection.places, script, self.buffers)
        script.append((np.multiply, (self.beliefs, each.reshape(projection.shape), self.beliefs)))

    def divide(self, projection: Projection, shares: FloatArray, script: Script) -> None:
        """Let a script divide each by the share of the sum that it is in."""
        self.multiply(projection, reciprocals(shares, projection.size, script), script)

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

    A factor may leave the range of floating point though no belief does, or be divided by 0: `np.errstate` tells.
    """

    layout: "Layout"
    factors: tuple[FloatArray, ...]
    buffers: Buffers = field(default_factory=Buffers)

    @classmethod
    def of(cls, cells: BoxedCells, layout: "Layout") -> "FactoredBeliefs":
        """The same belief in each possible cell."""
        factors = []
        for shape in layout.shapes:
            factors.append(np.empty(shape))
            factors[-1].fill(1.0)
        for pattern in cells.patterns:
            factors[home_of(layout.scopes, _axes(pattern.shape))] *= pattern
        return cls(layout, tuple(factors))

    def sums(self, projection: Projection, script: Script) -> FloatArray:
        """What they sum to."""
        left = self.layout.plan(projection.axes).sums(self.factors, script, self.buffers)
        if projection.places is None:
            return left
        return gathered(left, projection.places, projection.size, script, self.buffers)

    def multiply(self, projection: Projection, factors: FloatArray, script: Script) -> None:
        """Let a script multiply each by the factor of the sum that it is in."""
        home = self.factors[self.layout.plan(projection.axes).home]
        each = factors if projection.places is None else spread(factors, projection.places, script, self.buffers)
        script.append((np.multiply, (home, each.reshape(projection.shape), home)))

    def divide(self, projection: Projection, shares: FloatArray, script: Script) -> None:
        """Let a script divide each by the share of the sum that it is in."""
        if projection.places is None:
            home = self.factors[self.layout.plan(projection.axes).home]
            script.append((np.divide, (home, shares.reshape(projection.shape), home)))
        else:
            self.multiply(projection, reciprocals(shares, projection.size, script), script)

    def scale(self, factor: float) -> None:
        """Multiply all."""
        np.multiply(self.factors[0], factor, out=self.factors[0])

    def total(self) -> float:
        """Their sum."""
        script: Script = []
        total = self.layout.plan(tuple(range(len(self.layout.shape)))).sums(self.factors, script, self.buffers)
        do(script)
        return float(total[0])

    def array(self) -> FloatArray:
        """All of them."""
        shape = self.layout.shape
        first, *others = self.factors
        product = first
        for factor in others:
            is_whole = product is not first and product.shape == shape
            product = np.multiply(product, factor, out=product if is_whole else None)
        return product if product.shape == shape else np.broadcast_to(product, shape).copy()


@dataclass(frozen=True, eq=False)
class Layout:
    """Which factors a product in a box has. scopes: their axes, none depends on axes of another alone. shapes: of them."""

    shape: tuple[int, ...]
    scopes: tuple[Axes, ...]
    shapes: tuple[tuple[int, ...], ...]
    plans: dict[tuple[int, ...], SumPlan] = field(default_factory=dict)

    @classmethod
    def among(cls, cells: BoxedCells, projections: Iterable[Projection]) -> "Layout":
        """With room for the patterns of possible cells, and for factors of these projections."""
        patterns = tuple(_axes(pattern.shape) for pattern in cells.patterns)
        return cls._of(cells.shape, tuple(projection.axes for projection in projections), patterns)

    @classmethod
    @lru_cache(_LAYOUTS)
    def _of(cls, shape: tuple[int, ...], summed: tuple[tuple[int, ...], ...], patterns: tuple[Axes, ...]) -> "Layout":
        everything = frozenset(range(len(shape)))
        asked = {*(everything - frozenset(axes) for axes in summed), frozenset(), *patterns}
        scopes = tuple(sorted((own for own in asked if not any(own < other for other in asked)), key=sorted))
        shapes = tuple(tuple(size if i in own else 1 for i, size in enumerate(shape)) for own in scopes)
        return cls(shape, scopes, shapes)

    def plan(self, summed: tuple[int, ...]) -> SumPlan:
        """How the product is summed over some axes."""
        if summed not in self.plans:
            self.plans[summed] = SumPlan.of(self.scopes, summed, self.shape)
        return self.plans[summed]


def _axes(shape: Sequence[int]) -> Axes:
    """Those along which an array is longer than 1."""
    return frozenset(axis for axis, size in enumerate(shape) if size > 1)
