"""Hierarchies that hold the values of other tables too, so that records of all of them can be compared."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from marginals.risk.people_table import PeopleTable
from marginals.tables.attribute import Attribute
from marginals.tables.ladders.attribute_ladder import attribute_ladder
from marginals.tables.rows import Rows
from marginals.tables.source import TableSource
from marginals.tables.sources.pandas_frame import factorized
from models.tables.domain import Domain
from models.tables.hierarchy import SUPPRESSED, Hierarchy


def with_values_of(source: TableSource, k: int, rows: Rows, others: Sequence[PeopleTable]) -> Rows:
    """The rows over hierarchies that hold the values of other tables too, where hierarchies are made from values.

    source, k: where the rows are from, and the k with which their fitted ladders begin. A flat hierarchy takes any value of
    the other tables; intervals, dates and prefixes take those that are of their kind. A fitted ladder with values that no
    row has is fitted again, these counted as held by nobody.
    """
    domain, hierarchies = rows.domain, dict(rows.domain.items())
    for name, hierarchy in hierarchies.items():
        attribute = source.attributes[name]
        if attribute.hierarchy is None and attribute.population is None and name not in source.ladders:
            base_values = set(hierarchy.labels[0])
            labels = {label for level in hierarchy.labels for label in level}
            for other in others:
                if name in other.frame.columns:
                    _, values = factorized(other.frame[name], {"", SUPPRESSED})
                    base_values |= {v for v in values if v not in labels and _is_base_value(attribute, v)}
            if len(base_values) > hierarchy.size(0):
                hierarchies[name] = _with_values(attribute, rows, name, base_values, k)
    wider = Domain.of(hierarchies)
    if wider == domain:
        return rows
    codes = {
        name: np.array([wider.hierarchy(name).code(v, 0) for v in domain.hierarchy(name).labels[0]], dtype=np.int64)[c]
        for name, c in rows.codes.items()
    }
    return replace(rows, domain=wider, codes=codes)


def _with_values(attribute: Attribute, rows: Rows, name: str, base_values: set[str], k: int) -> Hierarchy:
    """The hierarchy of an attribute with more base values than the rows have."""
    wider = attribute.hierarchy_of(base_values)
    if not attribute.is_fitted:
        return wider
    counts = np.zeros(wider.size(0), dtype=np.int64)
    own = [wider.code(label, 0) for label in rows.domain.hierarchy(name).labels[0]]
    np.add.at(counts, np.array(own, dtype=np.intp)[rows.codes[name]], 1)
    return attribute_ladder(attribute, wider, counts, k)


def _is_base_value(attribute: Attribute, value: str) -> bool:
    """Whether a text that no level of the hierarchy has can be a base value of the attribute."""
    if attribute.intervals or attribute.dates:
        return attribute.base_value(value) == value
    return not attribute.prefixes or SUPPRESSED not in value
