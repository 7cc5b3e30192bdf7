"""Publishing by a policy: what must be shown is, what must not is not, and a contradiction is told, not worked around."""

import itertools
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import Result

import marginals
from checks import Budget, Diversity, Finding, Verdict
from command_line import run
from marginals import Attribute, InputError, Policy, Release, Table
from models import STRATEGIES, Collection, Problem, SearchResult, forward
from simulated_census import write_census
from small_release import write_release

ROLES = {
    "age": "quasi-identifier\nintervals = [5, 10]", "sex": "quasi-identifier",
    "town": "quasi-identifier\nprefixes = [1]", "disease": "sensitive",
}  # fmt: skip
DEMANDS = 'k_link = 4\nk_combinatorial = 4\ndiversity = "distinct:2"\n'
PRIVACY: dict[str, Any] = {"k_link": 4, "k_combinatorial": 4, "diversity": "distinct:2"}


def people(rows: int = 500) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    age, sex = rng.integers(20, 60, rows), rng.choice(["f", "m"], rows)
    town = np.where(rng.random(rows) < age / 80, rng.choice(["a1", "a2"], rows), rng.choice(["b1", "b2", "b3"], rows))
    ill = np.where(rng.random(rows) < age / 100, "flu", rng.choice(["cold", "none"], rows))
    return pd.DataFrame({"age": age, "sex": sex, "town": town, "disease": ill})


@pytest.fixture(scope="module")
def table() -> Table:
    attributes = {
        "age": Attribute("quasi-identifier", intervals=[5, 10]),
        "sex": "quasi-identifier",
        "town": Attribute("quasi-identifier", prefixes=[1]),
        "disease": "sensitive",
    }
    return marginals.read_table(people(), attributes)


@pytest.fixture
def publish(tmp_path: Path) -> Callable[..., Result]:
    def publish_with(search: str, demands: str = DEMANDS) -> Result:
        config = write_release(tmp_path, people(), ROLES, f"[privacy]\n{demands}[search]\n{search}")
        return run("publish", config, "--out", tmp_path / "out", "--json")

    return publish_with


def shows(release: Release, table: Table, margin: dict[str, int]) -> bool:
    """Whether a marginal shows some attributes at these levels of the table or finer ones."""

    def is_shown(shown: Mapping[str, int], attribute: str, level: int) -> bool:
        # A release numbers levels from the finest that it publishes; labels tell which ones they are.
        labels = release.domain.hierarchy(attribute).labels[shown[attribute]]
        levels = table.domain.hierarchy(attribute).labels[: level + 1]
        return any(set(labels) <= set(finer) for finer in levels)

    return any(
        all(
            level == table.domain.hierarchy(attribute).height
            or (attribute in shown and is_shown(shown, attribute, level))
            for attribute, level in margin.items()
        )
        for shown in release.published.everything.margins
    )


