"""Files that a command may write, known before its work begins, and that harm nothing.

Such a file is no input of the command, and would not be read with its inputs the next time. It lies in no release, and its
folder takes it, or is made with it. What is there already is a question of its own, `refuse_to_replace`.
"""

import os
import tempfile
from contextlib import AbstractContextManager
from pathlib import Path

from marginals.errors import InputError
from marginals.files import (
    DESCRIPTOR,
    MAX_DESCRIPTOR_BYTES,
    PUBLIC,
    open_regular,
    prefix,
    refusals,
    replace_file,
    replaced_meanwhile,
    resolved,
)
from marginals.tables.opening import is_part
from models.frozen import frozen


@frozen
class OutputFile:
    """A file that may be written.

    reads: what it is made from, files, or folders and globs of a table. mode: who may read it. Raises InputError where it
    may not be written, as in a release. A device or pipe is taken as it is.
    """

    path: Path
    reads: tuple[Path, ...] = ()
    mode: int = PUBLIC

    def __post_init__(self) -> None:
        with refusals(self.path):
            keep_apart(self.path, self.reads)
            if self.path.is_dir():
                raise InputError(f"{self.path} is a folder; name a file")
            if not self.is_device:
                require_place(self.path)

    @property
    def is_device(self) -> bool:
        """Return whether it is there and no regular file, such as /dev/null or a pipe."""
        return self.path.exists() and not self.path.is_file() and not self.path.is_dir()

    def refuse_to_replace(self) -> None:
        """Raise InputError where a file is there already."""
        if not self.is_device:
            refuse_to_replace(self.path)

    def write(self, content: bytes) -> None:
        """Make it a file of this content, whole or not at all. Raises InputError where it cannot be written."""
        replace_file(self.path, content, self.mode)

    def unless_it_fails(self, content: bytes) -> AbstractContextManager[None]:
        """Meanwhile and afterwards it is a file of this content; as it was before where what is done meanwhile raises."""
        return replaced_meanwhile(self.path, content, lambda: False, self.mode)


def holds_bundle(folder: Path) -> bool:
    """Return whether a folder holds a bundle, even a damaged one.

    A folder with just a Data Package, or with a file that nobody may read, holds none.
    """
    try:
        with open_regular(folder / DESCRIPTOR) as stream:
            return b'"release"' in stream.read(MAX_DESCRIPTOR_BYTES)
    except OSError:
        return False


def keep_apart(path: Path, reads: tuple[Path, ...]) -> None:
    """Raise InputError where a path is one of those that are read, would be read with them, or lies in a release."""
    place = resolved(path)
    for read in reads:
        with refusals(read, "read"):
            resolved(read)
        if is_part(read, path):
            raise InputError(
                f"{path} is an input file, or would be read with the input {read} the next time; choose another name"
            )
    for folder in place.parents:
        if holds_bundle(folder):
            raise InputError(f"{path} lies in the release {folder}, whose files belong together; choose another place")


def refuse_to_replace(path: Path) -> None:
    """Raise InputError where a file is there already."""
    if os.path.lexists(path):
        raise InputError(f"{path} is there already; choose another name, or replace it with --force")


def require_place(path: Path) -> None:
    """Raise OSError unless the first folder above a path that is there takes a new file; writing makes those between."""
    place = resolved(path)
    folder = next(folder for folder in place.parents if folder.exists())
    descriptor, name = tempfile.mkstemp(prefix=prefix(place), dir=folder)
    os.close(descriptor)
    Path(name).unlink(missing_ok=True)  # another run may have taken it for what a killed one left
