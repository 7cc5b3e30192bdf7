"""Junction trees and collections: running intersection, and refusal exactly where there is no junction tree."""

from collections import Counter
from functools import reduce
from itertools import combinations
from operator import or_

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models import (
    Collection,
    Domain,
    DomainMismatchError,
    Hierarchy,
    InteractionGraph,
    JunctionTree,
    NotDecomposableError,
    equal_cells,
)
from strategies import (
    NOT_DECOMPOSABLE,
    SHAPE_DOMAIN,
    SHAPES,
    data_cubes,
    decomposable_masks,
    domains,
    margins,
    shape_cube,
)

PLAIN = Domain.of({f"q{i}": Hierarchy.flat(["0", "1"]) for i in range(7)})


def _is_decomposable(masks):
    """By definition: the graph is chordal, and each of its maximal cliques lies in some margin."""
    graph = nx.Graph()
    sets = [frozenset(v for v in range(mask.bit_length()) if mask >> v & 1) for mask in masks]
    for vertices in sets:
        graph.add_nodes_from(vertices)
        graph.add_edges_from(combinations(vertices, 2))
    cliques = map(frozenset, nx.find_cliques(graph))
    return nx.is_chordal(graph) and all(any(clique <= held for held in sets) for clique in cliques)


def _assert_has_a_junction_tree_or_is_refused(domain, masks):
    if not _is_decomposable(masks):
        with pytest.raises(NotDecomposableError, match="chordless cycle"):
            JunctionTree.of(domain, masks)
    else:
        tree = JunctionTree.of(domain, masks)
        maximal = {mask for mask in masks if mask and not any(mask != m and mask & m == mask for m in masks)}
        assert sorted(tree.cliques) == sorted(maximal)
        _assert_is_junction_tree(tree)


def _assert_is_junction_tree(tree):
    """Lauritzen, Graphical Models, 2.1.3: each clique meets all before it in what it shares with one of them."""
    assert len(tree.parents) == len(tree.separators) == len(tree.children) == len(tree.cliques)
    assert tree.vertices == reduce(or_, tree.cliques, 0)
    for i, (clique, parent, separator) in enumerate(zip(tree.cliques, tree.parents, tree.separators)):
        assert clique & reduce(or_, tree.cliques[:i], 0) == separator
        assert -1 <= parent < i
        assert (parent == -1) == (separator == 0)
        assert separator == 0 or separator == clique & tree.cliques[parent]
    assert {(p, c) for p, below in enumerate(tree.children) for c in below} == {
        (parent, child) for child, parent in enumerate(tree.parents) if parent >= 0
    }


@given(st.data())
def test_collections_are_refused_exactly_when_they_are_not_decomposable(data):
    """Random ones; decomposable ones; and close misses: one margin cut in two, or one margin too many."""
    domain = data.draw(domains())
    _assert_has_a_junction_tree_or_is_refused(domain, list(map(domain.mask, data.draw(st.lists(margins(domain))))))
    masks = list(data.draw(decomposable_masks(domain)))
    assert _is_decomposable(masks)
    _assert_has_a_junction_tree_or_is_refused(domain, masks)
    if masks and data.draw(st.booleans()):
        cut = masks.pop()
        low = cut & -cut
        masks += [cut & ~low, low | (cut & (cut - 1) & -(cut & (cut - 1)))]
    else:
        masks.append(domain.mask(data.draw(margins(domain))))
    _assert_has_a_junction_tree_or_is_refused(domain, masks)


@given(st.lists(st.sets(st.integers(0, 6), min_size=1, max_size=3), max_size=9))
def test_collections_of_small_margins_are_refused_exactly_when_they_are_not_decomposable(sets):
    """Long cycles come up among pairs and triangles of seven vertices."""
    _assert_has_a_junction_tree_or_is_refused(PLAIN, [sum(1 << vertex for vertex in vertices) for vertices in sets])


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_has_a_junction_tree_or_is_refused(shape):
    masks = list(map(SHAPE_DOMAIN.mask, SHAPES[shape]))
    assert _is_decomposable(masks) == (shape not in NOT_DECOMPOSABLE)
    _assert_has_a_junction_tree_or_is_refused(SHAPE_DOMAIN, masks)
    collection = Collection.of(shape_cube(), masks)
    assert collection.is_decomposable == (shape not in NOT_DECOMPOSABLE)
    if collection.is_decomposable:
        assert nx.is_chordal(collection.interaction_graph.to_networkx())
        assert set(collection.junction_tree.cliques) <= set(collection.masks)
    else:
        with pytest.raises(NotDecomposableError):
            _ = collection.junction_tree


