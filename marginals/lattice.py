"""Full-domain generalization: all minimal single tables that satisfy the requirements (design 4.8).

The nodes of the lattice assign a level to each quasi-identifier. The requirements are monotone: what a node satisfies,
every coarser node satisfies. So a verdict on one node settles a whole box of the lattice, and the search always asks
the open node whose verdict settles most in the worse case. What few attributes show is looked at first: a node fails
when its projection on any two attributes fails, and those tables are small (as Incognito prunes by subsets).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from checks.equivalence_classes import equivalence_classes
from checks.k_anonymity import nonsensitive_part
from checks.l_diversity import satisfies
from checks.requirements import Requirements
from models.arrays import BoolArray
from models.collection import Collection
from models.data_cube import DataCube
from models.domain import Mask
from models.margin import Margin
from models.maximum_entropy import MaximumEntropy
from models.utility import average_class_size, discernibility

Progress = Callable[[int, int], None]
"""Told how many of how many nodes are settled."""


@dataclass(frozen=True)
class SingleTable:
    """One generalized table with the measures of design 4.2. levels: of the quasi-identifiers, `*` included."""

    levels: Margin
    mask: Mask
    height: int
    classes: int
    average_class_size: float
    discernibility: int
    kl_divergence: float

    def as_json(self) -> dict[str, object]:
        """The table as plain values (design 5.2)."""
        return {
            "levels": dict(self.levels),
            "height": self.height,
            "classes": self.classes,
            "average_class_size": self.average_class_size,
            "discernibility": self.discernibility,
            "kl_divergence": self.kl_divergence,
        }


@dataclass(frozen=True)
class LatticeResult:
    """All minimal tables, best KL divergence first. nodes: in the lattice. evaluated: tables that were looked at."""

    nodes: int
    evaluated: int
    minimal: tuple[SingleTable, ...]


def single_table(cube: DataCube, levels: Mapping[str, int], sensitive: Iterable[str]) -> SingleTable:
    """The table that shows the quasi-identifiers at these levels and the sensitive attributes as they are."""
    public = cube.domain.mask(levels)
    mask = public | cube.domain.mask(dict.fromkeys(sensitive, 0))
    sizes = cube.counts(public)
    return SingleTable(
        levels=Margin(levels),
        mask=mask,
        height=sum(levels.values()),
        classes=len(sizes),
        average_class_size=average_class_size(sizes),
        discernibility=discernibility(sizes),
        kl_divergence=MaximumEntropy(Collection.of(cube, [mask])).kl_divergence,
    )


def table_satisfies(cube: DataCube, mask: Mask, requirements: Requirements) -> bool:
    """Whether one table satisfies k-link as k-anonymity, and the diversity in each sensitive attribute."""
    if requirements.k_link is not None:
        sizes = cube.counts(nonsensitive_part(cube.domain, mask, requirements.sensitive))
        if len(sizes) and sizes.min() < requirements.k_link:
            return False
    if requirements.diversity is None:
        return True
    table = cube.table(mask)
    return all(
        bool(satisfies(requirements.diversity, equivalence_classes(table, attribute).counts).all())
        for attribute in requirements.sensitive
    )


class _Lattice:
    """Which nodes are settled, as arrays with an axis for each attribute, indexed by level."""

    def __init__(self, heights: tuple[int, ...]) -> None:
        shape = tuple(height + 1 for height in heights)
        self.passes: BoolArray = np.zeros(shape, dtype=bool)
        self.fails: BoolArray = np.zeros(shape, dtype=bool)

    def settle(self, node: tuple[int, ...], passes: bool) -> None:
        if passes:
            self.passes[tuple(slice(level, None) for level in node)] = True
        else:
            self.fails[tuple(slice(None, level + 1) for level in node)] = True

    @property
    def open(self) -> BoolArray:
        return ~(self.passes | self.fails)

    def most_telling(self) -> tuple[int, ...] | None:
        """The open node with the largest smaller side: open nodes at or above it, and at or below."""
        still_open = self.open
        if not still_open.any():
            return None
        axes = range(still_open.ndim)
        below: NDArray[np.int64] = reduce(lambda a, axis: a.cumsum(axis), axes, still_open.astype(np.int64))
        flipped = np.flip(still_open).astype(np.int64)
        above: NDArray[np.int64] = np.flip(reduce(lambda a, axis: a.cumsum(axis), axes, flipped))
        worth = np.where(still_open, np.minimum(below, above), 0)
        return tuple(int(i) for i in np.unravel_index(int(worth.argmax()), worth.shape))

    def minimal(self) -> list[tuple[int, ...]]:
        """The passing nodes all of whose finer neighbours fail."""
        lowest = self.passes.copy()
        for axis in range(lowest.ndim):
            finer = np.zeros_like(lowest)
            onto = [slice(None)] * lowest.ndim
            from_ = [slice(None)] * lowest.ndim
            onto[axis], from_[axis] = slice(1, None), slice(None, -1)
            finer[tuple(onto)] = self.passes[tuple(from_)]
            lowest &= ~finer
        return [tuple(int(level) for level in node) for node in np.argwhere(lowest)]


def _no_progress(settled: int, nodes: int) -> None:
    """Nobody watches."""


def minimal_tables(
    cube: DataCube, attributes: tuple[str, ...], requirements: Requirements, progress: Progress = _no_progress
) -> LatticeResult:
    """All minimal full-domain generalizations of `attributes` that satisfy the requirements, each with its utility.

    Exact: the result is that of looking at every node. k_combinatorial is not asked, in one table k_link implies it.
    """
    heights = tuple(cube.domain.hierarchy(attribute).height for attribute in attributes)
    sensitive = cube.domain.mask(dict.fromkeys(requirements.sensitive, 0))
    lattice = _Lattice(heights)
    nodes = lattice.passes.size
    evaluated = 0

    def search(axes: tuple[int, ...]) -> None:
        """Settle the sublattice in which only these axes are below `*`."""
        nonlocal evaluated
        part = _Lattice(tuple(heights[axis] for axis in axes))
        where = tuple(slice(None) if axis in axes else heights[axis] for axis in range(len(heights)))
        part.passes, part.fails = lattice.passes[where].copy(), lattice.fails[where].copy()
        while (node := part.most_telling()) is not None:
            levels = {attributes[axis]: level for axis, level in zip(axes, node)}
            passes = table_satisfies(cube, cube.domain.mask(levels) | sensitive, requirements)
            evaluated += 1
            part.settle(node, passes)
            full = list(heights)
            for axis, level in zip(axes, node):
                full[axis] = level
            lattice.settle(tuple(full), passes)
            progress(int(nodes - lattice.open.sum()), nodes)

    for size in (1, 2):
        if size < len(attributes):
            for axes in combinations(range(len(attributes)), size):
                search(axes)
    search(tuple(range(len(attributes))))
    found = [single_table(cube, dict(zip(attributes, node)), requirements.sensitive) for node in lattice.minimal()]
    found.sort(key=lambda table: (table.kl_divergence, tuple(table.levels.values())))
    return LatticeResult(nodes, evaluated, tuple(found))
