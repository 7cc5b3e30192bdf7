"""The ladder of an attribute: from which level on, in which order, for values as its column has them."""

import numpy as np

from marginals.tables.attribute import MISSING, Attribute
from marginals.tables.ladders.fitted_ladder import fitted_ladder
from marginals.tables.ladders.group_names import GroupNames
from marginals.tables.ladders.scale import Scale, dates, decimal_bands, decimals, far_numbers, texts, whole_numbers
from marginals.tables.part import is_told, values_at
from models.arrays import BoolArray, CountArray
from models.tables.hierarchy import Hierarchy


def attribute_ladder(
    attribute: Attribute,
    given: Hierarchy,
    base_counts: CountArray,
    k: int,
    profiles: CountArray | None = None,
    inside: BoolArray | None = None,
) -> Hierarchy:
    """The hierarchy of an attribute with levels that are fitted to the counts of its base values; with the same base values.

    given: its hierarchy before. base_counts: rows, or people of a population, of each base value, shape (given.size(0),).
    What a population counts everybody knows, so that names name all of it. k: rows that the groups of the
    finest fitted level have at least. Intervals and dates are merged from their finest bands on, all else from the
    values themselves: numbers and bands with their neighbours, others with those that are nearest in the hierarchy.
    profiles: tables of the base values with other attributes, side by side, shape (given.size(0), columns); of values that
    are as near, those are merged which are most alike by these, and without them those of fewest rows.
    inside: which base values are those of a part of the table; where the finest bands tell it from the rest, all levels do.

    >>> sizes = Attribute("quasi-identifier", ladder="fitted")
    >>> attribute_ladder(sizes, sizes.hierarchy_of(["1", "2", "3", "4", "6"]), np.array([40, 30, 9, 4, 0, 2]), 10).labels[1]
    ('1', '2', '3 and over')
    """
    start = attribute.first_merged
    missing = given.code(MISSING, start) if attribute.counts_missing else None
    lifted = given.lift(0, start)
    counts = np.zeros(given.size(start), dtype=np.int64)
    np.add.at(counts, lifted, base_counts)
    is_public = attribute.has_public_labels or attribute.population is not None
    names = GroupNames(given, start, counts, k, _scale(attribute, given, start, missing), missing, is_public)
    if profiles is not None:
        lifted_profiles = np.zeros((len(counts), profiles.shape[1]), dtype=np.int64)
        np.add.at(lifted_profiles, lifted, profiles)
        profiles = lifted_profiles
    if inside is None or not is_told(given, inside, start):
        return fitted_ladder(names, counts, profiles)
    return fitted_ladder(names, counts, profiles, values_at(given, inside, start))


def _scale(attribute: Attribute, given: Hierarchy, start: int, missing: int | None) -> Scale | None:
    """The order of the values at the level to start from, a value for missing ones left out."""
    labels = [label for value, label in enumerate(given.labels[start]) if value != missing]
    if missing is not None and missing != len(labels):
        return None  # the hierarchy has a place for it
    if attribute.has_decimals and attribute.intervals:
        return decimal_bands(labels)
    if attribute.dates:
        return dates(labels)
    if attribute.prefixes or not labels:
        return None
    if attribute.hierarchy is None and (far := far_numbers(labels)):
        return far
    if numbers := whole_numbers(labels):
        return numbers
    return None if attribute.hierarchy is not None else decimals(labels) or texts(labels)
