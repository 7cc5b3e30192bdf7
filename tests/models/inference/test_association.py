"""Mutual information and odds ratios equal their definitions; ranges of odds ratios hold."""

from itertools import product
from math import inf, isnan, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from models.inference.association import Range, mutual_information, odds_ratio, odds_ratio_range


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


def test_odds_ratios_at_zeros() -> None:
    assert odds_ratio(np.array([[2.0, 1.0], [3.0, 6.0]])) == 4
    assert odds_ratio(np.array([[2.0, 0.0], [3.0, 6.0]])) == inf
    assert isnan(odds_ratio(np.array([[0.0, 0.0], [3.0, 6.0]])))


@given(st.lists(st.integers(0, 9), min_size=4, max_size=4), st.lists(st.integers(0, 3), min_size=8, max_size=8))
def test_the_odds_ratio_of_any_table_within_the_bounds_lies_in_its_range(counts: list[int], slack: list[int]) -> None:
    table = np.array(counts, dtype=float).reshape(2, 2)
    cells = [
        [Range(max(table[i, j] - slack[4 * i + 2 * j], 0), table[i, j] + slack[4 * i + 2 * j + 1]) for j in (0, 1)]
        for i in (0, 1)
    ]
    rows, columns, total = table[0].sum(), table[:, 0].sum(), table.sum()
    ratio = odds_ratio(table)
    for wide in (0, 1):
        around = [Range(known - wide, known + wide) for known in (rows, columns, total)]
        found = odds_ratio_range(cells, *around)
        assert isnan(ratio) or found.lower <= ratio * (1 + 1e-12)
        assert isnan(ratio) or ratio <= found.upper * (1 + 1e-12)
