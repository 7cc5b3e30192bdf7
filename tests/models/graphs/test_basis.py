"""What an answer rests on, and which independences hold: linear algebra, and the maximum-entropy joint itself."""

from collections.abc import Mapping
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from brute_force import Array, iterative_proportional_fitting, joint_array, lifted
from models import Basis, Domain, Hierarchy, InteractionGraph, JunctionTree, Margin, NotDecomposableError, basis_of
from models.graphs.basis import NOT_ASKED, BasisKind, Distinction, bases_of_pairs
from models.graphs.junction_tree import independences
from privacy_oracles import base_table
from strategies import SHAPE_DOMAIN, SHAPES, decomposable_collections, domains


def over_base_cells(q, domain, mask):
    for axis, (hierarchy, level) in enumerate(zip(domain.hierarchies, domain.levels(mask).values())):
        lift = hierarchy.lift(0, level)
        together = (lift[:, None] == lift).astype(float)
        q = np.moveaxis(np.tensordot(together, q, (1, axis)), 0, axis)
    return q


@settings(max_examples=40)
@given(decomposable_collections(max_cells=60))
def test_independences_hold_in_the_maxent_distribution_and_are_all_of_the_graph(collection):
    """q(all) q(S)^(m-1) = product of q(part, S) at every cell; what is not adjacent is what a statement parts."""
    domain, p = collection.domain, joint_array(base_table(collection.cube)) / collection.cube.total
    q = iterative_proportional_fitting(p, domain, collection.margins)
    tree = collection.junction_tree
    graph, statements = InteractionGraph.of(domain, tree.cliques), independences(tree)
    for statement in statements:
        given_mass = over_base_cells(q, domain, statement.condition)
        together = over_base_cells(q, domain, statement.condition | sum(statement.parts))
        product = np.prod([over_base_cells(q, domain, statement.condition | part) for part in statement.parts], axis=0)
        assert np.allclose(together * given_mass ** (len(statement.parts) - 1), product, atol=1e-9)
    for pair in combinations([v for v in range(domain.vertex_count) if graph.vertices >> v & 1], 2):
        held = [[[bool(part >> v & 1) for part in s.parts] for v in pair] for s in statements]
        parted = any(any(one) and any(other) and not any(map(all, zip(one, other))) for one, other in held)
        assert parted != graph.has_edge(*pair)
    assert independences(JunctionTree.of(tree.domain, tree.cliques[::-1])) == statements


# What an answer rests on, against linear algebra on the marginals and the maximum-entropy joint itself.


Groups = Mapping[str, NDArray[np.intp]]


def drawn_margins(domain: Domain, rng: np.random.Generator) -> list[Margin]:
    """One to three margins of any shape, without what they suppress; a collection mostly without a junction tree."""
    margins = []
    for _ in range(rng.integers(1, 4)):
        kept = {a: int(rng.integers(0, h.height + 1)) for a, h in domain.items() if rng.random() < 0.7}
        margins.append(Margin({a: level for a, level in kept.items() if level < domain.hierarchy(a).height}))
    return margins


def drawn_groups(domain: Domain, rng: np.random.Generator) -> Groups:
    """Groups of base values of some attributes, of one, two or three, with or without values that are left out."""
    return {
        a: rng.integers(-1 if rng.random() < 0.5 else 0, rng.integers(1, 4), hierarchy.size(0))
        for a, hierarchy in domain.items()
        if rng.random() < 0.8
    }


def asked_of(domain: Domain, margins: list[Margin], groups: Groups) -> dict[str, Distinction]:
    levels = {a: min([m[a] for m in margins if a in m], default=h.height) for a, h in domain.items()}
    made = {a: Distinction.of_groups(domain.hierarchy(a), levels[a], own) for a, own in groups.items()}
    return {a: distinction for a, distinction in made.items() if distinction}


