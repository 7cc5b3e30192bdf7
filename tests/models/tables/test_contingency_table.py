"""Contingency tables: sparse counts equal counting labels by hand, at any level and in domains of any size."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brute_force import dense_marginal, entropy, joint_array, lifted
from models import ContingencyTable, ContradictionError, Domain, DomainMismatchError, Hierarchy, Margin, equal_cells
from models.tables import contingency_table
from strategies import coarser_margins, contingency_tables, domains, margins

DOMAIN = Domain.of(
    {
        "sex": Hierarchy.flat(["m", "f"]),
        "age": Hierarchy.from_rows([("1", "young", "*"), ("2", "young", "*"), ("3", "old", "*")]),
    }
)
BASE = {"sex": 0, "age": 0}


def _by_hand(table, margin):
    """Counts of the cells of a margin, by their labels in the domain's order; suppressed attributes left out."""
    shown = [a for a in table.domain.attributes if a in margin and margin[a] < table.domain.hierarchy(a).height]
    above = {a: {row[table.margin[a]]: row[margin[a]] for row in table.domain.hierarchy(a).rows()} for a in shown}
    counts = Counter()
    for labels, count in table.cells():
        cell = dict(zip(table.attributes, labels))
        counts[tuple(above[a][cell[a]] for a in shown)] += count
    return counts


