"""Calibrated trees: clique tables along a junction tree that agree on their separators, with the cells matched once.

The published marginals of a decomposable collection are calibrated as they are; any other collection is calibrated by
fitting. What follows (margins, bounds, samples) touches only the cliques between the attributes that it is about.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from models.arrays import CodeArray, FloatArray, IndexArray, read_only, smallest_code_dtype
from models.errors import DomainMismatchError, TooManyCellsError
from models.graphs.junction_tree import Collection, JunctionTree, collapsed
from models.tables.contingency_table import Cells, group, look_up, match, pack, shared_keys
from models.tables.hierarchy import Domain, vertices_of

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
    _codes: dict[tuple[int, Item], IndexArray] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        if [dict(cells.margin) for cells in self.cliques] != [dict(margin) for margin in self.tree.margins]:
            raise DomainMismatchError("expected cells and cliques of a calibrated tree have different margins")

    @classmethod
    def of(cls, collection: Collection) -> "CalibratedTree":
        """The published clique marginals, which need no fitting. Raises NotDecomposableError for other collections."""
        tree, cube = collection.junction_tree, collection.cube
        return cls(tree, tuple(map(cube.table, tree.cliques)), float(cube.total))

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

    @cached_property
    def _holders(self) -> dict[Item, int]:
        holders: dict[Item, int] = {}
        for clique, cells in enumerate(self.cliques):
            for attribute, level in cells.margin.items():
                for coarser in range(level, self.domain.hierarchy(attribute).height + 1):
                    item = (self.domain.index(attribute), coarser)
                    holders[item] = holders.get(item, 0) | 1 << clique
        return holders

    def holders(self, item: Item) -> int:
        """The cliques that show an attribute at a level or finer, as bits."""
        return self._holders.get(item, 0)

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


@dataclass(frozen=True, eq=False)
class Sampler:
    """Draws rows from a calibrated tree."""

    tree: CalibratedTree

    @cached_property
    def _tables(self) -> tuple[AliasTable, ...]:
        root = [AliasTable.of(c.counts, np.zeros(len(c.counts), dtype=np.intp), 1) for c in self.tree.cliques[:1]]
        rest = (
            AliasTable.of(self.tree.cliques[link.cliques[0]].counts, link.positions[0], len(link))
            for link in self.tree.links
        )
        return (*root, *rest)

    def draw(self, rows: int, rng: "np.random.Generator") -> dict[str, CodeArray]:
        """Independent rows: for each published attribute its codes at its finest published level, shape (rows,).

        Raises DomainMismatchError where there is no row to be like.
        """
        tree = self.tree
        if rows and not tree.total:
            raise DomainMismatchError("marginals of no rows at all have no distribution to draw from")
        drawn: dict[str, CodeArray] = {}
        shown = []
        for index, (attribute, level) in enumerate(zip(tree.domain.attributes, tree.finest_levels)):
            if holders := tree.holders((index, level)) * (level < tree.domain.hierarchies[index].height):
                clique = next(vertices_of(holders))
                shown.append((attribute, clique, tree.cliques[clique].column(attribute)))
                drawn[attribute] = np.empty(rows, smallest_code_dtype(tree.domain.hierarchies[index].size(level)))
        for start in range(0, rows, _ROWS_AT_ONCE):
            stop = min(start + _ROWS_AT_ONCE, rows)
            cells: list[IndexArray] = []
            for clique, table in enumerate(self._tables):
                groups: IndexArray = np.zeros(stop - start, dtype=np.intp)
                if clique:
                    link = tree.links[clique - 1]
                    groups = link.positions[1][cells[link.cliques[1]]]
                cells.append(table.draw(groups, rng.random(stop - start)))
            for attribute, clique, codes in shown:
                drawn[attribute][start:stop] = codes[cells[clique]]
        return drawn


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


# Couplings: how many rows two tables that agree on a separator put into a cell of their join.
#
# Only the separator says which row of one table is which row of the other. In the maximum-entropy distribution they
# meet in proportion; the most and the least of them that can meet are Frechet's bounds, separator cell by separator
# cell.


Coupling = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
"""Rows of one table, rows of another and rows of their separator cell to the rows that meet; the arrays broadcast."""

Message: TypeAlias = tuple[FloatArray, FloatArray, IndexArray]
"""Rows beyond a separator by its cell and by the values asked for there; rows of each separator cell; the separator cell of
each cell of the clique before it."""

_BLOCK = 1 << 20
"""Entries of an array that is laid out at a time."""


def in_proportion(one: FloatArray, other: FloatArray, rows: FloatArray) -> FloatArray:
    """Rows that meet in the maximum-entropy distribution."""
    return np.asarray(one * (other / np.where(rows > 0, rows, 1)))


def at_most(one: FloatArray, other: FloatArray, _rows: FloatArray) -> FloatArray:
    """Rows that can meet."""
    return np.asarray(np.minimum(one, other))


def at_least(one: FloatArray, other: FloatArray, rows: FloatArray) -> FloatArray:
    """Rows that must meet."""
    return np.asarray(np.maximum(one + other - rows, 0))


_ONE_THREAD = 1 << 18
"""Multiplications that OpenBLAS does in one thread; with a busy core two threads take up to forty times as long."""


def _product(one: FloatArray, other: FloatArray) -> FloatArray:
    """Matrix product, by a few rows at a time in one thread unless these are too few to be worth it."""
    step = _ONE_THREAD // max(other.size, 1)
    if step < 4:
        return np.asarray(one @ other)
    product = np.empty((len(one), other.shape[1]))
    for start in range(0, len(one), step):
        np.matmul(one[start : start + step], other, out=product[start : start + step])
    return product


def _meet(coupling: Coupling, near: FloatArray, far: FloatArray, rows: FloatArray) -> FloatArray:
    """Sum over a separator: shapes (separator cells, n) and (separator cells, m) to (n, m)."""
    if coupling is in_proportion:
        return _product((near / np.where(rows > 0, rows, 1)[:, None]).T, far)
    met = np.zeros((near.shape[1], far.shape[1]))
    step = max(_BLOCK // max(met.size, 1), 1)
    for start in range(0, len(rows), step):
        block = slice(start, start + step)
        met += coupling(near[block, :, None], far[block, None, :], rows[block, None, None]).sum(axis=0)
    return met


def _through(
    coupling: Coupling, counts: FloatArray, keys: IndexArray, size: int, messages: Sequence[Message]
) -> FloatArray:
    """Rows of a clique by key and by the values that all messages are about: shape (size, values).

    counts, keys: one for each cell of the clique, keys below `size`. Cells with the same key that no message tells apart
    count as one.
    """
    if not messages:
        return np.asarray(np.bincount(keys, counts, minlength=size).reshape(size, 1), dtype=np.float64)
    if coupling is in_proportion and len(messages) == 1:
        ((beyond, rows, places),) = messages
        shares, cells = beyond / np.where(rows > 0, rows, 1)[:, None], len(rows)
        if size * cells <= _BLOCK:
            table = np.bincount(keys * cells + places, counts, size * cells).astype(np.float64, copy=False)
            return _product(table.reshape(size, cells), shares)
        from scipy.sparse import csr_array  # slow to import, and few need it

        return np.asarray(csr_array((counts, (keys, places)), shape=(size, cells)) @ shares)
    radices = [size, *(len(rows) for _, rows, _ in messages)]
    first, numbers = group(*pack([keys, *(places for _, _, places in messages)], radices, len(counts)))
    counts = np.bincount(numbers, counts, minlength=len(first)).astype(np.float64)
    width = prod(beyond.shape[1] for beyond, _, _ in messages)
    sums = np.zeros(size * width)
    step = max(_BLOCK // max(width, 1), 1)
    for start in range(0, len(first), step):
        cells_at = first[start : start + step]
        joined = counts[start : start + step, None]
        for beyond, rows, places in messages:
            at = places[cells_at]
            joined = coupling(joined[:, :, None], beyond[at][:, None, :], rows[at][:, None, None])
            joined = joined.reshape(len(cells_at), -1)
        targets = keys[cells_at, None] * width + np.arange(width)
        sums += np.bincount(targets.ravel(), joined.ravel(), size * width)
    return sums.reshape(size, width)


# Margins of a calibrated tree: a separator between the attributes asked for, and what lies on either side of it.
#
# What lies beyond a separator is computed once and kept; most margins then are one product of two small matrices.


CELL_LIMIT = 1 << 24
"""Cells, empty ones included, that a margin may have."""

_Beyond: TypeAlias = tuple[Side, tuple[Item, ...]]
"""A side of a separator, and the items that are asked for there."""

_KEPT_BYTES = 1 << 27
"""Memory of the cache; it is cleared when full."""


class _Cache(dict[object, FloatArray]):
    """Margins that were computed, as far as there is memory for them."""

    size = 0

    def keep(self, key: object, array: FloatArray) -> FloatArray:
        """Return the array, now read-only."""
        self.size += array.nbytes
        if self.size > _KEPT_BYTES:
            self.clear()
            self.size = array.nbytes
        self[key] = read_only(array)
        return self[key]


class Parts(NamedTuple):
    """Values of an attribute at a level sorted into parts.

    codes: from 0 to number - 1, -1 for no part, shape (size(level),).
    """

    codes: IndexArray
    number: int


@dataclass(frozen=True, eq=False)
class TreeMargins:
    """Margins over items that some clique shows, by one coupling; those of the maximum-entropy distribution by default.

    parts: for some items the parts that their values are sorted into; margins show the other items value by value.
    """

    tree: CalibratedTree
    coupling: Coupling = in_proportion
    parts: Mapping[Item, Parts] = field(default_factory=dict)
    _kept: _Cache = field(default_factory=_Cache, init=False, repr=False)

    def expected(self, margin: Mapping[str, int]) -> FloatArray:
        """Counts over any margin, published or not: one axis an attribute, in the order given; read-only.

        Values below the finest published level share their parent's count equally. Raises DomainMismatchError for an unknown
        attribute or level, TooManyCellsError for a margin too large to be laid out.
        """
        key = tuple(margin.items())
        return self._kept[key] if key in self._kept else self._kept.keep(key, self._expected(margin))

    def _expected(self, margin: Mapping[str, int]) -> FloatArray:
        domain = self.tree.domain
        domain.mask(margin)
        if (cells := domain.size(margin)) > CELL_LIMIT:
            raise TooManyCellsError(f"a margin of {cells} cells is more than the {CELL_LIMIT} that are laid out")
        ordered = sorted(margin, key=domain.index)
        levels = {a: max(margin[a], self.tree.finest_levels[domain.index(a)]) for a in ordered}
        items = tuple((domain.index(a), level) for a, level in levels.items() if level < domain.hierarchy(a).height)
        counts = spread(domain, self.joint(items), levels, margin)
        return counts.transpose([ordered.index(a) for a in margin]) if len(margin) > 1 else counts

    def size(self, item: Item) -> int:
        """Number of values, or parts, of an item."""
        part = self.parts.get(item)
        return self.tree.domain.hierarchies[item[0]].size(item[1]) if part is None else part.number

    def shape(self, items: tuple[Item, ...]) -> tuple[int, ...]:
        """One length for each item. Raises TooManyCellsError when they span more than CELL_LIMIT cells."""
        shape = tuple(map(self.size, items))
        if prod(shape) > CELL_LIMIT:
            raise TooManyCellsError(f"a margin of {prod(shape)} cells is more than the {CELL_LIMIT} that are laid out")
        return shape

    def joint(self, items: tuple[Item, ...]) -> FloatArray:
        """Rows by the values of all items, one axis each; read-only."""
        return self._kept[items] if items in self._kept else self._kept.keep(items, self._joint(items))

    def _joint(self, items: tuple[Item, ...]) -> FloatArray:
        shape = self.shape(items)
        if not items:
            return np.array(self.tree.total)
        if (home := self.tree.home(items)) is not None:
            return self._rows(home, None, items, {}).reshape(shape)
        return self.across(next(self.tree.splits(items)), items)

    def across(self, split: Split, items: tuple[Item, ...]) -> FloatArray:
        """The joint as one of the separators between the items sees it."""
        number, near, apart = split
        one, other = self.beyond(Side(number, 0), near), self.beyond(Side(number, 1), apart)
        order = (*near, *apart)
        shaped = _meet(self.coupling, one, other, self.tree.links[number].rows[0]).reshape(self.shape(order))
        return shaped.transpose([order.index(item) for item in items])

    def beyond(self, side: Side, items: tuple[Item, ...]) -> FloatArray:
        """Rows by separator cell and by the values of items that lie beyond: shape (separator cells, values)."""
        answers: dict[_Beyond, FloatArray] = {}
        questions: list[_Beyond] = [(side, items)]
        for question in questions:  # more are added on the way: trees may be deeper than Python can recurse
            if question in self._kept:
                answers[question] = self._kept[question]
            else:
                questions += self._ways(*question)
        for side_asked, items_asked in reversed(questions):
            if (question := (side_asked, items_asked)) not in answers:
                beyond = {way: answers.pop(way) for way in self._ways(*question)}
                clique = self._clique(side_asked)
                answers[question] = self._kept.keep(question, self._rows(clique, side_asked, items_asked, beyond))
        return answers[side, items]

    def _clique(self, side: Side) -> int:
        return self.tree.links[side.link].cliques[side.side]

    def _ways(self, side: Side, items: tuple[Item, ...]) -> list[_Beyond]:
        """The sides on which lie the items that the clique at a side does not hold, each with its items."""
        clique = self._clique(side)
        ways: dict[Side, list[Item]] = {}
        for item in items:
            if not self.tree.holders(item) >> clique & 1:
                ways.setdefault(self.tree.way(clique, item), []).append(item)
        return [(way, tuple(beyond)) for way, beyond in ways.items()]

    def _rows(
        self, clique: int, back: Side | None, items: tuple[Item, ...], beyond: Mapping[_Beyond, FloatArray]
    ) -> FloatArray:
        """Rows by the cell of the separator behind a clique (none: one row of all) and by the values of items.

        beyond: the rows on each of the clique's ways to items that it does not hold.
        """
        held = [item for item in items if self.tree.holders(item) >> clique & 1]
        order = (*held, *(item for _, others in beyond for item in others))
        counts = self.tree.cliques[clique].counts
        keys: IndexArray = np.zeros(len(counts), dtype=np.intp)
        cells = 1
        if back is not None:
            link = self.tree.links[back.link]
            keys, cells = link.positions[back.side], len(link)
        shape = self.shape(order)
        if cells * prod(shape) > CELL_LIMIT:
            raise TooManyCellsError(f"on the way there are more than the {CELL_LIMIT} cells that are laid out")
        for item in held:
            codes = self.tree.codes(clique, item)
            if (parts := self.parts.get(item)) is not None:
                codes = parts.codes[codes]
                counts, codes = np.where(codes < 0, 0.0, counts), np.maximum(codes, 0)
            keys = keys * self.size(item) + codes
        messages = []
        for (side, _), rows in beyond.items():
            link = self.tree.links[side.link]
            messages.append((rows, link.rows[side.side], link.positions[1 - side.side]))
        counted = _through(self.coupling, counts, keys, cells * prod(map(self.size, held)), messages)
        axes = [0, *(order.index(item) + 1 for item in items)]
        return np.ascontiguousarray(counted.reshape(cells, *shape).transpose(axes)).reshape(cells, prod(shape))


def spread(domain: Domain, counts: FloatArray, levels: Mapping[str, int], margin: Mapping[str, int]) -> FloatArray:
    """Counts by the values of `margin` from counts by those of `levels`; a value shares its parent's count equally.

    counts: one axis for each attribute of `levels`, in its order; those at their highest level may be left out.
    """
    counts = counts.reshape([domain.hierarchy(a).size(level) for a, level in levels.items()])
    for axis, (a, level) in enumerate(levels.items()):
        if margin[a] < level:
            parents = domain.hierarchy(a).lift(margin[a], level)
            shares = leaf_shares(domain, a, margin[a], level)
            counts = np.moveaxis(np.moveaxis(counts, axis, -1)[..., parents] * shares, -1, axis)
    return counts


def leaf_shares(domain: Domain, attribute: str, fine: int, coarse: int) -> FloatArray:
    """Base values of each value of a level, as a share of those of its parent at a coarser level."""
    hierarchy = domain.hierarchy(attribute)
    return np.asarray(hierarchy.leaf_counts(fine) / hierarchy.leaf_counts(coarse)[hierarchy.lift(fine, coarse)])


# Sparse margins: the cells that can be occupied, joined along the tree, for margins with too many cells to be laid out.


def joined_cells(collection: Collection, margin: Mapping[str, int]) -> Cells:
    """Expected counts over any margin of a decomposable collection, without the cells of expected count 0.

    Values below the finest published level share their parent's expected count equally. Raises DomainMismatchError for an
    unknown attribute or level, TooManyCellsError where too many cells can be occupied.
    """
    domain = collection.domain
    mask = domain.mask(margin)
    part = Collection.of(collection.cube, collapsed(collection.junction_tree, mask))
    tree = CalibratedTree.of(part)
    if tree.cell_count > CELL_LIMIT:
        raise TooManyCellsError(
            "these attributes have too many cells to be laid out; ask for fewer or coarser ones, or draw a sample"
        )
    expected = tree.cliques[0].counts if tree.cliques else np.array([tree.total])
    places = {0: np.arange(len(expected))}
    for link in tree.links:
        child, parent = link.cliques
        rows, cells = match(link.positions[1][places[parent]], link.positions[0])
        places = {clique: cell[rows] for clique, cell in places.items()} | {child: cells}
        expected = expected[rows] * (tree.cliques[child].counts / link.rows[0][link.positions[0]])[cells]
    codes: dict[str, CodeArray] = {}
    for attribute, level in domain.margin(mask).items():
        index, hierarchy = domain.index(attribute), domain.hierarchy(attribute)
        item = (index, max(level, tree.finest_levels[index]))
        home = tree.home((item,))
        column = np.zeros(len(expected), dtype=np.intp) if home is None else tree.codes(home, item)[places[home]]
        rows, column = match(column, hierarchy.lift(level, item[1]))
        expected = expected[rows] * leaf_shares(domain, attribute, level, item[1])[column]
        codes = {a: known[rows] for a, known in codes.items()} | {attribute: column}
        places = {clique: cell[rows] for clique, cell in places.items()}
    summed = Cells.of(domain, domain.margin(mask), codes, expected).rolled_up(domain.margin(mask))
    return summed[summed.counts > 0]


# Expectations of products of one weight for each attribute, over the rows of each of many cells that fix the same
# attributes, by messages from the leaves of a calibrated tree to its root. The joint distribution is never laid out.


Factor = Callable[[IndexArray, CodeArray], FloatArray]
"""Weights of an attribute's values: (numbers of cells, codes at its finest published level) to weights, shape (n,)."""

