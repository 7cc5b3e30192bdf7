"""Records whose values may each be generalized to a level of its own, suppressed ones included (LSFB09 section 3).

A value is a node of its attribute's taxonomy (`models.tables.taxonomy`). The same kind of record is what a table holds, what
is disclosed of it, and what an attacker's dictionary says of somebody.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from models.arrays import CodeArray, FloatArray, IndexArray, read_only
from models.checked_arrays import whole_numbers
from models.errors import DomainMismatchError
from models.tables.domain import Domain
from models.tables.mixed_radix import group, pack
from models.tables.taxonomy import Taxonomy


@dataclass(frozen=True)
class RecordSpace:
    """The set of all records over a domain, the paper's X. Equal for equal domains.

    A *level vector* gives a level for each attribute, in the domain's order.
    """

    domain: Domain

    def __len__(self) -> int:
        """Number of attributes."""
        return len(self.domain.attributes)

    @cached_property
    def taxonomies(self) -> tuple[Taxonomy, ...]:
        """The taxonomy of each attribute."""
        return tuple(map(Taxonomy, self.domain.hierarchies))

    @cached_property
    def heights(self) -> IndexArray:
        """The level of `*` of each attribute: shape (attributes,)."""
        return read_only(np.array([h.height for h in self.domain.hierarchies], dtype=np.intp))

    @cached_property
    def roots(self) -> IndexArray:
        """The suppressed record: shape (attributes,)."""
        return read_only(np.array([t.root for t in self.taxonomies], dtype=np.intp))

    @cached_property
    def ancestors(self) -> tuple[IndexArray, ...]:
        """For each attribute, by level and node, the node that generalizes it to that level: shape (levels, nodes).

        A node above that level stays as it is.
        """
        return tuple(read_only(_ancestors(taxonomy)) for taxonomy in self.taxonomies)

    def level_vectors(self) -> IndexArray:
        """All level vectors, the finest first: shape (vectors, attributes)."""
        return np.indices((self.heights + 1).tolist()).reshape(len(self), -1).T.astype(np.intp)


def _ancestors(taxonomy: Taxonomy) -> IndexArray:
    above = [np.arange(taxonomy.size)]
    for level in range(taxonomy.hierarchy.height):
        above.append(np.where(taxonomy.levels[above[-1]] <= level, taxonomy.parents[above[-1]], above[-1]))
    return np.stack(above).astype(np.intp)


@dataclass(frozen=True, eq=False)
class Records:
    """Records of a space. nodes: shape (records, attributes), copied in.

    Raises DomainMismatchError for a node that is out of range or no whole number.
    """

    space: RecordSpace
    nodes: IndexArray

    def __post_init__(self) -> None:
        nodes = np.array(whole_numbers(self.nodes, "nodes"), dtype=np.intp, order="F")
        if nodes.ndim != 2 or nodes.shape[1] != len(self.space):
            raise DomainMismatchError(f"records need one node for each of {len(self.space)} attributes")
        if len(nodes) and (nodes.min() < 0 or np.any(nodes.max(axis=0) > self.space.roots)):
            raise DomainMismatchError("a node lies outside its taxonomy")
        object.__setattr__(self, "nodes", read_only(nodes))

    @classmethod
    def from_codes(cls, space: RecordSpace, codes: Mapping[str, CodeArray]) -> "Records":
        """Records with base values. codes: for some attributes, shape (records,); the others are suppressed."""
        for attribute in codes:
            space.domain.index(attribute)
        length = len(next(iter(codes.values()))) if codes else 0
        nodes = np.tile(space.roots, (length, 1))
        for axis, attribute in enumerate(space.domain.attributes):
            if attribute in codes:
                nodes[:, axis] = codes[attribute]
        return cls(space, nodes)

    @classmethod
    def _derived(cls, space: RecordSpace, nodes: IndexArray) -> "Records":
        """What follows from records, which needs no second check: nodes with contiguous columns, kept as they are."""
        made = object.__new__(cls)
        object.__setattr__(made, "space", space)
        object.__setattr__(made, "nodes", read_only(nodes))
        return made

    def __len__(self) -> int:
        """Number of records."""
        return len(self.nodes)

    def __repr__(self) -> str:
        return f"Records({len(self)} over {', '.join(self.space.domain.attributes)})"

    def __getitem__(self, rows: NDArray[np.integer]) -> "Records":
        """Some of the records, by number or mask."""
        return Records._derived(self.space, self.nodes.T[:, rows].T)

    @cached_property
    def levels(self) -> IndexArray:
        """The level of each value: shape (records, attributes)."""
        columns = [t.levels[column] for t, column in zip(self.space.taxonomies, self.nodes.T)]
        return read_only(np.asfortranarray(np.stack(columns, axis=1)))

    @cached_property
    def level_vector(self) -> IndexArray | None:
        """The levels that all records have; None where they differ, or there is no record."""
        if not len(self):
            return None
        # Nodes are numbered level by level, so that the levels of the first and of the last node bound all others.
        ends = zip(self.space.taxonomies, self.nodes.min(axis=0), self.nodes.max(axis=0))
        lowest, highest = np.array([taxonomy.levels[[first, last]] for taxonomy, first, last in ends]).T
        return read_only(lowest) if np.array_equal(lowest, highest) else None

    def generalized(self, levels: IndexArray | Sequence[int]) -> "Records":
        """The records with values at these levels where they are finer.

        levels: one level vector, or one for each record, shape (records, attributes).
        """
        of_record = np.asarray(levels, dtype=np.intp)
        # One level for all is looked up in a fifth of the time.
        columns = [
            above[level][nodes] if of_record.ndim == 1 else above[level, nodes]
            for above, level, nodes in zip(self.space.ancestors, of_record.T, self.nodes.T, strict=True)
        ]
        return Records._derived(self.space, np.stack(columns).T)

    def labels(self) -> dict[str, NDArray[np.object_]]:
        """The label of each value: for each attribute an array of texts, shape (records,)."""
        columns = zip(self.space.domain.attributes, self.space.taxonomies, self.nodes.T)
        return {attribute: np.array(taxonomy.labels, dtype=object)[nodes] for attribute, taxonomy, nodes in columns}

    def distinct(self) -> tuple["Records", IndexArray]:
        """The different records among them, and for each record the number of its own among those."""
        first, number = group(*pack(list(self.nodes.T), (self.space.roots + 1).tolist(), len(self)))
        return self[first], number

    def by_levels(self) -> Iterator[tuple[IndexArray, IndexArray]]:
        """Each level vector that occurs, and the numbers of the records that have it."""
        first, number = group(*pack(list(self.levels.T), (self.space.heights + 1).tolist(), len(self)))
        order = np.argsort(number, kind="stable")
        for row, rows in zip(first, np.split(order, np.searchsorted(number[order], np.arange(1, len(first))))):
            yield self.levels[row], rows

    def is_below(self, other: "Records") -> NDArray[np.bool_]:
        """Whether each record is the other's or a refinement of it, x_k <= y_k for all k: shape (records,)."""
        return np.asarray((self.generalized(other.levels).nodes == other.nodes).all(axis=1))

    def is_consistent_with(self, other: "Records") -> NDArray[np.bool_]:
        """Whether each record and the other's could be of one person: in each attribute one value is over the other.

        Shape (records,); a suppressed value agrees with all.
        """
        shared = np.maximum(self.levels, other.levels)
        return np.asarray((self.generalized(shared).nodes == other.generalized(shared).nodes).all(axis=1))


def distance_from_root(records: Records, weights: Sequence[float] | None = None) -> FloatArray:
    """The utility u(y) of each record: the steps from `*` down to its values, summed (LSFB09 7.2).

    weights: what one step is worth in each attribute; 1 where nothing is said.
    """
    steps = records.space.heights - records.levels
    return np.asarray(
        steps @ np.ones(len(records.space)) if weights is None else steps @ np.asarray(weights, dtype=float)
    )
