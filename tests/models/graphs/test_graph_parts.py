"""Parts of graphs: collapsing, cyclic parts, decomposable parts, elimination and independences, against plain sets."""

from collections.abc import Callable, Set
from functools import reduce
from itertools import combinations
from operator import or_

import numpy as np
import pytest
from hypothesis import event, example, given, settings
from hypothesis import strategies as st

from brute_force import dense_marginal, iterative_proportional_fitting, joint_array
from models import (
    AddEdge,
    CodedCells,
    Collection,
    ContingencyTable,
    DataCube,
    Domain,
    Hierarchy,
    InteractionGraph,
    JunctionTree,
    Margin,
    Mask,
    NotDecomposableError,
    Support,
    allowed_moves,
)
from models.graphs.interaction_graph import elimination_cliques
from models.graphs.junction_tree import (
    collapsed,
    cyclic_parts,
    decomposable_part,
    independences,
    maximal_masks,
    sides,
)
from privacy_oracles import base_table
from strategies import (
    NOT_DECOMPOSABLE,
    SHAPE_DOMAIN,
    SHAPES,
    data_cubes,
    decomposable_collections,
    decomposable_masks,
    domains,
    margins,
    maximal_cliques,
    shape_cube,
)


def attributes_of(data, domain):
    """Some attributes, and all their induced attributes."""
    chosen = data.draw(st.sets(st.sampled_from(domain.attributes), min_size=1))
    return sorted(chosen), domain.mask(dict.fromkeys(chosen, 0))


def marginal(collection, chosen):
    """Of the maxent joint, which iterative fitting finds."""
    domain, p = collection.domain, joint_array(base_table(collection.cube)) / collection.cube.total
    q = iterative_proportional_fitting(p, domain, collection.margins)
    return dense_marginal(q, domain, dict.fromkeys(chosen, 0))


@settings(max_examples=60)
@given(decomposable_collections(max_cells=100), st.data())
def test_the_part_has_the_same_distribution_of_what_is_asked(collection, data):
    chosen, onto = attributes_of(data, collection.domain)
    part = collapsed(collection.junction_tree, onto)
    smaller = Collection.of(collection.cube, part)
    assert smaller.is_decomposable
    assert sorted(part) == sorted(maximal_masks(part))
    assert np.allclose(marginal(smaller, chosen), marginal(collection, chosen), atol=1e-9)
    event("smaller" if part < frozenset(collection.masks) else "changed or whole")


@given(domains(), st.data())
def test_no_order_of_taking_away_leaves_less(domain, data):
    """By networkx: as long as there is one, take away any vertex not asked about whose neighbours are complete."""
    masks = data.draw(decomposable_masks(domain))
    _, onto = attributes_of(data, domain)
    graph = InteractionGraph.of(domain, masks).to_networkx()
    asked = {domain.induced_attributes[v] for v in range(domain.vertex_count) if onto >> v & 1}
    while True:
        loose = [
            v
            for v in graph
            if v not in asked and all(graph.has_edge(a, b) for a in graph[v] for b in graph[v] if a != b)
        ]
        if not loose:
            break
        graph.remove_node(data.draw(st.sampled_from(sorted(loose))))
    part = collapsed(JunctionTree.of(domain, masks), onto)
    names = domain.induced_attributes
    assert {names[v] for v in range(domain.vertex_count) if reduce(or_, part, 0) >> v & 1} == set(graph)
    assert InteractionGraph.of(domain, part).to_networkx().edges == graph.edges


