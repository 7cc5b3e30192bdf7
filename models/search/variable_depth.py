"""Variable-depth search over pairs of attributes: several moves at once, of which the first may lose.

Kernighan and Lin (Bell System Technical Journal 49, 1970). Where parameters have a price, a coarse step of two attributes
often costs more than it gains, and the finer ones after it pay; single moves never get there. So each pair is joined step
by step, whether that gains or not, and the best point on the way is kept; and it is taken apart wholly, and the rest is
made anew. Each trial ends with single moves until none gains.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

from models.graphs.interaction_graph import AddEdge, Move, RemoveEdge
from models.search.greedy import Climb, Preference, result_of
from models.search.problem import KL, LEAST_GAIN, Change, Position, Problem, RefusalScope, SearchResult, Step, Stop
from models.tables.hierarchy import Mask, vertices_of

_DEPTH = 8
"""Steps in a row without a better point, after which a pair is joined no further."""


def by_pairs(result: SearchResult, problem: Problem, stop: Stop) -> SearchResult:
    """What a search has found, made better until no pair of attributes makes it so; never worse.

    Each better collection is one step of the trace. Raises SelectionError for an objective that is a stopping rule only.
    """
    _ = problem.price
    search = _PairSearch(problem, result, stop)
    search.run()
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

    def run(self) -> None:
        """Every pair of attributes, and every attribute of a margin, in turn, until none makes anything better."""
        domain = self.problem.cube.domain
        names, own = domain.attributes, domain.attribute_masks
        pairs = list(combinations(range(len(names)), 2))
        place = tried = 0
        while not self.stop():
            if tried < len(pairs):
                first, second = pairs[place % len(pairs)]
                place, tried = place + 1, tried + 1
                what = f"make anew what {names[first]} and {names[second]} share"
                if any(self._is_better(start, what) for start in self._of_pair(own[first], own[second])):
                    tried = 0
            elif self._frees_a_margin():
                tried = 0
            else:
                break

    def _of_pair(self, first: Mask, second: Mask) -> Iterator[Position]:
        """Where the single moves begin again: the pair joined further, or apart."""
        before = self.best
        if (joined := self._joined(first, second)) is not None:
            yield joined
        yield from self._filled(first, second, before)

    def _frees_a_margin(self) -> bool:
        """Whether it is better to take an attribute out of some margin, for what has room there then."""
        domain = self.problem.cube.domain
        for clique in sorted(self.best.cliques):
            for name, own in zip(domain.attributes, domain.attribute_masks):
                if self.stop():
                    return False
                if not clique & own or not clique & ~own:
                    continue
                before = self.best
                starts = self._filled(own & clique, clique & ~own, before)
                if any(self._is_better(start, f"take {name} out of a table") for start in starts):
                    return True
        return False

    def _filled(self, first: Mask, second: Mask, before: Position) -> Iterator[Position]:
        """A collection without edges between two sets of vertices, and that with all that the divergence adds to it, these
        edges last; none where they cannot go.
        """
        apart = self._apart(first, second)
        if apart is before:
            return
        yield apart
        climb = self._climb(apart, replace(self.problem, objective=KL))
        climb.add_all(_joining_last(first, second))
        self.evaluated += climb.evaluated
        yield climb.position

    def _is_better(self, start: Position, what: str) -> bool:
        climb = self._climb(start, self.problem)
        climb.settle()
        self.evaluated += climb.evaluated
        position = climb.position
        value = self.problem.value(position)
        if value >= self.least - LEAST_GAIN or not climb.is_allowed():
            return False
        self.steps.append(Step(what, self.best.divergence, position.divergence))
        self.best, self.least = position, value
        return True

    def _climb(self, start: Position, problem: Problem) -> Climb:
        return Climb(problem, start, self.stop, self._refused)

    def _joined(self, first: Mask, second: Mask) -> Position | None:
        """The pair joined step by step, to the best point on the way; None where none is better."""
        climb = self._climb(self.best, self.problem)
        best, most, stale, gained = None, LEAST_GAIN, 0, 0.0
        while stale < _DEPTH and (chosen := self._next(climb, first, second)) is not None:
            gain, move, change = chosen
            climb.take(move, change)
            gained, stale = gained + gain, stale + 1
            if gained > most:
                best, most, stale = climb.position, gained, 0
        self.evaluated += climb.evaluated
        return best

    def _next(self, climb: Climb, first: Mask, second: Mask) -> tuple[float, AddEdge, Change] | None:
        """The allowed step of a pair that gains most, or loses least."""
        graph = climb.position.graph
        candidates = []
        for one in vertices_of(first & graph.vertices):
            for other in vertices_of(second & graph.vertices & ~graph.neighbors[one]):
                move = AddEdge(min(one, other), max(one, other))
                if move.is_allowed(graph):
                    change = climb.position.change(move)
                    if change.clique not in self._refused:
                        candidates.append((climb.likely_gain(move, change), move, change))
        for candidate in sorted(candidates, key=lambda own: (-own[0], own[1])):
            refusal = climb.refusal(*candidate[1:])
            if refusal is None:
                return candidate
            if refusal.scope is RefusalScope.FINER:
                self._refused.add(candidate[2].clique)
        return None

    def _apart(self, first: Mask, second: Mask) -> Position:
        """The best collection without edges between two sets of vertices, as far as single removals lead there.
        """
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


def _joining_last(first: Mask, second: Mask) -> Preference:
    """By gain, the edges between two sets of vertices only after all others."""

    def preference(move: Move, gain: float) -> float:
        if isinstance(move, AddEdge):
            one, other = 1 << move.first, 1 << move.second
            if (one & first and other & second) or (one & second and other & first):
                return 1e-9 * gain
        return gain

    return preference
