"""Counts that tables and labels prove to be small, against all tables of whole numbers with the published marginals."""

import os
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from itertools import combinations, product
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks import FULL, Finding, MinCell, Question, Verdict, parse_claim
from checks.claims import MinPublishedCell, NoSmallCertain
from checks.combinatorial import crowded, label_counts
from checks.small_combinations import _EXACT_ROWS, Witnesses, Witnessing, _Exchanged, combined_margins, no_small_certain
from filled_tables import filled, flat_domain, published
from models import Collection, ContingencyTable, DataCube, Deadline, Domain, Hierarchy, Mask, all_tables
from models.errors import TimeOverError
from strategies import Core, cores, cyclic_cores, further_masks

MOST_TABLES = 20_000


class Combination(NamedTuple):
    """A cell of a margin, with the least and the largest count that it has in any consistent table.

    others: an attribute of which any value but the cell's is counted.
    """

    margin: Mask
    cell: tuple[int, ...]
    least: int
    most: int
    others: str | None = None


def combinations_of(collection: Collection, nonsensitive: tuple[str, ...]) -> list[Combination] | None:
    """Every cell of every margin of up to three nonsensitive attributes at levels that tables show, and of more at their
    finest ones, and of up to three the others; None where there are too many tables to try them all.
    """
    domain = collection.domain
    own = domain.mask(dict.fromkeys(nonsensitive, 0))
    shown = sorted({mask & own for mask in collection.masks} - {0})
    fine = {a: level for a, level in collection.within(own).finest_levels.items() if a in nonsensitive}
    names = [a for a in nonsensitive if fine[a] < domain.hierarchy(a).height]
    sizes = [domain.hierarchy(a).size(fine[a]) for a in names]
    codes = dict(zip(names, np.indices(sizes).reshape(len(sizes), -1)))

    def keys_of(mask: Mask) -> np.ndarray:
        keys = np.zeros(int(np.prod(sizes)), dtype=np.intp)
        for a, level in domain.margin(mask).items():
            keys = keys * domain.hierarchy(a).size(level) + domain.hierarchy(a).lift(fine[a], level)[codes[a]]
        return keys

    keys, totals = [], []
    for mask in shown:
        table, levels = collection.cube.table(mask), domain.margin(mask)
        dense = np.zeros([domain.hierarchy(a).size(level) for a, level in levels.items()], dtype=np.int64)
        dense[tuple(table.column(a, level) for a, level in levels.items())] = table.counts
        keys.append(keys_of(mask))
        totals.append(dense.ravel())
    tables = all_tables(keys, totals, MOST_TABLES) if keys else None
    return None if tables is None else list(_ranges(collection, names, fine, shown, tables, keys_of))


def _ranges(collection, names, fine, shown, tables, keys_of) -> Iterator[Combination]:
    domain = collection.domain
    for number in range(1, len(names) + 1):
        for some in combinations(names, number):
            levels = [_levels(collection, a, shown) if number <= 3 else [fine[a]] for a in some]
            for chosen in product(*levels):
                margin = dict(sorted(zip(some, chosen)))
                keys = keys_of(domain.mask(margin))
                shape = [domain.hierarchy(a).size(level) for a, level in margin.items()]
                counts = np.zeros((int(np.prod(shape)), len(tables)), dtype=np.int64)
                np.add.at(counts, keys, tables.T)
                dense = counts.reshape(*shape, len(tables))
                several = [a for a in margin if 1 < number <= 3 and domain.hierarchy(a).size(margin[a]) > 2]
                for others in (None, *several):
                    axis = None if others is None else list(margin).index(others)
                    counted = dense if axis is None else dense.sum(axis=axis, keepdims=True) - dense
                    for cell in np.ndindex(*shape):
                        least, most = int(counted[cell].min()), int(counted[cell].max())
                        yield Combination(domain.mask(margin), cell, least, most, others)


def _levels(collection: Collection, attribute: str, shown: list[Mask]) -> list[int]:
    margins = map(collection.domain.margin, shown)
    return sorted({margin[attribute] for margin in margins if attribute in margin})


