"""Numbers with a decimal comma are read as numbers, unless something speaks against it; the config says so and why."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import marginals
from command_line import main
from marginals.config.column_guess import likely_decimal, missing_tokens
from marginals.tables.attribute import Column


@pytest.mark.parametrize(
    ("columns", "sign"),
    [
        ({"bmi": ["21,5", "30,25", "18"]}, ","),
        ({"bmi": ["21,5", "30", "NA", "."], "age": ["31", "42"], "name": ["a.b", "c,d"]}, ","),
        ({"change": ["-0,5", "+1,5"]}, ","),
        ({"share": ["0,125", "0,250"]}, ","),  # no whole number begins with 0
        ({"bmi": ["21.5", "30"]}, "."),
        ({"bmi": ["21,5", "30"], "weight": ["61.5", "80"]}, "."),  # two signs: one of them is something else
        ({"income": ["1,234", "23,456", "800"]}, "."),  # thousands, perhaps
        ({"income": ["1,234", "23,456", "800"], "bmi": ["21,5"]}, ","),
        ({"income": ["1.234", "23.456"], "bmi": ["21,5"]}, ","),  # thousands as in German
        ({"income": ["1,234,567", "21,5"]}, "."),
        ({"place": ["52,5 N", "13,4 E"]}, "."),
        ({"age": ["31", "42"]}, "."),
        ({"empty": []}, "."),
        ({}, "."),
    ],
)
def test_the_sign_is_guessed_where_nothing_speaks_against_it(columns: dict[str, list[str]], sign: str) -> None:
    guessed = likely_decimal([Column.of(name, values) for name, values in columns.items()])
    assert guessed.sign == sign
    assert bool(guessed.why) == (sign == ",")


def test_a_number_for_nothing_is_recognized_beside_commas_too() -> None:
    values = [f"{n},5" for n in range(20)]
    for spelled in ("-9", "-9,0"):
        assert spelled in missing_tokens([Column("x", (*values, spelled), np.ones(21, dtype=int), 0, ",")]).why


def run(*arguments: object) -> str:
    answer = CliRunner().invoke(main, list(map(str, arguments)))
    assert answer.exit_code == 0, answer.output
    return answer.output


@pytest.fixture
def german(tmp_path: Path) -> Path:
    rng = np.random.default_rng(7)
    bmi = np.round(rng.normal(26, 4, 300), 1)
    frame = pd.DataFrame(
        {
            "alter": rng.integers(20, 80, 300).astype(str),
            "bmi": [f"{value:.1f}".replace(".", ",") for value in bmi],
            "geschlecht": rng.choice(["m", "w"], 300),
            "diagnose": rng.choice(["Grippe", "Asthma", "Diabetes", "Gicht"], 300),
        }
    )
    frame.to_csv(tmp_path / "tabelle.csv", sep=";", index=False)
    return tmp_path


@pytest.mark.slow
def test_a_german_table_gets_the_key_with_its_reason_and_is_published(german: Path) -> None:
    out = german / "release.toml"
    said = run("init", german / "tabelle.csv", "--out", out)
    assert "decimal comma: the numbers of bmi have a comma before their fraction" in said
    text = out.read_text()
    why = "the numbers of bmi have a comma before their fraction, and no column has a point there"
    assert f'\n# Guessed, for {why}.\ndecimal = ","\n' in text
    config = marginals.read_config(out)
    assert config.source.decimal == ","
    assert config.source.attributes["bmi"].intervals
    assert config.read_table().rows == 300
    run("publish", out, "--out", german / "release")
    assert marginals.verify(german / "release").ok


@pytest.mark.slow
def test_the_same_is_guessed_of_the_same_table_with_points(german: Path) -> None:
    table = (german / "tabelle.csv").read_text()
    (german / "points.csv").write_text(table.replace(",", "."))
    for name in ("tabelle", "points"):
        run("init", german / f"{name}.csv", "--out", german / f"{name}.toml")
    with_commas, with_points = (
        (german / f"{name}.toml").read_text().replace("tabelle", "points").splitlines()
        for name in ("tabelle", "points")
    )
    extra = [line for line in with_commas if line not in with_points]
    assert [line for line in with_points if line not in with_commas] == []
    assert extra[-1] == 'decimal = ","'
    assert len(extra) == 2
