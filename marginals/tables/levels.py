"""Levels that are fitted to how often each value of a table occurs, and the names of their groups."""

import csv
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_FLOOR, Context, Decimal
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from marginals.errors import InputError
from marginals.files import bounded_content, reading
from marginals.tables.attribute import MISSING, Attribute, Role
from marginals.tables.table import is_told, values_at
from marginals.tables.values import in_natural_order, number_in, number_text
from models.arrays import BoolArray, CodeArray, CountArray, IndexArray
from models.tables.fitted_levels import Partition, partitions_in_order, partitions_in_tree, thresholds
from models.tables.hierarchy import SUPPRESSED, Hierarchy

_WHOLE = re.compile(r"(0|-?[1-9][0-9]*)(?:\.0+)?")
_BAND = re.compile(r"(-?[0-9]+)-(-?[0-9]+)")
_EXACT = Context(prec=200)
_FAR = 3
"""Times as many whole numbers as values between the lowest and the highest, from which on they are far apart."""

_DECIMAL_BAND = re.compile(r"(-?[0-9.]+)-<(-?[0-9.]+)")


@dataclass(frozen=True)
class Wording:
    """What stretches are called: one with both ends, those below a value, and those from a value on.

    >>> WHOLE_NUMBERS.between.format("17", "19"), WHOLE_NUMBERS.above.format("85")
    ('17-19', '85 and over')
    """

    between: str
    below: str
    above: str


WHOLE_NUMBERS = Wording("{}-{}", "under {}", "{} and over")
DECIMALS = Wording("{}-<{}", "under {}", "{} and over")
DATES = Wording("{} to {}", "before {}", "{} and later")


@dataclass(frozen=True, eq=False)
class Scale:
    """Values in their order. order: their numbers, lowest first. ends: of each in that order the lower and the upper end.

    wording: None where stretches are called after the values in them.

    >>> ages = whole_numbers(["30", "9"])
    >>> ages.order.tolist(), ages.stretch(0, 0), ages.stretch(0, 1)
    ([1, 0], 'under 30', None)
    """

    order: IndexArray
    ends: Sequence[tuple[str, str]] = ()
    wording: Wording | None = None

    def stretch(self, first: int, last: int) -> str | None:
        """What the values from one place to another are called, those beyond the ends of the scale included.

        None for all values, and where stretches are called after the values in them.
        """
        is_lowest, is_highest = first == 0, last == len(self.order) - 1
        if self.wording is None or (is_lowest and is_highest):
            return None
        if is_lowest:
            return self.wording.below.format(self.ends[last + 1][0])
        if is_highest:
            return self.wording.above.format(self.ends[first][0])
        return self.wording.between.format(self.ends[first][0], self.ends[last][1])


def whole_numbers(labels: Sequence[str]) -> Scale | None:
    """The scale of whole numbers or bands of them (`37`, `37.0`, `20-24`); None where some label is neither.

    Programs that keep a missing value among whole numbers write them as `37.0`; stretches of them are called as of others.

    >>> whole_numbers(["20-24", "25-29", "30-34"]).stretch(1, 2), whole_numbers(["20", "x"])
    ('25 and over', None)
    >>> whole_numbers(["18.0", "20.0", "35.0", "36.0"]).stretch(1, 2), whole_numbers(["20", "20.0"])
    ('20-35', None)
    """
    ends = []
    for label in labels:
        if band := _BAND.fullmatch(label):
            ends.append((band[1], band[2]))
        elif number := _WHOLE.fullmatch(label):
            ends.append((number[1], number[1]))
        else:
            return None
    if len(set(ends)) < len(ends):
        return None  # one number under two labels
    order = np.array(sorted(range(len(ends)), key=lambda value: int(ends[value][0])), dtype=np.intp)
    return Scale(order, [ends[value] for value in order.tolist()], WHOLE_NUMBERS)


def decimal_bands(labels: Sequence[str]) -> Scale:
    """The scale of bands of numbers with decimals, lowest first.

    >>> decimal_bands(["0-<0.5", "0.5-<1", "1-<1.5"]).stretch(0, 1)
    'under 1'
    """
    matches = [_DECIMAL_BAND.fullmatch(label) for label in labels]
    ends = [(match[1], match[2]) for match in matches if match]
    assert len(ends) == len(labels), "bands are named by their ends"
    return Scale(np.arange(len(labels)), ends, DECIMALS)


