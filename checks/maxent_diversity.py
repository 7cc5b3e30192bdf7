"""Maxent l-diversity: what the maximum-entropy distribution says about the sensitive value (KG06 Def. 4.3, section 7).

Given the nonsensitive cell t, v_s(t) is proportional to the product over the cliques with the sensitive attribute of
T(t, s), divided by the same product over their separators. The collection passes when every t of positive probability
passes the criterion. Values are those of the finest published level of the sensitive attribute (Prop. 7.1); a
collection that does not show the attribute says nothing about it, and passes.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from checks.finding import Finding, Verdict, verdict_of
from checks.l_diversity import BOUNDARY, Diversity
from checks.sensitive_tree import SensitiveTree, sensitive_tree
from models.collection import Collection

JOIN_LIMIT = 20_000_000
"""Class combinations that the join enumerates before it gives up as undecided."""


def by_join(tree: SensitiveTree, diversity: Diversity, limit: int = JOIN_LIMIT) -> Finding:
    """Algorithm 1 of design 4.6, the reference: look at every class combination.

    Undecided when there are more than `limit` of them. Time linear in the join, memory in one block of it.
    """
    if tree.combination_count > limit:
        return _finding(tree, diversity, Verdict.UNDECIDED, None, "join", 0)
    worst: tuple[float, list[int]] | None = None
    fails = False
    examined = 0
    for combinations, vectors in tree.combinations(tree.conditional_factors, np.multiply):
        if not len(vectors):
            continue
        examined += len(vectors)
        slack = diversity.slack(vectors)
        close = np.flatnonzero(np.abs(slack) <= BOUNDARY)
        fails = fails or bool(np.any(slack < -BOUNDARY))
        fails = fails or any(not diversity.decide(tree.exact_vector(combinations[i].tolist())) for i in close)
        lowest = int(slack.argmin())
        if worst is None or slack[lowest] < worst[0]:
            worst = float(slack[lowest]), combinations[lowest].tolist()
    return _finding(tree, diversity, verdict_of(not fails), worst[1] if worst else None, "join", examined)


def _finding(
    tree: SensitiveTree,
    diversity: Diversity,
    verdict: Verdict,
    combination: Sequence[int] | None,
    algorithm: str,
    examined: int,
) -> Finding:
    parameters = {"diversity": str(diversity), "sensitive": tree.sensitive}
    worst = None if combination is None else describe_worst(tree, diversity, combination)
    return Finding("maxent-diversity", verdict, parameters, worst, algorithm, examined)


def describe_worst(tree: SensitiveTree, diversity: Diversity, combination: Sequence[int]) -> dict[str, Any]:
    """A class combination with its distribution of the sensitive value and the parameter that it reaches."""
    exact = tree.exact_vector(combination)
    total = sum(exact)
    shares = np.array([[float(v / total) for v in exact]])
    described = tree.describe(combination)
    described["distribution"] = {label: share for label, share in zip(tree.labels, shares[0].tolist()) if share}
    reached = float(diversity.reached(shares)[0])
    described["reached"] = reached if np.isfinite(reached) else None
    return described


def maxent_diversity(collection: Collection, sensitive: str, diversity: Diversity) -> Finding:
    """Whether a decomposable collection is maxent l-diverse in a sensitive attribute."""
    tree = sensitive_tree(collection, sensitive)
    if tree is None:
        parameters = {"diversity": str(diversity), "sensitive": sensitive}
        return Finding("maxent-diversity", Verdict.HOLDS, parameters, None, "not published", 0)
    return by_join(tree, diversity)
