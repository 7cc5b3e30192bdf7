"""The best disclosure is what brute force finds, by record, on average and in the worst case; rules commute."""

from dataclasses import replace
from itertools import combinations, product
from math import prod

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
    Linear,
    MostUtility,
    Multiplicative,
    Records,
    RecordSpace,
    Weights,
    consistent_counts,
    losses,
)
from checks.risk.attackers import distance_from_root
from checks.risk.disclosure import (
    Disclosure,
    Frontier,
    Rule,
    best_on_average,
    branch_and_bound,
    brute_force,
    disclosed,
    frontier,
    generalize,
    hide,
    select_clustered,
    select_independent,
    selected_disclosure,
)
from checks.risk.harm import Objective, PerPerson, TradeOff, harmonic_shares
from models import Domain, DomainMismatchError, FloatArray, Hierarchy
from risk_strategies import dictionaries, generalizations, records, sensitivities, spaces
from strategies import domains


@st.composite
def rules(draw: st.DrawFn, originals: Records) -> Rule:
    axis = draw(st.integers(0, len(originals.space) - 1))
    rows = np.array(draw(st.lists(st.booleans(), min_size=len(originals), max_size=len(originals))))
    level = draw(st.integers(0, int(originals.space.heights[axis])))
    return Rule(originals.space.domain.attributes[axis], rows, level)


@given(st.data())
def test_any_order_of_any_rules_discloses_the_same(data: st.DataObject) -> None:
    originals = data.draw(records(data.draw(spaces())))
    drawn = data.draw(st.lists(rules(originals), max_size=4))
    nodes = disclosed(originals, drawn).records.nodes
    assert np.array_equal(disclosed(originals, data.draw(st.permutations(drawn))).records.nodes, nodes)
    assert np.array_equal(disclosed(originals, [*drawn, *drawn]).records.nodes, nodes)
    assert bool(originals.is_below(disclosed(originals, drawn).records).all())


def axis_height(start: Disclosure, attribute: str) -> int:
    return start.originals.space.domain.hierarchy(attribute).height


@given(st.data())
def test_hiding_twice_hides_what_either_condition_is_about(data: st.DataObject) -> None:
    """hide_{hide_T(A, F')}(A, F'') = hide_T(A, F' and F''), with the paper's F the complement of our condition."""
    originals = data.draw(records(data.draw(spaces())))
    first, second = data.draw(rules(originals)), data.draw(rules(originals))
    attribute, start = first.attribute, Disclosure.of(originals)
    twice = hide(hide(start, attribute, first.rows), attribute, second.rows)
    once = hide(start, attribute, first.rows | second.rows)
    assert np.array_equal(twice.records.nodes, once.records.nodes)
    other = second.attribute
    assert np.array_equal(
        once.records.nodes,
        generalize(start, attribute, first.rows | second.rows, axis_height(start, attribute)).records.nodes,
    )
    there = hide(hide(start, attribute, first.rows), other, second.rows)
    back = hide(hide(start, other, second.rows), attribute, first.rows)
    assert np.array_equal(there.records.nodes, back.records.nodes)


def test_the_example_of_figure_5() -> None:
    """Tuples 1 and 3 keep their A2 private; the others stay."""
    space = RecordSpace(Domain.of({"A2": Hierarchy.flat(["a1", "a2", "a3"]), "A3": Hierarchy.flat(["b1", "b2", "b3"])}))
    table = Records(space, np.array([[0, 0], [1, 1], [2, 2]]))
    number = np.array([1, 2, 3])
    shown = hide(hide(Disclosure.of(table), "A2", number == 1), "A2", number == 3)
    assert shown.records.nodes.tolist() == [[3, 0], [1, 1], [3, 2]]


def test_rules_that_do_not_fit_are_refused() -> None:
    start = Disclosure.of(Records(RecordSpace(Domain.of({"a": Hierarchy.flat(["x"])})), np.array([[0], [0]])))
    with pytest.raises(DomainMismatchError, match="no attribute 'b'"):
        hide(start, "b", np.array([True, False]))
    for condition in (np.array([True]), np.array([1, 0])):
        with pytest.raises(DisclosureRuleError, match="one truth value"):
            hide(start, "a", condition)
    for level in (-1, 2):
        with pytest.raises(DisclosureRuleError, match="levels 0 to 1"):
            generalize(start, "a", np.array([True, True]), level)
    with pytest.raises(DisclosureRuleError):
        Disclosure(start.originals, np.array([[2], [0]]))
    with pytest.raises(DomainMismatchError, match=r"levels must be whole numbers, got 0\.5"):
        Disclosure(start.originals, np.array([[0.5], [0]]))


# Branch and bound finds what brute force finds, and k-anonymity is one of its problems.


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


