"""How far models and recoded tables are from data, against walking over every cell."""

import tracemalloc
from fractions import Fraction
from itertools import combinations, product
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from brute_force import covered, dense_marginal, iterative_proportional_fitting, joint_array
from filled_tables import counted, flat_domain, of_rows
from marginals.recoding.local_recoding import average_class_size, classification_metric, discernibility
from marginals.recoding.sweeping import level_information, sweep_order
from models import (
    Collection,
    ContingencyTable,
    DataCube,
    Domain,
    DomainMismatchError,
    GeneralizedCells,
    Hierarchy,
    MarginalModel,
    Taxonomy,
    answers,
    average_relative_error,
    information_utility,
    mutual_information,
    random_count_queries,
    total_variation,
)
from models.inference.marginal_model import cramers_v, phi_squared
from models.tables.generalized_cells import information
from privacy_oracles import base_table
from strategies import coarser_margins, contingency_tables, decomposable_collections, domains, hierarchies, margins


def test_a_table_of_a_hundred_million_cells_is_compared_in_the_memory_of_its_rows() -> None:
    """Measured amounts: ten thousand different values of each of two attributes, one row for each."""
    rows = np.arange(10_000)
    cube = DataCube([of_rows(flat_domain(paid=10_000, owed=10_000), np.column_stack([rows, rows[::-1]]))])
    tracemalloc.start()
    try:
        ones = MarginalModel(Collection.of(cube, cube.domain.attribute_masks))
        error = total_variation(cube.table(sum(cube.domain.attribute_masks)), ones)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert error == pytest.approx(1 - 1 / 10_000)
    assert peak < 10e6


@given(st.data())
def test_answers_are_sums_over_the_joint_distribution(data: st.DataObject) -> None:
    domain = data.draw(domains(max_cells=60))
    table: ContingencyTable = data.draw(contingency_tables(domain))
    cells = GeneralizedCells.of(table.rolled_up(data.draw(margins(domain))))
    conditions = data.draw(st.integers(1, len(domain.attributes)))
    queries = random_count_queries(table, conditions, 5, np.random.default_rng(data.draw(st.integers(0, 99))))
    shape = [hierarchy.size(0) for hierarchy in domain.hierarchies]
    everywhere = dict(zip(domain.attributes, np.indices(shape).reshape(len(shape), -1)))
    joint = cells.probability(everywhere).reshape(shape) * table.total
    for query, answer in zip(queries, answers(cells, queries)):
        asked = np.ix_(*(np.flatnonzero(covered(t)[node]) for t, node in zip(cells.taxonomies, query)))
        assert answer == pytest.approx(joint[asked].sum())
        assert sum(node != t.root for t, node in zip(cells.taxonomies, query)) == conditions
    assert (answers(GeneralizedCells.of(table), queries) > 0).all()


TABLE = counted(flat_domain(a="wxyz", b="01"), {(0, 0): 6, (1, 0): 2, (2, 1): 4})


def test_the_error_of_a_suppressed_attribute_by_hand() -> None:
    """12 rows spread over 4 values are 3 each: wrong by 3/6, 1/2 and 1/4; the query without an answer is left out."""
    queries = np.array([[0, 2], [1, 2], [2, 2], [3, 2]])
    suppressed = GeneralizedCells.of(TABLE.rolled_up({"b": 0}))
    assert answers(suppressed, queries).tolist() == [3, 3, 3, 3]
    assert average_relative_error(TABLE, suppressed, queries) == pytest.approx((1 / 2 + 1 / 2 + 1 / 4) / 3)
    assert average_relative_error(TABLE, GeneralizedCells.of(TABLE), queries) == 0


