"""A lower bound for many attributes: their lattice is too large to be laid out, that of each of some blocks is not.

The objective of a decomposable collection in perfect sequence is a sum over the steps v that it shows (`lower_bound`),

    sum_v [ s(P_v + v) - s(P_v) ] + sum_B E_p[ln leaves_B] - H(p),

where P_v + v is a part of an allowed margin, and P_v was shown before. Split the attributes into blocks. Of a step v of an
attribute in block b, P_v has a part Q_v in the block, which was shown before as well, and a part outside. Whatever that is,

    s(P_v + v) - s(P_v)  >=  min_E [ s(E) - s(E - v) ],

over the allowed margins E of which v is the finest step of its attribute and whose other steps in the block were shown
before: P_v + v is one, since the coarser steps of an attribute come before the finer ones. So the sum over the steps and
leaves of a block is at least the shortest path through the lattice of that block alone with these costs, and the sum over
the blocks, less H(p), is a bound. It lets blocks borrow from each other what order forbids, A from B and B from A: so blocks
hold attributes that tell most of each other. One block of all attributes gives the bound of `lower_bound`, each attribute by
itself the least that any allowed margin leaves of it.

Which resolutions are told apart (`lower_bound`) is made finer round by round, until all are or work or time are used up.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod

import numpy as np

from models.arrays import FloatArray
from models.search.bounds.attribute_sets import attribute_sets
from models.search.bounds.last_steps import LastSteps, of_margins, of_sets
from models.search.bounds.lower_bound import (
    Grid,
    Node,
    allowed_margins,
    hidden_leaves,
    resolved,
    score,
    shortest_paths,
)
from models.search.constraint import class_size_of
from models.search.problem import Problem, Stop
from models.tables.domain import Mask

LARGEST_BLOCK = 1 << 13
"""Margins of the lattice of a block, at most."""

Block = tuple[int, ...]
"""Places of attributes in the domain, ascending."""


def of_blocks(problem: Problem, finest: Node, most: int, stop: Stop, sets: Stop) -> Iterator[float]:
    """The bounds by blocks of ever finer grids, in nats, until it is to stop. finest: what is allowed of each attribute.

    most: allowed margins that are looked at in a grid; a grid with more is given up, and those with more resolutions. sets:
    asked instead of `stop` while all sets of attributes that may be shown are counted at once.
    """
    for number, grid in enumerate(_finer_grids(finest)):
        margins = None if number else _of_sets(problem, finest, sets)
        if margins is None:
            allowed = allowed_margins(problem, stop, grid, most)
            if allowed is None:
                return
            margins = of_margins(problem, allowed, grid)
        yield block_bound(problem, margins, grid, related_blocks(problem, margins, grid)).value


def _of_sets(problem: Problem, finest: Node, stop: Stop) -> list[LastSteps] | None:
    """The margins of the first grid where all of them can be counted at once; None where they cannot, or when stopped."""
    judged = class_size_of(problem.constraint)
    if judged is None or problem.price:
        return None
    found = attribute_sets(problem, finest, judged, stop)
    return None if found is None else of_sets(found)


def _finer_grids(finest: Node) -> Iterator[Grid]:
    """Grids of which each halves the ranges of the one before, from 0 and the finest resolution to all."""
    grid: Grid = tuple((0, last) if last else (0,) for last in finest)
    while True:
        yield grid
        finer = tuple(
            tuple(sorted({*own, *((low + high) // 2 for low, high in pairwise(own) if high - low > 1)})) for own in grid
        )
        if finer == grid:
            return
        grid = finer


@dataclass(frozen=True, eq=False)
class BlockBound:
    """Lower bounds on what is still to come, block by block; `LowerBound` in a lattice that is too large for that.

    remaining: for each block an axis for each of its attributes; nats.
    """

    problem: Problem
    blocks: tuple[Block, ...]
    remaining: tuple[FloatArray, ...]

    @property
    def value(self) -> float:
        """No allowed collection has a smaller objective, in nats."""
        base = sum(self.problem.cube.domain.attribute_masks)
        return max(sum(map(_at_the_beginning, self.remaining)) - self.problem.cube.entropy(base), 0.0)

    def to_go(self, vertices: Mask) -> float:
        """The remaining nats of a collection that shows these induced attributes, where every resolution is told apart."""
        own = self.problem.cube.domain.attribute_masks
        return sum(
            float(remaining[tuple((vertices & own[place]).bit_count() for place in block)])
            for block, remaining in zip(self.blocks, self.remaining)
        )


def _at_the_beginning(remaining: FloatArray) -> float:
    return float(remaining[(0,) * remaining.ndim])


def block_bound(problem: Problem, margins: Sequence[LastSteps], grid: Grid, blocks: Sequence[Block]) -> BlockBound:
    """The bound of some blocks.

    margins: all that are allowed in the grid. blocks: each attribute in one of them.
    """
    remaining: list[FloatArray] = []
    for block in blocks:
        shape = tuple(len(grid[place]) for place in block)
        strides, axes = np.zeros(len(grid), dtype=np.intp), np.full(len(grid), -1)
        strides[list(block)] = [prod(shape[axis + 1 :]) for axis in range(len(block))]
        axes[list(block)] = np.arange(len(block))
        costs: FloatArray = np.full((len(block), prod(shape)), np.inf)
        for own in margins:
            shown = (strides[own.places] * own.resolutions).sum(axis=1)
            margin, column = np.nonzero(axes[own.places] >= 0)
            place = own.places[margin, column]
            np.minimum.at(costs, (axes[place], shown[margin] - strides[place]), own.costs[margin, column])
        remaining.append(shortest_paths(hidden_leaves(problem, grid, block), list(costs.reshape(-1, *shape))))
    return BlockBound(problem, tuple(blocks), tuple(remaining))


def related_blocks(
    problem: Problem, margins: Sequence[LastSteps], grid: Grid, most: int = LARGEST_BLOCK
) -> list[Block]:
    """Blocks of attributes that tell most of each other in some allowed margin of two, each with so many margins at most."""
    gains = dict[Block, float]()
    alone = [[score(problem, resolved(problem, place, at)) for at in own] for place, own in enumerate(grid)]
    for pairs in margins[1:2]:
        for (first, second), (one, other), own in zip(
            pairs.places.tolist(), pairs.resolutions.tolist(), pairs.scores.tolist()
        ):
            gain = alone[first][one] + alone[second][other] - own
            gains[first, second] = max(gains.get((first, second), 0.0), gain)
    blocks: dict[int, Block] = {place: (place,) for place in range(len(grid))}
    for first, second in sorted(gains, key=lambda pair: (-gains[pair], pair)):
        joined = tuple(sorted({*blocks[first], *blocks[second]}))
        if np.prod([len(grid[place]) for place in joined], dtype=float) <= most:
            blocks |= dict.fromkeys(joined, joined)
    return sorted(set(blocks.values()))