@given(st.data())
def test_the_separators_are_those_of_a_maximum_spanning_tree(data):
    """Any junction tree has the same separators, each as many times (Lauritzen, Graphical Models, 2.1.3)."""
    domain = data.draw(domains())
    masks = data.draw(decomposable_masks(domain))
    tree = JunctionTree.of(domain, masks)
    inside = [mask & domain.mask(data.draw(margins(domain))) for mask in masks]
    again = data.draw(st.permutations([*masks, *masks, *inside, 0]))
    assert JunctionTree.of(domain, again) == tree, "order, repetition and contained margins change nothing"
    overlaps = nx.Graph()
    overlaps.add_nodes_from(tree.cliques)
    overlaps.add_edges_from((a, b, {"weight": (a & b).bit_count()}) for a, b in combinations(tree.cliques, 2) if a & b)
    spanning = nx.maximum_spanning_tree(overlaps)
    assert Counter(a & b for a, b in spanning.edges) == Counter(s for s in tree.separators if s)


@given(st.data())
def test_the_cliques_that_hold_some_vertices_form_a_junction_tree(data):
    domain = data.draw(domains())
    tree = JunctionTree.of(domain, data.draw(decomposable_masks(domain)))
    vertices = domain.mask(data.draw(margins(domain)))
    part = tree.containing(vertices)
    holding = [clique for clique in tree.cliques if clique & vertices == vertices]
    assert list(part.cliques) == holding
    _assert_is_junction_tree(part)
    if vertices and holding:
        assert part.parents.count(-1) == 1, "the cliques that share a vertex are connected"
    if not vertices:
        assert part == tree


@given(st.data())
def test_the_public_graph_is_a_forest_of_margins_joined_by_their_separators(data):
    domain = data.draw(domains())
    tree = JunctionTree.of(domain, data.draw(decomposable_masks(domain)))
    graph = tree.graph()
    assert [domain.mask(margin) for margin in tree.margins] == list(tree.cliques)
    assert list(graph) == list(tree.margins)
    assert len(graph) - graph.number_of_edges() == tree.parents.count(-1)
    assert not graph or nx.is_forest(graph)
    for one, other, separator in graph.edges(data="separator"):
        assert domain.mask(separator) == domain.mask(one) & domain.mask(other) != 0
    for vertex in range(domain.vertex_count):
        holding = [margin for margin in graph if domain.mask(margin) >> vertex & 1]
        assert not holding or nx.is_connected(graph.subgraph(holding))


@given(st.data())
def test_what_separates_two_complete_sets_is_published_and_coarser(data):
    """KG06 Theorem 6.2, by all subsets: a set-wise minimal separator of complete sets X and Y is complete; X and Y share no
    attribute; and of an attribute in X and C, all that X has is finer than all that C has.
    """
    domain = data.draw(domains(max_attributes=3))
    masks = data.draw(decomposable_masks(domain, 4))
    graph = InteractionGraph.of(domain, masks).to_networkx()
    nodes = sorted(graph.nodes)

    def separates(cut, one, other):
        left = graph.subgraph(set(nodes) - set(cut))
        return not any(nx.has_path(left, a, b) for a in one for b in other)

    complete = [set(own) for own in nx.enumerate_all_cliques(graph)]
    subsets = [set(own) for size in range(len(nodes) - 1) for own in combinations(nodes, size)]
    for one, other in data.draw(st.lists(st.tuples(*[st.sampled_from(complete)] * 2), max_size=5)) if complete else []:
        cutting = [c for c in subsets if not c & (one | other) and separates(c, one, other)] if not one & other else []
        for cut in (c for c in cutting if not any(smaller < c for smaller in cutting)):
            assert all(graph.has_edge(a, b) for a, b in combinations(cut, 2))
            assert not {a.attribute for a in one} & {b.attribute for b in other}
            for side in (one, other):
                assert all(a.level < c.level for a in side for c in cut if a.attribute == c.attribute)


@given(data_cubes(), st.data())
def test_a_collection_has_the_tables_of_its_margins_and_the_finest_levels_in_whatever_order(cube, data):
    drawn = [cube.domain.mask(margin) for margin in data.draw(st.lists(margins(cube.domain), max_size=5))]
    collection = Collection.of(cube, drawn)
    again = Collection.of(cube, data.draw(st.permutations([*drawn, 0, *drawn])))
    assert collection.masks == again.masks
    assert set(collection.masks) == set(drawn) - {0}
    assert [cube.domain.mask(margin) for margin in collection.margins] == list(collection.masks)
    base = cube.table(sum(cube.domain.attribute_masks))
    for margin, table in zip(collection.margins, collection.tables, strict=True):
        assert table.margin == margin
        assert equal_cells([table, base.rolled_up(margin)])
    for attribute, hierarchy in cube.domain.items():
        level = min((m[attribute] for m in collection.margins if attribute in m), default=hierarchy.height)
        assert collection.finest_level(attribute) == level
        assert collection.shows(attribute) == (level < hierarchy.height)
    with pytest.raises(DomainMismatchError, match="'hat'"):
        collection.finest_level("hat")
