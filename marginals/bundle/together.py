"""Several bundles together: of one table, or of a table that changed in between."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from itertools import combinations, pairwise, product
from math import prod
from pathlib import Path
from typing import TypeAlias
from unicodedata import normalize

import numpy as np

from checks.attacks.knowledge import Knowledge, Levels, certainly_small
from checks.changes import CRITERION, CellDifference, Narrowing, Overlaps, difference, every_cell
from checks.claims import Claim, CountClaim, KCombinatorial, MinCell
from checks.finding import DECISIVE, Algorithm, Finding, Verdict, WorstClass
from marginals.bundle.content import BundleContent
from marginals.bundle.reading import counted_hierarchy, read_bundle, union
from marginals.errors import BundleError, IncompatibleReleasesError, InputError
from marginals.published_values import Part, inside_all
from marginals.tables.attribute import MISSING, Role
from marginals.tables.intervals import Range, are_names, interval, numbers_of
from models.arrays import FloatArray, IndexArray
from models.graphs.junction_tree import Collection, Support
from models.inference.frechet_bounds import FrechetBounds
from models.tables.contingency_table import Cells, ContingencyTable, pack
from models.tables.data_cube import DataCube
from models.tables.hierarchy import SUPPRESSED, Domain, Hierarchy, Margin

# Atoms: the pieces into which the published values of an attribute cut each other, where releases differ in them.
#
# Of 20-29 and 30-39 in one release and 15-24 and 25-34 in another, 20-24, 25-29 and 30-34 are atoms; of 18.5-<25 and
# 20-<30, 20-<25. Labels of whole numbers, of intervals of these and of intervals of all numbers tell the atoms by
# themselves, others by the base values that the releases name; where neither does, nobody can say from the releases
# alone how the values overlap.


MOST_PAIRS = 1_000_000
"""Combinations of values that are looked at."""

Numbers = tuple[tuple[Decimal, Decimal], ...]
"""Intervals without their upper ends: the whole numbers from 20 to 24 are (20, 25), and so are all numbers of 20-<25."""

Grouping = tuple[Hierarchy, int]
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


def atoms_of(parts: Sequence[Grouping]) -> Atoms | None:
    """The atoms of an attribute; None where the labels do not tell how its values overlap."""
    if prod(hierarchy.size(level) for hierarchy, level in parts) > MOST_PAIRS:
        return None
    return _on_a_line(parts) or _of_base_values(parts)


def _on_a_line(parts: Sequence[Grouping]) -> Atoms | None:
    """Of values that are whole numbers or intervals of these, or all of them intervals of all numbers."""
    named = [_named(hierarchy, level) for hierarchy, level in parts]
    ranges = [
        number_range
        for value_ranges in named
        if value_ranges is not None
        for value in value_ranges
        for number_range in value
    ]
    are_whole = all(map(_is_whole, ranges))
    if None in named or not (are_whole or all(map(_is_half_open, ranges))):
        return None
    meanings = [
        [tuple(map(_without_upper_end, value)) for value in value_ranges]
        for value_ranges in named
        if value_ranges is not None
    ]
    if any(one[1] > other[0] for meaning in meanings for one, other in pairwise(sorted(sum(meaning, ())))):
        return None  # values of one level do not overlap; labels that seem to are none of numbers
    codes, numbers = [], []
    for combination in product(*map(enumerate, meanings)):
        common: Numbers = ((-_INFINITY, _INFINITY),)
        for _, value_ranges in combination:
            common = _intersection(common, value_ranges)
        if common:
            codes.append([code for code, _ in combination])
            numbers.append(common)
    if not codes:
        return None
    widths = np.array([float(sum(high - low for low, high in number)) for number in numbers])
    if np.isinf(widths).any():
        if not _weights_cancel(np.array(codes)):
            return None
        widths = np.ones(len(codes))
    return Atoms(np.array(codes).T, widths, tuple(_label(number, are_whole) for number in numbers))


_INFINITY = Decimal("Infinity")


def _named(hierarchy: Hierarchy, level: int) -> list[list[Range]] | None:
    """The numbers that each value of a level stands for, by its label or those of its base values; None if unknown."""
    above = hierarchy.lift(0, level)
    own_numbers, base_numbers = numbers_of(hierarchy, level), numbers_of(hierarchy)
    named: list[list[Range]] = []
    for code in range(hierarchy.size(level)):
        label_range, base = own_numbers[code], [base_numbers[base] for base in np.flatnonzero(above == code)]
        known = [
            number_range
            for number_range in ([label_range] if _begins(label_range) else base)
            if number_range is not None and _begins(number_range)
        ]
        if len(known) < (1 if _begins(label_range) else len(base)):
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


def _of_base_values(parts: Sequence[Grouping]) -> Atoms | None:
    """Of base values that all releases name."""
    named = [set(hierarchy.labels[0]) for hierarchy, _ in parts]
    if any(labels != named[0] for labels in named):
        return None
    above = [dict(zip(hierarchy.labels[0], hierarchy.lift(0, level).tolist())) for hierarchy, level in parts]
    members: dict[tuple[int, ...], list[str]] = {}
    for label in parts[0][0].labels[0]:
        members.setdefault(tuple(label_of[label] for label_of in above), []).append(label)
    codes = sorted(members)
    weights = np.array([float(len(members[code])) for code in codes])
    return Atoms(np.array(codes).T, weights, tuple("|".join(members[code]) for code in codes))


def _weights_cancel(codes: IndexArray) -> bool:
    """Whether any weights of atoms are products of weights of the releases' values, which maximum entropy absorbs."""
    columns = [np.eye(column.max() + 1)[column] for column in codes.T]
    return int(np.linalg.matrix_rank(np.hstack(columns))) == len(codes)


