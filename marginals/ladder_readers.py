"""Readers who know how levels were fitted: the counts of one attribute's values that give what is published of it.

Levels are a function of one-way counts, the given hierarchy and k (design 4.9). Names are a function of levels and counts
(4.17). Readers who know all of it run both on every vector of counts that has the published ones. What the vectors share
that give the same release is certain. Two steps keep them few:

- The merging within one published group is run beside the other groups as they are in the end. A value was merged with the
  smallest of its nearest groups, and groups grow. So every vector that the whole run allows passes, and some others.
- If the vectors of all groups together are still too many, a value is certainly small if it is in all vectors of its group
  that pass. It is not if some vector gives the same release. Else it is not examined.
"""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, islice, product
from math import prod
from typing import Any, TypeAlias

import numpy as np

from checks.attacks.algorithm import CertainRange, FittedLevelDisclosure, level_told
from marginals.bundle.content import BundleContent
from marginals.tables.attribute import MISSING
from marginals.tables.group_names import GroupNaming
from marginals.tables.levels import unnamed_ladder
from marginals.tables.table import Table
from models.arrays import BoolArray, CountArray, IndexArray
from models.deadline import Deadline
from models.graphs.junction_tree import Collection
from models.programs.consistent_tables import all_tables
from models.tables.fitted_levels import FittedLadder, Partition, partitions_in_order, partitions_in_tree, thresholds
from models.tables.hierarchy import Hierarchy

_MOST = 4_096
"""Vectors of counts of one group, and of all groups together, that are tried."""

_FEW = 40
"""Vectors of one group that are tried, where not all are, to show that a value need not be small."""

_SECONDS = 5.0
"""To try vectors of the counts of one attribute."""


def ladder_readers(published: BundleContent, collection: Collection, truth: Table) -> tuple[FittedLevelDisclosure, ...]:
    """Return what published levels tell that are fitted to the table: of each attribute the finest, if groups were merged.

    If more than its counts decided, a coarser level tells more than these: then the finest with merged groups.
    collection: the published tables over the domain of the table. truth: the table, with the names of the release.
    """
    told = []
    for name, ladder in truth.ladders.items():
        levels = sorted({margin[name] for margin in collection.margins if name in margin})
        looked_at = levels[:1] if ladder.is_by_counts else levels
        of_levels = (level_told(collection, name, level, ladder) for level in looked_at)
        told += [_examined(published, collection, truth, found) for found in of_levels if found][:1]
    return tuple(told)


def _examined(
    published: BundleContent, collection: Collection, truth: Table, disclosure: FittedLevelDisclosure
) -> FittedLevelDisclosure:
    name = disclosure.attribute
    naming, ladder = truth.naming.get(name), truth.ladders[name]
    if not isinstance(naming, GroupNaming) or not ladder.is_by_counts:
        return replace(disclosure, note="its levels were fitted to more than how often each value occurs")
    if naming.listing == "occurring" and not (naming.scale and naming.scale.is_gapless):
        return replace(disclosure, note="no list says which values there can be")
    hierarchy, counted = truth.domain.hierarchy(name), truth.cube.table(truth.domain.mask({name: 0}))
    if name in truth.counts_missing and naming.missing is None and naming.listing != "public":
        # None is missing here, but nothing that is published says so.
        missing, given = naming.hierarchy.size(naming.start), naming.hierarchy.with_value_apart(MISSING)
        naming, hierarchy = replace(naming, hierarchy=given, missing=missing), hierarchy.with_value_apart(MISSING)
    base = np.bincount(counted.codes[0], counted.counts, hierarchy.size(0)).astype(np.int64)
    levels = sorted({margin[name] for margin in collection.margins if name in margin})
    shown = _Shown(naming, ladder, hierarchy, levels, base, published.least_count, name in published.sensitive)
    deadline = Deadline(min(published.deadline.share(3).at, time.monotonic() + _SECONDS), time.monotonic)
    return _with_small_values(shown, disclosure, deadline)