def decimals(labels: Sequence[str]) -> Scale | None:
    """The scale of numbers of which some have decimals; None where some label is no number, or two are the same one.

    A stretch is called after the roundest numbers between its values and those beside it, so that its name tells little of
    single values, and is one that a person would give.

    >>> scale = decimals(["61.24", "58.97", "63.5", "70.31"])
    >>> scale.stretch(0, 1), scale.stretch(1, 2), scale.stretch(2, 3)
    ('under 63', '60-<70', '63 and over')
    >>> decimals(["1", "2"]), decimals(["0.5", ".5"]), decimals(["0.5", "half"])
    (None, None, None)
    """
    numbers = [number for label in labels if (number := number_in(label)) is not None]
    if len(set(numbers)) < len(labels) or all(number == number.to_integral_value() for number in numbers):
        return None
    return _between_round_numbers(numbers)


def far_numbers(labels: Sequence[str]) -> Scale | None:
    """The scale of whole numbers of which most between the lowest and the highest are no values; None for any other labels.

    A stretch is called as one of numbers with decimals is, and tells as little of single values.

    >>> far_numbers(["310", "10", "9750", "4720"]).stretch(1, 2), far_numbers(["1", "2", "4"])
    ('300-<9000', None)
    """
    numbers = [number for label in labels if (number := number_in(label)) is not None]
    if len(set(numbers)) < len(labels) or any(number != number.to_integral_value() for number in numbers):
        return None
    is_far = bool(numbers) and max(numbers) - min(numbers) + 1 > _FAR * len(numbers)
    return _between_round_numbers(numbers) if is_far else None


def _between_round_numbers(numbers: Sequence[Decimal]) -> Scale:
    order = sorted(range(len(numbers)), key=lambda value: numbers[value])
    cuts = [number_text(_roundest(numbers[low], numbers[high])) for low, high in pairwise(order)]
    return Scale(np.array(order, dtype=np.intp), list(zip(["", *cuts], [*cuts, ""])), DECIMALS)


def _roundest(low: Decimal, high: Decimal) -> Decimal:
    """The number with the fewest digits above one and at most another, of equals the highest.

    >>> [str(_roundest(Decimal(low), Decimal(high))) for low, high in (("8.97", "9.4"), ("9.4", "9.41"), ("-12", "13"))]
    ['9', '9.41', '0']
    """
    if low < 0 <= high:
        return Decimal(0)
    place = max(low.adjusted(), high.adjusted()) + 1
    while True:
        rounded = high.quantize(Decimal(1).scaleb(place), ROUND_FLOOR, _EXACT)
        if rounded > low:
            return rounded
        place -= 1


def dates(labels: Sequence[str]) -> Scale:
    """The scale of days, months or other units, earliest first.

    >>> dates(["2023-11", "2023-12", "2024-01"]).stretch(0, 1)
    'before 2024-01'
    """
    return Scale(np.arange(len(labels)), [(label, label) for label in labels], DATES)


def texts(labels: Sequence[str]) -> Scale | None:
    """The scale of texts that have an order, such as bands as people write them; None where they have none.

    >>> texts(["65+", "18-64"]).order.tolist(), texts(["cook", "clerk"])
    ([1, 0], None)
    """
    ordered = in_natural_order(labels)
    if ordered is None:
        return None
    place = {label: number for number, label in enumerate(labels)}
    return Scale(np.array([place[label] for label in ordered], dtype=np.intp))


# Public counts of a population, which a ladder can be fitted to in place of the table: then it tells nothing of the
# table.
#
# The levels are a function of these counts, the hierarchy or intervals that are given, and k alone. So the values that
# are merged, at the level that merging starts from, are those that the population counts, whatever the table holds; a
# value of the table that is none of them is refused.


_MOST_BYTES = 1 << 26
"""Of a file."""


