"""Workbooks of Excel (.xlsx), read within bounds: what is unpacked, how many cells there are, how much text they hold.

Such a file is a zip archive of XML. Nothing of it is laid out before it is counted: each part is unpacked and parsed a piece
at a time, cells without content cost nothing wherever they stand, and a document type, by which a few bytes of XML can
stand for gigabytes, is refused. Which values cells have, dates above all, is what openpyxl says of them.
"""

import posixpath
import re
import zipfile
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, BinaryIO
from xml.parsers import expat

import numpy as np

from marginals.errors import InputError

if TYPE_CHECKING:
    import numpy.typing as npt

MOST_UNPACKED = 512 << 20
"""Bytes of all parts that are read of a workbook."""

MOST_TEXT = 64 << 20
"""Characters of all shared strings, and of all texts in cells."""

MOST_STRINGS = 3_000_000
"""Shared strings."""

MOST_CELLS = 10_000_000
"""Cells of the rectangle around everything in a sheet, and all that hold something."""

_MOST_ELEMENTS = 200_000
"""Elements of parts that are no rows and no strings."""

_DEEPEST = 100
_LONGEST_TAG = 1 << 20
_PIECE = 1 << 16
_ROWS, _COLUMNS = 1 << 20, 1 << 14
"""Of a sheet, as Excel has them."""

_AS_CSV = "save the sheet as CSV and name that file"

_AGAIN = f"save it again with a spreadsheet program, or {_AS_CSV}"

Attributes = Mapping[str, str]


@dataclass(frozen=True)
class Sheet:
    """What stands in a sheet.

    columns: for each column with something in it, by its number, the numbers of the rows and the values there.
    """

    columns: Mapping[int, tuple["array[int]", list[object]]]

    @cached_property
    def rows(self) -> "npt.NDArray[np.int32]":
        """The numbers of the rows with something in them, in order."""
        return np.unique(np.concatenate([np.frombuffer(rows, np.int32) for rows, _ in self.columns.values()]))

    @property
    def size(self) -> int:
        """Cells of the rectangle around everything."""
        return int(self.rows[-1] - self.rows[0] + 1) * (max(self.columns) - min(self.columns) + 1)

    @property
    def last(self) -> str:
        """The name of the last cell of the rectangle."""
        return f"{_letters(max(self.columns))}{self.rows[-1]}"

    def table(self) -> dict[int, "npt.NDArray[np.object_]"]:
        """For each column with something in it, by its number, its values in all rows with something; NaN for nothing."""
        result = {}
        for number in sorted(self.columns):
            rows, values = self.columns[number]
            result[number] = np.full(len(self.rows), np.nan, dtype=object)
            for place, value in zip(np.searchsorted(self.rows, np.frombuffer(rows, np.int32)), values):
                result[number][place] = value
        return result


def sheets_of(stream: BinaryIO, name: str) -> list[Sheet]:
    """The sheets of a workbook that hold something. name: what messages call the file.

    Raises InputError for what is larger than is read, a document type, and parts that are missing or no XML; and what
    zipfile raises for no archive.
    """
    with zipfile.ZipFile(stream) as archive:
        return _Workbook(archive, name).sheets()


@dataclass
class _Parser:
    """Parses one part, telling of each element, its text, and its end.

    begin, end: get local names. texts: of the elements whose text is wanted.
    """

    begin: Callable[[str, Attributes], None]
    end: Callable[[str, str], None] = lambda _name, _text: None
    wanted: frozenset[str] = frozenset()
    _depth: int = 0
    _heard: int = 0
    _text: list[str] = field(default_factory=list)
    _listens: bool = False

    def parse(self, pieces: Iterator[bytes]) -> None:
        """Parse all pieces of a part. Raises expat.ExpatError, and _RefusedError for what is refused."""
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = self._refuse
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._stop
        parser.CharacterDataHandler = self._hear
        fed = 0
        for piece in pieces:
            parser.Parse(piece, False)
            fed += len(piece)
            if fed - parser.CurrentByteIndex > _LONGEST_TAG:
                raise _RefusedError("has a tag that is longer than any")
        parser.Parse(b"", True)

    def _refuse(self, *_: object) -> None:
        raise _RefusedError("has a document type or entities in its XML, which no spreadsheet program writes")

    def _start(self, name: str, attributes: Attributes) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise _RefusedError(f"has XML that is nested more than {_DEEPEST} deep")
        local = _local(name)
        self._listens = local in self.wanted
        self._text.clear()
        self._heard = 0
        self.begin(local, attributes)

    def _stop(self, name: str) -> None:
        self._depth -= 1
        self._listens = False
        self.end(_local(name), "".join(self._text))
        self._text.clear()

    def _hear(self, text: str) -> None:
        if self._listens:
            self._heard += len(text)
            if self._heard > _LONGEST_TAG:
                raise _RefusedError("has a text that is longer than any that fits into a cell")
            self._text.append(text)


class _RefusedError(Exception):
    """Its text says what a workbook has, without the workbook's name."""


