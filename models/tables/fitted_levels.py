"""Partitions of the values of an attribute that grow coarser step by step, until their groups have rows enough.

For thresholds t_1 < t_2 < ...: as long as the smallest group that has rows has fewer than t_i, it is merged with its
nearest; what stands then is the partition at t_i. So is a group of several values that has hardly more than t_1 rows, since
each of them then has fewer (`SEVERAL`, `WITH_APART`). A value without rows needs no merging. It goes along with groups
that are merged around it, so that a label does not tell by what it lacks which values have rows; it blurs no value that is
large enough by itself. Equal sizes are told apart by the order of the values, never by that of rows. Each partition nests in
the next one.

Of every group that was merged for t_i, some value has fewer than t_i rows: it, or the group that it was part of, was the
smallest (by induction: what was merged for a lower threshold holds a value that is rarer still).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.arrays import CountArray

Partition = NDArray[np.intp]
"""The number of the group of each value: shape (values,), numbered from 0 by the first value of each group."""

SEVERAL, WITH_APART = 1, 4
"""Rows that a group of several values has beyond the first size at least, and one of some and those without a value.

Of m values that occur with n rows together none has more than n - m + 1. Two could always be named, and so could missing
values beside three others; of more none is named, so that missing ones are known to be among five at least.
"""


def partitions_in_order(counts: CountArray, sizes: Sequence[int], apart: int | None = None) -> Iterator[Partition]:
    """One partition for each size, of values that stand in an order: merged with the smaller neighbour, the lower of two.

    counts: rows of each value, in the order of the values. sizes: ascending thresholds in rows. apart: a value that has no
    place in the order, such as `missing`; where it is too small it is merged with the smallest group.

    >>> ages = np.array([5, 0, 3, 40, 9, 2])
    >>> [partition.tolist() for partition in partitions_in_order(ages, [4, 9, 30])]
    [[0, 0, 0, 1, 2, 2], [0, 0, 0, 0, 1, 1], [0, 0, 0, 0, 0, 0]]
    """
    groups = _Neighbours(counts, apart)
    for size in sizes:
        groups.merge_below(size)
        if sizes[0] > 1:
            groups.merge_scarce(sizes[0])
        groups.take_along()
        yield _numbered(groups.owners())


def partitions_in_tree(
    counts: CountArray,
    paths: NDArray[np.integer[Any]],
    sizes: Sequence[int],
    profiles: NDArray[np.number[Any]] | None = None,
    apart: int | None = None,
) -> Iterator[Partition]:
    """One partition for each size, of values in a tree: merged with the group of the deepest common node, the smallest such.

    counts: rows of each value. paths: shape (levels, values), the node of each value from its own up to the root. sizes:
    ascending thresholds in rows. profiles: tables of each value with other attributes, side by side, shape (values,
    columns); with them, of the groups of the deepest common node that is taken which is most alike: with which merged
    these tables lose least in total variation. apart: a value of rows without one.

    >>> cities = np.array([[0, 1, 2, 3], [0, 0, 1, 1], [0, 0, 0, 0]])
    >>> [partition.tolist() for partition in partitions_in_tree(np.array([9, 2, 7, 7]), cities, [5, 8])]
    [[0, 0, 1, 2], [0, 0, 1, 1]]
    >>> none, sick = np.zeros((2, 4), dtype=int), np.array([[9, 0], [0, 2], [7, 0], [0, 7]])
    >>> [partition.tolist() for partition in partitions_in_tree(np.array([9, 2, 7, 7]), none, [5, 8], sick)]
    [[0, 1, 2, 1], [0, 1, 0, 1]]
    """
    groups = _Relatives(counts, paths, profiles, apart)
    for size in sizes:
        groups.merge_below(size)
        if sizes[0] > 1:
            groups.merge_scarce(sizes[0])
        groups.take_along()
        yield _numbered(groups.owners())


def _numbered(owners: Partition) -> Partition:
    """The same groups, numbered from 0 by their first values."""
    _, first, group = np.unique(owners, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[group]


class _Neighbours:
    """Groups of values in an order: stretches, each called by the number of its first value that has rows."""

    def __init__(self, counts: CountArray, apart: int | None) -> None:
        self._values = len(counts)
        self._order = np.delete(np.arange(self._values), [] if apart is None else [apart])
        places = np.flatnonzero(counts[self._order]).tolist()
        names = self._order[places].tolist()
        self._stretch = {name: (place, place) for name, place in zip(names, places)}
        self._before = dict(zip(names[1:], names))
        self._after = dict(zip(names, names[1:]))
        self._rows = {name: int(counts[name]) for name in names}
        self._apart = apart if apart is not None and counts[apart] else None
        self._with_apart: int | None = None
        self._merged: set[int] = set()
        self._rows_apart = 0 if apart is None else int(counts[apart])
        self._smallest = [(rows, name) for name, rows in self._rows.items()]
        heapify(self._smallest)

    def merge_below(self, size: int) -> None:
        """Merge the smallest group with its nearest as long as it has fewer rows.

        What stands apart and is too small joins the smallest group first. So how small it is follows from no merging: if it
        joined last, every group would be known to be large enough without it.
        """
        self._take_in_apart(size if self._rows_apart < size else 0)
        while len(self._rows) > 1 and self._smallest[0][0] < size:
            rows, name = heappop(self._smallest)
            if self._rows.get(name) == rows:
                self._merge(name)
        self._take_in_apart(size)

    def _take_in_apart(self, size: int) -> None:
        """Let what stands apart join the smallest group, where one of the two has fewer rows."""
        if self._apart is not None and self._with_apart is None and self._rows:
            least = min(self._rows, key=lambda name: (self._rows[name], name))
            if min(self._rows[least], self._rows_apart) < size:
                self._with_apart = least
                self._grow(least, self._rows_apart)

    def merge_scarce(self, size: int) -> None:
        """Merge groups of several values that have little more rows than that once more, the last with what stands apart."""
        while scarce := [name for name, rows in self._rows.items() if rows < size + self._spare(name)]:
            if len(self._rows) == 1:
                self._take_in_apart(size + SEVERAL)
                return
            self._merge(min(scarce))

    def _spare(self, name: int) -> int:
        return WITH_APART if name == self._with_apart else SEVERAL if name in self._merged else 0

    def take_along(self) -> None:
        """Put values without rows between two groups into the merged one of them, of two into that of fewer rows.

        So where a group begins or ends tells least of its rarest values, which are mostly far from the others.
        """
        names = sorted(self._stretch, key=self._stretch.__getitem__)
        for low, high in pairwise(names):
            (first, last), (follows, end) = self._stretch[low], self._stretch[high]
            merged = [name for name in (high, low) if name in self._merged]
            if merged and follows > last + 1:
                taker = min(merged, key=self._rows.__getitem__)
                self._stretch[taker] = (last + 1, end) if taker == high else (first, follows - 1)
        if names[:1] and names[0] in self._merged:
            self._stretch[names[0]] = 0, self._stretch[names[0]][1]
        if names[-1:] and names[-1] in self._merged:
            self._stretch[names[-1]] = self._stretch[names[-1]][0], len(self._order) - 1

    def owners(self) -> Partition:
        """The name of the group of each value, that of the value itself where it is in none: shape (values,)."""
        owner = np.arange(self._values)
        for name, (first, last) in self._stretch.items():
            owner[self._order[first : last + 1]] = name
        if self._apart is not None and self._with_apart is not None:
            owner[self._apart] = self._with_apart
        return owner

    def _merge(self, name: int) -> None:
        low, high = self._before.get(name), self._after.get(name)
        if low is not None and (high is None or self._rows[low] <= self._rows[high]):
            self._join(low, name)
        elif high is not None:
            self._join(name, high)

    def _join(self, low: int, high: int) -> None:
        """Make two neighbours one, with all values between them."""
        follower = self._after.pop(high, None)
        if follower is None:
            del self._after[low]
        else:
            self._after[low], self._before[follower] = follower, low
        del self._before[high]
        self._stretch[low] = self._stretch[low][0], self._stretch.pop(high)[1]
        self._merged.discard(high)
        self._merged.add(low)
        if self._with_apart == high:
            self._with_apart = low
        self._grow(low, self._rows.pop(high))

    def _grow(self, name: int, rows: int) -> None:
        self._rows[name] += rows
        heappush(self._smallest, (self._rows[name], name))


class _Relatives:
    """Groups of values in a tree, each called by the number of its first value that has rows."""

    def __init__(
        self,
        counts: CountArray,
        paths: NDArray[np.integer[Any]],
        profiles: NDArray[np.number[Any]] | None,
        apart: int | None,
    ) -> None:
        self._apart = apart if apart is not None and counts[apart] else None
        self._empty = np.flatnonzero(counts == 0).tolist()
        self._owner = np.arange(len(counts))
        names = np.flatnonzero(counts).tolist()
        self._rows = {name: int(counts[name]) for name in names}
        self._members = {name: [name] for name in names}
        # Of each level the node that all of a group lie under, -1 where they lie under several.
        self._paths = paths.T.copy()
        self._profiles = None if profiles is None else profiles.astype(np.float64)
        self._smallest = [(rows, name) for name, rows in self._rows.items()]
        self._under: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for rows, name in self._smallest:
            self._put_under(rows, name)
        for heap in (self._smallest, *self._under.values()):
            heapify(heap)

    def merge_below(self, size: int) -> None:
        """Merge the smallest group with its nearest as long as it has fewer rows."""
        while len(self._rows) > 1 and self._smallest[0][0] < size:
            rows, name = heappop(self._smallest)
            if self._rows.get(name) == rows:
                self._merge(name, self._nearest(name))

    def merge_scarce(self, size: int) -> None:
        """Merge groups of several values that have little more rows than that once more."""
        while len(self._rows) > 1:
            scarce = [name for name, rows in self._rows.items() if rows < size + self._spare(name)]
            if not scarce:
                return
            self._merge(min(scarce), self._nearest(min(scarce)))

    def _spare(self, name: int) -> int:
        members = self._members[name]
        return 0 if len(members) == 1 else WITH_APART if self._apart in members else SEVERAL

    def take_along(self) -> None:
        """Put each value without rows into the nearest of the merged groups that it has a node below the root with."""
        merged = [name for name, members in self._members.items() if len(members) > 1]
        top = max(self._paths.shape[1] - 1, 2)
        smallest: dict[tuple[int, int], tuple[int, int]] = {}
        for name in merged:
            for node in enumerate(self._paths[name, 1:top].tolist(), 1):
                smallest[node] = min(smallest.get(node, (self._rows[name], name)), (self._rows[name], name))
        for value in self._empty:
            nodes = enumerate(self._paths[value, 1:top].tolist(), 1)
            nearest = next((smallest[node] for node in nodes if node in smallest), None)
            if nearest is not None:
                self._owner[value] = nearest[1]
                self._members[nearest[1]].append(value)
        self._empty = [value for value in self._empty if self._owner[value] == value]

    def owners(self) -> Partition:
        """The name of the group of each value, that of the value itself where it is in none: shape (values,)."""
        return self._owner

    def _nearest(self, name: int) -> int:
        for node in enumerate(self._paths[name].tolist()):
            heap = self._under.get(node, [])
            if self._profiles is not None:
                if (alike := self._most_alike(name, node)) is not None:
                    return alike
                continue
            entries = []
            while heap:
                rows, other = heap[0]
                if self._rows.get(other) != rows or self._paths[other, node[0]] != node[1]:
                    heappop(heap)
                elif other == name:
                    entries.append(heappop(heap))
                else:
                    break
            result = heap[0][1] if heap else None
            for entry in entries:
                heappush(heap, entry)
            if result is not None:
                return result
        raise AssertionError("all values lie under the root")

    def _most_alike(self, name: int, node: tuple[int, int]) -> int | None:
        """Of the other groups under a node that with which a group loses least when they are merged; None without any."""
        assert self._profiles is not None
        heap = self._under.get(node, [])
        level, at = node
        under = sorted({o for rows, o in heap if self._rows.get(o) == rows and self._paths[o, level] == at} - {name})
        if not under:
            return None
        profile, others = self._profiles[name], self._profiles[under]
        rows, their_rows = self._rows[name], np.array([self._rows[other] for other in under])
        lost = np.abs(profile * their_rows[:, None] - others * rows).sum(axis=1) / (rows + their_rows)
        return min(zip(np.round(lost, 9).tolist(), their_rows.tolist(), under))[2]

    def _merge(self, one: int, other: int) -> None:
        name, gone = min(one, other), max(one, other)
        if self._profiles is not None:
            self._profiles[name] += self._profiles[gone]
        members = self._members.pop(gone)
        self._owner[members] = name
        self._members[name] += members
        self._rows[name] += self._rows.pop(gone)
        differ = self._paths[name] != self._paths[gone]
        self._paths[name, differ] = -1
        heappush(self._smallest, (self._rows[name], name))
        self._put_under(self._rows[name], name)

    def _put_under(self, rows: int, name: int) -> None:
        for level, node in enumerate(self._paths[name].tolist()):
            if node >= 0:
                heappush(self._under.setdefault((level, node), []), (rows, name))


FACTOR = Fraction(3, 2)
"""Each threshold is about so many times the one before; with 45,000 rows and k = 10 that gives some twenty levels."""


def thresholds(k: int, rows: int) -> tuple[int, ...]:
    """Ascending sizes in rows that groups must reach, from k on, at most that of all rows together.

    >>> thresholds(10, 100)
    (10, 15, 23, 35, 53, 80)
    >>> thresholds(1, 8)
    (1, 2, 3, 5, 8)
    """
    sizes = []
    size = max(k, 1)
    while size <= rows:
        sizes.append(size)
        size = -(-size * FACTOR.numerator // FACTOR.denominator)
    return tuple(sizes)


@dataclass(frozen=True)
class FittedLadder:
    """How levels of an attribute were fitted to the rows of a table.

    start: the level whose values were merged. k: the first of the thresholds.
    """

    start: int
    k: int
