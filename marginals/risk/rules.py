"""Disclosure of a table under rules: values hidden or generalized in the rows that a condition holds for (LSFB09 7.1)."""

import io
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TextIO, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from checks.risk.attackers import Records, RecordSpace
from checks.risk.disclosure import Disclosure
from checks.risk.disclosure import generalize as generalize_records
from marginals.arguments import elements_of, require
from marginals.conditions import Where, columns_of
from marginals.errors import InputError
from marginals.files import PRIVATE, fresh_file
from marginals.names import number_of
from marginals.output import OutputFile
from marginals.risk.bound_conditions import BoundCondition, CodedColumn, ColumnTexts, column_texts, read_condition
from marginals.tables.distinct_rows import factorized, rows_of
from marginals.tables.engines import beyond_duckdb, connected, has_duckdb, refusal_of, require_duckdb, texts_query
from marginals.tables.files import CsvFiles, ParquetFiles
from marginals.tables.source import TableSource
from marginals.tables.table import Rows
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
    return io.BytesIO() if count == 1 else tempfile.TemporaryFile()


def _keys(order: Shuffled) -> Callable[[int], Keys]:
    if order.seed is None:
        return lambda rows: np.frombuffer(os.urandom(8 * rows), dtype=np.uint64)
    rng = np.random.default_rng(order.seed)
    return lambda rows: rng.integers(0, 2**64, rows, dtype=np.uint64)


# Disclosing a table under rules: hide or generalize an attribute of the rows that a condition holds for (LSFB09 7.1).
#
# A condition is a formula over the original columns (`"age > 80 and sex == 'Female'"` or `"age in 81-120"`, the
# grammar of `marginals.conditions`), or one truth value a row. Since it is always about the originals, rules may be given in
# any order.


Condition: TypeAlias = "Where | Sequence[bool] | pd.Series[Any] | BoolArray | None"
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
    >>> from marginals.risk.rules import AsRead
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
        return _condition_holds(table.rows, condition)
    truth = np.asarray(condition)
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


def _condition_holds(rows: Rows, condition: Where) -> BoolArray:
    names = [str(name) for name in rows.frame.columns]
    formula = read_condition(condition, names)
    columns, texts = {}, {}
    for name in columns_of(formula):
        column = rows.frame.iloc[:, names.index(name)].rename(name)
        # A column of numbers has a point before their fraction, whatever the texts of the table have.
        decimal = "." if column.dtype.kind in "iufb" else rows.decimal
        codes, values = factorized(column, rows.no_value, decimal)
        columns[name], texts[name] = CodedColumn(codes, tuple(values)), ColumnTexts(tuple(values), decimal)
    hierarchies = dict(rows.domain.items())
    return BoundCondition(condition, formula, texts, hierarchies, rows.no_value).holds(columns)


# Rules executed file to file, for tables that do not fit in memory: DuckDB reads the rows as texts, block by block.
#
# The level of a value is the greatest of its rules', decided on the original row. The first pass sees which texts the
# columns of conditions have, because these say what a condition compares; the second discloses.


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
                rows = _FileRows(connection, source, files, domain, rules, memory)
                _write_labels(stream, domain, in_order(order, rows.disclosed(), rows.count, memory))
                return rows.count
        except duckdb.Error as error:
            raise refusal_of(files, error) from None


