"""A model of marginals expects, and draws, what the dense maximum-entropy distribution says, with a junction tree or not."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

import marginals
from brute_force import Array, dense_marginal, independent, iterative_proportional_fitting, joint_array, kl_divergence
from marginals import Role
from models import (
    Collection,
    ContingencyTable,
    DataCube,
    Domain,
    DomainMismatchError,
    FrechetBounds,
    Hierarchy,
    MarginalModel,
    TooManyCellsError,
)
from privacy_oracles import base_table
from shape_releases import release_of
from strategies import SHAPE_DOMAIN, SHAPES, decomposable_collections, margins, shape_cube
from written_bundles import bundle_content, write_bundle

ROWS = 200_000


def of_shape(shape: str) -> Collection:
    return Collection.of(shape_cube(), map(SHAPE_DOMAIN.mask, SHAPES[shape]))


def enumerated(collection: Collection) -> Array:
    """The maximum-entropy joint in rows, fitted to the full joint."""
    counts = joint_array(base_table(collection.cube))
    p = counts / counts.sum()
    return counts.sum() * iterative_proportional_fitting(p, collection.domain, collection.margins, sweeps=4000)


def in_order(dense: Array, domain: Domain, margin: Mapping[str, int]) -> Array:
    """The axes of a dense marginal in the order of the margin, attributes left out dropped."""
    held = [a for a in domain.attributes if a in margin]
    laid_out = dense.reshape([domain.hierarchy(a).size(margin[a]) for a in held])
    return laid_out.transpose([held.index(a) for a in margin])


def weighted(joint: Array, domain: Domain, weights: Mapping[str, Array]) -> Array:
    for axis, attribute in enumerate(domain.attributes):
        weight = weights.get(attribute, np.ones(joint.shape[axis]))
        joint = joint * np.expand_dims(weight, [other for other in range(joint.ndim) if other != axis])
    return joint


@pytest.mark.parametrize("shape", SHAPES)
def test_every_margin_of_every_shape_and_its_information_equal_enumeration(shape: str) -> None:
    """What is kept from one question does not change the next."""
    model, joint = MarginalModel(of_shape(shape)), enumerated(of_shape(shape))
    q = joint / joint.sum()
    assert model.information == pytest.approx(kl_divergence(q, independent(q)), abs=1e-6)
    assert model.total_information == pytest.approx(kl_divergence(q, np.full(q.shape, 1 / q.size)), abs=1e-6)
    levels = [range(hierarchy.height + 1) for hierarchy in SHAPE_DOMAIN.hierarchies]
    for chosen in np.array(np.meshgrid(*levels)).reshape(len(levels), -1).T.tolist():
        margin = dict(zip(SHAPE_DOMAIN.attributes, chosen))
        found = model.expected(margin)
        np.testing.assert_allclose(found.ravel(), dense_marginal(joint, SHAPE_DOMAIN, margin).ravel(), atol=1e-7)
        assert found is model.expected(margin)


@pytest.mark.parametrize("looked_up", [0, 1 << 20])
@settings(max_examples=60)
@given(collection=decomposable_collections(max_cells=100), data=st.data())
def test_margins_and_boxes_at_any_levels_equal_enumeration(
    looked_up: int, collection: Collection, data: st.DataObject
) -> None:
    """Boxes by looking their margins up or along the tree; of the base table, or of the published marginals alone."""
    domain, joint, model = collection.domain, enumerated(collection), MarginalModel(collection)
    margin = dict(data.draw(st.permutations(list(data.draw(margins(domain)).items()))))
    found = model.expected(margin)
    np.testing.assert_allclose(found, in_order(dense_marginal(joint, domain, margin), domain, margin), atol=1e-8)
    occupied = np.count_nonzero(dense_marginal(joint, domain, model.finest_levels) > 1e-12)
    assert model.tree.cell_count == occupied
    codes = [np.array(data.draw(st.lists(st.integers(0, n - 1), min_size=3, max_size=3))) for n in found.shape]
    assert np.array_equal(model.expected_of(margin, codes), found[tuple(codes)])
    shares = st.sampled_from([[0.0, 1.0], [0.0, 0.25, 0.5, 1.0]])
    chosen, share = data.draw(st.sets(st.sampled_from(domain.attributes))), st.sampled_from(data.draw(shares))
    sizes = {a: domain.hierarchy(a).size(0) for a in sorted(chosen)}
    weights = {a: np.array(data.draw(st.lists(share, min_size=n, max_size=n))) for a, n in sizes.items()}
    within = weighted(joint, domain, weights)
    is_box = all(np.isin(weight, [0, 1]).all() for weight in weights.values())
    box = model.box({a: weight == 1 for a, weight in weights.items()}) if is_box else model.weighted(weights)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("models.inference.marginal_model._LOOKED_UP", looked_up)
        assert model.total == joint.sum().round()
        assert model.expected_in(box) == pytest.approx(within.sum(), abs=1e-8)
    expected = in_order(dense_marginal(within, domain, margin), domain, margin)
    assert model.expected_within(margin, box) == pytest.approx(expected, abs=1e-8)
    if collection.masks:
        alone = MarginalModel(Collection.of(DataCube(collection.tables), collection.masks))
        assert np.array_equal(alone.expected(margin), found)


@given(decomposable_collections(max_cells=200), st.data())
def test_published_counts_are_expected_as_they_were_counted_and_their_zeros_stay_zero(
    collection: Collection, data: st.DataObject
) -> None:
    """No cell below an empty published one is expected to have rows: nobody died alive."""
    domain, model = collection.domain, MarginalModel(collection)
    assume(collection.tables)
    published = data.draw(st.sampled_from(collection.tables))
    counts = in_order(
        dense_marginal(joint_array(base_table(collection.cube)), domain, published.margin),
        domain,
        dict(published.margin),
    )
    np.testing.assert_allclose(model.expected(published.margin), counts, rtol=1e-12)
    asked = {**published.margin, **{a: model.finest_levels[a] for a in data.draw(margins(domain))}}
    expected = model.expected(asked)
    above = np.ix_(*(domain.hierarchy(a).lift(asked[a], published.margin[a]) for a in published.margin))
    kept = expected.sum(axis=tuple(axis for axis, a in enumerate(asked) if a not in published.margin))
    assert (kept[counts[above] == 0] == 0).all()
    assert (expected >= 0).all()


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if SHAPES[shape]])
def test_a_goodness_of_fit_test_accepts_samples_of_every_shape(shape: str, tmp_path: Path) -> None:
    """And rejects those of another model; base values are drawn evenly under what is published."""
    release, joint = release_of(shape, tmp_path), enumerated(of_shape(shape))
    rows, again = (release.sample_base_values(ROWS, 7) for _ in range(2))
    assert rows.equals(again)
    assert not rows.equals(release.sample_base_values(ROWS, 8))
    assert len(release.sample_base_values(0)) == 0
    codes = [[h.code(label, 0) for label in rows[a]] for a, h in SHAPE_DOMAIN.items()]
    counts = np.zeros(joint.shape)
    np.add.at(counts, tuple(map(np.array, codes)), 1)
    possible = joint > 1e-7
    assert counts[~possible].sum() == 0
    expected = joint[possible] / joint[possible].sum() * ROWS
    assert chisquare(counts[possible], expected).pvalue > 0.001
    if shape == "chain":
        star = enumerated(of_shape("star"))
        kept = counts[star > 1e-7]
        assert chisquare(kept, star[star > 1e-7] / star[star > 1e-7].sum() * kept.sum()).pvalue < 1e-9


def test_the_same_seed_draws_the_same_rows_of_the_model() -> None:
    sampler = MarginalModel(of_shape("chain")).sampler
    first, second, other = (sampler.draw(2_000, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert all(np.array_equal(first[a], second[a]) for a in first)
    assert any(not np.array_equal(first[a], other[a]) for a in first)
    assert all(len(codes) == 0 for codes in sampler.draw(0, np.random.default_rng(1)).values())
    counts, joint = np.zeros((4, 3, 2, 2)), enumerated(of_shape("chain"))
    np.add.at(counts, tuple(first[a] for a in SHAPE_DOMAIN.attributes), 1)
    possible = joint > 1e-7
    assert counts[~possible].sum() == 0
    assert chisquare(counts[possible], joint[possible] / joint[possible].sum() * 2_000).pvalue > 0.001


def test_cells_too_many_to_be_laid_out_are_expected_as_others_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Thirty cells of nine hundred, and an attribute that is not published, of which one group has three values of four."""
    ladder = Hierarchy.from_rows([("w", "w-y", "*"), ("x", "w-y", "*"), ("y", "w-y", "*"), ("z", "z", "*")])
    flat = Hierarchy.flat(map(str, range(30)))
    domain = Domain.of({"a": flat, "x": ladder, "b": flat})
    diagonal, counts = np.arange(30), np.arange(5, 35)
    codes = {"a": diagonal, "b": diagonal[::-1], "x": np.zeros(30, dtype=int)}
    table = ContingencyTable.from_cells(domain, dict.fromkeys(codes, 0), codes, counts)
    published = table.rolled_up({"a": 0, "b": 0})
    collection = Collection.of(DataCube([published]), [published.mask])
    write_bundle(bundle_content(collection, dict.fromkeys("axb", Role.QUASI_IDENTIFIER)), tmp_path)
    monkeypatch.setattr("marginals.estimates.CELL_LIMIT", 100)
    for level, shares in ((1, {"w-y": 0.75, "z": 0.25}), (0, dict.fromkeys("wxyz", 0.25))):
        cells = marginals.open_release(tmp_path).cells({"a": 0, "b": 0, "x": level})
        found = {(int(a), int(b), x): weight for a, b, x, weight in cells.itertuples(index=False)}
        expected = {(a, 29 - a, x): (a + 5) * share for a in range(30) for x, share in shares.items()}
        assert found == pytest.approx(expected)


