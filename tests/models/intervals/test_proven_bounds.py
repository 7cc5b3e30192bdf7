"""Proven bounds are those of all populations that fit, listed one by one, and those of printed examples."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp

from label_oracles import SMALL, LabelledTables, linked_labels, random_labelled_tables
from models import (
    UNBOUNDED,
    Classification,
    ContradictionError,
    Deadline,
    IntervalTable,
    disagreements,
    linked_tables,
    proven_bounds,
)
from models.intervals.proofs import explained

WIDE, NOTHING_WIDE = 2_000, 0
"""Cells of wider joint tables, for each cell of what all tables have: so many by default."""


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1))
def test_bounds_are_those_of_all_populations_that_fit(seed: int) -> None:
    assert compare_labelled(random_labelled_tables(np.random.default_rng(seed), SMALL), WIDE)[1] == 0


def test_what_there_is_no_time_for_is_bounded_and_not_decided() -> None:
    for seed in range(5):
        linked = linked_labels(random_labelled_tables(np.random.default_rng(seed), SMALL))
        bounds = proven_bounds(linked, deadline=Deadline(0.0, lambda: 1.0))
        whole = proven_bounds(linked)
        assert (bounds.lower <= whole.lower).all()
        assert (bounds.upper >= whole.upper).all()
        assert np.array_equal(bounds.decided, bounds.exact)


NIGHTLY = pytest.mark.skipif("MARGINALS_TIMES" not in os.environ, reason="many random tables are for `make nightly`")


def compare_labelled(published: LabelledTables, wide: int) -> tuple[int, int]:
    """Whether bounds hold, and are attained where they are called sharp; how many cells are, and how many are not."""
    found = linked_labels(published, wide=wide)
    bounds = proven_bounds(found)
    populations = published.populations()
    assert len(populations)
    for cell in range(len(found)):
        counts = populations @ published.inside(found.named(cell))
        ends, proven = (counts.min(), counts.max()), (bounds.lower[cell], bounds.upper[cell])
        assert proven[0] <= ends[0]
        assert ends[1] <= proven[1]
        if bounds.sharp[cell]:
            assert proven == ends
        else:
            assert not bounds.decided[cell]
    sharp = int(bounds.sharp.sum())
    return sharp, len(found) - sharp


@pytest.mark.parametrize("wide", [WIDE, NOTHING_WIDE])
@settings(max_examples=15)
@given(seed=st.integers(0, 2**32 - 1))
def test_bounds_of_up_to_five_attributes_hold_and_are_sharp_by_a_wider_joint_table(wide: int, seed: int) -> None:
    """Without a wider one some are open, and those that are called sharp are attained."""
    open_cells = compare_labelled(random_labelled_tables(np.random.default_rng(seed)), wide)[1]
    assert open_cells == 0 or wide == NOTHING_WIDE


@NIGHTLY
@pytest.mark.parametrize("wide", [WIDE, NOTHING_WIDE])
def test_bounds_of_many_random_tables(wide: int) -> None:
    open_cells = 0
    for seed in range(10_000):
        if wide == WIDE:
            open_cells += compare_labelled(random_labelled_tables(np.random.default_rng(seed), SMALL), wide)[1]
        open_cells += compare_labelled(random_labelled_tables(np.random.default_rng(seed)), wide)[1]
    assert (open_cells == 0) == (wide == WIDE)


@pytest.mark.parametrize("seed", [898, 991, 1067, 1407])
def test_bounds_that_the_linked_tables_attain_and_no_population_does_are_not_called_sharp(seed: int) -> None:
    """Joint tables of three attributes each agree with all others here, and yet no population has them all."""
    published = random_labelled_tables(np.random.default_rng(seed))
    assert compare_labelled(published, NOTHING_WIDE)[1] > 0
    found = linked_labels(published, wide=NOTHING_WIDE)
    believed = proven_bounds(replace(found, covered=np.ones(len(found), dtype=np.bool_)))
    counts = np.array([published.populations() @ published.inside(found.named(cell)) for cell in range(len(found))])
    assert (believed.sharp & ((believed.lower < counts.min(axis=1)) | (believed.upper > counts.max(axis=1)))).any()


MANY = 10_000
"""People of a kind, more than any table has; so many stand for no end."""


def altered(rng: np.random.Generator, published: LabelledTables) -> LabelledTables:
    tables = [(attributes, list(cells)) for attributes, cells in published.tables]
    for _ in range(rng.integers(1, 4)):
        _, cells = tables[rng.integers(len(tables))]
        if cells:
            place, step = rng.integers(len(cells)), int(rng.integers(-3, 4))
            labels, low, high = cells[place]
            cells[place] = (labels, max(low + step, 0), None if high is None else max(high + step, 0))
    return replace(published, tables=tuple((attributes, tuple(cells)) for attributes, cells in tables))


def rows(published: LabelledTables, tables: Sequence[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which people each cell of some tables counts, and the ends of its range."""
    cells = [cell for table in tables for cell in published.tables[table][1]]
    people = len(list(published.combinations()))
    inside = np.array([published.inside(labels) for labels, _, _ in cells]).reshape(-1, people)
    low = np.array([cell[1] for cell in cells], dtype=float)
    high = np.array([np.inf if cell[2] is None else cell[2] for cell in cells], dtype=float)
    return inside, low, high


