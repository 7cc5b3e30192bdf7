"""A ledger says what is out, to its owner alone, and notices when it was changed; few wait of those who came or left."""

import fcntl
import json
import stat
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import marginals
from command_line import output
from marginals import InputError
from marginals.errors import NothingPublishableError
from simulated_census import hospital_months
from small_release import contents

ATTRIBUTES = {
    "age": marginals.Attribute("quasi-identifier", intervals=[10, 20]),
    "sex": "quasi-identifier",
    "ill": "sensitive",
}
POLICY = marginals.Policy(k_link=5, k_combinatorial=5, diversity="distinct:2", base="none", max_waiting=1)


def people(seed: int, number: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(20, 60, number),
            "sex": rng.choice(["f", "m"], number),
            "ill": rng.choice(["flu", "gout", "none"], number),
        }
    )


FIRST = people(1, 400)


def read(frame: pd.DataFrame) -> marginals.Table:
    return marginals.read_table(frame, ATTRIBUTES)


def publish(frame: pd.DataFrame, folder: Path, out: str) -> Any:
    return marginals.publish(read(frame), POLICY, ledger=folder / "ledger").write(folder / out)


def listed(ledger: Path, *more: object) -> dict[str, Any]:
    return dict(json.loads(output("ledger", ledger, *more, "--json")))


def outs(ledger: Path) -> list[bool]:
    return [each["is_out"] for each in listed(ledger)["releases"]]


def refusal(frame: pd.DataFrame, ledger: Path, attributes: object = None) -> str:
    table = read(frame) if attributes is None else marginals.read_table(frame, attributes)  # type: ignore[arg-type]
    with pytest.raises(InputError) as refused:
        marginals.publish(table, POLICY, ledger=ledger)
    return str(refused.value)


def test_the_first_release_is_that_without_a_ledger(tmp_path: Path) -> None:
    publish(FIRST, tmp_path, "one")
    marginals.publish(read(FIRST), POLICY).write(tmp_path / "plain")
    assert contents(tmp_path / "one") == contents(tmp_path / "plain")
    assert contents(tmp_path / "one") == contents(tmp_path / "ledger" / "0001" / "release")
    assert stat.S_IMODE((tmp_path / "ledger").stat().st_mode) == 0o700
    (entry,) = listed(tmp_path / "ledger")["releases"]
    assert (entry["is_out"], entry["rows"], entry["where"]) == (True, 400, "")


@pytest.mark.parametrize("corrected", [False, True])
def test_few_changes_wait_and_are_in_no_bundle(corrected: bool, tmp_path: Path) -> None:
    """Three people leave; or a record is corrected, which is one who left and one who came."""
    publish(FIRST, tmp_path, "one")
    changed = FIRST.copy()
    changed.loc[0, "ill"] = "gout" if FIRST.loc[0, "ill"] != "gout" else "flu"
    changed = changed if corrected else FIRST.iloc[3:]
    later = publish(changed, tmp_path, "two")
    assert (later.steward.waiting.came, later.steward.waiting.left) == ((1, 1) if corrected else (0, 3))
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    marginals.publish(read(changed), POLICY).write(tmp_path / "alone")
    assert not marginals.verify(tmp_path / "one", tmp_path / "alone").ok, "what the ledger has spared"


def test_many_people_who_come_are_shown(tmp_path: Path) -> None:
    publish(FIRST, tmp_path, "one")
    later = publish(pd.concat([FIRST, people(2, 600)]), tmp_path, "two")
    assert later.release.model.total > 900
    assert later.steward.waiting.came == 1000 - later.release.model.total
    assert marginals.verify(tmp_path / "one", tmp_path / "two").ok
    told = listed(tmp_path / "ledger")
    assert [each["rows"] for each in told["releases"]] == [400, later.release.model.total]
    (pair,) = told["pairs"]
    assert (pair["ok"], pair["came"]) == (True, later.release.model.total - 400)
    assert "1 and 2" in output("ledger", tmp_path / "ledger")


def test_values_that_the_first_release_did_not_know_are_told_and_wait(tmp_path: Path) -> None:
    publish(FIRST, tmp_path, "one")
    new = people(3, 300).assign(ill="gout or worse")
    later = publish(pd.concat([FIRST, new]), tmp_path, "two")
    assert later.steward.waiting.unknown == 300
    assert later.release.model.total == 400


