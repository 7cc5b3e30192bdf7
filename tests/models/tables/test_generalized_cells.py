"""Cells with levels of their own: merging, information, and the distribution that they stand for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brute_force import covered
from models import (
    Collection,
    ContingencyTable,
    DataCube,
    Domain,
    DomainMismatchError,
    GeneralizedCells,
    Hierarchy,
    MaximumEntropy,
)
from strategies import contingency_tables, domains, margins


@st.composite
def recoded_tables(draw: st.DrawFn) -> tuple[ContingencyTable, GeneralizedCells]:
    """A base table, and its rows with each value replaced by one that covers it."""
    domain = draw(domains(max_cells=60))
    table: ContingencyTable = draw(contingency_tables(domain, max_cells=8))
    columns = []
    for codes, hierarchy in zip(table.codes, domain.hierarchies):
        levels = draw(st.lists(st.integers(0, hierarchy.height), min_size=len(table), max_size=len(table)))
        offsets = np.cumsum([0, *map(len, hierarchy.labels)])
        columns.append([offsets[at] + hierarchy.lift(0, at)[code] for at, code in zip(levels, codes)])
    return table, GeneralizedCells.from_rows(domain, np.array(columns).T, table.counts)


@given(recoded_tables())
def test_the_distribution_spreads_each_cell_over_what_it_covers(
    recoded: tuple[ContingencyTable, GeneralizedCells],
) -> None:
    table, cells = recoded
    shape = [hierarchy.size(0) for hierarchy in table.domain.hierarchies]
    joint = np.zeros(shape)
    for nodes, count in zip(cells.nodes, cells.counts):
        under = np.ix_(*(np.flatnonzero(covered(t)[node]) for t, node in zip(cells.taxonomies, nodes)))
        joint[under] += count / cells.total / joint[under].size
    everywhere = dict(zip(table.domain.attributes, np.indices(shape).reshape(len(shape), -1)))
    assert cells.probability(everywhere) == pytest.approx(joint.ravel())
    assert joint.sum() == pytest.approx(1)


@given(recoded_tables())
def test_divergence_and_information_follow_their_definitions(
    recoded: tuple[ContingencyTable, GeneralizedCells],
) -> None:
    table, cells = recoded
    shares = table.counts / table.total
    estimated = cells.probability(dict(zip(table.attributes, table.codes)))
    assert cells.kl_divergence(table) == pytest.approx(float((shares * np.log(shares / estimated)).sum()), abs=1e-9)
    retained = [
        count / under
        for nodes, count in zip(cells.nodes, cells.counts)
        for under in (covered(t)[node].sum() for t, node in zip(cells.taxonomies, nodes))
    ]
    assert cells.information_utility == pytest.approx(sum(retained) / table.total / len(table.attributes))


@given(st.data())
def test_a_full_domain_table_diverges_as_its_maxent_distribution_does(data: st.DataObject) -> None:
    domain = data.draw(domains())
    table: ContingencyTable = data.draw(contingency_tables(domain))
    margin = data.draw(margins(domain))
    cube = DataCube([table])
    cells = GeneralizedCells.of(table.rolled_up(margin))
    expected = MaximumEntropy(Collection.of(cube, [domain.mask(margin)])).kl_divergence
    assert cells.kl_divergence(table) == pytest.approx(expected, abs=1e-9)


@given(recoded_tables())
def test_random_base_rows_are_those_that_the_cells_cover(
    recoded: tuple[ContingencyTable, GeneralizedCells],
) -> None:
    _, cells = recoded
    drawn = cells.random_base_rows(np.random.default_rng(0))
    nodes = np.repeat(cells.nodes, cells.counts, axis=0)
    assert drawn.shape == nodes.shape
    for taxonomy, codes, column in zip(cells.taxonomies, drawn.T, nodes.T):
        assert covered(taxonomy)[column, codes].all()


def test_random_base_rows_are_even() -> None:
    domain = Domain.of({"a": Hierarchy.from_rows([("x", "x", "*"), ("y", "y or z", "*"), ("z", "y or z", "*")])})
    cells = GeneralizedCells(domain, np.array([[4], [5]]), np.array([2000, 3000]))
    drawn = cells.random_base_rows(np.random.default_rng(0))[:, 0]
    assert np.bincount(drawn[:2000], minlength=3) == pytest.approx([0, 1000, 1000], abs=100)
    assert np.bincount(drawn[2000:], minlength=3) == pytest.approx([1000, 1000, 1000], abs=100)


def test_cells_that_read_alike_are_one() -> None:
    """A level that leaves a value as it is does not make a second value of it."""
    domain = Domain.of({"a": Hierarchy.from_rows([("x", "x", "*"), ("y", "y or z", "*"), ("z", "y or z", "*")])})
    cells = GeneralizedCells.from_rows(domain, np.array([[0], [3], [4], [1]]), np.array([1, 2, 4, 8]))
    assert [cells.labels(cell) for cell in range(len(cells))] == [("x",), ("y",), ("y or z",)]
    assert cells.counts.tolist() == [3, 8, 4]


@pytest.mark.parametrize(
    ("nodes", "counts"),
    [
        ([[4]], [1]),
        ([[-1]], [1]),
        ([[0.5]], [1]),
        ([[0, 0]], [1]),
        ([0], [1]),
        ([[0]], [-1]),
        ([[0]], [1.5]),
        ([[0], [1]], [1]),
    ],
)
def test_cells_outside_the_domain_are_refused(nodes: list[list[int]], counts: list[int]) -> None:
    domain = Domain.of({"a": Hierarchy.flat("xyz")})
    for make in (GeneralizedCells, GeneralizedCells.from_rows):
        with pytest.raises(DomainMismatchError):
            make(domain, np.array(nodes), np.array(counts))


@pytest.mark.parametrize(("nodes", "counts"), [([[1], [0]], [1, 1]), ([[1], [1]], [1, 1]), ([[0]], [0])])
def test_unordered_repeated_and_empty_cells_are_for_from_rows(nodes: list[list[int]], counts: list[int]) -> None:
    domain = Domain.of({"a": Hierarchy.flat("xyz")})
    with pytest.raises(DomainMismatchError, match="from_rows"):
        GeneralizedCells(domain, np.array(nodes), np.array(counts))
    cells = GeneralizedCells.from_rows(domain, np.array(nodes), np.array(counts))
    assert (np.diff(cells.nodes[:, 0]) > 0).all()
    assert cells.total == sum(counts)


def test_the_arrays_of_the_caller_stay_writeable() -> None:
    nodes, counts = np.array([[0], [1]]), np.array([2, 3])
    cells = GeneralizedCells(Domain.of({"a": Hierarchy.flat("xyz")}), nodes, counts)
    nodes[0], counts[0] = 2, 0
    assert (cells.nodes.tolist(), cells.counts.tolist()) == ([[0], [1]], [2, 3])
    assert not cells.nodes.flags.writeable
    assert not cells.counts.flags.writeable
