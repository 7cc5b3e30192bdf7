"""The model of a collection: its maximum-entropy distribution, decomposable or not, and certain bounds."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property, reduce
from math import inf, log, prod
from operator import or_
from typing import TYPE_CHECKING

import numpy as np

from models.arrays import BoolArray, CodeArray, FloatArray, x_log_x
from models.deadline import NEVER, Deadline
from models.errors import NotFittedError, TooManyCellsError
from models.frozen import frozen
from models.graphs.junction_tree import Collection, JunctionTree, collapsed, independences
from models.inference.calibrated_tree import CalibratedTree, spread, views
from models.inference.frechet_bounds import Box, FrechetBounds
from models.inference.maximum_entropy import MaximumEntropy
from models.inference.plausible_tables import PlausibleTables
from models.inference.u_terms import u_terms
from models.tables.contingency_table import Cells
from models.tables.contingency_table import entropy as entropy_of
from models.tables.hierarchy import Domain, InducedAttribute, Margin, Mask, vertices_of

if TYPE_CHECKING:
    import networkx as nx

MISFIT = 1e-6
"""Largest share of a published count by which a fitted distribution may miss it."""

_KEPT = 1 << 28
"""Values of drawn tables, at most, that are kept; further tables are drawn anew each time."""

_AT_ONCE = 1 << 12
"""Cells whose expected counts are joined together, which bounds the memory."""

_LOOKED_UP = 1 << 14
"""Most cells of a margin that is laid out to answer for a box."""


@frozen(eq=False)
class MarginalModel:
    """Expected counts, bounds and samples that follow from published marginals; slow results are computed once.

    collection: the published marginals. deadline: time at which fitting ends with TimeOverError, and after which
    bounds are no longer improved.
    """

    collection: Collection
    deadline: Deadline = NEVER

    @property
    def domain(self) -> Domain:
        """The attributes with their hierarchies."""
        return self.collection.domain

    @property
    def total(self) -> int:
        """Number of rows."""
        return self.collection.cube.total

    @property
    def in_tree(self) -> Collection:
        """The marginals along whose junction tree the distribution is calculated: all of them."""
        return self.collection

    @cached_property
    def closed_form(self) -> MaximumEntropy:
        """The closed form of the distribution. Raises NotDecomposableError if it has none."""
        return MaximumEntropy(self.collection)

    @cached_property
    def tree(self) -> CalibratedTree:
        """The distribution along a junction tree, in closed form or fitted. Raises NotFittedError if fitting fails."""
        if self.in_tree.is_decomposable:
            return CalibratedTree.of(self.in_tree)
        from models.inference.iterative_fitting import iterative_fit  # slow to import, and few need it

        fit = iterative_fit(self.in_tree, deadline=self.deadline)
        if fit.residual > MISFIT:
            raise NotFittedError(
                f"iterative fitting misses a published count by {fit.residual:.2g} of it, more than {MISFIT}; "
                "ask for published margins only"
            )
        return replace(fit, cliques=tuple(cells[cells.counts > 0] for cells in fit.cliques))

    @cached_property
    def information(self) -> float:
        """Nats by which the distribution differs from independence with the same counts of each attribute.

        Computed in closed form, else from the fit. Raises NotFittedError or TooManyCellsError if neither is possible.
        """
        if self.in_tree.is_decomposable:
            return MaximumEntropy(self.in_tree).information
        entropy = sum(entropy_of(cells.counts) for cells in self.tree.cliques)
        entropy -= sum(entropy_of(link.rows[0]) for link in self.tree.links)
        return max(sum(self._entropies) - entropy, 0.0)

    @cached_property
    def total_information(self) -> float:
        """Nats by which the distribution differs from the uniform one over all base cells: sum_B ln|dom B| - H.

        It includes the information of the one-way marginals. For two models over the same base values, the difference
        equals that of their KL divergences from the data. Raises as `information`.
        """
        leaves = (self.in_tree.cube.log_leaves(*finest) for finest in self.in_tree.finest_levels.items())
        sizes = (log(hierarchy.size(0)) for hierarchy in self.domain.hierarchies)
        return max(self.information + sum(sizes) - sum(leaves) - sum(self._entropies), 0.0)

    @property
    def _entropies(self) -> list[float]:
        masks = (self.domain.mask({attribute: level}) for attribute, level in self.in_tree.finest_levels.items())
        return list(map(self.in_tree.cube.entropy, masks))

    @property
    def has_closed_form(self) -> bool:
        """True if expected counts follow from the published ones without fitting."""
        return self.in_tree is self.collection and self.collection.is_decomposable

    @cached_property
    def _drawing(self) -> "dict[int, tuple[Iterator[dict[str, CodeArray]], list[DrawnTable]]]":
        return {}

    def drawn_tables(self, count: int, seed: int = 0) -> "Iterator[DrawnTable]":
        """Yield so many whole tables with every published count; they are drawn once for each seed.

        Raises NotDecomposableError without a junction tree.
        """
        start = PlausibleTables(self.collection).drawn(np.random.default_rng(seed))
        further, cached = self._drawing.setdefault(seed, (start, []))
        yield from cached[:count]
        for number in range(len(cached), count):
            table = DrawnTable(self.collection, self.deadline, next(further), (seed, number))
            if (len(cached) + 1) * self.total * len(table.codes) <= _KEPT:
                cached.append(table)
            yield table
        if count > len(cached):
            del self._drawing[seed]

    @cached_property
    def frechet_bounds(self) -> FrechetBounds:
        """Certain bounds that follow from the marginals."""
        return FrechetBounds(self.collection, self.deadline)

    def junction_tree(self) -> "nx.Graph[Margin]":
        """Return how the margins hang together: edges carry their `separator`. Raises NotDecomposableError.

        >>> from marginals.example import release
        >>> [(str(a), str(b), str(s)) for a, b, s in release.model.junction_tree().edges(data="separator")]
        [('age:1, diagnosis:0', 'diagnosis:0, sex:0', 'diagnosis:0')]
        """
        return self.in_tree.junction_tree.graph()

    def interaction_graph(self) -> "nx.Graph[InducedAttribute]":
        """Return which steps of generalization are published together.

        >>> from marginals.example import release
        >>> sorted(f"{step.attribute}:{step.level}" for step in release.model.interaction_graph())
        ['age:1', 'age:2', 'diagnosis:0', 'sex:0']
        """
        return self.collection.interaction_graph.to_networkx()

    def independences(self) -> tuple[tuple[tuple[tuple[str, ...], ...], tuple[str, ...]], ...]:
        """Return groups of attributes at levels that the distribution takes as independent, each with those given.

        Raises NotDecomposableError.

        >>> from marginals.example import release
        >>> release.model.independences()
        (((('age:1',), ('sex:0',)), ('diagnosis:0',)),)
        """
        steps = self.domain.induced_attributes

        def names(mask: Mask) -> tuple[str, ...]:
            finest = {steps[vertex].attribute: steps[vertex].level for vertex in vertices_of(mask)}
            return tuple(f"{attribute}:{level}" for attribute, level in finest.items())

        return tuple(
            (tuple(map(names, statement.parts)), names(statement.condition))
            for statement in independences(self.collection.junction_tree)
        )

    def u_terms(self, prior_rows: float = 0.0) -> dict[tuple[str, ...], FloatArray]:
        """Return the terms of the log-linear model, as `models.u_terms` does.

        >>> from marginals.example import release
        >>> [*release.model.u_terms(prior_rows=1)]
        [(), ('age',), ('sex',), ('diagnosis',), ('age', 'diagnosis'), ('sex', 'diagnosis')]
        """
        return u_terms(self.closed_form, prior_rows)

    def mutual_information(
        self, first: Mapping[str, int], second: Mapping[str, int], condition: Mapping[str, int] | None = None
    ) -> float:
        """Return the mutual information of two margins, given `condition`, in nats.

        >>> from marginals.example import release
        >>> round(release.model.mutual_information({"sex": 0}, {"diagnosis": 0}), 3)
        0.18
        """
        groups = [first, second, condition or {}]
        expected = self.expected({a: level for group in groups for a, level in group.items()})
        return mutual_information(expected.reshape(list(map(self.domain.size, groups))))

    def draw(self, rows: int, rng: "np.random.Generator") -> dict[str, CodeArray]:
        """Draw independent rows: for each published attribute its codes at its finest published level, shape (rows,).

        Raises DomainMismatchError if the tables have no rows.
        """
        return self.tree.draw(rows, rng)

    @property
    def finest_levels(self) -> Mapping[str, int]:
        """Finest published level of each attribute; the level of `*` if no margin shows it."""
        return self.collection.finest_levels

    def expected(self, margin: Mapping[str, int]) -> FloatArray:
        """Return expected counts over a margin, one axis per attribute in the order given; read-only."""
        return self.tree.expected(margin)

    def expected_of(self, margin: Mapping[str, int], codes: Sequence[CodeArray]) -> FloatArray:
        """Return expected counts of some cells of a margin with no attribute finer than published: shape (cells,).

        codes: by attribute the value of each cell, shape (cells,). Raises TooManyCellsError if the margin is too large
        to be laid out and there is no junction tree.
        """
        try:
            return self.expected(margin)[tuple(codes)]
        except TooManyCellsError:
            if not self.collection.is_decomposable:
                raise
        mask, cells = self.domain.mask(margin), Cells.of(self.domain, margin, dict(zip(margin, codes)))
        counts = []
        for block in np.array_split(np.arange(len(cells)), len(cells) // _AT_ONCE + 1):
            distinct = cells[block].rolled_up(self.domain.margin(mask))
            even = distinct.with_counts(np.full(len(distinct), float(self.total)))
            counts.append(self._along_tree(even, mask).counts_in(cells[block]))
        return np.concatenate(counts)

    def _along_tree(self, cells: Cells, mask: Mask, most: float = inf) -> Cells:
        """Return cells of a margin, multiplied by the cliques one by one, so that no margin is laid out."""
        domain, table = self.domain, self.collection.cube.table
        tree = JunctionTree.of(domain, collapsed(self.collection.junction_tree, mask))
        for place, (clique, separator) in enumerate(zip(tree.cliques, tree.separators)):
            joined = cells.join(table(clique) / table(separator), most)
            later = reduce(or_, tree.cliques[place + 1 :], mask)
            cells = joined.rolled_up(domain.margin(domain.mask(joined.margin) & later))
        return cells

    def expected_cells(self, margin: Mapping[str, int], most: int) -> Cells:
        """Return expected counts over any margin of a decomposable collection, without cells of expected count 0.

        Values below the finest published level share their parent's expected count equally. Raises DomainMismatchError
        for an unknown attribute or level, TooManyCellsError if more than `most` cells can be occupied, and
        NotDecomposableError.
        """
        mask = self.domain.mask(margin)
        try:
            cells = self._along_tree(self.collection.cube.table(0), mask, most)
        except TooManyCellsError:
            raise TooManyCellsError(
                "these attributes have too many cells to be laid out; ask for fewer or coarser ones, or draw a sample"
            ) from None
        for attribute, level in margin.items():
            cells = cells.refined(attribute, level)
        return cells.rolled_up(self.domain.margin(mask))

    def box(self, inside: Mapping[str, BoolArray]) -> Box:
        """Return the box of rows whose base values lie in given sets."""
        return self.frechet_bounds.of_box(inside)

    def weighted(self, weights: Mapping[str, FloatArray]) -> Box:
        """Return the box of a share of the rows of each base value, for expectations. weights: 0 to 1, shape (size(0),)."""
        return Box(self.frechet_bounds, {a: weight for a, weight in weights.items() if not np.all(weight == 1)})

    def expected_in(self, box: Box) -> float:
        """Return the expected number of rows in a box."""
        if self.domain.size(box.margin) <= _LOOKED_UP:
            return float(self.expected_within({}, box))
        levels = box.levels({}, self.tree)
        groups = box.grouped({}, levels)
        counts = next(views(self.tree, tuple(sorted(groups)), groups=groups))
        suppressed = [a for a, level in levels.items() if level == self.domain.hierarchy(a).height]
        return float(counts.sum() * prod(float(box.share(a, levels[a])[0]) for a in suppressed))

    def expected_within(self, margin: Mapping[str, int], box: Box) -> FloatArray:
        """Return expected counts of the rows in a box over a margin: one axis per attribute of the margin, in its order."""
        levels = {a: min(box.margin.get(a, level), level) for a, level in {**box.margin, **margin}.items()}
        counts = self.expected(levels)
        for attribute, level in levels.items():  # each time the first axis becomes the last one
            hierarchy = self.domain.hierarchy(attribute)
            target = margin.get(attribute, hierarchy.height)
            weights = np.zeros((hierarchy.size(level), hierarchy.size(target)))
            weights[np.arange(len(weights)), hierarchy.lift(level, target)] = box.share(attribute, level)
            counts = counts.reshape(hierarchy.size(level), -1).T @ weights
        margin_order = [a for a in levels if a in margin]
        counts = counts.reshape([self.domain.hierarchy(a).size(margin[a]) for a in margin_order])
        return counts.transpose([margin_order.index(a) for a in margin])


@frozen(eq=False)
class DrawnTable(MarginalModel):
    """A whole table with every published count, which answers as the model does, by its own rows.

    codes: the value of each row, by attribute, at its finest published level, shape (rows,). origin: the seed, and which of
    its tables.
    """

    codes: Mapping[str, CodeArray] = field(default_factory=dict)
    origin: tuple[int, int] = (0, 0)

    def expected(self, margin: Mapping[str, int]) -> FloatArray:
        """Return the counts over a margin; base values finer than any published share the rows of their group equally."""
        domain, finest = self.domain, self.finest_levels
        levels = {a: max(level, finest[a]) for a, level in margin.items()}
        keys = np.zeros(self.total, dtype=np.intp)
        for a, level in levels.items():
            hierarchy = domain.hierarchy(a)
            codes = hierarchy.lift(finest[a], level)[self.codes[a]] if a in self.codes else 0
            keys = keys * hierarchy.size(level) + codes
        counts = np.bincount(keys, minlength=domain.size(levels)).astype(np.float64)
        return spread(domain, counts, levels, margin)

    def expected_in(self, box: Box) -> float:
        """Return the number of rows in a box."""
        inside = np.ones(self.total)
        for a in box.inside:
            share = box.share(a, self.finest_levels[a])
            inside *= share[self.codes[a]] if a in self.codes else share[0]
        return float(inside.sum())


def mutual_information(counts: FloatArray) -> float:
    """Return the mutual information I(A; B | C) in nats of counts with the axes A, B, C.

    It is H(A, C) + H(B, C) - H(A, B, C) - H(C), of the distribution in proportion to the counts.

    Parameters
    ----------
    counts
        Nonnegative numbers. Without an axis C, or if it has length 1, the result is I(A; B).

    Returns
    -------
    float
        0 if there are no counts.
    """
    counts = counts.reshape(*counts.shape[:2], -1)
    total = float(counts.sum())
    if total <= 0:
        return 0.0
    shares = counts / total
    margins = (shares.sum(axis=1), shares.sum(axis=0), shares, shares.sum(axis=(0, 1)))
    information = sum(sign * float(x_log_x(p).sum()) for sign, p in zip((-1, -1, 1, 1), margins))
    return max(information, 0.0)


def phi_squared(shares: FloatArray) -> float:
    """Return chi-squared over the number of rows of a table of shares or counts of two attributes; 0 if there are none."""
    total = float(shares.sum())
    if total <= 0:
        return 0.0
    product = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    ratio = np.divide(shares * shares, product, out=np.zeros_like(product), where=product > 0)
    return max(float(ratio.sum()) - 1.0, 0.0)


def cramers_v(phi_squared: float, rows: int, values: tuple[int, int], counted: tuple[int, int] | None = None) -> float:
    """Return Cramer's V, from 0 to 1, corrected for chance in a table of so many rows (Bergsma 2013).

    values: how many values of each of the two attributes have rows. counted: the groups of values in the table of phi
    squared, if they are fewer; (1, 1) if chance adds nothing to it. 0 if an attribute has one value.
    """
    value_counts = counted or values
    if rows < 2 or min(values) < 2:
        return 0.0
    beyond = max(phi_squared - (value_counts[0] - 1) * (value_counts[1] - 1) / (rows - 1), 0.0)
    most = min(number - (number - 1) ** 2 / (rows - 1) for number in values) - 1
    return min(float(np.sqrt(beyond / most)), 1.0) if most > 0 else 0.0
