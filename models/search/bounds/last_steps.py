"""What the last step of each attribute costs in each allowed margin: all that a bound by blocks asks of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from models.arrays import FloatArray, IndexArray
from models.search.bounds.attribute_sets import AttributeSets
from models.search.bounds.lower_bound import Grid, Node, grid_steps, score
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


def of_sets(found: Sequence[AttributeSets]) -> list[LastSteps]:
    """Those of the sets of attributes that may be shown, in the grid that tells nothing else apart."""
    steps = []
    for sets, fewer in zip(found, (AttributeSets.empty_set(found[0].attributes), *found)):
        columns = range(sets.places.shape[1])
        rest = [fewer.entropies[fewer.positions(np.delete(sets.places, column, axis=1))] for column in columns]
        costs = sets.entropies[:, None] - np.column_stack(rest)
        steps.append(LastSteps(sets.places, np.ones_like(sets.places), costs, sets.entropies))
    return steps
