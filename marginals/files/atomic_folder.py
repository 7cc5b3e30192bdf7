"""Folders and files that appear whole or not at all."""

import errno
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from marginals.files.leftovers import prefix, remove_leftovers
from marginals.files.links import resolved


def replace_folder(target: Path, files: Mapping[str, bytes]) -> None:
    """Make `target` a folder of exactly these files, given by their paths in it.

    The files are written and flushed to a new folder beside the target, which then takes its place; where the target is
    a link, beside what it links to. A crash leaves the old folder, none, or the new one, and what it leaves beside them
    the next writing removes. Raises OSError, leaving no trace, where something cannot be written.
    """
    target = resolved(target)
    if target.is_dir() and target.samefile(Path.cwd()):
        # It would be replaced under the feet of whoever stands in it.
        raise OSError(errno.EBUSY, "it is the current folder; name one of its own")
    target.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(target)
    fresh = Path(tempfile.mkdtemp(prefix=prefix(target), dir=target.parent))
    try:
        for path, content in files.items():
            file = fresh / path
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("wb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
        fresh.chmod(0o755)
        _put(fresh, target)
    finally:
        _remove(fresh)


def _put(fresh: Path, target: Path) -> None:
    """Move a folder to the target. What stood there goes away, and comes back where the move fails."""
    old = fresh.with_name(fresh.name + ".old")
    try:
        if target.exists():
            target.rename(old)
        fresh.rename(target)
    except BaseException:
        if old.exists() and not target.exists():
            old.rename(target)
        raise
    finally:
        if target.exists():
            _remove(old)


def _remove(folder: Path) -> None:
    """Remove a folder as far as that is possible, also when a signal interrupts it."""
    try:
        shutil.rmtree(folder, ignore_errors=True)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
