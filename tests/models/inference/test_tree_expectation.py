"""Expected counts of many cells at once are sums over the joint distribution, for collections of any shape."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brute_force import base_cells, iterative_proportional_fitting, joint_array
from models import Collection, CountBounds, DomainMismatchError, FrechetBounds, MaximumEntropy
from models.inference.calibrated_tree import CellExpectations
from models.programs.cell_bounds import bounds_of_cells
from strategies import NOT_DECOMPOSABLE, SHAPES, decomposable_collections, shape_cube


def joint_expectation(collection: Collection) -> np.ndarray:
    """The expected count of each base cell, in the order of `base_cells`."""
    if collection.is_decomposable:
        return np.exp(MaximumEntropy(collection).log_probability(base_cells(collection.domain))) * collection.cube.total
    joint = joint_array(collection.cube.table(sum(collection.domain.attribute_masks)))
    fitted = iterative_proportional_fitting(joint / joint.sum(), collection.domain, collection.margins)
    return np.asarray(fitted.ravel() * joint.sum())


def agreeing(collection: Collection, levels: dict[str, int], codes: dict[str, np.ndarray], cell: int) -> np.ndarray:
    """Whether each base cell lies under one of the cells."""
    base, inside = base_cells(collection.domain), True
    for attribute, level in levels.items():
        lifted = collection.domain.hierarchy(attribute).lift(0, level)[base[attribute]]
        inside = inside & (lifted == codes[attribute][cell])
    return np.broadcast_to(inside, next(iter(base.values())).shape)


def sharp_bounds(collection: Collection, cell: dict[str, tuple[int, int]]) -> CountBounds:
    """Of the rows with these values, a level and a code each."""
    lifts = {a: (collection.domain.hierarchy(a).lift(0, level), code) for a, (level, code) in cell.items()}
    return FrechetBounds.of(collection).of_box({a: lift == code for a, (lift, code) in lifts.items()}).bounds(10.0)


def check(collection: Collection, levels: dict[str, int], rng: np.random.Generator) -> None:
    length = 6
    expectations = CellExpectations.of(collection)
    known = {a: level for a, level in levels.items() if level >= expectations.levels.get(a, 99)}
    codes = {a: rng.integers(0, collection.domain.hierarchy(a).size(level), length) for a, level in known.items()}
    tables = {
        a: rng.uniform(size=(length, collection.domain.hierarchy(a).size(level)))
        for a, level in expectations.levels.items()
    }
    factors = {a: lambda cells, c, t=table: t[cells, c] for a, table in tables.items()}
    plain = expectations.expected_counts(known, codes, length)
    weighted = expectations.expected_counts(known, codes, length, factors)
    joint, base = joint_expectation(collection), base_cells(collection.domain)
    lower, upper = bounds_of_cells(collection, known, codes, length)
    for cell in range(length):
        inside = agreeing(collection, known, codes, cell)
        assert plain[cell] == pytest.approx(joint[inside].sum(), rel=1e-6, abs=1e-6)
        weight = np.ones(len(joint))
        for attribute, level in expectations.levels.items():
            lifted = collection.domain.hierarchy(attribute).lift(0, level)[base[attribute]]
            weight *= tables[attribute][cell, lifted]
        assert weighted[cell] == pytest.approx((joint * weight)[inside].sum(), rel=1e-6, abs=1e-6)
        sharp = sharp_bounds(collection, {a: (level, int(codes[a][cell])) for a, level in known.items()})
        assert lower[cell] <= sharp.lower <= sharp.upper <= upper[cell]
        assert lower[cell] - 1e-6 <= plain[cell] <= upper[cell] + 1e-6


@settings(max_examples=60)
@given(decomposable_collections(), st.data())
def test_decomposable_collections(collection: Collection, data: st.DataObject) -> None:
    levels = {a: data.draw(st.integers(0, h.height)) for a, h in collection.domain.items() if data.draw(st.booleans())}
    check(collection, levels, np.random.default_rng(data.draw(st.integers(0, 99))))


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape(shape: str) -> None:
    cube = shape_cube()
    collection = Collection.of(cube, [cube.domain.mask(margin) for margin in SHAPES[shape]])
    assert collection.is_decomposable == (shape not in NOT_DECOMPOSABLE)
    for seed, levels in enumerate(({}, {"a": 1, "b": 0}, {"a": 1, "b": 0, "c": 1, "d": 0}, {"a": 0, "d": 0, "c": 0})):
        check(collection, levels, np.random.default_rng(seed))


def test_bounds_are_sharp_where_the_cells_fix_all_separators() -> None:
    cube = shape_cube()
    collection = Collection.of(cube, [cube.domain.mask(margin) for margin in SHAPES["chain"]])
    levels = dict.fromkeys("abcd", 0)
    codes = base_cells(cube.domain)
    lower, upper = bounds_of_cells(collection, levels, codes, 48)
    for cell in range(48):
        bounds = sharp_bounds(collection, {a: (0, int(codes[a][cell])) for a in "abcd"})
        assert bounds == CountBounds(int(lower[cell]), int(upper[cell]), sharp=True)


def test_a_value_finer_than_published_is_refused() -> None:
    cube = shape_cube()
    expectations = CellExpectations.of(Collection.of(cube, [cube.domain.mask({"a": 1})]))
    with pytest.raises(DomainMismatchError, match="not published"):
        expectations.expected_counts({"a": 0}, {"a": np.array([0])}, 1)
