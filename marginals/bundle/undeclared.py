"""Files in the folder of a bundle that its descriptor does not declare, so that nobody vouches for them."""

import os
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path, PurePosixPath

_HARMLESS = frozenset([".DS_Store", "Thumbs.db", "desktop.ini"])
"""What file managers leave in folders that they show, and no program reads as a table."""

_MOST = 1000
"""Undeclared files after which the search ends: that there are some is found out in a moment, however many there are."""


def undeclared(folder: Path, declared: Iterable[str]) -> list[str]:
    """Paths in a folder, sorted, that are neither declared nor harmless; 1000 at most.

    Of a folder that holds nothing declared, only its own name is told. Time grows with what is declared, not with what
    else there is. Raises OSError where a folder cannot be read.
    """
    files = {PurePosixPath(path) for path in declared}
    folders = {parent for file in files for parent in file.parents}
    return sorted(map(str, islice(_found(folder, PurePosixPath(), files, folders), _MOST)))


def _found(
    root: Path, inside: PurePosixPath, files: set[PurePosixPath], folders: set[PurePosixPath]
) -> Iterator[PurePosixPath]:
    with os.scandir(root / inside) as entries:
        for entry in entries:
            path = inside / entry.name
            if path in folders and entry.is_dir(follow_symlinks=False):
                yield from _found(root, path, files, folders)
            elif path not in files and not (entry.name in _HARMLESS and entry.is_file(follow_symlinks=False)):
                yield path
