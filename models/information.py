"""Information that generalized values retain, and the order in which it puts generalizations (TZ09 Defs. 5 and 6).

A value that stands for n base values retains 1/n of what a base value says.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import NDArray

from models.arrays import CountArray
from models.contingency_table import ContingencyTable
from models.hierarchy import Hierarchy


def information(table: ContingencyTable, attributes: Iterable[str] | None = None) -> float:
    """I(G): the information of all rows of a table, summed over `attributes`, by default all of the domain (TZ09 Def. 5).

    An attribute that the table does not show counts as suppressed.
    """
    total = 0.0
    for attribute in table.domain.attributes if attributes is None else attributes:
        hierarchy = table.domain.hierarchy(attribute)
        level = table.margin.get(attribute, hierarchy.height)
        leaves = hierarchy.leaf_counts(level)
        shown = table.column(attribute, level) if attribute in table.margin else np.zeros(len(table), dtype=np.intp)
        total += float((table.counts / leaves[shown]).sum())
    return total


def recoded_information(leaf_counts: NDArray[np.int64], counts: CountArray) -> float:
    """I(G) of a table whose rows are generalized one by one.

    leaf_counts: how many base values each value stands for, shape (cells, attributes). counts: rows, shape (cells,).
    """
    return float((counts[:, None] / leaf_counts).sum())


def information_utility(retained: float, row_count: int, attribute_count: int) -> float:
    """`um` = I(G) / I(O): the share of the information of the original rows that is retained (TZ09 Def. 5).

    row_count: of the original table, suppressed rows included. 0 for an empty table.
    """
    original = row_count * attribute_count
    return retained / original if original else 0.0


def level_information(hierarchy: Hierarchy, level: int, weights: Sequence[Fraction | int] | None = None) -> Fraction:
    """I(S): mean information of the values of a level, weighted by the weight of the base values under each (TZ09 III.A).

    weights: of the base values, not all 0; by default 1 each. TZ09 gives 1 to base values that the table has, else 0.
    """
    given = [1] * hierarchy.size(0) if weights is None else list(weights)
    leaves = hierarchy.leaf_counts(level).tolist()
    retained = (w * Fraction(1, leaves[v]) for w, v in zip(given, hierarchy.lift(0, level).tolist()))
    return sum(retained, Fraction(0)) / sum(given)


def sweep_order(
    hierarchies: Sequence[Hierarchy], weights: Sequence[Sequence[Fraction | int] | None] | None = None
) -> tuple[tuple[int, ...], ...]:
    """All combinations of levels, most mean information first; ties go to the finer level of the earlier attribute.

    The order of level vectors of TZ09 Def. 6, attributes given most important first; exact. What is swept out of one
    entry goes to the next (Def. 7): every later entry is a generalization of the base values, and a generalization of an
    entry comes later than that entry.
    """
    given = [None] * len(hierarchies) if weights is None else weights
    retained = [
        [level_information(hierarchy, level, own) for level in range(hierarchy.height + 1)]
        for hierarchy, own in zip(hierarchies, given)
    ]
    nodes = product(*(range(hierarchy.height + 1) for hierarchy in hierarchies))

    def rank(levels: tuple[int, ...]) -> tuple[Fraction, tuple[int, ...]]:
        return -sum((own[level] for own, level in zip(retained, levels)), Fraction(0)), levels

    return tuple(sorted(nodes, key=rank))
