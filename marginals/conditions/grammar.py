r"""The grammar of conditions: which rows of a table are meant, in the notation of queries or in that of rules.

    condition  = either
    either     = both { "or" both }
    both       = single { "and" single }
    single     = "not" single | "(" condition ")" | choice | comparison
    choice     = column ("=" | ["not"] "in") values | column sign number "|" values
    values     = value { "|" value }
    value      = label | label "@" level | number ("-" | "..") ["<"] number | sign number | text
    comparison = operand sign operand { sign operand } | column ["not"] "in" list
    operand    = column | number | text
    list       = "[" [ constant { "," constant } ] "]"          constants: all numbers or all texts; also in parentheses
    sign       = "==" | "!=" | "<" | "<=" | ">" | ">="          != only between operands
    column     = a word, a name between backticks, or any name that the table has
    text       = characters between quotes, as in Python

Between parentheses, & | ~ stand for and, or and not, and bind as in Python. A choice is the notation of queries, such as
`age in 20-39` or `diagnosis=Asthma|Migraine`; a comparison that of rules, such as `age > 80 and sex == 'Female'`. Each is
understood wherever the other is.

A label is written as it is, without quotes. It goes on to the last place where it is still a label that the column is known
to have; else to the end, to a parenthesis that it has not opened, or to an "and" or "or" behind which a condition
begins. What a value means is said by the columns' labels (`marginals.conditions.labels`). A name is the longest that the
table has and that a sign follows.

Conditions may also come as a mapping, `{"age": "20-39", "race": ["White", "Black"]}`, whose values are choices, and
as several texts; then all must hold.
"""

import ast
import re
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from marginals.conditions.choices import (
    BACKTICKS,
    QUOTED,
    IsValue,
    Scanned,
    Scanner,
    in_message,
    no_value_is_known,
    unused_word,
)
from marginals.conditions.formula import (
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
)
from marginals.errors import InputError

Values: TypeAlias = str | float | Iterable[str | float]
"""A label or a range of numbers, a number, or several of these, any of which will do."""

Where: TypeAlias = Mapping[str, Values] | Sequence[str]
"""`{"age": "20-39", "race": ["White", "Black"]}`, or `["age in 20-39", "race=White|Black"]`, or one such text."""

EXACT = 2**53
"""Whole numbers up to here are told apart by every engine."""

_DEEPEST = 100
"""Parentheses and negations that may lie in each other."""

_LONGEST = 20_000
"""Characters of a condition."""


def is_text(text: str) -> bool:
    """Whether every program can take a text: it has no NUL, and UTF-8 can spell it."""
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def formula_of(where: Where, names: Collection[str] = (), is_value: IsValue = no_value_is_known) -> Formula:
    """The formula of a condition, or of several, all of which must hold. names, is_value: as for `parsed`.

    Raises InputError for what is none.

    >>> formula_of({"age": ["20-39", 50]})
    Choice(column=Column(name='age'), texts=('20-39', '50'))
    """
    terms: list[Formula]
    if isinstance(where, Mapping):
        terms = [Choice(Column(name), texts_of(name, values)) for name, values in where.items()]
    else:
        terms = [parsed(text, names, is_value) for text in ([where] if isinstance(where, str) else where)]
    return terms[0] if len(terms) == 1 else Conjunction(tuple(terms))


