"""Extremes of counts: the least and the largest value that unknown whole numbers can have, within a budget of programs.

One loop serves every question of this kind: `narrow` solves programs until each bound in question is attained by a table
of whole numbers that was met, or the effort is over. Each table shows many bounds to be attained, and so saves programs.
Bounds of linear programs are proven by their multipliers in whole numbers, those of integer programs as the solver tells.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf
from sys import maxsize
from typing import TYPE_CHECKING

import numpy as np

from models.arrays import BoolArray, CountArray, FloatArray, IndexArray
from models.deadline import NEVER, Deadline
from models.errors import ContradictionError
from models.programs.consistent_tables import ALL_NODES, UNBOUNDED, Equations, PossibleCells, Program, solve

if TYPE_CHECKING:
    pass

_WHOLE = 1e-6
"""Distance within which a program's number is taken for a whole one; whether it fits is then checked in whole numbers."""

_HUGE = 10**7
"""Upper end of a count without one in a linear program; a count of half as many may be any number."""

_HARVESTS = 4
"""Programs that look for tables which attain many bounds at once, before any bound is looked at by itself."""


@dataclass
class Effort:
    """Programs that may be solved, each for so many seconds and search nodes, none after the deadline.

    whole_seconds: of an integer program, if it may take less than others.
    """

    seconds: float = inf
    nodes: int = ALL_NODES
    programs: int = maxsize
    deadline: Deadline = NEVER
    whole_seconds: float = inf

    @property
    def is_over(self) -> bool:
        """Whether no program can be solved any more."""
        return self.programs <= 0 or min(self.seconds, self.deadline.left) <= 0

    def spend(self) -> float:
        """Count a program and return the seconds that it may take."""
        self.programs -= 1
        return min(self.seconds, self.deadline.left)


@dataclass(eq=False)
class Ranges:
    """Proven bounds of counts, and the least and the largest value of each in the tables that were met: shape (counts,)."""

    lower: CountArray
    upper: CountArray
    seen_low: FloatArray = field(init=False)
    seen_high: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        self.seen_low, self.seen_high = np.full(len(self), float(UNBOUNDED)), np.full(len(self), -1.0)

    def __len__(self) -> int:
        return len(self.lower)

    @property
    def attained(self) -> BoolArray:
        """Whether each bound is attained by a table: shape (2, counts), lower and upper."""
        return np.stack([self.seen_low <= self.lower, self.seen_high >= self.upper])

    def see(self, counts: CountArray | FloatArray) -> None:
        """Take note of the counts of a table."""
        np.minimum(self.seen_low, counts, out=self.seen_low)
        np.maximum(self.seen_high, counts, out=self.seen_high)

    def bound(self, side: int, place: int, least: int) -> None:
        """Take note of a proven lower bound, or of the negative of an upper one. Raises ContradictionError for none."""
        if side == 0:
            self.lower[place] = max(self.lower[place], least)
        else:
            self.upper[place] = min(self.upper[place], -least)
        if self.lower[place] > self.upper[place]:
            raise ContradictionError("no table has these marginals")


