"""k-combinatorial anonymity where cliques show several sensitive attributes together.

Let t be a nonsensitive cell of a decomposable collection and u_E what T_E has in t, over the sensitive attributes of E. Then
U(t) is the largest sum of a table x of nonnegative whole numbers over the sensitive cells whose E-margin is at most u_E for
every clique E, a clique without sensitive attributes limiting the sum.

No table with these marginals has more in t: what it has there is such an x. And x can be had: place it on t. What it leaves
of each T_E is nonnegative, and neighbours still agree on their separator, for both have lost the same margin of x there.
Nonnegative tables of whole numbers that agree on the separators of a junction tree can be glued to one with all of them as
its marginals; with x it has the published ones.

So attributes that no clique shows together, nor by way of others, limit the sum each by itself: packings of the same sum in
two groups can be joined row by row. U(t) is the least over the groups and the cliques without any. Where it is positive for
the cliques of one group, some sensitive cell of theirs has a count everywhere, and goes on through the junction tree to a
cell of the whole in which each clique has a count. So a group with 0 < U < k in some cell breaks it for the whole
collection, and if each class has k rows nothing else can: groups are judged one by one.

One attribute has the closed form of `k_combinatorial`. Several are a packing (`models.programs.packing`): rows that fit
surely settle most cells, flows and integer programs the others. Linear programming alone would pass what fails: the cliques
{S, R, Q}, {X, S}, {Y, R}, {Z, Q} over two values each with the rows 000|000, 100|011, 011|101 and 111|110 of (XYZ|SRQ) have
U(000) = 1 and a linear optimum of 2.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from checks.budget import FULL, Budget
from checks.combinatorial.minima import inside_minima, minimal_of_equal_support, outside_minima
from checks.combinatorial.sensitive_groups import GroupTree
from checks.finding import Algorithm, Finding, Verdict, WorstClass
from checks.maxent.class_combinations import depth_first
from checks.maxent.vector_sets import TooManyVectorsError, work_up
from models.arrays import BoolArray, FloatArray, IndexArray
from models.programs.consistent_tables import WholeNumbers
from models.programs.packing import PackedRows

_FLOW = 50
"""Partial combinations that cost as much as one flow."""

_NUMBERS = 1 << 21
"""Limits that are looked at together."""


@dataclass
class _Judge:
    """Judges single cells exactly, and counts the work."""

    group: GroupTree
    k: int
    budget: Budget
    examined: int = 0
    programs: int = 0
    algorithms: dict[Algorithm, None] = field(default_factory=dict)
    undecided: WorstClass | None = None

    def spend(self, work: int) -> None:
        """Raise TooManyVectorsError where that is more than the budget has."""
        self.examined += work
        if self.examined > self.budget.cell_branches:
            raise TooManyVectorsError

    def failing(self, chosen: IndexArray, limits: FloatArray) -> WorstClass | None:
        """The first of some cells that some rows fit into, but fewer than k; what cannot be told is kept as undecided."""
        _, first = np.unique(limits, axis=0, return_index=True)
        for place in np.sort(first).tolist():
            self.group.deadline.check()
            rows = self._rows(limits[place], self.k)
            if rows.most < self.k:
                exactly = rows if rows.least == rows.most else self._rows(limits[place], rows.most)
                return self._described(chosen[place], _not_empty(exactly))
            if rows.least < self.k:
                self.undecided = self._described(chosen[place], _not_empty(rows))
        return None

    def _rows(self, limits: FloatArray, enough: int) -> PackedRows:
        is_flow = self.group.packing.chain is not None
        self.algorithms[Algorithm.MAXIMUM_FLOW if is_flow else Algorithm.INTEGER_PROGRAMMING] = None
        self.spend(_FLOW)
        left = self.programs < self.budget.cell_programs
        seconds = min(self.budget.seconds, self.group.deadline.left) if left else 0.0
        rows = self.group.packing.rows(limits, enough, WholeNumbers(seconds, self.budget.nodes))
        self.programs += rows.programs
        return rows

    def _described(self, combination: IndexArray, rows: PackedRows) -> WorstClass:
        worst = self.group.describe(combination.tolist())
        if rows.least == rows.most:
            return replace(worst, count=rows.most)
        return replace(worst, count_between=(rows.least, rows.most))

    def finding(self, algorithm: Algorithm, verdict: Verdict, worst: WorstClass | None = None) -> Finding:
        """What was found."""
        algorithms = (algorithm, *self.algorithms)
        if verdict is Verdict.HOLDS and self.undecided is not None:
            verdict, worst = Verdict.UNDECIDED, self.undecided
        return Finding("k-combinatorial", verdict, {"k": self.k}, worst, algorithms, self.examined)


def by_search(group: GroupTree, k: int, budget: Budget = FULL) -> Finding:
    """Look for a class combination with 0 < U < k, clique by clique, those into which the fewest rows fit surely first.

    A partial combination is dropped when no row fits, or when k rows fit whatever completes it. Undecided when it would
    take more work than the budget has.
    """
    factors, packing = group.limits(float(k)), group.packing
    arriving = inside_minima(group, factors)
    judge = _Judge(group, k, budget)

    def screen(chosen: IndexArray, limits: FloatArray) -> IndexArray:
        judge.spend(len(chosen))
        lowest = limits
        for clique in range(chosen.shape[1], len(factors)):
            parent = group.tree.parents[clique]
            if parent < chosen.shape[1]:
                lowest = np.minimum(lowest, arriving[clique][group.outward[clique][chosen[:, parent]]])
        screened = packing.screened(lowest, float(k))
        possible = screened.possible if lowest is limits else packing.screened(limits, 0.0).possible
        open_ones = np.flatnonzero(possible & (screened.surely < k))
        return np.asarray(open_ones[np.argsort(screened.surely[open_ones], kind="stable")], dtype=np.intp)

    block = max(_NUMBERS // max(packing.width, packing.joint_cells), 16)
    try:
        for chosen, limits in depth_first(group, factors, np.minimum, screen, block):
            if (worst := judge.failing(chosen, limits)) is not None:
                return judge.finding(Algorithm.BRANCH_AND_BOUND, Verdict.FAILS, worst)
    except TooManyVectorsError:
        return judge.finding(Algorithm.BRANCH_AND_BOUND, Verdict.UNDECIDED, judge.undecided)
    return judge.finding(Algorithm.BRANCH_AND_BOUND, Verdict.HOLDS)


def by_vector_sets(group: GroupTree, k: int, budget: Budget = FULL) -> Finding:
    """Limits, capped at k, worked up the tree, never the join; of those with the same support only the smallest are kept.

    Dropped is what no row fits into, and what k rows fit into whatever the rest of the tree leaves. Undecided when it
    would take more work than the budget has.
    """
    factors, packing = group.limits(float(k)), group.packing
    outside = outside_minima(group, factors)
    judge = _Judge(group, k, budget)

    def safe(clique: int, limits: FloatArray, block: IndexArray) -> BoolArray:
        return np.asarray(packing.screened(np.minimum(limits, outside[clique][block]), float(k)).surely >= k)

    def prune(limits: FloatArray, block: IndexArray) -> IndexArray:
        possible = np.flatnonzero(packing.screened(limits, 0.0).possible)
        kept = minimal_of_equal_support(limits[possible], block[possible], group.deadline)
        return np.asarray(possible[kept], dtype=np.intp)

    try:
        worked_up = work_up(group, factors, np.minimum, prune, safe, budget.cell_vectors)
        screened = packing.screened(worked_up.vectors, float(k))
        left = np.flatnonzero(screened.possible & (screened.surely < k))
        worst = judge.failing(worked_up.chosen[left], worked_up.vectors[left])
    except TooManyVectorsError:
        return judge.finding(Algorithm.VECTOR_SETS, Verdict.UNDECIDED, judge.undecided)
    judge.examined += worked_up.examined
    return judge.finding(Algorithm.VECTOR_SETS, Verdict.HOLDS if worst is None else Verdict.FAILS, worst)


def of_group(group: GroupTree, k: int, budget: Budget = FULL) -> Finding:
    """Whether the cliques of a group are k-combinatorially anonymous, by search, then by vector sets.

    Raises TimeOverError when the budget's deadline comes before the verdict.
    """
    group = group.until(budget.deadline)
    finding = by_search(group, k, budget)
    if finding.verdict is not Verdict.UNDECIDED:
        return finding
    again = by_vector_sets(group, k, budget)
    return finding if again.verdict is Verdict.UNDECIDED else again


def _not_empty(rows: PackedRows) -> PackedRows:
    """With one row at least, where some row is known to fit."""
    return rows._replace(least=max(rows.least, 1))