def test_a_new_strategy_is_one_function_and_one_line(
    publish: Callable[..., Result], table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert publish('strategy = "toy"').exit_code == 2

    def toy(problem: Problem, stop: Callable[[], bool]) -> SearchResult:
        return replace(forward(problem, stop), strategy="toy")

    monkeypatch.setitem(STRATEGIES, "toy", toy)  # type: ignore[arg-type]
    steward = marginals.publish(table, Policy(**PRIVACY, strategy="toy")).steward
    assert steward is not None
    assert steward.search.strategy == json.loads(publish('strategy = "toy"').stdout)["search"]["strategy"] == "toy"
    assert marginals.select(people()[["sex", "disease"]], strategy="toy").search.strategy == "toy"
    with pytest.raises(InputError, match="exact, toy"):
        Policy(**PRIVACY, strategy="tony")


@pytest.fixture(scope="module")
def best(table: Table) -> float:
    report = marginals.publish(table, Policy(**PRIVACY, strategy="exact", objective="kl")).steward
    assert report.search.optimal
    return report.kl_divergence


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_publishes_what_verifies_and_none_is_better_than_the_exact_one(
    table: Table, best: float, name: str
) -> None:
    publication = marginals.publish(table, Policy(**PRIVACY, strategy=name, objective="kl", time_limit=0.5, seed=1))
    report = publication.steward
    assert report.search.strategy == name
    assert report.kl_divergence >= best - 1e-9
    assert report.search.bound is not None
    assert report.search.bound <= best + 1e-9
    assert name in ("auto", "exact") or not report.search.optimal
    assert publication.release.verify().ok


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_what_must_be_published_is_shown_and_what_must_not_is_not(table: Table, strategy: str) -> None:
    wanted, unwanted = {"town": 1, "sex": 0}, {"age": 1, "sex": 0}
    free = marginals.publish(table, Policy(**PRIVACY, base="none", strategy=strategy, time_limit=0.5)).release
    assert shows(free, table, unwanted) or strategy != "exact", "or the test says nothing"
    policy = Policy(
        **PRIVACY, base="none", strategy=strategy, must_publish=[wanted], must_not_publish=[unwanted], time_limit=0.5
    )
    release = marginals.publish(table, policy).release
    assert shows(release, table, wanted)
    assert not shows(release, table, unwanted)
    assert not shows(release, table, {"age": 0, "sex": 0})


def test_what_is_sensitive_and_neither_shown_nor_protected_is_said(table: Table, tmp_path: Path) -> None:
    hidden = marginals.publish(table, Policy(k_link=4, diversity="entropy:9", base="none")).write(tmp_path / "hidden")
    assert hidden.release.published.unpublished == ("disease",)
    assert 'diversity = "entropy:9"' in hidden.steward.unpublished["disease"]
    assert [claim.criterion for claim in hidden.release.claims] == ["k-link"], "nothing is claimed of what is not shown"
    bare = marginals.publish(table, Policy(k_link=4, diversity="none")).write(tmp_path / "bare").release
    assert bare.published.unpublished == ()
    assert not bare.verify().checks[1:], "k-link alone"
    neither = marginals.publish(table, Policy(k_link=4, base="none", max_sensitive_margins=0, diversity="none")).release
    assert neither.published.unpublished == ("disease",)
    reports = [(tmp_path / name / "report.html").read_text() for name in ("hidden", "bare")]
    assert ["Nothing of: disease." in report for report in reports] == [True, False]
    assert ["Nothing is demanded of how varied disease" in report for report in reports] == [False, True]


CYCLE = [("age", 2, "sex", 0), ("sex", 0, "town", 1), ("town", 1, "disease", 0), ("age", 2, "disease", 0)]
CYCLE_OF_FOUR = ", ".join(f"{{ {a} = {i}, {b} = {j} }}" for a, i, b, j in CYCLE)


@pytest.mark.parametrize(
    ("keys", "status", "reason"),
    [
        (f'must_publish = [{CYCLE_OF_FOUR}]\n[base]\ntable = "none"', 2, "not decomposable"),
        ("[base]\ntable = { age = 0, sex = 0, town = 0 }", 1, "base table"),
        ("must_publish = [{ age = 0, town = 0, sex = 0 }]", 1, "fewer than 4 rows"),
        ("must_publish = [{ age = 1, sex = 0 }]\nmust_not_publish = [{ sex = 0 }]", 1, "to be withheld"),
        ("must_publish = [{ age = 1, sex = 0 }]\nmax_attributes = 1", 1, "more than 1 attributes"),
        ('max_sensitive_margins = 0\n[base]\ntable = "best"', 1, "more than 0 margins"),
    ],
)
def test_what_makes_no_sense_or_may_not_be_published_ends_with_the_reason_and_writes_nothing(
    publish: Callable[..., Result], tmp_path: Path, keys: str, status: int, reason: str
) -> None:
    result = publish(keys)
    assert result.exit_code == status, result.output
    assert reason in json.loads(result.stdout)["error"]
    assert not (tmp_path / "out").exists()


@pytest.fixture(scope="module")
def census(tmp_path_factory: pytest.TempPathFactory) -> tuple[Table, Policy]:
    """A table of seven attributes, on which no search but the greedy ones ends soon."""
    folder = tmp_path_factory.mktemp("census")
    config = marginals.read_config(write_census(folder, 8_000))
    return config.read_table(), config.policy


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_search_ends_at_the_time_limit(
    census: tuple[Table, Policy], strategy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a clock that goes on by a hundredth of a second when it is looked at, as it is before each collection.

    The base table is found before; what is published is private all the same.
    """
    table, policy = census
    base = marginals.anonymize(table, policy).minimal[0]
    limited = Policy(
        policy.k_link, policy.k_combinatorial, policy.diversity, base.levels, strategy=strategy, time_limit=3.0
    )
    looks = itertools.count(1)
    monkeypatch.setattr("marginals.publishing.searching.SEARCH_CLOCK", lambda: next(looks) / 100)
    publication = marginals.publish(table, limited)
    steward = publication.steward
    assert steward.search.evaluated <= 300
    tables = len(steward.one_way.by_table) + len(steward.two_way.by_table)
    assert next(looks) <= 300 + 50 + 5 + tables, "half a second more is for the bound"
    assert shows(publication.release, table, {**base.levels, "diagnosis": 0})


@pytest.mark.parametrize("verdict", [Verdict.FAILS, Verdict.UNDECIDED])
def test_what_is_not_proven_private_at_the_end_never_takes_the_place_of_an_older_bundle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verdict: Verdict
) -> None:
    command = ["publish", write_release(tmp_path, people(), ROLES, f"[privacy]\n{DEMANDS}"), "--out"]
    assert run(*command, tmp_path / "old").exit_code == 0
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    def refused(_collection: Collection, sensitive: str, _diversity: Diversity, _budget: Budget) -> Finding:
        return Finding("maxent-diversity", verdict, {"sensitive": sensitive}, None, (), 0)

    monkeypatch.setattr("checks.maxent.maxent_diversity.maxent_diversity", refused)
    for folder in ("old", "new"):
        result = run(*command, tmp_path / folder, status=1)
        assert f"maxent-diversity (diversity distinct:2, sensitive disease): {verdict.value}" in result.stderr
        assert result.stdout == ""
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
