"""Contingency tables and cubes: sparse counts equal counting labels by hand, at any level, in domains of any size."""

from collections import Counter
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from brute_force import dense_marginal, entropy, joint_array, lifted
from models import (
    Cells,
    ContingencyTable,
    ContradictionError,
    DataCube,
    Domain,
    DomainMismatchError,
    Hierarchy,
    Margin,
    equal_cells,
)
from models.tables.contingency_table import pack, tallied, unpack
from strategies import coarser_margins, contingency_tables, data_cubes, decomposable_collections, domains, margins

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
    checked = ContingencyTable(table.domain, table.margin, table.codes, table.counts)
    assert equal_cells([table, checked]), "the constructor's checks accept what was made without them"


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
    joint = joint_array(table)
    dense = dense_marginal(joint, domain, coarse.margin)
    assert coarse.entropy == pytest.approx(entropy(dense / table.total), abs=1e-12)
    codes = dict(zip(domain.attributes, np.indices(dense.shape).reshape(dense.ndim, -1)))
    assert coarse.counts_of(codes).tolist() == dense.ravel().tolist()
    for attribute, own in zip(coarse.attributes, coarse.codes):
        hierarchy, level = domain.hierarchy(attribute), coarse.margin[attribute]
        for above in range(level, hierarchy.height + 1):
            np.testing.assert_array_equal(coarse.column(attribute, above), lifted(hierarchy, level, above)[own])
    last = data.draw(coarser_margins(domain, margin))
    twice = coarse.rolled_up(last)
    assert equal_cells([table.rolled_up(last), twice])
    assert twice.margin == table.rolled_up(last).margin
    assert twice.entropy <= coarse.entropy + 1e-12
    assert equal_cells([table, table.rolled_up(table.margin)])
    other = data.draw(contingency_tables(domain))
    assert equal_cells([table, table, other]) == (dict(table.cells()) == dict(other.cells()))


WIDTHS = [(7,), (257, 120, 2), (256, 256, 2), (257, 256, 2), (64,) * 6, (100,) * 14]
"""Values of each attribute: keys of 3, 16, 17, 18 and 36 bits; and of more than 64."""


