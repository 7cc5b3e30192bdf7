"""What the last step of each attribute costs in each allowed margin: all that a bound by blocks asks of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from models.arrays import FloatArray, IndexArray
from models.search.bounds.lower_bound import Grid, Node, grid_steps, score
from models.search.bounds.margin_sets import MarginSets
from models.search.problem import Problem
from models.tables.domain import Mask


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
    own, masks, sizes = np.array(list(scores.values())), list(allowed), np.count_nonzero(nodes, axis=1)
    found = []
    for size in range(1, int(sizes.max(initial=0)) + 1):
        numbers = np.flatnonzero(sizes == size)
        places = np.nonzero(nodes[numbers])[1].reshape(-1, size)
        resolutions = np.take_along_axis(nodes[numbers], places, axis=1)
        coarser = [
            [scores[masks[number] ^ steps[place][at]] for place, at in zip(*of_margin)]
            for number, *of_margin in zip(numbers.tolist(), places.tolist(), resolutions.tolist())
        ]
        costs = own[numbers, None] - np.array(coarser, dtype=np.float64).reshape(-1, size)
        found.append(LastSteps(places, resolutions, costs, own[numbers]))
    return found


def of_sets(found: Sequence[MarginSets]) -> list[LastSteps]:
    """Those of margins as `counted_margins` gives them, of one attribute first."""
    last_steps = []
    for margins, fewer in zip(found, (MarginSets.empty(found[0].steps), *found)):
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
