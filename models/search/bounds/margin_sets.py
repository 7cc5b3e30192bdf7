"""Margins of a grid that show equally many attributes, as sets of its steps: arrays instead of a mask for each."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from models.arrays import BoolArray, FloatArray, IndexArray
from models.search.bounds.lower_bound import Grid, resolved
from models.search.problem import Problem
from models.tables.domain import Mask

_LARGEST_KEY = 1 << 62
"""Numbers of margins stay below this."""

_CHUNK = 1 << 17
"""Sets that may be looked at, before those are left out of which some part is missing, laid out at once."""


@dataclass(frozen=True, eq=False)
class GridSteps:
    """The resolutions of a grid but for 0, numbered by attribute, then by resolution: a margin is a set of these numbers.

    attributes: the place of each one's attribute in the domain, shape (steps,). resolutions: its place among the
    resolutions that are told apart, from 1. coarse, fine: the coarsest and the finest margin that it stands for.
    """

    attributes: IndexArray
    resolutions: IndexArray
    coarse: tuple[Mask, ...]
    fine: tuple[Mask, ...]

    @classmethod
    def of(cls, problem: Problem, grid: Grid) -> "GridSteps":
        """Those of a grid."""
        steps = [(place, at) for place, own in enumerate(grid) for at in range(1, len(own))]
        attributes, resolutions = np.array(steps, dtype=np.intp).reshape(-1, 2).T
        coarse = tuple(resolved(problem, place, grid[place][at - 1] + 1) for place, at in steps)
        return cls(
            attributes, resolutions, coarse, tuple(resolved(problem, place, grid[place][at]) for place, at in steps)
        )

    def __len__(self) -> int:
        return len(self.coarse)

    @property
    def are_exact(self) -> bool:
        """Whether each stands for one margin alone."""
        return self.coarse == self.fine

    @property
    def has_ladders(self) -> bool:
        """Whether several resolutions of some attribute are told apart."""
        return bool((self.resolutions > 1).any())


@dataclass(frozen=True, eq=False)
class MarginSets:
    """Margins that show equally many attributes.

    steps: of the grid. members: shape (margins, attributes shown), the numbers of its steps, ascending; the margins
    themselves ascend. entropies: shape (margins,), nats.
    """

    steps: GridSteps
    members: IndexArray
    entropies: FloatArray

    @classmethod
    def empty(cls, steps: GridSteps) -> "MarginSets":
        """The margin that shows nothing."""
        return cls(steps, np.empty((1, 0), dtype=np.intp), np.zeros(1))

    def __len__(self) -> int:
        return len(self.members)

    def positions(self, members: IndexArray) -> IndexArray:
        """Where margins are that are here; of others the place of any. members: shape (margins, attributes shown)."""
        return self._index.sought(members)[0]

    def are_here(self, members: IndexArray) -> BoolArray:
        """Which of some margins of as many attributes are among these; members: shape (margins, attributes shown)."""
        return self._index.sought(members)[1]

    @cached_property
    def _index(self) -> "MarginIndex":
        return MarginIndex(len(self.steps), self.members)

    @cached_property
    def _joined(self) -> tuple[IndexArray, IndexArray]:
        """For each margin the first one after it that differs from it in the last attribute alone, and how many do."""
        attribute = self.steps.attributes[self.members[:, -1]]
        ends_alike = np.any(self.members[1:, :-1] != self.members[:-1, :-1], axis=1)
        first = _ends(ends_alike | (attribute[1:] != attribute[:-1]), len(self))
        return first, _ends(ends_alike, len(self)) - first

    @property
    def following(self) -> IndexArray:
        """How many margins after each one differ from it in the last attribute alone: shape (margins,)."""
        return self._joined[1]

    def larger(self) -> Iterator[IndexArray]:
        """The margins of one attribute more all of whose parts are here, ascending, some at a time.

        Arrays of shape (margins, size + 1).
        """
        first, following = self._joined
        chunks = np.cumsum(following) // _CHUNK
        for chunk in np.split(np.arange(len(self)), np.flatnonzero(np.diff(chunks)) + 1):
            own = following[chunk]
            one, before = np.repeat(chunk, own), np.cumsum(own) - own
            other = np.repeat(first[chunk] - before, own) + np.arange(len(one))
            members = np.column_stack((self.members[one], self.members[other, -1]))
            for column in range(members.shape[1] - 2):
                members = members[self.are_here(np.delete(members, column, axis=1))]
            if len(members):
                yield members


class MarginIndex:
    """Where margins of one size are among some, by a number for each.

    steps: of the grid. members: shape (margins, attributes shown), ascending.
    """

    def __init__(self, steps: int, members: IndexArray) -> None:
        self._steps = steps
        self._beginnings: list[IndexArray] = []
        """Numbers of beginnings, ascending, each time that they grow too large: their ranks take their place."""
        keys, space = np.zeros(len(members), dtype=np.intp), 1
        for column in members.T:
            if space > _LARGEST_KEY // steps:
                self._beginnings.append(np.unique(keys))
                keys, space = np.searchsorted(self._beginnings[-1], keys), max(len(self._beginnings[-1]), 1)
            keys, space = keys * steps + column, space * steps
        self._keys = keys

    def sought(self, members: IndexArray) -> tuple[IndexArray, BoolArray]:
        """Where some margins are, of those that are not there any place, and which are there."""
        keys, space = np.zeros(len(members), dtype=np.intp), 1
        beginnings = iter(self._beginnings)
        for column in members.T:
            if space > _LARGEST_KEY // self._steps:
                known = next(beginnings)
                at, is_known = _sought(known, keys)
                keys, space = np.where(is_known, at, -1), max(len(known), 1)
            keys, space = keys * self._steps + column, space * self._steps
        return _sought(self._keys, keys)


def _sought(ascending: IndexArray, keys: IndexArray) -> tuple[IndexArray, BoolArray]:
    """Where some numbers are among others that ascend, and which are."""
    at = np.minimum(np.searchsorted(ascending, keys), len(ascending) - 1)
    return at, ascending[at] == keys


def _ends(differs: BoolArray, length: int) -> IndexArray:
    """Where the run ends that each element is in. differs: whether each but the first begins a run."""
    ends = np.append(np.flatnonzero(differs) + 1, length)
    return np.repeat(ends, np.diff(ends, prepend=0))
