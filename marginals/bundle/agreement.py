"""Whether marginals can be of one table: those of a bundle, and those of several bundles put together."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from marginals.bundle.content import BundleContent
from marginals.errors import BundleError, IncompatibleReleasesError
from marginals.tables.attribute import Role
from models.arrays import CodeArray
from models.graphs.collection import Collection
from models.tables.contingency_table import ContingencyTable, equal_cells
from models.tables.data_cube import DataCube
from models.tables.domain import Domain, Mask
from models.tables.hierarchy import Hierarchy


def check_agreement(tables: Mapping[str, ContingencyTable]) -> None:
    """Raise BundleError naming two tables that differ on their common margin. tables: by what to call them."""
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


def union(bundles: Sequence[tuple[str, BundleContent]]) -> BundleContent:
    """All marginals of several bundles as one collection, with all their claims.

    Raises IncompatibleReleasesError naming both bundles when they generalize an attribute differently or give it
    different roles, BundleError when they count different numbers of rows, or contradict each other.
    """
    hierarchies: dict[str, tuple[str, Hierarchy, int]] = {}
    roles: dict[str, Role] = {}
    tables: dict[str, ContingencyTable] = {}
    for name, published in bundles:
        for attribute, hierarchy in published.domain.items():
            finest = published.collection.finest_level(attribute)
            first, first_hierarchy, first_finest = hierarchies.setdefault(attribute, (name, hierarchy, finest))
            if not _agree(first_hierarchy, hierarchy, max(first_finest, finest)):
                raise IncompatibleReleasesError(first, name, f"generalize {attribute!r} differently", "the hierarchies")
            if finest < first_finest:
                hierarchies[attribute] = (name, hierarchy, finest)
            if roles.setdefault(attribute, published.roles[attribute]) is not published.roles[attribute]:
                # What one sets aside as sensitive another counts on, so no claim of both can be checked at once.
                raise IncompatibleReleasesError(first, name, f"only one calls {attribute!r} sensitive", "the roles")
    domain = Domain.of({attribute: hierarchy for attribute, (_, hierarchy, _) in hierarchies.items()})
    for name, published in bundles:
        for table in published.collection.tables:
            tables[f"{name}: the marginal ({table.margin})"] = recoded(table, domain)
    rows = next(iter(tables.values())).total
    for place, table in tables.items():
        if table.total != rows:
            raise BundleError(place, f"it counts {table.total} rows where {next(iter(tables))} counts {rows}")
    check_agreement(tables)
    claims = tuple(dict.fromkeys(claim for _, published in bundles for claim in published.claims))
    collection = Collection.of(DataCube(list(tables.values())), [table.mask for table in tables.values()])
    return BundleContent(collection, roles, claims)


def _agree(one: Hierarchy, other: Hierarchy, level: int) -> bool:
    """Whether two hierarchies are the same from a level on, each value with as many base values.

    What lies below the levels that a release publishes may be hidden in it.
    """
    if one.height != other.height:
        return False
    paths = (Counter(row[level:] for row in hierarchy.rows()) for hierarchy in (one, other))
    return next(paths) == next(paths)


def recoded(table: ContingencyTable, domain: Domain) -> ContingencyTable:
    """The same table in a domain whose hierarchies may number their values otherwise."""
    codes: dict[str, CodeArray] = {}
    for attribute, column in zip(table.attributes, table.codes):
        level = table.margin[attribute]
        places = {label: code for code, label in enumerate(domain.hierarchy(attribute).labels[level])}
        labels = table.domain.hierarchy(attribute).labels[level]
        codes[attribute] = np.array([places[label] for label in labels], dtype=np.int64)[column]
    return ContingencyTable.from_cells(domain, table.margin, codes, table.counts)
