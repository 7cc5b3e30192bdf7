"""Reading a bundle: from its bytes to what it publishes. Nothing is trusted that its files say."""

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from checks.claims.claim import Claim
from checks.claims.registry import parse_claim
from marginals.bundle.agreement import check_agreement
from marginals.bundle.content import TITLE, BundleContent
from marginals.bundle.descriptor import has_hash, is_number, is_table
from marginals.bundle.format import DESCRIPTOR, KNOWN, MAX_ATTRIBUTES, MAX_CLAIMS, MAX_LEVELS, MAX_ROWS, MAX_RULES
from marginals.bundle.obeyed_keys import check_obeyed, check_schema
from marginals.bundle.snapshot import Snapshot
from marginals.errors import BundleError, InputError
from marginals.named_rules.applied import AppliedRule
from marginals.named_rules.rule import named_rule, rule_names
from marginals.printable import LONGEST_WORDS, is_words, printable
from marginals.tables.attribute import COUNT, Role
from marginals.tables.codebook import Codebook
from marginals.tables.plain_csv import Labels, NotPlainError, plain_rows
from marginals.tables.unit import ANY, MOST_ROWS_OF_A_PERSON, RowsPerPerson
from models.arrays import CodeArray, CountArray, smallest_code_dtype
from models.deadline import NEVER, Deadline
from models.errors import DomainMismatchError, HierarchyError, MarginalsError
from models.graphs.collection import Collection
from models.tables.contingency_table import ContingencyTable
from models.tables.data_cube import DataCube
from models.tables.domain import Domain
from models.tables.hierarchy import MAX_LABELS, Hierarchy

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
    for resource in descriptor.resources:
        if "marginal" in resource:
            tables[resource["path"]] = _marginal(snapshot, resource, domain)
        elif not is_table(resource) and has_hash(resource):
            snapshot.listed_content(resource)
    if not tables:
        raise BundleError(DESCRIPTOR, "there is no marginal among the resources")
    _agree(tables, descriptor.release)
    collection = Collection.of(DataCube(list(tables.values())), [table.mask for table in tables.values()])
    claims = _claims(descriptor.release, roles)
    words = _codebook(descriptor.release, domain)
    rows_per_person = _rows_per_person(descriptor.release)
    rules = _rules(descriptor.release, claims, [name for name, role in roles.items() if role is Role.SENSITIVE])
    title = _title(descriptor.package)
    known = _turnover_known(descriptor.release)
    where = _where(descriptor.release, collection)
    return BundleContent(collection, roles, claims, title, deadline, rows_per_person, words, rules, known, where)


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
        raise BundleError(DESCRIPTOR, f"there are more than the {MAX_ATTRIBUTES} attributes that are read")
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
    left = MAX_LABELS
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
            hierarchies[attribute] = Hierarchy.from_rows(rows, left)
        except HierarchyError as error:
            raise BundleError(path, f"{error} (the header not counted)") from None
        check_schema(resource, dict(zip(header, hierarchies[attribute].labels)))
        left -= sum(map(len, hierarchies[attribute].labels))
    for attribute in roles:
        if attribute not in hierarchies:
            raise BundleError(DESCRIPTOR, f"the attribute {attribute!r} has no hierarchy among the resources")
    return hierarchies


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
        raise BundleError(path, f"its counts sum to more than the {MAX_ROWS} rows that are counted exactly")
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


def _plain_batches(content: bytes, labels: Sequence[Sequence[str]]) -> Iterator[list[CodeArray]]:
    """Codes and counts of a marginal's rows, where its file is plain and every field is as it should be.

    Raises NotPlainError elsewhere.
    """
    plain = plain_rows(content, len(labels) + 1)  # raises before anything is made of labels
    known = list(map(Labels, labels))
    for rows in plain:
        columns = [*(rows.codes(column, own) for column, own in enumerate(known)), rows.counts(len(labels), _DIGITS)]
        if any(column.min(initial=0) < 0 for column in columns):
            raise NotPlainError
        codes = [column.astype(smallest_code_dtype(len(own))) for column, own in zip(columns, labels)]
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
            raise BundleError(path, f"it counts {table.total} rows, which is not release.rows")
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
    for rule, own in known.items():
        if rule != own:
            raise BundleError(DESCRIPTOR, f"release.rules states {rule.name}, but not as that rule is")
    if not {claim for rule in rules for claim in rule.claims} <= {*claims}:
        raise BundleError(DESCRIPTOR, "release.rules demands what release.privacy does not claim")
    return rules


def _rows_per_person(release: Mapping[str, Any]) -> RowsPerPerson:
    """How many rows are of one person at most, None where nothing is said."""
    stated = release.get("rows_per_person", ANY)
    if stated != ANY and not (type(stated) is int and 1 <= stated <= MOST_ROWS_OF_A_PERSON):
        raise BundleError(
            DESCRIPTOR, f'release.rows_per_person must be a whole number from 1 to {MOST_ROWS_OF_A_PERSON}, or "{ANY}"'
        )
    return stated if "rows_per_person" in release else None


def _turnover_known(release: Mapping[str, Any]) -> bool:
    """Whether readers are taken to know that people come and go."""
    if "turnover" in release and release["turnover"] != KNOWN:
        raise BundleError(DESCRIPTOR, f'release.turnover must be "{KNOWN}"')
    return "turnover" in release


def _where(release: Mapping[str, Any], collection: Collection) -> str:
    """Which part of a table is counted, empty for all. Raises BundleError where counted values are not those of the part.

    Of an attribute that no marginal shows nothing can be compared, nor of values that the release does not name.
    """
    if "where" not in release:
        return ""
    try:
        from marginals.conditions.part import Part  # slow to import, and few need it

        part = Part(release["where"])
        excluding = next(filter(None, map(part.excluding, collection.tables)), None)
    except InputError as error:
        raise BundleError(DESCRIPTOR, f"release.where: {error}") from None
    if excluding is not None:
        raise BundleError(DESCRIPTOR, f"release.where is {part.text!r}, and other values of {excluding!r} are counted")
    return part.text


def _title(package: Mapping[str, Any]) -> str:
    """What the package is called, on one line, as far as it is text; the title of packages without one."""
    stated = package.get("title")
    return printable(" ".join(stated.split())) if isinstance(stated, str) and stated.strip() else TITLE
