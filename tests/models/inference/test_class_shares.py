"""Shares of values in classes, given sums: against listing every table, and against proportional fitting without end."""

import os
from fractions import Fraction
from itertools import product
from math import factorial, prod

import numpy as np
import pytest
from scipy.optimize import linprog

from models import FloatArray
from models.inference.class_shares import ClassSums, SummedTable, counted_shares, fitted_shares

CASES = min(int(os.environ.get("MARGINALS_TRIALS", "60")), 5_000)


def random_sums(rng: np.random.Generator, most: int, rows: int) -> tuple[ClassSums, np.ndarray]:
    """Two or three tables over classes that are pairs (a, b), one maybe with coarser values; and a table with the sums."""
    sizes = rng.integers(2, most + 1, 2)
    a, b = (axis.ravel() for axis in np.meshgrid(range(sizes[0]), range(sizes[1]), indexing="ij"))
    values = int(rng.integers(2, 4))
    cells = rng.integers(0, rows + 1, (len(a), values)) * (rng.random((len(a), values)) < rng.choice([0.4, 0.7, 1]))
    cells[0, 0] += 1
    kept = cells.sum(axis=1) > 0
    cells, a, b = cells[kept], a[kept], b[kept]
    all_values, coarse = np.arange(values), np.minimum(np.arange(values), 1)
    groups = [(a, all_values), (b, coarse if rng.random() < 0.3 else all_values)]
    if rng.random() < 0.3:
        groups.append(((a + b) % 2, all_values))
    return ClassSums(cells.sum(axis=1), tuple(summed(cells, *own) for own in groups)), cells


def summed(cells: np.ndarray, class_of: np.ndarray, value_of: np.ndarray) -> SummedTable:
    class_of = np.unique(class_of, return_inverse=True)[1].reshape(-1)
    counts = np.zeros((class_of.max() + 1, value_of.max() + 1))
    np.add.at(counts, (class_of[:, None], value_of[None, :]), cells)
    return SummedTable(class_of, value_of, counts)


