"""Consistent tables: the least of a linear function over all nonnegative tables that have given marginals (HiGHS).

Bounds say what each count can be by itself. All tables, one by one, say what several counts can be together. HiGHS has
called solvable programs infeasible after its presolve, so infeasibility counts only if it also follows without
presolve.
"""

import os
import pickle
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from math import inf
from threading import TIMEOUT_MAX
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from models.arrays import BoolArray, CountArray, FloatArray, IndexArray
from models.errors import ContradictionError
from models.frozen import frozen
from models.graphs.junction_tree import Collection, maximal_masks
from models.tables.contingency_table import Cells, ContingencyTable, group, pack
from models.tables.hierarchy import Margin

if TYPE_CHECKING:
    from scipy.sparse import csr_array


# Programs in a process of their own, which is killed when their time is over: HiGHS checks its time limit between steps
# only, and one round of cuts of an integer program with thousands of cells exceeds it by far.


_PROGRAM = """
import pickle, sys
from scipy.optimize import milp
arguments, settings = pickle.load(sys.stdin.buffer)
pickle.dump(milp(*arguments, **settings), sys.stdout.buffer)
"""


def milp_until_killed(*arguments: Any, seconds: float, **settings: Any) -> Any:
    """Run `scipy.optimize.milp` in a separate process; None if it did not answer within `seconds`."""
    import subprocess  # loaded here: most programs are never solved

    with suppress(OSError, EOFError, pickle.UnpicklingError, subprocess.SubprocessError):
        answer = subprocess.run(
            [sys.executable, "-P", "-c", _PROGRAM],  # -P: no imports from the current folder, which others may write to
            input=pickle.dumps((arguments, settings)),
            capture_output=True,
            timeout=min(seconds, TIMEOUT_MAX),
            cwd=os.sep,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OPENBLAS_NUM_THREADS": "1"},
        )
        return pickle.loads(answer.stdout)
    return None


@frozen(eq=False)
class PossibleCells:
    """Cells over all published attributes at their finest published levels.

    cells: with 1 each. tables: the maximal marginals. A table x is consistent if `constraints @ x` is `counts`.
    """

    cells: Cells
    tables: tuple[ContingencyTable, ...]
    constraints: "csr_array[np.float64]"
    counts: FloatArray
    total: int

    def __len__(self) -> int:
        return self.constraints.shape[1]

    @cached_property
    def propagated(self) -> tuple[CountArray, CountArray]:
        """Bounds on the count of each cell that follow equation by equation: lower and upper, shape (cells,) each."""
        from scipy.sparse import eye_array, hstack  # slow to import, and few need them

        # Published counts are unknowns, too, with equal ends.
        equations = hstack([-self.constraints, eye_array(len(self.counts))], format="csr").astype(np.int64)
        size, counts = len(self), self.counts.astype(np.int64)
        least = np.concatenate([np.zeros(size, dtype=np.int64), counts])
        most = np.concatenate([np.full(size, self.total, dtype=np.int64), counts])
        lower, upper = propagated(equations, least, most)
        return lower[:size], upper[:size]

    def grouped(self, margin: Mapping[str, int]) -> tuple[IndexArray, IndexArray]:
        """Return one place of each cell of a coarser margin, and for each place its cell of the margin: shape (cells,)."""
        return group(*pack(*self.cells.columns(margin), len(self)))

    def labels(self, place: int, margin: Mapping[str, int]) -> dict[str, str]:
        """Return the values of a coarser margin that a cell has, in the domain's order."""
        return self.cells[np.array([place])].rolled_up(margin).labels(0)


