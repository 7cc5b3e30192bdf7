"""Impossible combinations: pairs of values that readers know nobody to have, and the tables that remain possible.

Two one-way tables with 3 and 4 rows each give a count of 1 if the first values exclude each other. So claims are
decided over the tables that are 0 there. If published tables show each pair as 0, the knowledge adds nothing. A
published value stands for any of the values below it, of which readers may know pairs.
"""

from collections.abc import Collection as AnyCollection
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import TypeAlias

import numpy as np

from checks.errors import CriterionError
from models.arrays import BoolArray
from models.errors import TooManyCellsError
from models.frozen import frozen
from models.graphs.junction_tree import Collection, Support, maximal_masks
from models.tables.contingency_table import Cells
from models.tables.hierarchy import Domain, Margin

ImpossiblePair: TypeAlias = Mapping[str, Sequence[str]]
"""Two attributes with labels of each: nobody has a label of the first and a label of the second."""

_MOST_CELLS = 100_000_000
"""Most pairs of values of the attributes of all impossible pairs together."""


@frozen(eq=False)
class ExcludedCells:
    """Impossible cells of two attributes at some levels: shape (values of the first, values of the second)."""

    levels: Mapping[str, int]
    cells: BoolArray

    def at_level(self, domain: Domain, name: str, level: int) -> "ExcludedCells":
        """Return the cells with an attribute at another level: a coarser value is excluded if all values below it are."""
        hierarchy, fine, cells = domain.hierarchy(name), self.levels[name], self.of_first(name)
        if level <= fine:
            cells = cells[hierarchy.lift(level, fine)]
        else:
            fine_cells, cells = cells, np.ones((hierarchy.size(level), cells.shape[1]), dtype=np.bool_)
            np.logical_and.at(cells, hierarchy.lift(fine, level), fine_cells)
        excluded = ExcludedCells({**self.levels, name: level}, cells)
        return replace(excluded, cells=excluded.of_first(name))

    def of_first(self, name: str) -> BoolArray:
        """Return the cells with an attribute as the first axis; the transposition is its own inverse."""
        return self.cells if next(iter(self.levels)) == name else self.cells.T


Places: TypeAlias = Mapping[str, Mapping[int, Sequence[int]]]
"""Codes of the labels of both attributes of a pair, in the domain's order, by their level."""


def places_of(domain: Domain, pair: ImpossiblePair) -> Places:
    """Return the codes of the labels of a pair, each at its finest level.

    Raises CriterionError unless the pair has two attributes of the domain with labels, all of them theirs.
    """
    if len(pair) != 2 or any(name not in domain.attributes for name in pair) or not all(pair.values()):
        raise CriterionError("an impossible pair has labels of two attributes")
    places: dict[str, dict[int, list[int]]] = {name: {} for name in sorted(pair, key=domain.index)}
    for name, labels in pair.items():
        hierarchy = domain.hierarchy(name)
        for label in labels:
            level = next((level for level in range(hierarchy.height) if hierarchy.code(label, level) is not None), None)
            if level is None:
                raise CriterionError(f"{name!r} has no value or label {label!r}")
            places[name].setdefault(level, []).append(hierarchy.code(label, level) or 0)
    return places


def excluded_cells(domain: Domain, pairs: Sequence[ImpossiblePair]) -> list[ExcludedCells]:
    """Return the excluded cells by pair of attributes in the domain's order, each at the finest level of its labels.

    Raises CriterionError as `places_of` does, and TooManyCellsError.
    """
    pair_places = [places_of(domain, pair) for pair in pairs]
    finest: dict[str, int] = {}
    for name, by_level in (item for places in pair_places for item in places.items()):
        finest[name] = min(*by_level, finest.get(name, domain.hierarchy(name).height))
    excluded: dict[tuple[str, ...], BoolArray] = {}
    sizes = [prod(domain.hierarchy(name).size(finest[name]) for name in places) for places in pair_places]
    if sum(sizes) > _MOST_CELLS:
        raise TooManyCellsError("impossible pairs are of attributes that have too many values")
    for places in pair_places:
        inside = []
        for name, by_level in places.items():
            lifted = ((domain.hierarchy(name).lift(finest[name], level), codes) for level, codes in by_level.items())
            inside.append(np.logical_or.reduce([np.isin(above, codes) for above, codes in lifted]))
        excluded[*places] = np.outer(*inside) | excluded.get((*places,), np.False_)
    return [ExcludedCells({name: finest[name] for name in names}, cells) for names, cells in excluded.items()]


