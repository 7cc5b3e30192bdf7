"""Reading a bundle: from its bytes to what it publishes. Nothing is trusted that its files say."""

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from checks.claims import VERIFIED, Claim, NoSmallCertain, Register, parse_claim
from checks.combinatorial import ToldByLabels
from marginals.bundle.content import (
    DESCRIPTOR,
    FURTHER,
    KNOWN,
    MAX_ATTRIBUTES,
    MAX_CLAIMS,
    MAX_LEVELS,
    MAX_ROWS,
    MAX_RULES,
    BundleContent,
    Published,
    model_of,
)
from marginals.bundle.imprint import NAMES, TITLE, Imprint
from marginals.bundle.snapshot import Snapshot, has_hash, is_number, is_table
from marginals.errors import BundleError, IncompatibleReleasesError, InputError
from marginals.messages import LONGEST_WORDS, is_words, printable
from marginals.named_rules import AppliedRule, named_rule, rule_names
from marginals.names import number_of
from marginals.published_values import CountedHierarchy, Part
from marginals.tables.attribute import COUNT, LABEL_FORMS, Codebook, Role, in_known_order
from marginals.tables.people import ANY, MOST_ROWS_OF_A_PERSON, RowsPerPerson
from marginals.tables.values import CANONICAL
from models.arrays import BoolArray, CodeArray, CountArray, IndexArray, smallest_code_dtype
from models.deadline import NEVER, Deadline
from models.errors import DomainMismatchError, HierarchyError, MarginalsError, NotDecomposableError
from models.graphs.junction_tree import Collection, JunctionTree
from models.inference.marginal_model import MarginalModel
from models.tables.contingency_table import ContingencyTable, equal_cells
from models.tables.data_cube import DataCube
from models.tables.hierarchy import MAX_LABELS, Domain, Hierarchy, Mask

if TYPE_CHECKING:
    from marginals.tables.table import Table


_BATCH = 1 << 16
"""Rows of a CSV file that are held as text at a time."""
_DIGITS = 15
_COUNT = re.compile(r"[1-9][0-9]{0,14}")
"""Counts as they may be written; below 10^15 they are exact in every program that reads them as floats."""


def read_bundle(folder: Path, deadline: Deadline = NEVER) -> BundleContent:
    """What the bundle in a folder publishes.

    deadline: of what is worked out from it. Reading itself goes on until all is read.
    Raises InputError where the folder holds no bundle, and BundleError, naming the file, where it holds a bad one.
    """
    return content_of(Snapshot.of(folder), deadline)


def content_of(snapshot: Snapshot, deadline: Deadline = NEVER) -> BundleContent:
    """What a bundle publishes, after looking at everything in it that can be wrong, its report aside.

    Raises BundleError, naming the file.
    """
    descriptor = snapshot.descriptor
    check_obeyed(descriptor.package)
    roles = _roles(descriptor.release)
    hierarchies = _hierarchies(snapshot, roles)
    domain = Domain.of({name: hierarchies[name] for name in roles})
    tables: dict[str, ContingencyTable] = {}
    further: list[str] = []
    for resource in descriptor.resources:
        if "marginal" in resource:
            tables[resource["path"]] = _marginal(snapshot, resource, domain)
            further += [resource["path"]] if _is_further(resource) else []
        elif not is_table(resource) and has_hash(resource):
            snapshot.listed_content(resource)
    if not tables:
        raise BundleError(DESCRIPTOR, "there is no marginal among the resources")
    if len(further) == len(tables):
        raise BundleError(
            DESCRIPTOR, "every marginal is a further table, and there is none that they could stand beside"
        )
    _agree(tables, descriptor.release)
    cube = DataCube(list(tables.values()))
    everything = Collection.of(cube, [table.mask for table in tables.values()])
    collection = Collection.of(cube, [table.mask for path, table in tables.items() if path not in further])
    claims = _claims(descriptor.release, roles)
    words = _codebook(descriptor.release, domain)
    rows_per_person = _rows_per_person(descriptor.release)
    rules = _rules(descriptor.release, claims, [name for name, role in roles.items() if role is Role.SENSITIVE])
    title = _title(descriptor.package)
    imprint = _imprint(descriptor.release, title)
    known = _turnover_known(descriptor.release)
    where = _where(descriptor.release, everything)
    labels = _labels(descriptor.release, everything)
    beside = tuple(tables[path].mask for path in further)
    try:
        return BundleContent(
            collection,
            roles,
            claims,
            title,
            deadline,
            rows_per_person,
            words,
            rules,
            known,
            where,
            labels,
            beside,
            imprint,
        )
    except InputError as error:
        raise BundleError(DESCRIPTOR, str(error)) from None


# Plain CSV: lines of fields without quotes, found by where their separators stand, so that no field becomes an object.
#
# A file of a million cells is read in a second this way. Whatever is not as plain as that is left to a general reader.


def _rows(snapshot: Snapshot, resource: Mapping[str, Any]) -> Iterator[list[str]]:
    """The header and rows of a CSV resource, one after the other, all as wide as the header."""
    path: str = resource["path"]
    content = snapshot.listed_content(resource)
    if not content:
        raise BundleError(path, "it is empty")
    width = None
    try:
        lines = io.TextIOWrapper(io.BytesIO(content), encoding="utf-8", newline="")
        for number, row in enumerate(csv.reader(lines, strict=True), 1):
            if width is not None and len(row) != width:
                raise BundleError(path, f"row {number} has {len(row)} fields where the header has {width}")
            width = len(row)
            yield row
    except (UnicodeDecodeError, csv.Error):
        raise BundleError(path, "it is not valid CSV in UTF-8") from None


def _roles(release: Mapping[str, Any]) -> dict[str, Role]:
    attributes = release.get("attributes")
    if not isinstance(attributes, dict) or not attributes:
        raise BundleError(DESCRIPTOR, "release.attributes must name the attributes")
    if len(attributes) > MAX_ATTRIBUTES:
        raise BundleError(DESCRIPTOR, f"there are more than the {MAX_ATTRIBUTES:,} attributes that are read")
    if COUNT in attributes:
        raise BundleError(DESCRIPTOR, f"an attribute {COUNT!r} would give marginals two columns of this name")
    roles = {}
    for name, described in attributes.items():
        role = described.get("role") if isinstance(described, dict) else None
        if role not in (Role.QUASI_IDENTIFIER.value, Role.SENSITIVE.value):
            raise BundleError(DESCRIPTOR, f"release.attributes.{name}.role must be quasi-identifier or sensitive")
        roles[name] = Role(role)
    return roles


