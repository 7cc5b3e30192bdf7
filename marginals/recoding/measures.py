"""Measures of single tables, and the order in which SWEEP goes through generalizations (TZ09 Defs. 5 and 6)."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import lcm
from typing import Any

from numpy.typing import NDArray

from models.arrays import CountArray
from models.tables.hierarchy import Hierarchy

Weights = Sequence[Fraction | int]
"""Weights of the base values of an attribute, not all 0."""


def level_information(hierarchy: Hierarchy, level: int, weights: Weights | None = None) -> Fraction:
    """Mean information of the values of a level, I(S), each with the weight of the base values under it (TZ09 III.A)."""
    base_weights = [1] * hierarchy.size(0) if weights is None else list(weights)
    leaves = hierarchy.leaf_counts(level).tolist()
    retained = (w * Fraction(1, leaves[v]) for w, v in zip(base_weights, hierarchy.lift(0, level).tolist()))
    return sum(retained, Fraction(0)) / sum(base_weights)


def sweep_order(
    hierarchies: Sequence[Hierarchy], weights: Sequence[Weights | None] | None = None
) -> tuple[tuple[int, ...], ...]:
    """Combinations of levels in the order of TZ09 Def. 6, exact: most mean information first."""
    shares = [
        [level_information(hierarchy, level, level_shares) for level in range(hierarchy.height + 1)]
        for hierarchy, level_shares in zip(hierarchies, weights or [None] * len(hierarchies))
    ]
    common = lcm(*(share.denominator for level_shares in shares for share in level_shares))
    retained = [[int(share * common) for share in level_shares] for level_shares in shares]
    nodes = product(*(range(len(level_shares)) for level_shares in shares))
    return tuple(
        sorted(
            nodes,
            key=lambda levels: (-sum(level_shares[level] for level_shares, level in zip(retained, levels)), levels),
        )
    )


def average_class_size(sizes: CountArray) -> float:
    """Mean number of rows in a class; 0 when there is none."""
    return float(sizes.sum() / len(sizes)) if len(sizes) else 0.0


def discernibility(sizes: CountArray, suppressed: int = 0) -> int:
    """Sum over the rows of how many rows look the same; each suppressed row costs as many as there are in all."""
    squares: int = sum(size * size for size in sizes.tolist())  # exact for any count
    return squares + suppressed * (int(sizes.sum()) + suppressed)


def classification_metric(counts: NDArray[Any]) -> int:
    """Rows whose label is not the most frequent one of their class. counts: class by label, shape (classes, labels)."""
    return int(counts.sum() - counts.max(axis=1, initial=0).sum())
