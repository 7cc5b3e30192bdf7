"""The sensitive tree: its class combinations are the published cells, and its factors the maxent distribution."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks import SensitiveTree, sensitive_tree
from checks.maxent.sensitive_tree import ClassSource
from models import Collection, ContingencyTable, ContradictionError, DataCube, Domain, Hierarchy
from privacy_oracles import Cell, cell_of, conditionals, finest, marginal, places_within, without
from privacy_strategies import sensitive_collections
from strategies import decomposable_masks

Drawn = tuple[Collection, str]


def sensitive_part(collection: Collection, sensitive: str) -> Collection:
    """The margins that show the sensitive attribute, those within others left out."""
    margins = [mask for mask, margin in zip(collection.masks, collection.margins) if sensitive in margin]
    maximal = [mask for mask in margins if not any(mask != other and mask & ~other == 0 for other in margins)]
    return Collection.of(collection.cube, maximal)


def combined(tree: SensitiveTree, factors: list[np.ndarray]) -> dict[tuple[int, ...], np.ndarray]:
    """Every class combination with the product of its factors."""
    found: dict[tuple[int, ...], np.ndarray] = {}
    for chosen, vectors in tree.combinations(factors, np.multiply):
        for row, vector in zip(chosen.tolist(), vectors):
            assert tuple(row) not in found
            found[tuple(row)] = vector
    return found


def cell(tree: SensitiveTree, collection: Collection, combination: tuple[int, ...]) -> Cell:
    """Where a class combination lies among the published cells of the sensitive part."""
    fine = without(finest(sensitive_part(collection, tree.sensitive).margins), [tree.sensitive])
    return cell_of(collection.domain, fine, tree.cell(combination))


def classes_that_fit(collection: Collection, sensitive: str) -> set[Cell]:
    """The nonsensitive cells that no margin of the sensitive part shows to be empty: a class of each, in agreement."""
    part = sensitive_part(collection, sensitive)
    fine = without(finest(part.margins), [sensitive])
    everywhere = places_within(collection.domain, fine, fine)
    fits = np.ones([axis.size for axis in everywhere], dtype=bool)
    for margin in part.margins:
        classes = without(margin, [sensitive])
        fits &= marginal(collection, classes)[places_within(collection.domain, fine, classes)] > 0
    return set(zip(*(axis.tolist() for axis in np.nonzero(fits))))


@given(sensitive_collections())
def test_combinations_are_the_cells_that_no_margin_shows_to_be_empty(drawn: Drawn) -> None:
    """Also those without a common sensitive value, which the count includes."""
    collection, sensitive = drawn
    tree = sensitive_tree(collection, sensitive)
    if tree is None:
        return
    found = combined(tree, [np.ones_like(factor) for factor in tree.conditional_factors])
    cells = [cell(tree, collection, combination) for combination in found]
    assert len(cells) == len(set(cells))
    assert set(cells) == classes_that_fit(collection, sensitive)
    assert tree.combination_count == len(cells)


@given(sensitive_collections())
def test_factors_multiply_to_the_maxent_distribution_of_the_sensitive_value(drawn: Drawn) -> None:
    """KG06 Prop. 7.3: the margins without the sensitive attribute have no say."""
    collection, sensitive = drawn
    tree = sensitive_tree(collection, sensitive)
    if tree is None:
        return
    expected = conditionals(sensitive_part(collection, sensitive), sensitive)
    found = combined(tree, list(tree.conditional_factors))
    assert {cell(tree, collection, combination) for combination in found} == set(expected)
    for combination, vector in found.items():
        exact = expected[cell(tree, collection, combination)]
        assert vector / vector.sum() == pytest.approx([float(v / sum(exact)) for v in exact], abs=1e-12)
        own = tree.exact_vector(combination)
        assert [v / sum(own) for v in own] == [v / sum(exact) for v in exact]


@settings(max_examples=60)
@given(sensitive_collections())
def test_margins_without_the_sensitive_attribute_change_no_distribution(drawn: Drawn) -> None:
    """KG06 Prop. 7.3 on the oracle's side: each cell of the whole collection is as the cell of the sensitive part."""
    collection, sensitive = drawn
    part = sensitive_part(collection, sensitive)
    if not part.masks:
        return
    fine, coarse = (without(finest(c.margins), [sensitive]) for c in (collection, part))
    above = places_within(collection.domain, fine, coarse)
    expected = conditionals(part, sensitive)
    for place, vector in conditionals(collection, sensitive).items():
        exact = expected[tuple(int(axis.ravel()[i]) for axis, i in zip(above, place))]
        assert [v / sum(vector) for v in vector] == [v / sum(exact) for v in exact]


