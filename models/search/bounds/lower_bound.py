"""How good a collection can get at most: a lower bound on the objective, from the margins that are allowed alone.

A decomposable collection in perfect sequence shows its induced attributes one after another, coarser steps first, each
together with some of those before it in a single clique. Its objective is therefore

    sum_v [ s(P_v + v) - s(P_v) ] + sum_B E_p[ln leaves_B] - H(p),    s(E) = H(E) + price * (cells(E) - 1),

with P_v + v part of an allowed margin and P_v part of what was shown before. The bound lets each v choose its P_v
freely and drops all that a constraint says of margins together. Over an order it is a shortest path through the lattice
of margins, as in the exact search for Bayesian networks of Silander and Myllymaki (UAI 2006).

Where the lattice is too large, only some resolutions of each attribute are told apart. Let up(E) be a margin E with each
attribute refined to the next of these. Of a decomposable collection of margins E_1, .., E_m the margins up(E_1), .., up(E_m)
have the same junction tree: where steps are added that come with one that was there before, the cliques of a new step are
those of the old one and are connected. They show at least as much, so their KL divergence is no larger (KG06 Theorem 6.3).
And up(E) comes of an allowed margin only when the coarsest margin with the same up is allowed. So the bound over the margins
up(E) that pass this test, parameters without a price, is one for all allowed collections.

Beyond that, every collection is coarser than the table that shows each attribute as finely as it is allowed by itself.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from models.arrays import FloatArray, IndexArray
from models.search.constraint import RefusalScope
from models.search.problem import Problem, Stop
from models.tables.domain import Mask

LARGEST_LATTICE = 1 << 16
"""Margins of a domain beyond which not all of them are told apart."""

Node: TypeAlias = tuple[int, ...]
"""The resolution of each attribute; in a grid, the place of it among those that are told apart."""

Grid: TypeAlias = tuple[tuple[int, ...], ...]
"""For each attribute the resolutions that are told apart, ascending from 0."""


def lattice_size(problem: Problem) -> int:
    """Number of margins of the domain, the empty one included."""
    return int(np.prod([h.height + 1 for h in problem.cube.domain.hierarchies], dtype=float))


def allowed_margins(problem: Problem, stop: Stop, grid: Grid | None = None) -> dict[Mask, Node] | None:
    """The margins that may be published by themselves, or as parts of others, coarser before finer; None when stopped.

    A margin is looked at only when all that are one step coarser are allowed. grid: of margins at these resolutions,
    those that an allowed margin can be refined to.
    """
    grid = grid or whole_grid(problem)
    nothing = (0,) * len(grid)
    allowed: dict[Mask, Node] = {0: nothing}
    frontier, passing, looked_at = [nothing], {nothing}, {nothing}
    while frontier:
        following: list[Node] = []
        for node in frontier:
            for i, resolutions in enumerate(grid):
                finer = (*node[:i], node[i] + 1, *node[i + 1 :])
                if finer[i] == len(resolutions) or finer in looked_at or not passing.issuperset(_coarser(finer)):
                    continue
                if stop():
                    return None
                looked_at.add(finer)
                coarsest = _mask(problem, (r[place - 1] + 1 if place else 0 for r, place in zip(grid, finer)))
                if _is_allowed(problem, coarsest):
                    mask = _mask(problem, (r[place] for r, place in zip(grid, finer)))
                    allowed[mask] = finer
                    _ = problem.cube.entropy(mask)  # remembered, so that the bound itself takes no time
                    passing.add(finer)
                    following.append(finer)
        frontier = following
    return allowed


def _coarser(node: Node) -> Iterable[Node]:
    """Those one step coarser."""
    return ((*node[:i], place - 1, *node[i + 1 :]) for i, place in enumerate(node) if place)


def _mask(problem: Problem, node: Iterable[int]) -> Mask:
    return sum(((1 << resolution) - 1) << offset for resolution, offset in zip(node, problem.cube.domain.offsets))


def _is_allowed(problem: Problem, mask: Mask) -> bool:
    """By itself, or as a part of another."""
    refusal = problem.constraint((mask,), mask)
    return refusal is None or refusal.scope is not RefusalScope.FINER


def whole_grid(problem: Problem) -> Grid:
    """Every resolution of each attribute."""
    return tuple(tuple(range(hierarchy.height + 1)) for hierarchy in problem.cube.domain.hierarchies)


def finest_alone(problem: Problem) -> Node:
    """The finest resolution at which each attribute is allowed by itself; 0 for none."""
    finest = []
    for i, hierarchy in enumerate(problem.cube.domain.hierarchies):
        node = [0] * len(problem.cube.domain.attributes)
        while node[i] < hierarchy.height and _is_allowed(
            problem, _mask(problem, [*node[:i], node[i] + 1, *node[i + 1 :]])
        ):
            node[i] += 1
        finest.append(node[i])
    return tuple(finest)


def coarse_grid(problem: Problem, finest: Node, most: int) -> Grid | None:
    """Resolutions such that there are so many margins at most; None where 0 and the finest of each are too many.

    finest: of each attribute. The margins that are refined to one resolution have entropies from the coarsest to that
    resolution; the widest such range is halved first, of equals that of the first attribute.
    """
    domain = problem.cube.domain
    entropies = [
        [problem.cube.entropy(((1 << resolution) - 1) << offset) for resolution in range(last + 1)]
        for offset, last in zip(domain.offsets, finest)
    ]
    grid = tuple((0, last) if last else (0,) for last in finest)
    if _size(grid) > most:
        return None
    while True:
        ranges = [
            (own[high] - own[low + 1], -i, low, high)
            for i, (own, resolutions) in enumerate(zip(entropies, grid))
            for low, high in pairwise(resolutions)
            if high - low > 1
        ]
        if not ranges:
            return grid
        _, place, low, high = max(ranges)
        own = entropies[-place]
        middle = (own[low + 1] + own[high]) / 2
        between = min(range(low + 1, high), key=lambda resolution: abs(own[resolution] - middle))
        halved = tuple(sorted((*r, between)) if i == -place else r for i, r in enumerate(grid))
        if _size(halved) > most:
            return grid
        grid = tuple(map(tuple, halved))


def _size(grid: Iterable[Sequence[int]]) -> float:
    return float(np.prod([len(resolutions) for resolutions in grid], dtype=float))


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
    parameters = problem.cube.cell_count(mask) - 1
    return problem.cube.entropy(mask) + (problem.price * parameters if problem.price else 0.0)


def lower_bound(problem: Problem, allowed: Mapping[Mask, Node], grid: Grid | None = None) -> LowerBound:
    """The bound from the margins that are allowed by themselves, in a grid as `allowed_margins` gives them."""
    grid = grid or whole_grid(problem)
    shape = tuple(map(len, grid))
    scores: FloatArray = np.full(shape, np.inf)
    for mask, node in allowed.items():
        scores[node] = score(problem, mask)
    steps = [_step_costs(scores, axis) for axis in range(len(shape))]
    return LowerBound(problem, shortest_paths(hidden_leaves(problem, grid), steps))


def shortest_paths(hidden: FloatArray, step_costs: Sequence[FloatArray]) -> FloatArray:
    """The least nats that all steps from each margin on can cost, those of what stays hidden at the end included.

    hidden: nats where nothing more is shown, an axis for each attribute. step_costs: for each axis, of the same shape, the
    least that the next step of that attribute costs beside the margin itself; infinite where it is not allowed. Beside a
    part of a margin it may cost less, and is taken for that.
    """
    remaining = hidden.copy()
    flat, shape = remaining.reshape(-1), remaining.shape
    steps = [
        (_beside_any_part(costs, axis).reshape(-1), int(np.prod(shape[axis + 1 :])))
        for axis, costs in enumerate(step_costs)
    ]
    for nodes in _finer_first(shape):
        for costs, stride in steps:
            extendable = nodes[np.isfinite(costs[nodes])]
            flat[extendable] = np.minimum(flat[extendable], costs[extendable] + flat[extendable + stride])
    return remaining


def of_finest_levels(problem: Problem, finest: Node) -> float:
    """The KL divergence in nats of the table of all attributes at these resolutions, which no coarser collection undercuts.

    Where the whole table is not at hand, a part of it: base values under one value are at most as independent as their
    attributes by themselves tell.
    """
    cube = problem.cube
    levels = [hierarchy.height - resolution for hierarchy, resolution in zip(cube.domain.hierarchies, finest)]
    leaves = sum(map(cube.log_leaves, cube.domain.attributes, levels))
    own = [((1 << resolution) - 1) << offset for resolution, offset in zip(finest, cube.domain.offsets)]
    base = cube.domain.attribute_masks
    if cube.holds(sum(base)):
        return max(leaves + cube.entropy(sum(own)) - cube.entropy(sum(base)), 0.0)
    return max(leaves + sum(map(cube.entropy, own)) - sum(map(cube.entropy, base)), 0.0)


def _finer_first(shape: tuple[int, ...]) -> Iterable[IndexArray]:
    """The flat positions of all margins, those together that show as many induced attributes, most first."""
    rank = np.indices(shape).sum(axis=0).reshape(-1)
    order = np.argsort(-rank, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(rank[order])) + 1)


def hidden_leaves(problem: Problem, grid: Grid, places: Sequence[int] | None = None) -> FloatArray:
    """The nats that the leaves of some attributes, of all by default, cost where nothing more is shown: an axis for each."""
    domain = problem.cube.domain
    places = range(len(grid)) if places is None else places
    total: FloatArray = np.zeros([len(grid[place]) for place in places])
    for axis, place in enumerate(places):
        hierarchy = domain.hierarchies[place]
        leaves = [problem.cube.log_leaves(domain.attributes[place], hierarchy.height - r) for r in grid[place]]
        total += np.reshape(leaves, [-1 if other == axis else 1 for other in range(total.ndim)])
    return total


def _step_costs(scores: FloatArray, axis: int) -> FloatArray:
    """For each margin what showing one step more of an attribute beside it costs. scores: infinite where not allowed."""
    costs: FloatArray = np.full(scores.shape, np.inf)
    before, finer = np.moveaxis(scores, axis, 0)[:-1], np.moveaxis(scores, axis, 0)[1:]
    allowed = np.isfinite(finer)
    np.moveaxis(costs, axis, 0)[:-1][allowed] = finer[allowed] - before[allowed]
    return costs


def _beside_any_part(costs: FloatArray, axis: int) -> FloatArray:
    """For each margin the least that the step costs beside any part of it with as much of the attribute of the step."""
    least = costs.copy()
    for other in range(costs.ndim):
        if other != axis:
            np.minimum.accumulate(least, axis=other, out=least)
    return least
