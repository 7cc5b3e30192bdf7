"""A ledger says what is out, to its owner alone, and notices when it was changed."""

import json
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import marginals
from command_line import main
from marginals import InputError
from marginals import ledger as ledgers
from marginals.bundle.verification import BadFile
from marginals.files import held, replace_folder
from marginals.ledger import Ledger, entry_line, pairs
from marginals.publishing.publishing import Publication
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


def publish(frame: pd.DataFrame, folder: Path, out: str) -> Publication:
    return marginals.publish(read(frame), POLICY, ledger=folder / "ledger").write(folder / out)


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
    ledger = Ledger.read(tmp_path / "ledger")
    assert [entry.is_out for entry in ledger.entries] == [True]
    assert ledger.entries[0].table.total == 400


def test_three_people_who_leave_wait_and_are_in_no_bundle(tmp_path: Path) -> None:
    publish(FIRST, tmp_path, "one")
    later = publish(FIRST.iloc[3:], tmp_path, "two")
    assert later.steward.waiting is not None
    assert (later.steward.waiting.came, later.steward.waiting.left) == (0, 3)
    page = later.steward.page(later.steward).decode()
    assert "0 added rows and 3 removed rows cannot be shown yet" in page
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    marginals.publish(read(FIRST.iloc[3:]), POLICY).write(tmp_path / "alone")
    assert not marginals.verify(tmp_path / "one", tmp_path / "alone").ok, "what the ledger has spared"


def test_many_people_who_come_are_shown(tmp_path: Path) -> None:
    publish(FIRST, tmp_path, "one")
    later = publish(pd.concat([FIRST, people(2, 600)]), tmp_path, "two")
    assert later.release.rows > 900
    assert later.steward.waiting is not None
    assert later.steward.waiting.came == 1000 - later.release.rows
    assert marginals.verify(tmp_path / "one", tmp_path / "two").ok
    (pair,) = pairs(Ledger.read(tmp_path / "ledger"))
    assert pair.ok
    assert pair.came == later.release.rows - 400
    answer = CliRunner().invoke(main, ["ledger", str(tmp_path / "ledger")])
    assert answer.exit_code == 0, answer.output
    assert "1 and 2" in answer.output
    assert "the claims hold for their differences" in answer.output
    told = json.loads(CliRunner().invoke(main, ["ledger", str(tmp_path / "ledger"), "--json"]).output)
    assert [each["rows"] for each in told["releases"]] == [400, later.release.rows]
    assert told["pairs"][0]["ok"]


def test_a_corrected_record_is_one_who_left_and_one_who_came(tmp_path: Path) -> None:
    publish(FIRST, tmp_path, "one")
    corrected = FIRST.copy()
    corrected.loc[0, "ill"] = "gout" if FIRST.loc[0, "ill"] != "gout" else "flu"
    later = publish(corrected, tmp_path, "two")
    assert later.steward.waiting is not None
    assert (later.steward.waiting.came, later.steward.waiting.left) == (1, 1)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_of_a_table_that_was_rebuilt_only_what_is_safe_is_shown(tmp_path: Path) -> None:
    """All rows are new: many of them in a table of many, of a small one nearly none."""
    publish(FIRST, tmp_path, "one")
    for name, rebuilt in (("two", people(7, 2000)), ("three", people(8, 30))):
        later = publish(rebuilt, tmp_path, name)
        assert later.steward.waiting is not None
        assert later.steward.waiting.left > 0
    told = list(pairs(Ledger.read(tmp_path / "ledger")))
    assert all(pair.ok for pair in told)
    assert any(pair.came or pair.left for pair in told)
    assert marginals.verify(*(tmp_path / name for name in ("one", "two", "three"))).ok


