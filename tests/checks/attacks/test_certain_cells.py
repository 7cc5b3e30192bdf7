"""What is certain of all margins of up to three attributes, against enumeration of all tables with the same marginals."""

from collections.abc import Mapping
from itertools import combinations, product
from math import prod

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from brute_force import lifted
from checks.attacks import knowledge as module
from checks.attacks.knowledge import CertainCells, certain_cells, glued_table, knowledge
from models import NEVER, Collection, ContingencyTable, DataCube, Domain, FrechetBounds, Hierarchy
from strategies import contingency_tables, decomposable_masks, domains, margins
from table_enumeration import all_tables, margins_with, ranges

Ranges = Mapping[str, tuple[NDArray[np.int64], NDArray[np.int64]]]


def published_levels(collection: Collection) -> dict[str, tuple[int, ...]]:
    """The levels of each attribute that some margin shows."""
    levels = {a: {m[a] for m in collection.margins if a in m} for a in collection.domain.attributes}
    return {attribute: tuple(sorted(own)) for attribute, own in levels.items() if own}


def enumerated(collection: Collection, sensitive: str) -> Ranges:
    """Bounds of every margin at every published level, by walking over all tables at the finest published levels."""
    domain, levels = collection.domain, published_levels(collection)
    finest = {a: min(own) for a, own in levels.items()}
    shape = [domain.hierarchy(a).size(level) for a, level in finest.items()]
    assume(prod(shape) <= 40)
    codes = dict(zip(finest, np.indices(shape).reshape(len(shape), -1)))

    def keys(margin: Mapping[str, int]) -> NDArray[np.intp]:
        columns = [lifted(domain.hierarchy(a), finest[a], level)[codes[a]] for a, level in margin.items()]
        sizes = [domain.hierarchy(a).size(level) for a, level in margin.items()]
        return np.ravel_multi_index(columns, sizes) if columns else np.zeros(prod(shape), dtype=np.intp)

    members, sums = [], []
    for table in collection.tables:
        places = keys({a: table.margin[a] for a in table.attributes})
        counts = np.zeros(domain.size(table.margin), dtype=np.int64)
        counts[
            np.ravel_multi_index(table.codes, [domain.hierarchy(a).size(table.margin[a]) for a in table.attributes])
        ] = table.counts
        members += [np.flatnonzero(places == cell).tolist() for cell in range(len(counts))]
        sums += counts.tolist()
    tables = []
    for table in all_tables(members, sums, prod(shape)):
        tables.append(table)
        assume(len(tables) <= 3_000)
    return ranges(iter(tables), {str(m): keys(m) for m in margins_with(sensitive, levels)})


def check(collection: Collection, sensitive: str, k: int) -> CertainCells:
    levels = published_levels(collection)
    views = {a: [{a: level} for level in own] for a, own in levels.items()}
    bounds = enumerated(collection, sensitive)
    at_finest = [bounds[str(m)] for m in margins_with(sensitive, {a: own[:1] for a, own in levels.items()})]
    found = certain_cells(knowledge(FrechetBounds.of(collection)), sensitive, views, k, NEVER)
    assert found.is_complete
    assert found.determined == sum(np.count_nonzero((low == high) & (low > 0)) for low, high in at_finest)
    assert found.exists == sum(np.count_nonzero(low) for low, _ in at_finest)
    assert found.small == sum(np.count_nonzero((low == high) & (low > 0) & (low < k)) for low, high in at_finest)
    alone = 0
    for margin in margins_with(sensitive, {a: own[:1] for a, own in levels.items()}):
        shape = [collection.domain.hierarchy(a).size(level) for a, level in margin.items()]
        low, high = (np.moveaxis(own.reshape(shape), list(margin).index(sensitive), -1) for own in bounds[str(margin)])
        alone += np.count_nonzero(((high > 0).sum(axis=-1) == 1) & (low.max(axis=-1) > 0))
    assert found.one_value == alone
    assert (found.shared is not None) == bool(alone)
    smallest = min((int(low[(low == high) & (low > 0)].min(initial=10**9)) for low, high in bounds.values()))
    assert (10**9 if found.worst is None else found.worst.rows) == smallest
    if found.worst is not None:
        margin = found.worst.levels
        places = [collection.domain.hierarchy(a).code(found.worst.values[a], level) for a, level in margin.items()]
        shape = [collection.domain.hierarchy(a).size(level) for a, level in margin.items()]
        low, high = bounds[str(dict(margin))]
        cell = int(np.ravel_multi_index([0 if place is None else place for place in places], shape))
        assert low[cell] == high[cell] == found.worst.rows
    return found