def _local(name: str) -> str:
    return name.rpartition(":")[2]


class _Workbook:
    """A workbook whose parts are read one after the other, within the bounds of all."""

    def __init__(self, archive: zipfile.ZipFile, name: str) -> None:
        self._archive, self._name = archive, name
        self._unpacked = self._elements = self._characters = self._filled = 0

    def sheets(self) -> list[Sheet]:
        main = next(
            (target for kind, target in self._relations("", "_rels/.rels").values() if kind == "officeDocument"),
            "xl/workbook.xml",
        )
        folder, _, file = main.rpartition("/")
        relations = self._relations(folder, posixpath.join(folder, "_rels", f"{file}.rels"))
        listed, epoch_of_1904 = self._listed(main)
        named = dict(relations.values())
        strings = self._strings(named["sharedStrings"]) if "sharedStrings" in named else []
        formats = self._formats(named["styles"]) if "styles" in named else _Formats({}, epoch_of_1904)
        formats = _Formats(formats.codes, epoch_of_1904)
        result = []
        for relation in listed:
            kind, target = relations.get(relation, ("worksheet", ""))
            if kind == "worksheet":
                sheet = self._sheet(target, strings, formats)
                if sheet.columns:
                    result.append(sheet)
        return result

    def _relations(self, folder: str, part: str) -> dict[str, tuple[str, str]]:
        """What a part refers to, by its key: of which kind it is, and its path in the archive."""
        result: dict[str, tuple[str, str]] = {}

        def begin(name: str, attributes: Attributes) -> None:
            self._count_element()
            if name == "Relationship" and attributes.get("TargetMode") != "External":
                target = attributes.get("Target", "")
                path = posixpath.normpath(target[1:] if target.startswith("/") else posixpath.join(folder, target))
                result[attributes.get("Id", "")] = attributes.get("Type", "").rpartition("/")[2], path

        if part in self._archive.namelist():
            self._parse(part, _Parser(begin))
        return result

    def _listed(self, part: str) -> tuple[list[str], bool]:
        """The keys of the sheets, and whether days are counted from 1904 on."""
        keys: list[str] = []
        from_1904 = False

        def begin(name: str, attributes: Attributes) -> None:
            nonlocal from_1904
            self._count_element()
            if name == "sheet":
                keys.append(next((value for key, value in attributes.items() if _local(key) == "id"), ""))
            elif name == "workbookPr":
                from_1904 = attributes.get("date1904", "0") in ("1", "true", "on")

        self._parse(part, _Parser(begin))
        return keys, from_1904

    def _strings(self, part: str) -> list[str]:
        strings: list[str] = []
        pieces: list[str] = []
        phonetic = 0

        def begin(name: str, _attributes: Attributes) -> None:
            nonlocal phonetic
            self._elements += name not in ("si", "t", "r")
            self._bound_elements()
            phonetic += name == "rPh"
            if name == "si":
                if len(strings) >= MOST_STRINGS:
                    raise _RefusedError(f"has more than the {MOST_STRINGS:,} shared strings that are read")
                pieces.clear()

        def end(name: str, text: str) -> None:
            nonlocal phonetic
            phonetic -= name == "rPh"
            if name == "t" and not phonetic:
                self._count_text(text)
                pieces.append(text)
            elif name == "si":
                strings.append("".join(pieces).replace("x005F_", ""))

        self._parse(part, _Parser(begin, end, frozenset("t")))
        return strings

    def _formats(self, part: str) -> "_Formats":
        codes: dict[str, str] = {}
        formats: list[str] = []
        inside = False

        def begin(name: str, attributes: Attributes) -> None:
            nonlocal inside
            self._count_element()
            if name == "cellXfs":
                inside = True
            elif name == "xf" and inside:
                formats.append(attributes.get("numFmtId", "0"))
            elif name == "numFmt":
                codes[attributes.get("numFmtId", "")] = attributes.get("formatCode", "")

        def end(name: str, _text: str) -> None:
            nonlocal inside
            if name == "cellXfs":
                inside = False

        self._parse(part, _Parser(begin, end))
        from openpyxl.styles.numbers import BUILTIN_FORMATS

        builtin = {str(number): code for number, code in BUILTIN_FORMATS.items()}
        return _Formats({str(place): codes.get(key) or builtin.get(key) or "" for place, key in enumerate(formats)})

    def _sheet(self, part: str, strings: Sequence[str], formats: "_Formats") -> Sheet:
        """The filled cells of a sheet."""
        columns: dict[int, tuple[array[int], list[object]]] = {}
        row = column = 0
        cell: Attributes = {}
        value: str | None = None
        inline: list[str] = []
        phonetic = 0

        def begin(name: str, attributes: Attributes) -> None:
            nonlocal row, column, cell, value, phonetic
            if name == "row":
                row, column = _row_number(attributes.get("r"), row), 0
            elif name == "c":
                column = _column_number(attributes.get("r"), column)
                cell, value = attributes, None
                inline.clear()
            elif name not in ("v", "t", "is", "f", "r"):
                self._count_element()
                phonetic += name == "rPh"

        def end(name: str, text: str) -> None:
            nonlocal value, phonetic
            if name == "v":
                value = text
            elif name == "t" and not phonetic:
                inline.append(text)
            elif name == "rPh":
                phonetic -= 1
            elif name == "c":
                known = "".join(inline) if cell.get("t") == "inlineStr" else value
                if known and (read := self._value(known, cell, strings, formats)) not in (None, ""):
                    self._filled += 1
                    if self._filled > MOST_CELLS:
                        raise _RefusedError(f"has more than the {MOST_CELLS:,} cells that are read")
                    if column not in columns:
                        columns[column] = array("i"), []
                    columns[column][0].append(row)
                    columns[column][1].append(read)

        self._parse(part, _Parser(begin, end, frozenset("vt")))
        return Sheet(columns)

    def _value(self, text: str, cell: Attributes, strings: Sequence[str], formats: "_Formats") -> object:
        """The value of a cell, None for an error."""
        match cell.get("t", "n"):
            case "n":
                number = float(text) if set(text) & set(".eE") else int(text)
                return formats.value(number, cell.get("s", "0"))
            case "s":
                return strings[int(text)] if int(text) >= 0 else None
            case "b":
                return bool(int(text))
            case "e":
                return None
            case "d":
                from openpyxl.utils.datetime import from_ISO8601

                return from_ISO8601(text)
            case _:
                self._count_text(text)
                return text

    def _count_element(self) -> None:
        self._elements += 1
        self._bound_elements()

    def _bound_elements(self) -> None:
        if self._elements > _MOST_ELEMENTS:
            raise _RefusedError(f"has more than {_MOST_ELEMENTS:,} styles, names and other things beside its cells")

    def _count_text(self, text: str) -> None:
        self._characters += len(text)
        if self._characters > MOST_TEXT:
            raise _RefusedError(f"has more than the {MOST_TEXT:,} characters of text that are read")

    def _parse(self, part: str, parser: _Parser) -> None:
        try:
            parser.parse(self._pieces(part))
        except _RefusedError as error:
            raise InputError(f"{self._name} {error}; {_AS_CSV}") from None
        except KeyError:
            raise InputError(f"{self._name} has no part {_shown(part)}, which it says to have; {_AGAIN}") from None
        except (expat.ExpatError, IndexError, ArithmeticError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"{_shown(part)} in {self._name} is no XML of a spreadsheet; {_AGAIN}") from None

    def _pieces(self, part: str) -> Iterator[bytes]:
        with self._archive.open(part) as stream:
            while piece := stream.read(_PIECE):
                self._unpacked += len(piece)
                if self._unpacked > MOST_UNPACKED:
                    raise _RefusedError(
                        f"is larger than the {MOST_UNPACKED >> 20} MB that are read when it is unpacked"
                    )
                yield piece


