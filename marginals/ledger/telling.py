"""What each two releases of a ledger tell together of those who came and left between them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from checks.changes.batch import Change
from checks.changes.difference import CellDifference
from checks.finding import Finding
from marginals.ledger.ledger import Ledger


@dataclass(frozen=True)
class Pair:
    """Two releases by their numbers; how many rows came and left between them, and what holds of these.

    smallest: the smallest difference that readers can compute, None where there is none. turnover_known: whether both are
    for readers who know that people come and go, so that it need not be large.
    """

    earlier: int
    later: int
    came: int
    left: int
    findings: tuple[Finding, ...]
    smallest: int | None
    turnover_known: bool = False

    @property
    def ok(self) -> bool:
        """Whether all is proven to hold."""
        return all(finding.holds for finding in self.findings)

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "earlier": self.earlier,
            "later": self.later,
            "came": self.came,
            "left": self.left,
            "ok": self.ok,
            "smallest_difference": self.smallest,
            "turnover_known": self.turnover_known,
        }


def pairs(ledger: Ledger) -> Iterator[Pair]:
    """Every two releases of a ledger, by what both claim, on all margins that any of its releases shows."""
    for earlier, later in combinations(ledger.entries, 2):
        diversities = (*earlier.diversities, *later.diversities)
        envelope = ledger.envelope(max(earlier.k, later.k), diversities, later.rows_per_person)
        turnover_known = earlier.turnover_known and later.turnover_known
        envelope = replace(envelope, turnover_known=turnover_known)
        findings = tuple(envelope.findings(earlier.table, later.table))
        change = Change.between(earlier.table, later.table)
        worst = findings[-1].worst
        smallest = worst.difference if isinstance(worst, CellDifference) else None
        came, left = change.joiners.total, change.leavers.total
        yield Pair(earlier.number, later.number, came, left, findings, smallest, turnover_known)
