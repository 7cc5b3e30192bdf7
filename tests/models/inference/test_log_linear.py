"""Log-linear models: u-terms by least squares, and what can be estimated is the rank of the design over possible cells."""

from itertools import combinations

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import marginals
from models import (
    Collection,
    ContingencyTable,
    DataCube,
    Domain,
    Hierarchy,
    MarginalModel,
    MaximumEntropy,
    NotFittedError,
    TooManyCellsError,
    u_terms,
    vertices_of,
)
from strategies import decomposable_collections, decomposable_masks, maximal_cliques


def deviations(size):
    """Columns that span what sums to 0, shape (size, size - 1)."""
    return np.vstack([np.eye(size - 1), -np.ones(size - 1)])


def by_least_squares(logs, attributes, cliques):
    """The terms of the hierarchical model with these cliques, from its design matrix over all cells, and what it misses."""
    sets = sorted({x for clique in cliques for n in range(len(clique) + 1) for x in combinations(clique, n)}, key=len)
    columns, places = [], []
    for chosen in sets:
        columns.append(np.ones((1, 1)))
        for attribute, size in zip(attributes, logs.shape):
            columns[-1] = np.kron(columns[-1], deviations(size) if attribute in chosen else np.ones((size, 1)))
        places.append(columns[-1].shape[1])
    design = np.hstack(columns)
    solved = np.linalg.lstsq(design, logs.ravel(), rcond=None)[0]
    terms = {}
    for chosen, column, values in zip(sets, columns, np.split(solved, np.cumsum(places)[:-1])):
        spread = (column @ values).reshape(logs.shape)
        terms[chosen] = spread[tuple(slice(None) if a in chosen else 0 for a in attributes)]
    return terms, np.abs(design @ solved - logs.ravel()).max()


@settings(max_examples=60)
@given(decomposable_collections(max_cells=60), st.floats(0.1, 20.0))
def test_the_terms_are_those_of_the_design_matrix(collection, prior_rows):
    """On the joint expected counts of the finest published values, with the prior rows in every marginal."""
    found = u_terms(MaximumEntropy(collection), prior_rows)
    attributes = [a for a in collection.domain.attributes if collection.shows(a)]
    sizes = [collection.domain.hierarchy(a).size(collection.finest_levels[a]) for a in attributes]
    tree, logs = collection.junction_tree, np.zeros(sizes)
    cells = np.indices(sizes).reshape(len(sizes), -1) if sizes else np.zeros((0, 1), dtype=int)
    masks = [(1, clique) for clique in tree.cliques or (0,)] + [(-1, s) for s in tree.separators[1:]]
    for sign, mask in masks:
        table = collection.cube.table(mask)
        counts = dict(zip(zip(*(column.tolist() for column in table.codes)), table.counts.tolist()))
        counts = counts if table.attributes else {(): table.total}
        lifted = [
            collection.domain.hierarchy(a).lift(collection.finest_levels[a], table.margin[a])[
                cells[attributes.index(a)]
            ]
            for a in table.attributes
        ]
        keys = list(zip(*lifted)) if lifted else [()] * cells.shape[1]
        own = {key: counts.get(key, 0) + prior_rows * keys.count(key) / len(keys) for key in set(keys)}
        logs += sign * np.log([own[key] for key in keys]).reshape(sizes)
    cliques = [collection.cube.table(mask).attributes for mask in tree.cliques] or [()]
    expected, missed = by_least_squares(logs, attributes, cliques)
    assert missed < 1e-9
    assert set(found) == set(expected)
    for chosen, terms in expected.items():
        np.testing.assert_allclose(found[chosen], terms, atol=1e-9)


def pairs(counts):
    """a and b together, b and c together, from the eight counts of the base table."""
    domain = Domain.of({name: Hierarchy.flat("xy") for name in "abc"})
    cells = dict(zip("abc", np.indices((2, 2, 2)).reshape(3, -1)))
    cube = DataCube([ContingencyTable.from_cells(domain, dict.fromkeys("abc", 0), cells, counts)])
    return Collection.of(cube, [domain.mask({"a": 0, "b": 0}), domain.mask({"b": 0, "c": 0})])


