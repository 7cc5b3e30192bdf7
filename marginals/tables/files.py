"""Files of one table, CSV, Parquet or of another program: looked at before anything is read."""

import csv
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np

from marginals.errors import InputError
from marginals.files import open_regular
from marginals.later import pa, pd, pq
from marginals.messages import did_you_mean, one_line
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
    frame_of_arrow,
    rows_of,
    text_of,
    without_blank_rows,
)
from marginals.tables.layout import LOOKED_AT, Header, Layout, footnote
from marginals.tables.opening import PARQUET, found_files, reading, require
from marginals.tables.workbook import AS_CSV, sheets_of
from models.frozen import frozen

STATISTICS = (".sav", ".zsav", ".dta", ".sas7bdat")  # of SPSS, Stata and SAS
SPREADSHEETS = (".xlsx", ".xlsm")

_OTHER_SPREADSHEETS = (".xls", ".xlsb", ".ods", ".numbers")


@frozen
class ColumnLabels:
    """Words of a file about a column and about its values, by their texts; some may occur in no row."""

    description: str = ""
    values: Mapping[str, str] = field(default_factory=dict, hash=False)


def column_labels(path: Path) -> dict[str, ColumnLabels]:
    """Return the labels of each column of a statistics program's file; none for any other file. Reads no row."""
    if path.suffix.lower() not in STATISTICS:
        return {}
    _, about = _read_statistics(path, metadataonly=True)
    texts = {column: one_line(about.column_names_to_labels.get(column)) for column in about.column_names}
    return {column: ColumnLabels(text, _value_labels(about, column)) for column, text in texts.items()}


@frozen
class Files(InOrder, ABC):
    """Files of one table. Columns may stand in another order in each."""

    name: str
    paths: tuple[Path, ...]

    @property
    @abstractmethod
    def names(self) -> Mapping[Path, Sequence[str]]:
        """Columns of each file. Raises InputError where one cannot be read."""

    @property
    def columns(self) -> Sequence[str]:
        """Columns of the first file."""
        return self.names[self.paths[0]]

    @property
    def has_header(self) -> bool:
        """Return whether a line that somebody typed, which may be missing, names the columns."""
        return self.paths[0].suffix.lower() not in (*STATISTICS, *PARQUET)

    def check(self, columns: Sequence[str]) -> None:
        """Raise InputError for a column that some file lacks, or has twice, and for what is no row."""
        for path, names in self.names.items():
            check_columns(path.name, names, columns)

    @abstractmethod
    def frames(self, path: Path) -> "Iterator[pd.DataFrame]":
        """Read all rows of one of the files."""

    def rows_of_file(self, path: Path, columns: Sequence[str]) -> Iterator[DistinctRows]:
        """Read all rows of some columns of one of the files, alike ones apart."""
        return (PandasFrame(frame, path.name).rows(columns) for frame in self.frames(path))

    def parts(self, columns: Sequence[str]) -> Iterator[tuple[str, DistinctRows]]:
        """Read all rows of some columns, a piece of a file at a time."""
        self.check(columns)
        for path in self.paths:
            for rows in self.rows_of_file(path, columns):
                yield path.name * (len(self.paths) > 1), rows


def check_columns(name: str, columns: Sequence[str], needed: Iterable[str]) -> None:
    """Raise InputError for a table, by its name, that lacks a column, or has it twice."""
    for column in needed:
        if column not in columns:
            # The columns are not listed: without a header they are the values of a row.
            suggestion = did_you_mean(column, columns) or f"it has {len(columns)} others"
            raise InputError(f"{name} has no column {column!r}; {suggestion}")
        if columns.count(column) > 1:
            raise InputError(f"{name} has two columns of the name {column!r}")


def frame_of(files: Files) -> "pd.DataFrame":
    """Return all rows of files in memory, those of CSV as texts. Raises InputError for files that cannot be read."""
    columns = list(files.columns)
    files.check(columns)
    return pd.concat([frame[columns] for path in files.paths for frame in files.frames(path)], ignore_index=True)


