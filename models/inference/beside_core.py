"""Model of further tables beside a core: the core's distribution, fitted to all published tables within each question.

Tables of pairs without a junction tree have a maximum-entropy distribution without a closed form. It covers all
attributes together, which are too many to be laid out. So an answer starts from the core's margin over its attributes,
and is fitted to the published tables within them (Deming and Stephan 1940). It has these counts exactly, and departs
from the core as little as they allow (Csiszar 1975). Answers about different attributes need not be margins of one
distribution (design 4.18).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, reduce
from math import prod
from operator import or_
from typing import TYPE_CHECKING

import numpy as np

from models.arrays import CodeArray, FloatArray, read_only, smallest_code_dtype
from models.deadline import NEVER, Deadline
from models.errors import TooManyCellsError
from models.graphs.junction_tree import Collection, maximal_masks
from models.inference.calibrated_tree import drawn_leaves, spread
from models.inference.frechet_bounds import Box
from models.inference.marginal_model import MarginalModel
from models.programs.fitting import Sums, Target, fit, missed_rows
from models.tables.contingency_table import Cells, ContingencyTable
from models.tables.hierarchy import Domain, Mask

if TYPE_CHECKING:
    pass

_CELLS = 1 << 22
"""Largest number of cells that is laid out."""

_SWEEPS, _CONVERGED = 5_000, 1e-10
"""Limits of a fit: sweeps, and the misfit of each count, as a share of it, that ends it."""

_MOST_SWEEPS, _NEAR = 100, 1e-4
"""Limits of a fit of weighted candidates: sweeps, and the summed misses, as a share of all rows, that end it."""

_CANDIDATES = 5
"""Rows drawn from the core for each row wanted."""

_FEWEST, _MOST = 200_000, 5_000_000
"""Least and largest number of rows drawn from the core; beyond the largest, each row wanted is a candidate."""


@dataclass(frozen=True, eq=False)
class Grid:
    """Occupied values of some attributes at some levels, one axis each.

    levels: by attribute, in the order of the axes. codes: of the values along each axis, ascending.
    """

    domain: Domain
    levels: Mapping[str, int]
    codes: Mapping[str, CodeArray]

    @classmethod
    def of(cls, collection: Collection, levels: Mapping[str, int]) -> "Grid":
        """Return the values that have rows in the tables of a collection; the attribute with most values comes last."""
        domain, codes = collection.domain, {}
        for a, level in levels.items():
            mask = domain.mask({a: level})
            codes[a] = np.asarray(collection.cube.table(mask).codes[0] if mask else np.zeros(1, dtype=np.intp))
        order = sorted(levels, key=lambda a: (len(codes[a]), domain.index(a)))
        return cls(domain, {a: levels[a] for a in order}, codes)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of values along each axis."""
        return tuple(len(self.codes[a]) for a in self.levels)

    def cut(self, counts: FloatArray) -> FloatArray:
        """Return a copy of counts of all values, one axis each, without the values that have no rows."""
        return counts[np.ix_(*(self.codes[a] for a in self.levels))]

    def cells(self, weights: FloatArray, attributes: Iterable[str]) -> Cells:
        """Return the cells of some axes with the sums of their weights, without cells of weight 0."""
        levels = {a: level for a, level in self.levels.items() if a in attributes}
        sums = np.asarray(weights.sum(axis=tuple(axis for axis, a in enumerate(self.levels) if a not in levels)))
        places = tuple(np.argwhere(sums).T)
        codes = {a: self.codes[a][place] for a, place in zip(levels, places)}
        return Cells.of(self.domain, levels, codes, sums[places].reshape(-1))

    def fit(
        self,
        weights: FloatArray,
        tables: Iterable[ContingencyTable],
        sweeps: int,
        enough: float,
        deadline: Deadline = NEVER,
    ) -> None:
        """Fit the weights of the cells, in place, to tables over axes of the grid, no finer.

        A table whose attributes an earlier table shows is fitted right after it. enough: misfit, as a share of a
        count.
        """
        groups: dict[frozenset[str], list[Target]] = {}
        for table in tables:
            attributes = frozenset(table.margin)
            holder = next((others for others in groups if attributes <= others), attributes)
            groups.setdefault(holder, []).append(self._target(table))
        fit(weights, [target for group in groups.values() for target in group], sweeps, enough, deadline=deadline)

    def _target(self, table: ContingencyTable) -> Target:
        axes = [a for a in self.levels if a in table.margin]
        counts, places = table.dense(axes).astype(np.float64), np.zeros(1, dtype=np.intp)
        for a, size in zip(axes, counts.shape):
            above = self.domain.hierarchy(a).lift(self.levels[a], table.margin[a])[self.codes[a]]
            places = (places[:, None] * size + above.astype(np.intp)).reshape(-1)
        gone = tuple(axis for axis, a in enumerate(self.levels) if a not in table.margin)
        return Sums(counts.size, places, gone), counts.ravel()


