"""Limits on margins: what is refused is refused for good, asking about the new margin is enough, and others follow."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models import (
    AddEdge,
    AddVertex,
    Domain,
    Hierarchy,
    InteractionGraph,
    MarginLimits,
    NotDecomposableError,
    Position,
    Problem,
    Refusal,
    RefusalScope,
    SelectionError,
    Unconstrained,
    allowed_moves,
    from_independence,
)
from search_oracles import all_collections, is_finer, shows
from search_strategies import limits, private_problems, problems, small_domains
from strategies import SHAPE_DOMAIN, SHAPES, shape_cube

any_problem = problems() | private_problems()


@st.composite
def limited(draw):
    domain = draw(small_domains())
    return domain, draw(limits(domain))


def is_within(domain, limit, cliques):
    """By the definitions, margin by margin."""
    margins = [domain.margin(clique) for clique in cliques]
    return (
        all(limit.max_attributes is None or len(margin) <= limit.max_attributes for margin in margins)
        and all(limit.max_cells is None or domain.size(margin) <= limit.max_cells for margin in margins)
        and not any(shows(cliques, withheld) for withheld in limit.withheld)
    )


@settings(max_examples=60)
@given(limited())
def test_a_collection_is_allowed_exactly_within_the_limits(drawn):
    domain, limit = drawn
    collections = sorted(all_collections(domain), key=sorted)
    for place, cliques in enumerate(collections):
        assert Unconstrained()(cliques, 0) is None
        refusal = limit(cliques, 0)
        assert (refusal is None) is is_within(domain, limit, cliques)
        if refusal and place % 3 == 0:
            assert refusal.scope is RefusalScope.FINER
            assert all(limit(finer, 0) for finer in collections if is_finer(finer, cliques))


@settings(max_examples=60)
@given(any_problem)
def test_asking_about_the_new_margin_alone_is_enough_after_an_allowed_collection(problem):
    """As the search asks: for additions with the new margin, for removals with none. Verdicts on wholes are the same."""
    constraint, domain = problem.constraint, problem.cube.domain
    for cliques in sorted(all_collections(domain), key=sorted)[::4]:
        if constraint(cliques, 0) is not None:
            continue
        graph = InteractionGraph.of(domain, cliques)
        position = Position(problem.cube, graph, cliques, 0.0)
        for move in allowed_moves(graph):
            after, new = position.cliques_after(move), 0
            if isinstance(move, AddEdge | AddVertex):
                (new,) = after - cliques
            assert (constraint(after, new) is None) is (constraint(after, 0) is None)


@pytest.mark.parametrize(
    ("limit", "reason"),
    [
        ({"max_cells": 8}, "a margin of more than 8 cells"),
        ({"max_attributes": 1}, "a margin of more than 1 attributes"),
        ({"withheld": (1,)}, "a margin that shows a:1, which is to be withheld"),
    ],
)
def test_a_refusal_says_which_limit(limit, reason):
    nested = Hierarchy.from_rows([("u", "w", "*"), ("v", "w", "*"), ("x", "x", "*")])
    domain = Domain.of({"a": nested, "b": Hierarchy.flat("xyz")})
    base, one, asked = domain.mask({"a": 0, "b": 0}), domain.mask({"b": 0}), []

    def other(cliques, new):
        asked.append((cliques, new))
        return Refusal("other", RefusalScope.ITSELF)

    before_another = MarginLimits(domain, **limit, then=other)
    assert before_another([base], base) == (reason, RefusalScope.FINER)
    assert asked == []
    assert before_another([one], one) == Refusal("other", RefusalScope.ITSELF), "what they let pass is handed on"
    assert asked == [([one], one)]


@settings(max_examples=60)
@given(any_problem)
def test_the_independence_model_is_allowed_and_shows_single_attributes_besides_what_is_kept(problem):
    begun = from_independence(problem)
    domain = problem.cube.domain
    start = Position.of(problem.cube, begun.start).cliques
    assert start in all_collections(domain)
    assert problem.constraint(start, 0) is None
    assert is_finer(start, problem.kept)
    assert begun.kept == problem.kept
    if not problem.kept:
        assert all(len(domain.margin(mask)) == 1 for mask in start)
    free = from_independence(Problem(problem.cube))
    assert set(free.start) == {domain.mask({attribute: 0}) for attribute in domain.attributes}


def test_a_problem_whose_parts_do_not_fit_is_refused():
    """What is kept and where it starts must be decomposable, and the one within the other."""
    cube, mask = shape_cube(), SHAPE_DOMAIN.mask
    cycle = tuple(map(mask, SHAPES["cycle"]))
    for wrong in ({"kept": cycle}, {"start": cycle}):
        with pytest.raises(NotDecomposableError):
            Problem(cube, **wrong)
    with pytest.raises(SelectionError, match="kept"):
        Problem(cube, kept=(mask({"a": 0}),), start=(mask({"a": 1}), mask({"b": 0})))
    assert Problem(cube, kept=(mask({"a": 1}),), start=(mask({"a": 0}),)).initial == (mask({"a": 0}),)