def asked_cells(domain: Domain, groups: Groups) -> list[NDArray[np.bool_]]:
    grids = dict(zip(domain.attributes, np.indices([h.size(0) for h in domain.hierarchies])))
    numbers = [sorted(set(own[own >= 0].tolist())) for own in groups.values()]
    everything = np.ones([h.size(0) for h in domain.hierarchies], dtype=np.bool_)
    return [
        np.logical_and.reduce([everything, *(groups[a][grids[a]] == n for a, n in zip(groups, chosen))])
        for chosen in product(*numbers)
    ]


def follows_by_equations(domain: Domain, margins: list[Margin], groups: Groups) -> bool:
    """Whether the count of each combination is a linear function of all published counts, by rank."""
    grids = dict(
        zip(domain.attributes, np.indices([h.size(0) for h in domain.hierarchies]).reshape(len(domain.attributes), -1))
    )
    columns = [np.ones((grids[domain.attributes[0]].size, 1))]
    for margin in margins:
        cells = np.stack(
            [
                np.zeros_like(next(iter(grids.values()))),
                *(lifted(domain.hierarchy(a), 0, m)[grids[a]] for a, m in margin.items()),
            ]
        )
        _, number = np.unique(cells, axis=1, return_inverse=True)
        columns.append(np.eye(number.max() + 1)[number.ravel()])
    design = np.hstack(columns)
    asked = np.stack(
        [cells.ravel().astype(float) for cells in asked_cells(domain, groups)] or [np.zeros(len(design))], axis=1
    )
    left = asked - design @ np.linalg.lstsq(design, asked, rcond=None)[0]
    return bool(np.abs(left).max(initial=0.0) < 1e-8)


def is_decomposable(domain: Domain, margins: list[Margin]) -> bool:
    try:
        JunctionTree.of(domain, map(domain.mask, margins))
    except NotDecomposableError:
        return False
    return True


def generic_joint(domain: Domain, margins: list[Margin], rng: np.random.Generator) -> Array:
    """The maximum-entropy joint of a table without a zero or any symmetry. Each step of fitting keeps its factors."""
    p = rng.random([h.size(0) for h in domain.hierarchies]) ** 2 + 0.01
    return iterative_proportional_fitting(p / p.sum(), domain, margins, sweeps=60)


def by_groups(joint: Array, domain: Domain, groups: Groups, names: tuple[str, ...]) -> Array:
    """Sums over groups of values of some attributes, for each combination of base values of the others (last axis)."""
    axes = [domain.attributes.index(name) for name in names]
    moved = np.moveaxis(joint, axes, range(len(axes)))
    for axis, name in enumerate(names):
        own = groups[name]
        if len(set(own[own >= 0].tolist())) == 1:
            own = (own >= 0).astype(np.intp)
        members = np.eye(own.max() + 1)[own] * (own >= 0)[:, None]
        moved = np.moveaxis(np.tensordot(moved, members[:, members.any(axis=0)], (axis, 0)), -1, axis)
    return moved.reshape(*moved.shape[: len(axes)], -1)


def is_uniform(joint: Array, domain: Domain, groups: Groups, name: str) -> bool:
    """Whether groups of one attribute have the shares of their numbers of base values, whatever the others are."""
    shares = by_groups(joint, domain, groups, (name,))
    even = by_groups(np.ones_like(joint), domain, groups, (name,))
    return bool(np.abs(shares / shares.sum(axis=0) - even / even.sum(axis=0)).max() < 1e-10)


def is_independent(joint: Array, domain: Domain, groups: Groups, pair: tuple[str, ...]) -> bool:
    """Whether two attributes have odds ratios of 1 between all groups, whatever the others are."""
    counts = by_groups(joint, domain, groups, pair)
    outer = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0, keepdims=True) / counts.sum(axis=(0, 1))
    return bool(np.abs(counts / outer - 1).max() < 1e-10)


