"""Variable-depth search over pairs of attributes: several moves at once, of which the first may lose.

Kernighan and Lin (Bell System Technical Journal 49, 1970). Where parameters have a price, a coarse step of two attributes
often costs more than it gains, and the finer ones after it pay; single moves never get there. So each pair is joined step
by step, whether that gains or not, and the best point on the way is kept; and it is taken apart wholly, and the rest is
made anew. Each trial ends with single moves until none gains.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations, permutations

from models.graphs.interaction_graph import AddEdge, Move, RemoveEdge
from models.search.greedy import Climb, Preference, by_gain, result_of
from models.search.problem import KL, LEAST_GAIN, Change, Position, Problem, RefusalScope, SearchResult, Step, Stop
from models.tables.hierarchy import Mask, vertices_of

_DEPTH = 8
"""Steps in a row without a better point, after which a pair is joined no further."""

_ROWS = 3
"""The same of steps of one attribute that are joined to all of another's."""


def by_pairs(result: SearchResult, problem: Problem, stop: Stop) -> SearchResult:
    """What a search has found, made better until no pair of attributes, joined further or apart, makes it so; never worse.

    Each better collection is one step of the trace. Raises SelectionError for an objective that is a stopping rule only.
    """
    pairs = list(combinations(range(len(problem.cube.domain.attributes)), 2))
    return _improved(result, problem, stop, pairs, _PairSearch.joined_or_apart)


def by_reinsertion(result: SearchResult, problem: Problem, stop: Stop) -> SearchResult:
    """The same with each attribute taken out of its margins and joined first with each other one, which takes longer."""
    pairs = list(permutations(range(len(problem.cube.domain.attributes)), 2))
    return _improved(result, problem, stop, pairs, _PairSearch.reinserted)


_Trial = Callable[["_PairSearch", Mask, Mask], Iterator[Position]]


def _improved(
    result: SearchResult, problem: Problem, stop: Stop, pairs: Sequence[tuple[int, int]], trial: _Trial
) -> SearchResult:
    _ = problem.price
    search = _PairSearch(problem, result, stop)
    search.run(pairs, trial)
    evaluated = result.evaluated + search.evaluated
    if not search.steps:
        return replace(result, evaluated=evaluated)
    steps = (*result.steps, *search.steps)
    return replace(result_of(result.strategy, problem, search.best, evaluated, steps), bound=result.bound)


