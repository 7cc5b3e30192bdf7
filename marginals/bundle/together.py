"""Several bundles together: of one table, or of a table that changed in between."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from itertools import combinations, product
from pathlib import Path
from typing import NamedTuple

from checks.attacks.knowledge import Levels
from checks.changes import CRITERION, CellDifference, Narrowing, difference, every_cell
from checks.claims import VERIFIED, Claim, CountClaim, Register
from checks.combinatorial import ToldByLabels
from checks.finding import DECISIVE, Algorithm, Finding, Verdict
from marginals.bundle.content import BundleContent, model_of
from marginals.bundle.overlaps import (
    THE_REST,
    CountedHierarchy,
    LabelOverlaps,
    counted_hierarchy,
    label_overlaps,
    one_column,
    value_counts,
)
from marginals.bundle.reading import check_agreement, read_bundle
from marginals.errors import BundleError, IncompatibleReleasesError, InputError
from marginals.messages import first_few
from marginals.names import number_of
from marginals.tables.attribute import MISSING, Role
from marginals.tables.intervals import Range, are_names, interval, numbers_of
from marginals.tables.table import Table
from models.errors import HierarchyError, MarginalsError
from models.frozen import frozen
from models.graphs.junction_tree import Collection
from models.inference.marginal_model import MarginalModel
from models.tables.contingency_table import ContingencyTable, equal_cells
from models.tables.data_cube import DataCube
from models.tables.hierarchy import Domain, Hierarchy

Bundles = Sequence[tuple[str, BundleContent]]


def union(bundles: Bundles) -> BundleContent:
    """Return all marginals of several bundles as one collection, with all their claims.

    Raises IncompatibleReleasesError if they differ in a hierarchy, a role, the name of a column, or the rows of a
    person. Raises BundleError if they count different numbers of rows, or contradict each other.
    """
    bundles = [(name, published.as_one()) for name, published in bundles]
    together = _union(bundles)
    _check_names(bundles)
    return together


def _union(bundles: Bundles) -> BundleContent:
    (first, published), *others = bundles
    rows = published.collection.cube.total
    for name, other in others:
        if (number := other.collection.cube.total) != rows:
            raise BundleError(name, f"it counts {number_of(number, 'row')} where {first} counts {rows:,}")
    claims = tuple(dict.fromkeys(claim for _, bundle in bundles for claim in _claims_together(bundle, bundles)))
    if not any(bundle.collection.tables for _, bundle in bundles):
        return replace(published, claims=claims)
    of_each = [(name, collection.tables) for (name, _), collection in zip(bundles, _over_one_domain(bundles))]
    tables = {f"{name}: the marginal ({table.margin})": table for name, of in of_each for table in of}
    check_agreement(tables)
    are_stated = any(bundle.labels is not None for _, bundle in bundles)
    return BundleContent(
        _collection(list(tables.values())),
        {attribute: role for _, bundle in bundles for attribute, role in bundle.roles.items()},
        claims,
        deadline=min((bundle.deadline for _, bundle in bundles), key=lambda limit: limit.at),
        rows_per_person=published.rows_per_person,
        labels=_labels_together([bundle.known_labels for _, bundle in bundles]) if are_stated else None,
        impossible=tuple(pair for _, bundle in bundles for pair in bundle.impossible),
    )


def _labels_together(releases: Sequence[ToldByLabels]) -> ToldByLabels:
    together: dict[str, dict[str, int]] = {}
    for labels in releases:
        for name, numbers in labels.items():
            largest = together.setdefault(name, {})
            largest |= {label: max(number, largest.get(label, number)) for label, number in numbers.items()}
    return together


def _claims_together(published: BundleContent, bundles: Bundles) -> Iterator[Claim]:
    """Claims of a bundle, without attestations that do not cover the tables of other bundles."""
    others = [bundle for _, bundle in bundles if bundle is not published]
    is_alone = not any(other.collection.shows(name) for other in others for name in other.sensitive)
    for claim in published.claims:
        if isinstance(claim, Register) and not is_alone:
            claim = replace(claim, basis=VERIFIED)
        yield claim


def _over_one_domain(bundles: Bundles) -> list[Collection]:
    (first, published), *others = bundles
    for name, other in others:
        if other.rows_per_person != published.rows_per_person:
            differ = "differ in rows_per_person, how many rows a person has"
            raise IncompatibleReleasesError(first, name, differ, "the rows_per_person")
    _check_roles(bundles)
    hierarchies: dict[str, tuple[str, CountedHierarchy]] = {}
    for name, published in bundles:
        for attribute in published.domain.attributes:
            counted = counted_hierarchy(published.collection, attribute)
            first, common = hierarchies.setdefault(attribute, (name, counted))
            if (merged := _merged(common, counted)) is None:
                raise IncompatibleReleasesError(first, name, f"generalize {attribute!r} differently", "the hierarchies")
            hierarchies[attribute] = (first, merged)
    common_hierarchies = {attribute: common for attribute, (_, common) in hierarchies.items()}
    return [_in_common(published.collection, common_hierarchies) for _, published in bundles]


def _merged(one: CountedHierarchy, other: CountedHierarchy) -> CountedHierarchy | None:
    return one.merged(other) or one.published_levels.merged(other.published_levels)


def _in_common(collection: Collection, hierarchies: Mapping[str, CountedHierarchy]) -> Collection:
    domain = Domain.of({attribute: common.hierarchy for attribute, common in hierarchies.items()})
    levels = _common_levels(collection, hierarchies)
    return _collection([recoded(table, domain, levels) for table in collection.tables])


def _collection(tables: Sequence[ContingencyTable]) -> Collection:
    return Collection.of(DataCube(tables), [table.mask for table in tables])


def _common_levels(collection: Collection, hierarchies: Mapping[str, CountedHierarchy]) -> dict[str, tuple[int, ...]]:
    levels_of: dict[str, tuple[int, ...]] = {}
    for attribute in filter(collection.shows, collection.domain.attributes):
        counted, common = counted_hierarchy(collection, attribute), hierarchies[attribute]
        if (levels := counted.levels_in(common)) is None:
            if (published := counted.published_levels.levels_in(common)) is None:
                raise HierarchyError(f"the hierarchy of {attribute!r} does not hold the published one")
            levels = (published[0],) * counted.finest + published  # nothing shows the levels below the finest one
        levels_of[attribute] = levels
    return levels_of


def recoded(
    table: ContingencyTable, domain: Domain, levels: Mapping[str, Sequence[int] | Mapping[int, int]]
) -> ContingencyTable:
    """Return the same table in another domain. `levels`: those of the domain for each level of an attribute."""
    margin = {attribute: levels[attribute][level] for attribute, level in table.margin.items()}
    labels = {attribute: table.domain.hierarchy(attribute).labels[level] for attribute, level in table.margin.items()}
    places = {a: domain.hierarchy(a).codes(labels[a], level) for a, level in margin.items()}
    codes = {attribute: places[attribute][column] for attribute, column in zip(table.attributes, table.codes)}
    return ContingencyTable.from_cells(domain, margin, codes, table.counts)


class OverTable(NamedTuple):
    """Published marginals over the hierarchies of the table that they were counted from: all, and the core among them."""

    everything: Collection
    core: Collection

    @property
    def model(self) -> MarginalModel:
        """Model of these marginals."""
        return model_of(self.everything, self.core)


def over_table(published: BundleContent, truth: Table) -> "tuple[OverTable, Table]":
    """Marginals over the hierarchies of their table, and that with the release's names. Raises InputError."""
    other = InputError("the truth is another table than the one that was published; give the config it was made from")
    everything = published.everything
    if any(a not in truth.domain.attributes for table in everything.tables for a in table.attributes):
        raise other
    truth = _named_as(published, truth)
    hierarchies = {name: CountedHierarchy(h, 0, value_counts(truth.cube, name, 0)) for name, h in truth.domain.items()}
    try:
        collection = _in_common(everything, hierarchies)
        levels = _common_levels(everything, hierarchies)
    except MarginalsError:
        raise other from None
    if not all(equal_cells([truth.cube.table(table.mask), table]) for table in collection.tables):
        raise other
    margins = ({a: levels[a][level] for a, level in margin.items()} for margin in published.collection.margins)
    core = Collection.of(collection.cube, map(collection.domain.mask, margins))
    return OverTable(collection, core), truth


