"""The rows that a model is selected for, counted: a frame, a table that was read, or a contingency table."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from marginals.errors import InputError
from marginals.tables.table import Table
from models.arrays import CodeArray
from models.search.selection import at_one_level
from models.tables.contingency_table import ContingencyTable
from models.tables.domain import Domain
from models.tables.hierarchy import Hierarchy

_MOST_NUMBERS = 30
"""Different numbers of a column beyond which it is taken for a measurement, not for a code."""

_MOST_VALUES = 200
"""Different values of a column beyond which it is taken for a key, or a measurement."""


_NAMES_OF_COUNTS = ("freq", "count", "counts")


@dataclass(frozen=True, eq=False)
class Counted:
    """Counts of the combinations of values.

    counts: over a domain without generalizations. ordered: the attributes whose values have an order. dropped: rows with a
    missing value, which do not count. categories: for each attribute the values as the frame has them, in the order of its
    codes. table: where roles and hierarchies are known.
    """

    counts: ContingencyTable
    ordered: frozenset[str] = frozenset()
    dropped: int = 0
    categories: Mapping[str, pd.Index] = field(default_factory=dict)
    table: Table | None = None

    @property
    def domain(self) -> Domain:
        """The attributes with their values."""
        return self.counts.domain

    def labels(self, attribute: str) -> tuple[str, ...]:
        """The values of an attribute as texts, in the order of their codes."""
        return self.domain.hierarchy(attribute).labels[0]

    def values(self, attribute: str, codes: CodeArray) -> pd.Categorical:
        """Codes as the frame has the values."""
        categories = self.categories.get(attribute, pd.Index(self.labels(attribute)))
        return pd.Categorical.from_codes(codes.astype(np.intp).tolist(), categories, ordered=attribute in self.ordered)

    def codes(self, attribute: str, values: "pd.Series[Any]") -> CodeArray:
        """The codes of values. Raises InputError for one that the table does not have; it is not named."""
        known = {label: code for code, label in enumerate(self.labels(attribute))}
        codes = values.map(lambda value: known.get(str(value), -1)).to_numpy(dtype=np.intp)
        if (codes < 0).any():
            raise InputError(
                f"a value of {attribute!r} is none of the table's, which are {', '.join(list(known)[:10])}"
            )
        return codes


def counted(data: Any, counts: str | None = None) -> Counted:
    """The counts of a frame of rows, of a Table, or of a contingency table.

    data: a frame of pandas, or of what else narwhals knows; each column is an attribute. counts: the column that says
    how many rows each row stands for, as `Freq` in R's `as.data.frame(table)`. Ordered are ordered categoricals and
    numbers; rows with a missing value are dropped. Raises InputError, naming the column.

    >>> people = pd.DataFrame({"smokes": ["no", "yes", "no"], "stairs": [1, 2, None]})
    >>> rows = counted(people)
    >>> rows.counts, rows.dropped, sorted(rows.ordered)
    (ContingencyTable(smokes:0, stairs:0; 2 cells, 2 rows), 1, ['stairs'])
    """
    if isinstance(data, Counted):
        return data
    if isinstance(data, Table):
        return Counted(at_one_level(data.base_counts), dropped=data.missing, table=data)
    if isinstance(data, ContingencyTable):
        return Counted(at_one_level(data))
    return _of_frame(_in_pandas(data), counts)


def _in_pandas(data: Any) -> pd.DataFrame:
    if isinstance(data, pd.DataFrame):
        return data
    import narwhals as nw

    try:
        frame: pd.DataFrame = nw.from_native(data).lazy().collect().to_pandas()
    except TypeError:
        raise InputError(
            f"a model is selected for a frame, a Table or a ContingencyTable, not for a {type(data).__name__}"
        ) from None
    return frame


def _of_frame(frame: pd.DataFrame, counts: str | None) -> Counted:
    if _is_cross_table(frame):
        raise InputError(
            f"the frame looks like a cross table, whose columns are values of {frame.columns.names[0]!r}; bring it into one "
            "row for each combination: frame.stack().rename('Freq').reset_index(), and say counts='Freq'"
        )
    columns = [str(column) for column in frame.columns]
    if len(set(columns)) < len(columns):
        raise InputError("two columns of the frame have the same name")
    frame = frame.set_axis(columns, axis=1)
    if counts is not None and counts not in columns:
        raise InputError(f"the frame has no column {counts!r} with counts")
    likely = next((column for column in columns if counts is None and column.lower() in _NAMES_OF_COUNTS), None)
    if likely is not None and pd.api.types.is_numeric_dtype(frame[likely]):
        raise InputError(
            f"the column {likely!r} looks like counts of rows: say counts={likely!r}; if it is an attribute, rename it"
        )
    attributes = [column for column in columns if column != counts]
    if not attributes:
        raise InputError("the frame has no column to select a model of")
    whole = frame[attributes].notna().all(axis=1)
    weights = np.ones(len(frame), dtype=np.int64) if counts is None else _whole(frame[counts], counts)
    dropped, weights, frame = int(weights[~whole].sum()), weights[whole.to_numpy()], frame[whole]
    values = {column: _categorical(frame[column], len(frame)) for column in attributes}
    domain = Domain.of({a: Hierarchy.flat([str(value) for value in v.categories]) for a, v in values.items()})
    codes = {a: v.codes.astype(np.intp) for a, v in values.items()}
    table = ContingencyTable.from_cells(domain, dict.fromkeys(attributes, 0), codes, weights)
    ordered = frozenset(a for a, v in values.items() if v.ordered)
    return Counted(table, ordered, dropped, {a: v.categories for a, v in values.items()})


def _is_cross_table(frame: pd.DataFrame) -> bool:
    """Whether rows and columns are values of attributes, and hold whole numbers, as `pandas.crosstab` makes them of rows."""
    named = all(name is not None for name in (*frame.index.names, *frame.columns.names))
    return named and all(pd.api.types.is_integer_dtype(kind) for kind in frame.dtypes)


def _whole(column: "pd.Series[Any]", name: str) -> CodeArray:
    """Counts of rows, none negative and none a fraction."""
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64)
    if not (np.isfinite(numbers) & (numbers >= 0) & (numbers == np.floor(numbers))).all():
        raise InputError(
            f"the counts in {name!r} must be whole numbers, 0 or more; round weights yourself if you want them as counts"
        )
    return numbers.astype(np.int64)


def _categorical(column: "pd.Series[Any]", rows: int) -> pd.Categorical:
    """The values with their order, if they have one. Raises InputError for what looks like a key or a measurement."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        values = pd.Categorical(column)
    else:
        numeric = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
        values = pd.Categorical(column, ordered=numeric)
        most = _MOST_NUMBERS if numeric else _MOST_VALUES
        if len(values.categories) > most:
            raise InputError(
                f"the column {column.name!r} has {len(values.categories):,} different values in {rows:,} rows; put them "
                "into a few groups (pandas.cut), make the column a categorical if these are its groups, or leave it out"
            )
    texts = [str(value) for value in values.categories]
    if len(set(texts)) < len(texts):
        raise InputError(f"two values of the column {column.name!r} read alike")
    if not texts:
        raise InputError(f"the column {column.name!r} has no value")
    return values