def extreme(published: LabelledTables, tables: Sequence[int], objective: np.ndarray) -> float | None:
    """The least of an objective over all populations that fit some tables; None where there are none."""
    inside, low, high = rows(published, tables)
    constraints = [LinearConstraint(inside, low, high)] if len(inside) else []
    found = milp(objective, constraints=constraints, bounds=Bounds(0, MANY), integrality=np.ones(len(objective)))
    assert found.status in (0, 2)
    return None if found.status == 2 else (-np.inf if found.fun <= -MANY else round(found.fun))


def fit(published: LabelledTables, tables: Sequence[int]) -> bool:
    return extreme(published, tables, np.zeros(len(list(published.combinations())))) is not None


def compare_altered(seed: int) -> tuple[bool, bool, bool]:
    """Whether the tables contradict each other, whether that is said, and whether it is named by which tables."""
    rng = np.random.default_rng(seed)
    published = altered(rng, random_labelled_tables(rng))
    linked = linked_labels(published)
    every = range(len(published.tables))
    try:
        bounds = proven_bounds(linked)
    except ContradictionError:
        pass
    else:
        fits = fit(published, every)
        assert disagreements(linked) == [] or not fits
        assert fits or not bounds.decided.all()
        return not fits, False, False
    assert not fit(published, every)
    pairs = disagreements(linked)
    for each in pairs:
        assert not fit(published, sorted(set(each.tables)))
        inside = published.inside(linked.named(each.cell)).astype(float)
        assert each.gap >= 1
        for table, ends in zip(each.tables, each.ranges):
            if each.tables[0] != each.tables[1] and fit(published, [table]):  # or only programs tell that it does not
                least, most = extreme(published, [table], inside), extreme(published, [table], -inside)
                assert least is not None
                assert most is not None
                assert ends[0] <= least
                assert ends[1] == UNBOUNDED or -most <= ends[1]
    return True, True, bool(pairs)


@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1))
@example(13951998)  # a table that contradicts itself
def test_what_is_said_of_altered_tables_is_so(seed: int) -> None:
    compare_altered(seed)


@NIGHTLY
def test_contradictions_of_many_altered_tables_are_named() -> None:
    found = np.array([compare_altered(seed) for seed in range(600)])
    contradictory, said, named = found.sum(axis=0)
    assert contradictory > 300
    assert said >= 0.99 * contradictory
    assert named >= 0.95 * contradictory, "of few only several tables together tell"


SEX = Classification("sex", ("f", "m"))
AGE = Classification("age", ("young", "old"))


def test_two_tables_that_disagree_on_a_count_they_both_add_up_to() -> None:
    by_sex = IntervalTable.of("by sex", ["sex"], {(1,): (10, 10), (2,): (20, 20)})
    both = IntervalTable.of(
        "both", ["sex", "age"], {(1, 1): (1, 4), (1, 2): (2, 2), (2, 1): (5, 5), (2, 2): (0, UNBOUNDED)}
    )
    fits = IntervalTable.of("by age", ["age"], {(1,): (6, 9), (2,): (0, UNBOUNDED)})
    linked = linked_tables([by_sex, both, fits], [SEX, AGE])
    (found,) = disagreements(linked)
    assert found.tables == (0, 1)
    assert linked.named(found.cell) == {"sex": "f"}
    assert found.ranges == ((10, 10), (3, 6))
    assert found.gap == 4
    with pytest.raises(ContradictionError):
        proven_bounds(linked)


def test_a_table_whose_total_is_not_the_sum_of_its_cells() -> None:
    table = IntervalTable.of("alone", ["sex"], {(1,): (10, 10), (2,): (1, 4), (SEX.everything,): (20, 21)})
    (found,) = disagreements(linked_tables([table], [SEX]))
    assert (found.tables, found.gap) == ((0, 0), 6)
    table = IntervalTable.of("by one", ["sex"], {(1,): (10, 10), (2,): (1, 4), (SEX.everything,): (15, 21)})
    assert [each.gap for each in disagreements(linked_tables([table], [SEX]))] == [1]
    two_steps_above = {(1, 1): (1, 1), (1, 2): (2, 2), (2, 1): (3, 3), (2, 2): (4, 4), (3, 3): (12, 12)}
    (found,) = disagreements(linked_tables([IntervalTable.of("t", ["sex", "age"], two_steps_above)], [SEX, AGE]))
    assert found.gap == 2