def _named_as(published: BundleContent, truth: Table) -> Table:
    renamed = {}
    for name, naming in truth.naming.items():
        if not published.everything.shows(name):
            continue
        counted, ladder = counted_hierarchy(published.everything, name), truth.domain.hierarchy(name)
        counts = value_counts(truth.cube, name, 0)
        for finest in range(ladder.height):
            named = naming.named(ladder, finest, counts, published.least_count).hierarchy
            if CountedHierarchy(named, 0, counts).counts_at(finest) == counted.counts_at(counted.finest):
                renamed[name] = named
                break
    return replace(truth.with_hierarchies(renamed), naming=truth.naming) if renamed else truth


def published_views(collection: Collection, attribute: str) -> list[Levels]:
    """Published levels of an attribute one by one, finest first."""
    levels = {margin[attribute] for margin in collection.margins if attribute in margin}
    return [{attribute: level} for level in sorted(levels)]


def _check_roles(bundles: Bundles) -> None:
    # An attribute that is sensitive in one is part of classes in another, so no claim of both can be checked at once.
    for (one, content), (other, other_content) in combinations(bundles, 2):
        for attribute, role in content.roles.items():
            if other_content.roles.get(attribute, role) is not role:
                raise IncompatibleReleasesError(one, other, f"only one calls {attribute!r} sensitive", "the roles")


