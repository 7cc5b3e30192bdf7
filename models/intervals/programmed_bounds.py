"""Bounds of counts by programs: a linear one for many blocks at once, an integer one where that is not sharp."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.arrays import BoolArray, CountArray, FloatArray
from models.deadline import Deadline
from models.errors import ContradictionError
from models.intervals.blocks import Block
from models.intervals.certificate import MULTIPLE, proven_sum, reduced_objective
from models.programs.consistent_tables import WholeNumbers, least_within
from models.programs.equations import UNBOUNDED

_WHOLE = 1e-6
"""Distance within which a program's number is taken for a whole one; whether it fits is then checked in whole numbers."""

_HUGE = 10**7
"""Taken for the upper end of a count without one; a count of half as many may be any number."""

_HARVESTS = 4
"""Programs that look for tables which show many bounds to be sharp at once, before any is looked at by itself."""

_INTEGER_SECONDS = 5.0
"""Of one integer program."""


@dataclass(eq=False)
class BlockBounds:
    """What is known of the counts of a block so far. asked: cells of which all bounds are wanted.

    seen_low, seen_high: the least and the largest count in tables that fit and were met. unsharp: bounds that linear
    programs cannot show to be sharp; given_up: those that nothing more is tried for; shape (2, cells): lower, upper.
    """

    block: Block
    lower: CountArray
    upper: CountArray
    asked: BoolArray
    seen_low: CountArray = field(init=False)
    seen_high: CountArray = field(init=False)
    unsharp: BoolArray = field(init=False)
    given_up: BoolArray = field(init=False)

    def __post_init__(self) -> None:
        self.seen_low = np.full(len(self.lower), UNBOUNDED, dtype=np.int64)
        self.seen_high = np.full(len(self.lower), -1, dtype=np.int64)
        self.unsharp = np.zeros((2, len(self.lower)), dtype=np.bool_)
        self.given_up = np.zeros((2, len(self.lower)), dtype=np.bool_)

    @property
    def sharp(self) -> BoolArray:
        """Whether both ends are counts of tables that fit: shape (cells,)."""
        return np.asarray((self.seen_low == self.lower) & (self.seen_high == self.upper))

    @property
    def exact(self) -> BoolArray:
        """Whether only one count is possible: shape (cells,)."""
        return np.asarray(self.lower == self.upper)

    def settled(self, small: int | None) -> BoolArray:
        """Whether each bound need not be known better: shape (2, cells), lower and upper.

        small: of cells that are not asked, it is enough to know whether they are certainly 0, certainly 1 or more, certainly
        1 to `small`, or certainly one number.
        """
        known = np.stack([self.seen_low == self.lower, self.seen_high == self.upper])
        if small is None:
            return known
        varies = self.seen_low < self.seen_high
        empty_possible, large_possible = self.seen_low == 0, self.seen_high > small
        enough = np.stack(
            [
                varies & ((self.lower >= 1) | empty_possible),
                varies & (large_possible | (empty_possible & (self.seen_high >= 1)) | (self.upper <= small)),
            ]
        )
        return np.asarray(known | (enough & ~self.asked))

    def see(self, table: FloatArray) -> bool:
        """Take note of a table; whether it is one of whole numbers that fits."""
        counts = np.rint(table).astype(np.int64)
        if np.abs(table - counts).max(initial=0.0) > _WHOLE:
            return False
        equations = self.block.equations
        if (counts < self.lower).any() or (counts > self.upper).any():
            return False
        if len(equations):
            sums = np.add.reduceat(equations.signs * counts[equations.cells], equations.begins)
            if (sums + self.block.known).any():
                return False
        np.minimum(self.seen_low, counts, out=self.seen_low)
        np.maximum(self.seen_high, counts, out=self.seen_high)
        self.seen_high[(self.upper >= UNBOUNDED) & (counts >= _HUGE // 2)] = UNBOUNDED
        return True

    def prove(self, objective: CountArray, duals: FloatArray) -> int:
        """The least value of an objective of whole numbers that multipliers of the equations prove."""
        reduced, multipliers = reduced_objective(objective, self.block.equations, duals)
        # (A x = -known), so c'x = (c - A'y)'x - y'known.
        known = int((multipliers * self.block.known).sum(dtype=object))
        return -(-(proven_sum(reduced, self.lower, self.upper) - known) // MULTIPLE)


def tightened(bounds: Sequence[BlockBounds], small: int | None, deadline: Deadline) -> Sequence[BlockBounds]:
    """The blocks with better bounds, as far as time allows. Raises ContradictionError when no table fits."""
    program = _LinearProgram(bounds)
    rng = np.random.default_rng(0)
    for number in range(_HARVESTS):
        if deadline.is_over:
            return bounds
        direction = 1 if number % 2 else -1
        weights = [rng.integers(1, 4, len(each.lower)) if number > 1 else np.ones(len(each.lower)) for each in bounds]
        open_ends = [~each.settled(small)[0 if direction > 0 else 1] for each in bounds]
        objectives = [np.asarray(direction * weight * ends, dtype=np.int64) for weight, ends in zip(weights, open_ends)]
        if not program.solve(objectives, deadline):
            break
    no_bounds: list[int | None] = [None] * len(bounds)
    while not deadline.is_over:
        chosen = [_next(each, small) for each in bounds]
        if all(choice is None for choice in chosen):
            break
        objectives = []
        for each, choice in zip(bounds, chosen):
            objective = np.zeros(len(each.lower), dtype=np.int64)
            if choice is not None:
                objective[choice[1]] = 1 if choice[0] == 0 else -1
            objectives.append(objective)
        proven = program.solve(objectives, deadline)
        for each, choice, bound in zip(bounds, chosen, proven or no_bounds):
            if choice is not None:
                _improve(each, choice, bound)
    for each in bounds:
        _by_integer_programs(each, small, deadline)
    return bounds


def _next(bounds: BlockBounds, small: int | None) -> tuple[int, int] | None:
    """The next bound to look at: 0 for a lower one or 1, and the cell."""
    waiting = ~bounds.settled(small) & ~bounds.unsharp
    if not waiting.any():
        return None
    side, cell = np.unravel_index(int(np.argmax(waiting)), waiting.shape)
    return int(side), int(cell)


def _improve(bounds: BlockBounds, choice: tuple[int, int], proven: int | None) -> None:
    side, cell = choice
    if proven is not None:
        if side == 0:
            bounds.lower[cell] = max(bounds.lower[cell], proven)
        else:
            bounds.upper[cell] = min(bounds.upper[cell], -proven)
        if bounds.lower[cell] > bounds.upper[cell]:
            raise ContradictionError("the tables contradict each other")
    seen = bounds.seen_low if side == 0 else bounds.seen_high
    ends = bounds.lower if side == 0 else bounds.upper
    if seen[cell] != ends[cell]:
        bounds.unsharp[side, cell] = True


class _LinearProgram:
    """Blocks that one linear program takes together: their optima are independent of each other."""

    def __init__(self, bounds: Sequence[BlockBounds]) -> None:
        from scipy.sparse import block_diag  # slow to import, and few need it

        self.bounds = bounds
        matrices = [each.block.equations.matrix(len(each.lower)).astype(np.float64) for each in bounds]
        self.matrix = block_diag(matrices, format="csr")
        self.known = -np.concatenate([each.block.known for each in bounds]).astype(np.float64)
        self.cells = np.cumsum([0, *(len(each.lower) for each in bounds)])
        self.rows = np.cumsum([0, *(len(each.block.equations) for each in bounds)])

    def solve(self, objectives: Sequence[CountArray], deadline: Deadline) -> list[int] | None:
        """For each block the least value of its objective that is proven; None where the solver did not come to an end.

        Raises ContradictionError when no table of real numbers fits.
        """
        from scipy.optimize import linprog

        lower = np.concatenate([each.lower for each in self.bounds])
        upper = np.concatenate([each.upper for each in self.bounds]).astype(np.float64)
        # Without any end, one block could make the program of all unbounded.
        upper[upper >= UNBOUNDED] = _HUGE + 2 * lower.max(initial=0)
        settings: dict[str, Any] = {"time_limit": deadline.left} if np.isfinite(deadline.left) else {}
        found: Any = None
        for presolve in (True, False):
            solve: Any = linprog  # its stubs know no sparse matrices
            found = solve(
                np.concatenate(objectives).astype(np.float64),
                A_eq=self.matrix if self.matrix.shape[0] else None,
                b_eq=self.known if self.matrix.shape[0] else None,
                bounds=np.stack([lower, upper], axis=1),
                method="highs",
                options={"presolve": presolve, **settings},
            )
            if found.status != 2:
                break
        if found.status == 2:
            raise ContradictionError("the tables contradict each other")
        if found.status != 0:
            return None
        duals: NDArray[np.float64] = found.eqlin.marginals if self.matrix.shape[0] else np.zeros(0)
        proven = []
        for number, (each, objective) in enumerate(zip(self.bounds, objectives)):
            cells, rows = (slice(begin[number], begin[number + 1]) for begin in (self.cells, self.rows))
            each.see(found.x[cells])
            proven.append(each.prove(objective, duals[rows]))
        return proven


def _by_integer_programs(bounds: BlockBounds, small: int | None, deadline: Deadline) -> None:
    """Bounds that linear programs did not show to be sharp."""
    while not deadline.is_over:
        waiting = ~bounds.settled(small) & ~bounds.given_up & bounds.unsharp
        if not waiting.any():
            break
        side, cell = map(int, np.unravel_index(int(np.argmax(waiting)), waiting.shape))
        bounds.given_up[side, cell] = True
        _solve_whole(bounds, side, cell, deadline)


def _solve_whole(bounds: BlockBounds, side: int, cell: int, deadline: Deadline) -> None:
    from scipy.optimize import LinearConstraint

    equations = bounds.block.equations
    matrix = equations.matrix(len(bounds.lower)).astype(np.float64)
    right = -(bounds.block.known + matrix @ bounds.lower)
    objective = np.zeros(len(bounds.lower))
    objective[cell] = 1.0 if side == 0 else -1.0
    most = np.where(bounds.upper >= UNBOUNDED, np.inf, (bounds.upper - bounds.lower).astype(np.float64))
    numbers = WholeNumbers(min(_INTEGER_SECONDS, deadline.left))
    solution = least_within(objective, [LinearConstraint(matrix, right, right)], numbers, most)
    if solution.table is not None:
        bounds.see(solution.table + bounds.lower)
    if np.isfinite(solution.bound):
        proven = int(np.ceil(solution.bound - _WHOLE))
        if side == 0:
            bounds.lower[cell] = max(bounds.lower[cell], bounds.lower[cell] + proven)
        else:
            bounds.upper[cell] = min(bounds.upper[cell], bounds.lower[cell] - proven)
