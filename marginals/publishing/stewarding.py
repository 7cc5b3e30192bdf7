"""What the steward is told of a release that was just made, from the table itself."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf, log

from marginals.accuracy import ALONE, INDEPENDENT, SINGLE, STEPWISE, Comparison, PairCompared, comparison
from marginals.bundle.content import BundleContent, model_of
from marginals.pages.steward_page import steward_html
from marginals.publishing.obstacles import Obstacles
from marginals.publishing.searching import BaseTables, Prepared, Search
from marginals.publishing.wanted import Wanted, wanted_tables, weighed
from marginals.recoding.lattice import stepwise_table
from marginals.steward import FurtherBeside, StewardReport, Suggestion
from models.accuracy import IndependentModel, total_variation
from models.deadline import Deadline
from models.graphs.basis import Kind
from models.graphs.junction_tree import Collection
from models.inference.marginal_model import MarginalModel
from models.inference.maximum_entropy import MaximumEntropy
from models.search.problem import Problem, RefusedMove, SearchResult, Stop, from_independence
from models.search.selection import STRATEGIES
from models.tables.hierarchy import Mask

_ROWS_REFINED = 5_000_000
"""Distinct rows, times the levels that each may be generalized to, of which a single table is refined step by step."""

_FOR_BINDING = 5.0
"""Seconds of the processor to ask what binds where the search ended."""

_FOR_SUGGESTIONS = 2.0
"""Seconds of the processor to try what else could be wanted."""

_LEAST = 1.0
"""Seconds for the page, where the time limit is shorter."""

_FEW_STEPS = 60
"""Induced attributes of a table, at most, of which a search with what could be wanted ends in that time."""


def steward_report(
    prepared: Prepared, published: BundleContent, search: Search, beside: FurtherBeside | None, deadline: Deadline
) -> StewardReport:
    """What only the steward may know of a release, from the table of those whom it shows. beside: further tables."""
    table, policy, result = prepared.shown, prepared.policy, search.result
    cube, allows = table.cube, search.problem.constraint
    obstacles = Obstacles(prepared.table, prepared.requirements, allows)
    base = search.base if policy.base in ("auto", "best") else None
    best = base if base is not None and len(base.masks) == 1 else None
    sensitive = _as_allowed_alone(table.sensitive, search.problem, prepared.common)
    suppressed = Collection.of(cube, [sensitive])
    further = () if beside is None else beside.masks
    asked = _WhenAsked(prepared, search, best, sensitive, deadline, further)
    report = StewardReport(
        published,
        MaximumEntropy(Collection.of(cube, result.cliques)).kl_divergence if table.part else result.kl_divergence,
        MaximumEntropy(suppressed).kl_divergence,
        None if best is None else best.kl_divergence,
        result,
        table.missing,
        table.missing_in,
        asked.compare,
        steward_html,
        cube.domain,
        {name: obstacles.of_attribute(name, result.cliques) for name in published.unpublished},
        asked.binding,
        asked.suggest,
        table.left_out,
        base=search.choice,
        objective=search.problem.priced,
        beside=beside,
    )
    return replace(report, wanted=wanted_tables(cube, policy.analyses, result.cliques, published.everything, allows))


@dataclass(frozen=True, eq=False)
class _WhenAsked:
    """What takes time and is worked out when asked for; values alone, so that the report can be pickled."""

    prepared: Prepared
    search: Search
    best: BaseTables | None
    sensitive: Mask
    deadline: Deadline
    further: tuple[Mask, ...] = ()

    def compare(self) -> Comparison:
        table, cube, analyses = self.prepared.shown, self.prepared.shown.cube, self.prepared.policy.analyses
        levels = sum(table.domain.hierarchy(name).height for name in table.quasi_identifiers)
        begun = from_independence(replace(self.search.problem, required=(), start=None), self.prepared.common)
        alone = MarginalModel(Collection.of(cube, begun.start or ()))
        yardsticks: dict[str, MarginalModel] = {ALONE: alone, INDEPENDENT: IndependentModel.of(cube)}
        if self.best is not None:
            yardsticks[SINGLE] = MarginalModel(Collection.of(cube, self.best.masks))
        elif cube.holds(sum(cube.domain.attribute_masks)) and len(table.base_counts) * levels <= _ROWS_REFINED:
            refined = stepwise_table(cube, table.quasi_identifiers, self.sensitive, self.prepared.requirements)
            if refined is not None:
                yardsticks[STEPWISE] = MarginalModel(Collection.of(cube, [refined]))
        cliques = self.search.result.cliques
        model = model_of(Collection.of(cube, [*cliques, *self.further]), Collection.of(cube, cliques))
        wanted = [analysis.attributes for analysis in analyses]
        return comparison(cube, model, yardsticks, wanted, self._stop_after(inf, 2))

    def suggest(self, compared: Comparison) -> tuple[Suggestion, ...]:
        stop = self._stop_after(_FOR_SUGGESTIONS, 4)
        return suggestions(self.search.problem, compared, self.prepared.policy.analyses, self.search.first, stop)

    def binding(self) -> tuple[RefusedMove, ...] | None:
        return self.search.problem.binding(self.search.result.cliques, self._stop_after(_FOR_BINDING, 4))

    def _stop_after(self, seconds: float, parts: float) -> Stop:
        """After so many seconds of the processor, or a part of the time limit, which is for all that takes time here."""
        return _stop_after(min(seconds, max(self.prepared.policy.time_limit, _LEAST) / parts), self.deadline)


def _as_allowed_alone(attributes: Iterable[str], problem: Problem, common: Mask) -> Mask:
    domain = problem.cube.domain
    allowed_mask: Mask = 0
    for attribute in attributes:
        levels = range(domain.hierarchy(attribute).height)
        masks = (domain.mask({attribute: level}) for level in levels)
        allowed_mask |= next((mask for mask in masks if problem.constraint([mask | common], 0) is None), 0)
    return allowed_mask


_OFTEN = 0.05
"""Seconds, at least, between two questions how much of the processor is used up: on some machines an answer takes long."""


def _stop_after(seconds: float, deadline: Deadline) -> Stop:
    # One thread uses no more of the processor's time than passes, so before that nobody need ask how much it was.
    until, ask_at = time.process_time() + seconds, time.monotonic() + seconds

    def stop() -> bool:
        nonlocal ask_at
        if deadline.is_over:
            return True
        if (now := time.monotonic()) < ask_at:
            return False
        if (remaining := until - time.process_time()) > 0:
            ask_at = now + max(remaining, _OFTEN)
        return remaining <= 0

    return stop


# Pairs that could be wanted besides. Each is tried by forward search alone, which is quick since what the checks said is
# kept. Its price is what the objective says of the result, less what it says of the result without the pair.

_MOST = 3
"""Pairs that are suggested."""

_WEIGHTS = (1.0, 10.0, 100.0)
"""Weights that are tried, one after the other."""

_LOST = 0.05
"""Cramer's V that a pair loses to be suggested."""

