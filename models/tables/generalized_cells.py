"""Generalized cells: counts of rows where each cell has levels of its own, as local recoding leaves them (TZ09).

One cell may say `age 23` and another `age 20-29`. The second has rows that might belong to the first, so cells may
overlap.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate

import numpy as np
import numpy.typing as npt

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
from models.frozen import frozen
from models.tables.contingency_table import Cells, ContingencyTable, group, pack, tallied
from models.tables.hierarchy import Domain, Hierarchy


@frozen
class Taxonomy:
    """Values of a hierarchy at all of its levels, as the nodes of one tree (TZ09 section II).

    Nodes are numbered level by level: the leaves, which are the base values, are the nodes 0, 1, ..., and `*` is the
    last.

    hierarchy: hierarchy of one attribute.

    >>> taxonomy = Taxonomy(Hierarchy.from_rows([("flu", "lung", "*"), ("cold", "lung", "*"), ("cyst", "skin", "*")]))
    >>> taxonomy.labels
    ('flu', 'cold', 'cyst', 'lung', 'skin', '*')
    >>> taxonomy.leaf_counts.tolist()
    [1, 1, 1, 2, 1, 3]
    """

    hierarchy: Hierarchy

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """Number of the first node of each level, and after them the number of all nodes."""
        return tuple(accumulate(map(len, self.hierarchy.labels), initial=0))

    @property
    def size(self) -> int:
        """Number of nodes."""
        return self.offsets[-1]

    @property
    def root(self) -> int:
        """Node of `*`."""
        return self.size - 1

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Label of each node; a level that merges nothing repeats the labels below it."""
        return tuple(label for labels in self.hierarchy.labels for label in labels)

    @cached_property
    def levels(self) -> IndexArray:
        """Level of each node: shape (nodes,)."""
        return read_only(np.repeat(np.arange(len(self.hierarchy.labels)), list(map(len, self.hierarchy.labels))))

    @cached_property
    def leaf_counts(self) -> CountArray:
        """Number of base values under each node: shape (nodes,)."""
        counts = [self.hierarchy.leaf_counts(level) for level in range(self.hierarchy.height + 1)]
        return read_only(np.concatenate(counts))

    @cached_property
    def parents(self) -> IndexArray:
        """Node above each node, `*` above itself: shape (nodes,)."""
        above = [np.array(parents) + offset for parents, offset in zip(self.hierarchy.parents, self.offsets[1:])]
        return read_only(np.concatenate([*above, [self.root]]).astype(np.intp))

    @cached_property
    def plainest(self) -> IndexArray:
        """Lowest node with the same label and leaves as each node, so that equal readings are one node."""
        nodes = np.arange(self.size)
        children = np.bincount(self.parents[:-1], minlength=self.size)
        for node, parent in enumerate(self.parents[:-1].tolist()):
            if children[parent] == 1 and self.labels[node] == self.labels[parent]:
                nodes[parent] = nodes[node]
        return read_only(nodes)

    def at_level(self, level: int) -> IndexArray:
        """Return for each base value its node at a level: shape (leaves,)."""
        return np.asarray(self.hierarchy.lift(0, level), dtype=np.intp) + self.offsets[level]

    def shares_under(self, node: int) -> FloatArray:
        """Return the share of the leaves of each node that lies under a given one: shape (nodes,)."""
        inside = self.at_level(int(self.levels[node])) == node
        under = np.concatenate([self.at_level(level)[inside] for level in range(self.hierarchy.height + 1)])
        return np.asarray(np.bincount(under, minlength=self.size) / self.leaf_counts)


def taxonomy_nodes(nodes: npt.ArrayLike, taxonomies: Sequence[Taxonomy]) -> IndexArray:
    """Return a read-only copy of nodes, one column for each taxonomy: shape (n, taxonomies).

    Raises DomainMismatchError for another shape, for numbers that are not whole, and for a node outside its taxonomy.
    """
    columns = np.array(whole_numbers(nodes, "nodes"), dtype=np.intp)
    if columns.ndim != 2 or columns.shape[1] != len(taxonomies):
        raise DomainMismatchError(f"nodes need one column for each of {len(taxonomies)} attributes")
    if len(columns) and (columns.min() < 0 or np.any(columns.max(axis=0) >= [t.size for t in taxonomies])):
        raise DomainMismatchError("a node lies outside its taxonomy")
    return read_only(columns)


