"""One hierarchy for what several releases say of an attribute, as if one had cut it from the table's own."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from marginals.published_values import CountedHierarchy, matched_levels
from models import CountArray, Hierarchy
from strategies import hierarchies


def cut(hierarchy: Hierarchy, counts: CountArray, levels: list[int]) -> CountedHierarchy:
    """What a release tells of a hierarchy whose base values have so many rows, if its margins show these levels."""
    if not levels:
        return CountedHierarchy(hierarchy.over_levels([], []), 0, np.array([counts.sum()]))
    rows = np.bincount(hierarchy.lift(0, levels[0]), counts, minlength=hierarchy.size(levels[0])).astype(np.int64)
    occurring = np.flatnonzero(rows)
    return CountedHierarchy(hierarchy.over_levels(levels, occurring.tolist()), 0, rows[occurring])


@st.composite
def counted(draw: st.DrawFn, hierarchy: Hierarchy) -> CountArray:
    size = hierarchy.size(0)
    counts = np.array(draw(st.lists(st.integers(0, 5), min_size=size, max_size=size)), dtype=np.int64)
    assume(counts.any())
    return counts


def numbers() -> Hierarchy:
    return Hierarchy.from_intervals(["0", "39"], [5, 10, 20])


def codes() -> Hierarchy:
    return Hierarchy.from_prefixes([f"{n:03}" for n in range(0, 1000, 37)], [2, 1])


def groups(part: Hierarchy, whole: Hierarchy, levels: tuple[int, ...]) -> None:
    """Assert that the values of these levels of the whole merge as those of the part do, label by label."""
    for level, place in enumerate(levels):
        assert set(part.labels[level]) <= set(whole.labels[place])
    for (level, place), (above, place_above) in pairwise(enumerate(levels)):
        for code, label in enumerate(part.labels[level]):
            over = whole.labels[place_above][whole.lift(place, place_above)[whole.code(label, place)]]
            assert over == part.labels[above][part.lift(level, above)[code]]


@pytest.mark.slow
@pytest.mark.parametrize("make", [numbers, codes])
@given(data=st.data())
def test_levels_of_two_releases_whose_labels_say_what_they_stand_for_are_brought_together(
    make: "type[Hierarchy]", data: st.DataObject
) -> None:
    hierarchy = make()
    counts = data.draw(counted(hierarchy))
    chosen = st.sets(st.integers(0, hierarchy.height - 1)).map(sorted)
    levels = data.draw(chosen), data.draw(chosen)
    one, other = (cut(hierarchy, counts, own) for own in levels)
    together = one.merged(other)
    assert together is not None
    for part in (one, other):
        places = part.levels_in(together)
        assert places is not None
        groups(part.hierarchy, together.hierarchy, places)
    union = cut(hierarchy, counts, sorted({*levels[0], *levels[1]}))
    assert {frozenset(own) for own in together.hierarchy.labels} == {frozenset(own) for own in union.hierarchy.labels}
    assert together.counts_at(together.finest) == union.counts_at(union.finest)


@given(st.data())
def test_a_published_part_of_a_hierarchy_is_found_again(data: st.DataObject) -> None:
    """By labels and counts together, also where levels repeat labels; then what it counts is what the whole counts."""
    hierarchy = data.draw(hierarchies())
    counts = data.draw(counted(hierarchy))
    levels = data.draw(st.sets(st.integers(0, hierarchy.height - 1)).map(sorted))
    part, whole = cut(hierarchy, counts, levels), CountedHierarchy(hierarchy, 0, counts)
    places = part.levels_in(whole)
    assert places is not None
    assert places[-1] == hierarchy.height
    groups(part.hierarchy, hierarchy, places)
    for level, place in enumerate(places):
        assert part.counts_at(level) == whole.counts_at(place)
    assert part.merged(whole) is not None
    assert whole.merged(part) is not None


def test_what_counts_contradict_or_labels_do_not_say_stays_apart() -> None:
    fine = CountedHierarchy(Hierarchy.flat(["20-24", "25-29", "30-34"]), 0, np.array([3, 4, 5]))
    coarse = CountedHierarchy(Hierarchy.flat(["20-29", "30-39"]), 0, np.array([7, 5]))
    both = fine.merged(coarse)
    assert both is not None
    assert both.hierarchy.rows() == [("20-24", "20-29", "*"), ("25-29", "20-29", "*"), ("30-34", "30-39", "*")]
    assert fine.merged(CountedHierarchy(coarse.hierarchy, 0, np.array([8, 4]))) is None, "other counts"
    across = CountedHierarchy(Hierarchy.flat(["20-26", "27-39"]), 0, np.array([4, 8]))
    assert fine.merged(across) is None
    assert across.merged(fine) is None
    named = CountedHierarchy(Hierarchy.flat(["young", "old"]), 0, np.array([7, 5]))
    assert fine.merged(named) is None


def test_a_label_that_stands_for_itself_and_for_more_is_told_by_its_count() -> None:
    jobs = Hierarchy.from_rows([("cook", "cook", "*"), ("chef", "cook", "*"), ("clerk", "clerk", "*")])
    whole = CountedHierarchy(jobs, 0, np.array([30, 20, 30]))
    for counts, levels in (([50, 30], (1, 2)), ([30, 50], (0, 2))):
        part = CountedHierarchy(Hierarchy.flat(["cook", "clerk"]), 0, np.array(counts))
        assert part.levels_in(whole) == levels
    assert matched_levels(Hierarchy.flat(["cook", "tailor"]), jobs) is None
