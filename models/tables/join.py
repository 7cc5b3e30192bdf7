"""Natural joins of coded rows: which rows of two tables agree on what they share."""

import numpy as np

from models.arrays import CodeArray, IndexArray
from models.tables.mixed_radix import pack


def shared_keys(
    left: list[CodeArray], right: list[CodeArray], radices: list[int], sizes: tuple[int, int]
) -> tuple[CodeArray, CodeArray]:
    """Keys that are equal exactly where the shared columns of two tables are equal."""
    both = [np.concatenate((a, b)) for a, b in zip(left, right, strict=True)]
    keys, _ = pack(both, radices, sum(sizes))
    return keys[: sizes[0]], keys[sizes[0] :]


def match(left: CodeArray, right: CodeArray) -> tuple[IndexArray, IndexArray]:
    """All pairs of positions with equal keys, grouped by the left one in order: arrays of equal length.

    O((n + m) log m + pairs).
    """
    order = np.argsort(right, kind="stable")
    ordered = right[order]
    low = np.searchsorted(ordered, left, side="left")
    found = np.searchsorted(ordered, left, side="right") - low
    left_index = np.repeat(np.arange(len(left)), found)
    within = np.arange(len(left_index)) - np.repeat(np.cumsum(found) - found, found)
    return left_index, order[np.repeat(low, found) + within]


def match_size(left: CodeArray, right: CodeArray) -> int:
    """How many pairs `match` would return."""
    ordered = np.sort(right)
    found = np.searchsorted(ordered, left, side="right") - np.searchsorted(ordered, left, side="left")
    return int(found.sum())
