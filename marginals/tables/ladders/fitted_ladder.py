"""Ladders: hierarchies whose levels are fitted to how often each value of a table occurs."""

from collections.abc import Iterator, Sequence

import numpy as np

from marginals.tables.ladders.group_names import GroupNames
from models.arrays import BoolArray, CountArray, IndexArray
from models.ladders.merging import Partition, partitions_in_order, partitions_in_tree
from models.ladders.thresholds import thresholds
from models.tables.hierarchy import SUPPRESSED, Hierarchy


def fitted_ladder(
    names: GroupNames, counts: CountArray, profiles: CountArray | None = None, inside: BoolArray | None = None
) -> Hierarchy:
    """The base values of a hierarchy, and levels above them whose smallest groups have more and more rows.

    names: of the groups; their hierarchy, the level to start from, and k. counts: rows of each value of that level, by which
    values are merged. profiles: tables of these values with other attributes, side by side, shape (values, columns); with
    them values without an order are merged with those most alike. A level is noted for each of the sizes of `thresholds`
    that gives a new one, and all of them nest.
    inside: which of these values are those of a part that every level tells from the rest, so that none of the one is merged
    with one of the other.
    What a ladder tells of the table: every group that is merged at a size holds a value with fewer rows.

    >>> jobs = Hierarchy.flat(["clerk", "cook", "smith", "tailor"])
    >>> counts = np.array([30, 12, 3, 2])
    >>> fitted_ladder(GroupNames(jobs, 0, counts, 4), counts).labels
    (('clerk', 'cook', 'smith', 'tailor'), ('clerk', 'cook', 'other'), ('clerk', 'cook and others'), ('*',))
    """
    hierarchy, lifted = names.hierarchy, names.hierarchy.lift(0, names.start)
    labels, parents = [hierarchy.labels[0]], []
    below = np.arange(hierarchy.size(0))
    for partition in _levels(names, counts, profiles, inside):
        groups = np.split(np.argsort(partition, kind="stable"), np.cumsum(np.bincount(partition))[:-1])
        own = partition[lifted]
        parent = np.empty(len(labels[-1]), dtype=np.intp)
        parent[below] = own
        labels.append(tuple(map(names.name, groups)))
        parents.append(tuple(parent.tolist()))
        below = own
    return Hierarchy((*labels, (SUPPRESSED,)), (*parents, (0,) * len(labels[-1])))


def _levels(
    names: GroupNames, counts: CountArray, profiles: CountArray | None, inside: BoolArray | None
) -> Iterator[Partition]:
    """The partitions of the values of the level to start from that become levels, from the finest to the last below `*`."""
    sizes = thresholds(names.k, int(counts.sum()))
    last = np.arange(len(counts))
    if names.start:
        yield last
    sides = [last] if inside is None else _sides(names, inside)
    for partition in _side_by_side([_of_side(names, counts, profiles, sizes, side) for side in sides], sides):
        if len(np.unique(partition[counts > 0])) < 2:
            return
        if partition.max() < last.max():
            yield partition
            last = partition


def _sides(names: GroupNames, inside: BoolArray) -> list[IndexArray]:
    """The values of a part and those of the rest; on a scale each stretch of either. A missing one is with its own kind."""
    if names.scale is None:
        sides = [np.flatnonzero(inside == kind) for kind in (True, False)]
    else:
        order = np.asarray(names.scale.order, dtype=np.intp)
        sides = np.split(order, np.flatnonzero(np.diff(inside[order])) + 1)
        if names.missing is not None:
            alike = [
                number for number, side in enumerate(sides) if len(side) and inside[side[0]] == inside[names.missing]
            ]
            if alike:
                sides[alike[-1]] = np.append(sides[alike[-1]], names.missing)
            else:
                sides.append(np.array([names.missing], dtype=np.intp))
    return [np.sort(side) for side in sides if len(side)]


def _side_by_side(of_sides: Sequence[Iterator[Partition]], sides: Sequence[IndexArray]) -> Iterator[Partition]:
    """The partitions of all values at each size, those of each side merged by themselves."""
    for parts in zip(*of_sides):
        whole = np.empty(sum(map(len, sides)), dtype=np.intp)
        groups = 0
        for side, part in zip(sides, parts):
            whole[side] = part + groups
            groups += int(part.max()) + 1
        yield whole


def _of_side(
    names: GroupNames,
    counts: CountArray,
    profiles: CountArray | None,
    sizes: Sequence[int],
    side: IndexArray,
) -> Iterator[Partition]:
    """The partitions of some of the values, which are sorted, numbered from 0."""
    if names.scale is None:
        hierarchy = names.hierarchy
        paths = np.array([hierarchy.lift(names.start, level) for level in range(names.start, hierarchy.height + 1)])
        own_profiles = None if profiles is None else profiles[side]
        yield from partitions_in_tree(counts[side], paths[:, side].astype(np.intp), sizes, own_profiles)
        return
    own = [value for value in names.scale.order if value in set(side.tolist())]
    missing = [value for value in side.tolist() if value == names.missing]
    order = np.searchsorted(side, [*own, *missing]).astype(np.intp)
    apart = len(own) if missing and own else None
    for partition in partitions_in_order(counts[side][order], sizes, apart):
        placed = np.empty_like(partition)
        placed[order] = partition
        yield placed
