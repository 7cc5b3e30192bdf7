"""Model of further tables beside a core: the core's distribution, fitted to all published tables within each question.

Tables of pairs without a junction tree have a maximum-entropy distribution without a closed form. It covers all
attributes together, which are too many to be laid out. So an answer starts from the core's margin over its attributes,
and is fitted to the published tables within them (Deming and Stephan 1940). It has these counts exactly, and departs
from the core as little as they allow (Csiszar 1975). Answers about different attributes need not be margins of one
from models.frozen import frozen
distribution (design 4.18).
"""

from collections.abc import Iterable, Mapping
from dataclasses import field
from functools import cached_property, reduce
from operator import or_
from typing import TYPE_CHECKING

import numpy as np

from models.arrays import CodeArray, FloatArray, read_only, smallest_code_dtype
from models.deadline import NEVER, Deadline
from models.errors import TooManyCellsError
from models.frozen import frozen
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


def fit_to_tables(
    domain: Domain,
    levels: Mapping[str, int],
    weights: FloatArray,
    tables: Iterable[ContingencyTable],
    sweeps: int,
    enough: float,
    deadline: Deadline = NEVER,
) -> None:
    """Fit weights, one axis for each level, in place, to tables that are no finer.

    A table whose attributes an earlier table shows is fitted right after it. enough: misfit, as a share of a count. Its
    parameters are the weights, the tables and the conditions that end the fit.
    """
    groups: dict[frozenset[str], list[Target]] = {}
    for table in tables:
        attributes = frozenset(table.margin)
        holder = next((others for others in groups if attributes <= others), attributes)
        axes = [a for a in levels if a in table.margin]
        counts, places = table.dense(axes).astype(np.float64), np.zeros(1, dtype=np.intp)
        for a, size in zip(axes, counts.shape):
            above = domain.hierarchy(a).lift(levels[a], table.margin[a])
            places = (places[:, None] * size + above.astype(np.intp)).reshape(-1)
        gone = tuple(axis for axis, a in enumerate(levels) if a not in table.margin)
        groups.setdefault(holder, []).append((Sums(counts.size, places, gone), counts.ravel()))
    fit(weights, [target for group in groups.values() for target in group], sweeps, enough, deadline=deadline)


@frozen(eq=False)
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
        levels = {a: self.finest_levels[a] for a in needed}
        if self._is_told_by_core({*needed, *margin}) or self.domain.size(levels) > _CELLS:
            return self.of_core.expected(margin)
        weights, part = np.array(self.of_core.expected(levels)), self.collection.within(self._of(needed))
        tables = map(part.cube.table, maximal_masks(part.masks))
        fit_to_tables(self.domain, levels, weights, tables, _SWEEPS, _CONVERGED, self.deadline)
        places = tuple(np.argwhere(weights).T)
        cells = Cells.of(self.domain, levels, dict(zip(levels, places)), weights[places].reshape(-1))
        return self._contracted(cells, margin)

    def _needed(self, margin: Iterable[str]) -> list[str]:
        """Return the attributes over which an answer is fitted: hanging ones are replaced by the others of their margin."""
        linked = (self.domain.margin(self._hanging[a]) if a in self._hanging else (a,) for a in margin)
        names = {b for names in linked for b in names if b not in self._hanging}
        return sorted(names, key=lambda a: (self.domain.hierarchy(a).size(self.finest_levels[a]), self.domain.index(a)))

    def _of(self, attributes: Iterable[str]) -> Mask:
        return sum(self.domain.attribute_masks[self.domain.index(a)] for a in attributes)

    def _is_told_by_core(self, attributes: Iterable[str]) -> bool:
        wanted = self._of(attributes)
        return all(
            any(not wanted & mask & ~core_mask for core_mask in self.core.masks) for mask in self.collection.masks
        )

    def _contracted(self, cells: Cells, margin: Mapping[str, int]) -> FloatArray:
        """Return counts over a margin, from fitted cells and the conditional shares of attributes that hang."""
        needed = cells.margin
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
        """Draw rows from the core, weighted so that they match all published tables as nearly as possible."""
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
