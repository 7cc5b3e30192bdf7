"""Iterative proportional fitting: weights are scaled until they add up to published counts, one table after the other.

Among weights with these counts the limit has the least KL divergence from the first weights (Deming and Stephan 1940;
Csiszar 1975).
"""

from collections.abc import Callable, Sequence
from string import ascii_letters

import numpy as np

from models.arrays import FloatArray, IndexArray
from models.deadline import NEVER, Deadline
from models.frozen import frozen

_LEAST = 1e-280
"""Added to a divisor that may be 0; too small to change another sum."""


@frozen(eq=False)
class Sums:
    """Sums of weights: along some axes first, then of the entries that have the same place.

    places: from 0 to size - 1, for each entry left after summing along the axes, in C order; None if each is a sum.
    """

    size: int
    places: IndexArray | None = None
    axes: tuple[int, ...] = ()

    def of(self, weights: FloatArray) -> FloatArray:
        """Return the sums, shape (size,)."""
        axes = ascii_letters[: weights.ndim]
        remaining = "".join(letter for axis, letter in enumerate(axes) if axis not in self.axes)
        # `einsum` sums up to seven times as fast as `sum` over the same axes, and in one thread.
        entries = np.einsum(f"{axes}->{remaining}", weights).reshape(-1) if self.axes else weights.reshape(-1)
        sums = entries if self.places is None else np.bincount(self.places, entries, self.size)
        return np.asarray(sums, dtype=np.float64)

    def scale(self, weights: FloatArray, factors: FloatArray) -> None:
        """Multiply each weight, in its place, by the factor of its sum. factors: shape (size,)."""
        entries = factors if self.places is None else factors.take(self.places)
        shape = [1 if axis in self.axes else length for axis, length in enumerate(weights.shape)]
        np.multiply(weights, entries.reshape(shape), out=weights)


def largest_share(sums: FloatArray, counts: FloatArray) -> float:
    """Return the largest misfit, as a share of the count, among counts above 0; infinite if weights overflow."""
    share = np.abs(np.divide(sums, counts, out=np.ones_like(sums), where=counts > 0) - 1).max(initial=0.0)
    return float(share) if share < np.inf else np.inf


def missed_rows(sums: FloatArray, counts: FloatArray) -> float:
    """Return the sum of the absolute misfits."""
    return float(np.abs(sums - counts).sum())


Target = tuple[Sums, FloatArray]
"""Sums of weights, and the counts that they must equal."""


def fit(
    weights: FloatArray,
    targets: Sequence[Target],
    sweeps: int,
    enough: float = 0.0,
    misfit: Callable[[FloatArray, FloatArray], float] = largest_share,
    deadline: Deadline = NEVER,
) -> float:
    """Scale weights, in place, to each target in turn; return the largest misfit met in the last sweep.

    A weight of 0 stays 0. Fitting ends after `sweeps`, or once no misfit is above `enough`. Raises TimeOverError when
    the deadline comes. Its parameters are the equations and the conditions that end it.
    """
    largest = np.inf
    for _ in range(sweeps):
        deadline.check()
        largest = 0.0
        for sums, counts in targets:
            present = sums.of(weights)
            largest = max(largest, misfit(present, counts))
            sums.scale(weights, counts / (present + _LEAST))
        if largest <= enough:
            break
    return largest
