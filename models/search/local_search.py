"""Iterated local search: a kick, a greedy repair around it, and mostly the better of the collections before and after.

One search serves all problems, with and without levels, constraints and a price of parameters. There are four kicks:

- take a few nearby attributes out of the margins that they share (ruin and recreate: Schrimpf et al., Journal of
  Computational Physics 159, 2000);
- join attributes step by step, even if single steps do not pay (variable depth: Kernighan and Lin, Bell System
  Technical Journal 49, 1970);
- do both;
- part two attributes.

The repair adds the edges that gain, best first, and removes those that do not pay, among the pairs near the kick. All
kicks are needed. Taking out costs the most time per improvement, so it is drawn seldom; parting costs the least.

The search sometimes continues from a worse collection: if its loss is among the least few percent of all losses so
far. The percentage falls to 0 in cycles. So the search needs no temperature and no scale of the objective. It ends
after a number of rounds without a better collection, so it ends the same on every machine.

Collections are decomposable throughout. An induced part of a chordal graph is chordal. An edge is added only if the
common neighbours of its ends separate them, and removed only if they are complete (KG06 6.2).
"""

from bisect import insort
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from heapq import heappop, heappush

import numpy as np

from models.graphs.interaction_graph import InteractionGraph
from models.graphs.junction_tree import JunctionTree, maximal_masks
from models.search.greedy import result_of
from models.search.lower_bound import score
from models.search.problem import (
    LEAST_GAIN,
    Problem,
    RefusalScope,
    SearchResult,
    Step,
    Stop,
    with_clique,
    without_edge,
)
from models.search.starts import chordal_start, forest_start
from models.search.wanted import apart
from models.tables.hierarchy import Mask, vertices_of

PATIENCE = 20
"""Rounds without a better collection, per induced attribute, after which a walk ends."""

MOST_WORK = 30_000
"""Verdicts, plus two for each new entropy, after which a search ends; a walk ends after half of it."""

_OF_STAIRS = 0.6
"""Share of that work if levels must not cross: edges are stairs of levels, and verdicts are fewer in the same time."""

_MOST_WALKS = 12
"""Most walks of a search."""

_AGREEING = 3
"""Number of walks ending at the best collection after which a search ends."""

_CYCLE = 20
"""Rounds, per induced attribute, in which the share of worse collections falls to 0."""

_WORSE = 0.15
"""Share of worse collections from which the search continues, at the beginning of a cycle."""

_SPREAD = 0.3
"""Standard deviation of the logarithm of the factors by which a round prefers some edges to others."""

_PART, _TAKE, _SECOND, _JOIN, _WHOLLY, _NEAR = 0.6, 0.3, 0.2, 0.5, 0.5, 0.5
"""Probabilities of a kick, each if the one before did not decide: that it parts two attributes; that it takes one out.
Then that it takes a second one out; that it also joins two; that all steps are taken out. The last one is that the
second attribute shares a margin with the first."""

_BLIND = 0.3
"""Probability that attributes are restored by the divergence without a price, if a coarse step may not pay by itself."""

_Candidate = tuple[float, Mask, int, int]
"""Negative preference (the heap key), the clique that the edge makes, and its ends; a vertex has the same end twice.

If levels must not cross, an edge stands for the edges between its first end and all steps up to its second
(`InteractionGraph`)."""


def local(problem: Problem, stop: Stop) -> SearchResult:
    """Search by several walks from one start; the result is the same for the same problem unless the search is stopped.

    The end of single steps from the initial collection is a candidate, too. Twelve walks that end early are better
    than a long one. Raises SelectionError for a stopping rule, NothingAllowedError if no allowed collection was found.
    """
    _ = problem.price
    judge, ends = _Judge(problem), list[SearchResult]()
    most = MOST_WORK * (1 if problem.crossing else _OF_STAIRS)
    start: Iterable[Mask] = problem.initial
    steps: list[Step] = []
    for number in range(_MOST_WALKS):
        walk = _Walk(judge, start, stop, problem.seed + number, is_blind=number % 2 == 1)
        if number:
            walk.run(min(judge.work + most / 2, most))
        if problem.constraint(walk.best, 0) is None:
            ends.append(walk.result(steps))
        best = [end for end in ends if end.cost < min(end.cost for end in ends) + LEAST_GAIN]
        if len(best) == _AGREEING or judge.work >= most or stop():
            break
        if not number:
            start, steps = _start(problem, stop)
    return replace(best[0] if best else walk.result(steps), evaluated=judge.evaluated)


