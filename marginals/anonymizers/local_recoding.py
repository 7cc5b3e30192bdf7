"""Local recoding: one anonymized table whose classes are generalized each in its own way (TZ09 section III).

What SWEEP and the Hilbert mapping publish; full-domain tables fit in too, so that all are measured with one ruler.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from importlib import import_module
from math import lcm, prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from checks.diversity.criteria import Functional, Induction
from checks.diversity.criterion import Diversity, satisfies
from checks.diversity.registry import parse_diversity
from marginals.anonymizers.measures import average_class_size, discernibility, sweep_chains, sweep_order
from marginals.arguments import elements_of, require, require_whole_number
from marginals.errors import InputError, NothingPublishableError
from marginals.results import plain
from marginals.tables.attribute import COUNT
from marginals.tables.table import Table
from models.arrays import BoolArray, CodeArray, CountArray, FloatArray, IndexArray, read_only
from models.errors import DomainMismatchError
from models.tables.contingency_table import ContingencyTable, group, pack
from models.tables.generalized_cells import GeneralizedCells, Taxonomy
from models.tables.hierarchy import Domain, Hierarchy

if TYPE_CHECKING:
    import pandas as pd

Weights = Mapping[str, Sequence[Fraction | int]]
"""For sensitive attributes the weights of their base values: what an adversary may know of their frequency."""


def requirement_of(table: Table, requirement: Diversity | str | None) -> Diversity | None:
    """What is required of the sensitive values of a table that is recoded locally, also from a text.

    Raises InputError for a table without a sensitive attribute, for one with several and another diversity than
    "functional:tau,l", which alone is judged of each by itself (TZ11 section 4.6), and for a diversity that is about
    certain values or compares with the whole table.

    >>> from marginals.example import table
    >>> str(requirement_of(table, "functional:0.5,2"))
    'functional:0.5,2'
    """
    require(table, Table, "table", "what marginals.read_table(source, attributes) returns")
    criterion = parse_diversity(requirement) if isinstance(requirement, str) else requirement
    require(criterion, Diversity | None, "requirement", 'a diversity such as "functional:0.5,2"')
    if criterion is not None and not table.sensitive:
        raise InputError("a diversity needs an attribute whose role is sensitive")
    if criterion is not None and criterion.is_relative:
        raise InputError(
            f"local recoding cannot keep {criterion}, which is about certain values or compares with the whole table; use "
            "the method lattice"
        )
    if criterion is not None and not isinstance(criterion, Functional) and len(table.sensitive) > 1:
        raise InputError(
            f"local recoding of a table with {len(table.sensitive)} sensitive attributes needs a diversity "
            f'"functional:tau,l", or none, not "{criterion}"'
        )
    return criterion


@dataclass(frozen=True, eq=False)
class LocalRecoding:
    """A table as it can be published: its cells, and which attributes are quasi-identifiers and sensitive.

    A class is what shares the published values of all quasi-identifiers. weights: see `Weights`; an attribute that is
    not in it has weight 1 everywhere.
    """

    cells: GeneralizedCells
    quasi_identifiers: tuple[str, ...]
    sensitive: tuple[str, ...]
    weights: Weights = field(default_factory=dict)

    def __post_init__(self) -> None:
        if sorted((*self.quasi_identifiers, *self.sensitive)) != sorted(self.domain.attributes):
            raise DomainMismatchError("each attribute of a recoded table is a quasi-identifier or sensitive")

    @classmethod
    def full_domain(cls, table: Table, levels: Mapping[str, int]) -> "LocalRecoding":
        """The table with each quasi-identifier at one level throughout, the sensitive values as they are."""
        margin = {**levels, **dict.fromkeys(table.sensitive, 0)}
        cells = GeneralizedCells.of(table.base_counts.rolled_up(margin))
        return cls(cells, table.quasi_identifiers, table.sensitive, occurrence_weights(table))

    @property
    def domain(self) -> Domain:
        """The attributes with their hierarchies."""
        return self.cells.domain

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.cells.total

    def __len__(self) -> int:
        """Number of classes."""
        return len(self._classes[0])

    def __repr__(self) -> str:
        return f"LocalRecoding({self.rows} rows in {len(self)} classes)"

    def _column(self, attribute: str) -> IndexArray:
        return self.cells.nodes[:, self.domain.index(attribute)]

    def _taxonomy(self, attribute: str) -> Taxonomy:
        return self.cells.taxonomies[self.domain.index(attribute)]

    @cached_property
    def _classes(self) -> tuple[IndexArray, IndexArray]:
        columns = [self._column(attribute) for attribute in self.quasi_identifiers]
        sizes = [self._taxonomy(attribute).size for attribute in self.quasi_identifiers]
        return group(*pack(columns, sizes, len(self.cells)))

    @property
    def class_of(self) -> IndexArray:
        """The class of each cell: shape (cells,)."""
        return self._classes[1]

    @cached_property
    def sizes(self) -> CountArray:
        """Rows of each class: shape (classes,)."""
        return np.bincount(self.class_of, self.cells.counts, minlength=len(self)).astype(np.int64)

    def labels(self, position: int) -> dict[str, str]:
        """The published quasi-identifier of a class."""
        cell = self._classes[0][position]
        return {a: self._taxonomy(a).labels[self._column(a)[cell]] for a in self.quasi_identifiers}

    def levels(self, position: int) -> dict[str, int]:
        """The levels of the published quasi-identifier of a class."""
        cell = self._classes[0][position]
        return {a: int(self._taxonomy(a).levels[self._column(a)[cell]]) for a in self.quasi_identifiers}

    def distribution(self, position: int, sensitive: str) -> dict[str, int]:
        """The rows of a class by the label of their published sensitive value."""
        cells = self.class_of == position
        labels = self._taxonomy(sensitive).labels
        held: dict[str, int] = {}
        for node, count in zip(self._column(sensitive)[cells].tolist(), self.cells.counts[cells].tolist()):
            held[labels[node]] = held.get(labels[node], 0) + count
        return held

    def published_values(self, sensitive: str) -> list[tuple[int, int]]:
        """The sensitive values that are published, as pairs of level and code, the finer ones first."""
        taxonomy = self._taxonomy(sensitive)
        nodes = np.unique(self._column(sensitive))
        levels = taxonomy.levels[nodes].tolist()
        return [(level, node - taxonomy.offsets[level]) for level, node in zip(levels, nodes.tolist())]

    def class_counts(self, sensitive: str) -> CountArray:
        """Rows by published sensitive value, in the order of `published_values`: shape (classes, values)."""
        nodes, place = np.unique(self._column(sensitive), return_inverse=True)
        cells = self.class_of * len(nodes) + place
        counts = np.bincount(cells, self.cells.counts, minlength=len(self) * len(nodes))
        return counts.reshape(len(self), len(nodes)).astype(np.int64)

    def requirement_on(self, sensitive: str, requirement: Functional) -> Functional:
        """A (tau, l) requirement that reads `class_counts`: it knows what the published values induce."""
        weights = self.weights.get(sensitive)
        values = self.published_values(sensitive)
        induction = Induction.of_values(self.domain.hierarchy(sensitive), values, weights)
        return Functional(requirement.tau, requirement.l, induction)

    def induced_frequencies(self, sensitive: str, requirement: Functional) -> FloatArray:
        """The frequency of each base value that each class induces: shape (classes, base values) (TZ09 Def. 2)."""
        return self.requirement_on(sensitive, requirement).frequencies(self.class_counts(sensitive))

    def satisfies(self, requirement: Diversity) -> bool:
        """Whether every class is diverse in each sensitive attribute by itself (TZ09 Def. 4), exactly.

        Of sensitive values that are generalized only (tau, l)-diversity knows what they say.
        """
        return all(
            bool(
                satisfies(
                    self.requirement_on(a, requirement) if isinstance(requirement, Functional) else requirement,
                    self.class_counts(a),
                ).all()
            )
            for a in self.sensitive
        )

    @property
    def information_utility(self) -> float:
        """`um`: the share of the information of the original table that is retained (TZ09 Def. 5)."""
        return self.cells.information_utility

    @property
    def average_class_size(self) -> float:
        """Mean number of rows in a class."""
        return average_class_size(self.sizes)

    def as_json(self) -> dict[str, Any]:
        """What an anonymizer reports of the table."""
        sizes = {"classes": len(self), "smallest_class": int(self.sizes.min(initial=self.rows))}
        measures = ("average_class_size", "discernibility", "information_utility")
        return sizes | {name: plain(getattr(self, name)) for name in measures}

    @property
    def discernibility(self) -> int:
        """Sum over the rows of how many rows are in the same class."""
        return discernibility(self.sizes)

    def kl_divergence(self, table: Table) -> float:
        """KL divergence in nats from the original table to what this one says of it."""
        return self.cells.kl_divergence(table.base_counts)

    def frame(self) -> "pd.DataFrame":
        """One row a cell: the published labels, in the domain's order, and `count`. The order tells nothing."""
        import pandas as pd  # loaded here: a table that is generalized as a whole needs none

        columns: dict[str, Any] = {
            attribute: np.array(self._taxonomy(attribute).labels, dtype=object)[self._column(attribute)]
            for attribute in self.domain.attributes
        }
        return pd.DataFrame({**columns, COUNT: self.cells.counts})


