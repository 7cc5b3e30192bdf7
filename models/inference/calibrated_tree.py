"""Calibrated trees: clique tables along a junction tree that agree on their separators, with the cells matched once.

The published marginals of a decomposable collection are calibrated as they are; any other collection is calibrated by
fitting. Margins, boxes, bounds and samples touch only the cliques between their attributes.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, reduce
from math import prod
from operator import and_
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from models.arrays import BoolArray, CodeArray, FloatArray, IndexArray, read_only, smallest_code_dtype
from models.errors import DomainMismatchError, TooManyCellsError
from models.frozen import frozen
from models.graphs.junction_tree import Collection, JunctionTree
from models.tables.contingency_table import Cells, group, pack, shared_keys
from models.tables.hierarchy import Domain, Mask, vertices_of

Item: TypeAlias = Mask
"""Induced attributes of one attribute at a level."""

Side: TypeAlias = tuple[int, int]
"""Number of a link and one side of it: 0 is the child's, 1 the parent's."""

_Messages: TypeAlias = Mapping[tuple[Side, tuple[Item, ...]], FloatArray]
"""Rows by separator cell and by the values of items that lie on a side of it: shape (separator cells, values)."""

CELL_LIMIT = 1 << 24
"""Most cells, empty ones included, that a margin may have."""

_KEPT_BYTES = 1 << 27
"""Memory of the cache of a tree, which is cleared once it is full."""


class _Cache(dict[object, FloatArray]):
    """Cache of margins and messages, bounded in memory."""

    size = 0

    def keep(self, key: object, array: FloatArray) -> FloatArray:
        self.size += array.nbytes
        if self.size > _KEPT_BYTES:
            self.clear()
            self.size = array.nbytes
        self[key] = read_only(array)
        return self[key]


class Groups(NamedTuple):
    """Values of an attribute at a level, sorted into groups.

    codes: the group of each value, from 0 to number - 1. weights: the share of its rows that counts. Both have shape
    (size(level),).
    """

    codes: CodeArray
    weights: FloatArray | BoolArray
    number: int


@frozen(eq=False)
class Link:
    """Two neighbouring cliques, child and parent, and the separator cells between them.

    beyond: the cliques on either side, as bits. positions: for each of the two cliques the separator cell of each of
    its cells. rows: the expected rows of each separator cell, as each of the two cliques counts them.
    """

    cliques: tuple[int, int]
    beyond: tuple[Mask, Mask]
    positions: tuple[IndexArray, IndexArray]
    rows: tuple[FloatArray, FloatArray]

    def __len__(self) -> int:
        return len(self.rows[0])


@frozen(eq=False)
class CalibratedTree:
    """Expected counts over the cliques of a junction tree; parts that are not connected share an empty separator.

    cliques: in the tree's order, over cells that can be occupied. total: rows. residual: largest misfit of a published
    count, as a share of it. Raises DomainMismatchError if the margins are not the tree's.
    """

    tree: JunctionTree
    cliques: tuple[Cells, ...]
    total: float
    residual: float = 0.0

    def __post_init__(self) -> None:
        if [dict(cells.margin) for cells in self.cliques] != [dict(margin) for margin in self.tree.margins]:
            raise DomainMismatchError("expected cells and cliques of a calibrated tree have different margins")

    @classmethod
    def of(cls, collection: Collection) -> "CalibratedTree":
        """Return the tree of the published clique marginals. Raises NotDecomposableError for other collections."""
        tree, cube = collection.junction_tree, collection.cube
        return cls(tree, tuple(map(cube.table, tree.cliques)), float(cube.total))

    def marginal(self, mask: Mask) -> Cells:
        """Return expected counts over a margin that one clique shows. Raises DomainMismatchError if none does."""
        for clique, cells in zip(self.tree.cliques, self.cliques):
            if not mask & ~clique:
                return cells.rolled_up(self.domain.margin(mask))
        raise DomainMismatchError("no clique of the tree shows this margin")

    @property
    def domain(self) -> Domain:
        """The attributes with their hierarchies."""
        return self.tree.domain

    @cached_property
    def finest_levels(self) -> Mapping[str, int]:
        """Finest level of each attribute of the domain that a clique shows; the level of `*` if none does."""
        return self.domain.levels(self.tree.vertices)

    @cached_property
    def links(self) -> tuple[Link, ...]:
        """Links from clique 1 to its parent, from clique 2 to its parent, and so on."""
        below = [1 << clique for clique in range(len(self.cliques))]
        for child in range(len(below) - 1, 0, -1):
            below[max(self.tree.parents[child], 0)] |= below[child]
        return tuple(self._link(child, (below[child], below[0] & ~below[child])) for child in range(1, len(below)))

    def _link(self, child: int, beyond: tuple[Mask, Mask]) -> Link:
        parent = max(self.tree.parents[child], 0)
        margin = self.domain.margin(self.tree.separators[child])
        inner, outer = self.cliques[child], self.cliques[parent]
        (one, radices), (other, _) = inner.columns(margin), outer.columns(margin)
        keys = np.concatenate(shared_keys(one, other, radices, (len(inner), len(outer)))).astype(np.int64, copy=False)
        first, numbers = group(keys, int(keys.max(initial=0)) + 1)
        below, above = read_only(numbers[: len(inner)]), read_only(numbers[len(inner) :])
        rows = (
            np.bincount(at, clique_cells.counts, minlength=len(first))
            for at, clique_cells in ((below, inner), (above, outer))
        )
        return Link((child, parent), beyond, (below, above), (read_only(next(rows)), read_only(next(rows))))

    @cached_property
    def _sides_of(self) -> tuple[list[tuple[Side, Mask]], ...]:
        """Links of each clique, as the sides beyond them, each with the cliques there as bits."""
        around: tuple[list[tuple[Side, Mask]], ...] = tuple([] for _ in self.cliques)
        for number, link in enumerate(self.links):
            for side in (0, 1):
                around[link.cliques[1 - side]].append(((number, side), link.beyond[side]))
        return around

    @cached_property
    def _holders(self) -> dict[Item, Mask]:
        return {}

    def holders(self, item: Item) -> Mask:
        """Return the cliques that show an attribute at a level or finer, as bits."""
        if item not in self._holders:
            self._holders[item] = sum(1 << c for c, clique in enumerate(self.tree.cliques) if not item & ~clique)
        return self._holders[item]

    def home(self, items: Iterable[Item]) -> int | None:
        """Return the clique with the fewest cells among those that hold all the items, if any does."""
        common = reduce(and_, map(self.holders, items))
        return min(vertices_of(common), key=lambda clique: len(self.cliques[clique]), default=None)

    def ways(self, clique: int, items: Iterable[Item]) -> list[tuple[Side, tuple[Item, ...]]]:
        """Return the sides on which the items lie that a clique does not hold, each with its items."""
        ways: dict[Side, tuple[Item, ...]] = {}
        for item in items:
            holders = self.holders(item)
            if not holders >> clique & 1:
                side = next(side for side, beyond in self._sides_of[clique] if beyond & holders)
                ways[side] = (*ways.get(side, ()), item)
        return list(ways.items())

    def splits(self, items: Sequence[Item]) -> Iterator[tuple[int, tuple[Item, ...], tuple[Item, ...]]]:
        """Yield the links that separate items, fewest separator cells first; there is one if no clique holds all items.

        Each comes with the items on its child's side, and the items that only its parent's side holds.
        """
        holders = [self.holders(item) for item in items]
        for number in sorted(range(len(self.links)), key=lambda number: len(self.links[number])):
            below, above = self.links[number].beyond
            if not all(holder & above for holder in holders):
                near = tuple([item for item, holder in zip(items, holders) if holder & below])
                if len(near) < len(items):
                    yield number, near, tuple([item for item in items if item not in near])

    def codes(self, clique: int, item: Item) -> CodeArray:
        """Return the codes of a held item in each cell of a clique."""
        place = next(self.domain.places(item))
        level = self.domain.hierarchies[place].height - item.bit_count()
        return self.cliques[clique].column(self.domain.attributes[place], level)

    @cached_property
    def _draws(self) -> "list[_Draw]":
        separators = [(np.zeros(len(cells), dtype=np.intp), 1) for cells in self.cliques[:1]]
        separators += [(link.positions[0], len(link)) for link in self.links]
        return [_alias_draw(cells.counts, *groups) for cells, groups in zip(self.cliques, separators)]

    def draw(self, rows: int, rng: "np.random.Generator") -> dict[str, CodeArray]:
        """Draw rows, as `MarginalModel.draw` does. Raises DomainMismatchError if the tables have no rows."""
        if rows and not self.total:
            raise DomainMismatchError("marginals of no rows at all have no distribution to draw from")
        drawn: dict[str, CodeArray] = {}
        published = []
        for attribute, level in self.finest_levels.items():
            if item := self.domain.mask({attribute: level}):
                clique = next(vertices_of(self.holders(item)))
                published.append((attribute, clique, self.cliques[clique].column(attribute)))
                drawn[attribute] = np.empty(rows, smallest_code_dtype(self.domain.cell_count(item)))
        for start in range(0, rows, _ROWS_AT_ONCE):
            stop = min(start + _ROWS_AT_ONCE, rows)
            cells: list[IndexArray] = []
            for clique, draw in enumerate(self._draws):
                groups: IndexArray = np.zeros(stop - start, dtype=np.intp)
                if clique:
                    link = self.links[clique - 1]
                    groups = link.positions[1][cells[link.cliques[1]]]
                cells.append(draw(groups, rng.random(stop - start)))
            for attribute, clique, codes in published:
                drawn[attribute][start:stop] = codes[cells[clique]]
        return drawn

    @cached_property
    def computed(self) -> _Cache:
        """Cache of expected margins and of the messages that they are made of."""
        return _Cache()

    def expected(self, margin: Mapping[str, int]) -> FloatArray:
        """Return counts over any margin, published or not: one axis per attribute, in the order given; read-only.

        Values below the finest published level share their parent's count equally. Raises DomainMismatchError for an
        unknown attribute or level, TooManyCellsError if the margin is too large to be laid out.
        """
        key = tuple(margin.items())
        return self.computed[key] if key in self.computed else self.computed.keep(key, self._expected(margin))

    def _expected(self, margin: Mapping[str, int]) -> FloatArray:
        domain = self.domain
        published = domain.mask(margin) & self.tree.vertices
        require_few(domain.size(margin))
        ordered = sorted(margin, key=domain.index)
        levels = {a: max(margin[a], self.finest_levels[a]) for a in ordered}
        items = tuple(published & domain.attribute_masks[place] for place in domain.places(published))
        joint = self.computed[items] if items in self.computed else self.computed.keep(items, next(views(self, items)))
        counts = spread(domain, joint, levels, margin)
        return counts.transpose([ordered.index(a) for a in margin]) if len(margin) > 1 else counts


# Sampling: independent rows of the maximum-entropy distribution, clique by clique down the junction tree.
#
# A row's cell in a clique is drawn among those that its separator cell leaves, by the alias method (Walker 1977; Vose
# 1991), so that a draw costs the same however many cells there are.


_ROWS_AT_ONCE = 1 << 15
"""Rows drawn at a time: as many as the cache of a processor holds."""

_Draw: TypeAlias = Callable[[IndexArray, FloatArray], IndexArray]
"""Draws a cell for each of some groups, by numbers in [0, 1) of the same shape, which are overwritten."""


def _alias_draw(weights: FloatArray, groups: IndexArray, group_count: int) -> _Draw:
    """Return a function that draws cells in proportion to their positive weights within their group. O(1) a draw."""
    order = np.argsort(groups, kind="stable")
    sizes = np.bincount(groups, minlength=group_count)
    first = np.cumsum(sizes) - sizes
    shares = (weights * sizes[groups] / np.bincount(groups, weights, minlength=group_count)[groups])[order]
    # Each slot stands for its own cell with the probability `keep`, else for another one (Vose 1991).
    keep, other = shares.tolist(), list(range(len(order)))
    for start, size in zip(first.tolist(), sizes.tolist()):
        small = [slot for slot in range(start, start + size) if keep[slot] < 1]
        large = [slot for slot in range(start, start + size) if keep[slot] >= 1]
        while small and large:
            slot, giver = small.pop(), large[-1]
            other[slot] = giver
            keep[giver] -= 1 - keep[slot]
            if keep[giver] < 1:
                small.append(large.pop())
        for slot in small:  # 1 up to rounding, like the slots still in `large`
            keep[slot] = 1.0
    thresholds, cells, widths = np.array(keep), np.stack([order, order[other]]), sizes.astype(np.float64)

    def draw(group_numbers: IndexArray, uniform: FloatArray) -> IndexArray:
        uniform *= widths[group_numbers]
        slots = uniform.astype(np.intp)
        uniform -= slots
        slots += first[group_numbers]
        return np.asarray(cells[(uniform >= thresholds[slots]).view(np.int8), slots])

    return draw


def drawn_leaves(
    domain: Domain, levels: Mapping[str, int], codes: Mapping[str, CodeArray], rows: int, rng: "np.random.Generator"
) -> dict[str, CodeArray]:
    """Draw base codes of rows, evenly among the base values under each row's value. levels: of the given codes."""
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
# Only the separator tells which rows of the two tables are the same. In the maximum-entropy distribution rows meet in
# proportion; Frechet's bounds give the most and the least rows that can meet.


