"""Folders and files that appear whole or not at all."""

import errno
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path


def replace_folder(target: Path, files: Mapping[str, bytes]) -> None:
    """Make `target` a folder of exactly these files, given by their paths in it.

    The files are written and flushed to a new folder beside the target, which then takes its place. A crash leaves the
    old folder, none, or the new one. Raises OSError, leaving no trace, where something cannot be written.
    """
    target = target.absolute()
    if target.is_dir() and target.samefile(Path.cwd()):
        # It would be replaced under the feet of whoever stands in it.
        raise OSError(errno.EBUSY, "it is the current folder; name one of its own")
    target.parent.mkdir(parents=True, exist_ok=True)
    _sweep(target)
    fresh = Path(tempfile.mkdtemp(prefix=_prefix(target), dir=target.parent))
    try:
        for path, content in files.items():
            file = fresh / path
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("wb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
        fresh.chmod(0o755)
        if target.exists():
            old = fresh.with_name(fresh.name + ".old")
            target.rename(old)
            fresh.rename(target)
            shutil.rmtree(old)
        else:
            fresh.rename(target)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def replace_file(target: Path, content: bytes) -> None:
    """Make `target` a file of this content: written and flushed beside it, then moved there. Raises OSError."""
    handle, name = tempfile.mkstemp(prefix=_prefix(target), dir=target.parent)
    fresh = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        fresh.chmod(0o644)
        fresh.replace(target)
    finally:
        fresh.unlink(missing_ok=True)


def _prefix(target: Path) -> str:
    return f".{target.name}.writing-"


def _sweep(target: Path) -> None:
    """Remove what a killed run has left beside the target."""
    for leftover in target.parent.glob(f"{_prefix(target)}*"):
        shutil.rmtree(leftover, ignore_errors=True)
