"""Stepwise search: always the allowed move that gains most.

Forward search adds, backward search removes, `both` alternates. Candidates for additions wait in a
priority queue. A move changes the gain of those pairs alone whose common neighbours it changes, so only these are valued
again; the others keep their place. A candidate the constraint refuses for good is dropped, one it refuses for now comes
back after the next move.

What an addition does for wanted analyses takes inference, so candidates wait at a likely gain, and are valued when they come
up. One that would do harm comes back after later moves: unlike the KL divergence, the whole objective can get worse by
adding.
"""

from collections.abc import Callable, Iterable
from collections.abc import Collection as AnyCollection
from dataclasses import replace
from heapq import heappop, heappush
from itertools import takewhile

import numpy as np

from models.arrays import FloatArray
from models.errors import NothingAllowedError
from models.graphs.collection import Collection
from models.graphs.moves import AddEdge, AddVertex, Move, RemoveEdge, RemoveVertex, describe
from models.inference.maximum_entropy import MaximumEntropy
from models.search.constraint import Constraint, Refusal, RefusalScope, RefusedMove
from models.search.objective import KL, LEAST_GAIN, PenalizedDivergence
from models.search.position import Change, Position
from models.search.problem import Problem, Stop
from models.search.result import SearchResult, Step
from models.tables.domain import Mask, vertices_of

Preference = Callable[[Move, float], float]
"""Of an allowed move and its positive gain in nats, by how much it is preferred: the most preferred is made first."""

Candidate = tuple[float, int, "AddVertex | AddEdge", Change]
"""Negative preference (the heap key), the clique that the move would make, the move, and what it changes."""


def by_gain(move: Move, gain: float) -> float:  # noqa: ARG001
    """The gain itself."""
    return gain


def preferring(log_factors: FloatArray) -> Preference:
    """Factors on the gains of moves. log_factors: shape (vertices, vertices), of pairs and, on the diagonal, vertices."""
    factors = np.exp(log_factors).tolist()

    def preference(move: Move, gain: float) -> float:
        if isinstance(move, AddVertex | RemoveVertex):
            return gain * float(factors[move.vertex][move.vertex])
        return gain * float(factors[move.first][move.second])

    return preference


def result_of(
    strategy: str, problem: Problem, position: Position, evaluated: int, steps: Iterable[Step]
) -> SearchResult:
    """The search result of a position; its value is computed anew from the junction tree.

    Raises NothingAllowedError for a collection that the constraint refuses, as where a search begins at one.
    """
    if refusal := problem.constraint(position.cliques, 0):
        raise NothingAllowedError(
            f"the search came to no collection that the constraint allows ({refusal.reason}); let it begin at another one, "
            'or take the strategy "exact", which looks at all of them'
        )
    model = MaximumEntropy(Collection.of(problem.cube, position.cliques))
    divergence = model.kl_divergence
    priced = isinstance(problem.objective, PenalizedDivergence)
    value = divergence + (problem.price * model.parameter_count if problem.price else 0.0) if priced else None
    cliques = tuple(sorted(position.cliques))
    wanted = problem.wanted.distances(cliques) if problem.wanted else ()
    if problem.wanted and value is not None:
        value += problem.wanted.weighted(wanted)
    return SearchResult(
        strategy, cliques, divergence, evaluated, optimal=False, steps=tuple(steps), value=value, wanted=wanted
    )