def read_population(path: str | Path) -> dict[str, int]:
    r"""How many people have each value, from a CSV file with two columns, a value and a count, with a header or without.

    Raises InputError naming the file and the row at fault.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "age.csv").write_text("age,people\n20,8100\n21,7900\n", encoding="utf-8")
    ...     read_population(f"{folder}/age.csv")
    {'20': 8100, '21': 7900}
    """
    path = Path(path)
    with reading("population file", path, "commas"):
        rows = list(csv.reader(bounded_content(path, _MOST_BYTES).decode("utf-8-sig").splitlines()))
    counts: dict[str, int] = {}
    for number, row in enumerate(rows, 1):
        if not row:
            continue
        if len(row) != 2:
            raise InputError(f"the population file {path.name}: row {number} is not a value, a comma and a count")
        value, count = row[0].strip(), row[1].strip()
        if not (count.isascii() and count.isdigit() and len(count) < 16):
            if number == 1:
                continue  # a header
            raise InputError(f"the population file {path.name}: the count in row {number} is no whole number from 0 on")
        if value in counts:
            raise InputError(f"the population file {path.name}: the value in row {number} has a count already")
        counts[value] = int(count)
    if not any(counts.values()):
        raise InputError(f"the population file {path.name} counts nobody")
    return counts


def base_counts(attribute: Attribute, decimal: str = ".") -> dict[str, int]:
    """How many people of its population have each base value of an attribute.

    decimal: the sign before the fraction of a number. Raises InputError where a value of the population is no number or date
    that the attribute needs.
    """
    counts: dict[str, int] = {}
    for text, count in (attribute.population or {}).items():
        value = attribute.base_value(text, decimal)
        if value is None:
            raise InputError("its population counts a value that its intervals or dates cannot hold")
        counts[value] = counts.get(value, 0) + count
    return counts


def population_hierarchy(attribute: Attribute, counts: Mapping[str, int], values: Collection[str]) -> Hierarchy:
    """The hierarchy of an attribute before its ladder is fitted to a population: over what the population counts.

    values: base values of the table; where bands of intervals or dates are merged, they are base values too.
    Raises HierarchyError where none fits, and InputError where the population does not count each base value of a
    hierarchy that is given, or another.
    """
    own = values if attribute.first_merged else {MISSING} & set(values)
    hierarchy = attribute.hierarchy_of({*counts, *own})
    if attribute.hierarchy is None:
        return hierarchy
    known = set(attribute.hierarchy.labels[0])
    if lacking := len(known - set(counts)):
        raise InputError(
            f"its population lacks {lacking:,} of the {len(known):,} base values of its hierarchy; give each a count, 0 "
            "where nobody has it"
        )
    if others := len(set(counts) - known):
        raise InputError(f"its population counts {others:,} values that are not among the base values of its hierarchy")
    return hierarchy


def are_counted(attribute: Attribute, hierarchy: Hierarchy, counts: Mapping[str, int]) -> BoolArray:
    """Whether the population counts each base value, or the first band of intervals or dates that it lies in.

    Rows without a value are no matter of a population, and need no count. Shape (base values,).
    """
    groups = hierarchy.lift(0, attribute.first_merged).astype(np.intp)
    known = [code for value in (*counts, MISSING) if (code := hierarchy.code(value, 0)) is not None]
    return np.asarray(np.isin(groups, groups[known]))


def population_sizes(hierarchy: Hierarchy, counts: Mapping[str, int]) -> CountArray:
    """The people of each base value of a hierarchy: shape (base values,)."""
    sizes = np.zeros(hierarchy.size(0), dtype=np.int64)
    for value, count in counts.items():
        code = hierarchy.code(value, 0)
        assert code is not None, "a population's values are base values"
        sizes[code] = count
    return sizes


# Names of groups of values, such as a person would give.
#
# A name tells no value that only the data knows: it is the ends of a stretch, the first and the last one left open,
# the label of a node of the given hierarchy, members that have at least k rows each, or members that everybody knows.


_LISTED = 4
"""Members that a name lists where these are all; of more, fewer are listed, and others said."""


