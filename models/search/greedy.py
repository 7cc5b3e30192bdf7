"""Stepwise search: repeat the allowed move that gains most.

Forward search adds, backward search removes first. Gains are those of the whole objective, so wanted analyses need
inference for each candidate. A refused clique is not asked for again until the margins judged with it have changed.
"""

from collections.abc import Callable, Iterable
from collections.abc import Collection as AnyCollection
from dataclasses import astuple, replace
from math import inf

from models.errors import NothingAllowedError
from models.graphs.interaction_graph import AddEdge, AddVertex, Move, RemoveEdge, RemoveVertex, allowed_moves, describe
from models.graphs.junction_tree import Collection
from models.inference.maximum_entropy import MaximumEntropy
from models.search.problem import (
    KL,
    LEAST_GAIN,
    Change,
    MarginLimits,
    PenalizedDivergence,
    Position,
    Problem,
    Refusal,
    RefusalScope,
    SearchResult,
    Step,
    Stop,
    pruning,
)
from models.tables.data_cube import DOUBTFUL
from models.tables.hierarchy import Mask


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


_ADDITIONS, _REMOVALS = (AddVertex, AddEdge), (RemoveVertex, RemoveEdge)


class _Climb:
    """Stepwise search: the position, and the steps that led there. evaluated: collections put to the constraint."""

    def __init__(self, problem: Problem, cliques: Iterable[Mask], stop: Stop, evaluated: int = 0) -> None:
        self.problem, self.stop, self.evaluated = problem, stop, evaluated
        self.position = problem.position(cliques)
        self.steps: list[Step] = []
        self._refused: dict[Mask, Refusal] = {}
        """Refusals by the clique that a move would make, valid until the margins judged with it change."""

    def ranked(self, kinds: tuple[type[Move], ...]) -> list[tuple[float, Move, Change]]:
        """Return the gain of each move of these kinds that keeps the required margins, largest first."""
        gains = []
        for move in allowed_moves(self.position.graph):
            if not isinstance(move, kinds) or (self.problem.wanted and self.stop()):
                continue
            change = self.position.change(move)
            refusal = self._refused.get(change.clique)
            is_kept = change.clique or self.problem.is_kept(self.position.cliques_after(move))
            if is_kept and (refusal is None or refusal.scope is not RefusalScope.FINER):
                gain = self.problem.objective.gain(*change[:2]) + self.position.wanted_gain(move)
                gains.append((gain, move, change))
        return sorted(gains, key=lambda gaining: (-gaining[0], gaining[2].clique))

    def step(
        self,
        kinds: tuple[type[Move], ...],
        least: float = LEAST_GAIN,
        unless: Callable[[Move], bool] = lambda _: False,
    ) -> bool:
        """Make the move of these kinds that gains most, if one that is allowed gains more than `least`."""
        for gain, move, change in self.ranked(kinds):
            if gain <= least or self.stop():
                return False
            if not unless(move) and not self._refusal(move, change):
                self.take(move, change)
                return True
        return False

    def _refusal(self, move: Move, change: Change) -> Refusal | None:
        if change.clique in self._refused:
            return self._refused[change.clique]
        self.evaluated += 1
        refusal = self.problem.constraint(self.position.cliques_after(move), change.clique)
        if refusal and change.clique:
            self._refused[change.clique] = refusal
        return refusal

    def take(self, move: Move, change: Change) -> None:
        """Make a move and add a step to the trace."""
        before, self.position = self.position, self.position.after(move, change)
        if not change.clique or change.clique & self.problem.jointly_judged:
            self._refused = {c: r for c, r in self._refused.items() if r.scope is RefusalScope.FINER}
        described = describe(move, before.graph)
        self.steps.append(Step(described, before.divergence, self.position.divergence, change.parameters))

    def settle(self) -> None:
        """Add and remove in turn, until neither gains.

        If gains do not add up, as in tests of significance, moves can return to an earlier collection, which ends the
        search.
        """
        been_at: set[frozenset[Mask]] = set()
        while self.position.cliques not in been_at and not self.stop():
            been_at.add(self.position.cliques)
            for kinds in (_ADDITIONS, _REMOVALS):
                while self.step(kinds):
                    pass

    def result(self, strategy: str) -> SearchResult:
        return result_of(strategy, self.problem, self.position, self.evaluated, self.steps)


def forward(problem: Problem, stop: Stop) -> SearchResult:
    """Add to the initial collection while an allowed move gains.

    Parameters
    ----------
    problem
        The search problem.
    stop
        Ends the search when it returns True.
    """
    climb = _Climb(problem, problem.initial, stop)
    while climb.step(_ADDITIONS):
        pass
    return climb.result("forward")


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
    climb = _Climb(problem, problem.initial, stop)
    climb.settle()
    return climb.result("both")


def backward(problem: Problem, stop: Stop) -> SearchResult:
    """Search backward from the largest collection whose margins are allowed one by one, then forward.

    The cheapest removal is made until the whole collection is allowed. While a removal gains, the best allowed one is
    made first.
    """
    largest = _Climb(_by_margin(problem), problem.initial, stop)
    while largest.step(_ADDITIONS):
        pass
    climb = _Climb(problem, largest.position.cliques, stop, largest.evaluated + 1)
    climb.steps = largest.steps
    allowed = problem.constraint(climb.position.cliques, 0) is None
    while not allowed and not stop():
        allowed = climb.step(_REMOVALS, -inf)
        if not allowed:
            if not (removals := climb.ranked(_REMOVALS)):
                break
            climb.take(*removals[0][1:])
    if not allowed:
        climb = _Climb(problem, problem.initial, stop, climb.evaluated)
    while climb.step(_REMOVALS):
        pass
    climb.settle()
    return climb.result("backward")


def _by_margin(problem: Problem) -> Problem:
    limits = pruning(problem.constraint)

    def refusal(cliques: AnyCollection[Mask], new: Mask) -> Refusal | None:
        return next(filter(None, map(limits.of_margin, [new] if new else cliques)), None)

    constraint = MarginLimits(problem.cube.domain, then=refusal, crossing_levels=problem.crossing)
    return replace(problem, constraint=constraint, objective=KL, wanted=None)


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
    climb = _Climb(doubting, result.cliques, stop, result.evaluated)

    def is_associated(edge: Move) -> bool:
        domain = problem.cube.domain
        ends = (domain.coarser_steps(vertex) | 1 << vertex for vertex in astuple(edge))
        return doubting.pair_gain(*ends) > LEAST_GAIN

    while climb.step((RemoveEdge,), unless=is_associated):
        pass
    if not climb.steps:
        return replace(result, evaluated=climb.evaluated)
    steps = (*result.steps, *climb.steps)
    return replace(result_of(result.strategy, problem, climb.position, climb.evaluated, steps), bound=result.bound)
