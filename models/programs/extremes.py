"""Extremes of counts: the least and the largest value of unknown whole numbers, within a budget of programs.

One loop serves every question of this kind. `narrow` solves programs until each open bound is attained by a table of
whole numbers, or the effort is over. One table can attain many bounds, which saves programs. Bounds of linear programs
are proven by their multipliers in whole numbers; bounds of integer programs are the solver's.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf
from sys import maxsize
from typing import TypeAlias

import numpy as np

from models.arrays import BoolArray, CountArray, FloatArray, IndexArray
from models.deadline import NEVER, Deadline
from models.errors import ContradictionError
from models.programs.consistent_tables import ALL_NODES, UNBOUNDED, Equations, PossibleCells, Program, solve

_WHOLE = 1e-6
"""Distance within which a program's number counts as whole; its fit is then checked in whole numbers."""

_HUGE = 10**7
"""Upper end, in a linear program, of a count without one; a count of half as many may be any number."""

_HARVESTS = 4
"""Programs that look for tables attaining many bounds at once, before bounds are examined one by one."""

_TOGETHER = (maxsize, 60, 12, 3, 1)
"""Numbers of bounds without a common equation that one linear program asks about, in turn."""

_LARGE_FROM = 40
"""Least numbers of a table of which many bounds are asked about at once; for smaller tables integer programs are quick."""

_DRAWS = 3
"""Times that bounds without a common equation are drawn."""

Bound: TypeAlias = tuple[int, int]
"""Side of a bound, 0 for lower and 1 for upper, and place of its count."""


@dataclass
class Effort:
    """Budget of programs: each for so many seconds and search nodes, none after the deadline.

    whole_seconds: of an integer program, if it gets less time than a linear one.
    """

    seconds: float = inf
    nodes: int = ALL_NODES
    programs: int = maxsize
    deadline: Deadline = NEVER
    whole_seconds: float = inf

    @property
    def is_over(self) -> bool:
        """True if no further program can be solved."""
        return self.programs <= 0 or min(self.seconds, self.deadline.left) <= 0

    def spend(self) -> float:
        """Count a program and return its seconds."""
        self.programs -= 1
        return min(self.seconds, self.deadline.left)


@dataclass(eq=False)
class Ranges:
    """Proven bounds of counts, and the least and the largest value of each in the tables found: shape (counts,)."""

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
        """True if each bound is attained by a table: shape (2, counts), lower and upper."""
        return np.stack([self.seen_low <= self.lower, self.seen_high >= self.upper])

    def see(self, counts: CountArray | FloatArray) -> None:
        """Record the counts of a table."""
        np.minimum(self.seen_low, counts, out=self.seen_low)
        np.maximum(self.seen_high, counts, out=self.seen_high)

    def bound(self, side: int, place: int, least: int) -> None:
        """Record a proven lower bound, or the negative of an upper one. Raises ContradictionError if no count is left."""
        if side == 0:
            self.lower[place] = max(self.lower[place], least)
        else:
            self.upper[place] = min(self.upper[place], -least)
        if self.lower[place] > self.upper[place]:
            raise ContradictionError("no table has these marginals")


@dataclass(eq=False)
class Unknowns(Ranges):
    """Counts that are sums of whole numbers with `equations @ numbers == right`, or these numbers themselves.

    wanted: whether all bounds of a count are needed. sums: shape (counts, numbers), None for the numbers themselves;
    ends: then the bounds of the numbers. is_whole: whether integer programs are solved; otherwise any table is
    accepted. tried: 1 if a bound is sharp over real numbers or was examined by itself, 2 if it is given up; shape (2,
    counts). passes: how many sizes of `_TOGETHER` have asked about a bound. table: the last table of whole numbers.
    """

    equations: Equations
    right: CountArray
    wanted: BoolArray
    sums: Equations = None
    ends: tuple[CountArray, CountArray] | None = None
    is_whole: bool = True
    tried: IndexArray = field(init=False)
    passes: IndexArray = field(init=False)
    table: CountArray | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.tried, self.passes = np.zeros((2, 2, len(self)), dtype=np.intp)

    @property
    def number_ends(self) -> tuple[CountArray, CountArray]:
        """Bounds of the numbers."""
        return (self.lower, self.upper) if self.ends is None else self.ends

    def take(self, table: FloatArray) -> None:
        """Record a table of a program if it is whole and fits, or if it need not be whole."""
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
        """Return the weights of the numbers that correspond to weights of the counts. weights: shape (counts,)."""
        return weights if self.sums is None else np.asarray(self.sums.T @ weights)

    def objective_of(self, chosen: Sequence[Bound]) -> CountArray:
        """Return the objective whose least value is the sum of some lower bounds and of negative upper ones."""
        weights = np.zeros(len(self), dtype=np.int64)
        for side, place in chosen:
            weights[place] = -1 if side else 1
        return self.objective(weights)

    @property
    def is_large(self) -> bool:
        """True if many bounds are asked about at once."""
        return self.sums is None and len(self) >= _LARGE_FROM

    def apart(self, waiting: BoolArray, most: int, rng: "np.random.Generator") -> list[Bound]:
        """Return some waiting bounds, no two of them in one equation (Luby 1986); for few numbers only the first one."""
        if not self.is_large or most == 1 or not waiting.any():
            return [divmod(int(np.argmax(waiting)), len(self))] if waiting.any() else []
        entries, touches = self.equations.tocoo(), abs(self.equations)
        order = np.where(waiting.any(axis=0), 1 + rng.permutation(len(self)), 0)
        drawn = np.zeros(len(self), dtype=np.bool_)
        for _ in range(_DRAWS):
            best = np.zeros(len(self.right), dtype=np.intp)
            np.maximum.at(best, entries.row, order[entries.col])
            beaten = np.bincount(entries.col, best[entries.row] > order[entries.col], len(self))
            drawn |= (order > 0) & (beaten == 0)
            order[touches.T @ (touches @ drawn) > 0] = 0
        places = rng.permutation(np.flatnonzero(drawn))[:most].tolist()
        return [(int(np.argmax(waiting[:, place])), place) for place in places]


