"""A program is infeasible only where the solver says so without presolve, too, and never because its time was over."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st

from models import (
    Collection,
    ContingencyTable,
    ContradictionError,
    CountBounds,
    DataCube,
    Domain,
    FrechetBounds,
    Hierarchy,
    extreme_count,
    possible_cells,
)
from models.programs.consistent_tables import PossibleCells, RealNumbers, WholeNumbers, least

INFEASIBLE = SimpleNamespace(status=2, x=None, fun=None, mip_dual_bound=np.inf)
"""What scipy returns for such a program."""


def cycle(counts: list[int]) -> Collection:
    """The three pairs of three binary attributes; counts: of the eight cells."""
    domain = Domain.of({name: Hierarchy.flat("xy") for name in "abc"})
    codes = dict(zip("abc", (axis.ravel() for axis in np.indices((2, 2, 2)))))
    table = ContingencyTable.from_cells(domain, dict.fromkeys("abc", 0), codes, np.array(counts))
    return Collection.of(DataCube([table]), [domain.mask(dict.fromkeys(pair, 0)) for pair in ("ab", "bc", "ac")])


def contradictory() -> PossibleCells:
    """Pairs of three binary attributes that no table has: a = b, b = c, and a differs from c."""
    domain = Domain.of({name: Hierarchy.flat("xy") for name in "abc"})
    pairs = {"ab": ([0, 1], [0, 1]), "bc": ([0, 1], [0, 1]), "ac": ([0, 1], [1, 0])}
    full = {"ab": ([0, 0, 1], [0, 1, 1]), **{k: v for k, v in pairs.items() if k != "ab"}}
    tables = [
        ContingencyTable.from_cells(domain, dict.fromkeys(pair, 0), dict(zip(pair, map(np.array, codes))), counts)
        for (pair, codes), counts in zip(full.items(), ([2, 1, 2], [2, 3], [2, 3]))
    ]
    return possible_cells(Collection.of(DataCube(tables), [table.mask for table in tables]), 100)


@pytest.fixture
def liar(monkeypatch: pytest.MonkeyPatch) -> dict[str, bool]:
    """HiGHS that calls programs infeasible with presolve on; `whole`, `real`: which ones."""
    solve = scipy.optimize.milp
    lies = {"whole": True, "real": True}

    def lying(objective: Any, **settings: Any) -> Any:
        kind = "whole" if np.any(settings["integrality"]) else "real"
        if settings["options"]["presolve"] and lies[kind]:
            return INFEASIBLE
        return solve(objective, **settings)

    monkeypatch.setattr(scipy.optimize, "milp", lying)
    return lies


@pytest.mark.parametrize("kinds", [("whole",), ("real",), ("whole", "real")])
def test_a_program_with_a_known_solution_is_never_called_infeasible(
    liar: dict[str, bool], kinds: tuple[str, ...]
) -> None:
    liar.update({kind: kind in kinds for kind in liar})
    counts = [1, 0, 0, 1, 0, 1, 1, 0]  # its relaxation has halves where the whole tables have 0 or 1
    for place, position in enumerate(np.ndindex(2, 2, 2)):
        cell = {name: np.arange(2) == code for name, code in zip("abc", position)}
        bounds = FrechetBounds.of(cycle(counts)).of_box(cell).bounds(10.0)
        assert bounds.lower <= counts[place] <= bounds.upper
        assert bounds == CountBounds(0, 1, sharp=True) or bounds.lower == bounds.upper


@settings(max_examples=40)
@given(st.lists(st.integers(0, 3), min_size=8, max_size=8).filter(any), st.integers(0, 255))
def test_without_time_the_bounds_are_those_of_each_marginal(counts: list[int], chosen: int) -> None:
    """What was not solved is not infeasible either."""
    cells = possible_cells(cycle(counts), 100)
    inside = np.array([chosen >> place & 1 for place in range(len(cells))], dtype=np.bool_)
    highest, lowest = (extreme_count(cells, inside, direction, seconds=0.0) for direction in (1, -1))
    most, fewest = (extreme_count(cells, inside, direction).bound for direction in (1, -1))
    assert 0 <= lowest.bound <= fewest <= most <= highest.bound <= sum(counts)
    if inside.sum() == 1:
        cell = cells.coded_cells
        own = [int(table.counts_in(cell)[inside][0]) for table in cells.tables]
        assert highest.bound == min(own)
    assert highest.table is None
    assert lowest.table is None


@pytest.mark.parametrize("numbers", [RealNumbers(), WholeNumbers()])
def test_marginals_of_no_table_contradict_each_other(numbers: RealNumbers | WholeNumbers) -> None:
    cells = contradictory()
    with pytest.raises(ContradictionError, match="no table has these marginals"):
        least(cells, np.zeros(len(cells)), numbers)
