"""Releases of a table that changes: what they tell together of those who came and left, and which changes have to wait."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from checks.claims import AttributeClaim, Claim, CountClaim, MaxentDiversity, MinCell, Question, undecided
from checks.classes import nonsensitive_part
from checks.diversity.criterion import SensitiveValues, satisfies
from checks.finding import SEARCHING, Algorithm, Finding, Verdict, WorstClass
from models.arrays import BoolArray, CodeArray, CountArray, FloatArray, IndexArray
from models.errors import DomainMismatchError, TimeOverError
from models.graphs.junction_tree import Collection
from models.tables.contingency_table import Cells, ContingencyTable, equal_cells, group, pack
from models.tables.data_cube import DataCube
from models.tables.hierarchy import SUPPRESSED, Hierarchy, Mask

# Common values: what the values of an attribute have in common in two releases that may generalize it differently.
#
# Of 20-29 and 30-39 in one release and 20-34 and 35-39 in the other, all four hang together, so that 20-39 is the
# finest value that both tell. Of 20-24, 25-29 in the one and 20-29 in the other it is 20-29: nested values are the
# simple case. A value that has no rows in one release joins nothing there, for readers see that nobody had it.


Overlaps = Mapping[str, IndexArray]
"""For attributes that two releases generalize differently the codes at level 0 of each that a row can have, one in the
earlier and one in the later release: shape (2, pairs). Of attributes that are left out both have the same level 0."""

_NOWHERE = Hierarchy(((SUPPRESSED,),), ())
"""That of an attribute of which a release tells nothing."""


@dataclass(frozen=True, eq=False)
class CommonValues:
    """The finest values that a level of the earlier and a level of the later release both tell.

    earlier, later: for each code of each level the number of the common value that it is part of, shape (codes,).
    names: the labels of the release that has fewer in a common value. parts: how many values with rows of each are in a
    common value, shape (2, common values).
    """

    earlier: IndexArray
    later: IndexArray
    labels: tuple[tuple[str, ...], tuple[str, ...]]
    parts: IndexArray

    @property
    def count(self) -> int:
        """How many common values there are, those without rows included."""
        return len(self.parts[0])

    @property
    def is_nested(self) -> bool:
        """Whether each common value is one value of at least one of the releases."""
        return not bool((self.parts > 1).all(axis=0).any())

    @property
    def coarser(self) -> int | None:
        """The release, 0 or 1, whose values are the common ones; None where it is neither."""
        return next((release for release in (1, 0) if (self.parts[release] <= 1).all()), None)

    def name(self, number: int) -> str:
        """What a common value is called: the labels in it of the release that has fewer there."""
        places = [np.flatnonzero(value_labels == number).tolist() for value_labels in (self.earlier, self.later)]
        value_labels: list[list[str]] = [[labels[code] for code in codes] for labels, codes in zip(self.labels, places)]
        fewest: list[str] = min(reversed([labels for labels in value_labels if labels]), key=len)
        return "|".join(fewest)


@dataclass(frozen=True, eq=False)
class SharedAttribute:
    """An attribute in two releases: `hierarchies` and finest published `levels` of the earlier and the later one.

    pairs: codes at these levels that a row can have, with rows in both: shape (2, pairs).
    rows: whether the values at these levels have rows.
    """

    hierarchies: tuple[Hierarchy, Hierarchy]
    levels: tuple[int, int]
    pairs: IndexArray
    rows: tuple[BoolArray, BoolArray]

    @classmethod
    def of(cls, name: str, releases: tuple[Collection, Collection], overlaps: Overlaps) -> "SharedAttribute":
        """An attribute that at least one of two releases has."""
        has = [name in release.domain.attributes for release in releases]
        hierarchies = [release.domain.hierarchy(name) if h else _NOWHERE for h, release in zip(has, releases)]
        finest = [release.finest_level(name) if h else 0 for h, release in zip(has, releases)]
        rows = []
        for release, hierarchy, level in zip(releases, hierarchies, finest):
            counted = np.ones(hierarchy.size(level), dtype=np.bool_)
            if level < hierarchy.height:
                counted[:] = False
                counted[release.cube.table(release.domain.mask({name: level})).codes[0]] = True
            rows.append(counted)
        if name in overlaps:
            pairs = overlaps[name]
        else:
            size = max(hierarchy.size(0) for hierarchy in hierarchies)
            pairs = np.array([np.arange(size) if h else np.zeros(size, dtype=np.intp) for h in has])
        lifted = np.array(
            [h.lift(0, level)[codes] for h, level, codes in zip(hierarchies, finest, pairs)], dtype=np.intp
        )
        both = np.logical_and(*(counted[codes] for counted, codes in zip(rows, lifted)))
        return cls(
            (hierarchies[0], hierarchies[1]),
            (finest[0], finest[1]),
            np.unique(lifted[:, both], axis=1),
            (rows[0], rows[1]),
        )

    def is_all(self, release: int, level: int) -> bool:
        """Whether a level of a release tells nothing, since all its values are one."""
        return self.hierarchies[release].labels[level] == (SUPPRESSED,)

    @cached_property
    def common(self) -> Callable[[int, int], CommonValues]:
        """The common values of a level of the earlier release and one of the later; remembered."""
        return cache(self._joined)

    def _joined(self, earlier: int, later: int) -> CommonValues:
        """Values that overlap, directly or through others, are one."""
        from scipy.sparse import coo_array  # slow to import, and few commands need it
        from scipy.sparse.csgraph import connected_components

        levels = (earlier, later)
        lifts = [h.lift(f, level) for h, f, level in zip(self.hierarchies, self.levels, levels)]
        sizes = [h.size(level) for h, level in zip(self.hierarchies, levels)]
        one, other = (lift.astype(np.intp)[codes] for lift, codes in zip(lifts, self.pairs))
        nodes = sum(sizes)
        edges = coo_array((np.ones(len(one), dtype=np.int8), (one, other + sizes[0])), shape=(nodes, nodes))
        count, number = connected_components(edges, directed=False)
        parts = np.zeros((2, count), dtype=np.intp)
        numbers = (number[: sizes[0]].astype(np.intp), number[sizes[0] :].astype(np.intp))
        for part_numbers, members, lift, rows in zip(parts, numbers, lifts, self.rows):
            part_numbers += np.bincount(members[np.unique(lift[rows])], minlength=count)
        labels = [h.labels[level] for h, level in zip(self.hierarchies, levels)]
        return CommonValues(*numbers, (labels[0], labels[1]), parts)

    def partition(self, earlier: int, later: int) -> npt.NDArray[np.intp]:
        """The common value of each value with rows at the finest levels, those of the earlier release first."""
        common = self.common(earlier, later)
        parts = zip(self.hierarchies, self.levels, (earlier, later), self.rows, (common.earlier, common.later))
        return np.concatenate(
            [part_numbers[h.lift(finest, level)[rows]] for h, finest, level, rows, part_numbers in parts]
        )


# Meets: the margins that two releases of a table that changed have in common, and how many rows more the later one
# has.
#
# With T_1 and T_2 the tables, a sum of cells of T_2 - T_1 follows from the equations of both releases when it is a sum
# of published counts of the one, and of the other. In each release the levels of an attribute nest. So the functions
# of its values that are constant on the values of a level form a chain of spaces for each release, and two chains of
# spaces always have one basis parts of which span all of them. The products of such bases are a basis of the functions
# on all cells, parts of which span what the margins of both releases tell. So what both releases tell is the sum of
# what each two margins, one of each release, have in common: for each attribute the functions that are constant on the
# values of the one and of the other, that is on the values that hang together by overlapping. This holds whether the
# levels of the two releases nest in each other or not. (Of the levels of three releases it does not: three chains need
# have no common basis.)
#
# That no count is negative tells more; of it is used here that a value without rows has none in any cell: the above is
# said of the cells that are not empty for that reason in either release; of the others zeros are known.


@dataclass(frozen=True, eq=False)
class Meet:
    """What a margin of each release have in common: the rows of its cells before and after.

    values: by attribute, in the order of the codes' rows. levels: of the release whose values they are; None where they are
    of neither. codes: shape (attributes, cells). before, after: shape (cells,). overlapping: the attributes of which values
    of one release and of the other overlap, so that neither nest.
    """

    values: Mapping[str, CommonValues]
    levels: Mapping[str, int | None]
    codes: CodeArray
    before: CountArray
    after: CountArray
    overlapping: tuple[str, ...]

    @property
    def changes(self) -> CountArray:
        """How many rows more the later table has in each cell: shape (cells,)."""
        return self.after - self.before

    def among(self, cells: BoolArray) -> "Meet":
        """The same of some of the cells: shape (cells,)."""
        return replace(self, codes=self.codes[:, cells], before=self.before[cells], after=self.after[cells])

    def cell(self, number: int) -> dict[str, str]:
        """The labels of a cell."""
        return {name: value.name(int(code)) for (name, value), code in zip(self.values.items(), self.codes[:, number])}


Narrowing = Callable[[Meet], Meet]
"""What leaves out cells of a meet that say nothing of who came and left, such as those outside of a part of a table."""


def every_cell(meet: Meet) -> Meet:
    """Leaves out none."""
    return meet


def meets(earlier: Collection, later: Collection, overlaps: Overlaps | None = None) -> Iterator[Meet]:
    """The meets of two collections, those aside that are coarser than another one.

    overlaps: of attributes that the two generalize differently. Raises DomainMismatchError where others are.
    """
    pair = _Pair(earlier, later, overlaps or {})
    distinct: dict[tuple[int, ...], tuple[Mask, Mask]] = {}
    for one in earlier.masks or (0,):
        for other in later.masks or (0,):
            distinct.setdefault(pair.partitions(one, other), (one, other))
    for partitions, (one, other) in distinct.items():
        if not any(other_ is not partitions and pair.is_finer(other_, partitions) for other_ in distinct):
            yield pair.meet(one, other)


class _Pair:
    """Two collections, and what is known of the common values of their attributes."""

    def __init__(self, earlier: Collection, later: Collection, overlaps: Overlaps) -> None:
        self._releases = (earlier, later)
        names = dict.fromkeys([*earlier.domain.attributes, *later.domain.attributes])
        for name in names:
            domains = [release.domain for release in self._releases if name in release.domain.attributes]
            if name not in overlaps and len({domain.hierarchy(name).labels[0] for domain in domains}) > 1:
                raise DomainMismatchError(f"two tables with other base values of {name!r} have no difference")
        self._attributes = {name: SharedAttribute.of(name, self._releases, overlaps) for name in names}
        self._numbers: dict[tuple[str, bytes], int] = {}
        self._partition_of_levels: dict[tuple[str, int, int], int] = {}
        self._partitions: list[CodeArray] = []
        self._finer: dict[tuple[int, int], bool] = {}

    def partitions(self, one: Mask, other: Mask) -> tuple[int, ...]:
        """For each attribute the number of the partition into common values, at the levels of two margins."""
        return tuple(self._partition(name, *levels) for name, levels in self._levels(one, other).items())

    def _levels(self, one: Mask, other: Mask) -> dict[str, tuple[int, int]]:
        levels = [release.domain.levels(mask) for release, mask in zip(self._releases, (one, other))]
        return {name: (levels[0].get(name, 0), levels[1].get(name, 0)) for name in self._attributes}

    def _partition(self, name: str, earlier: int, later: int) -> int:
        key = (name, earlier, later)
        if key not in self._partition_of_levels:
            if self._is_shown(name, earlier, later):
                number = self._attributes[name].partition(earlier, later)
            else:
                number = np.zeros(sum(int(rows.sum()) for rows in self._attributes[name].rows), dtype=np.intp)
            _, first, number = np.unique(number, return_index=True, return_inverse=True)
            canonical = np.argsort(np.argsort(first))[number]
            place = self._numbers.setdefault((name, canonical.tobytes()), len(self._partitions))
            if place == len(self._partitions):
                self._partitions.append(canonical)
            self._partition_of_levels[key] = place
        return self._partition_of_levels[key]

    def _is_shown(self, name: str, earlier: int, later: int) -> bool:
        return not all(self._attributes[name].is_all(release, level) for release, level in enumerate((earlier, later)))

    def is_finer(self, fine: tuple[int, ...], coarse: tuple[int, ...]) -> bool:
        """Whether all partitions of the first are as fine as those of the second."""
        return all(map(self._is_as_fine, fine, coarse))

    def _is_as_fine(self, fine: int, coarse: int) -> bool:
        if fine == coarse:
            return True
        if (fine, coarse) not in self._finer:
            one, other = self._partitions[fine], self._partitions[coarse]
            pairs = np.unique(one * (other.max(initial=0) + 1) + other)
            self._finer[fine, coarse] = len(pairs) == len(np.unique(one))
        return self._finer[fine, coarse]

    def meet(self, one: Mask, other: Mask) -> Meet:
        """What two margins, one of each collection, have in common."""
        levels = {
            name: pair_levels
            for name, pair_levels in self._levels(one, other).items()
            if self._is_shown(name, *pair_levels)
        }
        values = {name: self._attributes[name].common(*level) for name, level in levels.items()}
        columns, counts = [], []
        for release, mask in enumerate((one, other)):
            own_columns, own_counts = self._cells(release, mask, values)
            inside = np.ones(len(own_counts), dtype=np.bool_)
            for name, column in own_columns.items():
                for side, level in enumerate(levels[name]):
                    if self._attributes[name].is_all(side, level):
                        # Only one margin shows it: of the other all is in the values that it has rows in.
                        inside &= column == (values[name].later if side else values[name].earlier)[0]
            columns.append([column[inside] for column in own_columns.values()])
            counts.append(own_counts[inside])
        codes = [np.concatenate(pair) for pair in zip(*columns)]
        length = sum(map(len, counts))
        sizes = [common.count for common in values.values()]
        first, number = group(*pack(codes, sizes, length)) if length else (np.zeros(0, np.intp), np.zeros(0, np.intp))
        places = number[: len(counts[0])], number[len(counts[0]) :]
        before, after = (_totals(place, count, len(first)) for place, count in zip(places, counts))
        named = [name for name, common in values.items() if common.parts.any(axis=0).sum() > 1]
        positions = [position for position, name in enumerate(values) if name in named]
        stacked = np.array([codes[position][first] for position in positions], dtype=np.int64).reshape(
            len(positions), len(first)
        )
        coarser = {name: values[name].coarser for name in named}
        return Meet(
            {name: values[name] for name in named},
            {name: None if side is None else levels[name][side] for name, side in coarser.items()},
            stacked,
            before,
            after,
            tuple(name for name, common in values.items() if not common.is_nested),
        )

    def _cells(
        self, release: int, mask: Mask, values: Mapping[str, CommonValues]
    ) -> tuple[dict[str, CodeArray], CountArray]:
        """The common values of the cells of a margin by attribute, and their rows."""
        collection = self._releases[release]
        if mask:
            table = collection.cube.table(mask)
            column_codes, counts = dict(zip(table.attributes, table.codes)), table.counts
        else:
            column_codes, counts = {}, np.array([collection.cube.total], dtype=np.int64)
        columns = {}
        for name, common in values.items():
            common_codes = common.later if release else common.earlier
            columns[name] = (
                common_codes[column_codes[name]] if name in column_codes else np.full(len(counts), common_codes[0])
            )
        return columns, counts


def _totals(places: CodeArray, counts: CountArray, length: int) -> CountArray:
    totals = np.zeros(length, dtype=np.int64)
    np.add.at(totals, places, counts)
    return totals


# A series of releases of a table that changes: whether what all of them tell gives away who came and who left.
#
# Let T_1, T_2, ... be the tables, each published on margins that the *envelope* E of the series shows: one collection,
# with E as the most that anybody knows of any of them. Of the people, those who are in the same tables of the series
# form a group. Replace one group by any other with the same margins on E: every table keeps its margins on E, so every
# release stays as it is. So nothing can be proven of a group that its own margins on E do not prove, whatever readers
# know or suspect of who stays: that nobody leaves, that few change. Judging who came on the margins of the later
# release and who left on those of the earlier one is not enough for that. Readers who know that ten people came, and
# of what kind, subtract them, and have two collections of all the others; these can close a circle.
#
# Between two tables T_i and T_j of the series let J be the people who came and L those who left, cell by cell: no base
# cell is in both. Each is judged as a table that is published on E. Every count must be 0 or at least k, sensitive
# values counted too; with a junction tree, k rows of J then fit into every base cell x that J has rows in
# (`checks.combinatorial`), and since L has none there, T_i and T_j with J replaced fit both releases and have k people
# more in x than before. So of no set of cells is it certain that 1 to k - 1 people came, or left. And J and L must
# satisfy the diversity that is claimed. The differences of T_i and T_j on E must be 0 or at least k besides: readers
# compute them, and may take them for people.
#
# That last condition has no part in the proof. A difference of 1 on E means that at least k came there and at least k
# left, and it misleads only readers who believe, wrongly, that nobody left, or came. Where it is given that readers
# know that people come and go, *turnover*, it is dropped. Without further knowledge the tables that fit one release do
# not depend on those that fit another, so that of three and more releases the same follows for whoever is in some of
# their tables and not in others: in x the count of each of the former exceeds the largest of the latter, T_j, so each
# can exceed T_j by k at once. Who knows those who left is not helped with those who came, and the reverse. True
# knowledge of J itself can help, with that condition and without: that nobody came to some base cells, say. That none
# came to a published cell is known anyway.
#
# Pairs are judged, not groups, and a group of three or more tables can be smaller than k. Who knows how the tables
# hang together can single one out: with two releases of everybody and two of a known part of them, who came outside of
# the part is the difference of two differences, each of them k or more. So a series is of one population, not of it
# and its parts.
#
# There is one way to publish a part beside them: as a release of everybody of which only some cells are shown. Where
# each margin shows the attributes by which the part is told from the rest, at levels that separate it (age >= 20 by
# ages in tens, age >= 21 by single years alone), the cells of the part are cells of these margins. So if the series
# allows everybody to be published on them, the part may be: what is shown is computed from what was allowed, and
# nothing is certain by it that would not be certain by the whole. The series must count the release as one of
# everybody, with all cells, also those that are not shown: judged by what was shown alone it would again be pairs of a
# whole and a part.


@dataclass(frozen=True)
class Envelope:
    """What is known at most of each table of a series, and what must hold of the people by whom two of them differ.

    masks: the maximal margins. diversities: of the people who came or left, as the releases claim it. k: how many people, at
    least. rows_per_person: at most so many rows are of one person; None where rows are counted. turnover_known: whether it
    is given that readers know that people come and go, so that differences of who came and who left may be small.
    """

    masks: tuple[Mask, ...]
    k: int
    diversities: tuple[MaxentDiversity, ...] = ()
    rows_per_person: int | None = None
    turnover_known: bool = False

    @property
    def least(self) -> MinCell:
        """The claim that every count of people who came or left is 0 or at least k."""
        return MinCell(self.k, rows_per_person=self.rows_per_person)

    def collection(self, table: ContingencyTable) -> Collection:
        """The margins of a table."""
        return Collection.of(DataCube([table]), self.masks)

    def findings(self, earlier: ContingencyTable, later: ContingencyTable) -> Iterator[Finding]:
        """What holds of who came between two tables, of who left, and of their differences; all must, to be safe.

        Where turnover is known every difference may be 1 or more. Nothing is said of people where nobody came, or left.
        """
        change = Change.between(earlier, later)
        for who, people in (("joiners", change.joiners), ("leavers", change.leavers)):
            if people.total:
                collection = self.collection(people)
                for claim in (self.least, *self.diversities):
                    result = claim.check(Question(collection, ()))
                    yield replace(result, parameters={"of": who, **result.parameters})
        least = 1 if self.turnover_known else self.least.least_count
        yield difference(self.collection(earlier), self.collection(later), least)


def distinct_tables(tables: tuple[ContingencyTable, ...]) -> tuple[ContingencyTable, ...]:
    """The tables without those that repeat an earlier one."""
    contingency_tables: list[ContingencyTable] = []
    for table in tables:
        if not any(len(table) == len(one) and equal_cells([one, table]) for one in contingency_tables):
            contingency_tables.append(table)
    return tuple(contingency_tables)


# Settling: the changes since the last release that can be published given all earlier releases; the rest is deferred.
#
# What is shown is a table between the last one and that of today: some of those who came are in it, and some of those
# who left are not. One after another those are held back who stand in the way: whoever would be in a count of too few
# people who came, or left, since any earlier release; in a class of them that is not diverse; or who would spoil the
# table itself. Where nothing else helps everybody waits, and the last table is shown once more, which the series
# allows already. So there is always an answer, though with several releases, or a diversity, it need not be that by
# which the fewest wait.


def settled(
    series: Sequence[ContingencyTable],
    today: ContingencyTable,
    envelope: Envelope,
    claims: Sequence[Claim],
    sensitive: Sequence[str],
    strict: Sequence[ContingencyTable] | None = None,
) -> ContingencyTable:
    """The table that can be published now: as much of the changes since the last of a series as can be shown.

    series: what was published, in order, one table at least; today: the table as it is, of the same base cells. claims: what
    the release will claim of its own margins, those of the envelope. sensitive: attributes that these set aside. strict:
    tables of the series from which no count may differ by less than k, though many came and many left; all where it is None.
    """
    judged = tuple(series) if strict is None else tuple(strict)
    apart = distinct_tables(judged)
    cells = _Cells.of([*apart, *distinct_tables(tuple(series[:-1])), series[-1], today])
    *earlier, last, now = cells.counts
    batch = _Batch(last, np.maximum(now - last, 0), np.maximum(last - now, 0))
    rule = _Rule(
        cells, envelope, tuple(claims), tuple(sensitive), [*earlier[len(apart) :], last], earlier[: len(apart)]
    )
    while (fewer := rule.held_back(batch)) is not None:
        batch = fewer
    return cells.table(batch.shown)


@dataclass(frozen=True, eq=False)
class _Cells:
    """The base cells that some tables have rows in, and the count of each table in each: shape (tables, cells)."""

    first: ContingencyTable
    codes: Sequence[IndexArray]
    counts: CountArray

    @classmethod
    def of(cls, tables: Sequence[ContingencyTable]) -> "_Cells":
        """Those of some tables over the same base cells."""
        first = tables[0]
        columns = [np.concatenate(parts) for parts in zip(*(table.codes for table in tables))]
        sizes = [first.domain.hierarchy(name).size(first.margin[name]) for name in first.attributes]
        rows, number = group(*pack(columns, sizes, len(columns[0])))
        counts = np.zeros((len(tables), len(rows)), dtype=np.int64)
        end = 0
        for count, table in zip(counts, tables):
            count[number[end : end + len(table)]] = table.counts
            end += len(table)
        return cls(first, [column[rows] for column in columns], counts)

    def table(self, counts: CountArray) -> ContingencyTable:
        """A table with other counts."""
        codes = dict(zip(self.first.attributes, self.codes))
        return ContingencyTable.from_cells(self.first.domain, self.first.margin, codes, counts)

    @cached_property
    def coded(self) -> Cells:
        """The cells by their codes."""
        return Cells(self.first.domain, self.first.margin, tuple(self.codes), np.ones(len(self.codes[0])))

    @cached_property
    def places(self) -> Callable[[Mask], IndexArray]:
        """The cell of a margin that each base cell is in, shape (cells,); remembered."""
        return cache(self._placed)

    def _placed(self, mask: Mask) -> IndexArray:
        columns, sizes = self.coded.columns(self.first.domain.margin(mask))
        return group(*pack(columns, sizes, len(self.codes[0])))[1]


@dataclass(frozen=True, eq=False)
class _Batch:
    """The last table, and the rows that came and left since and are to be shown: shape (cells,) each."""

    last: CountArray
    came: CountArray
    left: CountArray

    @cached_property
    def shown(self) -> CountArray:
        """The table with them."""
        return self.last + self.came - self.left


class _Offence(NamedTuple):
    """Cells that must not be so. of_leavers: whether leavers are the first to be held back there.

    place: the cell that each base cell is in, shape (base cells,). is_bad: shape (cells,).
    """

    of_leavers: bool
    place: IndexArray
    is_bad: BoolArray


@dataclass(frozen=True, eq=False)
class _Rule:
    """What must hold of a table that is shown, and who is held back where it does not."""

    cells: _Cells
    envelope: Envelope
    claims: tuple[Claim, ...]
    sensitive: tuple[str, ...]
    series: Sequence[CountArray]
    strict: Sequence[CountArray]

    def held_back(self, batch: _Batch) -> _Batch | None:
        """The batch without those who must wait; None where nobody must, so far as that helps."""
        for reasons in (self._by_counts, self._by_classes, self._by_claims):
            if reasons == self._by_classes and (fewer := self._balanced(batch)) is not None:
                return fewer
            held = np.zeros((2, len(batch.last)), dtype=bool)
            for offence in reasons(batch):
                first = int(offence.of_leavers)
                sides = (batch.came, batch.left)
                rows = [np.bincount(offence.place, side, minlength=len(offence.is_bad)) for side in sides]
                # Where nobody is there to be held back on the one side, those on the other side are.
                held[first] |= (offence.is_bad & (rows[first] > 0))[offence.place]
                held[1 - first] |= (offence.is_bad & (rows[first] == 0))[offence.place]
            came, leaving = np.where(held[0], 0, batch.came), np.where(held[1], 0, batch.left)
            if came.sum() + leaving.sum() < batch.came.sum() + batch.left.sum():
                return _Batch(batch.last, came, leaving)
        return None

    def _balanced(self, batch: _Batch) -> _Batch | None:
        """The batch with which no difference of two releases is small; None where that is so already."""
        if not self.strict:
            return None
        least = self.envelope.least.least_count
        grids = []
        for place in map(self.cells.places, self.envelope.masks):
            before = np.stack([np.bincount(place, earlier) for earlier in self.strict])
            grids.append(Grid(place, np.unique(before, axis=0), least))
        came, leaving = balanced(grids, batch.last, batch.came, batch.left)
        if came.sum() + leaving.sum() == batch.came.sum() + batch.left.sum():
            return None
        return _Batch(batch.last, came, leaving)

    def _by_counts(self, batch: _Batch) -> Iterator[_Offence]:
        """Cells of the envelope with too few people: whether of those who left, and which cells."""
        least = self.envelope.least.least_count
        for earlier in self.series:
            more, fewer = np.maximum(batch.shown - earlier, 0), np.maximum(earlier - batch.shown, 0)
            for place in map(self.cells.places, self.envelope.masks):
                joined, gone = np.bincount(place, more), np.bincount(place, fewer)
                few = [(rows > 0) & (rows < least) for rows in (joined, gone)]
                yield _Offence(False, place, few[0])
                yield _Offence(True, place, few[1])
        for mask, whole in self._least_of_all():
            place = self.cells.places(mask)
            rows = np.bincount(place, batch.shown)
            yield _Offence(True, place, (rows > 0) & (rows < whole))

    def _least_of_all(self) -> Iterator[tuple[Mask, int]]:
        """The margins whose counts must be 0 or so large in the table that is shown."""
        domain = self.cells.first.domain
        for claim in (claim for claim in self.claims if isinstance(claim, CountClaim)):
            for mask in self.envelope.masks:
                if claim.least_cell is not None:
                    yield mask, claim.least_cell
                else:
                    yield nonsensitive_part(domain, mask, self.sensitive), claim.least_count

    def _by_classes(self, batch: _Batch) -> Iterator[_Offence]:
        """Classes of single margins that are not diverse."""
        for claim in self.envelope.diversities:
            for earlier in self.series:
                yield from self._uniform(claim, np.maximum(batch.shown - earlier, 0), of_leavers=False)
                yield from self._uniform(claim, np.maximum(earlier - batch.shown, 0), of_leavers=True)
        for release_claim in self.claims:
            if isinstance(release_claim, AttributeClaim):
                yield from self._uniform(release_claim, batch.shown, of_leavers=True)

    def _uniform(self, claim: AttributeClaim, counts: CountArray, *, of_leavers: bool) -> Iterator[_Offence]:
        """The classes of each margin that are not diverse."""
        domain = self.cells.first.domain
        hierarchy = domain.hierarchy(claim.about)
        for mask in self.envelope.masks:
            level = domain.levels(mask)[claim.about]
            if claim.class_diversity is None or level == hierarchy.height or level > claim.level > 0:
                continue
            classes = self.cells.places(nonsensitive_part(domain, mask, (claim.about,)))
            value = self.cells.coded.column(claim.about, level).astype(np.int64)
            size = hierarchy.size(level)
            number = int(classes.max(initial=-1)) + 1
            rows = np.bincount(classes * size + value, counts, minlength=number * size).astype(np.int64)
            rows = rows.reshape(number, size)
            values = SensitiveValues(hierarchy, level, tuple(rows.sum(axis=0).tolist()))
            present = rows.any(axis=1)
            fails = np.zeros(number, dtype=bool)
            if present.any():  # a criterion that compares with all has nothing to compare where nobody came or left
                fails[present] = ~satisfies(claim.class_diversity.among(values), rows[present])
            yield _Offence(of_leavers, classes, fails)

    def _by_claims(self, batch: _Batch) -> Iterator[_Offence]:
        """What the margins together fail: the first claim that is not proven, and the cells around its worst class."""
        for earlier in self.series:
            for of_leavers, people in (
                (False, np.maximum(batch.shown - earlier, 0)),
                (True, np.maximum(earlier - batch.shown, 0)),
            ):
                if people.any():
                    for claim in (self.envelope.least, *self.envelope.diversities):
                        if (result := self._failing(claim, people)) is not None:
                            yield _Offence(of_leavers, *self._around(result.worst, batch))
                            return
        for release_claim in self.claims:
            if (result := self._failing(release_claim, batch.shown)) is not None:
                yield _Offence(True, *self._around(result.worst, batch))
                return

    def _failing(self, claim: Claim, counts: CountArray) -> Finding | None:
        collection = self.envelope.collection(self.cells.table(counts))
        try:
            result = claim.check(Question(collection, self.sensitive, SEARCHING))
        except TimeOverError as over:
            return undecided(claim, str(over))
        return None if result.holds else result

    def _around(self, worst: object, batch: _Batch) -> tuple[IndexArray, BoolArray]:
        """The base cells that share with a class what some margin shows of it, of the margin with the fewest changes there.

        Without those who came and left there the class is empty, or as it was. All cells where nothing is known of it.
        """
        changed = batch.came + batch.left
        cell = worst.cell if isinstance(worst, WorstClass) else None
        best: tuple[int, IndexArray] | None = None
        for mask in self.envelope.masks if cell else ():
            inside = np.ones(len(changed), dtype=bool)
            for name, level in self.cells.first.domain.margin(mask).items():
                if name not in self.sensitive and name in (cell or {}):
                    inside &= self._has(name, level, (cell or {})[name])
            rows = int(changed[inside].sum())
            if rows and not inside.all() and (best is None or rows < best[0]):
                best = rows, inside.astype(np.intp)
        if best is None:
            return np.zeros(len(changed), dtype=np.intp), np.ones(1, dtype=bool)
        return best[1], np.array([False, True])

    def _has(self, name: str, level: int, label: str) -> BoolArray:
        """The base cells that have at a level the value that a label is part of; all where it is finer than they know."""
        hierarchy = self.cells.first.domain.hierarchy(name)
        finer = next((finer for finer in range(level + 1) if label in hierarchy.labels[finer]), None)
        if finer is None:
            return np.ones(len(self.cells.codes[0]), dtype=bool)
        code = hierarchy.lift(finer, level)[hierarchy.labels[finer].index(label)]
        return np.asarray(self.cells.coded.column(name, level) == code)


# Differences of two tables of people who come and go, as what is published of each table tells them.
#
# With J the table of those who came and L that of those who left, the later table is T_1 + J - L; whoever is recorded
# otherwise now is in both. What follows of T_2 - T_1 from the equations of both collections, and from the values that
# have no rows in one of them, are the differences on the meets.
#
# That counts are not negative can tell more, up to who exactly came, although no difference is small. Only who has
# both tables can exclude that.


CRITERION = "difference"

UNSEEN = (
    "those who came and those who left in one cell cancel, unseen; and what follows because no count is negative can be "
    "excluded only by the publisher, who has both tables"
)
"""What differences do not say, however large they are."""


@dataclass(frozen=True)
class CellDifference:
    """How many rows more the later table has in a cell, fewer where it is negative.

    cell: labels, with | between several that are one value here. margin: the level of each attribute in the release that
    generalizes it more; None where values of both releases had to be put together. before, after: rows.
    """

    cell: Mapping[str, str]
    margin: Mapping[str, int | None]
    before: int
    after: int

    @property
    def difference(self) -> int:
        """Rows after less rows before."""
        return self.after - self.before

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        rows = {"before": self.before, "after": self.after}
        return {"margin": dict(self.margin), "cell": dict(self.cell), "difference": self.difference, **rows}


def difference(
    earlier: Collection,
    later: Collection,
    least: int,
    overlaps: Overlaps | None = None,
    narrowed: Narrowing = every_cell,
) -> Finding:
    """Whether every difference that both collections tell is 0, or at least so many rows more or fewer.

    Shown is the smallest that is not 0. It is no proof that nothing else follows: see `UNSEEN`. Where values of the one
    overlap with values of the other, so that neither nest, and no difference is small, it is undecided. overlaps: of the
    attributes that the two generalize differently. narrowed: to the cells that count. Raises
    DomainMismatchError where others are.
    """
    examined = 0
    smallest: CellDifference | None = None
    overlapping: dict[str, None] = {}
    for meet in map(narrowed, meets(earlier, later, overlaps)):
        changes = meet.changes
        examined += len(changes)
        overlapping |= dict.fromkeys(meet.overlapping)
        changed = np.flatnonzero(changes)
        if not len(changed):
            continue
        cell = int(changed[np.argmin(np.abs(changes[changed]))])
        if smallest is None or abs(changes[cell]) < abs(smallest.difference):
            smallest = meet_difference(meet, cell)
    if smallest is not None and abs(smallest.difference) < least:
        verdict, note = Verdict.FAILS, ""
    elif overlapping:
        names = ", ".join(map(repr, overlapping))
        why = f"values of {names} in one release overlap with values in the other, so that neither nest"
        verdict, note = Verdict.UNDECIDED, f"{why}; no difference of what both tell is small, but more may follow"
    else:
        verdict, note = Verdict.HOLDS, UNSEEN
    return Finding(CRITERION, verdict, {"k": least}, smallest, (Algorithm.MINIMUM,), examined, note)


def meet_difference(meet: Meet, cell: int) -> CellDifference:
    """The difference in one cell of a meet."""
    return CellDifference(meet.cell(cell), meet.levels, int(meet.before[cell]), int(meet.after[cell]))


SHOWN = 10
"""Cells and classes that are listed, those of the fewest people first."""


@dataclass(frozen=True)
class OneValue:
    """A class in which the rows of one sensitive value alone rose, or alone fell.

    At least so many came, or left, with that value; who knows that nobody else did in this class knows the value of all of
    them. cell: labels of the class. difference: how many rows more there are, fewer where it is negative.
    """

    sensitive: str
    value: str
    cell: Mapping[str, str]
    difference: int

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "sensitive": self.sensitive,
            "value": self.value,
            "cell": dict(self.cell),
            "difference": self.difference,
        }


@dataclass(frozen=True)
class ChangedPeople:
    """What two releases tell of the change between their tables.

    cells: how many differences they tell. small: how many of these are of fewer rows than asked, but not 0; smallest: the
    smallest of them, or where there are none the smallest that is not 0. one_value: classes in which who came, or who left,
    has one sensitive value, the smallest first; classes: how many there are.
    """

    cells: int
    small: int
    smallest: tuple[CellDifference, ...]
    classes: int
    one_value: tuple[OneValue, ...]

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "cells": self.cells,
            "small": self.small,
            "smallest": [cell.as_json() for cell in self.smallest],
            "one_value": {"classes": self.classes, "smallest": [cell.as_json() for cell in self.one_value]},
        }


def changed_people(
    earlier: Collection,
    later: Collection,
    sensitive: Sequence[str],
    least: int,
    overlaps: Overlaps | None = None,
    narrowed: Narrowing = every_cell,
) -> ChangedPeople:
    """What follows from the differences on the meets of two collections. least: rows from which on one is not small.

    overlaps, narrowed: as for `difference`.
    """
    smallest: list[CellDifference] = []
    one_value: list[OneValue] = []
    cells = small = classes = 0
    for meet in map(narrowed, meets(earlier, later, overlaps)):
        sizes = np.abs(meet.changes)
        cells += len(sizes)
        small += int(np.count_nonzero((sizes > 0) & (sizes < least)))
        smallest += [meet_difference(meet, cell) for cell in _smallest(sizes)]
        for name in sensitive:
            if name in meet.values:
                number, one_valued = _of_one_value(meet, name, sensitive)
                classes += number
                one_value += one_valued
    smallest.sort(key=lambda change: abs(change.difference))
    one_value.sort(key=lambda change: abs(change.difference))
    return ChangedPeople(cells, small, tuple(smallest[: min(small, SHOWN) or 1]), classes, tuple(one_value[:SHOWN]))


def _smallest(sizes: CountArray) -> list[int]:
    """The places of the smallest numbers that are not 0."""
    order = np.argsort(sizes, kind="stable")
    return [int(place) for place in order[sizes[order] > 0][:SHOWN]]


def _of_one_value(meet: Meet, name: str, sensitive: Sequence[str]) -> tuple[int, list[OneValue]]:
    """The classes of a meet, by all attributes that are not sensitive, in which one value of an attribute rose, or fell.

    How many there are, and the smallest.
    """
    names = list(meet.values)
    public = [position for position, name in enumerate(names) if name not in sensitive]
    sizes = [meet.values[names[position]].count for position in public]
    first, number = group(*pack([meet.codes[position] for position in public], sizes, len(meet.changes)))
    meet_values, values = meet.values[name], meet.codes[names.index(name)]
    changes, rows = (np.zeros((len(first), meet_values.count), dtype=np.int64) for _ in range(2))
    np.add.at(changes, (number, values), meet.changes)
    np.add.at(rows, (number, values), meet.before + meet.after)
    several = (rows > 0).sum(axis=1) > 1
    classes, result = 0, []
    for sign in (1, -1):
        moved = np.maximum(sign * changes, 0)
        sizes_moved = np.where(several & ((moved > 0).sum(axis=1) == 1), moved.sum(axis=1), 0)
        classes += int(np.count_nonzero(sizes_moved))
        for place in _smallest(sizes_moved):
            labels = meet.cell(int(first[place]))
            cell = {names[position]: labels[names[position]] for position in public}
            value = meet_values.name(int(np.argmax(moved[place])))
            result.append(OneValue(name, value, cell, sign * int(sizes_moved[place])))
    return classes, result


# Balancing: as few changes held back as possible, so that no published count differs little from what it was before.
#
# Where many come and many leave, a count can be one more than in an earlier release, although none of those who came
# or left is one of few. Readers cannot know that. So every count of the later table must be one that was published
# before, or be at least k away from all of these: then some of those who came wait, or of those who left, until the
# count is as it was. A row is in a cell of each margin, so the row that brings most cells nearer to where they may be
# is the first to wait.


@dataclass(frozen=True, eq=False)
class Grid:
    """The counts that a margin may show: those that earlier tables show, and those at least so far away from all of them.

    place: the margin's cell that each base cell is in, shape (base cells,). before: its counts, shape (tables, cells).
    """

    place: IndexArray
    before: CountArray
    least: int

    def distance(self, counts: FloatArray, came: FloatArray, leaving: FloatArray) -> FloatArray:
        """How many rows must be held back in each cell until its count may be shown, and those who changed are enough.

        counts: with the rows that came and left, of which so many there are in each cell. Shapes (cells,).
        """
        apart = counts[None] - self.before
        down = np.where(apart >= 0, apart, np.inf).min(axis=0)
        up = np.where(apart <= 0, -apart, np.inf).min(axis=0)
        is_wide = down + up >= 2 * self.least
        lower = np.where(is_wide & (down >= self.least), np.maximum(self.least - up, 0), down)
        higher = np.where(is_wide & (up >= self.least), np.maximum(self.least - down, 0), up)
        nearest = np.minimum(np.where(lower <= came, lower, np.inf), np.where(higher <= leaving, higher, np.inf))
        few = np.where(came < self.least, came, 0) + np.where(leaving < self.least, leaving, 0)
        total: FloatArray = np.where(np.isinf(nearest), came + leaving, nearest) + few
        return total


def balanced(
    grids: Sequence[Grid], last: CountArray, came: CountArray, leaving: CountArray
) -> tuple[CountArray, CountArray]:
    """The rows that came and left, without as few of them as it takes that all margins show counts that they may show.

    last: the table before, all of whose counts may be shown. Shapes (base cells,).
    """
    came, leaving = came.copy(), leaving.copy()
    while True:
        removing, adding, bad = np.zeros(len(last)), np.zeros(len(last)), 0
        urgent = np.zeros((2, len(last)), dtype=bool)
        for grid in grids:
            joined, gone, old = (np.bincount(grid.place, rows).astype(np.float64) for rows in (came, leaving, last))
            counts = old + joined - gone
            now = grid.distance(counts, joined, gone)
            fewer = grid.distance(counts - 1, np.maximum(joined - 1, 0), gone) - now
            more = grid.distance(counts + 1, joined, np.maximum(gone - 1, 0)) - now
            removing += fewer[grid.place]
            adding += more[grid.place]
            bad += int((now > 0).sum())
            urgent[0] |= (fewer < 0)[grid.place]
            urgent[1] |= (more < 0)[grid.place]
        if not bad:
            return came, leaving
        scores = np.stack([np.where(came > 0, removing, np.inf), np.where(leaving > 0, adding, np.inf)])
        helpful = scores < 0
        most = len(last)
        if not helpful.any():  # no row brings the whole nearer; in each cell in question one is held back all the same
            helpful, most = urgent & np.isfinite(scores), bad
        chosen = _apart(grids, scores, helpful, most)
        if not len(chosen):
            return np.zeros_like(came), np.zeros_like(leaving)
        side, cell = np.divmod(chosen, len(last))
        came[cell[side == 0]] -= 1
        leaving[cell[side == 1]] -= 1


def _apart(grids: Sequence[Grid], scores: FloatArray, helpful: BoolArray, most: int) -> IndexArray:
    """Of the helpful rows the best of each cell of the margin with the most cells, as places in `scores`."""
    places = np.flatnonzero(helpful)
    places = places[np.argsort(scores.ravel()[places], kind="stable")]
    widest = max(grids, key=lambda grid: grid.before.shape[1])
    _, first = np.unique(widest.place[places % scores.shape[1]], return_index=True)
    return places[np.sort(first)][:most]


# Batches: as many people who came, or who left, as can be shown at once without showing few of them.
#
# A set of people can be shown by some margins when it has none or at least k people in each of their cells. The union
# of two such sets is one, so there is a largest: whoever is in a cell with fewer than k is in none of them, and can be
# left out, until nobody is (the k-core of the hypergraph whose edges are the cells). The others wait for a later
# release.


@dataclass(frozen=True)
class Change:
    """What came and what left between two tables: the later one is the earlier one, and joiners, without leavers.

    Somebody whose record changed is in both. Both are over the base cells, and have none in common.
    """

    joiners: ContingencyTable
    leavers: ContingencyTable

    @classmethod
    def between(cls, earlier: ContingencyTable, later: ContingencyTable) -> "Change":
        """From two tables of the same margin. Raises DomainMismatchError for others."""
        if earlier.domain != later.domain or earlier.margin != later.margin:
            raise DomainMismatchError("only tables of the same cells have a change between them")
        codes = [np.concatenate(pair) for pair in zip(earlier.codes, later.codes)]
        changes = np.concatenate([-earlier.counts, later.counts])
        sizes = [earlier.domain.hierarchy(name).size(earlier.margin[name]) for name in earlier.attributes]
        first, number = group(*pack(codes, sizes, len(changes)))
        net = np.zeros(len(first), dtype=np.int64)
        np.add.at(net, number, changes)
        cells = {name: column[first] for name, column in zip(earlier.attributes, codes)}
        parts = (np.maximum(sign * net, 0) for sign in (1, -1))
        return cls(*(ContingencyTable.from_cells(earlier.domain, earlier.margin, cells, part) for part in parts))


def cells_of(table: ContingencyTable, mask: Mask) -> IndexArray:
    """The cell of a margin that each cell of a table is in: shape (cells,)."""
    columns, sizes = table.columns(table.domain.margin(mask))
    return group(*pack(columns, sizes, len(table)))[1]


def settled_rows(counts: CountArray, places: Sequence[IndexArray], least: int) -> IndexArray:
    """The cells that remain when all are left out that lie in a cell of a margin with fewer rows than that; ascending.

    places: for each margin the cell of it that each cell is in, shape (cells,), as `cells_of` says.
    """
    remaining, rows = np.arange(len(counts)), counts.astype(np.float64)
    places = list(places)
    totals = [np.bincount(place, rows) for place in places]
    while len(remaining):
        out = np.zeros(len(remaining), dtype=bool)
        for place, total in zip(places, totals):
            out |= (total < least)[place]
        if not out.any():
            break
        for place, total in zip(places, totals):
            total -= np.bincount(place[out], rows[out], minlength=len(total))
        remaining, rows, places = remaining[~out], rows[~out], [place[~out] for place in places]
    return remaining
