"""Wanted analyses: how far they are from the data is so in the maxent joint, and every strategy weighs them."""

from dataclasses import replace
from math import inf
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from brute_force import dense_marginal, iterative_proportional_fitting, joint_array, kl_divergence
from models import (
    STRATEGIES,
    Collection,
    ContingencyTable,
    DataCube,
    Domain,
    Hierarchy,
    MarginalModel,
    Measure,
    Position,
    Problem,
    Refusal,
    RefusalScope,
    SelectionError,
    TooManyCellsError,
    WantedAnalyses,
    WantedMargin,
    allowed_moves,
    exact,
    forward,
    with_bound,
)
from privacy_oracles import base_table
from search_oracles import Countdown, all_collections, is_finer, never, random_searches_of, value
from search_strategies import private_problems, problems
from strategies import decomposable_collections

any_problem = problems() | private_problems()


@st.composite
def wanted_margins(draw, domain):
    """One to three sets of attributes with weights that matter, by either measure."""
    sets = st.sets(st.sampled_from(domain.attributes), min_size=1, max_size=3)
    weights = st.sampled_from([0.1, 0.5, 1.0, 3.0])
    chosen = draw(st.lists(st.tuples(sets, weights, st.sampled_from(Measure)), min_size=1, max_size=3))
    return tuple(
        WantedMargin(domain.mask(dict.fromkeys(sorted(names), 0)), weight, measure) for names, weight, measure in chosen
    )


def brute_force(cube, cliques, margins):
    """Weighted KL(p_w || q_w) or total variation summed, by iterative fitting over all base cells."""
    domain, p = cube.domain, joint_array(base_table(cube)) / max(cube.total, 1)
    q = iterative_proportional_fitting(p, domain, Collection.of(cube, cliques).margins)
    shown = [domain.margin(margin.mask) for margin in margins]
    pairs = [(dense_marginal(p, domain, margin), dense_marginal(q, domain, margin)) for margin in shown]
    measures = {Measure.DIVERGENCE: kl_divergence, Measure.TOTAL_VARIATION: lambda p, q: np.abs(p - q).sum() / 2}
    return sum(margin.weight * measures[margin.measure](*pair) for margin, pair in zip(margins, pairs))


@st.composite
def wanting(draw, problems=any_problem):
    """A problem with analyses that are wanted."""
    problem = draw(problems)
    return replace(problem, wanted=WantedAnalyses(problem.cube, draw(wanted_margins(problem.cube.domain))))


@settings(max_examples=60)
@given(decomposable_collections(max_cells=100), st.data())
def test_the_distances_are_those_of_the_maxent_joint(collection, data):
    margins = data.draw(wanted_margins(collection.domain))
    analyses = WantedAnalyses(collection.cube, margins)
    expected = brute_force(collection.cube, collection.masks, margins)
    assert analyses.value(collection.masks) == pytest.approx(expected, abs=1e-9)
    with pytest.MonkeyPatch.context() as patch:  # also where the model is too large to be laid out
        patch.setattr(MarginalModel, "expected", Mock(side_effect=TooManyCellsError("too many")))
        sparse = WantedAnalyses(collection.cube, margins).value(collection.masks)
    assert sparse == pytest.approx(expected, abs=1e-9)


@settings(max_examples=30)
@given(decomposable_collections(max_cells=100), st.data())
def test_a_move_changes_them_by_what_the_position_says(collection, data):
    """Kept where the move does not concern them, and worked out where it does."""
    analyses = WantedAnalyses(collection.cube, data.draw(wanted_margins(collection.domain)))
    position = Position.of(collection.cube, collection.masks, analyses)
    for move in allowed_moves(position.graph):
        change = position.change(move)
        after = position.after(move, change, position.wanted_after(move))
        assert after.wanted == pytest.approx(analyses.distances(after.cliques), abs=1e-9)
        gain = analyses.value(position.cliques) - analyses.value(after.cliques)
        assert position.wanted_gain(move) == pytest.approx(gain, abs=1e-9)
        event("worse by adding" if gain < -1e-9 and change.clique else "no worse")


@pytest.fixture(scope="module")
def few_turns():
    """Random searches that end soon."""
    with random_searches_of(proposals=30, patience=5, population=6, generations=3):
        yield


def objective(problem, cliques):
    return value(problem.cube, cliques, problem.price) + problem.wanted.value(cliques)


