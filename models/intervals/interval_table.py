"""Interval tables: published counts of which only a range is known, as of suppressed and rounded ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from models.arrays import CountArray, IndexArray, read_only_copy
from models.errors import DomainMismatchError
from models.intervals.classification import Members
from models.programs.equations import UNBOUNDED

_MOST = 2**40
"""Counts are less, so that sums and multiples of them are exact."""

Interval: TypeAlias = tuple[int, int]
"""The least and the largest count that is possible."""


@dataclass(frozen=True, eq=False)
class IntervalTable:
    """A published table: cells with a range each.

    values: for each attribute the sets of base values that it shows, totals and subtotals among them. codes: of each cell
    the place of its set among them, shape (cells,) each. lower, upper: the range of its count, both ends possible; UNBOUNDED
    for no upper end. Attributes that a table does not have are summed over. Raises DomainMismatchError for other shapes,
    empty ranges and counts below 0 or above 2^40.
    """

    name: str
    values: Mapping[str, tuple[Members, ...]]
    codes: Mapping[str, IndexArray]
    lower: CountArray
    upper: CountArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "lower", read_only_copy(self.lower, np.int64))
        object.__setattr__(self, "upper", read_only_copy(self.upper, np.int64))
        shapes = {np.shape(codes) for codes in self.codes.values()} | {self.lower.shape, self.upper.shape}
        if shapes != {(len(self.lower),)} or self.values.keys() != self.codes.keys():
            raise DomainMismatchError(
                f"{self.name}: every cell needs a value of each attribute and both ends of a range"
            )
        if np.any(self.lower < 0) or np.any(self.lower > self.upper):
            raise DomainMismatchError(f"{self.name}: a range of counts is empty or begins below 0")
        if np.any(self.lower > _MOST) or np.any((self.upper > _MOST) & (self.upper != UNBOUNDED)):
            raise DomainMismatchError(f"{self.name}: a count is larger than 2^40")

    @classmethod
    def of(cls, name: str, attributes: Sequence[str], cells: Mapping[tuple[Members, ...], Interval]) -> "IntervalTable":
        """The table of some cells, each given by a set of base values for each attribute."""
        values = {a: tuple(dict.fromkeys(key[place] for key in cells)) for place, a in enumerate(attributes)}
        places = {a: {members: code for code, members in enumerate(shown)} for a, shown in values.items()}
        codes = {
            a: np.array([places[a][key[place]] for key in cells], dtype=np.intp) for place, a in enumerate(attributes)
        }
        ranges = np.array([*cells.values()], dtype=np.int64).reshape(-1, 2)
        return cls(name, values, codes, ranges[:, 0], ranges[:, 1])

    def __len__(self) -> int:
        """Number of published cells."""
        return len(self.lower)
