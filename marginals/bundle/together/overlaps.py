"""Which values of two releases overlap, by their labels, where the releases generalize an attribute differently.

A label stands for what the other release has under the same label, at whatever level. Numbers, intervals, prefixes
(`148**`) and lists of labels (`cook, clerk`) say what they stand for. A value that nothing in the other release can stand
for has no rows there. Of labels that do not tell, such as `other` beside other names, any two can overlap: what they stand
for together is the same in both releases, and no more is known.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from checks.changes.common_values import Overlaps
from marginals.conditions.labels import Range, interval
from marginals.tables.attribute import MISSING
from models.arrays import IndexArray
from models.graphs.collection import Collection
from models.tables.hierarchy import SUPPRESSED, Hierarchy

_MOST_PAIRS = 1_000_000
"""Of labels that are compared; of more, any two may overlap."""

THE_REST = re.compile(r"(?:.+ and )?others?(?: .*)?|not missing|.* or missing", re.DOTALL)
"""Labels of what the other values of a level leave, as fitted levels have them."""


@dataclass(frozen=True)
class LabelOverlaps:
    """The values that overlap, of attributes that are generalized differently, and of which of these labels do not tell."""

    pairs: Overlaps
    unclear: tuple[str, ...]


def label_overlaps(earlier: Collection, later: Collection) -> LabelOverlaps:
    """For the attributes that both collections show, and whose hierarchies differ."""
    pairs, unclear = {}, []
    for name in earlier.domain.attributes:
        if name not in later.domain.attributes:
            continue
        hierarchies = (earlier.domain.hierarchy(name), later.domain.hierarchy(name))
        if hierarchies[0].labels[0] == hierarchies[1].labels[0]:
            continue
        pairs[name], is_clear = overlapping_values(*hierarchies)
        if not is_clear and earlier.shows(name) and later.shows(name):
            unclear.append(name)
    return LabelOverlaps(pairs, tuple(unclear))


def overlapping_values(one: Hierarchy, other: Hierarchy) -> tuple[IndexArray, bool]:
    """The base values of two hierarchies that overlap, shape (2, pairs), and whether labels tell all of that.

    >>> ages, bands = Hierarchy.flat(["20-29", "30-39", "missing"]), Hierarchy.flat(["missing", "20-24", "25 and over"])
    >>> pairs, is_clear = overlapping_values(ages, bands)
    >>> sorted(zip(*pairs.tolist())), is_clear
    ([(0, 1), (0, 2), (1, 2), (2, 0)], True)
    """
    tell_all = set(one.labels[0]) == set(other.labels[0])
    pairs: dict[tuple[int, int], None] = {}
    for code, codes in _namesakes(one, other, tell_all).items():
        pairs |= dict.fromkeys((code, each) for each in codes)
    for code, codes in _namesakes(other, one, tell_all).items():
        pairs |= dict.fromkeys((each, code) for each in codes)
    left, right = ({pair[side] for pair in pairs} for side in (0, 1))
    unmatched = [code for code in range(one.size(0)) if code not in left]
    other_unmatched = [code for code in range(other.size(0)) if code not in right]
    if len(unmatched) * len(other_unmatched) > _MOST_PAIRS:
        pairs |= dict.fromkeys((code, other_unmatched[0]) for code in unmatched)
        pairs |= dict.fromkeys((unmatched[0], code) for code in other_unmatched)
        return _array(list(pairs)), False
    is_clear = True
    own, others = (
        [(h.labels[0][code], interval(h.labels[0][code])) for code in codes]
        for h, codes in ((one, unmatched), (other, other_unmatched))
    )
    for code, value in zip(unmatched, own):
        for other_code, other_value in zip(other_unmatched, others):
            overlap = _overlap(value, other_value)
            is_clear &= overlap is not None
            if overlap is not False:
                pairs[code, other_code] = None
    return _array(list(pairs)), is_clear


def _array(pairs: Sequence[tuple[int, int]]) -> IndexArray:
    return np.array(pairs, dtype=np.intp).reshape(-1, 2).T


def _namesakes(one: Hierarchy, other: Hierarchy, tell_all: bool) -> dict[int, list[int]]:
    """For each base value of the first that the second has a name for the base values of the second that it stands for.

    tell_all: whether the rest that some labels mean is the same in both.
    """
    meanings: dict[str, frozenset[int]] = {}
    for level in range(other.height):
        above = other.lift(0, level)
        if other.labels[level] == (SUPPRESSED,):
            continue
        order = np.argsort(above, kind="stable")
        members = np.split(order, np.cumsum(np.bincount(above))[:-1])
        for label, own in zip(other.labels[level], members):
            meanings.setdefault(label, frozenset(own.tolist()))  # the finest where several levels have it
    found = {}
    for code, label in enumerate(one.labels[0]):
        if not tell_all and THE_REST.fullmatch(label):
            continue
        parts = [label] if label in meanings else label.split(", ")
        if all(part in meanings and (tell_all or not THE_REST.fullmatch(part)) for part in parts):
            found[code] = sorted(frozenset().union(*(meanings[part] for part in parts)))
    return found


_Value: TypeAlias = tuple[str, Range | None]
"""A label, and the numbers that it stands for."""


def _overlap(value: _Value, other_value: _Value) -> bool | None:
    """Whether two values have something in common, by what their labels say; None where these do not tell."""
    (label, numbers), (other, other_numbers) = value, other_value
    if THE_REST.fullmatch(label) or THE_REST.fullmatch(other):
        return None
    are_numbers = [own is not None and not own.is_empty for own in (numbers, other_numbers)]
    if numbers is not None and other_numbers is not None and all(are_numbers):
        return numbers.meets(other_numbers)
    if any(are_numbers) and MISSING in (label, other):
        return False
    prefixes = sorted((label.rstrip(SUPPRESSED), other.rstrip(SUPPRESSED)), key=len)
    if label.endswith(SUPPRESSED) or other.endswith(SUPPRESSED):
        return len(label) == len(other) and prefixes[1].startswith(prefixes[0])
    return None
