"""What the labels of published values tell of the values that they stand for, and whether a small count follows from it.

A label that names values which occur says of each that it has a row. Of m such values with n rows together none can then
have more than n - m + 1, so with n - m + 1 below the least count each of them certainly has a small one (design 4.17).
"""

from collections.abc import Mapping

import numpy as np

from checks.finding import Algorithm, Finding, WorstClass, verdict_of
from models.graphs.junction_tree import Collection

ToldByLabels = Mapping[str, Mapping[str, int]]
"""By attribute and label, of how many of its values readers know that they occur, each with a row at least.

Of a label that is not among them nothing beside its count is known."""


def label_counts(collection: Collection, labels: ToldByLabels, least: int) -> Finding:
    """Whether what labels tell, with the counts of the published values, lets a count in 1 .. least - 1 follow.

    The values of every level from the finest published one on are looked at. Shown is the first such label.
    """
    worst, note, examined = None, "", 0
    for attribute in filter(collection.shows, collection.domain.attributes):
        told, finest = labels.get(attribute, {}), collection.finest_level(attribute)
        hierarchy = collection.domain.hierarchy(attribute)
        counted = collection.cube.table(collection.domain.mask({attribute: finest}))
        for level in range(finest, hierarchy.height if told else finest):
            above = hierarchy.lift(finest, level)[counted.codes[0]]
            rows = np.bincount(above, counted.counts, minlength=hierarchy.size(level))
            for label, number in zip(hierarchy.labels[level], rows.astype(np.int64).tolist()):
                if (occurring := told.get(label)) is None:
                    continue
                examined += 1
                most = max(number - max(occurring - 1, 0), 0)  # of one of the values
                if worst is None and occurring and number and most < least > 1:
                    worst = WorstClass({attribute: label}, {attribute: level}, count=most)
                    note = (
                        f"the label {label!r} of {attribute!r} tells that {occurring:,} values occur, with {number:,} rows "
                        f"together, so none of them has more than {most:,}"
                    )
    return Finding("labels", verdict_of(worst is None), {"k": least}, worst, (Algorithm.MINIMUM,), examined, note)


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
