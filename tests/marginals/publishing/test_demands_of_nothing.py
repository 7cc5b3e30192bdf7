"""A demand that every table satisfies is refused wherever it is made: it would stand in a report as a claim that holds."""

import re
from pathlib import Path
from typing import Any

import pytest

import marginals
from marginals import InputError, Policy
from marginals.example import release, table
from small_release import CONFIG, write_config

NOTHING = [*({name: 1} for name in ("k_link", "k_combinatorial", "min_cell", "min_published_cell"))]


@pytest.mark.parametrize("demand", NOTHING, ids=lambda demand: next(iter(demand)))
def test_a_count_of_1_is_no_promise(demand: dict[str, Any], tmp_path: Path) -> None:
    """Every class and every published cell that there is has a row: it would stand in the report as a claim that holds."""
    (name,) = demand
    with pytest.raises(InputError, match=f"{name} must be a whole number from 2 .* such as 10, or leave it out"):
        Policy(diversity="none", **demand)
    config = write_config(tmp_path)
    config.write_text(with_demand(name))
    with pytest.raises(InputError, match=f"{name} must be a whole number from 2"):
        marginals.read_config(config)


def with_demand(name: str) -> str:
    """The config with that demand alone."""
    return re.sub(r"(?ms)^\[privacy\]\n.*\Z", f'[privacy]\n{name} = 1\ndiversity = "none"\n', CONFIG)


@pytest.mark.parametrize("demand", ["k-link=1", "k-combinatorial=1", "min-cell=1", "min-published-cell=1"])
def test_a_reader_cannot_ask_for_a_count_of_1(demand: str) -> None:
    with pytest.raises(match="1 demands nothing, so write a larger number, such as 10"):
        release.verify([demand])


@pytest.mark.parametrize(
    "criterion", ["distinct:1", "simple:1", "entropy:1", "recursive:3,1", "distinct:1 leaving out missing"]
)
def test_a_diversity_of_every_table_is_no_promise(criterion: str) -> None:
    """Of a config it was refused already."""
    with pytest.raises(InputError, match="demands nothing, as every table satisfies it"):
        Policy(k_link=4, diversity=criterion)
    with pytest.raises(InputError, match="demands nothing, as every table satisfies it"):
        Policy(k_link=4, diversity={"diagnosis": ["distinct:2", criterion]})
    for kind in ("diversity", "register"):
        with pytest.raises(match=f"demands nothing, as every table satisfies it; write {kind}=distinct:2"):
            release.verify([f"{kind}={criterion}"])


def test_a_grid_without_a_count_demands_none_and_cannot_ask_for_1() -> None:
    grid = marginals.frontier(table, Policy(diversity="distinct:2"), strategies=["exact"], jobs=1)
    assert grid.k.tolist() == [1]
    assert "fewer than" not in grid.reason[0]
    with pytest.raises(InputError, match="k is a whole number from 2"):
        marginals.frontier(table, Policy(diversity="distinct:2"), k=[1, 2], jobs=1)
