"""One hierarchy for what several releases say of an attribute, each of which names no labels but those that it publishes.

Which levels of two hierarchies are the same follows from their labels and how many rows each has. Where neither hierarchy
holds the other, labels that spell out what they stand for, `20-24` and `20-29` or `148**` and `14***`, say how they nest;
it is taken for true only if the counts agree with it.
"""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from marginals.conditions.labels import interval
from models.arrays import CountArray
from models.errors import HierarchyError
from models.tables.hierarchy import SUPPRESSED, Hierarchy


def _anywhere(level: int, place: int) -> bool:  # noqa: ARG001
    return True


def matched_levels(
    part: Hierarchy, whole: Hierarchy, fits: Callable[[int, int], bool] = _anywhere
) -> tuple[int, ...] | None:
    """For each level of a hierarchy the finest of another one that has its labels, and more perhaps, and puts them together
    likewise; None where there is none.

    fits: whether a level of the first can be a level of the second, for another reason.

    >>> towns = Hierarchy.from_prefixes(["14850", "14853", "13063"], [4, 2])
    >>> matched_levels(towns.over_levels([1], [0]), towns)
    (1, 3)
    """
    places: list[int] = []
    for level in range(part.height):
        first = places[-1] + 1 if places else 0
        matching = (
            place
            for place in range(first, whole.height)
            if set(part.labels[level]) <= set(whole.labels[place])
            and (not places or _generalizes_alike(part, level, whole, places[-1], place))
            and fits(level, place)
        )
        if (place := next(matching, None)) is None:
            return None
        places.append(place)
    return (*places, whole.height)


def _generalizes_alike(part: Hierarchy, level: int, whole: Hierarchy, below: int, place: int) -> bool:
    """Whether the values of the level before become the same ones at a level of the other hierarchy."""
    lifted, codes = whole.lift(below, place), part.lift(level - 1, level)
    return all(
        whole.labels[place][lifted[whole.code(label, below)]] == part.labels[level][codes[code]]
        for code, label in enumerate(part.labels[level - 1])
    )


@dataclass(frozen=True, eq=False)
class CountedHierarchy:
    """A hierarchy, and how many rows the values of the finest published level have: shape (size(finest),).

    finest: the level of `*` where none is published.
    """

    hierarchy: Hierarchy
    finest: int
    counts: CountArray

    def counts_at(self, level: int) -> Mapping[str, int] | None:
        """The rows of the values of a level that have some, None where that is not published."""
        if level < self.finest:
            return None
        codes = self.hierarchy.lift(self.finest, level)
        rows = np.bincount(codes, self.counts, minlength=self.hierarchy.size(level)).astype(np.int64).tolist()
        return {label: count for label, count in zip(self.hierarchy.labels[level], rows) if count}

    def levels_in(self, whole: "CountedHierarchy") -> tuple[int, ...] | None:
        """The levels of another hierarchy that are those of this one, counted alike where both count them.

        None where labels and counts match none. Where only the labels match they decide, and the two contradict each other.
        """
        by_labels = matched_levels(self.hierarchy, whole.hierarchy)
        return self._counted_levels_in(whole) or (by_labels if self._has_all_below(whole, by_labels) else None)

    def _counted_levels_in(self, whole: "CountedHierarchy") -> tuple[int, ...] | None:
        def fits(level: int, place: int) -> bool:
            own, other = self.counts_at(level), whole.counts_at(place)
            return own is None or other is None or own == other

        levels = matched_levels(self.hierarchy, whole.hierarchy, fits)
        return levels if self._has_all_below(whole, levels) else None

    def _has_all_below(self, whole: "CountedHierarchy", levels: tuple[int, ...] | None) -> bool:
        """Whether the published values stand for as many base values as in the other hierarchy, which has these levels.

        Values without rows can be missing where they would be published, but not below.
        """
        if levels is None or not self.finest:
            return True
        place = levels[self.finest]
        below = np.bincount(whole.hierarchy.lift(levels[0], place), minlength=whole.hierarchy.size(place))
        own_below = dict(zip(self.hierarchy.labels[self.finest], self.hierarchy.leaf_counts(self.finest).tolist()))
        labels = self.counts_at(self.finest) or {}
        return all(own_below[label] == below[whole.hierarchy.code(label, place)] for label in labels)

    def over(self, hierarchy: Hierarchy, levels: tuple[int, ...]) -> "CountedHierarchy":
        """The same counts in another hierarchy, of which these levels are those of this one."""
        finest = levels[self.finest]
        counts = np.zeros(hierarchy.size(finest), dtype=np.int64)
        for label, count in (self.counts_at(self.finest) or {}).items():
            counts[hierarchy.code(label, finest)] = count
        return CountedHierarchy(hierarchy, finest, counts)

    def merged(self, other: "CountedHierarchy") -> "CountedHierarchy | None":
        """What holds both hierarchies, with the finer counts; None where labels and counts do not say how they nest."""
        for part, whole in ((other, self), (self, other)):
            if (levels := part.levels_in(whole)) is not None:
                return min(whole, part.over(whole.hierarchy, levels), key=lambda counted: counted.finest)
        for fine, coarse in ((self, other), (other, self)):
            hierarchy = _interleaved(fine.hierarchy, coarse.hierarchy)
            levels = None if hierarchy is None else matched_levels(fine.hierarchy, hierarchy)
            if hierarchy is not None and levels is not None:
                whole = fine.over(hierarchy, levels)
                if coarse._counted_levels_in(whole) is not None:
                    return whole
        return None

    @property
    def published_levels(self) -> "CountedHierarchy":
        """The same from the finest published level on."""
        levels = range(self.finest, self.hierarchy.height)
        codes = range(self.hierarchy.size(self.finest))
        return CountedHierarchy(self.hierarchy.over_levels(levels, codes), 0, self.counts)


