"""Files of one table, CSV, Parquet or of another program: looked at before anything is read."""

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from marginals.errors import InputError, system_reason
from marginals.files import open_regular, resolved
from marginals.tables.csv_text import (
    MOST_COLUMNS,
    PLAIN,
    FileForm,
    below_the_table,
    broken_row,
    likely_form,
    too_many_columns,
    unsafe_line,
)
from marginals.tables.distinct_rows import (
    DistinctRows,
    InOrder,
    PandasFrame,
    check_kind,
    rows_of,
    text_of,
    without_blank_rows,
)
from marginals.tables.layout import LOOKED_AT, Header, Layout, footnote
from marginals.tables.opening import PARQUET, reading, require
from marginals.tables.workbook import sheets_of

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

STATISTICS = (".sav", ".zsav", ".dta", ".sas7bdat")
"""Files of SPSS, Stata and SAS."""

SPREADSHEETS = (".xlsx", ".xlsm")

_OTHER_SPREADSHEETS = (".xls", ".xlsb", ".ods", ".numbers")

_AS_CSV = 'save the sheet as CSV ("CSV UTF-8" in the list of file types of "Save as") and name that file'


@dataclass(frozen=True)
class ColumnLabels:
    """Words of a file about a column and about its values, by their texts; some may occur in no row."""

    description: str = ""
    values: Mapping[str, str] = field(default_factory=dict, hash=False)


def column_labels(path: Path) -> dict[str, ColumnLabels]:
    """Return the labels of each column of a statistics program's file; none for any other file. Reads no row.

    Raises InputError if the file cannot be read, or pyreadstat is missing.
    """
    if path.suffix.lower() not in STATISTICS:
        return {}
    _, about = _read_statistics(path, metadataonly=True)
    return {
        column: ColumnLabels(_one_line(about.column_names_to_labels.get(column)), _value_labels(about, column))
        for column in about.column_names
    }


@dataclass(frozen=True)
class ProgramFile(InOrder):
    """File of a statistics program, or a spreadsheet with one sheet of rows whose first row names the columns."""

    path: Path
    form: FileForm = PLAIN

    @property
    def name(self) -> str:
        """Name in messages."""
        return self.path.name

    @property
    def has_header(self) -> bool:
        """Return whether a row that somebody typed, which may be missing, names the columns."""
        return self.path.suffix.lower() in SPREADSHEETS

    @cached_property
    def frame(self) -> "pd.DataFrame":
        """Rows of the file. Raises InputError where they cannot be read, or a library is not installed."""
        suffix = self.path.suffix.lower()
        if suffix in _OTHER_SPREADSHEETS:
            raise InputError(f"{self.name} is a spreadsheet of a kind that is not read; {_AS_CSV}, or save it as .xlsx")
        return _sheet(self.path, self.form) if suffix in SPREADSHEETS else _statistics(self.path)

    @property
    def columns(self) -> Sequence[str]:
        """Names of its columns."""
        return list(map(str, self.frame.columns))

    def check(self, columns: Sequence[str]) -> None:
        """Raise InputError for a column that the file lacks, or has twice."""
        for column in columns:
            _check_column(self.path, column, self.columns, self.path)

    def first_rows(self, count: int) -> "pd.DataFrame":
        """Return at most so many rows at the beginning, as texts."""
        return _as_texts(self.frame.head(count))

    def parts(self, columns: Sequence[str]) -> Iterator[tuple[str, DistinctRows]]:
        """Read all rows of some columns, in one part."""
        self.check(columns)
        return PandasFrame(self.frame, self.name).parts(columns)


def _read_statistics(path: Path, **settings: Any) -> "tuple[pd.DataFrame, Any]":
    require("pyreadstat", "statistics", f"{path.name} is a file of a statistics program; reading it")
    import pyreadstat

    readers: dict[str, Callable[..., tuple[pd.DataFrame, Any]]] = {
        ".dta": pyreadstat.read_dta,
        ".sas7bdat": pyreadstat.read_sas7bdat,
    }
    with reading(path):
        frame, about = readers.get(path.suffix.lower(), pyreadstat.read_sav)(str(path), **settings)
    return frame, about


def _statistics(path: Path) -> "pd.DataFrame":
    frame, about = _read_statistics(path)
    narrow = [name for name, kind in about.readstat_variable_types.items() if kind == "float"]
    # Stata's numbers of four bytes, which have their own shortest text: 0.1, not 0.10000000149011612.
    return frame.astype({name: np.float32 for name in narrow if frame[name].dtype == np.float64})


def _value_labels(about: Any, column: str) -> dict[str, str]:
    labels = about.variable_value_labels.get(column, {})
    texts = ((text_of(value), _one_line(label)) for value, label in labels.items())
    return {text: label for text, label in texts if text is not None and label}


