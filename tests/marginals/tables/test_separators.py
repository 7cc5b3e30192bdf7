"""CSV files whose columns are separated otherwise than by commas: every engine reads the same, and says what it misses."""

import json
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

from command_line import main
from marginals import InputError, read_config, read_rows, read_table
from marginals.tables.files import SEPARATORS, likely_form
from table_readers import spark_session

PEOPLE = pd.DataFrame(
    {
        "age": [str(20 + n % 40) for n in range(400)],
        "work": [['"quoted"; and | with\ttab, comma', " spaced ", "Ärztin", ""][n // 7 % 4] for n in range(400)],
        "diagnosis": [["flu", "gout", "measles"][n // 3 % 3] for n in range(400)],
    }
)
ROLES = {"age": "quasi-identifier", "work": "quasi-identifier", "diagnosis": "sensitive"}

separators = pytest.mark.parametrize("separator", SEPARATORS)
engines = pytest.mark.parametrize("engine", ["pandas", "duckdb", pytest.param("spark", marks=pytest.mark.slow)])


def written(folder: Path, separator: str) -> Path:
    PEOPLE.to_csv(folder / "people.csv", sep=separator, index=False)
    return folder / "people.csv"


@separators
@engines
def test_every_engine_reads_the_same(tmp_path: Path, separator: str, engine: str) -> None:
    if engine == "spark":
        spark_session()
    elif engine == "duckdb":
        pytest.importorskip("duckdb")
    path = written(tmp_path, separator)
    table, expected = read_table(path, ROLES, engine=engine, separator=separator), read_table(PEOPLE, ROLES)
    assert dict(table.counts.cells()) == dict(expected.counts.cells())
    assert table.missing == expected.missing
    assert len(read_rows(path, ROLES, separator=separator)) == expected.rows


@separators
@engines
def test_another_separator_is_noticed_and_named(tmp_path: Path, separator: str, engine: str) -> None:
    if engine == "spark":
        pytest.importorskip("pyspark")
    path = written(tmp_path, separator)
    given = ";" if separator == "," else ","
    with pytest.raises(InputError) as caught:
        read_table(path, ROLES, engine=engine, separator=given)
    right, wrong = json.dumps(separator), json.dumps(given)
    assert str(caught.value) == (
        f"columns of people.csv look separated by {right}, not {wrong}; set data.separator = {right}"
    )


@separators
def test_init_finds_the_separator_and_what_it_writes_is_published(tmp_path: Path, separator: str) -> None:
    path = written(tmp_path, separator)
    assert likely_form(path).separator == separator
    config = tmp_path / "release.toml"
    result = CliRunner().invoke(main, ["init", str(path), "-o", str(config)])
    assert result.exit_code == 0, result.output
    assert read_config(config).source.separator == separator
    assert ("separator" in config.read_text()) == (separator != ",")
    assert read_config(config).source.attributes.keys() == set(PEOPLE.columns)
    result = CliRunner().invoke(main, ["publish", str(config), "--out", str(tmp_path / "release")])
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("engine", ["pandas", "duckdb"])
def test_what_is_disclosed_is_read_with_the_separator_too(tmp_path: Path, engine: str) -> None:
    if engine == "duckdb":
        pytest.importorskip("duckdb")
    written(tmp_path, ";")
    config = tmp_path / "release.toml"
    config.write_text(
        f'[data]\npath = "people.csv"\nseparator = ";"\nengine = "{engine}"\n'
        + "".join(f'[attributes.{name}]\nrole = "{role}"\n' for name, role in ROLES.items())
        + '[risk]\ndictionaries = ["people.csv"]\n[[risk.rules]]\nattribute = "work"\n'
    )
    out = tmp_path / "out.csv"
    for command in ("disclose", "risk"):
        result = CliRunner().invoke(main, [command, str(config), "--out", str(out), "--force"])
        assert result.exit_code == 0, result.output
        assert len(pd.read_csv(out)) == (PEOPLE["work"] != "").sum()


def test_tables_of_one_column_have_no_other_separator(tmp_path: Path) -> None:
    for text in ("age\n31\n", "a;b\n31\n", "a;b\n1;2;3\n", "a|b\n", "", "\n"):
        (tmp_path / "t.csv").write_text(text)
        if text == "a|b\n":
            assert likely_form(tmp_path / "t.csv").separator == "|"
        elif text.strip():
            assert likely_form(tmp_path / "t.csv").separator == ","
            name = text.split("\n")[0]
            if "1;2" not in text:
                assert read_table(tmp_path / "t.csv", {name: "sensitive"}).rows == 1


@pytest.mark.parametrize("separator", ["", ";;", "a", '"', 3])
def test_no_other_separators_are_taken(tmp_path: Path, separator: object) -> None:
    path = written(tmp_path, ",")
    with pytest.raises(InputError, match='the separator of columns is "," or ";"'):
        read_table(path, ROLES, separator=separator)  # type: ignore[arg-type]
    config = tmp_path / "release.toml"
    config.write_text(f"[data]\npath = 'people.csv'\nseparator = {json.dumps(separator)}\n")
    with pytest.raises(InputError, match=r"release\.toml: the key data\.separator must be"):
        read_config(config)