class OpenCombination(NamedTuple):
    """A combination that no witness has cleared; of `others` its rows have any other value."""

    margin: Mask
    codes: dict[str, int]
    count: int
    others: str | None


def open_combinations(domain: Domain, found: Any) -> list[OpenCombination]:
    left = []
    for some in found.waiting:
        axes = [
            [(a, level, code) for level in levels for code in range(domain.hierarchy(a).size(level))]
            for a, levels in some.levels.items()
        ]
        places = np.stack(np.unravel_index(some.keys.astype(int), list(map(len, axes))), axis=1)
        for cell, count in zip(places.tolist(), some.counts.tolist()):
            values = [axis[place] for axis, place in zip(axes, cell)]
            margin = domain.mask({a: level for a, level, _ in values})
            left.append(OpenCombination(margin, {a: code for a, _, code in values}, count, some.others))
    return left


EXAMPLES = 3_000 if "MARGINALS_TIMES" in os.environ else 300


def with_further(core: Core) -> st.SearchStrategy[tuple[Core, tuple[Mask, ...]]]:
    return st.tuples(st.just(core), further_masks(core))


def with_tables(core: Core, further: tuple[Mask, ...]) -> Collection:
    return Collection.of(core.collection.cube, (*core.collection.masks, *further))


def certain(combinations: list[Combination], k: int) -> set[tuple[Mask, tuple[int, ...], str | None]]:
    return {(own.margin, own.cell, own.others) for own in combinations if own.least > 0 and own.most < k}


@settings(max_examples=EXAMPLES)
@given(
    cores(max_cells=48, max_values=3, max_levels=2).flatmap(with_further) | cyclic_cores(),
    st.sampled_from([0, 0, 0, 1]),
)
def test_programs_find_exactly_what_is_certain_of_up_to_three_values(
    beside: tuple[Core, tuple[Mask, ...]], more: int
) -> None:
    core, collection = beside[0], with_tables(*beside)
    public = core.collection.domain.mask(dict.fromkeys(core.nonsensitive, 0))
    k = min(core.collection.cube.least_count(mask & public) for mask in collection.masks) + more
    combinations = combinations_of(collection, core.nonsensitive) if k > 1 else None
    if combinations is None:
        return
    found, small = no_small_certain(collection, [core.sensitive], k), certain(combinations, k)
    if found.verdict is Verdict.FAILS:
        assert small & places_of(collection, found) or not found.worst_class.cell
    elif found.holds:
        assert not small
    elif len(core.nonsensitive) == 3 and not found.note:
        assert all(others for _, _, others in small)


def places_of(collection: Collection, found: Finding) -> set[tuple[Mask, tuple[int, ...], str | None]]:
    """Where the worst class can be meant: a label can be that of several levels."""
    domain, cell = collection.domain, found.worst_class.cell or {}
    levels = [
        [level for level, labels in enumerate(domain.hierarchy(a).labels[:-1]) if label in labels]
        for a, label in cell.items()
    ]
    return {
        (
            domain.mask(dict(zip(cell, chosen))),
            tuple(domain.hierarchy(a).code(cell[a], dict(zip(cell, chosen))[a]) for a in sorted(cell)),
            None,
        )
        for chosen in product(*levels)
    }


def cycle() -> tuple[Collection, int]:
    """AB, BC and AC of 3 0 2 3 0 0 3 0 over 000 .. 111: one table alone has them."""
    return published(filled(flat_domain(A="01", B="01", C="01"), [3, 0, 2, 3, 0, 0, 3, 0]), "AB", "BC", "AC"), 3


def test_a_cycle_of_three_tables_proves_a_count_of_two() -> None:
    collection, k = cycle()
    found = no_small_certain(collection, [], k)
    assert (found.verdict, found.worst_class.cell) == (Verdict.FAILS, {"A": "0", "B": "1", "C": "0"})
    assert found.worst_class.count_between == (2, 2)
    assert NoSmallCertain(k).check(Question(collection)).verdict is Verdict.FAILS


