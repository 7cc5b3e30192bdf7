"""Interaction graphs are those of networkx, moves lead to valid collections, junction trees are there or refused."""

from functools import reduce
from itertools import combinations, permutations
from operator import or_

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models import (
    AddEdge,
    AddVertex,
    Collection,
    Domain,
    DomainMismatchError,
    Hierarchy,
    InteractionGraph,
    JunctionTree,
    NotDecomposableError,
    RemoveEdge,
    RemoveVertex,
    allowed_moves,
    describe,
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
    maximal_cliques,
    shape_cube,
)

VERTEX_COUNT = 8

PLAIN = Domain.of({f"q{i}": Hierarchy.flat(["0", "1"]) for i in range(VERTEX_COUNT)})
"""Attributes without generalizations: vertex i is all there is of attribute i, so that any graph can be drawn."""

CYCLES = [[(i, (i + 1) % n) for i in range(n)] for n in range(3, VERTEX_COUNT + 1)]


@st.composite
def networks(draw):
    """A graph on some of the vertices 0 .. 7: sparse or dense, connected or not, a long cycle with chords at times."""
    vertices = draw(st.sets(st.integers(0, VERTEX_COUNT - 1)))
    pairs = [pair for pair in combinations(sorted(vertices), 2) if draw(st.booleans())]
    network = nx.Graph()
    network.add_nodes_from(vertices)
    network.add_edges_from(pairs if draw(st.booleans()) else draw(st.sampled_from(CYCLES)) + pairs[:2])
    return network


def _mask(vertices):
    return sum(1 << vertex for vertex in vertices)


def _on_names(margins, domain):
    """The graph that margins generate, drawn from KG06 6.1 without masks."""
    graph = nx.Graph()
    for margin in margins:
        heights = {attribute: domain.hierarchy(attribute).height for attribute in margin}
        steps = [(a, step) for a, level in margin.items() for step in range(level, heights[a])]
        graph.add_nodes_from(steps)
        graph.add_edges_from(combinations(steps, 2))
    return graph


@given(st.data())
def test_two_induced_attributes_are_adjacent_exactly_when_a_margin_shows_both(data):
    domain = data.draw(domains())
    drawn = data.draw(st.lists(margins(domain), max_size=5))
    expected = _on_names(drawn, domain)
    graph = InteractionGraph.of(domain, map(domain.mask, drawn))
    assert nx.utils.graphs_equal(graph.to_networkx(), expected)
    names = domain.induced_attributes
    assert graph.vertices == _mask(vertex for vertex, name in enumerate(names) if name in expected)
    for first, second in combinations(range(domain.vertex_count), 2):
        adjacent = expected.has_edge(names[first], names[second])
        assert graph.has_edge(first, second) == graph.has_edge(second, first) == adjacent
    assert not any(graph.has_edge(vertex, vertex) for vertex in range(domain.vertex_count))
    assert InteractionGraph.of(domain, map(domain.mask, [*reversed(drawn), *drawn])) == graph


@given(networks(), st.sets(st.integers(0, VERTEX_COUNT - 1)))
def test_a_separator_cuts_exactly_the_pairs_that_no_path_joins_without_it(network, separator):
    graph = InteractionGraph.of(PLAIN, [*(1 << v for v in network), *(1 << a | 1 << b for a, b in network.edges)])
    rest = network.subgraph(set(network) - separator)
    for first, second in combinations(rest, 2):
        assert graph.separates(_mask(separator), first, second) != nx.has_path(rest, first, second)
    for end, other in permutations(network, 2):  # an end that lies in the separator is cut off
        if end in separator:
            assert graph.separates(_mask(separator), end, other)
            assert graph.separates(_mask(separator), other, end)


def steps(domain):
    """Attribute and number of the step, from 1, of each vertex: induced attributes as KG06 6.1 writes them."""
    return [(a, i) for a, hierarchy in domain.items() for i in range(1, len(hierarchy.labels))]


def network(graph):
    """The same graph, on vertices (attribute, step)."""
    names, result = steps(graph.domain), nx.Graph()
    result.add_nodes_from(name for v, name in enumerate(names) if graph.vertices >> v & 1)
    result.add_edges_from((names[v], names[w]) for v, w in combinations(range(len(names)), 2) if graph.has_edge(v, w))
    return result


def is_valid(candidate):
    """Chordal, and every maximal clique holds all coarser steps of each of its steps."""
    cliques = map(set, nx.find_cliques(candidate)) if len(candidate) else ()
    return nx.is_chordal(candidate) and all((a, j) in c for c in cliques for a, i in c for j in range(1, i))


def changed(move, domain, graph):
    """The graph that KG06 6.2 says a move leads to, or None where there is nothing to add or remove."""
    names, result = steps(domain), graph.copy()
    match move:
        case AddVertex(v) if names[v] not in graph:
            attribute, step = names[v]
            result.add_node(names[v])
            result.add_edges_from((names[v], (attribute, j)) for j in range(1, step))
            return result if set(result) == {*graph, names[v]} else None
        case RemoveVertex(v) if names[v] in graph:
            result.remove_node(names[v])
            return result
        case AddEdge(v, w) if names[v] in graph and names[w] in graph and not graph.has_edge(names[v], names[w]):
            result.add_edge(names[v], names[w])
            return result
        case RemoveEdge(v, w) if graph.has_edge(names[v], names[w]):
            result.remove_edge(names[v], names[w])
            return result
    return None


def conceivable(domain):
    count = domain.vertex_count
    yield from (kind(v) for kind in (AddVertex, RemoveVertex) for v in range(count))
    yield from (kind(v, w) for kind in (AddEdge, RemoveEdge) for v, w in combinations(range(count), 2))


@st.composite
def graphs(draw):
    domain = draw(domains())
    return InteractionGraph.of(domain, draw(decomposable_masks(domain)))


@given(graphs())
def test_a_move_is_allowed_exactly_where_it_leads_to_a_valid_decomposable_collection(graph):
    """KG06 6.2, both ways: over every pair of vertices, against chordality and cliques as networkx finds them."""
    before, moves = network(graph), list(allowed_moves(graph))
    allowed = set(moves)
    assert is_valid(before)
    assert len(moves) == len(allowed)
    assert moves == list(allowed_moves(InteractionGraph.of(graph.domain, reversed(maximal_cliques(graph)))))
    for move in conceivable(graph.domain):
        after = changed(move, graph.domain, before)
        leads_somewhere = after is not None and is_valid(after)
        assert move.is_allowed(graph) is leads_somewhere, describe(move, graph)
        assert (move in allowed) is leads_somewhere
        if leads_somewhere:
            assert nx.utils.graphs_equal(network(move.apply(graph)), after)


# Junction trees and collections: running intersection, and refusal exactly where there is no junction tree.


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
    network, place = InteractionGraph.of(domain, masks), domain.induced_attributes.index
    graph = network.to_networkx()
    nodes = sorted(graph.nodes)

    def separates(cut, one, other):
        apart = _mask(map(place, cut))
        return all(network.separates(apart, place(a), place(b)) for a in one for b in other)

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
