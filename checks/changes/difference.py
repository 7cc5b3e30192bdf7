"""Differences of two tables of people who come and go, as what is published of each table tells them.

With J the table of those who came and L that of those who left, the later table is T_1 + J - L; whoever is recorded
otherwise now is in both. A count of the difference T_2 - T_1 follows from the equations of both collections when it is a
sum of published counts of the one, and of the other. Such counts are those of the *meets*: the margins that a margin of
the one and a margin of the other have in common, each attribute at the coarser of its two levels. For the functions on a
product domain that depend on some margins over nested partitions span spaces whose projections commute, so that the
intersection of two such spans is spanned by the pairwise intersections. A meet that is coarser than another one tells
sums of the other's differences and nothing else.

That counts are not negative can tell more, up to who exactly came, although no difference is small: of the 2 x 2 table
0, 0, 0, 4 over (0,0) .. (1,1) both one-way tables are published, of 0, 2, 3, 5 all cells; no difference is 1, and yet
since nobody was in A = 0 before, exactly one came to (1,1). Only who has both tables can exclude that.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from checks.finding import Algorithm, Finding, Verdict
from models.arrays import CodeArray, CountArray
from models.errors import DomainMismatchError
from models.graphs.collection import Collection
from models.tables.domain import Mask
from models.tables.mixed_radix import group, pack

UNSEEN = (
    "those who came and those who left in one cell cancel, unseen; and what follows because no count is negative can be "
    "excluded only by the publisher, who has both tables"
)
"""What differences do not say, however large they are."""


@dataclass(frozen=True)
class CellDifference:
    """How many rows more the later table has in a cell, fewer where it is negative. cell: labels; margin: levels."""

    cell: Mapping[str, str]
    margin: Mapping[str, int]
    difference: int

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        return {"margin": dict(self.margin), "cell": dict(self.cell), "difference": self.difference}


def meets(earlier: Collection, later: Collection) -> tuple[Mask, ...]:
    """The margins that a margin of each has in common, those aside that are coarser than another one.

    Raises DomainMismatchError for collections over different domains.
    """
    if earlier.domain != later.domain:
        raise DomainMismatchError("only tables over the same hierarchies have a difference")
    common = {one & other for one in earlier.masks or (0,) for other in later.masks or (0,)}
    return tuple(sorted(mask for mask in common if not any(mask != other and mask & other == mask for other in common)))


def difference(earlier: Collection, later: Collection, least: int) -> Finding:
    """Whether every difference that both collections tell is 0, or at least so many rows more or fewer.

    Shown is the smallest that is not 0. It is no proof that nothing else follows: see `UNSEEN`.
    """
    examined = 0
    smallest: CellDifference | None = None
    for mask in meets(earlier, later):
        levels = earlier.domain.levels(mask)
        margin = {name: level for name, level in levels.items() if level < earlier.domain.hierarchy(name).height}
        columns, changes = _changes(earlier, later, mask)
        examined += len(changes)
        changed = np.flatnonzero(changes)
        if not len(changed):
            continue
        cell = changed[np.argmin(np.abs(changes[changed]))]
        if smallest is None or abs(changes[cell]) < abs(smallest.difference):
            labels = (earlier.domain.hierarchy(name).labels[level] for name, level in margin.items())
            shown = {name: own[code] for name, own, code in zip(margin, labels, columns[:, cell].tolist())}
            smallest = CellDifference(shown, margin, int(changes[cell]))
    holds = smallest is None or abs(smallest.difference) >= least
    return Finding(
        "difference",
        Verdict.HOLDS if holds else Verdict.FAILS,
        {"k": least},
        smallest,
        (Algorithm.MINIMUM,),
        examined,
        UNSEEN if holds else "",
    )


def _changes(earlier: Collection, later: Collection, mask: Mask) -> tuple[CodeArray, CountArray]:
    """The cells of a margin that have rows before or after, and how many rows more they have after.

    Codes of shape (attributes, cells) in the domain's order, changes of shape (cells,).
    """
    if not mask:
        return np.zeros((0, 1), dtype=np.int64), np.array([later.cube.total - earlier.cube.total])
    before, after = earlier.cube.table(mask), later.cube.table(mask)
    columns = [np.concatenate(pair) for pair in zip(before.codes, after.codes)]
    sizes = [earlier.domain.hierarchy(name).size(before.margin[name]) for name in before.attributes]
    first, number = group(*pack(columns, sizes, len(before.counts) + len(after.counts)))
    changes = np.zeros(len(first), dtype=np.int64)
    np.add.at(changes, number, np.concatenate([-before.counts, after.counts]))
    return np.stack(columns)[:, first], changes
