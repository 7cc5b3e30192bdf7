"""Proven bounds of the counts of linked tables: propagated, then by linear and integer programs, block by block.

Every bound is proven in whole numbers, so it holds for certain, sharp or not: those of linear programs by their
multipliers, those of integer programs as the solver tells. Tables of whole numbers that are met on the way show which
counts are possible, and so which bounds are sharp; with them most programs need not be solved.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar

import numpy as np

from models.arrays import BoolArray, CountArray
from models.deadline import NEVER, Deadline
from models.errors import ContradictionError
from models.intervals.blocks import Block, blocks
from models.intervals.linked_tables import LinkedTables
from models.intervals.programmed_bounds import BlockBounds, tightened
from models.programs.propagation import propagated


@dataclass(frozen=True)
class Reach:
    """Which bounds are worth a program. small: counts from 1 to this one matter; None: all counts do.

    With a number, programs ask of cells that no table shows only whether they are certainly empty, certainly occupied,
    certainly small, or known; of published cells all is asked.
    """

    small: int | None = None


EVERYTHING = Reach()
"""All bounds."""


@dataclass(frozen=True, eq=False)
class ProvenBounds:
    """Bounds of all counts: lower <= count <= upper in every population that the tables fit, for certain. shape (cells,).

    sharp: whether both ends are surely attained, each in some population that fits everything published. False means that
    the bounds hold and may not be attained: time was over, or the count is one of a joint table of which it is not known
    that whatever fits the linked tables has a population, since no junction tree of joint tables covers it (`coverage`).
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


class Run(Protocol):
    """How parts of the work that do not depend on each other are done: what the work gives for each, in their order."""

    def __call__(self, work: Callable[[Part], Answer], parts: Sequence[Part]) -> Sequence[Answer]:
        """Apply the work to each part."""


def one_by_one(work: Callable[[Part], Answer], parts: Sequence[Part]) -> Sequence[Answer]:
    """In this process."""
    return [work(part) for part in parts]


def proven_bounds(
    linked: LinkedTables, reach: Reach = EVERYTHING, deadline: Deadline = NEVER, run: Run = one_by_one
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
