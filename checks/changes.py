"""Releases of a table that changes: what they tell together of joiners and leavers, and which changes have to wait."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property, partial
from itertools import product
from typing import Any, ClassVar

import numpy as np

from checks.claims import AttributeClaim, Claim, CountClaim, MaxentDiversity, MinCell, Question, answer
from checks.classes import nonsensitive_part
from checks.diversity.criterion import SensitiveValues, satisfies
from checks.finding import SEARCHING, Algorithm, Finding, Verdict, WorstClass
from models.arrays import BoolArray, CodeArray, CountArray, FloatArray, IndexArray
from models.errors import DomainMismatchError
from models.frozen import frozen
from models.graphs.junction_tree import Collection
from models.tables.contingency_table import Cells, ContingencyTable, equal_cells, group, pack
from models.tables.data_cube import DataCube
from models.tables.hierarchy import SUPPRESSED, Hierarchy, Mask

# Common values: the finest values of an attribute that two releases both tell, if they generalize it differently.
#
# The values 20-29 and 30-39 in one release and 20-34 and 35-39 in the other all overlap, directly or through others, so
# their common value is 20-39. For 20-24, 25-29 and 20-29 it is 20-29. A value without rows joins nothing.


Overlaps = Mapping[str, IndexArray]
"""Pairs of codes at level 0 that a row can have in the earlier and the later release, shape (2, pairs). They are for
attributes that two releases generalize differently. Other attributes have the same level 0 in both."""

_NOWHERE = Hierarchy(((SUPPRESSED,),), ())
"""Hierarchy of an attribute about which a release tells nothing."""


@frozen(eq=False)
class CommonValues:
    """Finest values that a level of the earlier and a level of the later release both tell.

    numbers: for each code of each level the number of its common value, shape (codes,) each. labels: of both levels.
    parts: how many values with rows of each are in a common value, shape (2, common values). partition: the common
    value of each value with rows at the finest levels, those of the earlier release first.
    """

    numbers: tuple[IndexArray, IndexArray]
    labels: tuple[tuple[str, ...], tuple[str, ...]]
    parts: IndexArray
    partition: IndexArray

    @property
    def count(self) -> int:
        """Number of common values, including those without rows."""
        return len(self.parts[0])

    @property
    def is_shown(self) -> tuple[bool, bool]:
        """True if each of the two levels tells anything."""
        return self.labels[0] != (SUPPRESSED,), self.labels[1] != (SUPPRESSED,)

    @property
    def is_nested(self) -> bool:
        """True if each common value is one value of at least one of the releases."""
        return not bool((self.parts > 1).all(axis=0).any())

    @property
    def coarser(self) -> int | None:
        """Release, 0 or 1, whose values are the common ones; None if it is neither."""
        return next((release for release in (1, 0) if (self.parts[release] <= 1).all()), None)

    def name(self, number: int) -> str:
        """Return the labels in a common value, of the release that has fewer there."""
        names = [
            [labels[code] for code in np.flatnonzero(numbers == number).tolist()]
            for labels, numbers in zip(self.labels[::-1], self.numbers[::-1])
        ]
        fewest: list[str] = min(filter(None, names), key=len)
        return "|".join(fewest)


_Releases = tuple[Collection, Collection]


def _common_values(name: str, releases: _Releases, overlaps: Overlaps) -> Callable[[int, int], CommonValues]:
    """Return a cached function from the levels of both releases to the common values of an attribute.

    At least one of the releases has the attribute.
    """
    has = [name in release.domain.attributes for release in releases]
    hierarchies = [release.domain.hierarchy(name) if h else _NOWHERE for h, release in zip(has, releases)]
    finest = [release.finest_level(name) if h else 0 for h, release in zip(has, releases)]
    rows = []
    for release, hierarchy, level in zip(releases, hierarchies, finest):
        codes = release.cube.table(release.domain.mask({name: level})).codes[0] if level < hierarchy.height else 0
        rows.append(np.isin(np.arange(hierarchy.size(level)), codes))
    base = np.arange(max(hierarchy.size(0) for hierarchy in hierarchies))
    pairs = overlaps[name] if name in overlaps else [base if h else np.zeros_like(base) for h in has]
    pairs = [h.lift(0, level)[codes].astype(np.intp) for h, level, codes in zip(hierarchies, finest, pairs)]
    both = np.logical_and(*(counted[codes] for counted, codes in zip(rows, pairs)))

    @cache
    def joined(*levels: int) -> CommonValues:
        """Join values that overlap, directly or through others."""
        from scipy.sparse import coo_array  # slow to import, and few commands need it
        from scipy.sparse.csgraph import connected_components

        lifts = [h.lift(fine, level).astype(np.intp) for h, fine, level in zip(hierarchies, finest, levels)]
        sizes = [h.size(level) for h, level in zip(hierarchies, levels)]
        one, other = (lift[codes[both]] for lift, codes in zip(lifts, pairs))
        edges = coo_array((np.ones(len(one), dtype=np.int8), (one, other + sizes[0])), shape=(sum(sizes),) * 2)
        count, number = connected_components(edges, directed=False)
        numbers = number[: sizes[0]].astype(np.intp), number[sizes[0] :].astype(np.intp)
        occupied = [lift[counted] for lift, counted in zip(lifts, rows)]
        parts = [
            np.bincount(level_numbers[np.unique(codes)], minlength=count)
            for level_numbers, codes in zip(numbers, occupied)
        ]
        partition = np.concatenate([level_numbers[codes] for level_numbers, codes in zip(numbers, occupied)])
        labels = hierarchies[0].labels[levels[0]], hierarchies[1].labels[levels[1]]
        return CommonValues(numbers, labels, np.array(parts), partition)

    return joined


# Meets: the margins that two releases of a changed table have in common, and the increase of rows in the later one.
#
# With T_1 and T_2 the tables, a sum of cells of T_2 - T_1 follows from the equations of both releases if it is a sum of
# published counts of the one, and of the other. In each release the levels of an attribute nest, so the functions that
# are constant on the values of a level form a chain of spaces. Two chains of spaces have one basis whose parts span all
# of them (three chains need not have one), and products of such bases span what the margins tell. So both releases tell
# the sum of what each two margins, one of each, have in common: for each attribute the functions that are constant on
# the values that overlap, whether or not the levels of the two releases nest in each other.
#
# Counts are not negative, which tells more. Only one consequence is used: a value without rows has none in any cell.


@frozen(eq=False)
class Meet:
    """Common part of a margin of each release: the rows of its cells before and after.

    values: by attribute, as the rows of `codes`, shape (attributes, cells). levels: of the release with these values,
    or None. before, after: shape (cells,). overlapping: attributes with values that overlap and do not nest.
    """

    values: Mapping[str, CommonValues]
    levels: Mapping[str, int | None]
    codes: CodeArray
    before: CountArray
    after: CountArray
    overlapping: tuple[str, ...]

    @property
    def changes(self) -> CountArray:
        """Increase of rows in each cell of the later table: shape (cells,)."""
        return self.after - self.before

    def among(self, cells: BoolArray) -> "Meet":
        """Return the meet restricted to some cells: shape (cells,)."""
        return replace(self, codes=self.codes[:, cells], before=self.before[cells], after=self.after[cells])

    def cell(self, number: int) -> dict[str, str]:
        """Return the labels of a cell."""
        return {name: value.name(int(code)) for (name, value), code in zip(self.values.items(), self.codes[:, number])}


Narrowing = Callable[[Meet], Meet]
"""Drops cells of a meet that say nothing of joiners and leavers, such as cells outside a part of a table."""


def every_cell(meet: Meet) -> Meet:
    """Return the meet with all cells."""
    return meet


def meets(earlier: Collection, later: Collection, overlaps: Overlaps | None = None) -> Iterator[Meet]:
    """Yield the meets of two collections, without meets that are coarser than another one.

    overlaps: of attributes that the two generalize differently. Raises DomainMismatchError if other attributes differ.
    """
    releases = (earlier, later)
    names = dict.fromkeys([*earlier.domain.attributes, *later.domain.attributes])
    for name in names:
        domains = [release.domain for release in releases if name in release.domain.attributes]
        if name not in (overlaps or {}) and len({domain.hierarchy(name).labels[0] for domain in domains}) > 1:
            raise DomainMismatchError(f"two tables with other base values of {name!r} have no difference")
    common_values = {name: _common_values(name, releases, overlaps or {}) for name in names}
    pairs = [*product(earlier.masks or (0,), later.masks or (0,))]
    levels = [[release.domain.levels(mask) for release, mask in zip(releases, masks)] for masks in pairs]
    values = [
        {
            name: common(pair_levels[0].get(name, 0), pair_levels[1].get(name, 0))
            for name, common in common_values.items()
        }
        for pair_levels in levels
    ]
    for place in _finest(values):
        yield _meet(releases, pairs[place], levels[place], values[place])


def _finest(values: Sequence[Mapping[str, CommonValues]]) -> Iterator[int]:
    """Yield the places of the common values of all attributes that no others refine; of equal ones the first."""
    numbers, finer = [], []
    for name in values[0]:
        places = {common: place for place, common in enumerate(dict.fromkeys(common_of[name] for common_of in values))}
        partitions = [common.partition * any(common.is_shown) for common in places]
        finer.append(np.array([[_is_as_fine(one, other) for other in partitions] for one in partitions]))
        numbers.append(np.array([places[common_of[name]] for common_of in values]))
    for place, common_of in enumerate(zip(*numbers)):
        is_as_fine = np.all([finer_than[others, n] for finer_than, others, n in zip(finer, numbers, common_of)], axis=0)
        is_as_coarse = np.all(
            [finer_than[n, others] for finer_than, others, n in zip(finer, numbers, common_of)], axis=0
        )
        is_before = np.arange(len(values)) < place
        if not np.any(is_as_fine & (is_before | ~is_as_coarse)):
            yield place


def _is_as_fine(partition: IndexArray, other: IndexArray) -> bool:
    part_of = np.zeros(partition.max(initial=0) + 1, dtype=np.intp)
    part_of[partition] = other
    return bool(np.array_equal(part_of[partition], other))


def _meet(
    releases: _Releases, masks: Sequence[Mask], levels: Sequence[Mapping[str, int]], values: Mapping[str, CommonValues]
) -> Meet:
    values = {name: common for name, common in values.items() if any(common.is_shown)}
    columns, counts = [], []
    for release, (collection, mask) in enumerate(zip(releases, masks)):
        table = collection.cube.table(mask)
        inside: BoolArray = np.ones(len(table), dtype=np.bool_)
        column_numbers = []
        for name, common in values.items():
            column_numbers.append(
                common.numbers[release][table.column(name) if name in table.margin else np.zeros(len(table), int)]
            )
            for side, is_shown in enumerate(common.is_shown):
                if not is_shown:  # only one margin shows it; all rows of the other lie in the values that have rows
                    inside &= column_numbers[-1] == common.numbers[side][0]
        columns.append([column[inside] for column in column_numbers])
        counts.append(table.counts[inside])
    codes = [np.concatenate(pair) for pair in zip(*columns)]
    first, place = group(*pack(codes, [common.count for common in values.values()], sum(map(len, counts))))
    places = np.split(place, [len(counts[0])])
    before, after = (
        np.bincount(column_numbers, rows, len(first)).astype(np.int64) for column_numbers, rows in zip(places, counts)
    )
    named = {name: common for name, common in values.items() if common.parts.any(axis=0).sum() > 1}
    coarser = {name: common.coarser for name, common in named.items()}
    stacked = [column[first] for name, column in zip(values, codes) if name in named]
    return Meet(
        named,
        {name: None if side is None else levels[side].get(name, 0) for name, side in coarser.items()},
        np.array(stacked, dtype=np.int64).reshape(len(named), len(first)),
        before,
        after,
        tuple(name for name, common in values.items() if not common.is_nested),
    )


# A series of releases of a table that changes: whether all of them together tell who came and who left.
#
# Let T_1, T_2, ... be the tables, each published on margins of the *envelope* E, a collection that bounds the knowledge
# about any of them. People in the same tables form a group. Any group with the same margins on E can replace it without
# changing a release. So only the margins of a group on E can prove something about it, whatever readers know about people
# who stay. It is not enough to judge joiners on the margins of the later release, and leavers on those of the earlier one.
# Readers who know the joiners subtract them, and two collections of the others can close a cycle.
#
# Of two tables T_i and T_j let J be the people who came and L those who left; no base cell is in both. Each is judged as a
# table published on E: every count is 0 or at least k, sensitive values counted, and the claimed diversity holds. With a
# junction tree k rows of J then fit into every base cell x that J has rows in (`checks.combinatorial`), L has none there,
# and T_i and T_j with J replaced fit both releases with k people more in x. So no set of cells certainly has 1 to k - 1 of
# them.
#
# The differences of T_i and T_j on E must be 0 or at least k too, because readers may take them for people. The proof
# does not need that: a difference of 1 means that at least k came and at least k left. It misleads only readers who
# believe that nobody came, or left. If readers know of the *turnover*, it is dropped. The tables that fit one release
# do not depend on those that fit another, so the same follows for three and more releases. Knowing the leavers does not
# help with the joiners. True knowledge of J itself can help.
#
# Pairs are judged, not groups, and a group of three or more tables can be smaller than k: with two releases of everybody and
# two of a part, who came outside of the part is a difference of differences. So a series is of one population. A part of it
# is published as a release of everybody of which some cells are shown, if each margin shows the attributes of the part at
# levels that separate it. The series counts such a release with all its cells; what is shown follows from what was allowed.


@frozen
class Envelope:
    """Upper bound on the knowledge about each table of a series, with the requirements on people by whom two tables
    differ.

    masks: the maximal margins. diversities: of the people who came or left, as the releases claim it. k: least number
    of people. rows_per_person: most rows of one person; None if rows are counted. turnover_known: whether readers know
    that people come and go, so that differences between joiners and leavers may be small.
    """

    masks: tuple[Mask, ...]
    k: int
    diversities: tuple[MaxentDiversity, ...] = ()
    rows_per_person: int | None = None
    turnover_known: bool = False

    @property
    def least(self) -> MinCell:
        """Claim that every count of people who came or left is 0 or at least k."""
        return MinCell(self.k, rows_per_person=self.rows_per_person)

    def collection(self, table: ContingencyTable) -> Collection:
        """Return the margins of a table."""
        return Collection.of(DataCube([table]), self.masks)

    def findings(self, earlier: ContingencyTable, later: ContingencyTable) -> Iterator[Finding]:
        """Yield the findings on joiners, leavers and differences of two tables; a safe change needs all of them to
        hold.

        If turnover is known, every difference may be 1 or more. Nothing is said of joiners if nobody came, or leavers
        if nobody left.
        """
        for who, people in zip(("joiners", "leavers"), joiners_and_leavers(earlier, later)):
            if people.total:
                collection = self.collection(people)
                for claim in (self.least, *self.diversities):
                    result = claim.check(Question(collection, ()))
                    yield replace(result, parameters={"of": who, **result.parameters})
        least = 1 if self.turnover_known else self.least.least_count
        yield difference(self.collection(earlier), self.collection(later), least)


def distinct_tables(tables: tuple[ContingencyTable, ...]) -> tuple[ContingencyTable, ...]:
    """Return the tables without those that repeat an earlier one."""
    distinct: list[ContingencyTable] = []
    for table in tables:
        if not any(len(table) == len(one) and equal_cells([one, table]) for one in distinct):
            distinct.append(table)
    return tuple(distinct)


# Settling: the changes since the last release that can be published given all earlier ones; the rest is deferred.
#
# The table that is shown lies between the last one and that of today. People are held back one after another for three
# reasons: a count of too few joiners or leavers since any earlier release, a class of these that is not diverse, or a cell
# or class that breaks a claim of the table itself. If nothing else helps, everybody waits, and the last table is shown once
# more, which the series allows. So there is always an answer, though it need not be the one with the fewest people waiting.


def settled(
    series: Sequence[ContingencyTable],
    today: ContingencyTable,
    envelope: Envelope,
    claims: Sequence[Claim],
    sensitive: Sequence[str],
    strict: Sequence[ContingencyTable] | None = None,
) -> ContingencyTable:
    """Return the table that can be published now, with as many of the changes since the last of a series as possible.

    series: the published tables in order, at least one; today: the current table, of the same base cells. claims: that
    the release will make about its own margins, those of the envelope. sensitive: attributes that these set aside.
    strict: tables of the series from which no count may differ by less than k, even if many came and many left; None
    for all.
    """
    apart = distinct_tables(tuple(series if strict is None else strict))
    cells = _side_by_side([*apart, *distinct_tables(tuple(series[:-1])), series[-1], today])
    *earlier, last, now = cells.counts.T
    moved = np.maximum([now - last, last - now], 0)
    before = [*earlier[len(apart) :], last]
    rule = _Rule(cells, envelope, tuple(claims), tuple(sensitive), before, earlier[: len(apart)])
    while (fewer := rule.held_back(moved)) is not None:
        moved = fewer
    return _with_rows(cells, rule.table(moved))


def _side_by_side(tables: Sequence[ContingencyTable]) -> Cells:
    """Return the occupied cells of some tables of one margin, ascending, with their rows in each: shape (cells, tables)."""
    first = tables[0]
    columns = [np.concatenate(parts) for parts in zip(*(table.codes for table in tables))]
    sizes = [first.domain.hierarchy(name).size(first.margin[name]) for name in first.attributes]
    ends = np.cumsum(list(map(len, tables)))
    rows, place = group(*pack(columns, sizes, int(ends[-1])))
    counts = np.zeros((len(rows), len(tables)), dtype=np.int64)
    for number, (table, places) in enumerate(zip(tables, np.split(place, ends[:-1]))):
        counts[places, number] = table.counts
    return Cells(first.domain, first.margin, tuple(column[rows] for column in columns), counts)


def _with_rows(cells: Cells, counts: CountArray) -> ContingencyTable:
    return ContingencyTable.from_cells(cells.domain, cells.margin, dict(zip(cells.attributes, cells.codes)), counts)


_Offence = tuple[int, IndexArray, BoolArray]
"""True if leavers are the first to wait, the cell around each base cell, and the cells that break a rule."""


@frozen(eq=False)
class _Rule:
    """Rules for the table that is shown, and the people who are held back if it breaks one.

    cells: base cells. series, strict: earlier tables, the last one at the end of the first; shape (base cells,) each.
    `moved`: the rows that came and that left since the last table and are to be shown, shape (2, base cells).
    """

    cells: Cells
    envelope: Envelope
    claims: tuple[Claim, ...]
    sensitive: tuple[str, ...]
    series: Sequence[CountArray]
    strict: Sequence[CountArray]

    @cached_property
    def places(self) -> Callable[[Mask], IndexArray]:
        """Cached function from a mask to the cell of its margin around each base cell, shape (cells,)."""
        return cache(lambda mask: cells_of(self.cells, mask))

    def table(self, moved: CountArray) -> CountArray:
        """The table with those who came and without those who left."""
        return np.asarray(self.series[-1] + moved[0] - moved[1])

    def held_back(self, moved: CountArray) -> CountArray | None:
        """Return the rows without those that must wait; None if no rule is broken, or if nothing helps."""
        of_counts, of_classes = partial(self._by_cells, of_counts=True), partial(self._by_cells, of_counts=False)
        for reasons in (of_counts, self._by_differences, of_classes, self._by_claims):
            if (fewer := reasons(moved)).sum() < moved.sum():
                return fewer
        return None

    def _without(self, moved: CountArray, offences: Iterable[_Offence]) -> CountArray:
        held = np.zeros(moved.shape, dtype=bool)
        for first, place, is_bad in offences:
            rows = np.bincount(place, moved[first], minlength=len(is_bad))
            # If there is nobody to hold back on one side, people on the other side wait.
            held[first] |= (is_bad & (rows > 0))[place]
            held[1 - first] |= (is_bad & (rows == 0))[place]
        return np.where(held, 0, moved)

    def _claims_on(self, moved: CountArray) -> Iterator[tuple[int, CountArray, Sequence[Claim]]]:
        """Yield joiners and leavers since each earlier table, and the table itself, with the claims about them.

        The first entry says whether leavers are the first to wait.
        """
        after = self.table(moved)
        for earlier in self.series:
            for side, people in enumerate((after - earlier, earlier - after)):
                if (people > 0).any():
                    yield side, np.maximum(people, 0), (self.envelope.least, *self.envelope.diversities)
        yield 1, after, self.claims

    def _by_cells(self, moved: CountArray, *, of_counts: bool) -> CountArray:
        """Return the rows without those in cells, or classes, of single margins that break a claim by themselves."""
        offences = (
            (side, *self._broken(claim, mask, counts))
            for side, counts, claims in self._claims_on(moved)
            for claim, mask in product(claims, self.envelope.masks)
            if isinstance(claim, CountClaim) is of_counts
        )
        return self._without(moved, offences)

    def _broken(self, claim: Claim, mask: Mask, counts: CountArray) -> tuple[IndexArray, BoolArray]:
        """Return the cell or class of a margin around each base cell, and those that break a claim by themselves."""
        domain = self.cells.domain
        if isinstance(claim, CountClaim):
            place = self.places(mask if claim.least_cell else nonsensitive_part(domain, mask, self.sensitive))
            rows = np.bincount(place, counts)
            return place, (rows > 0) & (rows < (claim.least_cell or claim.least_count))
        assert isinstance(claim, AttributeClaim)
        hierarchy, level = domain.hierarchy(claim.about), domain.levels(mask)[claim.about]
        place = self.places(nonsensitive_part(domain, mask, (claim.about,)))
        held = np.zeros((int(place.max(initial=-1)) + 1, hierarchy.size(level)), dtype=np.int64)
        if claim.class_diversity is None or level == hierarchy.height or level > claim.level > 0:
            return place, np.zeros(len(held), dtype=np.bool_)
        np.add.at(held, (place, self.cells.column(claim.about, level)), counts)
        values = SensitiveValues(hierarchy, level, tuple(held.sum(axis=0).tolist()))
        fails: BoolArray = np.asarray(held.any(axis=1))
        if fails.any():  # a relative criterion has nothing to compare with if nobody came or left
            fails[fails] = ~satisfies(claim.class_diversity.among(values), held[fails])
        return place, fails

    def _by_differences(self, moved: CountArray) -> CountArray:
        """Return the rows without as few as possible so that no count differs little from that of a strict table."""
        if not self.strict:
            return moved
        places = list(map(self.places, self.envelope.masks))
        before = [np.unique([np.bincount(place, rows) for rows in self.strict], axis=0) for place in places]
        return _balanced(list(zip(places, before)), self.series[-1], moved, self.envelope.least.least_count)

    def _by_claims(self, moved: CountArray) -> CountArray:
        """Return the rows without those around the worst class of the first claim not proven of all margins together."""
        for side, counts, claims in self._claims_on(moved):
            collection = self.envelope.collection(_with_rows(self.cells, counts))
            for claim in claims:
                finding = answer(claim, Question(collection, self.sensitive, SEARCHING))
                if not finding.holds:
                    return self._without(moved, [(side, *self._around(finding.worst, moved.sum(axis=0)))])
        return moved

    def _around(self, worst: object, changed: CountArray) -> tuple[IndexArray, BoolArray]:
        """Return the base cells that share a margin's view of a class, for the margin with the fewest changes there.

        If the changes there wait, the class is empty, or as it was. All cells if nothing is known about the class.
        """
        cell = (worst.cell if isinstance(worst, WorstClass) else None) or {}
        best = np.ones(len(changed), dtype=bool)
        for mask in self.envelope.masks:
            inside = np.ones(len(changed), dtype=bool)
            for name, level in self.cells.domain.margin(mask).items():
                if name not in self.sensitive and name in cell:
                    inside &= self._has(name, level, cell[name])
            is_narrower = best.all() or changed[inside].sum() < changed[best].sum()
            if changed[inside].any() and not inside.all() and is_narrower:
                best = inside
        return best.astype(np.intp), np.array([False, True])

    def _has(self, name: str, level: int, label: str) -> BoolArray:
        """Return the base cells whose value at a level covers a label; all of them if no level up to it has the label."""
        hierarchy = self.cells.domain.hierarchy(name)
        finer = next((finer for finer in range(level + 1) if label in hierarchy.labels[finer]), None)
        if finer is None:
            return np.ones(len(self.cells), dtype=bool)
        code = hierarchy.lift(finer, level)[hierarchy.labels[finer].index(label)]
        return np.asarray(self.cells.column(name, level) == code)


# Differences of two tables of people who come and go, as the published margins tell them.
#
# The later table is T_1 + J - L, and a person whose record changed is in both J and L. The differences on the meets follow
# from the equations of both collections, and from the values without rows. Counts are not negative, which can tell more, up
# to who exactly came. Only somebody who has both tables can exclude that.


CRITERION = "difference"

UNSEEN = (
    "those who came and those who left in one cell cancel, unseen; and what follows because no count is negative can be "
    "excluded only by the publisher, who has both tables"
)
"""Limits of what differences tell, however large they are."""


@frozen
class CellDifference:
    """Increase of rows of the later table in a cell; negative for a decrease.

    cell: labels, with | between several that are one value here. margin: the level of each attribute in the release
    that generalizes it more; None if values of both releases had to be joined. before, after: rows.
    """

    cell: Mapping[str, str]
    margin: Mapping[str, int | None]
    before: int
    after: int
    PLAIN: ClassVar = ("margin", "cell", "difference", "before", "after")

    @property
    def difference(self) -> int:
        """Rows after less rows before."""
        return self.after - self.before


def difference(
    earlier: Collection,
    later: Collection,
    least: int,
    overlaps: Overlaps | None = None,
    narrowed: Narrowing = every_cell,
) -> Finding:
    """Return the finding whether every difference that both collections tell is 0, or at least `least` rows up or down.

    The cell shown has the smallest difference that is not 0. A pass does not prove that nothing else follows: see
    `UNSEEN`. The verdict is undecided if values of the two overlap without nesting and no difference is small.
    overlaps: of the attributes that the two generalize differently. narrowed: to the cells that count. Raises
    DomainMismatchError.
    """
    people = changed_people(earlier, later, (), least, overlaps, narrowed)
    smallest = next(iter(people.smallest), None)
    if people.small:
        verdict, note = Verdict.FAILS, ""
    elif people.overlapping:
        names = ", ".join(map(repr, people.overlapping))
        why = f"values of {names} in one release overlap with values in the other, so that neither nest"
        verdict, note = Verdict.UNDECIDED, f"{why}; no difference of what both tell is small, but more may follow"
    else:
        verdict, note = Verdict.HOLDS, UNSEEN
    return Finding(CRITERION, verdict, {"k": least}, smallest, (Algorithm.MINIMUM,), people.cells, note)


SHOWN = 10
"""Number of cells and classes that are listed, those with the fewest people first."""


@frozen
class OneValue:
    """Class in which the rows of only one sensitive value rose, or fell.

    At least that many people came, or left, with the value. A reader who knows that no others of the class did knows
    the value of all of them. cell: labels of the class. difference: increase of rows, negative for a decrease.
    """

    sensitive: str
    value: str
    cell: Mapping[str, str]
    difference: int


@frozen
class ChangedPeople:
    """Information of two releases about the change between their tables.

    cells: number of differences that they tell. small: how many of these are small, but not 0; smallest: of the small
    ones, else of all. one_value: classes in which joiners, or leavers, have one sensitive value, the smallest first;
    classes: how many there are. overlapping: attributes whose values overlap and do not nest, so that more may follow.
    """

    cells: int
    small: int
    smallest: tuple[CellDifference, ...]
    classes: int
    one_value: tuple[OneValue, ...]
    overlapping: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the change as plain values."""
        return {
            "cells": self.cells,
            "small": self.small,
            "smallest": self.smallest,
            "one_value": {"classes": self.classes, "smallest": self.one_value},
        }


