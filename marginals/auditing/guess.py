"""A spec for published tables, guessed from what they show, with a reason for each guess."""

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import permutations
from math import prod
from pathlib import Path

from marginals.auditing.published import (
    MARKER,
    UNKNOWN,
    CellTexts,
    PublishedFile,
    Rounding,
    below,
    is_cell,
    quoted,
    read_published,
    share_of,
    without_percent,
)
from marginals.auditing.spec import (
    DOUBT_KEYS,
    MOST_UNLISTED,
    AttributeSpec,
    AuditSpec,
    LabelledCell,
    NotExamined,
    TableSpec,
    columns_of_counts,
    labelled_cells,
)
from marginals.bundle.content import DESCRIPTOR
from marginals.bundle.reading import content_of
from marginals.bundle.snapshot import Snapshot
from marginals.errors import BundleError, InputError
from marginals.files import resolved
from marginals.label_sums import TOTALS, LabelReading, read_labels
from marginals.tables.intervals import Range, interval
from marginals.tables.values import Figure, count_in, figure_in
from models.intervals.linked_tables import Interval
from models.programs.consistent_tables import UNBOUNDED
from models.tables.hierarchy import Hierarchy

_FROM_ROUNDED = 8
"""Different counts that are needed to conclude that they are rounded."""


@dataclass(frozen=True)
class GuessedSpec:
    """A spec, and why: for each table, marker and attribute some sentences. folder: where it is to lie."""

    spec: AuditSpec
    folder: Path | None = None
    why: Mapping[Path | str, Sequence[str]] = field(default_factory=dict)

    @property
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
            yield f"{_key(text)} = {meaning}  # {self.why[f'markers.{text}'][0]}"
        for name, attribute in self.spec.attributes.items():
            yield f"\n[attributes.{_key(name)}]"
            yield from (f"# {why}" for why in self.why.get(f"attributes.{name}", ()))
            yield from _toml({"totals": attribute.totals, "others": attribute.others})
            if attribute.groups:
                yield f"[attributes.{_key(name)}.groups]"
                yield from _toml(attribute.groups)
        for path, table in self.spec.tables.items():
            seen = path.name if self.folder is None else Path(os.path.relpath(path, self.folder)).as_posix()
            yield f"\n[tables.{_key(seen)}]"
            yield from (f"# {why}" for why in self.why.get(path, ()))
            named = {key: getattr(table, key) for key in ("attributes", "count", "across", "ignore", "percent_of")}
            yield from _toml({key: value for key, value in named.items() if value})
            yield 'people = "everybody"   # whom it counts: tables of other people are not combined with it'
            if table.base > 1:
                yield f"rounding = {{ base = {table.base}, how = {json.dumps(table.rounding.value)} }}"
            left_out = "complete = true   # it leaves out only cells without people"
            yield left_out if table.complete else f"# {left_out}; nothing is known of them without this line"
        for doubt in self.spec.doubts:
            yield "\n[[doubts]]   # there is no all-clear before it is settled and deleted"
            yield from _toml({key: getattr(doubt, key) for key in DOUBT_KEYS})


def _toml(values: Mapping[str, object]) -> Iterator[str]:
    return (f"{_key(key)} = {json.dumps(value, ensure_ascii=False)}" for key, value in values.items())


def _key(text: str) -> str:
    return text if re.fullmatch(r"[A-Za-z0-9_-]+", text) else json.dumps(text, ensure_ascii=False)


