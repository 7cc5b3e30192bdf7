"""Spec for published tables, guessed from the tables, with a reason for each guess."""

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from itertools import permutations
from pathlib import Path
from typing import Any

from marginals.auditing.published import (
    AMBIGUOUS,
    MARKER,
    UNKNOWN,
    CellTexts,
    PublishedFile,
    Rounding,
    below,
    is_cell,
    quoted,
    read_all,
    share_of,
    without_percent,
)
from marginals.auditing.spec import (
    DOUBT_KEYS,
    AttributeSpec,
    AuditSpec,
    LabelledCell,
    NotExamined,
    TableSpec,
    columns_of_counts,
    labelled_cells,
    revealed,
)
from marginals.errors import InputError
from marginals.files import DESCRIPTOR, resolved
from marginals.label_sums import BLANK, TOTALS, Hints, LabelReading, is_sum, read_labels
from marginals.names import toml_key
from marginals.tables.intervals import interval, pieces_of
from marginals.tables.values import Figure, count_in, figure_in
from models.frozen import frozen
from models.intervals.linked_tables import Interval
from models.programs.consistent_tables import UNBOUNDED

_FROM_ROUNDED = 81  # least number of possible remainders from which counts without one are taken for rounded


@frozen
class GuessedSpec:
    """A spec, and why: sentences for each table, marker and attribute. `folder`: where the spec is to lie."""

    spec: AuditSpec
    folder: Path | None = None
    why: Mapping[Path | str, Sequence[str]] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """Spec as TOML with the reasons as comments; files as seen from its folder."""
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        yield "# How published tables are read, and what counts as a fact. Guessed: review each line."
        yield f"small = {self.spec.small}          # counts from 1 to this one are small"
        yield f"protection = {self.spec.protection}     # range that must be left of a suppressed count"
        yield 'sensitive = []     # attributes such as "diagnosis": is a value certain for a group?'
        yield '\n[markers]          # texts of suppressed cells: [least, largest], "unknown" or "zero"'
        for text, ends in self.spec.markers.items():
            meaning = '"unknown"' if ends == UNKNOWN else json.dumps(list(ends))
            yield f"{toml_key(text)} = {meaning}  # {self.why[f'markers.{text}'][0]}"
        for name, attribute in self.spec.attributes.items():
            yield f"\n[attributes.{toml_key(name)}]"
            yield from (f"# {why}" for why in self.why.get(f"attributes.{name}", ()))
            yield from _toml({"totals": attribute.totals or (), "others": attribute.others})
            if attribute.groups:
                yield f"[attributes.{toml_key(name)}.groups]"
                yield from _toml(attribute.groups)
        for path, table in self.spec.tables.items():
            seen = path.name if self.folder is None else Path(os.path.relpath(path, self.folder)).as_posix()
            yield f"\n[tables.{toml_key(seen)}]"
            yield from (f"# {why}" for why in self.why.get(path, ()))
            yield from _toml({key: value for key in _TABLE_KEYS if (value := getattr(table, key))})
            yield 'people = "everybody"   # whom it counts: tables of other people are not combined with it'
            if table.base > 1:
                yield f"rounding = {{ base = {table.base}, how = {json.dumps(table.rounding.value)} }}"
            left_out = "complete = true   # it leaves out only cells without people"
            yield left_out if table.complete else f"# {left_out}; nothing is known of them without this line"
        for doubt in self.spec.doubts:
            yield "\n[[doubts]]   # there is no all-clear before it is settled and deleted"
            yield from _toml({key: getattr(doubt, key) for key in DOUBT_KEYS})


_TABLE_KEYS = ("attributes", "count", "across", "ignore", "withheld", "without", "percent_of")


def _toml(values: Mapping[str, object]) -> Iterator[str]:
    for key, value in values.items():
        inner = ", ".join(_toml(value)) if isinstance(value, Mapping) else ""
        yield f"{toml_key(key)} = " + (f"{{ {inner} }}" if inner else json.dumps(value, ensure_ascii=False))