def changed_people(
    earlier: Collection,
    later: Collection,
    sensitive: Sequence[str],
    least: int,
    overlaps: Overlaps | None = None,
    narrowed: Narrowing = every_cell,
) -> ChangedPeople:
    """Return the conclusions from the differences on the meets of two collections. least: rows from which a difference
    is large.

    overlaps, narrowed: as for `difference`.
    """
    smallest: list[tuple[int, Meet, int]] = []
    one_value: list[OneValue] = []
    overlapping: dict[str, None] = {}
    cells = small = classes = 0
    for meet in map(narrowed, meets(earlier, later, overlaps)):
        sizes = np.abs(meet.changes)
        cells += len(sizes)
        small += int(np.count_nonzero((sizes > 0) & (sizes < least)))
        overlapping |= dict.fromkeys(meet.overlapping)
        smallest += [(int(sizes[cell]), meet, cell) for cell in _smallest(sizes)]
        smallest = sorted(smallest, key=lambda change: change[0])[:SHOWN]
        for name in sensitive:
            if name in meet.values:
                number, one_valued = _of_one_value(meet, name, sensitive)
                classes += number
                one_value += one_valued
    one_value.sort(key=lambda change: abs(change.difference))
    differences = [
        CellDifference(meet.cell(cell), meet.levels, int(meet.before[cell]), int(meet.after[cell]))
        for _, meet, cell in smallest[: min(small, SHOWN) or 1]
    ]
    return ChangedPeople(cells, small, tuple(differences), classes, tuple(one_value[:SHOWN]), tuple(overlapping))


