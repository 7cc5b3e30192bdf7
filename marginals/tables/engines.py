"""DuckDB inside this process as a reader of files, and the files that it reads."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec
from math import inf
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast
from weakref import finalize

from marginals.errors import InputError, TooLittleMemoryError
from marginals.files import in_memory, on_disk
from marginals.tables.counts import is_called_a_count, likely_counts
from marginals.tables.csv_text import broken_row
from marginals.tables.distinct_rows import PandasFrame, Source, is_of_pandas
from marginals.tables.files import CsvFiles, Files, ParquetFiles, ProgramFile
from marginals.tables.frames import DuckRows, EagerFrame, LazyFrame, sql_name, sql_text
from marginals.tables.layout import Layout
from marginals.tables.opening import engine_refusals, not_in_utf8, require
from marginals.tables.spellings import OUTER, SPACES

if TYPE_CHECKING:
    import duckdb
    import pandas as pd


_NO_TEXT = "\x01"
"""Null of a CSV file in place of the empty text."""


def with_duckdb(files: CsvFiles | ParquetFiles, columns: Sequence[str], memory: int) -> DuckRows:
    """Rows with some columns of files, for DuckDB to count in at most `memory` bytes.

    No row is written to a file that has a name. CSV files are parsed once, into a Parquet file without a name, in
    memory where it surely fits. Each query reads a column or two of it. Where there are no such files, each query
    reads the CSV files. A count that needs more memory is done a part at a time, never on disk. Raises InputError
    where DuckDB is missing or refuses the files.
    """
    for library in ("duckdb", "pyarrow"):
        require(library, "duckdb", 'engine = "duckdb"')
    import duckdb

    files.check(columns)
    names = (
        columns if isinstance(files, CsvFiles) else [name for schema in files.schemas.values() for name in schema.names]
    )
    if len({name.lower() for name in names}) < len({*names}):
        raise InputError(
            f"{files.name} has columns whose names differ by case only, which DuckDB cannot tell apart; read it with "
            'engine = "pandas", or rename one'
        )
    held = ExitStack()
    connection = held.enter_context(connected(memory))
    connection.execute("SET preserve_insertion_order = false")  # counting needs no order, which would take memory
    with engine_refusals(files.name):
        try:
            if isinstance(files, CsvFiles):
                query = _parsed_once(connection, held, files, columns, memory)
            else:
                query = _parquet_query(files.paths, columns, _zones(files))
            rows = DuckRows(connection.sql(query), files.name, files)
        except BaseException as error:
            held.close()
            if isinstance(error, duckdb.Error):
                raise refusal_of(files, error) from None
            raise
    finalize(rows, held.close)
    return rows


def _parsed_once(
    connection: "duckdb.DuckDBPyConnection", held: ExitStack, files: CsvFiles, columns: Sequence[str], memory: int
) -> str:
    """Query that reads the rows of CSV files, which DuckDB or pandas has then parsed.

    `held`: resources that live as long as the rows.
    """
    rows, is_plain = _csv_query(files, columns, memory), all(_is_plain(files, path) for path in files.paths)
    try:
        copy = held.enter_context(in_memory() if 2 * unpacked_bytes(files) <= memory else on_disk())
    except OSError:
        if not is_plain:
            raise InputError(f'{files.name} cannot be read by DuckDB here; read it with engine = "pandas"') from None
        connection.execute(
            f"SELECT count(*) FROM ({rows})"
        ).fetchall()  # refuses the files now, not in the middle of the work
        return rows
    if not is_plain:
        _write_parsed(files, columns, copy)
        return _parquet_query([copy], columns)
    threads = connection.execute("SELECT current_setting('threads')").fetchall()[0][0]
    group = max(_VECTOR, min(60 * _VECTOR, memory // (_BYTES_OF_FIELD * threads * len(columns)) // _VECTOR * _VECTOR))
    form = f"FORMAT parquet, ROW_GROUP_SIZE {group}, USE_TMP_FILE false"
    connection.execute(f"COPY ({rows}) TO {sql_text(copy)} ({form})")
    return _parquet_query([copy], columns)


def _is_plain(files: CsvFiles, path: Path) -> bool:
    is_unpacked = path.suffix.lower() == ".gz" or _is_unpacked(path)
    return is_unpacked and files.form.recoded_from(path) is None and not files.scans[path].has_mixed_ends


def _write_parsed(files: CsvFiles, columns: Sequence[str], copy: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([(column, pa.string()) for column in columns])
    with pq.ParquetWriter(copy, schema) as writer:
        for chunk in (chunk for path in files.paths for chunk in files.chunks(path)):
            writer.write_table(pa.table([pa.array(chunk[column], pa.string()) for column in columns], schema=schema))


def unpacked_bytes(files: CsvFiles | ParquetFiles) -> int:
    """Approximate number of bytes of files, unpacked."""
    return sum(path.stat().st_size * (1 if _is_unpacked(path) else _UNPACKED) for path in files.paths)


def _is_unpacked(path: Path) -> bool:
    return path.suffix.lower() in (".csv", ".tsv", ".txt") or not path.suffixes


_UNPACKED = 10
"""Typical ratio of the size of a table unpacked to that in gzip or Parquet."""

_VECTOR = 2048
"""Rows that DuckDB handles at a time."""

_BYTES_OF_FIELD = 256
"""Memory for a field of the rows that DuckDB gathers for a part of a Parquet file, with all its overhead."""


@contextmanager
def connected(memory: int) -> "Iterator[duckdb.DuckDBPyConnection]":
    """Database of its own, which takes at most so many bytes of memory, and puts nothing on disk."""
    import duckdb

    # More than any machine has is more than DuckDB can spell.
    limit = f"{min(max(memory >> 20, 64), 1 << 30)}MiB"
    settings: dict[str, Any] = {"memory_limit": limit, "temp_directory": ""}
    with duckdb.connect(config=settings) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        with suppress(duckdb.InvalidInputException):  # a notebook without ipywidgets has no bar to switch off
            connection.execute("SET enable_progress_bar = false")  # it would go to standard output
        yield connection


_OFFSET = re.compile(r"([+-])([0-9]{2}):?([0-9]{2})")
"""A zone that is the same all the year."""


def _zones(files: ParquetFiles) -> dict[str, str]:
    """Zones of the columns whose times have one. DuckDB keeps instants, and would write them in its own."""
    fields = [field for schema in files.schemas.values() for field in schema]
    return {field.name: zone for field in fields if (zone := getattr(field.type, "tz", None))}


def _parquet_query(
    paths: Iterable[Path], columns: Sequence[str], zones: Mapping[str, str] = MappingProxyType({})
) -> str:
    """Query of some columns of Parquet files, times with a zone as local time."""

    def selection(column: str) -> str:
        name = sql_name(column)
        if column not in zones:
            return name
        if offset := _OFFSET.fullmatch(zones[column]):  # DuckDB has no zone of this name
            minutes = int(f"{offset[1]}1") * (60 * int(offset[2]) + int(offset[3]))
            return f"timezone('UTC', {name}) + to_minutes({minutes}) AS {name}"
        return f"timezone({sql_text(zones[column])}, {name}) AS {name}"

    selected = ", ".join(map(selection, columns))
    files = ", ".join(map(sql_text, paths))
    return f"SELECT {selected} FROM read_parquet([{files}], union_by_name = true, hive_partitioning = false)"


def _csv_query(files: CsvFiles, columns: Sequence[str], memory: int) -> str:
    buffer = max(_SMALLEST_BUFFER, min(16 * _SMALLEST_BUFFER, memory // 16))
    alike: dict[tuple[object, ...], list[Path]] = {}
    for path, layout in files.layouts.items():
        alike.setdefault((layout.names, layout.skipped, layout.separator), []).append(path)
    return " UNION ALL ".join(
        _query_of_layout(files.layouts[paths[0]], paths, columns, f"buffer_size = {buffer}") for paths in alike.values()
    )


_SMALLEST_BUFFER = 2 << 20
"""Least number of bytes of a CSV file that DuckDB reads at a time: a row may be as long."""


def _query_of_layout(layout: Layout, paths: Iterable[Path], columns: Sequence[str], settings: str) -> str:
    places = range(len(layout.names))
    selected = ", ".join(f"c{layout.names.index(column)} AS {sql_name(column)}" for column in columns)
    types = ", ".join(f"'c{place}': 'VARCHAR'" for place in places)
    rows = (
        f"read_csv([{', '.join(map(sql_text, paths))}], auto_detect = false, header = false, skip = {layout.skipped}, "
        f"delim = {sql_text(layout.separator)}, {settings}, quote = '\"', escape = '\"', "
        f"nullstr = {sql_text(_NO_TEXT)}, columns = {{{types}}})"
    )
    # A row without any value, as a line of commas, is about nobody.
    some = " OR ".join(f"trim(c{place}, {sql_text(SPACES + OUTER)}) <> ''" for place in places)
    return f"SELECT {selected} FROM {rows}" + (f" WHERE {some}" if len(places) > 1 else "")


def refusal_of(files: CsvFiles | ParquetFiles, error: "duckdb.Error") -> InputError:
    """Error for files that DuckDB refuses, without the rows that it quotes."""
    import duckdb

    if isinstance(error, duckdb.OutOfMemoryException):
        return TooLittleMemoryError(files.name)
    complaint = str(error)
    path = next((path for path in files.paths if str(path) in complaint), None)
    name = files.name if path is None else path.name
    if "unicode" in complaint or "utf-8" in complaint:
        return not_in_utf8(name)
    if path is not None and isinstance(files, CsvFiles) and (broken := broken_row(path, files.form)):
        return broken
    line = re.search(r"Line: (\d+)", complaint)
    where = f"line {line[1]} of {name}" if line else name
    return InputError(
        f"{where} cannot be read as a table ({type(error).__name__}); it must be CSV with a header, or Parquet, and all "
        "rows as long as the header"
    )


ENGINES = ("auto", "pandas", "duckdb")
"""Readers of files; "auto" is DuckDB where it is installed and the files are large, else pandas."""

LARGE = 8 << 20
"""Bytes of files from which DuckDB takes less time than pandas, as measured of tables of 10 to 56 columns."""

_TIMES_IN_MEMORY = 16
"""Typical ratio of the memory in which pandas counts a table to the size of its file."""


def machine_memory() -> int:
    """Bytes of memory of this machine; 4 GiB where it does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 4 << 30


