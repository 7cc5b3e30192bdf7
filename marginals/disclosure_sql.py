"""Disclosure rules executed by DuckDB, file to file, for tables that do not fit in memory (LSFB09 section 7.1).

The operators are relational algebra, and so is this: the level of a value is the greatest of its rules', decided on the
original row; its label is looked up in the hierarchy by a join.
"""

import ast
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd

from marginals.disclosing import DisclosureRule, parsed
from marginals.errors import InputError
from marginals.leftovers import prefix, sweep
from marginals.output import OutputFile
from marginals.sources.engine_files import rows_query
from marginals.sources.files import CsvFiles, ParquetFiles, files_of
from models.domain import Domain

_COMPARISONS: Mapping[type[ast.cmpop], str] = {
    ast.Eq: "=",
    ast.NotEq: "IS DISTINCT FROM",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "IN",
    ast.NotIn: "NOT IN",
}


def disclose_file(
    source: Path,
    target: Path,
    domain: Domain,
    rules: Sequence[DisclosureRule],
    missing: Iterable[str] = ("",),
    memory: int | None = None,
    separator: str = ",",
) -> int:
    """Write the disclosed labels of a table, CSV or Parquet, as CSV; returns the number of rows.

    source: a file, a folder or a glob. domain: the attributes to disclose, columns of the source. Rows with a missing
    value in one of them are left out, as `read_table` does; the order of rows is not kept. Conditions must be formulas
    in text. memory: bytes that DuckDB may take; it puts more on disk. separator: between the columns of CSV files. Raises
    InputError without duckdb, for a target that belongs to the source or to a bundle, or for a file, condition or value
    that cannot be used; then nothing is written.
    """
    try:
        duckdb = import_module("duckdb")
    except ImportError:
        raise InputError("rules on tables that do not fit in memory need duckdb: pip install duckdb") from None
    if OutputFile(target, (source,)).is_device:
        raise InputError(f"DuckDB puts a file in the place of {target}, which is none; name a file")
    files = files_of(source, separator)
    whole = target.resolve()
    try:
        sweep(whole)
        with (
            tempfile.TemporaryDirectory(prefix="marginals-") as folder,
            tempfile.TemporaryDirectory(prefix=prefix(whole), dir=whole.parent) as beside,
        ):
            partial = Path(beside) / "disclosed.csv"
            settings = {"temp_directory": folder, "preserve_insertion_order": False}
            limit = {} if memory is None else {"memory_limit": f"{max(memory >> 20, 64)}MiB"}
            with duckdb.connect(config={**settings, **limit}) as connection:
                rows = _disclose(connection, files, partial, domain, rules, tuple(missing))
            partial.replace(whole)
    except duckdb.Error as error:
        raise InputError(f"DuckDB cannot disclose {source.name} ({type(error).__name__})") from None
    except OSError as error:
        raise InputError(f"{target} cannot be written: {error.strerror}") from None
    return rows


def _disclose(
    connection: Any,
    files: CsvFiles | ParquetFiles,
    target: Path,
    domain: Domain,
    rules: Sequence[DisclosureRule],
    missing: Sequence[str],
) -> int:
    named = _named(rules)
    for name in sorted(named - set(files.columns)):
        raise InputError(f"a condition names {name!r}, which is no column of the table")
    columns = list(dict.fromkeys([*domain.attributes, *sorted(named)]))
    files.check(columns)
    connection.execute("SET TimeZone = 'UTC'")
    with suppress(import_module("duckdb").InvalidInputException):  # a notebook without ipywidgets has no bar
        connection.execute("SET enable_progress_bar = false")
    original = f"(SELECT CAST(COLUMNS(*) AS VARCHAR) FROM ({rows_query(files, columns)}))"
    kept = [f"{_name(a)} IS NOT NULL" for a in domain.attributes]
    if missing:
        kept += [f"{_name(a)} NOT IN ({', '.join(map(_text, missing))})" for a in domain.attributes]
    connection.execute(f"CREATE VIEW original AS SELECT * FROM {original} WHERE {' AND '.join(kept)}")
    for number, hierarchy in enumerate(domain.hierarchies):
        labels = [f"level{level}" for level in range(hierarchy.height + 1)]
        connection.register(f"hierarchy{number}", pd.DataFrame(hierarchy.rows(), columns=labels))
    query = disclosure_query(domain, rules, _numeric(connection, named))
    connection.execute(f"CREATE VIEW disclosed AS {query}")
    unknown = " + ".join(f"count(*) FILTER ({_name(a)} IS NULL)" for a in domain.attributes)
    total, lost = connection.execute(f"SELECT count(*), {unknown} FROM disclosed").fetchone()
    if lost:
        raise InputError(f"{files.name} has {lost} values that are not among the base values of their hierarchies")
    connection.execute(f"COPY disclosed TO {_text(str(target))} (FORMAT csv, HEADER)")
    return int(total)


