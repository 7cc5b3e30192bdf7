"""Maxent l-diversity: what the maximum-entropy distribution says about the sensitive value (KG06 Def. 4.3, section 7).

Given the nonsensitive cell t, v_s(t) is proportional to the product over the cliques with the sensitive attribute of
T(t, s), divided by the same product over their separators. The collection passes when every t of positive probability
passes the criterion. Values are those of the finest published level of the sensitive attribute (Prop. 7.1); a
collection that does not show the attribute says nothing about it, and passes.
"""

from dataclasses import replace

import numpy as np

from checks.budget import FULL, Budget
from checks.diversity.criterion import BOUNDARY, Diversity
from checks.diversity.relative.at_level import Coarsened
from checks.finding import Algorithm, Finding, Verdict, WorstClass, verdict_of
from checks.maxent.branch_and_bound import branch_and_bound
from checks.maxent.class_combinations import by_last_clique
from checks.maxent.hull import by_hull, by_supports
from checks.maxent.outcome import Outcome
from checks.maxent.pairwise_ratios import pairwise_ratios
from checks.maxent.sensitive_tree import SensitiveTree, sensitive_tree
from models.arrays import IndexArray
from models.graphs.collection import Collection

SMALL_JOIN = 20_000
"""Up to so many class combinations the join is the fastest algorithm."""

_SMALLEST_LOG = -600.0
"""Logarithm of products below which floating point could lose them, or the digits that a verdict needs."""


def by_join(tree: SensitiveTree, diversity: Diversity, limit: int = FULL.joined) -> Outcome:
    """Look at every class combination: the reference for all other algorithms.

    Undecided when there are more than `limit` of them. Time linear in the join, memory in one block of it.
    """
    if tree.combination_count > limit:
        return Outcome(Verdict.UNDECIDED, None, 0, proven_worst=False)
    worst: tuple[float, tuple[int, ...]] | None = None
    fails = False
    examined = 0
    for combinations, vectors in tree.combinations(tree.conditional_factors, np.multiply):
        examined += len(vectors)
        slack = diversity.slack(vectors)
        close = np.flatnonzero(np.abs(slack) <= BOUNDARY)
        fails = fails or bool(np.any(slack < -BOUNDARY))
        fails = fails or any(not diversity.decide(tree.exact_vector(combinations[i].tolist())) for i in close)
        lowest = int(slack.argmin())
        if worst is None or slack[lowest] < worst[0]:
            worst = float(slack[lowest]), tuple(combinations[lowest].tolist())
    return Outcome(verdict_of(not fails), worst[1] if worst else None, examined, proven_worst=True)


def by_products(tree: SensitiveTree, diversity: Diversity, budget: Budget = FULL) -> Outcome | None:
    """What the join says, for a criterion that is quick of products; None for another one, or one clique alone.

    None, too, for so many cliques that a product could be too small for floating point. The join of all cliques but the last
    is enumerated, and the last clique's classes are set against it without being joined. Where the budget wants only the
    verdict, it ends at the first piece with a class that fails, with the worst class of what was looked at.
    """
    factors = tree.conditional_factors
    smallest = sum(float(np.log(factor.min(where=factor > 0, initial=1.0))) for factor in factors)
    if len(factors) < 2 or smallest < _SMALLEST_LOG:
        return None
    least, worst = np.inf, None
    fails, examined = False, 0
    for combinations, vectors, fitting in by_last_clique(tree, tree.combinations(factors[:-1], np.multiply)):
        slack = diversity.slack_of_products(vectors, factors[-1][fitting])
        if slack is None:
            return None
        examined += slack.size
        lowest = float(slack.min())
        if lowest < least:
            least, worst = lowest, _combination(combinations, fitting, slack.argmin())
        fails = (
            fails
            or lowest < -BOUNDARY
            or any(
                not diversity.decide(tree.exact_vector(_combination(combinations, fitting, place)))
                for place in np.flatnonzero(np.abs(slack) <= BOUNDARY)
            )
        )
        if fails and not budget.proof:
            return Outcome(Verdict.FAILS, worst, examined, proven_worst=False)
    return Outcome(verdict_of(not fails), worst, examined, proven_worst=True)


def _combination(combinations: IndexArray, fitting: IndexArray, place: np.intp) -> tuple[int, ...]:
    """The combination at a place among all of some combinations with each of some classes of one clique more."""
    row, column = divmod(int(place), len(fitting))
    return (*combinations[row].tolist(), int(fitting[column]))


def decided(tree: SensitiveTree, diversity: Diversity, budget: Budget = FULL) -> tuple[Algorithm, Outcome]:
    """The fastest algorithm that fits the criterion and the size, and what it says.

    The join where it is small, or quick by products; pairwise ratios where these are all that the criterion bounds; supports
    where it counts values; branch and bound where violations have cuts; hull pruning for the rest; at last the join again,
    while it can be enumerated at all. Raises TimeOverError when the budget's deadline comes before the verdict.
    """
    tree = tree.until(budget.deadline)
    algorithm, outcome = Algorithm.JOIN, None
    small = tree.combination_count <= SMALL_JOIN
    if tree.combination_count <= budget.multiplied and not (small and budget.proof):
        outcome = by_products(tree, diversity, budget)
    if outcome is None and small:
        outcome = by_join(tree, diversity)
    if outcome is None:
        if diversity.largest_ratio(len(tree.labels)) is not None:
            algorithm, outcome = Algorithm.PAIRWISE_RATIOS, pairwise_ratios(tree, diversity)
        elif (least := diversity.least_values()) is not None:
            algorithm, outcome = Algorithm.SUPPORTS, by_supports(tree, least, budget.vectors)
        elif (bounded := branch_and_bound(tree, diversity, budget)) is not None:
            algorithm, outcome = Algorithm.BRANCH_AND_BOUND, bounded
        else:
            algorithm, outcome = Algorithm.HULL, by_hull(tree, diversity, budget)
    if outcome.verdict is Verdict.UNDECIDED and tree.combination_count <= budget.joined:
        return Algorithm.JOIN, by_products(tree, diversity, budget) or by_join(tree, diversity, budget.joined)
    return algorithm, outcome


def describe_worst(tree: SensitiveTree, diversity: Diversity, combination: tuple[int, ...]) -> WorstClass:
    """A class combination for a reader: its cell, the marginals that combine to it, and the value it reaches."""
    exact = tree.exact_vector(combination)
    total = sum(exact)
    shares = np.array([[float(v / total) for v in exact]])
    labels, shown = tree.labels, shares
    if isinstance(diversity, Coarsened):
        labels, shown = diversity.labels, diversity.sums(shares)
    distribution = {label: share for label, share in zip(labels, shown[0].tolist()) if share}
    return replace(tree.describe(combination), distribution=distribution, reached=float(diversity.reached(shares)[0]))


def maxent_diversity(collection: Collection, sensitive: str, diversity: Diversity, budget: Budget = FULL) -> Finding:
    """Whether a decomposable collection is maxent l-diverse in a sensitive attribute. Undecided when the budget ends.

    Raises TimeOverError when its deadline comes before.
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
