"""How far models are from data: total variation, counts, contrasts and cross-validation, against walking over every cell."""

import tracemalloc
from itertools import combinations, product
from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from brute_force import covered, dense_marginal, iterative_proportional_fitting, joint_array
from models import (
    Collection,
    ContingencyTable,
    DataCube,
    Domain,
    DomainMismatchError,
    GeneralizedCells,
    Hierarchy,
    MarginalModel,
    TooManyCellsError,
    answers,
    average_relative_error,
    mutual_information,
    random_count_queries,
    total_variation,
)
from models.accuracy import (
    LEAST_GROUP,
    LEAST_ROWS,
    LEAST_SHARE,
    Contrast,
    CountQueries,
    IndependentModel,
    random_counts,
    random_tables,
    strongest_contrast,
    two_by_two,
)
from models.inference.marginal_model import cramers_v, phi_squared
from models.search import cross_validation
from models.search.cross_validation import errors_of_pairs
from privacy_oracles import base_table
from search_oracles import Countdown, never
from strategies import contingency_tables, data_cubes, decomposable_collections, decomposable_masks, domains, margins


def by_hand(counts: np.ndarray, contrast: tuple[int, int], is_ordered: tuple[bool, bool]) -> list[list[int]]:
    cells = [[0, 0], [0, 0]]
    for i, j in product(*map(range, counts.shape)):
        first = [value >= at if ordered else value == at for value, at, ordered in zip((i, j), contrast, is_ordered)]
        cells[1 - first[0]][1 - first[1]] += int(counts[i, j])
    return cells


def strength(cells: list[list[int]]) -> float | None:
    (a, b), (c, d) = cells
    groups = a + b, c + d, a + c, b + d
    if min(a, b, c, d) < LEAST_ROWS or min(groups) < max(LEAST_GROUP, LEAST_SHARE * sum(groups[:2])):
        return None
    return abs(a * d - b * c) / sqrt(groups[0] * groups[1] * groups[2] * groups[3])


@given(
    arrays(
        np.int64, array_shapes(min_dims=2, max_dims=2, max_side=5), elements=st.sampled_from([0, 1, 5, 9, 30, 2000])
    ),
    st.tuples(st.booleans(), st.booleans()),
)
def test_no_contrast_with_rows_enough_is_stronger(counts: np.ndarray, is_ordered: tuple[bool, bool]) -> None:
    every = {
        contrast: phi
        for contrast in product(*map(range, counts.shape))
        if (phi := strength(by_hand(counts, contrast, is_ordered))) is not None
    }
    found = strongest_contrast(counts, is_ordered)
    if found is None:
        assert not every
        return
    cells = by_hand(counts, found, is_ordered)
    assert every[found] == pytest.approx(max(every.values()), abs=1e-9)
    assert two_by_two(counts, found, is_ordered).tolist() == cells


def test_of_a_yes_and_a_no_the_rarer_is_asked_about() -> None:
    dead_or_alive = np.array([[900, 400], [20, 60]])
    assert strongest_contrast(dead_or_alive, (False, False)) == Contrast(1, 1)
    assert strongest_contrast(dead_or_alive, (True, True)) == Contrast(1, 1)
    assert strongest_contrast(np.zeros((2, 2), dtype=np.int64), (False, True)) is None


@given(data_cubes(max_cells=100))
def test_it_expects_what_the_maxent_model_of_all_one_way_tables_does(cube: DataCube) -> None:
    attributes = cube.domain.attributes
    fitted = MarginalModel(Collection.of(cube, [cube.domain.mask({name: 0}) for name in attributes]))
    model, rng = IndependentModel(cube), np.random.default_rng(0)
    for size in (1, 2, 3):
        for names in combinations(reversed(attributes), size):
            margin = dict.fromkeys(names, 0)
            assert np.allclose(model.expected(margin), fitted.expected(margin))
            codes = np.unravel_index(rng.integers(0, model.expected(margin).size, 7), model.expected(margin).shape)
            for own in (model, fitted):
                assert np.allclose(own.expected_of(margin, codes), own.expected(margin)[codes])
    with pytest.raises(DomainMismatchError):
        model.expected({attributes[0]: 1})
    with pytest.raises(DomainMismatchError):
        model.expected_of({attributes[0]: 1}, [np.zeros(1, dtype=np.intp)])


def test_a_table_of_a_hundred_million_cells_is_compared_in_the_memory_of_its_rows() -> None:
    """Measured amounts: ten thousand different values of each of two attributes, one row for each."""
    amounts = Hierarchy.flat([str(number) for number in range(10_000)])
    domain, margin, rows = Domain.of({"paid": amounts, "owed": amounts}), {"paid": 0, "owed": 0}, np.arange(10_000)
    codes = {"paid": rows, "owed": rows[::-1]}
    cube = DataCube([ContingencyTable.from_cells(domain, margin, codes, np.ones(10_000))])
    tracemalloc.start()
    try:
        error = total_variation(cube.table(domain.mask(margin)), IndependentModel(cube))
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
    for query, answer in zip(queries.nodes, answers(cells, queries)):
        asked = np.ix_(*(np.flatnonzero(covered(t)[node]) for t, node in zip(cells.taxonomies, query)))
        assert answer == pytest.approx(joint[asked].sum())
        assert sum(node != t.root for t, node in zip(cells.taxonomies, query)) == conditions
    assert (answers(GeneralizedCells.of(table), queries) > 0).all()


