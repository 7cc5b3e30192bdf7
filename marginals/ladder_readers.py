"""Readers who know how levels were fitted: the counts of one attribute's values that give what is published of it.

Levels are a function of one-way counts, the original hierarchy and k (design 4.9). Names are a function of levels and counts
(4.17). Readers who know both functions run them on every vector of counts that has the published ones. Facts that hold for
all vectors with the same release are certain. Two steps keep the vectors few:

- The merging within one published group is run beside the other groups as they are in the end. A value was merged with the
  smallest of its nearest groups, and groups grow. So every vector that the full run allows passes, and some others.
- All groups together may have too many vectors. Then a value is certainly small if it is in all vectors of its group that
  pass. It is not if some vector gives the same release. Otherwise it is not examined.
"""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import combinations, islice, product
from math import prod
from typing import Any, TypeAlias

import numpy as np

from checks.attacks.algorithm import CertainRange, FittedLevelDisclosure, level_told
from marginals.bundle.content import BundleContent
from marginals.tables.attribute import MISSING
from marginals.tables.group_names import GroupNaming, lifted_counts
from marginals.tables.levels import unnamed_ladder
from marginals.tables.table import Table
from models.arrays import BoolArray, CountArray, IndexArray
from models.deadline import Deadline
from models.frozen import frozen
from models.graphs.junction_tree import Collection
from models.programs.consistent_tables import all_tables
from models.tables.fitted_levels import FittedLadder, Partition, partitions_in_order, partitions_in_tree, thresholds
from models.tables.hierarchy import Hierarchy

_MOST, _FEW = 4_096, 40  # vectors of counts of a group, and of all groups, that are tried; the few if not all are
_SECONDS = 5.0  # for one attribute


def ladder_readers(published: BundleContent, collection: Collection, truth: Table) -> tuple[FittedLevelDisclosure, ...]:
    """Return the disclosure by each attribute's finest level that was fitted to the table, if groups were merged.

    If more than counts decided the levels, it is of the finest level with merged groups.
    """
    result: list[FittedLevelDisclosure] = []
    for name, ladder in truth.ladders.items():
        levels = sorted({margin[name] for margin in collection.margins if name in margin})
        examined = levels[:1] if ladder.is_by_counts else levels
        of_levels = (level_told(collection, name, level, ladder) for level in examined)
        result += [_examined(published, collection, truth, one) for one in of_levels if one][:1]
    return tuple(result)


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
        missing, original = naming.hierarchy.size(naming.start), naming.hierarchy.with_value_apart(MISSING)
        naming, hierarchy = replace(naming, hierarchy=original, missing=missing), hierarchy.with_value_apart(MISSING)
    base = np.bincount(counted.codes[0], counted.counts, hierarchy.size(0)).astype(np.int64)
    levels = sorted({margin[name] for margin in collection.margins if name in margin})
    view = _View(naming, ladder, hierarchy, levels, base, published.least_count, name in published.sensitive)
    deadline = Deadline(min(published.deadline.share(3).at, time.monotonic() + _SECONDS), time.monotonic)
    return _with_small_values(view, disclosure, deadline)


