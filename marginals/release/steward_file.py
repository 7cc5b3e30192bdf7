"""Where the steward's page of a release is written: beside the release, never in one."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from marginals.bundle.target import release_at
from marginals.errors import InputError
from marginals.files.atomic_file import PRIVATE, fresh_file
from marginals.files.links import resolved
from marginals.files.output import keep_apart, refusals, require_place

MARK = '<meta name="marginals-page" content="steward">'
"""What stands in the head of every such page, by which one is known again."""

_HEAD = 4096
"""Bytes within which it stands."""


def beside(release: Path) -> Path:
    """Where the page of a release stands if nobody says otherwise: OUT-steward.html beside the folder OUT."""
    named = release if release.name not in ("", "..") else resolved(release)
    return named.with_name(f"{named.name}-steward.html")


@dataclass(frozen=True)
class StewardFile:
    """A file that the steward's page of a release may be written to.

    release: its folder, with which the folders above it are made. reads: what the release is made from. An older
    page of this kind is replaced. Raises InputError for another file that is there, for one in this release or another,
    and where nothing can be written.
    """

    path: Path
    release: Path
    reads: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        path = self.path
        with refusals(path):
            keep_apart(path, self.reads, release_at)
            place, release = resolved(path), resolved(self.release)
            if place.is_relative_to(release):
                raise InputError(
                    f"{path} lies in the release {self.release}, all of which is published; choose another"
                )
            if path.is_dir():
                raise InputError(f"{path} is a folder; name a file")
            if path.is_file() and not _is_steward_page(path):
                raise InputError(
                    f"{path} is there already, and is no steward's page; name another file (--steward FILE)"
                )
            if path.is_file() or not path.exists():
                is_made = place.parent == release.parent
                require_place(path, next(f for f in place.parents if f.exists()) if is_made else place.parent)

    @contextmanager
    def around(self, page: bytes) -> Iterator[None]:
        """The page, on the disk before the release is written meanwhile, and in its place after that: both or neither.

        page: in HTML, with the mark of such pages. It is for its owner alone to read. Raises InputError where it cannot be
        written.
        """
        with fresh_file(self.path, PRIVATE) as fresh:
            with fresh.open("wb") as stream:
                stream.write(page)
                stream.flush()
                os.fsync(stream.fileno())
            yield


def _is_steward_page(path: Path) -> bool:
    with path.open("rb") as stream:
        return MARK.encode() in stream.read(_HEAD)
