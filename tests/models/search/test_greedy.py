"""Greedy search: constraints and positions are what they say, every step is the best allowed one, none is left."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from filled_tables import filled, flat_domain
from models import (
    KL,
    STRATEGIES,
    AddEdge,
    AddVertex,
    Collection,
    DataCube,
    InteractionGraph,
    LikelihoodRatio,
    MaximumEntropy,
    NotDecomposableError,
    PenalizedDivergence,
    Position,
    Problem,
    Refusal,
    RefusalScope,
    Unconstrained,
    allowed_moves,
    bic,
    describe,
    forward,
    from_independence,
    stepwise,
)
from search_oracles import Countdown, all_collections, cross, goes_on_from, is_finer, never, shows
from search_strategies import Refused, limits, private_problems, problems, small_domains
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

backward = STRATEGIES["backward"]


@st.composite
def starts(draw):
    """A cube over few cells, and a valid decomposable collection to start from, often an empty one."""
    domain = draw(domains(max_attributes=3, max_values=4, max_cells=60))
    cube = DataCube([draw(contingency_tables(domain))])
    return cube, draw(st.just(()) | decomposable_masks(domain, max_cliques=4))


class Limits:
    """Refuses for good margins of many cells, and for now more than a few margins. Records what it is asked."""

    def __init__(self, domain, cells, margins):
        self.domain, self.cells, self.margins = domain, cells, margins
        self.asked = []

    def judge(self, cliques):
        if any(self.domain.size(self.domain.margin(clique)) > self.cells for clique in cliques):
            return Refusal("a margin of too many cells", RefusalScope.FINER)
        if len(cliques) > self.margins:
            return Refusal("too many margins", RefusalScope.LONGER)
        return None

    def __call__(self, cliques, new):
        self.asked.append((frozenset(cliques), new))
        return self.judge(cliques)


@st.composite
def limited_starts(draw):
    cube, start = draw(starts())
    sizes = [cube.domain.size(cube.domain.margin(mask)) for mask in start]
    cells = max([*sizes, draw(st.integers(1, 60))])
    return cube, start, Limits(cube.domain, cells, max(len(start), draw(st.integers(1, 4))))


def divergence(cube, cliques):
    return MaximumEntropy(Collection.of(cube, cliques)).kl_divergence


def replayed(cube, start, result):
    """The graphs before each step and at the end, found again by the names of the moves."""
    graph = InteractionGraph.of(cube.domain, start)
    graphs = [graph]
    for step in result.steps:
        (move,) = (move for move in adding_moves(graph) if describe(move, graph) == step.move)
        graph = move.apply(graph)
        graphs.append(graph)
    return graphs


def adding_moves(graph):
    return [move for move in allowed_moves(graph) if isinstance(move, AddVertex | AddEdge)]


@settings(max_examples=60)
@given(starts())
def test_every_step_is_the_one_that_lowers_the_divergence_most(drawn):
    """Among all allowed moves valued anew, though the search values again only what a move touched."""
    cube, start = drawn
    result = forward(Problem(cube, Unconstrained(), required=tuple(start)), never)
    for step, graph in zip(result.steps, replayed(cube, start, result)):
        best = min(divergence(cube, maximal_cliques(move.apply(graph))) for move in adding_moves(graph))
        assert step.after == pytest.approx(best, abs=1e-9)
    for move in adding_moves(InteractionGraph.of(cube.domain, result.cliques)):
        after = divergence(cube, maximal_cliques(move.apply(InteractionGraph.of(cube.domain, result.cliques))))
        assert after >= result.kl_divergence - 1e-9, "none is left at the end"


@pytest.mark.parametrize("strategy", [forward, backward])
@given(limited_starts())
def test_under_a_constraint_it_ends_where_every_better_collection_is_refused(strategy, drawn):
    """A move refused for now comes back after the next one; none is forgotten, nor what was taken away on the way."""
    cube, start, limits = drawn
    result = strategy(Problem(cube, limits, required=tuple(start)), never)
    graph = InteractionGraph.of(cube.domain, result.cliques)
    for move in adding_moves(graph):
        cliques = maximal_cliques(move.apply(graph))
        if divergence(cube, cliques) < result.kl_divergence - 1e-9:
            assert limits.judge(cliques) is not None


def all_or_nothing():
    """A problem of two attributes whose base table alone may be published, though it costs more than it tells."""
    table = filled(flat_domain(a=2, b=2), [9, 3, 2, 1])
    between = Refused(frozenset(all_collections(table.domain) - {frozenset(), frozenset([table.mask])}))
    return Problem(DataCube([table]), between, PenalizedDivergence(1.0)), table.mask


def test_backward_search_loses_nothing_when_it_is_told_to_stop():
    """Everything is allowed, and what is tried next is not: more time never gives less."""
    problem, base = all_or_nothing()
    results = [backward(problem, Countdown(turns)) for turns in range(12)]
    assert all(later.kl_divergence <= sooner.kl_divergence for sooner, later in pairwise(results))
    assert {result.cliques for result in results} == {(), (base,)}
    assert backward(problem, never).cliques == (base,)


def test_a_gain_by_taking_away_is_not_taken_where_what_is_left_is_refused():
    problem, base = all_or_nothing()
    for strategy in (backward, stepwise):
        assert strategy(replace(problem, start=(base,)), never).cliques == (base,)


# Positions and objectives: a move brings what it says, and gains are differences of the criteria.


@pytest.mark.parametrize("shape", sorted(NOT_DECOMPOSABLE))
def test_there_is_no_position_of_what_is_not_decomposable(shape):
    with pytest.raises(NotDecomposableError):
        Position.of(shape_cube(), [SHAPE_DOMAIN.mask(margin) for margin in SHAPES[shape]])


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


@pytest.mark.parametrize("name", ["forward", "backward"])
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
        if adds or name != "forward":
            assert objective.gain(change.divergence, change.parameters) <= 1e-9


# Limits on margins: what is refused is refused for good, asking about the new margin is enough, and others follow.


any_problem = problems() | private_problems()


@st.composite
def limited(draw):
    domain = draw(small_domains())
    return domain, draw(limits(domain))


def is_within(domain, limit, cliques):
    margins = [domain.margin(clique) for clique in cliques]
    return (
        all(limit.max_attributes is None or len(margin) <= limit.max_attributes for margin in margins)
        and all(limit.max_cells is None or domain.size(margin) <= limit.max_cells for margin in margins)
        and not any(shows(cliques, withheld) for withheld in limit.withheld)
        and (limit.crossing_levels or not cross(domain, cliques))
    )


@settings(max_examples=60)
@given(limited())
def test_a_collection_is_allowed_exactly_within_the_limits(drawn):
    domain, limit = drawn
    collections = sorted(all_collections(domain), key=sorted)
    for place, cliques in enumerate(collections):
        assert Unconstrained()(cliques, 0) is None
        refusal = limit(cliques, 0)
        assert (refusal is None) is is_within(domain, limit, cliques)
        if refusal and place % 3 == 0:
            crosses = "crossing" in refusal.reason
            assert refusal.scope is (RefusalScope.LONGER if crosses else RefusalScope.FINER)
            follows = goes_on_from if crosses else is_finer
            assert all(limit(more, 0) for more in collections if follows(more, cliques))


@settings(max_examples=60)
@given(any_problem)
def test_the_independence_model_is_allowed_and_shows_single_attributes_besides_what_is_kept(problem):
    begun = from_independence(problem)
    domain = problem.cube.domain
    start = Position.of(problem.cube, begun.start).cliques
    assert start in all_collections(domain)
    assert problem.constraint(start, 0) is None
    assert is_finer(start, problem.required)
    assert begun.required == problem.required
    if not problem.required:
        assert all(len(domain.margin(mask)) == 1 for mask in start)
    free = from_independence(Problem(problem.cube))
    assert set(free.start) == {domain.mask({attribute: 0}) for attribute in domain.attributes}


def test_a_search_starts_finer_than_what_is_required():
    cube, mask = shape_cube(), SHAPE_DOMAIN.mask
    assert Problem(cube, required=(mask({"a": 1}),), start=(mask({"a": 0}),)).initial == (mask({"a": 0}),)
