"""Tests of single edges of a decomposable model: what would be lost without each (Lauritzen, Graphical Models, 4.3.2).

The deviance between the model and that without the edge is chi-squared, in large samples, where the smaller one
holds. An edge in one clique C = {a, b} + S can go without another: the test is that of a and b independent given S,
and its adjusted degrees of freedom are the sum over the cells s of S of (a_s - 1)(b_s - 1), with a_s values of a that
have rows there (Edwards, Introduction to Graphical Modelling, 2nd edition, 2.4). Without an edge in several cliques
the model is not decomposable, and is fitted.
"""

from dataclasses import dataclass

import numpy as np

from models.arrays import CountArray
from models.deadline import NEVER, Deadline
from models.graphs.collection import Collection
from models.inference.marginal_model import MarginalModel
from models.tables.domain import Mask


@dataclass(frozen=True, eq=False)
class EdgeTest:
    """What a model loses without an edge.

    given: the common neighbours of the two. deviance: of the smaller model against the larger. adjusted_degrees_of_freedom:
    None for an edge in several cliques. counts: shape (values of the first, values of the second, cells of `given` that have
    rows), of an edge in one clique, None for others.
    """

    first: int
    second: int
    given: Mask
    deviance: float
    degrees_of_freedom: int
    adjusted_degrees_of_freedom: int | None
    counts: CountArray | None


def edge_test(model: MarginalModel, first: int, second: int, deadline: Deadline = NEVER) -> EdgeTest:
    """The test of an edge between two attributes, all at base values, by their induced attributes.

    Raises NotFittedError, TooManyCellsError or TimeOverError where an edge in several cliques cannot be tested.
    """
    collection, edge = model.collection, 1 << first | 1 << second
    cube, domain, tree = collection.cube, collection.domain, collection.junction_tree
    holding = [clique for clique in tree.cliques if not edge & ~clique]
    given = 0
    for clique in holding:
        given |= clique & ~edge
    if len(holding) == 1:
        a, b, both = given | 1 << first, given | 1 << second, given | edge
        nats = cube.entropy(a) + cube.entropy(b) - cube.entropy(given) - cube.entropy(both)
        cells = domain.cell_count
        nominal = cells(both) - cells(a) - cells(b) + cells(given)
        counts = _by_stratum(collection, first, second, given)
        occupied_rows, occupied_columns = (counts.sum(axis=1) > 0).sum(axis=0), (counts.sum(axis=0) > 0).sum(axis=0)
        adjusted = int(((occupied_rows - 1) * (occupied_columns - 1)).sum())
        return EdgeTest(first, second, given, max(2 * cube.total * nats, 0.0), nominal, adjusted, counts)
    others = [clique for clique in tree.cliques if edge & ~clique]
    torn = [clique & ~(1 << vertex) for clique in holding for vertex in (first, second)]
    without = MarginalModel(Collection.of(cube, [*others, *torn]), deadline)
    deviance = max(2 * cube.total * (model.information - without.information), 0.0)
    pair = (domain.cell_count(1 << first) - 1) * (domain.cell_count(1 << second) - 1)
    subtree = tree.containing(edge)
    terms = sum(domain.cell_count(clique & ~edge) for clique in subtree.cliques)
    inner = [s for parent, s in zip(subtree.parents, subtree.separators) if parent >= 0]
    terms -= sum(domain.cell_count(separator & ~edge) for separator in inner)
    return EdgeTest(first, second, given, deviance, pair * terms, None, None)


def _by_stratum(collection: Collection, first: int, second: int, given: Mask) -> CountArray:
    """The counts of two attributes in each cell of others that has rows."""
    cube, domain = collection.cube, collection.domain
    table = cube.table(given | 1 << first | 1 << second)
    names = [domain.induced_attributes[vertex].attribute for vertex in (first, second)]
    strata = table.positions_in(cube.table(given)) if given else np.zeros(len(table), dtype=np.intp)
    shape = (*(domain.hierarchy(name).size(0) for name in names), int(strata.max(initial=0)) + 1)
    counts: CountArray = np.zeros(shape, dtype=np.int64)
    np.add.at(counts, (*(table.column(name, 0) for name in names), strata), table.counts)
    return counts
