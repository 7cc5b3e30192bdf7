"""Proven bounds of the counts of linked tables: by propagation and programs, with published counts that explain them.

Every bound is proven in whole numbers, so it holds for certain, sharp or not: those of linear programs by their
multipliers, those of integer programs as the solver tells. Tables of whole numbers that are met on the way show which
counts are possible, and so which bounds are sharp; with them most programs need not be solved.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from models.arrays import BoolArray, CountArray, FloatArray, IndexArray
from models.deadline import NEVER, Deadline
from models.errors import ContradictionError
from models.intervals.linked_tables import LinkedTables
from models.programs.consistent_tables import UNBOUNDED, Equations, WholeNumbers, least_within, propagated

_WHOLE = 1e-6
"""Distance within which a program's number is taken for a whole one; whether it fits is then checked in whole numbers."""

_HUGE = 10**7
"""Taken for the upper end of a count without one; a count of half as many may be any number."""

_HARVESTS = 4
"""Programs that look for tables which show many bounds to be sharp at once, before any is looked at by itself."""

_INTEGER_SECONDS = 5.0
"""Of one integer program."""

_AT_ONCE = 4_000
"""Cells of the blocks that one linear program takes together."""

_NEAR = 3_000
"""Cells around one that its explanation is looked for among."""

_SLACK = 1e-4
"""By which ranges are widened for the program, so that of all explanations it finds one with few counts."""


@dataclass(frozen=True, eq=False)
class ProvenBounds:
    """Bounds of all counts: lower <= count <= upper in every population that the tables fit, for certain. shape (cells,).

    sharp: whether both ends are surely attained, each in some population that fits everything published. False means that
    the bounds hold and may not be attained: time was over, or the count is one of a joint table of which it is not known
    that whatever fits the linked tables has a population, as no junction tree of joint tables covers it (`linked_tables`).
    decided: whether nothing more can follow of what was asked, which is all where programs asked for everything. A count
    that is not decided may be determined by the tables all the same.
    """

    lower: CountArray
    upper: CountArray
    sharp: BoolArray
    decided: BoolArray

    @property
    def exact(self) -> BoolArray:
        """Whether only one count is possible."""
        return np.asarray(self.lower == self.upper)


