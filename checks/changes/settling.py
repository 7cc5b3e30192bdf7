"""Settling: which of the changes since the last release can be shown beside all releases that are out; the others wait.

What is shown is a table between the last one and that of today: some of those who came are in it, and some of those who
left are not. One after another those are held back who stand in the way: whoever would be in a count of too few people who
came, or left, since any earlier release; in a class of them that is not diverse; or who would spoil the table itself.
Where nothing else helps everybody waits, and the last table is shown once more, which the series allows already. So there
is always an answer, though with several releases, or a diversity, it need not be that by which the fewest wait.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from checks.budget import SEARCHING
from checks.changes.balancing import Grid, balanced
from checks.changes.series import Envelope, distinct_tables
from checks.claims.claim import Claim
from checks.claims.maxent_diversity import MaxentDiversity
from checks.classes.k_anonymity import nonsensitive_part
from checks.diversity.criterion import satisfies
from checks.diversity.relative.sensitive_values import SensitiveValues
from checks.finding import Finding, WorstClass
from models.arrays import BoolArray, CountArray, IndexArray
from models.errors import TimeOverError
from models.tables.coded_cells import CodedCells
from models.tables.contingency_table import ContingencyTable
from models.tables.domain import Mask
from models.tables.mixed_radix import group, pack


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
    cells = _Cells.of([*apart, *distinct_tables(tuple(series[:-1])), series[-1], today], envelope.masks)
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
    masks: tuple[Mask, ...]

    @classmethod
    def of(cls, tables: Sequence[ContingencyTable], masks: tuple[Mask, ...]) -> "_Cells":
        """Those of some tables over the same base cells."""
        first = tables[0]
        columns = [np.concatenate(own) for own in zip(*(table.codes for table in tables))]
        sizes = [first.domain.hierarchy(name).size(first.margin[name]) for name in first.attributes]
        rows, number = group(*pack(columns, sizes, len(columns[0])))
        counts = np.zeros((len(tables), len(rows)), dtype=np.int64)
        end = 0
        for own, table in zip(counts, tables):
            own[number[end : end + len(table)]] = table.counts
            end += len(table)
        return cls(first, [column[rows] for column in columns], counts, masks)

    def table(self, counts: CountArray) -> ContingencyTable:
        """A table with other counts."""
        codes = dict(zip(self.first.attributes, self.codes))
        return ContingencyTable.from_cells(self.first.domain, self.first.margin, codes, counts)

    @cached_property
    def coded(self) -> CodedCells:
        """The cells by their codes."""
        codes = dict(zip(self.first.attributes, self.codes))
        return CodedCells(self.first.domain, self.first.margin, codes, len(self.codes[0]))

    @cached_property
    def _places(self) -> dict[Mask, IndexArray]:
        return {}

    def places(self, mask: Mask) -> IndexArray:
        """The cell of a margin that each base cell is in: shape (cells,)."""
        if mask not in self._places:
            columns, sizes = self.coded.columns(self.first.domain.margin(mask))
            self._places[mask] = group(*pack(columns, sizes, len(self.codes[0])))[1]
        return self._places[mask]


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
            came, left = np.where(held[0], 0, batch.came), np.where(held[1], 0, batch.left)
            if came.sum() + left.sum() < batch.came.sum() + batch.left.sum():
                return _Batch(batch.last, came, left)
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
        came, left = balanced(grids, batch.last, batch.came, batch.left)
        if came.sum() + left.sum() == batch.came.sum() + batch.left.sum():
            return None
        return _Batch(batch.last, came, left)

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
        for claim in self.claims:
            for mask in self.envelope.masks:
                if claim.least_cell is not None:
                    yield mask, claim.least_cell
                elif claim.least_count is not None:
                    yield nonsensitive_part(domain, mask, self.sensitive), claim.least_count

    def _by_classes(self, batch: _Batch) -> Iterator[_Offence]:
        """Classes of single margins that are not diverse."""
        for claim in self.envelope.diversities:
            for earlier in self.series:
                yield from self._uniform(claim, np.maximum(batch.shown - earlier, 0), of_leavers=False)
                yield from self._uniform(claim, np.maximum(earlier - batch.shown, 0), of_leavers=True)
        for own in self.claims:
            if isinstance(own, MaxentDiversity):
                yield from self._uniform(own, batch.shown, of_leavers=True)

    def _uniform(self, claim: MaxentDiversity, counts: CountArray, *, of_leavers: bool) -> Iterator[_Offence]:
        """The classes of each margin that are not diverse."""
        domain = self.cells.first.domain
        hierarchy = domain.hierarchy(claim.sensitive)
        for mask in self.envelope.masks:
            level = domain.levels(mask)[claim.sensitive]
            if claim.class_diversity is None or level == hierarchy.height or level > claim.level > 0:
                continue
            classes = self.cells.places(nonsensitive_part(domain, mask, (claim.sensitive,)))
            value = self.cells.coded.column(claim.sensitive, level).astype(np.int64)
            size = hierarchy.size(level)
            number = int(classes.max(initial=-1)) + 1
            rows = np.bincount(classes * size + value, counts, minlength=number * size).astype(np.int64)
            rows = rows.reshape(number, size)
            values = SensitiveValues(hierarchy, level, tuple(rows.sum(axis=0).tolist()))
            present = rows.any(axis=1)
            fails = np.zeros(number, dtype=bool)
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
                        if (found := self._failing(claim, people)) is not None:
                            yield _Offence(of_leavers, *self._around(found.worst, batch))
                            return
        for own in self.claims:
            if (found := self._failing(own, batch.shown)) is not None:
                yield _Offence(True, *self._around(found.worst, batch))
                return

    def _failing(self, claim: Claim, counts: CountArray) -> Finding | None:
        try:
            found = claim.check(self.envelope.collection(self.cells.table(counts)), self.sensitive, SEARCHING)
        except TimeOverError as over:
            return claim.undecided(str(over))
        return None if found.holds else found

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
