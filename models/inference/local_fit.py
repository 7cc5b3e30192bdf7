"""Answers from a junction tree and further tables beside it: the tree's marginal, fitted to the tables that bear on it.

All tables together have no junction tree, and fitting all of them at once takes as many cells as all attributes have
together. So an answer about some attributes starts from the marginal that the tree alone gives, and is fitted to what every
table says of these attributes (Deming and Stephan 1940): it has these counts exactly, and departs from the tree no further
than they ask for (Csiszar 1975). Of three attributes and more all others help, as long as there are few enough cells.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from math import prod

import numpy as np

from models.arrays import CodeArray, FloatArray, IndexArray, read_only
from models.deadline import NEVER, Deadline
from models.errors import TooManyCellsError
from models.graphs.junction_tree import Collection, maximal_masks
from models.inference.marginal_model import MarginalModel
from models.tables.contingency_table import ContingencyTable
from models.tables.hierarchy import Domain, Mask

CELLS = 1 << 25
"""Cells that are laid out to fit all attributes together."""

_CELLS_OF_SOME = 1 << 22
"""Cells that are laid out to fit some attributes."""

_SWEEPS = 5_000
_SWEEPS_OF_ALL = 100
_TOGETHER = 3
"""Attributes from which on all others help to answer."""

_CONVERGED = 1e-10
_CONVERGED_OF_ALL = 1e-4
"""Largest misfit of a count, as a share of it, at which fitting ends."""


class Kind(StrEnum):
    """How an answer was reached.

    PUBLISHED: a table shows it. TREE: by the junction tree alone, since no further table says more of what was asked.
    SOME: fitted to what the tables say of what was asked. ALL: fitted to all tables.
    """

    PUBLISHED = "published"
    TREE = "junction tree"
    SOME = "fitted to some"
    ALL = "fitted to all"


@dataclass(frozen=True, eq=False)
class Answer:
    """Expected counts over a margin, read-only: one axis an attribute, in the order that was asked for."""

    counts: FloatArray
    kind: Kind


@dataclass(frozen=True, eq=False)
class Box:
    """The values of some attributes at some levels that have rows, one axis each.

    levels: by attribute, in the order of the axes. codes: of the values along each axis, ascending.
    """

    domain: Domain
    levels: Mapping[str, int]
    codes: Mapping[str, CodeArray]

    @classmethod
    def of(cls, collection: Collection, levels: Mapping[str, int]) -> "Box":
        """The values that have rows by the tables of a collection, the attribute with the most values last."""
        domain = collection.domain
        codes = {a: _occupied(collection, a, level) for a, level in levels.items()}
        order = sorted(levels, key=lambda a: (len(codes[a]), domain.index(a)))
        return cls(domain, {a: levels[a] for a in order}, codes)

    @property
    def shape(self) -> tuple[int, ...]:
        """Values along each axis."""
        return tuple(len(self.codes[a]) for a in self.levels)

    @property
    def codes_of_axes(self) -> tuple[CodeArray, ...]:
        """The codes of the values along each axis."""
        return tuple(self.codes[a] for a in self.levels)

    def along(self, table: ContingencyTable) -> FloatArray:
        """The counts of a table that shows axes of the box, no finer: an array that is broadcast along the others."""
        shown_levels = [a for a in self.levels if a in table.margin]
        counts = _dense(table, shown_levels)[np.ix_(*(self.lifted(a, table.margin[a]) for a in shown_levels))]
        return counts.reshape([len(self.codes[a]) if a in table.margin else 1 for a in self.levels])

    def lifted(self, attribute: str, level: int) -> CodeArray:
        """The codes at a coarser level of the values along an axis."""
        return self.domain.hierarchy(attribute).lift(self.levels[attribute], level)[self.codes[attribute]]

    def places(self, levels: Mapping[str, int]) -> IndexArray:
        """Of each cell of the axes of some attributes, in their order here, the cell of a coarser margin: flat."""
        names = [a for a in self.levels if a in levels]
        places = np.zeros(1, dtype=np.intp)
        for a in names:
            size = self.domain.hierarchy(a).size(levels[a])
            places = (places[:, None] * size + self.lifted(a, levels[a]).astype(np.intp)).reshape(-1)
        return places

    def without(self, others: Iterable[str]) -> "Box":
        """The axes of the other attributes are gone."""
        gone = set(others)
        return Box(self.domain, {a: level for a, level in self.levels.items() if a not in gone}, self.codes)


def _occupied(collection: Collection, attribute: str, level: int) -> CodeArray:
    level_mask = collection.domain.mask({attribute: level})
    return np.asarray(collection.cube.table(level_mask).codes[0]) if level_mask else np.zeros(1, dtype=np.intp)


def _dense(table: ContingencyTable, names: Sequence[str]) -> FloatArray:
    """The counts of all cells, one axis an attribute in the order of the names."""
    counts = np.zeros([table.domain.hierarchy(a).size(table.margin[a]) for a in names])
    counts[tuple(table.column(a, table.margin[a]) for a in names)] = table.counts
    return counts


@dataclass(frozen=True, eq=False)
class _Demand:
    """A count for each cell of a margin. places: of each cell of a group of axes the cell that it counts in, flat."""

    places: IndexArray
    counts: FloatArray

    def fit(self, beliefs: FloatArray) -> float:
        """Make beliefs, which are flat, sum to the counts; the largest misfit before, as a share of a count."""
        sums = np.bincount(self.places, beliefs, minlength=len(self.counts))
        share = np.divide(self.counts, sums, out=np.zeros_like(sums), where=sums > 0)
        beliefs *= share[self.places]
        present = self.counts > 0
        return float(np.abs(share[present] - 1).max(initial=0.0))


@dataclass(frozen=True, eq=False)
class Demands:
    """What tables say of the cells of a box, those of the same attributes together: the axes that they show, and each."""

    box: Box
    groups: tuple[tuple[tuple[int, ...], tuple[_Demand, ...]], ...]

    @classmethod
    def of(cls, box: Box, tables: Iterable[ContingencyTable]) -> "Demands":
        """Of tables that show attributes of the box, none finer than it does."""
        names = list(box.levels)
        tables_by_axes: dict[tuple[int, ...], list[ContingencyTable]] = {}
        for table in tables:
            axes = tuple(axis for axis, name in enumerate(names) if name in table.margin)
            holding = (demanding for demanding in tables_by_axes if set(axes) <= set(demanding))
            tables_by_axes.setdefault(next(holding, axes), []).append(table)
        groups = []
        for axes, demanding in tables_by_axes.items():
            part = box.without(name for axis, name in enumerate(names) if axis not in axes)
            groups.append((axes, tuple(cls._demand(part, table) for table in demanding)))
        return cls(box, tuple(groups))

    @staticmethod
    def _demand(part: Box, table: ContingencyTable) -> _Demand:
        levels = {a: table.margin.get(a, part.domain.hierarchy(a).height) for a in part.levels}
        names = [a for a in part.levels if a in table.margin]
        return _Demand(part.places(levels), _dense(table, names).ravel())

    def fit(self, beliefs: FloatArray, sweeps: int, misfit: float, deadline: Deadline = NEVER) -> float:
        """Fit beliefs to all demands in turn, until none is missed by more: the largest misfit of the last sweep.

        beliefs: one for each cell of the box, changed in place. misfit: as a share of a count.
        """
        residual = np.inf
        for _ in range(sweeps):
            deadline.check()
            residual = max((self._fit_group(beliefs, axes, demands) for axes, demands in self.groups), default=0.0)
            if residual <= misfit:
                break
        return residual

    def _fit_group(self, beliefs: FloatArray, axes: tuple[int, ...], demands: Sequence[_Demand]) -> float:
        if len(axes) == beliefs.ndim:
            return max(demand.fit(beliefs.reshape(-1)) for demand in demands)
        sums = summed(beliefs, axes)
        fitted = sums.reshape(-1).copy()
        residual = max(demand.fit(fitted) for demand in demands)
        factors = np.divide(fitted.reshape(sums.shape), sums, out=np.zeros_like(sums), where=sums > 0)
        shape = [size if axis in axes else 1 for axis, size in enumerate(beliefs.shape)]
        np.multiply(beliefs, factors.reshape(shape), out=beliefs)
        return residual


def summed(beliefs: FloatArray, axes: Sequence[int]) -> FloatArray:
    """Sums along all other axes, the longest of these first, so that what is left soon is small."""
    remaining_axes = list(range(beliefs.ndim))
    gone = sorted((axis for axis in remaining_axes if axis not in axes), key=lambda axis: (-beliefs.shape[axis], axis))
    for axis in gone:
        beliefs = beliefs.sum(axis=remaining_axes.index(axis))
        remaining_axes.remove(axis)
    return beliefs


@dataclass(frozen=True, eq=False)
class LocalFit:
    """Expected counts of margins by a junction tree and further tables beside it.

    core: with a junction tree. further: margins of the same cube, which may show an attribute finer than the core does.
    cells: at most so many are laid out to fit all attributes together; the answer does not depend on what else is asked.
    deadline: when fitting ends, by TimeOverError.
    """

    core: MarginalModel
    further: tuple[Mask, ...]
    cells: int = CELLS
    deadline: Deadline = NEVER

    @cached_property
    def everything(self) -> Collection:
        """The margins of the core and the further ones."""
        return Collection.of(self.core.collection.cube, (*self.core.collection.masks, *self.further))

    @property
    def domain(self) -> Domain:
        """The attributes with their hierarchies."""
        return self.core.domain

    @property
    def total(self) -> int:
        """Number of rows."""
        return self.core.total

    @property
    def finest_levels(self) -> Mapping[str, int]:
        """For each attribute its finest published level; that of `*` when no margin shows it."""
        return self.everything.finest_levels

    @cached_property
    def _maximal(self) -> tuple[Mask, ...]:
        return tuple(maximal_masks(self.everything.masks))

    @cached_property
    def _hanging(self) -> Mapping[str, Mask]:
        """The attributes that one margin alone shows, with it: given its other attributes they depend on nothing else."""
        holding = {}
        for name, attribute_mask in zip(self.domain.attributes, self.domain.attribute_masks):
            showing = [mask for mask in self._maximal if mask & attribute_mask]
            if len(showing) == 1:
                holding[name] = showing[0]
        return holding

    def expected(self, margin: Mapping[str, int]) -> FloatArray:
        """Expected counts over a margin, one axis an attribute in the order given; read-only."""
        return self.answer(margin).counts

    def expected_of(self, margin: Mapping[str, int], codes: Sequence[CodeArray]) -> FloatArray:
        """Expected counts of some cells of a margin. codes: for each attribute the value of each cell, shape (cells,)."""
        return self.expected(margin)[tuple(codes)]

    def answer(self, margin: Mapping[str, int]) -> Answer:
        """Expected counts over a margin. Values below the finest published one share its count equally.

        Raises DomainMismatchError for an unknown attribute or level, TooManyCellsError for a margin too large to be laid
        out, TimeOverError when the deadline comes first.
        """
        domain = self.domain
        domain.mask(margin)
        levels = {a: max(level, self.finest_levels[a]) for a, level in margin.items()}
        shown_levels = {a: level for a, level in levels.items() if level < domain.hierarchy(a).height}
        if domain.size(margin) > _CELLS_OF_SOME:
            raise TooManyCellsError(
                f"a margin of {domain.size(margin):,} cells is more than the {_CELLS_OF_SOME:,} that are laid out"
            )
        counts, kind = self._shown(shown_levels)
        return Answer(read_only(_spread(domain, counts, levels, margin)), kind)

    def _shown(self, margin: Mapping[str, int]) -> tuple[FloatArray, Kind]:
        """Of a margin none of whose attributes is finer than published, or suppressed."""
        mask = self.domain.mask(margin)
        if not mask:
            return np.full((), float(self.total)), Kind.PUBLISHED
        if any(not mask & ~maximal for maximal in self._maximal):
            return _dense(self.everything.cube.table(mask), list(margin)), Kind.PUBLISHED
        needed = self._needed(margin)
        if self._tell_no_more({*needed, *margin}):
            return self.core.expected(margin), Kind.TREE
        if len(margin) >= _TOGETHER and self.whole is not None:
            return self._contracted(*self.whole, margin), Kind.ALL
        box = Box.of(self.everything, {a: self.finest_levels[a] for a in needed})
        if prod(box.shape) > _CELLS_OF_SOME:
            return self.core.expected(margin), Kind.TREE
        beliefs = self.core.expected(box.levels)[np.ix_(*box.codes_of_axes)].copy()
        self._demands(box).fit(beliefs, _SWEEPS, _CONVERGED, self.deadline)
        return self._contracted(box, beliefs, margin), Kind.SOME

    def _needed(self, margin: Iterable[str]) -> list[str]:
        """What an answer is fitted over: for attributes that hang on a margin what else it shows that does not."""
        needed = []
        for a in margin:
            linked = self.domain.margin(self._hanging[a]) if a in self._hanging else (a,)
            needed += [b for b in linked if b not in self._hanging]
        return list(dict.fromkeys(needed))

    def _of(self, attributes: Iterable[str]) -> Mask:
        return sum(self.domain.attribute_masks[self.domain.index(a)] for a in attributes)

    def _tell_no_more(self, attributes: Iterable[str]) -> bool:
        """Whether the core shows all that further tables show of some attributes."""
        asked = self._of(attributes)
        return all(
            any(not asked & mask & ~core_mask for core_mask in self.core.collection.masks) for mask in self.further
        )

    def _demands(self, box: Box) -> Demands:
        """What all tables say of the attributes of a box."""
        part = self.everything.within(self._of(box.levels))
        return Demands.of(box, map(part.cube.table, maximal_masks(part.masks)))

    @cached_property
    def whole(self) -> tuple[Box, FloatArray] | None:
        """All attributes that do not hang on one margin, fitted to all tables; None where these are too many cells."""
        levels = {a: level for a, level in self.finest_levels.items() if a not in self._hanging}
        shown_levels = {a: level for a, level in levels.items() if level < self.domain.hierarchy(a).height}
        cells = prod(len(_occupied(self.everything, a, level)) for a, level in shown_levels.items())
        if cells > self.cells:
            return None
        box = Box.of(self.everything, shown_levels)
        beliefs = self._product(box)
        self._demands(box).fit(beliefs, _SWEEPS_OF_ALL, _CONVERGED_OF_ALL, self.deadline)
        return box, beliefs

    def _product(self, box: Box) -> FloatArray:
        """The distribution of the core over a box without attributes that hang on a margin, which its cliques lose."""
        collection = self.core.collection
        tree = collection.within(self._of(box.levels)).junction_tree
        beliefs = np.full(box.shape, float(self.total))
        for mask in tree.cliques:
            beliefs *= box.along(collection.cube.table(mask)) / max(self.total, 1)
        for mask in tree.separators:
            if mask:
                rows = box.along(collection.cube.table(mask))
                beliefs *= np.divide(max(self.total, 1), rows, out=np.zeros_like(rows), where=rows > 0)
        for axis, (name, level) in enumerate(box.levels.items()):
            coarse = collection.finest_level(name)
            if level < coarse:
                shares = _leaf_shares(box.domain, name, level, coarse)[box.codes[name]]
                beliefs *= shares.reshape([-1 if place == axis else 1 for place in range(len(box.levels))])
        return beliefs

    def _contracted(self, box: Box, beliefs: FloatArray, margin: Mapping[str, int]) -> FloatArray:
        """Counts over a margin, from fitted counts of what is needed for it and the shares of attributes that hang."""
        needed = set(self._needed(margin))
        beliefs = summed(beliefs, [axis for axis, name in enumerate(box.levels) if name in needed])
        box = box.without(set(box.levels) - needed)
        direct = {a: margin[a] for a in box.levels if a in margin}
        keys = box.places({a: margin.get(a, box.domain.hierarchy(a).height) for a in box.levels})
        hanging: dict[Mask, list[str]] = {}
        for a in margin:
            if a in self._hanging:
                hanging.setdefault(self._hanging[a], []).append(a)
        sizes, shares = [box.domain.size(direct)], []
        for mask, names in hanging.items():
            classes, share = self._shares(box, mask, {a: margin[a] for a in names})
            keys = keys * len(share) + classes
            sizes.append(len(share))
            shares.append(share)
        counts: FloatArray = np.asarray(np.bincount(keys, beliefs.reshape(-1), minlength=prod(sizes)), dtype=np.float64)
        counts = counts.reshape(sizes)
        for share in shares:
            counts = np.asarray(np.tensordot(counts, share, axes=(1, 0)), dtype=np.float64)
        names = [*direct, *(name for leaves in hanging.values() for name in leaves)]
        counts = counts.reshape([box.domain.hierarchy(a).size(margin[a]) for a in names])
        return counts.transpose([names.index(a) for a in margin])

    def _shares(self, box: Box, mask: Mask, hanging: Mapping[str, int]) -> tuple[IndexArray, FloatArray]:
        """The class of each cell of a box in a margin, and of each class the shares of attributes that hang on it."""
        margin = self.domain.margin(mask)
        levels = {a: margin[a] for a in box.levels if a in margin and a not in self._hanging}
        whole = {a: levels.get(a, box.domain.hierarchy(a).height) for a in box.levels}
        known, classes = np.unique(box.places(whole), return_inverse=True)
        table = self.everything.cube.table(self.domain.mask({**levels, **hanging}))
        keys = np.zeros(len(table), dtype=np.intp)
        for a, level in levels.items():
            keys = keys * box.domain.hierarchy(a).size(level) + table.column(a, level)
        value = np.zeros(len(table), dtype=np.intp)
        for a, level in hanging.items():
            value = value * box.domain.hierarchy(a).size(level) + table.column(a, level)
        share = np.zeros((len(known), box.domain.size(hanging)))
        share[np.searchsorted(known, keys), value] = table.counts
        rows = share.sum(axis=1, keepdims=True)
        return classes, np.divide(share, rows, out=share, where=rows > 0)


def _leaf_shares(domain: Domain, attribute: str, fine: int, coarse: int) -> FloatArray:
    """Of each value of a level, its base values as a share of those of the value above it at a coarser level."""
    hierarchy = domain.hierarchy(attribute)
    return np.asarray(hierarchy.leaf_counts(fine) / hierarchy.leaf_counts(coarse)[hierarchy.lift(fine, coarse)])


def _spread(domain: Domain, counts: FloatArray, levels: Mapping[str, int], margin: Mapping[str, int]) -> FloatArray:
    """Counts at the finest published levels, suppressed attributes left out, as counts at the levels asked for."""
    counts = counts.reshape([domain.hierarchy(a).size(level) for a, level in levels.items()])
    for axis, (a, level) in enumerate(levels.items()):
        if margin[a] < level:
            spread = np.moveaxis(counts, axis, -1)[..., domain.hierarchy(a).lift(margin[a], level)]
            counts = np.moveaxis(spread * _leaf_shares(domain, a, margin[a], level), -1, axis)
    return counts
