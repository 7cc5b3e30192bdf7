"""Tables in memory as pandas holds them."""

import sys
from collections.abc import Collection as AnyCollection
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from marginals.errors import InputError
from marginals.tables.sources.distinct_rows import DistinctRows, Values, calendar_refusals, text_of
from models.arrays import CodeArray, IndexArray, smallest_code_dtype

if TYPE_CHECKING:
    import pandas as pd


def is_of_pandas(frame: object) -> "TypeGuard[pd.DataFrame]":
    """Whether something is a frame of pandas, which nobody has who has not loaded it: here it need not be loaded."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(frame, pandas.DataFrame)


@dataclass(frozen=True, eq=False)
class PandasFrame:
    """A DataFrame; name: what messages call it."""

    frame: "pd.DataFrame"
    name: str = "the table"

    @property
    def columns(self) -> list[str]:
        """The names of its columns."""
        return list(map(str, self.frame.columns))

    def distinct_rows(self, columns: Sequence[str]) -> DistinctRows:
        """The distinct rows of some columns."""
        rows = self.rows(columns)
        return DistinctRows.of(rows.values, rows.codes, rows.counts)

    def rows(self, columns: Sequence[str]) -> DistinctRows:
        """All rows of some columns in order, alike ones not yet put together."""
        coded = {column: self._coded(column) for column in columns}
        values = {column: texts for column, (_, texts) in coded.items()}
        codes = {column: codes for column, (codes, _) in coded.items()}
        return DistinctRows(values, codes, np.ones(len(self.frame), dtype=np.int64))

    def rows_in_order(self, columns: Sequence[str]) -> Iterator[DistinctRows]:
        """All rows of some columns, in one part."""
        yield self.rows(columns)

    def place(self, column: str, text: str) -> str | None:
        """The first row with a value."""
        codes, texts = self._coded(column)
        sought = [i for i, other in enumerate(texts) if other == text]
        rows = np.flatnonzero(np.isin(codes, sought))
        return f"row {rows[0] + 1}" if len(rows) else None

    def _coded(self, column: str) -> tuple[CodeArray, Values]:
        import pandas as pd

        try:
            codes, values = pd.factorize(self.frame[column], use_na_sentinel=True)
        except TypeError:
            raise InputError(f"column {column!r} of {self.name} holds lists or the like, not single values") from None
        missing = len(values)
        narrow = np.where(codes < 0, missing, codes).astype(smallest_code_dtype(missing + 1))
        # As NumPy's numbers, for Python's would show all digits of a narrow float.
        listed = np.asarray(values) if pd.api.types.is_float_dtype(values.dtype) else values
        with calendar_refusals(f"column {column!r} of {self.name}"):
            return narrow, [*map(text_of, listed), None]


def factorized(column: "pd.Series[Any]", missing: AnyCollection[str]) -> tuple[IndexArray, list[str]]:
    """Codes of the values as text, -1 where missing, and the distinct texts."""
    name = str(column.name)
    rows = PandasFrame(column.to_frame(name)).rows([name])
    texts = rows.values[name]
    distinct = {text: i for i, text in enumerate(dict.fromkeys(t for t in texts if t is not None and t not in missing))}
    recode = np.array([-1 if text is None else distinct.get(text, -1) for text in texts], dtype=np.intp)
    return recode[rows.codes[name]], list(distinct)
