"""All tables with given marginals: those that trying every number finds, in the same order, or none where they are many."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models import all_tables


@st.composite
def marginals_of_a_table(draw: st.DrawFn) -> tuple[list[np.ndarray], list[np.ndarray], int]:
    """Places and counts of one to three marginals of a table of up to five cells, and its rows."""
    counts = draw(st.lists(st.integers(0, 3), min_size=1, max_size=5))
    keys, totals = [], []
    for _ in range(draw(st.integers(1, 3))):
        places = draw(st.integers(1, 3))
        key = np.array(draw(st.lists(st.integers(0, places - 1), min_size=len(counts), max_size=len(counts))))
        keys.append(key)
        totals.append(np.bincount(key, counts, minlength=places).astype(np.int64))
    return keys, totals, sum(counts)


@given(marginals_of_a_table())
def test_they_are_those_that_trying_every_number_finds(given_marginals: tuple) -> None:
    keys, totals, rows = given_marginals
    every = [
        list(counts)
        for counts in product(range(rows + 1), repeat=len(keys[0]))
        if all(
            np.array_equal(np.bincount(key, counts, minlength=len(total)), total) for key, total in zip(keys, totals)
        )
    ]
    found = all_tables(keys, totals)
    assert found is not None
    assert found.tolist() == every
    few = all_tables(keys, totals, len(every) - 1)
    assert few is None


def test_marginals_that_contradict_each_other_have_none() -> None:
    rows, columns = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    found = all_tables([rows, columns], [np.array([2, 1]), np.array([1, 1])])
    assert found is not None
    assert len(found) == 0
    nobody = all_tables([np.array([0, 0])], [np.array([1, 2])])
    assert nobody is not None
    assert len(nobody) == 0


def test_what_is_too_much_is_given_up_at_the_same_place_always() -> None:
    key = np.zeros(3, dtype=np.intp)
    assert all_tables([key], [np.array([200])]) is None  # 20,301 tables
    found = all_tables([key], [np.array([198])])
    assert found is not None
    assert len(found) == 200 * 199 // 2
    assert all_tables([np.zeros(3_000_000, dtype=np.intp)], [np.array([1])]) is None
    with pytest.raises(ValueError, match="without a marginal"):
        all_tables([], [])