Coupling = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
"""Maps rows of one table, rows of another and rows of their separator cell to the rows that meet; the arrays broadcast.
"""

Message: TypeAlias = tuple[FloatArray, FloatArray, IndexArray]
"""Rows beyond a separator by its cell and by the values asked for there. Then rows of each separator cell, and
separator cell of each cell of the clique before it."""

_BLOCK = 1 << 20
"""Entries of an array that is laid out at a time."""


def in_proportion(one: FloatArray, other: FloatArray, rows: FloatArray) -> FloatArray:
    """Return the rows that meet in the maximum-entropy distribution."""
    return np.asarray(one * (other / np.where(rows > 0, rows, 1)))


def at_most(one: FloatArray, other: FloatArray, _rows: FloatArray) -> FloatArray:
    """Return the most rows that can meet."""
    return np.asarray(np.minimum(one, other))


def at_least(one: FloatArray, other: FloatArray, rows: FloatArray) -> FloatArray:
    """Return the least rows that must meet."""
    return np.asarray(np.maximum(one + other - rows, 0))


_ONE_THREAD = 1 << 18
"""Multiplications that OpenBLAS does in one thread; if a core is busy, two threads take up to forty times as long."""


def _product(one: FloatArray, other: FloatArray) -> FloatArray:
    """Return a matrix product, a few rows at a time in one thread unless these are too few to be worth it."""
    step = _ONE_THREAD // max(other.size, 1)
    if step < 4:
        return np.asarray(one @ other)
    product = np.empty((len(one), other.shape[1]))
    for start in range(0, len(one), step):
        np.matmul(one[start : start + step], other, out=product[start : start + step])
    return product


