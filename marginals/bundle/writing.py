"""Writing a bundle: a Data Package of marginals and hierarchies that other programs can read.

Writing is atomic: a bundle is made beside its target and moved there, so that a crash leaves the old one or none.
"""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from itertools import chain, count
from pathlib import Path
from typing import Any

from marginals.bundle.content import (
    DESCRIPTOR,
    FORMAT,
    FURTHER,
    KNOWN,
    MAX_BYTES,
    MAX_FILE_BYTES,
    PACKAGE,
    REPORT,
    TABLE,
    BundleContent,
    schema_of,
)
from marginals.bundle.signature import SEAL, SIGNATURE, SecretKey, new_key, seal_of, signature_of
from marginals.bundle.snapshot import PAGE, Descriptor, Snapshot, WrittenBundle, descriptor_bytes, digest
from marginals.errors import BundleError, InputError
from marginals.files import PRIVATE, csv_text, only_writer, refusals, replace_folder, resolved
from marginals.messages import printable
from marginals.output import OutputFile, holds_bundle, keep_apart, require_place
from marginals.results import plain
from marginals.tables.attribute import COUNT, Role, in_known_order
from marginals.tables.opening import files_at
from models.tables.hierarchy import Hierarchy

# Notes in a ledger that a bundle of these files is out in a folder; it may raise.
Entering = Callable[[Path, Mapping[str, bytes]], AbstractContextManager[None]]


def write_bundle(
    content: BundleContent, folder: Path, page: bytes, key: SecretKey | None = None, entering: Entering | None = None
) -> "WrittenBundle":
    """Write a bundle, signed with a key if there is one, to a folder that is new, empty, or holds a bundle, which is
    replaced.

    `page`: its report, in HTML. `entering`: notes that it is out. A crash leaves the old bundle or none. Raises
    InputError for any other folder, for one with other files beside the bundle, and where nothing can be written.
    """
    with refusals(folder):
        if key is not None and key.path.is_relative_to(resolved(folder)):
            raise InputError(f"the secret key lies in {folder}, where all is published; keep it elsewhere")
        require_replaceable(folder)
        files = bundle_files(content, page)
        if max(map(len, files.values())) > MAX_FILE_BYTES or sum(map(len, files.values())) > MAX_BYTES:
            problem = f"the release would be larger than the {MAX_BYTES} bytes that are read"
            raise InputError(f"{problem}; set search.max_attributes")
        if key is not None:
            files[SIGNATURE] = signature_of(files[DESCRIPTOR], key)
        with nullcontext() if entering is None else entering(folder, files):
            replace_folder(folder, files)
    return WrittenBundle(folder, Descriptor(files[DESCRIPTOR]).identity)


def write_keys(path: Path, reads: tuple[Path, ...] = ()) -> SecretKey:
    """Make a pair of keys: the secret one in a file that its owner alone may read, the public one beside it (.pub).

    `reads`: what a table is made from, files, folders or globs. Raises InputError where one is there already, or lies in
    a release or in what is read.
    """
    if path.suffix == ".pub":
        raise InputError(f"{path} is the name of a public key; name the secret one {path.with_suffix('.key')}")
    secret, public = OutputFile(path, reads, PRIVATE), OutputFile(path.with_suffix(".pub"), reads)
    key = new_key(path)
    with only_writer(resolved(path).parent):
        for file in (path, public.path):
            if os.path.lexists(file):
                raise InputError(f"{file} is there already, and no key is replaced; sign with it, or name another file")
        with secret.unless_it_fails(key.files[0]):
            public.write(key.files[1])
    return key


def identity_of(content: BundleContent) -> str:
    """Identity of a bundle with this content, whatever its report is."""
    return Descriptor(bundle_files(content, b"")[DESCRIPTOR]).identity


