"""The disclosure whose largest risk over the dictionaries is least: the minimax rule of LSFB09 section 4.

The dictionary that is worst for all records together is not the one that is worst for each, so records are chosen together.
Under any prior the best disclosure has an expected risk that no largest risk is below: cutting planes find the prior with
the largest such bound. A level vector that costs a record more there than the gap to the best known disclosure belongs to
no better one. An integer program chooses among the others; of equal records it chooses how many have each level vector.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import csr_array

from checks.risk.attackers import consistent_counts, distance_from_root
from checks.risk.disclosure import (
    DecisionProblem,
    Disclosure,
    Optimum,
    Progress,
    best_of_each,
    losses_by_vector,
    unwatched,
)
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

    Parameters
    ----------
    problem
        Its prior is not used.
    objective
        The utility that each record must have, or the price of a step of utility.
    progress
        Told of the search for the first disclosure.

    Returns
    -------
    Optimum
        Its losses are those under the dictionary of the largest risk. `bound` is a lower bound of the largest risk, less
        the price, of every allowed disclosure; None if this one is proven to be best.
    """
    start = best_of_each(replace(problem, prior=None), objective, progress)
    if len(problem.dictionaries) == 1 or not np.isfinite(start.risk):
        return start
    weights = np.ones(len(problem.originals)) if problem.weights is None else problem.weights
    of_records = np.arange(len(weights)) if problem.harm.is_personal else problem.originals.distinct()[1]
    _, first, kind, sizes = np.unique(
        np.column_stack([of_records, weights]), axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    if problem.harm.is_personal:
        kinds = problem
    else:
        kinds = replace(problem, originals=problem.originals[first], weights=weights[first] * sizes)
    search = _Search(kinds, objective, sizes, start.allowed[first])
    chosen, bound = search.least(start.disclosure.levels[first])
    levels = np.empty_like(chosen)
    levels[np.argsort(kind.ravel(), kind="stable")] = chosen
    under = _losses(problem, np.arange(len(levels)), levels)
    loss = under[int(np.argmax(under @ weights))]
    utility = distance_from_root(problem.originals.generalized(levels), problem.steps)
    return replace(start, disclosure=Disclosure(problem.originals, levels), loss=loss, utility=utility, bound=bound)


def _losses(problem: DecisionProblem, rows: IndexArray, levels: IndexArray) -> FloatArray:
    """The losses of some records: shape (dictionaries, rows)."""
    shown = problem.originals[rows].generalized(levels)
    return np.stack([problem.harm.loss(shown, rows, consistent_counts(shown, each)) for each in problem.dictionaries])


@dataclass(frozen=True, eq=False)
class _Choices:
    """Level vectors of kinds, shape (choices, attributes), and what they cost, shape (dictionaries, choices)."""

    kinds: IndexArray
    levels: IndexArray
    costs: FloatArray


@dataclass(frozen=True, eq=False)
class _Search:
    """Kinds of equal records, each of `sizes` records. allowed: whether a kind can have what the objective asks."""

    problem: DecisionProblem
    objective: LeastRisk | TradeOff
    sizes: CountArray
    allowed: BoolArray

    @property
    def price(self) -> float:
        """The loss that one step of utility is worth."""
        return self.objective.price if isinstance(self.objective, TradeOff) else 0.0

    @property
    def shares(self) -> FloatArray:
        """The share of each kind in means."""
        return self.problem.shares

    def choices(self, rows: IndexArray, levels: IndexArray) -> _Choices:
        """What levels cost some kinds: the loss less the price of the utility. levels: one vector, or one for each."""
        utility = distance_from_root(self.problem.originals[rows].generalized(levels), self.problem.steps)
        costs = _losses(self.problem, rows, levels) - self.price * utility
        return _Choices(rows, np.broadcast_to(levels, (len(rows), self.problem.originals.nodes.shape[1])), costs)

    def least(self, start: IndexArray) -> tuple[IndexArray, float | None]:
        """The best levels, those of each record kind by kind, and the bound if they do not reach it."""
        known, prior, bound = self.known(start)
        values = [float((one.costs @ self.shares).max()) for one in known]
        best = known[int(np.argmin(values))]
        levels, value = np.repeat(best.levels, self.sizes, axis=0), min(values)
        scale = float((np.abs(best.costs) @ self.shares).max())
        if value - bound > TOLERANCE * scale:
            near = self.near(prior, np.min([prior @ one.costs for one in known], axis=0), value - bound)
            found, proven = self.program(_joined(known) if near is None else near, scale)
            bound = bound if near is None else max(bound, min(proven, value))
            if found is not None and found[1] < value:
                levels, value = found
        return levels, None if value - bound <= TOLERANCE * scale else bound

    def known(self, start: IndexArray) -> tuple[list[_Choices], FloatArray, float]:
        """Disclosures, the best under some priors; the prior of the largest bound, and the bound."""
        everybody, dictionaries = np.arange(len(start)), len(self.problem.dictionaries)
        known = [self.choices(everybody, start)]
        prior = np.full(dictionaries, 1 / dictionaries)
        best, bound = prior, -np.inf
        for _ in range(ROUNDS):
            found = best_of_each(replace(self.problem, prior=tuple(prior)), self.objective)
            known.append(self.choices(everybody, found.disclosure.levels))
            risks = np.stack([one.costs @ self.shares for one in known])
            if (value := float(prior @ risks[-1])) > bound:
                best, bound = prior, value
            # The largest value that the planes through the known disclosures leave possible, and where.
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
            # No dictionary is left out altogether: a loss that is infinite under it must not look like none.
            prior = np.maximum(planes.x[:-1], 1e-9)
            prior /= prior.sum()
        return known, best, bound

    def near(self, prior: FloatArray, least: FloatArray, gap: float) -> _Choices | None:
        """All choices of a disclosure that is better by up to the gap; None if they are too many."""
        space = self.problem.originals.space
        if math.prod((space.heights + 1).tolist()) * int(self.allowed.sum()) > MOST_LOSSES:
            return None
        units, vectors = self.shares / self.sizes, space.level_vectors()
        found, count = [self.choices(np.flatnonzero(~self.allowed), space.heights)], 0
        for number, losses in losses_by_vector(self.problem, vectors):
            asked = self.problem.scores(self.objective, vectors[number], np.zeros(len(units)))[0] == 0
            costs = losses - self.price * self.problem.utility(np.arange(len(units)), vectors[number])
            with np.errstate(invalid="ignore"):
                is_near = self.allowed & asked & (units * (prior @ costs - least) <= gap * (1 + TOLERANCE))
            kinds = np.flatnonzero(is_near & np.isfinite(costs).all(axis=0))
            found.append(_Choices(kinds, np.broadcast_to(vectors[number], (len(kinds), len(space))), costs[:, kinds]))
            if (count := count + len(kinds)) > MOST_CHOICES:
                return None
        return _joined(found)

    def program(self, choices: _Choices, scale: float) -> tuple[tuple[IndexArray, float] | None, float]:
        """The best levels that an integer program finds among choices, with their value, and its bound."""
        count = len(choices.kinds)
        units = (self.shares / self.sizes)[choices.kinds]
        of_kind = csr_array((np.ones(count), (choices.kinds, np.arange(count))), (len(self.sizes), count + 1))
        risks = np.column_stack([choices.costs * units / scale, -np.ones(len(choices.costs))])
        answer = milp(
            np.r_[np.zeros(count), 1.0],
            constraints=[
                LinearConstraint(of_kind, self.sizes, self.sizes),
                LinearConstraint(csr_array(risks), -np.inf, 0),
            ],
            bounds=Bounds(np.r_[np.zeros(count), -np.inf], np.r_[self.sizes[choices.kinds], np.inf]),
            integrality=np.r_[np.ones(count), 0],
            options={"time_limit": SECONDS, "mip_rel_gap": 0.0},
        )
        bound = -np.inf if answer.mip_dual_bound is None else float(answer.mip_dual_bound) * scale
        if answer.x is None:
            return None, bound
        chosen = np.rint(answer.x[:-1]).astype(int)
        order = np.argsort(choices.kinds, kind="stable")
        levels = np.repeat(choices.levels[order], chosen[order], axis=0)
        return (levels, float((choices.costs * units @ chosen).max())), bound


def _joined(parts: list[_Choices]) -> _Choices:
    """All choices, of those of a kind that cost the same the one that shows most."""
    kinds, levels = (np.concatenate([getattr(one, name) for one in parts]) for name in ("kinds", "levels"))
    costs = np.concatenate([one.costs for one in parts], axis=1)
    order = np.argsort(levels.sum(axis=1), kind="stable")
    _, first = np.unique(np.vstack([kinds, costs])[:, order], axis=1, return_index=True)
    return _Choices(kinds[order[first]], levels[order[first]], costs[:, order[first]])