def _smallest(sizes: CountArray) -> list[int]:
    order = np.argsort(sizes, kind="stable")
    return [int(place) for place in order[sizes[order] > 0][:SHOWN]]


def _of_one_value(meet: Meet, name: str, sensitive: Sequence[str]) -> tuple[int, list[OneValue]]:
    """Return the number of classes of a meet in which one value rose or fell alone, and the smallest of them."""
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


# Balancing: as few changes held back as possible, so that no published count differs little from its earlier values.
#
# If many come and many leave, a count can rise by one, although nobody is in a small group. Readers cannot know that. So
# every count must equal an earlier published one, or be at least k away from all of these. The row that brings most cells
# of the margins nearer to an allowed count is the first to wait.


_Grid = tuple[IndexArray, CountArray]
"""Margin: its cell around each base cell, shape (base cells,), and its counts in tables, shape (tables, cells)."""


def _distance(before: CountArray, least: int, counts: FloatArray, came: FloatArray, leaving: FloatArray) -> FloatArray:
    """Return the rows that must be held back in each cell until its count may be shown and its changes are enough
    people.

    before: counts that earlier tables show, shape (tables, cells); other counts must be at least `least` away from all
    of them. counts: with the rows that came and left, whose numbers are came and leaving, shape (cells,).
    """
    apart = counts[None] - before
    down = np.where(apart >= 0, apart, np.inf).min(axis=0)
    up = np.where(apart <= 0, -apart, np.inf).min(axis=0)
    is_wide = down + up >= 2 * least
    lower = np.where(is_wide & (down >= least), np.maximum(least - up, 0), down)
    higher = np.where(is_wide & (up >= least), np.maximum(least - down, 0), up)
    nearest = np.minimum(np.where(lower <= came, lower, np.inf), np.where(higher <= leaving, higher, np.inf))
    few = np.where(came < least, came, 0) + np.where(leaving < least, leaving, 0)
    return np.asarray(np.where(np.isinf(nearest), came + leaving, nearest) + few)


