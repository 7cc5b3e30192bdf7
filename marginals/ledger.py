"""Ledgers: releases of a table that changes, so that the next release is safe beside all of them."""

import io
import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Collection as AnyCollection
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from functools import cache, cached_property, lru_cache, partial
from itertools import combinations
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from checks.changes import (
    CellDifference,
    Envelope,
    cells_of,
    difference,
    joiners_and_leavers,
    settled,
    settled_rows,
)
from checks.claims import MaxentDiversity, MinCell
from checks.finding import Finding, Verdict
from checks.requirements import Requirements
from marginals.arguments import path_of
from marginals.bundle.content import DESCRIPTOR, KNOWN, MAX_BYTES
from marginals.bundle.snapshot import digest
from marginals.bundle.writing import Entering
from marginals.errors import InputError, NothingPublishableError
from marginals.files import (
    OTHERS,
    PRIVATE,
    bounded_content,
    held,
    prefix,
    private_folder,
    refusals,
    replace_file,
    replace_folder,
    require_written,
    resolved,
    sync_folder,
)
from marginals.later import pd
from marginals.names import margin_in_words, number_of
from marginals.output import keep_apart
from marginals.published_values import Part, inside_all
from marginals.results import plain
from marginals.tables.attribute import Role
from marginals.tables.group_names import GroupNaming, KeptNames
from marginals.tables.table import PartOf, Table, part_of, telling_margin
from models.errors import MarginalsError
from models.frozen import frozen
from models.graphs.junction_tree import Collection, maximal_masks
from models.search.problem import PruningConstraint, Refusal, RefusalScope
from models.tables.contingency_table import ContingencyTable
from models.tables.data_cube import DataCube
from models.tables.hierarchy import Domain, Hierarchy, Margin, Mask

# Only the first entry has hierarchies, which are those of all.
ENTRY, CELLS, HIERARCHIES, BUNDLE = "entry.json", "cells.csv", "hierarchies.json", "release"

FORMAT = 1


@frozen(eq=False)
class Entry:
    """A release that is out, or may be.

    `table`: the people that it counts, at base values. `waiting`: rows that had come and that had left, and are not counted.
    `is_out`: whether its bundle was seen in place. `where`, `part_rows`: the published part, and its number of rows.
    """

    number: int
    date: str
    folder: str
    table: ContingencyTable
    margins: tuple[Margin, ...]
    k: int
    rows_per_person: int | None
    diversities: tuple[MaxentDiversity, ...]
    waiting: tuple[int, int] = (0, 0)
    is_out: bool = False
    turnover_known: bool = False
    where: str = ""
    part_rows: int | None = None
    PLAIN: ClassVar = ("number", "date", "rows", "where", "folder", "margins", "is_out", "turnover_known", "waiting")

    @property
    def rows(self) -> int:
        """Number of rows that the release counts."""
        return self.table.total if self.part_rows is None else self.part_rows

    def files(self, previous: str | None, roles: Mapping[str, Role], bundle: Mapping[str, bytes]) -> dict[str, bytes]:
        """Files of the entry, by paths in its folder. `previous`: hash of the entry before it, None for the first."""
        columns = {str(place): codes for place, codes in enumerate(self.table.codes)} | {"count": self.table.counts}
        cells = pd.DataFrame(columns).to_csv(index=False, lineterminator="\n").encode()
        files = {CELLS: cells} | {f"{BUNDLE}/{path}": content for path, content in bundle.items()}
        if previous is None:
            files[HIERARCHIES] = _json(_domain_as_json(self.table.domain, roles))
        entry = {
            "format": FORMAT,
            "previous": previous,
            "rows": self.table.total,
            **{name: plain(getattr(self, name)) for name in _ENTRY_KEYS},
            "waiting": dict(zip(("came", "left"), self.waiting)),
            **({"turnover": KNOWN} if self.turnover_known else {}),
            **({"part": {"where": self.where, "rows": self.part_rows}} if self.where else {}),
            "files": {path: digest(content) for path, content in sorted(files.items())},
        }
        return {ENTRY: _json(entry), **files}

    @classmethod
    def read(cls, entry: Mapping[str, Any], cells: bytes, domain: Domain) -> "Entry":
        """Read an entry from its files. Raises KeyError, TypeError or ValueError for other content."""
        frame = pd.read_csv(io.BytesIO(cells), dtype="int64")
        codes = {name: frame[str(place)].to_numpy() for place, name in enumerate(domain.attributes)}
        margin = dict.fromkeys(domain.attributes, 0)
        claims = filter(None, map(MaxentDiversity.from_json, entry["diversities"]))
        rows_per_person, part = entry["rows_per_person"], entry.get("part", {"where": "", "rows": None})
        return cls(
            int(entry["number"]),
            str(entry["date"]),
            str(entry["folder"]),
            ContingencyTable.from_cells(domain, margin, codes, frame["count"].to_numpy()),
            tuple(map(Margin, entry["margins"])),
            int(entry["k"]),
            rows_per_person,
            tuple(replace(claim, rows_per_person=rows_per_person) for claim in claims),
            (int(entry["waiting"]["came"]), int(entry["waiting"]["left"])),
            turnover_known=entry.get("turnover") == KNOWN,
            where=str(part["where"]),
            part_rows=None if part["rows"] is None else int(part["rows"]),
        )


