"""Tables that others published, as in their files: texts of cells, and the ranges of counts that they mean."""

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from enum import Enum
from fractions import Fraction
from functools import cached_property
from io import StringIO
from itertools import zip_longest
from math import ceil, floor
from pathlib import Path
from typing import Any, NamedTuple

from marginals.arguments import path_of
from marginals.auditing.formats import (
    MOST_BYTES,
    arranged,
    decoded,
    frame_lines,
    is_frame,
    parquet_lines,
    tables_in,
)
from marginals.errors import InputError
from marginals.files import bounded_content, open_regular, resolved
from marginals.messages import first_few
from marginals.tables.distinct_rows import text_of
from marginals.tables.intervals import whole_ends
from marginals.tables.opening import reading, require
from marginals.tables.values import NumberFormat, count_in, figure_in
from marginals.tables.workbook import indents_cells, sheets_of
from models.frozen import frozen
from models.intervals.linked_tables import Interval
from models.programs.consistent_tables import UNBOUNDED

_SPREADSHEETS = (".xlsx", ".xlsm")
_SEPARATORS = ",;\t|"
_NOTE = re.compile(r"(?i)-{3,}$|(?:foot)?notes?\s*(?::|$)|sources?\s*(?::|$)|\*{1,3}\s|\u00a9|symbols?\s*:")
_INDENT = re.compile(r"(?:[\s.\u00b7\u2022>\u2013\u2014-]*(?=[^\W\d])|\s*)")  # blanks and signs before a label
_LONG = 60  # characters beyond which a line of one text below a table is a note


@frozen
class PublishedFile:
    """A published table: the names of its columns, and rows of as many texts.

    `parents`: of each column, the label above each indented label. `indented`: a label whose parent is not clear; else
    empty.
    """

    path: Path
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    parents: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    indented: str = ""

    @property
    def name(self) -> str:
        """Name of the file in messages."""
        return self.path.name

    @cached_property
    def decimal(self) -> str:
        """The comma if points stand between thousands; else empty."""
        german = NumberFormat(",", ".")
        cells = (text for row in self.rows for text in row[1:])
        return "," if any(text.count(".") > 1 and german.is_number(text) for text in cells) else ""

    def column(self, number: int) -> list[str]:
        """Texts of a column."""
        return [row[number] for row in self.rows]


def read_all(tables: Iterable[Any]) -> list[PublishedFile]:
    """Tables in files, folders, frames and lists of these. Raises InputError."""
    files: list[PublishedFile] = []
    for table in tables:
        if is_frame(table):
            path = Path(f"table {len(files) + 1}")
            files.append(_read_lines(path, arranged(path, frame_lines(table))))
        elif isinstance(table, list | tuple) or path_of(table).is_dir():
            files += read_all(table if isinstance(table, list | tuple) else tables_in(path_of(table)))
        else:
            files.append(read_published(path_of(table)))
    if len({resolved(file.path) for file in files}) < len(files):
        raise InputError("a table is named twice")
    return files


def read_published(path: Path) -> PublishedFile:
    """Published table without title, notes and empty lines, of a spreadsheet the first sheet with numbers."""
    is_sheet = path.suffix.lower() in _SPREADSHEETS
    table = arranged(path, _sheet(path) if is_sheet else _csv(path))
    indented = "some label" if is_sheet and indents_cells(path) else ""
    return _read_lines(path, table, indented)


