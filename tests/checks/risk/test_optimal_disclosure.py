"""Branch and bound finds what brute force finds, and k-anonymity is one of its problems."""

from collections.abc import Callable
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks import (
    Constant,
    DecisionProblem,
    Dictionary,
    DisclosureRuleError,
    Harm,
    LeastRisk,
    MostUtility,
    Records,
    RecordSpace,
    consistent_counts,
    losses,
)
from checks.risk.attackers import distance_from_root
from checks.risk.disclosure import Frontier, RolledCounts, best_on_average, branch_and_bound, brute_force, frontier
from checks.risk.harm import Objective, TradeOff
from models import Domain, FloatArray, Hierarchy
from risk_strategies import dictionaries, generalizations, records, sensitivities, spaces
from strategies import domains


@st.composite
def problems(draw: st.DrawFn) -> DecisionProblem:
    """Some records, one or two dictionaries that may or may not hold their people, and any harm."""
    space = RecordSpace(draw(domains(min_attributes=1, max_attributes=3)))
    originals = draw(records(space, max_size=4))
    known = draw(st.lists(dictionaries(space) | st.just(Dictionary(originals)), min_size=1, max_size=2))
    harm = Harm(draw(sensitivities(space, len(originals))))
    if draw(st.booleans()):
        harm = Harm(harm.identified, draw(sensitivities(space, len(originals))))
    worth = st.tuples(*[st.sampled_from([0.0, 0.5, 1.0]) for _ in range(len(space))])
    prior = (1.0,) if len(known) == 1 else (0.25, 0.75)
    # Without a prior the largest loss over the dictionaries counts.
    of_dictionaries = draw(st.sampled_from([prior, None]))
    steps, often = draw(st.none() | worth), draw(_weights(originals))
    return DecisionProblem(originals, tuple(known), harm, of_dictionaries, steps, often)


@st.composite
def _weights(draw: st.DrawFn, originals: Records) -> FloatArray | None:
    """None, or how often each record counts, at least one of them once."""
    counts = draw(st.lists(st.integers(0, 3), min_size=len(originals), max_size=len(originals)))
    return draw(st.sampled_from([None, np.array(counts, dtype=np.float64)])) if any(counts) else None


OBJECTIVES = (
    st.integers(0, 9).map(float).map(LeastRisk)
    | st.sampled_from([0.0, 0.1, 0.5, 1.0, 1e9]).map(MostUtility)
    | st.sampled_from([0.0, 0.01, 0.2, 5.0]).map(TradeOff)
)


def walked(problem: DecisionProblem, objective: Objective, row: int) -> tuple[float, ...] | None:
    """The best score of one record over all its level vectors."""
    vectors = problem.originals.space.level_vectors()
    rows = np.full(len(vectors), row)
    shown = problem.originals[rows].generalized(vectors)
    loss = over_dictionaries(
        problem, [problem.harm.loss(shown, rows, consistent_counts(shown, each)) for each in problem.dictionaries]
    )
    scores = objective.score(loss, distance_from_root(shown, problem.steps), distance_from_root(shown))
    found = list(map(tuple, scores.T.tolist()))
    best = min(found)
    return None if best[0] else best


def over_dictionaries(problem: DecisionProblem, parts: list[FloatArray]) -> FloatArray:
    """What is expected of losses under each dictionary, the largest of them without a prior."""
    if problem.prior is None:
        return np.asarray(np.max(parts, axis=0))
    # Not `@`: no chance of an infinite loss is no loss.
    return np.asarray(sum(share * part for share, part in zip(problem.prior, parts)))