def _meet(coupling: Coupling, near: FloatArray, far: FloatArray, rows: FloatArray) -> FloatArray:
    """Sum the rows that meet over a separator: shapes (separator cells, n) and (separator cells, m) to (n, m)."""
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
    """Return rows of a clique by key, below `size`, and by the values of all messages: shape (size, values)."""
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
# Messages from beyond a separator are computed once and kept; then most margins are one product of two small matrices.


_How: TypeAlias = tuple[Coupling, Mapping[Item, Groups]]


def views(
    tree: CalibratedTree,
    items: tuple[Item, ...],
    coupling: Coupling = in_proportion,
    groups: Mapping[Item, Groups] | None = None,
) -> Iterator[FloatArray]:
    """Yield rows by the values of all items, one axis each, once per separator between them; once if a clique holds
    all.

    The view with the fewest separator cells comes first; all views of the maximum-entropy distribution are equal.
    items: each shown by some clique. groups: of the values of some items. Raises TooManyCellsError as `expected` does.
    """
    how, computed = (coupling, groups or {}), _Cache() if groups or coupling is not in_proportion else tree.computed
    if not items:
        yield np.array(tree.total)
    elif (home := tree.home(items)) is not None:
        yield _rows(tree, home, None, items, {}, how)[0]
    else:
        for number, near, apart in tree.splits(items):
            one, other = (
                _beyond(tree, (number, end), near_items, how, computed) for end, near_items in enumerate((near, apart))
            )
            order = (*near, *apart)
            shape = _shape(tree, order, how[1])
            met = _meet(coupling, one, other, tree.links[number].rows[0]).reshape(shape)
            yield met.transpose([order.index(item) for item in items])


