"""Information that generalized values retain, and the order in which it puts generalizations (TZ09 Defs. 5 and 6).

A value that stands for n base values retains 1/n of what a base value says.
"""

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import product
from math import lcm

import numpy as np

from models.arrays import CountArray
from models.tables.contingency_table import ContingencyTable
from models.tables.hierarchy import Hierarchy


def information(leaf_counts: CountArray, counts: CountArray) -> float:
    """I(G): the information of all rows of a table, whose values may be generalized row by row (TZ09 Def. 5).

    leaf_counts: how many base values each value stands for, shape (cells, attributes). counts: rows, shape (cells,).
    """
    return float((counts[:, None] / leaf_counts).sum())


def information_utility(
    table: ContingencyTable, attributes: Iterable[str] | None = None, row_count: int | None = None
) -> float:
    """`um` = I(G) / I(O): the share of the information of the original rows that a table retains (TZ09 Def. 5).

    attributes: those that count, by default all of the domain; one that the table does not show is suppressed.
    row_count: rows of the original table where some were dropped. 0 for an empty table.
    """
    counted = table.domain.attributes if attributes is None else tuple(attributes)
    columns = []
    for attribute in counted:
        hierarchy = table.domain.hierarchy(attribute)
        level = table.margin.get(attribute, hierarchy.height)
        codes = table.column(attribute, level) if attribute in table.margin else np.zeros(len(table), dtype=np.intp)
        columns.append(hierarchy.leaf_counts(level)[codes])
    original = (table.total if row_count is None else row_count) * len(counted)
    return information(np.stack(columns, axis=1), table.counts) / original if original else 0.0


def level_information(hierarchy: Hierarchy, level: int, weights: Sequence[Fraction | int] | None = None) -> Fraction:
    """I(S): mean information of the values of a level, each with the weight of the base values under it (TZ09 III.A).

    weights: of the base values, not all 0; by default 1 each. TZ09 gives 1 to base values that the table has, else 0.
    """
    base_weights = [1] * hierarchy.size(0) if weights is None else list(weights)
    leaves = hierarchy.leaf_counts(level).tolist()
    retained = (w * Fraction(1, leaves[v]) for w, v in zip(base_weights, hierarchy.lift(0, level).tolist()))
    return sum(retained, Fraction(0)) / sum(base_weights)


def sweep_order(
    hierarchies: Sequence[Hierarchy], weights: Sequence[Sequence[Fraction | int] | None] | None = None
) -> tuple[tuple[int, ...], ...]:
    """All combinations of levels, most mean information first; ties go to the finer level of the earlier attribute.

    The order of level vectors of TZ09 Def. 6, attributes given most important first; exact. A generalization of an entry
    comes after it. What is swept out of a class of one entry goes to the next (Def. 7).
    """
    nodes = product(*(range(hierarchy.height + 1) for hierarchy in hierarchies))
    return _by_information(nodes, _retained(hierarchies, weights))


def sweep_chains(
    hierarchies: Sequence[Hierarchy],
    weights: Sequence[Sequence[Fraction | int] | None] | None = None,
    most: int | None = None,
) -> tuple[tuple[int, ...], ...]:
    """Some combinations of levels in the same order, where all are too many: (m + 1) m h at most, of m heights h.

    They are those on chains from all base values to all suppressed. Each step of a chain generalizes the attribute that
    loses least information by it; in each chain but the first one attribute is kept as it is to the end, the most
    important first. most: further chains are left out where there would be more combinations than this; the first stays.
    """
    retained, heights = _retained(hierarchies, weights), [hierarchy.height for hierarchy in hierarchies]
    nodes = set(_chain(retained, heights, None))
    for kept in range(len(hierarchies)):
        more = nodes | set(_chain(retained, heights, kept))
        if most is not None and len(more) > most:
            break
        nodes = more
    return _by_information(nodes, retained)


def _chain(retained: Sequence[Sequence[int]], heights: Sequence[int], kept: int | None) -> Iterator[tuple[int, ...]]:
    """From all base values to all suppressed, the cheapest step first, those of one attribute last of all."""
    levels = [0] * len(heights)
    yield tuple(levels)
    while levels != list(heights):
        open_axes = [axis for axis, height in enumerate(heights) if levels[axis] < height]
        free = [axis for axis in open_axes if axis != kept] or open_axes
        axis = min(free, key=lambda one: (retained[one][levels[one]] - retained[one][levels[one] + 1], one))
        levels[axis] += 1
        yield tuple(levels)


def _retained(
    hierarchies: Sequence[Hierarchy], weights: Sequence[Sequence[Fraction | int] | None] | None
) -> list[list[int]]:
    """The information of each level of each hierarchy, times one number that makes all of them whole: fast and exact."""
    base_weights = [None] * len(hierarchies) if weights is None else weights
    shares = [
        [level_information(hierarchy, level, own) for level in range(hierarchy.height + 1)]
        for hierarchy, own in zip(hierarchies, base_weights)
    ]
    whole = lcm(*(share.denominator for own in shares for share in own))
    return [[int(share * whole) for share in own] for own in shares]


def _by_information(nodes: Iterable[tuple[int, ...]], retained: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    def rank(levels: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
        return -sum(own[level] for own, level in zip(retained, levels)), levels

    return tuple(sorted(nodes, key=rank))