@settings(max_examples=60)
@given(problems(), OBJECTIVES)
def test_no_other_disclosure_of_a_record_has_less_loss_and_more_utility(
    problem: DecisionProblem, objective: Objective
) -> None:
    """Not less of the one with no less of the other, whatever was asked for."""
    found, rows = branch_and_bound(problem, objective), np.arange(len(problem.originals))
    steps = distance_from_root(found.disclosure.records)
    for levels in problem.originals.space.level_vectors():
        loss, utility = problem.loss(rows, levels), problem.utility(rows, levels)
        no_worse = (loss <= found.loss) & (utility >= found.utility) & found.allowed
        # Of disclosures as good the one with most steps is chosen, also where steps of some attributes are worth nothing.
        same = (loss == found.loss) & (utility == found.utility) & found.allowed
        assert np.all(problem.step_count(rows, levels)[same] <= steps[same])
        # Trade-offs are differences of floats, so that losses within their rounding count as equal there.
        dominates = no_worse & ((loss < found.loss - 1e-9) | (utility > found.utility))
        assert not dominates.any()


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


def test_problems_that_make_no_sense_are_refused() -> None:
    space = RecordSpace(Domain.of({"a": Hierarchy.flat(["x"])}))
    originals = Records(space, np.array([[0]]))
    harm, known = Harm(Constant(1)), (Dictionary(originals),)
    with pytest.raises(DisclosureRuleError, match="no records"):
        DecisionProblem(originals[np.array([], dtype=np.intp)], known, harm)
    with pytest.raises(DisclosureRuleError, match="probabilities"):
        DecisionProblem(originals, known * 2, harm)
    with pytest.raises(DisclosureRuleError, match="worst case"):
        DecisionProblem(originals, (), harm, prior=None)
    for weights in ([-1.0], [np.inf], [0.0], [1.0, 1.0]):
        with pytest.raises(DisclosureRuleError, match="weights"):
            DecisionProblem(originals, known, harm, weights=np.array(weights))
    with pytest.raises(DisclosureRuleError, match="step"):
        DecisionProblem(originals, known, harm, steps=(1.0, 2.0))
    for kind, value in product((LeastRisk, MostUtility, TradeOff), (np.nan, np.inf, -np.inf)):
        with pytest.raises(DisclosureRuleError, match="finite"):
            kind(value)


# Minimax: the worst dictionary of each record, beside the worst of all records together.


@st.composite
def problems_of_several_attackers(draw: st.DrawFn) -> DecisionProblem:
    """A few records before attackers with one of two or three dictionaries; few enough to list all their disclosures."""
    space: RecordSpace = draw(spaces().filter(lambda s: prod((s.heights + 1).tolist()) <= 12))
    originals = draw(records(space, max_size=3))
    known = draw(st.lists(dictionaries(space) | st.just(Dictionary(originals)), min_size=2, max_size=3))
    harm = Harm(draw(sensitivities(space, len(originals)) | st.just(Constant(1.0))))
    often = draw(st.none() | st.lists(st.integers(1, 3), min_size=len(originals), max_size=len(originals)))
    weights = None if often is None else np.array(often, dtype=np.float64)
    return DecisionProblem(originals, tuple(known), harm, None, None, weights)


def losses_by_vector(problem: DecisionProblem, utility: float) -> list[list[FloatArray]]:
    """For each record the losses under each dictionary at every level vector that has the utility."""
    allowed: list[list[FloatArray]] = [[] for _ in range(len(problem.originals))]
    for levels in problem.originals.space.level_vectors():
        shown = problem.originals.generalized(levels)
        under = np.stack([losses(shown, dictionary, problem.harm) for dictionary in problem.dictionaries])
        enough = problem.utility(np.arange(len(problem.originals)), levels) >= utility
        for row in np.flatnonzero(enough).tolist():
            allowed[row].append(under[:, row])
    return allowed


@settings(max_examples=60)
@given(problems_of_several_attackers(), st.integers(0, 4))
def test_the_choice_is_the_least_mean_of_worst_losses_and_bounds_the_least_worst_risk(
    problem: DecisionProblem, utility: int
) -> None:
    """By enumeration of all disclosures of all records: LSFB09 section 4, worst case scenario."""
    told: list[tuple[int, int]] = []
    found = branch_and_bound(problem, LeastRisk(utility), lambda done, total: told.append((done, total)))
    assert told == sorted(told)
    assert (told[0][0], told[-1][0]) == (0, told[-1][1])
    choices = losses_by_vector(problem, utility)
    if not found.allowed.all():
        assert not all(choices)
        return
    share = np.ones(len(choices)) if problem.weights is None else problem.weights
    share = share / share.sum()
    row_by_row, minimax = np.inf, np.inf
    for chosen in product(*choices):
        under = np.stack(chosen, axis=1)
        row_by_row = min(row_by_row, float((share * under.max(axis=0)).sum()))
        minimax = min(minimax, float((under * share).sum(axis=1).max()))
    assert found.risk == pytest.approx(row_by_row)
    assert found.risk >= minimax * (1 - 1e-9)
    if len(choices) == 1:
        assert found.risk == pytest.approx(minimax)
    # No prior makes the best disclosure worse than that: each is a lower bound of what the worst dictionary does.
    for number in range(len(problem.dictionaries)):
        prior = tuple(float(number == other) for other in range(len(problem.dictionaries)))
        assert branch_and_bound(replace(problem, prior=prior), LeastRisk(utility)).risk <= minimax * (1 + 1e-9) + 1e-12


