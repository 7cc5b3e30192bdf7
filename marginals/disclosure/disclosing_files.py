"""Disclosing a table under rules into a file, by the engine that suits it."""

from collections.abc import Sequence
from importlib.util import find_spec
from typing import NamedTuple

from marginals.disclosure.row_order import RowOrder, Shuffled
from marginals.disclosure.rules import DisclosureRule, disclose
from marginals.errors import InputError
from marginals.files.output import OutputFile
from marginals.tables.rows import Rows
from marginals.tables.source import TableSource
from marginals.tables.sources.engine_files import duckdb_reads


class DisclosedFile(NamedTuple):
    """How many rows were written, and by which engine."""

    rows: int
    engine: str


def disclosing_engine(source: TableSource) -> str:
    """Which engine executes rules on a table: "duckdb", from file to file, or "pandas", in memory.

    It is the engine that reads the table; for "auto", DuckDB where it is installed and can read these files. Raises
    InputError for an engine that executes no rules, and where there are no files.
    """
    if source.engine == "spark":
        raise InputError('rules are executed by DuckDB or pandas; set data.engine to "duckdb", "pandas" or "auto"')
    files = source.files()
    if source.person is not None and source.engine == "duckdb":
        raise InputError(
            'DuckDB executes rules on all rows, not on those that count of a person; set data.engine to "pandas" or "auto"'
        )
    if source.engine == "auto":
        return (
            "duckdb"
            if source.person is None and find_spec("duckdb") and find_spec("pyarrow") and duckdb_reads(files)
            else "pandas"
        )
    return source.engine


def disclose_rows(
    rows: Rows,
    rules: Sequence[DisclosureRule],
    target: OutputFile,
    order: RowOrder = Shuffled(),  # noqa: B008 - it is frozen
) -> int:
    """Write the disclosed labels of some rows as CSV, in an order; returns the number of rows. Raises InputError."""
    table = disclose(rows, rules)
    target.write(table.frame(order).to_csv(index=False, lineterminator="\n").encode())
    return len(table.rows)
