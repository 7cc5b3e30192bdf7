"""Tables as Apache Arrow holds them: what frames other than pandas', and all engines, hand over."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from marginals.errors import InputError
from marginals.tables.sources.distinct_rows import DistinctRows, Values, calendar_refusals, text_of
from models.arrays import CodeArray, smallest_code_dtype

if TYPE_CHECKING:
    import pyarrow as pa

COUNT = "anonymized marginals: count"
"""Name of the column of counts, unlike any other."""


def distinct_rows_of(counted: "pa.Table", columns: Sequence[str], name: str) -> DistinctRows:
    """The distinct rows of a table that has a column `COUNT`. name: what messages call the table."""
    coded = {column: _coded(counted.column(column), f"column {column!r} of {name}") for column in columns}
    return DistinctRows.of(
        {column: texts for column, (_, texts) in coded.items()},
        {column: codes for column, (codes, _) in coded.items()},
        numbers_of(counted.column(COUNT)).astype(np.int64),
    )


def rows_of(table: "pa.Table", columns: Sequence[str], name: str) -> DistinctRows:
    """All rows of some columns of a table in order, alike ones not put together. name: what messages call the table."""
    coded = {column: _coded(table.column(column), f"column {column!r} of {name}") for column in columns}
    return DistinctRows(
        {column: texts for column, (_, texts) in coded.items()},
        {column: codes for column, (codes, _) in coded.items()},
        np.ones(table.num_rows, dtype=np.int64),
    )


def counted(table: "pa.Table", columns: Sequence[str], name: str) -> "pa.Table":
    """A table of the distinct rows of some columns, with a column `COUNT`."""
    import pyarrow as pa

    plain = pa.table({column: decoded(table.column(column), f"column {column!r} of {name}") for column in columns})
    return plain.group_by(list(columns)).aggregate([([], "count_all")]).rename_columns([*columns, COUNT])


def decoded(column: "pa.ChunkedArray", where: str) -> "pa.ChunkedArray":
    """The column without dictionaries. Raises InputError for lists and the like."""
    import pyarrow as pa

    if pa.types.is_nested(column.type):
        raise InputError(f"{where} holds lists or the like, not single values")
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def numbers_of(column: "pa.Array | pa.ChunkedArray") -> NDArray[Any]:
    """A column of numbers as NumPy's, read-only; none is null. Arrow's own `to_numpy` would load pandas for it."""
    import pyarrow as pa

    return np.from_dlpack(column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column)


def texts_of(values: "pa.Array | pa.ChunkedArray", where: str) -> list[str | None]:
    """The text of each value, None for null; floats in their own precision.

    where: what messages call the values. Raises InputError for dates and times that the calendar lacks.
    """
    import pyarrow as pa

    with calendar_refusals(where):
        # As NumPy's numbers, for Python's would show all digits of a narrow float; null is NaN there, which is missing too.
        listed = values.to_pandas().to_numpy() if pa.types.is_floating(values.type) else values.to_pylist()
        return list(map(text_of, listed))


def _coded(column: "pa.ChunkedArray", where: str) -> tuple[CodeArray, Values]:
    encoded = decoded(column, where).combine_chunks().dictionary_encode()
    missing = len(encoded.dictionary)
    codes = numbers_of(encoded.indices.fill_null(missing))
    return codes.astype(smallest_code_dtype(missing + 1)), [*texts_of(encoded.dictionary, where), None]
