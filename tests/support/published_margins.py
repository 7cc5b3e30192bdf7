"""Bundles of any margins of a table with any claims, whether or not a policy would publish them."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import marginals
from checks import Claim
from marginals.bundle.content import BundleContent
from marginals.bundle.signature import SEAL, seal_of
from marginals.bundle.snapshot import descriptor_bytes
from models import Collection, DataCube
from written_bundles import write_bundle


def write_margins(
    table: marginals.Table, margins: Sequence[Mapping[str, int]], folder: Path, claims: Sequence[Claim] = ()
) -> Path:
    """Write a bundle of these margins of a table, which says that the claims hold; returns its folder."""
    masks = [table.domain.mask(dict(margin)) for margin in margins]
    alone = Collection.of(DataCube([table.cube.table(mask) for mask in masks]), masks)
    write_bundle(BundleContent(alone, table.roles, tuple(claims)), folder)
    return folder


def change_descriptor(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change what a bundle says of its release, and seal it anew."""
    package = json.loads((folder / "datapackage.json").read_text(encoding="utf-8"))
    change(package["release"])
    content = descriptor_bytes(package)
    (folder / "datapackage.json").write_bytes(content)
    (folder / SEAL).write_bytes(seal_of(content))
