"""Calibrated trees: clique tables along a junction tree that agree on their separators, with the cells matched once.

The published marginals of a decomposable collection are calibrated as they are; any other collection is calibrated by
fitting. What follows (margins, bounds, samples) touches only the cliques between the attributes that it is about.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

import numpy as np

from models.arrays import CodeArray, FloatArray, IndexArray, read_only, smallest_code_dtype
from models.errors import DomainMismatchError, TooManyCellsError
from models.graphs.junction_tree import Collection, JunctionTree
from models.inference.maximum_entropy import Coupling, Independent, MaximumEntropy, Message
from models.tables.contingency_table import Cells, group, look_up, match, shared_keys
from models.tables.hierarchy import Domain, Margin, vertices_of

if TYPE_CHECKING:
    from models.inference.iterative_fitting import Fit


Item: TypeAlias = tuple[int, int]
"""An attribute, by its place in the domain, at a level."""


@dataclass(frozen=True, eq=False)
class Link:
    """Two neighbouring cliques, child and parent, and the separator cells between them.

    positions: for each of the two cliques the separator cell of each of its cells. rows: the expected rows of each
    separator cell, as each of the two cliques counts them.
    """

    cliques: tuple[int, int]
    positions: tuple[IndexArray, IndexArray]
    rows: tuple[FloatArray, FloatArray]

    def __len__(self) -> int:
        """Number of separator cells."""
        return len(self.rows[0])


class Side(NamedTuple):
    """One side of a link: 0 is the child's, 1 the parent's."""

    link: int
    side: int


class Split(NamedTuple):
    """A link that separates items: those of its child's side, and those that only the parent's side holds."""

    link: int
    near: tuple[Item, ...]
    apart: tuple[Item, ...]


@dataclass(frozen=True, eq=False)
class CalibratedTree:
    """Expected counts over the cliques of a junction tree; parts that are not connected share an empty separator.

    cliques: in the tree's order, over cells that can be occupied. total: rows. Raises DomainMismatchError where the margins
    are not those of the tree.
    """

    tree: JunctionTree
    cliques: tuple[Cells, ...]
    total: float
    _holders: dict[Item, int] = field(default_factory=dict, init=False, repr=False)
    _codes: dict[tuple[int, Item], IndexArray] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        if [dict(cells.margin) for cells in self.cliques] != [dict(margin) for margin in self.tree.margins]:
            raise DomainMismatchError("expected cells and cliques of a calibrated tree have different margins")

    @classmethod
    def of(cls, model: MaximumEntropy) -> "CalibratedTree":
        """The published clique marginals, which need no fitting."""
        return cls(
            model.tree,
            tuple(table.with_counts(table.counts.astype(np.float64)) for table in model.clique_tables),
            float(model.cube.total),
        )

    @classmethod
    def fitted(cls, fit: "Fit", total: float) -> "CalibratedTree":
        """The cliques of a fit, without the cells that it leaves empty."""
        return cls(fit.tree, tuple(cells[cells.counts > 0] for cells in fit.cliques), total)

    @property
    def domain(self) -> Domain:
        """The attributes with their hierarchies."""
        return self.tree.domain

    @cached_property
    def finest_levels(self) -> tuple[int, ...]:
        """For each attribute of the domain the finest level that a clique shows; that of `*` where none does."""
        levels = {attribute: hierarchy.height for attribute, hierarchy in self.domain.items()}
        for cells in self.cliques:
            for attribute, level in cells.margin.items():
                levels[attribute] = min(level, levels[attribute])
        return tuple(levels.values())

    @cached_property
    def links(self) -> tuple[Link, ...]:
        """The links from clique 1 to its parent, from clique 2 to its parent, and so on."""
        return tuple(self._link(child) for child in range(1, len(self.cliques)))

    def _link(self, child: int) -> Link:
        parent = max(self.tree.parents[child], 0)
        margin = self.domain.margin(self.tree.separators[child])
        (inner, radices), (outer, _) = (self.cliques[clique].columns(margin) for clique in (child, parent))
        sizes = (len(self.cliques[child]), len(self.cliques[parent]))
        keys = np.concatenate(shared_keys(inner, outer, radices, sizes)).astype(np.int64, copy=False)
        first, numbers = group(keys, int(keys.max(initial=0)) + 1)
        positions = (read_only(numbers[: sizes[0]]), read_only(numbers[sizes[0] :]))
        rows = [
            np.bincount(places, self.cliques[clique].counts, minlength=len(first))
            for places, clique in zip(positions, (child, parent))
        ]
        return Link((child, parent), positions, (read_only(rows[0]), read_only(rows[1])))

    @cached_property
    def cell_count(self) -> int:
        """Number of cells over all published attributes at their finest levels that can be occupied."""
        ways = [np.ones(len(cells)) for cells in self.cliques]
        for link in reversed(self.links):
            child, parent = link.cliques
            ways[parent] *= np.bincount(link.positions[0], ways[child], minlength=len(link))[link.positions[1]]
        return int(ways[0].sum()) if ways else 1

    @cached_property
    def _below(self) -> tuple[int, ...]:
        """For each link, as bits, the cliques on the child's side of it."""
        below = [1 << clique for clique in range(len(self.cliques))]
        for link in reversed(self.links):
            child, parent = link.cliques
            below[parent] |= below[child]
        return tuple(below[1:])

    @cached_property
    def _smallest_first(self) -> tuple[tuple[int, int], ...]:
        """The links, fewest separator cells first, each with the cliques on the child's side of it as bits."""
        return tuple(sorted(enumerate(self._below), key=lambda link: len(self.links[link[0]])))

    def _beyond(self, side: Side) -> int:
        below = self._below[side.link]
        return below if side.side == 0 else ((1 << len(self.cliques)) - 1) & ~below

    @cached_property
    def _sides_of(self) -> tuple[tuple[tuple[Side, int], ...], ...]:
        """For each clique its links, as the sides that lie beyond, each with the cliques there as bits."""
        around: list[list[tuple[Side, int]]] = [[] for _ in self.cliques]
        for number, link in enumerate(self.links):
            for side in (0, 1):
                beyond = Side(number, side)
                around[link.cliques[1 - side]].append((beyond, self._beyond(beyond)))
        return tuple(map(tuple, around))

    def holders(self, item: Item) -> int:
        """The cliques that show an attribute at a level or finer, as bits."""
        holders = self._holders.get(item)
        if holders is None:
            attribute = self.domain.attributes[item[0]]
            bits = (
                1 << clique
                for clique, cells in enumerate(self.cliques)
                if attribute in cells.margin and cells.margin[attribute] <= item[1]
            )
            holders = self._holders[item] = sum(bits)
        return holders

    def home(self, items: tuple[Item, ...]) -> int | None:
        """The clique with the fewest cells among those that hold all the items, if any does."""
        common = (1 << len(self.cliques)) - 1
        for item in items:
            common &= self.holders(item)
        return min(vertices_of(common), key=lambda clique: len(self.cliques[clique]), default=None)

    def way(self, clique: int, item: Item) -> Side:
        """The side on which the holders of an item lie, seen from a clique that does not hold it."""
        holders = self.holders(item)
        return next(side for side, beyond in self._sides_of[clique] if beyond & holders)

    def splits(self, items: tuple[Item, ...]) -> Iterator[Split]:
        """The links that separate items, fewest separator cells first; there is one where no clique holds all."""
        holders = [self.holders(item) for item in items]
        for number, below in self._smallest_first:
            apart = tuple([item for item, holder in zip(items, holders) if not holder & below])
            if apart and not all(holder & ~below for holder in holders):
                yield Split(number, tuple([item for item in items if item not in apart]), apart)

    def chain(self, links: Sequence[int]) -> list[tuple[int, tuple[IndexArray, IndexArray]]] | None:
        """The cliques that connected links join, from one end to the other; None where they branch, or there is no link.

        With each its cells' places in the separators behind and ahead; at the ends of the chain 0 for every cell.
        """
        around: dict[int, list[int]] = {}
        for number in links:
            for clique in self.links[number].cliques:
                around.setdefault(clique, []).append(number)
        if not around or any(len(numbers) > 2 for numbers in around.values()):
            return None
        clique = min(clique for clique, numbers in around.items() if len(numbers) == 1)
        behind: IndexArray = np.zeros(len(self.cliques[clique]), dtype=np.intp)
        came_through = -1
        chain = []
        while True:
            onward = [number for number in around[clique] if number != came_through]
            if not onward:
                chain.append((clique, (behind, np.zeros(len(behind), dtype=np.intp))))
                return chain
            link = self.links[onward[0]]
            side = link.cliques.index(clique)
            chain.append((clique, (behind, link.positions[side])))
            behind, clique, came_through = link.positions[1 - side], link.cliques[1 - side], onward[0]

    def codes(self, clique: int, item: Item) -> IndexArray:
        """The codes of a held item in each cell of a clique."""
        codes = self._codes.get((clique, item))
        if codes is None:
            attribute, cells = self.domain.attributes[item[0]], self.cliques[clique]
            lift = self.domain.hierarchies[item[0]].lift(cells.margin[attribute], item[1])
            codes = self._codes[clique, item] = read_only(lift[cells.column(attribute)].astype(np.intp))
        return codes