def guessed_spec(paths: Iterable[Any], folder: Path | None = None) -> GuessedSpec:
    """Spec for files, folders, frames, and lists of these. `folder`: where its text is to lie. Raises InputError."""
    files = read_all(paths)
    _refuse_marginals(files)
    tables: dict[Path, TableSpec] = {}
    why: dict[Path | str, list[str]] = {}
    seen: dict[str, set[str]] = {}
    for file in sorted(files, key=lambda file: not _count_column(_columns_of(file))):  # long ones name what they show
        tables[file.path], why[file.path] = _guessed_table(file, seen)
        for name in tables[file.path].attributes:
            seen.setdefault(name, set()).update(file.column(file.header.index(name)))
    tables = {file.path: tables[file.path] for file in files}
    markers = _markers(files, tables, why)
    readings: list[Mapping[str, LabelReading]] = []
    is_open = False
    for file in files:
        table = tables[file.path] = _rounded(file, tables[file.path], markers, why[file.path])
        cells = labelled_cells(file, table, markers)
        is_open |= any(cell.interval[0] < cell.interval[1] for cell in cells)
        readings.append(read_labels(_lines(cells, table.every_attribute), _hints(file, table)))
        without = {name: tuple(reading.left_out) for name, reading in readings[-1].items() if reading.left_out}
        tables[file.path] = replace(table, without=without)
    attributes = _attributes(readings, why)
    of_files = (_doubts(file, tables[file.path], markers, of, attributes) for file, of in zip(files, readings))
    doubts = [doubt for of in of_files for doubt in of if is_open or doubt.code not in ("label", "no-total")]
    spec = AuditSpec(tables, attributes, markers, doubts=tuple(doubts), files={file.path: file for file in files})
    return GuessedSpec(spec, folder, why)


def _doubts(
    file: PublishedFile,
    table: TableSpec,
    markers: Mapping[str, Interval],
    readings: Mapping[str, LabelReading],
    attributes: Mapping[str, AttributeSpec],
) -> Iterator[NotExamined]:
    counts = columns_of_counts(file, table)
    hiding = [(file.header.index(name), codes) for name, codes in table.withheld.items()]
    is_withheld = [any(row[column] in codes for column, codes in hiding) for row in file.rows]
    numbers = [count_in(row[counts[0]], file.decimal) for row in file.rows]
    is_open = [hidden or count is None for hidden, count in zip(is_withheld, numbers)]
    for name, reason in table.why_ignored.items():
        column = [figure_in(text, file.decimal) for text in file.column(file.header.index(name))]
        hidden_count = sum(hidden and figure is not None for hidden, figure in zip(is_open, column))
        printed = [(count, figure) for count, figure, hidden in zip(numbers, column, is_open) if not hidden]
        if hidden_count and len(printed) > 1 and all(figure and figure.number == count for count, figure in printed):
            yield revealed(file.name, name, hidden_count)
        elif reason in (_STATUS, _NUMBERS) or (hidden_count and reason == _DECIMALS):
            yield _doubt(file, "column", name, f"the column {name!r}, which {reason}")
    texts = dict.fromkeys(row[n] for row, hidden in zip(file.rows, is_withheld) if not hidden for n in counts)
    marks = [text for text in texts if text in markers]
    for text in marks:
        if text and (AMBIGUOUS.fullmatch(text) or not is_cell(text, file.decimal)):
            yield _doubt(file, "marker", text, f"what {text!r} means, which was taken for any count")
        elif not text and (len(marks) > 1 or any(is_withheld)):
            yield _doubt(file, "marker", text, "what an empty cell means, since others are withheld by a mark")
    for outer, inner in permutations(table.attributes, 2):
        if _is_nested(file, outer, inner, readings):
            what = f"the column {outer!r}, as each value of {inner!r} has only one of its values"
            yield _doubt(file, "nested", outer, what)
    for name, reading in readings.items():
        settled = {*(attributes[name].totals or ()), *attributes[name].groups}
        for label, reason in reading.doubts.items():
            if label not in settled or label in reading.groups:
                yield _doubt(file, "label", label, f"what {label!r} of {name!r} is, since {reason}")
    if file.indented:
        yield _doubt(file, "indented", file.indented, f"which rows are parts of others; {file.indented!r} is indented")
    if table.rounding is Rounding.UNKNOWN:
        yield _doubt(file, "rounding", "", f"how its counts are rounded, all multiples of {table.base}")
    has_sums = any(attributes[name].totals or reading.groups for name, reading in readings.items())
    if any(reading.adds_up_shown for reading in readings.values()):
        sentence = f"Nothing can be computed from the totals of {file.name}: they add up only what it prints."
        yield NotExamined("shown-totals", sentence, file.name, is_doubt=True)
    elif not has_sums and any(reading.may_be_totals for reading in readings.values()):
        sentence = f"Not examined in {file.name}: sums, since no label is known to be a total."
        yield NotExamined("no-total", sentence, file.name, is_doubt=True)


