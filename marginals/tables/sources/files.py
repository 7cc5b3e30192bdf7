"""Files of one table: one file, a folder or a glob of them, CSV or Parquet; looked at before anything is read."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from marginals.errors import InputError
from marginals.tables.sources.arrow_table import counted, decoded, distinct_rows_of, rows_of, texts_of
from marginals.tables.sources.broken_rows import broken_row
from marginals.tables.sources.compressed import PARQUET, reading, require_files
from marginals.tables.sources.csv_form import COMMAS, SEPARATORS, CsvForm, likely_encoding
from marginals.tables.sources.distinct_rows import DistinctRows, merged
from marginals.tables.sources.pandas_frame import PandasFrame
from marginals.tables.sources.program_file import ProgramFile, is_program_file
from marginals.tables.sources.refusal import require

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_CSV = (".csv", ".csv.gz", ".csv.bz2", ".csv.xz", ".csv.zip", ".csv.zst")
_CHUNK = 1_000_000
"""Rows that are read at a time, so that a table larger than memory can be counted."""


def files_of(path: Path, form: CsvForm = COMMAS) -> "Files":
    """The files that a path stands for: itself, all CSV or Parquet files in a folder, or what a glob finds.

    form: of CSV files. Raises InputError where there is no table, where CSV and Parquet are mixed, or for several files of
    which a spreadsheet or statistics program wrote one.
    """
    paths = _paths(path)
    if not paths:
        raise InputError(f"there is no table at {path}")
    require_files(paths)
    if foreign := [file for file in paths if is_program_file(file)]:
        if len(paths) > 1:
            raise InputError(
                f"{foreign[0].name} is one of {len(paths)} files of {path}; only CSV and Parquet can be several"
            )
        return ProgramFile(foreign[0])
    parquet = [file for file in paths if file.suffix.lower() in PARQUET]
    if parquet and len(parquet) < len(paths):
        raise InputError(f"{path} holds both CSV and Parquet files; a table is of one kind")
    return ParquetFiles(path.name, tuple(paths)) if parquet else CsvFiles(path.name, tuple(paths), form)


def is_part(path: Path, file: Path) -> bool:
    """Whether a file is one of those that a path stands for, by whatever link, or would be once it is written."""
    if path.is_dir():
        joins = _is_table(file) and file.resolve().is_relative_to(path.resolve())
    else:
        joins = file.resolve() == path.resolve() or (not path.exists() and file.resolve().match(str(path.resolve())))
    return joins or (file.exists() and any(file.samefile(part) for part in files_at(path)))


def files_at(path: Path) -> list[Path]:
    """The files that a path stands for, sorted; none where there is none."""
    return [file for file in _paths(path) if file.exists()]


def _is_table(file: Path) -> bool:
    return file.name.lower().endswith((*PARQUET, *_CSV)) and not file.name.startswith((".", "_"))


def _paths(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(file for file in path.rglob("*") if _is_table(file))
    if path.exists():
        return [path]
    return (
        sorted(Path(path.anchor).glob(str(path.relative_to(path.anchor)))) if any(c in str(path) for c in "*?[") else []
    )


def read_frame(path: Path, form: CsvForm = COMMAS) -> "pd.DataFrame":
    """All rows of a table in memory: CSV, every value as text, or Parquet; one file, a folder or a glob of them.

    Raises InputError for anything else.
    """
    return frame_of(files_of(path, form))


def frame_of(files: "Files") -> "pd.DataFrame":
    """All rows of files in memory. Raises InputError for what cannot be read."""
    import pandas as pd

    if isinstance(files, ProgramFile):
        return files.frame
    columns = list(files.columns)
    files.check(columns)
    if isinstance(files, CsvFiles):
        parts = [chunk for file in files.paths for chunk in _chunks(file, files.form)]
    else:
        parts = [_parquet_frame(file) for file in files.paths]
    return pd.concat([part[columns] for part in parts], ignore_index=True)


def _parquet_frame(path: Path) -> "pd.DataFrame":
    """All columns; those that pandas wrote as an index are columns like others."""
    import pyarrow.parquet as pq

    with reading(path):
        # Days as times, whose years pandas does not bound; whole numbers beside null as they are.
        plain = pq.read_table(path).to_pandas(ignore_metadata=True, date_as_object=False, integer_object_nulls=True)
        return cast("pd.DataFrame", plain)


@dataclass(frozen=True)
class CsvFiles:
    """CSV files with headers; all values are texts, and an empty one is the empty text.

    The header of every file is looked at; columns may stand in another order. Reading is by pandas, in chunks.
    """

    name: str
    paths: tuple[Path, ...]
    form: CsvForm = COMMAS

    @cached_property
    def headers(self) -> Mapping[Path, Sequence[str]]:
        """The header of each file. Raises InputError where one cannot be read, or has another separator."""
        return {path: _header(path, self.form) for path in self.paths}

    @property
    def columns(self) -> Sequence[str]:
        """The columns of the first file."""
        return self.headers[self.paths[0]]

    def check(self, columns: Sequence[str]) -> None:
        """Raise InputError for a column that some file lacks, or has twice."""
        for path, header in self.headers.items():
            for column in columns:
                _check_column(path, column, header, self.paths[0])

    def first_rows(self, count: int) -> "pd.DataFrame":
        """Rows at the beginning of the first file, at most so many."""
        return next(_unchecked_chunks(self.paths[0], self.form, count)).head(count)

    def distinct_rows(self, columns: Sequence[str]) -> DistinctRows:
        """The distinct rows of some columns."""
        self.check(columns)
        return merged(
            PandasFrame(chunk, path.name).distinct_rows(columns)
            for path in self.paths
            for chunk in _chunks(path, self.form)
        )

    def rows_in_order(self, columns: Sequence[str]) -> Iterator[DistinctRows]:
        """All rows of some columns, a piece of a file at a time."""
        self.check(columns)
        for path in self.paths:
            for chunk in _chunks(path, self.form):
                yield PandasFrame(chunk, path.name).rows(columns)

    def place(self, column: str, text: str) -> str | None:
        """The first row with a value, and the file where there are several."""
        return _place(self.paths, text, lambda path: (chunk[column] for chunk in _chunks(path, self.form)))


@dataclass(frozen=True)
class ParquetFiles:
    """Parquet files; the schema of every one is looked at. Reading is by pyarrow, in batches."""

    name: str
    paths: tuple[Path, ...]

    @cached_property
    def schemas(self) -> "Mapping[Path, pa.Schema]":
        """The schema of each file. Raises InputError where one cannot be read."""
        require("pyarrow", "parquet", f"{self.name} is Parquet; reading it")
        return {path: _schema(path) for path in self.paths}

    @property
    def columns(self) -> Sequence[str]:
        """The columns of the first file."""
        names: list[str] = self.schemas[self.paths[0]].names
        return names

    def check(self, columns: Sequence[str]) -> None:
        """Raise InputError for a column that some file lacks, has twice, or has as another type than the first."""
        first, kinds = self.paths[0], dict[str, tuple[Path, str]]()
        for path, schema in self.schemas.items():
            for column in columns:
                _check_column(path, column, schema.names, first)
                kind = _kind(schema.field(column).type)
                before, other = kinds.setdefault(column, (path, kind)) if kind != "null" else (path, kind)
                if other != kind:
                    raise InputError(
                        f"column {column!r} is {kind} in {path.name} and {other} in {before.name}; "
                        "make it the same in all files"
                    )

    def distinct_rows(self, columns: Sequence[str]) -> DistinctRows:
        """The distinct rows of some columns."""
        self.check(columns)
        return merged(part for path in self.paths for part in self._parts(path, columns))

    def rows_in_order(self, columns: Sequence[str]) -> Iterator[DistinctRows]:
        """All rows of some columns, a batch at a time."""
        self.check(columns)
        for path in self.paths:
            for batch in _batches(path, columns):
                yield rows_of(batch, columns, path.name)

    def place(self, column: str, text: str) -> str | None:
        """The first row with a value, and the file where there are several."""
        import pandas as pd

        return _place(self.paths, text, lambda path: (pd.Series(_texts(b)) for b in _batches(path, [column])))

    def _parts(self, path: Path, columns: Sequence[str]) -> Iterator[DistinctRows]:
        for batch in _batches(path, columns):
            yield distinct_rows_of(counted(batch, columns, path.name), columns, path.name)


Files: TypeAlias = CsvFiles | ParquetFiles | ProgramFile


def _check_column(path: Path, column: str, columns: Sequence[str], first: Path) -> None:
    if columns.count(column) > 1:
        raise InputError(f"{path.name} has two columns of the name {column!r}")
    if column not in columns:
        besides = f", which {first.name} has" if path != first else ""
        raise InputError(f"{path.name} has no column {column!r}{besides}")


def _place(paths: Sequence[Path], text: str, chunks: Callable[[Path], Iterable["pd.Series[Any]"]]) -> str | None:
    for path in paths:
        begin = 0
        for chunk in chunks(path):
            rows = np.flatnonzero((chunk == text).to_numpy())
            if len(rows):
                return f"row {begin + int(rows[0]) + 1}" + (f" of {path.name}" if len(paths) > 1 else "")
            begin += len(chunk)
    return None


def _header(path: Path, form: CsvForm) -> list[str]:
    with reading(path):
        form.require_short_header(path)
        header = _line(path, form, 0)
        better = _other_separator(path, form) if len(header) == 1 else None
    if better:
        raise InputError(
            f"columns of {path.name} look separated by {json.dumps(better)}, not {json.dumps(form.separator)}; "
            f"set data.separator = {json.dumps(better)}"
        )
    return header


def likely_form(path: Path) -> CsvForm:
    """How the CSV files of a table are written, as far as the first one tells: its encoding, and by its first lines the
    separator, else the comma. Of other files the form that is not used.
    """
    files = files_of(path)
    if not isinstance(files, CsvFiles):
        return COMMAS
    first = files.paths[0]
    form = CsvForm(encoding=likely_encoding(first))
    with reading(first):
        form.require_short_header(first)
        one_column = len(_line(first, form, 0)) == 1
        return replace(form, separator=(_other_separator(first, form) if one_column else None) or ",")


def _other_separator(path: Path, form: CsvForm) -> str | None:
    """The separator by which the first line falls into several columns, and the second, if there is one, into as many."""
    import pandas as pd

    for other in SEPARATORS:
        otherwise = replace(form, separator=other)
        if other != form.separator and (count := len(_line(path, otherwise, 0))) > 1:
            with suppress(pd.errors.EmptyDataError):
                if len(_line(path, otherwise, 1)) != count:
                    continue
            return other
    return None


def _line(path: Path, form: CsvForm, number: int) -> list[str]:
    import pandas as pd

    with form.opened(path) as stream:
        line = pd.read_csv(
            stream,
            sep=form.separator,
            header=None,
            skiprows=number,
            nrows=1,
            dtype=str,
            keep_default_na=False,
            encoding="utf-8-sig",
        )
    return [str(field) for field in line.iloc[0]]


def _chunks(path: Path, form: CsvForm) -> "Iterator[pd.DataFrame]":
    """The file in pieces. Raises InputError for rows that are shorter or longer than the header."""
    is_whole = False
    for chunk in _unchecked_chunks(path, form, _CHUNK):
        if not is_whole and "" in set(chunk.iloc[:, -1]):
            # pandas fills a short row up with empty texts.
            if broken := broken_row(path, form):
                raise broken
            is_whole = True
        yield chunk


def _unchecked_chunks(path: Path, form: CsvForm, rows: int) -> "Iterator[pd.DataFrame]":
    """The file in pieces, short rows filled up. Raises InputError for rows that are longer than the header."""
    import pandas as pd

    header = _header(path, form)
    with (
        _rows_refused(path, form),
        form.opened(path) as stream,
        pd.read_csv(
            stream,
            sep=form.separator,
            dtype=str,
            keep_default_na=False,
            encoding="utf-8-sig",
            chunksize=rows,
            index_col=None,
        ) as chunks,
    ):
        for chunk in chunks:
            if not isinstance(chunk.index, pd.RangeIndex):
                raise ValueError("rows with more fields than the header")  # noqa: TRY004 - the file is wrong, no type
            yield chunk.set_axis(header, axis=1)


def _schema(path: Path) -> "pa.Schema":
    import pyarrow.parquet as pq

    with reading(path):
        return pq.read_schema(path)


def _batches(path: Path, columns: Sequence[str]) -> "Iterator[pa.Table]":
    import pyarrow as pa
    import pyarrow.parquet as pq

    with reading(path), pq.ParquetFile(path) as file:
        for batch in file.iter_batches(_CHUNK, columns=list(columns)):
            yield pa.Table.from_batches([batch])


def _texts(batch: "pa.Table") -> list[str | None]:
    return texts_of(decoded(batch.column(0), "it"), "it")


def _kind(kind: "pa.DataType") -> str:
    """What a type is called where files are compared: widths and dictionaries make no difference."""
    import pyarrow.types as types

    if types.is_dictionary(kind):
        return _kind(kind.value_type)
    kinds = (
        (types.is_integer, "whole numbers"),
        (types.is_floating, "numbers with decimals"),
        (lambda t: types.is_string(t) or types.is_large_string(t) or types.is_string_view(t), "text"),
        (types.is_timestamp, "times"),
    )
    return next((name for holds, name in kinds if holds(kind)), str(kind))


@contextmanager
def _rows_refused(path: Path, form: CsvForm) -> Iterator[None]:
    """What goes wrong in reading the rows of a CSV file, as InputErrors; first of all a row that is broken."""
    try:
        with reading(path):
            yield
    except InputError as error:
        raise (broken_row(path, form) or error) from None
