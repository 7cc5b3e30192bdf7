"""The maximum-entropy distribution of a decomposable collection, in closed form (KG06 Theorem 6.1).

    q(x) = prod_i p_Ei(x) / prod_j p_Sj(x) * prod_B 1 / leaves_B(x_B)

Only the sparse clique tables are ever laid out, never the joint distribution.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import fsum, log
from typing import NamedTuple, Protocol

import numpy as np

from models.arrays import CodeArray, FloatArray, IndexArray
from models.errors import NotFittedError
from models.graphs.junction_tree import Collection, JunctionTree
from models.tables.contingency_table import Cells, ContingencyTable, group, pack
from models.tables.data_cube import DataCube
from models.tables.hierarchy import Domain


@dataclass(frozen=True, eq=False)
class MaximumEntropy:
    """The maxent distribution of a decomposable collection. Raises NotDecomposableError for any other."""

    collection: Collection

    def __post_init__(self) -> None:
        _ = self.tree

    @property
    def tree(self) -> JunctionTree:
        """The junction tree whose cliques and separators the closed form multiplies."""
        return self.collection.junction_tree

    @property
    def cube(self) -> DataCube:
        """Where counts and entropies come from."""
        return self.collection.cube

    @property
    def domain(self) -> Domain:
        """The domain of the distribution."""
        return self.collection.domain

    @cached_property
    def cross_entropy(self) -> float:
        """-E_p[ln q] in nats, p the empirical distribution: only marginal entropies are needed."""
        entropy = self.cube.entropy
        return (
            sum(map(entropy, self.tree.cliques))
            - sum(map(entropy, self.tree.separators))
            + sum(self.cube.log_leaves(attribute, level) for attribute, level in self.collection.finest_levels.items())
        )

    @property
    def entropy(self) -> float:
        """Entropy of q in nats: its cross-entropy, since ln q is a sum of functions of the marginals that p and q share."""
        return self.cross_entropy

    @cached_property
    def information(self) -> float:
        """Nats by which q differs from independence: KL(q || r), r independent with the same counts of each attribute.

            sum_B H(B) - sum_i H(E_i) + sum_j H(S_j)

        B at its finest published level, S_j at the coarser level of each attribute that two cliques share; r spreads rows
        over base values as q does, so leaves cancel, and H(r) - H(q) is left (multi-information: Studeny and Vejnarova,
        Learning in Graphical Models, 1998). It follows from the marginals alone. Equal counts cancel as whole numbers
        before a logarithm is taken, and the sum is rounded once, so that order changes no bit.
        """
        finest = ({attribute: level} for attribute, level in self.collection.finest_levels.items())
        signed = [*((1, self.domain.mask(margin)) for margin in finest)]
        signed += [(-1, clique) for clique in self.tree.cliques]
        signed += [(1, separator) for separator in self.tree.separators]
        cells: Counter[int] = Counter()
        for sign, mask in signed:
            for count, number in zip(*np.unique(self.cube.counts(mask), return_counts=True)):
                cells[int(count)] += sign * int(number)
            # H = ln N - sum of c ln c / N, and ln N is what one more cell of N rows would take away.
            cells[self.cube.total] -= sign
        taken = fsum(number * count * log(count) for count, number in cells.items() if number and count)
        return max(-taken / max(self.cube.total, 1), 0.0)

    @cached_property
    def total_information(self) -> float:
        """Nats by which q differs from knowing nothing: KL(q || u) = sum_B ln|dom B| - H(q), u uniform over base cells.

        It counts what the one-way marginals tell too. Where two models are of the same base values, their difference is
        that of their KL divergences from the data.
        """
        return max(sum(log(hierarchy.size(0)) for hierarchy in self.domain.hierarchies) - self.entropy, 0.0)

    @cached_property
    def kl_divergence(self) -> float:
        """KL(p || q) in nats. Raises DomainMismatchError when the cube does not hold the base table."""
        base = sum(self.domain.attribute_masks)
        return max(self.cross_entropy - self.cube.entropy(base), 0.0)

    @property
    def log_likelihood(self) -> float:
        """Log-likelihood of the rows, in nats."""
        return -self.cube.total * self.cross_entropy

    @property
    def deviance(self) -> float:
        """Twice the log-likelihood ratio against the saturated model."""
        return 2 * self.cube.total * self.kl_divergence

    @cached_property
    def parameter_count(self) -> int:
        """Number of free probabilities, cells counted as the cube counts them: empty ones are parameters, or are not."""
        cells = self.cube.cell_count
        return sum(cells(c) - 1 for c in self.tree.cliques) - sum(cells(s) - 1 for s in self.tree.separators)

    @property
    def degrees_of_freedom(self) -> int:
        """Residual degrees of freedom against the saturated model over the base domain."""
        return self.domain.size(dict.fromkeys(self.domain.attributes, 0)) - 1 - self.parameter_count

    @property
    def aic(self) -> float:
        """Akaike's criterion: 2 parameters - 2 log-likelihood."""
        return 2 * self.parameter_count - 2 * self.log_likelihood

    @property
    def bic(self) -> float:
        """Schwarz's criterion: ln(rows) parameters - 2 log-likelihood."""
        return log(max(self.cube.total, 1)) * self.parameter_count - 2 * self.log_likelihood

    @cached_property
    def clique_tables(self) -> tuple[ContingencyTable, ...]:
        """The marginals of the cliques, in perfect sequence."""
        return tuple(map(self.cube.table, self.tree.cliques))

    @cached_property
    def separator_tables(self) -> tuple[ContingencyTable, ...]:
        """The marginals of the separators; the first, and any empty one, is the number of rows."""
        return tuple(map(self.cube.table, self.tree.separators))

    def log_probability(self, codes: Mapping[str, CodeArray]) -> FloatArray:
        """Natural logarithm of q at base cells, -inf where q is 0.

        codes: for each attribute of the domain, base codes of shape (n,).
        """
        cells = Cells.of(self.domain, dict.fromkeys(self.domain.attributes, 0), codes)
        result = np.zeros(len(cells))
        for sign, tables in ((1, self.clique_tables), (-1, self.separator_tables)):
            for table in tables:
                looked_up = table.counts_in(cells)
                with np.errstate(divide="ignore"):
                    logs = np.log(looked_up / max(self.cube.total, 1))
                result += np.where(np.isneginf(logs) & (sign < 0), 0.0, sign * logs)
        for attribute, level in self.collection.finest_levels.items():
            hierarchy = self.domain.hierarchy(attribute)
            result -= np.log(hierarchy.leaf_counts(level)[hierarchy.lift(0, level)[codes[attribute]]])
        return result


