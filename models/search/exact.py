"""Exact search: the best allowed collection, with the proof that none is better.

Best-first search by a lower bound (Hart, Nilsson and Raphael 1968). Collections grow in perfect sequence, margin by
margin. Each new margin shares with the collection a part of one of its cliques, and adds attributes or levels that it
does not show yet. So every decomposable collection is reached, and a collection is refused if a part of its junction
tree is.

Complete collections that are better than the best one are put to the whole constraint. Wanted analyses make no
objective smaller, so the bound holds without them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from heapq import heappop, heappush
from itertools import count
from math import inf
from typing import NamedTuple

from models.errors import NothingAllowedError
from models.search.greedy import result_of
from models.search.local_search import local
from models.search.lower_bound import allowed_margins, lower_bound, score
from models.search.problem import Problem, Refusal, RefusalScope, SearchResult, Step, Stop
from models.tables.hierarchy import Mask

_TIE = 1e-11
"""Nats by which a collection must be better to replace another."""

_MOST_WAITING = 500_000
"""Most collections in the queue."""


def exact(problem: Problem, stop: Stop, initial: SearchResult | None = None, most: float = inf) -> SearchResult:
    """Search for the best collection that the problem allows, and prove that it is the best.

    Parameters
    ----------
    problem
        The search problem.
    stop
        Ends the search when it returns True.
    initial
        Result to improve, never replaced by a worse one; by default that of local search.
    most
        Most collections that are extended.

    Returns
    -------
    SearchResult
        `optimal` if the proof is complete, else with the bound reached.

    Raises
    ------
    SelectionError
        If the objective is only a stopping rule.
    NothingAllowedError
        If no allowed collection was found.

    References
    ----------
    Hart, Nilsson and Raphael 1968.
    """
    _ = problem.price
    if initial is None:
        try:
            initial = local(problem, stop)
        except NothingAllowedError:
            initial = SearchResult("exact", (), inf, evaluated=0, optimal=False, steps=(), value=inf)
    if most and (allowed := allowed_margins(problem, stop)) is not None:
        return _Search(problem, initial, allowed).run(stop, most)
    _require_some(initial.cost)
    return replace(initial, strategy="exact")


def _require_some(value: float) -> None:
    if value == inf:
        raise NothingAllowedError(
            "the search found no collection that the constraint allows and that shows what must be kept; weaken the "
            "constraint, or give more time"
        )


class _State(NamedTuple):
    """Partial collection. cost: of its cliques less its separators, in nats."""

    cost: float
    vertices: Mask
    cliques: frozenset[Mask]


class _Search:
    def __init__(self, problem: Problem, initial: SearchResult, allowed: Sequence[Mask]) -> None:
        self.problem = problem
        self.entropy = problem.cube.entropy(sum(problem.cube.domain.attribute_masks))
        self.best = initial.cost
        self.cliques, self.divergence = frozenset(initial.cliques), initial.kl_divergence
        self.steps = list(initial.steps)
        self.evaluated = initial.evaluated
        self._refusal = cache(self._judge)
        self._margins = [mask for mask in allowed if mask]
        self._score = cache(lambda mask: score(problem, mask) if mask else 0.0)
        self._to_go = cache(lower_bound(problem, allowed).to_go)
        self._queue: list[tuple[float, int, _State]] = []
        self._seen: set[frozenset[Mask]] = set()
        self._order = count()

    def run(self, stop: Stop, most: float) -> SearchResult:
        self._enqueue(_State(0.0, 0, frozenset()))
        proven, looks = self.best, count()
        while self._queue:
            proven = self._queue[0][0]
            if proven >= self.best - _TIE or next(looks) >= most or stop() or len(self._queue) > _MOST_WAITING:
                break
            self._go_on_from(heappop(self._queue)[2])
        else:
            proven = self.best
        _require_some(self.best)
        position = self.problem.position(self.cliques)
        result = result_of("exact", self.problem, position, self.evaluated, self.steps)
        return replace(result, optimal=proven >= self.best - _TIE, bound=min(proven, self.best))

    def _enqueue(self, state: _State) -> None:
        bound = state.cost + self._to_go(state.vertices) - self.entropy
        if bound >= self.best - _TIE or state.cliques in self._seen:
            return
        if all(self._may_show(mask, state) for mask in self.problem.required):
            self._seen.add(state.cliques)
            heappush(self._queue, (bound, next(self._order), state))

    def _may_show(self, mask: Mask, state: _State) -> bool:
        """Return whether a margin is or can be shown: a new margin takes its shared part from a single clique."""
        shared = mask & state.vertices
        return not shared or any(not shared & ~clique for clique in state.cliques)

    def _go_on_from(self, state: _State) -> None:
        refusal = self._refusal(frozenset(c for c in state.cliques if c & self.problem.jointly_judged))
        if refusal is None:
            self._compare(state)
        elif refusal.scope is not RefusalScope.ITSELF:
            return
        for margin, cost in self._extensions(state):
            self._enqueue(_State(cost, state.vertices | margin, state.cliques | {margin}))

    def _judge(self, jointly: frozenset[Mask]) -> Refusal | None:
        self.evaluated += 1
        return self.problem.constraint(jointly, 0)

    def _compare(self, state: _State) -> None:
        if not self.problem.is_kept(state.cliques):
            return
        domain, log_leaves = self.problem.cube.domain, self.problem.cube.log_leaves
        levels = domain.levels(state.vertices)
        value = state.cost + sum(map(log_leaves, levels, levels.values())) - self.entropy
        if self.problem.wanted and value < self.best - _TIE:
            value += self.problem.wanted.value(state.cliques)
        if value < self.best - _TIE and self.problem.constraint(state.cliques, 0) is None:
            divergence = self.problem.position(state.cliques).divergence
            self.steps.append(Step(f"a collection of {len(state.cliques)} margins", self.divergence, divergence))
            self.best, self.divergence, self.cliques = value, divergence, state.cliques

    def _extensions(self, state: _State) -> Iterator[tuple[Mask, float]]:
        cost, vertices, cliques = state
        for margin in self._margins:
            separator = margin & vertices
            if separator == margin or separator in cliques:
                continue
            if separator and not any(not separator & ~clique for clique in cliques):
                continue
            if self.problem.may_go_with(margin, cliques):
                yield margin, cost + (self._score(margin) - self._score(separator))
