"""The table that is refined step by step is one of the minimal ones."""

from hypothesis import given
from hypothesis import strategies as st

from checks import Distinct, Requirements
from marginals.anonymizers.lattice import minimal_tables, stepwise_table
from models import DataCube
from strategies import data_cubes


@given(data_cubes(max_cells=100), st.integers(1, 8), st.integers(1, 3))
def test_it_is_one_of_the_minimal_tables_or_there_is_none(cube: DataCube, k: int, l: int) -> None:
    *public, sensitive = cube.domain.attributes
    requirements = Requirements((sensitive,), k_link=k, diversity=Distinct(l))
    minimal = minimal_tables(cube, tuple(public), requirements).minimal
    shown = cube.domain.mask({sensitive: 0})
    found = stepwise_table(cube, tuple(public), shown, requirements)
    assert (found is None) == (not minimal)
    assert found is None or found in [table.mask for table in minimal]
