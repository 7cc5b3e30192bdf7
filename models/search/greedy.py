"""Stepwise search: repeat the allowed move that gains most.

Forward search adds, backward search removes, `both` alternates. Candidates for additions wait in a priority queue. A
move changes the gain of those pairs only whose common neighbours it changes, so only these are valued again. A
candidate that is refused for good is dropped; one that is refused for now comes back.

The gain of an addition for wanted analyses needs inference. So candidates wait with a likely gain, and are valued when
they come up. A harmful one comes back after later moves, because adding can make the whole objective worse.
"""

from collections.abc import Collection as AnyCollection
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import reduce
from heapq import heappop, heappush
from itertools import takewhile
from operator import or_

from models.errors import NothingAllowedError
from models.graphs.interaction_graph import (
    AddEdge,
    AddVertex,
    InteractionGraph,
    Move,
    RemoveEdge,
    RemoveVertex,
    describe,
    partings,
)
from models.graphs.junction_tree import Collection
from models.inference.maximum_entropy import MaximumEntropy
from models.search.problem import (
    KL,
    LEAST_GAIN,
    Change,
    Constraint,
    PenalizedDivergence,
    Position,
    Problem,
    PruningConstraint,
    Refusal,
    RefusalScope,
    RefusedMove,
    SearchResult,
    Step,
    Stop,
    pruning,
)
from models.tables.data_cube import DOUBTFUL
from models.tables.hierarchy import Mask, vertices_of

Candidate = tuple[float, int, "AddVertex | AddEdge", Change]
"""Negative gain (the heap key), the clique that the move would make, the move, and its change."""

_LATE = 1e-9
"""Factor of the gain of a move that comes after all others."""


def result_of(
    strategy: str, problem: Problem, position: Position, evaluated: int, steps: Iterable[Step]
) -> SearchResult:
    """Return the search result of a position; its value is recomputed from the junction tree.

    Raises NothingAllowedError if the constraint refuses the collection, for instance the one where the search begins.
    """
    if refusal := problem.constraint(position.cliques, 0):
        raise NothingAllowedError(
            f"the search came to no collection that the constraint allows ({refusal.reason}). Let it begin at another one, "
            'or take the strategy "exact", which looks at all of them'
        )
    model = MaximumEntropy(Collection.of(problem.cube, position.cliques))
    divergence = model.kl_divergence
    priced = isinstance(problem.objective, PenalizedDivergence)
    value = divergence + (problem.price * position.complexity if problem.price else 0.0) if priced else None
    cliques = tuple(sorted(position.cliques))
    wanted = problem.wanted.distances(cliques) if problem.wanted else ()
    if problem.wanted and value is not None:
        value += problem.wanted.weighted(wanted)
    return SearchResult(
        strategy, cliques, divergence, evaluated, optimal=False, steps=tuple(steps), value=value, wanted=wanted
    )


