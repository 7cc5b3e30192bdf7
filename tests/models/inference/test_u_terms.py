"""u-terms: those of the least-squares solution of the log-linear model's design matrix."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
)
from models.inference import log_linear as module
from models.inference.log_linear import u_terms
from strategies import decomposable_collections


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
    with pytest.raises(NotFittedError, match=r"a:0, b:0 has empty cells.*give prior_rows"):
        u_terms(model)
    assert all(np.isfinite(terms).all() for terms in u_terms(model, 0.5).values())
    monkeypatch.setattr(module, "CELL_LIMIT", 3)
    with pytest.raises(TooManyCellsError, match="4 cells"):
        u_terms(model, 0.5)
