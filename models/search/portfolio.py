"""A portfolio: several searches in turn, each going on from the best so far, until none makes it better.

No strategy is the best on every table, so they are combined (Gomes and Selman, Artificial Intelligence 126, 2001): forward
searches to begin with, in a small lattice exact search, which may prove that nothing is better, then single removals with
restarts, pairs of attributes joined and taken apart, and rebuilding, each until it finds nothing better, by the divergence
alone, by twice the price, by the objective, and by way of the divergence again; at the end exact search again, for longer.
What the divergence alone came to is the runner-up: it can be the better one for pairs of attributes, which
`cross_validation` tells. What twice the price came to can be the best once edges that chance explains are taken away. How
much each may do follows from what was looked at before, and how much all may do from the number of attributes, not from a
clock, so a search that is not stopped ends the same on every machine. `local_search` says what it is better at.
"""

from collections.abc import Callable, Iterator, Sequence
from collections.abc import Collection as AnyCollection
from dataclasses import dataclass, replace
from itertools import cycle
from math import inf

from models.errors import NothingAllowedError
from models.search.chance import by_divergence, priced, settled, stalls_by_price
from models.search.exact import exact, proven_or_better
from models.search.greedy import Preference, Prospects, backward, both, by_gain, forward, from_both, polished
from models.search.lower_bound import LARGEST_LATTICE, lattice_size
from models.search.problem import (
    KL,
    LEAST_GAIN,
    Constraint,
    PenalizedDivergence,
    Problem,
    PruningConstraint,
    Refusal,
    SearchResult,
    Stop,
    pruning,
)
from models.search.variable_depth import by_pairs, by_reinsertion
from models.tables.data_cube import DOUBTFUL
from models.tables.hierarchy import Mask

_LEAST_WORK = 200_000
"""Extensions of collections that exact search may look at, however little was looked at before."""

_WORK = 200
"""And for each collection that was looked at before."""

_SMALL = 1 << 12
"""Margins of a lattice that exact search goes through first, and in which attributes are also reinserted."""

_WORTH = 1e-4
"""Share of the objective by which a large lattice must be better for all stages to be gone through once more."""

_FEW = 20_000
"""Collections that were looked at, up to which the stages are gone through by way of the divergence, too."""

_MOST = 30_000
"""Work of a search where the lattice is not small: a collection that is looked at is one, and _VERDICT where its margins
are judged for the first time. Forward searches begin while half of it is left."""

_OF_A_PAIR = 60
"""And for each two attributes, where that is more."""

_VERDICT = 10
"""Collections that are known, in the time of one whose margins were never judged together."""

_Stage = Callable[[SearchResult, Problem, Stop], SearchResult]


class _Counted(PruningConstraint):
    """A constraint, and the work of what it was asked."""

    def __init__(self, constraint: Constraint) -> None:
        self._constraint = pruning(constraint)
        self._jointly = self._constraint.jointly_judged
        self._judged: set[frozenset[Mask]] = set()
        self.work = 0

    def __call__(self, cliques: AnyCollection[Mask], new: Mask, /) -> Refusal | None:
        judged = frozenset([clique for clique in cliques if clique & self._jointly])
        self.work += 1 if judged in self._judged else _VERDICT
        self._judged.add(judged)
        return self._constraint(cliques, new)

    @property
    def pivot(self) -> Mask:
        return self._constraint.pivot

    @property
    def jointly_judged(self) -> Mask:
        return self._constraint.jointly_judged

    def of_margin(self, margin: Mask) -> Refusal | None:
        return self._constraint.of_margin(margin)