class Climb:
    """Stepwise search: the position, and the steps that led there."""

    def __init__(self, problem: Problem, position: Position, stop: Stop) -> None:
        self.problem = problem
        self.position = position
        self.stop = stop
        self.steps: list[Step] = []
        self.evaluated = 0
        self.gained = 0.0
        self._refused: list[RefusedMove] = []
        self._removable: dict[RemoveVertex | RemoveEdge, Change | None] = {}

    def gain(self, move: Move, change: Change) -> float:
        """Return the nats that a move gains, wanted analyses included."""
        return self.problem.objective.gain(*change[:2]) + self.position.wanted_gain(move)

    def likely_gain(self, move: AddVertex | AddEdge, change: Change) -> float:
        """Return an estimate of the gain that needs no inference."""
        return self.problem.objective.gain(*change[:2]) + self.position.likely_wanted_gain(move, change)

    def refusal(self, move: Move, change: Change) -> Refusal | None:
        """Return the constraint's refusal of the collection after a move, if any; it is recorded for the trace."""
        self.evaluated += 1
        refusal = self.problem.constraint(self.position.cliques_after(move), change.clique)
        if refusal:
            self._pass_over(move, refusal)
        return refusal

    def _pass_over(self, move: Move, refusal: Refusal) -> None:
        self._refused.append(RefusedMove(describe(move, self.position.graph), refusal.reason))

    def take(self, move: Move, change: Change) -> None:
        """Make a move and add a step to the trace."""
        before = self.position
        self.position = before.after(move, change, before.wanted_after(move))
        changed = reduce(or_, before.cliques ^ self.position.cliques, 0)
        self._removable = {
            m: old_change for m, old_change in self._removable.items() if _parted(m, before.graph) & ~changed
        }
        described = describe(move, before.graph)
        refused = tuple(self._refused)
        self.steps.append(Step(described, before.divergence, self.position.divergence, refused, change.parameters))
        self._refused = []

    def is_allowed(self) -> bool:
        """Return whether the constraint allows the position itself."""
        self.evaluated += 1
        return self.problem.constraint(self.position.cliques, 0) is None

    def removals(self) -> list[tuple[float, Move, Change]]:
        """Return the allowed removals that keep the required margins, with their gains, best first."""
        changes: Iterable[tuple[Move, Change]] = self._allowed_removals()
        if self.problem.wanted:  # inference takes time
            changes = takewhile(lambda _: not self.stop(), changes)
        return self._best_first(changes)

    def _allowed_removals(self) -> list[tuple[Move, Change]]:
        """Return the allowed removals; one is judged again only if a move changed a clique that holds its vertices."""
        moves = list(_removals(self.position))
        for move in moves:
            if move not in self._removable:
                graph = self.position.graph
                may_go = move.is_allowed(graph) and self.problem.may_part(_parted(move, graph))
                self._removable[move] = self.position.change(move) if may_go else None
        return [(move, change) for move in moves if (change := self._removable[move])]

    def _best_first(self, changes: Iterable[tuple[Move, Change]]) -> list[tuple[float, Move, Change]]:
        valued = ((self.gain(move, change), move, change) for move, change in changes)
        return sorted(valued, key=lambda removal: (-removal[0], str(removal[1])))

    def remove_all(self) -> None:
        """Remove while a removal gains that also gains without wanted analyses; all others would need inference."""
        while not self.stop():
            changes = self._allowed_removals()
            paying = [change for change in changes if self.problem.objective.gain(*change[1][:2]) > LEAST_GAIN]
            gaining = (r for r in self._best_first(paying) if r[0] > LEAST_GAIN)
            chosen = next((r for r in gaining if not self.refusal(r[1], r[2])), None)
            if chosen is None:
                break
            self.take(*chosen[1:])
        self._refused = []

    def settle(self) -> None:
        """Add and remove in turn, until neither gains.

        If gains do not add up, as in tests of significance, moves can return to an earlier collection, which ends the
        search.
        """
        been_at: set[frozenset[Mask]] = set()
        steps = -1
        while steps < len(self.steps) and self.position.cliques not in been_at and not self.stop():
            been_at.add(self.position.cliques)
            self.add_all()
            steps = len(self.steps)
            self.remove_all()

    def add_all(self, last: Move | None = None) -> None:
        """Add while an addition gains. last: a move that is made only after all others."""
        queue: list[Candidate] = []

        def enqueue(moves: Iterable[AddVertex | AddEdge]) -> None:
            for move in moves:
                if move.is_allowed(self.position.graph):
                    change = self.position.change(move)
                    if (gain := self.likely_gain(move, change)) > LEAST_GAIN:
                        heappush(queue, (-gain * _LATE if move == last else -gain, change.clique, move, change))

        enqueue(_additions(self.position))
        waiting: list[Candidate] = []
        harmful: list[Candidate] = []
        refused: dict[Mask, Refusal] = {}
        """Refusals by the clique that a candidate would make, valid until the margins judged with it change."""
        steps_before = -1
        while (queue or (harmful and steps_before < len(self.steps))) and not self.stop():
            if not queue:
                queue, harmful, steps_before = sorted(harmful), [], len(self.steps)
            candidate = heappop(queue)
            _, clique, move, change = candidate
            graph = self.position.graph
            if (isinstance(move, AddEdge) and move.clique(graph) != clique) or not move.is_allowed(graph):
                continue
            if clique in refused:
                self._pass_over(move, refused[clique])
                waiting.append(candidate)
                continue
            if refusal := self.refusal(move, change):
                if refusal.scope is not RefusalScope.FINER:
                    refused[clique] = refusal
                    waiting.append(candidate)
                continue
            gain = self.gain(move, change)
            if self.problem.wanted:
                if gain <= LEAST_GAIN:
                    harmful.append(candidate)
                    continue
                key = -gain * _LATE if move == last else -gain
                if queue and key > queue[0][0]:
                    heappush(queue, (key, clique, move, change))
                    continue
            self.gained += gain
            self.take(move, change)
            enqueue(_touched(self.position, move))
            if clique & self.problem.jointly_judged:
                refused = {}
            for candidate in waiting:
                heappush(queue, candidate)
            waiting = []
        self._refused = []