# Couplings: how many rows two tables that agree on a separator put into a cell of their join.
#
# Only the separator says which row of one table is which row of the other. In the maximum-entropy distribution they
# meet in proportion; the most and the least of them that can meet are Frechet's bounds, separator cell by separator
# cell.


_BLOCK = 1 << 20
"""Entries of what is laid out at a time."""


class Message(NamedTuple):
    """What lies beyond a separator.

    counts: rows by separator cell and by what is asked beyond it, shape (separator cells, asked). rows: shape
    (separator cells,). positions: the separator cell of each cell of the clique before it.
    """

    counts: FloatArray
    rows: FloatArray
    positions: IndexArray


class Coupling(Protocol):
    """A way to join two tables that agree on a separator."""

    def meet(self, near: FloatArray, far: FloatArray, rows: FloatArray) -> FloatArray:
        """Sum over a separator: shape (separator cells, n) and (separator cells, m) to (n, m)."""

    def through(self, counts: FloatArray, keys: IndexArray, size: int, messages: Sequence[Message]) -> FloatArray:
        """Rows of a clique by key and by all that is asked in messages: shape (size, asked of all messages).

        counts, keys: one for each cell of the clique, keys below `size`.
        """


class Independent:
    """Rows meet in proportion: the maximum-entropy distribution."""

    def meet(self, near: FloatArray, far: FloatArray, rows: FloatArray) -> FloatArray:
        """Sum over a separator of near * far / rows, a matrix product."""
        return np.asarray((near / np.where(rows > 0, rows, 1)[:, None]).T @ far)

    def through(self, counts: FloatArray, keys: IndexArray, size: int, messages: Sequence[Message]) -> FloatArray:
        """Rows by key and messages; with one message again a matrix product."""
        if not messages:
            return np.asarray(np.bincount(keys, counts, minlength=size).reshape(size, 1), dtype=np.float64)
        shares = [m._replace(counts=m.counts / np.where(m.rows > 0, m.rows, 1)[:, None]) for m in messages]
        if len(messages) > 1:
            return _by_key(_products, counts, keys, size, shares)
        beyond, places = shares[0].counts, shares[0].positions
        cells = len(beyond)
        if size * cells <= _BLOCK:
            return np.asarray(np.bincount(keys * cells + places, counts, size * cells).reshape(size, cells) @ beyond)
        from scipy.sparse import csr_array  # slow to import, and few need it

        return np.asarray(csr_array((counts, (keys, places)), shape=(size, cells)) @ beyond)


class FrechetUpper:
    """As many rows meet as can, in each separator cell."""

    def meet(self, near: FloatArray, far: FloatArray, rows: FloatArray) -> FloatArray:
        """Sum over a separator of min(near, far)."""
        return _meet(lambda one, other, _: np.minimum(one, other), near, far, rows)

    def through(self, counts: FloatArray, keys: IndexArray, size: int, messages: Sequence[Message]) -> FloatArray:
        """Rows by key and messages; cells that no message tells apart count as one."""
        return _by_key(_least, *_merged(counts, keys, size, messages))


class FrechetLower:
    """As few rows meet as must, in each separator cell."""

    def meet(self, near: FloatArray, far: FloatArray, rows: FloatArray) -> FloatArray:
        """Sum over a separator of max(near + far - rows, 0)."""
        return _meet(lambda one, other, all_: np.maximum(one + other - all_, 0), near, far, rows)

    def through(self, counts: FloatArray, keys: IndexArray, size: int, messages: Sequence[Message]) -> FloatArray:
        """Rows by key and messages; cells that no message tells apart count as one."""
        return _by_key(_overlap, *_merged(counts, keys, size, messages))


