"""Conditions on the rows of a table: formulas that say which rows a rule is about, the same by every engine.

A formula compares columns with constants, or with each other, by == != < <= > >=, in and not in, and combines that by and,
or and not (& | ~ between parentheses): `age > 80 and sex == 'Female'`. Names that are no words stand between backticks.

A column in which every value is a number is compared with numbers, any other with texts in quotes, in the order of their
characters; nothing else is guessed, for a rule that silently holds for nobody discloses what it should hide. What is
missing equals nothing and is neither less nor greater, so != and not in hold for it, as does the negation of the rest.
"""

import ast
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

import numpy as np

from marginals.errors import InputError
from models.arrays import BoolArray, FloatArray

NUMBER = r" *[+-]?([0-9]{1,400}(\.[0-9]{0,400})?|\.[0-9]{1,400})([eE][+-]?[0-9]{1,3})? *"
"""The texts that are numbers, as a regular expression of Python and of DuckDB."""

EXACT = 2**53
"""Whole numbers up to here are told apart by every engine."""

_DEEPEST = 100
"""So many parentheses and negations may lie in each other."""


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


@dataclass(frozen=True)
class Column:
    """The values of a column."""

    name: str


Constant: TypeAlias = "str | int | float"
Operand: TypeAlias = "Column | Constant"


@dataclass(frozen=True)
class Comparison:
    """Whether one value is ==, <, <=, > or >= another; a column is among them."""

    left: Operand
    sign: str
    right: Operand


@dataclass(frozen=True)
class Membership:
    """Whether the value of a column is among some, all numbers or all texts."""

    column: Column
    values: tuple[Constant, ...]


@dataclass(frozen=True)
class Negation:
    """Whether something does not hold."""

    term: "Formula"


@dataclass(frozen=True)
class Conjunction:
    """Whether all hold."""

    terms: "tuple[Formula, ...]"


@dataclass(frozen=True)
class Disjunction:
    """Whether one holds at least."""

    terms: "tuple[Formula, ...]"


Atom: TypeAlias = Comparison | Membership
Formula: TypeAlias = "Atom | Negation | Conjunction | Disjunction"

_SIGNS: Mapping[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}


def parsed(condition: str) -> Formula:
    """The formula in a text. Raises InputError for anything else.

    >>> parsed("ward not in [1, 2]")
    Negation(term=Membership(column=Column(name='ward'), values=(1, 2)))
    """
    text, columns = _unquoted(condition)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # backslashes that escape nothing
            tree = ast.parse(text, mode="eval")
        return _Reader(condition, text, columns).formula(tree.body)
    except InputError:
        raise
    except (SyntaxError, ValueError, RecursionError, MemoryError, Warning):
        raise InputError(
            f"the condition {_shown(condition)} cannot be read; it compares columns with constants, such as "
            "\"age > 80 and sex == 'Female'\""
        ) from None


def atoms(formula: Formula) -> Iterator[Atom]:
    """The comparisons in a formula."""
    match formula:
        case Negation(term=term):
            yield from atoms(term)
        case Conjunction(terms=terms) | Disjunction(terms=terms):
            for term in terms:
                yield from atoms(term)
        case _:
            yield formula


def operands(atom: Atom) -> tuple[Operand, ...]:
    """What is compared."""
    return (atom.left, atom.right) if isinstance(atom, Comparison) else (atom.column, *atom.values)


def columns_of(formula: Formula) -> tuple[str, ...]:
    """The names of the columns that a formula is about, none twice."""
    named = (operand.name for atom in atoms(formula) for operand in operands(atom) if isinstance(operand, Column))
    return tuple(dict.fromkeys(named))


def check_columns(condition: str, formula: Formula, columns: Sequence[str]) -> None:
    """Raise InputError for a formula that names a column which a table with these columns lacks, or has twice."""
    for name in columns_of(formula):
        if columns.count(name) != 1:
            problem = "two columns of the table have" if name in columns else "no column of the table has"
            raise InputError(f"the condition {_shown(condition)} names {name!r}, a name that {problem}")


