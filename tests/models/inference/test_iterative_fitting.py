"""The fit on the triangulated tree is the full joint's maximum entropy, for collections of any shape."""

from itertools import count

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brute_force import dense_marginal, iterative_proportional_fitting, joint_array
from models import (
    Collection,
    ContingencyTable,
    DataCube,
    Deadline,
    Domain,
    Hierarchy,
    MarginalModel,
    TimeOverError,
    TooManyCellsError,
    iterative_fit,
)
from strategies import data_cubes, decomposable_collections, margins


@settings(max_examples=60)
@given(decomposable_collections())
def test_the_fit_of_a_decomposable_collection_is_its_closed_form(collection: Collection) -> None:
    if not collection.masks:
        return
    fit, model = iterative_fit(collection), MarginalModel(collection)
    for clique in fit.tree.cliques:
        fitted = fit.marginal(clique)
        exact = model.expected({a: fitted.margin[a] for a in fitted.codes})
        assert fitted.expected == pytest.approx(exact[tuple(fitted.codes.values())], abs=1e-6)


@settings(max_examples=40)
@given(data_cubes(max_cells=100), st.data())
def test_the_fit_of_any_collection_is_that_of_the_full_joint(cube: DataCube, data: st.DataObject) -> None:
    drawn = [m for m in data.draw(st.lists(margins(cube.domain), min_size=2, max_size=4)) if m]
    collection = Collection.of(cube, [cube.domain.mask(margin) for margin in drawn])
    if not collection.masks:
        return
    table = cube.table(sum(cube.domain.attribute_masks))
    joint = joint_array(table) / table.total
    expected = iterative_proportional_fitting(joint, cube.domain, drawn)
    fit = iterative_fit(collection)
    if fit.residual > 1e-6:
        return  # a limit on the boundary is approached slowly; the checks call that undecided
    for margin in drawn:
        ours = fit.marginal(cube.domain.mask(margin))
        dense = dense_marginal(expected, cube.domain, margin) * table.total
        assert ours.expected.sum() == pytest.approx(table.total)
        assert np.sort(ours.expected[ours.expected > 1e-6]) == pytest.approx(np.sort(dense[dense > 1e-6]), abs=1e-4)


@pytest.mark.parametrize("seed", range(8))
def test_the_fit_of_a_cycle_with_empty_cells_is_that_of_the_full_joint(seed: int) -> None:
    """Over the cliques that triangulation adds, which no margin holds, it must not begin with anything but evenness."""
    rng = np.random.default_rng(seed)
    domain = Domain.of({name: Hierarchy.flat("xyz") for name in "abcd"})
    counts = rng.integers(0, 4, (3, 3, 3, 3))
    counts[0, 0], counts[:, 1, 2], counts[:, :, 0, 1], counts[2, :, :, 0] = 0, 0, 0, 0
    codes = dict(zip("abcd", np.indices(counts.shape).reshape(4, -1)))
    cube = DataCube([ContingencyTable.from_cells(domain, dict.fromkeys("abcd", 0), codes, counts.ravel())])
    cycle = [dict.fromkeys(pair, 0) for pair in ("ab", "bc", "cd", "da")]
    fit = iterative_fit(Collection.of(cube, map(domain.mask, cycle)))
    joint = iterative_proportional_fitting(counts / counts.sum(), domain, cycle, sweeps=5_000) * counts.sum()
    for clique in fit.tree.cliques:
        cells = fit.marginal(clique)
        dense = np.zeros([3 if name in domain.margin(clique) else 1 for name in "abcd"])
        np.add.at(dense, tuple(cells.codes.get(name, 0) for name in "abcd"), cells.expected)
        assert dense == pytest.approx(dense_marginal(joint, domain, domain.margin(clique)), abs=1e-6)


def test_too_many_cells_are_refused() -> None:
    domain = Domain.of({name: Hierarchy.flat("wxyz") for name in "abcd"})
    codes = dict(zip("abcd", np.random.default_rng(1).integers(0, 4, (4, 200))))
    table = ContingencyTable.from_cells(domain, dict.fromkeys("abcd", 0), codes, np.ones(200, dtype=np.int64))
    cycle = [domain.mask(dict.fromkeys(pair, 0)) for pair in ("ab", "bc", "cd", "da")]
    with pytest.raises(TooManyCellsError, match="more than 10"):
        iterative_fit(Collection.of(DataCube([table]), cycle), limit=10)


