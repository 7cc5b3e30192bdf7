"""The decision on a release: its promises, the sureness of readers, its use, and its tables.

It follows from the published marginals, the claims and the imprint alone, so readers can work it out again. `verify`, the
report, `publish` and the window show the same value.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from checks.claims import Claim, CountClaim, KCombinatorial, KLink, MinCell, MinPublishedCell
from checks.finding import Finding, Verdict
from checks.maxent.surest import Surest
from marginals.bundle.content import BundleContent
from marginals.pairs import ANALYSABLE, PairsShown, pairs_shown
from marginals.results import plain
from models.frozen import frozen
from models.graphs.basis import BasisKind
from models.tables.contingency_table import ContingencyTable


class Promise(NamedTuple):
    """A claim, and the finding on it: the verdict, and the group that comes nearest to breaking it."""

    claim: Claim
    finding: Finding


class Learned(NamedTuple):
    """The share of readers' guesses that are right about some values: of everybody, and in the worst group."""

    sensitive: str
    surest: Surest


class DecidedTable(NamedTuple):
    """A published table: its attributes with their labels, how many numbers it has, and the smallest of them."""

    margin: Mapping[str, int]
    labels: Mapping[str, tuple[str, ...]]
    numbers: int
    smallest: int
    sensitive: tuple[str, ...]


@frozen
class Decision:
    """The decision with a release, as numbers. learned: nearest to its bound first."""

    content: BundleContent
    promises: tuple[Promise, ...]
    learned: tuple[Learned, ...]
    pairs: PairsShown
    tables: tuple[DecidedTable, ...]

    @classmethod
    def of(cls, content: BundleContent) -> "Decision":
        """Return the decision that a bundle of this content carries out."""
        learned = [Learned(name, one) for name, of in content.harmful.items() for one in of.by_name.values()]
        return cls(
            content,
            tuple(map(Promise, content.claims, content.verify().checks)),
            tuple(sorted(learned, key=lambda one: one.surest.nearness, reverse=True)),
            pairs_shown(content.everything),
            tuple(_decided(table, content.sensitive) for table in content.everything.tables),
        )

    @property
    def rows(self) -> int:
        """The number of rows that are counted."""
        return self.content.collection.cube.total

    def promised(self, verdict: Verdict) -> int:
        """Return the number of promises with a verdict."""
        return Counter(promise.finding.verdict for promise in self.promises)[verdict]

    @property
    def is_kept(self) -> bool:
        """True if each promise holds, or is attested, and there is one that holds."""
        verdicts = {promise.finding.verdict for promise in self.promises}
        return Verdict.HOLDS in verdicts and verdicts <= {Verdict.HOLDS, Verdict.ATTESTED}

    @property
    def least_group(self) -> int | None:
        """The fewest rows, or people, of a group of a table, sensitive attributes aside, that a kept promise allows."""
        return max((c.k for c in self._holding() if isinstance(c, KLink | KCombinatorial)), default=None)

    @property
    def least_count(self) -> int | None:
        """The smallest published count that a kept promise allows."""
        return max((c.least_count for c in self._holding() if isinstance(c, MinCell | MinPublishedCell)), default=None)

    @property
    def is_derived_too(self) -> bool:
        """True if that holds for counts that can be worked out, too."""
        return any(isinstance(c, MinCell) and c.least_count == self.least_count for c in self._holding())

    @property
    def smallest(self) -> int | None:
        """The smallest published count; None without tables."""
        return min((table.smallest for table in self.tables), default=None)

    @property
    def analysable(self) -> int:
        """The number of pairs of attributes that tables say something about."""
        return sum(self.pairs.numbers[kind] for kind in ANALYSABLE)

    @property
    def exact(self) -> int:
        """The number of pairs of attributes that one table counts as finely as any."""
        return self.pairs.numbers[BasisKind.PUBLISHED]

    def _holding(self) -> list[CountClaim]:
        return [claim for claim, finding in self.promises if finding.holds and isinstance(claim, CountClaim)]

    def as_json(self) -> dict[str, Any]:
        """Return plain values; the promises stand among the checks, in the same order."""
        return {
            "title": self.content.title,
            "rows": self.rows,
            "promises": {verdict.value: number for verdict in Verdict if (number := self.promised(verdict))},
            "least_group": self.least_group,
            "least_count": self.least_count,
            "smallest_count": self.smallest,
            "learned": plain(self.learned),
            "pairs": {"all": self.pairs.total, "analysable": self.analysable, "exact": self.exact},
            "tables": plain(self.tables),
            "unpublished": list(self.content.unpublished),
        }


class Approval(NamedTuple):
    """The steward's half of a decision. It covers rows, so it stays with the table.

    digest: of all that decides the bytes of the release. roles: of each column. is_reviewed: whether somebody confirmed
    them. names: by office, empty if nobody typed one. statement: the one that was ticked.
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
        of_level = table.domain.hierarchy(name).labels[table.margin[name]]
        labels[name] = tuple(of_level[code] for code in sorted({*codes.tolist()}))
    smallest = int(table.counts.min(initial=table.total))
    about = tuple(name for name in table.attributes if name in sensitive)
    return DecidedTable(table.margin, labels, len(table), smallest, about)
