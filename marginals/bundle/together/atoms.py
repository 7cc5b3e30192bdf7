"""Atoms: the pieces into which the published values of an attribute cut each other, where releases differ in them.

Of 20-29 and 30-39 in one release and 15-24 and 25-34 in another, 20-24, 25-29 and 30-34 are atoms; of 18.5-<25 and 20-<30,
20-<25. Labels of whole numbers, of intervals of these and of intervals of all numbers tell the atoms by themselves, others
by the base values that the releases name; where neither does, nobody can say from the releases alone how the values overlap.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise, product
from math import prod

import numpy as np

from marginals.conditions.labels import Range, interval
from models.arrays import FloatArray, IndexArray
from models.tables.hierarchy import Hierarchy

MOST_PAIRS = 1_000_000
"""Combinations of values that are looked at."""

Numbers = tuple[tuple[Decimal, Decimal], ...]
"""Intervals without their upper ends: the whole numbers from 20 to 24 are (20, 25), and so are all numbers of 20-<25."""

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
    """Of values that are whole numbers or intervals of these, or all of them intervals of all numbers."""
    named = [_named(hierarchy, level) for hierarchy, level in parts]
    ranges = [each for own in named if own is not None for value in own for each in value]
    are_whole = all(map(_is_whole, ranges))
    if None in named or not (are_whole or all(map(_is_half_open, ranges))):
        return None
    meanings = [[tuple(map(_without_upper_end, value)) for value in own] for own in named if own is not None]
    if any(one[1] > other[0] for own in meanings for one, other in pairwise(sorted(sum(own, ())))):
        return None  # values of one level do not overlap; labels that seem to are none of numbers
    codes, numbers = [], []
    for combination in product(*map(enumerate, meanings)):
        common: Numbers = ((-_INFINITY, _INFINITY),)
        for _, own in combination:
            common = _intersection(common, own)
        if common:
            codes.append([code for code, _ in combination])
            numbers.append(common)
    if not codes:
        return None
    widths = np.array([float(sum(high - low for low, high in own)) for own in numbers])
    if np.isinf(widths).any():
        if not _weights_cancel(np.array(codes)):
            return None
        widths = np.ones(len(codes))
    return Atoms(np.array(codes).T, widths, tuple(_label(own, are_whole) for own in numbers))


_INFINITY = Decimal("Infinity")


def _named(hierarchy: Hierarchy, level: int) -> list[list[Range]] | None:
    """The numbers that each value of a level stands for, by its label or those of its base values; None if unknown."""
    above = hierarchy.lift(0, level)
    named: list[list[Range]] = []
    for code, label in enumerate(hierarchy.labels[level]):
        labels = [label, *(hierarchy.labels[0][base] for base in np.flatnonzero(above == code))]
        own, *base = (interval(each) for each in labels)
        known = [each for each in ([own] if _begins(own) else base) if each is not None and _begins(each)]
        if len(known) < (1 if _begins(own) else len(base)):
            return None
        named.append(sorted(known))
    return named


def _begins(numbers: Range | None) -> bool:
    """Whether there is a least one of some numbers."""
    return numbers is not None and numbers.low.is_finite() and numbers.with_low and not numbers.is_empty


def _is_whole(numbers: Range) -> bool:
    """Whether an interval of whole numbers is meant, which may go on for ever."""
    ends = [numbers.low, *([numbers.high] if numbers.with_high else [])]
    return all(end == end.to_integral_value() for end in ends) and (numbers.with_high or not numbers.high.is_finite())


def _is_half_open(numbers: Range) -> bool:
    """Whether an interval of all numbers is meant."""
    return numbers.high.is_finite() and not numbers.with_high


def _without_upper_end(numbers: Range) -> tuple[Decimal, Decimal]:
    return numbers.low, numbers.high + 1 if numbers.with_high else numbers.high


def _intersection(one: Numbers, other: Numbers) -> Numbers:
    pairs = ((max(a[0], b[0]), min(a[1], b[1])) for a in one for b in other)
    return tuple((low, high) for low, high in pairs if low < high)


def _label(numbers: Numbers, are_whole: bool) -> str:
    def spoken(low: Decimal, high: Decimal) -> str:
        if not are_whole:
            return f"{low:f}-<{high:f}"
        if high == _INFINITY:
            return f"{low:f}+"
        return f"{low:f}" if low == high - 1 else f"{low:f}-{high - 1:f}"

    merged: list[tuple[Decimal, Decimal]] = []
    for low, high in numbers:
        if merged and merged[-1][1] == low:
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
