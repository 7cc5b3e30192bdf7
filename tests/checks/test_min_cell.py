"""A least count of every cell: no set of cells at all has an upper bound from 1 to m - 1, by enumeration of all tables."""

import os
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from checks import FULL, Algorithm, MinCell, Question, Verdict, min_cell
from dice import Dice
from filled_tables import filled, flat_domain, published
from models import CodedCells, Collection, ContingencyTable, DataCube, Domain, Hierarchy, Margin, Support
from privacy_oracles import finest, is_k_combinatorial, largest_counts, marginal, places_within, possible_cells
from privacy_strategies import sensitive_collections
from strategies import SHAPES, contingency_tables, decomposable_masks, domains, shape_cube
from table_enumeration import all_tables

MOST_CELLS = 10
"""Possible cells of a collection of which every set is a target."""

MOST_TABLES = 20_000


def largest_of_sets(collection: Collection) -> NDArray[np.int64] | None:
    """U(S) for every set S of possible cells, over all nonnegative integer tables with the given marginals.

    None where there are too many cells or tables to try them all.
    """
    domain, fine, possible = collection.domain, finest(collection.margins), possible_cells(collection)
    cells = int(possible.sum())
    if cells > MOST_CELLS:
        return None
    members, sums = [], []
    for margin in collection.margins:
        counts = marginal(collection, margin).astype(int)
        where = np.arange(counts.size).reshape(counts.shape)[places_within(domain, fine, margin)][possible]
        members += [np.flatnonzero(where == place).tolist() for place in np.flatnonzero(counts)]
        sums += counts.ravel()[np.flatnonzero(counts)].tolist()
    tables = list(islice(all_tables(members, sums, cells), MOST_TABLES + 1))
    if len(tables) > MOST_TABLES:
        return None
    sets = np.arange(1 << cells)[:, None] >> np.arange(cells) & 1
    largest = np.zeros(1 << cells, dtype=np.int64)
    for some in np.array_split(np.array(tables), len(tables) // 2_000 + 1):
        largest = np.maximum(largest, (some @ sets.T).max(axis=0))
    return largest


def small_collections(seed: int, number: int) -> Iterator[tuple[Collection, NDArray[np.int64]]]:
    """Random collections, two thirds of them decomposable, at one or several levels, with U of every set of their cells."""
    rng = np.random.default_rng(seed)
    while number:
        dice = Dice(lambda _: rng.bytes(64))
        domain = domains.of(dice, max_cells=24, max_values=4)
        table = contingency_tables.of(dice, domain, int(rng.integers(2, 10)))
        codes = dict(zip(table.attributes, table.codes))
        table = ContingencyTable.from_cells(domain, table.margin, codes, table.counts + int(rng.integers(0, 3)))
        if rng.random() < 0.67:
            masks = decomposable_masks.of(dice, domain)
        else:
            levels = [{a: int(rng.integers(0, h.height)) for a, h in domain.items()} for _ in domain.attributes]
            masks = tuple(
                domain.mask({a: level for a, level in margin.items() if a != left_out})
                for margin, left_out in zip(levels, domain.attributes)
            )
        collection = Collection.of(DataCube([table]), masks)
        if collection.masks and (largest := largest_of_sets(collection)) is not None:
            number -= 1
            yield collection, largest


def smallest_published(collection: Collection) -> int:
    return min(int(table.counts.min()) for table in collection.tables)


def check_all(seed: int, number: int) -> dict[bool, int]:
    """Every verdict for every m that can matter; how many collections with and without a junction tree hold at their m."""
    held = {True: 0, False: 0}
    for collection, largest in small_collections(seed, number):
        smallest = smallest_published(collection)
        for least in {2, 3, smallest, smallest + 1}:
            expected = not ((largest > 0) & (largest < least)).any()
            finding = min_cell(collection, least)
            assert finding.verdict is (Verdict.HOLDS if expected else Verdict.FAILS), (collection, least)
            assert expected or smallest < least or not collection.is_decomposable, "the published counts decide"
            held[collection.is_decomposable] += expected and least > 1
    return held


@pytest.mark.parametrize("seed", range(5))
def test_the_verdict_is_that_of_every_set_of_cells_in_every_table(seed: int) -> None:
    held = check_all(seed, 700 if "MARGINALS_TIMES" in os.environ else 175)
    assert min(held.values()) >= 5, held


@settings(max_examples=60)
@given(sensitive_collections(max_cells=36), st.integers(1, 6))
def test_the_verdict_is_that_of_integer_programming_on_larger_collections(
    drawn: tuple[Collection, str], least: int
) -> None:
    collection, _ = drawn
    if not collection.masks:
        return
    bounds = largest_counts(collection, [])
    for m in {least, int(bounds[bounds > 0].min()), int(bounds[bounds > 0].min()) + 1}:
        finding = min_cell(collection, m)
        assert finding.verdict is (Verdict.HOLDS if is_k_combinatorial(bounds, m) else Verdict.FAILS)
        assert finding.worst_class.count == bounds[bounds > 0].min() == smallest_published(collection)


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_by_integer_programming(shape: str) -> None:
    cube = shape_cube()
    collection = Collection.of(cube, [cube.domain.mask(margin) for margin in SHAPES[shape]])
    if not collection.masks:
        assert min_cell(collection, cube.total).holds
        assert not min_cell(collection, cube.total + 1).holds, "the number of all rows is published"
        return
    bounds = largest_counts(collection, [])
    least_bound = int(bounds[bounds > 0].min())
    for least in (1, least_bound, least_bound + 1, int(bounds.max()) + 1):
        expected = Verdict.HOLDS if is_k_combinatorial(bounds, least) else Verdict.FAILS
        assert min_cell(collection, least).verdict is expected, least


THREE = flat_domain(a=2, b=2, c=2)


def test_without_a_junction_tree_large_counts_can_determine_a_small_one() -> None:
    """No published count is below 3, and all three tables together leave one table only, with a 2 in it."""
    collection = published(filled(THREE, [3, 0, 2, 3, 0, 0, 3, 0]), "ab", "bc", "ac")
    assert smallest_published(collection) == 3
    finding = min_cell(collection, 3)
    assert finding.verdict is Verdict.FAILS
    assert (finding.worst_class.count, finding.algorithms) == (2, (Algorithm.INTEGER_PROGRAMMING,))
    assert finding.worst_class.cell == {"a": "a0", "b": "b1", "c": "c0"}
    assert min_cell(collection, 2).holds
    assert min_cell(Collection.of(collection.cube, collection.masks[:2]), 3).holds


def test_only_what_is_cyclic_is_programmed() -> None:
    """A tail of margins hangs on the cycle, with more combinations than any program takes; the 2 is found all the same."""
    names = ["a", "b", "c", *(f"x{number}" for number in range(20))]
    domain = Domain.of({name: Hierarchy.flat("01") for name in names})
    rows = np.repeat(np.arange(8), 400 * np.array([3, 0, 2, 3, 0, 0, 3, 0]))
    rng = np.random.default_rng(0)
    codes = dict(zip("abc", np.unravel_index(rows, (2, 2, 2)))) | {n: rng.integers(0, 2, len(rows)) for n in names[3:]}
    codes["x0"] = ((codes["c"] == 0) & (rng.random(len(rows)) < 0.6)).astype(np.int64)
    table = ContingencyTable.from_cells(domain, dict.fromkeys(names, 0), codes, np.ones(len(rows), dtype=np.int64))
    pairs = [("a", "b"), ("b", "c"), ("a", "c"), ("c", "x0"), *((f"x{i}", f"x{i + 1}") for i in range(19))]
    collection = Collection.of(DataCube([table]), [domain.mask(dict.fromkeys(pair, 0)) for pair in pairs])
    assert smallest_published(collection) > 801
    finding = min_cell(collection, 801)
    assert (finding.verdict, finding.worst_class.count) == (Verdict.FAILS, 800)
    assert min_cell(collection, 800).holds


def test_combinations_known_to_be_impossible_can_determine_a_small_one() -> None:
    """(a1, c1) cannot be, so of the 4 with b and c2 the 3 with a1 leave one."""
    apart = published(filled(flat_domain(a=2, c=2), [0, 3, 3, 1]), "a", "c")
    margin, codes = Margin({"a": 0, "c": 0}), {"a": np.array([0, 1, 1]), "c": np.array([1, 0, 1])}
    known = Collection.of(apart.cube, apart.masks, [Support(CodedCells(apart.domain, margin, codes, 3), np.ones(3))])
    assert min_cell(apart, 3).holds
    finding = min_cell(known, 3)
    assert (finding.verdict, finding.worst_class.count) == (Verdict.FAILS, 1)


def test_what_programs_do_not_end_with_is_undecided() -> None:
    collection = published(filled(THREE, [5, 4, 4, 5, 4, 5, 5, 4]), "ab", "bc", "ac")
    assert min_cell(collection, 4).holds
    hurried = replace(FULL, cell_programs=0)
    finding = min_cell(collection, 4, hurried)
    assert (finding.criterion, finding.verdict) == ("min-cell", Verdict.UNDECIDED)
    assert min_cell(collection, 10, hurried).verdict is Verdict.FAILS, "a published count needs no program"


def test_of_people_every_cell_needs_the_rows_that_so_many_can_have() -> None:
    """Six rows can be those of two people with three each."""
    collection = published(filled(flat_domain(a=2), [6, 9]), "a")
    assert MinCell(6).check(Question(collection, [])).holds
    assert MinCell(2, rows_per_person=3).check(Question(collection, [])).holds
    finding = MinCell(3, rows_per_person=3).check(Question(collection, []))
    assert finding.verdict is Verdict.FAILS
    assert finding.parameters == {"k": 3, "rows_per_person": 3}