def texts_of(name: str, values: Values) -> tuple[str, ...]:
    """The labels and ranges that are asked for, any of which will do. Raises InputError, naming the attribute."""
    if isinstance(values, str):
        return (values,)
    if isinstance(values, float | int | np.number):
        return (str(int(values)) if values == values // 1 else str(values),)
    if isinstance(values, tuple) or not isinstance(values, Iterable):
        # A pair could be the ends of a range as well as two values.
        raise InputError(f"{name!r} is asked for by a label, a range such as '20-39', or a list of labels")
    return tuple(text for part in values for text in texts_of(name, part))


def parsed(condition: str, names: Collection[str] = (), is_value: IsValue = no_value_is_known) -> Formula:
    """The formula in a text. Raises InputError for anything else.

    names: those that the table has, of any characters; other columns are words or stand between backticks. is_value: whether
    a column has the values that a text means; such a text is a choice, whatever else it could be.

    >>> parsed("ward not in [1, 2]")
    Negation(term=Membership(column=Column(name='ward'), values=(1, 2)))
    >>> parsed("marital status=Married|Widowed", ["marital status"])
    Choice(column=Column(name='marital status'), texts=('Married|Widowed',))
    """
    if len(condition) > _LONGEST:
        raise InputError(f"a condition has {len(condition)} characters, more than the {_LONGEST} that are read")
    if not is_text(condition):
        raise InputError(
            f"the condition {in_message(condition)} is no text: a half of a surrogate pair is no character"
        )
    scanner = Scanner(condition, names, is_value)
    choice = scanner.whole()
    if choice is not None:
        return choice
    try:
        return _formula(condition, Scanned(*_plain(condition), {}))
    except InputError as error:
        plain_error = error
    scanned = scanner.scanned()
    if scanned.choices or len(scanned.columns) > len(BACKTICKS.findall(condition)):
        return _formula(condition, scanned)
    raise plain_error


def _formula(condition: str, scanned: Scanned) -> Formula:
    """The formula in Python's notation."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # backslashes that escape nothing
            tree = ast.parse(scanned.text.strip(), mode="eval")
        return _Reader(condition, scanned).formula(tree.body)
    except InputError:
        raise
    except (SyntaxError, ValueError, RecursionError, MemoryError, Warning):
        raise InputError(
            f"the condition {in_message(condition)} cannot be read; it compares columns with constants, such as "
            "\"age > 80 and sex == 'Female'\""
        ) from None


_TOKEN = re.compile(rf"{QUOTED}|{BACKTICKS.pattern}|\#", re.DOTALL)


def _plain(condition: str) -> tuple[str, dict[str, str]]:
    """The condition with a word for each name between backticks, and the names that the words stand for."""
    columns: dict[str, str] = {}
    stem = unused_word(condition, "_column")

    def word(match: re.Match[str]) -> str:
        if match[0] == "#":  # Python would take what follows for a comment
            raise InputError(
                f"the condition {in_message(condition)} has a # outside quotes; quote a column by backticks"
            )
        if match[1] is None:
            return match[0]
        name = f"{stem}_{len(columns)}"
        columns[name] = match[1]
        return name

    return _TOKEN.sub(word, condition.strip()), columns


_SIGNS: Mapping[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}


class _Reader:
    """The reading of one condition."""

    def __init__(self, condition: str, scanned: Scanned) -> None:
        self._condition = condition
        self._lines = [line.encode() for line in re.split("\r\n|\r|\n", scanned.text.strip())]
        self._columns, self._choices = scanned.columns, scanned.choices

    def formula(self, node: ast.expr, depth: int = 0) -> Formula:
        if depth > _DEEPEST:
            raise self._refusal(f"goes deeper than {_DEEPEST} parentheses; make it several rules")
        match node:
            case ast.Name(id=name) if name in self._choices:
                return self._choices[name]
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
        listed = tuple(map(self._operand, node.elts)) if isinstance(node, ast.List | ast.Tuple) else ()
        constants = tuple(value for value in listed if not isinstance(value, Column))
        is_list = isinstance(node, ast.List | ast.Tuple) and len(constants) == len(listed)
        if not is_list or len({isinstance(value, str) for value in constants}) > 1:
            raise self._refusal("needs a list of constants after in, all numbers or all texts")
        return constants

    def _operand(self, node: ast.expr) -> Operand:
        match node:
            case ast.Name(id=name) if name not in self._choices:
                return Column(self._columns.get(name) or self._written(node))
            case ast.Constant(value=str() as value):
                if not is_text(value):
                    raise self._refusal("spells a NUL or a half of a surrogate pair, which are no text")
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

    def _written(self, name: ast.expr) -> str:
        """A name as it is written; Python takes some characters for others. Its place is counted in bytes of UTF-8."""
        return self._lines[name.lineno - 1][name.col_offset : name.end_col_offset].decode()

    def _number(self, value: int | float) -> int | float:
        if not abs(value) < EXACT:
            raise self._refusal("has a number of 2**53 or more, beyond which not all are told apart")
        return value

    def _refusal(self, problem: str) -> InputError:
        return InputError(f"the condition {in_message(self._condition)} {problem}")


def _chain(node: ast.expr, op: type[ast.operator]) -> list[ast.expr]:
    """What the same sign combines one after the other."""
    terms: list[ast.expr] = []
    while isinstance(node, ast.BinOp) and isinstance(node.op, op):
        terms.append(node.right)
        node = node.left
    return [node, *reversed(terms)]
