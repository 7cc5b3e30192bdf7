"""Annealing and genetic search: reproducible from a seed, and able to leave what greedy search is stuck in."""

from importlib import import_module

import numpy as np
import pytest

from models import ContingencyTable, DataCube, Domain, Hierarchy, Problem, bic, exact, forward
from models.search import anneal, genetic
from search_oracles import never
from search_strategies import AtMost


@pytest.fixture(autouse=True)
def few_turns(monkeypatch):
    monkeypatch.setattr(import_module("models.search.metaheuristics"), "PROPOSALS", 400)
    for name, value in {"POPULATION": 16, "ELITE": 4, "IMMIGRANTS": 3, "GENERATIONS": 8}.items():
        monkeypatch.setattr(import_module("models.search.metaheuristics"), name, value)


def traps(number):
    """Random problems in which greedy search ends above the optimum: at most two margins, few cells in all."""
    rng = np.random.default_rng(0)
    nested = Hierarchy.from_rows([("u", "w", "*"), ("v", "w", "*"), ("x", "x", "*")])
    domain = Domain.of({"a": nested, **{name: Hierarchy.flat("xyz") for name in "bcd"}})
    codes = dict(zip("abcd", np.indices((3, 3, 3, 3)).reshape(4, -1)))
    found = 0
    while found < number:
        counts = rng.gamma(0.3, 5, 81).astype(int) + (rng.random(81) < 0.2)
        cube = DataCube([ContingencyTable.from_cells(domain, dict.fromkeys("abcd", 0), codes, counts)])
        problem = Problem(cube, AtMost(domain, 3, 40))
        best = exact(problem, never)
        if forward(problem, never).value > best.value + 1e-3:
            found += 1
            yield problem, best.value


@pytest.mark.slow
@pytest.mark.parametrize("strategy", [anneal, genetic])
def test_most_traps_of_greedy_search_are_left(strategy):
    better = [strategy(problem, never).value < forward(problem, never).value - 1e-6 for problem, _ in traps(8)]
    assert sum(better) >= 6


@pytest.mark.slow
@pytest.mark.parametrize("strategy", [anneal, genetic])
def test_the_same_seed_has_the_same_result_and_others_may_differ(strategy):
    (problem, _), *_ = traps(1)
    seeded = [Problem(problem.cube, problem.constraint, seed=seed) for seed in (0, 0, 1, 2, 3)]
    results = [strategy(each, never) for each in seeded]
    assert results[0] == results[1]
    assert len({(result.steps, result.evaluated) for result in results}) > 1


def test_the_price_of_parameters_counts():
    """Annealing goes through losses, which forward search from nothing, and with it genetic search, does not."""
    (problem, _), *_ = traps(1)
    priced = Problem(problem.cube, objective=bic(problem.cube.total))
    assert anneal(priced, never).value == pytest.approx(exact(priced, never).value, abs=0.02)