@pytest.mark.slow
@settings(max_examples=60)
@given(problems(), OBJECTIVES)
def test_both_searches_find_the_best_level_vector_of_each_record(
    problem: DecisionProblem, objective: Objective
) -> None:
    for search in (brute_force, branch_and_bound):
        found = search(problem, objective)
        steps = distance_from_root(found.disclosure.records)
        scores = objective.score(found.loss, found.utility, steps)
        for row in range(len(problem.originals)):
            best = walked(problem, objective, row)
            assert found.allowed[row] == (best is not None)
            if best is not None:
                assert tuple(scores[:, row]) == pytest.approx(best)
        shown = found.disclosure.records
        assert distance_from_root(shown, problem.steps) == pytest.approx(found.utility)
        parts = [losses(shown, dictionary, problem.harm) for dictionary in problem.dictionaries]
        assert found.loss == pytest.approx(over_dictionaries(problem, parts))
        often = np.ones(len(steps)) if problem.weights is None else problem.weights
        repeated = np.repeat(found.loss, often.astype(int))
        assert found.risk == pytest.approx(repeated.mean())
        assert found.mean_utility == pytest.approx(np.repeat(found.utility, often.astype(int)).mean())


@pytest.mark.slow
@settings(max_examples=40)
@given(problems(), OBJECTIVES)
def test_of_disclosures_as_good_the_one_with_most_steps_is_chosen(
    problem: DecisionProblem, objective: Objective
) -> None:
    """Also where steps of some attributes are worth nothing."""
    found, rows = branch_and_bound(problem, objective), np.arange(len(problem.originals))
    steps = distance_from_root(found.disclosure.records)
    for levels in problem.originals.space.level_vectors():
        same = (problem.loss(rows, levels) == found.loss) & (problem.utility(rows, levels) == found.utility)
        assert np.all(problem.step_count(rows, levels)[same & found.allowed] <= steps[same & found.allowed])


@pytest.mark.slow
@settings(max_examples=25)
@given(problems(), st.floats(0, 1))
def test_a_record_of_weight_3_is_three_records(problem: DecisionProblem, share: float) -> None:
    """The frontier and the rule of means are those of the table with rows repeated."""
    often = np.arange(len(problem.originals)) % 3 + (len(problem.originals) == 1)
    if len(problem.originals) > 1 and not problem.harm.is_personal:
        weighted = replace(problem, weights=often.astype(float))
        repeated = replace(problem, originals=problem.originals[np.repeat(np.arange(len(often)), often)], weights=None)
        one, many = frontier(weighted), frontier(repeated)
        assert one.utility == pytest.approx(many.utility)
        assert one.risk == pytest.approx(many.risk)
        if np.isfinite(one.risk[0]):
            wanted = LeastRisk(share * float(one.utility[-1]))
            few, all_of_them = best_on_average(weighted, wanted), best_on_average(repeated, wanted)
            assert few.bound == pytest.approx(all_of_them.bound)
            assert few.optimum.mean_utility >= wanted.utility - 1e-6


def test_what_is_worth_nothing_to_analysts_is_disclosed_where_it_costs_nothing() -> None:
    """Nobody's dictionary has b, and its steps count for nothing: it is shown all the same, by each rule."""
    space = RecordSpace(Domain.of({"a": Hierarchy.flat(["x", "y"]), "b": Hierarchy.flat(["x", "y"])}))
    originals = Records(space, np.array([[0, 0], [1, 1]]))
    known = Dictionary(Records(space, np.array([[0, 2], [1, 2]])))
    problem = DecisionProblem(originals, (known,), Harm(Constant(1)), steps=(1.0, 0.0))
    for objective in (LeastRisk(0), MostUtility(0.5), TradeOff(0)):
        assert branch_and_bound(problem, objective).disclosure.levels.tolist() == [[1, 0], [1, 0]]
        assert brute_force(problem, objective).disclosure.levels.tolist() == [[1, 0], [1, 0]]
    assert best_on_average(problem, LeastRisk(0)).optimum.disclosure.levels.tolist() == [[1, 0], [1, 0]]


