"""Files counted by DuckDB, which reads them in parts: for tables larger than memory, and faster for large ones."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

from marginals.errors import InputError
from marginals.sources.counted import Counted
from marginals.sources.files import Files, Format, csv_header

MEMORY = "2GB"
"""What counting may take; beyond it DuckDB works in parts on disk."""

_NO_NULL = "\x01"
"""No field of a CSV file is null: an empty one is an empty text, as for every other reader."""


@dataclass(frozen=True, eq=False)
class DuckDBFiles:
    """The source of some files. names: of the columns. texts: those that are text, hence of few distinct values."""

    files: Files
    names: tuple[str, ...]
    texts: frozenset[str]

    @classmethod
    def open(cls, files: Files) -> "DuckDBFiles":
        """The source of some files. Raises InputError where DuckDB is missing, or the files do not go together."""
        if find_spec("duckdb") is None:
            raise InputError('the engine "duckdb" is not installed: pip install duckdb')
        if files.format is Format.CSV:
            names = tuple(files.same_columns([csv_header(path) for path in files.paths]))
            return cls(files, names, frozenset(names))
        types = [_parquet_types(path) for path in files.paths]
        files.same_columns([list(known) for known in types])
        for path, known in zip(files.paths[1:], types[1:]):
            for name, kind in types[0].items():
                if known[name] != kind:
                    first = files.paths[0].name
                    raise InputError(f"the column {name!r} is {known[name]} in {path.name} and {kind} in {first}")
        texts = frozenset(name for name, kind in types[0].items() if kind == "VARCHAR")
        return cls(files, tuple(types[0]), texts)

    @property
    def name(self) -> str:
        """The name of the file or folder."""
        return self.files.name

    @property
    def columns(self) -> Sequence[str]:
        """The columns of every file."""
        return self.names

    def counted(self, columns: Sequence[str]) -> Counted:
        """The distinct rows."""
        listed = ", ".join(map(_quoted, columns))
        with self._connected() as run:
            run(f"CREATE TEMP TABLE counted AS SELECT {listed}, count(*) FROM {self._table} GROUP BY ALL")
            for i, column in enumerate(columns):
                if column in self.texts:
                    values = f"SELECT DISTINCT {_quoted(column)} FROM counted WHERE {_quoted(column)} IS NOT NULL"
                    run(f"CREATE TYPE values_{i} AS ENUM ({values} ORDER BY 1)")
            chosen = [
                f"{_quoted(column)}::values_{i}" if column in self.texts else _quoted(column)
                for i, column in enumerate(columns)
            ]
            frame = run(f"SELECT {', '.join(chosen)}, * EXCLUDE ({listed}) FROM counted").df()
        frame.columns = pd.Index([*columns, len(columns)])
        return Counted(frame[list(columns)], frame[len(columns)].to_numpy(dtype=np.int64))

    def first_row(self, column: str, value: object) -> int | None:
        """The number of the row, counted through all files."""
        numbered = f"SELECT {_quoted(column)} AS value, row_number() OVER () AS number FROM {self._table}"
        with self._connected() as run:
            found = run(f"SELECT min(number) FROM ({numbered}) WHERE value = ?", [value]).fetchone()
        return None if found is None or found[0] is None else int(found[0])

    @contextmanager
    def _connected(self) -> Iterator[Callable[..., Any]]:
        """Runs statements. What does not fit in memory goes to a folder that is gone afterwards."""
        import duckdb

        with TemporaryDirectory() as spill, duckdb.connect(config={"temp_directory": spill}) as connection:
            connection.execute(f"SET memory_limit = '{MEMORY}'")
            try:
                yield connection.execute
            except duckdb.OutOfMemoryException:
                raise InputError(
                    f"{self.name}: its distinct rows do not fit in {MEMORY}; leave columns out, or generalize them"
                ) from None
            except duckdb.Error as error:
                kind = type(error).__name__
                expected = "it must be CSV with a header, or Parquet"
                raise InputError(f"{self.name} cannot be read as a table ({kind}); {expected}") from None

    @property
    def _table(self) -> str:
        paths = "[" + ", ".join(_text(str(path)) for path in self.files.paths) + "]"
        if self.files.format is Format.PARQUET:
            return f"read_parquet({paths})"
        columns = ", ".join(f"{_text(name)}: 'VARCHAR'" for name in self.names)
        dialect = "auto_detect = false, header = true, delim = ',', quote = '\"', escape = '\"'"
        return f"read_csv({paths}, {dialect}, nullstr = {_text(_NO_NULL)}, columns = {{{columns}}})"


def _parquet_types(path: Path) -> dict[str, str]:
    """The type of each column. Raises InputError for a file that is not Parquet, or cut off."""
    import duckdb

    try:
        rows = duckdb.execute(f"DESCRIBE SELECT * FROM read_parquet({_text(str(path))})").fetchall()
    except duckdb.Error:
        raise InputError(f"{path.name} is damaged, or no Parquet file; write it again") from None
    return {name: kind for name, kind, *_ in rows}


def _quoted(name: str) -> str:
    """A name of SQL."""
    return '"' + name.replace('"', '""') + '"'


def _text(value: str) -> str:
    """A text of SQL."""
    return "'" + value.replace("'", "''") + "'"
