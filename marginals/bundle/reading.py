"""Reading a bundle: from its bytes to its content. No statement of its files is trusted."""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain, combinations, islice, repeat
from pathlib import Path
from typing import Any

import numpy as np

from checks.claims import Claim, parse_claim
from checks.combinatorial import ToldByLabels
from checks.impossible import ImpossiblePair, places_of
from marginals.bundle.content import (
    DESCRIPTOR,
    FURTHER,
    KNOWN,
    MAX_ATTRIBUTES,
    MAX_CLAIMS,
    MAX_LEVELS,
    MAX_PAIRS,
    MAX_ROWS,
    MAX_RULES,
    PACKAGE,
    TABLE,
    BundleContent,
    schema_of,
)
from marginals.bundle.imprint import NAMES, TITLE, Imprint
from marginals.bundle.snapshot import Snapshot, has_hash, is_csv, is_number, require_so
from marginals.errors import BundleError
from marginals.keys import TEXTS, Key, Keys, are, is_table, is_text, is_whole, one_of
from marginals.messages import LONGEST_WORDS, is_words, printable
from marginals.named_rules import AppliedRule, named_rule, rule_names
from marginals.names import number_of
from marginals.tables.attribute import COUNT, LABEL_FORMS, Codebook, Role, in_known_order
from marginals.tables.column_levels import LEVEL_NAMES, is_level_name
from marginals.tables.people import ANY, MOST_ROWS_OF_A_PERSON, ONE_ROW
from models.arrays import IndexArray, smallest_code_dtype
from models.deadline import NEVER, Deadline
from models.errors import HierarchyError, MarginalsError
from models.graphs.junction_tree import Collection
from models.tables.contingency_table import ContingencyTable, equal_cells
from models.tables.data_cube import DataCube
from models.tables.hierarchy import MAX_LABELS, Domain, Hierarchy, Mask


@contextmanager
def _naming(key: str, place: str = DESCRIPTOR) -> Iterator[None]:
    try:
        yield
    except BundleError:
        raise
    except MarginalsError as error:
        raise BundleError(place, f"{key}{error}") from None


# Checked before anything is read.
RELEASE_KEYS: Keys = {
    "attributes": Key(lambda value: is_table(value) and value != {}, "name the attributes", required=True),
    "privacy": Key(are(is_table), "be a list of claims"),
    "rules": Key(
        lambda value: isinstance(value, list) and len(value) <= MAX_RULES, f"be a list of at most {MAX_RULES} rules"
    ),
    "rows_per_person": Key(
        lambda value: value == ANY or (is_whole(value) and 1 <= value <= MOST_ROWS_OF_A_PERSON),
        f'be a whole number from 1 to {MOST_ROWS_OF_A_PERSON:,}, or "{ANY}"',
    ),
    "one_row": one_of(ONE_ROW),
    "turnover": one_of([KNOWN]),
    "impossible": Key(
        lambda value: are(is_table)(value) and len(value) <= MAX_PAIRS,
        f"list at most {MAX_PAIRS:,} pairs of attributes with labels",
    ),
}

ATTRIBUTE_KEYS: Keys = {
    "role": Key(
        lambda value: value in (Role.QUASI_IDENTIFIER.value, Role.SENSITIVE.value),
        "be quasi-identifier or sensitive",
        True,
    ),
    "description": Key(is_words, f"be a line of at most {LONGEST_WORDS} characters"),
    "values": Key(
        lambda value: is_table(value) and all(map(is_words, value.values())),
        f"say of labels what they mean, in at most {LONGEST_WORDS} characters",
    ),
    "levels": Key(lambda v: is_table(v) and all(map(is_level_name, v)), f"number levels by names, which {LEVEL_NAMES}"),
    "order": Key(are(is_text), "be a list of base values, lowest first"),
    "label_form": one_of(LABEL_FORMS, str),
}


def _check_keys(where: str, content: Mapping[str, Any], keys: Keys) -> None:
    for name, key in keys.items():
        is_taken = key.takes(content[name]) if name in content else not key.required
        require_so(is_taken, f"{where}.{name} must {key.must}")


def read_bundle(folder: Path, deadline: Deadline = NEVER) -> BundleContent:
    """Read the bundle in a folder. `deadline`: of later computations. Raises InputError or BundleError."""
    return content_of(Snapshot.of(folder), deadline)


