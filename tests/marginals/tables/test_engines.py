"""Engines: DuckDB in this process is quiet, within its memory, and leaves no row in a file that anybody else could open.

What the first rows show decides how rows are counted, never what they are counted as. Spark takes the memory of the config.
"""

import gc
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from datetime import date
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest

from marginals import InputError, TooLittleMemoryError, files, read_table
from marginals.tables import frames
from marginals.tables.distinct_rows import DistinctRows, text_of
from marginals.tables.engines import with_duckdb
from marginals.tables.files import engine_refusals, files_of
from marginals.tables.frames import FewDistinctRows, LazyFrame, counted_by_first_values

duckdb = pytest.importorskip("duckdb")
pyarrow = pytest.importorskip("pyarrow")

PEOPLE = pd.DataFrame({"age": [str(20 + i % 50) for i in range(1000)], "sex": ["f", "m", "f", ""] * 250})


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_nothing_is_printed_where_json_is_expected_and_memory_and_disk_are_bounded(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("age\n31\n")
    source = with_duckdb(files_of(tmp_path / "people.csv"), ["age"], 200 << 20)
    names = ("enable_progress_bar", "memory_limit", "temp_directory", "TimeZone")
    asked = ", ".join(f"current_setting('{name}')" for name in names)
    found = source.frame.to_native().query("asked", f"SELECT {asked}").fetchall()[0]
    assert found == (False, "200.0 MiB", "", "UTC"), "without a folder nothing is put on disk"


@pytest.mark.parametrize("memory", [200 << 20, 1 << 10])
def test_rows_are_in_no_file_with_a_name_and_go_with_the_table(tmp_path: Path, place: Path, memory: int) -> None:
    """In memory, or where it is short in a file on disk that has no name."""
    PEOPLE.to_csv(tmp_path / "people.csv", index=False)
    source = with_duckdb(files_of(tmp_path / "people.csv"), ["age"], memory)
    links = [str(link.readlink()) for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
    assert any(link.startswith("/memfd:marginals" if memory > 1 << 20 else f"{place}/#") for link in links)
    assert source.distinct_rows(["age"]).counts.sum() == len(PEOPLE)
    assert not list(place.iterdir())
    held = len(list(Path("/proc/self/fd").iterdir()))
    del source
    gc.collect()
    assert len(list(Path("/proc/self/fd").iterdir())) < held


def test_a_file_that_is_refused_leaves_nothing_open(tmp_path: Path, place: Path) -> None:
    (tmp_path / "people.csv").write_text("age,sex\n31\n")
    gc.collect()
    held = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(ValueError, match=r"line 2 of people\.csv"):
        with_duckdb(files_of(tmp_path / "people.csv"), ["age"], 200 << 20)
    assert len(list(Path("/proc/self/fd").iterdir())) == held
    assert not list(place.iterdir())


def test_without_such_files_each_question_reads_the_source(
    tmp_path: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    PEOPLE.to_csv(tmp_path / "people.csv", index=False)
    with_one = with_duckdb(files_of(tmp_path / "people.csv"), ["age", "sex"], 200 << 20).distinct_rows(["age", "sex"])
    monkeypatch.setattr(files, "are_possible", lambda: False)
    without = with_duckdb(files_of(tmp_path / "people.csv"), ["age", "sex"], 200 << 20).distinct_rows(["age", "sex"])
    assert sorted(without.counts.tolist()) == sorted(with_one.counts.tolist())
    assert not list(place.iterdir())
    (tmp_path / "people.csv").write_text("age,sex\n31\n")
    with pytest.raises(ValueError, match=r"line 2 of people\.csv"):
        with_duckdb(files_of(tmp_path / "people.csv"), ["age"], 200 << 20)


@pytest.mark.parametrize("unnamed", [True, False])
def test_what_does_not_fit_into_memory_is_counted_in_parts(
    tmp_path: Path, place: Path, monkeypatch: pytest.MonkeyPatch, unnamed: bool
) -> None:
    """No distinct row twice, none left out, and nothing on disk: as many parts as the least memory needs."""
    PEOPLE.to_csv(tmp_path / "people.csv", index=False)
    source = with_duckdb(files_of(tmp_path / "people.csv"), ["age", "sex"], 200 << 20)
    recodings = {column: np.arange(len(texts)) for column, (texts, _) in source.values(["age", "sex"]).items()}
    whole, sizes = source.count(recodings), source.counts_of_counts(recodings)
    collected, asked = frames._collected, []

    def short_of_memory(rows: Any, name: str) -> Any:
        asked.append(rows)
        table = collected(rows, name)
        if len(collected(rows.select(rows.collect_schema().names()[0]), name)) > 20:
            raise TooLittleMemoryError(name)
        return table

    monkeypatch.setattr(frames, "_collected", short_of_memory)
    if not unnamed:
        monkeypatch.setattr(files, "are_possible", lambda: False)
    codes, counts = source.count(recodings)
    assert len(asked) > 4
    found = sorted(zip(codes["age"].tolist(), codes["sex"].tolist(), counts.tolist()))
    assert found == sorted(zip(whole[0]["age"].tolist(), whole[0]["sex"].tolist(), whole[1].tolist()))
    by_count = source.counts_of_counts(recodings)
    assert sorted(zip(*map(list, by_count))) == sorted(zip(*map(list, sizes)))
    assert not list(place.iterdir())
    monkeypatch.setattr(frames, "_MOST_PARTS", 2)
    with pytest.raises(ValueError, match=r"data\.memory"):
        source.count(recodings)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_names_that_differ_by_case_are_left_to_others(ending: str, tmp_path: Path) -> None:
    """DuckDB's names ignore case."""
    frame = pd.DataFrame({"Age": ["1", "2"], "age": ["3", "4"]})
    path = tmp_path / f"people.{ending}"
    frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path)
    table = read_table(path, {"Age": "quasi-identifier", "age": "quasi-identifier"})
    assert {name: table.domain.hierarchy(name).labels[0] for name in frame} == {"Age": ("1", "2"), "age": ("3", "4")}
    with pytest.raises(ValueError, match="differ by case only"):
        with_duckdb(files_of(path), ["Age"], 200 << 20)


@pytest.mark.parametrize("marks", ["", "\x1f", "\x1f\x1e\x1d\x1c"])
def test_values_come_back_whatever_is_in_them(tmp_path: Path, marks: str) -> None:
    """They are handed to DuckDB as one text, between marks that no value holds."""
    texts = ["it's", '"quoted"', "a,b", "[1]", "%s {x}", " ", "é\\n", *(f"a{mark}b" for mark in marks)]
    pd.DataFrame({"text": texts * 2}).to_csv(tmp_path / "people.csv", index=False)
    table = read_table(tmp_path / "people.csv", {"text": "quasi-identifier"}, engine="duckdb")
    assert dict(table.counts.cells()) == {(text,): 2 for text in texts}


@pytest.mark.parametrize("most", [(24, 1000), (0, 1000), (0, 0)], ids=["list", "type", "join"])
@pytest.mark.parametrize("seed", range(2))
def test_rows_are_recoded_alike_however_duckdb_looks_values_up(
    seed: int, most: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Values of any type, null among them, some of which are to be left out: the counts of a plain count."""
    import narwhals as nw

    rng = np.random.default_rng(seed)
    pools: dict[str, list[Any]] = {
        "text": ["", "it's", "a,b", None],
        "number": [-3, 0, 2**40, None],
        "decimal": [0.5, 1e20, None],
        "day": [*pd.to_datetime(["2020-01-01", "1999-12-31"]).date, None],
        "flag": [True, False],
        "nothing": [None],
    }
    drawn = {column: [pool[i] for i in rng.integers(0, len(pool), 200)] for column, pool in pools.items()}
    types = {"nothing": pyarrow.string()}
    rows = pyarrow.table({column: pyarrow.array(values, types.get(column)) for column, values in drawn.items()})
    monkeypatch.setattr(frames, "_MOST_IN_LIST", most[0])
    monkeypatch.setattr(frames, "_MOST_IN_ENUM", most[1])
    with duckdb.connect() as connection:
        source = LazyFrame(nw.from_native(connection.from_arrow(rows)))
        texts = {column: list(values) for column, (values, _) in source.values(list(pools)).items()}
        recodings = {column: rng.integers(-1 if column != "nothing" else 0, 3, len(texts[column])) for column in pools}
        codes, counts = source.count(recodings)
    recoded = (
        tuple(int(recodings[column][texts[column].index(text_of(value))]) for column, value in zip(pools, row))
        for row in zip(*drawn.values())
    )
    expected = Counter(row for row in recoded if min(row) >= 0)
    found = dict(zip(zip(*(codes[column].tolist() for column in pools)), counts.tolist()))
    assert found == expected
    assert found


COLUMNS = {
    "text": ["b", "a", None, "it's", "", "c", "a\x1f"] * 6 + ["rare"],
    "whole": [3, 1, 2, 3, None, 1, 7] * 6 + [99],
    "real": [0.5, 0.1, 1.0, None, float("nan"), 2.0, 0.5] * 6 + [1e300],
    "day": [date(2024, 1, 1), None, date(2023, 5, 6)] * 14 + [date(1800, 1, 1)],
    "missing": [None] * 43,
}
EXPECTED = Counter(tuple(map(text_of, row)) for row in zip(*COLUMNS.values()))


def counted(most: int) -> FewDistinctRows | None:
    table = pyarrow.table({f"v{place}": values for place, values in enumerate(COLUMNS.values())})
    connection = duckdb.connect()  # relations of older versions end with it
    return counted_by_first_values(connection.from_arrow(table), list(COLUMNS), most, "the table")


def all_of(up_to: FewDistinctRows | None) -> DistinctRows:
    assert up_to is not None
    assert up_to.rows is not None
    return up_to.rows


def rows_of(distinct: DistinctRows) -> Counter[tuple[str | None, ...]]:
    texts = [[distinct.values[column][code] for code in codes.tolist()] for column, codes in distinct.codes.items()]
    rows: Counter[tuple[str | None, ...]] = Counter()
    for row, count in zip(zip(*texts), distinct.counts.tolist()):
        assert row not in rows, "a distinct row comes once"
        rows[row] = count
    return rows


@pytest.mark.parametrize("first", [0, 1, 5, 30, 1000])
def test_rows_are_counted_alike_however_few_are_looked_at_first(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "_FIRST", first)
    monkeypatch.setattr(frames, "_FEW", 1)
    assert rows_of(all_of(counted(1000))) == EXPECTED


@pytest.mark.parametrize("first", [1, 1000])
def test_more_rows_than_fit_are_none_and_as_many_as_fit_are_all(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "_FIRST", first)
    monkeypatch.setattr(frames, "_FEW", 1)
    assert counted(len(EXPECTED) - 1) == FewDistinctRows(None)
    assert len(all_of(counted(len(EXPECTED)))) == len(EXPECTED)


def test_where_many_rows_have_other_values_or_a_column_has_many_it_is_left_to_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(frames, "_FIRST", 1)
    assert counted(1000) is None
    monkeypatch.setattr(frames, "_FIRST", 1000)
    monkeypatch.setattr(frames, "_MOST_IN_LIST", 3)
    assert counted(1000) is None


class _DeadJavaMachineError(Exception):
    def __str__(self) -> str:
        raise ConnectionRefusedError


@pytest.mark.parametrize("error", [ConnectionRefusedError(111, "refused"), _DeadJavaMachineError()])
def test_a_spark_that_ended_is_one_sentence(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a Java machine without memory leaves is an error about a connection, or one that cannot be written out."""
    monkeypatch.setitem(sys.modules, "pyspark", ModuleType("pyspark"))
    with pytest.raises(InputError, match=r"^people\.csv .*data\.memory"), engine_refusals("people.csv"):
        raise error


def test_a_spark_that_nobody_configured_takes_the_memory_of_the_config(tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="pyspark is not installed: make setup EXTRAS=dev,spark")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java 17, which is not installed: apt install openjdk-17-jre-headless")
    PEOPLE.to_csv(tmp_path / "people.csv", index=False)
    program = (
        "import sys\nfrom marginals import read_table\n"
        "read_table(sys.argv[1], {'age': 'quasi-identifier'}, engine='spark', memory=3_000 << 20)\n"
        "from pyspark.sql import SparkSession\n"
        "print(SparkSession.getActiveSession().conf.get('spark.driver.memory'))"
    )
    plain = {name: value for name, value in os.environ.items() if not name.startswith("SPARK")}
    command = [sys.executable, "-c", program, str(tmp_path / "people.csv")]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, env=plain)
    assert ran.stdout.splitlines()[-1] == "1500m"  # the other half is for what is counted
