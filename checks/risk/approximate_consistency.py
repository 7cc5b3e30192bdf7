"""Consistency that forgives misspelling: entries whose base values are similar, not equal (LSFB09 section 7.2).

Only base values can be similar; a generalized or suppressed value agrees by the hierarchy. So generalizing a record may
lose entries that were similar, and eq. 6 does not hold: optimal disclosures are for exact consistency.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from checks.risk.dictionary import Dictionary, consistent_counts
from checks.risk.record import Records
from models.arrays import CountArray, IndexArray
from models.tables.join import match


@dataclass(frozen=True, eq=False)
class AlikeValues:
    """Pairs of a disclosed base value and a similar or equal one of a dictionary: shape (pairs,) each."""

    disclosed: IndexArray
    entered: IndexArray


def approximate_counts(records: Records, dictionary: Dictionary, alike: Mapping[int, AlikeValues]) -> CountArray:
    """How many entries are consistent with each record when some values agree that are only similar: shape (records,).

    alike: by position of the attribute, the values that agree. Each record is looked up once with each combination of
    similar values, so there should be few of them.
    """
    if not alike:
        return consistent_counts(records, dictionary)
    counts = np.zeros(len(records), dtype=np.int64)
    axes = sorted(alike)
    is_base = dictionary.entries.levels[:, axes] == 0
    patterns, number = np.unique(is_base, axis=0, return_inverse=True)
    for number_of_pattern, bases in enumerate(patterns):
        entries = dictionary.entries[number.ravel() == number_of_pattern]
        # An entry with a base value is counted through that one value; any other would be counted several times.
        spelled, owner = _spelled(records, {axis: alike[axis] for axis, base in zip(axes, bases) if base})
        of_spelling = consistent_counts(spelled, Dictionary(entries))
        counts += np.bincount(owner, of_spelling, minlength=len(records)).astype(np.int64)
    return counts


def _spelled(records: Records, alike: Mapping[int, AlikeValues]) -> tuple[Records, IndexArray]:
    """Each record with each combination of similar values, and for each result the number of its record."""
    nodes, owner = records.nodes, np.arange(len(records))
    for axis, values in alike.items():
        others = np.setdiff1d(nodes[:, axis], values.disclosed)
        left, right = np.append(values.disclosed, others), np.append(values.entered, others)
        row, pair = match(nodes[:, axis], left)
        nodes, owner = nodes[row].copy(), owner[row]
        nodes[:, axis] = right[pair]
    return Records(records.space, nodes), owner