def _start(problem: Problem, stop: Stop) -> tuple[Iterable[Mask], list[Step]]:
    if problem.has_levels:
        way, cliques = "pairs of attributes that tell most of each other", forest_start(problem, stop)
    else:
        way, cliques = "a directed model, made chordal", chordal_start(problem, stop)
    if not (cliques and problem.is_kept(cliques) and problem.constraint(cliques, 0) is None):
        return problem.initial, []
    before, after = (problem.position(masks).divergence for masks in (problem.initial, cliques))
    return cliques, [Step(f"begin with {way}", before, after)]


@dataclass
class _Graph:
    """Mutable collection: neighbours of each vertex, vertices, maximal cliques, and objective in nats up to a constant."""

    neighbors: list[Mask]
    vertices: Mask
    cliques: frozenset[Mask]
    value: float

    def copy(self) -> "_Graph":
        return replace(self, neighbors=list(self.neighbors))

    def separates(self, separator: Mask, first: int, second: int) -> bool:
        neighbors, goal, free = self.neighbors, 1 << second, ~separator
        reached = frontier = 1 << first
        while frontier:
            lowest = frontier & -frontier
            new = neighbors[lowest.bit_length() - 1] & free & ~reached
            if new & goal:
                return False
            reached |= new
            frontier ^= lowest | new
        return True


