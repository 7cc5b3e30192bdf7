"""What differences tell of the people who came and left, by counting."""

from collections import Counter
from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from checks.changes import SHOWN, CellDifference, ChangedPeople, OneValue, changed_people
from models import Collection, ContingencyTable, DataCube, Domain, Hierarchy

DOMAIN = Domain.of({"town": Hierarchy.flat("abc"), "illness": Hierarchy.flat("xyz")})
CELLS = list(product("abc", "xyz"))


def release(counts: list[int]) -> Collection:
    """Of a table with so many rows of each town and illness, all cells published."""
    codes = {"town": np.repeat(range(3), 3), "illness": np.tile(range(3), 3)}
    table = ContingencyTable.from_cells(DOMAIN, {"town": 0, "illness": 0}, codes, np.array(counts))
    return Collection.of(DataCube([table]), [table.mask])


def told(before: list[int], after: list[int], least: int = 5) -> ChangedPeople:
    return changed_people(release(before), release(after), ["illness"], least)


COUNTS = st.lists(st.integers(1, 8), min_size=9, max_size=9)


@given(COUNTS, COUNTS)
def test_classes_in_which_one_value_alone_rose_or_fell_are_those_of_counting(
    before: list[int], after: list[int]
) -> None:
    found = told(before, after)
    changes = {cell: new - old for cell, old, new in zip(CELLS, before, after)}
    expected = []
    for town, sign in product("abc", (1, -1)):
        moved = [(illness, changes[town, illness]) for illness in "xyz" if sign * changes[town, illness] > 0]
        if len(moved) == 1:
            expected.append((town, *moved[0]))
    assert found.classes == len(expected)
    assert Counter((each.cell["town"], each.value, each.difference) for each in found.one_value) == Counter(expected)
    assert found.small == sum(0 < abs(change) < 5 for change in changes.values())
    assert len(found.smallest) == (min(found.small, SHOWN) or min(1, sum(change != 0 for change in changes.values())))


def test_one_who_left_is_named_with_the_value() -> None:
    found = told([9] * 9, [8] + [9] * 8)
    assert found.smallest == (CellDifference({"town": "a", "illness": "x"}, {"town": 0, "illness": 0}, 9, 8),)
    assert found.one_value == (OneValue("illness", "x", {"town": "a"}, -1),)
    assert found.as_json()["one_value"]["smallest"][0]["value"] == "x"


def test_of_large_differences_the_smallest_is_shown() -> None:
    found = told([9] * 9, [19, 16, *[9] * 7])
    assert (found.small, [each.difference for each in found.smallest]) == (0, [7])
    assert not told([9] * 9, [9] * 9).smallest


def test_a_class_that_has_one_value_only_tells_nothing_new() -> None:
    assert not told([9, 0, 0] * 3, [8, 0, 0] + [9, 0, 0] * 2).classes
