"""The grammar of conditions: which rows of a table are meant, in the notation of queries or in that of rules.

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
begins. What a value means is said by the columns' labels (`Labels`). A name is the longest that the
table has and that a sign follows.

Conditions may also come as a mapping, `{"age": "20-39", "race": ["White", "Black"]}`, whose values are choices, and
as several texts; then all must hold.
"""

import ast
import re
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property, reduce
from operator import or_
from typing import NamedTuple, TypeAlias

import numpy as np

from marginals.arguments import require
from marginals.errors import InputError
from marginals.messages import suggested
from marginals.tables.intervals import Range, are_names, interval, named_numbers, names_missing, numbers_of
from marginals.tables.values import PLAIN, POINT, NumberFormat, has_leading_zero
from models.arrays import BoolArray, FloatArray
from models.tables.hierarchy import MISSING, SUPPRESSED, Hierarchy


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
class Choice:
    """Whether the value of a column is one of those that texts mean: labels, and ranges of numbers, as in `age=20-39`.

    texts: any of them will do. What a text means depends on the labels that the column has, and is not decided here.
    """

    column: Column
    texts: tuple[str, ...]


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


Atom: TypeAlias = Comparison | Membership | Choice
Formula: TypeAlias = "Atom | Negation | Conjunction | Disjunction"


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
    match atom:
        case Comparison(left=left, right=right):
            return (left, right)
        case Membership(column=column, values=values):
            return (column, *values)
        case Choice(column=column):
            return (column,)


def columns_of(formula: Formula) -> tuple[str, ...]:
    """The names of the columns that a formula is about, none twice."""
    named = (operand.name for atom in atoms(formula) for operand in operands(atom) if isinstance(operand, Column))
    return tuple(dict.fromkeys(named))


# Choices in the text of a condition, such as `age in 20-39`, and names of columns that are no words.
#
# They are found first, and words are put in their places; what is left has the grammar of Python.


IsValue: TypeAlias = Callable[[str, str], bool]
"""Whether a column, by its name, is known to have the values that a text means."""


QUOTED = r"""'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*\""""
BACKTICKS = re.compile(r"`([^`\n]+)`")


def no_value_is_known(_column: str, _text: str) -> bool:
    """Where the labels of a column are not known before its rows are read."""
    return False


def in_message(condition: object) -> str:
    """A condition in a message."""
    text = condition if isinstance(condition, str) else str(condition)
    return repr(text if len(text) <= 200 else text[:200] + "...")


def unused_word(condition: str, stem: str) -> str:
    """A word, for the beginning of others, that the condition does not contain."""
    while stem in condition:
        stem += "_"
    return stem


class Scanned(NamedTuple):
    """A text, and the columns and choices that some of its words stand for."""

    text: str
    columns: Mapping[str, str]
    choices: Mapping[str, Formula]


_SIGN = re.compile(r"\s*(?:[=!<>]=?|(?<!\w)(?:not\s+)?in\b)")
_IS_CHOICE = re.compile(r"\s*=(?!=)\s*|\s+(not\s+)?in\s+(?![\[(])", re.DOTALL)
_NUMBER_OR = re.compile(rf"\s*[<>]=?\s*{PLAIN}\s*\|")
_WORD = re.compile(r"[^\W\d]\w*")
_BEFORE_TERM = re.compile(r"(?:[\s(~]|not\b)*")
_CONSTANT = re.compile(rf"(?:{QUOTED}|{PLAIN})", re.DOTALL)
_ELSEWHERE = re.compile(rf"{QUOTED}|\s+|\w+|[=!<>]=|.", re.DOTALL)


