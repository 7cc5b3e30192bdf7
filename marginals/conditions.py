"""Language of conditions, which select rows of a table, in the notation of queries or in that of rules.

    condition  = either
    either     = both { "or" both }
    both       = single { "and" single }
    single     = "not" single | "(" condition ")" | choice | comparison
    choice     = column ("=" | ["not"] "in") values | column sign number "|" values
    values     = value { "|" value }
    value      = label | label "@" level | range | sign number | text
    comparison = operand sign operand { sign operand } | column ["not"] "in" list
    operand    = column | number | text
    list       = "[" [ constant { "," constant } ] "]"          constants: all numbers or all texts; also in parentheses
    sign       = "==" | "!=" | "<" | "<=" | ">" | ">="          != only between operands
    column     = a word, a name between backticks, or any name that the table has
    text       = characters between quotes, as in Python

Between parentheses, & | ~ stand for and, or and not, and bind as in Python. A choice is the notation of queries, such as
`age in 20-39` or `diagnosis=Asthma|Migraine`. A comparison is the notation of rules, such as `age > 80 and sex ==
'Female'`. One condition may have both.

A label is written without quotes. It goes on to the last place where it is still a label of the column. Otherwise it ends
at a parenthesis that it has not opened, at an "and" or "or" before a condition, or at the end. The columns' labels give a
value its meaning (`Labels`). A name is the longest name of a column that a sign follows.

A condition may also be a mapping, `{"age": "20-39", "race": ["White", "Black"]}`, whose values are choices, or several
texts, all of which must hold.
"""

import re
import warnings
from ast import literal_eval
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import islice
from operator import or_
from typing import TypeAlias

import numpy as np

from marginals.arguments import require
from marginals.errors import InputError
from marginals.messages import suggested
from marginals.tables.intervals import Range, base_numbers, gaps_and_overlaps, interval, names_missing
from marginals.tables.spellings import cell_text
from marginals.tables.values import PLAIN, POINT, has_leading_zero
from models.arrays import BoolArray, FloatArray
from models.tables.hierarchy import MISSING, SUPPRESSED, Hierarchy


@dataclass(frozen=True)
class Column:
    """Values of a column."""

    name: str


Constant: TypeAlias = "str | int | float"
Operand: TypeAlias = "Column | Constant"


@dataclass(frozen=True)
class Comparison:
    """Comparison of two values by ==, <, <=, > or >=; one of them is of a column."""

    left: Operand
    sign: str
    right: Operand


@dataclass(frozen=True)
class Membership:
    """Test that the value of a column is in a list, all numbers or all texts."""

    column: Column
    values: tuple[Constant, ...]


@dataclass(frozen=True)
class Choice:
    """Test that one of some texts means the value of a column: labels, and ranges of numbers, as in `age=20-39`."""

    column: Column
    texts: tuple[str, ...]


@dataclass(frozen=True)
class Negation:
    """Condition that a term does not hold."""

    term: "Formula"


@dataclass(frozen=True)
class Conjunction:
    """Condition that all terms hold."""

    terms: "tuple[Formula, ...]"


@dataclass(frozen=True)
class Disjunction:
    """Condition that at least one term holds."""

    terms: "tuple[Formula, ...]"


Atom: TypeAlias = Comparison | Membership | Choice
Formula: TypeAlias = "Atom | Negation | Conjunction | Disjunction"


def atoms(formula: Formula) -> Iterator[Atom]:
    """Yield the comparisons, memberships and choices of a formula."""
    match formula:
        case Negation(term=term):
            yield from atoms(term)
        case Conjunction(terms=terms) | Disjunction(terms=terms):
            for term in terms:
                yield from atoms(term)
        case _:
            yield formula


def operands(atom: Atom) -> tuple[Operand, ...]:
    """Return the columns and constants of an atom."""
    if isinstance(atom, Comparison):
        return (atom.left, atom.right)
    return (atom.column, *atom.values) if isinstance(atom, Membership) else (atom.column,)


def columns_of(formula: Formula) -> tuple[str, ...]:
    """Return the names of the columns in a formula, none twice."""
    named = (operand.name for atom in atoms(formula) for operand in operands(atom) if isinstance(operand, Column))
    return tuple(dict.fromkeys(named))


