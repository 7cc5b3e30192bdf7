"""Maxent diversity of any collection, decomposable or not, on its distribution as iterative fitting gives it.

The fit is not exact, so a verdict must survive its errors: the criterion is decided a little stricter and a little laxer
than asked, and with and without the cells that the fit has driven almost to nothing. What these do not agree on is
undecided.
"""

import numpy as np

from checks.budget import FULL, Budget
from checks.classes.equivalence_classes import EquivalenceClasses, grouped
from checks.diversity.criterion import Diversity, loosened_to
from checks.finding import Algorithm, Finding, Verdict
from checks.maxent.maxent_diversity import decided, describe_worst
from checks.maxent.outcome import Outcome
from checks.maxent.sensitive_tree import SensitiveTree
from models.errors import TooManyCellsError
from models.graphs.collection import Collection
from models.inference.fitting.iterative_fitting import Fit, iterative_fit
from models.tables.domain import Mask

MARGIN = 1e-6
"""Relative change of the criterion's parameter that a verdict must survive; the fit must be a thousand times better."""

VANISHING = 1e-7
"""Expected rows below which a cell may be one that the exact distribution leaves empty."""


def fitted_diversity(collection: Collection, sensitive: str, diversity: Diversity, budget: Budget = FULL) -> Finding:
    """Whether a collection is maxent l-diverse in a sensitive attribute, by iterative proportional fitting.

    Raises TimeOverError when the budget's deadline comes before the verdict.
    """
    parameters = {"diversity": str(diversity), "sensitive": sensitive}
    if not collection.shows(sensitive):
        return Finding("maxent-diversity", Verdict.HOLDS, parameters, None, (Algorithm.NOT_PUBLISHED,), 0)
    fitting = (Algorithm.ITERATIVE_FITTING,)
    try:
        fit = iterative_fit(collection, deadline=budget.deadline)
    except TooManyCellsError as error:
        return Finding("maxent-diversity", Verdict.UNDECIDED, parameters, None, fitting, 0, str(error))
    if fit.residual > MARGIN / 1000:
        note = f"the fit still misses a published count by {fit.residual:.2g} of it"
        return Finding("maxent-diversity", Verdict.UNDECIDED, parameters, None, fitting, 0, note)
    verdicts, examined, worst = set(), 0, None
    for least in (0.0, VANISHING):
        tree = _tree(fit, sensitive, least)
        criterion_here = diversity.among(tree.values)
        nearby = [loosened_to(criterion_here, MARGIN), loosened_to(criterion_here, -MARGIN)]
        for criterion in nearby if None not in nearby else [criterion_here]:
            algorithm, outcome = decided(tree, criterion or criterion_here, budget)
            examined += outcome.examined
            verdicts.add(outcome.verdict if criterion is not criterion_here else _robust(tree, criterion_here, outcome))
            if outcome.combination is not None:
                worst = describe_worst(tree, criterion_here, outcome.combination)
    verdict = verdicts.pop() if len(verdicts) == 1 else Verdict.UNDECIDED
    note = "" if verdict is not Verdict.UNDECIDED else "the value reached is within the fit's error of the bound"
    algorithms = (*fitting, algorithm)
    return Finding("maxent-diversity", verdict, parameters, worst, algorithms, examined, note)


def _robust(tree: SensitiveTree, diversity: Diversity, outcome: Outcome) -> Verdict:
    """The verdict of a criterion that cannot be made stricter, if even its worst class is beyond the fit's errors."""
    if outcome.combination is None or diversity.least_values() is not None:
        return outcome.verdict
    exact = tree.exact_vector(outcome.combination)
    slack = float(diversity.slack(np.array([[float(v / sum(exact)) for v in exact]]))[0])
    fails = outcome.verdict is Verdict.FAILS and slack < -MARGIN
    holds = outcome.verdict is Verdict.HOLDS and outcome.proven_worst and slack > MARGIN
    return outcome.verdict if fails or holds else Verdict.UNDECIDED


def _tree(fit: Fit, sensitive: str, least: float) -> SensitiveTree:
    """The sensitive tree of a fit, without the cells of fewer expected rows than `least`."""
    domain = fit.tree.domain
    classes_by_mask: dict[Mask, EquivalenceClasses] = {}

    def classes_of(mask: Mask) -> EquivalenceClasses:
        """The classes of a margin, by the rows that are expected in them."""
        if mask not in classes_by_mask:
            cells = fit.marginal(mask)
            kept = cells[cells.expected > least]
            classes_by_mask[mask] = grouped(domain, domain.margin(mask), kept.codes, kept.expected, sensitive)
        return classes_by_mask[mask]

    return SensitiveTree.of(fit.tree, sensitive, classes_of)
