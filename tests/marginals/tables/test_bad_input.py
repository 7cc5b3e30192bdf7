"""Bad files, missing engines and too little memory are one sentence each, which names what helps and quotes no value."""

import gzip
import sys
from pathlib import Path

import pandas as pd
import pytest

from marginals import Attribute, InputError, read_config, read_table
from marginals.tables import engines
from table_readers import spark_session

ATTRIBUTES: dict[str, Attribute | str] = {"age": "quasi-identifier", "disease": "sensitive"}
PEOPLE = pd.DataFrame({"age": ["31", "32", "33"], "disease": ["flu", "secret", "flu"]})
ENGINES = ("pandas", "duckdb")
every_engine = pytest.mark.parametrize("engine", ENGINES)


@pytest.fixture(autouse=True)
def _only_what_is_installed(request: pytest.FixtureRequest) -> None:
    if "engine" in request.fixturenames and request.getfixturevalue("engine") == "duckdb":
        pytest.importorskip("duckdb")


def refusal(source: object, engine: str = "auto", attributes: dict[str, Attribute | str] = ATTRIBUTES) -> str:
    with pytest.raises(InputError) as caught:
        read_table(source, attributes, engine=engine)
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


@every_engine
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_column_that_one_file_of_a_folder_lacks(tmp_path: Path, engine: str, suffix: str) -> None:
    write(tmp_path / f"a.{suffix}", PEOPLE)
    write(tmp_path / f"b.{suffix}", PEOPLE.rename(columns={"age": "years"}))
    said = refusal(tmp_path, engine)
    assert said == f"b.{suffix} has no column 'age', which a.{suffix} has"


@every_engine
def test_types_that_differ_between_files(tmp_path: Path, engine: str) -> None:
    write(tmp_path / "a.parquet", PEOPLE)
    write(tmp_path / "b.parquet", PEOPLE.astype({"age": int}))
    said = refusal(tmp_path / "*.parquet", engine)
    assert said == ("column 'age' is whole numbers in b.parquet and text in a.parquet; make it the same in all files")


@every_engine
def test_types_that_differ_in_width_alone_or_hold_nothing_are_one_type(tmp_path: Path, engine: str) -> None:
    whole = PEOPLE.astype({"age": "int64"})
    write(tmp_path / "a.parquet", whole.astype({"age": "int16"}))
    write(tmp_path / "b.parquet", whole.astype({"age": "int64", "disease": "category"}))
    write(tmp_path / "c.parquet", whole.assign(disease=None))
    table = read_table(tmp_path, ATTRIBUTES, engine=engine)
    assert dict(table.counts.cells()) == {("31", "flu"): 2, ("32", "secret"): 2, ("33", "flu"): 2}
    assert table.missing == 3


@every_engine
def test_a_damaged_parquet_file(tmp_path: Path, engine: str) -> None:
    path = write(tmp_path / "people.parquet", PEOPLE)
    path.write_bytes(path.read_bytes()[:-9])
    said = refusal(tmp_path, engine)
    assert said.startswith("people.parquet cannot be read as a table")
    assert said.endswith("its Parquet footer or pages are damaged; write it again")


@every_engine
def test_csv_and_parquet_in_one_folder_and_a_folder_or_glob_of_nothing(tmp_path: Path, engine: str) -> None:
    assert "there is no table at" in refusal(tmp_path, engine)
    assert "there is no table at" in refusal(tmp_path / "*.csv", engine)
    write(tmp_path / "a.csv", PEOPLE)
    write(tmp_path / "b.parquet", PEOPLE)
    assert "both CSV and Parquet" in refusal(tmp_path, engine)


