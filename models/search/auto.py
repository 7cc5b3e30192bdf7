"""The default search: local search, and a proof where the lattice is small.

Forward search comes first; in a small lattice exact search goes on from it for a while, and ends the search if it proves
that nothing is better. Then comes `local_search`, and in a small lattice exact search again. How much each may do follows
from the problem, not from a clock, so a search that is not stopped ends the same on every machine.
"""

from dataclasses import replace
from functools import partial, reduce

from models.errors import NothingAllowedError
from models.graphs.junction_tree import Collection
from models.inference.maximum_entropy import MaximumEntropy
from models.search.exact import exact
from models.search.greedy import backward, both, stepwise
from models.search.local_search import local
from models.search.lower_bound import LARGEST_LATTICE, lattice_size
from models.search.problem import LEAST_GAIN, PenalizedDivergence, Problem, SearchResult, Stop, Strategy

_WORK = 200_000
"""Extensions of collections that exact search may look at before local search."""

_LONGER = 4
"""Times as many it may look at after local search."""


def auto(problem: Problem, stop: Stop) -> SearchResult:
    """The best collection that is found; the same for the same problem unless stopped.

    It is `optimal` if exact search proves that. By a test of significance, which has no best model, the better of two
    stepwise searches, from the initial collection and from the largest, goes on in both directions. Raises
    NothingAllowedError if no search finds anything that is allowed.
    """
    if not isinstance(problem.objective, PenalizedDivergence):
        return replace(_by_tests(problem, stop), strategy="auto")
    looks = _WORK // lattice_size(problem) if _is_small(problem) else 0
    best = _where_allowed(partial(exact, most=looks), problem, stop) if looks else None
    if best is None or not (best.optimal or stop()):
        found = _where_allowed(local, problem, stop)
        best = best.or_better(found) if best else found
    if best is None:
        best = exact(problem, stop)
    elif looks and not (best.optimal or stop()):
        best = exact(problem, stop, best, _LONGER * looks)
    return replace(best, strategy="auto")


def _is_small(problem: Problem) -> bool:
    return lattice_size(problem) <= LARGEST_LATTICE


def _by_tests(problem: Problem, stop: Stop) -> SearchResult:
    """The search by a test of significance."""
    ends = [stepwise, _from_the_largest] if _is_small(problem) else [stepwise]
    results = [result for end in ends if (result := _where_allowed(end, problem, stop)) is not None]
    best = reduce(partial(_preferred, problem), results) if results else stepwise(problem, stop)
    return _preferred(problem, best, both(replace(problem, start=best.cliques), stop))


def _from_the_largest(problem: Problem, stop: Stop) -> SearchResult:
    """Stepwise from the largest collection that is allowed."""
    return stepwise(replace(problem, start=backward(problem, stop).cliques), stop)


def _where_allowed(search: Strategy, problem: Problem, stop: Stop) -> SearchResult | None:
    """What a search finds; None where it finds nothing that is allowed."""
    try:
        return search(problem, stop)
    except NothingAllowedError:
        return None


def _preferred(problem: Problem, one: SearchResult, other: SearchResult) -> SearchResult:
    """The one of two results that the test prefers."""
    added = _parameters(problem, other) - _parameters(problem, one)
    gained = problem.objective.gain(one.kl_divergence - other.kl_divergence, added)
    return other if gained > LEAST_GAIN else one


def _parameters(problem: Problem, result: SearchResult) -> int:
    return MaximumEntropy(Collection.of(problem.cube, result.cliques)).parameter_count
