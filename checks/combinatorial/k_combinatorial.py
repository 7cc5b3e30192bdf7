"""k-combinatorial anonymity: no cell that some consistent table can fill must hold fewer than k rows (KG06 Def. 4.2).

U(t) is the largest count that a nonnegative integer table with the given marginals can put on the nonsensitive cell t.
A collection passes when no t has 0 < U(t) < k. For a decomposable one with one sensitive attribute C:

    U(t) = min( sum_s min_{i: C in E_i} T_Ei(t, s),  min_{j: C not in E_j} T_Ej(t) ).

Where cliques show C at several levels the inner part nests: what the cliques of a level allow for a value is at most
the sum of what the finer ones allow for its children. If k-link holds, only cliques with C can break k-combinatorial
anonymity, and only when there are two of them at least.
"""

from collections.abc import Collection as AnyCollection
from dataclasses import replace
from functools import partial

import numpy as np

from checks.budget import FULL, Budget
from checks.classes.k_anonymity import k_link
from checks.combinatorial.programmed_bounds import by_programming
from checks.finding import Algorithm, Finding, Verdict, WorstClass
from checks.maxent.sensitive_tree import SensitiveTree, sensitive_tree
from checks.maxent.vector_sets import (
    TooManyVectorsError,
    distinct_positions,
    groups,
    minimal_positions,
    work_up,
)
from models.arrays import BoolArray, FloatArray, IndexArray
from models.deadline import NEVER, Deadline
from models.errors import TimeOverError
from models.graphs.collection import Collection


def _published_levels(tree: SensitiveTree) -> list[int]:
    return sorted({classes.level for classes in tree.classes})


def slice_factors(tree: SensitiveTree, cap: float = np.inf) -> tuple[FloatArray, ...]:
    """For each clique a vector for each class: its counts, at most `cap`, in its own level's block; `cap` elsewhere.

    Blocks are the published levels of the sensitive attribute, finest first.
    """
    levels = _published_levels(tree)
    width = [tree.domain.hierarchy(tree.sensitive).size(level) for level in levels]
    begin = dict(zip(levels, np.cumsum([0, *width]).tolist()))
    factors = []
    for classes in tree.classes:
        factor = np.full((len(classes), sum(width)), cap)
        own = slice(begin[classes.level], begin[classes.level] + classes.counts.shape[1])
        factor[:, own] = np.minimum(classes.counts, cap)
        factors.append(factor)
    return tuple(factors)


def upper_bounds(tree: SensitiveTree, vectors: FloatArray) -> FloatArray:
    """U of class combinations, from the componentwise minima of their `slice_factors`: shape (n,)."""
    levels = _published_levels(tree)
    hierarchy = tree.domain.hierarchy(tree.sensitive)
    begin = hierarchy.size(levels[0])
    allowed = vectors[:, :begin]
    for fine, coarse in zip(levels, levels[1:]):
        parents = hierarchy.lift(fine, coarse)
        sums = allowed @ np.eye(hierarchy.size(coarse))[parents]
        allowed = np.minimum(sums, vectors[:, begin : begin + hierarchy.size(coarse)])
        begin += hierarchy.size(coarse)
    return np.asarray(allowed.sum(axis=1), dtype=np.float64)


def _minimal_of_equal_support(vectors: FloatArray, block: IndexArray, deadline: Deadline = NEVER) -> IndexArray:
    """Of the vectors of a block with the same support, those that no other is at most, everywhere.

    A smaller vector of another support may end as U = 0, which is no finding, where the larger one ends below k.
    """
    distinct = distinct_positions(vectors, block)
    alike = groups(block[distinct], np.unique(vectors[distinct] > 0, axis=0, return_inverse=True)[1].reshape(-1))
    kept = [distinct[g if len(g) == 1 else g[minimal_positions(vectors[distinct[g]], deadline)]] for g in alike]
    return np.sort(np.concatenate(kept)) if kept else distinct


def _outside_minima(tree: SensitiveTree, factors: tuple[FloatArray, ...]) -> tuple[FloatArray, ...]:
    """For each clique and separator class the componentwise minimum over all that the rest of the tree can be."""
    cliques = len(tree.classes)
    arriving = _inside_minima(tree, factors)
    outside: list[FloatArray] = [np.full((len(tree.separators[0]), factors[0].shape[1]), np.inf)] + [
        np.zeros((0, 0))
    ] * (cliques - 1)
    for clique in range(cliques):
        children = tree.tree.children[clique]
        for child in children:
            seen = np.minimum(factors[clique], outside[clique][tree.inward[clique]])
            for sibling in children:
                if sibling != child:
                    seen = np.minimum(seen, arriving[sibling][tree.outward[sibling]])
            outside[child] = _segment_min(seen, tree.outward[child], len(tree.separators[child]))
    return tuple(outside)