def _one_line(text: object) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in str(text or "")).split())


def _as_texts(frame: "pd.DataFrame") -> "pd.DataFrame":
    import pandas as pd

    texts = {number: [text_of(value) or "" for value in frame.iloc[:, number]] for number in range(frame.shape[1])}
    return pd.DataFrame(texts).set_axis(list(map(str, frame.columns)), axis=1)


def _rows_of_sheet(path: Path, sheet: str | None) -> list[list[object]]:
    require("python_calamine", "excel", f"{path.name} is a spreadsheet; {_AS_CSV}, or have it read as it is: that")
    with reading(path), open_regular(path) as stream:
        filled = sheets_of(stream, path.name)
    if sheet is None and len(filled) == 1:
        return next(iter(filled.values()))
    if sheet not in filled:
        names = [json.dumps(name, ensure_ascii=False) for name in filled]
        choose = f"choose one: sheet = {names[0]} under [data], or --sheet of init" if names else "it has no table"
        raise InputError(f"{path.name} has {len(filled)} sheets with something in them ({', '.join(names)}); {choose}")
    return filled[sheet]


def _sheet(path: Path, form: FileForm) -> "pd.DataFrame":
    import pandas as pd

    rows = _rows_of_sheet(path, form.sheet)
    columns = [column for column in zip(*rows) if any(value is not None for value in column)]
    if len(columns) > MOST_COLUMNS:
        raise too_many_columns(path.name)
    rows = [list(row) for row in zip(*columns)]
    layout = Layout.of(_texts_of_rows(rows[:LOOKED_AT]), form.header, path.name)
    body = rows[layout.skipped :]
    last = body[-LOOKED_AT:]
    below = footnote(_texts_of_rows(last, len(rows) - len(last) + 1), len(columns))
    if below is not None:
        raise below_the_table(below, path.name)
    if (names := rows[layout.skipped - 1]) in body:
        line = layout.skipped + body.index(names) + 1
        raise InputError(f"line {line} of {path.name} repeats the names of the columns; remove it")
    filled = [row for row in body if any(value is not None for value in row)]
    values = {number: [np.nan if v is None else v for v in column] for number, column in enumerate(zip(*filled))}
    frame = pd.DataFrame(values or {number: [] for number in range(len(columns))}, dtype=object)
    return frame.set_axis(list(layout.names), axis=1)


def _texts_of_rows(rows: Iterable[Sequence[object]], begin: int = 1) -> list[tuple[int, list[str]]]:
    return list(enumerate(([text_of(value) or "" for value in row] for row in rows), begin))


def likely_form_of(path: Path, header: Header = None, sheet: str | None = None) -> FileForm:
    """Return the most likely form of a table's files, as far as the first one shows it, with settings of the user."""
    first = files_of(path)
    if isinstance(first, CsvFiles) and sheet is None:
        return likely_form(first.paths[0], header)
    form = FileForm(header=header, sheet=sheet)
    if header is None and isinstance(first, ProgramFile) and first.has_header:
        return form.with_likely_header(_texts_of_rows(_rows_of_sheet(path, sheet)[:LOOKED_AT]))
    files_of(path, form)
    return form


_CSV = (".csv", ".csv.gz", ".csv.bz2", ".csv.xz", ".csv.zip", ".csv.zst")
_CELLS = 16_000_000
"""Cells that are read at a time, so that a table larger than memory can be counted."""


def files_of(path: Path, form: FileForm = PLAIN) -> "Files":
    """Return the files of a path: itself, all CSV or Parquet files in a folder, or those that a glob finds.

    Raises InputError for no table, for files of several kinds, and for a header or sheet that they cannot have.
    """
    paths = _paths(path)
    if not paths:
        raise InputError(f"there is no table at {path}")
    for file in paths:
        with reading(file):
            open_regular(file).close()
    suffixes = (*STATISTICS, *SPREADSHEETS, *_OTHER_SPREADSHEETS)
    if foreign := [file for file in paths if file.suffix.lower() in suffixes]:
        if len(paths) > 1:
            raise InputError(
                f"{foreign[0].name} is one of {len(paths)} files of {path}; only CSV and Parquet can be several"
            )
        files: Files = ProgramFile(foreign[0], form)
    else:
        parquet = [file for file in paths if file.suffix.lower() in PARQUET]
        if parquet and len(parquet) < len(paths):
            raise InputError(f"{path} holds both CSV and Parquet files; a table is of one kind")
        files = ParquetFiles(path.name, tuple(paths)) if parquet else CsvFiles(path.name, tuple(paths), form)
    has_header = isinstance(files, CsvFiles) or (isinstance(files, ProgramFile) and files.has_header)
    if form.header is not None and not has_header:
        raise InputError(f"{files.name} names its columns itself; leave out header, which is of CSV files and sheets")
    if form.sheet is not None and (not has_header or isinstance(files, CsvFiles)):
        raise InputError(f"{files.name} has no sheets; leave out sheet, which is of workbooks")
    return files


