"""Whether codes and counts are what they must be: whole numbers within their range."""

from typing import Any

import numpy as np
import numpy.typing as npt

from models.arrays import CodeArray, CountArray
from models.errors import DomainMismatchError

_MOST_ROWS = 2**53
"""Sums of fewer rows are exact, also where they are added up as floats."""


def whole_counts(values: npt.ArrayLike) -> CountArray:
    """Counts of rows, one for each cell, as int64; not copied where they are that already.

    Raises DomainMismatchError unless they are whole numbers in one dimension, none negative, that add up to less than 2^53.

    >>> whole_counts([3, 0, 2.0]).tolist()
    [3, 0, 2]
    """
    counts = whole_numbers(values, "counts").astype(np.int64, copy=False)
    if counts.ndim != 1:
        raise DomainMismatchError(f"counts need one dimension, got the shape {counts.shape}")
    if len(counts) and counts.min() < 0:
        raise DomainMismatchError(f"counts must not be negative, got {counts.min()}")
    if counts.sum(dtype=np.float64) >= _MOST_ROWS:
        raise DomainMismatchError("counts must add up to less than 2^53, beyond which sums are not exact")
    return counts


def value_codes(values: npt.ArrayLike, attribute: str, size: int) -> CodeArray:
    """Codes of an attribute with `size` values, one for each cell; not copied where they have an integer dtype.

    Raises DomainMismatchError unless they are whole numbers in 0 .. size - 1, in one dimension.

    >>> value_codes([1, 0], "sex", 2)
    array([1, 0])
    """
    codes = whole_numbers(values, f"the codes of {attribute!r}")
    if codes.ndim != 1:
        raise DomainMismatchError(f"the codes of {attribute!r} need one dimension, got the shape {codes.shape}")
    if len(codes) and not 0 <= int(codes.min()) <= int(codes.max()) < size:
        raise DomainMismatchError(f"the codes of {attribute!r} must lie in 0 .. {size - 1}")
    return codes


def whole_numbers(values: npt.ArrayLike, what: str) -> npt.NDArray[Any]:
    """Values as an array of an integer dtype, not copied where they are one already.

    Raises DomainMismatchError, naming the first that is no whole number, or none that int64 holds.
    """
    array = np.asarray(values)
    if array.dtype.kind in "iu" and array.dtype != np.uint64:
        return array
    for value in [] if array.dtype.kind == "f" else array.ravel().tolist():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise DomainMismatchError(f"{what} must be whole numbers, got {type(value).__name__}")
    numbers = array.astype(np.float64)
    wrong = ~((numbers == np.floor(numbers)) & (np.abs(numbers) < 2.0**63))
    if wrong.any():
        raise DomainMismatchError(f"{what} must be whole numbers, got {numbers[wrong][0]:g}")
    return array.astype(np.int64)
