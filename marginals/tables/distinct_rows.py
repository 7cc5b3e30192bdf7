"""Distinct rows with counts, every value as text: what sources of tables give."""

import sys
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, datetime, timedelta
from itertools import chain
from math import inf
from types import UnionType
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard

import numpy as np
from numpy.typing import NDArray

from marginals.errors import InputError
from marginals.tables.spellings import BLANKS, cell_text
from marginals.tables.values import NumberFormat, missing_among
from models.arrays import BoolArray, CodeArray, CountArray, FloatArray, IndexArray, smallest_code_dtype
from models.tables.contingency_table import pack, tally

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


Values = Sequence[str | None]
"""Texts of the values of a column; None stands for nothing. Two values may have one text."""

Recoding = IndexArray
"""New code of each value of a column; rows with a value that has -1 are left out. Shape (values,)."""


def text_of(value: Any) -> str | None:
    """Return the normal text of a value of any type, the same from every source; None for null and NaN.

    Floats that are whole numbers look as such; times with a zone are local times, and midnight is its day.
    """
    if value is None or value != value:
        return None
    if isinstance(value, str):
        return cell_text(value)
    if isinstance(value, float | np.floating):
        return str(int(value)) if value.is_integer() else str(value)
    if isinstance(value, datetime):
        if not MINYEAR <= value.year <= MAXYEAR:
            raise OverflowError("pandas knows years that no calendar of Python has")
        return str(value.replace(tzinfo=None)).removesuffix(" 00:00:00")
    return str(value)


