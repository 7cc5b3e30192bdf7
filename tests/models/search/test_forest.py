"""Forests of pairs: allowed, decomposable, and a better beginning than nothing where steps by themselves tell nothing."""

from dataclasses import replace
from itertools import combinations
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models import STRATEGIES, Collection, MarginLimits, Problem, forward
from models.search.greedy import _finest, forest, from_forest
from search_oracles import Countdown, all_collections, equal_pairs, never
from search_strategies import private_problems, problems

any_problem = problems() | private_problems()


@settings(max_examples=60)
@given(any_problem, st.integers(0, 200))
def test_a_forest_is_an_allowed_decomposable_collection_that_shows_what_is_kept(problem, turns):
    """Whenever it is stopped, and beside whatever it begins with."""
    for start in (problem.initial, forward(problem, never).cliques):
        begun = replace(problem, start=tuple(start))
        found = forest(begun, Countdown(turns))
        assert problem.constraint(found, 0) is None
        assert problem.is_kept(found)
        assert Collection.of(problem.cube, found).is_decomposable
        assert all(any(not mask & ~clique for clique in found) for mask in start)


@given(any_problem)
def test_the_margins_of_a_pair_are_all_that_are_allowed_and_nothing_finer_is(problem):
    """Against a list of all margins of two attributes."""
    domain = problem.cube.domain
    for pair in combinations(range(len(domain.attributes)), 2):
        own = [domain.attribute_masks[place] for place in pair]
        of_pair = {m for (m,) in (c for c in all_collections(domain) if len(c) == 1)}
        of_pair = {m for m in of_pair if not m & ~sum(own) and all(m & mask for mask in own)}
        allowed = {m for m in of_pair if problem.constraint((m,), m) is None or not _is_final(problem, m)}
        finest = {m for m in allowed if not any(m != other and not m & ~other for other in allowed)}
        looked_at = {first | second for first, second in _finest(problem, pair)}
        assert finest <= looked_at <= allowed


def _is_final(problem, margin):
    return problem.constraint((margin,), margin).scope.value == "finer"


@pytest.mark.parametrize("name", [name for name in STRATEGIES if name not in {"anneal", "genetic"}])
def test_equal_columns_are_published_together_by_every_strategy(name):
    """Eight pairs of equal columns, 43 million margins: a finer step of one beside a coarser of the other tells nothing."""
    problem = Problem(cube := equal_pairs(8), MarginLimits(cube.domain, max_cells=16))
    together = problem.value(problem.position([0b1111 << 4 * i for i in range(8)]))
    assert forward(problem, never).value > 2 * together
    found = STRATEGIES[name](problem, Countdown(3_000))
    assert (found.strategy, found.value <= together) == (name, True)
    assert found.steps[0].move.startswith("begin with pairs")
    assert found.value == pytest.approx(problem.value(problem.position(found.cliques)))


def test_with_too_much_to_count_there_is_no_forest():
    problem = Problem(cube := equal_pairs(8), MarginLimits(cube.domain, max_cells=16))
    with patch("models.search.greedy._WORK", 1):
        assert from_forest(problem, never) is None
        assert STRATEGIES["greedy"](problem, never) == forward(problem, never)
