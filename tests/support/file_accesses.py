"""What Python opens and lists, seen by its audit events, which no way of opening a file gets around."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

_watchers: list[Callable[[Path], None]] = []


def _tell(event: str, arguments: tuple[object, ...]) -> None:
    if not _watchers or event not in ("open", "os.scandir", "os.listdir"):
        return
    path = arguments[0]
    if isinstance(path, str | bytes | os.PathLike):
        for watcher in tuple(_watchers):
            watcher(Path(os.fsdecode(path)))


# A hook cannot be removed; without a watcher it does nothing.
sys.addaudithook(_tell)


@contextmanager
def watched(folder: Path, watcher: Callable[[Path], None]) -> Iterator[None]:
    """Meanwhile the watcher is told of each file or folder within a folder that is about to be opened or listed."""
    inside = folder.absolute()

    def tell(path: Path) -> None:
        if path.absolute().is_relative_to(inside):
            _watchers.remove(tell)  # What the watcher does itself is nobody's matter.
            try:
                watcher(path)
            finally:
                _watchers.append(tell)

    _watchers.append(tell)
    try:
        yield
    finally:
        _watchers.remove(tell)
