"""Keys of coded rows: which rows of two tables agree on what they share, and where a row stands among others."""

from typing import NamedTuple

import numpy as np

from models.arrays import BoolArray, CodeArray, IndexArray
from models.tables.mixed_radix import is_dense, pack


def shared_keys(
    left: list[CodeArray], right: list[CodeArray], radices: list[int], sizes: tuple[int, int]
) -> tuple[CodeArray, CodeArray]:
    """Keys that are equal exactly where the shared columns of two tables are equal."""
    both = [np.concatenate((a, b)) for a, b in zip(left, right, strict=True)]
    keys, _ = pack(both, radices, sum(sizes))
    return keys[: sizes[0]], keys[sizes[0] :]


class Lookup(NamedTuple):
    """places: where a sought key stands among the known ones; any place where it is not found. found: whether it is."""

    places: IndexArray
    found: BoolArray


def look_up(sought: CodeArray, known: CodeArray) -> Lookup:
    """Where each sought key stands among known ones, which are distinct and ascend: arrays of the shape of `sought`.

    No key is below 0.
    """
    if not len(known):
        return Lookup(np.zeros(len(sought), dtype=np.intp), np.zeros(len(sought), dtype=bool))
    beyond = int(known[-1]) + 1
    if is_dense(beyond, len(sought)):
        place_of = np.full(beyond + 1, -1, dtype=np.intp)
        place_of[known] = np.arange(len(known))
        places = place_of[np.minimum(sought, beyond)]
        return Lookup(places, places >= 0)
    places = np.minimum(np.searchsorted(known, sought), len(known) - 1)
    return Lookup(places, np.equal(known[places], sought))


def match(left: CodeArray, right: CodeArray) -> tuple[IndexArray, IndexArray]:
    """All pairs of positions with equal keys, grouped by the left one in order: arrays of equal length.

    O((n + m) log m + pairs).
    """
    order = np.argsort(right, kind="stable")
    ordered = right[order]
    low = np.searchsorted(ordered, left, side="left")
    counts = np.searchsorted(ordered, left, side="right") - low
    left_index = np.repeat(np.arange(len(left)), counts)
    within = np.arange(len(left_index)) - np.repeat(np.cumsum(counts) - counts, counts)
    return left_index, order[np.repeat(low, counts) + within]


def match_size(left: CodeArray, right: CodeArray) -> int:
    """How many pairs `match` would return."""
    ordered = np.sort(right)
    counts = np.searchsorted(ordered, left, side="right") - np.searchsorted(ordered, left, side="left")
    return int(counts.sum())
