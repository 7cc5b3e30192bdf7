"""Frames of other libraries, through narwhals: polars and Arrow in memory; Spark, Ibis and others where the rows are."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Collection as AnyCollection
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from marginals.errors import InputError, TooLittleMemoryError
from marginals.files import on_disk
from marginals.tables.distinct_rows import (
    COUNT,
    DistinctRows,
    Recoding,
    Values,
    concatenated,
    decoded,
    distinct_rows_of,
    numbers_of,
    rows_of,
    texts_of,
    unread,
)
from marginals.tables.distinct_rows import counted as counted_table
from marginals.tables.files import CsvFiles, ParquetFiles, engine_refusals
from models.arrays import CodeArray, CountArray, IndexArray
from models.tables.contingency_table import last_digit

if TYPE_CHECKING:
    import duckdb
    import narwhals as nw
    import pyarrow as pa


class Lookup(NamedTuple):
    """What each value of a column adds to the key of its row; rows whose value has -1 are left out.

    place: that of the column among those of the rows, where it is called v and its place. values: without null, none
    twice. summands: shape (values,). of_null: that of null. has_null: whether it occurs.
    """

    column: str
    place: int
    values: "pa.Array"
    summands: IndexArray
    of_null: int
    has_null: bool

    @property
    def leaves_out(self) -> bool:
        """Whether some rows are left out for their value."""
        return bool((self.summands < 0).any()) or (self.has_null and self.of_null < 0)


def keyed(
    frame: "nw.LazyFrame[Any]", rows: "nw.LazyFrame[Any]", packs: Sequence[Sequence[Lookup]]
) -> "nw.LazyFrame[Any]":
    """For each row that is kept its keys, key0, key1 and so on: for each pack of columns the sum of what is looked up.

    Null where a value is not among those that are looked up, and no row is to be left out. frame: the columns by their
    names. rows: the same, v0, v1 and so on.
    """
    import narwhals as nw

    lookups = [lookup for pack in packs for lookup in pack]
    if not rows.implementation.is_duckdb():
        for lookup in lookups:
            rows = _joined(frame, rows, lookup)
        return rows.select(
            *(
                nw.sum_horizontal(*(f"c{lookup.place}" for lookup in pack)).alias(f"key{number}")
                for number, pack in enumerate(packs)
            )
        )
    result = {lookup.place: text for lookup in lookups if (text := in_place(frame.to_native(), lookup))}
    for lookup in lookups:
        if lookup.place not in result:
            rows = _joined(frame, rows, lookup)
    sums = (
        " + ".join(result.get(lookup.place, f"c{lookup.place}") for lookup in pack) + f" AS key{number}"
        for number, pack in enumerate(packs)
    )
    native: Any = rows.to_native().project(", ".join(sums))
    if any(lookup.leaves_out for lookup in lookups):  # the filter takes as long as counting what it lets through
        native = native.filter(" AND ".join(f"key{number} IS NOT NULL" for number in range(len(packs))))
    return cast("nw.LazyFrame[Any]", nw.from_native(native))


def _joined(frame: "nw.LazyFrame[Any]", rows: "nw.LazyFrame[Any]", lookup: Lookup) -> "nw.LazyFrame[Any]":
    """The rows that are kept, with what is looked up for them.

    Null is equal to nothing, so rows that have it find no value to be joined to.
    """
    import narwhals as nw
    import pyarrow as pa

    value, summand = f"v{lookup.place}", f"c{lookup.place}"
    kept_indices = np.arange(len(lookup.summands)) if lookup.of_null >= 0 else np.flatnonzero(lookup.summands >= 0)
    summands = pa.array(lookup.summands[kept_indices].astype(np.int64))
    table = _beside(
        frame, lookup.column, pa.table({value: lookup.values.take(pa.array(kept_indices)), summand: summands})
    )
    if lookup.of_null < 0:
        return rows.join(table, on=value, how="inner")
    every = rows.join(table, on=value, how="left")
    return every.with_columns(nw.col(summand).fill_null(lookup.of_null)).filter(nw.col(summand) >= 0)


_MOST_IN_LIST, _MOST_IN_ENUM = 24, 1000
"""Values that DuckDB finds in a list, or in a type made of them, as quickly as by a join."""


def in_place(relation: "duckdb.DuckDBPyRelation", lookup: Lookup) -> str:
    """What is looked up as an expression of DuckDB, null for rows to leave out; empty where values are too many.

    DuckDB binds a chain of joins again with each one that is added, so that many of them take the square of the time.
    """
    import pyarrow as pa

    value_type, count = _type_of(relation, lookup.column), len(lookup.values)
    if count > (_MOST_IN_ENUM if value_type == "VARCHAR" else _MOST_IN_LIST):
        return ""
    of_null = "NULL" if lookup.of_null < 0 else str(lookup.of_null)
    if not count:
        return f"CAST({of_null} AS BIGINT)"
    value = f"v{lookup.place}"
    texts = ", ".join(map(sql_text, lookup.values.cast(pa.string()).to_pylist()))
    if count <= _MOST_IN_LIST:
        position = f"list_position(CAST([{texts}] AS {value_type}[]), {value})"
    else:
        # What cannot fail DuckDB does once for each value of a column that it holds as numbers of values.
        position = f"CAST(enum_code(TRY_CAST({value} AS ENUM({texts}))) AS INTEGER) + 1"
    summands = ", ".join("NULL" if summand < 0 else str(summand) for summand in lookup.summands.tolist())
    result = f"list_extract(CAST([{summands}] AS BIGINT[]), {position})"
    return result if lookup.of_null < 0 else f"CASE WHEN {value} IS NULL THEN {of_null} ELSE {result} END"


def _type_of(relation: "duckdb.DuckDBPyRelation", column: str) -> str:
    """The type of DuckDB that a column is compared as."""
    value_type = str(relation.types[relation.columns.index(column)])
    return "VARCHAR" if value_type.startswith("ENUM") else value_type


def sql_name(column: str) -> str:
    """The name of a column as SQL spells it."""
    return '"' + column.replace('"', '""') + '"'


def sql_text(text: object) -> str:
    """A text as SQL spells it."""
    return "'" + str(text).replace("'", "''") + "'"


def _beside(frame: "nw.LazyFrame[Any]", column: str, table: "pa.Table") -> "nw.LazyFrame[Any]":
    """A table of values of a column of a frame, and of summands, where the rows of the frame are."""
    import narwhals as nw

    if frame.implementation.is_duckdb():
        query = _as_sql(table, _type_of(frame.to_native(), column))
        there: Any = nw.from_native(frame.to_native().query("anonymized_marginals_rows", query))
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
        return "[" + ", ".join(map(sql_text, texts)) + "]::VARCHAR[]"
    joined = separator.join(texts).replace("'", "''")
    return f"string_split('{joined}', '{separator}')"


_MAX_KEY = 2**62
"""Packed keys stay below this, so that no engine's 64 bits overflow."""


