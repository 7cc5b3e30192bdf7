"""Conclusions of readers who know the algorithm: margins that a release lacks were refused, or would have told too
little.

The possible worlds are the tables with the published marginals. A world is excluded if an unpublished margin would
have been allowed and paid for in it (Wong et al., VLDB 2007).

An *addition* is one more vertex or edge of the interaction graph that leaves a junction tree (`refusals`, KG06 6.2).
Two tables with margins of 100/100 and 3/197 are not shown together under a least count of 3: so the counts are 1 and
2.

- If the possible worlds are few, only those remain in which no addition would have been taken. The reader knows what
  these have in common. Otherwise each addition is examined by itself, if need be by the bounds of its counts.
- Tables are excluded only if an addition is certainly allowed and certainly gains. So more may follow for a reader who
  runs the search itself on every table. Less may follow if a search stops at a level that tells nothing, on the way to
  one that does. Only the hierarchies of the table name such levels.
"""

from collections.abc import Collection as AnyCollection
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from enum import Enum
from functools import cached_property, reduce
from itertools import combinations, islice, product
from math import log, prod
from operator import and_, or_
from typing import Any

import numpy as np

from checks.claims import AttributeClaim, Claim, CountClaim, Question
from checks.classes import equivalence_classes, has_bare_value, nonsensitive_part
from checks.finding import SEARCHING
from models.arrays import BoolArray, CountArray, FloatArray, x_log_x
from models.deadline import NEVER, Deadline
from models.errors import MarginalsError, TooManyCellsError
from models.frozen import frozen
from models.graphs.interaction_graph import AddEdge, AddVertex, InteractionGraph, allowed_moves
from models.graphs.junction_tree import Collection, maximal_masks
from models.inference.frechet_bounds import FrechetBounds
from models.programs.consistent_tables import MOST_TABLES, all_tables
from models.tables.contingency_table import Cells, ContingencyTable
from models.tables.data_cube import DOUBTFUL, DataCube, interactions
from models.tables.fitted_levels import FittedLadder, thresholds
from models.tables.hierarchy import Domain, Margin, Mask, vertices_of

USUAL_SENSITIVE_MARGINS = 3
"""Default limit of margins that show the same sensitive attribute."""

_MOST_CELLS = 1 << 18
"""Most cells of the margin of an addition that are laid out."""

_MOST_LAID_OUT = 4_096
"""Most cells of tables that are laid out one by one, before cells that must be empty are left out."""

_MOST_CHECKS = 300
"""Most tables on which claims about sensitive values are checked, per addition."""

_MOST_IN_ALL = {"cells": 1 << 21, "counts": 20_000_000, "checks": 1_500, "margins": 50_000}
"""Limits for all additions together: cells of their margins, counts of tables that are laid out, tables that claims judge,
and comparisons with published margins. They limit work, not time, since a report must come out alike each time."""

_MOST_MARGINS = 400
"""Most margins in which common features of tables are sought, besides those of additions and the finest."""

_ATTRIBUTES = 3
"""Most attributes of such a margin."""

_ROUNDING = 1e-9
"""Nats by which the gain of an addition can be off."""


