"""Published files as texts: a header and rows, of a CSV file or of the first sheet of a spreadsheet."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from marginals.errors import InputError
from marginals.installing import installing
from marginals.regular_file import bounded_content

_MOST_BYTES = 1 << 26
_SPREADSHEETS = (".xlsx", ".xlsm")
_SEPARATORS = ",;\t|"


@dataclass(frozen=True)
class PublishedFile:
    """A table as it is published. header: names of its columns; rows: texts, as many as the header has."""

    path: Path
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.path.name

    def column(self, number: int) -> list[str]:
        """The texts of a column."""
        return [row[number] for row in self.rows]


def read_published(path: Path) -> PublishedFile:
    """A published table. Lines of a title above the header, and empty ones, are left out.

    Raises InputError for files that cannot be read, without a header, with a column name twice, and for rows that are longer
    than the header.
    """
    try:
        lines = _sheet(path) if path.suffix.lower() in _SPREADSHEETS else _csv(path)
    except FileNotFoundError:
        raise InputError(f"there is no table {path}") from None
    except OSError as error:
        raise InputError(f"{path.name} cannot be read: {error.strerror or type(error).__name__}") from None
    lines = [line for line in lines if any(line)]
    width = max(map(len, lines), default=0)
    begin = next((n for n, line in enumerate(lines) if sum(map(bool, line)) > max(1, width // 2)), None)
    if begin is None or begin + 1 >= len(lines):
        raise InputError(f"{path.name} needs a header and rows below it")
    header = list(lines[begin])
    while header and not header[-1]:
        header.pop()
    if len(set(header)) < len(header):
        twice = next(name for name in header if header.count(name) > 1)
        raise InputError(f"{path.name} has two columns of the name {twice!r}")
    rows = []
    for number, line in enumerate(lines[begin + 1 :], start=begin + 2):
        if any(line[len(header) :]):
            raise InputError(f"{path.name}: row {number} is longer than the header")
        rows.append(tuple([*line, *([""] * len(header))][: len(header)]))
    return PublishedFile(path, tuple(header), tuple(rows))


def _csv(path: Path) -> list[list[str]]:
    content = bounded_content(path, _MOST_BYTES)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("cp1252", "replace")
    first = text[:5_000]
    separator = max(_SEPARATORS, key=lambda sign: (first.count(sign), -_SEPARATORS.index(sign)))
    try:
        return [[field.strip() for field in line] for line in csv.reader(StringIO(text), delimiter=separator)]
    except csv.Error:
        raise InputError(f"{path.name} cannot be read as text with separators") from None


def _sheet(path: Path) -> list[list[str]]:
    try:
        import openpyxl
    except ImportError:
        raise InputError(f"{path.name} is a spreadsheet; reading it needs openpyxl: {installing('excel')}") from None
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        sheet = book.worksheets[0]
        return [[_text(value) for value in line] for line in sheet.iter_rows(values_only=True)]
    except FileNotFoundError:
        raise
    except Exception as error:  # whatever a damaged archive raises
        raise InputError(f"{path.name} cannot be read as a spreadsheet: {type(error).__name__}") from None


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()


def names(values: Sequence[str]) -> str:
    """Some texts in a sentence."""
    return ", ".join(map(repr, values[:8])) + (f" and {len(values) - 8} more" if len(values) > 8 else "")
