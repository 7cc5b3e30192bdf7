"""The part of a junction tree that shows a sensitive attribute, with class-by-value counts for each clique.

Everything that a decomposable collection says about a sensitive attribute C is in the cliques that hold C (KG06
Prop. 7.3). They form a subtree; each separator in it holds C too. A *class combination* picks one class of each clique
so that neighbours agree on what they share: it is a cell t of the nonsensitive attributes, as far as C is concerned.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from checks.classes.equivalence_classes import EquivalenceClasses, equivalence_classes
from checks.diversity.relative.sensitive_values import SensitiveValues
from checks.finding import WorstClass
from checks.maxent.class_combinations import BLOCK, Combine, Members, Screen, depth_first, fitting_positions, members_of
from models.arrays import FloatArray, IndexArray
from models.deadline import NEVER, Deadline
from models.graphs.collection import Collection
from models.graphs.junction_tree import JunctionTree
from models.tables.contingency_table import ContingencyTable
from models.tables.domain import Domain, Mask


@dataclass(frozen=True, eq=False)
class SensitiveTree:
    """Cliques that hold a sensitive attribute, joined along their separators.

    classes, separators: for each clique its classes and those of the separator to its parent; the root's separator is
    the sensitive attribute alone. inward[i]: for each class of clique i its separator class. outward[i]: the same for
    each class of the parent. The other sensitive attributes count as nonsensitive here (MKGV07 Def. 4.6). deadline: when
    whatever is worked out from the tree ends, by TimeOverError.
    """

    sensitive: str
    tree: JunctionTree
    classes: tuple[EquivalenceClasses, ...]
    separators: tuple[EquivalenceClasses, ...]
    inward: tuple[IndexArray, ...]
    outward: tuple[IndexArray, ...]
    deadline: Deadline = NEVER

    @classmethod
    def of(
        cls, tree: JunctionTree, sensitive: str, classes_of: Callable[[Mask], EquivalenceClasses]
    ) -> "SensitiveTree":
        """The cliques of a junction tree that show `sensitive`; there must be one at least.

        classes_of: the classes of a margin given as a mask, for instance `class_source(cube, sensitive)`.
        """
        first_step = 1 << tree.domain.offsets[tree.domain.index(sensitive)]
        subtree = tree.containing(first_step)
        classes = tuple(map(classes_of, subtree.cliques))
        separators = tuple(classes_of(separator or first_step) for separator in subtree.separators)
        cells = ([each.coded_cells for each in own] for own in (classes, separators))
        inward, outward = fitting_positions(subtree.parents, *cells)
        return cls(sensitive, subtree, classes, separators, inward, outward)

    def until(self, deadline: Deadline) -> "SensitiveTree":
        """The same tree, from which nothing is worked out after a deadline."""
        return self if deadline is self.deadline else replace(self, deadline=deadline)

    @property
    def domain(self) -> Domain:
        """The domain of the tree."""
        return self.tree.domain

    @cached_property
    def level(self) -> int:
        """The finest level at which a clique shows the sensitive attribute."""
        return min(classes.level for classes in self.classes)

    @cached_property
    def values(self) -> SensitiveValues:
        """The sensitive values at that level, and the rows of each in the whole table."""
        classes = next(classes for classes in self.classes if classes.level == self.level)
        return classes.values

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The sensitive values at that level."""
        return self.domain.hierarchy(self.sensitive).labels[self.level]

    def expanded(self, classes: EquivalenceClasses) -> NDArray[Any]:
        """Counts by the finest published values: a coarser value's count stands at each of its values."""
        if classes.level == self.level:
            return classes.counts
        return classes.counts[:, self.domain.hierarchy(self.sensitive).lift(self.level, classes.level)]

    @cached_property
    def conditional_factors(self) -> tuple[FloatArray, ...]:
        """For each clique T(t, s) / T_separator(t, s), shape (classes, values): their product over the cliques is
        proportional to the maxent distribution of the sensitive value given t. The root has no separator.
        """
        root = self.expanded(self.classes[0])
        factors: list[FloatArray] = [root / root.sum(axis=1, keepdims=True)]
        for own, separator, inward in zip(self.classes[1:], self.separators[1:], self.inward[1:]):
            below = self.expanded(separator)[inward]
            factors.append(self.expanded(own) / np.where(below > 0, below, 1))
        return tuple(factors)

    def exact_vector(self, combination: Sequence[int]) -> list[Fraction]:
        """The product of the `conditional_factors` of a class combination, in some scale, as fractions."""
        self.deadline.check()
        vector = [Fraction(count) for count in self.expanded(self.classes[0])[combination[0]].tolist()]
        for clique in range(1, len(self.classes)):
            above = self.expanded(self.classes[clique])[combination[clique]].tolist()
            below = self.expanded(self.separators[clique])[self.inward[clique][combination[clique]]].tolist()
            vector = [v * Fraction(a) / Fraction(b) if a else Fraction(0) for v, a, b in zip(vector, above, below)]
        return vector

    @cached_property
    def members(self) -> Members:
        """For each clique its classes ordered by separator class, and where each separator class begins in that."""
        return members_of(self.separators, self.inward)

    @cached_property
    def combination_count(self) -> int:
        """How many class combinations there are, those without a common sensitive value included. Exact."""
        ways = [np.ones(len(classes), dtype=object) for classes in self.classes]
        for clique in reversed(range(1, len(ways))):
            arriving = np.zeros(len(self.separators[clique]), dtype=object)
            np.add.at(arriving, self.inward[clique], ways[clique])
            ways[self.tree.parents[clique]] *= arriving[self.outward[clique]]
        return int(ways[0].sum()) if ways else 0

    def depth_first(
        self, contributions: Sequence[FloatArray], combine: Combine, screen: Screen, block: int = BLOCK
    ) -> Iterator[tuple[IndexArray, FloatArray]]:
        """The class combinations that come through a screen, as `class_combinations.depth_first` gives them."""
        return depth_first(self, contributions, combine, screen, block)

    def combinations(self, factors: Sequence[FloatArray], combine: Combine) -> Iterator[tuple[IndexArray, FloatArray]]:
        """All class combinations in blocks, with their combined factors; those whose vector is all 0 are left out."""
        return self.depth_first(factors, combine, lambda _, vectors: np.flatnonzero(vectors.any(axis=1)))

    def cell(self, combination: Sequence[int]) -> dict[str, str]:
        """The published labels of a class combination, each attribute at the finest level some clique shows."""
        finest: dict[str, tuple[int, str]] = {}
        for classes, position in zip(self.classes, combination):
            for attribute, label in classes.labels(position).items():
                level = classes.margin[attribute]
                if attribute not in finest or level < finest[attribute][0]:
                    finest[attribute] = (level, label)
        return {a: finest[a][1] for a in self.domain.attributes if a in finest}

    def describe(self, combination: Sequence[int]) -> WorstClass:
        """A class combination for a reader: its cell, and which marginals say what about it."""
        return WorstClass(
            self.cell(combination),
            margins=self.tree.margins,
            counts=[classes.distribution(int(i)) for classes, i in zip(self.classes, combination)],
        )


def class_source(table_of: Callable[[Mask], ContingencyTable], sensitive: str) -> Callable[[Mask], EquivalenceClasses]:
    """A function from a mask to the classes of that margin, which remembers its answers."""
    classes_by_mask: dict[Mask, EquivalenceClasses] = {}

    def classes_of(mask: Mask) -> EquivalenceClasses:
        """The classes of a margin."""
        if mask not in classes_by_mask:
            classes_by_mask[mask] = equivalence_classes(table_of(mask), sensitive)
        return classes_by_mask[mask]

    return classes_of


def sensitive_tree(collection: Collection, sensitive: str) -> SensitiveTree | None:
    """The sensitive tree of a decomposable collection; None when no margin shows the attribute."""
    if not collection.shows(sensitive):
        return None
    return SensitiveTree.of(collection.junction_tree, sensitive, class_source(collection.cube.table, sensitive))