class Scanner:
    """The reading of choices and of names that are no words, for which words of Python are put."""

    def __init__(self, condition: str, names: Collection[str], is_value: IsValue) -> None:
        self._condition, self._text, self._is_value = condition, condition.strip(), is_value
        self._names = sorted(names, key=len, reverse=True)
        self._columns: dict[str, str] = {}
        self._choices: dict[str, Formula] = {}

    def whole(self) -> Choice | None:
        """The choice that the whole text is, if it means values that a column is known to have."""
        for name in self._names:
            if not self._text.startswith(name):
                continue
            rest = self._text[len(name) :]
            for begin in re.finditer(r"\A\s*=\s*|\A\s+in\s+|\A\s*(?=[<>])", rest):
                values = rest[begin.end() :].strip()
                if self._is_value(name, values):
                    return Choice(Column(name), (values,))
        return None

    def scanned(self) -> Scanned:
        """The text with words for choices and names, and what they stand for. Raises InputError for a # outside them."""
        written: list[str] = []
        place, term, operand = 0, True, True
        column_stem, choice_stem = (unused_word(self._condition, stem) for stem in ("_column", "_choice"))
        while place < len(self._text):
            if term and (begun := self._choice(place)) is not None:
                formula, place = begun
                word = f"{choice_stem}_{len(self._choices)}"
                self._choices[word] = formula
                written.append(f" {word} ")
                term = operand = False
                continue
            if operand and (named := self._name(place)) is not None:
                name, place = named
                word = f"{column_stem}_{len(self._columns)}"
                self._columns[word] = name
                written.append(f" {word} ")
                term = operand = False
                continue
            token = _ELSEWHERE.match(self._text, place)
            assert token is not None
            place = token.end()
            written.append(token[0])
            if token[0] == "#":
                raise InputError(
                    f"the condition {in_message(self._condition)} has a # outside quotes; quote a column by backticks"
                )
            if not token[0].isspace():
                term = token[0] in ("and", "or", "not", "&", "|", "~") or (term and token[0] == "(")
                operand = term or token[0] in ("==", "!=", "<", "<=", ">", ">=")
        return Scanned("".join(written), self._columns, self._choices)

    def _name(self, place: int) -> tuple[str, int] | None:
        """The name of a column that begins at a place and is no word, or that a sign or the end follows."""
        if quoted := BACKTICKS.match(self._text, place):
            return quoted[1], quoted.end()
        for name in self._names:
            end = place + len(name)
            if not _WORD.fullmatch(name) and self._text.startswith(name, place):
                rest = self._text[end:].lstrip()
                if not rest or rest[0] in "=!<>)&|" or re.match(r"(in|not|and|or)\b", rest):
                    return name, end
        return None

    def _choice(self, place: int) -> tuple[Formula, int] | None:
        """The choice that begins at a place, and where it ends."""
        for name, end in self._beginnings(place):
            if begin := _IS_CHOICE.match(self._text, end):
                values, after = self._values(name, begin.end())
                choice = Choice(Column(name), (values,))
                return (Negation(choice) if begin[1] else choice), after
            if re.match(r"\s*[<>]", self._text[end:]):
                values, after = self._values(name, end)
                if _NUMBER_OR.match(self._text, end) or self._is_value(name, values):
                    return Choice(Column(name), (values,)), after
        return None

    def _beginnings(self, place: int) -> Iterator[tuple[str, int]]:
        """The names that may begin at a place, and where they end: the longest that the table has and a sign follows."""
        if quoted := BACKTICKS.match(self._text, place):
            yield quoted[1], quoted.end()
            return
        for name in self._names:
            if self._text.startswith(name, place) and _SIGN.match(self._text, place + len(name)):
                yield name, place + len(name)
                return
        if (word := _WORD.match(self._text, place)) and word[0] not in ("and", "or", "not", "in"):
            yield word[0], word.end()

    def _values(self, name: str, begin: int) -> tuple[str, int]:
        """The text of the values that begin at a place, and where they end."""
        ends = list(self._ends(begin))
        for end, _ in reversed(ends):
            if self._is_value(name, self._text[begin:end].strip()):
                return self._text[begin:end].strip(), end
        end = next(end for end, is_certain in ends if is_certain)
        return self._text[begin:end].strip(), end

    def _ends(self, begin: int) -> Iterator[tuple[int, bool]]:
        """Where values that begin at a place may end, the first first, and whether they must unless they are a label."""
        place, depth, at_value = begin, 0, True
        while place < len(self._text):
            if at_value and (
                quoted := re.compile(rf"(?:{QUOTED})(?=\s*(?:\||\)|$|(?:and|or)\b))").match(self._text, place)
            ):
                place, at_value = quoted.end(), False
                continue
            sign = self._text[place]
            if sign == "(":
                depth += 1
            elif sign == ")":
                if depth == 0:
                    yield place, True
                depth = max(depth - 1, 0)
            elif joined := re.compile(r"\s+(?:and|or)\b").match(self._text, place):
                yield place, depth == 0 and self._begins_term(joined.end())
            at_value = sign == "|" or (at_value and sign.isspace())
            place += 1
        yield len(self._text), True

    def _begins_term(self, place: int) -> bool:
        """Whether a condition seems to begin at a place: a name or a constant that a sign follows."""
        before = _BEFORE_TERM.match(self._text, place)
        place = place if before is None else before.end()
        ends = [end for _, end in self._beginnings(place)]
        if constant := _CONSTANT.match(self._text, place):
            ends.append(constant.end())
        return any(_SIGN.match(self._text, end) for end in ends)


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


