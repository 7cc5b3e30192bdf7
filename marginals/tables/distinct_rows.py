"""Distinct rows with counts, every value as text: what sources of tables give."""

import sys
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import MAXYEAR, MINYEAR, datetime
from itertools import chain
from math import inf
from typing import Any, Protocol, TypeGuard

import numpy as np
from numpy.typing import NDArray

from marginals.errors import InputError
from marginals.later import pa, pd
from marginals.tables.spellings import BLANKS, cell_text
from marginals.tables.values import NumberFormat, missing_among
from models.arrays import BoolArray, CodeArray, CountArray, FloatArray, IndexArray, smallest_code_dtype
from models.frozen import frozen
from models.tables.contingency_table import tallied

Values = Sequence[str | None]  # None stands for nothing; two values may have one text
Recoding = IndexArray  # new code of each value; rows with -1 are left out


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


# Classes of values that engines read differently, as messages call them.
_UNREAD = {
    "timedelta": "durations",
    "timedelta64": "durations",
    "BaseOffset": "durations",
    "MonthDayNano": "durations",
    "float16": "numbers of 16 bits",
    "bytes": "bytes",
}


def _texts(values: Any, where: str, *kinds: type) -> Values:
    """Texts of distinct values of these kinds, and None. Raises InputError for values that engines read differently."""
    try:
        values = values.to_pylist() if hasattr(values, "to_pylist") else list(values)  # Arrow's list is faster
        texts = [*map(text_of, values), None]
    except (ArithmeticError, ValueError):
        raise InputError(
            f"{where} holds a date or time that cannot be read; years go from {MINYEAR} to {MAXYEAR}"
        ) from None
    for kind in {*kinds, *map(type, values)}:
        if held := next((_UNREAD[base.__name__] for base in kind.__mro__ if base.__name__ in _UNREAD), None):
            raise unread(where, held)
    return texts


@frozen(eq=False)
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
        columns, totals = tallied(list(codes.values()), [max(len(values[column]), 1) for column in codes], counts)
        return cls(values, dict(zip(codes, columns)), totals)

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
        # Each row is sorted a few times only, and once where holding all of them is no matter.
        if sum(map(len, waiting)) >= max([min(most, 1 << 22), *map(len, distinct)]):
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
        new_codes = [np.array([place[text] for text in part.values[column]], dtype=kind) for part in parts]
        codes[column] = np.concatenate([new[part.codes[column]] for new, part in zip(new_codes, parts)])
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

    def first_rows(self, count: int) -> DistinctRows:
        """Return at most so many rows at the beginning, alike ones apart; of columns of one name the first."""

    def place(self, column: str, text: str) -> str | None:
        """Return the first place of a value, such as "row 3" (from 1); None for a source without an order."""


class InOrder(ABC):
    """Source whose rows have an order, the same each time, and are read in parts."""

    @abstractmethod
    def parts(self, columns: Sequence[str]) -> Iterator[tuple[str, DistinctRows]]:
        """Read all rows of some columns in order, alike ones apart, each part after the name of its file.

        The name is empty if there is one file. Raises InputError if a part cannot be read.
        """

    @abstractmethod
    def first_rows(self, count: int) -> DistinctRows:
        """Return at most so many rows at the beginning, alike ones apart; of columns of one name the first."""

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
    views = {str(name): [*frame[name]] for name, kind in frame.dtypes.items() if "string_view" in str(kind)}
    frame, blank = frame.assign(**views) if views else frame, np.ones(len(frame), dtype=bool)  # pandas filters no views
    for place in range(frame.shape[1]):
        blank &= _is_blank(frame.iloc[:, place])
        if not blank.any():
            return frame
    return frame[~blank]


def _is_blank(column: "pd.Series[Any]") -> BoolArray:
    blank: BoolArray = column.isna().to_numpy(dtype=bool)
    if column.dtype.kind in "OU":
        with suppress(TypeError, NotImplementedError):  # lists and the like, which are not blank
            texts = [text for text in column.unique().tolist() if isinstance(text, str) and not text.strip(BLANKS)]
            return blank | column.isin(texts).to_numpy(dtype=bool)
    return blank


