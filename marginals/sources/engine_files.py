"""Files that an engine reads: DuckDB inside this process, or Spark."""

import gzip
import re
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import finalize

from marginals.errors import InputError
from marginals.sources.files import CsvFiles, ParquetFiles
from marginals.sources.narwhals_frame import LazyFrame
from marginals.sources.refusal import engine_refusals, require, too_little_memory

if TYPE_CHECKING:
    import duckdb
    from pyspark.sql import DataFrame, SparkSession

_NO_TEXT = "\x01"
"""What is taken for null in a CSV file instead of the empty text."""


def duckdb_reads(files: CsvFiles | ParquetFiles) -> bool:
    """Whether DuckDB has the means to read files: it knows no compression but gzip, and takes the first line as header."""
    if isinstance(files, ParquetFiles):
        return True
    return all(
        path.suffix.lower() in (".csv", ".tsv", ".txt", ".gz") or not path.suffixes for path in files.paths
    ) and not any(map(_begins_empty, files.paths))


def _begins_empty(path: Path) -> bool:
    with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as lines:
        return not lines.readline().removeprefix(b"\xef\xbb\xbf").strip()


def with_duckdb(files: CsvFiles | ParquetFiles, columns: Sequence[str], memory: int) -> LazyFrame:
    """Some columns of files, for DuckDB to count in at most `memory` bytes; it may put more on disk.

    CSV files are copied once to a temporary Parquet file, which is removed with the frame: each question reads a column
    or two of it, and parses nothing again. Raises InputError where DuckDB is missing or refuses the files.
    """
    require("duckdb", "duckdb", 'engine = "duckdb"')
    require("pyarrow", "duckdb", 'engine = "duckdb"')
    import duckdb
    import narwhals as nw

    files.check(columns)
    if not duckdb_reads(files):
        raise InputError(f'{files.name} is compressed, or begins with an empty line; read it with engine = "pandas"')
    folder = tempfile.mkdtemp(prefix="marginals-")
    settings: dict[str, Any] = {
        "memory_limit": f"{max(memory >> 20, 64)}MiB",
        "temp_directory": folder,
        "preserve_insertion_order": False,
    }
    connection = duckdb.connect(config=settings)
    connection.execute("SET TimeZone = 'UTC'")
    with suppress(duckdb.InvalidInputException):  # a notebook without ipywidgets has no bar to switch off
        connection.execute("SET enable_progress_bar = false")  # it would go to standard output
    with engine_refusals(files.name):
        try:
            query = rows_query(files, columns)
            if isinstance(files, CsvFiles):
                copy = Path(folder) / "rows.parquet"
                connection.execute(f"COPY ({query}) TO {_quoted(copy)} (FORMAT parquet)")
                query = _parquet_query([copy], columns)
            frame = LazyFrame(nw.from_native(connection.sql(query)), files.name, files)
        except duckdb.Error as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise _refusal(files, error) from None
    finalize(frame, _release, connection, folder)
    return frame


def rows_query(files: CsvFiles | ParquetFiles, columns: Sequence[str]) -> str:
    """All rows of some columns of files, as a query for DuckDB; values of CSV files are texts, empty ones too."""
    return _csv_query(files, columns) if isinstance(files, CsvFiles) else _parquet_query(files.paths, columns)


def _release(connection: "duckdb.DuckDBPyConnection", folder: str) -> None:
    connection.close()
    shutil.rmtree(folder, ignore_errors=True)


def _quoted(text: object) -> str:
    return "'" + str(text).replace("'", "''") + "'"


def _name(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def _parquet_query(paths: Iterable[Path], columns: Sequence[str]) -> str:
    shown = ", ".join(map(_name, columns))
    files = ", ".join(map(_quoted, paths))
    return f"SELECT {shown} FROM read_parquet([{files}], union_by_name = true, hive_partitioning = false)"


def _csv_query(files: CsvFiles, columns: Sequence[str]) -> str:
    """All rows of the files as texts; files whose headers differ are read one header at a time."""
    headers: dict[tuple[str, ...], list[Path]] = {}
    for path, header in files.headers.items():
        headers.setdefault(tuple(header), []).append(path)
    return " UNION ALL ".join(
        _query_of_header(header, paths, columns, files.separator) for header, paths in headers.items()
    )


def _query_of_header(header: Sequence[str], paths: Iterable[Path], columns: Sequence[str], separator: str) -> str:
    shown = ", ".join(f"c{header.index(column)} AS {_name(column)}" for column in columns)
    types = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(header)))
    form = f"header = true, delim = {_quoted(separator)}, quote = '\"', escape = '\"', nullstr = {_quoted(_NO_TEXT)}"
    files = ", ".join(map(_quoted, paths))
    return f"SELECT {shown} FROM read_csv([{files}], auto_detect = false, {form}, columns = {{{types}}})"


def _refusal(files: CsvFiles | ParquetFiles, error: "duckdb.Error") -> InputError:
    """What DuckDB refuses in files, without the rows that it quotes."""
    import duckdb

    if isinstance(error, duckdb.OutOfMemoryException):
        return too_little_memory(files.name)
    said = str(error)
    name = next((path.name for path in files.paths if str(path) in said), files.name)
    if "unicode" in said or "utf-8" in said:
        return InputError(f"{name} is not in UTF-8; convert it first")
    line = re.search(r"Line: (\d+)", said)
    where = f"line {line[1]} of {name}" if line else name
    return InputError(
        f"{where} cannot be read as a table ({type(error).__name__}); it must be CSV with a header, or Parquet, and all "
        "rows as long as the header"
    )


def with_spark(files: CsvFiles | ParquetFiles, columns: Sequence[str]) -> LazyFrame:
    """Some columns of files, for Spark to count: in the session that is active, or a new one as Spark is configured.

    Raises InputError where pyspark or Java is missing.
    """
    require("pyspark", "spark", 'engine = "spark"')
    import narwhals as nw
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    files.check(columns)
    try:
        session = SparkSession.builder.appName("marginals").getOrCreate()
    except (PySparkException, OSError):
        raise InputError('engine = "spark" could not start Spark, which needs Java 17') from None
    with engine_refusals(files.name):
        paths = [str(path.absolute()) for path in files.paths]
        rows = _spark_csv(session, files, columns) if isinstance(files, CsvFiles) else session.read.parquet(*paths)
        shown = rows.select(*(f"`{column.replace('`', '``')}`" for column in columns))
        return LazyFrame(nw.from_native(shown), files.name, files)


def _spark_csv(session: "SparkSession", files: CsvFiles, columns: Sequence[str]) -> "DataFrame":
    from pyspark.sql import functions

    def rows(path: Path) -> "DataFrame":
        header = files.headers[path]
        schema = ", ".join(f"c{i} STRING" for i in range(len(header)))
        form: dict[str, Any] = {"sep": files.separator, "header": True, "quote": '"', "escape": '"'}
        form |= {"mode": "FAILFAST", "multiLine": True}
        read = session.read.csv(str(path.absolute()), schema, nullValue=_NO_TEXT, enforceSchema=True, **form)
        texts = (functions.coalesce(f"c{header.index(column)}", functions.lit("")) for column in columns)
        return read.select(*(text.alias(column) for text, column in zip(texts, columns)))

    return reduce(lambda a, b: a.unionAll(b), map(rows, files.paths))