def _codebook(release: Mapping[str, Any], domain: Domain) -> Codebook:
    """What the release says of its attributes in words. Raises BundleError for what is no words, or not of its labels."""
    descriptions: dict[str, str] = {}
    values: dict[str, dict[str, str]] = {}
    for name in domain.attributes:
        described, where = release["attributes"][name], f"release.attributes.{name}"
        if "description" in described:
            if not is_words(described["description"]):
                raise BundleError(
                    DESCRIPTOR, f"{where}.description must be a line of at most {LONGEST_WORDS} characters"
                )
            descriptions[name] = described["description"]
        if "values" in described:
            meanings = described["values"]
            if not isinstance(meanings, dict) or not all(map(is_words, meanings.values())):
                raise BundleError(
                    DESCRIPTOR,
                    f"{where}.values must say of labels what they mean, in at most {LONGEST_WORDS} characters",
                )
            values[name] = meanings
    book = Codebook(descriptions, {name: meanings for name, meanings in values.items() if meanings})
    if book != book.of_labels(domain):
        raise BundleError(
            DESCRIPTOR, "release.attributes says in values what a label means that the release does not have"
        )
    return book


def _hierarchies(snapshot: Snapshot, roles: Mapping[str, Role]) -> dict[str, Hierarchy]:
    hierarchies: dict[str, Hierarchy] = {}
    remaining_labels = MAX_LABELS
    for resource in snapshot.descriptor.resources:
        if "hierarchy" not in resource:
            continue
        path, described = resource["path"], resource["hierarchy"]
        attribute = described.get("attribute") if isinstance(described, dict) else None
        if not isinstance(attribute, str) or attribute not in roles or attribute in hierarchies:
            raise BundleError(path, "it must be the one hierarchy of an attribute of the release")
        rows = _rows(snapshot, resource)
        header = next(rows)
        if len(header) > MAX_LEVELS or header != [f"level{level}" for level in range(len(header))]:
            raise BundleError(path, f"its header must be level0,level1,..., and not more than {MAX_LEVELS} of them")
        try:
            hierarchies[attribute] = Hierarchy.from_rows(rows, remaining_labels)
        except HierarchyError as error:
            raise BundleError(path, f"{error} (the header not counted)") from None
        check_schema(resource, dict(zip(header, hierarchies[attribute].labels)))
        remaining_labels -= sum(map(len, hierarchies[attribute].labels))
        described = snapshot.descriptor.release["attributes"][attribute]
        hierarchies[attribute] = _told(attribute, described, roles[attribute], hierarchies[attribute])
    for attribute in roles:
        if attribute not in hierarchies:
            raise BundleError(DESCRIPTOR, f"the attribute {attribute!r} has no hierarchy among the resources")
    return hierarchies


def _told(name: str, described: Mapping[str, Any], role: Role, hierarchy: Hierarchy) -> Hierarchy:
    """A hierarchy with the order of its base values, stated or known, and whether its labels are names.

    Raises BundleError for an order that is none of its base values, or another form of labels.
    """
    where = f"release.attributes.{name}"
    form = described.get("label_form", LABEL_FORMS[0])
    if form not in LABEL_FORMS:
        raise BundleError(DESCRIPTOR, f"{where}.label_form must be {' or '.join(LABEL_FORMS)}")
    told = replace(hierarchy, has_names=form == "names")
    if "order" not in described:
        return told if told.has_names or role is not Role.SENSITIVE else in_known_order(told)
    order = described["order"]
    if not isinstance(order, list) or not all(isinstance(label, str) for label in order):
        raise BundleError(DESCRIPTOR, f"{where}.order must be a list of base values, lowest first")
    try:
        return told.ordered_by(order)
    except HierarchyError:
        raise BundleError(DESCRIPTOR, f"{where}.order must list base values of its hierarchy, each once") from None


def _marginal(snapshot: Snapshot, resource: Mapping[str, Any], domain: Domain) -> ContingencyTable:
    path, described = resource["path"], resource["marginal"]
    levels = described.get("levels") if isinstance(described, dict) else None
    if not isinstance(levels, dict) or not levels:
        raise BundleError(path, "marginal.levels must give a level for each attribute")
    try:
        margin = domain.margin(domain.mask(levels))
    except DomainMismatchError as error:
        raise BundleError(path, f"marginal.levels: {error}") from None
    rows = _rows(snapshot, resource)
    header = next(rows)
    if sorted(header[:-1]) != sorted(levels) or header[-1:] != [COUNT]:
        raise BundleError(path, "its header must be the attributes of marginal.levels, then count")
    labels = [domain.hierarchy(attribute).labels[levels[attribute]] for attribute in header[:-1]]
    try:
        batches = list(_plain_batches(snapshot.listed_content(resource), labels))
    except NotPlainError:
        batches = list(_batches(path, rows, domain, [(attribute, levels[attribute]) for attribute in header[:-1]]))
    joined = [np.concatenate(parts) for parts in zip(*batches)] or [np.zeros(0, dtype=np.int64) for _ in header]
    read = len(joined[-1])
    if joined[-1].sum(dtype=np.float64) > MAX_ROWS:
        raise BundleError(path, f"its counts sum to more than the {MAX_ROWS:,} rows that are counted exactly")
    by_attribute = {attribute: codes for attribute, codes in zip(header, joined[:-1]) if attribute in margin}
    occurring = {
        attribute: [labels[code] for code in np.flatnonzero(np.bincount(codes, minlength=len(labels))).tolist()]
        for attribute, codes in zip(header, joined[:-1])
        for labels in [domain.hierarchy(attribute).labels[levels[attribute]]]
    }
    check_schema(resource, occurring | {COUNT: []})
    table = ContingencyTable.from_cells(domain, margin, by_attribute, joined[-1])
    if len(table) != read:
        raise BundleError(path, "a cell stands in two rows")
    if not is_number(described.get("total"), table.total):
        raise BundleError(path, f"its counts sum to {table.total}, which is not its marginal.total")
    return table