def test_with_turnover_known_as_many_come_as_leave_and_the_bundles_say_so(tmp_path: Path) -> None:
    """A third release for readers who may not know of it keeps the differences from both large, or is refused."""
    known = replace(POLICY, turnover="known", max_attributes=1)
    releases = {}
    later = pd.concat([FIRST.iloc[200:], people(2, 203)])
    for name, frame, policy in (
        ("one", FIRST, known),
        ("two", later, known),
        ("strict", later, replace(known, turnover="unknown")),
    ):
        made = marginals.publish(read(frame), policy, ledger=tmp_path / f"ledger-{name == 'strict'}")
        releases[name] = made.write(tmp_path / name)
    assert releases["two"].steward.waiting.came < 40
    stated = [json.loads((tmp_path / name / "datapackage.json").read_text())["release"] for name in releases]
    assert [each.get("turnover") for each in stated] == ["known", "known", None]
    told = listed(tmp_path / "ledger-False")
    (pair,) = told["pairs"]
    assert pair["ok"]
    assert abs(pair["smallest_difference"]) < 5
    assert [each["turnover_known"] for each in [*told["releases"], pair]] == [True] * 3
    assert marginals.verify(tmp_path / "one", tmp_path / "two").checks[-1].verdict.value == "undecided"
    with pytest.raises(NothingPublishableError, match="beside release 1"):
        marginals.publish(read(later), replace(known, turnover="unknown"), ledger=tmp_path / "ledger-False")
    assert output("ledger", tmp_path / "ledger-False").count("turnover known") == 2
    assert marginals.attack(tmp_path / "one", tmp_path / "two").changes[0].assumption
    reports = {name: (tmp_path / name / "report.html").read_text() for name in releases}
    assert ["readers who know that people come and go" in page for page in reports.values()] == [True, True, False]


def test_turnover_is_known_of_two_releases_where_both_say_so(tmp_path: Path) -> None:
    """Readers of the first release may not know of it, so that none of its 200 who left, and of 203 who came, are told."""
    for frame, turnover in ((FIRST, "unknown"), (pd.concat([FIRST.iloc[200:], people(2, 203)]), "known")):
        policy = replace(POLICY, turnover=turnover, max_attributes=1)
        marginals.publish(read(frame), policy, ledger=tmp_path / "ledger").write(tmp_path / turnover)
    (pair,) = listed(tmp_path / "ledger")["pairs"]
    assert (pair["ok"], pair["turnover_known"]) == (True, False)
    assert not 0 < abs(pair["smallest_difference"] or 0) < 5


def _an_older_head(ledger: Path) -> None:
    first = json.loads((ledger / "0002" / "entry.json").read_text())["previous"]
    (ledger / "head.json").write_text(json.dumps({"number": 1, "entry": first}))


def _another_last_entry(ledger: Path) -> None:
    entry = ledger / "0002" / "entry.json"
    entry.write_text(json.dumps(json.loads(entry.read_text()) | {"k": 1}))


def _written(name: str, text: str) -> Callable[[Path], object]:
    return lambda ledger: (ledger / name).write_text(text)


def _taken_away(name: str) -> Callable[[Path], object]:
    return lambda ledger: (ledger / name).rename(ledger / "gone")


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (_written("0001/cells.csv", "0,1,2,count\n0,0,0,9\n"), "0001/cells.csv is not what"),
        (lambda ledger: (ledger / "0002" / "entry.json").unlink(), "0002/entry.json is missing"),
        (_written("0001/entry.json", "{}"), "0001 cannot be understood"),
        (lambda ledger: (ledger / "head.json").unlink(), "no head.json"),
        (_taken_away("0001"), "an entry was taken away: there are 0, and head.json"),
        (_taken_away("0002"), "an entry was taken away: there are 1, and head.json"),
        (_an_older_head, "head.json is older than the entries: there are 2, and head.json speaks of 1"),
        (_written("head.json", '{"number": "2"}'), "head.json cannot be understood"),
        (_written("head.json", '{"number": true, "entry": "x"}'), "head.json cannot be under"),
        (_written("head.json", '{"number": 0, "entry": null}'), "head.json is older than the"),
        (_another_last_entry, "0002/entry.json is not what was written"),
        (lambda ledger: ledger.chmod(0o755), "chmod 700"),
    ],
)
def test_a_ledger_that_was_changed_is_refused(damage: object, said: str, tmp_path: Path) -> None:
    publish(FIRST, tmp_path, "one")
    publish(FIRST.iloc[3:], tmp_path, "two")
    damage(tmp_path / "ledger")  # type: ignore[operator]
    refused = refusal(FIRST, tmp_path / "ledger")
    assert said in refused
    assert "restore it from a copy" in refused or "chmod 700" in refused


