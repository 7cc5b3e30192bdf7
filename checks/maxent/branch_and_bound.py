"""Branch and bound for maxent diversity: exact over joins of any size.

First the bounds: for every way of violating the criterion (`Diversity.violations`), one min-sum pass along the tree
bounds what all class combinations can reach. Usually that excludes every case, and nothing is enumerated. The
combinations at which the minima are taken are looked at on the way, and one of them is usually a witness where there is
one. For the cases that remain, combinations are built up clique by clique, most dangerous first; a partial one is dropped
when no remaining case is possible for any of its completions. Where that takes long, cases of the entropy are taken
apart first (`entropy_boxes`). Afterwards the same search, with the worst value found so far as the bound, finds the
worst class itself, or says that it was not proven to be the worst.
"""

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from checks.budget import FULL, Budget
from checks.diversity.criterion import BOUNDARY, Diversity, loosened_to
from checks.diversity.violations.cases import ZERO_LOG, Cases, Cuts, RatioBounds, cuts
from checks.finding import Verdict, verdict_of
from checks.maxent.entropy_boxes import surviving
from checks.maxent.log_tree import LogTree
from checks.maxent.outcome import Outcome
from checks.maxent.sensitive_tree import SensitiveTree
from models.arrays import FloatArray, IndexArray
from models.errors import TimeOverError

_ROUNDS, _PROOF_ROUNDS, _DESCENTS = 12, 2, 2
_LIKELY = 32
"""Cases, the likeliest first, whose minimizers are looked at before those of all others."""

_PROOF_WORK = 2_000_000
"""Cases times classes beyond which the worst combination is not proven."""

_COMPLETE = 28
"""Partial combinations that cost as much time as judging a complete one, measured."""

_BLOCK, _FORMS = 1 << 14, 16
"""Partial combinations taken at a time, for so many cuts; with more cuts fewer, and each counts for more."""


_Screened: TypeAlias = tuple[Cases, Cuts]
"""Cases that their cuts do not exclude, and these cuts."""


@dataclass(eq=False)
class _Worst:
    """The class combination with the smallest slack so far, and whether any was found to violate the criterion."""

    tree: SensitiveTree
    diversity: Diversity
    slack: float = np.inf
    combination: tuple[int, ...] | None = None
    fails: bool = False
    examined: int = 0
    _known: set[tuple[int, ...]] = field(default_factory=set)

    def look_at(self, combinations: IndexArray, x: FloatArray) -> None:
        """Judge complete combinations, exactly where floating point cannot. x: their log-vectors, shape (n, values)."""
        largest = x.max(axis=1, keepdims=True)
        alive = largest[:, 0] > ZERO_LOG / 2
        if not alive.any():
            return
        if not alive.all():
            combinations, x, largest = combinations[alive], x[alive], largest[alive]
        vectors = np.where(x > ZERO_LOG / 2, np.exp(x - largest), 0.0)
        slack = self.diversity.slack(vectors)
        self.examined += len(slack)
        self.fails = self.fails or bool(np.any(slack < -BOUNDARY))
        for position in np.flatnonzero(np.abs(slack) <= BOUNDARY):
            combination = tuple(combinations[position].tolist())
            if not self.fails and combination not in self._known:
                self._known.add(combination)
                self.fails = not self.diversity.decide(self.tree.exact_vector(combination))
        lowest = int(slack.argmin())
        if self.combination is None or slack[lowest] < self.slack:
            self.slack, self.combination = float(slack[lowest]), tuple(combinations[lowest].tolist())


def _screen(
    log_tree: LogTree, cases: Cases, worst: _Worst, rounds: int, *, witness_is_enough: bool
) -> _Screened | None:
    """Exclude cases by their best cuts, looking at the minimizers on the way; what is left, or None."""
    weights = cases.support / np.maximum(cases.support.sum(axis=0), 1)
    best, best_gap = weights, np.full(len(cases.heads), -np.inf)
    for position in range(rounds):
        tried = cuts(cases, weights)
        gap = log_tree.minima(tried.coefficients) - tried.bounds
        better = gap > best_gap
        best, best_gap = np.where(better, weights, best), np.where(better, gap, best_gap)
        left = best_gap <= 0
        if not left.any():
            return None
        cases, best, best_gap, weights = cases.kept(left), best[:, left], best_gap[left], weights[:, left]
        forms = tried.coefficients[:, left]
        if witness_is_enough:
            likely = log_tree.minimizers(forms[:, np.argsort(best_gap, kind="stable")[:_LIKELY]])
            worst.look_at(likely, log_tree.vectors(likely))
            if worst.fails:
                break
        chosen = log_tree.minimizers(forms)
        x = log_tree.vectors(chosen)
        worst.look_at(chosen, x)
        if worst.fails and witness_is_enough:
            break
        target = cases.target(x.T, position)
        total = target.sum(axis=0)
        step = 2 / (position + 2) if position else 1.0
        with np.errstate(divide="ignore", invalid="ignore"):
            mixed = (1 - step) * best + step * target / total
        weights = np.where(total > 0, mixed, best)
    return cases, cuts(cases, best)


def _search(log_tree: LogTree, screened: list[_Screened], worst: _Worst, budget: Budget, branches: int) -> bool:
    """Look for a violation by the cases that are left; False when the budget ends before there is an answer."""
    cuts_left = [cut for _, cut in screened]
    if worst.fails or not screened:
        return True
    if _size(log_tree, sum(len(cut.bounds) for cut in cuts_left)) > budget.screened:
        return False
    return _enumerate(log_tree, cuts_left, worst, branches, witness_is_enough=True) or worst.fails


