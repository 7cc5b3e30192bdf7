"""Combinations that tables prove to be small: all tables of whole numbers with the published marginals are the oracle."""

import os
from dataclasses import replace
from itertools import product
from random import Random
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certain_combinations import Combination, combinations_of
from checks import ATTESTED, FULL, Finding, Question, Verdict, parse_claim
from checks.claims import VERIFIED, MinPublishedCell, NoSmallCertain
from checks.small_combinations import (
    _EXACT_ROWS,
    Witnesses,
    Witnessing,
    _Counted,
    combined_margins,
    refuted,
    witnessed,
)
from models import Collection, ContingencyTable, DataCube, Domain, Hierarchy, Mask, TooManyCellsError
from strategies import Core, cores, cyclic_cores, further_masks

EXAMPLES = 3_000 if "MARGINALS_TIMES" in os.environ else 300


def with_further(core: Core) -> st.SearchStrategy[tuple[Core, tuple[Mask, ...]]]:
    return st.tuples(st.just(core), further_masks(core))


def published(core: Core, further: tuple[Mask, ...]) -> Collection:
    return Collection.of(core.collection.cube, (*core.collection.masks, *further))


def public_of(core: Core, collection: Collection) -> list[Mask]:
    """What the tables show of nonsensitive attributes."""
    own = core.collection.domain.mask(dict.fromkeys(core.nonsensitive, 0))
    return sorted({mask & own for mask in collection.masks} - {0})


def largest_k(core: Core, collection: Collection) -> int:
    """Up to which every published class has so many rows."""
    own = core.collection.domain.mask(dict.fromkeys(core.nonsensitive, 0))
    return min(core.collection.cube.least_count(mask & own) for mask in collection.masks)


def certain(combinations: list[Combination], k: int) -> set[tuple[int, tuple[int, ...]]]:
    return {(own.margin, own.cell) for own in combinations if own.least > 0 and own.most < k}


@pytest.mark.slow
@settings(max_examples=EXAMPLES)
@given(
    cores(max_cells=48, max_values=3, max_levels=2).flatmap(with_further) | cyclic_cores(),
    st.sampled_from([0, 0, 0, 1]),
)
def test_programs_find_exactly_what_is_certain_of_up_to_three_values(
    beside: tuple[Core, tuple[Mask, ...]], more: int
) -> None:
    core, collection = beside[0], published(*beside)
    k = largest_k(core, collection) + more
    combinations = combinations_of(collection, core.nonsensitive) if k > 1 else None
    if combinations is None:
        return
    found, small = refuted(collection, [core.sensitive], k), certain(combinations, k)
    if found.verdict is Verdict.FAILS:
        assert small & places_of(collection, found) or not found.worst_class.cell
    elif found.holds or (len(core.nonsensitive) == 3 and not found.note):
        assert not small


def places_of(collection: Collection, found: Finding) -> set[tuple[Mask, tuple[int, ...]]]:
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
        )
        for chosen in product(*levels)
    }


def cycle() -> tuple[Collection, int]:
    """AB, BC and AC of 3 0 2 3 0 0 3 0 over 000 .. 111: one table alone has them."""
    domain = Domain.of({name: Hierarchy.flat("01") for name in "ABC"})
    cells = dict(zip("ABC", np.indices((2, 2, 2)).reshape(3, -1)))
    rows = ContingencyTable.from_cells(domain, dict.fromkeys("ABC", 0), cells, [3, 0, 2, 3, 0, 0, 3, 0])
    return Collection.of(DataCube([rows]), [domain.mask(dict.fromkeys(pair, 0)) for pair in ("AB", "BC", "AC")]), 3


def test_a_cycle_of_three_tables_proves_a_count_of_two() -> None:
    collection, k = cycle()
    found = refuted(collection, [], k)
    assert (found.verdict, found.worst_class.cell) == (Verdict.FAILS, {"A": "0", "B": "1", "C": "0"})
    assert found.worst_class.count_between == (2, 2)
    assert NoSmallCertain(k, ATTESTED).check(Question(collection)).verdict is Verdict.FAILS
    assert refuted(collection, [], 2).verdict is Verdict.UNDECIDED


def test_what_programs_do_not_refute_is_attested_or_undecided() -> None:
    collection, _ = cycle()
    claim = NoSmallCertain(2)
    assert claim.check(Question(collection)).verdict is Verdict.UNDECIDED
    attested = claim.based_on(collection, ())
    assert attested == NoSmallCertain(2, ATTESTED)
    found = attested.check(Question(collection))
    assert (found.verdict, found.basis, found.parameters) == (Verdict.ATTESTED, ATTESTED, {"k": 2})
    assert not found.holds
    tree = Collection.of(collection.cube, collection.masks[:2])
    assert claim.based_on(tree, ()).basis == VERIFIED
    assert claim.check(Question(tree)).holds
    for stated in (claim, attested, MinPublishedCell(3)):
        assert parse_claim(stated.as_json()) == stated