def _interleaved(fine: Hierarchy, coarse: Hierarchy) -> Hierarchy | None:
    """The hierarchy with the base values of the first and the levels of both; None where these do not nest."""
    base_in_coarse = next(filter(None, (_values_over(fine, level, coarse) for level in range(fine.height))), None)
    if base_in_coarse is None:
        return None
    paths = [coarse.lift(0, level)[base_in_coarse] for level in range(coarse.height)]
    levels = [[fine.labels[level][code] for code in fine.lift(0, level)] for level in range(fine.height)]
    levels += [[labels[code] for code in path] for labels, path in zip(coarse.labels, paths)]
    # The same labels for the same values are one level; of nested levels, one with fewer values is above.
    distinct = sorted(dict.fromkeys(map(tuple, levels)), key=lambda labels: -len(set(labels)))
    try:
        return Hierarchy.from_rows(zip(*distinct, [SUPPRESSED] * fine.size(0)))
    except HierarchyError:
        return None


def _values_over(fine: Hierarchy, level: int, coarse: Hierarchy) -> list[int] | None:
    """For each base value of the first the base value of the second over it, by how its label at a level is spelled.

    None where one has none, or several.
    """
    spelled = _Spelled(coarse.labels[0])
    over = [coarse.code(label, 0) for label in fine.labels[level]]
    codes = [spelled.over(label) if code is None else code for label, code in zip(fine.labels[level], over)]
    return None if None in codes else [code for code in (codes[c] for c in fine.lift(0, level)) if code is not None]


class _Spelled:
    """Labels that spell out what they stand for, as intervals or as prefixes."""

    def __init__(self, labels: Sequence[str]) -> None:
        self._ranges = sorted((own, code) for code, label in enumerate(labels) if (own := interval(label)) is not None)
        self._lows = [own.low for own, _ in self._ranges]
        self._are_disjoint = not any(one.meets(other) for (one, _), (other, _) in pairwise(self._ranges))
        stars = [(label.rstrip(SUPPRESSED), len(label), code) for code, label in enumerate(labels)]
        self._prefixes = {(prefix, length): code for prefix, length, code in stars if len(prefix) < length}

    def over(self, label: str) -> int | None:
        """The code of the one label that spells out more than this one; None where there is none, or several."""
        if (own := interval(label)) is not None and self._ranges:
            wide, code = self._ranges[max(bisect_right(self._lows, own.low) - 1, 0)]
            return code if self._are_disjoint and wide.holds(own) else None
        shorter = (self._prefixes.get((label[:kept], len(label))) for kept in range(len(label)))
        over = [code for code in shorter if code is not None]
        return over[0] if len(over) == 1 else None