def _taken_apart(log_tree: LogTree, screened: _Screened, worst: _Worst, boxes: int) -> _Screened | None:
    """What is left after boxes: of the entropy, whose violations are not convex, often nothing; others as they are."""
    cases, cut = screened
    entropy_bound = cases.entropy_bound
    if worst.fails or entropy_bound is None:
        return screened

    def look_at(combinations: IndexArray, x: FloatArray) -> bool:
        worst.look_at(combinations, x)
        return worst.fails

    left = surviving(log_tree, entropy_bound, look_at, boxes)
    return (cases.kept(left), cut.kept(left)) if left.any() else None


def _enumerate(log_tree: LogTree, remaining: list[Cuts], worst: _Worst, budget: int, witness_is_enough: bool) -> bool:
    """Look at every combination that the cuts do not exclude, most dangerous first; False when the budget ends."""
    tree = log_tree.tree
    coefficients = np.concatenate([part.coefficients for part in remaining], axis=1)
    bounds = np.concatenate([part.bounds for part in remaining])
    arriving = log_tree.messages(coefficients)
    forms, looked_at = len(bounds), 0
    block = max(_BLOCK * _FORMS // max(forms, _FORMS), 64)

    def screen(chosen: IndexArray, sums: FloatArray) -> IndexArray:
        nonlocal looked_at
        looked_at += len(chosen) * max(forms // _FORMS, 1)
        if looked_at > budget:
            raise _BudgetSpentError
        ahead = sums - bounds
        for clique in range(chosen.shape[1], len(log_tree.x)):
            parent = tree.tree.parents[clique]
            if parent < chosen.shape[1]:
                ahead += arriving[clique][tree.outward[clique][chosen[:, parent]]]
        danger = ahead.min(axis=1)
        possible = np.flatnonzero(danger <= 0)
        return np.asarray(possible[np.argsort(danger[possible], kind="stable")], dtype=np.intp)

    try:
        for chosen, _ in tree.depth_first([x @ coefficients for x in log_tree.x], np.add, screen, block):
            looked_at += _COMPLETE * len(chosen)
            worst.look_at(chosen, log_tree.vectors(chosen))
            if worst.fails and witness_is_enough:
                return True
    except _BudgetSpentError:
        return False
    return True


class _BudgetSpentError(Exception):
    """As many partial combinations as allowed were looked at."""


def branch_and_bound(tree: SensitiveTree, diversity: Diversity, budget: Budget = FULL) -> Outcome | None:
    """Decide a criterion whose violations have cuts; None for another criterion. Undecided when the budget ends."""
    log_tree = LogTree(tree)
    bounds = log_tree.ratio_bounds()
    all_cases = diversity.violations(bounds)
    if all_cases is None:
        return None
    worst = _Worst(tree, diversity)
    worst.look_at(*_first(log_tree))
    rounds = min(_ROUNDS, budget.screened // max(_size(log_tree, sum(len(c.heads) for c in all_cases)), 1))
    if not rounds:
        return _undecided(worst)
    screened = (_screen(log_tree, c, worst, rounds, witness_is_enough=True) for c in all_cases if len(c.heads))
    remaining = [left for left in screened if left]
    decided = worst.fails or _search(log_tree, remaining, worst, budget, min(budget.branches, budget.first_branches))
    if not decided:
        apart = [_taken_apart(log_tree, left, worst, budget.boxes) for left in remaining]
        # The same search once more, of the same cases, would end as the first one did.
        if budget.branches > budget.first_branches or any(new is not old for new, old in zip(apart, remaining)):
            decided = _search(log_tree, [left for left in apart if left], worst, budget, budget.branches)
    if not decided:
        return _undecided(worst)
    try:
        proven = _prove_worst(log_tree, bounds, worst, budget) if budget.proof else False
    except TimeOverError:
        proven = False
    return Outcome(verdict_of(not worst.fails), worst.combination, worst.examined, proven)


def _undecided(worst: _Worst) -> Outcome:
    """The outcome when the budget ends; a violation that was met on the way is one."""
    verdict = Verdict.FAILS if worst.fails else Verdict.UNDECIDED
    return Outcome(verdict, worst.combination, worst.examined, proven_worst=False)


def _size(log_tree: LogTree, forms: int) -> int:
    """Classes that a pass with so many linear forms looks at, each form for itself."""
    return forms * sum(map(len, log_tree.x))


def _first(log_tree: LogTree) -> tuple[IndexArray, FloatArray]:
    """For each value a combination in which it is most likely present, so that something is known of every table."""
    coefficients = -np.eye(log_tree.x[0].shape[1])
    chosen = log_tree.minimizers(coefficients)
    return chosen, log_tree.vectors(chosen)


def _prove_worst(log_tree: LogTree, bounds: RatioBounds, worst: _Worst, budget: Budget) -> bool:
    """Look for combinations worse than the worst found; True when the search ends, so that none is."""
    remaining: list[Cuts] = []
    for _ in range(_DESCENTS):
        if worst.slack <= -1:
            return True
        level = loosened_to(worst.diversity, worst.slack)
        cases = None if level is None else level.violations(bounds)
        if cases is None:
            return False
        if _size(log_tree, sum(len(c.heads) for c in cases)) > _PROOF_WORK:
            return False
        before = worst.slack
        screened = (_screen(log_tree, c, worst, _PROOF_ROUNDS, witness_is_enough=False) for c in cases if len(c.heads))
        remaining = [left[1] for left in screened if left]
        if not remaining:
            return True
        if worst.slack > before - BOUNDARY:
            break
    return _enumerate(log_tree, remaining, worst, budget.proof, witness_is_enough=False)
