"""Spec `audit.toml`, which says how published tables are read, and the intervals of counts read by it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import reduce
from itertools import product
from math import inf, prod
from operator import or_
from pathlib import Path
from typing import Any, NamedTuple

from marginals.auditing.published import (
    UNKNOWN,
    CellTexts,
    PublishedFile,
    Rounding,
    quoted,
    read_published,
    share_of,
    without_percent,
)
from marginals.errors import InputError
from marginals.files import bounded_content, reading, toml_content
from marginals.keys import FLAG, TEXTS, Key, Keys, are, check_keys, is_table, is_text, is_whole, section, text
from marginals.label_sums import BLANK, TOTALS
from marginals.messages import suggested
from marginals.names import number_of
from marginals.tables.values import count_in
from models.errors import DomainMismatchError
from models.frozen import frozen
from models.intervals.linked_tables import Classification, Interval, IntervalTable, Members, parts
from models.programs.consistent_tables import UNBOUNDED

REVEALED = "revealed"  # a table prints a count that it withholds
MOST_UNLISTED = 200_000  # cells that a complete table may leave out


@frozen
class AttributeSpec:
    """Meaning of the labels of an attribute.

    `totals`: labels of all values together; None for the usual ones. `groups`: labels of several values, with these.
    `others`: whether people may have none of the values in the tables.
    """

    totals: tuple[str, ...] | None = None
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    others: bool = False

    def is_total(self, label: str) -> bool:
        """Return whether a label stands for all values together; of a percentage's total it has no text."""
        return not label or (label.strip().lower() in TOTALS if self.totals is None else label in self.totals)


@frozen
class TableSpec:
    """Reading of a table; `TABLE_KEYS` describe the value of each key.

    `count`: the column of counts of a long table. `across`: the attribute whose values a crossed one has in its
    header. `without`: labels that are left out. `percent_of`: the
    total, or its column, whose percentages the cells are. `complete`: whether the table counts everybody and leaves
    out only cells without people.
    """

    attributes: tuple[str, ...] = ()
    count: str = ""
    across: str = ""
    ignore: tuple[str, ...] = ()
    base: int = 1
    rounding: Rounding = Rounding.NEAREST
    noise: int = 0
    withheld: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    without: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    percent_of: int | str | None = None
    complete: bool = False
    people: str = "everybody"
    why_ignored: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def every_attribute(self) -> tuple[str, ...]:
        """Attributes of the table, those of its columns first."""
        return tuple(dict.fromkeys((*self.attributes, *filter(None, [self.across]))))


@frozen
class NotExamined:
    """A part of a table of which nothing was concluded.

    `key`: the column, label or text of the table. With neither `table` nor `key`, it is about all tables. `is_doubt`:
    whether it was not understood, so that there is no all-clear.
    """

    code: str
    sentence: str
    table: str = ""
    key: str = ""
    is_doubt: bool = False


@frozen
class AuditSpec:
    """Reading of all tables.

    `tables`: specs by file. `markers`: texts of suppressed cells, and their ranges. `doubts`: what a guess did not
    understand. `files`: tables that were read already.
    """

    tables: Mapping[Path, TableSpec]
    attributes: Mapping[str, AttributeSpec]
    markers: Mapping[str, Interval]
    small: int = 4
    protection: int = 0
    sensitive: tuple[str, ...] = ()
    doubts: tuple[NotExamined, ...] = ()
    files: Mapping[Path, PublishedFile] = field(default_factory=dict)

    def check_attributes(self) -> None:
        """Raise InputError for an attribute that no table has."""
        used = {name for table in self.tables.values() for name in table.every_attribute}
        for name in (*self.attributes, *self.sensitive):
            if name not in used:
                raise InputError(f"no table has the attribute {name!r}; {suggested(name, sorted(used), 'there is')}")


def _is_range(value: Any) -> bool:
    ends: Any = [value, value] if is_whole(value) else value
    is_pair = isinstance(ends, list) and len(ends) == 2 and all(is_whole(end) and end >= 0 for end in ends)
    return value in ("unknown", "zero") or (is_pair and ends[0] <= ends[1] < UNBOUNDED)


def _is_rounding(value: Any) -> bool:
    rounding = {"base": value} if is_whole(value) else value
    is_base = is_table(rounding) and {*rounding} <= {"base", "how"} and is_whole(rounding.get("base"))
    return is_base and 1 <= rounding["base"] <= 10**6 and rounding.get("how", "nearest") in _WAYS


def _by_name(kind: Key, must: str) -> Key:
    return Key(lambda value: is_table(value) and all(map(kind.takes, value.values())), must)


