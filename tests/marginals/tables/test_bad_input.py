"""Bad, damaged and endless files, missing engines and too little memory: each is one sentence that quotes no value."""

import gzip
import os
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pandas as pd
import pytest

from malformed_inputs import COMPRESSIONS
from marginals import Attribute, InputError, example, read_config, read_hierarchy, read_rows, read_table

ATTRIBUTES: dict[str, Attribute | str] = {"age": "quasi-identifier", "disease": "sensitive"}
PEOPLE = pd.DataFrame({"age": ["31", "32", "33"], "disease": ["flu", "secret", "flu"]})


def refusal(source: object, attributes: dict[str, Attribute | str] = ATTRIBUTES) -> str:
    with pytest.raises(InputError) as caught:
        read_table(source, attributes)
    said = str(caught.value)
    assert "\n" not in said
    assert "secret" not in said
    return said


def write(path: Path, frame: pd.DataFrame) -> Path:
    path.parent.mkdir(exist_ok=True)
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path)
    return path


def test_files_of_a_folder_that_differ_in_columns(tmp_path: Path) -> None:
    for suffix in ("csv", "parquet"):
        write(tmp_path / suffix / f"a.{suffix}", PEOPLE)
        write(tmp_path / suffix / f"b.{suffix}", PEOPLE.rename(columns={"age": "years"}))
        assert f"b.{suffix} has no column 'age'" in refusal(tmp_path / suffix)


def test_values_of_a_column_are_alike_whatever_their_type_in_each_file(tmp_path: Path) -> None:
    whole = PEOPLE.astype({"age": "int64"})
    write(tmp_path / "a.parquet", whole.astype({"age": "int16"}))
    write(tmp_path / "d.parquet", PEOPLE)
    write(tmp_path / "b.parquet", whole.astype({"age": "int64", "disease": "category"}))
    write(tmp_path / "c.parquet", whole.assign(disease=None))
    table = read_table(tmp_path, ATTRIBUTES)
    assert dict(table.counts.cells()) == {("31", "flu"): 3, ("32", "secret"): 3, ("33", "flu"): 3}
    assert table.missing == 3


def test_csv_and_parquet_in_one_folder_damaged_files_and_a_folder_or_glob_of_nothing(tmp_path: Path) -> None:
    assert "there is no table at" in refusal(tmp_path)
    assert "there is no table at" in refusal(tmp_path / "*.csv")
    path = write(tmp_path / "b.parquet", PEOPLE)
    path.write_bytes(path.read_bytes()[:-9])
    assert refusal(tmp_path).startswith("b.parquet cannot be read as a table")
    write(tmp_path / "a.csv", PEOPLE)
    assert "both CSV and Parquet" in refusal(tmp_path)


WHOLE = "age,disease,sex\n31,flu,f\n" + "32,,m\n33,secret,\n" * 3


def test_a_compressed_file_and_one_of_a_folder_are_named_if_they_are_cut_off(tmp_path: Path) -> None:
    (tmp_path / "c.csv.gz").write_bytes(gzip.compress((WHOLE + "34,secret").encode()))
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "a.csv").write_text(WHOLE)
    (tmp_path / "parts" / "b.csv").write_text(WHOLE + "34,secret")
    for path, name in ((tmp_path / "c.csv.gz", "c.csv.gz"), (tmp_path / "parts", "b.csv")):
        assert refusal(path).startswith(f"line 9 of {name} has fewer fields")


def test_rows_that_end_with_nothing_and_lines_that_hold_nothing_are_no_broken_rows(tmp_path: Path) -> None:
    text = WHOLE + '\n34,"flu ""A"" or\nB",\n35,flu,""\n\n36,flu,'
    (tmp_path / "people.csv").write_text(text)
    assert read_table(tmp_path / "people.csv", {"age": "quasi-identifier"}).rows == 10


