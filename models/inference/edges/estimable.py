"""What of a decomposable model can be estimated from a sparse table (Bishop, Fienberg and Holland 1975, 3.8 and 5.3).

A model fits 0 to each cell with a margin of its cliques that has no rows. On the other cells its logarithms are sums of
functions of the cliques, a space of the dimension

    sum_i n(C_i) - sum_j n(S_j),    n: cells of a margin that have rows,

since the supports of the cliques join freely: a function of what came before that is also one of the next clique depends on
their separator alone. One of these is the total. The adjusted degrees of freedom are the fitted cells less that dimension.
"""

from math import prod

import numpy as np

from models.graphs.junction_tree import JunctionTree
from models.tables.data_cube import DataCube


def estimable_parameters(cube: DataCube, tree: JunctionTree) -> int:
    """Number of free parameters that the rows can estimate; that of all where no cell of a clique is empty."""
    cliques = sum(len(cube.counts(clique)) - 1 for clique in tree.cliques)
    return cliques - sum(len(cube.counts(separator)) - 1 for separator in tree.separators if separator)


def fitted_cells(cube: DataCube, tree: JunctionTree) -> int:
    """Number of base cells to which the model gives a probability above 0.

    They are counted along the tree, from its leaves. Of attributes at base values: one that the tree shows coarser, or not
    at all, is counted by the values that the tree shows.
    """
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
    """Residual degrees of freedom of the cells that the model can fill, of parameters that can be estimated."""
    return fitted_cells(cube, tree) - 1 - estimable_parameters(cube, tree)
