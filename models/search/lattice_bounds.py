"""Bounds over the lattice of all margins: counted many at once, by blocks where the whole is too large."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import heappop, heappush
from itertools import islice, pairwise
from math import inf, prod

import numpy as np
import numpy.typing as npt

from models.arrays import BoolArray, CodeArray, CountArray, FloatArray, IndexArray, smallest_code_dtype, x_log_x
from models.deadline import NEVER, Deadline
from models.search.lower_bound import (
    LARGEST_LATTICE,
    Grid,
    GridSteps,
    LastSteps,
    MarginIndex,
    MarginSets,
    Node,
    allowed_margins,
    coarse_grid,
    finest_alone,
    hidden_leaves,
    lattice_size,
    lower_bound,
    of_finest_levels,
    of_margins,
    of_sets,
    resolved,
    score,
    shortest_paths,
)
from models.search.problem import KL, ClassSize, PenalizedDivergence, Problem, SearchResult, Stop
from models.tables.contingency_table import ContingencyTable, pack
from models.tables.hierarchy import Domain, Mask

LARGEST_BLOCK = 1 << 13
"""Margins of the lattice of a block, at most."""

_PAIRS = 8
"""Pairs of attributes, for each attribute, of which it is looked at what they gain in one block."""

_LEAST_GAIN = 1e-9
"""Nats, below which blocks stay apart."""

Block = tuple[int, ...]
"""Places of attributes in the domain, ascending."""


class BlockLattices:
    """The lattices of blocks: what is still to come from each of their margins on.

    margins: all that are allowed in the grid.
    """

    def __init__(self, problem: Problem, margins: Sequence[LastSteps], grid: Grid) -> None:
        self.problem, self.grid = problem, grid
        self._margins = margins
        self._offsets = np.concatenate(([0], np.cumsum([len(resolutions) for resolutions in grid])))
        self._with = [_by_attribute(margin.places, len(grid)) for margin in margins]
        self._costs: dict[int, list[tuple[IndexArray, FloatArray]]] = {}
        self._paths: dict[Block, float] = {}

    def remaining(self, block: Block) -> FloatArray:
        """An axis for each attribute of a block; nats."""
        shape = tuple(len(self.grid[place]) for place in block)
        strides = [prod(shape[axis + 1 :]) for axis in range(len(block))]
        at = np.zeros(self._offsets[-1], dtype=np.intp)
        for place, stride in zip(block, strides):
            at[self._offsets[place] : self._offsets[place + 1]] = stride * np.arange(len(self.grid[place]))
        costs: list[FloatArray] = []
        for place, stride in zip(block, strides):
            least: FloatArray = np.full(prod(shape), np.inf)
            for steps, attribute_costs in self._costs_of(place):
                costs_before = at.take(steps[0])
                for other in steps[1:]:
                    costs_before += at.take(other)
                np.minimum.at(least, costs_before - stride, attribute_costs)
            costs.append(least.reshape(shape))
        return shortest_paths(hidden_leaves(self.problem, self.grid, block), costs)

    def _costs_of(self, place: int) -> list[tuple[IndexArray, FloatArray]]:
        """The margins that show an attribute, by size, and what its last step costs in each.

        By steps, which are numbered by attribute and resolution: shape (attributes shown, margins).
        """
        if place not in self._costs:
            self._costs[place] = costs = []
            for last_steps, with_attribute in zip(self._margins, self._with):
                margin, column = divmod(with_attribute[place], last_steps.places.shape[1])
                steps = self._offsets[last_steps.places[margin]] + last_steps.resolutions[margin]
                costs.append((np.ascontiguousarray(steps.T.astype(np.int32)), last_steps.costs[margin, column]))
        return self._costs[place]

    def size(self, block: Block) -> int:
        """Margins of the lattice of a block."""
        return prod(len(self.grid[place]) for place in block)

    def path(self, block: Block) -> float:
        """The least nats that all steps of a block and what it leaves hidden can cost."""
        if block not in self._paths:
            self._paths[block] = at_the_beginning(self.remaining(block))
        return self._paths[block]

    @cached_property
    def related(self) -> list[Block]:
        """The pairs of attributes that some allowed margin shows, those that tell most of each other first."""
        alone = [
            [score(self.problem, resolved(self.problem, place, at)) for at in resolution]
            for place, resolution in enumerate(self.grid)
        ]
        gains = dict[Block, float]()
        for pairs in self._margins[1:2]:
            for (first, second), (one, other), resolution in zip(
                pairs.places.tolist(), pairs.resolutions.tolist(), pairs.scores.tolist()
            ):
                gain = alone[first][one] + alone[second][other] - resolution
                gains[first, second] = max(gains.get((first, second), 0.0), gain)
        return sorted(gains, key=lambda pair: (-round(gains[pair], 9), pair))


def at_the_beginning(remaining: FloatArray) -> float:
    """What is still to come where nothing is shown, in nats."""
    return float(remaining[(0,) * remaining.ndim])


def _by_attribute(places: IndexArray, attributes: int) -> list[IndexArray]:
    """For each attribute where it is among some places, in flat order."""
    flat = places.reshape(-1)
    order = np.argsort(flat, kind="stable")
    return np.split(order, np.searchsorted(flat[order], np.arange(1, attributes)))


def related_blocks(lattices: BlockLattices, most: int = LARGEST_BLOCK) -> list[Block]:
    """Blocks of attributes that tell most of each other in some allowed margin of two, each with so many margins at most."""
    blocks: dict[int, Block] = {place: (place,) for place in range(len(lattices.grid))}
    for first, second in lattices.related:
        joined = tuple(sorted({*blocks[first], *blocks[second]}))
        if lattices.size(joined) <= most:
            blocks |= dict.fromkeys(joined, joined)
    return sorted(set(blocks.values()))


def joined_blocks(lattices: BlockLattices, stop: Stop, most: int = LARGEST_BLOCK) -> list[Block]:
    """Blocks that are joined while that makes the bound larger, the most first, until it is to stop.

    Looked at are those that hold two attributes of a pair that tells much.
    """
    blocks: dict[int, Block] = {place: (place,) for place in range(len(lattices.grid))}
    related = list(islice(lattices.related, _PAIRS * len(blocks)))
    gains: list[tuple[float, Block, Block]] = []

    def offer(one: Block, other: Block) -> None:
        joined = tuple(sorted(one + other))
        if lattices.size(joined) <= most:
            gain = round(lattices.path(joined) - lattices.path(one) - lattices.path(other), 9)
            if gain > _LEAST_GAIN:
                heappush(gains, (-gain, min(one, other), max(one, other)))

    for first, second in related:
        if stop():
            break
        offer((first,), (second,))
    while gains and not stop():
        _, one, other = heappop(gains)
        if blocks[one[0]] != one or blocks[other[0]] != other:
            continue
        joined = tuple(sorted(one + other))
        blocks |= dict.fromkeys(joined, joined)
        near = {blocks[b if a in joined else a] for a, b in related if (a in joined) != (b in joined)}
        for block in sorted(near):
            if stop():
                break
            offer(joined, block)
    return sorted(set(blocks.values()))


# A lower bound for many attributes: their lattice is too large to be laid out, that of each of some blocks is not.
#
# The objective of a decomposable collection in perfect sequence is a sum over the steps v that it shows
# (`lower_bound`),
#
#     sum_v [ s(P_v + v) - s(P_v) ] + sum_B E_p[ln leaves_B] - H(p),
#
# where P_v + v is a part of an allowed margin, and P_v was shown before. Split the attributes into blocks. Of a step v
# of an attribute in block b, P_v has a part Q_v in the block, which was shown before as well, and a part outside.
# Whatever that is,
#
#     s(P_v + v) - s(P_v)  >=  min_E [ s(E) - s(E - v) ],
#
# over the allowed margins E of which v is the finest step of its attribute and whose other steps in the block were
# shown before: P_v + v is one, since the coarser steps of an attribute come before the finer ones. So the sum over the
# steps and leaves of a block is at least the shortest path through the lattice of that block alone with these costs,
# and the sum over the blocks, less H(p), is a bound. It lets blocks borrow from each other what order forbids, A from
# B and B from A: so blocks hold attributes that tell most of each other. One block of all attributes gives the bound
# of `lower_bound`, each attribute by itself the least that any allowed margin leaves of it.
#
# The resolutions that are told apart (`lower_bound`) are all, where the margins can be counted; else they are made
# finer round by round, until work or time are used up.


def of_blocks(problem: Problem, finest: Node, most: int, stop: Stop, counting: Stop) -> Iterator[float]:
    """The bounds by blocks of some grids, in nats, until it is to stop. finest: what is allowed of each attribute.

    most: allowed margins that are asked for one by one in a grid; a grid with more is given up, and those with more
    resolutions. counting: asked instead of `stop` while the margins of the finest or the coarsest grid are counted, and
    while blocks of the finest grid are joined.
    """
    whole = tuple(tuple(range(last + 1)) for last in finest)
    margins = _counted(problem, whole, counting)
    if margins is not None:
        yield from _bounds(BlockLattices(problem, margins, whole), counting)
        return
    for number, grid in enumerate(_finer_grids(finest)):
        margins = None if grid == whole else _counted(problem, grid, stop if number else counting)
        if margins is None:
            allowed = allowed_margins(problem, stop, grid, most)
            if allowed is None:
                return
            margins = of_margins(problem, allowed, grid)
        yield from _bounds(BlockLattices(problem, margins, grid), stop)


def _counted(problem: Problem, grid: Grid, stop: Stop) -> list[LastSteps] | None:
    """The margins of a grid where all of them can be counted at once; None where they cannot, or when stopped."""
    judged = problem.class_size
    if judged is None or problem.price:
        return None
    margin_sets = counted_margins(problem, grid, judged, stop)
    return None if margin_sets is None else of_sets(margin_sets)


def _bounds(lattices: BlockLattices, stop: Stop) -> Iterator[float]:
    """The bounds of blocks that are made at once, and of those that are joined for the sake of the bound."""
    yield block_bound(lattices, related_blocks(lattices)).value
    yield block_bound(lattices, joined_blocks(lattices, stop)).value


def _finer_grids(finest: Node) -> Iterator[Grid]:
    """Grids of which each halves the ranges of the one before, from 0 and the finest resolution to all."""
    grid: Grid = tuple((0, last) if last else (0,) for last in finest)
    while True:
        yield grid
        finer = tuple(
            tuple(sorted({*resolutions, *((low + high) // 2 for low, high in pairwise(resolutions) if high - low > 1)}))
            for resolutions in grid
        )
        if finer == grid:
            return
        grid = finer


@dataclass(frozen=True, eq=False)
class BlockBound:
    """Lower bounds on what is still to come, block by block; `LowerBound` in a lattice that is too large for that.

    remaining: for each block an axis for each of its attributes; nats.
    """

    problem: Problem
    blocks: tuple[Block, ...]
    remaining: tuple[FloatArray, ...]

    @property
    def value(self) -> float:
        """No allowed collection has a smaller objective, in nats."""
        base = sum(self.problem.cube.domain.attribute_masks)
        least = sum(map(at_the_beginning, self.remaining)) - self.problem.cube.entropy(base)
        return max(least, 0.0) if self.problem.cube.is_bounded_by_divergence else least

    def to_go(self, vertices: Mask) -> float:
        """The remaining nats of a collection that shows these induced attributes, where every resolution is told apart."""
        attribute_masks = self.problem.cube.domain.attribute_masks
        return sum(
            float(remaining[tuple((vertices & attribute_masks[place]).bit_count() for place in block)])
            for block, remaining in zip(self.blocks, self.remaining)
        )


def block_bound(lattices: BlockLattices, blocks: Sequence[Block]) -> BlockBound:
    """The bound of some blocks, of which each attribute is in one."""
    return BlockBound(lattices.problem, tuple(blocks), tuple(map(lattices.remaining, blocks)))


LARGEST_GRID = 1 << 13
"""Margins that are told apart in a domain with a larger lattice, at most."""

_WORK = 1 << 27
"""These margins times the cells of the table that they are counted from, at most."""

_WORK_BY_BLOCKS = 1 << 31
"""The margins that are looked at in each grid for the bound by blocks, times those cells, at most."""

_TO_COUNT = 6 / 5
"""Of so many parts of the time that is left, one goes to counting all margins at once, which gives the best bound."""

_NEAR = 0.95
"""Share of what a search has found from which on a bound is not made better: for no more than that, nobody waits."""

_FIRST = 1 / 2
"""Share of what a search has found from which on a bound is a first one."""

_LOOKS = 1 << 20
"""Margins that are looked at in each grid, at most, however small the table."""


def with_bound(
    result: SearchResult, problem: Problem, deadline: Deadline = NEVER, first: float = inf, better: float = inf
) -> SearchResult:
    """A result that also says how far from the best allowed collection it can be, where that can be bounded in time.

    first: where not all margins can be told apart, the seconds for bounds other than that of counting them all. better: the
    seconds that are left for these once a bound has reached half of what was found.
    """
    if result.bound is not None or not isinstance(problem.objective, PenalizedDivergence):
        return result
    if lattice_size(problem) <= LARGEST_LATTICE:
        allowed = allowed_margins(problem, deadline)
        return result if allowed is None else replace(result, bound=lower_bound(problem, allowed).value)
    if deadline.is_over or not problem.cube.is_bounded_by_divergence:
        return result
    value = inf if result.value is None else result.value
    others, bound = deadline.earlier(first), 0.0

    def stop() -> bool:
        return others.is_over

    for tried in _of_large_lattice(replace(problem, objective=KL), stop, deadline):
        if bound <= _FIRST * value < tried:
            others = others.earlier(better)
        bound = max(bound, tried)
        if bound >= _NEAR * value:
            break
    return replace(result, bound=bound)


def _of_large_lattice(problem: Problem, stop: Stop, deadline: Deadline) -> Iterator[float]:
    """Bounds in nats of KL divergence, of ever more margins that are told apart, until it is to stop.

    deadline: of counting all margins, which may take a part of what is left.
    """
    finest, base = finest_alone(problem), sum(problem.cube.domain.attribute_masks)
    yield of_finest_levels(problem, finest)
    if not problem.cube.holds(base):
        return
    cells = max(len(problem.cube.table(base)), 1)
    grid = coarse_grid(problem, finest, min(LARGEST_GRID, _WORK // cells))
    if grid is not None and (allowed := allowed_margins(problem, stop, grid)) is not None:
        yield lower_bound(problem, allowed, grid).value
    most = min(_WORK_BY_BLOCKS // cells, _LOOKS)
    yield from of_blocks(problem, finest, most, stop, deadline.share(_TO_COUNT))


@dataclass(frozen=True, eq=False)
class MarginEvaluator:
    """What judges margins of a grid one by one.

    least: rows of a class, of fewer than which the constraint refuses a margin. by_class: of each step, whether the
    constraint judges margins with it by that alone.
    """

    problem: Problem
    steps: GridSteps
    least: int
    by_class: BoolArray

    @classmethod
    def of(cls, problem: Problem, steps: GridSteps, judged: ClassSize) -> "MarginEvaluator":
        """Those of a constraint that judges some margins by their classes."""
        by_class = np.array([not mask & ~judged.vertices for mask in steps.coarse], dtype=np.bool_)
        return cls(problem, steps, judged.least, by_class)

    def are_by_class(self, members: IndexArray) -> BoolArray:
        """Which of some margins the constraint judges by their classes; members: shape (margins, attributes shown)."""
        return np.asarray(self.by_class[members].all(axis=1))

    def judged(self, members: IndexArray) -> tuple[BoolArray, FloatArray]:
        """Which of some margins may be shown, and the entropies in nats of these; 0 of others.

        A margin of the grid may be shown where the coarsest one that it stands for may, and has the entropy of the finest.
        """
        allowed, entropies = np.zeros(len(members), dtype=np.bool_), np.zeros(len(members))
        for number, member in enumerate(members.tolist()):
            if not self.problem.refuses(sum(self.steps.coarse[step] for step in member)):
                allowed[number] = True
                entropies[number] = self.problem.cube.entropy(sum(self.steps.fine[step] for step in member))
        return allowed, entropies


# Counts of many margins at once that begin alike: for tables of many rows.
#
# The margins P + c + e of some beginning P are counted together: among the rows of a class of P, with indicators X of
# all values, as the product X'X.


_MOST_INDICATORS = 1 << 25
"""Rows times values, at most, all of which are laid out in single precision."""

_MOST_ROWS = 1 << 21
"""Rows, equal ones counted, so that single precision counts exactly and the terms of all entropies are tabulated."""

_KILLING = 0.75
"""A class is worth a look of its own while no more than this share of the sets stays allowed after one."""

_ALONE, _ALONE_PER_ROW = 20_000.0, 2.0
"""Work of counting one set by itself: of each, and for each row. Here and below a sum of two numbers in arrays is 1."""

_PER_CLASS, _PER_COUNT, _PER_PRODUCT = 50_000.0, 3.0, 1 / 120
"""That of counting sets at once: for each class, each count of two values in it, and each row and two values."""

_SPARSE = 3
"""Indicators are picked one by one where a range of them holds so many times as many."""


@dataclass(frozen=True, eq=False)
class _Indicators:
    """The rows of a table and, for each value of each of some steps, whether they hold it.

    columns: codes by step, shape (rows,), of so many sizes. starts: the first indicator of each step, and their number.
    ones: shape (rows, indicators). counts: of equal rows; None where all are 1.
    """

    columns: Sequence[CodeArray]
    sizes: Sequence[int]
    starts: IndexArray
    ones: npt.NDArray[np.float32]
    counts: CountArray | None

    @classmethod
    def of(cls, problem: Problem, masks: Sequence[Mask]) -> "_Indicators | None":
        """Those of the margin of one attribute that each step is. None where they are too many."""
        table = problem.cube.table(sum(problem.cube.domain.attribute_masks))
        columns, sizes = [table.keys(mask)[0] for mask in masks], list(map(table.domain.cell_count, masks))
        if len(table) * sum(sizes) > _MOST_INDICATORS:
            return None
        starts = np.concatenate(([0], np.cumsum(sizes)))
        ones = np.zeros((len(table), starts[-1]), dtype=np.float32)
        for start, column in zip(starts.tolist(), columns):
            ones[np.arange(len(table)), start + column.astype(np.intp)] = 1
        return cls(columns, sizes, starts, ones, None if table.is_unweighted else table.counts)

    def classes(self, steps: IndexArray) -> tuple[int, Iterator[IndexArray]]:
        """How many classes of some steps together there are, and the rows of each, of the smallest first."""
        keys, _ = pack([self.columns[i] for i in steps], [self.sizes[i] for i in steps], len(self.ones))
        if len(self.ones) and int(keys.max()) >= len(self.ones):
            keys = np.unique(keys, return_inverse=True)[1]
        rows = np.bincount(keys)
        occupied = np.flatnonzero(rows)
        smallest_first = occupied[np.argsort(rows[occupied], kind="stable")]
        return len(occupied), (np.flatnonzero(keys == key) for key in smallest_first)

    def together(self, rows: IndexArray, values: slice | IndexArray) -> npt.NDArray[np.float32]:
        """How many of some rows hold each two of some values, shape (values, values)."""
        held = self.ones[rows, values] if isinstance(values, slice) else self.ones[rows[:, None], values]
        return held.T @ (held if self.counts is None else held * self.counts[rows, None].astype(np.float32))


class _Pairs:
    """Pairs of attributes, and where the counts of their values are among those of all values that are needed for them."""

    def __init__(self, indicators: _Indicators, pairs: IndexArray) -> None:
        places, positions = np.unique(pairs, return_inverse=True)
        first, after = indicators.starts[places], indicators.starts[places + 1]
        self.values: slice | IndexArray = slice(int(first[0]), int(after[-1]))
        if _SPARSE * int((after - first).sum()) < after[-1] - first[0]:
            self.values = np.concatenate([np.arange(*ends) for ends in zip(first, after)])
            self._starts = np.concatenate(([0], np.cumsum(after - first)[:-1]))
            self._one, self._other = positions.reshape(pairs.shape).T
        else:
            self._starts = indicators.starts[places[0] : places[-1] + 1] - first[0]
            self._one, self._other = (pairs - places[0]).T
        self.width = int((after - first).sum()) if isinstance(self.values, np.ndarray) else int(after[-1] - first[0])

    def sums(self, of_values: FloatArray) -> FloatArray:
        """Summed over the values of each pair."""
        by_place = np.add.reduceat(np.add.reduceat(of_values, self._starts, axis=0), self._starts, axis=1)
        return np.asarray(by_place[self._one, self._other])

    def any(self, of_values: BoolArray) -> BoolArray:
        """Whether it is so of any values of each pair."""
        by_place = np.logical_or.reduceat(of_values, self._starts, axis=0)
        return np.asarray(np.logical_or.reduceat(by_place, self._starts, axis=1)[self._one, self._other])


@dataclass(frozen=True, eq=False)
class ClassProducts:
    """What judges margins that begin alike.

    asked: the same one by one. coarse, fine: the rows with each step as the coarsest and the finest margin that it stands
    for. terms: n ln n of each number of rows.
    """

    asked: MarginEvaluator
    coarse: _Indicators
    fine: _Indicators
    terms: FloatArray

    @classmethod
    def of(cls, asked: MarginEvaluator) -> "ClassProducts | None":
        """None where there are too many rows, or values."""
        cube, steps = asked.problem.cube, asked.steps
        if not 0 < cube.total <= _MOST_ROWS or (fine := _Indicators.of(asked.problem, steps.fine)) is None:
            return None
        coarse = fine if steps.are_exact else _Indicators.of(asked.problem, steps.coarse)
        return None if coarse is None else cls(asked, coarse, fine, x_log_x(np.arange(cube.total + 1)))

    def parts(self, members: IndexArray) -> list[IndexArray]:
        """Some margins, ascending, in parts that are judged together: they differ in their last two steps alone."""
        return np.split(members, np.flatnonzero(np.any(members[1:, :-2] != members[:-1, :-2], axis=1)) + 1)

    def judged(self, members: IndexArray) -> tuple[BoolArray, FloatArray]:
        """Which of the margins of a part may be shown, and the entropies in nats of these; 0 of others."""
        allowed, entropies = np.zeros(len(members), dtype=np.bool_), np.zeros(len(members))
        by_class = self.asked.are_by_class(members)
        alone = np.flatnonzero(~by_class)
        allowed[alone], entropies[alone] = self.asked.judged(members[alone])
        allowed_ones, their_entropies = self._at_once(members, np.flatnonzero(by_class))
        allowed[allowed_ones], entropies[allowed_ones] = True, their_entropies
        return allowed, entropies

    def _at_once(self, members: IndexArray, undecided: IndexArray) -> tuple[IndexArray, FloatArray]:
        """The allowed ones of those undecided, ascending, and their entropies; all are judged by their classes."""
        if not len(undecided):
            return undecided, np.empty(0)
        beginning = members[0, :-2]
        _, classes = self.coarse.classes(beginning)
        for rows in classes:
            before = len(undecided)
            undecided = self._without_small(members, undecided, [rows])
            if len(undecided) > _KILLING * before or not len(undecided):
                break
        if not len(undecided):
            return undecided, np.empty(0)
        pairs = _Pairs(self.fine, members[undecided, -2:])
        number, fine_classes = self.fine.classes(beginning)
        counts = pairs.width**2
        at_once = number * (_PER_CLASS + _PER_COUNT * counts) + _PER_PRODUCT * len(self.fine.ones) * counts
        if len(undecided) * (_ALONE + _ALONE_PER_ROW * len(self.fine.ones)) < at_once:
            allowed, entropies = self.asked.judged(members[undecided])
            return undecided[allowed], entropies[allowed]
        if self.coarse is not self.fine:
            undecided = self._without_small(members, undecided, classes)
            if not len(undecided):
                return undecided, np.empty(0)
            pairs = _Pairs(self.fine, members[undecided, -2:])
        terms: FloatArray = np.zeros(())
        small = np.zeros(len(undecided), dtype=np.bool_)
        for rows in fine_classes:
            together = self.fine.together(rows, pairs.values)
            terms = terms + self.terms[together.astype(np.intp)]
            if self.coarse is self.fine:
                small |= pairs.any((together > 0) & (together < self.asked.least))
        total = len(self.terms) - 1
        return undecided[~small], (np.log(total) - pairs.sums(terms) / total)[~small]

    def _without_small(self, members: IndexArray, undecided: IndexArray, classes: Iterable[IndexArray]) -> IndexArray:
        """Those undecided of which no class among some of their beginning is too small."""
        for rows in classes:
            pairs = _Pairs(self.coarse, members[undecided, -2:])
            counts = self.coarse.together(rows, pairs.values)
            undecided = undecided[~pairs.any((counts > 0) & (counts < self.asked.least))]
            if not len(undecided):
                break
        return undecided


_AT_ONCE = 1 << 18
"""Rows, or cells, times margins that are laid out at once: few enough to stay in a cache."""

_MOST_CELLS = 1 << 12
"""Cells of a margin that is counted with others, empty ones included: of more there are likely to be more than rows."""


class _Steps:
    """The steps of a grid as margins of one attribute each. masks: of these, as many as steps. sizes: values of each."""

    def __init__(self, domain: Domain, masks: Sequence[Mask]) -> None:
        self.masks = masks
        self.sizes: IndexArray = np.array(list(map(domain.cell_count, masks)), dtype=np.intp)

    def cells(self, members: IndexArray) -> FloatArray:
        """The cells of some margins, empty ones included; members: shape (margins, attributes shown), of steps."""
        cells: FloatArray = self.sizes[members].prod(axis=1, dtype=np.float64)
        return cells

    def rolled_up(self, table: ContingencyTable, members: IndexArray) -> ContingencyTable:
        """The coarsest table from which some margins of the same attributes can be counted."""
        return table.rolled_up_to(sum(self.masks[step] for step in members.max(axis=0).tolist()))

    def counted(self, table: ContingencyTable, members: IndexArray) -> tuple[IndexArray, IndexArray]:
        """The counts of all cells of some margins, one margin after another, and where those of each start."""
        used, positions = np.unique(members, return_inverse=True)
        columns = np.array([table.keys(self.masks[step])[0] for step in used.tolist()])
        positions, sizes = positions.reshape(members.shape), self.sizes[members]
        cells = sizes.prod(axis=1)
        starts = np.cumsum(cells) - cells
        keys = columns[positions[:, 0]].astype(smallest_code_dtype(int(cells.max())))
        for position, size in zip(positions.T[1:], sizes.T[1:]):
            keys *= size[:, None].astype(keys.dtype)
            keys += columns[position]
        weights = None if table.is_unweighted else np.tile(table.counts.astype(np.float64), len(members))
        counts = np.bincount((keys + starts[:, None]).reshape(-1), weights, minlength=int(cells.sum()))
        return counts.astype(np.intp, copy=False), starts


@dataclass(frozen=True, eq=False)
class RowCounts:
    """What judges margins by their classes, a few hundred at a time.

    coarse, fine: each step as the coarsest and the finest margin that it stands for. tables: from which the ones and the
    others are counted. least: rows of a class of any margin that may be shown. terms: n ln n of each number of rows.
    """

    coarse: _Steps
    fine: _Steps
    tables: tuple[ContingencyTable, ContingencyTable]
    least: int
    terms: FloatArray

    @classmethod
    def of(cls, asked: MarginEvaluator) -> "RowCounts | None":
        """None where there are too many rows, or none."""
        cube, steps = asked.problem.cube, asked.steps
        if not 0 < cube.total <= _MOST_ROWS:
            return None
        fine = _Steps(cube.domain, steps.fine)
        coarse = fine if steps.are_exact else _Steps(cube.domain, steps.coarse)
        table = cube.table(sum(cube.domain.attribute_masks))
        return cls(coarse, fine, (table, table), asked.least, x_log_x(np.arange(cube.total + 1)))

    @property
    def rows(self) -> int:
        """Cells of the larger table."""
        return max(map(len, self.tables))

    def are_small(self, members: IndexArray) -> BoolArray:
        """Which of some margins have few enough cells; members: shape (margins, attributes shown), of steps."""
        return np.asarray(self.fine.cells(members) <= _MOST_CELLS)

    def of_attributes(self, members: IndexArray) -> "RowCounts":
        """The same from tables of the attributes that some margins all show, as coarse as these allow.

        members: shape (margins, attributes shown), of steps.
        """
        fine = self.fine.rolled_up(self.tables[1], members)
        coarse = fine if self.coarse is self.fine else self.coarse.rolled_up(self.tables[0], members)
        return replace(self, tables=(coarse, fine))

    def parts(self, members: IndexArray) -> list[IndexArray]:
        """The positions of some margins, at least one, in parts that are judged together."""
        most = max(self.rows, int(self.fine.cells(members).max()))
        at_once = max(_AT_ONCE // most, 1)
        return np.split(np.arange(len(members)), range(at_once, len(members), at_once))

    def judged(self, members: IndexArray) -> tuple[BoolArray, FloatArray]:
        """Which of the margins of a part may be shown, and their entropies in nats; any number for others."""
        counts, starts = self.coarse.counted(self.tables[0], members)
        allowed = ~np.logical_or.reduceat((counts > 0) & (counts < self.least), starts)
        if self.coarse is not self.fine:
            counts, starts = self.fine.counted(self.tables[1], members)
        total = len(self.terms) - 1
        return allowed, np.log(total) - np.add.reduceat(self.terms[counts], starts) / total


# The margins of a grid that may be shown, counted many at once, for the bound of tables with very many of them.
#
# Margins of a grid stand for others (`lower_bound`): one may be shown where the coarsest that it stands for may. They
# are found size by size like frequent itemsets (Agrawal and Srikant, VLDB 1994): one is looked at when all that lack
# one of its attributes were found. Where a constraint judges margins by the least of their classes, many are counted
# together: where attributes have several levels by rows or by cells, else, where they are many and have few values, as
# products.


_MOST_PRODUCTS = 1 << 40
"""Rows times margins of the size after the next, at most, where margins are counted as products. The size after the
next is expected to grow by the same factor as the next one."""

_FEWEST_ROWS = 1 << 12
"""Rows up to which a margin that is counted as a product is about the same work."""

_MOST_JOINED, _MOST_ROWS_JOINED = 1 << 24, 1 << 35
"""Margins of the next size, and these times the rows, at most, where attributes have several levels."""

_MOST_WORK = 3e10
"""Of counting the margins of one size, as estimated by the numbers below."""

_LOOKED_AT = 1.5
"""Work for each row and each candidate, about half of which are counted, where margins are counted by rows."""

_PER_TABLE, _PER_ROW, _PER_MARGIN, _PER_CELL = 150_000.0, 10.0, 10_000.0, 3.0
"""Work where they are counted by cells: for each table of a set of attributes; each row that it is made of; each
candidate; each cell of such a table and each candidate counted from it."""


def counted_margins(problem: Problem, grid: Grid, judged: ClassSize, stop: Stop) -> list[MarginSets] | None:
    """The margins of a grid that may be shown, those of one attribute first. None when stopped, or where there are too many.

    grid: each attribute by itself is allowed as finely as it goes. judged: how the constraint judges some margins by their
    classes; of each other it is asked.
    """
    steps = GridSteps.of(problem, grid)
    if not len(steps):
        return None
    asked = MarginEvaluator.of(problem, steps, judged)
    judge = (RowCounts if steps.has_ladders else ClassProducts).of(asked)
    if judge is None:
        return None
    alone = np.array([problem.cube.entropy(mask) for mask in steps.fine])
    result = [MarginSets(steps, np.arange(len(steps))[:, None], alone)]
    rows = len(problem.cube.table(sum(problem.cube.domain.attribute_masks)))
    while len(result[-1]):
        if stop() or _too_many(result[-1], rows):
            return None
        if isinstance(judge, RowCounts):
            one_more = _of_ladders(result[-1], asked, judge, stop)
        else:
            one_more = _all_at_once(result[-1], judge, stop)
        if one_more is None:
            return None
        result.append(one_more)
    return result[:-1]


def _too_many(margins: MarginSets, rows: int) -> bool:
    """Whether there are likely to be too many of larger sizes."""
    following = int(margins.following.sum())
    if margins.steps.has_ladders:
        return following > _MOST_JOINED or following * rows > _MOST_ROWS_JOINED
    after_the_next = following * following // len(margins)
    return after_the_next * max(rows, _FEWEST_ROWS) > _MOST_PRODUCTS


def _all_at_once(margins: MarginSets, judge: ClassProducts, stop: Stop) -> MarginSets | None:
    """The margins of one attribute more; None when stopped."""
    members: list[IndexArray] = [np.empty((0, margins.members.shape[1] + 1), dtype=np.intp)]
    entropies: list[FloatArray] = [np.empty(0)]
    for candidates in margins.larger():
        for part in judge.parts(candidates):
            if stop():
                return None
            allowed, part_entropies = judge.judged(part)
            members.append(part[allowed])
            entropies.append(part_entropies[allowed])
    return MarginSets(margins.steps, np.concatenate(members), np.concatenate(entropies))


def _of_ladders(margins: MarginSets, asked: MarginEvaluator, judge: RowCounts, stop: Stop) -> MarginSets | None:
    """The same where several resolutions are told apart. None also where there are too many to be counted."""
    joined = [np.empty((0, margins.members.shape[1] + 1), dtype=np.intp)]
    for members in margins.larger():
        joined.append(members)
        if stop():
            return None
    candidates = _Candidates(margins.steps, np.concatenate(joined))
    by_class = asked.are_by_class(candidates.members) & judge.are_small(candidates.members)
    if not candidates.judge(np.flatnonzero(by_class), judge, stop):
        return None
    if not candidates.ask(np.flatnonzero(~by_class), asked, stop):
        return None
    allowed = candidates.allowed
    return MarginSets(margins.steps, candidates.members[allowed], candidates.entropies[allowed])


class _Candidates:
    """Margins of one size all of whose parts may be shown, and what is known of them.

    members: shape (margins, attributes shown), of steps; they ascend. allowed: which of them may be shown, as far as judged;
    entropies: of these, in nats.
    """

    def __init__(self, steps: GridSteps, members: IndexArray) -> None:
        self.steps, self.members = steps, members
        self.allowed, self.entropies = np.zeros(len(members), dtype=np.bool_), np.zeros(len(members))
        self._index = MarginIndex(len(steps), members)

    def judge(self, candidates: IndexArray, judge: RowCounts, stop: Stop) -> bool:
        """Judge some by their classes, in the way that is less work; False when stopped, or where they are too many."""
        attributes = self.steps.attributes[self.members[candidates]]
        order = np.lexsort(attributes.T[::-1])
        sorted_attributes = attributes[order]
        begins = np.flatnonzero(np.any(sorted_attributes[1:] != sorted_attributes[:-1], axis=1)) + 1
        by_rows = _LOOKED_AT * len(candidates) * judge.rows
        by_cells = (len(begins) + 1) * (_PER_TABLE + _PER_ROW * judge.rows) + _PER_MARGIN * len(candidates)
        if min(by_rows, by_cells) > _MOST_WORK:
            return False
        if by_rows <= by_cells:
            return all(self._judge(part, judge, stop) for part in self._coarser_first(candidates))
        return all(self._judge_cells(same, judge, stop) for same in np.split(candidates[order], begins))

    def ask(self, candidates: IndexArray, asked: MarginEvaluator, stop: Stop) -> bool:
        """Judge some one by one; False when stopped."""
        for part in self._coarser_first(candidates):
            for margin in part[:, None]:
                if stop():
                    return False
                self.allowed[margin], self.entropies[margin] = asked.judged(self.members[margin])
        return True

    def _judge(self, candidates: IndexArray, judge: RowCounts, stop: Stop) -> bool:
        """Judge some by their classes; False when stopped."""
        for part in judge.parts(self.members[candidates]) if len(candidates) else []:
            if stop():
                return False
            self.allowed[candidates[part]], self.entropies[candidates[part]] = judge.judged(
                self.members[candidates[part]]
            )
        return True

    def _judge_cells(self, candidates: IndexArray, judge: RowCounts, stop: Stop) -> bool:
        """Judge some that show the same attributes by cells, those alike in a step from fewer; False when stopped."""
        members = self.members[candidates]
        cells = judge.of_attributes(members) if len(candidates) else judge
        if stop():
            return False
        steps = [np.unique(column) for column in members.T]
        most = max(range(len(steps)), key=lambda column: len(steps[column]))
        if len(candidates) * cells.rows * _PER_CELL <= len(steps[most]) * _PER_TABLE:
            return self._judge(candidates, cells, stop)
        return all(
            self._judge_cells(candidates[members[:, most] == step], cells, stop) for step in steps[most].tolist()
        )

    def _coarser_first(self, candidates: IndexArray) -> Iterator[IndexArray]:
        """Those of some of which every one that is a step coarser is allowed, once these are judged."""
        ranks = self.steps.resolutions[self.members[candidates]].sum(axis=1)
        for rank in np.unique(ranks).tolist():
            of_rank = candidates[ranks == rank]
            for column in range(self.members.shape[1]):
                coarser = self.members[of_rank]
                is_coarsest = self.steps.resolutions[coarser[:, column]] == 1
                coarser[:, column] -= 1
                at, are_there = self._index.sought(coarser)
                of_rank = of_rank[is_coarsest | (are_there & self.allowed[at])]
            yield of_rank
