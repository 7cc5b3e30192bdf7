"""Oracles that walk over every cell of the joint distribution; they read hierarchies as rows of labels and no more."""

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from models import ContingencyTable, Domain, Hierarchy, Taxonomy

Array = NDArray[np.float64]


def lifted(hierarchy: Hierarchy, fine: int, coarse: int) -> NDArray[np.intp]:
    """For each value of level `fine` the position of the value above it at level `coarse`, both as first seen."""
    above = {row[fine]: row[coarse] for row in hierarchy.rows()}
    labels = list(dict.fromkeys(above.values()))
    return np.array([labels.index(label) for label in above.values()])


def covered(taxonomy: Taxonomy) -> NDArray[np.bool_]:
    """Which base values lie under each node: shape (nodes, leaves)."""
    places = [lifted(taxonomy.hierarchy, 0, level) for level in range(taxonomy.hierarchy.height + 1)]
    return np.concatenate([place == np.arange(place.max() + 1)[:, None] for place in places])


def joint_array(table: ContingencyTable) -> Array:
    """The counts of a base table as a dense array, one axis an attribute of the domain."""
    joint = np.zeros([len(hierarchy.rows()) for hierarchy in table.domain.hierarchies])
    for codes, count in zip(zip(*table.codes), table.counts):
        joint[codes] += count
    return joint


def base_cells(domain: Domain) -> dict[str, NDArray[np.intp]]:
    """The codes of all base cells, in the order of the raveled joint array."""
    shape = [len(hierarchy.rows()) for hierarchy in domain.hierarchies]
    return dict(zip(domain.attributes, np.indices(shape).reshape(len(shape), -1)))


def places(domain: Domain, margin: Mapping[str, int]) -> tuple[NDArray[np.intp], ...]:
    """Index that sends each cell of the joint array to its cell in the margin; attributes left out get one value."""
    levels = [margin.get(attribute, -1) for attribute in domain.attributes]
    return np.ix_(*(lifted(hierarchy, 0, level) for hierarchy, level in zip(domain.hierarchies, levels)))


def dense_marginal(joint: Array, domain: Domain, margin: Mapping[str, int]) -> Array:
    """The marginal of a joint array: one axis an attribute of the domain, of length 1 where it is left out."""
    return summed(joint, places(domain, margin))


def summed(array: NDArray, index: tuple[NDArray[np.intp], ...]) -> NDArray:
    result = np.zeros([axis.max() + 1 for axis in index], dtype=array.dtype)
    np.add.at(result, index, array)
    return result


def iterative_proportional_fitting(
    p: Array, domain: Domain, margins: Iterable[Mapping[str, int]], sweeps: int = 1000, start: Array | None = None
) -> Array:
    """The joint distribution nearest to a start that has the marginals of p: of maximum entropy where it starts evenly."""
    q = np.full(p.shape, 1 / p.size) if start is None else start
    targets = [(places(domain, m), dense_marginal(p, domain, m)) for m in margins]
    for _ in range(sweeps):
        before = q
        for index, target in targets:
            current = summed(q, index)
            ratio = np.divide(target, current, out=np.zeros_like(target), where=current > 0)
            q = q * ratio[index]
        if np.abs(q - before).max() < 1e-15:
            break
    return q


def entropy(p: Array) -> float:
    return -sum(x * np.log(x) for x in p.ravel() if x > 0)


def kl_divergence(p: Array, q: Array) -> float:
    """KL(p || q) in nats."""
    return sum(x * np.log(x / y) for x, y in zip(p.ravel(), q.ravel()) if x > 0)


def independent(p: Array) -> Array:
    """The joint distribution in which attributes are independent, each with its probabilities in p."""
    product = np.ones_like(p)
    for axis in range(p.ndim):
        product = product * p.sum(axis=tuple(other for other in range(p.ndim) if other != axis), keepdims=True)
    return product


def free_parameter_count(domain: Domain, margins: Iterable[Mapping[str, int]]) -> int:
    """Dimension of the log-linear model: rank of the margins' indicators over the joint, less one for the total."""
    cells = np.eye(np.prod([len(hierarchy.rows()) for hierarchy in domain.hierarchies]))
    shape = [len(hierarchy.rows()) for hierarchy in domain.hierarchies]
    columns = [[dense_marginal(cell.reshape(shape), domain, m).ravel() for cell in cells] for m in ({}, *margins)]
    return int(np.linalg.matrix_rank(np.hstack(columns))) - 1