IsOpen = Callable[[Unknowns], BoolArray]
"""Returns whether each bound still needs improvement: shape (2, numbers), lower and upper."""


def narrow(blocks: Sequence[Unknowns], is_open: IsOpen, effort: Effort) -> None:
    """Improve bounds of independent blocks, and find tables, until no bound is open or the effort is over.

    Linear programs come first: for many bounds of all blocks, then for fewer of each, then for one. Integer programs
    follow. Raises ContradictionError.
    """
    from scipy.sparse import block_diag  # slow to import, and few need it

    equations = [block.equations for block in blocks]
    matrix = (equations[0] if len(blocks) == 1 else block_diag(equations, format="csr")).astype(np.float64)
    rng = np.random.default_rng(0)
    waiting = [is_open(block) for block in blocks]
    count, settled = sum(map(np.count_nonzero, waiting)), 0
    for number in range(maxsize):
        if effort.is_over or count <= len(blocks) or (number >= _HARVESTS and settled <= len(blocks)):
            break
        side = 1 - number % 2 if any(some[1 - number % 2].any() for some in waiting) else number % 2
        weights = [rng.integers(1, 4, len(block)) if number > 1 else 1 for block in blocks]
        objectives = [
            block.objective((-weight if side else weight) * some[side])
            for block, weight, some in zip(blocks, weights, waiting)
        ]
        if not _solved_together(blocks, matrix, objectives, effort):
            break
        waiting = [is_open(block) for block in blocks]
        count, settled = (left := sum(map(np.count_nonzero, waiting))), count - left
    for number, most in enumerate(_TOGETHER):
        while not effort.is_over:
            chosen = [
                block.apart(is_open(block) & (block.tried == 0) & (block.passes <= number), most, rng)
                for block in blocks
            ]
            if not any(chosen):
                break
            is_solved = _solved_together(blocks, matrix, [*map(Unknowns.objective_of, blocks, chosen)], effort, chosen)
            for block, chosen_bounds in zip(blocks, chosen):
                for bound in chosen_bounds:
                    block.passes[bound] = number + 1
                    if most == 1 or not block.is_large:
                        block.tried[bound] = 1 if is_solved or block.is_whole else 2
                # A first table of whole numbers attains many bounds.
                if chosen_bounds and block.table is None and not block.is_large and not (block.tried == 2).any():
                    _try_in_whole_numbers(block, is_open, effort)
    for block in blocks:
        while _try_in_whole_numbers(block, is_open, effort):
            pass