def weights_by_label(table: Table, given: Mapping[str, Mapping[str, Fraction]]) -> Weights:
    """The weights of sensitive base values that are given by their labels; of others that occur 1, of the rest 0.

    Raises InputError for a label that is no base value, and for an attribute whose values that occur all have weight 0.
    """
    weights = {name: list(occurrence_weight) for name, occurrence_weight in occurrence_weights(table).items()}
    for attribute, by_label in given.items():
        labels = table.domain.hierarchy(attribute).labels[0]
        for label, weight in by_label.items():
            if label not in labels:
                raise InputError(f"the weights of {attribute!r} name what is no base value of its hierarchy")
            weights[attribute][labels.index(label)] = weight
        held = np.bincount(table.base_counts.column(attribute, 0), minlength=len(labels)) > 0
        if any(is_held and not weight for is_held, weight in zip(held.tolist(), weights[attribute])):
            raise InputError(
                f"the weights of {attribute!r} are 0 for a value that occurs; give each such value a positive one"
            )
    return weights


def occurrence_weights(table: Table) -> Weights:
    """Weight 1 for the sensitive base values that occur in a table, 0 for the others (TZ09 after Def. 2)."""
    weights: dict[str, tuple[int, ...]] = {}
    for attribute in table.sensitive:
        present = np.bincount(
            table.base_counts.column(attribute, 0), minlength=table.domain.hierarchy(attribute).size(0)
        )
        weights[attribute] = tuple((present > 0).astype(int).tolist())
    return weights


