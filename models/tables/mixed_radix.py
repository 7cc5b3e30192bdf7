"""Mixed-radix packing: the codes of a cell as one integer, so that counting is a bincount or a sort."""

from collections.abc import Sequence
from math import prod

import numpy as np

from models.arrays import CodeArray, CountArray, IndexArray, smallest_code_dtype

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
