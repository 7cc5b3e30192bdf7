"""Tables in memory or in an engine, as data frames: pandas itself, and all others through narwhals."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from marginals.errors import InputError
from marginals.sources.counted import Counted

_COUNT = "rows that are alike"
"""The column of counts; a name that no table is likely to have."""


@dataclass(frozen=True, eq=False)
class PandasFrame:
    """The source of a pandas data frame."""

    frame: pd.DataFrame
    name: str = "the table"

    @property
    def columns(self) -> Sequence[str]:
        """Its columns."""
        return [str(column) for column in self.frame.columns]

    def counted(self, columns: Sequence[str]) -> Counted:
        """Every row once."""
        return Counted(self.frame[list(columns)], np.ones(len(self.frame), dtype=np.int64))

    def first_row(self, column: str, value: object) -> int | None:
        """The number of the row, whatever its index."""
        return int(np.flatnonzero((self.frame[column] == value).to_numpy())[0]) + 1


@dataclass(frozen=True, eq=False)
class LazyFrames:
    """The source of any other data frame: its engine counts, and hands over the distinct rows."""

    frame: Any
    name: str = "the table"

    @classmethod
    def of(cls, table: Any) -> "LazyFrames":
        """The source of a frame. Raises InputError where it is none, or where narwhals is missing."""
        try:
            import narwhals as nw
        except ImportError:
            raise InputError(
                f"a table of type {type(table).__name__} needs narwhals: pip install narwhals; or give a pandas data frame"
            ) from None
        try:
            return cls(nw.from_native(table).lazy())
        except TypeError:
            raise InputError(f"a table is a path or a data frame, not {type(table).__name__}") from None

    @property
    def columns(self) -> Sequence[str]:
        """Its columns."""
        return list(self.frame.collect_schema().names())

    def counted(self, columns: Sequence[str]) -> Counted:
        """The distinct rows."""
        import narwhals as nw

        grouped = self.frame.select(*columns).group_by(*columns).agg(nw.len().alias(_COUNT)).collect()
        # Lists, because a detour through Arrow would need pyarrow for engines that do without.
        frame = pd.DataFrame({column: grouped[column].to_list() for column in columns})
        return Counted(frame, np.array(grouped[_COUNT].to_list(), dtype=np.int64))

    def first_row(self, column: str, value: object) -> int | None:  # noqa: ARG002
        """None: engines do not promise an order."""
        return None
