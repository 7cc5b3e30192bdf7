"""Ledgers: private folders in which a publisher notes what is out of one table, so that the next release fits to it.

    DIR/                  of its owner alone (mode 0700)
      lock                held while an entry is written
      head.json           number and hash of the last entry
      0001/               one folder for each release, written whole or not at all
        entry.json        what is noted of it, the hashes of the files beside it, and the hash of the entry before
        cells.csv         the people that the release shows: codes of base values, count
        hierarchies.json  the attributes of all releases, with roles and hierarchies; in the first entry alone
        release/          a copy of the bundle
      0001-out.json       its bundle was put in place
      0001-retracted.json somebody took it back

A ledger never claims less than what is out. An entry is written before its bundle appears, and marked after that; one
that is not marked may be out, and counts. What was published cannot be taken back: a release that is retracted counts too.
"""

import json
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from checks.changes.series import Envelope
from checks.claims.maxent_diversity import MaxentDiversity
from marginals.bundle.descriptor import digest
from marginals.bundle.format import DESCRIPTOR, MAX_BYTES
from marginals.bundle.target import release_at
from marginals.errors import InputError
from marginals.files.atomic_file import PRIVATE, replace_file
from marginals.files.atomic_folder import replace_folder
from marginals.files.leftovers import prefix
from marginals.files.links import resolved
from marginals.files.lock import held
from marginals.files.output import keep_apart, refusals
from marginals.ledger.entry import CELLS, ENTRY, FORMAT, HIERARCHIES, Entry, domain_from_json
from marginals.regular_file import bounded_content
from marginals.tables.attribute import Role
from models.errors import MarginalsError
from models.graphs.junction_tree import maximal_masks
from models.tables.domain import Domain

HEAD, LOCK = "head.json", "lock"

_TAKEN_BACK = "takeback"
"""As long as what makes names of leftovers different, so that the next writing removes it where a process dies."""

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


@dataclass(frozen=True, eq=False)
class Ledger:
    """What a ledger held when it was read.

    path: its folder. entries: in the order of release. head: the hash of the last one; None where there is none. domain,
    roles: of all its tables; None where there is no entry yet.
    """

    path: Path
    entries: tuple[Entry, ...] = ()
    head: str | None = None
    domain: Domain | None = None
    roles: Mapping[str, Role] | None = None

    @classmethod
    def read(cls, path: str | Path) -> "Ledger":
        """The ledger in a folder; one without entries where there is no folder yet, or an empty one.

        Raises InputError for a folder that holds something else, that others may read, or whose files are not those that
        were written.
        """
        folder = Path(path)
        if not folder.exists():
            return cls(folder)
        if not folder.is_dir():
            raise InputError(f"{folder} is a file; a ledger is a folder")
        try:
            names = {file.name for file in folder.iterdir()}
            if not names - {LOCK}:
                return cls(folder)
            if HEAD not in names and "0001" not in names:
                raise InputError(f"{folder} holds other things than a ledger; name a new folder")
            if folder.stat().st_mode & _OTHERS:
                raise InputError(f"{folder} is a ledger that others can read; make it yours alone: chmod 700 {folder}")
            return _read(folder)
        except OSError as error:
            raise InputError(f"the ledger {folder} cannot be read: {error.strerror or type(error).__name__}") from None

    def envelope(self, k: int, diversities: Iterable[MaxentDiversity], rows_per_person: int | None) -> Envelope:
        """All margins that any release of the ledger shows, and what must hold on them of those by whom two tables differ.

        The arguments are those of the envelope. A ledger without entries has no envelope.
        """
        if self.domain is None:
            raise ValueError("a ledger without entries shows no margin")
        masks = maximal_masks(self.domain.mask(margin) for entry in self.entries for margin in entry.margins)
        return Envelope(tuple(masks), k, tuple(dict.fromkeys(diversities)), rows_per_person)

    def require_apart(self, release: Path, reads: tuple[Path, ...] = ()) -> None:
        """Raise InputError where the ledger would lie in a release or among what is read, or the release in the ledger."""
        with refusals(self.path):
            keep_apart(self.path, reads, release_at)
            if resolved(release).is_relative_to(resolved(self.path)) or resolved(self.path) == resolved(release):
                raise InputError(f"{release} lies in the ledger {self.path}, which is private; choose another folder")
            if resolved(self.path).is_relative_to(resolved(release)):
                raise InputError(f"the ledger {self.path} lies in the release {release}; choose another folder")

    @contextmanager
    def entering(self, entry: Entry, roles: Mapping[str, Role], bundle: Mapping[str, bytes]) -> Iterator[None]:
        """The entry of a release, whose bundle is put in place meanwhile: then both are there, or neither.

        bundle: its files by paths in its folder. Where the process dies in between, the entry is there, and counts. Raises
        InputError where another process writes, or has written since this ledger was read, or nothing can be written.
        """
        folder, own = self.path, self.path / _name(entry.number)
        try:
            _made(folder)
            with self._held():
                if Ledger.read(folder).head != self.head:
                    raise InputError(f"the ledger {folder} has another release since this one was made; publish again")
                files = entry.files(self.head, roles, bundle)
                try:
                    replace_folder(own, files)
                    _put(folder / HEAD, {"number": entry.number, "entry": digest(files[ENTRY])})
                    yield
                except BaseException:
                    if not _is_in_place(Path(entry.folder), bundle):
                        self._taken_back(own)
                    raise
                # The bundle is out. An entry without the mark counts as well, so nothing is said where it fails.
                with suppress(InputError):
                    _put(folder / f"{own.name}-out.json", {"folder": entry.folder})
        except OSError as error:
            raise InputError(
                f"the ledger {folder} cannot be written: {error.strerror or type(error).__name__}"
            ) from None

    def _taken_back(self, own: Path) -> None:
        """Remove an entry whose bundle did not appear. Where that is not possible it stays, and counts."""
        with suppress(InputError, OSError):
            if self.head is None:
                (self.path / HEAD).unlink(missing_ok=True)
            else:
                _put(self.path / HEAD, {"number": len(self.entries), "entry": self.head})
            if own.exists():
                aside = own.with_name(prefix(own) + _TAKEN_BACK)
                own.rename(aside)
                shutil.rmtree(aside, ignore_errors=True)

    def retracted(self, number: int, date: str) -> "Ledger":
        """The ledger with a note that a release was taken back, which changes nothing of what is judged.

        Raises InputError for a release that it does not have, or where nothing can be written.
        """
        if not 1 <= number <= len(self.entries):
            listed = f"1 to {len(self.entries)}" if self.entries else "none"
            raise InputError(f"the ledger {self.path} has no release {number}; its releases are {listed}")
        with self._held():
            _put(self.path / f"{_name(number)}-retracted.json", {"date": date})
        entries = list(self.entries)
        entries[number - 1] = replace(entries[number - 1], retracted=date)
        return replace(self, entries=tuple(entries))

    def _held(self) -> AbstractContextManager[None]:
        """While this lasts no other process writes to the ledger. Raises InputError where one does."""
        return held(
            self.path / LOCK,
            f"another process is writing to {self.path}; wait until it is done, and publish again",
            without_locks=f"{self.path} cannot be locked on this system, so no ledger can be kept on it",
        )


