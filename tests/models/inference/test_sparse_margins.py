"""Inference along the tree: expected counts of any box and any margin equal enumeration of the closed form."""

import json

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from brute_force import dense_marginal, iterative_proportional_fitting, joint_array
from models import (
    CalibratedTree,
    Collection,
    ContingencyTable,
    DataCube,
    Domain,
    DomainMismatchError,
    Hierarchy,
    MaximumEntropy,
    expected_marginal,
)
from models.inference.calibrated_tree import expectation
from strategies import NOT_DECOMPOSABLE, SHAPE_DOMAIN, SHAPES, decomposable_collections, margins, shape_cube

DECOMPOSABLE = [shape for shape in SHAPES if shape not in NOT_DECOMPOSABLE]

WEIGHTS = st.floats(-2, 2)


def _expected_counts(collection):
    """The maximum-entropy joint in rows, fitted to the full joint rather than taken from the closed form."""
    counts = joint_array(collection.cube.table(sum(collection.domain.attribute_masks)))
    p = counts / counts.sum()
    return counts.sum() * iterative_proportional_fitting(p, collection.domain, collection.margins)


def _weighted_sum(joint, domain, weights):
    for axis, attribute in enumerate(domain.attributes):
        weight = weights.get(attribute, np.ones(joint.shape[axis]))
        joint = joint * np.expand_dims(weight, [other for other in range(joint.ndim) if other != axis])
    return joint.sum()


def _assert_margin_equals_enumeration(collection, margin, joint):
    domain = collection.domain
    cells = expected_marginal(MaximumEntropy(collection), margin)
    dense = dense_marginal(joint, domain, margin)
    shown = [a for a in domain.attributes if a in margin and margin[a] < domain.hierarchy(a).height]
    assert cells.margin == {a: margin[a] for a in shown}
    assert list(cells.codes) == shown
    assert all(codes.shape == cells.expected.shape for codes in cells.codes.values())
    places = list(zip(*(codes.tolist() for codes in cells.codes.values()))) if shown else [()]
    assert places == sorted(set(places)), "cells ascend and are distinct"
    assert (cells.expected > 0).all(), "cells of expected count 0 are left out"
    laid_out = np.zeros([domain.hierarchy(a).size(margin[a]) for a in shown])
    for place, expected in zip(places, cells.expected, strict=True):
        laid_out[place] = expected
    np.testing.assert_allclose(laid_out.ravel(), dense.ravel(), atol=1e-8)


@st.composite
def base_weights(draw, domain, elements):
    """A weight for each base value of some of the attributes: {'a': array([0.5, -1.]), 'c': array([0., 2., 2.])}."""
    chosen = draw(st.sets(st.sampled_from(domain.attributes)))
    return {a: draw(arrays(np.float64, domain.hierarchy(a).size(0), elements=elements)) for a in sorted(chosen)}


@given(decomposable_collections(), st.data())
def test_expectations_of_random_weights_equal_enumeration(collection, data):
    weights = data.draw(base_weights(collection.domain, WEIGHTS))
    enumerated = _weighted_sum(_expected_counts(collection), collection.domain, weights)
    assert expectation(CalibratedTree.of(MaximumEntropy(collection)), weights) == pytest.approx(enumerated, abs=1e-7)


@given(decomposable_collections(), st.data())
def test_the_expected_count_of_a_box_is_the_sum_of_its_cells(collection, data):
    """Weights of 0 and 1 choose values of each attribute, published or not."""
    box = data.draw(base_weights(collection.domain, st.sampled_from([0.0, 1.0])))
    counts = _expected_counts(collection)
    for axis, attribute in enumerate(collection.domain.attributes):
        if attribute in box:
            counts = counts.compress(box[attribute] == 1, axis)
    expected = expectation(CalibratedTree.of(MaximumEntropy(collection)), box)
    assert expected == pytest.approx(counts.sum(), abs=1e-8)
    assert -1e-9 <= expected <= collection.cube.total + 1e-9


@given(decomposable_collections(), st.data())
def test_expected_margins_finer_and_coarser_than_published_equal_enumeration(collection, data):
    _assert_margin_equals_enumeration(collection, data.draw(margins(collection.domain)), _expected_counts(collection))


