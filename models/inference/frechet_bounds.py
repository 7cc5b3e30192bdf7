"""Certain bounds of counts: of the rows in a box, by the cells of a margin or for all cells of a margin.

The first bounds come from known parts: n(a and b) is at least n(a) + n(b) - N, and so on part by part. The second come
from junction trees. At a separator s the two sides have the counts n(s, a) and n(s, b). At least max(n(s, a) + n(s, b)
from models.frozen import frozen
- n(s), 0) and at most min(n(s, a), n(s, b)) rows have both. Summed over s, and carried on from clique to clique, this
bounds for certain. The bound is sharp if the sides are published counts, because each s may be glued freely. It is
also sharp if the question fixes every separator on the way (Dobra and Fienberg 2000). A single box is bounded more
closely by maximum flows, then by programs.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import cache, cached_property, partial, reduce
from math import inf
from operator import or_
from typing import TypeAlias

import numpy as np

from models.arrays import BoolArray, CountArray, FloatArray
from models.deadline import NEVER, Deadline
from models.errors import ContradictionError, DomainMismatchError, TooManyCellsError
from models.frozen import frozen
from models.graphs.junction_tree import Collection, decomposable_part, maximal_masks
from models.inference.calibrated_tree import (
    CalibratedTree,
    Groups,
    Item,
    Side,
    at_least,
    at_most,
    laid_out,
    require_few,
    views,
)
from models.programs.cell_bounds import (
    FLOW_LIMIT,
    CountBounds,
    Extreme,
    LinkedTable,
    extreme_count,
    known_parts_bounds,
    least_in_tree,
    most_in_chain,
)
from models.programs.consistent_tables import PossibleCells, possible_cells
from models.tables.contingency_table import Cells
from models.tables.hierarchy import Domain, Mask

PROGRAM_LIMIT = 20_000
"""Most possible cells of a program."""

_MOST_TREES = 12
"""Most junction trees that bound a collection without one of its own."""

KEPT_TABLES = 64
"""Most tables of programs that are kept, the latest ones."""

_FLOW_CELLS = 1 << 16
"""Most cells of the tables of a flow that has no time budget."""


@frozen(eq=False)
class MarginBounds:
    """Certain bounds lower <= count <= upper: whole numbers, one axis per attribute.

    sharp: whether each bound is proven to be attained by some table with the given marginals.
    """

    lower: CountArray
    upper: CountArray
    sharp: bool


@frozen(eq=False)
class FrechetBounds:
    """Certain bounds of counts from the marginals of a collection.

    collection: the published marginals. deadline: time after which no further junction tree is used; each further tree
    can only tighten bounds. tables_met: tables of whole numbers over the possible cells, with the published marginals,
    that programs found.
    """

    collection: Collection
    deadline: Deadline = NEVER
    tables_met: deque[CountArray] = field(default_factory=lambda: deque(maxlen=KEPT_TABLES), init=False, repr=False)

    @cached_property
    def trees(self) -> tuple[CalibratedTree, ...]:
        """The collection's own junction tree; else the trees of some parts of it, at least one."""
        collection = self.collection
        if collection.is_decomposable:
            return (CalibratedTree.of(collection),)
        maximal = maximal_masks(collection.masks)
        trees: dict[tuple[Mask, ...], CalibratedTree] = {}
        until = self.deadline.share(3)
        for start in maximal[:_MOST_TREES]:
            if trees and until.is_over:
                break
            nearest = sorted(maximal, key=lambda m: (-(m & start).bit_count(), m))
            part = tuple(sorted(decomposable_part([start, *nearest])))
            if part not in trees:
                trees[part] = CalibratedTree.of(Collection.of(collection.cube, part))
        return tuple(trees.values())

    @cached_property
    def possible(self) -> PossibleCells | None:
        """Cells that can be occupied, for programs; None if they are more than PROGRAM_LIMIT."""
        try:
            return possible_cells(self.collection, PROGRAM_LIMIT)
        except TooManyCellsError:
            return None

    def extreme(
        self, cells: PossibleCells, inside: BoolArray, direction: int, seconds: float, deadline: Deadline
    ) -> Extreme:
        """Return `extreme_count` of some of the possible cells, and keep the table that it finds."""
        extreme = extreme_count(cells, inside, direction, seconds, deadline=deadline)
        if extreme.table is not None:
            self.tables_met.append(extreme.table)
        return extreme

    @property
    def domain(self) -> Domain:
        """The attributes with their hierarchies."""
        return self.collection.domain

    def of_margin(self, margin: Mapping[str, int]) -> MarginBounds:
        """Return bounds of all cells of a margin, empty ones included, axes in the order given.

        A value finer than what is published is bounded by its published ancestor, and may be empty unless it is the
        only one. Raises DomainMismatchError, and TooManyCellsError if the margin is too large to be laid out.
        """
        return Box(self, {}).by(margin)

    def of_box(self, box: Mapping[str, BoolArray]) -> "Box":
        """Return the box of rows whose base values all lie in given sets.

        box: for some attributes whether each base value is in, shape (size(0),), else DomainMismatchError.
        """
        conditions = {}
        for attribute, inside in box.items():
            size = self.domain.hierarchy(attribute).size(0)
            if inside.shape != (size,):
                raise DomainMismatchError(f"a set of values of {attribute!r} must have one entry for each base value")
            if not inside.all():
                conditions[attribute] = inside
        return Box(self, conditions)


