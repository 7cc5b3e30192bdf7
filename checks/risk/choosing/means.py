"""The rule of means: disclosures whose mean loss and mean utility are what is asked for (LSFB09 eqs. 7 and 8, section 8).

Asking every record for a utility, as branch and bound does, is the paper's smaller feasible set. Asking the mean leaves
records whose values tell much to show less, and others more: at the same mean utility the risk can be a fraction.

Steps along the records' own hulls are taken, the cheapest first. After any number of steps no disclosure has less risk at
as much utility, so what misses the best is less than one step of one record; `bound` says how much that is at most.
"""

from dataclasses import dataclass

import numpy as np

from checks.risk.choosing.ladder import Ladder
from checks.risk.disclosure import Disclosure
from checks.risk.errors import DisclosureRuleError
from checks.risk.objective import LeastRisk, MostUtility
from checks.risk.optimal_disclosure import DecisionProblem, Optimum, Progress, unwatched
from models.arrays import IndexArray


@dataclass(frozen=True, eq=False)
class MeanOptimum:
    """A disclosure that is best on average over the records, but for less than a step of one record.

    objective: what was asked of the means. bound: what no disclosure can beat: the least risk with that mean utility, or
    the most mean utility with that risk.
    """

    optimum: Optimum
    objective: LeastRisk | MostUtility
    bound: float


def best_on_average(
    problem: DecisionProblem, objective: LeastRisk | MostUtility, progress: Progress = unwatched
) -> MeanOptimum:
    """The least risk with a mean utility of at least so much (eq. 8), or the most mean utility with so much risk (eq. 7).

    Raises DisclosureRuleError where no disclosure with a finite risk is allowed.
    """
    ladder = Ladder.of(problem, progress)
    gain, price = ladder.steps.gain * ladder.shares[ladder.steps.row], ladder.steps.price
    start_utility, start_risk = ladder.means(ladder.place)
    utility = start_utility + np.r_[0.0, np.cumsum(gain)]
    risk = start_risk + np.r_[0.0, np.cumsum(gain * price)]
    if not np.isfinite(risk[0]):
        raise DisclosureRuleError("every disclosure of the records has an infinite risk")
    if isinstance(objective, LeastRisk):
        # What sums of floats miss is no reason for a step more.
        count = int(np.searchsorted(utility, objective.utility - 1e-9 * max(1.0, objective.utility)))
        if count == len(utility):
            raise DisclosureRuleError(
                f"no disclosure with a finite risk has a mean utility of {objective.utility:g}; the most is {utility[-1]:g}"
            )
        bound = float(np.interp(objective.utility, utility, risk))
    else:
        count = int(np.searchsorted(risk, objective.loss + 1e-12 * risk[-1], side="right")) - 1
        if count < 0:
            raise DisclosureRuleError(
                f"no disclosure has a mean loss of at most {objective.loss:g}; the least is {risk[0]:g}"
            )
        bound = float(np.interp(objective.loss, risk, utility))
    return MeanOptimum(_optimum(problem, ladder, ladder.after(count)), objective, bound)


def _optimum(problem: DecisionProblem, ladder: Ladder, place: IndexArray) -> Optimum:
    rows = np.arange(len(place))
    disclosure = Disclosure(problem.originals, ladder.vectors[ladder.vector[rows, place]])
    allowed = np.ones(len(place), dtype=bool)
    evaluated = len(ladder.vectors) * len(place)
    return Optimum(disclosure, allowed, ladder.loss_at(place), ladder.utilities[place], evaluated, problem.weights)