class Climb:
    """One stepwise search: the position, and what has been done to get there.

    dropped: cliques that are refused for good, where many climbs share what they learn and each is quick: such a climb tries
    none of them again, asks again of what is refused for now only once the margins that are judged together have changed,
    goes by likely gains alone, and keeps no trace of refusals.
    """

    def __init__(self, problem: Problem, position: Position, stop: Stop, dropped: set[Mask] | None = None) -> None:
        self.problem = problem
        self.dropped = dropped
        self.position = position
        self.stop = stop
        self.steps: list[Step] = []
        self.evaluated = 0
        self.gained = 0.0
        self._refused: list[RefusedMove] = []

    def gain(self, move: Move, change: Change) -> float:
        """By how many nats a move is for the better, wanted analyses counted."""
        return self.problem.objective.gain(*change[:2]) + self.position.wanted_gain(move)

    def likely_gain(self, move: AddVertex | AddEdge, change: Change) -> float:
        """The gain, as far as it can be told at once."""
        return self.problem.objective.gain(*change[:2]) + self.position.likely_wanted_gain(move, change)

    def refusal(self, move: Move, change: Change) -> Refusal | None:
        """What the constraint says of the collection after a move; remembered for the trace."""
        self.evaluated += 1
        refusal = self.problem.constraint(self.position.cliques_after(move), change.clique)
        if refusal and self.dropped is None:
            self._refused.append(RefusedMove(describe(move, self.position.graph), refusal.reason))
        return refusal

    def take(self, move: Move, change: Change) -> None:
        """Make a move, with a step of the trace."""
        before = self.position
        self.position = before.after(move, change)
        described = describe(move, before.graph)
        refused = tuple(self._refused)
        self.steps.append(Step(described, before.divergence, self.position.divergence, refused, change.parameters))
        self._refused = []

    def is_allowed(self) -> bool:
        """Whether the constraint allows the position itself."""
        self.evaluated += 1
        return self.problem.constraint(self.position.cliques, 0) is None

    def removals(self) -> list[tuple[float, Move, Change]]:
        """The allowed removals that keep what must stay, with their gains, best first."""
        moves = [move for move in _removals(self.position) if move.is_allowed(self.position.graph)]
        kept = [move for move in moves if self.problem.may_part(_parted(move))]
        if self.problem.wanted:  # inference takes time
            kept = list(takewhile(lambda _: not self.stop(), kept))
        changes = [(move, self.position.change(move)) for move in kept]
        return sorted(
            ((self.gain(move, change), move, change) for move, change in changes), key=lambda r: (-r[0], str(r[1]))
        )

    def remove_all(self) -> None:
        """Removals while one gains."""
        while not self.stop():
            gaining = (r for r in self.removals() if r[0] > LEAST_GAIN)
            chosen = next((r for r in gaining if not self.refusal(r[1], r[2])), None)
            if chosen is None:
                break
            self.take(*chosen[1:])
        self._refused = []

    def settle(self) -> None:
        """Additions and removals in turn, until none gains.

        Where gains do not add up, as those of a test of significance, moves that each gain can come back to a collection;
        it ends there.
        """
        been_at: set[frozenset[Mask]] = set()
        steps = -1
        while steps < len(self.steps) and self.position.cliques not in been_at and not self.stop():
            been_at.add(self.position.cliques)
            self.add_all()
            steps = len(self.steps)
            self.remove_all()

    def _gaining_pairs_apart(self) -> list[tuple[AddEdge, Change]] | None:
        """All edges that join two connected parts and gain, where they can be told at once."""
        if self.problem.wanted or not isinstance(self.problem.objective, PenalizedDivergence):
            return None
        return self.position.gaining_pairs_apart(self.problem.objective.price)

    def add_all(self, preference: Preference = by_gain) -> None:
        """Additions while one gains."""
        queue: list[Candidate] = []

        def offer(move: AddVertex | AddEdge, change: Change) -> None:
            if self.dropped and change.clique in self.dropped:
                return
            if (gain := self.likely_gain(move, change)) > LEAST_GAIN:
                heappush(queue, (-preference(move, gain), change.clique, move, change))

        def enqueue(moves: Iterable[AddVertex | AddEdge]) -> None:
            for move in moves:
                if move.is_allowed(self.position.graph):
                    offer(move, self.position.change(move))

        _ = self.position.graph.parts  # each graph after it knows them, too
        joining = self._gaining_pairs_apart()
        enqueue(_additions(self.position, apart_too=joining is None))
        for edge, change in joining or ():
            offer(edge, change)
        waiting: list[Candidate] = []
        harmful: list[Candidate] = []
        steps_before = -1
        while (queue or (harmful and steps_before < len(self.steps))) and not self.stop():
            if not queue:
                queue, harmful, steps_before = sorted(harmful), [], len(self.steps)
            candidate = heappop(queue)
            _, clique, move, change = candidate
            graph = self.position.graph
            if (isinstance(move, AddEdge) and move.clique(graph) != clique) or not move.is_allowed(graph):
                continue
            if refusal := self.refusal(move, change):
                if refusal.scope is not RefusalScope.FINER:
                    waiting.append(candidate)
                elif self.dropped is not None:
                    self.dropped.add(clique)
                continue
            gain = (self.gain if self.dropped is None else self.likely_gain)(move, change)
            if self.problem.wanted and self.dropped is None:
                if gain <= LEAST_GAIN:
                    harmful.append(candidate)
                    continue
                key = -preference(move, gain)
                if queue and key > queue[0][0]:
                    heappush(queue, (key, clique, move, change))
                    continue
            self.gained += gain
            self.take(move, change)
            enqueue(_touched(self.position, move))
            if self.dropped is None or clique & self.problem.pivot:
                for candidate in waiting:
                    heappush(queue, candidate)
                waiting = []
        self._refused = []