def test_values_that_the_first_release_did_not_know_are_told_and_wait(tmp_path: Path) -> None:
    publish(FIRST, tmp_path, "one")
    new = people(3, 300).assign(ill="gout or worse")
    later = publish(pd.concat([FIRST, new]), tmp_path, "two")
    assert later.steward.waiting is not None
    assert later.steward.waiting.unknown == 300
    assert later.release.rows == 400


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
    assert releases["two"].steward.waiting is not None
    assert releases["two"].steward.waiting.came < 40
    stated = [json.loads((tmp_path / name / "datapackage.json").read_text())["release"] for name in releases]
    assert [each.get("turnover") for each in stated] == ["known", "known", None]
    ledger = Ledger.read(tmp_path / "ledger-False")
    (pair,) = pairs(ledger)
    assert pair.ok
    assert pair.smallest is not None
    assert abs(pair.smallest) < 5
    assert marginals.verify(tmp_path / "one", tmp_path / "two").checks[-1].verdict.value == "undecided"
    with pytest.raises(marginals.NothingPublishableError, match="beside release 1"):
        marginals.publish(read(later), replace(known, turnover="unknown"), ledger=tmp_path / "ledger-False")
    listed = CliRunner().invoke(main, ["ledger", str(tmp_path / "ledger-False")]).output
    assert listed.count("; turnover known") == 2
    assert "since both say that turnover is known" in listed
    plain = json.loads(CliRunner().invoke(main, ["ledger", str(tmp_path / "ledger-False"), "--json"]).output)
    assert [each["turnover_known"] for each in [*plain["releases"], *plain["pairs"]]] == [True] * 3
    attacked = CliRunner().invoke(main, ["attack", str(tmp_path / "one"), str(tmp_path / "two")]).output
    assert "at least 5 came and at least 5 left" in attacked
    assert marginals.attack(tmp_path / "one", tmp_path / "two").as_json()["changes"][0]["assumption"]
    reports = {name: (tmp_path / name / "report.html").read_text() for name in releases}
    assert ["readers who know that people come and go" in page for page in reports.values()] == [True, True, False]


def test_turnover_is_about_ledgers_alone(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="publish with --ledger"):
        marginals.publish(read(FIRST), replace(POLICY, turnover="known"))
    with pytest.raises(InputError, match='turnover is "known" or "unknown"'):
        replace(POLICY, turnover="yes")
    publish(FIRST, tmp_path, "one")
    file = tmp_path / "one" / "datapackage.json"
    stated = json.loads(file.read_text())
    stated["release"]["turnover"] = "maybe"
    file.write_text(json.dumps(stated))
    assert isinstance(worst := marginals.verify(tmp_path / "one").checks[0].worst, BadFile)
    assert "release.turnover" in worst.problem


def test_a_retracted_release_counts_as_before(tmp_path: Path) -> None:
    publish(FIRST, tmp_path, "one")
    folder = str(tmp_path / "ledger")
    answer = CliRunner().invoke(main, ["ledger", folder, "--retract", "1"])
    assert answer.exit_code == 0
    assert "retracted" in answer.output
    later = publish(FIRST.iloc[3:], tmp_path, "two")
    assert later.release.rows == 400
    answer = CliRunner().invoke(main, ["ledger", folder, "--retract", "7"])
    assert answer.exit_code == 2
    assert "has no release 7; its releases are 1 to 2" in answer.output


def test_a_ledger_of_another_table_is_refused_by_name(tmp_path: Path) -> None:
    publish(FIRST, tmp_path, "one")
    ledger = tmp_path / "ledger"
    assert "no attribute 'sex'" in refusal(FIRST, ledger, {k: v for k, v in ATTRIBUTES.items() if k != "sex"})
    other = {**ATTRIBUTES, "age": marginals.Attribute("quasi-identifier", intervals=[5, 20])}
    assert "the hierarchy of 'age' is not that of the ledger" in refusal(FIRST, ledger, other)
    assert "'sex' is sensitive here, and quasi-identifier in the ledger" in refusal(
        FIRST, ledger, {**ATTRIBUTES, "sex": "sensitive"}
    )
    more = FIRST.assign(town="Ulm")
    assert "'town' is not among them" in refusal(more, ledger, {**ATTRIBUTES, "town": "quasi-identifier"})
    with pytest.raises(InputError, match="does not say k"):
        marginals.publish(read(FIRST), marginals.Policy(diversity="distinct:2", base="none"), ledger=ledger)