def _check_names(bundles: Bundles) -> None:
    for (one, content), (other, other_content) in combinations(bundles, 2):
        if pairs := one_column(content, other_content, is_one_table=True):
            differ = f"may call one column by two names: {_in_words(pairs)}"
            raise IncompatibleReleasesError(one, other, differ, "the names")


def _in_words(pairs: Sequence[tuple[str, str]]) -> str:
    return first_few([f"{name!r} and {other!r}" for name, other in pairs], 3)


@frozen(eq=False)
class OneTable:
    """Bundles that can be of one table. `together`: their marginals as one bundle; None if they cannot be put together,
    for which `problem` is the reason.
    """

    bundles: Bundles
    together: BundleContent | None
    problem: str = ""

    @property
    def name(self) -> str:
        """Names of the bundles."""
        return ", ".join(name for name, _ in self.bundles)

    def sharing_time(self, parts: int) -> "OneTable":
        """Return the same bundles with one of so many equal parts of the time that is left."""

        def sharing(bundle: BundleContent) -> BundleContent:
            return replace(bundle, deadline=bundle.deadline.share(parts))

        bundles = [(name, sharing(bundle)) for name, bundle in self.bundles]
        return OneTable(bundles, self.together and sharing(self.together), self.problem)

    @property
    def collections(self) -> list[Collection]:
        """Collections of the table: one, or several that cannot be put together."""
        contents = [bundle for _, bundle in self.bundles] if self.together is None else [self.together]
        return [content.collection for content in contents]


def by_table(bundles: Bundles) -> list[OneTable]:
    """Groups of bundles that can be of one table each, in their order; one that fits several is of the first one.

    Those of one table count the same rows of the same part of it, and do not contradict each other.
    """
    if (single := _one_table(bundles)) is not None:
        return [single]
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
    if len({published.where for _, published in bundles if published.where}) > 1:
        return None
    try:
        try:
            return OneTable(bundles, bundles[0][1] if len(bundles) == 1 else union(bundles))
        except IncompatibleReleasesError as problem:
            for pair in combinations(bundles, 2):  # of which each may generalize other attributes alike
                with suppress(IncompatibleReleasesError):
                    _union(_generalized_alike(pair))
            return OneTable(bundles, None, str(problem))
    except BundleError:
        return None


def _generalized_alike(bundles: Bundles) -> Bundles:
    """Two bundles without the attributes that they generalize differently."""
    one, other = (content.collection for _, content in bundles)
    shared = [name for name in one.domain.attributes if name in other.domain.attributes]
    apart = {name for name in shared if _merged(counted_hierarchy(one, name), counted_hierarchy(other, name)) is None}

    def alike(table: ContingencyTable) -> ContingencyTable:
        return table.rolled_up({name: level for name, level in table.margin.items() if name not in apart})

    collections = [_collection([*map(alike, content.collection.tables)]) for _, content in bundles]
    return [(name, replace(content, collection=of)) for (name, content), of in zip(bundles, collections)]