@frozen(eq=False)
class _Rules:
    """Rules of the publisher. least: counts below are small to the reader. left: remaining work, by kind."""

    collection: Collection
    sensitive: tuple[str, ...]
    claims: tuple[Claim, ...]
    least: int = 1
    price: float = 0.0
    deadline: Deadline = NEVER
    left: dict[str, int] = field(default_factory=lambda: dict(_MOST_IN_ALL))

    @property
    def domain(self) -> Domain:
        return self.collection.domain

    @cached_property
    def cliques(self) -> tuple[Mask, ...]:
        return tuple(self.collection.junction_tree.cliques)

    @cached_property
    def bounds(self) -> FrechetBounds:
        return FrechetBounds(self.collection)

    @cached_property
    def counting(self) -> tuple[CountClaim, ...]:
        return tuple(claim for claim in self.claims if isinstance(claim, CountClaim))

    @cached_property
    def least_class(self) -> int:
        return max((claim.least_count for claim in self.counting), default=1)

    @cached_property
    def least_cell(self) -> int:
        return max((claim.least_cell or 1 for claim in self.counting), default=1)

    @cached_property
    def priced(self) -> DataCube:
        return DataCube(self.collection.tables, parameters=interactions)

    @cached_property
    def crossing(self) -> bool:
        return bool(self.collection.crossings)

    def keeps_levels(self, margin: Mask) -> bool:
        return self.crossing or not any(self.domain.crossings(margin, self.cliques))

    def spend(self, kind: str, amount: int) -> bool:
        self.left[kind] -= amount
        return self.left[kind] >= 0

    def attribute(self, name: str) -> Mask:
        return self.domain.attribute_masks[self.domain.index(name)]

    def sensitive_in(self, mask: Mask) -> tuple[str, ...]:
        return tuple(name for name in self.sensitive if mask & self.attribute(name))

    def public(self, mask: Mask) -> Mask:
        return nonsensitive_part(self.domain, mask, self.sensitive)

    def obstacle(self, clique: Mask) -> str:
        if self.deadline.is_over:
            return "the time was over"
        if not self.spend("margins", len(self.cliques)):
            return "there are more ways to add a table than are examined"
        for name in self.sensitive_in(clique):
            attribute = self.attribute(name)
            claimed = any(isinstance(claim, AttributeClaim) and claim.about == name for claim in self.claims)
            if not claimed and not any(mask & attribute for mask in self.cliques):
                # A release claims nothing about an attribute that it does not show, whatever its publisher demanded.
                return f"the release claims nothing of {name}, so what would have had to hold of it is not known"
            if any(claim.criterion == "register" for claim in self.claims):
                return "it had to hold for readers with a register too, which the published files alone do not tell"
            after = maximal_masks([*self.cliques, clique])
            if sum(bool(mask & attribute) for mask in after) > USUAL_SENSITIVE_MARGINS:
                return f"more than {USUAL_SENSITIVE_MARGINS} tables would show {name}, which no search tries by default"
        cells = self.domain.size(self.domain.margin(clique))
        if not self.spend("cells", min(cells, _MOST_CELLS)) or cells > _MOST_CELLS:
            return f"its margin has {cells:,} cells, too many to be laid out"
        return ""

    def beyond_counts(self, clique: Mask) -> tuple[Claim, ...]:
        # Margins without a sensitive attribute matter to counts only (KG06 Prop. 7.3; design 4.5).
        sensitive_in = self.sensitive_in(clique)
        return tuple(
            claim
            for claim in self.claims
            if not (isinstance(claim, CountClaim) and (claim.is_about_single_margins or not sensitive_in))
            and not (isinstance(claim, AttributeClaim) and claim.about not in sensitive_in)
        )

    def allows(self, clique: Mask, table: ContingencyTable, claims: Sequence[Claim]) -> bool:
        cube = DataCube([table, *self.collection.tables])
        collection = Collection.of(cube, maximal_masks([*self.cliques, clique]))
        question = Question(collection, self.sensitive, SEARCHING)
        coarse = (
            claim for claim in claims if isinstance(claim, AttributeClaim) and claim.level < table.margin[claim.about]
        )
        return all(claim.check(question).holds for claim in claims) and not any(
            has_bare_value(equivalence_classes(table, claim.about), criterion)
            for claim in coarse
            if (criterion := claim.class_diversity) is not None
        )


def _must_be_small(lower: CountArray, upper: CountArray, least: int) -> BoolArray:
    return np.asarray((lower >= 1) & (upper < least))


def _all_cells(domain: Domain, margin: Mapping[str, int]) -> Cells:
    shape = [domain.hierarchy(name).size(level) for name, level in margin.items()]
    codes = np.indices(shape, dtype=np.intp).reshape(len(shape), prod(shape))
    return Cells.of(domain, margin, dict(zip(margin, codes)), np.ones(prod(shape)))


# Fitted levels: values are merged for ascending sizes t, and a level belongs to the first size that gives it. Then each
# of its groups has t rows or more, and each merged group holds a value with 1 to t - 1 rows
# (`models.tables.fitted_levels`). A reader who does not know t knows that it is at most the rows of the smallest group,
# which is published.


@frozen
class FittedLevelDisclosure:
    """Disclosure by a published level: each of its merged groups holds a value with 1 to `fewer_than` - 1 rows.

    groups: number of groups with rows; merged: how many of them hold several values. small: values, and nodes of the
    given hierarchy, that have few rows in all tables with the same release. unexamined: values for which this is not
    known.
    """

    attribute: str
    level: int
    groups: int
    merged: int
    fewer_than: int
    small: tuple["CertainRange", ...] = ()
    unexamined: tuple[str, ...] = ()
    note: str = ""


