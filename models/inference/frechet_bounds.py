"""Certain bounds of counts: of the rows in a box, in all by the cells of a margin, or of all cells of a margin.

First come all known parts: with n(a) and n(b) published, n(a and b) is at least n(a) + n(b) - N, and so on part by part.
Then junction trees: at a separator the two sides' counts n(s, a) and n(s, b) leave between max(n(s, a) + n(s, b) - n(s),
0) and min(n(s, a), n(s, b)) rows with both. Summed over s, and carried on from clique to clique, that bounds for certain;
where the sides are published counts it is sharp, since each s may be glued freely, and so it is where what is asked fixes
every separator on the way (Dobra and Fienberg 2000). One box is bounded better by maximum flows, then by programs.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, partial, reduce
from math import inf
from operator import or_
from typing import TypeAlias

import numpy as np

from models.arrays import BoolArray, CountArray, FloatArray
from models.deadline import NEVER, Deadline
from models.errors import ContradictionError, DomainMismatchError, TooManyCellsError
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
    most_in_tree,
)
from models.programs.consistent_tables import PossibleCells, possible_cells
from models.tables.contingency_table import Cells
from models.tables.hierarchy import Domain, Mask

PROGRAM_LIMIT = 20_000
"""Possible cells that a program may have."""

_MOST_TREES = 12
"""Junction trees that a collection without one of its own is bounded by."""

KEPT_TABLES = 64
"""Tables that programs came upon last, at most, that are kept."""

_FLOW_CELLS = 1 << 16
"""Cells of the tables that a flow goes through, at most, where no time is given for it."""


@dataclass(frozen=True, eq=False)
class MarginBounds:
    """lower <= count <= upper for certain: whole numbers, one axis an attribute.

    sharp: whether each bound is proven to be attained by some table with the given marginals.
    """

    lower: CountArray
    upper: CountArray
    sharp: bool


@dataclass(frozen=True, eq=False)
class FrechetBounds:
    """Bounds from the marginals of a collection.

    deadline: when no other junction tree is looked for or asked any more; each more can only make bounds closer. found:
    tables of whole numbers over the possible cells, with the published marginals, that programs came upon.
    """

    collection: Collection
    deadline: Deadline = NEVER
    found: deque[CountArray] = field(default_factory=lambda: deque(maxlen=KEPT_TABLES), init=False, repr=False)

    @cached_property
    def trees(self) -> tuple[CalibratedTree, ...]:
        """The collection's own junction tree; without one, those of some parts, of one at least, that have one."""
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
        """The cells that can be occupied, for programs; None where they are more than PROGRAM_LIMIT."""
        try:
            return possible_cells(self.collection, PROGRAM_LIMIT)
        except TooManyCellsError:
            return None

    def extreme(self, inside: BoolArray, direction: int, seconds: float, deadline: Deadline) -> Extreme:
        """`extreme_count` of some possible cells, of which there must be few enough; keeps tables that it finds."""
        cells = self.possible
        if cells is None:
            raise TooManyCellsError(f"the published cells that may be occupied are more than {PROGRAM_LIMIT}")
        extreme = extreme_count(cells, inside, direction, seconds, deadline=deadline)
        if extreme.table is not None:
            self.found.append(extreme.table)
        return extreme

    @property
    def domain(self) -> Domain:
        """The attributes with their hierarchies."""
        return self.collection.domain

    def of_margin(self, margin: Mapping[str, int]) -> MarginBounds:
        """Bounds of all cells of a margin, empty ones included, axes in the order given.

        A value finer than what is published is bounded by its published ancestor, and may be empty unless it is the
        only one. Raises DomainMismatchError, and TooManyCellsError for a margin too large to be laid out.
        """
        return Box(self, {}).by(margin)

    def of_box(self, box: Mapping[str, BoolArray]) -> "Box":
        """The rows whose base values all lie in given sets.

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
"""Whether a value may lie inside, or lies wholly inside, by its share."""


@dataclass(frozen=True, eq=False)
class Box:
    """Rows whose base values lie in given sets, or shares of them; attributes with all their values are left out.

    inside: for some attributes whether each base value is inside, or for expectations which share of its rows.
    """

    source: FrechetBounds
    inside: Mapping[str, BoolArray | FloatArray]

    @cached_property
    def margin(self) -> dict[str, int]:
        """For each attribute the coarsest level whose values lie wholly inside or outside."""
        return {attribute: self._level(attribute) for attribute in self.inside}

    def _level(self, attribute: str) -> int:
        height = self.source.domain.hierarchy(attribute).height
        cut = (level for level in range(1, height + 1) if (self.share(attribute, level) % 1).any())
        return next(cut, height + 1) - 1

    def share(self, attribute: str, level: int) -> FloatArray:
        """The share of the base values under each value of a level that are inside."""
        hierarchy = self.source.domain.hierarchy(attribute)
        if attribute not in self.inside:
            return np.ones(hierarchy.size(level))
        within = np.bincount(hierarchy.lift(0, level), self.inside[attribute], minlength=hierarchy.size(level))
        return np.asarray(within / hierarchy.leaf_counts(level))

    @property
    def is_empty(self) -> bool:
        """Whether a set has no values, so that no row is inside."""
        return any(not inside.any() for inside in self.inside.values())

    def bounds(self, seconds: float = 0.0) -> CountBounds:
        """Bounds on the number of rows in the box: from known parts, junction trees and flows.

        seconds: budget of programs where these bounds are not proven to be sharp; 0 for none.
        """
        outer = self.by({})
        bounds = CountBounds(int(outer.lower), int(outer.upper), outer.sharp)
        if bounds.sharp or self.source.deadline.is_over:
            return bounds
        if self.source.collection.is_decomposable and self.source.collection.cube.total <= FLOW_LIMIT:
            other = self.flow_bounds(seconds)
        elif seconds > 0 and self.source.possible is not None:
            other = self._programmed(self.source.possible.cells, seconds)
        else:
            return bounds
        lower, upper = max(bounds.lower, other.lower), min(bounds.upper, other.upper)
        return CountBounds(lower, upper, other.sharp or lower == upper, other.lower_sharp)

    def by(self, margin: Mapping[str, int]) -> MarginBounds:
        """Bounds of the rows in the box by the cells of a margin, empty ones included, axes in the order given.

        With conditions they are sharp where one table shows the box and the margin. Raises as `FrechetBounds.of_margin`.
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
        """Whether one published table tells all values of a margin and of the box apart, as finely as any does."""
        asked = self.source.domain.mask(self.levels(margin, self.source.collection))
        return any(not asked & ~mask for mask in self.source.collection.masks)

    def levels(self, margin: Mapping[str, int], shown: Collection | CalibratedTree) -> dict[str, int]:
        """The levels at which the values of a margin and of the box are told apart, none finer than what is shown."""
        asked = {**margin, **self.margin, **margin}
        return {a: max(min(level, self.margin.get(a, level)), shown.finest_levels[a]) for a, level in asked.items()}

    def grouped(
        self,
        margin: Mapping[str, int],
        levels: Mapping[str, int],
        weigh: Callable[[FloatArray], FloatArray | BoolArray] = np.asarray,
    ) -> dict[Item, Groups]:
        """The values at some levels, sorted by the values of a margin, with what is made of their shares inside."""
        domain, groups = self.source.domain, {}
        for attribute, level in levels.items():
            hierarchy = domain.hierarchy(attribute)
            if item := domain.mask({attribute: level}):
                target = max(margin.get(attribute, hierarchy.height), level)
                weights = weigh(self.share(attribute, level))
                groups[item] = Groups(hierarchy.lift(level, target), weights, hierarchy.size(target))
        return groups

    def _known_parts(self, margin: Mapping[str, int]) -> _Ends:
        """Bounds by known parts, for which there always is time, and by propagation where there is no junction tree."""
        collection, domain, table = self.source.collection, self.source.domain, self.source.collection.cube.table
        levels = self.levels(margin, collection)
        lifts = {a: domain.hierarchy(a).lift(0, levels[a]) for a in self.inside}
        certain = Box(self.source, {a: _certain(self.share(a, levels[a]))[lift] for a, lift in lifts.items()})
        masks, asked = maximal_masks(collection.masks), domain.mask(levels)
        lower, _ = known_parts_bounds(domain, masks, asked, cache(lambda mask: certain._summed(table(mask), margin)))
        _, upper = known_parts_bounds(domain, masks, asked, cache(lambda mask: self._summed(table(mask), margin)))
        if not (collection.is_decomposable or self.source.deadline.is_over) and self.source.possible is not None:
            cells, (least, most) = self.source.possible.cells, self.source.possible.propagated
            lower = np.maximum(lower, certain._summed(cells, margin, least))
            upper = np.minimum(upper, self._summed(cells, margin, most))
        return self._refined(margin, levels, lower, upper)

    def _refined(
        self, margin: Mapping[str, int], levels: Mapping[str, int], lower: CountArray, upper: CountArray
    ) -> _Ends:
        """Bounds without what a cell cannot have, or need not have as its values are told apart only at these levels.

        lower, upper: of the cells of the margin, with the count of the value that is told apart at each value under it.
        """
        lower = np.maximum(lower, 0)
        for attribute, told in levels.items():
            hierarchy, along = self.source.domain.hierarchy(attribute), [-1 if attribute == a else 1 for a in margin]
            level, certain = margin.get(attribute, hierarchy.height), _certain(self.share(attribute, told))
            if level < told:
                parents = hierarchy.lift(level, told)
                sure = certain[parents] & (np.bincount(parents)[parents] == 1)
            else:
                sure = np.bincount(hierarchy.lift(told, level), certain, hierarchy.size(level)) > 0
            lower = lower * sure.reshape(along)
            upper = upper * _possible(self.share(attribute, level)).reshape(along)
        return lower, upper

    def _summed(self, cells: Cells, margin: Mapping[str, int], counts: CountArray | None = None) -> CountArray:
        """Counts of cells that may lie inside, by the cells of a margin; attributes that they lack have axes of length 1."""
        domain, shown = self.source.domain, cells.margin
        keys, inside = np.zeros(len(cells), dtype=np.intp), np.ones(len(cells), dtype=np.bool_)
        for attribute in self.inside.keys() & shown.keys():
            inside &= _possible(self.share(attribute, shown[attribute]))[cells.column(attribute)]
        levels = {a: max(level, shown.get(a, domain.hierarchy(a).height)) for a, level in margin.items()}
        for attribute, level in levels.items():
            codes = cells.column(attribute, level) if attribute in shown else 0
            keys = keys * domain.hierarchy(attribute).size(level) + codes
        counted = (cells.counts if counts is None else counts) * inside
        sums = np.rint(np.bincount(keys, counted, domain.size(levels))).astype(np.int64)
        return laid_out(domain, sums, levels, {a: margin[a] if a in shown else level for a, level in levels.items()})

    def flow_bounds(self, seconds: float = 0.0) -> CountBounds:
        """Bounds along a junction tree: the lower one by a maximum flow, and the upper one, if what is asked is at the ends
        of a chain.

        seconds: for flows through more than _FLOW_CELLS cells, and for a program of the upper one in other trees.
        """
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
        if seconds <= 0:
            return CountBounds(lower, total, sharp=False, lower_sharp=True)
        most = most_in_tree(tables, within, self.source.deadline.share(2).earlier(seconds))
        return CountBounds(lower, most.bound, most.attained, lower_sharp=True)

    def _programmed(self, cells: Cells, seconds: float) -> CountBounds:
        share = np.ones(len(cells))
        for attribute in self.inside:
            level = cells.margin.get(attribute)
            share *= 0.5 if level is None else self.share(attribute, level)[cells.column(attribute)]
        # Each bound runs two programs, one after the other, and as long again may be left for fitting.
        deadline = self.source.deadline.share(2).earlier(seconds)
        upper = self.source.extreme(share > 0, 1, inf, deadline.share(2))
        lower = self.source.extreme(share == 1, -1, inf, deadline)
        is_sharp = lower.attained and upper.attained
        return CountBounds(lower.bound, upper.bound, is_sharp)


