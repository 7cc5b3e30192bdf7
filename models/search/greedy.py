"""Stepwise search: always the allowed move that gains most.

Forward search adds, backward search removes, `both` alternates. Candidates for additions wait in a
priority queue. A move changes the gain of those pairs alone whose common neighbours it changes, so only these are valued
again; the others keep their place. A candidate the constraint refuses for good is dropped, one it refuses for now comes
back after the next move.

What an addition does for wanted analyses takes inference, so candidates wait at a likely gain, and are valued when they come
up. One that would do harm comes back after later moves: unlike the KL divergence, the whole objective can get worse by
adding.
"""

from collections.abc import Callable, Iterable, Iterator
from collections.abc import Collection as AnyCollection
from dataclasses import replace
from functools import reduce, wraps
from heapq import heappop, heappush
from itertools import combinations, takewhile
from operator import or_

from models.errors import NothingAllowedError
from models.graphs.interaction_graph import AddEdge, AddVertex, Move, RemoveEdge, RemoveVertex, describe
from models.graphs.junction_tree import Collection, maximal_masks
from models.inference.maximum_entropy import MaximumEntropy
from models.search.lower_bound import LARGEST_LATTICE, lattice_size
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
    Strategy,
    staircase,
)
from models.tables.hierarchy import Mask, vertices_of

Preference = Callable[[Move, float], float]
"""Of an allowed move and its positive gain in nats, by how much it is preferred: the most preferred is made first."""

Candidate = tuple[float, int, "AddVertex | AddEdge", Change]
"""Negative preference (the heap key), the clique that the move would make, the move, and what it changes."""


def by_gain(_move: Move, gain: float) -> float:
    """The gain itself."""
    return gain


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
    value = divergence + (problem.price * position.complexity if problem.price else 0.0) if priced else None
    cliques = tuple(sorted(position.cliques))
    wanted = problem.wanted.distances(cliques) if problem.wanted else ()
    if problem.wanted and value is not None:
        value += problem.wanted.weighted(wanted)
    return SearchResult(
        strategy, cliques, divergence, evaluated, optimal=False, steps=tuple(steps), value=value, wanted=wanted
    )


