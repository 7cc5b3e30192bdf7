"""Proven bounds of the counts of linked tables, and the published counts that explain them.

Every bound is proven in whole numbers, so it holds for certain, sharp or not (`models.programs.extremes`).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import accumulate, chain, groupby, pairwise
from operator import itemgetter
from typing import TypeAlias

import numpy as np

from models.arrays import BoolArray, CountArray, IndexArray
from models.deadline import NEVER, Deadline
from models.errors import ContradictionError
from models.intervals.linked_tables import LinkedTables
from models.programs.consistent_tables import UNBOUNDED, Equations, Program, propagated, solve
from models.programs.extremes import MULTIPLE, Effort, Unknowns, narrow, proven_sum, reduced_objective

_PROGRAM_SECONDS = 5.0
"""Seconds of one integer program."""

_AT_ONCE = 4_000
"""Cells, about, of the blocks that one linear program takes together."""

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
    decided: whether nothing more can follow of what was asked, which is all where programs asked for everything. Others
    may be determined all the same.
    """

    lower: CountArray
    upper: CountArray
    sharp: BoolArray
    decided: BoolArray

    @property
    def exact(self) -> BoolArray:
        """Whether only one count is possible."""
        return np.asarray(self.lower == self.upper)


BlockRunner: TypeAlias = Callable[
    [Callable[[Sequence[Unknowns]], Sequence[Unknowns]], Sequence[Sequence[Unknowns]]], Iterable[Sequence[Unknowns]]
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
    parts, blocks = _blocks(linked.equations, lower, upper, asked)
    numbers = (total // _AT_ONCE for total in accumulate(map(len, blocks)))
    together = [[block for _, block in some] for _, some in groupby(zip(numbers, blocks), itemgetter(0))]
    done = chain.from_iterable(run(partial(tightened, small=small, deadline=deadline), together))
    for cells, block in zip(parts, done):
        lower[cells], upper[cells] = block.lower, block.upper
        certain = linked.covered[cells] | (block.lower == block.upper)
        sharp[cells] = block.attained.all(axis=0) & certain
        decided[cells] = ~_is_open(block, small).any(axis=0) & certain
    return ProvenBounds(lower, upper, sharp, decided)


def _blocks(
    equations: Equations, lower: CountArray, upper: CountArray, asked: BoolArray
) -> tuple[list[IndexArray], list[Unknowns]]:
    """The connected parts of the cells of which propagation leaves a range, the smallest first."""
    from scipy.sparse import block_array  # slow to import, and few need it
    from scipy.sparse.csgraph import connected_components

    is_open: BoolArray = lower < upper
    cells = np.flatnonzero(is_open)
    if not len(cells):
        return [], []
    matrix, right = equations[:, is_open], -(equations[:, ~is_open] @ lower[~is_open])
    rows = _different(matrix, right)
    matrix, right = matrix[rows], right[rows]
    number, part = connected_components(block_array([[None, matrix.T], [matrix, None]]), directed=False)
    orders = [np.argsort(of, kind="stable") for of in (part[: len(cells)], part[len(cells) :])]
    ends = [np.searchsorted(np.sort(of), np.arange(number + 1)) for of in (part[: len(cells)], part[len(cells) :])]
    cells, right = cells[orders[0]], right[orders[1]]
    matrix = matrix[orders[1]][:, orders[0]]
    blocks = []
    for (first, last), (top, bottom) in zip(*(pairwise(of.tolist()) for of in ends)):
        at = cells[first:last]
        equations_of_block, right_of_block = matrix[top:bottom, first:last], right[top:bottom]
        blocks.append((at, Unknowns(lower[at], upper[at], equations_of_block, right_of_block, asked[at])))
    blocks.sort(key=lambda block: len(block[0]))
    return [at for at, _ in blocks], [block for _, block in blocks]


def _different(matrix: Equations, right: CountArray) -> IndexArray:
    # A random number for each cell tells sums apart; an equation that was left out wrongly would only loosen bounds.
    rows = np.flatnonzero(np.diff(matrix.indptr))
    sums = matrix[rows] @ np.random.default_rng(0).integers(1, 2**61, size=matrix.shape[1])
    sides = np.where(sums < 0, -1, 1)
    chosen = np.unique(np.stack([sums * sides, right[rows] * sides], axis=1), axis=0, return_index=True)[1]
    return np.asarray(rows[np.sort(chosen)])


def tightened(blocks: Sequence[Unknowns], small: int | None, deadline: Deadline) -> Sequence[Unknowns]:
    """The blocks with better bounds, as far as time allows. Raises ContradictionError when no table fits."""
    narrow(blocks, partial(_is_open, small=small), Effort(deadline=deadline, whole_seconds=_PROGRAM_SECONDS))
    return blocks


def _is_open(block: Unknowns, small: int | None) -> BoolArray:
    """Whether each bound has to be known better: shape (2, cells), lower and upper.

    small: of cells that are not asked it is enough to know if they are 0, 1 or more, 1 to `small`, or one number.
    """
    if small is None:
        return ~block.attained
    varies = block.seen_low < block.seen_high
    can_be_empty, can_be_large = block.seen_low == 0, block.seen_high > small
    enough = np.stack(
        [
            varies & ((block.lower >= 1) | can_be_empty),
            varies & (can_be_large | (can_be_empty & (block.seen_high >= 1)) | (block.upper <= small)),
        ]
    )
    return np.asarray(~block.attained & (block.asked | ~enough))


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

    is_whole: whether the bound follows from the terms; else also from whole numbers, or from more tables.
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
        solution = solve(
            objective.astype(np.float64),
            Program(equations.astype(np.float64), np.zeros(equations.shape[0]), *widened),
        )
        if solution.multipliers is None:
            continue
        reduced, _ = reduced_objective(objective, equations, solution.multipliers)
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
