"""What chance gains: the price of parameters is what independent attributes gain, and a search ends where tables pay it."""

from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brute_force import free_parameter_count
from models import (
    KL,
    Collection,
    ContingencyTable,
    Domain,
    Hierarchy,
    LikelihoodRatio,
    MaximumEntropy,
    PenalizedDivergence,
    Position,
    Problem,
    Refusal,
    SearchResult,
    allowed_moves,
    exact,
    forward,
)
from models.search import by_divergence, by_pairs, portfolio, settled, without_chance_edges
from models.search.problem import Stop
from models.search.variable_depth import by_reinsertion
from models.tables.data_cube import InteractionCube
from search_oracles import Countdown, all_collections, allowed_values, never
from search_strategies import private_problems, problems
from strategies import decomposable_collections

any_problem = problems() | private_problems()


def with_rows_only(collection: Collection) -> tuple[Domain, list[dict[str, int]]]:
    """The domain of the base values that have rows, and the margins in it."""
    cube, hierarchies = collection.cube, {}
    for name, own in zip(collection.domain.attributes, collection.domain.attribute_masks):
        hierarchy = collection.domain.hierarchy(name)
        seen = cube.table(own).codes[0] if own else range(1)
        hierarchies[name] = Hierarchy.from_rows([hierarchy.rows()[int(code)] for code in seen])
    return Domain.of(hierarchies), [dict(margin) for margin in collection.margins]


@settings(deadline=None, max_examples=60)
@given(decomposable_collections(max_cells=100))
def test_parameters_are_those_of_the_log_linear_model_beyond_single_attributes(collection: Collection) -> None:
    """The rank of the indicators over the values that have rows, less that of the tables of single attributes."""
    counted = Collection.of(
        InteractionCube([collection.cube.table(sum(collection.domain.attribute_masks))]), collection.masks
    )
    domain, margins = with_rows_only(counted)
    alone = [{name: level} for name, level in counted.finest_levels.items() if level < domain.hierarchy(name).height]
    expected = free_parameter_count(domain, margins) - free_parameter_count(domain, alone)
    assert MaximumEntropy(counted).parameter_count == expected


@settings(deadline=None)
@given(decomposable_collections(max_cells=100))
def test_a_move_changes_as_many_parameters_as_it_says_and_no_addition_takes_any_away(collection: Collection) -> None:
    cube = InteractionCube([collection.cube.table(sum(collection.domain.attribute_masks))])
    position = Position.of(cube, collection.masks)
    before = MaximumEntropy(Collection.of(cube, collection.masks)).parameter_count
    assert position.complexity == before
    for move in allowed_moves(position.graph):
        change = position.change(move)
        after = position.after(move, change)
        assert change.parameters == MaximumEntropy(Collection.of(cube, after.cliques)).parameter_count - before
        assert change.parameters >= 0 if change.clique else change.parameters <= 0


def drawn(rng: np.random.Generator, rows: int, **sizes: int) -> InteractionCube:
    """Rows of independent attributes."""
    domain = Domain.of({name: Hierarchy.flat([f"{name}{v}" for v in range(size)]) for name, size in sizes.items()})
    codes = {name: rng.integers(0, size, rows) for name, size in sizes.items()}
    return InteractionCube(
        [ContingencyTable.from_cells(domain, dict.fromkeys(sizes, 0), codes, np.ones(rows, dtype=int))]
    )


def test_independent_attributes_gain_half_a_nat_of_all_rows_for_each_parameter() -> None:
    """5 x 6 values: 20 parameters. At that price chance passes about every second time, at twice the price hardly ever."""
    rng, rows, times = np.random.default_rng(0), 1_000, 300
    gains, passed = [], {0.5: 0, 1.0: 0}
    for _ in range(times):
        cube = drawn(rng, rows, a=5, b=6)
        one, other = cube.domain.attribute_masks
        both = one | other
        parameters = cube.cell_count(both) - cube.cell_count(one) - cube.cell_count(other) + 1
        assert parameters == 20
        gain = cube.entropy(one) + cube.entropy(other) - cube.entropy(both)
        gains.append(2 * rows * gain)
        for price in passed:
            passed[price] += PenalizedDivergence(price / rows).gain(gain, parameters) > 0
    assert np.mean(gains) == pytest.approx(20, abs=1.2)
    assert 0.35 < passed[0.5] / times < 0.6
    assert passed[1.0] / times < 0.02


