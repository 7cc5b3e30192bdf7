"""What chance gains: a search by the KL divergence alone pays for noise, so it ends by a divergence that prices parameters.

A table of two attributes that have nothing to do with each other still gains about (its free parameters) / 2n nats from n
people. The least

    KL(p || q) + D / 2n,    D = sum over cliques c(E) - 1  -  sum over separators c(S) - 1,

is what is looked for instead, c(E) the cells of a margin that count (`interactions`). So every attribute keeps its own
table, and what two attributes show of each other has a price, that of a parameter being `Problem.price`. Where attributes
have levels, a search by it stalls: a coarse step costs more than it gains where finer ones pay. So the search goes by the
KL divergence, and what it finds is settled: additions and removals in turn, by the price, until none gains.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import wraps

from models.errors import NothingAllowedError
from models.graphs.interaction_graph import RemoveEdge
from models.search.greedy import Climb, from_both, result_of
from models.search.problem import KL, LEAST_GAIN, PenalizedDivergence, Problem, SearchResult, Stop, Strategy
from models.tables.data_cube import DOUBTFUL


def priced(problem: Problem, times: float) -> Problem:
    """Return the problem with so many times the price of a parameter."""
    return replace(problem, objective=PenalizedDivergence(times * problem.price))


def stalls_by_price(problem: Problem) -> bool:
    """Return whether parameters have a price and attributes have levels, of which a coarse one may not pay by itself."""
    return isinstance(problem.objective, PenalizedDivergence) and bool(problem.price) and problem.has_levels


def by_divergence(search: Strategy) -> Strategy:
    """A search by the KL divergence whose result is settled by the price; without a price, the search itself."""

    @wraps(search)
    def strategy(problem: Problem, stop: Stop) -> SearchResult:
        if not stalls_by_price(problem):
            return search(problem, stop)
        return settled(search(replace(problem, objective=KL), stop), problem, stop)

    return strategy


def or_from_forward(search: Strategy) -> Strategy:
    """A search by the KL divergence whose settled result is no worse than that of forward search.

    By the divergence it is no worse; of two collections the better one by the divergence may settle to the worse one.
    """

    @wraps(search)
    def strategy(problem: Problem, stop: Stop) -> SearchResult:
        result = by_divergence(search)(problem, stop)
        if stalls_by_price(problem) and not stop():
            with suppress(NothingAllowedError):
                return result.or_better(by_divergence(from_both)(problem, stop))
        return result

    return strategy


def starts(problem: Problem, stop: Stop) -> Iterator[SearchResult]:
    """Results of forward search by the objective and, if it may stall by that, by the divergence; those that are allowed.

    By the objective first: told to stop, nothing takes away again what the divergence adds and does not pay.
    """
    for search in (from_both, by_divergence(from_both)) if stalls_by_price(problem) else (from_both,):
        with suppress(NothingAllowedError):
            yield search(problem, stop)


def settled(result: SearchResult, problem: Problem, stop: Stop) -> SearchResult:
    """Improve a result by single moves until none gains: at once, and at a higher price before that.

    The better of the two, and of the result itself; moves that do not pay the higher price leave room for others.
    """
    best, evaluated = result_of(result.strategy, problem, problem.position(result.cliques), 0, result.steps), 0
    for prices in ((1.0,), (DOUBTFUL, 1.0)):
        position, steps = problem.position(result.cliques), list(result.steps)
        for times in prices:
            climb = Climb(priced(problem, times), position, stop)
            climb.settle()
            position, steps, evaluated = climb.position, [*steps, *climb.steps], evaluated + climb.evaluated
        settled_result = result_of(result.strategy, problem, position, 0, steps)
        best = best.or_better(settled_result)
    return replace(best, evaluated=result.evaluated + evaluated)


def without_chance_edges(result: SearchResult, problem: Problem, stop: Stop) -> SearchResult:
    """Remove edges that chance explains: those that do not pay twice the price, nor does their pair by itself.

    The objective can grow by less than the price of these edges. An edge of a wanted analysis counts its gain there.
    """
    if not problem.price:
        return result
    climb = Climb(priced(problem, DOUBTFUL), problem.position(result.cliques), stop)
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
    """Return whether two attributes, at the levels of an edge and with no others beside them, gain more than they cost."""
    first, second = (problem.cube.domain.coarser_steps(vertex) | 1 << vertex for vertex in (edge.first, edge.second))
    return problem.pair_gain(first, second) > LEAST_GAIN
