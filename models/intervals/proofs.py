"""Proven bounds of the counts of linked tables, their explanations, and contradictions between tables.

Every bound is proven in whole numbers, so it holds for certain, sharp or not (`models.programs.extremes`).
"""

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import partial
from itertools import accumulate, chain, combinations, groupby, pairwise
from operator import itemgetter
from typing import TypeAlias

import numpy as np

from models.arrays import BoolArray, CountArray, IndexArray
from models.deadline import NEVER, Deadline
from models.errors import ContradictionError
from models.frozen import frozen
from models.intervals.linked_tables import Interval, LinkedTables
from models.programs.consistent_tables import UNBOUNDED, Equations, Program, propagated, ranges_left, solve
from models.programs.extremes import MULTIPLE, Effort, Unknowns, narrow, proven_sum, reduced_objective

_PROGRAM_SECONDS = 5.0
"""Seconds of one integer program."""

_AT_ONCE = 4_000
"""Approximate number of cells of the blocks that one linear program takes together."""

_NEAR = 3_000
"""Most cells around a cell that its explanation may use."""

_SLACK = 1e-4
"""Amount by which ranges are widened for the program, so that it finds an explanation with few counts."""


@frozen(eq=False)
class ProvenBounds:
    """Certain bounds of all counts: lower <= count <= upper in every population that the tables fit; shape (cells,).

    sharp: whether both ends are proven to be attained, each in some population that fits everything published. It is
    False if time was over, or if no junction tree of joint tables covers the cell (`linked_tables`). decided: whether
    the bounds asked for cannot be improved. Cells that are not decided may still be determined.
    """

    lower: CountArray
    upper: CountArray
    sharp: BoolArray
    decided: BoolArray

    @property
    def exact(self) -> BoolArray:
        """True if only one count is possible."""
        return np.asarray(self.lower == self.upper)


BlockRunner: TypeAlias = Callable[
    [Callable[[Sequence[Unknowns]], Sequence[Unknowns]], Sequence[Sequence[Unknowns]]], Iterable[Sequence[Unknowns]]
]
"""Runs independent parts of the work, for instance in parallel; results come in their order."""


