"""The model of tables beside a core: the core's distribution, fitted to all published tables for what is asked.

Tables of pairs that have no junction tree have a maximum-entropy distribution without a closed form, over all attributes
together, which are too many to be laid out. So each answer begins with the core's marginal over the attributes that it
needs, and is fitted to the published tables within these. A published table is answered exactly; answers about different
attributes need not be margins of one distribution (design 4.18).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, reduce
from math import prod

import numpy as np

from models.arrays import CodeArray, FloatArray, IndexArray, smallest_code_dtype
from models.errors import TooManyCellsError
from models.graphs.junction_tree import Collection, maximal_masks
from models.inference.calibrated_tree import CalibratedTree, DrawsRows, TreeMargins, drawn_leaves
from models.inference.frechet_bounds import Box
from models.inference.local_fit import LocalFit
from models.inference.marginal_model import MarginalModel
from models.tables.contingency_table import ContingencyTable

_BOX_CELLS = 1 << 16
"""Cells of a margin that is fitted to answer for a box; for larger ones the core answers."""


@dataclass(frozen=True, eq=False)
class ModelBesideCore(MarginalModel):
    """Expected counts, bounds and samples from a core and further tables beside it.

    collection: all published marginals. core: those that have a junction tree.
    """

    core: Collection = field(kw_only=True)

    @cached_property
    def of_core(self) -> MarginalModel:
        """The model of the core alone."""
        return MarginalModel(self.core, self.deadline)

    @property
    def tree(self) -> CalibratedTree:
        """The distribution of the core along its junction tree."""
        return self.of_core.tree

    @property
    def margins(self) -> TreeMargins:
        """Expected margins of the core."""
        return self.of_core.margins

    @property
    def information(self) -> float:
        """That of the core, nats: all tables tell as much at least."""
        return self.of_core.information

    @property
    def total_information(self) -> float:
        """That of the core, nats: all tables tell as much at least."""
        return self.of_core.total_information

    @cached_property
    def sampler(self) -> DrawsRows:
        """Draws rows."""
        return RakedSampler(self)

    @cached_property
    def fit(self) -> LocalFit:
        """Expected margins, fitted to all published tables of what is asked."""
        known = set(self.core.masks)
        further = tuple(mask for mask in self.collection.masks if mask not in known)
        return LocalFit(self.of_core, further, deadline=self.deadline)

    def expected(self, margin: Mapping[str, int]) -> FloatArray:
        """Expected counts over a margin, one axis an attribute in the order given; read-only.

        Of a margin that is too large to be fitted those of the core. Raises TooManyCellsError for one that is published, and
        too large to be laid out.
        """
        key = tuple(margin.items())
        if key not in self._kept:
            try:
                self._kept[key] = self.fit.expected(margin)
            except TooManyCellsError:
                if self.collection.cube.holds(self.domain.mask(margin)):
                    raise
                self._kept[key] = self.of_core.expected(margin)
        return self._kept[key]

    @cached_property
    def _kept(self) -> dict[tuple[tuple[str, int], ...], FloatArray]:
        return {}

    def expected_in(self, box: Box) -> float:
        """Expected number of rows in a box: of a published table their sum, else fitted.

        By the core alone where what is asked is too large for that.
        """
        mask = self.domain.mask(box.margin)
        if self.collection.cube.holds(mask):
            table = self.collection.cube.table(mask)
            shares = (
                box.share(a, level)[table.column(a, level)] for a, level in box.margin.items() if a in table.margin
            )
            return float(reduce(np.multiply, shares, table.counts.astype(np.float64)).sum())
        sizes = (self.domain.hierarchy(a).size(level) for a, level in box.margin.items())
        if prod(sizes) > _BOX_CELLS:
            return self.of_core.expected_in(box)
        return super().expected_in(box)


_MOST_SWEEPS = 100
"""Times that the weights of candidates are fitted to every table."""

_NEAR = 1e-4
"""Share of all rows by which the weighted candidates may miss the tables, absolute differences summed."""

_CANDIDATES = 5
"""Rows that are drawn from the core for each that is wanted."""

_FEWEST, _MOST = 200_000, 5_000_000
"""Rows that are drawn from the core, at least and at most; of more rows than that each is a candidate."""


@dataclass(frozen=True, eq=False)
class RakedSampler:
    """Draws rows from the core, weighted so that they have the counts of all published tables as nearly as they can."""

    model: ModelBesideCore

    def draw(self, rows: int, rng: "np.random.Generator") -> dict[str, CodeArray]:
        """Independent rows: for each published attribute its codes at its finest published level, shape (rows,).

        Raises DomainMismatchError where there is no row to be like.
        """
        domain, model = self.model.domain, self.model
        number = max(min(max(rows * _CANDIDATES, _FEWEST), _MOST), rows)
        candidates = model.of_core.sampler.draw(number if rows else 0, rng)
        base = drawn_leaves(domain, model.of_core.finest_levels, candidates, number if rows else 0, rng)
        levels = {a: level for a, level in model.finest_levels.items() if level < domain.hierarchy(a).height}
        codes = {
            a: domain.hierarchy(a).lift(0, level)[base[a]].astype(smallest_code_dtype(domain.hierarchy(a).size(level)))
            for a, level in levels.items()
        }
        if not rows:
            return codes
        weights = self._raked(codes, levels, number)
        chosen = rng.choice(number, size=rows, p=weights / weights.sum())
        return {a: code[chosen] for a, code in codes.items()}

    def _raked(self, codes: Mapping[str, CodeArray], levels: Mapping[str, int], number: int) -> FloatArray:
        """A weight for each candidate, by iterative proportional fitting to each maximal published table in turn."""
        collection = self.model.collection
        tables = [collection.cube.table(mask) for mask in maximal_masks(collection.masks)]
        targets = [self._target(table, codes, levels) for table in tables]
        weights = np.full(number, self.model.total / number)
        for _ in range(_MOST_SWEEPS):
            missed = 0.0
            for places, counts in targets:
                now = np.bincount(places, weights, minlength=len(counts))
                missed = max(missed, float(np.abs(now - counts).sum()))
                weights *= np.divide(counts, now, out=np.zeros_like(now), where=now > 0)[places]
            if missed < _NEAR * self.model.total:
                break
        return weights

    def _target(
        self, table: ContingencyTable, codes: Mapping[str, CodeArray], levels: Mapping[str, int]
    ) -> tuple[IndexArray, FloatArray]:
        """The number of the cell of each candidate in a table, and the count of each; one more for what has no row there."""
        domain = self.model.domain
        candidate = {a: domain.hierarchy(a).lift(levels[a], level)[codes[a]] for a, level in table.margin.items()}
        counted = {a: table.column(a, level) for a, level in table.margin.items()}
        sizes = [domain.hierarchy(a).size(level) for a, level in table.margin.items()]
        keys, cells = (np.zeros(len(next(iter(columns.values()))), dtype=np.int64) for columns in (candidate, counted))
        for attribute, size in zip(table.margin, sizes):
            keys, cells = keys * size + candidate[attribute], cells * size + counted[attribute]
        order = np.argsort(cells, kind="stable")
        places = np.minimum(np.searchsorted(cells[order], keys), len(cells) - 1)
        is_counted = cells[order][places] == keys
        return np.where(is_counted, places, len(cells)), np.append(table.counts[order].astype(np.float64), 0.0)