# Sampling: independent rows of the maximum-entropy distribution, clique by clique down the junction tree.
#
# A row's cell in a clique is drawn among those that its separator cell leaves, by the alias method (Walker 1977; Vose
# 1991), so that a draw costs the same however many cells there are.


_ROWS_AT_ONCE = 1 << 15
"""Rows drawn at a time: as many as the cache of a processor holds."""


@dataclass(frozen=True, eq=False)
class AliasTable:
    """Cells in groups, each drawn in proportion to its weight within its group.

    first, sizes: shape (groups,), where the slots of a group begin and how many they are. keep: shape (slots,), the
    probability that a slot stands for its own cell. cells: shape (2, slots), its own cell and the other one.
    """

    first: IndexArray
    sizes: FloatArray
    keep: FloatArray
    cells: IndexArray

    @classmethod
    def of(cls, weights: FloatArray, groups: IndexArray, group_count: int) -> "AliasTable":
        """From positive weights of cells in any order. O(cells)."""
        order = np.argsort(groups, kind="stable")
        sizes = np.bincount(groups, minlength=group_count)
        first = np.cumsum(sizes) - sizes
        totals = np.bincount(groups, weights, minlength=group_count)
        shares = (weights * sizes[groups] / totals[groups])[order]
        keep, other = shares.tolist(), list(range(len(order)))
        for start, size in zip(first.tolist(), sizes.tolist()):
            _pair(keep, other, range(start, start + size))
        return cls(first, sizes.astype(np.float64), np.array(keep), np.stack([order, order[other]]))

    def draw(self, groups: IndexArray, uniform: FloatArray) -> IndexArray:
        """A cell for each group in `groups`. uniform: numbers in [0, 1), shape (n,), which are overwritten."""
        uniform *= self.sizes[groups]
        slots = uniform.astype(np.intp)
        uniform -= slots
        slots += self.first[groups]
        return np.asarray(self.cells[(uniform >= self.keep[slots]).view(np.int8), slots])