TABLE = ContingencyTable.from_cells(
    Domain.of({"a": Hierarchy.flat("wxyz"), "b": Hierarchy.flat("01")}),
    {"a": 0, "b": 0},
    {"a": np.array([0, 1, 2]), "b": np.array([0, 0, 1])},
    np.array([6, 2, 4]),
)


def test_the_error_of_a_suppressed_attribute_by_hand() -> None:
    """12 rows spread over 4 values are 3 each: wrong by 3/6, 1/2 and 1/4; the query without an answer is left out."""
    queries = CountQueries(TABLE.domain, np.array([[0, 2], [1, 2], [2, 2], [3, 2]]))
    suppressed = GeneralizedCells.of(TABLE.rolled_up({"b": 0}))
    assert answers(suppressed, queries).tolist() == [3, 3, 3, 3]
    assert average_relative_error(TABLE, suppressed, queries) == pytest.approx((1 / 2 + 1 / 2 + 1 / 4) / 3)
    assert average_relative_error(TABLE, GeneralizedCells.of(TABLE), queries) == 0


def test_what_cannot_be_asked_is_refused() -> None:
    rng = np.random.default_rng(0)
    for conditions in (0, 3):
        with pytest.raises(DomainMismatchError):
            random_count_queries(TABLE, conditions, 1, rng)
    with pytest.raises(DomainMismatchError):
        random_count_queries(TABLE.rolled_up({"a": 0}), 1, 1, rng)
    with pytest.raises(DomainMismatchError):
        CountQueries(TABLE.domain, np.array([[5, 0]]))
    other = GeneralizedCells.of(TABLE.rolled_up({"a": 1}))
    queries = CountQueries(Domain.of({"a": Hierarchy.flat("wx")}), np.array([[0]]))
    with pytest.raises(DomainMismatchError):
        answers(other, queries)


@given(decomposable_collections(max_cells=60), st.integers(0, 99))
def test_errors_are_those_of_counting_cell_by_cell(collection: Collection, seed: int) -> None:
    domain, table = collection.domain, base_table(collection.cube)
    rng = np.random.default_rng(seed)
    p = joint_array(table) / table.total
    q = iterative_proportional_fitting(p, domain, collection.margins)
    for attributes in random_tables(domain.attributes, 2, rng):
        margin = dict.fromkeys(attributes, 0)
        places = {a: rng.permutation(domain.hierarchy(a).size(0)) for a in attributes if rng.random() < 0.5}
        shown = table.rolled_up(margin)
        real, expected = (dense_marginal(table.total * joint, domain, margin) for joint in (p, q))
        varied = total_variation(shown, MarginalModel(collection))
        assert varied == pytest.approx(np.abs(real - expected).sum() / 2 / table.total, abs=1e-9)
        axes = tuple(axis for axis, name in enumerate(domain.attributes) if name not in attributes)
        real, expected = real.sum(axis=axes), expected.sum(axis=axes)
        asked = random_counts(shown, 5, places, rng)
        assert len(asked) == 5
        errors = asked.relative_errors(MarginalModel(collection))
        for number in range(5):
            meant = [
                cell
                for cell in product(*map(range, real.shape))
                if all(asked.inside[a][number, value] for a, value in zip(asked.inside, cell))
            ]
            true = sum(real[cell] for cell in meant)
            assert asked.true[number] == pytest.approx(true)
            assert errors[number] == pytest.approx(abs(sum(expected[cell] for cell in meant) - true) / true, abs=1e-9)
        for attribute, inside in asked.inside.items():
            if attribute in places:
                for meant_values in inside:
                    own = np.sort(places[attribute][meant_values])
                    assert np.array_equal(own, np.arange(own[0], own[-1] + 1)), "a range of places"
            else:
                assert np.all(inside.sum(axis=1) == 1)


def test_what_is_asked_depends_on_the_table_and_the_seed_alone() -> None:
    names = list("abcdefgh")
    chosen = random_tables(names, 10, np.random.default_rng(3))
    assert chosen == random_tables(names, 10, np.random.default_rng(3))
    assert [len(table) for table in chosen] == [2] * 10 + [3] * 10
    assert len(set(chosen)) == 20
    assert random_tables(["a", "b"], 10, np.random.default_rng(3)) == [("a", "b")]
    assert random_tables(["a"], 10, np.random.default_rng(3)) == []
    assert len(random_tables(list("abc"), 10, np.random.default_rng(3))) == 4