def given_pairs(
    collection: Collection, pairs: Sequence[ImpossiblePair], occurring: AnyCollection[str] = (), least: int = 1
) -> Collection:
    """Return the collection with the pairs as supports, as far as its tables leave them possible; unchanged if they add
    nothing.

    occurring: attributes whose labels tell that values below the published ones occur; each of these needs room for
    `least` rows. Raises CriterionError for malformed pairs, and if published values cannot decide about the pairs.
    """
    domain, finest = collection.domain, collection.finest_levels
    excluded = [
        replace(cells, cells=cells.cells & ~_shown_as_empty(collection, cells.levels))
        for cells in (excluded_cells(domain, pairs) if pairs else ())
    ]
    excluded = [cells for cells in excluded if cells.cells.any()]
    hidden = {name for cells in excluded for name, level in cells.levels.items() if level < finest[name]}
    # A published value stands for any value below it that each pair allows; a value in no pair sets no condition.
    for name in sorted(hidden, key=lambda name: (sum(name in cells.levels for cells in excluded), domain.index(name))):
        touching = [cells for cells in excluded if name in cells.levels]
        if (
            touching
            and name in occurring
            and not (len(touching) == 1 and _has_room(collection, touching[0], name, least))
        ):
            raise CriterionError(
                f"values below the published ones of {name!r} are known to occur, and impossible pairs name some of them"
            )
        excluded = [cells for cells in excluded if name not in cells.levels]
        if len(touching) == 1:
            coarser = touching[0].at_level(domain, name, finest[name])
            excluded += [coarser] if coarser.cells.any() else []
        elif touching:
            level = touching[0].levels[name]
            is_free = ~np.logical_or.reduce([cells.of_first(name).any(axis=1) for cells in touching])
            has_free = np.zeros(domain.hierarchy(name).size(finest[name]), dtype=np.bool_)
            np.logical_or.at(has_free, domain.hierarchy(name).lift(level, finest[name]), is_free)
            if not has_free.all():
                raise CriterionError(
                    f"{name!r} is published coarser than impossible pairs name it, and these are of several attributes"
                )
    if not excluded:
        return collection
    return Collection.of(
        collection.cube, collection.masks, [*collection.supports, *(_support(domain, e) for e in excluded)]
    )


def _support(domain: Domain, excluded: ExcludedCells) -> Support:
    if excluded.cells.all():
        raise CriterionError(
            f"the impossible pairs of {' and '.join(map(repr, excluded.levels))} leave no row possible"
        )
    codes = dict(zip(excluded.levels, np.nonzero(~excluded.cells)))
    levels = {name: level for name, level in excluded.levels.items() if level < domain.hierarchy(name).height}
    weights = np.ones(np.count_nonzero(~excluded.cells))
    return Support(Cells.of(domain, Margin(levels), {name: codes[name] for name in levels}, weights), weights)


def _has_room(collection: Collection, excluded: ExcludedCells, name: str, least: int) -> bool:
    # With m values behind a published one, a cell has room if each fits least + m - 1 of its rows, because others need one.
    domain, finest = collection.domain, collection.finest_level(name)
    (other,) = (attribute for attribute in excluded.levels if attribute != name)
    levels = {name: finest, other: excluded.levels[other]}
    mask = domain.mask(levels)
    if not any(not mask & ~margin for margin in collection.masks):
        return False
    table, hierarchy = collection.cube.table(mask), domain.hierarchy(name)
    counts = table.dense(levels)
    above = hierarchy.lift(excluded.levels[name], finest)
    room = (counts[above] * ~excluded.of_first(name)).sum(axis=1)
    needed = least + hierarchy.leaf_counts(finest)[above] - 1
    return bool((room >= needed)[counts[above].any(axis=1)].all())


def _shown_as_empty(collection: Collection, levels: Mapping[str, int]) -> BoolArray:
    """Return whether some table shows that nobody has two values: shape (values of the first, values of the second)."""
    hierarchies = [collection.domain.hierarchy(name) for name in levels]
    empty = np.zeros([h.size(level) for h, level in zip(hierarchies, levels.values())], dtype=np.bool_)
    for table in map(collection.cube.table, maximal_masks(collection.masks)):
        coarser = [max(level, table.margin.get(n, h.height)) for h, (n, level) in zip(hierarchies, levels.items())]
        occupied = np.zeros([h.size(level) for h, level in zip(hierarchies, coarser)], dtype=np.bool_)
        columns = [
            table.column(n, coarse_level) if n in table.margin else np.intp(0)
            for n, coarse_level in zip(levels, coarser)
        ]
        occupied[*columns] = True
        above = [h.lift(fine, coarse_level) for h, fine, coarse_level in zip(hierarchies, levels.values(), coarser)]
        empty |= ~occupied[np.ix_(*above)]
    return empty


def are_shown_as_empty(collection: Collection, pairs: Sequence[ImpossiblePair]) -> bool:
    """Return whether tables show each pair as 0."""
    excluded = excluded_cells(collection.domain, pairs)
    return not any((cells.cells & ~_shown_as_empty(collection, cells.levels)).any() for cells in excluded)


def stated_pairs(
    collection: Collection, pairs: Sequence[ImpossiblePair]
) -> list[tuple[Mapping[str, int], list[list[list[int]]]]]:
    """Return the exclusions of pairs among finest published values: for two attributes, codes that exclude others."""
    statements = []
    for excluded in excluded_cells(collection.domain, pairs) if pairs else ():
        for name in excluded.levels:
            excluded = excluded.at_level(collection.domain, name, collection.finest_levels[name])
        rows, kinds = np.unique(excluded.cells, axis=0, return_inverse=True)
        entries = [
            [np.flatnonzero(kinds.reshape(-1) == kind).tolist(), np.flatnonzero(row).tolist()]
            for kind, row in enumerate(rows)
            if row.any()
        ]
        statements.append((excluded.levels, entries))
    return statements
