"""Sets of vectors worked up a junction tree: what the join would enumerate, pruned on the way (KG06 Algorithm 1).

Each clique keeps, for each of its classes, the vectors that its subtree can contribute; classes that look the same to
the rest of the tree (one separator class) share a block, and within a block a pruning drops what cannot matter.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from checks.maxent.class_combinations import Combine, FittingClasses
from models.arrays import BoolArray, FloatArray, IndexArray
from models.deadline import NEVER, Deadline

Prune = Callable[[FloatArray, IndexArray], IndexArray]
"""From vectors, shape (n, values), and the number of each one's block, ascending, to the positions to keep."""

Doomed = Callable[[int, FloatArray, IndexArray], BoolArray]
"""Which of a clique's finished vectors, given their separator classes, no rest of the tree can make matter."""


class TooManyVectorsError(Exception):
    """The sets have outgrown their limit; the answer is undecided."""


@dataclass(frozen=True, eq=False)
class VectorSet:
    """Vectors with the class combination behind each: chosen has shape (n, cliques), -1 outside the subtree.

    examined: how many vectors were made on the way.
    """

    vectors: FloatArray
    chosen: IndexArray
    examined: int


def work_up(
    tree: FittingClasses,
    factors: Sequence[FloatArray],
    combine: Combine,
    prune: Prune,
    doomed: Doomed,
    limit: int,
) -> VectorSet:
    """The vectors that are left at the root.

    Raises TooManyVectorsError when a step would make more than `limit`, TimeOverError when the tree's deadline comes.
    """
    cliques = len(tree.classes)
    finished: dict[int, tuple[FloatArray, IndexArray, IndexArray]] = {}
    examined = 0
    for clique in reversed(range(cliques)):
        tree.deadline.check()
        owner: IndexArray = np.arange(len(tree.classes[clique]))
        vectors = factors[clique]
        chosen = np.full((len(owner), cliques), -1, dtype=np.intp)
        chosen[:, clique] = owner
        for child in tree.tree.children[clique]:
            below, below_chosen, block = finished.pop(child)
            tree.deadline.check()
            separator_rows = tree.outward[child][owner]
            starts = np.searchsorted(block, np.arange(len(tree.separators[child]) + 1))
            size = starts[separator_rows + 1] - starts[separator_rows]
            if int(size.sum()) > limit:
                raise TooManyVectorsError
            rows = np.repeat(np.arange(len(owner)), size)
            within = np.arange(len(rows)) - np.repeat(np.cumsum(size) - size, size)
            joined = np.repeat(starts[separator_rows], size) + within
            vectors, owner = combine(vectors[rows], below[joined]), owner[rows]
            chosen = np.maximum(chosen[rows], below_chosen[joined])
            examined += len(rows)
            kept = np.flatnonzero(vectors.any(axis=1))
            kept = kept[prune(vectors[kept], owner[kept])]
            vectors, owner, chosen = vectors[kept], owner[kept], chosen[kept]
        block = tree.inward[clique][owner]
        order = np.argsort(block, kind="stable")
        order = order[vectors[order].any(axis=1)]
        order = order[~doomed(clique, vectors[order], block[order])]
        kept = order[prune(vectors[order], block[order])]
        examined += len(order)
        finished[clique] = vectors[kept], chosen[kept], block[kept]
    vectors, chosen, _ = finished[0]
    return VectorSet(vectors, chosen, examined)


def none_doomed(clique: int, vectors: FloatArray, block: IndexArray) -> BoolArray:  # noqa: ARG001
    """Drops nothing."""
    return np.zeros(len(vectors), dtype=bool)


def distinct_positions(vectors: FloatArray, block: IndexArray) -> IndexArray:
    """The first of equal vectors in each block, ascending, so that blocks stay in order."""
    if not len(vectors):
        return np.zeros(0, dtype=np.intp)
    _, first = np.unique(np.column_stack((block, vectors)), axis=0, return_index=True)
    return np.sort(first)


def groups(*keys: IndexArray) -> list[IndexArray]:
    """Positions with equal keys, as one array for each combination of keys."""
    if not len(keys[0]):
        return []
    _, number = np.unique(np.column_stack(keys), axis=0, return_inverse=True)
    number = number.reshape(-1)
    order = np.argsort(number, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(number[order])) + 1)


def minimal_positions(vectors: FloatArray, deadline: Deadline = NEVER) -> IndexArray:
    """The vectors that no other is at most, everywhere; of equal ones the first. O(n * minimal).

    Raises TimeOverError when the deadline comes before.
    """
    order = np.argsort(vectors.sum(axis=1), kind="stable")
    remaining, kept = order, []
    while len(remaining):
        deadline.check()
        lowest = remaining[0]
        kept.append(lowest)
        remaining = remaining[1:][(vectors[remaining[1:]] < vectors[lowest]).any(axis=1)]
    return np.sort(np.array(kept, dtype=np.intp))
