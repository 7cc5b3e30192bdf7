"""Cuts hold for every violation, whatever the weights."""

import numpy as np
import pytest

from checks.log_cuts import TrimmedCases


@pytest.mark.parametrize("seed", range(60))
def test_a_cut_of_trimmed_cases_holds_where_some_tail_is_as_small_as_it_may_be(seed: int) -> None:
    """Several cases at a time, of random log-ratios below random ceilings; the tail is the smallest."""
    rng = np.random.default_rng(seed)
    values, count, theta = int(rng.integers(3, 7)), int(rng.integers(1, 5)), float(np.exp(rng.normal()))
    spared = int(rng.integers(0, values - 1))
    heads = rng.integers(0, values, count)
    support = np.arange(values)[:, None] != heads
    y = np.where(support, rng.normal(0, 2, (values, count)), np.inf)
    tail = np.sort(np.exp(y), axis=0)[: values - 1 - spared].sum(axis=0)
    # Some reach theta, some lie far below it, so that one case's terms would spoil another's.
    depth = rng.choice([0.0, 20.0], count)
    y = np.where(support, y + np.log(theta / tail) - depth, 0.0)
    ceiling = np.where(support, y + rng.exponential(rng.choice([0.01, 1.0]), y.shape), 0.0)
    cases = TrimmedCases(heads, support, theta, spared, ceiling)
    # Also the weights at which the bound is tightest: the shares in the tail, or nearly.
    share = np.where(support, np.exp(y), 0.0) ** rng.choice([0.5, 1.0])
    for drawn in (rng.random((values, count)), np.minimum(share, np.sort(share, axis=0)[values - 1 - spared])):
        weights = np.where(support, drawn, 0.0)
        weights /= weights.sum(axis=0)
        assert np.all((weights * y).sum(axis=0) <= cases.bound(weights) + 1e-9)
