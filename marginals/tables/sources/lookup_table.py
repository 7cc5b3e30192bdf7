"""Small tables put where the rows of a frame are, so that an engine can look values up in them."""

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import narwhals as nw
    import pyarrow as pa


def beside(frame: "nw.LazyFrame[Any]", column: str, table: "pa.Table") -> "nw.LazyFrame[Any]":
    """A table of values of a column of a frame, and of summands, where the rows of the frame are."""
    import narwhals as nw

    if frame.implementation.is_duckdb():
        relation = frame.to_native()
        value_type = relation.types[relation.columns.index(column)]
        query = _as_sql(table, "VARCHAR" if str(value_type).startswith("ENUM") else str(value_type))
        there: Any = nw.from_native(relation.query("anonymized_marginals_rows", query))
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
        return "[" + ", ".join("'" + text.replace("'", "''") + "'" for text in texts) + "]::VARCHAR[]"
    joined = separator.join(texts).replace("'", "''")
    return f"string_split('{joined}', '{separator}')"
