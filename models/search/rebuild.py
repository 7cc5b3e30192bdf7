"""Rebuilding: some attributes are taken out of the margins that they share, and forward search puts them in again.

A ruin-and-recreate search (Schrimpf et al., Journal of Computational Physics 159, 2000). What a round takes out leaves a
decomposable collection: without the finer steps of an attribute the graph is an induced part of a chordal one, and the
attribute by itself joins it at the steps that stay. So one round makes as many moves as a forward search, over many levels
at once, and needs a small part of its time. The next one goes on from what it made where that is hardly worse than the best
so far (record-to-record travel: Dueck, Journal of Computational Physics 104, 1993).
"""

from dataclasses import dataclass, replace
from math import inf

import numpy as np

from models.graphs.junction_tree import maximal_masks
from models.search.beginnings.forest import from_both
from models.search.greedy import Climb, preferring, result_of
from models.search.objective import LEAST_GAIN
from models.search.position import Position
from models.search.problem import Problem, Stop
from models.search.result import SearchResult, Step
from models.tables.domain import Mask

PATIENCE = 400
"""Rounds in a row without a better collection, after which the strategy ends."""

FEW = 25
"""Rounds in a row without a better collection, after which one that is only to be polished is taken as it is."""

SHARE = 16
"""Collections for each one that the search looked at, after which no more rounds polish it: no clock decides that."""

DEVIATION = 0.01
"""How much worse than the best the collection may be that a round starts from, as a share of the best objective."""

MOST_ATTRIBUTES = 3
"""Attributes that one round takes out, at most."""

WHOLLY = 0.5
"""Probability that an attribute is taken out with all its steps, not only with those beyond a drawn one."""

BLINDLY = 0.5
"""Probability that a round puts attributes in by the divergence of the whole alone, where analyses are wanted."""

SPREAD = 0.3
"""Standard deviation of the logarithm of the factors by which a round prefers some moves to others."""


def rebuild(problem: Problem, stop: Stop) -> SearchResult:
    """The best collection of any round, no worse than that of forward search.

    Raises SelectionError for an objective that is a stopping rule only.
    """
    _ = problem.price
    return replace(rebuilt(from_both(problem, stop), problem, stop, PATIENCE), strategy="rebuild")


def polished(result: SearchResult, problem: Problem, stop: Stop) -> SearchResult:
    """What a search has found, made better by a few rounds; never worse. Raises SelectionError as `rebuilt` does."""
    return rebuilt(result, problem, stop, FEW, SHARE * result.evaluated)


def rebuilt(result: SearchResult, problem: Problem, stop: Stop, patience: int, most: float = inf) -> SearchResult:
    """What a search has found, made better until so many rounds in a row did not; never worse.

    No round begins when `most` collections have been put to the constraint. Each better collection is one step of the
    trace. Raises SelectionError for an objective that is a stopping rule only.
    """
    _ = problem.price
    rounds = _Rounds(problem, result, stop)
    while rounds.stale < patience and rounds.evaluated < most and rounds.attributes and not stop():
        rounds.next()
    steps = (*result.steps, *rounds.steps)
    better = result_of(result.strategy, problem, rounds.best, result.evaluated + rounds.evaluated, steps)
    is_better = rounds.steps and better.value is not None and result.value is not None and better.value < result.value
    return better if is_better else replace(result, evaluated=better.evaluated)


@dataclass(frozen=True)
class _Cut:
    """An attribute by its place in the domain, and the number of its steps that stay in the margins it shares."""

    attribute: int
    kept: int


class _Rounds:
    def __init__(self, problem: Problem, result: SearchResult, stop: Stop) -> None:
        self.problem, self.stop = problem, stop
        self.rng = np.random.default_rng(problem.seed)
        self.position = self.best = problem.position(result.cliques)
        self.value = self.least = problem.value(self.best)
        self.steps: list[Step] = []
        self.evaluated = self.stale = 0
        self._refused: set[Mask] = set()
        domain = problem.cube.domain
        self._shape = (domain.vertex_count,) * 2
        must_stay = 0
        for mask in problem.kept:
            must_stay |= mask
        self._least_steps = [(must_stay & own).bit_count() for own in domain.attribute_masks]
        heights = (own.bit_count() for own in domain.attribute_masks)
        self.attributes = [i for i, (low, high) in enumerate(zip(self._least_steps, heights)) if low < high]

    def next(self) -> None:
        """One round."""
        problem, self.stale = self.problem, self.stale + 1
        cuts = self._drawn()
        start = problem.position(_taken_apart(self.position, cuts))
        if problem.wanted and self.rng.random() < BLINDLY:
            start = replace(start, analyses=None)
        climb = Climb(problem, start, self.stop, self._refused)
        climb.add_all(preferring(self.rng.normal(scale=SPREAD, size=self._shape)))
        self.evaluated += climb.evaluated
        position = replace(climb.position, analyses=problem.wanted)
        value = problem.value(position)
        if value >= self.least + DEVIATION * self.least or not climb.is_allowed():
            return
        self.position = position
        if value < self.least - LEAST_GAIN:
            names = ", ".join(problem.cube.domain.attributes[cut.attribute] for cut in cuts)
            self.steps.append(Step(f"rebuild the tables of {names}", self.best.divergence, position.divergence))
            self.best, self.least, self.stale = position, value, 0

    def _drawn(self) -> list[_Cut]:
        rng, masks = self.rng, self.problem.cube.domain.attribute_masks
        number = min(int(rng.integers(1, MOST_ATTRIBUTES + 1)), len(self.attributes))
        cuts = []
        for place in rng.choice(len(self.attributes), size=number, replace=False).tolist():
            attribute = self.attributes[place]
            least = self._least_steps[attribute]
            kept = least if rng.random() < WHOLLY else int(rng.integers(least, masks[attribute].bit_count()))
            cuts.append(_Cut(attribute, kept))
        return cuts


def _taken_apart(position: Position, cuts: list[_Cut]) -> list[Mask]:
    """The cliques without the finer steps of some attributes, and each of these by itself, as finely as it is shown."""
    domain = position.cube.domain
    alone = [domain.attribute_masks[cut.attribute] & position.graph.vertices for cut in cuts]
    taken = 0
    for own, cut in zip(alone, cuts):
        taken |= own >> (domain.offsets[cut.attribute] + cut.kept) << (domain.offsets[cut.attribute] + cut.kept)
    return maximal_masks([*(clique & ~taken for clique in position.cliques), *alone])
