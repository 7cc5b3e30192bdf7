"""Codes that an engine looks up for the values of a frame, where its rows are."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from models.arrays import IndexArray

if TYPE_CHECKING:
    import duckdb
    import narwhals as nw
    import pyarrow as pa


class Lookup(NamedTuple):
    """What each value of a column adds to the key of its row; rows whose value has -1 are left out.

    place: that of the column among those of the rows, where it is called v and its place. values: without null, none
    twice. summands: shape (values,). of_null: that of null. has_null: whether it occurs.
    """

    column: str
    place: int
    values: "pa.Array"
    summands: IndexArray
    of_null: int
    has_null: bool

    @property
    def leaves_out(self) -> bool:
        """Whether some rows are left out for their value."""
        return bool((self.summands < 0).any()) or (self.has_null and self.of_null < 0)


def keyed(
    frame: "nw.LazyFrame[Any]", rows: "nw.LazyFrame[Any]", packs: Sequence[Sequence[Lookup]]
) -> "nw.LazyFrame[Any]":
    """For each row that is kept its keys, key0, key1 and so on: for each pack of columns the sum of what is looked up.

    Null where a value is not among those that are looked up, and no row is to be left out. frame: the columns by their
    names. rows: the same, v0, v1 and so on.
    """
    import narwhals as nw

    lookups = [lookup for pack in packs for lookup in pack]
    if not rows.implementation.is_duckdb():
        for lookup in lookups:
            rows = _joined(frame, rows, lookup)
        return rows.select(
            *(
                nw.sum_horizontal(*(f"c{lookup.place}" for lookup in pack)).alias(f"key{number}")
                for number, pack in enumerate(packs)
            )
        )
    found = {lookup.place: text for lookup in lookups if (text := in_place(frame.to_native(), lookup))}
    for lookup in lookups:
        if lookup.place not in found:
            rows = _joined(frame, rows, lookup)
    sums = (
        " + ".join(found.get(lookup.place, f"c{lookup.place}") for lookup in pack) + f" AS key{number}"
        for number, pack in enumerate(packs)
    )
    native: Any = rows.to_native().project(", ".join(sums))
    if any(lookup.leaves_out for lookup in lookups):  # the filter takes as long as counting what it lets through
        native = native.filter(" AND ".join(f"key{number} IS NOT NULL" for number in range(len(packs))))
    return cast("nw.LazyFrame[Any]", nw.from_native(native))


def _joined(frame: "nw.LazyFrame[Any]", rows: "nw.LazyFrame[Any]", lookup: Lookup) -> "nw.LazyFrame[Any]":
    """The rows that are kept, with what is looked up for them.

    Null is equal to nothing, so rows that have it find no value to be joined to.
    """
    import narwhals as nw
    import pyarrow as pa

    value, summand = f"v{lookup.place}", f"c{lookup.place}"
    kept = np.arange(len(lookup.summands)) if lookup.of_null >= 0 else np.flatnonzero(lookup.summands >= 0)
    summands = pa.array(lookup.summands[kept].astype(np.int64))
    table = _beside(frame, lookup.column, pa.table({value: lookup.values.take(pa.array(kept)), summand: summands}))
    if lookup.of_null < 0:
        return rows.join(table, on=value, how="inner")
    every = rows.join(table, on=value, how="left")
    return every.with_columns(nw.col(summand).fill_null(lookup.of_null)).filter(nw.col(summand) >= 0)


_MOST_IN_LIST, _MOST_IN_ENUM = 24, 1000
"""Values that DuckDB finds in a list, or in a type made of them, as quickly as by a join."""


def in_place(relation: "duckdb.DuckDBPyRelation", lookup: Lookup) -> str:
    """What is looked up as an expression of DuckDB, null for rows to leave out; empty where values are too many.

    DuckDB binds a chain of joins again with each one that is added, so that many of them take the square of the time.
    """
    import pyarrow as pa

    value_type, count = _type_of(relation, lookup.column), len(lookup.values)
    if count > (_MOST_IN_ENUM if value_type == "VARCHAR" else _MOST_IN_LIST):
        return ""
    of_null = "NULL" if lookup.of_null < 0 else str(lookup.of_null)
    if not count:
        return f"CAST({of_null} AS BIGINT)"
    value = f"v{lookup.place}"
    texts = ", ".join(map(sql_text, lookup.values.cast(pa.string()).to_pylist()))
    if count <= _MOST_IN_LIST:
        position = f"list_position(CAST([{texts}] AS {value_type}[]), {value})"
    else:
        # What cannot fail DuckDB does once for each value of a column that it holds as numbers of values.
        position = f"CAST(enum_code(TRY_CAST({value} AS ENUM({texts}))) AS INTEGER) + 1"
    summands = ", ".join("NULL" if summand < 0 else str(summand) for summand in lookup.summands.tolist())
    found = f"list_extract(CAST([{summands}] AS BIGINT[]), {position})"
    return found if lookup.of_null < 0 else f"CASE WHEN {value} IS NULL THEN {of_null} ELSE {found} END"


def _type_of(relation: "duckdb.DuckDBPyRelation", column: str) -> str:
    """The type of DuckDB that a column is compared as."""
    value_type = str(relation.types[relation.columns.index(column)])
    return "VARCHAR" if value_type.startswith("ENUM") else value_type


def sql_name(column: str) -> str:
    """The name of a column as SQL spells it."""
    return '"' + column.replace('"', '""') + '"'


def sql_text(text: object) -> str:
    """A text as SQL spells it."""
    return "'" + str(text).replace("'", "''") + "'"


def _beside(frame: "nw.LazyFrame[Any]", column: str, table: "pa.Table") -> "nw.LazyFrame[Any]":
    """A table of values of a column of a frame, and of summands, where the rows of the frame are."""
    import narwhals as nw

    if frame.implementation.is_duckdb():
        query = _as_sql(table, _type_of(frame.to_native(), column))
        there: Any = nw.from_native(frame.to_native().query("anonymized_marginals_rows", query))
    else:
        session = frame.to_native().sparkSession if frame.implementation.is_pyspark() else None
        there = nw.from_native(table).lazy(backend=frame.implementation, session=session)
    return cast("nw.LazyFrame[Any]", there)


def _as_sql(table: "pa.Table", value_type: str) -> str:
    """Two columns as a DuckDB query without a source, so that it belongs to whatever connection the rows do."""
    import pyarrow as pa

    texts = table.column(0).cast(pa.string()).to_pylist()
    summands = table.column(1).to_pylist()
    value, summand = table.column_names
    listed = f"SELECT unnest({_list_as_sql(texts)})::{value_type} AS {value}"
    return f"{listed}, unnest({_list_as_sql(list(map(str, summands)))}::BIGINT[]) AS {summand}"


def _list_as_sql(texts: list[str]) -> str:
    """A list of texts for DuckDB: one text to split where possible, which it parses many times as fast."""
    separator = next((mark for mark in "\x1f\x1e\x1d\x1c" if not any(mark in text for text in texts)), None)
    if separator is None or not texts:
        return "[" + ", ".join(map(sql_text, texts)) + "]::VARCHAR[]"
    joined = separator.join(texts).replace("'", "''")
    return f"string_split('{joined}', '{separator}')"
