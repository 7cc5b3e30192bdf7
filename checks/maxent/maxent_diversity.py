"""Maxent l-diversity: what the maximum-entropy distribution says about the sensitive value (KG06 Def. 4.3, section 7).

Let t be a nonsensitive cell. v_s(t) is proportional to the product of T(t, s) over the cliques with the sensitive
attribute, divided by that over their separators. The collection passes if every t of positive probability satisfies
the criterion. Values are those of the finest published level of the sensitive attribute (Prop. 7.1). A collection that
does not show the attribute says nothing about it, and passes.
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import gcd, lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from checks.diversity.criterion import Diversity
from checks.diversity.derived import Projected
from checks.finding import FULL, Algorithm, Budget, Finding, Verdict, WorstClass
from checks.maxent.branch_and_bound import branch_and_bound
from checks.maxent.hull import by_hull, by_supports, pairwise_ratios
from checks.maxent.sensitive_tree import (
    ClassSource,
    Judge,
    Outcome,
    SensitiveTree,
    by_last_clique,
    sensitive_tree,
)
from models.arrays import FloatArray, IndexArray
from models.errors import TooManyCellsError
from models.graphs.junction_tree import Collection
from models.inference.calibrated_tree import CalibratedTree
from models.inference.iterative_fitting import iterative_fit
from models.tables.contingency_table import Cells
from models.tables.hierarchy import Mask

SMALL_JOIN, MULTIPLIED = 20_000, 4_000_000
"""Most class combinations for which the join is fastest, and for which matrices judge all of them by their products."""

JOINED = 0.4
"""Class combinations that the join enumerates for each partial one of branch and bound in the budget."""

_SMALLEST_LOG = -600.0
"""Logarithm of products below which floating point could lose them, or the digits that a verdict needs."""


def by_join(tree: SensitiveTree, diversity: Diversity, limit: float = JOINED * FULL.branches) -> Outcome:
    """Judge every class combination: the reference for all other algorithms.

    Undecided if there are more than `limit` of them. Time linear in the join, memory in one block of it.

    Parameters
    ----------
    tree
        Cliques with the sensitive attribute.
    diversity
        The criterion, decided `among` the tree's values.
    limit
        Most class combinations.
    """
    judge = Judge(tree, diversity)
    if tree.combination_count > limit:
        return judge.outcome(is_decided=False, proven_worst=False)
    for combinations, vectors in tree.combinations(tree.conditional_factors, np.multiply):
        judge.look_at(combinations, vectors)
    return judge.outcome()


def by_products(tree: SensitiveTree, diversity: Diversity, budget: Budget = FULL) -> Outcome | None:
    """Return the join's outcome by products of matrices; None if the criterion has no fast way, or if there is one
    clique only.

    None as well for so many cliques that a product could underflow. The join of all cliques but the last is
    enumerated, and the last clique's classes are multiplied with it without joining. If the budget needs only the
    verdict, the search ends at the first piece with a failing class, with the worst class so far.
    """
    factors = tree.conditional_factors
    smallest = sum(float(np.log(factor.min(where=factor > 0, initial=1.0))) for factor in factors)
    if len(factors) < 2 or smallest < _SMALLEST_LOG:
        return None
    judge = Judge(tree, diversity)
    for combinations, vectors, fitting in by_last_clique(tree, tree.combinations(factors[:-1], np.multiply)):
        slack = diversity.slack_of_products(vectors, factors[-1][fitting])
        if slack is None:
            return None
        judge.look_at_slack(slack, partial(_combination, combinations, fitting))
        if judge.fails and not budget.proof:
            return judge.outcome(proven_worst=False)
    return judge.outcome()


def _combination(combinations: IndexArray, fitting: IndexArray, place: int) -> tuple[int, ...]:
    """Return the combination at a place among all pairs of some combinations and some classes of one further clique."""
    row, column = divmod(place, len(fitting))
    return (*combinations[row].tolist(), int(fitting[column]))


def decided(tree: SensitiveTree, diversity: Diversity, budget: Budget = FULL) -> tuple[Algorithm, Outcome]:
    """Return the fastest algorithm that fits the criterion and the size, and its outcome.

    The join comes first, if it is small or fast by products. Pairwise ratios follow if the criterion bounds only
    these, and supports if it counts values. Branch and bound decides if violations have cuts, hull pruning the rest.
    At last the join runs again, if it can be enumerated at all. Raises TimeOverError when the budget's deadline comes
    before the verdict.
    """
    tree = tree.until(budget.deadline)
    if isinstance(diversity, Projected) and not diversity.labels:
        tree, diversity = replace(tree, columns=diversity.places), diversity.diversity
    algorithm, outcome = Algorithm.JOIN, None
    small = tree.combination_count <= SMALL_JOIN
    if tree.combination_count <= min(MULTIPLIED, 4 * budget.branches) and not (small and budget.proof):
        outcome = by_products(tree, diversity, budget)
    if outcome is None and small:
        outcome = by_join(tree, diversity)
    if outcome is None:
        bound = diversity.share_bound()
        if bound is not None and bound.largest_ratio(len(tree.labels)) is not None:
            algorithm, outcome = Algorithm.PAIRWISE_RATIOS, pairwise_ratios(tree, bound)
        elif bound is not None and bound.least_values is not None:
            algorithm, outcome = Algorithm.SUPPORTS, by_supports(tree, bound.least_values, budget.vectors)
        elif (bounded := branch_and_bound(tree, diversity, budget)) is not None:
            algorithm, outcome = Algorithm.BRANCH_AND_BOUND, bounded
        else:
            algorithm, outcome = Algorithm.HULL, by_hull(tree, diversity, budget)
    if outcome.verdict is Verdict.UNDECIDED and tree.combination_count <= JOINED * budget.branches:
        return Algorithm.JOIN, by_products(tree, diversity, budget) or by_join(
            tree, diversity, JOINED * budget.branches
        )
    return algorithm, outcome


def describe_worst(tree: SensitiveTree, diversity: Diversity, combination: tuple[int, ...]) -> WorstClass:
    """Return a class combination for a reader: its cell, the marginals that combine to it, and the value it reaches."""
    exact = tree.exact_vector(combination)
    shares = _shares(exact)
    labels, named_shares = tree.labels, shares
    if isinstance(diversity, Projected) and diversity.labels:
        labels, named_shares = diversity.labels, diversity.sums(shares)
    distribution = {label: share for label, share in zip(labels, named_shares[0].tolist()) if share}
    reached, slack = float(diversity.reached(_whole_numbers(exact, shares))[0]), float(diversity.slack(shares)[0])
    values = tree.values.occurring(diversity.nearest(shares)) or None
    return replace(tree.describe(combination), distribution=distribution, values=values, reached=reached, slack=slack)


def _shares(exact: Sequence[Fraction]) -> FloatArray:
    total = sum(exact)
    return np.array([[float(value / total) for value in exact]])


def _whole_numbers(exact: Sequence[Fraction], shares: NDArray[Any]) -> NDArray[Any]:
    """Return a vector in whole numbers, as a table counts it, so that a criterion judges both alike; else its shares."""
    scale = lcm(*(value.denominator for value in exact))
    scaled = [int(value * scale) for value in exact]
    divisor = gcd(*scaled)
    integers = [value // divisor for value in scaled]
    return np.array([integers], dtype=np.int64) if sum(integers) < _EXACT else shares


_EXACT = 2**53
"""Whole numbers up to here are exact as floats."""


def maxent_diversity(collection: Collection, sensitive: str, diversity: Diversity, budget: Budget = FULL) -> Finding:
    """Decide whether a decomposable collection is maxent l-diverse in a sensitive attribute (KG06 Def. 4.3).

    Undecided when the budget ends.

    Parameters
    ----------
    collection
        The published marginals.
    sensitive
        The attribute.
    diversity
        The criterion on the sensitive values of a class.
    budget
        Work that the check may do.

    Raises
    ------
    TimeOverError
        If the budget's deadline comes before the verdict.
    """
    parameters = {"diversity": str(diversity), "sensitive": sensitive}
    tree = sensitive_tree(collection, sensitive)
    if tree is None:
        return Finding("maxent-diversity", Verdict.HOLDS, parameters, None, (Algorithm.NOT_PUBLISHED,), 0)
    diversity = diversity.among(tree.values)
    algorithm, outcome = decided(tree, diversity, budget)
    worst = None if outcome.combination is None else describe_worst(tree, diversity, outcome.combination)
    note = "" if outcome.proven_worst else "the class shown is the worst found, not proven to be the worst"
    return Finding("maxent-diversity", outcome.verdict, parameters, worst, (algorithm,), outcome.examined, note)


# Maxent diversity of any collection, decomposable or not, on its distribution as iterative fitting gives it.
#
# The fit is not exact, so a verdict must survive its errors. The criterion is decided a little stricter and a little laxer,
# and with and without the cells that the fit has driven almost to 0. Disagreement is undecided.


MARGIN = 1e-6
"""Relative change of the criterion's parameter that a verdict must survive; the fit must be a thousand times better."""

