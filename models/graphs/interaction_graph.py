"""Interaction graphs: which induced attributes some margin shows together."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from models.tables.domain import Domain, InducedAttribute, Mask, vertices_of

if TYPE_CHECKING:
    import networkx as nx


@dataclass(frozen=True)
class InteractionGraph:
    """Undirected graph on the induced attributes of a domain (KG06 6.1).

    `neighbors[v]` is the mask of the vertices adjacent to v, v itself left out; `vertices` those that are present.
    """

    domain: Domain
    vertices: Mask
    neighbors: tuple[Mask, ...]

    @classmethod
    def of(cls, domain: Domain, margins: Iterable[Mask]) -> "InteractionGraph":
        """The graph that a collection of margins generates."""
        vertices, neighbors = 0, [0] * domain.vertex_count
        for mask in margins:
            vertices |= mask
            for vertex in vertices_of(mask):
                neighbors[vertex] |= mask & ~(1 << vertex)
        return cls(domain, vertices, tuple(neighbors))

    def _with_neighbors(self, vertices: Mask, changed: Mapping[int, Mask]) -> "InteractionGraph":
        neighbors = list(self.neighbors)
        for vertex, adjacent in changed.items():
            neighbors[vertex] = adjacent
        return InteractionGraph(self.domain, vertices, tuple(neighbors))

    def with_vertex(self, vertex: int, joined_to: Mask) -> "InteractionGraph":
        """The graph with one more vertex, adjacent to the given ones."""
        bit = 1 << vertex
        changed = {v: self.neighbors[v] | bit for v in vertices_of(joined_to)} | {vertex: joined_to}
        return self._telling_parts(self._with_neighbors(self.vertices | bit, changed), joined_to | bit)

    def without_vertex(self, vertex: int) -> "InteractionGraph":
        """The graph without a vertex and its edges."""
        bit = 1 << vertex
        changed = {v: self.neighbors[v] & ~bit for v in vertices_of(self.neighbors[vertex])} | {vertex: 0}
        return self._with_neighbors(self.vertices & ~bit, changed)

    def with_edge(self, first: int, second: int) -> "InteractionGraph":
        """The graph with one more edge."""
        a, b = self.neighbors[first] | 1 << second, self.neighbors[second] | 1 << first
        return self._telling_parts(self._with_neighbors(self.vertices, {first: a, second: b}), 1 << first | 1 << second)

    def without_edge(self, first: int, second: int) -> "InteractionGraph":
        """The graph without an edge."""
        a, b = self.neighbors[first] & ~(1 << second), self.neighbors[second] & ~(1 << first)
        return self._with_neighbors(self.vertices, {first: a, second: b})

    @cached_property
    def parts(self) -> tuple[Mask, ...]:
        """For each vertex the connected part that it is in, as a mask; 0 for one that is not present."""
        parts = [0] * self.domain.vertex_count
        for vertex in vertices_of(self.vertices):
            if not parts[vertex]:
                part = self.reached(vertex, 0)
                for other in vertices_of(part):
                    parts[other] = part
        return tuple(parts)

    def _telling_parts(self, larger: "InteractionGraph", joined: Mask) -> "InteractionGraph":
        """A graph with more edges, all among some vertices; it knows its parts if this one does."""
        if "parts" in vars(self):
            whole = joined
            for vertex in vertices_of(joined):
                whole |= self.parts[vertex]
            parts = self.parts
            if any(parts[vertex] != whole for vertex in vertices_of(joined)):
                parts = tuple(whole if whole >> vertex & 1 else part for vertex, part in enumerate(parts))
            vars(larger)["parts"] = parts
        return larger

    def has_edge(self, first: int, second: int) -> bool:
        """Whether two vertices are adjacent."""
        return bool(self.neighbors[first] >> second & 1)

    def is_complete(self, mask: Mask) -> bool:
        """Whether all vertices of a mask are adjacent to each other."""
        return all(mask & ~self.neighbors[vertex] == 1 << vertex for vertex in vertices_of(mask))

    def separates(self, separator: Mask, first: int, second: int) -> bool:
        """Whether every path between two vertices meets the separator."""
        if separator >> first & 1 or separator >> second & 1:
            return True
        if not separator and "parts" in vars(self):
            return not self.parts[first] >> second & 1
        reached = frontier = 1 << first
        while frontier:
            spread = 0
            while frontier:  # as `vertices_of`, which searches have no time for
                lowest = frontier & -frontier
                spread |= self.neighbors[lowest.bit_length() - 1]
                frontier ^= lowest
            frontier = spread & ~reached & ~separator
            reached |= frontier
            if reached >> second & 1:
                return False
        return True

    def reached(self, start: int, without: Mask) -> Mask:
        """What is connected with a vertex, itself included, once some others are gone."""
        reached = frontier = 1 << start
        while frontier:
            spread = 0
            for vertex in vertices_of(frontier):
                spread |= self.neighbors[vertex]
            frontier = spread & ~reached & ~without
            reached |= frontier
        return reached

    def _elimination(self) -> tuple[list[Mask], bool]:
        """Maximum cardinality search (Tarjan and Yannakakis 1984): the earlier neighbours of each vertex with the
        vertex itself, in search order, and whether all of them are complete, that is, the graph chordal.
        """
        closed: list[Mask] = []
        visited, waiting, chordal = 0, set(vertices_of(self.vertices)), True
        while waiting:
            vertex = max(waiting, key=lambda v: ((self.neighbors[v] & visited).bit_count(), -v))
            waiting.remove(vertex)
            earlier = self.neighbors[vertex] & visited
            chordal = chordal and self.is_complete(earlier)
            closed.append(earlier | 1 << vertex)
            visited |= 1 << vertex
        return closed, chordal

    @property
    def is_chordal(self) -> bool:
        """Whether every cycle longer than three has a chord."""
        return self._elimination()[1]

    def chordal_cliques(self) -> list[Mask]:
        """The maximal cliques, in the order the search finds them. Meaningful for chordal graphs only."""
        closed, _ = self._elimination()
        return [c for i, c in enumerate(closed) if not any(c & ~other == 0 for other in closed[i + 1 :])]

    def to_networkx(self) -> "nx.Graph[InducedAttribute]":
        """The graph as networkx, on `InducedAttribute(attribute, level)`."""
        names = self.domain.induced_attributes
        import networkx as nx

        graph: nx.Graph[InducedAttribute] = nx.Graph()
        graph.add_nodes_from(names[vertex] for vertex in vertices_of(self.vertices))
        for vertex in vertices_of(self.vertices):
            later = self.neighbors[vertex] >> (vertex + 1) << (vertex + 1)
            graph.add_edges_from((names[vertex], names[other]) for other in vertices_of(later))
        return graph
