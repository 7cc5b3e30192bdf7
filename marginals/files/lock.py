"""Locks: one process at a time has a folder."""

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
def held(file: Path, taken: str, without_locks: str | None = None) -> Iterator[None]:
    """While this lasts no other process holds the lock. The system lets go of it when the process ends, however it does.

    file: made when missing, for its owner alone. taken: the sentence of the InputError where another process has it.
    without_locks: that where the system has no locks; None: it goes on without one there.
    """
    if fcntl is None and without_locks is not None:
        raise InputError(without_locks)
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if fcntl is not None:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise InputError(taken) from None
        yield
    finally:
        os.close(descriptor)
