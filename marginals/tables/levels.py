"""Levels that are fitted to how often each value of a table occurs."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from marginals.errors import InputError
from marginals.tables.attribute import MISSING
from marginals.tables.group_names import GroupNaming, lifted_counts
from marginals.tables.table import is_told, values_at
from models.arrays import BoolArray, CodeArray, CountArray, IndexArray
from models.tables.contingency_table import bins, pack
from models.tables.fitted_levels import Partition, partitions_in_order, partitions_in_tree, thresholds
from models.tables.hierarchy import SUPPRESSED, Hierarchy


def attribute_ladder(
    naming: GroupNaming,
    base_counts: CountArray,
    k: int,
    profiles: CountArray | None = None,
    inside: BoolArray | None = None,
) -> Hierarchy:
    """Return the ladder of `unnamed_ladder` with the names of its groups, where rows of each base value decide both."""
    ladder, finest = unnamed_ladder(naming, base_counts, k, profiles, inside), naming.start + 1
    return ladder if finest >= ladder.height else naming.named(ladder, finest, base_counts, k).hierarchy


def unnamed_ladder(
    naming: GroupNaming,
    base_counts: CountArray,
    k: int,
    profiles: CountArray | None = None,
    inside: BoolArray | None = None,
) -> Hierarchy:
    """Return base values, and levels of numbered groups above them that have ever more rows, from k on.

    Numbers and bands are merged with their neighbours, others with those nearest in the hierarchy, the most alike or
    the rarest first. A ladder tells this of the table: every group that is merged at a size holds a value with fewer
    rows. `profiles`: tables of the base values with other attributes, shape (base values, columns). `inside`: base
    values of a part of the table; where the finest bands tell it from the rest, all levels do.
    """
    hierarchy, start = naming.hierarchy, naming.start
    lifted, counts = hierarchy.lift(0, start), lifted_counts(hierarchy, start, base_counts)
    if profiles is not None:
        lifted_profiles = np.zeros((len(counts), profiles.shape[1]), dtype=np.int64)
        np.add.at(lifted_profiles, lifted, profiles)
        profiles = lifted_profiles
    apart = None if inside is None or not is_told(hierarchy, inside, start) else values_at(hierarchy, inside, start)
    labels, parents = [hierarchy.labels[0]], []
    below = np.arange(hierarchy.size(0))
    for number, partition in enumerate(_levels(naming, counts, k, profiles, apart), 1):
        groups = partition[lifted]
        parent = np.empty(len(labels[-1]), dtype=np.intp)
        parent[below] = groups
        labels.append(hierarchy.labels[start] if number == start else tuple(map(str, range(int(partition.max()) + 1))))
        parents.append(tuple(parent.tolist()))
        below = groups
    return replace(
        hierarchy, labels=(*labels, (SUPPRESSED,)), parents=(*parents, (0,) * len(labels[-1])), level_names=()
    )


def _levels(
    names: GroupNaming, counts: CountArray, k: int, profiles: CountArray | None, inside: BoolArray | None
) -> Iterator[Partition]:
    """Partitions of the values of the level to start from that become levels, from the finest to the last below `*`."""
    sizes = thresholds(k, int(counts.sum()))
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


def _sides(names: GroupNaming, inside: BoolArray) -> list[IndexArray]:
    """Values of a part and those of the rest; on a scale each stretch of either. A missing one is with its own kind."""
    if names.scale is None:
        sides = [np.flatnonzero(inside == kind) for kind in (True, False)]
    else:
        order = np.asarray(names.scale.order, dtype=np.intp)
        sides = np.split(order, np.flatnonzero(np.diff(inside[order])) + 1)
        if names.missing is not None:
            alike = [n for n, side in enumerate(sides) if len(side) and inside[side[0]] == inside[names.missing]]
            sides.append(np.zeros(0, dtype=np.intp))
            last = alike[-1] if alike else -1
            sides[last] = np.append(sides[last], names.missing)
    return [np.sort(side) for side in sides if len(side)]


def _side_by_side(of_sides: Sequence[Iterator[Partition]], sides: Sequence[IndexArray]) -> Iterator[Partition]:
    """Partitions of all values at each size, those of each side merged by themselves."""
    for parts in zip(*of_sides):
        partition = np.empty(sum(map(len, sides)), dtype=np.intp)
        groups = 0
        for side, part in zip(sides, parts):
            partition[side] = part + groups
            groups += int(part.max()) + 1
        yield partition


def _of_side(
    names: GroupNaming, counts: CountArray, profiles: CountArray | None, sizes: Sequence[int], side: IndexArray
) -> Iterator[Partition]:
    """Partitions of some of the values, which are sorted, numbered from 0."""
    if names.scale is None:
        hierarchy = names.hierarchy
        paths = np.array([hierarchy.lift(names.start, level) for level in range(names.start, hierarchy.height + 1)])
        own_profiles = None if profiles is None else profiles[side]
        apart = next((place for place, value in enumerate(side.tolist()) if value == names.missing), None)
        yield from partitions_in_tree(counts[side], paths[:, side].astype(np.intp), sizes, own_profiles, apart)
        return
    members = set(side.tolist())
    ordered = [value for value in names.scale.order.tolist() if value in members]
    missing = [value for value in side.tolist() if value == names.missing]
    order = np.searchsorted(side, [*ordered, *missing]).astype(np.intp)
    apart = len(ordered) if missing and ordered else None
    for partition in partitions_in_order(counts[side][order], sizes, apart):
        placed = np.empty_like(partition)
        placed[order] = partition
        yield placed


def keeps_missing_apart(hierarchy: Hierarchy) -> bool:
    """Return whether the value for missing ones is the last of several, and merged with no other below `*`."""
    code = hierarchy.size(0) - 1
    if not code or hierarchy.labels[0][code] != MISSING:
        return False
    lifted = (hierarchy.lift(0, level) for level in range(hierarchy.height))
    return all((above == above[code]).sum() == 1 for above in lifted)


MOST_VALUES = 2_000

_MOST_OF_ANOTHER = 50  # values of another attribute; many rare ones would make all values look different


CodedColumn = tuple[Hierarchy, CodeArray]  # base code of each row: shape (rows,)


def profiles(column: CodedColumn, others: Sequence[CodedColumn], counts: CountArray) -> CountArray:
    """Tables of a column with each of some others, side by side: shape (base values, values of all the others).

    Raises InputError for too many values.
    """
    hierarchy, codes = column
    size = hierarchy.size(0)
    if size > MOST_VALUES:
        raise InputError(
            f'it has {size:,} values, and ladder = "alike" compares each with each, {MOST_VALUES:,} at most; take "fitted"'
        )
    tables = [np.zeros((size, 0), dtype=np.int64)]
    for other, other_codes in others:
        level = next(at for at in range(other.height + 1) if other.size(at) <= _MOST_OF_ANOTHER)
        width = other.size(level)
        cells, space = pack([codes, other.lift(0, level)[other_codes]], [size, width], len(counts))
        tables.append(bins(cells, space, counts).reshape(size, width))
    return np.hstack(tables)
