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

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import inf
from typing import TypeAlias

import numpy as np

from models.arrays import BoolArray, FloatArray, IndexArray
from models.search.problem import Problem, Stop
from models.tables.hierarchy import Mask

LARGEST_LATTICE = 1 << 16
"""Margins of a domain beyond which not all of them are told apart."""

Node: TypeAlias = tuple[int, ...]
"""The resolution of each attribute; in a grid, the place of it among those that are told apart."""

Grid: TypeAlias = tuple[tuple[int, ...], ...]
"""For each attribute the resolutions that are told apart, ascending from 0."""


def lattice_size(problem: Problem) -> int:
    """Number of margins of the domain, the empty one included."""
    return int(np.prod([h.height + 1 for h in problem.cube.domain.hierarchies], dtype=float))


def allowed_margins(
    problem: Problem, stop: Stop, grid: Grid | None = None, most: float = inf
) -> dict[Mask, Node] | None:
    """The margins that may be published by themselves, or as parts of others, coarser before finer; None when stopped.

    A margin is looked at only when all that are one step coarser are allowed. grid: of margins at these resolutions,
    those that an allowed margin can be refined to. most: margins that may have to be looked at; None where there are more.
    """
    grid = grid or whole_grid(problem)
    steps = grid_steps(problem, grid)
    coarsest = [[0, *(resolved(problem, i, low + 1) for low in resolutions[:-1])] for i, resolutions in enumerate(grid)]
    allowed: dict[Mask, Node] = {0: (0,) * len(grid)}
    frontier: dict[Mask, _Shown] = {0: ()}
    while frontier:
        following: dict[Mask, _Shown] = {}
        finer = _one_step_finer(frontier, grid, steps, most)
        if finer is None:
            return None
        most -= len(finer)
        for mask, steps_shown in finer:
            if stop():
                return None
            if not problem.refuses(sum(coarsest[i][place] for i, place in steps_shown)):
                node = [0] * len(grid)
                for i, place in steps_shown:
                    node[i] = place
                allowed[mask] = tuple(node)
                _ = problem.cube.entropy(mask)  # remembered, so that the bound itself takes no time
                following[mask] = steps_shown
        frontier = following
    return allowed


_Shown: TypeAlias = tuple[tuple[int, int], ...]
"""The attributes that a margin of a grid shows, ascending, and the place of the resolution of each."""


def _one_step_finer(
    frontier: Mapping[Mask, _Shown], grid: Grid, steps: Sequence[Sequence[Mask]], most: float
) -> list[tuple[Mask, _Shown]] | None:
    """Those one step finer than some of a frontier all of whose own coarser ones are in it, by the first of these.

    Each is made once: of the one that shows less of its last attribute. None where there are more than so many.
    """
    position = {mask: number for number, mask in enumerate(frontier)}
    result: list[tuple[int, int, Mask, _Shown]] = []
    for mask, steps_shown in frontier.items():
        if len(result) > most:
            return None
        last, place = steps_shown[-1] if steps_shown else (0, 0)
        for i in range(last, len(grid)):
            finer = place + 1 if i == last else 1
            if finer == len(grid[i]):
                continue
            candidate = mask | steps[i][finer]
            extended = (*steps_shown[:-1], (i, finer)) if steps_shown and i == last else (*steps_shown, (i, finer))
            first, step = len(position), 0
            for other, at in extended:
                coarser = position.get(candidate ^ steps[other][at])
                if coarser is None:
                    break
                if coarser < first:
                    first, step = coarser, other
            else:
                result.append((first, step, candidate, extended))
    return None if len(result) > most else [(mask, steps_shown) for *_, mask, steps_shown in sorted(result)]


def resolved(problem: Problem, place: int, resolution: int) -> Mask:
    """An attribute at a resolution."""
    return ((1 << resolution) - 1) << problem.cube.domain.offsets[place]