def listed_shares(sums: ClassSums) -> list[list[Fraction]]:
    """By trying every way to fill each class."""
    values = len(sums.tables[0].value_of)
    ways = [
        [own for own in product(range(int(size) + 1), repeat=values) if sum(own) == size]
        for size in sums.sizes.tolist()
    ]
    total, rows = 0, [[0] * values for _ in ways]
    for filled in product(*ways):
        if all(np.array_equal(t.sums(np.array(filled, dtype=float)), t.counts) for t in sums.tables):
            weight = prod(factorial(sum(own)) // prod(map(factorial, own)) for own in filled)
            total += weight
            rows = [[r + weight * f for r, f in zip(*each)] for each in zip(rows, filled)]
    return [[Fraction(r, total * int(n)) for r in own] for own, n in zip(rows, sums.sizes)]


def occupied(sums: ClassSums) -> np.ndarray:
    """The cells that some table of real numbers with the sums fills, by a linear program for each."""
    shape = len(sums.sizes), len(sums.tables[0].value_of)
    equations = [(np.arange(shape[0])[:, None] + 0 * np.arange(shape[1]), sums.sizes)]
    for table in sums.tables:
        equations.append((table.class_of[:, None] * table.counts.shape[1] + table.value_of, table.counts.ravel()))
    matrix = np.concatenate([(place.ravel() == np.arange(len(counts))[:, None]) for place, counts in equations])
    right = np.concatenate([counts for _, counts in equations])
    most = []
    for cell in range(shape[0] * shape[1]):
        found = linprog(-np.eye(shape[0] * shape[1])[cell], A_eq=matrix.astype(float), b_eq=right)
        most.append(-found.fun)
    return (np.array(most) > 1e-7).reshape(shape)


def fitted_without_end(sums: ClassSums, sweeps: int = 50_000) -> FloatArray:
    """Shares by iterative proportional fitting from the same in every cell that can be filled, which converges quickly."""
    cells = occupied(sums).astype(float)
    for _ in range(sweeps):
        before = cells
        for table in sums.tables:
            present = table.sums(cells)
            cells = cells * table.spread(
                np.divide(table.counts, present, out=np.zeros_like(present), where=present > 0)
            )
        cells = cells * (sums.sizes / cells.sum(axis=1))[:, None]
        if np.abs(cells - before).max() < 1e-14:
            break
    return np.asarray(cells / sums.sizes[:, None])


def test_counted_shares_are_those_of_all_tables() -> None:
    rng = np.random.default_rng(1)
    for _ in range(CASES):
        sums, _ = random_sums(rng, 2, 2)
        counted = counted_shares(sums)
        assert counted is not None
        assert counted.exact == listed_shares(sums)
        assert counted.shares.tolist() == [list(map(float, shares)) for shares in counted.exact]


def test_shares_of_thousands_of_rows_are_the_nearest_floats() -> None:
    """Numbers of arrangements have thousands of digits there, of which 50 are counted."""
    cells = np.array([[900, 1100, 3000], [4, 3, 1], [5, 0, 2], [700, 2500, 1800]])
    tables = (summed(cells, np.array([0, 0, 1, 1]), np.arange(3)), summed(cells, np.array([0, 1, 0, 1]), np.arange(3)))
    counted = counted_shares(ClassSums(cells.sum(axis=1), tables))
    assert counted is not None
    assert counted.shares.tolist() == [list(map(float, shares)) for shares in counted.exact]
    assert len(set(counted.shares[1].tolist())) == 3


def test_a_count_of_few_free_directions_is_begun_though_each_is_long() -> None:
    cells = np.full((3, 3), 8)
    counted = counted_shares(ClassSums(cells.sum(axis=1), (summed(cells, np.zeros(3, int), np.arange(3)),)))
    assert counted is not None
    assert counted.shares == pytest.approx(np.full((3, 3), 1 / 3))


def test_a_count_that_is_too_long_is_none() -> None:
    cells = np.full((4, 3), 40)
    sums = ClassSums(cells.sum(axis=1), (summed(cells, np.array([0, 0, 1, 1]), np.arange(3)),))
    assert counted_shares(sums, most=1000) is None


def test_fitted_shares_are_as_near_as_they_say() -> None:
    """Also where sums force cells to be empty without a 0 that says so: scaling creeps up to those."""
    rng = np.random.default_rng(3)
    for _ in range(CASES):
        sums, _ = random_sums(rng, int(rng.integers(2, 7)), int(rng.choice([3, 40])))
        fit = fitted_shares(sums)
        assert fit.distance.max() < 1e-6
        oracle = fitted_without_end(sums)
        assert (np.abs(fit.shares - oracle).sum(axis=1) <= fit.distance + 1e-9).all()
        assert not (oracle[~fit.possible] > 0).any()


def test_bounds_hold_of_the_table_and_prove_what_is_forced() -> None:
    rng = np.random.default_rng(4)
    for _ in range(20):
        sums, cells = random_sums(rng, 4, 9)
        lower, upper = sums.bounds
        assert (lower <= cells).all()
        assert (cells <= upper).all()


def test_two_tables_can_make_a_value_certain() -> None:
    """The classes (a, b) of 100, 10, 10 and 100 people: design 4.18."""
    cells = np.array([[50, 50], [10, 0], [0, 10], [50, 50]])
    sums = ClassSums(
        cells.sum(axis=1), tuple(summed(cells, np.array(own), np.arange(2)) for own in ([0, 0, 1, 1], [0, 1, 0, 1]))
    )
    counted = counted_shares(sums)
    assert counted is not None
    assert counted.exact == [[Fraction(own, sum(row)) for own in row] for row in cells.tolist()]
    assert np.allclose(fitted_shares(sums).shares, cells / cells.sum(axis=1, keepdims=True))
