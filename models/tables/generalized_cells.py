"""Generalized cells: counts of rows where each cell has levels of its own, as local recoding leaves them (TZ09).

A contingency table shows an attribute at one level throughout. Here one cell may say `age 23` and another `age 20-29`,
and the second holds rows that the first could have held: cells may overlap.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, product
from math import lcm
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from models.arrays import (
    CodeArray,
    CountArray,
    FloatArray,
    IndexArray,
    read_only,
    read_only_copy,
    whole_counts,
    whole_numbers,
    x_log_x,
)
from models.errors import DomainMismatchError
from models.tables.contingency_table import Cells, ContingencyTable, pack, tally
from models.tables.hierarchy import Domain, Hierarchy

# Taxonomies: the values of a hierarchy at all of its levels, as the numbered nodes of one tree (TZ09 section II).
#
# Local recoding gives the rows of one table values of different levels, so a value alone must say its level: its
# *node* number does. Nodes are numbered level by level, base values first and `*` last.


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
        node_level = int(self.levels[node])
        shares = np.zeros(self.size)
        for level in range(self.hierarchy.height + 1):
            codes = slice(self.offsets[level], self.offsets[level + 1])
            if level <= node_level:
                shares[codes] = self.hierarchy.lift(level, node_level) == node - self.offsets[node_level]
            else:
                above = self.offsets[level] + int(
                    self.hierarchy.lift(node_level, level)[node - self.offsets[node_level]]
                )
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


@dataclass(frozen=True, eq=False)
class GeneralizedCells:
    """The nonempty cells over all attributes of a domain, with their counts.

    nodes: shape (cells, attributes), for each attribute the node of its taxonomy. counts: shape (cells,), positive.
    Cells are distinct and ascend lexicographically. Arrays are copied in. Raises DomainMismatchError where this is not so;
    `from_rows` takes cells in any order.
    """

    domain: Domain
    nodes: IndexArray
    counts: CountArray

    def __post_init__(self) -> None:
        counts = whole_counts(self.counts)
        nodes = taxonomy_nodes(self.nodes, self.taxonomies)
        if len(nodes) != len(counts):
            raise DomainMismatchError(f"{len(counts)} counts came with the nodes of {len(nodes)} cells")
        if not counts.all():
            raise DomainMismatchError("a cell has no rows; GeneralizedCells.from_rows leaves such cells out")
        keys, _ = pack(list(nodes.T), [taxonomy.size for taxonomy in self.taxonomies], len(counts))
        if np.any(keys[1:] <= keys[:-1]):
            raise DomainMismatchError(
                "cells must be distinct and ascend; GeneralizedCells.from_rows puts them in order"
            )
        object.__setattr__(self, "nodes", nodes)
        object.__setattr__(self, "counts", read_only_copy(counts))

    @classmethod
    def from_rows(cls, domain: Domain, nodes: IndexArray, counts: CountArray) -> "GeneralizedCells":
        """From cells in any order, repeated or empty ones included; nodes that read alike become one.

        Raises DomainMismatchError for nodes or counts that are out of range or no whole numbers.
        """
        taxonomies = [Taxonomy(hierarchy) for hierarchy in domain.hierarchies]
        counts, nodes = whole_counts(counts), taxonomy_nodes(nodes, taxonomies)
        if len(nodes) != len(counts):
            raise DomainMismatchError(f"{len(counts)} counts came with the nodes of {len(nodes)} cells")
        plain = [taxonomy.plainest[column] for taxonomy, column in zip(taxonomies, nodes.T)]
        keys, space = pack(plain, [taxonomy.size for taxonomy in taxonomies], len(counts))
        rows, totals = tally(keys, space, counts)
        columns = np.stack([column[rows] for column in plain], axis=1)
        return cls(domain, columns[totals > 0], totals[totals > 0])

    @classmethod
    def of(cls, table: ContingencyTable) -> "GeneralizedCells":
        """The cells of a table; attributes that it does not show are suppressed."""
        return cls.from_rows(table.domain, nodes_of(table), table.counts)

    def __len__(self) -> int:
        """Number of cells."""
        return len(self.counts)

    def __repr__(self) -> str:
        return f"GeneralizedCells({len(self)} cells, {self.total} rows)"

    @cached_property
    def taxonomies(self) -> tuple[Taxonomy, ...]:
        """The taxonomy of each attribute, in the domain's order."""
        return tuple(map(Taxonomy, self.domain.hierarchies))

    @cached_property
    def total(self) -> int:
        """Number of rows."""
        return int(self.counts.sum())

    @cached_property
    def levels(self) -> IndexArray:
        """The level of each value: shape (cells, attributes)."""
        return np.stack([t.levels[column] for t, column in zip(self.taxonomies, self.nodes.T)], axis=1)

    @cached_property
    def leaf_counts(self) -> CountArray:
        """How many base values each value covers: shape (cells, attributes)."""
        return np.stack([t.leaf_counts[column] for t, column in zip(self.taxonomies, self.nodes.T)], axis=1)

    def labels(self, cell: int) -> tuple[str, ...]:
        """The published labels of one cell, in the domain's order."""
        return tuple(t.labels[node] for t, node in zip(self.taxonomies, self.nodes[cell].tolist()))

    @property
    def information_utility(self) -> float:
        """The share of the base table's information that is retained, `um` (TZ09 Def. 5)."""
        return information(self.leaf_counts, self.counts) / max(self.total * len(self.domain.attributes), 1)

    def _recodings(self) -> Iterator[tuple[IndexArray, IndexArray]]:
        """The combinations of levels that occur, each with its cells."""
        keys, space = pack(list(self.levels.T), [h.height + 1 for h in self.domain.hierarchies], len(self))
        first, _ = tally(keys, space, self.counts)
        order = np.argsort(keys, kind="stable")
        for row, cells in zip(first, np.split(order, np.searchsorted(keys[order], keys[first])[1:])):
            yield self.levels[row], cells

    def _at_levels(self, levels: IndexArray, cells: IndexArray) -> Cells:
        """Some of the cells, which have these levels, by their codes there."""
        margin = dict(zip(self.domain.attributes, levels.tolist()))
        columns = zip(self.taxonomies, levels.tolist(), self.nodes[cells].T)
        codes = tuple(nodes - taxonomy.offsets[level] for taxonomy, level, nodes in columns)
        density = self.counts[cells] / self.leaf_counts[cells].prod(axis=1, dtype=np.float64) / max(self.total, 1)
        return Cells(self.domain, margin, codes, density)

    def probability(self, codes: Mapping[str, CodeArray]) -> FloatArray:
        """The probability of base cells when each cell spreads its rows evenly over the base cells that it covers.

        codes: for each attribute of the domain, base codes of shape (n,). This is the maximum-entropy distribution of
        one generalized table (MKGV07 section 6), taken row by row.
        """
        base = Cells.of(self.domain, dict.fromkeys(self.domain.attributes, 0), codes)
        parts = (self._at_levels(levels, cells).counts_in(base) for levels, cells in self._recodings())
        return np.asarray(sum(parts, np.zeros(len(base))))

    def random_base_rows(self, rng: "np.random.Generator") -> IndexArray:
        """As many base rows as there are rows, drawn one by one from the base cells that each row may be.

        Codes, shape (rows, attributes).
        """
        nodes = np.repeat(self.nodes, self.counts, axis=0)
        return np.stack([t.random_leaves(column, rng) for t, column in zip(self.taxonomies, nodes.T)], axis=1)

    def kl_divergence(self, base: ContingencyTable) -> float:
        """KL(p || q) in nats of the base table's distribution p from `probability`; infinite where q misses a row."""
        shares = base.counts / max(base.total, 1)
        estimated = self.probability(dict(zip(base.attributes, base.codes)))
        with np.errstate(divide="ignore"):
            divergence = float(x_log_x(shares).sum() - shares @ np.log(estimated))
        return max(divergence, 0.0)


