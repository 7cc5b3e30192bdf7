"""Every strategy finds an allowed collection that shows what is kept; what is called best is the best of all."""

from dataclasses import replace
from itertools import count, pairwise
from math import log
from random import Random
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from brute_force import dense_marginal, iterative_proportional_fitting, joint_array, kl_divergence
from filled_tables import counted, filled, flat_domain
from models import (
    STRATEGIES,
    Collection,
    DataCube,
    Deadline,
    Domain,
    Hierarchy,
    InteractionGraph,
    LikelihoodRatio,
    MarginalModel,
    MarginLimits,
    MaximumEntropy,
    NothingAllowedError,
    Problem,
    Refusal,
    RefusalScope,
    SelectionError,
    TooManyCellsError,
    WantedAnalyses,
    WantedMargin,
    allowed_moves,
    describe,
    exact,
    forward,
    from_independence,
    select,
    stepwise,
    with_bound,
)
from privacy_oracles import base_table
from search_oracles import (
    Countdown,
    all_collections,
    allowed_values,
    by_antichains,
    by_moves,
    cross,
    equal_pairs,
    is_finer,
    never,
    of_heights,
    short_walks,
    value,
)
from search_strategies import AtMost, Refused, private_problems, problems
from strategies import decomposable_collections, maximal_cliques

any_problem = problems() | private_problems()


@st.composite
def wanted_margins(draw, domain):
    sets = st.sets(st.sampled_from(domain.attributes), min_size=1, max_size=3)
    weights = st.sampled_from([0.1, 0.5, 1.0, 3.0])
    chosen = draw(st.lists(st.tuples(sets, weights), min_size=1, max_size=3))
    return tuple(WantedMargin(domain.mask(dict.fromkeys(sorted(names), 0)), weight) for names, weight in chosen)


@st.composite
def wanting(draw, problems=any_problem):
    problem = draw(problems)
    return replace(problem, wanted=WantedAnalyses(problem.cube, draw(wanted_margins(problem.cube.domain))))


@pytest.fixture(scope="module", autouse=True)
def few_turns():
    with short_walks(2):
        yield


def assert_is_allowed(problem, cliques):
    assert frozenset(cliques) in all_collections(problem.cube.domain)
    assert problem.constraint(cliques, 0) is None
    assert is_finer(cliques, problem.required)


@pytest.mark.parametrize("name", STRATEGIES)
@settings(max_examples=25)
@given(problem=any_problem, turns=st.integers(0, 25))
def test_the_result_is_allowed_and_its_figures_are_those_of_its_maxent_joint(name, problem, turns):
    """By iterative proportional fitting over all base cells; no allowed collection is better by more than the gap."""
    search = STRATEGIES[name]
    found = search(problem, never)
    assert_is_allowed(problem, found.cliques)
    assert found.cliques == tuple(sorted(found.cliques))
    assert found.strategy == name
    assert search(replace(problem), never) == found, "the same problem has the same result"
    collection = Collection.of(problem.cube, found.cliques)
    p = joint_array(base_table(problem.cube)) / problem.cube.total
    q = iterative_proportional_fitting(p, problem.cube.domain, collection.margins)
    assert found.kl_divergence == pytest.approx(kl_divergence(p, q), abs=1e-9)
    parameters = MaximumEntropy(collection).parameter_count
    assert found.value == pytest.approx(found.kl_divergence + problem.price * parameters, abs=1e-9)
    if name not in ("forward", "backward"):
        assert found.value <= forward(problem, never).value + 1e-9
    bounded, best = with_bound(found, problem), min(allowed_values(problem).values())
    assert bounded.bound <= best + 1e-9
    assert found.value - bounded.gap <= best + 1e-9
    assert bounded.gap >= 0
    assert not bounded.optimal or found.value <= best + 1e-9
    assert_steps_lead_to_the_result(problem, found, is_replayed=name in REPLAYED)
    assert_says_what_binds(problem, found.cliques)
    stop = Countdown(turns)
    early = search(problem, stop)
    assert_is_allowed(problem, early.cliques)
    assert stop.asked <= turns + 12, "it asks once more for each of its parts"
    model = MaximumEntropy(Collection.of(problem.cube, early.cliques))
    assert early.kl_divergence == pytest.approx(model.kl_divergence, abs=1e-12)


REPLAYED = ("forward", "backward", "both")
"""Strategies whose steps are single moves that are found again by their names."""


