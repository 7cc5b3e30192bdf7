"""The data cube: every marginal that given tables imply, rolled up from the smallest ancestor and kept.

The same cube serves a steward, whose one table is the data, and an analyst, whose tables are the published marginals.
"""

from bisect import insort
from collections.abc import Mapping, Sequence
from math import prod
from typing import Protocol

import numpy as np
import numpy.typing as npt

from models.arrays import CodeArray, CountArray, FloatArray, IndexArray, read_only, x_log_x
from models.errors import DomainMismatchError, ExtensionError
from models.installed import name_of
from models.tables.contingency_table import ContingencyTable, entropy, tally_totals
from models.tables.hierarchy import Domain, Mask

_LARGE = 1 << 13
"""Cells from which on a table is too large to be counted again for each of its margins."""

_SMALL = 1 << 12
"""Cells up to which a table is counted sooner than a smaller one is looked for."""

_FEWER = 8
"""A table between two others is worth its count where it has at least so many times fewer cells than the finer one."""

_KEPT = 2
"""Tables between have together at most so many times the cells of the largest table that was given."""

_ANCESTORS = 256
"""Tables among which one to count from is looked for, besides those given and those between: more take longer to look at."""

_VALUE_PAIRS_PER_COUNT = 128
"""Counting this many pairs of values by bit sets takes about as long as counting one pair of columns."""

_ROWS_PER_CELL = 4
"""Up to so many it is faster to count all pairs of values at once, row by row."""


class CountSource(Protocol):
    """Counts the margins of a table that is too large to be held as a whole."""

    def table(self, margin: Mapping[str, int]) -> ContingencyTable:
        """The counts of a margin, or of a finer one that costs no more to count."""

    def entropy(self, margin: Mapping[str, int]) -> float:
        """Entropy in nats of the empirical marginal, however many cells it has."""

    def least_count(self, margin: Mapping[str, int]) -> int:
        """The least count of its cells that are not empty, however many there are."""

    def can_hold(self, margin: Mapping[str, int]) -> bool:
        """Whether a margin has few enough cells for its table."""


class Score(Protocol):
    """Any function of this shape: how well the counts of a clique speak for it, in nats over all rows; more is better.

    A model's score is the sum over its cliques less that over its separators.
    """

    def __call__(self, counts: CountArray, cells: int, /) -> float:
        """The score of a margin. counts: of its cells that have rows, in no order. cells: how many there are in all."""