@frozen
class ProgramFile(Files):
    """File of a statistics program, or a spreadsheet with one sheet of rows whose first row names the columns."""

    form: FileForm = PLAIN

    @cached_property
    def frame(self) -> "pd.DataFrame":
        """Rows of the file. Raises InputError where they cannot be read, or a library is not installed."""
        suffix = self.paths[0].suffix.lower()
        if suffix in _OTHER_SPREADSHEETS:
            raise InputError(f"{self.name} is a spreadsheet of a kind that is not read; {AS_CSV}, or save it as .xlsx")
        return _sheet(self.paths[0], self.form) if suffix in SPREADSHEETS else _statistics(self.paths[0])

    @property
    def names(self) -> Mapping[Path, Sequence[str]]:
        """Columns of the file."""
        return {self.paths[0]: list(map(str, self.frame.columns))}

    def first_rows(self, count: int) -> DistinctRows:
        """Return at most so many rows at the beginning, alike ones apart."""
        return PandasFrame(self.frame, self.name).first_rows(count)

    def frames(self, _path: Path) -> "Iterator[pd.DataFrame]":
        """Return the rows of the file."""
        yield self.frame


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
    texts = ((text_of(value), one_line(label)) for value, label in labels.items())
    return {text: label for text, label in texts if text is not None and label}


def _rows_of_sheet(path: Path, sheet: str | None) -> list[list[object]]:
    require("python_calamine", "excel", f"{path.name} is a spreadsheet; {AS_CSV}, or have it read as it is: that")
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


_CELLS = 16_000_000  # read at a time, so that a table larger than memory can be counted


def files_of(path: Path, form: FileForm = PLAIN) -> Files:
    """Return the files of a path: itself, all CSV or Parquet files in a folder, or those that a glob finds."""
    paths = found_files(path)
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
        files: Files = ProgramFile(path.name, (foreign[0],), form)
    else:
        parquet = [file for file in paths if file.suffix.lower() in PARQUET]
        if parquet and len(parquet) < len(paths):
            raise InputError(f"{path} holds both CSV and Parquet files; a table is of one kind")
        files = ParquetFiles(path.name, tuple(paths)) if parquet else CsvFiles(path.name, tuple(paths), form)
    if form.header is not None and not files.has_header:
        raise InputError(f"{files.name} names its columns itself; leave out header, which is of CSV files and sheets")
    if form.sheet is not None and not (isinstance(files, ProgramFile) and files.has_header):
        raise InputError(f"{files.name} has no sheets; leave out sheet, which is of workbooks")
    return files


