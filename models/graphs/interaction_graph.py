"""Interaction graphs: which induced attributes some margin shows together, and the moves from one graph to the next."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import astuple, dataclass, replace
from functools import cached_property, reduce
from operator import or_
from typing import TYPE_CHECKING, TypeAlias

from models.tables.hierarchy import Domain, InducedAttribute, Mask, vertices_of

if TYPE_CHECKING:
    import networkx as nx


@dataclass(frozen=True)
class InteractionGraph:
    """Undirected graph on the induced attributes of a domain (KG06 6.1).

    `neighbors[v]` is the mask of the vertices adjacent to v, v itself left out; `vertices` those that are present. crossing:
    whether two margins may show two attributes at crossing levels. If not, a move adds or removes the edges between its
    first vertex and all steps of the other attribute up to its second one; each edge by itself would make levels cross.
    """

    domain: Domain
    vertices: Mask
    neighbors: tuple[Mask, ...]
    crossing: bool = True

    @classmethod
    def of(cls, domain: Domain, margins: Iterable[Mask], *, crossing: bool = True) -> "InteractionGraph":
        """The graph that a collection of margins generates."""
        vertices, neighbors = 0, [0] * domain.vertex_count
        for mask in margins:
            vertices |= mask
            for vertex in vertices_of(mask):
                neighbors[vertex] |= mask & ~(1 << vertex)
        return cls(domain, vertices, tuple(neighbors), crossing)

    def with_edges(self, vertex: int, others: Mask) -> "InteractionGraph":
        """The graph with a vertex, if it is not there yet, and edges between it and others."""
        neighbors = list(self.neighbors)
        neighbors[vertex] |= others
        for other in vertices_of(others):
            neighbors[other] |= 1 << vertex
        graph = InteractionGraph(self.domain, self.vertices | 1 << vertex, tuple(neighbors), self.crossing)
        # Finding the parts of every graph anew makes a search among 400 columns twice as long.
        joined = others | 1 << vertex
        part = reduce(or_, [self.parts[joined_vertex] for joined_vertex in vertices_of(joined)], joined)
        vars(graph)["parts"] = tuple(part if part >> v & 1 else known for v, known in enumerate(self.parts))
        return graph

    def without_edges(self, vertex: int, others: Mask) -> "InteractionGraph":
        """The graph without the edges between a vertex and others."""
        neighbors = list(self.neighbors)
        neighbors[vertex] &= ~others
        for other in vertices_of(others):
            neighbors[other] &= ~(1 << vertex)
        return InteractionGraph(self.domain, self.vertices, tuple(neighbors), self.crossing)

    def joined_steps(self, vertex: int) -> Mask:
        """The steps that a move joins with another vertex, or parts from it, when it names this one as its second."""
        return 1 << vertex | (0 if self.crossing else self.domain.coarser_steps(vertex))

    def edge(self, one: int, other: int) -> tuple[int, int]:
        """The vertices of the move that joins two vertices, each of its attribute the coarsest not joined with the other."""
        if not self.crossing:
            later, first = (one, other) if self.domain.coarser_steps(one) else (other, one)
            if self.domain.coarser_steps(later):
                return later, (self.neighbors[later - 1] & self.domain.all_steps(first)).bit_length() - 1
        return min(one, other), max(one, other)

    @cached_property
    def parts(self) -> tuple[Mask, ...]:
        """For each vertex the connected part that it is in, as a mask; 0 for one that is not present."""
        parts = [0] * self.domain.vertex_count
        for vertex in vertices_of(self.vertices):
            part = parts[vertex] or self.reached(vertex, 0)
            for other in [] if parts[vertex] else vertices_of(part):
                parts[other] = part
        return tuple(parts)

    def has_edge(self, first: int, second: int) -> bool:
        """Whether two vertices are adjacent."""
        return bool(self.neighbors[first] >> second & 1)

    def is_complete(self, mask: Mask) -> bool:
        """Whether all vertices of a mask are adjacent to each other."""
        return all(mask & ~self.neighbors[vertex] == 1 << vertex for vertex in vertices_of(mask))

    def next_apart(self, vertex: int) -> Mask:
        """Of each attribute the coarsest step that a vertex is not adjacent to, where that step is present."""
        apart = self.vertices & ~self.neighbors[vertex] & ~(1 << vertex)
        return apart & ~(apart << 1 & self.domain.later_steps)

    def separates(self, separator: Mask, first: int, second: int) -> bool:
        """Whether every path between two vertices meets the separator."""
        if separator >> first & 1 or separator >> second & 1:
            return True
        if not separator:
            return not self.parts[first] >> second & 1
        return not self.reached(first, separator) >> second & 1

    def reached(self, start: int, without: Mask) -> Mask:
        """What is connected with a vertex, itself included, once some others are gone."""
        reached = frontier = 1 << start
        while frontier:
            spread = 0
            while frontier:  # as `vertices_of`, which searches have no time for
                lowest = frontier & -frontier
                spread |= self.neighbors[lowest.bit_length() - 1]
                frontier ^= lowest
            frontier = spread & ~reached & ~without
            reached |= frontier
        return reached

    def to_networkx(self) -> "nx.Graph[InducedAttribute]":
        """The graph as networkx, on `InducedAttribute(attribute, level)`."""
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
    """Show an attribute one step finer, on its own: the vertex is joined to the coarser steps of its attribute."""

    vertex: int

    def is_allowed(self, graph: InteractionGraph) -> bool:
        """Absent, and all coarser steps present (the first step needs none)."""
        return not graph.vertices >> self.vertex & 1 and not graph.domain.coarser_steps(self.vertex) & ~graph.vertices

    def apply(self, graph: InteractionGraph) -> InteractionGraph:
        """The graph after the move."""
        return graph.with_edges(self.vertex, graph.domain.coarser_steps(self.vertex))


@dataclass(frozen=True, order=True)
class RemoveVertex:
    """Suppress the finest step of an attribute everywhere."""

    vertex: int

    def is_allowed(self, graph: InteractionGraph) -> bool:
        """Present, and no finer step present."""
        return bool(graph.vertices >> self.vertex & 1) and not graph.domain.finer_steps(self.vertex) & graph.vertices

    def apply(self, graph: InteractionGraph) -> InteractionGraph:
        """The graph after the move."""
        isolated = graph.without_edges(self.vertex, graph.neighbors[self.vertex])
        return replace(isolated, vertices=graph.vertices & ~(1 << self.vertex))


@dataclass(frozen=True, order=True)
class AddEdge:
    """Show two induced attributes together; the new clique is both with their common neighbours."""

    first: int
    second: int

    def clique(self, graph: InteractionGraph) -> Mask:
        """The maximal clique that the move creates."""
        return self.separator(graph) | 1 << self.first | graph.joined_steps(self.second)

    def separator(self, graph: InteractionGraph) -> Mask:
        """The common neighbours, which separate the two wherever the move is allowed."""
        return graph.neighbors[self.first] & graph.neighbors[self.second]

    def is_allowed(self, graph: InteractionGraph) -> bool:
        """Both present and not adjacent, each adjacent to all coarser steps of the other, and separated by their common
        neighbours (Deshpande et al. 2001).
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
        """The graph after the move."""
        return graph.with_edges(self.first, graph.joined_steps(self.second))


