"""Supports: which combinations of values there can be, where some are known to be impossible."""

from dataclasses import dataclass

import numpy as np

from models.arrays import FloatArray, read_only_copy
from models.errors import DomainMismatchError
from models.tables.coded_cells import CodedCells


@dataclass(frozen=True, eq=False)
class Support:
    """The cells of a margin that can be occupied, distinct and ascending, others being known to be impossible.

    weights: for each cell how many combinations of base values it stands for, shape (len(cells),); copied in. Raises
    DomainMismatchError for another shape, and where a weight is not a positive number.
    """

    cells: CodedCells
    weights: FloatArray

    def __post_init__(self) -> None:
        if self.weights.shape != (len(self.cells),):
            raise DomainMismatchError(f"{len(self.cells)} cells came with weights of shape {self.weights.shape}")
        if not np.all((self.weights > 0) & np.isfinite(self.weights)):
            raise DomainMismatchError("weights of cells must be positive numbers")
        object.__setattr__(self, "weights", read_only_copy(self.weights))

    def weights_of(self, cells: CodedCells) -> FloatArray:
        """For each of some cells, none coarser, the weight of the cell that it falls into: shape (len(cells),).

        Raises ContradictionError for a cell that is impossible.
        """
        return np.asarray(self.weights[cells.positions_in(self.cells)])