def _pair(keep: list[float], other: list[int], slots: range) -> None:
    """Fill up each slot that keeps less than 1 with the cell of one that keeps more (Vose 1991)."""
    small = [slot for slot in slots if keep[slot] < 1]
    large = [slot for slot in slots if keep[slot] >= 1]
    while small and large:
        slot, giver = small.pop(), large[-1]
        other[slot] = giver
        keep[giver] -= 1 - keep[slot]
        if keep[giver] < 1:
            small.append(large.pop())
    # What is left keeps 1 but for rounding.
    for slot in (*small, *large):
        keep[slot] = 1.0


class DrawsRows(Protocol):
    """What draws rows that are like those of a table."""

    def draw(self, rows: int, rng: "np.random.Generator") -> dict[str, CodeArray]:
        """Independent rows: for each published attribute its codes at its finest published level, shape (rows,)."""


@dataclass(frozen=True, eq=False)
class Sampler:
    """Draws rows from a calibrated tree."""

    tree: CalibratedTree

    @cached_property
    def _tables(self) -> tuple[AliasTable, ...]:
        root = [AliasTable.of(c.counts, np.zeros(len(c), dtype=np.intp), 1) for c in self.tree.cliques[:1]]
        rest = (
            AliasTable.of(self.tree.cliques[link.cliques[0]].counts, link.positions[0], len(link))
            for link in self.tree.links
        )
        return (*root, *rest)

    @cached_property
    def _shown(self) -> tuple[tuple[tuple[str, CodeArray], ...], ...]:
        """For each clique the attributes that it is the first to show at their finest levels, with their codes."""
        levels = dict(zip(self.tree.domain.attributes, self.tree.finest_levels))
        by_clique: list[tuple[tuple[str, CodeArray], ...]] = []
        for cells in self.tree.cliques:
            new = [a for a, level in cells.margin.items() if levels.get(a) == level]
            by_clique.append(tuple((a, cells.column(a)) for a in new))
            levels = {a: level for a, level in levels.items() if a not in new}
        return tuple(by_clique)

    def draw(self, rows: int, rng: "np.random.Generator") -> dict[str, CodeArray]:
        """Independent rows: for each published attribute its codes at its finest published level, shape (rows,).

        Raises DomainMismatchError where there is no row to be like.
        """
        if rows and not self.tree.total:
            raise DomainMismatchError("marginals of no rows at all have no distribution to draw from")
        drawn = {
            a: np.empty(rows, dtype=smallest_code_dtype(self.tree.domain.hierarchy(a).size(level)))
            for a, level in zip(self.tree.domain.attributes, self.tree.finest_levels)
            if level < self.tree.domain.hierarchy(a).height
        }
        for start in range(0, rows, _ROWS_AT_ONCE):
            stop = min(start + _ROWS_AT_ONCE, rows)
            for clique, cells in enumerate(self._cells(stop - start, rng)):
                for attribute, codes in self._shown[clique]:
                    drawn[attribute][start:stop] = codes[cells]
        return drawn

    def _cells(self, rows: int, rng: "np.random.Generator") -> Iterator[IndexArray]:
        """The drawn cells of each clique, in the tree's order."""
        drawn: list[IndexArray] = []
        for clique, table in enumerate(self._tables):
            if clique:
                link = self.tree.links[clique - 1]
                groups = link.positions[1][drawn[link.cliques[1]]]
            else:
                groups = np.zeros(rows, dtype=np.intp)
            drawn.append(table.draw(groups, rng.random(rows)))
            yield drawn[-1]


