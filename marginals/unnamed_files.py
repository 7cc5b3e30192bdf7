"""Files without a name: no other program finds what is in them, and they are gone with the process, however it ends."""

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

_OPEN_FILES = Path("/proc/self/fd")
"""Where Linux lets a process open again what it has open, so that libraries that ask for a path can use it."""


def are_possible() -> bool:
    """Whether this machine has files without a name that can be opened by a path."""
    return sys.platform == "linux" and _OPEN_FILES.is_dir()


@contextmanager
def in_memory() -> Iterator[Path]:
    """A file in memory, by a path that this process can open meanwhile. Raises OSError where there is none."""
    with _opened(lambda: os.memfd_create("marginals")) as path:
        yield path


@contextmanager
def on_disk(folder: Path | None = None) -> Iterator[Path]:
    """A file on the disk of a folder, by default of the temporary one, by a path that this process can open meanwhile.

    Raises OSError where there is none, or the disk has only files with names.
    """
    place = tempfile.gettempdir() if folder is None else folder
    with _opened(lambda: os.open(place, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)) as path:
        yield path


@contextmanager
def _opened(descriptor_of: Callable[[], int]) -> Iterator[Path]:
    if not are_possible():
        raise OSError("there are no files without a name here")
    descriptor = descriptor_of()
    try:
        yield _OPEN_FILES / str(descriptor)
    finally:
        os.close(descriptor)
