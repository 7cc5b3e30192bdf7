"""Published files as texts: a header and rows, of a CSV file or of the first sheet of a spreadsheet that has a table."""

import csv
import re
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
_NOTE = re.compile(r"(?i)-{3,}$|(?:foot)?notes?\s*(?::|$)|sources?\s*(?::|$)|\*{1,3}\s|\u00a9|symbols?\s*:")
_LONG = 60
"""Characters beyond which a line of one text below a table is a note."""

_NUMBER = re.compile(r"\d[\d,. ]*%?")


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
    """A published table. Lines of a title above the header, notes below the rows, and what is empty are left out.

    Of a spreadsheet the first sheet is read that has rows with numbers, so none with a cover or with notes.

    Raises InputError for files that cannot be read, without a header, with a column name twice, and for rows that are longer
    than the header.
    """
    try:
        lines = _sheet(path) if path.suffix.lower() in _SPREADSHEETS else _csv(path)
    except FileNotFoundError:
        raise InputError(f"there is no table {path}") from None
    except OSError as error:
        raise InputError(f"{path.name} cannot be read: {error.strerror or type(error).__name__}") from None
    lines = _without_notes(_without_empty_columns(lines))
    width = max((sum(map(bool, line)) for line in lines), default=0)
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
    if not rows:
        raise InputError(f"{path.name} needs a header and rows below it")
    return PublishedFile(path, tuple(header), tuple(rows))


def _without_empty_columns(lines: Sequence[Sequence[str]]) -> list[list[str]]:
    width = max(map(len, lines), default=0)
    used = [any(line[n] for line in lines if n < len(line)) for n in range(width)]
    return [[text for text, is_used in zip(line, used) if is_used] for line in lines]


def _without_notes(lines: Sequence[list[str]]) -> list[list[str]]:
    """Lines with something in them, without what is written below the table: single texts that are no row without counts.

    The first of them begins like a note or a source, is long, or stands below an empty line; no row with a number follows.
    """
    last = max((n for n, line in enumerate(lines) if any(map(_NUMBER.fullmatch, line[1:]))), default=len(lines))
    for number, line in enumerate(lines[last + 1 :], start=last + 1):
        is_single = bool(line) and bool(line[0]) and not any(line[1:])
        if is_single and (_NOTE.match(line[0]) or len(line[0]) > _LONG or not any(lines[number - 1])):
            return [each for each in lines[:number] if any(each)]
    return [line for line in lines if any(line)]


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
        sheets = [
            [[_text(value) for value in line] for line in sheet.iter_rows(values_only=True)]
            for sheet in book.worksheets
        ]
    except FileNotFoundError:
        raise
    except Exception as error:  # whatever a damaged archive raises
        raise InputError(f"{path.name} cannot be read as a spreadsheet: {type(error).__name__}") from None
    with_numbers = (
        lines
        for lines in sheets
        if sum(any(map(_NUMBER.fullmatch, line)) and sum(map(bool, line)) > 1 for line in lines) > 1
    )
    return next(with_numbers, sheets[0])


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()


def names(values: Sequence[str]) -> str:
    """Some texts in a sentence."""
    return ", ".join(map(repr, values[:8])) + (f" and {len(values) - 8} more" if len(values) > 8 else "")
