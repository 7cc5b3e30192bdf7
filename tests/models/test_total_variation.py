"""The errors of a model's tables: half the absolute differences, over every cell of the dense joint distribution."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings

from brute_force import dense_marginal, iterative_proportional_fitting, joint_array
from models import Collection, MarginalModel, total_variation
from privacy_oracles import base_table
from strategies import decomposable_collections


@settings(max_examples=60)
@given(decomposable_collections(max_cells=60))
def test_total_variation_is_half_of_the_absolute_differences(collection: Collection) -> None:
    domain, table = collection.domain, base_table(collection.cube)
    p = joint_array(table) / table.total
    q = iterative_proportional_fitting(p, domain, collection.margins)
    for size in (1, 2):
        for attributes in combinations(domain.attributes, size):
            margin = dict.fromkeys(attributes, 0)
            real, expected = (dense_marginal(joint, domain, margin) for joint in (p, q))
            found = total_variation(table.rolled_up(margin), MarginalModel(collection))
            assert found == pytest.approx(np.abs(real - expected).sum() / 2, abs=1e-9)
