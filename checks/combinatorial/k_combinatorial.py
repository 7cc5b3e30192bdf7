"""k-combinatorial anonymity: no cell that some consistent table can fill must hold fewer than k rows (KG06 Def. 4.2).

U(t) is the largest count that a nonnegative integer table with the given marginals can put on the nonsensitive cell t.
A collection passes when no t has 0 < U(t) < k. For a decomposable one with one sensitive attribute C:

    U(t) = min( sum_s min_{i: C in E_i} T_Ei(t, s),  min_{j: C not in E_j} T_Ej(t) ).

Where cliques show C at several levels the inner part nests: what the cliques of a level allow for a value is at most
the sum of what the finer ones allow for its children. If k-link holds, only cliques with C can break k-combinatorial
anonymity, and only when there are two of them at least. Several sensitive attributes: see `several_sensitive`.
"""

from collections.abc import Collection as AnyCollection
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from checks.budget import FULL, Budget
from checks.classes.k_anonymity import k_link
from checks.combinatorial.minima import inside_minima, minimal_of_equal_support, outside_minima
from checks.combinatorial.programmed_bounds import by_programming
from checks.combinatorial.sensitive_groups import GroupTree, SensitiveGroup, sensitive_groups
from checks.combinatorial.several_sensitive import by_search as search_group
from checks.combinatorial.several_sensitive import of_group
from checks.finding import Algorithm, Finding, Verdict, WorstClass
from checks.maxent.sensitive_tree import SensitiveTree, class_source
from checks.maxent.vector_sets import TooManyVectorsError, work_up
from models.arrays import BoolArray, FloatArray, IndexArray
from models.errors import TimeOverError, TooManyCellsError
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


def by_search(tree: SensitiveTree, k: int, budget: int = FULL.cell_branches) -> Finding:
    """Look for a class combination with 0 < U < k, clique by clique, the smallest U first.

    A partial combination is dropped when its U is 0, or when no completion can bring it below k. Undecided when more than
    `budget` partial combinations would have to be looked at.
    """
    factors = slice_factors(tree, cap=float(k))
    arriving = inside_minima(tree, factors)
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
    outside = outside_minima(tree, factors)

    def safe(clique: int, vectors: FloatArray, block: IndexArray) -> BoolArray:
        return upper_bounds(tree, np.minimum(vectors, outside[clique][block])) >= k

    prune = partial(minimal_of_equal_support, deadline=tree.deadline)
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


def of_part(part: SensitiveTree | GroupTree, k: int, budget: Budget = FULL) -> Finding:
    """Whether the cliques of one group of sensitive attributes are k-combinatorially anonymous.

    Raises TimeOverError when the budget's deadline comes before the verdict.
    """
    return of_tree(part, k, budget) if isinstance(part, SensitiveTree) else of_group(part, k, budget)


def k_combinatorial(collection: Collection, sensitive: AnyCollection[str], k: int, budget: Budget = FULL) -> Finding:
    """Whether a collection is k-combinatorially anonymous.

    A decomposable one group by group of the sensitive attributes that are published together: by the closed form for one
    attribute, as `checks.combinatorial.several_sensitive` says for several. Without a junction tree by programming. One
    cell below k is shown where there is one, else the cell with the smallest count U. Undecided when none of these comes
    to an end within the budget. Raises TimeOverError when its deadline comes before a group is decided.
    """
    parameters = {"k": k}
    link = k_link(collection, sensitive, k)
    if not link.holds:
        return Finding("k-combinatorial", Verdict.FAILS, parameters, link.worst, (Algorithm.K_LINK,), link.examined)
    if not collection.is_decomposable:
        return by_programming(collection, sensitive, k, budget)
    groups = sensitive_groups(collection.domain, collection.junction_tree.cliques, sensitive)
    try:
        # Where every class has k rows, one clique cannot break it.
        parts = [tree_of_group(collection, group) for group in groups if len(group.cliques) > 1]
    except TooManyCellsError as error:
        return Finding("k-combinatorial", Verdict.UNDECIDED, parameters, None, (Algorithm.NONE,), 0, str(error))
    if not parts:
        return Finding("k-combinatorial", Verdict.HOLDS, parameters, link.worst, (Algorithm.K_LINK,), link.examined)
    holding: list[Finding] = []
    undecided: Finding | None = None
    for part in parts:
        finding = of_part(part, k, budget)
        if finding.verdict is Verdict.FAILS:
            return finding
        holding.append(finding)
        undecided = finding if finding.verdict is Verdict.UNDECIDED else undecided
    if undecided is not None:
        return undecided
    algorithms = dict.fromkeys(algorithm for finding in holding for algorithm in finding.algorithms)
    examined = sum(finding.examined for finding in holding)
    together = replace(holding[0], algorithms=tuple(algorithms), examined=examined)
    return _with_nearest(together, [part.until(budget.deadline) for part in parts], link, budget)


def tree_of_group(collection: Collection, group: SensitiveGroup) -> SensitiveTree | GroupTree:
    """The tree of a group of a decomposable collection. Raises TooManyCellsError where it is too large to be laid out."""
    if len(group.attributes) > 1:
        return GroupTree.of(collection.cube, group)
    (attribute,) = group.attributes
    return SensitiveTree.of(collection.junction_tree, attribute, class_source(collection.cube.table, attribute))


def _with_nearest(
    holding: Finding, parts: Sequence[SensitiveTree | GroupTree], link: Finding, budget: Budget
) -> Finding:
    """A claim that holds, with the cell nearest to failing: from the smallest class of k-link down, by search.

    budget: what it says of a proof are the partial combinations that may be looked at for it; the smallest one met is
    shown where it ends before.
    """
    nearest, examined = link, 0
    for part in parts:
        while (count := nearest.worst_class.count) is not None and count > holding.parameters["k"]:
            try:
                closer = _searched(part, count, replace(budget, cell_branches=budget.proof - examined))
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


def _searched(part: SensitiveTree | GroupTree, k: int, budget: Budget) -> Finding:
    if isinstance(part, SensitiveTree):
        return by_search(part, k, budget.cell_branches)
    return search_group(part, k, replace(budget, cell_programs=min(budget.cell_programs, _NEAREST_PROGRAMS)))


_NEAREST_PROGRAMS = 50
"""Programs, at most, of one search for a cell that is nearer to failing."""
