"""Genetic search: forward searches that prefer some moves to others, and the preferences evolve.

A biased random-key genetic algorithm (Goncalves and Resende, Journal of Heuristics 17, 2011): an individual gives each
pair of induced attributes a factor on its gains, forward search under these factors makes it a collection, and children
take each factor from an elite parent more often than from the other. The first individual is plain forward search.
"""

from dataclasses import dataclass, replace

import numpy as np

from models.arrays import FloatArray
from models.errors import NothingAllowedError
from models.search.greedy import forward, preferring
from models.search.objective import LEAST_GAIN
from models.search.problem import Problem, Stop
from models.search.result import SearchResult

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