AREA = Classification("area", ("Aurora", "Boone"))
UNDER_65 = Classification("age", ("under 65",), others=True)


def test_all_aurora_minus_aurora_under_65() -> None:
    everybody = IntervalTable.of("everybody", ["area"], {(1,): (412, 412), (2,): (300, 300)})
    young = IntervalTable.of("young", ["area", "age"], {(1, 1): (409, 409), (2, 1): (250, 250)})
    linked = linked_tables([everybody, young], [AREA, UNDER_65])
    bounds = proven_bounds(linked)
    names = list(map(linked.named, range(len(linked))))
    old = names.index({"area": "Aurora", "age": "other than under 65"})
    assert bounds.lower[old] == bounds.upper[old] == 3
    found = explained(linked, bounds, old, upper=False)
    assert found.is_whole
    said = [(int(term.times), linked.named(term.cell), term.lower) for term in found.terms]
    assert sorted(said, key=lambda each: -each[0]) == [
        (1, {"area": "Aurora"}, 412),
        (-1, {"area": "Aurora", "age": "under 65"}, 409),
    ]


def test_explanations_are_identities_of_the_truth() -> None:
    proven = 0
    for seed in (0, 1, 2):
        published = random_labelled_tables(np.random.default_rng(seed), SMALL)
        linked = linked_labels(published)
        bounds, truth = proven_bounds(linked), published.populations()[0]
        counts = [int(truth @ published.inside(linked.named(cell))) for cell in range(len(linked))]
        for cell in range(0, len(linked), 3):
            for upper in (False, True):
                found = explained(linked, bounds, cell, upper=upper)
                if found.is_whole:
                    proven += 1
                    assert sum(term.times * counts[term.cell] for term in found.terms) == counts[cell]
    assert proven > 5


# Published examples of what suppressed and linked tables give away come out as they are printed, or as computed here.


Cell = Mapping[str, str]
Interval = tuple[Any, Any]
"""The least and the largest number that is possible; `UNBOUNDED` for none."""

SUPPRESSED: Interval = (0, UNBOUNDED)

Example = tuple[list[IntervalTable], list[Classification], list[Cell], list[Interval]]
"""Printed tables, what they are by, and the proven interval of some cells."""


def table(name: str, by: Sequence[Classification], cells: Mapping[tuple[str, ...], int | None]) -> IntervalTable:
    """A table by labels; "all" is the total, None a suppressed count."""
    sets = {
        tuple(c.everything if label == "all" else c.members(label) for c, label in zip(by, key)): count
        for key, count in cells.items()
    }
    ranges = {key: SUPPRESSED if count is None else (count, count) for key, count in sets.items()}
    return IntervalTable.of(name, [c.name for c in by], ranges)


def crossed(
    name: str, by: Sequence[Classification], rows: Mapping[str, Sequence[int | None]], columns: Sequence[str]
) -> IntervalTable:
    """A table as it is printed: a row for each value of the first attribute."""
    return table(name, by, {(row, column): c for row, counts in rows.items() for column, c in zip(columns, counts)})


def bounds_of(tables: Sequence[IntervalTable], by: Sequence[Classification], cells: Sequence[Cell]) -> list[Interval]:
    """What is proven of some cells, all of it sharp."""
    linked = linked_tables(tables, by)
    bounds = proven_bounds(linked)
    names = [linked.named(cell) for cell in range(len(linked))]
    places = [names.index(dict(cell)) for cell in cells]
    assert bounds.sharp[places].all()
    return [(int(bounds.lower[place]), int(bounds.upper[place])) for place in places]


def exactly(*counts: int) -> list[Interval]:
    return [(count, count) for count in counts]


def printed(
    by: Sequence[Classification], rows: Mapping[str, Sequence[int | None]], cell: Sequence[str], interval: Interval
) -> Example:
    """One printed table with its totals, and what is proven of one of its cells."""
    names = [each.name for each in by]
    return [crossed("printed", by, rows, (*by[1].base, "all"))], by, [dict(zip(names, cell))], [interval]


def areas_drawn_twice() -> Example:
    area = Classification("area", ("new", "rest"), {"old": frozenset({"new", "rest"})}, others=True)
    hours = Classification("hours", ("more than 30", "16-30", "15 or less"))
    sex = Classification("sex", ("male", "female"))
    counts = {"new": [(50, 54), (128, 140), (39, 49)], "old": [(52, 55), (130, 140), (39, 49)]}
    tables = [
        table(label, [area, hours, sex], {(label, h, s): count for h, own in zip(hours.base, rows)
                                          for s, count in zip(sex.base, own)})
        for label, rows in counts.items()
    ]  # fmt: skip
    cells = [{"area": "rest", "hours": h, "sex": s} for h in hours.base for s in sex.base]
    return tables, [area, hours, sex], cells, exactly(2, 1, 2, 0, 0, 0)


