"""What a command may write, known before its work begins: a file or a release's folder that harms nothing.

It is none of what the command reads, nor would be read with it the next time; it lies in no bundle, whose files belong
together; and there is a folder that takes it. What is there already is a question of its own, `refuse_to_replace`.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from marginals.bundle.descriptor import holds_bundle
from marginals.errors import InputError
from marginals.files.atomic_file import replace_file
from marginals.files.leftovers import prefix
from marginals.tables.sources.files import files_at, is_part


@dataclass(frozen=True)
class OutputFile:
    """A file that may be written. reads: what it is made from, files, or folders and globs of a table.

    Raises InputError where it may not. A device or pipe is taken as it is.
    """

    path: Path
    reads: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        with _refusals(self.path):
            keep_apart(self.path, self.reads)
            if self.path.is_dir():
                raise InputError(f"{self.path} is a folder; name a file")
            if not self.is_device:
                _require_place(self.path, self.path.resolve().parent)

    @property
    def is_device(self) -> bool:
        """Whether it is there and no regular file, such as /dev/null or a pipe."""
        return self.path.exists() and not self.path.is_file() and not self.path.is_dir()

    def refuse_to_replace(self) -> None:
        """Raise InputError where a file is there already."""
        if not self.is_device:
            refuse_to_replace(self.path)

    def write(self, content: bytes) -> None:
        """Make it a file of this content, whole or not at all. Raises InputError where it cannot be written."""
        replace_file(self.path, content)


@dataclass(frozen=True)
class OutputFolder:
    """A folder that a release may be written to: new, empty, or holding a release, which is replaced.

    reads: as of OutputFile. Raises InputError for any other.
    """

    path: Path
    reads: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        with _refusals(self.path):
            self._require_release_or_nothing()
            keep_apart(self.path, self.reads)
            for read in self.reads:
                self._keep_apart(read)
            # A release may lie deeper than there are folders; those between are made with it.
            _require_place(self.path, next(folder for folder in self.path.resolve().parents if folder.exists()))

    def _require_release_or_nothing(self) -> None:
        folder = self.path
        if folder.exists() and not folder.is_dir():
            raise InputError(f"{folder} is a file; a release is written to a folder")
        if folder.is_dir() and any(folder.iterdir()) and not holds_bundle(folder):
            raise InputError(f"{folder} holds other things than a release; choose a new folder")
        if folder.is_dir() and folder.samefile(Path.cwd()):
            raise InputError(f"{folder} is the current folder; name one of its own")

    def _keep_apart(self, read: Path) -> None:
        folder = self.path.resolve()
        if any(file.resolve().is_relative_to(folder) for file in files_at(read)):
            raise InputError(f"{read} lies in {self.path}, which the release would replace; choose another folder")
        if read.is_dir() and folder.is_relative_to(read.resolve()):
            raise InputError(f"{self.path} lies in {read}, all of which is read as one table; choose another folder")


def keep_apart(path: Path, reads: tuple[Path, ...]) -> None:
    """Raise InputError where a path is one of those that are read, would be read with them, or lies in a bundle."""
    for read in reads:
        if is_part(read, path):
            raise InputError(f"{path} would replace or join what is read, {read}; choose another name")
    for folder in path.resolve().parents:
        if holds_bundle(folder):
            raise InputError(f"{path} lies in the release {folder}, whose files belong together; choose another place")


def refuse_to_replace(path: Path) -> None:
    """Raise InputError where a file is there already."""
    if os.path.lexists(path):
        raise InputError(f"{path} is there already; choose another name, or replace it with --force")


def _require_place(path: Path, folder: Path) -> None:
    """Raise InputError or OSError unless there is this folder and it takes a new file, which writing begins with."""
    if not folder.is_dir():
        raise InputError(f"{path} cannot be written: there is no folder {folder}")
    with tempfile.NamedTemporaryFile(prefix=prefix(path.resolve()), dir=folder):
        pass


@contextmanager
def _refusals(path: Path) -> Iterator[None]:
    """What goes wrong in looking at a path, as InputErrors."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or type(error).__name__}") from None
    except RuntimeError:
        raise InputError(f"{path} cannot be written: it is a link that leads to itself") from None
