"""Values of two releases by labels and counts: one hierarchy for both, their overlaps, and columns that may be one."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, pairwise, product
from math import comb, factorial, prod
from typing import NamedTuple, TypeAlias
from unicodedata import normalize

import numpy as np

from checks.changes import Overlaps
from marginals.bundle.content import BundleContent
from marginals.tables.attribute import MISSING
from marginals.tables.intervals import Range, interval, numbers_of
from models.arrays import CountArray, IndexArray
from models.errors import HierarchyError
from models.frozen import frozen
from models.graphs.junction_tree import Collection
from models.programs.cell_bounds import FLOW_LIMIT, largest_flow
from models.tables.data_cube import DataCube
from models.tables.hierarchy import SUPPRESSED, Hierarchy

MOST_PAIRS = 1_000_000  # of more combinations, any two may overlap


# One hierarchy of an attribute for several releases. Labels and counts say which levels of two are the same. If neither
# holds the other, labels that spell out what they stand for, `20-24` and `20-29` or `148**` and `14***`, say how they nest.


def matched_levels(
    part: Hierarchy, full: Hierarchy, fits: Callable[[int, int], bool] = lambda _level, _place: True
) -> tuple[int, ...] | None:
    """Return the finest levels of a full hierarchy with the labels and groups of each level of a part; None without one."""
    places: list[int] = []
    for level in range(part.height):
        matching = (
            place
            for place in range(places[-1] + 1 if places else 0, full.height)
            if set(part.labels[level]) <= set(full.labels[place])
            and (not places or _generalizes_alike(part, level, full, places[-1], place))
            and fits(level, place)
        )
        if (place := next(matching, None)) is None:
            return None
        places.append(place)
    return (*places, full.height)


def _generalizes_alike(part: Hierarchy, level: int, full: Hierarchy, below: int, place: int) -> bool:
    lifted, codes = full.lift(below, place), part.lift(level - 1, level)
    return all(
        full.labels[place][lifted[full.code(label, below)]] == part.labels[level][codes[code]]
        for code, label in enumerate(part.labels[level - 1])
    )


@frozen(eq=False)
class CountedHierarchy:
    """Hierarchy with the rows of each value of its finest published level, which is that of `*` if none is published."""

    hierarchy: Hierarchy
    finest: int
    counts: CountArray

    def counts_at(self, level: int) -> Mapping[str, int] | None:
        """Rows of the values of a level, without those that have none; None if the level is not published."""
        if level < self.finest:
            return None
        codes = self.hierarchy.lift(self.finest, level)
        rows = np.bincount(codes, self.counts, minlength=self.hierarchy.size(level)).astype(np.int64).tolist()
        return {label: count for label, count in zip(self.hierarchy.labels[level], rows) if count}

    def levels_in(self, full: "CountedHierarchy") -> tuple[int, ...] | None:
        """Levels of a full hierarchy that are those of this one, by counts if both have them, else by labels."""
        by_labels = matched_levels(self.hierarchy, full.hierarchy)
        return self._counted_levels_in(full) or (by_labels if self._has_all_below(full, by_labels) else None)

    def _counted_levels_in(self, full: "CountedHierarchy") -> tuple[int, ...] | None:
        def fits(level: int, place: int) -> bool:
            rows, other = self.counts_at(level), full.counts_at(place)
            return None in (rows, other) or rows == other

        levels = matched_levels(self.hierarchy, full.hierarchy, fits)
        return levels if self._has_all_below(full, levels) else None

    def _has_all_below(self, full: "CountedHierarchy", levels: tuple[int, ...] | None) -> bool:
        # values without rows can be missing where they would be published, but not below
        if levels is None or not self.finest:
            return True
        place = levels[self.finest]
        below = np.bincount(full.hierarchy.lift(levels[0], place), minlength=full.hierarchy.size(place))
        own_below = dict(zip(self.hierarchy.labels[self.finest], self.hierarchy.leaf_counts(self.finest).tolist()))
        labels = self.counts_at(self.finest) or {}
        return all(own_below[label] == below[full.hierarchy.code(label, place)] for label in labels)

    def over(self, hierarchy: Hierarchy, levels: tuple[int, ...]) -> "CountedHierarchy":
        """Return the counts in another hierarchy. levels: those of this one in it."""
        finest = levels[self.finest]
        counts = np.zeros(hierarchy.size(finest), dtype=np.int64)
        for label, count in (self.counts_at(self.finest) or {}).items():
            counts[hierarchy.code(label, finest)] = count
        return CountedHierarchy(hierarchy, finest, counts)

    def merged(self, other: "CountedHierarchy") -> "CountedHierarchy | None":
        """Return the hierarchy that holds both, with the finer counts; None if labels and counts do not tell the nesting."""
        if (both := self._merged(other)) is None:
            return None
        full, parts = both.hierarchy, (self.hierarchy, other.hierarchy)
        order = full.order if all(_lies_alike(part, full) for part in parts) else None
        return replace(both, hierarchy=replace(full, order=order, has_names=any(part.has_names for part in parts)))

    def _merged(self, other: "CountedHierarchy") -> "CountedHierarchy | None":
        for part, full in ((other, self), (self, other)):
            if (levels := part.levels_in(full)) is not None:
                return min(full, part.over(full.hierarchy, levels), key=lambda counted: counted.finest)
        for fine, coarse in ((self, other), (other, self)):
            hierarchy = _interleaved(fine.hierarchy, coarse.hierarchy)
            levels = None if hierarchy is None else matched_levels(fine.hierarchy, hierarchy)
            if hierarchy is not None and levels is not None:
                full = fine.over(hierarchy, levels)
                if coarse._counted_levels_in(full) is not None:
                    return full
        return None

    @property
    def published_levels(self) -> "CountedHierarchy":
        """Hierarchy from the finest published level on."""
        levels = range(self.finest, self.hierarchy.height)
        codes = range(self.hierarchy.size(self.finest))
        return CountedHierarchy(self.hierarchy.over_levels(levels, codes), 0, self.counts)


def _lies_alike(part: Hierarchy, full: Hierarchy) -> bool:
    if part.order is None or full.order is None:
        return True
    if not (levels := matched_levels(part, full)):
        return False
    codes = (full.code(part.labels[0][code], levels[0]) for code in part.order)
    order = tuple(code for code in codes if code is not None)
    return full.order_among(levels[0], order) == order


def _interleaved(fine: Hierarchy, coarse: Hierarchy) -> Hierarchy | None:
    base_in_coarse = next(filter(None, (_values_over(fine, level, coarse) for level in range(fine.height))), None)
    if base_in_coarse is None:
        return None
    paths = [coarse.lift(0, level)[base_in_coarse] for level in range(coarse.height)]
    levels = [[fine.labels[level][code] for code in fine.lift(0, level)] for level in range(fine.height)]
    levels += [[labels[code] for code in path] for labels, path in zip(coarse.labels, paths)]
    # The same labels for the same values are one level; of nested levels, one with fewer values is above.
    distinct = sorted(dict.fromkeys(map(tuple, levels)), key=lambda labels: -len(set(labels)))
    try:
        return replace(Hierarchy.from_rows(zip(*distinct, [SUPPRESSED] * fine.size(0))), order=fine.order)
    except HierarchyError:
        return None


def _values_over(fine: Hierarchy, level: int, coarse: Hierarchy) -> list[int] | None:
    """Base values of the second above those of the first, by the spelling of labels; None unless each has exactly one."""
    ranges = sorted((numbers, code) for code, numbers in enumerate(numbers_of(coarse)) if numbers is not None)
    lows = [numbers.low for numbers, _ in ranges]
    are_disjoint = not any(one.meets(other) for (one, _), (other, _) in pairwise(ranges))
    prefixes = {
        (label.rstrip(SUPPRESSED), len(label)): code
        for code, label in enumerate(coarse.labels[0])
        if label.endswith(SUPPRESSED)
    }

    def over(label: str, numbers: Range | None) -> int | None:
        if (code := coarse.code(label, 0)) is not None:
            return code
        if numbers is not None and ranges:
            wide, code = ranges[max(bisect_right(lows, numbers.low) - 1, 0)]
            return code if are_disjoint and wide.holds(numbers) else None
        above = [prefixes[key] for length in range(len(label)) if (key := (label[:length], len(label))) in prefixes]
        return above[0] if len(above) == 1 else None

    codes = list(map(over, fine.labels[level], numbers_of(fine, level)))
    return None if None in codes else [code for code in (codes[c] for c in fine.lift(0, level)) if code is not None]


def counted_hierarchy(collection: Collection, attribute: str) -> CountedHierarchy:
    """Hierarchy of an attribute in a collection, and the counts of its finest published values."""
    hierarchy, finest = collection.domain.hierarchy(attribute), collection.finest_level(attribute)
    if finest == hierarchy.height:
        return CountedHierarchy(hierarchy, finest, np.array([collection.cube.total]))
    return CountedHierarchy(hierarchy, finest, value_counts(collection.cube, attribute, finest))


def value_counts(cube: DataCube, attribute: str, level: int) -> CountArray:
    """Counts of the values of a level."""
    table = cube.table(cube.domain.mask({attribute: level}))
    counts = np.zeros(cube.domain.hierarchy(attribute).size(level), dtype=np.int64)
    counts[table.codes[0]] = table.counts
    return counts


# Overlaps of the values of two releases: a label stands for the values that the other release has under the same label, at
# any level. Numbers, intervals, prefixes (`148**`) and lists of labels (`cook, clerk`) have a meaning of their own. Of
# labels that do not tell, such as `other`, any two can overlap. A value that nothing in the other release can stand for has
# no rows there.

# Labels for the other values of a level, as fitted levels have them.
THE_REST = re.compile(r"(?:.+ and )?others?(?: .*)?|not missing|.* or missing", re.DOTALL)


class LabelOverlaps(NamedTuple):
    """Values that overlap, and the attributes whose labels do not tell it."""

    pairs: Overlaps
    unclear: tuple[str, ...]


def label_overlaps(earlier: Collection, later: Collection) -> LabelOverlaps:
    """Overlaps of the values of all attributes that two collections generalize differently."""
    pairs, unclear = {}, []
    for name in earlier.domain.attributes:
        if name not in later.domain.attributes:
            continue
        hierarchies = (earlier.domain.hierarchy(name), later.domain.hierarchy(name))
        if hierarchies[0].labels[0] != hierarchies[1].labels[0]:
            pairs[name], is_clear = overlapping_values(*hierarchies)
            unclear += [] if is_clear or not (earlier.shows(name) and later.shows(name)) else [name]
    return LabelOverlaps(pairs, tuple(unclear))


def overlapping_values(one: Hierarchy, other: Hierarchy) -> tuple[IndexArray, bool]:
    """Base values of two hierarchies that overlap, shape (2, pairs), and whether labels tell all overlaps."""
    tell_all = set(one.labels[0]) == set(other.labels[0])
    there, back = _namesakes(one, other, tell_all), _namesakes(other, one, tell_all)
    pairs = dict.fromkeys((code, partner) for code, partners in there.items() for partner in partners)
    pairs |= dict.fromkeys((partner, code) for code, partners in back.items() for partner in partners)
    matched = [{pair[side] for pair in pairs} for side in (0, 1)]
    unmatched = [[code for code in range(h.size(0)) if code not in codes] for h, codes in zip((one, other), matched)]
    is_clear = True
    if prod(map(len, unmatched)) > MOST_PAIRS:
        pairs |= {(code, unmatched[1][0]): None for code in unmatched[0]}
        pairs |= {(unmatched[0][0], code): None for code in unmatched[1]}
        is_clear = False
    else:
        values = [[*zip(hierarchy.labels[0], numbers_of(hierarchy))] for hierarchy in (one, other)]
        for code, partner in product(*unmatched):
            overlap = _overlap(*values[0][code], *values[1][partner])
            is_clear &= overlap is not None
            pairs |= {} if overlap is False else {(code, partner): None}
    return np.array(list(pairs), dtype=np.intp).reshape(-1, 2).T, is_clear


def _namesakes(one: Hierarchy, other: Hierarchy, tell_all: bool) -> dict[int, list[int]]:
    # tell_all: whether the rest that some labels mean is the same in both
    meanings: dict[str, frozenset[int]] = {}
    for level in range(other.height):
        above = other.lift(0, level)
        if other.labels[level] == (SUPPRESSED,):
            continue
        order = np.argsort(above, kind="stable")
        members = np.split(order, np.cumsum(np.bincount(above))[:-1])
        for label, member in zip(other.labels[level], members):
            meanings.setdefault(label, frozenset(member.tolist()))  # the finest where several levels have it
    result = {}
    for code, label in enumerate(one.labels[0]):
        if not tell_all and THE_REST.fullmatch(label):
            continue
        parts = [label] if label in meanings else label.split(", ")
        if all(part in meanings and (tell_all or not THE_REST.fullmatch(part)) for part in parts):
            result[code] = sorted(frozenset().union(*(meanings[part] for part in parts)))
    return result


def _overlap(label: str, numbers: Range | None, other: str, other_numbers: Range | None) -> bool | None:
    if THE_REST.fullmatch(label) or THE_REST.fullmatch(other):
        return None
    are_numbers = [span is not None and not span.is_empty for span in (numbers, other_numbers)]
    if numbers is not None and other_numbers is not None and all(are_numbers):
        return numbers.meets(other_numbers)
    if any(are_numbers) and MISSING in (label, other):
        return False
    if label.endswith(SUPPRESSED) or other.endswith(SUPPRESSED):
        prefixes = sorted((label.rstrip(SUPPRESSED), other.rstrip(SUPPRESSED)), key=len)
        return len(label) == len(other) and prefixes[1].startswith(prefixes[0])
    return None


# Columns that may be one under two names: of the same people, one column has the same counts in both releases, or
# counts that fit by what labels say. If it is another column after all, the joint verdict is undecided for nothing; to
# take it for another column could be a wrong "holds". A name of both releases is one column, unless its counts
# contradict that.


def one_column(one: BundleContent, other: BundleContent, *, is_one_table: bool) -> list[tuple[str, str]]:
    """Pairs of names, one of each release, that may be of one column, those that are spelled alike first."""
    first, second = _columns(one), _columns(other)
    may_be_one = _may_be_one if one.collection.cube.total == other.collection.cube.total else _is_like
    shared = first.keys() & second.keys()
    is_named = {name for name in shared if is_one_table or may_be_one(first[name], second[name])}
    pairs = product(*([name for name in names if name not in is_named] for names in (first, second)))
    apart = [(name, twin) for name, twin in pairs if name != twin]
    spelled = {name: "".join(filter(str.isalnum, _folded(name))) or _folded(name) for name in {*first, *second}}
    alike = [(name, twin) for name, twin in apart if spelled[name] == spelled[twin]]
    return alike + [pair for pair in apart if pair not in alike and may_be_one(first[pair[0]], second[pair[1]])]


def _folded(text: str) -> str:
    return " ".join(normalize("NFKC", text).casefold().split())


# A column, and the rows of the values of its published levels, finest first.
_Column: TypeAlias = tuple[CountedHierarchy, list[Mapping[str, int]]]


def _columns(content: BundleContent) -> dict[str, _Column]:
    names = filter(content.collection.shows, content.roles)
    columns = {name: counted_hierarchy(content.collection, name) for name in names}
    levels = {name: range(counted.finest, counted.hierarchy.height) for name, counted in columns.items()}
    return {name: (of, [of.counts_at(level) or {} for level in levels[name]]) for name, of in columns.items()}


def _may_be_one(one: _Column, other: _Column) -> bool:
    (counted, levels), (twin, twin_levels) = one, other
    if len(levels[0]) < 2 or len(twin_levels[0]) < 2:
        return False
    sizes, twin_sizes = ([sorted(counts.values()) for counts in column] for column in (levels, twin_levels))
    if (sizes[0] in twin_sizes and _is_rare(sizes[0])) or (twin_sizes[0] in sizes and _is_rare(twin_sizes[0])):
        return True
    if any(counts in twin_levels and len(_words(counts)) > 1 for counts in levels):
        return True
    finest = [*levels[0], *twin_levels[0]]
    common = _words(chain(*levels)) & _words(chain(*twin_levels)) & _words(finest)
    if not common and not all(interval(label) for label in finest if label != MISSING):
        return False
    pairs, _ = overlapping_values(counted.published_levels.hierarchy, twin.published_levels.hierarchy)
    return _can_be_dealt(pairs, counted.counts, twin.counts)


def _words(labels: Iterable[str]) -> set[str]:
    words = {word for label in labels for word in label.split(", ")}
    return {word for word in words if word != MISSING and not THE_REST.fullmatch(word)}


def _is_rare(sizes: Sequence[int]) -> bool:
    # at least 20 columns of as many rows and values have different counts, in any order of their values
    parts = min(len(sizes), 4)
    return comb(sum(sizes) - len(sizes) + parts - 1, parts - 1) >= 20 * factorial(parts)


def _is_like(one: _Column, other: _Column) -> bool:
    shares, twin_shares = _shares(one), _shares(other)
    pairs = (*product(shares[:1], twin_shares), *product(shares, twin_shares[:1]))
    named = [(column, twin) for column, twin in pairs if len(_words(column) & _words(twin)) > 1]
    return any(sum(abs(a.get(label, 0) - b.get(label, 0)) for label in {*a, *b}) <= _LIKE for a, b in named)


def _shares(column: _Column) -> list[dict[str, float]]:
    rows = column[0].counts.sum()
    return [{_folded(label): count / rows for label, count in counts.items()} for counts in column[1]]


_LIKE = 0.2  # largest sum of differences of the shares of a column


def _can_be_dealt(pairs: IndexArray, counts: CountArray, others: CountArray) -> bool:
    first, second = 1 + np.arange(len(counts)), 1 + len(counts) + np.arange(len(others))
    sink = len(counts) + len(others) + 1
    edges = [
        (np.zeros_like(first), first, counts),
        (first[pairs[0]], second[pairs[1]], counts[pairs[0]]),
        (second, np.full_like(second, sink), others),
    ]
    rows = int(counts.sum())
    return rows > FLOW_LIMIT or largest_flow(edges, sink, sink + 1) == rows
