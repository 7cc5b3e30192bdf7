"""Files counted by DuckDB, which reads them in parts: for tables larger than memory, and faster for large ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from marginals.errors import InputError
from marginals.sources.counted import Counted
from marginals.sources.files import Files, Format, csv_header

_NO_NULL = "\x01"
"""No field of a CSV file is null: an empty one is an empty text, as for every other reader."""


@dataclass(frozen=True, eq=False)
class DuckDBFiles:
    """The source of some files. names: of the columns. texts: those that are text, hence of few distinct values."""

    files: Files
    names: tuple[str, ...]
    texts: frozenset[str]
    connection: Any

    @classmethod
    def open(cls, files: Files) -> "DuckDBFiles":
        """The source of some files. Raises InputError where DuckDB is missing, or the files do not go together."""
        try:
            import duckdb
        except ImportError:
            raise InputError('the engine "duckdb" is not installed: pip install duckdb') from None
        connection = duckdb.connect()
        if files.format is Format.CSV:
            names = tuple(files.same_columns([csv_header(path) for path in files.paths]))
            return cls(files, names, frozenset(names), connection)
        types = [_parquet_types(connection, path) for path in files.paths]
        files.same_columns([list(known) for known in types])
        for path, known in zip(files.paths[1:], types[1:]):
            for name, kind in types[0].items():
                if known[name] != kind:
                    first = files.paths[0].name
                    raise InputError(f"the column {name!r} is {known[name]} in {path.name} and {kind} in {first}")
        texts = frozenset(name for name, kind in types[0].items() if kind == "VARCHAR")
        return cls(files, tuple(types[0]), texts, connection)

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
        self._run(f"CREATE OR REPLACE TEMP TABLE counted AS SELECT {listed}, count(*) FROM {self._table} GROUP BY ALL")
        for i, column in enumerate(columns):
            if column in self.texts:
                values = (
                    f"SELECT DISTINCT {_quoted(column)} FROM counted WHERE {_quoted(column)} IS NOT NULL ORDER BY 1"
                )
                self._run(f"CREATE OR REPLACE TYPE values_{i} AS ENUM ({values})")
        chosen = [
            f"{_quoted(column)}::values_{i}" if column in self.texts else _quoted(column)
            for i, column in enumerate(columns)
        ]
        frame = self._run(f"SELECT {', '.join(chosen)}, * EXCLUDE ({listed}) FROM counted").df()
        frame.columns = pd.Index([*columns, len(columns)])
        return Counted(frame[list(columns)], frame[len(columns)].to_numpy(dtype=np.int64))

    def first_row(self, column: str, value: object) -> int | None:
        """The number of the row, counted through all files."""
        numbered = f"SELECT {_quoted(column)} AS value, row_number() OVER () AS number FROM {self._table}"
        found = self._run(f"SELECT min(number) FROM ({numbered}) WHERE value = ?", [value]).fetchone()
        return None if found is None or found[0] is None else int(found[0])

    @property
    def _table(self) -> str:
        paths = "[" + ", ".join(_text(str(path)) for path in self.files.paths) + "]"
        if self.files.format is Format.PARQUET:
            return f"read_parquet({paths})"
        columns = ", ".join(f"{_text(name)}: 'VARCHAR'" for name in self.names)
        dialect = "auto_detect = false, header = true, delim = ',', quote = '\"', escape = '\"'"
        return f"read_csv({paths}, {dialect}, nullstr = {_text(_NO_NULL)}, columns = {{{columns}}})"

    def _run(self, statement: str, parameters: Sequence[object] = ()) -> Any:
        import duckdb

        try:
            return self.connection.execute(statement, list(parameters))
        except duckdb.OutOfMemoryException:
            raise InputError(
                f"{self.name}: there is too little memory to count its distinct rows; leave columns out, or generalize "
                "them beforehand"
            ) from None
        except duckdb.Error as error:
            raise InputError(
                f"{self.name} cannot be read as a table ({type(error).__name__}); it must be CSV with a header, or Parquet"
            ) from None


def _parquet_types(connection: Any, path: Path) -> dict[str, str]:
    """The type of each column. Raises InputError for a file that is not Parquet, or cut off."""
    import duckdb

    try:
        rows = connection.execute(f"DESCRIBE SELECT * FROM read_parquet({_text(str(path))})").fetchall()
    except duckdb.Error:
        raise InputError(f"{path.name} is damaged, or no Parquet file; write it again") from None
    return {name: kind for name, kind, *_ in rows}


def _quoted(name: str) -> str:
    """A name of SQL."""
    return '"' + name.replace('"', '""') + '"'


def _text(value: str) -> str:
    """A text of SQL."""
    return "'" + value.replace("'", "''") + "'"