@pytest.mark.parametrize("shape", DECOMPOSABLE)
def test_every_margin_of_every_decomposable_shape_equals_enumeration(shape):
    collection = Collection.of(shape_cube(), map(SHAPE_DOMAIN.mask, SHAPES[shape]))
    joint = _expected_counts(collection)
    levels = [range(hierarchy.height + 1) for hierarchy in SHAPE_DOMAIN.hierarchies]
    for chosen in np.array(np.meshgrid(*levels)).reshape(len(levels), -1).T.tolist():
        _assert_margin_equals_enumeration(collection, dict(zip(SHAPE_DOMAIN.attributes, chosen)), joint)


@pytest.mark.parametrize("shape", DECOMPOSABLE)
def test_weights_on_every_attribute_of_every_decomposable_shape_equal_enumeration(shape):
    collection = Collection.of(shape_cube(), map(SHAPE_DOMAIN.mask, SHAPES[shape]))
    rng = np.random.default_rng(0)
    weights = {a: rng.normal(size=hierarchy.size(0)) for a, hierarchy in SHAPE_DOMAIN.items()}
    enumerated = _weighted_sum(_expected_counts(collection), SHAPE_DOMAIN, weights)
    assert expectation(CalibratedTree.of(MaximumEntropy(collection)), weights) == pytest.approx(enumerated, abs=1e-9)


@given(decomposable_collections())
def test_a_published_margin_is_expected_as_it_was_counted(collection):
    model = MaximumEntropy(collection)
    for table in collection.tables:
        cells = expected_marginal(model, table.margin)
        np.testing.assert_allclose(cells.expected, table.counts, rtol=1e-12)
        for attribute, codes in zip(table.attributes, table.codes):
            np.testing.assert_array_equal(cells.codes[attribute], codes)


@given(decomposable_collections())
def test_all_rows_are_expected_when_nothing_is_asked(collection):
    model = MaximumEntropy(collection)
    assert expectation(CalibratedTree.of(model), {}) == pytest.approx(collection.cube.total, rel=1e-12)
    assert expected_marginal(model, {}).expected == pytest.approx([collection.cube.total], rel=1e-12)
    assert expected_marginal(model, {}).codes == {}


@given(decomposable_collections(), st.data())
def test_the_published_marginals_alone_answer_as_the_base_table_does(collection, data):
    assume(collection.masks)
    analyst = MaximumEntropy(Collection.of(DataCube(collection.tables), collection.masks))
    margin, weights = data.draw(margins(collection.domain)), data.draw(base_weights(collection.domain, WEIGHTS))
    ours, theirs = (expected_marginal(model, margin) for model in (MaximumEntropy(collection), analyst))
    np.testing.assert_array_equal(ours.expected, theirs.expected)
    assert expectation(CalibratedTree.of(analyst), weights) == expectation(
        CalibratedTree.of(MaximumEntropy(collection)), weights
    )


@given(decomposable_collections(), st.data())
def test_an_expected_margin_sums_to_its_boxes(collection, data):
    """The two ways through the tree agree: a cell of a margin is the box of the base values under it."""
    model, domain = MaximumEntropy(collection), collection.domain
    cells = expected_marginal(model, data.draw(margins(domain)))
    cell = data.draw(st.integers(0, len(cells.expected) - 1))
    box = {a: (domain.hierarchy(a).lift(0, cells.margin[a]) == codes[cell]) * 1.0 for a, codes in cells.codes.items()}
    assert expectation(CalibratedTree.of(model), box) == pytest.approx(cells.expected[cell], abs=1e-9)


@pytest.mark.parametrize("masks", [[], [0b1], [0b1, 0b10]])
def test_nothing_is_expected_of_a_table_without_rows(masks):
    domain = Domain.of({"a": Hierarchy.flat("xy"), "b": Hierarchy.flat("xyz")})
    none = np.array([], dtype=np.int64)
    empty = ContingencyTable.from_cells(domain, {"a": 0, "b": 0}, {"a": none, "b": none}, none)
    model = MaximumEntropy(Collection.of(DataCube([empty]), masks))
    assert expectation(CalibratedTree.of(model), {"a": np.array([1.0, 0.0])}) == 0
    assert expected_marginal(model, {"a": 0}).expected.tolist() == [], "cells of expected count 0 are left out"


def test_weights_are_left_as_they_were():
    weights = {"c": np.array([1.0, 2.0, 3.0, 4.0])}
    collection = Collection.of(shape_cube(), [SHAPE_DOMAIN.mask({"c": 1})])
    expectation(CalibratedTree.of(MaximumEntropy(collection)), weights)
    assert weights["c"].tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("weight", [[1.0], [1.0] * 4, 1.0, [[1.0, 1.0, 1.0]], []])