def _name(number: int) -> str:
    return f"{number:04d}"


def _made(folder: Path) -> None:
    """Make the folder of a ledger, for its owner alone."""
    if not folder.exists():
        folder.mkdir(mode=0o700, parents=True)
        folder.chmod(0o700)


def _put(file: Path, stated: Mapping[str, Any]) -> None:
    replace_file(file, (json.dumps(stated) + "\n").encode(), PRIVATE)


def _is_in_place(folder: Path, bundle: Mapping[str, bytes]) -> bool:
    """Whether the bundle is in the folder."""
    try:
        return (folder / DESCRIPTOR).read_bytes() == bundle[DESCRIPTOR]
    except FileNotFoundError:
        return False
    except OSError:
        return True


def _read(folder: Path) -> Ledger:
    """All entries, each compared with the hash that the next one, or the head, gives of it."""
    head = _stated(folder / HEAD) if (folder / HEAD).exists() else {"number": 0, "entry": None}
    entries: list[Entry] = []
    previous: str | None = None
    domain: Domain | None = None
    roles: Mapping[str, Role] | None = None
    try:
        while (own := folder / _name(len(entries) + 1)).exists():
            content = bounded_content(own / ENTRY, MAX_BYTES)
            stated = json.loads(content)
            if (stated["number"], stated["previous"]) != (len(entries) + 1, previous):
                raise _damaged(folder, f"{own.name}/{ENTRY} does not follow on the entry before it")
            if stated["format"] != FORMAT:
                raise InputError(f"the ledger {folder} is of another version of this program")
            files = {}
            for path, expected in stated["files"].items():
                files[path] = bounded_content(own / path, MAX_BYTES)
                if digest(files[path]) != expected:
                    raise _damaged(folder, f"{own.name}/{path} is not what was written")
            if domain is None:
                domain, roles = domain_from_json(json.loads(files[HIERARCHIES]))
            entry = Entry.read(stated, files[CELLS], domain)
            mark, note = (folder / f"{own.name}-{kind}.json" for kind in ("out", "retracted"))
            date = _stated(note)["date"] if note.exists() else ""
            entries.append(replace(entry, is_out=mark.exists(), retracted=date))
            previous = digest(content)
            if len(entries) == head["number"] and previous != head["entry"]:
                raise _damaged(folder, f"{own.name}/{ENTRY} is not what was written")
    except FileNotFoundError as error:
        missing = Path(str(error.filename)).relative_to(folder)
        raise _damaged(folder, f"{missing} is missing") from None
    except (KeyError, TypeError, ValueError, MarginalsError) as error:
        if isinstance(error, InputError):
            raise
        raise _damaged(folder, f"{_name(len(entries) + 1)} cannot be understood") from None
    # A process that died after it wrote an entry has not named it the last one.
    if head["number"] not in (len(entries), len(entries) - 1):
        raise _damaged(folder, f"there are {len(entries)} entries, and {HEAD} speaks of {head['number']}")
    return Ledger(folder, tuple(entries), previous, domain, roles)


def _stated(file: Path) -> dict[str, Any]:
    try:
        stated = json.loads(bounded_content(file, MAX_BYTES))
    except ValueError:
        stated = None
    if not isinstance(stated, dict):
        raise _damaged(file.parent, f"{file.name} cannot be understood")
    return stated


def _damaged(folder: Path, problem: str) -> InputError:
    return InputError(
        f"the ledger {folder} was changed: {problem}; restore it from a copy, since nothing can be judged beside a ledger "
        "that may tell less than what is out"
    )
