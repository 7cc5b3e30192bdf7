"""Tables that others published: read as they say or as is guessed, and understood as intervals of counts."""

import csv
import json
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import cached_property, reduce
from io import StringIO
from itertools import permutations, product, zip_longest
from math import ceil, floor, prod
from operator import or_
from pathlib import Path
from typing import Any

from marginals.errors import InputError, system_reason
from marginals.files import bounded_content, open_regular, resolved
from marginals.label_sums import TOTALS, LabelReading, read_labels
from marginals.messages import first_few, suggested
from marginals.tables.distinct_rows import text_of
from marginals.tables.files import reading, require
from marginals.tables.intervals import Range, interval
from marginals.tables.values import Figure, NumberFormat, count_in, figure_in
from marginals.tables.workbook import sheets_of
from models.errors import DomainMismatchError
from models.intervals.linked_tables import Classification, Interval, IntervalTable, Members, parts
from models.programs.consistent_tables import UNBOUNDED

_MOST_BYTES = 1 << 26
_SPREADSHEETS = (".xlsx", ".xlsm")
_SEPARATORS = ",;\t|"
_NOTE = re.compile(r"(?i)-{3,}$|(?:foot)?notes?\s*(?::|$)|sources?\s*(?::|$)|\*{1,3}\s|\u00a9|symbols?\s*:")
_LONG = 60
"""Characters beyond which a line of one text below a table is a note."""