def level_told(
    collection: Collection, attribute: str, level: int, ladder: FittedLadder
) -> FittedLevelDisclosure | None:
    """Return the disclosure by one level whose counts follow from the collection; None if no group of it was merged."""
    hierarchy = collection.domain.hierarchy(attribute)
    if not ladder.start < level < hierarchy.height:
        return None
    table = collection.cube.table(collection.domain.mask({attribute: level}))
    values = np.bincount(hierarchy.lift(ladder.start, level).astype(np.intp), minlength=hierarchy.size(level))
    merged = int(np.count_nonzero(values[table.codes[0]] > 1))
    smallest = int(table.counts.min(initial=table.total))
    sizes = [size for size in thresholds(ladder.k, table.total) if size <= smallest]
    if not merged or not sizes:
        return None
    return FittedLevelDisclosure(attribute, level, len(table), merged, sizes[-1])


# Additions: one more vertex or edge of the interaction graph.


class Conclusion(Enum):
    """Conclusion from the refusal of one addition. The value is its name in JSON."""

    PROVES = "proves"
    """A count or a sensitive value that the tables leave open is certain."""
    SOME = "some"
    """A small count, or an addition that would tell too little, explains the refusal; which one is not certain."""
    OPEN = "open"
    """Tables are excluded, or may be, but the remaining ones have no small count and no sensitive value in common."""
    ALWAYS = "always"
    """The addition would have been refused whatever the data, so its refusal tells nothing."""
    UNEXPLAINED = "unexplained"
    """No claim can have refused the addition: it was left out for another reason."""
    NOT_EXAMINED = "not examined"
    """There are too many tables or cells, or the time was over."""


@frozen
class CertainRange:
    """Cell whose count is certainly small. values: label by attribute; levels: of these; lower, upper: its bounds."""

    values: Mapping[str, str]
    levels: Mapping[str, int]
    lower: int
    upper: int


@frozen
class CertainValue:
    """Class (`values`) in which everybody certainly has one sensitive value, with its least number of rows."""

    values: Mapping[str, str]
    sensitive: str
    value: str
    rows: int


@frozen
class Addition:
    """Addition that a release lacks, with the conclusions.

    added: levels by attribute: one that would be shown finer, or two that would be shown together. candidate_classes,
    classes: of the classes that both share, how many can have refused it, and how many there are. Both are 0 if tables
    were laid out. counts_only: whether only a small count can be the reason. margins_not_examined: where nothing
    certain was sought.
    """

    margin: Margin
    added: Mapping[str, int]
    outcome: Conclusion
    candidate_classes: int = 0
    classes: int = 0
    counts_only: bool = True
    may_gain_nothing: bool = False
    small: tuple[CertainRange, ...] = ()
    values: tuple[CertainValue, ...] = ()
    margins_not_examined: int = 0
    note: str = ""


@frozen
class Refusals:
    """Conclusions from all additions together that a release lacks.

    additions: each by itself. tables, left: how many tables have the published marginals, and how many of them explain
    all refusals. Both are None if there are too many tables, so that additions were not examined together. small,
    values: what is certain. unnamed: attributes that no table shows and whose values are not known.
    """

    least: int
    additions: tuple[Addition, ...] = ()
    tables: int | None = None
    left: int | None = None
    small: tuple[CertainRange, ...] = ()
    values: tuple[CertainValue, ...] = ()
    unnamed: tuple[str, ...] = ()
    margins_not_examined: int = 0

    def of(self, outcome: Conclusion) -> tuple[Addition, ...]:
        """Return the additions with an outcome."""
        return tuple(addition for addition in self.additions if addition.outcome is outcome)

    @property
    def together(self) -> bool:
        """True if all additions were judged together."""
        return self.tables is not None

    @property
    def contradict(self) -> bool:
        """True if no table explains the release: then other limits than the claims guided the search."""
        return self.left == 0


