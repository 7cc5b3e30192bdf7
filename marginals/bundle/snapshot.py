"""A snapshot of a bundle: the bytes of all its files, each opened once, of which everything is judged that is judged of it.

Nothing that happens to the folder afterwards changes a verdict, and no verdict mixes two states of it: whatever is read of
a marginal, hierarchy or report has the hash that this descriptor gives, and the seal and the signature are compared with
the bytes of this descriptor.
"""

import errno
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from math import isfinite
from pathlib import Path, PurePosixPath
from typing import Any

from marginals.bundle.content import (
    DESCRIPTOR,
    FORMAT,
    MAX_BYTES,
    MAX_DESCRIPTOR_BYTES,
    MAX_FILE_BYTES,
    MAX_RESOURCES,
    MAX_SIGNATURE_BYTES,
    REPORT,
)
from marginals.bundle.signature import SEAL, SIGNATURE, PublicKey, check_seal, check_signature, signer_of
from marginals.errors import BundleError, InputError, system_reason
from marginals.files import open_regular, resolved

_PAGE = "text/html"
"""What a report is."""


@dataclass(frozen=True)
class Descriptor:
    """The file datapackage.json. Raises BundleError unless its bytes describe a release of this format.

    content: its bytes. package: what they say.
    """

    content: bytes
    package: Mapping[str, Any] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        package = _strict_json(self.content)
        if not isinstance(package, dict) or not isinstance(package.get("release"), dict):
            raise BundleError(DESCRIPTOR, "it describes no release: the object release is missing")
        if not is_number(package["release"].get("format"), FORMAT):
            raise BundleError(DESCRIPTOR, f"release.format must be {FORMAT}")
        _check_resources(package.get("resources"))
        object.__setattr__(self, "package", package)

    @property
    def release(self) -> Mapping[str, Any]:
        """What it says of the release."""
        return self.package["release"]  # type: ignore[no-any-return]

    @property
    def resources(self) -> Sequence[Mapping[str, Any]]:
        """What it says of each resource; each has a path of its own."""
        return self.package["resources"]  # type: ignore[no-any-return]

    @property
    def report(self) -> Mapping[str, Any] | None:
        """What it says of the report, None where it names none. Raises BundleError where that names no file."""
        if self.release.get("report") is not None and self.report_path is None:
            raise BundleError(DESCRIPTOR, "release.report must name a file by its path")
        report = self.release.get("report")
        if report is not None and report.get("mediatype", _PAGE) != _PAGE:
            raise BundleError(DESCRIPTOR, f"release.report is a page in HTML, so its mediatype must be {_PAGE}")
        return report

    @property
    def report_path(self) -> str | None:
        """The path of the report, None where it names no file as its report."""
        report = self.release.get("report")
        path = report.get("path") if isinstance(report, dict) else None
        return path if isinstance(path, str) else None

    @property
    def declared_paths(self) -> list[str]:
        """The paths of all files that it names."""
        return [*(resource["path"] for resource in self.resources), *([self.report_path] if self.report_path else [])]

    @property
    def checked_sizes(self) -> list[tuple[str, int]]:
        """Path and stated bytes of each file whose content is looked at: tables, the report, and what a hash is given of.

        Those are left out of which it states no number of bytes, or one that is too large to be read.
        """
        files = [resource for resource in self.resources if is_table(resource) or has_hash(resource)]
        files += [self.release["report"]] if self.report_path is not None else []
        sizes = [(file["path"], stated_bytes(file)) for file in files]
        return [(path, size) for path, size in sizes if size is not None and size <= MAX_FILE_BYTES]

    @property
    def identity(self) -> str:
        """A hash of what it says beside its report: the same however often that is written anew."""
        release = {key: value for key, value in self.release.items() if key != "report"}
        return digest(descriptor_bytes({**self.package, "release": release}))


