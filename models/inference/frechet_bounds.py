"""Frechet bounds of many cells at once: of all cells of a margin, or of the rows in a box, along junction trees.

At a separator the two sides' counts n(s, a) and n(s, b) leave between max(n(s, a) + n(s, b) - n(s), 0) and
min(n(s, a), n(s, b)) rows with both. Summed over s, and carried on from clique to clique, that bounds for certain; where
the sides are published counts it is sharp, since each s may be glued freely, and so it is where what is asked fixes
every separator on the way (Dobra and Fienberg 2000). Elsewhere `Box.bounds` can go on: with maximum flows where the cliques
between what is asked form a chain, which is sharp too, otherwise with integer programming.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from math import ceil, floor, inf
from typing import NamedTuple

import numpy as np

from models.arrays import BoolArray, CountArray, FloatArray
from models.deadline import NEVER, Deadline
from models.errors import ContradictionError, DomainMismatchError, TooManyCellsError
from models.graphs.junction_tree import Collection, decomposable_part, maximal_masks
from models.inference.calibrated_tree import CalibratedTree, Item, Parts, Side, TreeMargins
from models.inference.maximum_entropy import FrechetLower, FrechetUpper, MaximumEntropy
from models.programs.cell_bounds import FLOW_LIMIT, ChainTable, CountBounds, extreme_count, least_inside, most_inside
from models.programs.consistent_tables import possible_cells
from models.tables.hierarchy import Domain, Mask

PROGRAM_LIMIT = 20_000
"""Possible cells that a program may have."""

_MOST_TREES = 12
"""Junction trees that a collection without one of its own is bounded by."""

_WHOLE = 1e-6
"""Distance within which a program's optimum is taken for a whole number."""


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

    deadline: when no other junction tree is looked for or asked any more.
    """

    collection: Collection
    deadline: Deadline = NEVER

    @classmethod
    def of(cls, collection: Collection, deadline: Deadline = NEVER) -> "FrechetBounds":
        """From every decomposable part that starts with another margin, or the whole.

        With a deadline from as many parts as there is time for, one at least; each more can only make bounds closer.
        """
        return cls(collection, deadline)

    @cached_property
    def trees(self) -> tuple[CalibratedTree, ...]:
        """The collection's own junction tree; without one, those of parts of the collection that have one."""
        collection = self.collection
        if collection.is_decomposable:
            return (CalibratedTree.of(MaximumEntropy(collection)),)
        maximal = maximal_masks(collection.masks)
        trees: dict[tuple[Mask, ...], CalibratedTree] = {}
        until = self.deadline.share(3)
        for start in maximal[:_MOST_TREES]:
            if trees and until.is_over:
                break
            nearest = sorted(maximal, key=lambda m: (-(m & start).bit_count(), m))
            part = tuple(sorted(decomposable_part([start, *nearest])))
            if part not in trees:
                trees[part] = CalibratedTree.of(MaximumEntropy(Collection.of(collection.cube, part)))
        return tuple(trees.values())

    @property
    def domain(self) -> Domain:
        """The attributes with their hierarchies."""
        return self.collection.domain

    def asked_trees(self) -> Iterator[CalibratedTree]:
        """The trees, one after the other, no other than the first after the deadline."""
        yield from self.trees[:1]
        for tree in self.trees[1:]:
            if self.deadline.is_over:
                return
            yield tree

    def of_margin(self, margin: Mapping[str, int]) -> MarginBounds:
        """Bounds of all cells of a margin, empty ones included, axes in the order given.

        A value finer than what is published is bounded by its published ancestor, and may be empty unless it is that
        ancestor's only one. Raises DomainMismatchError for an unknown attribute or level, TooManyCellsError for a
        margin too large to be laid out.
        """
        self.domain.mask(margin)
        by_tree = [_margin_bounds(tree, margin) for tree in self.asked_trees()]
        lower = reduce(np.maximum, (bounds.lower for bounds in by_tree))
        upper = reduce(np.minimum, (bounds.upper for bounds in by_tree))
        if np.any(lower > upper):
            raise ContradictionError("no table has these marginals")
        sharp = (self.collection.is_decomposable and by_tree[0].sharp) or bool(np.array_equal(lower, upper))
        return MarginBounds(lower, upper, sharp)

    def of_box(self, box: Mapping[str, BoolArray]) -> "Box":
        """The rows whose base values all lie in given sets.

        box: for some attributes whether each base value is in, shape (size(0),). Raises DomainMismatchError for
        another shape.
        """
        conditions = {}
        for attribute, inside in box.items():
            size = self.domain.hierarchy(attribute).size(0)
            if inside.shape != (size,):
                raise DomainMismatchError(f"a set of values of {attribute!r} must have one entry for each base value")
            if not inside.all():
                conditions[attribute] = inside
        return Box(self, conditions)