_Ends: TypeAlias = tuple[CountArray, CountArray]
"""Lower and upper bounds."""

_possible, _certain = partial(np.less, 0), partial(np.equal, 1)
"""Tests on a value's share inside: whether it may lie inside, and whether all of it does."""


@frozen(eq=False)
class Box:
    """Rows whose base values lie in given sets, or shares of them; attributes with all their values are left out.

    inside: for some attributes whether each base value is inside, or for expectations the share of its rows.
    """

    source: FrechetBounds
    inside: Mapping[str, BoolArray | FloatArray]

    @cached_property
    def margin(self) -> dict[str, int]:
        """Coarsest level of each attribute whose values lie completely inside or outside."""
        return {attribute: self._level(attribute) for attribute in self.inside}

    def _level(self, attribute: str) -> int:
        height = self.source.domain.hierarchy(attribute).height
        cut = (level for level in range(1, height + 1) if (self.share(attribute, level) % 1).any())
        return next(cut, height + 1) - 1

    def share(self, attribute: str, level: int) -> FloatArray:
        """Return the share of the base values under each value of a level that are inside."""
        hierarchy = self.source.domain.hierarchy(attribute)
        if attribute not in self.inside:
            return np.ones(hierarchy.size(level))
        within = np.bincount(hierarchy.lift(0, level), self.inside[attribute], minlength=hierarchy.size(level))
        return np.asarray(within / hierarchy.leaf_counts(level))

    @property
    def is_empty(self) -> bool:
        """True if a set has no values, so that no row is inside."""
        return any(not inside.any() for inside in self.inside.values())

    def bounds(self, seconds: float = 0.0) -> CountBounds:
        """Return bounds on the number of rows in the box, from known parts, junction trees and flows.

        seconds: budget of programs, which run if these bounds are not proven to be sharp; 0 for none.
        """
        outer = self.by({})
        bounds = CountBounds(int(outer.lower), int(outer.upper), outer.sharp)
        for closer in (self.flow_bounds, self._programmed):
            if bounds.sharp or self.source.deadline.is_over:
                break
            other = closer(seconds)
            lower, upper = max(bounds.lower, other.lower), min(bounds.upper, other.upper)
            is_sharp = other.sharp or lower == upper
            bounds = CountBounds(lower, upper, is_sharp, bounds.lower_sharp or other.lower_sharp)
        return bounds

    def by(self, margin: Mapping[str, int]) -> MarginBounds:
        """Return bounds of the rows in the box by the cells of a margin, empty ones included, axes in the order given.

        If the box has conditions, they are sharp if one table shows the box and the margin. Raises as
        `FrechetBounds.of_margin`.
        """
        source, domain = self.source, self.source.domain
        domain.mask(margin)
        require_few(domain.size(margin))
        if self.is_empty:
            nothing = np.zeros([domain.hierarchy(a).size(level) for a, level in margin.items()], np.int64)
            return MarginBounds(nothing, nothing, sharp=True)
        ends: list[_Ends] = []
        is_decided = False
        for tree in () if source.deadline.is_over else source.trees:
            if ends and source.deadline.is_over:
                break
            levels = self.levels(margin, tree)
            possible, certain = (self.grouped(margin, levels, weigh) for weigh in (_possible, _certain))
            least = reduce(np.maximum, views(tree, tuple(certain), at_least, certain))
            most = reduce(np.minimum, views(tree, tuple(possible), at_most, possible))
            coarse = {a: max(level, levels[a]) for a, level in margin.items()}
            lower, upper = (laid_out(domain, np.rint(end).astype(np.int64), coarse, margin) for end in (least, most))
            ends.append(self._refined(margin, levels, lower, upper))
            is_decided = source.collection.is_decomposable and _is_sharp(tree, possible)
        if not is_decided:
            ends.append(self._known_parts(margin))
        lower, upper = (reduce(better, side) for better, side in zip((np.maximum, np.minimum), zip(*ends)))
        if np.any(lower > upper):
            raise ContradictionError("no table has these marginals")
        # Bounds of several cells with conditions are attained together where one table shows all.
        sharp = self.is_shown(margin) if margin and self.inside else is_decided
        return MarginBounds(lower, upper, sharp or bool(np.array_equal(lower, upper)))

    def is_shown(self, margin: Mapping[str, int]) -> bool:
        """Return whether one table distinguishes all values of a margin and of the box as finely as any table does."""
        wanted = self.source.domain.mask(self.levels(margin, self.source.collection))
        return any(not wanted & ~mask for mask in self.source.collection.masks)

    def levels(self, margin: Mapping[str, int], published: Collection | CalibratedTree) -> dict[str, int]:
        """Return the levels at which values of a margin and of the box are distinguished, none finer than published."""
        wanted = {**margin, **self.margin, **margin}
        return {
            a: max(min(level, self.margin.get(a, level)), published.finest_levels[a]) for a, level in wanted.items()
        }

    def grouped(
        self,
        margin: Mapping[str, int],
        levels: Mapping[str, int],
        weigh: Callable[[FloatArray], FloatArray | BoolArray] = np.asarray,
    ) -> dict[Item, Groups]:
        """Return the values at some levels, grouped by the values of a margin, with a function of their shares inside."""
        domain, groups = self.source.domain, {}
        for attribute, level in levels.items():
            hierarchy = domain.hierarchy(attribute)
            if item := domain.mask({attribute: level}):
                target = max(margin.get(attribute, hierarchy.height), level)
                weights = weigh(self.share(attribute, level))
                groups[item] = Groups(hierarchy.lift(level, target), weights, hierarchy.size(target))
        return groups

    def _known_parts(self, margin: Mapping[str, int]) -> _Ends:
        """Return bounds by known parts, which need no deadline, and by propagation if there is no junction tree."""
        collection, domain, table = self.source.collection, self.source.domain, self.source.collection.cube.table
        levels = self.levels(margin, collection)
        certain = self._inner(levels)
        masks, wanted = maximal_masks(collection.masks), domain.mask(levels)
        lower = np.zeros((), dtype=np.int64)
        # A coarser table may show values that are completely inside, together with what no finer table shows.
        coarsest = {a: max(level, margin.get(a, domain.hierarchy(a).height)) for a, level in levels.items()}
        tables = [domain.margin(mask) for mask in (sum(domain.attribute_masks), *masks)]
        for separated in {tuple(min(max(levels[a], m.get(a, 0)), coarsest[a]) for a in levels) for m in tables}:
            parts = dict(zip(levels, separated))
            if not (inner := self._inner(parts)).is_empty:
                count = cache(lambda mask, inner=inner: inner._summed(table(mask), margin))
                lower = np.maximum(lower, known_parts_bounds(domain, masks, domain.mask(parts), count)[0])
        _, upper = known_parts_bounds(domain, masks, wanted, cache(lambda mask: self._summed(table(mask), margin)))
        if not (collection.is_decomposable or self.source.deadline.is_over) and self.source.possible is not None:
            possible, (least, most) = self.source.possible.cells, self.source.possible.propagated
            lower = np.maximum(lower, certain._summed(possible, margin, least))
            upper = np.minimum(upper, self._summed(possible, margin, most))
        return self._refined(margin, levels, lower, upper)

    def _inner(self, levels: Mapping[str, int]) -> "Box":
        """Return the box of the values of some levels that are completely inside; attributes without a level are `*`."""
        inner = {}
        for attribute in self.inside:
            hierarchy = self.source.domain.hierarchy(attribute)
            level = levels.get(attribute, hierarchy.height)
            inner[attribute] = _certain(self.share(attribute, level))[hierarchy.lift(0, level)]
        return Box(self.source, inner)

    def _refined(
        self, margin: Mapping[str, int], levels: Mapping[str, int], lower: CountArray, upper: CountArray
    ) -> _Ends:
        """Tighten bounds of the cells where the published levels show that a cell must, or need not, have rows."""
        lower = np.maximum(lower, 0)
        for attribute, told_level in levels.items():
            hierarchy, along = self.source.domain.hierarchy(attribute), [-1 if attribute == a else 1 for a in margin]
            level, certain = margin.get(attribute, hierarchy.height), _certain(self.share(attribute, told_level))
            if level < told_level:
                parents = hierarchy.lift(level, told_level)
                sure = certain[parents] & (np.bincount(parents)[parents] == 1)
            else:
                sure = np.bincount(hierarchy.lift(told_level, level), certain, hierarchy.size(level)) > 0
            lower = lower * sure.reshape(along)
            upper = upper * _possible(self.share(attribute, level)).reshape(along)
        return lower, upper

    def _summed(self, cells: Cells, margin: Mapping[str, int], counts: CountArray | None = None) -> CountArray:
        """Return counts of cells that may lie inside, by cells of a margin; attributes they lack have axes of length 1."""
        domain, cell_levels = self.source.domain, cells.margin
        keys, inside = np.zeros(len(cells), dtype=np.intp), np.ones(len(cells), dtype=np.bool_)
        for attribute in self.inside.keys() & cell_levels.keys():
            inside &= _possible(self.share(attribute, cell_levels[attribute]))[cells.column(attribute)]
        levels = {a: max(level, cell_levels.get(a, domain.hierarchy(a).height)) for a, level in margin.items()}
        for attribute, level in levels.items():
            codes = cells.column(attribute, level) if attribute in cell_levels else 0
            keys = keys * domain.hierarchy(attribute).size(level) + codes
        counted = (cells.counts if counts is None else counts) * inside
        sums = np.rint(np.bincount(keys, counted, domain.size(levels))).astype(np.int64)
        return laid_out(
            domain, sums, levels, {a: margin[a] if a in cell_levels else level for a, level in levels.items()}
        )

    def flow_bounds(self, seconds: float = 0.0) -> CountBounds:
        """Return bounds by maximum flows, the upper one along chains. seconds: for more than _FLOW_CELLS cells."""
        total = self.source.collection.cube.total
        unknown = CountBounds(0, total, sharp=False)
        if self.is_empty:
            return CountBounds(0, 0, sharp=True)
        if not self.source.collection.is_decomposable or total > FLOW_LIMIT:
            return unknown
        tree = self.source.trees[0]
        levels = self.levels({}, tree)
        possible, certain = (self.grouped({}, levels, weigh) for weigh in (_possible, _certain))
        links = [number for number, _, _ in tree.splits(tuple(possible))]
        cliques, tables = _linked(tree, links)
        if not links or (seconds <= 0 and sum(len(table.counts) for table in tables) > _FLOW_CELLS):
            return unknown
        lower = 0
        if len(certain) == len(self.margin):
            lower = least_in_tree(tables, [_inside(tree, clique, certain) for clique in cliques])
        within = [_inside(tree, clique, possible) for clique in cliques]
        if (upper := most_in_chain(tables, within)) is not None:
            return CountBounds(lower, upper, sharp=True)
        return CountBounds(lower, total, sharp=False, lower_sharp=True)

    def _programmed(self, seconds: float) -> CountBounds:
        if seconds <= 0 or (possible := self.source.possible) is None:
            return CountBounds(0, self.source.collection.cube.total, sharp=False)
        cells = possible.cells
        share = np.ones(len(cells))
        for attribute in self.inside:
            level = cells.margin.get(attribute)
            share *= 0.5 if level is None else self.share(attribute, level)[cells.column(attribute)]
        # Each bound runs two programs, one after the other; the other half of the time is left for fitting.
        deadline = self.source.deadline.share(2).earlier(seconds)
        upper = self.source.extreme(possible, share > 0, 1, inf, deadline.share(2))
        lower = self.source.extreme(possible, share == 1, -1, inf, deadline)
        is_sharp = lower.attained and upper.attained
        return CountBounds(lower.bound, upper.bound, is_sharp)


