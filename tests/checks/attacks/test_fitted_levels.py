"""What fitted levels tell, against every table that has the same published level."""

from collections.abc import Iterator
from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from checks import KLink
from checks.attacks.minimality import FittedLevelDisclosure, level_told, levels_told, refinements
from marginals import Attribute
from marginals.tables.group_names import GroupNaming
from marginals.tables.levels import attribute_ladder
from models import Collection, ContingencyTable, DataCube, Domain, FrechetBounds, Hierarchy
from models.tables.fitted_levels import FittedLadder

TREE = Hierarchy.from_rows([("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*"), ("d", "y", "*")])
GIVEN = {
    "numbers": Attribute("quasi-identifier", ladder="fitted"),
    "tree": Attribute("quasi-identifier", hierarchy=TREE, ladder="fitted"),
    "bands": Attribute("quasi-identifier", intervals=[2], ladder="fitted"),
}
VALUES = {"numbers": ["1", "2", "3", "4"], "tree": ["a", "b", "c", "d"], "bands": ["1", "2", "4", "6"]}


def ladder(kind: str, counts: tuple[int, ...], k: int) -> tuple[Hierarchy, np.ndarray]:
    """The hierarchy of a column with so many rows of each of its values, and the rows of its base values."""
    given_one = GIVEN[kind].hierarchy_of(VALUES[kind])
    rows = np.zeros(given_one.size(0), dtype=np.int64)
    for value, count in zip(VALUES[kind], counts):
        rows[given_one.labels[0].index(value)] = count
    return attribute_ladder(GroupNaming.of("z", GIVEN[kind], given_one), rows, k), rows


def published(hierarchy: Hierarchy, rows: np.ndarray, level: int) -> Collection:
    table = ContingencyTable.from_cells(Domain.of({"z": hierarchy}), {"z": 0}, {"z": np.arange(len(rows))}, rows)
    return Collection.of(DataCube([table]), [table.domain.mask({"z": level})])


def all_told(kind: str, counts: tuple[int, ...], k: int) -> Iterator[tuple[FittedLevelDisclosure, list[np.ndarray]]]:
    """What each level tells, and the rows of the merged values of each of its merged groups."""
    hierarchy, rows = ladder(kind, counts, k)
    start = GIVEN[kind].first_merged
    sizes = np.bincount(hierarchy.lift(0, start), rows, hierarchy.size(start)).astype(np.int64)
    for level in range(start + 1, hierarchy.height):
        groups = hierarchy.lift(start, level)
        members = [sizes[groups == group] for group in np.unique(groups)]
        merged = [own for own in members if len(own) > 1]
        told = level_told(published(hierarchy, rows, level), "z", level, FittedLadder(start, k))
        assert (told is None) == (not merged)
        if told is not None:
            yield told, merged


@given(st.sampled_from(sorted(GIVEN)), st.tuples(*[st.integers(0, 40)] * 4), st.integers(1, 8))
def test_each_merged_group_holds_a_value_with_so_few_rows(kind: str, counts: tuple[int, ...], k: int) -> None:
    if not any(counts):
        return
    for told, merged in all_told(kind, counts, k):
        assert told.merged == len(merged)
        for own in merged:
            assert 1 <= own[own > 0].min() < told.fewer_than


def test_nothing_less_is_told_of_some_table() -> None:
    """Of each bound that is told, some table with small counts has a group whose rarest value comes next to it."""
    reached: dict[int, int] = {}
    for counts in product(range(0, 9, 2), (1, 2, 3, 4, 5, 6, 7), (6, 9, 20), (0, 30)):
        for told, merged in all_told("numbers", counts, 3):
            rarest = max(int(own[own > 0].min()) for own in merged)
            reached[told.fewer_than] = max(reached.get(told.fewer_than, 0), rarest)
    assert reached[3] == 2
    assert reached[5] == 4


def test_a_step_to_rare_values_tells_nothing_more_to_whom_the_ladder_tells_it() -> None:
    hierarchy, rows = ladder("numbers", (20, 2, 4, 7), 5)
    collection = published(hierarchy, rows, 1)
    bounds = FrechetBounds.of(collection).of_margin
    [plain] = refinements(collection, (), [KLink(5)], bounds)
    [step] = refinements(collection, (), [KLink(5)], bounds, {"z": FittedLadder(0, 5)})
    assert (plain.is_certain, step.is_certain) == (False, True)
    [weaker] = refinements(collection, (), [KLink(4)], bounds, {"z": FittedLadder(0, 5)})
    assert not weaker.is_certain, "a value with four rows would have passed"


@settings(max_examples=30)
@given(st.sampled_from(["numbers", "tree"]), st.tuples(*[st.integers(0, 12)] * 4), st.integers(2, 6), st.integers(1, 6))
def test_a_step_back_to_what_was_merged_is_refused_in_every_table_with_the_same_ladder(
    kind: str, counts: tuple[int, ...], k: int, asked: int
) -> None:
    """Every table with the same rows in each group of the first fitted level, whose own ladder has that level."""
    if not any(counts):
        return
    hierarchy, rows = ladder(kind, counts, k)
    if hierarchy.height < 2:
        return
    collection = published(hierarchy, rows, 1)
    own = FittedLadder(0, k)
    bounds = FrechetBounds.of(collection).of_margin
    [plain] = refinements(collection, (), [KLink(asked)], bounds)
    [step] = refinements(collection, (), [KLink(asked)], bounds, {"z": own})
    if not step.is_certain or plain.is_certain:
        assert step == plain
        return
    groups = hierarchy.lift(0, 1)
    totals = np.bincount(groups, rows)
    refused = []
    for world in product(range(13), repeat=4):
        if np.array_equal(np.bincount(groups, world), totals):
            other, _ = ladder(kind, world, k)
            if other.height > 1 and np.array_equal(other.lift(0, 1), groups):
                refused.append(any(0 < count < asked for count in world))
    assert refused
    assert all(refused)


def test_the_finest_level_is_told_first_and_bands_as_they_are_tell_nothing() -> None:
    hierarchy, rows = ladder("bands", (20, 1, 2, 30), 3)
    collection = published(hierarchy, rows, 1)
    assert levels_told(collection, {"z": FittedLadder(1, 3)}) == ()
    hierarchy, rows = ladder("numbers", (20, 1, 6, 30), 3)
    cube = published(hierarchy, rows, 1).cube
    both = Collection.of(cube, [cube.domain.mask({"z": level}) for level in (2, 1)])
    assert [told.level for told in levels_told(both, {"z": FittedLadder(0, 3)})] == [1, 2]
    assert levels_told(both, {}) == ()