@frozen(eq=False)
class _View:
    """Published facts about one attribute. base: rows of its base values. least: rows below which no count may follow."""

    naming: GroupNaming
    fitted: FittedLadder
    hierarchy: Hierarchy
    levels: Sequence[int]
    base: CountArray
    least: int
    is_sensitive: bool

    @cached_property
    def counts(self) -> CountArray:
        """Rows of the values that were merged."""
        return lifted_counts(self.naming.hierarchy, self.naming.start, self.base)

    @cached_property
    def _labels(self) -> set[tuple[Any, ...]]:
        return self._labels_of(self.hierarchy, self.levels, lifted_counts(self.hierarchy, self.levels[0], self.base))

    def _labels_of(self, ladder: Hierarchy, levels: Sequence[int], rows: CountArray) -> set[tuple[Any, ...]]:
        """Rows of each group of the finest level, and its labels; and its values, if a release tells them."""
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
        """Return True if a search would publish the next finer level: no group of it is small, and it tells more."""
        rows, finer = lifted_counts(ladder, level, base), lifted_counts(ladder, level - 1, base)
        above, leaves = ladder.lift(level - 1, level), ladder.leaf_counts
        is_small = ((finer > 0) & (finer < self.least)).any()
        return not is_small and bool((finer * leaves(level)[above] != rows[above] * leaves(level - 1)).any())

    def follows_from(self, counts: CountArray) -> bool:
        """Return True if a table with these counts of merged values is published with the same counts and labels."""
        original, start = self.naming.hierarchy, self.naming.start
        base = np.zeros(original.size(0), dtype=np.int64)
        base[np.unique(original.lift(0, start), return_index=True)[1]] = counts
        ladder = unnamed_ladder(self.naming, base, self.fitted.k)
        expected = sorted(rows for rows, *_ in self._labels)
        for level in range(start + 1, ladder.height):
            rows = lifted_counts(ladder, level, base)
            if sorted(rows[rows > 0]) != expected or (self._is_finest and self._is_refined(ladder, level, base)):
                continue
            named = self.naming.named(ladder, level, base, self.least).hierarchy
            coarser = combinations(range(level + 1, ladder.height), len(self.levels) - 1)
            if any(self._labels_of(named, [level, *others], rows) == self._labels for others in coarser):
                return True
        return False


# Values with a known total, and vectors of their counts; None for too many.
_Part: TypeAlias = tuple[IndexArray, CountArray | None]


def _with_small_values(view: _View, disclosure: FittedLevelDisclosure, deadline: Deadline) -> FittedLevelDisclosure:
    parts, possible = list(_parts(view)), [view.counts]
    is_complete = prod(_MOST + 1 if vectors is None else len(vectors) for _, vectors in parts) <= _MOST

    def is_small(rows: CountArray) -> bool:
        return bool(rows.min() >= 1 and rows.max() < view.least)

    sets = {label: codes for label, codes in _sets(view.naming, parts).items() if is_small(view.counts[codes].sum())}
    for counts in _every_vector(view, parts) if is_complete else islice(_some_vectors(view, parts, sets), _MOST):
        if not sets or deadline.is_over:
            is_complete = False
            break
        if view.follows_from(counts):
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
    """Values whose counts are unknown, and the nodes of the original hierarchy above them, by their labels."""
    original, start = naming.hierarchy, naming.start
    unknown = np.array(sorted(value for values, _ in parts for value in values.tolist()), dtype=np.intp)
    sets: dict[str, IndexArray] = {}
    for level in range(start, original.height):
        nodes = original.lift(start, level)
        for node in np.unique(nodes[unknown]).tolist():
            sets.setdefault(original.labels[level][node], np.flatnonzero(nodes == node))
    return sets


def _parts(view: _View) -> Iterator[_Part]:
    """Groups of several values whose names tell them, and one part of the values that may be in any other group."""
    naming, finest = view.naming, view.levels[0]
    labels, rows = view.hierarchy.labels[finest], lifted_counts(view.hierarchy, finest, view.base).tolist()
    groups = list(zip(naming.members(view.hierarchy, finest), rows))
    occurring = naming.named(view.hierarchy, finest, view.base, view.least).occurring
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
            merges = _merging(view, members, clear[:at] + clear[at + 1 :], min(filter(None, rows)))
            vectors = vectors[[merges(counts) for counts in vectors]]
        yield members, vectors


def _vectors(values: IndexArray, rows: int) -> CountArray | None:
    return all_tables([np.zeros_like(values)], [np.array([rows])], _MOST)