def bundle_files(content: BundleContent, page: bytes) -> dict[str, bytes]:
    """Files of a bundle by their paths in it, the signature aside. `page`: its report."""
    files: dict[str, bytes] = {}
    resources: list[dict[str, Any]] = []

    def add(wish: str, folder: str, rows: Sequence[Sequence[object]], described: Mapping[str, Any]) -> None:
        name = _new_name(wish, [resource["name"] for resource in resources])
        path = f"{folder}/{name.removeprefix('hierarchy-')}.csv"
        content = files[path] = csv_text(rows).encode()
        file_entries = {"bytes": len(content), "hash": digest(content), "schema": schema_of([*map(str, rows[0])])}
        resources.append({"name": name, "path": path, **TABLE, **file_entries, **described})

    for table in sorted(content.everything.tables, key=lambda table: tuple(table.margin.items())):
        marginal: dict[str, Any] = {"levels": dict(table.margin), "total": table.total}
        marginal |= {FURTHER: True} if table.mask in content.further else {}
        rows = [(*table.attributes, COUNT), *((*labels, count) for labels, count in table.cells())]
        wish = "-".join(f"{attribute}.{level}" for attribute, level in table.margin.items())
        add(wish, "marginals", rows, {"marginal": marginal})
    for attribute, hierarchy in content.domain.items():
        header = [f"level{level}" for level in range(hierarchy.height + 1)]
        described = {"hierarchy": {"attribute": attribute}}
        add(f"hierarchy-{attribute}", "hierarchies", [header, *hierarchy.rows()], described)
    attributes: dict[str, dict[str, Any]] = {}
    for name, hierarchy in content.domain.items():
        role = content.roles[name]
        attributes[name] = {"role": role.value, **content.codebook.entries(name), **_of_labels(hierarchy, role)}
    entries: dict[str, Any] = {
        "format": FORMAT,
        "rows": content.collection.cube.total,
        "rows_per_person": content.rows_per_person,
        "one_row": content.one_row,
        "attributes": attributes,
        "privacy": plain(content.claims),
        "rules": plain(content.rules) or None,
        "turnover": KNOWN if content.turnover_known else None,
        "where": content.where or None,
        "imprint": content.imprint.entries or None,
        "impossible": plain(content.impossible) or None,
        "occurring": content.labels and {name: dict(numbers) for name, numbers in content.labels.items()},
        "information": content.information,
        "report": {"path": REPORT, "mediatype": PAGE, "bytes": len(page), "hash": digest(page)},
    }
    files[REPORT] = page
    release = {key: value for key, value in entries.items() if value is not None}
    package = {**PACKAGE, "title": content.title, "resources": resources, "release": release}
    files[DESCRIPTOR] = descriptor_bytes(package)
    files[SEAL] = seal_of(files[DESCRIPTOR])
    return files


def _of_labels(hierarchy: Hierarchy, role: Role) -> dict[str, Any]:
    """Facts that labels do not tell: the order of the base values, and whether labels are plain names."""
    facts: dict[str, Any] = {"label_form": "names"} if hierarchy.has_names else {}
    if any(hierarchy.level_names):
        facts["levels"] = {name: level for level, name in enumerate(hierarchy.level_names) if name}
    by_labels = role is Role.SENSITIVE and not hierarchy.has_names
    usual = in_known_order(replace(hierarchy, order=None)).order if by_labels else None
    if hierarchy.order is not None and hierarchy.order != usual:
        facts["order"] = [hierarchy.labels[0][code] for code in hierarchy.order]
    return facts


def _new_name(wish: str, taken: Sequence[str]) -> str:
    slug = re.sub(r"[^a-z0-9._-]+", "_", wish.lower()).strip("._-")[:120] or "table"
    names = chain([slug], (f"{slug}_{number}" for number in count(2)))
    return next(name for name in names if name not in taken)


def require_folder(path: Path, reads: tuple[Path, ...] = ()) -> None:
    """Raise InputError unless a release may be written to a folder: new, empty, or holding a release, which is
    replaced.

    `reads`: its sources, files, or folders and globs of a table.
    """
    with refusals(path):
        if path.exists() and not path.is_dir():
            raise InputError(f"{path} is a file; a release is written to a folder")
        if path.is_dir() and any(path.iterdir()) and not holds_bundle(path):
            raise InputError(f"{path} contains files that are not part of a release; choose another folder")
        if path.is_dir() and path.samefile(Path.cwd()):
            raise InputError(f"{path} is the current folder; name one of its own")
        keep_apart(path, reads)
        folder = resolved(path)
        for read in reads:
            if any(resolved(file).is_relative_to(folder) for file in files_at(read)):
                raise InputError(f"{read} lies in {path}, which the release would replace; choose another folder")
            if read.is_dir() and folder.is_relative_to(resolved(read)):
                raise InputError(f"{path} lies in {read}, all of which is read as one table; choose another folder")
        require_place(path)


def require_replaceable(folder: Path, reads: tuple[Path, ...] = ()) -> None:
    """Raise InputError unless a bundle made from these files may be written to a folder, and nothing else is lost."""
    require_folder(folder, reads)
    with only_writer(resolved(folder).parent):
        if not holds_bundle(folder):
            return
        try:
            others = Snapshot.of(folder).undeclared
        except BundleError as error:
            raise InputError(
                f"{folder} holds a release that cannot be read, {error}; remove it, or choose a new folder"
            ) from None
    if others:
        raise InputError(
            f"{folder} holds {printable(others[0])} beside a release, which would be lost with it; move it away"
        )