def files_at(path: Path) -> list[Path]:
    """Return the files of a path, sorted; none where there is none."""
    return [file for file in _paths(path) if file.exists()]


def _is_table(file: Path) -> bool:
    return file.name.lower().endswith((*PARQUET, *_CSV)) and not file.name.startswith((".", "_"))


def _paths(path: Path) -> list[Path]:
    if path.is_dir():
        try:
            return sorted(file for file in path.rglob("*") if _is_table(file))
        except OSError as error:  # a folder in it that nobody may read, or that goes meanwhile
            raise InputError(f"the folder {path} cannot be read: {system_reason(error)}") from None
    if path.exists():
        return [path]
    return (
        sorted(Path(path.anchor).glob(str(path.relative_to(path.anchor)))) if any(c in str(path) for c in "*?[") else []
    )


def frame_of(files: "Files") -> "pd.DataFrame":
    """Return all rows of files in memory, those of CSV as texts. Raises InputError for files that cannot be read."""
    import pandas as pd

    if isinstance(files, ProgramFile):
        return files.frame
    columns = list(files.columns)
    if isinstance(files, CsvFiles):
        files.check(columns)
        parts = [chunk for file in files.paths for chunk in files.chunks(file)]
    else:
        files.check_names(columns)
        parts = [_parquet_frame(file) for file in files.paths]
    return pd.concat([part[columns] for part in parts], ignore_index=True)


def _parquet_frame(path: Path) -> "pd.DataFrame":
    import pyarrow.parquet as pq

    with reading(path):  # what pandas wrote as an index is a column like others
        # Days as times, whose years pandas does not bound; whole numbers beside null as they are.
        plain = pq.read_table(path).to_pandas(ignore_metadata=True, date_as_object=False, integer_object_nulls=True)
        return cast("pd.DataFrame", plain)


