"""Disclosing a table under rules: values hidden or generalized in the rows that a condition holds for (LSFB09 7.1)."""

import io
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TextIO, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from checks.risk.attackers import Records, RecordSpace
from checks.risk.disclosure import Disclosure
from checks.risk.disclosure import generalize as generalize_records
from marginals.arguments import elements_of, require
from marginals.conditions import (
    EXACT,
    Atom,
    Choice,
    CodedColumn,
    Column,
    ColumnValues,
    Comparison,
    Conjunction,
    Disjunction,
    Formula,
    Kind,
    Membership,
    Negation,
    Operand,
    Where,
    check_columns,
    chosen_columns,
    columns_of,
    executable,
    formula_of,
    holds,
    kind_of,
    kind_of_texts,
    spellings,
    written_as,
)
from marginals.errors import InputError
from marginals.files import PRIVATE, fresh_file
from marginals.names import number_of
from marginals.output import OutputFile
from marginals.tables.distinct_rows import factorized
from marginals.tables.engines import beyond_duckdb, connected, has_duckdb, refusal_of, require_duckdb, texts_query
from marginals.tables.files import CsvFiles, ParquetFiles
from marginals.tables.frames import sql_name, sql_text
from marginals.tables.source import TableSource
from marginals.tables.table import Rows
from marginals.tables.values import ALIKE, BLANKS, END_ZEROS, POINT, NumberFormat, formats
from models.arrays import BoolArray, IndexArray
from models.tables.hierarchy import Domain, Hierarchy

if TYPE_CHECKING:
    import duckdb
    import pandas as pd


# In which order disclosed rows are written: shuffled, unless somebody insists on that of the source.
#
# Where a row stands can tell whose it is: a table that was sorted by name can be laid beside a list of names.


_MOST_FILES = 256
"""Files that hold rows on their way, at most."""

Keys: TypeAlias = NDArray[np.uint64]


@dataclass(frozen=True)
class Shuffled:
    """An order drawn at random, each as likely as any other.

    seed: None draws from what the operating system holds for secrets, so that nobody can draw the same again. A number
    makes the order repeatable, for tests: whoever knows or guesses it can restore the order of the source. Raises
    InputError for a negative one.
    """

    seed: int | None = None

    def __post_init__(self) -> None:
        if self.seed is not None and self.seed < 0:
            raise InputError(f"the seed is a whole number from 0, not {self.seed}")


@dataclass(frozen=True)
class AsRead:
    """The order of the source."""


RowOrder: TypeAlias = Shuffled | AsRead


def positions(order: RowOrder, rows: int) -> IndexArray:
    """Which row comes first, second and so on: shape (rows,).

    >>> positions(AsRead(), 4).tolist(), positions(Shuffled(seed=1), 4).tolist()
    ([0, 1, 2, 3], [2, 0, 3, 1])
    """
    if isinstance(order, AsRead):
        return np.arange(rows)
    return np.argsort(_keys(order)(rows), kind="stable")


