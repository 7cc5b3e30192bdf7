"""Which rows of a table a condition means, the same by every engine.

A column in which every value is a number is compared with numbers, any other with texts in quotes, in the order of their
characters; nothing else is guessed, for a rule that silently holds for nobody discloses what it should hide. What is
missing equals nothing and is neither less nor greater, so != and not in hold for it, as does the negation of the rest.

A choice, such as `age in 20-39`, means the labels that an attribute has, of any level, and numbers; `bound` makes the
comparison of it that an engine executes.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

import numpy as np

from marginals.conditions.choices import in_message
from marginals.conditions.formula import (
    Atom,
    Choice,
    Column,
    Comparison,
    Conjunction,
    Constant,
    Disjunction,
    Formula,
    Membership,
    Negation,
    Operand,
    atoms,
    columns_of,
    operands,
)
from marginals.conditions.grammar import EXACT, Where
from marginals.conditions.labels import Labels, Range, parts, unquoted
from marginals.errors import InputError
from models.arrays import BoolArray, FloatArray
from models.tables.hierarchy import Hierarchy

NUMBER = r" *[+-]?([0-9]{1,400}(\.[0-9]{0,400})?|\.[0-9]{1,400})([eE][+-]?[0-9]{1,3})? *"
"""The texts that are numbers, as a regular expression of Python and of DuckDB."""


class Kind(Enum):
    """What the values of a column are, besides those that are missing. NOTHING: it has none, which fits everything."""

    NOTHING = "nothing"
    NUMBERS = "numbers"
    TEXTS = "texts"

    @classmethod
    def of(cls, values: int, numbers: int) -> "Kind":
        """From the number of values that are neither missing nor the empty text, and how many of them are numbers."""
        if not values:
            return cls.NOTHING
        return cls.NUMBERS if numbers == values else cls.TEXTS


def check_columns(condition: Where, formula: Formula, columns: Sequence[str]) -> None:
    """Raise InputError for a formula that names a column which a table with these columns lacks, or has twice."""
    for name in columns_of(formula):
        if columns.count(name) != 1:
            problem = "two columns of the table have" if name in columns else "no column of the table has"
            raise InputError(f"the condition {in_message(condition)} names {name!r}, a name that {problem}")


def kind_of(atom: Atom, kinds: Mapping[str, Kind]) -> Kind:
    """As what the values are compared: numbers or texts."""
    kinds_compared = {kinds[o.name] if isinstance(o, Column) else _kind_of_constant(o) for o in operands(atom)}
    return Kind.NUMBERS if Kind.NUMBERS in kinds_compared else Kind.TEXTS


def check_formula(condition: Where, formula: Formula, kinds: Mapping[str, Kind], missing: Iterable[str]) -> None:
    """Raise InputError for a formula that would hold for nobody, or for others than meant, because of what a table is.

    kinds: of the columns. missing: texts that stand for no value.
    """
    absent = frozenset(missing)
    rule = f"the condition {in_message(condition)}"
    for atom in atoms(formula):
        parts = operands(atom)
        of_columns = {o.name: kinds[o.name] for o in parts if isinstance(o, Column)}
        of_constants = {_kind_of_constant(o) for o in parts if not isinstance(o, Column)}
        for name, kind in of_columns.items():
            if kind is Kind.NUMBERS and Kind.TEXTS in of_constants:
                raise InputError(
                    f"{rule} compares column {name!r}, in which every value is a number, with a text; write the number "
                    "without quotes"
                )
            if kind is Kind.TEXTS and Kind.NUMBERS in of_constants:
                raise InputError(
                    f"{rule} compares column {name!r}, in which not every value is a number, with a number; write it as "
                    "a text in quotes, or name in data.missing what stands for no value"
                )
        if {Kind.NUMBERS, Kind.TEXTS} <= set(of_columns.values()):
            raise InputError(f"{rule} compares columns {' and '.join(map(repr, of_columns))}, numbers and texts")
        if isinstance(atom, Membership) or (isinstance(atom, Comparison) and atom.sign == "=="):
            for constant in (o for o in parts if not isinstance(o, Column)):
                if _is_missing(constant, absent):
                    raise InputError(
                        f"{rule} asks for a value of column {next(iter(of_columns))!r} that data.missing says stands for "
                        "no value, which equals nothing"
                    )


def chosen_columns(formula: Formula) -> tuple[str, ...]:
    """The columns of which a formula has choices: their labels must be known."""
    return tuple(dict.fromkeys(atom.column.name for atom in atoms(formula) if isinstance(atom, Choice)))


def executable(condition: Where, formula: Formula, values: "ColumnValues") -> Formula:
    """The formula of a condition with comparisons for its choices, which holds for those who are meant.

    Raises InputError for a choice of values that a column cannot have, and as `check_formula` does.
    """
    bound = _Binding(condition, values).bound(formula)
    check_formula(condition, bound, values.kinds, values.missing)
    return bound


@dataclass(frozen=True, eq=False)
class ColumnValues:
    """What is known of the values of the columns that a condition is about.

    kinds: of the columns. hierarchies: of those whose labels are known; for another column of texts that has choices, the
    texts that occur, flat. missing: texts that stand for no value.
    """

    kinds: Mapping[str, Kind]
    hierarchies: Mapping[str, Hierarchy]
    missing: frozenset[str]


@dataclass(frozen=True, eq=False)
class _Binding:
    """Comparisons for the choices of one condition."""

    condition: Where
    values: ColumnValues

    def bound(self, formula: Formula) -> Formula:
        """The formula with comparisons for its choices. Raises InputError for values that a column cannot have."""
        match formula:
            case Choice(column=column, texts=texts):
                return _either([self._bound(column, text) for text in texts])
            case Negation(term=term):
                return Negation(self.bound(term))
            case Conjunction(terms=terms):
                return Conjunction(tuple(map(self.bound, terms)))
            case Disjunction(terms=terms):
                return Disjunction(tuple(map(self.bound, terms)))
        return formula

    def _bound(self, column: Column, text: str) -> Formula:
        kind, labels = self.values.kinds[column.name], self._labels(column)
        if labels is not None and (inside := labels.labelled(text)) is not None:
            return self._among(column, labels, inside)
        divided = parts(text) if labels is None else labels.parts(text)
        if len(divided) > 1:
            return _either([self._bound(column, part) for part in divided])
        if (exact := unquoted(text)) is not None:
            return Membership(column, (self._constant(exact, kind),))
        if kind is Kind.NUMBERS:
            return self._compared(column, text, labels)
        if labels is None:  # it has no value
            return Membership(column, (text,))
        try:
            return self._among(column, labels, labels.meant(text))
        except InputError:  # whose sentence may quote values of rows
            raise self._refusal(
                column, "that it does not have, or by a range that is not of numbers or cuts through one of its values"
            ) from None

    def _labels(self, column: Column) -> Labels | None:
        hierarchy = self.values.hierarchies.get(column.name)
        return None if hierarchy is None else Labels(column.name, hierarchy)

    def _among(self, column: Column, labels: Labels, inside: BoolArray) -> Membership:
        """The values under a label; of several, those that do not stand for no value."""
        texts = [label for label, is_meant in zip(labels.hierarchy.labels[0], inside.tolist()) if is_meant]
        kept = texts if len(texts) == 1 else [text for text in texts if text not in self.values.missing]
        return Membership(column, tuple(self._constant(text, self.values.kinds[column.name]) for text in kept))

    def _compared(self, column: Column, text: str, labels: Labels | None) -> Formula:
        """A number that the column may have, or a range of numbers, which may hold for nobody."""
        if re.fullmatch(NUMBER, text):
            if labels is not None and number_of(text) not in map(number_of, labels.hierarchy.labels[0]):
                raise self._refusal(column, "that it does not have")
            return Comparison(column, "==", self._constant(text, Kind.NUMBERS))
        numbers = Range.of(text)
        if numbers is None or numbers.is_empty:
            raise self._refusal(column, "that is neither a number nor a range of numbers, such as 20-39 or >=65")
        ends = []
        if numbers.low.is_finite():
            ends.append(Comparison(column, ">=" if numbers.with_low else ">", self._exact(float(numbers.low))))
        if numbers.high.is_finite():
            ends.append(Comparison(column, "<=" if numbers.with_high else "<", self._exact(float(numbers.high))))
        return ends[0] if len(ends) == 1 else Conjunction(tuple(ends))

    def _constant(self, text: str, kind: Kind) -> Constant:
        return self._exact(number_of(text)) if kind is Kind.NUMBERS and re.fullmatch(NUMBER, text) else text

    def _exact(self, number: float) -> int | float:
        if not abs(number) < EXACT:
            raise InputError(
                f"the condition {in_message(self.condition)} has a number of 2**53 or more, beyond which not all are told "
                "apart"
            )
        return int(number) if number.is_integer() else number

    def _refusal(self, column: Column, problem: str) -> InputError:
        return InputError(
            f"the condition {in_message(self.condition)} asks column {column.name!r} for a value {problem}; a text that "
            f"rows may have stands between quotes, `{column.name}` == 'TEXT'"
        )


def _either(terms: Sequence[Formula]) -> Formula:
    return terms[0] if len(terms) == 1 else Disjunction(tuple(terms))


def number_of(text: str | None) -> float:
    """The number that a text is; NaN for none."""
    return float(text) if text is not None and re.fullmatch(NUMBER, text) else float("nan")


def kind_of_texts(texts: Iterable[str]) -> Kind:
    """The kind of a column with these values, the empty text being none."""
    values = [text for text in texts if text]
    return Kind.of(len(values), sum(np.isfinite(number_of(text)) for text in values))


@dataclass(frozen=True, eq=False)
class CodedColumn:
    """A column in memory. codes: positions in its texts, -1 where a value is missing; shape (rows,)."""

    codes: "np.ndarray[tuple[int], np.dtype[np.intp]]"
    texts: tuple[str, ...]

    @cached_property
    def numbers(self) -> FloatArray:
        """The numbers that its values are, NaN for those that are none: shape (rows,)."""
        of_texts: FloatArray = np.array([*map(number_of, self.texts), np.nan])
        return of_texts[self.codes]


def holds(formula: Formula, columns: Mapping[str, CodedColumn], kinds: Mapping[str, Kind]) -> BoolArray:
    """For each row of some columns whether a formula holds, which `check_formula` has let pass: shape (rows,)."""
    truth: BoolArray
    match formula:
        case Negation(term=term):
            truth = ~holds(term, columns, kinds)
        case Conjunction(terms=terms):
            truth = np.logical_and.reduce([holds(term, columns, kinds) for term in terms])
        case Disjunction(terms=terms):
            truth = np.logical_or.reduce([holds(term, columns, kinds) for term in terms])
        case Choice():
            raise TypeError("choices must be bound before")
        case Membership(column=column, values=values):
            ranked = _ranked(formula, columns, kinds)
            truth = np.isin(ranked(column), [ranked(value) for value in values])
        case Comparison(left=left, sign=sign, right=right):
            ranked = _ranked(formula, columns, kinds)
            compare = {"==": np.equal, "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}[sign]
            truth = compare(ranked(left), ranked(right))
    return truth


class _Ranking:
    """Numbers that compare as the values of one atom do, NaN for what is missing."""

    def __init__(self, columns: Mapping[str, CodedColumn], places: Mapping[str, float] | None) -> None:
        self._columns, self._places = columns, places

    def __call__(self, operand: Operand) -> FloatArray:
        if not isinstance(operand, Column):
            return np.asarray(self._places[str(operand)] if self._places is not None else operand, dtype=float)
        column = self._columns[operand.name]
        if self._places is None:
            return column.numbers
        ranks: FloatArray = np.array([*(self._places[text] for text in column.texts), np.nan])[column.codes]
        return ranks


def _ranked(atom: Atom, columns: Mapping[str, CodedColumn], kinds: Mapping[str, Kind]) -> _Ranking:
    if kind_of(atom, kinds) is Kind.NUMBERS:
        return _Ranking(columns, None)
    texts = {
        text for o in operands(atom) for text in (columns[o.name].texts if isinstance(o, Column) else (str(o),))
    }  # fmt: skip
    return _Ranking(columns, {text: float(place) for place, text in enumerate(sorted(texts))})


def _kind_of_constant(constant: Constant) -> Kind:
    return Kind.TEXTS if isinstance(constant, str) else Kind.NUMBERS


def _is_missing(constant: Constant, missing: frozenset[str]) -> bool:
    if isinstance(constant, str):
        return constant in missing
    return any(number_of(text) == constant for text in missing)
