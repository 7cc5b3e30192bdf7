"""Knowledge of attackers about people, and the people whom a disclosed record may be about (LSFB09 section 3)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from models.arrays import CodeArray, CountArray, FloatArray, IndexArray, read_only, read_only_copy, whole_numbers
from models.errors import DomainMismatchError
from models.frozen import frozen
from models.tables.contingency_table import group, look_up, pack
from models.tables.generalized_cells import Taxonomy, taxonomy_nodes
from models.tables.hierarchy import Domain

# Records whose values may each be generalized to a level of its own, suppressed ones included (LSFB09 section 3). A value is
# a node of its attribute's taxonomy. A table, its disclosure and a dictionary consist of such records.


@frozen
class RecordSpace:
    """Set of all records over a domain, the paper's X. Equal for equal domains.

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
        """Level of `*` of each attribute: shape (attributes,)."""
        return read_only(np.array([h.height for h in self.domain.hierarchies], dtype=np.intp))

    @cached_property
    def roots(self) -> IndexArray:
        """Suppressed record: shape (attributes,)."""
        return read_only(np.array([t.root for t in self.taxonomies], dtype=np.intp))

    @cached_property
    def sizes(self) -> list[int]:
        """The number of nodes of each attribute."""
        return [taxonomy.size for taxonomy in self.taxonomies]

    @cached_property
    def ancestors(self) -> tuple[IndexArray, ...]:
        """Node that generalizes each node to each level, per attribute: shape (levels, nodes).

        A node above that level stays as it is.
        """
        result = []
        for taxonomy in self.taxonomies:
            above = [np.arange(taxonomy.size)]
            for level in range(taxonomy.hierarchy.height):
                above.append(np.where(taxonomy.levels[above[-1]] <= level, taxonomy.parents[above[-1]], above[-1]))
            result.append(read_only(np.stack(above).astype(np.intp)))
        return tuple(result)

    def level_vectors(self) -> IndexArray:
        """Return all level vectors, the finest first: shape (vectors, attributes)."""
        return np.indices((self.heights + 1).tolist()).reshape(len(self), -1).T.astype(np.intp)


@frozen(eq=False)
class Records:
    """Records of a space. nodes: shape (records, attributes), copied in.

    Raises DomainMismatchError for a node that is out of range or no whole number.
    """

    space: RecordSpace
    nodes: IndexArray

    def __post_init__(self) -> None:
        nodes = np.asfortranarray(taxonomy_nodes(self.nodes, self.space.taxonomies))
        object.__setattr__(self, "nodes", read_only(nodes))

    @classmethod
    def from_codes(cls, space: RecordSpace, codes: Mapping[str, CodeArray]) -> "Records":
        """Return records with base values. codes: for some attributes, shape (records,); the others are suppressed.

        Raises DomainMismatchError for an unknown attribute.
        """
        nodes = np.tile(space.roots, (len(next(iter(codes.values()), ())), 1))
        for attribute, column in codes.items():
            nodes[:, space.domain.index(attribute)] = column
        return cls(space, nodes)

    @classmethod
    def _derived(cls, space: RecordSpace, nodes: IndexArray) -> "Records":
        """Build records without a check or copy of their nodes. nodes: with contiguous columns."""
        derived = object.__new__(cls)
        object.__setattr__(derived, "space", space)
        object.__setattr__(derived, "nodes", read_only(nodes))
        return derived

    def __len__(self) -> int:
        """Number of records."""
        return len(self.nodes)

    def __repr__(self) -> str:
        return f"Records({len(self)} over {', '.join(self.space.domain.attributes)})"

    def __getitem__(self, rows: NDArray[np.integer]) -> "Records":
        """Return some of the records, by number or mask."""
        return Records._derived(self.space, self.nodes.T[:, rows].T)

    @cached_property
    def levels(self) -> IndexArray:
        """Level of each value: shape (records, attributes)."""
        columns = [t.levels[column] for t, column in zip(self.space.taxonomies, self.nodes.T)]
        return read_only(np.asfortranarray(np.stack(columns, axis=1)))

    @cached_property
    def level_vector(self) -> IndexArray | None:
        """Levels of all records; None if they differ, or if there is no record."""
        is_one = len(self) > 0 and np.array_equal(self.levels.min(axis=0), self.levels.max(axis=0))
        return self.levels[0] if is_one else None

    def generalized(self, levels: IndexArray | Sequence[int]) -> "Records":
        """Return the records with values at these levels if they are finer.

        levels: one level vector, or one for each record, shape (records, attributes).
        """
        of_record = np.asarray(levels, dtype=np.intp)
        columns = [
            above[level][nodes] if of_record.ndim == 1 else above[level, nodes]  # the first is five times as fast
            for above, level, nodes in zip(self.space.ancestors, of_record.T, self.nodes.T, strict=True)
        ]
        return Records._derived(self.space, np.stack(columns).T)

    def labels(self) -> dict[str, NDArray[np.object_]]:
        """Return the label of each value: for each attribute an array of texts, shape (records,)."""
        columns = zip(self.space.domain.attributes, self.space.taxonomies, self.nodes.T)
        return {attribute: np.array(taxonomy.labels, dtype=object)[nodes] for attribute, taxonomy, nodes in columns}

    def distinct(self) -> tuple["Records", IndexArray]:
        """Return the distinct records, and for each record the number of its distinct one."""
        first, number = group(*pack(list(self.nodes.T), self.space.sizes, len(self)))
        return self[first], number

    def by_levels(self) -> Iterator[tuple[IndexArray, IndexArray]]:
        """Yield each level vector that occurs, and the numbers of the records that have it."""
        first, number = group(*pack(list(self.levels.T), (self.space.heights + 1).tolist(), len(self)))
        order = np.argsort(number, kind="stable")
        for row, rows in zip(first, np.split(order, np.searchsorted(number[order], np.arange(1, len(first))))):
            yield self.levels[row], rows

    def is_below(self, other: "Records") -> NDArray[np.bool_]:
        """Return whether each record equals the other's or refines it, x_k <= y_k for all k: shape (records,)."""
        return np.asarray((self.generalized(other.levels).nodes == other.nodes).all(axis=1))

    def is_consistent_with(self, other: "Records") -> NDArray[np.bool_]:
        """Return whether each record and the other's may be of one person: in each attribute one value covers the
        other.

        Shape (records,); a suppressed value agrees with all.
        """
        shared = np.maximum(self.levels, other.levels)
        return np.asarray((self.generalized(shared).nodes == other.generalized(shared).nodes).all(axis=1))


