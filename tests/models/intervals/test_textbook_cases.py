"""Published examples of what suppressed and linked tables give away come out as they are printed, or as computed here."""

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.optimize import LinearConstraint, milp

from models import UNBOUNDED, Classification, Interval, IntervalTable, linked_tables, proven_bounds

Cell = Mapping[str, str]
SUPPRESSED: Interval = (0, UNBOUNDED)


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


def by_programs(rows: Mapping[str, Sequence[int | None]], row: int, column: int) -> Interval:
    """The least and the largest count of a cell of a printed table with a row and a column of totals."""
    printed = [*rows.values()]
    shape = len(printed) - 1, len(printed[0]) - 1
    numbers = np.arange(shape[0] * shape[1]).reshape(shape)
    wholes, counts = [], []
    for line, shown in enumerate(printed):
        for place, count in enumerate(shown):
            inside = numbers[slice(None) if line == shape[0] else [line], :]
            inside = inside[:, slice(None) if place == shape[1] else [place]]
            if count is not None:
                wholes.append(np.isin(numbers.ravel(), inside).astype(float))
                counts.append(count)
    cell = (numbers.ravel() == numbers[row, column]).astype(float)
    constraint = LinearConstraint(np.array(wholes), counts, counts)
    ends = [milp(sign * cell, constraints=[constraint], integrality=np.ones(cell.size)).fun for sign in (1, -1)]
    return round(ends[0]), round(-ends[1])


def exactly(*counts: int) -> list[Interval]:
    return [(count, count) for count in counts]


def test_delinquent_children_by_county_and_education() -> None:
    """After the suppression with disclosure in the Federal Committee on Statistical Methodology's Working Paper 22 (1994),
    chapter II, which could not be read again: the answer is computed here, by integer programs, not quoted."""
    county = Classification("county", ("Alpha", "Beta", "Gamma", "Delta"))
    education = Classification("education", ("low", "medium", "high", "very high"))
    rows = {
        "Alpha": (15, None, None, None, 20),
        "Beta": (20, None, None, 15, 55),
        "Gamma": (None, 10, 10, None, 25),
        "Delta": (None, 14, 7, None, 35),
        "all": (50, 35, 30, 20, 135),
    }
    printed = crossed("children", [county, education], rows, (*education.base, "all"))
    cell = {"county": "Alpha", "education": "very high"}
    computed = by_programs(rows, 0, 3)
    assert computed[0] == computed[1]
    assert bounds_of([printed], [county, education], [cell]) == [computed]


def test_what_simple_heuristics_leave_to_be_computed() -> None:
    """sdcTable 0.32.7 (Meindl), tests/testthat/test-simpleheuristic.R: the sum of rows w and x less that of columns a and c
    tells that the cell (w, b) is 47."""
    one, two = Classification("v1", ("w", "x", "y", "z")), Classification("v2", ("a", "b", "c", "d"))
    rows = {
        "w": (None, None, None, 89, 230),
        "x": (None, 124, None, 31, 250),
        "y": (92, None, 59, None, 336),
        "z": (800, None, 651, None, 3127),
        "all": (1021, 1262, 770, 890, 3943),
    }
    printed = crossed("test", [one, two], rows, (*two.base, "all"))
    assert bounds_of([printed], [one, two], [{"v1": "w", "v2": "b"}]) == exactly(47)


def test_investment_of_enterprises_by_activity_and_region() -> None:
    """After the example of Fischetti and Salazar, Management Science 47 (2001), which could not be read again: the interval
    is computed here, by integer programs, not quoted."""
    activity, region = Classification("activity", ("I", "II", "III")), Classification("region", ("A", "B", "C"))
    rows = {
        "I": (20, 50, 10, 80),
        "II": (None, 19, None, 49),
        "III": (None, 32, None, 61),
        "all": (45, 101, 44, 190),
    }
    printed = crossed("investment", [activity, region], rows, (*region.base, "all"))
    assert bounds_of([printed], [activity, region], [{"activity": "II", "region": "C"}]) == [by_programs(rows, 1, 2)]


def test_the_feasibility_interval_of_a_small_table() -> None:
    """Geurts (1992), Table 10, in the Handbook on Statistical Disclosure Control (2024), 4.2, Example 3: 3 to 6."""
    row, column = Classification("row", ("1", "2", "3")), Classification("column", ("1", "2"))
    rows = {"1": (None, None, 7), "2": (None, None, 3), "3": (3, 3, 6), "all": (9, 7, 16)}
    printed = crossed("turnover", [row, column], rows, (*column.base, "all"))
    assert bounds_of([printed], [row, column], [{"row": "1", "column": "1"}]) == [(3, 6)]


def test_differencing_of_geographies() -> None:
    """Handbook on Statistical Disclosure Control (2024), 5.2: single households of an area as it was drawn twice."""
    area = Classification("area", ("new", "rest"), {"old": frozenset({"new", "rest"})}, others=True)
    hours = Classification("hours", ("more than 30", "16-30", "15 or less"))
    sex = Classification("sex", ("male", "female"))

    def of_area(label: str, rows: Sequence[Sequence[int]]) -> IntervalTable:
        cells = {(label, h, s): count for h, counts in zip(hours.base, rows) for s, count in zip(sex.base, counts)}
        return table(label, [area, hours, sex], cells)

    tables = [of_area("new", [(50, 54), (128, 140), (39, 49)]), of_area("old", [(52, 55), (130, 140), (39, 49)])]
    cells = [{"area": "rest", "hours": h, "sex": s} for h in hours.base for s in sex.base]
    assert bounds_of(tables, [area, hours, sex], cells) == exactly(2, 1, 2, 0, 0, 0)


def test_linking_of_residence_work_and_sex() -> None:
    """Handbook on Statistical Disclosure Control (2024), 5.2: one woman lives and works in Area A."""
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
        {"living": "A", "working": "A", "sex": "female"},
        {"living": "A", "working": "elsewhere", "sex": "female"},
        {"living": "elsewhere", "working": "A", "sex": "female"},
    ]
    assert bounds_of(tables, [living, working, sex], cells) == exactly(1, 5, 4)


def test_differencing_of_groups() -> None:
    """Handbook on Statistical Disclosure Control (2024), 5.2: hours grouped in two ways show one man at 20 to 24."""
    base = ("0-19", "20-24", "25-39", "40-59", "60-69", "70 or more")
    groups = {"<25": frozenset(base[:2]), "20-39": frozenset(base[1:3])}
    hours = Classification("hours", base, groups)
    sex = Classification("sex", ("male", "female"))
    first = ("0-19", "20-39", *base[3:])
    second = ("<25", "25-39", *base[3:])
    tables = [
        crossed("one", [sex, hours], {"male": (6, 9, 5, 8, 4), "female": (10, 38, 51, 42, 32)}, first),
        crossed("other", [sex, hours], {"male": (7, 8, 5, 8, 4), "female": (10, 38, 51, 42, 32)}, second),
    ]
    cells = [{"hours": "20-24", "sex": s} for s in sex.base]
    assert bounds_of(tables, [hours, sex], cells) == exactly(1, 0)