def formula_of(where: Where, names: Collection[str] = ()) -> Formula:
    """The formula of a condition, or of several, all of which must hold. names: as for `parsed`.

    Raises InputError for what is none.

    >>> formula_of({"age": ["20-39", 50]})
    Choice(column=Column(name='age'), texts=('20-39', '50'))
    """
    terms: list[Formula]
    if isinstance(where, Mapping):
        for name in where:
            require(name, str, "the name of an attribute", 'a text, such as {"age": "20-39"}')
        terms = [Choice(Column(name), texts_of(name, values)) for name, values in where.items()]
    else:
        terms = [parsed(text, names) for text in ([where] if isinstance(where, str) else where)]
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


_SIGNS: Mapping[type[ast.cmpop], str] = {ast.Eq: "==", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}


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


# What a text means among the labels of an attribute: a label of any level, several of them, or a range of numbers.
#
# A text that is a label is that label. Where it stands for different sets of values at different levels, the finest
# published one is meant; `label@level` names another. A range (`20-39`, `20..39`, `18.5..<25`, `>=65`) means the base
# values that lie in it, which are numbers or intervals of numbers; both ends belong to it, but for one behind a <.


_PART = re.compile(rf"\s*(?:{QUOTED})\s*(?=\||$)|[^|]*", re.DOTALL)


class NoValueError(InputError):
    """A text that means none of the values of an attribute."""

    def __init__(self, attribute: str, message: str) -> None:
        super().__init__(message)
        self.attribute = attribute


class NothingInRangeError(NoValueError):
    """A range in which none of the values of an attribute lies, though they are numbers."""


def unquoted(text: str) -> str | None:
    """The characters between the quotes of a text; None for one without quotes around it."""
    if not re.fullmatch(QUOTED, text.strip(), re.DOTALL):
        return None
    try:
        return str(ast.literal_eval(text.strip()))
    except (SyntaxError, ValueError):
        return None


@dataclass(frozen=True, eq=False)
class Meaning:
    """Which base values a condition means: surely, and possibly, for values of which it cannot be judged.

    Of shape (size(0),) each. A range of numbers cannot be judged of a value that is no number, nor of one that stands for
    numbers within the range and others. shares: of the rows of each value so many are estimated to be meant; of a value that
    is no number none. low, high: between which numbers, where a value is cut, those of it lie that are meant.
    """

    surely: BoolArray
    possibly: BoolArray
    shares: FloatArray
    low: FloatArray
    high: FloatArray

    @classmethod
    def certain(cls, inside: BoolArray) -> "Meaning":
        """Of a condition that can be judged of every value."""
        return cls(inside, inside, inside.astype(np.float64), *_everywhere(len(inside)))

    @classmethod
    def between(cls, surely: BoolArray, possibly: BoolArray) -> "Meaning":
        """Of a condition that may not hold for all rows of a value, and is estimated to."""
        return cls(surely, possibly, possibly.astype(np.float64), *_everywhere(len(surely)))

    @property
    def cut(self) -> BoolArray:
        """The values that stand for numbers of which only some are meant."""
        return np.asarray(self.possibly & ~self.surely & (self.shares > 0))

    @property
    def unjudged(self) -> BoolArray:
        """The values that are no numbers, so that it cannot be judged of them."""
        return np.asarray(self.possibly & ~self.surely & (self.shares == 0))

    def __or__(self, other: "Meaning") -> "Meaning":
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        for one, rest in ((self, other), (other, self)):
            low, high = np.where(rest.possibly, low, one.low), np.where(rest.possibly, high, one.high)
        shares = 1 - (1 - self.shares) * (1 - other.shares)
        return Meaning(self.surely | other.surely, self.possibly | other.possibly, shares, low, high)

    def __and__(self, other: "Meaning") -> "Meaning":
        low, high = np.maximum(self.low, other.low), np.minimum(self.high, other.high)
        possibly = self.possibly & other.possibly & (low <= high)
        return Meaning(self.surely & other.surely, possibly, self.shares * other.shares * possibly, low, high)

    def __invert__(self) -> "Meaning":
        shares = np.where(self.unjudged, 0.0, 1 - self.shares)
        return Meaning(~self.possibly, ~self.surely, shares, *_everywhere(len(shares)))


