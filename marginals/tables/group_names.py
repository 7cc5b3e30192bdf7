"""Names of groups of values, such as a person would give, that let nobody compute a count.

A name is published, so it is judged like a count (design 4.17). It names all members of its group or none. Members that
anybody could list may have no rows, so naming them tells nothing. Members that are named because they occur are in the
table for certain. So each must be one that could stand by itself. A rare value is named nowhere. Nor is one of a
hierarchy that may have been made with the rows.

Names are made for the finest published level. A coarser group is named by its published groups or by a node of the
hierarchy, so that levels tell nothing together. A name without members (`other job`) is one group on all levels.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import cached_property, partial
from itertools import count
from typing import Literal

import numpy as np

from marginals.tables.attribute import MISSING, Attribute
from marginals.tables.scales import (
    DATES,
    DECIMALS,
    WHOLE_NUMBERS,
    Scale,
    in_given_order,
    in_natural_order,
    round_numbers,
    whole_numbers,
)
from marginals.tables.values import MOST_CONSECUTIVE, is_plain_whole
from models.arrays import CountArray, IndexArray
from models.frozen import frozen
from models.tables.hierarchy import SUPPRESSED, Hierarchy

_LISTED = 4  # members


Listing = Literal["public", "given", "occurring"]  # everybody knows the values, a hierarchy lists them, or they occur


@frozen
class GroupName:
    """Name of a group. values: the members named, in order. others: names without members. has_missing: whether rows
    without a value are in it. occurring: how many values a reader may take to occur, by the name alone.
    """

    values: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    has_missing: bool = False
    occurring: int = 0

    @property
    def text(self) -> str:
        """Text that is published."""
        names = [*self.values, *self.others]
        last = f" and {names.pop()}" if self.others and len(names) > 1 else ""
        named = f"{', '.join(names)}{last}"
        return f"{named}{' or ' if named else ''}{MISSING}" if self.has_missing else named


@frozen(eq=False)
class NamedLevels:
    """Levels with the names that a release gives them.

    hierarchy: the ladder with these names from the finest published level on. order: the values of that level in the
    order of a release. occurring: for each value that stands for several, how many a reader may take to occur.
    """

    hierarchy: Hierarchy
    order: tuple[int, ...]
    occurring: Mapping[str, int]


@frozen(eq=False)
class GroupNaming:
    """Rules by which groups of the values of an attribute are named.

    hierarchy: its hierarchy before levels were fitted. start: the level whose values are grouped. missing: the value of
    rows without one. scale: the order of the values, if they have one.
    """

    attribute: str
    hierarchy: Hierarchy
    start: int = 0
    missing: int | None = None
    scale: Scale | None = None
    listing: Listing = "occurring"

    @classmethod
    def of(
        cls,
        name: str,
        attribute: Attribute,
        hierarchy: Hierarchy,
        *,
        start: int | None = None,
        is_observed: bool = False,
    ) -> "GroupNaming":
        """Rules for an attribute with this hierarchy. is_observed: whether only values that occur are in it."""
        start = attribute.first_merged if start is None else start
        missing = hierarchy.code(MISSING, start) if attribute.counts_missing else None
        scale = _scale(attribute, hierarchy, start, missing)
        if is_observed:
            return cls(name, hierarchy, start, missing, scale)
        if scale is not None and scale.wording is not None:
            scale = replace(scale, is_gapless=_is_gapless(attribute, hierarchy, scale, start))
        listing: Listing = "occurring" if attribute.hierarchy is None else "given"
        return cls(name, hierarchy, start, missing, scale, "public" if attribute.has_public_labels else listing)

    def named(self, ladder: Hierarchy, finest: int, counts: CountArray, least: int) -> NamedLevels:
        """Return the names of a ladder whose base values have these counts. least: rows below which none may follow."""
        return _Namer(self, ladder, finest, counts, least).named()

    def members(self, ladder: Hierarchy, level: int) -> list[IndexArray]:
        """Return the values of the level to start from under each value of a level."""
        above = ladder.lift(self.start, level)
        order = np.argsort(above, kind="stable")
        return np.split(order, np.cumsum(np.bincount(above, minlength=ladder.size(level)))[:-1])

    def by_members(self, members: IndexArray, counts: CountArray, least: int) -> GroupName | None:
        """Return a name that says which values of the level to start from, with these counts, are in a group, if one may."""
        labels, rest = self.hierarchy.labels[self.start], members[members != self.missing]
        has_missing = len(rest) < len(members)
        if len(members) == 1:
            return GroupName(tuple(labels[value] for value in rest), has_missing=has_missing, occurring=1)
        names, occurring = self._members_listed(rest, has_missing=has_missing)
        if names is None:
            return None
        occurring_count = occurring + has_missing
        is_list = not isinstance(names, str)
        # Somebody could take all values to occur that a given hierarchy lists.
        is_taken_to_occur = self.listing == "given" and not self._is_stretched and (is_list or has_missing)
        certain = len(members) if is_taken_to_occur else occurring_count
        # The names beside a stretch tell its ends, too: another name for it would help nobody.
        is_certain = self._is_stretched and not has_missing
        if certain and not is_certain and int(counts.sum()) - certain + 1 < least:
            return None
        rare = counts < least if self.listing == "occurring" else (counts > 0) & (counts < least)
        if is_list and not self._is_stretched and self.listing != "public" and rare.any():
            return None
        texts = (names,) if isinstance(names, str) else tuple(labels[value] for value in names)
        return GroupName(texts, has_missing=has_missing, occurring=occurring_count)

    def _members_listed(self, rest: IndexArray, *, has_missing: bool) -> tuple[str | list[int] | None, int]:
        between_cuts = self.scale is not None and self.scale.wording is DECIMALS and not self.scale.is_gapless
        if len(rest) == 1 and not between_cuts:
            return rest.tolist(), 1
        if self.scale is not None and self._is_stretched:
            return self._by_ends(rest), 2 * (not self.scale.is_gapless)
        if (node := self.node(rest, exactly=True)) is not None:
            # A node names none of its values, and beside the missing ones says that they are two at least.
            return node, 2 * has_missing
        if len(rest) + has_missing > _LISTED:
            return None, 0
        order = rest if self.scale is None else rest[np.argsort(self._places[rest])]
        return order.tolist(), len(rest) if self.listing == "occurring" else 0

    @property
    def _is_stretched(self) -> bool:
        return self.scale is not None and self.scale.wording is not None

    def stretch(self, values: IndexArray) -> str:
        """Return the name of a stretch of the scale."""
        return self.hierarchy.labels[self.start][int(values[0])] if len(values) == 1 else self._by_ends(values)

    def _by_ends(self, values: IndexArray) -> str:
        assert self.scale is not None, "stretches lie on a scale"
        places = self._places[values]
        text: str | None = self.scale.stretch(int(places.min()), int(places.max()))
        return f"not {MISSING}" if text is None else text

    @cached_property
    def _places(self) -> IndexArray:
        assert self.scale is not None, "places lie on a scale"
        places = np.zeros(self.hierarchy.size(self.start), dtype=np.intp)
        places[self.scale.order] = np.arange(len(self.scale.order))
        return places

    def node(self, members: IndexArray, *, exactly: bool) -> str | None:
        """Return the label of the deepest node, below `*`, over all members. exactly: only if it is over no others."""
        for level in range(self.start + 1, self.hierarchy.height):
            nodes = self.hierarchy.lift(self.start, level)
            [node, *more] = np.unique(nodes[members]).tolist()
            if not more:
                is_over_others = np.count_nonzero(nodes == node) > len(members)
                return None if exactly and is_over_others else self.hierarchy.labels[level][node]
        return None

    def of_parts(self, members: IndexArray, parts: Sequence[GroupName]) -> GroupName | None:
        """Return the name of a group by the names of its published parts alone; None for too many of them."""
        if len(parts) == 1:
            return parts[0]
        has_missing = any(part.has_missing for part in parts)
        values = [value for part in parts for value in part.values]
        others = [name for part in parts for name in part.others]
        rest = members[members != self.missing] if has_missing else members
        if self._is_stretched and not others and len(rest):
            return GroupName((self.stretch(rest),), has_missing=has_missing)
        if not self._is_stretched and len(rest) and (node := self.node(rest, exactly=True)) is not None:
            return GroupName((node,), has_missing=has_missing)
        if len(values) + len(others) + has_missing > _LISTED:
            return None
        return GroupName(tuple(values), tuple(others), has_missing)

    def without_members(self, members: IndexArray) -> str:
        """Return the beginning of a name without members."""
        return f"other {self.node(members, exactly=False) or self.attribute}"


@frozen
class KeptNames:
    """Names that an earlier release of a series gave. Their values may have no rows now, so none is taken to occur."""

    def named(self, ladder: Hierarchy, finest: int, _counts: CountArray, _least: int) -> NamedLevels:
        """Return the levels as they are; values without members stand at the end, as in the first release."""
        labels = ladder.labels[finest]
        order = sorted(range(len(labels)), key=lambda code: labels[code].startswith("other "))
        return NamedLevels(ladder, tuple(order), {})


class _Namer:
    """Names of one ladder, as they are given out. Each stands for one set of published values."""

    def __init__(self, naming: GroupNaming, ladder: Hierarchy, finest: int, counts: CountArray, least: int) -> None:
        self._naming, self._ladder, self._finest, self._least = naming, ladder, finest, least
        self._of_values = lifted_counts(ladder, naming.start, counts)
        self._counts = lifted_counts(ladder, finest, counts)
        # Where everybody knows the values, all of the ladder is told, whatever the rows are.
        self._is_told = (self._counts > 0) | (naming.listing == "public")
        self._meanings: dict[str, frozenset[int]] = {}
        known_levels = () if naming.listing == "occurring" else naming.hierarchy.labels
        self._labels = {label for level_labels in known_levels for label in level_labels}
        self._names: dict[int, GroupName] = {}
        # Next numbers of names without members, by how these begin.
        self._numbers: defaultdict[str, Iterator[int]] = defaultdict(partial(count, 1))
        self._numbered: dict[tuple[str, frozenset[int]], GroupName] = {}

    def named(self) -> NamedLevels:
        ladder, finest = self._ladder, self._finest
        labels = list(ladder.labels)
        if finest >= ladder.height:
            return NamedLevels(ladder, tuple(range(ladder.size(finest))), {})
        if finest <= self._naming.start:
            missing = None if self._naming.missing is None else MISSING
            for code, label in enumerate(ladder.labels[finest]):
                self._names[code] = GroupName(has_missing=True) if label == missing else GroupName((label,))
                self._meanings[label] = frozenset([code])
        for level in range(max(finest, self._naming.start + 1), ladder.height):
            labels[level] = tuple(self._of_level(level))
        order = sorted(self._names, key=self._place)
        several = np.bincount(ladder.lift(min(finest, self._naming.start), finest)) > 1
        groups = {code: name for code, name in self._names.items() if several[code] and (name.occurring or name.others)}
        occurring = {labels[finest][code]: name.occurring for code, name in groups.items()}
        return NamedLevels(replace(ladder, labels=tuple(labels)), tuple(order), occurring)

    def _place(self, code: int) -> tuple[bool, int, int]:
        # Names without members stand at the end in the order of their numbers, which is that of falling counts.
        is_last = bool(self._names[code].others)
        return is_last, -int(self._counts[code]) if is_last else 0, code

    def _of_level(self, level: int) -> Iterator[str]:
        """Names of the values of a level, those of most rows first among those without members."""
        naming, ladder = self._naming, self._ladder
        above = ladder.lift(self._finest, level).astype(np.intp)
        rows = np.bincount(above, self._counts, minlength=ladder.size(level)).astype(np.int64)
        members = naming.members(ladder, level)
        group_names: dict[int, GroupName] = {}
        order = sorted(range(len(members)), key=lambda code: (-int(rows[code]), code))
        all_parts = self._parts(above, len(members))
        parts = {code: all_parts[code] for code in order if all_parts[code]}
        for code in parts:
            if level == self._finest:
                name = naming.by_members(members[code], self._of_values[members[code]], self._least)
            else:
                named = [self._names[part] for part in sorted(parts[code], key=self._place)]
                name = naming.of_parts(members[code], named)
            if name is not None:
                group_names[code] = self._unique(name, parts[code], is_single=len(members[code]) == 1)
        for code in parts:
            if code not in group_names:
                start = naming.without_members(members[code])
                if (start, parts[code]) not in self._numbered:
                    numbered = (GroupName(others=(f"{start} {n}" if n > 1 else start,)) for n in self._numbers[start])
                    self._numbered[start, parts[code]] = self._first(parts[code], numbered)
                group_names[code] = self._numbered[start, parts[code]]
        if level == self._finest:
            self._names = group_names
        nobody = count(1)
        taken = {name.text for name in group_names.values()}
        for code in range(len(members)):
            if code in group_names:
                yield group_names[code].text
                continue
            # No release shows it; its name only has to be another one.
            label = naming.hierarchy.labels[naming.start][members[code][0]] if len(members[code]) == 1 else ""
            while not label or label in taken:
                label = f"{naming.without_members(members[code])}, without rows ({next(nobody)})"
            taken.add(label)
            yield label

    def _parts(self, above: IndexArray, size: int) -> list[frozenset[int]]:
        counted = np.flatnonzero(self._is_told)
        order = counted[np.argsort(above[counted], kind="stable")]
        ends = np.cumsum(np.bincount(above[counted], minlength=size))
        return [frozenset(part.tolist()) for part in np.split(order, ends[:-1])]

    def _unique(self, name: GroupName, parts: frozenset[int], *, is_single: bool) -> GroupName:
        is_listed = len(name.values) + len(name.others) > 1
        if (is_single or not is_listed or name.text not in self._labels) and self._takes(name.text, parts):
            return name
        *before, last = name.values or ("",)
        return self._first(parts, (replace(name, values=(*before, f"{last} ({number})")) for number in count(2)))

    def _first(self, parts: frozenset[int], names: Iterable[GroupName]) -> GroupName:
        return next(name for name in names if name.text not in self._labels and self._takes(name.text, parts))

    def _takes(self, text: str, parts: frozenset[int]) -> bool:
        return text != SUPPRESSED and self._meanings.setdefault(text, parts) == parts


_OR_MISSING = re.compile(r"(?<=.) or missing(?: \([0-9]+\))?$", re.DOTALL)


def seemingly_listed(label: str) -> int:
    """Return how many values a label seems to list, of which a reader cannot tell whether each occurs."""
    return 1 + label.count(", ") + label.count(" and ") + len(_OR_MISSING.findall(label))


def lifted_counts(hierarchy: Hierarchy, level: int, counts: CountArray) -> CountArray:
    """Return the rows of each value of a level, by those of the base values."""
    return np.bincount(hierarchy.lift(0, level), counts, hierarchy.size(level)).astype(np.int64)


def _scale(attribute: Attribute, hierarchy: Hierarchy, start: int, missing: int | None) -> Scale | None:
    if start >= hierarchy.height:
        return None  # nothing but missing values
    labels = [label for value, label in enumerate(hierarchy.labels[start]) if value != missing]
    if not labels or (missing is not None and missing != len(labels)):
        return None  # the hierarchy has a place for what is missing
    if attribute.has_decimals and attribute.intervals:
        ends = [(low, high) for low, _, high in (label.partition("-<") for label in labels)]
        return Scale(np.arange(len(labels)), ends, DECIMALS)
    if attribute.dates:
        return Scale(np.arange(len(labels)), [(label, label) for label in labels], DATES)
    if attribute.order:
        return in_given_order(labels, attribute.order)
    if attribute.prefixes or attribute.has_names:
        return None
    if attribute.hierarchy is not None:
        return whole_numbers(labels)
    if (scale := round_numbers(labels) or whole_numbers(labels)) is not None:
        return scale
    ordered = in_natural_order(labels)
    return None if ordered is None else in_given_order(labels, ordered)


def _is_gapless(attribute: Attribute, hierarchy: Hierarchy, scale: Scale, start: int) -> bool:
    # Whether the values between the ends were fixed without the rows.
    if attribute.dates:
        days = [day for day in hierarchy.labels[0] if day != MISSING]
        are_days = all(len(day) == len("2023-11-12") for day in days)
        return are_days and (date.fromisoformat(max(days)) - date.fromisoformat(min(days))).days == len(days) - 1
    if attribute.intervals or attribute.hierarchy is not None:
        return scale.has_no_gap
    labels = [label for label in hierarchy.labels[start] if label != MISSING]
    is_filled = len(labels) <= MOST_CONSECUTIVE and all(map(is_plain_whole, labels))
    return is_filled and scale.wording is WHOLE_NUMBERS and scale.has_no_gap
