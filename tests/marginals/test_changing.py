"""Releases of a table that changed: who holds them learns of the people who came and left, each table apart from that."""

import json
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

import marginals
from command_line import main

ROLES = {"town": "quasi-identifier", "illness": "sensitive"}
PEOPLE = pd.DataFrame(
    [
        (town, illness)
        for town, rows in (("Ulm", [60, 20, 12]), ("Jena", [12, 20, 60]))
        for illness, number in zip(("flu", "cold", "gout"), rows)
        for _ in range(number)
    ],
    columns=list(ROLES),
)


def publish(folder: Path, people: pd.DataFrame) -> str:
    policy = marginals.Policy(k_link=10, diversity="distinct:3", base="none")
    marginals.publish(marginals.read_table(people, ROLES), policy).write(folder)
    return str(folder)


def test_who_left_is_told_with_the_illness(tmp_path: Path) -> None:
    first = publish(tmp_path / "2025", PEOPLE)
    second = publish(tmp_path / "2026", PEOPLE.iloc[2:])
    result = CliRunner().invoke(main, ["attack", first, second])
    assert result.exit_code == 0
    assert f"From {first} (184 rows) to {second} (182 rows)" in result.output
    assert "town=Ulm, illness=flu: 60 before, 58 after: at least 2 rows left" in result.output
    assert "town=Ulm: 2 rows more left than came with illness=flu, and of no other value did more" in result.output
    assert "those who came and those who left in one cell cancel" in result.output
    assert f"\n{first}:\n" in result.output


def test_json_has_the_changes_of_all_pairs(tmp_path: Path) -> None:
    folders = [publish(tmp_path / str(year), PEOPLE.iloc[gone:]) for year, gone in ((1, 0), (2, 1), (3, 3))]
    answer = json.loads(CliRunner().invoke(main, ["attack", *folders, "--json"]).output)
    pairs = [(change["earlier"], change["later"]) for change in answer["changes"]]
    assert pairs == [(folders[0], folders[1]), (folders[0], folders[2]), (folders[1], folders[2])]
    assert answer["changes"][1]["rows"] == {"before": 184, "after": 181}
    assert answer["changes"][1]["told"][0]["smallest"][0]["difference"] == -3
    assert answer["changes"][1]["least"] == 10
    assert list(answer["apart"]) == folders


def test_the_truth_of_a_table_that_changed_is_refused(tmp_path: Path) -> None:
    folders = [publish(tmp_path / str(gone), PEOPLE.iloc[gone:]) for gone in (0, 1)]
    with pytest.raises(marginals.InputError, match="of a table that changed"):
        marginals.attack(*folders, truth=marginals.read_table(PEOPLE, ROLES))


def test_new_labels_that_do_not_tell_are_said(tmp_path: Path) -> None:
    first = publish(tmp_path / "first", PEOPLE)
    second = publish(tmp_path / "second", PEOPLE.iloc[30:].replace({"Ulm": "Ulm and others"}))
    output = CliRunner().invoke(main, ["attack", first, second]).output
    assert "Labels do not tell how the values of 'town' overlap" in output


def test_releases_of_a_table_that_did_not_change_in_what_they_count(tmp_path: Path) -> None:
    first = publish(tmp_path / "first", PEOPLE)
    changed = PEOPLE.copy()
    changed.loc[0, "illness"] = "gout"
    output = CliRunner().invoke(main, ["attack", first, publish(tmp_path / "second", changed)]).output
    assert "(184 rows) to" in output
    assert "town=Ulm, illness=flu: 60 before, 59 after: at least 1 row left" in output
