"""Models whose tables are compared with data: what they have in common, and the simplest, independence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Protocol

import numpy as np

from models.arrays import CodeArray, FloatArray
from models.errors import DomainMismatchError
from models.tables.data_cube import DataCube
from models.tables.domain import Domain

_COARSE = "independence is compared at base values"


class TableModel(Protocol):
    """Expects so many rows in each cell of any table over a domain."""

    @property
    def domain(self) -> Domain:
        """The attributes with their hierarchies."""
        ...

    @property
    def total(self) -> int:
        """Number of rows."""
        ...

    @property
    def finest_levels(self) -> Mapping[str, int]:
        """For each attribute the level below which rows are spread evenly over base values."""
        ...

    def expected(self, margin: Mapping[str, int]) -> FloatArray:
        """Expected counts over a margin, one axis an attribute in the order given."""
        ...

    def expected_of(self, margin: Mapping[str, int], codes: Sequence[CodeArray]) -> FloatArray:
        """Expected counts of some cells of a margin. codes: for each attribute the value of each cell, shape (cells,)."""
        ...


@dataclass(frozen=True, eq=False)
class IndependentModel:
    """The exact counts of each attribute of a cube at base values; the attributes are taken to be independent."""

    cube: DataCube

    @property
    def domain(self) -> Domain:
        """The attributes with their hierarchies."""
        return self.cube.domain

    @property
    def total(self) -> int:
        """Number of rows."""
        return self.cube.total

    @cached_property
    def finest_levels(self) -> Mapping[str, int]:
        """Base values."""
        return dict.fromkeys(self.domain.attributes, 0)

    def expected(self, margin: Mapping[str, int]) -> FloatArray:
        """Expected counts over a margin at base values. Raises DomainMismatchError for coarser ones."""
        if any(margin.values()):
            raise DomainMismatchError(_COARSE)
        product = reduce(np.multiply.outer, map(self._shares, margin), np.ones(()))
        return np.asarray(product * self.total)

    def expected_of(self, margin: Mapping[str, int], codes: Sequence[CodeArray]) -> FloatArray:
        """Expected counts of some cells of a margin, of which no table is laid out. Raises as `expected` does."""
        if any(margin.values()):
            raise DomainMismatchError(_COARSE)
        shares = [self._shares(attribute)[own] for attribute, own in zip(margin, codes, strict=True)]
        return np.asarray(reduce(np.multiply, shares) * self.total)

    def _shares(self, attribute: str) -> FloatArray:
        table = self.cube.table(self.domain.mask({attribute: 0}))
        shares = np.zeros(self.domain.hierarchy(attribute).size(0))
        shares[table.codes[0]] = table.counts / max(self.total, 1)
        return shares