@dataclass(frozen=True, eq=False)
class _Work:
    """How much of a search is done; after `most` it ends.

    stop: says that it is to end sooner.
    """

    constraint: _Counted
    most: float
    stop: Stop

    @classmethod
    def of(cls, problem: Problem, stop: Stop) -> "_Work":
        """Of a small lattice as much as it takes."""
        attributes = len(problem.cube.domain.attributes)
        most = max(_MOST, _OF_A_PAIR * (attributes * (attributes - 1) // 2))
        return cls(_Counted(problem.constraint), inf if lattice_size(problem) <= _SMALL else most, stop)

    def __call__(self) -> bool:
        """Whether a search is to end."""
        return self.constraint.work >= self.most or self.stop()

    @property
    def is_half_done(self) -> bool:
        """Whether no other search begins."""
        return self.constraint.work >= self.most / 2 or self.stop()

    @property
    def aside(self) -> "_Work":
        """That of a search beside, which may do half of it from here."""
        return replace(self, most=self.constraint.work + self.most / 2)

    def after(self, aside: int) -> "_Work":
        """All of it, with what was done beside."""
        return replace(self, most=self.most + aside)


def portfolio(problem: Problem, stop: Stop, initial: SearchResult | None = None) -> SearchResult:
    """The best collection of all; the same for the same problem unless stopped.

    initial: what another search has found, from which this one goes on; by default the best of several forward searches.
    It goes by the objective, ties by what comes first. Its runner-up is what the divergence alone came to, and `dearer` what
    twice the price came to, each settled, where it was looked for and is another. An objective that is a stopping rule only
    has no best collection; then the search in both directions is all. Raises NothingAllowedError where no search finds
    anything that is allowed.
    """
    if not isinstance(problem.objective, PenalizedDivergence):
        return replace(both(problem, stop), strategy="auto")
    work = _Work.of(problem, stop)
    counted = replace(problem, constraint=work.constraint)
    best = _begun(counted, work) if initial is None else initial
    if best is None:
        return replace(exact(problem, stop), strategy="auto")
    stages: list[_Stage] = [_restarted, by_pairs, polished]
    if lattice_size(problem) <= _SMALL:
        stages.append(by_reinsertion)
        best = _proven(best, problem, stop)
    others: list[SearchResult] = []
    for judge in (replace(counted, objective=KL), priced(counted, DOUBTFUL)):
        before = work.constraint.work
        other = None if initial is not None or best.optimal else _from_another_price(judge, stages, counted, work)
        work = work.after(work.constraint.work - before)
        if other is None:
            break
        others.append(other)
        best = _better(best, other, counted)
    if not work():
        best = _by_way_of_divergence(_gone_through(best, stages, counted, work), stages, counted, work)
    if not best.optimal and not stop():
        proven = _proven(best, problem, stop)
        is_better = _is_better(proven.value, best.value)
        best = _gone_through(proven, stages, problem, stop) if is_better and not proven.optimal else proven
    ends = (None if set(other.cliques) == set(best.cliques) else other for other in others)
    runner_up, dearer = (*ends, None, None)[:2]
    return replace(best, strategy="auto", runner_up=runner_up, dearer=dearer)


def _gone_through(result: SearchResult, stages: Sequence[_Stage], problem: Problem, stop: Stop) -> SearchResult:
    """What the stages in turn make of a result, until all of them have found nothing better since the last better one.

    The stage that found that one has gone on by itself as far as it could.
    """
    best, stale = result, 0
    worth = _WORTH * abs(best.value or 0.0) if lattice_size(problem) > LARGEST_LATTICE else LEAST_GAIN
    for stage in cycle(stages):
        if best.optimal or stale >= len(stages) or stop():
            return best
        before = inf if best.value is None else best.value
        best = stage(best, problem, stop)
        stale = 1 if best.value is not None and best.value < before - worth else stale + 1
    raise AssertionError("the stages go on for ever")


def _is_better(value: float | None, before: float | None) -> bool:
    return (inf if value is None else value) < (inf if before is None else before) - LEAST_GAIN


def _begun(problem: Problem, work: _Work) -> SearchResult | None:
    """The best that a search in one go finds, with what all of them looked at; None where none finds what is allowed."""
    best, evaluated = None, 0
    for found in _beginnings(problem, work.stop):
        evaluated += found.evaluated
        if best is None or _is_better(found.value, best.value):
            best = found
        if work.is_half_done:
            break
    return None if best is None else replace(best, evaluated=evaluated)


def _beginnings(problem: Problem, stop: Stop) -> Iterator[SearchResult]:
    """What forward searches find, by gain and with three kinds of prospects; in a small lattice backward search too."""
    prospects = Prospects(problem, stop)
    preferences: tuple[Preference, ...] = (by_gain, prospects.added, prospects.scaled, prospects.lesser)
    for preference in preferences:

        def search(problem: Problem, stop: Stop, preference: Preference = preference) -> SearchResult:
            return from_both(problem, stop) if preference is by_gain else forward(problem, stop, preference)

        try:
            yield by_divergence(search)(problem, stop)
        except NothingAllowedError:
            continue
    if lattice_size(problem) <= LARGEST_LATTICE and not problem.has_levels:
        try:
            yield backward(problem, stop)
        except NothingAllowedError:
            return


def _restarted(result: SearchResult, problem: Problem, stop: Stop) -> SearchResult:
    """What the search in both directions makes of a result."""
    search_result = both(replace(problem, start=result.cliques), stop)
    evaluated = result.evaluated + search_result.evaluated
    if not _is_better(search_result.value, result.value):
        return replace(result, evaluated=evaluated)
    return replace(search_result, steps=(*result.steps, *search_result.steps), evaluated=evaluated, bound=result.bound)


def _from_another_price(judge: Problem, stages: Sequence[_Stage], problem: Problem, work: _Work) -> SearchResult | None:
    """What all stages end with by another price, once that is settled; None where it is not looked for.

    judge: the problem with that price, which may be none. What was done beside before counts too: where half of all is
    done, nothing is looked for.
    """
    if not stalls_by_price(problem) or work.is_half_done:
        return None
    aside = work.aside
    begun = _begun(judge, aside)
    if begun is None or work.stop():
        return None
    return settled(_gone_through(begun, stages, judge, aside), problem, work.stop)


def _better(result: SearchResult, other: SearchResult, problem: Problem) -> SearchResult:
    """The other one where it is better at a higher price too: who looks at more collections finds what chance favours."""
    is_better = all(
        _is_better(*(judge.value(judge.position(each.cliques)) for each in (other, result)))
        for judge in (problem, priced(problem, DOUBTFUL))
    )
    best = replace(other, bound=result.bound) if is_better else result
    return replace(best, evaluated=result.evaluated + other.evaluated)


def _by_way_of_divergence(result: SearchResult, stages: Sequence[_Stage], problem: Problem, stop: Stop) -> SearchResult:
    """What stages by the divergence alone make of a result, and then by the price again; and so on while that is better.

    What does not pay by itself can be on the way to what does. It takes as much time again, so many collections must not
    have been looked at.
    """
    best = result
    while stalls_by_price(problem) and not best.optimal and best.evaluated <= _FEW:
        unpriced = replace(problem, objective=KL)
        start = replace(best, value=unpriced.value(unpriced.position(best.cliques)))
        detour = _gone_through(start, stages, unpriced, stop)
        if stop():  # what the divergence alone adds need not pay
            break
        search_result = _gone_through(settled(detour, problem, stop), stages, problem, stop)
        if not _is_better(search_result.value, best.value):
            return replace(best, evaluated=search_result.evaluated)
        best = replace(search_result, bound=best.bound)
    return best


def _proven(result: SearchResult, problem: Problem, stop: Stop) -> SearchResult:
    """What exact search makes of a result, in about as much time as was spent before; itself in a large lattice."""
    size = lattice_size(problem)
    if size > min(LARGEST_LATTICE, max(result.evaluated, _LEAST_WORK // _WORK)):
        return result
    work = max(_LEAST_WORK, _WORK * result.evaluated)
    return proven_or_better(result, problem, stop, work // size)
