"""Margins of calibrated trees, of closed forms and of fits, equal enumeration of the maximum-entropy joint."""

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brute_force import Array, dense_marginal, iterative_proportional_fitting, joint_array
from models import (
    CalibratedTree,
    Collection,
    ContingencyTable,
    DataCube,
    Domain,
    DomainMismatchError,
    FrechetBounds,
    Hierarchy,
    MaximumEntropy,
    TooManyCellsError,
    expected_counts,
    iterative_fit,
    proportional,
)
from models.inference.calibrated_tree import MarginCache
from strategies import SHAPE_DOMAIN, SHAPES, decomposable_collections, margins, shape_cube


def enumerated(collection: Collection) -> Array:
    """The maximum-entropy joint in rows, fitted to the full joint."""
    counts = joint_array(collection.cube.table(sum(collection.domain.attribute_masks)))
    return counts.sum() * iterative_proportional_fitting(counts / counts.sum(), collection.domain, collection.margins)


def tree_of(collection: Collection) -> CalibratedTree:
    if collection.is_decomposable:
        return CalibratedTree.of(MaximumEntropy(collection))
    return CalibratedTree.fitted(iterative_fit(collection), collection.cube.total)


def in_order(dense: Array, domain: Domain, margin: Mapping[str, int]) -> Array:
    """The axes of a dense marginal in the order of the margin, attributes left out dropped."""
    held = [a for a in domain.attributes if a in margin]
    laid_out = dense.reshape([domain.hierarchy(a).size(margin[a]) for a in held])
    return laid_out.transpose([held.index(a) for a in margin])


@given(decomposable_collections(), st.data())
def test_margins_at_any_levels_in_any_order_equal_enumeration(collection: Collection, data: st.DataObject) -> None:
    domain = collection.domain
    margin = dict(data.draw(st.permutations(list(data.draw(margins(domain)).items()))))
    found = expected_counts(proportional(tree_of(collection)), margin)
    dense = dense_marginal(enumerated(collection), domain, margin)
    np.testing.assert_allclose(found, in_order(dense, domain, margin), atol=1e-8)


@pytest.mark.parametrize("shape", SHAPES)
def test_every_margin_of_every_shape_equals_enumeration(shape: str) -> None:
    """Decomposable or not; what is kept from one question does not change the next."""
    collection = Collection.of(shape_cube(), map(SHAPE_DOMAIN.mask, SHAPES[shape]))
    joint, kept = enumerated(collection), proportional(tree_of(collection))
    levels = [range(hierarchy.height + 1) for hierarchy in SHAPE_DOMAIN.hierarchies]
    for chosen in np.array(np.meshgrid(*levels)).reshape(len(levels), -1).T.tolist():
        margin = dict(zip(SHAPE_DOMAIN.attributes, chosen))
        dense = dense_marginal(joint, SHAPE_DOMAIN, margin)
        found = expected_counts(kept, margin)
        np.testing.assert_allclose(found.ravel(), dense.ravel(), atol=1e-7)
        assert found is expected_counts(kept, margin)


@given(decomposable_collections())
def test_the_cells_that_can_be_occupied_are_counted(collection: Collection) -> None:
    tree = tree_of(collection)
    finest = dict(zip(collection.domain.attributes, tree.finest_levels))
    occupied = np.count_nonzero(dense_marginal(enumerated(collection), collection.domain, finest) > 1e-12)
    assert tree.cell_count == occupied


def test_questions_that_cannot_be_answered_are_refused() -> None:
    collection = Collection.of(shape_cube(), map(SHAPE_DOMAIN.mask, SHAPES["chain"]))
    kept = proportional(tree_of(collection))
    with pytest.raises(DomainMismatchError, match="'hat'"):
        expected_counts(kept, {"hat": 0})
    with pytest.raises(DomainMismatchError, match="'a' has the levels 0 to 2"):
        expected_counts(kept, {"a": 3})


def test_a_margin_too_large_to_be_laid_out_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    domain = Domain.of({name: Hierarchy.flat(map(str, range(300))) for name in "abc"})
    codes = {name: np.arange(300) for name in "abc"}
    table = ContingencyTable.from_cells(domain, dict.fromkeys("abc", 0), codes, np.ones(300, dtype=np.int64))
    collection = Collection.of(DataCube([table]), [domain.mask({name: 0}) for name in "abc"])
    tree = proportional(tree_of(collection))
    with pytest.raises(TooManyCellsError):
        expected_counts(tree, dict.fromkeys("abc", 0))
    with monkeypatch.context() as patch:
        patch.setattr("models.inference.calibrated_tree.CELL_LIMIT", 300**2 - 1)
        with pytest.raises(TooManyCellsError):
            expected_counts(tree, dict.fromkeys("ab", 0))
        patch.setattr("models.inference.calibrated_tree.CELL_LIMIT", 300**2)
        assert expected_counts(tree, dict.fromkeys("ab", 0)).shape == (300, 300)


def test_what_is_kept_stays_within_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("models.inference.calibrated_tree._KEPT_BYTES", 1000)
    kept = MarginCache()
    for key in range(50):
        assert kept.keep(key, np.zeros(50)) is kept.arrays[key]
        assert sum(array.nbytes for array in kept.arrays.values()) <= 1000


@pytest.mark.slow
def test_the_two_ends_of_a_chain_longer_than_python_can_recurse() -> None:
    """The product of all transition matrices; and Frechet's bounds hold for what is expected."""
    rng, length, rows = np.random.default_rng(0), 1200, 200
    names = [f"a{number:04}" for number in range(length + 1)]
    domain = Domain.of({name: Hierarchy.flat("xyz") for name in names})
    tables, expected = [], np.eye(3)
    before = rng.integers(0, 3, rows)
    start = np.bincount(before, minlength=3)
    for first, second in zip(names, names[1:]):
        after = np.where(rng.random(rows) < 0.01, rng.integers(0, 3, rows), before)
        pairs = np.bincount(before * 3 + after, minlength=9).reshape(3, 3)
        expected = expected @ (pairs / pairs.sum(axis=1, keepdims=True))
        cells = {first: before, second: after}
        tables.append(ContingencyTable.from_cells(domain, {first: 0, second: 0}, cells, np.ones(rows, dtype=np.int64)))
        before = after
    collection = Collection.of(DataCube(tables), [table.mask for table in tables])
    ends = {names[0]: 0, names[-1]: 0}
    found = expected_counts(proportional(tree_of(collection)), ends)
    np.testing.assert_allclose(found, start[:, None] * expected, rtol=1e-9)
    bounds = FrechetBounds.of(collection).of_margin(ends)
    assert np.all(bounds.lower <= found)
    assert np.all(found <= bounds.upper)
