"""Taxonomies: the values of a hierarchy at all of its levels, as the numbered nodes of one tree (TZ09 section II).

Local recoding gives the rows of one table values of different levels, so a value alone must say its level: its *node*
number does. Nodes are numbered level by level, base values first and `*` last.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from models.arrays import BoolArray, CountArray, FloatArray, IndexArray, read_only
from models.checked_arrays import whole_numbers
from models.errors import DomainMismatchError
from models.tables.hierarchy import Hierarchy


@dataclass(frozen=True)
class Taxonomy:
    """The nodes of a hierarchy. Each node is a level and a code; the leaves, its base values, are the nodes 0, 1, ...

    >>> taxonomy = Taxonomy(Hierarchy.from_rows([("flu", "lung", "*"), ("cold", "lung", "*"), ("cyst", "skin", "*")]))
    >>> taxonomy.labels
    ('flu', 'cold', 'cyst', 'lung', 'skin', '*')
    >>> taxonomy.leaf_counts.tolist()
    [1, 1, 1, 2, 1, 3]
    """

    hierarchy: Hierarchy

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """Number of the first node of each level, and after them the number of nodes in all."""
        return tuple(accumulate(map(len, self.hierarchy.labels), initial=0))

    @property
    def size(self) -> int:
        """Number of nodes."""
        return self.offsets[-1]

    @property
    def root(self) -> int:
        """The node of `*`."""
        return self.size - 1

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The label of each node; a level that merges nothing repeats those below it."""
        return tuple(label for labels in self.hierarchy.labels for label in labels)

    @cached_property
    def levels(self) -> IndexArray:
        """The level of each node: shape (nodes,)."""
        return read_only(np.repeat(np.arange(len(self.hierarchy.labels)), list(map(len, self.hierarchy.labels))))

    @cached_property
    def leaf_counts(self) -> CountArray:
        """How many base values lie under each node: shape (nodes,)."""
        counts = [self.hierarchy.leaf_counts(level) for level in range(self.hierarchy.height + 1)]
        return read_only(np.concatenate(counts))

    @cached_property
    def parents(self) -> IndexArray:
        """The node above each node, that of `*` being itself: shape (nodes,)."""
        above = [np.array(parents) + offset for parents, offset in zip(self.hierarchy.parents, self.offsets[1:])]
        return read_only(np.concatenate([*above, [self.root]]).astype(np.intp))

    @cached_property
    def plainest(self) -> IndexArray:
        """For each node the lowest one that has its label and its leaves, so that what reads alike is one node."""
        nodes = np.arange(self.size)
        children = np.bincount(self.parents[:-1], minlength=self.size)
        for node, parent in enumerate(self.parents[:-1].tolist()):
            if children[parent] == 1 and self.labels[node] == self.labels[parent]:
                nodes[parent] = nodes[node]
        return read_only(nodes)

    def at_level(self, level: int) -> IndexArray:
        """For each base value its node at a level: shape (leaves,)."""
        return np.asarray(self.hierarchy.lift(0, level), dtype=np.intp) + self.offsets[level]

    @cached_property
    def covers(self) -> BoolArray:
        """Whether a node covers a leaf: shape (nodes, leaves). For attributes with few values."""
        leaves = np.arange(self.hierarchy.size(0))
        covers = np.zeros((self.size, len(leaves)), dtype=bool)
        for level in range(self.hierarchy.height + 1):
            covers[self.at_level(level), leaves] = True
        return read_only(covers)

    @cached_property
    def _leaves(self) -> tuple[IndexArray, IndexArray]:
        """The leaves under each node, one node after the other, and where those of each node begin."""
        levels = range(self.hierarchy.height + 1)
        leaves = [np.argsort(self.hierarchy.lift(0, level), kind="stable") for level in levels]
        return np.concatenate(leaves), np.cumsum(self.leaf_counts) - self.leaf_counts

    def random_leaves(self, nodes: IndexArray, rng: "np.random.Generator") -> IndexArray:
        """For each of some nodes a leaf under it, all as likely: shape (n,)."""
        leaves, starts = self._leaves
        drawn: IndexArray = leaves[starts[nodes] + rng.integers(self.leaf_counts[nodes])]
        return drawn

    def shares_under(self, node: int) -> FloatArray:
        """For each node which share of its leaves lies under a given one: shape (nodes,)."""
        own = int(self.levels[node])
        shares = np.zeros(self.size)
        for level in range(self.hierarchy.height + 1):
            codes = slice(self.offsets[level], self.offsets[level + 1])
            if level <= own:
                shares[codes] = self.hierarchy.lift(level, own) == node - self.offsets[own]
            else:
                above = self.offsets[level] + int(self.hierarchy.lift(own, level)[node - self.offsets[own]])
                shares[above] = self.leaf_counts[node] / self.leaf_counts[above]
        return shares


def taxonomy_nodes(nodes: npt.ArrayLike, taxonomies: Sequence[Taxonomy]) -> IndexArray:
    """Nodes, one column for each taxonomy: a read-only copy, shape (n, taxonomies).

    Raises DomainMismatchError for another shape, for what is no whole number, and for a node outside its taxonomy.
    """
    columns = np.array(whole_numbers(nodes, "nodes"), dtype=np.intp)
    if columns.ndim != 2 or columns.shape[1] != len(taxonomies):
        raise DomainMismatchError(f"nodes need one column for each of {len(taxonomies)} attributes")
    if len(columns) and (columns.min() < 0 or np.any(columns.max(axis=0) >= [t.size for t in taxonomies])):
        raise DomainMismatchError("a node lies outside its taxonomy")
    return read_only(columns)
