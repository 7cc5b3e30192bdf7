"""Mutual information and odds ratios equal their definitions; ranges of odds ratios hold."""

from itertools import product
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from models import mutual_information
from models.inference.marginal_model import cramers_v, phi_squared


@given(arrays(np.float64, (2, 3, 2), elements=st.integers(0, 5)))
def test_mutual_information_is_that_of_the_definition(counts: np.ndarray) -> None:
    """Sum of p(a, b, c) ln(p(a, b | c) / p(a | c) p(b | c))."""
    p = counts / max(counts.sum(), 1)
    defined = 0.0
    for a, b, c in product(range(2), range(3), range(2)):
        if p[a, b, c]:
            defined += p[a, b, c] * log(p[a, b, c] * p[:, :, c].sum() / (p[a, :, c].sum() * p[:, b, c].sum()))
    assert mutual_information(counts) == pytest.approx(defined, abs=1e-12)


def test_independent_attributes_have_no_mutual_information() -> None:
    assert mutual_information(np.outer([1.0, 3.0], [2.0, 5.0])) == pytest.approx(0, abs=1e-15)
    assert mutual_information(np.eye(2)) == pytest.approx(log(2))


@given(arrays(np.float64, (3, 4), elements=st.integers(0, 9)))
def test_phi_squared_is_chi_squared_over_the_rows(counts: np.ndarray) -> None:
    total = int(counts.sum())
    chi_squared = 0.0
    for i, j in product(range(3), range(4)):
        expected = counts[i].sum() * counts[:, j].sum() / max(total, 1)
        if expected:
            chi_squared += (counts[i, j] - expected) ** 2 / expected
    assert phi_squared(counts) == pytest.approx(chi_squared / max(total, 1), abs=1e-12)
    assert phi_squared(counts / 7) == pytest.approx(phi_squared(counts), abs=1e-12)


def test_cramers_v_is_corrected_as_bergsma_says() -> None:
    """W. Bergsma, A bias-correction for Cramer's V and Tschuprow's T, J. Korean Stat. Soc. 42 (2013), formulas 4 to 7."""
    rows, shape, phi = 101, (3, 5), 0.3
    corrected = phi - 2 * 4 / 100
    lengths = 3 - 4 / 100, 5 - 16 / 100
    assert cramers_v(phi, rows, shape) == pytest.approx((corrected / (min(lengths) - 1)) ** 0.5)
    assert cramers_v(0.07, rows, shape) == 0, "chance alone shows as much"
    assert cramers_v(0.07, rows, shape, (1, 1)) > 0, "in a table that chance adds nothing to"
    assert cramers_v(1.0, rows, (2, 2)) == pytest.approx(1)
    assert cramers_v(0.3, rows, (1, 5)) == 0
    assert cramers_v(0.0, 1, (2, 2)) == 0
