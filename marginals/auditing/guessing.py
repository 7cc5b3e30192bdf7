"""A first spec for published tables: what their columns and texts seem to be, each guess with its reason."""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from pathlib import Path

from marginals.auditing.cell_text import UNKNOWN, CellTexts, Rounding, below, share_of, without_percent
from marginals.auditing.column_roles import (
    beside_counts,
    count_column,
    looks_counted,
    looks_like_percentages,
)
from marginals.auditing.published_file import PublishedFile, names, read_published
from marginals.auditing.published_tables import is_total, labelled_cells
from marginals.auditing.spec import AttributeSpec, AuditSpec, TableSpec
from marginals.conditions.labels import Range, interval
from marginals.errors import InputError
from models.intervals.interval_table import Interval
from models.programs.equations import UNBOUNDED

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
            shown = '"unknown"' if given == UNKNOWN else json.dumps(list(given))
            yield f"{_key(text)} = {shown}  # {self.why_markers[text]}"
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
            yield '# absent = "zero"   # cells that it does not list; without this line nothing is known of them'


def guessed_spec(paths: Sequence[Path], folder: Path | None = None) -> GuessedSpec:
    """A spec for some tables, which its text names as seen from a folder.

    Raises InputError for files that cannot be read, or that do not look like tables of counts.
    """
    if len({path.resolve() for path in paths}) < len(paths):
        raise InputError("a table is named twice")
    files = [read_published(path) for path in paths]
    tables: dict[Path, TableSpec] = {}
    reasons: dict[Path, list[str]] = {}
    known: dict[str, set[str]] = {}
    for file in sorted(files, key=lambda each: not count_column(each)):  # long ones first: they name what they show
        tables[file.path], reasons[file.path] = _table(file, known)
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
    for file in files:
        tables[file.path], of_rounding = _rounded(file, tables[file.path], markers)
        reasons[file.path] += of_rounding
    attributes, why_attributes = _attributes(files, tables, markers)
    return GuessedSpec(AuditSpec(tables, attributes, markers), folder, reasons, why_markers, why_attributes)


def _table(file: PublishedFile, known: Mapping[str, set[str]]) -> tuple[TableSpec, list[str]]:
    counted = [n for n in range(len(file.header)) if looks_counted(file, n)]
    percents = [n for n in range(1, len(file.header)) if looks_like_percentages(file, n)]
    whole_numbers = [n for n in counted if n and n not in percents]
    if len(percents) > 1 and len(whole_numbers) == 1:
        return _of_percentages(file, known, percents, file.header[whole_numbers[0]])
    if percents and not whole_numbers:
        raise InputError(f"{file.name} shows percentages or rates and no counts; say of what in a spec: percent_of")
    if not counted:
        raise InputError(f"{file.name} has no column of counts; write a spec that says how to read it")
    count = count_column(file)
    if count:
        ignored = beside_counts(file, count)
        others = tuple(name for name in file.header if name != count and name not in ignored)
        why = [f"{name!r} is left out: it {reason}" for name, reason in ignored.items()]
        return TableSpec(others, count=count, ignore=tuple(ignored)), [
            f"{count!r} is the column of counts, the others are attributes",
            *why,
        ]
    while 0 in counted:  # row labels can be numbers, such as years
        counted.remove(0)
    counted = [n for n in counted if n not in percents]
    across, why_across = _across(known, {file.header[n] for n in counted})
    attributes = tuple(name for n, name in enumerate(file.header) if n not in counted and n not in percents)
    ignore = tuple(file.header[n] for n in percents)
    reasons = [
        why_across,
        *(
            [f"left out, since they are percentages, rates or other numbers with decimals: {names(ignore)}"]
            if ignore
            else []
        ),
    ]
    return TableSpec(attributes, across=across, ignore=ignore), reasons


def _of_percentages(
    file: PublishedFile, known: Mapping[str, set[str]], percents: Sequence[int], total: str
) -> tuple[TableSpec, list[str]]:
    across, why = _across(known, {without_percent(file.header[n]) for n in percents})
    attributes = tuple(name for n, name in enumerate(file.header) if n not in percents and name != total)
    return TableSpec(attributes, across=across, percent_of=total), [
        why,
        f"the cells are percentages of {total!r}, the one column of whole numbers",
    ]


def _across(known: Mapping[str, set[str]], shown: set[str]) -> tuple[str, str]:
    """What the values of a header are values of, and why."""
    matching = [name for name, labels in known.items() if len(shown & labels) > 1]
    across = matching[0] if matching else _named_by(shown)
    why = f"its values are those of {across!r} in another table" if matching else "from what the header says"
    return across, f"the header shows values of {across!r}: {why}"


def _named_by(labels: set[str]) -> str:
    numbers = sum(interval(_plain(label)) is not None for label in labels)
    if numbers * 2 > len(labels):
        return "age"
    return "sex" if {label.lower() for label in labels} & {"male", "female", "m", "f", "men", "women"} else "group"


