"""Release bundles: a Data Package of marginals and hierarchies that needs nothing of ours to be read (design 5.3).

Writing is atomic: the bundle is made beside its target and moved there. Reading trusts nothing that the files say.
"""

import csv
import hashlib
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, islice
from math import isfinite
from os import fstat
from pathlib import Path, PurePosixPath
from typing import Any
from zipfile import is_zipfile

import numpy as np

from checks.claims.claim import Claim, MaxentDiversity, parse_claim
from marginals.bundle.content import TITLE, BundleContent, Utility
from marginals.bundle.descriptor import DESCRIPTOR, holds_bundle
from marginals.bundle.seal import SEAL, is_sealed, seal_of
from marginals.bundle.signature import SIGNATURE, SecretKey, is_signed, signature_of
from marginals.bundle.undeclared import undeclared
from marginals.errors import BundleError, InputError
from marginals.files.atomic_file import replace_file
from marginals.files.atomic_folder import replace_folder
from marginals.files.leftovers import is_leftover
from marginals.files.output import OutputFolder
from marginals.pages.release_page import report_html
from marginals.printable import printable
from marginals.tables.attribute import COUNT, Role
from models.arrays import CodeArray, CountArray, smallest_code_dtype
from models.errors import DomainMismatchError, HierarchyError, MarginalsError
from models.graphs.collection import Collection
from models.tables.contingency_table import ContingencyTable, equal_cells
from models.tables.data_cube import DataCube
from models.tables.domain import Domain, Mask
from models.tables.hierarchy import Hierarchy

REPORT = "report.html"
FORMAT = 1

_MAX_DESCRIPTOR_BYTES = 16 << 20
_MAX_FILE_BYTES = 128 << 20
_MAX_BYTES = 256 << 20
"""Of all files that are read."""
_MAX_LABELS = 10_000_000
"""Of all hierarchies, each base value's generalizations counted."""
_MAX_RESOURCES = 1000
_MAX_ATTRIBUTES = 200
_MAX_LEVELS = 100
_MAX_CLAIMS = 100
_MAX_ROWS = 10**15
_BATCH = 1 << 16
"""Rows of a CSV file that are held as text at a time."""
_COUNT = re.compile(r"[1-9][0-9]{0,14}")
"""Counts as they may be written; below 10^15 they are exact in every program that reads them as floats."""


def write_bundle(published: BundleContent, folder: Path, key: SecretKey | None = None) -> None:
    """Write a bundle, signed where a key is given, to a folder that is new, empty, or holds a bundle, which is replaced.

    A crash leaves the old bundle or none. Raises InputError for any other folder, for one with other files beside the
    bundle, where nothing can be written, or where it cannot be signed.
    """
    if key is not None:
        _keep_apart(key, folder)
    require_replaceable(folder)
    files = _files(published)
    if max(map(len, files.values())) > _MAX_FILE_BYTES or sum(map(len, files.values())) > _MAX_BYTES:
        raise InputError(f"the release would be larger than the {_MAX_BYTES} bytes that are read; set search.max_cells")
    try:
        if key is not None:
            files[SIGNATURE] = signature_of(files[DESCRIPTOR], key, folder)
        replace_folder(folder, files)
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error.strerror or type(error).__name__}") from None


def require_replaceable(folder: Path, reads: tuple[Path, ...] = ()) -> None:
    """Raise InputError unless a bundle made from these files may be written to a folder, and nothing else is lost."""
    _ = OutputFolder(folder, reads)
    if not holds_bundle(folder):
        return
    try:
        others = _undeclared(folder)
    except BundleError as error:
        raise InputError(
            f"{folder} holds a release that cannot be read, {error}; remove it, or choose a new folder"
        ) from None
    if others:
        raise InputError(
            f"{folder} holds {printable(others[0])} beside a release, which would be lost with it; move it away"
        )


def _keep_apart(key: SecretKey, folder: Path) -> None:
    if key.path.resolve().is_relative_to(folder.resolve()):
        raise InputError(f"the secret key lies in {folder}, where all is published; keep it elsewhere")


