"""Partitions by thresholds, against their definition by sets."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models import partitions_in_order, partitions_in_tree
from models.tables.fitted_levels import thresholds

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


@given(sizes_of_values, growing, st.data())
def test_in_a_tree_the_smallest_group_joins_the_smallest_of_its_deepest_common_node(counts, sizes, data):
    paths = data.draw(trees(len(counts)))
    missing = data.draw(st.none() | st.just(len(counts) - 1))

    def common(group, other):
        own = [value for value in group | other if counts[value]]
        return next(level for level, nodes in enumerate(paths.tolist()) if len({nodes[value] for value in own}) == 1)

    def nearest(group, others, rows, first):
        return min(others, key=lambda other: (common(group, other), rows(other), first(other)))

    expected = list(by_definition(counts, sizes, nearest, lambda groups, _: groups, missing=missing))
    found = list(partitions_in_tree(np.array(counts), paths, sizes, apart=missing))
    with_rows = {value for value, count in enumerate(counts) if count}
    for partition, sets in zip(found, expected, strict=True):
        assert {g & with_rows for g in as_sets(partition)} - {frozenset()} == {g for g in sets if g & with_rows}


@given(sizes_of_values, growing, st.data())
def test_with_profiles_it_joins_that_with_which_their_tables_lose_least(counts, sizes, data):
    """Of the groups of the deepest common node; a loss is the total variation between the tables before and after."""
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
        return min(others, key=lambda each: (common(group, each), lost(group, each, rows), rows(each), first(each)))

    expected = list(by_definition(counts, sizes, nearest, lambda groups, _: groups, missing=missing))
    found = list(partitions_in_tree(np.array(counts), paths, sizes, profiles, missing))
    with_rows = {value for value, count in enumerate(counts) if count}
    for partition, sets in zip(found, expected, strict=True):
        assert {g & with_rows for g in as_sets(partition)} - {frozenset()} == {g for g in sets if g & with_rows}


@given(sizes_of_values, growing, st.data())
def test_a_value_without_rows_goes_along_with_what_is_merged_beside_it_in_the_tree(counts, sizes, data):
    paths = data.draw(trees(len(counts)))
    nodes = paths[1:-1] if len(paths) > 2 else paths[1:]
    for partition in partitions_in_tree(np.array(counts), paths, sizes):
        merged = [g for g in as_sets(partition) if sum(counts[value] > 0 for value in g) > 1]
        alone = [min(g) for g in as_sets(partition) if len(g) == 1 and not counts[min(g)]]
        for value in alone:
            for group in merged:
                own = [member for member in group if counts[member]]
                assert not any({level[member] for member in own} == {level[value]} for level in nodes.tolist())


@given(sizes_of_values, growing, st.data())
def test_partitions_nest_and_every_merged_group_holds_a_value_below_its_threshold(counts, sizes, data):
    ordered = data.draw(st.booleans())
    paths = data.draw(trees(len(counts)))
    values = np.array(counts)
    profiles = data.draw(st.none() | st.just(np.minimum(np.arange(3), values[:, None])))
    found = list(partitions_in_order(values, sizes) if ordered else partitions_in_tree(values, paths, sizes, profiles))
    for fine, coarse in zip(found, found[1:]):
        assert all(any(group <= wider for wider in as_sets(coarse)) for group in as_sets(fine))
    for partition, size in zip(found, sizes):
        groups = as_sets(partition)
        for group in groups:
            rows = sorted(counts[value] for value in group if counts[value])
            assert len(rows) < 2 or rows[0] < size
        with_rows = [sum(counts[value] for value in group) for group in groups if any(counts[v] for v in group)]
        assert len(with_rows) < 2 or min(with_rows) >= size


@given(st.lists(st.integers(0, 30), min_size=1, max_size=9), st.randoms())
def test_partitions_depend_on_no_order_of_rows(counts, random):
    """Counting rows in another order gives the same counts; of equal counts the order of values decides."""
    rows = [value for value, count in enumerate(counts) for _ in range(count)]
    random.shuffle(rows)
    again = np.bincount(rows, minlength=len(counts)) if rows else np.zeros(len(counts), dtype=np.int64)
    one, other = (partitions_in_order(np.array(each), [3, 9]) for each in (counts, again))
    assert [p.tolist() for p in one] == [p.tolist() for p in other]


@pytest.mark.parametrize(("k", "rows", "number"), [(10, 45_222, 21), (10, 9, 0), (1, 1, 1)])
def test_thresholds_rise_by_half_from_k_to_all_rows(k, rows, number):
    sizes = thresholds(k, rows)
    assert len(sizes) == number
    assert all(fine < coarse <= 2 * fine for fine, coarse in zip(sizes, sizes[1:]))
    assert all(k <= size <= rows for size in sizes)