def drawn_leaves(
    domain: Domain, levels: Mapping[str, int], codes: Mapping[str, CodeArray], rows: int, rng: "np.random.Generator"
) -> dict[str, CodeArray]:
    """Base codes of rows, each drawn evenly among the base values under the row's value.

    levels: of the given codes. Attributes without codes are drawn among all their base values.
    """
    drawn: dict[str, CodeArray] = {}
    for attribute, hierarchy in domain.items():
        level = levels[attribute] if attribute in codes else hierarchy.height
        if level == 0 and attribute in codes:
            drawn[attribute] = codes[attribute]
            continue
        leaves = np.argsort(hierarchy.lift(0, level), kind="stable").astype(smallest_code_dtype(hierarchy.size(0)))
        counts = hierarchy.leaf_counts(level)
        first = np.cumsum(counts) - counts
        values = codes.get(attribute, np.zeros(rows, dtype=np.intp))
        drawn[attribute] = leaves[first[values] + (rng.random(rows) * counts[values]).astype(np.intp)]
    return drawn


# Margins of a calibrated tree: a separator between the attributes asked for, and what lies on either side of it.
#
# What lies beyond a separator is computed once and kept; most margins then are one product of two small matrices.


CELL_LIMIT = 1 << 24
"""Cells, empty ones included, that a margin may have."""

_Beyond: TypeAlias = tuple[Side, tuple[Item, ...]]
"""A side of a separator, and what is asked of the tree there."""

_KEPT_BYTES = 1 << 27
"""Memory of the cache; it is cleared when full."""


@dataclass(eq=False)
class MarginCache:
    """Bounded cache of margins; cleared when full."""

    arrays: dict[object, FloatArray] = field(default_factory=dict)
    size: int = 0

    def keep(self, key: object, array: FloatArray) -> FloatArray:
        """Keep an array, now read-only, and return it."""
        self.size += array.nbytes
        if self.size > _KEPT_BYTES:
            self.arrays.clear()
            self.size = array.nbytes
        self.arrays[key] = read_only(array)
        return self.arrays[key]


