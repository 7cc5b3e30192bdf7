"""What minimax choices of single records are: the worst dictionary of each, beside the worst of all records together."""

from dataclasses import replace
from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks import Constant, DecisionProblem, Dictionary, Harm, LeastRisk, RecordSpace, losses
from checks.risk.disclosure import branch_and_bound
from models import FloatArray
from risk_strategies import dictionaries, records, sensitivities, spaces


@st.composite
def problems(draw: st.DrawFn) -> DecisionProblem:
    """A few records before attackers with one of two or three dictionaries; few enough to list all their disclosures."""
    space: RecordSpace = draw(spaces().filter(lambda s: prod((s.heights + 1).tolist()) <= 12))
    originals = draw(records(space, max_size=3))
    known = draw(st.lists(dictionaries(space) | st.just(Dictionary(originals)), min_size=2, max_size=3))
    harm = Harm(draw(sensitivities(space, len(originals)) | st.just(Constant(1.0))))
    often = draw(st.none() | st.lists(st.integers(1, 3), min_size=len(originals), max_size=len(originals)))
    weights = None if often is None else np.array(often, dtype=np.float64)
    return DecisionProblem(originals, tuple(known), harm, None, None, weights)


def by_vector(problem: DecisionProblem, utility: float) -> list[list[FloatArray]]:
    """For each record the losses under each dictionary at every level vector that has the utility."""
    allowed: list[list[FloatArray]] = [[] for _ in range(len(problem.originals))]
    for levels in problem.originals.space.level_vectors():
        shown = problem.originals.generalized(levels)
        under = np.stack([losses(shown, dictionary, problem.harm) for dictionary in problem.dictionaries])
        enough = problem.utility(np.arange(len(problem.originals)), levels) >= utility
        for row in np.flatnonzero(enough).tolist():
            allowed[row].append(under[:, row])
    return allowed


@pytest.mark.slow
@settings(max_examples=60)
@given(problems(), st.integers(0, 4))
def test_the_choice_is_the_least_mean_of_worst_losses_and_bounds_the_least_worst_risk(
    problem: DecisionProblem, utility: int
) -> None:
    """By enumeration of all disclosures of all records: LSFB09 section 4, worst case scenario."""
    found, choices = branch_and_bound(problem, LeastRisk(utility)), by_vector(problem, utility)
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


@pytest.mark.slow
@settings(max_examples=20)
@given(problems())
def test_whoever_waits_for_a_choice_is_told_how_far_it_is(problem: DecisionProblem) -> None:
    told: list[tuple[int, int]] = []
    branch_and_bound(problem, LeastRisk(1), lambda done, total: told.append((done, total)))
    # Equal records are looked at once, unless harm depends on whom they are about.
    records = problem.originals if problem.harm.is_personal else problem.originals.distinct()[0]
    pairs = len(records) * len(problem.originals.space.level_vectors())
    assert {total for _, total in told} == {pairs}
    done = [part for part, _ in told]
    assert (done[0], done[-1]) == (0, pairs)
    assert done == sorted(done)