def _everywhere(size: int) -> tuple[FloatArray, FloatArray]:
    return np.full(size, -np.inf), np.full(size, np.inf)


class UnjudgedError(InputError):
    """A condition that cannot be judged of some values of an attribute."""

    def __init__(self, attribute: str, message: str) -> None:
        super().__init__(message)
        self.attribute = attribute


@dataclass(frozen=True, eq=False)
class Labels:
    """The labels that an attribute has. finest: its finest published level. of_table: whether base values are those of a
    table, whose numbers are what they are, whatever labels are above them.
    """

    attribute: str
    hierarchy: Hierarchy
    finest: int = 0
    of_table: bool = False

    def meant(self, text: str) -> Meaning:
        """Which base values a text means, and of which that cannot be judged.

        Raises InputError, naming the attribute, for a label that there is not, and for a range that no value lies in or
        that ends where a value begins.
        """
        inside = self.labelled(text)
        if inside is None and len(parts := self.parts(text)) > 1:
            return reduce(or_, map(self.meant, parts))
        if inside is None and (between := Range.of(text)) is not None and self._has_numbers:
            return self.between(between, text)
        if inside is None and Range.of(text) is not None and self._look_like_numbers:
            raise InputError(
                f"{self.attribute!r} cannot be asked for the range {text!r}: its labels are names, which need not stand for "
                "the numbers that they look like; name values, with | between"
            )
        if inside is None and text.lstrip().startswith(("<", ">")):
            raise InputError(
                f"{self.attribute!r} cannot be asked for {text!r}: ranges are of numbers, as {self.attribute}>3 or "
                f"{self.attribute}=20-39; or name values, with | between"
            )
        if inside is None and (exact := unquoted(text)) is not None:
            inside = self.labelled(exact)
        if inside is None:
            raise self.no_value(text)
        return Meaning.certain(inside)

    def is_value(self, text: str) -> bool:
        """Whether a text means values that there may be: every part of it is a label, or a range of what are numbers."""
        if self.labelled(text) is not None:
            return True
        parts = self.parts(text)
        if len(parts) > 1:
            return all(map(self.is_value, parts))
        return Range.of(text) is not None and self._has_numbers

    def labelled(self, text: str) -> BoolArray | None:
        """The base values under a label, at its finest published level where it has several meanings; None for none.

        A number has one label, however the text spells it.
        """
        hierarchy = self.hierarchy
        levels = [level for level in range(hierarchy.height + 1) if hierarchy.code(text, level) is not None]
        if levels:
            level = min(levels, key=lambda level: (level < self.finest, level))
            return np.asarray(hierarchy.lift(0, level) == hierarchy.code(text, level))
        label, _, chosen = text.rpartition("@")
        if label and chosen.isdecimal() and int(chosen) <= hierarchy.height:
            code = hierarchy.code(label, int(chosen))
            return None if code is None else np.asarray(hierarchy.lift(0, int(chosen)) == code)
        canonical = POINT.canonical(text)
        return None if canonical == text or has_leading_zero(text) else self.labelled(canonical)

    def parts(self, text: str) -> Sequence[str]:
        """The texts with | between them; a | within quotes divides nothing, unless what it divides are labels."""
        divided = [part.strip() for part in text.split("|")]
        if all(self.labelled(part) is not None for part in divided):
            return divided
        return parts(text)

    def between(self, numbers: Range, text: str) -> Meaning:
        """The base values that lie in a range, which messages call as the text does. Raises InputError as `meant` does.

        Of a value that is no number, such as `refused`, nobody can say whether it lies there; a missing one does not.
        """
        inside = np.zeros(self.hierarchy.size(0), dtype=np.bool_)
        shares = np.zeros(len(inside))
        read = [] if numbers.is_empty else self._numbers
        for code, reading in enumerate(read):
            if reading is not None and numbers.meets(reading):
                is_whole = numbers.holds(reading)
                inside[code] = is_whole and not names_missing(self.hierarchy.labels[0][code])
                shares[code] = 1.0 if is_whole else reading.share_in(numbers)
                if not shares[code]:
                    raise self._touched(code, numbers, text)
        is_open = [reading is None and label != MISSING for reading, label in zip(read, self.hierarchy.labels[0])]
        unjudged = np.array(is_open or np.zeros_like(inside), dtype=np.bool_)
        if not shares.any() and not unjudged.any():
            raise NothingInRangeError(self.attribute, f"no value of {self.attribute!r} lies in the range {text!r}")
        low, high = _everywhere(len(inside))
        cut = (shares > 0) & ~inside
        low[cut], high[cut] = float(numbers.low), float(numbers.high)
        return Meaning(inside, (shares > 0) | unjudged, shares, low, high)

    def _touched(self, code: int, numbers: Range, text: str) -> InputError:
        label, base_number = self.hierarchy.labels[0][code], self._numbers[code]
        without = (
            f"; to leave {base_number.low} out, write ..<{base_number.low}"
            if base_number and base_number.low == numbers.high
            else ""
        )
        return InputError(f"the range {text!r} cuts through the value {label!r} of {self.attribute!r}{without}")

    def no_value(self, text: str) -> InputError:
        """What is said of a text that means none of the values; not whether some row has it below the published levels."""
        if self.hierarchy.labels[self.finest] == (SUPPRESSED,):
            return NoValueError(
                self.attribute, f"no marginal shows {self.attribute!r}, so the release tells nothing of its values"
            )
        published = [label for level in self.hierarchy.labels[self.finest :] for label in level if label != SUPPRESSED]
        suggestion = suggested(
            text, list(dict.fromkeys(published)), f"the finest that are published, at level {self.finest}, are"
        )
        return NoValueError(self.attribute, f"{self.attribute!r} has no published value {text!r}; {suggestion}")

    @property
    def _has_numbers(self) -> bool:
        return any(self._numbers)

    @property
    def _numbers(self) -> list[Range | None]:
        """Of each base value the numbers that its label names, from the least to the largest."""
        if self.of_table:
            return numbers_of(Hierarchy.flat(self.hierarchy.labels[0]))
        read = numbers_of(self.hierarchy)
        if self.hierarchy.has_names or are_names(self.hierarchy):
            return read
        return [reading or named_numbers(label) for reading, label in zip(read, self.hierarchy.labels[0])]

    @property
    def _look_like_numbers(self) -> bool:
        return any(map(interval, self.hierarchy.labels[0]))


