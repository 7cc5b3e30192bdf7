"""Tables of other libraries, through narwhals, and rows in DuckDB, which counts them where they are.

Only DuckDB counts tables that are larger than memory. Others hand over their distinct rows, which must fit.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Collection as AnyCollection
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from marginals.errors import InputError, TooLittleMemoryError
from marginals.files import on_disk
from marginals.tables.distinct_rows import (
    COUNT,
    DistinctRows,
    InOrder,
    Recoding,
    Values,
    decoded,
    distinct_rows_of,
    numbers_of,
    rows_of,
    texts_of,
    unread,
    without_views,
)
from marginals.tables.files import CsvFiles, ParquetFiles
from marginals.tables.opening import engine_refusals
from marginals.tables.spellings import OUTER, SPACES, UNSEEN
from models.arrays import CodeArray, CountArray, IndexArray
from models.tables.contingency_table import last_digit

if TYPE_CHECKING:
    import narwhals as nw
    import pyarrow as pa
    from duckdb import DuckDBPyRelation as Relation


@dataclass(frozen=True, eq=False)
class EagerFrame(InOrder):
    """Frame in memory."""

    frame: "nw.DataFrame[Any]"
    name: str = "the table"

    def __post_init__(self) -> None:
        import narwhals as nw

        if self.frame.implementation.is_pyarrow():
            object.__setattr__(self, "frame", nw.from_native(without_views(self.frame.to_native()), eager_only=True))
        kinds = self.frame.collect_schema()
        if len(kinds) > 1:  # a row without any value is about nobody
            values = (
                nw.col(c).str.strip_chars() != "" if kinds[c] == nw.String else ~nw.col(c).is_null() for c in kinds
            )
            some = nw.any_horizontal(*values, ignore_nulls=True)
            object.__setattr__(self, "frame", self.frame.filter(some))

    @property
    def columns(self) -> list[str]:
        """Names of its columns."""
        return self.frame.columns

    def parts(self, columns: Sequence[str]) -> Iterator[tuple[str, DistinctRows]]:
        """Read all rows of some columns, in one part."""
        yield "", rows_of(self.frame.select(list(columns)).to_arrow(), columns, self.name)


@dataclass(frozen=True, eq=False)
class LazyFrame:
    """Frame of Spark, Ibis or polars whose rows are elsewhere. most: distinct rows that fit into memory."""

    frame: "nw.LazyFrame[Any]"
    most: float = inf
    name: str = "the table"

    @cached_property
    def columns(self) -> list[str]:
        """Names of its columns."""
        return self.frame.collect_schema().names()

    def distinct_rows(self, columns: Sequence[str]) -> DistinctRows:
        """Return the distinct rows of some columns: one group by where the rows are. Raises InputError for too many."""
        import narwhals as nw

        schema = self.frame.collect_schema()
        for column in columns:
            where = f"column {column!r} of {self.name}"
            if isinstance(schema[column], nw.List | nw.Array | nw.Struct):
                raise InputError(f"{where} holds lists or the like, not single values")
            if isinstance(schema[column], nw.Duration | nw.Binary):
                raise unread(where, "bytes" if isinstance(schema[column], nw.Binary) else "durations")
        texts = {c for c in columns if isinstance(schema[c], nw.Categorical | nw.Enum)}
        plain = (nw.col(c).cast(nw.String) if c in texts else nw.col(c) for c in columns)
        rows = self.frame.select(*(column.alias(f"v{place}") for place, column in enumerate(plain)))
        distinct: nw.LazyFrame[Any] = rows.group_by(*rows.collect_schema().names()).agg(nw.len().alias(COUNT))
        with engine_refusals(self.name):
            few = distinct if self.most == inf else distinct.head(int(self.most) + 1)
            table = few.collect(backend="pyarrow").to_native()
        if len(table) > self.most:
            raise InputError(
                f"{self.name} has more distinct rows than fit into memory; write it as Parquet and name the folder, which "
                "DuckDB then counts part by part. Or raise the setting data.memory, or leave out columns"
            )
        return distinct_rows_of(table.rename_columns([*columns, COUNT]), columns, self.name)

    def place(self, _column: str, _text: str) -> str | None:
        """Return None: the rows have no order."""
        return None


def sql_name(column: str) -> str:
    """Spell the name of a column as SQL does."""
    return '"' + column.replace('"', '""') + '"'


def sql_text(text: object) -> str:
    """Spell a text as SQL does."""
    return "'" + str(text).replace("'", "''") + "'"


def normal_sql(text: str) -> str:
    """Return the normal form of a text (`cell_text`), as an expression of DuckDB."""
    one_blank = f"translate({text}, {sql_text(SPACES + UNSEEN)}, {sql_text(' ' * len(SPACES))})"
    return f"trim(nfc_normalize({one_blank}), {sql_text(OUTER)})"


@dataclass(frozen=True, eq=False)
class DuckRows:
    """Rows in DuckDB, which counts them. files: those that it reads, where it reads files."""

    relation: "Relation"
    name: str = "the table"
    files: "CsvFiles | ParquetFiles | None" = None

    @cached_property
    def columns(self) -> list[str]:
        """Names of its columns."""
        return list(self.relation.columns)

    def distinct_rows(self, columns: Sequence[str]) -> DistinctRows:
        """Return the distinct rows of some columns, grouped by one number: texts take three times the memory."""
        values = {column: texts for column, (texts, _) in self.values(columns).items()}
        return DistinctRows(values, *self.count({column: np.arange(len(texts)) for column, texts in values.items()}))

    def distinct_rows_up_to(self, most: int, columns: Sequence[str]) -> DistinctRows | None:
        """Return the distinct rows of some columns, None where there are more than `most`, or about so many."""
        rows = self._renamed(columns)
        try:
            table = _collected(_counted(rows).limit(most + 1), self.name)
        except TooLittleMemoryError:
            return self.distinct_rows(columns) if self._estimate(rows) <= most else None
        if len(table) > most:
            return None
        return distinct_rows_of(table.rename_columns([*columns, COUNT]), columns, self.name)

    def place(self, column: str, text: str) -> str | None:
        """Return the first row with a value where files are read, else None: the rows have no order."""
        return self.files.place(column, text) if self.files else None

    def rows_by(self, column: str, columns: Sequence[str], most: int) -> Iterator[DistinctRows]:
        """Return the distinct rows of a column and others, in parts without a value of the column in common.

        Values that may be one key are in one part, however they are spelled: their letters and digits but 0 tell which.
        """
        chosen = [column, *columns]
        rows = self._renamed(chosen)
        parts = max(-(-len(self.relation) // max(most, 1)), 1)
        text = f"lower(strip_accents({normal_sql('CAST(v0 AS VARCHAR)')}))"
        plain = rf"regexp_replace({text}, '^([-+0-9., ]+)e[-+]?[0-9]+$', '\1')"
        signs = f"regexp_replace({plain}, 'urn:uuid:|^0x|[^1-9a-z]', '', 'g')"
        for part in range(parts):
            table = _collected(_counted(rows.filter(f"hash({signs}) % {parts} = {part}")), self.name)
            yield distinct_rows_of(table.rename_columns([*chosen, COUNT]), chosen, self.name)

    def values(self, columns: Sequence[str]) -> Mapping[str, tuple[Values, CountArray]]:
        """Return all values of each column, in an order that stays, and how many rows have each."""
        return {
            column: (texts_of(table.column(0), f"column {column!r} of {self.name}"), _numbers(table, COUNT))
            for column, table in ((column, self._distinct(column)) for column in columns)
        }

    def occurrences(self, column: str, missing: AnyCollection[str]) -> tuple[int, int]:
        """Return how many different values a column has, and how many rows have one; `missing` and null are none.

        Blanks around a value and the spelling of a number make no other value.
        """
        absent = ", ".join(map(sql_text, ("", *missing)))
        text = normal_sql("CAST(v0 AS VARCHAR)")
        spelled = f"coalesce(CAST(TRY_CAST({text} AS DOUBLE) AS VARCHAR), {text}) AS v0"
        rows = self._renamed([column]).filter(f"v0 IS NOT NULL AND {text} NOT IN ({absent})").project(spelled)
        sizes, values = self._counts_of_counts(rows)
        return int(values.sum()), int((sizes * values).sum())

    def estimate_recoded(self, recodings: Mapping[str, Recoding]) -> int:
        """Return the approximate number of distinct rows, recoded."""
        return self._estimate(self._keyed(recodings)[0])

    def _estimate(self, rows: "Relation") -> int:
        with engine_refusals(self.name):
            return int(rows.aggregate(f"approx_count_distinct(hash({', '.join(rows.columns)}))").fetchall()[0][0])

    def count(self, recodings: Mapping[str, Recoding]) -> tuple[Mapping[str, CodeArray], CountArray]:
        """Return the distinct recoded rows and their counts."""
        import pyarrow as pa

        keyed, packs = self._keyed(recodings)
        counts, codes = pa.concat_tables(self._counted_parts(keyed)), {}
        for number, pack in enumerate(packs):
            if counts.column(f"key{number}").null_count:
                raise InputError(
                    f'{self.name} has values that its engine does not find again; read it with engine = "pandas"'
                )
            keys = _numbers(counts, f"key{number}")
            for column, _, radix in pack:
                keys, codes[column] = last_digit(keys, radix)
        return codes, _numbers(counts, COUNT)

    def counts_of_counts(self, recodings: Mapping[str, Recoding]) -> tuple[CountArray, CountArray]:
        """Return the counts that distinct recoded rows have, and how many rows have each: no row leaves the engine."""
        return self._counts_of_counts(self._keyed(recodings)[0])

    def _counts_of_counts(self, rows: "Relation") -> tuple[CountArray, CountArray]:
        def by_count(part: "Relation") -> "Relation":
            return _counted(_counted(part).project(f"{sql_name(COUNT)} AS size"))

        parts = self._counted_parts(rows, by_count)
        sizes = np.concatenate([_numbers(part, "size") for part in parts])
        cells = np.concatenate([_numbers(part, COUNT) for part in parts])
        distinct, where = np.unique(sizes, return_inverse=True)
        totals: CountArray = np.zeros(len(distinct), dtype=np.int64)
        np.add.at(totals, where, cells)
        return distinct, totals

    def _counted_parts(
        self, rows: "Relation", count: "Callable[[Relation], Relation] | None" = None
    ) -> "list[pa.Table]":
        """Count rows, by `_counted` or another way, in parts without a distinct row in common.

        A database of this program puts nothing on disk, so it counts in parts what does not fit. Another has its own
        means.
        """
        count = count or _counted
        try:
            return [_collected(count(rows), self.name)]
        except TooLittleMemoryError:
            if self.files is None:
                raise
        with ExitStack() as held, engine_refusals(self.name):
            rows = _kept_aside(rows, held)
            alike, parts = f"hash({', '.join(rows.columns)})", 4
            while True:
                try:
                    of_parts = (rows.filter(f"{alike} % {parts} = {part}") for part in range(parts))
                    return [_collected(count(part), self.name) for part in of_parts]
                except TooLittleMemoryError:
                    if parts >= _MOST_PARTS:
                        raise
                    parts *= 4

    def _renamed(self, columns: Sequence[str]) -> "Relation":
        """Rows of columns with the names v0, v1 and so on."""
        kinds = dict(zip(self.relation.columns, (kind.id for kind in self.relation.types)))
        selected = []
        for place, column in enumerate(columns):
            where = f"column {column!r} of {self.name}"
            if kinds[column] in ("list", "array", "struct", "map", "union"):
                raise InputError(f"{where} holds lists or the like, not single values")
            if kinds[column] in ("interval", "blob", "bit"):
                raise unread(where, "durations" if kinds[column] == "interval" else "bytes")
            value = f"CAST({sql_name(column)} AS VARCHAR)" if kinds[column] == "enum" else sql_name(column)
            selected.append(f"{value} AS v{place}")
        return self.relation.project(", ".join(selected))

    @cached_property
    def _values(self) -> "dict[str, pa.Table]":
        return {}

    def _distinct(self, column: str) -> "pa.Table":
        import pyarrow as pa

        if column not in self._values:
            table = pa.concat_tables(self._counted_parts(self._renamed([column])))
            values = decoded(table.column("v0"), f"column {column!r} of {self.name}")
            self._values[column] = table.set_column(0, "v0", values)
        return self._values[column]

    def _keyed(self, recodings: Mapping[str, Recoding]) -> "tuple[Relation, list[_Pack]]":
        """Rows with the packed keys of their codes, for those that are counted."""
        packs, rows, place = _packs(recodings), self._renamed(list(recodings)), 0
        keys, joins, leaves_out = list[str](), list[str](), False
        for number, pack in enumerate(packs):
            terms = []
            for column, stride, _ in pack:
                summands = np.where(recodings[column] < 0, -1, recodings[column] * stride)
                values = self._distinct(column).column("v0").combine_chunks()
                terms.append(_summands_as_sql(values, summands, f"v{place}", str(rows.types[place]), joins))
                leaves_out |= bool((summands < 0).any())
                place += 1
            keys.append(f"{' + '.join(terms)} AS key{number}")
        view = "anonymized_marginals_rows"
        keyed = rows.query(view, f"SELECT {', '.join(keys)} FROM {view} {' '.join(joins)}")
        if leaves_out:  # the filter takes as long as counting what it lets through
            keyed = keyed.filter(" AND ".join(f"key{number} IS NOT NULL" for number in range(len(packs))))
        return keyed, packs


def _summands_as_sql(values: "pa.Array", summands: IndexArray, value: str, kind: str, joins: list[str]) -> str:
    """SQL of the number that each value of a column adds to the key of its row: null for -1, whose rows are left out.

    values: none twice. value: the column, of the type kind. joins: gets the join with a table of the numbers, which has
    no source, so that any connection can have it.
    """
    import pyarrow as pa

    is_null = numbers_of(values.is_null().cast(pa.uint8())) > 0
    of_null = int(summands[is_null].max(initial=-1))
    texts, summands = values.drop_null().cast("string").to_pylist(), summands[~is_null]
    counting = np.flatnonzero(summands >= 0).tolist()
    chosen = f"SELECT unnest({_list_as_sql([texts[place] for place in counting])})::{kind} AS value"
    numbers = _list_as_sql([str(summands[place]) for place in counting])
    table = f"found_{value}"
    joins.append(f"LEFT JOIN ({chosen}, unnest({numbers}::BIGINT[]) AS summand) AS {table} ON {value} = {table}.value")
    return f"CASE WHEN {value} IS NULL THEN {'NULL' if of_null < 0 else of_null} ELSE {table}.summand END"


def _list_as_sql(texts: list[str]) -> str:
    """List of texts for DuckDB: one text to split where possible, which it parses many times as fast."""
    separator = next((mark for mark in "\x1f\x1e\x1d\x1c" if not any(mark in text for text in texts)), None)
    if separator is None or not texts:
        return "[" + ", ".join(map(sql_text, texts)) + "]::VARCHAR[]"
    joined = separator.join(texts).replace("'", "''")
    return f"string_split('{joined}', '{separator}')"


_MAX_KEY = 2**62
"""Packed keys stay below this, so that no engine's 64 bits overflow."""

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


def _counted(rows: "Relation") -> "Relation":
    columns = ", ".join(map(sql_name, rows.columns))
    return rows.aggregate(f"{columns}, count(*) AS {sql_name(COUNT)}", columns)


def _kept_aside(rows: "Relation", held: ExitStack) -> "Relation":
    """Copy rows to a file without a name, which lives as long as `held`, so that parts read and recode them once."""
    try:
        path = held.enter_context(on_disk())
    except OSError:
        return rows
    rows.query("aside", f"COPY aside TO '{path}' (FORMAT parquet, ROW_GROUP_SIZE 20480, USE_TMP_FILE false)")
    return rows.query("aside", f"SELECT * FROM read_parquet('{path}')")


def _numbers(table: "pa.Table", column: str) -> CountArray:
    return numbers_of(table.column(column)).astype(np.int64)


def _collected(rows: "Relation", name: str) -> "pa.Table":
    with engine_refusals(name):
        return rows.to_arrow_table()