def _has_two_meanings(naming: GroupNaming, members: IndexArray, label: str) -> bool:
    """Return True if other values have the label in the original hierarchy, also without a number that was added to it."""
    original, start = naming.hierarchy, naming.start
    text = label if original.code(label, start) is not None else re.sub(r" \([0-9]+\)$", "", label)
    codes = ((level, original.code(text, level)) for level in range(start, original.height))
    named = (np.flatnonzero(original.lift(start, level) == code) for level, code in codes if code is not None)
    return not all(np.array_equal(values, members) for values in named)


def _merging(
    view: _View, members: IndexArray, others: Sequence[tuple[IndexArray, int]], smallest: int
) -> Callable[[CountArray], bool]:
    """Return a test of counts: members of a group with these are merged, and with nothing else. others: other groups."""
    naming, original, start = view.naming, view.naming.hierarchy, view.naming.start
    sizes = [size for size in thresholds(view.fitted.k, int(view.base.sum())) if size <= smallest]
    rest = np.array([rows + 1 for _, rows in others], dtype=np.int64)  # ties are no reason to be merged with them
    apart = int(np.flatnonzero(members == naming.missing)[0]) if naming.missing in members else None
    if naming.scale is not None:
        place_of = {value: place for place, value in enumerate(members.tolist())}
        place_of |= {value: len(members) + at for at, (values, _) in enumerate(others) for value in values.tolist()}
        ordered = [place_of[value] for value in naming.scale.order.tolist() if value in place_of]
        order = np.array([*dict.fromkeys(ordered), *([] if apart is None else [apart])], dtype=np.intp)
        inside, last = order < len(members), None if apart is None else len(order) - 1
        return lambda counts: _is_a_group(inside, partitions_in_order(np.append(counts, rest)[order], sizes, last))
    paths = np.array([original.lift(start, level) for level in range(start, original.height + 1)], dtype=np.intp)
    # A group of values of several nodes is nearest to nothing below the node that they share.
    further = [
        np.where((paths[:, values] == paths[:, values[:1]]).all(axis=1), paths[:, values[0]], original.size(start) + at)
        for at, (values, _) in enumerate(others)
    ]
    within = np.arange(len(members) + len(others)) < len(members)
    paths = np.column_stack([paths[:, members], *further])
    return lambda counts: _is_a_group(within, partitions_in_tree(np.append(counts, rest), paths, sizes, apart=apart))


def _is_a_group(inside: BoolArray, partitions: Iterator[Partition]) -> bool:
    return any(np.array_equal(groups == groups[inside][0], inside) for groups in partitions)


def _every_vector(view: _View, parts: Sequence[_Part]) -> Iterator[CountArray]:
    for chosen in product(*(vectors for _, vectors in parts if vectors is not None)):
        counts = view.counts.copy()
        for (values, _), rows in zip(parts, chosen):
            counts[values] = rows
        yield counts


def _some_vectors(view: _View, parts: Sequence[_Part], sets: Mapping[str, IndexArray]) -> Iterator[CountArray]:
    """Yield vectors that change one group, so that a value has no rows or enough, as long as it is among the sets."""
    for values, vectors in parts:
        for place, value in enumerate(values.tolist()):
            label = view.naming.hierarchy.labels[view.naming.start][value]
            tried = _moved(view.counts[values], place, view.least) if vectors is None else vectors
            tried = tried[(tried[:, place] == 0) | (tried[:, place] >= view.least)]
            for rows in tried[:: max(len(tried) // _FEW, 1)]:
                if label not in sets:
                    break
                counts = view.counts.copy()
                counts[values] = rows
                yield counts


def _moved(counts: CountArray, place: int, least: int) -> CountArray:
    """Counts with those at one place moved to another value, raised to enough, or exchanged."""
    moves = np.eye(len(counts), dtype=np.int64)
    moves[:, place] -= 1
    number = counts[place]
    changes = [moves * number, moves * (number - least), moves * (number - counts)[:, None]]
    vectors = counts + np.vstack(changes)
    return np.asarray(vectors[(vectors >= 0).all(axis=1)])
