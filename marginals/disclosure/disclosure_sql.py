"""Disclosure rules executed by DuckDB, file to file, for tables that do not fit in memory (LSFB09 section 7.1).

The operators are relational algebra, and so is this: the level of a value is the greatest of its rules', decided on the
original row; its label is looked up in the hierarchy as the rows come, since a join need not keep their order.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, TypeGuard

import numpy as np
import pandas as pd
from numpy.typing import NDArray

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
from marginals.disclosure.row_order import RowOrder, Shuffled, in_order
from marginals.disclosure.rules import Condition, DisclosureRule, is_where
from marginals.errors import InputError
from marginals.files.atomic_file import fresh_file
from marginals.files.output import OutputFile
from marginals.tables.source import TableSource
from marginals.tables.sources.engine_files import connected, refusal_of, require_duckdb, texts_query
from marginals.tables.sources.files import CsvFiles, ParquetFiles
from marginals.tables.sources.lookup_table import sql_name, sql_text
from models.tables.domain import Domain
from models.tables.hierarchy import Hierarchy

if TYPE_CHECKING:
    import duckdb


def disclose_file(
    source: TableSource,
    target: Path,
    domain: Domain,
    rules: Sequence[DisclosureRule],
    order: RowOrder = Shuffled(),  # noqa: B008 - it is frozen
) -> int:
    """Write the disclosed labels of a table, CSV or Parquet, as CSV; returns the number of rows.

    source: files. Half of its memory is DuckDB's, the other is for shuffling; rows that wait are in no file with a name.
    domain: the attributes to disclose, columns of the source. Rows with a missing value in one of them are left out, as
    `read_table` does. Conditions must be formulas in text. Raises InputError without duckdb, for a target that belongs to
    the source, or for a file, condition or value that cannot be used; then nothing is written.
    """
    source.require_no_missing_values()
    OutputFile(target, () if source.path is None else (source.path,))
    files = require_duckdb(source.files(), "disclosing tables that do not fit in memory")
    import duckdb

    memory = source.memory_in_bytes // 2
    with fresh_file(target) as fresh, fresh.open("w", encoding="utf-8", newline="") as stream:
        try:
            with connected(memory) as connection:
                rows = _view_disclosed(connection, files, domain, rules, source.missing, memory)
                blocks = _codes(connection, source, domain)
                _write_labels(stream, domain, in_order(order, blocks, rows, memory))
                return rows
        except duckdb.Error as error:
            raise refusal_of(files, error) from None


def _view_disclosed(
    connection: "duckdb.DuckDBPyConnection",
    files: CsvFiles | ParquetFiles,
    domain: Domain,
    rules: Sequence[DisclosureRule],
    missing: Sequence[str],
    memory: int,
) -> int:
    """Make the view `disclosed`, as `disclosure_query` says; returns the number of its rows."""
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
    texts = f"SELECT {without_missing} FROM ({texts_query(connection, files, columns, memory)})"
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
    connection.execute(f"CREATE VIEW disclosed AS {disclosure_query(domain, rules, texts_of_rules)}")
    return int(connection.execute("SELECT count(*) FROM disclosed").fetchall()[0][0])


def _codes(connection: "duckdb.DuckDBPyConnection", source: TableSource, domain: Domain) -> Iterator[NDArray[np.int32]]:
    """The rows of `disclosed` in their order, as positions in `_labels`: shape (some, attributes), block by block.

    Raises InputError at the end if there were values that are no base values.
    """
    relation = connection.sql("SELECT * FROM disclosed")
    # DuckDB 2 has a new name for what was fetch_record_batch.
    reader = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader
    unknown = 0
    for batch in reader(_ROWS):
        block: NDArray[np.int32] = np.empty((batch.num_rows, len(domain.attributes)), dtype=np.int32)
        for number, (attribute, hierarchy) in enumerate(domain.items()):
            values = batch.column(2 * number).dictionary_encode()
            texts = (source.base_value(attribute, text) for text in values.dictionary.to_pylist())
            codes = [None if text is None else hierarchy.code(text, 0) for text in texts]
            base = np.array([-1 if code is None else code for code in codes], dtype=np.intp)[values.indices.to_numpy()]
            levels = batch.column(2 * number + 1).to_numpy()
            unknown += int((base < 0).sum())
            block[:, number] = _label_positions(hierarchy)[levels, base]
        yield block
    if unknown:
        raise InputError(
            f"{source.files().name} has {unknown} values that are not among the base values of their hierarchies"
        )


_ROWS = 100_000
"""Rows that are handled at a time."""


def _labels(hierarchy: Hierarchy) -> NDArray[np.object_]:
    """All labels of a hierarchy, level by level."""
    return np.array([label for labels in hierarchy.labels for label in labels], dtype=object)


def _label_positions(hierarchy: Hierarchy) -> NDArray[np.intp]:
    """Where the label of each base value at each level stands in `_labels`: shape (levels, base values)."""
    starts = np.cumsum([0, *(hierarchy.size(level) for level in range(hierarchy.height))])
    return np.array([start + hierarchy.lift(0, level) for level, start in enumerate(starts)], dtype=np.intp)


def _write_labels(stream: TextIO, domain: Domain, blocks: Iterable[NDArray[np.int32]]) -> None:
    labels = [_labels(hierarchy) for hierarchy in domain.hierarchies]
    pd.DataFrame(columns=list(domain.attributes)).to_csv(stream, index=False, lineterminator="\n")
    for block in blocks:
        for start in range(0, len(block), _ROWS):
            codes = block[start : start + _ROWS]
            frame = pd.DataFrame({a: labels[i][codes[:, i]] for i, a in enumerate(domain.attributes)})
            frame.to_csv(stream, header=False, index=False, lineterminator="\n")


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
    """The rows of `original` as one query: of each attribute in turn the value, and the level that it is disclosed at.

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
    columns = (
        f"{sql_name(attribute)} AS value{number}, greatest(0, {', '.join(levels[attribute]) or '0'}) AS level{number}"
        for number, attribute in enumerate(domain.attributes)
    )
    return f"SELECT {', '.join(columns)} FROM original"


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