WHOLE = "age,disease,sex\n31,flu,f\n" + "32,,m\n33,secret,\n" * 3
BROKEN = {
    "cut after a field": (WHOLE + "34,flu", 9, "fewer fields"),
    "cut in a field, line ended": (WHOLE + "34,fl\n", 9, "fewer fields"),
    "cut in the first field": (WHOLE + "3", 9, "fewer fields"),
    "short in the middle": (WHOLE + "\n34,secret\n35,flu,f\n", 10, "fewer fields"),
    "short with other line ends": (WHOLE.replace("\n", "\r\n") + "34,flu", 9, "fewer fields"),
    "short after a field of two lines": (WHOLE + '34,"flu\nsecret",f\n35\n', 11, "fewer fields"),
    "cut in a quoted field": (WHOLE + '34,"sec', 9, "a quoted field"),
    "cut in the last field, quoted": (WHOLE + '34,flu,"sec', 9, "a quoted field"),
    "cut in a quoted field, line ended": (WHOLE + '34,flu,"secret\n', 9, "a quoted field"),
    "cut in a quoted field of two lines": (WHOLE + '34,flu,"secret\n3', 9, "a quoted field"),
    "cut after a doubled quote": (WHOLE + '34,flu,"secret""', 9, "a quoted field"),
    "open quote early": (WHOLE + '34,flu,"secret\n' + "35,flu,f\n" * 30_000, 9, "a quoted field"),
    "long": (WHOLE + "34,flu,f,secret\n", 9, "more fields"),
    "long first row": ("age,disease,sex\n31,flu,f,secret\n" + WHOLE, 2, "more fields"),
}
"""A text, the line at which its broken row begins, and what is said of it."""


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["pandas", "duckdb", "auto", pytest.param("spark", marks=pytest.mark.slow)])
def test_a_file_that_is_cut_off_is_refused_by_every_engine_with_one_sentence(tmp_path: Path, engine: str) -> None:
    """Nothing is taken from it: which columns are used makes no difference."""
    if engine == "spark":
        spark_session()
    elif engine == "auto":
        pytest.importorskip("duckdb")
    for name, (text, line, what) in BROKEN.items():
        (tmp_path / "people.csv").write_text(text, newline="")
        for attributes in (ATTRIBUTES, {"age": "quasi-identifier"}):
            said = refusal(tmp_path / "people.csv", engine, attributes)
            assert said.startswith(f"line {line} of people.csv has {what}"), (name, said)


@every_engine
def test_a_compressed_file_and_one_of_a_folder_are_refused_too(tmp_path: Path, engine: str) -> None:
    parts = tmp_path / "parts"
    parts.mkdir()
    (parts / "a.csv").write_text(WHOLE)
    (parts / "b.csv").write_text(WHOLE + "34,secret")
    (tmp_path / "c.csv.gz").write_bytes(gzip.compress((WHOLE + "34,secret").encode()))
    for path, name in ((parts, "b.csv"), (tmp_path / "c.csv.gz", "c.csv.gz")):
        assert refusal(path, engine).startswith(f"line 9 of {name} has fewer fields")


@every_engine
def test_rows_that_end_with_nothing_and_lines_that_hold_nothing_are_no_broken_rows(tmp_path: Path, engine: str) -> None:
    text = WHOLE + '\n34,"flu ""A"" or\nB",\n35,flu,""\n\n36,flu,'
    (tmp_path / "people.csv").write_text(text)
    assert read_table(tmp_path / "people.csv", {"age": "quasi-identifier"}, engine=engine).rows == 10


@every_engine
def test_a_value_is_found_in_its_file(tmp_path: Path, engine: str) -> None:
    write(tmp_path / "a.csv", PEOPLE)
    write(tmp_path / "b.csv", PEOPLE.assign(age=["1", "secret", "2"]))
    said = refusal(tmp_path, engine, ATTRIBUTES | {"age": Attribute("quasi-identifier", intervals=[10])})
    assert "column 'age'" in said
    assert "the value in row 2 of b.csv is not a whole number" in said


def test_what_the_strict_reader_refuses_is_read_by_pandas_unless_duckdb_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("duckdb")
    monkeypatch.setattr(engines, "LARGE", 0)
    texts = {
        "quote in a field": ('age,disease\n31,"fl"u\n', "has rows that DuckDB's strict CSV reader refuses"),
        "empty line": ("\n\nage,disease\n31,flu\n", "begins with an empty line, where DuckDB needs the header"),
    }
    for name, (text, reason) in texts.items():
        path = tmp_path / f"{name}.csv"
        path.write_text(text)
        asked = [read_table(path, ATTRIBUTES, engine=engine) for engine in ("auto", "pandas")]
        for table in asked:
            assert dict(table.counts.cells()) == {("31", "flu"): 1}
        assert [table.left_to_pandas for table in asked] == [f"{name}.csv {reason}", ""]
        assert f"{name}.csv" in refusal(path, "duckdb")


