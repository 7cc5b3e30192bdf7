"""Snapshot of a bundle: the bytes of all its files, each opened once, on which all checks work.

Nothing that happens to the folder afterwards changes a verdict, and no verdict mixes two states of it. Each marginal,
hierarchy and report has the hash in this descriptor. The seal and the signature are compared with the bytes of this
descriptor.
"""

import errno
import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
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
from marginals.bundle.signature import SEAL, SIGNATURE, PublicKey, check_seal, check_signature, signature_parts
from marginals.errors import BundleError, InputError, system_reason
from marginals.files import open_regular, resolved
from models.frozen import frozen

PAGE = "text/html"


@frozen
class Descriptor:
    """The file datapackage.json: its bytes, and their JSON. Raises BundleError unless they describe a release."""

    content: bytes
    package: Mapping[str, Any] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        package = _strict_json(self.content)
        release: Any = package.get("release") if isinstance(package, dict) else None
        require_so(isinstance(release, dict), "it describes no release: the object release is missing")
        require_so(is_number(release.get("format"), FORMAT), f"release.format must be {FORMAT}")
        _check_resources(package.get("resources"))
        report: Any = {"path": REPORT} if release.get("report") is None else release["report"]
        is_named = isinstance(report, dict) and isinstance(report.get("path"), str)
        require_so(is_named, "release.report must name a file by its path")
        is_page = report.get("mediatype", PAGE) == PAGE
        require_so(is_page, f"release.report is a page in HTML, so its mediatype must be {PAGE}")
        object.__setattr__(self, "package", package)

    @property
    def release(self) -> Mapping[str, Any]:
        """Entries about the release."""
        return self.package["release"]  # type: ignore[no-any-return]

    @property
    def resources(self) -> Sequence[Mapping[str, Any]]:
        """Entries about each resource; each has a path of its own."""
        return self.package["resources"]  # type: ignore[no-any-return]

    @property
    def report(self) -> Mapping[str, Any] | None:
        """Entries about the report, None without one."""
        return self.release.get("report")

    @property
    def other_pages(self) -> list[str]:
        """Paths of the pages that it declares beside its report."""
        others = (resource for resource in self.resources if not is_csv(resource))
        return [r["path"] for r in others if r.get("mediatype") == PAGE or re.search(r"\.x?html?$", r["path"], re.I)]

    @property
    def files(self) -> list[Mapping[str, Any]]:
        """Entries about each file, the report last."""
        return [*self.resources, *filter(None, [self.report])]

    @property
    def identity(self) -> str:
        """Hash of all entries except those about the report: the same however often the report is written anew."""
        release = {key: value for key, value in self.release.items() if key != "report"}
        return digest(descriptor_bytes({**self.package, "release": release}))


