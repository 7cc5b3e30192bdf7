"""k-combinatorial anonymity: no cell that some consistent table can fill must hold fewer than k rows (KG06 Def. 4.2).

U(t) is the largest count that a nonnegative integer table with the given marginals can put on the nonsensitive cell t.
A collection passes when no t has 0 < U(t) < k. For a decomposable one with one sensitive attribute C (design 4.5)

    U(t) = min( sum_s min_{i: C in E_i} T_Ei(t, s),  min_{j: C not in E_j} T_Ej(t) ).

Where cliques show C at several levels the inner part nests: what the cliques of a level allow for a value is at most
the sum of what the finer ones allow for its children. If k-link holds, only cliques with C can break k-combinatorial
anonymity, and only when there are two of them at least.
"""

from collections.abc import Collection as AnyCollection
from collections.abc import Sequence
from typing import Any

import numpy as np

from checks.finding import Finding, Verdict, verdict_of
from checks.k_anonymity import k_link
from checks.sensitive_tree import SensitiveTree, sensitive_tree
from models.arrays import FloatArray
from models.collection import Collection

COMBINATION_LIMIT = 20_000_000
"""Class combinations that are enumerated before the check gives up as undecided."""


def slice_factors(tree: SensitiveTree) -> tuple[FloatArray, ...]:
    """For each clique a vector for each class: its counts in the block of its own level, infinite in the other blocks.

    Blocks are the published levels of the sensitive attribute, finest first.
    """
    levels = sorted({classes.level for classes in tree.classes})
    hierarchy = tree.domain.hierarchy(tree.sensitive)
    width = [hierarchy.size(level) for level in levels]
    begin = dict(zip(levels, np.cumsum([0, *width]).tolist()))
    factors = []
    for classes in tree.classes:
        factor = np.full((len(classes), sum(width)), np.inf)
        factor[:, begin[classes.level] : begin[classes.level] + classes.counts.shape[1]] = classes.counts
        factors.append(factor)
    return tuple(factors)


def upper_bounds(tree: SensitiveTree, vectors: FloatArray) -> FloatArray:
    """U of class combinations, from the componentwise minima of their `slice_factors`: shape (n,)."""
    levels = sorted({classes.level for classes in tree.classes})
    hierarchy = tree.domain.hierarchy(tree.sensitive)
    allowed = vectors[:, : hierarchy.size(levels[0])]
    begin = hierarchy.size(levels[0])
    for fine, coarse in zip(levels, levels[1:]):
        parents = hierarchy.lift(fine, coarse)
        sums = allowed @ np.eye(hierarchy.size(coarse))[parents]
        allowed = np.minimum(sums, vectors[:, begin : begin + hierarchy.size(coarse)])
        begin += hierarchy.size(coarse)
    return np.asarray(allowed.sum(axis=1), dtype=np.float64)


def _worst(tree: SensitiveTree, combination: Sequence[int], bound: float) -> dict[str, Any]:
    return tree.describe(combination) | {"upper_bound": int(bound)}


def k_combinatorial(collection: Collection, sensitive: AnyCollection[str], k: int) -> Finding:
    """Whether a decomposable collection is k-combinatorially anonymous.

    Undecided with two cliques of different sensitive attributes, or when there are too many class combinations.
    """
    parameters = {"k": k}
    link = k_link(collection, sensitive, k)
    if not link.holds:
        return Finding("k-combinatorial", Verdict.FAILS, parameters, link.worst, "k-link", link.examined)
    shown = [attribute for attribute in sensitive if collection.finest_resolution(attribute)]
    trees = [tree for attribute in shown if (tree := sensitive_tree(collection, attribute))]
    cliques = {clique for tree in trees for clique in tree.tree.cliques}
    if len(cliques) <= 1:
        return Finding("k-combinatorial", Verdict.HOLDS, parameters, link.worst, "k-link", link.examined)
    if len(trees) > 1 or trees[0].combination_count > COMBINATION_LIMIT:
        return Finding("k-combinatorial", Verdict.UNDECIDED, parameters, None, "closed form", 0)
    tree = trees[0]
    worst: tuple[float, list[int]] | None = None
    examined = 0
    for combinations, vectors in tree.combinations(slice_factors(tree), np.minimum):
        bounds = upper_bounds(tree, vectors)
        possible = bounds > 0
        examined += int(possible.sum())
        if possible.any():
            lowest = int(np.where(possible, bounds, np.inf).argmin())
            if worst is None or bounds[lowest] < worst[0]:
                worst = float(bounds[lowest]), combinations[lowest].tolist()
    holds = worst is None or worst[0] >= k
    described = _worst(tree, worst[1], worst[0]) if worst else None
    return Finding("k-combinatorial", verdict_of(holds), parameters, described, "closed form", examined)
