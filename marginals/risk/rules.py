"""Disclosure of a table under rules: values hidden or generalized in the rows that a condition holds for (LSFB09 7.1).

A condition is a formula over the original columns, or one truth value a row. Formulas are `"age > 80 and sex == 'Female'"`
or `"age in 81-120"`; `marginals.conditions` has the grammar. It is always about the originals, so rules may be
given in any order.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, cast

import numpy as np

from checks.risk.attackers import Records, RecordSpace
from checks.risk.disclosure import Disclosure
from checks.risk.disclosure import generalize as generalize_records
from marginals.arguments import elements_of, require, require_whole_number
from marginals.conditions import Where
from marginals.errors import InputError
from marginals.later import pd
from marginals.risk.bound_conditions import rows_that_meet
from marginals.tables.table import Rows
from models.arrays import BoolArray
from models.frozen import frozen

Condition: TypeAlias = "Where | Sequence[bool] | pd.Series[Any] | BoolArray | None"  # None: all rows


@frozen
class DisclosureRule:
    """Rule as data. level: None hides the attribute. condition: None is about all rows.

    >>> DisclosureRule("age", level=2, condition="age > 80")
    DisclosureRule(attribute='age', level=2, condition='age > 80')
    """

    attribute: str
    level: int | None = None
    condition: Condition = None


@frozen(eq=False)
class DisclosedTable:
    """A table and what is disclosed of it."""

    rows: Rows
    disclosure: Disclosure

    @property
    def records(self) -> Records:
        """The disclosed records."""
        return self.disclosure.records

    def frame(self, *, keep_order: bool = False, seed: int | None = None) -> "pd.DataFrame":
        """The disclosed labels, row by row, shuffled: where a row stands can tell whose it is.

        keep_order: in the order of the source instead. seed: None draws from the secrets of the operating system; with a
        number, for tests, others can restore the order of the source.
        """
        frame, rows = pd.DataFrame(self.records.labels()), len(self.rows)
        if keep_order:
            return frame
        if seed is None:
            keys = np.frombuffer(os.urandom(8 * rows), dtype=np.uint64)
        else:
            require_whole_number(seed, "seed", 0)
            keys = np.random.default_rng(seed).integers(0, 2**64, rows, dtype=np.uint64)
        return frame.iloc[np.argsort(keys, kind="stable")].reset_index(drop=True)


def hide(table: DisclosedTable, attribute: str, condition: Condition = None) -> DisclosedTable:
    """Return the table with an attribute suppressed in some rows (Definition 6, whose formula selects the other rows).

    Raises InputError for a condition that cannot be read, DomainMismatchError for an unknown attribute.

    >>> from marginals.example import attributes, frame
    >>> from marginals.tables.source import read_rows
    >>> hidden = hide(disclose(read_rows(frame, attributes), []), "diagnosis", "diagnosis == 'Gout' and sex == 'Female'")
    >>> hidden.frame()["diagnosis"].value_counts().to_dict()
    {'Flu': 17, 'Gout': 16, 'Asthma': 13, '*': 2}
    """
    return generalize(table, attribute, condition, None)


def generalize(table: DisclosedTable, attribute: str, condition: Condition, level: int | None) -> DisclosedTable:
    """Return the table with an attribute at a level (None: `*`) or as high as it is, in some rows (Definition 7).

    Errors as for `hide`; DisclosureRuleError for a level that the attribute does not have.

    >>> from marginals.example import attributes, frame
    >>> from marginals.tables.source import read_rows
    >>> table = generalize(disclose(read_rows(frame, attributes), []), "age", "age >= 50", 2)
    >>> sorted(table.frame()["age"].unique())
    ['22', '27', '34', '38', '40-59', '45']
    """
    require(table, DisclosedTable, "table", "what marginals.risk.disclose(rows, rules) returns")
    level = table.rows.domain.hierarchy(attribute).height if level is None else level
    rows = selected(table, condition)
    return replace(table, disclosure=generalize_records(table.disclosure, attribute, rows, level))


def disclose(rows: Rows, rules: Sequence[DisclosureRule]) -> DisclosedTable:
    """Return the table with disclosure rules applied; the order of the rules does not matter.

    >>> from marginals.example import attributes, frame
    >>> from marginals.tables.source import read_rows
    >>> rules = [DisclosureRule("age", level=1), DisclosureRule("sex", condition="age < 30")]
    >>> table = disclose(read_rows(frame, attributes), rules)
    >>> table.frame(keep_order=True).iloc[[0, -1]].values.tolist()
    [['20-29', '*', 'Asthma'], ['50-59', 'Male', 'Gout']]
    """
    require(rows, Rows, "rows", "what marginals.read_rows(source, attributes) returns")
    table = DisclosedTable(rows, Disclosure.of(Records.from_codes(RecordSpace(rows.domain), rows.codes)))
    for rule in elements_of(rules, "rules", "a list of marginals.risk.DisclosureRule", DisclosureRule):
        table = generalize(table, rule.attribute, rule.condition, rule.level)
    return table


def selected(table: DisclosedTable, condition: Condition) -> BoolArray:
    """Return the original rows that a condition holds for: shape (rows,). Raises InputError, never quoting a value."""
    rows = len(table.rows)
    if condition is None:
        return np.ones(rows, dtype=bool)
    is_list = isinstance(condition, Mapping | list | tuple) and len(condition) > 0
    if isinstance(condition, str) or (is_list and all(isinstance(part, str) for part in condition)):
        return rows_that_meet(table.rows, cast(Where, condition))
    truth = np.asarray(condition)
    if truth.dtype != np.bool_ or truth.shape != (rows,):
        raise InputError("a condition must say true or false for each row of the table")
    return truth
