"""Forward stepwise search: always the allowed move that lowers the KL divergence most.

Candidates wait in a priority queue. A move changes the gain of those pairs alone whose common neighbours it changes, so
only these are valued again; the others keep their place. A candidate the constraint refuses for good is dropped, one it
refuses for now comes back after the next move.
"""

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush

from models.collection import Collection
from models.data_cube import DataCube
from models.domain import Mask, vertices_of
from models.interaction_graph import InteractionGraph
from models.junction_tree import maximal_masks
from models.maximum_entropy import MaximumEntropy
from models.moves import AddEdge, AddVertex, describe
from models.search.constraint import Constraint
from models.search.result import SearchResult, Step, Stop

_NO_GAIN = 1e-12
"""Nats. Smaller gains are rounding, or a margin that says nothing new."""

Candidate = tuple[float, Mask, "AddVertex | AddEdge"]
"""Gain with its sign turned, the clique that the move would make, and the move."""


def _gain(cube: DataCube, graph: InteractionGraph, move: AddVertex | AddEdge) -> tuple[float, Mask]:
    """By how much a move lowers the KL divergence (design 4.2), and the clique it makes."""
    entropy = cube.entropy
    if isinstance(move, AddEdge):
        separator, clique = move.separator(graph), move.clique(graph)
        first, second = separator | 1 << move.first, separator | 1 << move.second
        return entropy(first) + entropy(second) - entropy(separator) - entropy(clique), clique
    steps = cube.domain.coarser_steps(move.vertex)
    clique = steps | 1 << move.vertex
    attribute = cube.domain.induced_attributes[move.vertex].attribute
    resolution = steps.bit_count()
    leaves = cube.log_leaves(attribute, resolution) - cube.log_leaves(attribute, resolution + 1)
    return entropy(steps) - entropy(clique) + leaves, clique


def _touched(graph: InteractionGraph, changed: Iterable[int]) -> set[AddVertex | AddEdge]:
    """The moves whose gain or admission can have changed when these vertices got new neighbours."""
    moves: set[AddVertex | AddEdge] = set()
    for vertex in changed:
        finer = graph.domain.finer_steps(vertex)
        moves.update(AddVertex(v) for v in vertices_of(finer & -finer))
        apart = graph.vertices & ~graph.neighbors[vertex] & ~(1 << vertex)
        moves.update(AddEdge(min(vertex, other), max(vertex, other)) for other in vertices_of(apart))
    return moves


def greedy(cube: DataCube, start: Sequence[Mask], constraint: Constraint, stop: Stop) -> SearchResult:
    """Add to the collection `start` while some allowed move lowers the KL divergence.

    The result shows at least what `start` shows. Deterministic. The cube must hold the base table.
    """
    graph = InteractionGraph.of(cube.domain, start)
    cliques = set(maximal_masks(start))
    divergence = MaximumEntropy(Collection.of(cube, cliques)).kl_divergence
    queue: list[Candidate] = []
    steps: list[Step] = []
    evaluated = 0

    def enqueue(moves: Iterable[AddVertex | AddEdge]) -> None:
        for move in moves:
            if move.is_allowed(graph):
                gain, clique = _gain(cube, graph, move)
                if gain > _NO_GAIN:
                    heappush(queue, (-gain, clique, move))

    first_steps = {AddVertex(offset) for offset in cube.domain.offsets[:-1]}
    enqueue(first_steps | _touched(graph, vertices_of(graph.vertices)))
    waiting: list[Candidate] = []
    refused: list[str] = []
    while queue and not stop():
        candidate = heappop(queue)
        gain, clique, move = -candidate[0], candidate[1], candidate[2]
        if not move.is_allowed(graph) or (isinstance(move, AddEdge) and move.clique(graph) != clique):
            continue
        evaluated += 1
        after = {old for old in cliques if old & ~clique} | {clique}
        if refusal := constraint(after, clique):
            refused.append(f"{describe(move, graph)}: {refusal.reason}")
            if not refusal.inherited:
                waiting.append(candidate)
            continue
        steps.append(Step(describe(move, graph), divergence, divergence - gain, tuple(refused)))
        graph, cliques, divergence = move.apply(graph), after, divergence - gain
        enqueue(_touched(graph, (move.vertex,) if isinstance(move, AddVertex) else (move.first, move.second)))
        for candidate in waiting:
            heappush(queue, candidate)
        waiting, refused = [], []
    best = MaximumEntropy(Collection.of(cube, cliques)).kl_divergence
    return SearchResult("greedy", tuple(sorted(cliques)), best, evaluated, optimal=False, steps=tuple(steps))
