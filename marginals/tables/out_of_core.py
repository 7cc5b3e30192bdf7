"""Tables that do not fit into memory: counted where the rows are, only as finely as a release can use it.

A level at which k-link fails for a quasi-identifier alone can be in no margin that is published, so it is generalized
away before the rows are counted. Where the distinct rows do not fit even so, each margin is counted when it is first
needed, together with as much as surely fits, so that the next ones need not be.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import log

import numpy as np

from marginals.errors import InputError
from marginals.tables.attribute import Role
from marginals.tables.sources.distinct_rows import Engine, Recoding
from models.arrays import CountArray
from models.tables.contingency_table import ContingencyTable
from models.tables.domain import Domain
from models.tables.margin import Margin
from models.x_log_x import x_log_x


@dataclass(frozen=True, eq=False)
class OutOfCoreCounts:
    """The counts of a table whose rows an engine holds.

    recodings: the base codes of the values of each column. singles: how often each base value occurs, by attribute.
    finest: the finest level of each attribute that a release can use. limit: cells that fit into memory. complete:
    whether no row lacks a value.
    """

    engine: Engine
    domain: Domain
    recodings: Mapping[str, Recoding]
    singles: tuple[ContingencyTable, ...]
    finest: Mapping[str, int]
    limit: int
    complete: bool

    @property
    def total(self) -> int:
        """Number of rows that count."""
        return self.singles[0].total

    @property
    def fits(self) -> bool:
        """Whether the distinct rows fit into memory at the finest levels that a release can use."""
        return self._cells(self.finest) <= self.limit

    def table(self, margin: Mapping[str, int]) -> ContingencyTable:
        """The counts of a margin, or of the widest finer one that surely fits.

        Raises InputError where the margin itself has too many cells.
        """
        cells = self._cells(margin)
        if cells > self.limit:
            raise InputError(
                f"{self.engine.name} has about {cells} combinations of {', '.join(margin)} at the levels asked for, "
                f"more than the {self.limit} that fit; raise the setting data.memory, or coarsen the hierarchies"
            )
        wide = self._widened(margin)
        codes, counts = self.engine.count(self._recoded(wide))
        return ContingencyTable.from_cells(self.domain, wide, codes, counts)

    def entropy(self, margin: Mapping[str, int]) -> float:
        """Entropy in nats of the empirical marginal; no cell of it leaves the engine."""
        sizes, cells = self.engine.counts_of_counts(self._recoded(margin))
        order = np.argsort(sizes)
        return log(self.total) - float((x_log_x(sizes) * cells)[order].sum()) / self.total

    def _cells(self, margin: Mapping[str, int]) -> int:
        """At most, or where that is not few enough about, how many cells that are not empty a margin has."""
        most = min(self.domain.size(margin), self.total)
        return most if most <= self.limit else self.engine.estimate_recoded(self._recoded(margin))

    def _widened(self, margin: Mapping[str, int]) -> Margin:
        """The margin with more attributes and finer levels, as long as all its cells fit, the empty ones too."""
        wide = dict(self.domain.margin(self.domain.mask(margin)))
        for attribute, level in self.finest.items():
            hierarchy = self.domain.hierarchy(attribute)
            finer = wide | {attribute: min(level, wide.get(attribute, hierarchy.height))}
            if self.domain.size(finer) <= self.limit:
                wide = finer
        return self.domain.margin(self.domain.mask(wide))

    def _recoded(self, margin: Mapping[str, int]) -> dict[str, Recoding]:
        """Codes at the levels of a margin; columns that it lacks have one code, where they may lack a value."""
        recoded = {}
        for column, base in self.recodings.items():
            if column in margin:
                lifted = self.domain.hierarchy(column).lift(0, margin[column]).astype(np.intp)
                recoded[column] = np.where(base >= 0, lifted[base], -1)
            elif not self.complete:
                recoded[column] = np.where(base >= 0, 0, -1)
        return recoded


def finest_levels(singles: Mapping[str, ContingencyTable], roles: Mapping[str, Role], k: int) -> dict[str, int]:
    """For each attribute the finest level that some margin can be published at: k-link holds for it alone.

    k: rows that a class has at least. Sensitive attributes are not classes; theirs is level 0.
    """
    levels = {}
    for attribute, table in singles.items():
        hierarchy = table.domain.hierarchy(attribute)
        sizes = (table.rolled_up({attribute: level}).counts for level in range(hierarchy.height + 1))
        usable = (level for level, counts in enumerate(sizes) if counts.min() >= k)
        levels[attribute] = 0 if roles[attribute] is Role.SENSITIVE else next(usable, hierarchy.height)
    return levels


def kept_counts(engine: Engine, recodings: Mapping[str, Recoding]) -> dict[str, CountArray]:
    """How often each code of each column occurs in the rows that lack no value; columns are recoded as given."""
    counted = {}
    for column, own in recodings.items():
        constant = {other: np.where(codes >= 0, 0, -1) for other, codes in recodings.items()}
        codes, counts = engine.count({**constant, column: own})
        sizes = np.zeros(int(own.max(initial=-1)) + 1, dtype=np.int64)
        np.add.at(sizes, codes[column].astype(np.intp), counts)
        counted[column] = sizes
    return counted
