"""Joins: the pairs are those that nested loops find, and shared keys are equal exactly where rows are."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from models.tables.contingency_table import look_up, match, match_size, shared_keys

KEYS = st.lists(st.integers(0, 4), max_size=8).map(lambda keys: np.array(keys, dtype=np.int64))


@given(KEYS, KEYS)
def test_matching_finds_the_pairs_of_nested_loops_in_their_order(left, right):
    first, second = match(left, right)
    pairs = [(i, j) for i, a in enumerate(left) for j, b in enumerate(right) if a == b]
    assert list(zip(first.tolist(), second.tolist(), strict=True)) == pairs
    assert match_size(left, right) == len(pairs)


@given(st.data())
def test_shared_keys_are_equal_exactly_where_the_shared_columns_are(data):
    radices = data.draw(st.lists(st.sampled_from([1, 2, 3, 2**40]), max_size=4))
    row = st.tuples(*(st.integers(0, min(radix, 3) - 1) for radix in radices))
    left, right = data.draw(st.lists(row, max_size=6)), data.draw(st.lists(row, max_size=6))
    columns = [[np.array([r[i] for r in rows], dtype=np.int64) for i in range(len(radices))] for rows in (left, right)]
    ours, theirs = shared_keys(*columns, radices, (len(left), len(right)))
    assert [[a == b for b in theirs] for a in ours] == [[a == b for b in right] for a in left]


@given(st.lists(st.integers(0, 9)), st.sets(st.integers(0, 9), min_size=1), st.sampled_from([1, 5000]))
def test_keys_are_found_where_they_stand(sought, known, spread):
    """Whether they are few beside the numbers up to the last one, or not."""
    ascending = sorted(known)
    places, found = look_up(np.array(sought, dtype=np.int32) * spread, np.array(ascending, dtype=np.int32) * spread)
    assert found.tolist() == [key in known for key in sought]
    assert [ascending[place] for place in places[found]] == [key for key in sought if key in known]