def possible_cells(collection: Collection, limit: int) -> PossibleCells:
    """Return the natural join of all marginals and supports: the cells that can be occupied.

    Parameters
    ----------
    collection
        The published marginals and supports.
    limit
        Most cells of the join, and of each step towards it.

    Raises
    ------
    TooManyCellsError
        If there are more than `limit` cells.
    """
    from scipy.sparse import csr_array  # slow to import, and few need it

    joined, tables = joined_cells(collection, limit), tuple(_maximal_tables(collection))
    begins = np.cumsum([0, *map(len, tables)]).tolist()
    places = np.array([begin + joined.positions_in(table) for begin, table in zip(begins, tables)], dtype=np.intp)
    columns = np.tile(np.arange(len(joined)), len(tables))
    constraints = csr_array((np.ones(places.size), (places.ravel(), columns)), shape=(begins[-1], len(joined)))
    counts = np.concatenate([np.zeros(0), *(table.counts for table in tables)])
    return PossibleCells(joined, tables, constraints, counts, collection.cube.total)


def _maximal_tables(collection: Collection) -> Iterator[ContingencyTable]:
    return map(collection.cube.table, maximal_masks(collection.masks))


def joined_cells(collection: Collection, limit: int) -> Cells:
    """Return the natural join of all marginals and supports, with 1 each. Raises TooManyCellsError as `possible_cells`."""
    parts = [*_maximal_tables(collection), *(support.cells for support in collection.supports)]
    waiting = [cells.with_counts(np.ones(len(cells))) for cells in parts]
    joined = Cells(collection.domain, Margin({}), (), np.ones(1))
    while waiting:
        # Joining the table that shares most with the current join keeps the steps small.
        cells = max(waiting, key=lambda part: (sum(a in joined.margin for a in part.margin), -len(part)))
        waiting.remove(cells)
        joined = joined.join(cells, limit)
    return joined


ALL_NODES = 2**31 - 1
"""Largest number of nodes of an integer program that HiGHS can count."""


class Program(NamedTuple):
    """Numbers with `matrix @ numbers == right`, each from `lower` to `upper`, which can be infinite."""

    matrix: "csr_array[np.float64]"
    right: FloatArray
    lower: FloatArray
    upper: FloatArray


class Solution(NamedTuple):
    """Result of a program: no objective is less than `bound`.

    table: the best numbers found, or None. multipliers: of the equations, for a linear program.
    """

    bound: float
    table: FloatArray | None
    multipliers: FloatArray | None = None


UNSOLVED = Solution(-inf, None)


_OPTIMAL, _STOPPED, _INFEASIBLE, _OTHER = 0, 1, 2, 4
"""Status codes of scipy."""

_CELLS_IN_TIME = 500
"""Most numbers of an integer program that HiGHS surely ends within its time."""


def solve(objective: FloatArray, program: Program, seconds: float = inf, nodes: int = 0) -> Solution:
    """Minimize a linear function over a program; every program about tables is solved here.

    nodes: of the search for whole numbers, 0 for any numbers. Raises ContradictionError if there is no solution.
    """
    if seconds <= 0:
        return UNSOLVED
    solver = _solved_in_whole_numbers if nodes else _solved
    status, solution = solver(objective, program, seconds, nodes, presolve=True)
    if status in (_INFEASIBLE, _OTHER):
        again, solution = solver(objective, program, seconds, nodes, presolve=False)
        if status == again == _INFEASIBLE:
            raise ContradictionError("no table has these marginals")
    return solution


def _solved(
    objective: FloatArray, program: Program, seconds: float, _nodes: int, *, presolve: bool
) -> tuple[int, Solution]:
    from scipy.optimize import linprog  # slow to import, and few need it

    settings: dict[str, Any] = {"time_limit": seconds} if seconds < inf else {}
    minimize: Any = linprog  # its stubs know no sparse matrices
    ends = np.stack([program.lower, program.upper], axis=1)
    options = {"presolve": presolve, **settings}
    answer = minimize(objective, A_eq=program.matrix, b_eq=program.right, bounds=ends, method="highs", options=options)
    if answer.status != _OPTIMAL or answer.x is None:  # scipy reports no bound of a program that was stopped
        return answer.status, UNSOLVED
    return answer.status, Solution(float(answer.fun), answer.x, answer.eqlin.marginals)


