"""One model of the marginals: what it expects is what the dense maximum-entropy distribution says."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brute_force import dense_marginal, iterative_proportional_fitting, joint_array
from models.graphs.collection import Collection
from models.inference.marginal_model import MarginalModel
from privacy_oracles import base_table
from strategies import decomposable_collections, margins


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