def test_a_fit_that_a_deadline_ends_says_what_it_misses() -> None:
    """Wherever in a sweep the time is over: cliques agree, and the largest misfit of their margins is told."""
    rng = np.random.default_rng(1)
    domain = Domain.of({name: Hierarchy.flat("wxyz") for name in "abcd"})
    codes = dict(zip("abcd", np.indices((4, 4, 4, 4)).reshape(4, -1)))
    table = ContingencyTable.from_cells(domain, dict.fromkeys("abcd", 0), codes, rng.integers(1, 30, 256))
    cycle = Collection.of(DataCube([table]), [domain.mask(dict.fromkeys(pair, 0)) for pair in ("ab", "bc", "cd", "da")])
    residuals = set()
    for looks in range(20):
        ticks = count()
        try:
            fit = iterative_fit(cycle, deadline=Deadline(looks, lambda ticks=ticks: next(ticks)))
        except TimeOverError:
            continue
        shares = [fit.marginal(mask).expected / published.counts for mask, published in zip(cycle.masks, cycle.tables)]
        misfit = max(np.abs(own - 1).max() for own in shares)
        assert fit.residual == pytest.approx(misfit, abs=1e-11)  # at which a fit ends before the deadline
        residuals.add(fit.residual)
    assert len(residuals) > 5


def pairs(*dense: np.ndarray) -> Collection:
    """The three pairs of three attributes, each of a table of its own where there are three."""
    domain = Domain.of({name: Hierarchy.flat(map(str, range(dense[0].shape[0]))) for name in "abc"})
    codes = dict(zip("abc", np.indices(dense[0].shape).reshape(3, -1)))
    tables = [
        ContingencyTable.from_cells(domain, dict.fromkeys(pair, 0), {a: codes[a] for a in pair}, own.ravel())
        for pair, own in zip(("ab", "bc", "ac"), dense * (3 // len(dense)))
    ]
    return Collection.of(DataCube(tables), [table.mask for table in tables])


@pytest.mark.parametrize(("values", "blocks"), [(3, 1), (30, 1), (30, 10)])
def test_few_many_and_scattered_cells_are_fitted_to_the_distribution(values: int, blocks: int) -> None:
    """Values of a block go with those of the same block only."""
    a, b, c = np.indices((values,) * 3) * blocks // values
    counts = np.random.default_rng(1).integers(1, 9, (values,) * 3) * (a == b) * (b == c)
    fit = iterative_fit(collection := pairs(counts))
    domain = collection.domain
    joint = iterative_proportional_fitting(counts / counts.sum(), domain, collection.margins, 500) * counts.sum()
    (clique,) = fit.tree.cliques
    cells, found = fit.marginal(clique), np.zeros(counts.shape)
    found[tuple(cells.codes[name] for name in domain.attributes)] = cells.expected
    assert fit.residual < 1e-6
    assert found == pytest.approx(joint, abs=1e-4)


def test_tables_that_no_distribution_has_are_missed_by_what_they_contradict() -> None:
    """a and b are mostly equal, b and c too, a and c never: factors grow from sweep to sweep without bounds."""
    place = np.indices((2, 2, 2))
    equal = [np.where(place[i] == place[j], 400, 4) for i, j in ((0, 1), (1, 2))]
    fit = iterative_fit(pairs(*equal, np.where(place[0] == place[2], 4, 400)), sweeps=1_000)
    assert fit.residual > 0.1
    assert np.isfinite(fit.cliques[0].expected).all()
    dense = np.full((8, 8, 8), 8)
    lacking = dense * 8  # of b and c nothing with the last value of b
    lacking[:, -1], lacking[:, 0] = 0, lacking[:, 0] * 2
    assert iterative_fit(pairs(dense * 8, lacking, dense * 8), sweeps=5).residual == pytest.approx(1)
