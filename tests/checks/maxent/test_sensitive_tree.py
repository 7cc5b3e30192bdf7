"""The sensitive tree: its class combinations are the published cells, and its factors the maxent distribution."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given

from checks import SensitiveTree, sensitive_tree
from filled_tables import filled, flat_domain, of_rows, published
from models import Collection, ContingencyTable, ContradictionError, DataCube
from privacy_oracles import Cell, cell_of, conditionals, finest, marginal, places_within, without
from privacy_strategies import sensitive_collections

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
    shown = finest(collection.margins)
    assert (tree is None) is (sensitive not in shown)
    if tree is None:
        return
    assert tree.level == shown[sensitive]
    assert tree.labels == collection.domain.hierarchy(sensitive).labels[shown[sensitive]]
    assert set(tree.tree.cliques) == set(sensitive_part(collection, sensitive).masks)
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


def test_combinations_are_counted_exactly_beyond_64_bits() -> None:
    names = [f"a{arm}" for arm in range(13)]
    table = of_rows(flat_domain(**dict.fromkeys(names, 60), s=1), [[code] * 13 + [0] for code in range(60)])
    tree = sensitive_tree(published(table, *({name: 0, "s": 0} for name in names)), "s")
    assert tree is not None
    assert tree.combination_count == 60**13


def test_two_arms_by_hand() -> None:
    """T(a, s) T(b, s) / T(s), added up from the cells 1 .. 8."""
    table = filled(flat_domain(a="xy", s="uv", b="xy"), range(1, 9))
    tree = sensitive_tree(published(table, "as", "sb"), "s")
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


def test_marginals_that_disagree_on_an_empty_class_are_refused() -> None:
    """Published by others: one table has rows where the other has none."""
    domain = flat_domain(a="xy", b="xy", c="xy", s="xy")
    zeros = np.zeros(2, dtype=np.intp)

    def table(names: str, shared: int) -> ContingencyTable:
        codes = {name: zeros + shared if name == "a" else np.array([0, 1]) if name == "s" else zeros for name in names}
        return ContingencyTable.from_cells(domain, dict.fromkeys(names, 0), codes, np.array([3, 4]))

    cube = DataCube([table("abs", 0), table("acs", 1)])
    collection = Collection.of(cube, [domain.mask(dict.fromkeys(names, 0)) for names in ("abs", "acs")])
    with pytest.raises(ContradictionError):
        sensitive_tree(collection, "s")