_ENTRY_KEYS = ("number", "date", "folder", "margins", "k", "rows_per_person", "diversities")


def _json(content: Any) -> bytes:
    return (json.dumps(content, indent=1, ensure_ascii=True) + "\n").encode()


def _domain_as_json(domain: Domain, roles: Mapping[str, Role]) -> dict[str, Any]:
    attributes = [
        {"name": name, "role": roles[name].value, "labels": hierarchy.labels, "parents": hierarchy.parents}
        | ({} if hierarchy.order is None else {"order": hierarchy.order})
        | ({"has_names": True} if hierarchy.has_names else {})
        | ({"level_names": hierarchy.level_names} if hierarchy.level_names else {})
        for name, hierarchy in domain.items()
    ]
    return {"attributes": attributes}


def _domain_from_json(content: Mapping[str, Any]) -> tuple[Domain, dict[str, Role]]:
    hierarchies, roles = {}, {}
    for attribute in content["attributes"]:
        labels, parents = (tuple(map(tuple, attribute[key])) for key in ("labels", "parents"))
        order = tuple(map(int, attribute["order"])) if "order" in attribute else None
        has_names, names = bool(attribute.get("has_names")), tuple(map(str, attribute.get("level_names", ())))
        hierarchies[str(attribute["name"])] = Hierarchy(labels, parents, order, has_names, names)
        roles[str(attribute["name"])] = Role(attribute["role"])
    return Domain.of(hierarchies), roles


# The files of a ledger:
#
#     DIR/                  of its owner alone (mode 0700)
#       lock                held while an entry is written
#       head.json           number and hash of the last entry; while one is written, also those that it will have
#       0001/               one folder for each release, written whole or not at all
#         entry.json        its facts, the hashes of the files beside it, and the hash of the entry before
#         cells.csv         the people that the release shows: codes of base values, count
#         hierarchies.json  the attributes of all releases, with roles and hierarchies; only in the first entry
#         release/          a copy of the bundle
#       0001-out.json       its bundle was put in place
#
# A ledger never claims less than what is out. An entry is written before its bundle appears, and marked after that. One
# that is not marked counts until somebody settles whether it is out. The head is written before and after an entry, so that
# it knows each one.

HEAD, LOCK = "head.json", "lock"

# The name of an entry that is removed is as long as the random part in names of leftovers, so that the next writing removes
# it if a process dies.
_TAKEN_BACK = "takeback"