@pytest.mark.parametrize("sizes", WIDTHS)
@pytest.mark.parametrize("rows", [60, 20_000])
def test_few_and_many_rows_in_domains_of_any_size_are_counted_as_by_hand(sizes: tuple[int, ...], rows: int) -> None:
    rng = np.random.default_rng(rows)
    ladders = [Hierarchy.from_rows((str(v), f"{v // 10}x", "*") for v in range(size)) for size in sizes]
    domain = Domain.of({f"q{i}": ladder for i, ladder in enumerate(ladders)})
    columns = np.array([rng.integers(0, size, rows // 2) for size in sizes])
    columns = np.hstack([columns, columns[:, rng.integers(0, rows // 2, rows // 2)]])
    counts = rng.integers(0, 5, rows)
    codes = {name: own.astype(np.uint16) for name, own in zip(domain.attributes, columns)}
    table = ContingencyTable.from_cells(domain, dict.fromkeys(domain.attributes, 0), codes, counts)
    none = ContingencyTable.from_cells(domain, table.margin, {a: own[:0] for a, own in codes.items()}, [])
    ones = ContingencyTable.from_cells(domain, table.margin, dict(zip(table.attributes, table.codes)), [1] * len(table))
    cube, unweighted = DataCube([table]), DataCube([ones])
    assert len(none.rolled_up({})) == len(none) == 0
    _assert_is_well_formed(table)
    for levels in ((0,) * len(sizes), *rng.integers(0, 3, (3, len(sizes))).tolist()):
        shown = [(name, level) for name, level in zip(domain.attributes, levels) if level < 2]
        known = Counter()
        cells = zip(*((columns[domain.index(a)] // 10**level).tolist() for a, level in shown)) if shown else [()] * rows
        for cell, count in zip(cells, counts.tolist()):
            known[cell] += count
        coarse = table.rolled_up(dict(shown))
        found = zip(*(column.tolist() for column in coarse.codes)) if shown else [()]
        assert dict(zip(found, coarse.counts.tolist())) == +known
        assert cube.counts(coarse.mask).tolist() == coarse.counts.tolist()
        assert unweighted.counts(coarse.mask).tolist() == ones.rolled_up(dict(shown)).counts.tolist()
        _assert_is_well_formed(coarse)
        above = {a: table.column(a, level) for a, level in coarse.margin.items()}
        places = table.positions_in(coarse)
        assert all(np.array_equal(codes[places], above[a]) for a, codes in zip(coarse.attributes, coarse.codes))
    known = dict(zip(zip(*(own.tolist() for own in table.codes)), table.counts.tolist()))
    for step in (0, 1):
        moved = {a: (own + step * (a == "q0")) % domain.hierarchy(a).size(0) for a, own in codes.items()}
        cells = zip(*(moved[a].tolist() for a in table.attributes))
        assert table.counts_of(moved).tolist() == [known.get(cell, 0) for cell in cells]


def _table(sex, age, counts, margin=BASE):
    codes = {"sex": np.array(sex, dtype=np.int64), "age": np.array(age, dtype=np.int64)}
    return ContingencyTable.from_cells(DOMAIN, margin, codes, np.array(counts, dtype=np.int64))


WHOLE = (np.array([0, 0, 1]), np.array([0, 2, 1])), np.array([4, 5, 6])
"""Codes of sex and age, and counts, of three cells in order."""


def test_cells_without_codes_or_beyond_a_coarser_level_are_refused():
    with pytest.raises(DomainMismatchError, match=r"must lie in 0 \.\. 1"):
        _table([0, 1], [0, 2], [1, 1], {"sex": 0, "age": 1})
    with pytest.raises(DomainMismatchError, match="no codes of 'age'"):
        ContingencyTable.from_cells(DOMAIN, BASE, {"sex": np.array([0])}, np.array([1]))


@pytest.mark.parametrize("values", [[3, 0], [3.0, -0.0], np.array([3, 0], dtype=object), np.array([3, 0], np.uint64)])
def test_whole_numbers_of_any_dtype_are_counts(values):
    table = ContingencyTable.from_cells(DOMAIN, {"sex": 0}, {"sex": np.array([0, 1])}, values)
    assert (table.counts.dtype, table.counts.tolist()) == (np.int64, [3])


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


def test_a_cell_that_the_coarser_table_lacks_is_a_contradiction():
    fine, coarse = _table([0, 1], [0, 2], [1, 1]), _table([0], [1], [2]).rolled_up({"age": 1})
    with pytest.raises(ContradictionError, match=r"sex:0.* age:1") as refused:
        fine.positions_in(coarse)
    assert not any(label in str(refused.value) for label in ("old", "young"))
    with pytest.raises(ContradictionError):
        fine.positions_in(_table([], [], []))
    assert repr(fine) == "ContingencyTable(age:0, sex:0; 2 cells, 2 rows)"


def cells(**codes: list[int]) -> Cells:
    columns = {attribute: np.array(column) for attribute, column in codes.items()}
    return Cells.of(DOMAIN, dict.fromkeys(codes, 0), columns)


@given(st.data())
def test_places_are_those_of_the_lifted_cells(data: st.DataObject) -> None:
    """Also where the coarser table lacks some of them."""
    table = data.draw(contingency_tables(data.draw(domains())))
    whole = table.rolled_up(data.draw(coarser_margins(table.domain, table.margin)))
    kept = np.array(data.draw(st.lists(st.booleans(), min_size=len(whole), max_size=len(whole))), dtype=bool)
    coarse = whole[kept]
    lifted = [table.column(a, whole.margin[a]) for a in whole.attributes]
    known = list(zip(*coarse.codes)) if coarse.codes else [()] * len(coarse)
    places, found = table.look_up(coarse)
    for cell in range(len(table)):
        above = tuple(int(column[cell]) for column in lifted)
        assert found[cell] == (above in known)
        if found[cell]:
            assert known[places[cell]] == above
    assert whole.look_up(whole)[1].all()
    if found.all():
        assert table.positions_in(coarse).tolist() == places.tolist()
    else:
        with pytest.raises(ContradictionError):
            table.positions_in(coarse)


def spread(array, domain, shown, levels):
    """An array with an axis for each attribute at the levels shown, its values repeated at finer levels."""
    for axis, (name, hierarchy) in enumerate(domain.items()):
        coarse = shown.get(name, hierarchy.height)
        array = array.take(lifted(hierarchy, levels.get(name, coarse), coarse), axis)
    return array


@given(st.data())
def test_joined_cells_are_the_product_of_arrays(data: st.DataObject) -> None:
    """Beside arrays with an axis for each attribute."""
    table = data.draw(contingency_tables(data.draw(domains())))
    domain, joint = table.domain, joint_array(table)
    one, other = (table.rolled_up(data.draw(margins(domain))) for _ in range(2))
    product = one.join(other)
    ours, theirs = (
        spread(dense_marginal(joint, domain, cells.margin), domain, cells.margin, product.margin)
        for cells in (one, other)
    )
    dense = np.zeros((ours * theirs).shape)
    codes = dict(zip(product.attributes, product.codes))
    dense[tuple(codes.get(name, np.zeros(len(product), dtype=int)) for name in domain.attributes)] = product.counts
    assert dense == pytest.approx(ours * theirs)


# Data cubes: whatever is asked first, each margin has the counts and entropy of the base table.


def _base(cube):
    return cube.table(cube.domain.mask(dict.fromkeys(cube.domain.attributes, 0)))


@given(st.data())
def test_any_order_of_questions_gives_the_counts_and_entropies_of_the_base_table(data):
    cube = data.draw(data_cubes())
    joint = joint_array(_base(cube))
    for margin in data.draw(st.lists(margins(cube.domain), min_size=1, max_size=5)):
        mask = cube.domain.mask(margin)
        dense = dense_marginal(joint, cube.domain, margin)
        ask = data.draw(st.permutations([cube.table, cube.counts, cube.entropy]))
        answers = {question.__name__: question(mask) for question in ask}
        assert answers["table"].margin == cube.domain.margin(mask)
        assert answers["table"].counts.tolist() == dense[dense > 0].tolist()
        assert answers["counts"].tolist() == dense[dense > 0].tolist()
        assert answers["entropy"] == pytest.approx(entropy(dense / cube.total), abs=1e-12)
        assert cube.holds(mask)


@given(st.data(), st.integers(1, 3), st.integers(1, 3))
def test_tables_between_change_no_answer_and_stay_within_their_room(data, fewer, kept):
    """Every table counts as large here, so that margins are counted on the way wherever that saves cells."""
    base = _base(data.draw(data_cubes()))
    with patch.multiple("models.tables.data_cube", _LARGE=1, _FEWER=fewer, _KEPT=kept):
        cube = DataCube([base])
        asked = {cube.domain.mask(m) for m in data.draw(st.lists(margins(cube.domain), min_size=1, max_size=6))}
        for mask in sorted(asked):
            direct = base.rolled_up(cube.domain.margin(mask))
            assert cube.counts(mask).tolist() == direct.counts.tolist()
            assert equal_cells([cube.table(mask), direct])
    between = [table for mask, table in cube._tables.items() if mask not in asked | {base.mask}]
    assert sum(map(len, between)) <= kept * len(base)


@given(decomposable_collections(), st.data())
def test_a_cube_of_published_marginals_answers_exactly_what_they_imply(collection, data):
    """An analyst's cube holds what some published margin is at least as fine as, with the steward's counts."""
    assume(collection.masks)
    published = DataCube(collection.tables)
    margin = data.draw(margins(collection.domain))
    mask = collection.domain.mask(margin)
    shown = {a: level for a, level in margin.items() if level < collection.domain.hierarchy(a).height}
    implied = any(all(a in m and m[a] <= level for a, level in shown.items()) for m in collection.margins)
    assert published.holds(mask) == implied
    if implied:
        assert equal_cells([published.table(mask), collection.cube.table(mask)])
    else:
        for ask in (published.table, published.counts, published.entropy):
            with pytest.raises(DomainMismatchError, match="no table shows the margin"):
                ask(mask)


@given(data_cubes())
def test_log_leaves_is_the_mean_over_the_rows(cube):
    """E_p[ln leaves_B], by walking over every base value."""
    joint = joint_array(_base(cube))
    for attribute, hierarchy in cube.domain.items():
        rows_of = dense_marginal(joint, cube.domain, {attribute: 0}).ravel()
        for level in range(hierarchy.height + 1):
            above = lifted(hierarchy, 0, level)
            mean = sum(n * np.log(np.sum(above == above[value])) for value, n in enumerate(rows_of)) / cube.total
            assert cube.log_leaves(attribute, level) == pytest.approx(mean, abs=1e-12)


@given(domains(max_attributes=2), st.data())
def test_tables_of_equal_domains_make_a_cube(domain, data):
    table = data.draw(contingency_tables(domain))
    codes = dict(zip(table.attributes, table.codes))
    same = Domain.of({attribute: Hierarchy.from_rows(hierarchy.rows()) for attribute, hierarchy in domain.items()})
    copied = ContingencyTable.from_cells(same, table.margin, codes, table.counts)
    assert DataCube([table, copied]).total == table.total


_SIZES = st.sampled_from([1, 2, 3, 255, 256, 257, 3_000, 70_000, 10**6])


@given(
    st.lists(_SIZES, max_size=6), st.integers(0, 300), st.sampled_from([2, 5, 10**6, 2**40]), st.integers(0, 2**32 - 1)
)
def test_distinct_rows_are_tallied_whatever_the_width_of_their_keys(radices, length, most, seed):
    """Keys are dense, sorted with their weights, too wide for these, or ranks; the rows are those of a dictionary."""
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, min(size, 4), length) * ((size - 1) // min(size, 4)) for size in radices]
    weights = rng.integers(0, most, length)
    by_hand = Counter()
    for row, weight in zip(zip(*columns) if columns else [()] * length, weights.tolist()):
        by_hand.update({tuple(map(int, row)): weight} if weight else {})
    found, totals = tallied(columns, radices, weights)
    rows = zip(*(column.tolist() for column in found)) if columns else [()] * len(totals)
    assert list(zip(rows, totals.tolist())) == sorted(by_hand.items())


@pytest.mark.parametrize("radices", [[256], [1, 256], [65536, 1], [2**32], [3, 2**32]])
def test_keys_are_unpacked_whose_radix_is_no_number_of_their_dtype(radices):
    columns = [np.array([0, radix - 1]) for radix in radices]
    for column, found in zip(columns, unpack(pack(columns, radices, 2)[0], radices)):
        assert found.tolist() == column.tolist()
    nothing = np.zeros(0, dtype=np.int64)
    assert [len(column) for column in tallied([nothing for _ in radices], radices, nothing)[0]] == [0] * len(radices)
