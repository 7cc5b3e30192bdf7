"""The data cube: every marginal that given tables imply, rolled up from the smallest ancestor and kept.

The same cube serves a steward, whose one table is the data, and an analyst, whose tables are the published marginals.
"""

from bisect import insort
from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Protocol

import numpy as np
import numpy.typing as npt

from models.arrays import CodeArray, CountArray, FloatArray, IndexArray, read_only, x_log_x
from models.errors import DomainMismatchError, ExtensionError
from models.installed import name_of
from models.tables.contingency_table import ContingencyTable, entropy
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

CHANCE = 0.5
"""Nats, divided by the people, that a free parameter gains by chance on average; what it costs by default."""

DOUBTFUL = 2.0
"""Times the price at which a parameter must pay for an edge that no association of its two attributes speaks for: at
1 / 2n chance alone passes about every second time, at 1 / n hardly ever.
"""


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


Parameters = Callable[["DataCube", Mask], int]
"""The cells of a margin that are parameters of a model with that margin."""


def nominal(cube: "DataCube", mask: Mask) -> int:
    """All cells of a margin, empty ones included."""
    return cube.domain.cell_count(mask)


def occupied(cube: "DataCube", mask: Mask) -> int:
    """The cells of a margin that have rows: the others are estimated as 0 whatever the rest."""
    return len(cube.counts(mask)) if mask else 1


def interactions(cube: "DataCube", mask: Mask) -> int:
    """The cells of a margin beyond the tables of single attributes.

    With g values of each attribute that have rows, at their levels, a margin has prod(g) - sum(g - 1) cells that count.
    Over the cliques less the separators of a junction tree the sums leave g - 1 of each attribute at its finest level,
    so these tables take no parameter, and a margin of two attributes (g - 1)(h - 1): what chance gains is of what they
    tell of each other, and goes by which values occur, not by which occur together.

    >>> from models.tables.hierarchy import Hierarchy
    >>> domain = Domain.of({"ill": Hierarchy.flat("yn"), "ward": Hierarchy.flat("abc")})
    >>> codes = {"ill": np.array([0, 1]), "ward": np.array([0, 1])}
    >>> rows = ContingencyTable.from_cells(domain, {"ill": 0, "ward": 0}, codes, np.array([5, 7]))
    >>> [DataCube([rows], parameters=count).cell_count(rows.mask) for count in (nominal, occupied, interactions)]
    [6, 2, 2]
    """
    sizes = [len(cube.table(mask & part)) for part in cube.domain.attribute_masks if mask & part]
    return prod(sizes) - sum(sizes) + len(sizes)


