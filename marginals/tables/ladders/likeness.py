"""How the rows of each value of an attribute are distributed over other attributes: by that, values are alike."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from marginals.errors import InputError
from models.arrays import CodeArray, CountArray
from models.tables.hierarchy import Hierarchy

MOST_VALUES = 2_000
"""Values of an attribute of which each is compared with each."""

_MOST_OF_ANOTHER = 50
"""Values of another attribute that are told apart: many rare ones would make all values look different."""


class CodedColumn(NamedTuple):
    """The base value of each row in one column. codes: shape (rows,)."""

    hierarchy: Hierarchy
    codes: CodeArray


def profiles(column: CodedColumn, others: Sequence[CodedColumn], counts: CountArray) -> CountArray:
    """The tables of a column with each of some others, side by side: shape (base values, values of all the others).

    Another column is taken at the finest level with at most 50 values. counts: how often each row stands in the table.
    Raises InputError where the column has too many values to compare each with each.

    >>> towns, jobs = Hierarchy.flat(["a", "b"]), Hierarchy.flat(["clerk", "cook"])
    >>> columns = CodedColumn(towns, np.array([0, 0, 1])), CodedColumn(jobs, np.array([0, 1, 1]))
    >>> profiles(columns[0], columns[1:], np.array([5, 1, 3])).tolist()
    [[5, 1], [0, 3]]
    """
    size = column.hierarchy.size(0)
    if size > MOST_VALUES:
        raise InputError(
            f'it has {size:,} values, and ladder = "alike" compares each with each, {MOST_VALUES:,} at most; take "fitted"'
        )
    tables = [np.zeros((size, 0), dtype=np.int64)]
    for hierarchy, codes in others:
        level = next(at for at in range(hierarchy.height + 1) if hierarchy.size(at) <= _MOST_OF_ANOTHER)
        table = np.zeros((size, hierarchy.size(level)), dtype=np.int64)
        np.add.at(table, (column.codes, hierarchy.lift(0, level)[codes]), counts)
        tables.append(table)
    return np.hstack(tables)