@settings(max_examples=60)
@given(domains(max_cells=60), st.data())
def test_an_edge_concerns_exactly_the_attributes_whose_distribution_it_changes(domain, data):
    """On tables without structure: what an addition does not concern has the distribution of before, all else another."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    shape = [hierarchy.size(0) for hierarchy in domain.hierarchies]
    cells = dict(zip(domain.attributes, np.indices(shape).reshape(len(shape), -1)))
    counts = rng.integers(50, 5_000, np.prod(shape))
    cube = DataCube([ContingencyTable.from_cells(domain, dict.fromkeys(domain.attributes, 0), cells, counts)])
    masks = data.draw(decomposable_masks(domain))
    graph = InteractionGraph.of(domain, masks)
    chosen, onto = attributes_of(data, domain)
    before = Collection.of(cube, maximal_masks(masks))
    for move in allowed_moves(graph):
        if not isinstance(move, AddEdge):
            continue
        after = Collection.of(cube, maximal_cliques(move.apply(graph)))
        moved = np.abs(marginal(after, chosen) - marginal(before, chosen)).max()
        same = collapsed(before.junction_tree, onto) == collapsed(after.junction_tree, onto)
        assert all(onto & beyond for beyond in sides(graph, move.first, move.second)) == (not same)
        if same:
            assert moved < 1e-9
        elif moved < 1e-9:
            event("changed by nothing that shows")
        else:
            event("changed")


@pytest.mark.parametrize("onto", [{}, {"c": 0}])
def test_of_what_no_clique_holds_nothing_is_left(onto):
    domain = Domain.of({name: Hierarchy.flat("xy") for name in "abc"})
    tree = JunctionTree.of(domain, [domain.mask({"a": 0, "b": 0})])
    assert collapsed(tree, domain.mask(onto)) == frozenset()


@given(st.data())
def test_nothing_cyclic_is_left_exactly_of_a_decomposable_collection(data: st.DataObject) -> None:
    cube = data.draw(data_cubes(max_cells=40))
    drawn = [data.draw(margins(cube.domain)) for _ in range(data.draw(st.integers(1, 5)))]
    shape = data.draw(st.sampled_from(sorted(SHAPES)))
    assert cyclic_parts(Collection.of(cube, data.draw(decomposable_masks(cube.domain)))) == ()
    of_shape = Collection.of(shape_cube(), map(SHAPE_DOMAIN.mask, SHAPES[shape]))
    assert bool(cyclic_parts(of_shape)) is (shape in NOT_DECOMPOSABLE)
    collection = Collection.of(cube, map(cube.domain.mask, drawn))
    parts = cyclic_parts(collection)
    assert (parts == ()) is collection.is_decomposable
    for part in parts:
        assert set(part.masks) <= set(collection.masks)
        assert not part.is_decomposable


def test_two_cycles_are_two_parts_and_what_hangs_on_them_is_none() -> None:
    cube = shape_cube()
    pairs = [{"a": 0, "b": 0}, {"b": 0, "c": 1}, {"a": 0, "c": 1}, {"c": 0, "d": 0}]
    collection = Collection.of(cube, [cube.domain.mask(pair) for pair in pairs])
    (part,) = cyclic_parts(collection)
    assert [dict(margin) for margin in part.margins] == [dict(m) for m in collection.margins if "d" not in m]


def test_a_margin_that_a_support_links_to_others_is_left() -> None:
    cube = shape_cube()
    cells = CodedCells(cube.domain, Margin({"a": 0, "b": 0}), {"a": np.array([0, 1]), "b": np.array([1, 0])}, 2)
    masks = [cube.domain.mask({name: 0}) for name in "abd"]
    (part,) = cyclic_parts(Collection.of(cube, masks, [Support(cells, np.ones(2))]))
    assert [dict(margin) for margin in part.margins] == [{"a": 0}, {"b": 0}] or len(part.masks) == 2
    assert len(part.supports) == 1
    assert cyclic_parts(Collection.of(cube, masks)) == ()


FLAT = Domain.of({name: Hierarchy.flat("xy") for name in "abcdefghij"})


def brute_force(domain: Domain, masks: list[Mask]) -> tuple[Mask, ...]:
    taken: list[Mask] = []
    for mask in dict.fromkeys(masks):
        try:
            JunctionTree.of(domain, [*taken, mask])
        except NotDecomposableError:
            continue
        taken.append(mask)
    return tuple(taken)


Sets = list[frozenset[str]]


sets = st.lists(st.frozensets(st.sampled_from("abcdefgh"), min_size=1, max_size=4), max_size=9)


def step_by_step(given_sets: Sets, allowed: Callable[[Set[str]], bool]) -> Sets | None:
    """Of the vertices whose clique is allowed, the one that adds the fewest edges is taken out, ties by name."""
    edges = {frozenset(pair) for each in given_sets for pair in combinations(each, 2)}
    left, cliques = set().union(*given_sets), []
    while left:
        around = {vertex: {other for other in left if frozenset((vertex, other)) in edges} for vertex in left}
        missing = {
            vertex: [pair for pair in combinations(around[vertex], 2) if frozenset(pair) not in edges]
            for vertex in left
            if allowed(around[vertex] | {vertex})
        }
        if not missing:
            return None
        chosen = min(missing, key=lambda vertex: (len(missing[vertex]), vertex))
        edges |= set(map(frozenset, missing[chosen]))
        cliques.append(frozenset(around[chosen] | {chosen}))
        left.remove(chosen)
    return cliques


def maximal(cliques: Sets | None) -> set[frozenset[str]] | None:
    return None if cliques is None else {own for own in cliques if not any(own < other for other in cliques)}


def over_base_cells(q, domain, mask):
    """The probability of the coarser cell that each base cell lies in."""
    for axis, (hierarchy, level) in enumerate(zip(domain.hierarchies, domain.levels(mask).values())):
        lift = hierarchy.lift(0, level)
        together = (lift[:, None] == lift).astype(float)
        q = np.moveaxis(np.tensordot(together, q, (1, axis)), 0, axis)
    return q


@settings(max_examples=100)
@given(
    st.lists(st.integers(1, 1023), max_size=14),
    domains().flatmap(lambda d: st.tuples(st.just(d), st.lists(margins(d)))),
)
@example([0b101, 0b110, 0b111 << 1 | 1], (FLAT, []))
@example([0b10101, 0b101010, 0b001111], (FLAT, []))
def test_margins_are_taken_as_long_as_they_have_a_junction_tree(
    masks: list[Mask], drawn: tuple[Domain, list[dict[str, int]]]
) -> None:
    domain, listed = drawn
    leveled = [mask for margin in listed if (mask := domain.mask(margin))]
    assert decomposable_part(masks) == brute_force(FLAT, masks)
    assert decomposable_part(leveled) == brute_force(domain, leveled)


@given(sets, st.none() | st.lists(st.frozensets(st.sampled_from("abcdefgh")), max_size=3))
def test_the_maximal_cliques_are_those_of_elimination_step_by_step(given_sets: Sets, complete: Sets | None) -> None:
    """Of all cliques, or of the allowed ones."""

    def allowed(clique: Set[str]) -> bool:
        return complete is None or any(clique <= own for own in complete)

    found = elimination_cliques(given_sets) if complete is None else elimination_cliques(given_sets, allowed)
    assert maximal(found) == maximal(step_by_step(given_sets, allowed))
    assert all(map(allowed, found or []))
    assert len(found or []) == len(set(found or []))


@settings(max_examples=40)
@given(decomposable_collections(max_cells=60))
def test_independences_hold_in_the_maxent_distribution_and_are_all_of_the_graph(collection):
    """q(all) q(S)^(m-1) = product of q(part, S) at every cell; what is not adjacent is what a statement parts."""
    domain, p = collection.domain, joint_array(base_table(collection.cube)) / collection.cube.total
    q = iterative_proportional_fitting(p, domain, collection.margins)
    tree = collection.junction_tree
    graph, statements = InteractionGraph.of(domain, tree.cliques), independences(tree)
    for statement in statements:
        given_mass = over_base_cells(q, domain, statement.given)
        together = over_base_cells(q, domain, statement.given | sum(statement.parts))
        product = np.prod([over_base_cells(q, domain, statement.given | part) for part in statement.parts], axis=0)
        assert np.allclose(together * given_mass ** (len(statement.parts) - 1), product, atol=1e-9)
    for pair in combinations([v for v in range(domain.vertex_count) if graph.vertices >> v & 1], 2):
        held = [[[bool(part >> v & 1) for part in s.parts] for v in pair] for s in statements]
        parted = any(any(one) and any(other) and not any(map(all, zip(one, other))) for one, other in held)
        assert parted != graph.has_edge(*pair)
    assert independences(JunctionTree.of(tree.domain, tree.cliques[::-1])) == statements