# The common refinement of several bundles: their marginals over the atoms of what they generalize differently.
#
# Such an attribute becomes one for each way to generalize it, `age (first)` and `age (second)`, which every row has at
# once; the atoms say which of their values go together, and what does not is impossible. So all that is known of both
# is one collection again, which is judged by programs and by fitting, as any without a junction tree.


Bundles = Sequence[tuple[str, BundleContent]]


@dataclass(frozen=True, eq=False)
class CommonRefinement:
    """Several bundles as one.

    content: over the domain in which each attribute that is generalized differently stands once for each way. parts: the
    names of these, by attribute. atoms: of each of these attributes.
    """

    content: BundleContent
    parts: Mapping[str, tuple[str, ...]]
    atoms: Mapping[str, Atoms]

    def __str__(self) -> str:
        names = ", ".join(map(repr, self.parts))
        return f"judged over the common refinement of {names}, which the releases generalize differently"

    def claims_of(self, claim: Claim) -> tuple[Claim, ...]:
        """A claim about an attribute, as it is about each way to generalize it."""
        names = self.parts.get(claim.about or "", ())
        return tuple(_about(claim, {str(claim.about): name}) for name in names) or (claim,)

    def views(self) -> dict[str, list[Levels]]:
        """How margins can show each published attribute, finest first: by a level of each of its parts, or of some."""
        collection = self.content.collection
        attribute_of = {name: attribute for attribute, names in self.parts.items() for name in names}
        published = filter(collection.shows, self.content.domain.attributes)
        views: dict[str, list[Levels]] = {}
        for attribute in dict.fromkeys(attribute_of.get(name, name) for name in published):
            parts = [[*published_views(collection, name), {}] for name in self.parts.get(attribute, ())]
            together = (
                {name: level for levels in level_choice for name, level in levels.items()}
                for level_choice in product(*parts)
            )
            views[attribute] = list(filter(None, together)) if parts else published_views(collection, attribute)
        return views

    def with_violations(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        """The findings; what the whole leaves undecided fails where a few attributes prove that it does."""
        aside = {KCombinatorial.criterion: self.content.sensitive, MinCell.criterion: ()}
        for finding in findings:
            if finding.criterion in aside and finding.verdict is Verdict.UNDECIDED:
                least = finding.parameters["k"] * finding.parameters.get("rows_per_person", 1)
                small = self._small_cell(least, aside[finding.criterion])
                if small is not None:
                    yield replace(finding, verdict=Verdict.FAILS, worst=small, note="")
                    continue
            yield finding

    def _small_cell(self, k: int, aside: Sequence[str]) -> WorstClass | None:
        """A cell that certainly has rows, fewer than k: so has some combination of all attributes in it.

        aside: attributes that it is not of.
        """
        public = {a: view for a, view in self.views().items() if not {a, *self.parts.get(a, ())} & {*aside}}
        deadline = self.content.deadline
        cell = certainly_small(Knowledge(FrechetBounds(self.content.collection, deadline)), public, k, deadline)
        return None if cell is None else WorstClass(self.by_atom(cell.values, cell.levels), count=cell.rows)

    def by_atom(self, values: Mapping[str, str], levels: Mapping[str, int]) -> dict[str, str]:
        """A cell's labels, with that of the atom where all ways to generalize an attribute are at their finest."""
        plain = dict(values)
        for attribute, names in self.parts.items():
            if all(levels.get(name) == self.content.collection.finest_level(name) for name in names):
                codes = [self.content.domain.hierarchy(name).code(plain.pop(name), levels[name]) for name in names]
                place = self.atoms[attribute].codes.T.tolist().index(codes)
                plain = {attribute: self.atoms[attribute].labels[place], **plain}
        return plain


def published_views(collection: Collection, attribute: str) -> list[Levels]:
    """The published levels of an attribute one by one, finest first."""
    levels = {margin[attribute] for margin in collection.margins if attribute in margin}
    return [{attribute: level} for level in sorted(levels)]


def common_refinement(bundles: Bundles) -> CommonRefinement:
    """The bundles over their atoms.

    Raises IncompatibleReleasesError where labels do not tell the atoms of an attribute, where only one bundle calls it
    sensitive, and where two names may be of one column; BundleError when the bundles count different numbers of rows, or
    contradict each other.
    """
    _check_names(bundles)
    _check_roles(bundles)
    groups = {attribute: _groups(bundles, attribute) for attribute in _attributes(bundles)}
    groups = {attribute: group for attribute, group in groups.items() if len(group) > 1}
    names = {
        attribute: tuple(f"{attribute} ({named_hierarchies[0]})" for named_hierarchies in of)
        for attribute, of in groups.items()
    }
    renamed = []
    for bundle, content in bundles:
        new_names = {
            attribute: name
            for attribute, named_hierarchies in groups.items()
            for name, group in zip(names[attribute], named_hierarchies)
            if bundle in group
        }
        renamed.append((bundle, _renamed(content, new_names, [a for a in groups if a not in new_names])))
    together = union(renamed)
    atoms: dict[str, Atoms] = {}
    for attribute, named_hierarchies in groups.items():
        hierarchies = [together.domain.hierarchy(name) for name in names[attribute]]
        atom_sets = atoms_of([(h, together.collection.finest_level(n)) for h, n in zip(hierarchies, names[attribute])])
        if atom_sets is None:
            differ = f"generalize {attribute!r} differently, and their labels do not tell how its values overlap"
            raise IncompatibleReleasesError(named_hierarchies[0][0], named_hierarchies[1][0], differ, "the hierarchies")
        atoms[attribute] = atom_sets
    supports = [_support(together.domain, names[a], atoms[a], together.collection) for a in groups]
    collection = Collection.of(together.collection.cube, together.collection.masks, supports)
    return CommonRefinement(replace(together, collection=collection), names, atoms)


def _check_roles(bundles: Bundles) -> None:
    """Raise IncompatibleReleasesError where only one bundle calls an attribute sensitive."""
    for (one, content), (other, other_content) in combinations(bundles, 2):
        for attribute, role in content.roles.items():
            if other_content.roles.get(attribute, role) is not role:
                raise IncompatibleReleasesError(one, other, f"only one calls {attribute!r} sensitive", "the roles")


def _check_names(bundles: Bundles) -> None:
    """Raise IncompatibleReleasesError where two bundles may call one column by two names."""
    for (one, content), (other, other_content) in combinations(bundles, 2):
        for pair in _names_apart(content, other_content):
            if _is_alike(*pair) or not _counts(content, pair[0]).isdisjoint(_counts(other_content, pair[1])):
                differ = f"what one calls {pair[0]!r} and the other {pair[1]!r} may be one column"
                raise IncompatibleReleasesError(one, other, differ, "the names")


def _names_apart(one: BundleContent, other: BundleContent) -> Iterator[tuple[str, str]]:
    """Each attribute that only the first of two bundles shows, with each that only the other shows."""
    first, second = (list(filter(content.collection.shows, content.domain.attributes)) for content in (one, other))
    return product([name for name in first if name not in second], [name for name in second if name not in first])


def _is_alike(name: str, other: str) -> bool:
    """Whether two names differ in case, blanks, punctuation or the composition of their characters at most."""
    spellings = [normalize("NFKC", text).casefold() for text in (name, other)]
    first, second = ("".join(filter(str.isalnum, spelling)) or spelling.strip() for spelling in spellings)
    return first == second


def _counts(content: BundleContent, attribute: str) -> set[frozenset[tuple[str, int]]]:
    """The labels of an attribute with their counts, at each level that tells some of them apart."""
    collection, hierarchy = content.collection, content.domain.hierarchy(attribute)
    counts = set()
    for level in range(collection.finest_level(attribute), hierarchy.height):
        table = collection.cube.table(content.domain.mask({attribute: level}))
        labels = [hierarchy.labels[level][code] for code in table.codes[0]]
        counts |= {frozenset(zip(labels, table.counts.tolist()))} if len(labels) > 1 else set()
    return counts


def _attributes(bundles: Bundles) -> list[str]:
    return list(dict.fromkeys(attribute for _, content in bundles for attribute in content.domain.attributes))


def _groups(bundles: Bundles, attribute: str) -> list[list[str]]:
    """The bundles that show an attribute, in groups that generalize it in one way."""
    showing = [(name, content) for name, content in bundles if attribute in content.domain.attributes]
    groups: list[list[tuple[str, BundleContent]]] = []
    for name, content in showing:
        if not content.collection.shows(attribute):
            continue
        alone = (name, _only(content, attribute))
        for group in groups:
            try:
                union([*group, alone])
            except IncompatibleReleasesError:
                continue
            group.append(alone)
            break
        else:
            groups.append([alone])
    return [[name for name, _ in group] for group in groups]


def _only(content: BundleContent, attribute: str) -> BundleContent:
    """What a bundle says of one attribute alone."""
    collection = content.collection
    domain = Domain.of({attribute: collection.domain.hierarchy(attribute)})
    tables = []
    for level in sorted({margin[attribute] for margin in collection.margins if attribute in margin}):
        table = collection.cube.table(collection.domain.mask({attribute: level}))
        tables.append(
            ContingencyTable.from_cells(domain, {attribute: level}, {attribute: table.codes[0]}, table.counts)
        )
    alone = Collection.of(DataCube(tables), [table.mask for table in tables])
    return BundleContent(alone, {attribute: content.roles[attribute]})


def _renamed(content: BundleContent, names: Mapping[str, str], left_out: Sequence[str]) -> BundleContent:
    """The same content with other names for some attributes, and without some that it does not show."""
    collection = content.collection
    kept_attributes = [a for a in collection.domain.attributes if a not in left_out]
    domain = Domain.of({names.get(a, a): collection.domain.hierarchy(a) for a in kept_attributes})
    tables = [
        ContingencyTable.from_cells(
            domain,
            {names.get(a, a): level for a, level in table.margin.items()},
            {names.get(a, a): codes for a, codes in zip(table.attributes, table.codes)},
            table.counts,
        )
        for table in collection.tables
    ]
    claims = tuple(_about(claim, names) for claim in content.claims)
    roles = {names.get(a, a): content.roles[a] for a in kept_attributes}
    labels = {names.get(a, a): told for a, told in content.known_labels.items() if a in kept_attributes}
    return replace(
        content,
        collection=Collection.of(DataCube(tables), [t.mask for t in tables]),
        roles=roles,
        claims=claims,
        labels=None if content.labels is None else labels,
    )


def _about(claim: Claim, names: Mapping[str, str]) -> Claim:
    """A claim under the new name of the attribute that it is about."""
    if claim.about is None or claim.about not in names:
        return claim
    renamed = type(claim).from_json({**claim.as_json(), "sensitive": names[claim.about]})
    return claim if renamed is None else replace(renamed, rows_per_person=claim.rows_per_person)


def _support(domain: Domain, names: Sequence[str], atoms: Atoms, collection: Collection) -> Support:
    levels = {name: collection.finest_level(name) for name in names}
    attributes = sorted(names, key=domain.index)
    columns = dict(zip(names, atoms.codes))
    sizes = [domain.hierarchy(name).size(levels[name]) for name in attributes]
    keys, _ = pack([columns[name] for name in attributes], sizes, len(atoms.labels))
    order = keys.argsort(kind="stable")
    codes = {name: columns[name][order] for name in attributes}
    return Support(Cells.of(domain, Margin(levels), codes), atoms.weights[order])


# Which values of two releases overlap, by their labels, where the releases generalize an attribute differently.
#
# A label stands for what the other release has under the same label, at whatever level. Numbers, intervals, prefixes
# (`148**`) and lists of labels (`cook, clerk`) say what they stand for. A value that nothing in the other release can
# stand for has no rows there. Of labels that do not tell, such as `other` beside other names, any two can overlap:
# what they stand for together is the same in both releases, and no more is known.


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
        pairs |= dict.fromkeys((code, partner) for partner in codes)
    for code, codes in _namesakes(other, one, tell_all).items():
        pairs |= dict.fromkeys((partner, code) for partner in codes)
    first_codes, right = ({pair[side] for pair in pairs} for side in (0, 1))
    unmatched = [code for code in range(one.size(0)) if code not in first_codes]
    other_unmatched = [code for code in range(other.size(0)) if code not in right]
    if len(unmatched) * len(other_unmatched) > _MOST_PAIRS:
        pairs |= dict.fromkeys((code, other_unmatched[0]) for code in unmatched)
        pairs |= dict.fromkeys((unmatched[0], code) for code in other_unmatched)
        return _array(list(pairs)), False
    is_clear = True
    unmatched_values, others = (
        [(h.labels[0][code], numbers[code]) for code in codes]
        for h, numbers, codes in ((one, numbers_of(one), unmatched), (other, numbers_of(other), other_unmatched))
    )
    for code, value in zip(unmatched, unmatched_values):
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


_Value: TypeAlias = tuple[str, Range | None]
"""A label, and the numbers that it stands for."""


def _overlap(value: _Value, other_value: _Value) -> bool | None:
    """Whether two values have something in common, by what their labels say; None where these do not tell."""
    (label, numbers), (other, other_numbers) = value, other_value
    if THE_REST.fullmatch(label) or THE_REST.fullmatch(other):
        return None
    are_numbers = [
        value_numbers is not None and not value_numbers.is_empty for value_numbers in (numbers, other_numbers)
    ]
    if numbers is not None and other_numbers is not None and all(are_numbers):
        return numbers.meets(other_numbers)
    if any(are_numbers) and MISSING in (label, other):
        return False
    prefixes = sorted((label.rstrip(SUPPRESSED), other.rstrip(SUPPRESSED)), key=len)
    if label.endswith(SUPPRESSED) or other.endswith(SUPPRESSED):
        return len(label) == len(other) and prefixes[1].startswith(prefixes[0])
    return None


_ALIKE = "a label is taken to mean the same in both"


@dataclass(frozen=True, eq=False)
class OneTable:
    """Bundles that can be of one table. together: their marginals as one bundle; None where they generalize differently."""

    bundles: Bundles
    together: BundleContent | None

    @property
    def name(self) -> str:
        """The names of the bundles."""
        return ", ".join(name for name, _ in self.bundles)

    def sharing_time(self, parts: int) -> "OneTable":
        """The same with one of so many equal parts of the time that is left."""
        bundles = [(name, _in_time(published, parts)) for name, published in self.bundles]
        return OneTable(bundles, None if self.together is None else _in_time(self.together, parts))

    @property
    def collections(self) -> list[Collection]:
        """What is published of the table: one collection, or several that cannot be put together."""
        contents = [bundle for _, bundle in self.bundles] if self.together is None else [self.together]
        return [content.collection for content in contents]

    @property
    def most_rows_of_a_person(self) -> int | None:
        """How many rows a person has at most, so that claims are about people; None where they are about rows."""
        return self.bundles[0][1].most_rows_of_a_person


def _in_time(published: BundleContent, parts: int) -> BundleContent:
    return replace(published, deadline=published.deadline.share(parts))


def by_table(bundles: Bundles) -> list[OneTable]:
    """The bundles in groups that can be of one table each, in their order.

    Bundles are of different tables when they count different numbers of rows, contradict each other, or are of different
    parts of a table. Where one agrees
    with several groups it is taken to be of the first one.
    """
    if (whole := _one_table(bundles)) is not None:
        return [whole]
    groups: list[OneTable] = []
    for bundle in bundles:
        for place, group in enumerate(groups):
            if (larger := _one_table([*group.bundles, bundle])) is not None:
                groups[place] = larger
                break
        else:
            groups.append(OneTable([bundle], bundle[1]))
    return groups


def _one_table(bundles: Bundles) -> OneTable | None:
    """The bundles together; None where no table has the counts of all."""
    totals = {published.collection.cube.total for _, published in bundles}
    parts = {published.where for _, published in bundles if published.where}
    if len(totals) > 1 or len(parts) > 1:
        return None
    try:
        together = bundles[0][1] if len(bundles) == 1 else union(bundles)
        _check_names(bundles)
        return OneTable(bundles, together)
    except BundleError:
        return None
    except IncompatibleReleasesError:
        return OneTable(bundles, None)


@dataclass(frozen=True, eq=False)
class TablePair:
    """Two tables, the earlier and the later one, with what is claimed of the people behind their rows.

    least: of how many people a difference must be; None where no release claims that of any count. claimed: the largest
    number that one of them claims, None where none does.
    """

    earlier: OneTable
    later: OneTable
    least: int | None
    claimed: int | None = None

    @property
    def parameters(self) -> dict[str, object]:
        """What a finding on the pair is about."""
        unit = self.earlier.most_rows_of_a_person
        demanded = {} if self.least is None else {"k": self.least}
        people = {} if unit is None or self.least is None else {"rows_per_person": unit}
        return {**demanded, "earlier": self.earlier.name, "later": self.later.name, **people}

    @property
    def least_rows(self) -> int | None:
        """How many rows so many people can have."""
        return None if self.least is None else self.least * (self.earlier.most_rows_of_a_person or 1)

    @property
    def count_alike(self) -> bool:
        """Whether the releases of both tables say the same of how many rows a person has."""
        return len({bundle.rows_per_person for table in (self.earlier, self.later) for _, bundle in table.bundles}) == 1

    @property
    def assumption(self) -> str:
        """Why a small difference may prove nobody, as the releases of both tables state it; empty where one does not."""
        bundles = [bundle for table in (self.earlier, self.later) for _, bundle in table.bundles]
        if (
            self.claimed is None
            or (self.least or 0) > self.claimed
            or not all(bundle.turnover_known for bundle in bundles)
        ):
            return ""
        return (
            f"it proves nobody where at least {self.claimed} came and at least {self.claimed} left. All releases state that "
            "this is so and that readers know that people come and go; their publisher's ledger shows it, the files cannot"
        )

    @property
    def parts(self) -> str:
        """That the two tables are not of the same part of a table, and what a difference is then; empty where they are."""
        first, second = ({bundle.where for _, bundle in table.bundles} for table in (self.earlier, self.later))
        if first == second:
            return ""
        named = (" and ".join(filter(None, sorted(attribute_names))) or "all" for attribute_names in (first, second))
        return (
            f"they are of different parts of a table ({'; '.join(named)}), so who is in the one and not in the other "
            "need not have come or left"
        )

    @property
    def one_column(self) -> tuple[str, str] | None:
        """A name in each table that may be of one column, as they are spelled alike; None where there are none."""
        bundles = ([bundle for _, bundle in table.bundles] for table in (self.earlier, self.later))
        apart = (names for one, other in product(*bundles) for names in _names_apart(one, other))
        return next((names for names in apart if _is_alike(*names)), None)

    @property
    def narrowed(self) -> Narrowing:
        """To the cells of a meet that can be in the parts of both tables."""
        if not self.parts:
            return every_cell
        wheres = {bundle.where for table in (self.earlier, self.later) for _, bundle in table.bundles if bundle.where}
        return inside_all([Part(where) for where in sorted(wheres)])

    def overlapping(self) -> Iterator[tuple[Collection, Collection, LabelOverlaps]]:
        """What is published of each of the two tables, and how their values overlap."""
        for before, after in product(self.earlier.collections, self.later.collections):
            yield before, after, label_overlaps(before, after)


def pairs_of_tables(tables: Sequence[OneTable], least: int | None = None) -> Iterator[TablePair]:
    """Each two tables, in their order.

    least: of how many people; the largest that any of the bundles claims of its counts where it is None.
    """
    claims = [claim for table in tables for _, bundle in table.bundles for claim in bundle.claims]
    claimed = max((claim.k for claim in claims if isinstance(claim, CountClaim)), default=None)
    for earlier, later in combinations(tables, 2):
        yield TablePair(earlier, later, claimed if least is None else least, claimed)


def differences(pairs: Sequence[TablePair]) -> Iterator[Finding]:
    """For each two tables whether what is published of them shows no small difference."""
    for pair in pairs:
        if pair.least_rows is None:
            why = "no release claims a least count, so no difference is too small by its claims; --check difference=K asks"
            yield _undecided(pair.parameters, why)
        elif not pair.count_alike:
            why = "the releases differ in rows_per_person, how many rows a person has"
            yield _undecided(pair.parameters, why)
        else:
            judged = (_judged(*tables, pair.least_rows, pair.narrowed) for tables in pair.overlapping())
            yield _worst(list(judged), pair)


def _judged(before: Collection, after: Collection, overlaps: LabelOverlaps, least: int, narrowed: Narrowing) -> Finding:
    """Undecided also where labels do not tell which values overlap."""
    finding = difference(before, after, least, overlaps.pairs, narrowed)
    if finding.verdict is Verdict.FAILS:
        return finding
    if overlaps.unclear:
        names = ", ".join(map(repr, overlaps.unclear))
        why = f"labels do not tell how the values of {names} in one release overlap with those in the other; {_REUSE}"
        return replace(finding, verdict=Verdict.UNDECIDED, note=why)
    return replace(finding, note=f"{finding.note}; {_REUSE}") if finding.verdict is Verdict.UNDECIDED else finding


_REUSE = "publish the second again with the ladders of the first (the key data.ladders of its config)"


def _worst(findings: Sequence[Finding], pair: TablePair) -> Finding:
    """The worst of the findings on what is published of two tables, that of the smallest difference among those alike."""

    def place(finding: Finding) -> tuple[int, float]:
        """By verdict, then by how small the difference is."""
        size = abs(finding.worst.difference) if isinstance(finding.worst, CellDifference) else float("inf")
        return DECISIVE.index(finding.verdict), size

    worst = min(findings, key=place)
    if worst.verdict is Verdict.FAILS and pair.assumption:
        worst = replace(worst, verdict=Verdict.UNDECIDED, note=pair.assumption)
    worst = replace(worst, note="; ".join(filter(None, [worst.note, pair.parts])))
    notes = [worst.note, _ALIKE] if worst.verdict is Verdict.HOLDS else [worst.note]
    if worst.verdict is Verdict.HOLDS and any(table.together is None for table in (pair.earlier, pair.later)):
        why = "the releases of one table generalize attributes differently, so what they tell together was not compared"
        worst, notes = replace(worst, verdict=Verdict.UNDECIDED), [why]
    if worst.verdict is Verdict.HOLDS and (names := pair.one_column):
        why = f"{names[0]!r} and {names[1]!r} may be one column, and its values were not compared"
        worst, notes = replace(worst, verdict=Verdict.UNDECIDED), [why]
    return replace(worst, parameters=pair.parameters, note="; ".join(filter(None, notes)))


def _undecided(parameters: Mapping[str, object], why: str) -> Finding:
    return Finding(CRITERION, Verdict.UNDECIDED, parameters, None, (Algorithm.NONE,), 0, why)


# The ladders of a release, for another one: the levels that it publishes of each attribute, over the values of a new
# table.
#
# Releases with the same levels tell least beyond each other. The levels of a release are public, so taking them tells
# nothing.


@dataclass(frozen=True, eq=False)
class ReleasedLadder:
    """The levels of an attribute from the finest published one on, to be put above the base values of another table."""

    released: Hierarchy

    def __call__(self, given: Hierarchy) -> Hierarchy:
        """The base values of a hierarchy, in their order, and above them the levels of the release.

        A base value is part of what the release calls like it, or like one of its generalizations in the given hierarchy; of
        the interval or the list of labels that it is in; or of the one label that means all others. A value that is part of
        none stands by itself at every level below `*`.

        >>> rows = [("1", "under 3", "*"), ("2", "under 3", "*"), ("3 and over", "3 and over", "*")]
        >>> ladder = ReleasedLadder(Hierarchy.from_rows(rows))
        >>> ladder(Hierarchy.flat(["1", "3", "4", "none"])).rows()[1:]
        [('3', '3 and over', '3 and over', '*'), ('4', '3 and over', '3 and over', '*'), ('none', 'none', 'none', '*')]
        """
        paths = self.released.rows()
        rows, unknown = [], []
        for (value, *above), numbers in zip(given.rows(), numbers_of(given)):
            place = self._place([value, *above[:-1]], numbers)
            if place is None:
                unknown.append(value)
            else:
                rows.append((value, *paths[place]))
        if all(value == path[0] for value, *path in rows):
            rows = [(value, *path[1:]) for value, *path in rows]
        if not rows:
            return given
        known = Hierarchy.from_rows(rows)
        for value in unknown:
            known = known.with_value_apart(value)
        path_of = {path[0]: path for path in known.rows()}
        ladder = Hierarchy.from_rows(path_of[value] for value in given.labels[0])
        return replace(ladder, order=given.order, has_names=given.has_names or self.released.has_names)

    def _place(self, path: list[str], number_range: Range | None) -> int | None:
        """The value of the release that a base value is part of, by label, those above it or numbers; None for none."""
        named = (self._by_label.get(label) for label in path)
        if (
            place := next((place_of_label for place_of_label in named if place_of_label is not None), None)
        ) is not None:
            return place
        if number_range is not None:
            holding = [place for place, numbers in self._numbers if numbers.holds(number_range)]
            if len(holding) == 1:
                return holding[0]
        rest = [place for place, label in enumerate(self.released.labels[0]) if THE_REST.fullmatch(label)]
        return rest[0] if len(rest) == 1 else None

    @cached_property
    def _by_label(self) -> dict[str, int]:
        labels = self.released.labels[0]
        listed = {part: place for place, label in enumerate(labels) for part in _without_missing(label).split(", ")}
        with_missing = [place for place, label in enumerate(labels) if label != _without_missing(label)]
        listed |= {MISSING: with_missing[0]} if with_missing else {}
        return listed | {label: place for place, label in enumerate(labels)}

    @cached_property
    def _numbers(self) -> list[tuple[int, Range]]:
        if self.released.has_names or are_names(self.released):
            return []
        numbers = ((place, interval(_without_missing(label))) for place, label in enumerate(self.released.labels[0]))
        return [(place, place_numbers) for place, place_numbers in numbers if place_numbers is not None]


def _without_missing(label: str) -> str:
    return label.removesuffix(f" or {MISSING}")


def released_ladders(published: BundleContent) -> dict[str, ReleasedLadder]:
    """The ladders of the attributes that a release shows."""
    collection = published.everything
    return {
        attribute: ReleasedLadder(counted_hierarchy(collection, attribute).published_levels.hierarchy)
        for attribute in filter(collection.shows, collection.domain.attributes)
    }


def read_ladders(folder: Path, roles: Mapping[str, Role]) -> dict[str, ReleasedLadder]:
    """The ladders of the release in a folder, for attributes of these roles.

    Raises InputError where there is no intact release, where it shows none of the attributes, and where it gives one another
    role, since then nobody can judge both releases together.
    """
    try:
        published = read_bundle(folder)
    except BundleError as error:
        raise InputError(f"the release {folder.name} is damaged: {error}") from None
    ladders = {name: ladder for name, ladder in released_ladders(published).items() if name in roles}
    if not ladders:
        raise InputError(f"the release {folder.name} shows none of the attributes, so it has no ladders for them")
    for name in ladders:
        if published.roles[name] is not roles[name]:
            raise InputError(
                f"the release {folder.name} calls {name!r} {published.roles[name].value}, and here it is "
                f"{roles[name].value}; give it the same role, so that both releases can be judged together"
            )
    return ladders