def _doubt(file: PublishedFile, code: str, key: str, what: str) -> NotExamined:
    return NotExamined(code, f"Not understood in {file.name}: {what}.", file.name, key, is_doubt=True)


def _is_nested(file: PublishedFile, outer: str, inner: str, readings: Mapping[str, LabelReading]) -> bool:
    # Groups, such as states of counties, in a table with totals: cells not listed may be empty.
    rows = {*zip(file.column(file.header.index(outer)), file.column(file.header.index(inner)))}
    pairs = {pair for pair in rows if pair[1] not in readings[inner].totals}
    groups, values = {group for group, _ in pairs}, {value for _, value in pairs}
    has_sums = len(pairs) < len(rows) and not groups & {*readings[outer].totals}
    return has_sums and 1 < len(groups) < len(values) == len(pairs)


def _refuse_marginals(files: Sequence[PublishedFile]) -> None:
    for folder, name in ((resolved(file.path).parent, file.name) for file in files):
        if folder.name == "marginals" and (folder.parent / DESCRIPTOR).is_file():
            raise InputError(
                f"{name} is a table of the release {folder.parent.name}, whose levels are no guess: marginals attack "
                f"{folder.parent.name} says what it tells. Beside other tables, write a spec with complete = true for it"
            )


def _guessed_table(file: PublishedFile, seen: Mapping[str, set[str]]) -> tuple[TableSpec, list[str]]:
    names, columns = file.header, _columns_of(file)
    percents = [column.name for column in columns[1:] if column.is_percent or column.is_blank]
    whole_numbers = [column.name for column in columns[1:] if column.is_counted and column.name not in percents]
    if len(percents) > 1 and len(whole_numbers) == 1:
        total = whole_numbers[0]
        across, why = _across(seen, {*map(without_percent, percents)})
        attributes = tuple(name for name in names if name not in percents and name != total)
        of_total = f"the cells are percentages of {total!r}, the one column of whole numbers"
        return TableSpec(attributes, across=across, percent_of=total), [why, of_total]
    if any(column.is_percent for column in columns[1:]) and not whole_numbers:
        raise InputError(f"{file.name} shows percentages or rates and no counts; say of what in a spec: percent_of")
    count = _count_column(columns)
    counts = [columns[names.index(count)]] if count else _crossed_columns(columns)
    if not counts:
        raise InputError(f"{file.name} has no column of counts; write a spec that says how to read it")
    if count_in(count) is not None and not _YEARS.fullmatch(count):
        raise InputError(f"{file.name} has a column {count!r}; the first line has to name the columns")
    left_out, withheld = _beside_counts(columns, counts)
    across, why = ("", f"{count!r} is the column of counts, the others are attributes")
    if not count:
        across, why = _across(seen, {column.name for column in counts})
    whys = [why, *(f"{name!r} is left out: it {reason}" for name, reason in left_out.items())]
    whys += [f"{name!r} withholds a count by {quoted(codes)}" for name, codes in withheld.items()]
    no_attributes = {*left_out, *withheld, *(column.name for column in counts)}
    attributes = tuple(name for name in names if name not in no_attributes)
    table = TableSpec(attributes, count, across, ignore=tuple(left_out), withheld=withheld, why_ignored=left_out)
    return table, whys


