"""Disclosure rules executed by DuckDB, file to file, for tables that do not fit in memory (LSFB09 section 7.1).

The operators are relational algebra, and so is this: the level of a value is the greatest of its rules', decided on the
original row; its label is looked up in the hierarchy by a join.
"""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeGuard

import pandas as pd

from marginals.conditions.formula import (
    Atom,
    Choice,
    Column,
    Comparison,
    Conjunction,
    Disjunction,
    Formula,
    Membership,
    Negation,
    Operand,
    columns_of,
)
from marginals.conditions.grammar import Where, formula_of
from marginals.conditions.row_values import (
    NUMBER,
    ColumnValues,
    Kind,
    check_columns,
    chosen_columns,
    executable,
    kind_of,
)
from marginals.disclosure.rules import Condition, DisclosureRule, is_where
from marginals.errors import InputError
from marginals.files.atomic_file import fresh_file
from marginals.files.output import OutputFile
from marginals.tables.source import TableSource
from marginals.tables.sources.engine_files import connected, refusal_of, require_duckdb, sql_name, sql_text, texts_query
from marginals.tables.sources.files import CsvFiles, ParquetFiles
from models.tables.domain import Domain
from models.tables.hierarchy import Hierarchy

if TYPE_CHECKING:
    import duckdb


def disclose_file(
    source: TableSource,
    target: Path,
    domain: Domain,
    rules: Sequence[DisclosureRule],
) -> int:
    """Write the disclosed labels of a table, CSV or Parquet, as CSV; returns the number of rows.

    source: files, of which DuckDB takes the memory to make do with, and puts more on disk. domain: the attributes to
    disclose, columns of the source. Rows with a missing value in one of them are left out, as `read_table` does; the order
    of rows is not kept. Conditions must be formulas in text. Raises InputError without duckdb, for a target that belongs
    to the source, or for a file, condition or value that cannot be used; then nothing is written.
    """
    OutputFile(target, () if source.path is None else (source.path,))
    files = source.files()
    require_duckdb(files, "disclosing tables that do not fit in memory")
    import duckdb

    with fresh_file(target) as fresh, tempfile.TemporaryDirectory(prefix="marginals-") as folder:
        try:
            with connected(folder, source.memory_in_bytes) as connection:
                return _disclose(connection, files, fresh, domain, rules, source.missing)
        except duckdb.Error as error:
            if str(fresh) in str(error):
                raise InputError(f"{target} cannot be written ({type(error).__name__})") from None
            raise refusal_of(files, error) from None


def _disclose(
    connection: "duckdb.DuckDBPyConnection",
    files: CsvFiles | ParquetFiles,
    target: Path,
    domain: Domain,
    rules: Sequence[DisclosureRule],
    missing: Sequence[str],
) -> int:
    formulas = {
        number: (rule.condition, formula_of(rule.condition, files.columns))
        for number, rule in enumerate(rules)
        if is_text(rule.condition)
    }
    named = list(dict.fromkeys(name for _, formula in formulas.values() for name in columns_of(formula)))
    for condition, formula in formulas.values():
        check_columns(condition, formula, files.columns)
    columns = list(dict.fromkeys([*domain.attributes, *named]))
    files.check(columns)
    absent = f"IN ({', '.join(map(sql_text, missing))})" if missing else "IS NULL"
    without_missing = ", ".join(f"CASE WHEN {n} {absent} THEN NULL ELSE {n} END AS {n}" for n in map(sql_name, columns))
    kept = " AND ".join(f"{sql_name(attribute)} IS NOT NULL" for attribute in domain.attributes)
    texts = f"SELECT {without_missing} FROM ({texts_query(connection, files, columns)})"
    connection.execute(f"CREATE VIEW original AS SELECT * FROM ({texts}) WHERE {kept}")
    kinds = _kinds(connection, named)
    hierarchies = dict(domain.items())
    for name in dict.fromkeys(name for _, formula in formulas.values() for name in chosen_columns(formula)):
        if name not in hierarchies and kinds[name] is Kind.TEXTS:
            hierarchies[name] = _occurring(connection, name)
    values = ColumnValues(kinds, hierarchies, frozenset(missing))
    texts_of_rules = {
        number: formula_sql(executable(condition, formula, values), kinds)
        for number, (condition, formula) in formulas.items()
    }
    for number, hierarchy in enumerate(domain.hierarchies):
        labels = [f"level{level}" for level in range(hierarchy.height + 1)]
        connection.register(f"hierarchy{number}", pd.DataFrame(hierarchy.rows(), columns=labels))
    connection.execute(f"CREATE VIEW disclosed AS {disclosure_query(domain, rules, texts_of_rules)}")
    unknown = " + ".join(f"count(*) FILTER ({sql_name(a)} IS NULL)" for a in domain.attributes)
    [(total, lost)] = connection.execute(f"SELECT count(*), {unknown} FROM disclosed").fetchall()
    if lost:
        raise InputError(f"{files.name} has {lost} values that are not among the base values of their hierarchies")
    # Without a file of DuckDB's own, which it would leave behind when it is killed.
    connection.execute(f"COPY disclosed TO {sql_text(target)} (FORMAT csv, HEADER, USE_TMP_FILE false)").fetchall()
    return int(total)