def _solved_together(
    blocks: Sequence[Unknowns],
    matrix: Equations,
    objectives: Sequence[CountArray],
    effort: Effort,
    chosen: Sequence[Sequence[Bound]] = (),
) -> bool:
    """Prove the chosen bounds of each block by one linear program; False if the solver did not finish."""
    lower, upper = (np.concatenate(ends).astype(np.float64) for ends in zip(*(block.number_ends for block in blocks)))
    # Finite ends, because one unbounded block would make the whole program unbounded.
    upper[upper >= UNBOUNDED] = _HUGE + 2 * lower.max(initial=0)
    right = np.concatenate([block.right for block in blocks])
    program = Program(matrix, right.astype(np.float64), lower, upper)
    solution = solve(np.concatenate(objectives).astype(np.float64), program, effort.spend())
    if solution.table is None or solution.multipliers is None:
        return False
    tables = np.split(solution.table, np.cumsum([block.equations.shape[1] for block in blocks])[:-1])
    multipliers = np.split(solution.multipliers, np.cumsum([len(block.right) for block in blocks])[:-1])
    for block, table in zip(blocks, tables):
        block.take(table)
    for block, bounds, table, duals in zip(blocks, chosen, tables, multipliers):
        _prove(block, bounds, np.rint(duals * MULTIPLE).astype(np.int64))
        if block.is_large:
            has_met = np.stack([table <= block.lower + _WHOLE, table >= np.minimum(block.upper, _HUGE // 2) - _WHOLE])
            block.tried[has_met & (block.tried == 0)] = 1
    return True


def _prove(block: Unknowns, bounds: Sequence[Bound], multipliers: CountArray) -> None:
    """Prove each bound by the equations linked with it, from the rounded multipliers of a program for all bounds."""
    from scipy.sparse.csgraph import connected_components  # slow to import, and few need it

    rows = np.flatnonzero(multipliers)
    used = block.equations[rows]
    part = connected_components(abs(used) @ abs(used).T, directed=False)[1] if len(bounds) > 1 else np.zeros(len(rows))
    for bound in bounds:
        objective = block.objective_of([bound])
        near = np.isin(part, part[abs(used) @ (objective != 0) > 0]) if len(bounds) > 1 else slice(None)
        factors = multipliers[rows][near]
        reduced = objective * MULTIPLE - used[near].T @ factors
        constant = int((factors * block.right[rows][near]).sum(dtype=object))  # c'x = (c - A'y)'x + y'right
        block.bound(*bound, -(-(proven_sum(reduced, *block.number_ends) + constant) // MULTIPLE))


def _try_in_whole_numbers(block: Unknowns, is_open: IsOpen, effort: Effort) -> bool:
    waiting = is_open(block) & (block.tried == 1)
    if not block.is_whole or effort.is_over or not waiting.any():
        return False
    bound = divmod(int(np.argmax(waiting)), len(block))
    block.tried[bound] = 2
    lower, upper = (end.astype(np.float64) for end in block.number_ends)
    upper[upper >= UNBOUNDED] = np.inf
    program = Program(block.equations.astype(np.float64), block.right.astype(np.float64), lower, upper)
    objective = block.objective_of([bound]).astype(np.float64)
    solution = solve(objective, program, min(effort.spend(), effort.whole_seconds), effort.nodes)
    if solution.table is not None:
        block.take(solution.table)
    if np.isfinite(solution.bound):
        block.bound(*bound, int(np.ceil(solution.bound - _WHOLE)))
    return True


# Certificates: bounds that follow from multiples of equations, in whole numbers, whatever a solver has rounded.
#
# A count c'x equals (c - A'y)'x + y'right for any multiples y of the equations A x = right. It is no less than the least
# value of that over the ranges of the counts (weak duality; Neumaier and Shcherbina 2004, safe bounds). A linear program
# finds the best y; rounding y costs tightness, never truth.


MULTIPLE = 5040
"""Denominator of the fractions that multipliers are rounded to."""


def reduced_objective(objective: CountArray, equations: Equations, duals: FloatArray) -> CountArray:
    """Return c - A'y in units of 1 / MULTIPLE, shape (numbers,)."""
    return np.asarray(objective * MULTIPLE - equations.T @ np.rint(duals * MULTIPLE).astype(np.int64))


def proven_sum(reduced: CountArray, lower: CountArray, upper: CountArray) -> int:
    """Return the least sum over the ranges, in units of 1 / MULTIPLE; far below 0 if a range that matters has no end."""
    if ((upper >= UNBOUNDED) & (reduced < 0)).any():
        return -2 * UNBOUNDED * MULTIPLE
    return int(np.where(reduced >= 0, reduced * lower, reduced * np.minimum(upper, UNBOUNDED >> 16)).sum(dtype=object))


def sums_of_cells(cells: PossibleCells, groups: IndexArray, number: int, *, is_whole: bool = True) -> Unknowns:
    """Return the sums of possible cells, all wanted. groups: the sum that each cell is part of, shape (cells,).

    Their first bounds come from propagation and from each marginal by itself.
    """
    from scipy.sparse import csr_array  # slow to import, and few need it

    ends = cells.propagated
    least, most = (np.bincount(groups, end, number).astype(np.int64) for end in ends)
    for rows in cells.constraints.tocsc().indices.reshape(len(cells), len(cells.tables)).T:  # the cell of each table
        row_of, places = np.divmod(np.unique(rows * np.int64(number) + groups), number)
        counts = cells.counts[row_of]
        is_alone = np.bincount(row_of)[row_of] == 1
        most = np.minimum(most, np.bincount(places, counts, number).astype(np.int64))
        least = np.maximum(least, np.bincount(places, counts * is_alone, number).astype(np.int64))
    ones = np.ones(len(cells), dtype=np.int64)
    sums = csr_array((ones, (groups, np.arange(len(cells)))), shape=(number, len(cells)))
    equations, right = cells.constraints.astype(np.int64), cells.counts.astype(np.int64)
    return Unknowns(least, most, equations, right, np.ones(number, dtype=np.bool_), sums, ends, is_whole)