def residence_work_and_sex() -> Example:
    living = Classification("living", ("A", "elsewhere"))
    working = Classification("working", ("A", "elsewhere", "not"), {"employed": frozenset({"A", "elsewhere"})})
    sex = Classification("sex", ("male", "female"))
    employment = {("A", "employed"): 85, ("A", "not"): 17, ("A", "all"): 102}
    places = {("all", "A"): 49, ("A", "all"): 102, ("A", "A"): 22}
    males = {("A", "A", "male"): 21, ("A", "elsewhere", "male"): 58, ("elsewhere", "A", "male"): 23}
    tables = [
        table("employment", [living, working], employment),
        table("places", [living, working], places),
        table("males", [living, working, sex], males),
    ]
    cells = [
        {"living": one, "working": other, "sex": "female"}
        for one, other in (("A", "A"), ("A", "elsewhere"), ("elsewhere", "A"))
    ]
    return tables, [living, working, sex], cells, exactly(1, 5, 4)


def hours_grouped_in_two_ways() -> Example:
    base = ("0-19", "20-24", "25-39", "40-59", "60-69", "70 or more")
    hours = Classification("hours", base, {"<25": frozenset(base[:2]), "20-39": frozenset(base[1:3])})
    sex = Classification("sex", ("male", "female"))
    first = {"male": (6, 9, 5, 8, 4), "female": (10, 38, 51, 42, 32)}
    tables = [
        crossed("one", [sex, hours], first, ("0-19", "20-39", *base[3:])),
        crossed("other", [sex, hours], first | {"male": (7, 8, 5, 8, 4)}, ("<25", "25-39", *base[3:])),
    ]
    return tables, [hours, sex], [{"hours": "20-24", "sex": s} for s in sex.base], exactly(1, 0)


EXAMPLES: dict[str, Example] = {
    # After the Federal Committee on Statistical Methodology's Working Paper 22 (1994), chapter II, which could not be read
    # again: the answer was computed by integer programs.
    "delinquent children": printed(
        [Classification("county", ("Alpha", "Beta", "Gamma", "Delta")),
         Classification("education", ("low", "medium", "high", "very high"))],
        {
            "Alpha": (15, None, None, None, 20),
            "Beta": (20, None, None, 15, 55),
            "Gamma": (None, 10, 10, None, 25),
            "Delta": (None, 14, 7, None, 35),
            "all": (50, 35, 30, 20, 135),
        },
        ("Alpha", "very high"), (1, 1),
    ),
    # sdcTable 0.32.7 (Meindl), tests/testthat/test-simpleheuristic.R: the sum of rows w and x less that of columns a and c
    # tells that the cell (w, b) is 47.
    "what simple heuristics leave": printed(
        [Classification("v1", ("w", "x", "y", "z")), Classification("v2", ("a", "b", "c", "d"))],
        {
            "w": (None, None, None, 89, 230),
            "x": (None, 124, None, 31, 250),
            "y": (92, None, 59, None, 336),
            "z": (800, None, 651, None, 3127),
            "all": (1021, 1262, 770, 890, 3943),
        },
        ("w", "b"), (47, 47),
    ),
    # After Fischetti and Salazar, Management Science 47 (2001), which could not be read again: by integer programs.
    "investment of enterprises": printed(
        [Classification("activity", ("I", "II", "III")), Classification("region", ("A", "B", "C"))],
        {"I": (20, 50, 10, 80), "II": (None, 19, None, 49), "III": (None, 32, None, 61), "all": (45, 101, 44, 190)},
        ("II", "C"), (5, 30),
    ),
    # Geurts (1992), Table 10, in the Handbook on Statistical Disclosure Control (2024), 4.2, Example 3: 3 to 6.
    "feasibility interval": printed(
        [Classification("row", ("1", "2", "3")), Classification("column", ("1", "2"))],
        {"1": (None, None, 7), "2": (None, None, 3), "3": (3, 3, 6), "all": (9, 7, 16)},
        ("1", "1"), (3, 6),
    ),
    # Handbook (2024), 5.2: single households of an area drawn twice; one woman lives and works in Area A; one man at 20-24.
    "geographies": areas_drawn_twice(),
    "linked attributes": residence_work_and_sex(),
    "groups": hours_grouped_in_two_ways(),
}  # fmt: skip


@pytest.mark.parametrize("example", EXAMPLES.values(), ids=EXAMPLES)
def test_published_examples_come_out_as_they_are_printed(example: Example) -> None:
    tables, by, cells, intervals = example
    assert bounds_of(tables, by, cells) == intervals
