"""Rebuilding: never worse than what it began with, and able to leave what greedy search is stuck in."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models import (
    STRATEGIES,
    Collection,
    ContingencyTable,
    DataCube,
    Domain,
    Hierarchy,
    LikelihoodRatio,
    Position,
    Problem,
    SelectionError,
    Unconstrained,
    exact,
    forward,
)
from models.search import rebuild, rebuilt
from models.search.greedy import _Cut, _Rounds, _taken_apart
from search_oracles import Countdown, all_collections, allowed_values, is_finer, never
from search_strategies import AtMost, private_problems, problems
from strategies import decomposable_collections

any_problem = problems() | private_problems()


@given(decomposable_collections(max_cells=100), st.data())
def test_what_is_taken_apart_is_decomposable_and_nothing_finer(collection, data):
    """And shows every attribute as finely as before, by itself."""
    domain = collection.domain
    attributes = data.draw(st.sets(st.sampled_from(range(len(domain.attributes))), min_size=1))
    cuts = [_Cut(i, data.draw(st.integers(0, domain.attribute_masks[i].bit_count() - 1))) for i in sorted(attributes)]
    before = Position.of(collection.cube, collection.masks)
    apart = _taken_apart(before, cuts)
    assert Collection.of(collection.cube, apart).is_decomposable
    assert is_finer(before.cliques, apart)
    assert Collection.of(collection.cube, apart).finest_levels == collection.finest_levels
    for cut in cuts:
        shared = [c for c in apart if c & ~domain.attribute_masks[cut.attribute]]
        assert all((c & domain.attribute_masks[cut.attribute]).bit_count() <= cut.kept for c in shared)


@settings(max_examples=60)
@given(any_problem, st.integers(0, 40), st.integers(0, 6))
def test_no_result_gets_worse_by_rebuilding(problem, turns, patience):
    """Of no strategy, whenever it is stopped; what comes out is allowed, shows what is kept, and says its value truly."""
    stop = Countdown(turns)
    before = forward(problem, stop)
    found = rebuilt(before, problem, stop, patience)
    assert found.value <= before.value
    assert (found.strategy, found.evaluated >= before.evaluated) == ("greedy", True)
    assert frozenset(found.cliques) in all_collections(problem.cube.domain)
    assert is_finer(found.cliques, problem.kept)
    assert problem.constraint(found.cliques, 0) is None
    assert found.value == pytest.approx(allowed_values(problem)[frozenset(found.cliques)], abs=1e-9)
    assert found.steps[: len(before.steps)] == before.steps


@settings(max_examples=30)
@given(any_problem, st.integers(0, 40))
def test_no_round_begins_once_so_many_collections_were_looked_at(problem, most):
    """The same rounds as without an end, up to there."""
    before = forward(problem, never)
    looked_at = [0]
    rounds = _Rounds(problem, before, never)
    while rounds.attributes and rounds.stale < 8:
        rounds.next()
        looked_at.append(rounds.evaluated)
    ended = next((number for number in looked_at if number >= most), looked_at[-1])
    assert rebuilt(before, problem, never, 8, most).evaluated == before.evaluated + ended


def traps(number):
    """Random problems in which greedy search ends above the optimum: few margins, few cells in all."""
    rng = np.random.default_rng(0)
    nested = Hierarchy.from_rows([("u", "w", "*"), ("v", "w", "*"), ("x", "x", "*")])
    domain = Domain.of({"a": nested, **{name: Hierarchy.flat("xyz") for name in "bcd"}})
    codes = dict(zip("abcd", np.indices((3, 3, 3, 3)).reshape(4, -1)))
    while number:
        counts = rng.gamma(0.3, 5, 81).astype(int) + (rng.random(81) < 0.2)
        cube = DataCube([ContingencyTable.from_cells(domain, dict.fromkeys("abcd", 0), codes, counts)])
        problem = Problem(cube, AtMost(domain, 3, 40), start=domain.attribute_masks[:0])
        if forward(problem, never).value > exact(problem, never).value + 1e-3:
            number -= 1
            yield problem


@pytest.mark.slow
def test_most_traps_of_greedy_search_are_left():
    better = [rebuilt(forward(p, never), p, never, 40).value < forward(p, never).value - 1e-6 for p in traps(8)]
    assert sum(better) >= 6


def test_the_same_seed_has_the_same_result():
    (problem,) = traps(1)
    results = [rebuilt(forward(problem, never), replace(problem, seed=seed), never, 20) for seed in (0, 0)]
    assert results[0] == results[1]


def test_it_refuses_what_has_no_best_model():
    (problem,) = traps(1)
    with pytest.raises(SelectionError, match="no best model"):
        rebuild(Problem(problem.cube, objective=LikelihoodRatio(problem.cube.total)), never)


def test_where_everything_must_stay_there_is_nothing_to_rebuild():
    (problem,) = traps(1)
    base = sum(problem.cube.domain.attribute_masks)
    whole = Problem(problem.cube, Unconstrained(), kept=(base,))
    assert rebuild(whole, never) == replace(forward(whole, never), strategy="rebuild")


def test_it_goes_by_its_name():
    assert STRATEGIES["rebuild"].__wrapped__ is rebuild
