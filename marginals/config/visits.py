"""How many rows of each person a first config lets count, where the rows of a table are visits of people."""

import numpy as np

from models.arrays import CountArray

_WORTH = 1.5
"""Times as many rows as one of each person, at least, for which it is worth to count several."""

_COARSER = 2.0
"""Times as few people could fill a class, at most: with r rows a person, it needs k * r rows."""

_NEARLY_ALL = 0.95
"""Share of the rows from which on it is not worth to count more of each person."""


def worth_counting(rows_of_each: CountArray) -> range:
    """How many rows of each person can be worth to count rather than one, the best number first; none where one is as good.

    rows_of_each: of each person, 1 or more, shape (people,). With r rows a person, sum(min(rows, r)) rows count and a class
    needs k * r, so the classes are as many as with sum(min(rows, r)) / r people: at least half of all, and no more of each
    than nearly all rows need.

    >>> list(worth_counting(np.array([2] * 50))), list(worth_counting(np.array([1] * 90 + [40] * 10)))
    ([2], [])
    """
    people, rows = len(rows_of_each), int(rows_of_each.sum())
    most = int(rows_of_each.max(initial=1))
    more_than = (
        people - np.cumsum(np.bincount(rows_of_each, minlength=most + 1))[:-1]
    )  # people with more than 0, 1, ...
    kept = np.cumsum(more_than)  # rows, with 1, 2, ... of each
    each = np.arange(1, most + 1)
    is_worth = (kept * _COARSER >= people * each) & (kept >= _WORTH * people)
    enough = int(np.searchsorted(kept, _NEARLY_ALL * rows) + 1)
    worth = each[is_worth & (each <= enough)]
    return range(int(worth.max()), int(worth.min()) - 1, -1) if len(worth) else range(0)
