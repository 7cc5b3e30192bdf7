"""Common values: what the values of an attribute have in common in two releases that may generalize it differently.

Of 20-29 and 30-39 in one release and 20-34 and 35-39 in the other, all four hang together, so that 20-39 is the finest
value that both tell. Of 20-24, 25-29 in the one and 20-29 in the other it is 20-29: nested values are the simple case. A
value that has no rows in one release joins nothing there, for readers see that nobody had it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from models.arrays import BoolArray, IndexArray
from models.graphs.collection import Collection
from models.tables.hierarchy import SUPPRESSED, Hierarchy

Overlaps = Mapping[str, IndexArray]
"""For attributes that two releases generalize differently the codes at level 0 of each that a row can have, one in the
earlier and one in the later release: shape (2, pairs). Of attributes that are left out both have the same level 0."""

_NOWHERE = Hierarchy(((SUPPRESSED,),), ())
"""That of an attribute of which a release tells nothing."""


@dataclass(frozen=True, eq=False)
class CommonValues:
    """The finest values that a level of the earlier and a level of the later release both tell.

    earlier, later: for each code of each level the number of the common value that it is part of, shape (codes,).
    names: the labels of the release that has fewer in a common value. parts: how many values with rows of each are in a
    common value, shape (2, common values).
    """

    earlier: IndexArray
    later: IndexArray
    labels: tuple[tuple[str, ...], tuple[str, ...]]
    parts: IndexArray

    @property
    def count(self) -> int:
        """How many common values there are, those without rows included."""
        return len(self.parts[0])

    @property
    def is_nested(self) -> bool:
        """Whether each common value is one value of at least one of the releases."""
        return not bool((self.parts > 1).all(axis=0).any())

    @property
    def coarser(self) -> int | None:
        """The release, 0 or 1, whose values are the common ones; None where it is neither."""
        return next((release for release in (1, 0) if (self.parts[release] <= 1).all()), None)

    def name(self, number: int) -> str:
        """What a common value is called: the labels in it of the release that has fewer there."""
        places = [np.flatnonzero(own == number).tolist() for own in (self.earlier, self.later)]
        own: list[list[str]] = [[labels[code] for code in codes] for labels, codes in zip(self.labels, places)]
        fewest: list[str] = min(reversed([labels for labels in own if labels]), key=len)
        return "|".join(fewest)


@dataclass(frozen=True, eq=False)
class SharedAttribute:
    """An attribute in two releases: `hierarchies` and finest published `levels` of the earlier and the later one.

    pairs: codes at these levels that a row can have, with rows in both: shape (2, pairs).
    rows: whether the values at these levels have rows.
    """

    hierarchies: tuple[Hierarchy, Hierarchy]
    levels: tuple[int, int]
    pairs: IndexArray
    rows: tuple[BoolArray, BoolArray]

    @classmethod
    def of(cls, name: str, releases: tuple[Collection, Collection], overlaps: Overlaps) -> "SharedAttribute":
        """An attribute that at least one of two releases has."""
        has = [name in release.domain.attributes for release in releases]
        own = [release.domain.hierarchy(name) if h else _NOWHERE for h, release in zip(has, releases)]
        finest = [release.finest_level(name) if h else 0 for h, release in zip(has, releases)]
        rows = []
        for release, hierarchy, level in zip(releases, own, finest):
            counted = np.ones(hierarchy.size(level), dtype=np.bool_)
            if level < hierarchy.height:
                counted[:] = False
                counted[release.cube.table(release.domain.mask({name: level})).codes[0]] = True
            rows.append(counted)
        if name in overlaps:
            pairs = overlaps[name]
        else:
            size = max(hierarchy.size(0) for hierarchy in own)
            pairs = np.array([np.arange(size) if h else np.zeros(size, dtype=np.intp) for h in has])
        lifted = np.array([h.lift(0, level)[codes] for h, level, codes in zip(own, finest, pairs)], dtype=np.intp)
        both = np.logical_and(*(counted[codes] for counted, codes in zip(rows, lifted)))
        return cls((own[0], own[1]), (finest[0], finest[1]), np.unique(lifted[:, both], axis=1), (rows[0], rows[1]))

    def is_all(self, release: int, level: int) -> bool:
        """Whether a level of a release tells nothing, since all its values are one."""
        return self.hierarchies[release].labels[level] == (SUPPRESSED,)

    @cached_property
    def _known(self) -> dict[tuple[int, int], CommonValues]:
        return {}

    def common(self, earlier: int, later: int) -> CommonValues:
        """The common values of a level of each release; remembered."""
        if (earlier, later) not in self._known:
            self._known[earlier, later] = self._joined((earlier, later))
        return self._known[earlier, later]

    def _joined(self, levels: tuple[int, int]) -> CommonValues:
        """Values that overlap, directly or through others, are one."""
        from scipy.sparse import coo_array  # slow to import, and few commands need it
        from scipy.sparse.csgraph import connected_components

        lifts = [h.lift(f, level) for h, f, level in zip(self.hierarchies, self.levels, levels)]
        sizes = [h.size(level) for h, level in zip(self.hierarchies, levels)]
        one, other = (lift.astype(np.intp)[codes] for lift, codes in zip(lifts, self.pairs))
        nodes = sum(sizes)
        edges = coo_array((np.ones(len(one), dtype=np.int8), (one, other + sizes[0])), shape=(nodes, nodes))
        count, number = connected_components(edges, directed=False)
        parts = np.zeros((2, count), dtype=np.intp)
        numbers = (number[: sizes[0]].astype(np.intp), number[sizes[0] :].astype(np.intp))
        for own, members, lift, rows in zip(parts, numbers, lifts, self.rows):
            own += np.bincount(members[np.unique(lift[rows])], minlength=count)
        labels = [h.labels[level] for h, level in zip(self.hierarchies, levels)]
        return CommonValues(*numbers, (labels[0], labels[1]), parts)

    def partition(self, earlier: int, later: int) -> npt.NDArray[np.intp]:
        """The common value of each value with rows at the finest levels, those of the earlier release first."""
        common = self.common(earlier, later)
        parts = zip(self.hierarchies, self.levels, (earlier, later), self.rows, (common.earlier, common.later))
        return np.concatenate([own[h.lift(finest, level)[rows]] for h, finest, level, rows, own in parts])
