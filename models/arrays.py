"""Arrays of codes and counts: their types, what they must be, and the entropy terms of counts."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from models.errors import DomainMismatchError

CodeArray: TypeAlias = NDArray[np.integer[Any]]
"""Codes of values, 0-based, any integer dtype."""

CountArray: TypeAlias = NDArray[np.int64]
"""Counts of rows."""

FloatArray: TypeAlias = NDArray[np.float64]
BoolArray: TypeAlias = NDArray[np.bool_]
IndexArray: TypeAlias = NDArray[np.intp]


def smallest_code_dtype(size: int) -> np.dtype[Any]:
    """Return the smallest unsigned dtype that holds the codes 0 .. size - 1."""
    return np.min_scalar_type(max(size - 1, 0))


def read_only_copy(array: NDArray[Any], dtype: npt.DTypeLike | None = None) -> NDArray[Any]:
    """Return a read-only copy, converted to `dtype` if one is given."""
    return read_only(np.array(array, dtype=dtype))


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view; the array itself stays writable."""
    view = array.view()
    view.setflags(write=False)
    return view


_MOST_ROWS = 2**53
"""Sums of fewer rows are exact, even if they are added up as floats."""


def whole_counts(values: npt.ArrayLike) -> CountArray:
    """Return counts of rows, shape (cells,), as int64; copies only if the dtype differs.

    Raises DomainMismatchError unless the counts are nonnegative whole numbers in one dimension whose sum is below
    2^53.
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
    """Return codes of an attribute with `size` values, shape (cells,); copies only if the dtype is no integer."""
    codes = whole_numbers(values, f"the codes of {attribute!r}")
    if codes.ndim != 1:
        raise DomainMismatchError(f"the codes of {attribute!r} need one dimension, got the shape {codes.shape}")
    if len(codes) and not 0 <= int(codes.min()) <= int(codes.max()) < size:
        raise DomainMismatchError(f"the codes of {attribute!r} must lie in 0 .. {size - 1}")
    return codes


def whole_numbers(values: npt.ArrayLike, what: str) -> npt.NDArray[Any]:
    """Return values as an array of an integer dtype; copies only if they are of another one.

    Raises DomainMismatchError with the first value that is no whole number or does not fit into int64.
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


def effective_values(vectors: FloatArray) -> FloatArray:
    """Return the effective number of values, exp(entropy), of each row: shape (classes,)."""
    shares = vectors / vectors.sum(axis=1, keepdims=True)
    return np.asarray(np.exp(-x_log_x(shares).sum(axis=1)), dtype=np.float64)


def effective_values_of_products(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return `effective_values` of each product of a row of `first` and one of `second`: shape (first, second).

    Infinite if the product is 0. With v = a b the sum of v ln v is that of (a ln a) b + a (b ln b).
    """
    totals = first @ second.T
    logs = x_log_x(first) @ second.T
    logs += first @ x_log_x(second).T
    with np.errstate(divide="ignore", invalid="ignore"):
        logs /= totals
        effective: FloatArray = np.log(totals)
        effective -= logs
        np.exp(effective, out=effective)
    if not totals.all():
        effective[totals <= 0] = np.inf
    return effective


def grouped(keys: CodeArray, factor: int = 1) -> IndexArray:
    """Return an order in which equal keys stand together, in their original order or shuffled by an odd factor.

    Numbers are sorted faster than places. If the keys are too large to carry their places, they are hashed; then
    different keys may be mixed, which is rare.
    """
    bits = max(len(keys) - 1, 1).bit_length()
    size = 1 << bits
    wide = keys.astype(np.uint64)
    if int(keys.max(initial=0)).bit_length() + bits > 64:
        wide *= np.uint64(0x9E3779B97F4A7C15)  # an odd factor keeps different keys different
        wide >>= np.uint64(bits)
    wide <<= np.uint64(bits)
    # An odd factor maps the places below a power of two one to one.
    wide |= np.arange(len(keys), dtype=np.uint64) * np.uint64(factor % size) & np.uint64(size - 1)
    wide.sort()
    return (wide * np.uint64(pow(factor, -1, size)) & np.uint64(size - 1)).astype(np.intp)


def begins_of(ordered: CodeArray) -> IndexArray:
    """Return for each key the place where its run of equal keys begins."""
    places = np.arange(len(ordered))
    places[1:][ordered[1:] == ordered[:-1]] = 0
    return np.asarray(np.maximum.accumulate(places))


def x_log_x(values: npt.ArrayLike) -> FloatArray:
    """Return x ln x of each value, with 0 for 0, in the same shape; NaN below 0.

    This is `scipy.special.xlogy(x, x)` without the import of SciPy, which takes longer than most queries.
    """
    x = np.asarray(values, dtype=np.float64)
    return np.asarray(x * np.log(np.where(x == 0, 1.0, x)))
