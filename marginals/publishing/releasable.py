"""What a release may tell of a collection: its marginals, and no label that none of them counts.

A reader could tell the base values of a table from its hierarchies, how many rare ones there are, and which, though no
marginal shows one of them. So a release has hierarchies of its own: the base values of an attribute are the values that it
has at its finest published level, as far as they have rows, and of the levels above only those that some marginal shows are
kept. They follow from the marginals: two tables with the same marginals have them in common. That a value without rows is
missing changes no conclusion, for its cells are known to be empty. An attribute that no marginal shows is only `*`.

Where the labels of a hierarchy are public, it was made without the rows, and all of it is told.
"""

from collections.abc import Collection as AnyCollection
from collections.abc import Mapping

import numpy as np

from models.graphs.collection import Collection
from models.tables.contingency_table import ContingencyTable
from models.tables.data_cube import DataCube
from models.tables.domain import Domain
from models.tables.hierarchy import Hierarchy


def releasable(
    collection: Collection, public: AnyCollection[str], judged: Mapping[str, AnyCollection[int]] | None = None
) -> Collection:
    """The same marginals over a domain that tells nothing else. public: attributes whose whole hierarchies may be told.

    judged: levels whose values a claim is about; which of them the published values belong to is told too. Levels are
    numbered anew, from the finest that is left of each attribute.
    """
    levels = {
        name: released_levels(collection, name, (judged or {}).get(name, ()))
        for name in collection.domain.attributes
        if name not in public
    }
    hierarchies = {
        name: _counted_part(collection, name, levels[name]) if name in levels else hierarchy
        for name, hierarchy in collection.domain.items()
    }
    domain = Domain.of(hierarchies)
    tables = [_renumbered(table, domain, levels) for table in collection.tables]
    return Collection.of(DataCube(tables), [table.mask for table in tables])


def released_levels(collection: Collection, attribute: str, judged: AnyCollection[int] = ()) -> list[int]:
    """The levels below `*` at which some margin shows an attribute, and coarser ones that are judged; ascending."""
    shown = {margin[attribute] for margin in collection.margins if attribute in margin}
    return sorted(shown | {level for level in judged if level > min(shown, default=level)})


def _counted_part(collection: Collection, attribute: str, levels: list[int]) -> Hierarchy:
    """The values that have rows at the finest of some levels, and these levels of their generalizations."""
    hierarchy = collection.domain.hierarchy(attribute)
    if not levels:
        return hierarchy.over_levels([], [])
    counted = collection.cube.table(collection.domain.mask({attribute: levels[0]}))
    return hierarchy.over_levels(levels, counted.codes[0].tolist())


def _renumbered(table: ContingencyTable, domain: Domain, levels: Mapping[str, list[int]]) -> ContingencyTable:
    """A table over the new domain; levels: of each attribute that has new ones, the old ones in order."""
    margin, codes = {}, {}
    for attribute, column in zip(table.attributes, table.codes):
        old = table.margin[attribute]
        margin[attribute] = levels[attribute].index(old) if attribute in levels else old
        hierarchy = domain.hierarchy(attribute)
        new_codes = [
            hierarchy.code(label, margin[attribute]) for label in table.domain.hierarchy(attribute).labels[old]
        ]
        codes[attribute] = np.array([-1 if code is None else code for code in new_codes])[column]
    return ContingencyTable.from_cells(domain, margin, codes, table.counts)