def _linked(tree: CalibratedTree, links: Sequence[int]) -> tuple[list[int], list[LinkedTable]]:
    """The cliques that connected links of a tree join, parents first, and their tables."""
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
    for item, own in groups.items():
        if tree.holders(item) >> clique & 1:
            inside &= own.weights[tree.codes(clique, item)] > 0
    return inside


def _is_sharp(tree: CalibratedTree, groups: Mapping[Item, Groups]) -> bool:
    """Whether the bounds are attained: one clique holds all, a separator glues counts, or all separators are fixed."""
    items = tuple(groups)
    if not items or tree.home(items) is not None:
        return True
    fixed = [i for i, own in groups.items() if np.bincount(own.codes[own.weights], minlength=1).max() <= 1]
    splits, fixed_mask = list(tree.splits(items)), reduce(or_, fixed, 0)
    if all(not tree.tree.separators[number + 1] & ~fixed_mask for number, _, _ in splits):
        return True
    return any(
        _is_counted(tree, (number, 0), near) and _is_counted(tree, (number, 1), apart) for number, near, apart in splits
    )


def _is_counted(tree: CalibratedTree, side: Side, items: tuple[Item, ...]) -> bool:
    """Whether rows by separator cell and items beyond follow from the marginal of one clique there.

    A clique is passed through where the next separator shows all that is asked of the clique.
    """
    while ways := tree.ways(tree.links[side[0]].cliques[side[1]], items):
        (way, beyond), *others = ways
        needed = reduce(or_, set(items).difference(beyond), tree.tree.separators[side[0] + 1])
        if others or needed & ~tree.tree.separators[way[0] + 1]:
            return False
        side, items = way, beyond
    return True
