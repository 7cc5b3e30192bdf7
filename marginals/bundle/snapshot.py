"""A snapshot of a bundle: the bytes of all its files, each opened once, of which everything is judged that is judged of it.

Nothing that happens to the folder afterwards changes a verdict, and no verdict mixes two states of it: whatever is read of
a marginal, hierarchy or report has the hash that this descriptor gives, and the seal and the signature are compared with
the bytes of this descriptor.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

from marginals.bundle.descriptor import Descriptor, digest, stated_bytes
from marginals.bundle.format import DESCRIPTOR, MAX_DESCRIPTOR_BYTES, MAX_FILE_BYTES, MAX_SIGNATURE_BYTES, REPORT
from marginals.bundle.read_file import ReadFile, read_file, read_plain_file
from marginals.bundle.seal import SEAL, check_seal
from marginals.bundle.signature import SIGNATURE, PublicKey, check_signature, signer_of
from marginals.errors import BundleError, InputError
from marginals.files.leftovers import is_leftover
from marginals.files.links import resolved


@dataclass(frozen=True, eq=False)
class Snapshot:
    """All files of a bundle as they were read.

    name: of the folder. files: those that the descriptor declares, by path, with seal and signature where there are some.
    others: paths in the folder that the descriptor does not declare.
    unlisted: why the folder could not be searched for those, empty where it could.
    """

    name: str
    descriptor: Descriptor
    files: Mapping[PurePosixPath, ReadFile]
    others: tuple[str, ...] = ()
    unlisted: str = ""

    @classmethod
    def of(cls, folder: Path) -> "Snapshot":
        """Read a bundle; nothing outside of its folder, and no more of a file than the descriptor says.

        Raises InputError where the folder holds no bundle, and BundleError where its descriptor describes none, or where
        it was replaced meanwhile.
        """
        root, before = _root(folder)
        described = read_file(root, DESCRIPTOR, MAX_DESCRIPTOR_BYTES)
        descriptor = Descriptor(described.whole())
        files = {PurePosixPath(DESCRIPTOR): described}
        for name in (SEAL, SIGNATURE):
            plain = read_plain_file(root, name, MAX_SIGNATURE_BYTES)
            if plain is not None:
                files[PurePosixPath(name)] = plain
        limits: dict[PurePosixPath, int] = {}
        for path, size in descriptor.checked_sizes:
            limits[PurePosixPath(path)] = max(size, limits.get(PurePosixPath(path), 0))
        for path, _ in descriptor.checked_sizes:
            if PurePosixPath(path) not in files:
                files[PurePosixPath(path)] = read_file(root, path, limits[PurePosixPath(path)])
        try:
            others, unlisted = _others(root, descriptor), ""
        except OSError as error:
            others, unlisted = (), f"it cannot be read: {error.strerror or type(error).__name__}"
        if _identity(root) != before:
            raise BundleError(root.name, "it was replaced while it was read; read it again")
        return cls(root.name, descriptor, files, others, unlisted)

    def listed_content(self, listed: Mapping[str, Any]) -> bytes:
        """The bytes of a file whose size and hash are what the descriptor says of it.

        listed: what it says of it. Raises BundleError where they are not, or where it could not be read.
        """
        path: str = listed["path"]
        size = stated_bytes(listed)
        if size is None:
            raise BundleError(path, "the descriptor does not say how many bytes it has")
        if size > MAX_FILE_BYTES:
            # A whole number in JSON may be larger than any float.
            shown = f"{float(min(size, 10**300)):.6g}"
            raise BundleError(path, f"its {shown} bytes are more than the {MAX_FILE_BYTES} that are read")
        file = self.files[PurePosixPath(path)]
        if file.problem:
            raise BundleError(path, file.problem)
        if file.size != size:
            raise BundleError(path, f"it has {file.size} bytes where the descriptor says {size}")
        if listed.get("hash") != digest(file.content):
            raise BundleError(path, "its content does not match the hash in the descriptor; it was changed")
        return file.content

    def check_report(self) -> None:
        """Raise BundleError unless the report that the descriptor names, if any, is the one that it names.

        Nobody reads numbers from the page, so a bundle opens without this; verifying asks for it.
        """
        if (report := self.descriptor.report) is not None:
            self.listed_content(report)

    @property
    def undeclared(self) -> tuple[str, ...]:
        """Paths in the folder that the descriptor does not declare. Raises BundleError where it could not be searched."""
        if self.unlisted:
            raise BundleError(self.name, self.unlisted)
        return self.others

    def check_undeclared(self) -> None:
        """Raise BundleError naming a file in the folder that the descriptor does not declare, if there is one.

        Who reads all files of a folder would take it for published. Opening a bundle reads what is declared alone, and
        does without this.
        """
        if paths := self.undeclared:
            more = f", nor {len(paths) - 1} others that were looked at" if len(paths) > 1 else ""
            what = "remove what is no part of the release"
            if paths[0] == REPORT or own_leftovers(Path(), paths[:1]):
                what += (
                    ", or write its report again (marginals report), which an interrupted one may have left half done"
                )
            raise BundleError(paths[0], f"{DESCRIPTOR} does not declare it{more}; {what}")

    @property
    def is_sealed(self) -> bool:
        """Whether there is a seal, which must be right; bundles of other programs may have none. Raises BundleError."""
        seal = self._beside(SEAL)
        if seal is not None:
            check_seal(seal, self.descriptor.content)
        return seal is not None

    @property
    def is_signed(self) -> bool:
        """Whether there is a signature, whosever it is. Raises BundleError for a file that cannot be one."""
        signature = self._beside(SIGNATURE)
        if signature is not None:
            signer_of(signature)
        return signature is not None

    def check_signature(self, key: PublicKey) -> None:
        """Raise BundleError unless the descriptor is signed with the key; InputError without minisign."""
        signature = self._beside(SIGNATURE)
        if signature is None:
            raise BundleError(SIGNATURE, "it is missing: the bundle is not signed")
        check_signature(self.descriptor.content, signature, key)

    def _beside(self, name: str) -> bytes | None:
        file = self.files.get(PurePosixPath(name))
        return None if file is None else file.whole()


def _root(folder: Path) -> tuple[Path, tuple[int, int]]:
    """The folder of a bundle without links, and which one it is."""
    if folder.is_file():
        from zipfile import is_zipfile  # loaded here: it takes 7 ms, which who names a folder need not wait for

        what = "unzip it, and name the folder" if is_zipfile(folder) else "name the folder that holds the bundle"
        raise InputError(f"{folder} is a file, and a release is a folder; {what}")
    if not (folder / DESCRIPTOR).is_file():
        raise InputError(f"{folder} holds no release: there is no {DESCRIPTOR}")
    root = resolved(folder)
    return root, _identity(root)


def _identity(folder: Path) -> tuple[int, int]:
    """Which folder stands at a path; another one that takes its place is another."""
    try:
        status = os.stat(folder)  # noqa: PTH116
    except OSError:
        return (0, 0)
    return status.st_dev, status.st_ino


def _others(root: Path, descriptor: Descriptor) -> tuple[str, ...]:
    return tuple(undeclared(root, [DESCRIPTOR, SEAL, SIGNATURE, *descriptor.declared_paths]))


_MOST = 1000
"""Undeclared files after which the search ends: that there are some is found out in a moment, however many there are."""


def undeclared(folder: Path, declared: Iterable[str]) -> list[str]:
    """Paths in a folder, sorted, that are not declared, whatever they are called; 1000 at most.

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
            elif path not in files:
                yield path


def own_leftovers(folder: Path, paths: Iterable[str]) -> list[str]:
    """Those of some paths in the folder of a bundle that a report has left which was killed while it was replaced."""
    own = (DESCRIPTOR, REPORT, SEAL, SIGNATURE)
    return [path for path in paths if any(is_leftover(path, folder / name) for name in own)]
