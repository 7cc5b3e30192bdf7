"""Release bundles: a Data Package of marginals and hierarchies that needs nothing of ours to be read (design 5.3).

Writing is atomic: the bundle is made beside its target and moved there. Reading trusts nothing that the files say.
"""

import csv
import hashlib
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from checks.claims import Claim, MaxentDiversity, parse_claim
from marginals.atomic_folder import replace_file, replace_folder
from marginals.attribute import Role
from marginals.errors import BundleError, InputError
from marginals.published import Published, Utility
from marginals.report import report_html
from models.arrays import CodeArray
from models.collection import Collection
from models.contingency_table import ContingencyTable, equal_cells
from models.data_cube import DataCube
from models.domain import Domain
from models.errors import DomainMismatchError, HierarchyError, MarginalsError
from models.hierarchy import Hierarchy

DESCRIPTOR = "datapackage.json"
REPORT = "report.html"
FORMAT = 1

_MAX_DESCRIPTOR_BYTES = 64 << 20
_MAX_FILE_BYTES = 1 << 30
_MAX_RESOURCES = 10_000
_MAX_ROWS = 10**15
_COUNT = re.compile(r"[1-9][0-9]{0,14}")
"""Counts as they may be written; below 10^15 they are exact in every program that reads them as floats."""


def write_bundle(published: Published, folder: Path) -> None:
    """Write a bundle to a folder that is new, empty, or holds a bundle, which is replaced.

    A crash leaves the old bundle or none. Raises InputError for any other folder, or where nothing can be written.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; a release is written to a folder")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / DESCRIPTOR).is_file():
        raise InputError(f"{folder} holds other things than a release; choose a new folder")
    try:
        replace_folder(folder, _files(published))
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error.strerror or type(error).__name__}") from None


def _files(published: Published) -> dict[str, bytes]:
    """All files of a bundle by their paths in it."""
    files: dict[str, bytes] = {}
    resources: list[dict[str, Any]] = []
    names = _Names()
    for table in sorted(published.collection.tables, key=lambda table: tuple(table.margin.items())):
        name = names.new("-".join(f"{attribute}.{level}" for attribute, level in table.margin.items()))
        path = f"marginals/{name}.csv"
        files[path] = _csv([(*table.attributes, "count"), *((*labels, count) for labels, count in table.cells())])
        described = {"marginal": {"levels": dict(table.margin), "total": table.total}}
        schema = {
            "fields": [
                *({"name": attribute, "type": "string"} for attribute in table.attributes),
                {"name": "count", "type": "integer", "constraints": {"required": True, "minimum": 1}},
            ],
            "primaryKey": list(table.attributes),
        }
        resources.append(_resource(name, path, files[path], schema, described))
    for attribute, hierarchy in published.domain.items():
        name = names.new(f"hierarchy-{attribute}")
        path = f"hierarchies/{name.removeprefix('hierarchy-')}.csv"
        levels = [f"level{level}" for level in range(hierarchy.height + 1)]
        files[path] = _csv([levels, *hierarchy.rows()])
        schema = {"fields": [{"name": level, "type": "string"} for level in levels], "primaryKey": ["level0"]}
        resources.append(_resource(name, path, files[path], schema, {"hierarchy": {"attribute": attribute}}))
    release: dict[str, Any] = {
        "format": FORMAT,
        "rows": published.collection.cube.total,
        "attributes": {name: {"role": published.roles[name].value} for name in published.domain.attributes},
        "privacy": [claim.as_json() for claim in published.claims],
    }
    if published.utility is not None:
        release["utility"] = published.utility.as_json()
    files[REPORT] = report_html(published)
    release["report"] = _listed_report(files[REPORT])
    package = {
        "$schema": "https://datapackage.org/profiles/2.0/datapackage.json",
        "name": "anonymized-marginals",
        "title": "Anonymized marginals",
        "description": "Small generalized tables of counts over one table about people, private together.",
        "resources": resources,
        "release": release,
    }
    files[DESCRIPTOR] = _descriptor_bytes(package)
    return files


def _listed_report(page: bytes) -> dict[str, Any]:
    """How the descriptor lists the report: beside the resources, which all are tables."""
    return {"path": REPORT, "mediatype": "text/html", "bytes": len(page), "hash": _digest(page)}


def put_report(folder: Path, page: bytes) -> None:
    """Make this page the report of a bundle, whatever report it had or lacked; all else in it stays.

    The descriptor first forgets the old report and names the new one last, so that a crash leaves a bundle that
    verifies. Raises InputError where nothing can be written.
    """
    package = _descriptor(folder)

    def describe(report: dict[str, Any]) -> None:
        release = {key: value for key, value in package["release"].items() if key != "report"} | report
        replace_file(folder / DESCRIPTOR, _descriptor_bytes({**package, "release": release}))

    try:
        describe({})
        replace_file(folder / REPORT, page)
        describe({"report": _listed_report(page)})
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error.strerror or type(error).__name__}") from None


def _descriptor_bytes(package: Mapping[str, Any]) -> bytes:
    # Half a surrogate pair, which only other people's bundles have, stays the escape that JSON spells it with.
    return (json.dumps(package, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")


class _Names:
    """Resource names: what the Data Package standard allows, each used once."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def new(self, wish: str) -> str:
        slug = re.sub(r"[^a-z0-9._-]+", "_", wish.lower()).strip("._-")[:120] or "table"
        name, number = slug, 2
        while name in self._taken:
            name, number = f"{slug}_{number}", number + 1
        self._taken.add(name)
        return name


