"""Sparse contingency tables: how many rows fall in each cell that is not empty."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import prod
from operator import mul

import numpy as np
import numpy.typing as npt

from models.arrays import CodeArray, CountArray, IndexArray, read_only, read_only_copy, smallest_code_dtype
from models.checked_arrays import value_codes, whole_counts
from models.errors import DomainMismatchError
from models.tables.coded_cells import CodedCells
from models.tables.domain import Domain, Mask
from models.tables.hierarchy import Hierarchy
from models.tables.margin import Margin
from models.tables.mixed_radix import pack, tally_cells
from models.x_log_x import x_log_x

_LIFTED = 1 << 26
"""Bytes of columns at coarser levels that a table keeps, at most: a search asks for each thousands of times."""


def entropy(counts: CountArray) -> float:
    """Entropy in nats of the distribution with these counts of rows; 0 for no rows at all."""
    total = int(counts.sum())
    if total == 0:
        return 0.0
    return float(np.log(total) - x_log_x(counts).sum() / total)


@dataclass(frozen=True, eq=False)
class ContingencyTable:
    """The nonempty cells of a margin with their counts.

    codes: one array for each attribute of `attributes` (the domain's order), shape (cells,), the value's code at the
    margin's level. counts: shape (cells,), positive. Cells are distinct and ascend lexicographically. Arrays are copied in.
    Raises DomainMismatchError where this is not so; `from_cells` takes cells in any order.

    >>> from models.tables.hierarchy import Hierarchy
    >>> domain = Domain.of({"sex": Hierarchy.flat(["f", "m"]), "smoker": Hierarchy.flat(["no", "yes"])})
    >>> codes = {"sex": np.array([0, 1, 1]), "smoker": np.array([0, 0, 1])}
    >>> table = ContingencyTable.from_cells(domain, {"sex": 0, "smoker": 0}, codes, [12, 7, 5])
    >>> list(table.rolled_up({"sex": 0}).cells())
    [(('f',), 12), (('m',), 12)]
    """

    domain: Domain
    margin: Margin
    codes: tuple[CodeArray, ...]
    counts: CountArray

    def __post_init__(self) -> None:
        self.domain.mask(self.margin)
        if len(self.codes) != len(self.attributes):
            raise DomainMismatchError(f"{len(self.attributes)} attributes came with {len(self.codes)} code columns")
        counts = whole_counts(self.counts)
        radices = [self.domain.hierarchy(attribute).size(self.margin[attribute]) for attribute in self.attributes]
        columns = list(map(value_codes, self.codes, self.attributes, radices))
        if any(column.shape != counts.shape for column in columns):
            raise DomainMismatchError("code columns and counts differ in length")
        if not counts.all():
            raise DomainMismatchError("a cell has no rows; ContingencyTable.from_cells leaves such cells out")
        keys, _ = pack(columns, radices, len(counts))
        if np.any(keys[1:] <= keys[:-1]):
            raise DomainMismatchError(
                "cells must be distinct and ascend; ContingencyTable.from_cells puts them in order"
            )
        object.__setattr__(self, "margin", Margin(self.margin))
        narrow = (read_only_copy(column, smallest_code_dtype(radix)) for column, radix in zip(columns, radices))
        object.__setattr__(self, "codes", tuple(narrow))
        object.__setattr__(self, "counts", read_only_copy(counts))

    @classmethod
    def _of_tallied(
        cls, domain: Domain, margin: Margin, radices: Sequence[int], columns: Sequence[CodeArray], counts: CountArray
    ) -> "ContingencyTable":
        """From cells that were just tallied, so that they are what the constructor demands: it would pack them again."""
        codes = tuple(
            read_only(column.astype(smallest_code_dtype(radix), copy=False)) for column, radix in zip(columns, radices)
        )
        table = object.__new__(cls)
        vars(table).update(domain=domain, margin=margin, codes=codes, counts=read_only(counts))
        return table

    @classmethod
    def from_cells(
        cls, domain: Domain, margin: Mapping[str, int], codes: Mapping[str, CodeArray], counts: npt.ArrayLike
    ) -> "ContingencyTable":
        """From cells in any order, repeated or empty ones included.

        codes: for each attribute of the margin the codes at its level, shape (n,). counts: shape (n,), nonnegative.
        Raises DomainMismatchError for codes or counts that are out of range, no whole numbers or not given.
        """
        kept = domain.margin(domain.mask(margin))
        attributes = sorted(kept, key=domain.index)
        radices = [domain.hierarchy(attribute).size(kept[attribute]) for attribute in attributes]
        counts = whole_counts(counts)
        columns = []
        for attribute, radix in zip(attributes, radices):
            if attribute not in codes:
                raise DomainMismatchError(f"there are no codes of {attribute!r}")
            columns.append(value_codes(codes[attribute], attribute, radix))
            if columns[-1].shape != counts.shape:
                raise DomainMismatchError(f"the codes of {attribute!r} and the counts differ in length")
        occupied = counts > 0
        if not occupied.all():
            columns, counts = [column[occupied] for column in columns], counts[occupied]
        return cls._of_tallied(domain, kept, radices, *tally_cells(columns, radices, counts))

    @cached_property
    def attributes(self) -> tuple[str, ...]:
        """The attributes of the margin in the domain's order."""
        return tuple(sorted(self.margin, key=self.domain.index))

    @cached_property
    def mask(self) -> Mask:
        """The induced attributes of the margin."""
        return self.domain.mask(self.margin)

    @cached_property
    def total(self) -> int:
        """Number of rows."""
        return int(self.counts.sum())

    @cached_property
    def entropy(self) -> float:
        """Entropy of the empirical distribution over the cells, in nats."""
        return entropy(self.counts)

    def __len__(self) -> int:
        """Number of nonempty cells."""
        return len(self.counts)

    def __repr__(self) -> str:
        return f"ContingencyTable({self.margin}; {len(self)} cells, {self.total} rows)"

    @cached_property
    def is_unweighted(self) -> bool:
        """Whether every cell has one row, so that counting rows is counting cells."""
        return bool((self.counts == 1).all())

    @cached_property
    def coded_cells(self) -> CodedCells:
        """The cells by their codes."""
        return CodedCells(self.domain, self.margin, dict(zip(self.attributes, self.codes)), len(self))

    def column(self, attribute: str, level: int) -> CodeArray:
        """The codes of one attribute at a level not below the margin's, shape (cells,)."""
        return self.coded_cells.column(attribute, level)

    def column_of(self, mask: Mask) -> CodeArray:
        """The codes of one attribute at the level of some of its induced attributes, which the table shows; remembered."""
        ((column,), _) = self._coarsened(mask)
        return column

    def columns(self, margin: Mapping[str, int]) -> tuple[list[CodeArray], list[int]]:
        """The columns of a coarser margin in the domain's order, and the number of values of each.

        Raises DomainMismatchError when the margin asks for more than this table shows.
        """
        return self.coded_cells.columns(margin)

    @cached_property
    def _shown(self) -> dict[int, tuple[Mask, Hierarchy, int, CodeArray]]:
        """By its position each attribute's induced attributes, its hierarchy, its level here and its codes."""
        places = map(self.domain.index, self.attributes)
        masks, hierarchies = self.domain.attribute_masks, self.domain.hierarchies
        return {
            place: (masks[place], hierarchies[place], self.margin[attribute], codes)
            for place, attribute, codes in zip(places, self.attributes, self.codes)
        }

    @cached_property
    def _lifted(self) -> dict[Mask, CodeArray]:
        """Columns at coarser levels, as far as there is room for them."""
        return {}

    @cached_property
    def _packed(self) -> dict[Mask, CodeArray]:
        """What `keys` packed last, without the last attribute."""
        return {}

    def _coarsened(self, mask: Mask) -> tuple[list[CodeArray], list[int]]:
        """The columns of a coarser margin in the domain's order, and the number of values of each."""
        columns, radices = [], []
        for place in self.domain.places(mask):
            own, hierarchy, level, codes = self._shown[place]
            part = mask & own
            coarse = hierarchy.height - part.bit_count()
            column = codes if coarse == level else self._lifted.get(part)
            if column is None:
                column = hierarchy.lift(level, coarse)[codes]
                if (len(self._lifted) + 1) * column.nbytes <= _LIFTED:
                    self._lifted[part] = column
            columns.append(column)
            radices.append(hierarchy.size(coarse))
        return columns, radices

    def keys(self, mask: Mask) -> tuple[CodeArray, int]:
        """For each cell a number of the cell of a coarser margin that it falls into, and a bound, as `pack` has them.

        mask: valid, and nothing that this table does not show. Searches ask for margins in turn that differ in their last
        attribute alone, so the numbers for the others are remembered until there are other ones.
        """
        columns, radices = self._coarsened(mask)
        space = prod(radices)
        if len(columns) < 2 or space >= 2**31:
            return pack(columns, radices, len(self))
        last = mask.bit_length() - 1
        others = mask & ~(self.domain.coarser_steps(last) | 1 << last)
        packed = self._packed.get(others)
        if packed is None:
            self._packed.clear()
            packed = self._packed[others] = columns[0]
            for column, radix, below in zip(columns[1:-1], radices[1:], accumulate(radices, mul)):
                packed = self._packed[others] = _appended(packed, column, radix, below * radix)
        return _appended(packed, columns[-1], radices[-1], space), space

    def rolled_up(self, margin: Mapping[str, int]) -> "ContingencyTable":
        """The coarser table: attributes dropped, values generalized, counts summed."""
        kept = self.domain.margin(self.domain.mask(margin))
        columns, radices = self.columns(kept)
        return self._of_tallied(self.domain, kept, radices, *tally_cells(columns, radices, self.counts))

    def rolled_up_to(self, mask: Mask) -> "ContingencyTable":
        """The coarser table of a valid mask, which shows nothing that this table does not show."""
        columns, radices = self._coarsened(mask)
        cells = tally_cells(columns, radices, self.counts)
        return self._of_tallied(self.domain, self.domain.margin(mask), radices, *cells)

    def positions_in(self, coarse: "ContingencyTable") -> IndexArray:
        """For each cell the position of the cell of a coarser table that it falls into: shape (len(self),).

        Raises ContradictionError when the coarser table lacks such a cell.
        """
        return self.coded_cells.positions_in(coarse.coded_cells)

    def counts_of(self, codes: Mapping[str, CodeArray]) -> CountArray:
        """The counts of arbitrary cells, 0 where the table has none. codes: for each attribute, shape (n,)."""
        length = len(next(iter(codes.values()), np.zeros(1)))
        return self.counts_in(CodedCells(self.domain, self.margin, codes, length))

    def counts_in(self, cells: CodedCells) -> CountArray:
        """For each of some cells, none coarser, the count of the table's cell that it falls into: shape (len(cells),).

        0 where the table has no such cell.
        """
        places, found = cells.look_up(self.coded_cells)
        return np.where(found, self.counts[places], 0) if len(self) else np.zeros(len(cells), dtype=np.int64)

    def labels(self, cell: int) -> dict[str, str]:
        """The published labels of one cell."""
        return {
            attribute: self.domain.hierarchy(attribute).labels[self.margin[attribute]][int(codes[cell])]
            for attribute, codes in zip(self.attributes, self.codes)
        }

    def cells(self) -> Iterator[tuple[tuple[str, ...], int]]:
        """Labels and count of each cell, in order."""
        names = [self.domain.hierarchy(attribute).labels[self.margin[attribute]] for attribute in self.attributes]
        for cell, count in enumerate(self.counts.tolist()):
            yield tuple(labels[int(codes[cell])] for labels, codes in zip(names, self.codes)), count


def _appended(keys: CodeArray, column: CodeArray, radix: int, space: int) -> CodeArray:
    """Keys with one more column: as narrow as `space` allows, which is below 2^31, since narrow ones are made faster."""
    if radix == space:  # there was one key
        return column
    appended = keys.astype(smallest_code_dtype(space))
    appended *= radix
    appended += column
    return appended


def equal_cells(tables: Sequence[ContingencyTable]) -> bool:
    """Whether tables of one margin have the same cells and counts."""
    first = tables[0]
    return all(
        np.array_equal(first.counts, other.counts)
        and all(np.array_equal(a, b) for a, b in zip(first.codes, other.codes))
        for other in tables[1:]
    )