def parts(text: str) -> list[str]:
    """The texts with | between them; one within quotes divides nothing."""
    divided, place = [], 0
    while True:
        match = _PART.match(text, place)
        assert match is not None
        divided.append(match[0].strip())
        place = match.end() + 1
        if place > len(text):
            return divided


# Which rows of a table a condition means, the same by every engine.
#
# A column in which every value is a number, as the column writes numbers, is compared with numbers, any other with texts in
# quotes, in the order of their characters; codes with leading zeros are texts. Nothing else is guessed, for a rule that
# silently holds for nobody discloses what it should hide.
# What is missing equals nothing and is neither less nor greater, so != and not in hold for it, as does the negation of
# the rest.
#
# A choice, such as `age in 20-39`, means the labels that an attribute has, of any level, and numbers; `bound` makes
# the comparison of it that an engine executes.


class Kind(Enum):
    """What the values of a column are, besides those that are missing. NOTHING: it has none, which fits everything."""

    NOTHING = "nothing"
    NUMBERS = "numbers"
    TEXTS = "texts"

    @classmethod
    def of(cls, values: int, numbers: NumberFormat | None) -> "Kind":
        """From the number of values that are neither missing nor the empty text, and the format in which all are numbers."""
        if not values:
            return cls.NOTHING
        return cls.TEXTS if numbers is None else cls.NUMBERS


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
                    f"{rule} compares column {name!r}, in which not every value is a number, with a number (codes with "
                    "leading zeros are none); write it as a text in quotes, or name in data.missing what stands for no value"
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