@dataclass(frozen=True)
class PublishedFile:
    """A table as it is published. header: names of its columns; rows: texts, as many as the header has.

    indented: a label that begins with blanks where others do not; else empty.
    """

    path: Path
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    indented: str = ""

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.path.name

    @cached_property
    def decimal(self) -> str:
        """The sign before fractions, where the table shows it: the comma, if points stand between thousands; else empty."""
        german = NumberFormat(",", ".")
        cells = (text for row in self.rows for text in row[1:])
        return "," if any(text.count(".") > 1 and german.is_number(text) for text in cells) else ""

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
        raise InputError(f"{path.name} cannot be read: {system_reason(error)}") from None
    indented = _indented(lines)
    lines = _without_notes(_without_empty_columns([[text.strip() for text in line] for line in lines]))
    width = max((sum(map(bool, line)) for line in lines), default=0)
    begin = next((n for n, line in enumerate(lines) if sum(map(bool, line)) > max(1, width // 2)), None)
    if begin is None or begin + 1 >= len(lines):
        raise InputError(f"{path.name} needs a header and rows below it")
    header = list(lines[begin])
    while header and not header[-1]:
        header.pop()
    if len(set(header)) < len(header):
        twice = next(name for name in header if header.count(name) > 1)
        no_header = "; the first line has to name the columns" if any(map(count_in, header)) else ""
        raise InputError(f"{path.name} has two columns of the name {twice!r}{no_header}")
    rows = []
    for number, line in enumerate(lines[begin + 1 :], start=begin + 2):
        if any(line[len(header) :]):
            raise InputError(f"{path.name}: row {number} is longer than the header")
        rows.append(tuple([*line, *([""] * len(header))][: len(header)]))
    if not rows:
        raise InputError(f"{path.name} needs a header and rows below it")
    return PublishedFile(path, tuple(header), tuple(zip(*map(_with_blanks, zip(*rows)))), indented)


def _with_blanks(column: Sequence[str]) -> Sequence[str]:
    """The texts of a column; a blank beside values and a total is a value, too."""
    labels = {text.lower() for text in column} - {""}
    return [text or "(blank)" for text in column] if labels & TOTALS and labels - TOTALS else column


def _indented(lines: Sequence[Sequence[str]]) -> str:
    """A label that begins with more blanks than another of its column; empty for none."""
    for column in zip_longest(*lines, fillvalue=""):
        texts = [text for text in column if text.strip() and not _is_cell(text.strip(), "")]
        depths = [len(text) - len(text.lstrip()) for text in texts]
        if len({*depths}) > 1:
            return texts[depths.index(max(depths))].strip()
    return ""


def _without_empty_columns(lines: Sequence[Sequence[str]]) -> list[list[str]]:
    width = max(map(len, lines), default=0)
    used = [any(line[n] for line in lines if n < len(line)) for n in range(width)]
    return [[text for text, is_used in zip(line, used) if is_used] for line in lines]


def _without_notes(lines: Sequence[list[str]]) -> list[list[str]]:
    """Lines with something in them, without what is written below the table: single texts that are no row without counts.

    The first of them begins like a note or a source, is long, or stands below an empty line; no row with a number follows.
    """
    last = max((n for n, line in enumerate(lines) if any(map(figure_in, line[1:]))), default=len(lines))
    for number, line in enumerate(lines[last + 1 :], start=last + 1):
        is_single = bool(line) and bool(line[0]) and not any(line[1:])
        if is_single and (_NOTE.match(line[0]) or len(line[0]) > _LONG or not any(lines[number - 1])):
            return [line for line in lines[:number] if any(line)]
    return [line for line in lines if any(line)]


def _csv(path: Path) -> list[list[str]]:
    content = bounded_content(path, _MOST_BYTES)
    if content[:4] == b"PAR1":
        raise InputError(f"{path.name} is a Parquet file; save the table as CSV")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("cp1252", "replace")
    first = text[:5_000]
    separator = max(_SEPARATORS, key=lambda sign: (first.count(sign), -_SEPARATORS.index(sign)))
    try:
        return [*csv.reader(StringIO(text), delimiter=separator)]
    except csv.Error:
        raise InputError(f"{path.name} cannot be read as text with separators") from None


def _sheet(path: Path) -> list[list[str]]:
    require("python_calamine", "excel", f"{path.name} is a spreadsheet; reading it")
    with reading(path), open_regular(path) as stream:
        sheets = [[[text_of(cell) or "" for cell in row] for row in rows] for rows in sheets_of(stream, path.name)]
    if not sheets:
        raise InputError(f"{path.name} has no sheet with cells; save the table on a sheet of its own")
    with_numbers = (
        lines for lines in sheets if sum(any(map(figure_in, line)) and sum(map(bool, line)) > 1 for line in lines) > 1
    )
    return next(with_numbers, sheets[0])


def names(values: Sequence[str]) -> str:
    """Some texts in a sentence."""
    return first_few(list(map(repr, values)), 8)


UNKNOWN: Interval = (0, UNBOUNDED)
"""Of a cell that says nothing."""

_DASHES = "-\u2013\u2014"
_BETWEEN = re.compile(rf"(.*?\S)\s*(?:[{_DASHES}]|\.\.|to|bis)\s*(\S.*)")
_BELOW = re.compile("(<=|<|\u2264|less than |fewer than |under )(.+)")


class Rounding(Enum):
    """How counts are rounded to a multiple of a base; random: to either of the two that are next."""

    NEAREST = "nearest"
    RANDOM = "random"
    UP = "up"
    DOWN = "down"
    UNKNOWN = "unknown"

    def before(self, rounded: int, base: int) -> Interval:
        """The counts that are rounded to this one; to the nearest: with both ends where a count lies in the middle.

        Unknown: any, since how far a count may be changed is nowhere said.

        >>> Rounding.NEAREST.before(10, 5), Rounding.NEAREST.before(0, 3), Rounding.RANDOM.before(10, 5)
        ((8, 12), (0, 1), (6, 14))
        """
        if self is Rounding.UNKNOWN:
            return UNKNOWN
        below, above = {
            Rounding.NEAREST: (base // 2, base // 2),
            Rounding.RANDOM: (base - 1, base - 1),
            Rounding.UP: (base - 1, 0),
            Rounding.DOWN: (0, base - 1),
        }[self]
        return max(rounded - below, 0), rounded + above


@dataclass(frozen=True)
class CellTexts:
    """What the texts of a table's cells mean. markers: ranges of counts. base: of rounding; 1 for exact counts.

    decimal: the sign before fractions, where the table shows it.
    """

    markers: Mapping[str, Interval] = field(default_factory=dict)
    base: int = 1
    rounding: Rounding = Rounding.NEAREST
    decimal: str = ""

    def interval(self, text: str) -> Interval | None:
        """The range of counts that a text means; None where it has no meaning.

        >>> texts = CellTexts({"*": (0, 9), "<5": (1, 4)})
        >>> [texts.interval(text) for text in ("1,234", "<5", "10-14", "*", "?")]
        [(1234, 1234), (1, 4), (10, 14), (0, 9), None]
        """
        text = text.strip()
        if text in self.markers:
            return self.markers[text]
        if (count := count_in(text, self.decimal)) is not None:
            return self.rounding.before(count, self.base)
        if (match := _BETWEEN.fullmatch(text)) is None:
            return None
        low, high = count_in(match[1], self.decimal), count_in(match[2], self.decimal)
        return None if low is None or high is None or low > high else (low, high)


def below(text: str) -> int | None:
    """The largest count that a text such as "<5" means; None for another text.

    >>> below("<5"), below("<= 5"), below("5")
    (4, 5, None)
    """
    match = _BELOW.fullmatch(text.strip().lower())
    if not match or (count := count_in(match[2])) is None:
        return None
    return count - (match[1] not in ("<=", "\u2264"))


_OF_PERCENT = re.compile(r"(?i)\s*[(\[,]?\s*(?:%|per ?cent|pct|percentage)\s*[)\]]?\s*$")


def without_percent(label: str) -> str:
    """The value that a column of percentages is about.

    >>> without_percent("Female %"), without_percent("Male (percent)"), without_percent("65+")
    ('Female', 'Male', '65+')
    """
    return _OF_PERCENT.sub("", label) or label


def share_of(text: str, total: Interval) -> Interval | None:
    """The counts that a rounded percentage of a total means; None where the text is none.

    >>> share_of("12.5%", (80, 80)), share_of("33", (10, 10))
    ((10, 10), None)
    """
    figure = figure_in(text)
    if figure is None or not 0 <= figure.number < _MOST_PERCENT:
        return None
    percent, half = Fraction(figure.number), Fraction(1, 2 * 10**figure.decimals)
    low = max(ceil((percent - half) * total[0] / 100), 0)
    high = floor((percent + half) * total[1] / 100) if total[1] < UNBOUNDED else UNBOUNDED
    return (low, high) if low <= high else None


_MOST_PERCENT = 1000
"""Of a total that is smaller than its part, as rates are."""

SPEC_KEYS = ("small", "protection", "sensitive", "markers", "attributes", "tables", "doubts")
TABLE_KEYS = (
    *("attributes", "count", "across", "ignore", "scope", "rounding", "percent_of", "absent", "complete", "people"),
)
DOUBT_KEYS = ("code", "sentence", "table", "key")
ATTRIBUTE_KEYS = ("totals", "groups", "others")


@dataclass(frozen=True)
class AttributeSpec:
    """totals: labels of all values together. groups: labels of several values, with these. others: whether people
    may have none of the values that the tables list.
    """

    totals: tuple[str, ...] = ()
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    others: bool = False


@dataclass(frozen=True)
class TableSpec:
    """How a table is read.

    attributes: columns with values. count: the column of counts, of a long table. across: what the header's values are
    values of, in a crossed one. ignore: columns to leave out. scope: values that all of the table's people have. base,
    rounding: of counts. percent_of: the total, or the column with it, whose percentages the cells are. absent: the range of
    counts of cells that the table does not list. complete: whether it counts everybody, with whatever values, and leaves out
    only cells without people. people: whom it counts; tables of other people are not combined. why_ignored: what each column
    does that is guessed to be none of counts or values.
    """

    attributes: tuple[str, ...]
    count: str = ""
    across: str = ""
    ignore: tuple[str, ...] = ()
    scope: Mapping[str, str] = field(default_factory=dict)
    base: int = 1
    rounding: Rounding = Rounding.NEAREST
    percent_of: int | str | None = None
    absent: Interval = UNKNOWN
    complete: bool = False
    people: str = "everybody"
    why_ignored: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def every_attribute(self) -> tuple[str, ...]:
        """All attributes of the table, those of its columns first."""
        crossed = (self.across,) if self.across else ()
        return tuple(dict.fromkeys((*self.attributes, *crossed, *self.scope)))


@dataclass(frozen=True)
class NotExamined:
    """Something of which nothing was concluded.

    code: its kind. table: the name of its file. key: the column, label or text that it is about. Both are empty where it is
    about all. is_doubt: whether it was not understood, so that there is no all-clear.
    """

    code: str
    sentence: str
    table: str = ""
    key: str = ""
    is_doubt: bool = False


@dataclass(frozen=True)
class AuditSpec:
    """How all tables are read. tables: by their file, as given. markers: texts of suppressed cells, and what they mean.

    doubts: what a guess did not understand.
    """

    tables: Mapping[Path, TableSpec]
    attributes: Mapping[str, AttributeSpec]
    markers: Mapping[str, Interval]
    small: int = 4
    protection: int = 0
    sensitive: tuple[str, ...] = ()
    doubts: tuple[NotExamined, ...] = ()

    def check_attributes(self) -> None:
        """Raise InputError for an attribute that no table has."""
        used = {name for table in self.tables.values() for name in table.every_attribute}
        for name in (*self.attributes, *self.sensitive):
            if name not in used:
                raise InputError(f"no table has the attribute {name!r}; {suggested(name, sorted(used), 'there is')}")


def read_spec(path: Path) -> AuditSpec:
    """The spec in a TOML file. Raises InputError naming the file and the key at fault."""
    try:
        content = tomllib.loads(bounded_content(path, 1 << 22).decode("utf-8").replace("\r\n", "\n"))
    except FileNotFoundError:
        raise InputError(f"there is no spec {path}") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {system_reason(error)}") from None
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise InputError(f"{path.name} is not valid TOML: {error}") from None
    try:
        return _spec(path.parent, content)
    except InputError as error:
        raise InputError(f"{path.name}: {error}") from None


def _spec(folder: Path, content: Mapping[str, Any]) -> AuditSpec:
    _check_keys(content, SPEC_KEYS, "")
    tables = _section(content, "tables")
    if not tables:
        raise InputError("it needs a section [tables.FILE] for each table")
    attributes = _section(content, "attributes")
    return AuditSpec(
        {folder / name: _table_spec(f"tables.{name}", section) for name, section in tables.items()},
        {name: _attribute(f"attributes.{name}", section) for name, section in attributes.items()},
        {text: _range(f"markers.{text}", given) for text, given in _section(content, "markers").items()},
        _number(content, "small", 4, 1),
        _number(content, "protection", 0, 0),
        _texts(content.get("sensitive", []), "sensitive"),
        tuple(map(_doubt, content.get("doubts", []))),
    )


def _doubt(section: object) -> NotExamined:
    if not isinstance(section, dict) or {*section} != {*DOUBT_KEYS}:
        raise InputError(f"each of [[doubts]] needs the keys {', '.join(DOUBT_KEYS)}; delete it once it is settled")
    code, sentence, table, key = (str(section[name]) for name in DOUBT_KEYS)
    return NotExamined(code, sentence, table, key, is_doubt=True)


def _check_keys(section: Mapping[str, Any], known: Iterable[str], prefix: str) -> None:
    for key in section:
        if key not in known:
            hint = suggested(key, list(known), "known are")
            raise InputError(f"unknown key {prefix}{key}; {hint}")


def _section(content: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    section = content.get(name, {})
    if not isinstance(section, dict):
        raise InputError(f"{name} must be a section [{name}]")
    return section


def _table_spec(where: str, section: object) -> TableSpec:
    if not isinstance(section, dict):
        raise InputError(f"{where} must be a section")
    _check_keys(section, TABLE_KEYS, f"{where}.")
    given: dict[str, Any] = {
        "attributes": _texts(section.get("attributes", []), f"{where}.attributes"),
        "ignore": _texts(section.get("ignore", []), f"{where}.ignore"),
    }
    for key in ("count", "across", "people"):
        if key in section:
            given[key] = _required_text(section[key], f"{where}.{key}")
    if bool(given.get("count")) == bool(given.get("across")):
        raise InputError(f"{where} needs one of the keys count (a column of counts) and across (what the header shows)")
    scope = section.get("scope", {})
    if not isinstance(scope, dict):
        raise InputError(f'{where}.scope must give values of attributes, as {{ sex = "female" }}')
    given["scope"] = {name: _required_text(value, f"{where}.scope.{name}") for name, value in scope.items()}
    if "rounding" in section:
        given["base"], given["rounding"] = _rounding(section["rounding"], f"{where}.rounding")
    if "percent_of" in section:
        of = section["percent_of"]
        if isinstance(of, bool) or not isinstance(of, int | str) or (isinstance(of, int) and of < 1):
            raise InputError(f"{where}.percent_of must be a number of people, or the column that has it")
        given["percent_of"] = of
    if "absent" in section:
        given["absent"] = _range(f"{where}.absent", section["absent"])
    if "complete" in section:
        given["complete"] = _flag(section["complete"], f"{where}.complete")
        if given["complete"] and (given.get("absent", (0, 0)) != (0, 0) or scope):
            raise InputError(f"{where}.complete says that all other cells have nobody; leave absent and scope out")
    return TableSpec(**given)


def _rounding(given: object, where: str) -> tuple[int, Rounding]:
    section = {"base": given} if isinstance(given, int) else given
    ways = [way.value for way in Rounding]
    if isinstance(section, dict):
        _check_keys(section, ("base", "how"), f"{where}.")
        base, how = section.get("base"), section.get("how", "nearest")
        if isinstance(base, int) and not isinstance(base, bool) and 1 <= base <= 10**6 and how in ways:
            return base, Rounding(how)
    raise InputError(f'{where} must be a base, or {{ base = 5, how = "nearest" }}; how is one of {", ".join(ways)}')


def _attribute(where: str, section: object) -> AttributeSpec:
    if not isinstance(section, dict):
        raise InputError(f"{where} must be a section")
    _check_keys(section, ATTRIBUTE_KEYS, f"{where}.")
    groups = section.get("groups", {})
    if not isinstance(groups, dict):
        raise InputError(f'{where}.groups must give the values of each group, as {{ "under 65" = ["0-17", "18-64"] }}')
    others = _flag(section.get("others", False), f"{where}.others")
    return AttributeSpec(
        _texts(section.get("totals", []), f"{where}.totals"),
        {label: _texts(members, f"{where}.groups.{label}") for label, members in groups.items()},
        others,
    )


def _range(where: str, given: object) -> Interval:
    if given == "unknown":
        return UNKNOWN
    if given == "zero":
        return 0, 0
    ends = [given, given] if isinstance(given, int) else given
    if isinstance(ends, list) and len(ends) == 2 and all(isinstance(end, int) and end >= 0 for end in ends):
        low, high = int(ends[0]), int(ends[1])
        if low <= high < UNBOUNDED:
            return low, high
    raise InputError(f'{where} must be the least and the largest count, as [1, 4], or "unknown" or "zero"')


def _number(content: Mapping[str, Any], key: str, default: int, least: int) -> int:
    value = content.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InputError(f"{key} must be a whole number of at least {least}")
    return value


def _flag(value: object, where: str) -> bool:
    if not isinstance(value, bool):
        raise InputError(f"{where} must be true or false")
    return value


def _required_text(value: object, where: str) -> str:
    if not isinstance(value, str) or not value:
        raise InputError(f"{where} must be a text")
    return value


def _texts(value: object, where: str) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, list | tuple) or not all(isinstance(v, str) for v in value):
        raise InputError(f"{where} must be a list of texts")
    return tuple(value)


_LISTED = 200_000
"""Cells that a table does not list, at most, that are taken to be of the range that its spec gives."""


@dataclass(frozen=True)
class PublishedTables:
    """Tables that are about the same people, and what the values of their attributes are.

    unlisted: of each table the combinations of its values that it does not list and of which nothing is known.
    """

    people: str
    tables: tuple[IntervalTable, ...]
    classifications: tuple[Classification, ...]
    unlisted: tuple[int, ...]


@dataclass(frozen=True)
class LabelledCell:
    """A cell as it is published: a label of each attribute, and its range."""

    labels: tuple[str, ...]
    interval: Interval


def read_tables(spec: AuditSpec) -> list[PublishedTables]:
    """All tables of a spec, by whom they are about. Raises InputError naming file, column or label at fault."""
    cells = {
        path: list(labelled_cells(read_published(path), table, spec.markers)) for path, table in spec.tables.items()
    }
    made = []
    for people in dict.fromkeys(table.people for table in spec.tables.values()):
        spec_tables = {path: table for path, table in spec.tables.items() if table.people == people}
        made.append(_tables(people, spec_tables, {path: cells[path] for path in spec_tables}, spec))
    return made


def labelled_cells(file: PublishedFile, table: TableSpec, markers: Mapping[str, Interval]) -> Iterator[LabelledCell]:
    """The cells of a file. Raises InputError for unknown columns, and texts that are no count and no marker."""
    counts = _columns_of_counts(file, table)
    texts = CellTexts(markers, table.base, table.rounding, file.decimal)
    labels = [file.header.index(name) for name in table.attributes]
    cell_text = without_percent if table.percent_of is not None else str
    for line, row in enumerate(file.rows, start=2):
        if isinstance(table.percent_of, str) and table.across:  # the total of a row is a cell, too
            yield LabelledCell(
                (*(row[place] for place in labels), "", *table.scope.values()), _total(file, table, row, texts)
            )
        for number in counts:
            across = (cell_text(file.header[number]),) if table.across else ()
            where = f"{file.name}, row {line}, column {file.header[number]!r}"
            total = _total(file, table, row, texts)
            interval = texts.interval(row[number])
            if table.percent_of is not None and row[number].strip() not in markers:
                interval = share_of(row[number], total)
            if interval is None:
                raise InputError(
                    f"{where}: {row[number]!r} is neither a count nor a range; say what it means under [markers]"
                )
            yield LabelledCell((*(row[place] for place in labels), *across, *table.scope.values()), interval)


def _columns_of_counts(file: PublishedFile, table: TableSpec) -> list[int]:
    count = [table.count] if table.count else []
    percent_of = [table.percent_of] if isinstance(table.percent_of, str) else []
    wanted = [*table.attributes, *table.ignore, *count, *percent_of]
    for name in wanted:
        if name not in file.header:
            raise InputError(f"{file.name} has no column {name!r}; {suggested(name, file.header, 'it has')}")
    numbers = [n for n, name in enumerate(file.header) if (name == table.count if count else name not in wanted)]
    if not numbers:
        raise InputError(f"{file.name} has no columns of counts beside those that the spec names")
    return numbers


def _total(file: PublishedFile, table: TableSpec, row: Sequence[str], texts: CellTexts) -> Interval:
    if table.percent_of is None or isinstance(table.percent_of, int):
        return (table.percent_of or 0,) * 2
    return texts.interval(row[file.header.index(table.percent_of)]) or UNKNOWN


def _tables(
    people: str, specs: Mapping[Path, TableSpec], cells: Mapping[Path, Sequence[LabelledCell]], spec: AuditSpec
) -> PublishedTables:
    labels_by_attribute: dict[str, dict[str, None]] = {}
    for path, table in specs.items():
        for cell in cells[path]:
            for name, label in zip(table.every_attribute, cell.labels):
                labels_by_attribute.setdefault(name, {})[label] = None
    classifications = tuple(
        _classification(name, list(labels), spec.attributes.get(name, AttributeSpec()))
        for name, labels in labels_by_attribute.items()
    )
    by_name = {c.name: c for c in classifications}
    made = [_table(path, table, cells[path], by_name, spec) for path, table in specs.items()]
    return PublishedTables(
        people, tuple(table for table, _ in made), classifications, tuple(unlisted for _, unlisted in made)
    )


def is_total(label: str, attribute: AttributeSpec) -> bool:
    """Whether a label stands for all values together; one without text always does."""
    return not label.strip() or label in attribute.totals or (not attribute.totals and label.strip().lower() in TOTALS)


def _classification(name: str, labels: Sequence[str], attribute: AttributeSpec) -> Classification:
    groups = attribute.groups
    base = [label for label in labels if not is_total(label, attribute) and label not in groups]
    base += [member for members in groups.values() for member in members if member not in groups and member not in base]

    def members(label: str, above: tuple[str, ...] = ()) -> frozenset[str]:
        if label in above:
            raise InputError(f"the group {label!r} of {name!r} is a part of itself")
        if label not in groups:
            return frozenset({label})
        return frozenset().union(*(members(part, (*above, label)) for part in groups[label]))

    others = attribute.others or len(base) == 1  # one value is never all of them
    try:
        return Classification(name, tuple(dict.fromkeys(base)), {group: members(group) for group in groups}, others)
    except DomainMismatchError as error:
        raise InputError(str(error)) from None


def _table(
    path: Path,
    table: TableSpec,
    cells: Sequence[LabelledCell],
    classifications: Mapping[str, Classification],
    spec: AuditSpec,
) -> tuple[IntervalTable, int]:
    """A table, and how many combinations of its values it says nothing of."""
    attributes = table.every_attribute
    sets: list[dict[str, Members]] = []
    for place, name in enumerate(attributes):
        classification, attribute = classifications[name], spec.attributes.get(name, AttributeSpec())
        labels = dict.fromkeys(cell.labels[place] for cell in cells)
        members_by_label = {label: classification.members(label) for label in labels if not is_total(label, attribute)}
        listed = reduce(or_, members_by_label.values(), 0)
        # A total counts the values that the table lists, unless there are people with others.
        total = classification.everything if classification.others or not listed or table.complete else listed
        sets.append({**members_by_label, **{label: total for label in labels if label not in members_by_label}})
    ranges: dict[tuple[Members, ...], Interval] = {}
    for cell in cells:
        key = tuple(known[label] for known, label in zip(sets, cell.labels))
        if key in ranges and ranges[key] != cell.interval:
            raise InputError(f"{path.name} has two counts for {names(cell.labels)}")
        ranges[key] = cell.interval
    unlisted = _unlisted(table, sets, ranges)
    if table.absent != UNKNOWN or table.complete:
        every = [dict.fromkeys(known.values()) for known in sets]
        if table.complete:
            every = [_all_values(members_of, classifications[name]) for name, members_of in zip(attributes, every)]
        if prod(map(len, every)) > _LISTED:
            stated = "complete" if table.complete else "absent"
            raise InputError(f"{path.name} has too many cells that it does not list for the key {stated}")
        for key in product(*every):
            ranges.setdefault(key, (0, 0) if table.complete else table.absent)
    try:
        return IntervalTable.of(path.name, attributes, ranges), unlisted
    except DomainMismatchError as error:
        raise InputError(str(error)) from None


def _all_values(member_sets: Iterable[Members], classification: Classification) -> dict[Members, None]:
    """Disjoint values that are all there are: those that a table shows, as finely as it does, and all others together."""
    finest = parts(member_sets)
    return dict.fromkeys(
        members for members in (*finest, classification.everything & ~reduce(or_, finest, 0)) if members
    )


def _unlisted(table: TableSpec, sets: Sequence[Mapping[str, Members]], listed: Iterable[tuple[Members, ...]]) -> int:
    """Combinations of the values of a long table, as finely as it shows them, of which it says nothing."""
    if not table.count or table.complete or table.absent != UNKNOWN:
        return 0
    finest = [set(parts(known.values())) for known in sets]
    return prod(map(len, finest)) - sum(all(map(set.__contains__, finest, key)) for key in listed)


_FROM_ROUNDED = 8
"""Different counts that are needed to conclude that they are rounded."""


@dataclass(frozen=True)
class GuessedSpec:
    """A spec, and why: for each table, marker and attribute a sentence. folder: where it is to lie."""

    spec: AuditSpec
    folder: Path | None = None
    why_tables: Mapping[Path, Sequence[str]] = field(default_factory=dict)
    why_markers: Mapping[str, str] = field(default_factory=dict)
    why_attributes: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @cached_property
    def text(self) -> str:
        """The spec as TOML with the reasons as comments; files as seen from its folder."""
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        yield "# How published tables are read, and what counts as a fact. Guessed: review each line."
        yield f"small = {self.spec.small}          # counts from 1 to this one are small"
        yield f"protection = {self.spec.protection}     # range that must be left of a suppressed count"
        yield 'sensitive = []     # attributes such as "diagnosis": is a value certain for a group?'
        yield '\n[markers]          # texts of suppressed cells: [least, largest], "unknown" or "zero"'
        for text, given in self.spec.markers.items():
            meaning = '"unknown"' if given == UNKNOWN else json.dumps(list(given))
            yield f"{_key(text)} = {meaning}  # {self.why_markers[text]}"
        for name, attribute in self.spec.attributes.items():
            yield f"\n[attributes.{_key(name)}]"
            yield from (f"# {why}" for why in self.why_attributes.get(name, ()))
            yield f"totals = {_list(attribute.totals)}"
            yield f"others = {json.dumps(attribute.others)}"
            if attribute.groups:
                yield f"[attributes.{_key(name)}.groups]"
                yield from (f"{_key(label)} = {_list(members)}" for label, members in attribute.groups.items())
        for path, table in self.spec.tables.items():
            seen = path.name if self.folder is None else Path(os.path.relpath(path, self.folder)).as_posix()
            yield f"\n[tables.{_key(seen)}]"
            yield from (f"# {why}" for why in self.why_tables.get(path, ()))
            yield f"attributes = {_list(table.attributes)}"
            yield f"count = {json.dumps(table.count)}" if table.count else f"across = {json.dumps(table.across)}"
            if table.ignore:
                yield f"ignore = {_list(table.ignore)}"
            yield 'people = "everybody"   # whom it counts: tables of other people are not combined with it'
            if table.percent_of is not None:
                yield f"percent_of = {json.dumps(table.percent_of)}"
            if table.base > 1:
                yield f"rounding = {{ base = {table.base}, how = {json.dumps(table.rounding.value)} }}"
            if table.complete:
                yield "complete = true   # it leaves out only cells without people"
            else:
                yield '# absent = "zero"   # cells that it does not list; without this line nothing is known of them'
        for doubt in self.spec.doubts:
            yield "\n[[doubts]]   # there is no all-clear before it is settled and deleted"
            yield from (f"{key} = {json.dumps(getattr(doubt, key), ensure_ascii=False)}" for key in DOUBT_KEYS)


def guessed_spec(paths: Sequence[Path], folder: Path | None = None) -> GuessedSpec:
    """A spec for some tables, which its text names as seen from a folder.

    Raises InputError for files that cannot be read, or that do not look like tables of counts.
    """
    if len({resolved(path) for path in paths}) < len(paths):
        raise InputError("a table is named twice")
    files = [read_published(path) for path in paths]
    tables: dict[Path, TableSpec] = {}
    reasons: dict[Path, list[str]] = {}
    known: dict[str, set[str]] = {}
    releases = {file.path: release_path for file in files if (release_path := _release_of(file)) is not None}
    for file in sorted(
        files, key=lambda table_file: not count_column(table_file)
    ):  # long ones first: they name what they show
        if file.path in releases:
            tables[file.path], reasons[file.path] = _complete_table(file, releases)
        else:
            tables[file.path], reasons[file.path] = _guessed_table(file, known)
        for name in tables[file.path].attributes:
            known.setdefault(name, set()).update(file.column(file.header.index(name)))
    tables = {path: tables[path] for path in paths}
    markers: dict[str, Interval] = {}
    why_markers: dict[str, str] = {}
    for file in files:
        for text, given, why in _markers(file, tables[file.path]):
            if text not in markers or given != markers[text]:
                markers[text] = (0, given[1]) if text in markers else given
                why_markers[text] = why if text not in why_markers else "from 0, since not every table shows zeros"
    doubts: list[NotExamined] = []
    readings: list[Mapping[str, LabelReading]] = []
    is_open = False
    for file in files:
        if file.path not in releases:
            tables[file.path], of_rounding = _rounded(file, tables[file.path], markers)
            reasons[file.path] += of_rounding
        table = tables[file.path]
        cells = list(labelled_cells(file, table, markers))
        is_open |= any(cell.interval[0] < cell.interval[1] for cell in cells)
        readings.append(_readings(cells, table.every_attribute))
        if file.path not in releases:
            doubts += _doubts(file, table, markers, readings[-1])
    attributes, why_attributes = _attributes(readings)
    settled = {label for attribute in attributes.values() for label in (*attribute.totals, *attribute.groups)}
    doubts = [doubt for doubt in doubts if doubt.code != "label" or (is_open and doubt.key not in settled)]
    complete = {path: release for path, release in releases.items() if tables[path].complete}
    for name, groups in _groups_of_releases(complete).items():
        totals = [label for label in attributes[name].totals if label != _EVERYTHING]
        attributes[name] = AttributeSpec((_EVERYTHING, *totals), groups)
        why_attributes[name] = ["the values and groups of the release"]
    spec = AuditSpec(tables, attributes, markers, doubts=tuple(doubts))
    return GuessedSpec(spec, folder, reasons, why_markers, why_attributes)


def _doubts(
    file: PublishedFile, table: TableSpec, markers: Mapping[str, Interval], readings: Mapping[str, LabelReading]
) -> Iterator[NotExamined]:
    """What a guess does not understand of a table. Raises InputError where a count would be read wrong."""
    found = [
        *_column_doubts(file, table, markers),
        *_nested_columns(file, table, readings),
        *(
            ("label", label, f"what {label!r} of {name!r} is, since {why}")
            for name, reading in readings.items()
            for label, why in reading.doubts.items()
        ),
    ]
    if file.indented:
        found.append(("indented", file.indented, f"which rows are parts of others; {file.indented!r} is indented"))
    if table.rounding is Rounding.UNKNOWN:
        found.append(("rounding", "", f"how its counts are rounded, all multiples of {table.base}"))
    for code, key, what in found:
        yield NotExamined(code, f"Not understood in {file.name}: {what}.", file.name, key, is_doubt=True)
    if parts := [label for reading in readings.values() for label in reading.labels if _OF_WHICH.match(label)]:
        raise InputError(f"{file.name} has rows that are parts of a row above; leave them out: {names(parts)}")
    if sum(reading.unshown for reading in readings.values()) > 1:
        raise InputError(f"{file.name} has totals of only what it shows, which say nothing of the rest; leave them out")


_OF_WHICH = re.compile(r"(?i)\W*(?:of (?:which|whom)|thereof|darunter|davon|dont|di cui|incl(?:\.|uding))\b")


def _nested_columns(
    file: PublishedFile, table: TableSpec, readings: Mapping[str, LabelReading]
) -> Iterator[tuple[str, str, str]]:
    """Columns of groups, such as states of counties, in a table with totals: cells that it does not list may be empty."""
    for outer, inner in permutations(table.attributes, 2):
        rows = {*zip(file.column(file.header.index(outer)), file.column(file.header.index(inner)))}
        pairs = {pair for pair in rows if pair[1] not in readings[inner].totals}
        groups, values = {group for group, _ in pairs}, {value for _, value in pairs}
        has_sums = len(pairs) < len(rows) and not groups & {*readings[outer].totals}
        if has_sums and 1 < len(groups) < len(values) == len(pairs):
            yield "nested", outer, f"the column {outer!r}, as each value of {inner!r} has only one of its values"


def _column_doubts(
    file: PublishedFile, table: TableSpec, markers: Mapping[str, Interval]
) -> Iterator[tuple[str, str, str]]:
    counts = _columns_of_counts(file, table)
    is_open = [any(count_in(row[n], file.decimal) is None for n in counts) for row in file.rows]
    for name, why in table.why_ignored.items():
        column = file.column(file.header.index(name))
        beside = any(hidden and figure_in(text) for hidden, text in zip(is_open, column))
        repeats = all(hidden or row[counts[0]] == text for row, text, hidden in zip(file.rows, column, is_open))
        if why in (_STATUS, _NUMBERS) or (beside and (why == _DECIMALS or (why == _OTHER and repeats))):
            yield "column", name, f"the column {name!r}, which {why}"
    for text in dict.fromkeys(row[n] for row in file.rows for n in counts):
        if text in markers and not _is_cell(text, file.decimal) and text:
            yield "marker", text, f"what {text!r} means, which was taken for any count"


_EVERYTHING = "*"
"""The label of all values together in a release of this program."""


@dataclass(frozen=True)
class _Marginal:
    """What a release says of one of its marginals.

    levels: of its attributes. rows: of each attribute's hierarchy; none where only the name of the file says what it is.
    """

    levels: Mapping[str, int]
    rows: Mapping[str, Sequence[Sequence[str]]] = field(default_factory=dict)


def _release_of(file: PublishedFile) -> _Marginal | None:
    """What is known of a marginal in the format of this program; None for another table.

    It lies in the folder that its descriptor names, or bears the name that marginals have there.
    """
    *attributes, last = file.header
    if last != "count":
        return None
    try:
        result = _described(file.path)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, csv.Error):
        result = None  # whatever is wrong with a descriptor of somebody else
    if result is None:
        pattern = "-".join(rf"{re.escape(name)}\.(\d+)" for name in sorted(attributes))
        match = re.fullmatch(pattern, file.path.stem) if attributes else None
        result = _Marginal(dict(zip(sorted(attributes), map(int, match.groups())))) if match else None
    return result if result is not None and result.levels.keys() == set(attributes) else None


def _described(path: Path) -> _Marginal | None:
    """What the descriptor of the release that a file lies in says of it; None where there is none."""
    folder = path.parent.parent
    if path.parent.name != "marginals" or not (folder / "datapackage.json").is_file():
        return None
    described = json.loads(bounded_content(folder / "datapackage.json", _MOST_BYTES))
    resources = {resource["path"]: resource for resource in described["resources"]}
    if "release" not in described or f"marginals/{path.name}" not in resources:
        return None
    levels = {
        str(name): int(level) for name, level in resources[f"marginals/{path.name}"]["marginal"]["levels"].items()
    }
    rows = {}
    for place, resource in resources.items():
        if "hierarchy" in resource and resource["hierarchy"]["attribute"] in levels:
            content = bounded_content(folder / "hierarchies" / Path(place).name, _MOST_BYTES).decode("utf-8")
            rows[resource["hierarchy"]["attribute"]] = [*csv.reader(StringIO(content, newline=""))][1:]
    if not all(rows[name] and all(len(row) > level for row in rows[name]) for name, level in levels.items()):
        return None
    return _Marginal(levels, rows)


def _complete_table(file: PublishedFile, releases: Mapping[Path, _Marginal]) -> tuple[TableSpec, list[str]]:
    """How a marginal of a release is read: what it does not list has nobody, if it is known which values there are."""
    release = releases[file.path]
    table = TableSpec(file.header[:-1], count=file.header[-1], complete=True)
    levels_by_attribute = {
        name: {release.levels[name] for release in releases.values() if name in release.levels}
        for name in release.levels
    }
    several = [name for name, levels in levels_by_attribute.items() if len(levels) > 1]
    sizes = [len({row[level] for row in release.rows.get(name, ())}) for name, level in release.levels.items()]
    if not release.rows and several:
        return replace(table, complete=False), [
            f"a marginal of a release; without the release's hierarchies it is not known how its levels of {names(several)} "
            "go together, so nothing is concluded from what it does not list: name the files in the release's folder"
        ]
    if prod(size + 1 for size in sizes) > _LISTED:
        return replace(table, complete=False), [
            "a marginal of a release with too many cells to list, so nothing is concluded from what it does not list"
        ]
    return table, ["a marginal of a release of this program: what it does not list has nobody"]


def _groups_of_releases(releases: Mapping[Path, _Marginal]) -> dict[str, dict[str, tuple[str, ...]]]:
    """Of each attribute the groups of its finest values, at all levels that are shown.

    Raises InputError where a label stands for different values.
    """
    result: dict[str, dict[str, tuple[str, ...]]] = {}
    for path, release in releases.items():
        for name, level in release.levels.items():
            members: dict[str, dict[str, None]] = {}
            for row in release.rows.get(name, ()):
                members.setdefault(row[level].strip(), {})[row[0].strip()] = None
            bases = {row[0].strip() for row in release.rows.get(name, ())}
            groups = result.setdefault(name, {})
            for label, values in members.items():
                given = tuple(values)
                if (label in bases and given != (label,)) or groups.get(label, given) != given:
                    raise InputError(
                        f"{path.name}: the label {label!r} of {name!r} stands for different values at two levels; audit "
                        "the tables of one level, or write a spec"
                    )
                if given != (label,):
                    groups[label] = given
    return result


def _guessed_table(file: PublishedFile, known: Mapping[str, set[str]]) -> tuple[TableSpec, list[str]]:
    width = range(len(file.header))
    percents = [n for n in width if n and looks_like_percentages(file, n)]
    whole_numbers = [n for n in width if n and n not in percents and looks_counted(file, n)]
    if len(percents) > 1 and len(whole_numbers) == 1:
        return _of_percentages(file, known, percents, file.header[whole_numbers[0]])
    if percents and not whole_numbers:
        raise InputError(f"{file.name} shows percentages or rates and no counts; say of what in a spec: percent_of")
    count = count_column(file)
    numbers = _crossed_columns(file)
    if not numbers and not count:
        raise InputError(f"{file.name} has no column of counts; write a spec that says how to read it")
    if count_in(count) is not None and not _YEARS.fullmatch(count):
        raise InputError(f"{file.name} has a column {count!r}; the first line has to name the columns")
    if count:
        left_out = beside_counts(file, count)
        others = tuple(name for name in file.header if name != count and name not in left_out)
        why = [f"{name!r} is left out: it {reason}" for name, reason in left_out.items()]
        return TableSpec(others, count=count, ignore=tuple(left_out), why_ignored=left_out), [
            f"{count!r} is the column of counts, the others are attributes",
            *why,
        ]
    labels = [n for n in width if n not in numbers and n not in percents]
    left_out = {**dict.fromkeys((file.header[n] for n in percents), _DECIMALS), **_extras(file, labels, numbers[0])}
    across, why_across = _across(known, {file.header[n] for n in numbers})
    attributes = tuple(file.header[n] for n in labels if file.header[n] not in left_out)
    why = [f"left out, since they are percentages, rates or other numbers with decimals: {names([*left_out])}"]
    return TableSpec(attributes, across=across, ignore=tuple(left_out), why_ignored=left_out), [
        why_across,
        *(why if left_out else []),
    ]


def _of_percentages(
    file: PublishedFile, known: Mapping[str, set[str]], percents: Sequence[int], total: str
) -> tuple[TableSpec, list[str]]:
    across, why = _across(known, {without_percent(file.header[n]) for n in percents})
    attributes = tuple(name for n, name in enumerate(file.header) if n not in percents and name != total)
    return TableSpec(attributes, across=across, percent_of=total), [
        why,
        f"the cells are percentages of {total!r}, the one column of whole numbers",
    ]


def _across(known: Mapping[str, set[str]], header: set[str]) -> tuple[str, str]:
    """What the values of a header are values of, and why."""
    matching = [name for name, labels in known.items() if len(header & labels) > 1]
    across = matching[0] if matching else _named_by(header)
    why = f"its values are those of {across!r} in another table" if matching else "from what the header says"
    return across, f"the header shows values of {across!r}: {why}"


def _named_by(labels: set[str]) -> str:
    numbers = sum(interval(_plain(label)) is not None for label in labels)
    if numbers * 2 > len(labels):
        return "age"
    return "sex" if {label.lower() for label in labels} & {"male", "female", "m", "f", "men", "women"} else "group"


def _markers(file: PublishedFile, table: TableSpec) -> Iterator[tuple[str, Interval, str]]:
    numbers = _columns_of_counts(file, table)
    texts = dict.fromkeys(text for n in numbers for text in file.column(n))
    has_zeros = "0" in texts
    for text in texts:
        most = below(text)
        if most is not None and has_zeros:
            yield text, (1, most), "from 1, since zeros are shown"
        elif most is not None:
            yield text, (0, most), "from 0, since no zero is shown"
        elif CellTexts(decimal=file.decimal).interval(text) is None and not (
            table.percent_of and share_of(text, (1_000, 1_000))
        ):
            yield text, (0, UNBOUNDED), "it says nothing of the count"


def _rounded(file: PublishedFile, table: TableSpec, markers: Mapping[str, Interval]) -> tuple[TableSpec, list[str]]:
    cells = list(labelled_cells(file, table, markers))
    exact = {cell.interval[0] for cell in cells if cell.interval[0] == cell.interval[1]} - {0}
    for base in (1000, 100, 50, 20, 10, 5, 3):
        if len(exact) >= _FROM_ROUNDED and all(count % base == 0 for count in exact):
            because = f"all {len(exact)} different counts are multiples of {base}; say how they are rounded"
            return replace(table, base=base, rounding=Rounding.UNKNOWN), [because]
    return table, []


def _readings(cells: Iterable[LabelledCell], attributes: Sequence[str]) -> dict[str, LabelReading]:
    lines: list[dict[tuple[str, ...], dict[str, Interval]]] = [{} for _ in attributes]
    for cell in cells:
        for place, label in enumerate(cell.labels):
            rest = (*cell.labels[:place], *cell.labels[place + 1 :])
            lines[place].setdefault(rest, {})[label] = cell.interval
    return {name: read_labels([*of_rest.values()]) for name, of_rest in zip(attributes, lines)}


def _attributes(
    readings: Sequence[Mapping[str, LabelReading]],
) -> tuple[dict[str, AttributeSpec], dict[str, list[str]]]:
    made: dict[str, AttributeSpec] = {}
    why: dict[str, list[str]] = {}
    for name in dict.fromkeys(name for by_name in readings for name in by_name):
        of_tables = [by_name[name] for by_name in readings if name in by_name]
        totals = tuple(dict.fromkeys(label for reading in of_tables for label in reading.totals))
        labels = dict.fromkeys(label for reading in of_tables for label in reading.labels)
        values = [label for label in labels if label not in totals]
        groups, reason = _number_groups(values)
        adding = {group: parts for reading in of_tables for group, parts in reading.groups.items() if group in values}
        if not groups and adding:
            groups = adding
            reason = "groups are values that add up to them"
        why[name] = [reason] if groups else []
        exceeds = any(reading.exceeds for reading in of_tables)
        others = exceeds or not totals or len(values) == 1
        if exceeds:
            why[name].append("others: a total is larger than the values that are listed can be")
        elif others:
            why[name].append(
                "others: no total shows that the values listed are all; false lets tables be linked by them"
            )
        made[name] = AttributeSpec(totals, groups, others)
    return made, why


def _plain(label: str) -> str:
    """A label without the words around its numbers: "Aged 18 to 64 years" is 18-64."""
    return " ".join(re.sub(r"(?i)\b(aged?|years?|yrs?|old)\b", "", label).lower().split())


def _number_groups(labels: Sequence[str]) -> tuple[dict[str, tuple[str, ...]], str]:
    """Labels that are ranges of numbers, as groups of the pieces that they cut each other into."""
    ranges = {label: interval(_plain(label)) for label in labels}
    if not labels or any(number_range is None for number_range in ranges.values()):
        return {}, ""
    whole_ranges = {
        label: _half_open(number_range) for label, number_range in ranges.items() if number_range is not None
    }
    ends = sorted({end for pair in whole_ranges.values() for end in pair})
    if any(end % 1 for end in ends if end.is_finite()):
        return {}, ""
    pieces = {}
    for low, high in zip(ends, ends[1:]):
        named = [label for label, pair in whole_ranges.items() if pair == (low, high)]
        if any(pair[0] <= low and high <= pair[1] for pair in whole_ranges.values()):
            pieces[low, high] = named[0] if named else _piece(low, high)
    groups = {
        label: tuple(name for (low, high), name in pieces.items() if pair[0] <= low and high <= pair[1])
        for label, pair in whole_ranges.items()
        if pair not in pieces or pieces[pair] != label
    }
    return groups, "groups are ranges of numbers that hold others" if groups else ""


def _half_open(given: Range) -> tuple[Decimal, Decimal]:
    """From the first number on to before the second, of whole numbers."""
    low = max(given.low, Decimal(0))
    return low, given.high + 1 if given.with_high and given.high.is_finite() else given.high


def _piece(low: Decimal, high: Decimal) -> str:
    if not high.is_finite():
        return f"{low}+"
    return f"{low}" if high - low == 1 else f"{low}-{high - 1}"


def _key(text: str) -> str:
    return text if re.fullmatch(r"[A-Za-z0-9_-]+", text) else json.dumps(text, ensure_ascii=False)


def _list(texts: Sequence[str]) -> str:
    return json.dumps(list(texts), ensure_ascii=False)


_COUNTS = re.compile(
    r"(?i)counts?|n|numbers?|values?|obs_value|people|persons|population|freq|frequency|cases|deaths|births"
)
_SENTINEL = re.compile("-(?:1|9+)")
_MARKER_LENGTH = 15
_PERCENT_NAME = re.compile(r".*(%|\bper ?cent|\bpct\b|percentage)", re.IGNORECASE)
_MARKER = re.compile(
    r"(?i)\W+|[\[(][a-z]{1,4}[\])]|[cdfnsxz]|\.\.c|c\.\.|n/?a|n\.?p\.?|nr|nd|nan|low|none|null|<na>|#n/a|conf|confidential"
    "|suppressed|withheld|redacted|unknown|unreliable|not applicable|missing"
)
"""Texts in use for counts that are not shown."""

_YEAR = re.compile(r".*(?:year|jahr|ann[ée]e|\baño|period|month|week|quarter|date)s?\b.*")
_NO_COUNT = re.compile(f"{_PERCENT_NAME.pattern}|{_YEAR.pattern}", re.IGNORECASE)
_YEARS = re.compile("(?:19|20)[0-9]{2}")
_STATUS_NAME = re.compile(r"(?i).*(?:status|flags?\b|suppress|primary|secondary|confid|symbol|withheld|outcome).*")
_CODE_NAME = re.compile(r"(?i).*(?:code|\bid\b|fips|key|nr|nummer)")
_DECIMALS = "holds percentages, rates or other numbers with decimals"
_STATUS = "seems to hold statuses of counts"
_NUMBERS = "holds other numbers"
_OTHER = "is another count"
_SUPPRESSED = 15
"""The largest count that a column shows nothing but suppressed ones of."""


def looks_counted(file: PublishedFile, number: int) -> bool:
    """Whether a column seems to hold counts, some of them suppressed, perhaps by texts that are not known to mean that."""
    name, filled = file.header[number], [text for text in file.column(number) if text]
    counts = sum(count_in(text, file.decimal) is not None for text in filled)
    unknown = {text for text in filled if not _is_cell(text, file.decimal) and not _SENTINEL.fullmatch(text)}
    is_label = any(text.lower() in TOTALS or interval(_plain(text)) or len(text) > _MARKER_LENGTH for text in unknown)
    if not filled or is_label or _NO_COUNT.match(name) or (unknown and 2 * counts < len(filled)):
        return False
    if counts or any(text.endswith("%") or _MARKER.fullmatch(text) for text in filled):
        is_status = not counts and _STATUS_NAME.fullmatch(name)
        return not is_status and any(count_in(text, file.decimal) is not None for row in file.rows for text in row)
    return all((below(text) or UNBOUNDED) <= _SUPPRESSED for text in filled)  # "<18" and "18-64" are ages


def looks_like_percentages(file: PublishedFile, number: int) -> bool:
    """Whether a column seems to hold percentages: its name or its texts say so. Counts such as 12.0 are none."""
    filled = [text for text in file.column(number) if text and not _MARKER.fullmatch(text)]
    figures = [figure for text in filled if (figure := figure_in(text, file.decimal)) is not None]
    if not filled or len(figures) < len(filled) or not all(0 <= figure.number <= 100 for figure in figures):
        return False
    named = _PERCENT_NAME.match(file.header[number]) is not None
    return named or any(figure.is_percent or _is_fraction(figure) for figure in figures)


def count_column(file: PublishedFile) -> str:
    """The one column of counts of a long table, empty for none."""
    if _is_summed(file, _crossed_columns(file)):
        return ""
    counted = [n for n in range(len(file.header)) if looks_counted(file, n)]
    named = [n for n in counted if _COUNTS.fullmatch(file.header[n].strip())]
    hidden = [n for n in named if any(text and count_in(text, file.decimal) is None for text in file.column(n))]
    if named:
        return file.header[(hidden or named)[-1]]
    return file.header[counted[0]] if len(counted) == 1 else ""


def _crossed_columns(file: PublishedFile) -> list[int]:
    """The columns of counts of a crossed table: all of whole numbers but those that tell rows apart, such as years."""
    numbers = [n for n in range(1, len(file.header)) if looks_counted(file, n) and not looks_like_percentages(file, n)]
    labels = [n for n in range(len(file.header)) if n not in numbers]
    for needed, number in enumerate(numbers):
        if _tells_apart(file, [*labels, *numbers[:needed]]):
            return numbers[needed:]
        if 2 * len({*file.column(number)}) > len(file.rows):
            break
    return numbers


def _is_summed(file: PublishedFile, columns: Sequence[int]) -> bool:
    """Whether the first or last of three or more columns is the sum of the others in all rows that print all of them."""
    rows = [[count_in(row[n], file.decimal) for n in columns] for row in file.rows]
    whole = [[count for count in row if count is not None] for row in rows if None not in row and any(row)]
    places = (0, -1) if len(columns) > 2 and len(whole) > 1 else ()
    return any(all(2 * row[n] == sum(row) for row in whole) for n in places)


def _tells_apart(file: PublishedFile, columns: Sequence[int]) -> bool:
    return len({tuple(row[n] for n in columns) for row in file.rows}) == len(file.rows)


def _extras(file: PublishedFile, columns: Sequence[int], count: int) -> dict[str, str]:
    """Columns that tell no rows apart and hold statuses of counts, or numbers; and what each does."""
    left = list(columns)
    result = {}
    for number in reversed(columns):
        why = _STATUS if _is_status(file, number, count) else _NUMBERS if _is_number(file, number) else ""
        rest = [n for n in left if n != number]
        if why and rest and _tells_apart(file, rest):
            left, result[file.header[number]] = rest, why
    return result


def _is_status(file: PublishedFile, number: int, count: int) -> bool:
    texts = {text.lower() for text in file.column(number)}
    is_code = number > count and 1 < len(texts) <= 6 and len(file.rows) > 3
    return is_code or texts <= {"true", "false"} or _STATUS_NAME.fullmatch(file.header[number]) is not None


def _is_number(file: PublishedFile, number: int) -> bool:
    figures = [figure_in(text) for text in file.column(number) if text]
    return 2 * sum(figure is not None for figure in figures) > len(figures) and len({*figures}) > 1


def beside_counts(file: PublishedFile, count: str) -> dict[str, str]:
    """Columns of a long table that are no attributes, and what each does."""
    left_out: dict[str, str] = {}
    columns: list[int] = []
    for number, name in enumerate(file.header):
        if name == count:
            continue
        texts = file.column(number)
        numbered = [str(line) for line in range(1, len(texts) + 1)]
        same = next((other for other in columns if _same(file.column(other), texts)), None)
        if min(len(texts), len(file.header)) > 2 and (texts == numbered or texts == ["0", *numbered[:-1]]):
            left_out[name] = "numbers the rows"
        elif all(text.lower() in TOTALS for text in texts):
            left_out[name] = "is empty, or marks totals"
        elif looks_like_percentages(file, number) or _has_decimals(texts):
            left_out[name] = _DECIMALS
        elif _COUNTS.fullmatch(name.strip()) and looks_counted(file, number):
            left_out[name] = _OTHER
        elif same is not None and (_CODE_NAME.match(name) or not _is_number(file, number)):
            left_out[name] = f"tells the same as {file.header[same]!r}"
        else:
            columns.append(number)
    if not _tells_apart(file, columns):
        # Numbers that tell rows apart are values of an attribute, such as doses.
        return {name: why for name, why in left_out.items() if why not in (_DECIMALS, _OTHER)}
    return left_out | _extras(file, columns, file.header.index(count))


def _is_cell(text: str, decimal: str) -> bool:
    return (
        CellTexts(decimal=decimal).interval(text) is not None
        or below(text) is not None
        or text.endswith("%")
        or _MARKER.fullmatch(text) is not None
    )


def _has_decimals(texts: list[str]) -> bool:
    figures = [figure_in(text) for text in texts if text and not _MARKER.fullmatch(text)]
    return all(figures) and any(figure is not None and _is_fraction(figure) for figure in figures)


def _is_fraction(figure: Figure) -> bool:
    return figure.number != figure.number.to_integral_value()


def _same(one: list[str], other: list[str]) -> bool:
    """Whether two columns tell rows apart alike, and do tell some apart."""
    pairs = set(zip(one, other))
    return len(pairs) == len(set(one)) == len(set(other)) > 1
