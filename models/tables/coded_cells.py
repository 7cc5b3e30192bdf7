"""Cells by their codes: which cell of a coarser table each falls into, and which cells of two tables agree."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from models.arrays import CodeArray, IndexArray
from models.errors import ContradictionError, DomainMismatchError
from models.tables.domain import Domain
from models.tables.join import Lookup, look_up, shared_keys


@dataclass(frozen=True, eq=False)
class CodedCells:
    """Some cells of a margin, in any order.

    codes: for each attribute of the margin its codes at the margin's level, shape (length,), in range. Raises
    DomainMismatchError for an attribute without codes, or with another number of them.
    """

    domain: Domain
    margin: Mapping[str, int]
    codes: Mapping[str, CodeArray]
    length: int

    def __post_init__(self) -> None:
        for attribute in self.margin:
            if attribute not in self.codes:
                raise DomainMismatchError(f"there are no codes of {attribute!r}")
            if self.codes[attribute].shape != (self.length,):
                raise DomainMismatchError(f"the codes of {attribute!r} and the cells differ in length")

    def __len__(self) -> int:
        """Number of cells."""
        return self.length

    @cached_property
    def are_all(self) -> bool:
        """Whether these, being distinct, are all cells of the margin."""
        return self.length == self.domain.size(self.margin)

    def column(self, attribute: str, level: int) -> CodeArray:
        """The codes of one attribute at a level not below the margin's: shape (length,)."""
        own = self.margin[attribute]
        codes = self.codes[attribute]
        return codes if own == level else self.domain.hierarchy(attribute).lift(own, level)[codes]

    def columns(self, margin: Mapping[str, int]) -> tuple[list[CodeArray], list[int]]:
        """The columns of a coarser margin in the domain's order, and the number of values of each.

        Raises DomainMismatchError when the margin has an attribute that is not shown here, or not at that level.
        """
        attributes = sorted(margin, key=self.domain.index)
        for attribute in attributes:
            if attribute not in self.margin or self.margin[attribute] > margin[attribute]:
                level = margin[attribute]
                raise DomainMismatchError(f"the margin {self.margin} does not show {attribute!r} at level {level}")
        radices = [self.domain.hierarchy(attribute).size(margin[attribute]) for attribute in attributes]
        return [self.column(attribute, margin[attribute]) for attribute in attributes], radices

    def look_up(self, coarse: "CodedCells") -> Lookup:
        """For each cell the place of the coarser cell that it falls into. coarse: distinct and ascending."""
        columns, radices = self.columns(coarse.margin)
        coarse_columns, _ = coarse.columns(coarse.margin)
        return look_up(*shared_keys(columns, coarse_columns, radices, (len(self), len(coarse))))

    def positions_in(self, coarse: "CodedCells") -> IndexArray:
        """For each cell the place of the coarser cell that it falls into: shape (length,).

        coarse: distinct and ascending. Raises ContradictionError when it lacks such a cell.
        """
        places, found = self.look_up(coarse)
        if not found.all():
            raise ContradictionError(f"the marginals {self.margin} and {coarse.margin} disagree on an empty cell")
        return places

    def keys_with(self, other: "CodedCells") -> tuple[CodeArray, CodeArray]:
        """A key for each cell of both: equal where two agree on the attributes that both show, at the coarser level."""
        shared = {a: max(level, other.margin[a]) for a, level in self.margin.items() if a in other.margin}
        own, radices = self.columns(shared)
        return shared_keys(own, other.columns(shared)[0], radices, (len(self), len(other)))
