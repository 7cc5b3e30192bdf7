"""Proven bounds of the counts of linked tables: by propagation and programs, with published counts that explain them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from models.arrays import BoolArray, CountArray, FloatArray, IndexArray
from models.deadline import NEVER, Deadline
from models.errors import ContradictionError
from models.intervals.linked_tables import Block, LinkedTables, blocks
from models.programs.consistent_tables import UNBOUNDED, Equations, WholeNumbers, least_within, propagated

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
        weights = [
            rng.integers(1, 4, len(bound.lower)) if number > 1 else np.ones(len(bound.lower)) for bound in bounds
        ]
        open_ends = [~bound.settled(small)[0 if direction > 0 else 1] for bound in bounds]
        objectives = [np.asarray(direction * weight * ends, dtype=np.int64) for weight, ends in zip(weights, open_ends)]
        if not program.solve(objectives, deadline):
            break
    no_bounds: list[int | None] = [None] * len(bounds)
    while not deadline.is_over:
        chosen = [_next(bound, small) for bound in bounds]
        if all(choice is None for choice in chosen):
            break
        objectives = []
        for block_bounds, choice in zip(bounds, chosen):
            objective = np.zeros(len(block_bounds.lower), dtype=np.int64)
            if choice is not None:
                objective[choice[1]] = 1 if choice[0] == 0 else -1
            objectives.append(objective)
        proven = program.solve(objectives, deadline)
        for block_bounds, choice, bound in zip(bounds, chosen, proven or no_bounds):
            if choice is not None:
                _improve(block_bounds, choice, bound)
    for block_bounds in bounds:
        _by_integer_programs(block_bounds, small, deadline)
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
        matrices = [bound.block.equations.matrix(len(bound.lower)).astype(np.float64) for bound in bounds]
        self.matrix = block_diag(matrices, format="csr")
        self.known = -np.concatenate([bound.block.known for bound in bounds]).astype(np.float64)
        self.cells = np.cumsum([0, *(len(bound.lower) for bound in bounds)])
        self.rows = np.cumsum([0, *(len(bound.block.equations) for bound in bounds)])

    def solve(self, objectives: Sequence[CountArray], deadline: Deadline) -> list[int] | None:
        """For each block the least value of its objective that is proven; None where the solver did not come to an end.

        Raises ContradictionError when no table of real numbers fits.
        """
        from scipy.optimize import linprog

        lower = np.concatenate([bound.lower for bound in self.bounds])
        upper = np.concatenate([bound.upper for bound in self.bounds]).astype(np.float64)
        # Without any end, one block could make the program of all unbounded.
        upper[upper >= UNBOUNDED] = _HUGE + 2 * lower.max(initial=0)
        settings: dict[str, Any] = {"time_limit": deadline.left} if np.isfinite(deadline.left) else {}
        result: Any = None
        for presolve in (True, False):
            solve: Any = linprog  # its stubs know no sparse matrices
            result = solve(
                np.concatenate(objectives).astype(np.float64),
                A_eq=self.matrix if self.matrix.shape[0] else None,
                b_eq=self.known if self.matrix.shape[0] else None,
                bounds=np.stack([lower, upper], axis=1),
                method="highs",
                options={"presolve": presolve, **settings},
            )
            if result.status != 2:
                break
        if result.status == 2:
            raise ContradictionError("the tables contradict each other")
        if result.status != 0:
            return None
        duals: NDArray[np.float64] = result.eqlin.marginals if self.matrix.shape[0] else np.zeros(0)
        proven = []
        for number, (bound, objective) in enumerate(zip(self.bounds, objectives)):
            cells, rows = (slice(begin[number], begin[number + 1]) for begin in (self.cells, self.rows))
            bound.see(result.x[cells])
            proven.append(bound.prove(objective, duals[rows]))
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


# Proven bounds of the counts of linked tables: propagated, then by linear and integer programs, block by block.
#
# Every bound is proven in whole numbers, so it holds for certain, sharp or not: those of linear programs by their
# multipliers, those of integer programs as the solver tells. Tables of whole numbers that are met on the way show
# which counts are possible, and so which bounds are sharp; with them most programs need not be solved.


@dataclass(frozen=True)
class BoundScope:
    """Which bounds are worth a program. small: counts from 1 to this one matter; None: all counts do.

    With a number, programs ask of cells that no table shows only whether they are certainly empty, certainly occupied,
    certainly small, or known; of published cells all is asked.
    """

    small: int | None = None


EVERYTHING = BoundScope()
"""All bounds."""


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


Part = TypeVar("Part")
Answer = TypeVar("Answer")


class BlockRunner(Protocol):
    """How parts of the work that do not depend on each other are done: what the work gives for each, in their order."""

    def __call__(self, work: Callable[[Part], Answer], parts: Sequence[Part]) -> Sequence[Answer]:
        """Apply the work to each part."""


def one_by_one(work: Callable[[Part], Answer], parts: Sequence[Part]) -> Sequence[Answer]:
    """In this process."""
    return [work(part) for part in parts]


def proven_bounds(
    linked: LinkedTables, reach: BoundScope = EVERYTHING, deadline: Deadline = NEVER, run: BlockRunner = one_by_one
) -> ProvenBounds:
    """Bounds of all counts of some linked tables. run: how the blocks are worked on, such as several at once.

    Raises ContradictionError when no table fits.
    """
    lower, upper = propagated(linked.equations, linked.lower, linked.upper)
    if (lower > upper).any():
        raise ContradictionError("the tables contradict each other")
    sharp: BoolArray = lower == upper
    decided = sharp.copy()
    asked = np.ones(len(linked), dtype=np.bool_) if reach.small is None else linked.is_published
    waiting = [
        [BlockBounds(block, lower[block.cells], upper[block.cells], asked[block.cells]) for block in some]
        for some in _together(blocks(linked.equations, lower, upper))
    ]
    for some in run(partial(tightened, small=reach.small, deadline=deadline), waiting):
        for bounds in some:
            cells = bounds.block.cells
            lower[cells], upper[cells] = bounds.lower, bounds.upper
            certain = linked.covered[cells] | bounds.exact
            sharp[cells] = bounds.sharp & certain
            decided[cells] = bounds.settled(reach.small).all(axis=0) & certain
    return ProvenBounds(lower, upper, sharp, decided)


_AT_ONCE = 4_000
"""Cells of the blocks that one linear program takes together."""


def _together(waiting: Iterable[Block]) -> Iterable[Sequence[Block]]:
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


_NEAR = 3_000
"""Cells around one that its explanation is looked for among."""

_SLACK = 1e-4
"""By which ranges are widened for the program, so that of all explanations it finds one with few counts."""


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
    goal = int(bounds.upper[cell] if upper else bounds.lower[cell])
    is_published = linked.is_published[near]
    published = linked.lower[near], linked.upper[near]
    mixed = (
        np.where(is_published, published[0], bounds.lower[near]),
        np.where(is_published, published[1], bounds.upper[near]),
    )
    place = int(np.searchsorted(near, cell))
    mixed[0][place], mixed[1][place] = linked.lower[cell], linked.upper[cell]
    best = Explanation((), is_whole=False)
    for low, high in (published, mixed):
        explanation = _solved(linked, near, equations, (low, high), (place, upper, goal))
        if explanation is not None and explanation.is_whole:
            return explanation
        best = explanation if explanation is not None and not best.terms else best
    return best


def _neighbourhood(linked: LinkedTables, cell: int) -> tuple[IndexArray, Equations]:
    """Cells around a cell, sorted, and the equations that are wholly among them."""
    equations = linked.equations
    inside: BoolArray = np.zeros(len(linked), dtype=np.bool_)
    inside[cell] = True
    while True:
        touched = np.zeros(len(equations), dtype=np.bool_)
        touched[equations.rows[inside[equations.cells]]] = True
        wider = inside.copy()
        wider[equations.cells[touched[equations.rows]]] = True
        if wider.sum() > _NEAR or np.array_equal(wider, inside):
            if inside.sum() == 1:
                inside = wider
            break
        inside = wider
    whole = np.logical_and.reduceat(inside[equations.cells], equations.begins) if len(equations) else np.zeros(0, bool)
    near, near_equations = np.flatnonzero(inside), equations.only(whole)
    return near, Equations(
        near_equations.rows, np.searchsorted(near, near_equations.cells), near_equations.signs, near_equations.tables
    )


def _solved(
    linked: LinkedTables,
    near: IndexArray,
    equations: Equations,
    ranges: tuple[CountArray, CountArray],
    asked: tuple[int, bool, int],
) -> Explanation | None:
    from scipy.optimize import linprog  # slow to import, and few need it

    (lower, upper), (place, is_upper, goal) = ranges, asked
    if not len(equations):
        return None
    objective = np.zeros(len(near), dtype=np.int64)
    objective[place] = -1 if is_upper else 1
    widened = np.stack([lower - _SLACK, np.where(upper >= UNBOUNDED, np.inf, upper + _SLACK)], axis=1)
    solve: Any = linprog  # its stubs know no sparse matrices
    result = solve(
        objective.astype(np.float64),
        A_eq=equations.matrix(len(near)).astype(np.float64),
        b_eq=np.zeros(len(equations)),
        bounds=widened,
        method="highs",
    )
    if result.status != 0:
        return None
    reduced, _ = reduced_objective(objective, equations, result.eqlin.marginals)
    proven = -(-proven_sum(reduced, lower, upper) // MULTIPLE)
    sign = -1 if is_upper else 1
    terms: Sequence[Term] = [
        Term(
            Fraction(sign * int(reduced[number]), MULTIPLE),
            int(near[number]),
            int(lower[number]),
            int(upper[number]),
            bool(linked.is_published[near[number]]),
        )
        for number in np.flatnonzero(reduced).tolist()
    ]
    return Explanation(tuple(terms), sign * proven == goal)


# Certificates: bounds that follow from multiples of equations, in whole numbers, whatever a solver has rounded.
#
# All equations say that something is 0. So a count c'x equals (c - A'y)'x for any multiples y of the equations, and is
# no less than what the ranges of the counts leave of that (weak duality; Neumaier and Shcherbina 2004, safe bounds). A
# linear program finds the best y; that they are rounded here costs tightness, never truth.


MULTIPLE = 5040
"""Multipliers are rounded to fractions of this denominator."""


def reduced_objective(objective: CountArray, equations: Equations, duals: FloatArray) -> tuple[CountArray, CountArray]:
    """C - A'y, shape (cells,), and y, shape (equations,), both in units of 1 / MULTIPLE."""
    multipliers = np.asarray(np.rint(duals * MULTIPLE), dtype=np.int64)
    reduced = objective * MULTIPLE
    np.subtract.at(reduced, equations.cells, equations.signs * multipliers[equations.rows])
    return reduced, multipliers


def proven_sum(reduced: CountArray, lower: CountArray, upper: CountArray) -> int:
    """What the ranges leave of a sum at least, in units of 1 / MULTIPLE; far below 0 where a range has no end."""
    if ((upper >= UNBOUNDED) & (reduced < 0)).any():
        return -UNBOUNDED * MULTIPLE
    return int(np.where(reduced >= 0, reduced * lower, reduced * np.minimum(upper, UNBOUNDED >> 16)).sum(dtype=object))
