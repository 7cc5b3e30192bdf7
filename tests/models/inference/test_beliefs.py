"""Beliefs as a product of factors sum to what their array sums to, and a fit does not depend on which is taken."""

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from models import Collection, ContingencyTable, DataCube, Domain, Hierarchy, iterative_fit
from models.inference import clique_cells as cells_module
from models.inference import iterative_fitting as fitting_module
from models.inference.clique_cells import BoxedCells, CliqueCells, Projection, Script, clique_cells, do
from models.inference.iterative_fitting import ArrayBeliefs, Beliefs, FactoredBeliefs, Layout, beliefs_in
from strategies import data_cubes, margins

MANY = 1_000_000


@settings(max_examples=100)
@given(data_cubes(max_cells=200), st.data())
def test_a_product_sums_to_what_its_array_does(cube: DataCube, data: st.DataObject) -> None:
    drawn = [m for m in data.draw(st.lists(margins(cube.domain), min_size=1, max_size=5)) if m]
    collection = Collection.of(cube, [cube.domain.mask(margin) for margin in drawn])
    if not collection.masks:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cells_module, "SPARSE", MANY)
        cells = clique_cells(collection, MANY)
    assert isinstance(cells, BoxedCells)
    shown = list(cells.margin)
    separators = data.draw(st.lists(st.lists(st.sampled_from(shown), unique=True), max_size=2))
    projections = [cells.onto(cube.table(mask).coded_cells) for mask in collection.masks]
    projections += [cells.onto_box({name: cells.margin[name] for name in separator}) for separator in separators]
    product, array = FactoredBeliefs.of(cells, Layout.among(cells, projections)), ArrayBeliefs(cells.even())
    event(f"{len(product.factors)} factors")
    rng = np.random.default_rng(data.draw(st.integers(0, 10)))
    scripts: list[Script] = [[] for _ in projections]
    sums = [[own.sums(*each) for own in (product, array)] for each in zip(projections, scripts)]
    for _ in range(2):  # what was prepared once sums up what beliefs have become
        for projection, script, (ours, expected) in zip(projections, scripts, sums):
            do(script)
            assert ours == pytest.approx(expected)
            changes: Script = []
            factors, shares = rng.uniform(0, 2, projection.size), rng.uniform(0.5, 2, projection.size)
            for beliefs in (product, array):
                beliefs.multiply(projection, factors, changes)
                beliefs.divide(projection, shares if projection.places is None else shares[:-1], changes)
            do(changes)
        product.scale(0.5)
        array.scale(0.5)
        assert product.total() == pytest.approx(array.total())
        assert product.array().shape == array.array().shape
        assert product.array() == pytest.approx(array.array())


def fits(collection: Collection, **options: int) -> list[tuple[float, list[np.ndarray]]]:
    """Residuals and expected counts with boxes as products and as arrays."""
    found = []
    for form in (as_product, as_array):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(cells_module, "SPARSE", MANY)
            patch.setattr(fitting_module, "beliefs_in", form)
            fit = iterative_fit(collection, **options)
        found.append((fit.residual, [cells.expected for cells in fit.cliques]))
    return found


def as_product(cells: CliqueCells, projections: list[Projection]) -> Beliefs:
    assert isinstance(cells, BoxedCells)
    return FactoredBeliefs.of(cells, Layout.among(cells, projections))


def as_array(cells: CliqueCells, _: list[Projection]) -> Beliefs:
    return ArrayBeliefs(cells.even())


@settings(max_examples=60)
@given(data_cubes(max_cells=100), st.data())
def test_a_fit_does_not_depend_on_the_form_of_beliefs(cube: DataCube, data: st.DataObject) -> None:
    drawn = [m for m in data.draw(st.lists(margins(cube.domain), min_size=2, max_size=4)) if m]
    collection = Collection.of(cube, [cube.domain.mask(margin) for margin in drawn])
    (residual, product), (other, array) = fits(collection, sweeps=50)
    assert residual == pytest.approx(other, abs=1e-9)
    for ours, theirs in zip(product, array, strict=True):
        assert ours == pytest.approx(theirs, abs=1e-6)


def test_many_values_are_a_product_of_factors_and_few_are_not() -> None:
    for values, form in ((3, ArrayBeliefs), (30, FactoredBeliefs)):
        collection = pairs(np.ones((values,) * 3, dtype=np.int64))
        cells = clique_cells(collection, MANY)
        projections = [cells.onto(collection.cube.table(mask).coded_cells) for mask in collection.masks]
        assert isinstance(beliefs_in(cells, projections), form)


def pairs(*dense: np.ndarray) -> Collection:
    """The three pairs of three attributes, each of a table of its own where there are three."""
    values = dense[0].shape[0]
    domain = Domain.of({name: Hierarchy.flat(map(str, range(values))) for name in "abc"})
    codes = dict(zip("abc", np.indices(dense[0].shape).reshape(3, -1)))
    tables = [
        ContingencyTable.from_cells(domain, dict.fromkeys(pair, 0), {a: codes[a] for a in pair}, own.ravel())
        for pair, own in zip(("ab", "bc", "ac"), dense * (3 // len(dense)))
    ]
    return Collection.of(DataCube(tables), [table.mask for table in tables])


def test_factors_without_bounds_do_not_hurt() -> None:
    """a and b are mostly equal, b and c too, a and c never: no table shows that, and factors grow from sweep to sweep."""
    place = np.indices((2, 2, 2))
    equal = [np.where(place[i] == place[j], 400, 4) for i, j in ((0, 1), (1, 2))]
    unequal = np.where(place[0] == place[2], 4, 400)
    (residual, product), (other, array) = fits(pairs(*equal, unequal), sweeps=1_000)
    assert residual == pytest.approx(other, rel=1e-3)
    assert residual > 0.1
    assert product[0] == pytest.approx(array[0], rel=1e-3)


def test_counts_that_no_cell_can_have_are_missed_wholly_in_either_form() -> None:
    """Of a and b all values are published together, but of b and c nothing with the last value of b."""
    dense = np.ones((8, 8, 8), dtype=np.int64)
    lacking = dense * 8
    lacking[:, -1] = 0
    lacking[:, 0] *= 2
    (residual, product), (other, array) = fits(pairs(dense * 8, lacking, dense * 8), sweeps=5)
    assert (residual, other) == pytest.approx((1, 1))
    assert product[0] == pytest.approx(array[0])


def test_what_leaves_the_range_of_numbers_is_fitted_as_an_array(monkeypatch: pytest.MonkeyPatch) -> None:
    collection = pairs(np.arange(1, 27_001, dtype=np.int64).reshape((30,) * 3))
    expected = iterative_fit(collection)
    scaled = []

    def too_much(self: FactoredBeliefs, _: float) -> None:
        scaled.append(self)
        np.multiply(self.factors[0], 1e200, out=self.factors[0])
        np.multiply(self.factors[0], 1e200, out=self.factors[0])

    monkeypatch.setattr(FactoredBeliefs, "scale", too_much)
    fit = iterative_fit(collection)
    assert len(scaled) == 1
    assert fit.residual <= fitting_module.TOLERANCE
    assert fit.cliques[0].expected == pytest.approx(expected.cliques[0].expected)