class _Elementwise(Protocol):
    def __call__(self, one: FloatArray, other: FloatArray, rows: FloatArray, /) -> FloatArray: ...


class _Join(Protocol):
    def __call__(self, counts: FloatArray, messages: Sequence[Message], /) -> FloatArray: ...


def _meet(combine: _Elementwise, one: FloatArray, other: FloatArray, rows: FloatArray) -> FloatArray:
    met = np.zeros((one.shape[1], other.shape[1]))
    step = max(_BLOCK // max(met.size, 1), 1)
    for start in range(0, len(rows), step):
        block = slice(start, start + step)
        met += combine(one[block, :, None], other[block, None, :], rows[block, None, None]).sum(axis=0)
    return met


def _merged(
    counts: FloatArray, keys: IndexArray, size: int, messages: Sequence[Message]
) -> tuple[FloatArray, IndexArray, int, list[Message]]:
    """Cells with the same key and the same separator cells counted as one."""
    columns = [keys, *(m.positions for m in messages)]
    packed, space = pack(columns, [size, *(len(m.rows) for m in messages)], len(counts))
    first, numbers = group(packed, space)
    merged = np.asarray(np.bincount(numbers, counts, minlength=len(first)), dtype=np.float64)
    return merged, keys[first], size, [m._replace(positions=m.positions[first]) for m in messages]


def _by_key(join: _Join, counts: FloatArray, keys: IndexArray, size: int, messages: Sequence[Message]) -> FloatArray:
    width = int(np.prod([m.counts.shape[1] for m in messages], dtype=np.int64))
    sums_by_key = np.zeros((size, width))
    step = max(_BLOCK // max(width, 1), 1)
    for start in range(0, len(counts), step):
        block = slice(start, start + step)
        joined = join(counts[block], [m._replace(positions=m.positions[block]) for m in messages])
        places = keys[block, None] * width + np.arange(width)
        sums_by_key += np.bincount(places.ravel(), joined.ravel(), size * width).reshape(size, width)
    return sums_by_key


def _products(counts: FloatArray, messages: Sequence[Message]) -> FloatArray:
    joined = counts[:, None]
    for message in messages:
        joined = (joined[:, :, None] * message.counts[message.positions][:, None, :]).reshape(len(counts), -1)
    return joined


def _least(counts: FloatArray, messages: Sequence[Message]) -> FloatArray:
    joined = counts[:, None]
    for message in messages:
        beyond = message.counts[message.positions][:, None, :]
        joined = np.minimum(joined[:, :, None], beyond).reshape(len(counts), -1)
    return joined


def _overlap(counts: FloatArray, messages: Sequence[Message]) -> FloatArray:
    joined = counts[:, None]
    for message in messages:
        short = (message.counts - message.rows[:, None])[message.positions][:, None, :]
        joined = (joined[:, :, None] + short).reshape(len(counts), -1)
    return np.maximum(joined, 0)


# Weights of a mixture of distributions under which some rows are most likely, by expectation and maximization.
#
# The likelihood is concave in the weights. With m_i the mean, by the rows' weights, of p_i / sum_j w_j p_j over the
# rows, a step multiplies w_i by m_i, which never lowers it, and no weights are better than these by more than ln max_i
# m_i nats a row: the mean of ln(sum v_i p_i / sum w_j p_j) is at most the logarithm of its mean, sum v_i m_i (Jensen;
# Cover, An Algorithm for Maximizing Expected Log Investment Return, 1984).


WITHIN = 1e-6
"""Nats a row that the best weights may be better by."""

_STEPS = 100_000


def mixture_weights(log_probabilities: FloatArray, rows: FloatArray) -> FloatArray:
    """The weights, shape (distributions,), that sum to 1.

    log_probabilities: of each cell under each distribution, shape (distributions, cells). rows: how often each cell is,
    shape (cells,), with a positive sum. Raises NotFittedError where some row is impossible under every distribution.

    >>> mixture_weights(np.log([[0.9, 0.1], [0.1, 0.9]]), np.array([3.0, 1.0])).round(2)
    array([0.81, 0.19])
    """
    highest = log_probabilities.max(axis=0)
    if np.isneginf(highest[rows > 0]).any():
        raise NotFittedError("some row is impossible under every one of the distributions, whatever their weights")
    likely = np.exp(log_probabilities[:, rows > 0] - highest[rows > 0])
    shares = rows[rows > 0] / rows.sum()
    weights = np.full(len(likely), 1 / len(likely))
    for _ in range(_STEPS):
        means = likely @ (shares / (weights @ likely))
        if np.log(means.max()) <= WITHIN:
            return weights
        weights = weights * means
        weights /= weights.sum()
    raise NotFittedError(f"the weights are not within {WITHIN} nats of the best after {_STEPS} steps")
