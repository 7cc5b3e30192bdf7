"""Differences of two tables of people who come and go, as what is published of each table tells them.

With J the table of those who came and L that of those who left, the later table is T_1 + J - L; whoever is recorded
otherwise now is in both. What follows of T_2 - T_1 from the equations of both collections, and from the values that have no
rows in one of them, are the differences on the meets (`checks.changes.meets`).

That counts are not negative can tell more, up to who exactly came, although no difference is small. Only who has both tables
can exclude that.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from checks.changes.common_values import Overlaps
from checks.changes.meets import Meet, Narrowing, every_cell, meets
from checks.finding import Algorithm, Finding, Verdict
from models.graphs.collection import Collection

CRITERION = "difference"

UNSEEN = (
    "those who came and those who left in one cell cancel, unseen; and what follows because no count is negative can be "
    "excluded only by the publisher, who has both tables"
)
"""What differences do not say, however large they are."""


@dataclass(frozen=True)
class CellDifference:
    """How many rows more the later table has in a cell, fewer where it is negative.

    cell: labels, with | between several that are one value here. margin: the level of each attribute in the release that
    generalizes it more; None where values of both releases had to be put together. before, after: rows.
    """

    cell: Mapping[str, str]
    margin: Mapping[str, int | None]
    before: int
    after: int

    @property
    def difference(self) -> int:
        """Rows after less rows before."""
        return self.after - self.before

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        rows = {"before": self.before, "after": self.after}
        return {"margin": dict(self.margin), "cell": dict(self.cell), "difference": self.difference, **rows}


def difference(
    earlier: Collection,
    later: Collection,
    least: int,
    overlaps: Overlaps | None = None,
    narrowed: Narrowing = every_cell,
) -> Finding:
    """Whether every difference that both collections tell is 0, or at least so many rows more or fewer.

    Shown is the smallest that is not 0. It is no proof that nothing else follows: see `UNSEEN`. Where values of the one
    overlap with values of the other, so that neither nest, and no difference is small, it is undecided. overlaps: of the
    attributes that the two generalize differently. narrowed: to the cells that count. Raises
    DomainMismatchError where others are.
    """
    examined = 0
    smallest: CellDifference | None = None
    overlapping: dict[str, None] = {}
    for meet in map(narrowed, meets(earlier, later, overlaps)):
        changes = meet.changes
        examined += len(changes)
        overlapping |= dict.fromkeys(meet.overlapping)
        changed = np.flatnonzero(changes)
        if not len(changed):
            continue
        cell = int(changed[np.argmin(np.abs(changes[changed]))])
        if smallest is None or abs(changes[cell]) < abs(smallest.difference):
            smallest = meet_difference(meet, cell)
    if smallest is not None and abs(smallest.difference) < least:
        verdict, note = Verdict.FAILS, ""
    elif overlapping:
        names = ", ".join(map(repr, overlapping))
        why = f"values of {names} in one release overlap with values in the other, so that neither nest"
        verdict, note = Verdict.UNDECIDED, f"{why}; no difference of what both tell is small, but more may follow"
    else:
        verdict, note = Verdict.HOLDS, UNSEEN
    return Finding(CRITERION, verdict, {"k": least}, smallest, (Algorithm.MINIMUM,), examined, note)


def meet_difference(meet: Meet, cell: int) -> CellDifference:
    """The difference in one cell of a meet."""
    return CellDifference(meet.cell(cell), meet.levels, int(meet.before[cell]), int(meet.after[cell]))
