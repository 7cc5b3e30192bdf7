"""Bundles of whatever content, written with the page that releases have, by hand, or changed afterwards."""

import csv
import hashlib
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from checks import Claim
from marginals import Release, Role, Table
from marginals.bundle import writing
from marginals.bundle.content import BundleContent
from marginals.bundle.signature import seal_of
from marginals.pages.release_page import report_html
from models import Collection, ContingencyTable, DataCube, Hierarchy

Change = Callable[[dict[str, Any]], object]
"""Of a descriptor."""

Content = BundleContent
"""The content of a bundle: `Release.published`."""

DESCRIPTOR, SEAL, SIGNATURE = "datapackage.json", "datapackage.json.sha256", "datapackage.json.minisig"


def bundle_content(
    collection: Collection, roles: Mapping[str, Role], claims: Sequence[Claim] = (), **stated: Any
) -> Content:
    return BundleContent(collection, roles, tuple(claims), **stated)


def write_bundle(content: Content, folder: Path) -> None:
    writing.write_bundle(content, folder, report_html(content))


def report_of(content: Content) -> bytes:
    return report_html(content)


def release_files(release: Release) -> dict[str, bytes]:
    """Every byte of a release by the paths of its files, the report among them."""
    return writing.bundle_files(release.published, report_html(release.published))


def sealed(descriptor: bytes) -> bytes:
    """The file beside a descriptor by which everybody sees that it was not changed."""
    return seal_of(descriptor)


def seal(folder: Path) -> None:
    """Seal a bundle anew whose descriptor was changed."""
    (folder / SEAL).write_bytes(sealed((folder / DESCRIPTOR).read_bytes()))


def release_of(
    collection: Collection, roles: Mapping[str, Role] | None = None, claims: Sequence[Claim] = ()
) -> Release:
    """A release of these margins alone, whether or not a policy allows them. roles: quasi-identifiers, if not given."""
    alone = Collection.of(DataCube(collection.tables), collection.masks)
    roles = roles or dict.fromkeys(collection.domain.attributes, Role.QUASI_IDENTIFIER)
    return Release(bundle_content(alone, roles, claims))


def tables_content(
    tables: Iterable[ContingencyTable], roles: Mapping[str, Role], claims: Sequence[Claim] = (), **stated: Any
) -> Content:
    parts = list(tables)
    return bundle_content(Collection.of(DataCube(parts), [part.mask for part in parts]), roles, claims, **stated)


def write_margins(
    table: Table, margins: Iterable[Mapping[str, int]], folder: Path, claims: Sequence[Claim] = (), **stated: Any
) -> Path:
    """Write a bundle of these margins of a table, which says that the claims hold; returns its folder."""
    parts = [table.cube.table(table.domain.mask(margin)) for margin in margins]
    write_bundle(tables_content(parts, table.roles, claims, **stated), folder)
    return folder


def change_package(folder: Path, change: Change) -> Path:
    """Change the descriptor of a bundle, and leave it without a seal."""
    package = json.loads((folder / DESCRIPTOR).read_bytes())
    change(package)
    (folder / DESCRIPTOR).write_text(json.dumps(package))
    (folder / SEAL).unlink(missing_ok=True)
    return folder


def change_descriptor(folder: Path, change: Change) -> None:
    change_package(folder, lambda package: change(package["release"]))
    seal(folder)


def put_file(folder: Path, resource: dict[str, Any], content: bytes) -> None:
    """Write a file of a bundle, and say in its resource how many bytes it has and their hash."""
    path = folder / resource["path"]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    resource.update(declared(content))


def declared(content: bytes) -> dict[str, Any]:
    return {"bytes": len(content), "hash": "sha256:" + hashlib.sha256(content).hexdigest()}


def first_of(package: dict[str, Any], kind: str) -> dict[str, Any]:
    """The first resource of a descriptor that is a `marginal` or a `hierarchy`."""
    found: dict[str, Any] = next(resource for resource in package["resources"] if kind in resource)
    return found


def write_by_hand(
    folder: Path, hierarchies: Mapping[str, Hierarchy], files: Sequence[tuple[Mapping[str, int], bytes]], rows: int
) -> Path:
    """Write a bundle as another program does. files: marginals, each with the levels of its attributes."""
    resources = []
    for number, (name, hierarchy) in enumerate(hierarchies.items()):
        values = list(hierarchy.rows())
        resource = {"path": f"hierarchies/{number}.csv", "hierarchy": {"attribute": name}}
        put_file(folder, resource, csv_of([[f"level{n}" for n in range(len(values[0]))], *values], csv.QUOTE_ALL))
        resources.append(resource)
    for number, (levels, content) in enumerate(files):
        resource = {"path": f"marginals/{number}.csv", "marginal": {"levels": dict(levels), "total": rows}}
        put_file(folder, resource, content)
        resources.append(resource)
    release = {"format": 1, "rows": rows, "attributes": {name: {"role": "quasi-identifier"} for name in hierarchies}}
    (folder / DESCRIPTOR).write_text(json.dumps({"resources": resources, "release": release}))
    return folder


def csv_of(rows: Iterable[Sequence[object]], quoting: Literal[0, 1] = csv.QUOTE_MINIMAL) -> bytes:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n", quoting=quoting).writerows(rows)
    return stream.getvalue().encode()