@dataclass(frozen=True, eq=False)
class GroupNames:
    """Gives names to groups of the values of one level of a hierarchy, the same to the same group, to others another.

    start: the level of the values. counts: rows of each of them. k: rows from which on a value can be named. scale: where
    the values stand in an order. missing: the value of rows without one. has_public_labels: whether everybody knows which
    values there are.
    """

    hierarchy: Hierarchy
    start: int
    counts: CountArray
    k: int
    scale: Scale | None = None
    missing: int | None = None
    has_public_labels: bool = False
    _groups: dict[str, frozenset[int]] = field(default_factory=dict)

    def name(self, members: IndexArray) -> str:
        """The name of a group, by the numbers of its values, which are sorted.

        >>> jobs = Hierarchy.flat(["clerk", "cook", "smith", "tailor"])
        >>> names = GroupNames(jobs, 0, np.array([30, 12, 3, 2]), 10)
        >>> [names.name(np.array(group)) for group in ([0], [1, 2], [2, 3], [1, 2, 3])]
        ['clerk', 'cook and others', 'other', 'cook and others (2)']
        """
        group = frozenset(members.tolist())
        for candidate in self._candidates(members):
            if self._groups.setdefault(candidate, group) == group:
                return candidate
        raise AssertionError("there are ever more candidates")

    def _candidates(self, members: IndexArray) -> Iterator[str]:
        """Names that a group could have, the best first; the last of them are endless."""
        if len(members) == 1:
            yield self.hierarchy.labels[self.start][members[0]]
        is_stretch = self.scale is not None and self.scale.wording is not None
        if not is_stretch and (node := self._node(members, whole=True)) is not None:
            yield node
        rest, ending = members, ""
        if self.missing in members:
            rest, ending = members[members != self.missing], " or missing"
        name = "other"
        for candidate in self._of_values(rest):
            name = candidate
            yield name + ending
        number = 2
        while True:
            yield f"{name}{ending} ({number})"
            number += 1

    def _of_values(self, members: IndexArray) -> Iterator[str]:
        """Names of a group that lacks no value."""
        labels = self.hierarchy.labels[self.start]
        if len(members) == 1 and self.counts[members[0]] >= self.k:
            yield labels[members[0]]
        if self.scale is not None and len(members) == len(self.scale.order):
            yield "not missing"
        if self.scale is not None and self.scale.wording is not None:
            places = np.flatnonzero(np.isin(self.scale.order, members))
            stretch = self.scale.stretch(int(places[0]), int(places[-1]))
            if stretch is not None:
                yield stretch
                return
        known = members
        if not self.has_public_labels:
            known = members[self.counts[members] >= self.k]
            known = known[np.argsort(-self.counts[known], kind="stable")]
        if len(known) == len(members) <= _LISTED:
            yield ", ".join(labels[value] for value in sorted(known.tolist()))
        for length in range(1, min(len(known), _LISTED)):
            yield ", ".join(labels[value] for value in known[:length].tolist()) + " and others"
        if len(known) == 1:
            yield f"{labels[known[0]]} and others"
        if len(known) == 0:
            node = self._node(members, whole=False)
            yield "other" if node is None else f"other {node}"

    def _node(self, members: IndexArray, whole: bool) -> str | None:
        """The label of the deepest node, below `*`, that all members lie under; where asked for, only of theirs alone."""
        for level in range(self.start + 1, self.hierarchy.height):
            nodes = self.hierarchy.lift(self.start, level)
            [node, *others] = np.unique(nodes[members]).tolist()
            if not others:
                alone = np.count_nonzero(nodes == node) == len(members)
                return self.hierarchy.labels[level][node] if alone or not whole else None
        return None


def fitted_ladder(
    names: GroupNames, counts: CountArray, profiles: CountArray | None = None, inside: BoolArray | None = None
) -> Hierarchy:
    """The base values of a hierarchy, and levels above them whose smallest groups have more and more rows.

    names: of the groups; their hierarchy, the level to start from, and k. counts: rows of each value of that level, by which
    values are merged. profiles: tables of these values with other attributes, side by side, shape (values, columns); with
    them values without an order are merged with those most alike. A level is noted for each of the sizes of `thresholds`
    that gives a new one, and all of them nest.
    inside: which of these values are those of a part that every level tells from the rest, so that none of the one is merged
    with one of the other.
    What a ladder tells of the table: every group that is merged at a size holds a value with fewer rows.

    >>> jobs = Hierarchy.flat(["clerk", "cook", "smith", "tailor"])
    >>> counts = np.array([30, 12, 3, 2])
    >>> fitted_ladder(GroupNames(jobs, 0, counts, 4), counts).labels
    (('clerk', 'cook', 'smith', 'tailor'), ('clerk', 'cook', 'other'), ('clerk', 'cook and others'), ('*',))
    """
    hierarchy, lifted = names.hierarchy, names.hierarchy.lift(0, names.start)
    labels, parents = [hierarchy.labels[0]], []
    below = np.arange(hierarchy.size(0))
    for partition in _levels(names, counts, profiles, inside):
        groups = np.split(np.argsort(partition, kind="stable"), np.cumsum(np.bincount(partition))[:-1])
        own = partition[lifted]
        parent = np.empty(len(labels[-1]), dtype=np.intp)
        parent[below] = own
        labels.append(tuple(map(names.name, groups)))
        parents.append(tuple(parent.tolist()))
        below = own
    return Hierarchy((*labels, (SUPPRESSED,)), (*parents, (0,) * len(labels[-1])))


