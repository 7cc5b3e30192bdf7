"""The extreme counts of programs are exact where they are called attained."""

import random

import numpy as np
import pytest

from models import Collection, ContingencyTable, DataCube, Domain, Hierarchy, extreme_count, possible_cells


@pytest.mark.slow
def test_bounds_of_millions_of_rows_are_not_rounded_to_what_a_solver_tolerates() -> None:
    """A consistent table of whole numbers has 12,716,158 rows there; a gap of a ten-thousandth hid it."""
    draw = random.Random(815160)
    domain = Domain.of({a: Hierarchy.flat(map(str, range(n))) for a, n in zip("abcd", (5, 5, 3, 5))})
    shape = [hierarchy.size(0) for hierarchy in domain.hierarchies]
    counts = np.array([draw.randint(1, 10**6) if draw.random() < 0.4 else 0 for _ in range(int(np.prod(shape)))])
    codes = dict(zip("abcd", np.indices(shape).reshape(4, -1)))
    cube = DataCube([ContingencyTable.from_cells(domain, dict.fromkeys("abcd", 0), codes, counts)])
    pairs = [domain.mask({a: 0, b: 0}) for a, b in ("ab", "bc", "ac", "cd", "ad", "bd")]
    cells = possible_cells(Collection.of(cube, pairs), 10**5)
    box = {"a": [1, 1, 0, 1, 1], "c": [1, 0, 0], "d": [1, 0, 0, 1, 1]}
    inside = np.all([np.array(meant, dtype=bool)[cells.codes[a]] for a, meant in box.items()], axis=0)
    least = extreme_count(cells, inside, -1, 60.0)
    assert least.bound == 12_716_158
    assert least.table is not None
    assert np.array_equal(cells.constraints @ least.table, cells.counts)
    assert least.table[inside].sum() == least.bound
