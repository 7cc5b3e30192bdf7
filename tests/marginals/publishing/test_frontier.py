"""One frame of privacy and utility over a grid of policies: each row is what publishing under its policy finds."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import marginals
from marginals import InputError, MarginalsError
from marginals.example import table
from marginals.publishing.frontier import COLUMNS

GRID: dict[str, Any] = {
    "k": [4, 2, 100],
    "diversity": ["distinct:2", None, {"diagnosis": ["none"]}],
    "strategies": ["greedy", "exact"],
}


@pytest.mark.slow
def test_each_row_is_what_its_policy_publishes() -> None:
    grid = marginals.frontier(table, marginals.Policy(k_combinatorial=1), **GRID, jobs=1)
    assert tuple(grid) == COLUMNS
    assert len(grid) == 3 * 3 * 2
    assert grid.k.is_monotonic_increasing
    for row in grid.itertuples():
        diversity = next(d for d in GRID["diversity"] if row.diversity == ("none" if d is None else str(d)))
        demanded = diversity or "none"
        policy = marginals.Policy(k_link=row.k, k_combinatorial=row.k, diversity=demanded, strategy=row.strategy)
        if row.k == 100:
            with pytest.raises(marginals.NothingPublishableError) as nothing:
                marginals.publish(table, policy)
            assert (row.reason, row.margins) == (str(nothing.value), 0)
            assert np.isnan(row.kl_divergence)
            assert np.isnan(row.least)
            continue
        steward = marginals.publish(table, policy).steward
        assert steward is not None
        assert (row.kl_divergence, row.optimal, row.reason) == (steward.kl_divergence, steward.search.optimal, "")
        assert row.gap == steward.search.gap
        assert row.margins == len(steward.search.cliques)


def test_the_least_divergence_is_that_of_policies_as_strict() -> None:
    grid = marginals.frontier(table, marginals.Policy(), k=[2, 3, 4], diversity=["distinct:2"], jobs=1)
    assert grid.least.tolist() == [grid.value[first:].min() for first in range(3)]


@pytest.mark.slow
def test_processes_find_what_one_finds() -> None:
    one, two = (marginals.frontier(table, marginals.Policy(), **GRID, jobs=jobs) for jobs in (1, 2))
    assert one.drop(columns="seconds").equals(two.drop(columns="seconds"))


@pytest.mark.parametrize(
    "wrong", [{"k": []}, {"k": [0]}, {"k": 5}, {"diversity": "entropy:2"}, {"strategies": ["best"]}, {"jobs": 0}]
)
def test_what_makes_no_sense_is_refused_before_anything_is_searched(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError) as refused:
        marginals.frontier(table, marginals.Policy(), **wrong)
    assert "\n" not in str(refused.value)
    with pytest.raises(MarginalsError):
        marginals.frontier(table, marginals.Policy(), diversity=["entropy"])


@pytest.mark.slow
def test_its_picture_is_a_file_of_the_ending(tmp_path: Path) -> None:
    grid = marginals.frontier(table, marginals.Policy(), k=[2, 4, 100], jobs=1)
    for name, begins in (("a.svg", b"<?xml"), ("a.png", b"\x89PNG")):
        marginals.plot_frontier(grid, tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(begins)
    with pytest.raises(InputError, match="svg"):
        marginals.plot_frontier(grid, tmp_path / "a.txt")
