"""Partitions by thresholds, against their definition by sets."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from models import partitions_in_order, partitions_in_tree

sizes_of_values = st.lists(st.sampled_from([0, 0, 1, 1, 2, 3, 5, 8, 20]), min_size=1, max_size=9)


growing = st.lists(st.integers(1, 30), min_size=1, max_size=4, unique=True).map(sorted)


def by_definition(counts, sizes, nearest, along, apart=None, missing=None):
    """The partitions as sets of values: the smallest group that is too small is merged with the nearest, one by one.

    What stands apart joins the smallest group before all others, where it is too small. If the first size is more than one
    row, a group of several values that occur needs one row more than it, with one of rows without a value four more: the
    first of those that have fewer is merged once more, with what stands apart where no other is left. missing: the value of
    rows without one, where it has a place.
    """
    groups = [frozenset([value]) for value in range(len(counts))]
    missing = apart if missing is None else missing

    def rows(group):
        return sum(counts[value] for value in group)

    def first(group):
        return min(value for value in group if counts[value])

    def needed(group):
        occur = [value for value in group if counts[value]]
        if sizes[0] == 1 or len(occur) == 1:
            return sizes[0]
        return sizes[0] + (4 if missing in occur else 1)

    for size in sizes:
        while True:
            some = sorted((g for g in groups if rows(g) and g != {apart}), key=lambda g: (rows(g), first(g)))
            alone = next((g for g in groups if rows(g) and g == {apart}), None)
            scarce = sorted((g for g in some if rows(g) < needed(g)), key=first)
            if some and alone is not None and rows(alone) < size:
                own, other = some[0], alone
            elif len(some) > 1 and rows(some[0]) < size:
                own, other = some[0], nearest(some[0], some[1:], rows, first)
            elif some and alone is not None and rows(some[0]) < size:
                own, other = some[0], alone
            elif len(some) > 1 and scarce:
                own, other = scarce[0], nearest(scarce[0], [g for g in some if g != scarce[0]], rows, first)
            elif scarce and alone is not None:
                own, other = scarce[0], alone
            else:
                break
            groups = [g for g in groups if g not in (own, other)] + [own | other]
        groups = along(groups, rows)
        yield {frozenset(g) for g in groups}


def as_sets(partition):
    return {frozenset(np.flatnonzero(partition == group).tolist()) for group in set(partition.tolist())}


def neighbours(apart):
    def nearest(group, others, rows, _first):
        ordered = {g - {apart}: g for g in others}
        own = group - {apart}
        lower = ordered.get(max((g for g in ordered if max(g) < min(own)), key=max, default=None))
        upper = ordered.get(min((g for g in ordered if min(g) > max(own)), key=min, default=None))
        beside = [g for g in (lower, upper) if g is not None]
        return min(beside, key=rows)

    return nearest


def stretched(apart, counts):
    """A value without rows goes to the merged group beside it, of two such to that of fewer rows, else to the higher one."""

    def along(groups, rows):
        some = [set(g) for g in groups if rows(g)]

        def is_merged(group):
            return sum(counts[value] > 0 for value in group - {apart}) > 1

        ordered = sorted((g for g in some if g - {apart}), key=lambda g: min(g - {apart}))
        grown = {id(g): set() for g in ordered}
        ends = [(min(g - {apart}), max(g - {apart})) for g in ordered]
        inside = set().union(*(set(range(low, high + 1)) for low, high in ends)) if ends else set()
        for group, (low, high) in zip(ordered, ends):
            grown[id(group)] |= set(range(low, high + 1)) - {apart}
        for value in range(len(counts)):
            if value == apart or value in inside:
                continue
            lower = [g for g, (_, high) in zip(ordered, ends) if high < value][-1:]
            upper = [g for g, (low, _) in zip(ordered, ends) if low > value][:1]
            beside = [g for g in upper + lower if is_merged(g)]
            if beside:
                grown[id(min(beside, key=rows))].add(value)
        whole = [frozenset(grown.get(id(g), set()) | g) for g in some]
        return whole + [frozenset([v]) for v in range(len(counts)) if not any(v in g for g in whole)]

    return along


@given(sizes_of_values, growing, st.data())
def test_in_an_order_the_smallest_group_joins_its_smaller_neighbour(counts, sizes, data):
    apart = data.draw(st.none() | st.just(len(counts) - 1))
    expected = by_definition(counts, sizes, neighbours(apart), stretched(apart, counts), apart)
    found = partitions_in_order(np.array(counts), sizes, apart)
    assert list(map(as_sets, found)) == list(expected)


@st.composite
def trees(draw, values):
    """The node of each value at each level, from its own to the root."""
    paths = [list(range(values))]
    for _ in range(draw(st.integers(0, 2))):
        above = {node: draw(st.integers(0, 2)) for node in sorted(set(paths[-1]))}
        paths.append([above[node] for node in paths[-1]])
    return np.array([*paths, [0] * values])


@pytest.mark.parametrize("with_profiles", [False, True])
@given(sizes_of_values, growing, st.data())
def test_in_a_tree_the_smallest_group_joins_that_of_its_deepest_common_node(with_profiles, counts, sizes, data):
    """The smallest; with profiles that with which their tables lose least: total variation before and after."""
    paths = data.draw(trees(len(counts)))
    split = [data.draw(st.integers(0, count)) for count in counts]
    profiles = np.array([(part, count - part) for part, count in zip(split, counts)])
    missing = data.draw(st.none() | st.just(len(counts) - 1))

    def common(group, other):
        own = [value for value in group | other if counts[value]]
        return next(level for level, nodes in enumerate(paths.tolist()) if len({nodes[value] for value in own}) == 1)

    def lost(group, other, rows):
        merged = profiles[sorted(group | other)].sum(axis=0)
        sides = ((profiles[sorted(own)].sum(axis=0), rows(own)) for own in (group, other))
        return round(
            float(sum(np.abs(own - merged * size / (rows(group) + rows(other))).sum() for own, size in sides)), 9
        )

    def nearest(group, others, rows, first):
        return min(
            others,
            key=lambda each: (
                common(group, each),
                lost(group, each, rows) if with_profiles else 0,
                rows(each),
                first(each),
            ),
        )

    expected = list(by_definition(counts, sizes, nearest, lambda groups, _: groups, missing=missing))
    found = list(partitions_in_tree(np.array(counts), paths, sizes, profiles if with_profiles else None, missing))
    with_rows = {value for value, count in enumerate(counts) if count}
    for partition, sets in zip(found, expected, strict=True):
        assert {g & with_rows for g in as_sets(partition)} - {frozenset()} == {g for g in sets if g & with_rows}
        merged = [g for g in as_sets(partition) if len(g & with_rows) > 1]
        for value in (min(g) for g in as_sets(partition) if len(g) == 1 and not g & with_rows):
            for group in merged:  # a value without rows goes along with what is merged beside it
                levels = (paths[1:-1] if len(paths) > 2 else paths[1:]).tolist()
                beside = any({level[v] for v in group & with_rows} == {level[value]} for level in levels)
                assert missing == value or not beside


@given(sizes_of_values.filter(any), growing, st.booleans(), st.booleans(), st.data())
@example([2, 2, 11], [4, 8], True, True, None)
def test_partitions_nest_and_merged_groups_have_rows_to_spare(counts, sizes, is_ordered, is_apart, data):
    """Of two values that occur, each can have k rows; so can missing ones beside three others. Each holds one with few."""
    values, last = np.array(counts), len(counts) - 1 if is_apart else None
    if is_ordered or data is None:
        found = list(partitions_in_order(values, sizes, last))
    else:
        profiles = data.draw(st.none() | st.just(np.minimum(np.arange(3), values[:, None])))
        found = list(partitions_in_tree(values, data.draw(trees(len(counts))), sizes, profiles, last))
    for fine, coarse in zip([np.arange(len(counts)), *found], found):
        assert all(any(group <= wider for wider in as_sets(coarse)) for group in as_sets(fine))
    for partition, size in zip(found, sizes):
        rows_of = [sorted(counts[value] for value in g if counts[value]) for g in as_sets(partition)]
        assert all(len(rows) < 2 or rows[0] < size for rows in rows_of)
        if len(list(filter(None, rows_of))) < 2:
            return
        for group in as_sets(partition):
            occur = [value for value in group if counts[value]]
            total = sum(counts[value] for value in occur)
            assert total >= size or not occur
            if len(occur) > 1 and sizes[0] > 1:
                assert total >= sizes[0] + (4 if last in occur else 1)