def _is_further(resource: Mapping[str, Any]) -> bool:
    """Whether a marginal says of itself that it is a further table. Raises BundleError for what it cannot say."""
    stated = resource["marginal"].get(FURTHER, False)
    if not isinstance(stated, bool):
        raise BundleError(resource["path"], f"marginal.{FURTHER} is true or false")
    return stated


def _plain_batches(content: bytes, labels: Sequence[Sequence[str]]) -> Iterator[list[CodeArray]]:
    """Codes and counts of a marginal's rows, where its file is plain and every field is as it should be.

    Raises NotPlainError elsewhere.
    """
    plain = plain_rows(content, len(labels) + 1)  # raises before anything is made of labels
    known = list(map(Labels, labels))
    for rows in plain:
        columns = [
            *(rows.codes(column, number) for column, number in enumerate(known)),
            rows.counts(len(labels), _DIGITS),
        ]
        if any(column.min(initial=0) < 0 for column in columns):
            raise NotPlainError
        codes = [column.astype(smallest_code_dtype(len(label))) for column, label in zip(columns, labels)]
        yield [*codes, columns[-1]]


def _batches(
    path: str, rows: Iterator[list[str]], domain: Domain, columns: Sequence[tuple[str, int]]
) -> Iterator[list[CodeArray]]:
    """Codes and counts of any rows. columns: each one's attribute and level. Raises BundleError naming a bad row."""
    read = 0
    while batch := list(islice(rows, _BATCH)):
        *stated, counted = zip(*batch)
        codes = [_codes(path, read, domain, *column, labels) for column, labels in zip(columns, stated)]
        yield [*codes, _counts(path, read, counted)]
        read += len(batch)


def _codes(path: str, before: int, domain: Domain, attribute: str, level: int, labels: Sequence[str]) -> CodeArray:
    """The codes of some rows' labels. before: how many rows came before them."""
    hierarchy = domain.hierarchy(attribute)
    codes = np.array([-1 if (code := hierarchy.code(label, level)) is None else code for label in labels])
    if (unknown := np.flatnonzero(codes < 0)).size:
        problem = f"has a value of {attribute!r} that its hierarchy lacks at level {level}"
        raise BundleError(path, f"row {before + int(unknown[0]) + 1} {problem}")
    return codes.astype(smallest_code_dtype(hierarchy.size(level)))


def _counts(path: str, before: int, stated: Sequence[str]) -> CountArray:
    for number, count in enumerate(stated, before + 1):
        if not _COUNT.fullmatch(count):
            raise BundleError(path, f"the count in row {number} is not a whole number from 1 on and below 10^15")
    return np.array([int(count) for count in stated], dtype=np.int64)


def _agree(tables: Mapping[str, ContingencyTable], release: Mapping[str, Any]) -> None:
    """Raise BundleError unless all totals are those of the release and the marginals agree."""
    for path, table in tables.items():
        if not is_number(release.get("rows"), table.total):
            raise BundleError(path, f"it counts {number_of(table.total, 'row')}, which is not release.rows")
    check_agreement(tables)


def _claims(release: Mapping[str, Any], roles: Mapping[str, Role]) -> tuple[Claim, ...]:
    stated = release.get("privacy", [])
    if not isinstance(stated, list) or not all(isinstance(claim, dict) for claim in stated):
        raise BundleError(DESCRIPTOR, "release.privacy must be a list of claims")
    if len(stated) > MAX_CLAIMS:
        raise BundleError(DESCRIPTOR, f"release.privacy has more than the {MAX_CLAIMS} claims that are checked")
    try:
        claims = tuple(map(parse_claim, stated))
    except MarginalsError as error:
        raise BundleError(DESCRIPTOR, f"release.privacy: {error}") from None
    for claim in claims:
        if claim.about is not None and roles.get(claim.about) is not Role.SENSITIVE:
            raise BundleError(DESCRIPTOR, "release.privacy claims diversity for an attribute that is not sensitive")
    return claims


def _rules(release: Mapping[str, Any], claims: Sequence[Claim], sensitive: Sequence[str]) -> tuple[AppliedRule, ...]:
    """The rules that the release is said to keep: what they demand is claimed, and a known name stands for its own rule."""
    stated = release.get("rules", [])
    if not isinstance(stated, list) or len(stated) > MAX_RULES:
        raise BundleError(DESCRIPTOR, f"release.rules must be a list of at most {MAX_RULES} rules")
    try:
        rules = tuple(map(AppliedRule.from_json, stated))
        known = {rule: named_rule(rule.name).applied(sensitive) for rule in rules if rule.name in rule_names()}
    except MarginalsError as error:
        raise BundleError(DESCRIPTOR, f"release.rules: {error}") from None
    for rule, known_rule in known.items():
        if rule != known_rule:
            raise BundleError(DESCRIPTOR, f"release.rules states {rule.name}, but not as that rule is")
    if not {claim for rule in rules for claim in rule.claims} <= {*claims}:
        raise BundleError(DESCRIPTOR, "release.rules demands what release.privacy does not claim")
    return rules


def _rows_per_person(release: Mapping[str, Any]) -> RowsPerPerson:
    """How many rows are of one person at most, None where nothing is said."""
    stated = release.get("rows_per_person", ANY)
    if stated != ANY and not (type(stated) is int and 1 <= stated <= MOST_ROWS_OF_A_PERSON):
        raise BundleError(
            DESCRIPTOR,
            f'release.rows_per_person must be a whole number from 1 to {MOST_ROWS_OF_A_PERSON:,}, or "{ANY}"',
        )
    return stated if "rows_per_person" in release else None


def _turnover_known(release: Mapping[str, Any]) -> bool:
    """Whether readers are taken to know that people come and go."""
    if "turnover" in release and release["turnover"] != KNOWN:
        raise BundleError(DESCRIPTOR, f'release.turnover must be "{KNOWN}"')
    return "turnover" in release


def _labels(release: Mapping[str, Any], collection: Collection) -> ToldByLabels | None:
    """What the release says that its labels tell; None where it does not. Raises BundleError for labels that it lacks."""
    if "occurring" not in release:
        return None
    stated = release["occurring"]
    labels: dict[str, dict[str, int]] = {}
    domain = collection.domain
    if not isinstance(stated, dict) or not stated.keys() <= {*domain.attributes}:
        raise BundleError(DESCRIPTOR, "release.occurring must name attributes of the release")
    for name, numbers in stated.items():
        levels = domain.hierarchy(name).labels[collection.finest_level(name) : -1]
        if not isinstance(numbers, dict) or not numbers.keys() <= {label for labels in levels for label in labels}:
            raise BundleError(DESCRIPTOR, f"release.occurring.{name} must name labels of its published values")
        if not all(type(number) is int and 0 <= number <= MAX_LABELS for number in numbers.values()):
            raise BundleError(DESCRIPTOR, f"release.occurring.{name} must give whole numbers of values from 0 on")
        labels[name] = dict(numbers)
    return labels


