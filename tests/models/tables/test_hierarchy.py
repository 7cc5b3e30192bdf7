"""Hierarchies, domains and fitted levels: levels nest, masks and margins say the same, bad rows are refused unquoted."""

import csv
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import combinations_with_replacement, count, pairwise
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brute_force import lifted
from models import (
    Domain,
    DomainMismatchError,
    Hierarchy,
    HierarchyError,
    Margin,
    MarginalsError,
    partitions_in_order,
    partitions_in_tree,
    vertices_of,
)
from strategies import coarser_margins, domains, hierarchies, margins

SECRET = "unspeakable"
"""Stands for a value of the data, which no message may repeat."""


@given(hierarchies())
def test_labels_leaves_and_every_map_between_levels_follow_the_rows(hierarchy):
    rows = hierarchy.rows()
    assert Hierarchy.from_rows(rows) == hierarchy
    for level, labels in enumerate(hierarchy.labels):
        assert hierarchy.size(level) == len(labels)
        assert [hierarchy.code(label, level) for label in labels] == list(range(len(labels)))
        assert hierarchy.code(SECRET, level) is None
        assert hierarchy.leaf_counts(level).tolist() == [sum(row[level] == label for row in rows) for label in labels]
    for fine, coarse in combinations_with_replacement(range(hierarchy.height + 1), 2):
        np.testing.assert_array_equal(hierarchy.lift(fine, coarse), lifted(hierarchy, fine, coarse))


@given(hierarchies(max_values=12), st.data())
def test_a_restricted_hierarchy_keeps_the_rows_of_the_chosen_values_in_order(hierarchy, data):
    chosen = data.draw(st.lists(st.integers(0, hierarchy.size(0) - 1), min_size=1))
    kept = [row for code, row in enumerate(hierarchy.rows()) if code in chosen]
    assert hierarchy.restricted_to(chosen).rows() == kept


@given(hierarchies(max_values=12), st.data())
def test_names_of_levels_stay_with_their_levels(hierarchy, data):
    names = (*(f"level {level}" for level in range(hierarchy.height)), "")
    named = replace(hierarchy, level_names=names)
    places = Domain.of({"a": named, "b": hierarchy}).named_places
    assert places == {"a": ("a", 0), "b": ("b", 0), **{f"level {n}": ("a", n) for n in range(hierarchy.height)}}
    assert Domain.of({"a": named, "level 0": hierarchy}).named_places["level 0"] == ("level 0", 0)
    chosen = data.draw(st.lists(st.integers(0, hierarchy.size(0) - 1), min_size=1))
    assert named.restricted_to(chosen).level_names == names
    levels = sorted(data.draw(st.sets(st.integers(0, hierarchy.height - 1), min_size=1)))
    part = named.over_levels(levels, range(hierarchy.size(levels[0])))
    assert part.level_names == (*(names[level] for level in levels), "")
    assert not hierarchy.over_levels(levels, [0]).level_names
    for wrong in (names[1:], (*names, "")):
        with pytest.raises(HierarchyError, match="levels need as many names, or none"):
            replace(hierarchy, level_names=wrong)


@given(hierarchies(max_levels=3), st.data())
def test_a_row_moved_to_another_branch_breaks_the_nesting_and_is_named(hierarchy, data):
    """Rows are nested exactly when each label of a level comes with one label of the next."""
    rows = [list(row) for row in hierarchy.rows()]
    level = data.draw(st.integers(1, hierarchy.height))
    row = data.draw(st.integers(0, len(rows) - 1))
    rows[row][level] = data.draw(st.sampled_from([labels[level] for labels in rows]))
    above = {(i, r[i]): {other[i + 1] for other in rows if other[i] == r[i]} for r in rows for i in range(len(r) - 1)}
    if all(len(labels) == 1 for labels in above.values()):
        assert Hierarchy.from_rows(rows).rows() == [tuple(r) for r in rows]
    else:
        with pytest.raises(HierarchyError, match=r"row \d+ is not nested"):
            Hierarchy.from_rows(rows)


@given(st.lists(st.text("0123456789", min_size=1, max_size=5), min_size=1, unique=True), st.data())
def test_prefixes_keep_the_first_characters_and_the_length(values, data):
    lengths = sorted(data.draw(st.sets(st.integers(1, 6), max_size=3)), reverse=True)
    hierarchy = Hierarchy.from_prefixes(values, lengths)
    for value, (base, *cut, last) in zip(values, hierarchy.rows(), strict=True):
        assert (base, last) == (value, "*")
        assert [len(label) for label in cut] == [len(value)] * len(lengths)
        assert [label.rstrip("*") for label in cut] == [value[:length] for length in lengths]


