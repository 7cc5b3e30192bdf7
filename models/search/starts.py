"""Starts for local search: a greedy directed model made chordal by min-fill, or a forest of pairs of attributes with
levels.

Directed models reach dependences that no single edge of a decomposable model pays for. A hill climb over directed
acyclic graphs adds or removes the arc that gains most (Heckerman, Geiger and Chickering, Machine Learning 20, 1995).
It ends if no arc gains. Its moral graph is filled in by min-fill elimination. The search that begins there
removes edges that do not pay.

With levels, the start is a forest (Chow and Liu, IEEE Transactions on Information Theory 14, 1968). Each pair of
attributes is represented by the allowed margin that tells most. The pairs that tell most are added first, each if it
joins two parts that were apart.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache, partial
from heapq import heappop, heappush
from itertools import combinations, takewhile
from math import comb

from models.graphs.interaction_graph import eliminated
from models.graphs.junction_tree import maximal_masks
from models.search.lower_bound import score
from models.search.problem import LEAST_GAIN, Problem, Stop, from_independence, staircase
from models.tables.hierarchy import Mask, vertices_of

_WORK = 1 << 28
"""Limit of the pairs of attributes times the cells of the table that they are counted from."""


def chordal_start(problem: Problem, stop: Stop) -> tuple[Mask, ...]:
    """Return the cliques of the filled-in moral graph of a greedy directed model; attributes must have one level each.

    The constraint is not asked. The cost is about attributes**2 entropies, and another `attributes` for each arc.
    """
    return tuple(maximal_masks(eliminated(_DirectedClimb(problem, stop).families()) or ()))


class _DirectedClimb:
    """Hill climb over directed acyclic graphs. parents, ancestors: of each vertex, as masks."""

    def __init__(self, problem: Problem, stop: Stop) -> None:
        count = problem.cube.domain.vertex_count
        self.stop = stop
        self._score = cache(partial(score, problem))
        self.parents = [0] * count
        self.ancestors = [0] * count
        self._queue: list[tuple[float, int, int, Mask]] = []

    def families(self) -> list[Mask]:
        vertices, blocked = range(len(self.parents)), list[tuple[float, int, int, Mask]]()
        for child in vertices:
            self._offer(child)
        while self._queue and not self.stop():
            item = heappop(self._queue)
            _, parent, child, before = item
            if self.parents[child] != before:
                continue
            is_arc = self.parents[child] >> parent & 1
            if not is_arc and self.ancestors[parent] >> child & 1:
                blocked.append(item)
                continue
            self.parents[child] ^= 1 << parent
            self._update_ancestors()
            self._offer(child)
            if is_arc:  # a path is gone
                for item in blocked:
                    heappush(self._queue, item)
                blocked = []
        return [mask | 1 << vertex for vertex, mask in enumerate(self.parents)]

    def _offer(self, child: int) -> None:
        """Enqueue every change of an arc into a vertex that gains."""
        parents = self.parents[child]
        before = self._score(parents | 1 << child) - self._score(parents)
        for other in range(len(self.parents)):
            changed = parents ^ 1 << other
            gain = before - self._score(changed | 1 << child) + self._score(changed)
            if other != child and gain > LEAST_GAIN:
                heappush(self._queue, (-gain, other, child, parents))

    def _update_ancestors(self) -> None:
        self.ancestors = list(self.parents)
        for middle in range(len(self.parents)):  # Warshall's algorithm
            above = self.ancestors[middle]
            self.ancestors = [mask | above if mask >> middle & 1 else mask for mask in self.ancestors]


def forest_start(problem: Problem, stop: Stop) -> tuple[Mask, ...]:
    """Return the initial collection, pairs of attributes that were apart in it, and attributes by themselves.

    Empty if it would take too long. It is decomposable, because two separate parts are joined by one attribute of
    each. Some clique of its part shows that attribute as finely as the part does.
    """
    cube = problem.cube
    attributes, base = len(cube.domain.attributes), sum(cube.domain.attribute_masks)
    if comb(attributes, 2) * (len(cube.table(base)) if cube.holds(base) else cube.total) > _WORK:
        return ()
    cliques, parts = tuple(maximal_masks(problem.initial)), list(cube.domain.attribute_masks)
    for clique in cliques:
        parts = _joined(parts, clique)
    for _, margin in sorted(_gainful_pairs(problem, stop)):
        joined, extended = _joined(parts, margin), tuple(maximal_masks((*cliques, margin)))
        if len(joined) < len(parts) and not stop() and problem.constraint(extended, margin) is None:
            cliques, parts = extended, joined
    return from_independence(replace(problem, required=cliques, start=None)).initial


def _joined(parts: Iterable[Mask], margin: Mask) -> list[Mask]:
    return [*(part for part in parts if not part & margin), sum(part for part in parts if part & margin)]


def _gainful_pairs(problem: Problem, stop: Stop) -> Iterator[tuple[float, Mask]]:
    domain = problem.cube.domain
    steps_of = [
        [domain.coarser_steps(v) | 1 << v for v in vertices_of(attribute_mask)]
        for attribute_mask in domain.attribute_masks
    ]
    for ones, others in combinations(steps_of, 2):
        margins = takewhile(lambda _: not stop(), staircase(ones, others, lambda margin: not problem.refuses(margin)))
        gain, margin = max(((problem.pair_gain(*pair), sum(pair)) for pair in margins), default=(0.0, 0))
        if gain > LEAST_GAIN:
            yield -gain, margin