def _number(least: int, must: str = "", most: float = inf) -> Key:
    must = must or f"be a whole number of at least {least}"
    return Key(lambda value: is_whole(value) and least <= value <= most, must)


_WAYS = [way.value for way in Rounding]
_NAME = Key(lambda value: is_text(value) and value != "", "be a text")
_RANGE = Key(_is_range, 'be the least and the largest count, as [1, 4], or "unknown" or "zero"')
SPEC_KEYS: Keys = {
    "small": _number(1),
    "protection": _number(0),
    "sensitive": TEXTS,
    "markers": Key(is_table, "be a section [markers]"),
    "attributes": Key(is_table, "be sections [attributes.NAME]"),
    "tables": Key(lambda value: is_table(value) and bool(value), "have a section [tables.FILE] for each table", True),
    "doubts": Key(are(is_table), "be sections [[doubts]]; delete each once it is settled"),
}
TABLE_KEYS: Keys = {
    "attributes": TEXTS,
    "count": _NAME,
    "across": _NAME,
    "ignore": TEXTS,
    "rounding": Key(
        _is_rounding,
        'be a base, or { base = 5, how = "nearest" }; how is one of ' + ", ".join(_WAYS),
    ),
    "noise": _number(0, "be a whole number: how far a count may be changed", 10**6),
    "withheld": _by_name(TEXTS, 'give the texts of a column that withhold a count: { status = ["u", "x"] }'),
    "without": _by_name(TEXTS, 'give the labels to leave out: { area = ["All"] }'),
    "percent_of": Key(
        lambda value: is_text(value) or (is_whole(value) and value >= 1),
        "be a number of people, or the column that has it",
    ),
    "complete": FLAG,
    "people": _NAME,
}
ATTRIBUTE_KEYS: Keys = {
    "totals": TEXTS,
    "groups": _by_name(TEXTS, 'give the values of each group, as { "under 65" = ["0-17", "18-64"] }'),
    "others": FLAG,
}
_DOUBT = text("be a text; delete the section once it is settled", True)
DOUBT_KEYS: Keys = dict.fromkeys(("code", "sentence", "table", "key"), _DOUBT)


def read_spec(path: Path) -> AuditSpec:
    """Spec in a TOML file. Raises InputError naming the file and the key at fault."""
    with reading("spec", path):
        content = toml_content(bounded_content(path, 1 << 22).decode("utf-8"), path.name)
    try:
        return _spec(path.parent, content)
    except InputError as error:
        raise InputError(f"{path.name}: {error}") from None


def _spec(folder: Path, content: Mapping[str, Any]) -> AuditSpec:
    check_keys(content, SPEC_KEYS)
    for key, kind in SPEC_KEYS.items():
        if key in content or kind.required:
            kind.check(key, content.get(key))
    ranges = {"unknown": UNKNOWN, "zero": (0, 0)}
    limits = {key: content[key] for key in ("small", "protection") if key in content}
    return AuditSpec(
        {folder / name: _table_spec(f"tables.{name}", table) for name, table in content["tables"].items()},
        {name: _attribute(f"attributes.{name}", table) for name, table in content.get("attributes", {}).items()},
        {
            label: ranges[value] if is_text(value) else (value, value) if is_whole(value) else (value[0], value[1])
            for label, value in _RANGE.of_each("markers", content.get("markers", {})).items()
        },
        sensitive=tuple(content.get("sensitive", ())),
        doubts=tuple(
            NotExamined(**section(doubt, "doubts", DOUBT_KEYS), is_doubt=True) for doubt in content.get("doubts", ())
        ),
        **limits,
    )


def _table_spec(where: str, content: object) -> TableSpec:
    values = section(content, where, TABLE_KEYS)
    if ("count" in values) == ("across" in values):
        raise InputError(f"{where} needs one of the keys count (a column of counts) and across (what the header shows)")
    rounding = values.get("rounding", 1)
    base, how = (rounding, "nearest") if is_whole(rounding) else (rounding["base"], rounding.get("how", "nearest"))
    plain: dict[str, Any] = {key: value for key, value in values.items() if key != "rounding"}
    plain |= {key: tuple(value) for key, value in plain.items() if isinstance(value, list)}
    plain |= {key: _tuples(plain[key]) for key in ("withheld", "without") if key in plain}
    return TableSpec(**plain, base=base, rounding=Rounding(how))


def _attribute(where: str, content: object) -> AttributeSpec:
    values = section(content, where, ATTRIBUTE_KEYS)
    totals = tuple(values["totals"]) if "totals" in values else None
    return AttributeSpec(totals, _tuples(values.get("groups", {})), values.get("others", False))


