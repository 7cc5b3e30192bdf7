"""Programs over possible cells: extremes are exact where they are called attained, and none is infeasible by mistake."""

import random
from functools import partial
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp

from filled_tables import apart, filled, flat_domain, published
from models import Collection, ContradictionError, CountBounds, FrechetBounds, all_tables, extreme_count, possible_cells
from models.programs import consistent_tables
from models.programs.consistent_tables import ALL_NODES, PossibleCells, Program, milp_until_killed, solve

INFEASIBLE = SimpleNamespace(status=2, x=None, fun=None, mip_dual_bound=np.inf)
"""What scipy returns for such a program."""


def cycle(counts: list[int]) -> Collection:
    """The three pairs of three binary attributes; counts: of the eight cells."""
    return published(filled(flat_domain(a=2, b=2, c=2), counts), "ab", "bc", "ac")


def contradictory() -> PossibleCells:
    """Pairs of three binary attributes that no table has: a = b, b = c, and a differs from c."""
    counts = {"ab": [[2, 1], [0, 2]], "bc": [[2, 0], [0, 3]], "ac": [[0, 2], [3, 0]]}
    return possible_cells(apart(flat_domain(a=2, b=2, c=2), counts), 100)


@pytest.fixture
def liar(monkeypatch: pytest.MonkeyPatch) -> dict[str, bool]:
    """HiGHS that calls programs infeasible with presolve on; `whole`, `real`: which ones."""
    lies = {"whole": True, "real": True}

    def lying(kind: str, solve: Any, objective: Any, **settings: Any) -> Any:
        if settings["options"]["presolve"] and lies[kind]:
            return INFEASIBLE
        return solve(objective, **settings)

    for kind, name in (("whole", "milp"), ("real", "linprog")):
        monkeypatch.setattr(scipy.optimize, name, partial(lying, kind, getattr(scipy.optimize, name)))
    return lies


@pytest.mark.parametrize("kinds", [("whole",), ("real",), ("whole", "real")])
def test_a_program_with_a_known_solution_is_never_called_infeasible(
    liar: dict[str, bool], kinds: tuple[str, ...]
) -> None:
    liar.update({kind: kind in kinds for kind in liar})
    counts = [1, 0, 0, 1, 0, 1, 1, 0]  # its relaxation has halves where the whole tables have 0 or 1
    for place, position in enumerate(np.ndindex(2, 2, 2)):
        cell = {name: np.arange(2) == code for name, code in zip("abc", position)}
        bounds = FrechetBounds(cycle(counts)).of_box(cell).bounds(10.0)
        assert bounds.lower <= counts[place] <= bounds.upper
        assert bounds == CountBounds(0, 1, sharp=True) or bounds.lower == bounds.upper


@settings(max_examples=40)
@given(st.lists(st.integers(0, 3), min_size=8, max_size=8).filter(any), st.integers(0, 255))
def test_extremes_are_those_of_all_tables_and_without_time_within_those_of_each_marginal(
    counts: list[int], chosen: int
) -> None:
    """What was not solved is not infeasible either."""
    cells = possible_cells(cycle(counts), 100)
    inside = np.array([chosen >> place & 1 for place in range(len(cells))], dtype=np.bool_)
    highest, lowest = (extreme_count(cells, inside, direction, seconds=0.0) for direction in (1, -1))
    most, fewest = (extreme_count(cells, inside, direction).bound for direction in (1, -1))
    assert 0 <= lowest.bound <= fewest <= most <= highest.bound <= sum(counts)
    keys = [cells.cells.column(a) * 2 + cells.cells.column(b) for a, b in ("ab", "bc", "ac")]
    own = np.array(counts).reshape(2, 2, 2)[tuple(cells.cells.column(a) for a in "abc")]
    every = all_tables(keys, [np.bincount(key, own, 4).astype(np.int64) for key in keys])
    sums = every[:, inside].sum(axis=1)
    assert (fewest, most) == (sums.min(), sums.max())
    if inside.sum() == 1:
        own = [int(table.counts_in(cells.cells)[inside][0]) for table in cells.tables]
        assert highest.bound <= min(own)
    assert highest.table is None
    assert lowest.table is None


@pytest.mark.parametrize("nodes", [0, ALL_NODES])
def test_marginals_of_no_table_contradict_each_other(nodes: int) -> None:
    cells = contradictory()
    nothing = np.zeros(len(cells))
    program = Program(cells.constraints, cells.counts, nothing, nothing + np.inf)
    with pytest.raises(ContradictionError, match="no table"):
        solve(nothing, program, nodes=nodes)


def test_bounds_of_millions_of_rows_are_not_rounded_to_what_a_solver_tolerates() -> None:
    """A consistent table of whole numbers has 12,716,158 rows there; a gap of a ten-thousandth hid it."""
    draw = random.Random(815160)
    counts = [draw.randint(1, 10**6) if draw.random() < 0.4 else 0 for _ in range(375)]
    table = filled(flat_domain(a=5, b=5, c=3, d=5), counts)
    cells = possible_cells(published(table, "ab", "bc", "ac", "cd", "ad", "bd"), 10**5)
    box = {"a": [1, 1, 0, 1, 1], "c": [1, 0, 0], "d": [1, 0, 0, 1, 1]}
    inside = np.all([np.array(meant, dtype=bool)[cells.cells.column(a)] for a, meant in box.items()], axis=0)
    least = extreme_count(cells, inside, -1, 60.0)
    assert least.bound == 12_716_158
    assert np.array_equal(cells.constraints @ least.table, cells.counts)
    assert least.table[inside].sum() == least.bound


