"""The files of one table, CSV, Parquet or of another program: looked at before anything is read."""

import bz2
import codecs
import csv
import gzip
import json
import lzma
import os
import re
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from io import BufferedReader, RawIOBase, TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias, cast

import numpy as np

from marginals.errors import InputError, TooLittleMemoryError
from marginals.files import open_regular, resolved
from marginals.messages import installing
from marginals.tables.distinct_rows import (
    DistinctRows,
    PandasFrame,
    check_kind,
    counted,
    decoded,
    distinct_rows_of,
    merged,
    rows_of,
    text_of,
    texts_of,
    without_blank_rows,
)
from marginals.tables.workbook import sheets_of

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


# How CSV files are written: what separates their columns, and in which encoding their characters are.
#
# Whatever the encoding, readers get UTF-8: UTF-8 itself as it is, everything else recoded as it is read.


SEPARATORS = (",", ";", "\t", "|")
"""What can stand between the columns of a CSV file."""

AUTO = "auto"
"""UTF-8, or what the mark at the beginning of a file says."""

_MARKS = ((codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"), (codecs.BOM_UTF16_LE, "utf-16"),
          (codecs.BOM_UTF16_BE, "utf-16"))  # fmt: skip
"""The longer ones first: that of UTF-32 begins as that of UTF-16."""

_BLOCK = 1 << 16


@dataclass(frozen=True)
class CsvForm:
    r"""What separates the columns of CSV files, and their encoding: "auto", or one that Python knows by name.

    "auto" is UTF-8, or UTF-16 or UTF-32 where a file begins with their mark. Raises InputError for anything else.

    >>> CsvForm("\t", "cp1252").encoding
    'cp1252'
    """

    separator: str = ","
    encoding: str = AUTO

    def __post_init__(self) -> None:
        if self.separator not in SEPARATORS:
            raise InputError(
                f"the separator of columns is {' or '.join(map(json.dumps, SEPARATORS))}, not {self.separator!r}"
            )
        if not is_encoding(self.encoding):
            raise InputError(
                f'the encoding is "auto", or one of text that Python knows, such as "cp1252", "latin-1" or "utf-16", not '
                f"{self.encoding!r}"
            )

    def recoded_from(self, path: Path) -> str | None:
        """The encoding of a file, None for UTF-8. Raises InputError where the file cannot be read."""
        if self.encoding != AUTO:
            name = codecs.lookup(self.encoding).name
            return None if name in ("utf-8", "utf-8-sig", "ascii") else name
        with reading(path), decompressed(path) as stream:
            begin = stream.read(4)
        return next((name for mark, name in _MARKS if begin.startswith(mark)), None)

    def require_short_header(self, path: Path) -> None:
        """Raise InputError for a first line of a file that is too long, or has too many columns, to be a header."""
        _refuse_hole(path)
        with self.opened(path) as stream:
            begin = stream.read(LONGEST_HEADER + 1)
        line = re.split(rb"[\r\n]", begin.removeprefix(b"\xef\xbb\xbf").lstrip(), maxsplit=1)[0]
        if len(begin) > LONGEST_HEADER and (not line or begin.endswith(line)):
            raise InputError(
                f"the first line of {path.name} is longer than the {LONGEST_HEADER} bytes that are read of a header; it "
                "must be CSV with a header"
            )
        if line.count(self.separator.encode()) >= MOST_COLUMNS:
            raise InputError(
                f"{path.name} has more than the {MOST_COLUMNS:,} columns that are read; leave out those that are not used"
            )

    @contextmanager
    def opened(self, path: Path) -> Iterator[BinaryIO]:
        """The bytes of a file in UTF-8, decompressed. InputError for a line without end, others as of `decompressed`."""
        encoding = self.recoded_from(path)
        with decompressed(path) as stream:
            yield cast("BinaryIO", BufferedReader(_Text(stream, path.name, encoding), _BLOCK))


def is_encoding(name: object) -> bool:
    """Whether a name is "auto" or that of an encoding of text in which a line break and a comma are themselves.

    >>> [is_encoding(name) for name in ("auto", "cp1252", "rot13", "utf-7", "none")]
    [True, True, False, False, False]
    """
    if name == AUTO:
        return True
    try:
        codec = codecs.lookup(str(name))
        spelled = codecs.encode('a,";\t|\n', codec.name)
        keeps_signs = isinstance(spelled, bytes) and codecs.decode(spelled, codec.name) == 'a,";\t|\n'
    except (LookupError, UnicodeError, TypeError, ValueError):
        return False
    return (
        isinstance(name, str)
        and keeps_signs
        and codec.name not in ("utf-7", "idna", "punycode")
        and "escape" not in codec.name
    )


COMMAS = CsvForm()
"""What is taken for granted."""


LONGEST_LINE = 1 << 24
"""Bytes of a line of a CSV file; a longer one is a hole of a sparse file, or zeros that were compressed."""


_ENDLESS = "has a line of more than the"


def is_about_a_line_without_end(error: InputError) -> bool:
    """Whether an error of reading a CSV file is about a line that is longer than any row."""
    return _ENDLESS in str(error)


_HOLE = 4096
"""Zeros in a row that no text has, in whatever encoding."""


def _refuse_hole(path: Path) -> None:
    """Raise InputError for a sparse file, which may be larger than any disk: what reads tables would read all its zeros."""
    if not hasattr(os, "SEEK_HOLE"):
        return
    with open_regular(path) as stream:
        size = os.fstat(stream.fileno()).st_size
        try:
            hole = os.lseek(stream.fileno(), 0, os.SEEK_HOLE) if size else size
        except OSError:  # a disk that knows of none
            return
        stream.seek(hole)
        zeros = stream.read(_HOLE)
    if len(zeros) == _HOLE and not any(zeros):
        raise InputError(f"{path.name} has a hole, zeros instead of text: it was not written to its end; get it whole")


class _Text(RawIOBase):
    """The bytes of a stream in UTF-8, whose lines have an end. encoding: of the stream; None for UTF-8.

    Raises InputError, naming the file, for bytes that the encoding does not have, and for a line without an end.
    """

    def __init__(self, stream: BinaryIO, name: str, encoding: str | None = None) -> None:
        self._stream, self._name, self._encoding = stream, name, encoding
        self._decoder = codecs.getincrementaldecoder(encoding)() if encoding else None
        self._ready, self._ended, self._since_break = b"", False, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        while not self._ready and not self._ended:
            block = self._stream.read(len(view))
            self._ended = not block
            self._ready = self._recoded(block) if self._decoder else block
        taken, self._ready = self._ready[: len(view)], self._ready[len(view) :]
        self.note(taken)
        view[: len(taken)] = taken
        return len(taken)

    def _recoded(self, block: bytes) -> bytes:
        assert self._decoder is not None
        try:
            return self._decoder.decode(block, final=self._ended).encode()
        except UnicodeError:
            raise InputError(
                f"{self._name} is not in {self._encoding}; name another data.encoding, or convert it to UTF-8"
            ) from None

    def note(self, block: bytes) -> None:
        """Raise InputError where a line is too long with what comes now."""
        last = max(block.rfind(b"\n"), block.rfind(b"\r"))
        self._since_break = len(block) - last - 1 + (self._since_break if last < 0 else 0)
        if self._since_break > LONGEST_LINE:
            raise InputError(
                f"{self._name} {_ENDLESS} {LONGEST_LINE} bytes that are read of one; it must be CSV with a header and a "
                "line a row"
            )


def likely_encoding(path: Path) -> str:
    """Return the encoding that a CSV file most likely has: "auto" where that reads it, else a guess that people must check.

    Codes of other scripts are told apart by charset-normalizer where it is installed. Of those of Latin letters cp1252,
    that of Windows in Western Europe and America, is taken before others unless words look wrong in it.
    """
    if COMMAS.recoded_from(path) is not None:
        return AUTO
    sample, decoder = b"", codecs.getincrementaldecoder("utf-8")()
    fits, block = True, b"-"
    with reading(path), decompressed(path) as stream:
        lines = _Text(stream, path.name)
        while block and (fits or len(sample) < _BLOCK):
            lines.note(block := stream.read(_BLOCK))
            did_fit, fits = fits, fits and _decodes(decoder, block)
            told = b"".join(line for line in block.splitlines(keepends=True) if not line.isascii())
            # Of a long file that fits but for its end, what tells is there.
            sample = told if did_fit and not fits and len(sample) >= _BLOCK else sample + told[:_BLOCK]
    if fits:
        return AUTO
    sample = sample[:_BLOCK]
    guess = _best(sample)
    few = sum(byte > 0x7F for byte in sample) < _FEW
    return "cp1252" if (few or guess in _LATIN) and _reads_well(sample, "cp1252") else guess


_FEW = 8
"""Bytes beyond ASCII, fewer of which tell no script."""

_LATIN = ("cp1252", "cp1250", "cp1254", "cp1257", "cp850", "mac_roman")
_OTHERS = ("cp1251", "cp1253", "cp1255", "cp1256", "koi8_r", "shift_jis", "gb18030", "big5", "euc_kr")
"""Encodings of CSV files, as Python calls them."""


def _decodes(decoder: codecs.IncrementalDecoder, block: bytes) -> bool:
    try:
        decoder.decode(block, final=not block)
    except UnicodeDecodeError:
        return False
    return True


def _best(sample: bytes) -> str:
    if not find_spec("charset_normalizer"):
        return "cp1252"
    from charset_normalizer import from_bytes

    best = from_bytes(sample, cp_isolation=[*_LATIN, *_OTHERS]).best()
    return "cp1252" if best is None else best.encoding


def _reads_well(sample: bytes, encoding: str) -> bool:
    """Whether no word has a sign like ³ or „ inside, or a capital letter that ASCII lacks after a small one."""
    text = sample.decode(encoding, errors="replace")
    return "\ufffd" not in text and not _ODD.search(text)


_ODD = re.compile(
    "[^\\W\\d_][^\\w\\s\\x00-\\x7f\u2019\xb4\xb7][^\\W\\d_]|[^\\W\\d_m][²³¹]|[²³¹£¥¢][^\\W\\d_]|[a-zß-öø-ÿ][À-ÖØ-Þ]"
)
"""A letter, a sign other than an apostrophe or a dot, and a letter; figures and currencies beside letters, but for m²; or a
capital letter that ASCII lacks after a small one."""


# Files of statistics programs (SPSS, Stata, SAS) and spreadsheets: tables of one file, read into memory by pandas.
#
# What such a file says in words, the description of a column and the label of each of its codes, is read by itself: a
# table is published by its codes, and a config says what they mean.


STATISTICS = (".sav", ".zsav", ".dta", ".sas7bdat")
"""Files of SPSS, Stata and SAS."""

SPREADSHEETS = (".xlsx", ".xlsm")

_OTHER_SPREADSHEETS = (".xls", ".xlsb", ".ods", ".numbers")

_AS_CSV = 'save the sheet as CSV ("CSV UTF-8" in the list of file types of "Save as") and name that file'


@dataclass(frozen=True)
class ColumnLabels:
    """What a file says of a column in words.

    description: of the column; empty where there is none. values: the label of each value, by the text that the value has
    in the table; not every value needs one, and some may occur in no row.
    """

    description: str = ""
    values: Mapping[str, str] = field(default_factory=dict)


def is_program_file(path: Path) -> bool:
    """Whether a file is one of a statistics program or a spreadsheet, by its name."""
    return path.suffix.lower() in (*STATISTICS, *SPREADSHEETS, *_OTHER_SPREADSHEETS)


def column_labels(path: Path) -> dict[str, ColumnLabels]:
    """For each column of a file of a statistics program its labels; none for any other file, which has no labels.

    Reads no row. Raises InputError where the file cannot be read, or pyreadstat is missing.
    """
    if path.suffix.lower() not in STATISTICS:
        return {}
    _, about = _read_statistics(path, metadataonly=True)
    return {
        column: ColumnLabels(_one_line(about.column_names_to_labels.get(column)), _value_labels(about, column))
        for column in about.column_names
    }


@dataclass(frozen=True)
class ProgramFile:
    """One file of a statistics program, or a spreadsheet with one sheet of rows whose first row names the columns."""

    path: Path

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.path.name

    @property
    def has_header(self) -> bool:
        """Whether the columns are named by a row that somebody typed, which may be missing."""
        return self.path.suffix.lower() in SPREADSHEETS

    @cached_property
    def frame(self) -> "pd.DataFrame":
        """All rows. Raises InputError where they cannot be read, or what reads them is not installed."""
        suffix = self.path.suffix.lower()
        if suffix in _OTHER_SPREADSHEETS:
            raise InputError(f"{self.name} is a spreadsheet of a kind that is not read; {_AS_CSV}, or save it as .xlsx")
        return _sheet(self.path) if suffix in SPREADSHEETS else _statistics(self.path)

    @property
    def columns(self) -> Sequence[str]:
        """The names of its columns."""
        return list(map(str, self.frame.columns))

    def check(self, columns: Sequence[str]) -> None:
        """Raise InputError for a column that the file lacks, or has twice."""
        for column in columns:
            _check_column(self.path, column, self.columns, self.path)

    def first_rows(self, count: int) -> "pd.DataFrame":
        """Rows at the beginning, at most so many, as texts."""
        import pandas as pd

        first = self.frame.head(count)
        texts = [[text_of(value) or "" for value in first.iloc[:, number]] for number in range(first.shape[1])]
        return pd.DataFrame(dict(enumerate(texts))).set_axis(list(self.columns), axis=1)

    @property
    def _rows(self) -> PandasFrame:
        return PandasFrame(self.frame, self.name)

    def distinct_rows(self, columns: Sequence[str]) -> DistinctRows:
        """Return the distinct rows of some columns."""
        self.check(columns)
        return self._rows.distinct_rows(columns)

    def rows_in_order(self, columns: Sequence[str]) -> Iterator[DistinctRows]:
        """Return all rows of some columns, in one part."""
        self.check(columns)
        return self._rows.rows_in_order(columns)

    def place(self, column: str, text: str) -> str | None:
        """Return the first row with a value."""
        return self._rows.place(column, text)


def _read_statistics(path: Path, **settings: Any) -> "tuple[pd.DataFrame, Any]":
    """The rows of a file of a statistics program, and what it says of them."""
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
    """A label without line breaks and characters that cannot be seen; empty for none."""
    return " ".join("".join(c if c.isprintable() else " " for c in str(text or "")).split())


def _sheet(path: Path) -> "pd.DataFrame":
    """The one sheet of a workbook that has rows."""
    import pandas as pd

    require("python_calamine", "excel", f"{path.name} is a spreadsheet; {_AS_CSV}, or have it read as it is: that")
    with reading(path), open_regular(path) as stream:
        filled = sheets_of(stream, path.name)
    if len(filled) != 1:
        raise InputError(
            f"{path.name} has {len(filled)} sheets with something in them, and must have one, whose first row names the "
            f"columns; {_AS_CSV}"
        )
    rows = [row for row in filled[0] if any(value is not None for value in row)]
    columns = [column for column in zip(*rows) if any(value is not None for value in column)]
    if len(columns) > MOST_COLUMNS:
        raise InputError(
            f"{path.name} has more than the {MOST_COLUMNS:,} columns that are read; leave out those that are not used"
        )
    values = {number: [np.nan if v is None else v for v in column[1:]] for number, column in enumerate(columns)}
    return pd.DataFrame(values, dtype=object).set_axis([text_of(column[0]) or "" for column in columns], axis=1)


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
    if isinstance(files, CsvFiles):
        files.check(columns)
        parts = [chunk for file in files.paths for chunk in _chunks(file, files.form)]
    else:
        files.check_names(columns)
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
        """Raise InputError for a column that some file lacks, or has twice, and for a space before a quoted field."""
        for path, header in self.headers.items():
            for column in columns:
                _check_column(path, column, header, self.paths[0])
        if self._spaced:
            raise self._spaced

    @cached_property
    def _spaced(self) -> InputError | None:
        return next((refusal for path in self.paths if (refusal := spaced_quote(path, self.form))), None)

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
        return _place(self.paths, text, lambda path: (chunk[column].map(text_of) for chunk in _chunks(path, self.form)))


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
        yield without_blank_rows(chunk)


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
        empty = True
        for batch in file.iter_batches(_CHUNK, columns=list(columns)):
            empty = False
            yield pa.Table.from_batches([batch])
        if empty:  # of no row the schema is all that there is
            yield file.schema_arrow.empty_table().select(list(columns))


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
        (types.is_timestamp, f"times in the zone {kind.tz}" if getattr(kind, "tz", None) else "times"),
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


LONGEST_HEADER = 1 << 20
"""Bytes of the first line of a CSV file; a longer one names no columns of people."""

MOST_COLUMNS = 10_000

PARQUET = (".parquet", ".pq")


def require_files(paths: Sequence[Path]) -> None:
    """Raise InputError for a folder, pipe or device among the files of a table."""
    for path in paths:
        with reading(path):
            open_regular(path).close()


@contextmanager
def decompressed(path: Path) -> Iterator[BinaryIO]:
    """The bytes of a file to read, decompressed as its name says.

    Raises InputError where what decompresses it is not installed, and what its library raises for damaged bytes.
    """
    suffix = path.suffix.lower()
    with ExitStack() as held:
        stream: Any = held.enter_context(open_regular(path))
        if suffix == ".zip":
            archive = held.enter_context(zipfile.ZipFile(stream))
            if len(archive.namelist()) != 1:
                raise InputError(f"{path.name} must hold one file, a CSV file")
            stream = held.enter_context(archive.open(archive.namelist()[0]))
        elif suffix == ".zst":
            stream = _zstandard(path, stream)
        elif suffix in _OPENERS:
            stream = held.enter_context(_OPENERS[suffix](stream))
        yield stream


_OPENERS: Mapping[str, Callable[[Any], Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


def _zstandard(path: Path, stream: BinaryIO) -> BinaryIO:
    if not find_spec("zstandard"):
        raise InputError(
            f"{path.name} is compressed by Zstandard, which needs zstandard: pip install zstandard, or decompress it first"
        )
    return cast("BinaryIO", import_module("zstandard").open(stream, "rb"))


_DAMAGED: tuple[type[Exception], ...] = (
    ValueError,
    EOFError,
    zlib.error,
    lzma.LZMAError,
    zipfile.BadZipFile,
    NotImplementedError,  # a kind of compression that nobody here knows
    RuntimeError,  # an archive with a password
    ArithmeticError,  # numbers, dates or sizes that no type holds
    LookupError,
)


_LIBRARIES = ("zstandard", "pyreadstat")
"""Of which no error is a ValueError or the like."""


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """What goes wrong in reading a file, as InputErrors."""
    try:
        yield
    except InputError:
        raise
    except MemoryError:
        raise TooLittleMemoryError(path.name) from None
    except UnicodeDecodeError:
        raise not_in_utf8(path.name) from None
    except FileNotFoundError:
        raise InputError(f"there is no table at {path}") from None
    except OSError as error:
        if error.strerror is None:  # of a library that reads the content, not of the system
            raise _unreadable(path, error) from None
        raise InputError(f"{path.name} cannot be read: {error.strerror}") from None
    except _DAMAGED as error:
        raise _unreadable(path, error) from None
    except Exception as error:
        if type(error).__module__.startswith(_LIBRARIES):
            raise _unreadable(path, error) from None
        raise


def not_in_utf8(name: str) -> InputError:
    """What is said of a CSV file, by its name, that was read as UTF-8 and is in another encoding."""
    return InputError(
        f'{name} is not in UTF-8; name its encoding, data.encoding = "cp1252" for most files of Windows, or convert it'
    )


def _unreadable(path: Path, error: Exception) -> InputError:
    if path.suffix.lower() in PARQUET:
        problem = "its Parquet footer or pages are damaged; write it again"
    elif path.suffix.lower() in (".gz", ".bz2", ".xz", ".zip", ".zst"):
        problem = "it is damaged or cut off, or no CSV with a header is compressed in it"
    elif path.suffix.lower() in (".csv", ".tsv", ".txt") or not path.suffixes:
        problem = "it must be CSV with a header, or Parquet"
    else:
        problem = "it is damaged, or not of the kind that its name says; a table is CSV with a header, or Parquet"
    return InputError(f"{path.name} cannot be read as a table ({type(error).__name__}); {problem}")


# Rows of CSV files that are no rows: with fewer or more fields than the header, or in a quoted field as the file ends.
#
# Such a file was most likely cut off on its way. Some engines fill such a row up and some refuse it, so it is refused
# here, with one sentence for all.


_OPEN_QUOTE = "has a quoted field that does not end"


def broken_row(path: Path, form: CsvForm) -> InputError | None:
    r"""The sentence for the first broken row of a CSV file, which names its line and quotes nothing.

    None where there is no such row, or the file cannot be read.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "people.csv"
    ...     _ = path.write_text("age,sex\n31,f\n4")
    ...     print(broken_row(path, CsvForm()))
    line 3 of people.csv has fewer fields than the header; the file may be cut off: get it whole, or mend the line
    """
    try:
        with (
            reading(path),
            form.opened(path) as stream,
            TextIOWrapper(stream, encoding="utf-8-sig", newline="") as lines,
        ):
            problem = _problem(lines, form.separator)
    except InputError:
        return None
    if problem is None:
        return None
    line, what = problem
    return InputError(f"line {line} of {path.name} {what}; the file may be cut off: get it whole, or mend the line")


def _problem(lines: Iterable[str], separator: str) -> tuple[int, str] | None:
    """The line where the first broken row begins, and what is wrong with it."""
    row: list[str] = []

    def noted() -> Iterator[str]:
        for line in lines:
            row.append(line)
            yield line

    reader = csv.reader(noted(), delimiter=separator)
    width = begin = end = 0
    try:
        for fields in reader:
            begin, end = end + 1, reader.line_num
            width = width or len(fields)
            if len(fields) != width and "".join(fields).strip():
                less = f"has {'fewer' if len(fields) < width else 'more'} fields than the header"
                return begin, _OPEN_QUOTE if _ends_in_quotes(row, separator) else less
            last = row[:]
            row.clear()
    except csv.Error:  # a field longer than any: nothing closes its quote
        return end + 1, _OPEN_QUOTE
    return (begin, _OPEN_QUOTE) if width and _ends_in_quotes(last, separator) else None


def spaced_quote(path: Path, form: CsvForm) -> InputError | None:
    """Return the refusal of a CSV file that has a space before a quoted field, naming the line; else None.

    Some engines take the quotes for part of the value, and some do not. One pass over the bytes finds most files without
    such a field; only one that may have it is parsed.
    """
    try:
        with reading(path), ExitStack() as held:
            if not _may_have_spaced_quote(held.enter_context(form.opened(path)), form.separator):
                return None
            plain, skipping = (
                csv.reader(
                    TextIOWrapper(held.enter_context(form.opened(path)), encoding="utf-8-sig", newline=""),
                    delimiter=form.separator,
                    skipinitialspace=skips,
                )
                for skips in (False, True)
            )
            for fields, others in zip(plain, skipping):
                if [field.lstrip(" ") for field in fields] != [field.lstrip(" ") for field in others]:
                    return InputError(
                        f"line {plain.line_num} of {path.name} has a space before a quoted field, which not every engine "
                        "reads alike; remove the space"
                    )
    except (InputError, csv.Error):  # whoever reads the rows says what is wrong
        pass
    return None


def _may_have_spaced_quote(stream: BinaryIO, separator: str) -> bool:
    candidate = re.compile(rb"(?:\A|[\r\n" + re.escape(separator.encode()) + rb']) +"')
    before = b""
    while block := stream.read(1 << 20):
        block = before + block
        if b' "' in block and candidate.search(block):
            return True
        before = block[len(block.rstrip(b" ")) - 1 :] if block.strip(b" ") else block
    return False


def _ends_in_quotes(row: list[str], separator: str) -> bool:
    """Whether the lines of a row end before a quoted field of it does."""
    try:
        list(csv.reader(row, delimiter=separator, strict=True))
    except csv.Error as error:
        return "unexpected end" in str(error)
    return False


# What is said when a library or an engine that reads tables is missing, fails or runs out of memory.
#
# What an engine itself says is never quoted: it may quote rows.


_ERRORS = {
    "duckdb": ("Error",),
    "pyspark.errors": ("PySparkException",),
    "py4j.protocol": ("Py4JError",),
    "ibis.common.exceptions": ("IbisError",),
    "pyarrow": ("ArrowException",),
}
"""Roots of the exceptions of the engines, by module."""


def require(library: str, extra: str, purpose: str) -> None:
    """Raise InputError naming the extra to install unless a library can be imported."""
    try:
        import_module(library)
    except ImportError:
        raise InputError(f"{purpose} needs {library}: {installing(extra)}") from None


def _engine_errors() -> tuple[type[BaseException], ...]:
    """The exceptions of the engines that are in use."""
    loaded = ((sys.modules[module], names) for module, names in _ERRORS.items() if module in sys.modules)
    return tuple(getattr(module, name) for module, names in loaded for name in names)


@contextmanager
def engine_refusals(name: str) -> Iterator[None]:
    """Failures of engines as InputErrors; name: what messages call the table."""
    try:
        yield
    except MemoryError:
        raise TooLittleMemoryError(name) from None
    except Exception as error:
        if "pyspark" in sys.modules and isinstance(error, ConnectionError):
            raise InputError(
                f"{name} was not counted: Spark ended, as it does when memory is short; raise spark.driver.memory"
            ) from None
        if not isinstance(error, _engine_errors()):
            raise
        if "OutOfMemory" in type(error).__name__ or "OutOfMemory" in str(error):
            raise TooLittleMemoryError(name) from None
        raise InputError(f"{name} cannot be counted by its engine ({type(error).__name__})") from None


def is_part(path: Path, file: Path) -> bool:
    """Whether a file is one of those that a path stands for, by whatever link, or would be once it is written."""
    if path.is_dir():
        joins = _is_table(file) and resolved(file).is_relative_to(resolved(path))
    else:
        joins = resolved(file) == resolved(path) or (not path.exists() and resolved(file).match(str(resolved(path))))
    return joins or (file.exists() and any(file.samefile(part) for part in files_at(path)))
