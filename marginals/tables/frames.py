"""Frames of other libraries, through narwhals: in memory, or elsewhere, whose distinct rows must fit into memory."""

from collections.abc import Sequence
from functools import cached_property
from math import inf
from typing import Any

import numpy as np

from marginals.errors import InputError
from marginals.later import nw, pa
from marginals.tables.distinct_rows import (
    DistinctRows,
    PandasFrame,
    Source,
    frame_of_arrow,
    is_of_pandas,
    numbers_of,
    rows_of,
)
from marginals.tables.opening import engine_refusals, require
from models.frozen import frozen

_EXTRAS = ("duckdb", "polars", "ibis")
_COUNT = "anonymized marginals: count"


@frozen(eq=False)
class LazyFrame:
    """Frame of DuckDB, Spark, Ibis or polars whose rows are elsewhere. most: distinct rows that fit into memory."""

    frame: "nw.LazyFrame[Any]"
    most: float = inf
    name: str = "the table"

    @cached_property
    def columns(self) -> list[str]:
        """Names of its columns."""
        return self.frame.collect_schema().names()

    def distinct_rows(self, columns: Sequence[str]) -> DistinctRows:
        """Return the distinct rows of some columns: one group by where the rows are. Raises InputError for too many."""
        schema = self.frame.collect_schema()
        texts = {c for c in columns if isinstance(schema[c], nw.Categorical | nw.Enum)}
        plain = (nw.col(c).cast(nw.String) if c in texts else nw.col(c) for c in columns)
        rows = self.frame.select(*(column.alias(f"v{place}") for place, column in enumerate(plain)))
        distinct: nw.LazyFrame[Any] = rows.group_by(*rows.collect_schema().names()).agg(nw.len().alias(_COUNT))
        with engine_refusals(self.name):
            few = distinct if self.most == inf else distinct.head(int(self.most) + 1)
            table = _arrow_of(few.collect())
        if len(table) > self.most:
            raise InputError(
                f"{self.name} has more distinct rows than fit into memory; write it as Parquet and name the folder, which "
                "DuckDB then counts part by part. Or raise the setting data.memory, or leave out columns"
            )
        coded = rows_of(table.rename_columns([*columns, _COUNT]), columns, self.name)
        return DistinctRows.of(coded.values, coded.codes, numbers_of(table.column(_COUNT)).astype(np.int64))

    def first_rows(self, count: int) -> DistinctRows:
        """Return some of the rows, at most so many, of the columns that can be read."""
        return frame_of_arrow(_arrow_of(self.frame.head(count).collect())).first_rows(count)

    def place(self, _column: str, _text: str) -> str | None:
        """Return None: the rows have no order."""
        return None


def in_narwhals(frame: object, wanted: str) -> Any:
    """Return the frame of another library. Raises InputError for something else, or two columns of one name."""
    try:
        return nw.from_native(frame)
    except nw.exceptions.DuplicateError:
        raise InputError("the table has two columns of one name; rename one of them") from None
    except TypeError:
        raise InputError(f"a {type(frame).__name__} is no table; give {wanted}") from None


def frame_source(frame: object, most: float = inf) -> Source:
    """Return the source for a frame of any library that narwhals supports. `most`: distinct rows that fit into memory."""
    if is_of_pandas(frame):
        return PandasFrame(frame)
    opened = in_narwhals(frame, "a path, or a frame of pandas, polars, pyarrow, DuckDB, Spark or Ibis")
    library = str(opened.implementation.value)
    require("pyarrow", library if library in _EXTRAS else "parquet", f"a table of {library}")
    if isinstance(opened, nw.LazyFrame):
        return LazyFrame(opened, most)
    return frame_of_arrow(_arrow_of(opened))


def _arrow_of(frame: "nw.DataFrame[Any]") -> "pa.Table":
    """Return a frame in memory: columns that Arrow cannot take are texts, or lists that nobody can read."""
    columns = dict[str, pa.ChunkedArray]()
    for name in frame.columns:
        for column in (nw.col(name), nw.col(name).cast(nw.String)):
            try:
                columns[name] = frame.select(column).to_arrow().column(0)
                break
            except MemoryError:
                raise
            except Exception:  # each library has its own
                columns[name] = pa.chunked_array([pa.nulls(len(frame), pa.list_(pa.null()))])
    return pa.table(columns)


def given_orders(frame: object) -> dict[str, tuple[str, ...]]:
    """Return the ordered categories of each column of a frame that has such, lowest first, where all are texts."""
    categories_of: dict[str, Sequence[object]] = {}
    if is_of_pandas(frame):
        kinds = ((str(name), kind) for name, kind in frame.dtypes.items())
        categories_of = {name: kind.categories.tolist() for name, kind in kinds if getattr(kind, "ordered", None)}
    else:
        opened: Any = nw.from_native(frame)
        schema = opened.collect_schema()
        categories_of = {name: kind.categories for name, kind in schema.items() if isinstance(kind, nw.Enum)}
    texts = {name: tuple(text for text in of if isinstance(text, str)) for name, of in categories_of.items()}
    return {name: of for name, of in texts.items() if len(of) == len(categories_of[name])}
