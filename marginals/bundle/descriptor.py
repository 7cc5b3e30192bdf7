"""The descriptor of a bundle: its bytes, and what they say when they are read as strict JSON."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from marginals.bundle.format import DESCRIPTOR, FORMAT, MAX_BYTES, MAX_FILE_BYTES, MAX_RESOURCES, REPORT
from marginals.errors import BundleError

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
        return digest(self.with_report(None))

    def with_report(self, page: bytes | None) -> bytes:
        """The bytes of the same descriptor with this page as its report, or none."""
        release = {key: value for key, value in self.release.items() if key != "report"}
        report = {} if page is None else {"report": listed_report(page)}
        return descriptor_bytes({**self.package, "release": release | report})


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