# The rule of means is as good as any disclosure of all records together, but for a step of one record.


def pairs(problem: DecisionProblem) -> list[tuple[float, float]]:
    """Mean utility and risk of every disclosure of all records together."""
    rows = np.arange(len(problem.originals))
    each = [
        (problem.utility(rows, levels), problem.loss(rows, levels))
        for levels in problem.originals.space.level_vectors()
    ]
    chosen = product(range(len(each)), repeat=len(rows))
    return [
        (
            float(np.mean([each[number][0][row] for row, number in enumerate(one)])),
            float(np.mean([each[number][1][row] for row, number in enumerate(one)])),
        )
        for one in chosen
    ]


@st.composite
def problems_of_few_records(draw: st.DrawFn) -> DecisionProblem:
    """Two or three records with few level vectors, and a harm that generalizing does not change."""
    space = RecordSpace(draw(domains(min_attributes=1, max_attributes=2)))
    originals = draw(records(space, min_size=2, max_size=3))
    known = draw(st.sampled_from([Dictionary(originals)]) | dictionaries(space))
    return DecisionProblem(originals, (known,), Harm(Constant(2.0)))


@settings(max_examples=30)
@given(problems_of_few_records(), st.floats(0, 1))
def test_no_disclosure_of_all_records_beats_the_bound(problem: DecisionProblem, share: float) -> None:
    """Of least risk with a utility, and of most utility with a risk."""
    possible = pairs(problem)[:20_000]
    wanted = share * max(utility for utility, _ in possible)
    found = best_on_average(problem, LeastRisk(wanted))
    assert found.optimum.mean_utility >= wanted - 1e-8
    least = min(risk for utility, risk in possible if utility >= wanted)
    assert found.bound <= min(least, found.optimum.risk) + 1e-9
    shown = found.optimum.disclosure.records
    assert distance_from_root(shown).mean() == pytest.approx(found.optimum.mean_utility)
    assert losses(shown, problem.dictionaries[0], problem.harm) == pytest.approx(found.optimum.loss)
    lowest, highest = min(risk for _, risk in possible), max(risk for _, risk in possible)
    allowed = lowest + share * (highest - lowest)
    found = best_on_average(problem, MostUtility(allowed))
    assert found.optimum.risk <= allowed + 1e-9
    most = max(utility for utility, risk in possible if risk <= allowed + 1e-12)
    assert found.bound >= max(most, found.optimum.mean_utility) - 1e-9


def test_the_mean_leaves_the_one_who_stands_out_to_show_less() -> None:
    """Nine alike and one apart: two steps of everybody cost 1/9 of nine and 1 of one; on average the one shows nothing."""
    space = RecordSpace(Domain.of({"a": Hierarchy.flat(["x", "y"])}))
    originals = Records(space, np.array([[0]] * 9 + [[1]]))
    problem = DecisionProblem(originals, (Dictionary(originals),), Harm(Constant(1)))
    assert branch_and_bound(problem, LeastRisk(1)).risk == pytest.approx(2 / 10)
    found = best_on_average(problem, LeastRisk(0.9))
    assert found.optimum.mean_utility == pytest.approx(0.9)
    assert found.optimum.risk == pytest.approx(0.11)
    assert found.bound == pytest.approx(0.11)


def test_what_no_disclosure_reaches_is_refused() -> None:
    space = RecordSpace(Domain.of({"a": Hierarchy.flat(["x", "y"])}))
    originals = Records(space, np.array([[0], [1]]))
    problem = DecisionProblem(originals, (Dictionary(originals),), Harm(Constant(1)))
    with pytest.raises(DisclosureRuleError, match="mean utility of 2; the most is 1"):
        best_on_average(problem, LeastRisk(2))
    with pytest.raises(DisclosureRuleError, match=r"0.1; the least is 0.5"):
        best_on_average(problem, MostUtility(0.1))
    forbidden = DecisionProblem(originals, (Dictionary(originals),), Harm(Constant(np.inf)))
    with pytest.raises(DisclosureRuleError, match="infinite"):
        best_on_average(forbidden, LeastRisk(0))


# Under independence the best attributes are found without a search (LSFB09 section 4.2).


