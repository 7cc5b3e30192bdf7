"""Data cubes: whatever is asked first, each margin has the counts and entropy of the base table."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from brute_force import dense_marginal, entropy, joint_array, lifted
from models import ContingencyTable, DataCube, Domain, DomainMismatchError, Hierarchy, equal_cells
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
    with patch.multiple("models.tables.data_cube", _LARGE=1, _FEWER=fewer, _KEPT=kept):
        cube = DataCube([base])
        asked = {cube.domain.mask(m) for m in data.draw(st.lists(margins(cube.domain), min_size=1, max_size=6))}
        for mask in sorted(asked):
            direct = base.rolled_up(cube.domain.margin(mask))
            assert cube.counts(mask).tolist() == direct.counts.tolist()
            assert equal_cells([cube.table(mask), direct])
    between = [table for mask, table in cube._tables.items() if mask not in asked | {base.mask}]
    assert sum(map(len, between)) <= kept * len(base)


WIDE = Hierarchy.from_intervals(map(str, range(64)), [2, 4, 8, 16])


@pytest.mark.parametrize(
    ("ladders", "asked"),
    [
        ([WIDE] * 4, [{"a": 1, "b": 0}, {"a": 2, "b": 3}, {"a": 0, "b": 4}, {"a": 3}]),
        (
            [Hierarchy.flat(map(str, range(size))) for size in (90, 90, 3, 4)],
            [dict.fromkeys(shown, 0) for shown in ("c", "d", "cd", "a", "ac", "ad", "acd")],
        ),
    ],
)
def test_a_large_table_is_counted_once_for_levels_of_two_attributes_and_for_few_values(ladders, asked):
    rng, domain = np.random.default_rng(0), Domain.of(dict(zip("abcd", ladders)))
    codes = {name: rng.integers(0, own.size(0), 50_000) for name, own in domain.items()}
    base = ContingencyTable.from_cells(domain, dict.fromkeys("abcd", 0), codes, np.ones(50_000))
    cube = DataCube([base])
    with patch.object(ContingencyTable, "rolled_up", autospec=True, side_effect=ContingencyTable.rolled_up) as count:
        for levels in asked:
            cube.counts(domain.mask(levels))
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


@given(domains(max_attributes=2), st.data())
def test_levels_attributes_and_tables_that_do_not_fit_are_refused(domain, data):
    for attribute, level, message in (("age", -1, "0 to 2"), ("age", 3, "'age'.* 0 to 2"), ("hat", 1, "'hat'")):
        with pytest.raises(DomainMismatchError, match=message):
            DataCube([_ages([1, 2, 3])]).log_leaves(attribute, level)
    for tables, message in (([], "one table"), ([_ages([1, 2, 3]), _ages([1, 2, 4]).rolled_up({"age": 1})], "rows")):
        with pytest.raises(DomainMismatchError, match=message):
            DataCube(tables)
    table = data.draw(contingency_tables(domain))
    other = Domain(tuple(reversed(domain.attributes)), tuple(reversed(domain.hierarchies)))
    codes = dict(zip(table.attributes, table.codes))
    moved = ContingencyTable.from_cells(other, table.margin, codes, table.counts)
    with pytest.raises(DomainMismatchError, match="domain"):
        DataCube([table, moved])
    same = Domain.of({attribute: Hierarchy.from_rows(hierarchy.rows()) for attribute, hierarchy in domain.items()})
    copied = ContingencyTable.from_cells(same, table.margin, codes, table.counts)
    assert DataCube([table, copied]).total == table.total


@pytest.mark.parametrize("times", [1, 2])
def test_a_cube_that_has_learnt_its_pairs_says_the_same_without_counting(times, monkeypatch):
    """Where few rows are equal; else, or with many values, nothing is learnt."""
    domain = Domain.of({name: Hierarchy.flat("xyz") for name in "abcde"})
    cells = np.indices((3,) * 5).reshape(5, -1)[:, np.random.default_rng(0).permutation(243)[:150]]
    counts = np.r_[np.full(50, times), np.ones(100, int)]
    table = ContingencyTable.from_cells(domain, dict.fromkeys("abcde", 0), dict(zip("abcde", cells)), counts)
    cube, plain = DataCube([table]), DataCube([table])
    assert cube.independent_pairs() is None
    cube.learn_pairs()
    masks = domain.attribute_masks
    pairs = cube.independent_pairs()
    assert pairs is not None
    for i, first in enumerate(masks):
        for j, second in enumerate(masks[:i]):
            saved = plain.entropy(first) + plain.entropy(second) - plain.entropy(first | second)
            assert pairs[0][i, j] == pytest.approx(saved, abs=1e-12)
            assert pairs[1][i, j] == 4
    expected = {a | b: plain.entropy(a | b) for a in masks for b in masks if a != b}
    monkeypatch.setattr(cube, "counts", None)
    for mask, value in expected.items():
        assert cube.entropy(mask) == pytest.approx(value, abs=1e-12)
    repeated = DataCube([ContingencyTable(domain, table.margin, table.codes, table.counts * 5)])
    repeated.learn_pairs()
    assert repeated.independent_pairs() is None


@given(st.lists(st.integers(1, 5), min_size=2, max_size=5), st.integers(1, 300), st.integers(0, 1000))
def test_learnt_entropies_of_pairs_are_those_of_counting_each(sizes, length, seed):
    """Around 64 rows, the bits of a word, and beyond."""
    rng, names = np.random.default_rng(seed), "abcde"[: len(sizes)]
    domain = Domain.of({name: Hierarchy.flat("vwxyz"[:size]) for name, size in zip(names, sizes)})
    codes = {name: rng.integers(0, size, length) for name, size in zip(names, sizes)}
    table = ContingencyTable.from_cells(domain, dict.fromkeys(names, 0), codes, np.ones(length))
    learnt, plain = DataCube([table]), DataCube([table])
    learnt.learn_pairs()
    for one in domain.attribute_masks:
        for other in domain.attribute_masks:
            assert learnt.entropy(one | other) == pytest.approx(plain.entropy(one | other), abs=1e-12)