def test_questions_that_cannot_be_answered_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    model = MarginalModel(of_shape("chain"))
    for margin, message in (({"hat": 0}, "'hat'"), ({"a": 3}, "'a' has the levels 0 to 2")):
        with pytest.raises(DomainMismatchError, match=message):
            model.expected(margin)
    with pytest.raises(DomainMismatchError, match="'hat'"):
        model.expected_in(model.box({"hat": np.ones(2, dtype=bool)}))
    for wrong in ([True], [True] * 4, [[True] * 3]):
        with pytest.raises(DomainMismatchError, match="'a'"):
            model.box({"a": np.array(wrong)})
    domain = Domain.of({name: Hierarchy.flat(map(str, range(300))) for name in "abc"})
    codes = {name: np.arange(300) for name in "abc"}
    table = ContingencyTable.from_cells(domain, dict.fromkeys("abc", 0), codes, np.ones(300))
    model = MarginalModel(Collection.of(DataCube([table]), domain.attribute_masks))
    with pytest.raises(TooManyCellsError):
        model.expected(dict.fromkeys("abc", 0))
    for most in (300**2 - 1, 300**2):
        monkeypatch.setattr("models.inference.calibrated_tree.CELL_LIMIT", most)
        if most < 300**2:
            with pytest.raises(TooManyCellsError):
                model.expected(dict.fromkeys("ab", 0))
    assert model.expected(dict.fromkeys("ab", 0)).shape == (300, 300)