def _files(published: BundleContent) -> dict[str, bytes]:
    """All files of a bundle by their paths in it."""
    files: dict[str, bytes] = {}
    resources: list[dict[str, Any]] = []
    names = _Names()
    for table in sorted(published.collection.tables, key=lambda table: tuple(table.margin.items())):
        name = names.new("-".join(f"{attribute}.{level}" for attribute, level in table.margin.items()))
        path = f"marginals/{name}.csv"
        files[path] = _csv([(*table.attributes, COUNT), *((*labels, count) for labels, count in table.cells())])
        described = {"marginal": {"levels": dict(table.margin), "total": table.total}}
        schema = {
            "fields": [
                *({"name": attribute, "type": "string"} for attribute in table.attributes),
                {"name": COUNT, "type": "integer", "constraints": {"required": True, "minimum": 1}},
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
        "title": published.title,
        "description": "Small generalized tables of counts over one table about people, private together.",
        "resources": resources,
        "release": release,
    }
    files[DESCRIPTOR] = _descriptor_bytes(package)
    files[SEAL] = seal_of(files[DESCRIPTOR])
    return files


def _listed_report(page: bytes) -> dict[str, Any]:
    """How the descriptor lists the report: beside the resources, which all are tables."""
    return {"path": REPORT, "mediatype": "text/html", "bytes": len(page), "hash": _digest(page)}


def put_report(folder: Path, page: bytes, key: SecretKey | None = None) -> None:
    """Make this page the report of a bundle, whatever report it had or lacked; all else in it stays.

    The descriptor names the new report, so a bundle that is signed must be signed again, by the key. It is first left
    unsigned and forgets the old report, and names the new one last, so that a crash leaves a bundle that verifies.
    Raises InputError where nothing can be written, or where the key is missing or does not sign.
    """
    package, sealed = _descriptor(folder), is_sealed(folder)
    if key is None and is_signed(folder):
        raise InputError(
            f"{folder} is signed, and another report would break its signature; write the page to a file of its own "
            "(--out FILE), or sign the bundle again (--sign KEYFILE, in Python sign=)"
        )

    def describing(report: dict[str, Any]) -> bytes:
        """The descriptor with this report, or none."""
        release = {key: value for key, value in package["release"].items() if key != "report"} | report
        return _descriptor_bytes({**package, "release": release})

    whole = describing({"report": _listed_report(page)})
    try:
        signature = None
        if key is not None:
            _keep_apart(key, folder)
            signature = signature_of(whole, key, folder / SIGNATURE)
            (folder / SIGNATURE).unlink(missing_ok=True)
        (folder / SEAL).unlink(missing_ok=True)
        replace_file(folder / DESCRIPTOR, describing({}))
        replace_file(folder / REPORT, page)
        replace_file(folder / DESCRIPTOR, whole)
        if sealed:
            replace_file(folder / SEAL, seal_of(whole))
        if signature is not None:
            replace_file(folder / SIGNATURE, signature)
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error.strerror or type(error).__name__}") from None


