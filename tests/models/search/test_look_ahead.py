"""Look-ahead: pairs of attributes that say little of each other at coarse levels are not forgotten."""

from dataclasses import replace
from math import log

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from models import (
    AddEdge,
    AddVertex,
    ContingencyTable,
    DataCube,
    Domain,
    Hierarchy,
    LikelihoodRatio,
    MarginLimits,
    Problem,
    Refusal,
    RefusalScope,
    SelectionError,
    allowed_moves,
    exact,
    forward,
)
from models.search import look_ahead, polished
from models.search.greedy import Prospects, preferring
from search_oracles import Countdown, never
from search_strategies import private_problems, problems

any_problem = problems() | private_problems()


def hidden_pair() -> Problem:
    """Two attributes that determine each other, and of which the coarse values are nearly independent.

    A third one tells a little of each, at once. Every margin may have two attributes, no attribute may be in two margins.
    """
    nested = Hierarchy.from_rows([("p1", "p", "*"), ("p2", "p", "*"), ("q1", "q", "*"), ("q2", "q", "*")])
    domain = Domain.of({"school": nested, "trade": nested, "age": Hierarchy.flat(["young", "old"])})
    trade_of = [0, 2, 1, 3]
    codes = {"school": [s for s in range(4) for _ in range(2)], "age": [0, 1] * 4}
    codes["trade"] = [trade_of[s] for s in codes["school"]]
    counts = [12, 9, 11, 9, 9, 11, 9, 11]
    columns = {name: np.array(codes[name]) for name in domain.attributes}
    cube = DataCube(
        [ContingencyTable.from_cells(domain, dict.fromkeys(domain.attributes, 0), columns, np.array(counts))]
    )

    def apart(cliques, _):
        """One attribute has one partner."""
        partners = [set(domain.margin(clique)) for clique in cliques if len(domain.margin(clique)) > 1]
        if any(one & other for place, one in enumerate(partners) for other in partners[:place] if one != other):
            return Refusal("two partners", RefusalScope.LONGER)
        return None

    return Problem(cube, MarginLimits(domain, max_attributes=2, then=apart))


def test_a_pair_that_says_little_at_coarse_levels_is_found():
    """Forward search by gain joins the age with one of the two, which have two bits in common."""
    problem = hidden_pair()
    found, by_gain = look_ahead(problem, never), forward(problem, never)
    assert found.value == pytest.approx(exact(problem, never).value, abs=1e-12)
    assert by_gain.value > found.value + log(2)


@settings(max_examples=60)
@given(any_problem)
def test_it_is_no_worse_than_greedy_search_polished(problem):
    """And says how often it asked."""
    found, by_gain = look_ahead(problem, never), polished(forward(problem, never), problem, never)
    assert found.value <= by_gain.value + 1e-12
    assert found.evaluated >= by_gain.evaluated
    event("better" if found.value < by_gain.value - 1e-9 else "equal")


@settings(max_examples=60)
@given(any_problem, st.integers(0, 60))
def test_in_the_same_time_it_is_no_worse_than_greedy_search(problem, turns):
    assert look_ahead(problem, Countdown(turns)).value <= forward(problem, Countdown(turns)).value + 1e-12


@given(any_problem)
def test_prospects_are_the_largest_information_of_an_allowed_margin(problem):
    """All finer margins looked at; the constraint allows what is coarser than what it allows."""
    cube, domain = problem.cube, problem.cube.domain
    entropy, prospects = cube.entropy, Prospects(problem, never)
    for move in allowed_moves(problem.position(problem.initial).graph):
        if not isinstance(move, AddEdge):
            assert prospects.added(move, 1.0) == 1.0 if isinstance(move, AddVertex) else True
            continue

        def margins(vertex):
            own = domain.coarser_steps(vertex) | 1 << vertex
            yield own
            for step in range(vertex + 1, domain.vertex_count):
                if domain.finer_steps(vertex) >> step & 1:
                    own |= 1 << step
                    yield own

        pairs = [(one, other) for one in margins(move.first) for other in margins(move.second)]
        allowed = {pair: not problem.refuses(pair[0] | pair[1]) for pair in pairs}
        if any(allowed[fine] and not allowed[coarse] for fine in pairs for coarse in pairs if _coarser(coarse, fine)):
            continue
        information = {pair: entropy(pair[0]) + entropy(pair[1]) - entropy(pair[0] | pair[1]) for pair in pairs}
        most = max([information[pair] for pair in pairs if allowed[pair]] + [information[pairs[0]]])
        assert prospects.added(move, 0.25) == pytest.approx(0.25 + most - information[pairs[0]], abs=1e-12)
        assert prospects.lesser(move, 0.25) <= prospects.added(move, 0.25)


def _coarser(one, other):
    return not (one[0] & ~other[0] or one[1] & ~other[1])


def test_when_it_is_time_to_stop_nothing_more_is_looked_at():
    problem = hidden_pair()
    prospects = Prospects(problem, lambda: True)
    move = next(m for m in allowed_moves(problem.position((1, 4)).graph) if isinstance(m, AddEdge))
    assert (prospects.added(move, 0.5), prospects.scaled(move, 0.5), prospects.evaluated) == (0.5, 0.5, 0)


def test_it_refuses_what_has_no_best_model():
    problem = hidden_pair()
    with pytest.raises(SelectionError, match="no best model"):
        look_ahead(replace(problem, objective=LikelihoodRatio(problem.cube.total)), never)


def test_a_preference_multiplies_the_gain_of_a_move_by_the_factor_of_its_vertices():
    factors = np.arange(1.0, 10.0).reshape(3, 3)
    preference = preferring(np.log(factors))
    moves = [AddVertex(0), AddVertex(2), AddEdge(0, 2), AddEdge(1, 2)]
    assert [preference(move, 0.5) for move in moves] == pytest.approx([0.5 * factor for factor in (1, 9, 3, 6)])
