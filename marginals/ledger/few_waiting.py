"""Few waiting: what the first release of a ledger leaves coarse, so that what changes later can soon be shown.

What changed can be shown beside the first release when those who came, and those who left, are none or at least k in every
cell of its margins (`checks.changes`). Whoever is in a smaller cell waits: the finer the margins, the more people. All later
releases keep to the margins of the first one, so it decides how many will ever wait. How many these are is foreseen with a
sample of the table itself, as if those who come and leave were people like those who are in it: when of w people drawn from
it as many can be shown at once as change between two releases, no more than about w wait.

It is a forecast, of which no claim of privacy depends. It says nothing of people of a new kind, of diversity, or of counts
that must not differ by less than k because readers may take the difference for people (turnover unknown).
"""

from collections.abc import Callable
from collections.abc import Collection as AnyCollection
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from checks.changes.batch import cells_of, settled_rows
from models.arrays import IndexArray
from models.search.constraint import Constraint, Refusal, RefusalScope, is_refused_in_all
from models.tables.contingency_table import ContingencyTable
from models.tables.domain import Mask

CHANGED = 0.02
"""Share of the people who are assumed to come or leave between two releases, as many of the one as of the other."""

_STEPS = 10
"""Halvings by which the share of those who wait is found."""

_REMEMBERED = 256
"""Margins of which is remembered who is in which cell."""


@dataclass(frozen=True, eq=False)
class SampledChanges:
    """People who come to a table, or leave it: samples of those who are in it.

    table: at base values. least: rows that each cell of a margin must have of those who are shown, or none. seed: of the
    samples.
    """

    table: ContingencyTable
    least: int
    seed: int = 0

    def are_few(self, cliques: AnyCollection[Mask], share: float) -> bool:
        """Whether no larger share of the people is foreseen to wait beside these margins. Finer margins have more."""
        rows = self._sample(share).counts
        kept = settled_rows(rows, [self._cells(share, mask) for mask in cliques], self.least)
        return int(rows[kept].sum()) >= self._changed

    def waiting(self, cliques: AnyCollection[Mask]) -> float:
        """The share of the people who are foreseen to wait beside these margins, to a thousandth; 1 where all may."""
        low, high = 0.0, 1.0
        for _ in range(_STEPS):
            middle = (low + high) / 2
            low, high = (low, middle) if self.are_few(cliques, middle) else (middle, high)
        return high

    @property
    def _changed(self) -> int:
        """Rows that come between two releases; as many leave."""
        return max(round(self.table.total * CHANGED / 2), 1)

    def _drawn(self, share: float) -> ContingencyTable:
        size = round(self.table.total * share / 2)
        rng = np.random.default_rng(self.seed)
        rows = rng.multivariate_hypergeometric(self.table.counts, size, method="marginals")
        codes = dict(zip(self.table.attributes, self.table.codes))
        return ContingencyTable.from_cells(self.table.domain, self.table.margin, codes, rows)

    @cached_property
    def _sample(self) -> Callable[[float], ContingencyTable]:
        """The people who wait on one side: half of such a share of all came, and half left."""
        return lru_cache(1)(self._drawn)

    @cached_property
    def _cells(self) -> Callable[[float, Mask], IndexArray]:
        """The cell of a margin that each cell of a sample is in. A search asks of most margins again and again."""
        return lru_cache(_REMEMBERED)(lambda share, mask: cells_of(self._sample(share), mask))


@dataclass(frozen=True, eq=False)
class FewWaiting:
    """The constraint of a search: margins that another one allows, and beside which few people are foreseen to wait.

    most: share of the people. then: the other constraint, which is asked first.
    """

    changes: SampledChanges
    most: float
    then: Constraint

    @property
    def pivot(self) -> Mask:
        """All vertices: who waits because of one margin is missing in all others."""
        return sum(self.changes.table.domain.attribute_masks)

    def __call__(self, cliques: AnyCollection[Mask], new: Mask) -> Refusal | None:
        """What the other constraint says, or the refusal where more would wait."""
        if refusal := self.then(cliques, new):
            return refusal
        if new and not self._are_few(frozenset([new])):
            return Refusal(self._reason, RefusalScope.FINER)
        return None if self._are_few(frozenset(cliques)) else Refusal(self._reason, RefusalScope.LONGER)

    def of_margin(self, margin: Mask) -> Refusal | None:
        """The refusal of everything that shows a margin."""
        if is_refused_in_all(self.then, margin) or not self._are_few(frozenset([margin])):
            return Refusal(self._reason, RefusalScope.FINER)
        return None

    @property
    def _reason(self) -> str:
        return f"more than {100 * self.most:g} percent of the people would wait for a later release (max_waiting)"

    def _are_few(self, cliques: frozenset[Mask]) -> bool:
        if cliques not in self._judged:
            self._judged[cliques] = self.changes.are_few(cliques, self.most)
        return self._judged[cliques]

    @cached_property
    def _judged(self) -> dict[frozenset[Mask], bool]:
        return {}