@dataclass(eq=False)
class Block:
    """Cells of which propagation leaves a range, the equations between them, and what is known of their counts so far.

    cells: their numbers among all. equations: shape (equations, cells); `equations @ counts` is `right`. asked: cells of
    which all bounds are wanted. seen_low, seen_high: the least and the largest count in tables that fit and were met.
    unsharp: bounds that linear programs cannot show to be sharp; given_up: those that nothing more is tried for; shape
    (2, cells): lower, upper.
    """

    cells: IndexArray
    equations: Equations
    right: CountArray
    lower: CountArray
    upper: CountArray
    asked: BoolArray
    seen_low: CountArray = field(init=False)
    seen_high: CountArray = field(init=False)
    unsharp: BoolArray = field(init=False)
    given_up: BoolArray = field(init=False)

    def __post_init__(self) -> None:
        self.seen_low, self.seen_high = np.full_like(self.lower, UNBOUNDED), np.full_like(self.lower, -1)
        self.unsharp, self.given_up = (np.zeros((2, len(self)), dtype=np.bool_) for _ in range(2))

    def __len__(self) -> int:
        """Number of cells."""
        return len(self.cells)

    def settled(self, small: int | None) -> BoolArray:
        """Whether each bound need not be known better: shape (2, cells), lower and upper.

        small: of cells that are not asked, it is enough to know whether they are certainly 0, certainly 1 or more, certainly
        1 to `small`, or certainly one number.
        """
        known = np.stack([self.seen_low == self.lower, self.seen_high == self.upper])
        if small is None:
            return known
        varies = self.seen_low < self.seen_high
        can_be_empty, can_be_large = self.seen_low == 0, self.seen_high > small
        enough = np.stack(
            [
                varies & ((self.lower >= 1) | can_be_empty),
                varies & (can_be_large | (can_be_empty & (self.seen_high >= 1)) | (self.upper <= small)),
            ]
        )
        return np.asarray(known | (enough & ~self.asked))

    def see(self, table: FloatArray) -> None:
        """Take note of a table if it is one of whole numbers that fits."""
        counts = np.rint(table).astype(np.int64)
        is_whole = np.abs(table - counts).max(initial=0.0) <= _WHOLE
        is_inside = (counts >= self.lower).all() and (counts <= self.upper).all()
        if is_whole and is_inside and np.array_equal(self.equations @ counts, self.right):
            np.minimum(self.seen_low, counts, out=self.seen_low)
            np.maximum(self.seen_high, counts, out=self.seen_high)
            self.seen_high[(self.upper >= UNBOUNDED) & (counts >= _HUGE // 2)] = UNBOUNDED

    def bound(self, side: int, cell: int, least: int) -> None:
        """Take note of the least that a lower bound, or the negative of an upper one, was proven to be."""
        if side == 0:
            self.lower[cell] = max(self.lower[cell], least)
        else:
            self.upper[cell] = min(self.upper[cell], -least)
        if self.lower[cell] > self.upper[cell]:
            raise ContradictionError("the tables contradict each other")

    def objective(self, side: int, cell: int) -> CountArray:
        """The count of a cell, or its negative: shape (cells,)."""
        objective = np.zeros(len(self), dtype=np.int64)
        objective[cell] = -1 if side else 1
        return objective


BlockRunner: TypeAlias = Callable[
    [Callable[[Sequence[Block]], Sequence[Block]], Sequence[Sequence[Block]]], Iterable[Sequence[Block]]
]
"""How parts of the work that do not depend on each other are done, such as several at once; results in their order."""


def proven_bounds(
    linked: LinkedTables, small: int | None = None, deadline: Deadline = NEVER, run: BlockRunner = map
) -> ProvenBounds:
    """Bounds of all counts of some linked tables.

    small: with a number, programs ask of cells that no table shows only whether they are certainly empty, certainly
    occupied, certainly 1 to `small`, or known; of published cells all is asked. run: how blocks are worked on.

    Raises ContradictionError when no table fits.
    """
    lower, upper = propagated(linked.equations, linked.lower, linked.upper)
    if (lower > upper).any():
        raise ContradictionError("the tables contradict each other")
    sharp: BoolArray = lower == upper
    decided = sharp.copy()
    asked = np.full(len(linked), small is None) | linked.is_published
    waiting = list(_together(_blocks(linked.equations, lower, upper, asked)))
    for block in (block for some in run(partial(tightened, small=small, deadline=deadline), waiting) for block in some):
        lower[block.cells], upper[block.cells] = block.lower, block.upper
        certain = linked.covered[block.cells] | (block.lower == block.upper)
        sharp[block.cells] = block.settled(None).all(axis=0) & certain
        decided[block.cells] = block.settled(small).all(axis=0) & certain
    return ProvenBounds(lower, upper, sharp, decided)


def _blocks(equations: Equations, lower: CountArray, upper: CountArray, asked: BoolArray) -> list[Block]:
    """The connected parts of the cells with a range, the smallest first."""
    from scipy.sparse import block_array  # slow to import, and few need it
    from scipy.sparse.csgraph import connected_components

    is_open: BoolArray = lower < upper
    cells = np.flatnonzero(is_open)
    if not len(cells):
        return []
    matrix, right = equations[:, is_open], -(equations[:, ~is_open] @ lower[~is_open])
    rows = _different(matrix, right)
    matrix, right = matrix[rows], right[rows]
    _, part = connected_components(block_array([[None, matrix.T], [matrix, None]]), directed=False)
    cell_part, row_part = part[: len(cells)], part[len(cells) :]
    cell_order, row_order = np.argsort(cell_part, kind="stable"), np.argsort(row_part, kind="stable")
    cells, matrix, right = cells[cell_order], matrix[row_order][:, cell_order], right[row_order]
    numbers = np.arange(part.max() + 2)
    cell_ends, row_ends = np.searchsorted(cell_part[cell_order], numbers), np.searchsorted(row_part[row_order], numbers)
    blocks = []
    for number in numbers[:-1]:
        inside, held = slice(*cell_ends[number : number + 2]), slice(*row_ends[number : number + 2])
        of_block = cells[inside]
        blocks.append(
            Block(of_block, matrix[held, inside], right[held], lower[of_block], upper[of_block], asked[of_block])
        )
    return sorted(blocks, key=len)


def _different(matrix: Equations, right: CountArray) -> IndexArray:
    """Equations that are about some cell, each different one once."""
    # A random number for each cell tells sums apart; an equation that was left out wrongly would only loosen bounds.
    rows = np.flatnonzero(np.diff(matrix.indptr))
    sums = matrix[rows] @ np.random.default_rng(0).integers(1, 2**61, size=matrix.shape[1])
    sides = np.where(sums < 0, -1, 1)
    chosen = np.unique(np.stack([sums * sides, right[rows] * sides], axis=1), axis=0, return_index=True)[1]
    return np.asarray(rows[np.sort(chosen)])


def _together(waiting: Iterable[Block]) -> Iterator[Sequence[Block]]:
    some: list[Block] = []
    size = 0
    for block in waiting:
        if some and size + len(block) > _AT_ONCE:
            yield some
            some, size = [], 0
        some.append(block)
        size += len(block)
    if some:
        yield some


def tightened(blocks: Sequence[Block], small: int | None, deadline: Deadline) -> Sequence[Block]:
    """The blocks with better bounds, as far as time allows. Raises ContradictionError when no table fits."""
    from scipy.sparse import block_diag  # slow to import, and few need it

    matrix = block_diag([block.equations for block in blocks], format="csr")
    rng = np.random.default_rng(0)
    for number in range(_HARVESTS):
        sign, side = (1, 0) if number % 2 else (-1, 1)
        weights = [rng.integers(1, 4, len(block)) if number > 1 else 1 for block in blocks]
        objectives = [sign * weight * ~block.settled(small)[side] for weight, block in zip(weights, blocks)]
        if deadline.is_over or _proven_together(blocks, matrix, objectives, deadline) is None:
            break
    while not deadline.is_over:
        chosen = [_first(~block.settled(small) & ~block.unsharp) for block in blocks]
        if not any(chosen):
            break
        objectives = [
            block.objective(*choice) if choice else np.zeros(len(block), dtype=np.int64)
            for block, choice in zip(blocks, chosen)
        ]
        proven = _proven_together(blocks, matrix, objectives, deadline)
        for number, (block, choice) in enumerate(zip(blocks, chosen)):
            if choice:
                if proven is not None:
                    block.bound(*choice, proven[number])
                block.unsharp[choice] = not block.settled(None)[choice]
    for block in blocks:
        while not deadline.is_over and (choice := _first(~block.settled(small) & ~block.given_up & block.unsharp)):
            block.given_up[choice] = True
            _solve_in_whole_numbers(block, *choice, deadline)
    return blocks


def _first(waiting: BoolArray) -> tuple[int, int] | None:
    """The side, 0 for lower, and the cell of the first bound that waits."""
    if not waiting.any():
        return None
    side, cell = np.unravel_index(int(np.argmax(waiting)), waiting.shape)
    return int(side), int(cell)


def _proven_together(
    blocks: Sequence[Block], matrix: Equations, objectives: Sequence[CountArray], deadline: Deadline
) -> list[int] | None:
    """For each block the least value of its objective that is proven; None where the solver did not come to an end.

    One program takes all, since their optima are independent of each other. Raises ContradictionError when no table of
    real numbers fits.
    """
    lower = np.concatenate([block.lower for block in blocks]).astype(np.float64)
    upper = np.concatenate([block.upper for block in blocks]).astype(np.float64)
    # Without any end, one block could make the program of all unbounded.
    upper[upper >= UNBOUNDED] = _HUGE + 2 * lower.max(initial=0)
    right = np.concatenate([block.right for block in blocks])
    result = linear_program(np.concatenate(objectives), matrix, right, (lower, upper), deadline)
    if result.status == 2:
        raise ContradictionError("the tables contradict each other")
    if result.status != 0:
        return None
    cell_ends = np.cumsum([len(block) for block in blocks])[:-1]
    row_ends = np.cumsum([len(block.right) for block in blocks])[:-1]
    tables, multipliers = np.split(result.x, cell_ends), np.split(result.eqlin.marginals, row_ends)
    proven = []
    for block, objective, table, duals in zip(blocks, objectives, tables, multipliers):
        block.see(table)
        reduced, rounded = reduced_objective(objective, block.equations, duals)
        known = int((rounded * block.right).sum(dtype=object))  # c'x = (c - A'y)'x + y'right
        proven.append(-(-(proven_sum(reduced, block.lower, block.upper) + known) // MULTIPLE))
    return proven


def linear_program(
    objective: CountArray | FloatArray,
    equations: Equations,
    right: CountArray | FloatArray,
    ends: tuple[FloatArray, FloatArray],
    deadline: Deadline = NEVER,
) -> Any:
    """What scipy tells of the least value of an objective; status 2 if the program has no solution without presolve, too."""
    from scipy.optimize import linprog  # slow to import, and few need it

    settings: dict[str, Any] = {"time_limit": deadline.left} if np.isfinite(deadline.left) else {}
    solve: Any = linprog  # its stubs know no sparse matrices
    result: Any = None
    for presolve in (True, False):
        result = solve(
            objective.astype(np.float64),
            A_eq=equations.astype(np.float64),
            b_eq=right.astype(np.float64),
            bounds=np.stack(ends, axis=1),
            method="highs",
            options={"presolve": presolve, **settings},
        )
        if result.status != 2:
            break
    return result


def _solve_in_whole_numbers(block: Block, side: int, cell: int, deadline: Deadline) -> None:
    from scipy.optimize import LinearConstraint

    right = block.right - block.equations @ block.lower
    most = np.where(block.upper >= UNBOUNDED, np.inf, (block.upper - block.lower).astype(np.float64))
    constraint = LinearConstraint(block.equations.astype(np.float64), right, right)
    numbers = WholeNumbers(min(_INTEGER_SECONDS, deadline.left))
    objective = block.objective(side, cell)
    solution = least_within(objective.astype(np.float64), [constraint], numbers, most)
    before = int(objective @ block.lower)
    if solution.table is not None:
        block.see(solution.table + block.lower)
    if np.isfinite(solution.bound):
        block.bound(side, cell, before + int(np.ceil(solution.bound - _WHOLE)))


@dataclass(frozen=True)
class Term:
    """A count that is added so many times, or subtracted. Its range: as published, or as worked out before."""

    times: Fraction
    cell: int
    lower: int
    upper: int
    is_published: bool


@dataclass(frozen=True)
class Explanation:
    """A count is the sum of the terms, whatever it is, and so at least (or at most) the bound.

    is_whole: whether the bound follows from the terms; otherwise also from counts being whole numbers, or from more tables
    than were looked at.
    """

    terms: tuple[Term, ...]
    is_whole: bool


def explained(linked: LinkedTables, bounds: ProvenBounds, cell: int, *, upper: bool) -> Explanation:
    """Why a count is at least what its lower bound says, or at most what its upper one says."""
    near, equations = _neighbourhood(linked, cell)
    place = int(np.searchsorted(near, cell))
    published = linked.lower[near], linked.upper[near]
    worked_out = bounds.lower[near], bounds.upper[near]
    is_published = linked.is_published[near]
    is_published[place] = True  # its own bounds explain nothing
    mixed = tuple(np.where(is_published, one, other) for one, other in zip(published, worked_out))
    sign, goal = (-1, -bounds.upper[cell]) if upper else (1, bounds.lower[cell])
    objective = sign * (np.arange(len(near)) == place)
    best = Explanation((), is_whole=False)
    for low, high in (published, mixed) if equations.shape[0] else ():
        widened = low.astype(np.float64) - _SLACK, np.where(high >= UNBOUNDED, np.inf, high + _SLACK).astype(np.float64)
        result = linear_program(objective, equations, np.zeros(equations.shape[0]), widened)
        if result.status != 0:
            continue
        reduced, _ = reduced_objective(objective, equations, result.eqlin.marginals)
        used = np.flatnonzero(reduced)
        times = (Fraction(sign * each, MULTIPLE) for each in reduced[used].tolist())
        shown = linked.is_published[near[used]].tolist()
        terms = map(Term, times, near[used].tolist(), low[used].tolist(), high[used].tolist(), shown)
        is_whole = -(-proven_sum(reduced, low, high) // MULTIPLE) == int(goal)
        if is_whole or not best.terms:
            best = Explanation(tuple(terms), is_whole)
        if is_whole:
            break
    return best


def _neighbourhood(linked: LinkedTables, cell: int) -> tuple[IndexArray, Equations]:
    """Cells around a cell, sorted, and the equations that are wholly among them."""
    touches = abs(linked.equations)
    inside: BoolArray = np.arange(len(linked)) == cell
    while True:
        wider = inside | (touches.T @ (touches @ inside) > 0)
        if np.array_equal(wider, inside) or (wider.sum() > _NEAR and inside.sum() > 1):
            break
        inside = wider
    is_whole = touches @ ~inside == 0
    return np.flatnonzero(inside), linked.equations[is_whole][:, inside]


# Certificates: bounds that follow from multiples of equations, in whole numbers, whatever a solver has rounded.
#
# All equations say that something is known. So a count c'x equals (c - A'y)'x + y'right for any multiples y of the
# equations, and is no less than what the ranges of the counts leave of that (weak duality; Neumaier and Shcherbina
# 2004, safe bounds). A linear program finds the best y; that they are rounded here costs tightness, never truth.


MULTIPLE = 5040
"""Multipliers are rounded to fractions of this denominator."""


def reduced_objective(objective: CountArray, equations: Equations, duals: FloatArray) -> tuple[CountArray, CountArray]:
    """C - A'y, shape (cells,), and y, shape (equations,), both in units of 1 / MULTIPLE."""
    multipliers = np.rint(duals * MULTIPLE).astype(np.int64)
    return objective * MULTIPLE - equations.T @ multipliers, multipliers


def proven_sum(reduced: CountArray, lower: CountArray, upper: CountArray) -> int:
    """What the ranges leave of a sum at least, in units of 1 / MULTIPLE; far below 0 where a range has no end."""
    if ((upper >= UNBOUNDED) & (reduced < 0)).any():
        return -UNBOUNDED * MULTIPLE
    return int(np.where(reduced >= 0, reduced * lower, reduced * np.minimum(upper, UNBOUNDED >> 16)).sum(dtype=object))