class _Asked(NamedTuple):
    """What a box asks of a tree: items, their values that may and that must lie inside, what is fixed of the margins.

    unknown: whether it also asks for what the tree does not show.
    """

    items: tuple[Item, ...]
    possible: Mapping[Item, Parts]
    certain: Mapping[Item, Parts]
    fixed: Mask
    unknown: bool


@dataclass(frozen=True, eq=False)
class Box:
    """Rows whose base values lie in given sets, or shares of them; attributes with all their values are left out.

    inside: for each attribute whether each base value is inside, or for expectations which share of its rows.
    """

    source: FrechetBounds
    inside: Mapping[str, BoolArray | FloatArray]

    @cached_property
    def margin(self) -> dict[str, int]:
        """For each attribute the coarsest level whose values lie wholly inside or outside."""
        return {a: self._level(a, inside) for a, inside in self.inside.items()}

    def _level(self, attribute: str, inside: BoolArray | FloatArray) -> int:
        hierarchy = self.source.domain.hierarchy(attribute)
        level = 0
        while level < hierarchy.height:
            within = np.bincount(hierarchy.lift(0, level + 1), inside, minlength=hierarchy.size(level + 1))
            if np.any((within > 0) & (within < hierarchy.leaf_counts(level + 1))):
                break
            level += 1
        return level

    def share(self, attribute: str, level: int) -> FloatArray:
        """The share of the base values under each value of a level that are inside."""
        hierarchy = self.source.domain.hierarchy(attribute)
        within = np.bincount(hierarchy.lift(0, level), self.inside[attribute], minlength=hierarchy.size(level))
        return np.asarray(within / hierarchy.leaf_counts(level))

    @property
    def is_empty(self) -> bool:
        """Whether a set has no values, so that no row is inside."""
        return any(not inside.any() for inside in self.inside.values())

    @property
    def total(self) -> int:
        """Rows in all."""
        return self.source.collection.cube.total

    def bounds(self, seconds: float = 0.0) -> CountBounds:
        """Bounds on the number of rows in the box.

        seconds: budget of what goes on where these bounds are not proven to be sharp, flows along a chain of cliques, or
        else programs; 0 for none.
        """
        if self.is_empty:
            return CountBounds(0, 0, sharp=True)
        if not self.inside:
            return CountBounds(self.total, self.total, sharp=True)
        if self.source.deadline.is_over:
            return self._marginal_bounds()
        by_tree = [self._tree_bounds(tree) for tree in self.source.asked_trees()]
        lower, upper = max(b.lower for b in by_tree), min(b.upper for b in by_tree)
        if lower > upper:
            raise ContradictionError("no table has these marginals")
        sharp = lower == upper or (self.source.collection.is_decomposable and by_tree[0].sharp)
        if sharp or seconds <= 0:
            return CountBounds(lower, upper, sharp)
        return self.chain_bounds() or self._programmed(CountBounds(lower, upper, sharp), seconds)

    def _marginal_bounds(self) -> CountBounds:
        """What each marginal says by itself, for which there always is time."""
        collection = self.source.collection
        lower, upper = 0, self.total
        for margin, table in zip(collection.margins, collection.tables):
            asked = [attribute for attribute in self.inside if attribute in margin]
            share = np.ones(len(table))
            for attribute in asked:
                share *= self.share(attribute, margin[attribute])[table.column(attribute, margin[attribute])]
            upper = min(upper, int(table.counts[share > 0].sum()))
            if len(asked) == len(self.inside):
                lower = max(lower, int(table.counts[share == 1].sum()))
        return CountBounds(lower, upper, lower == upper)

    def _tree_bounds(self, tree: CalibratedTree) -> CountBounds:
        asked = self._asked(tree)
        upper = _best(TreeMargins(tree, FrechetUpper(), asked.possible), asked.items, np.minimum)
        lower = _best(TreeMargins(tree, FrechetLower(), asked.certain), asked.items, np.maximum)
        sharp = _is_sharp(tree, asked.items, asked.fixed)
        return CountBounds(0 if asked.unknown else int(lower.item()), int(upper.item()), sharp)

    def _asked(self, tree: CalibratedTree) -> "_Asked":
        items, possible, certain, fixed = [], {}, {}, 0
        unknown = False
        for attribute, level in self.margin.items():
            index = self.source.domain.index(attribute)
            item = (index, max(level, tree.finest_levels[index]))
            if item[1] == self.source.domain.hierarchies[index].height:
                unknown = True
                continue
            items.append(item)
            share = self.share(attribute, item[1])
            possible[item] = Parts(np.where(share > 0, 0, -1), 1)
            certain[item] = Parts(np.where(share == 1, 0, -1), 1)
            if np.count_nonzero(share) == 1:
                fixed |= self.source.domain.mask({attribute: item[1]})
        return _Asked(tuple(sorted(items)), possible, certain, fixed, unknown)

    def by(self, margin: Mapping[str, int]) -> MarginBounds:
        """Bounds of the rows in the box by the cells of a margin, empty ones included, axes in the order given.

        They are sharp where one table shows the box and the margin. Raises as `FrechetBounds.of_margin`.
        """
        self.source.domain.mask(margin)
        if not self.inside:
            return self.source.of_margin(margin)
        if self.is_empty:
            nothing = np.zeros([self.source.domain.hierarchy(a).size(level) for a, level in margin.items()], np.int64)
            return MarginBounds(nothing, nothing, sharp=True)
        by_tree = [self._tree_bounds_by(tree, margin) for tree in self.source.asked_trees()]
        lower = reduce(np.maximum, (bounds.lower for bounds in by_tree))
        upper = reduce(np.minimum, (bounds.upper for bounds in by_tree))
        if np.any(lower > upper):
            raise ContradictionError("no table has these marginals")
        return MarginBounds(lower, upper, self._is_shown(margin) or bool(np.array_equal(lower, upper)))

    @property
    def is_shown(self) -> bool:
        """Whether one published table tells the values of all attributes of the box apart, as finely as any does."""
        return self._is_shown({})

    def _is_shown(self, margin: Mapping[str, int]) -> bool:
        """Whether one published table tells the values of a margin and of the box apart, as finely as any does."""
        collection, domain = self.source.collection, self.source.domain
        finest = collection.finest_levels
        box_levels = {a: max(level, finest[a]) for a, level in self.margin.items()}
        box_levels |= {a: max(min(level, box_levels.get(a, level)), finest[a]) for a, level in margin.items()}
        asked = domain.mask(box_levels)
        return any(not asked & ~mask for mask in collection.masks)

    def _tree_bounds_by(self, tree: CalibratedTree, margin: Mapping[str, int]) -> MarginBounds:
        domain = self.source.domain
        items: list[Item] = []
        possible: dict[Item, Parts] = {}
        certain: dict[Item, Parts] = {}
        unknown = False
        for attribute in sorted({**self.margin, **margin}, key=domain.index):
            index, hierarchy = domain.index(attribute), domain.hierarchy(attribute)
            margin_level = margin.get(attribute, hierarchy.height)
            item = (index, max(min(margin_level, self.margin.get(attribute, margin_level)), tree.finest_levels[index]))
            if item[1] == hierarchy.height:
                unknown |= attribute in self.margin
                continue
            items.append(item)
            if attribute in self.margin or margin_level > item[1]:
                target = max(margin_level, item[1])
                codes, size = hierarchy.lift(item[1], target).astype(np.intp), hierarchy.size(target)
                share = self.share(attribute, item[1]) if attribute in self.margin else np.ones(len(codes))
                possible[item] = Parts(np.where(share > 0, codes, -1), size)
                certain[item] = Parts(np.where(share == 1, codes, -1), size)
        upper = _best(TreeMargins(tree, FrechetUpper(), possible), tuple(items), np.minimum)
        lower = _best(TreeMargins(tree, FrechetLower(), certain), tuple(items), np.maximum)
        most, least = _by_own_values(tree, margin, upper, 1.0), _by_own_values(tree, margin, lower, 0.0)
        for axis, (attribute, level) in enumerate(margin.items()):
            if attribute in self.inside:
                shape = [-1 if place == axis else 1 for place in range(len(margin))]
                most = most * (self.share(attribute, level) > 0).reshape(shape)
        return MarginBounds(np.zeros_like(most) if unknown else least, most, sharp=False)

    def chain_bounds(self) -> CountBounds | None:
        """Sharp bounds by maximum flows; None unless a junction tree has a chain of cliques between what is asked."""
        if self.is_empty:
            return CountBounds(0, 0, sharp=True)
        if not self.source.collection.is_decomposable:
            return None
        tree = self.source.trees[0]
        asked = self._asked(tree)
        between = tree.chain([split.link for split in tree.splits(asked.items)])
        if between is None or self.total > FLOW_LIMIT:
            return None
        chain = [ChainTable(np.rint(tree.cliques[clique].expected).astype(np.int64), *ends) for clique, ends in between]
        cliques = [clique for clique, _ in between]
        upper = most_inside(chain, [_inside(tree, clique, asked.possible) for clique in cliques])
        if asked.unknown:
            return CountBounds(0, upper, sharp=True)
        lower = least_inside(chain, [_inside(tree, clique, asked.certain) for clique in cliques])
        return CountBounds(lower, upper, sharp=True)

    def _programmed(self, outer: CountBounds, seconds: float) -> CountBounds:
        try:
            cells = possible_cells(self._relevant(), PROGRAM_LIMIT)
        except TooManyCellsError:
            return outer
        share = np.ones(len(cells))
        for attribute in self.inside:
            if attribute in cells.margin:
                share *= self.share(attribute, cells.margin[attribute])[cells.codes[attribute]]
            else:
                share *= 0.5
        # Each bound runs two programs, one after the other, and as long again may be left for fitting.
        deadline = self.source.deadline.share(2).earlier(seconds)
        upper = extreme_count(cells, share > 0, 1, inf, deadline=deadline.share(2))
        lower = extreme_count(cells, share == 1, -1, inf, deadline=deadline)
        return CountBounds(
            max(outer.lower, ceil(lower.bound - _WHOLE)),
            min(outer.upper, floor(upper.bound + _WHOLE)),
            lower.attained and upper.attained,
        )

    def _relevant(self) -> Collection:
        """The collection without what cannot matter: in a junction tree, what is neither asked nor separates."""
        collection, domain = self.source.collection, self.source.domain
        if not collection.is_decomposable:
            return collection
        tree = self.source.trees[0]
        relevant = domain.mask(self.margin)
        items = ((domain.index(a), max(level, tree.finest_levels[domain.index(a)])) for a, level in self.margin.items())
        numbers = [split.link for split in tree.splits(tuple(items))]
        between = {clique for number in numbers for clique in tree.links[number].cliques}
        for number in numbers:
            relevant |= tree.tree.separators[number + 1]
        return Collection.of(collection.cube, [tree.tree.cliques[clique] & relevant for clique in between])


