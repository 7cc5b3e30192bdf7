"""Certain knowledge of readers of published tables: published counts, counts that follow from them, and facts of an
audit.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from functools import cache, cached_property, partial, reduce
from itertools import combinations, product
from operator import or_
from typing import TYPE_CHECKING, Any

import numpy as np

from models.arrays import BoolArray, CodeArray, CountArray, IndexArray
from models.deadline import NEVER, Deadline
from models.errors import DomainMismatchError, TooManyCellsError
from models.frozen import frozen
from models.graphs.junction_tree import Collection
from models.inference.calibrated_tree import CalibratedTree
from models.inference.frechet_bounds import KEPT_TABLES, FrechetBounds
from models.programs.consistent_tables import UNBOUNDED, PossibleCells
from models.programs.extremes import Effort, Ranges, Unknowns, narrow, sums_of_cells
from models.tables.contingency_table import Cells, ContingencyTable
from models.tables.hierarchy import Domain

if TYPE_CHECKING:
    from models.intervals.linked_tables import LinkedTables
    from models.intervals.proofs import ProvenBounds

Levels = Mapping[str, int]


@frozen
class CertainCell:
    """Cell whose count is known. values: label by attribute. levels: of these. rows: the count."""

    values: Mapping[str, str]
    levels: Levels
    rows: int


# Published counts, which can be read without any calculation.


USUAL_BOUND = 10
"""Counts below are called small if no claim defines it."""

_SHOWN = 3
"""Number of smallest counts that are listed."""


@frozen
class Counts:
    """Summary of published counts. number: of those not 0; small: how many are small; smallest: the first few."""

    number: int
    small: int
    smallest: tuple[CertainCell, ...]


@frozen
class SensitiveCounts:
    """Published counts of combinations that include a sensitive attribute.

    counts: these counts. classes: of the tables that show the attribute. one_value: classes all of whose rows have the
    same value of it; rows: of the largest of them. shared: its labels with that value, None if there is none.
    """

    counts: Counts
    classes: int
    one_value: int
    rows: int
    shared: Mapping[str, str] | None

    def as_json(self) -> dict[str, Any]:
        """Return the counts as plain values."""
        classes = {"number": self.classes, "one_value": self.one_value, "rows": self.rows, "shared": self.shared}
        return {**vars(self.counts), "classes": classes}


@frozen
class PublishedCounts:
    """Summary of all published counts, and of those with a sensitive attribute. least: counts below it are small."""

    least: int
    counts: Counts
    sensitive: Mapping[str, SensitiveCounts]

    def as_json(self) -> dict[str, Any]:
        """Return the counts as plain values."""
        return {"below": self.least, **vars(self.counts), "sensitive": self.sensitive}


def published_counts(collection: Collection, sensitive: Sequence[str], least: int) -> PublishedCounts:
    """Return what the published tables show by themselves. least: counts below are small.

    A sensitive attribute that no table shows is left out.
    """
    tables = collection.tables
    showing = {a: [table for table in tables if a in table.margin] for a in sensitive}
    by_attribute = {a: _with(tables_with, a, least) for a, tables_with in showing.items() if tables_with}
    return PublishedCounts(least, _counts(tables, least), by_attribute)


def _counts(tables: Sequence[ContingencyTable], least: int) -> Counts:
    number = sum(len(table) for table in tables)
    small = sum(int(np.count_nonzero(table.counts < least)) for table in tables)
    first = [
        (int(table.counts[cell]), place, int(cell))
        for place, table in enumerate(tables)
        for cell in np.argsort(table.counts, kind="stable")[:_SHOWN]
    ]
    smallest = (
        CertainCell(tables[place].labels(cell), dict(tables[place].margin), rows)
        for rows, place, cell in sorted(first)[:_SHOWN]
    )
    return Counts(number, small, tuple(smallest))


def _with(tables: Sequence[ContingencyTable], sensitive: str, least: int) -> SensitiveCounts:
    classes = one_value = rows = 0
    shared = None
    for table in tables:
        by_class = table.rolled_up({name: level for name, level in table.margin.items() if name != sensitive})
        class_of = table.positions_in(by_class)
        is_alone = np.bincount(class_of)[class_of] == 1
        classes += len(by_class)
        one_value += int(np.count_nonzero(is_alone))
        if is_alone.any():
            largest = int(np.lexsort((class_of, np.where(is_alone, -table.counts, 0)))[0])
            if table.counts[largest] > rows:
                rows, shared = int(table.counts[largest]), table.labels(largest)
    return SensitiveCounts(_counts(tables, least), classes, one_value, rows, shared)


# Certain facts: conclusions from published tables about counts that were suppressed, rounded or not published at all.
#
# A fact holds in every population that the tables fit. The absence of facts is certain if bounds are decided.


class FactKind(Enum):
    """Kind of a certain fact. The value is its name in JSON."""

    RECOVERED = "recovered"
    """Suppressed or rounded cell with only one possible count."""
    SMALL = "small"
    """Count from 1 to the largest small one, of a cell that no table shows exactly."""
    SENSITIVE = "sensitive"
    """Group of at least one person in which everybody has one sensitive value."""
    NARROW = "narrow"
    """Suppressed or rounded count whose remaining range is narrower than the protection demanded."""
    EXISTS = "exists"
    """Combination of values with people that no table shows, or whose count was suppressed."""


@frozen
class Fact:
    """Certain fact about a cell. published, proven: its range before, and the remaining one."""

    kind: FactKind
    cell: int
    published: tuple[int, int]
    proven: tuple[int, int]
    is_published: bool


@frozen
class FactCriteria:
    """Definition of a fact for an audit.

    small: the largest small count. protection: the least difference that must remain between the largest and the
    smallest possible count of a suppressed cell. sensitive: attributes. Raises DomainMismatchError for numbers below
    0.
    """

    small: int = 4
    protection: int = 0
    sensitive: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.small < 1 or self.protection < 0:
            raise DomainMismatchError("the largest small count must be at least 1, and the protection at least 0")


def certain_facts(linked: "LinkedTables", bounds: "ProvenBounds", criteria: FactCriteria) -> list[Fact]:
    """Return all certain facts about linked tables, by kind, ascending by the possible people.

    A cell has at most one fact, apart from SENSITIVE ones.

    Parameters
    ----------
    linked
        The published tables.
    bounds
        Proven bounds of their counts.
    criteria
        What counts as a fact.
    """
    was_open: BoolArray = linked.lower < linked.upper
    exact, low, high = bounds.exact, bounds.lower, bounds.upper
    is_published = linked.is_published
    recovered = is_published & was_open & exact
    small = was_open & (low >= 1) & (high <= criteria.small) & ~recovered
    implied = small & is_published & (linked.lower >= 1) & (linked.upper <= criteria.small)  # as published: "1 to 4"
    small &= ~implied
    narrowed = (low > linked.lower) | (high < linked.upper)
    narrow = is_published & narrowed & ~exact & (high - low < criteria.protection) & ~small
    exists = was_open & (low >= 1) & (linked.lower < 1) & ~recovered & ~small & ~narrow
    facts = []
    for kind, chosen in (
        (FactKind.RECOVERED, recovered),
        (FactKind.SMALL, small),
        (FactKind.SENSITIVE, _all_have_one_value(linked, bounds, criteria.sensitive)),
        (FactKind.NARROW, narrow),
        (FactKind.EXISTS, exists),
    ):
        cells = np.flatnonzero(chosen)
        for cell in cells[np.lexsort((cells, low[cells], high[cells]))].tolist():
            published = int(linked.lower[cell]), int(linked.upper[cell])
            facts.append(Fact(kind, cell, published, (int(low[cell]), int(high[cell])), bool(is_published[cell])))
    return facts


def _all_have_one_value(linked: "LinkedTables", bounds: "ProvenBounds", sensitive: Sequence[str]) -> BoolArray:
    """Return the cells of a labelled sensitive value whose group certainly has people, all with the value: shape
    (cells,).

    A group has the values of the other attributes, in the cells of any table or total. If several values hold each
    other, such as a disease and its chapter, the narrowest is chosen.
    """
    chosen: BoolArray = np.zeros(len(linked), dtype=np.bool_)
    names = [c.name for c in linked.classifications]
    for attribute in sensitive:
        if attribute not in names:
            raise DomainMismatchError(f"no table has the sensitive attribute {attribute!r}")
        chosen[_only_values(linked, bounds, names.index(attribute))] = True
    return chosen


def _only_values(linked: "LinkedTables", bounds: "ProvenBounds", axis: int) -> list[int]:
    classification, sets, codes = linked.classifications[axis], linked.sets[axis], linked.keys[:, axis]
    everything = classification.everything
    values = {classification.members(label) for label in (*classification.base, *classification.groups)} - {everything}
    has_people = np.array([members in values for members in sets])[codes] & (bounds.lower >= 1)
    groups = np.unique(np.delete(linked.keys, axis, axis=1), axis=0, return_inverse=True)[1].ravel()
    group_cells = np.flatnonzero(np.isin(groups, groups[has_people]))
    group_cells = group_cells[np.argsort(groups[group_cells], kind="stable")]
    only_values: list[int] = []
    for cells in np.split(group_cells, np.flatnonzero(np.diff(groups[group_cells])) + 1):
        absent = reduce(or_, (sets[codes[cell]] for cell in cells[bounds.upper[cells] == 0].tolist()), 0)
        most = bounds.upper[cells[codes[cells] == sets.index(everything)]].min(initial=UNBOUNDED)
        chosen: list[int] = []
        narrowest_first = sorted(cells[has_people[cells]].tolist(), key=lambda cell: sets[codes[cell]].bit_count())
        for cell in narrowest_first:
            value = sets[codes[cell]]
            nobody_else = not everything & ~(value | absent) or bounds.lower[cell] >= most
            if nobody_else and all(sets[codes[other]] & ~value for other in chosen):
                chosen.append(cell)
        only_values += chosen
    return only_values


# Glued tables: tables with given marginals, made by joining the clique tables of a junction tree row by row.
#
# Only the separator links the rows of neighbouring cliques, so rows may be joined in any order within each separator cell.
# Each such table proves that its counts are possible.


def _glued_table(tree: CalibratedTree, rng: "np.random.Generator") -> Cells:
    """Return a table with the counts of a published tree as marginals, its rows joined in random order, at the finest
    levels.

    Each separator cell is filled along the two orders at once (the north-west corner rule): most cells stay empty.
    """
    clique_counts = [np.rint(cells.counts).astype(np.int64) for cells in tree.cliques]
    counts = clique_counts[0]
    places: list[IndexArray] = [np.arange(len(counts))]
    for link in tree.links:
        child, parent = link.cliques
        inner, outer = link.positions[0], link.positions[1][places[parent]]
        inner_order, outer_order = (np.lexsort((rng.random(len(cells)), cells)) for cells in (inner, outer))
        # Both count the same rows in each separator cell, so the running sums of the two orders meet after each.
        inner_ends, outer_ends = np.cumsum(clique_counts[child][inner_order]), np.cumsum(counts[outer_order])
        ends = np.union1d(inner_ends, outer_ends)
        joined = outer_order[np.searchsorted(outer_ends, ends)]
        places = [*(cell[joined] for cell in places), inner_order[np.searchsorted(inner_ends, ends)]]
        counts = np.diff(ends, prepend=0)
    finest = tree.domain.margin(tree.tree.vertices)
    codes: dict[str, CodeArray] = {}
    for cells, clique_places in zip(tree.cliques, places):
        codes |= {a: cells.column(a)[clique_places] for a, level in cells.margin.items() if level == finest[a]}
    return Cells.of(tree.domain, finest, codes, counts)


def _keys(table: Cells, margin: Levels) -> IndexArray:
    """Return the cell of a margin around each cell, the last attribute fastest; `*` for attributes without a marginal."""
    keys: IndexArray = np.zeros(len(table), dtype=np.intp)
    for attribute, level in margin.items():
        keys = keys * table.domain.hierarchy(attribute).size(level)
        keys = keys + (table.column(attribute, level) if attribute in table.margin else 0)
    return keys


def _codes(domain: Domain, margin: Levels, cell: int) -> dict[str, int]:
    codes = np.unravel_index(cell, [domain.hierarchy(a).size(level) for a, level in margin.items()])
    return dict(zip(margin, map(int, codes)))


def _rows(table: Cells, margin: Levels) -> CountArray:
    return np.rint(np.bincount(_keys(table, margin), table.counts, table.domain.size(margin))).astype(np.int64)


# Knowledge: certain conclusions about the counts of a table whose marginals are published.
#
# Three methods together decide the range of a count. Bounds cover all cells of a margin at once. Tables with the published
# marginals prove that counts within the bounds are possible. Extremes of single cells take longest: flows along a junction
# tree, else programs.


_FIRST_SECONDS = 2.0
"""Seconds to find any table with the published marginals."""

IsOpen = Callable[[Ranges], BoolArray]
"""Returns whether each bound needs improvement: shape (2, cells), lower and upper."""


@frozen(eq=False)
class Knowledge:
    """Knowledge about the cells of margins whose attributes are published no coarser.

    is_whole: whether all published tables are used; tables and sharp bounds of a part need not be those of the whole.
    """

    source: FrechetBounds
    is_whole: bool = True

    @property
    def domain(self) -> Domain:
        """The attributes with their hierarchies."""
        return self.source.domain

    @property
    def _has_tree(self) -> bool:
        return self.source.collection.is_decomposable

    def about(self, margin: Levels) -> "Knowledge":
        """Return the knowledge about a margin, of its published attributes alone if all attributes have too many cells."""
        collection = self.source.collection
        if self._has_tree or self.source.possible is not None:
            return self
        finest = {attribute: collection.finest_level(attribute) for attribute in margin}
        return Knowledge(
            FrechetBounds(collection.within(self.domain.mask(finest)), self.source.deadline), is_whole=False
        )

    def ranges(self, margin: Mapping[str, int]) -> Ranges:
        """Return bounds on the counts of all cells of a margin; if they are sharp, all counts as attained."""
        bounds = self.source.of_margin(margin)
        ranges = Ranges(bounds.lower.ravel().copy(), bounds.upper.ravel().copy())
        if bounds.sharp:
            ranges.see(ranges.lower)
            ranges.see(ranges.upper)
        return ranges

    def tables(self) -> Iterator[Cells]:
        """Yield some tables with the published marginals: glued along the junction tree, or found by programs."""
        if self._has_tree:
            return map(self._glued, range(KEPT_TABLES))
        cells = self.source.possible
        if cells is None:
            return iter(())
        if not self.source.tables_met:
            self.source.extreme(cells, np.zeros(len(cells), dtype=np.bool_), 1, _FIRST_SECONDS, self.source.deadline)
        return map(cells.cells.with_counts, list(self.source.tables_met))

    @cached_property
    def _glued(self) -> Callable[[int], Cells]:
        return cache(lambda number: _glued_table(self.source.trees[0], np.random.default_rng(number)))

    def settle(
        self, margin: Mapping[str, int], ranges: Ranges, is_open: IsOpen, deadline: Deadline, seconds: float
    ) -> None:
        """Decide the open cells of a margin as far as there is time. seconds: of each program; 0 for flows only."""
        if not self._has_tree:
            cells = self.source.possible
            before: BoolArray = np.zeros((2, len(ranges)), dtype=np.bool_)
            # New bounds of some cells can open others.
            while seconds and cells is not None and not np.array_equal(before, waiting := is_open(ranges)):
                self._narrow(cells, margin, ranges, is_open, Effort(seconds, deadline=deadline))
                before = waiting
            return
        is_waiting = np.ones(len(ranges), dtype=np.bool_)
        while not deadline.is_over and (waiting := is_waiting & is_open(ranges).any(axis=0)).any():
            cell = int(np.argmax(waiting))
            is_waiting[cell] = False
            codes = _codes(self.domain, margin, cell)
            box = self.source.of_box({a: self.domain.hierarchy(a).lift(0, margin[a]) == codes[a] for a in margin})
            bounds = box.flow_bounds(min(deadline.left, seconds))
            if not bounds.sharp and (seconds or not bounds.lower_sharp):
                bounds = box.bounds(min(deadline.left, seconds))
            ranges.bound(0, cell, bounds.lower)
            ranges.bound(1, cell, -bounds.upper)
            if bounds.sharp or bounds.lower_sharp:
                ranges.seen_low[cell] = ranges.lower[cell]
            if bounds.sharp:
                ranges.seen_high[cell] = ranges.upper[cell]

    def _narrow(
        self, cells: PossibleCells, margin: Mapping[str, int], ranges: Ranges, is_open: IsOpen, effort: Effort
    ) -> None:
        open_cells = np.flatnonzero(is_open(ranges).any(axis=0))
        keys = _keys(cells.cells, margin)
        groups = np.where(np.isin(keys, open_cells), np.searchsorted(open_cells, keys), len(open_cells))
        unknowns = sums_of_cells(cells, groups, len(open_cells) + 1)
        np.maximum(unknowns.lower[:-1], ranges.lower[open_cells], out=unknowns.lower[:-1])
        np.minimum(unknowns.upper[:-1], ranges.upper[open_cells], out=unknowns.upper[:-1])

        def open_bounds(block: Unknowns) -> BoolArray:
            ranges.lower[open_cells], ranges.upper[open_cells] = block.lower[:-1], block.upper[:-1]
            if block.table is not None and not any(block.table is table for table in self.source.tables_met):
                self.source.tables_met.append(block.table)
                ranges.see(np.bincount(keys, block.table, len(ranges)))
            return np.pad(is_open(ranges)[:, open_cells], ((0, 0), (0, 1))) & ~block.attained

        narrow([unknowns], open_bounds, effort)


# Certain cells: certain conclusions from published marginals about few attributes at a time.
#
# A reader who combines marginals can calculate counts that no marginal shows. Here they are counted over all margins of up
# to three attributes of which one is sensitive. A count is *determined* if every table with the published marginals has the
# same. A cell *exists* if every such table has at least one row in it.


ATTRIBUTES = 3
"""Most attributes of a margin, the sensitive one included."""

MOST_CELLS = 1 << 22
"""Most cells of a margin, empty ones included, that are laid out."""

_MOST_SECONDS = 2.0
"""Seconds for the programs of one cell."""


@frozen
class CertainCells:
    """Certain conclusions about the cells of all margins of up to `attributes` attributes at their finest published
    levels.

    determined: cells with one possible count, which is not 0. exists: cells that certainly have a row. small:
    determined cells with fewer rows than the largest claimed k. undecided: further cells that may be among these.
    unread: margins that were not examined, for time or size. worst: the determined cell with the fewest rows, over all
    published levels, or None. one_value: least number of classes that certainly have rows, all with the same sensitive
    value. shared: the first of them with that value and its least rows.
    """

    determined: int
    exists: int
    small: int
    undecided: int
    unread: int
    worst: CertainCell | None
    attributes: int = ATTRIBUTES
    one_value: int = 0
    shared: CertainCell | None = None

    @property
    def is_complete(self) -> bool:
        """True if the numbers are exact; otherwise they are lower bounds."""
        return not self.undecided and not self.unread


def certain_cells(
    knowledge: Knowledge, sensitive: str, views: Mapping[str, Sequence[Levels]], k: int, deadline: Deadline
) -> CertainCells:
    """Count the certain conclusions about a sensitive attribute.

    views: for each attribute the ways in which margins can show it, the finest first. A way is a published level, or a
    level each if it is known in several ways at once. k: the largest claimed one, or 0. deadline: for decisions.
    """
    result = CertainCells(0, 0, 0, 0, 0, None)
    finest = {attribute: view[:1] for attribute, view in views.items()}
    values = knowledge.domain.size(views[sensitive][0])
    for examined in _judged_margins(knowledge, _margins(sensitive, finest), partial(_is_open, values=values), deadline):
        unread = result.unread + (examined is None)
        result = replace(result, unread=unread) if examined is None else _with_margin(result, *examined, values, k)
    # At coarser levels only the smallest determined cell matters.
    read = list(_margins(sensitive, finest))
    coarser = (margin for margin in _margins(sensitive, views) if margin not in read)
    worst = result.worst

    def may_be_worse(ranges: Ranges) -> BoolArray:
        """Return whether a bound is of a cell that may be determined with fewer rows than the worst: shape (2, cells)."""
        is_known = (ranges.lower == ranges.upper) & (ranges.lower > 0)
        fewest = min(worst.rows if worst else UNBOUNDED, ranges.lower[is_known].min(initial=UNBOUNDED))
        least = np.maximum(ranges.seen_high, np.maximum(ranges.lower, 1))
        is_open = (ranges.lower < ranges.upper) & (least < fewest) & (ranges.seen_low >= least)
        return np.stack([is_open, is_open])

    for examined in _judged_margins(knowledge, coarser, may_be_worse, deadline):
        if examined is not None:
            about_margin, margin, ranges = examined
            worst = _smaller(about_margin, margin, np.where(ranges.lower == ranges.upper, ranges.lower, 0), worst)
    return replace(result, worst=worst)


def _judged_margins(
    knowledge: Knowledge, margins: Iterable[Levels], is_open: IsOpen, deadline: Deadline
) -> Iterator[tuple[Knowledge, Levels, Ranges] | None]:
    """Yield ranges of the cells of each margin as far as there is time; None for a margin that is not read."""
    unfinished: list[tuple[Knowledge, Levels, Ranges]] = []
    for margin in margins:
        if deadline.is_over or knowledge.domain.size(margin) > MOST_CELLS:
            yield None
            continue
        try:
            about_margin = knowledge.about(margin)
            ranges = about_margin.ranges(margin)
            for table in about_margin.tables() if is_open(ranges).any() else ():
                ranges.see(_rows(table, margin))
                if not is_open(ranges).any():
                    break
            about_margin.settle(margin, ranges, is_open, deadline, 0.0)
        except TooManyCellsError:
            yield None
            continue
        if is_open(ranges).any() and sum(len(other) for *_, other in unfinished) < MOST_CELLS:
            unfinished.append((about_margin, margin, ranges))
        else:
            yield about_margin, margin, ranges
    # Margins that need programs come last, so that hard cells do not take the time of others.
    for place, (about_margin, margin, ranges) in enumerate(unfinished):
        about_margin.settle(margin, ranges, is_open, deadline.share(len(unfinished) - place), _MOST_SECONDS)
        yield about_margin, margin, ranges


def certainly_small(
    knowledge: Knowledge, views: Mapping[str, Sequence[Levels]], k: int, deadline: Deadline = NEVER
) -> CertainCell | None:
    """Return a cell of up to three attributes, at their finest levels, that certainly has from 1 to k - 1 rows.

    The cell is found by bounds only and before the deadline, so there may be others. rows: the most that it can have.
    """
    finest = {attribute: view[:1] for attribute, view in views.items()}
    for place, attribute in enumerate(finest):
        for margin in _margins(attribute, dict(list(finest.items())[: place + 1])):
            if deadline.is_over:
                return None
            if knowledge.domain.size(margin) > MOST_CELLS:
                continue
            ranges = knowledge.about(margin).ranges(margin)
            if np.any(small := (ranges.lower > 0) & (ranges.upper < k)):
                return _smaller(knowledge, margin, np.where(small, ranges.upper, 0), None)
    return None


def _margins(sensitive: str, views: Mapping[str, Sequence[Levels]]) -> Iterator[dict[str, int]]:
    others = [attribute for attribute in views if attribute != sensitive]
    for number in range(ATTRIBUTES):
        for chosen in combinations(others, number):
            for view_choice in product(*(views[attribute] for attribute in (*chosen, sensitive))):
                yield {name: level for levels in view_choice for name, level in levels.items()}


def _with_margin(
    sums: CertainCells, knowledge: Knowledge, margin: Levels, ranges: Ranges, values: int, k: int
) -> CertainCells:
    lower, upper = ranges.lower, ranges.upper
    determined = (lower == upper) & (lower > 0)
    undecided = _is_open(ranges, values).any(axis=0) if knowledge.is_whole else lower < upper
    possible = upper.reshape(-1, values) > 0
    is_only_value = possible & (possible.sum(axis=1, keepdims=True) == 1) & (lower.reshape(-1, values) > 0)
    return replace(
        sums,
        determined=sums.determined + int(np.count_nonzero(determined)),
        exists=sums.exists + int(np.count_nonzero(lower)),
        small=sums.small + int(np.count_nonzero(determined & (upper < k))),
        undecided=sums.undecided + int(np.count_nonzero(undecided)),
        worst=_smaller(knowledge, margin, np.where(determined, lower, 0), sums.worst),
        one_value=sums.one_value + int(np.count_nonzero(is_only_value)),
        shared=sums.shared or _smaller(knowledge, margin, np.where(is_only_value.ravel(), lower, 0), None),
    )


def _is_open(ranges: Ranges, values: int) -> BoolArray:
    """Return whether each bound can add to the certain conclusions: shape (2, cells).

    Such a cell may certainly have a row, or may be determined, beyond what is proven. In a class that certainly has a
    row it may also be certainly empty, unless two of its values are seen to be possible. values: number of values of
    the sensitive attribute; the cells of a class stand one after another.
    """
    most = np.maximum(ranges.seen_high, ranges.lower)
    may_exist = (ranges.lower == 0) & (ranges.seen_low > 0)
    may_be_determined = (ranges.lower > 0) & (ranges.seen_low >= most)
    exists, seen = ((ends.reshape(-1, values) > 0).sum(axis=1) for ends in (ranges.lower, most))
    may_be_empty = (most == 0) & np.repeat((exists > 0) & (seen < 2), values)
    sides = np.stack([may_exist | may_be_determined, may_be_determined | may_be_empty])
    return np.asarray((ranges.lower < ranges.upper) & sides)


def _smaller(knowledge: Knowledge, margin: Levels, rows: CountArray, worst: CertainCell | None) -> CertainCell | None:
    candidates = np.flatnonzero(rows)
    if not len(candidates):
        return worst
    cell = int(candidates[rows[candidates].argmin()])
    if worst is not None and rows[cell] >= worst.rows:
        return worst
    codes = _codes(knowledge.domain, margin, cell)
    labels = {a: knowledge.domain.hierarchy(a).labels[level][codes[a]] for a, level in margin.items()}
    return CertainCell(labels, dict(margin), int(rows[cell]))
