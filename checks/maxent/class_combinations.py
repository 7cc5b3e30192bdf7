"""Class combinations: one class of each clique of a junction tree, such that neighbours agree on what they share.

Built up clique by clique in perfect sequence, depth first and in blocks, so that whoever looks for a few of them need not
enumerate the rest.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from typing import Protocol

import numpy as np

from models.arrays import FloatArray, IndexArray
from models.deadline import Deadline
from models.graphs.junction_tree import JunctionTree
from models.tables.coded_cells import CodedCells

BLOCK = 1 << 14
"""Class combinations that are looked at together."""

Combine = Callable[[FloatArray, FloatArray], FloatArray]
"""How the rows of two cliques become one: `np.multiply`, `np.minimum` or `np.add`."""

Screen = Callable[[IndexArray, FloatArray], IndexArray]
"""From partial combinations and their combined rows to the positions worth pursuing, first ones first."""

Members = tuple[tuple[IndexArray, IndexArray], ...]
"""For each clique its classes ordered by separator class, and where each separator class begins in that."""


class FittingClasses(Protocol):
    """Cliques with their classes, and which classes of neighbours fit.

    classes, separators: for each clique its classes and those of the separator to its parent; the root's separator has
    one. inward[i]: for each class of clique i its separator class. outward[i]: the same for each class of the parent.
    """

    @property
    def tree(self) -> JunctionTree:
        """The cliques in perfect sequence."""

    @property
    def classes(self) -> Sequence[Sized]:
        """Of each clique."""

    @property
    def separators(self) -> Sequence[Sized]:
        """Of each clique, to its parent."""

    @property
    def inward(self) -> Sequence[IndexArray]:
        """Which separator class each class has."""

    @property
    def outward(self) -> Sequence[IndexArray]:
        """Which separator class each class of the parent has."""

    @property
    def members(self) -> Members:
        """As `members_of` gives them; worth keeping."""

    @property
    def deadline(self) -> Deadline:
        """When whatever is worked out ends, by TimeOverError."""


def fitting_positions(
    parents: Sequence[int], classes: Sequence[CodedCells], separators: Sequence[CodedCells]
) -> tuple[tuple[IndexArray, ...], tuple[IndexArray, ...]]:
    """Which separator class each class of a clique has, and each class of its parent: inward and outward of a tree.

    parents: of each clique, below 0 for a root, of whose parent there are none.
    """
    inward = tuple(own.positions_in(separator) for own, separator in zip(classes, separators))
    outward = tuple(
        classes[parent].positions_in(separator) if parent >= 0 else np.zeros(0, dtype=np.intp)
        for parent, separator in zip(parents, separators)
    )
    return inward, outward


def members_of(separators: Sequence[Sized], inward: Sequence[IndexArray]) -> Members:
    """The classes of each clique, ordered by their separator class."""
    grouped = []
    for separator, classes in zip(separators, inward):
        order = np.argsort(classes, kind="stable")
        starts = np.searchsorted(classes[order], np.arange(len(separator) + 1))
        grouped.append((order, starts))
    return tuple(grouped)


def depth_first(
    tree: FittingClasses, contributions: Sequence[FloatArray], combine: Combine, screen: Screen, block: int = BLOCK
) -> Iterator[tuple[IndexArray, FloatArray]]:
    """Class combinations built up clique by clique, depth first, in blocks.

    contributions: for each clique, or the first few of them, a row for each class; rows of a combination are combined.
    screen: from partial combinations, shape (n, cliques so far), and their combined rows, to the positions worth pursuing,
    first ones first. block: about how many combinations to take at a time. Yields the combinations of these cliques that
    come through, shape (n, cliques), with their combined rows.
    """

    def extended(chosen: IndexArray, combined: FloatArray) -> Iterator[tuple[IndexArray, FloatArray]]:
        """Blocks of the combinations that go on with one clique more."""
        own = contributions[chosen.shape[1]]
        for rows, joined in _extensions(tree, chosen, block):
            yield np.column_stack((chosen[rows], joined)), combine(combined[rows], own[joined])

    roots = np.arange(len(tree.classes[0]))[:, None]
    first = ((roots[i : i + block], contributions[0][i : i + block]) for i in range(0, len(roots), block))
    pending: list[Iterator[tuple[IndexArray, FloatArray]]] = [first]
    while pending:
        tree.deadline.check()
        found = next(pending[-1], None)
        if found is None:
            pending.pop()
            continue
        chosen, combined = found
        pursued = screen(chosen, combined)
        if not len(pursued):
            continue
        chosen, combined = chosen[pursued], combined[pursued]
        if chosen.shape[1] == len(contributions):
            yield chosen, combined
        else:
            pending.append(extended(chosen, combined))


def by_last_clique(
    tree: FittingClasses, combinations: Iterable[tuple[IndexArray, FloatArray]], block: int = BLOCK
) -> Iterator[tuple[IndexArray, FloatArray, IndexArray]]:
    """Combinations of all cliques but the last with the classes of that one: in each piece any of these fits any of those.

    combinations: shape (n, cliques - 1), with their combined rows. Yields some of them, with their rows, and the last
    clique's classes that share their separator class; about `block` complete combinations at a time.
    """
    last = len(tree.classes) - 1
    order, starts = tree.members[last]
    for chosen, combined in combinations:
        separator = tree.outward[last][chosen[:, tree.tree.parents[last]]]
        places = np.argsort(separator, kind="stable")
        ends = np.flatnonzero(np.diff(separator[places], append=-1)) + 1
        for begin, end in zip([0, *ends[:-1].tolist()], ends.tolist()):
            own = separator[places[begin]]
            fitting = order[starts[own] : starts[own + 1]]
            step = max(block // max(len(fitting), 1), 1)
            for piece in (places[i : min(i + step, end)] for i in range(begin, end, step)):
                yield chosen[piece], combined[piece], fitting


def _extensions(tree: FittingClasses, chosen: IndexArray, block: int) -> Iterator[tuple[IndexArray, IndexArray]]:
    """The classes of the next clique that fit partial combinations: pieces of (position in chosen, class)."""
    clique = chosen.shape[1]
    order, starts = tree.members[clique]
    separator = tree.outward[clique][chosen[:, tree.tree.parents[clique]]]
    size = starts[separator + 1] - starts[separator]
    ends = np.cumsum(size)
    begin = 0
    while begin < len(chosen):
        done = int(ends[begin] - size[begin])
        end = max(int(np.searchsorted(ends, done + block, side="right")), begin + 1)
        piece = slice(begin, end)
        rows = np.repeat(np.arange(begin, end), size[piece])
        within = np.arange(len(rows)) + done - np.repeat(ends[piece] - size[piece], size[piece])
        yield rows, order[np.repeat(starts[separator[piece]], size[piece]) + within]
        begin = end
