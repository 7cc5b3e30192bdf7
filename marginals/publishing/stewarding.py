"""What the steward is told of a release that was just made, from the table itself."""

from collections.abc import Callable
from itertools import combinations
from math import comb

from marginals.anonymizers.lattice import SingleTable
from marginals.bundle.content import BundleContent
from marginals.pages.steward_page import steward_html
from marginals.publishing.obstacles import Obstacles
from marginals.release.steward import StewardReport, TableErrors
from models.errors import TooManyCellsError
from models.graphs.collection import Collection
from models.inference.marginal_model import MarginalModel
from models.inference.maximum_entropy import MaximumEntropy
from models.inference.total_variation import total_variation
from models.search import SearchResult
from models.tables.data_cube import DataCube

Stop = Callable[[], bool]
"""Whether no more time should be spent."""


def steward_report(
    obstacles: Obstacles, published: BundleContent, search: SearchResult, best: SingleTable | None, stop: Stop
) -> StewardReport:
    """What only the steward may know of a release. best: the best single table, where one was looked for.

    obstacles: what stood in the way, and the table. Tables are compared with the data until stop says so.
    """
    table = obstacles.table
    cube, model = table.cube, MarginalModel(Collection.of(table.cube, search.cliques))
    suppressed = Collection.of(cube, [cube.domain.mask(dict.fromkeys(table.sensitive, 0))])
    return StewardReport(
        published,
        search.kl_divergence,
        MaximumEntropy(suppressed).kl_divergence,
        None if best is None else best.kl_divergence,
        search,
        table.missing,
        table.missing_in,
        table_errors(cube, model, 1, stop),
        table_errors(cube, model, 2, stop),
        steward_html,
        cube.domain,
        {name: obstacles.of_attribute(name, search.cliques) for name in published.unpublished},
        table.left_out,
    )


def table_errors(cube: DataCube, model: MarginalModel, size: int, stop: Stop) -> TableErrors:
    """How far the model's tables of so many attributes, at base values, are from those of a cube of the data.

    Left out are tables that the cube would have to count where the rows lie, those that are too large to be laid out, and
    those that are left when it is time to stop.
    """
    errors: dict[tuple[str, ...], float] = {}
    for chosen in combinations(cube.domain.attributes, size):
        mask = cube.domain.mask(dict.fromkeys(chosen, 0))
        if stop():
            break
        if cube.holds(mask):
            try:
                errors[chosen] = total_variation(cube.table(mask), model)
            except TooManyCellsError:
                continue
    return TableErrors(errors, comb(len(cube.domain.attributes), size) - len(errors))
