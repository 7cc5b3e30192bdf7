"""Junction trees: the maximal cliques of a decomposable collection in perfect sequence.

A collection is decomposable if its interaction graph is chordal and every maximal clique is one of its margins. An
equivalent condition is on a maximum-weight spanning tree of its maximal margins, weighted by the size of their
intersections. The tree satisfies `sum |clique| - sum |separator| = |union|` (Lauritzen, Graphical Models, 2.1.3;
Jensen and Jensen 1994).
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, reduce
from operator import or_
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from models.arrays import FloatArray, read_only_copy
from models.errors import DomainMismatchError, NotDecomposableError
from models.frozen import frozen
from models.graphs.interaction_graph import InteractionGraph, elimination_cliques
from models.tables.contingency_table import Cells, ContingencyTable
from models.tables.data_cube import DataCube
from models.tables.hierarchy import Domain, Margin, Mask, vertices_of

if TYPE_CHECKING:
    import networkx as nx


def maximal_masks(masks: Iterable[Mask]) -> list[Mask]:
    """Return the nonempty masks that no other mask contains, larger ones first, ties by value."""
    maximal: list[Mask] = []
    holding: defaultdict[Mask, list[Mask]] = defaultdict(list)  # by vertex
    for mask in sorted(set(masks) - {0}, key=lambda mask: (-mask.bit_count(), mask)):
        if all(mask & ~larger for larger in holding[mask & -mask]):
            maximal.append(mask)
            for vertex in vertices_of(mask):
                holding[1 << vertex].append(mask)
    return maximal


def _spanning_tree(cliques: Sequence[Mask]) -> tuple[list[int], list[int]]:
    """Run Prim's algorithm from the first clique; return the order in which cliques join, and the place of each parent."""
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


@frozen
class JunctionTree:
    """Maximal cliques in perfect sequence, each with its parent and the separator between them.

    domain: attributes with their hierarchies. cliques: masks of induced attributes. parents: `parents[i] < i`, or -1
    if the separator is empty: the first clique of each connected part.
    """

    domain: Domain
    cliques: tuple[Mask, ...]
    parents: tuple[int, ...]

    @classmethod
    def of(cls, domain: Domain, masks: Iterable[Mask]) -> "JunctionTree":
        """Return the junction tree of a generating class. Raises NotDecomposableError if there is none. O(cliques^2)."""
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
        """Vertices that each clique shares with its parent, and so with all cliques before it."""
        return tuple(
            clique & self.cliques[parent] if parent >= 0 else 0 for clique, parent in zip(self.cliques, self.parents)
        )

    @cached_property
    def vertices(self) -> Mask:
        """Mask of all induced attributes of the cliques."""
        return reduce(or_, self.cliques, 0)

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """Positions of the children of each clique."""
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
        """Return the subtree of the cliques that hold all given vertices (KG06 Prop. 7.3); connected by construction."""
        positions = [i for i, clique in enumerate(self.cliques) if vertices & ~clique == 0]
        place = {clique: position for position, clique in enumerate(positions)}
        return JunctionTree(
            self.domain,
            tuple(self.cliques[i] for i in positions),
            tuple(place.get(self.parents[i], -1) for i in positions),
        )

    def graph(self) -> "nx.Graph[Margin]":
        """Return the tree, or forest, as networkx: nodes are margins, and each edge carries its `separator`, a margin."""
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
    """Return the margins that have a junction tree together with those taken before them, in order, without repeats."""
    part, cliques, connected = [], list[Mask](), list[Mask]()
    for margin in dict.fromkeys(margins):
        if not _hangs(margin, cliques):
            joined = [vertices for vertices in connected if vertices & margin]
            shared = [margin & vertices for vertices in joined]
            if any(two.bit_count() == 2 and (two == margin or not _hangs(two, cliques)) for two in shared):
                continue  # quick test that settles most pairs: a path between the two makes a cycle
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
    """Yield the masks in groups that are connected by vertices outside `without`."""
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
    """Return the maximal cliques of the smallest part of the tree with the same maximum-entropy distribution of `onto`.

    onto: induced attributes; vertices that no clique holds are ignored.
    """
    cliques: Sequence[Mask] = tree.cliques
    while True:
        once = twice = 0
        for clique in cliques:
            twice |= once & clique
            once |= clique
        removable = once & ~twice & ~onto
        if not removable:
            return frozenset(clique for clique in cliques if clique)
        maximal = [clique for clique in cliques if not clique & removable]
        for clique in sorted({clique & ~removable for clique in cliques if clique & removable}, key=int.bit_count)[
            ::-1
        ]:
            if all(clique & ~larger for larger in maximal):
                maximal.append(clique)
        cliques = maximal


def is_collapsible(part: Sequence[Mask], margins: Iterable[Mask]) -> bool:
    """Return whether cliques have the same maximum-entropy distribution beside other margins as by themselves.

    They do if each piece of the other margins, connected outside the cliques, meets their vertices within one of them
    (Asmussen and Edwards, Biometrika 70, 1983). Such a piece may be left out, or made coarser.
    """
    inside, pieces = reduce(or_, part, 0), list[Mask]()
    for mask in margins:
        near = [piece for piece in pieces if piece & mask & ~inside]
        pieces = [piece for piece in pieces if piece not in near] + [reduce(or_, near, mask)]
    return all(any(not piece & inside & ~clique for clique in part) for piece in pieces)