def guessed_spec(paths: Sequence[Path], folder: Path | None = None) -> GuessedSpec:
    """A spec for some tables, which its text names as seen from a folder.

    Raises InputError for files that cannot be read, or that do not look like tables of counts.
    """
    if len({resolved(path) for path in paths}) < len(paths):
        raise InputError("a table is named twice")
    files = [read_published(path) for path in paths]
    marginals = _marginals(files)
    tables: dict[Path, TableSpec] = {}
    why: dict[Path | str, list[str]] = {}
    known: dict[str, set[str]] = {}
    for file in sorted(files, key=lambda listed: not count_column(listed)):  # long ones first: they name what they show
        guess = _complete_table(file, marginals[file.path]) if file.path in marginals else _guessed_table(file, known)
        tables[file.path], why[file.path] = guess
        for name in tables[file.path].attributes:
            known.setdefault(name, set()).update(file.column(file.header.index(name)))
    tables = {path: tables[path] for path in paths}
    markers = _markers(files, tables, why)
    doubts: list[NotExamined] = []
    readings: list[Mapping[str, LabelReading]] = []
    is_open = False
    for file in files:
        if file.path not in marginals:
            tables[file.path] = _rounded(file, tables[file.path], markers, why[file.path])
        table = tables[file.path]
        cells = labelled_cells(file, table, markers)
        is_open |= any(cell.interval[0] < cell.interval[1] for cell in cells)
        readings.append(_readings(cells, table.every_attribute))
        if file.path not in marginals:
            doubts += _doubts(file, table, markers, readings[-1])
    attributes = _attributes(readings, why)
    settled = {label for attribute in attributes.values() for label in (*attribute.totals, *attribute.groups)}
    doubts = [doubt for doubt in doubts if doubt.code != "label" or (is_open and doubt.key not in settled)]
    complete = {path: levels for path, levels in marginals.items() if tables[path].complete}
    for name, groups in _groups_of_releases(complete).items():
        totals = [label for label in attributes[name].totals if label != _EVERYTHING]
        attributes[name] = AttributeSpec((_EVERYTHING, *totals), groups)
        why[f"attributes.{name}"] = ["the values and groups of the release"]
    return GuessedSpec(AuditSpec(tables, attributes, markers, doubts=tuple(doubts)), folder, why)


def _doubts(
    file: PublishedFile, table: TableSpec, markers: Mapping[str, Interval], readings: Mapping[str, LabelReading]
) -> Iterator[NotExamined]:
    for code, key, what in _not_understood(file, table, markers, readings):
        yield NotExamined(code, f"Not understood in {file.name}: {what}.", file.name, key, is_doubt=True)
    if inner := [label for reading in readings.values() for label in reading.labels if _OF_WHICH.match(label)]:
        raise InputError(f"{file.name} has rows that are parts of a row above; leave them out: {quoted(inner)}")
    if sum(reading.unshown for reading in readings.values()) > 1:
        raise InputError(f"{file.name} has totals of only what it shows, which say nothing of the rest; leave them out")


_OF_WHICH = re.compile(r"(?i)\W*(?:of (?:which|whom)|thereof|darunter|davon|dont|di cui|incl(?:\.|uding))\b")


def _not_understood(
    file: PublishedFile, table: TableSpec, markers: Mapping[str, Interval], readings: Mapping[str, LabelReading]
) -> Iterator[tuple[str, str, str]]:
    counts = columns_of_counts(file, table)
    is_open = [any(count_in(row[n], file.decimal) is None for n in counts) for row in file.rows]
    for name, reason in table.why_ignored.items():
        column = file.column(file.header.index(name))
        beside = any(hidden and figure_in(text) for hidden, text in zip(is_open, column))
        repeats = all(hidden or row[counts[0]] == text for row, text, hidden in zip(file.rows, column, is_open))
        if reason in (_STATUS, _NUMBERS) or (beside and (reason == _DECIMALS or (reason == _OTHER and repeats))):
            yield "column", name, f"the column {name!r}, which {reason}"
    for text in dict.fromkeys(row[n] for row in file.rows for n in counts):
        if text in markers and not is_cell(text, file.decimal) and text:
            yield "marker", text, f"what {text!r} means, which was taken for any count"
    for outer, inner in permutations(table.attributes, 2):
        if _is_nested(file, outer, inner, readings):
            yield "nested", outer, f"the column {outer!r}, as each value of {inner!r} has only one of its values"
    for name, reading in readings.items():
        for label, reason in reading.doubts.items():
            yield "label", label, f"what {label!r} of {name!r} is, since {reason}"
    if file.indented:
        yield "indented", file.indented, f"which rows are parts of others; {file.indented!r} is indented"
    if table.rounding is Rounding.UNKNOWN:
        yield "rounding", "", f"how its counts are rounded, all multiples of {table.base}"


def _is_nested(file: PublishedFile, outer: str, inner: str, readings: Mapping[str, LabelReading]) -> bool:
    """Whether a column has groups, such as states of counties, in a table with totals: cells not listed may be empty."""
    rows = {*zip(file.column(file.header.index(outer)), file.column(file.header.index(inner)))}
    pairs = {pair for pair in rows if pair[1] not in readings[inner].totals}
    groups, values = {group for group, _ in pairs}, {value for _, value in pairs}
    has_sums = len(pairs) < len(rows) and not groups & {*readings[outer].totals}
    return has_sums and 1 < len(groups) < len(values) == len(pairs)


_EVERYTHING = "*"
"""The label of all values together in a release of this program."""

