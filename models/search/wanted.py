"""Analyses that a model is wanted for: how far its distribution of some attributes is from that of the data.

For a wanted set w of attributes that is KL(p_w || q_w) in nats, or the total variation between p_w and q_w, both at base
values; an objective adds it with a weight to the divergence of the whole. q_w is that of the smallest part of the collection
onto which it can be collapsed, so a number is remembered by that part, and asked again for no collection that has it too.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from functools import reduce
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from models.arrays import CountArray, FloatArray, IndexArray
from models.errors import SelectionError, TooManyCellsError
from models.graphs.junction_tree import Collection, JunctionTree, collapsed
from models.inference.calibrated_tree import CellExpectations
from models.inference.marginal_model import MarginalModel
from models.tables.contingency_table import ContingencyTable
from models.tables.data_cube import DataCube
from models.tables.hierarchy import Mask

if TYPE_CHECKING:
    from scipy.sparse import csr_array


class Measure(Enum):
    """How far a table of the model is from that of the data.

    DIVERGENCE: KL(p || q) in nats. TOTAL_VARIATION: half the sum of abs(p - q) over the cells, from 0 to 1.
    """

    DIVERGENCE = "divergence"
    TOTAL_VARIATION = "total variation"


@dataclass(frozen=True)
class WantedMargin:
    """Attributes that are looked at together, as all their induced attributes, the weight of how far they are from the
    data, and by which measure that is told.

    Raises SelectionError for no attribute, or a weight that is not above 0.
    """

    mask: Mask
    weight: float = 1.0
    measure: Measure = Measure.DIVERGENCE

    def __post_init__(self) -> None:
        if not self.mask or not self.weight > 0:
            raise SelectionError("a wanted margin has attributes, and a weight above 0")


class WantedAnalyses:
    """The divergences of wanted margins over one cube. Raises SelectionError for a margin that is not at base values."""

    def __init__(self, cube: DataCube, margins: Iterable[WantedMargin] = ()) -> None:
        self.cube = cube
        self.margins = tuple(margins)
        self._known: dict[tuple[Mask, Measure, frozenset[Mask]], float] = {}
        self._alone: dict[tuple[Mask, Mask, Mask], float] = {}
        self._places: dict[tuple[Mask, Mask], tuple[IndexArray, FloatArray]] = {}
        self._paths = PathMargins(cube)
        attribute_masks = cube.domain.attribute_masks
        for margin in self.margins:
            if sum(mask for mask in attribute_masks if mask & margin.mask) != margin.mask:
                raise SelectionError("a wanted margin shows its attributes at their base values")

    def __len__(self) -> int:
        return len(self.margins)

    def distances(self, cliques: Iterable[Mask]) -> tuple[float, ...]:
        """How far each wanted margin of the maxent distribution of a decomposable collection is from the data."""
        if not self.margins:
            return ()
        tree = JunctionTree.of(self.cube.domain, cliques)
        return tuple(self.distance(margin, tree) for margin in self.margins)

    def distance(self, margin: WantedMargin, tree: JunctionTree) -> float:
        """How far one margin is from the data, by its measure."""
        part = collapsed(tree, margin.mask)
        key = margin.mask, margin.measure, part
        if key not in self._known:
            measured = self._divergence if margin.measure is Measure.DIVERGENCE else self._variation
            self._known[key] = measured(margin.mask, part)
        return self._known[key]

    def weighted(self, distances: Iterable[float]) -> float:
        """Their sum, each times its weight."""
        return sum(margin.weight * far for margin, far in zip(self.margins, distances))

    def value(self, cliques: Iterable[Mask]) -> float:
        """What an objective adds for a collection; never negative."""
        return self.weighted(self.distances(cliques))

    def variation_alone(self, given: Mask, first: Mask, second: Mask) -> float:
        """The total variation between the table of two vertices, with others, and what these make of either by itself.

        given: the others. second: 0 for a step finer of the first, whose values are spread evenly without it.
        """
        key = given, first, second
        if key not in self._alone:
            table, total = self.cube.table(given | first | second), max(self.cube.total, 1)
            before = self.cube.table(given) if given else None
            expected: FloatArray = np.full(len(table), float(total))
            if before is not None:
                expected = before.counts[table.positions_in(before)].astype(np.float64)
            if second:
                one, other = (self.cube.table(given | side) for side in (first, second))
                expected = one.counts[table.positions_in(one)] * other.counts[table.positions_in(other)] / expected
            else:
                expected = expected * _leaves(table)
                if before is None:
                    expected = expected / self.cube.domain.hierarchy(table.attributes[0]).size(0)
                else:
                    expected = expected / _leaves(before)[table.positions_in(before)]
            self._alone[key] = float(np.maximum(table.counts - expected, 0.0).sum() / total)
        return self._alone[key]

    def _divergence(self, wanted: Mask, part: frozenset[Mask]) -> float:
        """-sum of p_w ln q_w - H(p_w), where values below the finest level of the part are equally likely."""
        domain, entropy = self.cube.domain, self.cube.entropy
        shown_part = 0
        for clique in part:
            shown_part |= clique
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
        """-sum of p ln q over the cells of a margin that some cliques show in pieces."""
        ends = [
            margin & attribute_mask for attribute_mask in self.cube.domain.attribute_masks if margin & attribute_mask
        ]
        if len(ends) == 2:
            return self._paths.cross_entropy(ends[0], ends[1], JunctionTree.of(self.cube.domain, cliques))
        p = self.cube.counts(margin) / max(self.cube.total, 1)
        return float(-(p @ np.log(self._probabilities(margin, cliques))))

    def _probabilities(self, mask: Mask, cliques: frozenset[Mask]) -> FloatArray:
        """The model's probabilities of the cells of a margin that have rows, in the order of its table."""
        table, part = self.cube.table(mask), Collection.of(self.cube, cliques)
        margin = {attribute: table.margin[attribute] for attribute in table.attributes}
        try:
            q = MarginalModel(part).expected(margin)[table.codes]
        except TooManyCellsError:
            codes = dict(zip(table.attributes, table.codes))
            q = CellExpectations(MarginalModel(part).tree).expected_counts(margin, codes, len(table))
        return np.asarray(q / max(self.cube.total, 1))

    def _variation(self, wanted: Mask, part: frozenset[Mask]) -> float:
        """Half the sum of abs(p_w - q_w), where values below the finest level of the part are equally likely."""
        table, total = self.cube.table(wanted), max(self.cube.total, 1)
        attributes = [attribute for attribute in self.cube.domain.attribute_masks if attribute & wanted]
        shown_part = 0
        for clique in part:
            shown_part |= clique
        shown_part &= wanted
        placed = [self._placed(wanted, attribute & shown_part, attribute) for attribute in attributes]
        if len(attributes) == 2:
            ends = attributes[0] & shown_part, attributes[1] & shown_part
            tree = JunctionTree.of(self.cube.domain, part)
            q = self._paths.shares(ends, tree, (placed[0][0], placed[1][0]))
        else:
            q = (
                self._probabilities(shown_part, part)[table.positions_in(self.cube.table(shown_part))]
                if shown_part
                else np.ones(1)
            )
        for _, share in placed:
            q = q * share
        return float(np.maximum(table.counts / total - q, 0.0).sum())

    def _placed(self, wanted: Mask, end: Mask, attribute: Mask) -> tuple[IndexArray, FloatArray]:
        """For each cell of a wanted margin, its place in the table of one of its attributes as that is shown, and the share
        of its base value in the value there.

        end: the attribute as it is shown, 0 where it is not. attribute: all of its vertices.
        """
        if (wanted, end or ~attribute) not in self._places:
            table = self.cube.table(wanted)
            if end:
                end_table = self.cube.table(end)
                places = table.positions_in(end_table)
                share = 1 / _leaves(end_table)[places]
            else:
                name = next(iter(self.cube.domain.margin(attribute)))
                places = np.zeros(len(table), dtype=np.intp)
                share = np.full(len(table), 1 / self.cube.domain.hierarchy(name).size(0))
            self._places[wanted, end or ~attribute] = places, share
        return self._places[wanted, end or ~attribute]