def descriptor_bytes(package: Mapping[str, Any]) -> bytes:
    """Bytes of a descriptor."""
    text = json.dumps(package, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    # Half a surrogate pair, which no UTF-8 holds, stays the escape that JSON spells it with.
    return text.encode("utf-8", "backslashreplace")


def digest(content: bytes) -> str:
    """Hash of a file, as descriptors spell it."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def is_csv(resource: Mapping[str, Any]) -> bool:
    """Return whether a resource is a marginal or a hierarchy."""
    return "marginal" in resource or "hierarchy" in resource


def has_hash(resource: Mapping[str, Any]) -> bool:
    """Return whether a resource has a hash, by which it can be checked."""
    return str(resource.get("hash")).startswith("sha256:")


def is_number(value: object, number: int) -> bool:
    """Return whether a value is this whole number, written as one: neither 1.0 nor 1e0 nor true."""
    return type(value) is int and value == number


def require_so(is_so: object, problem: str, place: str = DESCRIPTOR) -> None:
    """Raise BundleError with a problem of a file, unless something is so."""
    if not is_so:
        raise BundleError(place, problem)


def _stated_bytes(file: Mapping[str, Any]) -> int | None:
    size = file.get("bytes")
    return size if type(size) is int and size >= 0 else None


def _check_resources(resources: Any) -> None:
    is_list = isinstance(resources, list) and all(isinstance(resource, dict) for resource in resources)
    require_so(is_list, "resources must be a list of objects")
    are_few = len(resources) <= MAX_RESOURCES
    require_so(are_few, f"{len(resources)} resources are more than the {MAX_RESOURCES} that are read")
    paths = [resource.get("path") for resource in resources]
    are_apart = all(isinstance(path, str) for path in paths) and len(set(paths)) == len(paths)
    require_so(are_apart, "each resource must have a path of its own")
    are_small = sum(_stated_bytes(resource) or 0 for resource in resources) <= MAX_BYTES
    require_so(are_small, f"its resources have more than the {MAX_BYTES} bytes that are read of a bundle")


class _JSONError(ValueError):
    """Error of JSON that Python reads though others do not, or not in the same way."""


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


def _read(
    root: Path, path: str, limit: int, limited: str = "where the most that is read is", *, is_plain: bool = False
) -> bytes | BundleError:
    # is_plain: whether the file must not be a link; others are followed as long as they lead to a file of the bundle
    parts = PurePosixPath(path)
    outside = BundleError(path, "its path leads out of the bundle")
    if parts.is_absolute() or ".." in parts.parts or "\\" in path or "\0" in path:
        return outside
    try:
        place = root / parts if is_plain else resolved(root / parts)
        if not place.is_relative_to(root):
            return outside
        if not place.is_file() or (is_plain and place.is_symlink()):
            return BundleError(path, "it is not a file" if os.path.lexists(place) else "there is no such file")
        with open_regular(place, getattr(os, "O_NOFOLLOW", 0)) as stream:
            size = os.fstat(stream.fileno()).st_size
            content = stream.read(limit + 1) if size <= limit else b""
    except OSError as error:
        is_loop = error.errno == errno.ELOOP
        problem = "it is a link that leads to itself" if is_loop else f"it cannot be read: {system_reason(error)}"
        return BundleError(path, problem)
    if max(size, len(content)) > limit:
        return BundleError(path, f"it has {max(size, len(content))} bytes {limited} {limit}")
    return content


@frozen(eq=False)
class Snapshot:
    """Files of a bundle as they were read.

    `name`: of the folder. `files`: the content of each, or the error of reading it, by path, with seal and signature
    where there are some. `others`: paths in the folder that the descriptor does not declare, or the error of searching
    it.
    """

    name: str
    descriptor: Descriptor
    files: Mapping[PurePosixPath, bytes | BundleError]
    others: tuple[str, ...] | BundleError = ()

    @classmethod
    def of(cls, folder: Path) -> "Snapshot":
        """Read a bundle; nothing outside of its folder, and no more of a file than the descriptor says.

        Raises InputError where the folder holds no bundle, and BundleError where its descriptor describes none, or
        where it was replaced meanwhile.
        """
        root = _root(folder)
        before = _identity(root)
        descriptor = Descriptor(_content(_read(root, DESCRIPTOR, MAX_DESCRIPTOR_BYTES)))
        files: dict[PurePosixPath, bytes | BundleError] = {PurePosixPath(DESCRIPTOR): descriptor.content}
        for name in (SEAL, SIGNATURE):
            if os.path.lexists(root / name):
                files[PurePosixPath(name)] = _read(root, name, MAX_SIGNATURE_BYTES, is_plain=True)
        sizes: dict[PurePosixPath, tuple[int, str]] = {}
        for file in descriptor.files:
            size = _stated_bytes(file)
            is_read = is_csv(file) or has_hash(file) or file is descriptor.report
            if is_read and size is not None and size <= MAX_FILE_BYTES:
                path = PurePosixPath(file["path"])
                sizes[path] = max((size, file["path"]), sizes.get(path, (0, "")))
        for path, (size, spelled) in sizes.items():
            if path not in files:
                files[path] = _read(root, spelled, size, "where the descriptor says")
        others: tuple[str, ...] | BundleError
        try:
            declared = [DESCRIPTOR, SEAL, SIGNATURE, *(file["path"] for file in descriptor.files)]
            others = tuple(_undeclared(root, declared))
        except OSError as error:
            others = BundleError(root.name, f"it cannot be read: {system_reason(error)}")
        if _identity(root) != before:
            raise BundleError(root.name, "it was replaced while it was read; read it again")
        return cls(root.name, descriptor, files, others)

    def listed_content(self, entry: Mapping[str, Any]) -> bytes:
        """Bytes of a file that a descriptor lists. Raises BundleError where size or hash differ, or it is unreadable."""
        path: str = entry["path"]
        size = _stated_bytes(entry)
        if size is None:
            raise BundleError(path, "the descriptor does not say how many bytes it has")
        if size > MAX_FILE_BYTES:
            # A whole number in JSON may be larger than any float.
            size_text = f"{float(min(size, 10**300)):.6g}"
            raise BundleError(path, f"its {size_text} bytes are more than the {MAX_FILE_BYTES} that are read")
        content = _content(self.files[PurePosixPath(path)])
        if len(content) != size:
            raise BundleError(path, f"it has {len(content)} bytes where the descriptor says {size}")
        if entry.get("hash") != digest(content):
            raise BundleError(path, "its content does not match the hash in the descriptor; it was changed")
        return content

    def report_content(self) -> bytes | None:
        """Report that the descriptor names; None where it names none. Raises BundleError where it is another one."""
        report = self.descriptor.report
        return None if report is None else self.listed_content(report)

    @property
    def undeclared(self) -> tuple[str, ...]:
        """Paths in the folder that the descriptor does not declare. Raises BundleError where it could not be searched."""
        if isinstance(self.others, BundleError):
            raise self.others
        return self.others

    def check_undeclared(self) -> None:
        """Raise BundleError naming a file in the folder that the descriptor does not declare, if there is one."""
        if paths := self.undeclared:
            more = f", nor {len(paths) - 1} others that were looked at" if len(paths) > 1 else ""
            problem = f"{DESCRIPTOR} does not declare it{more}; remove what is no part of the release"
            raise BundleError(paths[0], problem)

    @property
    def is_sealed(self) -> bool:
        """Return whether there is a seal. Raises BundleError for a wrong one."""
        if (seal := self._file_or_none(SEAL)) is not None:
            check_seal(seal, self.descriptor.content)
        return seal is not None

    @property
    def is_signed(self) -> bool:
        """Return whether there is a signature, of whatever key. Raises BundleError for a file that cannot be one."""
        if (signature := self._file_or_none(SIGNATURE)) is not None:
            signature_parts(signature)
        return signature is not None

    def check_signature(self, key: PublicKey) -> None:
        """Raise BundleError unless the descriptor is signed with the key."""
        if (signature := self._file_or_none(SIGNATURE)) is None:
            raise BundleError(SIGNATURE, "it is missing: the bundle is not signed")
        check_signature(self.descriptor.content, signature, key)

    def _file_or_none(self, name: str) -> bytes | None:
        file = self.files.get(PurePosixPath(name))
        return None if file is None else _content(file)


def _content(read: bytes | BundleError) -> bytes:
    if isinstance(read, BundleError):
        raise read
    return read


def _root(folder: Path) -> Path:
    if folder.is_file():
        from zipfile import is_zipfile  # loaded here: it takes 7 ms, which who names a folder need not wait for

        what = "unzip it, and name the folder" if is_zipfile(folder) else "name the folder that holds the bundle"
        raise InputError(f"{folder} is a file, and a release is a folder; {what}")
    if not (folder / DESCRIPTOR).is_file():
        raise InputError(f"{folder} holds no release: there is no {DESCRIPTOR}")
    return resolved(folder)


def _identity(folder: Path) -> tuple[int, int]:
    try:
        status = os.stat(folder)  # noqa: PTH116
    except OSError:
        return (0, 0)
    return status.st_dev, status.st_ino


_MOST = 1000  # undeclared files, so that a search for them ends in a moment


def _undeclared(folder: Path, declared: Iterable[str]) -> list[str]:
    """Paths that are not declared; of a folder without a declared file only its name, so that time is bounded."""
    files = {PurePosixPath(path) for path in declared}
    folders = {parent for file in files for parent in file.parents}

    def search(inside: PurePosixPath) -> Iterator[PurePosixPath]:
        with os.scandir(folder / inside) as entries:
            for entry in entries:
                path = inside / entry.name
                if path in folders and entry.is_dir(follow_symlinks=False):
                    yield from search(path)
                elif path not in files:
                    yield path

    return sorted(map(str, islice(search(PurePosixPath()), _MOST)))


@frozen
class WrittenBundle:
    """A folder, and the bundle that it held when that was read or written. `identity`: of its descriptor."""

    folder: Path
    identity: str