def _solved_in_whole_numbers(
    objective: FloatArray, program: Program, seconds: float, nodes: int, *, presolve: bool
) -> tuple[int, Solution]:
    from scipy.optimize import Bounds, LinearConstraint, milp  # slow to import, and few need them

    # Numbers near 0 have smaller rounding errors.
    right = program.right - program.matrix @ program.lower
    # Without the last option, a table within a ten-thousandth of the bound would do.
    options = {"time_limit": seconds, "presolve": presolve, "node_limit": nodes, "mip_rel_gap": 0.0}
    settings: dict[str, Any] = {
        "constraints": [LinearConstraint(program.matrix, right, right)],
        "bounds": Bounds(0, program.upper - program.lower),
        "integrality": np.ones(len(objective)),
        "options": options,
    }
    is_killed = seconds < inf and len(objective) > _CELLS_IN_TIME
    answer = milp_until_killed(objective, seconds=seconds, **settings) if is_killed else milp(objective, **settings)
    if answer is None:
        return _STOPPED, UNSOLVED
    if answer.status not in (_OPTIMAL, _STOPPED):
        return answer.status, UNSOLVED
    dual = answer.mip_dual_bound
    bound = float(dual + objective @ program.lower) if dual is not None and np.isfinite(dual) else -inf
    return answer.status, Solution(bound, None if answer.x is None else answer.x + program.lower)


UNBOUNDED = 2**60
"""Upper end of a count about which nothing is known."""


Equations: TypeAlias = Any
"""A sparse matrix (scipy.sparse.csr_array) of shape (equations, cells): 1 for a total and -1 for its parts.

The type is Any, because the stubs of scipy have no types for products of sparse matrices."""


# Propagation: the range that each equation leaves for one of its counts, given the ranges of the others.
#
# A total is at least the sum of the lower bounds of its parts. A part is at most the upper bound of the total less the
# lower bounds of the other parts. Repeated until nothing changes, this bounds all counts at once, not always sharply
# (Buzzigoli and Giusti 1999, the shuttle algorithm; Davis 1987, constraint propagation with interval labels).


_SWEEPS = 200
"""Sweeps after which bounds that still change are taken as they are."""


def propagated(equations: Equations, lower: CountArray, upper: CountArray) -> tuple[CountArray, CountArray]:
    """Return bounds of all counts, shape (cells,) each; if a lower bound exceeds the upper one, no table has these
    ranges.

    equations: none is empty. lower, upper: known ranges of the counts; UNBOUNDED for no upper end.
    """
    lower, upper = lower.copy(), upper.copy()
    waiting = equations
    for _ in range(_SWEEPS):
        if not waiting.shape[0]:
            break
        before = lower.copy(), upper.copy()
        low, high = ranges_left(waiting, lower, upper)
        np.maximum.at(lower, waiting.indices, low)
        np.minimum.at(upper, waiting.indices, high)
        moved: BoolArray = (lower > before[0]) | (upper < before[1])
        if not moved.any() or bool((lower > upper).any()):
            break
        waiting = equations[np.logical_or.reduceat(moved[equations.indices], equations.indptr[:-1])]
    return lower, upper


