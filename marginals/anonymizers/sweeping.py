"""SWEEP: a (tau, l)-diverse table by local recoding and generalized sensitive values (TZ09 section III, Fig. 4).

Rows begin in the classes of their base values. Class by class, in an order of falling information, a class keeps the
rows with which it is diverse; the others are swept on to the next, more general class that covers them. Where the table
as a whole is not diverse, or what is left at the end, sensitive values are generalized until it is. So every requirement
can be met that the set of sensitive values allows at all.

With several sensitive attributes a class must be diverse in each of them by itself (TZ11 section 4.6).

With another criterion, or k alone, classes are swept on as wholes, and sensitive values stay as they are.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pandas as pd

from checks.diversity.criterion import Diversity, satisfies
from checks.diversity.functional import Functional, Induction
from marginals.anonymizers.class_order import class_order
from marginals.anonymizers.class_thinning import InducedBound
from marginals.anonymizers.local_recoding import LocalRecoding, Weights, occurrence_weights, requirement_of
from marginals.errors import InputError, NothingPublishableError
from marginals.tables.table import Table
from models.arrays import BoolArray, CountArray, FloatArray, IndexArray
from models.tables.generalized_cells import GeneralizedCells
from models.tables.mixed_radix import pack
from models.tables.taxonomy import Taxonomy

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
    criterion = requirement_of(table, requirement)
    axes = table.quasi_identifiers if importance is None else tuple(importance)
    if sorted(axes) != sorted(table.quasi_identifiers):
        raise InputError(f"importance must name each quasi-identifier once: {', '.join(table.quasi_identifiers)}")
    if isinstance(criterion, Functional) and criterion.induction is not None:
        raise InputError("SWEEP finds out itself what generalized values induce; give the requirement without it")
    if table.rows < k:
        raise NothingPublishableError(
            f"the table has {table.rows:,} rows, fewer than the {k:,} that each class must have"
        )
    known = occurrence_weights(table) if weights is None else weights
    if isinstance(criterion, Functional):
        secrets = [
            _Secret(axis, Taxonomy(table.domain.hierarchy(attribute)), known.get(attribute), criterion)
            for axis, attribute in enumerate(table.sensitive)
        ]
        swept = _swept(table, axes, secrets, k)
    else:
        swept = _swept_whole(table, axes, criterion, k)
    closed = [(_nodes(table, kept, levels), kept.counts) for levels, kept in swept]
    nodes, counts = (np.concatenate(part) for part in zip(*closed))
    cells = GeneralizedCells.from_rows(table.domain, nodes, counts)
    return LocalRecoding(cells, table.quasi_identifiers, table.sensitive, known)


def _swept(table: Table, axes: Sequence[str], secrets: Sequence[_Secret], k: int) -> list[_Closed]:
    """TZ09 Fig. 4, with at least k rows in a class."""
    rows = _diversified(_all_rows(table), secrets)
    measures = [secret.measure(nodes, table.rows) for secret, nodes in zip(secrets, rows.nodes.T)]
    classes = _classes_of(table, axes)
    *order, last = (dict(zip(axes, levels)) for levels in class_order(table, axes))
    closed: list[_Closed] = []
    for levels in order:
        kept = _kept(rows, classes(levels, rows), measures, k)
        if kept.any():
            closed.append((levels, rows.some(kept)))
            rows = rows.some(rows.counts - kept)
        if not len(rows.cells):
            return closed
    while rows.counts.sum() < k:
        rows = _with_a_class_back(rows, closed, classes)
    return [*closed, (last, _diversified(rows, secrets))]


def _swept_whole(table: Table, axes: Sequence[str], diversity: Diversity | None, k: int) -> list[_Closed]:
    """The same for any criterion on the values as they are, or none: a class keeps all its rows, or none of them.

    Where the rows that are left at the end are no class that passes, classes that were closed last come back to them.
    """
    rows, classes = _all_rows(table), _classes_of(table, axes)
    values = table.domain.hierarchy(table.sensitive[0]).size(0) if diversity is not None else 0

    def passing(of: _Rows, class_of: IndexArray) -> BoolArray:
        """Which classes have at least k rows and satisfy the criterion, shape (classes,)."""
        sizes = np.bincount(class_of, of.counts)
        passes: BoolArray = sizes >= k
        if diversity is not None and passes.any():
            large = passes[class_of]
            place = np.cumsum(passes) - 1
            slots = place[class_of[large]] * values + of.nodes[large, 0]
            held = np.bincount(slots, of.counts[large], minlength=int(passes.sum()) * values)
            passes[passes] = satisfies(diversity, held.reshape(-1, values).astype(np.int64))
        return passes

    *order, last = (dict(zip(axes, levels)) for levels in class_order(table, axes))
    closed: list[_Closed] = []
    for levels in order:
        class_of = classes(levels, rows)
        kept = np.where(passing(rows, class_of)[class_of], rows.counts, 0)
        if kept.any():
            closed.append((levels, rows.some(kept)))
            rows = rows.some(rows.counts - kept)
        if not len(rows.cells):
            return closed
    while not passing(rows, np.zeros(len(rows.cells), dtype=np.intp)).all():
        if not closed:
            raise NothingPublishableError(f"all {table.rows:,} rows together do not satisfy {diversity}")
        rows = _with_a_class_back(rows, closed, classes)
    return [*closed, (last, rows)]


def _all_rows(table: Table) -> _Rows:
    """The rows of a table with their sensitive values as they are."""
    columns = [table.base_counts.column(attribute, 0) for attribute in table.sensitive]
    nodes = np.stack(columns, axis=1) if columns else np.empty((len(table.base_counts), 0))
    return _Rows(np.arange(len(table.base_counts)), nodes.astype(np.intp), table.base_counts.counts)


_Classes = Callable[[Mapping[str, int], _Rows], IndexArray]
"""For rows at some levels of the quasi-identifiers the number of the class of each group: shape (groups,)."""


def _classes_of(table: Table, axes: Sequence[str]) -> _Classes:
    heights = {attribute: table.domain.hierarchy(attribute).height for attribute in axes}
    columns = {(a, level): table.base_counts.column(a, level) for a in axes for level in range(heights[a] + 1)}

    def classes(levels: Mapping[str, int], of: _Rows) -> IndexArray:
        """The class of each group at some levels."""
        shown = [columns[item][of.cells] for item in levels.items()]
        sizes = [table.domain.hierarchy(attribute).size(level) for attribute, level in levels.items()]
        return np.asarray(pd.factorize(pack(shown, sizes, len(of.cells))[0])[0], dtype=np.intp)

    return classes


def _with_a_class_back(rows: _Rows, closed: list[_Closed], classes: _Classes) -> _Rows:
    """The rows with those of one of the classes that were closed last, which is taken from the closed ones."""
    reopened, latest = closed.pop()
    opened = classes(reopened, latest) == 0
    if not opened.all():
        closed.append((reopened, latest.some(np.where(opened, 0, latest.counts))))
    return rows.and_also(latest.some(np.where(opened, latest.counts, 0)))


def _nodes(table: Table, rows: _Rows, levels: Mapping[str, int]) -> IndexArray:
    """The published nodes of rows whose quasi-identifiers are shown at these levels: shape (groups, attributes)."""
    nodes = np.empty((len(rows.cells), len(table.domain.attributes)), dtype=np.intp)
    for axis, (attribute, hierarchy) in enumerate(table.domain.items()):
        if attribute in levels:
            shown = Taxonomy(hierarchy).at_level(levels[attribute])
            nodes[:, axis] = shown[table.base_counts.column(attribute, 0)[rows.cells]]
        else:
            nodes[:, axis] = rows.nodes[:, table.sensitive.index(attribute)]
    return nodes


def _kept(rows: _Rows, class_of: IndexArray, measures: Sequence[_Measure], k: int) -> CountArray:
    """How many rows of each group stay in their class, so that every class is diverse, with k rows, or empty (III.D)."""
    kept = np.zeros(len(rows.counts), dtype=np.int64)
    hopeful = _hopeful(rows, class_of, measures)
    if not hopeful.any():
        return kept
    class_of, classes = pd.factorize(class_of[hopeful])
    staying = _Rows(rows.cells[hopeful], rows.nodes[hopeful], rows.counts[hopeful])
    settled = False
    while not settled:
        settled = True
        for measure in measures:
            held = measure.tally(staying, class_of, len(classes))
            left = measure.bound.thinned(held)
            if not np.array_equal(held, left):
                others = [other for other in measures if other is not measure]
                staying = staying._replace(counts=_left_in_groups(staying, class_of, measure, left, others))
                settled = not others
    large = np.bincount(class_of, staying.counts) >= k
    kept[hopeful] = np.where(large[class_of], staying.counts, 0)
    return kept


def _hopeful(rows: _Rows, class_of: IndexArray, measures: Sequence[_Measure]) -> BoolArray:
    """Whether the class of a group may have enough base values to pass: shape (groups,)."""
    hopeful = np.ones(len(rows.counts), dtype=bool)
    for measure in measures:
        reach = measure.reach[measure.column_of[rows.nodes[:, measure.axis]]]
        hopeful &= (np.bincount(class_of, reach) >= measure.bound.fewest_values)[class_of]
    return hopeful


def _left_in_groups(
    rows: _Rows, class_of: IndexArray, measure: _Measure, left: CountArray, others: Sequence[_Measure]
) -> CountArray:
    """The rows left of each group, given those left by class and value in one sensitive attribute: shape (groups,).

    Of rows with one value in one class those go first that add most to the dominant values of the other attributes.
    """
    counts = np.where(left.sum(axis=1)[class_of] > 0, rows.counts, 0)
    slots = measure.slots(rows, class_of)
    full = np.bincount(slots, counts, minlength=left.size) <= left.ravel()
    choosing = np.flatnonzero(~full[slots])
    load = _load(rows, class_of, len(left), others)[choosing]
    order = choosing[np.lexsort((load, slots[choosing]))]
    before = np.cumsum(counts[order]) - counts[order]
    starts = np.flatnonzero(np.diff(slots[order], prepend=-1))
    before -= np.repeat(before[starts], np.diff(starts, append=len(order)))
    counts[order] = np.clip(left.ravel()[slots[order]] - before, 0, counts[order])
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
