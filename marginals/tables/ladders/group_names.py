"""Names of groups of values, such as a person would give.

A name tells no value that only the data knows: it is the ends of a stretch, the first and the last one left open, the
label of a node of the given hierarchy, members that have at least k rows each, or members that everybody knows.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from marginals.tables.ladders.scale import Scale
from models.arrays import CountArray, IndexArray
from models.tables.hierarchy import Hierarchy

_LISTED = 4
"""Members that a name lists where these are all; of more, fewer are listed, and others said."""


@dataclass(frozen=True, eq=False)
class GroupNames:
    """Gives names to groups of the values of one level of a hierarchy, the same to the same group, to others another.

    start: the level of the values. counts: rows of each of them. k: rows from which on a value can be named. scale: where
    the values stand in an order. missing: the value of rows without one. has_public_labels: whether everybody knows which
    values there are.
    """

    hierarchy: Hierarchy
    start: int
    counts: CountArray
    k: int
    scale: Scale | None = None
    missing: int | None = None
    has_public_labels: bool = False
    _groups: dict[str, frozenset[int]] = field(default_factory=dict)

    def name(self, members: IndexArray) -> str:
        """The name of a group, by the numbers of its values, which are sorted.

        >>> jobs = Hierarchy.flat(["clerk", "cook", "smith", "tailor"])
        >>> names = GroupNames(jobs, 0, np.array([30, 12, 3, 2]), 10)
        >>> [names.name(np.array(group)) for group in ([0], [1, 2], [2, 3], [1, 2, 3])]
        ['clerk', 'cook and others', 'other', 'cook and others (2)']
        """
        group = frozenset(members.tolist())
        for candidate in self._candidates(members):
            if self._groups.setdefault(candidate, group) == group:
                return candidate
        raise AssertionError("there are ever more candidates")

    def _candidates(self, members: IndexArray) -> Iterator[str]:
        """Names that a group could have, the best first; the last of them are endless."""
        if len(members) == 1:
            yield self.hierarchy.labels[self.start][members[0]]
        is_stretch = self.scale is not None and self.scale.wording is not None
        if not is_stretch and (node := self._node(members, whole=True)) is not None:
            yield node
        rest, ending = members, ""
        if self.missing in members:
            rest, ending = members[members != self.missing], " or missing"
        name = "other"
        for candidate in self._of_values(rest):
            name = candidate
            yield name + ending
        number = 2
        while True:
            yield f"{name}{ending} ({number})"
            number += 1

    def _of_values(self, members: IndexArray) -> Iterator[str]:
        """Names of a group that lacks no value."""
        labels = self.hierarchy.labels[self.start]
        if len(members) == 1 and self.counts[members[0]] >= self.k:
            yield labels[members[0]]
        if self.scale is not None and len(members) == len(self.scale.order):
            yield "not missing"
        if self.scale is not None and self.scale.wording is not None:
            places = np.flatnonzero(np.isin(self.scale.order, members))
            stretch = self.scale.stretch(int(places[0]), int(places[-1]))
            if stretch is not None:
                yield stretch
                return
        known = members
        if not self.has_public_labels:
            known = members[self.counts[members] >= self.k]
            known = known[np.argsort(-self.counts[known], kind="stable")]
        if len(known) == len(members) <= _LISTED:
            yield ", ".join(labels[value] for value in sorted(known.tolist()))
        for length in range(1, min(len(known), _LISTED)):
            yield ", ".join(labels[value] for value in known[:length].tolist()) + " and others"
        if len(known) == 1:
            yield f"{labels[known[0]]} and others"
        if len(known) == 0:
            node = self._node(members, whole=False)
            yield "other" if node is None else f"other {node}"

    def _node(self, members: IndexArray, whole: bool) -> str | None:
        """The label of the deepest node, below `*`, that all members lie under; where asked for, only of theirs alone."""
        for level in range(self.start + 1, self.hierarchy.height):
            nodes = self.hierarchy.lift(self.start, level)
            [node, *others] = np.unique(nodes[members]).tolist()
            if not others:
                alone = np.count_nonzero(nodes == node) == len(members)
                return self.hierarchy.labels[level][node] if alone or not whole else None
        return None
