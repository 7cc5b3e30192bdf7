"""Greedy search: every step is the best allowed one, none is left at the end, and the result keeps its start."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brute_force import iterative_proportional_fitting, joint_array, kl_divergence
from models import (
    STRATEGIES,
    AddEdge,
    AddVertex,
    Collection,
    ContingencyTable,
    DataCube,
    Domain,
    Hierarchy,
    InteractionGraph,
    MaximumEntropy,
    PenalizedDivergence,
    Problem,
    Refusal,
    RefusalScope,
    Unconstrained,
    allowed_moves,
    describe,
    forward,
)
from privacy_oracles import base_table
from search_oracles import Countdown, all_collections, never
from search_strategies import Refused
from strategies import contingency_tables, decomposable_masks, domains, maximal_cliques

backward, both = STRATEGIES["greedy-backward"], STRATEGIES["greedy-both"]


def greedy(cube, start, constraint, stop):
    return forward(Problem(cube, constraint, kept=tuple(start)), stop)


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
    """A start, and limits that allow it."""
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


@given(limited_starts(), st.integers(1, 12), st.randoms(use_true_random=False))
def test_steps_are_allowed_and_lower_the_divergence_by_what_they_say_from_the_start_on(drawn, turns, random):
    """The divergence is recomputed by iterative proportional fitting over all base cells."""
    cube, start, limits = drawn
    result = greedy(cube, start, limits, never)
    (*on_the_way, at_the_end), limits.asked = limits.asked, []
    assert all(any(mask & ~clique == 0 for clique in result.cliques) for mask in start)
    assert result.cliques == tuple(sorted(maximal_cliques(InteractionGraph.of(cube.domain, result.cliques))))
    assert (result.strategy, result.optimal) == ("greedy", False)
    collection = Collection.of(cube, result.cliques)
    assert collection.is_decomposable
    p = joint_array(base_table(cube)) / cube.total
    q = iterative_proportional_fitting(p, cube.domain, collection.margins)
    assert result.kl_divergence == pytest.approx(kl_divergence(p, q), abs=1e-9)
    graphs = replayed(cube, start, result)
    for step, (before, after) in zip(result.steps, pairwise(graphs)):
        assert step.after < step.before
        assert step.before == pytest.approx(divergence(cube, maximal_cliques(before)), abs=1e-9)
        assert step.after == pytest.approx(divergence(cube, maximal_cliques(after)), abs=1e-9)
        assert limits.judge(maximal_cliques(after)) is None
        names = {describe(move, before): move for move in adding_moves(before)}
        for told in step.refused:
            assert limits.judge(maximal_cliques(names[told.move].apply(before))).reason == told.reason
    assert set(maximal_cliques(graphs[-1])) == set(result.cliques)
    known = [frozenset(maximal_cliques(graph)) for graph in graphs]
    assert result.evaluated == len(on_the_way)
    assert at_the_end == (frozenset(result.cliques), 0)
    for cliques, new in on_the_way:  # it asks about whole collections and the margin that is new
        assert new in cliques
        assert set(maximal_cliques(InteractionGraph.of(cube.domain, cliques))) == cliques
        assert any({old for old in before if old & ~new} | {new} == cliques for before in known)
    shuffled = [*start, *start[:1]]
    random.shuffle(shuffled)
    assert greedy(DataCube([base_table(cube)]), shuffled, limits, never) == result
    part = greedy(cube, start, limits, Countdown(turns))
    assert part.steps == result.steps[: len(part.steps)]
    assert part.evaluated <= min(turns, result.evaluated)
    assert part.kl_divergence == pytest.approx(divergence(cube, part.cliques), abs=1e-12)
    assert limits.judge(part.cliques) is None or not part.steps
    limits.asked = []
    at_once = greedy(cube, start, limits, Countdown(0))
    assert at_once.kl_divergence == pytest.approx(divergence(cube, start), abs=1e-12)
    assert (at_once.steps, at_once.evaluated, limits.asked) == ((), 0, [(frozenset(at_once.cliques), 0)])


@settings(max_examples=60)
@given(starts())
def test_every_step_is_the_one_that_lowers_the_divergence_most(drawn):
    """Among all allowed moves valued anew, though the search values again only what a move touched."""
    cube, start = drawn
    result = greedy(cube, start, Unconstrained(), never)
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
    result = strategy(Problem(cube, limits, kept=tuple(start)), never)
    graph = InteractionGraph.of(cube.domain, result.cliques)
    for move in adding_moves(graph):
        cliques = maximal_cliques(move.apply(graph))
        if divergence(cube, cliques) < result.kl_divergence - 1e-9:
            assert limits.judge(cliques) is not None


def test_a_move_refused_for_now_comes_back_when_there_is_room():
    """Two margins allowed: c, of one value in ten, tells most, but has to wait until a and b share one."""
    domain = Domain.of({name: Hierarchy.flat("xy") for name in "abc"})
    codes = dict(zip("abc", np.indices((2, 2, 2)).reshape(3, -1)))
    counts = np.outer([3, 2, 2, 3], [9, 1]).ravel()
    cube = DataCube([ContingencyTable.from_cells(domain, dict.fromkeys("abc", 0), codes, counts)])
    result = greedy(cube, [domain.mask({"a": 0}), domain.mask({"b": 0})], Limits(domain, 8, 2), never)
    first, second = result.steps
    assert (first.move, first.refused) == (
        "show a at level 0 with b at level 0",
        (("show c at level 0", "too many margins"),),
    )
    assert (second.move, second.refused) == ("show c at level 0", ())


def all_or_nothing():
    """A problem of two attributes whose base table alone may be published, though it costs more than it tells."""
    domain = Domain.of({name: Hierarchy.flat("xy") for name in "ab"})
    codes = dict(zip("ab", np.indices((2, 2)).reshape(2, -1)))
    table = ContingencyTable.from_cells(domain, dict.fromkeys("ab", 0), codes, np.array([9, 3, 2, 1]))
    between = Refused(frozenset(all_collections(domain) - {frozenset(), frozenset([table.mask])}))
    return Problem(DataCube([table]), between, PenalizedDivergence(1.0)), table.mask


def test_backward_search_loses_nothing_when_it_is_told_to_stop():
    """Everything is allowed, and what is tried next is not: more time never gives less."""
    problem, base = all_or_nothing()
    results = [backward(problem, Countdown(turns)) for turns in range(12)]
    assert all(later.kl_divergence <= sooner.kl_divergence for sooner, later in pairwise(results))
    assert {result.cliques for result in results} == {(), (base,)}
    assert backward(problem, never).cliques == (base,)


def test_backward_search_shows_again_what_it_took_away():
    """Nothing may be shown with c. On the way from the base table c goes with its margins, and comes back by itself."""
    domain = Domain.of({name: Hierarchy.flat("xy") for name in "abc"})
    cells = dict(zip("abc", np.indices((2, 2, 2)).reshape(3, -1)))
    counts = np.array([50, 5, 6, 30, 7, 45, 40, 3])
    cube = DataCube([ContingencyTable.from_cells(domain, dict.fromkeys("abc", 0), cells, counts)])
    pair, alone = domain.mask({"a": 0, "b": 0}), domain.mask({"c": 0})

    def apart(cliques, _):
        joined = any(clique & alone and clique != alone for clique in cliques)
        return Refusal("c with others", RefusalScope.LONGER) if joined else None

    assert set(backward(Problem(cube, apart), never).cliques) == {pair, alone}


def test_a_gain_by_taking_away_is_not_taken_where_what_is_left_is_refused():
    problem, base = all_or_nothing()
    for strategy in (backward, both):
        assert strategy(replace(problem, start=(base,)), never).cliques == (base,)