@dataclass(frozen=True, eq=False)
class Parts:
    """Values of an attribute at a level sorted into parts: codes, shape (size(level),), -1 for none."""

    codes: IndexArray
    count: int


@dataclass(frozen=True, eq=False)
class TreeMargins:
    """Margins over items that some clique shows, by one coupling.

    parts: for some items the parts that their values are sorted into; margins show the other items value by value.
    """

    tree: CalibratedTree
    coupling: Coupling
    parts: Mapping[Item, Parts] = field(default_factory=dict)
    _kept: MarginCache = field(default_factory=MarginCache)
    _sizes: dict[Item, int] = field(default_factory=dict)

    def size(self, item: Item) -> int:
        """Number of values, or parts, of an item."""
        size = self._sizes.get(item)
        if size is None:
            part = self.parts.get(item)
            whole = self.tree.domain.hierarchies[item[0]].size(item[1])
            size = self._sizes[item] = whole if part is None else part.count
        return size

    def shape(self, items: tuple[Item, ...]) -> tuple[int, ...]:
        """One length for each item. Raises TooManyCellsError when they span more than CELL_LIMIT cells."""
        shape = tuple(map(self.size, items))
        if prod(shape) > CELL_LIMIT:
            raise TooManyCellsError(f"a margin of {prod(shape)} cells is more than the {CELL_LIMIT} that are laid out")
        return shape

    def joint(self, items: tuple[Item, ...]) -> FloatArray:
        """Rows by the values of all items, one axis each; read-only."""
        cached = self._kept.arrays.get(items)
        return self._kept.keep(items, self._joint(items)) if cached is None else cached

    def _joint(self, items: tuple[Item, ...]) -> FloatArray:
        shape = self.shape(items)
        home = self.tree.home(items) if items else None
        if not items:
            return np.array(self.tree.total)
        if home is not None:
            return self._through(home, None, items, {}).reshape(shape)
        return self.across(next(self.tree.splits(items)), items)

    def across(self, split: Split, items: tuple[Item, ...]) -> FloatArray:
        """The joint as one of the separators between the items sees it."""
        number, near, apart = split
        link = self.tree.links[number]
        one, other = self.beyond(Side(number, 0), near), self.beyond(Side(number, 1), apart)
        return self._ordered(self.coupling.meet(one, other, link.rows[0]), (*near, *apart), items)

    def beyond(self, side: Side, items: tuple[Item, ...]) -> FloatArray:
        """Rows by separator cell and by the values of items that lie beyond: shape (separator cells, values)."""
        return self._worked_out([(side, items)])[side, items]

    def _worked_out(self, questions: Iterable[_Beyond]) -> dict[_Beyond, FloatArray]:
        """What lies beyond some sides, those farther off first: trees may be deeper than Python can recurse."""
        answers: dict[_Beyond, FloatArray] = {}
        questions = list(questions)
        waiting = list(questions)
        while waiting:
            question = waiting[-1]
            if question not in answers and (cached := self._kept.arrays.get(question)) is not None:
                answers[question] = cached
            if question in answers:
                waiting.pop()
                continue
            side, items = question
            clique = self.tree.links[side.link].cliques[side.side]
            needed = self._ways(clique, items)
            if missing := [way for way in needed if way not in answers]:
                waiting.extend(missing)
                continue
            messages = {way: answers[way] if way in questions else answers.pop(way) for way in needed}
            answers[question] = self._kept.keep(question, self._through(clique, side, items, messages))
        return answers

    def _ways(self, clique: int, items: tuple[Item, ...]) -> list[_Beyond]:
        """The sides on which lie the items that a clique does not hold, each with its items."""
        ways: dict[Side, list[Item]] = {}
        for item in items:
            if not self.tree.holders(item) >> clique & 1:
                ways.setdefault(self.tree.way(clique, item), []).append(item)
        return [(side, tuple(beyond)) for side, beyond in ways.items()]

    def _through(
        self, clique: int, back: Side | None, items: tuple[Item, ...], beyond: Mapping[_Beyond, FloatArray]
    ) -> FloatArray:
        """Rows by the cell of the separator behind a clique (none: one row of all) and by the values of items.

        beyond: what lies on each of the clique's ways to items that it does not hold.
        """
        clique_items = [item for item in items if self.tree.holders(item) >> clique & 1]
        apart = [item for _, others in beyond for item in others]
        messages = [self._message(side, counts) for (side, _), counts in beyond.items()]
        counts = self.tree.cliques[clique].counts
        keys: IndexArray = np.zeros(len(counts), dtype=np.intp)
        cells = 1
        if back is not None:
            link = self.tree.links[back.link]
            keys, cells = link.positions[back.side], len(link)
        size = cells * prod(self.shape(tuple(clique_items)))
        if size * prod(self.shape(tuple(apart))) > CELL_LIMIT:
            raise TooManyCellsError(f"on the way there are more than the {CELL_LIMIT} cells that are laid out")
        for item in clique_items:
            codes = self.tree.codes(clique, item)
            if (parts := self.parts.get(item)) is not None:
                codes = parts.codes[codes]
                counts, codes = np.where(codes < 0, 0.0, counts), np.maximum(codes, 0)
            keys = keys * self.size(item) + codes
        counted = self.coupling.through(counts, keys, size, messages)
        order = (*clique_items, *apart)
        lengths = [self.size(item) for item in order]
        if order == items:
            return counted.reshape(cells, prod(lengths))
        axes = [0, *(order.index(item) + 1 for item in items)]
        return np.ascontiguousarray(counted.reshape(cells, *lengths).transpose(axes)).reshape(cells, prod(lengths))

    def _message(self, side: Side, counts: FloatArray) -> Message:
        link = self.tree.links[side.link]
        return Message(counts, link.rows[side.side], link.positions[1 - side.side])

    def _ordered(self, counts: FloatArray, order: tuple[Item, ...], items: tuple[Item, ...]) -> FloatArray:
        shaped = counts.reshape([self.size(item) for item in order])
        return shaped if order == items else shaped.transpose([order.index(item) for item in items])