@pytest.mark.parametrize(
    ("made", "rows"),
    [
        (Hierarchy.flat(["x", "y"]), [("x", "*"), ("y", "*")]),
        (
            Hierarchy.from_intervals(["7", "123456789", "7"], [10, 100]),
            [("7", "0-9", "0-99", "*"), ("123456789", "123456780-123456789", "123456700-123456799", "*")],
        ),
        (
            Hierarchy.from_decimal_intervals(
                map(Decimal, ["19282.93", "9000", "1000000.5"]), [Decimal(5000), Decimal(10000)]
            ),
            [
                ("9000", "5000-<10000", "0-<10000", "*"),
                ("19282.93", "15000-<20000", "10000-<20000", "*"),
                ("1000000.5", "1000000-<1005000", "1000000-<1010000", "*"),
            ],
        ),
        (
            Hierarchy.from_decimal_intervals([Decimal("0.3")], [Decimal("0.1"), Decimal(1)]),
            [(f"{n / 10:g}", f"{n / 10:g}-<{(n + 1) / 10:g}", "0-<1", "*") for n in range(10)],
        ),
    ],
)
def test_ranges_too_long_to_fill_up_hold_the_given_numbers_only_and_ends_are_exact(made, rows):
    assert made.rows() == rows


@given(st.lists(st.integers(0, 60), min_size=1), st.lists(st.decimals(-4, 4, places=2), min_size=1), st.data())
def test_intervals_tell_no_more_about_the_data_than_the_outermost_ones(numbers, parts, data):
    """Nor how many decimals some value has, unless the values themselves are published."""
    moved = [data.draw(st.integers(n // 20 * 20, n // 20 * 20 + 19)) for n in numbers]
    one, other = (Hierarchy.from_intervals(map(str, values), [5, 20]) for values in (numbers, moved))
    assert one == other
    moved = [n // 2 * 2 - (2 if n < 0 and n % 2 else 0) + data.draw(st.decimals(0, "1.99", places=2)) for n in parts]
    one, other = (
        hierarchy.over_levels([1, 2], range(hierarchy.size(1)))
        for hierarchy in (Hierarchy.from_decimal_intervals(v, [Decimal("0.5"), Decimal(2)]) for v in (parts, moved))
    )
    assert one == other


@st.composite
def interval_widths(draw):
    """Widths that each divide the next: [5, 10], [1, 3, 6], [4]."""
    widths = [draw(st.integers(1, 5))]
    for _ in range(draw(st.integers(0, 2))):
        widths.append(widths[-1] * draw(st.integers(2, 3)))
    return widths


@given(st.lists(st.integers(-60, 60), min_size=1), interval_widths(), st.integers(-7, 7))
def test_each_whole_number_lies_in_its_intervals_and_each_interval_is_full(numbers, widths, start):
    hierarchy = Hierarchy.from_intervals(map(str, numbers), widths, start)
    rows = hierarchy.rows()
    assert set(numbers) <= {int(row[0]) for row in rows}
    for level, width in enumerate(widths, 1):
        inside = {}
        for row in rows:
            inside.setdefault(row[level], []).append(int(row[0]))
        for label, members in inside.items():
            first = members[0]
            last = first + width - 1 - (first - start) % width
            assert members == list(range(first, last + 1))
            assert (first - start) % width == 0 or (first == 0 < start and min(numbers) >= 0), "none reaches below 0"
            assert label == (f"{first}-{last}" if last > first else str(first))


@given(
    st.lists(st.integers(-30, 30), min_size=1, max_size=8),
    st.integers(-4, 4),
    st.sets(st.integers(-40, 40), max_size=4),
)
def test_numbers_apart_are_intervals_by_themselves_and_divide_theirs(
    numbers: list[int], start: int, apart: set[int]
) -> None:
    """Two numbers share an interval where one of the first width holds both, and no number apart is or lies between them."""
    hierarchy = Hierarchy.from_intervals(map(str, numbers), [6, 12], start, sorted(apart))
    groups = hierarchy.lift(0, 1).tolist()
    base = [int(label) for label in hierarchy.labels[0]]
    for (one, group), (other, its) in combinations_with_replacement(zip(base, groups), 2):
        low, high = sorted((one, other))
        together = (one - start) // 6 == (other - start) // 6 and not (apart & set(range(low, high + 1)) and low < high)
        assert (group == its) == (one == other or together)
    for label, group in zip(hierarchy.labels[1], range(hierarchy.size(1))):
        members = [number for number, own in zip(base, groups) if own == group]
        assert label == (str(members[0]) if len(members) == 1 else f"{members[0]}-{members[-1]}")
    assert hierarchy.labels[2:] == Hierarchy.from_intervals(map(str, numbers), [6, 12], start).labels[2:]
    few = Hierarchy.from_intervals(map(str, numbers), [6, 12], start, sorted(apart), full=False)
    assert few.labels[1:] == hierarchy.labels[1:], "the same intervals, and in them what is given"
    assert {*map(str, numbers)} <= {*few.labels[0]}
    assert {*few.rows()} <= {*hierarchy.rows()}


def test_a_value_that_is_no_whole_number_is_refused_by_position():
    with pytest.raises(HierarchyError, match="value 2 is not a whole number") as refused:
        Hierarchy.from_intervals(["3", SECRET], [5])
    assert SECRET not in str(refused.value)
    assert issubclass(HierarchyError, MarginalsError)
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__, "the traceback of int() would quote the value"


@pytest.mark.data
@pytest.mark.parametrize("folder", ["hierarchies", "hierarchies-incognito"])
def test_the_published_adult_hierarchies_are_read_whole(shared_data, folder):
    files = sorted((shared_data / "adult" / folder).glob("*.csv"))
    assert files
    for file in files:
        with file.open(newline="") as lines:
            rows = [tuple(row) for row in csv.reader(lines, delimiter=";")]
        hierarchy = Hierarchy.from_rows(rows)
        assert hierarchy.rows() == rows
        assert all(len(above) <= len(below) for below, above in pairwise(hierarchy.labels))


def test_more_labels_than_are_asked_for_are_refused_when_they_are_reached() -> None:
    """Labels are counted, not the cells of the file: many base values may share the labels of many levels."""
    rows = ([str(value), *["all"] * 50, "*"] for value in range(100))
    assert Hierarchy.from_rows(rows, 150).height == 51
    endless = ([f"{value}.{level}" for level in range(99)] + ["*"] for value in count())
    with pytest.raises(HierarchyError, match="more than 1000 labels"):
        Hierarchy.from_rows(endless, 1000)


decimals = st.decimals(-4, 4, places=2)


@st.composite
def decimal_widths(draw):
    """Widths that each divide the next, some of them whole: [0.1, 0.5], [2.5, 5], [1]."""
    widths = [draw(st.sampled_from(["0.05", "0.1", "0.25", "0.3", "1", "2.5"]).map(Decimal))]
    for _ in range(draw(st.integers(0, 2))):
        widths.append(widths[-1] * draw(st.integers(2, 5)))
    return widths


@given(st.lists(decimals, min_size=1), decimal_widths(), st.decimals(-3, 3, places=1))
def test_each_number_lies_in_its_decimal_intervals_and_each_interval_is_full(numbers, widths, start):
    """Counted in fractions, from the labels as a reader would take them."""
    hierarchy = Hierarchy.from_decimal_intervals(numbers, widths, start)
    rows = hierarchy.rows()
    assert {Fraction(number) for number in numbers} <= {Fraction(row[0]) for row in rows}
    assert [Fraction(row[0]) for row in rows] == sorted(Fraction(row[0]) for row in rows)
    sizes = {level: set() for level in range(1, hierarchy.height)}
    for level, width in enumerate(widths, 1):
        inside = {}
        for row in rows:
            inside.setdefault(row[level], []).append(Fraction(row[0]))
        for label, members in inside.items():
            low, high = map(Fraction, label.split("-<"))
            assert (high - Fraction(start)) % Fraction(width) == 0
            assert all(low <= member < high for member in members)
            if high - low == Fraction(width):
                sizes[level].add(len(members))
            else:
                assert low == 0 < start, "only that of 0 is shorter"
                assert min(numbers) >= 0
                assert high - low < Fraction(width)
    assert all(len(each) <= 1 for each in sizes.values()), "each interval of a level has as many base values"
    few = Hierarchy.from_decimal_intervals(numbers, widths, start, full=False)
    assert few.labels[1:] == hierarchy.labels[1:]
    assert {*few.rows()} <= {*rows}
    assert not any("E" in label or label.startswith("-0-") for labels in hierarchy.labels for label in labels)


# Domains: masks and margins say the same, containment of masks is coarsening, and strangers are refused by name.


DOMAIN = Domain.of(
    {
        "zip": Hierarchy.from_prefixes(["14850", "14853", "13063"], [4, 2]),
        "age": Hierarchy.from_intervals(["3"], [2, 4]),
    }
)


def _published(domain, margin):
    return {a: level for a, level in margin.items() if level < domain.hierarchy(a).height}


@given(st.data())
def test_the_vertices_of_a_mask_are_the_steps_from_the_root_to_the_level(data):
    """KG06 6.1: level l of a hierarchy of height h is the steps h - 1, h - 2, .., l."""
    domain = data.draw(domains())
    margin = data.draw(margins(domain))
    steps = {
        (attribute, step)
        for attribute, level in margin.items()
        for step in range(level, domain.hierarchy(attribute).height)
    }
    mask, published = domain.mask(margin), _published(domain, margin)
    assert {domain.induced_attributes[vertex] for vertex in vertices_of(mask)} == steps
    assert list(vertices_of(mask)) == [vertex for vertex in range(domain.vertex_count) if mask >> vertex & 1]
    assert domain.margin(mask) == published, "suppressed attributes are left out"
    assert domain.levels(mask) == {a: margin.get(a, hierarchy.height) for a, hierarchy in domain.items()}
    cells = prod(len(set(lifted(domain.hierarchy(a), 0, level).tolist())) for a, level in margin.items())
    assert domain.size(margin) == domain.cell_count(mask) == cells


@given(st.data())
def test_masks_contain_each_other_exactly_when_margins_coarsen_each_other(data):
    domain = data.draw(domains())
    fine, other = data.draw(margins(domain)), data.draw(margins(domain))
    coarse = data.draw(coarser_margins(domain, fine))
    for margin in (coarse, other):
        shown = _published(domain, margin)
        coarser = all(a in fine and fine[a] <= level for a, level in shown.items())
        assert (domain.mask(margin) & ~domain.mask(fine) == 0) == coarser
    assert domain.mask(coarse) & ~domain.mask(fine) == 0


@given(st.data())
def test_a_mask_is_a_margin_exactly_when_it_skips_no_coarser_step(data):
    domain = data.draw(domains())
    mask = data.draw(st.integers(0, (1 << domain.vertex_count) - 1))
    held = {domain.induced_attributes[vertex] for vertex in vertices_of(mask)}
    if all((a, above) in held for a, level in held for above in range(level, domain.hierarchy(a).height)):
        assert domain.margin(mask) == {a: min(level for b, level in held if a == b) for a, _ in held}
    else:
        with pytest.raises(DomainMismatchError, match="every coarser step"):
            domain.margin(mask)


@pytest.mark.parametrize("mask", [-1, 1 << 6, 1 << 70, (1 << 70) | 1])
def test_masks_with_bits_outside_the_domain_are_refused(mask):
    with pytest.raises(DomainMismatchError):
        DOMAIN.margin(mask)


LEVELS = st.dictionaries(st.sampled_from("abcd"), st.integers(0, 3))


@given(LEVELS, LEVELS, st.randoms())
def test_a_margin_equals_the_mapping_in_any_order_and_no_other(levels, others, random):
    shuffled = list(levels.items())
    random.shuffle(shuffled)
    margin, other = Margin(levels), Margin(dict(shuffled))
    assert margin == levels
    assert margin == other
    assert hash(margin) == hash(other)
    assert list(margin) == sorted(levels)
    assert str(margin) == str(other)
    assert (margin == Margin(others)) == (levels == others)
    assert len({margin, Margin(others)}) == 1 + (levels != others)


def test_a_margin_keeps_no_hold_on_the_mapping_it_came_from():
    levels = {"a": 1}
    margin = Margin(levels)
    levels["a"] = 2
    assert margin["a"] == 1
    with pytest.raises(TypeError):
        margin["a"] = 2


# Partitions by thresholds, against their definition by sets.


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
                own, other = some[0], nearest(some[0], some[1:], rows, first, size)
            elif some and alone is not None and rows(some[0]) < size:
                own, other = some[0], alone
            elif len(some) > 1 and scarce:
                own, other = scarce[0], nearest(scarce[0], [g for g in some if g != scarce[0]], rows, first, size)
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
    def nearest(group, others, rows, _first, _size):
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
    """The smallest; with profiles that with which their tables lose least: total variation before and after.

    What has more than five times the size keeps its name as long as another is left.
    """
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

    def nearest(group, others, rows, first, size):
        return min(
            others,
            key=lambda each: (
                common(group, each),
                with_profiles and rows(each) > 5 * size,
                lost(group, each, rows) if with_profiles and rows(each) <= 5 * size else 0,
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