def _where(release: Mapping[str, Any], collection: Collection) -> str:
    """Which part of a table is counted, empty for all. Raises BundleError where counted values are not those of the part.

    Of an attribute that no marginal shows nothing can be compared, nor of values that the release does not name.
    """
    if "where" not in release:
        return ""
    try:
        part = Part(release["where"])
        excluding = next(filter(None, map(part.excluding, collection.tables)), None)
    except InputError as error:
        raise BundleError(DESCRIPTOR, f"release.where: {error}") from None
    if excluding is not None:
        raise BundleError(DESCRIPTOR, f"release.where is {part.text!r}, and other values of {excluding!r} are counted")
    return part.text


def _imprint(release: Mapping[str, Any], title: str) -> Imprint:
    """What it says of who publishes it; a title that is too long for an imprint is that of the package alone."""
    stated = release.get("imprint", {})
    try:
        said = Imprint.of(stated)
        return replace(said, title=title) if is_words(title) else said
    except InputError as error:
        raise BundleError(DESCRIPTOR, f"release.imprint: {error}") from None


def _title(package: Mapping[str, Any]) -> str:
    """What the package is called, on one line, as far as it is text; the title of packages without one."""
    stated = package.get("title")
    return printable(" ".join(stated.split())) if isinstance(stated, str) and stated.strip() else TITLE


# What a descriptor says beyond what is read here: keys that other programs read the tables by, and free text.
#
# A bundle is judged by what its files say when they are read as its format has it. A key by which another program
# would read them otherwise (`dialect`, `compression`, `missingValues`, ...) must say no more than that. Places whose
# keys are obeyed take known keys only; elsewhere any key may stand, and is named as something that nobody judged. The
# keys are those of Data Package 1 and 2, Table Schema, CSV Dialect (datapackage.org) and frictionless-py 5.


Test = Callable[[Any], bool]


def _one_of(*values: object) -> Test:
    return lambda value: any(type(value) is type(allowed) and value == allowed for allowed in values)


def _spelled(pattern: str) -> Test:
    return lambda value: isinstance(value, str) and re.fullmatch(pattern, value, re.IGNORECASE) is not None


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _is_count(value: object) -> bool:
    return type(value) is int


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _anything(_: object) -> bool:
    return True


_PROFILE = _spelled(r"https?://[\w.~-]{1,100}(/[\w.~-]{1,100}){0,9}/?|[a-z]{1,30}(-[a-z]{1,30}){0,3}")

_is_name = _spelled(r"[\w./ -]{0,200}")

DESCRIPTION = "Generalized tables of counts from one table about people. Privacy claims: see release.privacy."
"""What each release says of itself."""

_OWN: Mapping[str, Test] = {
    "$schema": _PROFILE,
    "profile": _PROFILE,
    "name": _is_name,
    "title": _anything,  # what the report calls the release
    "description": _one_of(DESCRIPTION),
    "resources": _anything,
    "release": _anything,
}
"""Keys of a package that are judged, or say nothing."""

_RESOURCE: Mapping[str, Test] = {
    "name": _is_text,
    "path": _is_text,
    "type": _one_of("table"),
    "profile": _PROFILE,
    "$schema": _PROFILE,
    "scheme": _one_of("file"),
    "format": _spelled("csv"),
    "mediatype": _spelled(r"text/csv(; ?charset=utf-?8)?"),
    "encoding": _spelled("utf-?8"),
    "compression": _one_of(None, "", "no"),
    "bytes": _anything,  # what these say is compared with the files
    "hash": _anything,
    "rows": _is_count,
    "fields": _is_count,
    "dialect": _is_object,
    "schema": _is_object,
    "marginal": _anything,
    "hierarchy": _anything,
}
_DIALECT: Mapping[str, Test] = {
    "type": _one_of("delimited", "csv"),
    "$schema": _PROFILE,
    "profile": _PROFILE,
    "csv": _is_object,
    "delimiter": _one_of(","),
    "lineTerminator": _one_of("\n", "\r\n"),
    "quoteChar": _one_of('"'),
    "doubleQuote": _one_of(True),
    "escapeChar": _one_of(None),
    "nullSequence": _one_of(None),
    "skipInitialSpace": _one_of(False),
    "header": _one_of(True),
    "headerRows": _one_of([1]),
    "headerJoin": _one_of(" "),
    "headerCase": _is_flag,
    "commentRows": _one_of([]),
    "commentChar": _one_of(None),
    "caseSensitiveHeader": _is_flag,
    "csvddfVersion": _one_of(1, 1.0, 1.2, "1.0", "1.2"),
}
_SCHEMA: Mapping[str, Test] = {
    "$schema": _PROFILE,
    "profile": _PROFILE,
    "fields": lambda fields: isinstance(fields, list) and all(map(_is_object, fields)),
    "fieldsMatch": _one_of("exact", "equal", "subset", "superset", "partial", ["exact"], ["equal"]),
    "primaryKey": lambda key: _is_text(key) or _are_texts(key),
    "uniqueKeys": lambda keys: isinstance(keys, list),
    "missingValues": _are_texts,
}
_FIELD: Mapping[str, Test] = {
    "name": _is_text,
    "type": _is_text,
    "format": _one_of("default"),
    "missingValues": _are_texts,
    "decimalChar": _one_of("."),
    "bareNumber": _one_of(True),
    "categories": _are_texts,
    "categoriesOrdered": _is_flag,
    "constraints": _is_object,
}
_DESCRIPTIVE = frozenset(
    ["title", "description", "homepage", "licenses", "sources", "contributors", "keywords", "version", "created", "example",
     "examples", "rdfType", "foreignKeys", "categories", "uniqueKeys", "name"]
)  # fmt: skip
"""Keys by which no program reads a table otherwise; they may say anything."""

