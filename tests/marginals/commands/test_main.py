"""The command line keeps its contract: JSON alone on standard output, exit status 0, 1 or 2, one sentence of error."""

import csv
import json
import tomllib
import warnings
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import marginals
from command_line import main
from marginals.example import release


def run(*arguments: object) -> Result:
    """A command, which may warn of nothing as Python does: it has words of its own."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return CliRunner().invoke(main, list(map(str, arguments)))


def answered(*arguments: object, status: int = 0) -> Any:
    result = run(*arguments, "--json")
    assert result.exit_code == status, result.output
    return json.loads(result.stdout)


def test_the_demo_publishes_a_release_that_verifies_and_refuses_a_folder_with_things_in_it(demo: Path) -> None:
    of_the_steward = {"census.csv", "hierarchies", "release.toml", "release-steward.html"}
    assert {path.name for path in demo.iterdir()} == of_the_steward | {"release"}
    answer = answered("verify", demo / "release")
    assert answer["ok"] is True
    criteria = [check["criterion"] for check in answer["checks"]]
    assert criteria == ["integrity", "k-link", "k-combinatorial", "min-cell", "maxent-diversity", "register"]
    assert answer["smallest_sensitive_counts"]["diagnosis"] >= 3
    assert all(set(check) >= {"criterion", "holds", "parameters", "worst"} for check in answer["checks"])
    assert run("demo", demo).exit_code == 2


def test_assess_never_shows_a_value_of_the_table(demo: Path) -> None:
    """The table is not published, so not even its worst class may be shown by its values; the config names some itself."""
    text = run("assess", demo / "release.toml").stdout + run("assess", demo / "release.toml", "--json").stdout
    for named in tomllib.loads((demo / "release.toml").read_text())["attributes"]["diagnosis"]["harmless"]:
        text = text.replace(named, "")
    for line in (demo / "census.csv").read_text().splitlines()[1:200]:
        for value in line.split(",")[2:3] + line.split(",")[4:]:
            assert value not in text or value == "?"


@pytest.mark.parametrize(
    "arguments", [("verify", "x" * 300, "--json"), ("verify", "--json"), ("query", "--json", "--wrong")]
)
def test_whoever_asks_for_json_gets_an_object_whatever_goes_wrong(arguments: tuple[str, ...]) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert set(json.loads(result.stdout)) == {"error"}
    assert result.stderr


def test_bad_input_exits_2_and_nothing_publishable_1_and_neither_writes(tmp_path: Path) -> None:
    config, out = tmp_path / "release.toml", tmp_path / "out"
    config.write_text('[data]\npath = "none.csv"\n[attributes.a]\nrole = "sensitive"\n')
    result = run("publish", config, "--out", out, "--json")
    assert result.exit_code == 2
    assert set(json.loads(result.stdout)) == {"error"}
    assert result.stderr.count("\n") == 1
    for command in (("verify", tmp_path), ("query", tmp_path, "a=b"), ("sample", tmp_path)):
        assert run(*command).exit_code == 2
    (tmp_path / "t.csv").write_text("a,b\n" + "".join(f"{i},x\n" for i in range(9)))
    for base in ("best", "none"):
        config.write_text(
            '[data]\npath = "t.csv"\n[attributes.a]\nrole = "quasi-identifier"\n[attributes.b]\nrole = "sensitive"\n'
            f'[privacy]\nk_link = 5\ndiversity = "distinct:2"\n[base]\ntable = "{base}"\n'
        )
        assert run("publish", config, "--out", out).exit_code == 1, base
    assert not out.exists()


def test_sample_writes_the_same_rows_for_the_same_seed(demo: Path, tmp_path: Path) -> None:
    shown = run("sample", demo / "release", "-n", 20, "--seed", 3)
    assert shown.exit_code == 0, shown.output
    assert len(shown.stdout.splitlines()) == 21
    assert answered("sample", demo / "release", "-n", 20, "--seed", 3, "-o", tmp_path / "rows.csv")["rows"] == 20
    assert (tmp_path / "rows.csv").read_text() == shown.stdout
    assert run("sample", demo / "release", "-n", 20, "--seed", 4).stdout != shown.stdout
    exact = answered("sample", demo / "release", "-n", "exact", "-o", tmp_path / "exact.csv")["rows"]
    assert exact == marginals.open_release(demo / "release").model.total
    assert "exact" in run("sample", demo / "release", "-n", "most").output


def test_attack_measures_and_gives_no_verdict(demo: Path, tmp_path: Path) -> None:
    answer = answered("attack", demo / "release", "--truth", demo / "release.toml")
    assert {"published", "attacked", "certain", "minimality", "register", "sentences"} <= set(answer)
    attacked = answer["attacked"][0]
    assert attacked["sensitive"] == "diagnosis"
    assert 0 <= answer["certain"]["diagnosis"]["determined"] <= answer["certain"]["diagnosis"]["exists"]
    assert all(0 <= own["right"]["definetti"] <= 1 for own in attacked["surest"])
    assert run("demo", tmp_path / "other", "--rows", 6001).exit_code == 0
    result = run("attack", demo / "release", "--truth", tmp_path / "other" / "release.toml")
    assert (result.exit_code, "another table" in result.stderr) == (2, True)


# Answers come with their kinds.


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("release") / "release"
    release.write(path)
    return path


def test_rows_come_with_the_kind_of_each_pair_of_columns(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "rows.csv"
    result = run("sample", folder, "-n", 5, "-o", out, "--json")
    answer = json.loads(result.stdout)
    assert (answer["kind"], answer["assumed"]) == ("assumed", [["age", "sex"]])
    assert result.stderr.endswith("age and sex\n")
    assert "age and sex" in run("sample", folder, "-n", 3).stderr
    assert answer["pairs_out"] == f"{out}.pairs.csv"
    with Path(answer["pairs_out"]).open(newline="", encoding="utf-8") as lines:
        pairs = list(csv.DictReader(lines))
    assert pairs == answer["pairs"]
    assert [(pair["first"], pair["second"]) for pair in pairs] == list(combinations(release.domain.attributes, 2))
    for pair in pairs:
        together = any(
            {pair["first"], pair["second"]} <= set(margin) for margin in release.published.everything.margins
        )
        assert pair["kind"] == ("published" if together else "assumed")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["rows.csv", "rows.csv.pairs.csv"]


def test_the_file_beside_the_rows_is_replaced_only_with_force(folder: Path, tmp_path: Path) -> None:
    beside = tmp_path / "rows.csv.pairs.csv"
    beside.write_text("mine")
    result = run("sample", folder, "-o", tmp_path / "rows.csv")
    assert (result.exit_code, beside.read_text()) == (2, "mine")
    assert not (tmp_path / "rows.csv").exists()
    assert run("sample", folder, "-o", tmp_path / "rows.csv", "--force").exit_code == 0
    assert beside.read_text().startswith("first,second,kind,because")
