"""What can be estimated from a sparse table is the rank of the design over the cells that the model can fill."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models import Collection, ContingencyTable, DataCube, Domain, Hierarchy, MarginalModel, vertices_of
from models.inference.log_linear import adjusted_degrees_of_freedom, edge_test, estimable_parameters, fitted_cells
from strategies import decomposable_masks, maximal_cliques

SHAPE = (3, 2, 3, 2)


def sparse_table(seed, mean=0.4):
    counts = np.random.default_rng(seed).poisson(mean, SHAPE).ravel()
    counts[0] += 1
    domain = Domain.of({n: Hierarchy.flat([str(v) for v in range(size)]) for n, size in zip("abcd", SHAPE)})
    cells = dict(zip("abcd", np.indices(SHAPE).reshape(4, -1)))
    return ContingencyTable.from_cells(domain, dict.fromkeys("abcd", 0), cells, counts)


def design_of(masks, dense):
    """One column for each cell of each clique, one row for each cell of the table that all cliques leave possible."""
    cells = np.indices(SHAPE).reshape(4, -1).T
    columns, possible = [np.ones(len(cells))], np.ones(len(cells), dtype=bool)
    for mask in masks:
        axes = list(vertices_of(mask))
        shown, place = np.unique(cells[:, axes], axis=0, return_inverse=True)
        marginal = np.bincount(place.ravel(), dense.ravel(), len(shown))
        possible &= marginal[place.ravel()] > 0
        columns.extend((place.ravel() == cell).astype(float) for cell in range(len(shown)))
    return np.stack(columns, axis=1)[possible]


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.data())
def test_parameters_and_degrees_of_freedom_are_the_ranks_of_the_design(seed, data):
    table = sparse_table(seed)
    masks = data.draw(decomposable_masks(table.domain))
    masks = tuple(Collection.of(DataCube([table]), [*masks, *table.domain.attribute_masks]).junction_tree.cliques)
    dense = np.zeros(SHAPE)
    dense[tuple(table.codes)] = table.counts
    cube = DataCube([table])
    tree = Collection.of(cube, masks).junction_tree
    design = design_of(masks, dense)
    rank = np.linalg.matrix_rank(design)
    assert estimable_parameters(cube, tree) == rank - 1
    assert fitted_cells(cube, tree) == len(design)
    assert adjusted_degrees_of_freedom(cube, tree) == len(design) - rank


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.data())
def test_without_an_edge_the_deviance_grows_by_that_of_its_test(seed, data):
    """An edge in one clique: the model without it is decomposable, and its figures are differences of the two models."""
    table = sparse_table(seed, 2.0)
    cube = DataCube([table])
    masks = data.draw(decomposable_masks(table.domain))
    collection = Collection.of(cube, [*masks, *table.domain.attribute_masks])
    model = MarginalModel(collection)
    graph = collection.interaction_graph
    for first in range(4):
        for second in range(first + 1, 4):
            if not graph.has_edge(first, second):
                continue
            without = graph.without_edge(first, second)
            if not nx.is_chordal(without.to_networkx()):
                continue
            smaller = MarginalModel(Collection.of(cube, maximal_cliques(without)))
            test = edge_test(model, first, second)
            one, other = smaller.closed_form, model.closed_form
            assert test.deviance == pytest.approx(one.deviance - other.deviance, abs=1e-7)
            assert test.degrees_of_freedom == one.degrees_of_freedom - other.degrees_of_freedom
            assert test.counts.sum() == table.total


def test_an_edge_in_several_cliques_is_tested_against_the_model_that_is_fitted():
    """R: loglin(x, list(c(1,2), c(1,3), c(2,4), c(3,4)))$lrt less that of list(c(1,2,3), c(2,3,4)); df of the two."""
    counts = np.arange(1, 37) * 7 % 19 + 1
    domain = Domain.of({n: Hierarchy.flat([str(v) for v in range(size)]) for n, size in zip("abcd", SHAPE)})
    cells = dict(zip("abcd", np.indices(SHAPE).reshape(4, -1)))
    table = ContingencyTable.from_cells(domain, dict.fromkeys("abcd", 0), cells, counts)
    model = MarginalModel(Collection.of(DataCube([table]), [0b0111, 0b1110]))
    test = edge_test(model, 1, 2)
    assert test.adjusted_degrees_of_freedom is None
    assert test.deviance == pytest.approx(21.359100091, abs=1e-6)
    assert test.degrees_of_freedom == 8
