"""Continuing a series: the table that can be published now beside all releases of a ledger, and its entry."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from checks.changes.batch import Change
from checks.changes.difference import difference
from checks.changes.series import Envelope
from checks.changes.settling import settled
from checks.claims.min_cell import MinCell
from checks.claims.requirements import Requirements
from checks.finding import Verdict
from marginals.bundle.writing import Entering
from marginals.conditions.part import Part, inside_all
from marginals.errors import InputError, NothingPublishableError
from marginals.ledger.entry import Entry
from marginals.ledger.few_waiting import FewWaiting, SampledChanges
from marginals.ledger.ledger import Ledger
from marginals.tables.part import part_of, telling_margin
from marginals.tables.table import PartOf, Table
from models.graphs.collection import Collection
from models.search.constraint import Constraint
from models.tables.contingency_table import ContingencyTable
from models.tables.data_cube import DataCube
from models.tables.domain import Mask
from models.tables.hierarchy import Hierarchy


@dataclass(frozen=True)
class Waiting:
    """Whom a release does not show yet, for its steward alone.

    came, left: rows that were added and removed since the last release, and wait for a later one. unknown: rows of today
    with values that the hierarchies of the ledger do not have; they wait for as long as the ledger is used. releases: how
    many are in the ledger before this one. coarsened: margins of these that this one does not show, or not as finely.
    foreseen: of the first release, the share of the people who will wait; kept: how much it shows beyond single attributes,
    as a share of what it would if everybody might wait.
    """

    came: int
    left: int
    unknown: int
    releases: int
    coarsened: tuple[Mapping[str, int], ...] = ()
    foreseen: float | None = None
    kept: float | None = None

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        rows = {"came": self.came, "left": self.left, "unknown": self.unknown}
        told = {"releases": self.releases, "waiting": rows, "coarsened": [dict(margin) for margin in self.coarsened]}
        shares = {"foreseen": self.foreseen, "kept": self.kept}
        return told | {name: share for name, share in shares.items() if share is not None}


@dataclass(frozen=True, eq=False)
class Continuation:
    """What a ledger makes of the table of today.

    ledger: as it was read. table: what can be published now; the table of today where the ledger has no release yet.
    envelope: the margins that it may show; None for the first release, which may show any. requirements: of the release.
    turnover_known: whether it is given that its readers know that people come and go. part: that only the cells of a part of
    the table are to be shown, though everybody is judged.
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
        """As much of what changed since the last release of a ledger as can be shown beside all of them.

        today: the table as it is, or a part of it; then the whole is settled, and a release of the part shows some of it.

        turnover_known: whether it is given that readers of the release know that people come and go. It counts for two
        releases that both say so.

        Raises InputError where the table does not fit the ledger, nothing says how many people are enough, or no margin of
        the ledger tells the part from the rest.
        """
        part, today = today.part, today.whole
        counted = [getattr(requirements, name) for name in ("k_link", "k_combinatorial", "min_cell")]
        k = max((each for each in counted if each is not None), default=1)
        if k < 2:
            raise InputError(
                "a ledger keeps changes by fewer than k people apart, and the policy does not say k; set k_link, "
                "k_combinatorial or min_cell to 2 or more"
            )
        if not ledger.entries or ledger.domain is None:
            table = replace(today, counts=today.base_counts)
            return cls(ledger, table, None, requirements, k, Waiting(0, 0, 0, 0), turnover_known, part)
        _check_fit(ledger, today)
        now, unknown = recoded(ledger, today)
        tables = tuple(entry.table for entry in ledger.entries)
        claimed = [claim for entry in ledger.entries for claim in entry.diversities]
        envelope = ledger.envelope(
            max(k, *(entry.k for entry in ledger.entries)),
            (*claimed, *requirements.diversity_claims),
            requirements.rows_per_person,
        )
        strict = [entry.table for entry in ledger.entries if not (turnover_known and entry.turnover_known)]
        shown = settled(tables, now, envelope, requirements.claims, today.sensitive, strict)
        change = Change.between(shown, now)
        waiting = Waiting(change.joiners.total, change.leavers.total, unknown, len(tables))
        table = replace(today, counts=shown, ladders={}, fitted=frozenset())
        series = cls(ledger, table, envelope, requirements, k, waiting, turnover_known, part)
        if not series.shown.rows:
            raise NothingPublishableError(
                f"everybody in the part still waits beside the ledger {ledger.path}: nobody of it can be shown yet"
            )
        if part is not None and not series.masks:
            margin = table.domain.margin(series.common)
            raise InputError(
                f"no margin of the ledger {ledger.path} tells the part {part.where.text!r} from the rest: it would have to "
                f"show {margin}. All releases keep to the margins of the first; let the first release of a ledger be of the "
                "part whose cut is hardest to see, or name such margins in its search.must_publish"
            )
        return series

    @property
    def masks(self) -> tuple[Mask, ...] | None:
        """The margins that may be shown, as finely as that; None for any."""
        if self.envelope is None:
            return None
        return tuple(mask for mask in self.envelope.masks if not self.common & ~mask)

    @cached_property
    def common(self) -> Mask:
        """What each margin must show, to tell the part from the rest; 0 where everybody is shown."""
        return 0 if self.part is None else telling_margin(self.part.where, self.table.domain)

    @cached_property
    def shown(self) -> Table:
        """The table whose margins are published: all that is settled, or the part of it."""
        if self.part is None:
            return self.table
        counts = part_of(self.part.where, self.table.counts)
        return replace(self.table, counts=counts, part=replace(self.part, whole=self.table))

    def few_waiting(self, then: Constraint, most: float, seed: int) -> Constraint:
        """The constraint of a search with that of the first release of a ledger: margins for which few people will wait.

        most: share of the people who may wait; 1 demands nothing. seed: of the sample of people by which it is foreseen.
        """
        if self.ledger.entries or most >= 1:
            return then
        return FewWaiting(SampledChanges(self.table.base_counts, self.least, seed), most, then)

    @property
    def least(self) -> int:
        """Rows of those who came, and of those who left, in each published cell, where there are any."""
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
                        f"beside release {entry.number} of the ledger {self.ledger.path} this one is not proven to be "
                        f"private, so it is not published: {finding.criterion} {finding.verdict.value} for those by whom "
                        f"they differ{f' in {where}' if where else ''}; "
                        "demand no more, and assume no less, than the earlier releases do"
                    )
            if not envelope.turnover_known and (entry.where or self.part is not None):
                self._require_no_small_difference(entry, cliques)

    def _require_no_small_difference(self, entry: Entry, cliques: Sequence[Mask]) -> None:
        """Raise NothingPublishableError where what is shown differs little from what a release of another part showed."""
        before = part_of(Part(entry.where), entry.table) if entry.where else entry.table
        domain = self.table.domain
        earlier = Collection.of(DataCube([before]), [domain.mask(margin) for margin in entry.margins])
        later = Collection.of(DataCube([self.shown.base_counts]), cliques)
        parts = [self.part.where.text] if self.part else []
        narrowed = inside_all([Part(where) for where in {*parts, entry.where} if where])
        if difference(earlier, later, self.least, narrowed=narrowed).verdict is Verdict.FAILS:
            raise NothingPublishableError(
                f"counts of this part would differ by fewer than {self.k} from those of release {entry.number} of the "
                f"ledger {self.ledger.path}, though no few people did; publish when more has changed, or another part"
            )

    def after(self, cliques: Sequence[Mask], seed: int) -> Waiting:
        """Who waits, and what is coarsened, or who will wait, where these margins are published."""
        domain = self.table.domain
        if self.masks is None:
            foreseen = SampledChanges(self.table.base_counts, self.least, seed).waiting(cliques)
            return replace(self.waiting, foreseen=foreseen)
        lost = [mask for mask in self.masks or () if not any(not mask & ~clique for clique in cliques)]
        return replace(self.waiting, coarsened=tuple(domain.margin(mask) for mask in lost))

    def entering(self, cliques: Sequence[Mask], date: str) -> Entering:
        """The entry of a release of these margins. date: of today."""
        entry = Entry(
            len(self.ledger.entries) + 1,
            date,
            "",
            self.table.counts,
            tuple(self.table.domain.margin(mask) for mask in cliques),
            self.k,
            self.requirements.rows_per_person,
            self.requirements.diversity_claims,
            (self.waiting.came, self.waiting.left),
            turnover_known=self.turnover_known,
            where="" if self.part is None else self.part.where.text,
            shown=None if self.part is None else self.shown.rows,
        )
        return partial(_entering, self.ledger, entry, self.table)