@dataclass(frozen=True, eq=False)
class ModelBesideCore(MarginalModel):
    """Expected counts, bounds and samples from a core and further tables beside it.

    collection: all published marginals; they may show an attribute finer than the core. core: the marginals that have
    a junction tree. Each answer is independent of other questions.
    """

    core: Collection = field(kw_only=True)

    @cached_property
    def of_core(self) -> MarginalModel:
        """The model of the core without the further tables."""
        return MarginalModel(self.core, self.deadline)

    @property
    def has_closed_form(self) -> bool:
        """False: expected counts of the core and of further tables together need a fit."""
        return False

    @property
    def in_tree(self) -> Collection:
        """The core; information is a lower bound on that of all tables."""
        return self.core

    def expected(self, margin: Mapping[str, int]) -> FloatArray:
        """Return expected counts over a margin, one axis per attribute in the order given; read-only.

        Values below the finest published one share its count equally. If a margin is too large to be fitted, its counts
        are the core's. Raises TooManyCellsError if such a margin is published, DomainMismatchError for an unknown
        attribute or level, and TimeOverError if the deadline comes first.
        """
        key = tuple(margin.items())
        if key not in self._answers:
            try:
                self._answers[key] = self._answer(margin)
            except TooManyCellsError:
                if self.collection.cube.holds(self.domain.mask(margin)):
                    raise
                self._answers[key] = self.of_core.expected(margin)
        return self._answers[key]

    @cached_property
    def _answers(self) -> dict[tuple[tuple[str, int], ...], FloatArray]:
        return {}

    def expected_in(self, box: Box) -> float:
        """Return the expected rows in a box: the sum of a published table, else fitted, or the core's for a large box."""
        if box.is_empty:
            return 0.0
        mask = self.domain.mask(box.margin)
        if not self.collection.cube.holds(mask):
            return super().expected_in(box)
        table = self.collection.cube.table(mask)
        shares = (box.share(a, level)[table.column(a, level)] for a, level in box.margin.items() if a in table.margin)
        return float(reduce(np.multiply, shares, table.counts.astype(np.float64)).sum())

    @cached_property
    def _maximal(self) -> list[Mask]:
        return maximal_masks(self.collection.masks)

    @cached_property
    def _hanging(self) -> Mapping[str, Mask]:
        """Attributes that only one margin shows, with that margin; given its others they depend on nothing else."""
        showing = {
            name: [mask for mask in self._maximal if mask & attribute_mask]
            for name, attribute_mask in zip(self.domain.attributes, self.domain.attribute_masks)
        }
        return {name: masks[0] for name, masks in showing.items() if len(masks) == 1}

    def _answer(self, margin: Mapping[str, int]) -> FloatArray:
        domain = self.domain
        domain.mask(margin)
        if (cells := domain.size(margin)) > _CELLS:
            raise TooManyCellsError(f"a margin of {cells:,} cells is more than the {_CELLS:,} that are laid out")
        levels = {a: max(level, self.finest_levels[a]) for a, level in margin.items()}
        counts = self._shown_counts({a: level for a, level in levels.items() if level < domain.hierarchy(a).height})
        return read_only(spread(domain, counts, levels, margin))

    def _shown_counts(self, margin: Mapping[str, int]) -> FloatArray:
        """Return counts over a margin none of whose attributes is finer than published, or suppressed."""
        mask = self.domain.mask(margin)
        if not mask:
            return np.full((), float(self.total))
        if any(not mask & ~maximal for maximal in self._maximal):
            return self.collection.cube.table(mask).dense(margin).astype(np.float64)
        needed = self._needed(margin)
        grid = Grid.of(self.collection, {a: self.finest_levels[a] for a in needed})
        if self._is_told_by_core({*needed, *margin}) or prod(grid.shape) > _CELLS:
            return self.of_core.expected(margin)
        weights = grid.cut(self.of_core.expected(grid.levels))
        part = self.collection.within(self._of(grid.levels))
        grid.fit(weights, map(part.cube.table, maximal_masks(part.masks)), _SWEEPS, _CONVERGED, self.deadline)
        return self._contracted(grid, weights, margin)

    def _needed(self, margin: Iterable[str]) -> list[str]:
        """Return the attributes over which an answer is fitted: hanging ones are replaced by the others of their margin."""
        linked = (self.domain.margin(self._hanging[a]) if a in self._hanging else (a,) for a in margin)
        return list(dict.fromkeys(b for names in linked for b in names if b not in self._hanging))

    def _of(self, attributes: Iterable[str]) -> Mask:
        return sum(self.domain.attribute_masks[self.domain.index(a)] for a in attributes)

    def _is_told_by_core(self, attributes: Iterable[str]) -> bool:
        wanted = self._of(attributes)
        return all(
            any(not wanted & mask & ~core_mask for core_mask in self.core.masks) for mask in self.collection.masks
        )

    def _contracted(self, grid: Grid, weights: FloatArray, margin: Mapping[str, int]) -> FloatArray:
        """Return counts over a margin, from fitted weights and the conditional shares of attributes that hang."""
        cells = grid.cells(weights, needed := set(self._needed(margin)))
        groups = list(dict.fromkeys(self._hanging[a] for a in margin if a in self._hanging))
        for place, mask in enumerate(groups):
            linked = {a: level for a, level in self.domain.margin(mask).items() if a in needed}
            hanging = {a: level for a, level in margin.items() if self._hanging.get(a) == mask}
            table = self.collection.cube.table(self.domain.mask({**linked, **hanging}))
            cells = cells * (table / table.rolled_up(linked))
            later = self._of(margin) | reduce(or_, groups[place + 1 :], 0)
            cells = cells.rolled_up({a: level for a, level in cells.margin.items() if self._of([a]) & later})
        return cells.rolled_up(margin).dense(margin).astype(np.float64)

    def draw(self, rows: int, rng: "np.random.Generator") -> dict[str, CodeArray]:
        """Draw rows from the core, weighted so that they match the counts of all published tables as nearly as
        possible.

        Returns codes as `MarginalModel.draw` does.
        """
        domain = self.domain
        number = max(min(max(rows * _CANDIDATES, _FEWEST), _MOST), rows) if rows else 0
        drawn = self.of_core.draw(number, rng)
        base = drawn_leaves(domain, self.of_core.finest_levels, drawn, number, rng)
        levels = {a: level for a, level in self.finest_levels.items() if self.collection.shows(a)}
        codes = {
            a: domain.hierarchy(a).lift(0, level)[base[a]].astype(smallest_code_dtype(domain.hierarchy(a).size(level)))
            for a, level in levels.items()
        }
        if not rows:
            return codes
        weights = np.full(number, self.total / number)
        candidates = Cells.of(domain, levels, codes, np.ones(number))
        targets = []
        for table in map(self.collection.cube.table, self._maximal):
            places, is_counted = candidates.look_up(table)
            counts = np.append(table.counts.astype(np.float64), 0.0)  # candidates in cells without rows have none
            targets.append((Sums(len(counts), np.where(is_counted, places, len(table))), counts))
        fit(weights, targets, _MOST_SWEEPS, _NEAR * self.total, missed_rows)
        chosen = rng.choice(number, size=rows, p=weights / weights.sum())
        return {a: code[chosen] for a, code in codes.items()}