def _levels(
    names: GroupNames, counts: CountArray, profiles: CountArray | None, inside: BoolArray | None
) -> Iterator[Partition]:
    """The partitions of the values of the level to start from that become levels, from the finest to the last below `*`."""
    sizes = thresholds(names.k, int(counts.sum()))
    last = np.arange(len(counts))
    if names.start:
        yield last
    sides = [last] if inside is None else _sides(names, inside)
    for partition in _side_by_side([_of_side(names, counts, profiles, sizes, side) for side in sides], sides):
        if len(np.unique(partition[counts > 0])) < 2:
            return
        if partition.max() < last.max():
            yield partition
            last = partition


def _sides(names: GroupNames, inside: BoolArray) -> list[IndexArray]:
    """The values of a part and those of the rest; on a scale each stretch of either. A missing one is with its own kind."""
    if names.scale is None:
        sides = [np.flatnonzero(inside == kind) for kind in (True, False)]
    else:
        order = np.asarray(names.scale.order, dtype=np.intp)
        sides = np.split(order, np.flatnonzero(np.diff(inside[order])) + 1)
        if names.missing is not None:
            alike = [
                number for number, side in enumerate(sides) if len(side) and inside[side[0]] == inside[names.missing]
            ]
            if alike:
                sides[alike[-1]] = np.append(sides[alike[-1]], names.missing)
            else:
                sides.append(np.array([names.missing], dtype=np.intp))
    return [np.sort(side) for side in sides if len(side)]


def _side_by_side(of_sides: Sequence[Iterator[Partition]], sides: Sequence[IndexArray]) -> Iterator[Partition]:
    """The partitions of all values at each size, those of each side merged by themselves."""
    for parts in zip(*of_sides):
        whole = np.empty(sum(map(len, sides)), dtype=np.intp)
        groups = 0
        for side, part in zip(sides, parts):
            whole[side] = part + groups
            groups += int(part.max()) + 1
        yield whole


def _of_side(
    names: GroupNames, counts: CountArray, profiles: CountArray | None, sizes: Sequence[int], side: IndexArray
) -> Iterator[Partition]:
    """The partitions of some of the values, which are sorted, numbered from 0."""
    if names.scale is None:
        hierarchy = names.hierarchy
        paths = np.array([hierarchy.lift(names.start, level) for level in range(names.start, hierarchy.height + 1)])
        own_profiles = None if profiles is None else profiles[side]
        yield from partitions_in_tree(counts[side], paths[:, side].astype(np.intp), sizes, own_profiles)
        return
    own = [value for value in names.scale.order if value in set(side.tolist())]
    missing = [value for value in side.tolist() if value == names.missing]
    order = np.searchsorted(side, [*own, *missing]).astype(np.intp)
    apart = len(own) if missing and own else None
    for partition in partitions_in_order(counts[side][order], sizes, apart):
        placed = np.empty_like(partition)
        placed[order] = partition
        yield placed


