"""Dictionaries: what an attacker knows of people, and whom a disclosed record may be about (LSFB09 section 3.2).

An entry and a disclosed record are consistent when in each attribute one value is over the other in the hierarchy;
suppressed agrees with everything. Entries are counted by generalized value, one combination of levels after the other:
by a packed key where all records have the same levels, else attribute by attribute, and only where few are left are they
compared with each record.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from checks.risk.record import Records, RecordSpace
from models.arrays import CodeArray, CountArray, FloatArray, IndexArray, read_only, read_only_copy
from models.checked_arrays import whole_numbers
from models.errors import DomainMismatchError
from models.tables.mixed_radix import pack, tally

ENTRIES = 4
"""So many entries for each record are all counted by a packed key; of more, most agree with no record."""

PAIRS = 1 << 16
"""So many pairs of a record and an entry are compared one by one, which is faster than telling them apart by attribute."""


@dataclass(frozen=True, eq=False)
class Dictionary:
    """One entry for each of some people.

    identifiers: numbers that name the person of each entry, shape (entries,), distinct; needed only to compare
    dictionaries. Raises DomainMismatchError where they are not one a person.
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
        """The records that entries are compared with."""
        return self.entries.space

    @cached_property
    def parts(self) -> tuple["DictionaryPart", ...]:
        """The entries by level vector."""
        return tuple(_part(self.entries, levels, rows) for levels, rows in self.entries.by_levels())

    def consistent_with(self, record: Records) -> IndexArray:
        """The numbers of the entries that are consistent with one record, the paper's rho."""
        repeated = Records(self.space, np.broadcast_to(record.nodes, self.entries.nodes.shape))
        return np.flatnonzero(self.entries.is_consistent_with(repeated))


@dataclass(frozen=True, eq=False)
class DictionaryPart:
    """The entries of one level vector, equal ones merged. columns: nodes by attribute, shape (cells,) each."""

    levels: IndexArray
    columns: tuple[CodeArray, ...]
    counts: CountArray


def _part(entries: Records, levels: IndexArray, rows: IndexArray) -> DictionaryPart:
    sizes = [taxonomy.size for taxonomy in entries.space.taxonomies]
    columns = [column[rows].astype(np.int32) for column in entries.nodes.T]
    first, counts = tally(*pack(columns, sizes, len(rows)), np.ones(len(rows), dtype=np.int64))
    return DictionaryPart(levels, tuple(read_only(column[first]) for column in columns), read_only(counts))


def consistent_counts(records: Records, dictionary: Dictionary) -> CountArray:
    """How many entries are consistent with each record, `|rho(y, theta)|`: shape (records,).

    For each level vector of the records the entries are counted once, with what their first attributes leave of them.
    Raises DomainMismatchError for records of another space.
    """
    if records.space != dictionary.space:
        raise DomainMismatchError("the records and the dictionary have different attributes or hierarchies")
    levels = records.level_vector
    if levels is not None and sum(len(part.counts) for part in dictionary.parts) <= ENTRIES * len(records):
        by_part = [_packed_counts(records, levels, part) for part in dictionary.parts]
        return np.asarray(sum(by_part, np.zeros(len(records), dtype=np.int64)))
    distinct, number = records.distinct()
    counts = np.zeros(len(distinct), dtype=np.int64)
    for part in dictionary.parts:
        # A value below the entry's counts as the entry's own: more the entry does not say.
        sought, place = distinct.generalized(part.levels).distinct()
        counts += _looked_up(sought, part)[place]
    return counts[number]


def identification_probability(counts: CountArray) -> FloatArray:
    """The probability that an attacker finds the person who guesses among the consistent entries; 0 if there is none."""
    return np.divide(1.0, counts, out=np.zeros(len(counts)), where=counts > 0)


def _packed_counts(records: Records, levels: IndexArray, part: DictionaryPart) -> CountArray:
    """How many entries of a part are consistent with each of some records that all have these levels: shape (records,)."""
    space = records.space
    shared = np.maximum(levels, part.levels)
    columns, radices = [], []
    for axis in np.flatnonzero(shared < space.heights).tolist():
        level = shared[axis]
        above = space.ancestors[axis][level] - space.taxonomies[axis].offsets[level]
        columns.append(np.concatenate([above[records.nodes[:, axis]], above[part.columns[axis]]]))
        radices.append(space.domain.hierarchies[axis].size(level))
    keys, bound = pack(columns, radices, len(records) + len(part.counts))
    sought, held = keys[: len(records)], keys[len(records) :]
    first, counts = tally(held, bound, part.counts)
    place = _places(held[first], bound, sought)
    return np.where(place >= 0, counts[place], 0)