def _markers(file: PublishedFile, table: TableSpec) -> Iterator[tuple[str, Interval, str]]:
    numbers = (
        [file.header.index(table.count)]
        if table.count
        else [n for n, name in enumerate(file.header) if name not in (*table.attributes, *table.ignore)]
    )
    texts = dict.fromkeys(text for n in numbers for text in file.column(n))
    has_zeros = "0" in texts
    for text in texts:
        most = below(text)
        if most is not None and has_zeros:
            yield text, (1, most), "from 1, since zeros are shown"
        elif most is not None:
            yield text, (0, most), "from 0, since no zero is shown"
        elif CellTexts().interval(text) is None and not (table.percent_of and share_of(text, (1_000, 1_000))):
            yield text, (0, UNBOUNDED), "it says nothing of the count"


def _rounded(file: PublishedFile, table: TableSpec, markers: Mapping[str, Interval]) -> tuple[TableSpec, list[str]]:
    cells = list(labelled_cells(file, table, markers))
    exact = {cell.interval[0] for cell in cells if cell.interval[0] == cell.interval[1]} - {0}
    for base in (1000, 100, 50, 20, 10, 5, 3):
        if len(exact) >= _FROM_ROUNDED and all(count % base == 0 for count in exact):
            because = f"all {len(exact)} different counts are multiples of {base}; random: the widest way to round"
            return replace(table, base=base, rounding=Rounding.RANDOM), [because]
    return table, []


def _attributes(
    files: Sequence[PublishedFile], tables: Mapping[Path, TableSpec], markers: Mapping[str, Interval]
) -> tuple[dict[str, AttributeSpec], dict[str, list[str]]]:
    labels: dict[str, dict[str, None]] = {}
    adding: dict[str, dict[str, tuple[str, ...]]] = {}
    exceeding: set[str] = set()
    for file in files:
        table = tables[file.path]
        cells = list(labelled_cells(file, table, markers))
        for place, name in enumerate(table.every_attribute):
            labels.setdefault(name, {}).update(dict.fromkeys(cell.labels[place] for cell in cells))
            lines: dict[tuple[str, ...], dict[str, Interval]] = {}
            for cell in cells:
                rest = (*cell.labels[:place], *cell.labels[place + 1 :])
                lines.setdefault(rest, {})[cell.labels[place]] = cell.interval
            adding.setdefault(name, {}).update(_subtotals([*lines.values()]))
            if _exceeds([*lines.values()], adding[name]):
                exceeding.add(name)
    made: dict[str, AttributeSpec] = {}
    why: dict[str, list[str]] = {}
    for name, shown in labels.items():
        totals = tuple(label for label in shown if is_total(label, AttributeSpec()))
        values = [label for label in shown if label not in totals]
        groups, reason = _number_groups(values)
        if not groups and adding[name]:
            groups = {group: parts for group, parts in adding[name].items() if group in values}
            reason = "groups are values that add up to them"
        why[name] = [reason] if groups else []
        others = name in exceeding or not totals or len(values) == 1
        if name in exceeding:
            why[name].append("others: a total is larger than the values that are listed can be")
        elif others:
            why[name].append(
                "others: no total shows that the values listed are all; false lets tables be linked by them"
            )
        made[name] = AttributeSpec(totals, groups, others)
    return made, why


def _subtotals(lines: Sequence[Mapping[str, Interval]]) -> dict[str, tuple[str, ...]]:
    """Labels that are the sum of those that stand right after them, in two or more lines that have something."""
    order = list(dict.fromkeys(label for line in lines for label in line))
    found: dict[str, tuple[str, ...]] = {}
    for place, label in enumerate(order):
        if is_total(label, AttributeSpec()):
            continue
        for end in range(place + 3, min(len(order), place + 30) + 1):
            parts = order[place + 1 : end]
            if any(is_total(part, AttributeSpec()) for part in parts):
                break
            whole_lines = [
                line
                for line in lines
                if all(each in line and line[each][0] == line[each][1] for each in (label, *parts)) and line[label][0]
            ]
            if len(whole_lines) >= 3 and all(
                line[label][0] == sum(line[part][0] for part in parts) for line in whole_lines
            ):
                found[label] = tuple(parts)
                break
    return found


def _exceeds(lines: Sequence[Mapping[str, Interval]], groups: Mapping[str, Sequence[str]]) -> bool:
    """Whether a total is surely larger than what is listed beside it."""
    for line in lines:
        totals = [given for label, given in line.items() if is_total(label, AttributeSpec())]
        parts = [given for label, given in line.items() if not is_total(label, AttributeSpec()) and label not in groups]
        if totals and len(parts) > 1 and sum(most for _, most in parts) < max(least for least, _ in totals):
            return True
    return False


def _plain(label: str) -> str:
    """A label without the words around its numbers: "Aged 18 to 64 years" is 18-64."""
    text = re.sub(r"(?i)\b(aged?|years?|yrs?|old)\b", "", label).strip()
    text = re.sub("(?i)^(\\d+)\\s*(?:to|\u2013|\u2014)\\s*(\\d+)$", r"\1-\2", text)
    return re.sub(r"(?i)\s+(and over|or more|and older|or over)$", " and over", text)


def _number_groups(labels: Sequence[str]) -> tuple[dict[str, tuple[str, ...]], str]:
    """Labels that are ranges of numbers, as groups of the pieces that they cut each other into."""
    ranges = {label: interval(_plain(label)) for label in labels}
    if not labels or any(each is None for each in ranges.values()):
        return {}, ""
    whole_ranges = {label: _half_open(each) for label, each in ranges.items() if each is not None}
    ends = sorted({end for pair in whole_ranges.values() for end in pair})
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
