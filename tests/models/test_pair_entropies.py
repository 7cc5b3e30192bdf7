"""Entropies of all pairs at once are those of counting each pair."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brute_force import entropy
from models.contingency_table import ContingencyTable
from models.data_cube import DataCube
from models.domain import Domain
from models.hierarchy import Hierarchy
from models.pair_entropies import pair_entropies


def counted(columns, sizes, counts):
    """One pair after the other."""
    result = np.zeros((len(columns), len(columns)))
    for i, first in enumerate(columns):
        for j, second in enumerate(columns):
            table = np.zeros((sizes[i], sizes[j]))
            np.add.at(table, (first, second), counts)
            result[i, j] = entropy(table / counts.sum())
    return result


@settings(max_examples=60)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=5), st.integers(1, 40), st.integers(1, 6), st.integers(0, 99))
def test_they_equal_those_of_counting_each_pair(sizes, rows, most, seed):
    """Weights above 1, values that never occur, columns of one value."""
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, size, rows) for size in sizes]
    counts = rng.integers(1, most + 1, rows)
    np.testing.assert_allclose(
        pair_entropies(columns, sizes, counts), counted(columns, sizes, counts), atol=1e-12, rtol=0
    )


@pytest.mark.parametrize("weight", [1, 3, 2**20])
def test_they_do_so_over_several_blocks_of_rows_and_for_counts_that_float32_cannot_add(weight):
    rng = np.random.default_rng(0)
    rows, sizes = 40_000, [3, 2, 4]
    columns = [rng.integers(0, size, rows) for size in sizes]
    counts = rng.integers(1, weight + 1, rows)
    np.testing.assert_allclose(pair_entropies(columns, sizes, counts), counted(columns, sizes, counts), atol=1e-12)


def cube_of(sizes, rows):
    rng = np.random.default_rng(0)
    domain = Domain.of({f"x{i}": Hierarchy.flat([str(v) for v in range(size)]) for i, size in enumerate(sizes)})
    codes = dict(zip(domain.attributes, rng.integers(0, np.array(sizes)[:, None], (len(sizes), rows))))
    return DataCube([ContingencyTable.from_cells(domain, dict.fromkeys(codes, 0), codes, rng.integers(1, 4, rows))])


def test_a_cube_that_has_learnt_its_pairs_says_the_same_without_counting():
    sizes = [2, 3, 3, 2, 2, 3, 2, 3, 2, 2]
    asked, learnt = cube_of(sizes, 500), cube_of(sizes, 500)
    learnt.learn_pairs()
    masks = learnt.domain.attribute_masks
    pairs = [a | b for i, a in enumerate(masks) for b in masks[:i]]
    assert set(pairs) <= set(learnt._entropies)
    assert [learnt.entropy(pair) for pair in pairs] == pytest.approx([asked.entropy(pair) for pair in pairs], abs=1e-12)


def test_a_cube_does_not_learn_pairs_of_so_many_values_that_counting_is_faster():
    cube = cube_of([200, 200], 100)
    cube.learn_pairs()
    assert set(cube._entropies) == {0}
