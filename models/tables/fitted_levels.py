"""Partitions of the values of an attribute that grow coarser step by step, until their groups have enough rows.

For thresholds t_1 < t_2 < ... the smallest group with rows is merged with its nearest one as long as it has fewer than
t_i rows. The result is the partition at t_i. A group of several values with hardly more than t_1 rows is merged, too,
because each of its values has fewer (`SEVERAL`, `WITH_APART`). A value without rows needs no merging. It joins groups
that are merged around it, so that gaps in a label do not tell which values have rows. Ties are broken by the order of
the values, never by that of rows. Each partition nests in the next one.

In every group that was merged for t_i, some value has fewer than t_i rows. That value, or its earlier group, was the
smallest (by induction: a group merged for a lower threshold holds a value that is rarer still).
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.arrays import CountArray
from models.frozen import frozen

Partition = NDArray[np.intp]
"""Number of the group of each value: shape (values,), numbered from 0 by the first value of each group."""

FREQUENT = 5
"""Largest size of a group that a similar group may join, as a multiple of the size that groups must reach.

A name tells all values of its group or none, and a rare value is never named by itself."""

SEVERAL, WITH_APART = 1, 4
"""Least rows beyond the first size of a group of several values, and of a group of some values and missing ones.

Of m values that occur with n rows together none has more than n - m + 1. A group of two values could always be named,
and so could missing values beside three others. With more, none is named, so that missing values are among at least
five."""


def partitions_in_order(counts: CountArray, sizes: Sequence[int], apart: int | None = None) -> Iterator[Partition]:
    """Return a partition of ordered values for each size: a group is merged with its smaller neighbour, ties with the
    lower.

    Parameters
    ----------
    counts
        Rows of each value, in the order of the values.
    sizes
        Ascending thresholds in rows.
    apart
        Value without a place in the order, such as `missing`; if it is too small, it is merged with the smallest group.

    Returns
    -------
    Iterator of Partition
        The groups for each size.

    >>> ages = np.array([5, 0, 3, 40, 9, 2])
    >>> [partition.tolist() for partition in partitions_in_order(ages, [4, 9, 30])]
    [[0, 0, 0, 1, 2, 2], [0, 0, 0, 0, 1, 1], [0, 0, 0, 0, 0, 0]]
    """
    return _InOrder(counts, apart).partitions(sizes)


def partitions_in_tree(
    counts: CountArray,
    paths: NDArray[np.integer[Any]],
    sizes: Sequence[int],
    profiles: NDArray[np.number[Any]] | None = None,
    apart: int | None = None,
) -> Iterator[Partition]:
    """Return a partition of values in a tree for each size: a group is merged with one under the deepest common node.

    Parameters
    ----------
    counts
        Rows of each value.
    paths
        The node of each value from its own up to the root, shape (levels, values).
    sizes
        Ascending thresholds in rows.
    profiles
        Tables of each value with other attributes, side by side, shape (values, columns). If given, the group chosen
        is the most similar one, with which these tables lose least in total variation. Groups of more than `FREQUENT`
        times the size are not chosen. By default the smallest group is chosen.
    apart
        The value of rows without one.

    Returns
    -------
    Iterator of Partition
        The groups for each size.

    >>> cities = np.array([[0, 1, 2, 3], [0, 0, 1, 1], [0, 0, 0, 0]])
    >>> [partition.tolist() for partition in partitions_in_tree(np.array([9, 2, 7, 7]), cities, [5, 8])]
    [[0, 0, 1, 2], [0, 0, 1, 1]]
    >>> none, sick = np.zeros((2, 4), dtype=int), np.array([[9, 0], [0, 2], [7, 0], [0, 7]])
    >>> [partition.tolist() for partition in partitions_in_tree(np.array([9, 2, 7, 7]), none, [5, 8], sick)]
    [[0, 1, 2, 1], [0, 1, 0, 1]]
    """
    return _InTree(counts, paths, profiles, apart).partitions(sizes)


class _Groups:
    """Groups of values with rows, each called by the number of its first value.

    owner: for each value another one of its group, itself for the first; values without rows are in none at the
    beginning. outside: a value that has no place among the others. It joins the smallest group if one of the two is
    too small.
    """

    def __init__(self, counts: CountArray, outside: int | None, missing: int | None) -> None:
        self.names = [name for name in np.flatnonzero(counts).tolist() if name != outside]
        self.rows = {name: int(counts[name]) for name in self.names}
        self.owner: Partition = np.arange(len(counts))
        self._value_counts = dict.fromkeys(self.names, 1)
        self._empty = np.flatnonzero((counts == 0) & (self.owner != (-1 if outside is None else outside)))
        self._outside = outside if outside is not None and counts[outside] else None
        self._rows_outside = 0 if outside is None else int(counts[outside])
        self._missing = missing if missing is not None and counts[missing] else None
        self._smallest = sorted((rows, name) for name, rows in self.rows.items())  # a heap, since it ascends
        self.size = 0

    def nearest(self, name: int) -> int:
        raise NotImplementedError

    def absorb(self, name: int, gone: int) -> None:
        raise NotImplementedError

    def homes(self, empty: Partition, merged: set[int]) -> Partition:
        """Return the merged group that each value without rows belongs to, -1 for none."""
        raise NotImplementedError

    def partitions(self, sizes: Sequence[int]) -> Iterator[Partition]:
        for size in sizes:
            self.size = size
            # The value outside joins first, because joining last would tell how small it is.
            if self._rows_outside < size:
                self._take_in(size)
            while len(self.rows) > 1 and self._smallest[0][0] < size:
                rows, name = heappop(self._smallest)
                if self.rows.get(name) == rows:
                    self._merge(name)
            self._take_in(size)
            if sizes[0] > 1:
                self._merge_scarce(sizes[0])
            homes = self.homes(self._empty, {name for name, values in self._value_counts.items() if values > 1})
            self.owner[self._empty[homes >= 0]], self._empty = homes[homes >= 0], self._empty[homes < 0]
            while not np.array_equal(further := self.owner[self.owner], self.owner):
                self.owner = further
            _, first, group = np.unique(self.owner, return_index=True, return_inverse=True)
            yield np.argsort(np.argsort(first))[group]  # numbered by their first values

    def _merge_scarce(self, size: int) -> None:
        """Merge groups of several values that have little more rows than `size`; the last one takes the value outside."""
        waiting = sorted(name for name, rows in self.rows.items() if rows < size + WITH_APART)
        while waiting:
            name = heappop(waiting)
            if name not in self.rows or self.rows[name] >= size + self._spare(name):
                continue
            if len(self.rows) == 1:
                self._take_in(size + SEVERAL)
                return
            heappush(waiting, self._merge(name))

    def _spare(self, name: int) -> int:
        if self._missing is not None and name != self._missing:
            while self.owner[home := self.owner[self._missing]] != home:
                self.owner[self._missing] = self.owner[home]
            if home == name:
                return WITH_APART
        if self._value_counts[name] == 1:
            return 0
        return WITH_APART if name == self._missing else SEVERAL

    def _take_in(self, size: int) -> None:
        if self._outside is not None and self.rows:
            least = min(self.rows, key=lambda name: (self.rows[name], name))
            if min(self.rows[least], self._rows_outside) < size:
                self._put(least, self._outside, self._rows_outside)
                self._outside = None

    def _merge(self, one: int) -> int:
        other = self.nearest(one)
        name, gone = min(one, other), max(one, other)
        self.absorb(name, gone)
        self._value_counts[name] += self._value_counts.pop(gone)
        self._put(name, gone, self.rows.pop(gone))
        return name

    def _put(self, name: int, gone: int, rows: int) -> None:
        self.owner[gone] = name
        self.rows[name] += rows
        heappush(self._smallest, (self.rows[name], name))


class _InOrder(_Groups):
    """Groups of values in an order: stretches, whose neighbours are near."""

    def __init__(self, counts: CountArray, apart: int | None) -> None:
        super().__init__(counts, outside=apart, missing=apart)
        self._places = {name: place for place, name in enumerate(self.names)}
        self._last = {name: name for name in self.names}
        self._groups = list(self.names)  # right at the first and the last value of each group

    def nearest(self, name: int) -> int:
        neighbours = self._places[name] - 1, self._places[self._last[name]] + 1
        return min((self._groups[at] for at in neighbours if 0 <= at < len(self._groups)), key=self.rows.__getitem__)

    def absorb(self, name: int, gone: int) -> None:
        self._last[name] = self._last.pop(gone)
        self._groups[self._places[self._last[name]]] = name

    def homes(self, empty: Partition, merged: set[int]) -> Partition:
        """Return the merged group around each value, of two that with fewer rows: ends then tell little of rare values."""
        names = sorted(self.rows)
        rows = np.array([np.inf, *(self.rows[name] if name in merged else np.inf for name in names), np.inf])
        last = np.array([-1, *(self._last[name] for name in names)])
        below = np.searchsorted(names, empty)  # the group below each value, from 1
        is_below = (empty < last[below]) | (rows[below] < rows[below + 1])
        chosen = np.where(is_below, below, below + 1)
        return np.where(np.isfinite(rows[chosen]), np.array([-1, *names, -1])[chosen], -1)


class _InTree(_Groups):
    """Groups of values in a tree: near is the smallest or the most similar group under the deepest common node."""

    def __init__(
        self,
        counts: CountArray,
        paths: NDArray[np.integer[Any]],
        profiles: NDArray[np.number[Any]] | None,
        apart: int | None,
    ) -> None:
        super().__init__(counts, outside=None, missing=apart)
        # The node of each level above all values of a group, -1 if there are several or the group is gone.
        self._paths = np.where(counts > 0, paths, -1)
        self._own_paths = paths
        self._profiles = None if profiles is None else profiles.astype(np.float64)
        self._under: defaultdict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
        """Heaps of the groups under each node with their rows; a group that has grown since, or is gone, stays."""
        for rows, name in self._smallest:
            for node in enumerate(paths[:, name].tolist()):
                self._under[node].append((rows, name))

    def nearest(self, name: int) -> int:
        find = self._smallest_under if self._profiles is None else self._most_similar_under
        nodes = ((level, node) for level, node in enumerate(self._paths[:, name].tolist()) if node >= 0)
        neighbours = (find(level, node, name) for level, node in nodes)
        return next(other for other in neighbours if other is not None)  # all values lie under the root

    def _smallest_under(self, level: int, node: int, name: int) -> int | None:
        under = self._under[level, node]
        while under:
            rows, other = under[0]
            if other != name and self.rows.get(other) == rows and self._paths[level, other] == node:
                return other
            heappop(under)  # `name` itself is merged next
        return None

    def _most_similar_under(self, level: int, node: int, name: int) -> int | None:
        assert self._profiles is not None
        others = np.flatnonzero(self._paths[level] == node)
        others = others[others != name]
        sizes, rows = np.array([self.rows[other] for other in others.tolist()]), self.rows[name]
        difference = np.abs(self._profiles[name] * sizes[:, None] - self._profiles[others] * rows)
        lost = np.round(difference.sum(axis=1) / (rows + sizes), 9)
        lost[sizes > FREQUENT * self.size] = np.inf
        return int(others[np.lexsort((others, sizes, lost))[0]]) if len(others) else None

    def absorb(self, name: int, gone: int) -> None:
        if self._profiles is not None:
            self._profiles[name] += self._profiles[gone]
        self._paths[self._paths[:, name] != self._paths[:, gone], name] = -1
        self._paths[:, gone] = -1
        for node in enumerate(self._paths[:, name].tolist()):
            heappush(self._under[node], (self.rows[name] + self.rows[gone], name))

    def homes(self, empty: Partition, merged: set[int]) -> Partition:
        """Return the nearest group with which each value shares a node below the root; of several the smallest."""
        below_root = range(1, max(len(self._paths) - 1, 2))
        smallest: dict[tuple[int, int], int] = {}
        for name in sorted(merged, key=lambda name: (self.rows[name], name)):
            for level in below_root:
                smallest.setdefault((level, int(self._paths[level, name])), name)
        paths = self._own_paths[:, empty].T.tolist()
        shared = ([smallest[at] for level in below_root if (at := (level, path[level])) in smallest] for path in paths)
        return np.array([(groups or [-1])[0] for groups in shared], dtype=np.intp)


def thresholds(k: int, rows: int) -> tuple[int, ...]:
    """Return ascending sizes in rows that groups must reach, from k to `rows`, each about 1.5 times the one before."""
    sizes = []
    size = max(k, 1)
    while size <= rows:
        sizes.append(size)
        size = -(-size * 3 // 2)
    return tuple(sizes)


@frozen
class FittedLadder:
    """Record of how levels of an attribute were fitted: the level whose values were merged, and the first threshold.

    is_by_counts: whether only the counts of its values decided.
    """

    start: int
    k: int
    is_by_counts: bool = True
