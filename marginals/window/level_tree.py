"""The values of an attribute as a tree: each group with its rows, and what it is made of, from the coarsest level down."""

from dataclasses import dataclass

import numpy as np

from models.arrays import CountArray
from models.tables.hierarchy import Hierarchy

_PARTS, _GROUPS = 60, 400
"""Parts of a group, and groups in all, that are drawn at most."""


@dataclass(frozen=True)
class Group:
    """Values that one level shows as one, or a value. level: the coarsest at which it has this name and these values.

    length: of its bar, in percent of the largest group. parts: those with rows, in their order; others: parts that are not
    drawn.
    """

    label: str
    level: int
    rows: int
    length: float
    parts: tuple["Group", ...] = ()
    others: int = 0


def level_tree(hierarchy: Hierarchy, counts: CountArray) -> Group:
    """The tree of an attribute, from `*` down. A group that a finer level shows under the same name is drawn once.

    counts: rows of each base value, shape (size of level 0,).

    >>> hierarchy = Hierarchy.from_rows([("Ulm", "Germany", "*"), ("Jena", "Germany", "*"), ("Ely", "England", "*")])
    >>> [(group.label, group.rows, [part.label for part in group.parts])
    ...  for group in level_tree(hierarchy, np.array([2, 1, 1])).parts]
    [('Germany', 3, ['Ulm', 'Jena']), ('England', 1, ['Ely'])]
    """
    height = hierarchy.height
    rows = [
        np.bincount(hierarchy.lift(0, level), counts, minlength=hierarchy.size(level)).astype(np.int64).tolist()
        for level in range(height + 1)
    ]
    parts_of: list[list[list[int]]] = [[[]] for _ in range(height + 1)]
    for level in range(height):
        below: list[list[int]] = [[] for _ in range(hierarchy.size(level + 1))]
        for code, parent in enumerate(hierarchy.parents[level]):
            if rows[level][code]:
                below[parent].append(code)
        parts_of[level + 1] = below
    largest = max(rows[max(height - 1, 0)], default=0) or 1
    drawn = 0

    def group(level: int, code: int) -> Group:
        nonlocal drawn
        drawn += 1
        label, at, size = hierarchy.labels[level][code], level, rows[level][code]
        parts = parts_of[at][code] if at else []
        while len(parts) == 1 and hierarchy.labels[at - 1][parts[0]] == label:
            at, code = at - 1, parts[0]
            parts = parts_of[at][code] if at else []
        listed = parts[: max(min(_PARTS, _GROUPS - drawn), 0)]
        inner = tuple(group(at - 1, part) for part in listed)
        return Group(label, level, size, round(min(100 * size / largest, 100), 2), inner, len(parts) - len(listed))

    return group(height, 0)
