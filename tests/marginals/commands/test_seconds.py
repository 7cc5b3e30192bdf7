"""Commands that can answer with what is proven by then have --seconds."""

import json
import time
from itertools import combinations, count
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import marginals
from checks import KCombinatorial, KLink
from command_line import main, run
from marginals.example import table
from models import Deadline
from small_release import write_config
from written_bundles import write_margins

OVER = Deadline(0.0)


def endless(*_: object, **__: object) -> None:
    while True:
        sum(range(1000))


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of all pairs of four attributes, which has no junction tree and needs programs and fitting."""
    rng, names = np.random.default_rng(0), "abcs"
    frame = pd.DataFrame({name: rng.integers(3, size=200).astype(str) for name in names})
    roles = dict.fromkeys("abc", "quasi-identifier") | {"s": "sensitive"}
    margins = [dict.fromkeys(pair, 0) for pair in combinations(names, 2)]
    claims = (KLink(1), KCombinatorial(1))
    return write_margins(
        marginals.read_table(frame, roles), margins, tmp_path_factory.mktemp("pairs") / "release", claims
    )


@pytest.fixture
def over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("marginals.commands.options.within", lambda _: OVER)


def test_commands_that_answer_with_what_is_proven_have_seconds() -> None:
    seconds = {
        name: option.default
        for name, command in main.commands.items()
        for option in command.params
        if option.name == "seconds"
    }
    assert seconds == {"publish": None, "verify": 60.0, "attack": 20.0, "query": 10.0, "audit": 60.0}
    assert all(run(name, "--seconds", "0").exit_code == 2 for name in main.commands)
    assert "timeout 60 marginals" in run("assess", "release.toml", "--seconds", "5").output


@pytest.mark.usefixtures("over")
def test_what_is_not_verified_in_time_is_undecided(pairs: Path) -> None:
    result = run("verify", pairs, "--json", status=1)
    verdicts = {check["criterion"]: check["verdict"] for check in json.loads(result.stdout)["checks"]}
    assert verdicts == {"integrity": "holds", "k-link": "holds", "k-combinatorial": "undecided", "report": "undecided"}


@pytest.mark.usefixtures("over")
def test_a_query_answers_with_the_bounds_known_by_then(pairs: Path) -> None:
    result = run("query", pairs, "a=0", "b=1", "c=2", "--json", status=0)
    cut = json.loads(result.stdout)
    whole = marginals.open_release(pairs).count(["a=0", "b=1", "c=2"], seconds=10)
    assert (cut["value"], cut["kind"]) == (None, "none")
    assert cut["lower"] <= whole.lower <= whole.upper <= cut["upper"]
    assert not cut["sharp"]
    whole = json.loads(run("query", pairs, "--json").stdout)
    assert (whole["lower"], whole["upper"], whole["exact"]) == (200, 200, True)


@pytest.mark.usefixtures("over")
def test_a_report_and_an_attack_leave_out_what_is_not_known_by_then(pairs: Path, tmp_path: Path) -> None:
    assert run("verify", pairs, "--report", tmp_path / "report.html").exit_code == 1
    assert "time was over" in (tmp_path / "report.html").read_text(encoding="utf-8")
    result = run("attack", pairs, "--json", status=1)
    assert "guesses of sensitive values" in json.loads(result.stdout)["unmeasured"]


def test_python_has_seconds_too(pairs: Path) -> None:
    assert marginals.verify(pairs, seconds=100).ok
    late = marginals.verify(pairs, seconds=OVER)
    assert [str(finding).split(": ")[1] for finding in late.checks] == ["holds", "holds", "undecided", "undecided"]
    with pytest.raises(marginals.errors.InputError, match="seconds"):
        marginals.verify(pairs, seconds=-1)
    with pytest.raises(marginals.errors.TimeOverError):
        marginals.open_release(pairs, OVER).table({"a": 0, "b": 0, "c": 0})


@pytest.mark.parametrize(
    ("work", "arguments"), [("open_release", ("query", "release")), ("verify", ("verify", "release"))]
)
def test_what_does_not_end_is_stopped(
    work: str, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, pairs: Path
) -> None:
    monkeypatch.chdir(pairs.parent)
    monkeypatch.setattr(marginals, work, endless)
    result = run(*arguments, "--seconds", "0.1", "--json", status=2)
    said = json.loads(result.stdout)["error"]
    assert "0.1 seconds" in said
    assert result.stderr == f"Error: {said}\n"


@pytest.mark.parametrize("by", [marginals.errors.TimeOverError, KeyboardInterrupt])
@pytest.mark.parametrize("late", ["disclosure_measures", "certainties"])
def test_an_attack_that_is_stopped_tells_what_it_has(
    late: str, by: type[BaseException], monkeypatch: pytest.MonkeyPatch, pairs: Path
) -> None:
    def stopped(*_: object) -> None:
        raise by("as the alarm of --seconds does, or Ctrl-C")

    monkeypatch.setattr(f"marginals.attacks.{late}", stopped)
    result = run("attack", pairs, status=1)
    assert "Published as they are:" in result.stdout
    assert "what is certain: not examined (time was over)." in result.stdout
    assert ("guesses of sensitive values: not examined" in result.stdout) == (late == "disclosure_measures")
    told = json.loads(run("attack", pairs, "--json").stdout)
    assert told["unmeasured"][-1] == "what is certain"
    assert told["published"]


def test_an_attack_ends_soon_after_its_time_and_with_what_it_has(monkeypatch: pytest.MonkeyPatch, pairs: Path) -> None:
    monkeypatch.setattr("marginals.attacks.certainties", endless)
    begun = time.monotonic()
    result = run("attack", pairs, "--seconds", "2")
    assert time.monotonic() - begun < 4
    assert (result.exit_code, result.stderr) == (1, "")
    assert "what is certain: not examined (time was over)." in result.stdout


def test_publish_without_time_gives_what_is_verified_or_names_what_the_time_ended() -> None:
    """The last verification is never cut; it was, and what the search had found was refused as unproven."""
    looked = count()
    over = Deadline(0.0, lambda: float(next(looked)))
    release = marginals.publish(
        table, marginals.Policy(k_link=4, diversity="distinct:2", base="none"), seconds=over
    ).release
    assert release.verify().ok
    with pytest.raises(marginals.errors.NothingPublishableError, match="before the base table was found"):
        marginals.publish(table, marginals.Policy(k_link=4, diversity="distinct:2", base="best"), seconds=over)


@pytest.mark.parametrize(
    ("ended", "phase"),
    [
        ("config.release_toml.Config.read_table", "reading"),
        ("publishing.publishing.prepare", "preparation"),
        ("publishing.searching.with_bound", "search"),
    ],
)
@pytest.mark.parametrize("given", [["--seconds", "0.5"], []])
def test_what_the_time_ends_is_named_and_nothing_is_written(
    given: list[str], ended: str, phase: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config = write_config(tmp_path)
    monkeypatch.setattr(f"marginals.{ended}", endless)
    monkeypatch.setattr("marginals.commands.releases._LEAST_SECONDS", 0.5)
    monkeypatch.setattr("marginals.commands.releases._TIMES", 0)
    result = run("publish", config, "--out", tmp_path / "out", *given, "--json", status=2)
    said = json.loads(result.stdout)["error"]
    assert f"over during the {phase}, so nothing was written" in said
    assert given or said.endswith('set it higher, or write role = "ignored" for some columns')
    assert not list(tmp_path.glob("out*"))


@pytest.mark.parametrize(("reading", "left"), [(0, 5.0), (4, 3.0), (12, 0.0)])
def test_the_search_has_half_of_what_reading_leaves_of_the_limit(
    reading: int, left: float, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It had all of the limit, so that a table that is slow to read was refused during the search."""
    config = write_config(tmp_path)
    config.write_text(config.read_text() + "\n[search]\ntime_limit = 5\n")
    read_table, publish, clock, limits = marginals.config.release_toml.Config.read_table, marginals.publish, [0.0], []

    def read_slowly(config: marginals.config.release_toml.Config) -> marginals.Table:
        clock[0] += reading
        return read_table(config)

    def recorded(table: marginals.Table, policy: marginals.Policy, *others: Any) -> Any:
        limits.append(policy.time_limit)
        return publish(table, policy, *others)

    monkeypatch.setattr("marginals.config.release_toml.Config.read_table", read_slowly)
    monkeypatch.setattr("marginals.commands.releases.SEARCH_CLOCK", lambda: clock[0])
    monkeypatch.setattr(marginals, "publish", recorded)
    result = run("publish", config, "--out", tmp_path / "out")
    assert limits == [left]
    assert result.exit_code == 0 or (not left and "over during the search" in result.stderr)


def test_the_seconds_of_each_phase_are_in_the_json(tmp_path: Path) -> None:
    told = json.loads(run("publish", write_config(tmp_path), "--out", tmp_path / "out", "--json", status=0).stdout)
    assert {"reading", "preparation", "search", "verification", "steward's page", "writing"} <= set(told["seconds"])
    assert all(seconds >= 0 for seconds in told["seconds"].values())


def test_the_last_verification_and_the_writing_are_never_cut(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    config, verify = write_config(tmp_path), marginals.publishing.publishing.verify

    def slow(*arguments: Any) -> None:
        time.sleep(1.5)
        verify(*arguments)

    monkeypatch.setattr("marginals.publishing.publishing.verify", slow)
    run("publish", config, "--out", tmp_path / "out", "--seconds", "1", status=0)
    assert marginals.verify(tmp_path / "out").ok