def _csv(rows: Iterable[Sequence[object]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _resource(
    name: str, path: str, content: bytes, schema: Mapping[str, Any], described: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        "name": name,
        "path": path,
        "type": "table",
        "format": "csv",
        "mediatype": "text/csv",
        "encoding": "utf-8",
        "bytes": len(content),
        "hash": _digest(content),
        "schema": {**schema, "missingValues": []},
        **described,
    }


def read_bundle(folder: Path) -> Published:
    """What a bundle publishes, after looking at everything in it that can be wrong.

    Raises InputError where the folder holds no bundle, and BundleError, naming the file, where it holds a bad one.
    """
    if not (folder / DESCRIPTOR).is_file():
        raise InputError(f"{folder} holds no release: there is no {DESCRIPTOR}")
    package = _descriptor(folder)
    release = package["release"]
    resources = package["resources"]
    roles = _roles(release)
    hierarchies = _hierarchies(folder, resources, roles)
    domain = Domain.of({name: hierarchies[name] for name in roles})
    tables: dict[str, ContingencyTable] = {}
    for resource in resources:
        if "marginal" in resource:
            tables[resource["path"]] = _marginal(folder, resource, domain)
    if not tables:
        raise BundleError(DESCRIPTOR, "there is no marginal among the resources")
    _agree(tables, release)
    collection = Collection.of(DataCube(list(tables.values())), [table.mask for table in tables.values()])
    return Published(collection, roles, _claims(release, roles), _utility(release))


def _descriptor(folder: Path) -> dict[str, Any]:
    content = _content(folder, DESCRIPTOR, _MAX_DESCRIPTOR_BYTES)
    try:
        package = json.loads(content.decode("utf-8"), object_pairs_hook=_distinct_keys)
    except (ValueError, RecursionError) as error:
        problem = str(error) if isinstance(error, _RepeatedKeyError) else "it is not valid JSON in UTF-8"
        raise BundleError(DESCRIPTOR, problem) from None
    if not isinstance(package, dict) or not isinstance(package.get("release"), dict):
        raise BundleError(DESCRIPTOR, "it describes no release: the object release is missing")
    if package["release"].get("format") != FORMAT:
        raise BundleError(DESCRIPTOR, f"release.format must be {FORMAT}")
    resources = package.get("resources")
    if not isinstance(resources, list) or not all(isinstance(resource, dict) for resource in resources):
        raise BundleError(DESCRIPTOR, "resources must be a list of objects")
    if len(resources) > _MAX_RESOURCES:
        raise BundleError(DESCRIPTOR, f"{len(resources)} resources are more than the {_MAX_RESOURCES} that are read")
    paths = [resource.get("path") for resource in resources]
    if not all(isinstance(path, str) for path in paths) or len(set(paths)) != len(paths):
        raise BundleError(DESCRIPTOR, "each resource must have a path of its own")
    return package


class _RepeatedKeyError(ValueError):
    """An object of a JSON text names a key twice."""


def _distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _RepeatedKeyError("an object names a key twice")
    return found


def _content(folder: Path, path: str, limit: int) -> bytes:
    """The bytes of a file inside the bundle; nothing outside of it, and nothing larger than the limit."""
    parts = PurePosixPath(path)
    if parts.is_absolute() or ".." in parts.parts or "\\" in path or "\0" in path:
        raise BundleError(path, "its path leads out of the bundle")
    file = folder / parts
    try:
        if not file.resolve().is_relative_to(folder.resolve()):
            raise BundleError(path, "its path leads out of the bundle")
        if not file.is_file():
            raise BundleError(path, "there is no such file")
        with file.open("rb") as stream:
            content = stream.read(limit + 1)
    except OSError as error:
        raise BundleError(path, f"it cannot be read: {error.strerror or type(error).__name__}") from None
    if len(content) > limit:
        raise BundleError(path, f"it is larger than the {limit} bytes that are read")
    return content


def check_report(folder: Path) -> None:
    """Raise BundleError unless the report that the descriptor lists, if any, is the one that it lists.

    Nobody reads numbers from the page, so a bundle opens without this; verifying asks for it.
    """
    listed = _descriptor(folder)["release"].get("report")
    if listed is None:
        return
    if not isinstance(listed, dict) or not isinstance(listed.get("path"), str):
        raise BundleError(DESCRIPTOR, "release.report must name a file by its path")
    _listed_content(folder, listed)


def _listed_content(folder: Path, listed: Mapping[str, Any]) -> bytes:
    """The bytes of a file whose size and hash are what the descriptor says."""
    path: str = listed["path"]
    size, digest = listed.get("bytes"), listed.get("hash")
    if isinstance(size, bool) or not isinstance(size, int) or size < 0:
        raise BundleError(path, "the descriptor does not say how many bytes it has")
    if size > _MAX_FILE_BYTES:
        raise BundleError(path, f"its {size} bytes are more than the {_MAX_FILE_BYTES} that are read")
    content = _content(folder, path, size)
    if len(content) != size:
        raise BundleError(path, f"it has {len(content)} bytes where the descriptor says {size}")
    if digest != _digest(content):
        raise BundleError(path, "its content does not match the hash in the descriptor; it was changed")
    return content


def _rows(folder: Path, resource: Mapping[str, Any]) -> list[list[str]]:
    """The header and rows of a CSV resource."""
    path: str = resource["path"]
    content = _listed_content(folder, resource)
    try:
        rows = list(csv.reader(io.StringIO(content.decode("utf-8"), newline=""), strict=True))
    except (UnicodeDecodeError, csv.Error):
        raise BundleError(path, "it is not valid CSV in UTF-8") from None
    if not rows:
        raise BundleError(path, "it is empty")
    for number, row in enumerate(rows, 1):
        if len(row) != len(rows[0]):
            raise BundleError(path, f"row {number} has {len(row)} fields where the header has {len(rows[0])}")
    return rows


def _roles(release: Mapping[str, Any]) -> dict[str, Role]:
    attributes = release.get("attributes")
    if not isinstance(attributes, dict) or not attributes:
        raise BundleError(DESCRIPTOR, "release.attributes must name the attributes")
    roles = {}
    for name, described in attributes.items():
        role = described.get("role") if isinstance(described, dict) else None
        if role not in (Role.QUASI_IDENTIFIER.value, Role.SENSITIVE.value):
            raise BundleError(DESCRIPTOR, f"release.attributes.{name}.role must be quasi-identifier or sensitive")
        roles[name] = Role(role)
    return roles


def _hierarchies(
    folder: Path, resources: Iterable[Mapping[str, Any]], roles: Mapping[str, Role]
) -> dict[str, Hierarchy]:
    hierarchies: dict[str, Hierarchy] = {}
    for resource in resources:
        if "hierarchy" not in resource:
            continue
        path, described = resource["path"], resource["hierarchy"]
        attribute = described.get("attribute") if isinstance(described, dict) else None
        if not isinstance(attribute, str) or attribute not in roles or attribute in hierarchies:
            raise BundleError(path, "it must be the one hierarchy of an attribute of the release")
        header, *rows = _rows(folder, resource)
        if header != [f"level{level}" for level in range(len(header))]:
            raise BundleError(path, "its header must be level0,level1,...")
        try:
            hierarchies[attribute] = Hierarchy.from_rows(rows)
        except HierarchyError as error:
            raise BundleError(path, f"{error} (the header not counted)") from None
    for attribute in roles:
        if attribute not in hierarchies:
            raise BundleError(DESCRIPTOR, f"the attribute {attribute!r} has no hierarchy among the resources")
    return hierarchies


def _marginal(folder: Path, resource: Mapping[str, Any], domain: Domain) -> ContingencyTable:
    path, described = resource["path"], resource["marginal"]
    levels = described.get("levels") if isinstance(described, dict) else None
    if not isinstance(levels, dict) or not levels:
        raise BundleError(path, "marginal.levels must give a level for each attribute")
    try:
        margin = domain.margin(domain.mask(levels))
    except DomainMismatchError as error:
        raise BundleError(path, f"marginal.levels: {error}") from None
    header, *rows = _rows(folder, resource)
    if sorted(header[:-1]) != sorted(levels) or header[-1:] != ["count"]:
        raise BundleError(path, "its header must be the attributes of marginal.levels, then count")
    codes: dict[str, CodeArray] = {}
    for position, attribute in enumerate(header[:-1]):
        hierarchy, level = domain.hierarchy(attribute), levels[attribute]
        found = [hierarchy.code(row[position], level) for row in rows]
        if None in found:
            number = found.index(None) + 1
            problem = f"row {number} has a value of {attribute!r} that its hierarchy lacks at level {level}"
            raise BundleError(path, problem)
        if attribute in margin:
            codes[attribute] = np.array(found, dtype=np.int64)
    for number, row in enumerate(rows, 1):
        if not _COUNT.fullmatch(row[-1]):
            raise BundleError(path, f"the count in row {number} is not a whole number from 1 to 10^15")
    if sum(int(row[-1]) for row in rows) > _MAX_ROWS:
        raise BundleError(path, f"its counts sum to more than the {_MAX_ROWS} rows that are counted exactly")
    counts = np.array([int(row[-1]) for row in rows], dtype=np.int64)
    table = ContingencyTable.from_cells(domain, margin, codes, counts)
    if len(table) != len(rows):
        raise BundleError(path, "a cell stands in two rows")
    if described.get("total") != table.total:
        raise BundleError(path, f"its counts sum to {table.total}, which is not its marginal.total")
    return table


def _agree(tables: Mapping[str, ContingencyTable], release: Mapping[str, Any]) -> None:
    """Raise BundleError unless all totals are those of the release and the marginals agree."""
    for path, table in tables.items():
        if table.total != release.get("rows") or isinstance(release.get("rows"), bool):
            raise BundleError(path, f"it counts {table.total} rows, which is not release.rows")
    check_agreement(tables)


def check_agreement(tables: Mapping[str, ContingencyTable]) -> None:
    """Raise BundleError naming two tables that differ on their common margin. tables: by what to call them."""
    for (path, table), (other_path, other) in combinations(tables.items(), 2):
        common = table.domain.margin(table.mask & other.mask)
        if common and not equal_cells([table.rolled_up(common), other.rolled_up(common)]):
            raise BundleError(path, f"it contradicts {other_path}: they differ on their common margin ({common})")


def _claims(release: Mapping[str, Any], roles: Mapping[str, Role]) -> tuple[Claim, ...]:
    stated = release.get("privacy", [])
    if not isinstance(stated, list) or not all(isinstance(claim, dict) for claim in stated):
        raise BundleError(DESCRIPTOR, "release.privacy must be a list of claims")
    try:
        claims = tuple(map(parse_claim, stated))
    except MarginalsError as error:
        raise BundleError(DESCRIPTOR, f"release.privacy: {error}") from None
    for claim in claims:
        if isinstance(claim, MaxentDiversity) and roles.get(claim.sensitive) is not Role.SENSITIVE:
            raise BundleError(DESCRIPTOR, "release.privacy claims diversity for an attribute that is not sensitive")
    return claims


def _utility(release: Mapping[str, Any]) -> Utility | None:
    stated = release.get("utility")
    if not isinstance(stated, dict):
        return None
    values = [stated.get(key) for key in ("kl_divergence", "kl_suppressed", "kl_best_table")]
    if not all(isinstance(value, int | float) for value in values[:2]):
        return None
    best = float(values[2]) if isinstance(values[2], int | float) else None
    return Utility(float(values[0] or 0), float(values[1] or 0), best)