def _inside(tree: CalibratedTree, clique: int, parts: Mapping[Item, Parts]) -> BoolArray:
    """The cells of a clique whose values of the items that it holds are in their part."""
    inside = np.ones(len(tree.cliques[clique]), dtype=np.bool_)
    for item, part in parts.items():
        if tree.holders(item) >> clique & 1:
            inside &= part.codes[tree.codes(clique, item)] == 0
    return inside


def _margin_bounds(tree: CalibratedTree, margin: Mapping[str, int]) -> MarginBounds:
    domain = tree.domain
    fine_items = sorted((domain.index(a), level) for a, level in margin.items())
    published = [(i, max(level, tree.finest_levels[i])) for i, level in fine_items]
    items = tuple((i, level) for i, level in published if level < domain.hierarchies[i].height)
    sharp = _is_sharp(tree, items, domain.mask(margin))
    lower = _best(TreeMargins(tree, FrechetLower()), items, np.maximum)
    upper = _best(TreeMargins(tree, FrechetUpper()), items, np.minimum)
    return MarginBounds(_by_own_values(tree, margin, lower, 0.0), _by_own_values(tree, margin, upper, 1.0), sharp)


def _by_own_values(tree: CalibratedTree, margin: Mapping[str, int], counts: FloatArray, refined: float) -> CountArray:
    """Counts by published values as counts by the values of a margin, axes in its order.

    counts: by the values of each attribute at its level in the margin or, if that is coarser, at its finest published one,
    in the domain's order. refined: how much of a published value's count each of the several values under it has.
    """
    domain = tree.domain
    ordered = sorted(margin, key=domain.index)
    levels = [max(margin[a], tree.finest_levels[domain.index(a)]) for a in ordered]
    counts = counts.reshape([domain.hierarchy(a).size(level) for a, level in zip(ordered, levels)])
    for axis, (attribute, level) in enumerate(zip(ordered, levels)):
        if margin[attribute] < level:
            hierarchy = domain.hierarchy(attribute)
            parents = hierarchy.lift(margin[attribute], level)
            alone = np.bincount(parents, minlength=hierarchy.size(level))[parents] == 1
            counts = np.moveaxis(np.moveaxis(counts, axis, -1)[..., parents] * np.where(alone, 1, refined), -1, axis)
    return np.rint(counts).astype(np.int64).transpose([ordered.index(a) for a in margin])