def _read_lines(path: Path, texts: Sequence[Sequence[str]], indented: str = "") -> PublishedFile:
    filled = zip(*filter(any, zip_longest(*([text.rstrip() for text in line] for line in texts), fillvalue="")))
    lines = _without_notes([[*line] for line in filled])
    width = max((sum(map(bool, line)) for line in lines), default=0)
    begin = next((n for n, line in enumerate(lines) if sum(map(bool, line)) > max(1, width // 2)), None)
    if begin is None or begin + 1 >= len(lines):
        raise InputError(f"{path.name} needs a header and rows below it")
    lines = _with_one_header(lines, begin)
    header = [text.strip() for text in lines[0]]
    while header and not header[-1]:
        header.pop()
    if len(set(header)) < len(header):
        twice = next(name for name in header if header.count(name) > 1)
        no_header = "; the first line has to name the columns" if any(map(count_in, header)) else ""
        raise InputError(f"{path.name} has two columns of the name {twice!r}{no_header}")
    for number, line in enumerate(lines[1:], start=begin + 2):
        if any(line[len(header) :]):
            raise InputError(f"{path.name}: row {number} is longer than the header")
    columns = _filled_down([[*column] for column in zip_longest(*lines[1:], fillvalue="")][: len(header)])
    columns += [[""] * (len(lines) - 1)] * (len(header) - len(columns))
    stubs = [*map(_stub, columns)]
    indented = next(filter(None, (stub.repeated for stub in stubs)), indented)
    parents = {name: stub.parents for name, stub in zip(header, stubs)}
    return PublishedFile(path, tuple(header), tuple(zip(*(stub.texts for stub in stubs))), parents, indented)


def _with_one_header(lines: Sequence[list[str]], begin: int) -> list[list[str]]:
    """Lines from the header on. A second line of the header becomes a column, if the first has merged cells."""
    if begin and sum(map(bool, lines[begin - 1][1:])) > 1 and not all(lines[begin - 1]):
        begin -= 1
    upper, lower = lines[begin : begin + 2]
    first = next((n for n, pair in enumerate(zip(upper, lower)) if n and all(pair)), 0)
    is_merged = all(bool(one) != bool(other) for one, other in zip(upper[:first], lower)) and not all(upper[first:])
    if not first or not is_merged or (any(map(figure_in, lower)) and any(lower[:first])):
        return [*lines[begin:]]
    stubs = [one or other for one, other in zip(upper[:first], lower)]
    result = [[*stubs, "group", "subgroup", "count"]]
    for row in lines[begin + 2 :]:
        group = ""
        for one, other, cell in zip(upper[first:], lower[first:], row[first:]):
            group = one or group
            result.append([*row[:first], group, other or group, cell])
    return result


def _filled_down(columns: list[list[str]]) -> list[list[str]]:
    # The labels of merged cells stand for each of their rows, where that tells all rows apart.
    filled = [[*column] for column in columns]
    for column in filled:
        for row in range(1, len(column)):
            column[row] = column[row] or column[row - 1]
    for count in range(2, len(columns)):
        rows, full = zip(*columns[:count]), zip(*filled[: count - 1], columns[count - 1])
        if len({*rows}) < len(columns[0]) == len({*full}):
            return [*filled[: count - 1], *columns[count - 1 :]]
    return columns


class _Stub(NamedTuple):
    texts: Sequence[str]
    parents: Mapping[str, str]
    repeated: str = ""  # a label under several others, named with these


def _stub(column: Sequence[str]) -> _Stub:
    texts = [text.strip() for text in column]
    depths = [len(match[0]) if (match := _INDENT.match(text)) else 0 for text in column]
    depths_used = {depth for depth, text in zip(depths, texts) if text}
    ends = {len(text) for text, depth in zip(column, depths) if text and depth > min(depths_used)}
    is_padded = len(ends) == 1 and any(
        len(text) in ends for text, depth in zip(column, depths) if depth == min(depths_used)
    )
    if is_padded or len(depths_used) < 2 or 2 * sum(count_in(text) is not None for text in texts) > len(texts):
        return _Stub(texts, {})  # where all texts end at one place, blanks say nothing
    above: list[tuple[int, str]] = []
    parents: list[str] = []
    of_label: dict[str, set[str]] = {}
    for depth, text in zip(depths, texts):
        while above and text and above[-1][0] >= depth:
            above.pop()
        parents.append(above[-1][1] if above and text else "")
        of_label.setdefault(text, set()).add(parents[-1])
        if text:
            above.append((depth, text))
    several = [text for text, match in of_label.items() if len(match) > 1]
    named = [f"{parent}, {text}" if text in several and parent else text for text, parent in zip(texts, parents)]
    of_parent = {text: parent for text, parent in zip(named, parents) if parent}
    return _Stub(named, of_parent, (several or [""])[0])


def _without_notes(lines: Sequence[list[str]]) -> list[list[str]]:
    # Notes are single texts below the last number. The first begins like a note or is long, or an empty line is above it.
    last = max((n for n, line in enumerate(lines) if any(map(figure_in, line[1:]))), default=len(lines))
    for number, line in enumerate(lines[last + 1 :], start=last + 1):
        is_single = bool(line) and bool(line[0]) and not any(line[1:])
        if is_single and (_NOTE.match(line[0].strip()) or len(line[0]) > _LONG or not any(lines[number - 1])):
            return [line for line in lines[:number] if any(line)]
    return [line for line in lines if any(line)]


def _csv(path: Path) -> list[list[str]]:
    with reading(path):
        content = bounded_content(path, MOST_BYTES)
    if content[:4] == b"PAR1":
        return parquet_lines(path)
    text = decoded(content)
    first = text[:5_000]
    separator = max(_SEPARATORS, key=lambda sign: (first.count(sign), -_SEPARATORS.index(sign)))
    try:
        return [*csv.reader(StringIO(text), delimiter=separator)]
    except csv.Error:
        raise InputError(f"{path.name} cannot be read as text with separators") from None


def _sheet(path: Path) -> list[list[str]]:
    require("python_calamine", "excel", f"{path.name} is a spreadsheet; reading it")
    with reading(path), open_regular(path) as stream:
        cells = sheets_of(stream, path.name).values()
        sheets = [[[text_of(cell) or "" for cell in row] for row in rows] for rows in cells]
    if not sheets:
        raise InputError(f"{path.name} has no sheet with cells; save the table on a sheet of its own")
    rows = ([any(map(figure_in, line)) and sum(map(bool, line)) > 1 for line in lines] for lines in sheets)
    return next((lines for lines, have_numbers in zip(sheets, rows) if sum(have_numbers) > 1), sheets[0])


def quoted(values: Sequence[str]) -> str:
    """Texts in quotes for a sentence, not all of many."""
    return first_few(list(map(repr, values)), 8)


UNKNOWN: Interval = (0, UNBOUNDED)

# Texts of counts that are not printed; no count is below 0.
MARKER = re.compile(
    r"(?i)\W+|[\[(][a-z]{1,4}[\])]|[cdfnsxz]|[:.]{1,3}\s?[a-z]|c\.\.|n/?a|n\.?p\.?|nr|nd|nan|low|nil|none|null|<na>|#n/a|conf"
    "|confidential|suppressed|withheld|redacted|unknown|unreliable|not applicable|missing|-(?:1|[6-9]|9+)"
)

# In some tables nobody, in others a count that is withheld, or printed.
AMBIGUOUS = re.compile(
    r"(?i)[-\u2013\u2014\u2212]+|\.|\.{3,}|\u2026|[\[(]?z[\])]?|:\s?z|n/?a|none|nil|not applicable|9{4,}|[\[(][0-9.,]+[\])]"
)


class Rounding(Enum):
    """Ways of rounding counts to a multiple of a base; random: to either of the two next multiples."""

    NEAREST = "nearest"
    RANDOM = "random"
    UP = "up"
    DOWN = "down"
    UNKNOWN = "unknown"

    def before(self, rounded: int, base: int) -> Interval:
        """Range of counts that are rounded to a count; any if the rounding is unknown."""
        if self is Rounding.UNKNOWN:
            return UNKNOWN
        most = base // 2 if self is Rounding.NEAREST else base - 1
        below, above = most * (self is not Rounding.DOWN), most * (self is not Rounding.UP)
        return max(rounded - below, 0), rounded + above


@frozen
class CellTexts:
    """Meaning of the texts of cells. `base`: of rounding, 1 for exact counts. `noise`: how far counts may be changed."""

    markers: Mapping[str, Interval] = field(default_factory=dict)
    base: int = 1
    rounding: Rounding = Rounding.NEAREST
    decimal: str = ""
    noise: int = 0

    def interval(self, text: str) -> Interval | None:
        """Range of counts that a text means; None where it has no meaning."""
        text = text.strip()
        if text in self.markers:
            return self.markers[text]
        if (count := count_in(text, self.decimal)) is not None:
            least, most = self.rounding.before(count, self.base)
            return max(least - self.noise, 0), min(most + self.noise, UNBOUNDED)
        first, last = whole_ends(text.replace(".", "") if self.decimal == "," else text) or (None, None)
        return None if first is None or last is None or first < 0 else (first, last)


def below(text: str) -> int | None:
    """Largest count that a text such as "<5" means; None for another text."""
    first, last = whole_ends(text) or (None, None)
    return last if first is None else None


def is_cell(text: str, decimal: str) -> bool:
    """Return whether a text is a count, a range, a percentage or a common marker of a table."""
    is_count = CellTexts(decimal=decimal).interval(text) is not None or below(text) is not None
    return is_count or text.endswith("%") or MARKER.fullmatch(text) is not None


_OF_PERCENT = re.compile(r"(?i)\s*[(\[,]?\s*(?:%|per ?cent|pct|percentage)\s*[)\]]?\s*$")


def without_percent(label: str) -> str:
    """Value that a column of percentages is about."""
    return _OF_PERCENT.sub("", label) or label


_MOST_PERCENT = 1000  # from which on a text is no percentage; a total may be smaller than its part, as in rates


def share_of(text: str, total: Interval) -> Interval | None:
    """Range of counts that a rounded percentage of a total means; None where the text is no percentage."""
    figure = figure_in(text)
    if figure is None or not 0 <= figure.number < _MOST_PERCENT:
        return None
    percent, half = Fraction(figure.number), Fraction(1, 2 * 10**figure.decimals)
    low = max(ceil((percent - half) * total[0] / 100), 0)
    high = floor((percent + half) * total[1] / 100) if total[1] < UNBOUNDED else UNBOUNDED
    return (low, high) if low <= high else None