def _inside_minima(tree: SensitiveTree, factors: tuple[FloatArray, ...]) -> list[FloatArray]:
    """For each clique and separator class the componentwise minimum over all that its subtree can be."""
    inside: list[FloatArray] = list(factors)
    arriving: list[FloatArray] = [np.zeros((0, 0))] * len(factors)
    for clique in reversed(range(len(factors))):
        for child in tree.tree.children[clique]:
            inside[clique] = np.minimum(inside[clique], arriving[child][tree.outward[child]])
        arriving[clique] = _segment_min(inside[clique], tree.inward[clique], len(tree.separators[clique]))
    return arriving


def _segment_min(rows: FloatArray, segment: IndexArray, segments: int) -> FloatArray:
    """Componentwise minimum of the rows of each segment, infinite where it has none."""
    result = np.full((segments, rows.shape[1]), np.inf)
    order = np.argsort(segment, kind="stable")
    ordered = segment[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(ordered) else np.zeros(0, dtype=np.intp)
    if len(starts):
        result[ordered[starts]] = np.minimum.reduceat(rows[order], starts, axis=0)
    return result


def by_search(tree: SensitiveTree, k: int, budget: int = FULL.cell_branches) -> Finding:
    """Look for a class combination with 0 < U < k, clique by clique, the smallest U first.

    A partial combination is dropped when its U is 0, or when no completion can bring it below k. Undecided when more than
    `budget` partial combinations would have to be looked at.
    """
    factors = slice_factors(tree, cap=float(k))
    arriving = _inside_minima(tree, factors)
    examined = 0

    def screen(chosen: IndexArray, vectors: FloatArray) -> IndexArray:
        nonlocal examined
        examined += len(chosen)
        if examined > budget:
            raise TooManyVectorsError
        upper = upper_bounds(tree, vectors)
        lowest = vectors
        for clique in range(chosen.shape[1], len(factors)):
            parent = tree.tree.parents[clique]
            if parent < chosen.shape[1]:
                lowest = np.minimum(lowest, arriving[clique][tree.outward[clique][chosen[:, parent]]])
        possible = np.flatnonzero((upper > 0) & (upper_bounds(tree, lowest) < k))
        return np.asarray(possible[np.argsort(upper[possible], kind="stable")], dtype=np.intp)

    try:
        for chosen, vectors in tree.depth_first(factors, np.minimum, screen):
            worst = _described(tree, chosen[0], float(upper_bounds(tree, vectors[:1])[0]))
            return Finding("k-combinatorial", Verdict.FAILS, {"k": k}, worst, (Algorithm.BRANCH_AND_BOUND,), examined)
    except TooManyVectorsError:
        return Finding("k-combinatorial", Verdict.UNDECIDED, {"k": k}, None, (Algorithm.BRANCH_AND_BOUND,), examined)
    return Finding("k-combinatorial", Verdict.HOLDS, {"k": k}, None, (Algorithm.BRANCH_AND_BOUND,), examined)


def by_vector_sets(tree: SensitiveTree, k: int, limit: int = FULL.cell_vectors) -> Finding:
    """The recursion of the module docstring: vectors capped at k, worked up the tree, never the join.

    Besides dominance, a vector is dropped when what the rest of the tree can be leaves at least k on its cell: the
    values that nothing outside can empty already sum to k. Undecided when a step would make more than `limit` vectors.
    """
    factors = slice_factors(tree, cap=float(k))
    outside = _outside_minima(tree, factors)

    def safe(clique: int, vectors: FloatArray, block: IndexArray) -> BoolArray:
        return upper_bounds(tree, np.minimum(vectors, outside[clique][block])) >= k

    prune = partial(_minimal_of_equal_support, deadline=tree.deadline)
    try:
        worked_up = work_up(tree, factors, np.minimum, prune, safe, limit)
    except TooManyVectorsError:
        return Finding("k-combinatorial", Verdict.UNDECIDED, {"k": k}, None, (Algorithm.VECTOR_SETS,), limit)
    bounds = upper_bounds(tree, worked_up.vectors)
    broken = np.flatnonzero((bounds > 0) & (bounds < k))
    if not len(broken):
        return Finding("k-combinatorial", Verdict.HOLDS, {"k": k}, None, (Algorithm.VECTOR_SETS,), worked_up.examined)
    lowest = int(broken[bounds[broken].argmin()])
    worst = _described(tree, worked_up.chosen[lowest], float(bounds[lowest]))
    return Finding("k-combinatorial", Verdict.FAILS, {"k": k}, worst, (Algorithm.VECTOR_SETS,), worked_up.examined)


def by_join(tree: SensitiveTree, k: int, limit: int = 20_000_000) -> Finding:
    """The reference: U of every class combination. Undecided when there are more than `limit`."""
    if tree.combination_count > limit:
        return Finding("k-combinatorial", Verdict.UNDECIDED, {"k": k}, None, (Algorithm.JOIN,), 0)
    worst: tuple[float, IndexArray] | None = None
    examined = 0
    for combinations, vectors in tree.combinations(slice_factors(tree), np.minimum):
        bounds = upper_bounds(tree, vectors)
        possible = bounds > 0
        examined += int(possible.sum())
        if possible.any():
            lowest = int(np.where(possible, bounds, np.inf).argmin())
            if worst is None or bounds[lowest] < worst[0]:
                worst = float(bounds[lowest]), combinations[lowest]
    verdict = Verdict.FAILS if worst is not None and worst[0] < k else Verdict.HOLDS
    described = _described(tree, worst[1], worst[0]) if worst else None
    return Finding("k-combinatorial", verdict, {"k": k}, described, (Algorithm.JOIN,), examined)


def _described(tree: SensitiveTree, combination: IndexArray, bound: float) -> WorstClass:
    return replace(tree.describe(combination.tolist()), count=int(bound))


def of_tree(tree: SensitiveTree, k: int, budget: Budget = FULL) -> Finding:
    """Whether the cliques of one sensitive attribute are k-combinatorially anonymous, by search, then by vector sets.

    Raises TimeOverError when the budget's deadline comes before the verdict.
    """
    tree = tree.until(budget.deadline)
    finding = by_search(tree, k, budget.cell_branches)
    return by_vector_sets(tree, k, budget.cell_vectors) if finding.verdict is Verdict.UNDECIDED else finding


def k_combinatorial(collection: Collection, sensitive: AnyCollection[str], k: int, budget: Budget = FULL) -> Finding:
    """Whether a collection is k-combinatorially anonymous.

    A decomposable one by the closed form, as far as one sensitive attribute is concerned; with several, or without a
    junction tree, by programming. One cell below k is shown where there is one, else for the closed form the cell with
    the smallest count U. Undecided when none of these comes to an end within the budget. Raises TimeOverError when its
    deadline comes before the closed form has decided.
    """
    parameters = {"k": k}
    link = k_link(collection, sensitive, k)
    if not link.holds:
        return Finding("k-combinatorial", Verdict.FAILS, parameters, link.worst, (Algorithm.K_LINK,), link.examined)
    if not collection.is_decomposable:
        return by_programming(collection, sensitive, k, budget)
    published = [attribute for attribute in sensitive if collection.shows(attribute)]
    trees = [tree for attribute in published if (tree := sensitive_tree(collection, attribute))]
    cliques = {clique for tree in trees for clique in tree.tree.cliques}
    if len(cliques) <= 1:
        return Finding("k-combinatorial", Verdict.HOLDS, parameters, link.worst, (Algorithm.K_LINK,), link.examined)
    if len(trees) > 1:
        return by_programming(collection, sensitive, k, budget)
    tree = trees[0].until(budget.deadline)
    finding = of_tree(tree, k, budget)
    return _with_nearest(finding, tree, link, budget.proof) if finding.verdict is Verdict.HOLDS else finding


def _with_nearest(holding: Finding, tree: SensitiveTree, link: Finding, budget: int) -> Finding:
    """A claim that holds, with the cell nearest to failing: from the smallest class of k-link down, by search.

    budget: partial combinations that may be looked at for it; the smallest one met is shown where it ends before.
    """
    nearest, examined = link, 0
    while (count := nearest.worst_class.count) is not None and count > holding.parameters["k"]:
        try:
            closer = by_search(tree, count, budget - examined)
        except TimeOverError:
            closer = replace(holding, verdict=Verdict.UNDECIDED, examined=0)
        examined += closer.examined
        if closer.verdict is Verdict.UNDECIDED:
            note = "the cell shown is the one with the smallest count that was found; others may have a smaller one"
            return replace(holding, worst=nearest.worst, examined=holding.examined + examined, note=note)
        if closer.verdict is Verdict.HOLDS:
            break
        nearest = closer
    return replace(holding, worst=nearest.worst, examined=holding.examined + examined)
