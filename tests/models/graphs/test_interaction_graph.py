"""Interaction graphs are those of networkx; the allowed moves are those that lead to a valid decomposable collection."""

from itertools import combinations, permutations

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models import (
    AddEdge,
    AddVertex,
    Domain,
    Hierarchy,
    InteractionGraph,
    RemoveEdge,
    RemoveVertex,
    allowed_moves,
    describe,
)
from strategies import (
    NOT_DECOMPOSABLE,
    SHAPE_DOMAIN,
    SHAPES,
    decomposable_masks,
    domains,
    margins,
    maximal_cliques,
)

VERTEX_COUNT = 8


PLAIN = Domain.of({f"q{i}": Hierarchy.flat(["0", "1"]) for i in range(VERTEX_COUNT)})


"""Attributes without generalizations: vertex i is all there is of attribute i, so that any graph can be drawn."""


CYCLES = [[(i, (i + 1) % n) for i in range(n)] for n in range(3, VERTEX_COUNT + 1)]


def _graph(edges, vertices=()):
    return InteractionGraph.of(PLAIN, [*(1 << v for v in vertices), *(1 << a | 1 << b for a, b in edges)])


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


@given(st.data())
def test_the_graph_of_a_decomposable_collection_is_chordal_with_its_margins_as_cliques(data):
    domain = data.draw(domains())
    masks = data.draw(decomposable_masks(domain))
    graph = InteractionGraph.of(domain, masks)
    assert nx.is_chordal(graph.to_networkx())
    assert maximal_cliques(graph) == sorted(masks)


@given(networks(), st.sets(st.integers(0, VERTEX_COUNT - 1)))
def test_a_set_is_complete_exactly_when_all_its_pairs_are_adjacent(network, chosen):
    chosen &= set(network)
    complete = all(network.has_edge(a, b) for a, b in combinations(chosen, 2))
    assert _graph(network.edges, network).is_complete(_mask(chosen)) == complete


@given(networks(), st.sets(st.integers(0, VERTEX_COUNT - 1)))
def test_a_separator_cuts_exactly_the_pairs_that_no_path_joins_without_it(network, separator):
    graph = _graph(network.edges, network)
    rest = network.subgraph(set(network) - separator)
    for first, second in combinations(rest, 2):
        assert graph.separates(_mask(separator), first, second) != nx.has_path(rest, first, second)
    for end, other in permutations(network, 2):  # an end that lies in the separator is cut off
        if end in separator:
            assert graph.separates(_mask(separator), end, other)
            assert graph.separates(_mask(separator), other, end)


@given(networks(), st.data())
def test_the_parts_of_a_graph_are_those_of_networkx_and_stay_known_as_it_grows(network, data):
    graph = _graph(network.edges, network.nodes)
    for _ in range(data.draw(st.integers(0, 4), label="changes")):
        absent = [vertex for vertex in range(VERTEX_COUNT) if vertex not in network]
        apart = list(nx.non_edges(network))
        if absent and (not apart or data.draw(st.booleans())):
            vertex = data.draw(st.sampled_from(absent))
            others = data.draw(st.sets(st.sampled_from(sorted(network)))) if network else set()
            network.add_node(vertex)
            network.add_edges_from((vertex, other) for other in others)
            graph = graph.with_vertex(vertex, _mask(others))
        elif apart:
            pair = data.draw(st.sampled_from(sorted(apart)))
            network.add_edge(*pair)
            graph = graph.with_edge(*pair)
        else:
            break
        assert graph.known_parts is not None
        for one, other in permutations(network, 2):
            assert graph.separates(0, one, other) == (not nx.has_path(network, one, other))
    connected = {vertex: _mask(part) for part in nx.connected_components(network) for vertex in part}
    assert graph.parts == tuple(connected.get(vertex, 0) for vertex in range(VERTEX_COUNT))


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
    """Every addition or removal of a single vertex or edge."""
    count = domain.vertex_count
    yield from (kind(v) for kind in (AddVertex, RemoveVertex) for v in range(count))
    yield from (kind(v, w) for kind in (AddEdge, RemoveEdge) for v, w in combinations(range(count), 2))


def assert_moves_are_right(graph):
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


@st.composite
def graphs(draw):
    """The interaction graph of a valid decomposable collection."""
    domain = draw(domains())
    return InteractionGraph.of(domain, draw(decomposable_masks(domain)))


@given(graphs())
def test_a_move_is_allowed_exactly_where_it_leads_to_a_valid_decomposable_collection(graph):
    """KG06 6.2, both ways: over every pair of vertices, against chordality and cliques as networkx finds them."""
    assert_moves_are_right(graph)


@pytest.mark.parametrize("shape", sorted(SHAPES.keys() - NOT_DECOMPOSABLE))
def test_the_moves_from_every_decomposable_shape_are_right(shape):
    assert_moves_are_right(InteractionGraph.of(SHAPE_DOMAIN, map(SHAPE_DOMAIN.mask, SHAPES[shape])))


@given(graphs())
def test_an_added_edge_makes_one_clique_of_its_ends_and_their_separator(graph):
    for move in allowed_moves(graph):
        if isinstance(move, AddEdge):
            clique = move.clique(graph)
            assert clique == move.separator(graph) | 1 << move.first | 1 << move.second
            assert clique in maximal_cliques(move.apply(graph))
            assert clique not in maximal_cliques(graph)
            assert set(maximal_cliques(move.apply(graph))) == {
                clique,
                *(old for old in maximal_cliques(graph) if old & ~clique),
            }


def test_moves_are_described_in_levels():
    domain = Domain.of({"age": Hierarchy.from_intervals(["3"], [5, 10]), "sex": Hierarchy.flat(["f", "m"])})
    graph = InteractionGraph.of(domain, [domain.mask({"age": 1}), domain.mask({"sex": 0})])
    last_of_age, sex = 2, 3
    assert describe(AddVertex(last_of_age), graph) == "show age at level 0"
    assert describe(RemoveVertex(sex), graph) == "stop showing sex at level 0"
    assert describe(AddEdge(0, sex), graph) == "show age at level 2 with sex at level 0"
    assert describe(RemoveEdge(1, sex), graph) == "stop showing age at level 1 with sex at level 0"