class Climb:
    """One stepwise search: the position, and what has been done to get there."""

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
        """By how many nats a move is for the better, wanted analyses counted."""
        return self.problem.objective.gain(*change[:2]) + self.position.wanted_gain(move)

    def likely_gain(self, move: AddVertex | AddEdge, change: Change) -> float:
        """The gain, as far as it can be told at once."""
        return self.problem.objective.gain(*change[:2]) + self.position.likely_wanted_gain(move, change)

    def refusal(self, move: Move, change: Change) -> Refusal | None:
        """What the constraint says of the collection after a move; remembered for the trace."""
        self.evaluated += 1
        refusal = self.problem.constraint(self.position.cliques_after(move), change.clique)
        if refusal:
            self._pass_over(move, refusal)
        return refusal

    def _pass_over(self, move: Move, refusal: Refusal) -> None:
        self._refused.append(RefusedMove(describe(move, self.position.graph), refusal.reason))

    def take(self, move: Move, change: Change) -> None:
        """Make a move, with a step of the trace."""
        before = self.position
        self.position = before.after(move, change, before.wanted_after(move))
        changed = reduce(or_, before.cliques ^ self.position.cliques, 0)
        self._removable = {one: known for one, known in self._removable.items() if _parted(one) & ~changed}
        described = describe(move, before.graph)
        refused = tuple(self._refused)
        self.steps.append(Step(described, before.divergence, self.position.divergence, refused, change.parameters))
        self._refused = []
        self.problem.seen(self.position)

    def is_allowed(self) -> bool:
        """Whether the constraint allows the position itself."""
        self.evaluated += 1
        return self.problem.constraint(self.position.cliques, 0) is None

    def removals(self) -> list[tuple[float, Move, Change]]:
        """The allowed removals that keep what must stay, with their gains, best first."""
        changes: Iterable[tuple[Move, Change]] = self._allowed_removals()
        if self.problem.wanted:  # inference takes time
            changes = takewhile(lambda _: not self.stop(), changes)
        return self._best_first(changes)

    def _allowed_removals(self) -> list[tuple[Move, Change]]:
        """A removal is judged again only where a move since has changed a clique that holds all its vertices."""
        moves = list(_removals(self.position))
        for move in moves:
            if move not in self._removable:
                may_go = move.is_allowed(self.position.graph) and self.problem.may_part(_parted(move))
                self._removable[move] = self.position.change(move) if may_go else None
        return [(move, change) for move in moves if (change := self._removable[move])]

    def _best_first(self, changes: Iterable[tuple[Move, Change]]) -> list[tuple[float, Move, Change]]:
        valued = ((self.gain(move, change), move, change) for move, change in changes)
        return sorted(valued, key=lambda removal: (-removal[0], str(removal[1])))

    def remove_all(self) -> None:
        """Removals while one gains, of those that gain without what is wanted too: with it, each would take inference."""
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

    def _is_known_to_fail(self, edge: AddEdge) -> bool:
        """Whether an edge would gain nothing, as far as that can be told without counting."""
        cube, separator = self.position.cube, edge.separator(self.position.graph)
        first, second = separator | 1 << edge.first, separator | 1 << edge.second
        if self.problem.wanted or not (cube.knows(first | second) and cube.knows(first) and cube.knows(second)):
            return False
        return self.problem.objective.gain(*self.position.change(edge)[:2]) <= LEAST_GAIN

    def _gaining_pairs_apart(self) -> list[tuple[AddEdge, Change]] | None:
        """All edges that join two connected parts and gain, where they can be told at once."""
        if self.problem.wanted or not isinstance(self.problem.objective, PenalizedDivergence):
            return None
        return self.position.gaining_pairs_apart(self.problem.objective.price)

    def add_all(self, preference: Preference = by_gain) -> None:
        """Additions while one gains."""
        queue: list[Candidate] = []

        def offer(move: AddVertex | AddEdge, change: Change) -> None:
            if (gain := self.likely_gain(move, change)) > LEAST_GAIN:
                heappush(queue, (-preference(move, gain), change.clique, move, change))

        def enqueue(moves: Iterable[AddVertex | AddEdge]) -> None:
            graph = self.position.graph
            for move in moves:
                if isinstance(move, AddEdge) and self._is_known_to_fail(move):  # sooner known than the next
                    continue
                if move.is_allowed(graph):
                    offer(move, self.position.change(move))

        joining = self._gaining_pairs_apart()
        enqueue(_additions(self.position, apart_too=joining is None))
        for edge, change in joining or ():
            offer(edge, change)
        waiting: list[Candidate] = []
        harmful: list[Candidate] = []
        refused: dict[Mask, Refusal] = {}
        """By the clique that they would make what candidates are refused for, until the margins judged with it change."""
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
                key = -preference(move, gain)
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


def _additions(position: Position, *, apart_too: bool) -> Iterator[AddVertex | AddEdge]:
    """All additions that may be allowed. apart_too: also the edges that join two connected parts."""
    graph = position.graph
    present, parts = graph.vertices, graph.parts
    steps = set(position.cube.domain.offsets[:-1]).union(*(_next_step(position, v) for v in vertices_of(present)))
    yield from map(AddVertex, sorted(steps))
    apart = [graph.next_apart(vertex) if present >> vertex & 1 else 0 for vertex in range(len(parts))]
    for vertex in vertices_of(present):
        later = apart[vertex] >> (vertex + 1) << (vertex + 1)
        for other in vertices_of(later if apart_too else later & parts[vertex]):
            if apart[other] >> vertex & 1:
                yield AddEdge(vertex, other)