def _leaves(table: ContingencyTable) -> CountArray:
    """For each cell of a table of one attribute, the base values in it."""
    (name,) = table.attributes
    return np.asarray(table.domain.hierarchy(name).leaf_counts(table.margin[name])[table.codes[0]])


_KEPT = 1 << 23
"""Numbers in all matrices that are kept; they are cleared when there are more."""


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
        q = self._along(first, separators, second)
        table = self._cube.table(first | second)
        rows, columns = table.positions_in(self._cube.table(second)), table.positions_in(self._cube.table(first))
        return float(-(table.counts @ np.log(q[rows, columns])) / max(self._cube.total, 1))

    def shares(self, ends: tuple[Mask, Mask], tree: JunctionTree, cells: tuple[IndexArray, IndexArray]) -> FloatArray:
        """The model's probabilities of some cells of two attributes, each as finely as the tree shows it; 0: not at all.

        cells: for each attribute the place of each cell in the table of that attribute alone, shape (cells,).
        """
        first, second = ends
        total = max(self._cube.total, 1)
        path = _path(tree, first, second) if first and second else []
        if not path:
            shares = (self._cube.table(end).counts[places] / total for end, places in zip(ends, cells) if end)
            return np.asarray(reduce(np.multiply, shares, np.ones(len(cells[0]))))
        tables = [self._cube.table(end) for end in ends]
        separators = [a & b for a, b in pairwise(path)]
        if not separators:
            table = self._cube.table(first | second)
            q = np.zeros((len(tables[0]), len(tables[1])))
            q[table.positions_in(tables[0]), table.positions_in(tables[1])] = table.counts / total
            return np.asarray(q[cells])
        if len(tables[0]) > len(tables[1]):
            return np.asarray(self._along(second, separators[::-1], first)[cells])
        return np.asarray(self._along(first, separators, second)[cells[::-1]])

    def _along(self, first: Mask, separators: list[Mask], second: Mask) -> FloatArray:
        """The joint distribution of the ends of a path: shape (cells of `second`, cells of `first`)."""
        origin = self._cube.table(first)
        q = self._step(first, separators[0]).toarray() * (origin.counts / max(self._cube.total, 1))
        for before, after in pairwise([*separators, second]):
            q = self._step(before, after) @ q
        return np.asarray(q)

    def _step(self, given: Mask, margin: Mask) -> "csr_array":
        """p(y | x) of the cells y of one margin given those x of another: shape (cells of `margin`, cells of `given`)."""
        if (given, margin) not in self._steps:
            together, x, y = (self._cube.table(mask) for mask in (given | margin, given, margin))
            columns, rows = together.positions_in(x), together.positions_in(y)
            from scipy.sparse import csr_array  # slow to import, and few need it

            step = csr_array((together.counts / x.counts[columns], (rows, columns)), shape=(len(y), len(x)))
            self._size += step.nnz
            if self._size > _KEPT:
                self._steps.clear()
                self._size = step.nnz
            self._steps[given, margin] = step
        return self._steps[given, margin]


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
