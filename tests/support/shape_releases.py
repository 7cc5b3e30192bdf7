"""Releases in every shape, as somebody sees them who has the bundle alone."""

from pathlib import Path

import marginals
from marginals import Role
from models import Collection, DataCube
from strategies import SHAPE_DOMAIN, SHAPES, shape_cube
from written_bundles import bundle_content, write_bundle

ROLES = {a: Role.SENSITIVE if a == "d" else Role.QUASI_IDENTIFIER for a in SHAPE_DOMAIN.attributes}


def release_of(shape: str, folder: Path) -> marginals.Release:
    """A release of the margins of a shape, read back from its bundle in a folder."""
    whole = Collection.of(shape_cube(), map(SHAPE_DOMAIN.mask, SHAPES[shape]))
    alone = Collection.of(DataCube(whole.tables), whole.masks)
    write_bundle(bundle_content(alone, ROLES), folder / shape)
    return marginals.open_release(folder / shape)
