"""Bundles of whatever content, written with the page that releases have."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from checks import Claim
from marginals import Release, Role, Table
from marginals.bundle import writing
from marginals.bundle.content import BundleContent
from marginals.bundle.signature import seal_of
from marginals.pages.release_page import report_html
from models import Collection, DataCube

Content = BundleContent
"""What a bundle says: `Release.published`."""

DESCRIPTOR, SEAL, SIGNATURE = "datapackage.json", "datapackage.json.sha256", "datapackage.json.minisig"


def bundle_content(
    collection: Collection, roles: Mapping[str, Role], claims: Sequence[Claim] = (), **stated: Any
) -> Content:
    """The content of a bundle with these marginals."""
    return BundleContent(collection, roles, tuple(claims), **stated)


def write_bundle(content: Content, folder: Path) -> None:
    """Write what is published, unsigned."""
    writing.write_bundle(content, folder, report_html(content))


def report_of(content: Content) -> bytes:
    """The page that goes with a bundle."""
    return report_html(content)


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


def write_margins(
    table: Table, margins: Sequence[Mapping[str, int]], folder: Path, claims: Sequence[Claim] = ()
) -> Path:
    """Write a bundle of these margins of a table, which says that the claims hold; returns its folder."""
    collection = Collection.of(table.cube, [table.domain.mask(dict(margin)) for margin in margins])
    write_bundle(release_of(collection, table.roles, claims).published, folder)
    return folder


def change_descriptor(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change what a bundle says of its release, and seal it anew."""
    package = json.loads((folder / DESCRIPTOR).read_text(encoding="utf-8"))
    change(package["release"])
    (folder / DESCRIPTOR).write_text(json.dumps(package), encoding="utf-8")
    seal(folder)