def in_order(
    order: RowOrder, blocks: Iterable[NDArray[np.int32]], rows: int, memory: int
) -> Iterator[NDArray[np.int32]]:
    """Rows of codes in an order, in blocks again; the same rows in the same order whatever the blocks.

    blocks: rows as they are read, each of shape (some, columns). rows: how many there are about. memory: bytes to make do
    with. What is more waits in files without a name, by the first bits of its key; every file is shuffled by itself.
    """
    if isinstance(order, AsRead):
        yield from blocks
        return
    draw, blocks = _keys(order), iter(blocks)
    first = next(blocks, None)
    if first is None:
        return
    row = np.dtype([("key", np.uint64), ("codes", np.int32, first.shape[1:])])
    # Sorting takes the rows once more, and their positions.
    count = min(_MOST_FILES, 1 + 3 * rows * row.itemsize // max(memory, 1))
    with ExitStack() as held:
        files = [held.enter_context(_waiting(count)) for _ in range(count)]
        for block in chain([first], blocks):
            keyed = np.empty(len(block), dtype=row)
            keyed["key"], keyed["codes"] = draw(len(block)), block
            parts = (keyed["key"] >> np.uint64(32)) * np.uint64(count) >> np.uint64(32)
            for number in np.unique(parts).tolist():
                files[number].write(keyed[parts == number].tobytes())
        for file in files:
            file.seek(0)
            waiting = np.frombuffer(file.read(), dtype=row)
            file.close()
            yield waiting["codes"][np.argsort(waiting["key"], kind="stable")]


def _waiting(count: int) -> IO[bytes]:
    """Where rows of one of so many parts wait: in memory if it is the only one."""
    return io.BytesIO() if count == 1 else tempfile.TemporaryFile()


def _keys(order: Shuffled) -> Callable[[int], Keys]:
    """Draws the keys of the next rows, by which they are sorted."""
    if order.seed is None:
        return lambda rows: np.frombuffer(os.urandom(8 * rows), dtype=np.uint64)
    rng = np.random.default_rng(order.seed)
    return lambda rows: rng.integers(0, 2**64, rows, dtype=np.uint64)


# Disclosing a table under rules: hide or generalize an attribute of the rows that a condition holds for (LSFB09 7.1).
#
# A condition is a formula over the original columns (`"age > 80 and sex == 'Female'"` or `"age in 81-120"`, the
# grammar of `marginals.conditions`), a predicate of the original table, or one truth value a row. Since it is always
# about the originals, rules may be given in any order.


Condition: TypeAlias = "Where | Callable[[pd.DataFrame], Any] | Sequence[bool] | pd.Series[Any] | BoolArray | None"
"""Which rows a rule is about; None: all."""


@dataclass(frozen=True)
class DisclosureRule:
    """One rule as data. level: None hides the attribute. condition: None is about all rows.

    >>> DisclosureRule("age", level=2, condition="age > 80")
    DisclosureRule(attribute='age', level=2, condition='age > 80')
    """

    attribute: str
    level: int | None = None
    condition: Condition = None


@dataclass(frozen=True, eq=False)
class DisclosedTable:
    """A table and what is disclosed of it."""

    rows: Rows
    disclosure: Disclosure

    @classmethod
    def of(cls, rows: Rows) -> "DisclosedTable":
        """The table as it is."""
        return cls(rows, Disclosure.of(Records.from_codes(RecordSpace(rows.domain), rows.codes)))

    @property
    def records(self) -> Records:
        """The disclosed records."""
        return self.disclosure.records

    @cached_property
    def originals(self) -> "pd.DataFrame":
        """The original columns that predicates are about, as numbers where all values are."""
        import pandas as pd

        return pd.DataFrame({str(name): _typed(column, self.rows) for name, column in self.rows.frame.items()})

    def frame(self, order: RowOrder = Shuffled()) -> "pd.DataFrame":
        """The disclosed labels, row by row; shuffled, since the order of the source can tell whose a row is.

        order: `AsRead()` is that of the source.
        """
        import pandas as pd

        return pd.DataFrame(self.records.labels()).iloc[positions(order, len(self.rows))].reset_index(drop=True)


def hide(table: DisclosedTable, attribute: str, condition: Condition = None) -> DisclosedTable:
    """The table with an attribute suppressed in some rows (Definition 6, whose formula selects the other rows).

    Raises InputError for a condition that cannot be read, DomainMismatchError for an unknown attribute.

    >>> from marginals.example import attributes, frame
    >>> from marginals.tables.source import read_rows
    >>> table = DisclosedTable.of(read_rows(frame, attributes))
    >>> hidden = hide(table, "diagnosis", "diagnosis == 'Gout' and sex == 'Female'")
    >>> hidden.frame()["diagnosis"].value_counts().to_dict()
    {'Flu': 17, 'Gout': 16, 'Asthma': 13, '*': 2}
    """
    _require_disclosed(table)
    return generalize(table, attribute, condition, table.rows.domain.hierarchy(attribute).height)


def generalize(table: DisclosedTable, attribute: str, condition: Condition, level: int) -> DisclosedTable:
    """The table with an attribute at a level, or as high as it is already, in some rows (Definition 7).

    Errors as for `hide`; DisclosureRuleError for a level that the attribute does not have.

    >>> from marginals.example import attributes, frame
    >>> from marginals.tables.source import read_rows
    >>> table = generalize(DisclosedTable.of(read_rows(frame, attributes)), "age", "age >= 50", 2)
    >>> sorted(table.frame()["age"].unique())
    ['22', '27', '34', '38', '40-59', '45']
    """
    _require_disclosed(table)
    rows = selected(table, condition)
    return replace(table, disclosure=generalize_records(table.disclosure, attribute, rows, level))


def _require_disclosed(table: object) -> None:
    require(table, DisclosedTable, "table", "what marginals.disclose(rows, rules) returns")


def disclose(rows: Rows, rules: Sequence[DisclosureRule]) -> DisclosedTable:
    """The table with disclosure rules applied; the order of the rules does not matter.

    >>> from marginals.example import attributes, frame
    >>> from marginals.disclosure import AsRead
    >>> from marginals.tables.source import read_rows
    >>> rules = [DisclosureRule("age", level=1), DisclosureRule("sex", condition="age < 30")]
    >>> table = disclose(read_rows(frame, attributes), rules)
    >>> table.frame(AsRead()).iloc[[0, -1]].values.tolist()
    [['20-29', '*', 'Asthma'], ['50-59', 'Male', 'Gout']]
    """
    require(rows, Rows, "rows", "what marginals.read_rows(source, attributes) returns")
    rules = elements_of(rules, "rules", "a list of marginals.DisclosureRule")
    table = DisclosedTable.of(rows)
    for rule in rules:
        if rule.level is None:
            table = hide(table, rule.attribute, rule.condition)
        else:
            table = generalize(table, rule.attribute, rule.condition, rule.level)
    return table


def selected(table: DisclosedTable, condition: Condition) -> BoolArray:
    """The original rows that a condition holds for: shape (rows,). Raises InputError, never quoting a value."""
    rows = len(table.rows)
    if condition is None:
        return np.ones(rows, dtype=bool)
    if is_where(condition):
        return _formula_holds(table.rows, condition)
    truth = np.asarray(condition(table.originals) if callable(condition) else condition)
    if truth.dtype != np.bool_ or truth.shape != (rows,):
        raise InputError("a condition must say true or false for each row of the table")
    return truth


def is_where(condition: Condition) -> TypeGuard[Where]:
    """Whether a condition is a text, several texts or a mapping, which every engine can execute."""
    if isinstance(condition, str):
        return True
    if not isinstance(condition, Mapping | list | tuple):
        return False
    return len(condition) > 0 and all(isinstance(name_or_text, str) for name_or_text in condition)


def _formula_holds(rows: Rows, condition: Where) -> BoolArray:
    names = [str(name) for name in rows.frame.columns]
    formula = formula_of(condition, names)
    check_columns(condition, formula, names)
    columns, decimals = {}, {}
    for name in columns_of(formula):
        named_column = rows.frame.iloc[:, names.index(name)].rename(name)
        # A column of numbers has a point before their fraction, whatever the texts of the table have.
        decimals[name] = "." if named_column.dtype.kind in "iufb" else rows.decimal
        codes, texts = factorized(named_column, rows.no_value, decimals[name])
        columns[name] = CodedColumn(codes, tuple(texts), written_as(texts, decimals[name]) or POINT)
    kinds = {name: kind_of_texts(column.texts, decimals[name]) for name, column in columns.items()}
    labels, spelled = dict(rows.domain.items()), {}
    for name in chosen_columns(formula):
        if kinds[name] is Kind.TEXTS and name in labels:
            spelled[name] = spellings(columns[name].texts, decimals[name])
        elif kinds[name] is Kind.TEXTS:
            labels[name] = Hierarchy.flat(columns[name].texts)
    return holds(executable(condition, formula, ColumnValues(kinds, labels, rows.no_value, spelled)), columns, kinds)


def _typed(column: "pd.Series[Any]", rows: Rows) -> "pd.Series[Any]":
    """A column of texts that are all numbers as these numbers, whole ones as such; any other as it is."""
    import pandas as pd

    if column.dtype.kind in "iufbmM":
        return column
    try:
        codes, texts = factorized(column, {*rows.no_value, ""}, rows.decimal)
    except InputError:  # lists and the like
        return column
    written = written_as(texts, rows.decimal)
    if written is None:
        return column
    numbers = np.array([*map(written.real, texts), np.nan])
    row_numbers = numbers[codes]
    is_whole = bool((codes >= 0).all()) and bool((numbers[:-1] == np.floor(numbers[:-1])).all())
    return pd.Series(
        row_numbers.astype(np.int64) if is_whole and np.abs(row_numbers).max() < EXACT else row_numbers,
        index=column.index,
    )


# Disclosure rules executed by DuckDB, file to file, for tables that do not fit in memory (LSFB09 section 7.1).
#
# The operators are relational algebra, and so is this: the level of a value is the greatest of its rules', decided on
# the original row; its label is looked up in the hierarchy as the rows come, since a join need not keep their order.


def disclose_file(
    source: TableSource, target: Path, domain: Domain, rules: Sequence[DisclosureRule], order: RowOrder = Shuffled()
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
    with fresh_file(target, PRIVATE) as fresh, fresh.open("w", encoding="utf-8", newline="") as stream:
        try:
            with connected(memory) as connection:
                rows = _view_disclosed(connection, files, domain, rules, source, memory)
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
    source: TableSource,
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
    decimals = {name: "." if _is_typed(files, name) else source.decimal for name in columns}
    without_missing = ", ".join(
        f"CASE WHEN {is_missing_sql(sql_name(name), source.missing, decimals[name])} THEN NULL ELSE {sql_name(name)} END "
        f"AS {sql_name(name)}"
        for name in columns
    )
    is_complete = " AND ".join(f"{sql_name(attribute)} IS NOT NULL" for attribute in domain.attributes)
    texts = f"SELECT {without_missing} FROM ({texts_query(connection, files, columns, memory)})"
    connection.execute(f"CREATE VIEW original AS SELECT * FROM ({texts}) WHERE {is_complete}")
    kinds, written = _kinds(connection, {name: decimals[name] for name in named})
    hierarchies, spelled = dict(domain.items()), {}
    for name in dict.fromkeys(name for _, formula in formulas.values() for name in chosen_columns(formula)):
        if kinds[name] is Kind.TEXTS:
            texts_there = _occurring(connection, name)
            if name in hierarchies:
                spelled[name] = spellings(texts_there, decimals[name])
            else:
                hierarchies[name] = Hierarchy.flat(texts_there)
    values = ColumnValues(kinds, hierarchies, frozenset(source.missing), spelled)
    texts_of_rules = {
        number: formula_sql(executable(condition, formula, values), kinds, written)
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
            codes = [source.base_code(attribute, text, hierarchy) for text in values.dictionary.to_pylist()]
            base = np.array([-1 if code is None else code for code in codes], dtype=np.intp)[values.indices.to_numpy()]
            levels = batch.column(2 * number + 1).to_numpy()
            unknown += int((base < 0).sum())
            block[:, number] = _label_positions(hierarchy)[levels, base]
        yield block
    if unknown:
        raise InputError(
            f"{source.files().name} has {number_of(unknown, 'value that is', 'values that are')} not among the base "
            "values of their hierarchies"
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
    import pandas as pd

    labels = [_labels(hierarchy) for hierarchy in domain.hierarchies]
    pd.DataFrame(columns=list(domain.attributes)).to_csv(stream, index=False, lineterminator="\n")
    for block in blocks:
        for start in range(0, len(block), _ROWS):
            codes = block[start : start + _ROWS]
            frame = pd.DataFrame({a: labels[i][codes[:, i]] for i, a in enumerate(domain.attributes)})
            frame.to_csv(stream, header=False, index=False, lineterminator="\n")


def _is_typed(files: CsvFiles | ParquetFiles, column: str) -> bool:
    """Whether the values of a column are no texts, so that numbers have a point before their fraction."""
    if isinstance(files, CsvFiles):
        return False
    kinds = {str(schema.field(column).type) for schema in files.schemas.values()}
    return not any("string" in kind or "utf8" in kind for kind in kinds)


def _kinds(
    connection: "duckdb.DuckDBPyConnection", decimals: Mapping[str, str]
) -> tuple[dict[str, Kind], dict[str, NumberFormat]]:
    """The kinds of some columns of `original`, and how those write numbers that are of numbers.

    decimals: of each column the sign before the fraction of a number.
    """
    kinds, written = {}, {}
    for column, decimal in decimals.items():
        values, number_format = _written_as(connection, sql_name(column), decimal)
        kinds[column] = Kind.of(values, number_format)
        if number_format is not None:
            written[column] = number_format
    return kinds, written


def _written_as(connection: "duckdb.DuckDBPyConnection", name: str, decimal: str) -> tuple[int, NumberFormat | None]:
    """How many values a column of `original` has, and the format in which all are numbers, as `written_as` finds it."""
    plain, *others = formats(decimal)
    shows_groups = f"contains({name}, ',') OR regexp_matches({name}, '[.].*[.]')"
    same = f"{name} SIMILAR TO {sql_text('.*' + END_ZEROS.format(f'[{decimal}]').removesuffix('$'))}"
    told_apart = f"{same} AND rtrim({name}, '0') IN (SELECT {name} FROM original)"
    values, codes, grouped, numbers = _counted_where(
        connection, name, [f"{is_code_sql(name)} OR ({told_apart})", shows_groups, is_number_sql(name, plain)]
    )
    if codes or not values:
        return values, None
    if numbers == values:
        return values, plain
    counts = _counted_where(connection, name, [is_number_sql(name, other) for other in others])[1:]
    fitting = (other for other, count in zip(others, counts) if count == values and (other.thousands != "." or grouped))
    return values, next(fitting, None)


def _counted_where(connection: "duckdb.DuckDBPyConnection", name: str, conditions: Sequence[str]) -> list[int]:
    """How many values of `original` there are, and for how many of them each condition holds."""
    held = "".join(f", count(*) FILTER ({condition})" for condition in conditions)
    [counts] = connection.execute(f"SELECT count(*){held} FROM original WHERE {name} <> ''").fetchall()
    return list(counts)


def plain_sql(name: str) -> str:
    """A text in SQL as `NumberFormat` matches it: without blanks around it, with one spelling of signs that are alike."""
    alike, same = "".join(map(chr, ALIKE)), "".join(map(str, ALIKE.values()))
    return f"translate(trim({name}, {sql_text(BLANKS)}), {sql_text(alike)}, {sql_text(same)})"


def is_code_sql(name: str) -> str:
    """Whether a text begins with a zero that says nothing of a number, in SQL."""
    return f"regexp_matches({plain_sql(name)}, '^[-+]*0[0-9]')"


def is_number_sql(name: str, numbers: NumberFormat) -> str:
    """Whether a text is a number, in SQL."""
    return (
        f"(regexp_full_match({plain_sql(name)}, {sql_text(numbers.pattern)}) AND isfinite({number_sql(name, numbers)}))"
    )


def number_sql(name: str, numbers: NumberFormat) -> str:
    """The number that a text is, in SQL, null for none."""
    plain = plain_sql(name)
    for sign, instead in (("%", ""), (numbers.thousands, ""), (numbers.decimal, ".")):
        if sign and sign != instead and (sign != "%" or numbers.percent):
            plain = f"replace({plain}, {sql_text(sign)}, {sql_text(instead)})"
    return f"TRY_CAST({f'trim({plain})' if numbers.percent else plain} AS DOUBLE)"


def is_missing_sql(name: str, marks: Sequence[str], decimal: str) -> str:
    """Whether a text stands for no value, in SQL, as `missing_among` says it."""
    if not marks:
        return f"{name} IS NULL"
    listed = ", ".join(map(sql_text, marks))
    told = f"{name} IN ({listed})"
    if filled := [mark for mark in marks if mark]:
        told += f" OR trim({name}, {sql_text(BLANKS)}) IN ({', '.join(map(sql_text, filled))})"
    numbers = sorted({POINT.real(mark) for mark in marks if POINT.is_number(mark)})
    if not numbers:
        return told
    number_format = NumberFormat(decimal)
    among = ", ".join(f"CAST({sql_text(repr(number))} AS DOUBLE)" for number in numbers)
    is_number = is_number_sql(name, number_format)
    return f"{told} OR ({is_number} AND NOT {is_code_sql(name)} AND {number_sql(name, number_format)} IN ({among}))"


def _occurring(connection: "duckdb.DuckDBPyConnection", column: str) -> list[str]:
    """The texts of a column of `original`."""
    name = sql_name(column)
    rows = connection.execute(f"SELECT DISTINCT {name} FROM original WHERE {name} IS NOT NULL ORDER BY 1").fetchall()
    return [text for (text,) in rows]


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


def formula_sql(
    formula: Formula, kinds: Mapping[str, Kind], written: Mapping[str, NumberFormat] = MappingProxyType({})
) -> str:
    """A formula without choices as SQL that is true or false, never null.

    written: how columns write numbers; as programs do where nothing is said.

    >>> from marginals.conditions import parsed
    >>> print(formula_sql(parsed("name in ['Ann']"), {"name": Kind.TEXTS}))
    coalesce(original."name" IN ('Ann'), FALSE)
    """

    def operand(operand: Operand, atom: Atom) -> str:
        if isinstance(operand, Column):
            column = f"original.{sql_name(operand.name)}"
            is_number = kind_of(atom, kinds) is Kind.NUMBERS
            return number_sql(column, written.get(operand.name, POINT)) if is_number else column
        return sql_text(operand) if isinstance(operand, str) else f"CAST({sql_text(repr(operand))} AS DOUBLE)"

    match formula:
        case Negation(term=term):
            return f"(NOT {formula_sql(term, kinds, written)})"
        case Conjunction(terms=terms):
            return "(" + " AND ".join(formula_sql(term, kinds, written) for term in terms) + ")"
        case Disjunction(terms=terms):
            return "(" + " OR ".join(formula_sql(term, kinds, written) for term in terms) + ")"
        case Choice():
            raise TypeError("choices must be bound before")
        case Membership(values=()):
            return "FALSE"
        case Membership(column=column, values=values):
            listed = ", ".join(operand(value, formula) for value in values)
            return f"coalesce({operand(column, formula)} IN ({listed}), FALSE)"
        case Comparison(left=left, sign=sign, right=right):
            compared = "=" if sign == "==" else sign
            return f"coalesce({operand(left, formula)} {compared} {operand(right, formula)}, FALSE)"


class DisclosedFile(NamedTuple):
    """How many rows were written, and by which engine."""

    rows: int
    engine: str


def disclosing_engine(source: TableSource) -> str:
    """Which engine executes rules on a table: "duckdb", from file to file, or "pandas", in memory.

    It is the engine that reads the table; for "auto", DuckDB where it is installed and can read these files. Raises
    InputError where there are no files.
    """
    files = source.files()
    if source.person is not None and source.engine == "duckdb":
        raise InputError(
            'DuckDB executes rules on all rows, not on those that count of a person; set data.engine to "pandas" or "auto"'
        )
    if source.engine == "auto":
        return "duckdb" if source.person is None and has_duckdb() and not beyond_duckdb(files) else "pandas"
    return source.engine


def disclose_rows(rows: Rows, rules: Sequence[DisclosureRule], target: OutputFile, order: RowOrder = Shuffled()) -> int:
    """Write the disclosed labels of some rows as CSV, in an order; returns the number of rows. Raises InputError."""
    table = disclose(rows, rules)
    target.write(table.frame(order).to_csv(index=False, lineterminator="\n").encode())
    return len(table.rows)
