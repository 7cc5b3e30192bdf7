"""Blocks of attributes, each with a lattice that can be laid out, and which attributes are best in one block."""

from collections.abc import Sequence
from functools import cached_property
from heapq import heappop, heappush
from itertools import islice
from math import prod

import numpy as np

from models.arrays import FloatArray, IndexArray
from models.search.bounds.last_steps import LastSteps
from models.search.bounds.lower_bound import Grid, hidden_leaves, resolved, score, shortest_paths
from models.search.problem import Problem, Stop

LARGEST_BLOCK = 1 << 13
"""Margins of the lattice of a block, at most."""

_PAIRS = 8
"""Pairs of attributes, for each attribute, of which it is looked at what they gain in one block."""

_LEAST_GAIN = 1e-9
"""Nats, below which blocks stay apart."""

Block = tuple[int, ...]
"""Places of attributes in the domain, ascending."""


class BlockLattices:
    """The lattices of blocks: what is still to come from each of their margins on.

    margins: all that are allowed in the grid.
    """

    def __init__(self, problem: Problem, margins: Sequence[LastSteps], grid: Grid) -> None:
        self.problem, self.grid = problem, grid
        self._margins = margins
        self._offsets = np.concatenate(([0], np.cumsum([len(own) for own in grid])))
        self._with = [_by_attribute(own.places, len(grid)) for own in margins]
        self._costs: dict[int, list[tuple[IndexArray, FloatArray]]] = {}
        self._paths: dict[Block, float] = {}

    def remaining(self, block: Block) -> FloatArray:
        """An axis for each attribute of a block; nats."""
        shape = tuple(len(self.grid[place]) for place in block)
        strides = [prod(shape[axis + 1 :]) for axis in range(len(block))]
        at = np.zeros(self._offsets[-1], dtype=np.intp)
        for place, stride in zip(block, strides):
            at[self._offsets[place] : self._offsets[place + 1]] = stride * np.arange(len(self.grid[place]))
        costs: list[FloatArray] = []
        for place, stride in zip(block, strides):
            least: FloatArray = np.full(prod(shape), np.inf)
            for steps, own in self._costs_of(place):
                shown = at.take(steps[0])
                for other in steps[1:]:
                    shown += at.take(other)
                np.minimum.at(least, shown - stride, own)
            costs.append(least.reshape(shape))
        return shortest_paths(hidden_leaves(self.problem, self.grid, block), costs)

    def _costs_of(self, place: int) -> list[tuple[IndexArray, FloatArray]]:
        """The margins that show an attribute, by size, and what its last step costs in each.

        By steps, which are numbered by attribute and resolution: shape (attributes shown, margins).
        """
        if place not in self._costs:
            self._costs[place] = costs = []
            for own, with_attribute in zip(self._margins, self._with):
                margin, column = divmod(with_attribute[place], own.places.shape[1])
                steps = self._offsets[own.places[margin]] + own.resolutions[margin]
                costs.append((np.ascontiguousarray(steps.T.astype(np.int32)), own.costs[margin, column]))
        return self._costs[place]

    def size(self, block: Block) -> int:
        """Margins of the lattice of a block."""
        return prod(len(self.grid[place]) for place in block)

    def path(self, block: Block) -> float:
        """The least nats that all steps of a block and what it leaves hidden can cost."""
        if block not in self._paths:
            self._paths[block] = at_the_beginning(self.remaining(block))
        return self._paths[block]

    @cached_property
    def related(self) -> list[Block]:
        """The pairs of attributes that some allowed margin shows, those that tell most of each other first."""
        alone = [
            [score(self.problem, resolved(self.problem, place, at)) for at in own]
            for place, own in enumerate(self.grid)
        ]
        gains = dict[Block, float]()
        for pairs in self._margins[1:2]:
            for (first, second), (one, other), own in zip(
                pairs.places.tolist(), pairs.resolutions.tolist(), pairs.scores.tolist()
            ):
                gain = alone[first][one] + alone[second][other] - own
                gains[first, second] = max(gains.get((first, second), 0.0), gain)
        return sorted(gains, key=lambda pair: (-round(gains[pair], 9), pair))


def at_the_beginning(remaining: FloatArray) -> float:
    """What is still to come where nothing is shown, in nats."""
    return float(remaining[(0,) * remaining.ndim])


def _by_attribute(places: IndexArray, attributes: int) -> list[IndexArray]:
    """For each attribute where it is among some places, in flat order."""
    flat = places.reshape(-1)
    order = np.argsort(flat, kind="stable")
    return np.split(order, np.searchsorted(flat[order], np.arange(1, attributes)))


def related_blocks(lattices: BlockLattices, most: int = LARGEST_BLOCK) -> list[Block]:
    """Blocks of attributes that tell most of each other in some allowed margin of two, each with so many margins at most."""
    blocks: dict[int, Block] = {place: (place,) for place in range(len(lattices.grid))}
    for first, second in lattices.related:
        joined = tuple(sorted({*blocks[first], *blocks[second]}))
        if lattices.size(joined) <= most:
            blocks |= dict.fromkeys(joined, joined)
    return sorted(set(blocks.values()))


def joined_blocks(lattices: BlockLattices, stop: Stop, most: int = LARGEST_BLOCK) -> list[Block]:
    """Blocks that are joined while that makes the bound larger, the most first, until it is to stop.

    Looked at are those that hold two attributes of a pair that tells much.
    """
    blocks: dict[int, Block] = {place: (place,) for place in range(len(lattices.grid))}
    related = list(islice(lattices.related, _PAIRS * len(blocks)))
    gains: list[tuple[float, Block, Block]] = []

    def offer(one: Block, other: Block) -> None:
        joined = tuple(sorted(one + other))
        if lattices.size(joined) <= most:
            gain = round(lattices.path(joined) - lattices.path(one) - lattices.path(other), 9)
            if gain > _LEAST_GAIN:
                heappush(gains, (-gain, min(one, other), max(one, other)))

    for first, second in related:
        if stop():
            break
        offer((first,), (second,))
    while gains and not stop():
        _, one, other = heappop(gains)
        if blocks[one[0]] != one or blocks[other[0]] != other:
            continue
        joined = tuple(sorted(one + other))
        blocks |= dict.fromkeys(joined, joined)
        near = {blocks[b if a in joined else a] for a, b in related if (a in joined) != (b in joined)}
        for block in sorted(near):
            if stop():
                break
            offer(joined, block)
    return sorted(set(blocks.values()))
