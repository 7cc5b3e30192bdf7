"""Boxes: an entropy case taken apart into pieces, until a linear cut excludes each of them (spatial branch and bound).

A box is a head h and an interval for each log-ratio y_s = x_s - x_h. With Z = sum e^y_s and g = sum e^y_s (y_s + ln l),
the head's y = 0 included, the entropy is at most ln l iff g >= Z ln Z. Two convex sets hold every (y, g, Z) of a
combination in the box that violates the criterion:

    A = the hull of y(t) over all combinations t, times {(g, Z): g >= Z ln Z}
    B = the hull of (y, g(y), Z(y)) over all y of the box.

So a direction (w, n, -u), n > 0, in which all of A is beyond all of B excludes the box. The extreme points of A in a
direction come from one min-sum pass and Z = e^(u/n - 1), those of B from each value alone. Directions are those between
the nearest points of the hulls of the extreme points found so far (Gilbert, Johnson, Keerthi 1988). Where these touch,
the box is halved: e^y (y + ln l) - (u/n) e^y is concave while the share is below 1/(e l) and convex above, and only the
convex part keeps a set from being its hull. Directions are proposals: `box_cut` makes a sound cut of any of them.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import e, log

import numpy as np

from checks.budget import FULL
from checks.diversity.violations.cases import ROUNDING, ZERO_LOG, EntropyBound
from checks.diversity.violations.entropy_cases import lower_lambert
from checks.maxent.log_tree import LogTree
from models.arrays import BoolArray, FloatArray, IndexArray

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
    """What the search for a direction came to: the box with all extreme points found, the cut that came nearest.

    shares: of the inner points in the point of B nearest to A. combinations: those that were extreme.
    """

    box: Box
    cut: BoxCut
    excluded: bool
    shares: FloatArray
    combinations: IndexArray


def surviving(log_tree: LogTree, cases: EntropyBound, look_at: LookAt, budget: int = FULL.boxes) -> BoolArray:
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


def roots(log_tree: LogTree, cases: EntropyBound) -> list[Box]:
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
    tried: list[tuple[float, BoxCut]] = []
    met: list[IndexArray] = []
    for step in range(_STEPS):
        direction, outer_shares, shares = _nearest(outer * useful, _lifted(inner, log_effective) * useful)
        if step and np.linalg.norm(direction) < _TOUCHING:
            break
        cut = box_cut(box, log_effective, direction)
        form = cut.coefficients(box.head)
        met.append(log_tree.minimizers(form[:, None])[0])
        x = log_tree.vectors(met[-1][None])[0]
        tried.append((float(form @ x) - cut.bound, cut))
        if tried[-1][0] > ROUNDING:
            break
        outer = np.vstack((outer, _outer(x - x[box.head], cut.total)))
        inner = np.vstack((inner, cut.extreme))
    gap, best = max(tried, key=lambda attempt: attempt[0])
    near, positive = np.flatnonzero(outer_shares), np.flatnonzero(shares > 1e-9)
    box = replace(box, outer=outer[near], inner=inner[positive])
    return _Contact(box, best, gap > ROUNDING, shares[positive], np.array(met))


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
