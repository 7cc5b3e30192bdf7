"""Collapsing: what is left has the distribution of the attributes asked about, and nothing smaller always has it."""

from functools import reduce
from operator import or_

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from brute_force import dense_marginal, iterative_proportional_fitting, joint_array
from models import (
    AddEdge,
    AddVertex,
    Collection,
    DataCube,
    Domain,
    Hierarchy,
    InteractionGraph,
    JunctionTree,
    allowed_moves,
    maximal_masks,
)
from models.graphs.junction_tree import collapsed, sides
from privacy_oracles import base_table
from strategies import contingency_tables, decomposable_collections, decomposable_masks, domains, maximal_cliques


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
    cube = DataCube([data.draw(contingency_tables(domain))])
    shape = [hierarchy.size(0) for hierarchy in domain.hierarchies]
    cells = dict(zip(domain.attributes, np.indices(shape).reshape(len(shape), -1)))
    counts = rng.integers(50, 5_000, np.prod(shape))
    cube = DataCube([type(cube.table(0)).from_cells(domain, dict.fromkeys(domain.attributes, 0), cells, counts)])
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


def test_one_more_vertex_concerns_its_own_attribute_alone():
    domain = Domain.of({"a": Hierarchy.from_rows([("u", "w", "*"), ("v", "w", "*")]), "b": Hierarchy.flat("xy")})
    masks = [domain.mask({"a": 1, "b": 0})]
    graph = InteractionGraph.of(domain, masks)
    (move,) = (move for move in allowed_moves(graph) if isinstance(move, AddVertex))
    before, after = (JunctionTree.of(domain, m) for m in (masks, maximal_cliques(move.apply(graph))))
    assert collapsed(before, domain.mask({"b": 0})) == collapsed(after, domain.mask({"b": 0}))
    assert collapsed(before, domain.mask({"a": 0})) != collapsed(after, domain.mask({"a": 0}))


@pytest.mark.parametrize("onto", [{}, {"c": 0}])
def test_of_what_no_clique_holds_nothing_is_left(onto):
    domain = Domain.of({name: Hierarchy.flat("xy") for name in "abc"})
    tree = JunctionTree.of(domain, [domain.mask({"a": 0, "b": 0})])
    assert collapsed(tree, domain.mask(onto)) == frozenset()