def ranges_left(equations: Equations, lower: CountArray, upper: CountArray) -> tuple[CountArray, CountArray]:
    """Return the range that its equation leaves for each entry: shape (entries,) each, in the order of `indices`."""
    cells, begins = equations.indices, equations.indptr[:-1]
    rows = np.repeat(np.arange(len(begins)), np.diff(equations.indptr))
    is_total: BoolArray = equations.data > 0
    low, high = lower[cells], upper[cells]
    free = high >= UNBOUNDED
    # Range of each entry with its sign: from `least` to `most`, unless that end is infinite.
    least, most = np.where(is_total, low, -high), np.where(is_total, high, -low)
    no_least, no_most = free & ~is_total, free & is_total
    least[no_least], most[no_most] = 0, 0
    rest_least = np.add.reduceat(least, begins)[rows] - least
    rest_most = np.add.reduceat(most, begins)[rows] - most
    new_low, new_high = np.where(is_total, -rest_most, rest_least), np.where(is_total, -rest_least, rest_most)
    if free.any():
        bounded_below = np.add.reduceat(no_least.astype(np.int64), begins)[rows] == no_least
        bounded_above = np.add.reduceat(no_most.astype(np.int64), begins)[rows] == no_most
        new_low[~np.where(is_total, bounded_above, bounded_below)] = 0
        new_high[~np.where(is_total, bounded_below, bounded_above)] = UNBOUNDED
    return new_low, new_high


# All tables with given marginals, one by one, as long as they are few. The search counts its work and gives up.

MOST_TABLES = 20_000
"""Default limit of the number of tables."""

_MOST_NUMBERS = 4_000_000
"""Most counts of all tables that are in progress at the same time."""


def all_tables(keys: Sequence[IndexArray], totals: Sequence[CountArray], most: int = MOST_TABLES) -> CountArray | None:
    """List every table of nonnegative whole numbers with some marginals, ordered by the counts.

    Cell after cell is filled with what its marginals and the later cells allow.

    Parameters
    ----------
    keys
        For each marginal the place that each cell of the table counts in, shape (cells,).
    totals
        For each marginal its counts, shape (places,).
    most
        Most tables, finished or in progress.

    Returns
    -------
    CountArray or None
        Shape (tables, cells); None if there are too many tables.

    Raises
    ------
    ValueError
        If there is no marginal.

    >>> rows, columns = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    >>> all_tables([rows, columns], [np.array([2, 1]), np.array([1, 2])]).tolist()
    [[0, 2, 1, 0], [1, 1, 0, 1]]
    """
    if not keys:
        raise ValueError("tables without a marginal are without number")
    cells = len(keys[0])
    if cells * 2 > _MOST_NUMBERS:
        return None
    caps = np.min([total[key] for key, total in zip(keys, totals)], axis=0).astype(np.int64)
    later = [_held_later(key, caps, len(total)) for key, total in zip(keys, totals)]
    # If a place without cells has rows, no table has the marginals.
    if any(np.any(total[np.bincount(key, minlength=len(total)) == 0]) for key, total in zip(keys, totals)):
        return np.zeros((0, cells), dtype=np.int64)
    filled: CountArray = np.zeros((1, 0), dtype=np.int64)
    remaining = [np.asarray(total, dtype=np.int64)[None, :] for total in totals]
    for cell in range(cells):
        rest = [remainder[:, key[cell]] for remainder, key in zip(remaining, keys)]
        upper = np.min(rest, axis=0)
        lower = np.maximum(0, np.max([remainder - held[cell] for remainder, held in zip(rest, later)], axis=0))
        ways = np.maximum(upper - lower + 1, 0)
        number = int(ways.sum())
        if number > most or number * (cell + 1 + sum(map(len, totals))) > _MOST_NUMBERS:
            return None
        state = np.repeat(np.arange(len(ways)), ways)
        counts = lower[state] + np.arange(number) - np.repeat(np.cumsum(ways) - ways, ways)
        filled = np.column_stack([filled[state], counts])
        remaining = [remainder[state] for remainder in remaining]
        for remainder, key in zip(remaining, keys):
            remainder[:, key[cell]] -= counts
    return filled


def _held_later(key: IndexArray, caps: CountArray, places: int) -> CountArray:
    """Return for each cell how many rows later cells in the same place can hold together: shape (cells,)."""
    sums = np.zeros(places, dtype=np.int64)
    held = np.zeros(len(key), dtype=np.int64)
    for cell in range(len(key) - 1, -1, -1):
        held[cell] = sums[key[cell]]
        sums[key[cell]] += caps[cell]
    return held
