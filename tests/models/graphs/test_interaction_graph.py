"""Interaction graphs: adjacency, completeness and separation are what networkx says of the same graph."""

from itertools import combinations, permutations

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models import Domain, Hierarchy, InteractionGraph
from models.tables.hierarchy import InducedAttribute
from strategies import NOT_DECOMPOSABLE, SHAPE_DOMAIN, SHAPES, decomposable_masks, domains, margins, maximal_cliques

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
        steps = [InducedAttribute(a, step) for a, level in margin.items() for step in range(level, heights[a])]
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


@given(st.data())
def test_the_graph_of_a_decomposable_collection_is_chordal_with_its_margins_as_cliques(data):
    domain = data.draw(domains())
    masks = data.draw(decomposable_masks(domain))
    graph = InteractionGraph.of(domain, masks)
    assert nx.is_chordal(graph.to_networkx())
    assert maximal_cliques(graph) == sorted(masks)


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_has_the_graph_of_its_drawing(shape):
    graph = InteractionGraph.of(SHAPE_DOMAIN, map(SHAPE_DOMAIN.mask, SHAPES[shape]))
    assert nx.utils.graphs_equal(graph.to_networkx(), _on_names(SHAPES[shape], SHAPE_DOMAIN))


def test_the_shapes_without_junction_tree_are_of_both_kinds():
    chordal = {shape: nx.is_chordal(_on_names(SHAPES[shape], SHAPE_DOMAIN)) for shape in SHAPES}
    assert {shape for shape in NOT_DECOMPOSABLE if not chordal[shape]} == {"cycle", "cycle through generalized values"}


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


@given(networks(), st.sets(st.integers(0, VERTEX_COUNT - 1), min_size=1))
def test_a_separator_that_holds_an_end_meets_every_path_from_it(network, separator):
    graph = _graph(network.edges, network)
    for end, other in permutations(network, 2):
        if end in separator:
            assert graph.separates(_mask(separator), end, other)
            assert graph.separates(_mask(separator), other, end)


def test_the_order_and_repetition_of_margins_do_not_matter():
    masks = [0b011, 0b110, 0b011, 0b010]
    assert InteractionGraph.of(PLAIN, masks) == InteractionGraph.of(PLAIN, reversed(masks))


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
