"""Which columns a first config publishes where a table has more than a search can do in its time."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from math import prod

import numpy as np

from marginals.config.column_guess import Guess
from marginals.config.copies import Values
from marginals.config.vocabulary import is_recognizable
from marginals.tables.attribute import Role
from models.arrays import BoolArray, IndexArray

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
    used = [name for name, guess in guesses.items() if guess.role.is_used]
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
    groups = np.array([_groups(value.coarse) for value in values.values()])
    number = np.zeros(len(values), dtype=np.intp)
    for place in range(len(values)):
        related = are_associated(groups[place], groups[:place])
        number[place] += related.sum()
        number[:place] += related
    return dict(zip(values, number.tolist()))


def are_associated(one: IndexArray, others: IndexArray) -> BoolArray:
    """Which of some columns go together with one more than chance would show: shape (columns,).

    one: the group of each row, -1 for no value, shape (rows,). others: those of the columns, shape (columns, rows). By the
    chi-squared test, its statistic made normal (Wilson and Hilferty 1931).

    >>> first = np.arange(600) % 3
    >>> are_associated(first, np.array([first > 0, np.arange(600) // 3 % 2]).astype(int))
    array([ True, False])
    """
    if not others.size:
        return np.zeros(len(others), dtype=np.bool_)
    size = (len(others), int(one.max()) + 2, int(others.max()) + 2)
    cells = (np.arange(size[0])[:, None] * size[1] + one + 1) * size[2] + others + 1
    counts = np.bincount(cells.ravel(), minlength=prod(size)).reshape(size)[:, 1:, 1:]
    of_one, of_other = counts.sum(axis=2), counts.sum(axis=1)
    rows = of_one.sum(axis=1)
    freedom = ((of_one > 0).sum(axis=1) - 1) * ((of_other > 0).sum(axis=1) - 1)
    both = np.maximum(of_one[:, :, None] * of_other[:, None, :], 1)
    statistic = rows * ((counts / both * counts).sum(axis=(1, 2)) - 1)
    able = (rows > 0) & (freedom > 0)
    spread = 2 / (9 * np.where(able, freedom, 1))
    ratio = np.where(able, np.maximum(statistic, 0) / np.where(able, freedom, 1), 0)
    return np.asarray(able & (np.cbrt(ratio) - (1 - spread) > _BEYOND_CHANCE * np.sqrt(spread)))


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
