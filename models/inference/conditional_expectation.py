"""Expected counts of many cells at once in a maximum-entropy distribution, along its junction tree.

Each cell fixes the same attributes at the same levels. A cell meets the cells of a clique that agree with it, and passes
messages from leaves to root as one query would (`models.inference.expected_counts.expectation`); the join is never laid out.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from models.arrays import BoolArray, CodeArray, FloatArray, IndexArray
from models.errors import DomainMismatchError
from models.graphs.collection import Collection
from models.graphs.junction_tree import JunctionTree
from models.inference.expected_counts import ExpectedCells, summed
from models.inference.iterative_fitting import iterative_fit
from models.tables.domain import Domain
from models.tables.join import match, shared_keys
from models.tables.margin import Margin

Factor = Callable[[IndexArray, CodeArray], FloatArray]
"""Weights of an attribute's values: (numbers of cells, codes at its finest published level) to weights, shape (n,)."""

_BLOCK = 4096
"""Cells that are asked together, which bounds the memory."""


@dataclass(frozen=True, eq=False)
class CliqueExpectations:
    """Expected counts over the cliques of a junction tree, which agree on their separators.

    power: to which the expected count of each full cell (all attributes at their finest published levels) is raised.
    """

    tree: JunctionTree
    cliques: tuple[ExpectedCells, ...]
    total: int
    power: int = 1

    @classmethod
    def of(cls, collection: Collection) -> "CliqueExpectations":
        """Of the maxent distribution of a collection: its marginals where it is decomposable, else fitted to them.

        Raises TooManyCellsError where fitting would be too large.
        """
        total = collection.cube.total
        if collection.is_decomposable:
            tables = [collection.cube.table(clique) for clique in collection.junction_tree.cliques]
            cells = [ExpectedCells(t.margin, dict(zip(t.attributes, t.codes)), t.counts.astype(float)) for t in tables]
            return cls(collection.junction_tree, tuple(cells), total)
        fit = iterative_fit(collection)
        return cls(fit.tree, fit.cliques, total)

    @property
    def domain(self) -> Domain:
        """The domain of the distribution."""
        return self.tree.domain

    @property
    def levels(self) -> dict[str, int]:
        """The finest published level of each published attribute."""
        finest: dict[str, int] = {}
        for cells in self.cliques:
            for attribute, level in cells.margin.items():
                finest[attribute] = min(level, finest.get(attribute, level))
        return finest

    def expected_counts(
        self,
        levels: Mapping[str, int],
        codes: Mapping[str, CodeArray],
        length: int,
        factors: Mapping[str, Factor] | None = None,
    ) -> FloatArray:
        """For each cell the expected sum over its rows of the product of the factors; without any, its expected count.

        With another power, the sum over the full cells under it of their powers times the factors.
        levels: of the attributes that a cell fixes, none finer than published. codes: theirs, shape (length,) each.
        factors: for published attributes. Shape (length,). Raises DomainMismatchError for a level finer than published.
        """
        finest = self.levels
        known = {a: level for a, level in levels.items() if level < self.domain.hierarchy(a).height}
        for attribute, level in known.items():
            if attribute not in finest or level < finest[attribute]:
                raise DomainMismatchError(f"{attribute!r} is not published at level {level}")
        blocks = [np.arange(start, min(start + _BLOCK, length)) for start in range(0, length, _BLOCK)]
        found = [self._block(known, codes, block, dict(factors or {})) for block in blocks]
        return np.concatenate(found) if found else np.zeros(0)

    def _block(
        self,
        levels: Mapping[str, int],
        codes: Mapping[str, CodeArray],
        block: IndexArray,
        factors: dict[str, Factor],
    ) -> FloatArray:
        finest, total = self.levels, float(max(self.total, 1)) ** self.power
        mean = np.ones(len(block))
        messages: dict[int, _Message] = {}
        for clique in reversed(range(len(self.cliques))):
            cells = self.cliques[clique]
            cell, place = _agreeing(self.domain, levels, {a: codes[a][block] for a in levels}, len(block), cells)
            mass = cells.expected[place] ** self.power
            for attribute, level in cells.margin.items():
                if attribute in factors and level == finest[attribute]:
                    factor = factors.pop(attribute)
                    mass = _times(mass, factor(block[cell], cells.codes[attribute][place]))
            for child in self.tree.children[clique]:
                mass = _times(mass, messages.pop(child).at(self.domain, cells, cell, place))
            if self.tree.parents[clique] < 0:
                mean = _times(mean, np.bincount(cell, mass, minlength=len(block)) / total)
            else:
                separator = self.domain.margin(self.tree.separators[clique])
                messages[clique] = _Message.of(self.domain, cells, separator, cell, place, mass, self.power)
        return total * mean


