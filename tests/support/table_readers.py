"""One table handed over in every way that is installed, limits of the readers set small, and the config that `init` writes.

A way that is not installed skips its test and says why.
"""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import Result

from command_line import run
from marginals.errors import TooLittleMemoryError
from marginals.tables import engines, files, workbook

WAYS = ("pandas", "polars", "polars lazy", "pyarrow", "csv", "folder of csv", "parquet", "duckdb", "ibis", "spark")


def spark_session() -> Any:
    """A session with two workers in this process; skips where pyspark or Java is missing.

    MARGINALS_SPARK names another master, such as local-cluster[2,1,1024] with workers in processes of their own.
    """
    sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed: make setup EXTRAS=dev,spark")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java 17, which is not installed: apt install openjdk-17-jre-headless")
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.showConsoleProgress": "false",
        # Tables are small: most of the time would go into making fast code, and plans, that run once.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.adaptive.enabled": "false",
    }
    return (
        sql.SparkSession.builder.master(os.environ.get("MARGINALS_SPARK", "local[2]"))
        .config(map=settings)
        .getOrCreate()
    )


CELL = 2 * 128
"""Bytes of `memory` for each distinct row that may be held: half is the engine's, half is for counting."""

LIMITS = {
    "_MOST_PARTS": engines,
    "_CELLS": files,
    "MOST_UNPACKED": workbook,
    "MOST_CELLS": workbook,
    "MOST_TEXT": workbook,
}
"""Sizes from which files are read otherwise or refused, with the modules that hold them."""


def set_limit(monkeypatch: pytest.MonkeyPatch, name: str, value: float) -> None:
    """Have the readers of tables take another way, or refuse, from this size on."""
    assert hasattr(LIMITS[name], name)
    monkeypatch.setattr(LIMITS[name], name, value)


def run_out_of_memory(monkeypatch: pytest.MonkeyPatch, most: int) -> list[str]:
    """Have the engine run out of memory where it counts more than so many rows; returns what is asked from now on."""
    fetched, asked = engines.CodedRows._fetched, []

    def short_of_memory(self: engines.CodedRows, query: str) -> Any:
        asked.append(query)
        if len(table := fetched(self, query)) > most:
            raise TooLittleMemoryError(self.name)
        return table

    monkeypatch.setattr(engines.CodedRows, "_fetched", short_of_memory)
    return asked


def run_init(table: Path, *options: str, status: int | None = None) -> Result:
    """Run `init` on a table; the config is release.toml beside it, written anew. status: the one that it must end with."""
    return run("init", table, "--out", table.with_name("release.toml"), "--force", *options, status=status)


def handed_over(frame: pd.DataFrame, way: str, folder: Path) -> Any:
    """The table as this way takes it; files are written to the folder."""
    csv, parquet = folder / "table.csv", folder / "table.parquet"
    frame.to_csv(csv, index=False)
    frame.to_parquet(parquet, index=False)
    ways: dict[str, Callable[[], Any]] = {
        "pandas": lambda: frame,
        "polars": lambda: pytest.importorskip("polars").read_parquet(parquet),
        "polars lazy": lambda: pytest.importorskip("polars").scan_parquet(parquet),
        "pyarrow": lambda: pytest.importorskip("pyarrow.parquet").read_table(parquet),
        "csv": lambda: csv,
        "folder of csv": lambda: _in_parts(frame, folder),
        "parquet": lambda: parquet,
        "duckdb": lambda: pytest.importorskip("duckdb").sql(f"FROM read_parquet('{parquet}')"),
        "ibis": lambda: _ibis_duckdb().read_parquet(parquet),
        "spark": lambda: spark_session().read.parquet(str(parquet)),
    }
    return ways[way]()


def _ibis_duckdb() -> Any:
    pytest.importorskip("duckdb")
    return pytest.importorskip("ibis").duckdb.connect()


def _in_parts(frame: pd.DataFrame, folder: Path) -> Path:
    parts = folder / "parts"
    parts.mkdir()
    half = len(frame) // 2
    frame[:half].to_csv(parts / "a.csv", index=False)
    frame[half:][frame.columns[::-1]].to_csv(parts / "b.csv", index=False)
    return parts
