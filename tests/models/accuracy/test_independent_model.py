"""Independence is the model of all one-way tables."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given

from models.accuracy.independent_model import IndependentModel
from models.errors import DomainMismatchError
from models.graphs.collection import Collection
from models.inference.marginal_model import MarginalModel
from models.tables.data_cube import DataCube
from strategies import data_cubes


@given(data_cubes(max_cells=100))
def test_it_expects_what_the_maxent_model_of_all_one_way_tables_does(cube: DataCube) -> None:
    attributes = cube.domain.attributes
    fitted = MarginalModel(Collection.of(cube, [cube.domain.mask({name: 0}) for name in attributes]))
    model = IndependentModel(cube)
    for size in (1, 2, 3):
        for names in combinations(reversed(attributes), size):
            margin = dict.fromkeys(names, 0)
            assert np.allclose(model.expected(margin), fitted.expected(margin))
    with pytest.raises(DomainMismatchError):
        model.expected({attributes[0]: 1})
