"""Distinct rows in DuckDB by the values that the first rows have; the few rows with other values are counted beside.

To ask for all values of all columns before takes half as long as the count itself.
"""

from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from marginals.tables.sources.arrow_table import COUNT, distinct_rows_of, numbers_of, texts_of
from marginals.tables.sources.distinct_rows import DistinctRows, Values, concatenated
from marginals.tables.sources.lookup_table import Lookup, in_place, sql_name
from marginals.tables.sources.refusal import engine_refusals
from models.tables.mixed_radix import last_digit

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

_FIRST = 1 << 17
"""Rows whose values are looked at."""

_FEW = 1 / 8
"""Rows that have other values, as a share of all, up to which they are counted beside."""

_MAX_KEY = 2**62
"""Keys stay below this, so that no sum overflows."""


class UpTo(NamedTuple):
    """The distinct rows where they are no more than were asked for, else None."""

    rows: DistinctRows | None


def counted_by_first_values(
    rows: "duckdb.DuckDBPyRelation", columns: Sequence[str], most: int, name: str
) -> UpTo | None:
    """The distinct rows of a relation with the columns v0, v1 and so on, where there are at most so many.

    columns: what these are called. None where too many rows have other values than the first ones, or a column has more
    values than are looked up quickly. Raises TooLittleMemoryError.
    """
    with engine_refusals(name):
        first = rows.limit(_FIRST).to_arrow_table()
        values = [first.column(place).combine_chunks().unique() for place in range(len(columns))]
        if prod(map(len, values)) > _MAX_KEY:
            return None
        texts = {column: _texts(own, f"column {column!r} of {name}") for column, own in zip(columns, values)}
        summands = [in_place(rows, lookup) for lookup in _lookups(values)]
        if not all(summands):
            return None
        key = " + ".join(summands)
        counted = _counted(rows.project(f"{key} AS key"), most)
        if len(counted) > most:
            return UpTo(None)
        known = _unpacked(counted.filter(counted.column("key").is_valid()), texts)
        if len(known) == len(counted):
            return UpTo(known)
        total = int(numbers_of(counted.column(COUNT)).sum())
        if total - int(known.counts.sum()) > _FEW * total:
            return None
        others = _counted(rows.filter(f"{key} IS NULL"), most - len(known))
    if len(known) + len(others) > most:
        return UpTo(None)
    return UpTo(concatenated(known, distinct_rows_of(others.rename_columns([*columns, COUNT]), columns, name)))


def _texts(values: "pa.Array", where: str) -> Values:
    """The texts of values, null last. where: what messages call them."""
    known = values.drop_null()
    return [*texts_of(known, where), *[None] * (len(values) - len(known))]


def _lookups(values: "Sequence[pa.Array]") -> list[Lookup]:
    """What each value adds to the key of its row; null comes after the other values of a column, if it is one."""
    lookups, stride = [], 1
    for place, own in enumerate(values):
        known = own.drop_null()
        has_null = len(known) < len(own)
        of_null = len(known) * stride if has_null else -1
        lookups.append(Lookup(f"v{place}", place, known, np.arange(len(known)) * stride, of_null, has_null))
        stride *= max(len(own), 1)
    return lookups


def _counted(rows: "duckdb.DuckDBPyRelation", most: int) -> "pa.Table":
    """The distinct rows, with a column `COUNT`; one more than so many where there are more."""
    listed = ", ".join(map(sql_name, rows.columns))
    return rows.aggregate(f"{listed}, count(*) AS {sql_name(COUNT)}", listed).limit(most + 1).to_arrow_table()


def _unpacked(counted: "pa.Table", texts: Mapping[str, Values]) -> DistinctRows:
    """The rows that keys were made of."""
    codes = {}
    keys = numbers_of(counted.column("key"))
    for column, own in texts.items():
        keys, codes[column] = last_digit(keys, max(len(own), 1))
    return DistinctRows(texts, codes, numbers_of(counted.column(COUNT)).astype(np.int64))
