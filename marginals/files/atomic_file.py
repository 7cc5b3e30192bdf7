"""Files that appear whole or not at all."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from marginals.errors import InputError
from marginals.files.leftovers import prefix, remove_leftovers
from marginals.files.links import resolved
from marginals.unnamed_files import on_disk

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

    Where the system has files without a name it has none until it is whole, so a crash leaves nothing of it. Mode and errors
    as for `replace_file`, OSErrors of what is done meanwhile among them.
    """
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            with _waiting(Path(tempfile.gettempdir()), path) as fresh:
                yield fresh
                with fresh.open("rb") as whole, path.open("wb") as device:
                    shutil.copyfileobj(whole, device)
            return
        place = resolved(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        remove_leftovers(place)
        with _waiting(place.parent, place) as fresh:
            yield fresh
            _put(fresh, place, mode)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or type(error).__name__}") from None


@contextmanager
def _waiting(folder: Path, target: Path) -> Iterator[Path]:
    """A new file on the disk of a folder that only the owner may read, without a name where that is possible."""
    with ExitStack() as held:
        try:
            fresh = held.enter_context(on_disk(folder))
        except OSError:
            fresh = held.enter_context(_named(folder, target))
        yield fresh


@contextmanager
def _named(folder: Path, target: Path) -> Iterator[Path]:
    descriptor, name = tempfile.mkstemp(prefix=prefix(target), dir=folder)
    os.close(descriptor)
    try:
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def _put(fresh: Path, target: Path, mode: int) -> None:
    """Make a file that is whole the target."""
    with fresh.open("r+b") as stream:
        os.fsync(stream.fileno())
    # So far only the owner may read it.
    mask = os.umask(0)
    os.umask(mask)
    fresh.chmod(mode & ~mask)
    if fresh.parent == target.parent:
        fresh.replace(target)
        return
    # A name can be given to a file, but not one that is taken; so it gets one of its own first.
    with _named(target.parent, target) as name:
        name.unlink()
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            # Links are followed only where a folder is given.
            os.link(fresh, name.name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=True)
        finally:
            os.close(folder)
        name.replace(target)
