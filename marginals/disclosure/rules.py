"""Disclosing a table under rules: hide or generalize an attribute of the rows that a condition holds for (LSFB09 7.1).

A condition is a formula over the original columns (`"age > 80 and sex == 'Female'"` or `"age in 81-120"`, the grammar of
`marginals.conditions.grammar`), a predicate of the original table, or one truth value a row. Since it is always about the
originals, rules may be given in any order.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np

from checks.risk.disclosure import Disclosure
from checks.risk.disclosure import generalize as generalize_records
from checks.risk.record import Records, RecordSpace
from marginals.conditions.formula import columns_of
from marginals.conditions.grammar import Where, formula_of
from marginals.conditions.row_values import (
    CodedColumn,
    ColumnValues,
    Kind,
    check_columns,
    chosen_columns,
    executable,
    holds,
    kind_of_texts,
)
from marginals.disclosure.row_order import RowOrder, Shuffled, positions
from marginals.errors import InputError
from marginals.tables.rows import Rows
from marginals.tables.sources.pandas_frame import factorized
from models.arrays import BoolArray
from models.tables.hierarchy import Hierarchy

if TYPE_CHECKING:
    import pandas as pd

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

        return pd.DataFrame({str(name): _typed(column) for name, column in self.rows.frame.items()})

    def frame(self, order: RowOrder = Shuffled()) -> "pd.DataFrame":  # noqa: B008 - it is frozen
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
    rows = selected(table, condition)
    return replace(table, disclosure=generalize_records(table.disclosure, attribute, rows, level))


def disclose(rows: Rows, rules: Sequence[DisclosureRule]) -> DisclosedTable:
    """A table under some rules, in whatever order.

    >>> from marginals.example import attributes, frame
    >>> from marginals.disclosure.row_order import AsRead
    >>> from marginals.tables.source import read_rows
    >>> rules = [DisclosureRule("age", level=1), DisclosureRule("sex", condition="age < 30")]
    >>> table = disclose(read_rows(frame, attributes), rules)
    >>> table.frame(AsRead()).iloc[[0, -1]].values.tolist()
    [['20-29', '*', 'Asthma'], ['50-59', 'Male', 'Gout']]
    """
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
    columns = {}
    for name in columns_of(formula):
        codes, texts = factorized(rows.frame.iloc[:, names.index(name)].rename(name), rows.no_value)
        columns[name] = CodedColumn(codes, tuple(texts))
    kinds = {name: kind_of_texts(column.texts) for name, column in columns.items()}
    labels = dict(rows.domain.items())
    for name in chosen_columns(formula):
        if name not in labels and kinds[name] is Kind.TEXTS:
            labels[name] = Hierarchy.flat(columns[name].texts)
    return holds(executable(condition, formula, ColumnValues(kinds, labels, rows.no_value)), columns, kinds)


def _typed(column: "pd.Series[Any]") -> "pd.Series[Any]":
    import pandas as pd

    try:
        return pd.to_numeric(column)
    except (ValueError, TypeError):
        return column
