"""Componentwise minima along a junction tree, and which of many vectors can matter for the smallest count."""

import numpy as np

from checks.maxent.class_combinations import FittingClasses
from checks.maxent.vector_sets import distinct_positions, groups, minimal_positions
from models.arrays import FloatArray, IndexArray
from models.deadline import NEVER, Deadline


def minimal_of_equal_support(vectors: FloatArray, block: IndexArray, deadline: Deadline = NEVER) -> IndexArray:
    """Of the vectors of a block with the same support, those that no other is at most, everywhere.

    A smaller vector of another support may end as U = 0, which is no finding, where the larger one ends below k.
    """
    distinct = distinct_positions(vectors, block)
    alike = groups(block[distinct], np.unique(vectors[distinct] > 0, axis=0, return_inverse=True)[1].reshape(-1))
    kept = [distinct[g if len(g) == 1 else g[minimal_positions(vectors[distinct[g]], deadline)]] for g in alike]
    return np.sort(np.concatenate(kept)) if kept else distinct


def outside_minima(tree: FittingClasses, factors: tuple[FloatArray, ...]) -> tuple[FloatArray, ...]:
    """For each clique and separator class the componentwise minimum over all that the rest of the tree can be."""
    cliques = len(tree.classes)
    arriving = inside_minima(tree, factors)
    outside: list[FloatArray] = [np.full((len(tree.separators[0]), factors[0].shape[1]), np.inf)] + [
        np.zeros((0, 0))
    ] * (cliques - 1)
    for clique in range(cliques):
        children = tree.tree.children[clique]
        for child in children:
            seen = np.minimum(factors[clique], outside[clique][tree.inward[clique]])
            for sibling in children:
                if sibling != child:
                    seen = np.minimum(seen, arriving[sibling][tree.outward[sibling]])
            outside[child] = _segment_min(seen, tree.outward[child], len(tree.separators[child]))
    return tuple(outside)


def inside_minima(tree: FittingClasses, factors: tuple[FloatArray, ...]) -> list[FloatArray]:
    """For each clique and separator class the componentwise minimum over all that its subtree can be."""
    inside: list[FloatArray] = list(factors)
    arriving: list[FloatArray] = [np.zeros((0, 0))] * len(factors)
    for clique in reversed(range(len(factors))):
        for child in tree.tree.children[clique]:
            inside[clique] = np.minimum(inside[clique], arriving[child][tree.outward[child]])
        arriving[clique] = _segment_min(inside[clique], tree.inward[clique], len(tree.separators[clique]))
    return arriving


def _segment_min(rows: FloatArray, segment: IndexArray, segments: int) -> FloatArray:
    """Componentwise minimum of the rows of each segment, infinite where it has none."""
    result = np.full((segments, rows.shape[1]), np.inf)
    order = np.argsort(segment, kind="stable")
    ordered = segment[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(ordered) else np.zeros(0, dtype=np.intp)
    if len(starts):
        result[ordered[starts]] = np.minimum.reduceat(rows[order], starts, axis=0)
    return result