_Levels = Mapping[str, tuple[Hierarchy, int]]
"""Hierarchy and level of each attribute of a marginal."""


def _marginals(files: Sequence[PublishedFile]) -> dict[Path, _Levels]:
    """The files that are marginals in the folder of an intact release, with what it says of their values."""
    marginals: dict[Path, _Levels] = {}
    for folder in dict.fromkeys(resolved(file.path).parent for file in files):
        if folder.name != "marginals" or not (folder.parent / DESCRIPTOR).is_file():
            continue
        try:
            snapshot = Snapshot.of(folder.parent)
            domain = content_of(snapshot).domain
        except (BundleError, InputError):
            continue
        resources = {folder.parent / resource["path"]: resource for resource in snapshot.descriptor.resources}
        for file in files:
            if levels := resources.get(resolved(file.path), {}).get("marginal", {}).get("levels"):
                marginals[file.path] = {name: (domain.hierarchy(name), level) for name, level in levels.items()}
    return marginals


def _complete_table(file: PublishedFile, levels: _Levels) -> tuple[TableSpec, list[str]]:
    table = TableSpec(file.header[:-1], count=file.header[-1], complete=True)
    if prod(hierarchy.size(level) + 1 for hierarchy, level in levels.values()) > MOST_UNLISTED:
        why = "a marginal of a release with too many cells to list, so nothing is concluded from what it does not list"
        return replace(table, complete=False), [why]
    return table, ["a marginal of a release of this program: what it does not list has nobody"]


def _groups_of_releases(marginals: Mapping[Path, _Levels]) -> dict[str, dict[str, tuple[str, ...]]]:
    """Of each attribute the groups of its finest values, at all levels that are shown.

    Raises InputError where a label stands for different values.
    """
    result: dict[str, dict[str, tuple[str, ...]]] = {}
    for path, levels in marginals.items():
        for name, (hierarchy, level) in levels.items():
            members: dict[str, list[str]] = {}
            for base, *above in hierarchy.rows():
                members.setdefault([base, *above][level].strip(), []).append(base.strip())
            bases = {label.strip() for label in hierarchy.labels[0]}
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
    names = file.header
    percents = [n for n in range(1, len(names)) if looks_like_percentages(file, n)]
    whole_numbers = [n for n in range(1, len(names)) if n not in percents and looks_counted(file, n)]
    if len(percents) > 1 and len(whole_numbers) == 1:
        total = names[whole_numbers[0]]
        across, why = _across(known, {without_percent(names[n]) for n in percents})
        attributes = tuple(name for n, name in enumerate(names) if n not in percents and name != total)
        of_total = f"the cells are percentages of {total!r}, the one column of whole numbers"
        return TableSpec(attributes, across=across, percent_of=total), [why, of_total]
    if percents and not whole_numbers:
        raise InputError(f"{file.name} shows percentages or rates and no counts; say of what in a spec: percent_of")
    count, numbers = count_column(file), _crossed_columns(file)
    if not numbers and not count:
        raise InputError(f"{file.name} has no column of counts; write a spec that says how to read it")
    if count_in(count) is not None and not _YEARS.fullmatch(count):
        raise InputError(f"{file.name} has a column {count!r}; the first line has to name the columns")
    if count:
        left_out = _beside_counts(file, count)
        attributes = tuple(name for name in names if name != count and name not in left_out)
        whys = [f"{count!r} is the column of counts, the others are attributes"]
        whys += [f"{name!r} is left out: it {reason}" for name, reason in left_out.items()]
        return TableSpec(attributes, count=count, ignore=tuple(left_out), why_ignored=left_out), whys
    labels = [n for n in range(len(names)) if n not in numbers and n not in percents]
    left_out = {**dict.fromkeys((names[n] for n in percents), _DECIMALS), **_extras(file, labels, numbers[0])}
    across, why = _across(known, {names[n] for n in numbers})
    attributes = tuple(names[n] for n in labels if names[n] not in left_out)
    of_left_out = f"left out, since they are percentages, rates or other numbers with decimals: {quoted([*left_out])}"
    whys = [why, *([of_left_out] if left_out else [])]
    return TableSpec(attributes, across=across, ignore=tuple(left_out), why_ignored=left_out), whys


