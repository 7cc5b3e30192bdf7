"""Tables with the published counts, in which unpublished associations are as strong as published ones.

Along a junction tree, any table with all published counts becomes any other by exchanges. An exchange swaps, between
two rows of one separator cell, the values on one side of the separator. A table has a probability proportional to
exp(sum over rows and pairs of s e(x) f(y)). The pairs are the attributes x and y that some separator parts. e and f
are random functions of their values, with variance 1 within the cells of the separator that parts them most. s is rho
/ (1 - rho^2), which for two normal scores is the interaction of the partial correlation rho. rho is the larger of two
draws from the largest canonical correlations of the published pairs, corrected for chance. e and f agree with what the
other tables imply of the pair more often than not. A Metropolis chain of exchanges makes the draw.

The strength of unpublished pairs is an assumption that nothing published supports. The coverage of intervals by such
tables is measured (`benchmarks/plausible_coverage.py`).
"""

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import combinations, product

import numpy as np

from models.arrays import BoolArray, CodeArray, FloatArray, smallest_code_dtype
from models.frozen import frozen
from models.graphs.junction_tree import Collection
from models.tables.contingency_table import Cells, ContingencyTable, pack
from models.tables.hierarchy import Domain, Mask

_PASSES = 20
"""Exchanges offered to each row at each separator."""

_AGREEING = 0.6
"""Share of the pairs whose interaction is made to agree with the other tables; half of the rest agree by chance."""

_LEAST_SPREAD = 0.1
"""Least standard deviation within cells that scores are divided by, so that scores that hardly vary are not inflated.
"""

_MOST_CELLS = 1 << 16
"""Cells of a separator above which the occupied ones are renumbered."""

_USUAL = (0.1, 0.2, 0.4)
"""Correlations where no pair is published: near the quartiles of the pairs that seven public tables publish by default."""

_STRONGEST = 0.9
"""Largest correlation that is drawn; with a larger one a pair is nearly a function."""


_Interactions = Mapping[tuple[str, str], tuple[FloatArray, FloatArray]]

_Edge = tuple[Mask, tuple[str, ...], tuple[str, ...]]
"""Separator, the attributes whose finest values lie on its near side only, and those on its far side, to be exchanged.
"""


