"""The rows of a table one by one, for what is decided record by record."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from marginals.tables.attribute import Role
from marginals.tables.keys import RepeatingKey
from models.arrays import CodeArray
from models.tables.domain import Domain

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a table one by one, those with a missing value left out.

    codes: base codes of all quasi-identifiers and sensitive attributes, shape (rows,). frame: all columns as they were
    read. missing: rows left out. no_value: texts that stand for no value, beside null and NaN. repeating:
    columns that look like keys of people and repeat, where nobody has said whose rows these are.

    >>> from marginals.example import attributes, frame
    >>> from marginals.tables.source import read_rows
    >>> rows = read_rows(frame, attributes)
    >>> len(rows), rows.codes["sex"][5:9]
    (48, array([0, 0, 1, 1]))
    """

    domain: Domain
    roles: Mapping[str, Role]
    codes: Mapping[str, CodeArray]
    frame: "pd.DataFrame"
    missing: int = 0
    no_value: frozenset[str] = frozenset({""})
    repeating: tuple[RepeatingKey, ...] = ()

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.frame)
