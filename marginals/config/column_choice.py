"""Which columns a first config publishes where a table has more than a search can do in its time."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from itertools import combinations

import numpy as np

from marginals.config.column_guess import Guess
from marginals.config.copies import Values
from marginals.config.vocabulary import is_recognizable
from marginals.tables.attribute import Role
from models.arrays import IndexArray

MOST_COLUMNS = 80
"""Columns that are published: a search of the default time goes through all pairs of as many."""

_MOST_GROUPS = 20
"""Groups of a column whose association with another is judged; rarer values are one group together."""

_BEYOND_CHANCE = 5.0
"""Standard deviations from what chance shows, from which on two columns are associated: about 3 pairs in ten million."""


def within_limit(
    guesses: Mapping[str, Guess],
    values: Callable[[str], Values],
    wanted: Collection[str] = (),
    most: int = MOST_COLUMNS,
) -> dict[str, Guess]:
    """The guesses, of which at most so many publish their column; the others are left out, each with why.

    First come columns that are wanted, then sensitive ones, then those by which people are recognized, such as their age or
    town, and of others those that go together with most columns. values: of a column, in some rows.
    """
    used = [name for name, own in guesses.items() if own.role.is_used]
    if len(used) <= most:
        return dict(guesses)
    associated = associations({name: values(name) for name in used})

    def rank(name: str) -> tuple[bool, bool, bool, int]:
        is_sensitive = guesses[name].role is Role.SENSITIVE
        return (name not in wanted, not is_sensitive, not is_recognizable(name), -associated[name])

    result = dict(guesses)
    for name in sorted(used, key=rank)[most:]:
        number = associated[name]
        what = f"it goes together with {number} of the other {len(used) - 1} columns, no more than each that stays"
        why = f"{guesses[name].why}; left out, as a search of {most} columns takes its time already, and {what}"
        result[name] = replace(guesses[name], role=Role.IGNORED, why=why, question="")
    return result


def associations(values: Mapping[str, Values]) -> dict[str, int]:
    """With how many of the others each column is associated more than chance would show."""
    groups = {name: _groups(own.coarse) for name, own in values.items()}
    number = dict.fromkeys(values, 0)
    for one, other in combinations(values, 2):
        if is_associated(groups[one], groups[other]):
            number[one] += 1
            number[other] += 1
    return number


def is_associated(one: IndexArray, other: IndexArray) -> bool:
    """Whether two columns go together more than chance would show. Groups of each row, -1 for no value; shape (rows,).

    By the chi-squared test, its statistic made normal (Wilson and Hilferty 1931).

    >>> first = np.arange(600) % 3
    >>> is_associated(first, (first > 0).astype(int)), is_associated(first, np.arange(600) // 3 % 2)
    (True, False)
    """
    both = (one >= 0) & (other >= 0)
    rows = int(both.sum())
    if not rows:
        return False
    size = (int(one.max()) + 1, int(other.max()) + 1)
    counts = np.bincount(one[both] * size[1] + other[both], minlength=size[0] * size[1]).reshape(size)
    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    freedom = (counts.shape[0] - 1) * (counts.shape[1] - 1)
    if not freedom:
        return False
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / rows
    statistic = float(((counts - expected) ** 2 / expected).sum())
    spread = 2 / (9 * freedom)
    return bool((statistic / freedom) ** (1 / 3) - (1 - spread) > _BEYOND_CHANCE * spread**0.5)


def _groups(codes: IndexArray) -> IndexArray:
    """The most frequent values, each by itself, and all others together; -1 stays for no value."""
    known = codes >= 0
    if not known.any():
        return codes
    counts = np.bincount(codes[known])
    frequent = np.argsort(-counts, kind="stable")[:_MOST_GROUPS]
    place = np.full(len(counts), len(frequent), dtype=np.intp)
    place[frequent] = np.arange(len(frequent))
    result = np.full(len(codes), -1, dtype=np.intp)
    result[known] = place[codes[known]]
    return result
