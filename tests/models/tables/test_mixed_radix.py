"""Packed keys keep the identity and the order of rows, however large the space; tallies equal counting by hand."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.arrays import smallest_code_dtype
from models.tables.contingency_table import last_digit, pack, tally, tally_cells, tally_totals


@st.composite
def coded_rows(draw):
    """Radices of any size, 2**40 included, and up to 12 rows of codes below them, some of them equal.

    [3, 1099511627776], [(0, 7), (2, 1099511627775), (0, 7)]
    """
    radices = draw(st.lists(st.integers(1, 4) | st.integers(1, 2**40), max_size=6))
    row = st.tuples(*(st.integers(0, min(radix, 4) - 1) | st.integers(0, radix - 1) for radix in radices))
    rows = draw(st.lists(row, max_size=9))
    return radices, rows + (draw(st.lists(st.sampled_from(rows), max_size=3)) if rows else [])


def _columns(rows, radices, dtype=np.int64):
    return [np.array([row[i] for row in rows], dtype=dtype) for i in range(len(radices))]


@given(coded_rows())
def test_packed_keys_are_equal_and_ordered_as_the_rows_are(drawn):
    radices, rows = drawn
    keys, space = pack(_columns(rows, radices), radices, len(rows))
    assert keys.shape == (len(rows),)
    assert all(0 <= key < space for key in keys.tolist())
    assert space <= 2**62
    for first, one in zip(keys, rows):
        assert [first == other for other in keys] == [one == row for row in rows]
        assert [first < other for other in keys] == [one < row for row in rows]


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint32, np.int64, np.uint64])
def test_codes_may_have_any_integer_dtype(dtype):
    rows = [(1, 2), (0, 1), (1, 0)]
    keys, _ = pack(_columns(rows, (2, 3), dtype), (2, 3), len(rows))
    assert keys.tolist() == [5, 1, 3]


def test_packing_leaves_the_columns_as_they_were():
    column = np.array([1, 0])
    pack([column, column, column], [2, 2, 2], 2)
    assert column.tolist() == [1, 0]


@given(st.data())
def test_tallies_equal_counting_row_by_row_in_small_and_in_large_spaces(data):
    space = data.draw(st.sampled_from([5, 4096, 4097, 2**40]))
    rows = data.draw(st.lists(st.tuples(st.integers(0, space - 1) | st.integers(0, 4), st.integers(1, 5))))
    keys, weights = (np.array([row[i] for row in rows], dtype=np.int64) for i in (0, 1))
    expected = Counter()
    for key, weight in rows:
        expected[key] += weight
    first, totals = tally(keys, space, weights)
    assert list(zip(keys[first].tolist(), totals.tolist())) == sorted(expected.items())
    assert tally_totals(keys, space, weights).tolist() == totals.tolist()
    assert totals.dtype == tally_totals(keys, space, weights).dtype == np.int64


@pytest.mark.parametrize("space", [7, 70_000, 2**17, 2**17 + 1, 2**33, 2**50])
def test_many_rows_are_tallied_as_few_are_whatever_the_number_of_keys(space):
    rng = np.random.default_rng(0)
    keys, weights = rng.integers(space, size=300_000), rng.integers(1, 9, size=300_000)
    distinct, place = np.unique(keys, return_inverse=True)
    expected = np.zeros(len(distinct), dtype=np.int64)
    np.add.at(expected, place, weights)
    first, totals = tally(keys, space, weights)
    assert np.array_equal(keys[first], distinct)
    assert np.array_equal(totals, expected)
    assert np.array_equal(tally_totals(keys, space, weights), expected)
    assert np.array_equal(tally_totals(keys, space, None), np.bincount(place))


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 69), st.integers(1, 5))), st.sampled_from([70, 2**50]))
def test_cells_are_tallied_as_by_hand_whether_codes_are_unpacked_or_looked_up(rows, radix):
    columns = [np.array([row[i] for row in rows], dtype=np.int64) for i in (0, 1)]
    weights = np.array([row[2] for row in rows], dtype=np.int64)
    expected = Counter()
    for first, second, weight in rows:
        expected[first, second] += weight
    codes, totals = tally_cells(columns, [3, radix], weights)
    assert [*zip(*(c.tolist() for c in codes), totals.tolist())] == [(*k, v) for k, v in sorted(expected.items())]
    assert totals.dtype == np.int64


@given(st.lists(st.integers(0, 2**62)), st.integers(1, 2**40) | st.sampled_from([2, 255, 256, 257, 2**16, 2**32]))
def test_the_last_digit_is_what_division_leaves(keys, radix):
    higher, digit = last_digit(np.array(keys, dtype=np.int64), radix)
    assert [*zip(higher.tolist(), digit.tolist())] == [divmod(key, radix) for key in keys]
    assert digit.dtype == smallest_code_dtype(radix)