def _an_older_head(ledger: Path) -> None:
    first = json.loads((ledger / "0002" / "entry.json").read_text())["previous"]
    (ledger / "head.json").write_text(json.dumps({"number": 1, "entry": first}))


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (
            lambda ledger: (ledger / "0001" / "cells.csv").write_text("0,1,2,count\n0,0,0,9\n"),
            "0001/cells.csv is not what",
        ),
        (lambda ledger: (ledger / "0002" / "entry.json").unlink(), "0002/entry.json is missing"),
        (lambda ledger: (ledger / "0001" / "entry.json").write_text("{}"), "0001 cannot be understood"),
        (
            lambda ledger: (ledger / "head.json").unlink(),
            "it has entries, and no head.json that tells which is the last",
        ),
        (
            lambda ledger: (ledger / "0001").rename(ledger / "gone"),
            "an entry was taken away: there are 0, and head.json",
        ),
        (
            lambda ledger: (ledger / "0002").rename(ledger / "gone"),
            "an entry was taken away: there are 1, and head.json",
        ),
        (_an_older_head, "head.json is older than the entries: there are 2, and head.json speaks of 1"),
        (lambda ledger: (ledger / "head.json").write_text('{"number": "2"}'), "head.json cannot be understood"),
        (
            lambda ledger: (ledger / "head.json").write_text('{"number": true, "entry": "x"}'),
            "head.json cannot be under",
        ),
        (
            lambda ledger: (ledger / "head.json").write_text('{"number": 0, "entry": null}'),
            "head.json is older than the",
        ),
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


def test_the_last_entry_cannot_be_exchanged(tmp_path: Path) -> None:
    publish(FIRST, tmp_path, "one")
    entry = tmp_path / "ledger" / "0001" / "entry.json"
    entry.write_text(json.dumps(json.loads(entry.read_text()) | {"k": 1}))
    assert "0001/entry.json is not what was written" in refusal(FIRST, tmp_path / "ledger")


def test_other_folders_are_no_ledgers(tmp_path: Path) -> None:
    (tmp_path / "diary.txt").write_text("dear diary")
    assert "holds other things than a ledger" in refusal(FIRST, tmp_path)
    assert "is a file" in refusal(FIRST, tmp_path / "diary.txt")


def test_of_two_releases_made_at_once_the_second_is_refused(tmp_path: Path) -> None:
    one, other = (marginals.publish(read(FIRST), POLICY, ledger=tmp_path / "ledger") for _ in range(2))
    one.write(tmp_path / "one")
    with pytest.raises(InputError, match="has another release since this one was made"):
        other.write(tmp_path / "two")
    assert not (tmp_path / "two").exists()
    assert len(Ledger.read(tmp_path / "ledger").entries) == 1


def test_a_release_is_not_written_past_its_ledger(tmp_path: Path) -> None:
    made = marginals.publish(read(FIRST), POLICY, ledger=tmp_path / "ledger")
    with pytest.raises(InputError, match="written by its publication, which enters it"):
        made.release.write(tmp_path / "one")
    assert not (tmp_path / "one").exists()
    made.write(tmp_path / "one")
    assert len(Ledger.read(tmp_path / "ledger").entries) == 1


def test_while_another_process_writes_nothing_is_written(tmp_path: Path) -> None:
    made = marginals.publish(read(FIRST), POLICY, ledger=tmp_path / "ledger")
    (tmp_path / "ledger").mkdir(mode=0o700)
    with held(tmp_path / "ledger" / "lock", "taken"), pytest.raises(InputError, match="another process is writing"):
        made.write(tmp_path / "one")
    assert not (tmp_path / "one").exists()
    made.write(tmp_path / "one")