@frozen
class CsvFiles(Files):
    """CSV files with headers; all values are texts. Reading is by pandas, in chunks."""

    form: FileForm = PLAIN

    @cached_property
    def layouts(self) -> Mapping[Path, Layout]:
        """Layout of each file. Raises InputError where one cannot be read, or has another separator or header."""
        return {path: self.form.layout(path) for path in self.paths}

    @property
    def names(self) -> Mapping[Path, Sequence[str]]:
        """Columns of each file."""
        return {path: layout.names for path, layout in self.layouts.items()}

    def check(self, columns: Sequence[str]) -> None:
        """Raise InputError for a column that some file lacks, or has twice, and for what is no row."""
        super().check(columns)
        if refusal := next(filter(None, self.refusals), None):
            raise refusal

    @cached_property
    def refusals(self) -> Sequence[InputError | None]:
        """Refusal of each file, if it holds something besides rows."""
        return [unsafe_line(path, self.form, layout) for path, layout in self.layouts.items()]

    def first_rows(self, count: int) -> DistinctRows:
        """Return at most so many rows at the beginning of the first file, alike ones apart."""
        path = self.paths[0]
        return PandasFrame(next(_unchecked_chunks(path, self.form, self.layouts[path], count))).first_rows(count)

    def frames(self, path: Path) -> "Iterator[pd.DataFrame]":
        """Read one of the files in pieces. Raises InputError for rows that are shorter or longer than the header."""
        is_whole = False
        for chunk in _unchecked_chunks(path, self.form, self.layouts[path], _CELLS // len(self.columns)):
            if not is_whole and (chunk.iloc[:, -1] == "").any():
                # pandas fills a short row up with empty texts.
                if broken := broken_row(path, self.form):
                    raise broken
                is_whole = True
            yield without_blank_rows(chunk)


@frozen
class ParquetFiles(Files):
    """Parquet files; the schema of every one is looked at. Reading is by pyarrow, in batches."""

    @cached_property
    def schemas(self) -> "Mapping[Path, pa.Schema]":
        """Schema of each file. Raises InputError where one cannot be read."""
        require("pyarrow", "parquet", f"{self.name} is Parquet; reading it")
        schemas = {}
        for path in self.paths:
            with reading(path):
                schemas[path] = pq.read_schema(path)
        return schemas

    @property
    def names(self) -> Mapping[Path, Sequence[str]]:
        """Columns of each file."""
        return {path: schema.names for path, schema in self.schemas.items()}

    def check(self, columns: Sequence[str]) -> None:
        """Raise InputError for a column that some file lacks, has twice, or has with times of another zone."""
        super().check(columns)
        for column in columns:
            zones = {getattr(schema.field(column).type, "tz", None): path for path, schema in self.schemas.items()}
            if len(zones := {zone: path for zone, path in zones.items() if zone}) > 1:
                (one, first), (other, second), *_ = zones.items()
                raise InputError(
                    f"column {column!r} has times in the zone {other} in {second.name} and in the zone {one} in "
                    f"{first.name}; make it the same in all files"
                )

    def first_rows(self, count: int) -> DistinctRows:
        """Return at most so many rows at the beginning of the first file, alike ones apart."""
        first = next(iter(_batches(self.paths[0], self.columns))).slice(0, count)
        first = first.select([self.columns.index(name) for name in dict.fromkeys(self.columns)])
        return frame_of_arrow(first, self.paths[0].name).first_rows(count)

    def frames(self, path: Path) -> "Iterator[pd.DataFrame]":
        """Read all rows of one of the files."""
        with reading(path):  # what pandas wrote as an index is a column like others
            # Days as times, whose years pandas does not bound; whole numbers beside null as they are.
            settings = {"ignore_metadata": True, "date_as_object": False, "integer_object_nulls": True}
            yield cast("pd.DataFrame", pq.read_table(path).to_pandas(**settings))

    def rows_of_file(self, path: Path, columns: Sequence[str]) -> Iterator[DistinctRows]:
        """Read all rows of some columns of one of the files, a batch at a time."""
        return (rows_of(batch, columns, path.name) for batch in _batches(path, columns))


def _unchecked_chunks(path: Path, form: FileForm, layout: Layout, rows: int) -> "Iterator[pd.DataFrame]":
    with _rows_refused(path, form), reading(path), form.text(path) as lines:
        above = csv.reader(lines, delimiter=layout.separator)
        for _ in range(layout.skipped):  # where lines end by CR, pandas would lose one behind an empty one
            next(above)
        with pd.read_csv(
            lines,
            sep=layout.separator,
            header=None,
            names=range(len(layout.names)),
            dtype=object,  # texts, which pandas would turn into Arrow's at more cost than it saves
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
    with reading(path), pq.ParquetFile(path) as file:
        empty = True
        for batch in file.iter_batches(max(_CELLS // max(len(columns), 1), 1), columns=list(columns)):
            empty = False
            yield pa.Table.from_batches([batch])
        if empty:  # of no row the schema is all that there is
            yield file.schema_arrow.empty_table().select(list(columns))


@contextmanager
def _rows_refused(path: Path, form: FileForm) -> Iterator[None]:
    try:
        yield
    except InputError as error:
        raise (broken_row(path, form) or error) from None
