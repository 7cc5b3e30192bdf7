"""x ln x against SciPy, and what it says of 0 and of negative values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import xlogy

from models.arrays import x_log_x


@given(st.lists(st.one_of(st.integers(0, 2**50), st.floats(0, 1e300)), max_size=20))
def test_it_is_what_scipy_gives_but_for_the_last_bit(values: list[float]) -> None:
    """Logarithms of processors and of mathematical libraries may be rounded differently, near 1 to another last bit."""
    x = np.array(values, dtype=np.float64)
    np.testing.assert_array_max_ulp(x_log_x(x), xlogy(x, x), maxulp=2)


def test_small_counts_are_those_of_scipy_to_the_last_bit() -> None:
    counts = np.arange(5_000)
    assert (x_log_x(counts) == xlogy(counts, counts)).all()


def test_zero_and_scalars_and_shapes() -> None:
    assert x_log_x(0) == 0
    assert x_log_x(2) == 2 * np.log(2)
    assert x_log_x(np.zeros((2, 3))).shape == (2, 3)


def test_a_negative_value_is_not_a_number() -> None:
    with pytest.warns(RuntimeWarning, match="invalid value"):
        assert np.isnan(x_log_x(-1.0))
