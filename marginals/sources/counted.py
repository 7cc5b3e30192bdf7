"""What every source gives: the rows of some columns, alike ones together where the engine has counted them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import pandas as pd

from models.arrays import CountArray


@dataclass(frozen=True, eq=False)
class Counted:
    """Rows with how often each occurs. frame: the columns asked for. counts: shape (rows,), int64, positive."""

    frame: pd.DataFrame
    counts: CountArray


class Source(Protocol):
    """A table somewhere."""

    @property
    def name(self) -> str:
        """What messages call it."""

    @property
    def columns(self) -> Sequence[str]:
        """The names of its columns, in order. Raises InputError where it cannot be read."""

    def counted(self, columns: Sequence[str]) -> Counted:
        """The rows of these columns, not necessarily each once. Raises InputError where they cannot be read."""

    def first_row(self, column: str, value: object) -> int | None:
        """The number, from 1, of the first row that holds a value; None where rows have no order."""
