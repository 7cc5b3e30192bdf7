"""Wanted analyses: the distance of a model's distribution of some attributes from that of the data.

The distance of a wanted set w of attributes is KL(p_w || q_w) in nats, at base values. An objective adds it with a
weight to the divergence of the whole. q_w belongs to the smallest part of the collection onto which it can be
collapsed. So a distance is cached by that part, and reused for every collection that has the part.
"""

from collections.abc import Callable, Iterable
from functools import reduce
from operator import or_

import numpy as np

from models.arrays import FloatArray
from models.errors import SelectionError
from models.frozen import frozen
from models.graphs.junction_tree import Collection, JunctionTree, collapsed
from models.inference.marginal_model import MarginalModel
from models.tables.data_cube import DataCube
from models.tables.hierarchy import Mask


@frozen
class WantedMargin:
    """Attributes that an analysis needs together, with the weight of their distance from the data in an objective.

    mask: all induced attributes of the attributes. Raises SelectionError if there is no attribute, or if the weight is
    not above 0.
    """

    mask: Mask
    weight: float = 1.0

    def __post_init__(self) -> None:
        if not self.mask or not self.weight > 0:
            raise SelectionError("a wanted margin has attributes, and a weight above 0")


def apart(score: Callable[[Mask], float], separator: Mask, first: Mask, second: Mask) -> float:
    """Return the score of two margins that share a separator, less that of the separator and of both together."""
    return score(separator | first) + score(separator | second) - score(separator) - score(separator | first | second)


class WantedAnalyses:
    """Distances of wanted margins over one cube.

    cube: holds the base table. margins: the wanted margins, at base values. Raises SelectionError if a margin is not
    at base values.
    """

    def __init__(self, cube: DataCube, margins: Iterable[WantedMargin] = ()) -> None:
        self.cube = cube
        self.margins = tuple(margins)
        self._distances: dict[tuple[Mask, frozenset[Mask]], float] = {}
        attribute_masks = cube.domain.attribute_masks
        for margin in self.margins:
            if sum(mask for mask in attribute_masks if mask & margin.mask) != margin.mask:
                raise SelectionError("a wanted margin shows its attributes at their base values")

    def __len__(self) -> int:
        return len(self.margins)

    def distances(self, cliques: Iterable[Mask]) -> tuple[float, ...]:
        """Return the distance of each wanted margin of a decomposable collection's distribution from the data, in nats."""
        if not self.margins:
            return ()
        tree = JunctionTree.of(self.cube.domain, cliques)
        return tuple(self._distance(margin.mask, collapsed(tree, margin.mask)) for margin in self.margins)

    def weighted(self, distances: Iterable[float]) -> float:
        """Return the weighted sum of distances."""
        return sum(margin.weight * far for margin, far in zip(self.margins, distances))

    def value(self, cliques: Iterable[Mask]) -> float:
        """Return the term of a collection in an objective; never negative."""
        return self.weighted(self.distances(cliques))

    def likely_gain(self, separator: Mask, first: Mask, second: Mask) -> float:
        """Estimate the weighted gain of joining steps beside a separator, with each wanted margin by itself."""
        gained = 0.0
        for margin in self.margins:
            if not (first | second) & ~margin.mask:
                gained += margin.weight * apart(self.cube.entropy, separator & margin.mask, first, second)
        return gained

    def _distance(self, wanted: Mask, part: frozenset[Mask]) -> float:
        if (wanted, part) not in self._distances:
            self._distances[wanted, part] = self._divergence(wanted, part)
        return self._distances[wanted, part]

    def _divergence(self, wanted: Mask, part: frozenset[Mask]) -> float:
        """Return -sum of p_w ln q_w - H(p_w), where values below the finest level of the part are equally likely."""
        domain, entropy = self.cube.domain, self.cube.entropy
        shown_part = reduce(or_, part, 0)
        levels = domain.levels(shown_part & wanted)
        names = (domain.attributes[place] for place in domain.places(wanted))
        leaves = sum(self.cube.log_leaves(name, levels[name]) for name in names)
        if not shown_part & ~wanted:
            tree = JunctionTree.of(domain, part)
            cross = sum(map(entropy, tree.cliques)) - sum(map(entropy, tree.separators))
        else:
            cross = self._cross_entropy(shown_part & wanted, part)
        return max(cross + leaves - entropy(wanted), 0.0)

    def _cross_entropy(self, margin: Mask, cliques: frozenset[Mask]) -> float:
        p = self.cube.counts(margin) / max(self.cube.total, 1)
        return float(-(p @ np.log(self._probabilities(margin, cliques))))

    def _probabilities(self, mask: Mask, cliques: frozenset[Mask]) -> FloatArray:
        table, part = self.cube.table(mask), Collection.of(self.cube, cliques)
        margin = {attribute: table.margin[attribute] for attribute in table.attributes}
        return np.asarray(MarginalModel(part).expected_of(margin, table.codes) / max(self.cube.total, 1))
