"""What the steward is told of a release that was just made, from the table itself."""

import time
from collections.abc import Iterable
from dataclasses import replace

from marginals.anonymizers.stepwise_table import stepwise_table
from marginals.bundle.content import BundleContent
from marginals.pages.steward_page import steward_html
from marginals.publishing.obstacles import Obstacles
from marginals.publishing.policy import Policy
from marginals.publishing.searching import Search
from marginals.publishing.suggesting import suggestions
from marginals.publishing.wanted import wanted_tables
from marginals.release.accuracy import INDEPENDENT, SINGLE, STEPWISE, Comparison
from marginals.release.comparing import Stop, comparison
from marginals.release.steward import StewardReport
from marginals.release.suggestion import Suggestion
from marginals.tables.table import Table
from models.accuracy.independent_model import IndependentModel, TableModel
from models.deadline import Deadline
from models.graphs.collection import Collection
from models.inference.marginal_model import MarginalModel
from models.inference.maximum_entropy import MaximumEntropy
from models.search import Problem, RefusedMove
from models.search.constraint import is_refused_in_all
from models.tables.domain import Mask

_FOR_COMPARING = 5.0
"""Seconds of the processor to compare the model with the data."""

_FOR_BINDING = 5.0
"""Seconds of the processor to ask what binds where the search ended."""

_FOR_SUGGESTIONS = 2.0
"""Seconds of the processor to try what else could be wanted."""


def steward_report(
    obstacles: Obstacles,
    published: BundleContent,
    search: Search,
    policy: Policy,
    deadline: Deadline,
    table: Table,
) -> StewardReport:
    """What only the steward may know of a release.

    obstacles: what stood in the way. table: whose margins are published, a part of the one that was
    searched perhaps. With one sensitive attribute the base that the policy had looked for is
    the best single table. deadline: when everything ends.
    """
    result = search.result
    cube = table.cube
    found = search.base if policy.base in ("auto", "best") else None
    best = found if found is not None and len(found.masks) == 1 else None
    sensitive = _as_allowed_alone(table.sensitive, search.problem)
    suppressed = Collection.of(cube, [sensitive])

    def compare() -> Comparison:
        stop = _stop_after(_FOR_COMPARING, deadline)
        yardsticks: dict[str, TableModel] = {INDEPENDENT: IndependentModel(cube)}
        if best is not None:
            yardsticks[SINGLE] = MarginalModel(Collection.of(cube, best.masks))
        elif cube.holds(sum(cube.domain.attribute_masks)):
            refined = stepwise_table(cube, table.quasi_identifiers, sensitive, obstacles.requirements, stop)
            if refined is not None:
                yardsticks[STEPWISE] = MarginalModel(Collection.of(cube, [refined]))
        model = MarginalModel(Collection.of(cube, result.cliques))
        return comparison(cube, model, yardsticks, [analysis.attributes for analysis in policy.analyses], stop)

    def suggest(compared: Comparison) -> tuple[Suggestion, ...]:
        stop = _stop_after(_FOR_SUGGESTIONS, deadline)
        return suggestions(search.problem, compared, policy.analyses, search.first, stop)

    def ask_what_binds() -> tuple[RefusedMove, ...] | None:
        return search.problem.binding(result.cliques, _stop_after(_FOR_BINDING, deadline))

    report = StewardReport(
        published,
        MaximumEntropy(Collection.of(cube, result.cliques)).kl_divergence if table.part else result.kl_divergence,
        MaximumEntropy(suppressed).kl_divergence,
        None if best is None else best.kl_divergence,
        result,
        table.missing,
        table.missing_in,
        compare,
        steward_html,
        cube.domain,
        {name: obstacles.of_attribute(name, result.cliques) for name in published.unpublished},
        ask_what_binds,
        table.left_out,
        suggest=suggest,
        base=search.choice,
    )
    if not policy.analyses:
        return report
    allows = search.problem.constraint
    wanted = wanted_tables(cube, policy.analyses, result.cliques, published.collection, allows)
    return replace(report, wanted=wanted)


def _as_allowed_alone(attributes: Iterable[str], problem: Problem) -> Mask:
    """Some attributes, each as finely as the policy allows it by itself: what else is compared shows no more than that."""
    domain = problem.cube.domain
    shown: Mask = 0
    for attribute in attributes:
        levels = range(domain.hierarchy(attribute).height)
        masks = (domain.mask({attribute: level}) for level in levels)
        shown |= next((mask for mask in masks if not is_refused_in_all(problem.constraint, mask)), 0)
    return shown


def _stop_after(seconds: float, deadline: Deadline) -> Stop:
    """Whether so many seconds of the processor are used up from now on, or the time for everything is over."""
    until = time.process_time() + seconds
    return lambda: time.process_time() > until or deadline.is_over