class _FileRows:
    """The rows of files in which no attribute is missing, block by block, and what rules disclose of them."""

    def __init__(
        self,
        connection: "duckdb.DuckDBPyConnection",
        source: TableSource,
        files: CsvFiles | ParquetFiles,
        domain: Domain,
        rules: Sequence[DisclosureRule],
        memory: int,
    ) -> None:
        self._connection, self._source, self._files, self._domain = connection, source, files, domain
        formulas = {}
        for number, rule in enumerate(rules):
            height = domain.hierarchy(rule.attribute).height
            if rule.level is not None and not 0 <= rule.level <= height:
                raise InputError(f"{rule.attribute!r} has the levels 0 to {height}, not {rule.level}")
            if rule.condition is not None and not is_where(rule.condition):
                raise InputError("a rule for DuckDB needs a condition in text")
            if rule.condition is not None:
                formulas[number] = rule.condition, read_condition(rule.condition, files.columns)
        named = dict.fromkeys(name for _, formula in formulas.values() for name in columns_of(formula))
        self._columns = list(dict.fromkeys([*domain.attributes, *named]))
        files.check(self._columns)
        self._decimals = {name: "." if _is_typed(files, name) else source.decimal for name in self._columns}
        self._query = texts_query(connection, files, self._columns, memory)
        missing, hierarchies = frozenset(source.missing), dict(domain.items())
        decimals = {name: self._decimals[name] for name in named}
        self.count, texts = column_texts(self.blocks(), decimals, max(memory // _TEXT_BYTES, _TEXTS))
        self._rules = [
            (rule.attribute, domain.hierarchy(rule.attribute).height if rule.level is None else rule.level, number)
            for number, rule in enumerate(rules)
        ]
        self._conditions = {
            number: BoundCondition(
                condition, formula, {name: texts[name] for name in columns_of(formula)}, hierarchies, missing
            )
            for number, (condition, formula) in formulas.items()
        }

    def blocks(self) -> Iterator[dict[str, CodedColumn]]:
        """The columns of some complete rows at a time."""
        import pyarrow as pa

        relation = self._connection.sql(self._query)
        # DuckDB 2 has a new name for what was fetch_record_batch.
        reader = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader
        for batch in reader(_ROWS):
            rows = rows_of(pa.Table.from_batches([batch]), self._columns, self._files.name)
            block = {
                name: CodedColumn.of(rows.codes[name].astype(np.intp), rows.values[name], self._source.missing, decimal)
                for name, decimal in self._decimals.items()
            }
            complete = np.logical_and.reduce([block[name].codes >= 0 for name in self._domain.attributes])
            yield {name: column.among(complete) for name, column in block.items()}

    def disclosed(self) -> Iterator[NDArray[np.int32]]:
        """The rows in their order, as positions in `_labels`: shape (some, attributes), block by block.

        Raises InputError at the end if there were values that are no base values.
        """
        unknown = 0
        places = {attribute: _label_positions(hierarchy) for attribute, hierarchy in self._domain.items()}
        for block in self.blocks():
            levels = {name: np.zeros(len(column.codes), dtype=np.intp) for name, column in block.items()}
            for attribute, level, number in self._rules:
                condition = self._conditions.get(number)
                holds = True if condition is None else condition.holds(block)
                levels[attribute] = np.maximum(levels[attribute], np.where(holds, level, 0))
            positions = []
            for attribute, hierarchy in self._domain.items():
                codes = [self._source.base_code(attribute, text, hierarchy) for text in block[attribute].texts]
                base = np.array([-1 if code is None else code for code in codes], dtype=np.intp)[block[attribute].codes]
                unknown += int((base < 0).sum())
                positions.append(places[attribute][levels[attribute], base])
            yield np.stack(positions, axis=1).astype(np.int32)
        if unknown:
            raise InputError(
                f"{self._files.name} has {number_of(unknown, 'value that is', 'values that are')} not among the base "
                "values of their hierarchies"
            )


_ROWS = 100_000
"""Rows that are handled at a time."""

_TEXTS, _TEXT_BYTES = 1_000_000, 200
"""Different texts of a column that are held in any case, and the memory that one of more takes, about."""


def _labels(hierarchy: Hierarchy) -> NDArray[np.object_]:
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


class DisclosedFile(NamedTuple):
    """How many rows were written, and by which engine."""

    rows: int
    engine: str


def disclosing_engine(source: TableSource) -> str:
    """Which engine executes rules on a table: "duckdb", from file to file, or "pandas", in memory.

    It is the engine that reads the table; for "auto", DuckDB where it is installed and can read these files. Raises
    InputError for an engine that executes no rules, and where there are no files.
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