def disclosure_query(domain: Domain, rules: Sequence[DisclosureRule], numeric: Iterable[str] = ()) -> str:
    """The disclosed table as one query on `original` and, for the n-th attribute, `hierarchy<n>` (level0, level1, ...).

    numeric: columns that conditions compare as numbers. Raises InputError for a rule that is no formula or has a level
    that does not exist, DomainMismatchError for an unknown attribute.
    """
    numbers = frozenset(numeric)
    levels: dict[str, list[str]] = {attribute: [] for attribute in domain.attributes}
    for rule in rules:
        height = domain.hierarchy(rule.attribute).height
        level = height if rule.level is None else rule.level
        if not 0 <= level <= height:
            raise InputError(f"{rule.attribute!r} has the levels 0 to {height}, not {level}")
        levels[rule.attribute].append(f"CASE WHEN {condition_sql(rule.condition, numbers)} THEN {level} ELSE 0 END")
    shown, joins = [], []
    for number, (attribute, hierarchy) in enumerate(domain.items()):
        cases = " ".join(f"WHEN {level} THEN h{number}.level{level}" for level in range(hierarchy.height + 1))
        chosen = f"greatest(0, {', '.join(levels[attribute])})" if levels[attribute] else "0"
        shown.append(f"CASE {chosen} {cases} END AS {_name(attribute)}")
        joins.append(f"LEFT JOIN hierarchy{number} AS h{number} ON original.{_name(attribute)} = h{number}.level0")
    return f"SELECT {', '.join(shown)} FROM original {' '.join(joins)}"


def condition_sql(condition: Any, numeric: frozenset[str] = frozenset()) -> str:
    """A condition as SQL that is true or false, never null. Raises InputError for anything but a formula in text."""
    if condition is None:
        return "TRUE"
    if not isinstance(condition, str):
        raise InputError("a rule for DuckDB needs a condition in text")
    formula, columns = parsed(condition)
    return _Formula(condition, columns, numeric).sql(formula)


class _Formula:
    """The translation of one condition."""

    def __init__(self, text: str, columns: Mapping[str, str], numeric: frozenset[str]) -> None:
        self._text, self._columns, self._numeric = text, columns, numeric

    def sql(self, node: ast.expr) -> str:
        """A truth value."""
        match node:
            case ast.BoolOp(op=op, values=values):
                return "(" + (" AND " if isinstance(op, ast.And) else " OR ").join(map(self.sql, values)) + ")"
            case ast.BinOp(left=left, op=ast.BitAnd() | ast.BitOr() as op, right=right):
                return f"({self.sql(left)} {'AND' if isinstance(op, ast.BitAnd) else 'OR'} {self.sql(right)})"
            case ast.UnaryOp(op=ast.Not() | ast.Invert(), operand=operand):
                return f"(NOT {self.sql(operand)})"
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                terms = [left, *comparators]
                compared = [
                    f"coalesce({self._operand(a)} {_COMPARISONS[type(op)]} {self._operand(b)}, FALSE)"
                    for a, op, b in zip(terms, ops, terms[1:])
                ]
                return "(" + " AND ".join(compared) + ")"
            case ast.Constant(value=bool() as value):
                return str(value).upper()
        raise self._refusal()

    def _operand(self, node: ast.expr) -> str:
        match node:
            case ast.Name(id=name):
                column = self._columns.get(name, name)
                quoted = f"original.{_name(column)}"
                return f"CAST(nullif({quoted}, '') AS DOUBLE)" if column in self._numeric else quoted
            case ast.Constant(value=str() as value):
                return _text(value)
            case ast.Constant(value=int() | float() as value):
                return repr(value)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return f"(-{self._operand(operand)})"
            case ast.List(elts=values) | ast.Tuple(elts=values) if values:
                return f"({', '.join(map(self._operand, values))})"
        raise self._refusal()

    def _refusal(self) -> InputError:
        return InputError(f"the condition {self._text!r} has no translation to SQL; compare columns with constants")


def _named(rules: Sequence[DisclosureRule]) -> set[str]:
    """The columns that conditions are about."""
    named: set[str] = set()
    for rule in rules:
        if isinstance(rule.condition, str):
            formula, quoted = parsed(rule.condition)
            names = {node.id for node in ast.walk(formula) if isinstance(node, ast.Name)}
            named |= {quoted.get(name, name) for name in names}
    return named


def _numeric(connection: Any, named: Iterable[str]) -> set[str]:
    """The columns among some in which every value is a number, which pandas reads as such."""
    numeric = set()
    for name in named:
        value = f"nullif({_name(name)}, '')"
        failing = f"SELECT count(*) FROM original WHERE {value} IS NOT NULL AND TRY_CAST({value} AS DOUBLE) IS NULL"
        if not connection.execute(failing).fetchone()[0]:
            numeric.add(name)
    return numeric


def _name(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
