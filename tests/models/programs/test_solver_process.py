"""A program in a process of its own has the solution that it has here, and none where its time is over."""

import os
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

from models import Collection, ContingencyTable, DataCube, Domain, Hierarchy, extreme_count, possible_cells
from models.programs import consistent_tables
from models.programs.consistent_tables import PossibleCells, milp_until_killed


def all_pairs(size: int) -> PossibleCells:
    """The three pairs of three attributes with so many values, of which all cells can be occupied."""
    rng = np.random.default_rng(size)
    domain = Domain.of({name: Hierarchy.flat(map(str, range(size))) for name in "abc"})
    codes = dict(zip("abc", (axis.ravel() for axis in np.indices((size, size, size)))))
    table = ContingencyTable.from_cells(domain, dict.fromkeys("abc", 0), codes, rng.integers(1, 9, size**3))
    pairs = Collection.of(DataCube([table]), [domain.mask(dict.fromkeys(pair, 0)) for pair in ("ab", "bc", "ac")])
    return possible_cells(pairs, size**3)


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
    assert there is not None
    assert (there.status, there.fun, there.mip_dual_bound) == (here.status, here.fun, here.mip_dual_bound)
    assert np.array_equal(there.x, here.x)


@pytest.mark.slow
def test_nothing_is_told_of_what_fails() -> None:
    assert milp_until_killed("no numbers", seconds=60) is None


@pytest.mark.slow
def test_the_process_is_kept_until_it_is_killed_and_nothing_is_told_then(monkeypatch: pytest.MonkeyPatch) -> None:
    started = []

    class Counted(consistent_tables._Solver):
        def __init__(self) -> None:
            started.append(self)
            super().__init__()

    monkeypatch.setattr(consistent_tables, "_Solver", Counted)
    monkeypatch.setattr(consistent_tables, "_solver", None)
    slow = consistent_tables._PROGRAM.replace("    found =", "    __import__('time').sleep(60)\n    found =")
    with monkeypatch.context() as patched:
        patched.setattr(consistent_tables, "_PROGRAM", slow)
        assert milp_until_killed(np.ones(3), seconds=0.01) is None
    assert not started[0].is_ready()
    assert started[0]._process.poll() is not None, "it has ended"
    for _ in range(3):
        assert milp_until_killed(np.ones(3), seconds=60) is not None
    assert len(started) == 2
    started[1].end()


def test_a_fork_starts_a_process_of_its_own() -> None:
    assert milp_until_killed(np.ones(3), seconds=60) is not None
    solver = consistent_tables._solver
    assert solver is not None
    assert solver.is_ready()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        found = milp_until_killed(np.ones(3), seconds=60)
        os.write(writing, b"same" if found is None or solver.is_ready() else b"own")
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as answers:
        assert answers.read() == b"own"
    os.waitpid(child, 0)
    assert solver.is_ready()


def test_no_program_that_lies_in_the_current_folder_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody may stand in a release by others, which may hold a `pickle.py`."""
    for name in ("pickle.py", "scipy.py"):
        (tmp_path / name).write_text(f"open({str(tmp_path / 'run')!r}, 'w')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(consistent_tables, "_solver", None)
    found = milp_until_killed(np.ones(3), seconds=60)
    assert found is not None
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