def nodes_of(table: ContingencyTable) -> IndexArray:
    """The nodes that the cells of a table show, in the order of the table: shape (cells, attributes of the domain).

    Attributes that it does not show are suppressed.
    """
    columns = []
    for attribute, hierarchy in table.domain.items():
        level = table.margin.get(attribute, hierarchy.height)
        codes = table.column(attribute, level) if attribute in table.margin else np.zeros(len(table), dtype=np.intp)
        columns.append(codes.astype(np.intp) + Taxonomy(hierarchy).offsets[level])
    return np.stack(columns, axis=1)


# Information that generalized values retain, and the order in which it puts generalizations (TZ09 Defs. 5 and 6).
#
# A value that stands for n base values retains 1/n of what a base value says.


def information(leaf_counts: CountArray, counts: CountArray) -> float:
    """I(G): the information of all rows of a table, whose values may be generalized row by row (TZ09 Def. 5).

    leaf_counts: how many base values each value stands for, shape (cells, attributes). counts: rows, shape (cells,).
    """
    return float((counts[:, None] / leaf_counts).sum())


def information_utility(
    table: ContingencyTable, attributes: Iterable[str] | None = None, row_count: int | None = None
) -> float:
    """`um` = I(G) / I(O): the share of the information of the original rows that a table retains (TZ09 Def. 5).

    attributes: those that count, by default all of the domain; one that the table does not show is suppressed.
    row_count: rows of the original table where some were dropped. 0 for an empty table.
    """
    counted = table.domain.attributes if attributes is None else tuple(attributes)
    columns = []
    for attribute in counted:
        hierarchy = table.domain.hierarchy(attribute)
        level = table.margin.get(attribute, hierarchy.height)
        codes = table.column(attribute, level) if attribute in table.margin else np.zeros(len(table), dtype=np.intp)
        columns.append(hierarchy.leaf_counts(level)[codes])
    original = (table.total if row_count is None else row_count) * len(counted)
    return information(np.stack(columns, axis=1), table.counts) / original if original else 0.0