def content_of(snapshot: Snapshot, deadline: Deadline = NEVER) -> BundleContent:
    """Read the content of a bundle, after a check of everything in it but its report. Raises BundleError."""
    package, release = snapshot.descriptor.package, snapshot.descriptor.release
    _check_form(package)
    _check_keys("release", release, RELEASE_KEYS)
    roles = _roles(release)
    hierarchies = _hierarchies(snapshot, roles)
    domain = Domain.of({name: hierarchies[name] for name in roles})
    names = sum(len(described.get("levels", {})) + 1 for described in release["attributes"].values())
    require_so(
        names == len(domain.named_places), "release.attributes names a level as another level or attribute is named"
    )
    tables: dict[str, ContingencyTable] = {}
    core: list[Mask] = []
    further: list[Mask] = []
    for resource in snapshot.descriptor.resources:
        if "marginal" in resource:
            table = tables[resource["path"]] = _marginal(snapshot, resource, domain)
            (further if resource["marginal"].get(FURTHER) else core).append(table.mask)
        elif not is_csv(resource) and has_hash(resource):
            snapshot.listed_content(resource)
    is_one = release.get("one_row") is None or is_number(release.get("rows_per_person"), 1)
    require_so(is_one, "release.one_row says which row of each person counts, but release.rows_per_person is not 1")
    require_so(tables, "there is no marginal among the resources")
    require_so(core, "every marginal is a further table, and there is none that they could stand beside")
    for path, table in tables.items():
        problem = f"it counts {number_of(table.total, 'row')}, which is not release.rows"
        require_so(is_number(release.get("rows"), table.total), problem, path)
    check_agreement(tables)
    cube = DataCube(list(tables.values()))
    everything = Collection.of(cube, [table.mask for table in tables.values()])
    claims, title = _claims(release, roles), _title(package)
    with _naming(""):
        return BundleContent(
            Collection.of(cube, core),
            roles,
            claims,
            title,
            deadline,
            release.get("rows_per_person"),
            _codebook(release, domain),
            _rules(release, claims, [name for name, role in roles.items() if role is Role.SENSITIVE]),
            "turnover" in release,
            _where(release, everything),
            _labels(release, everything),
            tuple(further),
            _imprint(release, title),
            _impossible(release, domain, roles),
            one_row=release.get("one_row"),
        )


def _rows(snapshot: Snapshot, resource: Mapping[str, Any]) -> Iterator[list[str]]:
    path: str = resource["path"]
    content = snapshot.listed_content(resource)
    require_so(content, "it is empty", path)
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
    attributes: Mapping[str, Any] = release["attributes"]
    require_so(
        len(attributes) <= MAX_ATTRIBUTES, f"there are more than the {MAX_ATTRIBUTES:,} attributes that are read"
    )
    require_so(COUNT not in attributes, f"an attribute {COUNT!r} would give marginals two columns of this name")
    for name, described in attributes.items():
        _check_keys(f"release.attributes.{name}", described if isinstance(described, dict) else {}, ATTRIBUTE_KEYS)
    return {name: Role(described["role"]) for name, described in attributes.items()}


def _impossible(release: Mapping[str, Any], domain: Domain, roles: Mapping[str, Role]) -> tuple[ImpossiblePair, ...]:
    pairs = release.get("impossible", [])
    for pair in pairs:
        is_pair = all(TEXTS.takes(pair[name]) and roles.get(name) is Role.QUASI_IDENTIFIER for name in pair)
        require_so(is_pair, "release.impossible must give lists of labels of two quasi-identifiers")
        with _naming("release.impossible: "):
            places_of(domain, pair)
    return tuple(pairs)


def _codebook(release: Mapping[str, Any], domain: Domain) -> Codebook:
    descriptions: dict[str, str] = {}
    values: dict[str, dict[str, str]] = {}
    for name in domain.attributes:
        described = release["attributes"][name]
        descriptions |= {name: described["description"]} if "description" in described else {}
        values |= {name: meanings} if (meanings := described.get("values")) else {}
    book = Codebook(descriptions, values)
    problem = "release.attributes says in values what a label means that the release does not have"
    require_so(book == book.of_labels(domain), problem)
    return book


