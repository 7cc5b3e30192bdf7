"""What the labels of published values tell of the values that they stand for, and whether a small count follows from it.

A label that names values which occur says of each that it has a row. Of m such values with n rows together none can then
have more than n - m + 1, so with n - m + 1 below the least count each of them certainly has a small one (design 4.17).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from checks.finding import DECISIVE, Algorithm, Finding, Verdict, WorstClass
from models.graphs.junction_tree import Collection


@dataclass(frozen=True)
class LabelTells:
    """What a label tells of the values that it stands for.

    occurring: of how many of them readers know that they occur, each with a row at least.

    >>> LabelTells(2).most(12)
    11
    """

    occurring: int

    def __post_init__(self) -> None:
        if self.occurring < 0:
            raise ValueError(f"{self.occurring} values cannot occur")

    def most(self, rows: int) -> int:
        """The most rows that one of the values can have, of so many rows."""
        return rows - max(self.occurring - 1, 0)

    def verdict(self, rows: int, least: int) -> Verdict:
        """Whether no count below `least` follows for one of the values, if they have so many rows together."""
        is_small = self.occurring > 0 and rows > 0 and self.most(rows) < least
        return Verdict.FAILS if is_small and least > 1 else Verdict.HOLDS


ToldByLabels = Mapping[str, Mapping[str, LabelTells]]
"""What labels tell, by attribute and label; of labels that are not among them nothing beside their count is known."""


def label_counts(collection: Collection, labels: ToldByLabels, least: int) -> Finding:
    """Whether what labels tell, with the counts of the published values, lets a count in 1 .. least - 1 follow.

    Looked at are the values of every level from the finest published one on. Shown is the label that tells most. Exact for
    each label by itself, with the one-way counts of its attribute.
    """
    worst: tuple[Verdict, WorstClass | None, str] = (Verdict.HOLDS, None, "")
    examined = 0
    for attribute in filter(collection.shows, collection.domain.attributes):
        told, finest = labels.get(attribute, {}), collection.finest_level(attribute)
        hierarchy = collection.domain.hierarchy(attribute)
        counted = collection.cube.table(collection.domain.mask({attribute: finest}))
        for level in range(finest, hierarchy.height if told else finest):
            above = hierarchy.lift(finest, level)[counted.codes[0]]
            rows = np.bincount(above, counted.counts, minlength=hierarchy.size(level))
            for label, number in zip(hierarchy.labels[level], rows.astype(np.int64).tolist()):
                tells = told.get(label)
                if tells is None:
                    continue
                examined += 1
                verdict = tells.verdict(number, least)
                if DECISIVE.index(verdict) < DECISIVE.index(worst[0]):
                    most = max(tells.most(number), 0)
                    worst_class = WorstClass({attribute: label}, {attribute: level}, count=most)
                    worst = verdict, worst_class, _in_words(attribute, label, tells, number, most)
    verdict, cell, note = worst
    return Finding("labels", verdict, {"k": least}, cell, (Algorithm.MINIMUM,), examined, note)


def crowded(collection: Collection, least: int) -> tuple[str, ...]:
    """The attributes of which small counts would follow if readers knew that all values below the published ones occur."""
    result = []
    for attribute in filter(collection.shows, collection.domain.attributes):
        hierarchy, finest = collection.domain.hierarchy(attribute), collection.finest_level(attribute)
        counted = collection.cube.table(collection.domain.mask({attribute: finest}))
        below = hierarchy.leaf_counts(finest)[counted.codes[0]]
        if ((below > 1) & (counted.counts - below + 1 < least)).any():
            result.append(attribute)
    return tuple(result)


def _in_words(attribute: str, label: str, tells: LabelTells, rows: int, most: int) -> str:
    return (
        f"the label {label!r} of {attribute!r} tells that {tells.occurring:,} values occur, with {rows:,} rows together, so "
        f"none of them has more than {most:,}"
    )
