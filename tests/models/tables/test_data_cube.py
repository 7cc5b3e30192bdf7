"""Data cubes: whatever is asked first, each margin has the counts and entropy of the base table."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from brute_force import dense_marginal, entropy, joint_array, lifted
from models import ContingencyTable, DataCube, Domain, DomainMismatchError, Hierarchy, equal_cells
from models.tables import data_cube
from strategies import contingency_tables, data_cubes, decomposable_collections, domains, margins

AGE = Hierarchy.from_rows([("1", "young", "*"), ("2", "young", "*"), ("3", "old", "*")])


def _ages(counts, domain=None):
    domain = domain or Domain.of({"age": AGE})
    return ContingencyTable.from_cells(domain, {"age": 0}, {"age": np.arange(3)}, np.array(counts))


def _base(cube):
    return cube.table(cube.domain.mask(dict.fromkeys(cube.domain.attributes, 0)))


@given(st.data())
def test_any_order_of_questions_gives_the_counts_and_entropies_of_the_base_table(data):
    cube = data.draw(data_cubes())
    joint = joint_array(_base(cube))
    for margin in data.draw(st.lists(margins(cube.domain), min_size=1, max_size=5)):
        mask = cube.domain.mask(margin)
        dense = dense_marginal(joint, cube.domain, margin)
        ask = data.draw(st.permutations([cube.table, cube.counts, cube.entropy]))
        answers = {question.__name__: question(mask) for question in ask}
        assert answers["table"].margin == cube.domain.margin(mask)
        assert answers["table"].counts.tolist() == dense[dense > 0].tolist()
        assert answers["counts"].tolist() == dense[dense > 0].tolist()
        assert answers["entropy"] == pytest.approx(entropy(dense / cube.total), abs=1e-12)
        assert cube.holds(mask)


@given(st.data(), st.integers(1, 3), st.integers(1, 3))
def test_tables_between_change_no_answer_and_stay_within_their_room(data, fewer, kept):
    """Every table counts as large here, so that margins are counted on the way wherever that saves cells."""
    base = _base(data.draw(data_cubes()))
    with patch.multiple(data_cube, _LARGE=1, _FEWER=fewer, _KEPT=kept):
        cube = DataCube([base])
        asked = {cube.domain.mask(m) for m in data.draw(st.lists(margins(cube.domain), min_size=1, max_size=6))}
        for mask in sorted(asked):
            direct = base.rolled_up(cube.domain.margin(mask))
            assert cube.counts(mask).tolist() == direct.counts.tolist()
            assert equal_cells([cube.table(mask), direct])
    between = [table for mask, table in cube._tables.items() if mask not in asked | {base.mask}]
    assert sum(map(len, between)) <= kept * len(base)


def test_a_large_table_is_counted_once_for_all_levels_of_two_attributes():
    rng, age = np.random.default_rng(0), Hierarchy.from_intervals(map(str, range(64)), [2, 4, 8, 16])
    domain = Domain.of(dict.fromkeys("abcd", age))
    base = ContingencyTable.from_cells(
        domain, dict.fromkeys("abcd", 0), {name: rng.integers(0, 64, 50_000) for name in "abcd"}, np.ones(50_000)
    )
    cube = DataCube([base])
    with patch.object(ContingencyTable, "rolled_up", autospec=True, side_effect=ContingencyTable.rolled_up) as count:
        for levels in ({"a": 1, "b": 0}, {"a": 2, "b": 3}, {"a": 0, "b": 4}, {"a": 3}):
            cube.counts(domain.mask(levels))
    assert sum(call.args[0] is base for call in count.call_args_list) == 1


def test_a_large_table_is_counted_once_for_margins_of_attributes_of_few_values():
    rng = np.random.default_rng(0)
    domain = Domain.of({name: Hierarchy.flat(map(str, range(size))) for name, size in zip("abcd", (90, 90, 3, 4))})
    codes = {name: rng.integers(0, domain.hierarchy(name).size(0), 50_000) for name in "abcd"}
    base = ContingencyTable.from_cells(domain, dict.fromkeys("abcd", 0), codes, np.ones(50_000))
    cube = DataCube([base])
    with patch.object(ContingencyTable, "rolled_up", autospec=True, side_effect=ContingencyTable.rolled_up) as count:
        for shown in ("c", "d", "cd", "a", "ac", "ad", "acd"):
            cube.counts(domain.mask(dict.fromkeys(shown, 0)))
    assert sum(call.args[0] is base for call in count.call_args_list) == 1


@given(decomposable_collections(), st.data())
def test_a_cube_of_published_marginals_answers_exactly_what_they_imply(collection, data):
    """An analyst's cube holds what some published margin is at least as fine as, with the steward's counts."""
    assume(collection.masks)
    published = DataCube(collection.tables)
    margin = data.draw(margins(collection.domain))
    mask = collection.domain.mask(margin)
    shown = {a: level for a, level in margin.items() if level < collection.domain.hierarchy(a).height}
    implied = any(all(a in m and m[a] <= level for a, level in shown.items()) for m in collection.margins)
    assert published.holds(mask) == implied
    if implied:
        assert equal_cells([published.table(mask), collection.cube.table(mask)])
    else:
        for ask in (published.table, published.counts, published.entropy):
            with pytest.raises(DomainMismatchError, match="no table shows the margin"):
                ask(mask)


@given(data_cubes())
def test_log_leaves_is_the_mean_over_the_rows(cube):
    """E_p[ln leaves_B], by walking over every base value."""
    joint = joint_array(_base(cube))
    for attribute, hierarchy in cube.domain.items():
        rows_of = dense_marginal(joint, cube.domain, {attribute: 0}).ravel()
        for level in range(hierarchy.height + 1):
            above = lifted(hierarchy, 0, level)
            mean = sum(n * np.log(np.sum(above == above[value])) for value, n in enumerate(rows_of)) / cube.total
            assert cube.log_leaves(attribute, level) == pytest.approx(mean, abs=1e-12)


@pytest.mark.parametrize("level", [-1, 3])
def test_a_level_that_the_hierarchy_lacks_is_refused_with_its_attribute(level):
    with pytest.raises(DomainMismatchError, match="'age' has the levels 0 to 2"):
        DataCube([_ages([1, 2, 3])]).log_leaves("age", level)


def test_an_unknown_attribute_is_refused_by_name():
    with pytest.raises(DomainMismatchError, match="'hat'"):
        DataCube([_ages([1, 2, 3])]).log_leaves("hat", 1)


def test_a_cube_of_no_tables_is_refused():
    with pytest.raises(DomainMismatchError, match="at least one table"):
        DataCube([])


def test_tables_with_different_numbers_of_rows_are_refused():
    with pytest.raises(DomainMismatchError, match="number of rows"):
        DataCube([_ages([1, 2, 3]), _ages([1, 2, 4]).rolled_up({"age": 1})])


@given(domains(max_attributes=2), st.data())
def test_tables_over_different_domains_are_refused(domain, data):
    table = data.draw(contingency_tables(domain))
    other = Domain(tuple(reversed(domain.attributes)), tuple(reversed(domain.hierarchies)))
    codes = dict(zip(table.attributes, table.codes))
    moved = ContingencyTable.from_cells(other, table.margin, codes, table.counts)
    with pytest.raises(DomainMismatchError, match="domain"):
        DataCube([table, moved])
    same = Domain.of({attribute: Hierarchy.from_rows(hierarchy.rows()) for attribute, hierarchy in domain.items()})
    copied = ContingencyTable.from_cells(same, table.margin, codes, table.counts)
    assert DataCube([table, copied]).total == table.total