def test_the_worst_case_is_not_the_mean_case() -> None:
    """One attacker knows a, the other b: shown alike on average, what the worse one finds is least if nothing is shown."""
    space = RecordSpace(Domain.of({"a": Hierarchy.flat(["x", "y"]), "b": Hierarchy.flat(["x", "y"])}))
    originals = Records(space, np.array([[0, 0]]))
    knows_a = Dictionary(Records(space, np.array([[0, 2], [1, 2]])))
    knows_b = Dictionary(Records(space, np.array([[2, 0], [2, 1], [2, 1], [2, 1]])))
    both = DecisionProblem(originals, (knows_a, knows_b), Harm(Constant(1)), prior=(0.9, 0.1))
    expected, worst = branch_and_bound(both, LeastRisk(1)), branch_and_bound(replace(both, prior=None), LeastRisk(1))
    # Showing b: 0.9/2 + 0.1/1; showing a: 0.9/1 + 0.1/4. The worse of them is 1 in both cases.
    assert expected.disclosure.levels.tolist() == [[1, 0]]
    assert expected.risk == pytest.approx(0.55)
    assert worst.risk == 1
    assert branch_and_bound(replace(both, prior=None), MostUtility(0.5)).disclosure.levels.tolist() == [[1, 1]]


@pytest.mark.slow
@settings(max_examples=60)
@given(problems(), OBJECTIVES)
def test_no_other_disclosure_of_a_record_has_less_loss_and_more_utility(
    problem: DecisionProblem, objective: Objective
) -> None:
    """Not less of the one with no less of the other, whatever was asked for."""
    found, rows = branch_and_bound(problem, objective), np.arange(len(problem.originals))
    for levels in problem.originals.space.level_vectors():
        loss, utility = problem.loss(rows, levels), problem.utility(rows, levels)
        no_worse = (loss <= found.loss) & (utility >= found.utility) & found.allowed
        # Trade-offs are differences of floats, so that losses within their rounding count as equal there.
        dominates = no_worse & ((loss < found.loss - 1e-9) | (utility > found.utility))
        assert not dominates.any()


@given(problem=problems(), objective=OBJECTIVES)
def test_equal_records_are_looked_at_once(problem: DecisionProblem, objective: Objective) -> None:
    plain = replace(problem, harm=Harm(Constant(1.0)), weights=None)
    rows = np.tile(np.arange(len(plain.originals)), 3)
    once, again = (
        branch_and_bound(each, objective) for each in (plain, replace(plain, originals=plain.originals[rows]))
    )
    assert again.evaluated == once.evaluated
    assert np.array_equal(again.loss, once.loss[rows])
    assert np.array_equal(again.utility, once.utility[rows])
    assert np.array_equal(again.allowed, once.allowed[rows])


@pytest.mark.slow
def test_bounds_save_most_of_the_work() -> None:
    hierarchy = Hierarchy.from_intervals(map(str, range(64)), [2, 4, 8, 16, 32])
    space = RecordSpace(Domain.of(dict.fromkeys("abc", hierarchy)))
    originals = Records(space, np.random.default_rng(0).integers(0, 64, (500, 3)))
    problem = DecisionProblem(originals, (Dictionary(originals),), Harm(Constant(1)))
    for objective in (LeastRisk(9), MostUtility(0.1)):
        exact, fast = brute_force(problem, objective), branch_and_bound(problem, objective)
        assert fast.risk == exact.risk
        assert fast.evaluated < exact.evaluated / 2


@pytest.mark.slow
@settings(max_examples=40)
@given(st.data())
def test_k_anonymity_is_the_best_that_a_constant_sensitivity_allows(data: st.DataObject) -> None:
    """LSFB09 section 5: dictionary = table, Phi = c. The most useful records with a loss of at most c / k are those that
    k or more rows agree with, and of such the most useful.
    """
    space = data.draw(spaces())
    originals = data.draw(records(space))
    table = Dictionary(originals)
    k, c = data.draw(st.integers(1, len(originals))), data.draw(st.sampled_from([0.1, 1.0, 3.0, 7.0]))
    problem = DecisionProblem(originals, (table,), Harm(Constant(c)))
    found = branch_and_bound(problem, MostUtility(c / k))
    assert found.allowed.all()
    assert consistent_counts(found.disclosure.records, table).min() >= k
    for levels in space.level_vectors():
        shown = originals.generalized(levels)
        anonymous = consistent_counts(shown, table) >= k
        assert np.all(distance_from_root(shown)[anonymous] <= found.utility[anonymous])


