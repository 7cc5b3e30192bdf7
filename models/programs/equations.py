"""Equations between counts: each total is the sum of its parts."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from models.arrays import BoolArray, CountArray, IndexArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array

UNBOUNDED = 2**60
"""The upper end of a count of which nothing is known."""


@dataclass(frozen=True, eq=False)
class Equations:
    """Totals less their parts, which are 0.

    rows, cells, signs: shape (entries,) each, in the order of `rows`: of a count in an equation the number of the equation,
    the cell, and 1 for the total or -1 for a part. tables: the table that each equation holds in, shape (equations,).
    """

    rows: IndexArray
    cells: IndexArray
    signs: CountArray
    tables: IndexArray

    def __len__(self) -> int:
        """Number of equations."""
        return len(self.tables)

    @cached_property
    def begins(self) -> IndexArray:
        """Where the entries of each equation begin."""
        return np.searchsorted(self.rows, np.arange(len(self)))

    def matrix(self, cells: int) -> "csr_array[np.int64]":
        """Shape (equations, cells)."""
        from scipy.sparse import csr_array  # slow to import, and few need it

        return csr_array((self.signs, (self.rows, self.cells)), shape=(len(self), cells))

    def only(self, kept: BoolArray) -> "Equations":
        """Some of the equations. kept: shape (equations,)."""
        entries = kept[self.rows]
        numbers = np.cumsum(kept) - 1
        return Equations(numbers[self.rows[entries]], self.cells[entries], self.signs[entries], self.tables[kept])