_FAR = log(1.5)
"""Or how far its odds ratio is off, as a difference of logarithms."""

_FORWARD = "forward"


def suggestions(
    problem: Problem, comparison: Comparison, wanted: Sequence[Wanted], result: SearchResult, stop: Stop
) -> tuple[Suggestion, ...]:
    """The pairs to add, those first whose association is lost most; not tried where time is over or would be."""
    pairs = _candidates(comparison, wanted)
    if not pairs:
        return ()
    if problem.cube.domain.vertex_count > _FEW_STEPS:
        return tuple(Suggestion(pair.attributes, pair.total_variation, tried=False) for pair in pairs)
    alone = result if result.strategy == _FORWARD else STRATEGIES[_FORWARD](problem, stop)
    return tuple(_tried(problem, pair, wanted, alone, stop) for pair in pairs)


def _candidates(comparison: Comparison, wanted: Sequence[Wanted]) -> list[PairCompared]:
    # no published table shows them as finely as the release shows each
    lost = [pair for pair in comparison.most_lost() if pair.lost >= _LOST]
    odds = [pair for pair in comparison.furthest_odds() if pair.log_ratio >= _FAR]
    known = [set(analysis.attributes) for analysis in wanted]
    candidates = [pair for pair in dict.fromkeys([*lost, *odds]) if pair.kind in (Kind.SUPPORTED, Kind.ASSUMED)]
    return [pair for pair in candidates if not any(names.issuperset(pair.attributes) for names in known)][:_MOST]


def _tried(
    problem: Problem, pair: PairCompared, wanted: Sequence[Wanted], alone: SearchResult, stop: Stop
) -> Suggestion:
    cube = problem.cube
    table = cube.table(cube.domain.mask(dict.fromkeys(pair.attributes, 0)))
    for weight in _WEIGHTS:
        analyses = weighed(cube, [*wanted, Wanted(pair.attributes, weight)])
        with_pair = STRATEGIES[_FORWARD](replace(problem, wanted=analyses), stop)
        if stop():
            return Suggestion(pair.attributes, pair.total_variation, tried=False)
        error = total_variation(table, MarginalModel(Collection.of(cube, with_pair.cliques)))
        if error <= pair.total_variation / 2:
            price = _value(problem, with_pair) - _value(problem, alone)
            return Suggestion(pair.attributes, pair.total_variation, weight, error, price)
    return Suggestion(pair.attributes, pair.total_variation)


def _value(problem: Problem, result: SearchResult) -> float:
    return problem.value(problem.position(result.cliques))