def _tuples(lists: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    return {label: tuple(members) for label, members in lists.items()}


@frozen
class PublishedTables:
    """Tables about the same people.

    `unlisted`: of each table, the number of unknown combinations of its values. `revealed`: findings of tables that
    print counts which they withhold.
    """

    people: str
    tables: tuple[IntervalTable, ...]
    classifications: tuple[Classification, ...]
    unlisted: tuple[int, ...]
    revealed: tuple[NotExamined, ...] = ()


class LabelledCell(NamedTuple):
    """A published cell: a label of each attribute, and its range."""

    labels: tuple[str, ...]
    interval: Interval


def read_tables(spec: AuditSpec) -> list[PublishedTables]:
    """Tables of a spec, by whom they are about. Raises InputError naming file, column or label at fault."""
    files = {path: spec.files.get(path) or read_published(path) for path in spec.tables}
    cells = {path: labelled_cells(files[path], table, spec.markers) for path, table in spec.tables.items()}
    groups: dict[str, dict[Path, TableSpec]] = {}
    for path, table in spec.tables.items():
        groups.setdefault(table.people, {})[path] = table
    return [_tables(people, tables, cells, spec, [*_revealed(files, tables)]) for people, tables in groups.items()]


def _revealed(files: Mapping[Path, PublishedFile], tables: Mapping[Path, TableSpec]) -> Iterator[NotExamined]:
    for path, table in tables.items():
        file, counts = files[path], columns_of_counts(files[path], table)
        for name, texts in table.withheld.items():
            place = file.header.index(name)
            rows = [row for row in file.rows if row[place] in texts]
            if number := sum(count_in(row[n], file.decimal) is not None for row in rows for n in counts):
                yield revealed(file.name, name, number)


def revealed(table: str, column: str, number: int) -> NotExamined:
    """Finding that a table prints counts that a column withholds."""
    sentence = (
        f"{table} must not be published: it prints {number_of(number, 'count')} that its column {column!r} withholds."
    )
    return NotExamined(REVEALED, sentence, table, column, is_doubt=True)


def labelled_cells(file: PublishedFile, table: TableSpec, markers: Mapping[str, Interval]) -> list[LabelledCell]:
    """Cells of a file. Raises InputError for unknown columns, and texts that are no count and no marker."""
    counts, cells = columns_of_counts(file, table), list[LabelledCell]()
    texts = CellTexts(markers, table.base, table.rounding, file.decimal, table.noise)
    places = [file.header.index(name) for name in table.attributes]
    has_total = isinstance(table.percent_of, str)
    hiding = [(file.header.index(name), frozenset(codes)) for name, codes in table.withheld.items()]
    for line, row in enumerate(file.rows, start=2):
        labels = tuple(row[place] or BLANK for place in places)
        is_withheld = any(row[place] in codes for place, codes in hiding)
        total = (table.percent_of, table.percent_of) if isinstance(table.percent_of, int) else UNKNOWN
        if isinstance(table.percent_of, str):
            total = texts.interval(row[file.header.index(table.percent_of)]) or UNKNOWN
        if has_total and table.across:  # the total of a row is a cell, too
            cells.append(LabelledCell((*labels, ""), total))
        for number in counts:
            name = file.header[number]
            is_share = table.percent_of is not None and row[number].strip() not in markers
            interval = share_of(row[number], total) if is_share else texts.interval(row[number])
            if is_withheld:
                interval = markers.get(row[number], UNKNOWN)
            if interval is None:
                raise InputError(
                    f"{file.name}, row {line}, column {name!r}: {row[number]!r} is neither a count nor a range; say what it "
                    "means under [markers]"
                )
            across = ((name if table.percent_of is None else without_percent(name)),) if table.across else ()
            cells.append(LabelledCell((*labels, *across), interval))
    left_out = {(name, label) for name, labels in table.without.items() for label in labels}
    return [cell for cell in cells if left_out.isdisjoint(zip(table.every_attribute, cell.labels))]


def columns_of_counts(file: PublishedFile, table: TableSpec) -> list[int]:
    """Columns with the counts of a table. Raises InputError for none, and for an unknown column of the spec."""
    percent_of = [table.percent_of] if isinstance(table.percent_of, str) else []
    named = [*table.attributes, *table.ignore, *table.withheld, *filter(None, [table.count]), *percent_of]
    for name in named:
        if name not in file.header:
            raise InputError(f"{file.name} has no column {name!r}; {suggested(name, file.header, 'it has')}")
    numbers = [n for n, name in enumerate(file.header) if (name == table.count if table.count else name not in named)]
    if not numbers:
        raise InputError(f"{file.name} has no columns of counts beside those that the spec names")
    return numbers


def _tables(
    people: str,
    tables: Mapping[Path, TableSpec],
    cells: Mapping[Path, Sequence[LabelledCell]],
    spec: AuditSpec,
    findings: list[NotExamined],
) -> PublishedTables:
    labels: dict[str, dict[str, None]] = {}
    for path, table in tables.items():
        for name, values in zip(table.every_attribute, zip(*(cell.labels for cell in cells[path]))):
            labels.setdefault(name, {}).update(dict.fromkeys(values))
    specs = {name: spec.attributes.get(name, AttributeSpec()) for name in labels}
    by_name = {name: _classification(name, [*of_name], specs[name]) for name, of_name in labels.items()}
    read = [_table(path, table, cells[path], by_name, spec, findings) for path, table in tables.items()]
    interval_tables, unlisted = zip(*read)
    return PublishedTables(people, interval_tables, tuple(by_name.values()), unlisted, tuple(findings))


def _classification(name: str, labels: Sequence[str], attribute: AttributeSpec) -> Classification:
    groups = attribute.groups
    base = dict.fromkeys(label for label in labels if not attribute.is_total(label) and label not in groups)
    base |= dict.fromkeys(member for members in groups.values() for member in members if member not in groups)

    def members(label: str, above: tuple[str, ...] = ()) -> frozenset[str]:
        if label in above:
            raise InputError(f"the group {label!r} of {name!r} is a part of itself")
        if label not in groups:
            return frozenset({label})
        return frozenset().union(*(members(part, (*above, label)) for part in groups[label]))

    others = attribute.others or len(base) == 1  # one value is never all of them
    try:
        return Classification(name, tuple(base), {group: members(group) for group in groups}, others)
    except DomainMismatchError as error:
        raise InputError(str(error)) from None


def _table(
    path: Path,
    table: TableSpec,
    cells: Sequence[LabelledCell],
    classifications: Mapping[str, Classification],
    spec: AuditSpec,
    findings: list[NotExamined],
) -> tuple[IntervalTable, int]:
    sets: list[dict[str, Members]] = []
    for place, name in enumerate(table.every_attribute):
        classification, attribute = classifications[name], spec.attributes.get(name, AttributeSpec())
        labels = dict.fromkeys(cell.labels[place] for cell in cells)
        members_of = {label: classification.members(label) for label in labels if not attribute.is_total(label)}
        printed = reduce(or_, members_of.values(), 0)
        # A total counts the values that the table lists, unless there are people with others.
        total = classification.everything if classification.others or not printed or table.complete else printed
        sets.append(members_of | {label: total for label in labels if label not in members_of})
    ranges: dict[tuple[Members, ...], Interval] = {}
    named: dict[tuple[Members, ...], LabelledCell] = {}
    for cell in cells:
        key = tuple(members_by_label[label] for members_by_label, label in zip(sets, cell.labels))
        other = named.setdefault(key, cell)
        both = max(cell.interval[0], other.interval[0]), min(cell.interval[1], other.interval[1])
        if other.interval != cell.interval and (other.labels == cell.labels or both[0] > both[1]):
            raise InputError(f"{path.name} has two counts for {quoted(cell.labels)}")
        if other.interval != cell.interval:
            same = f"{quoted(other.labels)} and {quoted(cell.labels)}"
            sentence = f"{path.name} must not be published: {same} are the same people, and one of them says more."
            findings.append(NotExamined(REVEALED, sentence, path.name, cell.labels[0], is_doubt=True))
        ranges[key] = both
    unlisted = 0
    if table.complete:
        of_each = zip(table.every_attribute, sets)
        every = [_all_values(members.values(), classifications[name]) for name, members in of_each]
        if prod(map(len, every)) > MOST_UNLISTED:
            raise InputError(f"{path.name} has too many cells that it does not list for the key complete")
        for key in product(*every):
            ranges.setdefault(key, (0, 0))
    elif table.count:
        finest = [set(parts(members_by_label.values())) for members_by_label in sets]
        unlisted = prod(map(len, finest)) - sum(all(map(set.__contains__, finest, key)) for key in ranges)
    try:
        return IntervalTable.of(path.name, table.every_attribute, ranges), unlisted
    except DomainMismatchError as error:
        raise InputError(str(error)) from None


def _all_values(member_sets: Iterable[Members], classification: Classification) -> list[Members]:
    # Disjoint sets: the values of a table, as finely as it prints them, and all others together.
    finest = parts(member_sets)
    return [members for members in (*finest, classification.everything & ~reduce(or_, finest, 0)) if members]
