"""Samples are rows of the model: a goodness-of-fit test with a fixed seed accepts them, and rejects other models."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from brute_force import Array, dense_marginal, iterative_proportional_fitting, joint_array
from models import (
    CalibratedTree,
    Collection,
    ContingencyTable,
    DataCube,
    DomainMismatchError,
    MaximumEntropy,
    iterative_fit,
)
from models.inference.calibrated_tree import AliasTable, Sampler, drawn_leaves
from strategies import SHAPE_DOMAIN, SHAPES, shape_cube

ROWS = 200_000


def sampled(shape: str, rows: int = ROWS) -> tuple[Array, Array]:
    """Counts of sampled rows over the base cells, and the model's probabilities of them."""
    collection = Collection.of(shape_cube(), map(SHAPE_DOMAIN.mask, SHAPES[shape]))
    if collection.is_decomposable:
        tree = CalibratedTree.of(MaximumEntropy(collection))
    else:
        tree = CalibratedTree.fitted(iterative_fit(collection), collection.cube.total)
    rng = np.random.default_rng(7)
    levels = dict(zip(SHAPE_DOMAIN.attributes, tree.finest_levels))
    leaves = drawn_leaves(SHAPE_DOMAIN, levels, Sampler(tree).draw(rows, rng), rows, rng)
    counts = np.zeros([h.size(0) for h in SHAPE_DOMAIN.hierarchies])
    np.add.at(counts, tuple(leaves[a] for a in SHAPE_DOMAIN.attributes), 1)
    joint = joint_array(collection.cube.table(sum(SHAPE_DOMAIN.attribute_masks)))
    return counts, iterative_proportional_fitting(joint / joint.sum(), SHAPE_DOMAIN, collection.margins)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_goodness_of_fit_test_accepts_samples_of_every_shape(shape: str) -> None:
    counts, probabilities = sampled(shape)
    possible = probabilities > 1e-9
    assert counts[~possible].sum() == 0
    expected = probabilities[possible] / probabilities[possible].sum() * ROWS
    assert chisquare(counts[possible], expected).pvalue > 0.001


def test_the_goodness_of_fit_test_rejects_samples_of_another_model() -> None:
    counts, _ = sampled("chain")
    _, other = sampled("star", 10)
    possible = other > 1e-9
    kept = counts[possible]
    assert chisquare(kept, other[possible] / other[possible].sum() * kept.sum()).pvalue < 1e-9


def test_the_same_seed_draws_the_same_rows_and_no_rows_are_none() -> None:
    collection = Collection.of(shape_cube(), map(SHAPE_DOMAIN.mask, SHAPES["chain"]))
    sampler = Sampler(CalibratedTree.of(MaximumEntropy(collection)))
    first, second, other = (sampler.draw(100, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert all(np.array_equal(first[a], second[a]) for a in first)
    assert any(not np.array_equal(first[a], other[a]) for a in first)
    assert all(len(codes) == 0 for codes in sampler.draw(0, np.random.default_rng(1)).values())


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 1000)), min_size=1, max_size=40))
def test_an_alias_table_gives_every_cell_its_share_of_its_group(cells: list[tuple[int, int]]) -> None:
    groups, weights = (np.array(column) for column in zip(*cells))
    table = AliasTable.of(weights.astype(float), groups, 4)
    share = np.zeros(len(cells))
    sizes = np.bincount(groups, minlength=4)
    group_of_slot = np.repeat(np.arange(4), sizes)
    np.add.at(share, table.cells[0], table.keep / sizes[group_of_slot])
    np.add.at(share, table.cells[1], (1 - table.keep) / sizes[group_of_slot])
    np.testing.assert_allclose(share, weights / np.bincount(groups, weights, minlength=4)[groups], atol=1e-12)
    assert np.array_equal(groups[table.cells[1]], group_of_slot), "a slot never leads out of its group"


def test_leaves_are_drawn_evenly_under_each_value() -> None:
    rng = np.random.default_rng(0)
    codes = {"c": np.repeat([0, 1], [60_000, 1000])}
    leaves = drawn_leaves(SHAPE_DOMAIN, {"c": 1}, codes, 61_000, rng)
    assert set(leaves["c"][60_000:]) == {3}
    assert chisquare(np.bincount(leaves["c"][:60_000], minlength=3)).pvalue > 0.001
    assert chisquare(np.bincount(leaves["d"])).pvalue > 0.001
    counts = dense_marginal(np.ones((4, 3, 2, 2)), SHAPE_DOMAIN, {"c": 1}).ravel()
    assert counts.tolist() == [36, 12], "level 1 of c merges three values"


def test_no_rows_are_like_no_rows() -> None:
    none = np.array([], dtype=np.int64)
    empty = ContingencyTable.from_cells(SHAPE_DOMAIN, {"d": 0}, {"d": none}, none)
    model = MaximumEntropy(Collection.of(DataCube([empty]), [empty.mask]))
    with pytest.raises(DomainMismatchError, match="no rows"):
        Sampler(CalibratedTree.of(model)).draw(1, np.random.default_rng(0))