class _PairSearch:
    def __init__(self, problem: Problem, result: SearchResult, stop: Stop) -> None:
        self.problem, self.stop = problem, stop
        self.best = problem.position(result.cliques)
        self.least = problem.value(self.best)
        self.steps: list[Step] = []
        self.evaluated = 0
        self._refused: set[Mask] = set()

    def run(self, pairs: Sequence[tuple[int, int]], trial: _Trial) -> None:
        """Every pair of attributes in turn, until all were tried since the last better collection."""
        domain = self.problem.cube.domain
        names, attribute_masks = domain.attributes, domain.attribute_masks
        place = tried = 0
        while tried < len(pairs) and not self.stop():
            first, second = pairs[place % len(pairs)]
            place, tried = place + 1, tried + 1
            what = f"make anew what {names[first]} and {names[second]} share"
            if any(
                self._is_better(start, what) for start in trial(self, attribute_masks[first], attribute_masks[second])
            ):
                tried = 0

    def joined_or_apart(self, first: Mask, second: Mask) -> Iterator[Position]:
        """Where the single moves begin again: the pair joined further, and apart, also with what has room there then."""
        if (joined := self._joined(first, second)) is not None:
            yield joined
        apart = self._apart(first, second)
        if apart is not self.best:
            yield apart
            yield self._filled(apart, by_gain)

    def reinserted(self, first: Mask, second: Mask) -> Iterator[Position]:
        """The same: joined by whole rows of steps, and the first attribute alone, then joined with the second."""
        if (joined := self._joined_at_once(first, second)) is not None:
            yield joined
        alone = self._apart(first, ~first)
        if alone is not self.best:
            yield self._filled(alone, _joining_first(first, second))

    def _filled(self, start: Position, preference: Preference) -> Position:
        """All that the divergence adds to a collection."""
        climb = self._climb(start, replace(self.problem, objective=KL))
        climb.add_all(preference)
        self.evaluated += climb.evaluated
        return climb.position

    def _is_better(self, start: Position, what: str) -> bool:
        climb = self._climb(start, self.problem)
        climb.settle()
        self.evaluated += climb.evaluated
        position = climb.position
        bounded = self.problem.cube.is_bounded_by_divergence
        if (
            bounded and position.divergence >= self.least - LEAST_GAIN
        ):  # what parameters and analyses cost would come on top
            return False
        value = self.problem.value(position)
        if value >= self.least - LEAST_GAIN or not climb.is_allowed():
            return False
        self.steps.append(Step(what, self.best.divergence, position.divergence))
        self.best, self.least = position, value
        return True

    def _climb(self, start: Position, problem: Problem) -> Climb:
        return Climb(problem, start, self.stop, self._refused)

    def _joined(self, first: Mask, second: Mask) -> Position | None:
        """The pair joined step by step, to the best point on the way that is allowed; None where none is better."""
        climb = self._climb(self.best, self.problem)
        best, most, stale, gained = None, LEAST_GAIN, 0, 0.0
        while stale < _DEPTH and (chosen := self._next(climb, first, second)) is not None:
            gain, move, change, is_allowed = chosen
            climb.take(move, change)
            gained, stale = gained + gain, stale + 1
            if gained > most and is_allowed:
                best, most, stale = climb.position, gained, 0
        self.evaluated += climb.evaluated
        return best

    def _joined_at_once(self, first: Mask, second: Mask) -> Position | None:
        """The pair joined by all steps of the first at each of the second, to the best point that is allowed, or None.

        For constraints that allow no margin with some of these steps beside another with all of them.
        """
        climb = self._climb(self.best, self.problem)
        best, most, stale, gained = None, LEAST_GAIN, 0, 0.0
        across = list(vertices_of(first & self.best.graph.vertices))
        for other in vertices_of(second & self.best.graph.vertices):
            is_allowed = False
            for number, one in enumerate(across):
                if climb.position.graph.has_edge(one, other):
                    continue
                move = AddEdge(min(one, other), max(one, other))
                if not move.is_allowed(climb.position.graph):
                    across = across[:number]
                    break
                change = climb.position.change(move)
                refusal = None if change.clique in self._refused else climb.refusal(move, change)
                if change.clique in self._refused or (refusal and refusal.scope is RefusalScope.FINER):
                    self._refused.add(change.clique)
                    across = across[:number]
                    break
                gained += climb.likely_gain(move, change)
                climb.take(move, change)
                is_allowed = refusal is None
            if not across:
                break
            stale += 1
            if is_allowed and gained > most:
                best, most, stale = climb.position, gained, 0
            if stale == _ROWS:
                break
        self.evaluated += climb.evaluated
        return best

    def _next(self, climb: Climb, first: Mask, second: Mask) -> tuple[float, AddEdge, Change, bool] | None:
        """The step of a pair that gains most, or loses least, not refused for good, and whether it is allowed."""
        graph = climb.position.graph
        candidates = []
        for one in vertices_of(first & graph.vertices):
            for other in vertices_of(second & graph.vertices & ~graph.neighbors[one]):
                move = AddEdge(min(one, other), max(one, other))
                if move.is_allowed(graph):
                    change = climb.position.change(move)
                    if change.clique not in self._refused:
                        candidates.append((climb.likely_gain(move, change), move, change))
        for gain, move, change in sorted(candidates, key=lambda candidate: (-candidate[0], candidate[1])):
            refusal = climb.refusal(move, change)
            if refusal is None or refusal.scope is not RefusalScope.FINER:
                return gain, move, change, refusal is None
            self._refused.add(change.clique)
        return None

    def _apart(self, first: Mask, second: Mask) -> Position:
        """The best collection without edges between two sets of vertices, as far as single removals lead there."""
        position = self.best
        while (edge := self._last_edge(position, first, second)) is not None:
            position = position.after(edge, position.change(edge))
        return position

    def _last_edge(self, position: Position, first: Mask, second: Mask) -> RemoveEdge | None:
        """An edge between two sets of vertices that may go, the finest steps first."""
        graph = position.graph
        for one in reversed(list(vertices_of(first & graph.vertices))):
            for other in reversed(list(vertices_of(second & graph.neighbors[one]))):
                edge = RemoveEdge(min(one, other), max(one, other))
                if self.problem.may_part(1 << one | 1 << other) and edge.is_allowed(graph):
                    return edge
        return None


_FIRST = 1e9
"""A factor on gains beyond all others."""


def _joining_first(first: Mask, second: Mask) -> Preference:
    """By gain, the edges between two sets of vertices before all others."""

    def preference(move: Move, gain: float) -> float:
        return gain * (_FIRST if _joins(move, first, second) else 1.0)

    return preference


def _joins(move: Move, first: Mask, second: Mask) -> bool:
    if not isinstance(move, AddEdge):
        return False
    one, other = 1 << move.first, 1 << move.second
    return bool((one & first and other & second) or (one & second and other & first))
