"""Keys that sign releases, in files as minisign writes them; always the same for a name."""

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from unittest.mock import patch

from marginals.bundle import signature
from marginals.bundle.signature import SecretKey


@dataclass(frozen=True)
class Keys:
    """A pair of keys, in files."""

    public: Path
    secret: Path

    @property
    def text(self) -> str:
        return self.public.read_text().split("\n")[1]


def write_keys(folder: Path, name: str, password: str = "") -> Keys:
    """Keys with or without a password, which costs next to nothing to check: minisign's takes seconds and a gigabyte."""
    keys = Keys(folder / f"{name}.pub", folder / f"{name}.key")
    key = SecretKey(keys.secret, sha256(name.encode()).digest()[:8], sha256(b"seed" + name.encode()).digest())
    with patch.multiple(signature, _OPERATIONS=1 << 15, _MEMORY=1 << 24):
        secret, public = key.files(password)
    keys.secret.write_bytes(secret)
    keys.public.write_bytes(public)
    return keys
