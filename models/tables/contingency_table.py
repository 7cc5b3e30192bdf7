"""Sparse contingency tables: how many rows fall in each cell that is not empty."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import prod
from operator import mul
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from models.arrays import (
    BoolArray,
    CodeArray,
    CountArray,
    IndexArray,
    read_only,
    read_only_copy,
    smallest_code_dtype,
    value_codes,
    whole_counts,
    x_log_x,
)
from models.errors import ContradictionError, DomainMismatchError
from models.tables.hierarchy import Domain, Hierarchy, Margin, Mask

_MAX_SPACE = 2**62
"""Packed keys stay below this, so that int64 never overflows."""

_DIGIT = 16
"""Bits of a key that are sorted by at a time: NumPy sorts numbers of so many bits by counting."""


def pack(columns: Sequence[CodeArray], radices: Sequence[int], length: int) -> tuple[CodeArray, int]:
    """One integer a row that orders and separates rows as their codes do, and a bound above all of them.

    columns: one array of shape (length,) for each radix, codes below that radix. Where the product of the radices
    would overflow, the keys so far are replaced by their ranks, which keeps order and identity. The keys are to be compared
    and counted, not to be calculated with: they are int32 where that holds them, which counting gains a fifth by.
    """
    dtype = np.int32 if prod(radices) < 2**31 else np.int64
    keys: CodeArray = np.zeros(length, dtype=dtype)
    space = 1
    for column, radix in zip(columns, radices, strict=True):
        if space > _MAX_SPACE // max(radix, 1):  # no code is below 0, where there are no rows
            distinct, keys = np.unique(keys, return_inverse=True)
            space = max(len(distinct), 1)
        if space == 1:
            keys = column.astype(dtype)
        else:
            keys *= radix
            keys += column.astype(dtype, copy=False)
        space *= radix
    return keys, space


def is_dense(space: int, length: int) -> bool:
    """Whether an array with a place for each key below `space` is worth its memory, for so many rows."""
    return space <= max(4 * length, 1 << 12)


def _ascending(keys: CodeArray, space: int) -> IndexArray:
    """The positions of keys below `space` in ascending order, digit by digit from the last one."""
    order = np.argsort(keys.astype(np.uint16), kind="stable")
    for shift in range(_DIGIT, (space - 1).bit_length(), _DIGIT):
        digits = (keys >> shift).astype(np.uint16)
        order = order[np.argsort(digits[order], kind="stable")]
    return order


def tally(keys: CodeArray, space: int, weights: CountArray) -> tuple[IndexArray, CountArray]:
    """For each distinct key, ascending: the index of one row that has it, and the sum of its rows' weights.

    Weights must be positive: a key of weight 0 may be left out.
    """
    if is_dense(space, len(keys)):
        totals = np.bincount(keys, weights, minlength=space)
        present = np.flatnonzero(totals > 0)  # ten times as fast as on the floats themselves
        row_of = np.empty(space, dtype=np.intp)
        row_of[keys] = np.arange(len(keys))
        return row_of[present], totals[present].astype(np.int64)
    if not len(keys):
        return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.int64)
    order = _ascending(keys, space)
    ordered = keys[order]
    begins = ordered[1:] != ordered[:-1]
    if begins.all():
        return order, weights[order]
    starts = np.flatnonzero(np.r_[True, begins])
    return order[starts], np.add.reduceat(weights[order], starts)


def tally_cells(
    columns: Sequence[CodeArray], radices: Sequence[int], weights: CountArray
) -> tuple[list[CodeArray], CountArray]:
    """The distinct cells of some rows, ascending, by the codes of each column, and the sum of the weights of each.

    columns: one array of shape (len(weights),) for each radix. Weights must be positive.
    """
    keys, space = pack(columns, radices, len(weights))
    if is_dense(space, len(weights)) and space == prod(radices):  # else keys may be ranks
        totals = np.bincount(keys, weights, minlength=space)
        present = np.flatnonzero(totals > 0)
        return _unpacked(present, radices), totals[present].astype(np.int64)
    rows, counts = tally(keys, space, weights)
    return [column[rows] for column in columns], counts


def _unpacked(keys: IndexArray, radices: Sequence[int]) -> list[CodeArray]:
    """The codes that were packed, one column for each radix."""
    columns: list[CodeArray] = []
    for radix in reversed(radices):
        keys, codes = last_digit(keys, radix)
        columns.append(codes)
    return columns[::-1]


def last_digit(keys: IndexArray, radix: int) -> tuple[IndexArray, CodeArray]:
    """Keys without their last digit, and that digit, in the smallest dtype that holds it. Five times as fast as `divmod`.

    The digit is calculated modulo the range of that dtype, in which it lies, so what overflows does not matter.
    """
    higher, dtype = keys // radix, smallest_code_dtype(radix)
    digit = keys.astype(dtype)
    digit -= higher.astype(dtype) * np.asarray(radix).astype(dtype)
    return higher, digit


def tally_totals(keys: CodeArray, space: int, weights: CountArray | None) -> CountArray:
    """The summed weights of the distinct keys alone, in ascending order of the keys. None: every weight is 1."""
    if weights is None and is_dense(space, len(keys)):
        totals = np.bincount(keys, minlength=space)
        return totals[totals > 0]
    if weights is None:
        return np.asarray(np.unique(keys, return_counts=True)[1], dtype=np.int64)
    if is_dense(space, len(keys)):
        totals = np.bincount(keys, weights, minlength=space)
        return totals[totals > 0].astype(np.int64)
    return tally(keys, space, weights)[1]


def group(keys: CodeArray, space: int) -> tuple[IndexArray, IndexArray]:
    """The index of one row of each distinct key, ascending, and for each row the number of its key among them."""
    if is_dense(space, len(keys)):
        row_of = np.full(space, -1, dtype=np.intp)
        row_of[keys] = np.arange(len(keys))
        present = np.flatnonzero(row_of >= 0)
        number = np.empty(space, dtype=np.intp)
        number[present] = np.arange(len(present))
        return row_of[present], number[keys]
    _, rows, numbers = np.unique(keys, return_index=True, return_inverse=True)
    return rows, numbers


def shared_keys(
    one: list[CodeArray], other: list[CodeArray], radices: list[int], sizes: tuple[int, int]
) -> tuple[CodeArray, CodeArray]:
    """Keys that are equal exactly where the shared columns of two tables are equal."""
    both = [np.concatenate((a, b)) for a, b in zip(one, other, strict=True)]
    keys, _ = pack(both, radices, sum(sizes))
    return keys[: sizes[0]], keys[sizes[0] :]


class Lookup(NamedTuple):
    """places: where a sought key stands among the known ones; any place where it is not found. found: whether it is."""

    places: IndexArray
    found: BoolArray


def look_up(sought: CodeArray, known: CodeArray) -> Lookup:
    """Where each sought key stands among known ones, which are distinct and ascend: arrays of the shape of `sought`.

    No key is below 0.
    """
    if not len(known):
        return Lookup(np.zeros(len(sought), dtype=np.intp), np.zeros(len(sought), dtype=bool))
    beyond = int(known[-1]) + 1
    if is_dense(beyond, len(sought)):
        place_of = np.full(beyond + 1, -1, dtype=np.intp)
        place_of[known] = np.arange(len(known))
        places = place_of[np.minimum(sought, beyond)]
        return Lookup(places, places >= 0)
    places = np.minimum(np.searchsorted(known, sought), len(known) - 1)
    return Lookup(places, np.equal(known[places], sought))


def match(one: CodeArray, other: CodeArray) -> tuple[IndexArray, IndexArray]:
    """All pairs of positions with equal keys, grouped by the first one in order: arrays of equal length.

    O((n + m) log m + pairs).
    """
    order = np.argsort(other, kind="stable")
    ordered = other[order]
    low = np.searchsorted(ordered, one, side="left")
    counts = np.searchsorted(ordered, one, side="right") - low
    left_index = np.repeat(np.arange(len(one)), counts)
    within = np.arange(len(left_index)) - np.repeat(np.cumsum(counts) - counts, counts)
    return left_index, order[np.repeat(low, counts) + within]


def match_size(one: CodeArray, other: CodeArray) -> int:
    """How many pairs `match` would return."""
    ordered = np.sort(other)
    counts = np.searchsorted(ordered, one, side="right") - np.searchsorted(ordered, one, side="left")
    return int(counts.sum())


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
        margin_level = self.margin[attribute]
        codes = self.codes[attribute]
        return codes if margin_level == level else self.domain.hierarchy(attribute).lift(margin_level, level)[codes]

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
        places, is_present = self.look_up(coarse)
        if not is_present.all():
            raise ContradictionError(f"the marginals {self.margin} and {coarse.margin} disagree on an empty cell")
        return places

    def keys_with(self, other: "CodedCells") -> tuple[CodeArray, CodeArray]:
        """A key for each cell of both: equal where two agree on the attributes that both show, at the coarser level."""
        shared = {a: max(level, other.margin[a]) for a, level in self.margin.items() if a in other.margin}
        columns, radices = self.columns(shared)
        return shared_keys(columns, other.columns(shared)[0], radices, (len(self), len(other)))


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
        levels = domain.margin(domain.mask(margin))
        attributes = sorted(levels, key=domain.index)
        radices = [domain.hierarchy(attribute).size(levels[attribute]) for attribute in attributes]
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
        return cls._of_tallied(domain, levels, radices, *tally_cells(columns, radices, counts))

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
            place_mask, hierarchy, level, codes = self._shown[place]
            part = mask & place_mask
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
        levels = self.domain.margin(self.domain.mask(margin))
        columns, radices = self.columns(levels)
        return self._of_tallied(self.domain, levels, radices, *tally_cells(columns, radices, self.counts))

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
        places, is_present = cells.look_up(self.coded_cells)
        return np.where(is_present, self.counts[places], 0) if len(self) else np.zeros(len(cells), dtype=np.int64)

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