@settings(max_examples=50)
@given(sensitive_collections())
def test_the_level_is_the_finest_at_which_the_attribute_is_published(drawn: Drawn) -> None:
    collection, sensitive = drawn
    tree = sensitive_tree(collection, sensitive)
    shown = finest(collection.margins)
    if tree is None:
        assert sensitive not in shown
        return
    assert tree.level == shown[sensitive]
    assert tree.labels == collection.domain.hierarchy(sensitive).labels[shown[sensitive]]
    assert set(tree.tree.cliques) == set(sensitive_part(collection, sensitive).masks)


@settings(max_examples=50)
@given(sensitive_collections())
def test_a_combination_is_described_by_what_its_margins_say(drawn: Drawn) -> None:
    collection, sensitive = drawn
    tree = sensitive_tree(collection, sensitive)
    if tree is None:
        return
    for combination in list(combined(tree, list(tree.conditional_factors)))[:5]:
        described = tree.describe(combination)
        assert described.cell == tree.cell(combination)
        assert list(described.cell) == [a for a in collection.domain.attributes if a in described.cell]
        for margin, counts in zip(described.margins, described.counts):
            table = marginal(collection, margin)
            finer = finest(sensitive_part(collection, sensitive).margins)
            place = list(cell_of(collection.domain, without(finer, [sensitive]), described.cell))
            lifts = places_within(collection.domain, without(finer, [sensitive]), without(margin, [sensitive]))
            index: list[object] = [int(axis.ravel()[i]) for axis, i in zip(lifts, place)]
            index[collection.domain.attributes.index(sensitive)] = slice(None)
            labels = collection.domain.hierarchy(sensitive).labels[margin[sensitive]]
            assert counts == {label: n for label, n in zip(labels, table[tuple(index)]) if n}


@settings(max_examples=40)
@given(st.data())
def test_the_other_sensitive_attributes_count_as_nonsensitive(data: st.DataObject) -> None:
    """MKGV07 Def. 4.6."""
    collection, _ = data.draw(sensitive_collections())
    masks = data.draw(decomposable_masks(collection.domain))
    collection = Collection.of(collection.cube, masks)
    for sensitive in collection.domain.attributes:
        tree = sensitive_tree(collection, sensitive)
        if tree is not None:
            for margin, classes in zip(tree.tree.margins, tree.classes):
                assert classes.margin == without(margin, [sensitive])


def star(values: int, arms: int, blocks: int) -> SensitiveTree:
    """Arms that share the sensitive attribute alone; each has `blocks` classes, most of them without some values."""
    names = [f"a{arm}" for arm in range(arms)]
    domain = Domain.of(
        {name: Hierarchy.flat(map(str, range(blocks))) for name in names}
        | {"s": Hierarchy.flat(map(str, range(values)))}
    )
    row = np.arange(2 * blocks)
    codes = {name: (row * row + arm * row) % blocks for arm, name in enumerate(names)} | {"s": row % values}
    once = {name: np.r_[codes[name], np.arange(blocks)] for name in names} | {
        "s": np.r_[codes["s"], np.zeros(blocks, int)]
    }
    table = ContingencyTable.from_cells(domain, dict.fromkeys(once, 0), once, np.arange(3 * blocks) % 7 + 1)
    masks = [domain.mask({name: 0, "s": 0}) for name in names]
    tree = sensitive_tree(Collection.of(DataCube([table]), masks), "s")
    assert tree is not None
    return tree