# The 1-D l-diversity mapping: groups of rows that lie near each other on a Hilbert curve (Ghinita et al., VLDB 2007).
#
# The quasi-identifiers are the axes of a grid, and the Hilbert curve through it puts the rows in one order. Along it,
# groups are formed of rows with different sensitive values; each group is published under the nearest values that
# cover it. This is the local recoding that TZ09 and TZ11 compare SWEEP with; it never generalizes a sensitive value.


def hilbert(table: Table, requirement: Diversity | str | None = None, *, k: int = 1) -> LocalRecoding:
    """The mapping for the smallest l whose table satisfies a requirement, tried from 2 on as TZ09 IV.C does.

    requirement: for example "functional:0.5,2"; None for k alone: then each k neighbours on the curve are a class, whatever
    their sensitive values. k: each class has at least so many rows. Raises InputError where something is required of
    another number of sensitive attributes than one, NothingPublishableError when no l leads there.

    >>> from marginals.example import table
    >>> hilbert(table, "functional:0.5,2")
    LocalRecoding(48 rows in 10 classes)
    """
    require_whole_number(k, "k", 1)
    criterion = requirement_of(table, requirement)
    if criterion is None:
        cells = _hilbert_order(table)
        _require_rows(len(cells), k)
        return _published(table, cells, _joined(np.arange(len(cells)), k))
    _, values = _ordered_rows(table)
    for l in range(2, eligible_l(values) + 1):
        recoded = hilbert_groups(table, l, k=k)
        if recoded.satisfies(criterion):
            return recoded
    raise NothingPublishableError(f"the 1-D mapping reaches {criterion} for no l")


