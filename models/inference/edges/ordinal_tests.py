"""Tests of conditional independence that use the order of values: the generalized Cochran-Mantel-Haenszel statistics.

Counts are compared with what independence in every stratum, given its margins, expects of them (Mantel 1963; Landis, Heyman
and Koch 1978; Agresti, Categorical Data Analysis, 3rd edition, 8.4). Power goes into one direction: a trend that is the same
in all strata.
"""

from typing import NamedTuple

import numpy as np

from models.arrays import CountArray, FloatArray


class ScoreTest(NamedTuple):
    """A statistic that is chi-squared with so many degrees of freedom under conditional independence, in large samples."""

    statistic: float
    degrees_of_freedom: int


def linear_by_linear(counts: CountArray) -> ScoreTest:
    """Of two ordered attributes with the scores 0, 1, 2, ..: 1 degree of freedom, 0 where nothing varies within strata.

    counts: shape (values of the first, values of the second, strata). In one stratum it is (n - 1) r^2, r the correlation.

    >>> linear_by_linear(np.array([[10, 5], [2, 8]])[..., None])
    ScoreTest(statistic=5.02564..., degrees_of_freedom=1)
    """
    counts, rows, columns, totals = _telling(counts)
    first, second = (np.arange(length, dtype=np.float64) for length in counts.shape[:2])
    seen = np.einsum("i,j,ijk->k", first, second, counts)
    difference = float((seen - (first @ rows) * (second @ columns) / totals).sum())
    variance = float((_spread(first[:, None], rows) * _spread(second[:, None], columns) / (totals - 1)).sum())
    return ScoreTest(difference**2 / variance, 1) if variance > 0 else ScoreTest(0.0, 0)


def mean_scores(counts: CountArray) -> ScoreTest:
    """Of an unordered attribute and an ordered one, by ranks within strata: Kruskal and Wallis's test where there is one.

    counts: shape (values of the unordered one, values of the ordered one, strata).

    >>> mean_scores(np.array([[10, 5], [2, 8]])[..., None])
    ScoreTest(statistic=5.02564..., degrees_of_freedom=1)
    """
    counts, rows, columns, totals = _telling(counts)
    ranks = columns.cumsum(axis=0) - (columns - 1) / 2
    spread = _spread(ranks, columns) / (totals - 1)
    seen = np.einsum("jk,ijk->ik", ranks, counts)
    difference = (seen - rows * (ranks * columns).sum(axis=0) / totals).sum(axis=1)
    covariance = np.diag((rows * spread).sum(axis=1)) - np.einsum("ik,jk,k->ij", rows, rows, spread / totals)
    rank = int(np.linalg.matrix_rank(covariance, hermitian=True))
    if not rank:
        return ScoreTest(0.0, 0)
    return ScoreTest(float(difference @ np.linalg.pinv(covariance, hermitian=True) @ difference), rank)


def _telling(counts: CountArray) -> tuple[CountArray, FloatArray, FloatArray, FloatArray]:
    """The strata with two rows or more, since the others say nothing: counts, rows, columns and totals, strata last."""
    counts = counts[..., counts.sum(axis=(0, 1)) >= 2]
    rows, columns = counts.sum(axis=1, dtype=np.float64), counts.sum(axis=0, dtype=np.float64)
    return counts, rows, columns, rows.sum(axis=0)


def _spread(scores: FloatArray, counts: FloatArray) -> FloatArray:
    """Sum of squares of scores around their mean, for each stratum. Both: shape (values, strata), or (values, 1)."""
    squares: FloatArray = (scores**2 * counts).sum(axis=0) - (scores * counts).sum(axis=0) ** 2 / counts.sum(axis=0)
    return squares
