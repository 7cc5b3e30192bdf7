"""Consistent tables: the least of a linear function over all nonnegative tables that have given marginals (HiGHS).

HiGHS has called programs infeasible that have solutions, where its presolve had changed them. So no program is infeasible
here before it was called so without presolve, too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from math import inf
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from models.arrays import FloatArray
from models.errors import ContradictionError
from models.programs.possible_cells import PossibleCells
from models.programs.solver_process import milp_until_killed

if TYPE_CHECKING:
    from scipy.optimize import LinearConstraint

ALL_NODES = 2**31 - 1
"""As many nodes of an integer program as HiGHS can count."""


@dataclass(frozen=True)
class RealNumbers:
    """Tables of any numbers. seconds: of the program."""

    seconds: float = inf


@dataclass(frozen=True)
class WholeNumbers:
    """Tables of whole numbers. seconds, nodes: of the search for the best one."""

    seconds: float = inf
    nodes: int = ALL_NODES


Numbers: TypeAlias = RealNumbers | WholeNumbers


@dataclass(frozen=True, eq=False)
class Solution:
    """What a program came to. bound: nothing is less. table: the best one found, None where none was, as real numbers.

    is_optimal: whether the solver takes the table for the best.
    """

    bound: float
    table: FloatArray | None
    is_optimal: bool


UNSOLVED = Solution(-inf, None, is_optimal=False)
"""Nothing is known."""


class _Status(Enum):
    """What scipy says of a program."""

    OPTIMAL = 0
    LIMIT = 1
    INFEASIBLE = 2
    UNBOUNDED = 3
    OTHER = 4


_CELLS_IN_TIME = 500
"""Cells of an integer program, at most, that HiGHS surely does not take far longer for than it may."""


def least(cells: PossibleCells, objective: FloatArray, numbers: Numbers) -> Solution:
    """The least of a linear function over the consistent tables. objective: shape (cells,).

    Raises ContradictionError when the program has no solution, said with presolve and without it.
    """
    # It takes a third of a second to import, and few need it.
    from scipy.optimize import LinearConstraint

    return least_within(objective, [LinearConstraint(cells.constraints, cells.counts, cells.counts)], numbers)


def least_within(
    objective: FloatArray, constraints: "Sequence[LinearConstraint]", numbers: Numbers, most: FloatArray | None = None
) -> Solution:
    """The least of a linear function over nonnegative numbers, each at most `most`, within linear constraints.

    Every program about tables is solved here. Raises ContradictionError as `least` does.
    """
    if numbers.seconds <= 0:
        return UNSOLVED
    status, solution = _solved(objective, constraints, numbers, most, presolve=True)
    if status in (_Status.INFEASIBLE, _Status.OTHER):
        again, solution = _solved(objective, constraints, numbers, most, presolve=False)
        if status is again is _Status.INFEASIBLE:
            raise ContradictionError("no table has these marginals")
    return solution


def _solved(
    objective: FloatArray,
    constraints: "Sequence[LinearConstraint]",
    numbers: Numbers,
    most: FloatArray | None,
    *,
    presolve: bool,
) -> tuple[_Status, Solution]:
    from scipy.optimize import Bounds, milp

    is_whole = isinstance(numbers, WholeNumbers)
    program: dict[str, Any] = {
        "constraints": constraints,
        "bounds": Bounds(0, np.inf if most is None else most),
        "integrality": np.full(len(objective), int(is_whole)),
        # Without the last, a table within a ten-thousandth of the bound would do.
        "options": {
            "time_limit": numbers.seconds,
            "presolve": presolve,
            "node_limit": numbers.nodes if isinstance(numbers, WholeNumbers) else ALL_NODES,
            "mip_rel_gap": 0.0,
        },
    }
    found: Any
    if is_whole and numbers.seconds < inf and len(objective) > _CELLS_IN_TIME:
        found = milp_until_killed(objective, seconds=numbers.seconds, **program)
        if found is None:
            return _Status.LIMIT, UNSOLVED
    else:
        found = milp(objective, **program)
    status = _Status(found.status)
    if status not in (_Status.OPTIMAL, _Status.LIMIT):
        return status, UNSOLVED
    is_optimal = status is _Status.OPTIMAL and found.x is not None
    if is_whole:
        dual = found.mip_dual_bound
        bound = float(dual) if dual is not None and np.isfinite(dual) else -inf
    else:
        # A linear program that was stopped proves nothing that scipy tells.
        bound = float(found.fun) if is_optimal and found.fun is not None else -inf
    return status, Solution(bound, found.x if is_whole or is_optimal else None, is_optimal)
