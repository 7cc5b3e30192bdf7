"""What chance gains: a search by the KL divergence alone pays for noise, so it ends by a divergence that prices parameters.

A table of two attributes that have nothing to do with each other still gains about (its free parameters) / 2n nats from n
people. The least

    KL(p || q) + D / 2n,    D = sum over cliques c(E) - 1  -  sum over separators c(S) - 1,

is what is looked for instead, c(E) the cells of a margin that count (`interactions`). So every attribute keeps its own
table, and what two attributes show of each other has a price, that of a parameter being `Problem.price`. Where attributes
have levels, single steps by it stall: a coarse step costs more than it gains where finer ones pay. Local search sometimes
adds by the KL divergence alone for that.
"""

from dataclasses import replace

from models.graphs.interaction_graph import RemoveEdge
from models.search.greedy import Climb, result_of
from models.search.problem import LEAST_GAIN, PenalizedDivergence, Problem, SearchResult, Stop
from models.tables.data_cube import DOUBTFUL


def stalls_by_price(problem: Problem) -> bool:
    """Return whether parameters have a price and attributes have levels, of which a coarse one may not pay by itself."""
    return isinstance(problem.objective, PenalizedDivergence) and bool(problem.price) and problem.has_levels


def without_chance_edges(result: SearchResult, problem: Problem, stop: Stop) -> SearchResult:
    """Remove edges that chance explains: those that do not pay twice the price, nor does their pair by itself.

    The objective can grow by less than the price of these edges. An edge of a wanted analysis counts its gain there.
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