def _additions(position: Position, *, apart_too: bool) -> set[AddVertex | AddEdge]:
    """All additions that may be allowed. apart_too: also the edges that join two connected parts."""
    moves: set[AddVertex | AddEdge] = {AddVertex(offset) for offset in position.cube.domain.offsets[:-1]}
    present = position.graph.vertices
    moves |= {AddVertex(v) for vertex in vertices_of(present) for v in _next_step(position, vertex)}
    parts = position.graph.parts
    return moves.union(
        *(_pairs(position, vertex, present if apart_too else parts[vertex]) for vertex in vertices_of(present))
    )


def _removals(position: Position) -> Iterable[RemoveVertex | RemoveEdge]:
    """All removals that may be allowed."""
    for vertex in vertices_of(position.graph.vertices):
        yield RemoveVertex(vertex)
        for other in vertices_of(position.graph.neighbors[vertex] >> (vertex + 1) << (vertex + 1)):
            yield RemoveEdge(vertex, other)


def _parted(move: RemoveVertex | RemoveEdge) -> Mask:
    """What no margin shows together any more."""
    return 1 << move.vertex if isinstance(move, RemoveVertex) else 1 << move.first | 1 << move.second


def _next_step(position: Position, vertex: int) -> Iterable[int]:
    finer = position.cube.domain.finer_steps(vertex)
    return vertices_of(finer & -finer)


def _touched(position: Position, move: AddVertex | AddEdge) -> set[AddVertex | AddEdge]:
    """The additions whose gain or admission an addition, just made, can have changed.

    Those are pairs with a vertex of the move whose common neighbours have grown. All others keep their separator,
    which the move can stop from separating but not let separate.
    """
    graph = position.graph
    if isinstance(move, AddVertex):
        moves: set[AddVertex | AddEdge] = {AddVertex(v) for v in _next_step(position, move.vertex)}
        return moves | _pairs(position, move.vertex, graph.vertices)
    first, second = graph.neighbors[move.first], graph.neighbors[move.second]
    return _pairs(position, move.first, second) | _pairs(position, move.second, first)


def _pairs(position: Position, vertex: int, others: Mask) -> set[AddVertex | AddEdge]:
    """The edges to others that may be allowed: of each attribute to the coarsest step that the vertex is not joined to."""
    graph, moves = position.graph, set[AddVertex | AddEdge]()
    apart = graph.vertices & ~graph.neighbors[vertex] & ~(1 << vertex)
    coarser_steps = graph.domain.coarser_steps
    for other in vertices_of(apart & others):
        if not coarser_steps(other) & apart:
            moves.add(AddEdge(min(vertex, other), max(vertex, other)))
    return moves


