"""Names of groups of values, such as a person would give, that let nobody compute a count.

A name is published, so it is judged like a count (design 4.17). It names all members of its group or none. Members that
anybody could list may have no rows, so naming them tells nothing. Members that are named because they occur are in the table
for certain: each is then one that could stand by itself, since a rare value must be named nowhere. Nor is a rare value of a
given hierarchy named, which may have been made with the rows. Names are made for the finest published level; the name of a
coarser group is made of the names of the published groups in it, or is that of a node of the given hierarchy, so that levels
tell nothing beside each other. A name without members (`other job`) stands for one group on all levels.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from enum import Enum
from functools import cached_property, partial
from itertools import count, pairwise

import numpy as np

from marginals.tables.attribute import MISSING, Attribute
from marginals.tables.scales import (
    DECIMALS,
    WHOLE_NUMBERS,
    Scale,
    dates,
    decimal_bands,
    in_given_order,
    round_numbers,
    texts,
    whole_numbers,
)
from marginals.tables.values import MOST_CONSECUTIVE, is_plain_whole
from models.arrays import CountArray, IndexArray
from models.tables.hierarchy import SUPPRESSED, Hierarchy

_LISTED = 4
"""Members that a name lists at most."""


class Listing(Enum):
    """Who knows which values an attribute can have.

    PUBLIC: everybody. GIVEN: a hierarchy lists them, which may have been made with the rows or without. OCCURRING: they are
    those that occur.
    """

    PUBLIC = "public"
    GIVEN = "given"
    OCCURRING = "occurring"


@dataclass(frozen=True)
class GroupName:
    """The name of a group. values: what it names, in order. others: names without members in it. has_missing: whether it
    names the rows without a value too.

    occurring: how many values a reader may take to occur, each with a row at least, by the name alone.

    >>> GroupName(("cook", "driver"), ("other job",), has_missing=True).text
    'cook, driver and other job or missing'
    """

    values: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    has_missing: bool = False
    occurring: int = 0

    @property
    def text(self) -> str:
        """As it is published."""
        listed = [*self.values, *self.others]
        last = f" and {listed.pop()}" if self.others and len(listed) > 1 else ""
        named = f"{', '.join(listed)}{last}"
        return f"{named}{' or ' if named else ''}{MISSING}" if self.has_missing else named


@dataclass(frozen=True, eq=False)
class NamedLevels:
    """Levels with the names that a release gives them.

    hierarchy: as the ladder, with other labels from the finest published level on. order: the values of that level in the
    order in which a release lists them, which tells nothing of members that are not named. occurring: of each value of that
    level that stands for several, how many of these a reader may take to occur, by its name; 0 where it names none.
    """

    hierarchy: Hierarchy
    order: tuple[int, ...]
    occurring: Mapping[str, int]


@dataclass(frozen=True, eq=False)
class GroupNaming:
    """How groups of the values of an attribute are named.

    attribute: its name. given: its hierarchy before levels were fitted. start: the level whose values are grouped. missing:
    the value of rows without one, if it is among these. scale: where they stand in an order. listing: who knows which values
    there are.

    >>> jobs = Attribute("quasi-identifier", ladder="fitted")
    >>> naming = GroupNaming.of("job", jobs, jobs.hierarchy_of(["clerk", "cook", "smith"]))
    >>> ladder = Hierarchy.from_rows([("clerk", "1", "*"), ("cook", "2", "*"), ("smith", "2", "*")])
    >>> [naming.named(ladder, 1, np.array([30, 12, smiths]), 10).hierarchy.labels[1] for smiths in (9, 10)]
    [('clerk', 'other job'), ('clerk', 'cook, smith')]
    """

    attribute: str
    given: Hierarchy
    start: int = 0
    missing: int | None = None
    scale: Scale | None = None
    listing: Listing = Listing.OCCURRING

    @classmethod
    def of(
        cls,
        name: str,
        attribute: Attribute,
        given: Hierarchy,
        *,
        start: int | None = None,
        is_observed: bool = False,
    ) -> "GroupNaming":
        """Of an attribute with this hierarchy. start: the level whose values are grouped, where it is not that which the
        attribute says. is_observed: whether only values that occur are left in it.
        """
        start = attribute.first_merged if start is None else start
        missing = given.code(MISSING, start) if attribute.counts_missing else None
        scale = _scale(attribute, given, start, missing)
        if is_observed:
            return cls(name, given, start, missing, scale)
        if scale is not None and scale.wording is not None:
            scale = replace(scale, is_gapless=_is_gapless(attribute, given, scale, start))
        if attribute.has_public_labels or attribute.population is not None:
            return cls(name, given, start, missing, scale, Listing.PUBLIC)
        listing = Listing.OCCURRING if attribute.hierarchy is None else Listing.GIVEN
        return cls(name, given, start, missing, scale, listing)

    @classmethod
    def over(cls, name: str, attribute: Attribute, ladder: Hierarchy, *, is_observed: bool = False) -> "GroupNaming":
        """Of an attribute whose levels were fitted already."""
        values = ladder.labels[0]
        given = attribute.hierarchy_of(values)
        if given.size(0) > len(values):
            codes = [code for value in values if (code := given.code(value, 0)) is not None]
            given = given.restricted_to(codes)
        return cls.of(name, attribute, given, is_observed=is_observed)

    def named(self, ladder: Hierarchy, finest: int, counts: CountArray, least: int) -> NamedLevels:
        """The names of the levels of a ladder from the finest published one on.

        ladder: over the base values of the given hierarchy; up to the level to start from its levels are those of the given
        one. counts: rows of each base value, shape (ladder.size(0),). least: rows below which no count may follow.
        """
        return _Namer(self, ladder, finest, counts, least).named()

    def members(self, ladder: Hierarchy, level: int) -> list[IndexArray]:
        """Of each value of a level the values of the level to start from that it stands for."""
        above = ladder.lift(self.start, level)
        order = np.argsort(above, kind="stable")
        return np.split(order, np.cumsum(np.bincount(above, minlength=ladder.size(level)))[:-1])

    def by_members(self, members: IndexArray, counts: CountArray, least: int) -> GroupName | None:
        """The name of a group that tells which values are in it; None where none may.

        members: values of the level to start from, ascending. counts: rows of each of them.
        """
        labels, rest = self.given.labels[self.start], members[members != self.missing]
        has_missing = len(rest) < len(members)
        if len(members) == 1:
            return GroupName(tuple(labels[value] for value in rest), has_missing=has_missing, occurring=1)
        listed, occurring = self._listed(rest, has_missing=has_missing)
        if listed is None:
            return None
        told = occurring + has_missing
        is_list = not isinstance(listed, str)
        # Somebody could take all values to occur that a given hierarchy lists.
        is_taken_to_occur = self.listing is Listing.GIVEN and not self._is_stretched and (is_list or has_missing)
        known = len(members) if is_taken_to_occur else told
        # The ends of a stretch are told by the names beside it, too: another name for it would help nobody.
        is_certain = self._is_stretched and not has_missing
        if known and not is_certain and int(counts.sum()) - known + 1 < least:
            return None
        rare = counts < least if self.listing is Listing.OCCURRING else (counts > 0) & (counts < least)
        if is_list and not self._is_stretched and self.listing is not Listing.PUBLIC and rare.any():
            return None
        texts = (listed,) if isinstance(listed, str) else tuple(labels[value] for value in listed)
        return GroupName(texts, has_missing=has_missing, occurring=told)

    def _listed(self, rest: IndexArray, *, has_missing: bool) -> tuple[str | list[int] | None, int]:
        """What names some values, and how many of these are told to occur; None where nothing does."""
        occurs = self.listing is Listing.OCCURRING
        between_cuts = self.scale is not None and self.scale.wording is DECIMALS and not self.scale.is_gapless
        if len(rest) == 1 and not between_cuts:
            return rest.tolist(), 1
        if self.scale is not None and self._is_stretched:
            return self._by_ends(rest), 2 * (not self.scale.is_gapless)
        if (node := self.node(rest, whole=True)) is not None:
            # A node names none of its values, and beside the missing ones says that they are two at least.
            return node, 2 * has_missing
        if len(rest) + has_missing > _LISTED:
            return None, 0
        order = rest if self.scale is None else rest[np.argsort(self._places[rest])]
        return order.tolist(), len(rest) if occurs else 0

    @property
    def _is_stretched(self) -> bool:
        """Whether groups are called by the ends of stretches."""
        return self.scale is not None and self.scale.wording is not None

    def stretch(self, values: IndexArray) -> str:
        """What a stretch of the scale is called, a value by itself as it is."""
        return self.given.labels[self.start][int(values[0])] if len(values) == 1 else self._by_ends(values)

    def _by_ends(self, values: IndexArray) -> str:
        """What a stretch is called by its ends; all of the scale stands beside the missing values alone."""
        assert self.scale is not None, "stretches lie on a scale"
        places = self._places[values]
        text: str | None = self.scale.stretch(int(places.min()), int(places.max()))
        return f"not {MISSING}" if text is None else text

    @cached_property
    def _places(self) -> IndexArray:
        """The place of each value of the level to start from on the scale."""
        assert self.scale is not None, "places lie on a scale"
        places = np.zeros(self.given.size(self.start), dtype=np.intp)
        places[self.scale.order] = np.arange(len(self.scale.order))
        return places

    def node(self, members: IndexArray, *, whole: bool) -> str | None:
        """The label of the deepest node, below `*`, that all members lie under; where asked for, only of theirs alone."""
        for level in range(self.start + 1, self.given.height):
            nodes = self.given.lift(self.start, level)
            [node, *more] = np.unique(nodes[members]).tolist()
            if not more:
                alone = np.count_nonzero(nodes == node) == len(members)
                return self.given.labels[level][node] if alone or not whole else None
        return None

    def of_parts(self, members: IndexArray, parts: Sequence[GroupName]) -> GroupName | None:
        """The name of a group that is made of published ones, of their names and nothing else; None for too many of them."""
        if len(parts) == 1:
            return parts[0]
        has_missing = any(part.has_missing for part in parts)
        values = [value for part in parts for value in part.values]
        others = [name for part in parts for name in part.others]
        rest = members[members != self.missing] if has_missing else members
        if self._is_stretched and not others and len(rest):
            return GroupName((self.stretch(rest),), has_missing=has_missing)
        if not self._is_stretched and len(rest) and (node := self.node(rest, whole=True)) is not None:
            return GroupName((node,), has_missing=has_missing)
        if len(values) + len(others) + has_missing > _LISTED:
            return None
        return GroupName(tuple(values), tuple(others), has_missing)

    def without_members(self, members: IndexArray) -> str:
        """The beginning of the name of a group that names none of its members."""
        return f"other {self.node(members, whole=False) or self.attribute}"


@dataclass(frozen=True)
class KeptNames:
    """The names that another release gave: those of a series were made for its first one, and stay.

    What they named then may have no rows now, so that nothing is known to occur.
    """

    def named(self, ladder: Hierarchy, finest: int, _counts: CountArray, _least: int) -> NamedLevels:
        """The levels as they are; values of the finest published one without members stand at the end, as in the first."""
        labels = ladder.labels[finest]
        order = sorted(range(len(labels)), key=lambda code: labels[code].startswith("other "))
        return NamedLevels(ladder, tuple(order), {})


class _Namer:
    """Names of one ladder, as they are given out. Each stands for one set of published values."""

    def __init__(self, naming: GroupNaming, ladder: Hierarchy, finest: int, counts: CountArray, least: int) -> None:
        self._naming, self._ladder, self._finest, self._least = naming, ladder, finest, least
        self._of_values = _lifted(ladder, naming.start, counts)
        self._counts = _lifted(ladder, finest, counts)
        # Where everybody knows the values, all of the ladder is told, whatever the rows are.
        self._is_told = (self._counts > 0) | (naming.listing is Listing.PUBLIC)
        self._meanings: dict[str, frozenset[int]] = {}
        is_known = naming.listing is not Listing.OCCURRING
        self._known: Collection[str] = (
            {label for level_labels in naming.given.labels for label in level_labels} if is_known else set()
        )
        self._names: dict[int, GroupName] = {}
        self._numbers: defaultdict[str, Iterator[int]] = defaultdict(partial(count, 1))
        """Numbers of names without members that no group has yet, by how the names begin."""
        self._numbered: dict[tuple[str, frozenset[int]], GroupName] = {}

    def named(self) -> NamedLevels:
        ladder, finest = self._ladder, self._finest
        labels = list(ladder.labels)
        if finest >= ladder.height:
            return NamedLevels(ladder, tuple(range(ladder.size(finest))), {})
        if finest <= self._naming.start:
            missing = None if self._naming.missing is None else MISSING
            self._names = {
                code: GroupName(has_missing=True) if label == missing else GroupName((label,))
                for code, label in enumerate(ladder.labels[finest])
            }
            self._meanings = {label: frozenset([code]) for code, label in enumerate(ladder.labels[finest])}
        for level in range(max(finest, self._naming.start + 1), ladder.height):
            labels[level] = tuple(self._of_level(level))
        order = sorted(self._names, key=self._place)
        several = np.bincount(ladder.lift(min(finest, self._naming.start), finest)) > 1
        told = {
            labels[finest][code]: name.occurring
            for code, name in self._names.items()
            if several[code] and (name.occurring or name.others)
        }
        return NamedLevels(replace(ladder, labels=tuple(labels)), tuple(order), told)

    def _place(self, code: int) -> tuple[bool, int, int]:
        """Names without members stand at the end in the order of their numbers, which is that of falling counts."""
        is_last = bool(self._names[code].others)
        return is_last, -int(self._counts[code]) if is_last else 0, code

    def _of_level(self, level: int) -> Iterator[str]:
        """The names of the values of a level, those of most rows first among those without members."""
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
                name = naming.of_parts(
                    members[code], [self._names[part] for part in sorted(parts[code], key=self._place)]
                )
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
            label = naming.given.labels[naming.start][members[code][0]] if len(members[code]) == 1 else ""
            while not label or label in taken:
                label = f"{naming.without_members(members[code])}, without rows ({next(nobody)})"
            taken.add(label)
            yield label

    def _parts(self, above: IndexArray, size: int) -> list[frozenset[int]]:
        """Of each value of a coarser level the values of the finest published one in it, as far as they have rows."""
        told = np.flatnonzero(self._is_told)
        order = told[np.argsort(above[told], kind="stable")]
        ends = np.cumsum(np.bincount(above[told], minlength=size))
        return [frozenset(part.tolist()) for part in np.split(order, ends[:-1])]

    def _unique(self, name: GroupName, parts: frozenset[int], *, is_single: bool) -> GroupName:
        """The name, with a number where it stands for something else already."""
        is_listed = len(name.values) + len(name.others) > 1
        if (is_single or not is_listed or name.text not in self._known) and self._takes(name.text, parts):
            return name
        *before, last = name.values or ("",)
        return self._first(parts, (replace(name, values=(*before, f"{last} ({number})")) for number in count(2)))

    def _first(self, parts: frozenset[int], names: Iterable[GroupName]) -> GroupName:
        return next(name for name in names if name.text not in self._known and self._takes(name.text, parts))

    def _takes(self, text: str, parts: frozenset[int]) -> bool:
        return text != SUPPRESSED and self._meanings.setdefault(text, parts) == parts


_OR_MISSING = re.compile(r"(?<=.) or missing(?: \([0-9]+\))?$", re.DOTALL)


def seemingly_listed(label: str) -> int:
    """How many values a label looks as if it listed, of which a reader cannot tell whether each occurs; 1 for a plain name.

    >>> [seemingly_listed(label) for label in ("cook, driver and nun", "22 or missing", "20-24")]
    [3, 2, 1]
    """
    return 1 + label.count(", ") + label.count(" and ") + len(_OR_MISSING.findall(label))


def _lifted(hierarchy: Hierarchy, level: int, counts: CountArray) -> CountArray:
    """The rows of each value of a level, by those of the base values."""
    lifted = np.zeros(hierarchy.size(level), dtype=np.int64)
    np.add.at(lifted, hierarchy.lift(0, level), counts)
    return lifted


def _scale(attribute: Attribute, given: Hierarchy, start: int, missing: int | None) -> Scale | None:
    """The order of the values at the level to start from, a value for missing ones left out."""
    if start >= given.height:
        return None  # nothing but missing values
    labels = [label for value, label in enumerate(given.labels[start]) if value != missing]
    if missing is not None and missing != len(labels):
        return None  # the hierarchy has a place for it
    if attribute.has_decimals and attribute.intervals:
        return decimal_bands(labels)
    if attribute.dates:
        return dates(labels)
    if attribute.order:
        return in_given_order(labels, attribute.order)
    if attribute.prefixes or attribute.has_names or not labels:
        return None
    if attribute.hierarchy is not None:
        return whole_numbers(labels)
    return round_numbers(labels) or whole_numbers(labels) or texts(labels)


def _is_gapless(attribute: Attribute, given: Hierarchy, scale: Scale, start: int) -> bool:
    """Whether which values there are between the ends was fixed without the rows."""
    if attribute.dates:
        return _are_consecutive([day for day in given.labels[0] if day != MISSING])
    if attribute.intervals or attribute.hierarchy is not None:
        return scale.has_no_gap
    labels = [label for label in given.labels[start] if label != MISSING]
    is_filled = len(labels) <= MOST_CONSECUTIVE and all(map(is_plain_whole, labels))
    return is_filled and scale.wording is WHOLE_NUMBERS and scale.has_no_gap


def _are_consecutive(days: Sequence[str]) -> bool:
    """Whether each is a day, and the one after the one before."""
    if not all(len(day) == len("2023-11-12") for day in days):
        return False
    numbers = [date.fromisoformat(day).toordinal() for day in days]
    return all(after == before + 1 for before, after in pairwise(numbers))
