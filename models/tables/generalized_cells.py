"""Generalized cells: counts of rows where each cell has levels of its own, as local recoding leaves them (TZ09).

A contingency table shows an attribute at one level throughout. Here one cell may say `age 23` and another `age 20-29`,
and the second holds rows that the first could have held: cells may overlap.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from models.arrays import CodeArray, CountArray, FloatArray, IndexArray, read_only_copy
from models.checked_arrays import whole_counts
from models.errors import DomainMismatchError
from models.tables.coded_cells import CodedCells
from models.tables.contingency_table import ContingencyTable
from models.tables.domain import Domain
from models.tables.information import information
from models.tables.mixed_radix import pack, tally
from models.tables.taxonomy import Taxonomy, taxonomy_nodes
from models.x_log_x import x_log_x


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

    def _at_levels(self, levels: IndexArray, cells: IndexArray) -> CodedCells:
        """Some of the cells, which have these levels, by their codes there."""
        margin = dict(zip(self.domain.attributes, levels.tolist()))
        codes = {
            attribute: nodes[cells] - taxonomy.offsets[margin[attribute]]
            for attribute, taxonomy, nodes in zip(self.domain.attributes, self.taxonomies, self.nodes.T)
        }
        return CodedCells(self.domain, margin, codes, len(cells))

    def probability(self, codes: Mapping[str, CodeArray]) -> FloatArray:
        """The probability of base cells when each cell spreads its rows evenly over the base cells that it covers.

        codes: for each attribute of the domain, base codes of shape (n,). This is the maximum-entropy distribution of
        one generalized table (MKGV07 section 6), taken row by row.
        """
        length = len(codes[self.domain.attributes[0]])
        density = self.counts / self.leaf_counts.prod(axis=1, dtype=np.float64) / max(self.total, 1)
        probability = np.zeros(length)
        base = CodedCells(self.domain, dict.fromkeys(self.domain.attributes, 0), codes, length)
        for levels, cells in self._recodings():
            places, found = base.look_up(self._at_levels(levels, cells))
            probability += np.where(found, density[cells[places]], 0.0)
        return probability

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
