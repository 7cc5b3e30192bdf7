"""Lower bound on the objective of all collections, from the margins that are allowed one by one.

A decomposable collection in perfect sequence shows its induced attributes one after another, coarser steps first. Each
is shown together with some earlier ones in a single clique. Its objective is therefore

    sum_v [ s(P_v + v) - s(P_v) ] + sum_B E_p[ln leaves_B] - H(p),    s(E) = H(E) + price * (cells(E) - 1),

with P_v + v part of an allowed margin and P_v part of what was shown before. The bound lets each v choose its P_v
freely, and ignores what a constraint says of margins together. Over an order it is a shortest path through the lattice
of margins, as in exact search for Bayesian networks (Silander and Myllymaki, UAI 2006).

If that lattice is too large, the attributes are split into blocks. Let v be a step of an attribute in a block. P_v has
a part in the block, which was shown before as well, and a part outside. Whatever that is,

    s(P_v + v) - s(P_v)  >=  min_E [ s(E) - s(E - v) ]

over the allowed margins E with v as the finest step of its attribute and other steps in the block shown before. P_v +
v is one of them. So a block costs at least the shortest path, with these costs, through the lattice of the block. Its
cost is the sum over its steps and leaves. The sum over the blocks, less H(p), is a bound. Blocks borrow from each
other against the order, so a block holds attributes that tell most of each other. One block of all attributes gives
the bound above.
"""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, count, pairwise
from math import inf, prod
from typing import TypeAlias

import numpy as np

from models.arrays import FloatArray
from models.deadline import NEVER, Deadline
from models.frozen import frozen
from models.search.problem import PenalizedDivergence, Problem, SearchResult, Stop
from models.tables.hierarchy import Mask

LARGEST_LATTICE = 1 << 16
"""Most margins in the lattice of a block; larger domains are split into blocks."""

_MOST_MARGINS = 1 << 17
"""Most margins that are examined."""

Block: TypeAlias = tuple[int, ...]
"""Places of attributes in the domain, ascending."""


def lattice_size(problem: Problem) -> int:
    """Return the number of margins of the domain, the empty one included."""
    return prod(hierarchy.height + 1 for hierarchy in problem.cube.domain.hierarchies)


def with_bound(result: SearchResult, problem: Problem, deadline: Deadline = NEVER) -> SearchResult:
    """Return a search result with a lower bound on the objective of all allowed collections, if there is time for one.

    If the lattice is too large, it is a bound by blocks. There is none if too many margins are allowed, or if base
    values are counted elsewhere.

    Parameters
    ----------
    result
        Result of any strategy.
    problem
        The problem that was searched.
    deadline
        Time at which the bound is taken as it is.
    """
    is_counted_here = problem.cube.holds(sum(problem.cube.domain.attribute_masks))
    is_small = lattice_size(problem) <= LARGEST_LATTICE
    can_be_bounded = isinstance(problem.objective, PenalizedDivergence) and (is_small or is_counted_here)
    if result.bound is not None or not can_be_bounded or (allowed := allowed_margins(problem, deadline)) is None:
        return result
    return replace(result, bound=lower_bound(problem, allowed).value)


def _ladders(problem: Problem) -> list[list[Mask]]:
    domain = problem.cube.domain
    sizes = zip(domain.offsets, domain.hierarchies)
    return [[((1 << r) - 1) << offset for r in range(hierarchy.height + 1)] for offset, hierarchy in sizes]


def allowed_margins(problem: Problem, stop: Stop) -> list[Mask] | None:
    """Return the margins that may be published by themselves, or as parts of others, coarser before finer.

    A margin is examined only if all margins that are one step coarser are allowed. None if stopped, or if there are
    too many margins.
    """
    ladders, looks = _ladders(problem), count()
    allowed, frontier = {0: ()}, [0]
    while frontier:
        finer = []
        for margin in _one_step_finer(problem, frontier, allowed, ladders):
            if stop() or next(looks) >= _MOST_MARGINS:
                return None
            if not problem.refuses(margin):
                _ = problem.cube.entropy(margin)  # fills the cache, so that the bound itself takes no time
                finer.append(margin)
        allowed.update(dict.fromkeys(finer, ()))
        frontier = finer
    return list(allowed)


def _one_step_finer(
    problem: Problem, frontier: Sequence[Mask], allowed: Container[Mask], ladders: Sequence[Sequence[Mask]]
) -> Iterator[Mask]:
    attribute_masks, generated = problem.cube.domain.attribute_masks, set[Mask]()
    finer = [dict(pairwise(ladder)) for ladder in ladders]
    coarser = {high: low for ladder in ladders for low, high in pairwise(ladder)}
    for mask in frontier:
        for attribute_mask, next_of in zip(attribute_masks, finer):
            steps = mask & attribute_mask
            margin = mask ^ steps ^ next_of.get(steps, steps)
            if margin == mask or margin in generated:
                continue
            generated.add(margin)
            parts = (part for attribute_bits in attribute_masks if (part := margin & attribute_bits))
            if all(margin ^ part ^ coarser[part] in allowed for part in parts):
                yield margin


