"""The entropies of all pairs of attributes at once, as one matrix product of indicators."""

import numpy as np
import numpy.typing as npt
from scipy.special import xlogy

from models.arrays import CodeArray, CountArray, FloatArray

_EXACT = 2**24
"""Float32 adds whole numbers exactly below this."""

_BLOCK = 1 << 14
"""Rows that are laid out as indicators at a time."""


def pair_entropies(columns: list[CodeArray], sizes: list[int], counts: CountArray) -> FloatArray:
    """Entropies in nats of each two columns together, shape (columns, columns).

    columns: codes of shape (n,), below the size of each. counts: shape (n,), the rows of each cell. Takes
    n * sum(sizes)^2 products, so it pays for many columns of few values.
    """
    starts = np.concatenate(([0], np.cumsum(sizes)))
    tables: npt.NDArray[np.float64] = np.zeros((starts[-1], starts[-1]))
    for begin in range(0, len(counts), _BLOCK):
        block = slice(begin, begin + _BLOCK)
        weights = counts[block]
        dtype = np.float32 if weights.sum() < _EXACT else np.float64
        indicators = np.zeros((len(weights), starts[-1]), dtype=dtype)
        for start, column in zip(starts, columns):
            indicators[np.arange(len(weights)), start + column[block].astype(np.intp)] = 1
        weighted = indicators if (weights == 1).all() else indicators * weights[:, None].astype(dtype)
        tables += indicators.T @ weighted
    total = max(int(counts.sum()), 1)
    sums = np.add.reduceat(np.add.reduceat(xlogy(tables, tables), starts[:-1], axis=0), starts[:-1], axis=1)
    return np.asarray(np.log(total) - sums / total)
