"""The search by default: forward search, exact search if the lattice is small, and iterated local search.

Where parameters have a price, two more walks go by the divergence alone and by twice the price. Both results are settled by
the price. The first is the runner-up: it can be the better one for pairs of attributes, which `cross_validation` tells. The
second can be the best one once edges that chance explains are removed.
"""

from dataclasses import replace

from models.errors import NothingAllowedError
from models.search.chance import by_divergence, priced, settled, stalls_by_price
from models.search.exact import exact, proven_or_better
from models.search.greedy import both, from_both
from models.search.local_search import local, walked
from models.search.lower_bound import LARGEST_LATTICE, lattice_size
from models.search.problem import KL, LEAST_GAIN, PenalizedDivergence, Problem, SearchResult, Stop
from models.tables.data_cube import DOUBTFUL

_LEAST_WORK, _MOST_WORK = 200_000, 2_000_000
"""Extensions of collections that exact search may look at, before the walks and after them."""

_SMALL = 1 << 12
"""Margins of a lattice in which exact search comes first."""


def auto(problem: Problem, stop: Stop) -> SearchResult:
    """The best collection; the same for the same problem unless stopped.

    runner_up: the settled result of a walk by the divergence, dearer: of one by twice the price, if it is another one. By an
    objective that is a stopping rule only the result is that of the search in both directions. Raises NothingAllowedError if
    no search finds an allowed collection.
    """
    if not isinstance(problem.objective, PenalizedDivergence):
        return replace(both(problem, stop), strategy="auto")
    if lattice_size(problem) <= _SMALL:
        try:
            begun = _proven(by_divergence(from_both)(problem, stop), problem, stop, _LEAST_WORK)
        except NothingAllowedError:
            return replace(exact(problem, stop), strategy="auto")
        if begun.optimal or stop():
            return replace(begun, strategy="auto")
    best = local(problem, stop)
    ends: list[SearchResult] = []
    for judge in (replace(problem, objective=KL), priced(problem, DOUBTFUL)) if stalls_by_price(problem) else ():
        if stop():
            break
        end = settled(walked(replace(best, evaluated=0), judge, stop, 1 / 2), problem, stop)
        best = replace(best, evaluated=best.evaluated + end.evaluated)
        if _is_better(end, best, problem):
            best = replace(end, evaluated=best.evaluated)
        ends.append(end)
    if not stop():
        best = _proven(best, problem, stop, _MOST_WORK)
    others = [None if set(end.cliques) == set(best.cliques) else end for end in ends]
    runner_up, dearer = (*others, None, None)[:2]
    return replace(best, strategy="auto", runner_up=runner_up, dearer=dearer)


def _is_better(result: SearchResult, best: SearchResult, problem: Problem) -> bool:
    """Whether a result is better at a higher price too: a search that looks at more collections finds chance."""
    return all(
        judge.value(judge.position(result.cliques)) < judge.value(judge.position(best.cliques)) - LEAST_GAIN
        for judge in (problem, priced(problem, DOUBTFUL))
    )


def _proven(result: SearchResult, problem: Problem, stop: Stop, work: int) -> SearchResult:
    """Improve a result by exact search within a work limit; unchanged in a large lattice."""
    size = lattice_size(problem)
    return result if size > LARGEST_LATTICE else proven_or_better(result, problem, stop, work // size)
