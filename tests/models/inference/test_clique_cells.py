"""The possible cells of a clique are those of the join, in a box or in a list, and sum to the same."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models import (
    CodedCells,
    Collection,
    ContingencyTable,
    ContradictionError,
    DataCube,
    Domain,
    Hierarchy,
    Margin,
    TooManyCellsError,
    iterative_fit,
    possible_cells,
)
from models.inference import clique_cells as module
from models.inference.clique_cells import BoxedCells, ListedCells, Projection, Script, clique_cells, do
from models.inference.iterative_fitting import ArrayBeliefs
from strategies import data_cubes, margins

MANY = 1_000_000


def rows(cells: CodedCells) -> list[tuple[int, ...]]:
    """The codes of each cell, attributes by name."""
    return list(zip(*(cells.codes[name].tolist() for name in sorted(cells.margin))))


def sums(cells: ListedCells | BoxedCells, table: ContingencyTable, beliefs: np.ndarray) -> list[float]:
    """What falls into each cell of a table, one belief after the other."""
    coarse = rows(table.coded_cells)
    found = dict.fromkeys(coarse, 0.0)
    columns = {name: cells.cells.column(name, level).tolist() for name, level in table.margin.items()}
    for row, belief in zip(zip(*(columns[name] for name in sorted(columns))), cells.of_possible(beliefs).tolist()):
        found[row] += belief
    return [found[row] for row in coarse]


@given(data_cubes(max_cells=200), st.data())
def test_boxes_and_lists_hold_the_cells_of_the_join_and_sum_to_the_same(cube: DataCube, data: st.DataObject) -> None:
    drawn = [m for m in data.draw(st.lists(margins(cube.domain), min_size=1, max_size=4)) if m]
    collection = Collection.of(cube, [cube.domain.mask(margin) for margin in drawn])
    if not collection.masks:
        return
    expected = sorted(rows(possible_cells(collection, MANY).coded_cells))
    rng = np.random.default_rng(len(expected))
    for sparse in (0, MANY):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "SPARSE", sparse)
            cells = clique_cells(collection, MANY)
            assert isinstance(cells, BoxedCells if sparse else ListedCells)
            assert sorted(rows(cells.cells)) == expected
            beliefs = cells.even() * rng.uniform(0.5, 2, cells.even().shape)
            assert cells.of_possible(beliefs).sum() == pytest.approx(beliefs.sum())
            for table in map(cube.table, collection.masks):
                projection = cells.onto(table.coded_cells)
                by_hand = sums(cells, table, beliefs)
                assert summed(projection, beliefs)[: len(table)] == pytest.approx(by_hand)
                # Factors that bring each sum to 1 do so.
                factors = np.zeros(projection.size)
                factors[: len(table)] = 1 / np.where(np.array(by_hand) > 0, by_hand, 1)
                scaled = ArrayBeliefs(beliefs.copy())
                script: Script = []
                scaled.multiply(projection, factors, script)
                do(script)
                assert summed(projection, scaled.beliefs)[: len(table)] == pytest.approx(np.sign(by_hand))
            separator = cells.cells.margin
            whole = summed(cells.onto_box(separator), beliefs)
            assert whole[whole > 0] == pytest.approx(cells.of_possible(beliefs)[np.lexsort(columns(cells))])
            with pytest.raises(TooManyCellsError):
                clique_cells(collection, len(expected) - 1)


def summed(projection: Projection, beliefs: np.ndarray) -> np.ndarray:
    """What beliefs in an array sum to."""
    script: Script = []
    sums = ArrayBeliefs(beliefs).sums(projection, script)
    do(script)
    return sums


def columns(cells: ListedCells | BoxedCells) -> list[np.ndarray]:
    """The codes, that of the domain's last attribute first."""
    names = sorted(cells.cells.margin, key=cells.cells.domain.index, reverse=True)
    return [cells.cells.codes[name] for name in names]


@given(data_cubes(max_cells=100), st.data())
def test_a_fit_in_boxes_is_that_in_lists(cube: DataCube, data: st.DataObject) -> None:
    drawn = [m for m in data.draw(st.lists(margins(cube.domain), min_size=2, max_size=4)) if m]
    collection = Collection.of(cube, [cube.domain.mask(margin) for margin in drawn])
    fits = []
    for sparse in (0, 2, MANY):  # 2: some cliques in boxes, others not
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "SPARSE", sparse)
            fits.append(iterative_fit(collection, sweeps=200))
    listed, *others = fits
    for fit in others:
        assert fit.residual == pytest.approx(listed.residual, rel=1e-3, abs=1e-9)
        for clique in fit.tree.cliques:
            found, expected = fit.marginal(clique), listed.marginal(clique)
            assert rows(found.cells) == rows(expected.cells)
            assert found.expected == pytest.approx(expected.expected, rel=1e-6, abs=1e-9)


def test_a_possible_cell_that_a_table_lacks_is_a_contradiction() -> None:
    domain = Domain.of({"a": Hierarchy.flat("xy"), "b": Hierarchy.flat("xy")})
    boxed = BoxedCells(domain, Margin({"a": 0, "b": 0}), (2, 2), ())
    lacking = CodedCells(domain, {"a": 0}, {"a": np.array([1])}, 1)
    with pytest.raises(ContradictionError, match="disagree on an empty cell"):
        boxed.onto(lacking)
    with pytest.raises(ContradictionError, match="disagree on an empty cell"):
        ListedCells(boxed.cells).onto(lacking)


def test_a_box_has_the_axes_of_the_domain_whatever_names_they_have() -> None:
    domain = Domain.of({"second": Hierarchy.flat("vwxyz"), "first": Hierarchy.flat("xy")})
    codes = {"second": np.repeat(np.arange(5), 2), "first": np.tile(np.arange(2), 5)}
    table = ContingencyTable.from_cells(domain, {"first": 0, "second": 0}, codes, np.arange(1, 11))
    cells = clique_cells(Collection.of(DataCube([table]), [table.mask]), MANY)
    assert isinstance(cells, BoxedCells)
    assert cells.even().shape == (5, 2)
    assert cells.onto(table.coded_cells).places is None
