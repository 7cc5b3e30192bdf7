"""SWEEP: a (tau, l)-diverse table by local recoding and generalized sensitive values (TZ09 section III, Fig. 4).

Rows begin in the classes of their base values. The classes follow in an order of falling information. Each class keeps
the rows with which it is diverse; the next class that covers them takes the others. Sensitive values are generalized
until the whole table and the rows left are diverse. Several sensitive attributes are diverse each (TZ11 section 4.6).
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import lcm
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from checks.diversity.criteria import Functional
from checks.diversity.criterion import Diversity
from marginals.arguments import elements_of, require_whole_number
from marginals.errors import InputError, NothingPublishableError
from marginals.later import pd
from marginals.recoding.lattice import lattice_nodes
from marginals.recoding.local_recoding import (
    LocalRecoding,
    occurrence_weights,
    require_rows,
    requirement_of,
    with_induction,
)
from marginals.tables.table import Table
from models.arrays import BoolArray, CountArray, FloatArray, IndexArray
from models.frozen import frozen
from models.tables.contingency_table import pack
from models.tables.generalized_cells import GeneralizedCells, Taxonomy
from models.tables.hierarchy import Hierarchy

_WHOLE = 2**62  # int64; beyond it Python's integers take over


_STEPS = 1024  # divisor of the rows of a value that a step takes at once, at least one
MOST_LOOKS = 1_000_000_000  # at a distinct row at each combination of levels: more take minutes, without a message
_FOR_LEVELS = 10_000  # looks that take as long as what is done once for each combination of levels


class InducedBound:
    """A (tau, l) requirement on classes that come as counts of shape (classes, published values).

    `shares`: weight of each published value for each base value under it (TZ09 Def. 2), shape (published values, base
    values). They are whole numbers, so that verdicts are exact. `scale`: weight of a row with a base value.
    """

    def __init__(self, requirement: Functional, levels: IndexArray, rows: int) -> None:
        """Scale a requirement. `levels`: of the published values, falling. `rows`: most rows of a class."""
        if requirement.induction is None or len(requirement.induction.shares) != len(levels):
            raise ValueError("the requirement must say what each published value induces")
        if np.any(np.diff(levels) > 0):
            raise ValueError("the more general values must come first")
        shares = requirement.induction.shares
        self.requirement, self.levels = requirement, levels
        self.scale = lcm(*{share.denominator for row in shares for share in row})
        self._unit = requirement.tau.denominator * (requirement.l - 1)
        scaled = [[int(share * self.scale) if share else 0 for share in row] for row in shares]
        self.shares: NDArray[Any] = np.array(scaled, np.int64 if rows * self.scale * self._unit < _WHOLE else object)
        last = min(requirement.l - 1, self.shares.shape[1])
        self._bounds = np.array([int(requirement.bound(k) * self._unit) for k in range(1, last + 1)], self.shares.dtype)
        # most of the shares are 0: base values count for themselves alone
        self._sparse = self.shares if self.shares.dtype == object else csr_array(self.shares)

    @cached_property
    def fewest_values(self) -> int:
        """The fewest base values of a class that passes; more than there are if no class can pass."""
        supports = range(1, self.shares.shape[1] + 1)
        bound = self.requirement.bound
        passing = (n for n in supports if all(Fraction(k, n) <= bound(k) for k in range(1, n + 1)))
        return next(passing, len(supports) + 1)

    def masses(self, counts: CountArray) -> NDArray[Any]:
        """Rows by base value, times the scale: shape (classes, base values)."""
        return np.asarray(counts.astype(self.shares.dtype) @ self._sparse)

    def holds(self, counts: CountArray) -> BoolArray:
        """Return whether F(k) <= psi(k) for every k, exactly: shape (classes,). A class without rows passes."""
        masses, others = self.masses(counts), self.shares.shape[1] - len(self._bounds)
        if others > 0 and masses.dtype != object:
            masses = np.partition(masses, others, axis=1)[:, others:]
        cumulative = np.cumsum(np.sort(masses, axis=1)[:, ::-1][:, : len(self._bounds)], axis=1)
        totals = counts.sum(axis=1).astype(self.shares.dtype) * self.scale
        return np.asarray((cumulative * self._unit <= totals[:, None] * self._bounds).all(axis=1), dtype=bool)

    def thinned(self, counts: CountArray) -> CountArray:
        """Rows left of each class if rows of its dominant base value are removed, the least general first, until it passes.

        They are removed one by one (TZ09 III.D), of many rows of a value some at once.
        """
        left = counts.copy()
        left[np.count_nonzero(self.masses(counts), axis=1) < self.fewest_values] = 0
        failing = np.arange(len(counts))
        while (failing := failing[~self.holds(left[failing])]).size:
            dominant = self.masses(left[failing]).argmax(axis=1)
            lowers = np.where(left[failing] > 0, self.shares[:, dominant].T, -1)
            lowest = lowers.argmax(axis=1)
            left[failing, lowest] -= np.maximum(left[failing, lowest] // _STEPS, 1)
        return left


class _SweptRows(NamedTuple):
    cells: IndexArray  # of base values
    nodes: IndexArray
    counts: CountArray

    def some(self, counts: CountArray) -> "_SweptRows":
        held = counts > 0
        return _SweptRows(self.cells[held], self.nodes[held], counts[held])

    def and_also(self, others: "_SweptRows") -> "_SweptRows":
        return _SweptRows(*(np.concatenate(columns) for columns in zip(self, others)))


@frozen(eq=False)
class _Measure:
    axis: int  # of the sensitive attributes
    taxonomy: Taxonomy
    column_of: IndexArray  # of the counts of each node
    bound: InducedBound

    @classmethod
    def of(cls, table: Table, axis: int, requirement: Functional, nodes: IndexArray, rows: int) -> "_Measure":
        attribute = table.sensitive[axis]
        taxonomy = Taxonomy(table.domain.hierarchy(attribute))
        values = np.unique(nodes)[::-1]  # the most general first
        weights = occurrence_weights(table, [attribute])[attribute]
        induced = with_induction(requirement, taxonomy, values, weights)
        column_of = np.zeros(taxonomy.size, dtype=np.intp)
        column_of[values] = np.arange(len(values))
        return cls(axis, taxonomy, column_of, InducedBound(induced, taxonomy.levels[values], rows))

    def columns(self, rows: _SweptRows) -> IndexArray:
        return self.column_of[rows.nodes[:, self.axis]]

    def slots(self, rows: _SweptRows, class_of: IndexArray) -> IndexArray:
        return class_of * len(self.bound.levels) + self.columns(rows)

    def tally(self, rows: _SweptRows, class_of: IndexArray, classes: int) -> CountArray:
        values = len(self.bound.levels)
        counted = np.bincount(self.slots(rows, class_of), rows.counts, minlength=classes * values)
        return counted.reshape(classes, values).astype(np.int64)


_Closed = tuple[Mapping[str, int], _SweptRows]  # levels of the quasi-identifiers, and rows that are published at these


def sweep(
    table: Table, requirement: Diversity | str | None, importance: Sequence[str] | None = None, *, k: int = 1
) -> LocalRecoding:
    """Return the table that SWEEP publishes; it satisfies the requirement in each sensitive attribute.

    Parameters
    ----------
    table
        Rows to be swept.
    requirement
        (tau, l)-diversity, for example "functional:0.5,2".
    importance
        Quasi-identifiers, the most important first, by default in the table's order.
    k
        Fewest rows of a class.

    Raises
    ------
    InputError
        For another requirement or list of quasi-identifiers, and for more than `MOST_LOOKS`.
    NothingPublishableError
        For fewer rows than k, and if generalizing sensitive values does not lead to the requirement.

    >>> from marginals.example import table
    >>> sweep(table, "functional:0.5,2", k=4)
    LocalRecoding(48 rows in 9 classes)
    """
    require_whole_number(k, "k", 1)
    criterion = requirement_of(table, requirement)
    quasi_identifiers = table.quasi_identifiers if importance is None else importance
    axes = tuple(elements_of(quasi_identifiers, "importance", "a list of quasi-identifiers"))
    if sorted(map(str, axes)) != sorted(table.quasi_identifiers):
        raise InputError(f"importance must name each quasi-identifier once: {', '.join(table.quasi_identifiers)}")
    if not isinstance(criterion, Functional):
        raise InputError(
            f'SWEEP keeps a diversity "functional:tau,l", not {requirement}; hilbert keeps any, or k alone'
        )
    if criterion.induction is not None:
        raise InputError("SWEEP finds out itself what generalized values induce; give the requirement without it")
    require_rows(table.rows, k)
    order = [dict(zip(axes, levels)) for levels in class_order(table, axes)]
    closed = _swept(table, order, criterion, k)
    nodes, counts = zip(*((_nodes(table, rows, levels), rows.counts) for levels, rows in closed))
    cells = GeneralizedCells.from_rows(table.domain, np.concatenate(nodes), np.concatenate(counts))
    return LocalRecoding.of(table, cells)


def _swept(table: Table, order: Sequence[Mapping[str, int]], requirement: Functional, k: int) -> list[_Closed]:
    rows = _diversified(table, _all_rows(table), requirement)
    measures = [_Measure.of(table, axis, requirement, nodes, table.rows) for axis, nodes in enumerate(rows.nodes.T)]
    closed: list[_Closed] = []
    for levels in order[:-1]:
        held = _retained(rows, _classes(table, levels, rows), measures, k)
        if held.any():
            closed.append((levels, rows.some(held)))
            rows = rows.some(rows.counts - held)
        if not len(rows.cells):
            return closed
    while rows.counts.sum() < k:
        rows = _with_a_class_back(table, rows, closed)
    return [*closed, (order[-1], _diversified(table, rows, requirement))]


def _all_rows(table: Table) -> _SweptRows:
    columns = [table.base_counts.column(attribute, 0) for attribute in table.sensitive]
    nodes = np.stack(columns, axis=1) if columns else np.empty((len(table.base_counts), 0))
    return _SweptRows(np.arange(len(table.base_counts)), nodes.astype(np.intp), table.base_counts.counts)


def _classes(table: Table, levels: Mapping[str, int], rows: _SweptRows) -> IndexArray:
    columns, sizes = [], []
    for attribute, level in levels.items():
        hierarchy = table.domain.hierarchy(attribute)
        columns.append(hierarchy.lift(0, level)[table.base_counts.column(attribute, 0)[rows.cells]])
        sizes.append(hierarchy.size(level))
    return np.asarray(pd.factorize(pack(columns, sizes, len(rows.cells))[0])[0], dtype=np.intp)


def _with_a_class_back(table: Table, rows: _SweptRows, closed: list[_Closed]) -> _SweptRows:
    reopened, latest = closed.pop()
    opened = _classes(table, reopened, latest) == 0
    if not opened.all():
        closed.append((reopened, latest.some(np.where(opened, 0, latest.counts))))
    return rows.and_also(latest.some(np.where(opened, latest.counts, 0)))


def _nodes(table: Table, rows: _SweptRows, levels: Mapping[str, int]) -> IndexArray:
    nodes = np.empty((len(rows.cells), len(table.domain.attributes)), dtype=np.intp)
    for axis, (attribute, hierarchy) in enumerate(table.domain.items()):
        if attribute in levels:
            node_of = Taxonomy(hierarchy).at_level(levels[attribute])
            nodes[:, axis] = node_of[table.base_counts.column(attribute, 0)[rows.cells]]
        else:
            nodes[:, axis] = rows.nodes[:, table.sensitive.index(attribute)]
    return nodes


def _retained(rows: _SweptRows, class_of: IndexArray, measures: Sequence[_Measure], k: int) -> CountArray:
    retained = np.zeros(len(rows.counts), dtype=np.int64)
    hopeful = np.ones(len(rows.counts), dtype=bool)  # rows whose class may have enough base values to pass
    for measure in measures:
        reach = np.count_nonzero(measure.bound.shares, axis=1)[measure.columns(rows)]
        hopeful &= (np.bincount(class_of, reach) >= measure.bound.fewest_values)[class_of]
    if not hopeful.any():
        return retained
    class_of, classes = pd.factorize(class_of[hopeful])
    staying = _SweptRows(rows.cells[hopeful], rows.nodes[hopeful], rows.counts[hopeful])
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


def _left_in_groups(
    rows: _SweptRows, class_of: IndexArray, measure: _Measure, thinned: CountArray, others: Sequence[_Measure]
) -> CountArray:
    # Among rows with one value in one class, the first to go add most to the dominant values of the other attributes.
    counts = np.where(thinned.sum(axis=1)[class_of] > 0, rows.counts, 0)
    slots = measure.slots(rows, class_of)
    full = np.bincount(slots, counts, minlength=thinned.size) <= thinned.ravel()
    choosing = np.flatnonzero(~full[slots])
    load: FloatArray = np.zeros(len(rows.counts))
    for other in others:
        dominant = other.bound.masses(other.tally(rows, class_of, len(thinned))).argmax(axis=1)
        load += other.bound.shares[other.columns(rows), dominant[class_of]].astype(np.float64) / other.bound.scale
    order = choosing[np.lexsort((load[choosing], slots[choosing]))]
    before = np.cumsum(counts[order]) - counts[order]
    starts = np.flatnonzero(np.diff(slots[order], prepend=-1))
    before -= np.repeat(before[starts], np.diff(starts, append=len(order)))
    counts[order] = np.clip(thinned.ravel()[slots[order]] - before, 0, counts[order])
    return counts


def _diversified(table: Table, rows: _SweptRows, requirement: Functional) -> _SweptRows:
    for axis in range(len(table.sensitive) if len(rows.cells) else 0):
        every = np.arange(Taxonomy(table.domain.hierarchy(table.sensitive[axis])).size)
        measure = _Measure.of(table, axis, requirement, every, int(rows.counts.sum()))
        raised = _raised_counts(rows, measure)
        for node in np.flatnonzero(raised).tolist():  # so many rows, evenly spread, take the value above
            before = np.cumsum(np.where(rows.nodes[:, axis] == node, rows.counts, 0))
            taken = np.diff(before * raised[node] // before[-1], prepend=0)
            rest, above = rows.some(rows.counts - taken), rows.some(taken)
            above.nodes[:, axis] = measure.taxonomy.parents[node]
            rows = rest.and_also(above)
    return rows


def _raised_counts(rows: _SweptRows, measure: _Measure) -> CountArray:
    # Number of rows of each node that must take its parent for a sensitive value.
    taxonomy, bound = measure.taxonomy, measure.bound
    counts = measure.tally(rows, np.zeros(len(rows.cells), dtype=np.intp), 1)
    raised = np.zeros(taxonomy.size, dtype=np.int64)
    while not bound.holds(counts)[0]:
        node = int(bound.masses(counts)[0].argmax())
        while node != taxonomy.root and not counts[0, measure.column_of[node]]:
            node = int(taxonomy.parents[node])
        if node == taxonomy.root:
            raise NothingPublishableError(f"the values of a sensitive attribute are too few for {bound.requirement}")
        number = max(int(counts[0, measure.column_of[node]]) // _STEPS, 1)
        counts[0, measure.column_of[node]] -= number
        counts[0, measure.column_of[taxonomy.parents[node]]] += number
        raised[node] += number
    return raised


def class_order(table: Table, axes: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """Return the levels of the quasi-identifiers in the order in which their classes are swept (TZ09 Def. 6)."""
    hierarchies = [table.domain.hierarchy(attribute) for attribute in axes]
    rows, nodes = len(table.base_counts), lattice_nodes(table.cube, axes)
    most = MOST_LOOKS // (rows + _FOR_LEVELS)
    if nodes > most:
        raise InputError(
            f"SWEEP goes through {rows:,} different rows at {nodes:,} combinations of levels, which takes minutes: {most:,} "
            'combinations are the most for so many rows. Give the role "ignored" to some columns, or fewer levels, or use '
            "the method hilbert or lattice"
        )
    order = sweep_order(hierarchies, [*occurrence_weights(table, axes).values()])
    sizes = [[hierarchy.size(level) for level in range(hierarchy.height + 1)] for hierarchy in hierarchies]
    finest = [[of_levels.index(size) for size in of_levels] for of_levels in sizes]
    return tuple(dict.fromkeys(tuple(finer[level] for finer, level in zip(finest, levels)) for levels in order))


def level_information(hierarchy: Hierarchy, level: int, weights: Sequence[Fraction | int] | None = None) -> Fraction:
    """Mean information of the values of a level, I(S), each with the weight of the base values under it (TZ09 III.A)."""
    base_weights = [1] * hierarchy.size(0) if weights is None else list(weights)
    leaves = hierarchy.leaf_counts(level).tolist()
    retained = (w * Fraction(1, leaves[v]) for w, v in zip(base_weights, hierarchy.lift(0, level).tolist()))
    return sum(retained, Fraction(0)) / sum(base_weights)


def sweep_order(
    hierarchies: Sequence[Hierarchy], weights: Sequence[Sequence[Fraction | int] | None] | None = None
) -> tuple[tuple[int, ...], ...]:
    """Combinations of levels in the order of TZ09 Def. 6, exact: most mean information first."""
    of_each = zip(hierarchies, weights or [None] * len(hierarchies))
    shares = [[level_information(of, level, by) for level in range(of.height + 1)] for of, by in of_each]
    common = lcm(*(share.denominator for level_shares in shares for share in level_shares))
    retained = [[int(share * common) for share in level_shares] for level_shares in shares]
    nodes = product(*(range(len(level_shares)) for level_shares in shares))

    def rank(levels: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
        return -sum(level_shares[level] for level_shares, level in zip(retained, levels)), levels

    return tuple(sorted(nodes, key=rank))
