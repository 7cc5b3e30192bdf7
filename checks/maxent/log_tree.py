"""A sensitive tree in logarithms: minima of linear forms over all class combinations, by min-sum passes along the tree."""

from collections.abc import Sequence

import numpy as np

from checks.diversity.violations.cases import ZERO_LOG, RatioBounds
from checks.maxent.sensitive_tree import SensitiveTree
from models.arrays import FloatArray, IndexArray

_CHUNK = 512
"""Linear forms that are worked on together."""


class _Segments:
    """The classes of one clique ordered by separator class, for minima over each separator class."""

    def __init__(self, tree: SensitiveTree, clique: int) -> None:
        self.order, self.starts = tree.members[clique]
        self.sizes = np.diff(self.starts)

    def minimum(self, values: FloatArray) -> FloatArray:
        """Shape (classes, k) to (separator classes, k). Every separator class has a class."""
        return np.asarray(np.minimum.reduceat(values[self.order], self.starts[:-1], axis=0), dtype=np.float64)

    def argminimum(self, values: FloatArray, lowest: FloatArray) -> IndexArray:
        """The first class at which each minimum is taken."""
        ordered = values[self.order]
        hit = ordered == np.repeat(lowest, self.sizes, axis=0)
        place = np.where(hit, np.arange(len(ordered))[:, None], len(ordered))
        return self.order[np.minimum.reduceat(place, self.starts[:-1], axis=0)]


class LogTree:
    """A sensitive tree in logarithms: x_s of each class of each clique, and min-sum passes over it."""

    def __init__(self, tree: SensitiveTree) -> None:
        self.tree = tree
        with np.errstate(divide="ignore"):
            self.x = [np.maximum(np.log(factor), ZERO_LOG) for factor in tree.conditional_factors]
        self.segments = [_Segments(tree, clique) for clique in range(len(self.x))]

    def minima(self, coefficients: FloatArray) -> FloatArray:
        """The minimum over all combinations of each linear form in x, shape (k,). coefficients: shape (values, k)."""
        parts = [coefficients[:, i : i + _CHUNK] for i in range(0, coefficients.shape[1], _CHUNK)]
        return np.concatenate([self.messages(part)[0].min(axis=0) for part in parts])

    def messages(self, coefficients: FloatArray) -> list[FloatArray]:
        """For each clique the minimum of each linear form over its subtree, shape (separator classes, k)."""
        self.tree.deadline.check()
        arriving: list[FloatArray] = [np.zeros((0, 0))] * len(self.x)
        for clique in reversed(range(len(self.x))):
            arriving[clique] = self.segments[clique].minimum(self._subtree(clique, coefficients, arriving))
        return arriving

    def _subtree(self, clique: int, coefficients: FloatArray, arriving: Sequence[FloatArray]) -> FloatArray:
        values = self.x[clique] @ coefficients
        for child in self.tree.tree.children[clique]:
            values += arriving[child][self.tree.outward[child]]
        return values

    def minimizers(self, coefficients: FloatArray) -> IndexArray:
        """For each linear form a combination at which its minimum is taken, shape (k, cliques)."""
        parts = [coefficients[:, i : i + _CHUNK] for i in range(0, coefficients.shape[1], _CHUNK)]
        return np.concatenate([self._minimizers(part) for part in parts])

    def _minimizers(self, coefficients: FloatArray) -> IndexArray:
        arriving = self.messages(coefficients)
        forms = np.arange(coefficients.shape[1])
        chosen = np.zeros((len(forms), len(self.x)), dtype=np.intp)
        for clique, parent in enumerate(self.tree.tree.parents):
            values = self._subtree(clique, coefficients, arriving)
            if parent < 0:
                chosen[:, clique] = values.argmin(axis=0)
            else:
                best = self.segments[clique].argminimum(values, arriving[clique])
                chosen[:, clique] = best[self.tree.outward[clique][chosen[:, parent]], forms]
        return chosen

    def vectors(self, combinations: IndexArray) -> FloatArray:
        """The log-vectors of complete combinations, shape (n, values); about ZERO_LOG where a value is absent."""
        return np.asarray(sum(x[combinations[:, clique]] for clique, x in enumerate(self.x)), dtype=np.float64)

    def ratio_bounds(self) -> RatioBounds:
        """Bounds of x_s - x_h, `[s, h]`, over the combinations with a positive head h."""
        values = self.x[0].shape[1]
        coefficients = (np.eye(values)[:, :, None] - np.eye(values)[:, None, :]).reshape(values, -1)
        floor = self.minima(coefficients).reshape(values, values)
        ceiling = np.column_stack([self._ceilings(head) for head in range(values)])
        return RatioBounds(np.maximum(floor, ZERO_LOG), ceiling)

    def _ceilings(self, head: int) -> FloatArray:
        """The largest x_s - x_h over the combinations in which the head is positive, shape (values,)."""
        self.tree.deadline.check()
        arriving: list[FloatArray] = [np.zeros((0, 0))] * len(self.x)
        for clique in reversed(range(len(self.x))):
            own = self.x[clique]
            values = np.where(own[:, [head]] > ZERO_LOG / 2, -(own - own[:, [head]]), np.inf)
            for child in self.tree.tree.children[clique]:
                values = values + arriving[child][self.tree.outward[child]]
            arriving[clique] = self.segments[clique].minimum(values)
        return np.asarray(-arriving[0].min(axis=0), dtype=np.float64)