@dataclass(frozen=True, order=True)
class RemoveEdge:
    """No longer show two induced attributes of different attributes together."""

    first: int
    second: int

    def is_allowed(self, graph: InteractionGraph) -> bool:
        """Adjacent, of two attributes, in one maximal clique only (Wermuth 1976), and not needed by a finer step."""
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
        """What is shown with both sides wherever the move is allowed."""
        return graph.neighbors[self.first] & graph.neighbors[self.second] & ~graph.joined_steps(self.second)

    def apply(self, graph: InteractionGraph) -> InteractionGraph:
        """The graph after the move."""
        return graph.without_edges(self.first, graph.joined_steps(self.second))


Move: TypeAlias = AddVertex | AddEdge | RemoveVertex | RemoveEdge


def allowed_moves(graph: InteractionGraph) -> Iterator[Move]:
    """Every allowed move, in a reproducible order."""
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
    """The moves that part two adjacent vertices, each of its attribute the finest that is joined with the other."""
    yield RemoveEdge(first, second)
    if not graph.crossing and graph.joined_steps(first) | graph.joined_steps(second) != 1 << first | 1 << second:
        yield RemoveEdge(second, first)


def describe(move: Move, graph: InteractionGraph) -> str:
    """A move in the words of levels, for a trace: `show age at level 2 with sex at level 0`."""
    named = ["{} at level {}".format(*graph.domain.induced_attributes[vertex]) for vertex in astuple(move)]
    return ("show " if isinstance(move, AddVertex | AddEdge) else "stop showing ") + " with ".join(named)


def elimination_cliques(
    sets: Iterable[Set[str]], allowed: Callable[[Set[str]], bool] | None = None
) -> list[frozenset[str]] | None:
    """The cliques of `eliminated`, of sets of names.

    >>> [sorted(clique) for clique in elimination_cliques([{"a", "b"}, {"b", "c"}, {"c", "d"}, {"a", "d"}])]
    [['a', 'b', 'd'], ['b', 'c', 'd']]
    >>> elimination_cliques([{"a", "b"}, {"b", "c"}, {"a", "c"}], lambda clique: len(clique) < 3) is None
    True
    """
    given = list(sets)
    names = sorted(set().union(*given))
    place = {name: i for i, name in enumerate(names)}

    def named(mask: Mask) -> frozenset[str]:
        return frozenset([names[i] for i in vertices_of(mask)])

    masks = [sum(1 << place[name] for name in given_set) for given_set in given]
    cliques = eliminated(masks, allowed and (lambda mask: allowed(named(mask))))
    return None if cliques is None else list(map(named, cliques))


def eliminated(sets: Iterable[Mask], allowed: Callable[[Mask], bool] | None = None) -> list[Mask] | None:
    """Cliques of a chordal graph in which each given set is a clique, each an allowed one; None if none was found.

    Of the vertices whose clique is allowed the one that adds the fewest edges is taken out, ties by number. All maximal
    cliques of the graph are among the answer, and perhaps subsets of them. O(vertices^4). None proves nothing.

    >>> [bin(clique) for clique in eliminated([0b0011, 0b0110, 0b1100, 0b1001])]
    ['0b1011', '0b1110']
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
        if clique == remaining:  # what would follow are its subsets
            break
        remaining ^= 1 << chosen
        del fill[chosen]
        changed = 0
        for vertex in vertices_of(clique ^ 1 << chosen):
            # What gets new neighbours has them in common with each of its own.
            changed |= closed[vertex] if clique & ~closed[vertex] else 1 << vertex
            closed[vertex] = (closed[vertex] | clique) ^ 1 << chosen
        for vertex in vertices_of(changed & remaining):
            fill[vertex] = _fill(closed, vertex)
    return cliques


def _fill(closed: Mapping[int, Mask], vertex: int) -> int:
    """Twice the edges that neighbours of a vertex lack among each other."""
    clique = closed[vertex]
    return sum([(clique & ~closed[neighbour]).bit_count() for neighbour in vertices_of(clique)])
