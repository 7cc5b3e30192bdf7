"""Atoms: the pieces into which the published values of an attribute cut each other, where releases differ in them.

Of 20-29 and 30-39 in one release and 15-24 and 25-34 in another, 20-24, 25-29 and 30-34 are atoms. Labels of numbers and of
intervals of whole numbers tell the atoms by themselves, others by the base values that the releases name; where neither
does, nobody can say from the releases alone how the values overlap.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from math import inf, prod

import numpy as np

from marginals.conditions.labels import interval
from models.arrays import FloatArray, IndexArray
from models.tables.hierarchy import Hierarchy

MOST_PAIRS = 1_000_000
"""Combinations of values that are looked at."""

Numbers = tuple[tuple[float, float], ...]
"""Whole numbers as intervals, both ends within."""

Part = tuple[Hierarchy, int]
"""How a release generalizes the attribute, and the finest level that it publishes."""


@dataclass(frozen=True, eq=False)
class Atoms:
    """The combinations of values that there can be.

    codes: for each release the code of each atom at its finest published level, shape (releases, atoms), ascending.
    weights: how many base values each atom has, shape (atoms,). labels: what to call each atom.
    """

    codes: IndexArray
    weights: FloatArray
    labels: tuple[str, ...]


def atoms_of(parts: Sequence[Part]) -> Atoms | None:
    """The atoms of an attribute; None where the labels do not tell how its values overlap."""
    if prod(hierarchy.size(level) for hierarchy, level in parts) > MOST_PAIRS:
        return None
    return _on_a_line(parts) or _of_base_values(parts)


def _on_a_line(parts: Sequence[Part]) -> Atoms | None:
    """Of values that are numbers, or intervals of whole numbers."""
    meanings = [_meanings(hierarchy, level) for hierarchy, level in parts]
    codes, numbers = [], []
    for combination in product(*(enumerate(own) for own in meanings if own is not None)):
        common: Numbers = ((-inf, inf),)
        for _, own in combination:
            common = _intersection(common, own)
        if common:
            codes.append([code for code, _ in combination])
            numbers.append(common)
    if None in meanings or not codes:
        return None
    widths = np.array([sum(high - low + 1 for low, high in own) for own in numbers])
    if np.isinf(widths).any():
        if not _weights_cancel(np.array(codes)):
            return None
        widths = np.ones(len(codes))
    return Atoms(np.array(codes).T, widths, tuple(map(_label, numbers)))


def _meanings(hierarchy: Hierarchy, level: int) -> list[Numbers] | None:
    """The whole numbers that each value of a level stands for, by its label or those of its base values; None if unknown."""
    above = hierarchy.lift(0, level)
    meanings: list[Numbers] = []
    for code, label in enumerate(hierarchy.labels[level]):
        own = interval(label)
        named = [own] if own else [interval(hierarchy.labels[0][base]) for base in np.flatnonzero(above == code)]
        intervals = sorted(each for each in named if each is not None)
        whole = all(end == int(end) for each in intervals for end in each if abs(end) != inf)
        if len(intervals) < len(named) or not whole or any(low > high for low, high in intervals):
            return None
        meanings.append(tuple(intervals))
    everything = sorted(each for own in meanings for each in own)
    # Values of one level do not overlap; labels that seem to are none of numbers.
    return None if any(one[1] >= other[0] for one, other in pairwise(everything)) else meanings


def _intersection(one: Numbers, other: Numbers) -> Numbers:
    pairs = ((max(a[0], b[0]), min(a[1], b[1])) for a in one for b in other)
    return tuple((low, high) for low, high in pairs if low <= high)


def _label(numbers: Numbers) -> str:
    def spoken(low: float, high: float) -> str:
        if high == inf:
            return f"{low:g}+"
        return f"{low:g}" if low == high else f"{low:g}-{high:g}"

    merged: list[tuple[float, float]] = []
    for low, high in numbers:
        if merged and merged[-1][1] == low - 1:
            low = merged.pop()[0]
        merged.append((low, high))
    return "|".join(spoken(low, high) for low, high in merged)


def _of_base_values(parts: Sequence[Part]) -> Atoms | None:
    """Of base values that all releases name."""
    named = [set(hierarchy.labels[0]) for hierarchy, _ in parts]
    if any(labels != named[0] for labels in named):
        return None
    above = [dict(zip(hierarchy.labels[0], hierarchy.lift(0, level).tolist())) for hierarchy, level in parts]
    members: dict[tuple[int, ...], list[str]] = {}
    for label in parts[0][0].labels[0]:
        members.setdefault(tuple(own[label] for own in above), []).append(label)
    codes = sorted(members)
    weights = np.array([float(len(members[each])) for each in codes])
    return Atoms(np.array(codes).T, weights, tuple("|".join(members[each]) for each in codes))


def _weights_cancel(codes: IndexArray) -> bool:
    """Whether any weights of atoms are products of weights of the releases' values, which maximum entropy absorbs."""
    columns = [np.eye(column.max() + 1)[column] for column in codes.T]
    return int(np.linalg.matrix_rank(np.hstack(columns))) == len(codes)
