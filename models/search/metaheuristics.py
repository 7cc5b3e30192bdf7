"""Random search: simulated annealing, and a genetic algorithm on the preferences of forward search."""

from dataclasses import dataclass, replace
from math import exp, log

import numpy as np

from models.arrays import FloatArray
from models.errors import NothingAllowedError
from models.graphs.interaction_graph import AddEdge, AddVertex, Move, RemoveEdge, RemoveVertex, describe
from models.search.greedy import forward, preferring, result_of
from models.search.problem import LEAST_GAIN, Position, Problem, RefusalScope, SearchResult, Step, Stop

# Simulated annealing: a random walk over the eight moves that takes losses ever more rarely.
#
# Kirkpatrick, Gelatt and Vecchi (1983). The walk stays among the allowed collections, starts where forward search
# ends, and cools geometrically; at the end it climbs from the best collection it has seen.


PROPOSALS = 4_000
"""Moves proposed for each induced attribute of the domain."""

HOTTEST, COLDEST = 0.1, 0.0005
"""Temperatures at the beginning and at the end, nats."""


def anneal(problem: Problem, stop: Stop) -> SearchResult:
    """The best collection that the walk meets, no worse than that of forward search.

    Every accepted move is in the steps, and the return to the best collection. Raises SelectionError for an objective
    that is a stopping rule only.
    """
    _ = problem.price
    forwarded = forward(problem, stop)
    walk = _Walk(problem, problem.position(forwarded.cliques), np.random.default_rng(problem.seed))
    proposals = PROPOSALS * problem.cube.domain.vertex_count
    for turn in range(proposals):
        if stop():
            break
        walk.propose(HOTTEST * exp(log(COLDEST / HOTTEST) * turn / proposals))
    walk.return_to_best()
    climbed = forward(replace(problem, start=tuple(walk.best.cliques)), stop)
    position = problem.position(climbed.cliques)
    steps = (*forwarded.steps, *walk.steps, *climbed.steps)
    return result_of("anneal", problem, position, forwarded.evaluated + walk.evaluated + climbed.evaluated, steps)


class _Walk:
    def __init__(self, problem: Problem, position: Position, rng: np.random.Generator) -> None:
        self.problem, self.position, self.best, self.rng = problem, position, position, rng
        self.level = self.best_level = 0.0
        """Nats gained since the beginning, here and at the best position."""
        self.evaluated = 0
        self.steps: list[Step] = []
        self._dropped: set[int] = set()
        """Cliques that are refused for good."""

    def propose(self, temperature: float) -> None:
        """Draw a move, and take it if it is allowed and the temperature lets its loss pass."""
        move = self._drawn()
        if not move.is_allowed(self.position.graph):
            return
        change = self.position.change(move)
        if change.clique in self._dropped:
            return
        gain = self.problem.objective.gain(change.divergence, change.parameters) + self.position.wanted_gain(move)
        if gain < 0 and self.rng.random() >= exp(gain / temperature):
            return
        cliques = self.position.cliques_after(move)
        if not change.clique and not self.problem.is_kept(cliques):
            return
        self.evaluated += 1
        if refusal := self.problem.constraint(cliques, change.clique):
            if refusal.scope is RefusalScope.FINER and change.clique:
                self._dropped.add(change.clique)
            return
        before = self.position
        self.position = before.after(move, change, before.wanted_after(move))
        made = describe(move, before.graph)
        self.steps.append(Step(made, before.divergence, self.position.divergence, parameters=change.parameters))
        self.level += gain
        if self.level > self.best_level:
            self.best, self.best_level = self.position, self.level

    def return_to_best(self) -> None:
        """Go back to the best collection, in one step of the trace."""
        if self.position is not self.best:
            back = Step("return to the best collection", self.position.divergence, self.best.divergence)
            self.steps.append(back)
            self.position, self.level = self.best, self.best_level

    def _drawn(self) -> Move:
        """A pair of vertices to join or to part, or in one case of eight a vertex to show or to hide."""
        graph = self.position.graph
        count = self.problem.cube.domain.vertex_count
        first, second = (int(v) for v in self.rng.integers(count, size=2))
        if first == second or self.rng.random() < 1 / 8:
            return RemoveVertex(first) if graph.vertices >> first & 1 else AddVertex(first)
        first, second = min(first, second), max(first, second)
        return RemoveEdge(first, second) if graph.has_edge(first, second) else AddEdge(first, second)


# Genetic search: forward searches that prefer some moves to others, and the preferences evolve.
#
# A biased random-key genetic algorithm (Goncalves and Resende, Journal of Heuristics 17, 2011): an individual gives
# each pair of induced attributes a factor on its gains, forward search under these factors makes it a collection, and
# children take each factor from an elite parent more often than from the other. The first individual is plain forward
# search.


POPULATION, ELITE, IMMIGRANTS = 40, 10, 8
"""Population size, elites, random immigrants."""

GENERATIONS = 40
PATIENCE = 12
"""Largest number of generations, in all and without improvement."""

SPREAD = 1.0
"""Standard deviation of the logarithm of a drawn factor."""

ELITE_SHARE = 0.7
"""Probability that a child has a factor from its elite parent."""


@dataclass(frozen=True, eq=False)
class _Individual:
    log_factors: FloatArray
    result: SearchResult

    @property
    def value(self) -> float:
        return self.result.value if self.result.value is not None else float("inf")


def genetic(problem: Problem, stop: Stop) -> SearchResult:
    """The best collection of any individual, no worse than that of forward search.

    The steps are those of the forward search that found it. Raises SelectionError for an objective that is a stopping rule
    only.
    """
    _ = problem.price
    rng = np.random.default_rng(problem.seed)
    shape = (problem.cube.domain.vertex_count,) * 2
    plain = forward(problem, stop)
    evaluated = plain.evaluated

    def born(log_factors: FloatArray) -> _Individual:
        """From factors, an individual; one that comes to a refused collection counts as plain forward search."""
        nonlocal evaluated
        try:
            result = forward(problem, stop, preferring(log_factors))
        except NothingAllowedError:
            return _Individual(log_factors, plain)
        evaluated += result.evaluated
        return _Individual(log_factors, result)

    def drawn() -> FloatArray:
        return rng.normal(scale=SPREAD, size=shape)

    population = [_Individual(np.zeros(shape), plain)]
    while len(population) < POPULATION and not stop():
        population.append(born(drawn()))
    population.sort(key=lambda individual: individual.value)
    stale = 0
    for _ in range(GENERATIONS):
        if stale >= PATIENCE or stop():
            break
        before = population[0].value
        following = population[:ELITE]
        while len(following) < POPULATION and not stop():
            following.append(born(drawn() if len(following) < ELITE + IMMIGRANTS else _child(population, rng)))
        population = sorted(following, key=lambda individual: individual.value)
        stale = 0 if population[0].value < before - LEAST_GAIN else stale + 1
    return replace(population[0].result, strategy="genetic", evaluated=evaluated)


def _child(population: list[_Individual], rng: np.random.Generator) -> FloatArray:
    elite = population[int(rng.integers(min(ELITE, len(population))))].log_factors
    other = population[int(rng.integers(len(population)))].log_factors
    return np.where(rng.random(elite.shape) < ELITE_SHARE, elite, other)