@pytest.mark.parametrize("shape", ["chain", "empty"])
def test_weights_of_another_shape_than_the_base_values_are_refused_with_their_attribute(shape, weight):
    model = MaximumEntropy(Collection.of(shape_cube(), map(SHAPE_DOMAIN.mask, SHAPES[shape])))
    with pytest.raises(DomainMismatchError, match="weights of 'a' must have one entry for each base value"):
        expectation(CalibratedTree.of(model), {"a": np.array(weight)})


@pytest.mark.parametrize(("margin", "message"), [({"hat": 0}, "'hat'"), ({"a": 3}, "'a' has the levels 0 to 2")])
def test_questions_outside_the_domain_are_refused_by_name(margin, message):
    model = MaximumEntropy(Collection.of(shape_cube(), map(SHAPE_DOMAIN.mask, SHAPES["chain"])))
    with pytest.raises(DomainMismatchError, match=message):
        expected_marginal(model, margin)
    with pytest.raises(DomainMismatchError, match="'hat'"):
        expectation(CalibratedTree.of(model), {"hat": np.ones(2)})


def test_a_margin_over_the_ends_of_a_long_chain_needs_no_joint():
    """A chain of 30 attributes of 20 values: the ends' joint is a product of transition matrices."""
    rng = np.random.default_rng(0)
    domain = Domain.of({f"q{i:02}": Hierarchy.flat(map(str, range(20))) for i in range(30)})
    walk = np.cumsum(np.vstack([rng.integers(0, 20, 2000), rng.integers(-1, 2, (29, 2000))]), axis=0) % 20
    base = dict.fromkeys(domain.attributes, 0)
    table = ContingencyTable.from_cells(domain, base, dict(zip(domain.attributes, walk)), np.ones(2000, dtype=np.int64))
    pairs = [domain.mask({f"q{i:02}": 0, f"q{i + 1:02}": 0}) for i in range(29)]
    model = MaximumEntropy(Collection.of(DataCube([table]), pairs))
    joint = np.diag(np.bincount(walk[0], minlength=20)).astype(float)
    for one, other in zip(walk, walk[1:]):
        steps = np.zeros((20, 20))
        np.add.at(steps, (one, other), 1)
        joint = joint @ (steps / np.maximum(steps.sum(axis=1, keepdims=True), 1))
    cells = expected_marginal(model, {"q00": 0, "q29": 0})
    laid_out = np.zeros((20, 20))
    laid_out[cells.codes["q00"], cells.codes["q29"]] = cells.expected
    np.testing.assert_allclose(laid_out, joint, atol=1e-9)
    ends = {"q00": rng.normal(size=20), "q29": rng.normal(size=20)}
    assert expectation(CalibratedTree.of(model), ends) == pytest.approx(ends["q00"] @ joint @ ends["q29"], abs=1e-8)


@pytest.mark.data
def test_expected_counts_are_the_fit_of_r_loglin(shared_vectors):
    """Titanic, [Class Sex Age][Class Sex Survived]: cells of expected count 0 are left out."""
    example = json.loads((shared_vectors / "loglin.json").read_text())["Titanic"]
    names, shape = example["vars"], [len(labels) for labels in example["levels"]]
    domain = Domain.of({name: Hierarchy.flat(labels) for name, labels in zip(names, example["levels"])})
    codes = dict(zip(names, np.unravel_index(np.arange(np.prod(shape)), shape, order="F")))
    base = dict.fromkeys(names, 0)
    table = ContingencyTable.from_cells(domain, base, codes, np.array(example["counts"]))
    generators = [["Class", "Sex", "Age"], ["Class", "Sex", "Survived"]]
    model = MaximumEntropy(Collection.of(DataCube([table]), (domain.mask(dict.fromkeys(g, 0)) for g in generators)))
    fit = next(m["fit"] for m in example["models"] if m["generators"] == generators)
    cells = expected_marginal(model, base)
    laid_out = np.zeros(shape)
    laid_out[tuple(cells.codes[name] for name in names)] = cells.expected
    np.testing.assert_allclose(laid_out.ravel(order="F"), fit, rtol=1e-9)
    assert len(cells.expected) == np.count_nonzero(fit)
