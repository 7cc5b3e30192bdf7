"""Independence is the model of all one-way tables."""

import tracemalloc
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given

from models import (
    Collection,
    ContingencyTable,
    DataCube,
    Domain,
    DomainMismatchError,
    Hierarchy,
    MarginalModel,
    total_variation,
)
from models.accuracy import IndependentModel
from strategies import data_cubes


@given(data_cubes(max_cells=100))
def test_it_expects_what_the_maxent_model_of_all_one_way_tables_does(cube: DataCube) -> None:
    attributes = cube.domain.attributes
    fitted = MarginalModel(Collection.of(cube, [cube.domain.mask({name: 0}) for name in attributes]))
    model, rng = IndependentModel(cube), np.random.default_rng(0)
    for size in (1, 2, 3):
        for names in combinations(reversed(attributes), size):
            margin = dict.fromkeys(names, 0)
            assert np.allclose(model.expected(margin), fitted.expected(margin))
            codes = np.unravel_index(rng.integers(0, model.expected(margin).size, 7), model.expected(margin).shape)
            for own in (model, fitted):
                assert np.allclose(own.expected_of(margin, codes), own.expected(margin)[codes])
    with pytest.raises(DomainMismatchError):
        model.expected({attributes[0]: 1})
    with pytest.raises(DomainMismatchError):
        model.expected_of({attributes[0]: 1}, [np.zeros(1, dtype=np.intp)])


def test_a_table_of_a_hundred_million_cells_is_compared_in_the_memory_of_its_rows() -> None:
    """Measured amounts: ten thousand different values of each of two attributes, one row for each."""
    amounts = Hierarchy.flat([str(number) for number in range(10_000)])
    domain, margin, rows = Domain.of({"paid": amounts, "owed": amounts}), {"paid": 0, "owed": 0}, np.arange(10_000)
    codes = {"paid": rows, "owed": rows[::-1]}
    cube = DataCube([ContingencyTable.from_cells(domain, margin, codes, np.ones(10_000))])
    tracemalloc.start()
    try:
        error = total_variation(cube.table(domain.mask(margin)), IndependentModel(cube))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert error == pytest.approx(1 - 1 / 10_000)
    assert peak < 10e6
