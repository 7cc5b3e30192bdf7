"""Disclosing the table of a config under its rules into a file, by the engine that suits it."""

from importlib.util import find_spec
from typing import NamedTuple

from marginals.config.release_toml import Config
from marginals.disclosure.disclosure_sql import disclose_file
from marginals.disclosure.rules import disclose
from marginals.errors import InputError
from marginals.files.output import OutputFile
from marginals.tables.sources.engine_files import duckdb_reads


class DisclosedFile(NamedTuple):
    """How many rows were written, and by which engine."""

    rows: int
    engine: str


def disclose_table(config: Config, target: OutputFile) -> DisclosedFile:
    """Write the table of a config under its rules as CSV.

    By DuckDB, file to file, where the config asks for it or "auto" finds it; by pandas in memory else. Raises InputError
    for a config without rules, or what cannot be read, evaluated or written; then nothing is written.
    """
    rules = config.risk.rules
    if not rules:
        raise InputError(f"{config.path.name} has no [[risk.rules]], which say what is hidden or generalized")
    for rule in rules:
        if rule.attribute not in (used := config.source.used):
            raise InputError(f"risk.rules names {rule.attribute!r}, which is no attribute; these are {', '.join(used)}")
    if config.source.engine == "spark":
        raise InputError('rules are executed by DuckDB or pandas; set data.engine to "duckdb", "pandas" or "auto"')
    files = config.source.files()
    found = find_spec("duckdb") and find_spec("pyarrow") and duckdb_reads(files)
    if config.source.engine == "duckdb" or (config.source.engine == "auto" and found):
        domain = config.read_table().domain
        rows = disclose_file(config.source, target.path, domain, rules)
        return DisclosedFile(rows, "duckdb")
    table = disclose(config.read_rows(), rules)
    target.write(table.frame().to_csv(index=False, lineterminator="\n").encode())
    return DisclosedFile(len(table.rows), "pandas")