class _EachMargin:
    """A constraint on each margin by itself."""

    pivot: Mask = 0

    def __init__(self, constraint: Constraint) -> None:
        self._constraint = constraint

    def __call__(self, cliques: AnyCollection[Mask], new: Mask) -> Refusal | None:
        for clique in [new] if new else cliques:
            refusal = self._constraint((clique,), clique)
            if refusal and refusal.scope is RefusalScope.FINER:
                return refusal
        return None


def forward(problem: Problem, stop: Stop, preference: Preference = by_gain) -> SearchResult:
    """Add to the initial collection while some allowed move gains."""
    climb = Climb(problem, problem.position(problem.initial), stop)
    climb.add_all(preference)
    return result_of("greedy", problem, climb.position, climb.evaluated, climb.steps)


def stepwise(problem: Problem, stop: Stop) -> SearchResult:
    """Forward, then take away while that gains, and again, until neither does.

    By the KL divergence taking away never gains, so this is for objectives that price parameters.
    """
    climb = Climb(problem, problem.position(problem.initial), stop)
    climb.settle()
    return result_of("stepwise", problem, climb.position, climb.evaluated, climb.steps)


def backward(problem: Problem, stop: Stop) -> SearchResult:
    """Backward elimination from the largest collection whose margins are each allowed.

    The cheapest removal is made until the whole collection is allowed, and while a removal gains. Where some removals are
    allowed, the best of them is made. What the removals took along and what is left allows goes back in the end, by forward
    search, which begins at the initial collection if no removals led to one that is allowed.
    """
    start = problem.position(problem.initial)
    alone = replace(problem, constraint=_EachMargin(problem.constraint), objective=KL, wanted=None)
    climb = Climb(alone, alone.position(problem.initial), stop)
    climb.add_all()
    climb.problem = problem
    climb.position = problem.position(climb.position.cliques) if problem.wanted else climb.position
    allowed = climb.is_allowed()
    while not stop():
        removals = [removal for removal in climb.removals() if not allowed or removal[0] > LEAST_GAIN]
        chosen = next((r for r in removals if not stop() and not climb.refusal(r[1], r[2])), None)
        if chosen is None and (allowed or not removals):
            break
        allowed = chosen is not None
        _, move, change = chosen or removals[0]
        climb.take(move, change)
    if not allowed:
        climb.position, climb.steps = start, []
    climb.settle()
    return result_of("greedy-backward", problem, climb.position, climb.evaluated, climb.steps)


def both(problem: Problem, stop: Stop) -> SearchResult:
    """Forward-backward search with single-removal restarts.

    When neither additions nor removals gain, each removal in turn is followed by a forward search without that addition; the
    first result that is better is kept, until none is. Right after the removal the collection need not be allowed. No
    collection is kept twice, which could happen without end where gains do not add up, as those of a test of significance.
    """
    best = Climb(problem, problem.position(problem.initial), stop)
    best.add_all()
    best.remove_all()
    been_at = {best.position.cliques}
    evaluated, improved = best.evaluated, True
    while improved and not stop():
        improved = False
        for loss, move, change in best.removals():
            if stop():
                break
            trial = Climb(problem, best.position, stop)
            trial.take(move, change)
            trial.add_all(_all_but(_reverse(move)))
            evaluated += trial.evaluated + 1
            is_better = loss + trial.gained > LEAST_GAIN and trial.position.cliques not in been_at
            if is_better and trial.is_allowed():
                trial.steps[:0] = best.steps
                best, improved = trial, True
                been_at.add(trial.position.cliques)
                break
    return result_of("greedy-both", problem, best.position, evaluated, best.steps)


def _reverse(move: Move) -> Move:
    match move:
        case RemoveEdge(first, second):
            return AddEdge(first, second)
        case RemoveVertex(vertex):
            return AddVertex(vertex)
    raise ValueError(f"{move} is no removal")


def _all_but(last: Move) -> Preference:
    """By gain, with one move only after all others."""
    return lambda move, gain: 1e-9 * gain if move == last else gain
