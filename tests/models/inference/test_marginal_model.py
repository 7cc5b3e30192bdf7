"""One model of the marginals: what it expects is what the dense maximum-entropy distribution says."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brute_force import dense_marginal, independent, iterative_proportional_fitting, joint_array, kl_divergence
from models import Collection, MarginalModel
from privacy_oracles import base_table
from strategies import SHAPE_DOMAIN, SHAPES, decomposable_collections, margins, shape_cube


@pytest.mark.parametrize("shape", SHAPES)
def test_information_is_that_of_the_dense_distribution_with_a_junction_tree_or_without(shape: str) -> None:
    collection = Collection.of(shape_cube(), map(SHAPE_DOMAIN.mask, SHAPES[shape]))
    p = joint_array(base_table(collection.cube)) / collection.cube.total
    q = iterative_proportional_fitting(p, SHAPE_DOMAIN, collection.margins, sweeps=4000)
    model = MarginalModel(collection)
    assert model.information == pytest.approx(kl_divergence(q, independent(q)), abs=1e-6)
    assert model.total_information == pytest.approx(kl_divergence(q, np.full(q.shape, 1 / q.size)), abs=1e-6)


@settings(max_examples=60)
@given(decomposable_collections(max_cells=60), st.data())
def test_expected_rows_in_a_box_are_those_of_the_dense_distribution(
    collection: Collection, data: st.DataObject
) -> None:
    domain, model = collection.domain, MarginalModel(collection)
    joint = joint_array(base_table(collection.cube))
    q = iterative_proportional_fitting(joint / joint.sum(), domain, collection.margins) * joint.sum()
    inside = {
        a: np.array(data.draw(st.lists(st.booleans(), min_size=h.size(0), max_size=h.size(0))))
        for a, h in domain.items()
        if data.draw(st.booleans())
    }
    held = np.ix_(*(inside.get(a, np.ones(h.size(0), dtype=bool)) for a, h in domain.items()))
    within = np.zeros_like(q)
    within[held] = q[held]
    box = model.box(inside)
    assert model.total == joint.sum()
    assert model.expected_in(box) == pytest.approx(within.sum(), abs=1e-9)
    margin = data.draw(margins(domain))
    expected = dense_marginal(within, domain, margin)
    shown = [a for a in domain.attributes if a in margin]
    expected = expected.reshape([domain.hierarchy(a).size(margin[a]) for a in shown])
    expected = expected.transpose([shown.index(a) for a in margin])
    assert model.expected_within(margin, box) == pytest.approx(expected, abs=1e-9)
