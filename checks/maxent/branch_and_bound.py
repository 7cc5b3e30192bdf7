"""Branch and bound for maxent diversity: exact over joins of any size.

First the bounds: for every way of violating the criterion (`HasCuts`), one min-sum pass along the tree
bounds what all class combinations can reach. Usually that excludes every case, and nothing is enumerated. The
combinations at which the minima are taken are looked at on the way, and one of them is usually a witness where there is
one. For the cases that remain, combinations are built up clique by clique, most dangerous first; a partial one is dropped
when no remaining case is possible for any of its completions. Where that takes long, cases of the entropy are taken
apart first (see below). Afterwards the same search, with the worst value found so far as the bound, finds the
worst class itself, or says that it was not proven to be the worst.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import e, log
from typing import TypeAlias

import numpy as np

from checks.diversity.criterion import (
    BOUNDARY,
    ROUNDING,
    ZERO_LOG,
    Cases,
    Cuts,
    Diversity,
    RatioBounds,
    cuts,
    loosened_to,
    violations,
)
from checks.diversity.cuts import EntropyCases, lower_lambert
from checks.finding import FULL, Budget, Verdict, verdict_of
from checks.maxent.sensitive_tree import LogTree, Outcome, SensitiveTree
from models.arrays import BoolArray, FloatArray, IndexArray
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
        remains = best_gap <= 0
        if not remains.any():
            return None
        cases, best, best_gap, weights = cases.kept(remains), best[:, remains], best_gap[remains], weights[:, remains]
        forms = tried.coefficients[:, remains]
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
        target = cases.targets[position % len(cases.targets)](x.T)
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
    if worst.fails or not isinstance(cases, EntropyCases):
        return screened

    def look_at(combinations: IndexArray, x: FloatArray) -> bool:
        worst.look_at(combinations, x)
        return worst.fails

    is_open = surviving(log_tree, cases, look_at, boxes)
    return (cases.kept(is_open), cut.kept(is_open)) if is_open.any() else None


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
    all_cases = violations(diversity, bounds)
    if all_cases is None:
        return None
    worst = _Worst(tree, diversity)
    worst.look_at(*_first(log_tree))
    rounds = min(_ROUNDS, budget.screened // max(_size(log_tree, sum(len(c.heads) for c in all_cases)), 1))
    if not rounds:
        return _undecided(worst)
    screened = (_screen(log_tree, c, worst, rounds, witness_is_enough=True) for c in all_cases if len(c.heads))
    remaining = [cases for cases in screened if cases]
    decided = worst.fails or _search(log_tree, remaining, worst, budget, min(budget.branches, budget.first_branches))
    if not decided:
        apart = [_taken_apart(log_tree, cases, worst, budget.boxes) for cases in remaining]
        # The same search once more, of the same cases, would end as the first one did.
        if budget.branches > budget.first_branches or any(new is not old for new, old in zip(apart, remaining)):
            decided = _search(log_tree, [cases for cases in apart if cases], worst, budget, budget.branches)
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
        cases = None if level is None else violations(level, bounds)
        if cases is None:
            return False
        if _size(log_tree, sum(len(c.heads) for c in cases)) > _PROOF_WORK:
            return False
        before = worst.slack
        screened = (_screen(log_tree, c, worst, _PROOF_ROUNDS, witness_is_enough=False) for c in cases if len(c.heads))
        remaining = [open_case[1] for open_case in screened if open_case]
        if not remaining:
            return True
        if worst.slack > before - BOUNDARY:
            break
    return _enumerate(log_tree, remaining, worst, budget.proof, witness_is_enough=False)


# Boxes: an entropy case taken apart into pieces, until a linear cut excludes each of them (spatial branch and bound).
#
# A box is a head h and an interval for each log-ratio y_s = x_s - x_h. With Z = sum e^y_s and g = sum e^y_s (y_s + ln
# l), the head's y = 0 included, the entropy is at most ln l iff g >= Z ln Z. Two convex sets hold every (y, g, Z) of a
# combination in the box that violates the criterion:
#
#     A = the hull of y(t) over all combinations t, times {(g, Z): g >= Z ln Z}
#     B = the hull of (y, g(y), Z(y)) over all y of the box.
#
# So a direction (w, n, -u), n > 0, in which all of A is beyond all of B excludes the box. The extreme points of A in a
# direction come from one min-sum pass and Z = e^(u/n - 1), those of B from each value alone. Directions are those
# between the nearest points of the hulls of the extreme points found so far (Gilbert, Johnson, Keerthi 1988). Where
# these touch, the box is halved: e^y (y + ln l) - (u/n) e^y is concave while the share is below 1/(e l) and convex
# above, and only the convex part keeps a set from being its hull. Directions are proposals: `box_cut` makes a sound
# cut of any of them.


_STEPS = 40
"""Directions that are tried on a box."""

_TOUCHING = 1e-2
"""Hulls that come so near are taken to touch."""

_STRETCH = 3.0
"""How much g and Z count in distances, in units of y."""

_UNIT = 1e3
"""How much a sum of shares other than 1 counts in distances."""

_BEYOND = 0.5
"""How far above the inflection a box is halved, so that the upper half has something to lose."""

_NARROW, _WIDE = 0.05, 4.0
"""Intervals that are not worth halving; those of which only the upper part is."""

LookAt = Callable[[IndexArray, FloatArray], bool]
"""From complete combinations and their log-vectors to whether the search may end."""


@dataclass(frozen=True, eq=False)
class Box:
    """Log-ratios to a head between two bounds, with extreme points of A and B to begin with.

    low, high: shape (values,), 0 at the head. outer: lifted points of A, shape (points, values + 2). inner: points y of
    the box, shape (points, values).
    """

    head: int
    low: FloatArray
    high: FloatArray
    outer: FloatArray
    inner: FloatArray

    def halves(self, value: int, at: float) -> "tuple[Box, Box]":
        """The box up to a log-ratio of one value and from there on."""
        chosen = np.arange(len(self.low)) == value
        return replace(self, high=np.where(chosen, at, self.high)), replace(self, low=np.where(chosen, at, self.low))


@dataclass(frozen=True, eq=False)
class BoxCut:
    """weights . y <= bound for every violation in a box. weights: shape (values,), of size 1 or less.

    extreme: the y that is furthest in that direction of B. total: the Z of the least point of A.
    """

    weights: FloatArray
    bound: float
    extreme: FloatArray
    total: float

    def coefficients(self, head: int) -> FloatArray:
        """What to multiply x by."""
        form = self.weights.copy()
        form[head] = 0
        form[head] = -form.sum()
        return form


@dataclass(frozen=True, eq=False)
class _Contact:
    """What the search for a direction came to: the box with all extreme points found.

    shares: of the inner points in the point of B nearest to A. combinations: those that were extreme.
    """

    box: Box
    excluded: bool
    shares: FloatArray
    combinations: IndexArray


def surviving(log_tree: LogTree, cases: EntropyCases, look_at: LookAt, budget: int = FULL.boxes) -> BoolArray:
    """Take cases apart into boxes; which of them have boxes that were not excluded, shape (cases,).

    look_at sees the combinations that are met on the way. At most about `budget` boxes are looked at; a case with a box
    that was not survives, as does every case that has a violation.
    """
    log_effective = log(cases.effective)
    survives = np.zeros(len(cases.heads), dtype=bool)
    pending = deque(enumerate(roots(log_tree, cases)))
    for _ in range(budget):
        if not pending:
            break
        case, box = pending.popleft()
        if survives[case]:
            continue
        contact = _contact(log_tree, box, log_effective)
        if look_at(contact.combinations, log_tree.vectors(contact.combinations)):
            return np.ones(len(survives), dtype=bool)
        if not contact.excluded:
            halves = _halves(contact, log_effective)
            survives[case] = not halves
            pending.extend((case, half) for half in halves)
    survives[[case for case, _ in pending]] = True
    return survives


def roots(log_tree: LogTree, cases: EntropyCases) -> list[Box]:
    """A box for each case, around the combination in which the head is ahead of all others the most.

    A value that can vanish may do so in each clique, which the floor of the case does not tell.
    """
    heads = cases.heads
    forms = np.ones((len(cases.floor), len(heads)))
    forms[heads, np.arange(len(heads))] = 1 - len(forms)
    x = log_tree.vectors(log_tree.minimizers(forms))
    lowest = np.where(cases.floor > ZERO_LOG / 2, cases.floor, ZERO_LOG * len(log_tree.x))
    return [
        Box(head, low, high, _outer(x[i] - x[i, head], 2.0)[None], low[None])
        for i, (head, low, high) in enumerate(zip(heads.tolist(), lowest.T, cases.ceiling.T))
    ]


def _outer(y: FloatArray, total: float) -> FloatArray:
    """An extreme point of A, stretched."""
    return np.append(y, [_STRETCH * total * log(total), _STRETCH * total])


def _lifted(y: FloatArray, log_effective: float) -> FloatArray:
    """(y, g, Z), stretched, for each row."""
    g, total = (np.exp(y) * (y + log_effective)).sum(axis=1), np.exp(y).sum(axis=1)
    return np.column_stack((y, _STRETCH * g, _STRETCH * total))


def _contact(log_tree: LogTree, box: Box, log_effective: float) -> _Contact:
    """Look for a direction that separates A from B, between the nearest points of what is known of them."""
    outer, inner = box.outer, np.clip(box.inner, box.low, box.high)
    # Where a value can vanish no weight is of use, and its logarithms would drown the others.
    useful = np.append(box.low > ZERO_LOG / 2, [True, True])
    excluded = False
    met: list[IndexArray] = []
    for step in range(_STEPS):
        direction, outer_shares, shares = _nearest(outer * useful, _lifted(inner, log_effective) * useful)
        if step and np.linalg.norm(direction) < _TOUCHING:
            break
        cut = box_cut(box, log_effective, direction)
        form = cut.coefficients(box.head)
        met.append(log_tree.minimizers(form[:, None])[0])
        x = log_tree.vectors(met[-1][None])[0]
        if excluded := float(form @ x) - cut.bound > ROUNDING:
            break
        outer = np.vstack((outer, _outer(x - x[box.head], cut.total)))
        inner = np.vstack((inner, cut.extreme))
    near, positive = np.flatnonzero(outer_shares), np.flatnonzero(shares > 1e-9)
    box = replace(box, outer=outer[near], inner=inner[positive])
    return _Contact(box, excluded, shares[positive], np.array(met))


def _nearest(outer: FloatArray, inner: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """From the nearest point of the hull of inner to that of outer, which extends to any larger g; and their shares.

    No direction where the least squares do not end.
    """
    from scipy.optimize import nnls

    size, outside = inner.shape[1], len(outer)
    points = np.concatenate((outer, -inner, np.eye(size)[[-2]])).T
    sums = np.zeros((2, points.shape[1]))
    sums[0, :outside] = sums[1, outside:-1] = _UNIT
    try:
        shares, _ = nnls(np.vstack((points, sums)), np.append(np.zeros(size), [_UNIT, _UNIT]), maxiter=100 * size)
    except RuntimeError:
        return np.zeros(size), np.ones(outside), np.full(len(inner), 1 / len(inner))
    of_inner = np.maximum(shares[outside:-1], 1e-12)
    return points @ shares, shares[:outside], of_inner / of_inner.sum()


def box_cut(box: Box, log_effective: float, direction: FloatArray) -> BoxCut:
    """The cut of a box in a direction (w, n, -n m) of the lifted space, shape (values + 2,), not loosened for rounding.

    For y in the box with entropy at most log_effective: g - m Z >= Z ln Z - m Z >= -e^(m-1), whatever m. So w . y is at
    most w . y + n (g - m Z) + n e^(m-1) for n > 0, a sum over the values. Each term is largest at an end of its interval
    or, with w > 0, where its slope is 0 on its concave part, at the lower branch of Lambert's W; before that it rises.
    """
    w, n = direction[:-2], max(direction[-2] * _STRETCH, 0.0)
    scale = max(float(np.abs(w).sum() + n), 1e-12)
    w, n = w / scale, max(n / scale, 1e-3)
    m = float(np.clip(-direction[-1] * _STRETCH / scale / n, -1, 3 + log(len(w))))
    shift = log_effective - m
    argument = np.maximum(-(w / n) * np.exp(shift + 1), -1 / e)
    stationary = np.where(w > 0, lower_lambert(argument) - 1 - shift, box.low)
    places = np.stack((np.clip(stationary, box.low, box.high), box.high))
    terms = w * places + n * np.exp(places) * (places + shift)
    best, values = terms.argmax(axis=0), np.arange(len(w))
    bound = float(terms[best, values].sum() + n * np.exp(m - 1))
    return BoxCut(w, bound, places[best, values], float(np.exp(m - 1)))


def _halves(contact: _Contact, log_effective: float) -> tuple[Box, ...]:
    """The halves of a box at the value whose term is furthest above itself at the contact; none where all are concave."""
    box, shares = contact.box, contact.shares
    middle = shares @ box.inner
    m = 1 + log(shares @ np.exp(box.inner).sum(axis=1))
    inflection = m - 2 - log_effective

    def term(y: FloatArray) -> FloatArray:
        return np.asarray(np.exp(y) * (y + log_effective - m), dtype=np.float64)

    width = box.high - box.low
    worthwhile = (box.high > inflection) & (width > _NARROW)
    if not worthwhile.any():
        return ()
    value = int(np.where(worthwhile, shares @ term(box.inner) - term(middle), -np.inf).argmax())
    low, high, span = box.low[value], box.high[value], min(width[value], _WIDE)
    at = inflection + _BEYOND
    if not low + 0.2 < at < high - 0.2:
        at = float(np.clip(middle[value], high - 0.8 * span, high - 0.2 * span))
    return box.halves(value, at)