def _across(seen: Mapping[str, set[str]], header: set[str]) -> tuple[str, str]:
    across = next((name for name, labels in seen.items() if len(header & labels) > 1), "")
    why = f"its values are those of {across!r} in another table" if across else "from what the header says"
    if not across:
        numbers = sum(interval(label) is not None for label in header)
        is_sex = {label.lower() for label in header} & {"male", "female", "m", "f", "men", "women"}
        across = "age" if numbers * 2 > len(header) else "sex" if is_sex else "group"
    return across, f"the header shows values of {across!r}: {why}"


def _markers(
    files: Sequence[PublishedFile], tables: Mapping[Path, TableSpec], why: dict[Path | str, list[str]]
) -> dict[str, Interval]:
    markers: dict[str, Interval] = {}
    for file in files:
        table = tables[file.path]
        texts = dict.fromkeys(text for n in columns_of_counts(file, table) for text in file.column(n))
        for text in texts:
            percent = table.percent_of and share_of(text, (1_000, 1_000))
            is_clear = bool(CellTexts(decimal=file.decimal).interval(text) or percent)
            if (most := below(text)) is not None:
                least = int("0" in texts)
                reason = "from 1, since zeros are shown" if least else "from 0, since no zero is shown"
            elif not is_clear or re.fullmatch("9{4,}", text):
                least, most, reason = 0, UNBOUNDED, "it says nothing of the count"
            else:
                continue
            if text not in markers:
                markers[text], why[f"markers.{text}"] = (least, most), [reason]
            elif markers[text] != (least, most):
                markers[text], why[f"markers.{text}"] = (0, most), ["from 0, since not every table shows zeros"]
    return markers