# Independences. For a separator S of the junction tree, let C_1 .. C_m be the connected parts of the interaction graph
# without S. They are mutually independent given S (global Markov property: Lauritzen, Graphical Models, Prop. 3.19).
# These statements are the whole model: along a perfect sequence, what a clique adds is independent of what came before it
# given their separator, and these independences make up the factorization.


@frozen
class Independence:
    """Disjoint sets of induced attributes, two or more, ordered by first vertex, mutually independent given `condition`."""

    parts: tuple[Mask, ...]
    condition: Mask


def independences(tree: JunctionTree) -> tuple[Independence, ...]:
    """Return one independence statement per distinct separator, smaller ones first; the junction tree does not matter."""
    separators = {separator for parent, separator in zip(tree.parents, tree.separators) if parent >= 0}
    if tree.parents.count(-1) > 1:
        separators.add(0)
    statements = []
    for separator in sorted(separators, key=lambda separator: (separator.bit_count(), separator)):
        parts = [reduce(or_, group) & ~separator for group in _linked(tree.cliques, separator)]
        statements.append(Independence(tuple(sorted(parts, key=lambda part: part & -part)), separator))
    return tuple(statements)


@frozen(eq=False)
class Support:
    """Possible cells of a margin, distinct and ascending, with the number of base cells that each stands for.

    cells: the cells that can be occupied. weights: positive numbers, shape (len(cells),); copied in. Raises
    DomainMismatchError if the weights are not positive numbers, one for each cell.
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
    """Two attributes and two margins that show them at crossing levels.

    A reader who knows impossible combinations can subtract one margin from the other.
    """

    first: str
    second: str
    one: Margin
    other: Margin


@frozen(eq=False)
class Collection:
    """Generating class of margins over a cube that can count them, without empty margins and repeats.

    cube: the tables that the margins are counted from. masks: the margins, ascending. supports: the possible
    combinations of values of some attributes.
    """

    cube: DataCube
    masks: tuple[Mask, ...]
    supports: tuple[Support, ...] = ()

    @classmethod
    def of(cls, cube: DataCube, masks: Iterable[Mask], supports: Iterable[Support] = ()) -> "Collection":
        """Return the collection of the given margins, in a reproducible order."""
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
        """The junction tree of the maximal margins. Raises NotDecomposableError without one, or if there are supports."""
        if self.supports:
            raise NotDecomposableError("combinations of values are known to be impossible, whatever the margins say")
        return JunctionTree.of(self.domain, self.masks)

    @cached_property
    def is_decomposable(self) -> bool:
        """True if the interaction graph is chordal, every maximal clique is a margin, and there is no support."""
        try:
            _ = self.junction_tree
        except NotDecomposableError:
            return False
        return True

    @cached_property
    def interaction_graph(self) -> InteractionGraph:
        """Graph of the induced attributes that the collection shows together."""
        return InteractionGraph.of(self.domain, self.masks)

    @cached_property
    def finest_levels(self) -> Mapping[str, int]:
        """Finest level of each attribute of the domain that some margin shows; the level of `*` if none does."""
        return self.domain.levels(reduce(or_, self.masks, 0))

    @cached_property
    def crossings(self) -> tuple[Crossing, ...]:
        """Pairs of attributes that two margins show at crossing levels, and no margin as finely, each with the two."""
        crossing_of: dict[Mask, Crossing] = {}
        for one in self.masks:
            for *places, other in self.domain.crossings(one, self.masks):
                first, second = (self.domain.attributes[place] for place in sorted(places))
                pair = sum(self.domain.attribute_masks[place] for place in places)
                if pair not in crossing_of:
                    margins = self.domain.margin(one & pair), self.domain.margin(other & pair)
                    crossing_of[pair] = Crossing(first, second, *margins)
        return tuple(crossing_of.values())

    def within(self, mask: Mask) -> "Collection":
        """Return the collection restricted to some induced attributes, with the supports that lie within them."""
        held = (support for support in self.supports if not self.domain.mask(support.cells.margin) & ~mask)
        return Collection.of(self.cube, [clique & mask for clique in self.masks], held)

    def finest_level(self, attribute: str) -> int:
        """Return the finest level at which some margin shows an attribute; the level of `*` if none does.

        Raises DomainMismatchError if the domain has no such attribute.
        """
        return self.finest_levels[self.domain.attributes[self.domain.index(attribute)]]

    def shows(self, attribute: str) -> bool:
        """Return whether some margin shows an attribute. Raises DomainMismatchError for an attribute of another domain."""
        return self.finest_level(attribute) < self.domain.hierarchy(attribute).height


# Cyclic parts. A margin is a leaf if another one holds all that it shares with the rest. Removing leaves, one after
# another, removes all margins exactly if there is a junction tree (Graham 1979; Beeri, Fagin, Maier and Yannakakis, On
# the Desirability of Acyclic Database Schemes, JACM 30(3) 1983, Theorem 3.4).


def cyclic_parts(collection: Collection, aside: Mask = 0) -> tuple[Collection, ...]:
    """Return the parts of a collection without its leaves that share no attribute, with their supports.

    aside: vertices that no leaf shares with others. There are no parts if the margins form a junction tree. Tables
    with the marginals of each part and of the leaves can be glued to one table with all marginals. They agree on their
    common attributes, which a margin of the rest shows.
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
    """Return a junction tree whose cliques cover all margins and supports, each attribute at its finest published level."""
    domain, finest = collection.domain, collection.finest_levels
    margins = [*collection.margins, *(support.cells.margin for support in collection.supports)]
    cliques = elimination_cliques(margin.keys() for margin in margins) or []
    return JunctionTree.of(domain, [domain.mask({name: finest[name] for name in clique}) for clique in cliques])