def _shape(tree: CalibratedTree, items: Sequence[Item], groups: Mapping[Item, Groups], cells: int = 1) -> list[int]:
    """Return the number of values, or groups, of each item. cells: of a separator that they are laid out with."""
    shape = [groups[item].number if item in groups else tree.domain.cell_count(item) for item in items]
    require_few(cells * prod(shape))
    return shape


def _beyond(tree: CalibratedTree, side: Side, items: tuple[Item, ...], how: _How, computed: _Cache) -> FloatArray:
    answers: dict[tuple[Side, tuple[Item, ...]], FloatArray] = {}
    questions = [(side, items)]
    for question in questions:  # the loop adds questions, because trees may be deeper than Python can recurse
        if question in computed:
            answers[question] = computed[question]
        else:
            (number, end), others = question
            questions += tree.ways(tree.links[number].cliques[end], others)
    for question in reversed(questions):
        if question not in answers:
            (number, end), others = question
            rows = _rows(tree, tree.links[number].cliques[end], (number, end), others, answers, how)
            answers[question] = computed.keep(question, rows.reshape(len(rows), prod(rows.shape[1:])))
    return answers[side, items]


def _rows(
    tree: CalibratedTree, clique: int, back: Side | None, items: tuple[Item, ...], beyond: _Messages, how: _How
) -> FloatArray:
    """Return rows by the cell of the separator behind a clique, one row without one, and by the values of each item."""
    coupling, groups = how
    ways = tree.ways(clique, items)
    held = [item for item in items if tree.holders(item) >> clique & 1]
    order = (*held, *(item for _, others in ways for item in others))
    counts = tree.cliques[clique].counts
    keys: IndexArray = np.zeros(len(counts), dtype=np.intp)
    cells = 1
    if back is not None:
        link = tree.links[back[0]]
        keys, cells = link.positions[back[1]], len(link)
    shape = _shape(tree, order, groups, cells)
    for item, size in zip(held, shape):
        codes = tree.codes(clique, item)
        if item in groups:
            counts, codes = counts * groups[item].weights[codes], groups[item].codes[codes]
        keys = keys * size + codes
    sides = [(tree.links[number], side) for (number, side), _ in ways]
    messages = [(beyond[way], link.rows[end], link.positions[1 - end]) for way, (link, end) in zip(ways, sides)]
    counted = _through(coupling, counts, keys, cells * prod(shape[: len(held)]), messages)
    axes = [0, *(order.index(item) + 1 for item in items)]
    return np.ascontiguousarray(counted.reshape(cells, *shape).transpose(axes))


