"""Locks: one process at a time writes."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from marginals.errors import InputError

try:
    import fcntl
except ImportError:  # no Unix
    fcntl = None  # type: ignore[assignment]


@contextmanager
def held(file: Path, what: Path) -> Iterator[None]:
    """While this lasts no other process holds the lock. Raises InputError, naming what is written, where one does.

    The system lets go of it when the process ends, however it does.
    """
    if fcntl is None:
        raise InputError(f"{what} cannot be locked on this system, so no ledger can be kept on it")
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(
                f"another process is writing to {what}; wait until it is done, and publish again"
            ) from None
        yield
    finally:
        os.close(descriptor)