Values: TypeAlias = str | float | Iterable[str | float]
"""A label or a range of numbers, a number, or several of these, of which one must hold."""

Where: TypeAlias = Mapping[str, Values] | Sequence[str]
"""`{"age": "20-39", "race": ["White", "Black"]}`, or `["age in 20-39", "race=White|Black"]`, or one such text."""

IsValue: TypeAlias = Callable[[str, str], bool]
"""Test that a text means values of a column, by the column's name."""

EXACT = 2**53
"""Limit of whole numbers that every engine tells apart."""

_DEEPEST = 100
"""Deepest nesting of parentheses and negations."""

_LONGEST = 20_000
"""Most characters of a condition."""


def formula_of(where: Where, names: Collection[str] = ()) -> Formula:
    """Return the formula of a condition, or of several, all of which must hold. `names`: as for `parsed`.

    Raises InputError for anything else.

    >>> formula_of({"age": ["20-39", 50]})
    Choice(column=Column(name='age'), texts=('20-39', '50'))
    """
    terms: list[Formula]
    if isinstance(where, Mapping):
        for name in where:
            require(name, str, "the name of an attribute", 'a text, such as {"age": "20-39"}')
        terms = [Choice(Column(name), _texts_of(name, values)) for name, values in where.items()]
    else:
        terms = [parsed(text, names) for text in ([where] if isinstance(where, str) else where)]
    return terms[0] if len(terms) == 1 else Conjunction(tuple(terms))


