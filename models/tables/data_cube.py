"""Data cube: every marginal that given tables imply, rolled up from the smallest ancestor and cached.

One class serves a steward, whose table is the data, and an analyst, whose tables are the published marginals.
"""

from bisect import insort
from collections.abc import Callable, Mapping, Sequence
from math import log, prod
from typing import Protocol

import numpy as np

from models.arrays import CountArray, FloatArray, read_only, x_log_x
from models.errors import DomainMismatchError, ExtensionError
from models.installed import name_of
from models.tables.contingency_table import ContingencyTable, entropy
from models.tables.hierarchy import Domain, Mask

_LARGE, _SMALL = 1 << 13, 1 << 12
"""Least cells of a table too large to be counted for each margin, and most cells of a table that is counted at once."""

_FEWER, _KEPT = 32, 8
"""Conditions of intermediate tables: so many times fewer cells than the finer one, and together `_KEPT` times those of
the largest given table. With 8 and 2 the search on a million distinct rows of 20 columns took 25 s instead of 10."""

_ANCESTORS = 256
"""Most tables that a count examines as ancestors, besides given and intermediate ones."""

CHANCE = 0.5
"""Nats, divided by the number of rows, that a free parameter gains by chance on average; its default price."""

DOUBTFUL = 2.0
"""Factor of the price at which a parameter must pay for an edge without an association of its two attributes. At 1 / 2n
chance passes about every second time, at 1 / n hardly ever."""


class CountSource(Protocol):
    """Protocol of sources that count the margins of a table too large to be held as a whole."""

    def table(self, margin: Mapping[str, int]) -> ContingencyTable:
        """Return the counts of a margin, or of a finer one that costs no more to count."""

    def counts_of_counts(self, margin: Mapping[str, int]) -> tuple[CountArray, CountArray]:
        """Return the rising counts of the nonempty cells, and how many cells have each, however many there are."""

    def can_hold(self, margin: Mapping[str, int]) -> bool:
        """Return whether a margin has few enough cells for its table."""


Score = Callable[[CountArray, int], float]
"""Returns the score of a margin, in nats over all rows. It is given the counts of the occupied cells, in no order, and
the number of all cells. More is better. A model's score is the sum over its cliques less that over its separators."""

Parameters = Callable[["DataCube", Mask], int]
"""Returns the number of cells of a margin that are parameters of a model with that margin."""


def nominal(cube: "DataCube", mask: Mask) -> int:
    """Return the number of all cells of a margin, empty ones included."""
    return cube.domain.cell_count(mask)


def occupied(cube: "DataCube", mask: Mask) -> int:
    """Return the number of cells of a margin that have rows; the others are estimated as 0 in any case."""
    return len(cube.counts(mask)) if mask else 1


def interactions(cube: "DataCube", mask: Mask) -> int:
    """Return the number of cells of a margin beyond the tables of single attributes.

    If each attribute has g values with rows at its level, a margin has prod(g) - sum(g - 1) cells that count. Over the
    cliques less the separators of a junction tree, the sums leave g - 1 for each attribute at its finest level. So
    these tables take no parameter, and a margin of two attributes takes (g - 1)(h - 1).
    """
    sizes = [len(cube.table(mask & part)) for part in cube.domain.attribute_masks if mask & part]
    return prod(sizes) - sum(sizes) + len(sizes)


