"""Scores of cliques: what a search minimizes is the score of the model, whatever the strategy, with levels too."""

from functools import partial
from math import lgamma

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models import (
    STRATEGIES,
    Collection,
    JunctionTree,
    LikelihoodRatio,
    PenalizedDivergence,
    Problem,
    SelectionError,
    allowed_moves,
    with_bound,
)
from models.search import BDeu, CliqueScore
from models.search.problem import additive
from models.tables.data_cube import InteractionCube, ScoredInteractions
from search_oracles import all_collections, never, random_searches_of
from search_strategies import problems
from strategies import decomposable_collections


@pytest.fixture(scope="module", autouse=True)
def few_turns():
    """Random searches that end soon."""
    with random_searches_of(proposals=30, patience=5, population=6, generations=3):
        yield


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

    levels = domain.levels(sum(vertex for vertex in {1 << v for m in collection.masks for v in _bits(m)}))
    leaves = sum(map(cube.log_leaves, levels, levels.values()))
    whole = sum(map(of, tree.cliques)) - sum(map(of, tree.separators))
    empty = of(0) * (len(tree.cliques) - len(tree.separators))
    return (empty - whole) / cube.total + leaves - cube.entropy(sum(domain.attribute_masks))


def _bits(mask):
    return [place for place in range(mask.bit_length()) if mask >> place & 1]


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


@pytest.mark.slow
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


class _Of:
    def __init__(self, gain):
        self.gain = gain


@given(st.floats(1e-3, 1e3), st.floats(0, 10))
def test_whatever_adds_up_is_taken_for_the_penalized_divergence_that_it_is(scale, price):
    found = additive(_Of(lambda divergence, parameters: scale * (divergence - price * parameters)))
    assert isinstance(found, PenalizedDivergence)
    assert found.price == pytest.approx(price, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(
    "gain",
    [
        lambda divergence, parameters: divergence - 0.1 * parameters**2,
        lambda divergence, parameters: divergence - 0.1 * abs(parameters),
        lambda divergence, parameters: 1.0 if divergence > 0.01 * parameters else -1.0,
        lambda divergence, parameters: divergence + 0.1 * parameters,
        lambda divergence, _parameters: -divergence,
        LikelihoodRatio(50).gain,
    ],
)
def test_what_does_not_add_up_is_left_as_it_is(gain):
    assert not isinstance(additive(_Of(gain)), PenalizedDivergence)


@pytest.mark.parametrize(
    "make", [partial(PenalizedDivergence, -0.1), partial(PenalizedDivergence, float("nan")), partial(BDeu, 0)]
)
def test_numbers_that_make_no_sense_are_refused(make):
    with pytest.raises(SelectionError):
        make()
