"""Exact search: the best allowed collection, with the proof that none is better.

Best-first search by a lower bound (Hart, Nilsson and Raphael 1968). Collections grow in perfect sequence, margin by
margin. Each new margin shares with the collection a part of one of its cliques, and adds attributes or levels that it
does not show yet. So every decomposable collection is reached, and a collection is refused if a part of its junction
tree is.

The margins that the constraint judges together come first. Then the bound counts with the other margins only.

A constraint need not keep to its own description. So complete collections, those around the best, and those that
extend a refused one are put to it once more. If it contradicts itself, all margins are judged together from there on.
Wanted analyses make no objective smaller, so the bound holds without them.
"""

from collections.abc import Collection as AnyCollection
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from heapq import heappop, heappush
from itertools import count
from math import inf
from typing import NamedTuple

from models.errors import NothingAllowedError
from models.graphs.interaction_graph import allowed_moves
from models.search.greedy import result_of
from models.search.local_search import local
from models.search.lower_bound import allowed_margins, lower_bound, score
from models.search.problem import Problem, RefusalScope, SearchResult, Step, Stop, pruning
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
    looks = count()
    if initial is None:
        try:
            initial = local(problem, stop)
        except NothingAllowedError:
            initial = _NONE_YET

    def ends() -> bool:
        return next(looks) >= most or stop()

    if not most or (allowed := allowed_margins(problem, stop)) is None:
        _require_some(initial)
        return replace(initial, strategy="exact")
    if initial.cost == inf or keeps_to_its_pivot(problem, initial.cliques):
        result = _Search(problem, initial, allowed, ends, problem.pivot).run()
        if result is not None and keeps_to_its_pivot(problem, result.cliques):
            return result
        initial = result or initial
    return _Search(problem, initial, allowed, ends, pivot=-1).run() or replace(initial, strategy="exact")


def keeps_to_its_pivot(problem: Problem, cliques: AnyCollection[Mask]) -> bool:
    """Return whether the verdicts on a collection, and on each one move away, follow from the verdicts on its parts.

    These parts are the margins with the pivot together, and every other margin by itself.
    """
    constraint, pivot = problem.constraint, problem.pivot
    position, domain = problem.position(cliques), problem.cube.domain
    if not any(attribute_mask & ~pivot for attribute_mask in domain.attribute_masks):
        return True
    around = (position.cliques_after(move) for move in allowed_moves(position.graph))
    for neighbour in (position.cliques, *around):
        if not all(problem.may_go_with(clique, neighbour) for clique in neighbour):
            continue
        joint = frozenset(clique for clique in neighbour if clique & pivot)
        others_allowed = all(constraint((clique,), 0) is None for clique in neighbour - joint)
        if (constraint(neighbour, 0) is None) != (others_allowed and constraint(joint, 0) is None):
            return False
    return True


_NONE_YET = SearchResult("exact", (), inf, evaluated=0, optimal=False, steps=(), value=inf)


def _require_some(result: SearchResult) -> None:
    if result.cost == inf:
        raise NothingAllowedError(
            "the search found no collection that the constraint allows and that shows what must be kept; weaken the "
            "constraint, or give more time"
        )


class _State(NamedTuple):
    """Partial collection. cost: of its cliques less its separators, in nats.

    is_judged: whether the margins that the constraint judges together are complete, and passed its first look.
    """

    cost: float
    vertices: Mask
    cliques: frozenset[Mask]
    is_judged: bool


