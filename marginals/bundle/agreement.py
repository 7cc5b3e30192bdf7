"""Whether marginals can be of one table: those of a bundle, and those of several bundles put together."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from checks.claims.claim import Claim
from marginals.bundle.content import BundleContent
from marginals.conditions.common_hierarchy import CountedHierarchy
from marginals.errors import BundleError, IncompatibleReleasesError, InputError
from marginals.tables.attribute import Role
from models.errors import HierarchyError, MarginalsError, NotDecomposableError
from models.graphs.collection import Collection
from models.graphs.junction_tree import JunctionTree
from models.tables.contingency_table import ContingencyTable, equal_cells
from models.tables.data_cube import DataCube
from models.tables.domain import Domain, Mask

if TYPE_CHECKING:
    from marginals.tables.table import Table


def check_agreement(tables: Mapping[str, ContingencyTable]) -> None:
    """Raise BundleError naming two tables that differ on their common margin. tables: by what to call them."""
    showing = [table for table in tables.values() if table.mask]
    if not showing or _agree_along_tree(showing):
        return
    first: dict[Mask, tuple[str, ContingencyTable]] = {}
    compared: set[tuple[str, Mask]] = set()
    for (path, table), (other_path, other) in combinations(tables.items(), 2):
        common = table.mask & other.mask
        for place, each in ((path, table), (other_path, other)):
            if not common or (place, common) in compared:
                continue
            compared.add((place, common))
            margin = table.domain.margin(common)
            rolled = each.rolled_up(margin)
            first_place, first_margin = first.setdefault(common, (place, rolled))
            if not equal_cells([first_margin, rolled]):
                problem = f"it contradicts {first_place}: they differ on their common margin ({margin})"
                raise BundleError(place, problem)


def _agree_along_tree(tables: Sequence[ContingencyTable]) -> bool:
    """Whether tables that show something have a junction tree, and those beside each other in it agree on what they share.

    Then one distribution has all of them as margins (Dawid and Lauritzen 1993, section 2), so every two of them agree.
    """
    by_mask = {table.mask: table for table in tables}
    try:
        tree = JunctionTree.of(tables[0].domain, by_mask)
    except NotDecomposableError:
        return False
    beside = zip(tree.cliques, tree.parents)
    pairs = [(by_mask[tree.cliques[parent]], by_mask[clique]) for clique, parent in beside if parent >= 0]
    for table in tables:
        holder = next(clique for clique in tree.cliques if not table.mask & ~clique)
        if by_mask[holder] is not table:
            pairs.append((by_mask[holder], table))
    return all(_agree(*pair) for pair in pairs)


def _agree(one: ContingencyTable, other: ContingencyTable) -> bool:
    """Whether two tables have the same margin of what they share."""
    common = one.mask & other.mask
    return equal_cells([one.rolled_up_to(common), other.rolled_up_to(common)])


def union(bundles: Sequence[tuple[str, BundleContent]]) -> BundleContent:
    """All marginals of several bundles as one collection, with all their claims.

    Raises IncompatibleReleasesError naming both bundles when they generalize an attribute differently, as far as labels and
    counts tell, or give it different roles, or differ in how many rows a person has, BundleError when they count different
    numbers of rows, or contradict each other.
    """
    if not any(published.collection.tables for _, published in bundles):
        return _of_nothing(bundles)
    tables: dict[str, ContingencyTable] = {}
    for (name, _), collection in zip(bundles, over_one_domain(bundles)):
        for table in collection.tables:
            tables[f"{name}: the marginal ({table.margin})"] = table
    rows = next(iter(tables.values())).total
    for place, table in tables.items():
        if table.total != rows:
            raise BundleError(place, f"it counts {table.total} rows where {next(iter(tables))} counts {rows}")
    check_agreement(tables)
    claims = tuple(dict.fromkeys(claim for _, published in bundles for claim in published.claims))
    collection = Collection.of(DataCube(list(tables.values())), [table.mask for table in tables.values()])
    deadline = min((published.deadline for _, published in bundles), key=lambda each: each.at)
    roles = {attribute: role for _, published in bundles for attribute, role in published.roles.items()}
    return BundleContent(collection, roles, claims, deadline=deadline, rows_per_person=bundles[0][1].rows_per_person)


def over_one_domain(bundles: Sequence[tuple[str, BundleContent]]) -> list[Collection]:
    """The marginals of each bundle over hierarchies that hold those of all.

    Raises IncompatibleReleasesError as `union` does.
    """
    _check_units(bundles)
    hierarchies: dict[str, tuple[str, CountedHierarchy]] = {}
    roles: dict[str, Role] = {}
    for name, published in bundles:
        for attribute in published.domain.attributes:
            counted = counted_hierarchy(published.collection, attribute)
            first, common = hierarchies.setdefault(attribute, (name, counted))
            merged = common.merged(counted) or common.published_levels.merged(counted.published_levels)
            if merged is None:
                raise IncompatibleReleasesError(first, name, f"generalize {attribute!r} differently", "the hierarchies")
            hierarchies[attribute] = (first, merged)
            if roles.setdefault(attribute, published.roles[attribute]) is not published.roles[attribute]:
                # What one sets aside as sensitive another counts on, so no claim of both can be checked at once.
                raise IncompatibleReleasesError(first, name, f"only one calls {attribute!r} sensitive", "the roles")
    common_hierarchies = {attribute: common for attribute, (_, common) in hierarchies.items()}
    return [in_common(published.collection, common_hierarchies) for _, published in bundles]


def _check_units(bundles: Sequence[tuple[str, BundleContent]]) -> None:
    """Raise IncompatibleReleasesError where two bundles say otherwise how many rows a person has."""
    (first, published), *others = bundles
    for name, other in others:
        if other.rows_per_person != published.rows_per_person:
            differ = "differ in rows_per_person, how many rows a person has"
            raise IncompatibleReleasesError(first, name, differ, "the rows_per_person")


def counted_hierarchy(collection: Collection, attribute: str) -> CountedHierarchy:
    """The hierarchy of an attribute in a collection, and how many rows its finest published values have."""
    hierarchy, finest = collection.domain.hierarchy(attribute), collection.finest_level(attribute)
    counts = np.zeros(hierarchy.size(finest), dtype=np.int64)
    if finest < hierarchy.height:
        table = collection.cube.table(collection.domain.mask({attribute: finest}))
        counts[table.codes[0]] = table.counts
    else:
        counts[:] = collection.cube.total
    return CountedHierarchy(hierarchy, finest, counts)


def _of_nothing(bundles: Sequence[tuple[str, BundleContent]]) -> BundleContent:
    """The first of several bundles that tell a number of rows alone, with the claims of all."""
    (first, published), *others = bundles
    rows = published.collection.cube.total
    for name, other in others:
        if other.collection.cube.total != rows:
            problem = f"it counts {other.collection.cube.total} rows where {first} counts {rows}"
            raise BundleError(name, problem)
    return replace(published, claims=tuple(dict.fromkeys(claim for _, each in bundles for claim in each.claims)))


def in_common(collection: Collection, hierarchies: Mapping[str, CountedHierarchy]) -> Collection:
    """The same marginals over hierarchies that hold those of the collection. Raises MarginalsError where one does not."""
    domain = Domain.of({attribute: common.hierarchy for attribute, common in hierarchies.items()})
    shown = filter(collection.shows, collection.domain.attributes)
    levels = {attribute: _levels_in(collection, attribute, hierarchies[attribute]) for attribute in shown}
    tables = [recoded(table, domain, levels) for table in collection.tables]
    return Collection.of(DataCube(tables), [table.mask for table in tables])


def over_table(published: Collection, truth: "Table") -> Collection:
    """The published marginals over the hierarchies of the table that they were counted from.

    Raises InputError for another table.
    """
    other = InputError("the truth is another table than the one that was published; give the config it was made from")
    if any(a not in truth.domain.attributes for table in published.tables for a in table.attributes):
        raise other
    hierarchies = {}
    for name, hierarchy in truth.domain.items():
        base = truth.cube.table(truth.domain.mask({name: 0}))
        counts = np.zeros(hierarchy.size(0), dtype=np.int64)
        counts[base.codes[0]] = base.counts
        hierarchies[name] = CountedHierarchy(hierarchy, 0, counts)
    try:
        collection = in_common(published, hierarchies)
    except MarginalsError:
        raise other from None
    if not all(equal_cells([truth.cube.table(table.mask), table]) for table in collection.tables):
        raise other
    return collection


def _levels_in(collection: Collection, attribute: str, common: CountedHierarchy) -> tuple[int, ...]:
    """The levels of a common hierarchy that are those of an attribute that is shown. Raises HierarchyError for none."""
    counted = counted_hierarchy(collection, attribute)
    levels = counted.levels_in(common) or _published_in(counted, common)
    if levels is None:
        raise HierarchyError(f"the hierarchy of {attribute!r} does not hold the published one")
    return levels


def _in_common_levels(claim: Claim, collection: Collection, hierarchies: Mapping[str, CountedHierarchy]) -> Claim:
    """A claim of a collection by the levels of common hierarchies; level 0 stays that of the finest published values."""
    if claim.about is None or not claim.level or not collection.shows(claim.about):
        return claim
    levels = _levels_in(collection, claim.about, hierarchies[claim.about])
    return claim.at_level(levels[claim.level] if claim.level < len(levels) else claim.level)


def _published_in(counted: CountedHierarchy, common: CountedHierarchy) -> tuple[int, ...] | None:
    """The levels that are those from the finest published one on, which stands for those below it, that nothing shows."""
    levels = counted.published_levels.levels_in(common)
    return None if levels is None else (levels[0],) * counted.finest + levels


def recoded(table: ContingencyTable, domain: Domain, levels: Mapping[str, Sequence[int]]) -> ContingencyTable:
    """The same table in another domain. levels: for each attribute those of the domain that are its own ones."""
    margin, codes = {}, {}
    for attribute, column in zip(table.attributes, table.codes):
        own, margin[attribute] = table.margin[attribute], levels[attribute][table.margin[attribute]]
        places = {label: code for code, label in enumerate(domain.hierarchy(attribute).labels[margin[attribute]])}
        labels = table.domain.hierarchy(attribute).labels[own]
        codes[attribute] = np.array([places.get(label, -1) for label in labels], dtype=np.int64)[column]
    return ContingencyTable.from_cells(domain, margin, codes, table.counts)
