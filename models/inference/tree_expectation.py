"""Expectations of products of one weight for each attribute, by messages from the leaves of a calibrated tree to its root.

`expectation` is over all rows; `CellExpectations` over the rows of each of many cells that fix the same attributes, which
pass their messages together. The joint distribution is never laid out.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from models.arrays import CodeArray, FloatArray, IndexArray
from models.errors import DomainMismatchError
from models.graphs.collection import Collection
from models.inference.calibrated_tree import CalibratedTree, Link
from models.inference.maximum_entropy import MaximumEntropy
from models.tables.coded_cells import CodedCells
from models.tables.domain import Domain
from models.tables.join import look_up, match

Factor = Callable[[IndexArray, CodeArray], FloatArray]
"""Weights of an attribute's values: (numbers of cells, codes at its finest published level) to weights, shape (n,)."""

_BLOCK = 4096
"""Cells whose messages are passed together, which bounds the memory."""


def expectation(tree: CalibratedTree, weights: Mapping[str, FloatArray]) -> float:
    """Expected sum over the rows of prod_B w_B(x_B), in rows; the expected count of a box for 0/1 weights.

    weights: for some attributes a weight for each base value, shape (size(0),); 1 for the other attributes. Only the
    cliques between these attributes are looked at. Raises DomainMismatchError for weights of another shape.
    """
    mass: dict[int, FloatArray] = {}
    mean = 1.0
    for attribute, weight in weights.items():
        index = tree.domain.index(attribute)
        hierarchy, level = tree.domain.hierarchies[index], tree.finest_levels[index]
        if np.shape(weight) != (hierarchy.size(0),):
            raise DomainMismatchError(f"weights of {attribute!r} must have one entry for each base value")
        sums = np.bincount(hierarchy.lift(0, level), weight, minlength=hierarchy.size(level))
        means = sums / hierarchy.leaf_counts(level)
        clique = tree.home(((index, level),))
        if clique is None or level == hierarchy.height:
            mean *= float(means[0])
        else:
            own = means[tree.codes(clique, (index, level))]
            mass[clique] = mass.get(clique, tree.cliques[clique].expected) * own
    if not mass:
        return mean * tree.total
    for link in reversed(tree.links):
        child, parent = link.cliques
        if child in mass and (len(mass) > 1 or parent in mass):
            message = np.bincount(link.positions[0], mass.pop(child), minlength=len(link))
            shares = message / np.where(link.rows[0] > 0, link.rows[0], 1)
            mass[parent] = mass.get(parent, tree.cliques[parent].expected) * shares[link.positions[1]]
    (last,) = mass.values()
    return mean * float(last.sum())


@dataclass(frozen=True, eq=False)
class CellExpectations:
    """Expectations over the rows of given cells.

    power: to which the expected count of each full cell (all attributes at their finest published levels) is raised.
    """

    tree: CalibratedTree
    power: int = 1

    @classmethod
    def of(cls, collection: Collection) -> "CellExpectations":
        """Of the maxent distribution of a collection: its marginals where it is decomposable, else fitted to them.

        Raises TooManyCellsError where fitting would be too large.
        """
        if collection.is_decomposable:
            return cls(CalibratedTree.of(MaximumEntropy(collection)))
        from models.inference.fitting.iterative_fitting import iterative_fit  # slow to import, and few need it

        return cls(CalibratedTree.fitted(iterative_fit(collection), float(collection.cube.total)))

    @property
    def domain(self) -> Domain:
        """The domain of the distribution."""
        return self.tree.domain

    @property
    def levels(self) -> dict[str, int]:
        """The finest published level of each published attribute."""
        levels = zip(self.domain.items(), self.tree.finest_levels)
        return {attribute: level for (attribute, hierarchy), level in levels if level < hierarchy.height}

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
        fixed = {a: level for a, level in levels.items() if level < self.domain.hierarchy(a).height}
        for attribute, level in fixed.items():
            if attribute not in finest or level < finest[attribute]:
                raise DomainMismatchError(f"{attribute!r} is not published at level {level}")
        sums = np.zeros(length)
        for start in range(0, length, _BLOCK):
            block = np.arange(start, min(start + _BLOCK, length))
            cells = CodedCells(self.domain, fixed, {a: codes[a][block] for a in fixed}, len(block))
            sums[block] = self._block(cells, block, dict(factors or {}))
        return sums

    def _block(self, cells: CodedCells, block: IndexArray, factors: dict[str, Factor]) -> FloatArray:
        """block: the numbers of the cells, which factors are asked by."""
        finest, total = self.levels, max(self.tree.total, 1.0) ** self.power
        mean = np.ones(len(cells))
        messages: dict[int, _Message] = {}
        for clique in reversed(range(len(self.tree.cliques))):
            own = self.tree.cliques[clique]
            cell, place = match(*cells.keys_with(own.cells))
            mass = own.expected[place] ** self.power
            for attribute, level in own.margin.items():
                if attribute in factors and level == finest[attribute]:
                    factor = factors.pop(attribute)
                    mass = _times(mass, factor(block[cell], own.codes[attribute][place]))
            for child in self.tree.tree.children[clique]:
                mass = _times(mass, messages.pop(child).at(cell, place))
            if self.tree.tree.parents[clique] < 0:
                mean = _times(mean, np.bincount(cell, mass, minlength=len(cells)) / total)
            else:
                link = self.tree.links[clique - 1]
                messages[clique] = _Message.of(link, cell, link.positions[0][place], mass, self.power)
        return total * mean


@dataclass(frozen=True, eq=False)
class _Message:
    """For pairs of a given cell and a separator cell, as ascending keys, the conditional expectation beyond."""

    link: Link
    keys: IndexArray
    values: FloatArray

    @classmethod
    def of(cls, link: Link, cell: IndexArray, inner: IndexArray, mass: FloatArray, power: int) -> "_Message":
        """From pairs of a given cell and a cell of the child's clique. inner: the separator cell of each."""
        keys, at = np.unique(cell * len(link) + inner, return_inverse=True)
        expected = link.rows[0][keys % max(len(link), 1)] ** power
        sums = np.bincount(at, mass, minlength=len(keys))
        return cls(link, keys, np.divide(sums, expected, out=np.zeros(len(keys)), where=expected > 0))

    def at(self, cell: IndexArray, place: IndexArray) -> FloatArray:
        """The message to cells of the parent; 0 where the child's clique holds nothing that agrees."""
        places, found = look_up(cell * len(self.link) + self.link.positions[1][place], self.keys)
        if not len(self.keys):
            return np.zeros(len(cell))
        return np.where(found, self.values[places], 0.0)


def _times(left: FloatArray, right: FloatArray) -> FloatArray:
    """The product where 0 times infinity is 0."""
    with np.errstate(invalid="ignore"):
        return np.where((left == 0) | (right == 0), 0.0, left * right)
