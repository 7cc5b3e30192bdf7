"""Sparse tables: `Cells` with a number each, and the contingency table, which counts the rows of each cell."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from math import prod
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from models.arrays import (
    BoolArray,
    CodeArray,
    CountArray,
    FloatArray,
    IndexArray,
    read_only,
    smallest_code_dtype,
    value_codes,
    whole_counts,
    x_log_x,
)
from models.errors import ContradictionError, DomainMismatchError, TooManyCellsError
from models.frozen import frozen
from models.tables.hierarchy import Domain, Margin, Mask

_MAX_SPACE = 2**62
"""Upper limit of packed keys, so that int64 never overflows."""

_NARROW = 2**31
"""Limit below which keys have the narrowest dtype, because narrow keys are made and counted faster."""


def pack(columns: Sequence[CodeArray], radices: Sequence[int], length: int) -> tuple[CodeArray, int]:
    """Return one integer for each row that orders and separates rows as their codes do, and a bound above all of them.

    columns: codes below each radix, shape (length,). If the product of the radices would overflow, the keys so far are
    replaced by their ranks. Keys are for comparing and counting, not for arithmetic, because their dtype is narrow.
    """
    cells = prod(max(radix, 1) for radix in radices)  # a radix is 0 where there are no rows
    dtype = smallest_code_dtype(cells) if cells < _NARROW else np.dtype(np.int64)
    keys: CodeArray = columns[0].astype(dtype) if columns else np.zeros(length, dtype)
    space = prod(radices[:1])
    for column, radix in zip(columns[1:], radices[1:], strict=True):
        if space > _MAX_SPACE // max(radix, 1):
            distinct, keys = np.unique(keys, return_inverse=True)
            space = max(len(distinct), 1)
        if space > 1:  # else all keys are 0, and the radix may be beyond the dtype
            keys *= radix
        # NumPy converts the column piece by piece here; the pages of a large copy take longer than the sum.
        np.add(keys, column, out=keys, dtype=dtype, casting="unsafe")
        space *= radix
    return keys, space


def unpack(keys: CodeArray, radices: Sequence[int]) -> list[CodeArray]:
    """Return the columns that `pack` made keys of, if no ranks took their place, each as narrow as its radix allows."""
    columns: list[CodeArray] = []
    for radix in reversed(radices):
        is_below = radix > np.iinfo(keys.dtype).max  # and so is no number of their dtype
        rest = np.zeros_like(keys) if is_below else keys // radix
        columns.append((keys if is_below else keys - rest * radix).astype(smallest_code_dtype(radix)))
        keys = rest
    return columns[::-1]


def is_dense(space: int, length: int) -> bool:
    """Return whether an array with a place for each key below `space` is worth its memory, for so many rows."""
    return space <= max(4 * length, 1 << 12)


def group(keys: CodeArray, space: int) -> tuple[IndexArray, IndexArray]:
    """Return the index of one row of each distinct key, ascending, and for each row the number of its key."""
    if is_dense(space, len(keys)):
        row_of = np.full(space, -1, dtype=np.intp)
        row_of[keys] = np.arange(len(keys))
        present = np.flatnonzero(row_of >= 0)
        rows = row_of[present]
        row_of[present] = np.arange(len(present))
        return rows, row_of[keys]
    order = np.argsort(keys)
    ordered = keys[order]
    begins = np.ones(len(keys), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=begins[1:])
    number: IndexArray = np.empty(len(keys), dtype=np.intp)
    number[order] = np.cumsum(begins) - 1
    return order[begins], number


def bins(keys: CodeArray, space: int, weights: CountArray) -> CountArray:
    """Return the sum of the weights of each key below `space`: shape (space,). weights: whole numbers."""
    totals, step = np.zeros(space), max(space, 1 << 16)
    for begin in range(0, len(keys), step):  # some rows at a time, because `bincount` widens all that it gets
        totals += np.bincount(keys[begin : begin + step], weights[begin : begin + step], minlength=space)
    return totals.astype(np.int64)


def tally(keys: CodeArray, space: int, weights: CountArray) -> tuple[CodeArray, CountArray]:
    """Return the distinct keys, ascending, and the sum of the weights of each, which are positive whole numbers."""
    if is_dense(space, len(keys)):
        totals = bins(keys, space, weights)
        present = np.flatnonzero(totals)
        return present, totals[present]
    bits = int(weights.max(initial=0)).bit_length()
    if space << bits > 2 * _MAX_SPACE:
        first, numbers = group(keys, space)
        return keys[first], bins(numbers, len(first), weights)
    kind: Any = np.uint32 if space << bits <= 2 * _NARROW else np.uint64
    ordered = keys.astype(kind) << kind(bits)
    ordered |= weights.astype(kind)  # keys that carry their weights are sorted faster than places
    ordered.sort()
    distinct: CodeArray = ordered >> kind(bits)
    begins = np.flatnonzero(np.append(distinct[:1] >= 0, distinct[1:] != distinct[:-1]))
    return distinct[begins], np.add.reduceat(ordered & kind((1 << bits) - 1), begins, dtype=np.int64)


def tallied(
    columns: Sequence[CodeArray], radices: Sequence[int], weights: CountArray
) -> tuple[list[CodeArray], CountArray]:
    """Return the columns of the distinct rows, ascending and narrow, and the sum of the weights of each, if it is not 0."""
    if not weights.all():
        columns, weights = [column[weights > 0] for column in columns], weights[weights > 0]
    keys, space = pack(columns, radices, len(weights))
    distinct, totals = tally(keys, space, weights)
    if space == prod(radices):
        return unpack(distinct, radices), totals
    rows, _ = group(keys, space)  # the keys are ranks
    return [column[rows].astype(smallest_code_dtype(radix)) for column, radix in zip(columns, radices)], totals


def shared_keys(
    one: list[CodeArray], other: list[CodeArray], radices: list[int], sizes: tuple[int, int]
) -> tuple[CodeArray, CodeArray]:
    """Return keys that are equal exactly if the shared columns of two tables are equal."""
    both = [np.concatenate((a, b)) for a, b in zip(one, other, strict=True)]
    keys, _ = pack(both, radices, sum(sizes))
    return keys[: sizes[0]], keys[sizes[0] :]


def look_up(sought: CodeArray, keys: CodeArray) -> tuple[IndexArray, BoolArray]:
    """Return the place of each sought key among the keys, arbitrary if it is missing, and whether it is there.

    keys: distinct and ascending, none below 0.
    """
    if not len(keys):
        return np.zeros(len(sought), dtype=np.intp), np.zeros(len(sought), dtype=bool)
    beyond = int(keys[-1]) + 1
    if is_dense(beyond, len(sought)):
        place_of = np.full(beyond + 1, -1, dtype=np.intp)
        place_of[keys] = np.arange(len(keys))
        places = place_of[np.minimum(sought, np.int64(beyond))]
        return places, places >= 0
    places = np.minimum(np.searchsorted(keys, sought), len(keys) - 1)
    return places, np.equal(keys[places], sought)


def match(one: CodeArray, other: CodeArray) -> tuple[IndexArray, IndexArray]:
    """Return all pairs of positions with equal keys, grouped by the first one in order: arrays of equal length."""
    order = np.argsort(other, kind="stable")
    low, counts = _matches(one, other[order])
    left_index = np.repeat(np.arange(len(one)), counts)
    within = np.arange(len(left_index)) - np.repeat(np.cumsum(counts) - counts, counts)
    return left_index, order[np.repeat(low, counts) + within]


def match_size(one: CodeArray, other: CodeArray) -> int:
    """Return the number of pairs that `match` would return."""
    return int(_matches(one, np.sort(other))[1].sum())


def _matches(keys: CodeArray, ordered: CodeArray) -> tuple[IndexArray, IndexArray]:
    """Return where each key begins among ascending ones, and how often it occurs there."""
    low = np.searchsorted(ordered, keys, side="left")
    return low, np.searchsorted(ordered, keys, side="right") - low


@frozen(eq=False)
class Cells:
    """Cells of a margin, in any order, with a number each: rows, expected rows or weights.

    codes: for each of `attributes`, in the domain's order, the codes at the margin's level, in range, shape (cells,).
    counts: shape (cells,), or (cells, n) for n numbers each; stored as a read-only view. Raises DomainMismatchError
    for codes of another length, and for a number that is negative, infinite or nan.

    Cells have an algebra. `rolled_up` sums over attributes, `*` (`join`) multiplies cells that agree, `/` divides by
    coarser cells, `refined` spreads over finer values, `[]` selects.

    >>> from models.tables.hierarchy import Hierarchy
    >>> domain = Domain.of({"sex": Hierarchy.flat(["f", "m"]), "smoker": Hierarchy.flat(["no", "yes"])})
    >>> both = Cells.of(domain, {"sex": 0, "smoker": 0}, {"sex": np.array([0, 1]), "smoker": np.array([0, 0])}, [6, 2])
    >>> both.rolled_up({"smoker": 0}).counts.tolist()
    [8]
    """

    domain: Domain
    margin: Mapping[str, int]
    codes: tuple[CodeArray, ...]
    counts: NDArray[Any]

    def __post_init__(self) -> None:
        if len(self.codes) != len(self.attributes):
            raise DomainMismatchError(f"{len(self.attributes)} attributes came with {len(self.codes)} code columns")
        for attribute, column in zip(self.attributes, self.codes):
            if column.shape != self.counts.shape[:1]:
                raise DomainMismatchError(f"the codes of {attribute!r} and the counts differ in length")
        if not (self.counts.min(initial=0) >= 0 and self.counts.max(initial=0) < np.inf):  # nan is neither
            raise DomainMismatchError("counts of cells must be numbers, none negative")
        object.__setattr__(self, "counts", read_only(self.counts))

    @classmethod
    def of(
        cls,
        domain: Domain,
        margin: Mapping[str, int],
        codes: Mapping[str, CodeArray],
        counts: npt.ArrayLike | None = None,
    ) -> Self:
        """Return cells by the codes of each attribute of the margin. counts: by default 1 each.

        Raises DomainMismatchError for an attribute without codes, or if the numbers of codes differ.
        """
        attributes = sorted(margin, key=domain.index)
        for attribute in attributes:
            if attribute not in codes:
                raise DomainMismatchError(f"there are no codes of {attribute!r}")
        columns = tuple(codes[attribute] for attribute in attributes)
        return cls(domain, margin, columns, np.ones(len(columns[0])) if counts is None else np.asarray(counts))

    @classmethod
    def _unchecked(cls, **fields: Any) -> Self:
        """Build cells from fields that the constructor would accept; it would go through all cells again."""
        cells = object.__new__(cls)
        vars(cells).update(fields)
        return cells

    def __len__(self) -> int:
        return len(self.counts)

    @cached_property
    def attributes(self) -> tuple[str, ...]:
        """Attributes of the margin in the domain's order."""
        return tuple(sorted(self.margin, key=self.domain.index))

    def column(self, attribute: str, level: int | None = None) -> CodeArray:
        """Return the codes of one attribute, at a level not below the margin's: shape (cells,)."""
        codes, margin_level = self.codes[self.attributes.index(attribute)], self.margin[attribute]
        if level is None or level == margin_level:
            return codes
        return self.domain.hierarchy(attribute).lift(margin_level, level)[codes]

    def columns(self, margin: Mapping[str, int]) -> tuple[list[CodeArray], list[int]]:
        """Return the columns of a margin in the domain's order, and the sizes of their levels.

        Raises DomainMismatchError if the margin is not coarser.
        """
        self._require(margin)
        attributes = sorted(margin, key=self.domain.index)
        radices = [self.domain.hierarchy(attribute).size(margin[attribute]) for attribute in attributes]
        return [self.column(attribute, margin[attribute]) for attribute in attributes], radices

    def _require(self, margin: Mapping[str, int]) -> None:
        """Raise DomainMismatchError unless a margin is coarser."""
        for attribute in sorted(margin, key=self.domain.index):
            if self.margin.get(attribute, np.inf) > (level := margin[attribute]):
                raise DomainMismatchError(f"the margin {self.margin} does not show {attribute!r} at level {level}")

    def labels(self, cell: int) -> dict[str, str]:
        """Return the published labels of one cell."""
        return {
            attribute: self.domain.hierarchy(attribute).labels[self.margin[attribute]][int(codes[cell])]
            for attribute, codes in zip(self.attributes, self.codes)
        }

    def look_up(self, coarse: "Cells") -> tuple[IndexArray, BoolArray]:
        """Return for each cell the place of the coarser cell around it. coarse: distinct and ascending."""
        columns, radices = self.columns(coarse.margin)
        return look_up(*shared_keys(columns, list(coarse.codes), radices, (len(self), len(coarse))))

    def positions_in(self, coarse: "Cells") -> IndexArray:
        """Return the place of the coarser cell of each cell, as `look_up`. Raises ContradictionError if one is missing."""
        places, is_present = self.look_up(coarse)
        if not is_present.all():
            raise ContradictionError(f"the marginals {self.margin} and {coarse.margin} disagree on an empty cell")
        return places

    def counts_in(self, cells: "Cells") -> NDArray[Any]:
        """Return the number of the cell here around each of some finer cells, 0 if there is none.

        The cells here must be distinct and ascend.
        """
        places, is_present = cells.look_up(self)
        counts = np.zeros((len(cells), *self.counts.shape[1:]), dtype=self.counts.dtype)
        counts[is_present] = self.counts[places[is_present]]
        return counts

    def dense(self, order: Collection[str] | None = None) -> NDArray[Any]:
        """Return the numbers of all cells, 0 for absent ones: an axis for each attribute, by default in their own order."""
        names = tuple(self.attributes if order is None else order)
        numbers = np.zeros([self.domain.hierarchy(a).size(self.margin[a]) for a in names], dtype=self.counts.dtype)
        numbers[tuple(map(self.column, names))] = self.counts
        return numbers

    def __getitem__(self, cells: BoolArray | IndexArray) -> "Cells":
        return Cells(self.domain, self.margin, tuple(column[cells] for column in self.codes), self.counts[cells])

    def with_counts(self, counts: NDArray[Any]) -> "Cells":
        """Return the same cells with other numbers."""
        return Cells(self.domain, self.margin, self.codes, counts)

    def rolled_up(self, margin: Mapping[str, int]) -> "Cells":
        """Return the coarser cells in ascending order: attributes dropped, values generalized, numbers summed."""
        columns, radices = self.columns(margin)
        first, numbers = group(*pack(columns, radices, len(self)))
        if self.counts.ndim == 1:
            sums = np.bincount(numbers, self.counts, minlength=len(first)).astype(self.counts.dtype, copy=False)
        else:
            order = np.argsort(numbers, kind="stable")
            sums = np.add.reduceat(self.counts[order], np.flatnonzero(np.diff(numbers[order], prepend=-1)), axis=0)
        return Cells(self.domain, Margin(margin), tuple(column[first] for column in columns), sums)

    def join(self, other: "Cells", most: float = np.inf) -> "Cells":
        """Return the cells that agree on common attributes, at the finer level of each attribute; numbers are
        multiplied.

        Raises TooManyCellsError for more than `most` cells.
        """
        shared = {a: max(level, other.margin[a]) for a, level in self.margin.items() if a in other.margin}
        columns, radices = self.columns(shared)
        keys = shared_keys(columns, other.columns(shared)[0], radices, (len(self), len(other)))
        if most < np.inf and match_size(*keys) > most:
            raise TooManyCellsError(f"the published cells that may be occupied are more than {most}")
        first, second = match(*keys)
        levels, codes = dict(other.margin), {a: column[second] for a, column in zip(other.attributes, other.codes)}
        for attribute, column in zip(self.attributes, self.codes):
            if self.margin[attribute] <= levels.get(attribute, self.margin[attribute]):
                levels[attribute], codes[attribute] = self.margin[attribute], column[first]
        return Cells.of(self.domain, Margin(levels), codes, self.counts[first] * other.counts[second])

    def __mul__(self, other: "Cells") -> "Cells":
        return self.join(other)

    def __truediv__(self, other: "Cells") -> "Cells":
        """Return the cells with each number divided by that of the coarser cell around it; 0 / 0 is 0."""
        divisors = other.counts_in(self)
        return self.with_counts(np.divide(self.counts, divisors, out=np.zeros(len(self)), where=divisors > 0))

    def refined(self, attribute: str, level: int) -> "Cells":
        """Return the cells with an attribute at a finer level: each value gets the share of its base values."""
        hierarchy = self.domain.hierarchy(attribute)
        margin_level = self.margin.get(attribute, hierarchy.height)
        if margin_level <= level:
            return self
        parents = hierarchy.lift(level, margin_level)
        share = hierarchy.leaf_counts(level) / hierarchy.leaf_counts(margin_level)[parents]
        return self * Cells(self.domain, {attribute: level}, (np.arange(len(parents)),), share)