def _removals(position: Position) -> Iterable[RemoveVertex | RemoveEdge]:
    """All removals that may be allowed: of each attribute its finest step, and of each step its finest neighbors."""
    graph = position.graph
    all_steps, finer_steps = graph.domain.all_steps, graph.domain.finer_steps
    for vertex in vertices_of(graph.vertices):
        if not finer_steps(vertex) & graph.vertices:
            yield RemoveVertex(vertex)
        later = (graph.neighbors[vertex] & ~all_steps(vertex)) >> (vertex + 1) << (vertex + 1)
        while later:
            other = later.bit_length() - 1
            yield RemoveEdge(vertex, other)
            later &= ~all_steps(other)


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
    """The edges to others that may be allowed: each of the two is of its attribute the coarsest that is not joined yet."""
    graph = position.graph
    return {
        AddEdge(min(vertex, other), max(vertex, other))
        for other in vertices_of(graph.next_apart(vertex) & others)
        if graph.next_apart(other) >> vertex & 1
    }


class _EachMargin(PruningConstraint):
    """A constraint on each margin by itself."""

    pivot: Mask = 0

    def __init__(self, constraint: Constraint) -> None:
        self._constraint = constraint

    def __call__(self, cliques: AnyCollection[Mask], new: Mask, /) -> Refusal | None:
        for clique in [new] if new else cliques:
            refusal = self._constraint((clique,), clique)
            if refusal and refusal.scope is RefusalScope.FINER:
                return refusal
        return None


def forward(problem: Problem, stop: Stop, preference: Preference = by_gain) -> SearchResult:
    """Add to the initial collection while some allowed move gains."""
    climb = Climb(problem, problem.position(problem.initial), stop)
    climb.add_all(preference)
    return result_of("forward", problem, climb.position, climb.evaluated, climb.steps)


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
    return result_of("both", problem, best.position, evaluated, best.steps)


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


# A forest of pairs: where a search may begin, so that attributes are together which tell most of each other.
#
# Chow and Liu (IEEE Transactions on Information Theory 14, 1968), with levels: of each pair of attributes the margin
# that is allowed and tells most, the pairs that tell most first, each where it joins two parts that were apart. One
# pair is made at once, where a stepwise search makes it step by step, and gives up at a step that by itself tells
# nothing: two columns that are the same, say, of which a finer step of one beside a coarser of the other tells nothing
# more.


_WORK = 1 << 28
"""Pairs of attributes times the cells of the table that they are counted from, at most."""


def or_from_forest(search: Strategy) -> Strategy:
    """A search that of a large lattice gives nothing worse than forward search from a forest of pairs.

    Where all attributes have one step each, a stepwise search makes a pair at once by itself.
    """

    @wraps(search)
    def strategy(problem: Problem, stop: Stop) -> SearchResult:
        if not _is_large(problem) or all(
            attribute_mask.bit_count() == 1 for attribute_mask in problem.cube.domain.attribute_masks
        ):
            return search(problem, stop)
        other = from_forest(problem, stop)
        return _better(search(problem, stop), other)

    return strategy


def from_forest(problem: Problem, stop: Stop) -> SearchResult | None:
    """What forward search finds from a forest of pairs; None where it is not allowed, or takes too long to be made."""
    attributes, base = len(problem.cube.domain.attributes), sum(problem.cube.domain.attribute_masks)
    cells = len(problem.cube.table(base)) if problem.cube.holds(base) else problem.cube.total
    if attributes * (attributes - 1) // 2 * cells > _WORK:
        return None
    start = forest(problem, stop)
    try:
        search_result = forward(replace(problem, start=start), stop)
    except NothingAllowedError:
        return None
    begun, at = problem.position(problem.initial), problem.position(start)
    step = Step("begin with pairs of attributes that tell most of each other", begun.divergence, at.divergence)
    return replace(search_result, steps=(step, *search_result.steps))


from_both: Strategy = or_from_forest(forward)
"""What forward search finds; of a large lattice the better of that and of what it finds from a forest of pairs."""


def _is_large(problem: Problem) -> bool:
    return lattice_size(problem) > LARGEST_LATTICE


def _better(result: SearchResult, other: SearchResult | None) -> SearchResult:
    """The better of two results of a strategy, with what both looked at; the first where that cannot be said."""
    if other is None:
        return result
    evaluated = result.evaluated + other.evaluated
    is_better = None not in (result.value, other.value) and (other.value or 0.0) < (result.value or 0.0) - LEAST_GAIN
    best = replace(other, strategy=result.strategy) if is_better else result
    return replace(best, evaluated=evaluated)