def test_the_terms_of_a_cell_are_its_expected_count_together():
    """Without prior rows: q(0, 0, 0) = T(a=0, b=0) T(b=0, c=0) / T(b=0), and four times u_ab is the log odds ratio."""
    collection = pairs([4, 2, 1, 5, 3, 3, 7, 2])
    terms = u_terms(MaximumEntropy(collection))
    cell = sum(float(values[(0,) * values.ndim]) for values in terms.values())
    assert np.exp(cell) == pytest.approx(MarginalModel(collection).expected({"a": 0, "b": 0, "c": 0})[0, 0, 0])
    assert list(terms) == [(), ("a",), ("b",), ("c",), ("a", "b"), ("b", "c")]
    assert 4 * terms["a", "b"][0, 0] == pytest.approx(np.log(6 * 9 / (6 * 6)))


def test_an_empty_cell_has_no_terms_unless_rows_are_added(monkeypatch):
    model = MaximumEntropy(pairs([0, 0, 1, 5, 3, 3, 7, 2]))
    with pytest.raises(NotFittedError, match=r"a:0, b:0.*prior_rows"):
        u_terms(model)
    assert all(np.isfinite(terms).all() for terms in u_terms(model, 0.5).values())
    monkeypatch.setattr("models.inference.log_linear.CELL_LIMIT", 3)
    with pytest.raises(TooManyCellsError, match="4 cells"):
        u_terms(model, 0.5)


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


def fitted(table, masks):
    """The model with these cliques, by the names of a frame's columns."""
    frame = pd.DataFrame(dict(zip(table.attributes, table.codes))).assign(n=table.counts)
    return marginals.fit_model(frame, [tuple(table.domain.margin(mask)) for mask in masks], "n")


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.data())
def test_what_can_be_estimated_is_the_rank_of_the_design_and_edges_are_tested_by_what_is_lost(seed, data):
    """An edge in one clique: the model without it is decomposable, and its figures are differences of the two models."""
    table = sparse_table(seed, data.draw(st.sampled_from([0.4, 2.0])))
    masks = data.draw(decomposable_masks(table.domain))
    collection = Collection.of(DataCube([table]), [*masks, *table.domain.attribute_masks])
    masks, graph = collection.junction_tree.cliques, collection.interaction_graph
    dense = np.zeros(SHAPE)
    dense[tuple(table.codes)] = table.counts
    design, model = design_of(masks, dense), fitted(table, masks)
    rank = np.linalg.matrix_rank(design)
    assert model.adjusted_degrees_of_freedom == len(design) - rank
    assert model.selected.adjusted_parameters == rank - 1
    for test in model.tests().itertuples():
        first, second = map(table.domain.index, (test.first, test.second))
        without = graph.without_edge(first, second)
        if nx.is_chordal(without.to_networkx()):
            smaller = fitted(table, maximal_cliques(without))
            assert test.deviance == pytest.approx(smaller.deviance - model.deviance, abs=1e-7)
            assert test.df == smaller.degrees_of_freedom - model.degrees_of_freedom


def test_an_edge_in_several_cliques_is_tested_against_the_model_that_is_fitted():
    """R: loglin(x, list(c(1,2), c(1,3), c(2,4), c(3,4)))$lrt less that of list(c(1,2,3), c(2,3,4)); df of the two."""
    counts = np.arange(1, 37) * 7 % 19 + 1
    cells = dict(zip("abcd", np.indices(SHAPE).reshape(4, -1)))
    table = ContingencyTable.from_cells(sparse_table(0).domain, dict.fromkeys("abcd", 0), cells, counts)
    tests = fitted(table, [0b0111, 0b1110]).tests().set_index(["first", "second"])
    assert tests.loc[("b", "c"), "deviance"] == pytest.approx(21.359100091, abs=1e-6)
    assert tests.loc[("b", "c"), "df"] == 8
    assert pd.isna(tests.loc[("b", "c"), "df_adjusted"])
