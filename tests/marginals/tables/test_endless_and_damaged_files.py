"""Whatever a file of a table, config or hierarchy is, it is read, or refused at once in one sentence and little memory."""

import bz2
import gzip
import io
import lzma
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from marginals import Attribute, InputError, read_config, read_hierarchy, read_rows, read_table
from marginals.bundle.writing import holds_bundle, require_replaceable

ATTRIBUTES: dict[str, Attribute | str] = {"age": "quasi-identifier", "disease": "sensitive"}
PEOPLE = pd.DataFrame({"age": ["31", "32", "33"] * 40, "disease": ["flu", "gout", "flu"] * 40})
CSV = PEOPLE.to_csv(index=False).encode()
ENGINES = ("pandas", "duckdb")
engines = pytest.mark.parametrize("engine", ENGINES)


@pytest.fixture(autouse=True)
def _only_what_is_installed(request: pytest.FixtureRequest) -> None:
    if "engine" in request.fixturenames and request.getfixturevalue("engine") == "duckdb":
        pytest.importorskip("duckdb")


def zipped(content: bytes) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as whole:
        whole.writestr("people.csv", content)
    return archive.getvalue()


COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    "gz": lambda content: gzip.compress(content, mtime=0),
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zip": zipped,
}
compressions = pytest.mark.parametrize("compression", COMPRESSIONS)


@compressions
def test_compressed_files_are_read(tmp_path: Path, compression: str) -> None:
    (tmp_path / f"people.csv.{compression}").write_bytes(COMPRESSIONS[compression](CSV))
    assert read_table(tmp_path / f"people.csv.{compression}", ATTRIBUTES).rows == 120


@compressions
@pytest.mark.parametrize("engine", ["auto", "pandas"])
def test_compressed_files_that_are_damaged_or_cut_off_are_one_sentence(
    tmp_path: Path, compression: str, engine: str
) -> None:
    """Cut off anywhere, or with other bytes in the middle: refused or, where no checksum tells, read."""
    content = COMPRESSIONS[compression](CSV)
    path = tmp_path / f"people.csv.{compression}"
    for size in range(0, len(content) - 12, 5):
        path.write_bytes(content[:size])
        with pytest.raises(InputError, match=rf"^people.csv.{compression} "):
            read_table(path, ATTRIBUTES, engine=engine)
    refused = 0
    for place in range(4, len(content) - 8, 5):
        path.write_bytes(content[:place] + b"\x55\xaa\x55" + content[place + 3 :])
        try:
            read_table(path, ATTRIBUTES, engine=engine)
        except InputError:
            refused += 1
    assert refused


def test_zstandard_without_its_package_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "people.csv.zst").write_bytes(b"\x28\xb5\x2f\xfd" + bytes(range(40)))
    with pytest.raises(InputError, match=r"^people.csv.zst (is compressed by Zstandard|cannot be read)"):
        read_table(tmp_path / "people.csv.zst", ATTRIBUTES)


@engines
@pytest.mark.parametrize("index", [["age"], ["age", "disease"]])
def test_an_index_that_pandas_wrote_to_parquet_is_columns(tmp_path: Path, engine: str, index: list[str]) -> None:
    people = PEOPLE.assign(sex="f")
    people.set_index(index).to_parquet(tmp_path / "people.parquet")
    assert read_table(tmp_path / "people.parquet", ATTRIBUTES, engine=engine).rows == 120
    assert len(read_rows(tmp_path / "people.parquet", ATTRIBUTES)) == 120


@engines
@pytest.mark.parametrize("kind", ["date32", "timestamp"])
def test_dates_that_the_calendar_lacks_are_refused_by_every_reader(tmp_path: Path, engine: str, kind: str) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    for number in (10**8, -(10**7)):
        days = pa.array([number, 3], pa.int32()).cast(pa.date32())
        values = days if kind == "date32" else days.cast(pa.timestamp("s"))
        pq.write_table(pa.table({"age": values, "disease": ["flu", "gout"]}), tmp_path / "people.parquet")
        for read in (lambda: read_table(tmp_path, ATTRIBUTES, engine=engine), lambda: read_rows(tmp_path, ATTRIBUTES)):
            with pytest.raises(InputError, match="holds a date or time that cannot be read; years go from 1 to 9999"):
                read()


@engines
@pytest.mark.parametrize("name", ["*", "a.b", 'a"b', "a b", "v0", "-"])
def test_a_column_of_any_name_is_that_column(tmp_path: Path, engine: str, name: str) -> None:
    """`*` stands for all columns in expressions of narwhals."""
    PEOPLE.assign(sex="f").rename(columns={"age": name}).to_csv(tmp_path / "people.csv", index=False)
    attributes = {name: "quasi-identifier", "sex": "quasi-identifier", "disease": "sensitive"}
    table = read_table(tmp_path / "people.csv", attributes, engine=engine)
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
        lambda: read_table(path, ATTRIBUTES),
        lambda: read_table(path, ATTRIBUTES, engine="pandas"),
        lambda: read_rows(path, ATTRIBUTES),
        lambda: read_hierarchy(path),
        lambda: read_config(path),
    ]
    for read in readers:
        with pytest.raises(InputError, match="it is not a file but a pipe or device"):
            read()


@pytest.mark.parametrize("kind", ["pipe", "link to a device"])
def test_a_folder_whose_descriptor_never_ends_holds_no_release(tmp_path: Path, kind: str) -> None:
    endless(tmp_path, kind).rename(tmp_path / "datapackage.json")
    assert not holds_bundle(tmp_path)
    with pytest.raises(InputError, match="contains files that are not part of a release"):
        require_replaceable(tmp_path)


@engines
def test_a_header_of_a_hundred_megabytes_is_not_parsed(tmp_path: Path, engine: str) -> None:
    (tmp_path / "people.csv").write_bytes(b"," * 120_000_000)
    with pytest.raises(InputError, match=r"the first line of people.csv is longer than the 1048576 bytes"):
        read_table(tmp_path / "people.csv", ATTRIBUTES, engine=engine)
    (tmp_path / "people.csv").write_bytes(b"," * 20_000 + b"\n")
    with pytest.raises(InputError, match="more than the 10,000 columns"):
        read_table(tmp_path / "people.csv", ATTRIBUTES, engine=engine)


def test_a_small_archive_of_an_endless_line_is_not_unpacked(tmp_path: Path) -> None:
    (tmp_path / "people.csv.gz").write_bytes(gzip.compress(bytes(50_000_000), 1))
    with pytest.raises(InputError, match=r"the first line of people.csv.gz is longer"):
        read_table(tmp_path / "people.csv.gz", ATTRIBUTES)