@frozen
class _Possible:
    """Possible addition. clique: the margin it makes. vertices: the added one, or those joined with the first."""

    clique: Mask
    vertices: tuple[int, ...]

    @property
    def separator(self) -> Mask:
        return self.clique & ~sum(1 << vertex for vertex in self.vertices)

    @property
    def sides(self) -> tuple[Mask, ...]:
        if len(self.vertices) == 1:
            return (self.separator,)
        return self.separator | 1 << self.vertices[0], self.clique & ~(1 << self.vertices[0])

    def addition(self, domain: Domain, outcome: Conclusion, **fields: Any) -> Addition:
        names = [domain.induced_attributes[vertex] for vertex in self.vertices]
        return Addition(domain.margin(self.clique), dict(names), outcome, **fields)  # of an attribute its finest step

    def untelling(self, collection: Collection, cells: Cells) -> tuple[CountArray, CountArray]:
        """Return the counts of cells for which the addition would tell nothing, as numerators and denominators."""
        total, *sides = (collection.cube.table(mask).counts_in(cells) for mask in (self.separator, *self.sides))
        if len(self.vertices) > 1:
            return sides[0] * sides[1], np.maximum(total, 1)
        attribute, level = collection.domain.induced_attributes[self.vertices[0]]
        leaves = [collection.domain.hierarchy(attribute).leaf_counts(up) for up in (level, level + 1)]
        return total * leaves[0][cells.column(attribute, level)], leaves[1][cells.column(attribute, level + 1)]


def refusals(
    collection: Collection,
    sensitive: AnyCollection[str],
    claims: Sequence[Claim],
    least: int,
    deadline: Deadline = NEVER,
    most: int = MOST_TABLES,
    price: float = 0.0,
) -> Refusals:
    """Return the conclusions from the additions that a decomposable collection lacks, if its claims hold.

    least: counts from 1 to least - 1 are small. most: tables that are laid out. price: nats that each free parameter
    of an addition must gain, DOUBTFUL times as much if its two attributes by themselves do not gain that. An addition
    that gains less may have been left out. The parameters are a release and the limits of its readers. Raises
    NotDecomposableError.
    """
    rules = _Rules(collection, tuple(sensitive), tuple(claims), least, price, deadline)
    graph = InteractionGraph.of(collection.domain, rules.cliques, crossing=rules.crossing)
    possible: list[_Possible] = []
    for move in allowed_moves(graph):
        if isinstance(move, AddVertex):
            possible.append(_Possible(graph.domain.coarser_steps(move.vertex) | 1 << move.vertex, (move.vertex,)))
        elif isinstance(move, AddEdge) and rules.keeps_levels(clique := move.clique(graph)):
            joined = vertices_of(graph.joined_steps(move.second))
            possible.append(_Possible(clique, (move.first, *joined)))
    unnamed = tuple(a for a, hierarchy in collection.domain.items() if hierarchy.height == 0)
    worlds = _all_worlds(rules, reduce(or_, [*rules.cliques, *(one.clique for one in possible)], 0), most)
    if worlds is None:
        additions = tuple(_by_itself(rules, one, most) for one in possible)
        small = _distinct(cell for addition in additions for cell in addition.small)
        values = tuple({str(value): value for addition in additions for value in addition.values}.values())
        unexamined = sum(addition.margins_not_examined for addition in additions)
        return Refusals(least, additions, None, None, small, values, unnamed, unexamined)
    verdicts = [_refused_in(rules, worlds, one, rules.obstacle(one.clique)) for one in possible]
    # An addition that no claim can have refused was left out for another reason, and excludes nothing.
    sets = [refused for refused, *_ in verdicts]
    everything: BoolArray = np.ones(worlds.counts.shape[1], dtype=np.bool_)
    remaining = reduce(and_, (refused for refused in sets if refused.any()), everything)
    (small, values, unexamined), *of_each = _in_common(
        rules, worlds, [remaining, *sets], [one.clique for one in possible]
    )
    additions = tuple(_laid_out(collection.domain, *parts) for parts in zip(possible, verdicts, of_each))
    unexamined = max(unexamined, *(addition.margins_not_examined for addition in additions), 0)
    left = int(np.count_nonzero(remaining))
    return Refusals(least, additions, len(everything), left, small, values, unnamed, unexamined)


