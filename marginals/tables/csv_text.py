"""CSV as text: its separator, encoding and lines, and refusals that do not depend on the engine.

UTF-8 is read as it is, and everything else is recoded.
"""

import codecs
import csv
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from io import StringIO, TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np

from marginals.errors import InputError
from marginals.tables.layout import LOOKED_AT, ONE_LINE, Header, Layout, Lines, footnote, is_header, likely_header
from marginals.tables.opening import decompressed, reading
from marginals.tables.values import number_in
from models.frozen import frozen

SEPARATORS = (",", ";", "\t", "|")

AUTO = "auto"  # UTF-8, or what the mark of a file says
LONGEST_HEADER = 1 << 20

MOST_COLUMNS = 10_000

LONGEST_LINE = 1 << 24  # a longer one is a hole of a sparse file, or zeros that were compressed

# The longer ones first: that of UTF-32 begins as that of UTF-16.
_MARKS = ((codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"), (codecs.BOM_UTF16_LE, "utf-16"),
          (codecs.BOM_UTF16_BE, "utf-16"))  # fmt: skip

_UNMARKED = ((re.compile(rb"(?s)(?:[^\0]\0){2}"), "utf-16-le"), (re.compile(rb"(?s)(?:\0[^\0]){2}"), "utf-16-be"))

_BLOCK = 1 << 16


def is_encoding(name: object) -> bool:
    """Return whether a name is "auto" or an encoding of text in which a line break and a comma are themselves."""
    if name == AUTO:
        return True
    try:
        codec = codecs.lookup(str(name)).name
        keeps_signs = 'a,";\t|\n'.encode(codec).decode(codec) == 'a,";\t|\n'
    except (LookupError, UnicodeError, TypeError, ValueError):
        return False
    return isinstance(name, str) and keeps_signs and not re.search("utf-7|idna|punycode|escape", codec)


@frozen
class FileForm:
    """Form of files, by keys of the section [data] of a config. Raises InputError for a header that is no line."""

    separator: str = ","
    encoding: str = AUTO
    header: Header = None
    sheet: str | None = None

    def __post_init__(self) -> None:
        if not is_header(self.header):  # config checks the others, too
            raise InputError(f"the header is {ONE_LINE}")

    def recoded_from(self, path: Path) -> str | None:
        """Return the encoding of a file, None for UTF-8. Raises InputError where the file cannot be read."""
        declared = None if self.encoding == AUTO else codecs.lookup(self.encoding).name
        if declared is not None and not declared.startswith(("utf-16", "utf-32")):
            return None if declared in ("utf-8", "utf-8-sig", "ascii") else declared
        with reading(path), decompressed(path) as stream:
            begin = stream.read(4)
        marked = next((name for mark, name in _MARKS if begin.startswith(mark)), declared)
        return marked or next((name for begins, name in _UNMARKED if begins.match(begin)), None)

    @contextmanager
    def text(self, path: Path) -> Iterator[TextIOWrapper]:
        """Open a file, decompressed, as lines with their ends. Raises InputError for a line without an end."""
        encoding = self.recoded_from(path)
        try:
            with decompressed(path) as stream, _Lines(stream, path.name, encoding or "utf-8-sig") as lines:
                yield lines
        except UnicodeError:
            if encoding is None:
                raise
            raise InputError(
                f"{path.name} is not in {encoding}; name another data.encoding, or convert it to UTF-8"
            ) from None

    def with_likely_header(self, rows: Lines) -> "FileForm":
        """Add the line that names the columns, by the first rows, if nothing says so and it is not the first."""
        filled = [(number, row) for number, row in rows if any(text.strip() for text in row)]
        if self.header is not None or not filled or (likely := likely_header(filled)[0]) == filled[0][0]:
            return self
        return replace(self, header=likely)

    def layout(self, path: Path) -> Layout:
        """Return the places of names and rows. Raises InputError for no header, or another separator."""
        with reading(path):
            separator, rows, texts = _first_lines(path, self)
            if max((len(row) for _, row in rows), default=0) > MOST_COLUMNS:
                raise too_many_columns(path.name)
            layout = replace(Layout.of(rows, self.header, path.name), separator=separator)
        if not any("\n" in name or "\r" in name for name in layout.names):
            layout = replace(layout, line=texts[rows[layout.skipped - 1][0] - 1].rstrip("\r\n"))
        if _SPACED.fullmatch(layout.line):
            raise InputError(
                f"columns of {path.name} look separated by spaces, which are not read; write it with commas"
            )
        if len(layout.names) == 1 and (better := _likely_separator(path, self)) != separator:
            raise InputError(
                f"columns of {path.name} look separated by {json.dumps(better)}, not {json.dumps(separator)}; "
                f"set data.separator = {json.dumps(better)}"
            )
        return layout


PLAIN = FileForm()  # assumed


def too_many_columns(name: str) -> InputError:
    """Return the refusal of a table, by its name, for its width."""
    return InputError(
        f"{name} has more than the {MOST_COLUMNS:,} columns that are read; leave out those that are not used"
    )


def _first_lines(path: Path, form: FileForm) -> tuple[str, Lines, list[str]]:
    """Separator, parsed lines and texts of the beginning of a file."""
    with form.text(path) as stream:
        text = stream.read(LONGEST_HEADER + 1)
    if len(text) > LONGEST_HEADER:
        line = re.split(r"[\r\n]", text.lstrip(), maxsplit=1)[0]
        if not line or text.endswith(line):
            raise InputError(
                f"the first line of {path.name} is longer than the {LONGEST_HEADER} characters that are read of a header; "
                "it must be CSV with a header"
            )
        text = text[: max(text.rfind("\n"), text.rfind("\r")) + 1]
    lines, separator, begins = [*StringIO(text, newline="")], form.separator, 0
    if lines and (named := re.fullmatch(r'"?sep=(.)"?[,;\t|]*\s*', lines[0])):
        separator, begins = named[1], 1
        if separator not in SEPARATORS:
            raise InputError(
                f"the first line of {path.name} names a separator that is not read; write , or ; or | or a tab"
            )
    rows, reader = [(1, list[str]())] * begins, csv.reader(lines[begins:], delimiter=separator)
    while len(rows) < LOOKED_AT:
        number = begins + reader.line_num + 1
        try:
            rows.append((number, next(reader)))
        except (StopIteration, csv.Error):  # whoever reads the rows says what is wrong
            break
    return separator, rows, lines


_SPACED = re.compile('"[^"]*"( "[^"]*")+')  # names as `write.table` of R writes them


def _likely_separator(path: Path, form: FileForm) -> str:
    best, most = form.separator, 1
    for other in SEPARATORS:
        separator, lines, _ = _first_lines(path, replace(form, separator=other))
        if separator != other:  # as the file says itself
            return separator
        rows = [(number, row) for number, row in lines if any(row)]
        header = form.header or likely_header(rows)[0] if rows else 1
        widths = Counter(len(row) for number, row in rows if number >= header)
        width, count = max(widths.items(), key=lambda item: item[1], default=(0, 0))
        names = next((row for number, row in rows if number == header), [])
        if width > most and 2 * count > widths.total() and abs(len(names) - width) <= 1:
            best, most = other, width
    return best


class _Lines(TextIOWrapper):
    """Text of a file in which every line ends, so that no reader takes a file of zeros into memory."""

    def __init__(self, stream: BinaryIO, name: str, encoding: str) -> None:
        super().__init__(stream, encoding, newline="")
        self._file, self._since_break = name, 0

    def read(self, size: int | None = -1) -> str:
        block = super().read(size)
        last = max(block.rfind("\n"), block.rfind("\r"))
        self._since_break = len(block) - last - 1 + (self._since_break if last < 0 else 0)
        if self._since_break > LONGEST_LINE:
            raise _endless(self._file)
        return block

    def __next__(self) -> str:  # type: ignore[override]  # as TextIOWrapper has it
        line = self.readline(LONGEST_LINE + 1)
        if not line:
            raise StopIteration
        if len(line) > LONGEST_LINE:
            raise _endless(self._file)
        return line


def _endless(name: str) -> InputError:
    return InputError(
        f"{name} has a line of more than the {LONGEST_LINE} characters that are read of one. It must be CSV with a header "
        "and a line a row"
    )


def likely_form(path: Path, header: Header = None) -> FileForm:
    """Return the most likely form of a CSV file, by its first lines. header: the line that names the columns, if known."""
    form = FileForm(encoding=_likely_encoding(path), header=header)
    with reading(path):
        form = replace(form, separator=_likely_separator(path, form))
        return form.with_likely_header(_first_lines(path, form)[1])


def _likely_encoding(path: Path) -> str:
    """UTF-8, else that of Windows in Western Europe and America. Raises InputError if words look wrong in both."""
    if PLAIN.recoded_from(path) is not None:
        return AUTO
    with reading(path):
        with suppress(UnicodeDecodeError), PLAIN.text(path) as lines:
            while lines.read(_BLOCK):
                pass
            return AUTO
        with decompressed(path) as stream:
            lines_of_file = (line for block in _whole_lines(stream.read, path.name) for line in block.split(b"\n"))
            sample = b"\n".join(islice((line for line in lines_of_file if not line.isascii()), _LIKENESS))[:_BLOCK]
    if _ODD.search(sample.decode("cp1252", errors="replace")):
        raise InputError(
            f"{path.name} is neither in UTF-8 nor in cp1252; convert it to UTF-8, or name its encoding, such as cp1250, "
            "cp1251 or shift_jis, under data.encoding"
        )
    return "cp1252"


# Signs of a wrong encoding: a sign within a word, figures and currencies beside letters, but for m², and a capital letter
# that ASCII lacks after a small letter.
_ODD = re.compile(
    "\ufffd|[^\\W\\d_][^\\w\\s\\x00-\\x7f\u2019\xb4\xb7][^\\W\\d_]|[^\\W\\d_m][²³¹]|[²³¹£¥¢][^\\W\\d_]|[a-zß-öø-ÿ][À-ÖØ-Þ]"
)


# One pass over the bytes finds most files without a fault; others are parsed here, because pandas fills broken rows up.


def unsafe_line(path: Path, form: FileForm, layout: Layout) -> InputError | None:
    """Return the refusal of what a CSV file holds besides rows, after one pass over its bytes; None for a file of rows."""
    special = np.zeros(256, dtype=bool)
    special[list(f'\r\n"{layout.separator}'.encode())] = True
    is_suspect, headers, last, breaks = False, 0, b"", 0
    line = layout.line.encode()
    pattern = re.compile(rb"(?:\A|[\r\n])" + re.escape(line) + rb"(?=[\r\n]|\Z)")
    try:
        is_utf8 = form.recoded_from(path) is None
        with reading(path), form.text(path) as lines:
            read = cast("BinaryIO", lines.buffer).read if is_utf8 else lambda size: lines.read(size).encode()
            for block in _whole_lines(read, path.name):
                if b'"' in block:
                    codes = np.frombuffer(b"\n" + block + b"\n", dtype=np.uint8)
                    places = np.flatnonzero(codes == ord('"'))
                    is_suspect |= not (special[codes[places - 1]] | special[codes[places + 1]]).all()
                    ends = np.flatnonzero((codes == 10) | (codes == 13))
                    is_suspect |= bool((np.searchsorted(places, ends) % 2).any())
                is_suspect |= b"\0" in block
                if line and (times := block.count(line)):
                    headers += times if times == 1 else len(pattern.findall(block))
                breaks += block.count(b"\n") + block.count(b"\r") - block.count(b"\r\n")
                last = (last + block)[-_BLOCK:]
    except InputError as error:
        return error
    refusal = broken_row(path, form) if is_suspect or headers > 1 else None
    return refusal or _note_below(path.name, layout, last, breaks)


def _whole_lines(read: Callable[[int], bytes], name: str) -> Iterator[bytes]:
    rest = read(_SCANNED).removeprefix(codecs.BOM_UTF8)
    while block := read(_SCANNED):
        rest += block
        cut = (rest.rfind(b"\n") + 1) or (rest.rfind(b"\r", 0, -1) + 1)
        yield rest[:cut]
        rest = rest[cut:]
        if len(rest) > LONGEST_LINE:
            raise _endless(name)
    yield rest


_SCANNED = 1 << 20


def _note_below(name: str, layout: Layout, end: bytes, breaks: int) -> InputError | None:
    texts = re.split(r"\r\n|\r|\n", end.decode(errors="replace"))
    lines = enumerate(texts[-_NOTES:], start=breaks + 1 - len(texts[-_NOTES:]) + 1)
    parsed = list[tuple[int, list[str]]]()
    for number, text in lines:
        if text.count('"') % 2:  # the end of a field of several lines
            parsed.clear()
        else:
            parsed.append((number, next(csv.reader([text], delimiter=layout.separator), [])))
    below = footnote([(number, row) for number, row in parsed if number > layout.skipped], len(layout.names))
    return None if below is None else below_the_table(below, name)


_NOTES = 60  # lines at the end of a file among which notes are looked for


def below_the_table(number: int, name: str) -> InputError:
    """Return the refusal of a note or a total below the rows of a file."""
    return InputError(
        f"line {number} of {name} seems to be a note or a total below the table, and no row; remove it and what follows it"
    )


_OPEN_QUOTE = "has a quoted field that does not end"


def broken_row(path: Path, form: FileForm) -> InputError | None:
    """Return the refusal of the first broken row of a CSV file, by its line; it quotes nothing. None for no such row."""
    try:
        layout = form.layout(path)
        with reading(path), form.text(path) as lines:
            resembles_rows = _row_likeness(lines, layout)
        with reading(path), form.text(path) as lines:
            problem = _problem(lines, layout, resembles_rows)
    except InputError:
        return None
    return None if problem is None else InputError(f"line {problem[0]} of {path.name} {problem[1]}")


def _problem(
    lines: TextIOWrapper, layout: Layout, resembles_rows: Callable[[Sequence[str]], bool]
) -> tuple[int, str] | None:
    row: list[str] = []

    def noted() -> Iterator[str]:
        for line in lines:
            row.append(line)
            yield line

    reader, separator, width = csv.reader(noted(), delimiter=layout.separator), layout.separator, len(layout.names)
    begin = end = count = 0
    try:
        for fields in reader:
            begin, end, count = end + 1, reader.line_num, count + 1
            text = "".join(row)
            if count > layout.skipped:
                if '"' in text and (quotes := _quotes(row, fields, separator, resembles_rows)):
                    return begin, quotes
                if "\0" in text:
                    return begin, "has a NUL character, which no text has; save the file as text in UTF-8"
                if text.rstrip("\r\n") == layout.line:
                    return begin, "repeats the names of the columns; remove it"
                if len(fields) != width and "".join(fields).strip():
                    less = "fewer" if len(fields) < width else "more"
                    return begin, f"has {less} fields than the header; {_CUT}"
            row.clear()
    except csv.Error:  # a field longer than any: nothing closes its quote
        return end + 1, f"{_OPEN_QUOTE}; {_CUT}"
    return None


_CUT = "the file may be cut off: get it whole, or mend the line"


def _quotes(row: list[str], fields: list[str], separator: str, resembles_rows: Callable[[Sequence[str]], bool]) -> str:
    try:
        list(csv.reader(row, delimiter=separator, strict=True))
    except csv.Error as error:
        if "unexpected end" in str(error):
            return f"{_OPEN_QUOTE}; {_CUT}"
        return "has a quote that is not closed, or text after a quoted field; write a quote within a field twice"
    if len(row) > 1 and resembles_rows(row):
        return "has a quoted field that swallows the next lines, which look like rows; close or remove the quote"
    others = next(csv.reader(row, delimiter=separator, skipinitialspace=True))
    if [field.lstrip(" ") for field in fields] != [field.lstrip(" ") for field in others]:
        return "has a space before a quoted field, which not every engine reads alike; remove the space"
    return ""


def _row_likeness(lines: TextIOWrapper, layout: Layout) -> Callable[[Sequence[str]], bool]:
    """Test whether the lines of one row look like several rows: most of their fields are as in other rows."""
    width, separator = len(layout.names), layout.separator

    def fields_of(line: str) -> list[str]:
        try:
            parsed = next(csv.reader([line], delimiter=separator), [])
        except csv.Error:  # a field longer than any
            return []
        texts = parsed if len(parsed) == width else line.rstrip("\r\n").split(separator)
        return [text.strip('" \r\n') for text in texts] if len(texts) == width else []

    rows = [fields for line in [*islice(lines, _LIKENESS)][layout.skipped :] if (fields := fields_of(line))]
    columns = [Counter(column) for column in zip(*rows)]
    are_numbers = [2 * sum(n for text, n in column.items() if number_in(text)) > column.total() for column in columns]

    def resembles_rows(lines: Sequence[str]) -> bool:
        if not (fields_of(lines[0]) and fields_of(lines[-1])):
            return False
        for line in lines[1:]:
            compared = zip(fields_of(line), columns, are_numbers)
            alike = [column[text] > 1 or (is_number and number_in(text)) for text, column, is_number in compared]
            if 2 * sum(map(bool, alike)) > width:
                return True
        return False

    return resembles_rows


_LIKENESS = 2_000
