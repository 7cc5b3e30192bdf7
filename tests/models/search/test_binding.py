"""What binds at the end of a search: of all neighbours of the collection those that would be better, and are refused."""

import pytest
from hypothesis import event, given, settings

from models import STRATEGIES, InteractionGraph, allowed_moves, describe
from search_oracles import Countdown, all_collections, never, random_searches_of, value
from search_strategies import private_problems, problems
from strategies import maximal_cliques


@pytest.fixture(scope="module", autouse=True)
def few_turns():
    """Random searches that end soon."""
    with random_searches_of(proposals=10, patience=2, population=4, generations=2):
        yield


def parts(domain, cliques):
    """The vertices of a collection's graph, and its edges, those within an attribute left out."""
    graph = InteractionGraph.of(domain, cliques)
    vertices = {v for v in range(domain.vertex_count) if graph.vertices >> v & 1}
    attribute = {v: domain.induced_attributes[v].attribute for v in vertices}
    edges = {
        (a, b) for a in vertices for b in vertices if a < b and graph.has_edge(a, b) and attribute[a] != attribute[b]
    }
    return vertices, edges


def is_one_step_off(domain, some, others):
    """One edge more or less; or one vertex more, alone but for its attribute, or less, with all its edges."""
    (some_vertices, some_edges), (vertices, edges) = parts(domain, some), parts(domain, others)
    if some_vertices == vertices:
        return len(some_edges ^ edges) == 1
    if len(some_vertices ^ vertices) != 1:
        return False
    (vertex,) = some_vertices ^ vertices
    return edges == {edge for edge in some_edges if vertex not in edge}


def refused_neighbours(problem, cliques):
    """The collections one step off that are better and not allowed, with the reason, each looked at."""
    domain, here = problem.cube.domain, value(problem.cube, cliques, problem.price)
    return {
        other: refusal.reason
        for other in all_collections(domain)
        if is_one_step_off(domain, cliques, other)
        and value(problem.cube, other, problem.price) < here - 1e-11
        and problem.is_kept(other)
        and (refusal := problem.constraint(other, 0)) is not None
    }


def assert_says_what_binds(problem, cliques):
    graph = InteractionGraph.of(problem.cube.domain, cliques)
    after = {describe(m, graph): frozenset(maximal_cliques(m.apply(graph))) for m in allowed_moves(graph)}
    binding = problem.binding(cliques, never)
    assert {after[move]: reason for move, reason in binding} == refused_neighbours(problem, cliques)
    assert len(dict(binding)) == len(binding)
    values = [value(problem.cube, after[move], problem.price) for move, _ in binding]
    assert values == pytest.approx(sorted(values), abs=1e-9)
    event(f"{min(len(binding), 3)} refused")


@pytest.mark.slow
@pytest.mark.parametrize("strategy", STRATEGIES)
@settings(max_examples=30)
@given(problem=problems())
def test_of_every_strategy_it_is_what_all_neighbours_say(strategy, problem):
    assert_says_what_binds(problem, STRATEGIES[strategy](problem, never).cliques)


@settings(max_examples=30)
@given(private_problems())
def test_it_is_what_all_neighbours_say_under_the_constraint_of_a_release(problem):
    assert_says_what_binds(problem, STRATEGIES["greedy"](problem, never).cliques)


@given(problems())
def test_where_the_time_is_over_nothing_is_said(problem):
    """Rather than a part of it."""
    counting = Countdown(10_000)
    whole = problem.binding(problem.initial, counting)
    for turns in range(0, counting.asked, 3):
        assert problem.binding(problem.initial, Countdown(turns)) is None
    assert problem.binding(problem.initial, Countdown(counting.asked)) == whole
