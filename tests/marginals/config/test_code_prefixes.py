"""Prefixes are those at which codes branch."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginals.config.column_guess import guess, likely_prefixes
from marginals.tables.attribute import Column

OCCUPATIONS = [f"{major}{minor}{unit}0" for major in range(1, 10) for minor in range(1, 5) for unit in range(1, 4)]


@pytest.mark.parametrize(
    ("codes", "rows", "expected"),
    [
        (OCCUPATIONS, 20, (2, 1)),  # the fourth digit tells nothing
        (OCCUPATIONS, 6, (2, 1)),  # the third one tells what is rare
        (OCCUPATIONS, 1, (1,)),
        ([f"PT-{n}" for n in range(1000, 1100)], 30, (6,)),  # all begin alike
        (["A1", "B1", "C1"], 30, ()),
        (["A100", "A101", "B200", "B201"], 1, (3,)),  # the longest of those that say the same
    ],
)
def test_lengths(codes: list[str], rows: int, expected: tuple[int, ...]) -> None:
    assert likely_prefixes(codes, np.full(len(codes), rows), 10) == expected


@given(st.sets(st.text("ab1", min_size=4, max_size=4), min_size=1), st.integers(1, 20))
def test_each_level_merges_some_codes_and_keeps_some_apart(codes: set[str], rows: int) -> None:
    listed = sorted(codes)
    lengths = likely_prefixes(listed, np.full(len(listed), rows), 10)
    sizes = [len(codes), *(len({code[:length] for code in codes}) for length in lengths)]
    assert list(lengths) == sorted(set(lengths), reverse=True)
    assert all(coarse < fine for fine, coarse in zip(sizes, sizes[1:]))
    assert all(size > 1 for size in sizes[1:])
    merging = [n for n in range(1, 4) if 1 < len({code[:n] for code in codes}) < len(codes)]
    assert bool(lengths) == bool(merging)


def test_init_takes_them() -> None:
    counts = 20 + np.arange(len(OCCUPATIONS)) % 3  # a key whose values repeat has as many rows of each
    column = Column("occupation", tuple(OCCUPATIONS), counts, 0)
    named = Column("isco code", column.values, column.counts, 0)
    assert guess(named).prefixes == (2, 1)