def _across(known: Mapping[str, set[str]], header: set[str]) -> tuple[str, str]:
    across = next((name for name, labels in known.items() if len(header & labels) > 1), "")
    why = f"its values are those of {across!r} in another table" if across else "from what the header says"
    if not across:
        numbers = sum(interval(_without_words(label)) is not None for label in header)
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
            if (most := below(text)) is not None:
                least, reason = (
                    (1, "from 1, since zeros are shown") if "0" in texts else (0, "from 0, since no zero is shown")
                )
            elif CellTexts(decimal=file.decimal).interval(text) is None and not (
                table.percent_of and share_of(text, (1_000, 1_000))
            ):
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
    exact = {cell.interval[0] for cell in cells if cell.interval[0] == cell.interval[1]} - {0}
    for base in (1000, 100, 50, 20, 10, 5, 3):
        if len(exact) >= _FROM_ROUNDED and all(count % base == 0 for count in exact):
            why.append(f"all {len(exact)} different counts are multiples of {base}; say how they are rounded")
            return replace(table, base=base, rounding=Rounding.UNKNOWN)
    return table


def _readings(cells: Iterable[LabelledCell], attributes: Sequence[str]) -> dict[str, LabelReading]:
    lines: list[dict[tuple[str, ...], dict[str, Interval]]] = [{} for _ in attributes]
    for cell in cells:
        for place, label in enumerate(cell.labels):
            rest = (*cell.labels[:place], *cell.labels[place + 1 :])
            lines[place].setdefault(rest, {})[label] = cell.interval
    return {name: read_labels([*of_rest.values()]) for name, of_rest in zip(attributes, lines)}


def _attributes(
    readings: Sequence[Mapping[str, LabelReading]], why: dict[Path | str, list[str]]
) -> dict[str, AttributeSpec]:
    attributes: dict[str, AttributeSpec] = {}
    for name in dict.fromkeys(name for by_name in readings for name in by_name):
        of_tables = [by_name[name] for by_name in readings if name in by_name]
        totals = tuple(dict.fromkeys(label for reading in of_tables for label in reading.totals))
        labels = dict.fromkeys(label for reading in of_tables for label in reading.labels)
        values = [label for label in labels if label not in totals]
        groups, reason = _number_groups(values), "groups are ranges of numbers that hold others"
        if not groups:
            groups = {group: members for r in of_tables for group, members in r.groups.items() if group in values}
            reason = "groups are values that add up to them"
        exceeds = any(reading.exceeds for reading in of_tables)
        others = exceeds or not totals or len(values) == 1
        why[f"attributes.{name}"] = [reason] if groups else []
        if exceeds:
            why[f"attributes.{name}"].append("others: a total is larger than the values that are listed can be")
        elif others:
            unshown = "others: no total shows that the values listed are all; false lets tables be linked by them"
            why[f"attributes.{name}"].append(unshown)
        attributes[name] = AttributeSpec(totals, groups, others)
    return attributes


def _without_words(label: str) -> str:
    """A label without the words around its numbers: "Aged 18 to 64 years" is 18-64."""
    return " ".join(re.sub(r"(?i)\b(aged?|years?|yrs?|old)\b", "", label).lower().split())