def _by_itself(rules: _Rules, one: _Possible, most: int) -> Addition:
    if note := rules.obstacle(one.clique):
        return one.addition(rules.domain, Conclusion.NOT_EXAMINED, note=note)
    if (worlds := _all_worlds(rules, one.clique, most)) is not None:
        refused_tables = _refused_in(rules, worlds, one)
        return _laid_out(rules.domain, one, refused_tables, *_in_common(rules, worlds, refused_tables[:1]))
    if not rules.beyond_counts(one.clique) and not rules.sensitive_in(one.separator):
        try:
            return _by_bounds(rules, one, most)
        except TooManyCellsError as error:  # of what its sides tell each other, though its own are few
            return one.addition(rules.domain, Conclusion.NOT_EXAMINED, note=str(error))
    note = f"more than {most:,} tables are possible, and not only counts of the margin decide"
    return one.addition(rules.domain, Conclusion.NOT_EXAMINED, counts_only=False, note=note)


def _distinct(cells: Iterable[CertainRange]) -> tuple[CertainRange, ...]:
    ranges: dict[tuple[tuple[str, str], ...], CertainRange] = {}
    for cell in cells:
        old = ranges.setdefault(tuple(cell.values.items()), cell)
        narrow = replace(cell, lower=max(old.lower, cell.lower), upper=min(old.upper, cell.upper))
        ranges[tuple(cell.values.items())] = narrow
    return tuple(sorted(ranges.values(), key=lambda cell: (len(cell.values), cell.upper, cell.lower)))


# Worlds: cells with their counts in each table that has the published marginals, shape (cells, tables).


def _all_worlds(rules: _Rules, mask: Mask, most: int) -> Cells | None:
    margin = rules.domain.margin(mask)
    if rules.domain.size(margin) > _MOST_LAID_OUT or rules.left["counts"] < 0:
        return None
    cells, table = _all_cells(rules.domain, margin), rules.collection.cube.table
    masks = sorted({*maximal_masks([clique & mask for clique in rules.cliques]), 0})
    counts = [table(table_mask).counts_in(cells) for table_mask in masks]
    is_more = len(masks) == 3 and _are_more(most, cells, (counts[1], counts[2]), table(masks[1] & masks[2]))
    worlds = None if is_more else _worlds_of(rules, cells[np.all(counts, axis=0)], masks, most)
    rules.spend("counts", 4 * most if worlds is None else worlds.counts.size)
    return worlds


def _are_more(most: int, cells: Cells, marginals: tuple[CountArray, CountArray], classes: ContingencyTable) -> bool:
    """True if more tables than `most` have two marginals: in each class as many as one of its cells can have counts."""
    (first, second), (place, is_present) = marginals, cells.look_up(classes)
    counts = np.minimum(first, second) - np.maximum(first + second - classes.counts_in(cells), 0) + 1
    ways = np.ones(len(classes))
    np.maximum.at(ways, place[is_present], counts[is_present])
    return bool(np.log(ways).sum() > log(most) + _ROUNDING)


def _worlds_of(rules: _Rules, cells: Cells, masks: Iterable[Mask], most: int) -> Cells | None:
    keys, totals = [], []
    for table in map(rules.collection.cube.table, sorted(masks)):
        places, key = np.unique(cells.positions_in(table), return_inverse=True)
        keys.append(key.ravel())
        totals.append(table.counts[places])
    tables = all_tables(keys, totals, most)
    return None if tables is None else cells.with_counts(tables.T)


_Judged = tuple[BoolArray, BoolArray, BoolArray, str]
"""Tables in which an addition is not taken, has a small count, would tell too little: shape (tables,) each.

The last entry says why the first is not known; then it holds all tables that were not examined."""


def _refused_in(rules: _Rules, worlds: Cells, one: _Possible, obstacle: str = "") -> _Judged:
    domain = rules.domain
    if obstacle:
        everything: BoolArray = np.ones(worlds.counts.shape[1], dtype=np.bool_)
        return everything, everything, ~everything, obstacle
    cells = worlds.rolled_up(domain.margin(one.clique))
    classes = worlds.rolled_up(domain.margin(rules.public(one.clique)))
    small = _has_small(classes, rules.least_class) | _has_small(cells, rules.least_cell)
    nothing = _gains_nothing(rules, worlds, cells, one)
    refused, claims = small | nothing, rules.beyond_counts(one.clique)
    unsettled = np.flatnonzero(~refused)
    if not claims or not len(unsettled):
        return refused, small, nothing, ""
    distinct, which = np.unique(cells.counts[:, unsettled], axis=1, return_inverse=True)
    refused[unsettled] = True  # tables that were not examined are not excluded
    number, codes = distinct.shape[1], dict(zip(cells.attributes, cells.codes))
    if not rules.spend("checks", min(number, _MOST_CHECKS)) or number > _MOST_CHECKS:
        return refused, small, nothing, "claims would have to be checked on too many tables"
    try:
        tables = (ContingencyTable.from_cells(domain, cells.margin, codes, counts) for counts in distinct.T)
        allowed = np.array([rules.allows(one.clique, table, claims) for table in tables])
    except MarginalsError as error:
        return refused, small, nothing, str(error)
    refused[unsettled] = ~allowed[which.ravel()]
    return refused, small, nothing, ""


