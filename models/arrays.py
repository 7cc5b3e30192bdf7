"""Array types that the whole project shares."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

CodeArray: TypeAlias = NDArray[np.integer[Any]]
"""Codes of values, 0-based, any integer dtype."""

CountArray: TypeAlias = NDArray[np.int64]
"""Counts of rows."""

FloatArray: TypeAlias = NDArray[np.float64]
BoolArray: TypeAlias = NDArray[np.bool_]
IndexArray: TypeAlias = NDArray[np.intp]


def smallest_code_dtype(size: int) -> np.dtype[Any]:
    """The smallest unsigned dtype that holds the codes 0 .. size - 1."""
    return np.min_scalar_type(max(size - 1, 0))


def read_only_copy(array: NDArray[Any], dtype: npt.DTypeLike | None = None) -> NDArray[Any]:
    """A copy that nobody can write to, of another dtype if one is given."""
    return read_only(np.array(array, dtype=dtype))


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A view of the array that nobody can write to; the array itself stays as it is."""
    view = array.view()
    view.setflags(write=False)
    return view
