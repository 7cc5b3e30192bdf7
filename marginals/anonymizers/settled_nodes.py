"""Which nodes of a lattice of generalizations are settled by verdicts on others, and which verdict would settle most."""

from collections.abc import Sequence
from functools import lru_cache, reduce

import numpy as np
from numpy.typing import NDArray

from models.arrays import BoolArray

Node = tuple[int, ...]
"""A level for each attribute."""

_GROUP = 64
"""Combinations of levels of neighbouring attributes that are summed over at once, at most: few products of small matrices
are much faster than sums along many short axes."""


@lru_cache(maxsize=256)
def _finer(shape: Node) -> tuple[NDArray[np.float32], ...]:
    """For each group of neighbouring axes which combinations of levels, in columns, are as fine as others, in rows."""
    groups: list[NDArray[np.float32]] = []
    for length in shape:
        finer = np.tri(length, dtype=np.float32)
        if groups and len(groups[-1]) * length <= _GROUP:
            groups[-1] = np.kron(groups[-1], finer)
        else:
            groups.append(finer)
    return tuple(groups)


def _summed(nodes: BoolArray, related: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
    """How many of some nodes are related to each node in every group of axes. Exact: there are at most 2^24 nodes."""
    sums = nodes.astype(np.float32)
    for matrix in related:  # each product puts its group of axes behind the others, so that in the end all are in place
        sums = sums.reshape(len(matrix), -1).T @ matrix.T
    return sums.reshape(nodes.shape)


class SettledNodes:
    """Which nodes are settled, as arrays with an axis for each attribute, indexed by level."""

    def __init__(self, heights: Node) -> None:
        shape = tuple(height + 1 for height in heights)
        self.passes: BoolArray = np.zeros(shape, dtype=bool)
        self.fails: BoolArray = np.zeros(shape, dtype=bool)
        self.finer = _finer(shape)

    def settle(self, node: Node, passes: bool) -> None:
        """Put down a verdict: with a node pass all that are coarser, or fail all that are finer."""
        if passes:
            self.passes[tuple(slice(level, None) for level in node)] = True
        else:
            self.fails[tuple(slice(None, level + 1) for level in node)] = True

    @property
    def open(self) -> BoolArray:
        """The nodes that no verdict settles."""
        return ~(self.passes | self.fails)

    def most_telling(self) -> Node | None:
        """The open node with the largest smaller side: open nodes at or above it, and at or below."""
        still_open = self.open
        if not still_open.any():
            return None
        below = _summed(still_open, self.finer)
        above = _summed(still_open, [finer.T for finer in self.finer])
        worth = np.where(still_open, np.minimum(below, above), 0)
        return tuple(int(i) for i in np.unravel_index(int(worth.argmax()), worth.shape))

    def minimal(self) -> list[Node]:
        """The passing nodes below which no other node passes."""
        below = reduce(lambda a, axis: np.logical_or.accumulate(a, axis=axis), range(self.passes.ndim), self.passes)
        lowest = self.passes.copy()
        for axis in range(lowest.ndim):
            finer = np.roll(below, 1, axis=axis)
            finer[(slice(None),) * axis + (0,)] = False
            lowest &= ~finer
        return [tuple(int(level) for level in node) for node in np.argwhere(lowest)]
