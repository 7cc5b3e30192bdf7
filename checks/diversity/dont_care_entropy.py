"""Entropy l-diversity where some sensitive values may be disclosed: the don't-care set (MKGV07 Defs. 4.5, Algorithm 1).

More rows with a don't-care value are no greater risk, so their counts may be lowered before the entropy is taken. The
adjusted entropy is the largest that lowering can reach. At the optimum the smallest don't-care counts stay as they are
(they are *fixed*) and the k that are left are lowered to e^M, M the log-entropic mean of all that is fixed (Theorem
4.1). With H the entropy of the fixed counts alone, exp of the adjusted entropy is then exp(H) + k.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from checks.diversity.criterion import Diversity
from checks.diversity.exact_entropy import entropy_is_at_least
from checks.diversity.spelling import check_l, spelled
from checks.errors import CriterionError
from models.arrays import FloatArray
from models.x_log_x import x_log_x


def log_entropic_mean(counts: ArrayLike) -> float:
    """Mean of the logarithms of the counts, weighted by the counts (MKGV07 section 4.2), in nats.

    Raises CriterionError when no count is positive.

    >>> round(log_entropic_mean([3, 4]), 3)
    1.263
    """
    weights = _row(counts)
    if not weights.sum() > 0:
        raise CriterionError("a log-entropic mean needs a positive count")
    return float(x_log_x(weights).sum() / weights.sum())


def adjusted_entropy(dont_care_counts: ArrayLike, sensitive_counts: ArrayLike) -> float:
    """The largest entropy, in nats, of a class whose don't-care counts may be lowered (MKGV07 Def. 4.5, Algorithm 1).

    Raises CriterionError for a negative count, or when no count is positive.

    >>> round(adjusted_entropy([11, 10, 3, 2], [3, 4]), 3)
    1.773
    """
    dont_care, sensitive = _row(dont_care_counts), _row(sensitive_counts)
    if not (dont_care.sum() > 0 or sensitive.sum() > 0):
        raise CriterionError("an adjusted entropy needs a positive count")
    return float(adjusted_entropies(dont_care[None], sensitive[None])[0])


def adjusted_entropies(dont_care: NDArray[Any], sensitive: NDArray[Any]) -> FloatArray:
    """The adjusted entropy of each class, in nats: shape (classes,).

    dont_care, sensitive: class by value, nonnegative, in any scale, shapes (classes, values); a class has something in
    one of them. Time O(classes * values * log(values)).
    """
    return np.asarray(np.log(_effective_values(dont_care, sensitive)), dtype=np.float64)


@dataclass(frozen=True)
class DontCareEntropy(Diversity):
    """The adjusted entropy is at least ln l (MKGV07 Def. 4.5). Reached: exp of it.

    dont_care: the codes of the values that may be disclosed. A class in which everybody has one of these passes, as it
    does by Def. 4.3, and reaches infinity.
    """

    l: Fraction
    dont_care: frozenset[int]
    name: ClassVar[str] = "dont-care-entropy"

    def __post_init__(self) -> None:
        check_l("dont-care-entropy:l", self.l)

    def __str__(self) -> str:
        return f"dont-care-entropy:{spelled(self.l)}"

    def slack(self, vectors: NDArray[Any]) -> FloatArray:
        """Relative to l."""
        return self.reached(vectors) / float(self.l) - 1

    def reached(self, vectors: NDArray[Any]) -> FloatArray:
        """Effective number of equally likely values once don't-care counts are lowered."""
        free = np.isin(np.arange(vectors.shape[1]), sorted(self.dont_care))
        sensitive = vectors[:, ~free]
        return np.where(sensitive.any(axis=1), _effective_values(vectors[:, free], sensitive), np.inf)

    def decide(self, vector: Sequence[Fraction | int]) -> bool:
        """The exact verdict on one class.

        A don't-care count n is fixed iff ln n < M, which is to say that the entropy of what is fixed so far, W rows in
        all, is below ln(W / n).
        """
        fixed = [v for code, v in enumerate(vector) if v > 0 and code not in self.dont_care]
        if not fixed:
            return True
        lowered = sorted((v for code, v in enumerate(vector) if v > 0 and code in self.dont_care), reverse=True)
        while lowered and not entropy_is_at_least(fixed, Fraction(sum(fixed)) / lowered[-1]):
            fixed.append(lowered.pop())
        still_needed = self.l - len(lowered)
        return still_needed <= 1 or entropy_is_at_least(fixed, still_needed)


def _row(counts: ArrayLike) -> FloatArray:
    row = np.atleast_1d(np.asarray(counts, dtype=np.float64))
    if row.ndim != 1 or np.any(row < 0):
        raise CriterionError("counts must be one row of numbers that are not negative")
    return row


def _effective_values(dont_care: NDArray[Any], sensitive: NDArray[Any]) -> FloatArray:
    """Exp of the adjusted entropy of each class. Without sensitive rows it is the number of don't-care values."""
    limits = np.sort(np.asarray(dont_care, dtype=np.float64), axis=1)
    mass = _running(sensitive.sum(axis=1), limits)
    log_mean = _running(x_log_x(sensitive).sum(axis=1), x_log_x(limits))
    np.divide(log_mean, mass, out=log_mean, where=mass > 0)
    with np.errstate(divide="ignore"):
        fixed = np.count_nonzero(np.log(limits) < log_mean[:, :-1], axis=1)
    rows = np.arange(len(limits))
    effective = mass[rows, fixed] * np.exp(-log_mean[rows, fixed]) + (limits.shape[1] - fixed)
    return np.asarray(np.where(mass[:, 0] > 0, effective, np.count_nonzero(limits, axis=1)), dtype=np.float64)


def _running(start: NDArray[Any], steps: NDArray[Any]) -> FloatArray:
    """Start plus the sum of the first 0, 1, ... steps: shape (classes, steps + 1)."""
    return np.asarray(np.cumsum(np.column_stack((start, steps)), axis=1), dtype=np.float64)
