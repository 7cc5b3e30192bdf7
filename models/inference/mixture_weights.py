"""Weights of a mixture of distributions under which some rows are most likely, by expectation and maximization.

The likelihood is concave in the weights. With m_i the mean, by the rows' weights, of p_i / sum_j w_j p_j over the rows, a
step multiplies w_i by m_i, which never lowers it, and no weights are better than these by more than ln max_i m_i nats a row:
the mean of ln(sum v_i p_i / sum w_j p_j) is at most the logarithm of its mean, sum v_i m_i (Jensen; Cover, An Algorithm for
Maximizing Expected Log Investment Return, 1984).
"""

import numpy as np

from models.arrays import FloatArray
from models.errors import NotFittedError

WITHIN = 1e-6
"""Nats a row that the best weights may be better by."""

_STEPS = 100_000


def mixture_weights(log_probabilities: FloatArray, rows: FloatArray) -> FloatArray:
    """The weights, shape (distributions,), that sum to 1.

    log_probabilities: of each cell under each distribution, shape (distributions, cells). rows: how often each cell is,
    shape (cells,), with a positive sum. Raises NotFittedError where some row is impossible under every distribution.

    >>> mixture_weights(np.log([[0.9, 0.1], [0.1, 0.9]]), np.array([3.0, 1.0])).round(2)
    array([0.81, 0.19])
    """
    highest = log_probabilities.max(axis=0)
    if np.isneginf(highest[rows > 0]).any():
        raise NotFittedError("some row is impossible under every one of the distributions, whatever their weights")
    likely = np.exp(log_probabilities[:, rows > 0] - highest[rows > 0])
    shares = rows[rows > 0] / rows.sum()
    weights = np.full(len(likely), 1 / len(likely))
    for _ in range(_STEPS):
        means = likely @ (shares / (weights @ likely))
        if np.log(means.max()) <= WITHIN:
            return weights
        weights = weights * means
        weights /= weights.sum()
    raise NotFittedError(f"the weights are not within {WITHIN} nats of the best after {_STEPS} steps")