def _looked_up(sought: Records, part: DictionaryPart) -> CountArray:
    """How often each of some distinct records occurs in a part, generalized to the same levels: shape (records,)."""
    occurrences = np.zeros(len(sought), dtype=np.int64)
    # What has most values tells most entries apart: after it few are left, or they merge.
    axes = np.argsort([-h.size(0) for h in sought.space.domain.hierarchies], kind="stable").tolist()
    rank, held_rank = np.zeros(len(sought), dtype=np.intp), np.zeros(len(part.counts), dtype=np.intp)
    waiting = [(_Search(np.arange(len(sought)), rank, 1, part.columns, part.counts, held_rank), axes)]
    while waiting:
        search, left = waiting.pop()
        if len(search.rows) * len(search.counts) <= PAIRS:
            occurrences[search.rows] = search.compared(sought, left)
        elif not left:
            occurrences[search.rows] = np.bincount(search.held_rank, search.counts, search.ranks)[search.rank]
        else:
            waiting.extend((narrowed, left[1:]) for narrowed in search.narrowed(sought, left[0], left[1:]))
    return occurrences


@dataclass(frozen=True, eq=False)
class _Search:
    """Records and entries that agree so far, numbered by what they agree on.

    rows, rank: the records and the number of what each shows so far, below ranks. columns, counts: the cells of entries
    that agree with some of them, held_rank: with which.
    """

    rows: IndexArray
    rank: IndexArray
    ranks: int
    columns: tuple[CodeArray, ...]
    counts: CountArray
    held_rank: IndexArray

    def compared(self, sought: Records, left: Sequence[int]) -> CountArray:
        """How many entries agree with each of the records in all that is left, pair by pair: shape (records,)."""
        agree = self.rank[:, None] == self.held_rank
        for axis in left:
            levels, nodes = sought.levels[self.rows, axis], sought.nodes[self.rows, axis]
            agree &= sought.space.ancestors[axis][levels[:, None], self.columns[axis]] == nodes[:, None]
        return np.asarray(agree @ self.counts, dtype=np.int64)

    def narrowed(self, sought: Records, axis: int, left: Sequence[int]) -> Iterator["_Search"]:
        """What agrees in one more attribute, by the level at which the records show it."""
        levels, nodes = sought.levels[self.rows, axis], sought.nodes[self.rows, axis]
        size = sought.space.taxonomies[axis].size
        for level in np.unique(levels).tolist():
            chosen = np.flatnonzero(levels == level)
            keys, rank = np.unique(self.rank[chosen] * size + nodes[chosen], return_inverse=True)
            generalized = sought.space.ancestors[axis][level].astype(np.int32)[self.columns[axis]]
            place = _places(keys, self.ranks * size, self.held_rank * size + generalized)
            kept = np.flatnonzero(place >= 0)
            columns = tuple(c[kept] if a in left else c for a, c in enumerate(self.columns))
            search = _Search(self.rows[chosen], rank, len(keys), columns, self.counts[kept], place[kept])
            yield search._merged(sought.space, left)

    def _merged(self, space: RecordSpace, left: Sequence[int]) -> "_Search":
        """The same with equal cells merged, where there are certainly some."""
        sizes = [self.ranks, *(space.taxonomies[axis].size for axis in left)]
        if not left or float(np.prod(sizes, dtype=float)) > len(self.counts):
            return self
        columns_so_far: list[CodeArray] = [self.held_rank, *(self.columns[axis] for axis in left)]
        first, counts = tally(*pack(columns_so_far, sizes, len(self.counts)), self.counts)
        columns = tuple(c[first] if a in left else c for a, c in enumerate(self.columns))
        return _Search(self.rows, self.rank, self.ranks, columns, counts, self.held_rank[first])


def _places(keys: CodeArray, space: int, sought: CodeArray) -> IndexArray:
    """For each sought key its place among ascending keys below space, -1 where it is not among them."""
    if space <= max(4 * len(sought), 1 << 16):
        table = np.full(space, -1, dtype=np.intp)
        table[keys] = np.arange(len(keys))
        return np.asarray(table[sought])
    place = np.minimum(np.searchsorted(keys, sought), len(keys) - 1)
    return np.where(keys[place] == sought, place, -1)
