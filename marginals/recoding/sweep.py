"""SWEEP: a (tau, l)-diverse table by local recoding and generalized sensitive values (TZ09 section III, Fig. 4).

Rows begin in the classes of their base values. Class by class, in an order of falling information, a class keeps the rows
with which it is diverse; the others are swept on to the next, more general class that covers them. If the whole table is not
diverse, or what is left at the end, sensitive values are generalized until it is. So every requirement can be met that the
set of sensitive values allows at all. Of several sensitive attributes each must be diverse by itself (TZ11 section 4.6).

With another criterion, or k alone, classes are swept on as wholes, and sensitive values stay as they are.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm, prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from checks.diversity.criteria import Functional, Induction
from checks.diversity.criterion import Diversity, satisfies
from marginals.arguments import elements_of, require_whole_number
from marginals.errors import InputError, NothingPublishableError
from marginals.recoding.local_recoding import LocalRecoding, Weights, occurrence_weights, require_rows, requirement_of
from marginals.recoding.measures import sweep_chains, sweep_order
from marginals.tables.table import Table
from models.arrays import BoolArray, CountArray, FloatArray, IndexArray, read_only
from models.tables.contingency_table import pack
from models.tables.generalized_cells import GeneralizedCells, Taxonomy

# Thinning: the rows to take from a class so that those left are (tau, l)-diverse (TZ09 III.C and III.D).
#
# Sensitive values may be generalized, so a class is counted by published value, and each published value counts in
# part for every base value under it (TZ09 Def. 2). The parts are brought to a common denominator: all verdicts are
# exact.


_WHOLE = 2**62
"""Whole numbers stay below this in int64; beyond it Python's own take over."""


_MOST_STEPS = 4096
"""Rows of a class at most that are removed one by one."""


