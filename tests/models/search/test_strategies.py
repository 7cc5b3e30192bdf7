"""What every strategy promises: an allowed decomposable collection that shows what is kept, and a true account of it."""

from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brute_force import iterative_proportional_fitting, joint_array, kl_divergence
from models import (
    STRATEGIES,
    Collection,
    InteractionGraph,
    MaximumEntropy,
    NothingAllowedError,
    Problem,
    Refusal,
    allowed_moves,
    describe,
    stepwise,
    with_bound,
)
from privacy_oracles import base_table
from search_oracles import Countdown, all_collections, allowed_values, is_finer, never, random_searches_of
from search_strategies import private_problems, problems
from strategies import maximal_cliques

STEPWISE = ["greedy", "greedy-backward", "greedy-both"]
NO_WORSE_THAN_FORWARD = ["look-ahead", "greedy-both", "anneal", "genetic", "rebuild", "exact"]

any_problem = problems() | private_problems()


@pytest.fixture(scope="module", autouse=True)
def few_turns():
    """Random searches that end soon."""
    with random_searches_of(proposals=30, patience=5, population=6, generations=3):
        yield


def assert_is_allowed(problem, cliques):
    assert frozenset(cliques) in all_collections(problem.cube.domain)
    assert problem.constraint(cliques, 0) is None
    assert is_finer(cliques, problem.kept)


@pytest.mark.slow
@pytest.mark.parametrize("name", STRATEGIES)
@settings(max_examples=25)
@given(problem=any_problem)
def test_the_result_is_decomposable_allowed_and_shows_what_is_kept(name, problem):
    found = STRATEGIES[name](problem, never)
    assert_is_allowed(problem, found.cliques)
    assert found.cliques == tuple(sorted(found.cliques))
    assert found.strategy == name


@pytest.mark.parametrize("name", [*STRATEGIES, "stepwise"])
@settings(max_examples=10)
@given(problem=problems(), seed=st.integers(0, 10_000))
def test_a_plain_function_is_a_constraint(name, problem, seed):
    """What it refuses nobody gives back: where a search does not come to an allowed collection, it says so."""
    collections = sorted(all_collections(problem.cube.domain), key=sorted)
    random = Random(seed)
    refused = {c for c in collections if random.random() < 0.4}

    def fair(cliques, _):
        return Refusal("not fair") if frozenset(cliques) in refused else None

    search = {**STRATEGIES, "stepwise": stepwise}[name]
    problem = replace(problem, constraint=fair)
    try:
        found = search(problem, never)
    except NothingAllowedError:
        begun_at_a_refused_one = frozenset(problem.initial) in refused
        assert not allowed_values(problem) if name == "exact" else begun_at_a_refused_one
    else:
        assert_is_allowed(problem, found.cliques)


@pytest.mark.slow
@pytest.mark.parametrize("name", STRATEGIES)
@settings(max_examples=10)
@given(problem=any_problem)
def test_its_figures_are_those_of_its_maxent_joint(name, problem):
    """By iterative proportional fitting over all base cells."""
    found = STRATEGIES[name](problem, never)
    collection = Collection.of(problem.cube, found.cliques)
    p = joint_array(base_table(problem.cube)) / problem.cube.total
    q = iterative_proportional_fitting(p, problem.cube.domain, collection.margins)
    assert found.kl_divergence == pytest.approx(kl_divergence(p, q), abs=1e-9)
    parameters = MaximumEntropy(collection).parameter_count
    assert found.value == pytest.approx(found.kl_divergence + problem.price * parameters, abs=1e-9)


@pytest.mark.parametrize("name", NO_WORSE_THAN_FORWARD)
@settings(max_examples=25)
@given(problem=any_problem)
def test_it_is_no_worse_than_forward_search(name, problem):
    assert STRATEGIES[name](problem, never).value <= STRATEGIES["greedy"](problem, never).value + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("name", STRATEGIES)
@settings(max_examples=20)
@given(problem=any_problem)
def test_the_gap_is_honest(name, problem):
    """No allowed collection is better by more, all looked at."""
    found = with_bound(STRATEGIES[name](problem, never), problem)
    best = min(allowed_values(problem).values())
    assert found.bound is not None
    assert found.gap is not None
    assert found.bound <= best + 1e-9
    assert found.value - found.gap <= best + 1e-9
    assert found.gap >= 0
    assert not found.optimal or found.value <= best + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("name", STRATEGIES)
@settings(max_examples=20)
@given(problem=any_problem, turns=st.integers(0, 25))
def test_told_to_stop_it_ends_at_once_with_an_allowed_collection(name, problem, turns):
    """Between two questions no strategy does more than a move's work; it asks once more for each of its parts."""
    stop = Countdown(turns)
    found = STRATEGIES[name](problem, stop)
    assert_is_allowed(problem, found.cliques)
    assert stop.asked <= turns + 12
    model = MaximumEntropy(Collection.of(problem.cube, found.cliques))
    assert found.kl_divergence == pytest.approx(model.kl_divergence, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", STRATEGIES)
@settings(max_examples=8)
@given(problem=any_problem)
def test_the_same_problem_has_the_same_result(name, problem):
    again = Problem(**vars(problem))
    assert STRATEGIES[name](problem, never) == STRATEGIES[name](again, never)


@pytest.mark.slow
@pytest.mark.parametrize("name", STRATEGIES)
@settings(max_examples=20)
@given(problem=any_problem)
def test_the_steps_are_moves_that_follow_one_another_to_the_result(name, problem):
    """Each begins where the last one ended; those of stepwise searches are found again by their names."""
    found = STRATEGIES[name](problem, never)
    assert all(step.after == pytest.approx(later.before, abs=1e-9) for step, later in pairwise(found.steps))
    start = MaximumEntropy(Collection.of(problem.cube, problem.initial)).kl_divergence
    ends = (found.steps[0].before, found.steps[-1].after) if found.steps else (start, start)
    assert ends == pytest.approx((start, found.kl_divergence), abs=1e-9)


@pytest.mark.parametrize("name", [*STEPWISE, "genetic"])
@settings(max_examples=20)
@given(problem=any_problem)
def test_every_step_is_an_allowed_move_that_does_what_it_says(name, problem):
    found = STRATEGIES[name](problem, never)
    graph = InteractionGraph.of(problem.cube.domain, problem.initial)
    for step in found.steps:
        (move,) = (move for move in allowed_moves(graph) if describe(move, graph) == step.move)
        graph = move.apply(graph)
        model = MaximumEntropy(Collection.of(problem.cube, maximal_cliques(graph)))
        assert step.after == pytest.approx(model.kl_divergence, abs=1e-9)
    assert tuple(sorted(maximal_cliques(graph))) == found.cliques


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_goes_by_its_name(name):
    assert STRATEGIES[name].__name__ == {"auto": "portfolio", "greedy": "forward", "look-ahead": "look_ahead"}.get(
        name, name.removeprefix("greedy-")
    )