def require_few(cells: int) -> None:
    """Raise TooManyCellsError if there are more cells than are laid out."""
    if cells > CELL_LIMIT:
        raise TooManyCellsError(f"a margin of {cells} cells is more than the {CELL_LIMIT} that are laid out")


def laid_out(
    domain: Domain, counts: NDArray[Any], levels: Mapping[str, int], margin: Mapping[str, int]
) -> NDArray[Any]:
    """Return the count of each value at one of `levels`, repeated at each value below it at a finer level of `margin`.

    counts: one axis for each attribute of `levels`, in its order; axes of attributes at their highest level may be
    missing.
    """
    counts = counts.reshape([domain.hierarchy(a).size(level) for a, level in levels.items()])
    for axis, (a, level) in enumerate(levels.items()):
        if margin[a] < level:
            counts = counts.take(domain.hierarchy(a).lift(margin[a], level), axis)
    return counts


def spread(domain: Domain, counts: FloatArray, levels: Mapping[str, int], margin: Mapping[str, int]) -> FloatArray:
    """Spread the counts of `laid_out`: values share their parent's count equally."""
    counts = laid_out(domain, counts, levels, margin)
    for axis, (a, level) in enumerate(levels.items()):
        if margin[a] < level:
            shares = leaf_shares(domain, a, margin[a], level)
            counts = counts * shares.reshape([-1 if other == axis else 1 for other in range(counts.ndim)])
    return counts


def leaf_shares(domain: Domain, attribute: str, fine: int, coarse: int) -> FloatArray:
    """Return the base values of each value of a level, as a share of those of its parent at a coarser level."""
    hierarchy = domain.hierarchy(attribute)
    return np.asarray(hierarchy.leaf_counts(fine) / hierarchy.leaf_counts(coarse)[hierarchy.lift(fine, coarse)])