@pytest.mark.parametrize("masks", [[], [0b1], [0b1, 0b10]])
def test_nothing_is_expected_of_a_table_without_rows(masks: list[int]) -> None:
    domain, none = Domain.of({"a": Hierarchy.flat("xy"), "b": Hierarchy.flat("xyz")}), np.array([], dtype=np.int64)
    empty = ContingencyTable.from_cells(domain, {"a": 0, "b": 0}, {"a": none, "b": none}, none)
    model = MarginalModel(Collection.of(DataCube([empty]), masks))
    assert model.expected_in(model.box({"a": np.array([True, False])})) == 0
    assert model.expected({"a": 0}).tolist() == [0, 0]
    with pytest.raises(DomainMismatchError, match="no rows"):
        model.sampler.draw(1, np.random.default_rng(0))


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
    ends, model = {names[0]: 0, names[-1]: 0}, MarginalModel(collection)
    found = model.expected(ends)
    np.testing.assert_allclose(found, start[:, None] * expected, rtol=1e-9)
    box = model.box({name: np.array([True, False, False]) for name in ends})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("models.inference.marginal_model._LOOKED_UP", 0)
        assert model.expected_in(box) == pytest.approx(found[0, 0])
    bounds = FrechetBounds.of(collection).of_margin(ends)
    assert np.all(bounds.lower <= found)
    assert np.all(found <= bounds.upper)