def proven_bounds(
    linked: LinkedTables, small: int | None = None, deadline: Deadline = NEVER, run: BlockRunner = map
) -> ProvenBounds:
    """Return proven bounds of all counts of linked tables.

    Parameters
    ----------
    linked
        Unknowns, ranges and equations.
    small
        If given, programs ask of unpublished cells only whether they are certainly empty, certainly occupied,
        certainly 1 to `small`, or known. Published cells are always bounded completely.
    deadline
        Time at which bounds are taken as they are.
    run
        Runs the blocks.

    Raises
    ------
    ContradictionError
        If no table fits.
    """
    lower, upper = propagated(linked.equations, linked.lower, linked.upper)
    if (lower > upper).any():
        raise ContradictionError("the tables contradict each other")
    sharp: BoolArray = lower == upper
    decided = sharp.copy()
    wanted = np.full(len(linked), small is None) | linked.is_published
    parts, blocks = _blocks(linked.equations, lower, upper, wanted)
    numbers = (total // _AT_ONCE for total in accumulate(map(len, blocks)))
    together: list[Sequence[Unknowns]] = [
        [block for _, block in some] for _, some in groupby(zip(numbers, blocks), itemgetter(0))
    ]
    for only_asked in (True, False):
        together = [*run(partial(tightened, small=small, deadline=deadline, only_asked=only_asked), together)]
    for cells, block in zip(parts, chain.from_iterable(together)):
        lower[cells], upper[cells] = block.lower, block.upper
        certain = linked.covered[cells] | (block.lower == block.upper)
        sharp[cells] = block.attained.all(axis=0) & certain
        decided[cells] = ~_is_open(block, small).any(axis=0) & certain
    return ProvenBounds(lower, upper, sharp, decided)


def _blocks(
    equations: Equations, lower: CountArray, upper: CountArray, wanted: BoolArray
) -> tuple[list[IndexArray], list[Unknowns]]:
    """Return the connected parts of the cells that propagation leaves open, the smallest first."""
    from scipy.sparse import block_array  # slow to import, and few need it
    from scipy.sparse.csgraph import connected_components

    is_open: BoolArray = lower < upper
    cells = np.flatnonzero(is_open)
    if not len(cells):
        return [], []
    matrix, right = equations[:, is_open], -(equations[:, ~is_open] @ lower[~is_open])
    rows = np.flatnonzero(np.diff(matrix.indptr))
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
        blocks.append((at, Unknowns(lower[at], upper[at], equations_of_block, right_of_block, wanted[at])))
    blocks.sort(key=lambda block: len(block[0]))
    return [at for at, _ in blocks], [block for _, block in blocks]


def tightened(
    blocks: Sequence[Unknowns], small: int | None, deadline: Deadline, *, only_asked: bool
) -> Sequence[Unknowns]:
    """Return the blocks with better bounds, as far as time allows. Raises ContradictionError if no table fits."""

    def is_open(block: Unknowns) -> BoolArray:
        return _is_open(block, small) & (block.wanted | (not only_asked))

    narrow(blocks, is_open, Effort(deadline=deadline, whole_seconds=_PROGRAM_SECONDS))
    return blocks


def _is_open(block: Unknowns, small: int | None) -> BoolArray:
    """Return whether each bound needs to be improved; of cells not wanted it is enough to know if they are small."""
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
    return np.asarray(~block.attained & (block.wanted | ~enough))


@frozen
class Term:
    """Multiple of a count in an explanation, with the range of the count as published, or as computed before."""

    times: Fraction
    cell: int
    lower: int
    upper: int
    is_published: bool


@frozen
class Explanation:
    """Equation of a count with a sum of terms. is_whole: whether these imply the bound, without more or whole numbers."""

    terms: tuple[Term, ...]
    is_whole: bool


def explained(linked: LinkedTables, bounds: ProvenBounds, cell: int, *, upper: bool) -> Explanation:
    """Return the explanation of a count's lower bound, or of its upper bound if `upper`."""
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
        reduced = reduced_objective(objective, equations, solution.multipliers)
        used = np.flatnonzero(reduced)
        times = (Fraction(sign * multiple, MULTIPLE) for multiple in reduced[used].tolist())
        are_published = linked.is_published[near[used]].tolist()
        terms = map(Term, times, near[used].tolist(), low[used].tolist(), high[used].tolist(), are_published)
        is_whole = -(-proven_sum(reduced, low, high) // MULTIPLE) == int(goal)
        if is_whole or not best.terms:
            best = Explanation(tuple(terms), is_whole)
        if is_whole:
            break
    return best


def _neighbourhood(linked: LinkedTables, cell: int) -> tuple[IndexArray, Equations]:
    """Return cells around a cell, sorted, and the equations among them."""
    touches = abs(linked.equations)
    inside: BoolArray = np.arange(len(linked)) == cell
    while True:
        wider = inside | (touches.T @ (touches @ inside) > 0)
        if np.array_equal(wider, inside) or (wider.sum() > _NEAR and inside.sum() > 1):
            break
        inside = wider
    is_whole = touches @ ~inside == 0
    return np.flatnonzero(inside), linked.equations[is_whole][:, inside]


# Contradictions of published tables.


@frozen
class Disagreement:
    """Count for which two tables, or the total and parts of one table, give different ranges.

    tables: their places; equal if one table contradicts itself. ranges: the least and the largest count of each.
    """

    cell: int
    tables: tuple[int, int]
    ranges: tuple[Interval, Interval]

    @property
    def gap(self) -> int:
        """Rows between the two ranges, at least 1."""
        return max(1, int(_gaps(*map(np.array, self.ranges))))


def _gaps(one: CountArray, other: CountArray) -> CountArray:
    """Return the rows between two ranges of each count, each of shape (2, counts); not above 0 if they overlap."""
    return np.asarray(np.maximum(one[0] - other[1], other[0] - one[1]))


def _range(ends: CountArray, cell: int) -> Interval:
    return int(ends[0, cell]), int(ends[1, cell])


def disagreements(linked: LinkedTables) -> list[Disagreement]:
    """Return the worst disagreement of each table with itself, and of each pair of tables that are consistent in
    themselves.

    Disagreements are found by propagation. It misses contradictions that need several tables, or that only programs
    find.
    """
    disagreeing = []
    ranges: dict[int, CountArray] = {}
    for table in range(linked.table_count):
        published = np.stack(linked.ranges([table]))
        equations = linked.equations[linked.equation_tables == table]
        ends = np.stack(propagated(equations, *published))
        if (ends[0] > ends[1]).any():
            cell, its_ranges = _within_one_table(equations, published, linked.finest[table])
            disagreeing.append(Disagreement(cell, (table, table), its_ranges))
        else:
            ranges[table] = ends
    for one, other in combinations(ranges, 2):
        gap = _gaps(ranges[one], ranges[other])  # not above 0 for a cell about which one table is silent
        if gap.max(initial=0) > 0:
            cell = int(np.flatnonzero(gap == gap.max())[-1])  # of equals the one with the most attributes
            disagreeing.append(
                Disagreement(cell, (one, other), (_range(ranges[one], cell), _range(ranges[other], cell)))
            )
    return disagreeing


def _within_one_table(
    equations: Equations, published: CountArray, finest: IndexArray
) -> tuple[int, tuple[Interval, Interval]]:
    """Return the total that differs most from its published parts, or from the sum of the finest cells."""
    lower, upper = published
    if (lower > upper).any():  # a cell that the table gives twice
        cell = int(np.argmax(lower > upper))
        return cell, ((int(upper[cell]),) * 2, (int(lower[cell]),) * 2)
    is_total = equations.data > 0
    of_finest = np.stack([np.zeros_like(lower), np.full_like(upper, UNBOUNDED)])
    of_finest[:, finest] = published[:, finest]
    by_parts = np.stack(ranges_left(equations, lower, upper))[:, is_total]
    summed = np.concatenate([by_parts, np.stack(propagated(equations, *of_finest))], axis=1)
    cells = np.concatenate([equations.indices[is_total], np.arange(len(lower))])
    gap = _gaps(published[:, cells], summed)
    place = int(np.argmax(gap))
    if gap[place] <= 0:  # only several sums together contradict each other
        return int(cells[0]), ((0, UNBOUNDED), (0, UNBOUNDED))
    return int(cells[place]), (_range(published, int(cells[place])), _range(summed, place))