def distance_from_root(records: Records) -> FloatArray:
    """Return the utility u(y) of each record: the steps from `*` down to its values, summed (LSFB09 7.2)."""
    return np.asarray((records.space.heights - records.levels).sum(axis=1), dtype=np.float64)


# Dictionaries: an attacker's knowledge of people (LSFB09 section 3.2). An entry and a disclosed record are consistent if in
# each attribute one value covers the other in the hierarchy; a suppressed value agrees with everything.

DictionaryPart = tuple[IndexArray, tuple[CodeArray, ...], CountArray]
"""Level vector with its distinct entries: nodes by attribute and how often each occurs, shape (cells,) each."""


@frozen(eq=False)
class Dictionary:
    """Attacker's dictionary: one entry for each of some people.

    identifiers: numbers that name the person of each entry, shape (entries,), distinct; needed only to compare
    dictionaries. Raises DomainMismatchError if there is not one per entry.
    """

    entries: Records
    identifiers: CountArray | None = None

    def __post_init__(self) -> None:
        if self.identifiers is not None:
            identifiers = read_only_copy(whole_numbers(self.identifiers, "identifiers"))
            if identifiers.shape != (len(self.entries),):
                raise DomainMismatchError("a dictionary needs one identifier for each entry")
            if len(np.unique(identifiers)) != len(identifiers):
                raise DomainMismatchError("a dictionary has two entries of one identifier")
            object.__setattr__(self, "identifiers", identifiers)

    def __len__(self) -> int:
        """Number of entries."""
        return len(self.entries)

    @property
    def space(self) -> RecordSpace:
        """Records that entries are compared with."""
        return self.entries.space

    @cached_property
    def parts(self) -> tuple[DictionaryPart, ...]:
        """Entries by level vector."""
        parts = []
        for levels, rows in self.entries.by_levels():
            columns = [column[rows].astype(np.int32) for column in self.entries.nodes.T]
            first, number = group(*pack(columns, self.space.sizes, len(rows)))
            parts.append((levels, tuple(column[first] for column in columns), np.bincount(number)))
        return tuple(parts)


def identification_probability(counts: CountArray) -> FloatArray:
    """Return p(Z = 1) of a guess among the consistent entries; 0 if there is none (LSFB09 section 3.2)."""
    return np.divide(1.0, counts, out=np.zeros(len(counts)), where=counts > 0)


def consistent_counts(records: Records, dictionary: Dictionary) -> CountArray:
    """Count the entries that are consistent with each record, `|rho(y, theta)|`: shape (records,).

    Parameters
    ----------
    records
        Disclosed records.
    dictionary
        The attacker's entries.

    Raises
    ------
    DomainMismatchError
        If the records are of another space.
    """
    distinct, number = records.distinct()
    counts = np.zeros(len(distinct), dtype=np.int64)
    for part in _parts_over(records.space, dictionary):
        # A value below the entry's counts as the entry's value, because the entry says no more.
        sought, place = distinct.generalized(part[0]).distinct()
        counts += _count_equal_entries(sought, part)[place]
    return counts[number]


def _parts_over(space: RecordSpace, dictionary: Dictionary) -> tuple[DictionaryPart, ...]:
    if space != dictionary.space:
        raise DomainMismatchError("the records and the dictionary have different attributes or hierarchies")
    return dictionary.parts


