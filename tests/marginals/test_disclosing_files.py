"""The engine that executes rules is the one that reads the table."""

from pathlib import Path

import pandas as pd
import pytest

import marginals
from marginals import DisclosureRule, TableSource
from marginals.disclosure import AsRead, disclose_rows, disclosing_engine
from marginals.example import attributes, frame
from marginals.output import OutputFile


def source(folder: Path, engine: str, name: str = "people.csv") -> TableSource:
    frame.to_csv(folder / name, index=False)
    return TableSource(origin=folder / name, attributes=attributes, engine=engine)


def test_an_engine_that_is_named_is_taken(tmp_path: Path) -> None:
    for engine in ("pandas", "duckdb"):
        assert disclosing_engine(source(tmp_path, engine)) == engine
    with pytest.raises(marginals.InputError, match="DuckDB or pandas"):
        disclosing_engine(source(tmp_path, "spark"))


def test_auto_takes_duckdb_where_it_can_read_the_files(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    assert disclosing_engine(source(tmp_path, "auto")) == "duckdb"
    assert disclosing_engine(source(tmp_path, "auto", "people.csv.bz2")) == "pandas"


def test_auto_takes_pandas_where_duckdb_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("marginals.disclosure.has_duckdb", lambda: False)
    assert disclosing_engine(source(tmp_path, "auto")) == "pandas"


def test_rows_are_written_in_the_order_that_is_asked_for(tmp_path: Path) -> None:
    rows = marginals.read_rows(frame, attributes)
    target = tmp_path / "disclosed.csv"
    assert disclose_rows(rows, [DisclosureRule("age", 2)], OutputFile(target, ()), AsRead()) == 48
    disclosed = pd.read_csv(target, dtype=str)
    assert disclosed["diagnosis"].tolist() == frame["diagnosis"].tolist()
    assert set(disclosed["age"]) == {"20-39", "40-59"}
