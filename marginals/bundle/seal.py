"""The seal of a bundle: the digest of its descriptor, which holds the digests of all other files.

It is written as `sha256sum` writes it, so `sha256sum --check` reads it. It tells damage and carelessness, not malice: who
changes a bundle on purpose can seal it anew, unless the descriptor is signed.
"""

import hashlib
from pathlib import Path

from marginals.errors import BundleError

SEAL = "datapackage.json.sha256"


def seal_of(descriptor: bytes) -> bytes:
    """The content of the seal of a descriptor."""
    return f"{hashlib.sha256(descriptor).hexdigest()}  datapackage.json\n".encode()


def is_sealed(folder: Path) -> bool:
    """Whether a bundle has a seal, which must be right; bundles of other programs may have none. Raises BundleError."""
    file = folder / SEAL
    if not file.exists() and not file.is_symlink():
        return False
    if not file.is_file() or file.is_symlink():
        raise BundleError(SEAL, "it is not a file")
    expected = seal_of((folder / "datapackage.json").read_bytes())
    with file.open("rb") as stream:
        stated = stream.read(len(expected) + 1)
    if stated != expected:
        problem = "datapackage.json is not what was sealed; it or its seal was changed"
        raise BundleError(SEAL, f"{problem} (sha256sum datapackage.json > {SEAL} seals what you changed on purpose)")
    return True
