"""The decision on a release: what it promises, what a reader could learn, what it is good for, and its tables.

It follows from the published marginals, the claims and the imprint alone, so readers can work it out again: `verify` does,
the first page of the report shows it, and `publish` and the window show a steward the same value before anything leaves.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from checks.claims import Claim, CountClaim, KCombinatorial, KLink, MinCell, MinPublishedCell
from checks.finding import Finding, Verdict
from checks.maxent.surest import Surest
from marginals.bundle.content import BundleContent
from marginals.bundle.imprint import Imprint
from marginals.pairs import ANALYSABLE, PairsShown, pairs_shown
from marginals.results import plain
from models.graphs.basis import BasisKind
from models.tables.contingency_table import ContingencyTable


@dataclass(frozen=True)
class Promise:
    """A claim, and the finding on it: the verdict, and the group that comes nearest to breaking it."""

    claim: Claim
    finding: Finding


@dataclass(frozen=True)
class Learned:
    """How often a reader can be right about some values of a sensitive attribute: of everybody, and in the worst group."""

    sensitive: str
    surest: Surest


@dataclass(frozen=True)
class DecidedTable:
    """A published table: its attributes with their labels, how many numbers it has, and the smallest of them."""

    margin: Mapping[str, int]
    labels: Mapping[str, tuple[str, ...]]
    numbers: int
    smallest: int
    sensitive: tuple[str, ...]


@dataclass(frozen=True)
class Decision:
    """What is decided with a release, as numbers. learned: nearest to its bound first. unpublished: no table shows these."""

    imprint: Imprint
    title: str
    rows: int
    promises: tuple[Promise, ...]
    learned: tuple[Learned, ...]
    pairs: PairsShown
    tables: tuple[DecidedTable, ...]
    unpublished: tuple[str, ...]
    content: BundleContent

    @classmethod
    def of(cls, content: BundleContent) -> "Decision":
        """The decision that a bundle of this content carries out."""
        learned = [Learned(name, each) for name, of in content.harmful.items() for each in of.by_name.values()]
        return cls(
            content.imprint,
            content.title,
            content.collection.cube.total,
            tuple(map(Promise, content.claims, content.verify().checks)),
            tuple(sorted(learned, key=lambda each: each.surest.nearness, reverse=True)),
            pairs_shown(content.everything),
            tuple(_decided(table, content.sensitive) for table in content.everything.tables),
            content.unpublished,
            content,
        )

    def promised(self, verdict: Verdict) -> int:
        """How many promises have a verdict."""
        return Counter(promise.finding.verdict for promise in self.promises)[verdict]

    @property
    def is_kept(self) -> bool:
        """Whether each promise holds, or is attested, and there is one that holds."""
        judged = {promise.finding.verdict for promise in self.promises}
        return Verdict.HOLDS in judged and judged <= {Verdict.HOLDS, Verdict.ATTESTED}

    @property
    def least_group(self) -> int | None:
        """The fewest rows, or people, of a group of a table, sensitive attributes aside, that a kept promise allows."""
        return max((c.k for c in self._kept() if isinstance(c, KLink | KCombinatorial)), default=None)

    @property
    def least_count(self) -> int | None:
        """The smallest published count that a kept promise allows."""
        return max((c.least_count for c in self._kept() if isinstance(c, MinCell | MinPublishedCell)), default=None)

    @property
    def is_derived_too(self) -> bool:
        """Whether that holds for counts that can be worked out, too."""
        return any(isinstance(c, MinCell) and c.least_count == self.least_count for c in self._kept())

    @property
    def smallest(self) -> int | None:
        """The smallest published count; None without tables."""
        return min((table.smallest for table in self.tables), default=None)

    @property
    def analysable(self) -> int:
        """Pairs of attributes that tables tell something of."""
        return sum(self.pairs.numbers[kind] for kind in ANALYSABLE)

    @property
    def exact(self) -> int:
        """Pairs of attributes that one table counts as finely as any."""
        return self.pairs.numbers[BasisKind.PUBLISHED]

    def _kept(self) -> list[CountClaim]:
        kept = [promise.claim for promise in self.promises if promise.finding.holds]
        return [claim for claim in kept if isinstance(claim, CountClaim)]

    def as_json(self) -> dict[str, Any]:
        """The decision as plain values; its promises stand among the checks, in the same order."""
        return {
            "title": self.title,
            "rows": self.rows,
            "promises": {verdict.value: number for verdict in Verdict if (number := self.promised(verdict))},
            "least_group": self.least_group,
            "least_count": self.least_count,
            "smallest_count": self.smallest,
            "learned": plain(self.learned),
            "pairs": {"all": self.pairs.total, "analysable": self.analysable, "exact": self.exact},
            "tables": plain(self.tables),
            "unpublished": list(self.unpublished),
        }


@dataclass(frozen=True)
class Approval:
    """The steward's half of a decision: what was approved, and by whom. It covers rows, so it stays beside the table.

    digest: of all that decides the bytes of the release. roles: of each column. is_reviewed: whether somebody confirmed
    them. names: by office, empty if nobody typed one. statement: what was ticked.
    """

    decision: Decision
    digest: str
    roles: Mapping[str, str]
    is_reviewed: bool
    names: Mapping[str, str]
    statement: str


def _decided(table: ContingencyTable, sensitive: tuple[str, ...]) -> DecidedTable:
    labels = {}
    for name, codes in zip(table.attributes, table.codes):
        listed = table.domain.hierarchy(name).labels[table.margin[name]]
        labels[name] = tuple(listed[code] for code in sorted({*codes.tolist()}))
    smallest = int(table.counts.min(initial=table.total))
    return DecidedTable(
        table.margin, labels, len(table), smallest, tuple(a for a in table.attributes if a in sensitive)
    )