def _balanced(grids: Sequence[_Grid], last: CountArray, moved: CountArray, least: int) -> CountArray:
    """Return the rows that came and left, without as few as possible, so that all margins show allowed counts.

    last: the table before, all of whose counts are allowed. moved: shape (2, base cells).
    """
    moved = moved.copy()
    while True:
        scores, urgent, bad = np.zeros(moved.shape), np.zeros(moved.shape, dtype=bool), 0
        for place, before in grids:
            joined, gone, old = (np.bincount(place, rows).astype(np.float64) for rows in (*moved, last))
            counts = old + joined - gone
            now = _distance(before, least, counts, joined, gone)
            fewer = _distance(before, least, counts - 1, np.maximum(joined - 1, 0), gone) - now
            more = _distance(before, least, counts + 1, joined, np.maximum(gone - 1, 0)) - now
            gains = np.stack([fewer, more])[:, place]
            scores, urgent, bad = scores + gains, urgent | (gains < 0), bad + int(np.count_nonzero(now))
        if not bad:
            return moved
        helpful, most = (moved > 0) & (scores < 0), len(last)
        if not helpful.any():  # no row improves the total; one row in each bad cell is held back all the same
            helpful, most = (moved > 0) & urgent, bad
        chosen = _apart(grids, scores, helpful, most)
        if not len(chosen):
            return np.zeros_like(moved)
        moved.ravel()[chosen] -= 1


