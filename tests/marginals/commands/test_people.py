"""From a table of visits to a release of people, as somebody new does it: init, publish, verify."""

import json
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from command_line import run

MOST = 4
"""Rows of each person that init lets count here: with more of them some value of diagnosis would lose its bound."""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    who = np.concatenate([np.arange(300), rng.integers(0, 300, 700)])
    rng.shuffle(who)
    frame = pd.DataFrame({"patient_id": who, "age": 20 + who % 40, "sex": np.where(who % 3 == 0, "f", "m")})
    frame["diagnosis"] = rng.choice(list("abcdef"), 1000)
    frame.to_csv(tmp_path / "visits.csv", index=False)
    result = run("init", tmp_path / "visits.csv", "--out", tmp_path / "release.toml")
    assert (result.exit_code, "'patient_id'" in result.stdout) == (0, True)
    return tmp_path / "release.toml"


def changed(config: Path, **lines: str) -> Path:
    """The config with other lines for some keys, without those whose line is empty. Each key must be there."""
    for key, line in lines.items():
        texts = config.read_text().splitlines()
        assert any(own.startswith(f"{key} =") for own in texts), key
        config.write_text("\n".join(line if own.startswith(f"{key} =") else own for own in texts))
    return config


def test_what_init_writes_is_published_and_verified_as_people(config: Path, tmp_path: Path) -> None:
    data = tomllib.loads(config.read_text())["data"]
    assert (data["person"], data["rows_per_person"]) == ("patient_id", MOST)
    visits = pd.read_csv(tmp_path / "visits.csv").value_counts("patient_id")
    counting = int(visits.clip(upper=MOST).sum())
    assert 300 < counting < 1000
    published = run("publish", config, "--out", tmp_path / "out", status=0)
    assert f" {1000 - counting} more rows" in published.stderr
    assert f"{counting} rows (at most {MOST} of a person)" in published.stdout
    verified = run("verify", tmp_path / "out", status=0)
    assert f"at most {MOST} rows each" in verified.stdout
    checks = json.loads(run("verify", tmp_path / "out", "--json").stdout)["checks"]
    assert min(check["worst"]["count"] for check in checks if check["criterion"].startswith("k-")) >= 5 * MOST
    asked = run("query", tmp_path / "out", "sex=f").stdout
    assert ("rows" in asked, "people" in asked) == (True, False)


@pytest.mark.parametrize("command", ["publish", "assess", "anonymize", "risk"])
def test_no_command_speaks_of_people_before_it_is_said_whose_rows_these_are(
    command: str, config: Path, tmp_path: Path
) -> None:
    changed(config, person="", rows_per_person="")
    result = run(command, config, *(["--out", tmp_path / "out"] if command == "publish" else []), status=2)
    assert 'person = "patient_id" with one_row = "first"' in result.stderr
    assert not (tmp_path / "out").exists()


def test_what_is_not_clear_of_people_is_said_before_all_else(tmp_path: Path) -> None:
    """Rows entered twice, and nobody said whose they are: no sentence promises anything of people."""
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"age": rng.integers(20, 40, 400), "sex": rng.choice(["f", "m"], 400)})
    frame["diagnosis"] = rng.choice(list("abcd"), 400)
    pd.concat([frame, frame]).to_csv(tmp_path / "rows.csv", index=False)
    init = run("init", tmp_path / "rows.csv", "--out", tmp_path / "release.toml")
    assert init.stdout.splitlines()[1].startswith("? Whose rows are these? Each row stands 2 times in the table")
    published = run("publish", tmp_path / "release.toml", "--out", tmp_path / "out")
    warnings = [
        "Warning: A person can have any number of these rows: claims are of rows, and k rows may be fewer than k people.",
        "Warning: each row stands 2 times in the table, or a multiple of it. If they were entered 2 times, 2 rows of a "
        "count are one.",
    ]
    assert published.stdout.splitlines()[:2] == published.stderr.splitlines()[:2] == warnings
    assert "people" not in "".join(published.stdout.splitlines()[2:])
    answer = json.loads(run("publish", tmp_path / "release.toml", "--out", tmp_path / "out", "--json").stdout)
    assert (next(iter(answer)), answer["warnings"]) == ("warnings", warnings)
    assert "k rows may be fewer than k people" in run("assess", tmp_path / "release.toml").stdout


def test_no_warning_advises_to_leave_out_what_says_whose_rows_these_are(tmp_path: Path) -> None:
    number = np.arange(900)
    person = [f"p{n // 2}" if n % 3 else "" for n in number]
    pd.DataFrame({"pid": person, "sex": np.where(number % 2, "f", "m")}).to_csv(tmp_path / "rows.csv", index=False)
    (tmp_path / "release.toml").write_text(
        '[data]\npath = "rows.csv"\nperson = "pid"\nrows_per_person = 2\n'
        '[attributes.sex]\nrole = "quasi-identifier"\n[privacy]\nk_link = 3\n'
    )
    published = run("publish", tmp_path / "release.toml", "--out", tmp_path / "out", status=0)
    assert "Find out whose rows these are" in published.stderr
    assert "Ignore that column" not in published.stderr + (tmp_path / "out-steward.html").read_text()
