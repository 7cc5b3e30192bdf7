"""In which order disclosed rows are written: shuffled, unless somebody insists on that of the source.

Where a row stands can tell whose it is: a table that was sorted by name can be laid beside a list of names.
"""

import io
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain
from typing import IO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from marginals.errors import InputError
from models.arrays import IndexArray

_MOST_FILES = 256
"""Files that hold rows on their way, at most."""

Keys: TypeAlias = NDArray[np.uint64]


@dataclass(frozen=True)
class Shuffled:
    """An order drawn at random, each as likely as any other.

    seed: None draws from what the operating system holds for secrets, so that nobody can draw the same again. A number
    makes the order repeatable, for tests: whoever knows or guesses it can restore the order of the source. Raises
    InputError for a negative one.
    """

    seed: int | None = None

    def __post_init__(self) -> None:
        if self.seed is not None and self.seed < 0:
            raise InputError(f"the seed is a whole number from 0, not {self.seed}")


@dataclass(frozen=True)
class AsRead:
    """The order of the source."""


RowOrder: TypeAlias = Shuffled | AsRead


def positions(order: RowOrder, rows: int) -> IndexArray:
    """Which row comes first, second and so on: shape (rows,).

    >>> positions(AsRead(), 4).tolist(), positions(Shuffled(seed=1), 4).tolist()
    ([0, 1, 2, 3], [2, 0, 3, 1])
    """
    if isinstance(order, AsRead):
        return np.arange(rows)
    return np.argsort(_keys(order)(rows), kind="stable")


def in_order(
    order: RowOrder, blocks: Iterable[NDArray[np.int32]], rows: int, memory: int
) -> Iterator[NDArray[np.int32]]:
    """Rows of codes in an order, in blocks again; the same rows in the same order whatever the blocks.

    blocks: rows as they are read, each of shape (some, columns). rows: how many there are about. memory: bytes to make do
    with. What is more waits in files without a name, by the first bits of its key; every file is shuffled by itself.
    """
    if isinstance(order, AsRead):
        yield from blocks
        return
    draw, blocks = _keys(order), iter(blocks)
    first = next(blocks, None)
    if first is None:
        return
    row = np.dtype([("key", np.uint64), ("codes", np.int32, first.shape[1:])])
    # Sorting takes the rows once more, and their positions.
    count = min(_MOST_FILES, 1 + 3 * rows * row.itemsize // max(memory, 1))
    with ExitStack() as held:
        files = [held.enter_context(_waiting(count)) for _ in range(count)]
        for block in chain([first], blocks):
            keyed = np.empty(len(block), dtype=row)
            keyed["key"], keyed["codes"] = draw(len(block)), block
            parts = (keyed["key"] >> np.uint64(32)) * np.uint64(count) >> np.uint64(32)
            for number in np.unique(parts).tolist():
                files[number].write(keyed[parts == number].tobytes())
        for file in files:
            file.seek(0)
            waiting = np.frombuffer(file.read(), dtype=row)
            file.close()
            yield waiting["codes"][np.argsort(waiting["key"], kind="stable")]


def _waiting(count: int) -> IO[bytes]:
    """Where rows of one of so many parts wait: in memory if it is the only one."""
    return io.BytesIO() if count == 1 else tempfile.TemporaryFile()


def _keys(order: Shuffled) -> Callable[[int], Keys]:
    """Draws the keys of the next rows, by which they are sorted."""
    if order.seed is None:
        return lambda rows: np.frombuffer(os.urandom(8 * rows), dtype=np.uint64)
    rng = np.random.default_rng(order.seed)
    return lambda rows: rng.integers(0, 2**64, rows, dtype=np.uint64)