def frame_source(frame: object, most: float = inf) -> Source:
    """Return the source for a frame of any library that narwhals supports. Raises InputError for anything else.

    `most`: distinct rows that fit into memory, of a frame whose rows are not there.
    """
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
    if isinstance(opened, nw.DataFrame):
        return EagerFrame(opened)
    return DuckRows(opened.to_native()) if opened.implementation.is_duckdb() else LazyFrame(opened, most)


def counts_column(origin: object) -> str | None:
    """Return the column of files, or of a frame, that most likely has the number of people of a row; else None."""
    if isinstance(origin, CsvFiles | ParquetFiles | ProgramFile):
        origin = origin.first_rows(_ROWS_OF_COUNTS) if any(map(is_called_a_count, origin.columns)) else None
    if origin is None:
        return None
    if not is_of_pandas(origin):
        import narwhals as nw

        frame: Any = nw.from_native(cast("Any", origin))
        if not any(map(is_called_a_count, frame.collect_schema().names())):
            return None
        first = frame.head(_ROWS_OF_COUNTS)
        table = (first.collect(backend="pyarrow") if isinstance(first, nw.LazyFrame) else first).to_arrow()
        origin = table.to_pandas()
    rows = cast("pd.DataFrame", origin)
    source = PandasFrame(rows.loc[:, ~rows.columns.duplicated()].head(_ROWS_OF_COUNTS))
    if any(map(is_called_a_count, source.columns)):
        with suppress(InputError):  # lists and the like
            return likely_counts(source.rows(source.columns))
    return None