@dataclass(frozen=True)
class CsvFiles(InOrder):
    """CSV files with headers; all values are texts. Reading is by pandas, in chunks.

    The header of every file is looked at; columns may stand in another order.
    """

    name: str
    paths: tuple[Path, ...]
    form: FileForm = PLAIN

    @cached_property
    def layouts(self) -> Mapping[Path, Layout]:
        """Layout of each file. Raises InputError where one cannot be read, or has another separator or header."""
        return {path: self.form.layout(path) for path in self.paths}

    @property
    def columns(self) -> Sequence[str]:
        """Columns of the first file."""
        return self.layouts[self.paths[0]].names

    def check(self, columns: Sequence[str]) -> None:
        """Raise InputError for a column that some file lacks, or has twice, and for what is no row."""
        for path, layout in self.layouts.items():
            for column in columns:
                _check_column(path, column, layout.names, self.paths[0])
        if refusal := next(filter(None, self.refusals), None):
            raise refusal

    @cached_property
    def refusals(self) -> Sequence[InputError | None]:
        """Refusal of each file, if it holds something besides rows."""
        return [unsafe_line(path, self.form, layout) for path, layout in self.layouts.items()]

    def first_rows(self, count: int) -> "pd.DataFrame":
        """Return at most so many rows at the beginning of the first file."""
        path = self.paths[0]
        return next(_unchecked_chunks(path, self.form, self.layouts[path], count)).head(count)

    def chunks(self, path: Path) -> "Iterator[pd.DataFrame]":
        """Read one of the files in pieces. Raises InputError for rows that are shorter or longer than the header."""
        is_whole = False
        for chunk in _unchecked_chunks(path, self.form, self.layouts[path], _CELLS // len(self.columns)):
            if not is_whole and "" in set(chunk.iloc[:, -1]):
                # pandas fills a short row up with empty texts.
                if broken := broken_row(path, self.form):
                    raise broken
                is_whole = True
            yield without_blank_rows(chunk)

    def parts(self, columns: Sequence[str]) -> Iterator[tuple[str, DistinctRows]]:
        """Read all rows of some columns, a piece of a file at a time."""
        self.check(columns)
        for path in self.paths:
            for chunk in self.chunks(path):
                yield path.name * (len(self.paths) > 1), PandasFrame(chunk, path.name).rows(columns)


@dataclass(frozen=True)
class ParquetFiles(InOrder):
    """Parquet files; the schema of every one is looked at. Reading is by pyarrow, in batches."""

    name: str
    paths: tuple[Path, ...]

    @cached_property
    def schemas(self) -> "Mapping[Path, pa.Schema]":
        """Schema of each file. Raises InputError where one cannot be read."""
        require("pyarrow", "parquet", f"{self.name} is Parquet; reading it")
        import pyarrow.parquet as pq

        schemas = {}
        for path in self.paths:
            with reading(path):
                schemas[path] = pq.read_schema(path)
        return schemas

    @property
    def columns(self) -> Sequence[str]:
        """Columns of the first file."""
        names: list[str] = self.schemas[self.paths[0]].names
        return names

    def check(self, columns: Sequence[str]) -> None:
        """Raise InputError as `check_names` does, and for a column of a type whose values engines read differently."""
        self.check_names(columns)
        for path, schema in self.schemas.items():
            for column in columns:
                check_kind(schema.field(column).type, f"column {column!r} of {path.name}")

    def check_names(self, columns: Sequence[str]) -> None:
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

    def first_rows(self, count: int) -> "pd.DataFrame":
        """Return at most so many rows at the beginning of the first file, as texts."""
        batch = next(iter(_batches(self.paths[0], self.columns)))
        return _as_texts(batch.slice(0, count).to_pandas())

    def parts(self, columns: Sequence[str]) -> Iterator[tuple[str, DistinctRows]]:
        """Read all rows of some columns, a batch at a time."""
        self.check(columns)
        for path in self.paths:
            for batch in _batches(path, columns):
                yield path.name * (len(self.paths) > 1), rows_of(batch, columns, path.name)


Files: TypeAlias = CsvFiles | ParquetFiles | ProgramFile


def _check_column(path: Path, column: str, columns: Sequence[str], first: Path) -> None:
    if columns.count(column) > 1:
        raise InputError(f"{path.name} has two columns of the name {column!r}")
    if column not in columns:
        besides = f", which {first.name} has" if path != first else ""
        raise InputError(f"{path.name} has no column {column!r}{besides}")


def _unchecked_chunks(path: Path, form: FileForm, layout: Layout, rows: int) -> "Iterator[pd.DataFrame]":
    import pandas as pd

    with _rows_refused(path, form), form.text(path) as lines:
        above = csv.reader(lines, delimiter=layout.separator)
        for _ in range(layout.skipped):  # where lines end by CR, pandas would lose one behind an empty one
            next(above)
        with pd.read_csv(
            lines,
            sep=layout.separator,
            header=None,
            names=range(len(layout.names)),
            dtype=str,
            keep_default_na=False,
            # Behind an empty line that ends by CR pandas would lose an empty first field.
            skip_blank_lines=len(layout.names) == 1,
            chunksize=max(rows, 1),
            index_col=None,
        ) as chunks:
            for chunk in chunks:
                if not isinstance(chunk.index, pd.RangeIndex):
                    raise ValueError("rows with more fields than the header")  # noqa: TRY004 - the file is wrong, no type
                yield chunk.set_axis(list(layout.names), axis=1)


def _batches(path: Path, columns: Sequence[str]) -> "Iterator[pa.Table]":
    import pyarrow as pa
    import pyarrow.parquet as pq

    with reading(path), pq.ParquetFile(path) as file:
        empty = True
        for batch in file.iter_batches(max(_CELLS // max(len(columns), 1), 1), columns=list(columns)):
            empty = False
            yield pa.Table.from_batches([batch])
        if empty:  # of no row the schema is all that there is
            yield file.schema_arrow.empty_table().select(list(columns))


def _kind(kind: "pa.DataType") -> str:
    import pyarrow.types as types

    if types.is_dictionary(kind):
        return _kind(kind.value_type)
    kinds = (
        (types.is_integer, "whole numbers"),
        (types.is_floating, "numbers with decimals"),
        (lambda t: types.is_string(t) or types.is_large_string(t) or types.is_string_view(t), "text"),
        (types.is_timestamp, f"times in the zone {kind.tz}" if getattr(kind, "tz", None) else "times"),
    )
    return next((name for holds, name in kinds if holds(kind)), str(kind))


@contextmanager
def _rows_refused(path: Path, form: FileForm) -> Iterator[None]:
    try:
        with reading(path):
            yield
    except InputError as error:
        raise (broken_row(path, form) or error) from None


def is_part(path: Path, file: Path) -> bool:
    """Return whether a file is one of those of a path, by whatever link, or would be once it is written."""
    if path.is_dir():
        joins = _is_table(file) and resolved(file).is_relative_to(resolved(path))
    else:
        joins = resolved(file) == resolved(path) or (not path.exists() and resolved(file).match(str(resolved(path))))
    return joins or (file.exists() and any(file.samefile(part) for part in files_at(path)))