def least(problem):
    """Of all collections that a problem allows, each looked at."""
    return min(
        objective(problem, cliques)
        for cliques in all_collections(problem.cube.domain)
        if problem.is_kept(cliques) and problem.constraint(cliques, 0) is None
    )


@settings(max_examples=60)
@given(wanting())
def test_exact_search_finds_the_best_of_all_collections(problem):
    found, best = exact(problem, never), least(problem)
    assert found.value == pytest.approx(best, abs=1e-9)
    assert found.value == pytest.approx(objective(problem, found.cliques), abs=1e-9)
    assert (found.optimal, found.gap) == (True, 0.0)
    plain = exact(replace(problem, wanted=None), never)
    event("another collection" if objective(problem, plain.cliques) > best + 1e-9 else "the same collection")


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.usefixtures("few_turns")
@settings(max_examples=20)
@given(problem=wanting(), turns=st.just(10**9) | st.integers(0, 25))
def test_every_strategy_weighs_them_and_says_so_truly(name, problem, turns):
    """Allowed, with the value of the whole objective, and a bound below the best of all."""
    found = with_bound(STRATEGIES[name](problem, Countdown(turns)), problem)
    assert frozenset(found.cliques) in all_collections(problem.cube.domain)
    assert problem.constraint(found.cliques, 0) is None
    assert is_finer(found.cliques, problem.kept)
    assert found.value == pytest.approx(objective(problem, found.cliques), abs=1e-9)
    assert found.wanted == pytest.approx(problem.wanted.distances(found.cliques), abs=1e-12)
    best = least(problem)
    assert found.bound is not None
    assert found.bound <= best + 1e-9
    assert found.value - found.gap <= best + 1e-9


@settings(max_examples=30)
@given(wanting())
def test_greedy_search_ends_where_no_addition_gains(problem):
    found = forward(problem, never)
    position = problem.position(found.cliques)
    for move in allowed_moves(position.graph):
        change = position.change(move)
        if change.clique and problem.constraint(position.cliques_after(move), change.clique) is None:
            gain = problem.objective.gain(change.divergence, change.parameters) + position.wanted_gain(move)
            assert gain <= 1e-9
    start = objective(problem, problem.initial)
    assert found.value <= start + 1e-9


def pulled():
    """Two pairs of attributes depend on each other, the first less; one margin of two attributes may be published."""
    domain = Domain.of({name: Hierarchy.flat("xy") for name in "abc"})
    counts = {"ab": np.array([[30, 20], [20, 30]]), "bc": np.array([[40, 10], [10, 40]])}
    joint = counts["ab"][:, :, None] * counts["bc"][None] // 50
    codes = dict(zip("abc", np.indices((2, 2, 2)).reshape(3, -1)))
    cube = DataCube([ContingencyTable.from_cells(domain, dict.fromkeys("abc", 0), codes, joint.ravel())])
    return cube, domain


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.usefixtures("few_turns")
def test_what_is_wanted_is_published_before_what_tells_more(name):
    cube, domain = pulled()

    def one_margin(cliques, _):
        wide = [c for c in cliques if c.bit_count() > 1]
        too_much = len(wide) > 1 or any(c.bit_count() > 2 for c in wide)
        return Refusal("more than one pair", RefusalScope.LONGER) if too_much else None

    alone = domain.attribute_masks
    plain = STRATEGIES[name](Problem(cube, one_margin, start=alone), never)
    wanted = WantedAnalyses(cube, [WantedMargin(domain.mask({"a": 0, "b": 0}), 20.0)])
    pulled_to = STRATEGIES[name](Problem(cube, one_margin, start=alone, wanted=wanted), never)
    assert domain.mask({"b": 0, "c": 0}) in plain.cliques
    assert domain.mask({"a": 0, "b": 0}) in pulled_to.cliques
    assert pulled_to.wanted == pytest.approx((0.0,), abs=1e-12)


def test_what_is_no_wanted_margin_is_refused():
    for mask, weight in ((0, 1.0), (1, 0.0), (1, -inf)):
        with pytest.raises(SelectionError, match="weight above 0"):
            WantedMargin(mask, weight)
    nested = Domain.of({"a": Hierarchy.from_rows([("u", "w", "*"), ("v", "x", "*")])})
    table = ContingencyTable.from_cells(nested, {"a": 0}, {"a": np.array([0, 1])}, [3, 4])
    with pytest.raises(SelectionError, match="at their base values"):
        WantedAnalyses(DataCube([table]), [WantedMargin(nested.mask({"a": 1}))])
