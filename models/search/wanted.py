"""Wanted analyses: the distance of a model's distribution of some attributes from that of the data.

The distance of a wanted set w of attributes is KL(p_w || q_w) in nats, or the total variation, both at base values. An
objective adds it with a weight to the divergence of the whole. q_w belongs to the smallest part of the collection onto
which it can be collapsed. So a distance is cached by that part, and reused for every collection that has the part.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from functools import partial, reduce
from operator import or_

import numpy as np

from models.arrays import FloatArray
from models.errors import SelectionError
from models.graphs.junction_tree import Collection, JunctionTree, collapsed
from models.inference.calibrated_tree import leaf_shares
from models.inference.marginal_model import MarginalModel
from models.tables.data_cube import DataCube
from models.tables.hierarchy import Mask


class Measure(Enum):
    """Distance measure between a table of the model and that of the data.

    DIVERGENCE: KL(p || q) in nats. TOTAL_VARIATION: half the sum of abs(p - q) over the cells, from 0 to 1.
    """

    DIVERGENCE = "divergence"
    TOTAL_VARIATION = "total variation"


@dataclass(frozen=True)
class WantedMargin:
    """Attributes that an analysis needs together, with a weight and a measure of their distance from the data.

    mask: all induced attributes of the attributes. weight: weight of the distance in an objective, above 0. measure:
    measure of the distance. Raises SelectionError if there is no attribute, or if the weight is not above 0.
    """

    mask: Mask
    weight: float = 1.0
    measure: Measure = Measure.DIVERGENCE

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
        self._distances: dict[tuple[Mask, Measure, frozenset[Mask]], float] = {}
        self._single_variations: dict[tuple[Mask, Mask, Mask], float] = {}
        attribute_masks = cube.domain.attribute_masks
        for margin in self.margins:
            if sum(mask for mask in attribute_masks if mask & margin.mask) != margin.mask:
                raise SelectionError("a wanted margin shows its attributes at their base values")

    def __len__(self) -> int:
        return len(self.margins)

    def distances(self, cliques: Iterable[Mask]) -> tuple[float, ...]:
        """Return the distance of each wanted margin of a decomposable collection's distribution from the data."""
        if not self.margins:
            return ()
        tree = JunctionTree.of(self.cube.domain, cliques)
        return tuple(self.distance(margin, tree) for margin in self.margins)

    def distance(self, margin: WantedMargin, tree: JunctionTree) -> float:
        """Return the distance of one margin from the data, by its measure."""
        part = collapsed(tree, margin.mask)
        key = margin.mask, margin.measure, part
        if key not in self._distances:
            measured = self._divergence if margin.measure is Measure.DIVERGENCE else self._variation
            self._distances[key] = measured(margin.mask, part)
        return self._distances[key]

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
            if (first | second) & ~margin.mask:
                continue
            is_variation = margin.measure is Measure.TOTAL_VARIATION
            gain = self._variation_alone if is_variation else partial(apart, self.cube.entropy)
            gained += margin.weight * gain(separator & margin.mask, first, second)
        return gained

    def _variation_alone(self, condition: Mask, first: Mask, second: Mask) -> float:
        """Return the total variation between the table of two vertices and its estimate from two smaller tables."""
        key = condition, first, second
        if key not in self._single_variations:
            table = self.cube.table(condition | first | second)
            parts = (condition | first, condition | second, condition)
            one, other, shared = (self.cube.table(part).counts_in(table) for part in parts)
            expected = one * other / shared
            missing = np.maximum(table.counts - expected, 0.0)
            self._single_variations[key] = float(missing.sum() / max(self.cube.total, 1))
        return self._single_variations[key]

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

    def _variation(self, wanted: Mask, part: frozenset[Mask]) -> float:
        domain, table, shown_part = self.cube.domain, self.cube.table(wanted), wanted & reduce(or_, part, 0)
        q: FloatArray = np.ones(1)
        if shown_part:
            q = self._probabilities(shown_part, part)[table.positions_in(self.cube.table(shown_part))]
        levels = domain.levels(shown_part)
        for name, codes in zip(table.attributes, table.codes):
            q = q * leaf_shares(domain, name, 0, levels[name])[codes]
        return float(np.maximum(table.counts / max(self.cube.total, 1) - q, 0.0).sum())
