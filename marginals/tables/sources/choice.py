"""Which source a table is read by: what it is decides, and for files what is installed or asked for."""

import os
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from marginals.errors import InputError
from marginals.tables.sources.distinct_rows import Source
from marginals.tables.sources.engine_files import beyond_duckdb, unpacked_bytes, with_duckdb, with_spark
from marginals.tables.sources.files import CsvFiles, Files, ParquetFiles
from marginals.tables.sources.narwhals_frame import EagerFrame, LazyFrame
from marginals.tables.sources.pandas_frame import PandasFrame, is_of_pandas
from marginals.tables.sources.program_file import ProgramFile
from marginals.tables.sources.refusal import require

ENGINES = ("auto", "pandas", "duckdb", "spark")
"""What can read files; "auto" is DuckDB where it is installed and the files are large, else pandas."""

LARGE = 8 << 20
"""Bytes of files from which DuckDB takes less time than pandas, as measured of tables of 10 to 56 columns."""

_TIMES_IN_MEMORY = 16
"""Times that a table takes more memory while pandas counts it than its file has bytes, for most tables."""


def machine_memory() -> int:
    """Bytes of memory that this machine has; 4 GiB where it does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 4 << 30


def frame_source(frame: object) -> Source:
    """The source for a frame of any library that narwhals knows. Raises InputError for anything else."""
    if is_of_pandas(frame):
        return PandasFrame(frame)
    import narwhals as nw

    try:
        opened: Any = nw.from_native(frame)
    except TypeError:
        raise InputError(
            f"a {type(frame).__name__} is no table; give a path, or a frame of pandas, polars, pyarrow, DuckDB, Spark "
            "or Ibis"
        ) from None
    library = str(opened.implementation.value)
    require("pyarrow", library if library in _EXTRAS else "parquet", f"a table of {library}")
    return LazyFrame(opened) if isinstance(opened, nw.LazyFrame) else EagerFrame(opened)


_EXTRAS = ("duckdb", "polars", "ibis")


def left_to_pandas(files: Files, engine: str, memory: int) -> str:
    """Why "auto" had pandas read files though they are DuckDB's, which takes less time and memory; empty where not so.

    files: read by pandas. memory: bytes that DuckDB might have taken.
    """
    if engine != "auto" or isinstance(files, ProgramFile) or not _for_duckdb(files, memory):
        return ""
    return beyond_duckdb(files) or f"{files.name} has rows that DuckDB's strict CSV reader refuses"


def _for_duckdb(files: CsvFiles | ParquetFiles, memory: int) -> bool:
    """Whether files are large, of themselves or for the memory, and DuckDB is installed: small ones pandas reads sooner."""
    size = unpacked_bytes(files)
    return size > min(LARGE, memory // _TIMES_IN_MEMORY) and _has_duckdb()


def _has_duckdb() -> bool:
    return find_spec("duckdb") is not None and find_spec("pyarrow") is not None


def file_source(files: Files, columns: Sequence[str], engine: str, memory: int) -> Source:
    """The source for some columns of files. memory: bytes that DuckDB, or a Spark that nobody configured, may take.

    Small files and what DuckDB's strict CSV reader refuses, "auto" leaves to pandas, which gives the same table. Raises
    InputError.
    """
    if isinstance(files, ProgramFile):
        if engine in ("duckdb", "spark"):
            raise InputError(f'{files.name} is read by pandas only; leave out engine = "{engine}", or save it as CSV')
        return files
    if engine == "spark":
        return with_spark(files, columns, memory)
    if engine == "duckdb":
        return with_duckdb(files, columns, memory)
    if engine == "pandas" or not _for_duckdb(files, memory) or beyond_duckdb(files):
        return files
    try:
        return with_duckdb(files, columns, memory)
    except InputError:
        return files