def test_compressed_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "people.csv.gz").write_bytes(gzip.compress(PEOPLE.to_csv(index=False).encode()))
    PEOPLE.to_csv(tmp_path / "more.csv.xz", index=False)
    for name in ("people.csv.gz", "more.csv.xz"):
        assert read_table(tmp_path / name, ATTRIBUTES).rows == 3


@pytest.mark.parametrize(
    ("engine", "library", "extra"), [("duckdb", "duckdb", "duckdb"), ("spark", "pyspark", "spark")]
)
def test_an_engine_that_is_not_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str, library: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    path = write(tmp_path / "people.csv", PEOPLE)
    said = refusal(path, engine)
    assert (
        said == f'engine = "{engine}" needs {library}: pip install ".[{extra}]" in a checkout of anonymized-marginals'
    )
    assert read_table(path, ATTRIBUTES, engine="pandas").rows == 3


def test_without_any_engine_files_are_read_by_pandas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for library in ("duckdb", "narwhals", "polars", "pyarrow"):
        monkeypatch.setitem(sys.modules, library, None)
    path = write(tmp_path / "people.csv", PEOPLE)
    assert read_table(path, ATTRIBUTES).rows == 3
    (tmp_path / "x.parquet").write_bytes(b"")
    assert refusal(tmp_path / "x.parquet") == (
        'x.parquet is Parquet; reading it needs pyarrow: pip install ".[parquet]" in a checkout of anonymized-marginals'
    )


@pytest.mark.slow
def test_a_frame_without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(PEOPLE.to_dict("list"))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    install = 'pip install ".[polars]" in a checkout of anonymized-marginals'
    assert refusal(frame) == f"a table of polars needs pyarrow: {install}"


def test_no_table_at_all() -> None:
    assert refusal(object()).startswith("a object is no table; give a path, or a frame of pandas")


def test_lists_are_no_values() -> None:
    pa = pytest.importorskip("pyarrow")
    nested = pa.table({"age": [[1], [2]], "disease": ["flu", "flu"]})
    assert "'age' of the table holds lists" in refusal(nested)
    assert "'age' of the table holds lists" in refusal(nested.to_pandas().assign(age=[[1], [2]]))
    polars, duckdb = pytest.importorskip("polars"), pytest.importorskip("duckdb")
    assert "'age' of the table holds lists" in refusal(polars.from_arrow(nested).lazy())
    assert "'age' of the table holds lists" in refusal(duckdb.connect().from_arrow(nested))


def test_too_little_memory_names_the_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "people.csv", PEOPLE)

    def too_large(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(pd, "factorize", too_large)
    said = refusal(path, "pandas")
    assert said.startswith("people.csv needs more memory")
    assert "data.memory" in said


@pytest.mark.slow
def test_the_memory_limit_of_duckdb_is_kept_and_named() -> None:
    duckdb = pytest.importorskip("duckdb")
    relation = duckdb.connect(config={"memory_limit": "20MB", "max_temp_directory_size": "0B"}).sql(
        "SELECT 'x' || i AS age, 'flu' AS disease FROM range(3000000) t(i)"
    )
    said = refusal(relation)
    assert said.startswith("the table needs more memory")
    assert "data.memory" in said


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('engine = "oracle"', "data.engine must be 'auto' or 'pandas' or 'duckdb' or 'spark'"),
        ('memory = "much"', 'data.memory must be a size such as "500 MB" or "3 GB"'),
        ("memory = 3", 'data.memory must be a size such as "500 MB" or "3 GB"'),
    ],
)
def test_settings_that_make_no_sense(tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / "release.toml"
    path.write_text(f'[data]\npath = "people.csv"\n{line}\n[attributes.age]\nrole = "sensitive"\n')
    with pytest.raises(InputError, match=said):
        read_config(path)
    path.write_text(path.read_text().replace(line, 'engine = "pandas"\nmemory = "3 GB"'))
    assert (read_config(path).source.engine, read_config(path).source.memory) == ("pandas", 3_000_000_000)
