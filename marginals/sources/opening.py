"""The source for whatever a user names: a file, a folder or pattern of files, or a data frame."""

from importlib.util import find_spec
from pathlib import Path

import pandas as pd

from marginals.errors import InputError
from marginals.sources.counted import Source
from marginals.sources.files import Files
from marginals.sources.frames import LazyFrames, PandasFrame
from marginals.sources.pandas_files import PandasFiles

ENGINES = ("auto", "pandas", "duckdb", "spark")
"""What reads files. "auto" is DuckDB where it is installed and pandas where it is not."""

_LARGE = 64 << 20
"""Bytes. Smaller tables are read by pandas in less time than another engine takes to start."""


def open_source(table: object, engine: str = "auto") -> Source:
    """The source of a path, or of a table in memory or in an engine: pandas, polars, pyarrow, DuckDB, Spark, Ibis.

    Raises InputError for an engine that is unknown or not installed, a path where nothing is, and what is no table.
    """
    if engine not in ENGINES:
        raise InputError(f"engine is {', '.join(map(repr, ENGINES))}, not {engine!r}")
    if isinstance(table, str | Path):
        return _opened(Files.at(Path(table)), engine)
    if isinstance(table, pd.DataFrame):
        return PandasFrame(table)
    return LazyFrames.of(table)


def _opened(files: Files, engine: str) -> Source:
    if engine == "auto":
        engine = "duckdb" if find_spec("duckdb") and files.size >= _LARGE else "pandas"
    if engine == "duckdb":
        from marginals.sources.duckdb_files import DuckDBFiles

        return DuckDBFiles.open(files)
    if engine == "spark":
        from marginals.sources.spark_files import spark_source

        return spark_source(files)
    return PandasFiles(files)
