"""Consistency that forgives misspelling: entries whose base values are alike, not equal (LSFB09 section 7.2).

Only base values are alike; a generalized or suppressed value agrees by the hierarchy. So generalizing a record may lose
entries that were alike, and eq. 6 does not hold: optimal disclosures are for exact consistency.
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
    """Pairs of a disclosed base value and one of a dictionary that is alike, itself among them: shape (pairs,) each."""

    disclosed: IndexArray
    known: IndexArray


def approximate_counts(records: Records, dictionary: Dictionary, alike: Mapping[int, AlikeValues]) -> CountArray:
    """How many entries are consistent with each record, by position of the attribute those that are alike included.

    Each record is looked up once with each combination of alike values, so that these should be few.
    """
    if not alike:
        return consistent_counts(records, dictionary)
    counts = np.zeros(len(records), dtype=np.int64)
    axes = sorted(alike)
    is_base = dictionary.entries.levels[:, axes] == 0
    patterns, number = np.unique(is_base, axis=0, return_inverse=True)
    for pattern, shown in enumerate(patterns):
        entries = dictionary.entries[number.ravel() == pattern]
        # Entries with a base value are met through the one value of theirs; others would be met several times.
        spelled, owner = _spelled(records, {axis: alike[axis] for axis, base in zip(axes, shown) if base})
        found = consistent_counts(spelled, Dictionary(entries))
        counts += np.bincount(owner, found, minlength=len(records)).astype(np.int64)
    return counts


def _spelled(records: Records, alike: Mapping[int, AlikeValues]) -> tuple[Records, IndexArray]:
    """The records with each combination of values that are alike, and for each the number of the record it is of."""
    nodes, owner = records.nodes, np.arange(len(records))
    for axis, values in alike.items():
        others = np.setdiff1d(nodes[:, axis], values.disclosed)
        left, right = np.append(values.disclosed, others), np.append(values.known, others)
        row, pair = match(nodes[:, axis], left)
        nodes, owner = nodes[row].copy(), owner[row]
        nodes[:, axis] = right[pair]
    return Records(records.space, nodes), owner
