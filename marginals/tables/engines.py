"""Rows of files that are larger than memory: integers in a file without a name, which DuckDB counts in this process."""

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import finalize

import numpy as np

from marginals.errors import InputError, TooLittleMemoryError, system_reason
from marginals.files import on_disk
from marginals.later import pa, pq
from marginals.tables.distinct_rows import InOrder, Recoding, Values, numbers_of
from marginals.tables.opening import engine_refusals
from models.arrays import CodeArray, CountArray, smallest_code_dtype
from models.frozen import frozen

if TYPE_CHECKING:
    import duckdb


_MOST_PARTS = 256


def can_count_parts() -> bool:
    """Return whether the libraries are installed that count rows which do not fit into memory."""
    return all(map(find_spec, ("duckdb", "pyarrow")))


def machine_memory() -> int:
    """Return the bytes of memory of this machine; 4 GiB where it does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 4 << 30


def _connection(memory: int) -> "duckdb.DuckDBPyConnection":
    import duckdb

    # Nothing goes to disk. More memory than any machine has is more than DuckDB can spell.
    limit = f"{min(max(memory >> 20, 64), 1 << 30)}MiB"
    settings: dict[str, Any] = {"memory_limit": limit, "temp_directory": "", "preserve_insertion_order": False}
    connection = duckdb.connect(config=settings)
    with suppress(duckdb.InvalidInputException):  # a notebook without ipywidgets has no bar to switch off
        connection.execute("SET enable_progress_bar = false")  # it would go to standard output
    return connection


@frozen(eq=False)
class CodedRows:
    """Rows as codes of their values, which DuckDB counts. A count that needs too much memory is done in parts.

    values: texts of each column. counts: rows with each of them. path: the file of the codes, a column v0, v1, ... each.
    """

    name: str
    values: Mapping[str, Values]
    counts: Mapping[str, CountArray]
    path: Path
    connection: "duckdb.DuckDBPyConnection"

    @classmethod
    def of(cls, source: InOrder, name: str, columns: Sequence[str], memory: int) -> "CodedRows":
        """Read some columns once. memory: bytes that DuckDB may take. Raises InputError where no such file is possible."""
        places: dict[str, dict[str | None, int]] = {column: {} for column in columns}
        counts = {column: np.zeros(0, dtype=np.int64) for column in columns}
        schema = pa.schema([(f"v{place}", pa.int32()) for place in range(len(columns))])
        try:
            with ExitStack() as held:
                path = held.enter_context(on_disk())
                with pq.ParquetWriter(path, schema) as writer:
                    for _, rows in source.parts(columns):
                        codes = {}
                        for column, place in places.items():
                            codes_of_part = [place.setdefault(text, len(place)) for text in rows.values[column]]
                            codes[column] = np.array(codes_of_part, dtype=np.int32)[rows.codes[column]]
                            counts[column] = np.bincount(codes[column], minlength=len(place)) + np.pad(
                                counts[column], (0, len(place) - len(counts[column]))
                            )
                        writer.write_table(pa.table(list(codes.values()), schema=schema))
                connection = held.enter_context(_connection(memory))
                coded = cls(name, {column: list(place) for column, place in places.items()}, counts, path, connection)
                finalize(coded, held.pop_all().close)
                return coded
        except OSError as error:
            raise InputError(
                f"{name} has more distinct rows than fit into memory. No file without a name can hold them "
                f"({system_reason(error)}). Raise the setting data.memory, or leave out columns"
            ) from None

    def count(self, recodings: Mapping[str, Recoding]) -> tuple[Mapping[str, CodeArray], CountArray]:
        """Return the distinct recoded rows and their counts."""
        counted = pa.concat_tables(self._in_parts(recodings, "FROM ({})"))
        return {c: numbers_of(counted.column(f"c{n}")) for n, c in enumerate(recodings)}, _numbers(counted, "rows")

    def counts_of_counts(self, recodings: Mapping[str, Recoding]) -> tuple[CountArray, CountArray]:
        """Return the counts that distinct recoded rows have, and how many rows have each: no row leaves the engine."""
        parts = self._in_parts(recodings, "SELECT rows AS size, count(*) AS cells FROM ({}) GROUP BY ALL")
        sizes, cells = (np.concatenate([_numbers(part, name) for part in parts]) for name in ("size", "cells"))
        distinct, where = np.unique(sizes, return_inverse=True)
        return distinct, np.bincount(where, cells).astype(np.int64)

    def estimate_recoded(self, recodings: Mapping[str, Recoding]) -> int:
        """Return the approximate number of distinct rows, recoded."""
        query = f"SELECT approx_count_distinct({_key(recodings)}) AS n FROM ({self._recoded(recodings)})"
        return int(_numbers(self._fetched(query), "n")[0])

    def _recoded(self, recodings: Mapping[str, Recoding]) -> str:
        """Query of the new codes c0, c1, ... of the rows; the recodings become tables of the database."""
        names, columns, joins = list(self.values), list[str](), list[str]()
        for place, (column, recoding) in enumerate(recodings.items()):
            counting = np.flatnonzero(recoding >= 0)
            codes = recoding[counting].astype(smallest_code_dtype(int(recoding.max(initial=0)) + 1))
            self.connection.register(f"new{place}", pa.table({"old": counting.astype(np.int32), "code": codes}))
            columns.append(f"new{place}.code AS c{place}")
            joins.append(f"JOIN new{place} ON v{names.index(column)} = new{place}.old")
        return f"SELECT {', '.join(columns)} FROM read_parquet('{self.path}') {' '.join(joins)}"

    def _in_parts(self, recodings: Mapping[str, Recoding], query: str) -> "list[pa.Table]":
        """Run a query of counted rows, in as many parts without a distinct row in common as memory needs."""
        rows, parts = self._recoded(recodings), 1
        while True:
            counts = f"SELECT *, count(*) AS rows FROM ({rows}) WHERE {_key(recodings)} % {parts} ="
            counted = (f"{counts} {part} GROUP BY ALL" for part in range(parts))
            try:
                return [self._fetched(query.format(part)) for part in counted]
            except TooLittleMemoryError:
                if parts >= _MOST_PARTS:
                    raise
                parts *= 4

    def _fetched(self, query: str) -> "pa.Table":
        with engine_refusals(self.name):
            return self.connection.sql(query).to_arrow_table()


def _key(recodings: Mapping[str, Recoding]) -> str:
    return f"hash({', '.join(f'c{place}' for place in range(len(recodings)))})"


def _numbers(table: "pa.Table", column: str) -> CountArray:
    return numbers_of(table.column(column)).astype(np.int64)