_WEIGHTS_AT_ONCE = 4096
"""Cells whose messages are passed together, which bounds the memory."""


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
            return cls(CalibratedTree.of(collection))
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

    def expectation(self, weights: Mapping[str, FloatArray]) -> float:
        """Expected sum over the rows of prod_B w_B(x_B), in rows; the expected count of a box for 0/1 weights.

        weights: for some attributes a weight for each base value, shape (size(0),); 1 for the other attributes. Raises
        DomainMismatchError for weights of another shape.
        """
        mean = 1.0
        factors: dict[str, Factor] = {}
        for attribute, weight in weights.items():
            hierarchy, level = self.domain.hierarchy(attribute), self.tree.finest_levels[self.domain.index(attribute)]
            if np.shape(weight) != (hierarchy.size(0),):
                raise DomainMismatchError(f"weights of {attribute!r} must have one entry for each base value")
            sums = np.bincount(hierarchy.lift(0, level), weight, minlength=hierarchy.size(level))
            means = sums / hierarchy.leaf_counts(level)
            if level < hierarchy.height:
                factors[attribute] = lambda _, codes, means=means: means[codes]  # type: ignore[misc]
            else:
                mean *= float(means[0])
        return mean * float(self.expected_counts({}, {}, 1, factors)[0])

    def _block(self, cells: Cells, block: IndexArray, factors: dict[str, Factor]) -> FloatArray:
        """Sums over the rows of some cells. block: the numbers of the cells, which factors are asked by.

        Cliques that show nothing of the cells and factors are left out, but not under a power, which they add to.
        """
        levels, tree = self.levels, self.tree
        home_of = {a: max(vertices_of(tree.holders((self.domain.index(a), levels[a])))) for a in factors}
        open_cliques = set(home_of.values()) if self.power == 1 else set(range(len(tree.cliques)))
        open_cliques |= {number for number, c in enumerate(tree.cliques) if any(a in c.margin for a in cells.margin)}
        messages: dict[int, list[tuple[Link, IndexArray, FloatArray]]] = {}
        for clique in reversed(range(len(tree.cliques))):
            if clique not in open_cliques:
                continue
            expected = tree.cliques[clique]
            cell, place = match(*cells.keys_with(expected))
            mass = expected.counts[place] ** self.power
            for attribute, factor in factors.items():
                if home_of[attribute] == clique:
                    mass = _times(mass, factor(block[cell], expected.column(attribute)[place]))
            for link, keys, means in messages.pop(clique, ()):
                at, is_present = look_up(cell * len(link) + link.positions[1][place], keys)
                mass = _times(mass, np.where(is_present, means[at], 0.0) if len(keys) else np.zeros(len(mass)))
            if len(open_cliques) == 1:
                return np.bincount(cell, mass, minlength=len(cells)).astype(np.float64)
            link = tree.links[clique - 1]
            keys, at = np.unique(cell * len(link) + link.positions[0][place], return_inverse=True)
            rows = link.rows[0][keys % max(len(link), 1)] ** self.power
            sums = np.bincount(at, mass, minlength=len(keys))
            means = np.divide(sums, rows, out=np.zeros(len(keys)), where=rows > 0)
            messages.setdefault(link.cliques[1], []).append((link, keys, means))
            open_cliques = open_cliques - {clique} | {link.cliques[1]}
        return np.full(len(cells), self.tree.total**self.power)


def _times(one: FloatArray, other: FloatArray) -> FloatArray:
    """The product where 0 times infinity is 0."""
    with np.errstate(invalid="ignore"):
        return np.where((one == 0) | (other == 0), 0.0, one * other)
