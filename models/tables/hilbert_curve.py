"""Hilbert order: points of a grid in the order in which a Hilbert curve visits them, so that neighbours stay near."""

import numpy as np
from numpy.typing import NDArray

from models.arrays import CodeArray, IndexArray


def hilbert_words(points: CodeArray, bits: int) -> NDArray[np.int64]:
    """The position of grid points on the Hilbert curve, as digits in base 2^axes, the most significant first.

    points: shape (n, axes), each coordinate in 0 .. 2^bits - 1, at most 62 axes. Result: shape (n, bits). The method is
    that of Skilling, Programming the Hilbert curve (AIP Conf. Proc. 707, 2004), for all points at once.

    >>> corner_to_corner = np.array([[0, 0], [0, 1], [1, 1], [1, 0]])
    >>> hilbert_words(corner_to_corner, 1).ravel().tolist()
    [0, 1, 2, 3]
    """
    axes = [column.astype(np.int64) for column in points.T]
    for bit in range(bits - 1, 0, -1):
        low = (1 << bit) - 1
        for axis in axes:
            inverted = (axis >> bit & 1).astype(bool)
            exchanged = np.where(inverted, 0, (axes[0] ^ axis) & low)
            axes[0] ^= np.where(inverted, low, exchanged)
            axis ^= exchanged
    for before, axis in zip(axes, axes[1:]):
        axis ^= before
    turned = np.zeros(len(points), dtype=np.int64)
    for bit in range(bits - 1, 0, -1):
        turned ^= np.where(axes[-1] >> bit & 1, (1 << bit) - 1, 0)
    words = np.zeros((len(points), bits), dtype=np.int64)
    for axis in axes:
        for place in range(bits):
            words[:, place] = words[:, place] << 1 | (axis ^ turned) >> (bits - 1 - place) & 1
    return words


def hilbert_order(points: CodeArray) -> IndexArray:
    """The indices of grid points in Hilbert order; equal points keep their order. points: shape (n, axes), codes."""
    bits = max(int(points.max(initial=0)).bit_length(), 1)
    words = hilbert_words(points, bits)
    return np.lexsort(tuple(words.T[::-1]))
