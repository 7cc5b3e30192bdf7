"""Replaced releases: a note beside an old release, which is verified as before, names the corrected one."""

import json
from dataclasses import dataclass
from pathlib import Path

from marginals.bundle.snapshot import Snapshot
from marginals.errors import BundleError, InputError
from marginals.files import open_regular, replace_file, resolved
from marginals.messages import printable
from models.errors import MarginalsError

_MOST_BYTES = 10_000


@dataclass(frozen=True)
class Replacement:
    """Note that a release is replaced.

    `old`, `new`: identities. `name`: of the folder of the new one. `date`: as ISO 8601 writes it.
    """

    old: str
    new: str
    name: str
    date: str

    def __str__(self) -> str:
        when = f" since {printable(self.date)}" if self.date else ""
        return f"replaced{when} by a corrected release, {printable(self.name)} ({printable(self.new)})"


def note_beside(folder: Path) -> Path:
    """Path of the note of a release: OUT-replaced.json beside the folder OUT."""
    named = folder if folder.name not in ("", "..") else resolved(folder)
    return named.with_name(f"{named.name}-replaced.json")


def mark_replaced(old: Path, new: Path, date: str = "") -> Replacement:
    """Note beside a release that another one replaces it; the new note overwrites an old one.

    Raises InputError where one of them is no release, or both are the same. It also does where the new one is itself
    replaced by the old one, or where nothing can be written.
    """
    mark = Replacement(_identity(old), _identity(new), resolved(new).name, date)
    if mark.old == mark.new:
        raise InputError(f"the releases in {old} and {new} are the same")
    back = replacement_of(new, mark.new)
    if isinstance(back, Replacement) and back.new == mark.old:
        raise InputError(f"{new} is itself noted as replaced by {old}; remove {note_beside(new).name} first")
    content = {"release": mark.old, "replaced_by": mark.new, "folder": mark.name, "date": mark.date}
    replace_file(note_beside(old), (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode())
    return mark


def replacement_of(folder: Path, identity: str) -> Replacement | str | None:
    """Read the note beside a release of this identity; a sentence where it is not readable; None for none."""
    note = note_beside(folder)
    try:
        with open_regular(note) as stream:
            text = stream.read(_MOST_BYTES + 1)
        content = json.loads(text) if len(text) <= _MOST_BYTES else None
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError):
        content = None
    keys = ("release", "replaced_by", "folder", "date")
    if not isinstance(content, dict) or not all(isinstance(content.get(key), str) for key in keys):
        return f"{printable(note.name)} beside it, which says what replaces it, cannot be read"
    mark = Replacement(*(content[key] for key in keys))
    return mark if mark.old == identity else None


def replacement_beside(folder: Path) -> Replacement | None:
    """Replacement of the release in a folder; None without a readable note or release."""
    if not note_beside(folder).is_file():
        return None
    try:
        mark = replacement_of(folder, Snapshot.of(folder).descriptor.identity)
    except (MarginalsError, OSError):
        return None
    return mark if isinstance(mark, Replacement) else None


def replacement_warning(folder: Path, identity: str) -> str | None:
    """Warning for a verifier of a replaced release; None for one without a note."""
    mark = replacement_of(folder, identity)
    if not isinstance(mark, Replacement):
        return mark and f"{folder}: {mark}"
    return (
        f"{folder}: it is {mark}, says {printable(note_beside(folder).name)}, which nobody signed; use that one. What was "
        "out stays known: verify both together"
    )


def _identity(folder: Path) -> str:
    try:
        return Snapshot.of(folder).descriptor.identity
    except BundleError as problem:
        raise InputError(f"{folder}: {problem}") from None