def all_pairs(size: int) -> PossibleCells:
    """The three pairs of three attributes with so many values, of which all cells can be occupied."""
    counts = np.random.default_rng(size).integers(1, 9, size**3)
    return possible_cells(published(filled(flat_domain(a=size, b=size, c=size), counts), "ab", "bc", "ac"), size**3)


def test_the_solution_is_that_of_this_process() -> None:
    cells = all_pairs(3)
    program = {
        "constraints": [LinearConstraint(cells.constraints, cells.counts, cells.counts)],
        "bounds": Bounds(0, np.inf),
        "integrality": np.ones(27),
        "options": {"mip_rel_gap": 0.0},
    }
    objective = np.arange(27.0)
    here, there = milp(objective, **program), milp_until_killed(objective, seconds=60, **program)
    assert (there.status, there.fun, there.mip_dual_bound) == (here.status, here.fun, here.mip_dual_bound)
    assert np.array_equal(there.x, here.x)
    assert milp_until_killed("no numbers", seconds=60) is None


def test_a_process_that_is_killed_tells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = consistent_tables._PROGRAM.replace(
        "arguments, settings =", "__import__('time').sleep(60)\narguments, settings ="
    )
    monkeypatch.setattr(consistent_tables, "_PROGRAM", slow)
    assert milp_until_killed(np.ones(3), seconds=0.01) is None


def test_no_program_that_lies_in_the_current_folder_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody may stand in a release by others, which may hold a `pickle.py`."""
    for name in ("pickle.py", "scipy.py"):
        (tmp_path / name).write_text(f"open({str(tmp_path / 'run')!r}, 'w')")
    monkeypatch.chdir(tmp_path)
    found = milp_until_killed(np.ones(3), seconds=60)
    assert found.fun == 0
    assert [path.name for path in tmp_path.iterdir() if path.name == "run"] == []


def test_integer_programs_with_many_cells_are_killed_where_their_time_is_limited(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Their bound is that of the linear program then."""
    given = []

    def killed(*_: object, seconds: float, **__: object) -> None:
        given.append(seconds)

    monkeypatch.setattr(consistent_tables, "milp_until_killed", killed)
    rng = np.random.default_rng(0)
    for size, expected in ((7, []), (9, [5])):
        cells = all_pairs(size)
        extreme = extreme_count(cells, rng.random(len(cells)) < 0.3, 1, seconds=5)
        assert given == expected
    assert not extreme.attained
    assert 0 < extreme.bound <= cells.total
    extreme_count(cells, rng.random(len(cells)) < 0.3, 1, seconds=np.inf, nodes=1)
    assert given == [5], "without a limit of time nothing is killed"


# All tables with given marginals: those that trying every number finds, in the same order, or none where they are many.


@st.composite
def marginals_of_a_table(draw: st.DrawFn) -> tuple[list[np.ndarray], list[np.ndarray], int]:
    """Places and counts of one to three marginals of a table of up to five cells, and its rows."""
    counts = draw(st.lists(st.integers(0, 3), min_size=1, max_size=5))
    keys, totals = [], []
    for _ in range(draw(st.integers(1, 3))):
        places = draw(st.integers(1, 3))
        key = np.array(draw(st.lists(st.integers(0, places - 1), min_size=len(counts), max_size=len(counts))))
        keys.append(key)
        totals.append(np.bincount(key, counts, minlength=places).astype(np.int64))
    return keys, totals, sum(counts)


@given(marginals_of_a_table())
def test_they_are_those_that_trying_every_number_finds(given_marginals: tuple) -> None:
    keys, totals, rows = given_marginals
    every = [
        list(counts)
        for counts in product(range(rows + 1), repeat=len(keys[0]))
        if all(
            np.array_equal(np.bincount(key, counts, minlength=len(total)), total) for key, total in zip(keys, totals)
        )
    ]
    found = all_tables(keys, totals)
    assert found.tolist() == every
    few = all_tables(keys, totals, len(every) - 1)
    assert few is None


def test_marginals_that_contradict_each_other_have_none() -> None:
    rows, columns = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    found = all_tables([rows, columns], [np.array([2, 1]), np.array([1, 1])])
    assert len(found) == 0
    nobody = all_tables([np.array([0, 0])], [np.array([1, 2])])
    assert len(nobody) == 0


def test_what_is_too_much_is_given_up_at_the_same_place_always() -> None:
    key = np.zeros(3, dtype=np.intp)
    assert all_tables([key], [np.array([200])]) is None  # 20,301 tables
    found = all_tables([key], [np.array([198])])
    assert len(found) == 200 * 199 // 2
    assert all_tables([np.zeros(3_000_000, dtype=np.intp)], [np.array([1])]) is None
    with pytest.raises(ValueError, match="without a marginal"):
        all_tables([], [])
