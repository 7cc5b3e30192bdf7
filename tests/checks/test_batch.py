"""The largest batch is the largest of all subsets of people that can be shown, and a million people take two seconds."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks.changes import Change, cells_of, settled_rows
from models import ContingencyTable, Domain, DomainMismatchError, Hierarchy, equal_cells
from strategies import contingency_tables, domains, margins
from work import compare_with_sorting


def is_shown(table: ContingencyTable, masks: list[int], least: int) -> bool:
    return all((table.rolled_up(table.domain.margin(mask)).counts >= least).all() for mask in masks)


def largest_batch(people: ContingencyTable, masks: list[int], least: int) -> ContingencyTable:
    kept = settled_rows(people.counts, [cells_of(people, mask) for mask in masks], least)
    codes = {name: column[kept] for name, column in zip(people.attributes, people.codes)}
    return ContingencyTable.from_cells(people.domain, people.margin, codes, people.counts[kept])


@given(st.data())
def test_it_is_the_largest_of_all_subsets(data: st.DataObject) -> None:
    domain = data.draw(domains(min_attributes=1, max_attributes=3, max_cells=12))
    people = data.draw(contingency_tables(domain, 6))
    masks = [domain.mask(margin) for margin in data.draw(st.lists(margins(domain), min_size=1, max_size=3))]
    least = data.draw(st.integers(1, 5))
    found = largest_batch(people, masks, least)
    assert is_shown(found, masks, least)
    codes = dict(zip(people.attributes, people.codes))
    largest = max(
        sum(chosen)
        for chosen in product(*(range(count + 1) for count in people.counts.tolist()))
        if is_shown(ContingencyTable.from_cells(domain, people.margin, codes, np.array(chosen)), masks, least)
    )
    assert found.total == largest


@given(st.data())
def test_joiners_and_leavers_lead_from_the_one_table_to_the_other(data: st.DataObject) -> None:
    domain = data.draw(domains(min_attributes=1, max_attributes=3, max_cells=20))
    earlier, later = data.draw(contingency_tables(domain, 12)), data.draw(contingency_tables(domain, 12))
    change = Change.between(earlier, later)
    parts = (dict(each.cells()) for each in (earlier, later, change.joiners, change.leavers))
    before, after, joiners, leavers = parts
    assert not joiners.keys() & leavers.keys()
    for cell in before.keys() | after.keys():
        assert after.get(cell, 0) == before.get(cell, 0) + joiners.get(cell, 0) - leavers.get(cell, 0)
    back = Change.between(later, earlier)
    assert equal_cells([back.joiners, change.leavers])
    assert equal_cells([back.leavers, change.joiners])


def test_tables_of_other_cells_have_no_change_between_them() -> None:
    one, other = (Domain.of({"a": Hierarchy.flat(values)}) for values in (["x", "y"], ["x", "z"]))
    tables = [ContingencyTable.from_cells(d, {"a": 0}, {"a": np.array([0])}, np.array([4])) for d in (one, other)]
    with pytest.raises(DomainMismatchError, match="same cells"):
        Change.between(*tables)


@pytest.mark.slow
def test_a_million_changes_take_as_long_as_some_sorts_of_them() -> None:
    rng = np.random.default_rng(0)
    sizes = (8, 50, 30, 12, 6, 40)
    names = "abcdef"
    domain = Domain.of({name: Hierarchy.flat(map(str, range(size))) for name, size in zip(names, sizes)})
    codes = {name: (rng.beta(0.6, 2.0, 1_000_000) * size).astype(int) for name, size in zip(names, sizes)}
    people = ContingencyTable.from_cells(domain, dict.fromkeys(names, 0), codes, np.ones(1_000_000, dtype=np.int64))
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]][:11]
    masks = [domain.mask(dict.fromkeys(pair, 0)) for pair in pairs]
    batch, sorts = compare_with_sorting(lambda: largest_batch(people, masks, 10))
    assert sorts < 14
    assert 0 < batch.total < people.total
    assert is_shown(batch, masks, 10)
