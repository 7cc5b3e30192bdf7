"""Ladders: hierarchies whose levels are fitted to how often each value of a table occurs."""

from collections.abc import Iterator, Sequence

import numpy as np

from marginals.tables.ladders.group_names import GroupNames
from marginals.tables.ladders.scale import Scale
from models.arrays import CountArray
from models.ladders.merging import Partition, partitions_in_order, partitions_in_tree
from models.ladders.thresholds import thresholds
from models.tables.hierarchy import SUPPRESSED, Hierarchy


def fitted_ladder(names: GroupNames, counts: CountArray, profiles: CountArray | None = None) -> Hierarchy:
    """The base values of a hierarchy, and levels above them whose smallest groups have more and more rows.

    names: of the groups; their hierarchy, the level to start from, and k. counts: rows of each value of that level, by which
    values are merged. profiles: tables of these values with other attributes, side by side, shape (values, columns); with
    them values without an order are merged with those most alike. A level is noted for each of the sizes of `thresholds`
    that gives a new one, and all of them nest.
    What a ladder tells of the table: every group that is merged at a size holds a value with fewer rows.

    >>> jobs = Hierarchy.flat(["clerk", "cook", "smith", "tailor"])
    >>> counts = np.array([30, 12, 3, 2])
    >>> fitted_ladder(GroupNames(jobs, 0, counts, 4), counts).labels
    (('clerk', 'cook', 'smith', 'tailor'), ('clerk', 'cook', 'other'), ('clerk', 'cook and others'), ('*',))
    """
    hierarchy, lifted = names.hierarchy, names.hierarchy.lift(0, names.start)
    labels, parents = [hierarchy.labels[0]], []
    below = np.arange(hierarchy.size(0))
    for partition in _levels(names, counts, profiles):
        groups = np.split(np.argsort(partition, kind="stable"), np.cumsum(np.bincount(partition))[:-1])
        own = partition[lifted]
        parent = np.empty(len(labels[-1]), dtype=np.intp)
        parent[below] = own
        labels.append(tuple(map(names.name, groups)))
        parents.append(tuple(parent.tolist()))
        below = own
    return Hierarchy((*labels, (SUPPRESSED,)), (*parents, (0,) * len(labels[-1])))


def _levels(names: GroupNames, counts: CountArray, profiles: CountArray | None) -> Iterator[Partition]:
    """The partitions of the values of the level to start from that become levels, from the finest to the last below `*`."""
    sizes = thresholds(names.k, int(counts.sum()))
    if names.scale is None:
        hierarchy = names.hierarchy
        paths = np.array([hierarchy.lift(names.start, level) for level in range(names.start, hierarchy.height + 1)])
        partitions = partitions_in_tree(counts, paths.astype(np.intp), sizes, profiles)
    else:
        partitions = _on_scale(names.scale, counts, sizes, names.missing)
    last = np.arange(len(counts))
    if names.start:
        yield last
    for partition in partitions:
        if len(np.unique(partition[counts > 0])) < 2:
            return
        if partition.max() < last.max():
            yield partition
            last = partition


def _on_scale(scale: Scale, counts: CountArray, sizes: Sequence[int], missing: int | None) -> Iterator[Partition]:
    """The partitions of values in their order, a value for missing ones behind them."""
    order = np.append(scale.order, [] if missing is None else [missing]).astype(np.intp)
    apart = None if missing is None else len(order) - 1
    for partition in partitions_in_order(counts[order], sizes, apart):
        placed = np.empty_like(partition)
        placed[order] = partition
        yield placed