def _rounded(file: PublishedFile, table: TableSpec, markers: Mapping[str, Interval], why: list[str]) -> TableSpec:
    cells = labelled_cells(file, table, markers)
    printed = [low for low, high in (cell.interval for cell in cells) if low == high and low]
    exact = {*printed}
    ways = max(len(exact), -(-len(printed) // 2))
    for base in (1000, 100, 50, 20, 10, 5, 3):
        if len(printed) > 2 and base**ways >= _FROM_ROUNDED and all(count % base == 0 for count in exact):
            why.append(f"all {len(exact)} different counts are multiples of {base}; say how they are rounded")
            return replace(table, base=base, rounding=Rounding.UNKNOWN)
    return table


def _lines(cells: Iterable[LabelledCell], attributes: Sequence[str]) -> dict[str, Sequence[Mapping[str, Interval]]]:
    lines: list[dict[tuple[str, ...], dict[str, Interval]]] = [{} for _ in attributes]
    for cell in cells:
        for place, label in enumerate(cell.labels):
            rest = (*cell.labels[:place], *cell.labels[place + 1 :])
            lines[place].setdefault(rest, {})[label] = cell.interval
    return {name: [*of_rest.values()] for name, of_rest in zip(attributes, lines)}


def _hints(file: PublishedFile, table: TableSpec) -> dict[str, Hints]:
    marking = [file.column(file.header.index(name)) for name, why in table.why_ignored.items() if why == _MARKS]
    columns = {name: file.column(file.header.index(name)) for name in table.attributes}
    across = [file.header[n] for n in columns_of_counts(file, table)] if table.across else []
    hints = {}
    for name in table.every_attribute:
        labels = columns.get(name, across if name == table.across else [])
        blank = {row for row, label in enumerate(labels) if not label}
        totals = [{row for row, label in enumerate(other) if label.lower() in TOTALS} for other in columns.values()]
        is_whole = any(blank == rows and len(rows) == 1 for rows in totals)
        is_marked = is_whole or any(all(marks[row] for row in blank) and not all(marks) for marks in marking)
        values = [label for label in dict.fromkeys(labels) if interval(label) and not _ZEROS.fullmatch(label)]
        ranges = pieces_of(values) if len(values) + 1 >= len({*labels}) else {}
        totals_of = ["", BLANK] if blank and is_marked else [""]
        hints[name] = Hints(file.parents.get(name, {}), values, ranges, totals_of)
    return hints


def _attributes(
    readings: Sequence[Mapping[str, LabelReading]], why: dict[Path | str, list[str]]
) -> dict[str, AttributeSpec]:
    attributes: dict[str, AttributeSpec] = {}
    for name in dict.fromkeys(name for by_name in readings for name in by_name):
        of_tables = [by_name[name] for by_name in readings if name in by_name]
        totals = tuple(dict.fromkeys(label for reading in of_tables for label in reading.totals if label))
        read = [label for reading in of_tables for label in reading.labels if label not in reading.left_out]
        values = [label for label in dict.fromkeys(filter(None, read)) if label not in totals]
        is_code = any(map(_ZEROS.fullmatch, values))
        groups, reason = {} if is_code else pieces_of(values), "groups are ranges of numbers that hold others"
        if not groups:
            groups = {group: members for r in of_tables for group, members in r.groups.items() if group in values}
            reason = "groups are values that add up to them"
        others = not any(reading.totals for reading in of_tables) or len(values) < 2
        why_others = "others: no total shows that the values listed are all; false lets tables be linked by them"
        if any(reading.exceeds for reading in of_tables):
            others, why_others = True, "others: a total is larger than the values that are listed can be"
        why[f"attributes.{name}"] = [reason] * bool(groups) + [why_others] * others
        attributes[name] = AttributeSpec(totals, groups, others)
    return attributes


# What a column holds: counts, percentages, statuses, or values of an attribute.


_ZEROS = re.compile("0{2,}")
_COUNTS = re.compile(
    r"(?i)counts?|n|numbers?|values?|obs_value|people|persons|population|freq|frequency|cases|deaths|births"
)
_MARKER_LENGTH = 15
_PERCENT_NAME = re.compile(r".*(%|\bper ?cent|\bpct\b|percentage)", re.IGNORECASE)
_YEAR = re.compile(r".*(?:year|jahr|ann[ée]e|\baño|period|month|week|quarter|date)s?\b.*")
_NO_COUNT = re.compile(f"{_PERCENT_NAME.pattern}|{_YEAR.pattern}", re.IGNORECASE)
_YEARS = re.compile("(?:19|20)[0-9]{2}")
_STATUS_NAME = re.compile(
    r"(?i).*(?:status|flags?\b|suppress|primary|secondary|confid|symbol|withheld|outcome|hidden).*"
)
_CODE_NAME = re.compile(r"(?i).*(?:code|\bid\b|fips|key|nr|nummer)")
_DIAGNOSTIC = re.compile(
    r"(?i)costs?|(?:lower|upper)(?:[_ ]?bound)?|[lsu]pl|[lu]b|(?:cell|str|constraint).?id|(?:total|net)?(?:noise|variation)"
    r"|(?:c|freq_?)?weights?|sensitivity|(?:cell|rec|record|c)?_?key|pert(?:urbation)?|row_?(?:nr|indices)|maxn|score"
    r"|(?:num_?)?contributors?|dominance|top[_ ]?[0-9n]|max[0-9]"
)
_NOT_BLANK = re.compile(
    rf"(?i){_STATUS_NAME.pattern[4:]}|{_YEAR.pattern}|.*(?:note|comment|remark|source|descr|unnamed).*|{_DIAGNOSTIC.pattern[4:]}"
)
_DECIMALS = "holds percentages, rates or other numbers with decimals"
_STATUS = "seems to hold statuses of counts"
_NUMBERS = "holds other numbers"
_OTHER = "is another count"
_MARKS = "is empty, or marks totals"
_DIAGNOSIS = "says how the table was protected"
_SHOWN = "withholds no count"
_SUPPRESSED = 15  # largest count for a column of nothing but suppressed counts


@frozen
class _Column:
    number: int
    name: str
    texts: Sequence[str]
    decimal: str
    has_counts: bool  # any column of its table

    @cached_property
    def counts(self) -> list[int | None]:
        return [count_in(text, self.decimal) for text in self.texts]

    @cached_property
    def filled(self) -> list[str]:
        return [*filter(None, self.texts)]

    @cached_property
    def figures(self) -> list[Figure | None]:
        return [figure_in(text, self.decimal) for text in self.filled if not MARKER.fullmatch(text)]

    @property
    def is_blank(self) -> bool:
        """Return whether all counts of the column may be withheld."""
        return bool(self.name) and self.has_counts and not self.filled and not _NOT_BLANK.fullmatch(self.name)

    @cached_property
    def is_counted(self) -> bool:
        if not self.filled:
            return self.is_blank and not _NO_COUNT.match(self.name)
        counts = sum(count is not None for count in self.counts)
        unknown = {text for text in self.filled if not is_cell(text, self.decimal)}
        is_label = any(text.lower() in TOTALS or interval(text) or len(text) > _MARKER_LENGTH for text in unknown)
        if is_label or _NO_COUNT.match(self.name) or (unknown and 2 * counts < len(self.filled)):
            return False
        if counts or any(text.endswith("%") or MARKER.fullmatch(text) for text in self.filled):
            return self.has_counts and (counts > 0 or not _STATUS_NAME.fullmatch(self.name))
        return all((below(text) or UNBOUNDED) <= _SUPPRESSED for text in self.filled)  # "<18" and "18-64" are ages

    @cached_property
    def is_percent(self) -> bool:
        figures = [figure for figure in self.figures if figure is not None]
        if not figures or len(figures) < len(self.figures) or not all(0 <= figure.number <= 100 for figure in figures):
            return False
        named = _PERCENT_NAME.match(self.name) is not None
        return named or any(figure.is_percent or _is_fraction(figure) for figure in figures)

    @cached_property
    def has_decimals(self) -> bool:
        return all(self.figures) and any(figure is not None and _is_fraction(figure) for figure in self.figures)

    @cached_property
    def is_number(self) -> bool:
        figures = [*map(figure_in, self.filled)]
        return 2 * figures.count(None) < len(figures) and len({*figures}) > 1

    @property
    def numbers_rows(self) -> bool:
        lines = [*map(str, range(len(self.texts) + 1))]
        return len(self.texts) > 2 and [*self.texts] in (lines[:-1], lines[1:])


def _is_fraction(figure: Figure) -> bool:
    return figure.number != figure.number.to_integral_value()


def _columns_of(file: PublishedFile) -> list[_Column]:
    has_counts = any(count_in(text, file.decimal) is not None for row in file.rows for text in row)
    return [_Column(n, name, file.column(n), file.decimal, has_counts) for n, name in enumerate(file.header)]


def _tells_apart(columns: Sequence[_Column]) -> bool:
    rows = [*zip(*(column.texts for column in columns))]
    return bool(rows) and len({*rows}) == len(rows)


def _count_column(columns: Sequence[_Column]) -> str:
    # of a long table; empty for none
    if _is_summed(_crossed_columns(columns)):
        return ""
    counted = [column for column in columns if column.is_counted]
    named = [column for column in counted if _COUNTS.fullmatch(column.name) and not column.is_blank]
    hidden = [column for column in named if len(column.filled) > sum(count is not None for count in column.counts)]
    counted = [column for column in counted if not _DIAGNOSTIC.fullmatch(column.name)] or counted
    if len(_crossed_columns(columns)) > 2 and all(len(column.name) == 1 for column in named):
        return ""  # answers such as A, N, and Y
    return (hidden or named)[-1].name if named else counted[0].name if len(counted) == 1 else ""


def _crossed_columns(columns: Sequence[_Column]) -> list[_Column]:
    """Columns of counts of a crossed table: all of whole numbers but those that tell rows apart, such as years."""
    numbers = [c for c in columns[1:] if c.is_counted and not c.is_percent and not _DIAGNOSTIC.fullmatch(c.name)]
    labels = [column for column in columns if column not in numbers]
    for needed, column in enumerate(numbers):
        if _tells_apart([*labels, *numbers[:needed]]):
            return numbers[needed:]
        if 2 * len({*column.texts}) > len(column.texts):
            break
    return numbers


def _is_summed(columns: Sequence[_Column]) -> bool:
    names = [column.name for column in columns]
    ranges = [[UNKNOWN if count is None else (count, count) for count in column.counts] for column in columns]
    lines = [dict(zip(names, row)) for row in zip(*ranges)]
    return len(names) > 2 and any(is_sum(lines, name, [other for other in names if other != name]) for name in names)


# Why a column is no attribute, in the order of the tests.
_NO_ATTRIBUTE: Sequence[tuple[str, Callable[[_Column], object]]] = [
    ("numbers the rows", lambda column: column.numbers_rows),
    (_MARKS, lambda column: all(not text or text.lower() in TOTALS for text in column.texts)),
    (_DIAGNOSIS, lambda column: _DIAGNOSTIC.fullmatch(column.name) and (column.is_number or len({*column.texts}) == 1)),
    (_DECIMALS, lambda column: column.is_percent or column.has_decimals),
    (_OTHER, lambda column: _COUNTS.fullmatch(column.name) and column.is_counted),
]


def _beside_counts(
    columns: Sequence[_Column], counts: Sequence[_Column]
) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
    # Reason for each column that is neither counts nor an attribute; and the texts by which columns withhold counts.
    left_out: dict[str, str] = {}
    attributes: list[_Column] = []
    others = [column for column in columns if column not in counts]
    for column in others:
        same = next((other for other in attributes if _tell_alike(other.texts, column.texts)), None)
        if len(others) > 1 and (why := next((why for why, is_so in _NO_ATTRIBUTE if is_so(column)), "")):
            left_out[column.name] = why
        elif same is not None and (_CODE_NAME.match(column.name) or not column.is_number):
            left_out[column.name] = f"tells the same as {same.name!r}"
        else:
            attributes.append(column)
    if not _tells_apart(attributes):
        # Numbers that tell rows apart are values of an attribute, such as doses.
        left_out = {name: why for name, why in left_out.items() if why not in (_DECIMALS, _OTHER, _DIAGNOSIS)}
        return left_out, {}
    statuses = []
    for column in reversed(attributes):
        is_status = _is_status(column, counts[0])
        rest = [other for other in attributes if other is not column]
        if (is_status or column.is_number) and rest and _tells_apart(rest):
            attributes = rest
            left_out[column.name] = _STATUS if is_status else _NUMBERS
            statuses += [column] * is_status
    return left_out, _withheld(statuses, counts, left_out)


def _is_status(column: _Column, count: _Column) -> bool:
    texts = {text.lower() for text in column.texts}
    is_code = column.number > count.number and 1 < len(texts) <= 6 and len(column.texts) > 3 and not column.is_number
    is_flag = texts <= _YES | _NO and (_HIDES.fullmatch(column.name) or _SHOWS.fullmatch(column.name))
    return is_code or texts <= {"true", "false"} or bool(is_flag or _STATUS_NAME.fullmatch(column.name))


def _tell_alike(one: Sequence[str], other: Sequence[str]) -> bool:
    pairs = set(zip(one, other))
    return len(pairs) == len(set(one)) == len(set(other)) > 1


# Columns that say which counts are withheld, as programs and offices write them.


def _names_that_say(words: str, opposite: str) -> re.Pattern[str]:
    no = "(?:un|non|not)[-_ .]?"
    return re.compile(f"(?i)(?!.*{no}(?:{words})).*(?:{words}).*|.*{no}(?:{opposite}).*")


_HIDING = "suppress|withh|hidden|hide|conf|secret|mask|primary|secondary|sensitive|censor|redact"
_SHOWING = "publis|release|show|safe|(?<!in)visible|open|disclosed"
_HIDES, _SHOWS = _names_that_say(_HIDING, _SHOWING), _names_that_say(_SHOWING, _HIDING)
_FINAL = re.compile(r"(?i)(?:out|sdc|final)[_ ]?status|(?!.*(?:primary|secondary)).*suppress.*")
_YES, _NO = frozenset({"true", "t", "yes", "y", "1", "x"}), frozenset({"false", "f", "no", "n", "0", ""})
_FLAGS = [(_HIDES, _NO, _YES), (_SHOWS, _YES, _NO)]
# Names of columns, statuses of printed counts, and of withheld ones.
_CODES = [
    (re.compile(name), frozenset(printed.split(" ")), frozenset(withheld.split()))
    for name, printed, withheld in (
        (".*", "s z ", "u x"),  # sdcTable
        (".*", "S P E", "U M"),  # tau-ARGUS
        ("(?i)(out)?_?status", "P V", "S X"),  # G-Confid
        ("(?i).*conf.*", "F ", "A B C D G M N O P S T"),  # SDMX
        ("(?i)obs.*status", "A ", "C L M O Q"),
        ("(?i).*(?:flag|symbol|status|note).*", " ", "c C : :c (c) [c] conf"),
        (
            ".*",
            "published safe open free public shown released visible unsuppressed ok ",
            "suppressed primary secondary unsafe confidential withheld hidden complementary complement masked redacted",
        ),
    )
]


def _withheld(
    statuses: Sequence[_Column], counts: Sequence[_Column], left_out: dict[str, str]
) -> dict[str, tuple[str, ...]]:
    # Beside a column of the last step, those of earlier steps say why, not what is withheld.
    is_hidden = [all(count is None for count in row) for row in zip(*(column.counts for column in counts))]
    withheld: dict[str, tuple[str, ...]] = {}
    is_final = {column.name: bool(_FINAL.fullmatch(column.name)) for column in statuses}
    final_is_known = False
    for column in sorted(statuses, key=lambda column: not is_final[column.name]):
        if final_is_known and not is_final[column.name]:
            left_out[column.name] = _DIAGNOSIS
            continue
        codes, is_known = _withholding(column, is_hidden)
        final_is_known |= is_known and is_final[column.name]
        if codes:
            withheld[column.name] = codes
        if is_known and codes:
            del left_out[column.name]
        elif is_known:
            left_out[column.name] = _SHOWN
    return withheld


def _withholding(column: _Column, is_hidden: Sequence[bool]) -> tuple[tuple[str, ...], bool]:
    # Texts that withhold a count, and whether that is certain; if not, all that may.
    texts = dict.fromkeys(column.texts)
    hidden = {text for text, is_so in zip(column.texts, is_hidden) if is_so}
    printed = {text for text, is_so in zip(column.texts, is_hidden) if not is_so}
    readings = _readings(column, _CODES) or _readings(column, _FLAGS)
    readings = {codes for codes in readings if hidden <= codes}
    if not readings and hidden and not hidden & printed:
        readings = {frozenset(hidden)}
    codes = frozenset(hidden).union(*readings)
    return tuple(text for text in texts if text in codes), len(readings) == 1


def _readings(
    column: _Column, table: Sequence[tuple[re.Pattern[str], frozenset[str], frozenset[str]]]
) -> set[frozenset[str]]:
    return {
        frozenset(text for text in column.texts if {text, text.lower()} & withheld)
        for name, printed, withheld in table
        if name.fullmatch(column.name) and all({text, text.lower()} & (printed | withheld) for text in column.texts)
    }
