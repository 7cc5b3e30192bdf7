"""The entropies of all pairs of columns at once, by bit sets: a value's rows as bits, two values together as their AND."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from models.arrays import CodeArray, FloatArray
from models.x_log_x import x_log_x

_WORD = 64


def pair_entropies(columns: Sequence[CodeArray], sizes: Sequence[int], length: int) -> FloatArray:
    """Entropies in nats of each two columns together, shape (columns, columns).

    columns: codes of shape (length,), below the size of each; every row counts once. Takes length / 64 * sum(sizes)^2 / 2
    operations, so it pays for many columns of few values.
    """
    starts = np.concatenate(([0], np.cumsum(sizes)))
    values = _bit_sets(columns, starts, length)
    together: npt.NDArray[np.float64] = np.zeros((starts[-1], starts[-1]))
    for i, rows in enumerate(values):
        together[i, i:] = np.bitwise_count(rows & values[i:]).sum(axis=1, dtype=np.uint32)
    together += np.triu(together, 1).T
    sums = np.add.reduceat(np.add.reduceat(x_log_x(together), starts[:-1], axis=0), starts[:-1], axis=1)
    return np.asarray(np.log(max(length, 1)) - sums / max(length, 1))


def _bit_sets(columns: Sequence[CodeArray], starts: npt.NDArray[np.int64], length: int) -> npt.NDArray[np.uint64]:
    """For each value of each column the rows that hold it, one bit each: shape (values, words)."""
    padded = -(-length // _WORD) * _WORD
    sets = np.empty((starts[-1], padded // _WORD), dtype=np.uint64)
    for start, end, column in zip(starts, starts[1:], columns):
        holds = np.zeros((end - start, padded), dtype=np.bool_)
        holds[:, :length] = column == np.arange(end - start)[:, None]
        sets[start:end] = np.packbits(holds, axis=1).view(np.uint64)
    return sets