@pytest.mark.parametrize(("values", "rows"), [(3, 2), (3, 3), (5, 2), (5, 3)])
def test_of_many_possible_tables_those_are_found_in_which_a_combination_has_no_rows(values: int, rows: int) -> None:
    """The same with more rows of each: exchanges around the whole circle lead from one table to the next."""
    counts = np.zeros((2, values, values), dtype=int)
    for i in range(values):
        counts[0, i, i] = counts[1, i, (i + 1) % values] = rows
    collection = published(filled(flat_domain(A=2, B=values, C=values), counts), "AB", "BC", "AC")
    assert no_small_certain(collection, [], rows).holds


def test_a_claim_is_read_as_it_was_stated_when_publishers_attested_it() -> None:
    for stated in (NoSmallCertain(2), MinPublishedCell(3)):
        assert parse_claim(stated.as_json()) == stated
    assert parse_claim({"criterion": "no-small-certain", "k": 2, "basis": "attested"}) == NoSmallCertain(2)


@pytest.mark.parametrize("none", ["programs", "branches"])
def test_a_budget_without_programs_decides_nothing(none: str) -> None:
    collection, k = cycle()
    found = no_small_certain(collection, [], k, replace(FULL, **{none: 0}))
    assert (found.verdict, "the budget ended" in found.note) == (Verdict.UNDECIDED, True)


@given(cores(max_cells=60), st.data())
def test_the_least_published_count_is_that_of_every_table(core: Core, data: st.DataObject) -> None:
    collection = with_tables(core, data.draw(further_masks(core)))
    least = min(core.collection.cube.least_count(mask) for mask in collection.masks)
    question = Question(collection, [core.sensitive])
    assert MinPublishedCell(least).check(question).holds
    assert MinPublishedCell(least + 1).check(question).verdict is Verdict.FAILS


@settings(max_examples=EXAMPLES)
@given(
    cores(max_cells=48, max_values=3, max_levels=2).flatmap(with_further) | cyclic_cores(),
    st.integers(2, 4),
    st.sampled_from([0, 1 << 23]),
)
def test_nothing_is_cleared_that_is_certain(beside: tuple[Core, tuple[Mask, ...]], k: int, block: int) -> None:
    """Also where the margins of some attributes have so many cells that each is counted by itself."""
    core, collection = beside[0], with_tables(*beside)
    every = combinations_of(collection, core.nonsensitive)
    if every is None:
        return
    with patch("checks.small_combinations._BLOCK", block):
        found = Witnessing(collection, [core.sensitive], k).look(15)
    shown = {own for own in every if not any(not own.margin & ~mask for mask in collection.masks)}
    assert certain(list(shown), k) <= open_ones(collection, found)
    left = open_combinations(collection.domain, found)
    assert found.small >= len(left)
    assert all(0 < own.count < k for own in left)
    assert found.blamed(collection.domain, dict.fromkeys(beside[1], 0.1)) in {None, *beside[1]}


@given(cores(max_cells=48, max_values=3, max_levels=2).flatmap(with_further) | cyclic_cores(), st.integers(2, 4))
def test_the_first_table_serves_combinations_with_sensitive_values_and_without(
    beside: tuple[Core, tuple[Mask, ...]], k: int
) -> None:
    """Each count of nonsensitive values is a sum of published counts, so the first table has it too."""
    core, collection = beside[0], with_tables(*beside)
    domain, every = collection.domain, combinations_of(collection, core.nonsensitive)
    if every is None or not any(map(collection.shows, core.nonsensitive)):
        return
    of_all = Witnessing(collection, [], k).look(5)
    levels = {a: collection.finest_levels[a] for a in of_all.first}
    ones = np.ones(collection.cube.total, dtype=np.int64)
    cube = DataCube([ContingencyTable.from_cells(domain, levels, of_all.first, ones)])
    own = domain.mask(dict.fromkeys(core.nonsensitive, 0))
    for mask in {*collection.masks, *(mask & own for mask in collection.masks)} - {0}:
        assert as_dict(cube, mask) == as_dict(collection.cube, mask)
    alone = Witnessing(collection, [core.sensitive], k, earlier=[of_all]).look(15)
    assert alone.first is of_all.first
    shown = [own for own in every if not any(not own.margin & ~mask for mask in collection.masks)]
    assert certain(shown, k) <= open_ones(collection, alone)