@dataclass(frozen=True, eq=False)
class _Shown:
    """What a release shows of one attribute. base: rows of its base values. least: rows below which no count may follow."""

    naming: GroupNaming
    fitted: FittedLadder
    hierarchy: Hierarchy
    levels: Sequence[int]
    base: CountArray
    least: int
    is_sensitive: bool

    @cached_property
    def counts(self) -> CountArray:
        """The rows of the values that were merged."""
        return _lifted(self.naming.hierarchy, self.naming.start, self.base)

    @cached_property
    def _labels(self) -> set[tuple[Any, ...]]:
        return self._labels_of(self.hierarchy, self.levels, _lifted(self.hierarchy, self.levels[0], self.base))

    def _labels_of(self, ladder: Hierarchy, levels: Sequence[int], rows: CountArray) -> set[tuple[Any, ...]]:
        """The rows of each group of the finest level and its labels; and its values, where a release tells them."""
        codes = np.flatnonzero(rows)
        labels = [np.array(ladder.labels[level])[ladder.lift(levels[0], level)[codes]] for level in levels]
        if self.naming.listing != "public":
            return {*zip(rows[codes].tolist(), *labels)}
        members = self.naming.members(ladder, levels[0])
        return {*zip(rows[codes].tolist(), *labels, (tuple(members[code].tolist()) for code in codes))}

    @cached_property
    def _is_finest(self) -> bool:
        return not self.is_sensitive and not self._is_refined(self.hierarchy, self.levels[0], self.base)

    def _is_refined(self, ladder: Hierarchy, level: int, base: CountArray) -> bool:
        """Whether a search would publish the next finer level: no group of it is small, and it tells more."""
        rows, finer = _lifted(ladder, level, base), _lifted(ladder, level - 1, base)
        above, leaves = ladder.lift(level - 1, level), ladder.leaf_counts
        is_small = ((finer > 0) & (finer < self.least)).any()
        return not is_small and bool((finer * leaves(level)[above] != rows[above] * leaves(level - 1)).any())

    def is_given_by(self, counts: CountArray) -> bool:
        """Whether a table with so many rows of each merged value is published with the same counts and labels."""
        given, start = self.naming.hierarchy, self.naming.start
        base = np.zeros(given.size(0), dtype=np.int64)
        base[np.unique(given.lift(0, start), return_index=True)[1]] = counts
        ladder = unnamed_ladder(self.naming, base, self.fitted.k)
        expected = sorted(rows for rows, *_ in self._labels)
        for level in range(start + 1, ladder.height):
            rows = _lifted(ladder, level, base)
            if sorted(rows[rows > 0]) != expected or (self._is_finest and self._is_refined(ladder, level, base)):
                continue
            named = self.naming.named(ladder, level, base, self.least).hierarchy
            coarser = combinations(range(level + 1, ladder.height), len(self.levels) - 1)
            if any(self._labels_of(named, [level, *others], rows) == self._labels for others in coarser):
                return True
        return False


def _lifted(hierarchy: Hierarchy, level: int, base: CountArray) -> CountArray:
    return np.bincount(hierarchy.lift(0, level), base, hierarchy.size(level)).astype(np.int64)


_Part: TypeAlias = tuple[IndexArray, CountArray | None]
"""Values with a known number of rows together, and the vectors of their counts that are tried; None for too many."""


def _with_small_values(shown: _Shown, disclosure: FittedLevelDisclosure, deadline: Deadline) -> FittedLevelDisclosure:
    parts, possible = list(_parts(shown)), [shown.counts]
    is_complete = prod(_MOST + 1 if vectors is None else len(vectors) for _, vectors in parts) <= _MOST

    def is_small(rows: CountArray) -> bool:
        return bool(rows.min() >= 1 and rows.max() < shown.least)

    sets = {label: own for label, own in _sets(shown.naming, parts).items() if is_small(shown.counts[own].sum())}
    for counts in _every_vector(shown, parts) if is_complete else islice(_some_vectors(shown, parts, sets), _MOST):
        if not sets or deadline.is_over:
            is_complete = False
            break
        if shown.is_given_by(counts):
            possible.append(counts)
            for label in [label for label, members in sets.items() if not is_small(counts[members].sum())]:
                del sets[label]
    small = []
    for label, members in list(sets.items()):
        passing = (
            vectors[:, np.isin(values, members)]
            for values, vectors in parts
            if vectors is not None and np.isin(members, values).all()
        )
        vectors = np.array(possible)[:, members] if is_complete else next(passing, np.zeros((1, 1)))
        rows = vectors.sum(axis=1)
        if is_small(rows):
            small.append(CertainRange({disclosure.attribute: label}, {}, int(rows.min()), int(rows.max())))
            del sets[label]
    return replace(disclosure, small=tuple(small), unexamined=tuple(sets))


def _sets(naming: GroupNaming, parts: Sequence[_Part]) -> dict[str, IndexArray]:
    """The values whose counts are not known, and the nodes of the given hierarchy above them, by their labels."""
    given, start = naming.hierarchy, naming.start
    unknown = np.array(sorted(value for values, _ in parts for value in values.tolist()), dtype=np.intp)
    sets: dict[str, IndexArray] = {}
    for level in range(start, given.height):
        nodes = given.lift(start, level)
        for node in np.unique(nodes[unknown]).tolist():
            sets.setdefault(given.labels[level][node], np.flatnonzero(nodes == node))
    return sets


def _parts(shown: _Shown) -> Iterator[_Part]:
    """The groups of several values whose names tell them, and one part of the values that may be in any other group."""
    naming, finest = shown.naming, shown.levels[0]
    labels, rows = shown.hierarchy.labels[finest], _lifted(shown.hierarchy, finest, shown.base).tolist()
    groups = list(zip(naming.members(shown.hierarchy, finest), rows))
    occurring = naming.named(shown.hierarchy, finest, shown.base, shown.least).occurring
    is_clear = [
        naming.listing == "public"
        or (count > 0 and occurring.get(label) != 0 and not _has_two_meanings(naming, members, label))
        for (members, count), label in zip(groups, labels)
    ]
    clear = [group for group, is_known in zip(groups, is_clear) if is_known and group[1]]
    pool = [group for group, is_known in zip(groups, is_clear) if not is_known]
    if total := sum(count for _, count in pool):
        values = np.sort(np.concatenate([members for members, _ in pool]))
        yield values, _vectors(values, total)
    for at, (members, count) in enumerate(clear):
        if len(members) == 1:
            continue
        vectors = _vectors(members, count)
        if vectors is not None and not (total and naming.scale):
            merges = _merging(shown, members, clear[:at] + clear[at + 1 :], min(filter(None, rows)))
            vectors = vectors[[merges(counts) for counts in vectors]]
        yield members, vectors


