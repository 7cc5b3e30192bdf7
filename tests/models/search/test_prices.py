"""Prices of parameters and scores of cliques: a search minimizes the score of the model, and chance pays no price."""

from dataclasses import replace
from importlib import import_module
from math import lgamma
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brute_force import free_parameter_count
from models import (
    KL,
    STRATEGIES,
    AddEdge,
    AddVertex,
    Collection,
    ContingencyTable,
    Domain,
    Hierarchy,
    JunctionTree,
    LikelihoodRatio,
    MaximumEntropy,
    PenalizedDivergence,
    Position,
    Problem,
    Refusal,
    SelectionError,
    allowed_moves,
    exact,
    forward,
    vertices_of,
    with_bound,
)
from models.search import BDeu, CliqueScore, by_divergence, portfolio, without_chance_edges
from models.search.greedy import preferring
from models.search.problem import additive
from models.tables.data_cube import InteractionCube, ScoredInteractions
from search_oracles import all_collections, allowed_values, never, random_searches_of
from search_strategies import private_problems, problems
from strategies import decomposable_collections


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
    """The rank of the indicators over values that have rows, less that of single attributes; moves change it as they say."""
    cube = InteractionCube([collection.cube.table(sum(collection.domain.attribute_masks))])
    counted = Collection.of(cube, collection.masks)
    domain, margins = with_rows_only(counted)
    alone = [{name: level} for name, level in counted.finest_levels.items() if level < domain.hierarchy(name).height]
    before = MaximumEntropy(counted).parameter_count
    assert before == free_parameter_count(domain, margins) - free_parameter_count(domain, alone)
    position = Position.of(cube, collection.masks)
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
    """20 parameters. At that price chance passes about every second time, at twice the price hardly ever."""
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
@given(problems() | private_problems(), st.integers(1, 60))
def test_a_portfolio_proves_the_best_collection_of_a_small_lattice(problem: Problem, most: int) -> None:
    """Or is never worse than forward search, and the same each time; also where there is less work than it could do."""
    found, best = portfolio(problem, never), min(allowed_values(problem).values())
    assert found.value is not None
    assert found.value >= best - 1e-9
    assert found.value <= by_divergence(forward)(problem, never).value + 1e-9
    if found.optimal:
        assert found.value == pytest.approx(best, abs=1e-9)
    again = portfolio(problem, never)
    assert (again.cliques, again.value, again.evaluated) == (found.cliques, found.value, found.evaluated)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("_SMALL", 0), ("_MOST", most), ("_OF_A_PAIR", 0)):
            patch.setattr(import_module("models.search.portfolio"), name, value)
        first, again = portfolio(problem, never), portfolio(problem, never)
    assert (first.cliques, first.evaluated) == (again.cliques, again.evaluated)
    assert problem.constraint(first.cliques, 0) is None
    assert first.value == pytest.approx(problem.value(problem.position(first.cliques)))


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
    assert by_price.value > best.value + 1, "log 4 nats are left"
    assert portfolio(problem, never).value == pytest.approx(best.value)


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
    begun, pairs = module._begun, module.by_pairs
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_SMALL", 0)
        patch.setattr(module, "_begun", lambda own, work: alone if own.price else begun(own, work))
        patch.setattr(module, "by_pairs", lambda found, own, stop: found if own.price else pairs(found, own, stop))
        for stage in ("_restarted", "polished", "_by_way_of_divergence", "_proven"):
            patch.setattr(module, stage, lambda result, *_: result)
        found = portfolio(problem, never)
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
    rule = Problem(problem.cube, objective=LikelihoodRatio(500), kept=(a, b, c))
    assert set(portfolio(rule, never).cliques) == {a | b, c}, "a stopping rule only is searched in both directions"


def test_what_must_stay_and_what_is_refused_is_no_matter_of_chance() -> None:
    problem = whole_of(associated(500, 0))
    a, b, c = problem.cube.domain.attribute_masks
    whole = forward(replace(problem, objective=KL), never)
    assert set(without_chance_edges(whole, replace(problem, kept=(b | c,)), never).cliques) == {a | b, b | c}
    refused = replace(problem, constraint=lambda cliques, _: None if len(cliques) == 1 else Refusal("more"))
    assert without_chance_edges(whole, refused, never).cliques == whole.cliques
    assert without_chance_edges(whole, replace(problem, objective=KL), never) == whole


def jeffreys(counts, cells):
    """The same as BDeu with half a row a cell: it is no prior of all cliques at once, but a score all the same."""
    total = counts.sum()
    return sum(lgamma(n + 0.5) - lgamma(0.5) for n in counts.tolist()) + lgamma(cells / 2) - lgamma(total + cells / 2)


def favouring(counts, cells):
    """Better than the likelihood: it goes up with cells, so that no divergence bounds it."""
    total = counts.sum()
    return float((counts * np.log(counts / total)).sum()) + 0.3 * (cells - 1)


SCORES = [BDeu(1.0), BDeu(8.0), jeffreys, favouring]