def test_other_folders_are_no_ledgers(tmp_path: Path) -> None:
    (tmp_path / "diary.txt").write_text("dear diary")
    assert "holds other things than a ledger" in refusal(FIRST, tmp_path)
    assert "is a file" in refusal(FIRST, tmp_path / "diary.txt")


def test_a_release_is_entered_by_its_publication_alone_and_of_two_made_at_once_one(tmp_path: Path) -> None:
    one, other = (marginals.publish(read(FIRST), POLICY, ledger=tmp_path / "ledger") for _ in range(2))
    with pytest.raises(InputError, match="written by its publication, which enters it"):
        one.release.write(tmp_path / "one")
    (tmp_path / "ledger").mkdir(mode=0o700)
    with (tmp_path / "ledger" / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(InputError, match="another process is writing"):
            one.write(tmp_path / "one")
    assert not (tmp_path / "one").exists()
    one.write(tmp_path / "one")
    with pytest.raises(InputError, match="has another release since"):
        other.write(tmp_path / "two")
    assert not (tmp_path / "two").exists()
    assert outs(tmp_path / "ledger") == [True]


def _fail(*_: object) -> None:
    raise OSError(28, "No space left on device")


def test_a_release_that_cannot_be_written_leaves_no_entry(tmp_path: Path) -> None:
    publish(FIRST, tmp_path, "one")
    before = contents(tmp_path / "ledger")
    made = marginals.publish(read(FIRST.iloc[3:]), POLICY, ledger=tmp_path / "ledger")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("marginals.bundle.writing.replace_folder", _fail)
        with pytest.raises(InputError, match="No space left"):
            made.write(tmp_path / "two")
    assert contents(tmp_path / "ledger") == before
    made.write(tmp_path / "two")
    assert outs(tmp_path / "ledger") == [True, True]


def test_a_policy_that_demands_more_publishes_coarser_margins_and_says_which(tmp_path: Path) -> None:
    first = publish(FIRST, tmp_path, "one")
    strict = replace(POLICY, must_not_publish=[{"sex": 0}])
    later = marginals.publish(read(FIRST), strict, ledger=tmp_path / "ledger")
    assert any("sex" in margin for margin in first.release.published.everything.margins)
    assert not any("sex" in margin for margin in later.release.published.everything.margins)
    assert later.steward.waiting.coarsened


def test_the_command_says_who_waits_and_keeps_the_ledger_apart(tmp_path: Path) -> None:
    FIRST.to_csv(tmp_path / "people.csv", index=False)
    config = tmp_path / "release.toml"
    config.write_text(
        "[data]\npath = 'people.csv'\n[attributes.age]\nrole = 'quasi-identifier'\nintervals = [10, 20]\n"
        "[attributes.sex]\nrole = 'quasi-identifier'\n[attributes.ill]\nrole = 'sensitive'\n"
        "[privacy]\nk_link = 5\ndiversity = 'none'\n[base]\ntable = 'none'\n"
    )

    def published(out: str, ledger: str, *more: str, status: int = 0) -> str:
        return output("publish", config, "--out", tmp_path / out, "--ledger", tmp_path / ledger, *more, status=status)

    published("one", "ledger")
    FIRST.iloc[3:].to_csv(tmp_path / "people.csv", index=False)
    assert "0 added rows and 3 removed rows" in published("two", "ledger")
    told = json.loads(published("three", "ledger", "--json"))
    assert told["ledger"]["waiting"] == {"came": 0, "left": 3, "unknown": 0}
    assert "lies in the ledger" in published("ledger/four", "ledger", status=2)
    assert "lies in the release" in published("one", "one/ledger", status=2)
    output("ledger", tmp_path / "none", status=2)


def interrupted(frame: pd.DataFrame, folder: Path, out: str) -> None:
    """Begin a release beside a ledger, and end as if the power had gone: nothing is taken back."""
    made = marginals.publish(read(frame), POLICY, ledger=folder / "ledger")
    with pytest.MonkeyPatch.context() as patched, suppress(InputError):
        patched.setattr("marginals.ledger.Ledger._taken_back", lambda *_: None)
        patched.setattr("marginals.bundle.writing.replace_folder", _fail)
        made.write(folder / out)


def test_an_interrupted_entry_counts_until_it_is_settled(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    publish(FIRST, tmp_path, "one")
    interrupted(FIRST.iloc[3:], tmp_path, "two")
    assert outs(ledger) == [True, False]
    assert "--settle 2 not-out" in output("ledger", ledger)
    next_one = marginals.publish(read(FIRST.iloc[3:]), POLICY, ledger=ledger)
    assert next_one.steward.waiting.releases == 2
    assert len(listed(ledger, "--settle", "2", "not-out")["releases"]) == 1
    assert outs(ledger) == [True]
    assert json.loads((ledger / "head.json").read_text())["number"] == 1
    with pytest.raises(InputError, match="has another release since"):
        next_one.write(tmp_path / "three")
    publish(FIRST.iloc[3:], tmp_path, "three")
    assert "release 2 of the ledger" in output("ledger", ledger, "--settle", "2", "not-out", status=2)


def test_what_stands_in_its_folder_is_not_settled_as_never_out(tmp_path: Path) -> None:
    publish(FIRST, tmp_path, "one")
    publish(FIRST.iloc[3:], tmp_path, "two")
    (tmp_path / "ledger" / "0002-out.json").unlink()
    assert outs(tmp_path / "ledger") == [True, False]
    assert "release 2 stands in" in output("ledger", tmp_path / "ledger", "--settle", "2", "not-out", status=2)
    listed(tmp_path / "ledger", "--settle", "2", "out")
    assert outs(tmp_path / "ledger") == [True, True]


def test_what_others_were_made_beside_counts_for_good(tmp_path: Path) -> None:
    publish(FIRST, tmp_path, "one")
    interrupted(FIRST.iloc[3:], tmp_path, "two")
    publish(FIRST.iloc[3:], tmp_path, "three")
    assert outs(tmp_path / "ledger") == [True, False, True]
    assert "release 2 counts for good" in output("ledger", tmp_path / "ledger", "--settle", "2", "not-out", status=2)
    listed(tmp_path / "ledger", "--settle", "2", "out")
    assert outs(tmp_path / "ledger") == [True, True, True]


def test_an_entry_that_is_not_what_was_written_is_no_ground_for_a_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from importlib import import_module

    publish(FIRST, tmp_path, "one")
    before = contents(tmp_path / "ledger")
    made = marginals.publish(read(FIRST.iloc[3:]), POLICY, ledger=tmp_path / "ledger")
    replace_folder = import_module("marginals.ledger").replace_folder

    def cut_off(folder: Path, files: dict[str, bytes], *rest: object) -> None:
        replace_folder(folder, {**files, "cells.csv": files["cells.csv"][:-5]}, *rest)

    monkeypatch.setattr("marginals.ledger.replace_folder", cut_off)
    with pytest.raises(InputError, match="is not what was written"):
        made.write(tmp_path / "two")
    assert not (tmp_path / "two").exists()
    assert contents(tmp_path / "ledger") == before


PATIENTS = {
    "age": marginals.Attribute("quasi-identifier", intervals=[5, 10, 20]),
    "sex": "quasi-identifier",
    "diagnosis": "sensitive",
}
FEW = marginals.Policy(k_link=10, diversity="distinct:3", base="none", turnover="known")


@pytest.fixture(scope="module")
def hospital() -> marginals.Table:
    """2,000 patients of the simulated hospital, in its first month."""
    (patients,) = hospital_months(2_000, 1)
    return marginals.read_table(patients[list(PATIENTS)], PATIENTS)


def test_about_as_many_wait_as_the_first_release_foresees(tmp_path: Path) -> None:
    """Twelve months of 6,000 patients: at the most a few percent more than the tenth that the policy allows."""
    waiting = []
    for number, patients in enumerate(hospital_months(6_000, 12)):
        table = marginals.read_table(patients[list(PATIENTS)], PATIENTS)
        made = marginals.publish(table, FEW, ledger=tmp_path / "ledger").write(tmp_path / f"{number}")
        told = made.steward.waiting
        waiting.append((told.came + told.left) / len(patients))
    assert max(waiting) < 0.15
    assert min(waiting[6:]) < max(waiting) - 0.02, "somebody is shown"


def test_the_limit_makes_the_first_release_of_a_ledger_coarser_and_no_other(
    hospital: marginals.Table, tmp_path: Path
) -> None:
    table, policy = hospital, replace(FEW, turnover="unknown")
    plain = marginals.publish(table, policy).release
    free = marginals.publish(table, replace(policy, max_waiting=1), ledger=tmp_path / "free").release
    few = marginals.publish(table, policy, ledger=tmp_path / "few").release
    assert free.published.everything.margins == plain.published.everything.margins != few.published.everything.margins
    assert few.model.information < plain.model.information
    with pytest.raises(NothingPublishableError, match=r"more than 0\.1 percent"):
        marginals.publish(table, replace(policy, max_waiting=0.001), ledger=tmp_path / "none")
