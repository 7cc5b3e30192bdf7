"""Hypothesis strategies for everything the tests are about: hierarchies, domains, tables, margins and collections.

All of them stay so small that an oracle can walk over every cell of the joint distribution (at most 400 cells).
"""

from collections.abc import Mapping
from itertools import combinations
from math import prod
from typing import NamedTuple

import networkx as nx
import numpy as np

from dice import Dice, Thrown
from filled_tables import filled
from models import Collection, ContingencyTable, DataCube, Domain, Hierarchy, InteractionGraph, Margin, Mask

MAX_CELLS = 400
"""Bound on the number of base cells of a random domain."""


@Thrown
def hierarchies(dice: Dice, max_values: int = 5, max_levels: int = 3, min_values: int = 1) -> Hierarchy:
    """A random tree over min_values .. max_values base values, of height 1 .. max_levels.

    A level may merge nothing, and then repeats the labels below it; a level that merges everything is `*` already.
    """
    size = dice.between(min_values, max_values)
    paths = [[f"v{value}"] for value in range(size)]
    blocks = [{value} for value in range(size)]
    for _ in range(dice.between(1, max_levels) - 1):
        if dice.yes():
            merged: dict[int, set[int]] = {}
            for block in blocks:
                merged.setdefault(dice.below(len(blocks)), set()).update(block)
            blocks = list(merged.values())
        for block in blocks:
            for value in block:
                paths[value].append("+".join(f"v{v}" for v in sorted(block)) if len(blocks) > 1 else "*")
    return Hierarchy.from_rows(dice.shuffled([(*path, "*") for path in paths]))


@Thrown
def domains(
    dice: Dice,
    min_attributes: int = 2,
    max_attributes: int = 4,
    max_values: int = 5,
    max_levels: int = 3,
    max_cells: int = MAX_CELLS,
) -> Domain:
    """2 .. 4 attributes named a, b, c, d in any order, with at most max_cells base cells together.

    Margins sort their attributes by name while tables keep the domain's order, so the order here matters.
    """
    names = dice.shuffled("abcd")[: dice.between(min_attributes, max_attributes)]
    room, chosen = max_cells, {}
    for name in names:
        chosen[name] = hierarchies.of(dice, min(max_values, room), max_levels)
        room //= chosen[name].size(0)
    return Domain.of(chosen)


@Thrown
def contingency_tables(dice: Dice, domain: Domain, max_cells: int = 20) -> ContingencyTable:
    """A table of 1 .. 60 rows over the base values; most cells of a larger domain stay empty."""
    shape = [hierarchy.size(0) for hierarchy in domain.hierarchies]
    cells = [(dice.below(prod(shape)), dice.between(1, 3)) for _ in range(dice.between(1, max_cells))]
    places, counts = (np.array(column) for column in zip(*cells))
    codes = dict(zip(domain.attributes, np.unravel_index(places, shape)))
    return ContingencyTable.from_cells(domain, dict.fromkeys(domain.attributes, 0), codes, counts)


@Thrown
def margins(dice: Dice, domain: Domain) -> Margin:
    """Any margin of a domain: each attribute left out or at any level, suppressed included."""
    return Margin({a: dice.between(0, hierarchy.height) for a, hierarchy in domain.items() if dice.yes()})


@Thrown
def coarser_margins(dice: Dice, domain: Domain, margin: Mapping[str, int]) -> Margin:
    """A margin that a table of the given one can be rolled up to: attributes left out, levels raised."""
    return Margin({a: dice.between(level, domain.hierarchy(a).height) for a, level in margin.items() if dice.yes()})


