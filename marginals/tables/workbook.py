"""Workbooks of Excel (.xlsx), read by python-calamine after a count of all their parts.

A workbook is a zip archive of XML. Each part is unpacked and parsed a piece at a time, within bounds. A document type,
by which a few bytes can stand for gigabytes, is refused. The parts that passed go into a new archive. So the library
reads only counted parts, whatever the directory of the old archive says.
"""

import re
import zipfile
from collections.abc import Mapping
from functools import reduce
from io import BytesIO
from pathlib import Path
from typing import BinaryIO
from xml.parsers import expat

from marginals.errors import InputError

MOST_UNPACKED = 512 << 20

MOST_TEXT = 256 << 20

MOST_CELLS = 10_000_000  # of the rectangle around the content of a sheet, and of all cells with content
MOST_STYLES = 16 << 20

_MOST_ELEMENTS = 200_000

_LONGEST_TAG = 1 << 20
_PIECE = 1 << 16
_LAST_ROW, _LAST_COLUMN = 1 << 20, 1 << 14
_INDENT = re.compile(rb"""\balignment\b[^>]*\bindent=["'][1-9]""")
_CELL = re.compile(r"\$?([A-Z]{1,3})\$?([1-9][0-9]{0,6})")
AS_CSV = 'save the sheet as CSV ("CSV UTF-8" in the list of file types of "Save as") and name that file'

Rows = list[list[object]]  # None for nothing and for an error such as #N/A


def sheets_of(stream: BinaryIO, name: str) -> dict[str, Rows]:
    """Return the sheets of a workbook that hold something, hidden ones too, by name.

    Raises InputError for a workbook that is too large, a document type, and for parts that are missing or no XML.
    """
    from python_calamine import CalamineError, CalamineWorkbook, SheetTypeEnum

    try:
        book = CalamineWorkbook.from_filelike(_counted(stream))
        kinds = [sheet.typ == SheetTypeEnum.WorkSheet for sheet in book.sheets_metadata]
        filled, pool = dict[str, Rows](), dict[str, str]()
        for sheet in (book.get_sheet_by_index(number) for number, has_cells in enumerate(kinds) if has_cells):
            rows = [[_value(cell, pool) for cell in row] for row in (sheet.iter_rows() if sheet.end else ())]
            if any(value is not None for row in rows for value in row):
                filled[sheet.name] = rows
    except _RefusedError as error:
        raise InputError(f"{name} {error}; {AS_CSV}") from None
    except BaseException as error:
        damaged = (CalamineError, expat.ExpatError, ArithmeticError, LookupError, ValueError)
        if not isinstance(error, damaged) and type(error).__name__ != "PanicException":  # of the library's Rust
            raise
        raise InputError(
            f"{name} has a part that is no XML of a spreadsheet, or lacks one ({type(error).__name__}); save it again with "
            f"a spreadsheet program, or {AS_CSV}"
        ) from None
    return filled


def indents_cells(path: Path) -> bool:
    """Return whether a style of a workbook that was read moves cells to the right, as those of the parts of a total."""
    with zipfile.ZipFile(path) as archive:
        styles = [part for part in archive.namelist() if part.lower().endswith("styles.xml")]
        return any(_INDENT.search(archive.open(part).read(MOST_STYLES)) for part in styles)


def _value(cell: object, pool: dict[str, str]) -> object:
    if isinstance(cell, float):
        return int(cell) if cell.is_integer() else cell
    if isinstance(cell, str):
        return pool.setdefault(cell, cell) or None
    return cell


class _RefusedError(Exception):
    """Refusal of a workbook; its text lacks the workbook's name."""