@dataclass(frozen=True, eq=False)
class _Message:
    """For pairs of a cell and a cell of the separator, ascending, the conditional expectation beyond it."""

    margin: Margin
    cells: ExpectedCells
    keys: IndexArray
    values: FloatArray

    @classmethod
    def of(
        cls,
        domain: Domain,
        cells: ExpectedCells,
        margin: Margin,
        cell: IndexArray,
        place: IndexArray,
        mass: FloatArray,
        power: int,
    ) -> "_Message":
        separator = summed(domain, cells, margin)
        inner, _ = _places(domain, cells, separator)
        keys, at = np.unique(cell * len(separator.expected) + inner[place], return_inverse=True)
        expected = separator.expected[keys % max(len(separator.expected), 1)] ** power
        sums = np.bincount(at, mass, minlength=len(keys))
        values = np.divide(sums, expected, out=np.zeros(len(keys)), where=expected > 0)
        return cls(margin, separator, keys, values)

    def at(self, domain: Domain, cells: ExpectedCells, cell: IndexArray, place: IndexArray) -> FloatArray:
        """The message to cells of the parent; 0 where the child's clique holds nothing that agrees."""
        outer, held = _places(domain, cells, self.cells)
        sought = cell * len(self.cells.expected) + outer[place]
        if not len(self.keys):
            return np.zeros(len(sought))
        found = np.minimum(np.searchsorted(self.keys, sought), len(self.keys) - 1)
        return np.where((self.keys[found] == sought) & held[place], self.values[found], 0.0)


def _agreeing(
    domain: Domain, levels: Mapping[str, int], codes: Mapping[str, CodeArray], length: int, cells: ExpectedCells
) -> tuple[IndexArray, IndexArray]:
    """All pairs of one of so many cells and a cell of the clique that agree."""
    shared = [a for a in domain.attributes if a in levels and a in cells.margin]
    coarse = {a: max(levels[a], cells.margin[a]) for a in shared}
    left = [domain.hierarchy(a).lift(levels[a], coarse[a])[codes[a]] for a in shared]
    right = [domain.hierarchy(a).lift(cells.margin[a], coarse[a])[cells.codes[a]] for a in shared]
    radices = [domain.hierarchy(a).size(coarse[a]) for a in shared]
    return match(*shared_keys(left, right, radices, (length, len(cells.expected))))


def _places(domain: Domain, fine: ExpectedCells, coarse: ExpectedCells) -> tuple[IndexArray, BoolArray]:
    """For each cell the place of the coarser one it falls into, and whether there is one."""
    attributes = [a for a in domain.attributes if a in coarse.margin]
    columns = [domain.hierarchy(a).lift(fine.margin[a], coarse.margin[a])[fine.codes[a]] for a in attributes]
    radices = [domain.hierarchy(a).size(coarse.margin[a]) for a in attributes]
    sizes = (len(fine.expected), len(coarse.expected))
    sought, known = shared_keys(columns, [coarse.codes[a] for a in attributes], radices, sizes)
    place = np.minimum(np.searchsorted(known, sought), max(len(known) - 1, 0))
    held: BoolArray = np.equal(known[place], sought) if len(known) else np.zeros(len(sought), dtype=bool)
    return place, held


def _times(left: FloatArray, right: FloatArray) -> FloatArray:
    """The product where 0 times infinity is 0."""
    with np.errstate(invalid="ignore"):
        return np.where((left == 0) | (right == 0), 0.0, left * right)