def grid_steps(problem: Problem, grid: Grid) -> list[list[Mask]]:
    """For each attribute and each resolution told apart the steps that it has beyond the one before; none for the first."""
    return [
        [0, *(resolved(problem, i, high) ^ resolved(problem, i, low) for low, high in pairwise(resolutions))]
        for i, resolutions in enumerate(grid)
    ]


def whole_grid(problem: Problem) -> Grid:
    """Every resolution of each attribute."""
    return tuple(tuple(range(hierarchy.height + 1)) for hierarchy in problem.cube.domain.hierarchies)


def finest_alone(problem: Problem) -> Node:
    """The finest resolution at which each attribute is allowed by itself; 0 for none."""
    finest = []
    for i, hierarchy in enumerate(problem.cube.domain.hierarchies):
        resolution = 0
        while resolution < hierarchy.height:
            if problem.refuses(resolved(problem, i, resolution + 1)):
                break
            resolution += 1
        finest.append(resolution)
    return tuple(finest)


def coarse_grid(problem: Problem, finest: Node, most: int) -> Grid | None:
    """Resolutions such that there are so many margins at most; None where 0 and the finest of each are too many.

    finest: of each attribute. The margins that are refined to one resolution have entropies from the coarsest to that
    resolution; the widest such range is halved first, of equals that of the first attribute.
    """
    entropies = [
        [problem.cube.entropy(resolved(problem, i, resolution)) for resolution in range(last + 1)]
        for i, last in enumerate(finest)
    ]
    grid = tuple((0, last) if last else (0,) for last in finest)
    if _size(grid) > most:
        return None
    while True:
        ranges = [
            (entropy[high] - entropy[low + 1], -i, low, high)
            for i, (entropy, resolutions) in enumerate(zip(entropies, grid))
            for low, high in pairwise(resolutions)
            if high - low > 1
        ]
        if not ranges:
            return grid
        _, place, low, high = max(ranges)
        attribute_entropies = entropies[-place]
        middle = (attribute_entropies[low + 1] + attribute_entropies[high]) / 2
        between = min(range(low + 1, high), key=lambda resolution: abs(attribute_entropies[resolution] - middle))
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
        least = float(self.remaining[(0,) * self.remaining.ndim]) - self.problem.cube.entropy(base)
        return max(least, 0.0) if self.problem.cube.is_bounded_by_divergence else least

    def to_go(self, vertices: Mask) -> float:
        """The remaining nats of a collection that shows these induced attributes."""
        attribute_masks = self.problem.cube.domain.attribute_masks
        return float(self.remaining[tuple((vertices & m).bit_count() for m in attribute_masks)])


def score(problem: Problem, mask: Mask) -> float:
    """s(E) of a margin, in nats."""
    entropy, price = problem.cube.entropy(mask), problem.price
    return entropy + price * problem.cube.complexity(mask) if price else entropy


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
    finest_masks = [resolved(problem, i, resolution) for i, resolution in enumerate(finest)]
    base = cube.domain.attribute_masks
    if cube.holds(sum(base)):
        return max(leaves + cube.entropy(sum(finest_masks)) - cube.entropy(sum(base)), 0.0)
    return max(leaves + sum(map(cube.entropy, finest_masks)) - sum(map(cube.entropy, base)), 0.0)


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


_LARGEST_KEY = 1 << 62
"""Numbers of margins stay below this."""

_CHUNK = 1 << 17
"""Sets that may be looked at, before those are left out of which some part is missing, laid out at once."""