@frozen(eq=False)
class Ledger:
    """Content of a ledger when it was read.

    `head`, `previous`: the hash of the last entry, and of the one before. `domain`, `roles`: of all its tables; None without
    entries.
    """

    path: Path
    entries: tuple[Entry, ...] = ()
    head: str | None = None
    domain: Domain | None = None
    roles: Mapping[str, Role] | None = None
    previous: str | None = None

    @classmethod
    def read(cls, path: str | Path) -> "Ledger":
        """Ledger in a folder; without entries if there is none. Raises InputError for another folder, or a changed one."""
        folder = path_of(path)
        if not folder.exists():
            return cls(folder)
        if not folder.is_dir():
            raise InputError(f"{folder} is a file; a ledger is a folder")
        with refusals(f"the ledger {folder}", "read"):
            names = {file.name for file in folder.iterdir()}
            if not names - {LOCK}:
                return cls(folder)
            if HEAD not in names and "0001" not in names:
                raise InputError(f"{folder} holds other things than a ledger; name a new folder")
            if folder.stat().st_mode & OTHERS:
                raise InputError(f"{folder} is a ledger that others can read; make it yours alone: chmod 700 {folder}")
            return _read(folder)

    def envelope(self, k: int, diversities: Iterable[MaxentDiversity], rows_per_person: int | None) -> Envelope:
        """Envelope of all margins of the releases, and of the claims that must hold on them for the rows that change."""
        assert self.domain is not None
        masks = maximal_masks(self.domain.mask(margin) for entry in self.entries for margin in entry.margins)
        return Envelope(tuple(masks), k, tuple(dict.fromkeys(diversities)), rows_per_person)

    def require_apart(self, release: Path, reads: tuple[Path, ...] = ()) -> None:
        """Raise InputError where the ledger would lie in a release or among the sources, or the release in the ledger."""
        with refusals(self.path):
            keep_apart(self.path, reads)
            if resolved(release).is_relative_to(resolved(self.path)) or resolved(self.path) == resolved(release):
                raise InputError(f"{release} lies in the ledger {self.path}, which is private; choose another folder")
            if resolved(self.path).is_relative_to(resolved(release)):
                raise InputError(f"the ledger {self.path} lies in the release {release}; choose another folder")

    @contextmanager
    def entering(self, entry: Entry, roles: Mapping[str, Role], bundle: Mapping[str, bytes]) -> Iterator[None]:
        """Write the entry of a release, whose bundle is put in place meanwhile: then both are there, or neither.

        If the process dies in between, the entry is there, and counts. Raises InputError if another process has written.
        """
        folder, entry_folder = self.path, self.path / _name(entry.number)
        with self._writing("since this one was made; publish again"):
            files = entry.files(self.head, roles, bundle)
            last = {"number": entry.number, "entry": digest(files[ENTRY])}
            try:
                _put(folder / HEAD, {**self._head_entry, "pending": last})
                replace_folder(entry_folder, files, PRIVATE)
                for written, content in files.items():
                    require_written(entry_folder / written, content)
                _put(folder / HEAD, last)
                yield
            except BaseException:
                if not _is_in_place(Path(entry.folder), bundle[DESCRIPTOR]):
                    with suppress(InputError, OSError):
                        self._taken_back(entry.number, last)
                raise
            with suppress(InputError):  # an entry without the mark counts as well
                self._mark(entry)

    def _mark(self, entry: Entry) -> None:
        _put(self.path / f"{_name(entry.number)}-out.json", {"folder": entry.folder})

    @property
    def _head_entry(self) -> dict[str, Any]:
        return {"number": len(self.entries), "entry": self.head}

    def _taken_back(self, number: int, last: Mapping[str, Any]) -> None:
        entry_folder, head = self.path / _name(number), self.path / HEAD
        if entry_folder.exists():
            _put(head, {**self._head_entry, "pending": last})
            aside = entry_folder.with_name(prefix(entry_folder) + _TAKEN_BACK)
            entry_folder.rename(aside)
            sync_folder(self.path)
            shutil.rmtree(aside, ignore_errors=True)
        if self.head is None:
            head.unlink(missing_ok=True)
        else:
            _put(head, self._head_entry)

    def settled(self, number: int, *, is_out: bool) -> "Ledger":
        """Settle an interrupted entry: its release is out, or it never was, and is forgotten."""
        pending = [entry.number for entry in self.entries if not entry.is_out]
        if number not in pending:
            raise InputError(
                f"release {number} of the ledger {self.path} is not to be settled; those whose writing was interrupted are "
                + (", ".join(map(str, pending)) or "none")
            )
        entry, entry_folder = self.entries[number - 1], self.path / _name(number)
        with self._writing("now; look at it again"):
            if is_out:
                self._mark(entry)
            elif _is_in_place(Path(entry.folder), bounded_content(entry_folder / BUNDLE / DESCRIPTOR, MAX_BYTES)):
                raise InputError(
                    f"release {number} stands in {entry.folder}, so it may have been read; remove it there first, if "
                    "nobody has"
                )
            elif number < len(self.entries):
                raise InputError(
                    f"release {number} counts for good, since release {number + 1} was made beside it; settle it as out"
                )
            else:
                before = Ledger(self.path, self.entries[:-1], self.previous)
                before._taken_back(number, self._head_entry)
        return Ledger.read(self.path)

    @contextmanager
    def _writing(self, change: str) -> Iterator[None]:
        busy = f"another process is writing to {self.path}; wait until it is done, and publish again"
        no_locks = f"{self.path} cannot be locked on this system, so no ledger can be kept on it"
        with refusals(f"the ledger {self.path}"):
            private_folder(self.path)
            with held(self.path / LOCK, busy, without_locks=no_locks):
                if Ledger.read(self.path).head != self.head:
                    raise InputError(f"the ledger {self.path} has another release {change}")
                yield