def kind_of(atom: Atom, kinds: Mapping[str, Kind]) -> Kind:
    """As what the values are compared: numbers or texts."""
    found = {kinds[o.name] if isinstance(o, Column) else _kind_of_constant(o) for o in operands(atom)}
    return Kind.NUMBERS if Kind.NUMBERS in found else Kind.TEXTS


def check_formula(condition: str, formula: Formula, kinds: Mapping[str, Kind], missing: Iterable[str]) -> None:
    """Raise InputError for a formula that would hold for nobody, or for others than meant, because of what a table is.

    kinds: of the columns. missing: texts that stand for no value.
    """
    absent = frozenset(missing)
    rule = f"the condition {_shown(condition)}"
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
        if isinstance(atom, Membership) or atom.sign == "==":
            for constant in (o for o in parts if not isinstance(o, Column)):
                if _is_missing(constant, absent):
                    raise InputError(
                        f"{rule} asks for a value of column {next(iter(of_columns))!r} that data.missing says stands for "
                        "no value, which equals nothing"
                    )


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


def holds(formula: Formula, columns: Mapping[str, CodedColumn], kinds: Mapping[str, Kind]) -> BoolArray:
    """For each row of some columns whether a formula holds, which `check_formula` has let pass: shape (rows,)."""
    found: BoolArray
    match formula:
        case Negation(term=term):
            found = ~holds(term, columns, kinds)
        case Conjunction(terms=terms):
            found = np.logical_and.reduce([holds(term, columns, kinds) for term in terms])
        case Disjunction(terms=terms):
            found = np.logical_or.reduce([holds(term, columns, kinds) for term in terms])
        case Membership(column=column, values=values):
            ranked = _ranked(formula, columns, kinds)
            found = np.isin(ranked(column), [ranked(value) for value in values])
        case Comparison(left=left, sign=sign, right=right):
            ranked = _ranked(formula, columns, kinds)
            compare = {"==": np.equal, "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}[sign]
            found = compare(ranked(left), ranked(right))
    return found


class _Ranking:
    """Numbers that compare as the values of one atom do, NaN for what is missing."""

    def __init__(self, columns: Mapping[str, CodedColumn], places: Mapping[str, float] | None) -> None:
        self._columns, self._places = columns, places

    def __call__(self, operand: Operand) -> FloatArray:
        if not isinstance(operand, Column):
            return np.asarray(self._places[str(operand)] if self._places is not None else operand, dtype=float)
        column = self._columns[operand.name]
        of_texts = [number_of(t) if self._places is None else self._places[t] for t in column.texts]
        ranks: FloatArray = np.array([*of_texts, np.nan])[column.codes]
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


def _shown(condition: str) -> str:
    return repr(condition if len(condition) <= 200 else condition[:200] + "...")


_TOKEN = re.compile(r"""'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`([^`\n]+)`|\#""", re.DOTALL)


def _unquoted(condition: str) -> tuple[str, dict[str, str]]:
    """The condition with a word for each name between backticks, and the names that the words stand for."""
    columns: dict[str, str] = {}
    stem = "_column"
    while stem in condition:
        stem += "_"

    def word(match: re.Match[str]) -> str:
        if match[0] == "#":  # Python would take what follows for a comment
            raise InputError(f"the condition {_shown(condition)} has a # outside quotes; quote a column by backticks")
        if match[1] is None:
            return match[0]
        name = f"{stem}_{len(columns)}"
        columns[name] = match[1]
        return name

    return _TOKEN.sub(word, condition.strip()), columns


class _Reader:
    """The reading of one condition."""

    def __init__(self, condition: str, text: str, columns: Mapping[str, str]) -> None:
        self._condition, self._text, self._columns = condition, text, columns

    def formula(self, node: ast.expr, depth: int = 0) -> Formula:
        if depth > _DEEPEST:
            raise self._refusal(f"goes deeper than {_DEEPEST} parentheses; make it several rules")
        match node:
            case ast.BoolOp(op=ast.And(), values=values):
                return Conjunction(tuple(self.formula(value, depth + 1) for value in values))
            case ast.BoolOp(op=ast.Or(), values=values):
                return Disjunction(tuple(self.formula(value, depth + 1) for value in values))
            case ast.BinOp(op=ast.BitAnd()):
                return Conjunction(tuple(self.formula(value, depth + 1) for value in _chain(node, ast.BitAnd)))
            case ast.BinOp(op=ast.BitOr()):
                return Disjunction(tuple(self.formula(value, depth + 1) for value in _chain(node, ast.BitOr)))
            case ast.UnaryOp(op=ast.Not() | ast.Invert(), operand=operand):
                return Negation(self.formula(operand, depth + 1))
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                parts = [left, *comparators]
                compared = tuple(self._compared(a, op, b) for a, op, b in zip(parts, ops, parts[1:]))
                return compared[0] if len(compared) == 1 else Conjunction(compared)
        raise self._refusal("may compare columns with constants and combine that, in parentheses, by and, or, not")

    def _compared(self, left: ast.expr, op: ast.cmpop, right: ast.expr) -> Formula:
        if isinstance(op, ast.In | ast.NotIn):
            column, values = self._operand(left), self._values(right)
            if not isinstance(column, Column):
                raise self._refusal("may say of a column, not of a constant, that it is in a list")
            among = Membership(column, values)
            return among if isinstance(op, ast.In) else Negation(among)
        first, second = self._operand(left), self._operand(right)
        if not isinstance(first, Column) and not isinstance(second, Column):
            raise self._refusal("compares constants with each other; compare columns with constants")
        if isinstance(op, ast.NotEq):
            return Negation(Comparison(first, "==", second))
        if type(op) not in _SIGNS:
            raise self._refusal("may compare by == != < <= > >= and in, not by is")
        return Comparison(first, _SIGNS[type(op)], second)

    def _values(self, node: ast.expr) -> tuple[Constant, ...]:
        found = tuple(map(self._operand, node.elts)) if isinstance(node, ast.List | ast.Tuple) else ()
        constants = tuple(value for value in found if not isinstance(value, Column))
        is_list = isinstance(node, ast.List | ast.Tuple) and len(constants) == len(found)
        if not is_list or len(set(map(_kind_of_constant, constants))) > 1:
            raise self._refusal("needs a list of constants after in, all numbers or all texts")
        return constants

    def _operand(self, node: ast.expr) -> Operand:
        match node:
            case ast.Name(id=name):
                return Column(self._columns.get(name) or ast.get_source_segment(self._text, node) or name)
            case ast.Constant(value=str() as value):
                return value
            case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
                return self._number(value)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)) if not isinstance(
                value, bool
            ):
                return -self._number(value)
            case ast.Constant(value=bool() as value):
                raise self._refusal(f"compares with {value}; write it as the text '{value}', or as the table spells it")
        raise self._refusal("may compare columns, numbers and texts in quotes with each other, nothing else")

    def _number(self, value: int | float) -> int | float:
        if not abs(value) < EXACT:
            raise self._refusal("has a number of 2**53 or more, beyond which not all are told apart")
        return value

    def _refusal(self, problem: str) -> InputError:
        return InputError(f"the condition {_shown(self._condition)} {problem}")


def _chain(node: ast.expr, op: type[ast.operator]) -> list[ast.expr]:
    """What the same sign combines one after the other."""
    terms: list[ast.expr] = []
    while isinstance(node, ast.BinOp) and isinstance(node.op, op):
        terms.append(node.right)
        node = node.left
    return [node, *reversed(terms)]
