"""A release is looked for with the base table and without it: never worse than either, in the time of one."""

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest

import marginals
from marginals import InputError
from marginals.publishing.searching import Prepared, Search, no_progress, searched
from marginals.wording import search_line
from models import NEVER

PRIVACY = {"k_link": 4, "diversity": "entropy:2"}


def people(seed: int, rows: int = 300) -> marginals.Table:
    rng = np.random.default_rng(seed)
    age, sex = rng.integers(20, 60, rows), rng.choice(["f", "m"], rows)
    town = rng.choice(list("abcd"), rows, p=[0.5, 0.3, 0.15, 0.05])
    ill = np.where(
        rng.random(rows) < 0.6, rng.choice(["flu", "gout", "mumps"], rows), np.where(age < 40, "flu", "gout")
    )
    attributes = {
        "age": marginals.Attribute("quasi-identifier", intervals=[10, 20]),
        "sex": marginals.Attribute("quasi-identifier"),
        "town": marginals.Attribute("quasi-identifier"),
        "ill": marginals.Attribute("sensitive"),
    }
    return marginals.read_table(pd.DataFrame({"age": age, "sex": sex, "town": town, "ill": ill}), attributes)


def found(table: marginals.Table, **settings: Any) -> Search:
    policy = marginals.Policy(**{**PRIVACY, "objective": "kl", **settings})
    return searched(Prepared(policy, policy.requirements(table.sensitive), table, table), NEVER, no_progress)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["greedy", "greedy-both", "exact"])
def test_it_is_the_better_of_both_and_says_which(strategy: str) -> None:
    for seed in range(3):
        table = people(seed)
        each = {base: found(table, base=base, strategy=strategy) for base in ("auto", "best", "none")}
        assert each["auto"].value == min(each["best"].value, each["none"].value)
        assert each["auto"].result.bound == each["none"].result.bound, "what is proven is about all releases"
        assert each["auto"].base is not None, "the best single table is a yardstick either way"
        evaluated = {base: search.result.evaluated for base, search in each.items()}
        proven = each["none"].result.optimal
        assert evaluated["auto"] == evaluated["none"] + (0 if proven else evaluated["best"]), "both searches count"
        choice, lead = each["auto"].choice, each["best"].value - each["none"].value
        if choice.lead is not None:
            assert choice.lead == pytest.approx(abs(lead))
            assert choice.contained is (lead <= 1e-11)
        else:
            assert each["auto"].result.optimal


LIMITS = "within the policy and search limits"


def test_what_is_proven_of_releases_with_a_base_table_is_said_of_these() -> None:
    table = people(1)
    said = {
        base: search_line(search.result, search.choice)
        for base in ("auto", "best", "none")
        for search in [found(table, base=base, strategy="exact")]
    }
    assert said["best"].endswith(f"no decomposable collection that contains the base table, {LIMITS} is better.")
    assert said["none"].endswith(f"looked at; no decomposable collection {LIMITS} is better.")
    assert said["auto"] == said["none"]
    greedy = found(table, base="best", strategy="greedy")
    assert f"no decomposable collection that contains the base table, {LIMITS} gets below" in search_line(
        greedy.result, greedy.choice
    )


@pytest.mark.slow
@pytest.mark.parametrize("columns", [20, 70])
def test_of_many_attributes_the_base_table_is_left_out_and_that_is_said(columns: int) -> None:
    """A lattice over them would fill a disk, or have more dimensions than an array can have."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"a{i}": rng.choice(["x", "y"], 200) for i in range(columns)})
    table = marginals.read_table(frame, {name: marginals.Attribute("quasi-identifier") for name in frame})
    policy = {"diversity": None, "max_attributes": 2, "time_limit": 0.2}
    search = found(table, **policy)
    ways = f"{2**columns:,} ways to generalize the quasi-identifiers"
    said = f"there are {ways}, too many to look at in a quarter of the time."
    assert str(search.choice) == f"Looked for without the base table only: {said}"
    if columns == 70:
        with pytest.raises(
            InputError, match=r"ways to generalize the 70 quasi-identifiers, too many .* \(base \"none\"\)"
        ):
            found(table, **policy, base="best")


@pytest.mark.parametrize("strategy", ["greedy", "anneal", "exact"])
def test_the_time_limit_is_shared_by_the_base_table_and_both_searches(
    strategy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a clock that goes on by a hundredth of a second when it is looked at."""
    looks = itertools.count(1)
    monkeypatch.setattr("marginals.publishing.searching.SEARCH_CLOCK", lambda: next(looks) / 100)
    search = found(people(2), strategy=strategy, time_limit=2.0)
    assert next(looks) <= 200 + 2 * 50 + 20, "half a second more for the bound of each"
    assert search.result.cliques


def test_no_time_for_the_base_table_leaves_it_out() -> None:
    choice = found(people(3), time_limit=0).choice
    assert str(choice).endswith("only: the time for the best one was over before it was found.")