_PACKAGE_OBEYED = frozenset(
    ["basepath", "compression", "control", "data", "dialect", "dialects", "encoding", "format", "layout", "mediatype",
     "missingValues", "path", "schema", "schemas", "scheme", "url"]
)  # fmt: skip
"""Keys that have a meaning for a resource, or had one for a package."""

_SPELLINGS: Mapping[str, str] = {
    "string": r"(?s:.*)",
    "any": r"(?s:.*)",
    "integer": r"0|-?[1-9][0-9]*",
    "number": CANONICAL,
    "boolean": r"true|false",
    "year": r"[1-9][0-9]{3}",
    "date": r"[0-9]{4}-[0-9]{2}-[0-9]{2}",
}
"""Types of fields, and the texts that are each a value of its own in them."""


def check_obeyed(package: Mapping[str, Any]) -> None:
    """Raise BundleError naming a key of a descriptor by which another program would read a table otherwise."""
    for key in package:
        if key in _PACKAGE_OBEYED:
            raise _otherwise(key)
    for place, resource in _tables(package):
        _check(place, resource, _RESOURCE)
        dialect = resource.get("dialect", {})
        _check(f"{place}.dialect", dialect, _DIALECT)
        _check(f"{place}.dialect.csv", dialect.get("csv", {}), _DIALECT)
        schema = resource.get("schema", {})
        _check(f"{place}.schema", schema, _SCHEMA)
        for number, field in enumerate(schema.get("fields", [])):
            _check(f"{place}.schema.fields[{number}]", field, _FIELD)
            if field.get("type", "string") not in _SPELLINGS:
                raise _otherwise(f"{place}.schema.fields[{number}].type")


def check_schema(resource: Mapping[str, Any], columns: Mapping[str, Iterable[str]]) -> None:
    """Raise BundleError unless the schema of a table reads its texts as they are.

    columns: the texts of each column, in the order of the header.
    """
    schema = resource.get("schema", {})
    fields = schema.get("fields", [])
    path = resource["path"]
    if fields and [field.get("name") for field in fields] != list(columns):
        raise BundleError(path, "schema.fields must be the columns of its header, in their order")
    for field, (column, texts) in zip(fields or [{} for _ in columns], columns.items()):
        spelling = re.compile(_SPELLINGS[field.get("type", "string")])
        missing = {*schema.get("missingValues", []), *field.get("missingValues", [])} - {""}
        if not missing.isdisjoint(texts := list(texts)):
            raise BundleError(path, f"missingValues of its schema would take a value of {column!r} for none")
        if not all(map(spelling.fullmatch, texts)):
            raise BundleError(path, f"a value of {column!r} is not what the type in its schema spells; say string")


def unjudged(package: Mapping[str, Any]) -> Iterator[str]:
    """The keys of a descriptor, and the files that it declares, that may say anything and are judged by nobody.

    What every release says of itself in the same words is not among them.
    """
    release = package["release"]
    yield from (key for key, value in package.items() if key not in _OWN or not _OWN[key](value))
    stated = {"format", "rows", "rows_per_person", "attributes", "privacy", "rules", "turnover", "where", "occurring"}
    known = {*stated, "imprint", "information", "report"}
    yield from (f"release.{key}" for key in release if key not in known)
    yield from _others("release.imprint", release.get("imprint", {}), NAMES[1:])
    yield from _others("release.report", release.get("report"), ("path", "mediatype", "bytes", "hash"))
    for name, described in release["attributes"].items():
        yield from _others(
            f"release.attributes.{name}", described, ("role", "description", "values", "order", "label_form")
        )
    claimed = ("criterion", "k", "diversity", "sensitive", "level", "basis")
    for number, claim in enumerate(release.get("privacy", [])):
        yield from _others(f"release.privacy[{number}]", claim, claimed)
    for number, rule in enumerate(release.get("rules", [])):
        place = f"release.rules[{number}]"
        yield from _others(place, rule, ("name", "title", "source", "demands", "unchecked"))
        for inner, demand in enumerate(rule["demands"]):
            yield from _others(f"{place}.demands[{inner}]", demand, ("says", "claims"))
            for last, claim in enumerate(demand["claims"]):
                yield from _others(f"{place}.demands[{inner}].claims[{last}]", claim, claimed)
    yield from (f"the file {resource['path']}" for resource in package["resources"] if not is_table(resource))
    for place, resource in _tables(package):
        yield from _others(place, resource, _RESOURCE)
        if not _is_name(resource.get("name", "")):
            yield f"{place}.name"
        yield from _others(f"{place}.marginal", resource.get("marginal"), ("levels", "total", FURTHER))
        yield from _others(f"{place}.hierarchy", resource.get("hierarchy"), ("attribute",))
        yield from _others(f"{place}.dialect", resource.get("dialect"), _DIALECT)
        schema = resource.get("schema", {})
        yield from _others(f"{place}.schema", schema, _SCHEMA.keys() - _DESCRIPTIVE)
        for number, field in enumerate(schema.get("fields", [])):
            yield from _others(f"{place}.schema.fields[{number}]", field, {"name", *(_FIELD.keys() - _DESCRIPTIVE)})
            limits = field.get("constraints", {})
            plain = (key for key, value in limits.items() if isinstance(value, bool | int))
            yield from _others(f"{place}.schema.fields[{number}].constraints", limits, plain)


def _others(place: str, described: object, known: Iterable[str]) -> Iterator[str]:
    """The keys of an object that are not known."""
    if isinstance(described, dict):
        among = set(known)
        yield from (f"{place}.{key}" for key in described if key not in among)