@settings(max_examples=60, deadline=None)
@given(any_problem, st.integers(0, 60))
def test_no_result_gets_worse_by_what_follows_a_search(problem: Problem, turns: int) -> None:
    """Whenever it is stopped; what comes out is allowed, shows what is kept, and says its value truly."""
    stop = Countdown(turns)
    before = forward(problem, stop)
    for improve in (settled, by_pairs, by_reinsertion):
        found = improve(before, problem, stop)
        assert found.value is not None
        assert before.value is not None
        assert found.value <= before.value + 1e-12
        assert frozenset(found.cliques) in all_collections(problem.cube.domain)
        assert problem.constraint(found.cliques, 0) is None
        assert problem.is_kept(found.cliques)
        assert found.value == pytest.approx(problem.value(problem.position(found.cliques)))
        assert found.evaluated >= before.evaluated


@settings(max_examples=60, deadline=None)
@given(any_problem)
def test_a_portfolio_proves_the_best_collection_of_a_small_lattice(problem: Problem) -> None:
    """Or is never worse than forward search, and the same each time."""
    found, values = portfolio(problem, never), allowed_values(problem)
    best = min(values.values())
    assert found.value is not None
    assert found.value >= best - 1e-9
    assert found.value <= by_divergence(forward)(problem, never).value + 1e-9
    if found.optimal:
        assert found.value == pytest.approx(best, abs=1e-9)
    again = portfolio(problem, never)
    assert (again.cliques, again.value, again.evaluated) == (found.cliques, found.value, found.evaluated)


@settings(max_examples=40, deadline=None)
@given(any_problem, st.integers(0, 80))
def test_a_portfolio_that_is_stopped_gives_what_it_has(problem: Problem, turns: int) -> None:
    found = portfolio(problem, Countdown(turns))
    assert problem.constraint(found.cliques, 0) is None
    assert problem.is_kept(found.cliques)


