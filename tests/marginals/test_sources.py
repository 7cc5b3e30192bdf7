"""Whatever reads a table, the counts are the same, and so is the bundle, byte for byte."""

import shutil
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import marginals
from marginals.config import read_hierarchy
from marginals.errors import InputError
from marginals.sources import open_source
from marginals.table import Table

ROLES = {"code": "quasi-identifier", "age": "quasi-identifier", "born": "quasi-identifier", "ill": "sensitive"}


def made(rows: int = 400, seed: int = 0) -> pd.DataFrame:
    """Texts with leading zeros, quotes and spaces; whole numbers, some of them missing; days; truth values."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 22, rows).astype(float)
    age[rng.random(rows) < 0.05] = np.nan
    return pd.DataFrame(
        {
            "code": rng.choice(["007", "7", ' "a, b" ', "", "?", "NA"], rows),
            "age": age,
            "born": rng.choice([date(2020, 1, 1), date(2021, 2, 3)], rows),
            "ill": rng.random(rows) < 0.5,
            "unused": rng.random(rows),
        }
    )


def as_text(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame as a CSV file holds it."""
    age = frame["age"].map(lambda value: "" if np.isnan(value) else str(int(value)))
    return frame.assign(age=age).astype(str)


def in_two_parts(frame: pd.DataFrame, folder: Path, write: Callable[[pd.DataFrame, Path], None]) -> Path:
    folder.mkdir()
    write(frame[:150], folder / "1")
    write(frame[150:], folder / "2")
    return folder


def to_csv(frame: pd.DataFrame, path: Path) -> None:
    as_text(frame).to_csv(path.with_suffix(".csv"), index=False, encoding="utf-8-sig")


def to_parquet(frame: pd.DataFrame, path: Path) -> None:
    frame.to_parquet(path.with_suffix(".parquet"))


def sources(frame: pd.DataFrame, folder: Path) -> dict[str, tuple[Any, str]]:
    """The same rows for every engine that is installed."""
    to_csv(frame, folder / "t")
    to_parquet(frame, folder / "t")
    csvs, parquets = in_two_parts(frame, folder / "csvs", to_csv), in_two_parts(frame, folder / "parquets", to_parquet)
    found: dict[str, tuple[Any, str]] = {
        "pandas frame": (frame, "auto"),
        "categories": (frame.astype({frame.columns[0]: "category"}), "auto"),
    }
    for engine in ("pandas", "duckdb"):
        found |= {
            f"{engine} {path.name}": (path, engine) for path in (folder / "t.csv", folder / "t.parquet", csvs, parquets)
        }
        found |= {f"{engine} pattern": (folder / "csvs" / "*.csv", engine)}
    polars = pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    duckdb = pytest.importorskip("duckdb")
    arrow = pyarrow.Table.from_pandas(frame, preserve_index=False)
    found |= {
        "polars": (polars.from_arrow(arrow), "auto"),
        "polars lazy": (polars.from_arrow(arrow).lazy(), "auto"),
        "pyarrow": (arrow, "auto"),
        "pyarrow dictionary": (
            arrow.set_column(0, frame.columns[0], arrow[0].dictionary_encode()),
            "auto",
        ),
        "duckdb": (duckdb.connect().read_parquet(str(folder / "t.parquet")), "auto"),
    }
    return found


def content(table: Table) -> tuple[Any, ...]:
    labels = [hierarchy.labels for _, hierarchy in table.domain.items()]
    return labels, [c.tolist() for c in table.counts.codes], table.counts.counts.tolist(), table.missing


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_every_engine_counts_the_same(tmp_path: Path) -> None:
    frame = made()
    expected = None
    for name, (source, engine) in sources(frame, tmp_path).items():
        found = content(marginals.read_table(source, ROLES, missing=["?", ""], engine=engine))
        expected = expected or found
        assert found == expected, name
    assert expected is not None
    missing = frame["code"].isin(["", "?"]) | frame["age"].isna()
    assert expected[-1] == missing.sum() > 0
    assert sum(expected[-2]) == len(frame) - missing.sum()


def test_an_empty_text_is_a_value_unless_it_stands_for_nothing(tmp_path: Path) -> None:
    to_csv(made(), tmp_path / "t")
    tables = [
        marginals.read_table(tmp_path / "t.csv", {"code": "sensitive"}, missing=["?"], engine=engine)
        for engine in ("pandas", "duckdb")
    ]
    assert content(tables[0]) == content(tables[1])
    assert "" in tables[0].domain.hierarchy("code").labels[0]


@pytest.mark.data
def test_every_engine_publishes_the_same_bundle_of_adult(shared_data: Path, tmp_path: Path) -> None:
    adult = shared_data / "adult"
    attributes = {"occupation": marginals.Attribute("sensitive")} | {
        name: marginals.Attribute("quasi-identifier", read_hierarchy(adult / "hierarchies" / f"{name}.csv"))
        for name in ("race", "sex", "age", "marital-status")
    }
    policy = marginals.Policy(k_link=6, k_combinatorial=6, diversity="entropy:6")
    read = sources(pd.read_csv(adult / "adult.csv"), tmp_path)
    read |= {f"{engine} of the file itself": (adult / "adult.csv", engine) for engine in ("pandas", "duckdb")}
    bundles = []
    for name, (source, engine) in read.items():
        folder = tmp_path / "bundles" / name
        marginals.publish(marginals.read_table(source, attributes, engine=engine), policy).write(folder)
        bundles.append(files(folder))
    assert len(bundles) > 10
    assert all(bundle == bundles[0] for bundle in bundles)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # within Ibis, about DuckDB
