"""Objectives: gains are differences of the criteria they are named after, and tests decide as the chi-squared test does."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from models import (
    KL,
    STRATEGIES,
    Collection,
    LikelihoodRatio,
    MaximumEntropy,
    PenalizedDivergence,
    Position,
    Problem,
    SelectionError,
    allowed_moves,
    bic,
)
from models.search import aic
from search_oracles import never
from strategies import decomposable_collections


def changes(collection):
    """Every allowed move: what it is said to bring, and the models before and after it."""
    position, before = Position.of(collection.cube, collection.masks), MaximumEntropy(collection)
    for move in allowed_moves(position.graph):
        after = MaximumEntropy(Collection.of(collection.cube, position.cliques_after(move)))
        yield position.change(move), before, after


@settings(max_examples=40)
@given(decomposable_collections(max_cells=60))
def test_the_gain_is_what_the_criterion_falls_by(collection):
    """AIC / 2N, BIC / 2N, and the KL divergence, nats a row."""
    rows = collection.cube.total
    for change, before, after in changes(collection):
        gains = [objective.gain(change.divergence, change.parameters) for objective in (KL, aic(rows), bic(rows))]
        kl = before.kl_divergence - after.kl_divergence
        assert gains == pytest.approx(
            [kl, (before.aic - after.aic) / (2 * rows), (before.bic - after.bic) / (2 * rows)], abs=1e-9
        )


@settings(max_examples=40)
@given(decomposable_collections(max_cells=60), st.sampled_from([0.5, 0.05, 0.001]))
def test_a_change_is_for_the_better_when_the_likelihood_ratio_is_significant(collection, alpha):
    """Deviance against the chi-squared distribution; taking away, when it is not."""
    objective = LikelihoodRatio(collection.cube.total, alpha)
    for change, before, after in changes(collection):
        gain = objective.gain(change.divergence, change.parameters)
        saved, parameters = before.deviance - after.deviance, after.parameter_count - before.parameter_count
        if parameters == 0:
            assert gain == pytest.approx(saved / (2 * collection.cube.total), abs=1e-9)
            continue
        p_value = chi2.sf(abs(saved), abs(parameters))
        if abs(p_value - alpha) > 1e-9:
            significant = bool(p_value < alpha)
            assert (gain > 0) is (significant if parameters > 0 else not significant)


@settings(max_examples=40)
@given(st.floats(-5, 5), st.integers(-50, 50), st.sampled_from([KL, aic(30), bic(30), LikelihoodRatio(30)]))
def test_a_change_and_its_reverse_have_opposite_gains(divergence, parameters, objective):
    assert objective.gain(-divergence, -parameters) == -objective.gain(divergence, parameters)


def test_prices_of_no_rows_are_numbers():
    assert (aic(0), bic(0), bic(1)) == (PenalizedDivergence(1.0), PenalizedDivergence(0.0), PenalizedDivergence(0.0))
    assert LikelihoodRatio(0).gain(0.0, 0) == 0.0


@pytest.mark.parametrize("name", ["exact", "anneal", "genetic"])
@settings(max_examples=3)
@given(collection=decomposable_collections(max_cells=30))
def test_what_is_only_a_rule_for_stopping_has_no_best_model(name, collection):
    problem = Problem(collection.cube, objective=LikelihoodRatio(collection.cube.total))
    with pytest.raises(SelectionError, match="rule for stopping stepwise searches"):
        STRATEGIES[name](problem, never)


@pytest.mark.parametrize("name", ["greedy", "greedy-backward", "greedy-both"])
@settings(max_examples=15)
@given(collection=decomposable_collections(max_cells=30))
def test_stepwise_searches_end_where_no_change_is_significant(name, collection):
    """Nothing that could be added is, by the test; nothing shown that could be left out, where things are taken away."""
    objective = LikelihoodRatio(collection.cube.total)
    found = STRATEGIES[name](Problem(collection.cube, objective=objective), never)
    assert found.value is None
    assert found.gap is None
    for change, _, _ in changes(Collection.of(collection.cube, found.cliques)):
        adds = change.clique != 0
        if adds or name != "greedy":
            assert objective.gain(change.divergence, change.parameters) <= 1e-9