def _additions(position: Position) -> Iterator[AddVertex | AddEdge]:
    graph = position.graph
    steps = set(position.cube.domain.offsets[:-1]).union(
        *(_next_step(position, v) for v in vertices_of(graph.vertices))
    )
    yield from map(AddVertex, sorted(steps))
    for vertex in vertices_of(graph.vertices):
        yield from _pairs(position, vertex, graph.vertices & -(2 << vertex))


def _removals(position: Position) -> Iterable[RemoveVertex | RemoveEdge]:
    graph = position.graph
    all_steps, finer_steps = graph.domain.all_steps, graph.domain.finer_steps
    for vertex in vertices_of(graph.vertices):
        if not finer_steps(vertex) & graph.vertices:
            yield RemoveVertex(vertex)
        later = (graph.neighbors[vertex] & ~all_steps(vertex)) >> (vertex + 1) << (vertex + 1)
        while later:
            other = later.bit_length() - 1
            yield from partings(graph, vertex, other)
            later &= ~all_steps(other)


def _parted(move: RemoveVertex | RemoveEdge, graph: InteractionGraph) -> Mask:
    if isinstance(move, RemoveVertex):
        return 1 << move.vertex
    parted = graph.joined_steps(move.second)
    return 1 << move.first | parted & -parted


def _next_step(position: Position, vertex: int) -> Iterable[int]:
    finer = position.cube.domain.finer_steps(vertex)
    return vertices_of(finer & -finer)


def _touched(position: Position, move: AddVertex | AddEdge) -> set[AddVertex | AddEdge]:
    """Return the additions at a vertex of the move whose common neighbours, and so gain or admission, may have changed."""
    graph = position.graph
    if isinstance(move, AddVertex):
        moves: set[AddVertex | AddEdge] = {AddVertex(v) for v in _next_step(position, move.vertex)}
        return moves.union(_pairs(position, move.vertex, graph.vertices))
    joined = graph.joined_steps(move.second)
    first, second = graph.neighbors[move.first], graph.neighbors[(joined & -joined).bit_length() - 1]
    ends = (1 << move.first, 1 << move.second)
    if not graph.crossing:  # the move of two vertices is found from the coarser one
        ends = (graph.domain.all_steps(move.first), graph.domain.all_steps(move.second))
    return {
        edge
        for steps, near in zip(ends, (second, first))
        for vertex in vertices_of(steps & graph.vertices)
        for edge in _pairs(position, vertex, near)
    }


def _pairs(position: Position, vertex: int, others: Mask) -> Iterator[AddEdge]:
    """Yield the edges to `others` that may be allowed: both ends are the coarsest step of their attribute not joined yet."""
    graph = position.graph
    for other in vertices_of(graph.next_apart(vertex) & others):
        if graph.next_apart(other) >> vertex & 1:
            yield AddEdge(*graph.edge(vertex, other))


class _EachMargin(PruningConstraint):
    pivot: Mask = 0

    def __init__(self, constraint: Constraint) -> None:
        self._constraint = constraint
        self.crossing_levels = pruning(constraint).crossing_levels

    def __call__(self, cliques: AnyCollection[Mask], new: Mask, /) -> Refusal | None:
        for clique in [new] if new else cliques:
            refusal = self._constraint((clique,), clique)
            if refusal and refusal.scope is RefusalScope.FINER:
                return refusal
        return None


def forward(problem: Problem, stop: Stop) -> SearchResult:
    """Add to the initial collection while an allowed move gains.

    Parameters
    ----------
    problem
        The search problem.
    stop
        Ends the search when it returns True.
    """
    climb = Climb(problem, problem.position(problem.initial), stop)
    climb.add_all()
    return result_of("forward", problem, climb.position, climb.evaluated, climb.steps)