class DataCube:
    """Tables over one domain with one total, and a cache of the margins rolled up from them.

    tables: at least one table. source: counts the margins that no given table shows. parameters: counts the cells of a
    margin that a model is charged for. score: if given, judges models by their cliques instead. Raises
    DomainMismatchError if there is no table, or if tables have different domains or totals.
    """

    def __init__(
        self,
        tables: Sequence[ContingencyTable],
        source: CountSource | None = None,
        parameters: Parameters = nominal,
        score: Score | None = None,
    ) -> None:
        if not tables:
            raise DomainMismatchError("a data cube needs at least one table")
        self.domain: Domain = tables[0].domain
        self.total: int = tables[0].total
        if any(table.domain != self.domain or table.total != self.total for table in tables):
            raise DomainMismatchError("the tables of a data cube must share their domain and their number of rows")
        self.parameters, self.score = parameters, score
        self._tables: dict[Mask, ContingencyTable] = {}
        for table in tables:
            self._tables.setdefault(table.mask, table)
        self._ancestors = sorted(self._tables, key=self._cells_of)  # to count from
        self._latest: tuple[Mask, CountArray] | None = None
        """The latest counts, because a constraint on a margin is mostly followed by a question for its entropy."""
        self._source = source
        self._entropies: dict[Mask, float] = {0: 0.0}
        self._complexities: dict[Mask, float] = {}
        self._log_leaves: dict[Mask, float] = {}
        self._base: Mask = sum(self.domain.attribute_masks)
        self._spare_cells = _KEPT * max(map(len, tables))

    def scored(self, score: Score) -> "DataCube":
        """Return a cube of the same tables that judges models by a score of their cliques."""
        return DataCube(tuple(self._tables.values()), self._source, self.parameters, score)

    def __repr__(self) -> str:
        return f"DataCube({self.total} rows, {len(self._tables)} tables, {len(self._entropies)} entropies cached)"

    def holds(self, mask: Mask) -> bool:
        """Return whether some table at hand is at least as fine."""
        return any(mask & ~table == 0 for table in self._tables)

    def _ancestor(self, mask: Mask) -> ContingencyTable:
        smallest = next((self._tables[finer] for finer in self._ancestors if mask & finer == mask), None)
        if smallest is None and self._source is not None:
            counted = self._source.table(self.domain.margin(mask))
            smallest = self._tables.setdefault(counted.mask, counted)
            insort(self._ancestors, smallest.mask, key=self._cells_of)
        if smallest is None:
            raise DomainMismatchError(f"no table shows the margin {self.domain.margin(mask)}")
        while (between := self._between(mask, smallest)) != mask:
            smallest = self._tables[between] = smallest.rolled_up_to(between)
            insort(self._ancestors, between, key=self._cells_of)
            self._spare_cells -= len(smallest)
        return smallest

    def _cells_of(self, mask: Mask) -> int:
        return len(self._tables[mask])

    def _between(self, mask: Mask, finer: ContingencyTable) -> Mask:
        """Return an intermediate margin worth caching, small and finer than `mask`; else `mask`."""
        cell_count, between = self.domain.cell_count, mask
        most = min(len(finer) // _FEWER, self._spare_cells)
        if len(finer) < _LARGE or cell_count(mask) > most:
            return mask
        parts = [part for part in self.domain.attribute_masks if part & finer.mask]
        own_parts = [part for part in parts if part & mask]
        while steps := [
            step for part in own_parts if (step := ((between & part) + (part & -part)) & part & finer.mask)
        ]:
            finest = between | min(steps, key=lambda step: cell_count(between | step))
            if cell_count(finest) > most:
                break
            between = finest
        for part in sorted((part & finer.mask for part in parts if not part & mask), key=cell_count):
            if cell_count(between | part) > most:
                break
            between |= part
        return between

    def table(self, mask: Mask) -> ContingencyTable:
        """Return the table of a margin. Raises DomainMismatchError if no given table is at least as fine."""
        if mask not in self._tables:
            ancestor = self._ancestor(mask)
            self._tables.setdefault(mask, ancestor.rolled_up_to(mask))
            if len(self._ancestors) < _ANCESTORS and len(ancestor) > _SMALL:
                insort(self._ancestors, mask, key=self._cells_of)
        return self._tables[mask]

    def counts(self, mask: Mask) -> CountArray:
        """Return the counts of the nonempty cells of a margin, without the cells."""
        if mask in self._tables:
            return self._tables[mask].counts
        if self._latest is None or self._latest[0] != mask:
            self._latest = mask, read_only(self._ancestor(mask).counts_at(mask))
        return self._latest[1]

    def cell_count(self, mask: Mask) -> int:
        """Return the number of cells of a margin that are parameters of a model with that margin."""
        return self.parameters(self, mask)

    def complexity(self, mask: Mask) -> float:
        """Return the complexity of a margin in a search; over cliques less separators it adds up to the free
        parameters.

        If there is a score, the complexity is the difference between the log-likelihood of the rows and the score, in
        nats a row. Then divergence and complexity of a model together are its score, up to a constant. If only
        interactions are parameters, the complexity of single attributes is subtracted, because every attribute may
        keep its table, whatever its score.
        """
        complexity = self._complexity(mask)
        if self.score is not None and self.parameters is interactions:
            complexity -= sum(self._complexity(mask & part) for part in self.domain.attribute_masks if mask & part)
        return complexity

    def _complexity(self, mask: Mask) -> float:
        if mask not in self._complexities:
            lacking = 0.0
            if self.score is not None and mask:
                one = self._scored(self.score, np.array([self.total]), 1)
                scored = self._scored(self.score, self.counts(mask), self.domain.cell_count(mask))
                lacking = (one - scored) / max(self.total, 1) - self.entropy(mask)
            self._complexities[mask] = self.cell_count(mask) - 1 if self.score is None else lacking
        return self._complexities[mask]

    @staticmethod
    def _scored(score: Score, counts: CountArray, cells: int) -> float:
        number = score(counts, cells)
        is_number = isinstance(number, int | float | np.number)
        if not is_number or not np.isfinite(number):
            raise ExtensionError(
                f"a score of cliques is a finite number of nats for the counts of any clique; {name_of(score)} gives "
                f"{'one that is not finite' if is_number else type(number).__name__}"
            )
        return float(number)

    def knows(self, mask: Mask) -> bool:
        """Return whether an entropy is known without counting."""
        return mask in self._entropies

    def entropy(self, mask: Mask) -> float:
        """Return the entropy in nats of the empirical marginal."""
        if mask not in self._entropies:
            if (source := self._source_of_more(mask)) is None:
                self._entropies[mask] = entropy(self.counts(mask))
            else:
                sizes, cells = source.counts_of_counts(self.domain.margin(mask))
                self._entropies[mask] = log(self.total) - float((x_log_x(sizes) * cells).sum()) / self.total
        return self._entropies[mask]

    def least_count(self, mask: Mask) -> int:
        """Return the least count of the nonempty cells of a margin; 0 if there are none."""
        if (source := self._source_of_more(mask)) is not None:
            return int(source.counts_of_counts(self.domain.margin(mask))[0].min())
        return int(self.counts(mask).min()) if self.total else 0

    def _source_of_more(self, mask: Mask) -> CountSource | None:
        """Return the source, if it must count a margin: all base values, or too many cells to be held."""
        source = self._source
        if source is None or self.holds(mask):
            return None
        return source if mask == self._base or not source.can_hold(self.domain.margin(mask)) else None

    def log_leaves(self, attribute: str, level: int) -> float:
        """Return the mean over the rows of ln(number of base values under the row's value at a level), in nats.

        It is the cost in KL divergence of publishing no finer level, if the model is otherwise exact.
        """
        hierarchy = self.domain.hierarchy(attribute)
        if level in (0, hierarchy.height):
            return float(np.log(hierarchy.size(0))) if level else 0.0
        mask = self.domain.mask({attribute: level})
        if mask not in self._log_leaves:
            table = self.table(mask)
            logs: FloatArray = np.log(hierarchy.leaf_counts(level)[table.codes[0]])
            self._log_leaves[mask] = float(table.counts @ logs / max(self.total, 1))
        return self._log_leaves[mask]
