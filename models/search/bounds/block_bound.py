"""A lower bound for many attributes: their lattice is too large to be laid out, that of each of some blocks is not.

The objective of a decomposable collection in perfect sequence is a sum over the steps v that it shows (`lower_bound`),

    sum_v [ s(P_v + v) - s(P_v) ] + sum_B E_p[ln leaves_B] - H(p),

where P_v + v is a part of an allowed margin, and P_v was shown before. Split the attributes into blocks. Of a step v of an
attribute in block b, P_v has a part Q_v in the block, which was shown before as well, and a part outside. Whatever that is,

    s(P_v + v) - s(P_v)  >=  min_E [ s(E) - s(E - v) ],

over the allowed margins E of which v is the finest step of its attribute and whose other steps in the block were shown
before: P_v + v is one, since the coarser steps of an attribute come before the finer ones. So the sum over the steps and
leaves of a block is at least the shortest path through the lattice of that block alone with these costs, and the sum over
the blocks, less H(p), is a bound. It lets blocks borrow from each other what order forbids, A from B and B from A: so blocks
hold attributes that tell most of each other. One block of all attributes gives the bound of `lower_bound`, each attribute by
itself the least that any allowed margin leaves of it.

The resolutions that are told apart (`lower_bound`) are all, where the margins can be counted; else they are made finer round
by round, until work or time are used up.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from models.arrays import FloatArray
from models.search.bounds.blocks import Block, BlockLattices, at_the_beginning, joined_blocks, related_blocks
from models.search.bounds.counted_margins import counted_margins
from models.search.bounds.last_steps import LastSteps, of_margins, of_sets
from models.search.bounds.lower_bound import Grid, Node, allowed_margins
from models.search.constraint import class_size_of
from models.search.problem import Problem, Stop
from models.tables.domain import Mask


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
    judged = class_size_of(problem.constraint)
    if judged is None or problem.price:
        return None
    found = counted_margins(problem, grid, judged, stop)
    return None if found is None else of_sets(found)


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
            tuple(sorted({*own, *((low + high) // 2 for low, high in pairwise(own) if high - low > 1)})) for own in grid
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
        return max(sum(map(at_the_beginning, self.remaining)) - self.problem.cube.entropy(base), 0.0)

    def to_go(self, vertices: Mask) -> float:
        """The remaining nats of a collection that shows these induced attributes, where every resolution is told apart."""
        own = self.problem.cube.domain.attribute_masks
        return sum(
            float(remaining[tuple((vertices & own[place]).bit_count() for place in block)])
            for block, remaining in zip(self.blocks, self.remaining)
        )


def block_bound(lattices: BlockLattices, blocks: Sequence[Block]) -> BlockBound:
    """The bound of some blocks, of which each attribute is in one."""
    return BlockBound(lattices.problem, tuple(blocks), tuple(map(lattices.remaining, blocks)))