@Thrown
def decomposable_masks(dice: Dice, domain: Domain, max_cliques: int = 7) -> tuple[Mask, ...]:
    """The maximal margins of a valid decomposable collection, in any order; every such collection can come up.

    Built as a perfect sequence, which is what decomposable means (Lauritzen, Graphical Models, Prop. 2.17): each new
    margin takes a coarsening of an earlier one, the separator, and adds only induced attributes that no earlier margin
    holds. It can refine an attribute beyond the separator, therefore, only where the separator already has all that
    earlier margins know of it.
    """
    heights = [hierarchy.height for hierarchy in domain.hierarchies]
    seen = [0] * len(heights)
    cliques: list[tuple[int, ...]] = []
    for _ in range(dice.one_of([*range(4, max_cliques + 1), 3, 2, 1, 0])):
        earlier = dice.one_of(cliques) if cliques else tuple(seen)
        clique = list(earlier)
        # a step or two at a time, else two or three margins hold everything and no separators are left to test
        for _ in range(dice.one_of([1, 1, 1, *range(sum(earlier) + 1)]) if any(earlier) else 0):
            i = dice.one_of([i for i, held in enumerate(earlier) if held])
            clique[i] = max(clique[i] - 1, 0)
        free = [i for i, height in enumerate(heights) if clique[i] == seen[i] < height]
        room = sum(heights[i] - seen[i] for i in free)
        for _ in range(dice.one_of([*range(1, 3 if cliques else room), *range(room + 1)]) if free else 0):
            i = dice.one_of(free)
            clique[i] = min(clique[i] + 1, heights[i])
        cliques.append(tuple(clique))
        seen = list(map(max, seen, clique))
    maximal = [
        clique
        for clique in dict.fromkeys(cliques)
        if any(clique) and not any(clique != other and all(map(int.__le__, clique, other)) for other in cliques)
    ]
    masks = [
        domain.mask({a: height - r for a, height, r in zip(domain.attributes, heights, clique)}) for clique in maximal
    ]
    return tuple(dice.shuffled(masks))


@Thrown
def data_cubes(dice: Dice, max_cells: int = MAX_CELLS) -> DataCube:
    return DataCube([contingency_tables.of(dice, domains.of(dice, max_cells=max_cells))])


@Thrown
def decomposable_collections(dice: Dice, max_cells: int = MAX_CELLS) -> Collection:
    cube = data_cubes.of(dice, max_cells)
    return Collection.of(cube, decomposable_masks.of(dice, cube.domain))


class Core(NamedTuple):
    """A decomposable collection in which one margin at most shows the sensitive attribute, of three attributes or more."""

    collection: Collection
    sensitive: str

    @property
    def nonsensitive(self) -> tuple[str, ...]:
        return tuple(a for a in self.collection.domain.attributes if a != self.sensitive)


@Thrown
def cores(dice: Dice, max_cells: int = MAX_CELLS, max_values: int = 5, max_levels: int = 3) -> Core:
    """A core over a random base table, which further tables may stand beside."""
    domain = domains.of(dice, 3, 4, max_values, max_levels, max_cells)
    cube = DataCube([contingency_tables.of(dice, domain)])
    sensitive = dice.one_of(domain.attributes)
    own = domain.attribute_masks[domain.index(sensitive)]
    others = [mask & ~own for mask in decomposable_masks.of(dice, domain)]
    classes = domain.mask(coarser_margins.of(dice, domain, domain.margin(dice.one_of(others)))) if others else 0
    shown = own & ((1 << domain.offsets[domain.index(sensitive)] << dice.between(0, own.bit_count())) - 1)
    return Core(Collection.of(cube, [*others, *([classes | shown] if shown else [])]), sensitive)


@Thrown
def further_masks(dice: Dice, core: Core, most: int = 4) -> tuple[Mask, ...]:
    """Up to so many margins of two or three nonsensitive attributes at any levels: cycles and stairs, often."""
    domain, masks = core.collection.domain, []
    for _ in range(dice.between(1, most)):
        shown = dice.some(dice.one_of([2, 2, min(3, len(core.nonsensitive))]), core.nonsensitive)
        masks.append(domain.mask({a: dice.between(0, domain.hierarchy(a).height - 1) for a in shown}))
    return tuple(dict.fromkeys(masks))