def _descriptor_bytes(package: Mapping[str, Any]) -> bytes:
    # Half a surrogate pair, which only other people's bundles have, stays the escape that JSON spells it with.
    return (json.dumps(package, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode(
        "utf-8", "backslashreplace"
    )


class _Names:
    """Resource names: what the Data Package standard allows, each used once."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def new(self, wish: str) -> str:
        """A name like the one wished for that is not taken yet."""
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


def read_bundle(folder: Path) -> BundleContent:
    """What a bundle publishes, after looking at everything in it that can be wrong.

    Raises InputError where the folder holds no bundle, and BundleError, naming the file, where it holds a bad one.
    """
    if folder.is_file():
        what = "unzip it, and name the folder" if is_zipfile(folder) else "name the folder that holds the bundle"
        raise InputError(f"{folder} is a file, and a release is a folder; {what}")
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
        elif "hierarchy" not in resource and str(resource.get("hash")).startswith("sha256:"):
            _listed_content(folder, resource)
    if not tables:
        raise BundleError(DESCRIPTOR, "there is no marginal among the resources")
    _agree(tables, release)
    collection = Collection.of(DataCube(list(tables.values())), [table.mask for table in tables.values()])
    return BundleContent(collection, roles, _claims(release, roles), _utility(release), _title(package))


def _descriptor(folder: Path) -> dict[str, Any]:
    content = _content(folder, DESCRIPTOR, _MAX_DESCRIPTOR_BYTES)
    try:
        package = json.loads(
            content.decode("utf-8"), object_pairs_hook=_distinct_keys, parse_constant=_refuse, parse_float=_finite
        )
        # Half a surrogate pair is no text: no file can be named by it, and no terminal shown it.
        json.dumps(package, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        problem = str(error) if isinstance(error, _JSONError) else "it is not valid JSON in UTF-8"
        raise BundleError(DESCRIPTOR, problem) from None
    if not isinstance(package, dict) or not isinstance(package.get("release"), dict):
        raise BundleError(DESCRIPTOR, "it describes no release: the object release is missing")
    if not _is_number(package["release"].get("format"), FORMAT):
        raise BundleError(DESCRIPTOR, f"release.format must be {FORMAT}")
    resources = package.get("resources")
    if not isinstance(resources, list) or not all(isinstance(resource, dict) for resource in resources):
        raise BundleError(DESCRIPTOR, "resources must be a list of objects")
    if len(resources) > _MAX_RESOURCES:
        raise BundleError(DESCRIPTOR, f"{len(resources)} resources are more than the {_MAX_RESOURCES} that are read")
    paths = [resource.get("path") for resource in resources]
    if not all(isinstance(path, str) for path in paths) or len(set(paths)) != len(paths):
        raise BundleError(DESCRIPTOR, "each resource must have a path of its own")
    sizes = [resource.get("bytes") for resource in resources]
    if sum(size for size in sizes if isinstance(size, int)) > _MAX_BYTES:
        raise BundleError(DESCRIPTOR, f"its resources have more than the {_MAX_BYTES} bytes that are read of a bundle")
    return package


class _JSONError(ValueError):
    """What Python reads as JSON though nobody else does, or not everybody in the same way."""


def _distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _JSONError("an object names a key twice")
    return found


def _refuse(name: str) -> float:
    raise _JSONError(f"{name} is no number that JSON knows")


def _finite(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise _JSONError("a number is larger than any that can be calculated with")
    return number


def _is_number(stated: object, number: int) -> bool:
    """Whether a whole number is stated, written as one: neither 1.0 nor 1e0 nor true."""
    return type(stated) is int and stated == number


def _content(folder: Path, path: str, limit: int) -> bytes:
    """The bytes of a file inside the bundle; nothing outside of it, and nothing larger than the limit."""
    content, size = _beginning(folder, path, limit)
    if size > limit:
        raise BundleError(path, f"it is larger than the {limit} bytes that are read")
    return content


def _beginning(folder: Path, path: str, limit: int) -> tuple[bytes, int]:
    """As many bytes of a file inside the bundle as the limit allows, and how many it has."""
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
            size = max(len(content), fstat(stream.fileno()).st_size)
    except OSError as error:
        raise BundleError(path, f"it cannot be read: {error.strerror or type(error).__name__}") from None
    except RuntimeError:
        raise BundleError(path, "it is a link that leads to itself") from None
    return content[:limit], size


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


def check_undeclared(folder: Path) -> None:
    """Raise BundleError naming a file in the folder of a bundle that its descriptor does not declare, if there is one.

    Who reads all files of a folder would take it for published. Opening a bundle reads what is declared alone, and does
    without this.
    """
    if found := _undeclared(folder):
        others = f", nor {len(found) - 1} others that were looked at" if len(found) > 1 else ""
        raise BundleError(found[0], f"{DESCRIPTOR} does not declare it{others}; remove what is no part of the release")


def _undeclared(folder: Path) -> list[str]:
    """Paths in the folder of a bundle that its descriptor does not declare.

    A report that is being replaced may be undeclared for a moment, but not in a signed bundle.
    """
    package = _descriptor(folder)
    listed = package["release"].get("report")
    declared = [DESCRIPTOR, SEAL, SIGNATURE, *(resource["path"] for resource in package["resources"])]
    if isinstance(listed, dict) and isinstance(listed.get("path"), str):
        declared.append(listed["path"])
    elif not is_signed(folder):
        declared.append(REPORT)
    try:
        return [path for path in undeclared(folder, declared) if not _is_unfinished(folder, path)]
    except OSError as error:
        raise BundleError(folder.name, f"it cannot be read: {error.strerror or type(error).__name__}") from None


def _is_unfinished(folder: Path, path: str) -> bool:
    """Whether this is what a run that was killed while it put a report there has left, and the next one removes."""
    own = (DESCRIPTOR, REPORT, SEAL, SIGNATURE)
    return any(is_leftover(path, folder / name) for name in own) and (folder / path).is_file()


def _listed_content(folder: Path, listed: Mapping[str, Any]) -> bytes:
    """The bytes of a file whose size and hash are what the descriptor says."""
    path: str = listed["path"]
    size, digest = listed.get("bytes"), listed.get("hash")
    if isinstance(size, bool) or not isinstance(size, int) or size < 0:
        raise BundleError(path, "the descriptor does not say how many bytes it has")
    if size > _MAX_FILE_BYTES:
        raise BundleError(path, f"its {size:.6g} bytes are more than the {_MAX_FILE_BYTES} that are read")
    content, found = _beginning(folder, path, size)
    if found != size:
        raise BundleError(path, f"it has {found} bytes where the descriptor says {size}")
    if digest != _digest(content):
        raise BundleError(path, "its content does not match the hash in the descriptor; it was changed")
    return content


def _rows(folder: Path, resource: Mapping[str, Any]) -> Iterator[list[str]]:
    """The header and rows of a CSV resource, one after the other, all as wide as the header."""
    path: str = resource["path"]
    content = _listed_content(folder, resource)
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
    if len(attributes) > _MAX_ATTRIBUTES:
        raise BundleError(DESCRIPTOR, f"there are more than the {_MAX_ATTRIBUTES} attributes that are read")
    if COUNT in attributes:
        raise BundleError(DESCRIPTOR, f"an attribute {COUNT!r} would give marginals two columns of this name")
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
    left = _MAX_LABELS
    for resource in resources:
        if "hierarchy" not in resource:
            continue
        path, described = resource["path"], resource["hierarchy"]
        attribute = described.get("attribute") if isinstance(described, dict) else None
        if not isinstance(attribute, str) or attribute not in roles or attribute in hierarchies:
            raise BundleError(path, "it must be the one hierarchy of an attribute of the release")
        rows = _rows(folder, resource)
        header = next(rows)
        if len(header) > _MAX_LEVELS or header != [f"level{level}" for level in range(len(header))]:
            raise BundleError(path, f"its header must be level0,level1,..., and not more than {_MAX_LEVELS} of them")
        paths = list(islice(map(tuple, rows), left // len(header) + 1))
        left -= len(paths) * len(header)
        if left < 0:
            raise BundleError(path, f"the hierarchies have more than the {_MAX_LABELS} labels that are read")
        try:
            hierarchies[attribute] = Hierarchy.from_rows(paths)
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
    rows = _rows(folder, resource)
    header = next(rows)
    if sorted(header[:-1]) != sorted(levels) or header[-1:] != [COUNT]:
        raise BundleError(path, "its header must be the attributes of marginal.levels, then count")
    batches: list[list[CodeArray]] = []
    read = 0
    while batch := list(islice(rows, _BATCH)):
        *columns, counted = zip(*batch)
        codes = [
            _codes(path, read, domain, attribute, levels[attribute], column)
            for attribute, column in zip(header, columns)
        ]
        batches.append([*codes, _counts(path, read, counted)])
        read += len(batch)
    joined = [np.concatenate(parts) for parts in zip(*batches)] or [np.zeros(0, dtype=np.int64) for _ in header]
    if joined[-1].sum(dtype=np.float64) > _MAX_ROWS:
        raise BundleError(path, f"its counts sum to more than the {_MAX_ROWS} rows that are counted exactly")
    by_attribute = {attribute: found for attribute, found in zip(header, joined[:-1]) if attribute in margin}
    table = ContingencyTable.from_cells(domain, margin, by_attribute, joined[-1])
    if len(table) != read:
        raise BundleError(path, "a cell stands in two rows")
    if not _is_number(described.get("total"), table.total):
        raise BundleError(path, f"its counts sum to {table.total}, which is not its marginal.total")
    return table


def _codes(path: str, before: int, domain: Domain, attribute: str, level: int, labels: Sequence[str]) -> CodeArray:
    """The codes of some rows' labels. before: how many rows came before them."""
    hierarchy = domain.hierarchy(attribute)
    found = np.array([-1 if (code := hierarchy.code(label, level)) is None else code for label in labels])
    if (unknown := np.flatnonzero(found < 0)).size:
        problem = f"has a value of {attribute!r} that its hierarchy lacks at level {level}"
        raise BundleError(path, f"row {before + int(unknown[0]) + 1} {problem}")
    return found.astype(smallest_code_dtype(hierarchy.size(level)))


def _counts(path: str, before: int, stated: Sequence[str]) -> CountArray:
    for number, count in enumerate(stated, before + 1):
        if not _COUNT.fullmatch(count):
            raise BundleError(path, f"the count in row {number} is not a whole number from 1 on and below 10^15")
    return np.array([int(count) for count in stated], dtype=np.int64)


def _agree(tables: Mapping[str, ContingencyTable], release: Mapping[str, Any]) -> None:
    """Raise BundleError unless all totals are those of the release and the marginals agree."""
    for path, table in tables.items():
        if not _is_number(release.get("rows"), table.total):
            raise BundleError(path, f"it counts {table.total} rows, which is not release.rows")
    check_agreement(tables)


def check_agreement(tables: Mapping[str, ContingencyTable]) -> None:
    """Raise BundleError naming two tables that differ on their common margin. tables: by what to call them."""
    first: dict[Mask, tuple[str, ContingencyTable]] = {}
    compared: set[tuple[str, Mask]] = set()
    for (path, table), (other_path, other) in combinations(tables.items(), 2):
        common = table.mask & other.mask
        for place, each in ((path, table), (other_path, other)):
            if not common or (place, common) in compared:
                continue
            compared.add((place, common))
            margin = table.domain.margin(common)
            rolled = each.rolled_up(margin)
            known_place, known = first.setdefault(common, (place, rolled))
            if not equal_cells([known, rolled]):
                problem = f"it contradicts {known_place}: they differ on their common margin ({margin})"
                raise BundleError(place, problem)


def _claims(release: Mapping[str, Any], roles: Mapping[str, Role]) -> tuple[Claim, ...]:
    stated = release.get("privacy", [])
    if not isinstance(stated, list) or not all(isinstance(claim, dict) for claim in stated):
        raise BundleError(DESCRIPTOR, "release.privacy must be a list of claims")
    if len(stated) > _MAX_CLAIMS:
        raise BundleError(DESCRIPTOR, f"release.privacy has more than the {_MAX_CLAIMS} claims that are checked")
    try:
        claims = tuple(map(parse_claim, stated))
    except MarginalsError as error:
        raise BundleError(DESCRIPTOR, f"release.privacy: {error}") from None
    for claim in claims:
        if isinstance(claim, MaxentDiversity) and roles.get(claim.sensitive) is not Role.SENSITIVE:
            raise BundleError(DESCRIPTOR, "release.privacy claims diversity for an attribute that is not sensitive")
    return claims


def _title(package: Mapping[str, Any]) -> str:
    """What the package is called, on one line, as far as it is text; the title of packages without one."""
    stated = package.get("title")
    return printable(" ".join(stated.split())) if isinstance(stated, str) and stated.strip() else TITLE


def _utility(release: Mapping[str, Any]) -> Utility | None:
    stated = release.get("utility")
    if not isinstance(stated, dict):
        return None
    kl_divergence, kl_suppressed, kl_best_table = (
        _measure(stated.get(key)) for key in ("kl_divergence", "kl_suppressed", "kl_best_table")
    )
    if kl_divergence is None or kl_suppressed is None:
        return None
    return Utility(kl_divergence, kl_suppressed, kl_best_table)


def _measure(stated: object) -> float | None:
    """A number that a divergence can be, or None; whole numbers in JSON have no end."""
    if isinstance(stated, bool) or not isinstance(stated, int | float) or abs(stated) > _MAX_ROWS:
        return None
    return float(stated)