def stepwise(problem: Problem, stop: Stop) -> SearchResult:
    """Add while that gains, then remove while that gains, until neither does.

    By the KL divergence no removal gains, so this is for objectives with a price on parameters.

    Parameters
    ----------
    problem
        The search problem.
    stop
        Ends the search when it returns True.
    """
    climb = Climb(problem, problem.position(problem.initial), stop)
    climb.settle()
    return result_of("stepwise", problem, climb.position, climb.evaluated, climb.steps)


def backward(problem: Problem, stop: Stop) -> SearchResult:
    """Search backward from the largest collection whose margins are allowed one by one, then forward.

    The cheapest removal is made until the whole collection is allowed. While a removal gains, the best allowed one is
    made first.
    """
    start = problem.position(problem.initial)
    by_margin = replace(problem, constraint=_EachMargin(problem.constraint), objective=KL, wanted=None)
    climb = Climb(by_margin, by_margin.position(problem.initial), stop)
    climb.add_all()
    climb.problem = problem
    climb.position = problem.position(climb.position.cliques) if problem.wanted else climb.position
    allowed = climb.is_allowed()
    while not stop():
        removals = [removal for removal in climb.removals() if not allowed or removal[0] > LEAST_GAIN]
        untried = takewhile(lambda _: not stop(), removals)
        chosen = next((removal for removal in untried if not climb.refusal(removal[1], removal[2])), None)
        if chosen is None and (allowed or not removals):
            break
        allowed = chosen is not None
        _, move, change = chosen or removals[0]
        climb.take(move, change)
    if not allowed:
        evaluated, climb = climb.evaluated, Climb(problem, start, stop)
        climb.evaluated = evaluated
    climb.settle()
    return result_of("backward", problem, climb.position, climb.evaluated, climb.steps)


def both(problem: Problem, stop: Stop) -> SearchResult:
    """Search forward and backward, with restarts after single removals.

    If neither additions nor removals gain, each removal in turn is followed by a forward search without that addition.
    The first better result replaces the best, until there is none. Right after the removal the collection need not be
    allowed.
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
            trial.add_all(_reverse(move))
            evaluated += trial.evaluated + 1
            is_better = loss + trial.gained > LEAST_GAIN and trial.position.cliques not in been_at
            if is_better and trial.is_allowed():
                trial.steps[:0] = best.steps
                best, improved = trial, True
                been_at.add(trial.position.cliques)
                break
    return result_of("both", problem, best.position, evaluated, best.steps)


def _reverse(move: Move) -> Move:
    match move:
        case RemoveEdge(first, second):
            return AddEdge(first, second)
        case RemoveVertex(vertex):
            return AddVertex(vertex)
    raise ValueError(f"{move} is no removal")


# Gains by chance: a search by the KL divergence without a price pays for noise.
#
# A table of two unrelated attributes still gains about (its free parameters) / 2n nats from n people. So the search
# minimizes KL(p || q) + D / 2n. D is the sum of c(E) - 1 over cliques less that over separators, with c(E) the cells of a
# margin that count (`interactions`); the price of a parameter is `Problem.price`.


def without_chance_edges(result: SearchResult, problem: Problem, stop: Stop) -> SearchResult:
    """Remove edges that chance explains: neither they nor their pair by itself pay twice the price.

    The objective can grow by less than the price of these edges. The gain of an edge for a wanted analysis counts.
    """
    if not problem.price:
        return result
    doubting = replace(problem, objective=PenalizedDivergence(DOUBTFUL * problem.price))
    climb = Climb(doubting, problem.position(result.cliques), stop)
    while not stop():
        doubtful = (
            (move, change)
            for gain, move, change in climb.removals()
            if gain > LEAST_GAIN and isinstance(move, RemoveEdge) and not _is_associated(climb.problem, move)
        )
        chosen = next((edge for edge in doubtful if not climb.refusal(*edge)), None)
        if chosen is None:
            break
        climb.take(*chosen)
    evaluated = result.evaluated + climb.evaluated
    if not climb.steps:
        return replace(result, evaluated=evaluated)
    steps = (*result.steps, *climb.steps)
    return replace(result_of(result.strategy, problem, climb.position, evaluated, steps), bound=result.bound)


def _is_associated(problem: Problem, edge: RemoveEdge) -> bool:
    first, second = (problem.cube.domain.coarser_steps(vertex) | 1 << vertex for vertex in (edge.first, edge.second))
    return problem.pair_gain(first, second) > LEAST_GAIN