OF_ANY_OBJECTIVE = ["auto", *REPLAYED]
"""The others refuse the likelihood ratio, by which there is no best model."""


def assert_steps_lead_to_the_result(problem, found, *, is_replayed):
    assert all(step.after == pytest.approx(later.before, abs=1e-9) for step, later in pairwise(found.steps))
    start = MaximumEntropy(Collection.of(problem.cube, problem.initial)).kl_divergence
    ends = (found.steps[0].before, found.steps[-1].after) if found.steps else (start, start)
    assert ends == pytest.approx((start, found.kl_divergence), abs=1e-9)
    graph = InteractionGraph.of(problem.cube.domain, problem.initial, crossing=problem.crossing)
    for step in found.steps if is_replayed else ():
        (move,) = (move for move in allowed_moves(graph) if describe(move, graph) == step.move)
        graph = move.apply(graph)
        model = MaximumEntropy(Collection.of(problem.cube, maximal_cliques(graph)))
        assert step.after == pytest.approx(model.kl_divergence, abs=1e-9)
    assert not is_replayed or tuple(sorted(maximal_cliques(graph))) == found.cliques


def parts(domain, cliques):
    """The vertices of a collection's graph, and its edges, those within an attribute left out."""
    graph = InteractionGraph.of(domain, cliques)
    vertices = {v for v in range(domain.vertex_count) if graph.vertices >> v & 1}
    attribute = {v: domain.induced_attributes[v].attribute for v in vertices}
    edges = {
        (a, b) for a in vertices for b in vertices if a < b and graph.has_edge(a, b) and attribute[a] != attribute[b]
    }
    return vertices, edges


def is_one_step_off(domain, some, others):
    """One edge more or less; or one vertex more, alone but for its attribute, or less, with all its edges."""
    (some_vertices, some_edges), (vertices, edges) = parts(domain, some), parts(domain, others)
    if some_vertices == vertices:
        return len(some_edges ^ edges) == 1
    if len(some_vertices ^ vertices) != 1:
        return False
    (vertex,) = some_vertices ^ vertices
    return edges == {edge for edge in some_edges if vertex not in edge}


def assert_says_what_binds(problem, cliques):
    """The collections one step off that are better and not allowed, with the reason, each looked at."""
    domain, here = problem.cube.domain, value(problem.cube, cliques, problem.price)
    graph = InteractionGraph.of(domain, cliques, crossing=problem.crossing)
    after = {describe(m, graph): frozenset(maximal_cliques(m.apply(graph))) for m in allowed_moves(graph)}
    refused = {
        other: refusal.reason
        for other in all_collections(domain)
        if (is_one_step_off(domain, cliques, other) if problem.crossing else other in after.values())
        and value(problem.cube, other, problem.price) < here - 1e-11
        and problem.is_kept(other)
        and (refusal := problem.constraint(other, 0)) is not None
    }
    binding = problem.binding(cliques, never)
    assert {after[move]: reason for move, reason in binding} == refused
    assert len(dict(binding)) == len(binding)
    values = [value(problem.cube, after[move], problem.price) for move, _ in binding]
    assert values == pytest.approx(sorted(values), abs=1e-9)
    event(f"{min(len(binding), 3)} refused")


@pytest.mark.parametrize("name", [*STRATEGIES, "stepwise"])
@settings(max_examples=10)
@given(problem=problems(), seed=st.integers(0, 10_000))
def test_a_plain_function_is_a_constraint(name, problem, seed):
    """What it refuses nobody gives back: where a search does not come to an allowed collection, it says so."""
    collections = sorted(all_collections(problem.cube.domain), key=sorted)
    random = Random(seed)
    refused = {c for c in collections if random.random() < 0.4}

    def fair(cliques, _):
        return Refusal("not fair") if frozenset(cliques) in refused else None

    search = {**STRATEGIES, "stepwise": stepwise}[name]
    problem = replace(problem, constraint=fair)
    try:
        found = search(problem, never)
    except NothingAllowedError:
        begun_at_a_refused_one = frozenset(problem.initial) in refused
        assert not allowed_values(problem) if name == "exact" else begun_at_a_refused_one
    else:
        assert_is_allowed(problem, found.cliques)


@given(problems())
def test_where_the_time_is_over_nothing_is_said(problem):
    """Rather than a part of it."""
    counting = Countdown(10_000)
    whole = problem.binding(problem.initial, counting)
    for turns in range(0, counting.asked, 3):
        assert problem.binding(problem.initial, Countdown(turns)) is None
    assert problem.binding(problem.initial, Countdown(counting.asked)) == whole


