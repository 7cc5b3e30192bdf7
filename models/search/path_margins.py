"""Distributions of two attributes of a decomposable model, along the path between them in its junction tree."""

from functools import reduce
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from models.arrays import FloatArray, IndexArray
from models.graphs.junction_tree import JunctionTree
from models.tables.data_cube import DataCube
from models.tables.domain import Mask

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_KEPT = 1 << 23
"""Numbers in all matrices that are kept; they are cleared when there are more."""


class PathMargins:
    """Distributions of two attributes along the path between them in a junction tree, one matrix for each clique on it.

    The values of one attribute are carried from separator to separator by the shares p(s' | s), each a sparse matrix that
    depends on the two separators alone and is kept for other trees.
    """

    def __init__(self, cube: DataCube) -> None:
        self._cube = cube
        self._steps: dict[tuple[Mask, Mask], csr_array] = {}
        self._size = 0

    def cross_entropy(self, first: Mask, second: Mask, tree: JunctionTree) -> float:
        """-sum of p ln q over the values of two attributes, each as finely as the tree shows it."""
        entropy = self._cube.entropy
        path = _path(tree, first, second)
        if not path:
            return entropy(first) + entropy(second)
        separators = [a & b for a, b in pairwise(path)]
        if not separators:
            return entropy(first | second)
        if len(self._cube.counts(first)) > len(self._cube.counts(second)):
            first, second, separators = second, first, separators[::-1]
        q = self._along(first, separators, second)
        table = self._cube.table(first | second)
        rows, columns = table.positions_in(self._cube.table(second)), table.positions_in(self._cube.table(first))
        return float(-(table.counts @ np.log(q[rows, columns])) / max(self._cube.total, 1))

    def shares(self, ends: tuple[Mask, Mask], tree: JunctionTree, cells: tuple[IndexArray, IndexArray]) -> FloatArray:
        """The model's probabilities of some cells of two attributes, each as finely as the tree shows it; 0: not at all.

        cells: for each attribute the place of each cell in the table of that attribute alone, shape (cells,).
        """
        first, second = ends
        total = max(self._cube.total, 1)
        path = _path(tree, first, second) if first and second else []
        if not path:
            shares = (self._cube.table(end).counts[places] / total for end, places in zip(ends, cells) if end)
            return np.asarray(reduce(np.multiply, shares, np.ones(len(cells[0]))))
        tables = [self._cube.table(end) for end in ends]
        separators = [a & b for a, b in pairwise(path)]
        if not separators:
            table = self._cube.table(first | second)
            q = np.zeros((len(tables[0]), len(tables[1])))
            q[table.positions_in(tables[0]), table.positions_in(tables[1])] = table.counts / total
            return np.asarray(q[cells])
        if len(tables[0]) > len(tables[1]):
            return np.asarray(self._along(second, separators[::-1], first)[cells])
        return np.asarray(self._along(first, separators, second)[cells[::-1]])

    def _along(self, first: Mask, separators: list[Mask], second: Mask) -> FloatArray:
        """The joint distribution of the ends of a path: shape (cells of `second`, cells of `first`)."""
        origin = self._cube.table(first)
        q = self._step(first, separators[0]).toarray() * (origin.counts / max(self._cube.total, 1))
        for before, after in pairwise([*separators, second]):
            q = self._step(before, after) @ q
        return np.asarray(q)

    def _step(self, given: Mask, shown: Mask) -> "csr_array":
        """p(y | x) of the cells y of one margin given those x of another: shape (cells of `shown`, cells of `given`)."""
        if (given, shown) not in self._steps:
            together, x, y = (self._cube.table(mask) for mask in (given | shown, given, shown))
            columns, rows = together.positions_in(x), together.positions_in(y)
            from scipy.sparse import csr_array  # slow to import, and few need it

            step = csr_array((together.counts / x.counts[columns], (rows, columns)), shape=(len(y), len(x)))
            self._size += step.nnz
            if self._size > _KEPT:
                self._steps.clear()
                self._size = step.nnz
            self._steps[given, shown] = step
        return self._steps[given, shown]


def _path(tree: JunctionTree, first: Mask, second: Mask) -> list[Mask]:
    """The cliques from one that shows the first attribute to one that shows the second, as few as can be; none where the two
    are not connected.
    """

    def upward(wanted: Mask) -> list[int]:
        ways = [next(i for i, clique in enumerate(tree.cliques) if not wanted & ~clique)]
        while tree.parents[ways[-1]] >= 0:
            ways.append(tree.parents[ways[-1]])
        return ways

    there, back = upward(first), upward(second)
    meeting = next((clique for clique in there if clique in back), None)
    if meeting is None:
        return []
    path = [*there[: there.index(meeting) + 1], *reversed(back[: back.index(meeting)])]
    cliques = [tree.cliques[i] for i in path]
    start = max(i for i, clique in enumerate(cliques) if not first & ~clique)
    end = next(i for i, clique in enumerate(cliques) if i >= start and not second & ~clique)
    return cliques[start : end + 1]