def _has_small(worlds: Cells, least: int) -> BoolArray:
    return np.asarray(np.any((worlds.counts >= 1) & (worlds.counts < least), axis=0))


def _gains_nothing(rules: _Rules, worlds: Cells, cells: Cells, one: _Possible) -> BoolArray:
    numerators, denominators = one.untelling(rules.collection, cells)
    nothing: BoolArray = np.all(cells.counts * denominators[:, None] == numerators[:, None], axis=0)
    if len(one.vertices) == 1 or not rules.price:
        return nothing
    gain, cost = _gain_and_cost(rules, worlds, *one.sides)
    if not cost:
        return nothing
    # A search removes an edge that does not pay, or does not pay twice the price if its pair does not either.
    ends = (one.vertices[0], one.vertices[-1])
    ends_alone = (rules.domain.coarser_steps(vertex) | 1 << vertex for vertex in ends)
    pair_gain, pair_cost = _gain_and_cost(rules, worlds, *ends_alone)
    doubtful = pair_gain <= DOUBTFUL * pair_cost + _ROUNDING
    little = (gain <= cost + _ROUNDING) | (gain <= DOUBTFUL * cost + _ROUNDING) & doubtful
    return np.asarray(nothing | little)


def _gain_and_cost(rules: _Rules, worlds: Cells, first: Mask, second: Mask) -> tuple[FloatArray, float]:
    """Return the nats that two margins tell together beyond each alone, shape (tables,), and the parameters' price."""
    signs = {first: 1, second: 1, first & second: -1, first | second: -1}
    total, domain = rules.collection.cube.total, rules.domain
    entropies = (-x_log_x(worlds.rolled_up(domain.margin(mask)).counts).sum(axis=0) for mask in signs)
    gain = sum(sign * entropy for sign, entropy in zip(signs.values(), entropies)) / max(total, 1)
    cells = sum(sign * rules.priced.cell_count(mask) for mask, sign in signs.items())
    return np.asarray(gain), -rules.price * cells


_Common = tuple[tuple[CertainRange, ...], tuple[CertainValue, ...], int]
"""Small counts and sensitive values that some tables share, and not all; number of margins that were not examined."""


def _in_common(rules: _Rules, worlds: Cells, sets: Sequence[BoolArray], required: Sequence[Mask] = ()) -> list[_Common]:

    domain, finest = rules.domain, worlds.margin
    examined = {mask: domain.margin(mask) for mask in (*required, domain.mask(finest))}
    margins = (
        dict(zip(names, levels))
        for number in range(1, min(_ATTRIBUTES, len(finest)) + 1)
        for names in combinations(finest, number)
        for levels in product(*(range(finest[name], domain.hierarchy(name).height) for name in names))
    )
    examined |= {domain.mask(margin): Margin(margin) for margin in islice(margins, _MOST_MARGINS)}
    unexamined = _coarser_margins(domain, finest) - len(examined)
    small: list[list[CertainRange]] = [[] for _ in sets]
    values: list[list[CertainValue]] = [[] for _ in sets]
    # All tables, or none, have nothing more in common.
    telling = [number for number, tables in enumerate(sets) if tables.any() and not tables.all()]
    for margin in examined.values():
        cells = worlds.rolled_up(margin)
        for number in telling:
            small[number].extend(_certain_ranges(cells, sets[number], rules.least))
            for name in rules.sensitive_in(domain.mask(margin)):
                values[number].extend(_certain_values(cells, sets[number], name))
    return [
        (_distinct(some), tuple(others), unexamined if number in telling else 0)
        for number, (some, others) in enumerate(zip(small, values))
    ]


def _coarser_margins(domain: Domain, margin: Mapping[str, int]) -> int:
    return prod(domain.hierarchy(name).height - level + 1 for name, level in margin.items()) - 1