def _vectors(values: IndexArray, rows: int) -> CountArray | None:
    return all_tables([np.zeros_like(values)], [np.array([rows])], _MOST)


def _has_two_meanings(naming: GroupNaming, members: IndexArray, label: str) -> bool:
    """Whether some other values are called like it in the given hierarchy, by which a label may have got a number, too."""
    given, start = naming.hierarchy, naming.start
    text = label if given.code(label, start) is not None else re.sub(r" \([0-9]+\)$", "", label)
    codes = ((level, given.code(text, level)) for level in range(start, given.height))
    return any(
        not np.array_equal(np.flatnonzero(given.lift(start, level) == code), members)
        for level, code in codes
        if code is not None
    )


def _merging(
    shown: _Shown, members: IndexArray, others: Sequence[tuple[IndexArray, int]], smallest: int
) -> Callable[[CountArray], bool]:
    """Whether the members of a group with some counts are merged, and with nothing else. others: the other groups."""
    naming, given, start = shown.naming, shown.naming.hierarchy, shown.naming.start
    sizes = [size for size in thresholds(shown.fitted.k, int(shown.base.sum())) if size <= smallest]
    rest = np.array([rows + 1 for _, rows in others], dtype=np.int64)  # ties are no reason to be merged with them
    apart = int(np.flatnonzero(members == naming.missing)[0]) if naming.missing in members else None
    if naming.scale is not None:
        place_of = {value: place for place, value in enumerate(members.tolist())}
        place_of |= {value: len(members) + at for at, (values, _) in enumerate(others) for value in values.tolist()}
        ordered = [place_of[value] for value in naming.scale.order.tolist() if value in place_of]
        order = np.array([*dict.fromkeys(ordered), *([] if apart is None else [apart])], dtype=np.intp)
        inside, last = order < len(members), None if apart is None else len(order) - 1
        return lambda counts: _is_a_group(inside, partitions_in_order(np.append(counts, rest)[order], sizes, last))
    paths = np.array([given.lift(start, level) for level in range(start, given.height + 1)], dtype=np.intp)
    # A group of values of several nodes is nearest to nothing below the node that they share.
    beside = [
        np.where((paths[:, values] == paths[:, values[:1]]).all(axis=1), paths[:, values[0]], given.size(start) + at)
        for at, (values, _) in enumerate(others)
    ]
    within = np.arange(len(members) + len(others)) < len(members)
    paths = np.column_stack([paths[:, members], *beside])
    return lambda counts: _is_a_group(within, partitions_in_tree(np.append(counts, rest), paths, sizes, apart=apart))


def _is_a_group(inside: BoolArray, partitions: Iterator[Partition]) -> bool:
    return any(np.array_equal(groups == groups[inside][0], inside) for groups in partitions)


def _every_vector(shown: _Shown, parts: Sequence[_Part]) -> Iterator[CountArray]:
    values = np.concatenate([np.zeros(0, dtype=np.intp), *(values for values, _ in parts)])
    for chosen in product(*(vectors for _, vectors in parts if vectors is not None)):
        yield _with(shown.counts, values, np.concatenate([np.zeros(0, dtype=np.int64), *chosen]))


def _with(counts: CountArray, values: IndexArray, rows: CountArray) -> CountArray:
    counts = counts.copy()
    counts[values] = rows
    return counts


def _some_vectors(shown: _Shown, parts: Sequence[_Part], sets: Mapping[str, IndexArray]) -> Iterator[CountArray]:
    """Vectors that change one group, so that a value has no rows or enough; as long as it is among the sets."""
    for values, vectors in parts:
        for place, value in enumerate(values.tolist()):
            label = shown.naming.hierarchy.labels[shown.naming.start][value]
            tried = _moved(shown.counts[values], place, shown.least) if vectors is None else vectors
            tried = tried[(tried[:, place] == 0) | (tried[:, place] >= shown.least)]
            for rows in tried[:: max(len(tried) // _FEW, 1)]:
                if label not in sets:
                    break
                yield _with(shown.counts, values, rows)


def _moved(counts: CountArray, place: int, least: int) -> CountArray:
    """Counts of which those at one place went to another value, were made enough, or changed places."""
    moves = np.eye(len(counts), dtype=np.int64)
    moves[:, place] -= 1
    number = counts[place]
    changes = [moves * number, moves * (number - least), moves * (number - counts)[:, None]]
    vectors = counts + np.vstack(changes)
    return np.asarray(vectors[(vectors >= 0).all(axis=1)])