def descriptor_bytes(package: Mapping[str, Any]) -> bytes:
    """A descriptor as it is written."""
    text = json.dumps(package, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    # Half a surrogate pair, which no UTF-8 holds, stays the escape that JSON spells it with.
    return text.encode("utf-8", "backslashreplace")


def listed_report(page: bytes) -> dict[str, Any]:
    """How a descriptor names its report: beside the resources, which all are tables."""
    return {"path": REPORT, "mediatype": _PAGE, "bytes": len(page), "hash": digest(page)}


def digest(content: bytes) -> str:
    """The hash of a file, as descriptors spell it."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def is_table(resource: Mapping[str, Any]) -> bool:
    """Whether a resource is a marginal or a hierarchy."""
    return "marginal" in resource or "hierarchy" in resource


def has_hash(resource: Mapping[str, Any]) -> bool:
    """Whether a hash is given of a resource, by which it can be checked."""
    return str(resource.get("hash")).startswith("sha256:")


def is_number(stated: object, number: int) -> bool:
    """Whether a whole number is stated, written as one: neither 1.0 nor 1e0 nor true."""
    return type(stated) is int and stated == number


def stated_bytes(file: Mapping[str, Any]) -> int | None:
    """How many bytes a file has by what is said of it, None where that is no number of bytes."""
    size = file.get("bytes")
    return size if type(size) is int and size >= 0 else None


def _check_resources(resources: object) -> None:
    if not isinstance(resources, list) or not all(isinstance(resource, dict) for resource in resources):
        raise BundleError(DESCRIPTOR, "resources must be a list of objects")
    if len(resources) > MAX_RESOURCES:
        raise BundleError(DESCRIPTOR, f"{len(resources)} resources are more than the {MAX_RESOURCES} that are read")
    paths = [resource.get("path") for resource in resources]
    if not all(isinstance(path, str) for path in paths) or len(set(paths)) != len(paths):
        raise BundleError(DESCRIPTOR, "each resource must have a path of its own")
    if sum(stated_bytes(resource) or 0 for resource in resources) > MAX_BYTES:
        raise BundleError(DESCRIPTOR, f"its resources have more than the {MAX_BYTES} bytes that are read of a bundle")


class _JSONError(ValueError):
    """What Python reads as JSON though nobody else does, or not everybody in the same way."""


def _strict_json(content: bytes) -> Any:
    try:
        value = json.loads(
            content.decode("utf-8"), object_pairs_hook=_distinct_keys, parse_constant=_refuse, parse_float=_finite
        )
        # Half a surrogate pair is no text: no file can be named by it, and no terminal shown it.
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        problem = str(error) if isinstance(error, _JSONError) else "it is not valid JSON in UTF-8"
        raise BundleError(DESCRIPTOR, problem) from None
    return value


def _distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    by_key = dict(pairs)
    if len(by_key) != len(pairs):
        raise _JSONError("an object names a key twice")
    return by_key


def _refuse(name: str) -> float:
    raise _JSONError(f"{name} is no number that JSON knows")


def _finite(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise _JSONError("a number is larger than any that can be calculated with")
    return number


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
    return f"it cannot be read: {system_reason(error)}"


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
            others, unlisted = (), f"it cannot be read: {system_reason(error)}"
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
            size_text = f"{float(min(size, 10**300)):.6g}"
            raise BundleError(path, f"its {size_text} bytes are more than the {MAX_FILE_BYTES} that are read")
        file = self.files[PurePosixPath(path)]
        if file.problem:
            raise BundleError(path, file.problem)
        if file.size != size:
            raise BundleError(path, f"it has {file.size} bytes where the descriptor says {size}")
        if listed.get("hash") != digest(file.content):
            raise BundleError(path, "its content does not match the hash in the descriptor; it was changed")
        return file.content

    def report_content(self) -> bytes | None:
        """The report that the descriptor names; None where it names none. Raises BundleError where it is another one.

        Nobody reads numbers from the page, so a bundle opens without this; verifying asks for it.
        """
        report = self.descriptor.report
        return None if report is None else self.listed_content(report)

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
            raise BundleError(
                paths[0], f"{DESCRIPTOR} does not declare it{more}; remove what is no part of the release"
            )

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


@dataclass(frozen=True)
class WrittenBundle:
    """A folder, and which bundle it held when that was read or written. identity: of its descriptor."""

    folder: Path
    identity: str