@given(st.data())
def test_breaking_k_anonymity_costs_more_than_keeping_it(data: st.DataObject) -> None:
    """LSFB09 Proposition 2: loss(delta_k) <= c / k < loss(delta_0), record by record, for any two rules."""
    space = data.draw(spaces())
    originals = data.draw(records(space))
    table, k = Dictionary(originals), data.draw(st.integers(1, len(originals) + 1))
    c = data.draw(st.sampled_from([0.1, 1.0, 3.0, 7.0]))
    for _ in range(2):
        shown = data.draw(generalizations(originals))
        loss, anonymous = losses(shown, table, Harm(Constant(c))), consistent_counts(shown, table) >= k
        assert np.all(loss[anonymous] <= c / k)
        assert np.all(loss[~anonymous] > c / k)


@pytest.mark.slow
@settings(max_examples=25)
@given(problems())
def test_no_disclosure_lies_beyond_the_frontier(problem: DecisionProblem) -> None:
    """All combinations of level vectors for the first three records, and each point reached by a trade-off."""
    originals = problem.originals[np.arange(min(len(problem.originals), 3))]
    problem = replace(problem, originals=originals, harm=Harm(Constant(2.0)), weights=None)
    edge, rows = frontier(problem), np.arange(len(originals))
    assert np.all(np.diff(edge.utility) > 0)
    assert np.all(np.diff(edge.price) > 0)
    vectors = problem.originals.space.level_vectors()
    pairs = [
        (problem.utility(rows, levels), problem.loss(rows, levels)) for levels in vectors[:: max(len(vectors) // 12, 1)]
    ]
    for chosen in product(pairs, repeat=len(rows)):
        utility = np.mean([pair[0][row] for row, pair in enumerate(chosen)])
        loss = np.mean([pair[1][row] for row, pair in enumerate(chosen)])
        assert loss >= edge.least_risk(min(float(utility), edge.utility[-1])) - 1e-9
    for utility, risk, price in zip(edge.utility, edge.risk, edge.price):
        best = brute_force(problem, TradeOff(price if np.isfinite(price) else 1e6))
        cost = TradeOff(price if np.isfinite(price) else 1e6).price
        assert risk - cost * utility == pytest.approx(best.risk - cost * best.mean_utility, abs=1e-6)


@given(st.data())
def test_counts_that_are_rolled_up_are_those_that_are_counted(data: st.DataObject) -> None:
    """At level vectors in ascending order, and in any other, for entries of any levels."""
    space = data.draw(spaces())
    levels = np.array([data.draw(st.integers(0, height)) for height in space.heights.tolist()])
    shown = data.draw(records(space)).generalized(space.heights * 0)
    originals = Records(space, shown.generalized(levels).nodes)
    if originals.level_vector is None:
        originals = originals[
            originals.levels.tolist().index(originals.levels[0].tolist()) + np.zeros(1, dtype=np.intp)
        ]
    known = data.draw(dictionaries(space))
    assert originals.level_vector is not None
    rolled = RolledCounts(originals, originals.level_vector, known)
    vectors = space.level_vectors()
    order = np.arange(len(vectors)) if data.draw(st.booleans()) else np.random.default_rng(0).permutation(len(vectors))
    for number in order[:40]:
        counted = consistent_counts(originals.generalized(vectors[number]), known)
        assert rolled.at(vectors[number].tolist()).tolist() == counted.tolist()


def test_whoever_waits_for_a_frontier_is_told_how_far_it_is() -> None:
    space = RecordSpace(Domain.of(dict.fromkeys("ab", Hierarchy.from_intervals(map(str, range(8)), [2, 4]))))
    originals = Records(space, np.arange(16).reshape(8, 2) % 8)
    told: list[tuple[int, int]] = []
    frontier(DecisionProblem(originals, (Dictionary(originals),), Harm(Constant(1))), lambda *at: told.append(at))
    assert told == sorted(set(told))
    assert told[-1] == (16, 16)


def test_a_thinned_frontier_keeps_its_ends() -> None:
    originals = Records(
        RecordSpace(Domain.of({"a": Hierarchy.from_intervals(map(str, range(40)), [2, 10])})),
        np.arange(40)[:, None] // 3,
    )
    edge = frontier(DecisionProblem(originals, (Dictionary(originals),), Harm(Constant(1))))
    few = edge.thinned(2)
    assert len(few) == 2 < len(edge)
    assert [few.utility[0], few.utility[-1]] == [edge.utility[0], edge.utility[-1]]
    assert edge.least_risk(edge.utility[-1] + 1) == np.inf


@given(st.lists(st.tuples(st.floats(1e-3, 1), st.floats(1e-3, 1)), min_size=1, max_size=60), st.integers(3, 20))
def test_the_outline_of_a_frontier_is_never_above_it(steps: list[tuple[float, float]], points: int) -> None:
    """At each vertex of either, so everywhere; of many close ones it is not far below."""
    gain, rise = np.array(steps).T
    price = np.cumsum(rise)
    edge = Frontier(np.r_[0.0, gain.cumsum()], np.r_[0.0, (gain * price).cumsum()], np.r_[price, np.inf])
    few = edge.outlined(points)
    assert len(few) <= max(points, 3)
    assert len(few) == len(edge) or len(edge) > points
    assert [few.utility[0], few.utility[-1]] == [edge.utility[0], edge.utility[-1]]
    assert [few.risk[0], few.risk[-1]] == [edge.risk[0], edge.risk[-1]]
    assert np.all(np.diff(few.utility) >= 0)
    tolerance = 1e-9 * (1 + edge.risk[-1])
    assert np.all(np.interp(edge.utility, few.utility, few.risk) <= edge.risk + tolerance)
    assert np.all(few.risk <= np.interp(few.utility, edge.utility, edge.risk) + tolerance)


def test_an_outline_with_many_points_is_close() -> None:
    rise = np.linspace(0, 1, 5001)
    edge = Frontier(rise, rise**2, np.r_[(rise[1:] ** 2 - rise[:-1] ** 2) / np.diff(rise), np.inf])
    few = edge.outlined(1000)
    assert len(few) == 1000
    assert np.interp(edge.utility, few.utility, few.risk) == pytest.approx(edge.risk, abs=1e-6)


@pytest.mark.parametrize("kind", [LeastRisk, MostUtility, TradeOff])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_objectives_are_finite(kind: Callable[[float], Objective], value: float) -> None:
    with pytest.raises(DisclosureRuleError, match="must be a finite number"):
        kind(value)


def test_problems_that_make_no_sense_are_refused() -> None:
    space = RecordSpace(Domain.of({"a": Hierarchy.flat(["x"])}))
    originals = Records(space, np.array([[0]]))
    harm, known = Harm(Constant(1)), (Dictionary(originals),)
    with pytest.raises(DisclosureRuleError, match="no records"):
        DecisionProblem(originals[np.array([], dtype=np.intp)], known, harm)
    with pytest.raises(DisclosureRuleError, match="probabilities"):
        DecisionProblem(originals, known * 2, harm)
    with pytest.raises(DisclosureRuleError, match="a worst case needs at least one dictionary"):
        DecisionProblem(originals, (), harm, prior=None)
    for weights in ([-1.0], [np.inf], [0.0], [1.0, 1.0]):
        with pytest.raises(DisclosureRuleError, match="weights were expected, one for each record"):
            DecisionProblem(originals, known, harm, weights=np.array(weights))
    with pytest.raises(DisclosureRuleError, match="step"):
        DecisionProblem(originals, known, harm, steps=(1.0, 2.0))
