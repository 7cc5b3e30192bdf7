"""People as rows of a table: records at levels of their own, and who each is about.

What an attacker holds, what is disclosed, and weights for each person come as tables with labels of any level.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from checks.risk.record import Records, RecordSpace
from marginals.errors import InputError
from marginals.tables.attribute import Attribute
from marginals.tables.rows import Rows
from marginals.tables.sources.pandas_frame import factorized
from models.arrays import CountArray, FloatArray
from models.tables.hierarchy import SUPPRESSED
from models.tables.taxonomy import Taxonomy


def records_of(frame: pd.DataFrame, space: RecordSpace, name: str, missing: Iterable[str] = ("",)) -> Records:
    """The rows of a table as records. Labels may be of any level, the lowest being meant; missing ones are suppressed.

    So is what the table has no column for. Raises InputError naming the column and the row (from 1), never the value.
    """
    nodes = np.tile(space.roots, (len(frame), 1))
    for axis, (attribute, taxonomy) in enumerate(zip(space.domain.attributes, space.taxonomies)):
        if attribute in frame.columns:
            codes, labels = factorized(frame[attribute], {*missing, SUPPRESSED})
            known = np.append(_nodes(taxonomy, labels), taxonomy.root)
            column = known[codes]
            if np.any(column < 0):
                row = int(np.argmax(column < 0)) + 1
                raise InputError(
                    f"column {attribute!r} of {name}: the value in row {row} is in no level of its hierarchy"
                )
            nodes[:, axis] = column
    return Records(space, nodes)


def _nodes(taxonomy: Taxonomy, labels: Sequence[str]) -> "np.ndarray[Any, np.dtype[np.intp]]":
    # Read from the top down, so that the lowest of equal labels stays.
    node_of = {label: node for node, label in reversed(list(enumerate(taxonomy.labels)))}
    return np.array([node_of.get(label, -1) for label in labels], dtype=np.intp)


def with_values_of(attributes: Mapping[str, Attribute], rows: Rows, others: Sequence[pd.DataFrame]) -> Rows:
    """The rows over hierarchies that hold the values of other tables too, where hierarchies are made from values.

    A flat hierarchy takes any value of theirs; intervals and prefixes take those that are of their kind.
    """
    domain, hierarchies = rows.domain, dict(rows.domain.items())
    for name, hierarchy in hierarchies.items():
        attribute = attributes[name]
        if attribute.hierarchy is None:
            held = set(hierarchy.labels[0])
            labels = {label for level in hierarchy.labels for label in level}
            for other in others:
                if name in other.columns:
                    _, values = factorized(other[name], {"", SUPPRESSED})
                    held |= {value for value in values if value not in labels and _is_base(attribute, value)}
            hierarchies[name] = attribute.hierarchy_of(held)
    wider = type(domain).of(hierarchies)
    if wider == domain:
        return rows
    codes = {
        name: np.array([wider.hierarchy(name).code(v, 0) for v in domain.hierarchy(name).labels[0]], dtype=np.int64)[c]
        for name, c in rows.codes.items()
    }
    return replace(rows, domain=wider, codes=codes)


def _is_base(attribute: Attribute, value: str) -> bool:
    if attribute.intervals:
        return value.removeprefix("-").isdecimal()
    return not attribute.prefixes or SUPPRESSED not in value


def identifiers_of(frame: pd.DataFrame, column: str, name: str, numbers: dict[str, int]) -> CountArray:
    """A number for each row's identifier, the same in every table that shares `numbers`, which grows with each.

    Raises InputError where there is no such column, or where two rows have one identifier.
    """
    if column not in frame.columns:
        raise InputError(f"{name} has no column {column!r}, which identifies people")
    codes, labels = factorized(frame[column], set())
    if np.any(codes < 0) or len(labels) < len(codes):
        raise InputError(f"the column {column!r} of {name} must name each person once")
    of_label = np.array([numbers.setdefault(label, len(numbers)) for label in labels], dtype=np.int64)
    return of_label[codes]


def personal_weights(
    frame: pd.DataFrame,
    column: str,
    name: str,
    numbers: Mapping[str, int],
    attributes: Sequence[str],
    default: FloatArray,
) -> FloatArray:
    """Weights of attributes for each numbered person: shape (len(numbers), attributes).

    frame: one row a person, keyed by its identifier column, with a column for some attributes; inf forbids. default:
    for attributes without a column and people without a row, shape (attributes,). Raises InputError.
    """
    weights = np.tile(default, (len(numbers), 1))
    known = dict(numbers)
    rows = identifiers_of(frame, column, name, known)
    here = rows < len(numbers)
    for axis, attribute in enumerate(attributes):
        if attribute in frame.columns:
            values = pd.to_numeric(frame[attribute], errors="coerce").to_numpy(dtype=np.float64)
            if not np.all(values >= 0):
                row = int(np.argmax(~(values >= 0))) + 1
                raise InputError(f"column {attribute!r} of {name}: the weight in row {row} is no number of 0 or more")
            weights[rows[here], axis] = values[here]
    return weights