class _Search:
    def __init__(
        self, problem: Problem, initial: SearchResult, allowed: Sequence[Mask], stop: Stop, pivot: Mask
    ) -> None:
        self.problem, self.stop, self.pivot = problem, stop, pivot
        self.depends_on_more = False
        """True if the constraint refused margins that it should judge one by one."""
        self.entropy = problem.cube.entropy(sum(problem.cube.domain.attribute_masks))
        self.best = initial.cost
        self.cliques, self.divergence = frozenset(initial.cliques), initial.kl_divergence
        self.steps = list(initial.steps)
        self.evaluated = initial.evaluated
        free = [mask for mask in allowed if not mask & pivot]
        self._margins = {False: [m for m in allowed if m & pivot], True: [m for m in free if m]}
        self._score = cache(lambda mask: score(problem, mask) if mask else 0.0)
        self._to_go = {
            is_judged: cache(lower_bound(problem, margins).to_go)
            for is_judged, margins in ((False, allowed), (True, free))
        }
        self._queue: list[tuple[float, int, _State]] = []
        self._seen: set[tuple[frozenset[Mask], bool]] = set()
        self._order = count()

    def run(self) -> SearchResult | None:
        self._enqueue(_State(0.0, 0, frozenset(), is_judged=False))
        proven = self.best
        while self._queue:
            proven = self._queue[0][0]
            if proven >= self.best - _TIE or self.stop() or len(self._queue) > _MOST_WAITING:
                break
            self._go_on_from(heappop(self._queue)[2])
            if self.depends_on_more:
                return None
        else:
            proven = self.best
        _require_some(replace(_NONE_YET, value=self.best))
        position = self.problem.position(self.cliques)
        result = result_of("exact", self.problem, position, self.evaluated, self.steps)
        return replace(result, optimal=proven >= self.best - _TIE, bound=min(proven, self.best))

    def _enqueue(self, state: _State) -> None:
        if not all(self._may_show(mask_kept, state) for mask_kept in self.problem.required):
            return
        bound = self._bound_of(state.cost, state.vertices, state.is_judged)
        if bound < self.best - _TIE and (state.cliques, state.is_judged) not in self._seen:
            self._seen.add((state.cliques, state.is_judged))
            heappush(self._queue, (bound, next(self._order), state))

    def _bound_of(self, cost: float, vertices: Mask, is_judged: bool) -> float:
        return cost + self._to_go[is_judged](vertices) - self.entropy

    def _may_show(self, mask: Mask, state: _State) -> bool:
        """Return whether a margin is or can be shown: a new margin takes its shared part from a single clique."""
        if any(not mask & ~clique for clique in state.cliques):
            return True
        shared = mask & state.vertices
        if state.is_judged and mask & self.pivot:
            return False
        return not shared or any(not shared & ~clique for clique in state.cliques)

    def _go_on_from(self, state: _State) -> None:
        if state.is_judged:
            if self.problem.constraint(frozenset(clique for clique in state.cliques if clique & self.pivot), 0):
                return
            self._compare(state)
        else:
            self.evaluated += 1
            refusal = pruning(self.problem.constraint).first_look(state.cliques, 0)
            if refusal is None:
                self._enqueue(state._replace(is_judged=True))
            elif refusal.scope is not RefusalScope.ITSELF:
                return
            elif not self._margins[False] or self._is_allowed_with_more(state):
                self.depends_on_more = bool(self._margins[True])
                return
        for margin, cost in self._extensions(state):
            vertices = state.vertices | margin
            is_better = self._bound_of(cost, vertices, state.is_judged) < self.best - _TIE
            if is_better and self.problem.may_go_with(margin, state.cliques):
                self._enqueue(_State(cost, vertices, state.cliques | {margin}, state.is_judged))

    def _is_allowed_with_more(self, state: _State) -> bool:
        longer = self._extensions(state._replace(is_judged=True))
        return any(self.problem.constraint(state.cliques | {margin}, 0) is None for margin, _ in longer)

    def _compare(self, state: _State) -> None:
        if not self.problem.is_kept(state.cliques):
            return
        domain, log_leaves = self.problem.cube.domain, self.problem.cube.log_leaves
        levels = domain.levels(state.vertices)
        value = state.cost + sum(map(log_leaves, levels, levels.values())) - self.entropy
        if self.problem.wanted and value < self.best - _TIE:
            value += self.problem.wanted.value(state.cliques)
        if value < self.best - _TIE:
            if self.problem.constraint(state.cliques, 0):
                self.depends_on_more = True
                return
            position = self.problem.position(state.cliques)
            divergence = position.divergence
            self.steps.append(Step(f"a collection of {len(state.cliques)} margins", self.divergence, divergence))
            self.best, self.divergence, self.cliques = value, divergence, state.cliques

    def _extensions(self, state: _State) -> Iterator[tuple[Mask, float]]:
        cost, vertices, cliques, is_judged = state
        for margin in self._margins[is_judged]:
            separator = margin & vertices
            if separator == margin or separator in cliques:
                continue
            if separator and not any(not separator & ~clique for clique in cliques):
                continue
            yield margin, cost + (self._score(margin) - self._score(separator))
