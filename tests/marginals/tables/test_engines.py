"""DuckDB in this process is quiet, within its memory, and leaves no row in a file that anybody else could open."""

import gc
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd
import pytest

from marginals import Attribute, InputError, Table, read_table
from models import equal_cells
from table_readers import CELL, run_out_of_memory, set_limit

duckdb = pytest.importorskip("duckdb")
pyarrow = pytest.importorskip("pyarrow")
pytest.importorskip("pyarrow.parquet")

PEOPLE = pd.DataFrame(
    [(str(20 + i % 50), ["f", "m", "f", ""][i % 4], f"t{i % 7}") for i in range(1000)], columns=["age", "sex", "town"]
)
ROLES = {name: Attribute("quasi-identifier", missing="as a value") for name in PEOPLE}
MARGINS: list[dict[str, int]] = [{"age": 0}, {"sex": 0}, {"age": 0, "sex": 0}]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def open_files() -> list[str]:
    return [str(link.readlink()) for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]


def read(folder: Path, cells: int) -> Table:
    """The table, of whose distinct rows, which are more, so many fit into memory: each margin is counted by DuckDB."""
    PEOPLE.to_csv(folder / "people.csv", index=False)
    table = read_table(folder / "people.csv", ROLES, memory=cells * CELL)
    assert table.out_of_core is not None
    return table


def assert_is_counted(table: Table) -> None:
    whole = read_table(PEOPLE, ROLES)
    for margin in MARGINS:
        mask = whole.domain.mask(margin)
        assert equal_cells([table.cube.table(mask), whole.cube.table(mask)])


def test_nothing_is_printed_where_json_is_expected_and_memory_and_disk_are_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connections, connect = [], duckdb.connect

    def kept(*arguments: Any, **settings: Any) -> Any:
        connections.append(connect(*arguments, **settings))
        return connections[-1]

    monkeypatch.setattr(duckdb, "connect", kept)
    table = read(tmp_path, 300)
    names = ("enable_progress_bar", "memory_limit", "temp_directory")
    asked = ", ".join(f"current_setting('{name}')" for name in names)
    found = connections[0].execute(f"SELECT {asked}").fetchall()[0]
    assert found == (False, "64.0 MiB", ""), "without a folder nothing is put on disk"
    assert table.rows == 1000


def test_rows_are_in_no_file_with_a_name_and_go_with_the_table(tmp_path: Path, place: Path) -> None:
    table = read(tmp_path, 80)
    assert any(link.startswith(f"{place}/#") for link in open_files())
    assert_is_counted(table)
    assert not list(place.iterdir())
    held = len(open_files())
    del table
    gc.collect()
    assert len(open_files()) < held


def test_a_refusal_leaves_nothing_open(tmp_path: Path, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gc.collect()
    held = len(open_files())
    (tmp_path / "people.csv").write_text("age,sex,town\n31\n")
    with pytest.raises(InputError, match=r"line 2 of people\.csv"):
        read_table(tmp_path / "people.csv", ROLES)
    monkeypatch.setattr("marginals.files._OPEN_FILES", tmp_path / "none")
    with pytest.raises(
        InputError, match=r"people\.csv has more distinct rows .* No file without a name .*data\.memory"
    ):
        read(tmp_path, 80)
    assert len(open_files()) == held
    assert not list(place.iterdir())


def test_what_does_not_fit_into_memory_is_counted_in_parts(
    tmp_path: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No row twice, none left out, and nothing on disk: as many parts as the least memory needs."""
    table = read(tmp_path, 300)
    asked = run_out_of_memory(monkeypatch, 20)
    assert_is_counted(table)
    assert len(asked) > 4
    assert not list(place.iterdir())
    set_limit(monkeypatch, "_MOST_PARTS", 2)
    with pytest.raises(InputError, match=r"data\.memory"):
        assert_is_counted(read(tmp_path, 300))


@pytest.mark.parametrize("marks", ["", "\x1f", "\x1f\x1e\x1d\x1c"])
def test_values_come_back_whatever_is_in_them(tmp_path: Path, marks: str) -> None:
    """They are handed to DuckDB as one text, between marks that no value holds."""
    texts = ["it's", '"quoted"', "a,b", "[1]", "%s {x}", "a b", "é\\n", *(f"a{mark}b" for mark in marks)]
    pd.DataFrame({"text": texts * 2}).to_csv(tmp_path / "people.csv", index=False)
    table = read_table(tmp_path / "people.csv", {"text": "quasi-identifier"})
    assert dict(table.counts.cells()) == {(text,): 2 for text in texts}


def test_a_spark_that_ended_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    polars = pytest.importorskip("polars")

    def ended(*_: object, **__: object) -> None:
        raise ConnectionRefusedError(111, "refused")

    monkeypatch.setitem(sys.modules, "pyspark", ModuleType("pyspark"))
    monkeypatch.setattr("narwhals.LazyFrame.collect", ended)
    with pytest.raises(InputError, match=r"^the table .*spark\.driver\.memory"):
        read_table(polars.from_pandas(PEOPLE).lazy(), {"age": "quasi-identifier"})
