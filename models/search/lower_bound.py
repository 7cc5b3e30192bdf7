"""How good a collection can get at most: a lower bound on the objective, from the margins that are allowed alone.

A decomposable collection in perfect sequence shows its induced attributes one after another, coarser steps first, each
together with some of those before it in a single clique. Its objective is therefore

    sum_v [ s(P_v + v) - s(P_v) ] + sum_B E_p[ln leaves_B] - H(p),    s(E) = H(E) + price * (cells(E) - 1),

with P_v + v part of an allowed margin and P_v part of what was shown before. The bound lets each v choose its P_v
freely and drops all that a constraint says of margins together. Over an order it is a shortest path through the lattice
of margins, as in the exact search for Bayesian networks of Silander and Myllymaki (UAI 2006).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from models.arrays import FloatArray, IndexArray
from models.search.constraint import RefusalScope
from models.search.objective import PenalizedDivergence
from models.search.problem import Problem, Stop
from models.search.result import SearchResult
from models.tables.domain import Mask

LARGEST_LATTICE = 1 << 16
"""Margins of a domain beyond which no bound is computed."""

Node: TypeAlias = tuple[int, ...]
"""The resolution of each attribute."""


def lattice_size(problem: Problem) -> int:
    """Number of margins of the domain, the empty one included."""
    return int(np.prod([h.height + 1 for h in problem.cube.domain.hierarchies], dtype=float))


def allowed_margins(problem: Problem, stop: Stop) -> dict[Mask, Node] | None:
    """The margins that may be published by themselves, or as parts of others, coarser before finer; None when stopped.

    A margin is looked at only when all that are one step coarser are allowed.
    """
    domain = problem.cube.domain
    heights = [hierarchy.height for hierarchy in domain.hierarchies]
    allowed: dict[Mask, Node] = {0: (0,) * len(heights)}
    frontier = [0]
    while frontier:
        following: list[Mask] = []
        for mask in frontier:
            node = allowed[mask]
            for i, height in enumerate(heights):
                finer = mask | 1 << (domain.offsets[i] + node[i])
                if node[i] == height or finer in allowed or not _all_coarser(problem, finer, allowed):
                    continue
                if stop():
                    return None
                refusal = problem.constraint((finer,), finer)
                if refusal is None or refusal.scope is not RefusalScope.FINER:
                    allowed[finer] = (*node[:i], node[i] + 1, *node[i + 1 :])
                    _ = problem.cube.entropy(finer)  # remembered, so that the bound itself takes no time
                    following.append(finer)
        frontier = following
    return allowed


def _all_coarser(problem: Problem, mask: Mask, allowed: Mapping[Mask, Node]) -> bool:
    domain = problem.cube.domain
    finest = (own & mask for own in domain.attribute_masks)
    return all(mask ^ 1 << (own.bit_length() - 1) in allowed for own in finest if own)


@dataclass(frozen=True, eq=False)
class LowerBound:
    """Lower bounds on what is still to come. remaining: shape (resolutions of the first attribute, of the second, ..);
    nats to be added to the separators and cliques of a collection that shows so much, in all that go on from it.
    """

    problem: Problem
    remaining: FloatArray

    @property
    def value(self) -> float:
        """No allowed collection has a smaller objective, in nats."""
        base = sum(self.problem.cube.domain.attribute_masks)
        return max(float(self.remaining[(0,) * self.remaining.ndim]) - self.problem.cube.entropy(base), 0.0)

    def to_go(self, vertices: Mask) -> float:
        """The remaining nats of a collection that shows these induced attributes."""
        own = self.problem.cube.domain.attribute_masks
        return float(self.remaining[tuple((vertices & m).bit_count() for m in own)])


def score(problem: Problem, mask: Mask) -> float:
    """s(E) of a margin, in nats."""
    parameters = problem.cube.domain.cell_count(mask) - 1
    return problem.cube.entropy(mask) + (problem.price * parameters if problem.price else 0.0)


def lower_bound(problem: Problem, allowed: Mapping[Mask, Node]) -> LowerBound:
    """The bound from the margins that are allowed by themselves."""
    shape = tuple(hierarchy.height + 1 for hierarchy in problem.cube.domain.hierarchies)
    scores: FloatArray = np.full(shape, np.inf)
    for mask, node in allowed.items():
        scores[node] = score(problem, mask)
    remaining = _hidden(problem, shape)
    flat = remaining.reshape(-1)
    steps = [(_joining(scores, axis).reshape(-1), int(np.prod(shape[axis + 1 :]))) for axis in range(len(shape))]
    for nodes in _finer_first(shape):
        for costs, stride in steps:
            extendable = nodes[np.isfinite(costs[nodes])]
            flat[extendable] = np.minimum(flat[extendable], costs[extendable] + flat[extendable + stride])
    return LowerBound(problem, remaining)


def with_bound(result: SearchResult, problem: Problem, stop: Stop) -> SearchResult:
    """A result that also says how far from the best allowed collection it can be, where that can be bounded in time."""
    small = lattice_size(problem) <= LARGEST_LATTICE and isinstance(problem.objective, PenalizedDivergence)
    if result.bound is not None or not small or (allowed := allowed_margins(problem, stop)) is None:
        return result
    return replace(result, bound=lower_bound(problem, allowed).value)


def _finer_first(shape: tuple[int, ...]) -> Iterable[IndexArray]:
    """The flat positions of all margins, those together that show as many induced attributes, most first."""
    rank = np.indices(shape).sum(axis=0).reshape(-1)
    order = np.argsort(-rank, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(rank[order])) + 1)


def _hidden(problem: Problem, shape: tuple[int, ...]) -> FloatArray:
    """The nats that the leaves cost where nothing more is shown."""
    total: FloatArray = np.zeros(shape)
    for i, (attribute, size) in enumerate(zip(problem.cube.domain.attributes, shape)):
        leaves = np.array([problem.cube.log_leaves(attribute, level) for level in reversed(range(size))])
        total += leaves.reshape([-1 if axis == i else 1 for axis in range(len(shape))])
    return total


def _joining(scores: FloatArray, axis: int) -> FloatArray:
    """For each margin, the least that showing one step more of an attribute costs, beside any part of the margin.

    scores: s(E) of each margin, infinite where it is not allowed.
    """
    costs: FloatArray = np.full(scores.shape, np.inf)
    before, finer = np.moveaxis(scores, axis, 0)[:-1], np.moveaxis(scores, axis, 0)[1:]
    allowed = np.isfinite(finer)
    np.moveaxis(costs, axis, 0)[:-1][allowed] = finer[allowed] - before[allowed]
    for other in range(scores.ndim):
        if other != axis:
            np.minimum.accumulate(costs, axis=other, out=costs)
    return costs
