"""Calibrated trees: clique tables along a junction tree that agree on their separators, with the cells matched once.

The published marginals of a decomposable collection are calibrated as they are; any other collection is calibrated by
fitting. What follows (margins, bounds, samples) touches only the cliques between the attributes that it is about.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np

from models.arrays import FloatArray, IndexArray, read_only
from models.graphs.junction_tree import JunctionTree
from models.inference.expected_counts import ExpectedCells
from models.inference.iterative_fitting import Fit
from models.inference.maximum_entropy import MaximumEntropy
from models.tables.domain import Domain, vertices_of
from models.tables.join import shared_keys
from models.tables.mixed_radix import group

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


@dataclass(frozen=True, eq=False)
class CalibratedTree:
    """Expected counts over the cliques of a junction tree; parts that are not connected share an empty separator.

    cliques: in the tree's order, over cells that can be occupied. total: rows.
    """

    tree: JunctionTree
    cliques: tuple[ExpectedCells, ...]
    total: float
    _holders: dict[Item, int] = field(default_factory=dict, init=False, repr=False)
    _codes: dict[tuple[int, Item], IndexArray] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(cls, model: MaximumEntropy) -> "CalibratedTree":
        """The published clique marginals, which need no fitting."""
        cells = (
            ExpectedCells(table.margin, dict(zip(table.attributes, table.codes)), table.counts.astype(np.float64))
            for table in model.clique_tables
        )
        return cls(model.tree, tuple(cells), float(model.cube.total))

    @classmethod
    def fitted(cls, fit: Fit, total: float) -> "CalibratedTree":
        """The cliques of a fit, without the cells that it leaves empty."""
        occupied = [cells.expected > 0 for cells in fit.cliques]
        cells = (
            ExpectedCells(c.margin, {a: codes[kept] for a, codes in c.codes.items()}, c.expected[kept])
            for c, kept in zip(fit.cliques, occupied)
        )
        return cls(fit.tree, tuple(cells), total)

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
        shared = sorted(margin, key=self.domain.index)
        columns = [
            [self.domain.hierarchy(a).lift(cells.margin[a], margin[a])[cells.codes[a]] for a in shared]
            for cells in (self.cliques[child], self.cliques[parent])
        ]
        sizes = (len(self.cliques[child].expected), len(self.cliques[parent].expected))
        radices = [self.domain.hierarchy(a).size(margin[a]) for a in shared]
        keys = np.concatenate(shared_keys(columns[0], columns[1], radices, sizes)).astype(np.int64, copy=False)
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
        ways = [np.ones(len(cells.expected)) for cells in self.cliques]
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
        known = self._holders.get(item)
        if known is None:
            attribute = self.domain.attributes[item[0]]
            shown = (
                1 << clique
                for clique, cells in enumerate(self.cliques)
                if attribute in cells.margin and cells.margin[attribute] <= item[1]
            )
            known = self._holders[item] = sum(shown)
        return known

    def home(self, items: tuple[Item, ...]) -> int | None:
        """The clique with the fewest cells among those that hold all the items, if any does."""
        common = (1 << len(self.cliques)) - 1
        for item in items:
            common &= self.holders(item)
        return min(vertices_of(common), key=lambda clique: len(self.cliques[clique].expected), default=None)

    def way(self, clique: int, item: Item) -> Side:
        """The side on which the holders of an item lie, seen from a clique that does not hold it."""
        holders = self.holders(item)
        return next(side for side, beyond in self._sides_of[clique] if beyond & holders)

    def splits(self, items: tuple[Item, ...]) -> list[tuple[int, tuple[Item, ...], tuple[Item, ...]]]:
        """The links that separate items, each with the items of its two sides, fewest separator cells first.

        Not empty where no clique holds all. An item that both sides hold is counted to the child's.
        """
        found = []
        holders = [self.holders(item) for item in items]
        for number, below in enumerate(self._below):
            apart = tuple(item for item, held in zip(items, holders) if not held & below)
            if apart and any(not held & ~below for held in holders):
                found.append((number, tuple(item for item in items if item not in apart), apart))
        return sorted(found, key=lambda split: len(self.links[split[0]]))

    def codes(self, clique: int, item: Item) -> IndexArray:
        """The codes of a held item in each cell of a clique."""
        known = self._codes.get((clique, item))
        if known is None:
            attribute, cells = self.domain.attributes[item[0]], self.cliques[clique]
            lift = self.domain.hierarchies[item[0]].lift(cells.margin[attribute], item[1])
            known = self._codes[clique, item] = read_only(lift[cells.codes[attribute]].astype(np.intp))
        return known

    def expectation(self, weights: Mapping[str, FloatArray]) -> float:
        """Expected sum over the rows of prod_B w_B(x_B), in rows; the expected count of a box for 0/1 weights.

        weights: for some attributes a weight for each base value, shape (size(0),). One pass over the cliques that lie
        between these attributes, leaves to root.
        """
        mass: dict[int, FloatArray] = {}
        mean = 1.0
        for attribute, weight in weights.items():
            index = self.domain.index(attribute)
            hierarchy, level = self.domain.hierarchies[index], self.finest_levels[index]
            sums = np.bincount(hierarchy.lift(0, level), weight, minlength=hierarchy.size(level))
            means = sums / hierarchy.leaf_counts(level)
            clique = self.home(((index, level),))
            if clique is None or level == hierarchy.height:
                mean *= float(means[0])
            else:
                mass[clique] = (
                    mass.get(clique, self.cliques[clique].expected) * means[self.codes(clique, (index, level))]
                )
        if not mass:
            return mean * self.total
        for number in reversed(range(len(self.links))):
            link = self.links[number]
            child, parent = link.cliques
            if child in mass and (len(mass) > 1 or parent in mass):
                rows = link.rows[0]
                message = np.bincount(link.positions[0], mass.pop(child), minlength=len(rows))
                shares = message / np.where(rows > 0, rows, 1)
                mass[parent] = mass.get(parent, self.cliques[parent].expected) * shares[link.positions[1]]
        (last,) = mass.values()
        return mean * float(last.sum())