def spellings(texts: Iterable[str], decimal: str = ".") -> dict[str, list[str]]:
    """The texts of a column for each label that a table of it has.

    >>> spellings(["1e+05", "100000", "refused"])
    {'100000': ['1e+05', '100000'], 'refused': ['refused']}
    """
    values = list(texts)
    number_format = NumberFormat.of([text for text in values if text], decimal)
    result: dict[str, list[str]] = {}
    for text in values:
        result.setdefault(text if number_format is None else number_format.canonical(text), []).append(text)
    return result


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
    texts that occur, flat. missing: texts that stand for no value. spelled: of columns in which words stand among numbers,
    the texts for each label, since a number has one label however it is spelled.
    """

    kinds: Mapping[str, Kind]
    hierarchies: Mapping[str, Hierarchy]
    missing: frozenset[str]
    spelled: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)


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
            meaning = labels.meant(text)
        except InputError:  # whose sentence may quote values of rows
            raise self._refusal(column, "that it does not have, or by a range that is not of numbers") from None
        if meaning.cut.any():
            raise self._refusal(column, "by a range that cuts through one of its values")
        if unjudged := int(meaning.unjudged.sum()):
            raise self._refusal(
                column,
                f"in a range, and {unjudged:,} of its different values are no numbers: list them under data.missing if they "
                "stand for no value, or name values with | between",
            )
        return self._among(column, labels, meaning.surely)

    def _labels(self, column: Column) -> Labels | None:
        hierarchy = self.values.hierarchies.get(column.name)
        return None if hierarchy is None else Labels(column.name, hierarchy, of_table=True)

    def _among(self, column: Column, labels: Labels, inside: BoolArray) -> Membership:
        """The values under a label; of several, those that do not stand for no value."""
        texts = [label for label, is_meant in zip(labels.hierarchy.labels[0], inside.tolist()) if is_meant]
        spelled = self.values.spelled.get(column.name, {})
        texts = [text for label in texts for text in spelled.get(label, [label])]
        kept_texts = texts if len(texts) == 1 else [text for text in texts if text not in self.values.missing]
        return Membership(column, tuple(self._constant(text, self.values.kinds[column.name]) for text in kept_texts))

    def _compared(self, column: Column, text: str, labels: Labels | None) -> Formula:
        """A number that the column may have, or a range of numbers, which may hold for nobody."""
        if POINT.is_number(text):
            if labels is not None and POINT.real(text) not in map(POINT.real, labels.hierarchy.labels[0]):
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
        return self._exact(POINT.real(text)) if kind is Kind.NUMBERS and POINT.is_number(text) else text

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


def written_as(texts: Iterable[str], decimal: str = ".") -> NumberFormat | None:
    """The format in which all values of a column are numbers, the empty text being none; None where there is none.

    decimal: the sign before the fraction of a number.
    """
    values = [text for text in texts if text]
    number_format = NumberFormat.of(values, decimal)
    return number_format if number_format is not None and all(map(number_format.is_number, values)) else None


def kind_of_texts(texts: Collection[str], decimal: str = ".") -> Kind:
    """The kind of a column with these values, the empty text being none."""
    return Kind.of(sum(map(bool, texts)), written_as(texts, decimal))


@dataclass(frozen=True, eq=False)
class CodedColumn:
    """A column in memory. codes: positions in its texts, -1 where a value is missing; shape (rows,). format: of numbers."""

    codes: "np.ndarray[tuple[int], np.dtype[np.intp]]"
    texts: tuple[str, ...]
    format: NumberFormat = POINT

    @cached_property
    def numbers(self) -> FloatArray:
        """The numbers that its values are, NaN for those that are none: shape (rows,)."""
        of_texts: FloatArray = np.array([*map(self.format.real, self.texts), np.nan])
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
    return any(POINT.real(text) == constant for text in missing)