@st.composite
def small_collections(draw: st.DrawFn, decomposable: bool) -> Collection:
    domain = draw(domains(min_attributes=2, max_attributes=4, max_values=3, max_levels=3, max_cells=36))
    cube = DataCube([draw(contingency_tables(domain, 5))])
    if decomposable:
        return Collection.of(cube, draw(decomposable_masks(domain)))
    return Collection.of(cube, map(domain.mask, draw(st.lists(margins(domain), min_size=2, max_size=4))))


@pytest.mark.slow
@settings(max_examples=60)
@given(small_collections(decomposable=True), st.integers(1, 6), st.data())
def test_what_a_junction_tree_makes_certain_is_that_of_all_tables(
    collection: Collection, k: int, data: st.DataObject
) -> None:
    assume(collection.masks)
    check(collection, data.draw(st.sampled_from(sorted(published_levels(collection)))), k)


@pytest.mark.slow
@settings(max_examples=40)
@given(small_collections(decomposable=False), st.integers(1, 6), st.data())
def test_what_any_collection_makes_certain_is_that_of_all_tables(
    collection: Collection, k: int, data: st.DataObject
) -> None:
    assume(collection.masks)
    check(collection, data.draw(st.sampled_from(sorted(published_levels(collection)))), k)


@st.composite
def triangles(draw: st.DrawFn) -> Collection:
    """The three tables of pairs of three attributes: no junction tree holds them."""
    sizes = dict(zip("abc", (2, 2, draw(st.integers(2, 3)))))
    domain = Domain.of({name: Hierarchy.flat(map(str, range(size))) for name, size in sizes.items()})
    counts = draw(st.lists(st.integers(0, 3), min_size=prod(sizes.values()), max_size=prod(sizes.values())).filter(any))
    codes = dict(zip(sizes, np.indices(tuple(sizes.values())).reshape(3, -1)))
    table = ContingencyTable.from_cells(domain, dict.fromkeys(sizes, 0), codes, counts)
    return Collection.of(DataCube([table]), [domain.mask({a: 0, b: 0}) for a, b in combinations(sizes, 2)])


@settings(max_examples=30)
@given(triangles(), st.integers(1, 6), st.data())
def test_what_three_tables_in_a_circle_make_certain_is_that_of_all_tables(
    collection: Collection, k: int, data: st.DataObject
) -> None:
    check(collection, data.draw(st.sampled_from(sorted(published_levels(collection)))), k)


@settings(max_examples=30)
@given(triangles(), st.integers(1, 6), st.data())
def test_what_is_said_within_a_limit_is_said_without_and_the_rest_is_counted(
    collection: Collection, k: int, data: st.DataObject
) -> None:
    sensitive = data.draw(st.sampled_from(sorted(published_levels(collection))))
    views = {a: [{a: level} for level in own] for a, own in published_levels(collection).items()}
    known = knowledge(FrechetBounds.of(collection))
    ordinary = certain_cells(known, sensitive, views, k, NEVER)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MOST_CELLS", data.draw(st.integers(0, 8)))
        cut = certain_cells(known, sensitive, views, k, NEVER)
    assert (cut.unread > 0) == (not cut.is_complete)
    assert cut.determined <= ordinary.determined
    assert cut.exists <= ordinary.exists
    assert cut.small <= ordinary.small


def test_rows_with_avoided_values_are_as_few_as_the_tables_allow() -> None:
    """Fréchet's lower bound in each value of the attribute that both tables show."""
    rng = np.random.default_rng(5)
    domain = Domain.of({name: Hierarchy.flat(map(str, range(size))) for name, size in zip("asb", (2, 3, 2))})
    counts = rng.integers(0, 9, (2, 3, 2))
    codes = dict(zip("asb", np.indices(counts.shape).reshape(3, -1)))
    table = ContingencyTable.from_cells(domain, dict.fromkeys("asb", 0), codes, counts.ravel())
    collection = Collection.of(DataCube([table]), [domain.mask({"a": 0, "s": 0}), domain.mask({"s": 0, "b": 0})])
    tree = FrechetBounds.of(collection).trees[0]
    left, right = counts.sum(axis=2), counts.sum(axis=0)
    for a, b in product(range(2), range(2)):
        avoided = {(domain.index("a"), 0): a, (domain.index("b"), 0): b}
        glued = glued_table(tree, rng, avoided).rows({"a": 0, "b": 0}).reshape(2, 2)
        assert glued[a, b] == np.maximum(0, left[a] + right[:, b] - left.sum(axis=0)).sum()