@Thrown
def cyclic_cores(dice: Dice) -> tuple[Core, tuple[Mask, ...]]:
    """A core and all, or most, pairs of its three or four nonsensitive attributes: few cells, and so few consistent tables.

    With counts of 0 to 5 every tenth or so proves some combination to have less than each published class.
    """
    flat, merged = [("x", "*"), ("y", "*")], [("x", "x", "*"), ("y", "y or z", "*"), ("z", "y or z", "*")]
    names = "abcd"[: dice.one_of([3, 3, 3, 4])]
    values = {a: Hierarchy.from_rows(dice.one_of([flat, flat, merged]) if len(names) < 4 else flat) for a in names}
    domain = Domain.of({**values, "s": Hierarchy.flat("pq")})
    _, *counts = (dice.one_of([0, 0, 0, 1, 2, 3, 4, 5]) for _ in range(domain.cell_count(sum(domain.attribute_masks))))
    cube = DataCube([filled(domain, [*counts, 3])])
    pairs = [domain.mask(dict.fromkeys(pair, 0)) for pair in combinations(names, 2)]
    first, *others = dice.shuffled(pairs)
    further = [*others[: dice.between(2, len(others))]]
    further += [domain.mask({a: dice.below(domain.hierarchy(a).height) for a in names[:2]})]
    sensitive = domain.mask({"s": 0, **({names[-1]: 0} if dice.yes() else {})})
    rest = [domain.mask({a: 0}) for a in names]
    return Core(Collection.of(cube, [first, sensitive, *rest]), "s"), tuple(dict.fromkeys(further))


SHAPES = {
    "empty": [],
    "singleton": [{"a": 0}],
    "everything": [{"a": 0, "b": 0, "c": 0, "d": 0}],
    "everything, generalized": [{"a": 1, "b": 0, "c": 1, "d": 0}],
    "independent": [{"a": 0}, {"b": 0}, {"c": 0}, {"d": 0}],
    "disconnected": [{"a": 0, "b": 0}, {"c": 1, "d": 0}],
    "chain": [{"a": 0, "b": 0}, {"b": 0, "c": 0}, {"c": 0, "d": 0}],
    "star": [{"a": 0, "b": 0}, {"a": 0, "c": 0}, {"a": 0, "d": 0}],
    "star through a generalized value": [{"a": 0, "b": 0}, {"a": 1, "c": 0}, {"a": 1, "d": 0}],
    "tree of triangles": [{"a": 0, "b": 0, "c": 1}, {"b": 0, "c": 0}, {"a": 1, "b": 0, "d": 0}],
    "permuted duplicates": [{"c": 0, "b": 0}, {"b": 0, "a": 0}, {"b": 0, "c": 0}, {"a": 1, "b": 0}, {"b": 0}],
    "cycle": [{"a": 0, "b": 0}, {"b": 0, "c": 0}, {"c": 0, "d": 0}, {"a": 0, "d": 0}],
    "cycle through generalized values": [{"a": 1, "b": 0}, {"b": 0, "c": 1}, {"c": 1, "d": 0}, {"a": 1, "d": 0}],
    "triangle without its clique": [{"a": 0, "b": 0}, {"b": 0, "c": 0}, {"a": 0, "c": 0}],
    "two refinements apart": [{"a": 0, "c": 1}, {"a": 1, "c": 0}, {"a": 1, "d": 0}],
    "one clique from three levels": [{"a": 0, "b": 0}, {"a": 0, "c": 1}, {"b": 0, "c": 1}],
}
"""Margins over `SHAPE_DOMAIN` in every shape that a generating class can have."""

NOT_DECOMPOSABLE = {
    "cycle",
    "cycle through generalized values",
    "triangle without its clique",
    "one clique from three levels",
}
"""The shapes that have a chordless cycle, or a clique that no margin holds."""

SHAPE_DOMAIN = Domain.of(
    {
        "c": Hierarchy.from_rows([("c0", "x", "*"), ("c1", "x", "*"), ("c2", "x", "*"), ("c3", "y", "*")]),
        "a": Hierarchy.from_rows([("a0", "u", "*"), ("a1", "v", "*"), ("a2", "u", "*")]),
        "d": Hierarchy.flat(["d0", "d1"]),
        "b": Hierarchy.flat(["b0", "b1"]),
    }
)


def maximal_cliques(graph: InteractionGraph) -> list[Mask]:
    place = {name: vertex for vertex, name in enumerate(graph.domain.induced_attributes)}
    return sorted(sum(1 << place[name] for name in clique) for clique in nx.find_cliques(graph.to_networkx()))


def shape_cube() -> DataCube:
    """The cube of 111 rows over `SHAPE_DOMAIN`, in 18 of its 48 cells."""
    counts = np.arange(48) * 7 % 13 * (np.arange(48) * 5 % 7 < 3)
    return DataCube([filled(SHAPE_DOMAIN, counts)])