def level_information(hierarchy: Hierarchy, level: int, weights: Sequence[Fraction | int] | None = None) -> Fraction:
    """I(S): mean information of the values of a level, each with the weight of the base values under it (TZ09 III.A).

    weights: of the base values, not all 0; by default 1 each. TZ09 gives 1 to base values that the table has, else 0.
    """
    base_weights = [1] * hierarchy.size(0) if weights is None else list(weights)
    leaves = hierarchy.leaf_counts(level).tolist()
    retained = (w * Fraction(1, leaves[v]) for w, v in zip(base_weights, hierarchy.lift(0, level).tolist()))
    return sum(retained, Fraction(0)) / sum(base_weights)


def sweep_order(
    hierarchies: Sequence[Hierarchy], weights: Sequence[Sequence[Fraction | int] | None] | None = None
) -> tuple[tuple[int, ...], ...]:
    """All combinations of levels, most mean information first; ties go to the finer level of the earlier attribute.

    The order of level vectors of TZ09 Def. 6, attributes given most important first; exact. A generalization of an entry
    comes after it. What is swept out of a class of one entry goes to the next (Def. 7).
    """
    nodes = product(*(range(hierarchy.height + 1) for hierarchy in hierarchies))
    return _by_information(nodes, _retained(hierarchies, weights))


def sweep_chains(
    hierarchies: Sequence[Hierarchy],
    weights: Sequence[Sequence[Fraction | int] | None] | None = None,
    most: int | None = None,
) -> tuple[tuple[int, ...], ...]:
    """Some combinations of levels in the same order, where all are too many: (m + 1) m h at most, of m heights h.

    They are those on chains from all base values to all suppressed. Each step of a chain generalizes the attribute that
    loses least information by it; in each chain but the first one attribute is kept as it is to the end, the most
    important first. most: further chains are left out where there would be more combinations than this; the first stays.
    """
    retained, heights = _retained(hierarchies, weights), [hierarchy.height for hierarchy in hierarchies]
    nodes = set(_chain(retained, heights, None))
    for fixed_axis in range(len(hierarchies)):
        more = nodes | set(_chain(retained, heights, fixed_axis))
        if most is not None and len(more) > most:
            break
        nodes = more
    return _by_information(nodes, retained)


def _chain(
    retained: Sequence[Sequence[int]], heights: Sequence[int], fixed_axis: int | None
) -> Iterator[tuple[int, ...]]:
    """From all base values to all suppressed, the cheapest step first, those of one attribute last of all."""
    levels = [0] * len(heights)
    yield tuple(levels)
    while levels != list(heights):
        open_axes = [axis for axis, height in enumerate(heights) if levels[axis] < height]
        free = [axis for axis in open_axes if axis != fixed_axis] or open_axes
        axis = min(free, key=lambda one: (retained[one][levels[one]] - retained[one][levels[one] + 1], one))
        levels[axis] += 1
        yield tuple(levels)


def _retained(
    hierarchies: Sequence[Hierarchy], weights: Sequence[Sequence[Fraction | int] | None] | None
) -> list[list[int]]:
    """The information of each level of each hierarchy, times one number that makes all of them whole: fast and exact."""
    base_weights = [None] * len(hierarchies) if weights is None else weights
    shares = [
        [level_information(hierarchy, level, base_weight) for level in range(hierarchy.height + 1)]
        for hierarchy, base_weight in zip(hierarchies, base_weights)
    ]
    whole = lcm(*(share.denominator for attribute_shares in shares for share in attribute_shares))
    return [[int(share * whole) for share in attribute_shares] for attribute_shares in shares]


def _by_information(nodes: Iterable[tuple[int, ...]], retained: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    def rank(levels: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
        return -sum(retained_by_level[level] for retained_by_level, level in zip(retained, levels)), levels

    return tuple(sorted(nodes, key=rank))


def average_class_size(sizes: CountArray) -> float:
    """Mean number of rows in a class; 0 when there is none."""
    return float(sizes.sum() / len(sizes)) if len(sizes) else 0.0


def discernibility(sizes: CountArray, suppressed: int = 0) -> int:
    """Sum over the rows of how many rows look the same; each suppressed row costs as many as there are in all.

    sizes: rows of each class. Exact for any count.
    """
    squares: int = sum(size * size for size in sizes.tolist())
    return squares + suppressed * (int(sizes.sum()) + suppressed)


def classification_metric(counts: NDArray[Any]) -> int:
    """Rows whose label is not the most frequent one of their class. counts: class by label, shape (classes, labels)."""
    return int(counts.sum() - counts.max(axis=1, initial=0).sum())
