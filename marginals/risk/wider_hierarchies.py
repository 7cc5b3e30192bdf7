"""Hierarchies that hold the values of other tables too, so that records of all of them can be compared."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from marginals.risk.people_table import PeopleTable
from marginals.tables.attribute import Attribute
from marginals.tables.rows import Rows
from marginals.tables.sources.pandas_frame import factorized
from models.tables.domain import Domain
from models.tables.hierarchy import SUPPRESSED


def with_values_of(attributes: Mapping[str, Attribute], rows: Rows, others: Sequence[PeopleTable]) -> Rows:
    """The rows over hierarchies that hold the values of other tables too, where hierarchies are made from values.

    A flat hierarchy takes any value of theirs; intervals, dates and prefixes take those that are of their kind.
    """
    domain, hierarchies = rows.domain, dict(rows.domain.items())
    for name, hierarchy in hierarchies.items():
        attribute = attributes[name]
        if attribute.hierarchy is None:
            base_values = set(hierarchy.labels[0])
            labels = {label for level in hierarchy.labels for label in level}
            for other in others:
                if name in other.frame.columns:
                    _, values = factorized(other.frame[name], {"", SUPPRESSED})
                    base_values |= {v for v in values if v not in labels and _is_base_value(attribute, v)}
            hierarchies[name] = attribute.hierarchy_of(base_values)
    wider = Domain.of(hierarchies)
    if wider == domain:
        return rows
    codes = {
        name: np.array([wider.hierarchy(name).code(v, 0) for v in domain.hierarchy(name).labels[0]], dtype=np.int64)[c]
        for name, c in rows.codes.items()
    }
    return replace(rows, domain=wider, codes=codes)


def _is_base_value(attribute: Attribute, value: str) -> bool:
    """Whether a text that no level of the hierarchy has can be a base value of the attribute."""
    if attribute.intervals or attribute.dates:
        return attribute.base_value(value) == value
    return not attribute.prefixes or SUPPRESSED not in value