@frozen(eq=False)
class PlausibleTables:
    """Random tables at the finest published levels with every count of a decomposable collection.

    collection: decomposable; each table has as many rows as it counts.
    """

    collection: Collection

    @property
    def domain(self) -> Domain:
        """The attributes with their hierarchies."""
        return self.collection.domain

    @cached_property
    def correlations(self) -> FloatArray:
        """Largest canonical correlation of the attributes of each published pair, shape (pairs,)."""
        strengths = []
        for clique in self.collection.junction_tree.cliques:
            levels = self.domain.margin(clique)
            for first, second in combinations(levels, 2):
                pair = {first: levels[first], second: levels[second]}
                strengths.append(canonical_correlation(self.collection.cube.table(self.domain.mask(pair))))
        return np.array(strengths or _USUAL)

    @property
    def parted(self) -> tuple[tuple[str, str], ...]:
        """Pairs that no table shows together at their finest levels; they are associated like published pairs."""
        return tuple(self._parting)

    def drawn(self, rng: "np.random.Generator", passes: int = _PASSES) -> Iterator[dict[str, CodeArray]]:
        """Yield one table after the other: by attribute the codes of its rows, shape (rows,). passes: per table."""
        while True:
            rows = self._independent(rng)
            scores = self._interactions(rows, rng)
            for _ in range(passes):
                for edge in self._edges:
                    self._exchange(rows, edge, scores, rng)
            order = rng.permutation(self.collection.cube.total)
            yield {name: codes[order] for name, codes in rows.items()}

    @cached_property
    def _edges(self) -> tuple[_Edge, ...]:
        tree = self.collection.junction_tree
        below: list[Mask] = list(tree.cliques)
        for child in range(len(below) - 1, 0, -1):
            if (parent := tree.parents[child]) >= 0:
                below[parent] |= below[child]
        attribute_bits = {name: self.domain.mask({name: level}) for name, level in self._levels.items()}
        return tuple(
            (
                separator,
                tuple(name for name, mask in attribute_bits.items() if mask & ~beyond),
                tuple(name for name, mask in attribute_bits.items() if not mask & ~beyond and mask & ~separator),
            )
            for separator, beyond in list(zip(tree.separators, below))[1:]
        )

    @cached_property
    def _levels(self) -> Mapping[str, int]:
        return {name: level for name, level in self.collection.finest_levels.items() if self.collection.shows(name)}

    def _independent(self, rng: "np.random.Generator") -> dict[str, CodeArray]:
        """Return a random table without associations beyond the margins: all ways to join the cliques are equally likely."""
        rows: dict[str, CodeArray] = {}
        levels: dict[str, int] = {}
        tree = self.collection.junction_tree
        for clique, separator in zip(tree.cliques, tree.separators):
            table = self.collection.cube.table(clique)
            repeated = rng.permutation(np.repeat(np.arange(len(table)), table.counts))
            shared = self.domain.margin(separator)
            places = np.arange(table.total)
            if rows and shared:
                present = self._keys(rows, levels, shared)
                new = pack(*table.columns(shared), len(table))[0][repeated]
                places[np.argsort(present, kind="stable")] = np.argsort(new, kind="stable")
            for name, level in self.domain.margin(clique).items():
                if level < levels.get(name, level + 1):
                    rows[name] = table.column(name, level)[repeated][places]
                    levels[name] = level
        return rows

    def _keys(self, rows: Mapping[str, CodeArray], levels: Mapping[str, int], shared: Mapping[str, int]) -> CodeArray:
        """Return the separator cell of each row, in the order of a table's keys: shape (rows,)."""
        cells = Cells.of(
            self.domain, {name: levels[name] for name in shared}, rows, np.ones(self.collection.cube.total)
        )
        keys, space = pack(*cells.columns(shared), len(cells))
        if space > _MOST_CELLS:
            keys = np.unique(keys, return_inverse=True)[1]
            space = len(keys)
        return keys.astype(smallest_code_dtype(space))  # narrow numbers are sorted far faster

    @cached_property
    def _parting(self) -> Mapping[tuple[str, str], tuple[int, ...]]:
        """Places of the separators that part two attributes, for each pair that is parted."""
        parting: dict[tuple[str, str], list[int]] = {}
        for place, (_, near, beyond) in enumerate(self._edges):
            for one, other in product(near, beyond):
                parting.setdefault((min(one, other), max(one, other)), []).append(place)
        return {pair: tuple(places) for pair, places in sorted(parting.items())}

    def _interactions(self, rows: Mapping[str, CodeArray], rng: "np.random.Generator") -> _Interactions:
        """Return for each parted pair the scores of the values of both attributes; the first ones are multiplied by s."""
        keys = [self._keys(rows, self._levels, self.domain.margin(separator)) for separator, *_ in self._edges]
        interactions = {}
        for pair, parting in self._parting.items():
            rho = min(float(rng.choice(self.correlations, 2).max()), _STRONGEST)
            first, second = (self._scores(name, rng) for name in pair)
            of_rows = first[rows[pair[0]]], second[rows[pair[1]]]
            spread = min(_within(of_rows[0], keys[place]) * _within(of_rows[1], keys[place]) for place in parting)
            sign = np.sign(of_rows[0] @ of_rows[1]) if rng.random() < _AGREEING else 1.0
            interactions[pair] = sign * rho / (1 - rho * rho) / spread * first, second
        return interactions

    def _scores(self, name: str, rng: "np.random.Generator") -> FloatArray:
        """Return a random function of the values of an attribute, of mean 0 and variance 1; of ordered values a trend."""
        level, hierarchy = self._levels[name], self.domain.hierarchy(name)
        counts = self.collection.cube.table(self.domain.mask({name: level})).dense().astype(np.float64)
        scores = _standardized(rng.normal(size=len(counts)), counts)
        order = hierarchy.order_among(level, range(len(counts))) if len(counts) > 2 else None
        if order is not None:
            place = np.empty(len(counts))
            place[list(order)] = np.arange(len(counts))
            scores = _standardized(rng.random() * scores + rng.choice([-1, 1]) * _standardized(place, counts), counts)
        return scores

    def _exchange(
        self, rows: dict[str, CodeArray], edge: _Edge, interactions: _Interactions, rng: "np.random.Generator"
    ) -> None:
        """Offer each row an exchange with another row of its separator cell; make those that the distribution accepts."""
        separator, near, beyond = edge
        order = rng.permutation(self.collection.cube.total)
        keys = self._keys(rows, self._levels, self.domain.margin(separator))[order]
        sorted_places = np.argsort(keys, kind="stable")
        order, keys = order[sorted_places], keys[sorted_places]
        begin = int(rng.integers(2))
        same = keys[begin:-1:2] == keys[begin + 1 :: 2]
        one, other = order[begin:-1:2][same], order[begin + 1 :: 2][same]
        gain = np.zeros(len(one))
        for pair in product(near, beyond):
            names = min(pair), max(pair)
            first, second = (
                score[rows[name][one]] - score[rows[name][other]] for name, score in zip(names, interactions[names])
            )
            gain -= first * second
        taken: BoolArray = np.log(rng.random(len(one))) < gain
        one, other = one[taken], other[taken]
        for name in beyond:
            codes = rows[name]
            codes[one], codes[other] = codes[other], codes[one]


def _within(scores: FloatArray, keys: CodeArray) -> float:
    """Return the standard deviation of the scores of rows within their cells. scores, keys: shape (rows,)."""
    rows = np.bincount(keys)
    means = np.bincount(keys, scores) / np.maximum(rows, 1)
    return max(_LEAST_SPREAD, float(np.sqrt(np.mean((scores - means[keys]) ** 2))))


def _standardized(scores: FloatArray, counts: FloatArray) -> FloatArray:
    shares = counts / counts.sum()
    centred = scores - shares @ scores
    variance = float(shares @ centred**2)
    return np.asarray(centred / np.sqrt(variance) if variance > 0 else np.zeros_like(centred))


def canonical_correlation(table: ContingencyTable) -> float:
    """Return the largest canonical correlation of two attributes, from 0 to 1, corrected for chance.

    For n rows without association its square is near (sqrt(r - 1) + sqrt(c - 1))^2 / n, with r and c values.
    """
    counts = table.dense().astype(np.float64)
    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    rows = counts.sum()
    if min(counts.shape) < 2:
        return 0.0
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / rows
    largest = float(np.linalg.svd((counts - expected) / np.sqrt(expected * rows), compute_uv=False)[0])
    r, c = counts.shape
    return float(np.sqrt(max(0.0, largest**2 - (np.sqrt(r - 1) + np.sqrt(c - 1)) ** 2 / rows)))
