"""Files that appear whole or not at all."""

import os
import tempfile
from pathlib import Path

from marginals.errors import InputError
from marginals.leftovers import prefix, sweep


def replace_file(path: Path, content: bytes) -> None:
    """Make `path` a file of this content; a crash leaves the old file or none.

    Raises InputError, leaving no trace, where it cannot be written. A device or pipe is written to as it is.
    """
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            path.write_bytes(content)
            return
        _replace(path, content)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or type(error).__name__}") from None


def _replace(path: Path, content: bytes) -> None:
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    sweep(path)
    descriptor, name = tempfile.mkstemp(prefix=prefix(path), dir=path.parent)
    fresh = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        # mkstemp lets only the owner read; what is published may be read by those whom the umask lets.
        mask = os.umask(0)
        os.umask(mask)
        fresh.chmod(0o666 & ~mask)
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)