class DataCube:
    """Tables over one domain with one total, and a cache of what has been rolled up from them.

    source: counts what no table at hand shows. Raises DomainMismatchError when there is no table or when the tables'
    domains or totals differ.
    """

    def __init__(self, tables: Sequence[ContingencyTable], source: CountSource | None = None) -> None:
        if not tables:
            raise DomainMismatchError("a data cube needs at least one table")
        self.domain: Domain = tables[0].domain
        self.total: int = tables[0].total
        if any(table.domain != self.domain or table.total != self.total for table in tables):
            raise DomainMismatchError("the tables of a data cube must share their domain and their number of rows")
        self._tables: dict[Mask, ContingencyTable] = {}
        for table in tables:
            self._tables.setdefault(table.mask, table)
        self._ancestors: list[tuple[int, int, Mask, ContingencyTable]] = []
        """Those to count from, the smallest first, of equals the one that came first; with their masks."""
        for table in self._tables.values():
            self._count_from(table)
        self._latest: tuple[Mask, CountArray] | None = None
        """What was counted last: who judges a margin mostly asks for its entropy next."""
        self._source = source
        self._entropies: dict[Mask, float] = {0: 0.0}
        self._pairs: FloatArray | None = None
        """The entropies of all pairs of attributes at base values, where they were learned; i, j with j below i."""
        self._log_leaves: dict[Mask, float] = {}
        self._base: Mask = sum(self.domain.attribute_masks)
        self._spare_cells = _KEPT * max(map(len, tables))

    def __repr__(self) -> str:
        return f"DataCube({self.total} rows, {len(self._tables)} tables, {len(self._entropies)} entropies cached)"

    def holds(self, mask: Mask) -> bool:
        """Whether some table at hand is at least as fine."""
        return any(mask & ~table == 0 for table in self._tables)

    def _count_from(self, table: ContingencyTable) -> None:
        insort(self._ancestors, (len(table), len(self._ancestors), table.mask, table))

    def _ancestor(self, mask: Mask) -> ContingencyTable:
        smallest = next((table for _, _, ancestor, table in self._ancestors if not mask & ~ancestor), None)
        if smallest is None and self._source is not None:
            counted = self._source.table(self.domain.margin(mask))
            smallest = self._tables.setdefault(counted.mask, counted)
            self._count_from(smallest)
        if smallest is None:
            raise DomainMismatchError(f"no table shows the margin {self.domain.margin(mask)}")
        while (between := self._between(mask, smallest)) is not None:
            smallest = smallest.rolled_up(between)
            self._tables[smallest.mask] = smallest
            self._count_from(smallest)
            self._spare_cells -= len(smallest)
        return smallest

    def _between(self, mask: Mask, finer: ContingencyTable) -> Mapping[str, int] | None:
        """A margin to count on the way from a large table to a coarser one, for the sake of others that are like that one.

        It has the attributes of the coarser one as finely as the table shows them, and takes the step of a hierarchy that
        leaves the fewest cells until few enough are possible; then other attributes, those of the fewest values first, as
        long as few enough stay possible. None where that is the coarser margin, or no room is left.
        """
        most = min(len(finer) // _FEWER, self._spare_cells)
        if len(finer) < _LARGE or self.domain.cell_count(mask) > most:
            return None
        asked = self.domain.margin(mask)
        levels = {attribute: finer.margin[attribute] for attribute in asked}
        size = {attribute: self.domain.hierarchy(attribute).size for attribute in finer.margin}
        cells = self.domain.size(levels)
        while cells > most:
            growth = {a: size[a](level + 1) / size[a](level) for a, level in levels.items() if level < asked[a]}
            step = min(growth, key=growth.__getitem__)
            cells = cells // size[step](levels[step]) * size[step](levels[step] + 1)
            levels[step] += 1
        others = [attribute for attribute in finer.margin if attribute not in asked]
        for attribute in sorted(others, key=lambda other: size[other](finer.margin[other])):
            cells *= size[attribute](finer.margin[attribute])
            if cells > most:
                break
            levels[attribute] = finer.margin[attribute]
        return None if levels == dict(asked) else levels

    def table(self, mask: Mask) -> ContingencyTable:
        """The table of a margin. Raises DomainMismatchError when no given table is at least as fine."""
        if mask not in self._tables:
            ancestor = self._ancestor(mask)
            table = self._tables.setdefault(mask, ancestor.rolled_up_to(mask))
            if len(self._ancestors) < _ANCESTORS and len(ancestor) > _SMALL:
                self._count_from(table)
        return self._tables[mask]

    def counts(self, mask: Mask) -> CountArray:
        """The counts of the nonempty cells of a margin, without the cells."""
        if mask in self._tables:
            return self._tables[mask].counts
        if self._latest is None or self._latest[0] != mask:
            ancestor = self._ancestor(mask)
            keys, space = ancestor.keys(mask)
            totals = tally_totals(keys, space, None if ancestor.is_unweighted else ancestor.counts)
            self._latest = mask, read_only(totals)
        return self._latest[1]

    def cell_count(self, mask: Mask) -> int:
        """Number of cells of a margin that are parameters of a model with that margin: all, empty ones included."""
        return self.domain.cell_count(mask)

    def complexity(self, mask: Mask) -> float:
        """What a margin counts where a search prices models: over cliques less separators, the free parameters."""
        return self.cell_count(mask) - 1

    def scored(self, score: Score) -> "ScoredCube":
        """The same tables, models being judged by a score of their cliques."""
        return ScoredCube(tuple(self._tables.values()), self._source, score=score)

    @property
    def is_bounded_by_divergence(self) -> bool:
        """Whether no model has a negative complexity, so that the KL divergence bounds what a search minimizes."""
        return True

    def knows(self, mask: Mask) -> bool:
        """Whether an entropy is known without counting."""
        return mask in self._entropies

    def entropy(self, mask: Mask) -> float:
        """Entropy in nats of the empirical marginal."""
        if mask not in self._entropies:
            if self._pairs is not None and (pair := self.domain.base_pair(mask)):
                self._entropies[mask] = float(self._pairs[pair[1], pair[0]])
            elif (source := self._source_of_more(mask)) is not None:
                self._entropies[mask] = source.entropy(self.domain.margin(mask))
            else:
                self._entropies[mask] = entropy(self.counts(mask))
        return self._entropies[mask]

    def least_count(self, mask: Mask) -> int:
        """The least count of the nonempty cells of a margin; 0 where there are none."""
        if (source := self._source_of_more(mask)) is not None:
            return source.least_count(self.domain.margin(mask))
        counts = self.counts(mask)
        return int(counts.min()) if len(counts) else 0

    def _source_of_more(self, mask: Mask) -> CountSource | None:
        """What counts the cells of a margin elsewhere: all base values, or too many cells to be held. None where they are at
        hand.
        """
        source = self._source
        if source is None or self.holds(mask):
            return None
        return source if mask == self._base or not source.can_hold(self.domain.margin(mask)) else None

    def learn_pairs(self) -> None:
        """Compute and keep the entropies of all pairs of attributes at base values, where doing so at once is faster: when
        few rows are equal and attributes have few values.
        """
        domain = self.domain
        sizes = [hierarchy.size(0) for hierarchy in domain.hierarchies]
        pairs = len(sizes) * (len(sizes) - 1) // 2
        if sum(sizes) ** 2 > _VALUE_PAIRS_PER_COUNT * pairs:
            return
        table = self.table(sum(domain.attribute_masks))
        if self.total > _ROWS_PER_CELL * len(table):
            return
        columns = [np.repeat(column, table.counts) for column in table.codes]
        self._pairs = pair_entropies(columns, sizes, self.total)

    def independent_pairs(self) -> tuple[FloatArray, IndexArray] | None:
        """For each two attributes at base values that are independent, what a margin of both saves of the KL divergence, in
        nats, and its free parameters: arrays of shape (attributes, attributes), to be read at i, j with j below i.

        None where the pairs have not been learned.
        """
        if self._pairs is None:
            return None
        alone = np.array([self.entropy(attribute_mask) for attribute_mask in self.domain.attribute_masks])
        free = np.array([self.cell_count(attribute_mask) - 1 for attribute_mask in self.domain.attribute_masks])
        return alone[:, None] + alone - self._pairs, free[:, None] * free

    def log_leaves(self, attribute: str, level: int) -> float:
        """Mean over the rows of ln(number of base values under the row's value at a level), nats.

        This is what publishing no finer level than that costs in KL divergence if the model is otherwise exact.
        """
        hierarchy = self.domain.hierarchy(attribute)
        if level == 0:
            return 0.0
        if level == hierarchy.height:
            return float(np.log(hierarchy.size(0)))
        mask = self.domain.mask({attribute: level})
        if mask not in self._log_leaves:
            table = self.table(mask)
            logs: FloatArray = np.log(hierarchy.leaf_counts(level)[table.codes[0]])
            self._log_leaves[mask] = float(table.counts @ logs / max(self.total, 1))
        return self._log_leaves[mask]


class OccupiedCube(DataCube):
    """A data cube by which a model has as many parameters as its margins have cells with rows.

    The others are estimated as 0 whatever the rest, so they are nothing that can be estimated.
    """

    def __init__(self, tables: Sequence[ContingencyTable], source: CountSource | None = None) -> None:
        super().__init__(tables, source)
        self._occupied: dict[Mask, int] = {0: 1}

    def independent_pairs(self) -> None:
        """None: whether cells have rows is looked at margin by margin."""
        return

    def cell_count(self, mask: Mask) -> int:
        """Number of cells of a margin that have rows."""
        if mask not in self._occupied:
            self._occupied[mask] = len(self.counts(mask))
        return self._occupied[mask]


CHANCE = 0.5
"""Nats, divided by the people, that a free parameter gains by chance on average; what it costs by default."""

DOUBTFUL = 2.0
"""Times the price at which a parameter must pay for an edge that no association of its two attributes speaks for: at
1 / 2n chance alone passes about every second time, at 1 / n hardly ever.
"""


class InteractionCube(DataCube):
    """A data cube by which a model has as many parameters as its margins have beyond the tables of single attributes.

    With g values of each attribute that have rows, at their levels, a margin has prod(g) - sum(g - 1) cells that count. Over
    the cliques less the separators of a junction tree the sums leave g - 1 of each attribute at its finest level, so these
    tables take no parameter, and a margin of two attributes (g - 1)(h - 1): what chance gains is of what they tell of each
    other, and goes by which values occur, not by which occur together.
    """

    def __init__(self, tables: Sequence[ContingencyTable], source: CountSource | None = None) -> None:
        super().__init__(tables, source)
        self._cells: dict[Mask, int] = {0: 1}
        self._values: dict[Mask, int] = {}

    def cell_count(self, mask: Mask) -> int:
        """Number of cells of a margin that count.

        >>> from models.tables.hierarchy import Hierarchy
        >>> domain = Domain.of({"ill": Hierarchy.flat("yn"), "ward": Hierarchy.flat("abc")})
        >>> codes = {"ill": np.array([0, 1]), "ward": np.array([0, 1])}
        >>> rows = ContingencyTable.from_cells(domain, {"ill": 0, "ward": 0}, codes, np.array([5, 7]))
        >>> InteractionCube([rows]).cell_count(rows.mask), DataCube([rows]).cell_count(rows.mask)
        (2, 6)
        """
        cells = self._cells.get(mask)
        if cells is None:
            sizes = [
                self._value_count(mask & attribute_mask)
                for attribute_mask in self.domain.attribute_masks
                if mask & attribute_mask
            ]
            cells = self._cells[mask] = prod(sizes) - sum(sizes) + len(sizes)
        return cells

    def scored(self, score: Score) -> "ScoredCube":
        """The same tables, models being judged by what a score says of cliques beyond the tables of single attributes."""
        return ScoredInteractions(tuple(self._tables.values()), self._source, score=score)

    def _value_count(self, margin: Mask) -> int:
        """Values of one attribute that have rows."""
        if margin not in self._values:
            self._values[margin] = len(self.counts(margin))
        return self._values[margin]


class ScoredCube(DataCube):
    """A data cube by which models are judged by a score of their cliques instead of their likelihood and parameters.

    The complexity of a margin is what its score lacks of the log-likelihood of its rows, divided by all rows, so that the
    divergence and the complexity of a model together are its score, up to a constant.
    """

    def __init__(self, tables: Sequence[ContingencyTable], source: CountSource | None = None, *, score: Score) -> None:
        super().__init__(tables, source)
        self._score = score
        self._complexities: dict[Mask, float] = {0: 0.0}
        self._nothing = self._scored(np.array([self.total], dtype=np.int64), 1)

    def _scored(self, counts: CountArray, cells: int) -> float:
        """The score. Raises ExtensionError for what is no number."""
        score = self._score(counts, cells)
        if not isinstance(score, int | float | np.number) or not np.isfinite(score):
            raise ExtensionError(
                f"a score of cliques is a finite number of nats for the counts of any clique; {name_of(self._score)} gives "
                f"{type(score).__name__ if not isinstance(score, int | float | np.number) else 'one that is not finite'}"
            )
        return float(score)

    def complexity(self, mask: Mask) -> float:
        """What the score of a margin lacks of its log-likelihood, nats a row."""
        known = self._complexities.get(mask)
        if known is None:
            lacking = self._nothing - self._scored(self.counts(mask), self.cell_count(mask))
            known = self._complexities[mask] = lacking / max(self.total, 1) - self.entropy(mask)
        return known

    @property
    def is_bounded_by_divergence(self) -> bool:
        """Not of any score."""
        return False

    def independent_pairs(self) -> None:
        """None: each pair has a score of its own."""
        return


class ScoredInteractions(ScoredCube):
    """A scored cube by which the table of a single attribute costs nothing, whatever its score: every attribute may keep
    one.
    """

    def complexity(self, mask: Mask) -> float:
        """What the score of a margin lacks of its log-likelihood beyond what those of its attributes lack, nats a row."""
        alone = (
            super(ScoredInteractions, self).complexity(mask & attribute_mask)
            for attribute_mask in self.domain.attribute_masks
            if mask & attribute_mask
        )
        return super().complexity(mask) - sum(alone)


_WORD = 64


def pair_entropies(columns: Sequence[CodeArray], sizes: Sequence[int], length: int) -> FloatArray:
    """Entropies in nats of each two columns together, shape (columns, columns).

    columns: codes of shape (length,), below the size of each; every row counts once. Takes length / 64 * sum(sizes)^2 / 2
    operations, so it pays for many columns of few values.
    """
    starts = np.concatenate(([0], np.cumsum(sizes)))
    values = _bit_sets(columns, starts, length)
    together: npt.NDArray[np.float64] = np.zeros((starts[-1], starts[-1]))
    for i, rows in enumerate(values):
        together[i, i:] = np.bitwise_count(rows & values[i:]).sum(axis=1, dtype=np.uint32)
    together += np.triu(together, 1).T
    sums = np.add.reduceat(np.add.reduceat(x_log_x(together), starts[:-1], axis=0), starts[:-1], axis=1)
    return np.asarray(np.log(max(length, 1)) - sums / max(length, 1))


def _bit_sets(columns: Sequence[CodeArray], starts: npt.NDArray[np.int64], length: int) -> npt.NDArray[np.uint64]:
    """For each value of each column the rows that hold it, one bit each: shape (values, words)."""
    padded = -(-length // _WORD) * _WORD
    sets = np.empty((starts[-1], padded // _WORD), dtype=np.uint64)
    for start, end, column in zip(starts, starts[1:], columns):
        holds = np.zeros((end - start, padded), dtype=np.bool_)
        holds[:, :length] = column == np.arange(end - start)[:, None]
        sets[start:end] = np.packbits(holds, axis=1).view(np.uint64)
    return sets
