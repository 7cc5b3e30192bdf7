"""Files that are read: regular ones, within a bound; a pipe may keep its reader waiting, and a device may never end."""

import csv
import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from marginals.errors import InputError

_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)


def open_regular(path: Path, flags: int = 0) -> BinaryIO:
    """A regular file, or what a link to one leads to, open for reading.

    flags: more of those of os.open. Raises OSError at once for a folder, pipe or device, and for a path that holds a NUL.
    """
    try:
        number = os.open(path, _FLAGS | flags)
    except ValueError:
        raise OSError(errno.EINVAL, "no path holds the character NUL") from None
    mode = os.fstat(number).st_mode
    if not stat.S_ISREG(mode):
        os.close(number)
        kind = "a folder" if stat.S_ISDIR(mode) else "a pipe or device"
        raise OSError(errno.EINVAL, f"it is not a file but {kind}")
    return open(number, "rb")  # noqa: PTH123


def bounded_content(path: Path, limit: int) -> bytes:
    """All bytes of a regular file. Raises OSError where it cannot be read, or has more than so many bytes."""
    with open_regular(path) as stream:
        content = stream.read(limit + 1)
    if len(content) > limit:
        raise OSError(errno.EFBIG, f"it is larger than the {limit} bytes that are read")
    return content


@contextmanager
def reading(kind: str, path: Path, separators: str) -> Iterator[None]:
    """What goes wrong with a file of separated values, as InputError. kind: what the file is; separators: in words."""
    try:
        yield
    except FileNotFoundError:
        raise InputError(f"there is no {kind} {path}") from None
    except OSError as error:
        raise InputError(f"the {kind} {path.name} cannot be read: {error.strerror or type(error).__name__}") from None
    except (UnicodeDecodeError, csv.Error):
        raise InputError(f"the {kind} {path.name} cannot be read as UTF-8 text with {separators}") from None
