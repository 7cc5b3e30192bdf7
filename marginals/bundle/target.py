"""Where a release may be written, and what may not be written because a release is there."""

from dataclasses import dataclass
from pathlib import Path

from marginals.bundle.content import DESCRIPTOR, MAX_DESCRIPTOR_BYTES, REPORT
from marginals.bundle.snapshot import Snapshot, own_leftovers
from marginals.errors import BundleError, InputError
from marginals.files import open_regular, resolved
from marginals.messages import printable
from marginals.output import OutputFile, keep_apart, refusals, require_place
from marginals.tables.files import files_at


def holds_bundle(folder: Path) -> bool:
    """Whether a folder holds a bundle, be it damaged, and not just a Data Package or a file that nobody may read."""
    file = folder / DESCRIPTOR
    try:
        with open_regular(file) as stream:
            return b'"release"' in stream.read(MAX_DESCRIPTOR_BYTES)
    except OSError:
        return False


def output_file(path: Path, reads: tuple[Path, ...] = ()) -> OutputFile:
    """A file that may be written, and lies in no bundle. reads: what it is made from. Raises InputError where it may not."""
    return OutputFile(path, reads, release_at)


def release_at(folder: Path) -> str:
    """The release that a folder holds, in words; empty where it holds none."""
    return f"the release {folder}, whose files belong together" if holds_bundle(folder) else ""


@dataclass(frozen=True)
class OutputFolder:
    """A folder that a release may be written to: new, empty, or holding a release, which is replaced.

    reads: what it is made from, files, or folders and globs of a table. Raises InputError for any other.
    """

    path: Path
    reads: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        with refusals(self.path):
            self._require_release_or_nothing()
            keep_apart(self.path, self.reads, release_at)
            for read in self.reads:
                self._keep_apart(read)
            # A release may lie deeper than there are folders; those between are made with it.
            require_place(self.path, next(folder for folder in resolved(self.path).parents if folder.exists()))

    def _require_release_or_nothing(self) -> None:
        folder = self.path
        if folder.exists() and not folder.is_dir():
            raise InputError(f"{folder} is a file; a release is written to a folder")
        if folder.is_dir() and any(folder.iterdir()) and not holds_bundle(folder):
            raise InputError(f"{folder} holds other things than a release; choose a new folder")
        if folder.is_dir() and folder.samefile(Path.cwd()):
            raise InputError(f"{folder} is the current folder; name one of its own")

    def _keep_apart(self, read: Path) -> None:
        folder = resolved(self.path)
        if any(resolved(file).is_relative_to(folder) for file in files_at(read)):
            raise InputError(f"{read} lies in {self.path}, which the release would replace; choose another folder")
        if read.is_dir() and folder.is_relative_to(resolved(read)):
            raise InputError(f"{self.path} lies in {read}, all of which is read as one table; choose another folder")


def require_replaceable(folder: Path, reads: tuple[Path, ...] = ()) -> None:
    """Raise InputError unless a bundle made from these files may be written to a folder, and nothing else is lost."""
    _ = OutputFolder(folder, reads)
    if not holds_bundle(folder):
        return
    try:
        snapshot = Snapshot.of(folder)
        unfinished = {*own_leftovers(folder, snapshot.undeclared), *([] if snapshot.is_signed else [REPORT])}
        others = [path for path in snapshot.undeclared if path not in unfinished]
    except BundleError as error:
        raise InputError(
            f"{folder} holds a release that cannot be read, {error}; remove it, or choose a new folder"
        ) from None
    if others:
        raise InputError(
            f"{folder} holds {printable(others[0])} beside a release, which would be lost with it; move it away"
        )