def test_a_budget_without_programs_decides_nothing() -> None:
    collection, k = cycle()
    found = refuted(collection, [], k, replace(FULL, cell_programs=0))
    assert (found.verdict, "the budget ended" in found.note) == (Verdict.UNDECIDED, True)


@given(cores(max_cells=60), st.data())
def test_the_least_published_count_is_that_of_every_table(core: Core, data: st.DataObject) -> None:
    collection = published(core, data.draw(further_masks(core)))
    least = min(core.collection.cube.least_count(mask) for mask in collection.masks)
    question = Question(collection, [core.sensitive])
    assert MinPublishedCell(least).check(question).holds
    assert MinPublishedCell(least + 1).check(question).verdict is Verdict.FAILS


@pytest.mark.parametrize("k", [1, 2, 11])
def test_claims_say_what_they_mean(k: int) -> None:
    assert NoSmallCertain(k, ATTESTED).meaning().endswith(".")
    assert "worked out" in MinPublishedCell(k).meaning_beside(["ill"]) or k == 1


@pytest.mark.slow
@settings(max_examples=EXAMPLES)
@given(
    cores(max_cells=48, max_values=3, max_levels=2).flatmap(with_further) | cyclic_cores(),
    st.integers(2, 4),
    st.sampled_from([0, 1 << 23]),
)
def test_nothing_is_cleared_that_is_certain(beside: tuple[Core, tuple[Mask, ...]], k: int, block: int) -> None:
    """Also where the margins of some attributes have so many cells that each is counted by itself."""
    core, collection = beside[0], published(*beside)
    every = combinations_of(collection, core.nonsensitive)
    if every is None:
        return
    with patch("checks.small_combinations._BLOCK", block):
        found = witnessed(core.collection.cube, collection.masks, [core.sensitive], k, rounds=15)
    open_ones = {(own.margin, own.codes) for own in found.open}
    shown = {(own.margin, own.cell) for own in every if not any(not own.margin & ~mask for mask in collection.masks)}
    assert certain(every, k) & shown <= {(margin, _by_name(collection, margin, codes)) for margin, codes in open_ones}
    assert found.small >= len(found.open)
    for own in found.open:
        assert 0 < own.count < k
    assert found.blamed(collection.domain, dict.fromkeys(beside[1], 0.1)) in {None, *beside[1]}