def _hierarchies(snapshot: Snapshot, roles: Mapping[str, Role]) -> dict[str, Hierarchy]:
    hierarchies: dict[str, Hierarchy] = {}
    remaining_labels = MAX_LABELS
    for resource in snapshot.descriptor.resources:
        if "hierarchy" not in resource:
            continue
        path, described = resource["path"], resource["hierarchy"]
        attribute: Any = described.get("attribute") if isinstance(described, dict) else None
        is_first = isinstance(attribute, str) and attribute in roles and attribute not in hierarchies
        require_so(is_first, "it must be the one hierarchy of an attribute of the release", path)
        rows = _rows(snapshot, resource)
        header = next(rows)
        is_header = len(header) <= MAX_LEVELS and header == [f"level{level}" for level in range(len(header))]
        require_so(is_header, f"its header must be level0,level1,..., and not more than {MAX_LEVELS} of them", path)
        _check_schema(resource, header)
        try:
            hierarchy = Hierarchy.from_rows(rows, remaining_labels)
        except HierarchyError as error:
            raise BundleError(path, f"{error} (the header not counted)") from None
        remaining_labels -= sum(map(len, hierarchy.labels))
        entries = snapshot.descriptor.release["attributes"][attribute]
        hierarchies[attribute] = _ordered(attribute, entries, roles[attribute], hierarchy)
    for attribute in roles:
        require_so(attribute in hierarchies, f"the attribute {attribute!r} has no hierarchy among the resources")
    return hierarchies


def _ordered(name: str, described: Mapping[str, Any], role: Role, hierarchy: Hierarchy) -> Hierarchy:
    levels = described.get("levels", {})
    names = dict(zip(levels.values(), levels)) if are(is_whole)([*levels.values()]) else {}
    are_levels = len(names) == len(levels) and {*names} <= {*range(hierarchy.height)}
    is_so = are_levels and not (levels and role is Role.SENSITIVE)
    problem = "must number levels of a quasi-identifier below the last one, each once"
    require_so(is_so, f"release.attributes.{name}.levels {problem}")
    level_names = tuple(names.get(level, "") for level in range(hierarchy.height + 1)) if names else ()
    hierarchy = replace(hierarchy, has_names=described.get("label_form") == "names", level_names=level_names)
    if "order" not in described:
        return hierarchy if hierarchy.has_names or role is not Role.SENSITIVE else in_known_order(hierarchy)
    try:
        return hierarchy.ordered_by(described["order"])
    except HierarchyError:
        problem = f"release.attributes.{name}.order must list base values of its hierarchy, each once"
        raise BundleError(DESCRIPTOR, problem) from None


_BATCH = 1 << 16  # rows in memory as text at a time
_COUNT = re.compile(r"[1-9][0-9]{0,14}")  # below 10^15, exact in every program that reads floats


def _marginal(snapshot: Snapshot, resource: Mapping[str, Any], domain: Domain) -> ContingencyTable:
    path, described = resource["path"], resource["marginal"]
    levels: Any = described.get("levels") if isinstance(described, dict) else None
    require_so(isinstance(levels, dict) and levels, "marginal.levels must give a level for each attribute", path)
    require_so(isinstance(described.get(FURTHER, False), bool), f"marginal.{FURTHER} is true or false", path)
    with _naming("marginal.levels: ", path):
        margin = domain.margin(domain.mask(levels))
    rows = _rows(snapshot, resource)
    header = next(rows)
    *attributes, last = header or [""]
    is_header = sorted(attributes) == sorted(levels) and last == COUNT
    require_so(is_header, "its header must be the attributes of marginal.levels, then count", path)
    _check_schema(resource, header)
    *codes, counts = _columns(path, rows, domain, {attribute: levels[attribute] for attribute in attributes})
    problem = f"its counts sum to more than the {MAX_ROWS:,} rows that are counted exactly"
    require_so(counts.sum(dtype=np.float64) <= MAX_ROWS, problem, path)
    codes_of = {name: column for name, column in zip(attributes, codes) if name in margin}
    table = ContingencyTable.from_cells(domain, margin, codes_of, counts)
    require_so(len(table) == len(counts), "a cell stands in two rows", path)
    problem = f"its counts sum to {table.total}, which is not its marginal.total"
    require_so(is_number(described.get("total"), table.total), problem, path)
    return table


