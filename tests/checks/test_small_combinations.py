"""Combinations that tables prove to be small: all tables of whole numbers with the published marginals are the oracle."""

import os
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certain_combinations import Combination, combinations_of
from checks.claims import ATTESTED, VERIFIED, MinPublishedCell, NoSmallCertain, Question, parse_claim
from checks.finding import FULL, Finding, Verdict
from checks.small_combinations import refuted
from models.graphs.junction_tree import Collection
from models.tables.contingency_table import ContingencyTable
from models.tables.data_cube import DataCube
from models.tables.hierarchy import Domain, Hierarchy, Mask
from strategies import Core, cores, cyclic_cores, further_masks

EXAMPLES = 3_000 if "MARGINALS_TIMES" in os.environ else 300


def with_further(core: Core) -> st.SearchStrategy[tuple[Core, tuple[Mask, ...]]]:
    return st.tuples(st.just(core), further_masks(core))


def published(core: Core, further: tuple[Mask, ...]) -> Collection:
    return Collection.of(core.collection.cube, (*core.collection.masks, *further))


def largest_k(core: Core, collection: Collection) -> int:
    """Up to which every published class has so many rows."""
    own = core.collection.domain.mask(dict.fromkeys(core.nonsensitive, 0))
    return min(core.collection.cube.least_count(mask & own) for mask in collection.masks)


def certain(combinations: list[Combination], k: int) -> set[tuple[int, tuple[int, ...]]]:
    return {(own.margin, own.cell) for own in combinations if own.least > 0 and own.most < k}


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
    from dataclasses import replace

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
