"""What both releases of a table that changed tell of the people who came and left: how few they are, and what they have."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from checks.changes.common_values import Overlaps
from checks.changes.difference import CellDifference, meet_difference
from checks.changes.meets import Meet, Narrowing, every_cell, meets
from models.arrays import CountArray
from models.graphs.collection import Collection
from models.tables.mixed_radix import group, pack

SHOWN = 10
"""Cells and classes that are listed, those of the fewest people first."""


@dataclass(frozen=True)
class OneValue:
    """A class in which the rows of one sensitive value alone rose, or alone fell.

    At least so many came, or left, with that value; who knows that nobody else did in this class knows the value of all of
    them. cell: labels of the class. difference: how many rows more there are, fewer where it is negative.
    """

    sensitive: str
    value: str
    cell: Mapping[str, str]
    difference: int

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "sensitive": self.sensitive,
            "value": self.value,
            "cell": dict(self.cell),
            "difference": self.difference,
        }


@dataclass(frozen=True)
class ChangedPeople:
    """What two releases tell of the change between their tables.

    cells: how many differences they tell. small: how many of these are of fewer rows than asked, but not 0; smallest: the
    smallest of them, or where there are none the smallest that is not 0. one_value: classes in which who came, or who left,
    has one sensitive value, the smallest first; classes: how many there are.
    """

    cells: int
    small: int
    smallest: tuple[CellDifference, ...]
    classes: int
    one_value: tuple[OneValue, ...]

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "cells": self.cells,
            "small": self.small,
            "smallest": [each.as_json() for each in self.smallest],
            "one_value": {"classes": self.classes, "smallest": [each.as_json() for each in self.one_value]},
        }


def changed_people(
    earlier: Collection,
    later: Collection,
    sensitive: Sequence[str],
    least: int,
    overlaps: Overlaps | None = None,
    narrowed: Narrowing = every_cell,
) -> ChangedPeople:
    """What follows from the differences on the meets of two collections. least: rows from which on one is not small.

    overlaps, narrowed: as for `difference`.
    """
    smallest: list[CellDifference] = []
    one_value: list[OneValue] = []
    cells = small = classes = 0
    for meet in map(narrowed, meets(earlier, later, overlaps)):
        sizes = np.abs(meet.changes)
        cells += len(sizes)
        small += int(np.count_nonzero((sizes > 0) & (sizes < least)))
        smallest += [meet_difference(meet, cell) for cell in _smallest(sizes)]
        for name in sensitive:
            if name in meet.values:
                number, found = _of_one_value(meet, name, sensitive)
                classes += number
                one_value += found
    smallest.sort(key=lambda each: abs(each.difference))
    one_value.sort(key=lambda each: abs(each.difference))
    return ChangedPeople(cells, small, tuple(smallest[: min(small, SHOWN) or 1]), classes, tuple(one_value[:SHOWN]))


def _smallest(sizes: CountArray) -> list[int]:
    """The places of the smallest numbers that are not 0."""
    order = np.argsort(sizes, kind="stable")
    return [int(place) for place in order[sizes[order] > 0][:SHOWN]]


def _of_one_value(meet: Meet, name: str, sensitive: Sequence[str]) -> tuple[int, list[OneValue]]:
    """The classes of a meet, by all attributes that are not sensitive, in which one value of an attribute rose, or fell.

    How many there are, and the smallest.
    """
    names = list(meet.values)
    public = [position for position, each in enumerate(names) if each not in sensitive]
    sizes = [meet.values[names[position]].count for position in public]
    first, number = group(*pack([meet.codes[position] for position in public], sizes, len(meet.changes)))
    own, values = meet.values[name], meet.codes[names.index(name)]
    changes, rows = (np.zeros((len(first), own.count), dtype=np.int64) for _ in range(2))
    np.add.at(changes, (number, values), meet.changes)
    np.add.at(rows, (number, values), meet.before + meet.after)
    several = (rows > 0).sum(axis=1) > 1
    classes, found = 0, []
    for sign in (1, -1):
        moved = np.maximum(sign * changes, 0)
        sizes_moved = np.where(several & ((moved > 0).sum(axis=1) == 1), moved.sum(axis=1), 0)
        classes += int(np.count_nonzero(sizes_moved))
        for place in _smallest(sizes_moved):
            labels = meet.cell(int(first[place]))
            cell = {names[position]: labels[names[position]] for position in public}
            value = own.name(int(np.argmax(moved[place])))
            found.append(OneValue(name, value, cell, sign * int(sizes_moved[place])))
    return classes, found