def _kinds(connection: "duckdb.DuckDBPyConnection", columns: Sequence[str]) -> dict[str, Kind]:
    """The kinds of some columns of `original`."""
    if not columns:
        return {}
    counts = []
    for name in map(sql_name, columns):
        number = f"regexp_full_match({name}, {sql_text(NUMBER)}) AND isfinite({_number(name)})"
        counts += [f"count(*) FILTER ({name} <> '')", f"count(*) FILTER ({name} <> '' AND {number})"]
    [numbers] = connection.execute(f"SELECT {', '.join(counts)} FROM original").fetchall()
    return {column: Kind.of(*numbers[2 * i : 2 * i + 2]) for i, column in enumerate(columns)}


def _occurring(connection: "duckdb.DuckDBPyConnection", column: str) -> Hierarchy:
    """The texts of a column of `original`."""
    name = sql_name(column)
    rows = connection.execute(f"SELECT DISTINCT {name} FROM original WHERE {name} IS NOT NULL ORDER BY 1").fetchall()
    return Hierarchy.flat([text for (text,) in rows])


def disclosure_query(domain: Domain, rules: Sequence[DisclosureRule], conditions: Mapping[int, str]) -> str:
    """The disclosed table as one query on `original` and, for the n-th attribute, `hierarchy<n>` (level0, level1, ...).

    conditions: as SQL, by the numbers of the rules, from 0; a rule without one is about all rows. Raises InputError for a
    level that does not exist, DomainMismatchError for an unknown attribute.
    """
    levels: dict[str, list[str]] = {attribute: [] for attribute in domain.attributes}
    for number, rule in enumerate(rules):
        height = domain.hierarchy(rule.attribute).height
        level = height if rule.level is None else rule.level
        if not 0 <= level <= height:
            raise InputError(f"{rule.attribute!r} has the levels 0 to {height}, not {level}")
        levels[rule.attribute].append(f"CASE WHEN {conditions.get(number, 'TRUE')} THEN {level} ELSE 0 END")
    labels, joins = [], []
    for number, (attribute, hierarchy) in enumerate(domain.items()):
        cases = " ".join(f"WHEN {level} THEN h{number}.level{level}" for level in range(hierarchy.height + 1))
        chosen = f"greatest(0, {', '.join(levels[attribute])})" if levels[attribute] else "0"
        labels.append(f"CASE {chosen} {cases} END AS {sql_name(attribute)}")
        joins.append(f"LEFT JOIN hierarchy{number} AS h{number} ON original.{sql_name(attribute)} = h{number}.level0")
    return f"SELECT {', '.join(labels)} FROM original {' '.join(joins)}"


def is_text(condition: Condition) -> TypeGuard[Where]:
    """Whether a condition is in text; there is none for all rows. Raises InputError for what DuckDB cannot execute."""
    if condition is not None and not is_where(condition):
        raise InputError("a rule for DuckDB needs a condition in text")
    return condition is not None


def formula_sql(formula: Formula, kinds: Mapping[str, Kind]) -> str:
    """A formula without choices as SQL that is true or false, never null.

    >>> from marginals.conditions.grammar import parsed
    >>> print(formula_sql(parsed("age not in [1]"), {"age": Kind.NUMBERS}))
    (NOT coalesce(TRY_CAST(trim(original."age") AS DOUBLE) IN (CAST('1' AS DOUBLE)), FALSE))
    """
    match formula:
        case Negation(term=term):
            return f"(NOT {formula_sql(term, kinds)})"
        case Conjunction(terms=terms):
            return "(" + " AND ".join(formula_sql(term, kinds) for term in terms) + ")"
        case Disjunction(terms=terms):
            return "(" + " OR ".join(formula_sql(term, kinds) for term in terms) + ")"
        case Choice():
            raise TypeError("choices must be bound before")
        case Membership(values=()):
            return "FALSE"
        case Membership(column=column, values=values):
            listed = ", ".join(_operand(value, formula, kinds) for value in values)
            return f"coalesce({_operand(column, formula, kinds)} IN ({listed}), FALSE)"
        case Comparison(left=left, sign=sign, right=right):
            compared = "=" if sign == "==" else sign
            return f"coalesce({_operand(left, formula, kinds)} {compared} {_operand(right, formula, kinds)}, FALSE)"


def _operand(operand: Operand, atom: Atom, kinds: Mapping[str, Kind]) -> str:
    if isinstance(operand, Column):
        column = f"original.{sql_name(operand.name)}"
        return _number(column) if kind_of(atom, kinds) is Kind.NUMBERS else column
    return sql_text(operand) if isinstance(operand, str) else f"CAST({sql_text(repr(operand))} AS DOUBLE)"


def _number(column: str) -> str:
    """The number that a text is, null for the empty one."""
    return f"TRY_CAST(trim({column}) AS DOUBLE)"