def _counted(stream: BinaryIO) -> BytesIO:
    copy, counts = BytesIO(), _Counts()
    with zipfile.ZipFile(stream) as archive, zipfile.ZipFile(copy, "w") as checked:
        parts = [part for part in archive.namelist() if part.lower().endswith((".xml", ".rels"))]
        if len({part.lower() for part in parts}) < len(parts):
            raise _RefusedError("has two parts of one name")
        for part in sorted(parts, key=lambda part: not part.lower().endswith("sharedstrings.xml")):
            parser, fed = counts.parser(), 0
            with archive.open(part) as packed, checked.open(part, "w") as unpacked:
                while piece := packed.read(_PIECE):
                    counts.unpacked += len(piece)
                    _bound(counts.unpacked, MOST_UNPACKED, "bytes when it is unpacked")
                    parser.Parse(piece, False)
                    fed += len(piece)
                    if fed - parser.CurrentByteIndex > _LONGEST_TAG:
                        raise _RefusedError("has a tag that is longer than any")
                    unpacked.write(piece)
                parser.Parse(b"", True)
    copy.seek(0)
    return copy


def _refuse_document_type(*_: object) -> None:
    raise _RefusedError("has a document type or entities in its XML, which no spreadsheet program writes")


def _bound(number: int, most: int, what: str) -> None:
    if number > most:
        raise _RefusedError(f"has more than the {most:,} {what} that are read")


class _Counts:
    """Counts of the parts of a workbook, one after the other; the part of shared strings comes first."""

    def __init__(self) -> None:
        self.unpacked = 0
        self._elements = self._characters = self._filled = 0
        self._string_lengths: list[int] = []

    def parser(self) -> expat.XMLParserType:
        """Return a parser that counts one part, and raises _RefusedError if that is too large."""
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = _refuse_document_type
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._hear
        self._row = self._cell_row = self._column = 0
        self._corners: tuple[int, int, int, int] | None = None
        self._is_shared = self._listens = False
        self._text = ""
        return parser

    def _start(self, name: str, attributes: Mapping[str, str]) -> None:
        self._listens, self._text = False, ""
        match name.rpartition(":")[2]:
            case "row":
                self._row, self._column = int(attributes.get("r", self._row + 1)), 0
            case "c":
                self._place(attributes.get("r"))
                self._is_shared = attributes.get("t") == "s"
            case "v" | "t":
                self._listens = True
            case "si":
                self._string_lengths.append(0)
                _bound(len(self._string_lengths), MOST_CELLS, "shared strings")
            case "f" | "is" | "r":
                pass
            case _:
                self._elements += 1
                _bound(self._elements, _MOST_ELEMENTS, "styles, names and other things beside its cells")

    def _hear(self, text: str) -> None:
        if self._listens:
            self._text += text
            if len(self._text) > _LONGEST_TAG:
                raise _RefusedError("has a text that is longer than any that fits into a cell")

    def _end(self, name: str) -> None:
        local, text = name.rpartition(":")[2], self._text
        self._listens, self._text = False, ""
        if not text or local not in ("v", "t"):
            return
        length = self._string_lengths[int(text)] if self._is_shared and local == "v" else len(text)
        self._characters += length
        _bound(self._characters, MOST_TEXT, "characters of text")
        if self._row:
            self._fill()
        else:
            self._string_lengths[-1] += length

    def _place(self, name: str | None) -> None:
        self._cell_row, self._column = self._row, self._column + 1
        if name is not None:
            if not (match := _CELL.fullmatch(name)):
                raise ValueError("no cell has this name")
            self._cell_row = int(match[2])
            self._column = reduce(lambda number, letter: 26 * number + ord(letter) - 64, match[1], 0)
        if not (1 <= self._row <= _LAST_ROW and 1 <= self._cell_row <= _LAST_ROW and self._column <= _LAST_COLUMN):
            raise ValueError("no cell has this name")

    def _fill(self) -> None:
        self._filled += 1
        _bound(self._filled, MOST_CELLS, "cells")
        row, column = self._cell_row, self._column
        top, left, bottom, right = self._corners or (row, column, row, column)
        top, left, bottom, right = min(top, row), min(left, column), max(bottom, row), max(right, column)
        self._corners = top, left, bottom, right
        if (size := (bottom - top + 1) * (right - left + 1)) > MOST_CELLS:
            raise _RefusedError(
                f"has its cells in a rectangle of {size:,}, and {MOST_CELLS:,} are read. Remove cells far from the table, "
                f"up to row {bottom} and column {right}"
            )