def _count_equal_entries(sought: Records, part: DictionaryPart) -> CountArray:
    """Count for each of some distinct records the entries that equal it at its levels: shape (records,).

    Attribute by attribute, records and entries that agree so far get the same number. Entries that agree with no record
    are dropped, and records that show the attribute at different levels are separated.
    """
    space, occurrences = sought.space, np.zeros(len(sought), dtype=np.int64)
    _, part_columns, counts = part
    # After an attribute with many values few entries remain.
    axes = np.argsort([-h.size(0) for h in space.domain.hierarchies], kind="stable").tolist()
    rows, cells = np.arange(len(sought)), np.arange(len(counts))
    waiting = [(rows, 0 * rows, 1, cells, 0 * cells, counts, axes)]
    while waiting:
        rows, number, numbers, cells, of_cells, counts, axes = waiting.pop()
        if not axes:
            occurrences[rows] = np.bincount(of_cells, counts, numbers)[number]
            continue
        axis, *axes = axes
        size, column = space.sizes[axis], part_columns[axis][cells]
        levels = sought.levels[rows, axis]
        for level in np.unique(levels).tolist():
            chosen = rows[levels == level]
            keys, new = np.unique(number[levels == level] * size + sought.nodes[chosen, axis], return_inverse=True)
            place, is_found = look_up(of_cells * size + space.ancestors[axis][level][column], keys)
            left, places, left_counts = cells[is_found], place[is_found], counts[is_found]
            sizes = [len(keys), *(space.sizes[other] for other in axes)]
            if float(np.prod(sizes, dtype=float)) < len(left):  # some are certainly equal in all remaining attributes
                columns = [places, *(part_columns[other][left] for other in axes)]
                first, number_left = group(*pack(columns, sizes, len(left)))
                left_counts = np.bincount(number_left, left_counts).astype(np.int64)
                left, places = left[first], places[first]
            waiting.append((chosen, new, len(keys), left, places, left_counts, axes))
    return occurrences


def walk_counts(records: Records, dictionary: Dictionary) -> Callable[[IndexArray], CountArray]:
    """Return a function that counts the entries consistent with each record at a level vector: shape (records,).

    It is fastest for vectors in ascending order. Then the cells of records and entries at a level vector are merged
    from those at a finer one, which are few already. Raises DomainMismatchError for records of another space.
    """
    parts = _parts_over(records.space, dictionary)
    walks = [(rows, _walk_part(records[rows], levels, part)) for levels, rows in records.by_levels() for part in parts]

    def count(levels: IndexArray) -> CountArray:
        counts = np.zeros(len(records), dtype=np.int64)
        for rows, count_part in walks:
            counts[rows] += count_part(levels)
        return counts

    return count


_Cells = tuple[list[CodeArray], CountArray, IndexArray]
"""Codes by attribute and the number of entries, shape (cells,) each; the cell of each record."""


def _walk_part(records: Records, levels: IndexArray, part: DictionaryPart) -> Callable[[IndexArray], CountArray]:
    space, (entry_levels, entry_columns, entry_counts) = records.space, part
    axes = np.flatnonzero(np.maximum(levels, entry_levels) < space.heights)
    hierarchies = [space.domain.hierarchies[axis] for axis in axes]
    finest = np.maximum(levels, entry_levels)[axes]

    # The latest cells by the last lifted attribute; ascending vectors continue from them.
    latest: dict[int, tuple[list[int], _Cells]] = {}

    def cells(levels: list[int]) -> _Cells:
        place = int(max(np.flatnonzero(np.array(levels) > finest), default=-1))
        if place in latest and latest[place][0] == levels:
            return latest[place][1]
        if place < 0:
            columns, cell_of = [], np.arange(len(records))
            for axis, level in zip(axes, finest):
                above = (space.ancestors[axis][level] - space.taxonomies[axis].offsets[level]).astype(np.int32)
                columns.append(np.concatenate([above[records.nodes[:, axis]], above[entry_columns[axis]]]))
            counts = np.concatenate([0 * cell_of, entry_counts])
        else:
            columns, counts, cell_of = cells([*levels[:place], levels[place] - 1, *levels[place + 1 :]])
            above = hierarchies[place].lift(levels[place] - 1, levels[place]).astype(np.int32)
            columns = [*columns[:place], above[columns[place]], *columns[place + 1 :]]
        sizes = [hierarchy.size(level) for hierarchy, level in zip(hierarchies, levels)]
        first, number = group(*pack(columns, sizes, len(counts)))
        if len(first) < len(counts):
            counts = np.bincount(number, counts, minlength=len(first)).astype(np.int64)
            columns, cell_of = [column[first] for column in columns], number[cell_of]
        latest[place] = levels, (columns, counts, cell_of)
        return latest[place][1]

    def count(levels: IndexArray) -> CountArray:
        _, counts, cell_of = cells(np.maximum(levels[axes], finest).tolist())
        return counts[cell_of]

    return count