def test_ibis_counts_the_same(tmp_path: Path) -> None:
    ibis = pytest.importorskip("ibis", reason="Ibis is not installed")
    to_parquet(made(), tmp_path / "t")
    table = ibis.duckdb.connect().read_parquet(str(tmp_path / "t.parquet"))
    expected = content(marginals.read_table(made(), ROLES, missing=["?", ""]))
    assert content(marginals.read_table(table, ROLES, missing=["?", ""])) == expected


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # within Spark
@pytest.mark.parametrize("master", ["local[2]", "local-cluster[2,1,1024]"])
def test_spark_counts_the_same(master: str, tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="Spark is not installed")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java, which is not installed")
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master(master).config("spark.ui.enabled", "false").getOrCreate()
    try:
        to_csv(made(), tmp_path / "t")
        to_parquet(made(), tmp_path / "t")
        expected = content(marginals.read_table(made(), ROLES, missing=["?", ""]))
        for source in (tmp_path / "t.csv", tmp_path / "t.parquet"):
            assert content(marginals.read_table(source, ROLES, missing=["?", ""], engine="spark")) == expected
        frame = session.read.parquet(str(tmp_path / "t.parquet"))
        assert content(marginals.read_table(frame, ROLES, missing=["?", ""])) == expected
    finally:
        session.stop()


@pytest.mark.parametrize("engine", ["pandas", "duckdb"])
class TestBadInput:
    """One sentence that names the file and the column, and no value."""

    def test_a_column_missing_in_one_file(self, engine: str, tmp_path: Path) -> None:
        folder = in_two_parts(made(), tmp_path / "parts", to_csv)
        as_text(made()).drop(columns="age").to_csv(folder / "3.csv", index=False)
        with pytest.raises(InputError, match=r"3\.csv has no column 'age', which 1\.csv has"):
            marginals.read_table(folder, ROLES, engine=engine)

    def test_types_that_differ_between_files(self, engine: str, tmp_path: Path) -> None:
        folder = in_two_parts(made(), tmp_path / "parts", to_parquet)
        to_parquet(made().assign(age="x"), folder / "3")
        with pytest.raises(InputError, match=r"the column 'age' is .* in 3\.parquet and .* in 1\.parquet"):
            marginals.read_table(folder, ROLES, engine=engine)

    def test_a_damaged_parquet_file(self, engine: str, tmp_path: Path) -> None:
        to_parquet(made(), tmp_path / "t")
        whole = (tmp_path / "t.parquet").read_bytes()
        (tmp_path / "t.parquet").write_bytes(whole[:-20])
        with pytest.raises(InputError, match=r"t\.parquet (is damaged|cannot be read)"):
            marginals.read_table(tmp_path / "t.parquet", ROLES, engine=engine)

    def test_a_csv_file_whose_lines_differ_in_length(self, engine: str, tmp_path: Path) -> None:
        (tmp_path / "t.csv").write_text("a,b\n1,2\n1,2,3\n" + "1,2\n" * 50)
        with pytest.raises(InputError, match=r"t\.csv cannot be read"):
            marginals.read_table(tmp_path / "t.csv", {"a": "sensitive"}, engine=engine)

    def test_a_value_that_its_hierarchy_lacks(self, engine: str, tmp_path: Path) -> None:
        (tmp_path / "t.csv").write_text("a,b\n1,2\n3,2\nsecret,2\n")
        intervals = marginals.Attribute("quasi-identifier", intervals=[5])
        with pytest.raises(InputError, match="the value in row 3 is not a whole number") as caught:
            marginals.read_table(tmp_path / "t.csv", {"a": intervals}, engine=engine)
        assert "secret" not in str(caught.value)

    def test_files_of_two_kinds(self, engine: str, tmp_path: Path) -> None:
        to_csv(made(), tmp_path / "1")
        to_parquet(made(), tmp_path / "2")
        with pytest.raises(InputError, match="CSV and Parquet"):
            marginals.read_table(tmp_path, ROLES, engine=engine)

    def test_nothing_there(self, engine: str, tmp_path: Path) -> None:
        for path in (tmp_path, tmp_path / "none.csv", tmp_path / "*.csv"):
            with pytest.raises(InputError, match="there is no table"):
                marginals.read_table(path, ROLES, engine=engine)


def test_too_little_memory_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("duckdb")
    many = np.random.default_rng(0).integers(0, 10**9, 200_000).astype(str)
    to_csv(pd.DataFrame({"age": np.nan, "code": many}), tmp_path / "t")
    monkeypatch.setattr("marginals.sources.duckdb_files.MEMORY", "1MB")
    with pytest.raises(InputError, match="do not fit in 1MB"):
        open_source(tmp_path / "t.csv", "duckdb").counted(["code"])


def test_an_engine_that_is_not_installed_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    to_csv(made(), tmp_path / "t")
    monkeypatch.setattr("marginals.sources.duckdb_files.find_spec", lambda _: None)
    with pytest.raises(InputError, match="pip install duckdb"):
        marginals.read_table(tmp_path / "t.csv", ROLES, engine="duckdb")
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    monkeypatch.setitem(sys.modules, "pyspark.errors", None)
    with pytest.raises(InputError, match="pip install pyspark"):
        marginals.read_table(tmp_path / "t.csv", ROLES, engine="spark")


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(InputError, match="not int"):
        marginals.read_table(3, ROLES)
    with pytest.raises(InputError, match="engine is"):
        marginals.read_table("t.csv", ROLES, engine="abacus")
