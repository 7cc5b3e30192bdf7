"""Positions and objectives: a move brings what it says, and gains are differences of the criteria."""

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from models import (
    KL,
    STRATEGIES,
    AddEdge,
    AddVertex,
    Collection,
    ContingencyTable,
    DataCube,
    Domain,
    Hierarchy,
    LikelihoodRatio,
    MaximumEntropy,
    NotDecomposableError,
    PenalizedDivergence,
    Position,
    Problem,
    allowed_moves,
    bic,
)
from search_oracles import never
from strategies import (
    NOT_DECOMPOSABLE,
    SHAPE_DOMAIN,
    SHAPES,
    contingency_tables,
    decomposable_collections,
    decomposable_masks,
    domains,
    maximal_cliques,
    shape_cube,
)


def assert_every_move_is_right(cube, cliques):
    position = Position.of(cube, cliques)
    before = MaximumEntropy(Collection.of(cube, cliques))
    for move in allowed_moves(position.graph):
        graph, change = move.apply(position.graph), position.change(move)
        model = MaximumEntropy(Collection.of(cube, maximal_cliques(graph)))
        assert position.cliques_after(move) == frozenset(maximal_cliques(graph))
        assert change.divergence == pytest.approx(before.kl_divergence - model.kl_divergence, abs=1e-9)
        assert change.parameters == model.parameter_count - before.parameter_count
        if isinstance(move, AddVertex | AddEdge):
            (made,) = position.cliques_after(move) - position.cliques
            assert change.clique == made
            assert change.divergence >= -1e-12, "KG06 Theorem 6.3"
        else:
            assert change.clique == 0
            assert change.divergence <= 1e-12
        after = position.after(move, change)
        assert after.graph == graph
        assert after.cliques == position.cliques_after(move)
        assert after.divergence == pytest.approx(model.kl_divergence, abs=1e-9)


@given(decomposable_collections(max_cells=100))
def test_every_move_brings_what_it_says(collection):
    """KL divergence and parameters, computed anew from the junction tree after the move."""
    assert_every_move_is_right(collection.cube, collection.masks)


@pytest.mark.parametrize("shape", sorted(SHAPES.keys() - NOT_DECOMPOSABLE))
def test_every_move_from_a_shape_brings_what_it_says(shape):
    assert_every_move_is_right(shape_cube(), [SHAPE_DOMAIN.mask(margin) for margin in SHAPES[shape]])


@settings(max_examples=40)
@given(st.data())
def test_after_many_moves_the_position_is_still_that_of_its_collection(data):
    """Kept up to date, not computed again, and so is what moves change, also where little of it is kept."""
    domain = data.draw(domains(max_cells=60))
    cube = DataCube([data.draw(contingency_tables(domain))])
    position = Position.of(cube, data.draw(decomposable_masks(domain)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("models.search.problem._MOST_HIDINGS", data.draw(st.sampled_from([2, 1000])))
        for _ in range(12):
            changes = {move: position.change(move) for move in allowed_moves(position.graph)}
            move = data.draw(st.sampled_from(list(changes)))
            position = position.after(move, changes[move])
        changes = {move: position.change(move) for move in allowed_moves(position.graph)}
    again = Position.of(cube, position.cliques)
    assert (again.graph, again.cliques) == (position.graph, position.cliques)
    assert again.divergence == pytest.approx(position.divergence, abs=1e-9)
    for move, change in changes.items():
        assert again.change(move).divergence == pytest.approx(change.divergence, abs=1e-9)
        assert again.change(move)[1:] == change[1:]


@pytest.mark.parametrize("shape", sorted(NOT_DECOMPOSABLE))
def test_there_is_no_position_of_what_is_not_decomposable(shape):
    with pytest.raises(NotDecomposableError):
        Position.of(shape_cube(), [SHAPE_DOMAIN.mask(margin) for margin in SHAPES[shape]])


@settings(deadline=None)
@given(st.data())
def test_pairs_that_join_parts_are_those_that_are_found_one_by_one(data):
    """Of random tables of columns with one step, at random decomposable collections, at a price or without."""
    sizes = data.draw(st.lists(st.integers(1, 3), min_size=2, max_size=6), label="sizes")
    names = "abcdef"[: len(sizes)]
    domain = Domain.of({name: Hierarchy.flat("xyz"[:size]) for name, size in zip(names, sizes)})
    rows = data.draw(st.lists(st.tuples(*(st.integers(0, size - 1) for size in sizes)), min_size=1, max_size=30))
    codes = {name: np.array([row[place] for row in rows]) for place, name in enumerate(names)}
    table = ContingencyTable.from_cells(domain, dict.fromkeys(names, 0), codes, np.ones(len(rows), int))
    price = data.draw(st.sampled_from([0.0, 0.01, 0.1]), label="price")
    cube, plain = DataCube([table]), DataCube([table])
    position = Position.of(cube, data.draw(decomposable_masks(domain), label="cliques"))
    assert position.gaining_pairs_apart(price) is None
    cube.learn_pairs()
    found = position.gaining_pairs_apart(price)
    if found is None:  # too many rows of each cell
        assert cube.total > 4 * len(table)
        return
    one_by_one = Position.of(plain, position.cliques)
    graph = position.graph
    expected = {}
    for move in allowed_moves(graph):
        if isinstance(move, AddEdge) and not graph.reached(move.first, 0) >> move.second & 1:
            change = one_by_one.change(move)
            if change.divergence - price * change.parameters > 1e-9:
                expected[move] = change
    assert {move: change for move, change in found if change.divergence - price * change.parameters > 1e-9} == {
        move: pytest.approx(change) for move, change in expected.items()
    }
    event(f"{min(len(expected), 3)} pairs")


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
        gains = [
            objective.gain(change.divergence, change.parameters)
            for objective in (KL, PenalizedDivergence(1 / rows), bic(rows))
        ]
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
        assert objective.gain(-change.divergence, -change.parameters) == -gain
        saved, parameters = before.deviance - after.deviance, after.parameter_count - before.parameter_count
        if parameters == 0:
            assert gain == pytest.approx(saved / (2 * collection.cube.total), abs=1e-9)
            continue
        p_value = chi2.sf(abs(saved), abs(parameters))
        if abs(p_value - alpha) > 1e-9:
            significant = bool(p_value < alpha)
            assert (gain > 0) is (significant if parameters > 0 else not significant)


def test_prices_of_no_rows_are_numbers():
    assert bic(0) == bic(1) == PenalizedDivergence(0.0)
    assert LikelihoodRatio(0).gain(0.0, 0) == 0.0


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
