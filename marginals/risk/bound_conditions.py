"""Conditions on the rows of one table: bound to the values that its columns have, and evaluated block by block.

A column in which every value is a number, as the column writes numbers, is compared with numbers, any other with texts in
quotes, in the order of their characters; codes with leading zeros are texts. Nothing else is guessed, because a rule that
silently holds for nobody discloses what it should hide. A missing value equals nothing and is neither less nor greater, so
!= and not in hold for it, as does the negation of the rest.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

import numpy as np

from marginals.conditions import (
    EXACT,
    Atom,
    Choice,
    Column,
    Comparison,
    Conjunction,
    Constant,
    Disjunction,
    Formula,
    Labels,
    Membership,
    Negation,
    Operand,
    Where,
    atoms,
    columns_of,
    formula_of,
    in_message,
    operands,
    parts,
    unquoted,
)
from marginals.errors import InputError
from marginals.tables.intervals import Range
from marginals.tables.values import POINT, NumberFormat, missing_among
from models.arrays import BoolArray, FloatArray, IndexArray
from models.tables.hierarchy import Hierarchy


class ColumnKind(Enum):
    """What the values of a column are, besides missing ones. NOTHING: there are none, which fits everything."""

    NOTHING = "nothing"
    NUMBERS = "numbers"
    TEXTS = "texts"


@dataclass(frozen=True, eq=False)
class ColumnTexts:
    """The different texts of a column that are not missing. decimal: the sign before the fraction of a number."""

    texts: tuple[str, ...]
    decimal: str = "."

    @cached_property
    def format(self) -> NumberFormat | None:
        """The format in which all values are numbers, the empty text being none; None if there is no such format."""
        values = [text for text in self.texts if text]
        found = NumberFormat.of(values, self.decimal)
        return found if found is not None and all(map(found.is_number, values)) else None

    @cached_property
    def kind(self) -> ColumnKind:
        """Numbers, texts, or nothing."""
        if not any(self.texts):
            return ColumnKind.NOTHING
        return ColumnKind.TEXTS if self.format is None else ColumnKind.NUMBERS

    @cached_property
    def spellings(self) -> dict[str, list[str]]:
        """The texts for each label that a table of the column has: a number has one label, however it is spelled."""
        written = NumberFormat.of([text for text in self.texts if text], self.decimal)
        result: dict[str, list[str]] = {}
        for text in self.texts:
            result.setdefault(text if written is None else written.canonical(text), []).append(text)
        return result


@dataclass(frozen=True, eq=False)
class CodedColumn:
    """A column of some rows. codes: positions in its texts, -1 for a missing value; shape (rows,)."""

    codes: IndexArray
    texts: tuple[str, ...]

    @classmethod
    def of(cls, codes: IndexArray, texts: Sequence[str | None], marks: Collection[str], decimal: str) -> "CodedColumn":
        """The column whose values None, and the marks, stand for missing ones."""
        absent = missing_among(texts, marks, decimal)
        present = [text for text in dict.fromkeys(texts) if text is not None and text not in absent]
        places = {text: place for place, text in enumerate(present)}
        recode = np.array([-1 if text is None else places.get(text, -1) for text in texts], dtype=np.intp)
        return cls(recode[codes], tuple(present))

    def among(self, rows: BoolArray) -> "CodedColumn":
        """The column of some of the rows."""
        return CodedColumn(self.codes[rows], self.texts)


def read_condition(condition: Where, columns: Sequence[str]) -> Formula:
    """Return the formula of a condition. Raises InputError if it names a column that a table lacks, or has twice."""
    formula = formula_of(condition, columns)
    for name in columns_of(formula):
        if columns.count(name) != 1:
            problem = "two columns of the table have" if name in columns else "no column of the table has"
            raise InputError(f"the condition {in_message(condition)} names {name!r}, a name that {problem}")
    return formula


@dataclass(frozen=True, eq=False)
class BoundCondition:
    """A condition on the rows of a table.

    columns: of those that the condition names. hierarchies: of the attributes of the table. missing: texts that stand for no
    value. Raises InputError for a choice of values that a column cannot have, and for a condition that would hold for
    nobody, or for other rows than meant, because of the values that the table has.
    """

    condition: Where
    formula: Formula
    columns: Mapping[str, ColumnTexts]
    hierarchies: Mapping[str, Hierarchy]
    missing: frozenset[str]
    bound: Formula = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "bound", self._bind(self.formula))
        for atom in atoms(self.bound):
            self._check(atom)

    def holds(self, rows: Mapping[str, CodedColumn]) -> BoolArray:
        """For each of some rows whether the condition holds: shape (rows,). rows: at least the columns of the condition."""
        numbers = {
            name: np.array([*map((column.format or POINT).real, rows[name].texts), np.nan])[rows[name].codes]
            for name, column in self.columns.items()
            if column.kind is not ColumnKind.TEXTS
        }

        def truth(formula: Formula) -> BoolArray:
            match formula:
                case Negation(term=term):
                    return ~truth(term)
                case Conjunction(terms=terms):
                    return np.asarray(np.logical_and.reduce(list(map(truth, terms))))
                case Disjunction(terms=terms):
                    return np.asarray(np.logical_or.reduce(list(map(truth, terms))))
                case Membership(column=column, values=values):
                    places = self._places(formula, rows, numbers)
                    return np.isin(places[column], [places[value] for value in values])
                case Comparison(left=left, sign=sign, right=right):
                    places = self._places(formula, rows, numbers)
                    return np.asarray(_COMPARED[sign](places[left], places[right]))
            raise TypeError("choices must be bound before")

        return truth(self.bound)

    def _places(
        self, atom: Atom, rows: Mapping[str, CodedColumn], numbers: Mapping[str, FloatArray]
    ) -> dict[Operand, FloatArray]:
        """Numbers that compare as the operands of an atom do: of a column shape (rows,), NaN for what is missing."""
        columns = [operand for operand in operands(atom) if isinstance(operand, Column)]
        constants = [operand for operand in operands(atom) if not isinstance(operand, Column)]
        if ColumnKind.NUMBERS in map(self._kind, operands(atom)):
            places: dict[Operand, FloatArray] = {column: numbers[column.name] for column in columns}
            return places | {constant: np.asarray(constant, dtype=float) for constant in constants}
        texts = {str(constant) for constant in constants}.union(*(rows[column.name].texts for column in columns))
        rank = {text: float(place) for place, text in enumerate(sorted(texts))}
        places = {constant: np.asarray(rank[str(constant)]) for constant in constants}
        for column in columns:
            coded = rows[column.name]
            places[column] = np.array([*(rank[text] for text in coded.texts), np.nan])[coded.codes]
        return places

    def _kind(self, operand: Operand) -> ColumnKind:
        if isinstance(operand, Column):
            return self.columns[operand.name].kind
        return ColumnKind.TEXTS if isinstance(operand, str) else ColumnKind.NUMBERS

    def _bind(self, formula: Formula) -> Formula:
        match formula:
            case Choice(column=column, texts=texts):
                return _either([self._chosen(column, text) for text in texts])
            case Negation(term=term):
                return Negation(self._bind(term))
            case Conjunction(terms=terms):
                return Conjunction(tuple(map(self._bind, terms)))
            case Disjunction(terms=terms):
                return Disjunction(tuple(map(self._bind, terms)))
        return formula

    def _chosen(self, column: Column, text: str) -> Formula:
        kind, labels = self.columns[column.name].kind, self._labels(column)
        if labels is not None and (inside := labels.labelled(text)) is not None:
            return self._among(column, labels, inside)
        divided = parts(text) if labels is None else labels.parts(text)
        if len(divided) > 1:
            return _either([self._chosen(column, part) for part in divided])
        if (exact := unquoted(text)) is not None:
            return Membership(column, (self._constant(exact, kind),))
        if kind is ColumnKind.NUMBERS:
            return self._compared(column, text, labels)
        if labels is None:  # it has no value
            return Membership(column, (text,))
        try:
            meaning = labels.meant(text)
        except InputError:  # whose sentence may quote values of rows
            raise self._not_chosen(column, "that it does not have, or by a range that is not of numbers") from None
        if meaning.cut.any():
            raise self._not_chosen(column, "by a range that cuts through one of its values")
        if unjudged := int(meaning.unjudged.sum()):
            raise self._not_chosen(
                column,
                f"in a range, and {unjudged:,} of its different values are no numbers: list them under data.missing if they "
                "stand for no value, or name values with | between",
            )
        return self._among(column, labels, meaning.surely)

    def _labels(self, column: Column) -> Labels | None:
        """The labels of an attribute; of another column of texts those that occur, flat."""
        hierarchy, values = self.hierarchies.get(column.name), self.columns[column.name]
        if hierarchy is None and values.kind is ColumnKind.TEXTS:
            hierarchy = Hierarchy.flat(values.texts)
        return None if hierarchy is None else Labels(column.name, hierarchy, of_table=True)

    def _among(self, column: Column, labels: Labels, inside: BoolArray) -> Membership:
        """The values under a label; of several, those that do not stand for no value."""
        values = self.columns[column.name]
        named = [label for label, is_meant in zip(labels.hierarchy.labels[0], inside.tolist()) if is_meant]
        if values.kind is ColumnKind.TEXTS and column.name in self.hierarchies:
            named = [text for label in named for text in values.spellings.get(label, [label])]
        if len(named) > 1:
            named = [text for text in named if text not in self.missing]
        return Membership(column, tuple(self._constant(text, values.kind) for text in named))

    def _compared(self, column: Column, text: str, labels: Labels | None) -> Formula:
        """A number that the column may have, or a range of numbers, which may hold for nobody."""
        if POINT.is_number(text):
            if labels is not None and POINT.real(text) not in map(POINT.real, labels.hierarchy.labels[0]):
                raise self._not_chosen(column, "that it does not have")
            return Comparison(column, "==", self._constant(text, ColumnKind.NUMBERS))
        numbers = Range.of(text)
        if numbers is None or numbers.is_empty:
            raise self._not_chosen(column, "that is neither a number nor a range of numbers, such as 20-39 or >=65")
        ends = []
        if numbers.low.is_finite():
            ends.append(Comparison(column, ">=" if numbers.with_low else ">", self._exact(float(numbers.low))))
        if numbers.high.is_finite():
            ends.append(Comparison(column, "<=" if numbers.with_high else "<", self._exact(float(numbers.high))))
        return ends[0] if len(ends) == 1 else Conjunction(tuple(ends))

    def _constant(self, text: str, kind: ColumnKind) -> Constant:
        return self._exact(POINT.real(text)) if kind is ColumnKind.NUMBERS and POINT.is_number(text) else text

    def _exact(self, number: float) -> int | float:
        if not abs(number) < EXACT:
            raise self._refusal("has a number of 2**53 or more, beyond which not all are told apart")
        return int(number) if number.is_integer() else number

    def _check(self, atom: Atom) -> None:
        """Raise InputError for an atom that compares numbers with texts, or asks for a missing value."""
        columns = {o.name: self._kind(o) for o in operands(atom) if isinstance(o, Column)}
        constants = [o for o in operands(atom) if not isinstance(o, Column)]
        kinds = set(map(self._kind, constants))
        for name, kind in columns.items():
            if kind is ColumnKind.NUMBERS and ColumnKind.TEXTS in kinds:
                raise self._refusal(
                    f"compares column {name!r}, in which every value is a number, with a text; write the number "
                    "without quotes"
                )
            if kind is ColumnKind.TEXTS and ColumnKind.NUMBERS in kinds:
                raise self._refusal(
                    f"compares column {name!r}, in which not every value is a number, with a number (codes with leading "
                    "zeros are none); write it as a text in quotes, or name in data.missing what stands for no value"
                )
        if {ColumnKind.NUMBERS, ColumnKind.TEXTS} <= set(columns.values()):
            raise self._refusal(f"compares columns {' and '.join(map(repr, columns))}, numbers and texts")
        if isinstance(atom, Membership) or (isinstance(atom, Comparison) and atom.sign == "=="):
            missing = {POINT.real(text) for text in self.missing} | self.missing
            if any(constant in missing for constant in constants):
                raise self._refusal(
                    f"asks for a value of column {next(iter(columns))!r} that data.missing says stands for no value, which "
                    "equals nothing"
                )

    def _refusal(self, problem: str) -> InputError:
        return InputError(f"the condition {in_message(self.condition)} {problem}")

    def _not_chosen(self, column: Column, problem: str) -> InputError:
        return self._refusal(
            f"asks column {column.name!r} for a value {problem}; a text that rows may have stands between quotes, "
            f"`{column.name}` == 'TEXT'"
        )


_COMPARED = {"==": np.equal, "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}


def _either(terms: Sequence[Formula]) -> Formula:
    return terms[0] if len(terms) == 1 else Disjunction(tuple(terms))


def column_texts(
    blocks: Iterable[Mapping[str, CodedColumn]], decimals: Mapping[str, str], most: int
) -> tuple[int, dict[str, ColumnTexts]]:
    """Return the number of rows of some blocks, and the texts of some columns that occur there. decimals: by column.

    most: texts of a column that may be held. Raises InputError, naming the column, if there are more.
    """
    count, seen = 0, {name: dict[str, None]() for name in decimals}
    for block in blocks:
        count += len(next(iter(block.values())).codes)
        for name, texts in seen.items():
            column = block[name]
            texts.update((column.texts[code], None) for code in np.unique(column.codes).tolist() if code >= 0)
            if len(texts) > most:
                raise InputError(
                    f"a condition is about {name!r}, which has more than {most:,} different values: more than data.memory "
                    "holds; raise it, or leave the condition out"
                )
    return count, {name: ColumnTexts(tuple(texts), decimals[name]) for name, texts in seen.items()}
