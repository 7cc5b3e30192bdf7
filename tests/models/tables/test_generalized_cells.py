"""Generalized cells: their distribution and information, taxonomies, orders of levels, and measures of recoded tables."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brute_force import covered
from marginals.anonymizers.local_recoding import hilbert_order, hilbert_words
from models import (
    Collection,
    ContingencyTable,
    DataCube,
    Domain,
    DomainMismatchError,
    GeneralizedCells,
    Hierarchy,
    MaximumEntropy,
    Taxonomy,
    information_utility,
)
from models.tables.generalized_cells import (
    average_class_size,
    classification_metric,
    discernibility,
    information,
    level_information,
    sweep_chains,
    sweep_order,
)
from strategies import coarser_margins, contingency_tables, domains, hierarchies, margins


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


@given(hierarchies())
def test_nodes_say_what_the_hierarchy_says(hierarchy: Hierarchy) -> None:
    taxonomy = Taxonomy(hierarchy)
    values = [(level, code) for level in range(hierarchy.height + 1) for code in range(hierarchy.size(level))]
    seen: dict[tuple[str, tuple[int, ...]], int] = {}
    assert taxonomy.size == len(values)
    assert taxonomy.root == taxonomy.size - 1
    for node, (level, code) in enumerate(values):
        under = [leaf for leaf, value in enumerate(hierarchy.lift(0, level).tolist()) if value == code]
        assert taxonomy.levels[node] == level
        assert taxonomy.labels[node] == hierarchy.labels[level][code]
        assert taxonomy.leaf_counts[node] == len(under)
        assert [leaf for leaf, held in enumerate(covered(taxonomy)[node]) if held] == under
        assert [leaf for leaf, above in enumerate(taxonomy.at_level(level)) if above == node] == under
        shares = [len({*under} & {*np.flatnonzero(other).tolist()}) / other.sum() for other in covered(taxonomy)]
        assert taxonomy.shares_under(node).tolist() == shares
        assert taxonomy.plainest[node] == seen.setdefault((taxonomy.labels[node], tuple(under)), node)
        above = values[taxonomy.parents[node]]
        assert above == ((level + 1, hierarchy.parents[level][code]) if level < hierarchy.height else (level, code))


TWO = Hierarchy.from_rows([("1", "*"), ("2", "*")])


def test_the_utility_of_the_table_of_tz09() -> None:
    """Fig. 2 (a), whose 12 rows retain 12.84 of 36 (TZ11 Example 15 rounds this to 13); its tuple 1 is Example 4."""
    assert information(np.array([[10, 10, 2]]), np.array([1])) == pytest.approx(0.7)
    leaves = np.array([[10, 10, 2], [20, 100, 1], [10, 10, 1]])
    counts = np.array([2, 4, 6])
    assert information(leaves, counts) == pytest.approx(12.84)


@given(st.data())
def test_the_utility_of_a_table_is_the_mean_of_what_its_values_retain(data: st.DataObject) -> None:
    domain = data.draw(domains())
    base: ContingencyTable = data.draw(contingency_tables(domain))
    margin = data.draw(coarser_margins(domain, base.margin))
    table = base.rolled_up(margin)
    retained = 0.0
    for labels, count in table.cells():
        shown = dict(zip(table.attributes, labels))
        for attribute, hierarchy in domain.items():
            level = margin.get(attribute, hierarchy.height)
            rows = [row for row in hierarchy.rows() if attribute not in shown or row[level] == shown[attribute]]
            retained += count / len(rows)
    expected = retained / (base.total * len(domain.attributes))
    assert information_utility(table) == pytest.approx(expected)
    assert information_utility(table, row_count=2 * base.total) == pytest.approx(expected / 2)
    assert information_utility(base) == 1.0
    assert information_utility(table) <= 1.0


def test_attributes_may_be_chosen_and_an_empty_table_has_none() -> None:
    domain = Domain.of({"a": TWO, "b": TWO})
    codes = {"a": np.array([0]), "b": np.array([1])}
    one = ContingencyTable.from_cells(domain, {"a": 0, "b": 0}, codes, np.array([3]))
    assert information_utility(one.rolled_up({"a": 0}), ["a"]) == 1.0
    assert information_utility(one.rolled_up({"a": 0})) == 0.75
    none = ContingencyTable.from_cells(domain, {"a": 0, "b": 0}, codes, np.array([0]))
    assert information_utility(none) == 0.0


def test_examples_5_and_7_of_tz09() -> None:
    """Fig. 3: of a0b1 and a1b0, which retain 0.75 each, the one that is finer in A comes first; after it the other."""
    assert level_information(TWO, 0) == 1
    assert level_information(TWO, 1) == Fraction(1, 2)
    order = sweep_order([TWO, TWO])
    assert order == ((0, 0), (0, 1), (1, 0), (1, 1))
    domain = Domain.of({"a": TWO, "b": TWO})
    after = order[order.index((0, 1)) + 1]
    for own in (0, 1):
        codes = {"a": np.array([0]), "b": np.array([own])}
        table = ContingencyTable.from_cells(domain, {"a": 0, "b": 0}, codes, np.array([1]))
        assert list(table.rolled_up(dict(zip("ab", after))).cells()) == [((str(own + 1),), 1)]


def test_weights_say_which_base_values_matter() -> None:
    """Values that nobody has need not be kept apart: {x, y} stands for 2, z for itself."""
    hierarchy = Hierarchy.from_rows([("x", "xy", "*"), ("y", "xy", "*"), ("z", "z", "*")])
    assert level_information(hierarchy, 1) == Fraction(2, 3)
    assert level_information(hierarchy, 1, [0, 0, 1]) == 1
    assert level_information(hierarchy, 1, [3, 0, 1]) == Fraction(5, 8)


@given(st.lists(hierarchies(), min_size=1, max_size=4), st.integers(0, 40))
def test_chains_are_a_part_of_the_order_with_both_ends_and_fewer_are_whole_ones(
    chosen: list[Hierarchy], most: int
) -> None:
    order, whole, steps = sweep_order(chosen), sweep_chains(chosen), 1 + sum(h.height for h in chosen)
    assert (whole[0], whole[-1]) == (order[0], order[-1])
    assert list(whole) == [levels for levels in order if levels in set(whole)]
    assert len(whole) <= (1 + len(chosen)) * steps
    fewer, first = sweep_chains(chosen, most=most), sweep_chains(chosen, most=0)
    assert len(first) == steps
    assert set(first) <= set(fewer) <= set(whole)
    assert len(fewer) <= max(most, steps)
    assert fewer == whole or most < len(whole)


@given(st.lists(hierarchies(), min_size=1, max_size=3), st.data())
def test_the_order_is_that_of_the_fractions_themselves(chosen: list[Hierarchy], data: st.DataObject) -> None:
    """So that generalizations come later and information falls."""
    weights = [
        data.draw(st.none() | st.lists(st.integers(1, 5), min_size=h.size(0), max_size=h.size(0))) for h in chosen
    ]

    def rank(levels: tuple[int, ...]) -> tuple[Fraction, tuple[int, ...]]:
        return -sum((level_information(h, l, w) for h, l, w in zip(chosen, levels, weights)), Fraction(0)), levels

    every = product(*(range(hierarchy.height + 1) for hierarchy in chosen))
    assert list(sweep_order(chosen, weights)) == sorted(every, key=rank)
    order = sweep_order(chosen)
    place = {levels: position for position, levels in enumerate(order)}
    for levels in order:
        for axis in range(len(chosen)):
            finer = (*levels[:axis], levels[axis] - 1, *levels[axis + 1 :])
            assert levels[axis] == 0 or place[finer] < place[levels]


counts = st.lists(st.lists(st.integers(0, 5), min_size=3, max_size=3).filter(any), max_size=5)


@given(counts, st.integers(0, 4))
def test_measures_are_those_of_the_rows(drawn: list[list[int]], suppressed: int) -> None:
    table = np.array(drawn, dtype=np.int64).reshape(len(drawn), 3)
    class_of = [number for number, row in enumerate(drawn) for _ in range(sum(row))]
    everybody = len(class_of) + suppressed
    alike = sum(class_of.count(number) for number in class_of)
    assert discernibility(table.sum(axis=1), suppressed) == alike + suppressed * everybody
    assert average_class_size(table.sum(axis=1)) == (len(class_of) / len(drawn) if drawn else 0)
    assert classification_metric(table) == sum(sum(row) - max(row) for row in drawn)


@pytest.mark.parametrize(("axes", "bits"), [(1, 4), (2, 1), (2, 4), (3, 2), (4, 2), (6, 1)])
def test_the_curve_moves_one_step_at_a_time(axes: int, bits: int) -> None:
    grid = np.array(list(product(range(2**bits), repeat=axes)))
    walk = grid[hilbert_order(grid)]
    assert np.abs(np.diff(walk, axis=0)).sum(axis=1).tolist() == [1] * (len(grid) - 1)
    points = np.array([[3, 1], [0, 0], [3, 1], [0, 0]])
    assert hilbert_order(points).tolist() == [1, 3, 0, 2], "equal points keep their order"
    assert len({tuple(word) for word in hilbert_words(grid, bits).tolist()}) == len(grid)