def _name(number: int) -> str:
    return f"{number:04d}"


def _put(file: Path, content: Mapping[str, Any]) -> None:
    replace_file(file, (json.dumps(content) + "\n").encode(), PRIVATE)


def _is_in_place(folder: Path, descriptor: bytes) -> bool:
    try:
        return (folder / DESCRIPTOR).read_bytes() == descriptor
    except FileNotFoundError:
        return False
    except OSError:
        return True


def _read(folder: Path) -> Ledger:
    # each entry is compared with the hash that the next one, or the head, gives of it
    if not (folder / HEAD).exists():
        raise _damaged(folder, f"it has entries, and no {HEAD} that tells which is the last")
    head = _object_in(folder / HEAD)
    hashes = {}
    for mark in (head, head.get("pending", head)):
        match mark:
            case {"number": int(number), "entry": str() | None as entry} if type(number) is int and bool(
                number
            ) is bool(entry):
                hashes[number] = entry
    if head.get("number") not in hashes:
        raise _damaged(folder, f"{HEAD} cannot be understood")
    ledger = Ledger(folder)
    try:
        while (folder / _name(len(ledger.entries) + 1)).exists():
            ledger = _with_next(ledger)
            number = len(ledger.entries)
            if hashes.get(number, ledger.head) != ledger.head:
                raise _damaged(folder, f"{_name(number)}/{ENTRY} is not what was written")
    except InputError:
        raise
    except FileNotFoundError as error:
        raise _damaged(folder, f"{Path(str(error.filename)).relative_to(folder)} is missing") from None
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError, MarginalsError):
        raise _damaged(folder, f"{_name(len(ledger.entries) + 1)} cannot be understood") from None
    # A process that died while it wrote an entry has named it the one that is written.
    if (count := len(ledger.entries)) not in hashes:
        less = "an entry was taken away" if count < head["number"] else f"{HEAD} is older than the entries"
        raise _damaged(folder, f"{less}: there are {count}, and {HEAD} speaks of {head['number']}")
    return ledger


def _with_next(ledger: Ledger) -> Ledger:
    folder, number = ledger.path, len(ledger.entries) + 1
    entry_folder = folder / _name(number)
    content = bounded_content(entry_folder / ENTRY, MAX_BYTES)
    entry_json = json.loads(content)
    if (entry_json["number"], entry_json["previous"]) != (number, ledger.head):
        raise _damaged(folder, f"{entry_folder.name}/{ENTRY} does not follow on the entry before it")
    if entry_json["format"] != FORMAT:
        raise InputError(f"the ledger {folder} is of another version of this program")
    files = {}
    for path, expected in entry_json["files"].items():
        files[path] = bounded_content(entry_folder / path, MAX_BYTES)
        if digest(files[path]) != expected:
            raise _damaged(folder, f"{entry_folder.name}/{path} is not what was written")
    domain, roles = ledger.domain, ledger.roles
    if domain is None:
        domain, roles = _domain_from_json(json.loads(files[HIERARCHIES]))
    mark = folder / f"{entry_folder.name}-out.json"
    entry = replace(Entry.read(entry_json, files[CELLS], domain), is_out=mark.exists() and bool(_object_in(mark)))
    return Ledger(folder, (*ledger.entries, entry), digest(content), domain, roles, ledger.head)


def _object_in(file: Path) -> dict[str, Any]:
    try:
        content = json.loads(bounded_content(file, MAX_BYTES))
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise _damaged(file.parent, f"{file.name} cannot be understood")
    return content