def _columns(path: str, rows: Iterator[list[str]], domain: Domain, levels: Mapping[str, int]) -> list[IndexArray]:
    labels = {name: domain.hierarchy(name).labels[level] for name, level in levels.items()}
    places = [{label: code for code, label in enumerate(texts)} for texts in labels.values()]
    problems = [f"has a value of {name!r} that its hierarchy lacks at level {level}" for name, level in levels.items()]
    problems.append("has a count that is not a whole number from 1 on and below 10^15")
    types = [*(smallest_code_dtype(len(texts)) for texts in labels.values()), np.dtype(np.int64)]
    batches: list[list[IndexArray]] = [[np.zeros(0, dtype=kind)] for kind in types]
    read = 0
    while batch := list(islice(rows, _BATCH)):
        *texts, counts = zip(*batch)
        numbers = [
            *(map(code_of.get, column, repeat(-1)) for code_of, column in zip(places, texts)),
            (int(count) if _COUNT.fullmatch(count) else -1 for count in counts),
        ]
        for values, kind, problem, parts in zip(numbers, types, problems, batches):
            column = np.fromiter(values, dtype=np.int64, count=len(batch))
            if (unknown := np.flatnonzero(column < 0)).size:
                raise BundleError(path, f"row {read + int(unknown[0]) + 1} {problem}")
            parts.append(column.astype(kind))
        read += len(batch)
    return [np.concatenate(parts) for parts in batches]


def _claims(release: Mapping[str, Any], roles: Mapping[str, Role]) -> tuple[Claim, ...]:
    entries = release.get("privacy", [])
    require_so(len(entries) <= MAX_CLAIMS, f"release.privacy has more than the {MAX_CLAIMS:,} claims that are checked")
    with _naming("release.privacy: "):
        claims = tuple(map(parse_claim, entries))
    are_sensitive = all(claim.about is None or roles.get(claim.about) is Role.SENSITIVE for claim in claims)
    require_so(are_sensitive, "release.privacy claims diversity for an attribute that is not sensitive")
    return claims


def _rules(release: Mapping[str, Any], claims: Sequence[Claim], sensitive: Sequence[str]) -> tuple[AppliedRule, ...]:
    entries = release.get("rules", [])
    with _naming("release.rules: "):
        rules = tuple(map(AppliedRule.from_json, entries))
        standard = {rule: named_rule(rule.name).applied(sensitive) for rule in rules if rule.name in rule_names()}
    for rule, known_rule in standard.items():
        require_so(rule == known_rule, f"release.rules states {rule.name}, but not as that rule is")
    demanded = {claim for rule in rules for claim in rule.claims}
    require_so(demanded <= {*claims}, "release.rules demands what release.privacy does not claim")
    return rules


def _labels(release: Mapping[str, Any], collection: Collection) -> ToldByLabels | None:
    """Number of values that occur by each label, as far as the release declares it; None where it does not."""
    if "occurring" not in release:
        return None
    occurring, domain = release["occurring"], collection.domain
    are_attributes = isinstance(occurring, dict) and occurring.keys() <= {*domain.attributes}
    require_so(are_attributes, "release.occurring must name attributes of the release")
    for name, numbers in occurring.items():
        labels = {*chain(*domain.hierarchy(name).labels[collection.finest_level(name) : -1])}
        are_labels = isinstance(numbers, dict) and numbers.keys() <= labels
        require_so(are_labels, f"release.occurring.{name} must name labels of its published values")
        are_numbers = all(type(number) is int and 0 <= number <= MAX_LABELS for number in numbers.values())
        require_so(are_numbers, f"release.occurring.{name} must give whole numbers of values from 0 on")
    return {name: dict(numbers) for name, numbers in occurring.items()}


def _where(release: Mapping[str, Any], collection: Collection) -> str:
    """Part of a table that is counted, empty for all. Raises BundleError if values outside of it are counted."""
    if "where" not in release:
        return ""
    from marginals.published_values import Part  # slow to import, and few releases are of a part

    with _naming("release.where: "):
        part = Part(release["where"])
        excluding = next(filter(None, map(part.excluding, collection.tables)), None)
    require_so(excluding is None, f"release.where is {part.text!r}, and other values of {excluding!r} are counted")
    return part.text


def _imprint(release: Mapping[str, Any], title: str) -> Imprint:
    """Imprint; a title that is too long for one is only that of the package."""
    with _naming("release.imprint: "):
        imprint = Imprint.of(release.get("imprint", {}))
        return replace(imprint, title=title) if is_words(title) else imprint


def _title(package: Mapping[str, Any]) -> str:
    title = package.get("title")
    return printable(" ".join(title.split())) if isinstance(title, str) and title.strip() else TITLE


# Checks read the files of a bundle as its format declares. So the resource of a table has only the keys and values of
# docs/bundle.md, since another program may read the file by any other. Elsewhere any key may stand, and is named as one
# that nobody checked.

