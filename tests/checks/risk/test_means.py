"""The rule of means is as good as any disclosure of all records together, but for a step of one record."""

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
    losses,
)
from checks.risk.attackers import distance_from_root
from checks.risk.disclosure import best_on_average, branch_and_bound
from models import Domain, Hierarchy
from risk_strategies import dictionaries, records
from strategies import domains


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
def problems(draw: st.DrawFn) -> DecisionProblem:
    """Two or three records with few level vectors, and a harm that generalizing does not change."""
    space = RecordSpace(draw(domains(min_attributes=1, max_attributes=2)))
    originals = draw(records(space, min_size=2, max_size=3))
    known = draw(st.sampled_from([Dictionary(originals)]) | dictionaries(space))
    return DecisionProblem(originals, (known,), Harm(Constant(2.0)))


@pytest.mark.slow
@settings(max_examples=30)
@given(problems(), st.floats(0, 1))
def test_no_disclosure_of_all_records_beats_the_bound(problem: DecisionProblem, share: float) -> None:
    possible = pairs(problem)[:20_000]
    wanted = share * max(utility for utility, _ in possible)
    found = best_on_average(problem, LeastRisk(wanted))
    assert found.optimum.mean_utility >= wanted - 1e-8
    least = min(risk for utility, risk in possible if utility >= wanted)
    assert found.bound <= least + 1e-9
    assert found.bound <= found.optimum.risk + 1e-9
    shown = found.optimum.disclosure.records
    assert distance_from_root(shown).mean() == pytest.approx(found.optimum.mean_utility)
    assert losses(shown, problem.dictionaries[0], problem.harm) == pytest.approx(found.optimum.loss)


@pytest.mark.slow
@settings(max_examples=30)
@given(problems(), st.floats(0, 1))
def test_no_disclosure_with_that_risk_is_more_useful(problem: DecisionProblem, share: float) -> None:
    possible = pairs(problem)[:20_000]
    lowest, highest = min(risk for _, risk in possible), max(risk for _, risk in possible)
    allowed = lowest + share * (highest - lowest)
    found = best_on_average(problem, MostUtility(allowed))
    assert found.optimum.risk <= allowed + 1e-9
    most = max(utility for utility, risk in possible if risk <= allowed + 1e-12)
    assert found.bound >= most - 1e-9
    assert found.optimum.mean_utility <= found.bound + 1e-9


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
    with pytest.raises(
        DisclosureRuleError, match="no disclosure with a finite risk has a mean utility of 2; the most is 1"
    ):
        best_on_average(problem, LeastRisk(2))
    with pytest.raises(DisclosureRuleError, match=r"no disclosure has a mean loss of at most 0.1; the least is 0.5"):
        best_on_average(problem, MostUtility(0.1))
    forbidden = DecisionProblem(originals, (Dictionary(originals),), Harm(Constant(np.inf)))
    with pytest.raises(DisclosureRuleError, match="every disclosure of the records has an infinite risk"):
        best_on_average(forbidden, LeastRisk(0))
