"""What the steward is told of a release that was just made, from the table itself."""

from collections.abc import Callable, Sequence

from marginals.anonymizers.stepwise_table import stepwise_table
from marginals.bundle.content import BundleContent
from marginals.pages.steward_page import steward_html
from marginals.publishing.base_tables import BaseTables
from marginals.publishing.obstacles import Obstacles
from marginals.publishing.wanted import Wanted
from marginals.release.accuracy import INDEPENDENT, SINGLE, STEPWISE, Comparison
from marginals.release.comparing import Stop, comparison
from marginals.release.steward import StewardReport
from models.accuracy.independent_model import IndependentModel, TableModel
from models.graphs.collection import Collection
from models.inference.marginal_model import MarginalModel
from models.inference.maximum_entropy import MaximumEntropy
from models.search import SearchResult


def steward_report(
    obstacles: Obstacles,
    published: BundleContent,
    search: SearchResult,
    base: BaseTables | None,
    wanted: Sequence[Wanted],
    comparing: Callable[[], Stop],
) -> StewardReport:
    """What only the steward may know of a release. base: the best base, where one was looked for; with one sensitive
    attribute it is the best single table.

    obstacles: what stood in the way, and the table. comparing: called when tables begin to be compared with the data, which
    ends when it says so.
    """
    table = obstacles.table
    cube = table.cube
    best = base if base is not None and len(base.masks) == 1 else None
    suppressed = Collection.of(cube, [cube.domain.mask(dict.fromkeys(table.sensitive, 0))])

    def compare() -> Comparison:
        stop = comparing()
        yardsticks: dict[str, TableModel] = {INDEPENDENT: IndependentModel(cube)}
        if best is not None:
            yardsticks[SINGLE] = MarginalModel(Collection.of(cube, best.masks))
        elif cube.holds(sum(cube.domain.attribute_masks)):
            found = stepwise_table(cube, table.quasi_identifiers, obstacles.requirements, stop)
            if found is not None:
                yardsticks[STEPWISE] = MarginalModel(Collection.of(cube, [found]))
        model = MarginalModel(Collection.of(cube, search.cliques))
        return comparison(cube, model, yardsticks, [analysis.attributes for analysis in wanted], stop)

    return StewardReport(
        published,
        search.kl_divergence,
        MaximumEntropy(suppressed).kl_divergence,
        None if best is None else best.kl_divergence,
        search,
        table.missing,
        table.missing_in,
        compare,
        steward_html,
        cube.domain,
        {name: obstacles.of_attribute(name, search.cliques) for name in published.unpublished},
        table.left_out,
    )