@frozen(eq=False)
class TablePair:
    """Two tables. `least`: people of a difference, None if no release claims any. `claimed`: the most of any claim."""

    earlier: OneTable
    later: OneTable
    least: int | None
    claimed: int | None = None

    @cached_property
    def bundles(self) -> list[BundleContent]:
        """Bundles of both tables."""
        return [bundle for table in (self.earlier, self.later) for _, bundle in table.bundles]

    @property
    def parameters(self) -> dict[str, object]:
        """Parameters of a finding on the pair."""
        unit = None if self.least is None else self.bundles[0].most_rows_of_a_person
        values = {"k": self.least, "earlier": self.earlier.name, "later": self.later.name, "rows_per_person": unit}
        return {name: value for name, value in values.items() if value is not None}

    @property
    def least_rows(self) -> int | None:
        """Most rows that so many people can have."""
        return None if self.least is None else self.least * (self.bundles[0].most_rows_of_a_person or 1)

    @property
    def assumption(self) -> str:
        """Reason why a small difference may prove nobody, if the releases of both tables declare it; else empty."""
        is_known = all(bundle.turnover_known for bundle in self.bundles)
        if self.claimed is None or (self.least or 0) > self.claimed or not is_known:
            return ""
        return (
            f"it proves nobody where at least {self.claimed} came and at least {self.claimed} left. All releases state that "
            "this is so and that readers know that people come and go; their publisher's ledger shows it, the files cannot"
        )

    @property
    def parts(self) -> str:
        """Note that the two tables are of different parts of a table; empty for the same part."""
        first, second = ({bundle.where for _, bundle in table.bundles} for table in (self.earlier, self.later))
        if first == second:
            return ""
        named = (" and ".join(filter(None, sorted(wheres))) or "all" for wheres in (first, second))
        return (
            f"they are of different parts of a table ({'; '.join(named)}), so who is in the one and not in the other "
            "need not have come or left"
        )

    @property
    def shared_column(self) -> str:
        """Names, one in each table, that may be of one column; empty where there are none."""
        both = product(self.earlier.bundles, self.later.bundles)
        pairs = (pair for (_, one), (_, other) in both for pair in one_column(one, other, is_one_table=False))
        return _in_words([*dict.fromkeys(pairs)])

    @property
    def narrowed(self) -> Narrowing:
        """Limit on the cells of a meet to those that can be in the parts of both tables."""
        if not self.parts:
            return every_cell
        from marginals.published_values import Part, inside_all  # slow to import, and few releases are of a part

        return inside_all([Part(where) for where in sorted({bundle.where for bundle in self.bundles} - {""})])

    def overlapping(self) -> Iterator[tuple[Collection, Collection, LabelOverlaps]]:
        """Pairs of collections, one of each table, with the overlaps of their values."""
        for before, after in product(self.earlier.collections, self.later.collections):
            yield before, after, label_overlaps(before, after)


def pairs_of_tables(tables: Sequence[OneTable], least: int | None = None) -> Iterator[TablePair]:
    """Pairs of the tables, in their order. `least`: number of people; None for the largest that is claimed."""
    claims = [claim for table in tables for _, bundle in table.bundles for claim in bundle.claims]
    claimed = max((claim.k for claim in claims if isinstance(claim, CountClaim)), default=None)
    for earlier, later in combinations(tables, 2):
        yield TablePair(earlier, later, claimed if least is None else least, claimed)


def differences(pairs: Sequence[TablePair]) -> Iterator[Finding]:
    """Findings, for each two tables, that their counts show no small difference."""
    for pair in pairs:
        if pair.least_rows is None:
            why = "no release claims a least count, so no difference is too small by its claims; --check difference=K asks"
            yield _undecided(pair.parameters, why)
        elif len({bundle.rows_per_person for bundle in pair.bundles}) > 1:
            yield _undecided(pair.parameters, "the releases differ in rows_per_person, how many rows a person has")
        else:
            yield _worst([_compared(*tables, pair.least_rows, pair.narrowed) for tables in pair.overlapping()], pair)


def _undecided(parameters: Mapping[str, object], why: str) -> Finding:
    return Finding(CRITERION, Verdict.UNDECIDED, parameters, None, (Algorithm.NONE,), 0, why)


def _compared(
    before: Collection, after: Collection, overlaps: LabelOverlaps, least: int, narrowed: Narrowing
) -> Finding:
    finding = difference(before, after, least, overlaps.pairs, narrowed)
    if finding.verdict is not Verdict.FAILS and overlaps.unclear:
        names = ", ".join(map(repr, overlaps.unclear))
        why = f"labels do not tell how the values of {names} in one release overlap with those in the other; {_REUSE}"
        return replace(finding, verdict=Verdict.UNDECIDED, note=why)
    return replace(finding, note=f"{finding.note}; {_REUSE}") if finding.verdict is Verdict.UNDECIDED else finding