@pytest.mark.parametrize("name", [name for name in STRATEGIES if name not in OF_ANY_OBJECTIVE])
def test_what_is_only_a_rule_for_stopping_has_no_best_model(name):
    problem = hidden_pair()
    with pytest.raises(SelectionError, match="stepwise"):
        STRATEGIES[name](replace(problem, objective=LikelihoodRatio(problem.cube.total)), never)


@pytest.mark.parametrize("name", ["auto", "local", "exact"])
def test_equal_columns_are_published_together(name):
    """Eight pairs of equal columns, 43 million margins: a finer step of one beside a coarser of the other tells nothing."""
    problem = Problem(cube := equal_pairs(8), MarginLimits(cube.domain, max_cells=16))
    together = problem.value(problem.position([0b1111 << 4 * i for i in range(8)]))
    assert forward(problem, never).value > 2 * together
    found = STRATEGIES[name](problem, Countdown(3_000))
    assert (found.strategy, found.value <= together) == (name, True)
    assert found.steps[0].move.startswith("begin with pairs")
    assert found.value == pytest.approx(problem.value(problem.position(found.cliques)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("models.search.starts._WORK", 1)
        found = STRATEGIES[name](problem, Countdown(3_000))
        assert not found.steps[0].move.startswith("begin"), "too much to count for a forest"


def hidden_pair() -> Problem:
    """Two attributes that determine each other, and of which the coarse values are nearly independent.

    A third one tells a little of each, at once. Every margin may have two attributes, no attribute may be in two margins.
    """
    nested = Hierarchy.from_rows([("p1", "p", "*"), ("p2", "p", "*"), ("q1", "q", "*"), ("q2", "q", "*")])
    domain = Domain.of({"school": nested, "trade": nested, "age": Hierarchy.flat(["young", "old"])})
    cells = [(school, trade, age) for school, trade in enumerate((0, 2, 1, 3)) for age in range(2)]
    cube = DataCube([counted(domain, dict(zip(cells, [12, 9, 11, 9, 9, 11, 9, 11])))])

    def apart(cliques, _):
        partners = [set(domain.margin(clique)) for clique in cliques if len(domain.margin(clique)) > 1]
        if any(one & other for place, one in enumerate(partners) for other in partners[:place] if one != other):
            return Refusal("two partners", RefusalScope.LONGER)
        return None

    return Problem(cube, MarginLimits(domain, max_attributes=2, then=apart))


def test_a_pair_that_says_little_at_coarse_levels_is_found():
    """Forward search by gain joins the age with one of the two, which have two bits in common."""
    problem = hidden_pair()
    with short_walks(20):
        found, by_gain = STRATEGIES["local"](problem, never), forward(problem, never)
    assert found.value == pytest.approx(exact(problem, never).value, abs=1e-12)
    assert by_gain.value > found.value + log(2)


def traps(number):
    """Random problems in which greedy search ends above the optimum: at most two margins, few cells in all."""
    rng = np.random.default_rng(0)
    nested = Hierarchy.from_rows([("u", "w", "*"), ("v", "w", "*"), ("x", "x", "*")])
    domain = Domain.of({"a": nested, **{name: Hierarchy.flat("xyz") for name in "bcd"}})
    found = 0
    while found < number:
        counts = rng.gamma(0.3, 5, 81).astype(int) + (rng.random(81) < 0.2)
        problem = Problem(DataCube([filled(domain, counts)]), AtMost(domain, 3, 40))
        best = exact(problem, never)
        if forward(problem, never).value > best.value + 1e-3:
            found += 1
            yield problem


def test_iterated_local_search_leaves_most_traps_of_forward_search():
    """Other seeds take other ways."""
    with short_walks(40):
        results = [(problem, STRATEGIES["local"](problem, never)) for problem in traps(8)]
        assert sum(found.value < forward(problem, never).value - 1e-6 for problem, found in results) >= 6
        seeded = [STRATEGIES["local"](replace(results[0][0], seed=seed), never) for seed in (1, 2, 3)]
    assert len({result.evaluated for result in seeded}) > 1


def test_iterated_local_search_takes_nothing_out_of_what_must_stay():
    (problem,) = traps(1)
    whole = Problem(problem.cube, required=(sum(problem.cube.domain.attribute_masks),))
    with short_walks(40):
        assert STRATEGIES["local"](whole, never).cliques == forward(whole, never).cliques


def asked(table, name, criterion):
    looks = count()
    deadline = Deadline(100_000, lambda: next(looks))
    select(table, criterion, name, deadline=deadline)
    return next(looks)


@pytest.mark.parametrize("name", OF_ANY_OBJECTIVE)
def test_moves_that_each_gain_do_not_lead_in_a_circle(name):
    """Four collections, each significantly better than the one before it, the first than the last."""
    counts = [4, 11, 3, 13, 15, 14, 19, 10, 11, 20, 15, 2, 5, 12, 2, 6, 7, 9, 26, 5, 12, 3, 8, 1]
    assert asked(filled(flat_domain(a=2, b=2, c=3, d=2), counts), name, "likelihood-ratio") < 1_000


# Exact search: what it calls best is the best of all collections that the constraint allows, each looked at.


HEIGHTS = [(1,), (1, 1), (3, 1), (2, 2), (3, 2), (1, 1, 1), (2, 1, 1), (2, 2, 1), (1, 1, 1, 1)]


@pytest.mark.parametrize("heights", HEIGHTS)
def test_moves_lead_to_exactly_the_sets_of_margins_that_have_a_junction_tree(heights):
    """Two ways to list the search space: KG06 6.2, and antichains of margins. Where levels must not cross, too."""
    assert by_moves(heights) == by_antichains(heights)
    assert by_moves(heights, crossing=False) == {c for c in by_antichains(heights) if not cross(of_heights(heights), c)}


@pytest.mark.parametrize("name", STRATEGIES)
def test_no_search_shows_two_attributes_at_crossing_levels_unless_it_may(name):
    """Each of two columns tells more of the other the finer it is; both together need more cells than a margin may have."""
    quarters = Hierarchy.from_rows([(f"{v}", f"{v // 2 * 2}-", "*") for v in range(4)])
    domain = Domain.of({"a": quarters, "b": quarters})
    cube = DataCube([filled(domain, np.array([[90, 24, 3, 1], [24, 30, 9, 3], [3, 9, 20, 14], [1, 3, 14, 40]]))])
    found = {
        may_cross: STRATEGIES[name](Problem(cube, MarginLimits(domain, 8, crossing_levels=may_cross)), never)
        for may_cross in (True, False)
    }
    assert [cross(domain, found[may_cross].cliques) for may_cross in (True, False)] == [True, False]
    assert found[True].value < found[False].value


@pytest.mark.parametrize("name", STRATEGIES)
def test_no_search_shows_a_pair_more_finely_than_its_finest_margin(name):
    """By itself a finest margin changes nothing: the columns may be as fine as before where they stand alone."""
    quarters = Hierarchy.from_rows([(f"{v}", f"{v // 2 * 2}-", "*") for v in range(4)])
    domain = Domain.of({"a": quarters, "b": quarters})
    cube = DataCube([filled(domain, np.array([[90, 24, 3, 1], [24, 30, 9, 3], [3, 9, 20, 14], [1, 3, 14, 40]]))])
    finest = domain.mask({"a": 1, "b": 0})
    found = STRATEGIES[name](Problem(cube, MarginLimits(domain, finest=(finest,))), never)
    assert {*found.cliques} == {finest, domain.mask({"a": 0})}


def assert_is_best(problem):
    """The best value of all, proven, by a collection that is allowed and shows what must be kept."""
    values = allowed_values(problem)
    found = exact(problem, never)
    assert found.value == pytest.approx(min(values.values()), abs=1e-9)
    assert found.value == pytest.approx(values[frozenset(found.cliques)], abs=1e-9)
    assert (found.strategy, found.optimal, found.gap) == ("exact", True, 0.0)
    assert found.bound == pytest.approx(found.value, abs=1e-9)
    return found


@given(any_problem | wanting(), st.sampled_from([1, 4, 12]))
def test_it_finds_the_best_of_all_collections_under_every_kind_of_constraint(problem, most):
    """Also block by block, as of a large lattice: with blocks of so many margins at most."""
    found = assert_is_best(problem)
    greedy_fails = forward(problem, never).value > found.value + 1e-9
    binds = found.value > min(allowed_values(Problem(problem.cube, objective=problem.objective)).values()) + 1e-9
    event("greedy fails" if greedy_fails else "greedy finds it")
    event("the constraint binds" if binds else "the constraint does not bind")
    assert exact(problem, never) == found
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("models.search.lower_bound.LARGEST_LATTICE", most)
        assert_is_best(problem)


@settings(max_examples=60)
@given(problems(), st.integers(0, 30))
def test_told_to_stop_it_gives_back_an_allowed_collection_and_an_honest_gap(problem, turns):
    found = exact(problem, Countdown(turns))
    values = allowed_values(problem)
    best = min(values.values())
    assert found.value == pytest.approx(values[frozenset(found.cliques)], abs=1e-9)
    assert found.bound is None or found.bound <= best + 1e-9
    assert found.gap is None or found.value - found.gap <= best + 1e-9
    assert not found.optimal or found.value == pytest.approx(best, abs=1e-9)
    assert found.value <= forward(problem, Countdown(turns)).value + 1e-12


@st.composite
def refusing_problems(draw):
    """Problems whose constraint refuses whole collections, from which nothing follows, the one they begin with too."""
    problem = draw(problems())
    collections = sorted(all_collections(problem.cube.domain), key=sorted)
    random = Random(draw(st.integers(0, 10_000)))
    share = draw(st.sampled_from([0.1, 0.5, 0.9]))
    refused = Refused(frozenset(c for c in collections if random.random() < share))
    return replace(problem, constraint=refused)


@pytest.mark.parametrize("way", ["a function", "within limits"])
@settings(max_examples=40)
@given(problem=refusing_problems())
def test_a_constraint_of_the_users_own_is_kept_by_what_is_called_the_best(way, problem):
    """Also where the search begins at a refused collection."""
    whole = problem.constraint
    own = {
        "a function": lambda cliques, new: whole(cliques, new),
        "within limits": MarginLimits(problem.cube.domain, then=lambda cliques, new: whole(cliques, new)),
    }[way]
    problem = replace(problem, constraint=own)
    if not allowed_values(problem):
        with pytest.raises(NothingAllowedError, match="weaken"):
            exact(problem, never)
    else:
        assert_is_best(problem)


# Wanted analyses: how far they are from the data is so in the maxent joint, and every strategy weighs them.


def brute_force(cube, cliques, margins):
    """Weighted KL(p_w || q_w) summed, by iterative fitting over all base cells."""
    domain, p = cube.domain, joint_array(base_table(cube)) / max(cube.total, 1)
    q = iterative_proportional_fitting(p, domain, Collection.of(cube, cliques).margins)
    shown = [domain.margin(margin.mask) for margin in margins]
    pairs = [(dense_marginal(p, domain, margin), dense_marginal(q, domain, margin)) for margin in shown]
    return sum(margin.weight * kl_divergence(*pair) for margin, pair in zip(margins, pairs))


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


@pytest.mark.parametrize("name", STRATEGIES)
@settings(max_examples=20)
@given(problem=wanting(), turns=st.just(10**9) | st.integers(0, 25))
def test_every_strategy_weighs_them_and_says_so_truly(name, problem, turns):
    """Allowed, with the value of the whole objective, and a bound below the best of all."""
    found, values = with_bound(STRATEGIES[name](problem, Countdown(turns)), problem), allowed_values(problem)
    assert found.value == pytest.approx(values[frozenset(found.cliques)], abs=1e-9)
    assert found.wanted == pytest.approx(problem.wanted.distances(found.cliques), abs=1e-12)
    best = min(values.values())
    assert found.bound is not None
    assert found.bound <= best + 1e-9
    assert found.value - found.gap <= best + 1e-9


def pulled():
    """Two pairs of attributes depend on each other, the first less; one margin of two attributes may be published."""
    domain = flat_domain(a=2, b=2, c=2)
    joint = np.array([[30, 20], [20, 30]])[:, :, None] * np.array([[40, 10], [10, 40]])[None] // 50
    return DataCube([filled(domain, joint)]), domain


@pytest.mark.parametrize("name", STRATEGIES)
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


def test_when_time_ends_among_the_first_pairs_those_counted_so_far_are_taken() -> None:
    """Only single attributes were kept then."""
    cube = equal_pairs(10)
    problem = from_independence(Problem(cube, MarginLimits(cube.domain, max_cells=16)))
    alone = problem.value(problem.position(problem.initial))
    found = [STRATEGIES["local"](problem, Countdown(turns)).value for turns in (0, 1, 100, 300, 1000)]
    assert found[0] == alone, "no search with no time"
    assert alone - 0.1 > found[1] > found[2] > found[3] > found[4]
