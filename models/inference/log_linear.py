"""Decomposable log-linear models: their u-terms, tests of their edges, and the parameters that sparse tables can
estimate.
"""

from functools import reduce
from math import prod
from operator import or_

import numpy as np

from models.arrays import CountArray
from models.frozen import frozen
from models.graphs.junction_tree import Collection, JunctionTree
from models.inference.marginal_model import MarginalModel
from models.tables.data_cube import DataCube
from models.tables.hierarchy import Mask

# Tests of single edges of a decomposable model: the loss if an edge is removed (Lauritzen, Graphical Models, 4.3.2).
#
# The deviance between the model and that without the edge is chi-squared, in large samples, where the smaller one holds.
# An edge in one clique C = {a, b} + S can go without another: the test is that of a and b independent given S, and its
# adjusted degrees of freedom are the sum over the cells s of S of (a_s - 1)(b_s - 1), with a_s values of a that have
# rows there (Edwards, Introduction to Graphical Modelling, 2nd edition, 2.4). Else the model is fitted.


@frozen(eq=False)
class EdgeTest:
    """Loss of a model without an edge.

    condition: the common neighbours of the two vertices. deviance: of the smaller model against the larger.
    adjusted_degrees_of_freedom: None for an edge in several cliques.
    """

    condition: Mask
    deviance: float
    degrees_of_freedom: int
    adjusted_degrees_of_freedom: int | None


def edge_test(model: MarginalModel, first: int, second: int) -> EdgeTest:
    """Test an edge between two attributes, all at base values, named by their induced attributes.

    Raises NotFittedError or TooManyCellsError if an edge in several cliques cannot be tested.
    """
    collection, edge = model.collection, 1 << first | 1 << second
    cube, domain, tree = collection.cube, collection.domain, collection.junction_tree
    holding = [clique for clique in tree.cliques if not edge & ~clique]
    condition = reduce(or_, holding, 0) & ~edge
    subtree = tree.containing(edge)
    inner = [s for parent, s in zip(subtree.parents, subtree.separators) if parent >= 0]
    terms = sum(domain.cell_count(clique & ~edge) for clique in subtree.cliques)
    terms -= sum(domain.cell_count(separator & ~edge) for separator in inner)
    degrees = (domain.cell_count(1 << first) - 1) * (domain.cell_count(1 << second) - 1) * terms
    if len(holding) == 1:
        a, b, both = condition | 1 << first, condition | 1 << second, condition | edge
        nats = cube.entropy(a) + cube.entropy(b) - cube.entropy(condition) - cube.entropy(both)
        counts = _by_stratum(collection, first, second, condition)
        occupied_rows, occupied_columns = (counts.sum(axis=1) > 0).sum(axis=0), (counts.sum(axis=0) > 0).sum(axis=0)
        adjusted = int(((occupied_rows - 1) * (occupied_columns - 1)).sum())
        return EdgeTest(condition, max(2 * cube.total * nats, 0.0), degrees, adjusted)
    others = [clique for clique in tree.cliques if edge & ~clique]
    torn = [clique & ~(1 << vertex) for clique in holding for vertex in (first, second)]
    without = MarginalModel(Collection.of(cube, [*others, *torn]))
    deviance = max(2 * cube.total * (model.information - without.information), 0.0)
    return EdgeTest(condition, deviance, degrees, None)


def _by_stratum(collection: Collection, first: int, second: int, condition: Mask) -> CountArray:
    cube, domain = collection.cube, collection.domain
    table = cube.table(condition | 1 << first | 1 << second)
    names = [domain.induced_attributes[vertex].attribute for vertex in (first, second)]
    strata = table.positions_in(cube.table(condition)) if condition else np.zeros(len(table), dtype=np.intp)
    shape = (*(domain.hierarchy(name).size(0) for name in names), int(strata.max(initial=0)) + 1)
    counts: CountArray = np.zeros(shape, dtype=np.int64)
    np.add.at(counts, (*(table.column(name, 0) for name in names), strata), table.counts)
    return counts


# Parameters of a decomposable model that a sparse table can estimate (Bishop, Fienberg and Holland 1975, 3.8 and 5.3).
#
# A model fits 0 to each cell with a margin of its cliques that has no rows. On the other cells its logarithms are sums
# of functions of the cliques, a space of the dimension
#
#     sum_i n(C_i) - sum_j n(S_j),    n: cells of a margin that have rows,
#
# since the supports of the cliques join freely: a function of the earlier cliques that is also one of the next clique
# depends only on their separator. One of these is the total. Adjusted degrees of freedom: fitted cells less that dimension.


def estimable_parameters(cube: DataCube, tree: JunctionTree) -> int:
    """Return the number of free parameters that the rows can estimate; all of them if no cell of a clique is empty."""
    cliques = sum(len(cube.counts(clique)) - 1 for clique in tree.cliques)
    return cliques - sum(len(cube.counts(separator)) - 1 for separator in tree.separators if separator)


def fitted_cells(cube: DataCube, tree: JunctionTree) -> int:
    """Return the number of cells, at the values that the tree shows, to which the model gives a probability above 0."""
    ways = [np.ones(len(cube.counts(clique)), dtype=object) for clique in tree.cliques]
    for child in reversed(range(len(ways))):
        parent, separator = tree.parents[child], tree.separators[child]
        if parent < 0:
            continue
        shared = cube.table(separator)
        below = np.zeros(len(shared), dtype=object)
        np.add.at(below, cube.table(tree.cliques[child]).positions_in(shared), ways[child])
        ways[parent] = ways[parent] * below[cube.table(tree.cliques[parent]).positions_in(shared)]
    return prod(int(ways[i].sum()) for i, parent in enumerate(tree.parents) if parent < 0)


def adjusted_degrees_of_freedom(cube: DataCube, tree: JunctionTree) -> int:
    """Return the residual degrees of freedom: cells that the model can fill, less parameters that can be estimated."""
    return fitted_cells(cube, tree) - 1 - estimable_parameters(cube, tree)