@frozen(eq=False)
class LowerBound:
    """Lower bounds on the nats that are still to come, added over blocks.

    blocks: each attribute is in one. remaining: for each block the nats still to be added to the separators and
    cliques of a collection. Its axes are the attributes of the block, by how finely they are shown.
    """

    problem: Problem
    blocks: tuple[Block, ...]
    remaining: tuple[FloatArray, ...]

    @property
    def value(self) -> float:
        """Lower bound on the objective of all allowed collections, in nats."""
        bound = self.to_go(0) - self.problem.cube.entropy(sum(self.problem.cube.domain.attribute_masks))
        return max(bound, 0.0) if self.problem.cube.score is None else bound

    def to_go(self, vertices: Mask) -> float:
        """Return the remaining nats of a collection that shows these induced attributes."""
        steps = [(vertices & attribute_mask).bit_count() for attribute_mask in self.problem.cube.domain.attribute_masks]
        return sum(
            float(remaining[tuple(steps[place] for place in block)])
            for block, remaining in zip(self.blocks, self.remaining)
        )


def score(problem: Problem, mask: Mask) -> float:
    """Return s(E) of a margin, in nats."""
    entropy, price = problem.cube.entropy(mask), problem.price
    return entropy + price * problem.cube.complexity(mask) if price else entropy


def lower_bound(problem: Problem, allowed: Sequence[Mask], blocks: Sequence[Block] | None = None) -> LowerBound:
    """Return the bound from the margins that are allowed; by default in as few blocks as possible."""
    ladders, scores = _ladders(problem), {mask: score(problem, mask) for mask in allowed}
    nodes = np.zeros((len(allowed), len(ladders)), dtype=np.intp)
    costs = np.full(nodes.shape, inf)
    for place, (attribute_mask, ladder) in enumerate(zip(problem.cube.domain.attribute_masks, ladders)):
        for number, mask in enumerate(allowed):
            if steps := mask & attribute_mask:
                nodes[number, place] = at = ladder.index(steps)
                costs[number, place] = scores[mask] - scores[mask ^ steps ^ ladder[at - 1]]
    if blocks is None:
        blocks = _related_blocks(scores, ladders)
    remaining = []
    for block in blocks:
        shape = [len(ladders[place]) for place in block]
        strides = [prod(shape[axis + 1 :]) for axis in range(len(block))]
        positions = nodes[:, list(block)] @ np.array(strides, dtype=np.intp)
        step_costs = []
        for place, stride in zip(block, strides):
            least, shows_it = np.full(prod(shape), inf), nodes[:, place] > 0
            np.minimum.at(least, positions[shows_it] - stride, costs[shows_it, place])
            step_costs.append(least.reshape(shape))
        remaining.append(shortest_paths(_hidden_leaves(problem, block), step_costs))
    return LowerBound(problem, tuple(blocks), tuple(remaining))


def _related_blocks(scores: Mapping[Mask, float], ladders: Sequence[Sequence[Mask]]) -> list[Block]:
    gains = {}
    for first, second in combinations(range(len(ladders)), 2):
        pairs = [(one, other) for one in ladders[first][1:] for other in ladders[second][1:] if one | other in scores]
        if pairs:
            gain = max(scores[one] + scores[other] - scores[one | other] for one, other in pairs)
            gains[first, second] = -round(max(gain, 0.0), 9)
    blocks: dict[int, Block] = {place: (place,) for place in range(len(ladders))}
    for first, second in sorted(gains, key=lambda pair: (gains[pair], pair)):
        joined = tuple(sorted({*blocks[first], *blocks[second]}))
        if prod(len(ladders[place]) for place in joined) <= LARGEST_LATTICE:
            blocks |= dict.fromkeys(joined, joined)
    return sorted(set(blocks.values()))


def _hidden_leaves(problem: Problem, block: Block) -> FloatArray:
    domain = problem.cube.domain
    hidden: FloatArray = np.zeros(())
    for place in block:
        name, height = domain.attributes[place], domain.hierarchies[place].height
        hidden = np.add.outer(hidden, [problem.cube.log_leaves(name, height - r) for r in range(height + 1)])
    return hidden


def shortest_paths(hidden: FloatArray, step_costs: Sequence[FloatArray]) -> FloatArray:
    """Return the least nats of all further steps from each margin, including the leaves of hidden attributes at the
    end.

    hidden: nats if nothing more is shown, an axis for each attribute. step_costs: for each axis, of the same shape,
    the least cost of the attribute's next step beside any part of the margin. It is infinite if the step is not
    allowed.
    """
    remaining = hidden.copy()
    flat, shape = remaining.reshape(-1), remaining.shape
    steps = [
        (_beside_any_part(costs, axis).reshape(-1), prod(shape[axis + 1 :])) for axis, costs in enumerate(step_costs)
    ]
    rank = np.indices(shape).sum(axis=0).reshape(-1)
    order = np.argsort(-rank, kind="stable")
    for nodes in np.split(order, np.flatnonzero(np.diff(rank[order])) + 1):
        for costs, stride in steps:
            extendable = nodes[np.isfinite(costs[nodes])]
            flat[extendable] = np.minimum(flat[extendable], costs[extendable] + flat[extendable + stride])
    return remaining


def _beside_any_part(costs: FloatArray, axis: int) -> FloatArray:
    """Return the least cost of a step beside any part of each margin that shows the attribute of the step as finely."""
    least = costs.copy()
    for other in range(costs.ndim):
        if other != axis:
            np.minimum.accumulate(least, axis=other, out=least)
    return least
