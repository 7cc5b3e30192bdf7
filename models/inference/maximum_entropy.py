"""The maximum-entropy distribution of a decomposable collection, in closed form (KG06 Theorem 6.1).

    q(x) = prod_i p_Ei(x) / prod_j p_Sj(x) * prod_B 1 / leaves_B(x_B)

Only the sparse clique tables are laid out, never the joint distribution.
"""

from collections import Counter
from collections.abc import Mapping
from functools import cached_property
from math import fsum, log

import numpy as np

from models.arrays import CodeArray, FloatArray
from models.frozen import frozen
from models.graphs.junction_tree import Collection, JunctionTree
from models.tables.contingency_table import Cells
from models.tables.data_cube import DataCube
from models.tables.hierarchy import Domain


@frozen(eq=False)
class MaximumEntropy:
    """Maximum-entropy distribution of a decomposable collection, in closed form.

    Raises NotDecomposableError for any other collection.
    """

    collection: Collection

    def __post_init__(self) -> None:
        _ = self.tree

    @property
    def tree(self) -> JunctionTree:
        """The junction tree whose cliques and separators the closed form multiplies."""
        return self.collection.junction_tree

    @property
    def cube(self) -> DataCube:
        """Source of counts and entropies."""
        return self.collection.cube

    @property
    def domain(self) -> Domain:
        """The domain of the distribution."""
        return self.collection.domain

    @cached_property
    def cross_entropy(self) -> float:
        """Cross-entropy -E_p[ln q] in nats, p the empirical distribution; it equals the entropy of q."""
        entropy = self.cube.entropy
        leaves = sum(
            self.cube.log_leaves(attribute, level) for attribute, level in self.collection.finest_levels.items()
        )
        return sum(map(entropy, self.tree.cliques)) - sum(map(entropy, self.tree.separators)) + leaves

    @cached_property
    def information(self) -> float:
        """Nats by which q differs from independence: KL(q || r), r independent with the same counts of each attribute.

        It is sum_B H(B) - sum_i H(E_i) + sum_j H(S_j), each B at its finest published level. Each S_j is at the
        coarser level of each attribute that two cliques share. r spreads rows over base values as q does, so that
        leaves cancel (multi-information: Studeny and Vejnarova, Learning in Graphical Models, 1998). Equal counts
        cancel as whole numbers before a logarithm is taken. The sum is rounded once, so the result does not depend on
        the order.
        """
        signed = [(1, self.domain.mask({name: level})) for name, level in self.collection.finest_levels.items()]
        signed += [(-1, clique) for clique in self.tree.cliques]
        signed += [(1, separator) for separator in self.tree.separators]
        cells: Counter[int] = Counter()
        for sign, mask in signed:
            for count, number in zip(*np.unique(self.cube.counts(mask), return_counts=True)):
                cells[int(count)] += sign * int(number)
            # H = ln N - sum of c ln c / N, and one more cell of N rows would take away ln N.
            cells[self.cube.total] -= sign
        taken = fsum(number * count * log(count) for count, number in cells.items() if number and count)
        return max(-taken / max(self.cube.total, 1), 0.0)

    @cached_property
    def kl_divergence(self) -> float:
        """KL(p || q) in nats. Raises DomainMismatchError if the cube does not hold the base table."""
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
        """Number of free probabilities; the cube decides whether empty cells count."""
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

    def log_probability(self, codes: Mapping[str, CodeArray]) -> FloatArray:
        """Return the natural logarithm of q at base cells, -inf if q is 0.

        codes: for each attribute of the domain, base codes of shape (n,).
        """
        cells = Cells.of(self.domain, dict.fromkeys(self.domain.attributes, 0), codes)
        result = np.zeros(len(next(iter(codes.values()))))
        for sign, masks in ((1, self.tree.cliques), (-1, self.tree.separators)):
            for mask in masks:
                with np.errstate(divide="ignore"):
                    logs = np.log(self.cube.table(mask).counts_in(cells) / max(self.cube.total, 1))
                result += np.where(np.isneginf(logs) & (sign < 0), 0.0, sign * logs)
        for attribute, level in self.collection.finest_levels.items():
            hierarchy = self.domain.hierarchy(attribute)
            result -= np.log(hierarchy.leaf_counts(level)[hierarchy.lift(0, level)[codes[attribute]]])
        return result