def _nodes_and_counts(
    nodes: npt.ArrayLike, counts: npt.ArrayLike, taxonomies: Sequence[Taxonomy]
) -> tuple[IndexArray, CountArray]:
    checked, rows = taxonomy_nodes(nodes, taxonomies), whole_counts(counts)
    if len(checked) != len(rows):
        raise DomainMismatchError(f"{len(rows)} counts came with the nodes of {len(checked)} cells")
    return checked, rows


def _leaf_counts(taxonomies: Sequence[Taxonomy], nodes: IndexArray) -> CountArray:
    return np.stack([taxonomy.leaf_counts[column] for taxonomy, column in zip(taxonomies, nodes.T)], axis=1)


def information(leaf_counts: CountArray, counts: CountArray) -> float:
    """Return I(G), the information of all rows, whose values may be generalized row by row (TZ09 Def. 5).

    A value that stands for n base values retains 1/n of the information of a base value. leaf_counts: the n of each
    value, shape (cells, attributes). counts: rows, shape (cells,).
    """
    return float((counts[:, None] / leaf_counts).sum())


@frozen(eq=False)
class GeneralizedCells:
    """Nonempty cells over all attributes of a domain, with their counts. Arrays are copied in.

    domain: attributes with their hierarchies. nodes: nodes of the taxonomies, shape (cells, attributes); cells are
    distinct and ascend. counts: positive, shape (cells,). Raises DomainMismatchError if cells or counts are not so;
    `from_rows` takes cells in any order.
    """

    domain: Domain
    nodes: IndexArray
    counts: CountArray

    def __post_init__(self) -> None:
        nodes, counts = _nodes_and_counts(self.nodes, self.counts, self.taxonomies)
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
        """Build cells from rows in any order; repeated rows are summed, empty ones dropped, and equal readings become
        one node.

        Raises DomainMismatchError for nodes or counts that are out of range or no whole numbers.
        """
        taxonomies = [Taxonomy(hierarchy) for hierarchy in domain.hierarchies]
        nodes, counts = _nodes_and_counts(nodes, counts, taxonomies)
        plain = [taxonomy.plainest[column] for taxonomy, column in zip(taxonomies, nodes.T)]
        columns, totals = tallied(plain, [taxonomy.size for taxonomy in taxonomies], counts)
        return cls(domain, np.stack(columns, axis=1, dtype=np.intp)[totals > 0], totals[totals > 0])

    @classmethod
    def of(cls, table: ContingencyTable) -> "GeneralizedCells":
        """Return the cells of a table; attributes that it does not show are suppressed."""
        return cls.from_rows(table.domain, nodes_of(table), table.counts)

    def __len__(self) -> int:
        return len(self.counts)

    def __repr__(self) -> str:
        return f"GeneralizedCells({len(self)} cells, {self.total} rows)"

    @cached_property
    def taxonomies(self) -> tuple[Taxonomy, ...]:
        """Taxonomy of each attribute, in the domain's order."""
        return tuple(map(Taxonomy, self.domain.hierarchies))

    @cached_property
    def total(self) -> int:
        """Number of rows."""
        return int(self.counts.sum())

    @cached_property
    def leaf_counts(self) -> CountArray:
        """Number of base values that each value covers: shape (cells, attributes)."""
        return _leaf_counts(self.taxonomies, self.nodes)

    def labels(self, cell: int) -> tuple[str, ...]:
        """Return the published labels of one cell, in the domain's order."""
        return tuple(t.labels[node] for t, node in zip(self.taxonomies, self.nodes[cell].tolist()))

    @property
    def information_utility(self) -> float:
        """Share of the base table's information that is retained, `um` (TZ09 Def. 5)."""
        return information(self.leaf_counts, self.counts) / max(self.total * len(self.domain.attributes), 1)

    def _recodings(self) -> Iterator[Cells]:
        """Yield, for each combination of levels that occurs, the probability of each base cell under its cells."""
        density = self.counts / self.leaf_counts.prod(axis=1, dtype=np.float64) / max(self.total, 1)
        heights = [hierarchy.height + 1 for hierarchy in self.domain.hierarchies]
        of_values = np.stack([t.levels[column] for t, column in zip(self.taxonomies, self.nodes.T)])
        first, number = group(*pack(list(of_values), heights, len(self)))
        parts = np.split(np.argsort(number, kind="stable"), np.cumsum(np.bincount(number))[:-1])
        for levels, cells in zip(of_values.T[first].tolist(), parts):
            nodes = zip(self.taxonomies, levels, self.nodes[cells].T)
            codes = tuple(column - taxonomy.offsets[level] for taxonomy, level, column in nodes)
            yield Cells(self.domain, dict(zip(self.domain.attributes, levels)), codes, density[cells])

    def probability(self, codes: Mapping[str, CodeArray]) -> FloatArray:
        """Return the probability of base cells if each cell spreads its rows evenly over the base cells that it covers.

        codes: for each attribute of the domain, base codes of shape (n,). This is the maximum-entropy distribution of
        one generalized table (MKGV07 section 6), row by row.
        """
        base = Cells.of(self.domain, dict.fromkeys(self.domain.attributes, 0), codes)
        return np.asarray(sum((cells.counts_in(base) for cells in self._recodings()), np.zeros(len(base))))

    def random_base_rows(self, rng: "np.random.Generator") -> IndexArray:
        """Draw as many base rows as there are rows, each from the base cells that it may belong to.

        Returns codes, shape (rows, attributes).
        """
        drawn = []
        for taxonomy, column in zip(self.taxonomies, np.repeat(self.nodes, self.counts, axis=0).T):
            of_levels = [taxonomy.at_level(level) for level in range(taxonomy.hierarchy.height + 1)]
            leaves, counts = np.argsort(of_levels, kind="stable").ravel(), taxonomy.leaf_counts
            drawn.append(leaves[(np.cumsum(counts) - counts)[column] + rng.integers(counts[column])])
        return np.stack(drawn, axis=1)

    def kl_divergence(self, base: ContingencyTable) -> float:
        """Return KL(p || q) in nats of the base table's distribution p from `probability`; infinite if q misses a row."""
        shares = base.counts / max(base.total, 1)
        estimated = self.probability(dict(zip(base.attributes, base.codes)))
        with np.errstate(divide="ignore"):
            divergence = float(x_log_x(shares).sum() - shares @ np.log(estimated))
        return max(divergence, 0.0)