@dataclass(frozen=True)
class _Formats:
    """How the cells of each style show numbers, and so whether these are dates."""

    codes: Mapping[str, str]
    from_1904: bool = False
    _known: dict[str, tuple[bool, bool]] = field(default_factory=dict)

    def value(self, number: int | float, style: str) -> object:
        """The date, time or number that a cell holds; None for a date that there is not."""
        is_date, is_duration = self._kind(style)
        if not is_date:
            return int(number) if number == int(number) else number
        from openpyxl.utils.datetime import CALENDAR_MAC_1904, WINDOWS_EPOCH, from_excel

        epoch: datetime = CALENDAR_MAC_1904 if self.from_1904 else WINDOWS_EPOCH
        try:
            return from_excel(number, epoch, timedelta=is_duration)
        except (OverflowError, ValueError):
            return None

    def _kind(self, style: str) -> tuple[bool, bool]:
        if style not in self._known:
            from openpyxl.styles.numbers import is_date_format, is_timedelta_format

            code = self.codes.get(style) or None
            self._known[style] = bool(is_date_format(code)), bool(code and is_timedelta_format(code))
        return self._known[style]


_CELL = re.compile(r"\$?([A-Za-z]{1,3})\$?([0-9]{1,7})")


def _row_number(text: str | None, before: int) -> int:
    number = before + 1 if text is None else int(float(text)) if len(text) < 20 else 0
    if not 1 <= number <= _ROWS:
        raise ValueError("no row has this number")
    return number


def _column_number(name: str | None, before: int) -> int:
    if name is None:
        number = before + 1
    elif match := _CELL.fullmatch(name):
        number = 0
        for letter in match[1].upper():
            number = 26 * number + ord(letter) - ord("A") + 1
    else:
        number = 0
    if not 1 <= number <= _COLUMNS:
        raise ValueError("no cell has this name")
    return number


def _letters(number: int) -> str:
    letters = ""
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def _shown(part: str) -> str:
    return part if part.isprintable() and 0 < len(part) < 100 else "a sheet"
