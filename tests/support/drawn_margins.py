"""Margins of random tables, with pairs of values that nobody has, beside integer programs over all tables that fit them."""

from collections.abc import Iterator
from functools import cached_property
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp

from checks import CriterionError, impossible
from filled_tables import filled
from models import Collection, DataCube, Domain, Hierarchy

Inside = NDArray[np.bool_]
"""Which base cells are meant."""


class DrawnMargins:
    """Margins at any levels of three to five attributes and up to two sensitive ones: trees, circles and stairs.

    k: the least published count without the sensitive attributes, at least 2. Raises CriterionError for pairs that no
    collection can be given.
    """

    def __init__(self, seed: int, *, with_pairs: bool = False) -> None:
        self.rng = rng = np.random.default_rng(seed)
        names = "ABCDE"[: int(rng.choice([3, 3, 3, 4, 4, 5]))]
        hierarchies = {name: self._hierarchy(name, len(names)) for name in names}
        self.sensitive = tuple("ST"[: int(rng.choice([0, 1, 1, 2]))])
        self.domain = Domain.of(
            {**hierarchies, **{name: Hierarchy.flat([f"{name}0", f"{name}1"]) for name in self.sensitive}}
        )
        sizes = [hierarchy.size(0) for hierarchy in self.domain.hierarchies]
        self.cells = dict(zip(self.domain.attributes, np.indices(sizes).reshape(len(sizes), -1)))
        number = int(rng.integers(1, 3)) if with_pairs else int(rng.choice([0, 0, 0, 1, 2]))
        self.pairs = [self._pair(*rng.choice(list(names), 2, replace=False).tolist()) for _ in range(number)]
        possible = ~np.logical_or.reduce([np.zeros(int(np.prod(sizes)), np.bool_), *map(self._within, self.pairs)])
        if not possible.any():
            raise CriterionError("nothing is possible")
        self.upper = np.where(possible, np.inf, 0)
        pairs = [*combinations(names, 2)]
        some = [pairs[i] for i in rng.choice(len(pairs), rng.integers(2, len(pairs) + 1))]
        shown = [*(pairs if rng.random() < 0.5 else some), *([tuple(names[:3])] if rng.random() < 0.1 else [])]
        for name in self.sensitive:
            for _ in range(int(rng.integers(1, 3))):
                shown.append((*rng.choice(list(names), rng.integers(1, 3), replace=False).tolist(), name))
        if len(self.sensitive) > 1 and rng.random() < 0.3:
            shown.append(self.sensitive)
        self.margins = [{a: int(rng.integers(self.domain.hierarchy(a).height)) for a in each} for each in shown]
        for _ in range(30):  # until each published class has two rows
            weights = rng.dirichlet(np.full(possible.sum(), rng.choice([0.1, 0.3, 1.0])))
            self.counts = np.zeros(len(possible), dtype=np.int64)
            self.counts[possible] = rng.multinomial(int(rng.choice([12, 40, 120, 400])), weights)
            cube = DataCube([filled(self.domain, self.counts)])
            masks = sorted(map(self.domain.mask, self.margins))
            self.k = max(int(min(cube.table(self._without_sensitive(mask)).counts.min() for mask in masks)), 2)
            if self.k > 2:
                break
        self.collection = impossible.given_pairs(Collection.of(cube, masks), self.pairs)

    def _hierarchy(self, name: str, attributes: int) -> Hierarchy:
        size = 2 if attributes > 4 or self.rng.random() < 0.4 else int(self.rng.integers(3, 4 + (attributes < 4)))
        if size == 2 or self.rng.random() < 0.4:
            return Hierarchy.flat([f"{name}{n}" for n in range(size)])
        return Hierarchy.from_rows([(f"{name}{n}", f"{name}{min(n, 1)}+", "*") for n in range(size)])

    def _pair(self, *names: str) -> dict[str, list[str]]:
        """Some labels of each attribute, of base values or of a level above."""
        pair = {}
        for name in names:
            hierarchy = self.domain.hierarchy(name)
            labels = hierarchy.labels[int(self.rng.integers(hierarchy.height)) if self.rng.random() < 0.3 else 0]
            number = int(self.rng.integers(1, max(len(labels), 2)))
            pair[name] = self.rng.choice(labels, number, replace=False).tolist()
        return pair

    def _within(self, pair: dict[str, list[str]]) -> Inside:
        parts = []
        for name, labels in pair.items():
            rows = self.domain.hierarchy(name).rows()
            parts.append(np.array([bool({*labels} & {*row}) for row in rows])[self.cells[name]])
        return np.logical_and.reduce(parts)

    def _without_sensitive(self, mask: int) -> int:
        return mask & ~sum(self.domain.attribute_masks[self.domain.index(name)] for name in self.sensitive)

    def inside(self, cell: dict[str, tuple[int, int]]) -> Inside:
        """The base cells with some values, by attribute a level and a code."""
        lifted = [self.domain.hierarchy(a).lift(0, level)[self.cells[a]] == code for a, (level, code) in cell.items()]
        return np.logical_and.reduce([np.ones(len(self.counts), dtype=np.bool_), *lifted])

    def cells_of(self, margin: dict[str, int]) -> Iterator[dict[str, tuple[int, int]]]:
        codes = product(*(range(self.domain.hierarchy(a).size(level)) for a, level in margin.items()))
        yield from (dict(zip(margin, zip(margin.values(), code))) for code in codes)

    @cached_property
    def constraint(self) -> LinearConstraint:
        inside = [self.inside(cell) for margin in self.margins for cell in self.cells_of(margin)]
        totals = np.array([self.counts[cells].sum() for cells in inside])
        return LinearConstraint(np.array(inside) * 1.0, totals, totals)

    @cached_property
    def tables(self) -> list[NDArray[np.int64]]:
        """Tables that fit, as far as they were seen."""
        return [self.counts]

    def extreme(self, inside: Inside, sign: int) -> int:
        """The most (1) or the least (-1) rows of some base cells, over all tables that fit."""
        answer = milp(-sign * inside.astype(float), constraints=self.constraint, bounds=Bounds(0, self.upper),
                      integrality=np.ones(len(inside)), options={"mip_rel_gap": 0.0})  # fmt: skip
        assert answer.success
        self.tables.append(np.rint(answer.x).astype(np.int64))
        return round(-sign * answer.fun)

    def combinations(self, aside: tuple[str, ...]) -> Iterator[Inside]:
        """The base cells of all combinations that a claim is about, and of their complements in each attribute."""
        shown = {
            a: sorted({margin[a] for margin in self.margins if a in margin})
            for a in self.domain.attributes
            if a not in aside and any(a in margin for margin in self.margins)
        }
        for number in range(1, len(shown) + 1):
            for some in combinations(shown, number):
                for levels in product(*(shown[a] if number <= 3 else shown[a][:1] for a in some)):
                    for cell in self.cells_of(dict(zip(some, levels))):
                        yield self.inside(cell)
                        for a in some if 1 < number <= 3 else ():
                            yield self.inside({b: at for b, at in cell.items() if b != a}) & ~self.inside({a: cell[a]})

    def has_small_certain(self, k: int, aside: tuple[str, ...]) -> bool:
        """Whether a combination has 1 to k - 1 rows in every table that fits."""
        return any(
            all(0 < table[inside].sum() < k for table in self.tables)
            and self.extreme(inside, -1) > 0
            and self.extreme(inside, 1) < k
            for inside in self.combinations(aside)
        )

    def has_small_most(self, k: int, aside: tuple[str, ...]) -> bool:
        """Whether a base cell can have rows, and nowhere k of them (KG06 Def. 4.2)."""
        names = [name for name in self.domain.attributes if name not in aside]
        empty = (self.constraint.A[self.constraint.lb == 0] > 0).any(axis=0)
        return any(
            not empty[inside].all()
            and all(table[inside].sum() < k for table in self.tables)
            and 0 < self.extreme(inside, 1) < k
            for inside in map(self.inside, self.cells_of(dict.fromkeys(names, 0)))
        )