def proportional(tree: CalibratedTree) -> TreeMargins:
    """The margins of the maximum-entropy distribution."""
    return TreeMargins(tree, Independent())


def expected_counts(margins: TreeMargins, margin: Mapping[str, int]) -> FloatArray:
    """Expected counts over any margin, published or not: one axis an attribute, in the order given; read-only.

    Values below the finest published level share their parent's expected count equally. Raises DomainMismatchError for
    an unknown attribute or level, TooManyCellsError for a margin too large to be laid out.
    """
    key = tuple(margin.items())
    cached = margins._kept.arrays.get(key)
    return margins._kept.keep(key, _expected_counts(margins, margin)) if cached is None else cached


def _expected_counts(margins: TreeMargins, margin: Mapping[str, int]) -> FloatArray:
    tree = margins.tree
    domain = tree.domain
    domain.mask(margin)
    if prod(shape := [domain.hierarchy(a).size(level) for a, level in margin.items()]) > CELL_LIMIT:
        raise TooManyCellsError(f"a margin of {prod(shape)} cells is more than the {CELL_LIMIT} that are laid out")
    fine_items = sorted((domain.index(a), level) for a, level in margin.items())
    published = [(i, max(level, tree.finest_levels[i])) for i, level in fine_items]
    items = tuple((i, level) for i, level in published if level < domain.hierarchies[i].height)
    counts = margins.joint(items).reshape([domain.hierarchies[i].size(level) for i, level in published])
    for axis, ((i, fine), (_, level)) in enumerate(zip(fine_items, published)):
        if fine < level:
            hierarchy = domain.hierarchies[i]
            parents = hierarchy.lift(fine, level)
            shares = hierarchy.leaf_counts(fine) / hierarchy.leaf_counts(level)[parents]
            counts = np.moveaxis(np.moveaxis(counts, axis, -1)[..., parents] * shares, -1, axis)
    order = [i for i, _ in fine_items]
    return counts.transpose([order.index(domain.index(a)) for a in margin]) if len(margin) > 1 else counts


# Sparse margins of a maximum-entropy distribution: only the cells that can be occupied, joined along the tree.
#
# For margins with too many cells to be laid out, as those above are.


