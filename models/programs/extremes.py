"""Extremes of counts: the least and the largest value that unknown whole numbers can have, within a budget of programs.

One loop serves every question of this kind: `narrow` solves programs until each bound in question is attained by a table
of whole numbers that was met, or the effort is over. Each table shows many bounds to be attained, and so saves programs.
Bounds of linear programs are proven by their multipliers in whole numbers, those of integer programs as the solver tells.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf
from sys import maxsize

import numpy as np

from models.arrays import BoolArray, CountArray, FloatArray, IndexArray
from models.deadline import NEVER, Deadline
from models.errors import ContradictionError
from models.programs.consistent_tables import ALL_NODES, UNBOUNDED, Equations, PossibleCells, Program, solve

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
    """Counts that are sums of whole numbers of which `equations @ numbers` is `right`, or these numbers themselves.

    asked: whether all bounds of a count are wanted. sums: shape (counts, numbers), None for the numbers themselves; ends:
    the bounds of the numbers then. is_whole: whether integer programs are solved; without them a table of any numbers
    counts as met. tried: 1 for a bound that a linear program was asked about, 2 if nothing more is tried; shape (2, counts).
    table: the numbers of the last table of whole numbers.
    """

    equations: Equations
    right: CountArray
    asked: BoolArray
    sums: Equations = None
    ends: tuple[CountArray, CountArray] | None = None
    is_whole: bool = True
    tried: IndexArray = field(init=False)
    table: CountArray | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.tried = np.zeros((2, len(self)), dtype=np.intp)

    @property
    def number_ends(self) -> tuple[CountArray, CountArray]:
        """Bounds of the numbers."""
        return (self.lower, self.upper) if self.ends is None else self.ends

    def take(self, table: FloatArray) -> None:
        """Take note of a table that a program found, if it has whole numbers and fits, or need not be whole."""
        numbers = np.rint(table).astype(np.int64)
        lower, upper = self.number_ends
        is_near = np.abs(table - numbers).max(initial=0.0) <= _WHOLE
        is_within = ((numbers >= lower) & (numbers <= upper)).all()
        if is_near and is_within and np.array_equal(self.equations @ numbers, self.right):
            self.table = numbers
            counts = numbers if self.sums is None else self.sums @ numbers
            self.see(np.where((self.upper >= UNBOUNDED) & (counts >= _HUGE // 2), UNBOUNDED, counts))
        elif not self.is_whole:
            self.see(table if self.sums is None else self.sums @ table)

    def objective(self, weights: CountArray) -> CountArray:
        """Weights of the numbers that weigh the counts so. weights: shape (counts,)."""
        return weights if self.sums is None else np.asarray(self.sums.T @ weights)

    def objective_of(self, choice: tuple[int, int] | None) -> CountArray:
        """The objective whose least value is a lower bound, side 0, or the negative of an upper one; zeros for none."""
        weights = np.zeros(len(self), dtype=np.int64)
        if choice is not None:
            weights[choice[1]] = -1 if choice[0] else 1
        return self.objective(weights)


IsOpen = Callable[[Unknowns], BoolArray]
"""Whether each bound still has to be better known: shape (2, numbers), lower and upper."""


def narrow(blocks: Sequence[Unknowns], is_open: IsOpen, effort: Effort) -> None:
    """Improve bounds of independent blocks, and meet tables, until no bound is open or the effort is over.

    Linear programs for many bounds at once, then for one of each block, then integer programs. Raises ContradictionError.
    """
    from scipy.sparse import block_diag  # slow to import, and few need it

    equations = [block.equations for block in blocks]
    matrix = (equations[0] if len(blocks) == 1 else block_diag(equations, format="csr")).astype(np.float64)
    rng = np.random.default_rng(0)
    waiting = [is_open(block) for block in blocks]
    count, settled = _count(waiting), 0
    for number in range(maxsize):
        if effort.is_over or count <= len(blocks) or (number >= _HARVESTS and settled <= len(blocks)):
            break
        side = 1 - number % 2 if any(some[1 - number % 2].any() for some in waiting) else number % 2
        weights = [rng.integers(1, 4, len(block)) if number > 1 else 1 for block in blocks]
        objectives = [
            block.objective((-weight if side else weight) * some[side])
            for block, weight, some in zip(blocks, weights, waiting)
        ]
        if _solved_together(blocks, matrix, objectives, effort) is None:
            break
        waiting = [is_open(block) for block in blocks]
        count, settled = _count(waiting), count - _count(waiting)
    while not effort.is_over:
        chosen = [_first(is_open(block) & (block.tried == 0)) for block in blocks]
        if not any(chosen):
            break
        objectives = [block.objective_of(choice) for block, choice in zip(blocks, chosen)]
        proven = _solved_together(blocks, matrix, objectives, effort)
        for number, (block, choice) in enumerate(zip(blocks, chosen)):
            if choice:
                block.tried[choice] = 1 if proven is not None or block.is_whole else 2
                if proven is not None:
                    block.bound(*choice, proven[number])
                if block.table is None and not (block.tried == 2).any():  # any table of whole numbers tells much
                    _try_in_whole_numbers(block, is_open, effort)
    for block in blocks:
        while _try_in_whole_numbers(block, is_open, effort):
            pass


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
    lower, upper = (np.concatenate(ends).astype(np.float64) for ends in zip(*(block.number_ends for block in blocks)))
    # Without any end, one block could make the program of all unbounded.
    upper[upper >= UNBOUNDED] = _HUGE + 2 * lower.max(initial=0)
    right = np.concatenate([block.right for block in blocks])
    program = Program(matrix, right.astype(np.float64), lower, upper)
    solution = solve(np.concatenate(objectives).astype(np.float64), program, effort.spend())
    if solution.table is None or solution.multipliers is None:
        return None
    tables = np.split(solution.table, np.cumsum([block.equations.shape[1] for block in blocks])[:-1])
    multipliers = np.split(solution.multipliers, np.cumsum([len(block.right) for block in blocks])[:-1])
    proven = []
    for block, objective, table, duals in zip(blocks, objectives, tables, multipliers):
        block.take(table)
        reduced, rounded = reduced_objective(objective, block.equations, duals)
        known = int((rounded * block.right).sum(dtype=object))  # c'x = (c - A'y)'x + y'right
        proven.append(-(-(proven_sum(reduced, *block.number_ends) + known) // MULTIPLE))
    return proven


def _try_in_whole_numbers(block: Unknowns, is_open: IsOpen, effort: Effort) -> bool:
    """Solve the integer program of the next open bound that a linear one did not decide; False if there is none."""
    choice = _first(is_open(block) & (block.tried == 1)) if block.is_whole and not effort.is_over else None
    if choice is None:
        return False
    block.tried[choice] = 2
    lower, upper = (end.astype(np.float64) for end in block.number_ends)
    upper[upper >= UNBOUNDED] = np.inf
    program = Program(block.equations.astype(np.float64), block.right.astype(np.float64), lower, upper)
    objective = block.objective_of(choice).astype(np.float64)
    solution = solve(objective, program, min(effort.spend(), effort.whole_seconds), effort.nodes)
    if solution.table is not None:
        block.take(solution.table)
    if np.isfinite(solution.bound):
        block.bound(*choice, int(np.ceil(solution.bound - _WHOLE)))
    return True


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


def sums_of_cells(cells: PossibleCells, groups: IndexArray, number: int, *, is_whole: bool = True) -> Unknowns:
    """Sums of possible cells, all asked. groups: the sum that each cell is part of, shape (cells,).

    They begin with the bounds that propagation and each marginal by itself prove.
    """
    from scipy.sparse import csr_array  # slow to import, and few need it

    ends = cells.propagated
    least, most = (np.bincount(groups, end, number).astype(np.int64) for end in ends)
    for rows in cells.constraints.tocsc().indices.reshape(len(cells), len(cells.tables)).T:  # the cell of each table
        own, places = np.divmod(np.unique(rows * np.int64(number) + groups), number)
        counts = cells.counts[own]
        is_alone = np.bincount(own)[own] == 1
        most = np.minimum(most, np.bincount(places, counts, number).astype(np.int64))
        least = np.maximum(least, np.bincount(places, counts * is_alone, number).astype(np.int64))
    ones = np.ones(len(cells), dtype=np.int64)
    sums = csr_array((ones, (groups, np.arange(len(cells)))), shape=(number, len(cells)))
    equations, right = cells.constraints.astype(np.int64), cells.counts.astype(np.int64)
    return Unknowns(least, most, equations, right, np.ones(number, dtype=np.bool_), sums, ends, is_whole)
