"""Moves: the allowed ones are exactly those that lead from a valid decomposable collection to another."""

from itertools import combinations

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models import (
    AddEdge,
    AddVertex,
    Collection,
    DataCube,
    Domain,
    Hierarchy,
    InteractionGraph,
    MaximumEntropy,
    RemoveEdge,
    RemoveVertex,
    allowed_moves,
    describe,
)
from strategies import (
    NOT_DECOMPOSABLE,
    SHAPE_DOMAIN,
    SHAPES,
    data_cubes,
    decomposable_collections,
    decomposable_masks,
    domains,
    maximal_cliques,
)


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
    before, allowed = network(graph), set(allowed_moves(graph))
    assert is_valid(before)
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


@given(graphs(), st.data())
def test_after_many_moves_the_collection_is_still_decomposable(graph, data):
    for _ in range(12):
        moves = list(allowed_moves(graph))
        if moves:
            graph = data.draw(st.sampled_from(moves)).apply(graph)
    assert is_valid(network(graph))
    margins = [graph.domain.margin(clique) for clique in maximal_cliques(graph)]
    assert InteractionGraph.of(graph.domain, map(graph.domain.mask, margins)) == graph


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


@given(graphs())
def test_every_move_can_be_taken_back(graph):
    """A vertex is removed with its edges, so that only its return to the coarser steps alone is one move."""
    inverse = {AddEdge: RemoveEdge, RemoveEdge: AddEdge, AddVertex: RemoveVertex}
    for move in allowed_moves(graph):
        if type(move) in inverse:
            back = inverse[type(move)](*vars(move).values())
            assert back.is_allowed(move.apply(graph))
            assert back.apply(move.apply(graph)) == graph


@given(graphs())
def test_adding_moves_lead_from_nothing_to_every_collection(graph):
    """Taking moves back one by one, something can always be removed: the whole space is connected (KG06 6.2)."""
    while graph.vertices:
        removing = [move for move in allowed_moves(graph) if isinstance(move, RemoveVertex | RemoveEdge)]
        assert removing
        graph = removing[0].apply(graph)
    assert not any(graph.neighbors)


@given(graphs())
def test_moves_come_in_a_reproducible_order_without_repeats(graph):
    moves = list(allowed_moves(graph))
    assert moves == list(allowed_moves(InteractionGraph.of(graph.domain, reversed(maximal_cliques(graph)))))
    assert len(moves) == len(set(moves))


@given(decomposable_collections())
def test_adding_never_raises_the_divergence_and_removing_never_lowers_it(collection):
    """KG06 Theorem 6.3, move by move."""
    graph = collection.interaction_graph
    before = MaximumEntropy(collection).kl_divergence
    for move in allowed_moves(graph):
        after = MaximumEntropy(Collection.of(collection.cube, maximal_cliques(move.apply(graph)))).kl_divergence
        if isinstance(move, AddVertex | AddEdge):
            assert after <= before + 1e-12
        else:
            assert after >= before - 1e-12


@given(data_cubes())
def test_from_nothing_only_first_steps_can_be_shown_and_from_the_base_table_only_last_ones_hidden(cube: DataCube):
    domain = cube.domain
    nothing = InteractionGraph.of(domain, [])
    everything = InteractionGraph.of(domain, [sum(domain.attribute_masks)])
    ends = list(zip(domain.offsets, domain.offsets[1:]))
    assert list(allowed_moves(nothing)) == [AddVertex(first) for first, _ in ends]
    last = [end - 1 for _, end in ends]
    expected = {*map(RemoveVertex, last), *(RemoveEdge(v, w) for v, w in combinations(last, 2))}
    assert set(allowed_moves(everything)) == expected


def test_moves_are_described_in_levels():
    domain = Domain.of({"age": Hierarchy.from_intervals(["3"], [5, 10]), "sex": Hierarchy.flat(["f", "m"])})
    graph = InteractionGraph.of(domain, [domain.mask({"age": 1}), domain.mask({"sex": 0})])
    last_of_age, sex = 2, 3
    assert describe(AddVertex(last_of_age), graph) == "show age at level 0"
    assert describe(RemoveVertex(sex), graph) == "stop showing sex at level 0"
    assert describe(AddEdge(0, sex), graph) == "show age at level 2 with sex at level 0"
    assert describe(RemoveEdge(1, sex), graph) == "stop showing age at level 1 with sex at level 0"
