"""Conditions on the rows of one table: bound to the values that its columns have, and evaluated.

A column in which every value is a number, as the column writes numbers, is compared with numbers. Any other is compared with
texts in quotes, in the order of their characters; codes with leading zeros are texts. Nothing else is guessed, because a
rule that silently holds for nobody discloses what it should hide. A missing value equals nothing and is neither less nor
greater. So != and not in hold for it, as does the negation of the rest.
"""

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from marginals.conditions import (
    Atom,
    Choice,
    Column,
    Conjunction,
    Disjunction,
    Formula,
    Inequality,
    Labels,
    Membership,
    Negation,
    NothingInRangeError,
    Operand,
    Where,
    columns_of,
    formula_of,
    in_message,
    operands,
    unquoted,
)
from marginals.errors import InputError
from marginals.tables.distinct_rows import factorized
from marginals.tables.intervals import Range
from marginals.tables.table import Rows
from marginals.tables.values import POINT, NumberFormat
from models.arrays import BoolArray, FloatArray, IndexArray
from models.frozen import frozen
from models.tables.hierarchy import MISSING, Hierarchy

_NUMBERS, _TEXTS, _NOTHING = "numbers", "texts", "nothing"  # a column of nothing fits everything
_COMPARED = {"==": np.equal, "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}


def rows_that_meet(rows: Rows, condition: Where) -> BoolArray:
    """Return for each row whether a condition holds: shape (rows,). Raises InputError."""
    names = [str(name) for name in rows.frame.columns]
    formula, columns = formula_of(condition, names), {}
    for name in columns_of(formula):
        if names.count(name) != 1:
            problem = "two columns of the table have" if name in names else "no column of the table has"
            raise InputError(f"the condition {in_message(condition)} names {name!r}, a name that {problem}")
        column = rows.frame.iloc[:, names.index(name)].rename(name)
        # A column of numbers has a point before their fraction, whatever the texts of the table have.
        decimal = "." if column.dtype.kind in "iufb" else rows.decimal
        codes, texts = factorized(column, rows.no_value, decimal)
        columns[name] = _Values(codes, tuple(texts), decimal)
    return _BoundCondition(condition, columns, rows).holds(formula)


@frozen(eq=False)
class _Values:
    """A column. codes: of each row the position in its texts, -1 for a missing value. decimal: before a fraction."""

    codes: IndexArray
    texts: tuple[str, ...]
    decimal: str

    @cached_property
    def _written(self) -> NumberFormat | None:
        return NumberFormat.of([text for text in self.texts if text], self.decimal)

    @cached_property
    def _format(self) -> NumberFormat | None:
        written = self._written
        return written if written is not None and all(written.is_number(text) for text in self.texts if text) else None

    @cached_property
    def kind(self) -> str:
        return _NOTHING if not any(self.texts) else _TEXTS if self._format is None else _NUMBERS

    @cached_property
    def numbers(self) -> FloatArray:
        """The number of each row, NaN for what is missing: shape (rows,)."""
        return np.array([*map((self._format or POINT).real, self.texts), np.nan])[self.codes]

    @cached_property
    def labelled(self) -> tuple[Hierarchy, IndexArray]:
        """The labels that a table of the column has, a number spelled in one way, and the code of each row."""
        labels = [text if self._written is None else self._written.canonical(text) for text in self.texts]
        hierarchy = Hierarchy.flat(dict.fromkeys(labels))
        return hierarchy, np.append(hierarchy.codes(labels, 0), -1)[self.codes]


@frozen(eq=False)
class _BoundCondition:
    condition: Where
    columns: Mapping[str, _Values]
    rows: Rows

    def holds(self, formula: Formula) -> BoolArray:
        match formula:
            case Negation(term=term):
                return ~self.holds(term)
            case Conjunction(terms=terms):
                return np.asarray(np.logical_and.reduce([*map(self.holds, terms)]))
            case Disjunction(terms=terms):
                return np.asarray(np.logical_or.reduce([*map(self.holds, terms)]))
            case Choice(column=column, texts=texts):
                nobody = np.zeros(len(self.rows), dtype=bool)
                return np.asarray(np.logical_or.reduce([nobody, *(self._chosen(column.name, text) for text in texts)]))
        self._check(formula)
        places = self._places(formula)
        if isinstance(formula, Membership):
            return np.isin(places[formula.column], [places[value] for value in formula.values])
        return np.asarray(_COMPARED[formula.sign](places[formula.left], places[formula.right]))

    def _places(self, atom: Atom) -> dict[Operand, FloatArray]:
        """Numbers that compare as the operands of an atom do: of a column shape (rows,), NaN for what is missing."""
        columns = {operand: self.columns[operand.name] for operand in operands(atom) if isinstance(operand, Column)}
        constants = [operand for operand in operands(atom) if not isinstance(operand, Column)]
        if _NUMBERS in map(self._kind, operands(atom)):
            places: dict[Operand, FloatArray] = {column: values.numbers for column, values in columns.items()}
            return places | {constant: np.asarray(constant, dtype=float) for constant in constants}
        texts = {str(constant) for constant in constants}.union(*(values.texts for values in columns.values()))
        rank = {text: float(place) for place, text in enumerate(sorted(texts))}
        places = {constant: np.asarray(rank[str(constant)]) for constant in constants}
        for column, values in columns.items():
            places[column] = np.array([*(rank[text] for text in values.texts), np.nan])[values.codes]
        return places

    def _kind(self, operand: Operand) -> str:
        if isinstance(operand, Column):
            return self.columns[operand.name].kind
        return _TEXTS if isinstance(operand, str) else _NUMBERS

    def _chosen(self, name: str, text: str) -> BoolArray:
        if not self.columns[name].texts:
            return np.zeros(len(self.rows), dtype=bool)
        is_attribute = name in self.rows.codes
        hierarchy = self.rows.domain.hierarchy(name) if is_attribute else self.columns[name].labelled[0]
        codes = self.rows.codes[name] if is_attribute else self.columns[name].labelled[1]
        labels = Labels(name, hierarchy, of_table=True)
        if labels.labelled(text) is None and len(divided := labels.parts(text)) > 1:
            return np.asarray(np.logical_or.reduce([self._chosen(name, part) for part in divided]))
        if (exact := unquoted(text)) is not None:
            is_number = self.columns[name].kind == _NUMBERS and POINT.is_number(exact)
            return self.holds(Membership(Column(name), (POINT.real(exact) if is_number else exact,)))
        try:
            meaning = labels.meaning_of(text)
        except NothingInRangeError:
            if POINT.is_number(text):
                raise self._not_chosen(name, "that it does not have") from None
            if (numbers := Range.of(text)) is None or numbers.is_empty:
                raise self._not_chosen(name, "in a range that holds no number, such as 39-20 for 20-39") from None
            return np.zeros(len(self.rows), dtype=bool)
        except InputError:  # whose sentence may quote values of rows
            raise self._not_chosen(name, "that it does not have, or by a range that is not of numbers") from None
        if meaning.cut.any():
            raise self._not_chosen(name, "by a range that cuts through one of its values")
        if unjudged := int(meaning.unjudged.sum()):
            raise self._not_chosen(
                name,
                f"in a range, and {unjudged:,} of its different values are no numbers: list them under data.missing if they "
                "stand for no value, or name values with | between",
            )
        return np.append(meaning.surely & (np.array(hierarchy.labels[0]) != MISSING), False)[codes]

    def _check(self, atom: Atom) -> None:
        columns = {o.name: self._kind(o) for o in operands(atom) if isinstance(o, Column)}
        constants = [o for o in operands(atom) if not isinstance(o, Column)]
        kinds = set(map(self._kind, constants))
        for name, kind in columns.items():
            if kind == _NUMBERS and _TEXTS in kinds:
                raise self._refusal(
                    f"compares column {name!r}, in which every value is a number, with a text; write the number "
                    "without quotes"
                )
            if kind == _TEXTS and _NUMBERS in kinds:
                raise self._refusal(
                    f"compares column {name!r}, in which not every value is a number, with a number (codes with leading "
                    "zeros are none). Write it as a text in quotes, or name in data.missing what stands for no value"
                )
        if {_NUMBERS, _TEXTS} <= set(columns.values()):
            raise self._refusal(f"compares columns {' and '.join(map(repr, columns))}, numbers and texts")
        if isinstance(atom, Membership) or (isinstance(atom, Inequality) and atom.sign == "=="):
            missing = {POINT.real(text) for text in self.rows.no_value} | self.rows.no_value
            if any(constant in missing for constant in constants):
                raise self._refusal(
                    f"asks for a value of column {next(iter(columns))!r} that data.missing says stands for no value, which "
                    "equals nothing"
                )

    def _refusal(self, problem: str) -> InputError:
        return InputError(f"the condition {in_message(self.condition)} {problem}")

    def _not_chosen(self, name: str, problem: str) -> InputError:
        return self._refusal(
            f"asks column {name!r} for a value {problem}; a text that rows may have stands between quotes, "
            f"`{name}` == 'TEXT'"
        )
