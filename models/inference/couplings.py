"""Couplings: how many rows two tables that agree on a separator put into a cell of their join.

Only the separator says which row of one table is which row of the other. In the maximum-entropy distribution they meet
in proportion; the most and the least of them that can meet are Frechet's bounds, separator cell by separator cell.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from models.arrays import FloatArray, IndexArray
from models.tables.mixed_radix import group, pack

_BLOCK = 1 << 20
"""Entries of what is laid out at a time."""


class Message(NamedTuple):
    """What lies beyond a separator.

    counts: rows by separator cell and by what is asked beyond it, shape (separator cells, asked). rows: shape
    (separator cells,). positions: the separator cell of each cell of the clique before it.
    """

    counts: FloatArray
    rows: FloatArray
    positions: IndexArray


class Coupling(Protocol):
    """A way to join two tables that agree on a separator."""

    def meet(self, left: FloatArray, right: FloatArray, rows: FloatArray) -> FloatArray:
        """Sum over a separator: shape (separator cells, n) and (separator cells, m) to (n, m)."""
        ...

    def through(self, counts: FloatArray, keys: IndexArray, size: int, messages: Sequence[Message]) -> FloatArray:
        """Rows of a clique by key and by all that is asked in messages: shape (size, asked of all messages).

        counts, keys: one for each cell of the clique, keys below `size`.
        """
        ...


class Independent:
    """Rows meet in proportion: the maximum-entropy distribution."""

    def meet(self, left: FloatArray, right: FloatArray, rows: FloatArray) -> FloatArray:
        """Sum over a separator of left * right / rows, a matrix product."""
        return np.asarray((left / np.where(rows > 0, rows, 1)[:, None]).T @ right)

    def through(self, counts: FloatArray, keys: IndexArray, size: int, messages: Sequence[Message]) -> FloatArray:
        """Rows by key and messages; with one message again a matrix product."""
        if not messages:
            return np.asarray(np.bincount(keys, counts, minlength=size).reshape(size, 1), dtype=np.float64)
        shares = [m._replace(counts=m.counts / np.where(m.rows > 0, m.rows, 1)[:, None]) for m in messages]
        if len(messages) > 1:
            return _by_key(_products, counts, keys, size, shares)
        beyond, places = shares[0].counts, shares[0].positions
        cells = len(beyond)
        if size * cells <= _BLOCK:
            return np.asarray(np.bincount(keys * cells + places, counts, size * cells).reshape(size, cells) @ beyond)
        from scipy.sparse import csr_array  # slow to import, and few need it

        return np.asarray(csr_array((counts, (keys, places)), shape=(size, cells)) @ beyond)


class FrechetUpper:
    """As many rows meet as can, in each separator cell."""

    def meet(self, left: FloatArray, right: FloatArray, rows: FloatArray) -> FloatArray:
        """Sum over a separator of min(left, right)."""
        return _meet(lambda one, other, _: np.minimum(one, other), left, right, rows)

    def through(self, counts: FloatArray, keys: IndexArray, size: int, messages: Sequence[Message]) -> FloatArray:
        """Rows by key and messages; cells that no message tells apart count as one."""
        return _by_key(_least, *_merged(counts, keys, size, messages))


class FrechetLower:
    """As few rows meet as must, in each separator cell."""

    def meet(self, left: FloatArray, right: FloatArray, rows: FloatArray) -> FloatArray:
        """Sum over a separator of max(left + right - rows, 0)."""
        return _meet(lambda one, other, all_: np.maximum(one + other - all_, 0), left, right, rows)

    def through(self, counts: FloatArray, keys: IndexArray, size: int, messages: Sequence[Message]) -> FloatArray:
        """Rows by key and messages; cells that no message tells apart count as one."""
        return _by_key(_overlap, *_merged(counts, keys, size, messages))


class _Elementwise(Protocol):
    def __call__(self, left: FloatArray, right: FloatArray, rows: FloatArray, /) -> FloatArray: ...


class _Join(Protocol):
    def __call__(self, counts: FloatArray, messages: Sequence[Message], /) -> FloatArray: ...


def _meet(combine: _Elementwise, left: FloatArray, right: FloatArray, rows: FloatArray) -> FloatArray:
    met = np.zeros((left.shape[1], right.shape[1]))
    step = max(_BLOCK // max(met.size, 1), 1)
    for start in range(0, len(rows), step):
        block = slice(start, start + step)
        met += combine(left[block, :, None], right[block, None, :], rows[block, None, None]).sum(axis=0)
    return met


def _merged(
    counts: FloatArray, keys: IndexArray, size: int, messages: Sequence[Message]
) -> tuple[FloatArray, IndexArray, int, list[Message]]:
    """Cells with the same key and the same separator cells counted as one."""
    columns = [keys, *(m.positions for m in messages)]
    packed, space = pack(columns, [size, *(len(m.rows) for m in messages)], len(counts))
    first, numbers = group(packed, space)
    merged = np.asarray(np.bincount(numbers, counts, minlength=len(first)), dtype=np.float64)
    return merged, keys[first], size, [m._replace(positions=m.positions[first]) for m in messages]


def _by_key(join: _Join, counts: FloatArray, keys: IndexArray, size: int, messages: Sequence[Message]) -> FloatArray:
    width = int(np.prod([m.counts.shape[1] for m in messages], dtype=np.int64))
    sums_by_key = np.zeros((size, width))
    step = max(_BLOCK // max(width, 1), 1)
    for start in range(0, len(counts), step):
        block = slice(start, start + step)
        joined = join(counts[block], [m._replace(positions=m.positions[block]) for m in messages])
        places = keys[block, None] * width + np.arange(width)
        sums_by_key += np.bincount(places.ravel(), joined.ravel(), size * width).reshape(size, width)
    return sums_by_key


def _products(counts: FloatArray, messages: Sequence[Message]) -> FloatArray:
    joined = counts[:, None]
    for message in messages:
        joined = (joined[:, :, None] * message.counts[message.positions][:, None, :]).reshape(len(counts), -1)
    return joined


def _least(counts: FloatArray, messages: Sequence[Message]) -> FloatArray:
    joined = counts[:, None]
    for message in messages:
        beyond = message.counts[message.positions][:, None, :]
        joined = np.minimum(joined[:, :, None], beyond).reshape(len(counts), -1)
    return joined


def _overlap(counts: FloatArray, messages: Sequence[Message]) -> FloatArray:
    joined = counts[:, None]
    for message in messages:
        short = (message.counts - message.rows[:, None])[message.positions][:, None, :]
        joined = (joined[:, :, None] + short).reshape(len(counts), -1)
    return np.maximum(joined, 0)
