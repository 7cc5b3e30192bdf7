"""The seal of a bundle: the digest of its descriptor, which holds the digests of all other files.

It is written as `sha256sum` writes it, so `sha256sum --check` reads it. It tells damage and carelessness, not malice: who
changes a bundle on purpose can seal it anew, unless the descriptor is signed.
"""

import hashlib

from marginals.bundle.format import DESCRIPTOR
from marginals.errors import BundleError

SEAL = "datapackage.json.sha256"


def seal_of(descriptor: bytes) -> bytes:
    """The content of the seal of a descriptor."""
    return f"{hashlib.sha256(descriptor).hexdigest()}  {DESCRIPTOR}\n".encode()


def check_seal(seal: bytes, descriptor: bytes) -> None:
    """Raise BundleError unless a seal is that of the descriptor."""
    if seal != seal_of(descriptor):
        problem = f"{DESCRIPTOR} is not what was sealed; it or its seal was changed"
        raise BundleError(SEAL, f"{problem} (sha256sum {DESCRIPTOR} > {SEAL} seals what you changed on purpose)")