@dataclass(frozen=True, eq=False)
class GridSteps:
    """The resolutions of a grid but for 0, numbered by attribute, then by resolution: a margin is a set of these numbers.

    attributes: the place of each one's attribute in the domain, shape (steps,). resolutions: its place among the
    resolutions that are told apart, from 1. coarse, fine: the coarsest and the finest margin that it stands for.
    """

    attributes: IndexArray
    resolutions: IndexArray
    coarse: tuple[Mask, ...]
    fine: tuple[Mask, ...]

    @classmethod
    def of(cls, problem: Problem, grid: Grid) -> "GridSteps":
        """Those of a grid."""
        steps = [(place, at) for place, of_attribute in enumerate(grid) for at in range(1, len(of_attribute))]
        attributes, resolutions = np.array(steps, dtype=np.intp).reshape(-1, 2).T
        coarse = tuple(resolved(problem, place, grid[place][at - 1] + 1) for place, at in steps)
        return cls(
            attributes, resolutions, coarse, tuple(resolved(problem, place, grid[place][at]) for place, at in steps)
        )

    def __len__(self) -> int:
        return len(self.coarse)

    @property
    def are_exact(self) -> bool:
        """Whether each stands for one margin alone."""
        return self.coarse == self.fine

    @property
    def has_ladders(self) -> bool:
        """Whether several resolutions of some attribute are told apart."""
        return bool((self.resolutions > 1).any())


@dataclass(frozen=True, eq=False)
class MarginSets:
    """Margins that show equally many attributes.

    steps: of the grid. members: shape (margins, attributes shown), the numbers of its steps, ascending; the margins
    themselves ascend. entropies: shape (margins,), nats.
    """

    steps: GridSteps
    members: IndexArray
    entropies: FloatArray

    @classmethod
    def empty(cls, steps: GridSteps) -> "MarginSets":
        """The margin that shows nothing."""
        return cls(steps, np.empty((1, 0), dtype=np.intp), np.zeros(1))

    def __len__(self) -> int:
        return len(self.members)

    def positions(self, members: IndexArray) -> IndexArray:
        """Where margins are that are here; of others the place of any. members: shape (margins, attributes shown)."""
        return self._index.sought(members)[0]

    def are_here(self, members: IndexArray) -> BoolArray:
        """Which of some margins of as many attributes are among these; members: shape (margins, attributes shown)."""
        return self._index.sought(members)[1]

    @cached_property
    def _index(self) -> "MarginIndex":
        return MarginIndex(len(self.steps), self.members)

    @cached_property
    def _joined(self) -> tuple[IndexArray, IndexArray]:
        """For each margin the first one after it that differs from it in the last attribute alone, and how many do."""
        attribute = self.steps.attributes[self.members[:, -1]]
        ends_alike = np.any(self.members[1:, :-1] != self.members[:-1, :-1], axis=1)
        first = _ends(ends_alike | (attribute[1:] != attribute[:-1]), len(self))
        return first, _ends(ends_alike, len(self)) - first

    @property
    def following(self) -> IndexArray:
        """How many margins after each one differ from it in the last attribute alone: shape (margins,)."""
        return self._joined[1]

    def larger(self) -> Iterator[IndexArray]:
        """The margins of one attribute more all of whose parts are here, ascending, some at a time.

        Arrays of shape (margins, size + 1).
        """
        first, following = self._joined
        chunks = np.cumsum(following) // _CHUNK
        for chunk in np.split(np.arange(len(self)), np.flatnonzero(np.diff(chunks)) + 1):
            numbers_following = following[chunk]
            one, before = np.repeat(chunk, numbers_following), np.cumsum(numbers_following) - numbers_following
            other = np.repeat(first[chunk] - before, numbers_following) + np.arange(len(one))
            members = np.column_stack((self.members[one], self.members[other, -1]))
            for column in range(members.shape[1] - 2):
                members = members[self.are_here(np.delete(members, column, axis=1))]
            if len(members):
                yield members


