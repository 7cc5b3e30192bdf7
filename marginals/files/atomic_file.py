"""Files that appear whole or not at all."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from marginals.errors import InputError
from marginals.files.leftovers import prefix, remove_leftovers
from marginals.files.links import resolved

PUBLIC, PRIVATE = 0o666, 0o600
"""Who may read and write a file: those whom the umask lets, or its owner alone."""


def replace_file(path: Path, content: bytes, mode: int = PUBLIC) -> None:
    """Make `path` a file of this content; a crash leaves the old file or none.

    mode: who may read it, as far as the umask lets. Raises InputError, leaving no trace, where it cannot be written. A
    device or pipe is written to as it is.
    """
    with fresh_file(path, mode) as fresh:
        fresh.write_bytes(content)


@contextmanager
def fresh_file(path: Path, mode: int = PUBLIC) -> Iterator[Path]:
    """A new file to write, whose content becomes that of `path` unless what is done meanwhile raises.

    Mode and errors as for `replace_file`, OSErrors of what is done meanwhile among them.
    """
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            with tempfile.TemporaryDirectory(prefix="marginals-") as folder:
                fresh = Path(folder) / "whole"
                yield fresh
                with fresh.open("rb") as whole, path.open("wb") as device:
                    shutil.copyfileobj(whole, device)
            return
        with _beside(resolved(path), mode) as fresh:
            yield fresh
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or type(error).__name__}") from None


@contextmanager
def _beside(path: Path, mode: int) -> Iterator[Path]:
    path.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(path)
    descriptor, name = tempfile.mkstemp(prefix=prefix(path), dir=path.parent)
    os.close(descriptor)
    fresh = Path(name)
    try:
        yield fresh
        with fresh.open("r+b") as stream:
            os.fsync(stream.fileno())
        # mkstemp lets only the owner read; what is published may be read by those whom the umask lets.
        mask = os.umask(0)
        os.umask(mask)
        fresh.chmod(mode & ~mask)
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)
