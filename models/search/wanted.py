"""Analyses that a model is wanted for: how far its distribution of some attributes is from that of the data.

For a wanted set w of attributes that is KL(p_w || q_w) in nats, both at base values; an objective adds it with a weight to
the divergence of the whole. q_w is that of the smallest part of the collection onto which it can be collapsed, so a number
is remembered by that part, and asked again for no collection that has it too.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from models.errors import SelectionError, TooManyCellsError
from models.graphs.collapse import collapsed
from models.graphs.collection import Collection
from models.graphs.junction_tree import JunctionTree
from models.inference.marginal_model import MarginalModel
from models.inference.maximum_entropy import MaximumEntropy
from models.inference.sparse_margins import expected_marginal
from models.tables.data_cube import DataCube
from models.tables.domain import Mask

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_KEPT = 1 << 23
"""Numbers in all matrices that are kept; they are cleared when there are more."""


@dataclass(frozen=True)
class WantedMargin:
    """Attributes that are looked at together, as all their induced attributes, and the weight of their divergence.

    Raises SelectionError for no attribute, or a weight that is not above 0.
    """

    mask: Mask
    weight: float = 1.0

    def __post_init__(self) -> None:
        if not self.mask or not self.weight > 0:
            raise SelectionError("a wanted margin has attributes, and a weight above 0")


class PathMargins:
    """Distributions of two attributes along the path between them in a junction tree, one matrix for each clique on it.

    The values of one attribute are carried from separator to separator by the shares p(s' | s), each a sparse matrix that
    depends on the two separators alone and is kept for other trees.
    """

    def __init__(self, cube: DataCube) -> None:
        self._cube = cube
        self._steps: dict[tuple[Mask, Mask], csr_array] = {}
        self._size = 0

    def cross_entropy(self, first: Mask, second: Mask, tree: JunctionTree) -> float:
        """-sum of p ln q over the values of two attributes, each as finely as the tree shows it."""
        entropy = self._cube.entropy
        path = _path(tree, first, second)
        if not path:
            return entropy(first) + entropy(second)
        separators = [a & b for a, b in pairwise(path)]
        if not separators:
            return entropy(first | second)
        if len(self._cube.counts(first)) > len(self._cube.counts(second)):
            first, second, separators = second, first, separators[::-1]
        origin = self._cube.table(first)
        q = self._step(first, separators[0]).toarray() * (origin.counts / max(self._cube.total, 1))
        for before, after in pairwise([*separators, second]):
            q = self._step(before, after) @ q
        table = self._cube.table(first | second)
        rows, columns = table.positions_in(self._cube.table(second)), table.positions_in(origin)
        return float(-(table.counts @ np.log(q[rows, columns])) / max(self._cube.total, 1))

    def _step(self, given: Mask, shown: Mask) -> "csr_array":
        """p(y | x) of the cells y of one margin given those x of another: shape (cells of `shown`, cells of `given`)."""
        if (given, shown) not in self._steps:
            together, x, y = (self._cube.table(mask) for mask in (given | shown, given, shown))
            columns, rows = together.positions_in(x), together.positions_in(y)
            from scipy.sparse import csr_array  # slow to import, and few need it

            step = csr_array((together.counts / x.counts[columns], (rows, columns)), shape=(len(y), len(x)))
            self._size += step.nnz
            if self._size > _KEPT:
                self._steps.clear()
                self._size = step.nnz
            self._steps[given, shown] = step
        return self._steps[given, shown]


def _path(tree: JunctionTree, first: Mask, second: Mask) -> list[Mask]:
    """The cliques from one that shows the first attribute to one that shows the second, as few as can be; none where the two
    are not connected.
    """

    def upward(wanted: Mask) -> list[int]:
        ways = [next(i for i, clique in enumerate(tree.cliques) if not wanted & ~clique)]
        while tree.parents[ways[-1]] >= 0:
            ways.append(tree.parents[ways[-1]])
        return ways

    there, back = upward(first), upward(second)
    meeting = next((clique for clique in there if clique in back), None)
    if meeting is None:
        return []
    path = [*there[: there.index(meeting) + 1], *reversed(back[: back.index(meeting)])]
    cliques = [tree.cliques[i] for i in path]
    start = max(i for i, clique in enumerate(cliques) if not first & ~clique)
    end = next(i for i, clique in enumerate(cliques) if i >= start and not second & ~clique)
    return cliques[start : end + 1]


class WantedAnalyses:
    """The divergences of wanted margins over one cube. Raises SelectionError for a margin that is not at base values."""

    def __init__(self, cube: DataCube, margins: Iterable[WantedMargin] = ()) -> None:
        self.cube = cube
        self.margins = tuple(margins)
        self._known: dict[tuple[Mask, frozenset[Mask]], float] = {}
        self._paths = PathMargins(cube)
        own = cube.domain.attribute_masks
        for margin in self.margins:
            if sum(mask for mask in own if mask & margin.mask) != margin.mask:
                raise SelectionError("a wanted margin shows its attributes at their base values")

    def __len__(self) -> int:
        return len(self.margins)

    def divergences(self, cliques: Iterable[Mask]) -> tuple[float, ...]:
        """KL(p_w || q_w) in nats for each wanted margin, q the maxent distribution of a decomposable collection."""
        if not self.margins:
            return ()
        tree = JunctionTree.of(self.cube.domain, cliques)
        return tuple(self.divergence(margin.mask, tree) for margin in self.margins)

    def divergence(self, wanted: Mask, tree: JunctionTree) -> float:
        """KL(p_w || q_w) in nats of one margin."""
        part = collapsed(tree, wanted)
        if (wanted, part) not in self._known:
            self._known[wanted, part] = self._divergence(wanted, part)
        return self._known[wanted, part]

    def weighted(self, divergences: Iterable[float]) -> float:
        """Their sum, each times its weight."""
        return sum(margin.weight * nats for margin, nats in zip(self.margins, divergences))

    def value(self, cliques: Iterable[Mask]) -> float:
        """What an objective adds for a collection, in nats; never negative."""
        return self.weighted(self.divergences(cliques))

    def _divergence(self, wanted: Mask, part: frozenset[Mask]) -> float:
        """-sum of p_w ln q_w - H(p_w), where values below the finest level of the part are equally likely."""
        domain, entropy = self.cube.domain, self.cube.entropy
        shown = 0
        for clique in part:
            shown |= clique
        levels = domain.levels(shown & wanted)
        leaves = sum(self.cube.log_leaves(attribute, levels[attribute]) for attribute, _ in domain.resolutions(wanted))
        if not shown & ~wanted:
            tree = JunctionTree.of(domain, part)
            cross = sum(map(entropy, tree.cliques)) - sum(map(entropy, tree.separators))
        else:
            cross = self._cross_entropy(shown & wanted, part)
        return max(cross + leaves - entropy(wanted), 0.0)

    def _cross_entropy(self, shown: Mask, cliques: frozenset[Mask]) -> float:
        """-sum of p ln q over the cells of a margin that some cliques show in pieces."""
        ends = [shown & own for own in self.cube.domain.attribute_masks if shown & own]
        if len(ends) == 2:
            return self._paths.cross_entropy(ends[0], ends[1], JunctionTree.of(self.cube.domain, cliques))
        table, part = self.cube.table(shown), Collection.of(self.cube, cliques)
        margin = {attribute: table.margin[attribute] for attribute in table.attributes}
        try:
            q = MarginalModel(part).expected(margin)[table.codes]
        except TooManyCellsError:
            expected = expected_marginal(MaximumEntropy(part), margin)
            places, found = table.coded_cells.look_up(expected.cells)
            q = np.where(found, expected.expected[places], 0.0)
        p = table.counts / max(self.cube.total, 1)
        return float(-(p @ np.log(q / max(self.cube.total, 1))))