class MarginIndex:
    """Where margins of one size are among some, by a number for each.

    steps: of the grid. members: shape (margins, attributes shown), ascending.
    """

    def __init__(self, steps: int, members: IndexArray) -> None:
        self._steps = steps
        self._beginnings: list[IndexArray] = []
        """Numbers of beginnings, ascending, each time that they grow too large: their ranks take their place."""
        keys, space = np.zeros(len(members), dtype=np.intp), 1
        for column in members.T:
            if space > _LARGEST_KEY // steps:
                self._beginnings.append(np.unique(keys))
                keys, space = np.searchsorted(self._beginnings[-1], keys), max(len(self._beginnings[-1]), 1)
            keys, space = keys * steps + column, space * steps
        self._keys = keys

    def sought(self, members: IndexArray) -> tuple[IndexArray, BoolArray]:
        """Where some margins are, of those that are not there any place, and which are there."""
        keys, space = np.zeros(len(members), dtype=np.intp), 1
        beginnings = iter(self._beginnings)
        for column in members.T:
            if space > _LARGEST_KEY // self._steps:
                known = next(beginnings)
                at, is_known = _sought(known, keys)
                keys, space = np.where(is_known, at, -1), max(len(known), 1)
            keys, space = keys * self._steps + column, space * self._steps
        return _sought(self._keys, keys)


def _sought(ascending: IndexArray, keys: IndexArray) -> tuple[IndexArray, BoolArray]:
    """Where some numbers are among others that ascend, and which are."""
    at = np.minimum(np.searchsorted(ascending, keys), len(ascending) - 1)
    return at, ascending[at] == keys


def _ends(differs: BoolArray, length: int) -> IndexArray:
    """Where the run ends that each element is in. differs: whether each but the first begins a run."""
    ends = np.append(np.flatnonzero(differs) + 1, length)
    return np.repeat(ends, np.diff(ends, prepend=0))


@dataclass(frozen=True, eq=False)
class LastSteps:
    """Allowed margins that show equally many attributes, and what the last step of each of their attributes costs.

    places: shape (margins, attributes shown), of these in the domain, ascending. resolutions: of the same shape, the place
    of each among those that are told apart, from 1. costs: of the same shape, nats. scores: s(E), shape (margins,), nats.
    """

    places: IndexArray
    resolutions: IndexArray
    costs: FloatArray
    scores: FloatArray


def of_margins(problem: Problem, allowed: Mapping[Mask, Node], grid: Grid) -> list[LastSteps]:
    """Those of margins as `allowed_margins` gives them for a grid."""
    steps = grid_steps(problem, grid)
    scores = {mask: score(problem, mask) for mask in allowed}
    nodes = np.array(list(allowed.values()), dtype=np.intp)
    margin_scores, masks, sizes = np.array(list(scores.values())), list(allowed), np.count_nonzero(nodes, axis=1)
    last_steps = []
    for size in range(1, int(sizes.max(initial=0)) + 1):
        numbers = np.flatnonzero(sizes == size)
        places = np.nonzero(nodes[numbers])[1].reshape(-1, size)
        resolutions = np.take_along_axis(nodes[numbers], places, axis=1)
        coarser = [
            [scores[masks[number] ^ steps[place][at]] for place, at in zip(*of_margin)]
            for number, *of_margin in zip(numbers.tolist(), places.tolist(), resolutions.tolist())
        ]
        costs = margin_scores[numbers, None] - np.array(coarser, dtype=np.float64).reshape(-1, size)
        last_steps.append(LastSteps(places, resolutions, costs, margin_scores[numbers]))
    return last_steps


def of_sets(margin_sets: Sequence[MarginSets]) -> list[LastSteps]:
    """Those of margins as `counted_margins` gives them, of one attribute first."""
    last_steps = []
    for margins, fewer in zip(margin_sets, (MarginSets.empty(margin_sets[0].steps), *margin_sets)):
        steps, members = margins.steps, margins.members
        resolutions = steps.resolutions[members]
        costs = np.empty(members.shape)
        for column in range(members.shape[1]):
            is_coarsest = resolutions[:, column] == 1
            without = np.delete(members[is_coarsest], column, axis=1)
            coarser = members[~is_coarsest]
            coarser[:, column] -= 1
            costs[is_coarsest, column] = fewer.entropies[fewer.positions(without)]
            costs[~is_coarsest, column] = margins.entropies[margins.positions(coarser)]
        costs = margins.entropies[:, None] - costs
        last_steps.append(LastSteps(steps.attributes[members], resolutions, costs, margins.entropies))
    return last_steps
