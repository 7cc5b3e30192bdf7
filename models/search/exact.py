"""Exact search: the best allowed collection, with the proof that none is better.

Best first, by a lower bound (Hart, Nilsson and Raphael 1968). Collections grow in perfect sequence, margin by margin:
each new margin shares with the collection a part of one of its cliques and adds what the collection does not show yet.
So every decomposable collection is reached, and what a part of its junction tree is refused for, the whole is.
"""

from collections.abc import Iterator
from dataclasses import replace
from heapq import heappop, heappush
from itertools import count

from models.domain import Mask
from models.search.constraint import Reach
from models.search.greedy import forward, result_of
from models.search.lower_bound import LARGEST_LATTICE, LowerBound, allowed_margins, lattice_size, lower_bound, score
from models.search.position import Position
from models.search.problem import Problem, Stop
from models.search.result import SearchResult, Step

_TIE = 1e-11
"""Nats. A collection must be better by more than this to replace another."""

_MOST_WAITING = 1_000_000
"""Collections in the queue, at most."""


def exact(problem: Problem, stop: Stop) -> SearchResult:
    """The best collection that the problem allows; `optimal` when that is proven, else with the bound reached.

    Deterministic unless stopped. Raises SelectionError for an objective that is a stopping rule only.
    """
    _ = problem.price
    found = forward(problem, stop)
    if lattice_size(problem) > LARGEST_LATTICE or (allowed := allowed_margins(problem, stop)) is None:
        return replace(found, strategy="exact")
    return _Search(problem, found, list(allowed)[1:], lower_bound(problem, allowed), stop).run()


class _Search:
    def __init__(
        self, problem: Problem, found: SearchResult, margins: list[Mask], bound: LowerBound, stop: Stop
    ) -> None:
        self.problem, self.found, self.margins, self.bound, self.stop = problem, found, margins, bound, stop
        self.entropy = problem.cube.entropy(sum(problem.cube.domain.attribute_masks))
        self.best = found.value if found.value is not None else float("inf")
        self.cliques = frozenset(found.cliques)
        self.steps = list(found.steps)
        self.evaluated = found.evaluated
        self.popped = 0

    def run(self) -> SearchResult:
        order = count()
        queue: list[tuple[float, int, float, Mask, frozenset[Mask]]] = []
        seen: set[frozenset[Mask]] = set()

        def enqueue(cost: float, vertices: Mask, cliques: frozenset[Mask]) -> None:
            bound = cost + self.bound.to_go(vertices) - self.entropy
            if bound < self.best - _TIE and cliques not in seen:
                seen.add(cliques)
                heappush(queue, (bound, next(order), cost, vertices, cliques))

        enqueue(0.0, 0, frozenset())
        proven = self.best
        while queue:
            proven = queue[0][0]
            if proven >= self.best - _TIE or self.stop() or len(queue) > _MOST_WAITING:
                break
            _, _, cost, vertices, cliques = heappop(queue)
            self.popped += 1
            if self._is_closed(cost, vertices, cliques):
                continue
            for new, cost_after in self._extensions(cost, vertices, cliques):
                enqueue(cost_after, vertices | new, cliques | {new})
        else:
            proven = self.best
        optimal = proven >= self.best - _TIE
        position = Position.of(self.problem.cube, self.cliques)
        result = result_of("exact", self.problem, position, self.evaluated, self.steps)
        return replace(result, optimal=optimal, bound=min(proven, self.best))

    def _is_closed(self, cost: float, vertices: Mask, cliques: frozenset[Mask]) -> bool:
        """Whether nothing that goes on from here is allowed; notes a collection that is, and is better."""
        self.evaluated += 1
        refusal = self.problem.constraint(cliques, 0)
        if refusal is not None:
            return refusal.reach is not Reach.ITSELF
        if self.problem.is_kept(cliques):
            domain = self.problem.cube.domain
            hidden = (
                self.problem.cube.log_leaves(a, (vertices & m).bit_count())
                for a, m in zip(domain.attributes, domain.attribute_masks)
            )
            value = cost + sum(hidden) - self.entropy
            if value < self.best - _TIE:
                before, divergence = self._divergence(), Position.of(self.problem.cube, cliques).divergence
                self.steps.append(Step(f"a collection of {len(cliques)} margins", before, divergence))
                self.best, self.cliques = value, cliques
        return False

    def _divergence(self) -> float:
        """The KL divergence of the best collection so far."""
        return self.steps[-1].after if self.steps else self.found.kl_divergence

    def _extensions(self, cost: float, vertices: Mask, cliques: frozenset[Mask]) -> Iterator[tuple[Mask, float]]:
        """The margins that can come next, with the cost after them."""
        for margin in self.margins:
            separator = margin & vertices
            if separator == margin or separator in cliques:
                continue
            if separator and not any(not separator & ~clique for clique in cliques):
                continue
            yield margin, cost + score(self.problem, margin) - score(self.problem, separator)