def nodes_of(table: ContingencyTable) -> IndexArray:
    """Return the nodes that each cell of a table shows, `*` for other attributes: shape (cells, attributes)."""
    nodes = np.empty((len(table), len(table.domain.attributes)), dtype=np.intp)
    for axis, (attribute, hierarchy) in enumerate(table.domain.items()):
        level = table.margin.get(attribute, hierarchy.height)
        nodes[:, axis] = table.column(attribute) if attribute in table.margin else 0
        nodes[:, axis] += Taxonomy(hierarchy).offsets[level]
    return nodes


def information_utility(
    table: ContingencyTable, attributes: Iterable[str] | None = None, row_count: int | None = None
) -> float:
    """Return the share `um` = I(G) / I(O) of the information of the original rows that a table retains.

    Parameters
    ----------
    table
        Counts of a margin; attributes that it does not show are suppressed.
    attributes
        Attributes that count, by default all of the domain.
    row_count
        Rows of the original table, if some were dropped.

    Returns
    -------
    float
        From 0 to 1; 0 if there are no rows.

    References
    ----------
    TZ09 Def. 5.
    """
    counted = list(map(table.domain.index, table.domain.attributes if attributes is None else attributes))
    leaf_counts = _leaf_counts(list(map(Taxonomy, table.domain.hierarchies)), nodes_of(table))[:, counted]
    original = (table.total if row_count is None else row_count) * len(counted)
    return information(leaf_counts, table.counts) / original if original else 0.0