def test_more_combinations_than_are_looked_at_together_all_come_up_once() -> None:
    tree = star(values=3, arms=3, blocks=50)
    counts = [classes.counts.astype(float) for classes in tree.classes]
    assert tree.combination_count == 50**3
    sums = np.zeros((50, 50, 50))
    for chosen, vectors in tree.combinations(counts, np.multiply):
        np.add.at(sums, tuple(chosen.T), vectors.sum(axis=1))
        np.testing.assert_array_equal(
            vectors, np.prod([table[column] for table, column in zip(counts, chosen.T)], axis=0)
        )
    np.testing.assert_array_equal(sums, np.einsum("is,js,ks->ijk", *counts))


def test_combinations_are_counted_exactly_beyond_64_bits() -> None:
    assert star(values=2, arms=13, blocks=60).combination_count == 60**13


def test_the_classes_of_a_margin_are_counted_once() -> None:
    collection, sensitive = _two_arms()
    asked: list[int] = []

    def table_of(mask: int) -> ContingencyTable:
        asked.append(mask)
        return collection.cube.table(mask)

    classes_of = ClassSource(table_of, sensitive)
    trees = [SensitiveTree.of(collection.junction_tree, sensitive, classes_of) for _ in range(2)]
    assert len(asked) == len(set(asked))
    assert trees[0].classes[0] is trees[1].classes[0]


def _two_arms() -> Drawn:
    domain = Domain.of({"a": Hierarchy.flat("xy"), "s": Hierarchy.flat("uv"), "b": Hierarchy.flat("xy")})
    codes = dict(zip(domain.attributes, map(np.array, zip(*product(range(2), repeat=3)))))
    table = ContingencyTable.from_cells(domain, dict.fromkeys(codes, 0), codes, np.arange(1, 9))
    masks = [domain.mask({"a": 0, "s": 0}), domain.mask({"s": 0, "b": 0})]
    return Collection.of(DataCube([table]), masks), "s"


def test_two_arms_by_hand() -> None:
    """T(a, s) T(b, s) / T(s), added up from the cells 1 .. 8."""
    collection, sensitive = _two_arms()
    tree = sensitive_tree(collection, sensitive)
    assert tree is not None
    arm_a = {"u": [1 + 2, 5 + 6], "v": [3 + 4, 7 + 8]}
    arm_b = {"u": [1 + 5, 2 + 6], "v": [3 + 7, 4 + 8]}
    total = {"u": 14, "v": 22}
    for combination in product(range(2), repeat=2):
        labels = tree.cell(combination)
        a, b = ("xy".index(labels[name]) for name in "ab")
        expected = [Fraction(arm_a[s][a] * arm_b[s][b], total[s]) for s in "uv"]
        exact = tree.exact_vector(combination)
        assert [v / sum(exact) for v in exact] == [v / sum(expected) for v in expected]


def test_an_attribute_that_no_margin_shows_has_no_tree() -> None:
    collection, _ = _two_arms()
    assert sensitive_tree(Collection.of(collection.cube, [collection.domain.mask({"a": 0})]), "s") is None


def test_marginals_that_disagree_on_an_empty_class_are_refused() -> None:
    """Published by others: one table has rows where the other has none."""
    domain = Domain.of({name: Hierarchy.flat("xy") for name in "abcs"})
    zeros = np.zeros(2, dtype=np.intp)

    def table(names: str, shared: int) -> ContingencyTable:
        codes = {name: zeros + shared if name == "a" else np.array([0, 1]) if name == "s" else zeros for name in names}
        return ContingencyTable.from_cells(domain, dict.fromkeys(names, 0), codes, np.array([3, 4]))

    cube = DataCube([table("abs", 0), table("acs", 1)])
    collection = Collection.of(cube, [domain.mask(dict.fromkeys(names, 0)) for names in ("abs", "acs")])
    with pytest.raises(ContradictionError):
        sensitive_tree(collection, "s")