_REUSE = "publish the second again with the ladders of the first (the key data.ladders of its config)"


def _worst(findings: Sequence[Finding], pair: TablePair) -> Finding:
    sizes = [abs(f.worst.difference) if isinstance(f.worst, CellDifference) else float("inf") for f in findings]
    worst, _ = min(zip(findings, sizes), key=lambda item: (DECISIVE.index(item[0].verdict), item[1]))
    verdict, notes = worst.verdict, [worst.note, pair.parts]
    why = pair.assumption if verdict is Verdict.FAILS else ""
    if verdict is Verdict.HOLDS:
        notes.append("a name and a label are taken to mean the same in both")
        if any(table.together is None for table in (pair.earlier, pair.later)):
            notes = []
            why = "the releases of one table generalize attributes differently, so what they tell together was not compared"
        elif names := pair.shared_column:
            notes, why = [], f"{names} may be one column, and its values were not compared"
    if why:
        verdict, notes = Verdict.UNDECIDED, [why, *notes[1:]]
    return replace(worst, verdict=verdict, parameters=pair.parameters, note="; ".join(filter(None, notes)))


# The ladders of a release, for another one: releases with the same levels tell least beyond each other.


@frozen(eq=False)
class ReleasedLadder:
    """Levels of an attribute from the finest published one on, to be put above the base values of another table."""

    released: Hierarchy

    def __call__(self, hierarchy: Hierarchy) -> Hierarchy:
        """Base values of a hierarchy, in their order, with the levels of the release above them.

        A base value is part of the label of the release with its name or with one of its generalizations. Otherwise it
        is part of the interval or list that it is in, or of the one label that means all others. Else it is apart,
        below `*`.
        """
        paths = self.released.rows()
        rows, unknown = [], []
        for (value, *above), numbers in zip(hierarchy.rows(), numbers_of(hierarchy)):
            if (place := self._place([value, *above[:-1]], numbers)) is None:
                unknown.append(value)
            else:
                rows.append((value, *paths[place]))
        if all(value == path[0] for value, *path in rows):
            rows = [(value, *path[1:]) for value, *path in rows]
        if not rows:
            return hierarchy
        covered = Hierarchy.from_rows(rows)
        for value in unknown:
            covered = covered.with_value_apart(value)
        path_of = {path[0]: path for path in covered.rows()}
        ladder = Hierarchy.from_rows(path_of[value] for value in hierarchy.labels[0])
        return replace(ladder, order=hierarchy.order, has_names=hierarchy.has_names or self.released.has_names)

    def _place(self, path: list[str], number_range: Range | None) -> int | None:
        if named := [self._by_label[label] for label in path if label in self._by_label]:
            return named[0]
        if number_range is not None:
            holding = [place for place, numbers in self._numbers if numbers.holds(number_range)]
            if len(holding) == 1:
                return holding[0]
        rest = [place for place, label in enumerate(self.released.labels[0]) if THE_REST.fullmatch(label)]
        return rest[0] if len(rest) == 1 else None

    @cached_property
    def _by_label(self) -> dict[str, int]:
        labels = self.released.labels[0]
        places = {part: place for place, label in enumerate(labels) for part in _without_missing(label).split(", ")}
        with_missing = [place for place, label in enumerate(labels) if label != _without_missing(label)]
        places |= {MISSING: with_missing[0]} if with_missing else {}
        return places | {label: place for place, label in enumerate(labels)}

    @cached_property
    def _numbers(self) -> list[tuple[int, Range]]:
        if self.released.has_names or are_names(self.released):
            return []
        intervals = map(interval, map(_without_missing, self.released.labels[0]))
        return [(place, numbers) for place, numbers in enumerate(intervals) if numbers is not None]


def _without_missing(label: str) -> str:
    return label.removesuffix(f" or {MISSING}")


def released_ladders(published: BundleContent) -> dict[str, ReleasedLadder]:
    """Ladders of the attributes that a release shows."""
    everything = published.everything
    names = filter(everything.shows, everything.domain.attributes)
    return {name: ReleasedLadder(counted_hierarchy(everything, name).published_levels.hierarchy) for name in names}


def read_ladders(folder: Path, roles: Mapping[str, Role]) -> dict[str, ReleasedLadder]:
    """Ladders of the release in a folder, for attributes of these roles; raises InputError without any."""
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
