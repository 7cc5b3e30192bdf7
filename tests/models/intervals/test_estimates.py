"""Estimates lie within the bounds, add up, and are those of independence where only margins are known."""

import numpy as np

from interval_oracles import random_published
from models import Classification, IntervalTable, linked_tables, proven_bounds
from models.intervals.contradictions import estimated_counts


def test_of_two_margins_the_estimate_is_independence() -> None:
    sex, age = Classification("sex", ("f", "m")), Classification("age", ("young", "old"))
    tables = [
        IntervalTable.of("s", ["sex"], {(1,): (30, 30), (2,): (70, 70)}),
        IntervalTable.of("a", ["age"], {(1,): (40, 40), (2,): (60, 60)}),
    ]
    linked = linked_tables(tables, [sex, age])
    bounds = proven_bounds(linked)
    estimates = estimated_counts(linked, bounds.lower, bounds.upper)
    assert np.allclose(estimates[linked.finest[-1]], [12, 18, 28, 42], atol=0.01)


def test_estimates_lie_within_the_bounds() -> None:
    for seed in range(10):
        published = random_published(np.random.default_rng(seed))
        linked = linked_tables(published.tables, published.classifications)
        bounds = proven_bounds(linked)
        estimates = estimated_counts(linked, bounds.lower, bounds.upper)
        assert np.all(estimates >= bounds.lower)
        assert np.all(estimates <= bounds.upper)