@dataclass(frozen=True, eq=False)
class EagerFrame:
    """A frame in memory."""

    frame: "nw.DataFrame[Any]"
    name: str = "the table"

    @property
    def columns(self) -> list[str]:
        """The names of its columns."""
        return self.frame.columns

    def distinct_rows(self, columns: Sequence[str]) -> DistinctRows:
        """The distinct rows of some columns."""
        table = self.frame.select(list(columns)).to_arrow()
        return distinct_rows_of(counted_table(table, columns, self.name), columns, self.name)

    def rows_in_order(self, columns: Sequence[str]) -> Iterator[DistinctRows]:
        """All rows of some columns, in one part."""
        yield rows_of(self.frame.select(list(columns)).to_arrow(), columns, self.name)

    def place(self, column: str, text: str) -> str | None:
        """The first row with a value."""
        where = f"column {column!r} of {self.name}"
        texts = texts_of(decoded(self.frame.select(column).to_arrow().column(0), where), where)
        return f"row {texts.index(text) + 1}" if text in texts else None


@dataclass(frozen=True, eq=False)
class LazyFrame:
    """A frame whose rows are elsewhere and are counted there; an `Engine`.

    files: those that the engine reads, where it reads files.
    """

    frame: "nw.LazyFrame[Any]"
    name: str = "the table"
    files: "CsvFiles | ParquetFiles | None" = None

    @cached_property
    def columns(self) -> list[str]:
        """The names of its columns."""
        return self.frame.collect_schema().names()

    def distinct_rows(self, columns: Sequence[str]) -> DistinctRows:
        """The distinct rows of some columns: one group by in the engine.

        DuckDB groups by one number instead of texts, which takes it a third of the memory and two thirds of the time.
        """
        if self.frame.implementation.is_duckdb():
            values, recodings = self._by_number(columns)
            return DistinctRows(values, *self.count(recodings))
        table = _collected(_counted(self._renamed(columns)), self.name)
        return distinct_rows_of(table.rename_columns([*columns, COUNT]), columns, self.name)

    def distinct_rows_up_to(self, most: int, columns: Sequence[str]) -> DistinctRows | None:
        """The distinct rows of some columns, None where there are more than `most`, or about so many.

        DuckDB counts them and stops, which takes it hardly longer than to estimate how many there are.
        """
        if not self.frame.implementation.is_duckdb():
            return self.distinct_rows(columns) if self.estimate(columns) <= most else None
        with suppress(TooLittleMemoryError):
            native: Any = self._renamed(columns).to_native()
            if (counted := counted_by_first_values(native, columns, most, self.name)) is not None:
                return counted.rows
        values, recodings = self._by_number(columns)
        keyed, packs = self._keyed(recodings)
        try:
            table = _collected(_counted(keyed).head(most + 1), self.name)
        except TooLittleMemoryError:
            return self.distinct_rows(columns) if self.estimate(columns) <= most else None
        return DistinctRows(values, *self._unpacked(table, packs)) if len(table) <= most else None

    def place(self, column: str, text: str) -> str | None:
        """The first row with a value where files are read, else None: the rows have no order."""
        return self.files.place(column, text) if self.files else None

    def _by_number(self, columns: Sequence[str]) -> tuple[Mapping[str, Values], Mapping[str, Recoding]]:
        """The values of columns, and a recoding of each by their numbers."""
        values = {column: texts for column, (texts, _) in self.values(columns).items()}
        return values, {column: np.arange(len(texts)) for column, texts in values.items()}

    def rows_by(self, column: str, columns: Sequence[str], most: int) -> Iterator[DistinctRows]:
        """The distinct rows of a column and others, in parts without a value of the column in common.

        Only DuckDB and Spark tell which rows are in a part; any other engine gives all at once.
        """
        chosen = [column, *columns]
        rows = self._renamed(chosen)
        for part in _parts_of_values(rows, -(-self._rows() // max(most, 1))):
            table = _collected(_counted(part), self.name)
            yield distinct_rows_of(table.rename_columns([*chosen, COUNT]), chosen, self.name)

    def _rows(self) -> int:
        import narwhals as nw

        return int(_collected(self.frame.select(nw.len().alias(COUNT)), self.name).column(COUNT)[0].as_py())

    def values(self, columns: Sequence[str]) -> Mapping[str, tuple[Values, CountArray]]:
        """All values of each column, in an order that stays, and how many rows have each."""
        return {
            column: (texts_of(table.column(0), f"column {column!r} of {self.name}"), _numbers(table, COUNT))
            for column, table in ((column, self._distinct(column)) for column in columns)
        }

    def occurrences(self, column: str, missing: AnyCollection[str]) -> tuple[int, int]:
        """How many different values a column has, and how many rows have one; `missing` and null are none."""
        import narwhals as nw

        rows = self._renamed([column])
        rows = rows.filter(~nw.col("v0").is_null() & ~nw.col("v0").cast(nw.String).is_in(list(missing)))
        parts = self._counted_parts(rows, _counted_by_count)
        sizes = np.concatenate([_numbers(part, "size") for part in parts])
        values = np.concatenate([_numbers(part, COUNT) for part in parts])
        return int(values.sum()), int((sizes * values).sum())

    def estimate(self, columns: Sequence[str]) -> int:
        """About how many distinct rows some columns have."""
        with engine_refusals(self.name):
            return _estimated(self._renamed(columns))

    def estimate_recoded(self, recodings: Mapping[str, Recoding]) -> int:
        """About how many distinct rows the columns have, recoded."""
        keyed, _ = self._keyed(recodings)
        with engine_refusals(self.name):
            return _estimated(keyed)

    def count(self, recodings: Mapping[str, Recoding]) -> tuple[Mapping[str, CodeArray], CountArray]:
        """The distinct recoded rows and their counts."""
        keyed, packs = self._keyed(recodings)
        return self._unpacked(_concatenated(self._counted_parts(keyed)), packs)

    def _unpacked(self, counted: "pa.Table", packs: "Sequence[_Pack]") -> tuple[Mapping[str, CodeArray], CountArray]:
        """The codes that keys were made of, and their counts."""
        codes = {}
        for number, pack in enumerate(packs):
            if counted.column(f"key{number}").null_count:
                raise InputError(
                    f'{self.name} has values that its engine does not find again; read it with engine = "pandas"'
                )
            keys = _numbers(counted, f"key{number}")
            for column, _, radix in pack:
                keys, codes[column] = last_digit(keys, radix)
        return codes, _numbers(counted, COUNT)

    def counts_of_counts(self, recodings: Mapping[str, Recoding]) -> tuple[CountArray, CountArray]:
        """The counts that distinct recoded rows have, and how many rows have each: no row leaves the engine."""
        parts = self._counted_parts(self._keyed(recodings)[0], _counted_by_count)
        sizes = np.concatenate([_numbers(part, "size") for part in parts])
        cells = np.concatenate([_numbers(part, COUNT) for part in parts])
        distinct, where = np.unique(sizes, return_inverse=True)
        totals: CountArray = np.zeros(len(distinct), dtype=np.int64)
        np.add.at(totals, where, cells)
        return distinct, totals

    def _counted_parts(
        self, rows: "nw.LazyFrame[Any]", counted: "Callable[[nw.LazyFrame[Any]], nw.LazyFrame[Any]] | None" = None
    ) -> "list[pa.Table]":
        """What `counted`, `_counted` by default, says of the rows, in parts without a distinct row in common.

        A database of this program puts nothing on disk: where the distinct rows are more than it can count at a time, it
        counts those of one part after the other. Any other engine has its own means, and counts all at once.
        """
        counted = counted or _counted
        try:
            return [_collected(counted(rows), self.name)]
        except TooLittleMemoryError:
            if self.files is None or not rows.implementation.is_duckdb():
                raise
        with ExitStack() as held, engine_refusals(self.name):
            rows = _kept_aside(rows, held)
            parts = 4
            while True:
                try:
                    return [_collected(counted(part), self.name) for part in _parts_of(rows, parts)]
                except TooLittleMemoryError:
                    if parts >= _MOST_PARTS:
                        raise
                    parts *= 4

    def _renamed(self, columns: Sequence[str]) -> "nw.LazyFrame[Any]":
        import narwhals as nw

        schema = self.frame.collect_schema()
        for column in columns:
            if isinstance(schema[column], nw.List | nw.Array | nw.Struct):
                raise InputError(f"column {column!r} of {self.name} holds lists or the like, not single values")
            if isinstance(schema[column], nw.Duration | nw.Binary):
                held = "bytes" if isinstance(schema[column], nw.Binary) else "durations"
                raise unread(f"column {column!r} of {self.name}", held)
        if self.frame.implementation.is_duckdb():
            # By name and not by expression: one of a column called `*` stands for all columns.
            texts = {c for c in columns if isinstance(schema[c], nw.Categorical | nw.Enum)}
            selected = (f"CAST({sql_name(c)} AS VARCHAR)" if c in texts else sql_name(c) for c in columns)
            query = ", ".join(f"{expression} AS v{i}" for i, expression in enumerate(selected))
            return cast("nw.LazyFrame[Any]", nw.from_native(self.frame.to_native().project(query)))
        plain = {
            c: nw.col(c).cast(nw.String) if isinstance(schema[c], nw.Categorical | nw.Enum) else nw.col(c)
            for c in columns
        }
        return self.frame.select(*(plain[column].alias(f"v{i}") for i, column in enumerate(columns)))

    @cached_property
    def _known(self) -> "dict[str, pa.Table]":
        return {}

    def _distinct(self, column: str) -> "pa.Table":
        """The distinct values of a column, null included, with counts; asked once, for their order must stay."""
        if column not in self._known:
            table = _concatenated(self._counted_parts(self._renamed([column])))
            values = decoded(table.column("v0"), f"column {column!r} of {self.name}")
            self._known[column] = table.set_column(0, "v0", values)
        return self._known[column]

    def _keyed(self, recodings: Mapping[str, Recoding]) -> "tuple[nw.LazyFrame[Any], list[_Pack]]":
        """One row for each row that is kept, its codes added up to one key for each pack."""
        packs = _packs(recodings)
        lookups = [
            [self._lookup(column, place, recodings[column], stride) for place, (column, stride, _) in pack]
            for pack in _placed(packs)
        ]
        return keyed(self.frame, self._renamed(list(recodings)), lookups), packs

    def _lookup(self, column: str, place: int, recoding: Recoding, stride: int) -> Lookup:
        """What the code of each value of a column adds to the key."""
        import pyarrow as pa

        values = self._distinct(column).column("v0").combine_chunks()
        is_null = numbers_of(values.is_null().cast(pa.uint8())) > 0
        summands = np.where(recoding < 0, -1, recoding * stride)
        of_null = int(summands[is_null].max(initial=-1))
        return Lookup(column, place, values.drop_null(), summands[~is_null], of_null, bool(is_null.any()))


_MOST_PARTS = 256
"""Parts of the rows that DuckDB counts one after the other, at most."""

_Pack = list[tuple[str, int, int]]
"""Columns whose codes fit into one integer together: name, stride, number of codes."""


def _packs(recodings: Mapping[str, Recoding]) -> list[_Pack]:
    packs: list[_Pack] = [[]]
    stride = 1
    for column, recoding in recodings.items():
        radix = int(recoding.max(initial=0)) + 1
        if stride > _MAX_KEY // radix:
            packs.append([])
            stride = 1
        packs[-1].append((column, stride, radix))
        stride *= radix
    return packs


def _placed(packs: Sequence[_Pack]) -> Iterator[list[tuple[int, tuple[str, int, int]]]]:
    """The columns of each pack with their places among the columns of all."""
    place = 0
    for pack in packs:
        yield list(enumerate(pack, place))
        place += len(pack)


def _counted(rows: "nw.LazyFrame[Any]") -> "nw.LazyFrame[Any]":
    import narwhals as nw

    counted: nw.LazyFrame[Any] = rows.group_by(*rows.collect_schema().names()).agg(nw.len().alias(COUNT))
    return counted


def _counted_by_count(rows: "nw.LazyFrame[Any]") -> "nw.LazyFrame[Any]":
    return _counted(_counted(rows).select(COUNT).rename({COUNT: "size"}))


def _kept_aside(rows: "nw.LazyFrame[Any]", held: ExitStack) -> "nw.LazyFrame[Any]":
    """Rows of DuckDB in a file without a name, so that they are read and recoded once for all parts.

    held: what lives as long as they. Where there are no such files, the rows as they are.
    """
    import narwhals as nw

    try:
        path = held.enter_context(on_disk())
    except OSError:
        return rows
    native: Any = rows.to_native()
    native.query("aside", f"COPY aside TO '{path}' (FORMAT parquet, ROW_GROUP_SIZE 20480, USE_TMP_FILE false)")
    stored: nw.LazyFrame[Any] = nw.from_native(native.query("aside", f"SELECT * FROM read_parquet('{path}')"))
    return stored


def _parts_of(rows: "nw.LazyFrame[Any]", parts: int) -> "Iterator[nw.LazyFrame[Any]]":
    """The rows of DuckDB in so many parts, alike ones in the same."""
    import narwhals as nw

    columns = ", ".join(rows.collect_schema().names())
    for part in range(parts):
        native: Any = rows.to_native()
        yield nw.from_native(native.filter(f"hash({columns}) % {parts} = {part}"))


def _parts_of_values(rows: "nw.LazyFrame[Any]", parts: int) -> "Iterator[nw.LazyFrame[Any]]":
    """The rows in so many parts where the engine can tell them, equal values of the first column in the same.

    DuckDB has values that are the same number in the same part, too, however they are spelled.
    """
    import narwhals as nw

    native: Any = rows.to_native()
    if parts <= 1 or not (rows.implementation.is_duckdb() or rows.implementation.is_pyspark()):
        yield rows
        return
    for part in range(parts):
        if rows.implementation.is_duckdb():
            text = "CAST(v0 AS VARCHAR)"
            number = f"CAST(TRY_CAST({text} AS DOUBLE) AS VARCHAR)"
            yield nw.from_native(native.filter(f"hash(coalesce({number}, {text})) % {parts} = {part}"))
        else:
            yield nw.from_native(native.filter(f"pmod(xxhash64(v0), {parts}) = {part}"))


def _concatenated(parts: "Sequence[pa.Table]") -> "pa.Table":
    import pyarrow as pa

    return pa.concat_tables(parts)


def _numbers(table: "pa.Table", column: str) -> CountArray:
    return numbers_of(table.column(column)).astype(np.int64)


def _collected(rows: "nw.LazyFrame[Any]", name: str) -> "pa.Table":
    with engine_refusals(name):
        return rows.collect(backend="pyarrow").to_native()


def _estimated(rows: "nw.LazyFrame[Any]") -> int:
    """How many distinct rows there are: approximately where the engine can say so, and counted there elsewhere."""
    import narwhals as nw

    native = rows.to_native()
    columns = rows.collect_schema().names()
    if rows.implementation.is_duckdb():
        return int(native.aggregate(f"approx_count_distinct(hash({', '.join(columns)})) AS n").fetchall()[0][0])
    if rows.implementation.is_pyspark():
        from pyspark.sql import functions

        return int(native.agg(functions.approx_count_distinct(functions.xxhash64(*columns))).first()[0])
    table = rows.unique().select(nw.len().alias(COUNT)).collect(backend="pyarrow").to_native()
    return int(table.column(COUNT)[0].as_py())


# Distinct rows in DuckDB by the values that the first rows have; the few rows with other values are counted beside.
#
# To ask for all values of all columns before takes half as long as the count itself.


_FIRST = 1 << 17
"""Rows whose values are looked at."""

_FEW = 1 / 8
"""Rows that have other values, as a share of all, up to which they are counted beside."""


class FewDistinctRows(NamedTuple):
    """The distinct rows where they are no more than were asked for, else None."""

    rows: DistinctRows | None


def counted_by_first_values(
    rows: "duckdb.DuckDBPyRelation", columns: Sequence[str], most: int, name: str
) -> FewDistinctRows | None:
    """The distinct rows of a relation with the columns v0, v1 and so on, where there are at most so many.

    columns: what these are called. None where too many rows have other values than the first ones, or a column has more
    values than are looked up quickly. Raises TooLittleMemoryError.
    """
    with engine_refusals(name):
        first = rows.limit(_FIRST).to_arrow_table()
        values = [first.column(place).combine_chunks().unique() for place in range(len(columns))]
        if prod(map(len, values)) > _MAX_KEY:
            return None
        texts = {column: _texts(value, f"column {column!r} of {name}") for column, value in zip(columns, values)}
        summands = [in_place(rows, lookup) for lookup in _lookups(values)]
        if not all(summands):
            return None
        key = " + ".join(summands)
        counted = _counted_relation(rows.project(f"{key} AS key"), most)
        if len(counted) > most:
            return FewDistinctRows(None)
        known = _unpacked(counted.filter(counted.column("key").is_valid()), texts)
        if len(known) == len(counted):
            return FewDistinctRows(known)
        total = int(numbers_of(counted.column(COUNT)).sum())
        if total - int(known.counts.sum()) > _FEW * total:
            return None
        others = _counted_relation(rows.filter(f"{key} IS NULL"), most - len(known))
    if len(known) + len(others) > most:
        return FewDistinctRows(None)
    return FewDistinctRows(
        concatenated(known, distinct_rows_of(others.rename_columns([*columns, COUNT]), columns, name))
    )


def _texts(values: "pa.Array", where: str) -> Values:
    """The texts of values, null last. where: what messages call them."""
    known = values.drop_null()
    return [*texts_of(known, where), *[None] * (len(values) - len(known))]


def _lookups(values: "Sequence[pa.Array]") -> list[Lookup]:
    """What each value adds to the key of its row; null comes after the other values of a column, if it is one."""
    lookups, stride = [], 1
    for place, value in enumerate(values):
        known = value.drop_null()
        has_null = len(known) < len(value)
        of_null = len(known) * stride if has_null else -1
        lookups.append(Lookup(f"v{place}", place, known, np.arange(len(known)) * stride, of_null, has_null))
        stride *= max(len(value), 1)
    return lookups


def _counted_relation(rows: "duckdb.DuckDBPyRelation", most: int) -> "pa.Table":
    """The distinct rows, with a column `COUNT`; one more than so many where there are more."""
    listed = ", ".join(map(sql_name, rows.columns))
    return rows.aggregate(f"{listed}, count(*) AS {sql_name(COUNT)}", listed).limit(most + 1).to_arrow_table()


def _unpacked(counted: "pa.Table", texts: Mapping[str, Values]) -> DistinctRows:
    """The rows that keys were made of."""
    codes = {}
    keys = numbers_of(counted.column("key"))
    for column, text in texts.items():
        keys, codes[column] = last_digit(keys, max(len(text), 1))
    return DistinctRows(texts, codes, numbers_of(counted.column(COUNT)).astype(np.int64))