_ROWS_OF_COUNTS = 10_000
"""Rows that decide whether a table is one of counts."""


def given_orders(frame: object) -> dict[str, tuple[str, ...]]:
    """Categories of each column of a frame that has them in an order, lowest first, where all are texts.

    >>> import pandas as pd
    >>> pain = pd.Categorical(["mild", "none"], categories=["none", "mild", "severe"], ordered=True)
    >>> given_orders(pd.DataFrame({"pain": pain, "town": ["Ulm", "Ely"]}))
    {'pain': ('none', 'mild', 'severe')}
    """
    categories_of: dict[str, Sequence[object]] = {}
    if is_of_pandas(frame):
        kinds = ((str(name), kind) for name, kind in frame.dtypes.items())
        categories_of = {name: kind.categories.tolist() for name, kind in kinds if getattr(kind, "ordered", None)}
    else:
        import narwhals as nw

        opened: Any = nw.from_native(frame)
        categories_of = {
            name: kind.categories for name, kind in opened.collect_schema().items() if isinstance(kind, nw.Enum)
        }
    return {
        name: tuple(map(str, categories))
        for name, categories in categories_of.items()
        if all(isinstance(category, str) for category in categories)
    }


_EXTRAS = ("duckdb", "polars", "ibis")


def file_source(files: Files, columns: Sequence[str], engine: str, memory: int) -> Source:
    """Source for some columns of files. `memory`: bytes that DuckDB may take.

    "auto" leaves small files, and those that DuckDB refuses, to pandas, which gives the same table. Raises InputError.
    """
    if isinstance(files, ProgramFile):
        if engine == "duckdb":
            raise InputError(f'{files.name} is read by pandas only; leave out engine = "duckdb", or save it as CSV')
        return files
    if engine == "duckdb":
        return with_duckdb(files, columns, memory)
    is_large = unpacked_bytes(files) > min(LARGE, memory // _TIMES_IN_MEMORY)
    if engine == "pandas" or not is_large or not all(map(find_spec, ("duckdb", "pyarrow"))):
        return files
    try:
        return with_duckdb(files, columns, memory)
    except InputError:
        return files