def test_a_release_that_cannot_be_written_leaves_no_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(FIRST, tmp_path, "one")
    before = contents(tmp_path / "ledger")
    made = marginals.publish(read(FIRST.iloc[3:]), POLICY, ledger=tmp_path / "ledger")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("marginals.bundle.writing.replace_folder", full)
    with pytest.raises(InputError, match="No space left"):
        made.write(tmp_path / "two")
    assert contents(tmp_path / "ledger") == before
    monkeypatch.undo()
    made.write(tmp_path / "two")
    assert len(Ledger.read(tmp_path / "ledger").entries) == 2


def test_a_demand_that_an_earlier_pair_cannot_meet_is_refused(tmp_path: Path) -> None:
    publish(FIRST, tmp_path, "one")
    publish(pd.concat([FIRST, people(2, 600)]), tmp_path, "two")
    strict = replace(POLICY, k_link=200, k_combinatorial=200, diversity="none")
    with pytest.raises(marginals.NothingPublishableError, match=r"beside release 1 of the ledger|no marginal"):
        marginals.publish(read(FIRST), strict, ledger=tmp_path / "ledger")


def test_a_policy_that_demands_more_publishes_coarser_margins_and_says_which(tmp_path: Path) -> None:
    first = publish(FIRST, tmp_path, "one")
    strict = replace(POLICY, must_not_publish=[{"sex": 0}])
    later = marginals.publish(read(FIRST), strict, ledger=tmp_path / "ledger")
    assert any("sex" in margin for margin in first.release.margins)
    assert not any("sex" in margin for margin in later.release.margins)
    assert later.steward.waiting is not None
    assert later.steward.waiting.coarsened


@pytest.mark.slow
def test_the_command_says_who_waits_and_keeps_the_ledger_apart(tmp_path: Path) -> None:
    FIRST.to_csv(tmp_path / "people.csv", index=False)
    config = tmp_path / "release.toml"
    config.write_text(
        "[data]\npath = 'people.csv'\n[attributes.age]\nrole = 'quasi-identifier'\nintervals = [10, 20]\n"
        "[attributes.sex]\nrole = 'quasi-identifier'\n[attributes.ill]\nrole = 'sensitive'\n"
        "[privacy]\nk_link = 5\ndiversity = 'none'\n[base]\ntable = 'none'\n"
    )

    def run(out: str, ledger: str, *more: str) -> "tuple[int, str]":
        arguments = ["publish", str(config), "--out", str(tmp_path / out), "--ledger", str(tmp_path / ledger), *more]
        answer = CliRunner().invoke(main, arguments)
        return answer.exit_code, answer.output

    assert run("one", "ledger")[0] == 0
    FIRST.iloc[3:].to_csv(tmp_path / "people.csv", index=False)
    code, said = run("two", "ledger")
    assert code == 0
    assert "0 added rows and 3 removed rows cannot be shown yet: they wait" in said
    code, said = run("three", "ledger", "--json")
    assert json.loads(said)["ledger"]["waiting"] == {"came": 0, "left": 3, "unknown": 0}
    assert "lies in the ledger" in run("ledger/four", "ledger")[1]
    assert "lies in the release" in run("one", "one/ledger")[1]
    assert CliRunner().invoke(main, ["ledger", str(tmp_path / "none")]).exit_code == 2


def interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, placed: bool) -> Ledger:
    """A ledger with two releases, the second of which was being written as the power went."""
    publish(FIRST, tmp_path, "one")
    made = marginals.publish(read(FIRST.iloc[3:]), POLICY, ledger=tmp_path / "ledger")
    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "_taken_back", lambda *_: None)
        if placed:
            patched.setattr("marginals.ledger._put", _unless("out", ledgers._put))
        else:
            patched.setattr("marginals.bundle.writing.replace_folder", _fail)
        with suppress(InputError):
            made.write(tmp_path / "two")
    ledger = Ledger.read(tmp_path / "ledger")
    assert [entry.is_out for entry in ledger.entries] == [True, False]
    return ledger