def _tables(package: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for number, resource in enumerate(package["resources"]):
        if is_table(resource):
            yield f"resources[{number}]", resource


def _check(place: str, described: Mapping[str, Any], tests: Mapping[str, Test]) -> None:
    for key, value in described.items():
        if key in tests:
            if not tests[key](value):
                raise _otherwise(f"{place}.{key}")
        elif key not in _DESCRIPTIVE:
            raise BundleError(
                DESCRIPTOR, f"{place}.{key} is unknown, and another program may read the file by it; remove the key"
            )


def _otherwise(key: str) -> BundleError:
    return BundleError(
        DESCRIPTOR,
        f"by {key} another program would read a file otherwise than it is judged: as CSV in UTF-8, each text as it is",
    )


def listed(keys: Sequence[str], most: int = 5) -> str:
    """Some keys in words, the others by their number."""
    more = f" and {len(keys) - most} others" if len(keys) > most else ""
    return ", ".join(keys[:most]) + more


def check_agreement(tables: Mapping[str, ContingencyTable]) -> None:
    """Raise BundleError naming two tables that differ on their common margin. tables: by what to call them."""
    showing = [table for table in tables.values() if table.mask]
    if not showing or _agree_along_tree(showing):
        return
    first: dict[Mask, tuple[str, ContingencyTable]] = {}
    compared: set[tuple[str, Mask]] = set()
    for (path, table), (other_path, other) in combinations(tables.items(), 2):
        common = table.mask & other.mask
        for place, marginal in ((path, table), (other_path, other)):
            if not common or (place, common) in compared:
                continue
            compared.add((place, common))
            margin = table.domain.margin(common)
            rolled = marginal.rolled_up(margin)
            first_place, first_margin = first.setdefault(common, (place, rolled))
            if not equal_cells([first_margin, rolled]):
                problem = f"it contradicts {first_place}: they differ on their common margin ({margin})"
                raise BundleError(place, problem)


def _agree_along_tree(tables: Sequence[ContingencyTable]) -> bool:
    """Whether tables that show something have a junction tree, and those beside each other in it agree on what they share.

    Then one distribution has all of them as margins (Dawid and Lauritzen 1993, section 2), so every two of them agree.
    """
    by_mask = {table.mask: table for table in tables}
    try:
        tree = JunctionTree.of(tables[0].domain, by_mask)
    except NotDecomposableError:
        return False
    beside = zip(tree.cliques, tree.parents)
    pairs = [(by_mask[tree.cliques[parent]], by_mask[clique]) for clique, parent in beside if parent >= 0]
    for table in tables:
        holder = next(clique for clique in tree.cliques if not table.mask & ~clique)
        if by_mask[holder] is not table:
            pairs.append((by_mask[holder], table))
    return all(_pair_agrees(*pair) for pair in pairs)


def _pair_agrees(one: ContingencyTable, other: ContingencyTable) -> bool:
    """Whether two tables have the same margin of what they share."""
    common = one.mask & other.mask
    return equal_cells([one.rolled_up_to(common), other.rolled_up_to(common)])


def union(bundles: Sequence[tuple[str, BundleContent]]) -> BundleContent:
    """All marginals of several bundles as one collection, with all their claims.

    Raises IncompatibleReleasesError naming both bundles when they generalize an attribute differently, as far as labels and
    counts tell, or give it different roles, or differ in how many rows a person has, BundleError when they count different
    numbers of rows, or contradict each other.
    """
    bundles = [(name, published.as_one()) for name, published in bundles]
    if not any(published.collection.tables for _, published in bundles):
        return _of_nothing(bundles)
    tables: dict[str, ContingencyTable] = {}
    for (name, _), collection in zip(bundles, over_one_domain(bundles)):
        for table in collection.tables:
            tables[f"{name}: the marginal ({table.margin})"] = table
    rows = next(iter(tables.values())).total
    for place, table in tables.items():
        if table.total != rows:
            raise BundleError(
                place, f"it counts {number_of(table.total, 'row')} where {next(iter(tables))} counts {rows:,}"
            )
    check_agreement(tables)
    claims = tuple(dict.fromkeys(claim for _, published in bundles for claim in _claims_beside(published, bundles)))
    collection = Collection.of(DataCube(list(tables.values())), [table.mask for table in tables.values()])
    deadline = min((published.deadline for _, published in bundles), key=lambda limit: limit.at)
    roles = {attribute: role for _, published in bundles for attribute, role in published.roles.items()}
    people = bundles[0][1].rows_per_person
    is_told = any(published.labels is not None for _, published in bundles)
    labels = _told_together([published.known_labels for _, published in bundles]) if is_told else None
    return BundleContent(collection, roles, claims, deadline=deadline, rows_per_person=people, labels=labels)


def _told_together(told: Sequence[ToldByLabels]) -> ToldByLabels:
    """What labels tell in one of several releases: of each label what tells most."""
    together: dict[str, dict[str, int]] = {}
    for labels in told:
        for name, label_tells in labels.items():
            known = together.setdefault(name, {})
            for label, tells in label_tells.items():
                known[label] = max(tells, known.get(label, tells))
    return together


def _claims_beside(published: BundleContent, bundles: Sequence[tuple[str, BundleContent]]) -> Iterator[Claim]:
    """The claims of a bundle as they are made of all: what is attested of its tables is not of others beside them."""
    others = (bundle for _, bundle in bundles if bundle is not published)
    is_alone = not any(other.collection.shows(name) for other in others for name in other.sensitive)
    for claim in published.claims:
        if isinstance(claim, Register):
            yield claim if is_alone else replace(claim, basis=VERIFIED)
        elif isinstance(claim, NoSmallCertain):
            yield claim if len(bundles) == 1 else replace(claim, basis=VERIFIED)
        else:
            yield claim


def over_one_domain(bundles: Sequence[tuple[str, BundleContent]]) -> list[Collection]:
    """The marginals of each bundle over hierarchies that hold those of all.

    Raises IncompatibleReleasesError as `union` does.
    """
    _check_units(bundles)
    hierarchies: dict[str, tuple[str, CountedHierarchy]] = {}
    roles: dict[str, Role] = {}
    for name, published in bundles:
        for attribute in published.domain.attributes:
            counted = counted_hierarchy(published.collection, attribute)
            first, common = hierarchies.setdefault(attribute, (name, counted))
            merged = common.merged(counted) or common.published_levels.merged(counted.published_levels)
            if merged is None:
                raise IncompatibleReleasesError(first, name, f"generalize {attribute!r} differently", "the hierarchies")
            hierarchies[attribute] = (first, merged)
            if roles.setdefault(attribute, published.roles[attribute]) is not published.roles[attribute]:
                # What one sets aside as sensitive another counts on, so no claim of both can be checked at once.
                raise IncompatibleReleasesError(first, name, f"only one calls {attribute!r} sensitive", "the roles")
    common_hierarchies = {attribute: common for attribute, (_, common) in hierarchies.items()}
    return [in_common(published.collection, common_hierarchies) for _, published in bundles]


def _check_units(bundles: Sequence[tuple[str, BundleContent]]) -> None:
    """Raise IncompatibleReleasesError where two bundles say otherwise how many rows a person has."""
    (first, published), *others = bundles
    for name, other in others:
        if other.rows_per_person != published.rows_per_person:
            differ = "differ in rows_per_person, how many rows a person has"
            raise IncompatibleReleasesError(first, name, differ, "the rows_per_person")


def counted_hierarchy(collection: Collection, attribute: str) -> CountedHierarchy:
    """The hierarchy of an attribute in a collection, and how many rows its finest published values have."""
    hierarchy, finest = collection.domain.hierarchy(attribute), collection.finest_level(attribute)
    counts = np.zeros(hierarchy.size(finest), dtype=np.int64)
    if finest < hierarchy.height:
        table = collection.cube.table(collection.domain.mask({attribute: finest}))
        counts[table.codes[0]] = table.counts
    else:
        counts[:] = collection.cube.total
    return CountedHierarchy(hierarchy, finest, counts)


def _of_nothing(bundles: Sequence[tuple[str, BundleContent]]) -> BundleContent:
    """The first of several bundles that tell a number of rows alone, with the claims of all."""
    (first, published), *others = bundles
    rows = published.collection.cube.total
    for name, other in others:
        if other.collection.cube.total != rows:
            problem = f"it counts {number_of(other.collection.cube.total, 'row')} where {first} counts {rows:,}"
            raise BundleError(name, problem)
    return replace(published, claims=tuple(dict.fromkeys(claim for _, bundle in bundles for claim in bundle.claims)))


def in_common(collection: Collection, hierarchies: Mapping[str, CountedHierarchy]) -> Collection:
    """The same marginals over hierarchies that hold those of the collection. Raises MarginalsError where one does not."""
    domain = Domain.of({attribute: common.hierarchy for attribute, common in hierarchies.items()})
    levels = _common_levels(collection, hierarchies)
    tables = [recoded(table, domain, levels) for table in collection.tables]
    return Collection.of(DataCube(tables), [table.mask for table in tables])


def _common_levels(collection: Collection, hierarchies: Mapping[str, CountedHierarchy]) -> dict[str, tuple[int, ...]]:
    """Of each attribute that is shown the levels of the common hierarchy that are its own. Raises MarginalsError."""
    attributes = filter(collection.shows, collection.domain.attributes)
    return {attribute: _levels_in(collection, attribute, hierarchies[attribute]) for attribute in attributes}


class OverTable(NamedTuple):
    """Published marginals over the hierarchies of the table that they were counted from: all, and the core among them."""

    everything: Collection
    core: Collection

    @property
    def model(self) -> MarginalModel:
        """What they let expect."""
        return model_of(self.everything, self.core)


def over_table(published: Published, truth: "Table") -> "tuple[OverTable, Table]":
    """The published marginals over the hierarchies of the table that they were counted from, and the table over the same.

    A release names the groups of fitted levels anew; so the table gets the names of the release. Raises InputError for
    another table.
    """
    other = InputError("the truth is another table than the one that was published; give the config it was made from")
    everything = published.everything
    if any(a not in truth.domain.attributes for table in everything.tables for a in table.attributes):
        raise other
    truth = _named_as(published, truth)
    hierarchies = {
        name: CountedHierarchy(hierarchy, 0, _base_counts(truth, name)) for name, hierarchy in truth.domain.items()
    }
    try:
        collection = in_common(everything, hierarchies)
        levels = _common_levels(everything, hierarchies)
    except MarginalsError:
        raise other from None
    if not all(equal_cells([truth.cube.table(table.mask), table]) for table in collection.tables):
        raise other
    margins = ({a: levels[a][level] for a, level in margin.items()} for margin in published.collection.margins)
    core = Collection.of(collection.cube, map(collection.domain.mask, margins))
    return OverTable(collection, core), truth


def _base_counts(truth: "Table", name: str) -> CountArray:
    """The rows of each base value of an attribute."""
    base = truth.cube.table(truth.domain.mask({name: 0}))
    counts = np.zeros(truth.domain.hierarchy(name).size(0), dtype=np.int64)
    counts[base.codes[0]] = base.counts
    return counts


def _named_as(published: Published, truth: "Table") -> "Table":
    """The table with the names that a release gives the groups of fitted levels, which depend on the finest one shown."""
    renamed = {}
    for name, naming in truth.naming.items():
        if not published.everything.shows(name):
            continue
        counted, ladder = counted_hierarchy(published.everything, name), truth.domain.hierarchy(name)
        rows = {
            label: number for label, number in zip(counted.hierarchy.labels[counted.finest], counted.counts) if number
        }
        counts = _base_counts(truth, name)
        for finest in range(ladder.height):
            named = naming.named(ladder, finest, counts, published.least_count).hierarchy
            named_counts = np.zeros(named.size(finest), dtype=np.int64)
            np.add.at(named_counts, named.lift(0, finest), counts)
            if rows == {label: number for label, number in zip(named.labels[finest], named_counts) if number}:
                renamed[name] = named
                break
    return truth.with_hierarchies(renamed) if renamed else truth


def _levels_in(collection: Collection, attribute: str, common: CountedHierarchy) -> tuple[int, ...]:
    """The levels of a common hierarchy that are those of an attribute that is shown. Raises HierarchyError for none."""
    counted = counted_hierarchy(collection, attribute)
    levels = counted.levels_in(common) or _published_in(counted, common)
    if levels is None:
        raise HierarchyError(f"the hierarchy of {attribute!r} does not hold the published one")
    return levels


def _published_in(counted: CountedHierarchy, common: CountedHierarchy) -> tuple[int, ...] | None:
    """The levels that are those from the finest published one on, which stands for those below it, that nothing shows."""
    levels = counted.published_levels.levels_in(common)
    return None if levels is None else (levels[0],) * counted.finest + levels


def recoded(table: ContingencyTable, domain: Domain, levels: Mapping[str, Sequence[int]]) -> ContingencyTable:
    """The same table in another domain. levels: for each attribute those of the domain that are its own ones."""
    margin, codes = {}, {}
    for attribute, column in zip(table.attributes, table.codes):
        level, margin[attribute] = table.margin[attribute], levels[attribute][table.margin[attribute]]
        places = {label: code for code, label in enumerate(domain.hierarchy(attribute).labels[margin[attribute]])}
        labels = table.domain.hierarchy(attribute).labels[level]
        codes[attribute] = np.array([places.get(label, -1) for label in labels], dtype=np.int64)[column]
    return ContingencyTable.from_cells(domain, margin, codes, table.counts)


_COMMA, _NEWLINE = b",\n"


_BLOCK = 1 << 22
"""Bytes that are worked on at a time."""


_WORD = 8
"""Bytes that are compared at a time."""


_LONGEST = 1024
"""Bytes of a field beyond which a file is not plain."""


_MOST_BYTES = 1 << 26
"""Of labels, each as long as the longest."""


class NotPlainError(Exception):
    """Something that only a general reader can read."""


Words = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class PlainRows:
    """Some rows of a file. text: their bytes, and `_WORD` more. starts, lengths: of the fields, shape (rows, columns)."""

    text: NDArray[np.uint8]
    starts: IndexArray
    lengths: IndexArray

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.starts)

    def codes(self, column: int, labels: "Labels") -> IndexArray:
        """The place of each field of a column among some labels, -1 where it is none of them: shape (rows,)."""
        words = [self._words(column, part) for part in range(labels.parts)]
        places = np.minimum(np.searchsorted(labels.keys, _key(words)), len(labels.keys) - 1)
        is_known: BoolArray = self.lengths[:, column] <= labels.parts * _WORD
        for known, word in zip(labels.words, words):
            is_known &= known[places] == word
        return np.where(is_known, labels.order[places], -1)

    def counts(self, column: int, digits: int) -> CountArray:
        """Whole numbers from 1 on, without leading zeros, of so many digits at most; -1 where a field is none."""
        lengths = self.lengths[:, column]
        totals = np.zeros(len(self), dtype=np.int64)
        valid: BoolArray = (lengths > 0) & (lengths <= digits)
        for place in range(min(int(lengths.max(initial=0)), digits)):
            digit = self.text[np.minimum(self.starts[:, column] + place, len(self.text) - 1)].astype(np.int64) - ord(
                "0"
            )
            inside = place < lengths
            valid &= ~inside | ((digit >= (0 if place else 1)) & (digit <= 9))
            totals = np.where(inside, totals * 10 + digit, totals)
        return np.where(valid, totals, -1)

    def _words(self, column: int, part: int) -> Words:
        """So many times eight bytes into each field the next eight, 0 beyond its end."""
        windows = np.ndarray((len(self.text) - _WORD + 1,), "<u8", self.text, strides=(1,))
        remaining = np.clip(self.lengths[:, column] - part * _WORD, 0, _WORD)
        places = np.minimum(self.starts[:, column] + part * _WORD, len(windows) - 1)
        return windows[places] & _MASKS[remaining]


