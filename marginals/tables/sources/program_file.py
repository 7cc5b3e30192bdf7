"""Files of statistics programs (SPSS, Stata, SAS) and spreadsheets: tables of one file, read into memory by pandas.

What such a file says in words, the description of a column and the label of each of its codes, is read by itself: a table
is published by its codes, and a config says what they mean.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from marginals.errors import InputError
from marginals.tables.sources.compressed import MOST_COLUMNS, reading
from marginals.tables.sources.distinct_rows import DistinctRows, text_of
from marginals.tables.sources.pandas_frame import PandasFrame
from marginals.tables.sources.refusal import require

if TYPE_CHECKING:
    import pandas as pd

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
        names = self.columns
        for column in columns:
            if names.count(column) > 1:
                raise InputError(f"{self.name} has two columns of the name {column!r}")
            if column not in names:
                raise InputError(f"{self.name} has no column {column!r}")

    def first_rows(self, count: int) -> "pd.DataFrame":
        """Rows at the beginning, at most so many, as texts."""
        import pandas as pd

        first = self.frame.head(count)
        texts = [[text_of(value) or "" for value in first.iloc[:, number]] for number in range(first.shape[1])]
        return pd.DataFrame(dict(enumerate(texts))).set_axis(list(self.columns), axis=1)

    def distinct_rows(self, columns: Sequence[str]) -> DistinctRows:
        """The distinct rows of some columns."""
        self.check(columns)
        return PandasFrame(self.frame, self.name).distinct_rows(columns)

    def rows_in_order(self, columns: Sequence[str]) -> Iterator[DistinctRows]:
        """All rows of some columns, in one part."""
        self.check(columns)
        return PandasFrame(self.frame, self.name).rows_in_order(columns)

    def place(self, column: str, text: str) -> str | None:
        """The first row with a value."""
        return PandasFrame(self.frame, self.name).place(column, text)


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

    require("openpyxl", "excel", f"{path.name} is a spreadsheet; {_AS_CSV}, or have it read as it is: that")
    with reading(path):
        sheets = pd.read_excel(
            path, sheet_name=None, header=None, dtype=object, keep_default_na=False, na_values=[""], engine="openpyxl"
        )
    filled = [sheet.dropna(how="all").dropna(how="all", axis=1) for sheet in sheets.values()]
    filled = [sheet for sheet in filled if sheet.size]
    if len(filled) != 1:
        raise InputError(
            f"{path.name} has {len(filled)} sheets with something in them, and must have one, whose first row names the "
            f"columns; {_AS_CSV}"
        )
    [sheet] = filled
    if sheet.shape[1] > MOST_COLUMNS:
        raise InputError(
            f"{path.name} has more than the {MOST_COLUMNS} columns that are read; leave out those that are not used"
        )
    header = [text_of(name) or "" for name in sheet.iloc[0]]
    return sheet.iloc[1:].reset_index(drop=True).set_axis(header, axis=1)