def _fail(*_: object) -> None:
    raise OSError(28, "No space left on device")


def _unless(name: str, put: Callable[[Path, Mapping[str, Any]], None]) -> Callable[[Path, Mapping[str, Any]], None]:
    def put_others(file: Path, stated: Mapping[str, Any]) -> None:
        if not file.stem.endswith(name):
            put(file, stated)

    return put_others


def test_an_interrupted_entry_counts_until_it_is_settled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = interrupted(tmp_path, monkeypatch, placed=False)
    assert "--settle 2 out, or --settle 2 not-out" in entry_line(ledger.entries[1])
    next_one = marginals.publish(read(FIRST.iloc[3:]), POLICY, ledger=tmp_path / "ledger")
    assert next_one.steward.waiting is not None
    assert next_one.steward.waiting.releases == 2
    settled = ledger.settled(2, is_out=False)
    assert len(settled.entries) == len(Ledger.read(tmp_path / "ledger").entries) == 1
    assert json.loads((tmp_path / "ledger" / "head.json").read_text()) == {"number": 1, "entry": settled.head}
    with pytest.raises(InputError, match="has another release since"):
        next_one.write(tmp_path / "three")
    publish(FIRST.iloc[3:], tmp_path, "three")
    with pytest.raises(InputError, match=r"release 2 of the ledger .* is not to be settled; .* are none"):
        Ledger.read(tmp_path / "ledger").settled(2, is_out=False)


def test_what_stands_in_its_folder_is_not_settled_as_never_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = interrupted(tmp_path, monkeypatch, placed=True)
    with pytest.raises(InputError, match="release 2 stands in"):
        ledger.settled(2, is_out=False)
    assert ledger.settled(2, is_out=True).entries[1].is_out
    assert Ledger.read(tmp_path / "ledger").entries[1].is_out


def test_what_others_were_made_beside_counts_for_good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupted(tmp_path, monkeypatch, placed=False)
    publish(FIRST.iloc[3:], tmp_path, "three")
    ledger = Ledger.read(tmp_path / "ledger")
    assert [entry.is_out for entry in ledger.entries] == [True, False, True]
    with pytest.raises(InputError, match="release 2 counts for good, since release 3 was made beside it"):
        ledger.settled(2, is_out=False)
    assert ledger.settled(2, is_out=True).entries[1].is_out


def test_the_first_release_can_be_settled_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = marginals.publish(read(FIRST), POLICY, ledger=tmp_path / "ledger")
    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "_taken_back", lambda *_: None)
        patched.setattr("marginals.bundle.writing.replace_folder", _fail)
        with pytest.raises(InputError):
            made.write(tmp_path / "one")
    ledger = Ledger.read(tmp_path / "ledger")
    assert ledger.settled(1, is_out=False).entries == ()
    publish(FIRST, tmp_path, "one")


def test_an_entry_that_is_not_what_was_written_is_no_ground_for_a_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(FIRST, tmp_path, "one")
    before = contents(tmp_path / "ledger")
    made = marginals.publish(read(FIRST.iloc[3:]), POLICY, ledger=tmp_path / "ledger")

    def cut_off(folder: Path, files: Mapping[str, bytes], *rest: object) -> None:
        replace_folder(folder, {**files, "cells.csv": files["cells.csv"][:-5]}, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr("marginals.ledger.replace_folder", cut_off)
    with pytest.raises(InputError, match="is not what was written"):
        made.write(tmp_path / "two")
    assert not (tmp_path / "two").exists()
    assert contents(tmp_path / "ledger") == before
