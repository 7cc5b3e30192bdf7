"""Published tables as intervals of counts: files and a spec in, tables and classifications out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from operator import or_
from pathlib import Path

from marginals.auditing.cell_text import UNKNOWN, CellTexts, share_of, without_percent
from marginals.auditing.published_file import PublishedFile, names, read_published
from marginals.auditing.spec import AttributeSpec, AuditSpec, TableSpec
from marginals.errors import InputError
from marginals.suggestions import suggested
from models.errors import DomainMismatchError
from models.intervals.classification import Classification, Members
from models.intervals.interval_table import Interval, IntervalTable

TOTALS = frozenset(
    {
        *("", "total", "totals", "all", "sum", "overall", "everyone", "everybody", "both", "both sexes", "persons"),
        *("all ages", "all persons", "all sexes", "all areas", "grand total", "insgesamt", "gesamt", "ensemble"),
    }
)
"""Labels that are taken for a total where no spec says which ones are."""

_LISTED = 200_000
"""Cells that a table does not list, at most, that are taken to be of the range that its spec gives."""


@dataclass(frozen=True)
class PublishedTables:
    """Tables that are about the same people, and what the values of their attributes are."""

    people: str
    tables: tuple[IntervalTable, ...]
    classifications: tuple[Classification, ...]


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
        own = {path: table for path, table in spec.tables.items() if table.people == people}
        made.append(_tables(people, own, {path: cells[path] for path in own}, spec))
    return made


def labelled_cells(file: PublishedFile, table: TableSpec, markers: Mapping[str, Interval]) -> Iterator[LabelledCell]:
    """The cells of a file. Raises InputError for unknown columns, and texts that are no count and no marker."""
    wanted = [*table.attributes, *table.ignore, *([table.count] if table.count else [])]
    if isinstance(table.percent_of, str):
        wanted.append(table.percent_of)
    for name in wanted:
        if name not in file.header:
            raise InputError(f"{file.name} has no column {name!r}; {suggested(name, file.header, 'it has')}")
    texts = CellTexts(markers, table.base, table.rounding)
    labels = [file.header.index(name) for name in table.attributes]
    if table.count:
        counts = [file.header.index(table.count)]
    else:
        counts = [number for number, name in enumerate(file.header) if name not in wanted]
    if not counts:
        raise InputError(f"{file.name} has no columns of counts beside those that the spec names")
    shown = without_percent if table.percent_of is not None else str
    for line, row in enumerate(file.rows, start=2):
        if isinstance(table.percent_of, str) and table.across:  # the total of a row is a cell, too
            yield LabelledCell(
                (*(row[place] for place in labels), "", *table.scope.values()), _total(file, table, row, texts)
            )
        for number in counts:
            across = (shown(file.header[number]),) if table.across else ()
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


def _total(file: PublishedFile, table: TableSpec, row: Sequence[str], texts: CellTexts) -> Interval:
    if table.percent_of is None or isinstance(table.percent_of, int):
        return (table.percent_of or 0,) * 2
    return texts.interval(row[file.header.index(table.percent_of)]) or UNKNOWN


def _tables(
    people: str, specs: Mapping[Path, TableSpec], cells: Mapping[Path, Sequence[LabelledCell]], spec: AuditSpec
) -> PublishedTables:
    shown: dict[str, dict[str, None]] = {}
    for path, table in specs.items():
        for cell in cells[path]:
            for name, label in zip(table.every_attribute, cell.labels):
                shown.setdefault(name, {})[label] = None
    classifications = tuple(
        _classification(name, list(labels), spec.attributes.get(name, AttributeSpec()))
        for name, labels in shown.items()
    )
    by_name = {c.name: c for c in classifications}
    return PublishedTables(
        people,
        tuple(_table(path, table, cells[path], by_name, spec) for path, table in specs.items()),
        classifications,
    )


def is_total(label: str, attribute: AttributeSpec) -> bool:
    """Whether a label stands for all values together; one without text always does."""
    return not label.strip() or label in attribute.totals or (not attribute.totals and label.strip().lower() in TOTALS)


def _classification(name: str, labels: Sequence[str], attribute: AttributeSpec) -> Classification:
    groups = attribute.groups
    base = [label for label in labels if not is_total(label, attribute) and label not in groups]
    base += [each for members in groups.values() for each in members if each not in groups and each not in base]

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
) -> IntervalTable:
    attributes = table.every_attribute
    sets: list[dict[str, Members]] = []
    for place, name in enumerate(attributes):
        classification, attribute = classifications[name], spec.attributes.get(name, AttributeSpec())
        labels = dict.fromkeys(cell.labels[place] for cell in cells)
        own = {label: classification.members(label) for label in labels if not is_total(label, attribute)}
        listed = reduce(or_, own.values(), 0)
        # A total counts the values that the table lists, unless there are people with others.
        total = classification.everything if classification.others or not listed else listed
        sets.append({**own, **{label: total for label in labels if label not in own}})
    ranges: dict[tuple[Members, ...], Interval] = {}
    for cell in cells:
        key = tuple(known[label] for known, label in zip(sets, cell.labels))
        if key in ranges and ranges[key] != cell.interval:
            raise InputError(f"{path.name} has two counts for {names(cell.labels)}")
        ranges[key] = cell.interval
    if table.absent != UNKNOWN:
        every = [dict.fromkeys(known.values()) for known in sets]
        if reduce(lambda size, values: size * len(values), every, 1) > _LISTED:
            raise InputError(f"{path.name} has too many cells that it does not list for the key absent")
        for key in product(*every):
            ranges.setdefault(key, table.absent)
    try:
        return IntervalTable.of(path.name, attributes, ranges)
    except DomainMismatchError as error:
        raise InputError(str(error)) from None