@dataclass(eq=False)
class Unknowns(Ranges):
    """Whole numbers of which `equations @ numbers` is `right`, with their bounds.

    asked: whether all bounds of a number are wanted. is_whole: whether integer programs are solved; without them a table
    of any numbers counts as met. tried: 1 for a bound that a linear program was asked about, 2 if nothing more is tried;
    shape (2, numbers). table: the last one.
    """

    equations: Equations
    right: CountArray
    asked: BoolArray
    is_whole: bool = True
    tried: IndexArray = field(init=False)
    table: CountArray | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.tried = np.zeros((2, len(self)), dtype=np.intp)

    def take(self, table: FloatArray) -> None:
        """Take note of a table that a program found, if it has whole numbers and fits, or need not be whole."""
        counts = np.rint(table).astype(np.int64)
        is_inside = np.abs(table - counts).max(initial=0.0) <= _WHOLE and bool(
            ((counts >= self.lower) & (counts <= self.upper)).all()
        )
        if is_inside and np.array_equal(self.equations @ counts, self.right):
            self.table = counts
            self.see(np.where((self.upper >= UNBOUNDED) & (counts >= _HUGE // 2), UNBOUNDED, counts))
        elif not self.is_whole:
            self.see(table)

    def objective(self, side: int, place: int) -> CountArray:
        """The number at a place, or its negative for the upper side: shape (numbers,)."""
        objective = np.zeros(len(self), dtype=np.int64)
        objective[place] = -1 if side else 1
        return objective


IsOpen = Callable[[Unknowns], BoolArray]
"""Whether each bound still has to be better known: shape (2, numbers), lower and upper."""


def narrow(blocks: Sequence[Unknowns], is_open: IsOpen, effort: Effort) -> None:
    """Improve bounds of independent blocks, and meet tables, until no bound is open or the effort is over.

    First linear programs for many bounds at once, then one for the next bound of each block, all blocks together, then
    integer programs. Raises ContradictionError if no table fits.
    """
    from scipy.sparse import block_diag  # slow to import, and few need it

    matrix = block_diag([block.equations for block in blocks], format="csr")
    rng = np.random.default_rng(0)
    waiting = [is_open(block) for block in blocks]
    count, settled = _count(waiting), 0
    for number in range(maxsize):
        if effort.is_over or count <= len(blocks) or (number >= _HARVESTS and settled <= len(blocks)):
            break
        side = 1 - number % 2 if any(some[1 - number % 2].any() for some in waiting) else number % 2
        weights = [rng.integers(1, 4, len(block)) if number > 1 else 1 for block in blocks]
        objectives = [(-weight if side else weight) * some[side] for weight, some in zip(weights, waiting)]
        if _solved_together(blocks, matrix, objectives, effort) is None:
            break
        waiting = [is_open(block) for block in blocks]
        count, settled = _count(waiting), count - _count(waiting)
    while not effort.is_over:
        chosen = [_first(is_open(block) & (block.tried == 0)) for block in blocks]
        if not any(chosen):
            break
        objectives = [block.objective(*choice or (0, 0)) * bool(choice) for block, choice in zip(blocks, chosen)]
        proven = _solved_together(blocks, matrix, objectives, effort)
        for number, (block, choice) in enumerate(zip(blocks, chosen)):
            if choice:
                block.tried[choice] = 1 if proven is not None or block.is_whole else 2
                if proven is not None:
                    block.bound(*choice, proven[number])
    for block in blocks:
        while not effort.is_over and block.is_whole and (choice := _first(is_open(block) & (block.tried == 1))):
            block.tried[choice] = 2
            _solve_in_whole_numbers(block, *choice, effort)


def _count(waiting: Sequence[BoolArray]) -> int:
    return sum(map(np.count_nonzero, waiting))


def _first(waiting: BoolArray) -> tuple[int, int] | None:
    """The side, 0 for lower, and the place of the first bound that waits."""
    return divmod(int(np.argmax(waiting)), waiting.shape[1]) if waiting.any() else None


def _solved_together(
    blocks: Sequence[Unknowns], matrix: Equations, objectives: Sequence[CountArray], effort: Effort
) -> list[int] | None:
    """For each block the least value of its objective that is proven; None if the solver did not come to an end.

    One linear program takes all, since their optima are independent of each other.
    """
    lower = np.concatenate([block.lower for block in blocks]).astype(np.float64)
    upper = np.concatenate([block.upper for block in blocks]).astype(np.float64)
    # Without any end, one block could make the program of all unbounded.
    upper[upper >= UNBOUNDED] = _HUGE + 2 * lower.max(initial=0)
    right = np.concatenate([block.right for block in blocks])
    program = Program(matrix.astype(np.float64), right.astype(np.float64), lower, upper)
    solution = solve(np.concatenate(objectives).astype(np.float64), program, effort.spend())
    if solution.table is None or solution.multipliers is None:
        return None
    tables = np.split(solution.table, np.cumsum([len(block) for block in blocks])[:-1])
    multipliers = np.split(solution.multipliers, np.cumsum([len(block.right) for block in blocks])[:-1])
    proven = []
    for block, objective, table, duals in zip(blocks, objectives, tables, multipliers):
        block.take(table)
        reduced, rounded = reduced_objective(objective, block.equations, duals)
        known = int((rounded * block.right).sum(dtype=object))  # c'x = (c - A'y)'x + y'right
        proven.append(-(-(proven_sum(reduced, block.lower, block.upper) + known) // MULTIPLE))
    return proven


def _solve_in_whole_numbers(block: Unknowns, side: int, place: int, effort: Effort) -> None:
    upper = np.where(block.upper >= UNBOUNDED, np.inf, block.upper.astype(np.float64))
    matrix, right = block.equations.astype(np.float64), block.right.astype(np.float64)
    program = Program(matrix, right, block.lower.astype(np.float64), upper)
    solution = solve(
        block.objective(side, place).astype(np.float64),
        program,
        min(effort.spend(), effort.whole_seconds),
        effort.nodes,
    )
    if solution.table is not None:
        block.take(solution.table)
    if np.isfinite(solution.bound):
        block.bound(side, place, int(np.ceil(solution.bound - _WHOLE)))


# Certificates: bounds that follow from multiples of equations, in whole numbers, whatever a solver has rounded.
#
# All equations say that something is known. So a count c'x equals (c - A'y)'x + y'right for any multiples y of the
# equations, and is no less than what the ranges of the counts leave of that (weak duality; Neumaier and Shcherbina
# 2004, safe bounds). A linear program finds the best y; that they are rounded here costs tightness, never truth.


MULTIPLE = 5040
"""Multipliers are rounded to fractions of this denominator."""


def reduced_objective(objective: CountArray, equations: Equations, duals: FloatArray) -> tuple[CountArray, CountArray]:
    """Return c - A'y, shape (numbers,), and y, shape (equations,), both in units of 1 / MULTIPLE."""
    multipliers = np.rint(duals * MULTIPLE).astype(np.int64)
    return objective * MULTIPLE - equations.T @ multipliers, multipliers


def proven_sum(reduced: CountArray, lower: CountArray, upper: CountArray) -> int:
    """Least sum that the ranges leave, in units of 1 / MULTIPLE; far below 0 if a range that matters has no end."""
    if ((upper >= UNBOUNDED) & (reduced < 0)).any():
        return -UNBOUNDED * MULTIPLE
    return int(np.where(reduced >= 0, reduced * lower, reduced * np.minimum(upper, UNBOUNDED >> 16)).sum(dtype=object))


# Sums of possible cells: unknowns beside the cells themselves.


def sums_of_cells(cells: PossibleCells, groups: IndexArray, number: int, *, is_whole: bool = True) -> Unknowns:
    """The cells, then so many sums of cells, which are asked. groups: the sum that each cell is part of, shape (cells,).

    The sums begin with the bounds that propagation and each marginal by itself prove.
    """
    from scipy.sparse import block_array, csr_array, eye_array  # slow to import, and few need them

    lower, upper = cells.propagated()
    least, most = (np.bincount(groups, end, number).astype(np.int64) for end in (lower, upper))
    for rows in (
        cells.constraints.tocsc().indices.reshape(len(cells), -1).T
    ):  # each table has every cell in one of its own
        own, sums = np.divmod(np.unique(rows * np.int64(number) + groups), number)
        counts = cells.counts[own]
        is_alone = np.bincount(own)[own] == 1
        most = np.minimum(most, np.bincount(sums, counts, number).astype(np.int64))
        least = np.maximum(least, np.bincount(sums, counts * is_alone, number).astype(np.int64))
    added: csr_array[np.float64] = csr_array(
        (np.ones(len(cells)), (groups, np.arange(len(cells)))), shape=(number, len(cells))
    )
    equations = block_array([[cells.constraints, None], [added, -eye_array(number)]], format="csr").astype(np.int64)
    right = np.concatenate([cells.counts, np.zeros(number)]).astype(np.int64)
    ends = np.concatenate([lower, least]), np.concatenate([upper, most])
    return Unknowns(*ends, equations, right, np.arange(len(cells) + number) >= len(cells), is_whole)