def _random_table(attribute_count, value_count, row_count, seed):
    """Rows over a domain that may be far too large to lay out: values in groups of ten."""
    rng = np.random.default_rng(seed)
    rows = [(str(value), f"{value // 10}x", "*") for value in range(value_count)]
    domain = Domain.of({f"q{i}": Hierarchy.from_rows(rows) for i in range(attribute_count)})
    codes = rng.integers(0, value_count, (attribute_count, row_count // 2))
    codes = np.hstack([codes, codes[:, rng.integers(0, row_count // 2, row_count // 2)]])
    base = dict.fromkeys(domain.attributes, 0)
    return ContingencyTable.from_cells(domain, base, dict(zip(domain.attributes, codes)), np.ones(row_count, np.int64))


LARGE = [(3, 30), (14, 100)]
"""Number of attributes and of values: too large for an array of all cells, and too large for 64-bit keys."""


def _assert_is_well_formed(table):
    cells = list(zip(*table.codes)) if table.codes else [()] * len(table)
    assert all(one < other for one, other in zip(cells, cells[1:])), "cells are distinct and ascend"
    assert (table.counts > 0).all()
    assert table.counts.dtype == np.int64
    for attribute, codes in zip(table.attributes, table.codes):
        size = table.domain.hierarchy(attribute).size(table.margin[attribute])
        assert codes.dtype == np.min_scalar_type(size - 1)
        assert len(codes) == 0 or codes.max() < size
    assert all(not array.flags.writeable for array in (*table.codes, table.counts))


@given(st.data())
def test_cells_given_in_any_order_with_repeats_and_zeros_give_one_table(data):
    domain = data.draw(domains())
    margin = data.draw(margins(domain))
    sizes = {a: domain.hierarchy(a).size(level) for a, level in margin.items()}
    cell = st.tuples(st.integers(0, 3), *(st.integers(0, size - 1) for size in sizes.values()))
    cells = data.draw(st.lists(cell, max_size=15))
    codes = {a: np.array([row[i] for row in cells], dtype=np.int64) for i, a in enumerate(sizes, 1)}
    table = ContingencyTable.from_cells(domain, margin, codes, np.array([row[0] for row in cells], dtype=np.int64))
    _assert_is_well_formed(table)
    shown = [a for a in domain.attributes if a in margin and margin[a] < domain.hierarchy(a).height]
    expected = Counter()
    for place, (count, *_) in enumerate(cells):
        if count:
            expected[tuple(domain.hierarchy(a).labels[margin[a]][codes[a][place]] for a in shown)] += count
    assert table.margin == {a: margin[a] for a in shown}
    assert table.attributes == tuple(shown)
    assert dict(table.cells()) == expected
    assert table.total == expected.total()
    assert len(table) == len(expected)
    assert table.mask == domain.mask(margin)


@given(st.data())
def test_rolling_up_counts_the_generalized_rows(data):
    domain = data.draw(domains())
    table = data.draw(contingency_tables(domain))
    margin = data.draw(margins(domain))
    coarse = table.rolled_up(margin)
    _assert_is_well_formed(coarse)
    assert dict(coarse.cells()) == _by_hand(table, margin)
    assert coarse.total == table.total


@pytest.mark.slow
@pytest.mark.parametrize(("attribute_count", "value_count"), LARGE)
@pytest.mark.parametrize("seed", range(3))
def test_counts_in_domains_too_large_to_lay_out_equal_counting_by_hand(attribute_count, value_count, seed):
    table = _random_table(attribute_count, value_count, 60, seed)
    rng = np.random.default_rng(seed)
    _assert_is_well_formed(table)
    assert len(table) < table.total, "some row comes twice"
    for _ in range(10):
        margin = {a: int(level) for a, level in zip(table.attributes, rng.integers(0, 3, attribute_count))}
        coarse = table.rolled_up(margin)
        _assert_is_well_formed(coarse)
        assert dict(coarse.cells()) == _by_hand(table, margin)
        assert coarse.counts[table.positions_in(coarse)].tolist() == [
            _by_hand(table, margin)[tuple(coarse.labels(cell).values())] for cell in table.positions_in(coarse)
        ]
    own = np.array(table.codes, dtype=int)
    shifted = (own + (np.arange(attribute_count) == 0)[:, None]) % value_count
    known = dict(zip(zip(*own.tolist()), table.counts.tolist()))
    for cells in (own, shifted):
        counts = table.counts_of(dict(zip(table.attributes, cells)))
        assert counts.tolist() == [known.get(cell, 0) for cell in zip(*cells.tolist())]


@pytest.mark.parametrize(("attribute_count", "value_count"), [(1, 3), *LARGE])
def test_cells_without_rows_are_left_out_of_domains_of_any_size(attribute_count, value_count):
    domain = Domain.of({f"q{i}": Hierarchy.flat(map(str, range(value_count))) for i in range(attribute_count)})
    codes = dict.fromkeys(domain.attributes, np.array([2, 0, 1, 0]))
    base = dict.fromkeys(domain.attributes, 0)
    table = ContingencyTable.from_cells(domain, base, codes, np.array([0, 1, 3, 1]))
    assert list(table.cells()) == [(("0",) * attribute_count, 2), (("1",) * attribute_count, 3)]


@given(st.data())
def test_rolling_up_twice_equals_rolling_up_once(data):
    domain = data.draw(domains())
    table = data.draw(contingency_tables(domain))
    middle = data.draw(margins(domain))
    last = data.draw(coarser_margins(domain, middle))
    once, twice = table.rolled_up(last), table.rolled_up(middle).rolled_up(last)
    assert once.margin == twice.margin
    assert equal_cells([once, twice])
    assert equal_cells([table, table.rolled_up(table.margin)])


@given(st.data())
def test_recoding_values_and_reordering_attributes_changes_no_count(data):
    """Another order of the attributes and of each hierarchy's rows is the same table of labels."""
    domain = data.draw(domains())
    table = data.draw(contingency_tables(domain))
    margin = data.draw(margins(domain))
    names = data.draw(st.permutations(domain.attributes))
    other = Domain.of({a: Hierarchy.from_rows(data.draw(st.permutations(domain.hierarchy(a).rows()))) for a in names})
    codes = {
        a: np.array([other.hierarchy(a).code(domain.hierarchy(a).labels[0][code], 0) for code in column])
        for a, column in zip(table.attributes, table.codes)
    }
    moved = ContingencyTable.from_cells(other, table.margin, codes, table.counts).rolled_up(margin)
    cells = {frozenset(zip(moved.attributes, labels)): count for labels, count in moved.cells()}
    ours = table.rolled_up(margin)
    assert cells == {frozenset(zip(ours.attributes, labels)): count for labels, count in ours.cells()}


@given(st.data())
def test_each_cell_falls_into_the_coarser_cell_of_its_generalized_labels(data):
    domain = data.draw(domains())
    fine = data.draw(contingency_tables(domain)).rolled_up(data.draw(margins(domain)))
    coarse = fine.rolled_up(data.draw(coarser_margins(domain, fine.margin)))
    above = {
        a: {row[fine.margin[a]]: row[coarse.margin[a]] for row in domain.hierarchy(a).rows()} for a in coarse.attributes
    }
    positions = fine.positions_in(coarse)
    assert positions.shape == (len(fine),)
    for cell, position in enumerate(positions):
        labels = fine.labels(cell)
        assert coarse.labels(position) == {a: above[a][labels[a]] for a in coarse.attributes}


@given(st.data())
def test_counts_of_arbitrary_cells_equal_the_dense_marginal(data):
    domain = data.draw(domains())
    base = data.draw(contingency_tables(domain))
    table = base.rolled_up(data.draw(margins(domain)))
    dense = dense_marginal(joint_array(base), domain, table.margin)
    codes = dict(zip(domain.attributes, np.indices(dense.shape).reshape(dense.ndim, -1)))
    assert table.counts_of(codes).tolist() == dense.ravel().tolist()


@given(st.data())
def test_a_column_is_generalized_value_by_value(data):
    domain = data.draw(domains())
    table = data.draw(contingency_tables(domain)).rolled_up(data.draw(margins(domain)))
    for attribute, codes in zip(table.attributes, table.codes):
        hierarchy, own = domain.hierarchy(attribute), table.margin[attribute]
        for level in range(own, hierarchy.height + 1):
            np.testing.assert_array_equal(table.column(attribute, level), lifted(hierarchy, own, level)[codes])


@given(st.data())
def test_entropy_is_that_of_the_distribution_and_falls_with_coarsening(data):
    domain = data.draw(domains())
    base = data.draw(contingency_tables(domain))
    table = base.rolled_up(data.draw(margins(domain)))
    p = dense_marginal(joint_array(base), domain, table.margin) / base.total
    assert table.entropy == pytest.approx(entropy(p), abs=1e-12)
    assert table.rolled_up(data.draw(coarser_margins(domain, table.margin))).entropy <= table.entropy + 1e-12


def test_entropy_of_nothing_and_of_equal_shares():
    assert contingency_table.entropy(np.array([], dtype=np.int64)) == 0
    assert contingency_table.entropy(np.array([0, 0])) == 0
    assert contingency_table.entropy(np.array([5])) == 0
    assert contingency_table.entropy(np.array([7, 7, 0, 7])) == pytest.approx(np.log(3), abs=1e-15)


def test_an_empty_table_rolls_up_to_empty_tables():
    table = _table([], [], [])
    assert (len(table), table.total, table.entropy) == (0, 0, 0)
    for margin in ({}, {"age": 1}, BASE):
        coarse = table.rolled_up(margin)
        assert list(coarse.cells()) == []
        assert table.positions_in(coarse).tolist() == []
        assert coarse.counts_of({"sex": np.array([0, 1]), "age": np.array([0, 1])}).tolist() == [0, 0]


@given(st.data())
def test_equal_cells_notices_every_changed_cell_and_count(data):
    domain = data.draw(domains())
    table, other = data.draw(contingency_tables(domain)), data.draw(contingency_tables(domain))
    assert equal_cells([table, table.rolled_up(table.margin)])
    assert equal_cells([table, table, other]) == (dict(table.cells()) == dict(other.cells()))


def _table(sex, age, counts, margin=BASE):
    codes = {"sex": np.array(sex, dtype=np.int64), "age": np.array(age, dtype=np.int64)}
    return ContingencyTable.from_cells(DOMAIN, margin, codes, np.array(counts, dtype=np.int64))


@pytest.mark.parametrize("age", [3, -1, 256])
def test_a_code_out_of_range_is_refused(age):
    with pytest.raises(DomainMismatchError, match=r"codes.* must lie in 0 \.\. 2"):
        _table([0, 1], [0, age], [1, 1])


def test_the_refusal_of_a_code_names_its_attribute():
    with pytest.raises(DomainMismatchError, match="age"):
        _table([0, 1], [0, 3], [1, 1])


def test_a_code_in_range_of_the_base_values_only_is_refused_at_a_coarser_level():
    with pytest.raises(DomainMismatchError, match=r"must lie in 0 \.\. 1"):
        _table([0, 1], [0, 2], [1, 1], {"sex": 0, "age": 1})


def test_a_negative_count_is_refused_even_if_another_makes_up_for_it():
    with pytest.raises(DomainMismatchError, match="negative"):
        _table([0, 0], [1, 1], [-1, 5])


@pytest.mark.parametrize(
    ("sex", "age", "counts"), [([0], [1, 1], [1, 1]), ([0, 0], [1], [1, 1]), ([0, 0], [1, 1], [1]), ([0], [1], [])]
)
def test_code_columns_and_counts_of_different_lengths_are_refused(sex, age, counts):
    with pytest.raises(DomainMismatchError, match="length"):
        _table(sex, age, counts)


def test_the_constructor_refuses_columns_that_do_not_fit():
    counts = np.array([1, 2])
    with pytest.raises(DomainMismatchError, match="1 attributes came with 0 code columns"):
        ContingencyTable(DOMAIN, Margin({"sex": 0}), (), counts)
    with pytest.raises(DomainMismatchError, match="differ in length"):
        ContingencyTable(DOMAIN, Margin({"sex": 0}), (np.array([0]),), counts)


WHOLE = (np.array([0, 0, 1]), np.array([0, 2, 1])), np.array([4, 5, 6])
"""Codes of sex and age, and counts, of three cells in order."""


@pytest.mark.parametrize(
    ("codes", "counts", "message"),
    [
        (([0, 0, 1], [0, 2, 1]), [4, -5, 6], "negative, got -5"),
        (([0, 0, 1], [0, 2, 1]), [4, 0, 6], "a cell has no rows"),
        (([0, 0, 1], [0, 2, 1]), [4, 1.5, 6], "counts must be whole numbers, got 1.5"),
        (([0, 0, 1], [0, 2, 1]), [4, np.nan, 6], "counts must be whole numbers, got nan"),
        (([0, 0, 1], [0, 2, 1]), [[4, 5, 6]], "one dimension"),
        (([0, 1, 0], [0, 1, 2]), [4, 5, 6], "distinct and ascend"),
        (([0, 0, 1], [2, 0, 1]), [4, 5, 6], "distinct and ascend"),
        (([0, 0, 1], [2, 2, 1]), [4, 5, 6], "distinct and ascend"),
        (([0, 0, 2], [0, 2, 1]), [4, 5, 6], "the codes of 'sex' must lie in 0 .. 1"),
        (([0, 0, 1], [-1, 2, 1]), [4, 5, 6], "the codes of 'age' must lie in 0 .. 2"),
        (([0, 0, 1], [0.5, 2, 1]), [4, 5, 6], "the codes of 'age' must be whole numbers, got 0.5"),
        (([0, 0, 1], [[0], [2], [1]]), [4, 5, 6], "the codes of 'age' need one dimension"),
    ],
)
def test_the_constructor_refuses_what_is_no_table(codes, counts, message):
    """Each of these was a table whose entropy or roll-up was nan or wrong."""
    with pytest.raises(DomainMismatchError, match=message):
        ContingencyTable(DOMAIN, Margin(BASE), tuple(map(np.array, codes)), np.array(counts))
    ContingencyTable(DOMAIN, Margin(BASE), *WHOLE)


def test_two_cells_of_no_attributes_are_refused():
    with pytest.raises(DomainMismatchError, match="distinct"):
        ContingencyTable(DOMAIN, Margin({}), (), np.array([1, 2]))


@pytest.mark.parametrize(("margin", "message"), [({"hat": 0}, "'hat'"), ({"sex": 2}, "levels 0 to 1")])
def test_the_constructor_refuses_a_margin_outside_the_domain(margin, message):
    with pytest.raises(DomainMismatchError, match=message):
        ContingencyTable(DOMAIN, Margin(margin), (np.array([0]),), np.array([1]))


@pytest.mark.parametrize("by_name", [False, True])
def test_arrays_of_the_caller_stay_writeable_and_are_not_written_through(by_name):
    codes, counts = [column.copy() for column in WHOLE[0]], WHOLE[1].copy()
    if by_name:
        table = ContingencyTable.from_cells(DOMAIN, BASE, dict(zip(BASE, codes)), counts)
    else:
        table = ContingencyTable(DOMAIN, Margin(BASE), tuple(codes), counts)
    for array in (*codes, counts):
        array[0] = 1
    assert next(iter(table.cells())) == (("m", "1"), 4)
    for array in (*table.codes, table.counts):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


@given(st.data())
def test_what_is_tallied_is_what_the_constructor_accepts(data):
    """`from_cells` and `rolled_up` leave out the constructor's checks."""
    table = data.draw(contingency_tables(data.draw(domains())))
    coarser = data.draw(coarser_margins(table.domain, table.margin))
    for tallied in (table, table.rolled_up(coarser)):
        checked = ContingencyTable(tallied.domain, tallied.margin, tallied.codes, tallied.counts)
        assert equal_cells([tallied, checked])
        assert type(tallied.margin) is Margin
        for own, copy in zip((*tallied.codes, tallied.counts), (*checked.codes, checked.counts)):
            assert own.dtype == copy.dtype
            assert not own.flags.writeable


def test_a_column_without_codes_is_refused_by_name():
    with pytest.raises(DomainMismatchError, match="there are no codes of 'age'"):
        ContingencyTable.from_cells(DOMAIN, BASE, {"sex": np.array([0])}, np.array([1]))


@pytest.mark.parametrize(("margin", "message"), [({"hat": 0}, "'hat'"), ({"age": 3}, "'age' has the levels 0 to 2")])
def test_margins_outside_the_domain_are_refused_by_name(margin, message):
    with pytest.raises(DomainMismatchError, match=message):
        _table([0], [0], [1]).rolled_up(margin)
    with pytest.raises(DomainMismatchError, match=message):
        ContingencyTable.from_cells(DOMAIN, margin, {}, np.array([], dtype=np.int64))


@pytest.mark.parametrize(
    ("held", "asked"), [({"age": 1}, {"age": 0}), ({"sex": 0}, {"age": 1}), ({}, BASE), ({"age": 0}, {"sex": 0})]
)
def test_asking_a_table_for_more_than_it_shows_is_refused_with_the_attribute(held, asked):
    table = _table([0, 1], [0, 1], [1, 1]).rolled_up(held)
    attribute = next(a for a in asked if a not in held or held[a] > asked[a])
    for ask in (table.rolled_up, table.columns):
        with pytest.raises(DomainMismatchError, match=f"does not show '{attribute}'"):
            ask(asked)


def test_a_cell_that_the_coarser_table_lacks_is_a_contradiction():
    fine, coarse = _table([0, 1], [0, 2], [1, 1]), _table([0], [1], [2]).rolled_up({"age": 1})
    with pytest.raises(ContradictionError, match=r"sex:0.* and age:1 disagree") as refused:
        fine.positions_in(coarse)
    assert not any(label in str(refused.value) for label in ("old", "young"))
    with pytest.raises(ContradictionError):
        fine.positions_in(_table([], [], []))
    assert issubclass(ContradictionError, ValueError)


def test_a_table_shows_its_margin_and_size_but_no_cell():
    assert repr(_table([0, 0, 1], [0, 1, 1], [1, 2, 0])) == "ContingencyTable(age:0, sex:0; 2 cells, 3 rows)"


@pytest.mark.data
def test_adult_has_the_counts_that_are_known_of_it(shared_data):
    """45,222 rows; ages 31-40 are 12,291 of them and 81-90 are 114; 74 ages; occupation is entropy 10.57-diverse."""
    header, *rows = ((shared_data / "adult" / "adult.csv").read_text()).splitlines()
    places = [header.split(",").index(name) for name in ("age", "occupation")]
    ages, occupations = zip(*([row.split(",")[place] for place in places] for row in rows))
    domain = Domain.of(
        {
            "age": Hierarchy.from_intervals(ages, [10], start=1),
            "occupation": Hierarchy.flat(dict.fromkeys(occupations)),
        }
    )
    codes = {
        name: np.array([domain.hierarchy(name).code(value, 0) for value in values])
        for name, values in (("age", ages), ("occupation", occupations))
    }
    table = ContingencyTable.from_cells(domain, {"age": 0, "occupation": 0}, codes, np.ones(len(rows), dtype=np.int64))
    decades = dict(table.rolled_up({"age": 1}).cells())
    assert table.total == 45_222
    assert decades[("31-40",)] == 12_291
    assert decades[("81-90",)] == 114
    assert len(table.rolled_up({"age": 0})) == 74
    assert len(table.rolled_up({"occupation": 0})) == 14
    assert np.exp(table.rolled_up({"occupation": 0}).entropy) == pytest.approx(10.57, abs=0.005)


@given(st.data())
def test_keys_tell_cells_apart_and_order_them_whatever_was_asked_before(data: st.DataObject) -> None:
    """Beside plain lists of each cell's values: equal keys for equal values, and in their order, that of the domain."""
    table = data.draw(contingency_tables(data.draw(domains())))
    coarser = margins(table.domain).map(lambda margin: table.domain.mask(margin) & table.mask)
    for mask in data.draw(st.lists(coarser.filter(bool), min_size=1, max_size=6)):
        keys, space = table.keys(mask)
        levels = table.domain.levels(mask)
        shown = [
            [table.domain.hierarchy(name).lift(table.margin[name], levels[name])[code] for code in column]
            for name, column in zip(table.attributes, table.codes)
        ]
        cells = list(zip(*shown))
        order = sorted(set(cells))
        assert [sorted(set(keys.tolist())).index(key) for key in keys.tolist()] == [order.index(cell) for cell in cells]
        assert space > max(keys, default=0)
