"""`query` and `sample` say which kind their answers are: in words, as JSON, and beside the rows."""

import csv
import json
import warnings
from itertools import combinations
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from command_line import main
from marginals.example import release


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of age by diagnosis and sex by diagnosis."""
    path = tmp_path_factory.mktemp("release") / "release"
    release.write(path)
    return path


def run(*arguments: object) -> Result:
    """A command, which may warn of nothing as Python does: it has words of its own."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return CliRunner().invoke(main, list(map(str, arguments)))


@pytest.mark.parametrize(
    ("conditions", "kind", "line"),
    [
        (["age=20-39"], "published", "published: it follows from published counts"),
        (["age=20-29", "diagnosis=Flu"], "published", "published: it follows from published counts"),
        (
            ["age=22", "diagnosis=Flu"],
            "supported",
            "supported: coarser than asked, a published table shows age in 10-year",
        ),
        (
            ["age=20-29", "sex=Female"],
            "assumed",
            "assumed: no published table shows what is asked of age and sex together",
        ),
    ],
)
def test_query_says_which_kind_its_answer_is(folder: Path, conditions: list[str], kind: str, line: str) -> None:
    assert run("query", folder, *conditions).stdout.splitlines()[-1].startswith(line)
    answer = json.loads(run("query", folder, *conditions, "--json").stdout)
    assert answer["kind"] == kind
    assert answer["assumed"] == ([["age", "sex"]] if kind == "assumed" else [])
    assert answer["shown"] == ([{"age": 1, "diagnosis": 0}] if kind == "supported" else [])


def test_rows_come_with_what_their_columns_tell_of_each_other(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "rows.csv"
    result = run("sample", folder, "-n", 5, "-o", out, "--json")
    answer = json.loads(result.stdout)
    assert (answer["kind"], answer["assumed"]) == ("assumed", [["age", "sex"]])
    assert result.stderr == (
        "note: no published table shows these columns together, so in the rows they are independent, given the others: "
        "age and sex\n"
    )
    assert answer["pairs_out"] == f"{out}.pairs.csv"
    with Path(answer["pairs_out"]).open(newline="", encoding="utf-8") as lines:
        pairs = list(csv.DictReader(lines))
    assert pairs == answer["pairs"]
    assert [(pair["first"], pair["second"]) for pair in pairs] == list(combinations(release.domain.attributes, 2))
    for pair in pairs:
        together = any({pair["first"], pair["second"]} <= set(margin) for margin in release.margins)
        assert pair["kind"] == ("published" if together else "assumed")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["rows.csv", "rows.csv.pairs.csv"]


def test_base_values_that_no_table_shows_are_supported_only(folder: Path, tmp_path: Path) -> None:
    answer = json.loads(run("sample", folder, "--base-values", "-o", tmp_path / "rows.parquet", "--json").stdout)
    kinds = {(pair["first"], pair["second"]): (pair["kind"], pair["because"]) for pair in answer["pairs"]}
    assert kinds["age", "diagnosis"] == ("supported", "age in 10-year bands, diagnosis")
    assert kinds["sex", "diagnosis"] == ("published", "diagnosis, sex")
    assert kinds["age", "sex"] == ("assumed", "no published table shows both")


def test_the_file_beside_the_rows_is_replaced_only_with_force(folder: Path, tmp_path: Path) -> None:
    beside = tmp_path / "rows.csv.pairs.csv"
    beside.write_text("mine")
    result = run("sample", folder, "-o", tmp_path / "rows.csv")
    assert (result.exit_code, beside.read_text()) == (2, "mine")
    assert not (tmp_path / "rows.csv").exists()
    assert run("sample", folder, "-o", tmp_path / "rows.csv", "--force").exit_code == 0
    assert beside.read_text().startswith("first,second,kind,because")


def test_rows_on_standard_output_have_their_word_on_standard_error(folder: Path) -> None:
    result = run("sample", folder, "-n", 3)
    assert len(result.stdout.splitlines()) == 4
    assert "age and sex" in result.stderr
