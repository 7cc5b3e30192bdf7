"""x ln x, the term of which every entropy is a sum."""

import numpy as np
import numpy.typing as npt

from models.arrays import FloatArray


def x_log_x(values: npt.ArrayLike) -> FloatArray:
    """The product of each value and its natural logarithm, 0 where the value is 0; any shape, the same comes back.

    What `scipy.special.xlogy(x, x)` gives, to the last bit or the one before it, without the import of SciPy, which takes
    longer than most queries. Of a negative value it is NaN, and NumPy warns.

    >>> x_log_x([0, 1, 4]).round(3).tolist()
    [0.0, 0.0, 5.545]
    """
    x = np.asarray(values, dtype=np.float64)
    return np.asarray(x * np.log(np.where(x == 0, 1.0, x)))