def loss(
    record: Records, dictionary: Dictionary, weights: list[float], parts: list[list[int]], shown: set[int]
) -> float:
    """Phi4 over the product of the clusters' counts, as the independence assumption estimates them."""
    estimate = float(len(dictionary))
    for part in parts:
        levels = [0 if a in part and a in shown else h for a, h in enumerate(record.space.heights.tolist())]
        estimate *= consistent_counts(record.generalized(levels), dictionary)[0] / len(dictionary)
    return float(np.exp(sum(weights[axis] for axis in shown)) / estimate) if estimate else 0.0


@settings(max_examples=40)
@given(st.data())
def test_no_other_choice_of_as_many_attributes_loses_less(data: st.DataObject) -> None:
    space = data.draw(spaces())
    sought, dictionary = data.draw(records(space, max_size=4)), data.draw(dictionaries(space))
    size, number = len(space), data.draw(st.integers(0, len(space)))
    weights = np.random.default_rng(0).uniform(size=(len(sought), size))
    labels = data.draw(st.lists(st.integers(0, 2), min_size=size, max_size=size))
    clusters = [[a for a in range(size) if labels[a] == label] for label in set(labels)]
    alone = [[axis] for axis in range(size)]
    for parts, chosen in (
        (alone, select_independent(sought, dictionary, weights, number)),
        (alone, select_clustered(sought, dictionary, weights, alone, number)),
        (clusters, select_clustered(sought, dictionary, weights, clusters, number)),
    ):
        assert np.all(chosen.sum(axis=1) == number)
        for row in range(len(sought)):
            record, own = sought[np.array([row])], weights[row].tolist()
            best = min(loss(record, dictionary, own, parts, set(s)) for s in combinations(range(size), number))
            taken = loss(record, dictionary, own, parts, set(np.flatnonzero(chosen[row]).tolist()))
            assert taken == pytest.approx(best)


@settings(max_examples=20)
@given(st.data())
def test_in_one_cluster_the_choice_is_the_best_of_all_subsets(data: st.DataObject) -> None:
    """Of all sets of so many attributes none has a smaller exact loss; the choice's loss is the exact one."""
    space = data.draw(spaces())
    originals, known = data.draw(records(space)), data.draw(dictionaries(space))
    shares = tuple(harmonic_shares(taxonomy) for taxonomy in space.taxonomies)
    weights = np.array([[data.draw(st.sampled_from([0.0, 0.5, 2.0])) for _ in shares] for _ in range(len(originals))])
    harm = Harm(Multiplicative(Weights.linear(shares, weights)))
    problem = DecisionProblem(originals, (known,), harm)
    number = data.draw(st.integers(0, len(space)))
    found = selected_disclosure(problem, [range(len(space))], number)
    assert found.loss == pytest.approx(losses(found.disclosure.records, known, harm))
    for subset in combinations(range(len(space)), number):
        levels = space.heights.copy()
        levels[list(subset)] = 0
        assert np.all(found.loss <= losses(originals.generalized(levels), known, harm) * (1 + 1e-9))


def test_what_is_no_product_over_attributes_is_refused() -> None:
    space = RecordSpace(Domain.of({"a": Hierarchy.flat(["x", "y"]), "b": Hierarchy.flat(["x", "y"])}))
    originals = Records(space, np.array([[0, 1]]))
    known, shares = Dictionary(originals), tuple(harmonic_shares(taxonomy) for taxonomy in space.taxonomies)
    plain = Multiplicative(Weights.linear(shares, [1.0, 1.0]))
    both = Multiplicative(Weights(shares, ((0,), (0, 1)), np.array([1.0, 1.0])))
    problem = DecisionProblem(originals, (known,), Harm(plain))
    refused = (
        (replace(problem, dictionaries=(known, known), prior=(0.5, 0.5)), "against one dictionary"),
        (replace(problem, harm=Harm(plain, Constant(1.0))), "has no harm"),
        (replace(problem, harm=Harm(plain, PerPerson(np.zeros(1)))), "has no harm"),
        (replace(problem, harm=Harm(Linear(plain.weights))), "only by a multiplicative"),
        (replace(problem, harm=Harm(both)), "only without interactions"),
    )
    for wrong, message in refused:
        with pytest.raises(DisclosureRuleError, match=message):
            selected_disclosure(wrong, (), 1)
    with pytest.raises(DisclosureRuleError, match="too large"):
        selected_disclosure(problem, [range(13)], 1)
    with pytest.raises(DisclosureRuleError, match="between 0 and 2"):
        select_independent(originals, known, np.ones(2), 3)
    with pytest.raises(DisclosureRuleError, match="clusters"):
        select_clustered(originals, known, np.ones(2), [[0], [0, 1]], 1)
    assert selected_disclosure(replace(problem, harm=Harm(Constant(1.0))), (), 1).loss.tolist() == [1.0]