@settings(max_examples=400)
@given(domains(max_cells=120), st.integers(0, 2**32 - 1))
def test_a_published_answer_follows_by_the_equations_of_the_marginals_and_no_other_does(
    domain: Domain, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    margins, groups = drawn_margins(domain, rng), drawn_groups(domain, rng)
    if not all((own >= 0).any() for own in groups.values()):
        return  # nobody is asked about, and that there is nobody needs no table
    asked = asked_of(domain, margins, groups)
    found = basis_of(margins, asked)
    assert (found.kind is BasisKind.PUBLISHED) == follows_by_equations(domain, margins, groups)
    singly = [((a, b), basis_of(margins, {a: asked[a], b: asked[b]})) for a, b in combinations(asked, 2)]
    assert list(bases_of_pairs(margins, asked)) == singly


@settings(max_examples=400)
@given(domains(max_cells=120), st.integers(0, 2**32 - 1))
def test_assumed_is_what_the_maximum_entropy_joint_makes_independent_or_even_for_any_data(
    domain: Domain, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    margins, groups = drawn_margins(domain, rng), drawn_groups(domain, rng)
    is_asked = {a: (own >= 0).any() and len({*np.maximum(own, NOT_ASKED).tolist()}) > 1 for a, own in groups.items()}
    groups = {a: own for a, own in groups.items() if is_asked[a]}
    joint = generic_joint(domain, margins, rng)
    alone = [(a,) for a in groups if is_uniform(joint, domain, groups, a)]
    others = [a for a in groups if (a,) not in alone]
    pairs = [pair for pair in combinations(others, 2) if is_independent(joint, domain, groups, pair)]
    found = basis_of(margins, asked_of(domain, margins, groups))
    if alone or pairs:
        assert found.kind is BasisKind.ASSUMED
        assert found.assumed == (*alone, *pairs)
        assert not found
    else:
        assert all(len(group) > 2 for group in found.assumed)
        assert not (found.assumed and is_decomposable(domain, margins)), "single attributes and pairs say it all"


def test_three_attributes_by_twos_do_not_interact_all_three() -> None:
    margins = [Margin(margin) for margin in SHAPES["triangle without its clique"]]
    asked = {a: Distinction.of_level(SHAPE_DOMAIN.hierarchy(a), 0) for a in "abc"}
    found = basis_of(margins, {a: distinction for a, distinction in asked.items() if distinction})
    assert found.kind is BasisKind.ASSUMED
    assert found.assumed == (("a", "b", "c"),)
    joint = generic_joint(SHAPE_DOMAIN, margins, np.random.default_rng(1))
    logs = np.log(joint.sum(axis=SHAPE_DOMAIN.attributes.index("d")))
    for axis in range(3):
        logs = np.diff(logs, axis=axis)
    assert np.abs(logs).max() < 1e-10


AGES = Hierarchy.from_rows([("1", "1-2", "*"), ("2", "1-2", "*"), ("3", "3-4", "*"), ("4", "3-4", "*")])


def test_what_asks_nothing_needs_no_table() -> None:
    for groups in (np.zeros(4, dtype=np.intp), np.full(4, -1)):
        assert Distinction.of_groups(AGES, 1, groups) is None
    for level in range(AGES.height + 1):
        groups = AGES.lift(0, level).astype(np.intp)
        assert Distinction.of_level(AGES, level) == Distinction.of_groups(AGES, 0, groups)
    assert Distinction.of_level(AGES, 2) is None
    assert basis_of([], {}).kind is BasisKind.PUBLISHED


def test_the_finest_tables_are_shown() -> None:
    margins = [Margin({"a": 0, "c": 1}), Margin({"a": 1, "c": 1, "b": 0}), Margin({"a": 1, "c": 0})]
    asked = {"a": Distinction(0, 1), "c": Distinction(0, 1)}
    found = basis_of(margins, asked)
    assert found == Basis(BasisKind.SUPPORTED, (margins[0], margins[2]))


def test_assumed_is_never_without_its_word() -> None:
    for kind, assumed in ((BasisKind.ASSUMED, ()), (BasisKind.SUPPORTED, (("a", "b"),))):
        with pytest.raises(ValueError, match="if and only if"):
            Basis(kind, (), assumed)
