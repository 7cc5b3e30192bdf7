"""Operations on arrays that stay in their places, prepared once and done again and again.

A sweep of a fit does the same to the same arrays as the one before. With few cells most of its time would go into finding
out what that is, so that each view, axis and buffer is looked for once, and scripts tell what is done with them.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from models.arrays import FloatArray, IndexArray

Script: TypeAlias = list[tuple[Callable[..., object], tuple[Any, ...]]]
"""Functions with their arguments, into one of which each writes; to be called in this order.

What adds to a script returns the array that holds what it should once the script is done, each time.
"""

_LEAST = np.array(1e-280)
"""Is added to what is divided by, which is 0 where all beliefs are: too little to change another sum, and enough for rows
divided by it to stay finite. An array, which operations take sooner than a number.
"""
_ONE = np.ones(())


class Buffers(dict[tuple[int, int | tuple[int, ...]], FloatArray]):
    """Arrays by the place in a script at which they are written first, and by their shape; other scripts write there too."""

    def __missing__(self, key: tuple[int, int | tuple[int, ...]]) -> FloatArray:
        return self.setdefault(key, np.empty(key[1]))


def do(script: Script) -> None:
    """Do the operations of a script in their order."""
    for operation, arguments in script:
        operation(*arguments)


def reshaped(array: FloatArray, shape: int | tuple[int, ...], script: Script, buffers: Buffers) -> FloatArray:
    """An array in another shape, in C order: a view where there is one, else a copy."""
    other = array.reshape(shape)
    if array.flags.c_contiguous or np.may_share_memory(other, array):
        return other
    copied = buffers[len(script), array.shape]
    script.append((np.copyto, (copied, array)))
    return copied.reshape(shape)


def gathered(numbers: FloatArray, places: IndexArray, size: int, script: Script, buffers: Buffers) -> FloatArray:
    """Numbers in an array with one axis, added up by their places among so many."""
    sums = buffers[len(script), size]
    script.append((_gather, (places, numbers, sums)))
    return sums


def spread(factors: FloatArray, places: IndexArray, script: Script, buffers: Buffers) -> FloatArray:
    """For each of some places the factor there."""
    taken = buffers[-1, len(places)]  # the same for all scripts: nothing else is needed when it is
    script.append((factors.take, (places, None, taken, "clip")))
    return taken


def divided(dividend: FloatArray, divisor: FloatArray, script: Script) -> FloatArray:
    """Each number by another, none negative; some finite number where that is 0."""
    quotient = np.empty(len(divisor))
    script += [(np.add, (divisor, _LEAST, quotient)), (np.divide, (dividend, quotient, quotient))]
    return quotient


def reciprocals(numbers: FloatArray, size: int, script: Script) -> FloatArray:
    """1 by each number, none negative; then zeros, so that they are so many."""
    quotients = np.zeros(size)
    own = quotients[: len(numbers)]
    script += [(np.add, (numbers, _LEAST, own)), (np.divide, (_ONE, own, own))]
    return quotients


def _gather(places: IndexArray, numbers: FloatArray, sums: FloatArray) -> None:
    sums[...] = np.bincount(places, numbers, minlength=len(sums))
