"""Interaction graphs: the induced attributes that margins show together, and the moves from one graph to the next."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import astuple, dataclass, replace
from functools import cached_property, reduce
from operator import or_
from typing import TYPE_CHECKING, TypeAlias

from models.frozen import frozen
from models.tables.hierarchy import Domain, InducedAttribute, Mask, vertices_of

if TYPE_CHECKING:
    import networkx as nx


@frozen
class InteractionGraph:
    """Undirected graph on the induced attributes of a domain (KG06 6.1).

    domain: attributes with their hierarchies. vertices: mask of the vertices that are present. neighbors: for each
    vertex the mask of its adjacent vertices, without itself. crossing: whether two margins may show two attributes at
    crossing levels. If not, a move adds or removes the edges between its first vertex and all steps of the other
    attribute up to its second vertex. Single edges would make levels cross.
    """

    domain: Domain
    vertices: Mask
    neighbors: tuple[Mask, ...]
    crossing: bool = True

    @classmethod
    def of(cls, domain: Domain, margins: Iterable[Mask], *, crossing: bool = True) -> "InteractionGraph":
        """Return the graph that a collection of margins generates."""
        vertices, neighbors = 0, [0] * domain.vertex_count
        for mask in margins:
            vertices |= mask
            for vertex in vertices_of(mask):
                neighbors[vertex] |= mask & ~(1 << vertex)
        return cls(domain, vertices, tuple(neighbors), crossing)

    def with_edges(self, vertex: int, others: Mask) -> "InteractionGraph":
        """Return the graph with a vertex, which may be new, and edges from it to `others`."""
        neighbors = list(self.neighbors)
        neighbors[vertex] |= others
        for other in vertices_of(others):
            neighbors[other] |= 1 << vertex
        graph = InteractionGraph(self.domain, self.vertices | 1 << vertex, tuple(neighbors), self.crossing)
        # The connected parts are updated, because computing them anew doubles the time of a search among 400 columns.
        joined = others | 1 << vertex
        part = reduce(or_, [self.parts[joined_vertex] for joined_vertex in vertices_of(joined)], joined)
        vars(graph)["parts"] = tuple(part if part >> v & 1 else old_part for v, old_part in enumerate(self.parts))
        return graph

    def without_edges(self, vertex: int, others: Mask) -> "InteractionGraph":
        """Return the graph without the edges from a vertex to `others`."""
        neighbors = list(self.neighbors)
        neighbors[vertex] &= ~others
        for other in vertices_of(others):
            neighbors[other] &= ~(1 << vertex)
        return InteractionGraph(self.domain, self.vertices, tuple(neighbors), self.crossing)

    def joined_steps(self, vertex: int) -> Mask:
        """Return the steps that a move joins or parts if it names `vertex` as its second vertex."""
        return 1 << vertex | (0 if self.crossing else self.domain.coarser_steps(vertex))

    def edge(self, one: int, other: int) -> tuple[int, int]:
        """Return the vertices of the move that joins two, each the coarsest of its attribute not joined with the other."""
        if not self.crossing:
            later, first = (one, other) if self.domain.coarser_steps(one) else (other, one)
            if self.domain.coarser_steps(later):
                return later, (self.neighbors[later - 1] & self.domain.all_steps(first)).bit_length() - 1
        return min(one, other), max(one, other)

    @cached_property
    def parts(self) -> tuple[Mask, ...]:
        """Mask of the connected part of each vertex; 0 for a vertex that is not present."""
        parts = [0] * self.domain.vertex_count
        for vertex in vertices_of(self.vertices):
            part = parts[vertex] or self.reached(vertex, 0)
            for other in [] if parts[vertex] else vertices_of(part):
                parts[other] = part
        return tuple(parts)

    def has_edge(self, first: int, second: int) -> bool:
        """Return whether two vertices are adjacent."""
        return bool(self.neighbors[first] >> second & 1)

    def is_complete(self, mask: Mask) -> bool:
        """Return whether all vertices of a mask are adjacent to each other."""
        return all(mask & ~self.neighbors[vertex] == 1 << vertex for vertex in vertices_of(mask))

    def next_apart(self, vertex: int) -> Mask:
        """Return for each attribute the coarsest step that is not adjacent to a vertex, if that step is present."""
        apart = self.vertices & ~self.neighbors[vertex] & ~(1 << vertex)
        return apart & ~(apart << 1 & self.domain.later_steps)

    def separates(self, separator: Mask, first: int, second: int) -> bool:
        """Return whether every path between two vertices meets the separator."""
        if separator >> first & 1 or separator >> second & 1:
            return True
        if not separator:
            return not self.parts[first] >> second & 1
        return not self.reached(first, separator) >> second & 1

    def reached(self, start: int, without: Mask) -> Mask:
        """Return the vertices connected with `start`, itself included, after removing the vertices `without`."""
        reached = frontier = 1 << start
        while frontier:
            spread = 0
            while frontier:  # `vertices_of` written out, because searches spend most of their time here
                lowest = frontier & -frontier
                spread |= self.neighbors[lowest.bit_length() - 1]
                frontier ^= lowest
            frontier = spread & ~reached & ~without
            reached |= frontier
        return reached

    def to_networkx(self) -> "nx.Graph[InducedAttribute]":
        """Return the graph as networkx, on `InducedAttribute(attribute, level)`."""
        import networkx as nx

        names, present = self.domain.induced_attributes, list(vertices_of(self.vertices))
        graph: nx.Graph[InducedAttribute] = nx.Graph()
        graph.add_nodes_from(names[vertex] for vertex in present)
        graph.add_edges_from((names[v], names[other]) for v in present for other in vertices_of(self.neighbors[v]))
        return graph


# The moves between valid decomposable collections, with the eight rules that keep them so (KG06 6.2).
#
# A collection is valid if margins hold prefixes L_1 .. L_r of attributes. A move is allowed if its result is valid.


@dataclass(frozen=True, order=True)
class AddVertex:
    """Show an attribute one step finer by itself; the vertex is joined to the coarser steps of its attribute."""

    vertex: int

    def is_allowed(self, graph: InteractionGraph) -> bool:
        """Return whether the vertex is absent and all coarser steps are present."""
        return not graph.vertices >> self.vertex & 1 and not graph.domain.coarser_steps(self.vertex) & ~graph.vertices

    def apply(self, graph: InteractionGraph) -> InteractionGraph:
        """Return the graph after the move."""
        return graph.with_edges(self.vertex, graph.domain.coarser_steps(self.vertex))


@dataclass(frozen=True, order=True)
class RemoveVertex:
    """Suppress the finest step of an attribute everywhere."""

    vertex: int

    def is_allowed(self, graph: InteractionGraph) -> bool:
        """Return whether the vertex is present and no finer step is."""
        return bool(graph.vertices >> self.vertex & 1) and not graph.domain.finer_steps(self.vertex) & graph.vertices

    def apply(self, graph: InteractionGraph) -> InteractionGraph:
        """Return the graph after the move."""
        isolated = graph.without_edges(self.vertex, graph.neighbors[self.vertex])
        return replace(isolated, vertices=graph.vertices & ~(1 << self.vertex))


@dataclass(frozen=True, order=True)
class AddEdge:
    """Show two induced attributes together; the new clique is both vertices and their common neighbours."""

    first: int
    second: int

    def clique(self, graph: InteractionGraph) -> Mask:
        """Return the maximal clique that the move creates."""
        return self.separator(graph) | 1 << self.first | graph.joined_steps(self.second)

    def separator(self, graph: InteractionGraph) -> Mask:
        """Return the common neighbours, which separate the two vertices if the move is allowed."""
        return graph.neighbors[self.first] & graph.neighbors[self.second]

    def is_allowed(self, graph: InteractionGraph) -> bool:
        """Return whether both vertices are present, not adjacent, and separated by their common neighbours (Deshpande
        et al. 2001).

        Each must also be adjacent to all coarser steps of the other.
        """
        first, second, steps = graph.neighbors[self.first], graph.neighbors[self.second], graph.domain.coarser_steps
        joined = graph.joined_steps(self.second)
        coarsest = (joined & -joined).bit_length() - 1
        return (
            bool(graph.vertices >> self.first & graph.vertices >> self.second & 1)
            and not first & joined
            and not steps(self.first) & ~second
            and not steps(self.second) & ~joined & ~first
            and not first & ~second & graph.neighbors[coarsest]
            and (graph.crossing or graph.edge(self.first, coarsest) == (self.first, self.second))
            and graph.separates(first & second, self.first, self.second)
        )

    def apply(self, graph: InteractionGraph) -> InteractionGraph:
        """Return the graph after the move."""
        return graph.with_edges(self.first, graph.joined_steps(self.second))


@dataclass(frozen=True, order=True)
class RemoveEdge:
    """Stop showing two induced attributes of different attributes together."""

    first: int
    second: int

    def is_allowed(self, graph: InteractionGraph) -> bool:
        """Return whether the vertices are adjacent, of two attributes, and in one maximal clique only (Wermuth 1976).

        No finer step may need the edge.
        """
        finer, parted = graph.domain.finer_steps, graph.joined_steps(self.second)
        first, second = graph.neighbors[self.first], graph.neighbors[(parted & -parted).bit_length() - 1]
        return (
            graph.has_edge(self.first, self.second)
            and not graph.domain.all_steps(self.first) >> self.second & 1
            and not finer(self.first) & second
            and not finer(self.second) & first
            and graph.is_complete(first & second)
        )

    def separator(self, graph: InteractionGraph) -> Mask:
        """Return the common neighbours that stay joined with both sides."""
        return graph.neighbors[self.first] & graph.neighbors[self.second] & ~graph.joined_steps(self.second)

    def apply(self, graph: InteractionGraph) -> InteractionGraph:
        """Return the graph after the move."""
        return graph.without_edges(self.first, graph.joined_steps(self.second))


Move: TypeAlias = AddVertex | AddEdge | RemoveVertex | RemoveEdge


def allowed_moves(graph: InteractionGraph) -> Iterator[Move]:
    """Yield every allowed move of a graph, in a reproducible order."""
    for vertex in range(graph.domain.vertex_count):
        for move in (AddVertex(vertex), RemoveVertex(vertex)):
            if move.is_allowed(graph):
                yield move
    apart = {vertex: graph.next_apart(vertex) for vertex in vertices_of(graph.vertices)}
    for first in apart:
        near = (apart[first] | graph.neighbors[first] & ~graph.domain.all_steps(first)) >> (first + 1) << (first + 1)
        for second in vertices_of(near):
            if graph.has_edge(first, second):
                yield from (edge for edge in partings(graph, first, second) if edge.is_allowed(graph))
            elif apart[second] >> first & 1 and (edge := AddEdge(*graph.edge(first, second))).is_allowed(graph):
                yield edge


def partings(graph: InteractionGraph, first: int, second: int) -> Iterator[RemoveEdge]:
    """Yield the moves that part two adjacent vertices, each the finest of its attribute that is joined with the other."""
    yield RemoveEdge(first, second)
    if not graph.crossing and graph.joined_steps(first) | graph.joined_steps(second) != 1 << first | 1 << second:
        yield RemoveEdge(second, first)


def describe(move: Move, graph: InteractionGraph) -> str:
    """Return a move in the words of levels, such as `show age at level 2 with sex at level 0`."""
    named = ["{} at level {}".format(*graph.domain.induced_attributes[vertex]) for vertex in astuple(move)]
    return ("show " if isinstance(move, AddVertex | AddEdge) else "stop showing ") + " with ".join(named)


def elimination_cliques(
    sets: Iterable[Set[str]], allowed: Callable[[Set[str]], bool] | None = None
) -> list[frozenset[str]] | None:
    """Return the cliques of `eliminated` for sets of names."""
    name_sets = list(sets)
    names = sorted(set().union(*name_sets))
    place = {name: i for i, name in enumerate(names)}

    def named(mask: Mask) -> frozenset[str]:
        return frozenset([names[i] for i in vertices_of(mask)])

    masks = [sum(1 << place[name] for name in given_set) for given_set in name_sets]
    cliques = eliminated(masks, allowed and (lambda mask: allowed(named(mask))))
    return None if cliques is None else list(map(named, cliques))


def eliminated(sets: Iterable[Mask], allowed: Callable[[Mask], bool] | None = None) -> list[Mask] | None:
    """Return cliques of a chordal graph in which each given set is a clique; None if no such graph was found.

    allowed: the condition on each clique. Vertices are eliminated in the order that adds the fewest edges among
    allowed cliques, ties by number. The result holds all maximal cliques, and perhaps subsets of them. O(vertices^4).
    None proves nothing.
    """
    closed: dict[int, Mask] = {}  # each vertex and its neighbours
    remaining = 0
    for mask in sets:
        remaining |= mask
        for vertex in vertices_of(mask):
            closed[vertex] = closed.get(vertex, 0) | mask
    fill = {vertex: _fill(closed, vertex) for vertex in vertices_of(remaining)}
    cliques = []
    while remaining:
        allowed_vertices = [vertex for vertex in fill if allowed is None or allowed(closed[vertex])]
        if not allowed_vertices:
            return None
        chosen = min(allowed_vertices, key=lambda vertex: (fill[vertex], vertex))
        clique = closed[chosen]
        cliques.append(clique)
        if clique == remaining:  # all further cliques would be its subsets
            break
        remaining ^= 1 << chosen
        del fill[chosen]
        changed = 0
        for vertex in vertices_of(clique ^ 1 << chosen):
            # A vertex with new neighbours changes the fill of all its neighbours.
            changed |= closed[vertex] if clique & ~closed[vertex] else 1 << vertex
            closed[vertex] = (closed[vertex] | clique) ^ 1 << chosen
        for vertex in vertices_of(changed & remaining):
            fill[vertex] = _fill(closed, vertex)
    return cliques


def _fill(closed: Mapping[int, Mask], vertex: int) -> int:
    """Return twice the number of edges that neighbours of a vertex lack among each other."""
    clique = closed[vertex]
    return sum([(clique & ~closed[neighbour]).bit_count() for neighbour in vertices_of(clique)])