def test_the_same_is_asked_however_values_are_numbered() -> None:
    """Else releases with other hierarchies of the same table could not be compared."""
    asked = []
    for order in (["x", "y", "z"], ["z", "x", "y"]):
        domain = Domain.of({"a": Hierarchy.flat(order), "b": Hierarchy.flat(order[::-1])})
        cells = [("x", "y", 5), ("y", "y", 3), ("z", "x", 9), ("x", "z", 1)]
        codes = {
            "a": np.array([order.index(a) for a, _, _ in cells]),
            "b": np.array([order[::-1].index(b) for _, b, _ in cells]),
        }
        table = ContingencyTable.from_cells(domain, {"a": 0, "b": 0}, codes, [count for _, _, count in cells])
        asked.append(random_counts(table, 50, {}, np.random.default_rng(4)))
    assert asked[0].true.tolist() == asked[1].true.tolist()


@given(decomposable_collections(max_cells=60))
def test_tables_that_are_coarser_or_too_large_are_refused(collection: Collection) -> None:
    table = base_table(collection.cube)
    coarse = next((a for a, h in collection.domain.items() if h.height > 1), None)
    if coarse is not None:
        with pytest.raises(DomainMismatchError):
            random_counts(table.rolled_up({coarse: 1}), 1, {}, np.random.default_rng(1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("models.accuracy._CELLS", 0)
        asked = random_counts(table, 1, {}, np.random.default_rng(1))
        with pytest.raises(TooManyCellsError):
            asked.relative_errors(MarginalModel(collection))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_errors_are_those_of_models_of_one_half_against_tables_of_the_other(data: st.DataObject) -> None:
    """By iterative fitting of the dense joint distribution of each half, at the finest level that either shows."""
    domain = data.draw(domains(max_cells=60))
    rows = data.draw(contingency_tables(domain))
    collections = [data.draw(decomposable_masks(domain)) for _ in range(2)]
    divided, divisions = cross_validation._halves, []

    def recorded(rows: ContingencyTable, rng: np.random.Generator) -> tuple[DataCube, DataCube]:
        divisions.append(divided(rows, rng))
        return divisions[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("models.search.cross_validation._halves", recorded)
        found = errors_of_pairs(collections, rows, 0, never)
    assert found is not None
    expected: list[list[float]] = [[], []]
    finest = [MarginalModel(Collection.of(DataCube([rows]), each)).finest_levels for each in collections]
    levels = {name: min(own[name] for own in finest) for name in domain.attributes}
    shown = [name for name, level in levels.items() if level < domain.hierarchy(name).height]
    for halves in divisions:
        joints = [joint_array(base_table(half)) for half in halves]
        assert (joints[0] + joints[1] == joint_array(rows)).all()
        if not all(joint.sum() for joint in joints):
            continue
        p, q = (joint / joint.sum() for joint in joints)
        for counted, judging in ((p, q), (q, p)):
            for place, collection in enumerate(collections):
                fitted = iterative_proportional_fitting(counted, domain, list(map(domain.margin, collection)))
                for pair in combinations(shown, 2):
                    margin = {name: levels[name] for name in pair}
                    one, other = (dense_marginal(joint, domain, margin) for joint in (judging, fitted))
                    expected[place].append(np.abs(one - other).sum() / 2)
    count = 2 * len(divisions) * max(len(list(combinations(shown, 2))), 1)
    assert found == pytest.approx([sum(errors) / count for errors in expected], abs=1e-9)


def table(rows: int, association: float, seed: int = 0) -> ContingencyTable:
    """Two attributes of eight values, of which a share of the rows has the same."""
    rng = np.random.default_rng(seed)
    domain = Domain.of({name: Hierarchy.flat([f"{name}{v}" for v in range(8)]) for name in "ab"})
    a, b = rng.integers(0, 8, (2, rows))
    codes = {"a": a, "b": np.where(rng.random(rows) < association, a, b)}
    return ContingencyTable.from_cells(domain, {"a": 0, "b": 0}, codes, np.ones(rows, dtype=int))


@pytest.mark.parametrize(("association", "is_told"), [(0.0, False), (0.3, True)])
def test_what_chance_shows_is_no_merit_and_an_association_is(association: float, is_told: bool) -> None:
    """The table of both has no error in the rows that it counts, and is nearer to others only where they go together."""
    right = 0
    for seed in range(20):
        rows = table(1_000, association, seed)
        a, b = rows.domain.attribute_masks
        together, apart = errors_of_pairs([(a | b,), (a, b)], rows, seed, never)
        right += bool(together < apart) is is_told
    assert right == 20


def test_the_same_seed_divides_alike_and_all_is_over_when_it_is_time() -> None:
    rows = table(300, 0.3)
    a, b = rows.domain.attribute_masks
    first, again, other = (errors_of_pairs([(a | b,), (a, b)], rows, seed, never) for seed in (1, 1, 2))
    assert first.tolist() == again.tolist() != other.tolist()
    assert errors_of_pairs([(a | b,), (a, b)], rows, 1, Countdown(2)) is None
    assert errors_of_pairs([(a,), (0,)], rows, 0, never).tolist() == [0, 0], "of one attribute there are no pairs"
    assert errors_of_pairs([(a | b,), (a, b)], table(1, 0.0), 0, never).tolist() == [0, 0], "a half has no rows"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("models.search.cross_validation._CELLS", 63)
        assert errors_of_pairs([(a | b,), (a, b)], rows, 0, never).tolist() == [0, 0], "too large"


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
