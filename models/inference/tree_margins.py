"""Margins of a calibrated tree: a separator between the attributes asked for, and what lies on either side of it.

What lies beyond a separator is computed once and kept; most margins then are one product of two small matrices.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import TypeAlias

import numpy as np

from models.arrays import FloatArray, IndexArray, read_only
from models.errors import TooManyCellsError
from models.inference.calibrated_tree import CalibratedTree, Item, Side, Split
from models.inference.couplings import Coupling, Independent, Message

CELL_LIMIT = 1 << 24
"""Cells, empty ones included, that a margin may have."""

_Beyond: TypeAlias = tuple[Side, tuple[Item, ...]]
"""A side of a separator, and what is asked of the tree there."""

_KEPT_BYTES = 1 << 27
"""Memory of the cache; it is cleared when full."""


@dataclass(eq=False)
class Kept:
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
    _kept: Kept = field(default_factory=Kept)
    _sizes: dict[Item, int] = field(default_factory=dict)

    def size(self, item: Item) -> int:
        """Number of values, or parts, of an item."""
        size = self._sizes.get(item)
        if size is None:
            own = self.parts.get(item)
            whole = self.tree.domain.hierarchies[item[0]].size(item[1])
            size = self._sizes[item] = whole if own is None else own.count
        return size

    def shape(self, items: tuple[Item, ...]) -> tuple[int, ...]:
        """One length for each item. Raises TooManyCellsError when they span more than CELL_LIMIT cells."""
        shape = tuple(map(self.size, items))
        if prod(shape) > CELL_LIMIT:
            raise TooManyCellsError(f"a margin of {prod(shape)} cells is more than the {CELL_LIMIT} that are laid out")
        return shape

    def joint(self, items: tuple[Item, ...]) -> FloatArray:
        """Rows by the values of all items, one axis each; read-only."""
        kept = self._kept.arrays.get(items)
        return self._kept.keep(items, self._joint(items)) if kept is None else kept

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
        left, right = self.beyond(Side(number, 0), near), self.beyond(Side(number, 1), apart)
        return self._ordered(self.coupling.meet(left, right, link.rows[0]), (*near, *apart), items)

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
            if question not in answers and (kept := self._kept.arrays.get(question)) is not None:
                answers[question] = kept
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
        own = [item for item in items if self.tree.holders(item) >> clique & 1]
        apart = [item for _, others in beyond for item in others]
        messages = [self._message(side, counts) for (side, _), counts in beyond.items()]
        counts = self.tree.cliques[clique].expected
        keys: IndexArray = np.zeros(len(counts), dtype=np.intp)
        cells = 1
        if back is not None:
            link = self.tree.links[back.link]
            keys, cells = link.positions[back.side], len(link)
        size = cells * prod(self.shape(tuple(own)))
        if size * prod(self.shape(tuple(apart))) > CELL_LIMIT:
            raise TooManyCellsError(f"on the way there are more than the {CELL_LIMIT} cells that are laid out")
        for item in own:
            codes = self.tree.codes(clique, item)
            if (parts := self.parts.get(item)) is not None:
                codes = parts.codes[codes]
                counts, codes = np.where(codes < 0, 0.0, counts), np.maximum(codes, 0)
            keys = keys * self.size(item) + codes
        counted = self.coupling.through(counts, keys, size, messages)
        order = (*own, *apart)
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
    kept = margins._kept.arrays.get(key)
    return margins._kept.keep(key, _expected_counts(margins, margin)) if kept is None else kept


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
