"""DuckDB in this process: quiet, within its memory, and leaving nothing behind."""

import gc
import tempfile
from pathlib import Path

import pandas as pd
import pytest

from marginals.tables.source import read_table
from marginals.tables.sources.engine_files import with_duckdb
from marginals.tables.sources.files import files_of

pytest.importorskip("duckdb")


def test_nothing_is_printed_where_json_is_expected_and_memory_and_disk_are_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "people.csv").write_text("age\n31\n")
    source = with_duckdb(files_of(tmp_path / "people.csv"), ["age"], 200 << 20)
    names = ("enable_progress_bar", "memory_limit", "temp_directory", "TimeZone")
    asked = ", ".join(f"current_setting('{name}')" for name in names)
    bar, memory, folder, zone = source.frame.to_native().query("asked", f"SELECT {asked}").fetchall()[0]
    assert (bar, memory, Path(folder).parent, zone) == (False, "200.0 MiB", tmp_path, "UTC")


def test_the_temporary_copy_of_a_csv_file_goes_with_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "people.csv").write_text("age\n31\n")
    source = with_duckdb(files_of(tmp_path / "people.csv"), ["age"], 200 << 20)
    assert list(tmp_path.glob("marginals-*/*"))
    assert source.distinct_rows(["age"]).counts.tolist() == [1]
    del source
    gc.collect()
    assert not list(tmp_path.glob("marginals-*"))


def test_nothing_is_left_of_a_file_that_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "people.csv").write_text("age,sex\n31\n")
    with pytest.raises(ValueError, match=r"line 2 of people\.csv"):
        with_duckdb(files_of(tmp_path / "people.csv"), ["age"], 200 << 20)
    assert not list(tmp_path.glob("marginals-*"))


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