def _linked(tree: CalibratedTree, links: Sequence[int]) -> tuple[list[int], list[LinkedTable]]:
    cliques = sorted({clique for number in links for clique in tree.links[number].cliques})
    nothing = np.zeros(len(tree.cliques[cliques[0]]) if cliques else 0, dtype=np.intp)
    ends = [(-1, nothing, nothing)]
    for link in (tree.links[clique - 1] for clique in cliques[1:]):
        ends.append((cliques.index(link.cliques[1]), *link.positions))
    tables = [
        LinkedTable(np.rint(tree.cliques[clique].counts).astype(np.int64), *end) for clique, end in zip(cliques, ends)
    ]
    return cliques, tables


def _inside(tree: CalibratedTree, clique: int, groups: Mapping[Item, Groups]) -> BoolArray:
    inside = np.ones(len(tree.cliques[clique]), dtype=np.bool_)
    for item, item_groups in groups.items():
        if tree.holders(item) >> clique & 1:
            inside &= item_groups.weights[tree.codes(clique, item)] > 0
    return inside


def _is_sharp(tree: CalibratedTree, groups: Mapping[Item, Groups]) -> bool:
    """Return whether the bounds are attained: one clique holds all, a separator glues counts, or all are fixed."""
    items = tuple(groups)
    if not items or tree.home(items) is not None:
        return True
    fixed = [
        i
        for i, item_groups in groups.items()
        if np.bincount(item_groups.codes[item_groups.weights], minlength=1).max() <= 1
    ]
    splits, fixed_mask = list(tree.splits(items)), reduce(or_, fixed, 0)
    if all(not tree.tree.separators[number + 1] & ~fixed_mask for number, _, _ in splits):
        return True
    return any(
        _is_counted(tree, (number, 0), near) and _is_counted(tree, (number, 1), apart) for number, near, apart in splits
    )


def _is_counted(tree: CalibratedTree, side: Side, items: tuple[Item, ...]) -> bool:
    """Return whether rows by separator cell and items beyond follow from the marginal of one clique there."""
    while ways := tree.ways(tree.links[side[0]].cliques[side[1]], items):
        (way, beyond), *others = ways
        needed = reduce(or_, set(items).difference(beyond), tree.tree.separators[side[0] + 1])
        if others or needed & ~tree.tree.separators[way[0] + 1]:
            return False
        side, items = way, beyond
    return True
