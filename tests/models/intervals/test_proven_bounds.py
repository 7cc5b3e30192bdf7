"""Bounds of counts are those of all populations that fit, which are listed one by one."""

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interval_oracles import Published, random_published
from models import Deadline, LinkedTables, linked_tables, proven_bounds


def sets_of(linked: LinkedTables, cell: int) -> list[int]:
    return [sets[code] for sets, code in zip(linked.sets, linked.keys[cell].tolist())]


def compare(published: Published) -> int:
    """Whether every bound holds, and is attained where it is called sharp; how many cells there were."""
    linked = linked_tables(published.tables, published.classifications)
    bounds = proven_bounds(linked)
    fitting = published.fitting()
    assert len(fitting)
    for cell in range(len(linked)):
        counts = published.count(fitting, sets_of(linked, cell))
        least, most = int(counts.min()), int(counts.max())
        lower, upper = int(bounds.lower[cell]), int(bounds.upper[cell])
        assert lower <= least
        assert most <= upper
        assert bounds.sharp[cell]
        assert (lower, upper) == (least, most)
    return len(linked)


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1))
def test_bounds_are_those_of_all_populations_that_fit(seed: int) -> None:
    compare(random_published(np.random.default_rng(seed)))


def test_what_there_is_no_time_for_is_bounded_and_not_decided() -> None:
    for seed in range(5):
        published = random_published(np.random.default_rng(seed))
        linked = linked_tables(published.tables, published.classifications)
        bounds = proven_bounds(linked, deadline=Deadline(0.0, lambda: 1.0))
        whole = proven_bounds(linked)
        assert (bounds.lower <= whole.lower).all()
        assert (bounds.upper >= whole.upper).all()
        assert np.array_equal(bounds.decided, bounds.exact)


@pytest.mark.skipif("MARGINALS_TIMES" not in os.environ, reason="many random tables are compared by `make nightly`")
def test_bounds_of_many_random_tables() -> None:
    for seed in range(10_000):
        compare(random_published(np.random.default_rng(seed)))
