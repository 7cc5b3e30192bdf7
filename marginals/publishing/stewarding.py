"""Report for the steward of a release that was just made, from the table itself."""

import time
from collections.abc import Iterable
from dataclasses import replace
from math import inf

from marginals.accuracy import ALONE, INDEPENDENT, Comparison, comparison
from marginals.bundle.content import BundleContent, model_of
from marginals.pages.steward_page import steward_html
from marginals.publishing.obstacles import Obstacles
from marginals.publishing.searching import Prepared, Search
from marginals.publishing.wanted import wanted_tables
from marginals.steward import FurtherTables, StewardReport
from models.deadline import Deadline
from models.frozen import frozen
from models.graphs.junction_tree import Collection
from models.inference.marginal_model import MarginalModel
from models.inference.maximum_entropy import MaximumEntropy
from models.search.problem import Problem, RefusedMove, Stop, from_independence
from models.tables.hierarchy import Mask

_AT_THE_END = 5.0  # to ask what binds where the search ended, and what keeps wanted tables out
_LEAST = 1.0  # for the page, where the time limit is shorter


def steward_report(
    prepared: Prepared, published: BundleContent, search: Search, further: FurtherTables | None, deadline: Deadline
) -> StewardReport:
    """Report facts of a release that only the steward may know, from the table of the people whom it shows."""
    table, policy, result = prepared.visible, prepared.policy, search.result
    cube, allows = table.cube, search.problem.constraint
    obstacles = Obstacles(prepared.table, prepared.requirements, allows)
    sensitive = _allowed_by_themselves(table.sensitive, search.problem, prepared.common)
    suppressed = Collection.of(cube, [sensitive])
    later = _Later(prepared, search, deadline, () if further is None else further.masks)
    return StewardReport(
        published,
        MaximumEntropy(Collection.of(cube, result.cliques)).kl_divergence if table.part else result.kl_divergence,
        MaximumEntropy(suppressed).kl_divergence,
        result,
        table.missing,
        table.missing_in,
        later.compare,
        steward_html,
        cube.domain,
        {name: obstacles.of_attribute(name, result.cliques) for name in published.unpublished},
        later.binding,
        table.left_out,
        has_base=search.base is not None,
        objective=search.problem.priced,
        further=further,
        wanted=wanted_tables(
            cube, policy.analyses, result.cliques, published.everything, allows, later._stop_after(_AT_THE_END, 2)
        ),
    )


@frozen(eq=False)
class _Later:
    """Slow parts of the report, computed on demand; all fields can be pickled."""

    prepared: Prepared
    search: Search
    deadline: Deadline
    further: tuple[Mask, ...] = ()

    def compare(self) -> Comparison:
        cube, analyses = self.prepared.visible.cube, self.prepared.policy.analyses
        begun = from_independence(replace(self.search.problem, required=(), start=None), self.prepared.common)
        fair = MarginalModel(Collection.of(cube, begun.start or ()))
        ones = MarginalModel(Collection.of(cube, cube.domain.attribute_masks))
        cliques = self.search.result.cliques
        model = model_of(Collection.of(cube, [*cliques, *self.further]), Collection.of(cube, cliques))
        wanted = [analysis.attributes for analysis in analyses]
        return comparison(cube, model, {ALONE: fair, INDEPENDENT: ones}, wanted, self._stop_after(inf, 4))

    def binding(self) -> tuple[RefusedMove, ...] | None:
        return self.search.problem.binding(self.search.result.cliques, self._stop_after(_AT_THE_END, 8))

    def _stop_after(self, seconds: float, parts: float) -> Stop:
        limit = max(self.prepared.policy.time_limit, _LEAST)
        processor = Deadline.after(min(seconds, limit / parts), time.process_time)
        return lambda: processor.is_over or self.deadline.is_over


def _allowed_by_themselves(attributes: Iterable[str], problem: Problem, common: Mask) -> Mask:
    domain = problem.cube.domain
    allowed_mask: Mask = 0
    for attribute in attributes:
        levels = range(domain.hierarchy(attribute).height)
        masks = (domain.mask({attribute: level}) for level in levels)
        allowed_mask |= next((mask for mask in masks if problem.constraint([mask | common], 0) is None), 0)
    return allowed_mask