# Keys that have a meaning for a resource, or had one for a package.
_PACKAGE_OBEYED = frozenset(
    ["basepath", "compression", "control", "data", "dialect", "dialects", "encoding", "format", "layout", "mediatype",
     "missingValues", "path", "schema", "schemas", "scheme", "url"]
)  # fmt: skip
# ... stands for any value.
_FORM = TABLE | dict.fromkeys(("name", "path", "bytes", "hash", "schema", "marginal", "hierarchy"), ...)


def _check_form(package: Mapping[str, Any]) -> None:
    _refuse((key for key in package if key in _PACKAGE_OBEYED), DESCRIPTOR)
    for number, resource in enumerate(package["resources"]):
        if is_csv(resource):
            _refuse(_differing(f"resources[{number}]", _FORM | resource, _FORM), DESCRIPTOR)


def _check_schema(resource: Mapping[str, Any], header: Sequence[str]) -> None:
    if "schema" in resource:
        _refuse(_differing("schema", resource["schema"], schema_of(header)), resource["path"])


def _refuse(keys: Iterable[str], place: str) -> None:
    how = "another program would read a file otherwise than it is judged, as CSV in UTF-8 with each text as it is"
    for key in keys:
        raise BundleError(place, f"by {key} {how}; write it as docs/bundle.md does, or leave it out")


def _differing(place: str, content: Any, form: Any) -> Iterator[str]:
    """Keys whose values are not those of a form, in which ... stands for any value."""
    if isinstance(form, dict) and isinstance(content, dict):
        for key in {**content, **form}:
            here = f"{place}.{key}"
            yield from _differing(here, content[key], form[key]) if key in form and key in content else [here]
    elif isinstance(form, list) and isinstance(content, list) and len(form) == len(content):
        for number, pair in enumerate(zip(content, form)):
            yield from _differing(f"{place}[{number}]", *pair)
    elif form is not ... and (type(content) is not type(form) or content != form):
        yield place


_CLAIM = dict.fromkeys(("criterion", "k", "diversity", "sensitive", "level", "basis"))
_DEMAND = {"says": None, "claims": [_CLAIM]}
# Checked keys, each with those in it: None for none, a list of one for lists, * for any.
_RELEASE: Mapping[str, Any] = {
    **dict.fromkeys(("format", "rows", *RELEASE_KEYS, "where", "occurring", "information")),
    "attributes": {"*": dict.fromkeys(ATTRIBUTE_KEYS)},
    "privacy": [_CLAIM],
    "rules": [{**dict.fromkeys(("name", "title", "source", "unchecked")), "demands": [_DEMAND]}],
    "imprint": dict.fromkeys(NAMES[1:]),
    "report": dict.fromkeys(("path", "mediatype", "bytes", "hash")),
}
_RESOURCE = {"*": None, "marginal": dict.fromkeys(("levels", "total", FURTHER)), "hierarchy": {"attribute": None}}
_IS_NAME = re.compile(r"[\w./ -]{0,200}")


def unjudged(package: Mapping[str, Any]) -> Iterator[str]:
    """Keys of a descriptor, and the files that it declares, that may have any content and are checked by nobody."""
    checked = PACKAGE | dict.fromkeys(("title", "resources", "release"), ...)
    yield from (key for key, value in package.items() if key not in checked or checked[key] not in (..., value))
    yield from _unknown("release", package["release"], _RELEASE)
    for number, resource in enumerate(package["resources"]):
        if not is_csv(resource):
            yield f"the file {resource['path']}"
            continue
        yield from _unknown(f"resources[{number}]", resource, _RESOURCE)
        if not _IS_NAME.fullmatch(str(resource.get("name", ""))):
            yield f"resources[{number}].name"


def _unknown(place: str, content: Any, checked: Any) -> Iterator[str]:
    if isinstance(checked, list) and isinstance(content, list):
        for number, entry in enumerate(content):
            yield from _unknown(f"{place}[{number}]", entry, checked[0])
    elif isinstance(checked, Mapping) and isinstance(content, Mapping):
        for key, value in content.items():
            if key in checked or "*" in checked:
                yield from _unknown(f"{place}.{key}", value, checked.get(key, checked.get("*")))
            else:
                yield f"{place}.{key}"


def check_agreement(tables: Mapping[str, ContingencyTable]) -> None:
    """Raise BundleError naming two tables that differ on their common margin. `tables`: by their names in messages."""
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
            problem = f"it contradicts {first_place}: they differ on their common margin ({margin})"
            require_so(equal_cells([first_margin, rolled]), problem, place)