@dataclass(frozen=True, eq=False)
class InducedBound:
    """A (tau, l) requirement on classes counted by published value.

    requirement: with the induction of the published values. levels: of the published values, shape (values,), falling.
    rows: no class has more. Classes come as counts of shape (classes, published values).
    """

    requirement: Functional
    levels: IndexArray
    rows: int

    def __post_init__(self) -> None:
        if self.requirement.induction is None or len(self.requirement.induction.shares) != len(self.levels):
            raise ValueError("the requirement must say what each published value induces")
        if np.any(np.diff(self.levels) > 0):
            raise ValueError("the more general values must come first")

    @cached_property
    def _shares_and_scale(self) -> tuple[NDArray[Any], int]:
        """Base values that a published value stands for, times a scale that makes them whole, and that scale."""
        assert self.requirement.induction is not None
        shares = self.requirement.induction.shares
        scale = lcm(*{share.denominator for row in shares for share in row})
        tau, steps = self.requirement.tau, self.requirement.l - 1
        fits = self.rows * scale * tau.denominator * steps < _WHOLE
        whole = [[int(share * scale) if share else 0 for share in row] for row in shares]
        return read_only(np.array(whole, dtype=np.int64 if fits else object)), scale

    @property
    def shares(self) -> NDArray[Any]:
        """What a row of a published value counts for: whole numbers, shape (published values, base values)."""
        return self._shares_and_scale[0]

    @property
    def scale(self) -> int:
        """What a whole row counts for."""
        return int(self._shares_and_scale[1])

    @cached_property
    def fewest_values(self) -> int:
        """A class that passes has so many base values at least; more than there are where no class can pass."""
        values = int(self.shares.shape[1])
        for support in range(1, values + 1):
            if all(Fraction(k, support) <= self.requirement.bound(k) for k in range(1, support + 1)):
                return support
        return values + 1

    @cached_property
    def _bounds_and_unit(self) -> tuple[NDArray[Any], int]:
        """psi(k) for every k at which it can fail, times a unit that makes them whole, and that unit."""
        unit = self.requirement.tau.denominator * (self.requirement.l - 1)
        last = min(self.requirement.l - 1, self.shares.shape[1])
        bounds = [int(self.requirement.bound(k) * unit) for k in range(1, last + 1)]
        return read_only(np.array(bounds, dtype=self.shares.dtype)), unit

    def masses(self, counts: CountArray) -> NDArray[Any]:
        """Rows by base value, times the scale: shape (classes, base values)."""
        # Base values count for themselves alone: as a product of matrices it takes as many times longer as there are values.
        values, base = self._base
        result: NDArray[Any] = np.zeros((len(counts), self.shares.shape[1]), dtype=self.shares.dtype)
        result[:, base] = counts[:, values].astype(self.shares.dtype) * self.scale
        for value, under, shares in self._general:
            result[:, under] += counts[:, value, None].astype(self.shares.dtype) * shares
        return result

    def holds(self, counts: CountArray) -> BoolArray:
        """Whether F(k) <= psi(k) for every k, exactly: shape (classes,). A class without rows passes."""
        bounds, unit = self._bounds_and_unit
        masses, others = self.masses(counts), self.shares.shape[1] - len(bounds)
        if others > 0 and masses.dtype != object:
            masses = np.partition(masses, others, axis=1)[:, others:]
        masses = np.sort(masses, axis=1)[:, ::-1]
        cumulative = np.cumsum(masses[:, : len(bounds)], axis=1)
        totals = counts.sum(axis=1).astype(self.shares.dtype) * self.scale
        return np.asarray((cumulative * unit <= totals[:, None] * bounds).all(axis=1), dtype=bool)

    @cached_property
    def _general(self) -> list[tuple[int, IndexArray, NDArray[Any]]]:
        values = np.flatnonzero(self.levels > 0).tolist()
        return [
            (value, under, self.shares[value, under])
            for value in values
            for under in [np.flatnonzero(self.shares[value])]
        ]

    @cached_property
    def _base(self) -> tuple[IndexArray, IndexArray]:
        values = np.flatnonzero(self.levels == 0)
        return values, self.shares[values].argmax(axis=1)

    def lowered(self, counts: CountArray, heights: NDArray[Any]) -> CountArray:
        """What is left when no base value may have a mass above a height, its least general rows going first.

        heights: whole numbers in the scale of `masses`, one for each class.
        """
        lowered_counts = np.empty_like(counts)
        room = np.repeat(heights[:, None], self.shares.shape[1], axis=1)
        for value, under, shares in self._general:
            fitting = (room[:, under] // shares).min(axis=1)
            lowered_counts[:, value] = np.minimum(fitting, counts[:, value])
            room[:, under] -= lowered_counts[:, value, None] * shares
        values, base = self._base
        lowered_counts[:, values] = np.minimum(room[:, base] // self.scale, counts[:, values])
        return lowered_counts

    def thinned(self, counts: CountArray) -> CountArray:
        """What is left of each class when rows of its dominant base value are removed, one by one, until it passes.

        Each time the least general of these rows goes, whose removal lowers the dominant frequency most (TZ09 III.D).
        So the masses are cut at a height that sinks. Cutting everything to one height lowers every F(k), and the height
        at which a class passes is found by halving; the rows of the last cut are given back as far as they may. Rows of
        general values count in parts, and then a class can pass, fail and pass again as the height sinks: of these classes
        rows are removed one by one too, and what leaves more is taken.
        """
        thinned_counts = counts.copy()
        failing = np.flatnonzero(~self.holds(counts))
        rich = np.count_nonzero(self.masses(counts[failing]), axis=1) >= self.fewest_values
        thinned_counts[failing[~rich]] = 0
        failing = failing[rich]
        counts = counts[failing]
        low = np.zeros(len(counts), dtype=self.shares.dtype)
        high = self.masses(counts).max(axis=1, initial=0)
        while (halved := np.flatnonzero(high - low > 1)).size:
            middle = (low[halved] + high[halved]) // 2
            passes = self.holds(self.lowered(counts[halved], middle))
            low[halved] = np.where(passes, middle, low[halved])
            high[halved] = np.where(passes, high[halved], middle)
        lower_counts = self.lowered(counts, low)
        last_cut = np.maximum(self.lowered(counts, high) - lower_counts, 0)
        rank = np.cumsum(last_cut > 0, axis=1)
        best = lower_counts.copy()
        for given_back in range(1, int(rank.max(initial=0))):
            fuller = lower_counts + np.where(rank <= given_back, last_cut, 0)
            passes = self.holds(fuller)
            best[passes] = fuller[passes]
        stepwise = np.flatnonzero(counts[:, self.levels > 0].any(axis=1) & (counts.sum(axis=1) <= _MOST_STEPS))
        if len(stepwise):
            left = self._removed_one_by_one(counts[stepwise])
            more = left.sum(axis=1) > best[stepwise].sum(axis=1)
            best[stepwise[more]] = left[more]
        thinned_counts[failing] = best
        return thinned_counts

    def _removed_one_by_one(self, counts: CountArray) -> CountArray:
        """The same by the steps of the paper, one row of each failing class at a time."""
        left, failing = counts.copy(), np.arange(len(counts))
        while (failing := failing[~self.holds(left[failing])]).size:
            dominant = self.masses(left[failing]).argmax(axis=1)
            lowers = np.where(left[failing] > 0, self.shares[:, dominant].T, -1)
            left[failing, lowers.argmax(axis=1)] -= 1
        return left


_STEPS = 1024
"""A step generalizes at most this part of the rows of a value at once: one row where there are fewer."""


class _Rows(NamedTuple):
    """Rows on their way, in groups of equal ones: where they come from, and what is published of their secrets.

    cells: of the base table, shape (groups,). nodes: of the sensitive values, shape (groups, sensitive attributes).
    counts: rows in the group, shape (groups,), positive.
    """

    cells: IndexArray
    nodes: IndexArray
    counts: CountArray

    def some(self, counts: CountArray) -> "_Rows":
        """So many rows of each group, groups that become empty left out."""
        held = counts > 0
        return _Rows(self.cells[held], self.nodes[held], counts[held])

    def and_also(self, others: "_Rows") -> "_Rows":
        """These rows and others."""
        return _Rows(*(np.concatenate(columns) for columns in zip(self, others)))


@dataclass(frozen=True, eq=False)
class _Measure:
    """How classes are judged in one sensitive attribute.

    axis: of the attribute among the sensitive ones. values: its nodes that occur, the most general first. column_of: for
    each node of the taxonomy its place among them. reach: how many base values each value stands for.
    """

    axis: int
    values: IndexArray
    column_of: IndexArray
    reach: CountArray
    bound: InducedBound

    def slots(self, rows: _Rows, class_of: IndexArray) -> IndexArray:
        """For each group one number for its class and value."""
        return class_of * len(self.values) + self.column_of[rows.nodes[:, self.axis]]

    def tally(self, rows: _Rows, class_of: IndexArray, class_count: int) -> CountArray:
        """Rows by value: shape (classes, values)."""
        slots = self.slots(rows, class_of)
        tallied = np.bincount(slots, rows.counts, minlength=class_count * len(self.values))
        return tallied.reshape(class_count, len(self.values)).astype(np.int64)


@dataclass(frozen=True, eq=False)
class _Secret:
    """A sensitive attribute: its taxonomy, the weights of its base values, and what is required of it."""

    axis: int
    taxonomy: Taxonomy
    weights: Sequence[Fraction | int] | None
    requirement: Functional

    def measure(self, nodes: IndexArray, row_count: int) -> _Measure:
        """The measure of classes in which only these nodes occur, and that have no more rows."""
        values = np.unique(nodes)[::-1]
        levels = self.taxonomy.levels[values]
        codes = values - np.array(self.taxonomy.offsets)[levels]
        published = list(zip(levels.tolist(), codes.tolist()))
        induction = Induction.of_values(self.taxonomy.hierarchy, published, self.weights)
        column_of = np.zeros(self.taxonomy.size, dtype=np.intp)
        column_of[values] = np.arange(len(values))
        bound = InducedBound(Functional(self.requirement.tau, self.requirement.l, induction), levels, row_count)
        return _Measure(self.axis, values, column_of, np.count_nonzero(bound.shares, axis=1), bound)


_Order = Sequence[Mapping[str, int]]

_Closed = tuple[Mapping[str, int], _Rows]
"""Levels of the quasi-identifiers, and rows that are published at these."""


def sweep(
    table: Table,
    requirement: Diversity | str | None = None,
    importance: Sequence[str] | None = None,
    weights: Weights | None = None,
    *,
    k: int = 1,
) -> LocalRecoding:
    """The table that SWEEP publishes; it satisfies the requirement in each sensitive attribute.

    requirement: (tau, l)-diversity, for example "functional:0.5,2". With another diversity, or with k alone, a class keeps
    all its rows where it passes, and none where it does not; sensitive values are never generalized then.
    importance: the quasi-identifiers, the most important first, by default in the table's order; among classes of equal
    information those that are finer in it come first. weights: by default those of `occurrence_weights`. k: each class
    has at least so many rows; the paper asks for no more than diversity.
    Raises InputError where there is no sensitive attribute that the requirement could be about, or several and it is not
    functional, for another list of quasi-identifiers, and for so many rows and levels that it would take minutes
    (`class_order`); NothingPublishableError when the table has fewer rows than k, or when generalizing sensitive values
    does not lead to the requirement.

    >>> from marginals.example import table
    >>> sweep(table, "functional:0.5,2", k=4)
    LocalRecoding(48 rows in 9 classes)
    """
    require_whole_number(k, "k", 1)
    criterion = requirement_of(table, requirement)
    given = table.quasi_identifiers if importance is None else importance
    axes = tuple(elements_of(given, "importance", "a list of quasi-identifiers"))
    if sorted(map(str, axes)) != sorted(table.quasi_identifiers):
        raise InputError(f"importance must name each quasi-identifier once: {', '.join(table.quasi_identifiers)}")
    if isinstance(criterion, Functional) and criterion.induction is not None:
        raise InputError("SWEEP finds out itself what generalized values induce; give the requirement without it")
    require_rows(table.rows, k)
    known = occurrence_weights(table) if weights is None else weights
    order = [dict(zip(axes, levels)) for levels in class_order(table, axes)]
    if isinstance(criterion, Functional):
        secrets = [
            _Secret(axis, Taxonomy(table.domain.hierarchy(attribute)), known.get(attribute), criterion)
            for axis, attribute in enumerate(table.sensitive)
        ]
        swept = _swept(table, order, secrets, k)
    else:
        swept = _swept_whole(table, order, criterion, k)
    closed = [(_nodes(table, retained, levels), retained.counts) for levels, retained in swept]
    nodes, counts = (np.concatenate(part) for part in zip(*closed))
    cells = GeneralizedCells.from_rows(table.domain, nodes, counts)
    return LocalRecoding(cells, table.quasi_identifiers, table.sensitive, known)


def _swept(table: Table, order: _Order, secrets: Sequence[_Secret], k: int) -> list[_Closed]:
    """TZ09 Fig. 4, with at least k rows in a class."""
    rows = _diversified(_all_rows(table), secrets)
    measures = [secret.measure(nodes, table.rows) for secret, nodes in zip(secrets, rows.nodes.T)]
    closed, rest = _closed_classes(table, order, rows, lambda rows, class_of: _kept(rows, class_of, measures, k))
    while 0 < rest.counts.sum() < k:
        rest = _with_a_class_back(table, rest, closed)
    return [*closed, (order[-1], _diversified(rest, secrets))] if len(rest.cells) else closed


def _swept_whole(table: Table, order: _Order, diversity: Diversity | None, k: int) -> list[_Closed]:
    """The same for any criterion on the values as they are, or none: a class keeps all its rows, or none of them.

    If the rows that are left at the end are no class that passes, classes that were closed last come back to them.
    """
    values = table.domain.hierarchy(table.sensitive[0]).size(0) if diversity is not None else 0

    def passing(rows: _Rows, class_of: IndexArray) -> BoolArray:
        """Which classes have at least k rows and satisfy the criterion, shape (classes,)."""
        passes: BoolArray = np.bincount(class_of, rows.counts) >= k
        if diversity is not None and passes.any():
            large = passes[class_of]
            place = np.cumsum(passes) - 1
            slots = place[class_of[large]] * values + rows.nodes[large, 0]
            held = np.bincount(slots, rows.counts[large], minlength=int(passes.sum()) * values)
            passes[passes] = satisfies(diversity, held.reshape(-1, values).astype(np.int64))
        return passes

    def retained(rows: _Rows, class_of: IndexArray) -> CountArray:
        return np.where(passing(rows, class_of)[class_of], rows.counts, 0)

    closed, rest = _closed_classes(table, order, _all_rows(table), retained)
    while len(rest.cells) and not passing(rest, np.zeros(len(rest.cells), dtype=np.intp)).all():
        if not closed:
            raise NothingPublishableError(f"all {table.rows:,} rows together do not satisfy {diversity}")
        rest = _with_a_class_back(table, rest, closed)
    return [*closed, (order[-1], rest)] if len(rest.cells) else closed


def _closed_classes(
    table: Table, order: _Order, rows: _Rows, retained: Callable[[_Rows, IndexArray], CountArray]
) -> tuple[list[_Closed], _Rows]:
    """What classes keep at all levels but the coarsest, in the order of the sweep, and the rows that no class keeps.

    retained: how many rows of each group stay in their class.
    """
    closed: list[_Closed] = []
    for levels in order[:-1]:
        held = retained(rows, _classes(table, levels, rows))
        if held.any():
            closed.append((levels, rows.some(held)))
            rows = rows.some(rows.counts - held)
        if not len(rows.cells):
            break
    return closed, rows


def _all_rows(table: Table) -> _Rows:
    columns = [table.base_counts.column(attribute, 0) for attribute in table.sensitive]
    nodes = np.stack(columns, axis=1) if columns else np.empty((len(table.base_counts), 0))
    return _Rows(np.arange(len(table.base_counts)), nodes.astype(np.intp), table.base_counts.counts)


def _classes(table: Table, levels: Mapping[str, int], rows: _Rows) -> IndexArray:
    """The number of the class of each group of rows at some levels of the quasi-identifiers: shape (groups,)."""
    import pandas as pd  # loaded here: a table that is generalized as a whole needs none

    hierarchies = {attribute: table.domain.hierarchy(attribute) for attribute in levels}
    base = {attribute: table.base_counts.column(attribute, 0)[rows.cells] for attribute in levels}
    columns = [hierarchies[attribute].lift(0, level)[base[attribute]] for attribute, level in levels.items()]
    sizes = [hierarchies[attribute].size(level) for attribute, level in levels.items()]
    return np.asarray(pd.factorize(pack(columns, sizes, len(rows.cells))[0])[0], dtype=np.intp)


def _with_a_class_back(table: Table, rows: _Rows, closed: list[_Closed]) -> _Rows:
    """The rows with those of one of the classes that were closed last, which is taken from the closed ones."""
    reopened, latest = closed.pop()
    opened = _classes(table, reopened, latest) == 0
    if not opened.all():
        closed.append((reopened, latest.some(np.where(opened, 0, latest.counts))))
    return rows.and_also(latest.some(np.where(opened, latest.counts, 0)))


def _nodes(table: Table, rows: _Rows, levels: Mapping[str, int]) -> IndexArray:
    """The published nodes of rows whose quasi-identifiers are shown at these levels: shape (groups, attributes)."""
    nodes = np.empty((len(rows.cells), len(table.domain.attributes)), dtype=np.intp)
    for axis, (attribute, hierarchy) in enumerate(table.domain.items()):
        if attribute in levels:
            node_of = Taxonomy(hierarchy).at_level(levels[attribute])
            nodes[:, axis] = node_of[table.base_counts.column(attribute, 0)[rows.cells]]
        else:
            nodes[:, axis] = rows.nodes[:, table.sensitive.index(attribute)]
    return nodes


def _kept(rows: _Rows, class_of: IndexArray, measures: Sequence[_Measure], k: int) -> CountArray:
    """How many rows of each group stay in their class, so that every class is diverse, with k rows, or empty (III.D)."""
    import pandas as pd  # loaded here: a table that is generalized as a whole needs none

    retained = np.zeros(len(rows.counts), dtype=np.int64)
    hopeful = _hopeful(rows, class_of, measures)
    if not hopeful.any():
        return retained
    class_of, classes = pd.factorize(class_of[hopeful])
    staying = _Rows(rows.cells[hopeful], rows.nodes[hopeful], rows.counts[hopeful])
    settled = False
    while not settled:
        settled = True
        for measure in measures:
            held = measure.tally(staying, class_of, len(classes))
            thinned = measure.bound.thinned(held)
            if not np.array_equal(held, thinned):
                others = [other for other in measures if other is not measure]
                staying = staying._replace(counts=_left_in_groups(staying, class_of, measure, thinned, others))
                settled = not others
    large = np.bincount(class_of, staying.counts) >= k
    retained[hopeful] = np.where(large[class_of], staying.counts, 0)
    return retained


def _hopeful(rows: _Rows, class_of: IndexArray, measures: Sequence[_Measure]) -> BoolArray:
    """Whether the class of a group may have enough base values to pass: shape (groups,)."""
    hopeful = np.ones(len(rows.counts), dtype=bool)
    for measure in measures:
        reach = measure.reach[measure.column_of[rows.nodes[:, measure.axis]]]
        hopeful &= (np.bincount(class_of, reach) >= measure.bound.fewest_values)[class_of]
    return hopeful


def _left_in_groups(
    rows: _Rows, class_of: IndexArray, measure: _Measure, thinned: CountArray, others: Sequence[_Measure]
) -> CountArray:
    """The rows left of each group, given those left by class and value in one sensitive attribute: shape (groups,).

    Of rows with one value in one class those go first that add most to the dominant values of the other attributes.
    """
    counts = np.where(thinned.sum(axis=1)[class_of] > 0, rows.counts, 0)
    slots = measure.slots(rows, class_of)
    full = np.bincount(slots, counts, minlength=thinned.size) <= thinned.ravel()
    choosing = np.flatnonzero(~full[slots])
    load = _load(rows, class_of, len(thinned), others)[choosing]
    order = choosing[np.lexsort((load, slots[choosing]))]
    before = np.cumsum(counts[order]) - counts[order]
    starts = np.flatnonzero(np.diff(slots[order], prepend=-1))
    before -= np.repeat(before[starts], np.diff(starts, append=len(order)))
    counts[order] = np.clip(thinned.ravel()[slots[order]] - before, 0, counts[order])
    return counts


def _load(rows: _Rows, class_of: IndexArray, class_count: int, measures: Sequence[_Measure]) -> FloatArray:
    """What a row of each group adds to the dominant base values of its class in these attributes: shape (groups,)."""
    load = np.zeros(len(rows.counts))
    for measure in measures:
        dominant = measure.bound.masses(measure.tally(rows, class_of, class_count)).argmax(axis=1)
        shares = measure.bound.shares[measure.column_of[rows.nodes[:, measure.axis]], dominant[class_of]]
        load += shares.astype(np.float64) / measure.bound.scale
    return load


def _diversified(rows: _Rows, secrets: Sequence[_Secret]) -> _Rows:
    """The rows with sensitive values generalized until all of them together are diverse (TZ09 III.C)."""
    for secret in secrets:
        raised = _raised_counts(rows, secret)
        for node in np.flatnonzero(raised):
            rows = _with_parents(rows, secret, int(node), int(raised[node]))
    return rows


def _raised_counts(rows: _Rows, secret: _Secret) -> CountArray:
    """How many rows of each node must take its parent for a sensitive value: shape (nodes,)."""
    taxonomy = secret.taxonomy
    measure = secret.measure(np.arange(taxonomy.size), int(rows.counts.sum()))
    counts = np.zeros((1, taxonomy.size), dtype=np.int64)
    np.add.at(counts[0], measure.column_of[rows.nodes[:, secret.axis]], rows.counts)
    raised = np.zeros(taxonomy.size, dtype=np.int64)
    while not measure.bound.holds(counts)[0]:
        node = int(measure.bound.masses(counts)[0].argmax())
        while node != taxonomy.root and not counts[0, measure.column_of[node]]:
            node = int(taxonomy.parents[node])
        if node == taxonomy.root:
            raise NothingPublishableError(
                f"the values of a sensitive attribute are too few, or their weights too uneven, for {secret.requirement}"
            )
        number = max(int(counts[0, measure.column_of[node]]) // _STEPS, 1)
        counts[0, measure.column_of[node]] -= number
        counts[0, measure.column_of[taxonomy.parents[node]]] += number
        raised[node] += number
    return raised


def _with_parents(rows: _Rows, secret: _Secret, node: int, number: int) -> _Rows:
    """The rows when so many of those with a sensitive value, evenly spread, take the value above it."""
    before = np.cumsum(np.where(rows.nodes[:, secret.axis] == node, rows.counts, 0))
    taken = np.diff(before * number // before[-1], prepend=0)
    rest, raised = rows.some(rows.counts - taken), rows.some(taken)
    raised.nodes[:, secret.axis] = secret.taxonomy.parents[node]
    return rest.and_also(raised)


MAX_LEVELS = 20_000
"""So many combinations of levels are all gone through; of more, only those on the chains of `sweep_chains`."""

MAX_LOOKS = 60_000_000
"""So many times a distinct row is looked at, once at each combination; with more, fewer chains: some ten seconds."""

MOST_LOOKS = 1_000_000_000
"""With more than so many looks on a single chain SWEEP is refused: it would take minutes, without a word."""


def class_order(table: Table, axes: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """The levels of the quasi-identifiers in the order in which their classes are swept (TZ09 Def. 6).

    axes: the quasi-identifiers, the most important first. Base values that occur have weight 1. Levels that merge
    nothing are taken for the finest that they equal. As all base values lie equally deep, each of these levels has a class
    for every row, so the next class of a row that is swept out is the one at the next levels (Def. 7). Of more than
    `MAX_LEVELS` combinations, or `MAX_LOOKS` looks at rows, only those on some chains are in the order.
    Raises InputError where one chain alone takes more than `MOST_LOOKS`.
    """
    hierarchies = [table.domain.hierarchy(attribute) for attribute in axes]
    rows = max(len(table.base_counts), 1)
    steps = 1 + sum(hierarchy.height for hierarchy in hierarchies)
    if steps * rows > MOST_LOOKS:
        raise InputError(
            f"SWEEP goes through {rows:,} different rows at {steps:,} combinations of levels or more, which takes minutes: "
            f'{MOST_LOOKS // rows:,} combinations are the most for so many rows; give the role "ignored" to some columns, '
            "or fewer levels, or use the method lattice"
        )
    occurring = [
        (np.bincount(table.base_counts.column(attribute, 0), minlength=hierarchy.size(0)) > 0).astype(int).tolist()
        for attribute, hierarchy in zip(axes, hierarchies)
    ]
    finest = [[min(l for l in range(h.height + 1) if h.size(l) == h.size(level)) for level in range(h.height + 1)]
              for h in hierarchies]  # fmt: skip
    if sweeps_all(table):
        order = sweep_order(hierarchies, occurring)
    else:
        order = sweep_chains(hierarchies, occurring, MAX_LOOKS // rows)
    return tuple(
        dict.fromkeys(
            tuple(attribute_levels[level] for attribute_levels, level in zip(finest, levels)) for levels in order
        )
    )


def sweeps_all(table: Table) -> bool:
    """Whether SWEEP goes through all combinations of levels, and not only through those on some chains."""
    return level_combinations(table) <= min(MAX_LEVELS, MAX_LOOKS // max(len(table.base_counts), 1))


def level_combinations(table: Table) -> int:
    """How many combinations of levels the quasi-identifiers have, as a whole number of any size."""
    return prod(table.domain.hierarchy(attribute).height + 1 for attribute in table.quasi_identifiers)
