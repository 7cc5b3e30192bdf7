"""Folders that are made once for all processes of a run of the tests."""

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def copy_shared(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """A copy, for this process, of a folder that the first process to ask for it makes. make: fills an empty folder."""
    base = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:  # each worker has a folder of its own below that of the run
        base = base.parent
    made = base / f"shared-{name}"
    with _locked(base / f"shared-{name}.lock"):
        if not made.exists():
            begun = factory.mktemp(f"making-{name}")
            make(begun)
            begun.rename(made)
    return Path(shutil.copytree(made, factory.mktemp(name), dirs_exist_ok=True))


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