@given(decomposable_collections(max_cells=60))
def test_errors_are_those_of_counting_cell_by_cell(collection: Collection) -> None:
    domain, table = collection.domain, base_table(collection.cube)
    p = joint_array(table) / table.total
    q = iterative_proportional_fitting(p, domain, collection.margins)
    for attributes in [*combinations(domain.attributes, 2), *combinations(domain.attributes, 3)]:
        margin = dict.fromkeys(attributes, 0)
        shown = table.rolled_up(margin)
        real, expected = (dense_marginal(table.total * joint, domain, margin) for joint in (p, q))
        varied = total_variation(shown, MarginalModel(collection))
        assert varied == pytest.approx(np.abs(real - expected).sum() / 2 / table.total, abs=1e-9)


@given(arrays(np.float64, (2, 3, 2), elements=st.integers(0, 5)))
def test_mutual_information_is_that_of_the_definition(counts: np.ndarray) -> None:
    """Sum of p(a, b, c) ln(p(a, b | c) / p(a | c) p(b | c))."""
    p = counts / max(counts.sum(), 1)
    defined = 0.0
    for a, b, c in product(range(2), range(3), range(2)):
        if p[a, b, c]:
            defined += p[a, b, c] * log(p[a, b, c] * p[:, :, c].sum() / (p[a, :, c].sum() * p[:, b, c].sum()))
    assert mutual_information(counts) == pytest.approx(defined, abs=1e-12)
    assert mutual_information(np.outer([1.0, 3.0], [2.0, 5.0])) == pytest.approx(0, abs=1e-15)


@given(arrays(np.float64, (3, 4), elements=st.integers(0, 9)))
def test_phi_squared_is_chi_squared_over_the_rows(counts: np.ndarray) -> None:
    total = int(counts.sum())
    chi_squared = 0.0
    for i, j in product(range(3), range(4)):
        expected = counts[i].sum() * counts[:, j].sum() / max(total, 1)
        if expected:
            chi_squared += (counts[i, j] - expected) ** 2 / expected
    assert phi_squared(counts) == pytest.approx(chi_squared / max(total, 1), abs=1e-12)
    assert phi_squared(counts / 7) == pytest.approx(phi_squared(counts), abs=1e-12)


def test_cramers_v_is_corrected_as_bergsma_says() -> None:
    """W. Bergsma, A bias-correction for Cramer's V and Tschuprow's T, J. Korean Stat. Soc. 42 (2013), formulas 4 to 7."""
    rows, shape, phi = 101, (3, 5), 0.3
    corrected = phi - 2 * 4 / 100
    lengths = 3 - 4 / 100, 5 - 16 / 100
    assert cramers_v(phi, rows, shape) == pytest.approx((corrected / (min(lengths) - 1)) ** 0.5)
    assert cramers_v(0.07, rows, shape) == 0, "chance alone shows as much"
    assert cramers_v(0.07, rows, shape, (1, 1)) > 0, "in a table that chance adds nothing to"
    assert cramers_v(1.0, rows, (2, 2)) == pytest.approx(1)
    assert cramers_v(0.3, rows, (1, 5)) == 0
    assert cramers_v(0.0, 1, (2, 2)) == 0


# Generalized cells: their distribution and information, taxonomies, orders of levels, and measures of recoded tables.


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
    one, none = (counted(domain, {(0, 1): count}) for count in (3, 0))
    assert information_utility(one.rolled_up({"a": 0}), ["a"]) == 1.0
    assert information_utility(one.rolled_up({"a": 0})) == 0.75
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
        table = counted(domain, {(0, own): 1})
        assert list(table.rolled_up(dict(zip("ab", after))).cells()) == [((str(own + 1),), 1)]


def test_weights_say_which_base_values_matter() -> None:
    """Values that nobody has need not be kept apart: {x, y} stands for 2, z for itself."""
    hierarchy = Hierarchy.from_rows([("x", "xy", "*"), ("y", "xy", "*"), ("z", "z", "*")])
    assert level_information(hierarchy, 1) == Fraction(2, 3)
    assert level_information(hierarchy, 1, [0, 0, 1]) == 1
    assert level_information(hierarchy, 1, [3, 0, 1]) == Fraction(5, 8)


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