def entropy(counts: CountArray | FloatArray) -> float:
    """Return the entropy in nats of the distribution with these counts of rows; 0 if there are no rows."""
    total = counts.sum()
    if total == 0:
        return 0.0
    return float(np.log(total) - x_log_x(counts).sum() / total)


@frozen(eq=False)
class ContingencyTable(Cells):
    """Nonempty cells of a margin with their counts of rows. Arrays are copied in.

    domain, margin: attributes with their hierarchies, and the levels of the cells. codes: for each attribute in the
    domain's order, shape (cells,). Cells are distinct and ascend lexicographically. counts: positive whole numbers,
    shape (cells,). Raises DomainMismatchError if cells or counts are not so; `from_cells` takes cells in any order.

    >>> from models.tables.hierarchy import Hierarchy
    >>> domain = Domain.of({"sex": Hierarchy.flat(["f", "m"]), "smoker": Hierarchy.flat(["no", "yes"])})
    >>> codes = {"sex": np.array([0, 1, 1]), "smoker": np.array([0, 0, 1])}
    >>> table = ContingencyTable.from_cells(domain, {"sex": 0, "smoker": 0}, codes, [12, 7, 5])
    >>> list(table.rolled_up({"sex": 0}).cells())
    [(('f',), 12), (('m',), 12)]
    """

    margin: Margin
    counts: CountArray

    def __post_init__(self) -> None:
        if len(self.codes) != len(self.margin):
            raise DomainMismatchError(f"{len(self.margin)} attributes came with {len(self.codes)} code columns")
        table = self.from_cells(self.domain, self.margin, dict(zip(self.attributes, self.codes)), self.counts)
        if not np.all(self.counts):
            raise DomainMismatchError("a cell has no rows; ContingencyTable.from_cells leaves such cells out")
        if not all(map(np.array_equal, (*table.codes, table.counts), (*self.codes, self.counts))):
            raise DomainMismatchError(
                "cells must be distinct and ascend; ContingencyTable.from_cells puts them in order"
            )
        vars(self).update(margin=table.margin, codes=table.codes, counts=table.counts)

    @classmethod
    def _tallied(
        cls, domain: Domain, mask: Mask, columns: Sequence[CodeArray], radices: Sequence[int], weights: CountArray
    ) -> "ContingencyTable":
        """Count rows with positive weights, by their codes at the levels of a mask."""
        distinct, counts = tallied(columns, radices, weights)
        codes, margin = tuple(map(read_only, distinct)), domain.margin(mask)
        return cls._unchecked(domain=domain, margin=margin, mask=mask, codes=codes, counts=read_only(counts))

    @classmethod
    def from_cells(
        cls, domain: Domain, margin: Mapping[str, int], codes: Mapping[str, CodeArray], counts: npt.ArrayLike
    ) -> "ContingencyTable":
        """Build a table from cells in any order; repeated cells are summed, and empty ones are dropped.

        codes: for each attribute of the margin the codes at its level, shape (n,). counts: shape (n,), nonnegative.
        Raises DomainMismatchError for codes or counts that are missing, out of range or no whole numbers.
        """
        mask = domain.mask(margin)
        levels = domain.margin(mask)
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
        return cls._tallied(domain, mask, columns, radices, counts)

    @cached_property
    def mask(self) -> Mask:
        """Induced attributes of the margin."""
        return self.domain.mask(self.margin)

    @cached_property
    def total(self) -> int:
        """Number of rows."""
        return int(self.counts.sum())

    @cached_property
    def entropy(self) -> float:
        """Entropy of the empirical distribution over the cells, in nats."""
        return entropy(self.counts)

    def __repr__(self) -> str:
        return f"ContingencyTable({self.margin}; {len(self)} cells, {self.total} rows)"

    @cached_property
    def _lifted(self) -> dict[Mask, tuple[CodeArray, int]]:
        return {}

    def _columns_at(self, mask: Mask) -> tuple[list[CodeArray], list[int]]:
        """Return `columns` of a valid mask that is no finer than this table; columns are cached."""
        parts = [held for part in self.domain.attribute_masks if (held := mask & part)]
        for part in parts:
            if part not in self._lifted:
                ((attribute, level),) = self.domain.margin(part).items()
                self._lifted[part] = self.column(attribute, level), self.domain.cell_count(part)
        return [self._lifted[part][0] for part in parts], [self._lifted[part][1] for part in parts]

    def counts_at(self, mask: Mask) -> CountArray:
        """Return the counts of the nonempty cells of a coarser margin, without the cells."""
        return tally(*pack(*self._columns_at(mask), len(self)), self.counts)[1]

    def rolled_up(self, margin: Mapping[str, int]) -> "ContingencyTable":
        """Return the coarser table: attributes dropped, values generalized, counts summed."""
        mask = self.domain.mask(margin)
        self._require(self.domain.margin(mask))
        return self.rolled_up_to(mask)

    def rolled_up_to(self, mask: Mask) -> "ContingencyTable":
        """Return the coarser table of a valid mask, which is no finer than this table."""
        return self._tallied(self.domain, mask, *self._columns_at(mask), self.counts)

    def counts_of(self, codes: Mapping[str, CodeArray]) -> CountArray:
        """Return the counts of arbitrary cells, 0 for absent ones. codes: for each attribute, shape (n,)."""
        ones = np.ones(len(next(iter(codes.values()), [0])))
        return self.counts_in(Cells.of(self.domain, self.margin, codes, ones))

    def cells(self) -> Iterator[tuple[tuple[str, ...], int]]:
        """Yield labels and count of each cell, in order."""
        names = [self.domain.hierarchy(attribute).labels[self.margin[attribute]] for attribute in self.attributes]
        for cell, count in enumerate(self.counts.tolist()):
            yield tuple(labels[int(codes[cell])] for labels, codes in zip(names, self.codes)), count


def equal_cells(tables: Sequence[ContingencyTable]) -> bool:
    """Return whether tables of one margin have the same cells and counts.

    Parameters
    ----------
    tables
        Tables of the same domain and margin.
    """
    one, *others = [(*table.codes, table.counts) for table in tables]
    return all(all(map(np.array_equal, one, other)) for other in others)