def attribute_ladder(
    attribute: Attribute,
    given: Hierarchy,
    base_counts: CountArray,
    k: int,
    profiles: CountArray | None = None,
    inside: BoolArray | None = None,
) -> Hierarchy:
    """The hierarchy of an attribute with levels that are fitted to the counts of its base values; with the same base values.

    given: its hierarchy before. base_counts: rows, or people of a population, of each base value, shape (given.size(0),).
    What a population counts everybody knows, so that names name all of it. k: rows that the groups of the
    finest fitted level have at least. Intervals and dates are merged from their finest bands on, all else from the
    values themselves: numbers and bands with their neighbours, others with those that are nearest in the hierarchy.
    profiles: tables of the base values with other attributes, side by side, shape (given.size(0), columns); of values that
    are as near, those are merged which are most alike by these, and without them those of fewest rows.
    inside: which base values are those of a part of the table; where the finest bands tell it from the rest, all levels do.
    Of a sensitive attribute the value for missing ones is merged with no other, where its hierarchy keeps it apart.

    >>> sizes = Attribute("quasi-identifier", ladder="fitted")
    >>> attribute_ladder(sizes, sizes.hierarchy_of(["1", "2", "3", "4", "6"]), np.array([40, 30, 9, 4, 0, 2]), 10).labels[1]
    ('1', '2', '3 and over')
    """
    if attribute.role is Role.SENSITIVE and attribute.counts_missing and _is_apart(given):
        known = given.restricted_to(range(given.size(0) - 1))
        own = None if profiles is None else profiles[:-1]
        return attribute_ladder(attribute, known, base_counts[:-1], k, own, inside).with_value_apart(MISSING)
    start = attribute.first_merged
    missing = given.code(MISSING, start) if attribute.counts_missing else None
    lifted = given.lift(0, start)
    counts = np.zeros(given.size(start), dtype=np.int64)
    np.add.at(counts, lifted, base_counts)
    is_public = attribute.has_public_labels or attribute.population is not None
    names = GroupNames(given, start, counts, k, _scale(attribute, given, start, missing), missing, is_public)
    if profiles is not None:
        lifted_profiles = np.zeros((len(counts), profiles.shape[1]), dtype=np.int64)
        np.add.at(lifted_profiles, lifted, profiles)
        profiles = lifted_profiles
    if inside is None or not is_told(given, inside, start):
        return fitted_ladder(names, counts, profiles)
    return fitted_ladder(names, counts, profiles, values_at(given, inside, start))


def _is_apart(given: Hierarchy) -> bool:
    """Whether the value for missing ones is the last of several, and like no other at any level below `*`.

    Of a sensitive attribute it then stays so, since a group such as "22 or missing" says neither that somebody's value is
    known nor that it is not.
    """
    code = given.size(0) - 1
    if not code or given.labels[0][code] != MISSING:
        return False
    return all((given.lift(0, level) == given.lift(0, level)[code]).sum() == 1 for level in range(given.height))


def _scale(attribute: Attribute, given: Hierarchy, start: int, missing: int | None) -> Scale | None:
    """The order of the values at the level to start from, a value for missing ones left out."""
    labels = [label for value, label in enumerate(given.labels[start]) if value != missing]
    if missing is not None and missing != len(labels):
        return None  # the hierarchy has a place for it
    if attribute.has_decimals and attribute.intervals:
        return decimal_bands(labels)
    if attribute.dates:
        return dates(labels)
    if attribute.prefixes or not labels:
        return None
    if attribute.hierarchy is None and (far := far_numbers(labels)):
        return far
    if numbers := whole_numbers(labels):
        return numbers
    return None if attribute.hierarchy is not None else decimals(labels) or texts(labels)


MOST_VALUES = 2_000
"""Values of an attribute of which each is compared with each."""

_MOST_OF_ANOTHER = 50
"""Values of another attribute that are told apart: many rare ones would make all values look different."""


class CodedColumn(NamedTuple):
    """The base value of each row in one column. codes: shape (rows,)."""

    hierarchy: Hierarchy
    codes: CodeArray


def profiles(column: CodedColumn, others: Sequence[CodedColumn], counts: CountArray) -> CountArray:
    """The tables of a column with each of some others, side by side: shape (base values, values of all the others).

    Another column is taken at the finest level with at most 50 values. counts: how often each row stands in the table.
    Raises InputError where the column has too many values to compare each with each.

    >>> towns, jobs = Hierarchy.flat(["a", "b"]), Hierarchy.flat(["clerk", "cook"])
    >>> columns = CodedColumn(towns, np.array([0, 0, 1])), CodedColumn(jobs, np.array([0, 1, 1]))
    >>> profiles(columns[0], columns[1:], np.array([5, 1, 3])).tolist()
    [[5, 1], [0, 3]]
    """
    size = column.hierarchy.size(0)
    if size > MOST_VALUES:
        raise InputError(
            f'it has {size:,} values, and ladder = "alike" compares each with each, {MOST_VALUES:,} at most; take "fitted"'
        )
    tables = [np.zeros((size, 0), dtype=np.int64)]
    for hierarchy, codes in others:
        level = next(at for at in range(hierarchy.height + 1) if hierarchy.size(at) <= _MOST_OF_ANOTHER)
        table = np.zeros((size, hierarchy.size(level)), dtype=np.int64)
        np.add.at(table, (column.codes, hierarchy.lift(0, level)[codes]), counts)
        tables.append(table)
    return np.hstack(tables)
