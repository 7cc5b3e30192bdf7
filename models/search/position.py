"""Where a search is: a valid decomposable collection with its value, and what a move makes of it.

A move touches the cliques around its vertices alone, so value, graph and cliques are brought up to date, not computed
again.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from models.graphs.collapse import sides
from models.graphs.collection import Collection
from models.graphs.interaction_graph import InteractionGraph
from models.graphs.junction_tree import JunctionTree, maximal_masks
from models.graphs.moves import AddEdge, AddVertex, Move, RemoveEdge, RemoveVertex
from models.inference.maximum_entropy import MaximumEntropy
from models.search.objective import LEAST_GAIN
from models.search.wanted import Measure, WantedAnalyses
from models.tables.data_cube import DataCube
from models.tables.domain import Mask


class Change(NamedTuple):
    """What a move changes: KL divergence saved in nats, free parameters added, and the clique it makes (0: none)."""

    divergence: float
    parameters: int
    clique: Mask


@dataclass(frozen=True, eq=False)
class Position:
    """A collection on the way: its graph, maximal cliques and KL divergence in nats.

    analyses: what is wanted. known: how far these margins are from the data, where that is known already.
    """

    cube: DataCube
    graph: InteractionGraph
    cliques: frozenset[Mask]
    divergence: float
    analyses: WantedAnalyses | None = None
    known: tuple[float, ...] | None = None

    @classmethod
    def of(cls, cube: DataCube, masks: Iterable[Mask], analyses: WantedAnalyses | None = None) -> "Position":
        """The position of a decomposable collection."""
        cliques = frozenset(maximal_masks(masks))
        divergence = MaximumEntropy(Collection.of(cube, cliques)).kl_divergence
        graph = InteractionGraph.of(cube.domain, cliques)
        return cls(cube, graph, cliques, divergence, analyses)

    @cached_property
    def wanted(self) -> tuple[float, ...]:
        """For each wanted margin how far it is from the data; worked out when it is first asked for."""
        if self.known is not None:
            return self.known
        return self.analyses.distances(self.cliques) if self.analyses else ()

    def change(self, move: Move) -> Change:
        """What an allowed move changes."""
        match move:
            case AddEdge(first, second):
                separator = move.separator(self.graph)
                return self._joining(separator, 1 << first, 1 << second)
            case RemoveEdge(first, second):
                separator = self.graph.neighbors[first] & self.graph.neighbors[second]
                divergence, parameters, _ = self._joining(separator, 1 << first, 1 << second)
                return Change(-divergence, -parameters, 0)
            case AddVertex(vertex):
                steps = self.cube.domain.coarser_steps(vertex)
                clique = steps | 1 << vertex
                entropy, cells = self.cube.entropy, self.cube.cell_count
                divergence = entropy(steps) - entropy(clique) + self._leaves(vertex)
                return Change(divergence, cells(clique) - cells(steps), clique)
            case RemoveVertex(vertex):
                return self._hiding(vertex)

    def gaining_pairs_apart(self, price: float) -> list[tuple[AddEdge, Change]] | None:
        """The edges that join two connected parts and gain, at a price in nats for each parameter; in no order.

        None where that cannot be said of all at once: attributes have more than one step, or pairs have not been learned.
        """
        pairs = self.cube.independent_pairs()
        if pairs is None or len(self.cube.domain.attributes) != self.cube.domain.vertex_count:
            return None
        divergence, parameters = pairs
        part = np.array([each.bit_length() for each in self.graph.parts])  # by its last vertex; 0 where there is none
        joins = (part[:, None] != part) & (part[:, None] > 0) & (part > 0)
        second, first = np.nonzero(np.tril(joins & (divergence - price * parameters > LEAST_GAIN), -1))
        saved, added = divergence[second, first].tolist(), parameters[second, first].tolist()
        return [
            (AddEdge(one, other), Change(nats, number, 1 << one | 1 << other))
            for one, other, nats, number in zip(first.tolist(), second.tolist(), saved, added)
        ]

    def _joining(self, separator: Mask, first: Mask, second: Mask) -> Change:
        entropy, cells = self.cube.entropy, self.cube.cell_count
        a, b, clique = separator | first, separator | second, separator | first | second
        divergence = entropy(a) + entropy(b) - entropy(separator) - entropy(clique)
        return Change(divergence, cells(clique) - cells(a) - cells(b) + cells(separator), clique)

    def _leaves(self, vertex: int) -> float:
        """The mean logarithm of leaves that showing one step more saves."""
        attribute, level = self.cube.domain.induced_attributes[vertex]
        return self.cube.log_leaves(attribute, level + 1) - self.cube.log_leaves(attribute, level)

    def _hiding(self, vertex: int) -> Change:
        """A junction tree stays one when a vertex leaves all its cliques and separators."""
        tree, bit = JunctionTree.of(self.cube.domain, self.cliques), 1 << vertex
        entropy, cells = self.cube.entropy, self.cube.cell_count
        divergence, parameters = -self._leaves(vertex), 0
        for sign, masks in ((1, tree.cliques), (-1, tree.separators)):
            for mask in masks:
                if mask & bit:
                    divergence += sign * (entropy(mask) - entropy(mask ^ bit))
                    parameters -= sign * (cells(mask) - cells(mask ^ bit))
        return Change(divergence, parameters, 0)

    @cached_property
    def _asked(self) -> dict[Move, frozenset[Mask]]:
        """The cliques after the move that was asked about last: what is allowed is mostly made."""
        return {}

    def cliques_after(self, move: Move) -> frozenset[Mask]:
        """The maximal cliques after an allowed move."""
        if move not in self._asked:
            self._asked.clear()
            self._asked[move] = self._cliques_after(move)
        return self._asked[move]

    def _cliques_after(self, move: Move) -> frozenset[Mask]:
        match move:
            case AddEdge():
                return self._with_clique(move.clique(self.graph))
            case AddVertex(vertex):
                return self._with_clique(self.cube.domain.coarser_steps(vertex) | 1 << vertex)
            case RemoveEdge(first, second):
                edge = 1 << first | 1 << second
                kept = {c for c in self.cliques if edge & ~c}
                (torn,) = (c for c in self.cliques if not edge & ~c)
                halves = (torn ^ 1 << first, torn ^ 1 << second)
                return frozenset(kept | {h for h in halves if not any(not h & ~c for c in kept)})
            case RemoveVertex(vertex):
                return frozenset(maximal_masks(c & ~(1 << vertex) for c in self.cliques))

    def _with_clique(self, clique: Mask) -> frozenset[Mask]:
        return frozenset({old for old in self.cliques if old & ~clique} | {clique})

    def after(self, move: Move, change: Change) -> "Position":
        """The position after an allowed move."""
        return replace(
            self,
            graph=move.apply(self.graph),
            cliques=self.cliques_after(move),
            divergence=self.divergence - change.divergence,
            known=self.wanted_after(move) if "wanted" in vars(self) else None,
        )

    def wanted_after(self, move: Move) -> tuple[float, ...]:
        """How far the wanted margins are from the data after an allowed move; what it cannot change is kept."""
        if not self.analyses:
            return ()
        domain = self.cube.domain
        match move:
            case AddEdge(first, second):
                parts = sides(self.graph, first, second)
            case RemoveEdge(first, second):
                parts = sides(move.apply(self.graph), first, second)
            case AddVertex(vertex):
                parts = (1 << vertex, 1 << vertex)
            case RemoveVertex():
                parts = (-1, -1)
        concerned = [bool(margin.mask & parts[0] and margin.mask & parts[1]) for margin in self.analyses.margins]
        if not any(concerned):
            return self.wanted
        tree = JunctionTree.of(domain, self.cliques_after(move))
        return tuple(
            self.analyses.distance(margin, tree) if changes else before
            for margin, changes, before in zip(self.analyses.margins, concerned, self.wanted)
        )

    def wanted_gain(self, move: Move) -> float:
        """By how much the wanted margins come nearer to the data by an allowed move, weighted; below 0: farther."""
        if not self.analyses:
            return 0.0
        return self.analyses.weighted(self.wanted) - self.analyses.weighted(self.wanted_after(move))

    def likely_wanted_gain(self, move: AddVertex | AddEdge, change: Change) -> float:
        """About what an addition gains for the wanted margins, without inference: what it would if they were alone.

        Only those count that hold all attributes of the move.
        """
        if not self.analyses:
            return 0.0
        if isinstance(move, AddVertex):
            first, second, common = 1 << move.vertex, 0, self.cube.domain.coarser_steps(move.vertex)
        else:
            first, second, common = 1 << move.first, 1 << move.second, move.separator(self.graph)
        gained = 0.0
        for margin in self.analyses.margins:
            if (first | second) & ~margin.mask:
                continue
            given = common & margin.mask
            if margin.measure is Measure.TOTAL_VARIATION:
                gain = self.analyses.variation_alone(given, first, second)
            else:
                gain = self._joining(given, first, second).divergence if second else change.divergence
            gained += margin.weight * gain
        return gained
