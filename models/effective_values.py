"""The effective number of values of a class: the exponential of their entropy (Hill 1973)."""

import numpy as np

from models.arrays import FloatArray
from models.x_log_x import x_log_x


def effective_values(vectors: FloatArray) -> FloatArray:
    """Of each row: shape (classes,)."""
    shares = vectors / vectors.sum(axis=1, keepdims=True)
    return np.asarray(np.exp(-x_log_x(shares).sum(axis=1)), dtype=np.float64)


def effective_values_of_products(first: FloatArray, second: FloatArray) -> FloatArray:
    """Of each product of a row of `first` and one of `second`, value by value: shape (first, second).

    Infinite where it is 0 throughout. From three products of matrices: with v = a b the sum of v ln v is that of
    (a ln a) b + a (b ln b).
    """
    totals = first @ second.T
    logs = x_log_x(first) @ second.T
    logs += first @ x_log_x(second).T
    with np.errstate(divide="ignore", invalid="ignore"):
        logs /= totals
        effective: FloatArray = np.log(totals)
        effective -= logs
        np.exp(effective, out=effective)
    if not totals.all():
        effective[totals <= 0] = np.inf
    return effective