_MASKS: Words = np.array([(1 << 8 * length) - 1 for length in range(_WORD + 1)], dtype=np.uint64)


class Labels:
    """Labels that fields are looked up in: by a key of all their bytes, and then compared byte by byte.

    Raises NotPlainError where two labels have the same key, for NUL in a label, and for labels that are too long together.
    """

    def __init__(self, labels: Sequence[str]) -> None:
        encoded = [label.encode() for label in labels]
        longest = max(map(len, encoded), default=0)
        if any(b"\0" in label for label in encoded) or longest * len(encoded) > _MOST_BYTES or not encoded:
            raise NotPlainError
        self.parts = max(1, -(-longest // _WORD))
        width = self.parts * _WORD
        laid_out = np.frombuffer(b"".join(label.ljust(width, b"\0") for label in encoded), dtype="<u8")
        words = list(laid_out.reshape(len(encoded), self.parts).T)
        keys = _key(words)
        self.order = np.argsort(keys, kind="stable")
        self.keys = keys[self.order]
        self.words = [word[self.order] for word in words]
        if np.any(self.keys[1:] == self.keys[:-1]):
            raise NotPlainError


def _key(words: Sequence[Words]) -> Words:
    """One number for several: equal for equal ones, and rarely for others."""
    key = words[0]
    for word in words[1:]:
        key = key * np.uint64(0x9E3779B97F4A7C15) ^ (key >> np.uint64(29)) ^ word
    return key


def plain_rows(content: bytes, columns: int) -> Iterator[PlainRows]:
    """The rows of a CSV file after its header, in blocks. Raises NotPlainError where it is not plain.

    Plain means: UTF-8 without quotes, carriage returns and NUL, each line, the header too, of so many columns, and no field
    longer than a kilobyte.
    """
    if any(byte in content for byte in (b'"', b"\r", b"\0")):
        raise NotPlainError
    if not content.endswith(b"\n"):
        content += b"\n"
    blocks = list(_blocks(content))
    if not all(_is_plain(content, block, columns) for block in blocks):
        raise NotPlainError
    return _lines_of(content, blocks, columns)


def _blocks(content: bytes) -> Iterator[tuple[int, int]]:
    """Begin and end of parts of whole lines."""
    begin = 0
    while begin < len(content):
        end = content.rfind(b"\n", begin, begin + _BLOCK) + 1 or content.find(b"\n", begin) + 1
        yield begin, end
        begin = end


def _separators(content: bytes, block: tuple[int, int]) -> tuple[NDArray[np.uint8], IndexArray]:
    text = np.frombuffer(content, dtype=np.uint8, count=block[1] - block[0], offset=block[0])
    return text, np.flatnonzero((text == _COMMA) | (text == _NEWLINE))


def _is_plain(content: bytes, block: tuple[int, int], columns: int) -> bool:
    try:
        content[slice(*block)].decode()
    except UnicodeDecodeError:
        return False
    text, separators = _separators(content, block)
    if len(separators) % columns or np.diff(separators, prepend=-1).max() > _LONGEST:
        return False
    kinds = text[separators].reshape(-1, columns)
    return bool((kinds[:, -1] == _NEWLINE).all() and (kinds[:, :-1] == _COMMA).all())


def _lines_of(content: bytes, blocks: Sequence[tuple[int, int]], columns: int) -> Iterator[PlainRows]:
    for number, block in enumerate(blocks):
        text, separators = _separators(content, block)
        starts = np.concatenate(([0], separators[:-1] + 1))
        padded = np.concatenate((text, np.zeros(_WORD, dtype=np.uint8)))
        lengths = (separators - starts).reshape(-1, columns)
        header = 0 if number else 1
        yield PlainRows(padded, starts.reshape(-1, columns)[header:], lengths[header:])
