"""One file of a bundle, opened once: nothing outside of the bundle, and no more bytes than are asked for."""

import errno
import os
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from marginals.errors import BundleError
from marginals.files.links import resolved
from marginals.regular_file import open_regular

_FLAGS = getattr(os, "O_NOFOLLOW", 0)
"""The path has no links when it is opened."""


@dataclass(frozen=True)
class ReadFile:
    """What was read of a file.

    path: in the bundle. limit: how many bytes were asked for at most. content: all of it, or nothing where it is larger.
    size: in bytes. problem: why it could not be read, empty where it could.
    """

    path: str
    limit: int
    content: bytes = b""
    size: int = 0
    problem: str = ""

    def whole(self) -> bytes:
        """All bytes of the file. Raises BundleError where it could not be read, or has more than were asked for."""
        if self.problem:
            raise BundleError(self.path, self.problem)
        if self.size > self.limit:
            raise BundleError(self.path, f"it is larger than the {self.limit} bytes that are read")
        return self.content


def read_file(root: Path, path: str, limit: int) -> ReadFile:
    """A file of a bundle, up to a number of bytes. root: the bundle's folder, without links.

    Links are followed as long as they lead to a file of the bundle.
    """
    parts = PurePosixPath(path)
    if parts.is_absolute() or ".." in parts.parts or "\\" in path or "\0" in path:
        return ReadFile(path, limit, problem="its path leads out of the bundle")
    try:
        place = resolved(root / parts)
        if not place.is_relative_to(root):
            return ReadFile(path, limit, problem="its path leads out of the bundle")
        if not place.is_file():
            return ReadFile(path, limit, problem="there is no such file")
        return _opened(place, path, limit)
    except OSError as error:
        return ReadFile(path, limit, problem=_reason(error))


def read_plain_file(root: Path, name: str, limit: int) -> ReadFile | None:
    """A file that must not be a link, up to a number of bytes; None where there is nothing of this name."""
    place = root / name
    try:
        if not os.path.lexists(place):
            return None
        if place.is_symlink() or not place.is_file():
            return ReadFile(name, limit, problem="it is not a file")
        return _opened(place, name, limit)
    except OSError as error:
        return ReadFile(name, limit, problem=_reason(error))


def _opened(place: Path, path: str, limit: int) -> ReadFile:
    with open_regular(place, _FLAGS) as stream:
        size = os.fstat(stream.fileno()).st_size
        if size > limit:
            return ReadFile(path, limit, size=size)
        content = stream.read(limit + 1)
    return ReadFile(path, limit, content if len(content) <= limit else b"", len(content))


def _reason(error: OSError) -> str:
    if error.errno == errno.ELOOP:
        return "it is a link that leads to itself"
    return f"it cannot be read: {error.strerror or type(error).__name__}"