@contextmanager
def calendar_refusals(where: str) -> Iterator[None]:
    """Turn errors of dates and times that have no text into InputErrors. where: what messages call the values."""
    try:
        yield
    except (ArithmeticError, ValueError):
        raise InputError(
            f"{where} holds a date or time that cannot be read; years go from {MINYEAR} to {MAXYEAR}"
        ) from None


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """Rows of some columns, none twice, with counts. values: texts of each column. codes: places in these texts.

    Shape of counts and of each column's codes: (rows,).
    """

    values: Mapping[str, Values]
    codes: Mapping[str, CodeArray]
    counts: CountArray

    @classmethod
    def of(cls, values: Mapping[str, Values], codes: Mapping[str, CodeArray], counts: CountArray) -> "DistinctRows":
        """Count rows that may repeat."""
        keys, space = pack(list(codes.values()), [max(len(values[column]), 1) for column in codes], len(counts))
        rows, totals = tally(keys, space, counts)
        return cls(values, {column: array[rows] for column, array in codes.items()}, totals)

    @classmethod
    def each_once(cls, coded: Mapping[str, tuple[CodeArray, Values]], length: int) -> "DistinctRows":
        """Return all rows in order, alike ones apart, from the codes and the texts of each column."""
        values = {column: texts for column, (_, texts) in coded.items()}
        return cls(values, {column: codes for column, (codes, _) in coded.items()}, np.ones(length, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.counts)

    def taken(self, counts: CountArray) -> "DistinctRows":
        """Return so many of each of the rows; those of which there are none are left out. Shape (rows,)."""
        is_kept = counts > 0
        return DistinctRows(self.values, {c: codes[is_kept] for c, codes in self.codes.items()}, counts[is_kept])

    def without(self, columns: Collection[str]) -> "DistinctRows":
        """Return the distinct rows of the other columns."""
        values = {column: texts for column, texts in self.values.items() if column not in columns}
        return DistinctRows.of(values, {column: self.codes[column] for column in values}, self.counts)


def merged(parts: Iterable[DistinctRows], most: float = inf) -> DistinctRows:
    """Return the distinct rows of one or more parts of a table; of some parts alone if these have more than `most`."""
    distinct: list[DistinctRows] = []  # the distinct rows of the first parts
    waiting: list[DistinctRows] = []
    for part in parts:
        waiting.append(part)
        if not distinct or sum(map(len, waiting)) >= len(distinct[0]):  # so that each row is sorted a few times only
            distinct, waiting = [concatenated([*distinct, *waiting]).without(())], []
            if len(distinct[0]) > most:
                break
    return concatenated([*distinct, *waiting]).without(()) if waiting else distinct[0]


def concatenated(parts: Sequence[DistinctRows]) -> DistinctRows:
    """Return the rows of one part after those of another, alike ones apart."""
    values: dict[str, Values] = {}
    codes: dict[str, CodeArray] = {}
    for column in parts[0].values:
        place = {text: i for i, text in enumerate(dict.fromkeys(chain(*(part.values[column] for part in parts))))}
        kind = smallest_code_dtype(len(place))
        values[column] = list(place)
        codes[column] = np.concatenate(
            [np.array([place[t] for t in part.values[column]], dtype=kind)[part.codes[column]] for part in parts]
        )
    return DistinctRows(values, codes, np.concatenate([part.counts for part in parts]))


class Source(Protocol):
    """Named columns whose distinct rows can be counted."""

    @property
    def name(self) -> str:
        """Name in messages."""

    @property
    def columns(self) -> Sequence[str]:
        """Names of the columns."""

    def distinct_rows(self, columns: Sequence[str]) -> DistinctRows:
        """Return the distinct rows of some columns. Raises InputError where they cannot be had."""

    def place(self, column: str, text: str) -> str | None:
        """Return the first place of a value, such as "row 3" (from 1); None for a source without an order."""


class InOrder(ABC):
    """Source whose rows have an order, the same each time, and are read in parts."""

    @abstractmethod
    def parts(self, columns: Sequence[str]) -> Iterator[tuple[str, DistinctRows]]:
        """Read all rows of some columns in order, alike ones apart, each part after the name of its file.

        The name is empty if there is one file. Raises InputError if a part cannot be read.
        """

    def distinct_rows(self, columns: Sequence[str], most: float = inf) -> DistinctRows:
        """Return the distinct rows of some columns; only some rows if they are more than `most`."""
        return merged((rows for _, rows in self.parts(columns)), most)

    def place(self, column: str, text: str) -> str | None:
        """Return the first row with a value, and the file if there are several."""
        begins = Counter[str]()
        for file, part in self.parts([column]):
            sought = [code for code, other in enumerate(part.values[column]) if other == text]
            rows = np.flatnonzero(np.isin(part.codes[column], sought))
            if len(rows):
                return f"row {begins[file] + int(rows[0]) + 1}" + (f" of {file}" if file else "")
            begins[file] += len(part)
        return None


def is_of_pandas(frame: object) -> "TypeGuard[pd.DataFrame]":
    """Return whether something is a frame of pandas, without loading pandas."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(frame, pandas.DataFrame)


def without_blank_rows(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Return the rows of a frame that have some value: one without any, as a line of commas, is about nobody."""
    if frame.shape[1] < 2:
        return frame
    blank = np.ones(len(frame), dtype=bool)
    for place in range(frame.shape[1]):
        blank &= _is_blank(frame.iloc[:, place])
        if not blank.any():
            return frame
    views = {str(name): [*frame[name]] for name, kind in frame.dtypes.items() if "string_view" in str(kind)}
    return frame.assign(**views)[~blank]  # pandas filters no views


def _is_blank(column: "pd.Series[Any]") -> BoolArray:
    blank: BoolArray = column.isna().to_numpy(dtype=bool)
    if str(column.dtype) in ("str", "string", "string[pyarrow]", "large_string[pyarrow]"):
        texts = column.unique().tolist()
        return blank | column.isin([t for t in texts if isinstance(t, str) and not t.strip(BLANKS)]).to_numpy(
            dtype=bool
        )
    if column.dtype.kind == "O":
        blank = blank | np.array([isinstance(v, str) and not v.strip(BLANKS) for v in column], dtype=bool)
    return blank


@dataclass(frozen=True, eq=False)
class PandasFrame(InOrder):
    """DataFrame of pandas, by its name in messages."""

    frame: "pd.DataFrame"
    name: str = "the table"

    def __post_init__(self) -> None:
        object.__setattr__(self, "frame", without_blank_rows(self.frame))

    @property
    def columns(self) -> list[str]:
        """Names of its columns."""
        return list(map(str, self.frame.columns))

    def rows(self, columns: Sequence[str]) -> DistinctRows:
        """Return all rows of some columns in order, alike ones apart."""
        return DistinctRows.each_once({column: self._coded(column) for column in columns}, len(self.frame))

    def parts(self, columns: Sequence[str]) -> Iterator[tuple[str, DistinctRows]]:
        """Read all rows of some columns, in one part."""
        yield "", self.rows(columns)

    def _coded(self, column: str) -> tuple[CodeArray, Values]:
        import pandas as pd

        where = f"column {column!r} of {self.name}"
        if hasattr(self.frame[column].dtype, "pyarrow_dtype"):  # held as Arrow does, with a type for each kind of value
            import pyarrow as pa

            table = pa.Table.from_pandas(self.frame[[column]], preserve_index=False)
            return _coded(without_views(table).column(0), where)
        try:
            codes, values = pd.factorize(self.frame[column], use_na_sentinel=True)
        except TypeError:
            raise InputError(f"{where} holds lists or the like, not single values") from None
        for held, holds in (
            ("durations", values.dtype.kind == "m" or _holds(values, timedelta | pd.DateOffset)),
            ("numbers of 16 bits", self.frame[column].dtype == np.float16),
            ("bytes", _holds(values, bytes)),
        ):
            if holds:
                raise unread(where, held)
        missing = len(values)
        narrow = np.where(codes < 0, missing, codes).astype(smallest_code_dtype(missing + 1))
        # As NumPy's numbers, for Python's would show all digits of a narrow float.
        scalars = np.asarray(values) if pd.api.types.is_float_dtype(values.dtype) else values
        with calendar_refusals(where):
            return narrow, [*map(text_of, scalars), None]


def _holds(values: "pd.Index[Any]", kind: type | UnionType) -> bool:
    return values.dtype.kind == "O" and any(isinstance(value, kind) for value in values)


def factorized(column: "pd.Series[Any]", missing: Collection[str], decimal: str = ".") -> tuple[IndexArray, list[str]]:
    """Return codes of the values as text, -1 where missing, and the distinct texts. decimal: the sign before a
    fraction.
    """
    name = str(column.name)
    rows = PandasFrame(column.to_frame(name)).rows([name])
    texts = rows.values[name]
    absent = missing_among(texts, missing, decimal)
    distinct = {text: i for i, text in enumerate(dict.fromkeys(t for t in texts if t is not None and t not in absent))}
    recode = np.array([-1 if text is None else distinct.get(text, -1) for text in texts], dtype=np.intp)
    return recode[rows.codes[name]], list(distinct)


def reals(column: "pd.Series[Any]") -> FloatArray:
    """Return the numbers of a column, with a point before their fraction; NaN for other values. Shape (rows,)."""
    if column.dtype.kind in "iufb":
        return column.to_numpy(dtype=np.float64)
    codes, texts = factorized(column, ())
    written = NumberFormat.nearest(texts)
    return np.array([*map(written.real, texts), np.nan])[codes]


def rows_of(table: "pa.Table", columns: Sequence[str], name: str) -> DistinctRows:
    """Return all rows of some columns of a table in order, alike ones apart. name: of the table in messages."""
    coded = {column: _coded(table.column(column), f"column {column!r} of {name}") for column in columns}
    return DistinctRows.each_once(coded, table.num_rows)


def _check_kind(kind: "pa.DataType", where: str) -> None:
    """Raise InputError for lists and the like, and for a type whose values engines read differently."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_nested(kind):
        raise InputError(f"{where} holds lists or the like, not single values")
    kinds = (
        ("durations", pa.types.is_duration(kind) or pa.types.is_interval(kind)),
        ("numbers of 16 bits", pa.types.is_float16(kind)),
        ("bytes", "binary" in str(kind)),
        ("values of an extension type", isinstance(kind, pa.BaseExtensionType)),
        ("times in a zone that is not known", getattr(kind, "tz", None) and not _is_zone(kind)),
    )
    for held, holds in kinds:
        if holds:
            raise unread(where, held)


def _is_zone(kind: "pa.DataType") -> bool:
    import pyarrow as pa

    try:
        pa.scalar(0, kind).as_py()
    except (LookupError, ValueError):
        return False
    return True


def unread(where: str, held: str) -> InputError:
    """Return the refusal of a column of values that engines read differently. held: their name."""
    return InputError(
        f"{where} holds {held}, which not every engine reads alike; write them as numbers or texts, or leave the column out"
    )


def without_views(table: "pa.Table") -> "pa.Table":
    """Return the table with texts of a type for which Arrow has all its functions."""
    import pyarrow as pa

    fields = [field.with_type(pa.string()) if str(field.type) == "string_view" else field for field in table.schema]
    return table.cast(pa.schema(fields))


def numbers_of(column: "pa.Array | pa.ChunkedArray") -> NDArray[Any]:
    """Return numbers, none null, as NumPy's, read-only. Arrow's own `to_numpy` would load pandas for it."""
    import pyarrow as pa

    return np.from_dlpack(column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column)


def _coded(column: "pa.ChunkedArray", where: str) -> tuple[CodeArray, Values]:
    import pyarrow as pa

    _check_kind(column.type, where)
    plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    # Filling in for null would make Arrow load pandas.
    encoded = plain.combine_chunks().dictionary_encode(null_encoding="encode")
    values = encoded.dictionary
    with calendar_refusals(where):
        # As NumPy's numbers, for Python's would show all digits of a narrow float; null is NaN there, which is missing too.
        scalars = values.to_pandas().to_numpy() if pa.types.is_floating(values.type) else values.to_pylist()
        texts = [*map(text_of, scalars), None]
    return numbers_of(encoded.indices).astype(smallest_code_dtype(len(texts))), texts
