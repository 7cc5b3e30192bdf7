"""Bounds on cells hold, are attained, and agree with published ones."""

import json
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp

from models.errors import DomainMismatchError
from models.graphs.junction_tree import Collection
from models.programs.cell_bounds import CountBounds, Value, cell_bounds, extreme_count
from models.programs.consistent_tables import possible_cells
from models.tables.contingency_table import ContingencyTable
from models.tables.data_cube import DataCube
from models.tables.hierarchy import Domain, Hierarchy
from strategies import data_cubes, decomposable_collections, margins


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


def brute_force(collection: Collection, cell: dict[str, Value]) -> tuple[int, int]:
    """Least and largest count by integer programming over all base cells."""
    domain = collection.domain
    shape = [h.size(0) for h in domain.hierarchies]
    base = dict(zip(domain.attributes, (axis.ravel() for axis in np.indices(shape))))
    count = int(np.prod(shape))
    rows, right = [], []
    for table in collection.tables:
        lifted = [domain.hierarchy(a).lift(0, table.margin[a])[base[a]] for a in table.attributes]
        known = {tuple(int(c[i]) for c in table.codes): int(n) for i, n in enumerate(table.counts)}
        sizes = [domain.hierarchy(a).size(table.margin[a]) for a in table.attributes]
        for position in np.ndindex(*sizes):
            rows.append(np.all([c == p for c, p in zip(lifted, position)], axis=0).astype(float))
            right.append(known.get(position, 0))
    if not rows:
        rows, right = [np.ones(count)], [collection.cube.total]
    inside = np.ones(count)
    for attribute, value in cell.items():
        inside *= domain.hierarchy(attribute).lift(0, value.level)[base[attribute]] == value.code
    constraint = LinearConstraint(np.array(rows), right, right)
    found = [
        milp(s * inside, constraints=constraint, integrality=np.ones(count), bounds=Bounds(0, np.inf)).fun * s
        for s in (1, -1)
    ]
    return round(found[0]), round(found[1])


@given(decomposable_collections(), st.data())
def test_bounds_of_any_cell_are_those_of_integer_programming(collection: Collection, data: st.DataObject) -> None:
    """Decomposable collections; cells of any attributes at any levels."""
    margin = data.draw(margins(collection.domain))
    cell = {
        a: Value(level, data.draw(st.integers(0, collection.domain.hierarchy(a).size(level) - 1)))
        for a, level in margin.items()
    }
    bounds = cell_bounds(collection, cell)
    low, high = brute_force(collection, cell)
    assert bounds.lower <= low
    assert bounds.upper >= high
    if bounds.sharp:
        assert (bounds.lower, bounds.upper) == (low, high)


@settings(max_examples=60)
@given(data_cubes(), st.data())
def test_bounds_hold_for_collections_of_any_shape(cube: DataCube, data: st.DataObject) -> None:
    drawn = data.draw(st.lists(margins(cube.domain), min_size=1, max_size=4))
    collection = Collection.of(cube, [cube.domain.mask(margin) for margin in drawn])
    attribute = data.draw(st.sampled_from(cube.domain.attributes))
    cell = {attribute: Value(0, 0)}
    bounds = cell_bounds(collection, cell)
    low, high = brute_force(collection, cell)
    assert bounds.lower <= low <= high <= bounds.upper


def test_bounds_of_the_czech_autoworkers(shared_vectors: Path) -> None:
    """Dobra and Fienberg's bounds of the 2^6 table given BF, ABCE, ADE."""
    given_ = json.loads((shared_vectors / "autoworkers.json").read_text())
    names = given_["variables"]
    domain = Domain.of({name: Hierarchy.flat(["0", "1"]) for name in names})
    bits = {name: np.arange(64) >> place & 1 for place, name in enumerate(names)}
    table = ContingencyTable.from_cells(domain, dict.fromkeys(names, 0), bits, np.array(given_["counts"]))
    masks = [domain.mask(dict.fromkeys(clique, 0)) for clique in given_["cliques"]]
    collection = Collection.of(DataCube([table]), masks)
    for place in range(64):
        bounds = cell_bounds(collection, {name: Value(0, int(bits[name][place])) for name in names})
        assert bounds == CountBounds(given_["lower"][place], given_["upper"][place], sharp=True)


def test_a_four_cycle_is_bounded_sharply_by_programming() -> None:
    rng = np.random.default_rng(3)
    domain = Domain.of({name: Hierarchy.flat("xy") for name in "abcd"})
    codes = {name: rng.integers(0, 2, 30) for name in "abcd"}
    table = ContingencyTable.from_cells(domain, dict.fromkeys("abcd", 0), codes, np.ones(30, dtype=np.int64))
    masks = [domain.mask(dict.fromkeys(pair, 0)) for pair in ("ab", "bc", "cd", "da")]
    collection = Collection.of(DataCube([table]), masks)
    assert not collection.is_decomposable
    for position in np.ndindex(2, 2, 2, 2):
        cell = {name: Value(0, code) for name, code in zip("abcd", position)}
        bounds = cell_bounds(collection, cell)
        assert bounds.sharp
        assert (bounds.lower, bounds.upper) == brute_force(collection, cell)


def test_a_value_that_is_not_there_is_refused() -> None:
    domain = Domain.of({"a": Hierarchy.flat("xy")})
    table = ContingencyTable.from_cells(domain, {"a": 0}, {"a": np.array([0, 1])}, np.array([1, 2]))
    collection = Collection.of(DataCube([table]), [1])
    for value in (Value(0, 2), Value(2, 0), Value(0, -1)):
        with pytest.raises(DomainMismatchError, match="'a' has no value"):
            cell_bounds(collection, {"a": value})
    assert cell_bounds(collection, {"a": Value(0, 1)}) == CountBounds(2, 2, sharp=True)
    assert cell_bounds(collection, {}) == CountBounds(3, 3, sharp=True)