def _certain_ranges(worlds: Cells, remaining: BoolArray, least: int) -> Iterator[CertainRange]:
    if remaining.any():
        (lower, upper), ends = (_range(counts) for counts in (worlds.counts[:, remaining], worlds.counts))
        for cell in np.flatnonzero(_must_be_small(lower, upper, least) & ~_must_be_small(*ends, least)).tolist():
            labels = worlds.labels(cell)
            values = {name: labels[name] for name in worlds.margin}
            yield CertainRange(values, dict(worlds.margin), int(lower[cell]), int(upper[cell]))


def _range(counts: CountArray) -> tuple[CountArray, CountArray]:
    return counts.min(axis=1), counts.max(axis=1)


def _certain_values(worlds: Cells, remaining: BoolArray, sensitive: str) -> Iterator[CertainValue]:
    shared = {name: level for name, level in worlds.margin.items() if name != sensitive}
    class_of = worlds.positions_in(worlds.rolled_up(shared))

    def certain(lower: CountArray, upper: CountArray) -> BoolArray:
        return np.asarray((lower >= 1) & (np.bincount(class_of, upper > 0)[class_of] == 1))

    lower, upper = _range(worlds.counts[:, remaining])
    cells = np.flatnonzero(certain(lower, upper) & ~certain(*_range(worlds.counts)))
    for cell in cells[np.argsort(class_of[cells])].tolist():
        labels = worlds.labels(cell)
        yield CertainValue({a: labels[a] for a in shared}, sensitive, labels[sensitive], int(lower[cell]))


def _laid_out(domain: Domain, one: _Possible, refused_tables: _Judged, common: _Common) -> Addition:
    (refused, small, nothing, note), (ranges, values, unexamined) = refused_tables, common
    telling = refused & ~nothing
    counts_only = bool(np.all(small[telling]))
    if note:
        outcome = Conclusion.NOT_EXAMINED
    elif not refused.any():
        outcome = Conclusion.UNEXPLAINED
    elif refused.all():
        outcome, counts_only = Conclusion.ALWAYS, bool(small.all())
    elif ranges or values:
        outcome = Conclusion.PROVES
    else:
        outcome = Conclusion.SOME if counts_only and telling.any() else Conclusion.OPEN
    return one.addition(
        domain,
        outcome,
        counts_only=counts_only,
        may_gain_nothing=bool(np.any(nothing & ~small)),
        small=ranges,
        values=values,
        margins_not_examined=unexamined,
        note=note,
    )


def _by_bounds(rules: _Rules, one: _Possible, most: int) -> Addition:
    domain, cube = rules.domain, rules.collection.cube
    margin, classes = domain.margin(one.clique), cube.table(one.separator)
    cells, bounds = _all_cells(domain, margin), rules.bounds.of_margin(margin)
    lower, upper, (class_of, _) = bounds.lower.ravel(), bounds.upper.ravel(), cells.look_up(classes)
    # If a sensitive attribute is added, classes are published ones, so only the counts of cells can be too small.
    least = rules.least_cell if rules.sensitive_in(one.clique) else max(rules.least_class, rules.least_cell)
    candidates = np.flatnonzero(np.bincount(class_of[np.maximum(lower, 1) <= np.minimum(upper, least - 1)]))
    numerators, denominators = one.untelling(rules.collection, cells)
    nothing = (rules.price > 0 and len(one.vertices) > 1) or bool(np.all(numerators % denominators == 0))
    outcome, unexamined = Conclusion.SOME, _coarser_margins(domain, margin) - 1
    small: tuple[CertainRange, ...] = ()
    if _must_be_small(lower, upper, least).any():
        outcome, unexamined = Conclusion.ALWAYS, 0
    elif not len(candidates):
        outcome, unexamined = Conclusion.UNEXPLAINED, 0
    elif len(candidates) == 1 and not nothing:
        in_class = cells[(class_of == candidates[0]) & (upper > 0)]
        if (worlds := _worlds_of(rules, in_class, {one.separator, *one.sides}, most)) is not None:
            small = tuple(_certain_ranges(worlds, _has_small(worlds, least), rules.least))
            outcome = Conclusion.PROVES if small else Conclusion.SOME
    return one.addition(
        domain,
        outcome,
        candidate_classes=len(candidates),
        classes=len(classes),
        may_gain_nothing=nothing,
        small=small,
        margins_not_examined=unexamined,
    )
