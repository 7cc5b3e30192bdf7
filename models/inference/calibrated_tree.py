"""Calibrated trees: clique tables along a junction tree that agree on their separators, with the cells matched once.

The published marginals of a decomposable collection are calibrated as they are; any other collection is calibrated by
fitting. What follows (margins, bounds, samples) touches only the cliques between the attributes that it is about.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from models.arrays import FloatArray, IndexArray, read_only
from models.errors import DomainMismatchError
from models.graphs.junction_tree import JunctionTree
from models.inference.expected_cells import ExpectedCells
from models.inference.maximum_entropy import MaximumEntropy
from models.tables.domain import Domain, vertices_of
from models.tables.join import shared_keys
from models.tables.mixed_radix import group

if TYPE_CHECKING:
    from models.inference.fitting.iterative_fitting import Fit

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
    cliques: tuple[ExpectedCells, ...]
    total: float
    _holders: dict[Item, int] = field(default_factory=dict, init=False, repr=False)
    _codes: dict[tuple[int, Item], IndexArray] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        if [dict(cells.margin) for cells in self.cliques] != [dict(margin) for margin in self.tree.margins]:
            raise DomainMismatchError("expected cells and cliques of a calibrated tree have different margins")

    @classmethod
    def of(cls, model: MaximumEntropy) -> "CalibratedTree":
        """The published clique marginals, which need no fitting."""
        return cls(model.tree, tuple(map(ExpectedCells.of, model.clique_tables)), float(model.cube.total))

    @classmethod
    def fitted(cls, fit: "Fit", total: float) -> "CalibratedTree":
        """The cliques of a fit, without the cells that it leaves empty."""
        return cls(fit.tree, tuple(cells[cells.expected > 0] for cells in fit.cliques), total)

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
        (inner, radices), (outer, _) = (self.cliques[clique].cells.columns(margin) for clique in (child, parent))
        sizes = (len(self.cliques[child]), len(self.cliques[parent]))
        keys = np.concatenate(shared_keys(inner, outer, radices, sizes)).astype(np.int64, copy=False)
        first, numbers = group(keys, int(keys.max(initial=0)) + 1)
        positions = (read_only(numbers[: sizes[0]]), read_only(numbers[sizes[0] :]))
        rows = [
            np.bincount(places, self.cliques[clique].expected, minlength=len(first))
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

    def chain(self, links: Collection[int]) -> list[tuple[int, tuple[IndexArray, IndexArray]]] | None:
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
            codes = self._codes[clique, item] = read_only(lift[cells.codes[attribute]].astype(np.intp))
        return codes
