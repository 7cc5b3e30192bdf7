"""All pairs at once equal each pair counted by itself."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models import ContingencyTable, DataCube, Domain, Hierarchy
from models.tables.contingency_table import entropy
from models.tables.data_cube import OccupiedCube, pair_entropies


def counted(first, second, sizes):
    return entropy(np.bincount(first * sizes[1] + second, minlength=sizes[0] * sizes[1]))


@given(st.lists(st.integers(1, 5), min_size=1, max_size=5), st.integers(1, 300), st.integers(0, 1000))
def test_they_equal_those_of_counting_each_pair(sizes, length, seed):
    """Around 64 rows, the bits of a word, and beyond; the pair of a column with itself is the column."""
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, size, length) for size in sizes]
    found = pair_entropies(columns, sizes, length)
    assert found.shape == (len(sizes), len(sizes))
    for i, first in enumerate(columns):
        for j, second in enumerate(columns):
            assert found[i, j] == pytest.approx(counted(first, second, (sizes[i], sizes[j])), abs=1e-12)


@pytest.mark.parametrize("times", [1, 2])
def test_a_cube_that_has_learnt_its_pairs_says_the_same_without_counting(times, monkeypatch):
    """Where few rows are equal; else, or with many values, nothing is learnt."""
    domain = Domain.of({name: Hierarchy.flat("xyz") for name in "abcde"})
    cells = np.indices((3,) * 5).reshape(5, -1)[:, np.random.default_rng(0).permutation(243)[:150]]
    counts = np.r_[np.full(50, times), np.ones(100, int)]
    table = ContingencyTable.from_cells(domain, dict.fromkeys("abcde", 0), dict(zip("abcde", cells)), counts)
    cube, plain = DataCube([table]), DataCube([table])
    assert cube.independent_pairs() is None
    cube.learn_pairs()
    masks = domain.attribute_masks
    pairs = cube.independent_pairs()
    assert pairs is not None
    for i, first in enumerate(masks):
        for j, second in enumerate(masks[:i]):
            saved = plain.entropy(first) + plain.entropy(second) - plain.entropy(first | second)
            assert pairs[0][i, j] == pytest.approx(saved, abs=1e-12)
            assert pairs[1][i, j] == 4
    expected = {a | b: plain.entropy(a | b) for a in masks for b in masks if a != b}
    monkeypatch.setattr(cube, "counts", None)
    for mask, value in expected.items():
        assert cube.entropy(mask) == pytest.approx(value, abs=1e-12)
    repeated = DataCube([ContingencyTable(domain, table.margin, table.codes, table.counts * 5)])
    repeated.learn_pairs()
    assert repeated.independent_pairs() is None
    occupied = OccupiedCube([table])
    occupied.learn_pairs()
    assert occupied.independent_pairs() is None
