"""Two attacks on one table: classes that agree on a sensitive value, and classes that do once values are ruled out.

MKGV07 section 1.1 describes them, Figs. 9 to 12 count what the first of them affects.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from checks.classes.equivalence_classes import EquivalenceClasses
from checks.errors import CriterionError
from models.arrays import BoolArray, IndexArray

NEARLY = Fraction(19, 20)
"""The share from which on MKGV07 calls a class nearly homogeneous."""


@dataclass(frozen=True)
class Affected:
    """How many classes of a table an attack affects, and how many rows they hold."""

    classes: int
    rows: int

    def as_json(self) -> dict[str, int]:
        """As plain values."""
        return {"classes": self.classes, "rows": self.rows}


@dataclass(frozen=True)
class AverageAffected:
    """An attack on several tables: how many have an affected class, and mean classes and rows over all of them."""

    tables: int
    affected_tables: int
    classes: float
    rows: float


def affected(sizes: NDArray[np.integer[Any]], which: BoolArray) -> Affected:
    """The tally of some classes. sizes: rows of every class, shape (classes,). which: the affected ones."""
    return Affected(int(np.count_nonzero(which)), int(sizes[which].sum()))


def average(tables: Sequence[Affected]) -> AverageAffected:
    """The tally of an attack on each table of a list, as a row of MKGV07 Figs. 9 to 12 gives it."""
    number = len(tables)
    return AverageAffected(
        tables=number,
        affected_tables=sum(found.classes > 0 for found in tables),
        classes=sum(found.classes for found in tables) / number if number else 0.0,
        rows=sum(found.rows for found in tables) / number if number else 0.0,
    )


def nearly_homogeneous(classes: EquivalenceClasses, share: Fraction = NEARLY) -> BoolArray:
    """The classes in which one sensitive value holds at least a share of the rows, exactly: shape (classes,).

    A share of 1 asks for homogeneous classes.
    """
    return falls_to(classes, 0, share)


def homogeneity(classes: EquivalenceClasses, share: Fraction = NEARLY) -> Affected:
    """The tally of the classes in which one sensitive value holds at least a share of the rows."""
    return affected(classes.counts.sum(axis=1), nearly_homogeneous(classes, share))


def falls_to(classes: EquivalenceClasses, ruled_out: int, share: Fraction = Fraction(1)) -> BoolArray:
    """The classes that fall to somebody who can rule out some sensitive values of a person, exactly: shape (classes,).

    A class falls when, with the most telling `ruled_out` values gone, one value holds at least a share of the rows that
    are left; this is the most frequent value, and the next most frequent are those to rule out. With a share of 1 the
    classes that fall are those with at most ruled_out + 1 values.
    """
    if ruled_out < 0 or not 0 < share <= 1:
        raise CriterionError(
            f"an attack rules out 0 values or more to reach a share in (0, 1], got {ruled_out}, {share}"
        )
    ordered = np.sort(classes.counts, axis=1)
    head = ordered[:, -1]
    left = head + ordered[:, : max(ordered.shape[1] - 1 - ruled_out, 0)].sum(axis=1)
    exact = np.int64 if share.denominator * int(left.max(initial=0)) < 2**62 else object
    return np.asarray(head.astype(exact) * share.denominator >= left.astype(exact) * share.numerator, dtype=bool)


def knowledge_needed(classes: EquivalenceClasses, share: Fraction = Fraction(1)) -> IndexArray:
    """For each class how many values one must rule out for it to fall, 0 where it is homogeneous: shape (classes,)."""
    needed = np.zeros(len(classes), dtype=np.intp)
    for ruled_out in range(classes.counts.shape[1]):
        needed += ~falls_to(classes, ruled_out, share)
    return needed


def background_knowledge(
    classes: EquivalenceClasses, ruled_out: Sequence[int], share: Fraction = Fraction(1)
) -> dict[int, Affected]:
    """The tally of the classes that fall to somebody who can rule out 1, 2, ... values."""
    needed, sizes = knowledge_needed(classes, share), classes.counts.sum(axis=1)
    return {number: affected(sizes, needed <= number) for number in ruled_out}