def forest(problem: Problem, stop: Stop) -> tuple[Mask, ...]:
    """A collection that is allowed: the initial one of a problem, pairs of attributes that were apart in it, single ones.

    Decomposable, since two parts that are apart are joined by one attribute of each, which some clique of its part shows
    as finely as the part shows it at all.
    """
    attribute_masks = problem.cube.domain.attribute_masks
    part = {place: place for place in range(len(attribute_masks))}
    for clique in problem.initial:
        shown = [place for place, mask in enumerate(attribute_masks) if mask & clique]
        _join(part, shown)
    cliques = tuple(maximal_masks(problem.initial))
    if problem.constraint(cliques, 0):
        return cliques
    for _, margin, pair in sorted(_gainful_pairs(problem, stop), key=lambda each: (-each[0], each[2])):
        if stop():
            break
        if part[pair[0]] == part[pair[1]]:
            continue
        extended = tuple(maximal_masks((*cliques, margin)))
        if problem.constraint(extended, margin) is None:
            cliques = extended
            _join(part, pair)
    for place in range(len(attribute_masks)):
        if not stop() and (margin := _alone(problem, cliques, place)):
            extended = tuple(maximal_masks((*cliques, margin)))
            if problem.constraint(extended, margin) is None:
                cliques = extended
    return cliques


def _alone(problem: Problem, cliques: Iterable[Mask], place: int) -> Mask:
    """The margin of one attribute by which a collection gains most; 0 where it gains by none."""
    cube, domain = problem.cube, problem.cube.domain
    attribute, hierarchy, attribute_mask = (
        domain.attributes[place],
        domain.hierarchies[place],
        domain.attribute_masks[place],
    )
    shown = max((clique & attribute_mask for clique in cliques), default=0)
    leaves = cube.log_leaves(attribute, hierarchy.height - shown.bit_count())
    best, margin = LEAST_GAIN, 0
    for step in vertices_of(attribute_mask & ~shown):
        finer = attribute_mask & ((2 << step) - 1)
        if problem.refuses(finer):
            break
        saved = leaves - cube.log_leaves(attribute, hierarchy.height - finer.bit_count())
        parameters = cube.complexity(finer) - cube.complexity(shown)
        gain = problem.objective.gain(saved - cube.entropy(finer) + cube.entropy(shown), parameters)
        if gain > best:
            best, margin = gain, finer
    return margin


def _join(part: dict[int, int], places: Iterable[int]) -> None:
    """Let the parts of some attributes be one."""
    joined = {part[place] for place in places}
    part.update((place, min(joined)) for place, number in part.items() if number in joined)


def _gainful_pairs(problem: Problem, stop: Stop) -> Iterator[tuple[float, Mask, tuple[int, int]]]:
    """The gain, the margin and the attributes of each pair that gains, the margin being the allowed one that gains most."""
    entropy, complexity = problem.cube.entropy, problem.cube.complexity
    for pair in combinations(range(len(problem.cube.domain.attributes)), 2):
        best, margin = LEAST_GAIN, 0
        for first, second in _finest(problem, pair):
            if stop():
                return
            both = first | second
            parameters = complexity(both) - complexity(first) - complexity(second)
            gain = problem.objective.gain(entropy(first) + entropy(second) - entropy(both), parameters)
            if gain > best:
                best, margin = gain, both
        if margin:
            yield best, margin, pair


def _finest(problem: Problem, pair: tuple[int, int]) -> Iterator[tuple[Mask, Mask]]:
    """The finest allowed margins of two attributes."""
    first, second = (_shown(problem, place) for place in pair)
    return staircase(first, second, lambda margin: not problem.refuses(margin))


def _shown(problem: Problem, place: int) -> list[Mask]:
    """The margins of an attribute by itself, the coarsest first."""
    domain = problem.cube.domain
    return [((1 << shown) - 1) << domain.offsets[place] for shown in range(1, domain.hierarchies[place].height + 1)]