def steps_that_pay_late() -> InteractionCube:
    """Two attributes of which the coarse steps tell nothing of each other and the fine ones are the same."""
    fours = Hierarchy.from_rows([(str(v), "ab"[v // 2], "*") for v in range(4)])
    domain = Domain.of({"x": fours, "y": fours})
    codes = {"x": np.arange(4), "y": np.array([0, 2, 3, 1])}
    return InteractionCube([ContingencyTable.from_cells(domain, {"x": 0, "y": 0}, codes, np.array([50, 50, 50, 50]))])


def test_where_a_coarse_step_costs_more_than_it_gains_a_search_by_the_price_ends_and_others_go_on() -> None:
    cube = steps_that_pay_late()
    problem = Problem(cube, objective=PenalizedDivergence(1 / 400), kept=cube.domain.attribute_masks)
    best = exact(problem, never)
    assert best.optimal
    by_price = forward(problem, never)
    assert by_price.value is not None
    assert best.value is not None
    assert by_price.value > best.value + 1, "log 4 nats are left"
    assert portfolio(problem, never).value == pytest.approx(best.value)
    assert by_pairs(by_price, problem, never).value == pytest.approx(best.value)


def _as_it_is(result: SearchResult, *_: object) -> SearchResult:
    return result


def _by_divergence_alone(result: SearchResult, problem: Problem, stop: Stop) -> SearchResult:
    return result if problem.price else by_pairs(result, problem, stop)


@pytest.mark.parametrize(("price", "is_taken"), [(0.1, True), (0.2, False)])
def test_what_the_divergence_ends_with_is_taken_where_it_is_better_at_twice_the_price_too(
    price: float, is_taken: bool
) -> None:
    """By the price no stage finds anything here. Five parameters gain log 4, which is less than ten times .2."""
    cube = steps_that_pay_late()
    problem = Problem(cube, objective=PenalizedDivergence(price), kept=cube.domain.attribute_masks)
    alone = forward(problem, never)
    assert len(alone.cliques) == 2
    module = import_module("models.search.portfolio")
    begun = module._begun
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_SMALL", 0)
        patch.setattr(module, "_begun", lambda own, work: alone if own.price else begun(own, work))
        patch.setattr(module, "by_pairs", _by_divergence_alone)
        for stage in ("_restarted", "polished", "_by_way_of_divergence", "_proven"):
            patch.setattr(module, stage, _as_it_is)
        found = portfolio(problem, never)
    assert found.value is not None
    assert alone.value is not None
    assert found.value == pytest.approx(5 * price if is_taken else alone.value)
    assert found.value == pytest.approx(problem.value(problem.position(found.cliques)))
    assert found.evaluated > alone.evaluated


def associated(rows: int, seed: int) -> InteractionCube:
    """a and b go together; c has nothing to do with either."""
    rng = np.random.default_rng(seed)
    domain = Domain.of({name: Hierarchy.flat([f"{name}{v}" for v in range(4)]) for name in "abc"})
    a = rng.integers(0, 4, rows)
    b = np.where(rng.random(rows) < 0.5, a, rng.integers(0, 4, rows))
    codes = {"a": a, "b": b, "c": rng.integers(0, 4, rows)}
    return InteractionCube(
        [ContingencyTable.from_cells(domain, dict.fromkeys("abc", 0), codes, np.ones(rows, dtype=int))]
    )


def whole_of(cube: InteractionCube) -> Problem:
    return Problem(cube, objective=PenalizedDivergence(1 / 1000), start=(sum(cube.domain.attribute_masks),))


def test_edges_that_chance_explains_go_and_others_stay() -> None:
    """Of 9 parameters chance pays twice the price in 4 of 100 tables."""
    right = 0
    for seed in range(20):
        problem = whole_of(associated(500, seed))
        a, b, c = problem.cube.domain.attribute_masks
        found = without_chance_edges(forward(replace(problem, objective=KL), never), problem, never)
        assert any(not (a | b) & ~clique for clique in found.cliques)
        right += set(found.cliques) == {a | b, c}
    assert right >= 17


def test_what_must_stay_and_what_is_refused_is_no_matter_of_chance() -> None:
    problem = whole_of(associated(500, 0))
    a, b, c = problem.cube.domain.attribute_masks
    whole = forward(replace(problem, objective=KL), never)
    assert set(without_chance_edges(whole, replace(problem, kept=(b | c,)), never).cliques) == {a | b, b | c}
    refused = replace(problem, constraint=lambda cliques, _new: None if len(cliques) == 1 else _refusal())
    assert without_chance_edges(whole, refused, never).cliques == whole.cliques
    assert without_chance_edges(whole, replace(problem, objective=KL), never) == whole


def _refusal() -> Refusal:
    return Refusal("more than one margin")


def test_an_objective_that_is_a_stopping_rule_only_is_searched_in_both_directions() -> None:
    cube = associated(500, 0)
    problem = Problem(cube, objective=LikelihoodRatio(500), kept=cube.domain.attribute_masks)
    a, b, c = cube.domain.attribute_masks
    assert set(portfolio(problem, never).cliques) == {a | b, c}


@pytest.mark.slow
@settings(deadline=None, max_examples=30)
@given(private_problems(), st.integers(1, 60))
def test_a_portfolio_ends_by_its_work_alike_each_time(problem: Problem, most: int) -> None:
    """Once forward search is done, no more is asked than there is work for, however often the same search is run."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("_SMALL", 0), ("_MOST", most), ("_OF_A_PAIR", 0)):
            patch.setattr(import_module("models.search.portfolio"), name, value)
        first, again = portfolio(problem, never), portfolio(problem, never)
    assert (first.cliques, first.evaluated) == (again.cliques, again.evaluated)
    assert problem.constraint(first.cliques, 0) is None
    assert first.value == pytest.approx(problem.value(problem.position(first.cliques)))