def as_dict(cube: DataCube, mask: Mask) -> dict[tuple[int, ...], int]:
    table = cube.table(mask)
    cells = zip(*(table.column(a, level).tolist() for a, level in table.margin.items()))
    return {cell: count for cell, count in zip(cells, table.counts.tolist()) if count}


@settings(max_examples=EXAMPLES)
@given(cores(max_cells=48, max_values=3, max_levels=2).flatmap(with_further) | cyclic_cores(), st.integers(2, 4))
def test_nothing_is_cleared_that_is_certain_beside_the_tables_that_are_kept(
    beside: tuple[Core, tuple[Mask, ...]], k: int
) -> None:
    core, further = beside
    collection, fewer = with_tables(*beside), with_tables(core, further[: len(further) // 2])
    if not any(map(fewer.shows, core.nonsensitive)) or (every := combinations_of(fewer, core.nonsensitive)) is None:
        return
    witnessing = Witnessing(collection, [core.sensitive], k)
    before = witnessing.look(5)
    witnessing.keep(fewer.masks)
    found = witnessing.look(10)
    shown = {own for own in every if not any(not own.margin & ~mask for mask in fewer.masks)}
    left = open_ones(collection, found)
    assert certain(list(shown), k) <= left
    public = core.collection.domain.mask(dict.fromkeys(core.nonsensitive, 0))
    looked_at = combined_margins(collection.domain, sorted({mask & public for mask in collection.masks} - {0}))
    assert {one for one in left if one[0] in looked_at} <= open_ones(collection, before)


def open_ones(collection: Collection, found: Witnesses) -> set[tuple[Mask, tuple[int, ...], str | None]]:
    return {
        (own.margin, tuple(own.codes[a] for a in sorted(own.codes)), own.others)
        for own in open_combinations(collection.domain, found)
    }


def test_a_count_that_is_certain_stays_open_and_its_table_is_blamed() -> None:
    collection, k = cycle()
    found = Witnessing(collection, [], k).look(20)
    assert [own.codes for own in open_combinations(collection.domain, found)] == [{"A": 0, "B": 1, "C": 0}]
    assert not found.clear_all
    second, third = collection.masks[1:]
    assert found.blamed(collection.domain, {third: 0.5}) == third
    assert found.blamed(collection.domain, {second: 0.2, third: 0.1}) == third
    assert found.blamed(collection.domain, {second: 0.1, third: 0.2}) == second
    assert found.blamed(collection.domain, {}) is None
    going_on = Witnessing(collection, [], k)
    assert not going_on.look(20).clear_all
    idle = Witnessing(collection, [], k)
    at_once = idle.look(0)
    assert (at_once.rounds, at_once.small) == (0, len(open_combinations(collection.domain, at_once)))
    assert idle.look(1000).rounds < 1000  # it ends soon after the last one that clears anything
    idle._examined.clear()
    with pytest.raises(TimeOverError):
        idle.keep(collection.masks[:2], Deadline(0.0, lambda: 1.0))
    going_on.keep(collection.masks[:2])
    assert going_on.look(200).clear_all
    tree = Witnessing(replace(collection, masks=collection.masks[:2]), [], k).look(200)
    assert (tree.clear_all, tree.small > 0) == (True, True)


def test_counts_below_a_bound_are_exact_as_small_floats() -> None:
    assert all(int(np.float32(count)) == count for count in range(_EXACT_ROWS - 99, _EXACT_ROWS))


def test_combinations_beyond_32_bits_are_numbered_apart() -> None:
    """Two thousand values of each of three attributes, of which few are there."""
    domain = flat_domain(a=2000, b=2000, c=2000)
    codes = {name: np.array([0, 1, 1073, 1999]) for name in "abc"}
    levels = dict.fromkeys("abc", 0)
    keys = _Exchanged(domain, levels, codes).keys(levels)
    assert keys.tolist() == [(a * 2000 + a) * 2000 + a for a in codes["a"].tolist()]


# What labels tell of the values behind them, against every way to share rows out among these.


JOBS = Hierarchy.from_rows(
    [
        ("clerk", "clerk", "*"),
        ("cook, driver", "cook, driver and other job", "*"),
        ("other job", "cook, driver and other job", "*"),
    ]
)


def jobs(*counts: int, levels: tuple[int, ...] = (0,)) -> Collection:
    return published(filled(Domain.of({"job": JOBS}), counts), *({"job": level} for level in levels))


@given(st.integers(1, 4), st.integers(1, 10), st.integers(1, 6))
def test_a_small_count_is_certain_just_where_no_way_to_share_rows_out_gives_a_value_enough(
    occurring: int, rows: int, least: int
) -> None:
    shared = [counts for counts in product(range(1, rows + 1), repeat=occurring) if sum(counts) == rows]
    if shared:
        is_certain = all(counts[0] < least for counts in shared)
        for label, counts in (("cook, driver", (rows, 15)), ("cook, driver and other job", (rows - 1, 1))):
            found = label_counts(jobs(30, *counts), {"job": {label: occurring}}, least)
            assert (found.verdict is Verdict.FAILS) == is_certain


def test_nothing_is_told_by_a_label_that_names_none_or_of_which_nothing_is_known() -> None:
    collection = jobs(11, 12, 11)
    assert label_counts(collection, {}, 11).holds
    assert label_counts(collection, {"job": {"other job": 0}}, 11).holds
    assert label_counts(collection, {"job": {"another": 9}, "town": {"cook": 9}}, 11).holds


@pytest.mark.parametrize(("rows", "verdict"), [(12, Verdict.HOLDS), (11, Verdict.FAILS)])
def test_the_least_cell_is_about_labels_too(rows: int, verdict: Verdict) -> None:
    told = {"job": {"cook, driver": 2}}
    finding = MinCell(11).check(Question(jobs(30, rows, 15), labels=told))
    assert finding.verdict is verdict
    if verdict is Verdict.FAILS:
        assert finding.criterion == "min-cell"
        assert finding.worst_class.cell == {"job": "cook, driver"}
        assert finding.worst_class.count == 10
    small = MinCell(11).check(Question(jobs(30, 11, 3), labels=told))
    assert small.worst_class.cell == {"job": "other job"}, "a count that is published comes first"


@given(st.lists(st.integers(0, 9), min_size=3, max_size=3), st.integers(1, 6))
def test_values_below_the_published_ones_are_crowded_where_each_with_a_row_would_be_small(
    counts: list[int], least: int
) -> None:
    collection = jobs(*counts, levels=(1,))
    if not any(counts):
        return
    shared = [own for own in product(range(1, 19), repeat=2) if sum(own) == counts[1] + counts[2]]
    expected = counts[1] + counts[2] > 0 and all(own[0] < least for own in shared)
    assert (crowded(collection, least) == ("job",)) == expected


def test_a_deadline_within_the_first_table_leaves_the_next_claim_undecided() -> None:
    """Its start may have the counts of the nonsensitive attributes alone; such a table says nothing of the others."""
    met = 0
    for seed in range(20, 60):
        rng = np.random.default_rng(seed)
        sizes = {"A": 3, "B": 3, "C": 3, "S": int(rng.integers(3, 6))}
        rows = np.repeat(np.stack([rng.choice(s, 20, p=rng.dirichlet(np.ones(s))) for s in sizes.values()], 1), 3, 0)
        table = ContingencyTable.from_cells(
            flat_domain(**sizes), dict.fromkeys(sizes, 0), dict(zip(sizes, rows.T)), np.ones(len(rows))
        )
        collection = published(table, "ABS", "BC", "AC")
        try:
            first = Witnessing(collection, {"S"}, 3, Deadline(0.0, lambda: 1.0)).look(0)
        except TimeOverError:
            continue
        met += first.first is None
        with pytest.raises(TimeOverError) if first.first is None else nullcontext():
            Witnessing(collection, (), 3, Deadline(0.0, lambda: 1.0), [first])
    assert met