@pytest.mark.slow
@settings(max_examples=EXAMPLES)
@given(cores(max_cells=48, max_values=3, max_levels=2).flatmap(with_further) | cyclic_cores(), st.integers(2, 4))
def test_nothing_is_cleared_that_is_certain_beside_the_tables_that_are_kept(
    beside: tuple[Core, tuple[Mask, ...]], k: int
) -> None:
    core, further = beside
    collection, fewer = published(*beside), published(core, further[: len(further) // 2])
    if not any(map(fewer.shows, core.nonsensitive)) or (every := combinations_of(fewer, core.nonsensitive)) is None:
        return
    witnessing = Witnessing(core.collection.cube, collection.masks, [core.sensitive], k)
    before = witnessing.look(5)
    witnessing.keep(fewer.masks)
    found = witnessing.look(10)
    open_ones = {(own.margin, _by_name(collection, own.margin, own.codes)) for own in found.open}
    shown = {(own.margin, own.cell) for own in every if not any(not own.margin & ~mask for mask in fewer.masks)}
    assert certain(every, k) & shown <= open_ones
    new = {own.margin for own in found.open} - set(combined_margins(collection.domain, public_of(core, collection)))
    assert {(own.margin, own.codes) for own in found.open if own.margin not in new} <= {
        (own.margin, own.codes) for own in before.open
    }


def _by_name(collection: Collection, margin: Mask, codes: tuple[int, ...]) -> tuple[int, ...]:
    names = [collection.domain.attributes[place] for place in collection.domain.places(margin)]
    return tuple(code for _, code in sorted(zip(names, codes)))


@given(cyclic_cores(), st.randoms(use_true_random=False))
def test_witnesses_are_the_same_whatever_the_sensitive_values_are(
    beside: tuple[Core, tuple[Mask, ...]], random: Random
) -> None:
    core, collection = beside[0], published(*beside)
    base = core.collection.cube.table(sum(core.collection.domain.attribute_masks))
    rows = {a: np.repeat(codes, base.counts) for a, codes in zip(base.attributes, base.codes)}
    exchanged = rows[core.sensitive].tolist()
    random.shuffle(exchanged)
    rows[core.sensitive] = np.array(exchanged)
    other = DataCube([ContingencyTable.from_cells(base.domain, base.margin, rows, np.ones(base.total, dtype=np.int64))])
    one, two, again = (
        witnessed(cube, collection.masks, [core.sensitive], 3, seed=7, rounds=5)
        for cube in (core.collection.cube, other, core.collection.cube)
    )
    assert _plain(one) == _plain(two) == _plain(again)


def _plain(found: Witnesses) -> tuple[object, ...]:
    return found.small, found.rounds, [(own.margin, own.codes, own.count) for own in found.open]


def test_a_count_that_is_certain_stays_open_and_its_table_is_blamed() -> None:
    collection, k = cycle()
    found = witnessed(collection.cube, collection.masks, [], k, rounds=20)
    assert [own.labels(collection.domain) for own in found.open] == [{"A": "0", "B": "1", "C": "0"}]
    assert not found.clear_all
    second, third = collection.masks[1:]
    assert found.blamed(collection.domain, {third: 0.5}) == third
    assert found.blamed(collection.domain, {second: 0.2, third: 0.1}) == third
    assert found.blamed(collection.domain, {second: 0.1, third: 0.2}) == second
    assert found.blamed(collection.domain, {}) is None
    going_on = Witnessing(collection.cube, collection.masks, [], k)
    assert not going_on.look(20).clear_all
    idle = Witnessing(collection.cube, collection.masks, [], k)
    assert idle.look(1000).rounds < 1000  # it ends soon after the last one that clears anything
    going_on.keep(collection.masks[:2])
    assert going_on.look(200).clear_all
    tree = witnessed(collection.cube, collection.masks[:2], [], k, rounds=200)
    assert (tree.clear_all, tree.small > 0) == (True, True)


@pytest.mark.parametrize(("block", "exact_rows"), [(0, 1 << 24), (1 << 23, 1 << 24), (1 << 23, 0)])
def test_what_other_rows_clear_is_what_a_count_of_them_says(block: int, exact_rows: int) -> None:
    """Each combination is counted one by one in the rows that were exchanged."""
    rng = np.random.default_rng(3)
    names = "abcd"
    domain = Domain.of({name: Hierarchy.from_rows(map(list, ("0a*", "1a*", "2b*", "3b*"))) for name in names})
    codes = {a: rng.integers(0, 4, 90) for a in names}
    table = ContingencyTable.from_cells(domain, domain.margin(domain.mask(dict.fromkeys(names, 0))), codes, np.ones(90))
    cube, k = DataCube([table]), 4
    masks = [domain.mask({a: 0, b: 1}) for a, b in zip(names, names[1:] + names[:1])]
    with patch.multiple("checks.small_combinations", _BLOCK=block, _CHAINS=1, _EXACT_ROWS=exact_rows):
        witnessing = Witnessing(cube, masks, [], k)
        every = {(own.margin, own.codes): own.count for own in witnessing.look(0).open}
        found = witnessing.look(1)
    exchanged = witnessing._chains[0].codes

    def count(margin: Mask, cell: tuple[int, ...]) -> int:
        levels = sorted(domain.margin(margin).items(), key=lambda pair: names.index(pair[0]))
        return int(
            np.logical_and.reduce(
                [domain.hierarchy(a).lift(0, level)[exchanged[a]] == code for (a, level), code in zip(levels, cell)]
            ).sum()
        )

    assert {(own.margin, own.codes): own.count for own in found.open} == {
        (margin, cell): before for (margin, cell), before in every.items() if 0 < count(margin, cell) < k
    }
    assert 0 < len(found.open) < len(every)


def test_more_margins_than_can_be_looked_at_are_refused() -> None:
    domain = Domain.of({f"a{number}": Hierarchy.flat("xy") for number in range(80)})
    with pytest.raises(TooManyCellsError, match="combinations of 80 attributes"):
        combined_margins(domain, [domain.mask({a: 0}) for a in domain.attributes])


def test_counts_below_a_bound_are_exact_as_small_floats() -> None:
    assert all(int(np.float32(count)) == count for count in range(_EXACT_ROWS - 99, _EXACT_ROWS))


def test_combinations_beyond_32_bits_are_numbered_apart() -> None:
    """Two thousand values of each of three attributes, of which few are there."""
    domain = Domain.of({name: Hierarchy.flat(map(str, range(2000))) for name in "abc"})
    codes = {name: np.array([0, 1, 1073, 1999]) for name in "abc"}
    counted = _Counted(domain, dict.fromkeys("abc", 0), codes)
    keys = counted.keys(domain.mask(dict.fromkeys("abc", 0)))
    assert keys.tolist() == [(a * 2000 + a) * 2000 + a for a in codes["a"].tolist()]