def _damaged(folder: Path, problem: str) -> InputError:
    return InputError(
        f"the ledger {folder} was changed: {problem}; restore it from a copy, since nothing can be judged beside a ledger "
        "that may tell less than what is out"
    )


@frozen
class Waiting:
    """Rows that a release does not count yet, for its steward only.

    `unknown`: rows of today with values that the ledger does not have. `coarsened`: earlier margins that are coarser in this
    one.
    """

    came: int
    left: int
    unknown: int
    releases: int
    coarsened: tuple[Mapping[str, int], ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        rows = {"came": self.came, "left": self.left, "unknown": self.unknown}
        return {"releases": self.releases, "waiting": rows, "coarsened": plain(self.coarsened)}


@frozen(eq=False)
class Continuation:
    """Part of today's table that can be published now, beside the releases of a ledger.

    `table`: everybody who can be counted. `envelope`: the margins that may be published; None for any. `part`: the published
    part of the table, though checks are of everybody.
    """

    ledger: Ledger
    table: Table
    envelope: Envelope | None
    requirements: Requirements
    k: int
    waiting: Waiting
    turnover_known: bool = False
    part: PartOf | None = None

    @classmethod
    def of(
        cls, ledger: Ledger, today: Table, requirements: Requirements, *, turnover_known: bool = False
    ) -> "Continuation":
        """Continue a ledger with all changes that can be published beside its releases.

        Raises InputError if the table does not fit the ledger, no claim has a k, or no margin tells the part from the rest.
        """
        part, today = today.part, today.whole
        k = max(filter(None, (requirements.k_link, requirements.k_combinatorial, requirements.min_cell)), default=1)
        if k < 2:
            raise InputError(
                "a ledger keeps changes by fewer than k people apart, and the policy does not say k. Set k_link, "
                "k_combinatorial or min_cell to 2 or more"
            )
        if not ledger.entries or ledger.domain is None:
            table = replace(today, counts=today.base_counts)
            return cls(ledger, table, None, requirements, k, Waiting(0, 0, 0, 0), turnover_known, part)
        _require_fit(ledger, ledger.domain, today)
        now = _recoded(ledger.domain, today)
        tables = tuple(entry.table for entry in ledger.entries)
        claimed = [claim for entry in ledger.entries for claim in entry.diversities]
        most_k = max(k, *(entry.k for entry in ledger.entries))
        claims = (*claimed, *requirements.diversity_claims)
        envelope = ledger.envelope(most_k, claims, requirements.rows_per_person)
        strict = [entry.table for entry in ledger.entries if not (turnover_known and entry.turnover_known)]
        shown_counts = settled(tables, now, envelope, requirements.claims, today.sensitive, strict)
        joiners, leavers = joiners_and_leavers(shown_counts, now)
        waiting = Waiting(joiners.total, leavers.total, today.base_counts.total - now.total, len(tables))
        naming = dict.fromkeys(today.naming, KeptNames())
        table = replace(today, counts=shown_counts, ladders={}, naming=naming, fitted=frozenset())
        series = cls(ledger, table, envelope, requirements, k, waiting, turnover_known, part)
        if not series.published.rows:
            raise NothingPublishableError(
                f"everybody in the part still waits beside the ledger {ledger.path}: nobody of it can be shown yet"
            )
        if part is not None and not series.masks:
            margin = table.domain.margin(series.common)
            raise InputError(
                f"no margin of the ledger {ledger.path} tells the part {part.where.text!r} from the rest: it would have to "
                f"show {margin}. All releases keep to the margins of the first. Let the first release of a ledger be of the "
                "part whose cut is hardest to see, or name such margins in its search.must_publish"
            )
        return series

    @property
    def masks(self) -> tuple[Mask, ...] | None:
        """Margins that may be published, at the finest levels; None for any."""
        return None if self.envelope is None else tuple(m for m in self.envelope.masks if not self.common & ~m)

    @cached_property
    def common(self) -> Mask:
        """Margin that every published margin must include, to tell the part from the rest; 0 without a part."""
        return 0 if self.part is None else telling_margin(self.part.where, self.table.domain)

    @cached_property
    def published(self) -> Table:
        """Table whose margins are published: all that is settled, or the part of it."""
        if self.part is None:
            return self.table
        counts = part_of(self.part.where, self.table.counts)
        return replace(self.table, counts=counts, part=replace(self.part, whole=self.table))

    def limited(self, constraint: PruningConstraint, most: float, seed: int) -> PruningConstraint:
        """Constraint with, for the first release, the limit that few people wait. `most`: their share."""
        if self.ledger.entries or most >= 1:
            return constraint
        return FewWaiting(self.table.base_counts, self.least, seed, most, constraint)

    @property
    def least(self) -> int:
        """Fewest rows that came, and that left, in each published cell, where there are any."""
        return MinCell(self.k, rows_per_person=self.requirements.rows_per_person).least_count

    def require_safe(self, cliques: Sequence[Mask]) -> None:
        """Raise NothingPublishableError unless these margins are proven to be safe beside every release of the ledger."""
        if self.envelope is None:
            return
        if any(all(clique & ~mask for mask in self.envelope.masks) for clique in cliques):
            raise NothingPublishableError(f"the margins found are finer than those of the ledger {self.ledger.path}")
        for entry in self.ledger.entries:
            envelope = replace(self.envelope, turnover_known=self.turnover_known and entry.turnover_known)
            for finding in envelope.findings(entry.table, self.table.counts):
                if not finding.holds:
                    cell = getattr(finding.worst, "cell", None) or {}
                    where = ", ".join(f"{name}={label}" for name, label in cell.items())
                    raise NothingPublishableError(
                        f"beside release {entry.number} of the ledger {self.ledger.path} the claims are not proven for "
                        f"those by whom the two differ: {finding.criterion} {finding.verdict.value}"
                        f"{where and f' in {where}'}. Demand no more, and assume no less, than the earlier releases do"
                    )
            if not envelope.turnover_known and (entry.where or self.part is not None):
                self._require_no_small_difference(entry, cliques)

    def _require_no_small_difference(self, entry: Entry, cliques: Sequence[Mask]) -> None:
        before = part_of(Part(entry.where), entry.table) if entry.where else entry.table
        domain = self.table.domain
        earlier = Collection.of(DataCube([before]), [domain.mask(margin) for margin in entry.margins])
        later = Collection.of(DataCube([self.published.base_counts]), cliques)
        parts = [self.part.where.text] if self.part else []
        narrowed = inside_all([Part(where) for where in {*parts, entry.where} if where])
        if difference(earlier, later, self.least, narrowed=narrowed).verdict is Verdict.FAILS:
            raise NothingPublishableError(
                f"counts of this part would differ by fewer than {self.k} from those of release {entry.number} of the "
                f"ledger {self.ledger.path}, though no few people did. Publish when more has changed, or another part"
            )

    def after(self, cliques: Sequence[Mask]) -> Waiting:
        """Rows that wait where these margins are published, with the margins that are coarser now."""
        lost = [mask for mask in self.masks or () if not any(not mask & ~clique for clique in cliques)]
        return replace(self.waiting, coarsened=tuple(map(self.table.domain.margin, lost)))

    def entering(self, cliques: Sequence[Mask], date: str, named: Mapping[str, Hierarchy]) -> Entering:
        """Write the entry of a release, whose bundle is put in place meanwhile: then both are there, or neither.

        If the process dies in between, the entry is there, and counts. Raises InputError if another process has written.
        """
        counts = self.table.counts
        domain = Domain.of(dict(counts.domain.items()) | dict(named))
        entry = Entry(
            len(self.ledger.entries) + 1,
            date,
            "",
            replace(counts, domain=domain),
            tuple(self.table.domain.margin(mask) for mask in cliques),
            self.k,
            self.requirements.rows_per_person,
            self.requirements.diversity_claims,
            (self.waiting.came, self.waiting.left),
            turnover_known=self.turnover_known,
            where="" if self.part is None else self.part.where.text,
            part_rows=None if self.part is None else self.published.rows,
        )

        def enter(folder: Path, bundle: Mapping[str, bytes]) -> AbstractContextManager[None]:
            return self.ledger.entering(replace(entry, folder=str(folder.absolute())), self.table.roles, bundle)

        return enter


def _require_fit(ledger: Ledger, domain: Domain, today: Table) -> None:
    assert ledger.roles is not None
    instead = f"the releases of the ledger {ledger.path} keep the attributes, roles and hierarchies of its first"
    for name in dict.fromkeys((*domain.attributes, *today.domain.attributes)):
        if name not in today.domain.attributes:
            raise InputError(f"the table has no attribute {name!r}, which {instead}")
        if name not in domain.attributes:
            raise InputError(f"{instead}, and {name!r} is not among them; leave it out (role ignored)")
        if today.roles[name] is not ledger.roles[name]:
            raise InputError(
                f"{name!r} is {today.roles[name].value} here, and {ledger.roles[name].value} in the ledger; {instead}"
            )
        paths = {path[0]: path for path in domain.hierarchy(name).rows()}
        is_another = any(paths.get(path[0], path) != path for path in today.domain.hierarchy(name).rows())
        if is_another and not isinstance(today.naming.get(name), GroupNaming):  # group names are made anew
            raise InputError(f"the hierarchy of {name!r} is not that of the ledger; {instead}, so take that one")
    if unknown := today.domain.named_places.keys() - domain.named_places:
        raise InputError(f"the ledger knows no level {min(unknown)!r}; {instead}: describe its columns as that did")
    if ledger.entries[0].rows_per_person != today.most_rows_of_a_person:
        raise InputError(
            f"the table counts other rows of a person than the ledger {ledger.path}; set person, one_row and "
            "rows_per_person as for its first release"
        )


def _recoded(domain: Domain, today: Table) -> ContingencyTable:
    """Rows whose values are in the domain, in its codes."""
    counts, codes = today.base_counts, {}
    is_known = np.ones(len(counts), dtype=bool)
    for name, hierarchy in domain.items():
        codes[name] = hierarchy.codes(today.domain.hierarchy(name).labels[0], 0)[counts.column(name, 0)]
        is_known &= codes[name] >= 0
    codes = {name: column[is_known] for name, column in codes.items()}
    return ContingencyTable.from_cells(domain, dict.fromkeys(codes, 0), codes, counts.counts[is_known])


# Few waiting: the first release of a ledger is coarse, so that later changes can soon be published.
#
# A change can be shown beside it when those who came, and those who left, are none or at least k in every cell of its
# margins (`checks.changes`). People in a smaller cell wait, and all later releases keep to these margins. A sample of the
# table foresees how many will wait. When of w people drawn as many can be published at once as change between two releases,
# no more than about w wait. It is a forecast, on which no claim of privacy depends.


CHANGED = 0.02  # share of the people who leave between two releases, and of those who come
_REMEMBERED = 256


@frozen(eq=False)
class FewWaiting(PruningConstraint):
    """Margins that another constraint allows, and beside which at most a share of the people is foreseen to wait.

    A sample of the table stands for those who wait if half of the share came, and half left. `least`: fewest rows of a cell.
    """

    table: ContingencyTable
    least: int
    seed: int
    share: float
    then: PruningConstraint

    @cached_property
    def _are_few(self) -> Callable[[frozenset[Mask]], bool]:
        table, size = self.table, round(self.table.total * self.share / 2)
        rows = np.random.default_rng(self.seed).multivariate_hypergeometric(table.counts, size, method="marginals")
        codes = dict(zip(table.attributes, table.codes))
        sample = ContingencyTable.from_cells(table.domain, table.margin, codes, rows)
        cells = lru_cache(_REMEMBERED)(partial(cells_of, sample))

        @cache
        def are_few(cliques: frozenset[Mask]) -> bool:
            places = settled_rows(sample.counts, list(map(cells, cliques)), self.least)
            # Of this many people that come between two releases; as many leave.
            return int(sample.counts[places].sum()) >= max(round(table.total * CHANGED / 2), 1)

        return are_few

    def __call__(self, cliques: AnyCollection[Mask], new: Mask, /) -> Refusal | None:
        """Refusal of the other constraint, or that where more would wait."""
        refusal = self.then(cliques, new) or (self._refusal([new], RefusalScope.FINER) if new else None)
        return refusal or self._refusal(cliques, RefusalScope.LONGER)

    def of_margin(self, margin: Mask) -> Refusal | None:
        """Refusal of every set with a margin."""
        return self.then.of_margin(margin) or self._refusal([margin], RefusalScope.FINER)

    def _refusal(self, cliques: AnyCollection[Mask], scope: RefusalScope) -> Refusal | None:
        if self._are_few(frozenset(cliques)):
            return None
        share = f"more than {100 * self.share:g} percent of the people"
        return Refusal(f"{share} would wait for a later release (max_waiting)", scope)


@frozen
class Pair:
    """Two releases, the rows that came and left between them, and findings. `turnover_known`: whether both declare it."""

    earlier: int
    later: int
    came: int
    left: int
    findings: tuple[Finding, ...]
    smallest_difference: int | None
    turnover_known: bool = False
    PLAIN: ClassVar = ("earlier", "later", "came", "left", "ok", "smallest_difference", "turnover_known")

    @property
    def ok(self) -> bool:
        """Return whether all findings are proven to hold."""
        return all(finding.holds for finding in self.findings)


def pairs(ledger: Ledger) -> Iterator[Pair]:
    """Pairs of releases of a ledger, checked by the claims of both, on all margins of its releases."""
    for earlier, later in combinations(ledger.entries, 2):
        is_known = earlier.turnover_known and later.turnover_known
        diversities = (*earlier.diversities, *later.diversities)
        envelope = ledger.envelope(max(earlier.k, later.k), diversities, later.rows_per_person)
        findings = tuple(replace(envelope, turnover_known=is_known).findings(earlier.table, later.table))
        joiners, leavers = joiners_and_leavers(earlier.table, later.table)
        worst = findings[-1].worst
        smallest = worst.difference if isinstance(worst, CellDifference) else None
        yield Pair(earlier.number, later.number, joiners.total, leavers.total, findings, smallest, is_known)


def waiting_lines(waiting: Waiting, domain: Domain) -> Iterator[str]:
    """Sentences about the rows that a release does not count yet, and coarser margins. `domain`: of the table."""
    if not waiting.releases:
        yield "It is the first release of the ledger: whatever changes from now on is shown when that is safe beside it."
        return
    beginning = f"Beside the {waiting.releases} releases" if waiting.releases > 1 else "Beside the release"
    if waiting.came or waiting.left:
        yield (
            f"{beginning} of the ledger {number_of(waiting.came, 'added row')} and {number_of(waiting.left, 'removed row')} "
            "cannot be shown yet: they wait."
        )
    else:
        yield f"{beginning} of the ledger everything that changed can be shown: nobody waits."
    if waiting.unknown:
        yield (
            f"{number_of(waiting.unknown, 'row has', 'rows have')} a value that the first release of the ledger did not "
            f"know, and {'is' if waiting.unknown == 1 else 'are'} not counted."
        )
    if waiting.coarsened:
        margins = "; ".join(margin_in_words(margin, domain) for margin in waiting.coarsened)
        yield f"Of margins that the earlier releases show, these are coarser now, or left out: {margins}."


def entry_line(entry: Entry) -> str:
    """Line about a release of a ledger."""
    settle = f"--settle {entry.number} out, or --settle {entry.number} not-out"
    pending = f"perhaps out: its writing was interrupted, so it counts until you settle it ({settle})"
    came, leaving = entry.waiting
    facts = [
        "out" if entry.is_out else pending,
        f"part: {entry.where}, of {number_of(entry.table.total, 'row')} judged" if entry.where else "",
        "turnover known" if entry.turnover_known else "",
        f"{came:,} that came and {leaving:,} that left waited" if came or leaving else "",
    ]
    rows = number_of(entry.rows, "row")
    return f"{entry.number}  {entry.date}  {rows}  {'; '.join(filter(None, facts))}  {entry.folder}"


def pair_lines(pair: Pair) -> Iterator[str]:
    """Lines about the differences of two releases."""
    smallest = pair.smallest_difference
    facts = [
        f"{'' if pair.ok else 'not proven that '}the claims hold for their differences",
        "" if smallest is None else f"the smallest difference is {smallest:+,}",
        "it may be of any size, since both say that turnover is known" if pair.turnover_known else "",
    ]
    changed = f"{number_of(pair.came, 'row')} came and {pair.left:,} left"
    yield f"{pair.earlier} and {pair.later}: {changed}, {'; '.join(filter(None, facts))}"
    for finding in pair.findings:
        if not finding.holds:
            of_whom = f" of the {finding.parameters['of']}" if "of" in finding.parameters else ""
            yield f"   {finding.verdict.value}: {finding.criterion}{of_whom}"