def expected_marginal(q: MaximumEntropy, margin: Mapping[str, int]) -> Cells:
    """Expected counts over any margin, published or not, without the cells of expected count 0.

    Values below the finest published level share their parent's expected count equally. Raises DomainMismatchError for an
    unknown attribute or level.
    """
    domain = q.domain
    target = domain.margin(domain.mask(margin))
    published = {a: max(level, q.collection.finest_level(a)) for a, level in target.items()}
    upward: dict[int, Cells] = {}
    result = Cells(domain, Margin({}), (), np.array([float(q.cube.total)]))
    for clique in reversed(range(len(q.tree.cliques))):
        separator = q.separator_tables[clique]
        cells: Cells = q.clique_tables[clique]
        for child in q.tree.children[clique]:
            cells = cells * upward.pop(child) / q.separator_tables[child]
        cells = cells.rolled_up(_finest(cells.margin, (published, separator.margin)))
        if q.tree.parents[clique] < 0:
            result = result * cells / separator
        else:
            upward[clique] = cells
    for attribute, level in target.items():
        result = result.refined(attribute, level)
    cells = result.rolled_up(target)
    return cells[cells.counts > 0]


def _finest(margin: Mapping[str, int], needed: Sequence[Mapping[str, int]]) -> dict[str, int]:
    """The coarsest margin below a given one from which all that is needed can be summed, as far as from the given one."""
    levels = {}
    for attribute, level in margin.items():
        if others := [other[attribute] for other in needed if attribute in other]:
            levels[attribute] = max(level, min(others))
    return levels


# Expectations of products of one weight for each attribute, by messages from the leaves of a calibrated tree to its
# root.
#
# `expectation` is over all rows; `CellExpectations` over the rows of each of many cells that fix the same attributes,
# which pass their messages together. The joint distribution is never laid out.


Factor = Callable[[IndexArray, CodeArray], FloatArray]
"""Weights of an attribute's values: (numbers of cells, codes at its finest published level) to weights, shape (n,)."""

_WEIGHTS_AT_ONCE = 4096
"""Cells whose messages are passed together, which bounds the memory."""


def expectation(tree: CalibratedTree, weights: Mapping[str, FloatArray]) -> float:
    """Expected sum over the rows of prod_B w_B(x_B), in rows; the expected count of a box for 0/1 weights.

    weights: for some attributes a weight for each base value, shape (size(0),); 1 for the other attributes. Only the
    cliques between these attributes are looked at. Raises DomainMismatchError for weights of another shape.
    """
    mass: dict[int, FloatArray] = {}
    mean = 1.0
    for attribute, weight in weights.items():
        index = tree.domain.index(attribute)
        hierarchy, level = tree.domain.hierarchies[index], tree.finest_levels[index]
        if np.shape(weight) != (hierarchy.size(0),):
            raise DomainMismatchError(f"weights of {attribute!r} must have one entry for each base value")
        sums = np.bincount(hierarchy.lift(0, level), weight, minlength=hierarchy.size(level))
        means = sums / hierarchy.leaf_counts(level)
        clique = tree.home(((index, level),))
        if clique is None or level == hierarchy.height:
            mean *= float(means[0])
        else:
            clique_means = means[tree.codes(clique, (index, level))]
            mass[clique] = mass.get(clique, tree.cliques[clique].counts) * clique_means
    if not mass:
        return mean * tree.total
    for link in reversed(tree.links):
        child, parent = link.cliques
        if child in mass and (len(mass) > 1 or parent in mass):
            message = np.bincount(link.positions[0], mass.pop(child), minlength=len(link))
            shares = message / np.where(link.rows[0] > 0, link.rows[0], 1)
            mass[parent] = mass.get(parent, tree.cliques[parent].counts) * shares[link.positions[1]]
    (last,) = mass.values()
    return mean * float(last.sum())


