"""The moves between valid decomposable collections, with the eight rules that keep them so (KG06 6.2).

A collection is valid when every margin holds a prefix L_1 .. L_r of each attribute it holds. Each move is allowed
exactly when its result is again valid and decomposable.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

from models.graphs.interaction_graph import InteractionGraph
from models.tables.domain import Mask, vertices_of


@dataclass(frozen=True, order=True)
class AddVertex:
    """Show an attribute one step finer, on its own: the vertex is joined to the coarser steps of its attribute."""

    vertex: int

    def is_allowed(self, graph: InteractionGraph) -> bool:
        """Absent, and all coarser steps present (the first step needs none)."""
        return not graph.vertices >> self.vertex & 1 and not graph.domain.coarser_steps(self.vertex) & ~graph.vertices

    def apply(self, graph: InteractionGraph) -> InteractionGraph:
        """The graph after the move."""
        return graph.with_vertex(self.vertex, graph.domain.coarser_steps(self.vertex))


@dataclass(frozen=True, order=True)
class RemoveVertex:
    """Suppress the finest step of an attribute everywhere."""

    vertex: int

    def is_allowed(self, graph: InteractionGraph) -> bool:
        """Present, and no finer step present."""
        return bool(graph.vertices >> self.vertex & 1) and not graph.domain.finer_steps(self.vertex) & graph.vertices

    def apply(self, graph: InteractionGraph) -> InteractionGraph:
        """The graph after the move."""
        return graph.without_vertex(self.vertex)


@dataclass(frozen=True, order=True)
class AddEdge:
    """Show two induced attributes together; the new clique is both with their common neighbours."""

    first: int
    second: int

    def clique(self, graph: InteractionGraph) -> Mask:
        """The maximal clique that the move creates."""
        return self.separator(graph) | 1 << self.first | 1 << self.second

    def separator(self, graph: InteractionGraph) -> Mask:
        """The common neighbours, which separate the two wherever the move is allowed."""
        return graph.neighbors[self.first] & graph.neighbors[self.second]

    def respects_steps(self, graph: InteractionGraph) -> bool:
        """Both present and not adjacent, and each adjacent to all coarser steps of the other."""
        present = graph.vertices >> self.first & 1 and graph.vertices >> self.second & 1
        steps = graph.domain.coarser_steps
        return (
            bool(present)
            and not graph.has_edge(self.first, self.second)
            and not steps(self.first) & ~graph.neighbors[self.second]
            and not steps(self.second) & ~graph.neighbors[self.first]
        )

    def is_allowed(self, graph: InteractionGraph) -> bool:
        """The steps are respected, and the common neighbours separate the two (Deshpande et al. 2001)."""
        return self.respects_steps(graph) and graph.separates(self.separator(graph), self.first, self.second)

    def apply(self, graph: InteractionGraph) -> InteractionGraph:
        """The graph after the move."""
        return graph.with_edge(self.first, self.second)


@dataclass(frozen=True, order=True)
class RemoveEdge:
    """No longer show two induced attributes of different attributes together."""

    first: int
    second: int

    def is_allowed(self, graph: InteractionGraph) -> bool:
        """Adjacent, of two attributes, in one maximal clique only (Wermuth 1976), and not needed by a finer step."""
        finer = graph.domain.finer_steps
        first, second = graph.neighbors[self.first], graph.neighbors[self.second]
        return (
            graph.has_edge(self.first, self.second)
            and not graph.domain.same_attribute(self.first, self.second)
            and not finer(self.first) & second
            and not finer(self.second) & first
            and graph.is_complete(first & second)
        )

    def apply(self, graph: InteractionGraph) -> InteractionGraph:
        """The graph after the move."""
        return graph.without_edge(self.first, self.second)


Move: TypeAlias = AddVertex | AddEdge | RemoveVertex | RemoveEdge


def allowed_moves(graph: InteractionGraph) -> Iterator[Move]:
    """Every allowed move, in a reproducible order."""
    for vertex in range(graph.domain.vertex_count):
        for move in (AddVertex(vertex), RemoveVertex(vertex)):
            if move.is_allowed(graph):
                yield move
    for first, second in combinations(vertices_of(graph.vertices), 2):
        for edge in (AddEdge(first, second), RemoveEdge(first, second)):
            if edge.is_allowed(graph):
                yield edge


def describe(move: Move, graph: InteractionGraph) -> str:
    """A move in the words of levels, for a trace: `show age at level 2 with sex at level 0`."""
    names = graph.domain.induced_attributes
    match move:
        case AddVertex(vertex):
            return "show {} at level {}".format(*names[vertex])
        case RemoveVertex(vertex):
            return "stop showing {} at level {}".format(*names[vertex])
        case AddEdge(first, second):
            return "show {} at level {} with {} at level {}".format(*names[first], *names[second])
        case RemoveEdge(first, second):
            return "stop showing {} at level {} with {} at level {}".format(*names[first], *names[second])