def lacking(collection, score):
    """What the score of a model lacks, nats a row, by its definition: leaves counted, the entropy of the data taken off."""
    cube, tree, domain = collection.cube, JunctionTree.of(collection.domain, collection.masks), collection.domain

    def of(mask):
        return score(cube.counts(mask), domain.cell_count(mask)) if mask else score(np.array([cube.total]), 1)

    levels = domain.levels(sum(vertex for vertex in {1 << v for m in collection.masks for v in vertices_of(m)}))
    leaves = sum(map(cube.log_leaves, levels, levels.values()))
    whole = sum(map(of, tree.cliques)) - sum(map(of, tree.separators))
    empty = of(0) * (len(tree.cliques) - len(tree.separators))
    return (empty - whole) / cube.total + leaves - cube.entropy(sum(domain.attribute_masks))


@pytest.mark.parametrize("score", SCORES, ids=lambda score: getattr(score, "__name__", str(score)))
@settings(deadline=None)
@given(decomposable_collections(max_cells=100))
def test_the_value_of_a_collection_is_its_score_and_moves_change_it_as_they_say(score, collection):
    problem = Problem(collection.cube, objective=CliqueScore(score))
    position = problem.position(collection.masks)
    assert problem.value(position) == pytest.approx(lacking(collection, score), abs=1e-9)
    for move in allowed_moves(position.graph):
        change = position.change(move)
        after = Collection.of(collection.cube, position.cliques_after(move))
        gained = problem.value(position) - lacking(after, score)
        assert problem.objective.gain(*change[:2]) == pytest.approx(gained, abs=1e-9)


@pytest.mark.parametrize("score", SCORES, ids=lambda score: getattr(score, "__name__", str(score)))
@settings(deadline=None, max_examples=15)
@given(problem=problems())
def test_exact_search_finds_the_best_score_and_no_strategy_a_better_one(score, problem):
    problem = Problem(problem.cube, problem.constraint, CliqueScore(score), problem.kept, problem.start)
    values = {
        cliques: problem.value(problem.position(cliques))
        for cliques in all_collections(problem.cube.domain)
        if problem.constraint(cliques, 0) is None and problem.is_kept(cliques)
    }
    best = min(values.values())
    for name, search in STRATEGIES.items():
        with random_searches_of(proposals=30, patience=5, population=6, generations=3):
            found = search(problem, never)
        assert values[frozenset(found.cliques)] == pytest.approx(found.value, abs=1e-9)
        assert found.value >= best - 1e-9
        if name == "exact":
            assert found.optimal
            assert found.value == pytest.approx(best, abs=1e-9)
        elif (bound := with_bound(found, problem).bound) is not None:
            assert bound <= best + 1e-9


@settings(deadline=None)
@given(decomposable_collections(max_cells=100), st.sampled_from(SCORES))
def test_beside_what_a_release_counts_the_tables_of_single_attributes_cost_nothing(collection, score):
    base = collection.cube.table(sum(collection.domain.attribute_masks))
    problem = Problem(InteractionCube([base]), objective=CliqueScore(score))
    assert isinstance(problem.cube, ScoredInteractions)
    for own in collection.domain.attribute_masks:
        assert problem.cube.complexity(own) == pytest.approx(0.0, abs=1e-12)
    masks = [own for own in collection.domain.attribute_masks if own]
    position = problem.position(masks)
    assert problem.value(position) == pytest.approx(position.divergence, abs=1e-9)


def test_a_marginal_likelihood_is_the_mean_likelihood_under_the_prior():
    """Two cells, three and one rows: the integral of p^3 (1 - p) over the uniform prior is 1 / 20."""
    assert BDeu(2.0)(np.array([3, 1]), 2) == pytest.approx(np.log(1 / 20))
    assert BDeu(1.0)(np.array([5]), 1) == pytest.approx(0.0)


def gained(gain):
    return additive(SimpleNamespace(gain=gain))


@given(st.floats(1e-3, 1e3), st.floats(0, 10))
def test_whatever_adds_up_is_taken_for_the_penalized_divergence_that_it_is(scale, price):
    found = gained(lambda divergence, parameters: scale * (divergence - price * parameters))
    assert isinstance(found, PenalizedDivergence)
    assert found.price == pytest.approx(price, rel=1e-6, abs=1e-9)
    for other in (
        lambda divergence, parameters: divergence - 0.1 * parameters**2,
        lambda divergence, parameters: divergence - 0.1 * abs(parameters),
        lambda divergence, parameters: 1.0 if divergence > 0.01 * parameters else -1.0,
        lambda divergence, parameters: divergence + 0.1 * parameters,
        lambda divergence, _parameters: -divergence,
        LikelihoodRatio(50).gain,
    ):
        assert not isinstance(gained(other), PenalizedDivergence)
    for make, number in ((PenalizedDivergence, -0.1), (PenalizedDivergence, float("nan")), (BDeu, 0)):
        with pytest.raises(SelectionError):
            make(number)


def test_a_preference_multiplies_the_gain_of_a_move_by_the_factor_of_its_vertices():
    factors = np.arange(1.0, 10.0).reshape(3, 3)
    preference = preferring(np.log(factors))
    moves = [AddVertex(0), AddVertex(2), AddEdge(0, 2), AddEdge(1, 2)]
    assert [preference(move, 0.5) for move in moves] == pytest.approx([0.5 * factor for factor in (1, 9, 3, 6)])
