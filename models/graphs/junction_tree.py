"""Junction trees: how the cliques of a decomposable collection hang together, in perfect sequence.

A collection is decomposable when its interaction graph is chordal and every maximal clique is one of its margins. That
holds exactly when a maximum-weight spanning tree of its maximal margins, weighted by the size of their intersections,
satisfies `sum |clique| - sum |separator| = |union|` (Lauritzen, Graphical Models, 2.1.3; Jensen and Jensen 1994).
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import or_
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from models.arrays import FloatArray, read_only_copy
from models.errors import DomainMismatchError, NotDecomposableError
from models.graphs.interaction_graph import InteractionGraph, elimination_cliques
from models.tables.contingency_table import Cells, ContingencyTable
from models.tables.data_cube import DataCube
from models.tables.hierarchy import Domain, Margin, Mask, vertices_of

if TYPE_CHECKING:
    import networkx as nx


def maximal_masks(masks: Iterable[Mask]) -> list[Mask]:
    """The nonempty masks that no other contains: larger first, then by value, so that the order is reproducible."""
    maximal: list[Mask] = []
    holding: defaultdict[Mask, list[Mask]] = defaultdict(list)  # by vertex
    for mask in sorted(set(masks) - {0}, key=lambda mask: (-mask.bit_count(), mask)):
        if all(mask & ~larger for larger in holding[mask & -mask]):
            maximal.append(mask)
            for vertex in vertices_of(mask):
                holding[1 << vertex].append(mask)
    return maximal


def _spanning_tree(cliques: Sequence[Mask]) -> tuple[list[int], list[int]]:
    """Prim's algorithm from the first clique: the order in which cliques join, and the place of the parent of each, or -1.

    Of equal overlaps the earlier clique joins, and it joins the one that joined first.
    """
    overlaps, parents = [0] * len(cliques), [-1] * len(cliques)
    order: list[int] = []
    waiting = list(range(len(cliques)))
    while waiting:
        chosen = max(waiting, key=overlaps.__getitem__)
        waiting.remove(chosen)
        clique = cliques[chosen]
        for i in waiting:
            if (shared := cliques[i] & clique) and (overlap := shared.bit_count()) > overlaps[i]:
                overlaps[i], parents[i] = overlap, len(order)
        order.append(chosen)
    return order, [parents[chosen] for chosen in order]


@dataclass(frozen=True)
class JunctionTree:
    """Maximal cliques in perfect sequence, each with its parent and the separator between them.

    `parents[i] < i`, or -1 where the separator is empty: the first clique of each connected part.
    """

    domain: Domain
    cliques: tuple[Mask, ...]
    parents: tuple[int, ...]

    @classmethod
    def of(cls, domain: Domain, masks: Iterable[Mask]) -> "JunctionTree":
        """The junction tree of a generating class. Raises NotDecomposableError when there is none. O(cliques^2)."""
        maximal = maximal_masks(masks)
        order, parents = _spanning_tree(maximal)
        tree = cls(domain, tuple(maximal[i] for i in order), tuple(parents))
        excess = sum(c.bit_count() for c in tree.cliques) - sum(s.bit_count() for s in tree.separators)
        if excess != tree.vertices.bit_count():
            raise NotDecomposableError(
                "the interaction graph has a chordless cycle, or a clique that is in none of the margins"
            )
        return tree

    @cached_property
    def separators(self) -> tuple[Mask, ...]:
        """For each clique what it shares with its parent, and so with all before it."""
        return tuple(
            clique & self.cliques[parent] if parent >= 0 else 0 for clique, parent in zip(self.cliques, self.parents)
        )

    @cached_property
    def vertices(self) -> Mask:
        """All induced attributes that some clique holds."""
        return reduce(or_, self.cliques, 0)

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """For each clique the positions of its children."""
        below: list[list[int]] = [[] for _ in self.cliques]
        for child, parent in enumerate(self.parents):
            if parent >= 0:
                below[parent].append(child)
        return tuple(map(tuple, below))

    @property
    def margins(self) -> tuple[Margin, ...]:
        """The maximal margins, in perfect sequence."""
        return tuple(map(self.domain.margin, self.cliques))

    def containing(self, vertices: Mask) -> "JunctionTree":
        """The subtree of the cliques that hold all the given vertices (KG06 Prop. 7.3); connected by construction."""
        positions = [i for i, clique in enumerate(self.cliques) if vertices & ~clique == 0]
        place = {clique: position for position, clique in enumerate(positions)}
        return JunctionTree(
            self.domain,
            tuple(self.cliques[i] for i in positions),
            tuple(place.get(self.parents[i], -1) for i in positions),
        )

    def graph(self) -> "nx.Graph[Margin]":
        """The tree as networkx: nodes are margins; an edge carries `separator`, a margin. A forest if disconnected."""
        import networkx as nx

        graph: nx.Graph[Margin] = nx.Graph()
        margins = self.margins
        graph.add_nodes_from(margins)
        for child, (parent, separator) in enumerate(zip(self.parents, self.separators)):
            if parent >= 0:
                graph.add_edge(margins[parent], margins[child], separator=self.domain.margin(separator))
        return graph


# Growing: a margin M that no clique holds can join a junction tree exactly when, in each part of the cliques that is
# linked by vertices outside M, some clique holds all that the part shares with M. In a junction tree with M the part is
# one subtree, and the clique beside M holds what they share. Conversely the part is a subtree of the tree before, since
# all cliques on a path between two that share a vertex outside M have that vertex, and M joins it at that clique.


def decomposable_part(margins: Iterable[Mask]) -> tuple[Mask, ...]:
    """Each of the margins that has a junction tree together with those taken before it, in their order, without repeats."""
    part, cliques, connected = [], list[Mask](), list[Mask]()
    for margin in dict.fromkeys(margins):
        if not _hangs(margin, cliques):
            joined = [vertices for vertices in connected if vertices & margin]
            shared = [margin & vertices for vertices in joined]
            if any(two.bit_count() == 2 and (two == margin or not _hangs(two, cliques)) for two in shared):
                continue  # seen at once of most pairs: a path between the two makes a cycle
            others = [clique for clique in cliques if clique & ~margin]
            if not all(_hangs(margin & reduce(or_, group), group) for group in _linked(others, margin)):
                continue
            cliques = [*others, margin]
            connected = [vertices for vertices in connected if not vertices & margin] + [reduce(or_, joined, margin)]
        part.append(margin)
    return tuple(part)


def _hangs(shared: Mask, masks: Iterable[Mask]) -> bool:
    return any(not shared & ~mask for mask in masks)


def _linked(masks: Iterable[Mask], without: Mask = 0) -> Iterator[list[Mask]]:
    """The masks in groups that are linked by what they share beyond some vertices."""
    waiting = list(masks)
    while waiting:
        group = [waiting.pop()]
        near = group
        while near:
            linked = reduce(or_, near) & ~without
            near = [mask for mask in waiting if mask & linked]
            waiting = [mask for mask in waiting if not mask & linked]
            group += near
        yield group


# Collapsing. A vertex that lies in one maximal clique only is joined to nothing else, so that the sum over its values
# leaves the other cliques of the maximum-entropy distribution as they are. Such vertices are removed as long as there is
# one that is not asked about. What remains is the smallest set onto which the model is collapsible (Asmussen and Edwards,
# Biometrika 70, 1983; Frydenberg, Biometrika 77, 1990), and so does not depend on the order.


def collapsed(tree: JunctionTree, onto: Mask) -> frozenset[Mask]:
    """Return the maximal cliques of the smallest part with the same maximum-entropy distribution of `onto` as the tree.

    onto: induced attributes, of which those that no clique holds count for nothing.
    """
    cliques: Sequence[Mask] = tree.cliques
    while True:
        once = twice = 0
        for clique in cliques:
            twice |= once & clique
            once |= clique
        alone = once & ~twice & ~onto
        if not alone:
            return frozenset(clique for clique in cliques if clique)
        maximal = list[Mask]()
        for clique in sorted({clique & ~alone for clique in cliques}, key=int.bit_count, reverse=True):
            if all(clique & ~larger for larger in maximal):
                maximal.append(clique)
        cliques = maximal


def sides(graph: InteractionGraph, first: int, second: int) -> tuple[Mask, Mask]:
    """Return the vertices connected with each of two once the other and their common neighbours are gone."""
    shared = graph.neighbors[first] & graph.neighbors[second]
    return graph.reached(first, shared | 1 << second), graph.reached(second, shared | 1 << first)


# Independences. For a separator S of the junction tree, let C_1 .. C_m be the connected parts of the interaction graph
# without S. They are mutually independent given S (global Markov property: Lauritzen, Graphical Models, Prop. 3.19).
# These statements are the whole model: along a perfect sequence, what a clique adds is independent of what came before it
# given their separator, and these independences make up the factorization.


@dataclass(frozen=True)
class Independence:
    """At least two disjoint sets of induced attributes, by their first vertex, mutually independent given others or 0."""

    parts: tuple[Mask, ...]
    given: Mask


def independences(tree: JunctionTree) -> tuple[Independence, ...]:
    """Return one statement for each different separator, smaller ones first, whichever junction tree is given.

    >>> from models.tables.hierarchy import Domain
    >>> from models.tables.hierarchy import Hierarchy
    >>> domain = Domain.of({name: Hierarchy.flat("yn") for name in "abcd"})
    >>> independences(JunctionTree.of(domain, [0b0011, 0b0110, 0b1000]))
    (Independence(parts=(7, 8), given=0), Independence(parts=(1, 4, 8), given=2))
    """
    separators = {separator for parent, separator in zip(tree.parents, tree.separators) if parent >= 0}
    if tree.parents.count(-1) > 1:
        separators.add(0)
    statements = []
    for separator in sorted(separators, key=lambda separator: (separator.bit_count(), separator)):
        parts = [reduce(or_, group) & ~separator for group in _linked(tree.cliques, separator)]
        statements.append(Independence(tuple(sorted(parts, key=lambda part: part & -part)), separator))
    return tuple(statements)


@dataclass(frozen=True, eq=False)
class Support:
    """The cells of a margin that can be occupied, distinct and ascending, and how many base cells each stands for.

    weights: shape (len(cells),); copied in. Raises DomainMismatchError unless they are as many positive numbers.
    """

    cells: Cells
    weights: FloatArray

    def __post_init__(self) -> None:
        if self.weights.shape != (len(self.cells),):
            raise DomainMismatchError(f"{len(self.cells)} cells came with weights of shape {self.weights.shape}")
        if not np.all((self.weights > 0) & np.isfinite(self.weights)):
            raise DomainMismatchError("weights of cells must be positive numbers")
        object.__setattr__(self, "weights", read_only_copy(self.weights))


class Crossing(NamedTuple):
    """Two attributes, and two margins of them at crossing levels: whoever knows impossible combinations can subtract one."""

    first: str
    second: str
    one: Margin
    other: Margin


@dataclass(frozen=True, eq=False)
class Collection:
    """A generating class of margins over a cube that can count them, without empty margins and repeats.

    supports: the combinations of values of some attributes that are possible.
    """

    cube: DataCube
    masks: tuple[Mask, ...]
    supports: tuple[Support, ...] = ()

    @classmethod
    def of(cls, cube: DataCube, masks: Iterable[Mask], supports: Iterable[Support] = ()) -> "Collection":
        """The given margins in a reproducible order."""
        return cls(cube, tuple(sorted({mask for mask in masks if mask})), tuple(supports))

    def __repr__(self) -> str:
        return f"Collection({'; '.join(map(str, self.margins))})"

    @property
    def domain(self) -> Domain:
        """The domain of the cube."""
        return self.cube.domain

    @cached_property
    def margins(self) -> tuple[Margin, ...]:
        """The margins, in the order of `masks`."""
        return tuple(map(self.domain.margin, self.masks))

    @property
    def tables(self) -> tuple[ContingencyTable, ...]:
        """The marginals, in the order of `masks`."""
        return tuple(map(self.cube.table, self.masks))

    @cached_property
    def junction_tree(self) -> JunctionTree:
        """The junction tree of the maximal margins. Raises NotDecomposableError when there is none, or not all are free."""
        if self.supports:
            raise NotDecomposableError("combinations of values are known to be impossible, whatever the margins say")
        return JunctionTree.of(self.domain, self.masks)

    @cached_property
    def is_decomposable(self) -> bool:
        """Whether the interaction graph is chordal, every maximal clique is a margin, and there is no support."""
        try:
            _ = self.junction_tree
        except NotDecomposableError:
            return False
        return True

    @cached_property
    def interaction_graph(self) -> InteractionGraph:
        """Which induced attributes the collection shows together."""
        return InteractionGraph.of(self.domain, self.masks)

    @cached_property
    def finest_levels(self) -> Mapping[str, int]:
        """For each attribute of the domain the finest level that some margin shows; that of `*` where none does."""
        return self.domain.levels(reduce(or_, self.masks, 0))

    @cached_property
    def crossings(self) -> tuple[Crossing, ...]:
        """Each two attributes that no margin shows both as finely as others show each, with two margins that do."""
        found: dict[Mask, Crossing] = {}
        for one in self.masks:
            for *places, other in self.domain.crossings(one, self.masks):
                first, second = (self.domain.attributes[place] for place in sorted(places))
                pair = sum(self.domain.attribute_masks[place] for place in places)
                if pair not in found:
                    margins = self.domain.margin(one & pair), self.domain.margin(other & pair)
                    found[pair] = Crossing(first, second, *margins)
        return tuple(found.values())

    def within(self, mask: Mask) -> "Collection":
        """What the margins say of some induced attributes, with the supports that these hold."""
        held = (support for support in self.supports if not self.domain.mask(support.cells.margin) & ~mask)
        return Collection.of(self.cube, [clique & mask for clique in self.masks], held)

    def finest_level(self, attribute: str) -> int:
        """The finest level at which some margin shows an attribute; that of `*` when none does.

        Raises DomainMismatchError when the domain has none of that name.
        """
        return self.finest_levels[self.domain.attributes[self.domain.index(attribute)]]

    def shows(self, attribute: str) -> bool:
        """Whether some margin shows an attribute. Raises DomainMismatchError when the domain has none of that name."""
        return self.finest_level(attribute) < self.domain.hierarchy(attribute).height


# Cyclic parts. A margin is a leaf if another one holds all that it shares with the rest. Removing leaves, one after
# another, removes all margins exactly if there is a junction tree (Graham 1979; Beeri, Fagin, Maier and Yannakakis, On
# the Desirability of Acyclic Database Schemes, JACM 30(3) 1983, Theorem 3.4).


def cyclic_parts(collection: Collection, aside: Mask = 0) -> tuple[Collection, ...]:
    """Return the parts of a collection without its leaves that share no attribute, with their supports.

    aside: vertices that no leaf shares with others. There are none if the margins form a junction tree. Tables with the
    marginals of each part, and of the leaves, can be glued to one with all of them: they agree on what they share, which a
    margin of the rest shows.
    """
    supports = [collection.domain.mask(support.cells.margin) for support in collection.supports]
    margins = maximal_masks(collection.masks)

    def is_leaf(margin: Mask) -> bool:
        others = [other for other in margins if other != margin]
        shared = margin & reduce(or_, (*others, *supports), 0)
        return not shared or (not shared & aside and _hangs(shared, others))

    while leaf := next(filter(is_leaf, margins), 0):
        margins.remove(leaf)
    parts = []
    for group in _linked([*margins, *supports]):
        if held := [margin for margin in margins if margin in group]:
            held_supports = [support for support, mask in zip(collection.supports, supports) if mask in group]
            parts.append(Collection.of(collection.cube, held, held_supports))
    return tuple(parts)


def triangulated_tree(collection: Collection) -> JunctionTree:
    """Return a junction tree whose cliques cover every margin and support, each attribute at its finest published level.

    Attributes are eliminated in the order that adds the fewest edges, ties by name. O(attributes^4).
    """
    domain, finest = collection.domain, collection.finest_levels
    margins = [*collection.margins, *(support.cells.margin for support in collection.supports)]
    cliques = elimination_cliques(margin.keys() for margin in margins) or []
    return JunctionTree.of(domain, [domain.mask({name: finest[name] for name in clique}) for clique in cliques])
