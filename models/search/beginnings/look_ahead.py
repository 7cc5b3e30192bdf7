"""Look-ahead: forward searches that take a step not for its gain alone, but for what its two attributes can show after it.

Attributes are joined at their coarsest levels first, and there they may say next to nothing of each other: of a hospital's
patients having been at school for long or not, and having a trade or not, share .005 nats, and the school and the trade
themselves .157. A search by gain comes to such a pair last, when other margins that hold one of the two leave no room for
it, and which pairs were first, a few rows decide. So the margins of two attributes that the constraint allows by themselves
are looked at beforehand: the mutual information of the finest ones is where the steps of this pair can lead.
"""

from dataclasses import replace
from math import inf

from models.errors import NothingAllowedError
from models.graphs.moves import AddEdge, Move
from models.search.beginnings.forest import from_both
from models.search.beginnings.staircase import staircase
from models.search.constraint import is_refused_in_all
from models.search.greedy import forward
from models.search.problem import Problem, Stop
from models.search.rebuild import polished
from models.search.result import SearchResult
from models.tables.domain import Mask


def look_ahead(problem: Problem, stop: Stop) -> SearchResult:
    """The best of four forward searches, by gain and by gain with three kinds of prospects, made better by some rebuilding.

    The search by gain is the first one, and is rebuilt too, so the result is no worse than what comes of it. The steps are
    those of the search that led to it. Raises SelectionError for an objective that is a stopping rule only.
    """
    _ = problem.price
    plain = best = from_both(problem, stop)
    prospects = Prospects(problem, stop)
    evaluated = plain.evaluated
    for preference in (prospects.added, prospects.scaled, prospects.lesser):
        if stop():
            break
        try:
            found = forward(problem, stop, preference)
        except NothingAllowedError:
            continue
        evaluated += found.evaluated
        best = found if _value(found) < _value(best) else best
    evaluated += prospects.evaluated
    for begun in dict.fromkeys((best, plain)):
        found = polished(begun, problem, stop)
        evaluated += found.evaluated - begun.evaluated
        best = found if _value(found) < _value(best) else best
    return replace(best, strategy="look-ahead", evaluated=evaluated)


def _value(result: SearchResult) -> float:
    return inf if result.value is None else result.value


class Prospects:
    """What the pairs of attributes of a problem can show, each by itself; worked out when it is first asked for.

    After `stop` says so nothing more is looked at, and a step is worth its gain.
    """

    def __init__(self, problem: Problem, stop: Stop) -> None:
        self.problem, self.stop = problem, stop
        self.evaluated = 0
        self._is_over = False
        self._known: dict[tuple[int, int], tuple[float, float]] = {}

    def added(self, move: Move, gain: float) -> float:
        """The gain, and the mutual information that the finest allowed margin of the pair has beyond that of the step."""
        now, most = self._of(move)
        return gain + (most - now)

    def scaled(self, move: Move, gain: float) -> float:
        """The gain, in the proportion of the two."""
        now, most = self._of(move)
        return gain * most / now if now > 0 else gain

    def lesser(self, move: Move, gain: float) -> float:
        """The smaller of the two."""
        return min(self.added(move, gain), self.scaled(move, gain))

    def _of(self, move: Move) -> tuple[float, float]:
        """The mutual information of two steps, and the largest of a finer margin of their attributes that is allowed."""
        if not isinstance(move, AddEdge):
            return 0.0, 0.0
        key = move.first, move.second
        if key not in self._known:
            if self._is_over:
                return 0.0, 0.0
            self._known[key] = self._looked(*key)
        return self._known[key]

    def _looked(self, first: int, second: int) -> tuple[float, float]:
        """Coarser margins than an allowed one are allowed: its staircase has the largest information in a corner."""
        own, others = self._from(first), self._from(second)
        now = most = self._information(own[0], others[0])
        for one, other in staircase(own, others, self._is_allowed):
            most = max(most, self._information(one, other))
        return now, most

    def _from(self, vertex: int) -> list[Mask]:
        """The margins of an attribute from a step on, the coarsest first."""
        domain = self.problem.cube.domain
        margins = [domain.coarser_steps(vertex) | 1 << vertex]
        finer = domain.finer_steps(vertex)
        while finer:
            margins.append(margins[-1] | finer & -finer)
            finer &= finer - 1
        return margins

    def _is_allowed(self, margin: Mask) -> bool:
        self._is_over = self._is_over or self.stop()
        if self._is_over:
            return False
        self.evaluated += 1
        return not is_refused_in_all(self.problem.constraint, margin)

    def _information(self, one: Mask, other: Mask) -> float:
        entropy = self.problem.cube.entropy
        return entropy(one) + entropy(other) - entropy(one | other)