def _entering(
    ledger: Ledger, entry: Entry, table: Table, folder: Path, bundle: Mapping[str, bytes]
) -> AbstractContextManager[None]:
    return ledger.entering(replace(entry, folder=str(folder.absolute())), table.roles, bundle)


def _check_fit(ledger: Ledger, today: Table) -> None:
    """Raise InputError naming the attribute whose role or hierarchy is not that of the ledger."""
    if ledger.domain is None or ledger.roles is None:
        raise ValueError("a ledger without entries fits every table")
    instead = f"the releases of the ledger {ledger.path} keep the attributes, roles and hierarchies of its first"
    for name in dict.fromkeys((*ledger.domain.attributes, *today.domain.attributes)):
        if name not in today.domain.attributes:
            raise InputError(f"the table has no attribute {name!r}, which {instead}")
        if name not in ledger.domain.attributes:
            raise InputError(f"{instead}, and {name!r} is not among them; leave it out (role ignored)")
        if today.roles[name] is not ledger.roles[name]:
            raise InputError(
                f"{name!r} is {today.roles[name].value} here, and {ledger.roles[name].value} in the ledger; {instead}"
            )
        if name not in today.ladders and not _agree(ledger.domain.hierarchy(name), today.domain.hierarchy(name)):
            raise InputError(f"the hierarchy of {name!r} is not that of the ledger; {instead}, so take that one")
    if ledger.entries[0].rows_per_person != today.most_rows_of_a_person:
        raise InputError(
            f"the table counts other rows of a person than the ledger {ledger.path}; set person, one_row and "
            "rows_per_person as for its first release"
        )


def _agree(one: Hierarchy, other: Hierarchy) -> bool:
    """Whether two hierarchies generalize the base values that both have in the same way."""
    paths = {path[0]: path for path in one.rows()}
    return all(paths.get(path[0], path) == path for path in other.rows())


def recoded(ledger: Ledger, today: Table) -> tuple[ContingencyTable, int]:
    """The rows of today over the domain of the ledger, and how many have a value that it does not know."""
    if ledger.domain is None:
        raise ValueError("a ledger without entries has no domain")
    counts = today.base_counts
    known = np.ones(len(counts), dtype=bool)
    codes = {}
    for name, hierarchy in ledger.domain.items():
        place = {label: code for code, label in enumerate(hierarchy.labels[0])}
        new = np.array([place.get(label, -1) for label in today.domain.hierarchy(name).labels[0]], dtype=np.int64)
        codes[name] = new[counts.column(name, 0)]
        known &= codes[name] >= 0
    rows = counts.counts
    codes = {name: column[known] for name, column in codes.items()}
    margin = dict.fromkeys(ledger.domain.attributes, 0)
    recoded = ContingencyTable.from_cells(ledger.domain, margin, codes, rows[known])
    return recoded, int(rows[~known].sum())