def _apart(grids: Sequence[_Grid], scores: FloatArray, helpful: BoolArray, most: int) -> IndexArray:
    """Return the best helpful row of each cell of the margin with the most cells, as places in `scores`."""
    places = np.flatnonzero(helpful)
    places = places[np.argsort(scores.ravel()[places], kind="stable")]
    widest, _ = max(grids, key=lambda grid: grid[1].shape[1])
    _, first = np.unique(widest[places % scores.shape[1]], return_index=True)
    return places[np.sort(first)][:most]


# Batches: as many joiners, or leavers, as can be shown at once without a small count.
#
# A set of people can be shown by some margins if it has none or at least k people in each cell. The union of two such
# sets is one, so there is a largest: people in a cell with fewer than k are left out until nobody is (the k-core).


def joiners_and_leavers(
    earlier: ContingencyTable, later: ContingencyTable
) -> tuple[ContingencyTable, ContingencyTable]:
    """Return the people who came and who left between two tables: the later one is the earlier one plus joiners less
    leavers.

    A person whose record changed is in both. They share no cell. Raises DomainMismatchError for other margins.
    """
    if earlier.domain != later.domain or earlier.margin != later.margin:
        raise DomainMismatchError("only tables of the same cells have a change between them")
    cells = _side_by_side([earlier, later])
    before, after = cells.counts.T
    return _with_rows(cells, np.maximum(after - before, 0)), _with_rows(cells, np.maximum(before - after, 0))


def cells_of(table: Cells, mask: Mask) -> IndexArray:
    """Return the cell of a margin around each cell of a table: shape (cells,)."""
    columns, sizes = table.columns(table.domain.margin(mask))
    return group(*pack(columns, sizes, len(table)))[1]


def settled_rows(counts: CountArray, places: Sequence[IndexArray], least: int) -> IndexArray:
    """Return the cells that remain if cells in a margin's cell with fewer than `least` rows are dropped repeatedly;
    ascending.

    places: for each margin its cell around each cell, shape (cells,), as `cells_of` gives them.
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