def _number_groups(labels: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Labels that are ranges of numbers, as groups of the pieces that they cut each other into."""
    ranges = {label: _half_open(numbers) for label in labels if (numbers := interval(_without_words(label)))}
    ends = sorted({end for pair in ranges.values() for end in pair})
    if not labels or len(ranges) < len(labels) or any(end % 1 for end in ends if end.is_finite()):
        return {}
    pieces = {}
    for low, high in zip(ends, ends[1:]):
        named = [label for label, pair in ranges.items() if pair == (low, high)]
        if any(pair[0] <= low and high <= pair[1] for pair in ranges.values()):
            pieces[low, high] = named[0] if named else _piece(low, high)
    return {
        label: tuple(name for (low, high), name in pieces.items() if pair[0] <= low and high <= pair[1])
        for label, pair in ranges.items()
        if pair not in pieces or pieces[pair] != label
    }


def _half_open(given: Range) -> tuple[Decimal, Decimal]:
    """From the first number on to before the second, of whole numbers."""
    low = max(given.low, Decimal(0))
    return low, given.high + 1 if given.with_high and given.high.is_finite() else given.high


def _piece(low: Decimal, high: Decimal) -> str:
    if not high.is_finite():
        return f"{low}+"
    return f"{low}" if high - low == 1 else f"{low}-{high - 1}"


# What a column holds: counts, percentages, statuses, or values of an attribute.


_COUNTS = re.compile(
    r"(?i)counts?|n|numbers?|values?|obs_value|people|persons|population|freq|frequency|cases|deaths|births"
)
_SENTINEL = re.compile("-(?:1|9+)")
_MARKER_LENGTH = 15
_PERCENT_NAME = re.compile(r".*(%|\bper ?cent|\bpct\b|percentage)", re.IGNORECASE)
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
    unknown = {text for text in filled if not is_cell(text, file.decimal) and not _SENTINEL.fullmatch(text)}
    is_label = any(
        text.lower() in TOTALS or interval(_without_words(text)) or len(text) > _MARKER_LENGTH for text in unknown
    )
    if not filled or is_label or _NO_COUNT.match(name) or (unknown and 2 * counts < len(filled)):
        return False
    if counts or any(text.endswith("%") or MARKER.fullmatch(text) for text in filled):
        is_status = not counts and _STATUS_NAME.fullmatch(name)
        return not is_status and any(count_in(text, file.decimal) is not None for row in file.rows for text in row)
    return all((below(text) or UNBOUNDED) <= _SUPPRESSED for text in filled)  # "<18" and "18-64" are ages


def looks_like_percentages(file: PublishedFile, number: int) -> bool:
    """Whether a column seems to hold percentages: its name or its texts say so. Counts such as 12.0 are none."""
    filled = [text for text in file.column(number) if text and not MARKER.fullmatch(text)]
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
    remaining = list(columns)
    result = {}
    for number in reversed(columns):
        why = _STATUS if _is_status(file, number, count) else _NUMBERS if _is_number(file, number) else ""
        rest = [n for n in remaining if n != number]
        if why and rest and _tells_apart(file, rest):
            remaining, result[file.header[number]] = rest, why
    return result


def _is_status(file: PublishedFile, number: int, count: int) -> bool:
    texts = {text.lower() for text in file.column(number)}
    is_code = number > count and 1 < len(texts) <= 6 and len(file.rows) > 3
    return is_code or texts <= {"true", "false"} or _STATUS_NAME.fullmatch(file.header[number]) is not None


def _is_number(file: PublishedFile, number: int) -> bool:
    figures = [figure_in(text) for text in file.column(number) if text]
    return 2 * sum(figure is not None for figure in figures) > len(figures) and len({*figures}) > 1


_NO_ATTRIBUTE: Sequence[tuple[str, Callable[[PublishedFile, int], object]]] = [
    ("numbers the rows", lambda file, n: min(len(file.rows), len(file.header)) > 2 and _numbers_rows(file.column(n))),
    ("is empty, or marks totals", lambda file, n: all(text.lower() in TOTALS for text in file.column(n))),
    (_DECIMALS, lambda file, n: looks_like_percentages(file, n) or _has_decimals(file.column(n))),
    (_OTHER, lambda file, n: _COUNTS.fullmatch(file.header[n].strip()) and looks_counted(file, n)),
]
"""What a column does that is no attribute, in the order in which that is looked at."""


def _beside_counts(file: PublishedFile, count: str) -> dict[str, str]:
    left_out: dict[str, str] = {}
    columns: list[int] = []
    for number, name in enumerate(file.header):
        if name == count:
            continue
        same = next((n for n in columns if _tell_alike(file.column(n), file.column(number))), None)
        if why := next((why for why, is_so in _NO_ATTRIBUTE if is_so(file, number)), ""):
            left_out[name] = why
        elif same is not None and (_CODE_NAME.match(name) or not _is_number(file, number)):
            left_out[name] = f"tells the same as {file.header[same]!r}"
        else:
            columns.append(number)
    if not _tells_apart(file, columns):
        # Numbers that tell rows apart are values of an attribute, such as doses.
        return {name: why for name, why in left_out.items() if why not in (_DECIMALS, _OTHER)}
    return left_out | _extras(file, columns, file.header.index(count))


def _numbers_rows(texts: Sequence[str]) -> bool:
    return any(texts == [str(line) for line in range(first, len(texts) + first)] for first in (0, 1))


def _has_decimals(texts: Sequence[str]) -> bool:
    figures = [figure_in(text) for text in texts if text and not MARKER.fullmatch(text)]
    return all(figures) and any(figure is not None and _is_fraction(figure) for figure in figures)


def _is_fraction(figure: Figure) -> bool:
    return figure.number != figure.number.to_integral_value()


def _tell_alike(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two columns tell rows apart alike, and do tell some apart."""
    pairs = set(zip(one, other))
    return len(pairs) == len(set(one)) == len(set(other)) > 1