def hilbert_groups(table: Table, l: int, *, k: int = 1) -> LocalRecoding:
    """The table in which every group has l rows at least, all with different sensitive values: simple l-diverse.

    Groups that are published under the same values are one class. Where k is above l, neighbouring groups are put
    together. Raises InputError unless the table has one sensitive attribute, NothingPublishableError when a sensitive
    value has more than 1/l of the rows, or the table fewer than k.
    """
    require_whole_number(k, "k", 1)
    require_whole_number(l, "l", 1)
    cells, values = _ordered_rows(table)
    if l < 1 or l > eligible_l(values):
        raise NothingPublishableError(f"no grouping is simple {l}-diverse: a sensitive value has too many rows")
    _require_rows(len(values), k)
    return _published(table, cells, _joined(spread_groups(values, l), -(-k // l)))


def _require_rows(rows: int, k: int) -> None:
    if rows < k:
        raise NothingPublishableError(f"the table has {rows:,} rows, fewer than the {k:,} that each class must have")


def _published(table: Table, cells: IndexArray, group_of: IndexArray) -> LocalRecoding:
    """The rows of some cells, each group under the nearest values that cover it."""
    order = np.argsort(group_of, kind="stable")
    starts = np.flatnonzero(np.diff(group_of[order], prepend=-1))
    sizes = np.diff(starts, append=len(order))
    nodes = np.empty((len(order), len(table.domain.attributes)), dtype=np.intp)
    for axis, (attribute, hierarchy) in enumerate(table.domain.items()):
        codes = table.base_counts.column(attribute, 0)[cells[order]]
        nodes[:, axis] = codes if attribute in table.sensitive else np.repeat(_nearest(hierarchy, codes, starts), sizes)
    recoded = GeneralizedCells.from_rows(table.domain, nodes, np.ones(len(order), dtype=np.int64))
    return LocalRecoding(recoded, table.quasi_identifiers, table.sensitive, occurrence_weights(table))


def eligible_l(values: CodeArray) -> int:
    """The largest l for which rows with these sensitive values can be grouped, at most 1/l of a group having one value.

    >>> eligible_l(np.array([0, 0, 1, 2, 2]))
    2
    """
    return len(values) // int(np.bincount(values).max())


def spread_groups(values: CodeArray, l: int) -> IndexArray:
    """A group for each row of an order, given its sensitive value: groups of l or more rows with different values.

    Each group takes the first rows left, one of a value. But a value that has as many rows left as groups of l can
    still be formed must be in each of them, or the last groups could not be filled. l: at most `eligible_l`.

    >>> spread_groups(np.array([0, 0, 1, 0, 1, 2]), 2).tolist()
    [0, 1, 0, 2, 1, 2]
    """
    waiting = [np.flatnonzero(values == value)[::-1].tolist() for value in np.unique(values)]
    group_of = [0] * len(values)
    heads = sorted((rows.pop(), rows) for rows in waiting)  # the first row of each value, and those after it
    remaining, number = len(values), 0
    while remaining:
        most = remaining // l
        if max(len(after) for _, after in heads) + 1 >= most:
            heads.sort(key=lambda head: len(head[1]) + 1 < most)  # what is due comes first, each in the order of rows
            size = max(l, sum(len(after) + 1 >= most for _, after in heads))
        else:
            size = l
        taken, heads = heads[:size], heads[size:]
        for row, after in taken:
            group_of[row] = number
            if after:
                heads.append((after.pop(), after))
        heads.sort()
        remaining -= size
        number += 1
    return np.array(group_of, dtype=np.intp)


def _joined(group_of: IndexArray, number: int) -> IndexArray:
    """The groups, so many neighbours at a time as one; what is left over at the end joins the last."""
    return np.minimum(group_of // number, max((int(group_of.max()) + 1) // number - 1, 0))


def _ordered_rows(table: Table) -> tuple[IndexArray, CodeArray]:
    """For each row of a table, in Hilbert order, its cell and its sensitive value."""
    if len(table.sensitive) != 1:
        raise InputError(f"the 1-D mapping needs one sensitive attribute, and the table has {len(table.sensitive)}")
    cells = _hilbert_order(table)
    return cells, table.base_counts.column(table.sensitive[0], 0)[cells]


def _hilbert_order(table: Table) -> IndexArray:
    """For each row of a table, in Hilbert order, its cell.

    The base values of every quasi-identifier are spread over an axis of the same length, so that all weigh alike.
    """
    hierarchies = {attribute: table.domain.hierarchy(attribute) for attribute in table.quasi_identifiers}
    longest = max((hierarchy.size(0) for hierarchy in hierarchies.values()), default=1)
    side = 1 << (longest - 1).bit_length()
    points = np.zeros((len(table.base_counts), max(len(hierarchies), 1)), dtype=np.int64)
    for axis, (attribute, hierarchy) in enumerate(hierarchies.items()):
        points[:, axis] = (_ranks(hierarchy) * side // hierarchy.size(0))[table.base_counts.column(attribute, 0)]
    order = hilbert_order(points)
    return np.repeat(order, table.base_counts.counts[order])


def _ranks(hierarchy: Hierarchy) -> IndexArray:
    """The base values numbered so that those under one value follow each other: shape (leaves,)."""
    order = np.lexsort([hierarchy.lift(0, level) for level in range(hierarchy.height + 1)])
    ranks = np.empty(len(order), dtype=np.intp)
    ranks[order] = np.arange(len(order))
    return ranks


def _nearest(hierarchy: Hierarchy, codes: CodeArray, starts: IndexArray) -> IndexArray:
    """For groups of base values, one after the other, the lowest node that covers each: shape (groups,)."""
    taxonomy = Taxonomy(hierarchy)
    nearest = np.full(len(starts), taxonomy.root)
    for level in reversed(range(hierarchy.height)):
        nodes = taxonomy.at_level(level)[codes]
        lowest = np.minimum.reduceat(nodes, starts)
        nearest = np.where(lowest == np.maximum.reduceat(nodes, starts), lowest, nearest)
    return nearest


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
        """The general values, each with the base values under it and its shares of these."""
        values = np.flatnonzero(self.levels > 0).tolist()
        return [
            (value, under, self.shares[value, under])
            for value in values
            for under in [np.flatnonzero(self.shares[value])]
        ]

    @cached_property
    def _base(self) -> tuple[IndexArray, IndexArray]:
        """The published values that are base values, and which these are."""
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


# SWEEP: a (tau, l)-diverse table by local recoding and generalized sensitive values (TZ09 section III, Fig. 4).
#
# Rows begin in the classes of their base values. Class by class, in an order of falling information, a class keeps the
# rows with which it is diverse; the others are swept on to the next, more general class that covers them. Where the
# table as a whole is not diverse, or what is left at the end, sensitive values are generalized until it is. So every
# requirement can be met that the set of sensitive values allows at all.
#
# With several sensitive attributes a class must be diverse in each of them by itself (TZ11 section 4.6).
#
# With another criterion, or k alone, classes are swept on as wholes, and sensitive values stay as they are.


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
    require_whole_number(k, "k", 1)
    criterion = requirement_of(table, requirement)
    given = table.quasi_identifiers if importance is None else importance
    axes = tuple(elements_of(given, "importance", "a list of quasi-identifiers"))
    if sorted(map(str, axes)) != sorted(table.quasi_identifiers):
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
    closed = [(_nodes(table, retained, levels), retained.counts) for levels, retained in swept]
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
        retained = _kept(rows, classes(levels, rows), measures, k)
        if retained.any():
            closed.append((levels, rows.some(retained)))
            rows = rows.some(rows.counts - retained)
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
        retained = np.where(passing(rows, class_of)[class_of], rows.counts, 0)
        if retained.any():
            closed.append((levels, rows.some(retained)))
            rows = rows.some(rows.counts - retained)
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
    import pandas as pd  # loaded here: a table that is generalized as a whole needs none

    heights = {attribute: table.domain.hierarchy(attribute).height for attribute in axes}
    columns = {(a, level): table.base_counts.column(a, level) for a in axes for level in range(heights[a] + 1)}

    def classes(levels: Mapping[str, int], of: _Rows) -> IndexArray:
        """The class of each group at some levels."""
        columns_shown = [columns[item][of.cells] for item in levels.items()]
        sizes = [table.domain.hierarchy(attribute).size(level) for attribute, level in levels.items()]
        return np.asarray(pd.factorize(pack(columns_shown, sizes, len(of.cells))[0])[0], dtype=np.intp)

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


# Classification utility: how well a decision tree does that was learnt from an anonymized table (TZ09 IV.B, TZ11
# 5.3.2).
#
# The learner reads a generalized row as a random base row that it may be, and so takes original and anonymized tables
# alike. It may split on the values of all levels of the hierarchies. Both trees are tested on original rows.


_MAX_FEATURES = 256
"""A level with more values than this gives the tree no features; the coarser levels do."""

_LEAF_SHARE = 0.001
"""A leaf holds at least this share of the rows: ID3 without it learns the rows by heart."""


def relative_accuracy(
    anonymized: GeneralizedCells,
    original: ContingencyTable,
    test: ContingencyTable,
    target: str,
    rng: np.random.Generator,
) -> float:
    """Accuracy of the tree learnt from the anonymized table over that of the tree learnt from the original, on `test`.

    target: the attribute to predict from all others. test: base rows of the same domain, best not those learnt from.
    Raises InputError without scikit-learn.
    """
    seed = int(rng.integers(2**31))
    learnt = [
        tree_accuracy(cells, test, target, np.random.default_rng(seed))
        for cells in (anonymized, GeneralizedCells.of(original))
    ]
    return learnt[0] / learnt[1]


def tree_accuracy(training: GeneralizedCells, test: ContingencyTable, target: str, rng: np.random.Generator) -> float:
    """Share of the rows of `test` whose target a tree predicts that has learnt from `training`; splits by information.

    rng: draws base rows, and breaks ties between splits. Raises InputError without scikit-learn.
    """
    tree = _decision_tree(rng)
    axis = training.domain.index(target)
    learnt, asked = training.random_base_rows(rng), np.stack(test.codes, axis=1)
    tree.fit(_features(training.taxonomies, learnt, axis), learnt[:, axis])
    hits = tree.predict(_features(training.taxonomies, asked, axis)) == asked[:, axis]
    return float(test.counts @ hits / test.total)


def _decision_tree(rng: np.random.Generator) -> Any:
    try:
        learner = import_module("sklearn.tree")
    except ImportError:
        raise InputError("classification accuracy needs scikit-learn: pip install scikit-learn") from None
    return learner.DecisionTreeClassifier(
        criterion="entropy", min_weight_fraction_leaf=_LEAF_SHARE, random_state=int(rng.integers(2**31))
    )


def _features(taxonomies: Sequence[Taxonomy], codes: CodeArray, target: int) -> NDArray[np.bool_]:
    """Whether base rows are under each value of each attribute but the target: shape (rows, features)."""
    blocks = [np.zeros((len(codes), 1), dtype=bool)]
    for axis, taxonomy in enumerate(taxonomies):
        for level, labels in enumerate(taxonomy.hierarchy.labels):
            if axis != target and 1 < len(labels) <= _MAX_FEATURES:
                blocks.append(taxonomy.hierarchy.lift(0, level)[codes[:, axis], None] == np.arange(len(labels)))
    return np.concatenate(blocks, axis=1)


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


def hilbert_words(points: CodeArray, bits: int) -> NDArray[np.int64]:
    """The position of grid points on the Hilbert curve, as digits in base 2^axes, the most significant first.

    points: shape (n, axes), each coordinate in 0 .. 2^bits - 1, at most 62 axes. Result: shape (n, bits). The method is
    that of Skilling, Programming the Hilbert curve (AIP Conf. Proc. 707, 2004), for all points at once.

    >>> corner_to_corner = np.array([[0, 0], [0, 1], [1, 1], [1, 0]])
    >>> hilbert_words(corner_to_corner, 1).ravel().tolist()
    [0, 1, 2, 3]
    """
    axes = [column.astype(np.int64) for column in points.T]
    for bit in range(bits - 1, 0, -1):
        low = (1 << bit) - 1
        for axis in axes:
            inverted = (axis >> bit & 1).astype(bool)
            exchanged = np.where(inverted, 0, (axes[0] ^ axis) & low)
            axes[0] ^= np.where(inverted, low, exchanged)
            axis ^= exchanged
    for before, axis in zip(axes, axes[1:]):
        axis ^= before
    turned = np.zeros(len(points), dtype=np.int64)
    for bit in range(bits - 1, 0, -1):
        turned ^= np.where(axes[-1] >> bit & 1, (1 << bit) - 1, 0)
    words = np.zeros((len(points), bits), dtype=np.int64)
    for axis in axes:
        for place in range(bits):
            words[:, place] = words[:, place] << 1 | (axis ^ turned) >> (bits - 1 - place) & 1
    return words


def hilbert_order(points: CodeArray) -> IndexArray:
    """The indices of grid points in Hilbert order; equal points keep their order. points: shape (n, axes), codes."""
    bits = max(int(points.max(initial=0)).bit_length(), 1)
    words = hilbert_words(points, bits)
    return np.lexsort(tuple(words.T[::-1]))
