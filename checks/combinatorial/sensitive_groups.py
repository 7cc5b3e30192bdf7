"""Sensitive attributes that are published together, directly or by way of others, and the cliques that show them.

The cliques with any attribute of a group are a connected part of the junction tree, and every separator within it holds
one. What the cliques of a group leave for a nonsensitive cell t is a limit for each of their sensitive cells.
"""

from collections.abc import Collection as AnyCollection
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from checks.classes.k_anonymity import nonsensitive_part
from checks.finding import WorstClass
from checks.maxent.class_combinations import Members, fitting_positions, members_of
from models.arrays import FloatArray, IndexArray
from models.deadline import NEVER, Deadline
from models.errors import TooManyCellsError
from models.graphs.junction_tree import JunctionTree
from models.programs.packing import Packing
from models.tables.contingency_table import ContingencyTable
from models.tables.data_cube import DataCube
from models.tables.domain import Domain, Mask

JOINT_CELLS = 20_000
"""Cells of the sensitive attributes of a group, at most, that rows are packed into."""

_LIMITS = 1 << 25
"""Numbers that all classes of a group may have together."""


class SensitiveGroup(NamedTuple):
    """Sensitive attributes, and the cliques that show any of them."""

    attributes: tuple[str, ...]
    cliques: tuple[Mask, ...]


def sensitive_groups(
    domain: Domain, cliques: AnyCollection[Mask], sensitive: AnyCollection[str]
) -> list[SensitiveGroup]:
    """The sensitive attributes that some clique shows: those of one clique are in one group, in the domain's order."""
    own = {a: domain.attribute_masks[domain.index(a)] for a in domain.attributes if a in sensitive}
    groups: list[SensitiveGroup] = []
    for clique in cliques:
        shown = tuple(a for a, mask in own.items() if clique & mask)
        if shown:
            joined = [group for group in groups if set(group.attributes) & {*shown}]
            attributes = {*shown}.union(*(group.attributes for group in joined))
            held = (mask for group in joined for mask in group.cliques)
            groups = [group for group in groups if group not in joined]
            groups.append(SensitiveGroup(tuple(a for a in own if a in attributes), (*held, clique)))
    return groups


@dataclass(frozen=True, eq=False)
class GroupTree:
    """The cliques of a group of several sensitive attributes, joined along their separators.

    classes, separators: tables of the nonsensitive attributes of each clique, and of the separator to its parent. inward,
    outward: which separator class each class of the clique, and of its parent, has. packing: of rows into the sensitive
    cells; its margins are what the cliques show of the sensitive attributes. blocks: which of these is that of each
    clique. deadline: when whatever is worked out from the tree ends, by TimeOverError.
    """

    attributes: tuple[str, ...]
    tree: JunctionTree
    cube: DataCube
    classes: tuple[ContingencyTable, ...]
    separators: tuple[ContingencyTable, ...]
    inward: tuple[IndexArray, ...]
    outward: tuple[IndexArray, ...]
    packing: Packing
    blocks: tuple[int, ...]
    deadline: Deadline = NEVER

    @classmethod
    def of(cls, cube: DataCube, group: SensitiveGroup) -> "GroupTree":
        """The tree of a group of a decomposable collection. Raises TooManyCellsError where it is too large."""
        domain, attributes = cube.domain, group.attributes
        tree = JunctionTree.of(domain, group.cliques)

        def table_of(mask: Mask) -> ContingencyTable:
            """The classes of a margin."""
            return cube.table(nonsensitive_part(domain, mask, attributes))

        classes = tuple(map(table_of, tree.cliques))
        separators = tuple(map(table_of, tree.separators))
        cells = ([each.coded_cells for each in own] for own in (classes, separators))
        inward, outward = fitting_positions(tree.parents, *cells)
        shown = [clique & ~nonsensitive_part(domain, clique, attributes) for clique in tree.cliques]
        masks = sorted(set(shown))
        packing = Packing.of(cube, masks, JOINT_CELLS)
        if sum(map(len, classes)) * packing.width > _LIMITS:
            raise TooManyCellsError("the classes with their sensitive values are too many to be laid out")
        blocks = tuple(map(masks.index, shown))
        return cls(attributes, tree, cube, classes, separators, inward, outward, packing, blocks)

    def until(self, deadline: Deadline) -> "GroupTree":
        """The same tree, from which nothing is worked out after a deadline."""
        return self if deadline is self.deadline else replace(self, deadline=deadline)

    @cached_property
    def members(self) -> Members:
        """For each clique its classes ordered by separator class, and where each separator class begins in that."""
        return members_of(self.separators, self.inward)

    def limits(self, cap: float) -> tuple[FloatArray, ...]:
        """For each clique the limits of each class: its counts, at most `cap`, in its own margin's part; `cap` elsewhere.

        Shape (classes, packing.width). The limits of a class combination are the componentwise minima.
        """
        limits = []
        for clique, classes, block in zip(self.tree.cliques, self.classes, self.blocks):
            own = np.full((len(classes), self.packing.width), cap)
            begin, end = self.packing.begins[block : block + 2]
            own[:, begin:end] = 0
            cells = self.cube.table(clique)
            place = cells.positions_in(self.packing.tables[block])
            own[cells.positions_in(classes), begin + place] = np.minimum(cells.counts, cap)
            limits.append(own)
        return tuple(limits)

    def describe(self, combination: Sequence[int]) -> WorstClass:
        """A class combination for a reader: its cell, each attribute at the finest level, and the margins."""
        finest: dict[str, tuple[int, str]] = {}
        for classes, position in zip(self.classes, combination):
            for attribute, label in classes.labels(position).items():
                level = classes.margin[attribute]
                if attribute not in finest or level < finest[attribute][0]:
                    finest[attribute] = (level, label)
        cell = {a: finest[a][1] for a in self.tree.domain.attributes if a in finest}
        return WorstClass(cell, margins=self.tree.margins)
