"""Reports of a search: frontiers of policies, suggested analyses."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import marginals
from marginals import Attribute, Policy
from marginals.example import table as example
from models import Hierarchy

GRID: dict[str, Any] = {
    "k": [4, 2, 100],
    "diversity": ["distinct:2", None, {"diagnosis": ["none"]}],
    "strategies": ["forward", "exact"],
}


def test_each_row_of_a_frontier_is_what_its_policy_publishes_whatever_the_processes() -> None:
    grid = marginals.frontier(example, Policy(k_combinatorial=2), **GRID, jobs=1)
    two = marginals.frontier(example, Policy(k_combinatorial=2), **GRID, jobs=2)
    assert grid.drop(columns="seconds").equals(two.drop(columns="seconds"))
    assert len(grid) == 3 * 3 * 2
    assert grid.k.is_monotonic_increasing
    for row in grid.itertuples():
        diversity = next(d for d in GRID["diversity"] if row.diversity == ("none" if d is None else str(d)))
        policy = Policy(k_link=row.k, k_combinatorial=row.k, diversity=diversity or "none", strategy=row.strategy)
        if row.k == 100:
            with pytest.raises(marginals.errors.NothingPublishableError) as nothing:
                marginals.publish(example, policy)
            assert (row.reason, row.margins) == (str(nothing.value), 0)
            assert np.isnan(row.kl_divergence)
            continue
        steward = marginals.publish(example, policy).steward
        assert (row.kl_divergence, row.optimal, row.reason) == (steward.kl_divergence, steward.search.optimal, "")
        assert row.gap == steward.search.gap
        assert row.margins == len(steward.search.cliques)


def test_what_must_be_published_at_crossing_levels_is_refused_with_the_key_that_allows_it() -> None:
    """Further tables keep the rule, too: not both may be fine in one table, and each may be."""
    fine = Hierarchy.from_rows([(f"{v:02}", f"{v // 4}.", "*") for v in range(16)])
    column = Attribute("quasi-identifier", hierarchy=fine)
    a, b = np.random.default_rng(1).integers(0, 16, (2, 640))
    rows = pd.DataFrame({"a": a, "b": a // 2 + b // 2}).map("{:02}".format)
    table = marginals.read_table(rows, {"a": column, "b": column})
    asked = Policy(k_link=2, base="none", must_publish=[{"a": 0, "b": 1}, {"a": 1, "b": 0}])
    with pytest.raises(
        marginals.errors.NothingPublishableError, match=r"a and b at crossing levels \(search.crossing_levels\)"
    ):
        marginals.publish(table, asked)
    assert marginals.publish(table, replace(asked, crossing_levels=True)).release.published.everything.crossings
    further = Policy(k_link=3, base="none", max_attributes=1, further_tables=2)
    shown = marginals.publish(table, further).release.published.everything
    assert not shown.crossings