@frozen(eq=False)
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

    def first_rows(self, count: int) -> DistinctRows:
        """Return at most so many rows at the beginning, alike ones apart, of the columns that can be read."""
        first = PandasFrame(self.frame.loc[:, ~self.frame.columns.duplicated()].head(count), self.name)
        readable = dict[str, tuple[CodeArray, Values]]()
        for column in first.columns:
            with suppress(InputError):
                readable[column] = first._coded(column)
        return DistinctRows.each_once(readable, len(first.frame))

    def rows(self, columns: Sequence[str]) -> DistinctRows:
        """Return all rows of some columns in order, alike ones apart."""
        return DistinctRows.each_once({column: self._coded(column) for column in columns}, len(self.frame))

    def parts(self, columns: Sequence[str]) -> Iterator[tuple[str, DistinctRows]]:
        """Read all rows of some columns, in one part."""
        yield "", self.rows(columns)

    def _coded(self, column: str) -> tuple[CodeArray, Values]:
        where = f"column {column!r} of {self.name}"
        if hasattr(self.frame[column].dtype, "pyarrow_dtype"):  # held as Arrow does, with a type for each kind of value
            table = pa.Table.from_pandas(self.frame[[column]], preserve_index=False)
            return _coded(without_views(table).column(0), where)
        try:
            codes, values = pd.factorize(self.frame[column], use_na_sentinel=True)
        except TypeError:
            raise unread(where, _LISTS) from None
        missing = len(values)
        codes[codes < 0] = missing
        narrow = codes.astype(smallest_code_dtype(missing + 1))
        # As NumPy's numbers, for Python's would show all digits of a narrow float.
        scalars = np.asarray(values) if pd.api.types.is_float_dtype(values.dtype) else values
        return narrow, _texts(scalars, where, self.frame[column].dtype.type)


def factorized(column: "pd.Series[Any]", missing: Collection[str], decimal: str = ".") -> tuple[IndexArray, list[str]]:
    """Return codes of the values as text, -1 where missing, and the distinct texts."""
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
    """Return all rows of some columns of a table in order, alike ones apart."""
    coded = {column: _coded(table.column(column), f"column {column!r} of {name}") for column in columns}
    return DistinctRows.each_once(coded, table.num_rows)


def frame_of_arrow(table: "pa.Table", name: str = "the table") -> PandasFrame:
    """Return the frame of a table, in which every value stays as it is."""
    return PandasFrame(without_views(table).to_pandas(types_mapper=pd.ArrowDtype, ignore_metadata=True), name)


_LISTS = "lists or the like, not single values"


def unread(where: str, held: str = "lists, or values of a rare type") -> InputError:
    """Return the refusal of a column whose values cannot be counted."""
    why = "" if held == _LISTS else ", which not every engine reads alike"
    return InputError(f"{where} holds {held}{why}; write them as numbers or texts, or leave the column out")


def without_views(table: "pa.Table") -> "pa.Table":
    """Return the table with texts of a type for which Arrow has all its functions."""
    for place, field in enumerate(table.schema):
        if str(field.type) == "string_view":
            table = table.set_column(place, field.name, table.column(place).cast(pa.string()))
    return table


def numbers_of(column: "pa.Array | pa.ChunkedArray") -> NDArray[Any]:
    """Return numbers, none null, as NumPy's, read-only. Arrow's own `to_numpy` would load pandas for it."""
    return np.from_dlpack(column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column)


def _coded(column: "pa.ChunkedArray", where: str) -> tuple[CodeArray, Values]:
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    try:
        # Filling in for null would make Arrow load pandas.
        encoded = column.cast(kind).combine_chunks().dictionary_encode(null_encoding="encode")
    except (pa.ArrowNotImplementedError, TypeError):
        raise unread(where, _LISTS if pa.types.is_nested(kind) else "values of an extension type") from None
    values = encoded.dictionary
    try:
        if pa.types.is_timestamp(values.type):
            pa.scalar(0, values.type).as_py()
    except (LookupError, ValueError):
        raise unread(where, "times in a zone that is not known") from None
    # As NumPy's numbers, for Python's would show all digits of a narrow float; null is NaN there, which is missing too.
    scalars = values.to_pandas().to_numpy() if pa.types.is_floating(values.type) else values
    texts = _texts(scalars, where)
    return numbers_of(encoded.indices).astype(smallest_code_dtype(len(texts))), texts
