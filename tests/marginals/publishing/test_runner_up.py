"""Of the two ends of a search that one is published whose tables tell more of pairs in rows that were not counted."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import marginals
from marginals.publishing.searching import Prepared, Search, _nearer, no_progress, searched
from models import NEVER, Deadline
from models.search.chance import without_chance_edges
from models.search.cross_validation import errors_of_pairs
from privacy_oracles import base_table
from search_oracles import never

PASSED_OVER, KEPT = 0, 1
"""Seeds of tables of which the best by the objective is not published, and is."""


NAMES = "abcdef"


def rows_of(seed: int, rows: int = 600) -> pd.DataFrame:
    """Each of six columns of eight values goes a little with the next but one."""
    rng = np.random.default_rng(seed)
    columns = {"a": rng.integers(0, 8, rows), "b": rng.integers(0, 8, rows)}
    for before, name in zip("abcd", "cdef"):
        columns[name] = np.where(rng.random(rows) < 0.4, columns[before], rng.integers(0, 8, rows))
    ill = np.where(rng.random(rows) < 0.4, columns["f"] // 2, rng.integers(0, 4, rows))
    return pd.DataFrame(columns | {"ill": [f"v{value}" for value in ill]})


def read(source: pd.DataFrame | Path, **reading: Any) -> marginals.Table:
    attributes = {name: marginals.Attribute("quasi-identifier", ladder="fitted") for name in NAMES}
    attributes["ill"] = marginals.Attribute("sensitive", ladder="fitted")
    return marginals.read_table(source, attributes, k=5, rows_per_person=1, **reading)


def found(seed: int, **settings: Any) -> Search:
    return found_in(read(rows_of(seed)), **settings)


def found_in(table: marginals.Table, **settings: Any) -> Search:
    policy = marginals.Policy(**{"k_link": 5, "diversity": "distinct:2", "base": "none", **settings})
    return searched(Prepared(policy, policy.requirements_of(table), table, table), NEVER, no_progress)


FROM_TWICE_THE_PRICE, FROM_THE_PRICE = 0, 2
"""Seeds of tables of which the best is what a search by twice the price came to, and what one by the price came to."""


def found_among_patients(seed: int, rows: int = 3_000) -> Search:
    """An illness that goes with blood pressure and race, and by chance with some values of a number."""
    rng = np.random.default_rng(seed)
    race, region = rng.choice(3, rows, p=[0.85, 0.1, 0.05]), rng.choice(4, rows)
    pressure = (rng.random(rows) < 0.4 + 0.1 * (race == 1)).astype(int)
    zinc = np.clip(np.rint(rng.normal(85 + 3 * pressure + 2 * (region == 1) - 2 * (race == 1), 14, rows)), 40, 140)
    ill = rng.random(rows) < 0.03 + 0.05 * pressure + 0.03 * (race == 1)
    columns = {"race": race, "region": region, "pressure": pressure, "zinc": zinc.astype(int)}
    attributes = {name: marginals.Attribute("quasi-identifier", ladder="fitted") for name in columns}
    attributes["ill"] = marginals.Attribute("sensitive")
    frame = pd.DataFrame(columns | {"ill": np.where(ill, "yes", "no")})
    policy = {"k_link": 10, "k_combinatorial": 10, "min_cell": 3}
    return found_in(marginals.read_table(frame, attributes, k=10, rows_per_person=1), **policy)


@pytest.mark.parametrize(("seed", "is_dearer"), [(FROM_TWICE_THE_PRICE, True), (FROM_THE_PRICE, False)])
def test_the_best_is_the_best_once_edges_that_chance_explains_are_taken_away(seed: int, is_dearer: bool) -> None:
    """As published: before that, what a search by the price came to is the better one here."""
    search = found_among_patients(seed)
    first, problem = search.first, search.problem
    assert first.dearer is not None
    assert first.value is not None
    assert first.dearer.value is not None
    assert first.value < first.dearer.value
    cleared = [without_chance_edges(end, problem, never) for end in (first, first.dearer)]
    best = search.result if search.result.runner_up is None else search.result.runner_up
    assert best.value == min(end.value for end in cleared if end.value is not None)
    assert best.cliques == cleared[is_dearer].cliques != cleared[not is_dearer].cliques
    assert problem.constraint(best.cliques, 0) is None
    assert best.value == pytest.approx(problem.value(problem.position(best.cliques)))
    assert (best.strategy, best.evaluated, best.optimal) == ("auto", search.result.evaluated, False)
    assert best.gap is None or best.gap >= 0


@pytest.fixture(scope="module")
def searches() -> Mapping[int, Search]:
    return {seed: found(seed) for seed in (PASSED_OVER, KEPT)}


def test_the_end_that_is_nearer_is_published(searches: Mapping[int, Search]) -> None:
    search = searches[PASSED_OVER]
    result, problem = search.result, search.problem
    other = result.runner_up
    assert other is not None
    assert result.value is not None
    assert other.value is not None
    assert other.value < result.value, "it was the best by the objective"
    nearer, further = errors_of_pairs([result.cliques, other.cliques], base_table(problem.cube), problem.seed, never)
    assert nearer < further
    assert problem.constraint(result.cliques, 0) is None
    assert result.value == pytest.approx(problem.value(problem.position(result.cliques)))
    assert (result.strategy, result.bound, result.evaluated) == ("auto", other.bound, other.evaluated)
    assert not result.optimal


def test_otherwise_the_best_by_the_objective_is(searches: Mapping[int, Search]) -> None:
    search = searches[KEPT]
    assert search.result.runner_up is None
    assert search.first.runner_up is not None
    ends = [search.result.cliques, search.first.runner_up.cliques]
    nearer, further = errors_of_pairs(ends, base_table(search.problem.cube), search.problem.seed, never)
    assert nearer <= further


def test_what_is_proven_best_stays_and_so_does_what_could_not_be_compared_in_time(
    searches: Mapping[int, Search],
) -> None:
    search = searches[PASSED_OVER]
    best, nearer = search.result.runner_up, search.result
    assert best is not None
    ended = replace(search, result=replace(best, runner_up=replace(nearer, runner_up=None)))
    assert _nearer(ended, NEVER).result.cliques == nearer.cliques
    for proven in ({"optimal": True}, {"bound": best.value}):
        kept = _nearer(replace(ended, result=replace(ended.result, **proven)), NEVER).result
        assert (kept.cliques, kept.runner_up, kept.stopped) == (best.cliques, None, False)
    late = _nearer(ended, Deadline(0.0, lambda: 1.0)).result
    assert (late.cliques, late.runner_up, late.stopped) == (best.cliques, None, True)


@pytest.mark.parametrize(
    "settings",
    [
        {"further_tables": "pairs"}, {"wanted": ({"attributes": ("a", "c")},)}, {"objective": "kl"},
        {"strategy": "local"},
    ],
    ids=["further", "wanted", "kl", "local"],
)  # fmt: skip
def test_nothing_is_passed_over_where_the_objective_says_what_counts(settings: dict[str, Any]) -> None:
    assert found(PASSED_OVER, **settings).result.runner_up is None


def test_rows_that_do_not_fit_into_memory_are_not_divided(searches: Mapping[int, Search], tmp_path: Path) -> None:
    """The distinct rows are more than what is held, so that each margin is counted elsewhere."""
    pytest.importorskip("duckdb")
    rows_of(PASSED_OVER).to_csv(tmp_path / "people.csv", index=False)
    table = read(
        tmp_path / "people.csv", engine="duckdb", memory=300 * 2 * 128
    )  # bytes, for counting and for the engine
    assert table.out_of_core is not None
    search = found_in(table)
    assert search.first.runner_up is not None
    assert search.result.runner_up is None
    best = searches[PASSED_OVER].result.runner_up
    assert best is not None
    assert search.result.cliques == best.cliques
