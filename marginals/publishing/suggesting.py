"""What to add to the analyses that a release is wanted for: pairs that lose their association, and what each would cost.

Each is tried out: the search is run again with the pair wanted, by the greedy strategy alone, which is quick since what the
checks said is kept. Its price is the KL divergence of what that finds, less that of what it finds without the pair. Who
publishes with the pair wanted has rounds of rebuilding after it, which may find other tables.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import log

from marginals.publishing.wanted import Wanted, weighed
from marginals.release.accuracy import Comparison, PairCompared
from marginals.release.suggestion import Suggestion
from models.accuracy.total_variation import total_variation
from models.graphs.basis import Kind
from models.graphs.collection import Collection
from models.inference.marginal_model import MarginalModel
from models.search import STRATEGIES, Problem, SearchResult, Stop

_MOST = 3
"""Pairs that are suggested."""

_WEIGHTS = (1.0, 10.0, 100.0)
"""Weights that are tried, one after the other."""

_LOST = 0.05
"""Cramer's V that a pair loses to be suggested."""

_FAR = log(1.5)
"""Or how far its odds ratio is off, as a difference of logarithms."""

_GREEDY = "greedy"


def suggestions(
    problem: Problem, comparison: Comparison, wanted: Sequence[Wanted], found: SearchResult, stop: Stop
) -> tuple[Suggestion, ...]:
    """The pairs to add, those first whose association is lost most. found: what the strategy found, before any rebuilding.

    wanted: what is wanted already. After it is time to stop, pairs are named and not tried.
    """
    pairs = list(_candidates(comparison, wanted))
    if not pairs:
        return ()
    alone = found if found.strategy == _GREEDY else STRATEGIES[_GREEDY](problem, stop)
    return tuple(_tried(problem, pair, wanted, alone, stop) for pair in pairs)


def _candidates(comparison: Comparison, wanted: Sequence[Wanted]) -> Iterator[PairCompared]:
    """Pairs that no published table shows as finely as the release shows each, and that lose what they have in common."""
    lost = [pair for pair in comparison.most_lost() if pair.lost >= _LOST]
    odds = [pair for pair in comparison.furthest_odds() if pair.log_ratio >= _FAR]
    known = [set(analysis.attributes) for analysis in wanted]
    open_pairs = [
        pair
        for pair in dict.fromkeys([*lost, *odds])
        if pair.kind in (Kind.SUPPORTED, Kind.ASSUMED) and not any(set(pair.attributes) <= own for own in known)
    ]
    yield from open_pairs[:_MOST]


def _tried(
    problem: Problem, pair: PairCompared, wanted: Sequence[Wanted], alone: SearchResult, stop: Stop
) -> Suggestion:
    cube = problem.cube
    table = cube.table(cube.domain.mask(dict.fromkeys(pair.attributes, 0)))
    for weight in _WEIGHTS:
        analyses = weighed(cube, [*wanted, Wanted(pair.attributes, weight)])
        with_pair = STRATEGIES[_GREEDY](replace(problem, wanted=analyses), stop)
        if stop():
            return Suggestion(pair.attributes, pair.total_variation, was_tried=False)
        error = total_variation(table, MarginalModel(Collection.of(cube, with_pair.cliques)))
        if error <= pair.total_variation / 2:
            price = with_pair.kl_divergence - alone.kl_divergence
            return Suggestion(pair.attributes, pair.total_variation, weight, error, price)
    return Suggestion(pair.attributes, pair.total_variation)
