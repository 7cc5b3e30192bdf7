"""Keys that sign releases, in files as minisign writes them; always the same for a name."""

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from marginals.bundle.signature import SecretKey


@dataclass(frozen=True)
class Keys:
    """A pair of keys, in files."""

    public: Path
    secret: Path

    @property
    def text(self) -> str:
        return self.public.read_text().split("\n")[1]


def write_keys(folder: Path, name: str) -> Keys:
    keys = Keys(folder / f"{name}.pub", folder / f"{name}.key")
    key = SecretKey(keys.secret, sha256(name.encode()).digest()[:8], sha256(b"seed" + name.encode()).digest())
    keys.secret.write_bytes(key.files[0])
    keys.public.write_bytes(key.files[1])
    return keys