@dataclass(frozen=True, eq=False)
class CellExpectations:
    """Expectations over the rows of given cells.

    power: to which the expected count of each full cell (all attributes at their finest published levels) is raised.
    """

    tree: CalibratedTree
    power: int = 1

    @classmethod
    def of(cls, collection: Collection) -> "CellExpectations":
        """Of the maxent distribution of a collection: its marginals where it is decomposable, else fitted to them.

        Raises TooManyCellsError where fitting would be too large.
        """
        if collection.is_decomposable:
            return cls(CalibratedTree.of(MaximumEntropy(collection)))
        from models.inference.iterative_fitting import iterative_fit  # slow to import, and few need it

        return cls(CalibratedTree.fitted(iterative_fit(collection), float(collection.cube.total)))

    @property
    def domain(self) -> Domain:
        """The domain of the distribution."""
        return self.tree.domain

    @property
    def levels(self) -> dict[str, int]:
        """The finest published level of each published attribute."""
        levels = zip(self.domain.items(), self.tree.finest_levels)
        return {attribute: level for (attribute, hierarchy), level in levels if level < hierarchy.height}

    def expected_counts(
        self,
        levels: Mapping[str, int],
        codes: Mapping[str, CodeArray],
        length: int,
        factors: Mapping[str, Factor] | None = None,
    ) -> FloatArray:
        """For each cell the expected sum over its rows of the product of the factors; without any, its expected count.

        With another power, the sum over the full cells under it of their powers times the factors.
        levels: of the attributes that a cell fixes, none finer than published. codes: theirs, shape (length,) each.
        factors: for published attributes. Shape (length,). Raises DomainMismatchError for a level finer than published.
        """
        finest = self.levels
        fixed = {a: level for a, level in levels.items() if level < self.domain.hierarchy(a).height}
        for attribute, level in fixed.items():
            if attribute not in finest or level < finest[attribute]:
                raise DomainMismatchError(f"{attribute!r} is not published at level {level}")
        sums = np.zeros(length)
        for start in range(0, length, _WEIGHTS_AT_ONCE):
            block = np.arange(start, min(start + _WEIGHTS_AT_ONCE, length))
            cells = Cells.of(self.domain, fixed, {a: codes[a][block] for a in fixed}, np.ones(len(block)))
            sums[block] = self._block(cells, block, dict(factors or {}))
        return sums

    def _block(self, cells: Cells, block: IndexArray, factors: dict[str, Factor]) -> FloatArray:
        """block: the numbers of the cells, which factors are asked by."""
        finest, total = self.levels, max(self.tree.total, 1.0) ** self.power
        mean = np.ones(len(cells))
        messages: dict[int, _Message] = {}
        for clique in reversed(range(len(self.tree.cliques))):
            clique_mask = self.tree.cliques[clique]
            cell, place = match(*cells.keys_with(clique_mask))
            mass = clique_mask.counts[place] ** self.power
            for attribute, level in clique_mask.margin.items():
                if attribute in factors and level == finest[attribute]:
                    factor = factors.pop(attribute)
                    mass = _times(mass, factor(block[cell], clique_mask.column(attribute)[place]))
            for child in self.tree.tree.children[clique]:
                mass = _times(mass, messages.pop(child).at(cell, place))
            if self.tree.tree.parents[clique] < 0:
                mean = _times(mean, np.bincount(cell, mass, minlength=len(cells)) / total)
            else:
                link = self.tree.links[clique - 1]
                messages[clique] = _Message.of(link, cell, link.positions[0][place], mass, self.power)
        return total * mean


@dataclass(frozen=True, eq=False)
class _Message:
    """For pairs of a given cell and a separator cell, as ascending keys, the conditional expectation beyond."""

    link: Link
    keys: IndexArray
    values: FloatArray

    @classmethod
    def of(cls, link: Link, cell: IndexArray, inner: IndexArray, mass: FloatArray, power: int) -> "_Message":
        """From pairs of a given cell and a cell of the child's clique. inner: the separator cell of each."""
        keys, at = np.unique(cell * len(link) + inner, return_inverse=True)
        expected = link.rows[0][keys % max(len(link), 1)] ** power
        sums = np.bincount(at, mass, minlength=len(keys))
        return cls(link, keys, np.divide(sums, expected, out=np.zeros(len(keys)), where=expected > 0))

    def at(self, cell: IndexArray, place: IndexArray) -> FloatArray:
        """The message to cells of the parent; 0 where the child's clique holds nothing that agrees."""
        places, is_present = look_up(cell * len(self.link) + self.link.positions[1][place], self.keys)
        if not len(self.keys):
            return np.zeros(len(cell))
        return np.where(is_present, self.values[places], 0.0)


def _times(one: FloatArray, other: FloatArray) -> FloatArray:
    """The product where 0 times infinity is 0."""
    with np.errstate(invalid="ignore"):
        return np.where((one == 0) | (other == 0), 0.0, one * other)
