"""Overlaps of the values of two releases, and columns that may be one, by labels and counts."""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, product
from math import comb, factorial, prod
from typing import NamedTuple, TypeAlias
from unicodedata import normalize

import numpy as np

from checks.changes import Overlaps
from marginals.bundle.content import BundleContent
from marginals.published_values import CountedHierarchy
from marginals.tables.attribute import MISSING
from marginals.tables.intervals import Range, interval, numbers_of
from models.arrays import CountArray, IndexArray
from models.graphs.junction_tree import Collection
from models.programs.cell_bounds import FLOW_LIMIT, largest_flow
from models.tables.data_cube import DataCube
from models.tables.hierarchy import SUPPRESSED, Hierarchy

MOST_PAIRS = 1_000_000  # of more combinations, any two may overlap


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
    shares, twin_shares = (
        [{_folded(label): count / counted.counts.sum() for label, count in counts.items()} for counts in levels]
        for counted, levels in (one, other)
    )
    return any(
        len(_words(column) & _words(others)) > 1
        and sum(abs(column.get(label, 0) - others.get(label, 0)) for label in {*column, *others}) <= _LIKE
        for column, others in (*product(shares[:1], twin_shares), *product(shares, twin_shares[:1]))
    )


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