class _Judge:
    """Gains of edges and verdicts of the constraint, cached for all walks. evaluated: number of verdicts asked for.

    gain: of an edge, by separator and ends. saving: of the divergence only. refused: cliques that no collection may
    have.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.evaluated = 0
        self.refused: set[Mask] = set()
        self.score = cache(partial(score, problem))
        self.gain = cache(self._gain)
        self.saving = cache(partial(apart, problem.cube.entropy))

    @property
    def work(self) -> int:
        """Verdicts, plus two for each entropy, which takes longer."""
        return self.evaluated + 2 * self.score.cache_info().currsize

    def _gain(self, separator: Mask, first: Mask, second: Mask) -> float:
        gain = apart(self.score, separator, first, second)
        if wanted := self.problem.wanted:
            gain += wanted.likely_gain(separator, first, second)
        return gain

    def allows(self, cliques: frozenset[Mask], new: Mask) -> bool:
        if new in self.refused:
            return False
        self.evaluated += 1
        refusal = self.problem.constraint(cliques, new)
        if refusal is not None and new and refusal.scope is RefusalScope.FINER:
            self.refused.add(new)
        return refusal is None


class _Walk:
    """Walk from one collection to the next. best: the cliques of the best collection so far."""

    def __init__(self, judge: _Judge, start: Iterable[Mask], stop: Stop, seed: int, *, is_blind: bool) -> None:
        problem = judge.problem
        self.judge, self.problem, self.stop, self.rng = judge, problem, stop, np.random.default_rng(seed)
        self.rounds = 0
        self.steps: list[Step] = []
        self._late = 0 if stop() else len(problem.cube.domain.attributes)
        """Candidates that are still looked at when the time ends during the walk."""
        domain = self.domain = problem.cube.domain
        self.masks, self.later = domain.attribute_masks, domain.later_steps
        self._coarser = [domain.coarser_steps(v) for v in range(domain.vertex_count)]
        self._finer = [domain.finer_steps(v) for v in range(domain.vertex_count)]
        self._all_steps = [domain.all_steps(v) for v in range(domain.vertex_count)]
        bits = [1 << v for v in range(domain.vertex_count)]
        self._crossing = problem.crossing
        self._joins = bits if problem.crossing else [low | bit for low, bit in zip(self._coarser, bits)]
        """Steps that an edge with a vertex as its second end joins with its first end, by vertex."""
        self._coarsest = [(joined & -joined).bit_length() - 1 for joined in self._joins]
        nexts = [finer & -finer for finer in self._finer]
        self._moved_with = bits if problem.crossing else [joined | near for joined, near in zip(self._joins, nexts)]
        """Vertices whose edges can change with the edges of a vertex, by vertex."""
        shared = [
            mask & attribute_mask
            for attribute_mask in self.masks
            for mask in problem.required
            if mask & attribute_mask and mask & ~attribute_mask
        ]
        self._stay = sum({mask & -mask: mask for mask in sorted(shared)}.values())
        leaves = problem.cube.log_leaves
        self._leaves = [leaves(name, level + 1) - leaves(name, level) for name, level in domain.induced_attributes]
        self._all = (1 << domain.vertex_count) - 1
        self._can_be_blind = is_blind and problem.price > 0 and problem.has_levels and not problem.wanted
        self._best = self._graph(start)
        self._add_wanted(self._best)
        new = self._best.copy()
        if self._can_be_blind:
            self._settle(new, self._all, 0, is_blind=True)
        self._improve(new)
        self._here = self._best.copy()

    @property
    def best(self) -> frozenset[Mask]:
        return self._best.cliques

    def run(self, most: float) -> None:
        count = self.domain.vertex_count
        last, losses = 0, list[float]()
        while self.rounds - last < max(PATIENCE * count, last) and self.judge.work < most and not self.stop():
            self.rounds += 1
            turn = self.rounds % (_CYCLE * count)
            if not turn:
                self._here = self._best.copy()
            new = self._kicked(self._here)
            if new.cliques == self._here.cliques or not self.judge.allows(new.cliques, 0):
                continue
            self._add_wanted(new)
            loss = new.value - self._here.value
            if new.value < self._best.value - LEAST_GAIN and self._improve(new):
                last = self.rounds
            if loss > 0:
                insort(losses, loss)
                share = _WORSE * (1 - turn / (_CYCLE * count))
                if len(losses) <= 10 or loss > losses[int(share * (len(losses) - 1))]:
                    continue
            self._here = new

    def result(self, steps: Iterable[Step]) -> SearchResult:
        return result_of("local", self.problem, self.problem.position(self.best), 0, (*steps, *self.steps))

    def _improve(self, new: _Graph) -> bool:
        """Settle a better collection as a whole, and make it the best one if it is allowed."""
        self._settle(new, self._all, 0)
        self._add_wanted(new)
        if not self.judge.allows(new.cliques, 0):
            return False
        if new.cliques != self.best:
            reason = f"a better collection in round {self.rounds}" if self.rounds else "add and remove what gains"
            before, after = (self.problem.position(cliques).divergence for cliques in (self.best, new.cliques))
            self.steps.append(Step(reason, before, after))
        self._best = new.copy()
        return True

    def _graph(self, masks: Iterable[Mask]) -> _Graph:
        cliques = maximal_masks(masks)
        graph = InteractionGraph.of(self.domain, cliques)
        return _Graph(list(graph.neighbors), graph.vertices, frozenset(cliques), self._value(cliques))

    def _value(self, cliques: Iterable[Mask]) -> float:
        tree = JunctionTree.of(self.domain, cliques)
        value = sum(map(self.judge.score, tree.cliques)) - sum(map(self.judge.score, tree.separators))
        return value - sum(self._leaves[v] for v in vertices_of(tree.vertices))

    def _add_wanted(self, graph: _Graph) -> None:
        if self.problem.wanted:
            graph.value = self._value(graph.cliques) + self.problem.wanted.value(graph.cliques)

    # The repair

    def _settle(
        self, graph: _Graph, moved: Mask, around: Mask, factors: Sequence[float] = (), *, is_blind: bool = False
    ) -> None:
        """Add and remove until nothing pays. factors: of gains, by vertex. is_blind: parameters are free at first."""
        removed = self._remove(graph, self._add(graph, moved, around, factors, is_blind=is_blind) | around)
        while removed and not self.stop():
            removed = self._remove(graph, self._add(graph, 0, removed) | removed)

    def _apart(self, graph: _Graph, vertex: int) -> Mask:
        """Return for each attribute the coarsest present step that a vertex is not adjacent to."""
        apart = graph.vertices & ~graph.neighbors[vertex] & ~(1 << vertex)
        return apart & ~(apart << 1 & self.later)

    def _add(
        self, graph: _Graph, moved: Mask, around: Mask, factors: Sequence[float] = (), *, is_blind: bool = False
    ) -> Mask:
        """Add the best edges that gain, at a moved vertex or between two around; return the vertices touched."""
        neighbors, coarser, refused, joins = graph.neighbors, self._coarser, self.judge.refused, self._joins
        gain_of = self.judge.saving if is_blind else self.judge.gain
        queue: list[_Candidate] = []

        def offer(one: int, other: int) -> None:
            one, other = self._edge(graph, one, other)
            separator, first, second = neighbors[one] & neighbors[other], 1 << one, joins[other]
            clique = separator | first | second
            if clique not in refused and (gain := gain_of(separator, first, second)) > LEAST_GAIN:
                preferred = gain * factors[one] * factors[other] if factors else gain
                heappush(queue, (-preferred, clique, one, other))

        def offer_vertex(vertex: int) -> None:
            clique = coarser[vertex] | 1 << vertex
            gain = self.judge.score(coarser[vertex]) - self.judge.score(clique) + self._leaves[vertex]
            if gain > LEAST_GAIN:
                heappush(queue, (-gain, clique, vertex, vertex))

        for vertex in vertices_of(moved & ~graph.vertices):
            if not coarser[vertex] & ~graph.vertices:
                offer_vertex(vertex)
        for one, other in self._pairs_apart(graph, moved, around):
            offer(one, other)
            if self.stop():
                break
        waiting: list[_Candidate] = []
        touched = moved
        while queue:
            if is_late := self.stop():
                self._late -= 1
                if self._late < 0:
                    break
            candidate = heappop(queue)
            _, clique, one, other = candidate
            if clique in refused or not self._may_add(graph, clique, one, other):
                continue
            if not self.judge.allows(cliques := with_clique(graph.cliques, clique), clique):
                waiting.append(candidate)
                continue
            graph.cliques = cliques
            touched |= clique
            if one == other:
                self._show(graph, one)
                if finer := self._finer[one]:
                    offer_vertex((finer & -finer).bit_length() - 1)
                near = [(1 << one, graph.vertices)]
            else:
                self._join(graph, one, other)
                near = [
                    (self._moved_with[one], neighbors[self._coarsest[other]]),
                    (self._moved_with[other], neighbors[one]),
                ]
            for moved_steps, others in () if is_late else near:
                for v in vertices_of(moved_steps & graph.vertices):
                    for w in vertices_of(self._apart(graph, v) & others):
                        if self._apart(graph, w) >> v & 1:
                            offer(v, w)
            if clique & self.problem.jointly_judged:
                for candidate in waiting:
                    heappush(queue, candidate)
                waiting = []
        return touched

    def _pairs_apart(self, graph: _Graph, moved: Mask, around: Mask) -> Iterator[tuple[int, int]]:
        concerned = list(vertices_of((moved | around) & graph.vertices))
        apart = {vertex: self._apart(graph, vertex) for vertex in concerned}
        for one in concerned:
            is_moved = moved >> one & 1
            for other in vertices_of(apart[one] if is_moved else apart[one] & around & ~moved & -(2 << one)):
                if is_moved and other < one and moved >> other & 1:
                    continue
                if (apart[other] if other in apart else self._apart(graph, other)) >> one & 1:
                    yield min(one, other), max(one, other)

    def _show(self, graph: _Graph, vertex: int) -> None:
        steps, bit = self._coarser[vertex], 1 << vertex
        for v in vertices_of(steps):
            graph.neighbors[v] |= bit
        graph.neighbors[vertex] = steps
        graph.vertices |= bit
        graph.value -= self.judge.score(steps) - self.judge.score(steps | bit) + self._leaves[vertex]

    def _join(self, graph: _Graph, one: int, other: int) -> None:
        """Add an edge; the caller, which has asked whether the new cliques are allowed, updates the cliques."""
        first, second = 1 << one, self._joins[other]
        graph.value -= self.judge.gain(graph.neighbors[one] & graph.neighbors[other], first, second)
        graph.neighbors[one] |= second
        for step in vertices_of(second):
            graph.neighbors[step] |= first

    def _edge(self, graph: _Graph, one: int, other: int) -> tuple[int, int]:
        if not self._crossing:
            later, first = (one, other) if self._coarser[one] else (other, one)
            if self._coarser[later]:
                return later, (graph.neighbors[later - 1] & self._all_steps[first]).bit_length() - 1
        return (one, other) if one < other else (other, one)

    def _may_add(self, graph: _Graph, clique: Mask, one: int, other: int) -> bool:
        if one == other:
            return not graph.vertices >> one & 1
        near, far, second, low = graph.neighbors[one], graph.neighbors[other], self._joins[other], self._coarsest[other]
        return (
            near & far | 1 << one | second == clique
            and not near & second
            and not self._coarser[one] & ~far
            and not self._coarser[other] & ~second & ~near
            and not near & ~far & graph.neighbors[low]
            and (self._crossing or self._edge(graph, one, low) == (one, other))
            and graph.separates(near & far, one, other)
        )

    def _remove(self, graph: _Graph, around: Mask) -> Mask:
        """Remove the edges that do not pay, worst first, between vertices around; return their cliques' vertices."""
        neighbors, touched = graph.neighbors, 0
        doubtful: list[tuple[float, Mask, Mask, int, int]] = []

        def offer(around: Mask) -> None:
            for one in vertices_of(around & graph.vertices):
                near = neighbors[one] & around & ~self._all_steps[one] & -(2 << one)
                while near:  # the finest step of each attribute
                    other = near.bit_length() - 1
                    near &= ~self._all_steps[other]
                    if self._finer[one] & neighbors[other] or self._finer[other] & neighbors[one]:
                        continue
                    offer_parting(one, other)
                    if not self._crossing and (self._coarser[one] or self._coarser[other]):
                        offer_parting(other, one)

        def offer_parting(one: int, other: int) -> None:
            separator, first, second = self._parted(graph, one, other)
            loss = self.judge.gain(separator, first, second)
            if loss < -LEAST_GAIN and self.problem.may_part(first | second & -second):
                heappush(doubtful, (loss, first | second, separator, one, other))

        offer(around)
        while doubtful:
            _, edge, separator, one, other = heappop(doubtful)
            if not neighbors[one] >> other & 1 or self._parted(graph, one, other)[0] != separator:
                continue
            if not self._may_remove(graph, one, other):
                continue
            if not self.judge.allows(cliques := without_edge(graph.cliques, 1 << one, self._joins[other]), 0):
                continue
            touched |= self._unjoin(graph, one, other, cliques)
            offer(separator | edge)
        return touched

    def _parted(self, graph: _Graph, one: int, other: int) -> tuple[Mask, Mask, Mask]:
        second = self._joins[other]
        return graph.neighbors[one] & graph.neighbors[other] & ~second, 1 << one, second

    def _may_remove(self, graph: _Graph, one: int, other: int) -> bool:
        near, far = graph.neighbors[one], graph.neighbors[self._coarsest[other]]
        clique = near & far | 1 << one | self._joins[other]
        has_no_finer = not self._finer[one] & far and not self._finer[other] & near
        return has_no_finer and any(not clique & ~other_clique for other_clique in graph.cliques)

    def _unjoin(self, graph: _Graph, one: int, other: int, cliques: frozenset[Mask]) -> Mask:
        separator, first, second = self._parted(graph, one, other)
        graph.neighbors[one] ^= second
        for step in vertices_of(second):
            graph.neighbors[step] ^= first
        graph.cliques = cliques
        graph.value += self.judge.gain(separator, first, second)
        return separator | first | second

    # Kicks

    def _kicked(self, graph: _Graph) -> _Graph:
        graph, draw, count = graph.copy(), self.rng.random, len(self.masks)
        moved = around = 0
        chosen = [int(self.rng.integers(count))]
        if draw() < _PART and (near := self._near(graph, chosen[0])):
            return self._made_anew(graph, self.masks[chosen[0]], self.masks[near[0]])
        takes_out = draw() < _TAKE
        if takes_out:
            if draw() < _SECOND:
                chosen += self._near(graph, chosen[0])
            for place in chosen:
                around |= self._take_out(graph, self.masks[place])
                moved |= self.masks[place]
        if not takes_out or draw() < _JOIN:
            one = chosen[int(self.rng.integers(len(chosen)))]
            others = set(self.rng.integers(count, size=int(self.rng.integers(1, 3))).tolist()) - {one}
            if others:
                graph, joined = self._joined(graph, self.masks[one], sum(self.masks[other] for other in others))
                around |= joined
        if takes_out:
            factors = np.exp(self.rng.normal(scale=_SPREAD / 2**0.5, size=self.domain.vertex_count)).tolist()
            self._settle(graph, moved, around, factors, is_blind=self._can_be_blind and draw() < _BLIND)
        else:
            self._settle(graph, moved, around)
        return graph

    def _made_anew(self, graph: _Graph, first: Mask, second: Mask) -> _Graph:
        """Part two attributes and settle again; half of the time parameters are free at first."""
        around = self._part(graph, first, second)
        if around:
            moved = around if self.rng.random() < 0.5 else 0
            if self._can_be_blind and self.rng.random() < 0.5:
                self._settle(graph, moved, around, is_blind=True)
                moved, around = 0, self._all
            self._settle(graph, moved, around)
        return graph

    def _part(self, graph: _Graph, first: Mask, second: Mask) -> Mask:
        around = 0
        for one in reversed(list(vertices_of(first & graph.vertices))):
            for other in reversed(list(vertices_of(second & graph.neighbors[one]))):
                joined = self._joins[other]
                is_kept = not self.problem.may_part(1 << one | joined & -joined)
                if graph.neighbors[one] & joined and not is_kept and self._may_remove(graph, one, other):
                    around |= self._unjoin(graph, one, other, without_edge(graph.cliques, 1 << one, joined))
        return around

    def _near(self, graph: _Graph, place: int) -> list[int]:
        shared = -1
        if self.rng.random() < _NEAR:
            shared = 0
            for clique in graph.cliques:
                if clique & self.masks[place]:
                    shared |= clique
        others = [i for i, mask in enumerate(self.masks) if i != place and shared & mask]
        return [others[int(self.rng.integers(len(others)))]] if others else []

    def _take_out(self, graph: _Graph, attribute_mask: Mask) -> Mask:
        """Take the finer steps of an attribute out of the margins that it shares; return the vertices of these margins.

        All margins with the coarsest of these steps hold the others too, so they are a part of a junction tree.
        """
        visible, stay = attribute_mask & graph.vertices, attribute_mask & self._stay
        movable = attribute_mask & ~stay
        if movable and self.rng.random() >= _WHOLLY:
            low = (
                (attribute_mask & -attribute_mask).bit_length()
                - 1
                + int(self.rng.integers(stay.bit_count(), attribute_mask.bit_count()))
            )
            movable = movable >> low << low
        taken = visible & movable
        first = taken & -taken
        holding = [clique for clique in graph.cliques if clique & first and clique & ~attribute_mask]
        if not taken or not holding:
            return 0
        score, around = self.judge.score, 0
        for clique in holding:
            around |= clique
            graph.value -= score(clique) - score(clique & ~taken)
        for separator in JunctionTree.of(self.domain, holding).separators:
            graph.value += score(separator) - score(separator & ~taken)
        graph.value += score(visible) - score(visible & ~taken)
        for vertex in vertices_of(taken):
            graph.neighbors[vertex] = visible ^ 1 << vertex
        for vertex in vertices_of(around & ~attribute_mask):
            graph.neighbors[vertex] &= ~taken
        others = [clique for clique in graph.cliques if not (clique & first and clique & ~attribute_mask)]
        reduced = maximal_masks([visible, *(clique & ~taken for clique in holding)])
        graph.cliques = frozenset(others + [c for c in reduced if not any(not c & ~other for other in others)])
        return around

    def _joined(self, graph: _Graph, first: Mask, second: Mask) -> tuple[_Graph, Mask]:
        """Join attributes by a drawn number of steps, best first; return the last allowed collection, and new cliques."""
        last, built = graph.copy(), 0
        for _ in range(int(self.rng.integers(1, first.bit_count() * second.bit_count() + 1))):
            for step in sorted(self._steps(graph, first, second)):
                _, _, clique, *ends = step
                is_allowed = self.judge.allows(cliques := with_clique(graph.cliques, clique), clique)
                if is_allowed or clique not in self.judge.refused:
                    break
            else:
                break
            self._join(graph, *ends)
            graph.cliques, built = cliques, built | clique
            if is_allowed:
                last = graph.copy()
        return last, built

    def _steps(self, graph: _Graph, first: Mask, second: Mask) -> Iterator[tuple[float, Mask, Mask, int, int]]:
        for vertex in vertices_of(first & graph.vertices):
            for near in vertices_of(second & self._apart(graph, vertex)):
                if self._apart(graph, near) >> vertex & 1:
                    one, other = self._edge(graph, vertex, near)
                    separator = graph.neighbors[one] & graph.neighbors[other]
                    edge = 1 << one | self._joins[other]
                    clique = separator | edge
                    if clique not in self.judge.refused and self._may_add(graph, clique, one, other):
                        loss = -self.judge.gain(separator, 1 << one, self._joins[other])
                        yield loss, edge, clique, one, other