VANISHING = 1e-7
"""Expected rows below which the exact distribution may leave a cell empty."""


def fitted_diversity(collection: Collection, sensitive: str, diversity: Diversity, budget: Budget = FULL) -> Finding:
    """Decide whether a collection is maxent l-diverse in a sensitive attribute, by iterative proportional fitting.

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
        nearby = [criterion_here.loosened_to(MARGIN), criterion_here.loosened_to(-MARGIN)]
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
    """Return the verdict of a criterion that cannot be made stricter, if even its worst class is beyond the fit's errors."""
    bound = diversity.share_bound()
    if outcome.combination is None or (bound is not None and bound.least_values is not None):
        return outcome.verdict
    exact = tree.exact_vector(outcome.combination)
    slack = float(diversity.slack(_shares(exact))[0])
    fails = outcome.verdict is Verdict.FAILS and slack < -MARGIN
    holds = outcome.verdict is Verdict.HOLDS and outcome.proven_worst and slack > MARGIN
    return outcome.verdict if fails or holds else Verdict.UNDECIDED


def _tree(fit: CalibratedTree, sensitive: str, least: float) -> SensitiveTree:
    def cells_of(mask: Mask) -> Cells:
        cells = fit.marginal(mask)
        return cells[cells.counts > least]

    return SensitiveTree.of(fit.tree, sensitive, ClassSource(cells_of, sensitive))