def _best(
    margins: TreeMargins, items: tuple[Item, ...], better: Callable[[FloatArray, FloatArray], FloatArray]
) -> FloatArray:
    """The best of what each separator between the items tells."""
    if not items or margins.tree.home(items) is not None:
        return margins.joint(items)
    return reduce(better, (margins.across(split, items) for split in margins.tree.splits(items)))


def _is_sharp(tree: CalibratedTree, items: tuple[Item, ...], fixed: Mask) -> bool:
    """Whether the bounds are attained: one clique holds all, a separator glues counts, or all separators are fixed."""
    if not items or tree.home(items) is not None:
        return True
    splits = list(tree.splits(items))
    if all(not tree.tree.separators[number + 1] & ~fixed for number, _, _ in splits):
        return True
    return any(
        _is_counted(tree, Side(number, 0), near) and _is_counted(tree, Side(number, 1), apart)
        for number, near, apart in splits
    )


def _is_counted(tree: CalibratedTree, side: Side, items: tuple[Item, ...]) -> bool:
    """Whether rows by separator cell and items beyond follow from the marginal of one clique there.

    A clique is passed through where the next separator shows all that is asked of the clique.
    """
    while True:
        clique = tree.links[side.link].cliques[side.side]
        needed = tree.tree.separators[side.link + 1]
        ways: dict[Side, list[Item]] = {}
        for index, level in items:
            if tree.holders((index, level)) >> clique & 1:
                needed |= tree.domain.mask({tree.domain.attributes[index]: level})
            else:
                ways.setdefault(tree.way(clique, (index, level)), []).append((index, level))
        if not ways:
            return True
        (way, beyond), *others = ways.items()
        if others or needed & ~tree.tree.separators[way.link + 1]:
            return False
        side, items = way, tuple(beyond)