def test_a_value_is_found_in_its_file(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", PEOPLE)
    write(tmp_path / "b.csv", PEOPLE.assign(age=["1", "secret", "2"]))
    said = refusal(tmp_path, ATTRIBUTES | {"age": Attribute("quasi-identifier", intervals=[10])})
    assert "column 'age'" in said
    assert "the value in row 2 of b.csv is not a whole number" in said


def test_without_another_library_files_are_read_by_pandas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pytest.importorskip("polars").DataFrame(PEOPLE.to_dict("list"))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert 'pip install ".[polars]"' in refusal(frame)
    for library in ("duckdb", "narwhals", "polars"):
        monkeypatch.setitem(sys.modules, library, None)
    assert read_table(write(tmp_path / "people.csv", PEOPLE), ATTRIBUTES).rows == 3
    (tmp_path / "x.parquet").write_bytes(b"")
    assert 'pip install ".[parquet]"' in refusal(tmp_path / "x.parquet")


def test_too_little_memory_names_the_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "people.csv", PEOPLE)

    def too_large(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(pd, "factorize", too_large)
    assert "data.memory" in refusal(path)


def test_the_memory_limit_of_duckdb_is_kept_and_named() -> None:
    duckdb = pytest.importorskip("duckdb")
    relation = duckdb.connect(config={"memory_limit": "20MB", "max_temp_directory_size": "0B"}).sql(
        "SELECT 'x' || i AS age, 'flu' AS disease FROM range(3000000) t(i)"
    )
    assert "data.memory" in refusal(relation)


MANY = pd.DataFrame({"age": ["31", "32", "33"] * 40, "disease": ["flu", "gout", "flu"] * 40})
CSV = MANY.to_csv(index=False).encode()


@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_compressed_files_are_read_and_refused_if_they_are_damaged_or_cut_off(tmp_path: Path, suffix: str) -> None:
    """With other bytes in the middle they are refused or, where no checksum tells, read."""
    content = COMPRESSIONS[suffix](CSV)
    path = tmp_path / f"people.csv{suffix}"
    path.write_bytes(content)
    assert read_table(path, ATTRIBUTES).rows == 120
    for size in range(0, len(content) - 12, 5):
        path.write_bytes(content[:size])
        with pytest.raises(InputError, match=rf"^people.csv{suffix} "):
            read_table(path, ATTRIBUTES)
    refused = 0
    for place in range(4, len(content) - 8, 5):
        path.write_bytes(content[:place] + b"\x55\xaa\x55" + content[place + 3 :])
        try:
            read_table(path, ATTRIBUTES)
        except InputError:
            refused += 1
    assert refused


@pytest.mark.parametrize("suffix", [".bz2", ".xz", ".zst"])
def test_other_compressions_are_refused_with_what_to_do(suffix: str, tmp_path: Path) -> None:
    (tmp_path / f"people.csv{suffix}").write_bytes(CSV)
    with pytest.raises(InputError, match=rf"^people.csv{suffix} is compressed .* gzip or zip"):
        read_table(tmp_path / f"people.csv{suffix}", ATTRIBUTES)


@pytest.mark.parametrize("index", [["age"], ["age", "disease"]])
def test_an_index_that_pandas_wrote_to_parquet_is_columns(tmp_path: Path, index: list[str]) -> None:
    people = MANY.assign(sex="f")
    people.set_index(index).to_parquet(tmp_path / "people.parquet")
    assert read_table(tmp_path / "people.parquet", ATTRIBUTES).rows == 120
    assert len(read_rows(tmp_path / "people.parquet", ATTRIBUTES)) == 120


@pytest.mark.parametrize("kind", ["date32", "timestamp"])
def test_dates_that_the_calendar_lacks_are_refused_by_every_reader(tmp_path: Path, kind: str) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    for number in (10**8, -(10**7)):
        days = pa.array([number, 3], pa.int32()).cast(pa.date32())
        values = days if kind == "date32" else days.cast(pa.timestamp("s"))
        pq.write_table(pa.table({"age": values, "disease": ["flu", "gout"]}), tmp_path / "people.parquet")
        for read in (lambda: read_table(tmp_path, ATTRIBUTES), lambda: read_rows(tmp_path, ATTRIBUTES)):
            with pytest.raises(InputError, match=r"date or time .*9999"):
                read()


def test_times_of_several_zones_are_not_one_column(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    for file, zone in (("a", "UTC"), ("b", "Europe/Vienna")):
        values = pa.array([datetime(2000, 1, 1)], pa.timestamp("us", zone))
        pq.write_table(pa.table({"age": values, "disease": ["flu"]}), tmp_path / f"{file}.parquet")
    said = "'age' has times in the zone Europe/Vienna in b.parquet and in the zone UTC in a.parquet"
    assert said in refusal(tmp_path)


@pytest.mark.parametrize("name", ["*", "a.b", 'a"b', "a b", "v0", "-"])
def test_a_column_of_any_name_is_that_column(tmp_path: Path, name: str) -> None:
    MANY.assign(sex="f").rename(columns={"age": name}).to_csv(tmp_path / "people.csv", index=False)
    attributes = {name: "quasi-identifier", "sex": "quasi-identifier", "disease": "sensitive"}
    table = read_table(tmp_path / "people.csv", attributes)
    assert dict(table.counts.cells()) == {("31", "f", "flu"): 40, ("32", "f", "gout"): 40, ("33", "f", "flu"): 40}


def endless(folder: Path, kind: str) -> Path:
    if kind == "pipe":
        os.mkfifo(folder / "people.csv")
        return folder / "people.csv"
    if kind == "link to a device":
        (folder / "people.csv").symlink_to("/dev/zero")
        return folder / "people.csv"
    return Path("/dev/zero")


@pytest.mark.parametrize("kind", ["pipe", "device", "link to a device"])
def test_pipes_and_devices_are_not_waited_for(tmp_path: Path, kind: str) -> None:
    path = endless(tmp_path, kind)
    readers: list[Callable[[], object]] = [
        lambda: read_table(path, ATTRIBUTES), lambda: read_rows(path, ATTRIBUTES),
        lambda: read_hierarchy(path), lambda: read_config(path),
    ]  # fmt: skip
    for read in readers:
        with pytest.raises(InputError, match="pipe or device"):
            read()


@pytest.mark.parametrize("kind", ["pipe", "link to a device"])
def test_a_folder_whose_descriptor_never_ends_is_not_replaced(tmp_path: Path, kind: str) -> None:
    endless(tmp_path, kind).rename(tmp_path / "datapackage.json")
    with pytest.raises(InputError, match="not part of a release"):
        example.release.write(tmp_path)


def test_a_header_of_a_hundred_megabytes_is_not_parsed(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_bytes(b"," * 120_000_000)
    with pytest.raises(InputError, match=r"first line of people.csv .* 1048576 characters"):
        read_table(tmp_path / "people.csv", ATTRIBUTES)
    (tmp_path / "people.csv").write_bytes(b"," * 20_000 + b"\n")
    with pytest.raises(InputError, match="10,000 columns"):
        read_table(tmp_path / "people.csv", ATTRIBUTES)
    (tmp_path / "people.csv.gz").write_bytes(gzip.compress(bytes(50_000_000), 1))
    with pytest.raises(InputError, match=r"first line of people.csv.gz"):
        read_table(tmp_path / "people.csv.gz", ATTRIBUTES)