def _texts_of(name: str, values: Values) -> tuple[str, ...]:
    if isinstance(values, str):
        return (cell_text(values),)
    if isinstance(values, float | int | np.number):
        return (str(int(values)) if values == values // 1 else str(values),)
    if isinstance(values, tuple) or not isinstance(values, Iterable):
        # A pair could be the ends of a range as well as two values.
        raise InputError(f"{name!r} is asked for by a label, a range such as '20-39', or a list of labels")
    return tuple(text for part in values for text in _texts_of(name, part))


def parsed(condition: str, names: Collection[str] = (), is_value: IsValue | None = None) -> Formula:
    """Return the formula of a text. Raises InputError for anything else.

    `names`: of the table's columns, of any characters; other columns are words or stand between backticks. `is_value`:
    tests whether a text is a choice of a column's values.

    >>> parsed("ward not in [1, 2]")
    Negation(term=Membership(column=Column(name='ward'), values=(1, 2)))
    >>> parsed("marital status=Married|Widowed", ["marital status"])
    Choice(column=Column(name='marital status'), texts=('Married|Widowed',))
    """
    if len(condition) > _LONGEST:
        raise InputError(f"a condition has {len(condition)} characters, more than the {_LONGEST} that are read")
    if not _is_text(condition):
        raise InputError(
            f"the condition {in_message(condition)} is no text: it has a NUL or a half of a surrogate pair"
        )
    return _Reader(cell_text(condition), names, is_value).formula()


def _is_text(text: str) -> bool:
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def in_message(condition: object) -> str:
    """Return a condition as quoted in a message."""
    text = condition if isinstance(condition, str) else str(condition)
    return repr(text if len(text) <= 200 else text[:200] + "...")


QUOTED = r"""'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*\""""
_BLANK = re.compile(r"\s*")
_TEXT = re.compile(rf"(?:[rRuU]?(?:'''.*?'''|\"\"\".*?\"\"\"|{QUOTED})\s*)+", re.DOTALL)
_NUMBER = re.compile(r"(?:\d[\w.]*|\.\d\w*)(?:(?<=[eE])[-+]\d+)?")
_BACKTICKS = re.compile(r"`([^`\n]+)`")
_WORD = re.compile(r"[^\W\d]\w*")
_RESERVED = {"and", "or", "not", "in", "is", "None"}
_COMPARED = re.compile(r"\s*(==|!=|<=|>=|<|>|not\s+in\b|in\b)\s*")
_NOT = re.compile(r"not\b")
_JOINTS: tuple[tuple[int, re.Pattern[str], type[Conjunction] | type[Disjunction]], ...] = (
    (0, re.compile(r"\s*or\b"), Disjunction),
    (1, re.compile(r"\s*and\b"), Conjunction),
    (3, re.compile(r"\s*\|"), Disjunction),
    (4, re.compile(r"\s*&"), Conjunction),
)
"""Joints by the strength with which they bind, the weakest first; `not` binds as 2 does, `~` stronger than all."""

_NEGATED, _TIGHTEST = 2, 5
_JOINED_TIGHTLY, _AFTER_COMPARISON = re.compile(r"\s*[&|]"), re.compile(r"\s*(?:$|\)|(?:and|or)\b)")

_SIGN = re.compile(r"\s*(?:[=!<>]=?|(?<!\w)(?:not\s+)?in\b)")
_CHOICE = re.compile(r"\s*=(?!=)\s*|\s+(not\s+)?in\s+|\s*(?=[<>])")
_IS_CHOICE = re.compile(rf"\s*=(?!=)|\s+(?:not\s+)?in\s+(?![\[(\s])|\s*[<>]=?\s*{PLAIN}\s*\|")
_BEFORE_TERM = re.compile(r"(?:[\s(~]|not\b)*")
_CONSTANT = re.compile(rf"(?:{QUOTED}|{PLAIN})", re.DOTALL)
_QUOTED_VALUE = re.compile(rf"\s*(?:{QUOTED})(?=\s*(?:\||\)|$|(?:and|or)\b))", re.DOTALL)
_STOP = re.compile(r"[()|]|\s+(?:and|or)\b")

_ENDS = 50
"""Most places at which a label of a column may end: it may have parentheses, "and" and "or" within."""


class _Reader:
    """Reading of one condition from the left, by recursive descent; the rest begins at `_place`."""

    def __init__(self, condition: str, names: Collection[str], is_value: IsValue | None) -> None:
        self._text, self._place, self._depth = condition.strip(), 0, 0
        self._names = sorted(names, key=len, reverse=True)
        self._is_value = is_value

    def formula(self) -> Formula:
        formula = self._formula(0)
        if self._place < len(self._text):
            raise self._unreadable()
        return formula

    def _take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        if (match := pattern.match(self._text, self._place)) is not None:
            self._place = match.end()
        return match

    def _take_sign(self, sign: str) -> bool:
        self._take(_BLANK)
        is_next = self._text.startswith(sign, self._place)
        self._place += len(sign) * is_next
        return is_next

    def _formula(self, strength: int) -> Formula:
        formula = self._term(strength)
        while joint := next((j for j in _JOINTS if j[0] >= strength and j[1].match(self._text, self._place)), None):
            terms = [formula]
            while self._take(joint[1]):
                terms.append(self._formula(joint[0] + 1))
            formula = joint[2](tuple(terms))
        return formula

    def _term(self, strength: int) -> Formula:
        self._take(_BLANK)
        start, depth = self._place, self._depth
        if (choice := self._choice(of_values=True)) is not None:
            return choice
        if strength <= _NEGATED and self._take(_NOT):
            return Negation(self._inside(_NEGATED))
        if self._take_sign("~"):
            return Negation(self._inside(_TIGHTEST))
        try:
            return self._comparison(strength, any_name=False)
        except InputError as error:
            problem, self._place, self._depth = error, start, depth
        if (choice := self._choice(of_values=False)) is not None:
            return choice
        try:
            return self._comparison(strength, any_name=True)
        except InputError:
            self._place, self._depth = start, depth
        if not self._take_sign("("):
            raise problem
        formula = self._inside(0)
        self._require_sign(")")
        return formula

    def _inside(self, strength: int) -> Formula:
        with self._deeper():
            return self._formula(strength)

    @contextmanager
    def _deeper(self) -> Iterator[None]:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._refusal(f"goes deeper than {_DEEPEST} parentheses; make it several rules")
        yield
        self._depth -= 1

    def _require_sign(self, sign: str) -> None:
        if not self._take_sign(sign):
            raise self._unreadable()

    def _comparison(self, strength: int, *, any_name: bool) -> Formula:
        first: Operand | None = self._operand(any_name)
        compared: list[Formula] = []
        while sign := self._take(_COMPARED):
            if sign[1][-1] == "n":
                if not isinstance(first, Column):
                    raise self._unreadable()
                membership = Membership(first, self._list())
                compared.append(membership if sign[1] == "in" else Negation(membership))
                first = None  # with a list nothing else is compared
                continue
            second = self._operand(any_name)
            if first is None:
                raise self._unreadable()
            if not isinstance(first, Column) and not isinstance(second, Column):
                raise self._refusal("compares constants with each other; compare columns with constants")
            is_negated = sign[1] == "!="
            comparison = Comparison(first, "==" if is_negated else sign[1], second)
            compared.append(Negation(comparison) if is_negated else comparison)
            first = second
        if strength > _NEGATED or (compared and _JOINED_TIGHTLY.match(self._text, self._place)):
            raise self._refusal("combines comparisons by & or |; put each of them in parentheses")
        if not compared or not _AFTER_COMPARISON.match(self._text, self._place):
            raise self._unreadable()
        return compared[0] if len(compared) == 1 else Conjunction(tuple(compared))

    def _operand(self, any_name: bool) -> Operand:
        self._take(_BLANK)
        if any_name and (name := self._name()) is not None:
            return Column(name)
        if self._take_sign("("):
            with self._deeper():
                operand = self._operand(any_name)
            self._require_sign(")")
            return operand
        if text := self._take(_TEXT):
            return self._constant(text[0])
        is_negative = self._take_sign("-")
        self._take(_BLANK)
        if number := self._take(_NUMBER):
            return self._constant("-" * is_negative + number[0])
        if quoted := self._take(_BACKTICKS):
            return Column(quoted[1])
        word = self._take(_WORD)
        if word is None or is_negative or word[0] in _RESERVED:
            raise self._unreadable()
        if word[0] in ("True", "False"):
            raise self._refusal(f"compares with {word[0]}; write it as the text '{word[0]}', or as the table spells it")
        return Column(word[0])

    def _name(self) -> str | None:
        for name in self._names:
            end = self._place + len(name)
            if not _WORD.fullmatch(name) and self._text.startswith(name, self._place):
                rest = self._text[end:].lstrip()
                if not rest or rest[0] in "=!<>)&|" or re.match(r"(in|not|and|or)\b", rest):
                    self._place = end
                    return name
        return None

    def _list(self) -> tuple[Constant, ...]:
        closing = "]" if self._take_sign("[") else ")"
        if closing == ")" and not self._take_sign("("):
            raise self._refusal("needs a list of constants after in, all numbers or all texts")
        values: list[Operand] = []
        while not self._take_sign(closing):
            values.append(self._operand(any_name=False))
            if not self._take_sign(","):
                self._require_sign(closing)
                break
        constants = tuple(value for value in values if not isinstance(value, Column))
        if len(constants) < len(values) or len({isinstance(value, str) for value in constants}) > 1:
            raise self._refusal("needs a list of constants after in, all numbers or all texts")
        return constants

    def _constant(self, literal: str) -> Constant:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # backslashes that escape nothing
                value = literal_eval(f"({literal})")
        except (SyntaxError, ValueError, MemoryError, Warning):
            raise self._unreadable() from None
        if isinstance(value, str):
            if not _is_text(value):
                raise self._refusal("spells a NUL or a half of a surrogate pair, which are no text")
            return value
        if not isinstance(value, int | float):
            raise self._unreadable()
        if not abs(value) < EXACT:
            raise self._refusal("has a number of 2**53 or more, beyond which not all are told apart")
        return value

    def _choice(self, *, of_values: bool) -> "Formula | None":
        """Choice that begins here. `of_values`: only a choice of values of its column."""
        beginning = self._beginning(self._place)
        begin = beginning and _CHOICE.match(self._text, beginning[1])
        if not beginning or not begin:
            return None
        name, after_name = beginning
        start, end = begin.end(), None
        if not of_values and _IS_CHOICE.match(self._text, after_name):
            end = next(end for end, is_certain in self._ends(start) if is_certain)
        elif of_values and self._is_value is not None:
            ends = [end for end, _ in islice(self._ends(start), _ENDS)]
            end = next((end for end in reversed(ends) if self._is_value(name, self._text[start:end].strip())), None)
        if end is None:
            return None
        self._place = end
        choice = Choice(Column(name), (self._text[start:end].strip(),))
        return Negation(choice) if begin[1] else choice

    def _beginning(self, place: int) -> tuple[str, int] | None:
        if quoted := _BACKTICKS.match(self._text, place):
            return quoted[1], quoted.end()
        for name in self._names:
            if self._text.startswith(name, place) and _SIGN.match(self._text, place + len(name)):
                return name, place + len(name)
        word = _WORD.match(self._text, place)
        return None if word is None or word[0] in ("and", "or", "not", "in") else (word[0], word.end())

    def _ends(self, begin: int) -> Iterator[tuple[int, bool]]:
        quoted = _QUOTED_VALUE.match(self._text, begin)
        place, depth = quoted.end() if quoted else begin, 0
        while stop := _STOP.search(self._text, place):
            place, sign = stop.end(), stop[0]
            if sign == "(":
                depth += 1
            elif sign == ")":
                if depth == 0:
                    yield stop.start(), True
                depth = max(depth - 1, 0)
            elif sign == "|":
                quoted = _QUOTED_VALUE.match(self._text, place)
                place = quoted.end() if quoted else place
            else:
                yield stop.start(), depth == 0 and self._begins_term(place)
        yield len(self._text), True

    def _begins_term(self, place: int) -> bool:
        before = _BEFORE_TERM.match(self._text, place)
        place = place if before is None else before.end()
        beginning, constant = self._beginning(place), _CONSTANT.match(self._text, place)
        return any(
            (beginning and _SIGN.match(self._text, beginning[1]), constant and _SIGN.match(self._text, constant.end()))
        )

    def _refusal(self, problem: str) -> InputError:
        return InputError(f"the condition {in_message(self._text)} {problem}")

    def _unreadable(self) -> InputError:
        if self._text[self._place :].lstrip().startswith("#"):
            return self._refusal("has a # outside quotes; quote a column by backticks")
        return self._refusal(
            "cannot be read; it compares columns with constants, such as \"age > 80 and sex == 'Female'\""
        )


# Meaning of a text among the labels of an attribute: a label of any level, several of them, or a range of numbers.
#
# A text that is a label is that label, unless it begins with < or >. If it stands for different sets of values at different
# levels, it means the finest published one; `label@level` names another. A range means the base values that lie in it.


_PART = re.compile(rf"\s*(?:{QUOTED})\s*(?=\||$)|[^|]*", re.DOTALL)


class _ConditionError(InputError):
    """Error of a condition that an attribute cannot answer."""

    def __init__(self, attribute: str, message: str) -> None:
        super().__init__(message)
        self.attribute = attribute


class NoValueError(_ConditionError):
    """Error of a text that means none of the values of an attribute."""


class AmbiguousWordError(InputError):
    """Error of a meaning that several labels have, or that is another value's label."""


class NothingInRangeError(NoValueError):
    """Error of a range in which none of the values of an attribute lies, though they are numbers."""


def unquoted(text: str) -> str | None:
    """Characters between the quotes of a text; None for one without quotes around it."""
    if not re.fullmatch(QUOTED, text.strip(), re.DOTALL):
        return None
    try:
        return str(literal_eval(text.strip()))
    except (SyntaxError, ValueError):
        return None


@dataclass(frozen=True, eq=False)
class Meaning:
    """Base values that a condition means: surely, and possibly, where a value is not decided.

    Each array has shape (size(0),). A range of numbers is not decided for a value that is no number, nor for one that
    it cuts. `shares`: estimated, nan of a value that is no number. `low`, `high`: the ends of the range, where it cuts
    a value.
    """

    surely: BoolArray
    possibly: BoolArray
    shares: FloatArray
    low: FloatArray = field(default_factory=lambda: np.array(-np.inf))
    high: FloatArray = field(default_factory=lambda: np.array(np.inf))

    @classmethod
    def certain(cls, inside: BoolArray) -> "Meaning":
        """Meaning of a condition that is decided for every value."""
        return cls.between(inside, inside)

    @classmethod
    def between(cls, surely: BoolArray, possibly: BoolArray) -> "Meaning":
        """Meaning of a condition that may not hold for all rows of a value, and is estimated to."""
        return cls(surely, possibly, possibly.astype(np.float64))

    @property
    def cut(self) -> BoolArray:
        """Values that stand for numbers of which only some are in the range."""
        return np.asarray(self.possibly & ~self.surely & ~np.isnan(self.shares))

    @property
    def unjudged(self) -> BoolArray:
        """Values that are no numbers, so that the condition is not decided for them."""
        return np.asarray(self.possibly & ~self.surely & np.isnan(self.shares))

    def __or__(self, other: "Meaning") -> "Meaning":
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        for one, rest in ((self, other), (other, self)):
            low, high = np.where(rest.possibly, low, one.low), np.where(rest.possibly, high, one.high)
        surely, possibly = self.surely | other.surely, self.possibly | other.possibly
        shares = np.where(surely, 1.0, 1 - (1 - self.shares) * (1 - other.shares))
        return Meaning(surely, possibly, shares, low, high)

    def __and__(self, other: "Meaning") -> "Meaning":
        low, high = np.maximum(self.low, other.low), np.minimum(self.high, other.high)
        possibly = self.possibly & other.possibly & (low <= high)
        shares = np.where(possibly, self.shares * other.shares, 0.0)
        return Meaning(self.surely & other.surely, possibly, shares, low, high)

    def __invert__(self) -> "Meaning":
        return Meaning(~self.possibly, ~self.surely, 1 - self.shares)


class UnjudgedError(_ConditionError):
    """Error of a condition that is not decided for some values of an attribute."""


@dataclass(frozen=True, eq=False)
class Labels:
    """Labels of an attribute.

    `finest`: its finest published level. `of_table`: whether base values are those of a table; their numbers are
    exact, whatever labels are above them. `words`: the meanings of some labels, such as "Female" of 2.
    """

    attribute: str
    hierarchy: Hierarchy
    finest: int = 0
    of_table: bool = False
    words: Mapping[str, str] = field(default_factory=dict)

    def meaning_of(self, text: str) -> Meaning:
        """Meaning of a text among the labels: base values, and those for which it is not decided.

        Raises InputError, naming the attribute, for an unknown label, and for a range that no value lies in.
        """
        numbers = Range.of(text) if self.has_numbers else None
        is_comparison = numbers is not None and text.lstrip().startswith(("<", ">"))  # also where a label is spelled so
        if not is_comparison and (inside := self.labelled(text)) is not None:
            return Meaning.certain(inside)
        if len(parts := self.parts(text)) > 1:
            return reduce(or_, map(self.meaning_of, parts))
        if numbers is not None:
            return self.between(numbers, text)
        numbers = Range.of(text)
        if numbers is not None and not numbers.is_point and any(map(interval, self.hierarchy.labels[0])):
            overlaps = [pair for pair in gaps_and_overlaps(self.hierarchy.labels[0]) if not pair.is_gap]
            why = f" ({overlaps[0].below!r} and {overlaps[0].above!r} overlap)" if overlaps else ""
            raise InputError(
                f"{self.attribute!r} cannot be asked for the range {text!r}: its labels are names{why}, which need not "
                "stand for the numbers that they look like. Name values, with | between"
            )
        if text.lstrip().startswith(("<", ">")):
            raise no_range(self.attribute, text)
        if (exact := unquoted(text)) is not None and (inside := self.labelled(exact)) is not None:
            return Meaning.certain(inside)
        raise self.no_value(text)

    def is_value(self, text: str) -> bool:
        """Return whether a text can mean values: every part of it is a label, or a range where values are numbers."""
        if self.labelled(text) is not None:
            return True
        if len(parts := self.parts(text)) > 1:
            return all(map(self.is_value, parts))
        is_several = text.startswith(("<", ">")) and _JOINED.search(text)  # `>=5 and years<6` ends before the "and"
        return not (is_several or _LIST.fullmatch(text)) and Range.of(text) is not None and self.has_numbers

    def labelled(self, text: str) -> BoolArray | None:
        """Base values under a label; None for none. Of several meanings of a label its finest published level counts.

        A number has one label, however the text spells it. A meaning stands for its label. Raises InputError for a
        meaning of several labels, or one that is another value's label.
        """
        labels = [label for label, word in self.words.items() if word == text != label]
        if (level := self._level_of(text)) is not None:
            labels.append(f"{text}@{level}")
        if len(labels) > 1:
            choices = " or ".join(map(repr, labels))
            raise AmbiguousWordError(f"{text!r} does not name one value of {self.attribute!r}; write {choices} instead")
        return self._under(labels[0] if labels and level is None else text)

    def _level_of(self, text: str) -> int | None:
        levels = (n for n in range(self.hierarchy.height + 1) if self.hierarchy.code(text, n) is not None)
        return min(levels, key=lambda level: (level < self.finest, level), default=None)

    def _under(self, text: str) -> BoolArray | None:
        hierarchy = self.hierarchy
        if (level := self._level_of(text)) is not None:
            return np.asarray(hierarchy.lift(0, level) == hierarchy.code(text, level))
        label, _, chosen = text.rpartition("@")
        if label and chosen.isdecimal() and int(chosen) <= hierarchy.height:
            code = hierarchy.code(label, int(chosen))
            return None if code is None else np.asarray(hierarchy.lift(0, int(chosen)) == code)
        canonical = POINT.canonical(text)
        return None if canonical == text or has_leading_zero(text) else self._under(canonical)

    def parts(self, text: str) -> Sequence[str]:
        """Texts with | between them; a | within quotes divides nothing, unless the pieces are labels."""
        divided = [part.strip() for part in text.split("|")]
        if all(self.labelled(part) is not None for part in divided):
            return divided
        return parts(text)

    def between(self, numbers: Range, text: str) -> Meaning:
        """Base values that lie in a range, which messages quote as in the text. Raises InputError as `meaning_of` does.

        A value that is no number, such as `refused`, is not decided; a missing one does not lie in the range.
        """
        labels = self.hierarchy.labels[0]
        shares = np.zeros(len(labels))
        inside, meets = np.zeros((2, len(labels)), dtype=np.bool_)
        for code, reading in enumerate(base_numbers(self.hierarchy, self.of_table)):
            if reading is None:
                meets[code], shares[code] = (False, 0.0) if labels[code] == MISSING else (True, np.nan)
            elif numbers.meets(reading):
                is_whole = numbers.holds(reading)
                meets[code] = True
                inside[code] = is_whole and not names_missing(labels[code])
                shares[code] = 1.0 if is_whole else reading.share_in(numbers)
        if not meets.any():
            none = f"no value of {self.attribute!r} lies in the range {text!r}"
            raise NothingInRangeError(self.attribute, str(self.no_value(text)) if numbers.is_point else none)
        meaning = Meaning(inside, meets, shares)
        low, high = (
            np.where(meaning.cut, float(numbers.low), -np.inf),
            np.where(meaning.cut, float(numbers.high), np.inf),
        )
        return replace(meaning, low=low, high=high)

    def no_value(self, text: str) -> InputError:
        """Error for a text that means none of the values; it says nothing of rows with the text below the published
        levels.
        """
        if self.hierarchy.labels[self.finest] == (SUPPRESSED,):
            return NoValueError(
                self.attribute, f"no marginal shows {self.attribute!r}, so the release tells nothing of its values"
            )
        published = [label for level in self.hierarchy.labels[self.finest :] for label in level if label != SUPPRESSED]
        finest = f"the finest that are published, at level {self.finest}, are"
        names = [*published, *(word for label, word in self.words.items() if label in published)]
        suggestion = suggested(text, list(dict.fromkeys(names)), finest)
        return NoValueError(self.attribute, f"{self.attribute!r} has no published value {text!r}; {suggestion}")

    @property
    def has_numbers(self) -> bool:
        """Return whether some base value is a number, or a range."""
        return any(base_numbers(self.hierarchy, self.of_table))


_JOINED = re.compile(r"\b(?:and|or)\b|[&,]")
_LIST = re.compile(r"\[[^\[\]]*\]|\([^()]*\)")
"""Values between the marks of a list, which is no range in Python's notation: `age in [20, 25]`."""


def no_range(attribute: str, text: str) -> InputError:
    """Error for a range of values that are no numbers."""
    return InputError(
        f"{attribute!r} cannot be asked for {text!r}: ranges are of numbers, as {attribute}>3 or {attribute}=20-39; or name "
        "values, with | between"
    )


def parts(text: str) -> list[str]:
    """Texts with | between them; one within quotes divides nothing."""
    divided, place = [], 0
    while place <= len(text) and (match := _PART.match(text, place)):
        divided.append(match[0].strip())
        place = match.end() + 1
    return divided
