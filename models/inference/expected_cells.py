"""Expected cells: expected counts over the cells of a margin that can be occupied."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from models.arrays import BoolArray, CodeArray, FloatArray, IndexArray, read_only
from models.errors import DomainMismatchError
from models.tables.coded_cells import CodedCells
from models.tables.contingency_table import ContingencyTable
from models.tables.domain import Domain
from models.tables.join import match
from models.tables.margin import Margin
from models.tables.mixed_radix import group, pack


@dataclass(frozen=True, eq=False)
class ExpectedCells:
    """Expected counts of cells. expected: rows, shape (len(cells),); a read-only view is kept.

    Raises DomainMismatchError for another shape, and where a number of rows is negative, infinite or nan.
    """

    cells: CodedCells
    expected: FloatArray

    def __post_init__(self) -> None:
        if self.expected.shape != (len(self.cells),):
            raise DomainMismatchError(
                f"{len(self.cells)} cells came with expected counts of shape {self.expected.shape}"
            )
        if not (self.expected.min(initial=0) >= 0 and self.expected.max(initial=0) < np.inf):  # nan is neither
            raise DomainMismatchError("expected counts must be numbers, none negative")
        object.__setattr__(self, "expected", read_only(self.expected))

    @classmethod
    def of(cls, table: ContingencyTable) -> "ExpectedCells":
        """The counts of a table, which are expected as they are."""
        return cls(table.coded_cells, table.counts.astype(np.float64))

    def __len__(self) -> int:
        """Number of cells."""
        return len(self.cells)

    @property
    def domain(self) -> Domain:
        """The domain of the cells."""
        return self.cells.domain

    @property
    def margin(self) -> Mapping[str, int]:
        """The margin that the cells are of."""
        return self.cells.margin

    @property
    def codes(self) -> Mapping[str, CodeArray]:
        """For each attribute its codes at the margin's level: shape (len(cells),)."""
        return self.cells.codes

    def __getitem__(self, kept: BoolArray | IndexArray) -> "ExpectedCells":
        """Some of the cells, by place or mask."""
        expected = self.expected[kept]
        codes = {attribute: column[kept] for attribute, column in self.codes.items()}
        return ExpectedCells(CodedCells(self.domain, self.margin, codes, len(expected)), expected)

    def summed(self, margin: Mapping[str, int]) -> "ExpectedCells":
        """The cells of a coarser margin, in ascending order."""
        columns, radices = self.cells.columns(margin)
        first, numbers = group(*pack(columns, radices, len(self)))
        sums = np.bincount(numbers, self.expected, minlength=len(first)).astype(np.float64)
        attributes = sorted(margin, key=self.domain.index)
        codes = {attribute: column[first] for attribute, column in zip(attributes, columns)}
        return ExpectedCells(CodedCells(self.domain, Margin(margin), codes, len(first)), sums)

    def refined(self, attribute: str, level: int) -> "ExpectedCells":
        """The cells with an attribute at a level, where they show a coarser one: each value gets its base values' share."""
        hierarchy = self.domain.hierarchy(attribute)
        own = self.margin.get(attribute, hierarchy.height)
        if own <= level:
            return self
        codes = self.codes.get(attribute, np.zeros(len(self), dtype=np.int64))
        parents = hierarchy.lift(level, own)
        cell, child = match(codes, parents)
        share = hierarchy.leaf_counts(level)[child] / hierarchy.leaf_counts(own)[parents[child]]
        refined = {a: column[cell] for a, column in self.codes.items()} | {attribute: child}
        cells = CodedCells(self.domain, Margin({**self.margin, attribute: level}), refined, len(cell))
        return ExpectedCells(cells, np.asarray(self.expected[cell] * share, dtype=np.float64))
