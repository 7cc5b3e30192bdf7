"""Disclosure with the least largest risk over the dictionaries: the minimax rule of LSFB09 section 4.

The dictionary that is worst for all records together need not be worst for each, so records are chosen together. Under
any prior the expected risk of the best disclosure is a lower bound on every largest risk. Cutting planes find the
prior with the largest bound. A level vector that costs a record more there than the gap to the best known disclosure
belongs to no better one. An integer program chooses among the others; for equal records it chooses how many have each
level vector.
"""

import math
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import csr_array

from checks.risk.disclosure import DecisionProblem, Optimum, Progress, best_of_each, losses_by_vector, unwatched
from checks.risk.harm import LeastRisk, TradeOff
from models.arrays import BoolArray, CountArray, FloatArray, IndexArray

ROUNDS = 20
"""Most priors that are tried for the bound."""

MOST_LOSSES = 20_000_000
"""Most pairs of a record and a level vector whose loss is computed to find the choices."""

MOST_CHOICES = 100_000
"""Most pairs of a record and a level vector that the integer program chooses among."""

SECONDS = 20.0
"""Time limit of the integer program."""

TOLERANCE = 1e-6
"""Part of the largest risk that the integer program may miss."""


def least_worst_risk(
    problem: DecisionProblem, objective: LeastRisk | TradeOff, progress: Progress = unwatched
) -> Optimum:
    """Return the disclosure with the least largest risk over the dictionaries, less the price of its mean utility.

    The prior of the problem is not used; `progress` counts the search for the first disclosure. The losses returned
    are those under the dictionary of the largest risk. `bound` is a lower bound on the largest risk, less the price,
    of every allowed disclosure; None if this one is proven to be best.
    """
    start = best_of_each(replace(problem, prior=None), objective, progress)
    if len(problem.dictionaries) == 1 or not np.isfinite(start.risk):
        return start
    weights = np.ones(len(problem.originals)) if problem.weights is None else problem.weights
    of_records = np.arange(len(weights)) if problem.harm.is_personal else problem.originals.distinct()[1]
    _, first, kind, sizes = np.unique(
        np.column_stack([of_records, weights]), axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    kinds = problem
    if not problem.harm.is_personal:
        kinds = replace(problem, originals=problem.originals[first], weights=weights[first] * sizes)
    chosen, bound = _least(kinds, objective, sizes, start.allowed[first], start.disclosure.levels[first])
    levels = np.empty_like(chosen)
    levels[np.argsort(kind.ravel(), kind="stable")] = chosen
    under = problem.losses(np.arange(len(levels)), levels)
    optimum = Optimum.of(problem, levels, under[int(np.argmax(under @ weights))], start.evaluated, bound)
    return replace(optimum, allowed=start.allowed)


_Choices: TypeAlias = tuple[IndexArray, IndexArray, FloatArray]
"""Kinds of equal records, a level vector of each, shape (choices, attributes), and costs, shape (dictionaries,
choices): the losses less the price of the utility."""


def _least(
    problem: DecisionProblem, objective: LeastRisk | TradeOff, sizes: CountArray, allowed: BoolArray, start: IndexArray
) -> tuple[IndexArray, float | None]:
    """Return the best levels, those of each record kind by kind, and the bound if they do not reach it."""
    shares = problem.shares
    choices, prior, bound = _best_choices(problem, objective, start)
    values = [float((costs @ shares).max()) for _, _, costs in choices]
    _, levels, costs = choices[int(np.argmin(values))]
    levels, value = np.repeat(levels, sizes, axis=0), min(values)
    scale = float((np.abs(costs) @ shares).max())
    if value - bound > TOLERANCE * scale:
        least = np.min([prior @ costs for _, _, costs in choices], axis=0)
        most = least + (value - bound) * (1 + TOLERANCE) * sizes / shares
        near = _near(problem, objective, allowed, prior, most)
        best, proven = _program(_joined(choices) if near is None else near, shares / sizes, sizes, scale)
        bound = bound if near is None else max(bound, min(proven, value))
        if best is not None and best[1] < value:
            levels, value = best
    return levels, None if value - bound <= TOLERANCE * scale else bound


def _choices(
    problem: DecisionProblem, objective: LeastRisk | TradeOff, levels: IndexArray, losses: FloatArray | None = None
) -> _Choices:
    kinds, price = np.arange(len(problem.originals)), objective.price if isinstance(objective, TradeOff) else 0.0
    losses = problem.losses(kinds, levels) if losses is None else losses
    return (
        kinds,
        np.broadcast_to(levels, problem.originals.nodes.shape),
        losses - price * problem.utility(kinds, levels),
    )


def _some(choices: _Choices, which: BoolArray) -> _Choices:
    return choices[0][which], choices[1][which], choices[2][:, which]


def _best_choices(
    problem: DecisionProblem, objective: LeastRisk | TradeOff, start: IndexArray
) -> tuple[list[_Choices], FloatArray, float]:
    """Return the best choices of all kinds under some priors, the prior with the largest bound, and the bound."""
    dictionaries, bound = len(problem.dictionaries), -np.inf
    choices = [_choices(problem, objective, start)]
    best = prior = np.full(dictionaries, 1 / dictionaries)
    for _ in range(ROUNDS):
        optimum = best_of_each(replace(problem, prior=tuple(prior)), objective)
        choices.append(_choices(problem, objective, optimum.disclosure.levels))
        risks = np.stack([costs @ problem.shares for *_, costs in choices])
        if (value := float(prior @ risks[-1])) > bound:
            best, bound = prior, value
        # The largest value below the planes through the known disclosures, and its prior.
        planes = linprog(
            np.r_[np.zeros(dictionaries), -1.0],
            A_ub=np.column_stack([-risks, np.ones(len(risks))]),
            b_ub=np.zeros(len(risks)),
            A_eq=[np.r_[np.ones(dictionaries), 0.0]],
            b_eq=[1.0],
            bounds=[(0, None)] * dictionaries + [(None, None)],
        )
        if planes.x is None or planes.x[-1] - bound <= TOLERANCE / 10 * np.abs(risks).max():
            break
        # No dictionary has probability 0: an infinite loss under it must not look like none.
        prior = np.maximum(planes.x[:-1], 1e-9)
        prior /= prior.sum()
    return choices, best, bound


def _near(
    problem: DecisionProblem, objective: LeastRisk | TradeOff, allowed: BoolArray, prior: FloatArray, most: FloatArray
) -> _Choices | None:
    """Return all choices that cost each kind at most so much by a prior of dictionaries; None if they are too many."""
    heights = problem.originals.space.heights
    if math.prod((heights + 1).tolist()) * int(allowed.sum()) > MOST_LOSSES:
        return None
    vectors, count = problem.originals.space.level_vectors(), 0
    parts = [_some(_choices(problem, objective, heights), ~allowed)]
    for number, losses in losses_by_vector(problem, vectors):
        is_useful = problem.scores(objective, vectors[number], np.zeros(len(most)))[0] == 0
        choices = _choices(problem, objective, vectors[number], losses)
        with np.errstate(invalid="ignore"):
            is_near = allowed & is_useful & (prior @ choices[2] <= most)
        parts.append(_some(choices, is_near & np.isfinite(choices[2]).all(axis=0)))
        if (count := count + len(parts[-1][0])) > MOST_CHOICES:
            return None
    return _joined(parts)


def _program(
    choices: _Choices, units: FloatArray, sizes: CountArray, scale: float
) -> tuple[tuple[IndexArray, float] | None, float]:
    kinds, levels, costs = choices
    count, costs = len(kinds), costs * units[kinds]
    of_kind = csr_array((np.ones(count), (kinds, np.arange(count))), (len(sizes), count + 1))
    risks = np.column_stack([costs / scale, -np.ones(len(costs))])
    answer = milp(
        np.r_[np.zeros(count), 1.0],
        constraints=[LinearConstraint(of_kind, sizes, sizes), LinearConstraint(csr_array(risks), -np.inf, 0)],
        bounds=Bounds(np.r_[np.zeros(count), -np.inf], np.r_[sizes[kinds], np.inf]),
        integrality=np.r_[np.ones(count), 0],
        options={"time_limit": SECONDS, "mip_rel_gap": 0.0},
    )
    bound = -np.inf if answer.mip_dual_bound is None else float(answer.mip_dual_bound) * scale
    if answer.x is None:
        return None, bound
    chosen = np.rint(answer.x[:-1]).astype(int)
    order = np.argsort(kinds, kind="stable")
    return (np.repeat(levels[order], chosen[order], axis=0), float((costs @ chosen).max())), bound


def _joined(parts: list[_Choices]) -> _Choices:
    """Return all choices; of those of a kind with equal costs only the one that shows most."""
    kinds, levels, costs = (np.concatenate(column, axis=-1 if k == 2 else 0) for k, column in enumerate(zip(*parts)))
    order = np.argsort(levels.sum(axis=1), kind="stable")
    _, first = np.unique(np.vstack([kinds, costs])[:, order], axis=1, return_index=True)
    return kinds[order[first]], levels[order[first]], costs[:, order[first]]