class DataCube:
    """Tables over one domain with one total, and a cache of what has been rolled up from them.

    source: counts what no table at hand shows. parameters: the cells that a model is charged for. score: judges models
    by their cliques instead of by their likelihood and parameters. Raises DomainMismatchError when there is no table or
    when the tables' domains or totals differ.
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
        self._complexities: dict[Mask, float] = {}
        self._log_leaves: dict[Mask, float] = {}
        self._base: Mask = sum(self.domain.attribute_masks)
        self._spare_cells = _KEPT * max(map(len, tables))

    def scored(self, score: Score) -> "DataCube":
        """The same tables, models being judged by a score of their cliques."""
        return DataCube(tuple(self._tables.values()), self._source, self.parameters, score)

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
            smallest = self._tables[between] = smallest.rolled_up_to(between)
            self._count_from(smallest)
            self._spare_cells -= len(smallest)
        return smallest

    def _between(self, mask: Mask, finer: ContingencyTable) -> Mask | None:
        """A margin worth counting on the way from a large table to a coarser one, for the sake of similar margins.

        It refines the coarser margin as long as few enough cells are possible: first its own attributes, by the step that
        leaves the fewest cells, then further attributes, those of the fewest values first. None where no step fits.
        """
        domain = self.domain
        most = min(len(finer) // _FEWER, self._spare_cells)
        if len(finer) < _LARGE or domain.cell_count(mask) > most:
            return None
        between, parts = mask, [part for part in domain.attribute_masks if part & finer.mask]
        own = [part for part in parts if part & mask]
        while steps := [step for part in own if (step := ((between & part) + (part & -part)) & part & finer.mask)]:
            step = min(steps, key=lambda bit: domain.cell_count(between | bit))
            if domain.cell_count(between | step) > most:
                break
            between |= step
        others = [part & finer.mask for part in parts if not part & mask]
        for part in sorted(others, key=domain.cell_count):
            if domain.cell_count(between | part) > most:
                break
            between |= part
        return between if between != mask else None

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
            self._latest = mask, read_only(self._ancestor(mask).counts_at(mask))
        return self._latest[1]

    def cell_count(self, mask: Mask) -> int:
        """Number of cells of a margin that are parameters of a model with that margin."""
        return self.parameters(self, mask)

    def complexity(self, mask: Mask) -> float:
        """What a margin counts where a search prices models: over cliques less separators, the free parameters.

        By a score, what the score of a margin lacks of the log-likelihood of its rows, in nats a row, so that the
        divergence and the complexity of a model together are its score, up to a constant. Where only interactions are
        parameters, that of its single attributes is subtracted: every attribute may keep its table, whatever its score.
        """
        if self.score is not None and self.parameters is interactions:
            single = sum(self._complexity(mask & part) for part in self.domain.attribute_masks if mask & part)
            return self._complexity(mask) - single
        return self._complexity(mask)

    def _complexity(self, mask: Mask) -> float:
        complexity = self._complexities.get(mask)
        if complexity is None:
            complexity = self.cell_count(mask) - 1 if self.score is None else self._lacking(self.score, mask)
            self._complexities[mask] = complexity
        return complexity

    def _lacking(self, score: Score, mask: Mask) -> float:
        """What a score lacks of the log-likelihood. Raises ExtensionError for a score that is no number."""
        scores = []
        for counts, cells in (
            (np.array([self.total], dtype=np.int64), 1),
            (self.counts(mask), self.domain.cell_count(mask)),
        ):
            number = score(counts, cells)
            is_number = isinstance(number, int | float | np.number)
            if not is_number or not np.isfinite(number):
                raise ExtensionError(
                    f"a score of cliques is a finite number of nats for the counts of any clique; {name_of(score)} gives "
                    f"{'one that is not finite' if is_number else type(number).__name__}"
                )
            scores.append(float(number))
        return (scores[0] - scores[1]) / max(self.total, 1) - self.entropy(mask) if mask else 0.0

    @property
    def is_bounded_by_divergence(self) -> bool:
        """Whether no model has a negative complexity, so that the KL divergence bounds what a search minimizes."""
        return self.score is None

    def knows(self, mask: Mask) -> bool:
        """Whether an entropy is known without counting."""
        return mask in self._entropies

    def entropy(self, mask: Mask) -> float:
        """Entropy in nats of the empirical marginal."""
        if mask not in self._entropies:
            places = list(self.domain.places(mask))
            if (
                self._pairs is not None
                and len(places) == 2
                and mask == sum(self.domain.attribute_masks[i] for i in places)
            ):
                self._entropies[mask] = float(self._pairs[places[1], places[0]])
            elif (source := self._source_of_more(mask)) is not None:
                self._entropies[mask] = source.entropy(self.domain.margin(mask))
            else:
                self._entropies[mask] = entropy(self.counts(mask))
        return self._entropies[mask]

    def least_count(self, mask: Mask) -> int:
        """The least count of the nonempty cells of a margin; 0 where there are none."""
        if (source := self._source_of_more(mask)) is not None:
            return source.least_count(self.domain.margin(mask))
        return int(self.counts(mask).min()) if self.total else 0

    def _source_of_more(self, mask: Mask) -> CountSource | None:
        """The source, if it must count a margin: all base values, or too many cells to be held."""
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
        table = self.table(self._base)
        if self.total <= _ROWS_PER_CELL * len(table):
            self._pairs = pair_entropies([np.repeat(column, table.counts) for column in table.codes], sizes, self.total)

    def independent_pairs(self) -> tuple[FloatArray, IndexArray] | None:
        """For each two attributes at base values that are independent, what a margin of both saves of the KL divergence, in
        nats, and its free parameters: arrays of shape (attributes, attributes), to be read at i, j with j below i.

        None where the pairs have not been learned, or free parameters are not those of all cells.
        """
        if self._pairs is None or self.parameters is not nominal or self.score is not None:
            return None
        alone = np.array([self.entropy(attribute_mask) for attribute_mask in self.domain.attribute_masks])
        free = np.array([self.cell_count(attribute_mask) - 1 for attribute_mask in self.domain.attribute_masks])
        return alone[:, None] + alone - self._pairs, free[:, None] * free

    def log_leaves(self, attribute: str, level: int) -> float:
        """Mean over the rows of ln(number of base values under the row's value at a level), nats.

        This is what publishing no finer level than that costs in KL divergence if the model is otherwise exact.
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
